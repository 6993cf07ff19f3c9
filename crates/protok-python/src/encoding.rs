//! `protok.Encoding`.

use std::sync::Arc;

use protok_core::encoding::Source;
use protok_core::pipeline::Pipeline;
use pyo3::exceptions::PyIndexError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::buffer::{self, Buffer};

/// The result of encoding one text, or two.
///
/// It is a read-only sequence of ids and exports them as a `uint32` buffer.
#[pyclass(frozen, sequence, module = "protok")]
pub struct Encoding {
    inner: protok_core::encoding::Encoding,
    pipeline: Arc<Pipeline>,
}

impl Encoding {
    /// Wraps the engine's result.
    pub fn new(inner: protok_core::encoding::Encoding, pipeline: Arc<Pipeline>) -> Self {
        Self { inner, pipeline }
    }

    /// The ids.
    pub fn ids(&self) -> &[u32] {
        &self.inner.ids
    }
}

#[pymethods]
#[allow(unsafe_code)]
impl Encoding {
    fn __len__(&self) -> usize {
        self.inner.ids.len()
    }

    fn __getitem__(&self, index: isize) -> PyResult<u32> {
        let length = self.inner.ids.len() as isize;
        let at = if index < 0 { index + length } else { index };
        usize::try_from(at)
            .ok()
            .and_then(|at| self.inner.ids.get(at).copied())
            .ok_or_else(|| PyIndexError::new_err(format!("token {index} of {length}")))
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        PyList::new(py, &self.inner.ids)?.call_method0("__iter__")
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| {
            let other = other.get();
            self.inner == other.inner
        })
    }

    fn __hash__(&self) -> u64 {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        self.inner.ids.hash(&mut hasher);
        hasher.finish()
    }

    fn __repr__(&self) -> String {
        const SHOWN: usize = 8;
        let ids = &self.inner.ids;
        let shown: Vec<String> = ids.iter().take(SHOWN).map(u32::to_string).collect();
        let more = if ids.len() > SHOWN { ", …" } else { "" };
        format!("Encoding({} tokens: [{}{more}])", ids.len(), shown.join(", "))
    }

    /// The ids as a list.
    fn tolist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, &self.inner.ids)
    }

    /// The ids, a read-only `uint32` array of shape `(n,)`.
    #[getter(ids)]
    fn ids_array<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        buffer::to_numpy(slf.into_any(), "uint32")
    }

    /// Each token as the vocabulary spells it.
    #[getter]
    fn tokens(&self) -> Vec<String> {
        let token = |&id| self.pipeline.token(id).map(std::borrow::Cow::into_owned);
        self.inner.ids.iter().map(|id| token(id).unwrap_or_default()).collect()
    }

    /// The type id of each token, a `uint32` array of shape `(n,)`.
    #[getter]
    fn type_ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let types = self.inner.spread(|part| part.type_id).collect();
        buffer::to_numpy(Bound::new(py, Buffer::of_u32(types))?.into_any(), "uint32")
    }

    /// 1 where the template put a token, else 0: a `uint32` array of shape `(n,)`.
    #[getter]
    fn special_mask<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let mask = self.inner.spread(|part| u32::from(part.source == Source::Template)).collect();
        buffer::to_numpy(Bound::new(py, Buffer::of_u32(mask))?.into_any(), "uint32")
    }

    /// For each token 0 or 1, the text that it came from; None where the template put it.
    #[getter]
    fn sequence_ids(&self) -> Vec<Option<usize>> {
        self.inner
            .spread(|part| match part.source {
                Source::Text(index) => Some(index),
                Source::Template => None,
            })
            .collect()
    }

    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: std::ffi::c_int,
    ) -> PyResult<()> {
        let this = slf.clone();
        // SAFETY: CPython's view; the ids belong to this frozen object and never change.
        unsafe { buffer::fill(view, flags, slf.into_any(), &this.get().inner.ids) }
    }

    unsafe fn __releasebuffer__(&self, view: *mut ffi::Py_buffer) {
        // SAFETY: CPython releases each view once, and only those that were filled.
        unsafe { buffer::release(view) }
    }
}
