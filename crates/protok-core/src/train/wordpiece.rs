//! WordPiece: merges by how much likelier a pair is than its parts are by chance.
//!
//! Source: Schuster and Nakajima, "Japanese and Korean Voice Search" (2012), as it is commonly
//! read: the pair is merged whose merging raises the likelihood of a unigram model the most, the
//! one with the highest count(ab) / (count(a) count(b)). [`Scoring::Counts`] is what Hugging
//! Face's `tokenizers` trains instead: [BPE](super::bpe) with a prefix on symbols inside a word.
//!
//! A merge makes its parts rarer, which raises the score of every other pair that has one of them.
//! These are queued anew with their score; scores that have fallen since they were queued are
//! found when they come up, as in BPE. A merge thus costs its sites and the pairs of its two
//! parts; frequent letters have many, but their scores are low, so they are merged late and
//! seldom. Scores are compared exactly, as fractions of whole numbers.

use super::WordCounts;
use super::bpe;
use super::merging::{BpeMerge, BpeOptions, BpeTraining, MergeEvent, StopReason, TieRule};
use super::pairs::PairIndex;
use super::queue::{Queue, Ranked, compare_ties, ids_key};
use super::steps::Steps;
use super::symbols::{Prepared, Tokens, prepare};
use crate::Result;
use std::cmp::Ordering;
use std::ops::ControlFlow;

/// Which pair is merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scoring {
    /// The one with the highest count, as in Hugging Face's `tokenizers`.
    #[default]
    Counts,
    /// The one with the highest count over the counts of its two parts.
    Likelihood,
}

/// Learns a WordPiece vocabulary; the merges are the log of how it came to be.
///
/// `options` are those of BPE; `continuing_subword_prefix` is usually `##`. By likelihood, pairs
/// below `min_frequency` are passed over, and the tie rules are exact (see [`bpe`]).
///
/// ```
/// use protok_core::train::wordpiece::{Scoring, train};
/// use protok_core::train::{BpeOptions, Symbols, WordCounts};
/// use std::ops::ControlFlow;
///
/// let mut words = WordCounts::new();
/// for (word, count) in [("hug", 10), ("pug", 5), ("pun", 12), ("bun", 4), ("hugs", 5)] {
///     words.add(word, count)?;
/// }
/// let options = BpeOptions {
///     vocab_size: 12,
///     symbols: Symbols::Characters,
///     continuing_subword_prefix: Some("##".into()),
///     ..BpeOptions::default()
/// };
/// let training =
///     train(&words, &options, Scoring::Likelihood, &mut |_| ControlFlow::Continue(()))?;
/// let merges: Vec<_> = training.merge_texts().collect();
/// assert_eq!(merges[0], ("##g", "##s"));
/// assert_eq!(training.merges[0].score(), 1.0 / 20.0);
/// # Ok::<(), protok_core::Error>(())
/// ```
///
/// # Errors
/// As [`bpe::train`].
pub fn train(
    words: &WordCounts,
    options: &BpeOptions,
    scoring: Scoring,
    observer: &mut dyn FnMut(&MergeEvent<'_>) -> ControlFlow<()>,
) -> Result<BpeTraining> {
    if scoring == Scoring::Counts {
        return bpe::train(words, options, observer);
    }
    let prepared = prepare(words, options)?;
    let mut steps = Steps::new(&prepared, options)?;
    let counts = symbol_counts(&prepared);
    let Prepared { mut tokens, symbols, ends, weights, .. } = prepared;
    let mut trainer = Trainer {
        pairs: PairIndex::new(symbols, &ends, weights),
        queue: Queue::new(options.tie),
        tie: options.tie,
        least: options.min_frequency.max(1),
        counts,
        with: Vec::new(),
        newest: Vec::new(),
    };
    drop(ends);
    trainer.notice_pairs(tokens.len());
    for pair in 0..trainer.pairs.len() as u32 {
        trainer.push(pair, &tokens);
    }
    let stop = loop {
        let joins = trainer.pairs.joins();
        if tokens.len() >= options.vocab_size && joins == 0 {
            break StopReason::VocabSize;
        }
        let room = tokens.len() + joins < options.vocab_size;
        let next = if room { trainer.next(&tokens) } else { None };
        let required = next.is_none();
        let pair = match next.or_else(|| trainer.pairs.next_join()) {
            Some(pair) => pair,
            None => break trainer.reason(),
        };
        let score = trainer.score(pair);
        let ties = if options.listed_ties > 0 { trainer.ties(pair) } else { Vec::new() };
        let (left, right) = trainer.pairs.symbols(pair);
        let (token, is_new) = steps.spell(left, right, &mut tokens)?;
        let may_merge = |left, right| steps.may_merge(left, right);
        let saved = trainer.merge(pair, token, &tokens, &may_merge);
        let merge = BpeMerge {
            left,
            right,
            token,
            count: score.count,
            parts: Some((score.left, score.right)),
            required,
            tied: ties.len() as u64,
            ties: ties.into_iter().take(options.listed_ties).collect(),
            tokens_after: 0,
        };
        if steps.record(merge, saved, is_new, &tokens, observer).is_break() {
            break StopReason::Observer;
        }
    };
    Ok(steps.finish(&tokens, stop))
}

fn symbol_counts(prepared: &Prepared) -> Vec<u64> {
    let mut counts = vec![0u64; prepared.tokens.len()];
    let mut start = 0;
    for (&end, &weight) in prepared.ends.iter().zip(&prepared.weights) {
        for &symbol in &prepared.symbols[start..end as usize] {
            counts[symbol as usize] += weight.unsigned_abs();
        }
        start = end as usize;
    }
    counts
}

/// `count / (left * right)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Score {
    count: u64,
    left: u64,
    right: u64,
}

