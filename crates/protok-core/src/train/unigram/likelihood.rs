//! How probable a corpus is under a vocabulary: the measure that Unigram training minimizes.

use super::super::WordCounts;
use super::super::coverage::text;
use crate::model::trie::Trie;
use crate::parallel::map_groups;
use crate::{Error, Result};

/// What an unknown character scores below the least score of a piece, as in SentencePiece.
const UNKNOWN_PENALTY: f64 = 10.0;

/// Sums over a corpus.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Likelihood {
    /// The negative natural logarithm of the corpus's probability over all segmentations.
    pub marginal: f64,
    /// That of the best segmentation of each word.
    pub best_path: f64,
    /// The tokens of the best segmentations, with repetitions.
    pub tokens: f64,
    /// All characters of the corpus, with repetitions.
    pub characters: u64,
    /// Those that a best segmentation leaves unknown.
    pub unknown: u64,
}

/// Measures a corpus. A character where no piece starts scores as little as an unknown one does
/// in SentencePiece: ten less than the least probable piece.
///
/// ```
/// use protok_core::train::{WordCounts, unigram};
///
/// let mut words = WordCounts::new();
/// words.add("ab", 3)?;
/// let pieces = [("a", 0.5f64), ("b", 0.25), ("ab", 0.25)].map(|(p, x)| (p, x.ln()));
/// let found = unigram::likelihood(&pieces, &words, 1)?;
/// assert_eq!(found.best_path, 3.0 * 4f64.ln());
/// assert!((found.marginal - 3.0 * -0.375f64.ln()).abs() < 1e-12);
/// # Ok::<(), protok_core::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Input`](crate::ErrorKind::Input) for no pieces, a piece without text, a score that
/// is no number, or words that are not UTF-8.
pub fn likelihood(
    pieces: &[(impl AsRef<str> + Sync, f64)],
    words: &WordCounts,
    threads: usize,
) -> Result<Likelihood> {
    let wrong =
        pieces.iter().find(|(piece, score)| piece.as_ref().is_empty() || !score.is_finite());
    if let Some((piece, score)) = wrong {
        return Err(Error::input(format!("The piece {:?} has the score {score}.", piece.as_ref()))
            .at("pieces")
            .hint("A piece has text and a finite score."));
    }
    let least = pieces.iter().map(|&(_, score)| score).fold(f64::INFINITY, f64::min);
    if pieces.is_empty() {
        return Err(Error::input("There are no pieces.").at("pieces"));
    }
    let trie = Trie::new(pieces.iter().zip(0..).map(|((p, _), id)| (p.as_ref().as_bytes(), id)))?;
    let words: Vec<(&[u8], u64)> = words.iter().collect();
    let groups = map_groups(
        &words,
        |(word, _)| word.len() + 16,
        threads,
        |words, _| {
            let none = Likelihood {
                marginal: 0.0,
                best_path: 0.0,
                tokens: 0.0,
                characters: 0,
                unknown: 0,
            };
            words.iter().try_fold(none, |sum, &(word, count)| {
                let one = of_word(text(word)?, pieces, &trie, least - UNKNOWN_PENALTY);
                Ok(sum.plus(&one, count))
            })
        },
    )?;
    let mut groups = groups.into_iter();
    let first = groups.next().ok_or_else(|| Error::input("The corpus has no words to measure."))?;
    Ok(groups.fold(first, |sum, group| sum.plus(&group, 1)))
}

impl Likelihood {
    fn plus(&self, other: &Self, count: u64) -> Self {
        let weight = count as f64;
        Self {
            marginal: self.marginal + weight * other.marginal,
            best_path: self.best_path + weight * other.best_path,
            tokens: self.tokens + weight * other.tokens,
            characters: self.characters + count * other.characters,
            unknown: self.unknown + count * other.unknown,
        }
    }
}

/// At one byte of a word: the best score and its tokens and unknown characters, and the logarithm
/// of the sum over all ways to get there.
#[derive(Clone, Copy)]
struct Here {
    best: f64,
    tokens: u32,
    unknown: u32,
    sum: f64,
}

fn of_word(
    word: &str,
    pieces: &[(impl AsRef<str>, f64)],
    trie: &Trie,
    unknown_score: f64,
) -> Likelihood {
    let unreached = Here { best: f64::NEG_INFINITY, tokens: 0, unknown: 0, sum: f64::NEG_INFINITY };
    let mut at = vec![unreached; word.len() + 1];
    at[0] = Here { best: 0.0, sum: 0.0, ..unreached };
    for (start, c) in word.char_indices() {
        let here = at[start];
        let mut reach = |length: usize, score: f64, unknown: u32| {
            let there = &mut at[start + length];
            if here.best + score > there.best {
                there.best = here.best + score;
                there.tokens = here.tokens + 1;
                there.unknown = here.unknown + unknown;
            }
            there.sum = add_logs(there.sum, here.sum + score);
        };
        let mut alone = false;
        for (length, id) in trie.prefixes(&word.as_bytes()[start..]) {
            alone |= length == c.len_utf8();
            reach(length, pieces[id as usize].1, 0);
        }
        if !alone {
            reach(c.len_utf8(), unknown_score, 1);
        }
    }
    let end = at[word.len()];
    Likelihood {
        marginal: -end.sum,
        best_path: -end.best,
        tokens: end.tokens.into(),
        characters: word.chars().count() as u64,
        unknown: end.unknown.into(),
    }
}

fn add_logs(a: f64, b: f64) -> f64 {
    let (low, high) = if a < b { (a, b) } else { (b, a) };
    if low == f64::NEG_INFINITY { high } else { high + libm::log1p(libm::exp(low - high)) }
}
