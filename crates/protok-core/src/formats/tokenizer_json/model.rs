//! The model of a `tokenizer.json`: its fields are told apart as raw text first, so that large
//! ones can be streamed and `type` may stand anywhere.

use serde::de::{DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::{score, vocab};
use crate::error::{Error, Result};
use crate::formats::node::{Cursor, Node, json_error};
use crate::spec::{Bpe, Merges, Model, Unigram, WordLevel, WordPiece};

/// The fields of an object as raw text, duplicates included.
pub(super) struct RawFields<'a> {
    path: &'a str,
    entries: Vec<(String, &'a RawValue)>,
}

impl<'a> RawFields<'a> {
    pub(super) fn parse(text: &'a str, path: &'a str) -> Result<Self> {
        let mut deserializer = serde_json::Deserializer::from_str(text);
        Fields(path)
            .deserialize(&mut deserializer)
            .and_then(|fields| deserializer.end().map(|()| fields))
            .map_err(|error| json_error(path, &error))
    }

    /// No field, to add some to.
    pub(super) fn empty(path: &'a str) -> Self {
        Self { path, entries: Vec::new() }
    }

    pub(super) fn push(&mut self, name: String, value: &'a RawValue) {
        self.entries.push((name, value));
    }

    /// The text of a field; of duplicates the last.
    pub(super) fn text(&self, name: &str) -> Option<&'a str> {
        self.entries.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.get())
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|(key, _)| key.as_str())
    }

    fn need(&self, name: &str) -> Result<&'a str> {
        self.text(name).ok_or_else(|| {
            Error::artifact(self.path, format!("The field `{name}` is missing."))
                .hint(format!("Add `{name}`, or save the file again with a current release."))
        })
    }

    /// Reads a small field through a cursor.
    pub(super) fn with<T>(
        &self,
        name: &str,
        read: impl FnOnce(&Cursor<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let path =
            if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) };
        let depth = if self.path.is_empty() { 1 } else { 2 };
        let node = Node::parse(text, &path, depth)?;
        read(&Cursor::root(&node, &path)).map(Some)
    }

    /// Like [`Self::with`], with null for absent.
    fn optional<T>(
        &self,
        name: &str,
        read: impl FnOnce(&Cursor<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        let read = |field: &Cursor<'_>| {
            if field.is_null() { Ok(None) } else { read(field).map(Some) }
        };
        Ok(self.with(name, read)?.flatten())
    }

    fn required<T>(&self, name: &str, read: impl FnOnce(&Cursor<'_>) -> Result<T>) -> Result<T> {
        let text = self.need(name)?;
        let path = format!("{}.{name}", self.path);
        let node = Node::parse(text, &path, 2)?;
        read(&Cursor::root(&node, &path))
    }
}

/// Reads the fields of the object at a path.
pub(super) struct Fields<'p>(pub &'p str);

impl<'de: 'p, 'p> DeserializeSeed<'de> for Fields<'p> {
    type Value = RawFields<'p>;
    fn deserialize<D: Deserializer<'de>>(self, d: D) -> std::result::Result<Self::Value, D::Error> {
        d.deserialize_map(self)
    }
}

impl<'de: 'p, 'p> Visitor<'de> for Fields<'p> {
    type Value = RawFields<'p>;
    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object")
    }
    fn visit_map<A: MapAccess<'de>>(
        self,
        mut map: A,
    ) -> std::result::Result<Self::Value, A::Error> {
        let mut fields = RawFields::empty(self.0);
        while let Some((name, value)) = map.next_entry()? {
            fields.push(name, value);
        }
        Ok(fields)
    }
}

const BPE_FIELDS: &[&str] = &[
    "dropout",
    "unk_token",
    "continuing_subword_prefix",
    "end_of_word_suffix",
    "fuse_unk",
    "byte_fallback",
    "ignore_merges",
    "vocab",
    "merges",
];
const WORD_PIECE_FIELDS: &[&str] =
    &["unk_token", "continuing_subword_prefix", "max_input_chars_per_word", "vocab"];
const WORD_LEVEL_FIELDS: &[&str] = &["unk_token", "vocab"];
const UNIGRAM_FIELDS: &[&str] = &["unk_id", "byte_fallback", "vocab"];

/// Reads the model from its fields.
pub(super) fn read(fields: &RawFields<'_>, notes: &mut Vec<String>) -> Result<Model> {
    if fields.names().filter(|name| *name == "type").count() > 1 {
        return Err(Error::artifact("model", "The field `type` is given twice."));
    }
    let kind = match fields.with("type", |field| field.string())? {
        Some(name) => name,
        None => infer(fields)?.to_owned(),
    };
    let (known, model) = match kind.as_str() {
        "BPE" => (BPE_FIELDS, bpe(fields)?),
        "WordPiece" => (WORD_PIECE_FIELDS, word_piece(fields)?),
        "WordLevel" => (WORD_LEVEL_FIELDS, word_level(fields)?),
        "Unigram" => (UNIGRAM_FIELDS, unigram(fields)?),
        other => {
            return Err(Error::artifact("model.type", format!("{other:?} is not a known model."))
                .hint("Known are: BPE, WordPiece, WordLevel, Unigram.")
                .value(other));
        }
    };
    for name in fields.names() {
        if name != "type" && !known.contains(&name) {
            notes.push(format!("model.{name}: unknown field, ignored"));
        }
    }
    note_shared_ids(&model, notes);
    Ok(model)
}

