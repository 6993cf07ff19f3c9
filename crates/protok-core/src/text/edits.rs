//! A rewriting of a text as a list of replacements, in order.
//!
//! Artifacts are untrusted: sixty steps that each double a text would fill any memory. So a text
//! may grow to so many times its length and no further, see [`most_bytes`].

use crate::error::{Error, Result};

/// How many times longer a text may become, and the bytes that a short one may gain besides.
const MOST_TIMES: usize = 64;
const MOST_BESIDES: usize = 1 << 16;

/// The most bytes that rewriting makes of a text of so many bytes.
#[must_use]
pub fn most_bytes(original: usize) -> usize {
    original.saturating_mul(MOST_TIMES).saturating_add(MOST_BESIDES)
}

/// Refuses what became longer than [`most_bytes`] of the original allows.
///
/// # Errors
/// [`crate::ErrorKind::Limit`].
pub fn check_growth(original: usize, grown: usize) -> Result<()> {
    if grown <= most_bytes(original) {
        return Ok(());
    }
    Err(Error::limit(format!(
        "A text of {original} bytes becomes longer than {} bytes.",
        most_bytes(original)
    ))
    .hint("The tokenizer's rules for replacing text make it grow without measure."))
}

/// Replacements of disjoint ranges of a text, from left to right.
///
/// A normalizer says what it changes as `Edits`. The fast path applies them to the text; the
/// reference path also carries along where each byte came from. What no edit covers is copied.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Edits {
    items: Vec<Edit>,
    arena: String,
    /// The most bytes of new text, and whether they were exceeded.
    most: Option<usize>,
    exceeded: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Edit {
    start: usize,
    end: usize,
    text_end: usize,
}

impl Edits {
    /// No edits yet, and room for what a text of so many bytes may become.
    #[must_use]
    pub fn bounded(original: usize) -> Self {
        Self { most: Some(most_bytes(original)), ..Self::default() }
    }

    /// Forgets all edits, keeping the memory.
    pub fn clear(&mut self) {
        self.items.clear();
        self.arena.clear();
        self.exceeded = false;
    }

    /// Whether there is no room for so many more bytes; then no edit is taken any more.
    pub fn is_full(&mut self, more: usize) -> bool {
        self.exceeded |= self.most.is_some_and(|most| self.arena.len().saturating_add(more) > most);
        self.exceeded
    }

    /// Refuses edits that did not find room.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Limit`].
    pub fn check(&self, original: usize) -> Result<()> {
        if self.exceeded { check_growth(original, usize::MAX) } else { Ok(()) }
    }

    /// Whether nothing changes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Replaces bytes `start..end` of the text by `text`. Must not lie before earlier edits.
    pub fn replace(&mut self, start: usize, end: usize, text: &str) {
        if self.is_full(text.len()) {
            return;
        }
        self.arena.push_str(text);
        self.close(start, end);
    }

    /// Replaces bytes `start..end` by a sequence of characters.
    pub fn replace_chars(
        &mut self,
        start: usize,
        end: usize,
        chars: impl IntoIterator<Item = char>,
    ) {
        if self.is_full(0) {
            return;
        }
        self.arena.extend(chars);
        self.close(start, end);
    }

    fn close(&mut self, start: usize, end: usize) {
        debug_assert!(self.items.last().is_none_or(|last| last.end <= start) && start <= end);
        self.items.push(Edit { start, end, text_end: self.arena.len() });
    }

    /// The edits as (start, end, new text).
    pub fn iter(&self) -> impl Iterator<Item = (usize, usize, &str)> + '_ {
        let mut text_start = 0;
        self.items.iter().map(move |edit| {
            let text = &self.arena[text_start..edit.text_end];
            text_start = edit.text_end;
            (edit.start, edit.end, text)
        })
    }

    /// The text after the edits.
    #[must_use]
    pub fn apply(&self, text: &str) -> String {
        let mut result = String::with_capacity(text.len() + self.arena.len());
        let mut copied = 0;
        for (start, end, new) in self.iter() {
            result.push_str(&text[copied..start]);
            result.push_str(new);
            copied = end;
        }
        result.push_str(&text[copied..]);
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_inserts_and_deletes() {
        let mut edits = Edits::default();
        edits.replace(0, 0, "▁");
        edits.replace(1, 2, "");
        edits.replace_chars(3, 4, ['x', 'y']);
        assert_eq!(edits.apply("abcde"), "▁acxye");
    }
}
