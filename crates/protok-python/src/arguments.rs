//! What Python passes, as the engine wants it.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use protok_core::added_tokens::SpecialPolicy;
use protok_core::decode::{DecodeOptions, Errors, Unknown};
use protok_core::formats::{self, Wrapper};
use protok_core::labels::Scheme;
use protok_core::offsets::{Frame, LabelUnit, Of, Partial};
use protok_core::pipeline::Pipeline;
use protok_core::pipeline::truncate::{Side, Truncation};
use protok_core::text::units::Unit;
use protok_core::{Error, ErrorKind};
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyBytes, PyInt, PyString};

use crate::arrow;
use crate::encoding::Encoding;
use crate::errors::{OrRaise, to_python};

/// A text that stays alive while the interpreter is not held.
pub enum Text {
    Str(PyBackedStr),
    Bytes(PyBackedBytes),
    /// A part of a column of Arrow, checked when it was made.
    Column {
        data: Arc<arrow::Data>,
        range: Range<usize>,
    },
}

impl Text {
    /// From a `str` or from UTF-8 `bytes`.
    pub fn from_python(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::read(object).or_raise()
    }

    /// The same for those who say where the text stands if it is none.
    pub fn read(object: &Bound<'_, PyAny>) -> protok_core::Result<Self> {
        if let Ok(text) = object.cast::<PyString>() {
            let read = PyBackedStr::try_from(text.clone());
            return read.map(Self::Str).map_err(|error| surrogate(object, error));
        }
        if let Ok(bytes) = object.cast::<PyBytes>() {
            let bytes = PyBackedBytes::from(bytes.clone());
            protok_core::text::utf8::validate(&bytes)?;
            return Ok(Self::Bytes(bytes));
        }
        let kind = kind_of(object);
        Err(Error::input(format!("A text must be str or UTF-8 bytes, not {kind}."))
            .value(kind)
            .hint(
                "Pass one text to encode, a list of texts to encode_batch. A list of the words \
                 of one text needs is_pretokenized=True.",
            ))
    }

    /// Any bytes, for tokenizers that hold them.
    pub fn from_bytes(bytes: PyBackedBytes) -> Self {
        Self::Bytes(bytes)
    }

    /// The text; empty for bytes that are none.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Str(text) => text,
            // Checked when it was made, but for encode_bytes, which asks for bytes.
            _ => std::str::from_utf8(self.as_bytes()).unwrap_or_default(),
        }
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Str(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
            Self::Column { data, range } => &data.bytes()[range.clone()],
        }
    }
}

/// The name of an object's type.
pub fn kind_of(object: &Bound<'_, PyAny>) -> String {
    object.get_type().name().map_or_else(|_| "?".to_owned(), |name| name.to_string())
}

/// Says where in a caller's text an error is: in code points of a `str`, in bytes of `bytes`.
pub fn place(mut error: Error, text: &Text) -> Error {
    let Some(position) = error.position else { return error };
    let place = match text {
        Text::Str(text) => {
            let at = text.get(..position).map_or(position, |before| before.chars().count());
            error.position = Some(at);
            format!("character {at}")
        }
        Text::Bytes(_) | Text::Column { .. } => format!("byte {position}"),
    };
    error.location = Some(match error.location {
        Some(location) => format!("{location}, {place}"),
        None => place,
    });
    error
}

/// What a position counts, and in which text.
pub fn frame(unit: &str, of: &str) -> PyResult<Frame> {
    let unit = Unit::named(unit).ok_or_else(|| {
        not_one_of("unit", unit, "\"byte\", \"codepoint\", \"utf16\" or \"grapheme\"")
    })?;
    let of = match of {
        "original" => Of::Original,
        "normalized" => Of::Normalized,
        other => return Err(not_one_of("of", other, "\"original\" or \"normalized\"")),
    };
    Ok((unit, of))
}

/// What to do with a span that cuts a character.
pub fn partial(name: &str) -> PyResult<Partial> {
    match name {
        "error" => Ok(Partial::Error),
        "expand" => Ok(Partial::Expand),
        other => Err(not_one_of("partial", other, "\"error\" or \"expand\"")),
    }
}

/// What the edges of entities count.
pub fn label_unit(name: &str) -> PyResult<LabelUnit> {
    LabelUnit::named(name).ok_or_else(|| {
        let choices = "\"byte\", \"codepoint\", \"utf16\", \"grapheme\" or \"word\"";
        not_one_of("unit", name, choices)
    })
}

