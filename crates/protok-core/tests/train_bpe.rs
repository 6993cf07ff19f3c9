//! Hand-checked corpora: counts, order of merges, tie rules, tokens left.
//!
//! The essential ones are below as data. All are also read from the shared corpus of worked
//! examples where that is present, which a fresh clone need not have.
#![allow(clippy::unwrap_used)]

use protok_core::ErrorKind;
use protok_core::train::{
    BpeOptions, BpeTraining, EndOfWord, StopReason, Symbols, TieRule, WordCounts, bpe,
};
use serde_json::Value;
use std::ops::ControlFlow;

const RULES: [(TieRule, &str); 3] = [
    (TieRule::FirstSeen, "first"),
    (TieRule::LexicographicFirst, "min"),
    (TieRule::LexicographicLast, "max"),
];

fn counts<'a>(words: impl IntoIterator<Item = (&'a str, u64)>) -> WordCounts {
    let mut counts = WordCounts::new();
    for (word, count) in words {
        counts.add(word, count).unwrap();
    }
    counts
}

fn characters(tie: TieRule) -> BpeOptions {
    BpeOptions { symbols: Symbols::Characters, tie, listed_ties: 100, ..BpeOptions::default() }
}

fn train(words: &WordCounts, options: &BpeOptions) -> BpeTraining {
    bpe::train(words, options, &mut |_| ControlFlow::Continue(())).unwrap()
}

