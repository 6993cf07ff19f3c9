//! BERT's `vocab.txt`: one token a line, for WordPiece.
//!
//! The pipeline around it is what Hugging Face's converter builds from the flags of
//! `tokenizer_config.json`.

mod write;

use super::node::Cursor;
use super::tokenizer_json::settle;
use super::vocab_merges::{Companions, numbered, special};
use crate::error::{Error, Result};
use crate::spec::{
    BertNormalizer, Decoder, Model, Normalizer, PostProcessor, PreTokenizer, Semantics,
    SequenceName, Spec, TemplateItem, TemplateProcessing, TemplateToken, TokenList, WordPiece,
    WordPieceDecoder,
};
use crate::vocab::{SeededMap, SeededSet};

pub use write::write;

/// The classes whose pipeline this is.
const CLASSES: &[&str] = &[
    "BertTokenizer",
    "ConvBertTokenizer",
    "DistilBertTokenizer",
    "ElectraTokenizer",
    "LayoutLMTokenizer",
    "LxmertTokenizer",
    "MobileBertTokenizer",
    "RetriBertTokenizer",
    "SqueezeBertTokenizer",
];

const ROLES: &[(&str, &str)] =
    &[("unk", "[UNK]"), ("sep", "[SEP]"), ("pad", "[PAD]"), ("cls", "[CLS]"), ("mask", "[MASK]")];

/// What `tokenizer_config.json` says about the pipeline.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Flags {
    /// Lower case; when absent, the converter's default, which is to do it.
    pub do_lower_case: Option<bool>,
    /// Put blanks around ideographs; done when absent.
    pub tokenize_chinese_chars: Option<bool>,
    /// Drop accents; when absent, whatever `do_lower_case` says.
    pub strip_accents: Option<bool>,
}

impl Flags {
    /// The flags of a `tokenizer_config.json`.
    ///
    /// # Errors
    /// If one of them is no truth value.
    pub(super) fn read(root: &Cursor<'_>) -> Result<Self> {
        let flag = |name| root.present(name).map(|field| field.bool()).transpose();
        Ok(Self {
            do_lower_case: flag("do_lower_case")?,
            tokenize_chinese_chars: flag("tokenize_chinese_chars")?,
            strip_accents: flag("strip_accents")?,
        })
    }
}

/// Whether a `tokenizer_class`, with or without `Fast`, has this pipeline.
#[must_use]
pub fn is_known_class(class: &str) -> bool {
    CLASSES.contains(&class.strip_suffix("Fast").unwrap_or(class))
}

/// Reads a `vocab.txt`; also what the added tokens' ids differ in.
///
/// # Errors
/// An artifact error with the line or the flag.
pub fn read(text: &str, flags: Flags, companions: &Companions) -> Result<(Spec, Vec<String>)> {
    let vocab = tokens(text)?;
    let mut notes = Vec::new();
    let listed = numbered(ROLES, companions, &vocab, |_, content| special(content, false));
    let lowercase = match flags.do_lower_case {
        Some(lowercase) => lowercase,
        None => {
            let special: SeededSet<&str> =
                listed.iter().map(|known| known.content.as_str()).collect();
            let cased = vocab.iter().find_map(|(token, _)| {
                let token = std::str::from_utf8(token).ok()?;
                let ordinary = !special.contains(token) && !token.starts_with('[');
                (ordinary && token.chars().any(char::is_uppercase)).then(|| token.to_owned())
            });
            if let Some(token) = cased {
                return Err(Error::artifact(
                    "do_lower_case",
                    format!("The vocabulary has the token {token:?}, but nothing says its case."),
                )
                .hint("Put a tokenizer_config.json with `do_lower_case` beside it.")
                .value(token));
            }
            true
        }
    };
    let added_tokens = settle(listed, &vocab, &mut notes);
    let id = |role: &str, default: &str| {
        let content = companions.role(role, default);
        let token = added_tokens.iter().find(|token| token.content == content);
        token.map(|token| (content.clone(), token.id)).ok_or_else(|| {
            Error::artifact(role, format!("The token {content:?} is missing."))
                .hint("The pipeline puts it around every text.")
        })
    };
    let (cls, sep) = (id("cls", "[CLS]")?, id("sep", "[SEP]")?);
    let spec = Spec {
        semantics: Semantics::HuggingFace,
        normalizer: Some(Normalizer::Bert(BertNormalizer {
            clean_text: true,
            handle_chinese_chars: flags.tokenize_chinese_chars.unwrap_or(true),
            strip_accents: flags.strip_accents,
            lowercase,
        })),
        pre_tokenizer: Some(PreTokenizer::Bert),
        model: Model::WordPiece(WordPiece {
            vocab,
            unk_token: companions.role("unk", "[UNK]"),
            continuing_subword_prefix: "##".to_owned(),
            max_input_chars_per_word: 100,
        }),
        post_processor: Some(around(cls, sep)),
        decoder: Some(Decoder::WordPiece(WordPieceDecoder {
            prefix: "##".to_owned(),
            cleanup: true,
        })),
        added_tokens,
        truncation: None,
        padding: None,
    };
    Ok((spec, notes))
}