/// Old files do not name the model. The reference tries them in this order.
fn infer(fields: &RawFields<'_>) -> Result<&'static str> {
    let has = |name: &str| fields.text(name).is_some();
    let vocab = fields.text("vocab").unwrap_or_default();
    if has("merges") && has("vocab") {
        Ok("BPE")
    } else if WORD_PIECE_FIELDS.iter().all(|name| has(name)) {
        Ok("WordPiece")
    } else if vocab.starts_with('{') && has("unk_token") {
        Ok("WordLevel")
    } else if vocab.starts_with('[') {
        Ok("Unigram")
    } else {
        Err(Error::artifact("model", "No model has these fields, and `type` is missing.")
            .hint("Add `type`: BPE, WordPiece, WordLevel or Unigram."))
    }
}

fn bpe(fields: &RawFields<'_>) -> Result<Model> {
    let vocab_text = fields.need("vocab")?;
    let merges_text = fields.need("merges")?;
    let dropout = match fields.text("dropout") {
        None | Some("null") => None,
        Some(text) => {
            #[allow(clippy::cast_possible_truncation)]
            let value = score::parse(text).map(|value| value as f32);
            Some(value.filter(|value| (0.0..=1.0).contains(value)).ok_or_else(|| {
                Error::artifact("model.dropout", "The dropout is a number from 0 to 1.")
                    .hint("Use null for none.")
            })?)
        }
    };
    let prefix = fields.optional("continuing_subword_prefix", |field| field.string())?;
    let mut tokens = vocab::stream_map(vocab_text, "model.vocab")?;
    let mut index = vocab::Index::new(&tokens);
    if index.len() != tokens.len() || !tokens.is_sorted_by_id() {
        tokens = vocab::keep_last(&tokens).sorted_by_id();
        index = vocab::Index::new(&tokens);
    }
    let merges = vocab::read_merges(merges_text, "model.merges", &index, prefix.as_deref())?;
    let flag = |name: &str| Ok(fields.optional(name, |field| field.bool())?.unwrap_or(false));
    Ok(Model::Bpe(Bpe {
        merges: Merges::Listed(merges),
        dropout,
        unk_token: fields.optional("unk_token", |field| field.string())?,
        continuing_subword_prefix: prefix,
        end_of_word_suffix: fields.optional("end_of_word_suffix", |field| field.string())?,
        fuse_unk: flag("fuse_unk")?,
        byte_fallback: flag("byte_fallback")?,
        ignore_merges: flag("ignore_merges")?,
        whole_line_ends: false,
        vocab: tokens,
    }))
}

fn word_piece(fields: &RawFields<'_>) -> Result<Model> {
    Ok(Model::WordPiece(WordPiece {
        unk_token: fields.required("unk_token", |field| field.string())?,
        continuing_subword_prefix: fields
            .required("continuing_subword_prefix", |field| field.string())?,
        max_input_chars_per_word: fields
            .required("max_input_chars_per_word", |field| field.usize())?,
        vocab: vocab::read_map(fields.need("vocab")?, "model.vocab")?,
    }))
}

fn word_level(fields: &RawFields<'_>) -> Result<Model> {
    Ok(Model::WordLevel(WordLevel {
        unk_token: fields.required("unk_token", |field| field.string())?,
        vocab: vocab::read_map(fields.need("vocab")?, "model.vocab")?,
    }))
}

fn unigram(fields: &RawFields<'_>) -> Result<Model> {
    let (vocab, scores) = vocab::read_scored(fields.need("vocab")?, "model.vocab", score::parse)?;
    let unk_id = fields.optional("unk_id", |field| field.usize())?;
    if let Some(unk_id) = unk_id.filter(|unk_id| *unk_id >= vocab.len()) {
        return Err(Error::artifact(
            "model.unk_id",
            format!("{unk_id} is outside the vocabulary of {} pieces.", vocab.len()),
        )
        .hint("Set it to the place of the unknown piece, or to null."));
    }
    let byte_fallback = fields.with("byte_fallback", |field| field.bool())?.unwrap_or(false);
    Ok(Model::Unigram(Unigram { vocab, scores, kinds: Vec::new(), unk_id, byte_fallback }))
}

/// The scores of a Unigram model as decimals are read elsewhere: the nearest double of each.
pub(super) fn nearest_scores(text: &str) -> Result<Vec<f64>> {
    let fields = RawFields::parse(text, "model")?;
    let nearest = |text: &str| text.parse().ok().filter(|score: &f64| score.is_finite());
    Ok(vocab::read_scored(fields.need("vocab")?, "model.vocab", nearest)?.1)
}

/// With two tokens for one id, the reference decodes the id to either, by chance.
fn note_shared_ids(model: &Model, notes: &mut Vec<String>) {
    let tokens = model.tokens();
    for index in 1..tokens.len() {
        if tokens.id(index) == tokens.id(index - 1) {
            notes.push(format!(
                "model.vocab: {} and {} share the id {}; the reference decodes it to either",
                vocab::brief(&String::from_utf8_lossy(tokens.bytes(index - 1))),
                vocab::brief(&String::from_utf8_lossy(tokens.bytes(index))),
                tokens.id(index)
            ));
            break;
        }
    }
}
