//! Text that is trusted in part: the fast path, the naive reference, and what both must mean.
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;
use std::sync::LazyLock;

use proptest::prelude::*;
use protok_core::ErrorKind;
use protok_core::added_tokens::{SpecialPolicy, Trust};
use protok_core::formats::{self, Files};
use protok_core::model::unknown_token;
use protok_core::pipeline::encode::EncodeOptions;
use protok_core::pipeline::{CompileOptions, Pipeline};

/// A WordLevel tokenizer over words, whose added tokens overlap in every way; or a Unigram one
/// whose vocabulary holds a control token as a piece.
fn toy(model: &str, normalizer: &str) -> Pipeline {
    let flags =
        |id: u32, content: &str, special: bool, normalized: bool, strip: bool, word: bool| {
            format!(
                r#"{{"id":{id},"content":"{content}","special":{special},"normalized":{normalized},
            "lstrip":{strip},"rstrip":{strip},"single_word":{word}}}"#
            )
        };
    let added = [
        flags(0, "<s>", true, false, false, false),
        flags(1, "</s>", true, true, false, false),
        flags(2, "<s>a", true, false, false, false),
        flags(3, "s>", false, false, false, false),
        flags(4, "<m>", true, false, true, false),
        flags(5, "ab", false, true, false, true),
        flags(6, "a<", true, false, false, true),
        flags(7, "<s", false, true, false, false),
    ]
    .join(",");
    let json = format!(
        r#"{{"version":"1.0","truncation":null,"padding":null,"added_tokens":[{added}],
        "normalizer":{normalizer},"pre_tokenizer":null,"post_processor":null,"decoder":null,
        "model":{model}}}"#
    );
    let files = Files::single("tokenizer.json", json.as_bytes());
    let artifact = formats::read(&files, &formats::Options::default()).unwrap();
    Pipeline::compile(artifact.spec, &CompileOptions::default()).unwrap()
}

const NAMES: &[&str] = &["<s>", "</s>", "<s>a", "s>", "<m>", "ab", "a<", "<s"];

fn bpe() -> String {
    let mut tokens: Vec<String> = NAMES.iter().map(|name| format!("{name:?}")).collect();
    for c in "<>/sambé ?".chars() {
        tokens.push(format!("{:?}", c.to_string()));
    }
    let vocab: Vec<String> =
        tokens.iter().enumerate().map(|(id, token)| format!("{token}:{id}")).collect();
    format!(
        r#"{{"type":"BPE","vocab":{{{}}},"merges":[],"unk_token":"?","fuse_unk":false,
        "byte_fallback":false,"dropout":null,"continuing_subword_prefix":null,
        "end_of_word_suffix":null,"ignore_merges":false}}"#,
        vocab.join(",")
    )
}

fn unigram() -> String {
    let mut pieces: Vec<String> = NAMES.iter().map(|name| format!("[{name:?},-1.5]")).collect();
    for c in "<>/sambé ?".chars() {
        pieces.push(format!("[{:?},-3.0]", c.to_string()));
    }
    format!(
        r#"{{"type":"Unigram","unk_id":17,"byte_fallback":false,"vocab":[{}]}}"#,
        pieces.join(",")
    )
}

static TOYS: LazyLock<Vec<(&str, Pipeline)>> = LazyLock::new(toys);

fn toys() -> Vec<(&'static str, Pipeline)> {
    let lower = r#"{"type":"Lowercase"}"#;
    let nfkc = r#"{"type":"NFKC"}"#;
    vec![
        ("bpe", toy(&bpe(), "null")),
        ("bpe, lower case", toy(&bpe(), lower)),
        ("bpe, nfkc", toy(&bpe(), nfkc)),
        ("unigram", toy(&unigram(), "null")),
        ("unigram, nfkc", toy(&unigram(), nfkc)),
    ]
}

fn trust(marked: &[(String, bool)]) -> (String, Trust) {
    let mut text = String::new();
    let mut spans = Vec::new();
    for (part, trusted) in marked {
        let start = text.len();
        text.push_str(part);
        if *trusted {
            spans.push((start, text.len()));
        }
    }
    (text, Trust::new(spans).unwrap())
}

fn options(special: SpecialPolicy) -> EncodeOptions {
    EncodeOptions { add_special_tokens: false, special, ..EncodeOptions::default() }
}

fn ids(pipeline: &Pipeline, text: &str, special: SpecialPolicy) -> Vec<u32> {
    let mut ids = Vec::new();
    pipeline.encode_text(text, &options(special), &mut ids).unwrap();
    ids
}

fn check(name: &str, pipeline: &Pipeline, marked: &[(String, bool)]) {
    let (text, trust) = trust(marked);
    for also in [vec![], vec![3, 5, 7]] {
        check_trust(name, pipeline, &text, &trust.clone().with_control(also));
    }
    // Nothing trusted is plain text; all trusted is parsing.
    let whole = Trust::new([(0, text.len())]).unwrap();
    assert_eq!(
        ids(pipeline, &text, SpecialPolicy::Trusted(whole)),
        ids(pipeline, &text, SpecialPolicy::Parse),
        "{name}: {text:?}"
    );
    assert_eq!(
        ids(pipeline, &text, SpecialPolicy::Trusted(Trust::default())),
        ids(pipeline, &text, SpecialPolicy::Text),
        "{name}: {text:?}"
    );
}

