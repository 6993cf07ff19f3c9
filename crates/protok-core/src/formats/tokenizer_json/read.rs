//! From the bytes of a `tokenizer.json` to a [`Spec`].

use super::model::{self, RawFields};
use super::{added_tokens, decoder, normalizer, post_processor, pre_tokenizer, stored};
use crate::error::{Error, Result};
use crate::formats::node::Cursor;
use crate::spec::{Semantics, Spec};

/// A file that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded {
    /// What it says.
    pub spec: Spec,
    /// What the reference ignores or reads otherwise than the file suggests, with JSON paths.
    pub notes: Vec<String>,
}

const FIELDS: &[&str] = &[
    "version",
    "truncation",
    "padding",
    "added_tokens",
    "normalizer",
    "pre_tokenizer",
    "post_processor",
    "decoder",
    "model",
];

/// Reads a `tokenizer.json`.
///
/// # Errors
/// An artifact error with the JSON path of the first thing that the reference would refuse.
pub fn read(bytes: &[u8]) -> Result<Loaded> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        Error::artifact(format!("byte {}", error.valid_up_to()), "The file is not UTF-8.")
            .hint("A tokenizer.json is JSON in UTF-8.")
    })?;
    let fields = RawFields::parse(text, "")
        .map_err(|error| error.hint("A tokenizer.json is one JSON object, without a BOM."))?;
    let mut notes = Vec::new();
    for name in fields.names().filter(|name| !FIELDS.contains(name)) {
        notes.push(format!("{name}: unknown field, ignored"));
    }
    if let Some(version) = fields.with("version", |field| field.string())?
        && version != "1.0"
    {
        return Err(Error::artifact("version", format!("Version {version:?} is not known."))
            .hint("Only \"1.0\" exists; a newer file needs a newer protok.")
            .value(version));
    }
    let Some(model_text) = fields.text("model") else {
        return Err(Error::artifact("model", "The field `model` is missing.")
            .hint("This may not be a tokenizer.json; its vocabulary stands in `model`."));
    };
    let notes_ref = &mut notes;
    let truncation = fields.with("truncation", |field| stored::truncation(field, notes_ref))?;
    let padding = fields.with("padding", |field| stored::padding(field, notes_ref))?;
    let listed = match fields.text("added_tokens").and_then(added_tokens::read_plain) {
        Some(plain) => Some(plain),
        None => fields.with("added_tokens", |field| added_tokens::read(field, notes_ref))?,
    };
    let normalizer =
        fields.with("normalizer", |field| unless_null(field, notes_ref, normalizer::read))?;
    let pre_tokenizer =
        fields.with("pre_tokenizer", |field| unless_null(field, notes_ref, pre_tokenizer::read))?;
    let post_processor = fields
        .with("post_processor", |field| unless_null(field, notes_ref, post_processor::read))?;
    let decoder = fields.with("decoder", |field| unless_null(field, notes_ref, decoder::read))?;
    let model = model::read(model_text, notes_ref)?;
    let added_tokens = added_tokens::settle(listed.unwrap_or_default(), model.tokens(), notes_ref);
    let spec = Spec {
        semantics: Semantics::HuggingFace,
        normalizer: normalizer.flatten(),
        pre_tokenizer: pre_tokenizer.flatten(),
        model,
        post_processor: post_processor.flatten(),
        decoder: decoder.flatten(),
        added_tokens,
        truncation: truncation.flatten(),
        padding: padding.flatten(),
    };
    Ok(Loaded { spec, notes })
}

/// The scores of a file's Unigram model, each the double nearest to its decimal.
///
/// # Errors
/// An artifact error where the file is damaged.
pub(crate) fn nearest_scores(bytes: &[u8]) -> Result<Vec<f64>> {
    let text = std::str::from_utf8(bytes)
        .map_err(|error| Error::artifact(format!("byte {}", error.valid_up_to()), "No UTF-8."))?;
    let fields = RawFields::parse(text, "")?;
    model::nearest_scores(fields.text("model").unwrap_or_default())
}

type Reader<T> = fn(&Cursor<'_>, &mut Vec<String>) -> Result<T>;

fn unless_null<T>(
    cursor: &Cursor<'_>,
    notes: &mut Vec<String>,
    read: Reader<T>,
) -> Result<Option<T>> {
    if cursor.is_null() { Ok(None) } else { read(cursor, notes).map(Some) }
}
