//! Stop strings in a text that comes piece by piece.
//!
//! The stop is the string that is complete first; of those that are complete at the same
//! character, the longest; of equal ones, the first of the list. Held back is the longest end of
//! the text that begins a stop string, and nothing besides.

use std::sync::Arc;

use super::automaton::{Automaton, ROOT};
use crate::decode::Held;
use crate::error::Result;

/// What ends a text.
#[derive(Debug, Clone)]
pub struct Stops {
    automaton: Automaton,
    after: Option<Automaton>,
    include: bool,
}

impl Stops {
    /// Looks for `strings`, once the text `after` was there, if there is one. The stop string
    /// belongs to the text if `include`.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Input`] for an empty string.
    pub fn new(strings: &[String], after: Option<&str>, include: bool) -> Result<Self> {
        let after = after.map(|text| Automaton::new(&[text.to_owned()])).transpose();
        Ok(Self {
            automaton: Automaton::new(strings)?,
            after: after.map_err(|error| crate::Error {
                what: "The text to begin looking after is empty.".to_owned(),
                location: Some("after".to_owned()),
                ..error
            })?,
            include,
        })
    }

    /// The stop strings.
    #[must_use]
    pub fn strings(&self) -> &[String] {
        self.automaton.strings()
    }

    /// Whether the text of a stop is part of the text.
    #[must_use]
    pub fn includes(&self) -> bool {
        self.include
    }

    /// The first stop string in a text that is no part of what is decoded.
    #[must_use]
    pub fn find(&self, text: &str) -> Option<usize> {
        self.automaton.read(ROOT, text.as_bytes()).2
    }
}

/// A stop string that was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// Its place in the list.
    pub index: usize,
    /// Where it starts, in characters of the text.
    pub start: u64,
    /// Where it ends.
    pub end: u64,
}

/// A text in which stop strings are looked for.
#[derive(Debug, Clone)]
pub struct Matcher {
    stops: Arc<Stops>,
    state: u32,
    /// Whether the text to look after is still to come.
    dormant: bool,
    held: Held,
    /// How many characters were let go.
    released: u64,
    found: Option<Found>,
    /// The token of the first byte that is not part of the text.
    cut: Option<u64>,
}

impl Matcher {
    /// The start of a text.
    #[must_use]
    pub fn new(stops: Arc<Stops>) -> Self {
        let dormant = stops.after.is_some();
        Self {
            stops,
            state: ROOT,
            dormant,
            held: Held::default(),
            released: 0,
            found: None,
            cut: None,
        }
    }

    /// The stops that are looked for.
    #[must_use]
    pub fn stops(&self) -> &Stops {
        &self.stops
    }

    /// The stop that was found.
    #[must_use]
    pub fn found(&self) -> Option<Found> {
        self.found
    }

    /// How many characters were let go.
    #[must_use]
    pub fn released(&self) -> u64 {
        self.released
    }

    /// The token of the first byte that is held back or cut off.
    #[must_use]
    pub fn oldest(&self) -> Option<u64> {
        self.cut.or_else(|| self.held.oldest())
    }

    /// What is held back.
    #[must_use]
    pub fn held(&self) -> &[u8] {
        self.held.bytes()
    }

    /// Reads whole characters of the token `origin`, and appends to `out` what is certain. What
    /// comes after a stop is dropped.
    pub fn push(&mut self, bytes: &[u8], origin: u64, out: &mut Vec<u8>) {
        if self.found.is_some() {
            if !bytes.is_empty() {
                self.cut.get_or_insert(origin);
            }
            return;
        }
        let mut bytes = bytes;
        if self.dormant {
            let Some(after) = &self.stops.after else { return };
            let (state, read, found) = after.read(self.state, bytes);
            self.state = state;
            self.released += characters(&bytes[..read]);
            out.extend_from_slice(&bytes[..read]);
            bytes = &bytes[read..];
            if found.is_none() {
                return;
            }
            self.dormant = false;
            self.state = ROOT;
        }
        if self.stops.automaton.strings().is_empty() {
            self.released += characters(bytes);
            out.extend_from_slice(bytes);
            return;
        }
        let (state, read, found) = self.stops.automaton.read(self.state, bytes);
        self.state = state;
        let depth = self.stops.automaton.depth(state);
        let Some(index) = found else {
            if depth == 0 && self.held.is_empty() {
                self.released += characters(bytes);
                out.extend_from_slice(bytes);
                return;
            }
            self.held.push(bytes, origin);
            self.release(self.held.bytes().len() - depth, out);
            return;
        };
        self.held.push(&bytes[..read], origin);
        let length = self.stops.strings()[index].len();
        let start = self.held.bytes().len() - length;
        self.release(start, out);
        let start = self.released;
        let end = start + characters(self.held.bytes());
        self.found = Some(Found { index, start, end });
        if self.stops.include {
            self.release(length, out);
            self.cut = (read < bytes.len()).then_some(origin);
        } else {
            self.cut = self.held.oldest();
            self.held.clear();
        }
    }

