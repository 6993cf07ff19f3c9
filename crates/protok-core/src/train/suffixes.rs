//! All repeated substrings of a text, from its suffixes sorted to a bounded depth.
//!
//! Sorted suffixes that share a prefix lie side by side, so every substring is an interval of the
//! suffix array, and the substrings that cannot be prolonged without losing an occurrence are its
//! *nodes*: at most two a position, where the distinct substrings may be quadratically many
//! (Manber and Myers, "Suffix Arrays", 1993; the nodes by one pass over the shared lengths are
//! from Kasai and others, "Linear-Time Longest-Common-Prefix Computation", 2001).
//!
//! A trainer asks for substrings of at most `limit` symbols, so no suffix is compared past them:
//! three symbols at a time are packed in one number and equal ones sorted again, which takes
//! O(n (limit + log n)) whatever the text is, also where it is one letter repeated. Buckets by
//! first symbol are sorted on all threads; the order is total, so they do not show.

use crate::Result;
use crate::parallel::map_groups;
use std::sync::{Mutex, PoisonError};

/// The symbol after every segment: no substring holds it.
pub(super) const END: u32 = 0;

/// Symbols in one key, and the bits of each: a code point fits.
const PACKED: usize = 3;
const BITS: u32 = 21;

/// The sorted suffixes of a text, and how far neighbours agree.
#[derive(Debug)]
pub(super) struct Suffixes {
    /// The positions, sorted by what follows; those of [`END`] are left out.
    pub(super) order: Vec<u32>,
    /// How many symbols each shares with the one before it, up to the limit; zero where the first
    /// symbols differ.
    pub(super) shared: Vec<u16>,
    limit: usize,
}

/// A substring as an interval of the sorted suffixes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Node {
    /// The first and one past the last place.
    pub(super) places: (u32, u32),
    /// The length of the longest substring with exactly these occurrences, up to the limit.
    pub(super) length: u16,
    /// The length of the longest one with more: between the two all occur equally often.
    pub(super) shorter: u16,
    /// The weight of its occurrences.
    pub(super) weight: u64,
}

impl Suffixes {
    /// Sorts the suffixes of `letters`, which are below 2^21 and end with [`END`].
    ///
    /// # Errors
    /// None of its own.
    pub(super) fn sort(letters: &[u32], limit: u16, threads: usize) -> Result<Self> {
        let limit = usize::from(limit.max(1));
        let distinct = letters.iter().max().map_or(0, |&letter| letter as usize + 1);
        let mut ends = vec![0usize; distinct];
        letters.iter().filter(|&&letter| letter != END).for_each(|&l| ends[l as usize] += 1);
        let mut total = 0;
        for end in &mut ends {
            total += *end;
            *end = total - *end;
        }
        let mut order = vec![0u32; total];
        for (at, &letter) in letters.iter().enumerate() {
            if letter != END {
                let slot = &mut ends[letter as usize];
                order[*slot] = at as u32;
                *slot += 1;
            }
        }
        let mut shared = vec![0u16; total];
        let mut buckets = Vec::with_capacity(distinct);
        let (mut orders, mut shares, mut start) = (&mut *order, &mut *shared, 0);
        for end in ends {
            let (bucket, rest) = orders.split_at_mut(end - start);
            let (share, others) = shares.split_at_mut(end - start);
            (orders, shares, start) = (rest, others, end);
            if bucket.len() > 1 {
                buckets.push(Mutex::new((bucket, share)));
            }
        }
        let size = |bucket: &Mutex<(&mut [u32], &mut [u16])>| {
            16 * bucket.lock().unwrap_or_else(PoisonError::into_inner).0.len()
        };
        map_groups(&buckets, size, threads, |buckets, _| {
            let mut sorter = Sorter { letters, limit, keys: Vec::new(), open: Vec::new() };
            for bucket in buckets {
                let mut bucket = bucket.lock().unwrap_or_else(PoisonError::into_inner);
                let (order, shared) = &mut *bucket;
                sorter.sort(order, shared);
            }
            Ok(())
        })?;
        drop(buckets);
        Ok(Self { order, shared, limit })
    }

    /// Calls `visit` with every node: shorter substrings after those that begin with them.
    ///
    /// `weight` is that of a position, and `reach` how many symbols stand from it to the end of
    /// its segment.
    pub(super) fn for_each_node(
        &self,
        weight: impl Fn(u32) -> u64,
        reach: impl Fn(u32) -> usize,
        mut visit: impl FnMut(Node),
    ) {
        let mut open: Vec<Node> = Vec::new();
        for place in 0..=self.order.len() {
            let common = self.shared.get(place).copied().unwrap_or(0);
            let mut start = place as u32;
            let mut inner: Option<Node> = None;
            while let Some(&top) = open.last().filter(|top| top.length > common) {
                open.pop();
                let below = open.last().map_or(0, |next| next.length);
                let mut node = Node { shorter: below.max(common), ..top };
                node.places.1 = place as u32;
                node.weight = node.weight.saturating_add(inner.map_or(0, |n| n.weight));
                visit(node);
                start = node.places.0;
                inner = Some(node);
            }
            let Some(&position) = self.order.get(place) else { break };
            if let Some(inner) = inner {
                match open.last_mut().filter(|top| top.length == common) {
                    Some(top) => top.weight = top.weight.saturating_add(inner.weight),
                    None if common > 0 => open.push(Node {
                        places: (start, start),
                        length: common,
                        shorter: 0,
                        weight: inner.weight,
                    }),
                    None => {}
                }
            }
            let length = reach(position).min(self.limit) as u16;
            let own = weight(position);
            match open.last_mut().filter(|top| top.length == length) {
                Some(top) => top.weight = top.weight.saturating_add(own),
                None => open.push(Node {
                    places: (place as u32, place as u32),
                    length,
                    shorter: 0,
                    weight: own,
                }),
            }
        }
    }

