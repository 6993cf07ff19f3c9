//! The fast path's alignment: which stretches of a text were rewritten, and from what.
//!
//! Between runs the text is a copy of the original, byte for byte; a run is a stretch that
//! replaced a stretch of the original. It says the same as [`AlignedText`](super::aligned)
//! in memory proportional to what was changed.

use std::ops::Range;

use super::edits::Edits;

/// A stretch of the text and the stretch of the original that it replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// First byte in the text.
    pub start: usize,
    /// Past the last byte in the text.
    pub end: usize,
    /// First byte in the original.
    pub from: usize,
    /// Past the last byte in the original.
    pub to: usize,
}

/// See the [module](self).
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Alignment {
    runs: Vec<Run>,
}

impl Alignment {
    /// The runs, in order.
    #[must_use]
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// Whether the text is the original.
    #[must_use]
    pub fn is_identity(&self) -> bool {
        self.runs.is_empty()
    }

    /// Forgets the runs.
    pub fn clear(&mut self) {
        self.runs.clear();
    }

    /// Appends the runs of a text that follows, whose first byte is `start` and came from `from`.
    pub fn extend(&mut self, runs: impl Iterator<Item = Run>, start: usize, from: usize) {
        self.runs.extend(runs.map(|run| Run {
            start: run.start + start,
            end: run.end + start,
            from: run.from + from,
            to: run.to + from,
        }));
    }

    /// How far positions after the last run before `at` are shifted: original minus text. Also
    /// the index of the first run that ends after `at`.
    fn locate(&self, at: usize) -> (usize, isize) {
        let next = self.runs.partition_point(|run| run.end <= at);
        let shift = match next.checked_sub(1) {
            Some(before) => self.runs[before].to as isize - self.runs[before].end as isize,
            None => 0,
        };
        (next, shift)
    }

    /// The stretch of the original that the byte at `at` came from.
    fn origin(&self, at: usize) -> (usize, usize) {
        let (next, shift) = self.locate(at);
        match self.runs.get(next) {
            Some(run) if run.start <= at => (run.from, run.to),
            _ => {
                let from = at.wrapping_add_signed(shift);
                (from, from + 1)
            }
        }
    }

    /// Where in the original a position between two bytes of the text stands: after whatever
    /// the byte before it came from.
    fn boundary(&self, at: usize) -> usize {
        match at.checked_sub(1) {
            Some(before) => self.origin(before).1,
            None => 0,
        }
    }

    /// The stretch of the original that bytes `range` of the text came from. Inserted bytes add
    /// nothing to it. An empty range, and one that was inserted, has an empty span.
    #[must_use]
    pub fn span(&self, range: Range<usize>) -> (usize, usize) {
        if range.is_empty() {
            let at = self.boundary(range.start);
            return (at, at);
        }
        let start = self.origin(self.first_source(range.clone()).unwrap_or(range.start)).0;
        (start, self.origin(range.end - 1).1.max(start))
    }

    /// The first byte of `range` that was not inserted.
    fn first_source(&self, range: Range<usize>) -> Option<usize> {
        let mut at = range.start;
        let next = self.runs.partition_point(|run| run.end <= at);
        for run in &self.runs[next..] {
            let source = run.from < run.to && run.start < run.end;
            if run.start > at || source || at >= range.end {
                break;
            }
            at = run.end;
        }
        (at < range.end).then_some(at)
    }

    /// How many bytes at the start of `range` of `text` came from the start of the original, or
    /// were inserted before what did.
    #[must_use]
    pub fn head(&self, text: &str, range: Range<usize>) -> usize {
        let first = self.first_source(range.clone()).unwrap_or(range.start);
        if range.is_empty() || self.origin(first).0 != 0 {
            return 0;
        }
        let part = &text[range.clone()];
        part.char_indices()
            .find(|&(at, _)| self.origin(range.start + at).0 != 0)
            .map_or(part.len(), |(at, _)| at)
    }

    /// The stretch of the text that came from bytes `range` of the original: the least that
    /// holds all that any of these bytes went into. An empty range, and one that was deleted,
    /// has an empty stretch.
    #[must_use]
    pub fn image(&self, range: Range<usize>) -> (usize, usize) {
        let place =
            |at: usize, end: bool| {
                // The last run that starts before `at` in the original, or touches it from there.
                let next = self.runs.partition_point(|run| run.to <= at && !(end && run.to == at));
                let shift = match next.checked_sub(1) {
                    Some(before) => self.runs[before].end as isize - self.runs[before].to as isize,
                    None => 0,
                };
                match self.runs.get(next) {
                    Some(run) if run.from < at || (!end && run.from <= at && run.to > at) => {
                        if end { run.end } else { run.start }
                    }
                    _ => at.wrapping_add_signed(shift),
                }
            };
        let start = place(range.start, false);
        if range.is_empty() {
            return (start, start);
        }
        (start, place(range.end, true).max(start))
    }

