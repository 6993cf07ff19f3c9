//! BPE that takes intermediate tokens out again.
//!
//! Source: Chizhov, Arnett, Korotkova and Yamshchikov, "BPE Gets Picky: Efficient Vocabulary
//! Refinement During Tokenizer Training" (2024, arXiv 2409.04599). A long token needs shorter ones
//! on its way, many of which hardly occur outside it: after `Kent` + `ucky` nobody writes `ucky`.
//! Such a token keeps a place in the vocabulary and an embedding that is never trained.
//!
//! # What decides the result
//!
//! A step merges as [`bpe`](super::bpe) does, with exact counts under every tie rule. Then, for
//! the left and the right token of the pair, the share of its occurrences that went into the merge
//! is measured, as of before the merge. From `share` on the token is removed, the left one first:
//! wherever it still stands it is taken apart into the two tokens of the rule that made it, or
//! what these are taken apart into if they are gone. Special tokens and first symbols always stay,
//! so every text can be encoded. A removed token may be made again; it then has its old id.
//! Training ends when the tokens that are there have the number asked for.
//!
//! No state comes back: what a removal undoes, a longer token has grown by, and of the longest
//! ones none is undone. A step costs its sites and those of the tokens it removes.
//!
//! # Encoding
//!
//! The original replays merges and removals in their order. A list of merges cannot say that: a
//! rule names two tokens of the vocabulary, and these are gone. The longest match from the left
//! needs no rules, finds every token that is kept, and for BPE vocabularies is about as short (Uzan,
//! Schmidt, Tanner and Pinter, "Greed is All You Need", 2024); so the result is meant to be read
//! as a WordPiece vocabulary without a mark. Its segmentation of a word may be another than that
//! of the last step here.

use super::bpe::Trainer;
use super::merging::{BpeMerge, BpeOptions, BpeTraining, MergeEvent, Removal, StopReason};
use super::pairs::PairIndex;
use super::steps::Steps;
use super::symbols::{Prepared, prepare};
use super::{EndOfWord, WordCounts};
use crate::{Error, Result};
use std::ops::ControlFlow;

