//! Reads an encoding back from plain data.

use std::sync::Arc;

use protok_core::Error;
use protok_core::added_tokens::{SpecialPolicy, Trust};
use protok_core::encoding::{Encoding as Inner, Part, Source as PartSource};
use protok_core::pipeline::Pipeline;
use protok_core::pipeline::choice::Choice;
use protok_core::pipeline::encode::EncodeOptions;
use protok_core::postprocess::Item;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arguments::policy;
use crate::encoding::{Encoding, Origin, Source};
use crate::errors::{OrRaise, to_python};
use crate::input::Given;

/// The encoding that `to_dict` described; refuses one of another tokenizer, or one whose ids are
/// not what its texts encode to in its template.
pub fn restore(
    data: &Bound<'_, PyDict>,
    fingerprint: &str,
    pipeline: &Pipeline,
    origin: impl FnOnce(Vec<Source>, EncodeOptions) -> Origin,
) -> PyResult<Encoding> {
    let made_by: String = field(data, "fingerprint")?.extract()?;
    if made_by != fingerprint {
        return Err(to_python(
            Error::input("The encoding was made by another tokenizer.")
                .at("fingerprint")
                .value(made_by)
                .hint("Load the tokenizer with that fingerprint to read it."),
        ));
    }
    let is_pretokenized: bool = field(data, "is_pretokenized")?.extract()?;
    let mut texts = Vec::new();
    for text in field(data, "original")?.try_iter()? {
        texts.push(Given::from_python(&text?, is_pretokenized)?);
    }
    let options = EncodeOptions {
        special: special(pipeline, &field(data, "special")?)?,
        choice: choice(&field(data, "choice")?)?,
        ..EncodeOptions::default()
    };
    let inner = read(data)?;
    check(&inner, &texts, pipeline, &options)?;
    let texts = texts.into_iter().map(Source::Own).collect();
    let encoding = Encoding::new(inner, Arc::new(origin(texts, options)));
    same_description(data, &encoding)?;
    Ok(encoding)
}

/// Refuses data whose tokens, spans or normalized texts are not those of its ids: somebody reads
/// them without the tokenizer.
fn same_description(data: &Bound<'_, PyDict>, encoding: &Encoding) -> PyResult<()> {
    let unit: String = field(data, "unit")?.extract()?;
    let of: String = field(data, "of")?.extract()?;
    let expected = encoding.to_dict(data.py(), &unit, &of)?;
    for name in ["tokens", "spans", "normalized", "overflow"] {
        if !field(data, name)?.eq(field(&expected, name)?)? {
            return Err(to_python(
                Error::input(format!("The {name} given are not what the ids stand for."))
                    .at(name)
                    .hint("The data was changed after Encoding.to_dict gave it."),
            ));
        }
    }
    Ok(())
}

/// Which way to cut the text was taken, as plain data; None for the model's own.
pub fn choice_to_python(py: Python<'_>, choice: Choice) -> PyResult<Option<Bound<'_, PyDict>>> {
    let dict = PyDict::new(py);
    match choice {
        Choice::Best => return Ok(None),
        Choice::Drawn { seed, strength } => {
            dict.set_item("seed", seed)?;
            dict.set_item("strength", strength)?;
        }
        Choice::Ranked { count, rank } => {
            dict.set_item("count", count)?;
            dict.set_item("rank", rank)?;
        }
    }
    Ok(Some(dict))
}

fn choice(data: &Bound<'_, PyAny>) -> PyResult<Choice> {
    if data.is_none() {
        return Ok(Choice::Best);
    }
    let data = data.cast::<PyDict>()?;
    Ok(match data.get_item("seed")? {
        Some(seed) => {
            Choice::Drawn { seed: seed.extract()?, strength: field(data, "strength")?.extract()? }
        }
        None => Choice::Ranked {
            count: field(data, "count")?.extract()?,
            rank: field(data, "rank")?.extract()?,
        },
    })
}

/// The policy, as [`crate::arguments::policy_to_python`] gave it.
fn special(pipeline: &Pipeline, data: &Bound<'_, PyAny>) -> PyResult<SpecialPolicy> {
    let Ok(data) = data.cast::<PyDict>() else { return policy(pipeline, data) };
    let spans: Vec<[usize; 2]> = field(data, "trusted")?.extract()?;
    let spans = spans.into_iter().map(<(usize, usize)>::from);
    let control: Vec<u32> = field(data, "control")?.extract()?;
    Ok(SpecialPolicy::Trusted(Trust::new(spans).or_raise()?.with_control(control)))
}

fn field<'py>(data: &Bound<'py, PyDict>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    data.get_item(name)?.ok_or_else(|| {
        to_python(
            Error::input(format!("The encoding lacks {name:?}."))
                .at(name)
                .hint("Pass what Encoding.to_dict gave."),
        )
    })
}

