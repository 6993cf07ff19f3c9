//! GGUF files: the tokenizer in the metadata of a model for llama.cpp.
//!
//! The Spec means what llama.cpp does with the file, which is not always what the model's own
//! tokenizer did. Its SentencePiece models join by score whatever the pieces are for; its BERT has
//! no longest word and drops spacing marks too; its T5 has other rules for blanks; some tokens are
//! control tokens by their spelling.
//! Models of the kind `hybriddna` are refused: their text between `<dna>` and `</dna>` is cut by
//! other rules than the text around it, which no Spec can say; so is `plamo2`, with scores of its own.
//! Only the metadata is read, so the start of a file is enough.
//!
//! Source: `llama-vocab.cpp` of llama.cpp.

mod container;
mod pre;
mod spec;
mod special;

use crate::error::{Error, Result};
use crate::spec::{PieceKind, Spec};
use crate::vocab::SeededMap;

use container::Metadata;

/// A tokenizer that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded {
    /// The tokenizer.
    pub spec: Spec,
    /// The tokens of the roles that the file names.
    pub roles: Vec<(String, String)>,
    /// The chat templates by name.
    pub chat_templates: Vec<(String, String)>,
}

/// The metadata, and what every part of the reader asks for.
struct Header<'a> {
    metadata: Metadata<'a>,
    /// `tokenizer.ggml.model`.
    model: &'a str,
    /// `tokenizer.ggml.pre`.
    pre: &'a str,
    tokens: usize,
}

impl Header<'_> {
    /// The id of a role: what the file says if that is an id, else llama.cpp's default.
    fn token(&self, key: &str, default: Option<u32>) -> Result<Option<u32>> {
        let fits = |id: &u32| (*id as usize) < self.tokens;
        let named = self.metadata.u32(&format!("tokenizer.ggml.{key}"))?;
        Ok(named.filter(fits).or(default.filter(fits)))
    }
}

/// Reads the tokenizer of a GGUF file.
///
/// # Errors
/// An artifact error with the key.
pub fn read(bytes: &[u8]) -> Result<Loaded> {
    let metadata = Metadata::read(bytes)?;
    let missing = |key: &str| Error::artifact(key, "The file has no such key.");
    let model = metadata
        .string("tokenizer.ggml.model")?
        .ok_or_else(|| missing("tokenizer.ggml.model").hint("It holds no tokenizer."))?;
    // A model of a kind of its own has but one pre-tokenizer.
    let pre = match model {
        "gemma4" => model,
        _ => metadata.string("tokenizer.ggml.pre")?.unwrap_or(""),
    };
    let list = metadata
        .strings("tokenizer.ggml.tokens")?
        .ok_or_else(|| missing("tokenizer.ggml.tokens"))?;
    let bad = |id: usize, what: &str| Error::artifact(format!("tokenizer.ggml.tokens[{id}]"), what);
    let mut tokens = Vec::with_capacity(list.len());
    for (id, token) in list.iter().enumerate() {
        let text = std::str::from_utf8(token).map_err(|_| bad(id, "The token is not UTF-8."))?;
        tokens.push(if text.is_empty() { format!("[EMPTY_{id}]") } else { text.to_owned() });
    }
    let mut ids: SeededMap<&str, u32> = SeededMap::default();
    for (token, id) in tokens.iter().zip(0u32..) {
        if ids.insert(token, id).is_some() {
            return Err(bad(id as usize, "The token is there twice.").value(token.clone()));
        }
    }
    let header = Header { metadata, model, pre, tokens: tokens.len() };
    let kinds = special::kinds(&header, &ids)?;
    let spec = spec::assemble(&header, &tokens, &ids, &kinds)?;
    let roles = roles(&header, &tokens, &kinds)?;
    Ok(Loaded { spec, roles, chat_templates: chat_templates(&header.metadata)? })
}

/// The roles. Tokens that no text or template makes are none.
fn roles(
    header: &Header<'_>,
    tokens: &[String],
    kinds: &[PieceKind],
) -> Result<Vec<(String, String)>> {
    let mut roles = Vec::new();
    for (role, key) in [
        ("bos", "bos_token_id"),
        ("eos", "eos_token_id"),
        ("unk", "unknown_token_id"),
        ("sep", "seperator_token_id"),
        ("pad", "padding_token_id"),
        ("cls", "cls_token_id"),
        ("mask", "mask_token_id"),
        ("eot", "eot_token_id"),
        ("eom", "eom_token_id"),
    ] {
        if let Some(id) = header.token(key, None)?
            && kinds[id as usize] != PieceKind::Unused
        {
            roles.push((role.to_owned(), tokens[id as usize].clone()));
        }
    }
    Ok(roles)
}

fn chat_templates(metadata: &Metadata<'_>) -> Result<Vec<(String, String)>> {
    let mut templates = Vec::new();
    if let Some(template) = metadata.string("tokenizer.chat_template")? {
        templates.push(("default".to_owned(), template.to_owned()));
    }
    for name in metadata.strings("tokenizer.chat_templates")?.unwrap_or_default() {
        let name = String::from_utf8_lossy(name).into_owned();
        if let Some(template) = metadata.string(&format!("tokenizer.chat_template.{name}"))? {
            templates.push((name, template.to_owned()));
        }
    }
    Ok(templates)
}

#[cfg(test)]
mod tests;
