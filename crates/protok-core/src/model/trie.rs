//! A double-array trie: all tokens that a text starts with, in one walk.
//!
//! Every node knows a base, which no other has; the child for a byte stands at `base ^ byte`, and is
//! one if it names the byte. Children of a node thus share a block of 256 places. Nodes are put
//! first-fit into the last few blocks that have room, so building takes time near-linear in the
//! bytes of the keys, whatever they are. A node with its value is 8 bytes, a step one load; a walk
//! ends after the longest key at the latest.
//!
//! Source: Aoe, "An Efficient Digital Search Algorithm by Using a Double-Array Structure" (1989).

use std::collections::VecDeque;

use crate::error::{Error, Result};
use crate::vocab::MAX_ID;

/// The value that no key has.
pub const NO_VALUE: u32 = u32::MAX;

/// The node to start from.
pub const ROOT: u32 = 0;

/// See the [module](self).
#[derive(Debug)]
pub struct Trie {
    nodes: Vec<Node>,
    longest: usize,
}

/// From the lowest bit: the base, whether there is a value, whether there is a node, the byte that
/// leads there, the value.
#[derive(Debug, Clone, Copy, Default)]
struct Node(u64);

const BASE: u32 = 30;
const VALUED: u64 = 1 << BASE;
const TAKEN: u32 = 31;
const VALUE: u32 = 40;

impl Node {
    #[inline]
    fn base(self) -> u32 {
        self.0 as u32 & ((1 << BASE) - 1)
    }

    /// Whether there is a node, and a byte leads to it.
    #[inline]
    fn is_for(self, byte: u8) -> bool {
        (self.0 >> TAKEN) as u32 & 0x1FF == u32::from(byte) << 1 | 1
    }

    #[inline]
    fn value(self) -> u32 {
        if self.0 & VALUED == 0 { NO_VALUE } else { (self.0 >> VALUE) as u32 }
    }

    fn take(&mut self, byte: u8) {
        self.0 |= (u64::from(byte) << 1 | 1) << TAKEN;
    }

    fn set_base(&mut self, base: u32) {
        self.0 |= u64::from(base);
    }

    fn set_value(&mut self, value: u32) {
        self.0 = self.0 & ((1 << VALUE) - 1) | VALUED | u64::from(value) << VALUE;
    }
}

impl Trie {
    /// Builds from keys with values up to [`MAX_ID`]. Of equal keys the last counts; an empty key is
    /// left out.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Artifact`] for more than 2^30 nodes, or a larger value.
    pub fn new<'k>(keys: impl IntoIterator<Item = (&'k [u8], u32)>) -> Result<Self> {
        // The first bytes of a key as a number decide nearly every comparison; the order of the
        // keys keeps the last of equal ones last.
        let keys = keys.into_iter().filter(|(key, _)| !key.is_empty());
        let mut ordered: Vec<(u64, &[u8], usize, u32)> =
            keys.enumerate().map(|(at, (key, value))| (first_bytes(key), key, at, value)).collect();
        ordered.sort_unstable();
        let keys: Vec<(&[u8], u32)> =
            ordered.into_iter().map(|(_, key, _, value)| (key, value)).collect();
        let mut builder = Builder::default();
        builder.build(&keys)?;
        let longest = keys.iter().map(|(key, _)| key.len()).max().unwrap_or(0);
        Ok(Self { nodes: builder.nodes, longest })
    }

    /// The bytes of the longest key.
    #[must_use]
    pub fn longest_key(&self) -> usize {
        self.longest
    }

    /// The node that a byte leads to.
    #[inline]
    #[must_use]
    pub fn step(&self, node: u32, byte: u8) -> Option<u32> {
        let at = self.nodes[node as usize].base() ^ u32::from(byte);
        self.nodes[at as usize].is_for(byte).then_some(at)
    }

    /// The value of the key that ends at a node, or [`NO_VALUE`].
    #[inline]
    #[must_use]
    pub fn value(&self, node: u32) -> u32 {
        self.nodes[node as usize].value()
    }

    /// All keys that `text` starts with, by rising length: their length and value.
    #[inline]
    #[must_use]
    pub fn prefixes<'a>(&'a self, text: &'a [u8]) -> Prefixes<'a> {
        Prefixes { trie: self, text, at: 0, node: ROOT }
    }

    /// The longest key that `text` starts with.
    #[inline]
    #[must_use]
    pub fn longest(&self, text: &[u8]) -> Option<(usize, u32)> {
        self.prefixes(text).last()
    }

    /// The value of a key.
    #[must_use]
    pub fn get(&self, key: &[u8]) -> Option<u32> {
        let node = key.iter().try_fold(ROOT, |node, &byte| self.step(node, byte))?;
        Some(self.value(node)).filter(|&value| value != NO_VALUE)
    }

    /// All values, in no order.
    pub fn values(&self) -> impl Iterator<Item = u32> + '_ {
        self.nodes.iter().map(|node| node.value()).filter(|&value| value != NO_VALUE)
    }
}