/// How labels mark the edges of entities.
pub fn scheme(name: &str) -> PyResult<Scheme> {
    match name {
        "bio" => Ok(Scheme::Bio),
        "bilou" => Ok(Scheme::Bilou),
        other => Err(not_one_of("scheme", other, "\"bio\" or \"bilou\"")),
    }
}

/// How to read files.
pub fn read_options(
    encoding: Option<String>,
    pattern: Option<String>,
    special_tokens: Option<BTreeMap<String, u32>>,
    as_loaded_by: Option<&str>,
) -> PyResult<formats::Options> {
    Ok(formats::Options {
        encoding,
        pattern,
        special_tokens: special_tokens.map(|tokens| tokens.into_iter().collect()),
        tokenizer_class: None,
        as_loaded_by: as_loaded_by.map(wrapper).transpose()?,
    })
}

/// The library whose reading of an artifact is wanted.
fn wrapper(name: &str) -> PyResult<Wrapper> {
    match name {
        "transformers" => Ok(Wrapper::Transformers),
        other => Err(not_one_of("as_loaded_by", other, "\"transformers\", or leave it out")),
    }
}

/// How to truncate, if `max_length` is given.
pub fn truncation(
    max_length: Option<usize>,
    side: &str,
    stride: usize,
) -> PyResult<Option<Truncation>> {
    let side = match side {
        "right" => Side::Right,
        "left" => Side::Left,
        "error" => Side::Refuse,
        other => return Err(not_one_of("truncation", other, "\"right\", \"left\" or \"error\"")),
    };
    Ok(max_length.map(|max_length| Truncation { max_length, side, stride }))
}

fn not_one_of(name: &str, value: &str, choices: &str) -> PyErr {
    to_python(
        Error::input(format!("{name}={value:?} is not known."))
            .value(value)
            .hint(format!("Use {choices}.")),
    )
}

/// Says where a `str` holds half a surrogate pair.
fn surrogate(object: &Bound<'_, PyAny>, error: PyErr) -> Error {
    const HINT: &str = "Replace it, for example with text.encode(errors=\"replace\").";
    let start = error.value(object.py()).getattr("start");
    let Ok(at) = start.and_then(|start| start.extract::<usize>()) else {
        return Error::input(format!("The text cannot be read: {error}.")).hint(HINT);
    };
    let code = object.get_item(at).and_then(|c| {
        object.py().import("builtins")?.getattr("ord")?.call1((c,))?.extract::<u32>()
    });
    let code = code.map_or_else(|_| "a surrogate".to_owned(), |code| format!("U+{code:04X}"));
    Error::input(format!(
        "The text holds the lone surrogate {code} at code point {at}, which is no character."
    ))
    .position(at)
    .value(code)
    .hint(HINT)
}

/// The policy for control tokens in a text.
pub fn policy(pipeline: &Pipeline, special: &Bound<'_, PyAny>) -> PyResult<SpecialPolicy> {
    if let Ok(name) = special.cast::<PyString>() {
        return match name.to_str()? {
            "raise" => Ok(SpecialPolicy::Raise),
            "text" => Ok(SpecialPolicy::Text),
            "parse" => Ok(SpecialPolicy::Parse),
            other => {
                let choices = "\"raise\", \"text\", \"parse\", or a set of control tokens";
                Err(not_one_of("special", other, choices))
            }
        };
    }
    let mut ids = Vec::new();
    for token in special.try_iter()? {
        let token: String = token?.extract()?;
        match pipeline.token_id(&token).filter(|&id| pipeline.added_tokens().is_control(id)) {
            Some(id) => ids.push(id),
            None => {
                return Err(to_python(
                    Error::input(format!("special names {token:?}, which is no control token."))
                        .value(token)
                        .hint("tok.control_tokens lists them."),
                ));
            }
        }
    }
    Ok(SpecialPolicy::Named(ids.into_iter().collect()))
}

