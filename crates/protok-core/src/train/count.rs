//! Weighted words: the form in which every trainer reads a corpus.
//!
//! A corpus of gigabytes has far fewer distinct words than words, and a trainer that never
//! merges across words needs only each distinct word and how often it occurs. All words lie in
//! one arena; a hash index says where, so that a distinct word costs its bytes plus about 60, and
//! 16 without the index. Adding is O(length), [`WordCounts::canonical`] O(n log n).

use super::shorts::{self, Key, Shorts};
use super::tally::{Tally, Totals};
use crate::{Error, Result};
use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;
use std::cmp::Ordering;
use std::hash::BuildHasher;

/// Distinct words with 64-bit counts, in the order in which each was first added.
///
/// A count that would pass `u64::MAX` stays there and [`WordCounts::saturated`] says so: a
/// trainer then refuses the counts instead of training on wrong ones.
///
/// ```
/// use protok_core::train::WordCounts;
///
/// let mut words = WordCounts::new();
/// words.add("low", 5)?;
/// words.add("lower", 2)?;
/// words.add("low", 1)?;
/// let recorded: Vec<(&[u8], u64)> = words.iter().collect();
/// assert_eq!(recorded, [(&b"low"[..], 6), (&b"lower"[..], 2)]);
/// # Ok::<(), protok_core::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct WordCounts {
    arena: Vec<u8>,
    ends: Vec<usize>,
    counts: Vec<u64>,
    /// Where the words up to [`shorts::LONGEST`] are, and the longer ones.
    shorts: Shorts,
    longs: HashTable<u32>,
    saturated: bool,
}

fn word_at<'a>(arena: &'a [u8], ends: &[usize], word: usize) -> &'a [u8] {
    let start = if word == 0 { 0 } else { ends[word - 1] };
    &arena[start..ends[word]]
}

impl WordCounts {
    /// No words.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds `count` occurrences of `word`: text, or any bytes.
    ///
    /// An empty word and a count of zero leave no trace.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`](crate::ErrorKind::Limit) past 2^32 - 1 distinct words.
    pub fn add(&mut self, word: impl AsRef<[u8]>, count: u64) -> Result<()> {
        let word = word.as_ref();
        if word.is_empty() || count == 0 {
            return Ok(());
        }
        self.note(word, count).map(|_| ())
    }

    /// Adds occurrences of a word that is not empty, and returns its number.
    pub(super) fn note(&mut self, word: &[u8], count: u64) -> Result<u32> {
        self.note_keyed(shorts::key(word, 0, word.len()), word, count)
    }

    /// The same, with the key of the word.
    #[inline]
    pub(super) fn note_keyed(&mut self, key: Option<Key>, word: &[u8], count: u64) -> Result<u32> {
        if self.indexed() < self.len() {
            self.index_all();
        }
        if let Some(known) = self.find(key, word) {
            self.repeat(known, count);
            return Ok(known);
        }
        let new = next_number(self.ends.len())?;
        self.push(word, count)?;
        self.index_word(new);
        Ok(new)
    }

    /// Has the place of a word brought near.
    #[inline]
    pub(super) fn prefetch(&self, key: Key) {
        self.shorts.prefetch(key);
    }

    /// The number of a word among those that are indexed.
    #[inline]
    fn find(&self, key: Option<Key>, word: &[u8]) -> Option<u32> {
        if let Some(key) = key {
            return self.shorts.find(key);
        }
        let same = |&i: &u32| word_at(&self.arena, &self.ends, i as usize) == word;
        self.longs.find(FxBuildHasher.hash_one(word), same).copied()
    }

    /// How many words are indexed: the first ones.
    #[inline]
    fn indexed(&self) -> usize {
        self.shorts.len() + self.longs.len()
    }

    fn index_word(&mut self, new: u32) {
        let Self { arena, ends, shorts, longs, .. } = self;
        let word = word_at(arena, ends, new as usize);
        match shorts::key(word, 0, word.len()) {
            Some(key) => shorts.insert(key, new),
            None => {
                longs.insert_unique(FxBuildHasher.hash_one(word), new, |&i| {
                    FxBuildHasher.hash_one(word_at(arena, ends, i as usize))
                });
            }
        }
    }

    /// Adds occurrences of the word with a number.
    #[inline]
    pub(super) fn repeat(&mut self, word: u32, count: u64) {
        let slot = &mut self.counts[word as usize];
        *slot = slot.checked_add(count).unwrap_or_else(|| {
            self.saturated = true;
            u64::MAX
        });
    }

