//! What an offset counts: bytes of UTF-8, code points, UTF-16 units, or graphemes.
//!
//! Internally every position is a byte of UTF-8, which may lie inside a character where a token
//! ends there. Into other units a position converts exactly, or outwards: starts down, ends up.
//! Graphemes are the extended grapheme clusters of Unicode Standard Annex 29.

use unicode_segmentation::UnicodeSegmentation;

/// See the [module](self).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unit {
    /// Bytes of UTF-8.
    Byte,
    /// Unicode code points, as Python's `str` counts.
    Codepoint,
    /// UTF-16 units, as JavaScript, Java and C# count.
    Utf16,
    /// Extended grapheme clusters: what a reader calls a character.
    Grapheme,
}

impl Unit {
    /// The unit's name in the public surface.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Byte => "byte",
            Self::Codepoint => "codepoint",
            Self::Utf16 => "utf16",
            Self::Grapheme => "grapheme",
        }
    }

    /// The unit with a name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        [Self::Byte, Self::Codepoint, Self::Utf16, Self::Grapheme]
            .into_iter()
            .find(|unit| unit.name() == name)
    }
}

/// Where each unit of a text starts.
#[derive(Debug, Clone)]
pub struct Units {
    unit: Unit,
    /// The byte at which each unit starts, and the length; both halves of a surrogate pair start
    /// where their character does. None where every unit is one byte.
    starts: Option<Vec<usize>>,
    length: usize,
}

impl Units {
    /// Finds the units of a text, in time linear in it.
    #[must_use]
    pub fn of(text: &str, unit: Unit) -> Self {
        let length = text.len();
        // In ASCII only a line end of two characters is not one unit a byte.
        let bytewise = unit == Unit::Byte
            || (text.is_ascii() && (unit != Unit::Grapheme || !text.contains("\r\n")));
        let starts = (!bytewise).then(|| {
            let mut starts: Vec<usize> = match unit {
                Unit::Byte | Unit::Codepoint => text.char_indices().map(|(at, _)| at).collect(),
                Unit::Utf16 => text
                    .char_indices()
                    .flat_map(|(at, c)| std::iter::repeat_n(at, c.len_utf16()))
                    .collect(),
                Unit::Grapheme => text.grapheme_indices(true).map(|(at, _)| at).collect(),
            };
            starts.push(length);
            starts
        });
        Self { unit, starts, length }
    }

    /// The bytes of a text, or of bytes that are none.
    #[must_use]
    pub fn bytes(length: usize) -> Self {
        Self { unit: Unit::Byte, starts: None, length }
    }

    /// The unit.
    #[must_use]
    pub fn unit(&self) -> Unit {
        self.unit
    }

    /// The number of units in the text.
    #[must_use]
    pub fn len(&self) -> usize {
        self.starts.as_ref().map_or(self.length, |starts| starts.len() - 1)
    }

    /// Whether the text is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The byte at which unit `at` starts, and whether that is exact: the second half of a
    /// surrogate pair has no byte of its own. None past the end of the text.
    #[must_use]
    pub fn to_byte(&self, at: usize) -> Option<(usize, bool)> {
        match &self.starts {
            None => (at <= self.length).then_some((at, true)),
            Some(starts) => {
                let byte = *starts.get(at)?;
                let half = at > 0 && starts[at - 1] == byte && byte < self.length;
                Some((byte, !half))
            }
        }
    }

    /// The last unit that starts at or before `byte`, and whether it starts there.
    #[must_use]
    pub fn floor(&self, byte: usize) -> (usize, bool) {
        match &self.starts {
            None => (byte, true),
            Some(starts) => {
                let next = starts.partition_point(|&start| start < byte);
                if starts.get(next) == Some(&byte) {
                    return (next, true);
                }
                // Back to the first unit of the character that holds the byte.
                let start = starts[next.saturating_sub(1)];
                (starts.partition_point(|&other| other < start), false)
            }
        }
    }

    /// The first unit that starts at or after `byte`, and whether it starts there.
    #[must_use]
    pub fn ceil(&self, byte: usize) -> (usize, bool) {
        match &self.starts {
            None => (byte, true),
            Some(starts) => {
                let next = starts.partition_point(|&start| start < byte);
                (next, starts.get(next) == Some(&byte))
            }
        }
    }

    /// A span of bytes in this unit, outwards where it cuts a unit.
    #[must_use]
    pub fn span(&self, (start, end): (usize, usize)) -> (usize, usize) {
        if start == end {
            let (at, _) = self.floor(start);
            return (at, at);
        }
        (self.floor(start).0, self.ceil(end).0)
    }
}

/// Counts the code points or UTF-16 units before positions that rise.
#[derive(Debug, Clone, Copy)]
struct Counter<'t> {
    text: &'t [u8],
    utf16: bool,
    at: usize,
    units: usize,
}