/// The policy as [`policy`] reads it.
pub fn policy_to_python(policy: &SpecialPolicy, pipeline: &Pipeline) -> PolicyName {
    match policy {
        SpecialPolicy::Raise => PolicyName::Name("raise"),
        SpecialPolicy::Text => PolicyName::Name("text"),
        SpecialPolicy::Parse => PolicyName::Name("parse"),
        SpecialPolicy::Trusted(trust) => {
            let mut control: Vec<u32> = trust.control().iter().copied().collect();
            control.sort_unstable();
            PolicyName::Trusted(TrustedName { trusted: trust.spans().to_vec(), control })
        }
        SpecialPolicy::Named(ids) => {
            let mut ids: Vec<u32> = ids.iter().copied().collect();
            ids.sort_unstable();
            let name = |id| pipeline.token(id).unwrap_or_default().into_owned();
            PolicyName::Tokens(ids.into_iter().map(name).collect())
        }
    }
}

/// A policy in Python's terms.
#[derive(IntoPyObject)]
pub enum PolicyName {
    Name(&'static str),
    Tokens(Vec<String>),
    Trusted(TrustedName),
}

/// Trusted stretches in bytes, and what counts as a control token besides.
#[derive(IntoPyObject)]
pub struct TrustedName {
    trusted: Vec<(usize, usize)>,
    control: Vec<u32>,
}

/// The options of a decode call.
pub fn decode_options(
    skip_special_tokens: bool,
    errors: &str,
    unknown: &str,
    clean_up_spaces: bool,
) -> PyResult<DecodeOptions> {
    Ok(DecodeOptions {
        skip_special_tokens,
        clean_up_spaces,
        errors: match errors {
            "replace" => Errors::Replace,
            "strict" => Errors::Strict,
            "reference" => Errors::Reference,
            other => {
                let choices = "\"replace\", \"strict\" or \"reference\"";
                return Err(not_one_of("errors", other, choices));
            }
        },
        unknown: match unknown {
            "raise" => Unknown::Raise,
            "skip" => Unknown::Skip,
            other => return Err(not_one_of("unknown", other, "\"raise\" or \"skip\"")),
        },
    })
}

/// Ids from an encoding, an array, or a sequence of integers.
pub fn ids(object: &Bound<'_, PyAny>) -> PyResult<Vec<u32>> {
    if let Ok(encoding) = object.cast::<Encoding>() {
        return Ok(encoding.get().ids().to_vec());
    }
    if object.cast::<PyString>().is_ok() || object.cast::<PyBytes>().is_ok() {
        return Err(not_ids(object));
    }
    if let Ok(ids) = PyBuffer::<u32>::get(object) {
        return ids.to_vec(object.py());
    }
    if let Ok(ids) = PyBuffer::<i64>::get(object) {
        return ids
            .to_vec(object.py())?
            .into_iter()
            .enumerate()
            .map(|(at, id)| u32::try_from(id).map_err(|_| bad_id(at, &id.to_string(), id < 0)))
            .collect();
    }
    let Ok(length) = object.len() else { return Err(not_ids(object)) };
    let mut ids = Vec::with_capacity(length);
    for (at, item) in object.try_iter()?.enumerate() {
        let item = item?;
        match item.extract::<u32>() {
            Ok(id) => ids.push(id),
            Err(_) => return Err(explain_id(at, &item)),
        }
    }
    Ok(ids)
}

fn not_ids(object: &Bound<'_, PyAny>) -> PyErr {
    let kind = object.get_type().name().map_or_else(|_| "?".to_owned(), |name| name.to_string());
    to_python(
        Error::input(format!("Ids must be a sequence of integers, not {kind}."))
            .value(kind)
            .hint("Pass an Encoding, a list of int, or an integer array."),
    )
}

fn explain_id(at: usize, item: &Bound<'_, PyAny>) -> PyErr {
    let value = item.repr().map_or_else(|_| "?".to_owned(), |repr| repr.to_string());
    if item.cast::<PyInt>().is_ok() || item.hasattr("__index__").unwrap_or(false) {
        let negative = item.lt(0).unwrap_or(false);
        return bad_id(at, &value, negative);
    }
    let kind = item.get_type().name().map_or_else(|_| "?".to_owned(), |name| name.to_string());
    to_python(
        Error::input(format!("The id at position {at} is {value}, a {kind}, not an integer."))
            .at(format!("item {at}"))
            .position(at)
            .value(value),
    )
}

fn bad_id(at: usize, value: &str, negative: bool) -> PyErr {
    let what = if negative {
        format!("The id {value} at position {at} is negative.")
    } else {
        format!("The id {value} at position {at} is beyond every vocabulary.")
    };
    to_python(
        Error::new(ErrorKind::UnknownId, what).at(format!("item {at}")).position(at).value(value),
    )
}