/// Learns merges and removals. The result has all tokens that were ever made, the steps in their
/// order and what each removed; [`BpeTraining::kept`] says which tokens are the vocabulary.
///
/// ```
/// use protok_core::train::{BpeOptions, Symbols, WordCounts, removal};
/// use std::ops::ControlFlow;
///
/// let mut words = WordCounts::new();
/// for (word, count) in [("abc", 9), ("ab", 1), ("cb", 4)] {
///     words.add(word, count)?;
/// }
/// let options =
///     BpeOptions { vocab_size: 5, symbols: Symbols::Characters, ..BpeOptions::default() };
/// let training = removal::train(&words, &options, 0.9, &mut |_| ControlFlow::Continue(()))?;
/// let kept: Vec<&str> =
///     training.kept().into_iter().map(|id| training.tokens[id as usize].as_str()).collect();
/// // Nine of ten `ab` went into `abc`; the tenth is two tokens again.
/// assert_eq!(kept, ["a", "b", "c", "abc", "cb"]);
/// assert_eq!(training.removals[0].times, 1);
/// # Ok::<(), protok_core::Error>(())
/// ```
///
/// # Errors
/// As [`bpe::train`](super::bpe::train), and [`ErrorKind::Input`](crate::ErrorKind::Input) for a
/// share below 0.5 or above 1, a prefix or suffix, or required tokens.
pub fn train(
    words: &WordCounts,
    options: &BpeOptions,
    share: f64,
    observer: &mut dyn FnMut(&MergeEvent<'_>) -> ControlFlow<()>,
) -> Result<BpeTraining> {
    check(options, share)?;
    let prepared = prepare(words, options)?;
    let mut steps = Steps::new(&prepared, options)?;
    let Prepared { mut tokens, symbols, ends, weights, .. } = prepared;
    let pairs = PairIndex::new(symbols, &ends, weights);
    drop(ends);
    let mut trainer = Trainer::new(pairs, options, true, &tokens);
    let mut made = Made { base: tokens.len(), tokens: Vec::new(), share };
    let mut removals = Vec::new();
    let mut step = 0;
    let stop = loop {
        if tokens.len() - steps.gone >= options.vocab_size {
            break StopReason::VocabSize;
        }
        let Some(entry) = trainer.next(&tokens) else { break StopReason::NoPairs };
        let count = entry.count.unsigned_abs();
        if count < options.min_frequency {
            break StopReason::MinFrequency(count);
        }
        let pair = trainer.pairs.pair_of(entry.generation);
        let tied = trainer.ties(pair, options.listed_ties);
        let (left, right) = trainer.pairs.symbols(pair);
        let (token, is_new) = steps.spell(left, right, &mut tokens)?;
        let may_merge = |left, right| steps.may_merge(left, right);
        let places = trainer.pairs.places(pair);
        let mut saved = trainer.merge(Some(entry), pair, token, &tokens, &may_merge);
        let worn = made.worn((left, right), saved);
        let places = trainer.pairs.standing(places, token);
        let again = made.merged((left, right), token, saved, places);
        let first = removals.len();
        for worn in worn {
            let parts = made.parts(worn);
            let removed = &mut made.tokens[worn as usize - made.base];
            removed.gone = true;
            let places = trainer.pairs.standing(std::mem::take(&mut removed.places), worn);
            let sized: Vec<(u32, u32)> = parts.iter().map(|&id| (id, steps.length(id))).collect();
            let times = trainer.pairs.split(&places, &sized, &may_merge);
            for generation in trainer.pairs.settle() {
                trainer.push(generation, &tokens);
            }
            made.split(worn, &sized, times, &places);
            saved -= times * (parts.len() as i64 - 1);
            removals.push(Removal { step, token: worn, parts, times: times.unsigned_abs() });
        }
        steps.gone -= usize::from(again);
        steps.gone += removals.len() - first;
        let merge = BpeMerge::counted((left, right), token, entry.count, tied);
        if steps.record(merge, saved, is_new || again, &tokens, observer).is_break() {
            break StopReason::Observer;
        }
        step += 1;
    };
    let training = steps.finish_log(&tokens, stop);
    Ok(BpeTraining { removals, ..training })
}

fn check(options: &BpeOptions, share: f64) -> Result<()> {
    if !(0.5..=1.0).contains(&share) {
        return Err(Error::input(format!("Tokens cannot be removed from a share of {share} on."))
            .at("remove_intermediate")
            .hint("Give a number from 0.5 to 1, such as 0.9.")
            .value(share.to_string()));
    }
    let marked = [&options.continuing_subword_prefix, &options.end_of_word_suffix]
        .into_iter()
        .flatten()
        .any(|mark| !mark.is_empty());
    if marked || !options.required.is_empty() || options.end_of_word == EndOfWord::Separate {
        return Err(Error::input(
            "Tokens with a prefix or suffix, and required tokens, are not removed.",
        )
        .at("remove_intermediate")
        .hint("Leave the others out, or keep the intermediate tokens."));
    }
    Ok(())
}

/// The tokens that training made.
struct Made {
    /// How many tokens there were before.
    base: usize,
    tokens: Vec<Token>,
    share: f64,
}

/// What is known of a token that was made.
#[derive(Default)]
struct Token {
    /// The parts of the rule that made it, at first or after it was gone.
    rule: (u32, u32),
    /// How often it occurs.
    count: i64,
    /// Where it was made; it may have grown on since.
    places: Vec<u32>,
    gone: bool,
}

impl Made {
    fn get(&self, token: u32) -> Option<&Token> {
        self.tokens.get((token as usize).checked_sub(self.base)?)
    }

    fn get_mut(&mut self, token: u32) -> Option<&mut Token> {
        self.tokens.get_mut((token as usize).checked_sub(self.base)?)
    }

    /// The parts of a merge, which happened so often, that it takes the vocabulary's need of.
    fn worn(&self, (left, right): (u32, u32), times: i64) -> Vec<u32> {
        let used = if left == right { 2 * times } else { times };
        let mut worn = vec![left, right];
        worn.dedup();
        worn.retain(|&part| {
            self.get(part).is_some_and(|token| used as f64 >= self.share * token.count as f64)
        });
        worn
    }

    /// Notes a merge; returns whether the token had been gone.
    fn merged(&mut self, rule: (u32, u32), token: u32, times: i64, mut places: Vec<u32>) -> bool {
        for part in [rule.0, rule.1] {
            if let Some(part) = self.get_mut(part) {
                part.count -= times;
            }
        }
        let is_new = token as usize == self.base + self.tokens.len();
        if is_new {
            self.tokens.push(Token { rule, ..Token::default() });
        }
        let Some(known) = self.get_mut(token) else { return false };
        let again = std::mem::take(&mut known.gone);
        if again {
            known.rule = rule;
        }
        known.count += times;
        known.places.append(&mut places);
        again
    }

    /// What a token is taken apart into.
    fn parts(&self, token: u32) -> Vec<u32> {
        let mut parts = Vec::new();
        let mut open = Vec::new();
        if let Some(token) = self.get(token) {
            open.extend([token.rule.1, token.rule.0]);
        }
        while let Some(part) = open.pop() {
            match self.get(part).filter(|part| part.gone) {
                Some(gone) => open.extend([gone.rule.1, gone.rule.0]),
                None => parts.push(part),
            }
        }
        parts
    }

    /// Notes that a token was taken apart at these places, so often.
    fn split(&mut self, token: u32, parts: &[(u32, u32)], times: i64, places: &[u32]) {
        if let Some(token) = self.get_mut(token) {
            token.count -= times;
        }
        let mut offset = 0;
        for &(part, length) in parts {
            if let Some(part) = self.get_mut(part) {
                part.count += times;
                part.places.extend(places.iter().map(|place| place + offset));
            }
            offset += length;
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::reference::{Corpus, best};
    use super::super::{Symbols, TieRule};
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn go_on(_: &MergeEvent<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// The same by rescanning all words at every step.
    fn reference(words: &WordCounts, options: &BpeOptions, share: f64) -> Result<BpeTraining> {
        let prepared = prepare(words, options)?;
        let mut steps = Steps::new(&prepared, options)?;
        let mut corpus = Corpus::new(&prepared);
        let mut tokens = prepared.tokens;
        let base = tokens.len() as u32;
        let mut rules: BTreeMap<u32, (u32, u32)> = BTreeMap::new();
        let mut gone: Vec<u32> = Vec::new();
        let mut removals = Vec::new();
        let stop = loop {
            if tokens.len() - gone.len() >= options.vocab_size {
                break StopReason::VocabSize;
            }
            let pairs = corpus.pairs().into_iter();
            let waiting: Vec<_> =
                pairs.filter(|&((left, right), _)| steps.may_merge(left, right)).collect();
            let Some((pair, count)) = best(&waiting, options.tie, &tokens) else {
                break StopReason::NoPairs;
            };
            if count.unsigned_abs() < options.min_frequency {
                break StopReason::MinFrequency(count.unsigned_abs());
            }
            let (token, is_new) = steps.spell(pair.0, pair.1, &mut tokens)?;
            let again = gone.contains(&token);
            if (is_new || again) && token >= base {
                rules.insert(token, pair);
            }
            gone.retain(|&other| other != token);
            let mut parts = vec![pair.0, pair.1];
            parts.dedup();
            let before: Vec<i64> = parts.iter().map(|&part| corpus.count(part)).collect();
            let all = corpus.total();
            for word in 0..corpus.words.len() {
                corpus.merge(word, pair, token);
            }
            let merged = all - corpus.total();
            for (&part, &count) in parts.iter().zip(&before) {
                let used = merged * if pair.0 == pair.1 { 2 } else { 1 };
                if part < base || (used as f64) < share * count as f64 {
                    continue;
                }
                gone.push(part);
                let mut into = vec![part];
                while let Some(at) = into.iter().position(|part| gone.contains(part)) {
                    let (left, right) = rules[&into[at]];
                    into.splice(at..=at, [left, right]);
                }
                let times = corpus.count(part);
                for word in &mut corpus.words {
                    let apart =
                        |&token: &u32| if token == part { into.clone() } else { vec![token] };
                    *word = word.iter().flat_map(apart).collect();
                }
                let (step, times) = (steps.steps(), times.unsigned_abs());
                removals.push(Removal { step, token: part, parts: into, times });
            }
            steps.gone = gone.len();
            let others = waiting.iter().filter(|&&(other, n)| n == count && other != pair);
            let ties: Vec<_> = others.map(|&(other, _)| other).collect();
            let ties = (ties.len() as u64, ties.into_iter().take(options.listed_ties).collect());
            let merge = BpeMerge::counted(pair, token, count, ties);
            let saved = all - corpus.total();
            let _ = steps.record(merge, saved, is_new || again, &tokens, &mut go_on);
        };
        let training = steps.finish_log(&tokens, stop);
        Ok(BpeTraining { removals, ..training })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]

        #[test]
        fn the_fast_trainer_equals_the_reference(
            words in prop::collection::vec(("[ab]{1,30}|[abc]{1,14}", 1u64..6), 0..10),
            tie in prop_oneof![
                Just(TieRule::LowestIds), Just(TieRule::LexicographicFirst),
                Just(TieRule::LexicographicLast), Just(TieRule::FirstSeen),
            ],
            special in prop_oneof![Just(vec![]), Just(vec!["ab".to_owned(), "<s>".to_owned()])],
            share in prop_oneof![Just(0.5), Just(0.7), Just(0.9), Just(1.0)],
            (size, least, longest) in (2usize..30, 0u64..3, proptest::option::of(2usize..9)),
        ) {
            let mut counts = WordCounts::new();
            for (word, count) in &words {
                counts.add(word, *count).unwrap();
            }
            let options = BpeOptions {
                vocab_size: size + 5,
                min_frequency: least,
                symbols: Symbols::Characters,
                special_tokens: special,
                max_token_length: longest,
                tie,
                listed_ties: 1000,
                ..BpeOptions::default()
            };
            let fast = train(&counts, &options, share, &mut go_on);
            prop_assert_eq!(&fast, &reference(&counts, &options, share));
            let Ok(fast) = fast else { return Ok(()) };
            let kept = fast.kept();
            prop_assert_eq!(fast.stop == StopReason::VocabSize, kept.len() == options.vocab_size);
            prop_assert!(kept[..fast.base_size].iter().copied().eq(0..fast.base_size as u32));
        }
    }

    #[test]
    fn what_cannot_be_removed_is_refused() {
        let mut words = WordCounts::new();
        words.add("abab", 2).unwrap();
        let plain = BpeOptions { vocab_size: 300, ..BpeOptions::default() };
        let marked = BpeOptions { end_of_word_suffix: Some("</w>".into()), ..plain.clone() };
        let required = BpeOptions { required: vec!["ab".into()], ..plain.clone() };
        for (options, share) in [(&plain, 0.4), (&plain, 1.1), (&plain, f64::NAN)]
            .into_iter()
            .chain([(&marked, 0.9), (&required, 0.9)])
        {
            let error = train(&words, options, share, &mut go_on).unwrap_err();
            assert_eq!(error.location.as_deref(), Some("remove_intermediate"));
        }
        assert!(train(&words, &plain, 0.9, &mut go_on).is_ok());
    }
}
