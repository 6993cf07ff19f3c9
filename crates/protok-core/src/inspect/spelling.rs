//! How a vocabulary spells text, and the text that each of its entries covers.

use rustc_hash::FxHashMap;

use crate::model::{Model, Unit};
use crate::pipeline::Pipeline;
use crate::spec::{self, Decoder, LlamaCppSpelling, Normalizer, Pattern, PreTokenizer};
use crate::text::alphabet;

/// The mark that stands for a blank where a component does not name another.
const MARK: char = '\u{2581}';

/// How a vocabulary spells text.
#[derive(Debug)]
pub(super) struct Spelling {
    /// What the model reads at a time.
    pub unit: Unit,
    /// What stands for a blank.
    pub mark: Option<char>,
    /// Whether the normalizer writes the mark, and not the pre-tokenizer.
    pub normalizer_marks: bool,
    /// Starts entries that stand inside a piece.
    pub prefix: String,
    /// Ends entries that end a piece.
    pub suffix: String,
    /// The byte of each token that stands for a byte of an unknown character.
    pub fallback: FxHashMap<u32, u8>,
    /// Whether the text of entries is in the byte alphabet though pieces are characters.
    alphabet_text: bool,
}

/// The text that an entry covers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Surface {
    /// Its bytes, with blanks for marks.
    pub text: Vec<u8>,
    /// Whether the prefix says that it stands inside a piece.
    pub continues: bool,
    /// Whether the suffix says that it ends a piece.
    pub ends: bool,
}

impl Surface {
    /// The text, if the bytes are whole characters.
    pub fn as_str(&self) -> Option<&str> {
        std::str::from_utf8(&self.text).ok()
    }
}

impl Spelling {
    pub fn of(pipeline: &Pipeline) -> Self {
        let spec = pipeline.spec();
        let unit = Model::unit(&spec.model, pipeline.pre_tokenizer().yields_bytes());
        let normalizer_mark = spec.normalizer.as_ref().and_then(mark_of_normalizer);
        let (prefix, suffix, byte_fallback) = match &spec.model {
            spec::Model::Bpe(bpe) => (
                bpe.continuing_subword_prefix.clone(),
                bpe.end_of_word_suffix.clone(),
                bpe.byte_fallback,
            ),
            spec::Model::WordPiece(model) => {
                (Some(model.continuing_subword_prefix.clone()), None, false)
            }
            spec::Model::Unigram(model) => (None, None, model.byte_fallback),
            spec::Model::SentencePieceBpe(model) => (None, None, model.byte_fallback),
            spec::Model::SentencePieceWord(model) => (None, None, model.byte_fallback),
            spec::Model::WordLevel(_) | spec::Model::Greedy(_) | spec::Model::Bytes(_) => {
                (None, None, false)
            }
        };
        let mut fallback = FxHashMap::default();
        if byte_fallback {
            for byte in 0..=255u8 {
                if let Some(id) = pipeline.vocab().id(format!("<0x{byte:02X}>").as_bytes()) {
                    fallback.insert(id, byte);
                }
            }
        }
        let decoder_spells = match &spec.decoder {
            Some(Decoder::ByteLevel(_)) => true,
            Some(Decoder::LlamaCpp(rules)) => rules.spelling == LlamaCppSpelling::ByteAlphabet,
            _ => false,
        };
        let mark = spec.pre_tokenizer.as_ref().and_then(mark_of_pre_tokenizer);
        Self {
            unit,
            mark: mark.or(normalizer_mark),
            normalizer_marks: normalizer_mark.is_some(),
            prefix: prefix.unwrap_or_default(),
            suffix: suffix.unwrap_or_default(),
            fallback,
            alphabet_text: unit == Unit::Character && decoder_spells,
        }
    }

    /// The text that an entry covers.
    pub fn read(&self, id: u32, token: &[u8]) -> Surface {
        if let Some(&byte) = self.fallback.get(&id) {
            return Surface { text: vec![byte], continues: false, ends: false };
        }
        let (token, continues) = cut(&self.prefix, token, |token, affix| token.strip_prefix(affix));
        let (token, ends) = cut(&self.suffix, token, |token, affix| token.strip_suffix(affix));
        let spelled = self.unit == Unit::AlphabetByte || self.alphabet_text;
        let decoded = spelled
            .then(|| std::str::from_utf8(token).ok().and_then(alphabet::decode))
            .flatten()
            .unwrap_or_else(|| token.to_vec());
        let text = match self.mark.map(String::from) {
            Some(mark) if !spelled => match String::from_utf8(decoded) {
                Ok(text) => text.replace(&mark, " ").into_bytes(),
                Err(bytes) => bytes.into_bytes(),
            },
            _ => decoded,
        };
        Surface { text, continues, ends }
    }
}

/// A token without an affix, and whether it had it. One that is nothing else keeps it.
fn cut<'t>(
    affix: &str,
    token: &'t [u8],
    strip: impl Fn(&'t [u8], &[u8]) -> Option<&'t [u8]>,
) -> (&'t [u8], bool) {
    match strip(token, affix.as_bytes()) {
        Some(rest) if !affix.is_empty() && !rest.is_empty() => (rest, true),
        _ => (token, false),
    }
}

fn mark_of_normalizer(spec: &Normalizer) -> Option<char> {
    match spec {
        Normalizer::Sequence(items) => items.iter().find_map(mark_of_normalizer),
        Normalizer::SentencePiece(rules) => rules.escape_whitespaces.then_some(MARK),
        Normalizer::LlamaCppWords(_) | Normalizer::LlamaCppBlanks(_) => Some(MARK),
        Normalizer::Replace(replace) if is_blank(&replace.pattern) => {
            let mut chars = replace.content.chars();
            chars.next().filter(|mark| chars.next().is_none() && !mark.is_whitespace())
        }
        _ => None,
    }
}

/// Whether a pattern is one blank.
pub(super) fn is_blank(pattern: &Pattern) -> bool {
    matches!(pattern, Pattern::String(text) | Pattern::Regex(text) if text == " ")
}

fn mark_of_pre_tokenizer(spec: &PreTokenizer) -> Option<char> {
    match spec {
        PreTokenizer::Sequence(items) => items.iter().find_map(mark_of_pre_tokenizer),
        PreTokenizer::Metaspace(metaspace) => Some(metaspace.replacement),
        _ => None,
    }
}