/// Trains until `merges` rules are learned.
fn train_steps(words: &WordCounts, options: &BpeOptions, merges: usize) -> BpeTraining {
    bpe::train(words, options, &mut |event| {
        if event.step + 1 < merges { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })
    .unwrap()
}

/// `left right count tokens_after`, one rule a line; `_` is a space.
fn lines(training: &BpeTraining) -> Vec<String> {
    let rules = training.merge_texts().zip(&training.merges);
    rules
        .map(|((left, right), merge)| {
            format!("{left} {} {} {}", right, merge.count, merge.tokens_after)
        })
        .collect()
}

#[test]
fn low_and_lower_with_an_end_of_word_symbol() {
    let words = counts([("low", 5), ("lower", 2)]);
    let marked = |tie, end_of_word| BpeOptions {
        end_of_word_suffix: Some("</w>".into()),
        end_of_word,
        ..characters(tie)
    };
    let separate = train(&words, &marked(TieRule::FirstSeen, EndOfWord::Separate));
    assert_eq!(separate.initial_tokens, 32);
    assert_eq!(separate.stop, StopReason::NoPairs);
    let expected = ["l o 7 25", "lo w 7 18", "low </w> 5 13", "low e 2 11", "lowe r 2 9"];
    assert_eq!(lines(&separate)[..5], expected);
    assert_eq!((separate.merges[0].tied, separate.merges[3].tied), (1, 2));
    let last = train(&words, &marked(TieRule::LexicographicLast, EndOfWord::Separate));
    assert_eq!(lines(&last)[..3], ["o w 7 25", "l ow 7 18", "low </w> 5 13"]);
    let glued = train(&words, &marked(TieRule::LowestIds, EndOfWord::Glued));
    assert_eq!(glued.tokens[..7], ["e", "l", "o", "r", "w", "w</w>", "r</w>"]);
    assert_eq!(lines(&glued)[..2], ["l o 7 18", "lo w</w> 5 13"]);
}

#[test]
fn cat_and_hat() {
    let words = counts([("cat", 6), ("cats", 3), ("hat", 4), ("that", 2), ("chat", 1)]);
    for (tie, _) in RULES.into_iter().chain([(TieRule::LowestIds, "ids")]) {
        let training = train(&words, &BpeOptions { vocab_size: 8, ..characters(tie) });
        assert_eq!(training.initial_tokens, 54);
        assert_eq!(lines(&training), ["a t 16 38", "c at 9 29", "h at 7 22"]);
        assert_eq!(training.tokens, ["a", "c", "h", "s", "t", "at", "cat", "hat"]);
        assert_eq!(training.stop, StopReason::VocabSize);
    }
}

#[test]
fn newest_and_widest_under_three_tie_rules() {
    let words = counts([("low", 5), ("lower", 2), ("newest", 6), ("widest", 3)]);
    let learned = |tie| {
        let options = BpeOptions {
            end_of_word_suffix: Some("</w>".into()),
            end_of_word: EndOfWord::Separate,
            ..characters(tie)
        };
        lines(&train_steps(&words, &options, 10)).join("; ")
    };
    assert_eq!(
        learned(TieRule::FirstSeen),
        "e s 9 86; es t 9 77; est </w> 9 68; l o 7 61; lo w 7 54; n e 6 48; ne w 6 42; \
         new est</w> 6 36; low </w> 5 31; w i 3 28"
    );
    assert_eq!(
        learned(TieRule::LexicographicFirst),
        "e s 9 86; es t 9 77; est </w> 9 68; l o 7 61; lo w 7 54; e w 6 48; ew est</w> 6 42; \
         n ewest</w> 6 36; low </w> 5 31; d est</w> 3 28"
    );
    assert_eq!(
        learned(TieRule::LexicographicLast),
        "t </w> 9 86; s t</w> 9 77; e st</w> 9 68; o w 7 61; l ow 7 54; w est</w> 6 48; \
         n e 6 42; ne west</w> 6 36; low </w> 5 31; w i 3 28"
    );
}

const CAT_MAT: [(&str, u64); 13] = [
    ("the", 1),
    (" cat", 4),
    (" sat", 2),
    (" on", 3),
    (" the", 9),
    (" mat", 2),
    (" and", 3),
    (" dog", 3),
    (" log", 1),
    (" saw", 1),
    (" then", 1),
    (" ran", 2),
    (" to", 1),
];

#[test]
fn the_cat_on_the_mat_goes_from_128_tokens_to_65() {
    let options = BpeOptions { vocab_size: 25, ..characters(TieRule::LexicographicLast) };
    let training = train(&counts(CAT_MAT), &options);
    assert_eq!((training.initial_tokens, training.base_size), (128, 15));
    assert_eq!(training.merges[9].tokens_after, 65);
    assert_eq!(
        training.tokens[15..],
        ["th", "the", " the", "at", "an", "og", "cat", " cat", "on", "dog"]
    );
    // "the cats" is the, " cat", s.
    assert_eq!(
        (&*training.tokens[16], &*training.tokens[22], &*training.tokens[12]),
        ("the", " cat", "s")
    );
    let ids: Vec<u64> = training.merges.iter().map(|merge| merge.tied).collect();
    assert_eq!(ids, [2, 0, 0, 0, 0, 2, 1, 0, 6, 5]);
}

#[test]
fn hug_and_pug() {
    let words = counts([("hug", 10), ("pug", 5), ("pun", 12), ("bun", 4), ("hugs", 5)]);
    let training = train(&words, &BpeOptions { vocab_size: 10, ..BpeOptions::default() });
    assert_eq!(lines(&training), ["u g 20 93", "u n 16 77", "h ug 15 62"]);
}

#[test]
fn overlapping_pairs_all_count() {
    let words = counts([("aaabdaaabac", 1)]);
    let learned = |tie| lines(&train_steps(&words, &characters(tie), 3));
    assert_eq!(learned(TieRule::FirstSeen), ["a a 4 9", "aa a 2 7", "aaa b 2 5"]);
    assert_eq!(learned(TieRule::LexicographicFirst), ["a a 4 9", "a b 2 7", "aa ab 2 5"]);
    assert_eq!(learned(TieRule::LexicographicLast), ["a a 4 9", "aa a 2 7", "aaa b 2 5"]);
}

#[test]
fn bytes_are_spelled_in_the_byte_alphabet() {
    let mut words = WordCounts::new();
    words.add(" é", 3).unwrap();
    words.add([0xFF, 0x00], 2).unwrap();
    let training = train(&words, &BpeOptions::all_bytes(259));
    assert_eq!((training.base_size, training.tokens.len()), (256, 259));
    assert_eq!(training.tokens[0], "!");
    let merges: Vec<_> = training.merge_texts().collect();
    assert_eq!(merges, [("Ã", "©"), ("Ġ", "Ã©"), ("ÿ", "Ā")]);
}

#[test]
fn what_cannot_be_done_is_said() {
    let fails = |words: &WordCounts, options: &BpeOptions| {
        bpe::train(words, options, &mut |_| ControlFlow::Continue(())).unwrap_err()
    };
    let words = counts([("low", 5), ("lower", 2)]);
    let empty = fails(&WordCounts::new(), &BpeOptions::default());
    assert_eq!(empty.kind, ErrorKind::Input);
    let small = BpeOptions {
        vocab_size: 5,
        special_tokens: vec!["<s>".into()],
        ..characters(TieRule::LowestIds)
    };
    let error = fails(&words, &small);
    assert_eq!(error.kind, ErrorKind::Input);
    assert_eq!(
        error.what,
        "A vocabulary of 5 tokens cannot hold 1 special tokens and an alphabet of 5 symbols."
    );
    let mut invalid = WordCounts::new();
    invalid.add(b"ab\xFF", 1).unwrap();
    let error = fails(&invalid, &characters(TieRule::LowestIds));
    assert_eq!((error.kind, error.position), (ErrorKind::Input, Some(2)));
    let mut huge = WordCounts::new();
    huge.add("ab", u64::MAX / 2).unwrap();
    assert_eq!(fails(&huge, &characters(TieRule::LowestIds)).kind, ErrorKind::Limit);
}

#[test]
fn counts_pass_32_bits() {
    let words = counts([("ab", 5_000_000_000), ("cd", 4_000_000_000)]);
    let training = train(&words, &BpeOptions { vocab_size: 6, ..BpeOptions::default() });
    assert_eq!(lines(&training), ["a b 5000000000 13000000000", "c d 4000000000 9000000000"]);
}

#[test]
fn an_unreachable_size_says_what_was_reached() {
    let words = counts([("low", 5), ("lower", 2)]);
    let options = BpeOptions { min_frequency: 3, ..characters(TieRule::LowestIds) };
    let training = train(&words, &options);
    assert_eq!((training.stop, training.tokens.len()), (StopReason::MinFrequency(2), 7));
    let training = train(&words, &characters(TieRule::LowestIds));
    assert_eq!((training.stop, training.tokens.len()), (StopReason::NoPairs, 9));
}

#[test]
fn the_order_of_the_corpus_matters_to_one_rule_only() {
    let forward = [("low", 5), ("lower", 2), ("newest", 6), ("widest", 3)];
    let backward: Vec<_> = forward.iter().rev().copied().collect();
    for tie in [TieRule::LowestIds, TieRule::LexicographicFirst, TieRule::LexicographicLast] {
        let options = BpeOptions {
            end_of_word_suffix: Some("</w>".into()),
            continuing_subword_prefix: Some("##".into()),
            listed_ties: 0,
            ..characters(tie)
        };
        assert_eq!(train(&counts(forward), &options), train(&counts(backward.clone()), &options));
    }
}

/// A reproducible text of the four letters of DNA.
fn letters(length: usize) -> Vec<u8> {
    let mut state = 1u64;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        b"ACGT"[(state >> 62) as usize]
    };
    (0..length).map(|_| next()).collect()
}

