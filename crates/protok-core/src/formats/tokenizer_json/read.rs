//! From the bytes of a `tokenizer.json` to a [`Spec`].

use serde::de::{Deserializer, Error as _, MapAccess, Visitor};

use super::added_tokens::Plain;
use super::model::{self, Fields, RawFields};
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

/// A file in its parts. The large ones are not gone through twice where they are as usual.
struct Parts<'a> {
    /// What stands at the top as raw text, but for what stands below.
    fields: RawFields<'a>,
    /// The added tokens, if they are plain.
    added_tokens: Option<Plain>,
    /// The model, if there is one.
    model: Option<ModelPart<'a>>,
}

enum ModelPart<'a> {
    Fields(RawFields<'a>),
    Text(&'a str),
}

impl<'a> Parts<'a> {
    /// Reads a file whose added tokens are plain and whose model is an object, each given once.
    fn plain(text: &'a str) -> Option<Self> {
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let parts = deserializer.deserialize_map(PlainParts).ok()?;
        deserializer.end().ok().map(|()| parts)
    }

    /// Reads any other file.
    fn any(text: &'a str) -> Result<Self> {
        let fields = RawFields::parse(text, "")
            .map_err(|error| error.hint("A tokenizer.json is one JSON object, without a BOM."))?;
        let model = fields.text("model").map(ModelPart::Text);
        Ok(Self { fields, added_tokens: None, model })
    }
}

struct PlainParts;

impl<'de> Visitor<'de> for PlainParts {
    type Value = Parts<'de>;
    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object")
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Parts<'de>, A::Error> {
        let mut parts = Parts { fields: RawFields::empty(""), added_tokens: None, model: None };
        while let Some(name) = map.next_key::<String>()? {
            match &*name {
                "added_tokens" if parts.added_tokens.is_none() => {
                    parts.added_tokens = Some(map.next_value()?);
                }
                "model" if parts.model.is_none() => {
                    parts.model = Some(ModelPart::Fields(map.next_value_seed(Fields("model"))?));
                }
                "added_tokens" | "model" => return Err(A::Error::custom("given twice")),
                _ => parts.fields.push(name, map.next_value()?),
            }
        }
        Ok(parts)
    }
}

impl<'a> ModelPart<'a> {
    fn fields(self) -> Result<RawFields<'a>> {
        match self {
            Self::Fields(fields) => Ok(fields),
            Self::Text(text) => RawFields::parse(text, "model"),
        }
    }
}

/// Reads a `tokenizer.json`.
///
/// # Errors
/// An artifact error with the JSON path of the first thing that the reference would refuse.
pub fn read(bytes: &[u8]) -> Result<Loaded> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        Error::artifact(format!("byte {}", error.valid_up_to()), "The file is not UTF-8.")
            .hint("A tokenizer.json is JSON in UTF-8.")
    })?;
    let Parts { fields, added_tokens, model } = match Parts::plain(text) {
        Some(parts) => parts,
        None => Parts::any(text)?,
    };
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
    let Some(model) = model else {
        return Err(Error::artifact("model", "The field `model` is missing.")
            .hint("This may not be a tokenizer.json; its vocabulary stands in `model`."));
    };
    let notes_ref = &mut notes;
    let truncation = fields.with("truncation", |field| stored::truncation(field, notes_ref))?;
    let padding = fields.with("padding", |field| stored::padding(field, notes_ref))?;
    let listed = match added_tokens {
        Some(plain) => Some(plain.tokens()),
        None => fields.with("added_tokens", |field| added_tokens::read(field, notes_ref))?,
    };
    let normalizer =
        fields.with("normalizer", |field| unless_null(field, notes_ref, normalizer::read))?;
    let pre_tokenizer =
        fields.with("pre_tokenizer", |field| unless_null(field, notes_ref, pre_tokenizer::read))?;
    let post_processor = fields
        .with("post_processor", |field| unless_null(field, notes_ref, post_processor::read))?;
    let decoder = fields.with("decoder", |field| unless_null(field, notes_ref, decoder::read))?;
    let model = model::read(&model.fields()?, notes_ref)?;
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
