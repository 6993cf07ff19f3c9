//! `protok.Encoding`.

use std::sync::{Arc, OnceLock};

use protok_core::Error;
use protok_core::encoding::Source as Part;
use protok_core::labels::Entity;
use protok_core::offsets::{Of, Offsets, Place, in_unit};
use protok_core::pipeline::Pipeline;
use protok_core::pipeline::encode::EncodeOptions;
use protok_core::pipeline::input::{Input, Text as CoreText};
use protok_core::pipeline::placed::ByteSpan;
use protok_core::pipeline::seams::Index;
use pyo3::exceptions::PyIndexError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::arguments::{Text, frame, label_unit, scheme};
use crate::batch::BatchTexts;
use crate::buffer::{self, Buffer};
use crate::errors::{OrRaise, to_python};
use crate::fingerprint::Fingerprint;
use crate::input::Given;
use crate::restore::choice_to_python;
use crate::tokenizer::Tokenizer;

/// A text of an encoding.
pub enum Source {
    /// Its own.
    Own(Given),
    /// One that other encodings have too.
    Shared(Arc<Given>),
    /// The first (or else the second) text of a row of a batch.
    Row { batch: Arc<BatchTexts>, row: usize, first: bool },
}

impl Source {
    pub fn given(&self) -> Option<&Given> {
        match self {
            Self::Own(text) => Some(text),
            Self::Shared(text) => Some(text),
            Self::Row { batch, row, first } => {
                let (text, pair) = &batch.texts.as_ref()?[*row];
                if *first { Some(text) } else { pair.as_ref() }
            }
        }
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
    pub fingerprint: Arc<Fingerprint>,
    /// Where tokens came from, once somebody asked; shared with the windows that overflow.
    pub offsets: OnceLock<Offsets>,
    /// The same in bytes of the original alone, if it was asked for first and is known without the
    /// rest.
    pub byte_spans: ByteSpans,
    /// Where the text can be cut, once it was edited.
    pub index: OnceLock<Option<Index>>,
}

impl Origin {
    /// Where tokens came from in the one text, which is returned with it; None where only
    /// [`Self::offsets`] knows.
    fn byte_spans(
        &self,
        encoding: &protok_core::encoding::Encoding,
    ) -> PyResult<Option<(&str, &[ByteSpan])>> {
        let [text] = self.texts.as_slice() else { return Ok(None) };
        let Some(text) = text.given().and_then(Given::whole) else { return Ok(None) };
        let Ok(text) = std::str::from_utf8(text.as_bytes()) else { return Ok(None) };
        if self.byte_spans.get().is_none() {
            let known = match self.offsets.get() {
                Some(_) => None,
                None => self.pipeline.places_of(text, encoding, &self.options).or_raise()?,
            };
            // Another thread may have been first: it found the same.
            let _ = self.byte_spans.set(known);
        }
        Ok(self.byte_spans.get().and_then(Option::as_deref).map(|spans| (text, spans)))
    }

    /// The places of all tokens: computed on first use, from the same text by the same pipeline.
    fn offsets(&self, encoding: &protok_core::encoding::Encoding) -> PyResult<&Offsets> {
        if let Some(offsets) = self.offsets.get() {
            return Ok(offsets);
        }
        if self.texts.is_empty() {
            return Err(keeps_none());
        }
        let offsets = if self.is_pretokenized() {
            let texts = self.texts.iter().filter_map(Source::given).map(|given| {
                let CoreText::Words(words) = given.as_input() else { return Ok(Vec::new()) };
                let spans = self.pipeline.word_spans(&words, &self.options)?;
                Ok(words.iter().map(|word| word.as_bytes().to_vec()).zip(spans).collect())
            });
            Offsets::of_words(texts.collect::<protok_core::Result<_>>().or_raise()?)
        } else {
            let texts = self.texts.iter().filter_map(Source::given).enumerate();
            let texts = texts.map(|(index, given)| {
                let bytes = given.whole().map_or(&[][..], Text::as_bytes);
                let spans =
                    match encoding.ids_of(index).filter(|_| self.options.truncation.is_none()) {
                        Some(ids) => self.pipeline.spans_of(bytes, ids, &self.options)?,
                        None => self.pipeline.spans(bytes, &self.options)?,
                    };
                Ok((bytes.to_vec(), spans))
            });
            Offsets::new(texts.collect::<protok_core::Result<_>>().or_raise()?)
        };
        Ok(self.offsets.get_or_init(|| offsets))
    }
}

/// What is known of spans in bytes of the original alone, see [`Origin::byte_spans`].
pub type ByteSpans = OnceLock<Option<Vec<ByteSpan>>>;

/// Encodes a text or two, with the spans of the tokens if asked to.
pub fn encode(
    pipeline: &Pipeline,
    input: &Input<'_>,
    options: &EncodeOptions,
    spans: bool,
) -> protok_core::Result<(protok_core::encoding::Encoding, ByteSpans)> {
    if spans && let (CoreText::Whole(text), None) = input {
        let (encoding, spans) = pipeline.encode_placed(text, options)?;
        return Ok((encoding, spans.into()));
    }
    Ok((pipeline.encode_input(input, options)?, ByteSpans::new()))
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

    /// The engine's result, and what it was made from.
    pub fn parts(&self) -> (&protok_core::encoding::Encoding, &Arc<Origin>) {
        (&self.inner, &self.origin)
    }

    /// The ids.
    pub fn ids(&self) -> &[u32] {
        &self.inner.ids
    }

    /// Computes where tokens came from, if that was not done yet.
    pub fn locate(&self) -> PyResult<()> {
        match self.origin.byte_spans(&self.inner)? {
            Some(_) => Ok(()),
            None => self.places().map(drop),
        }
    }

    fn places(&self) -> PyResult<&Offsets> {
        self.origin.offsets(&self.inner)
    }

    fn place(&self, index: isize) -> PyResult<usize> {
        let length = self.inner.ids.len();
        let at = if index < 0 { index + length as isize } else { index };
        match usize::try_from(at) {
            Ok(at) if at < length => Ok(at),
            _ => Err(PyIndexError::new_err(format!("token {index} of {length}"))),
        }
    }

    fn labelled(&self, sequence: usize) -> PyResult<&Offsets> {
        let offsets = self.places()?;
        if sequence < offsets.texts() {
            return Ok(offsets);
        }
        Err(no_text(sequence))
    }
}

impl Origin {
    /// Whether the caller cut the texts into words.
    pub fn is_pretokenized(&self) -> bool {
        self.texts.iter().any(|text| matches!(text.given(), Some(Given::Words(_))))
    }

