//! Unigram: a hand-checked corpus, what training keeps, and corpora that nobody would write.
#![allow(clippy::unwrap_used)]

use protok_core::ErrorKind;
use protok_core::train::unigram::{PieceRules, Round, UnigramStop, likelihood, train};
use protok_core::train::{UnigramOptions, UnigramTraining, WordCounts};
use serde_json::Value;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

const HUGS: [(&str, u64); 5] = [("hug", 10), ("pug", 5), ("pun", 12), ("bun", 4), ("hugs", 5)];

fn counts<'a>(words: impl IntoIterator<Item = (&'a str, u64)>) -> WordCounts {
    let mut counts = WordCounts::new();
    for (word, count) in words {
        counts.add(word, count).unwrap();
    }
    counts
}

fn go_on(_: &Round) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn learn(words: &WordCounts, options: &UnigramOptions) -> UnigramTraining {
    train(words, options, 2, &mut go_on).unwrap()
}

fn sized(vocab_size: usize) -> UnigramOptions {
    UnigramOptions { vocab_size, ..UnigramOptions::default() }
}

fn holds(training: &UnigramTraining, piece: &str) -> bool {
    training.pieces.iter().any(|(known, _)| known == piece)
}

/// The pieces of the example: all substrings but whole words of one kind, with their counts.
const PIECES: [(&str, f64); 15] = [
    ("h", 15.0),
    ("u", 36.0),
    ("g", 20.0),
    ("hu", 15.0),
    ("ug", 20.0),
    ("p", 17.0),
    ("pu", 17.0),
    ("n", 16.0),
    ("un", 16.0),
    ("b", 4.0),
    ("bu", 4.0),
    ("s", 5.0),
    ("hug", 15.0),
    ("gs", 5.0),
    ("ugs", 5.0),
];

#[test]
fn probabilities_of_hug_and_pug() {
    let pieces = PIECES.map(|(piece, count)| (piece, (count / 210.0f64).ln()));
    let of = |word: &str| likelihood(&pieces, &counts([(word, 1)]), 1).unwrap();
    let best = [
        ("hug", 1.0 / 14.0),
        ("pug", 17.0 / 2205.0),
        ("pun", 68.0 / 11025.0),
        ("bun", 16.0 / 11025.0),
        ("hugs", 1.0 / 588.0),
        ("unhug", 4.0 / 735.0),
    ];
    for (word, probability) in best {
        assert!((of(word).best_path + f64::ln(probability)).abs() < 1e-12, "{word}");
    }
    let all = [
        ("hug", 1.0 / 14.0 + 2.0 / 147.0 + 2.0 / 1715.0),
        ("pug", 2.0 * 17.0 / 2205.0 + 34.0 / 25725.0),
        ("pun", 2.0 * 68.0 / 11025.0 + 136.0 / 128_625.0),
        ("bun", 2.0 * 16.0 / 11025.0 + 32.0 / 128_625.0),
    ];
    for (word, probability) in all {
        assert!((of(word).marginal + f64::ln(probability)).abs() < 1e-12, "{word}");
    }
    let corpus = likelihood(&pieces, &counts(HUGS), 1).unwrap();
    assert!((corpus.best_path - 169.802_839_108_737_71).abs() < 1e-9);
    assert_eq!((corpus.characters, corpus.unknown), (113, 0));
}

#[test]
fn the_worked_example_of_the_shared_corpus() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpus/worked/i_hug_pug.json");
    let Ok(text) = std::fs::read_to_string(path) else {
        eprintln!("skipped: the worked example is not on this machine");
        return;
    };
    let example: Value = serde_json::from_str(&text).unwrap();
    let unigram = &example["unigram"];
    let total = unigram["total"].as_f64().unwrap();
    let pieces: Vec<(String, f64)> = unigram["piece_counts"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(piece, count)| (piece.clone(), (count.as_f64().unwrap() / total).ln()))
        .collect();
    for (word, ways) in unigram["segmentations"].as_object().unwrap() {
        let found = likelihood(&pieces, &counts([(word.as_str(), 1)]), 1).unwrap();
        let best = ways[0]["prob_float"].as_f64().unwrap();
        assert!((found.best_path + best.ln()).abs() < 1e-12, "{word}");
        assert_eq!(found.tokens, ways[0]["pieces"].as_array().unwrap().len() as f64, "{word}");
    }
    let words = example["word_counts"].as_object().unwrap();
    let words = counts(words.iter().map(|(word, n)| (word.as_str(), n.as_u64().unwrap())));
    let loss = unigram["loss_neg_log_likelihood_best_path"].as_f64().unwrap();
    assert!((likelihood(&pieces, &words, 1).unwrap().best_path - loss).abs() < 1e-9);
}

#[test]
fn sizes_are_exact_and_the_log_says_what_happened() {
    let words = counts(HUGS);
    for size in 8..=14 {
        let options = UnigramOptions { special_tokens: vec!["<s>".into()], ..sized(size) };
        let learned = learn(&words, &options);
        assert_eq!(learned.pieces.len() + 1, size);
        assert_eq!(learned.stop, UnigramStop::VocabSize);
        let last = learned.rounds.last().unwrap();
        assert_eq!((last.size, last.left), (size - 1, size - 1));
        for two in learned.rounds.windows(2) {
            assert_eq!(two[0].left, two[1].size);
            assert!(two[0].size > two[1].size);
        }
        for c in "hugpnbs".chars() {
            assert!(holds(&learned, &c.to_string()));
        }
        assert!(learned.pieces.is_sorted_by(|a, b| a.1 >= b.1));
        let total: f64 = learned.pieces.iter().map(|(_, score)| score.exp()).sum();
        assert!(total <= 1.0 + 1e-9, "{total}");
    }
    let with_bytes = UnigramOptions { byte_fallback: true, ..sized(266) };
    assert_eq!(learn(&words, &with_bytes).pieces.len(), 10);
}

