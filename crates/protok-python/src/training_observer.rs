//! Calls back into Python while a trainer runs, and stops the trainer where that raises.

use std::ops::ControlFlow;

use pyo3::prelude::*;

/// An observer, and what it raised.
pub struct Observer {
    call: Option<Py<PyAny>>,
    raised: Option<PyErr>,
}

impl Observer {
    pub fn new(call: Option<Py<PyAny>>) -> Self {
        Self { call, raised: None }
    }

    /// Looks for signals, then calls with a step and a size.
    pub fn call(&mut self, step: usize, size: usize) -> ControlFlow<()> {
        let called = Python::attach(|py| {
            py.check_signals()?;
            match &self.call {
                Some(call) => call.call1(py, (step, size)).map(drop),
                None => Ok(()),
            }
        });
        match called {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.raised = Some(error);
                ControlFlow::Break(())
            }
        }
    }

    /// Raises what a call raised.
    pub fn finish(self) -> PyResult<()> {
        self.raised.map_or(Ok(()), Err)
    }
}
