//! Character classes that several stages share.
//!
//! The references agree on these tables (Unicode 16, as in `regex-syntax` 0.8): `tokenizers`
//! asks the `regex` crate for `\w` and `\s` around added tokens.

use std::sync::LazyLock;

use regex_syntax::hir::{Class, HirKind};

/// Unicode versions of the tables in use, by what they decide.
pub const VERSIONS: &[(&str, &str)] = &[
    ("classes", "16.0.0"),
    ("normalization", "9.0.0"),
    ("case", "17.0.0"),
    ("graphemes", "17.0.0"),
];

/// The sorted, disjoint code-point ranges of a regular-expression class such as `\w`.
///
/// # Panics
/// If `class` is not a single Unicode class: for constants only.
#[must_use]
pub fn class_ranges(class: &str) -> Vec<(char, char)> {
    let hir = regex_syntax::parse(class).expect("a constant class parses");
    match hir.kind() {
        HirKind::Class(Class::Unicode(set)) => {
            set.ranges().iter().map(|range| (range.start(), range.end())).collect()
        }
        _ => panic!("{class} is one Unicode class"),
    }
}

/// Whether sorted, disjoint `ranges` hold `c`.
#[must_use]
pub fn in_ranges(ranges: &[(char, char)], c: char) -> bool {
    ranges
        .binary_search_by(|&(low, high)| {
            if high < c {
                std::cmp::Ordering::Less
            } else if low > c {
                std::cmp::Ordering::Greater
            } else {
                std::cmp::Ordering::Equal
            }
        })
        .is_ok()
}

/// Whether `c` is a word character, the regular expression `\w`.
#[must_use]
pub fn is_word(c: char) -> bool {
    static WORD: LazyLock<Vec<(char, char)>> = LazyLock::new(|| class_ranges(r"\w"));
    if c.is_ascii() { c.is_ascii_alphanumeric() || c == '_' } else { in_ranges(&WORD, c) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn word_characters() {
        for c in ['a', '_', '9', 'é', '世', '\u{301}', '\u{200d}'] {
            assert!(is_word(c), "{c:?}");
        }
        for c in [' ', '-', '\u{a0}', '🐈', '\u{378}'] {
            assert!(!is_word(c), "{c:?}");
        }
    }

    #[test]
    fn white_space_is_the_property() {
        for (low, high) in class_ranges(r"\s") {
            assert!((low..=high).all(char::is_whitespace));
        }
        assert!(!'\u{1c}'.is_whitespace() && '\u{85}'.is_whitespace());
    }
}