    /// The places of the suffixes that begin with `text`, as far as they are sorted.
    pub(super) fn find(&self, letters: &[u32], text: &[u32]) -> (u32, u32) {
        let head = |&position: &u32| {
            let rest = &letters[position as usize..];
            &rest[..rest.len().min(text.len())]
        };
        let low = self.order.partition_point(|position| head(position) < text);
        let high = self.order.partition_point(|position| head(position) <= text);
        (low as u32, high as u32)
    }
}

/// Sorts one bucket at a time.
struct Sorter<'a> {
    letters: &'a [u32],
    limit: usize,
    keys: Vec<(u64, u32)>,
    /// Ranges whose suffixes agree in so many symbols.
    open: Vec<(usize, usize, usize)>,
}

impl Sorter<'_> {
    fn sort(&mut self, order: &mut [u32], shared: &mut [u16]) {
        self.open.push((0, order.len(), 1));
        while let Some((low, high, depth)) = self.open.pop() {
            if depth >= self.limit {
                shared[low + 1..high].fill(self.limit as u16);
                continue;
            }
            let mut keys = std::mem::take(&mut self.keys);
            keys.clear();
            keys.extend(order[low..high].iter().map(|&at| (self.key(at as usize + depth), at)));
            keys.sort_unstable();
            let mut start = 0;
            for i in 0..keys.len() {
                order[low + i] = keys[i].1;
                if i > start && keys[i].0 != keys[start].0 {
                    let same = symbols_shared(keys[i - 1].0, keys[i].0);
                    shared[low + i] = (depth + same).min(self.limit) as u16;
                    self.close(low + start, low + i, depth, keys[start].0, shared);
                    start = i;
                }
            }
            self.close(low + start, high, depth, keys[start].0, shared);
            self.keys = keys;
        }
    }

    /// A range of suffixes with equal keys: they end in them, or are sorted again behind them.
    fn close(&mut self, low: usize, high: usize, depth: usize, key: u64, shared: &mut [u16]) {
        if high - low < 2 {
            return;
        }
        let length = (0..PACKED).take_while(|&i| symbol(key, i) != u64::from(END)).count();
        if length < PACKED {
            shared[low + 1..high].fill((depth + length).min(self.limit) as u16);
        } else {
            self.open.push((low, high, depth + PACKED));
        }
    }

    /// The symbols from a position on, up to the end of its segment.
    fn key(&self, at: usize) -> u64 {
        let mut key = 0;
        let mut ended = false;
        for i in 0..PACKED {
            let letter = if ended { END } else { self.letters[at + i] };
            ended = letter == END;
            key = key << BITS | u64::from(letter);
        }
        key
    }
}

fn symbol(key: u64, i: usize) -> u64 {
    key >> (BITS * (PACKED - 1 - i) as u32) & ((1 << BITS) - 1)
}

fn symbols_shared(a: u64, b: u64) -> usize {
    ((a ^ b).leading_zeros() - (64 - BITS * PACKED as u32)) as usize / BITS as usize
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn letters(words: &[String]) -> (Vec<u32>, Vec<usize>) {
        let (mut letters, mut reach) = (Vec::new(), Vec::new());
        for word in words {
            letters.extend(word.bytes().map(|byte| u32::from(byte - b'a') + 1));
            letters.push(END);
            reach.extend((0..=word.len()).rev());
        }
        (letters, reach)
    }

    proptest! {
        #[test]
        fn every_substring_is_in_one_node(
            words in prop::collection::vec("[ab]{1,14}|[a-d]{1,6}|a{1,20}", 1..8),
            limit in 1u16..12,
        ) {
            let (letters, reach) = letters(&words);
            let suffixes = Suffixes::sort(&letters, limit, 2).unwrap();
            let mut found = BTreeMap::new();
            suffixes.for_each_node(|at| u64::from(at) + 1, |at| reach[at as usize], |node| {
                let first = suffixes.order[node.places.0 as usize] as usize;
                assert!(node.shorter < node.length);
                for length in node.shorter + 1..=node.length {
                    let text = letters[first..first + usize::from(length)].to_vec();
                    assert_eq!(suffixes.find(&letters, &text), node.places);
                    assert!(found.insert(text, node.weight).is_none());
                }
            });
            let mut expected = BTreeMap::new();
            for at in 0..letters.len() {
                for length in 1..=reach[at].min(usize::from(limit)) {
                    *expected.entry(letters[at..at + length].to_vec()).or_insert(0) += at as u64 + 1;
                }
            }
            prop_assert_eq!(found, expected);
        }
    }
}
