//! `protok.Batch`.

use std::sync::{Arc, OnceLock};

use protok_core::Error;
use protok_core::parallel::thread_count;
use protok_core::pipeline::Pipeline;
use protok_core::pipeline::batch::Padding;
use protok_core::pipeline::encode::EncodeOptions;
use protok_core::pipeline::input::Input;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::buffer::{self, Buffer};
use crate::encoding::{Encoding, Origin, Source};
use crate::errors::{OrRaise, to_python};
use crate::fingerprint::Fingerprint;
use crate::input::{Given, Row, place_in};

/// The texts of a batch, and how they were encoded.
pub struct BatchTexts {
    /// The texts of each row, unless they were not kept.
    pub texts: Option<Vec<Row>>,
    /// The options of the call.
    pub options: EncodeOptions,
    /// The tokenizer.
    pub pipeline: Arc<Pipeline>,
    /// The tokenizer's fingerprint.
    pub fingerprint: Arc<Fingerprint>,
    /// The id that pads, if the artifact names one.
    pub pad: Option<u32>,
}

/// Encodes the rows of a batch.
pub fn encode_rows(
    py: Python<'_>,
    pipeline: &Pipeline,
    rows: &[Row],
    options: &EncodeOptions,
    threads: Option<usize>,
) -> PyResult<protok_core::pipeline::batch::Batch> {
    let inputs: Vec<Input<'_>> = rows
        .iter()
        .map(|(text, pair)| (text.as_input(), pair.as_ref().map(Given::as_input)))
        .collect();
    let threads = thread_count(threads);
    py.detach(|| pipeline.encode_batch(&inputs, options, threads))
        .map_err(|error| match error.item {
            Some(item) => {
                let (text, pair) = &rows[item as usize];
                place_in(error, text, pair.as_ref())
            }
            None => error,
        })
        .or_raise()
}

/// The results of encoding many texts: a read-only sequence of `Encoding` over one flat buffer.
#[pyclass(frozen, sequence, module = "protok")]
pub struct Batch {
    inner: Arc<protok_core::pipeline::batch::Batch>,
    texts: Arc<BatchTexts>,
}

impl Batch {
    /// Wraps the engine's result.
    pub fn new(inner: protok_core::pipeline::batch::Batch, texts: BatchTexts) -> Self {
        Self { inner: Arc::new(inner), texts: Arc::new(texts) }
    }

    fn row(&self, row: usize) -> Encoding {
        let texts = &self.texts;
        let source = |first| Source::Row { batch: texts.clone(), row, first };
        let sources = match texts.texts.as_ref().map(|texts| &texts[row].1) {
            Some(Some(_)) => vec![source(true), source(false)],
            Some(None) => vec![source(true)],
            None => Vec::new(),
        };
        let origin = Origin {
            texts: sources,
            options: texts.options.clone(),
            pipeline: texts.pipeline.clone(),
            fingerprint: texts.fingerprint.clone(),
            offsets: OnceLock::new(),
            byte_spans: OnceLock::new(),
            index: OnceLock::new(),
        };
        Encoding::new(texts.pipeline.row(&self.inner, row), Arc::new(origin))
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
            Ok(at) if at < length => Ok(self.row(at)),
            _ => Err(PyIndexError::new_err(format!("row {index} of {length}"))),
        }
    }

    fn __iter__<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        // One row at a time: a batch may be large.
        let builtins = slf.py().import("builtins")?;
        let rows = builtins.call_method1("range", (slf.get().inner.len(),))?;
        builtins.call_method1("map", (slf.getattr("__getitem__")?, rows))
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

    #[doc = include_str!("docs/pad.txt")]
    #[pyo3(signature = (to=None, *, multiple_of=1, side="right", pad_id=None, pad_type_id=0))]
    #[allow(clippy::too_many_arguments)]
    fn pad<'py>(
        &self,
        py: Python<'py>,
        to: Option<&Bound<'_, PyAny>>,
        multiple_of: usize,
        side: &str,
        pad_id: Option<u32>,
        pad_type_id: u32,
    ) -> PyResult<Bound<'py, PyDict>> {
        let length = match to {
            None => None,
            Some(to) => match to.extract::<usize>() {
                Ok(length) => Some(length),
                Err(_) if to.extract::<&str>().is_ok_and(|to| to == "longest") => None,
                Err(_) => {
                    return Err(to_python(
                        Error::input(format!("to={to} is not known."))
                            .hint("Use \"longest\" or a length."),
                    ));
                }
            },
        };
        let left = match side {
            "left" => true,
            "right" => false,
            other => {
                return Err(to_python(
                    Error::input(format!("side={other:?} is not known."))
                        .value(other)
                        .hint("Use \"left\" or \"right\"."),
                ));
            }
        };
        let pad_id = pad_id.or(self.texts.pad).ok_or_else(|| {
            to_python(
                Error::input("The artifact names no pad token.")
                    .hint("Pass pad_id, the id to pad with."),
            )
        })?;
        let padding = Padding { length, multiple_of, left, pad_id, pad_type_id };
        let pipeline = &self.texts.pipeline;
        let padded = py.detach(|| pipeline.pad(&self.inner, padding)).or_raise()?;
        let dict = PyDict::new(py);
        let arrays = [
            ("input_ids", padded.ids),
            ("attention_mask", padded.attention_mask),
            ("type_ids", padded.type_ids),
            ("special_mask", padded.special_mask),
        ];
        for (name, values) in arrays {
            let flat =
                buffer::to_numpy(Bound::new(py, Buffer::of_i64(values))?.into_any(), "int64")?;
            dict.set_item(name, flat.call_method1("reshape", (self.inner.len(), padded.length))?)?;
        }
        Ok(dict)
    }
}
