//! Superwords: spans of whole words, and the rules that join them.
#![allow(clippy::unwrap_used)]

use protok_core::spec::{PreTokenizer, Spec};
use protok_core::train::corpus::{CountOptions, WordCounter};
use protok_core::train::superwords::{FirstStage, SpanCounter, SpanRule, train};
use protok_core::train::{BpeOptions, BpeTraining, StopReason, bpe};
use std::ops::ControlFlow;

const JSON: &[u8] = br#"{"version": "1.0", "truncation": null, "padding": null,
    "added_tokens": [], "normalizer": null, "pre_tokenizer": {"type": "ByteLevel",
    "add_prefix_space": false, "trim_offsets": true, "use_regex": true}, "post_processor": null,
    "decoder": null, "model": {"type": "BPE", "dropout": null, "unk_token": null,
    "continuing_subword_prefix": null, "end_of_word_suffix": null, "fuse_unk": false,
    "byte_fallback": false, "ignore_merges": false, "vocab": {}, "merges": []}}"#;

fn pre_tokenizer() -> Option<PreTokenizer> {
    let mut files = protok_core::formats::Files::default();
    files.insert("tokenizer.json", JSON);
    let options = protok_core::formats::Options::default();
    let spec: Spec = protok_core::formats::read(&files, &options).unwrap().spec;
    spec.pre_tokenizer
}

fn first_stage(texts: &[&str], merges: usize) -> BpeTraining {
    let options = CountOptions { ordered: true, ..CountOptions::default() };
    let mut words = WordCounter::new(None, pre_tokenizer().as_ref(), options).unwrap();
    let texts: Vec<(&str, u64)> = texts.iter().map(|&text| (text, 1)).collect();
    words.feed(&texts, 1).unwrap();
    words.finish().unwrap();
    let options = BpeOptions::all_bytes(256 + merges);
    bpe::train(words.counts(), &options, &mut |_| ControlFlow::Continue(())).unwrap()
}

fn spans(first: &BpeTraining, texts: &[&str], rule: SpanRule, threads: usize) -> SpanCounter {
    let first = FirstStage::of(first, protok_core::train::Symbols::Bytes);
    let cut = pre_tokenizer();
    let mut spans = SpanCounter::new(None, cut.as_ref(), first, rule).unwrap();
    spans.feed(texts, threads).unwrap();
    spans
}

fn second_stage(spans: &SpanCounter, options: &BpeOptions) -> BpeTraining {
    train(spans, options, &mut |_| ControlFlow::Continue(())).unwrap()
}

const TEXTS: [&str; 4] = [
    "on the mat of the house of the cat",
    "on the mat, of the house 12 12 12 12",
    "by the way of the cat",
    "on the mat of the cat",
];

#[test]
fn frequent_words_are_joined_after_the_first_stage() {
    let first = first_stage(&TEXTS, 40);
    assert!(first.tokens.iter().any(|token| token == "\u{120}the"));
    let spans = spans(&first, &TEXTS, SpanRule::Letters, 1);
    let options = BpeOptions { vocab_size: first.tokens.len() + 3, ..BpeOptions::default() };
    let learned = second_stage(&spans, &options);
    assert_eq!(learned.stop, StopReason::VocabSize);
    assert_eq!(learned.tokens[..first.tokens.len()], first.tokens);
    let joined: Vec<(&str, &str)> = learned.merge_texts().collect();
    // By hand: " of the" stands five times, "on the" and " the mat" three times.
    assert_eq!(joined[0], ("\u{120}of", "\u{120}the"));
    assert_eq!(learned.merges[0].count, 5);
    assert_eq!(learned.merges.len(), 3);
    assert_eq!(learned.merges[1].count, 3);
}

#[test]
fn numbers_join_only_where_all_words_may() {
    let first = first_stage(&TEXTS, 60);
    let options = BpeOptions { vocab_size: first.tokens.len() + 100, ..BpeOptions::default() };
    let has_number = |rule| {
        let learned = second_stage(&spans(&first, &TEXTS, rule, 1), &options);
        let new = &learned.tokens[first.tokens.len()..];
        new.iter().any(|token| token.contains("\u{120}12\u{120}12"))
    };
    assert!(!has_number(SpanRule::Letters));
    assert!(has_number(SpanRule::Any));
}

#[test]
fn a_bound_on_words_holds_and_threads_do_not_show() {
    let first = first_stage(&TEXTS, 60);
    let many: Vec<&str> = TEXTS.iter().copied().cycle().take(60_000).collect();
    let options = BpeOptions {
        vocab_size: first.tokens.len() + 100,
        max_token_length: Some(4),
        ..BpeOptions::default()
    };
    let [one, two] = [1, 2]
        .map(|threads| second_stage(&spans(&first, &many, SpanRule::Letters, threads), &options));
    assert_eq!(one, two);
    assert!(!one.merges.is_empty());
    for token in &one.tokens[first.tokens.len()..] {
        let words = token.trim_start_matches('\u{120}').matches('\u{120}').count() + 1;
        assert!(words <= 3, "{token}");
    }
}

#[test]
fn without_spans_that_is_said() {
    let first = first_stage(&TEXTS, 0);
    let none = spans(&first, &["a b"], SpanRule::Letters, 1);
    let error = train(&none, &BpeOptions::all_bytes(300), &mut |_| ControlFlow::Continue(()));
    assert!(error.unwrap_err().hint.unwrap().contains("first stage"));
}
