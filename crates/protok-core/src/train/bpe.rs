//! Byte-pair encoding: merge the most frequent pair of neighbouring tokens, again and again.
//!
//! Source: Sennrich, Haddow and Birch, "Neural Machine Translation of Rare Words with Subword
//! Units" (2016), after Gage (1994). Pairs are counted once and then kept up to date around each
//! merge, so training is O(N + R log R) for N symbols in the distinct words and R pairs created,
//! also when the corpus is a single word of millions of letters.
//!
//! # What decides the result
//!
//! The highest count wins; [`TieRule`] orders equal counts totally. Overlapping occurrences all
//! count (`aaa` holds `aa` twice) although one merge uses only some. When a merge spells a token
//! that exists (`ab`+`c` after `a`+`bc`), the id is reused and the vocabulary does not grow.
//!
//! [`TieRule::LowestIds`] repeats the trainer of Hugging Face's `tokenizers` merge for merge,
//! including what follows there from a reused token: the count of a merged pair is not cleared,
//! new occurrences add to it, they are merged apart from the old ones and only in the words that
//! got them, and of a repeated rule the last stands. Differences: counts have 64 bits, not 32;
//! equal counts at the edge of `limit_alphabet`, and ids of prefixed or suffixed symbols, follow
//! a fixed order where there they change from run to run; a `vocab_size` that the base
//! vocabulary exceeds is an error. Under the other rules counts are exact at every step, and of
//! a repeated rule the first stands.
//!
//! # Required tokens
//!
//! They are reached by rules like all others, at the end. Each is a word of the corpus that occurs
//! no time, so the rules join its symbols as an encoder would; as soon as the vocabulary has only
//! room for the joins that are still missing, these become rules: of the first required token
//! that is in parts, its first two parts, and so on. A rule that comes later never undoes a token
//! that earlier ones make, so each of them, encoded alone, is one token. Where joins share a rule,
//! training goes on with the room that this leaves. With required tokens counts are exact under
//! every tie rule.

use super::WordCounts;
use super::merging::{BpeMerge, BpeOptions, BpeTraining, MergeEvent, StopReason, TieRule};
use super::pairs::{PARKED, PairIndex};
use super::queue::{Entry, Queue, ids_key};
use super::steps::Steps;
use super::symbols::{Prepared, Tokens, prepare};
use crate::Result;
use std::ops::ControlFlow;

