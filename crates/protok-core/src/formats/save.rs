//! The files that a tokenizer is saved as.

use crate::error::{Error, Result};
use crate::spec::{Model, Spec};

use super::companions_write;
use super::{sentencepiece, tiktoken, tokenizer_json, vocab_txt};

/// The formats that can be written.
pub const WRITABLE: &[&str] = &["huggingface", "sentencepiece", "tiktoken", "vocab.txt"];

/// A tokenizer with what its files say beside it.
#[derive(Debug, Clone, Copy)]
pub struct Saving<'a> {
    /// The tokenizer.
    pub spec: &'a Spec,
    /// The tokens that play a role, as in [`super::Artifact::roles`].
    pub roles: &'a [(String, String)],
    /// The chat templates by name.
    pub chat_templates: &'a [(String, String)],
}

/// The name and content of each file of a format; the tokenizer itself comes first.
///
/// # Errors
/// [`crate::ErrorKind::Artifact`] for what the format's own reader would read differently, and
/// [`crate::ErrorKind::Input`] for a format that is not known.
pub fn save(saving: &Saving<'_>, format: &str) -> Result<Vec<(String, Vec<u8>)>> {
    let spec = saving.spec;
    match format {
        "huggingface" => {
            let mut files = vec![("tokenizer.json".to_owned(), tokenizer_json::write(spec)?)];
            files.extend(companions_write::companions(saving)?);
            Ok(files)
        }
        "sentencepiece" => {
            let model = sentencepiece::write(spec, saving.roles)?;
            Ok(vec![("tokenizer.model".to_owned(), model)])
        }
        "tiktoken" => {
            let (ranks, companion) = tiktoken::write_both(spec)?;
            Ok(vec![
                ("tokenizer.tiktoken".to_owned(), ranks),
                ("encoding.json".to_owned(), companion),
            ])
        }
        "vocab.txt" => vocab_txt::write(saving),
        other => Err(Error::input(format!("{other:?} is not a format that can be written."))
            .value(other)
            .hint(format!("Use one of {}.", WRITABLE.join(", ")))),
    }
}

/// Checks that what a format's reader made of the written files is the tokenizer.
///
/// # Errors
/// Names the first component that differs.
pub(super) fn check_same(spec: &Spec, read: &Spec, reader: &str) -> Result<()> {
    let differs = |place: &str| {
        Error::artifact(place, format!("{reader} has no words for this and would read another."))
            .hint("Save it as huggingface, or in the format that it came from.")
    };
    for (place, same) in [
        ("normalizer", spec.normalizer == read.normalizer),
        ("pre_tokenizer", spec.pre_tokenizer == read.pre_tokenizer),
        ("post_processor", spec.post_processor == read.post_processor),
        ("decoder", spec.decoder == read.decoder),
        ("truncation", spec.truncation == read.truncation),
        ("padding", spec.padding == read.padding),
        ("semantics", spec.semantics == read.semantics),
    ] {
        if !same {
            return Err(differs(place));
        }
    }
    let (own, other) = (&spec.added_tokens, &read.added_tokens);
    if let Some(at) = first_difference(own.iter(), other.iter()) {
        let token = own.get(at).or_else(|| other.get(at));
        let error = differs(&format!("added_tokens[{at}]"));
        return Err(match token {
            Some(token) => error.value(token.content.clone()),
            None => error,
        });
    }
    if spec.model == read.model {
        return Ok(());
    }
    let same_kind = std::mem::discriminant::<Model>(&spec.model)
        == std::mem::discriminant::<Model>(&read.model);
    match first_difference(spec.model.tokens().iter(), read.model.tokens().iter()) {
        Some(at) if same_kind => Err(differs(&format!("model.vocab[{at}]"))),
        _ => Err(differs("model")),
    }
}

/// The first place where two lists differ.
fn first_difference<T: PartialEq>(
    mut one: impl Iterator<Item = T>,
    mut other: impl Iterator<Item = T>,
) -> Option<usize> {
    let mut at = 0;
    loop {
        match (one.next(), other.next()) {
            (None, None) => return None,
            (a, b) if a != b => return Some(at),
            _ => at += 1,
        }
    }
}
