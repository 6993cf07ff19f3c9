//! SentencePiece's normalizer: a character map and the rules for blanks, in one pass.
//!
//! At each place the longest user-defined piece stays as it is, else the longest key of the
//! character map is replaced, else one character is copied. Blanks are then dropped or written as
//! word marks, in what came out: a user-defined piece with a blank in it is no exception. All of
//! it is linear in the text, times the longest key.
//!
//! Source: the normalizer of SentencePiece 0.2.3.

use super::Ends;
use super::stretches::Stretches;
use crate::error::Result;
use crate::spec;
use crate::text::edits::Edits;

const MARK: &str = "\u{2581}";

/// The compiled rules.
#[derive(Debug)]
pub(super) struct SentencePiece {
    stretches: Stretches,
    prefix: bool,
    suffix: bool,
    remove_extra: bool,
    /// What a blank is written as.
    blank: &'static str,
}

/// What a stretch of the text became.
struct Chunk {
    start: usize,
    end: usize,
    text: String,
}

impl SentencePiece {
    pub(super) fn compile(spec: &spec::SentencePieceNormalizer) -> Result<Self> {
        let map = spec.precompiled_charsmap.as_deref();
        Ok(Self {
            stretches: Stretches::compile(map, &spec.protected, false)?,
            prefix: spec.add_dummy_prefix && !spec.treat_whitespace_as_suffix,
            suffix: spec.add_dummy_prefix && spec.treat_whitespace_as_suffix,
            remove_extra: spec.remove_extra_whitespaces,
            blank: if spec.escape_whitespaces { MARK } else { " " },
        })
    }

    /// Whether no rule looks across a joint: a blank or a newline behind a graphic ASCII character; and
    /// `blank` there becomes the same, whatever comes behind it.
    pub(super) fn keeps_joints(&self, blank: char) -> bool {
        self.stretches.keep_joints(blank)
    }

    /// Whether no rule looks across a blank or a newline behind a letter beyond ASCII.
    pub(super) fn joins_wide(&self) -> bool {
        self.stretches.join_wide()
    }

    pub(super) fn edits(&self, text: &str, ends: Ends, edits: &mut Edits) {
        let mut at = 0;
        if self.remove_extra && ends.start {
            while at < text.len() {
                let (length, new) = self.stretches.next(&text[at..]);
                if new != " " {
                    break;
                }
                at += length;
            }
            if at > 0 {
                edits.replace(0, at, "");
            }
        }
        if at == text.len() {
            return;
        }
        let first = at;
        let mut chunks = Vec::new();
        if self.prefix && ends.start {
            chunks.push(Chunk { start: at, end: at, text: self.blank.to_owned() });
        }
        let mut after_blank = self.remove_extra && ends.start;
        let mut scratch = String::new();
        let mut grown = 0;
        while at < text.len() {
            let (length, mut new) = self.stretches.next(&text[at..]);
            if after_blank {
                new = new.trim_start_matches(' ');
            }
            if !new.is_empty() {
                after_blank = self.remove_extra && new.ends_with(' ');
            }
            let end = at + length;
            if self.blank != " " && new.contains(' ') {
                scratch.clear();
                for part in new.split_inclusive(' ') {
                    scratch.push_str(part.trim_end_matches(' '));
                    if part.ends_with(' ') {
                        scratch.push_str(self.blank);
                    }
                }
                new = &scratch;
            }
            if text[at..end] != *new {
                grown += new.len();
                if edits.is_full(grown) {
                    return;
                }
                chunks.push(Chunk { start: at, end, text: new.to_owned() });
            }
            at = end;
        }
        if self.remove_extra && ends.end {
            self.trim_end(text, first, &mut chunks);
        }
        for chunk in &chunks {
            edits.replace(chunk.start, chunk.end, &chunk.text);
        }
        if self.suffix && ends.end {
            edits.replace(text.len(), text.len(), self.blank);
        }
    }

    /// Drops the blanks that the result ends with, those that the text itself spells included.
    fn trim_end(&self, text: &str, first: usize, chunks: &mut Vec<Chunk>) {
        let mut end = text.len();
        loop {
            let copied = chunks.last().map_or(first, |chunk| chunk.end);
            let kept = text[copied..end].trim_end_matches(self.blank).len();
            end = copied + kept;
            if kept > 0 {
                break;
            }
            let Some(last) = chunks.last_mut() else { break };
            let left = last.text.trim_end_matches(self.blank).len();
            last.text.truncate(left);
            if left > 0 {
                break;
            }
            end = last.start;
            chunks.pop();
        }
        if end < text.len() {
            chunks.push(Chunk { start: end, end: text.len(), text: String::new() });
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn run(change: impl Fn(&mut spec::SentencePieceNormalizer), text: &str) -> String {
        let mut spec = spec::SentencePieceNormalizer {
            precompiled_charsmap: None,
            add_dummy_prefix: true,
            remove_extra_whitespaces: true,
            escape_whitespaces: true,
            treat_whitespace_as_suffix: false,
            protected: Vec::new(),
        };
        change(&mut spec);
        let mut edits = Edits::default();
        SentencePiece::compile(&spec).unwrap().edits(text, Ends::BOTH, &mut edits);
        edits.apply(text)
    }

    #[test]
    fn blanks() {
        for (text, expected) in [
            ("", ""),
            ("  ", ""),
            ("▁", ""),
            ("a", "▁a"),
            ("  a  b  ", "▁a▁b"),
            ("a▁ ▁", "▁a"),
            ("a ▁▁b", "▁a▁▁▁b"),
            (" ▁ ", ""),
        ] {
            assert_eq!(run(|_| {}, text), expected, "{text:?}");
        }
        assert_eq!(run(|spec| spec.remove_extra_whitespaces = false, " a  ▁ "), "▁▁a▁▁▁▁");
        assert_eq!(run(|spec| spec.remove_extra_whitespaces = false, " "), "▁▁");
        assert_eq!(run(|spec| spec.add_dummy_prefix = false, " a "), "a");
        assert_eq!(run(|spec| spec.escape_whitespaces = false, "  a▁  b▁ "), " a▁ b▁");
        assert_eq!(run(|spec| spec.escape_whitespaces = false, "  "), "");
        assert_eq!(run(|spec| spec.treat_whitespace_as_suffix = true, " a "), "a▁");
    }

    #[test]
    fn protected_pieces_keep_all_but_their_blanks() {
        let protect = |spec: &mut spec::SentencePieceNormalizer| {
            spec.protected = vec!["x y".to_owned(), "  ".to_owned()];
        };
        assert_eq!(run(protect, "ax yb"), "▁ax▁yb");
        assert_eq!(run(protect, "a  b   c"), "▁a▁▁b▁▁c");
    }
}
