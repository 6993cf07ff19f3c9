//! `protok.Encoding`.

use std::sync::{Arc, OnceLock};

use protok_core::Error;
use protok_core::encoding::Source as Part;
use protok_core::labels::{self, Entity};
use protok_core::offsets::{Of, Offsets};
use protok_core::pipeline::Pipeline;
use protok_core::pipeline::encode::EncodeOptions;
use pyo3::exceptions::PyIndexError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::arguments::{Text, frame, partial, scheme};
use crate::batch::BatchTexts;
use crate::buffer::{self, Buffer};
use crate::errors::{OrRaise, to_python};
use crate::tokenizer::Tokenizer;

/// A text of an encoding.
pub enum Source {
    /// Its own.
    Own(Text),
    /// The first (or else the second) text of a row of a batch.
    Row { batch: Arc<BatchTexts>, row: usize, first: bool },
}

impl Source {
    fn text(&self) -> Option<&Text> {
        match self {
            Self::Own(text) => Some(text),
            Self::Row { batch, row, first: true } => Some(&batch.texts[*row].0),
            Self::Row { batch, row, first: false } => batch.texts[*row].1.as_ref(),
        }
    }

    /// The bytes of the text.
    pub fn as_bytes(&self) -> &[u8] {
        self.text().map_or(&[], Text::as_bytes)
    }
}

/// The texts that an encoding was made from, and how.
pub struct Origin {
    /// The texts: one, or two.
    pub texts: Vec<Source>,
    /// The options of the call.
    pub options: EncodeOptions,
    /// The tokenizer.
    pub pipeline: Arc<Pipeline>,
    /// The tokenizer's fingerprint.
    pub fingerprint: Arc<str>,
    /// Where tokens came from, once somebody asked; shared with the windows that overflow.
    pub offsets: OnceLock<Offsets>,
}

impl Origin {
    /// The places of all tokens: computed on first use, from the same text by the same pipeline.
    fn offsets(&self) -> PyResult<&Offsets> {
        if let Some(offsets) = self.offsets.get() {
            return Ok(offsets);
        }
        let texts = self
            .texts
            .iter()
            .map(|text| {
                let spans = self.pipeline.spans(text.as_bytes(), &self.options)?;
                Ok((text.as_bytes().to_vec(), spans))
            })
            .collect::<protok_core::Result<Vec<_>>>()
            .or_raise()?;
        Ok(self.offsets.get_or_init(|| Offsets::new(texts)))
    }
}

/// The result of encoding one text, or two.
///
/// It is a read-only sequence of ids and exports them as a `uint32` buffer. Positions of tokens
/// in the text are computed when they are first asked for. Tokens that the template put have
/// the span (0, 0), empty text, and no word or sequence.
#[pyclass(frozen, sequence, module = "protok")]
pub struct Encoding {
    inner: protok_core::encoding::Encoding,
    origin: Arc<Origin>,
}

impl Encoding {
    /// Wraps the engine's result.
    pub fn new(inner: protok_core::encoding::Encoding, origin: Arc<Origin>) -> Self {
        Self { inner, origin }
    }

    /// The ids.
    pub fn ids(&self) -> &[u32] {
        &self.inner.ids
    }

    /// Computes where tokens came from, if that was not done yet.
    pub fn locate(&self) -> PyResult<()> {
        self.origin.offsets().map(drop)
    }

    fn place(&self, index: isize) -> PyResult<usize> {
        let length = self.inner.ids.len();
        let at = if index < 0 { index + length as isize } else { index };
        match usize::try_from(at) {
            Ok(at) if at < length => Ok(at),
            _ => Err(PyIndexError::new_err(format!("token {index} of {length}"))),
        }
    }

    /// The original spans of all tokens in bytes, without white space at the edges.
    fn trimmed(&self, sequence: usize) -> PyResult<Vec<(usize, usize)>> {
        let offsets = self.origin.offsets()?;
        let text = self.origin.text(sequence)?;
        Ok((0..self.inner.ids.len())
            .map(|at| match offsets.token(&self.inner, at) {
                Some((of, token)) if of == sequence => labels::trim(text, token.original),
                _ => (0, 0),
            })
            .collect())
    }