/// The first bytes of a key, as a number that is ordered as they are.
fn first_bytes(key: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    let length = key.len().min(8);
    bytes[..length].copy_from_slice(&key[..length]);
    u64::from_be_bytes(bytes)
}

/// See [`Trie::prefixes`].
#[derive(Debug)]
pub struct Prefixes<'a> {
    trie: &'a Trie,
    text: &'a [u8],
    at: usize,
    node: u32,
}

impl Iterator for Prefixes<'_> {
    type Item = (usize, u32);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let &byte = self.text.get(self.at)?;
            let Some(node) = self.trie.step(self.node, byte) else {
                self.text = &[];
                return None;
            };
            self.node = node;
            self.at += 1;
            let value = self.trie.value(node);
            if value != NO_VALUE {
                return Some((self.at, value));
            }
        }
    }
}

const BLOCK: usize = 256;

/// So many blocks are looked through for room.
const OPEN: usize = 16;

#[derive(Debug, Default)]
struct Builder {
    nodes: Vec<Node>,
    open: VecDeque<Block>,
}

/// A block with room.
#[derive(Debug)]
struct Block {
    number: u32,
    /// Which of its places are free, and how many.
    free: [u64; 4],
    room: usize,
    /// Which of its places are bases.
    bases: [u64; 4],
}

impl Builder {
    fn build(&mut self, keys: &[(&[u8], u32)]) -> Result<()> {
        self.add_block()?;
        // No byte leads to the root, and the base of nodes without children is nobody's.
        self.occupy(ROOT);
        self.claim_last(0);
        let mut labels = Vec::new();
        // Keys from .. to, the node that they share, and how many bytes lead there.
        let mut todo = vec![(0, keys.len(), ROOT, 0)];
        while let Some((mut from, to, node, depth)) = todo.pop() {
            while from < to && keys[from].0.len() == depth {
                let value = keys[from].1;
                if value > MAX_ID {
                    return Err(Error::artifact("model.vocab", "There are too many tokens.")
                        .value(value.to_string()));
                }
                self.nodes[node as usize].set_value(value);
                from += 1;
            }
            labels.clear();
            let mut start = from;
            while start < to {
                let label = keys[start].0[depth];
                let end = start + keys[start..to].partition_point(|key| key.0[depth] == label);
                labels.push((label, start, end));
                start = end;
            }
            let Some(base) = self.base_for(&labels)? else { continue };
            self.nodes[node as usize].set_base(base);
            for &(label, start, end) in labels.iter().rev() {
                let child = base ^ u32::from(label);
                self.occupy(child);
                self.nodes[child as usize].take(label);
                todo.push((start, end, child, depth + 1));
            }
        }
        Ok(())
    }

