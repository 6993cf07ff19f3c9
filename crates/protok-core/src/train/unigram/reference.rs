//! The same expectation by writing out every segmentation: the oracle of the fast passes.

#![allow(clippy::unwrap_used)]
use super::super::{UnigramOptions, WordCounts};
use super::expectation::{best_paths, expected, shards};
use super::pieces::Pieces;
use super::text::Text;
use super::{PieceRules, likelihood, prune, seeds, train};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

const FREE: PieceRules = PieceRules {
    split_by_whitespace: false,
    split_by_script: false,
    split_by_number: false,
    split_digits: false,
};

/// All ways to write `word` in pieces.
fn segmentations<'a>(word: &'a str, scores: &BTreeMap<String, f64>) -> Vec<Vec<&'a str>> {
    if word.is_empty() {
        return vec![vec![]];
    }
    let mut all = Vec::new();
    for (end, c) in word.char_indices() {
        let (head, tail) = word.split_at(end + c.len_utf8());
        if scores.contains_key(head) {
            for rest in segmentations(tail, scores) {
                all.push([vec![head], rest].concat());
            }
        }
    }
    all
}

fn counted(words: &[(String, u64)]) -> WordCounts {
    let mut counts = WordCounts::new();
    for (word, count) in words {
        counts.add(word, *count).unwrap();
    }
    counts
}

fn start(words: &WordCounts, options: &UnigramOptions) -> (Text, Pieces, BTreeMap<String, f64>) {
    let text = Text::new(words, options).unwrap();
    let pieces = seeds::choose(&text, options, 1).unwrap();
    let scores =
        (0..pieces.len()).map(|id| (pieces.string(id, &text), pieces.scores[id])).collect();
    (text, pieces, scores)
}

proptest! {
    #[test]
    fn expected_counts_are_those_of_all_segmentations(
        words in prop::collection::vec(("[abc]{1,9}|a{1,9}", 1u64..6), 1..6),
        longest in 1usize..5,
    ) {
        let words = counted(&words);
        let options = UnigramOptions { max_piece_length: longest, rules: FREE, ..Default::default() };
        let (text, mut pieces, scores) = start(&words, &options);
        let mut counts: BTreeMap<String, f64> = BTreeMap::new();
        let (mut log_likelihood, mut best) = (0.0, 0.0);
        for (word, weight) in words.iter() {
            let word = std::str::from_utf8(word).unwrap();
            let all = segmentations(word, &scores);
            let value = |pieces: &[&str]| pieces.iter().map(|&p| scores[p]).sum::<f64>();
            let total: f64 = all.iter().map(|pieces| value(pieces).exp()).sum();
            log_likelihood += weight as f64 * total.ln();
            let most = all.iter().map(|p| value(p)).fold(f64::NEG_INFINITY, f64::max);
            best += weight as f64 * most;
            for pieces in &all {
                for &piece in pieces {
                    *counts.entry(piece.to_owned()).or_default() +=
                        weight as f64 * value(pieces).exp() / total;
                }
            }
        }
        let shards = shards(&text);
        pieces.show_probabilities();
        for floor in [0.9, 1e-300] {
            // The second is so low that every segment counts as long.
            let sums = expected(&pieces, &text, &shards, floor, 2);
            prop_assert!((sums.log_likelihood - log_likelihood).abs() < 1e-9);
            for id in 0..pieces.len() {
                let slow = counts.get(&pieces.string(id, &text)).copied().unwrap_or(0.0);
                prop_assert!((sums.counts[id] - slow).abs() < 1e-9);
            }
        }
        let listed: Vec<(String, f64)> = scores.into_iter().collect();
        let measured = likelihood(&listed, &words, 1).unwrap();
        prop_assert!((measured.marginal + log_likelihood).abs() < 1e-9);
        prop_assert!((measured.best_path + best).abs() < 1e-9);
        pieces.show_scores();
        let sums = best_paths(&pieces, &text, &shards, 2);
        prop_assert!((sums.log_likelihood - best).abs() < 1e-9);
    }

    #[test]
    fn removed_pieces_leave_the_others_where_they_were(
        words in prop::collection::vec(("[ab]{1,9}", 1u64..6), 1..6),
        kept in prop::collection::vec(any::<bool>(), 200),
    ) {
        let words = counted(&words);
        let options = UnigramOptions { rules: FREE, ..Default::default() };
        let (text, mut pieces, mut scores) = start(&words, &options);
        let kept: Vec<bool> = (0..pieces.len())
            .map(|id| pieces.protected[id] || kept[id % kept.len()])
            .collect();
        for (id, &kept) in kept.iter().enumerate() {
            if !kept {
                scores.remove(&pieces.string(id, &text));
            }
        }
        pieces.retain(&kept);
        pieces.show_probabilities();
        let sums = expected(&pieces, &text, &shards(&text), 1e-3, 1);
        let listed: Vec<(String, f64)> = scores.into_iter().collect();
        let slow = likelihood(&listed, &words, 1).unwrap();
        prop_assert!((sums.log_likelihood + slow.marginal).abs() < 1e-9);
    }

    #[test]
    fn the_size_is_exact_and_characters_stay(
        words in prop::collection::vec(("[a-f]{1,12}", 1u64..9), 1..30),
        size in 6usize..60,
    ) {
        let words = counted(&words);
        let options = UnigramOptions { vocab_size: size, ..Default::default() };
        let (text, pieces, _) = start(&words, &options);
        let go_on = &mut |_: &super::Round| ControlFlow::Continue(());
        let training = train(&words, &options, 2, go_on).unwrap();
        prop_assert_eq!(training.pieces.len(), size.min(pieces.len()));
        for c in &text.alphabet {
            let found = training.pieces.iter().any(|(piece, _)| *piece == c.to_string());
            prop_assert!(found, "{} is gone", c);
        }
        prop_assert_eq!(&training, &train(&words, &options, 1, go_on).unwrap());
    }
}

#[test]
fn a_loss_is_what_the_best_alternative_costs() {
    let words = counted(&[("ab".into(), 6), ("a".into(), 3), ("b".into(), 1)]);
    let (text, mut pieces, _) = start(&words, &UnigramOptions::default());
    pieces.show_scores();
    let sums = best_paths(&pieces, &text, &shards(&text), 1);
    // By spelling: a, ab, b. Without ab the corpus has 16 tokens: 9 a and 7 b.
    assert_eq!(sums.counts, [3.0, 6.0, 1.0]);
    let losses = prune::losses(&pieces, &sums.counts, 1).unwrap();
    let without = (9.0f64 / 16.0).ln() + (7.0f64 / 16.0).ln();
    assert!((losses[1] - 6.0 * (0.6f64.ln() - without)).abs() < 1e-12);
    assert_eq!((losses[0], losses[2]), (f64::INFINITY, f64::INFINITY));
}
