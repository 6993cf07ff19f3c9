//! Cutting a text at the matches of a pattern.
//!
//! Matches and the gaps between them tile the text; the behaviour says which of them are pieces
//! and which are joined. A joined piece is known once the span after it is, so cutting is a stream:
//! no list of matches is made. Linear in the text for every pattern that needs no backtracking.

use super::pieces::AtSeams;
use crate::error::Result;
use crate::pattern::Matcher;
use crate::spec::{self, Semantics, SplitBehavior};

/// The pattern that GPT-2's byte-level pre-tokenizer cuts with.
pub const GPT2_PATTERN: &str =
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";

/// Cuts texts; see the [module](self).
#[derive(Debug)]
pub struct Splitter {
    cut: Cut,
    behavior: SplitBehavior,
    invert: bool,
}

#[derive(Debug)]
enum Cut {
    At(Matcher),
    AtDigits,
}

impl Splitter {
    /// Compiles a split.
    ///
    /// # Errors
    /// As [`Matcher::compile`].
    pub fn compile(split: &spec::Split) -> Result<Self> {
        let matcher = Matcher::of(&split.pattern, split.semantics)?;
        let (behavior, invert) = match split.keeps_only_matches() {
            true => (SplitBehavior::Removed, true),
            false => (split.behavior, split.invert),
        };
        Ok(Splitter { cut: Cut::At(matcher), behavior, invert })
    }

    /// GPT-2's cut.
    ///
    /// # Errors
    /// Never, in fact.
    pub fn gpt2() -> Result<Self> {
        let matcher = Matcher::compile(GPT2_PATTERN, Semantics::HuggingFace)?;
        Ok(Splitter { cut: Cut::At(matcher), behavior: SplitBehavior::Isolated, invert: false })
    }

    /// Cuts numeric characters out, one by one or run by run.
    #[must_use]
    pub fn digits(digits: spec::Digits) -> Self {
        let behavior = match digits.individual_digits {
            true => SplitBehavior::Isolated,
            false => SplitBehavior::Contiguous,
        };
        Splitter { cut: Cut::AtDigits, behavior, invert: false }
    }

