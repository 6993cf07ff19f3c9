//! Calls back into Python while a trainer runs, and stops the trainer where that raises.

use std::ops::ControlFlow;

use protok_core::train::MergeEvent;
use pyo3::prelude::*;

/// An observer, and what it raised.
pub struct Observer {
    call: Option<Py<PyAny>>,
    every: usize,
    raised: Option<PyErr>,
}

impl Observer {
    /// An observer that is called at the first of each `every` steps.
    pub fn new(call: Option<Py<PyAny>>, every: usize) -> Self {
        Self { call, every: every.max(1), raised: None }
    }

    /// Tells of a merge, if it is one that the observer is called at.
    pub fn merged(&mut self, event: &MergeEvent<'_>) -> ControlFlow<()> {
        self.step(event.step, event.vocab_size)
    }

    /// Looks for signals, then calls with a step and a size, if the step is one to call at.
    pub fn step(&mut self, step: usize, size: usize) -> ControlFlow<()> {
        if !step.is_multiple_of(self.every) {
            return ControlFlow::Continue(());
        }
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
