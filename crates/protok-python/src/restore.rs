//! Reads an encoding back from plain data.

use std::sync::Arc;

use protok_core::Error;
use protok_core::encoding::{Encoding as Inner, Part, Source as PartSource};
use protok_core::pipeline::Pipeline;
use protok_core::pipeline::encode::EncodeOptions;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arguments::{Text, policy};
use crate::encoding::{Encoding, Origin, Source};
use crate::errors::{OrRaise, to_python};

/// The encoding that `to_dict` described; refuses one of another tokenizer, or one whose ids are
/// not what its texts encode to.
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
    let mut texts = Vec::new();
    for text in field(data, "original")?.try_iter()? {
        texts.push(Text::from_python(&text?)?);
    }
    let options = EncodeOptions {
        special: policy(pipeline, &field(data, "special")?)?,
        seed: field(data, "seed")?.extract()?,
        ..EncodeOptions::default()
    };
    let inner = read(data)?;
    check(&inner, &texts, pipeline, &options)?;
    let texts = texts.into_iter().map(Source::Own).collect();
    Ok(Encoding::new(inner, Arc::new(origin(texts, options))))
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
    let parts: Vec<(usize, usize, Option<usize>, u32, usize)> = field(data, "parts")?.extract()?;
    let parts = parts
        .into_iter()
        .map(|(start, end, text, type_id, first)| Part {
            start,
            end,
            source: text.map_or(PartSource::Template, PartSource::Text),
            type_id,
            first,
        })
        .collect();
    let mut overflow = Vec::new();
    for window in field(data, "overflow")?.try_iter()? {
        overflow.push(read(window?.cast::<PyDict>()?)?);
    }
    Ok(Inner { ids, parts, overflow })
}

/// Encodes the texts again: every part must hold just these ids, or positions would lie.
fn check(
    inner: &Inner,
    texts: &[Text],
    pipeline: &Pipeline,
    options: &EncodeOptions,
) -> PyResult<()> {
    let mut encoded = Vec::with_capacity(texts.len());
    for text in texts {
        let mut ids = Vec::new();
        pipeline.encode_text(text.as_str(), options, &mut ids).or_raise()?;
        encoded.push(ids);
    }
    let mut end = 0;
    let fits = inner.parts.iter().all(|part| {
        let follows = part.start == end && part.start <= part.end;
        end = part.end;
        let Some(ids) = inner.ids.get(part.start..part.end).filter(|_| follows) else {
            return false;
        };
        match part.source {
            PartSource::Template => true,
            PartSource::Text(index) => encoded
                .get(index)
                .and_then(|all| all.get(part.first..part.first.checked_add(ids.len())?))
                .is_some_and(|expected| expected == ids),
        }
    });
    if !fits || end != inner.ids.len() {
        return Err(to_python(
            Error::input("The ids are not what the texts encode to.")
                .at("ids")
                .hint("The data was changed after Encoding.to_dict gave it."),
        ));
    }
    inner.overflow.iter().try_for_each(|window| check(window, texts, pipeline, options))
}
