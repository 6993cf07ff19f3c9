//! What Python passes, as the engine wants it.

use protok_core::added_tokens::SpecialPolicy;
use protok_core::decode::{DecodeOptions, Errors, Unknown};
use protok_core::pipeline::Pipeline;
use protok_core::pipeline::encode::EncodeOptions;
use protok_core::{Error, ErrorKind};
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyBytes, PyInt, PyString};

use crate::encoding::Encoding;
use crate::errors::{OrRaise, to_python};

/// A text that stays alive while the interpreter is not held.
pub enum Text {
    Str(PyBackedStr),
    Bytes(PyBackedBytes),
}

impl Text {
    /// From a `str` or from UTF-8 `bytes`.
    pub fn from_python(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(text) = object.cast::<PyString>() {
            return match PyBackedStr::try_from(text.clone()) {
                Ok(text) => Ok(Self::Str(text)),
                Err(error) => Err(surrogate(object, error)),
            };
        }
        if let Ok(bytes) = object.cast::<PyBytes>() {
            let bytes = PyBackedBytes::from(bytes.clone());
            protok_core::text::utf8::validate(&bytes).or_raise()?;
            return Ok(Self::Bytes(bytes));
        }
        let kind = object.get_type().name()?.to_string();
        Err(to_python(
            Error::input(format!("A text must be str or UTF-8 bytes, not {kind}."))
                .value(kind)
                .hint("Pass one text to encode, a list of texts to encode_batch."),
        ))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Str(text) => text,
            // Checked when it was made; the fallback is never seen.
            Self::Bytes(bytes) => std::str::from_utf8(bytes).unwrap_or_default(),
        }
    }
}

/// Says where a `str` holds half a surrogate pair.
fn surrogate(object: &Bound<'_, PyAny>, error: PyErr) -> PyErr {
    let start = error.value(object.py()).getattr("start").and_then(|start| start.extract::<usize>());
    let Ok(at) = start else { return error };
    let code = object
        .get_item(at)
        .and_then(|c| object.py().import("builtins")?.getattr("ord")?.call1((c,))?.extract::<u32>());
    let code = code.map_or_else(|_| "a surrogate".to_owned(), |code| format!("U+{code:04X}"));
    to_python(
        Error::input(format!(
            "The text holds the lone surrogate {code} at code point {at}, which is no character."
        ))
        .position(at)
        .value(code)
        .hint("Replace it, for example with text.encode(errors=\"replace\")."),
    )
}

/// The options of an encode call.
pub fn encode_options(
    pipeline: &Pipeline,
    add_special_tokens: bool,
    special: &Bound<'_, PyAny>,
    seed: Option<u64>,
) -> PyResult<EncodeOptions> {
    Ok(EncodeOptions { add_special_tokens, special: policy(pipeline, special)?, seed })
}

fn policy(pipeline: &Pipeline, special: &Bound<'_, PyAny>) -> PyResult<SpecialPolicy> {
    if let Ok(name) = special.cast::<PyString>() {
        return match name.to_str()? {
            "raise" => Ok(SpecialPolicy::Raise),
            "text" => Ok(SpecialPolicy::Text),
            "parse" => Ok(SpecialPolicy::Parse),
            other => Err(to_python(
                Error::input(format!("special={other:?} is not a policy."))
                    .value(other)
                    .hint("Use \"raise\", \"text\", \"parse\", or a set of control tokens."),
            )),
        };
    }
    let mut ids = std::collections::HashSet::default();
    for token in special.try_iter()? {
        let token: String = token?.extract()?;
        match pipeline.token_id(&token).filter(|&id| pipeline.added_tokens().is_control(id)) {
            Some(id) => {
                ids.insert(id);
            }
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

/// The options of a decode call.
pub fn decode_options(
    skip_special_tokens: bool,
    errors: &str,
    unknown: &str,
) -> PyResult<DecodeOptions> {
    let choice = |name: &str, value: &str, choices: &str| {
        to_python(
            Error::input(format!("{name}={value:?} is not known.")).value(value).hint(choices),
        )
    };
    Ok(DecodeOptions {
        skip_special_tokens,
        errors: match errors {
            "replace" => Errors::Replace,
            "strict" => Errors::Strict,
            "reference" => Errors::Reference,
            other => {
                let choices = "Use \"replace\", \"strict\" or \"reference\".";
                return Err(choice("errors", other, choices));
            }
        },
        unknown: match unknown {
            "raise" => Unknown::Raise,
            "skip" => Unknown::Skip,
            other => return Err(choice("unknown", other, "Use \"raise\" or \"skip\".")),
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
