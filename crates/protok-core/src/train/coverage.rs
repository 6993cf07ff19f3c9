//! Which characters of a corpus a vocabulary is to cover.
//!
//! Rare characters cost an entry each and hardly ever help: SentencePiece keeps the most frequent
//! ones until a share of all characters is reached, and leaves the rest to the unknown token or
//! to byte fallback. Of equally frequent ones the smaller code point comes first, so the choice
//! is total. O(characters).

use super::WordCounts;
use crate::{Error, Result};
use rustc_hash::FxHashMap;

/// The mark that stands for a blank: it is kept whatever the share is.
pub(super) const BLANK: char = '\u{2581}';

/// Reads a word as text.
pub(super) fn text(word: &[u8]) -> Result<&str> {
    std::str::from_utf8(word).map_err(|error| {
        Error::input(format!("The word {:?} is not UTF-8.", String::from_utf8_lossy(word)))
            .position(error.valid_up_to())
            .hint("Train on bytes, or decode the corpus first.")
    })
}

/// Counts the characters of a corpus.
pub(super) fn character_counts(words: &WordCounts) -> Result<FxHashMap<char, u64>> {
    let mut ascii = [0u64; 128];
    let mut counts: FxHashMap<char, u64> = FxHashMap::default();
    for (word, count) in words.iter() {
        for c in text(word)?.chars() {
            let slot = match ascii.get_mut(c as usize) {
                Some(slot) => slot,
                None => counts.entry(c).or_default(),
            };
            *slot = slot.saturating_add(count);
        }
    }
    let seen = ascii.iter().zip('\0'..).filter(|(count, _)| **count > 0);
    counts.extend(seen.map(|(&count, c)| (c, count)));
    Ok(counts)
}

/// Refuses a share that is none.
pub(super) fn check(coverage: Option<f64>) -> Result<()> {
    match coverage {
        Some(share) if !(share > 0.0 && share <= 1.0) => {
            Err(Error::input(format!("A share of {share} of the characters is none."))
                .at("character_coverage")
                .hint("Give a number above 0 and up to 1, such as 0.9995.")
                .value(share.to_string()))
        }
        _ => Ok(()),
    }
}

/// The characters to keep, sorted by code point: the most frequent ones, until their share of
/// all characters reaches `coverage`; and [`BLANK`] if it occurs.
pub(super) fn covered(counts: FxHashMap<char, u64>, coverage: Option<f64>) -> Vec<char> {
    let share = coverage.unwrap_or(1.0);
    let total: f64 = counts.values().map(|&count| count as f64).sum();
    let mut kept: Vec<(char, u64)> = counts.into_iter().collect();
    kept.sort_unstable_by_key(|&(c, count)| (std::cmp::Reverse(count), c));
    let mut reached = 0.0;
    let mut kept: Vec<char> = kept
        .into_iter()
        .filter(|&(c, count)| {
            let open = share >= 1.0 || reached < share * total;
            reached += count as f64;
            open || c == BLANK
        })
        .map(|(c, _)| c)
        .collect();
    kept.sort_unstable();
    kept
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_most_frequent_characters_and_the_blank_stay() {
        let mut words = WordCounts::new();
        for (word, count) in [("aaa", 30), ("bb", 4), ("\u{e9}", 2), ("dc", 1), ("\u{2581}", 1)] {
            words.add(word, count).unwrap();
        }
        let kept = |coverage| -> String {
            covered(character_counts(&words).unwrap(), coverage).into_iter().collect()
        };
        assert_eq!(kept(None), "abcd\u{e9}\u{2581}");
        assert_eq!(kept(Some(1.0)), "abcd\u{e9}\u{2581}");
        // 90 of 103 are a share of 0.874, with b 0.951.
        assert_eq!(kept(Some(0.87)), "a\u{2581}");
        assert_eq!(kept(Some(0.88)), "ab\u{2581}");
        // Of three characters with a count of one, the lowest code point comes first.
        assert_eq!(kept(Some(100.5 / 103.0)), "abc\u{e9}\u{2581}");
        for wrong in [0.0, -1.0, 1.1, f64::NAN] {
            assert_eq!(
                check(Some(wrong)).unwrap_err().location.as_deref(),
                Some("character_coverage")
            );
        }
    }
}
