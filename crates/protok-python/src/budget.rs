//! Encoding again where a text changed, counting up to a limit, and where a text may be cut.

use std::sync::{Arc, OnceLock};

use protok_core::Error;
use protok_core::added_tokens::SpecialPolicy;
use protok_core::encoding::Source as Part;
use protok_core::pipeline::seams::Before;
use protok_core::text::boundaries::Boundary;
use protok_core::text::units::Unit;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::PyString;

use crate::arguments::{Text, place};
use crate::encoding::{Encoding, Origin, Source};
use crate::errors::{OrRaise, to_python};
use crate::fingerprint::Fingerprint;
use crate::input::Given;
use crate::tokenizer::Tokenizer;

/// The number of tokens of a text, or one more than the limit; see `protok.Tokenizer.count`.
#[pyfunction]
#[pyo3(signature = (tokenizer, text, limit, *, add_special_tokens=false, special=None))]
pub fn count_up_to(
    py: Python<'_>,
    tokenizer: &Bound<'_, Tokenizer>,
    text: &Bound<'_, PyAny>,
    limit: usize,
    add_special_tokens: bool,
    special: Option<&Bound<'_, PyAny>>,
) -> PyResult<usize> {
    let tokenizer = tokenizer.get();
    let options = tokenizer.options(add_special_tokens, special, SpecialPolicy::Text)?;
    let text = Text::from_python(text)?;
    let pipeline = tokenizer.pipeline();
    py.detach(|| pipeline.count_up_to(text.as_str(), limit, &options))
        .map_err(|error| place(error, &text))
        .or_raise()
}

/// The code points at which a text may be cut, with 0 and its length.
#[pyfunction]
pub fn boundaries(py: Python<'_>, text: &Bound<'_, PyAny>, kind: &str) -> PyResult<Vec<usize>> {
    let boundary = Boundary::named(kind).ok_or_else(|| {
        to_python(
            Error::input(format!("boundary={kind:?} is not known."))
                .value(kind)
                .hint("Use \"grapheme\", \"word\", \"sentence\" or \"line\"."),
        )
    })?;
    let text = Text::from_python(text)?;
    Ok(py.detach(|| boundary.of(text.as_str())))
}

/// The encoding of a text in which code points were replaced, and how many bytes were encoded
/// for it; see `protok.Tokenizer.edit`.
#[pyfunction]
pub fn edit(
    py: Python<'_>,
    tokenizer: &Bound<'_, Tokenizer>,
    encoding: &Bound<'_, Encoding>,
    span: (usize, usize),
    new: &Bound<'_, PyAny>,
    unit: &str,
) -> PyResult<(Encoding, usize)> {
    let tokenizer = tokenizer.get();
    let (inner, origin) = encoding.get().parts();
    let own = tokenizer.origin(Vec::new(), origin.options.clone());
    if !Fingerprint::same(&own.fingerprint, &origin.fingerprint) {
        return Err(to_python(
            Error::input("The encoding was made by another tokenizer.")
                .hint("Edit it with the tokenizer that made it."),
        ));
    }
    let [source] = origin.texts.as_slice() else { return Err(not_one_text()) };
    let Some(Given::Whole(old)) = source.given() else { return Err(not_one_text()) };
    let old = protok_core::text::utf8::validate(old.as_bytes()).or_raise()?;
    let new = Text::from_python(new)?;
    let (start, end) = bytes_of(old, span, unit)?;
    let text = [&old[..start], new.as_str(), &old[end..]].concat();

    let pipeline = &own.pipeline;
    let options = &origin.options;
    let part = inner.parts.iter().find(|part| part.source == Part::Text(0));
    let ids = part.map_or(&[][..], |part| &inner.ids[part.start..part.end]);
    let appends = start == old.len();
    let work = || -> protok_core::Result<_> {
        if options.truncation.is_some() {
            let inner = pipeline.encode(&text, None, options)?;
            return Ok((inner, None, text.len()));
        }
        let index = match origin.index.get() {
            Some(index) => index.as_ref(),
            None if appends => None,
            None => {
                let index = pipeline.index(old, ids, options)?;
                origin.index.get_or_init(|| index).as_ref()
            }
        };
        let before = Before { text: old, ids, index };
        let edited = pipeline.edit(&text, before, start..end, new.as_str().len(), options)?;
        let inner = pipeline.with_template(&edited.ids, options)?;
        Ok((inner, edited.index, edited.encoded))
    };
    let done = py.detach(work);
    let text = Text::Str(PyBackedStr::try_from(PyString::new(py, &text))?);
    let (inner, index, encoded) = done.map_err(|error| place(error, &text)).or_raise()?;
    let origin = Origin {
        texts: vec![Source::Own(Given::Whole(text))],
        index: index.map_or_else(OnceLock::new, |index| OnceLock::from(Some(index))),
        ..own
    };
    Ok((Encoding::new(inner, Arc::new(origin)), encoded))
}

fn not_one_text() -> PyErr {
    to_python(
        Error::input(
            "Only the encoding of one whole text can be edited, not of a pair or of words.",
        )
        .hint("Encode the text by itself."),
    )
}

/// A span in bytes.
fn bytes_of(text: &str, (start, end): (usize, usize), unit: &str) -> PyResult<(usize, usize)> {
    let wrong = |at: usize, why: &str| {
        to_python(
            Error::input(format!("The span ({start}, {end}) {why}."))
                .position(at)
                .value(at.to_string())
                .hint("A span is two positions in the text of the encoding, the first not after the second."),
        )
    };
    if start > end {
        return Err(wrong(start, "ends before it starts"));
    }
    let (unit, _) = crate::arguments::frame(unit, "original")?;
    let find = |at: usize| -> PyResult<usize> {
        let byte = match unit {
            Unit::Codepoint if text.is_ascii() => (at <= text.len()).then_some(at),
            Unit::Codepoint => {
                let ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
                ends.into_iter().nth(at)
            }
            Unit::Byte => (at <= text.len()).then_some(at),
            unit => protok_core::text::units::Units::of(text, unit)
                .to_byte(at)
                .and_then(|(byte, exact)| exact.then_some(byte)),
        };
        match byte {
            Some(byte) if text.is_char_boundary(byte) => Ok(byte),
            Some(_) => Err(wrong(at, "cuts a character")),
            None => Err(wrong(at, "is not within the text")),
        }
    };
    Ok((find(start)?, find(end)?))
}