#[test]
fn one_giant_word_is_no_slower_than_many() {
    for text in [letters(200_000), vec![b'a'; 1_000_000], b"ab".repeat(500_000)] {
        for tie in [TieRule::LowestIds, TieRule::FirstSeen] {
            let mut words = WordCounts::new();
            words.add(&text, 1).unwrap();
            let start = std::time::Instant::now();
            let options =
                BpeOptions { vocab_size: 512, min_frequency: 2, tie, ..BpeOptions::default() };
            train(&words, &options);
            assert!(start.elapsed().as_secs() < 30, "{tie:?} took {:?}", start.elapsed());
        }
    }
}

fn worked(name: &str) -> Option<Value> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpus/worked");
    match std::fs::read_to_string(format!("{folder}/{name}.json")) {
        Ok(text) => Some(serde_json::from_str(&text).unwrap()),
        Err(_) => {
            eprintln!("skipped: the worked example {name} is not on this machine");
            None
        }
    }
}

fn texts(value: &Value) -> Vec<&str> {
    value.as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect()
}

/// Checks steps: objects with pair, count, ties and tokens left, or arrays without ties.
fn check(training: &BpeTraining, steps: &Value, name: &str) {
    let steps = steps.as_array().unwrap();
    assert_eq!(training.merges.len(), steps.len(), "{name}");
    let text = |id: u32| training.tokens[id as usize].as_str();
    for (i, (merge, step)) in training.merges.iter().zip(steps).enumerate() {
        let field = |key: &str, index: usize| step.get(key).or_else(|| step.get(index)).unwrap();
        assert_eq!(
            vec![text(merge.left), text(merge.right)],
            texts(field("pair", 0)),
            "{name} {i}"
        );
        assert_eq!(Some(merge.count), field("count", 1).as_u64(), "{name} {i}");
        assert_eq!(Some(merge.tokens_after), field("tokens_after", 2).as_u64(), "{name} {i}");
        if let Some(tied) = step.get("tied_with") {
            let expected: Vec<_> = tied.as_array().unwrap().iter().map(texts).collect();
            let ties: Vec<_> = merge.ties.iter().map(|&(l, r)| vec![text(l), text(r)]).collect();
            assert_eq!(ties, expected, "{name} {i}");
            assert_eq!(merge.tied as usize, expected.len(), "{name} {i}");
        }
    }
}