    /// Which engine finds the matches: see [`Matcher::engine`], or `"digits"`.
    #[must_use]
    pub fn engine(&self) -> &'static str {
        match &self.cut {
            Cut::At(matcher) => matcher.engine(),
            Cut::AtDigits => "digits",
        }
    }

    /// Whether it drops what it cuts out.
    pub(super) fn drops(&self) -> bool {
        self.behavior == SplitBehavior::Removed
    }

    /// What it does at a seam whose blank is `blank`, with one of `before` in front. A letter stands
    /// behind it; `anything` may.
    pub(super) fn at_seams(&self, before: &[char], blank: char, anything: bool) -> AtSeams {
        let Cut::At(matcher) = &self.cut else {
            let digits = before.iter().filter(|c| c.is_numeric()).count();
            return match () {
                () if blank.is_numeric() => AtSeams::Unknown,
                () if digits == 0 => AtSeams::GoesOn,
                () if digits == before.len() => AtSeams::Cuts,
                () => AtSeams::Unknown,
            };
        };
        let ends = match self.behavior {
            SplitBehavior::Isolated | SplitBehavior::Removed => true,
            // Inverted, what is joined are gaps.
            SplitBehavior::MergedWithNext => !self.invert,
            _ => false,
        };
        let drops = self.invert && self.behavior == SplitBehavior::Removed;
        match () {
            () if !matcher.keeps_seams(before, blank) => AtSeams::Unknown,
            // No match takes it, and what is not matched is dropped.
            () if drops && matcher.skips(blank) => AtSeams::Cuts,
            () if ends && matcher.surely_begins(blank) => AtSeams::Cuts,
            () if ends && !anything && matcher.begins_at_seams(blank) => AtSeams::Cuts,
            () => AtSeams::GoesOn,
        }
    }

    /// The pattern whose matches are all pieces, and leave out nothing of any text.
    #[inline]
    pub(super) fn tiling(&self) -> Option<&Matcher> {
        let Cut::At(matcher) = &self.cut else { return None };
        let keeps_matches = match self.behavior {
            SplitBehavior::Isolated => true,
            SplitBehavior::Removed => self.invert,
            _ => false,
        };
        (keeps_matches && matcher.covers()).then_some(matcher)
    }

    /// Whether it cuts only beside one character, or digits, which neither of these is.
    pub(super) fn looks_for_neither(&self, before: char, blank: char) -> bool {
        let mut bytes = [0; 4];
        match &self.cut {
            Cut::At(matcher) => matcher.needle().is_some_and(|needle| {
                let one = str::from_utf8(needle).is_ok_and(|text| text.chars().count() == 1);
                one && [before, blank]
                    .iter()
                    .all(|c| c.encode_utf8(&mut bytes).as_bytes() != needle)
            }),
            Cut::AtDigits => !before.is_numeric() && !blank.is_numeric(),
        }
    }

    /// Whether it looks for one ASCII character, so that all letters beyond ASCII are the same to it.
    pub(super) fn looks_for_ascii(&self) -> bool {
        match &self.cut {
            Cut::At(matcher) => {
                matcher.needle().is_some_and(|needle| needle.len() == 1 && needle.is_ascii())
            }
            Cut::AtDigits => false,
        }
    }

    /// Appends the start and end of each piece.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Limit`] if the search reaches its bound.
    pub fn split(&self, text: &str, out: &mut Vec<(usize, usize)>) -> Result<()> {
        self.for_each_piece(text, |start, end| {
            out.push((start, end));
            Ok(())
        })
    }

    /// Calls `report` with the start and end of each piece, in order. No piece is empty.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Limit`] if the search reaches its bound, and what `report` returns.
    #[inline]
    pub fn for_each_piece(
        &self,
        text: &str,
        mut report: impl FnMut(usize, usize) -> Result<()>,
    ) -> Result<()> {
        let mut report = |start, end| if start < end { report(start, end) } else { Ok(()) };
        match self.behavior {
            SplitBehavior::Isolated => self.for_each_span(text, |start, end, _| report(start, end)),
            SplitBehavior::Removed => {
                self.for_each_span(
                    text,
                    |start, end, is_match| {
                        if is_match { Ok(()) } else { report(start, end) }
                    },
                )
            }
            behavior => {
                let mut last: Option<(usize, usize, bool)> = None;
                self.for_each_span(text, |start, end, is_match| {
                    let joined = match (last, behavior) {
                        (None, _) => None,
                        (Some((first, _, was_match)), SplitBehavior::Contiguous) => {
                            (was_match == is_match).then_some(first)
                        }
                        (Some((first, _, was_match)), SplitBehavior::MergedWithPrevious) => {
                            (is_match && !was_match).then_some(first)
                        }
                        (Some((first, _, was_match)), _) => {
                            (was_match && !is_match).then_some(first)
                        }
                    };
                    match (joined, last) {
                        (Some(first), _) => last = Some((first, end, is_match)),
                        (None, previous) => {
                            last = Some((start, end, is_match));
                            if let Some((start, end, _)) = previous {
                                report(start, end)?;
                            }
                        }
                    }
                    Ok(())
                })?;
                last.map_or(Ok(()), |(start, end, _)| report(start, end))
            }
        }
    }

    /// Calls `report` with each match and each gap, and whether it is a match (or a gap, if
    /// inverted). Matches may be empty.
    #[inline]
    fn for_each_span(
        &self,
        text: &str,
        mut report: impl FnMut(usize, usize, bool) -> Result<()>,
    ) -> Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        let mut done = 0;
        match &self.cut {
            Cut::At(matcher) => {
                let mut matches = matcher.matches(text);
                while let Some((start, end)) = matches.next_match()? {
                    if done < start {
                        report(done, start, self.invert)?;
                    }
                    report(start, end, !self.invert)?;
                    done = end;
                }
            }
            Cut::AtDigits => {
                for (start, c) in text.char_indices().filter(|(_, c)| c.is_numeric()) {
                    if done < start {
                        report(done, start, false)?;
                    }
                    done = start + c.len_utf8();
                    report(start, done, true)?;
                }
            }
        }
        if done < text.len() { report(done, text.len(), self.invert) } else { Ok(()) }
    }
}
