//! The pattern that `fix_mistral_regex` puts in.

use super::parts;
use crate::spec::{ByteLevel, Pattern, PreTokenizer, SplitBehavior};

/// The model types that were published with a wrong pattern.
pub(super) const MISTRAL: &[&str] = &["mistral", "mistral3", "voxtral", "ministral", "pixtral"];

const PATTERN: &str = concat!(
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+",
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*",
    r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
);

/// Whether a model was saved by a release that writes the right pattern.
pub(super) fn is_fixed(version: &str) -> bool {
    let major = version.trim_start_matches(['v', 'V']).split('.').next().unwrap_or_default();
    let number = major.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
    // 5.0.0 itself is fixed, its release candidates are not.
    let candidate = |text: &str| text.starts_with("5.0.0") && text.len() > "5.0.0".len();
    number.parse().is_ok_and(|major: u32| major >= 5)
        && !(candidate(version) && !version["5.0.0".len()..].starts_with(['.', '+', '-']))
}

/// The pattern in place of the first part of a sequence, and before anything else.
pub(super) fn fixed(pre_tokenizer: PreTokenizer) -> PreTokenizer {
    let split = parts::split(Pattern::Regex(PATTERN.to_owned()), SplitBehavior::Isolated, false);
    PreTokenizer::Sequence(match pre_tokenizer {
        PreTokenizer::Sequence(mut items) => {
            if let Some(first) = items.first_mut() {
                *first = split;
            }
            items
        }
        PreTokenizer::Metaspace(_) => {
            let bytes = ByteLevel { add_prefix_space: false, trim_offsets: true, use_regex: false };
            vec![split, PreTokenizer::ByteLevel(bytes)]
        }
        other => vec![split, other],
    })
}
