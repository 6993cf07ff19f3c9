//! A text that remembers, byte by byte, which part of the original it came from.
//!
//! This is the reference path's alignment: two numbers a byte, simple enough to trust. Bytes
//! that no edit touched come from exactly one byte; all bytes of a replacement come from the
//! whole range that it replaced; inserted bytes come from an empty range.

use std::ops::Range;

use super::edits::Edits;

/// See the [module](self).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlignedText {
    text: String,
    origin: Vec<(u32, u32)>,
    /// Where the text starts in the original.
    anchor: u32,
}

impl AlignedText {
    /// `text`, which stands at byte `start` of the original.
    #[must_use]
    pub fn new(text: &str, start: u32) -> Self {
        let end = start + u32::try_from(text.len()).unwrap_or(u32::MAX - start);
        Self {
            text: text.to_owned(),
            origin: (start..end).map(|i| (i, i + 1)).collect(),
            anchor: start,
        }
    }

    /// The text as it is now.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether the text is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// The bytes of the original that bytes `range` of the text came from. Inserted bytes add
    /// nothing to it. An empty range, and one that was inserted, has an empty span.
    #[must_use]
    pub fn span(&self, range: Range<usize>) -> (u32, u32) {
        match self.origin.get(range.clone()) {
            Some(origins @ [first, ..]) => {
                let end = origins.iter().map(|origin| origin.1).max().unwrap_or(first.1);
                (first_source(origins).unwrap_or(*first).0, end)
            }
            _ => {
                let at = match range.start.checked_sub(1).and_then(|i| self.origin.get(i)) {
                    Some(before) => before.1,
                    None => self.anchor,
                };
                (at, at)
            }
        }
    }

    /// Whether the first byte that was not inserted came from the start of the original.
    #[must_use]
    pub fn starts_original(&self) -> bool {
        first_source(&self.origin).or(self.origin.first().copied()).is_some_and(|from| from.0 == 0)
    }

    /// The part of the text in `range`.
    #[must_use]
    pub fn slice(&self, range: Range<usize>) -> Self {
        Self {
            text: self.text[range.clone()].to_owned(),
            origin: self.origin[range.clone()].to_vec(),
            anchor: self.span(range.start..range.start).0,
        }
    }

    /// Rewrites the text, keeping track of where everything came from.
    pub fn apply(&mut self, edits: &Edits) {
        if edits.is_empty() {
            return;
        }
        let mut origin = Vec::with_capacity(self.origin.len());
        let mut copied = 0;
        for (start, end, new) in edits.iter() {
            origin.extend_from_slice(&self.origin[copied..start]);
            let span = self.span(start..end);
            origin.extend(std::iter::repeat_n(span, new.len()));
            copied = end;
        }
        origin.extend_from_slice(&self.origin[copied..]);
        self.text = edits.apply(&self.text);
        self.origin = origin;
    }
}

/// Where the first byte that was not inserted came from.
fn first_source(origins: &[(u32, u32)]) -> Option<(u32, u32)> {
    origins.iter().copied().find(|(from, to)| from < to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_through_edits() {
        let mut text = AlignedText::new("aébc", 10);
        let mut edits = Edits::default();
        edits.replace(0, 0, "▁");
        edits.replace(1, 3, "e");
        edits.replace(4, 5, "");
        text.apply(&edits);
        assert_eq!(text.text(), "▁aeb");
        assert_eq!(text.span(0..3), (10, 10));
        assert_eq!(text.span(0..4), (10, 11));
        assert_eq!(text.span(4..5), (11, 13));
        assert_eq!(text.span(5..6), (13, 14));
        assert_eq!(text.slice(4..6).span(0..2), (11, 14));
    }
}
