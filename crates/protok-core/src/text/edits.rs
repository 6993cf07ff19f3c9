//! A rewriting of a text as a list of replacements, in order.

/// Replacements of disjoint ranges of a text, from left to right.
///
/// A normalizer says what it changes as `Edits`. The fast path applies them to the text; the
/// reference path also carries along where each byte came from. What no edit covers is copied.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Edits {
    items: Vec<Edit>,
    arena: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Edit {
    start: usize,
    end: usize,
    text_end: usize,
}

impl Edits {
    /// Forgets all edits, keeping the memory.
    pub fn clear(&mut self) {
        self.items.clear();
        self.arena.clear();
    }

    /// Whether nothing changes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Replaces bytes `start..end` of the text by `text`. Must not lie before earlier edits.
    pub fn replace(&mut self, start: usize, end: usize, text: &str) {
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
