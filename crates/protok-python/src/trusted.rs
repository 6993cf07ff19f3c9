//! `protok._core.encode_trusted`: a text that is trusted in part.

use std::sync::{Arc, OnceLock};

use protok_core::Error;
use protok_core::added_tokens::{SpecialPolicy, Trust};
use protok_core::encoding::{Encoding as Inner, Part, Source as PartSource};
use protok_core::offsets::Offsets;
use protok_core::pipeline::encode::EncodeOptions;
use pyo3::prelude::*;

use crate::arguments::{Text, place};
use crate::encoding::{Encoding, Origin, Source};
use crate::errors::{OrRaise, to_python};
use crate::input::Given;
use crate::tokenizer::{Tokenizer, detach_if};

/// Encodes a text of which only some stretches may spell control tokens.
///
/// A control token is read where all of it lies in one trusted stretch; stretches that touch are
/// one. Everywhere else its spelling is the text it is. Other added tokens match as always, and
/// the text is never cut where trust begins or ends. The tokenizer's own template is not added.
/// `control` names added tokens, by id, that count as control tokens in this text besides.
#[pyfunction]
#[pyo3(signature = (tok, text, trusted, control=Vec::new()))]
pub fn encode_trusted(
    py: Python<'_>,
    tok: &Bound<'_, Tokenizer>,
    text: &Bound<'_, PyAny>,
    trusted: Vec<(usize, usize)>,
    control: Vec<u32>,
) -> PyResult<Encoding> {
    let text = Text::from_python(text)?;
    let trust = Trust::new(in_bytes(text.as_str(), trusted)?).or_raise()?.with_control(control);
    let special = SpecialPolicy::Trusted(trust);
    let options = EncodeOptions { add_special_tokens: false, special, ..EncodeOptions::default() };
    let origin = tok.get().origin(Vec::new(), options);
    let bytes = text.as_bytes();
    let spans = detach_if(py, bytes.len(), || origin.pipeline.spans(bytes, &origin.options))
        .map_err(|error| place(error, &text))
        .or_raise()?;
    let ids: Vec<u32> = spans.tokens.iter().map(|token| token.id).collect();
    let whole =
        Part { start: 0, end: ids.len(), source: PartSource::Text(0), type_id: 0, first: 0 };
    let inner = Inner { ids, parts: vec![whole], overflow: Vec::new() };
    let offsets = OnceLock::from(Offsets::new(vec![(bytes.to_vec(), spans)]));
    let texts = vec![Source::Own(Given::Whole(text))];
    Ok(Encoding::new(inner, Arc::new(Origin { texts, offsets, ..origin })))
}

/// Rising stretches of code points, in bytes.
fn in_bytes(text: &str, spans: Vec<(usize, usize)>) -> PyResult<Vec<(usize, usize)>> {
    if text.is_ascii() {
        return match spans.iter().find(|span| span.1 > text.len()) {
            Some(&span) => Err(outside(span)),
            None => Ok(spans),
        };
    }
    let mut starts = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    let (mut passed, mut byte) = (0, starts.next().unwrap_or(0));
    let mut to_byte = |point: usize| -> Option<usize> {
        if point > passed {
            byte = starts.nth(point - passed - 1)?;
            passed = point;
        }
        (point == passed).then_some(byte)
    };
    spans
        .into_iter()
        .map(|span| match (to_byte(span.0), to_byte(span.1)) {
            (Some(start), Some(end)) => Ok((start, end)),
            _ => Err(outside(span)),
        })
        .collect()
}

fn outside((start, end): (usize, usize)) -> PyErr {
    to_python(
        Error::input(format!("The trusted stretch ({start}, {end}) is not in order in the text."))
            .value(format!("({start}, {end})"))
            .hint("Give rising (start, end) pairs of code points of the text."),
    )
}