#[test]
fn worked_examples_of_the_shared_corpus() {
    let mut checked = 0;
    for name in
        ["a_low_lower", "b_cat_hat", "d_cat_mat", "h_low_newest", "i_hug_pug", "j_aaabdaaabac"]
    {
        let Some(example) = worked(name) else { continue };
        let words = if let Some(words) = example["word_counts"].as_object() {
            counts(words.iter().map(|(word, count)| (word.as_str(), count.as_u64().unwrap())))
        } else if let Some(words) = example["pretoken_counts"].as_array() {
            counts(words.iter().map(|w| (w[0].as_str().unwrap(), w[1].as_u64().unwrap())))
        } else {
            counts([(example["text"].as_str().unwrap(), 1)])
        };
        let other = &example["other_tie_rules"];
        let lists = [
            ("merges", if name == "d_cat_mat" { "max" } else { "first" }, &example["merges"]),
            ("bpe_merges", "first", &example["bpe_merges"]),
            ("all_merges_ties_first", "first", &example["all_merges_ties_first"]),
            ("merges_ties_first", "first", &example["merges_ties_first"]),
            ("merges_ties_min", "min", &example["merges_ties_min"]),
            ("merges_ties_max", "max", &example["merges_ties_max"]),
            ("other first", "first", &other["first"]),
            ("other min", "min", &other["min"]),
            ("other max", "max", &other["max"]),
        ];
        for (list, rule, steps) in lists {
            let Some(length) = steps.as_array().map(Vec::len) else { continue };
            let (tie, _) = RULES.into_iter().find(|&(_, other)| other == rule).unwrap();
            let options = BpeOptions {
                end_of_word_suffix: example["end_of_word"].as_str().map(str::to_owned),
                end_of_word: EndOfWord::Separate,
                ..characters(tie)
            };
            let training = train_steps(&words, &options, length);
            check(&training, steps, &format!("{name}, {list}"));
            if let Some(initial) = example["initial_symbols"].as_u64().or(example["chars"].as_u64())
            {
                assert_eq!(training.initial_tokens, initial);
            }
            if let Some(vocab) = example["vocab"].as_array().filter(|_| list == "merges") {
                assert_eq!(training.tokens, texts(&Value::Array(vocab.clone())));
            }
            checked += 1;
        }
    }
    eprintln!("{checked} lists of merges checked");
}

