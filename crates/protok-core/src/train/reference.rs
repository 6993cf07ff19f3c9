//! The same training by rescanning everything at every step: the oracle of the fast trainer.

use super::merging::BpeMerge;
use super::queue::{compare_texts, ids_key};
use super::steps::Steps;
use super::symbols::{Prepared, Tokens, prepare};
use super::{BpeOptions, BpeTraining, MergeEvent, StopReason, TieRule, WordCounts};
use crate::Result;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

type Pair = (u32, u32);

/// Words as lists of ids, with their counts.
pub(super) struct Corpus {
    pub(super) words: Vec<Vec<u32>>,
    weights: Vec<i64>,
}

impl Corpus {
    pub(super) fn new(prepared: &Prepared) -> Self {
        let mut start = 0;
        let words = prepared.ends.iter().map(|&end| {
            let word = prepared.symbols[start..end as usize].to_vec();
            start = end as usize;
            word
        });
        Self { words: words.collect(), weights: prepared.weights.clone() }
    }

    /// All pairs with their counts, in reading order.
    pub(super) fn pairs(&self) -> Vec<(Pair, i64)> {
        let mut order = Vec::new();
        let mut counts = BTreeMap::new();
        for (word, weight) in self.words.iter().zip(&self.weights) {
            for two in word.windows(2) {
                *counts.entry((two[0], two[1])).or_insert_with(|| {
                    order.push((two[0], two[1]));
                    0
                }) += weight;
            }
        }
        order.into_iter().map(|pair| (pair, counts[&pair])).collect()
    }

    /// Merges a pair in one word, left to right; returns the pairs lost (-1) and won (+1).
    pub(super) fn merge(&mut self, word: usize, pair: Pair, token: u32) -> Vec<(Pair, i64)> {
        let word = &mut self.words[word];
        let mut changes = Vec::new();
        let mut i = 0;
        while i + 1 < word.len() {
            if (word[i], word[i + 1]) == pair {
                word.splice(i..i + 2, [token]);
                if i > 0 {
                    changes.push(((word[i - 1], pair.0), -1));
                    changes.push(((word[i - 1], token), 1));
                }
                if i + 1 < word.len() {
                    changes.push(((pair.1, word[i + 1]), -1));
                    changes.push(((token, word[i + 1]), 1));
                }
            }
            i += 1;
        }
        changes
    }

    /// How often a token occurs.
    pub(super) fn count(&self, token: u32) -> i64 {
        let words = self.words.iter().zip(&self.weights);
        words
            .map(|(word, weight)| word.iter().filter(|&&t| t == token).count() as i64 * weight)
            .sum()
    }

    pub(super) fn total(&self) -> i64 {
        self.words.iter().zip(&self.weights).map(|(word, weight)| word.len() as i64 * weight).sum()
    }
}

/// Trains by the same options to the same result, in O(merges x symbols).
pub(super) fn train(words: &WordCounts, options: &BpeOptions) -> Result<BpeTraining> {
    let prepared = prepare(words, options)?;
    let mut steps = Steps::new(&prepared, options)?;
    let mut corpus = Corpus::new(&prepared);
    let mut tokens = prepared.tokens;
    let mut ledger = Ledger::new(&corpus);
    let stop = loop {
        if tokens.len() >= options.vocab_size {
            break StopReason::VocabSize;
        }
        let waiting = if options.tie == TieRule::LowestIds {
            ledger.waiting(&corpus)
        } else {
            let pairs = corpus.pairs().into_iter();
            pairs.filter(|&((left, right), _)| steps.may_merge(left, right)).collect()
        };
        let chosen = if options.tie == TieRule::LowestIds {
            ledger.pop()
        } else {
            best(&waiting, options.tie, &tokens).map(|(pair, count)| (pair, count, None))
        };
        let Some((pair, count, within)) = chosen else { break StopReason::NoPairs };
        if count.unsigned_abs() < options.min_frequency {
            break StopReason::MinFrequency(count.unsigned_abs());
        }
        let tied: Vec<Pair> = waiting
            .iter()
            .filter(|&&(other, n)| n == count && other != pair)
            .map(|&(other, _)| other)
            .collect();
        let (token, is_new) = steps.spell(pair.0, pair.1, &mut tokens)?;
        let before = corpus.total();
        let all = || (0..corpus.words.len()).collect::<BTreeSet<_>>();
        let mut changes = Vec::new();
        for word in within.unwrap_or_else(all) {
            for (pair, change) in corpus.merge(word, pair, token) {
                if change < 0 || steps.may_merge(pair.0, pair.1) {
                    changes.push((pair, change * corpus.weights[word], word));
                }
            }
        }
        ledger.change(&changes);
        let ties = (tied.len() as u64, tied.into_iter().take(options.listed_ties).collect());
        let merge = BpeMerge::counted(pair, token, count, ties);
        let go_on = &mut |_: &MergeEvent<'_>| ControlFlow::Continue(());
        let _ = steps.record(merge, before - corpus.total(), is_new, &tokens, go_on);
    };
    Ok(steps.finish(&tokens, stop))
}

/// The best of the pairs, which come in reading order.
pub(super) fn best(pairs: &[(Pair, i64)], rule: TieRule, tokens: &Tokens) -> Option<(Pair, i64)> {
    let top = pairs.iter().map(|&(_, count)| count).max()?;
    let tied = pairs.iter().filter(|&&(_, count)| count == top);
    let by_text = |a: &&(Pair, i64), b: &&(Pair, i64)| compare_texts(tokens, a.0, b.0);
    match rule {
        TieRule::LowestIds => tied.min_by_key(|(pair, _)| ids_key(*pair)),
        TieRule::LexicographicFirst => tied.min_by(by_text),
        TieRule::LexicographicLast => tied.max_by(by_text),
        TieRule::FirstSeen => tied.into_iter().next(),
    }
    .copied()
}

