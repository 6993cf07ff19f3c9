//! Engine errors become exceptions of `protok.errors`, with the same fields.

use protok_core::{Error, ErrorKind};
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyType};

/// The exception for an engine error.
pub fn to_python(error: Error) -> PyErr {
    Python::attach(|py| build(py, &error).unwrap_or_else(|problem| problem))
}

fn build(py: Python<'_>, error: &Error) -> PyResult<PyErr> {
    let name = match error.kind {
        ErrorKind::Artifact => "ArtifactError",
        ErrorKind::Input => "InputError",
        ErrorKind::SpecialToken => "SpecialTokenError",
        ErrorKind::UnknownId => "UnknownIdError",
        ErrorKind::Limit => "LimitError",
    };
    let class = py.import("protok.errors")?.getattr(name)?.cast_into::<PyType>()?;
    let fields = [
        ("what", Some(error.what.clone()).into_pyobject(py)?.into_any()),
        ("location", error.location.clone().into_pyobject(py)?.into_any()),
        ("hint", error.hint.as_deref().into_pyobject(py)?.into_any()),
        ("position", error.position.into_pyobject(py)?.into_any()),
        ("value", error.value.as_deref().into_pyobject(py)?.into_any()),
    ]
    .into_py_dict(py)?;
    let exception = class.call((error.to_string(),), Some(&fields))?;
    Ok(PyErr::from_value(exception))
}

/// Shorthand for the `map_err` of every call.
pub trait OrRaise<T> {
    /// The value, or the Python exception.
    fn or_raise(self) -> PyResult<T>;
}

impl<T> OrRaise<T> for protok_core::Result<T> {
    fn or_raise(self) -> PyResult<T> {
        self.map_err(to_python)
    }
}
