//! Read-only buffers over the engine's arrays: NumPy and Arrow read them without a copy.
//!
//! CPython's buffer protocol is filled in by pointer, which is the only unsafe code of the binding.
//! All of it is here, but for the two methods by which `Encoding` hands its ids to [`fill`].

#![allow(unsafe_code)]

use std::ffi::{CStr, c_int, c_void};
use std::sync::Arc;

use protok_core::pipeline::batch::Batch;
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;

/// What the elements of a buffer are.
pub trait Element: Copy {
    /// The format character of Python's `struct` module.
    const FORMAT: &'static CStr;
}

impl Element for u32 {
    const FORMAT: &'static CStr = c"I";
}

impl Element for u8 {
    const FORMAT: &'static CStr = c"B";
}

impl Element for i64 {
    const FORMAT: &'static CStr = c"q";
}

/// Fills `view` with a read-only, one-dimensional view of `data`, which `owner` keeps alive and
/// never changes.
///
/// # Safety
/// `view` must be the pointer that CPython passes to `bf_getbuffer`, and `data` must live as long
/// as `owner` and not move.
pub unsafe fn fill<T: Element>(
    view: *mut ffi::Py_buffer,
    flags: c_int,
    owner: Bound<'_, PyAny>,
    data: &[T],
) -> PyResult<()> {
    if view.is_null() {
        return Err(PyBufferError::new_err("the view is null"));
    }
    if flags & ffi::PyBUF_WRITABLE == ffi::PyBUF_WRITABLE {
        // SAFETY: the view is CPython's and not null; a failed request must leave obj null.
        unsafe { (*view).obj = std::ptr::null_mut() };
        return Err(PyBufferError::new_err("the ids of an encoding are read-only"));
    }
    // Shape and stride live in one small allocation that release() frees.
    let layout = Box::into_raw(Box::new([data.len() as isize, size_of::<T>() as isize]));
    // SAFETY: the view is CPython's to be filled; the data outlives the owner's reference that
    // the view now holds; `layout` stays until `release` is called, once for each view.
    unsafe {
        (*view).obj = owner.into_ptr();
        (*view).buf = data.as_ptr().cast_mut().cast::<c_void>();
        (*view).len = size_of_val(data) as isize;
        (*view).readonly = 1;
        (*view).itemsize = size_of::<T>() as isize;
        (*view).format = if flags & ffi::PyBUF_FORMAT == ffi::PyBUF_FORMAT {
            T::FORMAT.as_ptr().cast_mut()
        } else {
            std::ptr::null_mut()
        };
        (*view).ndim = 1;
        (*view).shape = layout.cast::<isize>();
        (*view).strides = layout.cast::<isize>().add(1);
        (*view).suboffsets = std::ptr::null_mut();
        (*view).internal = layout.cast::<c_void>();
    }
    Ok(())
}

/// Frees what [`fill`] allocated.
///
/// # Safety
/// `view` must have been filled by [`fill`] and not been released before.
pub unsafe fn release(view: *mut ffi::Py_buffer) {
    // SAFETY: `internal` is the box that `fill` leaked for this view.
    unsafe {
        let layout = (*view).internal.cast::<[isize; 2]>();
        if !layout.is_null() {
            drop(Box::from_raw(layout));
            (*view).internal = std::ptr::null_mut();
        }
    }
}

enum Content {
    Values(Arc<Batch>),
    RowOffsets(Arc<Batch>),
    Owned64(Vec<i64>),
    Owned32(Vec<u32>),
    Owned8(Vec<u8>),
}

/// A read-only array of the engine, seen through the buffer protocol.
#[pyclass(frozen, module = "protok._core")]
pub struct Buffer {
    content: Content,
}

impl Buffer {
    /// The values of a batch.
    pub fn values(batch: Arc<Batch>) -> Self {
        Self { content: Content::Values(batch) }
    }

    /// The row offsets of a batch.
    pub fn row_offsets(batch: Arc<Batch>) -> Self {
        Self { content: Content::RowOffsets(batch) }
    }

    /// An array of its own.
    pub fn of_i64(values: Vec<i64>) -> Self {
        Self { content: Content::Owned64(values) }
    }

    /// An array of its own.
    pub fn of_u32(values: Vec<u32>) -> Self {
        Self { content: Content::Owned32(values) }
    }

    /// An array of its own.
    pub fn of_u8(values: Vec<u8>) -> Self {
        Self { content: Content::Owned8(values) }
    }

    /// How many elements it has.
    pub fn len(&self) -> usize {
        match &self.content {
            Content::Values(batch) => batch.values.len(),
            Content::RowOffsets(batch) => batch.row_offsets.len(),
            Content::Owned64(values) => values.len(),
            Content::Owned32(values) => values.len(),
            Content::Owned8(values) => values.len(),
        }
    }
}

#[pymethods]
impl Buffer {
    // Unsafe, as all the protocol: the view is CPython's to be filled, see `fill`.
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        let this = slf.clone();
        let owner = slf.into_any();
        // SAFETY: CPython's view; the vectors are owned by this frozen object, so they neither
        // change nor move while a view holds it.
        unsafe {
            match &this.get().content {
                Content::Values(batch) => fill(view, flags, owner, &batch.values),
                Content::RowOffsets(batch) => fill(view, flags, owner, &batch.row_offsets),
                Content::Owned64(values) => fill(view, flags, owner, values),
                Content::Owned32(values) => fill(view, flags, owner, values),
                Content::Owned8(values) => fill(view, flags, owner, values),
            }
        }
    }

    unsafe fn __releasebuffer__(&self, view: *mut ffi::Py_buffer) {
        // SAFETY: CPython releases each view once, and only those that were filled.
        unsafe { release(view) }
    }
}

/// A NumPy array over `owner`'s buffer; NumPy is imported here and nowhere before.
pub fn to_numpy<'py>(owner: Bound<'py, PyAny>, dtype: &str) -> PyResult<Bound<'py, PyAny>> {
    let numpy = owner.py().import("numpy")?;
    numpy.call_method1("frombuffer", (owner, dtype))
}
