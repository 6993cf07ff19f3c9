//! What each component of a spec rewrites, drops or adds for good.

use crate::pattern::Matcher;
use crate::spec::{
    Decoder, LlamaCppDecoder, Normalizer, Pattern, PreTokenizer, PrependScheme, Replace, Spec,
    SplitBehavior,
};

use super::spelling::is_blank;

/// What the steps of a normalizer do that the decoder does not undo: the name of the step, as the
/// reference path tells it, and what it does.
pub(super) fn normalizations(spec: &Spec) -> Vec<(&'static str, String)> {
    let mut found = Vec::new();
    if let Some(normalizer) = &spec.normalizer {
        add(normalizer, &mut found);
    }
    found
}

fn add(normalizer: &Normalizer, found: &mut Vec<(&'static str, String)>) {
    let mut put = |name, does: &str| found.push((name, does.to_owned()));
    match normalizer {
        Normalizer::Sequence(items) => items.iter().for_each(|item| add(item, found)),
        Normalizer::Nfc => put("NFC", "NFC"),
        Normalizer::Nfd => put("NFD", "NFD"),
        Normalizer::Nfkc => put("NFKC", "NFKC"),
        Normalizer::Nfkd => put("NFKD", "NFKD"),
        Normalizer::Lowercase => put("Lowercase", "lower case"),
        Normalizer::StripAccents => put("StripAccents", "accents dropped"),
        // A blank that becomes the mark comes back.
        Normalizer::Replace(replace) if is_blank(&replace.pattern) => {}
        Normalizer::Replace(replace) => put("Replace", &rewriting(replace)),
        Normalizer::Prepend(prepend) => put("Prepend", &format!("{:?} in front", prepend.prepend)),
        Normalizer::Strip(_) => put("Strip", "white space at the ends dropped"),
        Normalizer::Bert(rules) => {
            let parts = [
                (rules.clean_text, "control characters dropped, white space as blanks"),
                (rules.handle_chinese_chars, "blanks around ideographs"),
                (rules.strip_accents.unwrap_or(rules.lowercase), "accents dropped"),
                (rules.lowercase, "lower case"),
            ];
            for (_, does) in parts.into_iter().filter(|part| part.0) {
                put("BertNormalizer", does);
            }
        }
        Normalizer::Nmt => put("Nmt", "NMT's cleaning"),
        Normalizer::Precompiled(_) => put("Precompiled", "SentencePiece's character map"),
        Normalizer::ByteLevel => {}
        Normalizer::SentencePiece(rules) => {
            let parts = [
                (rules.precompiled_charsmap.is_some(), "SentencePiece's character map"),
                (rules.remove_extra_whitespaces, "blanks trimmed and collapsed"),
            ];
            for (_, does) in parts.into_iter().filter(|part| part.0) {
                put("SentencePiece", does);
            }
        }
        Normalizer::LlamaCppWords(rules) => {
            put("LlamaCppWords", "blanks between words as one");
            if rules.lowercase {
                put("LlamaCppWords", "lower case");
            }
            if rules.strip_accents {
                put("LlamaCppWords", "accents dropped");
            }
        }
        Normalizer::LlamaCppBlanks(rules) => {
            if rules.precompiled_charsmap.is_some() {
                put("LlamaCppBlanks", "SentencePiece's character map");
            }
            if rules.remove_extra_whitespaces {
                put("LlamaCppBlanks", "blanks trimmed and collapsed");
            }
        }
    }
}

fn rewriting(replace: &Replace) -> String {
    match &replace.pattern {
        Pattern::String(text) => format!("{text:?} as {:?}", replace.content),
        Pattern::Regex(pattern) => format!("/{pattern}/ as {:?}", replace.content),
    }
}

/// What a pre-tokenizer drops or adds.
pub(super) fn of_pre_tokenizer(spec: Option<&PreTokenizer>) -> Vec<&'static str> {
    use SplitBehavior::Removed;
    match spec {
        None => Vec::new(),
        Some(PreTokenizer::Sequence(items)) => {
            items.iter().flat_map(|item| of_pre_tokenizer(Some(item))).collect()
        }
        Some(PreTokenizer::Bert | PreTokenizer::Whitespace | PreTokenizer::WhitespaceSplit) => {
            vec!["drops the white space between pieces"]
        }
        Some(PreTokenizer::CharDelimiterSplit(_)) => vec!["drops the character that it cuts at"],
        Some(PreTokenizer::UnicodeScripts) => vec!["drops what stands before the first script"],
        Some(PreTokenizer::Split(split)) if split.keeps_only_matches() => {
            let matcher = Matcher::of(&split.pattern, split.semantics);
            match matcher.is_ok_and(|matcher| matcher.covers()) {
                true => Vec::new(),
                false => vec!["drops what its pattern does not match"],
            }
        }
        Some(PreTokenizer::Split(split)) if split.behavior == Removed => {
            vec!["drops what its pattern matches"]
        }
        Some(PreTokenizer::Punctuation(punctuation)) if punctuation.behavior == Removed => {
            vec!["drops punctuation"]
        }
        Some(PreTokenizer::ByteLevel(rules)) if rules.add_prefix_space => {
            vec!["puts a blank in front"]
        }
        Some(PreTokenizer::Metaspace(rules)) if rules.prepend_scheme != PrependScheme::Never => {
            vec!["marks the start like a blank"]
        }
        Some(PreTokenizer::Metaspace(_)) => vec!["reads its mark as a blank"],
        Some(
            PreTokenizer::ByteLevel(_)
            | PreTokenizer::Split(_)
            | PreTokenizer::Digits(_)
            | PreTokenizer::Punctuation(_)
            | PreTokenizer::FixedLength(_),
        ) => Vec::new(),
    }
}

/// What a decoder adds or drops.
pub(super) fn of_decoder(spec: Option<&Decoder>) -> Vec<&'static str> {
    match spec {
        None => vec!["there is none: a blank between tokens"],
        Some(Decoder::Sequence(items)) => {
            items.iter().flat_map(|item| of_decoder(Some(item))).collect()
        }
        Some(Decoder::WordPiece(rules)) if rules.cleanup => {
            vec!["puts blanks between words, and tidies them"]
        }
        Some(Decoder::WordPiece(_)) => vec!["puts blanks between words"],
        Some(Decoder::Bpe(_)) => vec!["puts a blank after each word"],
        Some(Decoder::Ctc(_)) => vec!["drops repetitions and padding"],
        Some(Decoder::Metaspace(_)) => vec!["reads the mark as a blank, and drops the first"],
        Some(Decoder::Strip(_)) => vec!["drops characters at the ends"],
        Some(Decoder::Replace(_)) => vec!["rewrites what it finds"],
        Some(Decoder::ByteFallback) => vec!["reads <0xNN> as a byte"],
        Some(Decoder::SentencePiece(_)) => vec!["reads the mark as a blank"],
        Some(Decoder::LlamaCpp(LlamaCppDecoder { clean_spaces: true, .. })) => {
            vec!["tidies blanks before punctuation"]
        }
        Some(Decoder::LlamaCpp(_)) => vec!["drops the blank in front"],
        Some(Decoder::ByteLevel(_) | Decoder::Fuse | Decoder::Bytes) => Vec::new(),
    }
}