impl Counter<'_> {
    /// How many units the bytes start.
    fn count(&self, bytes: &[u8]) -> usize {
        // A byte below -64 as a signed number goes on with a character; from 0xF0 on it starts one
        // of two UTF-16 units.
        let starts = bytes.iter().filter(|&&byte| byte as i8 >= -64).count();
        match self.utf16 {
            true => starts + bytes.iter().filter(|&&byte| byte >= 0xF0).count(),
            false => starts,
        }
    }

    /// The units that start before byte `to`.
    fn before(&mut self, to: usize) -> usize {
        self.units += self.count(&self.text[self.at..to]);
        self.at = to;
        self.units
    }

    /// The last character that starts at or before byte `to`, by its first unit.
    fn floor(&mut self, to: usize) -> usize {
        let within = |at: usize| self.text.get(at).is_some_and(|&byte| (byte as i8) < -64);
        let start = (0..=to).rev().find(|&at| !within(at)).unwrap_or(0);
        let inside = self.count(&self.text[start..to]);
        self.before(to) - inside
    }
}

/// Spans of bytes in a unit, as [`Units::span`] has them, without a list of all units: one after the
/// other, where their starts rise and their ends do.
#[derive(Debug)]
pub struct Rising<'t> {
    starts: Counter<'t>,
    ends: Counter<'t>,
}

impl<'t> Rising<'t> {
    /// None for graphemes.
    #[must_use]
    pub fn new(text: &'t str, unit: Unit) -> Option<Self> {
        let utf16 = match unit {
            Unit::Codepoint => false,
            Unit::Utf16 => true,
            Unit::Byte | Unit::Grapheme => return None,
        };
        let counter = Counter { text: text.as_bytes(), utf16, at: 0, units: 0 };
        Some(Self { starts: counter, ends: counter })
    }

    /// The next span; None if its start or its end is before that of the last.
    #[inline]
    pub fn span(&mut self, (start, end): (usize, usize)) -> Option<(usize, usize)> {
        if start < self.starts.at || end < self.ends.at {
            return None;
        }
        // Most tokens start where the one before them ended.
        if start == self.ends.at {
            self.starts = self.ends;
        }
        let from = self.starts.floor(start);
        Some((from, if start == end { from } else { self.ends.before(end) }))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_cat_in_every_unit() {
        let text = "a🐈e\u{301}";
        let spans = |unit| {
            let units = Units::of(text, unit);
            [(0, 1), (1, 3), (3, 5), (5, 6), (6, 8)].map(|span| units.span(span))
        };
        assert_eq!(spans(Unit::Byte), [(0, 1), (1, 3), (3, 5), (5, 6), (6, 8)]);
        assert_eq!(spans(Unit::Codepoint), [(0, 1), (1, 2), (1, 2), (2, 3), (3, 4)]);
        assert_eq!(spans(Unit::Utf16), [(0, 1), (1, 3), (1, 3), (3, 4), (4, 5)]);
        assert_eq!(spans(Unit::Grapheme), [(0, 1), (1, 2), (1, 2), (2, 3), (2, 3)]);
        let utf16 = Units::of(text, Unit::Utf16);
        assert_eq!(utf16.to_byte(2), Some((1, false)));
        assert_eq!(utf16.to_byte(5), Some((8, true)));
        assert_eq!(utf16.to_byte(6), None);
        assert_eq!(Units::of("\r\n", Unit::Grapheme).len(), 1);
    }

    proptest! {
        #[test]
        fn rising_spans_are_those_of_the_units(
            text in "(\\PC|🐈|e\u{301}|\r\n|👩\u{200d}👩){0,12}",
            steps in prop::collection::vec((0usize..4, 0usize..6), 0..12),
        ) {
            let length = text.len();
            let mut spans: Vec<(usize, usize)> = Vec::new();
            for (start, size) in steps {
                let (before, last) = spans.last().copied().unwrap_or_default();
                let start = (before + start).min(length);
                spans.push((start, (start + size).max(last).min(length)));
            }
            for unit in [Unit::Codepoint, Unit::Utf16] {
                let units = Units::of(&text, unit);
                let expected: Vec<_> = spans.iter().map(|&span| units.span(span)).collect();
                let mut rising = Rising::new(&text, unit).unwrap();
                let found: Option<Vec<_>> = spans.iter().map(|&span| rising.span(span)).collect();
                prop_assert_eq!(found, Some(expected));
            }
            let falling = [(1, 1), (0, 0)].into_iter().filter(|span| span.1 <= length);
            let mut rising = Rising::new(&text, Unit::Codepoint).unwrap();
            let found: Option<Vec<_>> = falling.map(|span| rising.span(span)).collect();
            prop_assert_eq!(found.is_none(), length > 0);
        }

        #[test]
        fn unit_positions_come_back(text in "(\\PC|🐈|e\u{301}|\r\n|👩\u{200d}👩){0,12}") {
            for unit in [Unit::Byte, Unit::Codepoint, Unit::Utf16, Unit::Grapheme] {
                let units = Units::of(&text, unit);
                for at in 0..=units.len() {
                    let (byte, exact) = units.to_byte(at).unwrap();
                    if exact {
                        prop_assert_eq!(units.floor(byte), (at, true));
                        prop_assert_eq!(units.ceil(byte), (at, true));
                    }
                }
                for byte in 0..=text.len() {
                    let (low, high) = (units.floor(byte).0, units.ceil(byte).0);
                    prop_assert!(units.to_byte(low).unwrap().0 <= byte);
                    prop_assert!(units.to_byte(high).unwrap().0 >= byte);
                }
            }
        }
    }
}
