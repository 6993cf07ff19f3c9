//! The steps that rewrite the text of a piece, and where the bytes of a piece come from.

use crate::spec::{self, PrependScheme};
use crate::text::aligned::AlignedText;
use crate::text::alignment::Alignment;
use crate::text::alphabet;
use crate::text::edits::Edits;

/// Where the bytes of a piece come from, in the section that was cut.
#[derive(Debug, Clone, Copy)]
pub enum Place<'a> {
    /// The piece is a slice of the section.
    Slice {
        /// Where the slice starts in the section.
        start: usize,
        /// How many bytes were put before the slice.
        inserted: usize,
    },
    /// The piece is a slice of a text that a stretch of the section was rewritten to.
    Rewritten {
        /// From the rewritten text to the stretch.
        alignment: &'a Alignment,
        /// Where the piece starts in the rewritten text.
        at: usize,
        /// Where the stretch starts in the section.
        start: usize,
    },
    /// The piece was rewritten more than once.
    Aligned(&'a AlignedText),
}

impl Place<'_> {
    /// The bytes of the section that bytes `start..end` of the piece came from. Inserted bytes
    /// have an empty span.
    #[must_use]
    pub fn span(&self, start: usize, end: usize) -> (usize, usize) {
        match *self {
            Place::Slice { start: from, inserted } => {
                (from + start.saturating_sub(inserted), from + end.saturating_sub(inserted))
            }
            Place::Rewritten { alignment, at, start: from } => {
                let span = alignment.span(at + start..at + end);
                (from + span.0, from + span.1)
            }
            Place::Aligned(text) => {
                let span = text.span(start..end);
                (span.0 as usize, span.1 as usize)
            }
        }
    }

    /// The place of the part of the piece that starts at byte `by`.
    pub(super) fn advanced(self, by: usize) -> Self {
        match self {
            Place::Slice { start, inserted } => Place::Slice {
                start: start + by.saturating_sub(inserted),
                inserted: inserted.saturating_sub(by),
            },
            Place::Rewritten { alignment, at, start } => {
                Place::Rewritten { alignment, at: at + by, start }
            }
            Place::Aligned(_) => self,
        }
    }

    /// Where the piece starts in the section.
    pub(super) fn start(self) -> usize {
        self.span(0, 0).0
    }
}

/// SentencePiece's word mark: blanks become marks, a mark is put in front, pieces start at marks.
#[derive(Debug)]
pub(super) struct Mark {
    mark: String,
    /// Finds it.
    finder: Box<memchr::memmem::Finder<'static>>,
    scheme: PrependScheme,
    split: bool,
}

impl Mark {
    pub(super) fn compile(spec: spec::Metaspace) -> Self {
        let mark = spec.replacement.to_string();
        let finder = Box::new(memchr::memmem::Finder::new(&mark).into_owned());
        Self { mark, finder, scheme: spec.prepend_scheme, split: spec.split }
    }

    /// The mark.
    pub(super) fn mark(&self) -> char {
        self.mark.chars().next().unwrap_or(' ')
    }

    /// Whether pieces start at marks.
    pub(super) fn splits(&self) -> bool {
        self.split
    }

    /// Whether it matters where a piece comes from.
    pub(super) fn asks_for_start(&self) -> bool {
        self.scheme == PrependScheme::First
    }

    /// What is put before `text`, which comes from the start of the original (`first`), or goes on
    /// after bytes that are no text.
    pub(super) fn before(&self, text: &str, first: bool, goes_on: bool) -> &str {
        // A blank at the start will be a mark.
        let marked = text.starts_with(&self.mark) || text.starts_with(' ');
        let puts = !marked
            && !text.is_empty()
            && !goes_on
            && match self.scheme {
                PrependScheme::Always => true,
                PrependScheme::First => first,
                PrependScheme::Never => false,
            };
        if puts { &self.mark } else { "" }
    }

    /// What changes, with `before` put first.
    pub(super) fn edits(&self, text: &str, before: &str, edits: &mut Edits) {
        if !before.is_empty() {
            edits.replace(0, 0, before);
        }
        for at in memchr::memchr_iter(b' ', text.as_bytes()) {
            edits.replace(at, at + 1, &self.mark);
        }
    }

    /// Appends the text after the changes to `out`.
    pub(super) fn rewrite(&self, text: &str, before: &str, out: &mut String) {
        out.push_str(before);
        let mut copied = 0;
        for at in memchr::memchr_iter(b' ', text.as_bytes()) {
            out.push_str(&text[copied..at]);
            out.push_str(&self.mark);
            copied = at + 1;
        }
        out.push_str(&text[copied..]);
    }

    /// Calls `report` with each piece of a rewritten text.
    pub(super) fn for_each_piece<E>(
        &self,
        text: &str,
        mut report: impl FnMut(usize, usize) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut start = 0;
        if self.split {
            for at in self.finder.find_iter(text.as_bytes()) {
                if at > start {
                    report(start, at)?;
                    start = at;
                }
            }
        }
        if start < text.len() { report(start, text.len()) } else { Ok(()) }
    }
}

/// How many bytes at the start of a text come from the start of the original after `edits`, of
/// which `head` did before.
pub(super) fn head_after(head: usize, edits: &Edits) -> usize {
    if head == 0 {
        return 0;
    }
    edits
        .iter()
        .take_while(|&(start, _, _)| start < head)
        .fold(head, |head, (start, end, new)| head + new.len() - (end - start))
}

/// How many bytes spell the first `length` bytes of a text in the byte alphabet.
pub(super) fn spelled_length(text: &str, length: usize) -> usize {
    text.as_bytes()[..length]
        .iter()
        .map(|&byte| alphabet::BYTE_TO_CHAR[usize::from(byte)].len_utf8())
        .sum()
}
