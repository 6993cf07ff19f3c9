//! WordPiece: hand-checked scores, and every step by an independent recount.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use protok_core::train::wordpiece::{Scoring, train};
use protok_core::train::{BpeOptions, BpeTraining, StopReason, Symbols, TieRule, WordCounts};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

fn counts<'a>(words: impl IntoIterator<Item = (&'a str, u64)>) -> WordCounts {
    let mut counts = WordCounts::new();
    for (word, count) in words {
        counts.add(word, count).unwrap();
    }
    counts
}

fn options(vocab_size: usize, tie: TieRule) -> BpeOptions {
    BpeOptions {
        vocab_size,
        symbols: Symbols::Characters,
        continuing_subword_prefix: Some("##".into()),
        listed_ties: 1000,
        tie,
        ..BpeOptions::default()
    }
}

fn learn(words: &WordCounts, options: &BpeOptions, scoring: Scoring) -> BpeTraining {
    train(words, options, scoring, &mut |_| ControlFlow::Continue(())).unwrap()
}

fn text(training: &BpeTraining, (left, right): (u32, u32)) -> String {
    format!("{} {}", training.tokens[left as usize], training.tokens[right as usize])
}

#[test]
fn that_is_th_at_first() {
    let words = counts([("cat", 6), ("cats", 3), ("hat", 4), ("that", 2), ("chat", 1)]);
    let learned = learn(&words, &options(14, TieRule::LexicographicFirst), Scoring::Likelihood);
    let first = &learned.merges[0];
    assert_eq!(text(&learned, (first.left, first.right)), "t ##h");
    assert_eq!(learned.tokens[first.token as usize], "th");
    assert_eq!((first.count, first.parts, first.tied), (2, Some((2, 3)), 0));
    assert!((first.score() - 1.0 / 3.0).abs() < 1e-15);
    // With th gone, ##h occurs once, and its only pair is (##h, ##a): 1 / (1 x 16).
    let second = &learned.merges[1];
    assert_eq!((text(&learned, (second.left, second.right)), second.tied), ("c ##h".into(), 0));
    assert_eq!((second.count, second.parts), (1, Some((10, 1))));
}

#[test]
fn five_pairs_tie_in_the_second_step() {
    let words = counts([("hug", 10), ("pug", 5), ("pun", 12), ("bun", 4), ("hugs", 5)]);
    let learned = learn(&words, &options(13, TieRule::LexicographicLast), Scoring::Likelihood);
    let [first, second, ..] = &learned.merges[..] else { panic!("two merges") };
    assert_eq!(text(&learned, (first.left, first.right)), "##g ##s");
    assert_eq!((first.count, first.parts), (5, Some((20, 5))));
    assert_eq!(second.score(), 1.0 / 36.0);
    assert_eq!(text(&learned, (second.left, second.right)), "p ##u");
    let tied: Vec<String> = second.ties.iter().map(|&pair| text(&learned, pair)).collect();
    assert_eq!(tied, ["h ##u", "##u ##g", "##u ##n", "b ##u", "##u ##gs"]);
}

#[test]
fn by_counts_it_is_bpe_with_a_prefix() {
    let words = counts([("hug", 10), ("pug", 5), ("pun", 12), ("bun", 4), ("hugs", 5)]);
    let learned = learn(&words, &options(16, TieRule::LowestIds), Scoring::Counts);
    let merges: Vec<String> =
        learned.merges.iter().map(|m| text(&learned, (m.left, m.right))).collect();
    assert_eq!(merges[..3], ["##u ##g", "##u ##n", "h ##ug"]);
    assert_eq!(learned.merges[0].score(), 20.0);
}

#[test]
fn a_minimum_is_passed_over_and_required_tokens_are_there() {
    let words = counts([("abab", 3), ("xy", 1), ("qr", 1), ("abc", 2)]);
    let options = BpeOptions {
        min_frequency: 2,
        required: vec!["xyz".into(), "##ab".into()],
        ..options(100, TieRule::LexicographicFirst)
    };
    let learned = learn(&words, &options, Scoring::Likelihood);
    for token in ["xyz", "##ab"] {
        assert!(learned.tokens.iter().any(|known| known == token), "{token}");
    }
    assert!(learned.merges.iter().all(|merge| merge.required || merge.count >= 2));
    assert!(matches!(learned.stop, StopReason::MinFrequency(1)), "{:?}", learned.stop);
}