/// The bookkeeping that `LowestIds` repeats: counts that only changes touch, and entries that
/// remember the words of one batch of changes.
struct Ledger {
    counts: BTreeMap<Pair, i64>,
    entries: Vec<(Pair, i64, BTreeSet<usize>)>,
}

impl Ledger {
    fn new(corpus: &Corpus) -> Self {
        let mut ledger = Self { counts: BTreeMap::new(), entries: Vec::new() };
        let mut changes = Vec::new();
        for (i, word) in corpus.words.iter().enumerate() {
            for two in word.windows(2) {
                changes.push(((two[0], two[1]), corpus.weights[i], i));
            }
        }
        ledger.change(&changes);
        ledger
    }

    fn change(&mut self, changes: &[(Pair, i64, usize)]) {
        let mut won: BTreeMap<Pair, BTreeSet<usize>> = BTreeMap::new();
        for &(pair, change, word) in changes {
            *self.counts.entry(pair).or_default() += change;
            if change > 0 {
                won.entry(pair).or_default().insert(word);
            }
        }
        for (pair, words) in won {
            if self.counts[&pair] > 0 {
                self.entries.push((pair, self.counts[&pair], words));
            }
        }
    }

    /// The pairs in the ledger with their present counts, in reading order.
    fn waiting(&self, corpus: &Corpus) -> Vec<(Pair, i64)> {
        let order: Vec<Pair> = corpus.pairs().into_iter().map(|(pair, _)| pair).collect();
        let pairs: BTreeSet<Pair> = self.entries.iter().map(|entry| entry.0).collect();
        let mut waiting: Vec<(Pair, i64)> = pairs
            .into_iter()
            .map(|pair| (pair, self.counts[&pair]))
            .filter(|&(_, count)| count > 0)
            .collect();
        waiting.sort_by_key(|(pair, _)| {
            (order.iter().position(|other| other == pair).unwrap_or(usize::MAX), *pair)
        });
        waiting
    }

    fn pop(&mut self) -> Option<(Pair, i64, Option<BTreeSet<usize>>)> {
        loop {
            let (i, _) = self
                .entries
                .iter()
                .enumerate()
                .min_by_key(|(i, (pair, count, _))| (std::cmp::Reverse(*count), *pair, *i))?;
            let (pair, count, _) = self.entries[i];
            if count != self.counts[&pair] {
                self.entries[i].1 = self.counts[&pair];
            } else if count > 0 {
                let (pair, count, words) = self.entries.remove(i);
                return Some((pair, count, Some(words)));
            } else {
                return None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::{EndOfWord, Symbols};
    use super::*;
    use proptest::prelude::*;

    fn options() -> impl Strategy<Value = BpeOptions> {
        let rules = prop_oneof![
            Just(TieRule::LowestIds),
            Just(TieRule::LexicographicFirst),
            Just(TieRule::LexicographicLast),
            Just(TieRule::FirstSeen),
        ];
        let marks = prop_oneof![Just(None), Just(Some("</w>".to_owned())), Just(Some("b".into()))];
        let prefixes = prop_oneof![Just(None), Just(Some("##".to_owned())), Just(Some("c".into()))];
        let ends = prop_oneof![Just(EndOfWord::Glued), Just(EndOfWord::Separate)];
        let specials = prop_oneof![
            Just(vec![]),
            Just(vec!["<s>".to_owned(), "ab".to_owned(), "a".to_owned(), "<s>".to_owned()])
        ];
        let numbers =
            (0usize..40, 0u64..4, proptest::option::of(1usize..6), proptest::option::of(0usize..4));
        (rules, marks, prefixes, ends, specials, numbers).prop_map(
            |(tie, suffix, prefix, end_of_word, special_tokens, (size, least, longest, limit))| {
                BpeOptions {
                    vocab_size: 20 + size,
                    min_frequency: least,
                    symbols: Symbols::Characters,
                    limit_alphabet: limit,
                    special_tokens,
                    end_of_word_suffix: suffix,
                    end_of_word,
                    continuing_subword_prefix: prefix,
                    max_token_length: longest,
                    tie,
                    listed_ties: 1000,
                    ..BpeOptions::default()
                }
            },
        )
    }

    fn same(words: &[(String, u64)], options: &BpeOptions) -> std::result::Result<(), String> {
        let mut counts = WordCounts::new();
        for (word, count) in words {
            counts.add(word, *count).unwrap();
        }
        let fast = super::super::bpe::train(&counts, options, &mut |_| ControlFlow::Continue(()));
        let slow = train(&counts, options);
        if fast == slow { Ok(()) } else { Err(format!("{fast:#?}\n{slow:#?}")) }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]

        #[test]
        fn the_fast_trainer_equals_the_reference(
            words in prop::collection::vec(("[abc]{1,12}", 1u64..5), 0..12),
            options in options(),
        ) {
            prop_assert_eq!(same(&words, &options), Ok(()));
        }

        #[test]
        fn also_without_marks_on_long_words(
            words in prop::collection::vec(("[ab]{1,80}|[abcd]{1,40}", 1u64..3), 1..5),
            options in options(),
            size in 10usize..120,
        ) {
            let options = BpeOptions {
                vocab_size: size,
                end_of_word_suffix: None,
                continuing_subword_prefix: None,
                limit_alphabet: None,
                ..options
            };
            prop_assert_eq!(same(&words, &options), Ok(()));
        }
    }
}