    /// The alignment after the text was rewritten.
    #[must_use]
    pub fn rewritten(&self, edits: &Edits) -> Self {
        let mut runs = Vec::with_capacity(self.runs.len() + 4);
        let mut old = self.runs.iter().copied().peekable();
        let mut shift = 0isize;
        for (start, end, new) in edits.iter() {
            // What was deleted right before the edit stays before it, but an insertion stands
            // before what was deleted at its place.
            copy_runs(&mut old, &mut runs, start, start < end, shift);
            let (from, to) = self.span(start..end);
            // What is left of a run that reaches into the edit, and runs within it, are gone.
            while let Some(run) = old.peek_mut() {
                if run.start >= end {
                    break;
                } else if run.end <= end {
                    old.next();
                } else {
                    run.start = run.start.max(end);
                    break;
                }
            }
            let at = start.wrapping_add_signed(shift);
            runs.push(Run { start: at, end: at + new.len(), from, to });
            shift += new.len() as isize - (end - start) as isize;
        }
        copy_runs(&mut old, &mut runs, usize::MAX, false, shift);
        Self { runs }
    }
}

/// Copies the runs, or parts of runs, that lie before `limit`, shifted; with `deletions`, also
/// the empty ones at `limit`.
fn copy_runs(
    old: &mut std::iter::Peekable<impl Iterator<Item = Run>>,
    runs: &mut Vec<Run>,
    limit: usize,
    deletions: bool,
    shift: isize,
) {
    while let Some(run) = old.peek_mut() {
        if run.start >= limit && !(deletions && run.end == limit) {
            return;
        }
        let end = run.end.min(limit);
        runs.push(Run {
            start: run.start.wrapping_add_signed(shift),
            end: end.wrapping_add_signed(shift),
            ..*run
        });
        if run.end > limit {
            run.start = limit;
            return;
        }
        old.next();
    }
}

#[cfg(test)]
mod tests {
    use super::super::aligned::AlignedText;
    use super::*;
    use proptest::prelude::*;

    /// Random edits of a text: cuts into pieces, some of them replaced.
    fn edits_for(text: &str, choices: &[(u8, String)]) -> Edits {
        let mut edits = Edits::default();
        let mut at = 0;
        for (step, new) in choices {
            at += usize::from(step >> 3) % 3;
            let end = at + usize::from(step & 3);
            if end > text.len() {
                break;
            }
            if step & 4 != 0 || end > at || !new.is_empty() {
                edits.replace(at, end, new);
            }
            at = end + usize::from(end == at);
        }
        edits
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn says_what_aligned_text_says(
            text in "[a-z]{0,12}",
            rounds in prop::collection::vec(
                prop::collection::vec((any::<u8>(), "[A-Z]{0,3}"), 0..6), 0..4
            ),
        ) {
            let mut aligned = AlignedText::new(&text, 0);
            let mut alignment = Alignment::default();
            for round in &rounds {
                let edits = edits_for(aligned.text(), round);
                alignment = alignment.rewritten(&edits);
                aligned.apply(&edits);
            }
            let length = aligned.text().len();
            for start in 0..=length {
                for end in start..=length {
                    let (from, to) = aligned.span(start..end);
                    prop_assert_eq!(
                        alignment.span(start..end), (from as usize, to as usize),
                        "{}..{} of {:?}: {:?}", start, end, aligned.text(), alignment
                    );
                }
            }
        }
    }

    #[test]
    fn images() {
        // "aXYc" from "abc": b became XY.
        let mut edits = Edits::default();
        edits.replace(1, 2, "XY");
        let alignment = Alignment::default().rewritten(&edits);
        assert_eq!(alignment.image(0..1), (0, 1));
        assert_eq!(alignment.image(1..2), (1, 3));
        assert_eq!(alignment.image(0..2), (0, 3));
        assert_eq!(alignment.image(2..3), (3, 4));
        // "ac": b was deleted.
        let mut edits = Edits::default();
        edits.replace(1, 2, "");
        let alignment = Alignment::default().rewritten(&edits);
        assert_eq!(alignment.image(1..2), (1, 1));
        assert_eq!(alignment.image(0..3), (0, 2));
        assert_eq!(alignment.image(2..3), (1, 2));
    }
}