impl Score {
    fn compare(&self, other: &Self) -> Ordering {
        let ours = times(u128::from(other.left) * u128::from(other.right), self.count);
        let theirs = times(u128::from(self.left) * u128::from(self.right), other.count);
        ours.cmp(&theirs)
    }
}

/// The product as its upper 128 and lower 64 bits.
fn times(a: u128, b: u64) -> (u128, u64) {
    let low = u128::from(a as u64) * u128::from(b);
    ((a >> 64) * u128::from(b) + (low >> 64), low as u64)
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    score: Score,
    tie: u64,
    pair: u32,
    /// Of the entries of a pair only the newest counts.
    version: u32,
}

impl Ranked for Entry {
    fn before(&self, other: &Self, rule: TieRule, tokens: &Tokens) -> bool {
        let order = other.score.compare(&self.score);
        let order = order.then_with(|| compare_ties(rule, self.tie, other.tie, tokens));
        order.then((self.pair, self.version).cmp(&(other.pair, other.version))) == Ordering::Less
    }
}

struct Trainer {
    pairs: PairIndex,
    queue: Queue<Entry>,
    tie: TieRule,
    least: u64,
    /// How often each token occurs.
    counts: Vec<u64>,
    /// The pairs that have each token as a part.
    with: Vec<Vec<u32>>,
    /// The newest version of each pair's entry.
    newest: Vec<u32>,
}

impl Trainer {
    fn score(&self, pair: u32) -> Score {
        let (left, right) = self.pairs.symbols(pair);
        Score {
            count: self.pairs.count(pair).max(0).unsigned_abs(),
            left: self.counts[left as usize],
            right: self.counts[right as usize],
        }
    }

    /// Files the pairs that have come up since, under their parts.
    fn notice_pairs(&mut self, tokens: usize) {
        self.with.resize(tokens, Vec::new());
        for pair in self.newest.len() as u32..self.pairs.len() as u32 {
            let (left, right) = self.pairs.symbols(pair);
            self.with[left as usize].push(pair);
            if left != right {
                self.with[right as usize].push(pair);
            }
            self.newest.push(0);
        }
    }

    /// Queues a pair with its present score, in place of its other entries.
    fn push(&mut self, pair: u32, tokens: &Tokens) {
        let score = self.score(pair);
        if score.count < self.least {
            return;
        }
        let tie = match self.tie {
            TieRule::FirstSeen => self.pairs.first_site(pair).into(),
            _ => ids_key(self.pairs.symbols(pair)),
        };
        let version = self.newest[pair as usize] + 1;
        self.newest[pair as usize] = version;
        self.queue.push(Entry { score, tie, pair, version }, tokens);
    }

    /// The best pair.
    fn next(&mut self, tokens: &Tokens) -> Option<u32> {
        while let Some(entry) = self.queue.pop(tokens) {
            if self.newest[entry.pair as usize] != entry.version {
                continue;
            }
            let moved = self.tie == TieRule::FirstSeen
                && u64::from(self.pairs.first_site(entry.pair)) != entry.tie;
            if moved || self.score(entry.pair) != entry.score {
                self.push(entry.pair, tokens);
                continue;
            }
            return Some(entry.pair);
        }
        None
    }

    fn merge(
        &mut self,
        pair: u32,
        token: u32,
        tokens: &Tokens,
        may_merge: &dyn Fn(u32, u32) -> bool,
    ) -> i64 {
        let (left, right) = self.pairs.symbols(pair);
        self.counts.resize(tokens.len(), 0);
        let saved = self.pairs.merge(pair, token, may_merge);
        for part in [left, right] {
            self.counts[part as usize] -= saved.unsigned_abs();
        }
        self.counts[token as usize] += saved.unsigned_abs();
        let created = self.pairs.settle();
        self.notice_pairs(tokens.len());
        let mut changed: Vec<u32> = created.map(|g| self.pairs.pair_of(g)).collect();
        for part in [left, right] {
            let pairs = &mut self.with[part as usize];
            pairs.retain(|&pair| self.pairs.newest(pair) != super::pairs::NONE);
            changed.extend_from_slice(pairs);
        }
        changed.sort_unstable();
        changed.dedup();
        for pair in changed {
            self.push(pair, tokens);
        }
        saved
    }

    /// The other pairs with the same score, in reading order. O(pairs).
    fn ties(&self, chosen: u32) -> Vec<(u32, u32)> {
        let score = self.score(chosen);
        let tied = (0..self.pairs.len() as u32).filter(|&pair| {
            let other = self.score(pair);
            pair != chosen && other.count >= self.least && other.compare(&score).is_eq()
        });
        let mut tied: Vec<(u32, u32)> =
            tied.map(|pair| (self.pairs.peek_first_site(pair), pair)).collect();
        tied.sort_unstable();
        tied.into_iter().map(|(_, pair)| self.pairs.symbols(pair)).collect()
    }

    /// Why there is no next pair.
    fn reason(&self) -> StopReason {
        let counts = (0..self.pairs.len() as u32).map(|pair| self.pairs.count(pair));
        match counts.max() {
            Some(count) if count > 0 => StopReason::MinFrequency(count.unsigned_abs()),
            _ => StopReason::NoPairs,
        }
    }
}