    fn text(&self, sequence: usize) -> PyResult<&str> {
        if self.texts.is_empty() {
            return Err(keeps_none());
        }
        let given = self.texts.get(sequence).and_then(Source::given);
        match given.ok_or_else(|| no_text(sequence))? {
            Given::Whole(text) => protok_core::text::utf8::validate(text.as_bytes()).or_raise(),
            Given::Words(_) => Err(to_python(
                Error::input("The text was encoded as a list of words, so it is none in one.")
                    .hint("Use words()."),
            )),
        }
    }
}

fn no_text(sequence: usize) -> PyErr {
    to_python(Error::input(format!("The encoding has no text {sequence}.")))
}

fn keeps_none() -> PyErr {
    to_python(
        Error::input("The encoding has no text: batches of files keep no texts.")
            .hint("Encode the text itself to know what is where."),
    )
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
            self.inner == other.inner
                && Fingerprint::same(&self.origin.fingerprint, &other.origin.fingerprint)
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
                && let Some(text) = self.places()?.unknown(&self.inner, at)
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
        Ok(self.places()?.words(&self.inner).collect())
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
        if self.origin.is_pretokenized() {
            self.origin.text(0)?;
        }
        self.places()?.text_of(0, Of::Normalized).or_raise()
    }

    #[doc = include_str!("docs/words.txt")]
    #[pyo3(signature = (of="original", *, sequence=0))]
    fn words(&self, of: &str, sequence: usize) -> PyResult<Vec<&str>> {
        let (_, of) = frame("byte", of)?;
        self.places()?.words_of(sequence, of).or_raise()
    }

