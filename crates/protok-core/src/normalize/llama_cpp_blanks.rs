//! How llama.cpp normalizes text for a Unigram model: a character map, and the rules for blanks.
//!
//! Close to SentencePiece's normalizer, of which it is another writing, but not the same: only
//! U+0020 is a blank, a text of blanks alone gets none put in front, blanks that stay stand before
//! the one that is put in front, a word mark that the text itself spells is never trimmed, where
//! blanks in a row become one the first word has one even if none was asked for, and the start of a
//! user-defined token stays as it is even where the rest of it does not follow.
//!
//! Source: the UGM tokenizer of llama.cpp.

use super::Ends;
use super::stretches::Stretches;
use crate::error::Result;
use crate::spec::LlamaCppBlanks;
use crate::text::edits::Edits;

const MARK: &str = "\u{2581}";

/// The compiled rules.
#[derive(Debug)]
pub(super) struct Blanks {
    stretches: Stretches,
    prefix: bool,
    merge: bool,
}

impl Blanks {
    pub(super) fn compile(spec: &LlamaCppBlanks) -> Result<Self> {
        let map = spec.precompiled_charsmap.as_deref();
        Ok(Self {
            stretches: Stretches::compile(map, &spec.protected, true)?,
            prefix: spec.add_space_prefix,
            merge: spec.remove_extra_whitespaces,
        })
    }

    pub(super) fn edits(&self, text: &str, ends: Ends, edits: &mut Edits) {
        // Whether a blank is still to be put before the text, and whether a word goes on.
        let mut prefix = self.prefix && ends.start;
        let mut in_word = self.merge && !ends.start;
        // Where blanks began that one mark is to stand for.
        let mut blanks = None;
        let mut at = 0;
        let mut new = String::new();
        while at < text.len() {
            let (length, replacement) = self.stretches.next(&text[at..]);
            new.clear();
            for part in replacement.split_inclusive(' ') {
                let word = part.trim_end_matches(' ');
                if !word.is_empty() {
                    if !in_word && (prefix || self.merge) {
                        new.push_str(MARK);
                        prefix = false;
                    }
                    in_word = true;
                    new.push_str(word);
                }
                if part.ends_with(' ') {
                    in_word = false;
                    if !self.merge {
                        new.push_str(MARK);
                    }
                }
            }
            if edits.is_full(new.len()) {
                return;
            }
            let old = &text[at..at + length];
            let end = at + length;
            if new.is_empty() && self.merge && (blanks.is_some() || replacement.starts_with(' ')) {
                blanks.get_or_insert(at);
            } else if new.strip_prefix(MARK) == Some(old) {
                // The mark came from the blanks before, or from nothing.
                edits.replace(blanks.take().unwrap_or(at), at, MARK);
            } else if new != *old || blanks.is_some() {
                edits.replace(blanks.take().unwrap_or(at), end, &new);
            }
            at = end;
        }
        if let Some(start) = blanks {
            edits.replace(start, at, "");
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn run(prefix: bool, merge: bool, text: &str) -> String {
        let spec = LlamaCppBlanks {
            precompiled_charsmap: None,
            add_space_prefix: prefix,
            remove_extra_whitespaces: merge,
            protected: vec!["x y".to_owned()],
        };
        let mut edits = Edits::default();
        Blanks::compile(&spec).unwrap().edits(text, Ends::BOTH, &mut edits);
        edits.apply(text)
    }

    #[test]
    fn blanks() {
        // As llama.cpp v0.5.0 cuts them; its normalized text cannot be seen from outside.
        for (text, merged, kept) in [
            ("", "", ""),
            ("  ", "", "▁▁"),
            ("▁", "▁▁", "▁▁"),
            ("a", "▁a", "▁a"),
            ("  a  b  ", "▁a▁b", "▁▁▁a▁▁b▁▁"),
            ("a▁ ▁", "▁a▁▁▁", "▁a▁▁▁"),
            ("ax yb", "▁ax▁yb", "▁ax▁yb"),
            ("a\u{a0}\tb", "▁a\u{a0}\tb", "▁a\u{a0}\tb"),
        ] {
            assert_eq!(run(true, true, text), merged, "{text:?}");
            assert_eq!(run(true, false, text), kept, "{text:?}");
        }
        assert_eq!(run(false, true, " a b "), "▁a▁b");
        assert_eq!(run(false, false, " a b "), "▁a▁b▁");
    }
}
