//! A search for very many tokens: a sorted list, entered where a filter lets it.
//!
//! An automaton over 100,000 tokens takes longer to build than the rest of a tokenizer. A sorted
//! list is built by sorting. To look for the longest token at a place of the text, the greatest
//! token that does not sort after the text there is found; the longest one that the text starts
//! with is this or one that it starts with itself, which are linked.
//!
//! A place is looked at only if a token starts with its first three bytes, as far as a table of
//! bits can tell. A look-up takes log n comparisons of at most [`LONGEST`] bytes, so the search is
//! linear in the text.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

/// Tokens that are longer go to the automaton.
pub(super) const LONGEST: usize = 64;

/// The search over some tokens.
#[derive(Debug)]
pub(super) struct Dictionary {
    /// All tokens, sorted, one after the other.
    arena: Vec<u8>,
    entries: Vec<Entry>,
    /// Where tokens of each two bytes begin in `entries`, by the two as a big-endian number, and
    /// where the last end. Those of one byte count as if zero followed.
    starts: Vec<u32>,
    filter: Filter,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    start: u32,
    length: u32,
    /// The place of the pattern in the list that it came from.
    pattern: u32,
    /// The longest other token that this one starts with, or [`NONE`].
    prefix: u32,
}

const NONE: u32 = u32::MAX;

/// Which first bytes a token may have.
#[derive(Debug)]
struct Filter {
    /// The first bytes, if they are so few that a vectorized search finds them.
    few: Option<Vec<u8>>,
    /// Whether a token of one byte is this.
    ones: Box<[bool; 256]>,
    /// A bit for each two bytes that are a token.
    twos: Option<Box<[u64; 1024]>>,
    /// A bit for each hash of three bytes that a token starts with.
    threes: Box<[u64; 1024]>,
}

fn bit(table: &[u64; 1024], at: u16) -> bool {
    table[usize::from(at >> 6)] >> (at & 63) & 1 == 1
}

fn set(table: &mut [u64; 1024], at: u16) {
    table[usize::from(at >> 6)] |= 1 << (at & 63);
}

/// Spreads three bytes over 16 bits.
fn hash(first: u8, second: u8, third: u8) -> u16 {
    let key = u32::from_be_bytes([0, first, second, third]);
    (key.wrapping_mul(0x9E37_79B1) >> 16) as u16
}

fn pair(first: u8, second: u8) -> u16 {
    u16::from_be_bytes([first, second])
}

