//! SentencePiece's normalizer: a character map and the rules for blanks, in one pass.
//!
//! At each place the longest user-defined piece stays as it is, else the longest key of the
//! character map is replaced, else one character is copied. Blanks are then dropped or written as
//! word marks, in what came out: a user-defined piece with a blank in it is no exception. All of
//! it is linear in the text, times the longest key.
//!
//! Source: the normalizer of SentencePiece 0.2.3.

use super::{Charsmap, Ends};
use crate::error::{Error, Result};
use crate::spec::{self, Semantics};
use crate::text::edits::Edits;
use crate::text::seam::crosses;
use crate::vocab::SeededMap;

const MARK: &str = "\u{2581}";

/// Longer user-defined pieces are refused: at each place of a text so far is read ahead.
const MAX_PROTECTED: usize = 1024;

/// The compiled rules.
#[derive(Debug)]
pub(super) struct SentencePiece {
    charsmap: Option<Charsmap>,
    protected: Option<Pieces>,
    prefix: bool,
    suffix: bool,
    remove_extra: bool,
    /// What a blank is written as.
    blank: &'static str,
    /// Whether a protected piece reaches over a seam.
    protected_cross: bool,
}

/// The pieces, as steps from node to node: built in time linear in their bytes, whatever they are.
#[derive(Debug)]
struct Pieces {
    steps: SeededMap<(u32, u8), u32>,
    /// Whether a piece ends at each node.
    ends: Vec<bool>,
}

impl Pieces {
    fn new(pieces: &[String]) -> Self {
        let mut new = Self { steps: SeededMap::default(), ends: vec![false] };
        for piece in pieces.iter().filter(|piece| !piece.is_empty()) {
            let mut node = 0;
            for &byte in piece.as_bytes() {
                let next = new.ends.len() as u32;
                node = *new.steps.entry((node, byte)).or_insert(next);
                if node == next {
                    new.ends.push(false);
                }
            }
            new.ends[node as usize] = true;
        }
        new
    }

    /// The bytes of the longest piece that the text starts with, or 0.
    fn longest(&self, text: &[u8]) -> usize {
        let (mut node, mut longest) = (0, 0);
        for (byte, length) in text.iter().zip(1..) {
            match self.steps.get(&(node, *byte)) {
                Some(&next) => node = next,
                None => break,
            }
            if self.ends[node as usize] {
                longest = length;
            }
        }
        longest
    }
}

/// What a stretch of the text became.
struct Chunk {
    start: usize,
    end: usize,
    text: String,
}

impl SentencePiece {
    pub(super) fn compile(spec: &spec::SentencePieceNormalizer) -> Result<Self> {
        let charsmap = match spec.precompiled_charsmap.as_deref() {
            None | Some("") => None,
            Some(encoded) => Some(Charsmap::compile(encoded, Semantics::SentencePiece)?),
        };
        if spec.protected.iter().any(|piece| piece.len() > MAX_PROTECTED) {
            return Err(Error::artifact("protected", "A user-defined piece is too long.")
                .hint(format!("Such pieces may have {MAX_PROTECTED} bytes.")));
        }
        let protected = (!spec.protected.is_empty()).then(|| Pieces::new(&spec.protected));
        Ok(Self {
            charsmap,
            protected,
            prefix: spec.add_dummy_prefix && !spec.treat_whitespace_as_suffix,
            suffix: spec.add_dummy_prefix && spec.treat_whitespace_as_suffix,
            remove_extra: spec.remove_extra_whitespaces,
            blank: if spec.escape_whitespaces { MARK } else { " " },
            protected_cross: spec.protected.iter().any(|piece| crosses(piece.as_bytes())),
        })
    }

    /// Whether no rule looks across a seam.
    pub(super) fn keeps_seams(&self) -> bool {
        let over = |map: &Charsmap| map.crosses_seams();
        !self.protected_cross && !self.charsmap.as_ref().is_some_and(over)
    }

    /// How many bytes of the text are replaced next, and by what.
    fn next<'a>(&'a self, text: &'a str) -> (usize, &'a str) {
        if let Some(protected) = &self.protected {
            let length = protected.longest(text.as_bytes());
            if length > 0 {
                return (length, &text[..length]);
            }
        }
        if let Some(found) = self.charsmap.as_ref().and_then(|map| map.longest(text)) {
            return found;
        }
        let width = text.chars().next().map_or(0, char::len_utf8);
        (width, &text[..width])
    }

    pub(super) fn edits(&self, text: &str, ends: Ends, edits: &mut Edits) {
        let mut at = 0;
        if self.remove_extra && ends.start {
            while at < text.len() {
                let (length, new) = self.next(&text[at..]);
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
            let (length, mut new) = self.next(&text[at..]);
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
