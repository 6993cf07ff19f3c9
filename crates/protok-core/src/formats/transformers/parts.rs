//! The components that classes build their pipelines of.

use crate::error::{Error, Result};
use crate::formats::companions::CONFIG;
use crate::spec::{
    AddedToken, BertNormalizer, ByteLevel, Decoder, Metaspace, Normalizer, Pattern, PostProcessor,
    PreTokenizer, PrependScheme, Replace, Semantics, SequenceName, Split, SplitBehavior,
    StripDecoder, StripNormalizer, TemplateItem, TemplateProcessing, TemplateToken,
    WordPieceDecoder,
};
use crate::text::tidy::TIDY;

const MARK: char = '\u{2581}';

pub(super) fn literal(from: &str, to: &str) -> Replace {
    Replace { pattern: Pattern::String(from.to_owned()), content: to.to_owned() }
}

pub(super) fn regex(from: &str, to: &str) -> Replace {
    Replace { pattern: Pattern::Regex(from.to_owned()), content: to.to_owned() }
}

/// Straight quotes for the two spellings of double ones.
pub(super) fn quotes() -> Vec<Normalizer> {
    vec![Normalizer::Replace(literal("``", "\"")), Normalizer::Replace(literal("''", "\""))]
}

pub(super) fn no_accents() -> [Normalizer; 2] {
    [Normalizer::Nfkd, Normalizer::StripAccents]
}

/// One blank for white space in rows, composed, and none at the end.
pub(super) fn one_line() -> [Normalizer; 3] {
    [
        Normalizer::Replace(regex(r"\s{2,}|[\n\r\t]", " ")),
        Normalizer::Nfc,
        Normalizer::Strip(StripNormalizer { strip_left: false, strip_right: true }),
    ]
}

pub(super) fn bert(
    clean_text: bool,
    handle_chinese_chars: bool,
    strip_accents: Option<bool>,
    lowercase: bool,
) -> Normalizer {
    Normalizer::Bert(BertNormalizer { clean_text, handle_chinese_chars, strip_accents, lowercase })
}

pub(super) fn byte_level(add_prefix_space: bool, use_regex: bool) -> PreTokenizer {
    PreTokenizer::ByteLevel(ByteLevel { add_prefix_space, trim_offsets: true, use_regex })
}

pub(super) fn trimming_byte_level(add_prefix_space: bool, trim_offsets: bool) -> PreTokenizer {
    PreTokenizer::ByteLevel(ByteLevel { add_prefix_space, trim_offsets, use_regex: true })
}

pub(super) fn byte_level_decoder() -> Decoder {
    Decoder::ByteLevel(ByteLevel { add_prefix_space: true, trim_offsets: true, use_regex: true })
}

pub(super) fn split(pattern: Pattern, behavior: SplitBehavior, invert: bool) -> PreTokenizer {
    PreTokenizer::Split(Split { pattern, behavior, invert, semantics: Semantics::HuggingFace })
}

pub(super) fn metaspace(prepend_scheme: PrependScheme, split: bool) -> Metaspace {
    Metaspace { replacement: MARK, prepend_scheme, split }
}

/// A blank for each mark, bytes for byte tokens, all in one string.
pub(super) fn marks_and_bytes() -> Vec<Decoder> {
    vec![Decoder::Replace(literal("\u{2581}", " ")), Decoder::ByteFallback, Decoder::Fuse]
}

pub(super) fn strip_one_blank() -> Decoder {
    Decoder::Strip(StripDecoder { content: ' ', start: 1, stop: 0 })
}

pub(super) fn word_piece_decoder(prefix: &str) -> Decoder {
    Decoder::WordPiece(WordPieceDecoder { prefix: prefix.to_owned(), cleanup: true })
}

// ---------------------------------------------------------------------------------------------
// Templates

/// Reads templates as `TemplateProcessing` does, from pieces such as `$A:0` and `[SEP]:1`.
/// `tokens` are the control tokens with their ids.
pub(super) fn template(
    single: &[String],
    pair: &[String],
    tokens: &[(&str, u32)],
) -> Result<PostProcessor> {
    let items = |pieces: &[String]| -> Result<Vec<TemplateItem>> {
        pieces.iter().map(|text| piece(text)).collect()
    };
    let mut special: Vec<(String, TemplateToken)> = Vec::new();
    for (name, id) in tokens {
        let token = TemplateToken {
            id: (*name).to_owned(),
            ids: vec![*id],
            tokens: vec![(*name).to_owned()],
        };
        match special.iter_mut().find(|(own, _)| own == name) {
            Some((_, own)) => *own = token,
            None => special.push(((*name).to_owned(), token)),
        }
    }
    special.sort_by(|(a, _), (b, _)| a.cmp(b));
    let template =
        TemplateProcessing { single: items(single)?, pair: items(pair)?, special_tokens: special };
    let named = |item: &TemplateItem| match item {
        TemplateItem::SpecialToken { id, .. } => Some(id.clone()),
        TemplateItem::Sequence { .. } => None,
    };
    for name in template.single.iter().chain(&template.pair).filter_map(named) {
        if !template.special_tokens.iter().any(|(own, _)| *own == name) {
            return Err(Error::artifact(
                CONFIG,
                format!("The template of the class needs {name:?}, whose id it does not give."),
            )
            .hint("transformers refuses the folder; load without as_loaded_by.")
            .value(name));
        }
    }
    Ok(PostProcessor::Template(template))
}