/// Learns merges from weighted words, calling `observer` after each step.
///
/// ```
/// use protok_core::train::{BpeOptions, Symbols, WordCounts, bpe};
/// use std::ops::ControlFlow;
///
/// let mut words = WordCounts::new();
/// for (word, count) in [("hug", 10), ("pug", 5), ("pun", 12), ("bun", 4), ("hugs", 5)] {
///     words.add(word, count)?;
/// }
/// let options =
///     BpeOptions { vocab_size: 10, symbols: Symbols::Characters, ..BpeOptions::default() };
/// let training = bpe::train(&words, &options, &mut |_| ControlFlow::Continue(()))?;
/// let merges: Vec<_> = training.merge_texts().collect();
/// assert_eq!(merges, [("u", "g"), ("u", "n"), ("h", "ug")]);
/// assert_eq!(training.merges[0].count, 20);
/// # Ok::<(), protok_core::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Input`](crate::ErrorKind::Input) for an empty corpus, words that are not UTF-8
/// where characters are asked for, or a vocabulary smaller than its special tokens and alphabet;
/// [`ErrorKind::Limit`](crate::ErrorKind::Limit) when 2^30 symbols in distinct words, 2^63
/// occurrences or 1 GiB of token text is passed.
pub fn train(
    words: &WordCounts,
    options: &BpeOptions,
    observer: &mut dyn FnMut(&MergeEvent<'_>) -> ControlFlow<()>,
) -> Result<BpeTraining> {
    merge_all(prepare(words, options)?, options, observer)
}

/// Merges from a prepared corpus on.
pub(super) fn merge_all(
    prepared: Prepared,
    options: &BpeOptions,
    observer: &mut dyn FnMut(&MergeEvent<'_>) -> ControlFlow<()>,
) -> Result<BpeTraining> {
    let mut steps = Steps::new(&prepared, options)?;
    let Prepared { mut tokens, symbols, ends, weights, total, .. } = prepared;
    let pairs = PairIndex::new(symbols, &ends, weights);
    drop(ends);
    let exact = options.tie != TieRule::LowestIds || !options.required.is_empty();
    let mut trainer = Trainer::new(pairs, options, exact, &tokens);
    let merges = options.vocab_size.saturating_sub(tokens.len());
    trainer.pairs.leave_out(least_count(merges, total));
    let stop = loop {
        let joins = trainer.pairs.joins();
        if tokens.len() >= options.vocab_size && joins == 0 {
            break StopReason::VocabSize;
        }
        let mut chosen = Err(StopReason::VocabSize);
        if tokens.len() + joins < options.vocab_size {
            chosen = trainer.next(&tokens).ok_or(StopReason::NoPairs).and_then(|entry| {
                let count = entry.count.unsigned_abs();
                let frequent = count >= options.min_frequency;
                if frequent { Ok(entry) } else { Err(StopReason::MinFrequency(count)) }
            });
        }
        // Without room for more, or without more pairs, required tokens are joined.
        let required = chosen.is_err();
        let (entry, pair) = match chosen {
            Ok(entry) => (Some(entry), trainer.pairs.pair_of(entry.generation)),
            Err(stop) => match trainer.pairs.next_join() {
                Some(pair) => (None, pair),
                None => break stop,
            },
        };
        let count = trainer.pairs.count(pair);
        let tied = if required { (0, Vec::new()) } else { trainer.ties(pair, options.listed_ties) };
        let (left, right) = trainer.pairs.symbols(pair);
        let (token, is_new) = steps.spell(left, right, &mut tokens)?;
        let may_merge = |left, right| steps.may_merge(left, right);
        if !is_new {
            // The token may have pairs that were left out, and get more of them.
            trainer.complete(&tokens);
        }
        trainer.pairs.expect(is_new);
        let saved = trainer.merge(entry, pair, token, &tokens, &may_merge);
        let merge = BpeMerge { required, ..BpeMerge::counted((left, right), token, count, tied) };
        if steps.record(merge, saved, is_new, &tokens, observer).is_break() {
            break StopReason::Observer;
        }
    };
    Ok(steps.finish(&tokens, stop))
}

/// The queue over the index, in one of two ways of keeping counts.
pub(super) struct Trainer {
    pub(super) pairs: PairIndex,
    queue: Queue<Entry>,
    tie: TieRule,
    /// Whether a merge takes every site of a pair, so that its count is clear afterwards.
    exact: bool,
    /// Pairs with a lower count are not queued: most pairs are rare and never come up. When the
    /// queue is empty the floor sinks, and what is above it then is queued.
    floor: i64,
}

/// How many times as many pairs as merges are queued at first. None in tests, which thus see the
/// floor sink.
const SPARE: usize = if cfg!(test) { 0 } else { 4 };

/// A count that the last of so many merges will hardly fall below, in a corpus of so many symbols.
/// Token frequencies fall about as one over their rank.
fn least_count(merges: usize, symbols: i64) -> i64 {
    let merges = i64::try_from(merges).unwrap_or(i64::MAX);
    symbols / merges.saturating_mul(RARER).max(1)
}

/// Tests have both pairs that are left out and such as are taken in later.
const RARER: i64 = if cfg!(test) { 1 } else { 200 };

impl Trainer {
    /// Queues what is frequent enough to come up soon.
    pub(super) fn new(
        pairs: PairIndex,
        options: &BpeOptions,
        exact: bool,
        tokens: &Tokens,
    ) -> Self {
        let queue = Queue::new(options.tie);
        let mut trainer = Self { pairs, queue, tie: options.tie, exact, floor: 1 };
        trainer.raise_floor(options.vocab_size.saturating_sub(tokens.len()));
        for generation in trainer.pairs.generations() {
            trainer.push(generation, tokens);
        }
        trainer
    }

    /// How many other pairs have the count of one, and as many of these as are to be listed.
    pub(super) fn ties(&self, pair: u32, listed: usize) -> (u64, Vec<(u32, u32)>) {
        let count = self.pairs.count(pair);
        let tied = self.pairs.waiting(count).saturating_sub(1);
        let mut ties = Vec::new();
        if tied > 0 && listed > 0 {
            let waiting = self.pairs.waiting_pairs(count).into_iter();
            let others = waiting.filter(|&(_, other)| other != pair);
            ties.extend(others.take(listed).map(|(_, pair)| self.pairs.symbols(pair)));
        }
        (tied, ties)
    }

    /// Takes in the pairs that were left out; false if there are none.
    fn complete(&mut self, tokens: &Tokens) -> bool {
        if self.pairs.least() <= 1 {
            return false;
        }
        for generation in self.pairs.complete() {
            self.push(generation, tokens);
        }
        true
    }

    /// Sets the floor so that a few times as many pairs are above it as there will be merges.
    fn raise_floor(&mut self, merges: usize) {
        let pairs = self.pairs.generations().map(|g| self.pairs.count(self.pairs.pair_of(g)));
        let mut counts: Vec<i64> = pairs.collect();
        let enough = merges.saturating_mul(SPARE);
        if enough < counts.len() {
            let (_, &mut floor, _) = counts.select_nth_unstable_by(enough, |a, b| b.cmp(a));
            self.floor = floor.clamp(1, PARKED);
        }
    }

    /// Lowers the floor and queues what is above it; false if it cannot sink.
    fn sink_floor(&mut self, tokens: &Tokens) -> bool {
        if self.floor <= 1 {
            return false;
        }
        self.floor = (self.floor / 8).max(1);
        for generation in self.pairs.generations() {
            let pair = self.pairs.pair_of(generation);
            let count = self.pairs.parked(pair);
            if self.pairs.newest(pair) == generation && count >= self.floor {
                self.pairs.park(pair, 0);
                self.enqueue(generation, count, tokens);
            }
        }
        true
    }

    /// Whether a pair with this count may wait outside the queue: one entry speaks for it.
    fn may_park(&self, generation: u32, count: i64) -> bool {
        let alone = self.exact || self.pairs.older(generation).is_none();
        alone && 0 < count && count < self.floor
    }

    fn tie_of(&mut self, pair: u32) -> u64 {
        match self.tie {
            TieRule::FirstSeen => self.pairs.first_site(pair).into(),
            _ => ids_key(self.pairs.symbols(pair)),
        }
    }

    fn enqueue(&mut self, generation: u32, count: i64, tokens: &Tokens) {
        let tie = self.tie_of(self.pairs.pair_of(generation));
        self.queue.push(Entry { count, tie, generation }, tokens);
    }

    /// Queues a generation at the count of its pair, or parks the pair below the floor.
    pub(super) fn push(&mut self, generation: u32, tokens: &Tokens) {
        let pair = self.pairs.pair_of(generation);
        let parked = self.pairs.parked(pair);
        self.pairs.park(pair, 0);
        // An older generation that has its own entry keeps the count that it had.
        if let Some(older) = self.pairs.older(generation)
            && !self.exact
            && parked > 0
        {
            self.enqueue(older, parked, tokens);
        }
        let count = self.pairs.count(pair);
        if self.may_park(generation, count) {
            self.pairs.park(pair, count);
        } else {
            self.enqueue(generation, count, tokens);
        }
    }

    /// The best entry that is up to date.
    pub(super) fn next(&mut self, tokens: &Tokens) -> Option<Entry> {
        loop {
            let Some(entry) = self.queue.pop(tokens) else {
                if self.complete(tokens) || self.sink_floor(tokens) {
                    continue;
                }
                return None;
            };
            if entry.count < self.pairs.least() && self.complete(tokens) {
                self.queue.push(entry, tokens);
                continue;
            }
            // What is parked may come before an entry below the floor.
            if entry.count < self.floor && self.sink_floor(tokens) {
                self.queue.push(entry, tokens);
                continue;
            }
            let pair = self.pairs.pair_of(entry.generation);
            let (count, tie) = (self.pairs.count(pair), self.tie_of(pair));
            // Where counts are exact, the newest entry of a pair speaks for all its sites, and
            // none stays for a pair that is gone.
            if self.exact && (self.pairs.newest(pair) != entry.generation || count <= 0) {
                continue;
            }
            if (count, tie) != (entry.count, entry.tie) {
                if self.may_park(entry.generation, count) {
                    self.pairs.park(pair, count);
                } else {
                    self.queue.push(Entry { count, tie, ..entry }, tokens);
                }
            } else {
                return (count > 0).then_some(entry);
            }
        }
    }

    /// Merges, queues the pairs that came up, and returns how many tokens that saved.
    pub(super) fn merge(
        &mut self,
        entry: Option<Entry>,
        pair: u32,
        token: u32,
        tokens: &Tokens,
        may_merge: &dyn Fn(u32, u32) -> bool,
    ) -> i64 {
        let saved = match entry {
            Some(entry) if !self.exact => {
                let sites = self.pairs.take_words(entry.generation);
                self.pairs.apply(pair, token, &sites, may_merge)
            }
            _ => self.pairs.merge(pair, token, may_merge),
        };
        for generation in self.pairs.settle() {
            self.push(generation, tokens);
        }
        saved
    }
}
