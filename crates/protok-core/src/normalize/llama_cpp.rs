//! How llama.cpp cuts a text into BERT's words.
//!
//! Each character is replaced by the first one of its canonical decomposition and put in lower
//! case; marks are dropped, spacing ones as well. White space ends a word, punctuation and ideographs
//! are words, and every word gets a mark in front. What comes out are words with blanks between.
//!
//! Source: the WPM tokenizer of llama.cpp, whose tables are those of Unicode 15.1.

use std::sync::LazyLock;

use unicode_normalization_alignments::UnicodeNormalization;

use super::bert::is_ideograph;
use crate::spec::LlamaCppWords;
use crate::text::edits::Edits;
use crate::text::unicode::{class_ranges, in_ranges};

const MARK: char = '\u{2581}';

fn is_punctuation(c: char) -> bool {
    static RANGES: LazyLock<Vec<(char, char)>> =
        LazyLock::new(|| class_ranges(r"[\p{P}&&\p{age=15.1}]"));
    if c.is_ascii() {
        // Of ASCII, symbols count as well.
        c.is_ascii_punctuation()
    } else {
        in_ranges(&RANGES, c)
    }
}

fn is_control(c: char) -> bool {
    static RANGES: LazyLock<Vec<(char, char)>> =
        LazyLock::new(|| class_ranges(r"[[\p{Cc}\p{Cf}\p{Co}]&&\p{age=15.1}]"));
    if c.is_ascii() { c.is_ascii_control() } else { in_ranges(&RANGES, c) }
}

fn is_mark(c: char) -> bool {
    static RANGES: LazyLock<Vec<(char, char)>> =
        LazyLock::new(|| class_ranges(r"[\p{M}&&\p{age=15.1}]"));
    !c.is_ascii() && in_ranges(&RANGES, c)
}

fn is_assigned(c: char) -> bool {
    static RANGES: LazyLock<Vec<(char, char)>> = LazyLock::new(|| class_ranges(r"\p{age=15.1}"));
    c.is_ascii() || in_ranges(&RANGES, c)
}

/// The first character of the canonical decomposition.
fn base(c: char) -> char {
    match c {
        // Younger than the tables of the library.
        '\u{11938}' => '\u{11935}',
        _ => std::iter::once(c).nfd().next().map_or(c, |(base, _)| base),
    }
}

/// The lower case of a character, which is one character.
fn lower(c: char) -> char {
    if is_assigned(c) { c.to_lowercase().next().unwrap_or(c) } else { c }
}

/// Puts each character in lower case by itself.
pub(super) fn lowercase(text: &str, edits: &mut Edits) {
    for (start, c) in text.char_indices() {
        let lower = lower(c);
        if lower != c {
            edits.replace_chars(start, start + c.len_utf8(), [lower]);
        }
    }
}

pub(super) fn words(rules: LlamaCppWords, text: &str, edits: &mut Edits) {
    let mut in_word = false;
    for (start, original) in text.char_indices() {
        let end = start + original.len_utf8();
        let mut c = original;
        if rules.strip_accents && !c.is_ascii() {
            c = base(c);
        }
        if c.is_whitespace() {
            in_word = false;
            if original != ' ' {
                edits.replace(start, end, " ");
            }
            continue;
        }
        if c == '\u{fffd}' || is_control(c) || (rules.strip_accents && is_mark(c)) {
            edits.replace(start, end, "");
            continue;
        }
        let alone = is_punctuation(c) || is_ideograph(c);
        if rules.lowercase {
            c = lower(c);
        }
        if alone {
            // The blanks stand for nothing, and neither does the mark.
            edits.replace_chars(start, start, [' ', MARK]);
            if c != original {
                edits.replace_chars(start, end, [c]);
            }
            edits.replace(end, end, " ");
            in_word = false;
            continue;
        }
        if !in_word {
            edits.replace_chars(start, start, [MARK]);
            in_word = true;
        }
        if c != original {
            edits.replace_chars(start, end, [c]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_get_marks() {
        for (text, expected) in [
            ("", ""),
            ("Hi there", "▁hi ▁there"),
            ("a,b", "▁a ▁, ▁b"),
            ("Ünïe\u{301}", "▁unie"),
            ("\u{200b}a\u{0}\u{fffd}b\t\u{3000}", "▁ab  "),
            ("世界", " ▁世  ▁界 "),
            ("▁x", "▁▁x"),
        ] {
            let mut edits = Edits::default();
            let rules = LlamaCppWords { lowercase: true, strip_accents: true };
            words(rules, text, &mut edits);
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            assert_eq!(words(&edits.apply(text)), words(expected), "{text:?}");
        }
    }
}
