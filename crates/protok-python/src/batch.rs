//! `protok.Batch`.

use std::sync::Arc;

use protok_core::pipeline::Pipeline;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::buffer::{self, Buffer};
use crate::encoding::Encoding;

/// The results of encoding many texts: a read-only sequence of `Encoding` over one flat buffer.
#[pyclass(frozen, sequence, module = "protok")]
pub struct Batch {
    inner: Arc<protok_core::pipeline::batch::Batch>,
    pipeline: Arc<Pipeline>,
}

impl Batch {
    /// Wraps the engine's result.
    pub fn new(inner: protok_core::pipeline::batch::Batch, pipeline: Arc<Pipeline>) -> Self {
        Self { inner: Arc::new(inner), pipeline }
    }

    /// The ids of each row.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[u32]> {
        self.inner
            .row_offsets
            .windows(2)
            .map(|row| &self.inner.values[row[0] as usize..row[1] as usize])
    }
}

#[pymethods]
impl Batch {
    fn __len__(&self) -> usize {
        self.inner.len()
    }

    fn __getitem__(&self, index: isize) -> PyResult<Encoding> {
        let length = self.inner.len();
        let at = if index < 0 { index + length as isize } else { index };
        match usize::try_from(at) {
            Ok(at) if at < length => {
                Ok(Encoding::new(self.pipeline.row(&self.inner, at), self.pipeline.clone()))
            }
            _ => Err(PyIndexError::new_err(format!("row {index} of {length}"))),
        }
    }

    fn __repr__(&self) -> String {
        format!("Batch({} texts, {} tokens)", self.inner.len(), self.inner.values.len())
    }

    /// The ids of each text as lists.
    fn tolist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let rows: PyResult<Vec<_>> = self.rows().map(|row| PyList::new(py, row)).collect();
        PyList::new(py, rows?)
    }

    /// All ids, a read-only `uint32` array of shape `(tokens,)`.
    #[getter]
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        buffer::to_numpy(Bound::new(py, Buffer::values(self.inner.clone()))?.into_any(), "uint32")
    }

    /// Where each text starts in `values`, and the end: an `int64` array of shape `(texts + 1,)`.
    #[getter]
    fn row_offsets<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let offsets = Buffer::row_offsets(self.inner.clone());
        buffer::to_numpy(Bound::new(py, offsets)?.into_any(), "int64")
    }
}