fn piece(text: &str) -> Result<TemplateItem> {
    let (name, type_id) = match text.rsplit_once(':') {
        Some((name, digit)) => (name, digit.parse().unwrap_or(u32::MAX)),
        None => (text, 0),
    };
    match name {
        "$A" => Ok(TemplateItem::Sequence { id: SequenceName::A, type_id }),
        "$B" => Ok(TemplateItem::Sequence { id: SequenceName::B, type_id }),
        name if name.contains([':', ' ']) || name.starts_with('$') || type_id == u32::MAX => {
            Err(Error::artifact(
                CONFIG,
                format!("A template cannot name the token {name:?}: it would be read otherwise."),
            )
            .hint("Load without as_loaded_by: the file then decides.")
            .value(name))
        }
        name => Ok(TemplateItem::SpecialToken { id: name.to_owned(), type_id }),
    }
}

/// The template without control tokens.
pub(super) fn bare_template() -> PostProcessor {
    let sequence = |id, type_id| TemplateItem::Sequence { id, type_id };
    PostProcessor::Template(TemplateProcessing {
        single: vec![sequence(SequenceName::A, 0)],
        pair: vec![sequence(SequenceName::A, 0), sequence(SequenceName::B, 1)],
        special_tokens: Vec::new(),
    })
}

// ---------------------------------------------------------------------------------------------
// Decoding

/// What Python's `str.strip` drops, as a class of characters.
const BLANK: &str = "[\t-\r\u{1c}- \u{85}\u{a0}\u{1680}\u{2000}-\u{200a}\u{2028}\u{2029}\
                     \u{202f}\u{205f}\u{3000}]";

/// The decoder that joins tokens with a blank, in the words of a `tokenizer.json`: a WordPiece
/// decoder whose prefix no token has.
fn joined_by_blanks<'a>(mut tokens: impl Iterator<Item = &'a [u8]>) -> Result<Decoder> {
    let prefix = "\u{10FFFF}\u{10FFFF}";
    if tokens.any(|token| token.starts_with(prefix.as_bytes())) {
        return Err(Error::artifact(
            format!("{CONFIG}.clean_up_tokenization_spaces"),
            "Decoded text cannot be tidied: a token starts with U+10FFFF twice.",
        )
        .hint("Set it to false."));
    }
    Ok(Decoder::WordPiece(WordPieceDecoder { prefix: prefix.to_owned(), cleanup: false }))
}

/// Appends `after` to a decoder, which then works on the whole text.
fn then(
    decoder: Option<Decoder>,
    after: impl IntoIterator<Item = Decoder>,
    vocab: &crate::spec::TokenList,
    added: &[AddedToken],
) -> Result<Decoder> {
    let contents = added.iter().map(|token| token.content.as_bytes());
    let mut steps = match decoder {
        Some(Decoder::Sequence(steps)) => steps,
        Some(decoder) => vec![decoder],
        None => vec![joined_by_blanks(vocab.iter().map(|(token, _)| token).chain(contents))?],
    };
    steps.push(Decoder::Fuse);
    steps.extend(after);
    Ok(Decoder::Sequence(steps))
}

/// What `clean_up_tokenization_spaces` does to decoded text.
pub(super) fn tidied(
    decoder: Option<Decoder>,
    vocab: &crate::spec::TokenList,
    added: &[AddedToken],
) -> Result<Decoder> {
    let rules = TIDY.map(|(from, to)| Decoder::Replace(literal(from, to)));
    then(decoder, rules, vocab, added)
}

/// What `WhisperTokenizer` does to decoded text: no times, such as `<|1.50|>`.
pub(super) fn without_times(
    decoder: Option<Decoder>,
    vocab: &crate::spec::TokenList,
    added: &[AddedToken],
) -> Result<Decoder> {
    let times = Decoder::Replace(regex(r"<\|\p{Nd}+\.\p{Nd}+\|>", ""));
    then(decoder, [times], vocab, added)
}

/// What `CLIPTokenizer` does to decoded text: a blank for the end of each word, none at the ends.
pub(super) fn words_and_strip(
    decoder: Option<Decoder>,
    vocab: &crate::spec::TokenList,
    added: &[AddedToken],
) -> Result<Decoder> {
    let ends = format!(r"\A{BLANK}+|(?<!{BLANK}){BLANK}+\z");
    let after = [Decoder::Replace(literal("</w>", " ")), Decoder::Replace(regex(&ends, ""))];
    then(decoder, after, vocab, added)
}