fn check_trust(name: &str, pipeline: &Pipeline, text: &str, trust: &Trust) {
    let policy = SpecialPolicy::Trusted(trust.clone());
    let spans = pipeline.spans(text.as_bytes(), &options(policy.clone()));
    let reference = pipeline.encode_reference(text, &policy, &mut ());
    let (spans, reference) = match (spans, reference) {
        (Ok(spans), Ok(reference)) => (spans, reference),
        // A token that only this text guards, and that the model makes by itself.
        (Err(fast), Err(reference)) => {
            assert_eq!((fast.kind, reference.kind), (ErrorKind::SpecialToken, fast.kind));
            assert!(!trust.control().is_empty(), "{name}: {text:?} {trust:?}");
            return;
        }
        (fast, reference) => panic!("{name}: {text:?} {trust:?}: {fast:?} {reference:?}"),
    };
    let placed: Vec<_> =
        spans.tokens.iter().map(|t| (t.id, t.original.0 as u32, t.original.1 as u32)).collect();
    let naive: Vec<_> = reference.iter().map(|t| (t.id, t.start, t.end)).collect();
    assert_eq!(placed, naive, "{name}: {text:?} {trust:?}");
    let alone: Vec<u32> = placed.iter().map(|t| t.0).collect();
    assert_eq!(ids(pipeline, text, policy), alone, "{name}: {text:?} {trust:?}");
    let unknown = unknown_token(&pipeline.spec().model, pipeline.vocab());
    for &(id, start, end) in &placed {
        let guarded = trust.control().contains(&id);
        if (guarded || pipeline.added_tokens().is_control(id)) && unknown != Some(id) {
            // White space that a token takes with it need not be trusted.
            let (start, end) = (start as usize, end as usize);
            let kept = text[start..end].trim();
            let start = start + text[start..end].find(kept).unwrap();
            assert!(trust.covers(start, start + kept.len()), "{name}: {id} in {text:?} {trust:?}");
        }
    }
}

fn parts() -> impl Strategy<Value = Vec<(String, bool)>> {
    let piece = prop_oneof![
        prop::sample::select(NAMES.to_vec()).prop_map(str::to_owned),
        "[<>/sabmé＜Ｓ ]{0,4}".prop_map(|text| text),
    ];
    prop::collection::vec((piece, any::<bool>()), 0..8)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]
    #[test]
    fn both_paths_agree_and_nothing_is_forged(marked in parts()) {
        for (name, pipeline) in TOYS.iter() {
            check(name, pipeline, &marked);
        }
    }
}

#[test]
fn a_shorter_token_counts_where_the_longer_is_refused() {
    let pipeline = toy(&bpe(), "null");
    let part = |text: &str, trusted| (text.to_owned(), trusted);
    let found = |marked: &[(String, bool)]| {
        let (text, trust) = trust(marked);
        ids(&pipeline, &text, SpecialPolicy::Trusted(trust))
    };
    // The template wrote <s>, the message goes on with a: no <s>a, but <s>.
    assert_eq!(found(&[part("<s>", true), part("a", false)])[0], 0);
    // An ordinary token inside a refused one is found, from the next character on.
    assert_eq!(found(&[part("<s>", false)]), ids(&pipeline, "<s>", SpecialPolicy::Text));
    assert!(found(&[part("<s>", false)]).contains(&3));
    // Halves that meet are no token.
    assert!(!found(&[part("<", true), part("s>", false)]).contains(&0));
}

#[test]
fn real_artifacts() {
    let shared = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/artifacts");
    if !shared.is_dir() {
        assert!(std::env::var("PROTOK_REQUIRE_SHARED").is_err(), "../shared is missing");
        return;
    }
    for (name, control) in [
        ("qwen3", "<|im_end|>"),
        ("gemma3", "<end_of_turn>"),
        ("llama3.1", "<|eot_id|>"),
        ("t5-base", "</s>"),
        ("albert", "[SEP]"),
        ("clip", "<|endoftext|>"),
    ] {
        let bytes = std::fs::read(shared.join(name).join("tokenizer.json")).unwrap();
        let files = Files::single("tokenizer.json", &bytes);
        let artifact = formats::read(&files, &formats::Options::default()).unwrap();
        let pipeline = Pipeline::compile(artifact.spec, &CompileOptions::default()).unwrap();
        let half = control.len() / 2;
        let (head, tail) = control.split_at(half);
        for marked in [
            vec![(control, true), (" hi ", false), (control, false), (control, true)],
            vec![("ab", false), (head, true), (tail, false), ("cd", true)],
            vec![(head, false), (tail, true), (control, false)],
            vec![
                ("naïve ", false),
                (control, true),
                ("\n", true),
                ("🐈 ", false),
                (control, false),
            ],
        ] {
            let marked: Vec<(String, bool)> =
                marked.into_iter().map(|(text, trusted)| (text.to_owned(), trusted)).collect();
            check(name, &pipeline, &marked);
        }
    }
}
