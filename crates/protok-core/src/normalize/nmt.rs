//! The cleaning that SentencePiece's `nmt_*` rules add to their Unicode form.

use crate::text::edits::Edits;

/// Drops control characters and turns odd white space into blanks.
pub(super) fn clean(text: &str, edits: &mut Edits) {
    for (start, c) in text.char_indices() {
        if matches!(c, ' '..='~') {
            continue;
        }
        let new = match c {
            '\u{1}'..='\u{8}' | '\u{b}' | '\u{e}'..='\u{1f}' | '\u{7f}' | '\u{8f}' | '\u{9f}' => "",
            '\t'
            | '\n'
            | '\u{c}'
            | '\r'
            | '\u{1680}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'
            | '\u{2029}'
            | '\u{2581}'
            | '\u{feff}'
            | '\u{fffd}' => " ",
            _ => continue,
        };
        edits.replace(start, start + c.len_utf8(), new);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_and_blanks() {
        let mut edits = Edits::default();
        let text = "a\u{0}\u{1}\u{b}\u{9f}\t▁\u{200b}\u{85}b";
        clean(text, &mut edits);
        assert_eq!(edits.apply(text), "a\u{0}   \u{85}b");
    }
}