fn read(data: &Bound<'_, PyDict>) -> PyResult<Inner> {
    let ids = crate::arguments::ids(&field(data, "ids")?)?;
    let mut parts = Vec::new();
    for part in field(data, "parts")?.try_iter()? {
        let part = part?.cast_into::<PyDict>()?;
        let sequence: Option<usize> = field(&part, "sequence")?.extract()?;
        parts.push(Part {
            start: field(&part, "start")?.extract()?,
            end: field(&part, "end")?.extract()?,
            source: sequence.map_or(PartSource::Template, PartSource::Text),
            type_id: field(&part, "type_id")?.extract()?,
            first: field(&part, "first")?.extract()?,
        });
    }
    let mut overflow = Vec::new();
    for window in field(data, "overflow")?.try_iter()? {
        overflow.push(read(window?.cast::<PyDict>()?)?);
    }
    Ok(Inner { ids, parts, overflow })
}

/// Encodes the texts again: every part must hold just these ids, or positions would lie.
fn check(
    inner: &Inner,
    texts: &[Given],
    pipeline: &Pipeline,
    options: &EncodeOptions,
) -> PyResult<()> {
    let mut encoded = Vec::with_capacity(texts.len());
    for text in texts {
        let mut ids = Vec::new();
        pipeline.encode_any(&text.as_input(), options, &mut ids).or_raise()?;
        encoded.push(ids);
    }
    let windows = std::iter::once(inner).chain(&inner.overflow);
    if windows.into_iter().all(|window| fits(window, &encoded, pipeline)) {
        return Ok(());
    }
    Err(to_python(
        Error::input("The ids are not what the texts encode to.")
            .at("ids")
            .hint("The data was changed after Encoding.to_dict gave it."),
    ))
}

/// Whether an encoding is the template, or only its texts, filled with tokens of the texts.
fn fits(inner: &Inner, encoded: &[Vec<u32>], pipeline: &Pipeline) -> bool {
    let mut end = 0;
    let whole = inner.parts.iter().all(|part| {
        let follows = part.start == end && part.start <= part.end;
        end = part.end;
        follows && part.end <= inner.ids.len()
    });
    if !whole || end != inner.ids.len() || !(1..=2).contains(&encoded.len()) {
        return false;
    }
    let is = |part: &Part, item: &Item| {
        let ids = &inner.ids[part.start..part.end];
        match (part.source, item) {
            (PartSource::Template, Item::Token { id, type_id }) => {
                ids == [*id] && part.type_id == *type_id
            }
            (PartSource::Text(text), Item::Text { index, type_id }) => {
                let types = [*type_id, pipeline.template().overflow_type(*index, *type_id)];
                let kept = part.first.checked_add(ids.len()).map(|end| part.first..end);
                text == *index
                    && types.contains(&part.type_id)
                    && kept.and_then(|kept| encoded[text].get(kept)).is_some_and(|it| it == ids)
            }
            _ => false,
        }
    };
    [true, false].into_iter().any(|add_special_tokens| {
        let items: Vec<&Item> =
            pipeline.template().items(encoded.len(), add_special_tokens).collect();
        items.len() == inner.parts.len()
            && inner.parts.iter().zip(items).all(|(part, item)| is(part, item))
    })
}