#[test]
fn required_pieces_stay_whether_they_occur_or_not() {
    let required = vec!["pug".to_owned(), "zebra".to_owned(), "hu".to_owned(), "u".to_owned()];
    let options = UnigramOptions { required: required.clone(), ..sized(11) };
    let learned = learn(&counts(HUGS), &options);
    assert_eq!(learned.pieces.len(), 11);
    for piece in &required {
        assert_eq!(learned.pieces.iter().filter(|(known, _)| known == piece).count(), 1);
    }
}

#[test]
fn coverage_leaves_rare_characters_out_and_pieces_do_not_bridge_them() {
    let words = counts([("abab", 50), ("abxab", 1), ("\u{2581}ab", 20)]);
    let options = UnigramOptions { character_coverage: Some(0.99), ..sized(6) };
    let learned = learn(&words, &options);
    assert!(holds(&learned, "\u{2581}") && !holds(&learned, "x"));
    assert_eq!((learned.characters, learned.unknown), (264, 1));
    assert!(learned.pieces.iter().all(|(piece, _)| !piece.contains('x')));
}

#[test]
fn pieces_keep_within_scripts_and_words() {
    let words = counts([("\u{2581}ab12", 90), ("\u{2581}abвг", 90), ("ab\u{2581}ab", 90)]);
    let all = learn(&words, &sized(40));
    let crosses = |piece: &str| {
        piece.chars().skip(1).any(|c| c == '\u{2581}')
            || (piece.contains('b') && piece.contains(['1', 'в']))
    };
    assert!(all.pieces.iter().all(|(piece, _)| !crosses(piece)), "{:?}", all.pieces);
    assert!(holds(&all, "\u{2581}ab") && holds(&all, "12"));
    let rules = PieceRules {
        split_by_whitespace: false,
        split_by_script: false,
        split_by_number: false,
        split_digits: false,
    };
    let free = learn(&words, &UnigramOptions { rules, ..sized(40) });
    assert!(holds(&free, "ab\u{2581}ab") && holds(&free, "\u{2581}ab12"));
}

#[test]
fn what_cannot_be_done_is_said() {
    let refused = |words: &WordCounts, options: &UnigramOptions, location: Option<&str>| {
        let error = train(words, options, 1, &mut go_on).unwrap_err();
        assert_eq!(
            (error.kind, error.location.as_deref()),
            (ErrorKind::Input, location),
            "{error}"
        );
    };
    refused(&WordCounts::new(), &sized(10), None);
    refused(&counts(HUGS), &sized(6), Some("vocab_size"));
    refused(
        &counts(HUGS),
        &UnigramOptions { byte_fallback: true, ..sized(262) },
        Some("vocab_size"),
    );
    for share in [0.0, 1.0, f64::NAN] {
        let options = UnigramOptions { shrinking_factor: share, ..sized(10) };
        refused(&counts(HUGS), &options, Some("shrinking_factor"));
    }
    let none = UnigramOptions { em_iterations: 0, ..sized(10) };
    refused(&counts(HUGS), &none, Some("em_iterations"));
    let both = ["hug".to_owned()];
    let clash =
        UnigramOptions { required: both.to_vec(), special_tokens: both.to_vec(), ..sized(10) };
    refused(&counts(HUGS), &clash, Some("required"));
    let mut bytes = WordCounts::new();
    bytes.add([0xFF], 1).unwrap();
    refused(&bytes, &sized(10), None);
}

#[test]
fn fewer_pieces_than_asked_for_are_all_there_is() {
    let learned = learn(&counts([("ab", 3)]), &sized(100));
    assert_eq!(learned.stop, UnigramStop::NoPieces);
    assert_eq!(learned.pieces.len(), 3);
    let stopped = train(&counts(HUGS), &sized(8), 1, &mut |_| ControlFlow::Break(())).unwrap();
    assert_eq!((stopped.stop, stopped.rounds.len()), (UnigramStop::Observer, 1));
}

#[test]
fn counts_pass_32_bits() {
    let learned = learn(&counts([("hug", 1 << 40), ("pug", 1 << 41)]), &sized(6));
    assert_eq!(learned.characters, 9 << 40);
    assert!(learned.pieces.iter().all(|(_, score)| score.is_finite()));
    let error = train(&counts([("ab", u64::MAX)]), &sized(6), 1, &mut go_on).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Limit);
}

/// Letters that do not repeat soon.
fn letters(length: usize, distinct: u64) -> String {
    let mut state = 88_172_645_463_325_252u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(b'a' + (state % distinct) as u8)
    };
    (0..length).map(|_| next()).collect()
}

#[test]
fn one_giant_word_is_trained_like_any_other() {
    // A segment far beyond what a product of probabilities can hold, of one letter and of four.
    for word in ["a".repeat(300_000), letters(300_000, 4)] {
        let start = Instant::now();
        let learned = learn(&counts([(word.as_str(), 1)]), &sized(200));
        assert!(learned.pieces.len() <= 200);
        assert!(learned.pieces.iter().all(|(_, score)| score.is_finite()));
        let last = learned.rounds.last().unwrap();
        let measured = likelihood(&learned.pieces, &counts([(word.as_str(), 1)]), 1).unwrap();
        let loss = measured.marginal / measured.characters as f64;
        // The last round's figure is of the scores before its last maximization.
        assert!((loss - last.loss).abs() < 0.02, "{loss} {last:?}");
        assert!(start.elapsed() < Duration::from_secs(60));
    }
}