/// The lines as Python cuts them; of a repeated token the last line counts.
fn tokens(text: &str) -> Result<TokenList> {
    let mut lines: Vec<&str> = text
        .split('\n')
        .flat_map(|line| line.strip_suffix('\r').unwrap_or(line).split('\r'))
        .collect();
    if lines.last() == Some(&"") {
        lines.pop();
    }
    let last: SeededMap<&str, usize> = lines.iter().copied().zip(0..).collect();
    let mut vocab = TokenList::with_capacity(lines.len(), text.len());
    for (place, (token, id)) in lines.iter().zip(0u32..).enumerate() {
        if last.get(token) == Some(&place) {
            vocab.push(token.as_bytes(), id).map_err(|error| {
                Error::artifact(format!("line {}", place + 1), format!("{error}."))
            })?;
        }
    }
    Ok(vocab)
}

/// BERT's template: the class token, the text, the separator.
pub(super) fn around(cls: (String, u32), sep: (String, u32)) -> PostProcessor {
    let token = |(name, _): &(String, u32), type_id| TemplateItem::SpecialToken {
        id: name.clone(),
        type_id,
    };
    let text = |id, type_id| TemplateItem::Sequence { id, type_id };
    let single = vec![token(&cls, 0), text(SequenceName::A, 0), token(&sep, 0)];
    let mut pair = single.clone();
    pair.extend([text(SequenceName::B, 1), token(&sep, 1)]);
    let mut special_tokens: Vec<(String, TemplateToken)> = [cls, sep]
        .into_iter()
        .map(|(name, id)| {
            let (ids, tokens) = (vec![id], vec![name.clone()]);
            (name.clone(), TemplateToken { id: name, ids, tokens })
        })
        .collect();
    special_tokens.sort_by(|a, b| a.0.cmp(&b.0));
    special_tokens.dedup_by(|a, b| a.0 == b.0);
    PostProcessor::Template(TemplateProcessing { single, pair, special_tokens })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const VOCAB: &str = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n##b\r\na\n";

    #[test]
    fn lines_and_flags() {
        let (spec, _) = read(VOCAB, Flags::default(), &Companions::default()).unwrap();
        let tokens: Vec<_> = spec.model.tokens().iter().map(|(_, id)| id).collect();
        assert_eq!(tokens, [0, 1, 2, 3, 4, 6, 7]);
        let ids: Vec<u32> = spec.added_tokens.iter().map(|token| token.id).collect();
        assert_eq!(ids, [0, 1, 2, 3, 4]);
        let cased = format!("{VOCAB}Berlin\n");
        let error = read(&cased, Flags::default(), &Companions::default()).unwrap_err();
        assert_eq!(error.location.as_deref(), Some("do_lower_case"));
        let flags = Flags { do_lower_case: Some(false), ..Flags::default() };
        assert!(read(&cased, flags, &Companions::default()).is_ok());
        assert!(read("", Flags::default(), &Companions::default()).is_ok());
        assert!(is_known_class("BertTokenizerFast") && !is_known_class("BertJapaneseTokenizer"));
    }
}