    /// Nothing more comes: what is held back is let go.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        self.release(self.held.bytes().len(), out);
        self.state = ROOT;
    }

    fn release(&mut self, count: usize, out: &mut Vec<u8>) {
        self.released += characters(&self.held.bytes()[..count]);
        self.held.release(count, |bytes, _| out.extend_from_slice(bytes));
    }
}

/// The number of characters.
fn characters(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|&&byte| byte & 0xc0 != 0x80).count() as u64
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn matcher(strings: &[&str], after: Option<&str>, include: bool) -> Matcher {
        let strings: Vec<String> = strings.iter().map(ToString::to_string).collect();
        Matcher::new(Arc::new(Stops::new(&strings, after, include).unwrap()))
    }

    fn run(matcher: &mut Matcher, chunks: &[&str]) -> Vec<String> {
        let mut deltas: Vec<String> = (0u64..)
            .zip(chunks)
            .map(|(origin, chunk)| {
                let mut out = Vec::new();
                matcher.push(chunk.as_bytes(), origin, &mut out);
                String::from_utf8(out).unwrap()
            })
            .collect();
        let mut out = Vec::new();
        matcher.finish(&mut out);
        deltas.push(String::from_utf8(out).unwrap());
        deltas
    }

    #[test]
    fn nothing_more_than_a_beginning_is_held_back() {
        let mut stop = matcher(&["<|sep|>"], None, false);
        let deltas = run(&mut stop, &["hello world", "!", "<|se", "x", "<|"]);
        assert_eq!(deltas, ["hello world", "!", "", "<|sex", "", "<|"]);
        assert_eq!(stop.found(), None);
    }

    #[test]
    fn the_first_complete_one_wins_and_then_the_longest() {
        let mut stop = matcher(&["abcd", "bc", "xbc"], None, false);
        assert_eq!(run(&mut stop, &["aab", "cd"]).concat(), "aa");
        assert_eq!(stop.found(), Some(Found { index: 1, start: 2, end: 4 }));
        let mut stop = matcher(&["bc", "xbc", "xbc"], None, true);
        assert_eq!(run(&mut stop, &["äx", "bcy"]).concat(), "äxbc");
        assert_eq!(stop.found(), Some(Found { index: 1, start: 1, end: 4 }));
        assert_eq!(stop.oldest(), Some(1));
    }

    #[test]
    fn looking_begins_after_a_text() {
        let mut stop = matcher(&["\n\n", "k>"], Some("</think>"), false);
        let deltas = run(&mut stop, &["a\n\n", "b</thi", "nk>", "c\n", "\nd"]);
        assert_eq!(deltas, ["a\n\n", "b</thi", "nk>", "c", "", ""]);
        assert!(Stops::new(&[String::new()], None, false).is_err());
        assert!(Stops::new(&[], Some(""), false).is_err());
    }

    /// The stop by its definition: each end in turn, the longest string there.
    fn by_definition(text: &str, strings: &[String]) -> Option<(usize, usize)> {
        (1..=text.len()).find_map(|end| {
            strings
                .iter()
                .enumerate()
                .filter(|(_, string)| text.as_bytes()[..end].ends_with(string.as_bytes()))
                .max_by_key(|(index, string)| (string.len(), std::cmp::Reverse(*index)))
                .map(|(index, _)| (index, end))
        })
    }

    proptest! {
        #[test]
        fn every_chunking_stops_at_the_same_place(
            text in "[abé]{0,24}",
            strings in proptest::collection::vec("[abé]{1,4}", 0..4),
            sizes in proptest::collection::vec(1usize..5, 24),
            include: bool,
        ) {
            let stops = Arc::new(Stops::new(&strings, None, include).unwrap());
            let mut stop = Matcher::new(stops);
            let (mut out, mut seen) = (Vec::new(), String::new());
            let mut chars = text.chars();
            for size in sizes {
                let chunk: String = chars.by_ref().take(size).collect();
                seen.push_str(&chunk);
                stop.push(chunk.as_bytes(), 0, &mut out);
                if stop.found().is_none() {
                    // What is held back begins a string, and nothing longer does.
                    let held = seen.len() - out.len();
                    let begins = |at: usize| {
                        strings.iter().any(|s| s.as_bytes().starts_with(&seen.as_bytes()[at..]))
                    };
                    let longest = (0..=seen.len()).find(|&at| at == seen.len() || begins(at));
                    prop_assert_eq!(Some(seen.len() - held), longest);
                }
            }
            stop.finish(&mut out);
            let expected = match by_definition(&text, &strings) {
                Some((index, end)) => {
                    let start = end - strings[index].len();
                    prop_assert_eq!(stop.found().map(|found| found.index), Some(index));
                    &text[..if include { end } else { start }]
                }
                None => &text[..],
            };
            prop_assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }
}