    /// Adds a word that is not there yet, without looking: what is merged in sorted order has no
    /// need of the index, which is built when it is next asked for.
    pub(super) fn push(&mut self, word: &[u8], count: u64) -> Result<()> {
        next_number(self.ends.len())?;
        self.arena.extend_from_slice(word);
        self.ends.push(self.arena.len());
        self.counts.push(count);
        Ok(())
    }

    /// Says that a count reached the end of 64 bits.
    pub(super) fn saturate(&mut self) {
        self.saturated = true;
    }

    #[cold]
    fn index_all(&mut self) {
        for new in self.indexed()..self.len() {
            // `push` has seen that the number fits.
            self.index_word(u32::try_from(new).unwrap_or(u32::MAX));
        }
    }

    /// The bytes that are allocated.
    #[must_use]
    pub fn allocated(&self) -> usize {
        let words = self.ends.capacity() * (size_of::<usize>() + size_of::<u64>());
        self.arena.capacity() + words + self.shorts.allocated() + self.longs.allocation_size()
    }

    /// Adds all words of `other`, in its order: counts of parts become counts of the whole.
    ///
    /// # Errors
    /// As [`WordCounts::add`].
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        self.saturated |= other.saturated;
        other.iter().try_for_each(|(word, count)| self.add(word, count))
    }

    /// The number of distinct words.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Whether a count reached the end of 64 bits.
    #[must_use]
    pub fn saturated(&self) -> bool {
        self.saturated
    }

    /// The number of words with repetitions, saturating.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.counts.iter().fold(0, |sum, &count| sum.saturating_add(count))
    }

    /// The count of `word`, zero if it was never added.
    #[must_use]
    pub fn count(&self, word: impl AsRef<[u8]>) -> u64 {
        let word = word.as_ref();
        if word.is_empty() {
            return 0;
        }
        if self.indexed() < self.len() {
            return self.iter().find(|&(known, _)| known == word).map_or(0, |(_, count)| count);
        }
        let found = self.find(shorts::key(word, 0, word.len()), word);
        found.map_or(0, |i| self.counts[i as usize])
    }

    /// Words and counts in recorded order: by first occurrence.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&[u8], u64)> + '_ {
        self.counts.iter().enumerate().map(|(i, &count)| {
            let word = word_at(&self.arena, &self.ends, i);
            (word, count)
        })
    }

    /// Words and counts in canonical order: sorted by bytes, whatever the order of adding.
    #[must_use]
    pub fn canonical(&self) -> Vec<(&[u8], u64)> {
        let word = |i: u32| word_at(&self.arena, &self.ends, i as usize);
        self.sorted().into_iter().map(|i| (word(i), self.counts[i as usize])).collect()
    }

    /// The numbers of the words in canonical order.
    pub(super) fn sorted(&self) -> Vec<u32> {
        let word = |i: u32| word_at(&self.arena, &self.ends, i as usize);
        // Most words differ in the first eight bytes, which are compared as one number.
        let key = |word: &[u8]| {
            let mut first = [0; 8];
            let length = word.len().min(8);
            first[..length].copy_from_slice(&word[..length]);
            u64::from_be_bytes(first)
        };
        let numbers = 0..u32::try_from(self.len()).unwrap_or(u32::MAX);
        let mut keys: Vec<(u64, u32)> = numbers.map(|i| (key(word(i)), i)).collect();
        keys.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| word(a.1).cmp(word(b.1))));
        keys.into_iter().map(|(_, i)| i).collect()
    }

    /// The word with a number, and its count.
    pub(super) fn at(&self, word: u32) -> (&[u8], u64) {
        (word_at(&self.arena, &self.ends, word as usize), self.counts[word as usize])
    }

    /// The same words in canonical order.
    pub(super) fn into_canonical(self) -> Result<Self> {
        let order = self.sorted();
        let mut sorted = Self { saturated: self.saturated, ..Self::default() };
        sorted.arena.reserve_exact(self.arena.len());
        sorted.ends.reserve_exact(self.len());
        sorted.counts.reserve_exact(self.len());
        for i in order {
            let (word, count) = self.at(i);
            sorted.push(word, count)?;
        }
        Ok(sorted)
    }

    /// The words of two tables in canonical order, in that order.
    pub(super) fn merge_canonical(&self, other: &Self) -> Result<Self> {
        let mut merged = Self { saturated: self.saturated | other.saturated, ..Self::default() };
        merged.arena.reserve_exact(self.arena.len() + other.arena.len());
        merged.ends.reserve_exact(self.len() + other.len());
        merged.counts.reserve_exact(self.len() + other.len());
        let (mut ours, mut theirs) = (self.iter().peekable(), other.iter().peekable());
        while let (Some(&(one, count)), Some(&(two, more))) = (ours.peek(), theirs.peek()) {
            match one.cmp(two) {
                Ordering::Less => {
                    merged.push(one, count)?;
                    ours.next();
                }
                Ordering::Greater => {
                    merged.push(two, more)?;
                    theirs.next();
                }
                Ordering::Equal => {
                    merged.push(one, count)?;
                    merged.repeat(merged.len() as u32 - 1, more);
                    ours.next();
                    theirs.next();
                }
            }
        }
        ours.chain(theirs).try_for_each(|(word, count)| merged.push(word, count))?;
        merged.arena.shrink_to_fit();
        merged.ends.shrink_to_fit();
        merged.counts.shrink_to_fit();
        Ok(merged)
    }

    /// How many words there are, and their hash, whatever the order of adding.
    #[must_use]
    pub fn totals(&self) -> Totals {
        let mut tally = Tally::default();
        self.canonical().into_iter().for_each(|(word, count)| tally.add(word, count));
        tally.totals()
    }
}