impl Dictionary {
    /// A search over patterns, none of them empty and none longer than [`LONGEST`]. Of two that
    /// are the same the first counts. None if they do not fit the tables.
    pub fn build(patterns: &[(Cow<'_, str>, usize)]) -> Option<Self> {
        let mut order: Vec<u32> = (0..u32::try_from(patterns.len()).ok()?).collect();
        let text = |at: u32| patterns[at as usize].0.as_bytes();
        order.sort_by(|&a, &b| text(a).cmp(text(b)));
        order.dedup_by(|later, earlier| text(*later) == text(*earlier));
        let mut dictionary = Self {
            arena: Vec::with_capacity(order.iter().map(|&at| text(at).len()).sum()),
            entries: Vec::with_capacity(order.len()),
            starts: Vec::with_capacity((1 << 16) + 1),
            filter: Filter::new(order.iter().map(|&at| text(at))),
        };
        // The tokens that the last one starts with, and itself.
        let mut open: Vec<u32> = Vec::new();
        for &at in &order {
            let token = text(at);
            while let Some(&top) = open.last()
                && !token.starts_with(dictionary.token(top))
            {
                open.pop();
            }
            let prefix = open.last().copied().unwrap_or(NONE);
            let entry = dictionary.entries.len() as u32;
            let group = pair(token[0], token.get(1).copied().unwrap_or(0));
            while dictionary.starts.len() <= usize::from(group) {
                dictionary.starts.push(entry);
            }
            let start = u32::try_from(dictionary.arena.len()).ok()?;
            dictionary.arena.extend_from_slice(token);
            let length = token.len() as u32;
            dictionary.entries.push(Entry { start, length, pattern: at, prefix });
            open.push(entry);
        }
        dictionary.starts.resize((1 << 16) + 1, dictionary.entries.len() as u32);
        Some(dictionary)
    }

    fn token(&self, entry: u32) -> &[u8] {
        let Entry { start, length, .. } = self.entries[entry as usize];
        &self.arena[start as usize..(start + length) as usize]
    }

    /// The first token at or after byte `from`, and the longest there: its pattern, start and end.
    pub fn find(&self, text: &[u8], from: usize) -> Option<(usize, usize, usize)> {
        let mut at = from;
        loop {
            at = self.filter.next(text, at)?;
            if let Some((pattern, length)) = self.longest(&text[at..]) {
                return Some((pattern, at, at + length));
            }
            at += 1;
        }
    }

    /// The longest token that a text starts with: its pattern and length.
    fn longest(&self, text: &[u8]) -> Option<(usize, usize)> {
        let first = *text.first()?;
        let one = usize::from(pair(first, 0));
        let two = usize::from(pair(first, text.get(1).copied().unwrap_or(0)));
        // The tokens of these two bytes, or else the token of the first byte alone, which is the
        // first of its group.
        let group = self.starts[two] as usize..self.starts[two + 1] as usize;
        let head = &text[..text.len().min(LONGEST)];
        let token = |entry: &Entry| {
            &self.arena[entry.start as usize..(entry.start + entry.length) as usize]
        };
        let after = self.entries[group.clone()].partition_point(|entry| token(entry) <= head);
        let mut entry = match after.checked_sub(1) {
            Some(before) => (group.start + before) as u32,
            None => self.starts[one],
        };
        let mut most = head.len();
        while entry != NONE && (entry as usize) < self.entries.len() {
            let found = self.entries[entry as usize];
            if found.length as usize <= most {
                let shared = shared(self.token(entry), head);
                if shared == found.length as usize {
                    return Some((found.pattern as usize, shared));
                }
                // What is not shared no shorter token shares either.
                most = shared;
            }
            entry = found.prefix;
        }
        None
    }
}

/// How many bytes two texts start with alike.
fn shared(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

impl Filter {
    fn new<'a>(tokens: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut filter = Self {
            few: None,
            ones: Box::new([false; 256]),
            twos: None,
            threes: Box::new([0; 1024]),
        };
        let mut firsts: FxHashMap<u8, ()> = FxHashMap::default();
        for token in tokens {
            firsts.insert(token[0], ());
            match *token {
                [first] => filter.ones[usize::from(first)] = true,
                [first, second] => {
                    let twos = filter.twos.get_or_insert_with(|| Box::new([0; 1024]));
                    set(twos, pair(first, second));
                }
                [first, second, third, ..] => set(&mut filter.threes, hash(first, second, third)),
                [] => {}
            }
        }
        let mut few: Vec<u8> = firsts.into_keys().collect();
        few.sort_unstable();
        filter.few = Some(few).filter(|few| few.len() <= 3);
        filter
    }

    /// The first place at or after `from` where a token may start.
    #[inline]
    fn next(&self, text: &[u8], from: usize) -> Option<usize> {
        let mut at = from;
        while at < text.len() {
            if let Some(few) = &self.few {
                let rest = &text[at..];
                at += match **few {
                    [a] => memchr::memchr(a, rest),
                    [a, b] => memchr::memchr2(a, b, rest),
                    [a, b, c] => memchr::memchr3(a, b, c, rest),
                    _ => None,
                }?;
            }
            if self.may_start(&text[at..]) {
                return Some(at);
            }
            at += 1;
        }
        None
    }

    #[inline]
    fn may_start(&self, text: &[u8]) -> bool {
        match *text {
            [first, second, third, ..] => {
                bit(&self.threes, hash(first, second, third))
                    || self.ones[usize::from(first)]
                    || self.twos.as_ref().is_some_and(|twos| bit(twos, pair(first, second)))
            }
            [first, second] => {
                self.ones[usize::from(first)]
                    || self.twos.as_ref().is_some_and(|twos| bit(twos, pair(first, second)))
            }
            [first] => self.ones[usize::from(first)],
            [] => false,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use aho_corasick::{AhoCorasick, MatchKind};
    use proptest::prelude::*;

    use super::*;

    fn all(patterns: &[&str], text: &str) -> Vec<(usize, usize, usize)> {
        let patterns: Vec<(Cow<'_, str>, usize)> =
            patterns.iter().map(|&pattern| (pattern.into(), 0)).collect();
        let dictionary = Dictionary::build(&patterns).unwrap();
        let mut found = Vec::new();
        let mut at = 0;
        while let Some(one) = dictionary.find(text.as_bytes(), at) {
            at = one.2;
            found.push(one);
        }
        found
    }

    fn expected(patterns: &[&str], text: &str) -> Vec<(usize, usize, usize)> {
        let automaton =
            AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(patterns).unwrap();
        let found = automaton.find_iter(text);
        found.map(|m| (m.pattern().as_usize(), m.start(), m.end())).collect()
    }

    #[test]
    fn prefixes_of_prefixes() {
        let patterns = ["a", "ab", "abc", "abcde", "abcdf", "b", "\0", "a\0", "\u{ff}"];
        for text in ["abcdabcdeabcdg", "aab", "", "a", "\0a\0b", "xyz", "abc\u{ff}\u{fe}"] {
            assert_eq!(all(&patterns, text), expected(&patterns, text), "{text:?}");
        }
        assert_eq!(all(&["ab", "ab"], "ab"), [(0, 0, 2)]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn equals_the_automaton(
            patterns in prop::collection::hash_set("[abé\0]{1,5}|<[ab|]{0,3}>", 1..30),
            text in "[abé\0<>|]{0,60}",
        ) {
            let patterns: Vec<&str> = patterns.iter().map(String::as_str).collect();
            prop_assert_eq!(all(&patterns, &text), expected(&patterns, &text));
        }
    }
}