    /// A base with room for all labels; none for no labels.
    fn base_for(&mut self, labels: &[(u8, usize, usize)]) -> Result<Option<u32>> {
        let Some(&(first, ..)) = labels.first() else { return Ok(None) };
        for Block { number, free, bases, .. } in
            self.open.iter_mut().filter(|open| open.room >= labels.len())
        {
            for (index, &word) in free.iter().enumerate() {
                let mut word = word;
                while word != 0 {
                    let place = index as u8 * 64 + word.trailing_zeros() as u8;
                    word &= word - 1;
                    let low = place ^ first;
                    let (word_of, bit) = (low as usize / 64, 1 << (low % 64));
                    if bases[word_of] & bit != 0 {
                        continue;
                    }
                    let fits = |&(label, ..): &(u8, usize, usize)| {
                        let place = low ^ label;
                        free[place as usize / 64] >> (place % 64) & 1 == 1
                    };
                    if labels.iter().all(fits) {
                        bases[word_of] |= bit;
                        return Ok(Some(*number * BLOCK as u32 + u32::from(low)));
                    }
                }
            }
        }
        let base = self.add_block()?;
        self.claim_last(0);
        Ok(Some(base))
    }

    /// Makes a place of the last block a base.
    fn claim_last(&mut self, low: u8) {
        if let Some(block) = self.open.back_mut() {
            block.bases[low as usize / 64] |= 1 << (low % 64);
        }
    }

    fn add_block(&mut self) -> Result<u32> {
        let start = self.nodes.len();
        let block = u32::try_from(start / BLOCK)
            .ok()
            .filter(|&block| block < (1 << BASE) / BLOCK as u32)
            .ok_or_else(|| Error::artifact("model.vocab", "The tokens are too long together."))?;
        self.nodes.resize(start + BLOCK, Node::default());
        self.open.retain(|open| open.room > 0);
        if self.open.len() >= OPEN {
            self.open.pop_front();
        }
        let (free, bases) = ([u64::MAX; 4], [0; 4]);
        self.open.push_back(Block { number: block, free, room: BLOCK, bases });
        Ok(block * BLOCK as u32)
    }

    fn occupy(&mut self, at: u32) {
        let (block, place) = (at / BLOCK as u32, at as usize % BLOCK);
        if let Some(open) = self.open.iter_mut().find(|open| open.number == block) {
            // A place is taken once.
            open.free[place / 64] &= !(1 << (place % 64));
            open.room -= 1;
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[test]
    fn prefixes_and_longest() {
        let keys = ["a", "ab", "abcd", "b", "é", "", "ab"];
        let trie = Trie::new(keys.iter().zip(0..).map(|(key, i)| (key.as_bytes(), i))).unwrap();
        assert_eq!(trie.prefixes(b"abcx").collect::<Vec<_>>(), [(1, 0), (2, 6)]);
        assert_eq!(trie.longest(b"abcde"), Some((4, 2)));
        assert_eq!(trie.longest(b"x"), None);
        assert_eq!(trie.get("é".as_bytes()), Some(4));
        assert_eq!((trie.get(b"abc"), trie.get(b""), trie.longest_key()), (None, None, 4));
        let empty = Trie::new([]).unwrap();
        assert_eq!((empty.longest(b"\0a"), empty.get(b"\0")), (None, None));
    }

    #[test]
    fn every_byte_and_many_keys() {
        let mut keys: Vec<Vec<u8>> = (0..=255u8).map(|byte| vec![byte]).collect();
        keys.extend((0..20_000u32).map(|i| i.wrapping_mul(2_654_435_761).to_be_bytes().to_vec()));
        let trie = Trie::new(keys.iter().zip(0..).map(|(key, i)| (key.as_slice(), i))).unwrap();
        for (key, i) in keys.iter().zip(0..) {
            assert_eq!(trie.get(key), Some(i));
        }
    }

    proptest! {
        #[test]
        fn walks_find_what_a_map_finds(
            keys in prop::collection::vec(prop::collection::vec(0u8..4, 0..6), 0..60),
            text in prop::collection::vec(0u8..5, 0..12),
        ) {
            let map: BTreeMap<&[u8], u32> =
                keys.iter().zip(0..).map(|(key, i)| (key.as_slice(), i)).collect();
            let trie = Trie::new(keys.iter().zip(0..).map(|(key, i)| (key.as_slice(), i))).unwrap();
            let expected: Vec<(usize, u32)> = (1..=text.len())
                .filter_map(|end| map.get(&text[..end]).map(|&value| (end, value)))
                .collect();
            prop_assert_eq!(trie.prefixes(&text).collect::<Vec<_>>(), expected.clone());
            prop_assert_eq!(trie.longest(&text), expected.last().copied());
        }
    }
}
