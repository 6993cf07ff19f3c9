//! Counted words summed up as they pass: how many there are, and their hash.

use sha2::{Digest, Sha256};

/// What some counts are in all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Totals {
    /// The number of words with repetitions, saturating.
    pub words: u64,
    /// The number of distinct words.
    pub distinct: u64,
    /// SHA-256 of the words and counts in canonical order: for each word its length as 64 bits,
    /// the lowest byte first, its bytes, and its count likewise.
    pub sha256: [u8; 32],
}

/// Sums words up, which come in canonical order.
#[derive(Debug, Default)]
pub(super) struct Tally {
    words: u64,
    distinct: u64,
    hash: Sha256,
}

impl Tally {
    pub(super) fn add(&mut self, word: &[u8], count: u64) {
        self.words = self.words.saturating_add(count);
        self.distinct += 1;
        self.hash.update((word.len() as u64).to_le_bytes());
        self.hash.update(word);
        self.hash.update(count.to_le_bytes());
    }

    pub(super) fn totals(self) -> Totals {
        Totals { words: self.words, distinct: self.distinct, sha256: self.hash.finalize().into() }
    }
}