    /// Where each token came from in code points of the original: a `uint32` array of shape
    /// `(n, 2)`, ends exclusive.
    #[getter]
    fn offsets<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.spans(py, "codepoint", "original")
    }

    #[doc = include_str!("docs/spans.txt")]
    #[pyo3(signature = (unit="codepoint", of="original"))]
    fn spans<'py>(&self, py: Python<'py>, unit: &str, of: &str) -> PyResult<Bound<'py, PyAny>> {
        let (unit, of) = frame(unit, of)?;
        if of == Of::Original
            && let Some((text, places)) = self.origin.byte_spans(&self.inner)?
            && let Some(spans) = in_unit(text, &self.inner, places, unit)
        {
            let count = spans.len();
            let flat = Bound::new(py, Buffer::of_u32(spans.into_flattened()))?;
            return buffer::to_numpy(flat.into_any(), "uint32")?
                .call_method1("reshape", (count, 2));
        }
        let spans = self.places()?.spans(&self.inner, (unit, of)).or_raise()?;
        let flat = spans.iter().flat_map(|&(start, end)| [start as u32, end as u32]);
        array(py, flat)?.call_method1("reshape", (spans.len(), 2))
    }

    #[doc = include_str!("docs/convert.txt")]
    #[pyo3(signature = (span, *, from_, to, partial="error", sequence=0, word=None))]
    fn convert(
        &self,
        span: (usize, usize),
        from_: (String, String),
        to: (String, String),
        partial: &str,
        sequence: usize,
        word: Option<usize>,
    ) -> PyResult<(usize, usize)> {
        let (from, to) = (frame(&from_.0, &from_.1)?, frame(&to.0, &to.1)?);
        let partial = crate::arguments::partial(partial)?;
        let place = Place { text: sequence, word };
        self.places()?.convert(place, span, from, to, partial).or_raise()
    }

    #[doc = include_str!("docs/token_at.txt")]
    #[pyo3(signature = (position, unit="codepoint", of="original", *, sequence=0, word=None))]
    fn token_at(
        &self,
        position: usize,
        unit: &str,
        of: &str,
        sequence: usize,
        word: Option<usize>,
    ) -> PyResult<Option<usize>> {
        let offsets = self.places()?;
        let place = Place { text: sequence, word };
        offsets.token_at(&self.inner, place, position, frame(unit, of)?).or_raise()
    }

    #[doc = include_str!("docs/word_at.txt")]
    #[pyo3(signature = (position, unit="codepoint", of="original", *, sequence=0, word=None))]
    fn word_at(
        &self,
        position: usize,
        unit: &str,
        of: &str,
        sequence: usize,
        word: Option<usize>,
    ) -> PyResult<Option<u32>> {
        let offsets = self.places()?;
        let at = self.token_at(position, unit, of, sequence, word)?;
        Ok(at.and_then(|at| offsets.token(&self.inner, at)).map(|(_, token)| token.word))
    }

    #[doc = include_str!("docs/word_tokens.txt")]
    #[pyo3(signature = (word, *, sequence=0))]
    fn word_tokens(&self, word: u32, sequence: usize) -> PyResult<Option<(usize, usize)>> {
        let offsets = self.places()?;
        let is_in = |&at: &usize| {
            let token = offsets.token(&self.inner, at);
            token.is_some_and(|(text, token)| text == sequence && token.word == word)
        };
        let mut tokens = (0..self.inner.ids.len()).filter(is_in);
        let first = tokens.next();
        Ok(first.map(|first| (first, tokens.next_back().unwrap_or(first) + 1)))
    }

    #[doc = include_str!("docs/text.txt")]
    fn text(&self, index: isize) -> PyResult<&str> {
        let at = self.place(index)?;
        self.places()?.text(&self.inner, at).or_raise()
    }

    #[doc = include_str!("docs/bytes.txt")]
    fn bytes<'py>(&self, py: Python<'py>, index: isize) -> PyResult<Bound<'py, PyBytes>> {
        let at = self.place(index)?;
        Ok(PyBytes::new(py, self.places()?.bytes(&self.inner, at)))
    }

    #[doc = include_str!("docs/align.txt")]
    #[pyo3(signature = (entities, *, unit="codepoint", scheme="bio", sequence=0))]
    #[allow(clippy::type_complexity)]
    fn align(
        &self,
        entities: Vec<(usize, usize, String)>,
        unit: &str,
        scheme: &str,
        sequence: usize,
    ) -> PyResult<(Vec<String>, Vec<(usize, (usize, usize), &'static str)>)> {
        let (unit, scheme) = (label_unit(unit)?, crate::arguments::scheme(scheme)?);
        let entities =
            entities.into_iter().map(|(start, end, label)| Entity { start, end, label }).collect();
        let offsets = self.labelled(sequence)?;
        let found = offsets.label(&self.inner, sequence, entities, unit, scheme).or_raise()?;
        let misfits = found.misfits.into_iter();
        Ok((found.labels, misfits.map(|(index, span, why)| (index, span, why.name())).collect()))
    }

    #[doc = include_str!("docs/entities.txt")]
    #[pyo3(signature = (labels, *, unit="codepoint", scheme="bio", sequence=0))]
    fn entities(
        &self,
        labels: Vec<String>,
        unit: &str,
        scheme: &str,
        sequence: usize,
    ) -> PyResult<Vec<(usize, usize, String)>> {
        let (unit, scheme) = (label_unit(unit)?, self::scheme(scheme)?);
        let offsets = self.labelled(sequence)?;
        let found = offsets.entities(&self.inner, sequence, &labels, unit, scheme).or_raise()?;
        Ok(found.into_iter().map(|Entity { start, end, label }| (start, end, label)).collect())
    }

    #[doc = include_str!("docs/to_dict.txt")]
    #[pyo3(signature = (unit="codepoint", of="original"))]
    pub fn to_dict<'py>(
        &self,
        py: Python<'py>,
        unit: &str,
        of: &str,
    ) -> PyResult<Bound<'py, PyDict>> {
        let offsets = self.places()?;
        let texts = |which: Of| -> PyResult<Bound<'py, PyList>> {
            let list = PyList::empty(py);
            for text in 0..offsets.texts() {
                if offsets.has_words(text) {
                    list.append(offsets.words_of(text, which).or_raise()?)?;
                } else {
                    list.append(offsets.text_of(text, which).or_raise()?)?;
                }
            }
            Ok(list)
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
        dict.set_item("fingerprint", self.origin.fingerprint.get().or_raise()?)?;
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
        dict.set_item("choice", choice_to_python(py, options.choice)?)?;
        dict.set_item("is_pretokenized", self.origin.is_pretokenized())?;
        let overflow: PyResult<Vec<_>> =
            self.overflow().iter().map(|window| window.to_dict(py, unit, of)).collect();
        dict.set_item("overflow", overflow?)?;
        Ok(dict)
    }

    #[doc = include_str!("docs/from_dict.txt")]
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