#[test]
fn required_tokens_are_reached_by_rules() {
    let words = counts([("abcabc", 9), ("bcd", 5), ("xyz", 1), ("abcd", 3)]);
    for (tie, _) in RULES.into_iter().chain([(TieRule::LowestIds, "ids")]) {
        for size in 14..20 {
            let required = ["abd", "zyx", "q", "abcabc"].map(str::to_owned).to_vec();
            let options = BpeOptions { vocab_size: size, required, ..characters(tie) };
            if size < 17 {
                let error = bpe::train(&words, &options, &mut |_| ControlFlow::Continue(()));
                assert_eq!(error.unwrap_err().location.as_deref(), Some("vocab_size"), "{size}");
                continue;
            }
            let training = train(&words, &options);
            assert_eq!(training.tokens.len(), size);
            for token in &options.required {
                assert_eq!(encoded(token, &training), [token.as_str()], "{tie:?} {size}");
            }
        }
    }
}

/// Applies the rules to a word, the first in rank and leftmost first.
fn encoded(word: &str, training: &BpeTraining) -> Vec<String> {
    let mut parts: Vec<String> = word.chars().map(String::from).collect();
    let rank =
        |left: &str, right: &str| training.merge_texts().position(|rule| rule == (left, right));
    while let Some((_, at)) = parts
        .windows(2)
        .enumerate()
        .filter_map(|(at, two)| rank(&two[0], &two[1]).map(|rank| (rank, at)))
        .min()
    {
        let right = parts.remove(at + 1);
        parts[at] += &right;
    }
    parts
}

#[test]
fn required_tokens_do_not_change_what_comes_before() {
    let words = counts(CAT_MAT);
    let plain = train(&words, &BpeOptions { vocab_size: 25, ..characters(TieRule::FirstSeen) });
    let required = vec!["mad".to_owned()];
    let options = BpeOptions { vocab_size: 27, required, ..characters(TieRule::FirstSeen) };
    let asked = train(&words, &options);
    assert_eq!(lines(&asked)[..10], lines(&plain)[..10]);
    let forced: Vec<String> = asked
        .merge_texts()
        .zip(&asked.merges)
        .filter(|(_, merge)| merge.required)
        .map(|((left, right), _)| format!("{left} {right}"))
        .collect();
    assert_eq!(forced, ["m a", "ma d"]);
}

#[test]
fn coverage_cuts_words_at_rare_characters() {
    let words = counts([("ab", 50), ("axb", 9), ("\u{2581}", 1), ("axab", 1)]);
    let options = BpeOptions {
        character_coverage: Some(0.9),
        vocab_size: 4,
        ..characters(TieRule::FirstSeen)
    };
    let training = train(&words, &options);
    assert_eq!(training.tokens, ["a", "b", "\u{2581}", "ab"]);
    // Were x left out as limit_alphabet does, the pair would stand in "axb" too.
    assert_eq!(training.merges[0].count, 51);
    let limited =
        BpeOptions { limit_alphabet: Some(2), vocab_size: 3, ..characters(TieRule::FirstSeen) };
    assert_eq!(train(&words, &limited).merges[0].count, 60);
    let bytes = BpeOptions { character_coverage: Some(0.9), ..BpeOptions::all_bytes(300) };
    let error = bpe::train(&words, &bytes, &mut |_| ControlFlow::Continue(())).unwrap_err();
    assert_eq!(error.location.as_deref(), Some("character_coverage"));
}

#[test]
fn hostile_corpora_are_trained() {
    let same = "a".repeat(1_000_000);
    let training = train(
        &counts([(same.as_str(), 1)]),
        &BpeOptions { vocab_size: 30, ..characters(TieRule::LowestIds) },
    );
    // Doubling goes on until the word is in two parts at most; odd ends join too.
    assert!(training.tokens.len() <= 30 && training.merges.len() >= 19);
    let mut bytes = WordCounts::new();
    bytes.add(letters(400_000), 1).unwrap();
    bytes.add([0xFF, 0xFE, 0x00], 1).unwrap();
    let training = train(&bytes, &BpeOptions::all_bytes(2000));
    assert_eq!(training.tokens.len(), 2000);
}
