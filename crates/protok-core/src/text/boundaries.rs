//! Where a text may be cut: at graphemes, words, sentences or lines.
//!
//! Words and sentences are those of Unicode Standard Annex 29. No cut is within a grapheme.

use unicode_segmentation::UnicodeSegmentation;

/// See the [module](self).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Boundary {
    /// Between extended grapheme clusters.
    Grapheme,
    /// Between words. A word takes the blank before it along, as tokens do.
    Word,
    /// After sentences, and the blanks behind them.
    Sentence,
    /// After line feeds.
    Line,
}

impl Boundary {
    /// The boundary with a name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "grapheme" => Self::Grapheme,
            "word" => Self::Word,
            "sentence" => Self::Sentence,
            "line" => Self::Line,
            _ => return None,
        })
    }

    /// The code points before which a text may be cut, and its length: rising, with 0.
    ///
    /// ```
    /// use protok_core::text::boundaries::Boundary;
    ///
    /// assert_eq!(Boundary::Word.of("a cat."), [0, 1, 5, 6]);
    /// assert_eq!(Boundary::Sentence.of("One. Two."), [0, 5, 9]);
    /// assert_eq!(Boundary::Line.of("a\r\nb"), [0, 3, 4]);
    /// ```
    #[must_use]
    pub fn of(self, text: &str) -> Vec<usize> {
        let mut wanted: Box<dyn Iterator<Item = usize> + '_> = match self {
            Self::Grapheme => Box::new(text.grapheme_indices(true).map(|(at, _)| at)),
            Self::Word => Box::new(
                text.split_word_bound_indices().map(|(at, _)| at).filter(|&at| !parts(text, at)),
            ),
            Self::Sentence => Box::new(text.split_sentence_bound_indices().map(|(at, _)| at)),
            Self::Line => {
                let ends = memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1);
                Box::new(std::iter::once(0).chain(ends))
            }
        };
        let mut next = wanted.next();
        let (mut found, mut characters, mut counted) = (Vec::new(), 0, 0);
        for (at, _) in text.grapheme_indices(true) {
            while next.is_some_and(|wanted| wanted < at) {
                next = wanted.next();
            }
            if next == Some(at) {
                characters += text[counted..at].chars().count();
                counted = at;
                found.push(characters);
            }
        }
        if found.is_empty() {
            found.push(0);
        }
        if !text.is_empty() {
            found.push(characters + text[counted..].chars().count());
        }
        found
    }
}

/// Whether a place parts a word from the one blank before it.
fn parts(text: &str, at: usize) -> bool {
    text[..at].ends_with(' ') && text[at..].chars().next().is_some_and(|c| !c.is_whitespace())
}
