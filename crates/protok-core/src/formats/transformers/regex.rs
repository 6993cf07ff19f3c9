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

/// Whether a model was saved by release 5.0.0 or a later one, which write the right pattern.
pub(super) fn is_fixed(version: &str) -> bool {
    let version = version.trim().trim_start_matches(['v', 'V']);
    let end = version.find(|c: char| c != '.' && !c.is_ascii_digit()).unwrap_or(version.len());
    let (release, rest) = version.split_at(end);
    let mut numbers = release.split('.').map(|number| number.parse().unwrap_or(0u32));
    let major = numbers.next().unwrap_or(0);
    if major != 5 || numbers.any(|number| number > 0) {
        return major >= 5;
    }
    // A release candidate or a development version of 5.0.0 comes before it.
    let rest = rest.trim_start_matches(['-', '_', '.']).to_ascii_lowercase();
    let before = ["dev", "a", "b", "c", "rc", "pre"];
    !before.iter().any(|label| rest.starts_with(label))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_compared_as_python_compares_them() {
        for version in ["5.0.0", "5", "v5.0", "5.0.0.post1", "5.0.0+cpu", "5.1.0.dev0", "10.2"] {
            assert!(is_fixed(version), "{version}");
        }
        for version in ["4.57.1", "5.0.0.dev0", "5.0.0rc1", "5.0.0-beta.2", "5.0.0a1", "", "x"] {
            assert!(!is_fixed(version), "{version}");
        }
    }
}