    fn bytes_of(&self, span: (usize, usize), unit: &str, sequence: usize) -> PyResult<Entity> {
        let from = frame(unit, "original")?;
        let to = frame("byte", "original")?;
        let offsets = self.origin.offsets()?;
        let (start, end) =
            offsets.convert(sequence, span, from, to, partial("error")?).or_raise()?;
        Ok(Entity { start, end, label: String::new() })
    }
}

impl Origin {
    fn text(&self, sequence: usize) -> PyResult<&str> {
        let text = self.texts.get(sequence).ok_or_else(|| {
            to_python(Error::input(format!("The encoding has no text {sequence}.")))
        })?;
        protok_core::text::utf8::validate(text.as_bytes()).or_raise()
    }
}

/// An array of `uint32` over numbers that are made here.
fn array(py: Python<'_>, values: impl Iterator<Item = u32>) -> PyResult<Bound<'_, PyAny>> {
    buffer::to_numpy(Bound::new(py, Buffer::of_u32(values.collect()))?.into_any(), "uint32")
}

#[pymethods]
#[allow(unsafe_code)]
impl Encoding {
    fn __len__(&self) -> usize {
        self.inner.ids.len()
    }

    fn __getitem__(&self, index: isize) -> PyResult<u32> {
        Ok(self.inner.ids[self.place(index)?])
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        PyList::new(py, &self.inner.ids)?.call_method0("__iter__")
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| {
            let other = other.get();
            self.inner == other.inner && self.origin.fingerprint == other.origin.fingerprint
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

    /// Each token as the vocabulary spells it; one that is matched in the normalized text, as it
    /// stands there. Of a Unigram or SentencePiece model an unknown token is the text that it
    /// stands for, as the model saw it.
    #[getter]
    fn tokens(&self) -> PyResult<Vec<String>> {
        let pipeline = &self.origin.pipeline;
        let ids = self.inner.ids.iter().enumerate();
        ids.map(|(at, &id)| {
            if pipeline.is_shown_as_text(id)
                && let Some(text) = self.origin.offsets()?.unknown(&self.inner, at)
            {
                return Ok(text.to_owned());
            }
            Ok(pipeline.shown(id).map(std::borrow::Cow::into_owned).unwrap_or_default())
        })
        .collect()
    }

    /// The type id of each token, a `uint32` array of shape `(n,)`.
    #[getter]
    fn type_ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        array(py, self.inner.spread(|part| part.type_id))
    }

    /// 1 for every token: a `uint32` array of shape `(n,)`. Padding, in `Batch.pad`, has 0.
    #[getter]
    fn attention_mask<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        array(py, self.inner.ids.iter().map(|_| 1))
    }

    /// 1 where the template put a token, else 0: a `uint32` array of shape `(n,)`.
    #[getter]
    fn special_mask<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        array(py, self.inner.spread(|part| u32::from(part.source == Part::Template)))
    }

    /// For each token 0 or 1, the text that it came from; None where the template put it.
    #[getter]
    fn sequence_ids(&self) -> Vec<Option<usize>> {
        self.inner
            .spread(|part| match part.source {
                Part::Text(index) => Some(index),
                Part::Template => None,
            })
            .collect()
    }

    /// For each token the number of its word, the piece that the pre-tokenizer cut, counted in
    /// its text from 0; None where the template put it.
    #[getter]
    fn word_ids(&self) -> PyResult<Vec<Option<u32>>> {
        Ok(self.origin.offsets()?.words(&self.inner).collect())
    }

    /// The windows that truncation cut off, in order.
    #[getter]
    fn overflow(&self) -> Vec<Self> {
        self.inner.overflow.iter().map(|e| Self::new(e.clone(), self.origin.clone())).collect()
    }

    /// The text that was encoded.
    #[getter]
    fn original(&self) -> PyResult<&str> {
        self.origin.text(0)
    }

    /// The text after normalization: what the model saw.
    #[getter]
    fn normalized(&self) -> PyResult<&str> {
        self.origin.offsets()?.normalized(0).or_raise()
    }

    /// Where each token came from in code points of the original: a `uint32` array of shape
    /// `(n, 2)`, ends exclusive.
    #[getter]
    fn offsets<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.spans(py, "codepoint", "original")
    }

    /// Where each token came from, in a unit ("byte", "codepoint", "utf16" or "grapheme") of a
    /// text ("original" or "normalized"): a `uint32` array of shape `(n, 2)`.
    #[pyo3(signature = (unit="codepoint", of="original"))]
    fn spans<'py>(&self, py: Python<'py>, unit: &str, of: &str) -> PyResult<Bound<'py, PyAny>> {
        let spans = self.origin.offsets()?.spans(&self.inner, frame(unit, of)?).or_raise()?;
        let flat = spans.iter().flat_map(|&(start, end)| [start as u32, end as u32]);
        array(py, flat)?.call_method1("reshape", (spans.len(), 2))
    }

    /// A span in another unit, of another text, or both.
    #[pyo3(signature = (span, *, from_, to, partial="error", sequence=0))]
    fn convert(
        &self,
        span: (usize, usize),
        from_: (String, String),
        to: (String, String),
        partial: &str,
        sequence: usize,
    ) -> PyResult<(usize, usize)> {
        let (from, to) = (frame(&from_.0, &from_.1)?, frame(&to.0, &to.1)?);
        let partial = crate::arguments::partial(partial)?;
        self.origin.offsets()?.convert(sequence, span, from, to, partial).or_raise()
    }

    /// The first token that covers a position, or None. Never a token that the template put.
    #[pyo3(signature = (position, unit="codepoint", of="original", *, sequence=0))]
    fn token_at(
        &self,
        position: usize,
        unit: &str,
        of: &str,
        sequence: usize,
    ) -> PyResult<Option<usize>> {
        let offsets = self.origin.offsets()?;
        offsets.token_at(&self.inner, sequence, position, frame(unit, of)?).or_raise()
    }

    /// The word at a position, or None.
    #[pyo3(signature = (position, unit="codepoint", of="original", *, sequence=0))]
    fn word_at(
        &self,
        position: usize,
        unit: &str,
        of: &str,
        sequence: usize,
    ) -> PyResult<Option<u32>> {
        let offsets = self.origin.offsets()?;
        let at = self.token_at(position, unit, of, sequence)?;
        Ok(at.and_then(|at| offsets.token(&self.inner, at)).map(|(_, token)| token.word))
    }

    /// The tokens of a word, as (first, past the last), or None.
    #[pyo3(signature = (word, *, sequence=0))]
    fn word_tokens(&self, word: u32, sequence: usize) -> PyResult<Option<(usize, usize)>> {
        let offsets = self.origin.offsets()?;
        let is_in = |&at: &usize| {
            let token = offsets.token(&self.inner, at);
            token.is_some_and(|(text, token)| text == sequence && token.word == word)
        };
        let mut tokens = (0..self.inner.ids.len()).filter(is_in);
        let first = tokens.next();
        Ok(first.map(|first| (first, tokens.next_back().unwrap_or(first) + 1)))
    }

    /// The part of the original that a token covers, in whole characters.
    fn text(&self, index: isize) -> PyResult<&str> {
        let at = self.place(index)?;
        self.origin.offsets()?.text(&self.inner, at).or_raise()
    }

    /// The bytes of the original that a token covers.
    fn bytes<'py>(&self, py: Python<'py>, index: isize) -> PyResult<Bound<'py, PyBytes>> {
        let at = self.place(index)?;
        Ok(PyBytes::new(py, self.origin.offsets()?.bytes(&self.inner, at)))
    }

    /// Labels tokens with entities, given as (start, end, label).
    ///
    /// Returns the labels, one a token, and the entities that do not fall on token boundaries:
    /// for each its index, the span that its labels stand for, and why.
    #[pyo3(signature = (entities, *, unit="codepoint", scheme="bio", sequence=0))]
    #[allow(clippy::type_complexity)]
    fn align(
        &self,
        entities: Vec<(usize, usize, String)>,
        unit: &str,
        scheme: &str,
        sequence: usize,
    ) -> PyResult<(Vec<String>, Vec<(usize, (usize, usize), &'static str)>)> {
        let scheme = crate::arguments::scheme(scheme)?;
        let entities: Vec<Entity> = entities
            .into_iter()
            .map(|(start, end, label)| {
                Ok(Entity { label, ..self.bytes_of((start, end), unit, sequence)? })
            })
            .collect::<PyResult<_>>()?;
        let tokens = self.trimmed(sequence)?;
        let result = labels::label(&tokens, &entities, scheme).or_raise()?;
        let (byte, unit) = (frame("byte", "original")?, frame(unit, "original")?);
        let offsets = self.origin.offsets()?;
        let misfits = result.misfits.into_iter().map(|(index, span, why)| {
            let expand = partial("expand")?;
            let span = offsets.convert(sequence, span, byte, unit, expand).or_raise()?;
            Ok((index, span, why.name()))
        });
        Ok((result.labels, misfits.collect::<PyResult<_>>()?))
    }

    /// The entities that labels stand for, as (start, end, label): the reverse of `align`.
    #[pyo3(signature = (labels, *, unit="codepoint", scheme="bio", sequence=0))]
    fn entities(
        &self,
        labels: Vec<String>,
        unit: &str,
        scheme: &str,
        sequence: usize,
    ) -> PyResult<Vec<(usize, usize, String)>> {
        let tokens = self.trimmed(sequence)?;
        let scheme = self::scheme(scheme)?;
        let found = labels::entities(&tokens, &labels, scheme).or_raise()?;
        let (byte, unit) = (frame("byte", "original")?, frame(unit, "original")?);
        let offsets = self.origin.offsets()?;
        let expand = partial("expand")?;
        found
            .into_iter()
            .map(|entity| {
                let span = (entity.start, entity.end);
                let (start, end) =
                    offsets.convert(sequence, span, byte, unit, expand).or_raise()?;
                Ok((start, end, entity.label))
            })
            .collect()
    }

    /// Everything that must stay together to read the encoding later, as plain data that JSON
    /// holds: the texts before and after normalization, ids, tokens, spans with their unit and
    /// text, and the tokenizer's fingerprint. `from_dict` reads it back.
    #[pyo3(signature = (unit="codepoint", of="original"))]
    pub fn to_dict<'py>(
        &self,
        py: Python<'py>,
        unit: &str,
        of: &str,
    ) -> PyResult<Bound<'py, PyDict>> {
        let offsets = self.origin.offsets()?;
        let texts = |which: Of| -> PyResult<Vec<String>> {
            (0..offsets.texts())
                .map(|text| match which {
                    Of::Original => self.origin.text(text).map(str::to_owned),
                    Of::Normalized => offsets.normalized(text).map(str::to_owned).or_raise(),
                })
                .collect()
        };
        let spans = offsets.spans(&self.inner, frame(unit, of)?).or_raise()?;
        let spans: Vec<[usize; 2]> = spans.into_iter().map(<[usize; 2]>::from).collect();
        let parts = PyList::empty(py);
        for part in &self.inner.parts {
            let item = PyDict::new(py);
            item.set_item("start", part.start)?;
            item.set_item("end", part.end)?;
            let sequence = match part.source {
                Part::Template => None,
                Part::Text(index) => Some(index),
            };
            item.set_item("sequence", sequence)?;
            item.set_item("type_id", part.type_id)?;
            item.set_item("first", part.first)?;
            parts.append(item)?;
        }
        let options = &self.origin.options;
        let dict = PyDict::new(py);
        dict.set_item("fingerprint", &*self.origin.fingerprint)?;
        dict.set_item("original", texts(Of::Original)?)?;
        dict.set_item("normalized", texts(Of::Normalized)?)?;
        dict.set_item("ids", self.inner.ids.as_slice())?;
        dict.set_item("tokens", self.tokens()?)?;
        dict.set_item("spans", spans)?;
        dict.set_item("unit", unit)?;
        dict.set_item("of", of)?;
        dict.set_item("parts", parts)?;
        let special = crate::arguments::policy_to_python(&options.special, &self.origin.pipeline);
        dict.set_item("special", special)?;
        dict.set_item("seed", options.seed)?;
        let overflow: PyResult<Vec<_>> =
            self.overflow().iter().map(|window| window.to_dict(py, unit, of)).collect();
        dict.set_item("overflow", overflow?)?;
        Ok(dict)
    }

    /// The encoding that `to_dict` described, made by the same tokenizer.
    #[staticmethod]
    fn from_dict(data: &Bound<'_, PyDict>, tok: &Bound<'_, Tokenizer>) -> PyResult<Self> {
        tok.get().restore(data)
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
