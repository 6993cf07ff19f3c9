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
    ("categories", "8.0.0"),
    ("scripts", "9.0.0"),
    ("llama.cpp", "15.1.0"),
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

/// Whether `c` is punctuation for BERT: ASCII punctuation and the categories P* of Unicode 8, as
/// `tokenizers` has them. U+166D and U+111C9 have left these categories since.
#[must_use]
pub fn is_punctuation(c: char) -> bool {
    static RANGES: LazyLock<Vec<(char, char)>> =
        LazyLock::new(|| class_ranges(r"[[\p{P}&&\p{age=8.0}]\x{166D}\x{111C9}]"));
    if c.is_ascii() { c.is_ascii_punctuation() } else { in_ranges(&RANGES, c) }
}

/// Whether `c` is a non-spacing mark (Mn) of Unicode 8. A few characters have changed sides since.
#[must_use]
pub fn is_nonspacing_mark(c: char) -> bool {
    static RANGES: LazyLock<Vec<(char, char)>> = LazyLock::new(|| {
        class_ranges(
            r"[[[\p{Mn}&&\p{age=8.0}]--[\x{1885}\x{1886}\x{A9BD}\x{111C9}]]\x{1734}\x{1171E}]",
        )
    });
    !c.is_ascii() && in_ranges(&RANGES, c)
}

/// Whether `c` is a control, format or private-use character (Cc, Cf, Co) of Unicode 8.
#[must_use]
pub fn is_control(c: char) -> bool {
    static RANGES: LazyLock<Vec<(char, char)>> =
        LazyLock::new(|| class_ranges(r"[[\p{Cc}\p{Cf}\p{Co}]&&\p{age=8.0}]"));
    if c.is_ascii() { c.is_ascii_control() } else { in_ranges(&RANGES, c) }
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
    fn categories_of_unicode_8() {
        for c in ['$', '-', '。', '\u{166d}', '\u{111c9}'] {
            assert!(is_punctuation(c), "{c:?}");
        }
        assert!(!is_punctuation('€') && !is_punctuation('\u{2e43}') && !is_punctuation('a'));
        assert!(is_nonspacing_mark('\u{301}') && is_nonspacing_mark('\u{1734}'));
        assert!(!is_nonspacing_mark('\u{1885}') && !is_nonspacing_mark('\u{903}'));
        assert!(is_control('\u{200d}') && is_control('\u{e000}') && is_control('\u{7f}'));
        assert!(!is_control('\u{8e2}') && !is_control('\u{378}') && !is_control(' '));
    }

    #[test]
    fn white_space_is_the_property() {
        for (low, high) in class_ranges(r"\s") {
            assert!((low..=high).all(char::is_whitespace));
        }
        assert!(!'\u{1c}'.is_whitespace() && '\u{85}'.is_whitespace());
    }
}