/// A pair and its count over those of its parts, by reading the whole corpus.
fn recount(words: &[(Vec<String>, u64)]) -> BTreeMap<(String, String), (u64, u64, u64)> {
    let (mut pairs, mut parts) = (BTreeMap::new(), BTreeMap::new());
    for (word, weight) in words {
        for token in word {
            *parts.entry(token.clone()).or_insert(0) += weight;
        }
        for two in word.windows(2) {
            *pairs.entry((two[0].clone(), two[1].clone())).or_insert(0) += weight;
        }
    }
    let with_parts = |((left, right), count): ((String, String), u64)| {
        let parts = (count, parts[&left], parts[&right]);
        ((left, right), parts)
    };
    pairs.into_iter().map(with_parts).collect()
}

fn merge(words: &mut [(Vec<String>, u64)], pair: &(String, String), token: &str) {
    for (word, _) in words {
        let mut i = 0;
        while i + 1 < word.len() {
            if (&word[i], &word[i + 1]) == (&pair.0, &pair.1) {
                word.splice(i..i + 2, [token.to_owned()]);
            }
            i += 1;
        }
    }
}

proptest! {
    #[test]
    fn each_merge_has_the_highest_score_of_its_step(
        list in prop::collection::vec(("[abc]{1,10}|[a-f]{1,6}", 1u64..9), 1..12),
        rule in prop_oneof![
            Just(TieRule::LowestIds),
            Just(TieRule::LexicographicFirst),
            Just(TieRule::LexicographicLast),
            Just(TieRule::FirstSeen),
        ],
        size in 12usize..50,
    ) {
        let counted = counts(list.iter().map(|(word, count)| (word.as_str(), *count)));
        let learned = learn(&counted, &options(size, rule), Scoring::Likelihood);
        let mut words: Vec<(Vec<String>, u64)> = counted
            .iter()
            .map(|(word, count)| {
                let letters = std::str::from_utf8(word).unwrap().chars().enumerate();
                let mark = |(i, c)| if i > 0 { format!("##{c}") } else { format!("{c}") };
                (letters.map(mark).collect(), count)
            })
            .collect();
        for step in &learned.merges {
            let all = recount(&words);
            let name = |id: u32| learned.tokens[id as usize].clone();
            let pair = (name(step.left), name(step.right));
            let (count, left, right) = all[&pair];
            prop_assert_eq!((step.count, step.parts), (count, Some((left, right))));
            let compare = |&(c, l, r): &(u64, u64, u64)| (c * left * right).cmp(&(count * l * r));
            prop_assert!(all.values().all(|other| compare(other).is_le()));
            let tied: Vec<_> = all.iter().filter(|(_, o)| compare(o).is_eq()).collect();
            prop_assert_eq!(tied.len() as u64, step.tied + 1);
            match rule {
                TieRule::LexicographicFirst => prop_assert_eq!(tied[0].0, &pair),
                TieRule::LexicographicLast => prop_assert_eq!(tied[tied.len() - 1].0, &pair),
                TieRule::FirstSeen => {
                    let first = words.iter().flat_map(|(word, _)| word.windows(2)).find(|two| {
                        tied.iter().any(|(p, _)| (&p.0, &p.1) == (&two[0], &two[1]))
                    });
                    let first = first.map(|two| (two[0].clone(), two[1].clone()));
                    prop_assert_eq!(first.as_ref(), Some(&pair));
                }
                TieRule::LowestIds => {
                    let id = |t: &String| learned.tokens.iter().position(|known| known == t);
                    let lowest = tied.iter().min_by_key(|(p, _)| (id(&p.0), id(&p.1)));
                    prop_assert_eq!(lowest.map(|(p, _)| *p), Some(&pair));
                }
            }
            merge(&mut words, &pair, &learned.tokens[step.token as usize]);
            let left: u64 = words.iter().map(|(word, weight)| word.len() as u64 * weight).sum();
            prop_assert_eq!(left, step.tokens_after);
        }
        let left = recount(&words);
        prop_assert!(learned.stop == StopReason::VocabSize || left.is_empty());
        prop_assert!(learned.stop == StopReason::NoPairs || learned.tokens.len() == size);
    }
}
