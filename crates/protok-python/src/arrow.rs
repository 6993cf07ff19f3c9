//! Columns of strings of Apache Arrow, read where they are.
//!
//! A `pyarrow` array says where its buffers are, and these have CPython's buffer protocol: that is
//! all that is needed of it. Format: "Arrow Columnar Format", variable-size binary layout
//! (<https://arrow.apache.org/docs/format/Columnar.html>). The views of other libraries (`polars`,
//! `pandas`, anything with `__arrow_c_stream__`) come through `pyarrow`, which takes them over
//! without a copy.

#![allow(unsafe_code)]

use std::sync::Arc;

use protok_core::Error;
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;

use crate::arguments::Text;
use crate::errors::{OrRaise, to_python};
use crate::input::{Given, Row};

/// The bytes of a column, which stay where they are.
pub struct Data {
    buffer: Option<PyBuffer<u8>>,
}

impl Data {
    fn new(buffer: Option<PyBuffer<u8>>) -> PyResult<Self> {
        match buffer {
            Some(buffer) if !buffer.is_c_contiguous() => Err(damaged()),
            buffer => Ok(Self { buffer }),
        }
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        let Some(buffer) = &self.buffer else { return &[] };
        if buffer.len_bytes() == 0 {
            return &[];
        }
        // SAFETY: the buffer is contiguous, of bytes, and exported to `self` until that is dropped,
        // so its memory stays in place. It belongs to an array of Arrow, which is immutable by the
        // format's rules; `encode_batch` asks its caller to keep to them.
        unsafe { std::slice::from_raw_parts(buffer.buf_ptr().cast::<u8>(), buffer.len_bytes()) }
    }
}

/// The texts of a column, or nothing if `object` is none.
pub fn texts(object: &Bound<'_, PyAny>) -> PyResult<Option<Vec<Row>>> {
    let Some(column) = as_pyarrow(object)? else { return Ok(None) };
    let mut texts = Vec::with_capacity(column.len()?);
    if column.hasattr("chunks")? {
        for chunk in column.getattr("chunks")?.try_iter()? {
            append(&chunk?, &mut texts)?;
        }
    } else {
        append(&column, &mut texts)?;
    }
    Ok(Some(texts))
}

/// The object as an array of `pyarrow`, if it is a column.
fn as_pyarrow<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let kind = object.get_type();
    if kind.module()?.to_str()?.starts_with("pyarrow") && object.hasattr("null_count")? {
        return Ok(Some(object.clone()));
    }
    if !object.hasattr("__arrow_c_stream__")? && !object.hasattr("__arrow_c_array__")? {
        return Ok(None);
    }
    let name = kind.name()?.to_string();
    let pyarrow = object.py().import("pyarrow").map_err(|_| {
        to_python(
            Error::input(format!("Reading a column of type {name} needs pyarrow."))
                .value(name.clone())
                .hint("Install protok[arrow], or pass a list of str."),
        )
    })?;
    let make = if object.hasattr("__arrow_c_stream__")? { "chunked_array" } else { "array" };
    pyarrow.call_method1(make, (object,)).map(Some)
}

/// Appends the texts of one array.
fn append(array: &Bound<'_, PyAny>, texts: &mut Vec<Row>) -> PyResult<()> {
    let kind = array.getattr("type")?.str()?.to_string();
    let nulls: usize = array.getattr("null_count")?.extract()?;
    if nulls > 0 {
        return Err(to_python(
            Error::input(format!("The column has {nulls} nulls, which are no texts."))
                .value(nulls.to_string())
                .hint("Fill them, with fill_null(\"\") for instance, or drop them."),
        ));
    }
    let wide = match &*kind {
        "string" | "binary" => false,
        "large_string" | "large_binary" => true,
        "string_view" | "binary_view" => {
            let plain = if kind == "string_view" { "large_string" } else { "large_binary" };
            return append(&array.call_method1("cast", (plain,))?, texts);
        }
        _ => {
            return Err(to_python(
                Error::input(format!("A column of {kind} has no texts."))
                    .value(kind)
                    .hint("Pass a column of strings; cast(\"string\") makes one of many others."),
            ));
        }
    };
    let (offset, length): (usize, usize) = (array.getattr("offset")?.extract()?, array.len()?);
    let buffers: Vec<Bound<'_, PyAny>> =
        array.call_method0("buffers")?.try_iter()?.collect::<PyResult<_>>()?;
    let [_, ends, data] = buffers.as_slice() else { return Err(damaged()) };
    let buffer = |object: &Bound<'_, PyAny>| -> PyResult<Option<PyBuffer<u8>>> {
        // A buffer of Arrow is one of signed bytes.
        (!object.is_none())
            .then(|| {
                let view = object.py().import("builtins")?.call_method1("memoryview", (object,))?;
                PyBuffer::get(&view.call_method1("cast", ("B",))?)
            })
            .transpose()
    };
    if length == 0 {
        return Ok(());
    }
    let ends = Data::new(buffer(ends)?)?;
    let data = Arc::new(Data::new(buffer(data)?)?);
    let size = if wide { 8 } else { 4 };
    let places = offset * size..(offset + length + 1) * size;
    let places = ends.bytes().get(places).ok_or_else(damaged)?;
    let mut places = places.chunks_exact(size).map(|place| match place {
        [a, b, c, d] => i64::from(i32::from_ne_bytes([*a, *b, *c, *d])),
        _ => i64::from_ne_bytes(place.try_into().unwrap_or_default()),
    });
    let mut start = usize::try_from(places.next().unwrap_or(0)).map_err(|_| damaged())?;
    for end in places {
        let end = usize::try_from(end).map_err(|_| damaged())?;
        let text = data.bytes().get(start..end).ok_or_else(damaged)?;
        protok_core::text::utf8::validate(text)
            .map_err(|error| error.within(&format!("texts[{}]", texts.len())))
            .or_raise()?;
        let text = Text::Column { data: data.clone(), range: start..end };
        texts.push((Given::Whole(text), None));
        start = end;
    }
    Ok(())
}

fn damaged() -> PyErr {
    to_python(
        Error::input("The column is damaged: its offsets do not lie in its data.")
            .hint("Array.validate(full=True) of pyarrow says more."),
    )
}