/// The number of the next word.
fn next_number(words: usize) -> Result<u32> {
    u32::try_from(words)
        .ok()
        .filter(|&new| new != u32::MAX)
        .ok_or_else(|| Error::limit("The corpus has more than 4,294,967,295 distinct words."))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn words_keep_the_order_of_their_first_occurrence() {
        let mut words = WordCounts::new();
        for word in ["the", "cat", "the", "a"] {
            words.add(word, 1).unwrap();
        }
        words.add("", 3).unwrap();
        words.add("never", 0).unwrap();
        let recorded: Vec<_> = words.iter().collect();
        assert_eq!(recorded, [(&b"the"[..], 2), (b"cat", 1), (b"a", 1)]);
        assert_eq!(words.canonical(), [(&b"a"[..], 1), (b"cat", 1), (b"the", 2)]);
        assert_eq!((words.total(), words.count("the"), words.count("dog")), (4, 2, 0));
    }

    #[test]
    fn merged_parts_equal_the_whole() {
        let texts: Vec<String> = (0..5000).map(|i| format!("w{}", i * i % 613)).collect();
        let (mut whole, mut left, mut right) =
            (WordCounts::new(), WordCounts::new(), WordCounts::new());
        for (i, text) in texts.iter().enumerate() {
            whole.add(text, 1).unwrap();
            let part = if i < 2000 { &mut left } else { &mut right };
            part.add(text, 1).unwrap();
        }
        left.merge(&right).unwrap();
        assert_eq!(left.iter().collect::<Vec<_>>(), whole.iter().collect::<Vec<_>>());
    }

    #[test]
    fn canonical_order_is_that_of_bytes() {
        let texts = ["", "b", "a", "ab", "a\0", "abcdefgh", "abcdefgi", "abcdefghi", "é", "a\0\0"];
        let mut words = WordCounts::new();
        for text in texts {
            words.add(text, 7).unwrap();
        }
        let mut expected: Vec<&[u8]> = texts[1..].iter().map(|text| text.as_bytes()).collect();
        expected.sort_unstable();
        let sorted = words.clone().into_canonical().unwrap();
        assert_eq!(sorted.iter().map(|(word, _)| word).collect::<Vec<_>>(), expected);
        assert_eq!(words.totals(), sorted.totals());
        assert_eq!(sorted.count("abcdefgi"), 7);
        let mut more = sorted;
        more.add("ab", 1).unwrap();
        more.add("zz", 1).unwrap();
        assert_eq!((more.count("ab"), more.count("zz"), more.len()), (8, 1, 10));
        assert_ne!(words.totals(), more.totals());
    }

    #[test]
    fn saturation_is_declared() {
        let mut words = WordCounts::new();
        words.add([0xFF], u64::MAX).unwrap();
        assert!(!words.saturated());
        words.add([0xFF], 1).unwrap();
        assert!(words.saturated());
        assert_eq!(words.count([0xFF]), u64::MAX);
    }
}
