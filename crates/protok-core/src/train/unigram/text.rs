//! A corpus as symbols: runs of kept characters, each with a weight.

use super::super::coverage::{character_counts, covered, text};
use super::super::suffixes::END;
use super::super::{UnigramOptions, WordCounts};
use crate::{Error, Result};
use rustc_hash::FxHashMap;

/// The most symbols in all distinct words.
const MAX_SYMBOLS: usize = 1 << 31;

/// Distinct words as one array of symbols.
#[derive(Debug)]
pub(super) struct Text {
    /// One more than a character's place in `alphabet`; [`END`] after every segment.
    pub(super) letters: Vec<u32>,
    /// The kept characters by code point.
    pub(super) alphabet: Vec<char>,
    /// Where each segment starts and ends. A word is one, or several where characters that are
    /// not kept stand in it: no piece holds these.
    pub(super) segments: Vec<(u32, u32)>,
    /// How often each segment occurs.
    pub(super) weights: Vec<u64>,
    /// The kept characters of the corpus, with repetitions.
    pub(super) characters: u64,
    /// The other ones.
    pub(super) unknown: u64,
}

impl Text {
    pub(super) fn new(words: &WordCounts, options: &UnigramOptions) -> Result<Self> {
        let mut counts = character_counts(words)?;
        let all: u64 = counts.values().fold(0, |sum, &count| sum.saturating_add(count));
        if i64::try_from(all).is_err() {
            return Err(Error::limit("The corpus has 2^63 characters or more."));
        }
        let alphabet = covered(std::mem::take(&mut counts), options.character_coverage);
        let symbols: FxHashMap<char, u32> = alphabet.iter().copied().zip(END + 1..).collect();
        let mut built = Self {
            letters: Vec::new(),
            alphabet,
            segments: Vec::new(),
            weights: Vec::new(),
            characters: 0,
            unknown: 0,
        };
        let mut ascii = [END; 128];
        symbols.iter().for_each(|(&c, &symbol)| {
            if let Some(slot) = ascii.get_mut(c as usize) {
                *slot = symbol;
            }
        });
        let mut start = 0;
        for (word, count) in words.iter() {
            for c in text(word)?.chars() {
                let symbol = ascii.get(c as usize).copied();
                match symbol.or_else(|| symbols.get(&c).copied()).unwrap_or(END) {
                    END => {
                        built.unknown += count;
                        start = built.close(start, count)?;
                    }
                    symbol => built.letters.push(symbol),
                }
            }
            start = built.close(start, count)?;
        }
        Ok(built)
    }

    /// Ends a segment, if there is one, and returns where the next begins.
    fn close(&mut self, start: usize, weight: u64) -> Result<usize> {
        let end = self.letters.len();
        if start < end {
            if end >= MAX_SYMBOLS {
                return Err(Error::limit("The distinct words have more than 2^31 characters.")
                    .hint("Train on a part of the corpus, or drop the rarest words."));
            }
            self.segments.push((start as u32, end as u32));
            self.weights.push(weight);
            self.characters += weight * (end - start) as u64;
            self.letters.push(END);
        }
        Ok(self.letters.len())
    }

    /// The symbols of a string, if its characters are all kept.
    pub(super) fn spell(&self, text: &str) -> Option<Vec<u32>> {
        text.chars()
            .map(|c| self.alphabet.binary_search(&c).ok().map(|i| END + 1 + i as u32))
            .collect()
    }

    /// The string of a stretch of symbols.
    pub(super) fn string(&self, start: u32, length: u32) -> String {
        let letters = &self.letters[start as usize..(start + length) as usize];
        letters.iter().map(|&letter| self.alphabet[(letter - 1) as usize]).collect()
    }
}
