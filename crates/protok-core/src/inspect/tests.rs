#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};

use super::*;
use crate::formats::{self, Files};
use crate::pipeline::CompileOptions;

fn inspect(artifact: &Value) -> Inspection {
    let bytes = artifact.to_string().into_bytes();
    let mut files = Files::default();
    files.insert("tokenizer.json", &bytes);
    let spec = formats::read(&files, &formats::Options::default()).unwrap().spec;
    Pipeline::compile(spec, &CompileOptions::default()).unwrap().inspect(1).unwrap()
}

fn artifact(model: Value, changes: &Value) -> Value {
    let mut artifact = json!({
        "version": "1.0",
        "truncation": null,
        "padding": null,
        "added_tokens": [],
        "normalizer": null,
        "pre_tokenizer": null,
        "post_processor": null,
        "decoder": null,
    });
    artifact["model"] = model;
    for (name, value) in changes.as_object().unwrap() {
        artifact[name] = value.clone();
    }
    artifact
}

fn added(id: u32, content: &str, special: bool) -> Value {
    json!({"id": id, "content": content, "single_word": false, "lstrip": false, "rstrip": false,
           "normalized": false, "special": special})
}

fn vocab(tokens: &[&str]) -> Value {
    tokens.iter().zip(0..).map(|(token, id)| ((*token).to_owned(), json!(id))).collect()
}

fn names(tokens: &[Named]) -> Vec<&str> {
    tokens.iter().map(|token| token.token.as_str()).collect()
}

fn bpe(tokens: &[&str], merges: &[&str], options: &Value) -> Value {
    let mut model = json!({"type": "BPE", "vocab": vocab(tokens), "merges": merges});
    for (name, value) in options.as_object().unwrap() {
        model[name] = value.clone();
    }
    model
}

#[test]
fn an_entry_behind_another_merge_is_unreachable() {
    let tokens = ["a", "b", "c", "ab", "bc", "abc"];
    let merges = ["a b", "b c", "a bc"];
    let odd = |options: Value| {
        let found = inspect(&artifact(bpe(&tokens, &merges, &options), &json!({}))).oddities;
        names(&found.unreachable).join(" ")
    };
    assert_eq!(odd(json!({})), "abc");
    assert_eq!(odd(json!({"ignore_merges": true})), "");
}

#[test]
fn places_in_a_word_count() {
    let tokens = ["a", "b", "a</w>", "b</w>", "ab", "ab</w>", "ba</w>", "x</w>"];
    let merges = ["a b", "a b</w>"];
    let suffix = json!({"end_of_word_suffix": "</w>"});
    let found = inspect(&artifact(bpe(&tokens, &merges, &suffix), &json!({}))).oddities;
    assert_eq!(names(&found.unreachable), ["ba</w>"]);
}

#[test]
fn what_the_stages_before_the_model_keep_from_it() {
    let tokens = ["[UNK]", "a", "##!", "##a", "a!", "É", "abcd", "[unused0]", "[CLS]"];
    let model = json!({"type": "WordPiece", "unk_token": "[UNK]", "vocab": vocab(&tokens),
                       "continuing_subword_prefix": "##", "max_input_chars_per_word": 3});
    let changes = json!({
        "normalizer": {"type": "Lowercase"},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "added_tokens": [added(8, "[CLS]", true)],
    });
    let found = inspect(&artifact(model, &changes));
    assert_eq!(names(&found.oddities.unreachable), ["abcd"]);
    assert_eq!(names(&found.oddities.unseen), ["##!", "a!", "É"]);
    assert_eq!(names(&found.oddities.control_pieces), [""; 0]);
    let kinds: Vec<_> = found.kinds.iter().map(|kind| (kind.kind, kind.count)).collect();
    let expected = [
        (Kind::WordStart, 2),
        (Kind::Continuation, 1),
        (Kind::Character, 2),
        (Kind::Punctuation, 1),
        (Kind::Control, 2),
        (Kind::Unused, 1),
    ];
    assert_eq!(kinds, expected);
}

#[test]
fn a_unigram_piece_that_others_beat_and_a_control_piece() {
    let pieces = json!([["<unk>", 0.0], ["</s>", 0.0], ["a", -1.0], ["b", -1.0], ["ab", -3.0]]);
    let model = json!({"type": "Unigram", "unk_id": 0, "vocab": pieces});
    let changes = json!({"added_tokens": [added(0, "<unk>", true), added(1, "</s>", true)]});
    let found = inspect(&artifact(model, &changes)).oddities;
    assert_eq!(names(&found.unreachable), ["ab"]);
    assert_eq!(names(&found.control_pieces), ["</s>"]);
}

#[test]
fn byte_tokens_of_characters_that_have_a_token() {
    let bytes: Vec<String> = (0..256).map(|byte| format!("<0x{byte:02X}>")).collect();
    let mut tokens = vec!["<unk>", "A", "é"];
    tokens.extend(bytes.iter().map(String::as_str));
    let options = json!({"byte_fallback": true, "unk_token": "<unk>"});
    let decoder = json!({"type": "Sequence", "decoders": [{"type": "ByteFallback"},
                                                          {"type": "Fuse"}]});
    let found = inspect(&artifact(bpe(&tokens, &[], &options), &json!({"decoder": decoder})));
    let mut idle = vec!["<0x41>".to_owned()];
    idle.extend(
        (0..256)
            .filter(|byte| matches!(byte, 0xC0 | 0xC1 | 0xF5..))
            .map(|byte| format!("<0x{byte:02X}>")),
    );
    assert_eq!(names(&found.oddities.idle_bytes), idle);
    assert_eq!(found.contract.verdict, Verdict::Lossless);
    assert!(!found.contract.by_construction);
}

#[test]
fn holes_duplicates_and_tokens_that_never_match() {
    let model = json!({"type": "BPE", "vocab": {"a": 0, "b": 3, "<x>": 4}, "merges": []});
    let bytes = artifact(model, &json!({})).to_string().into_bytes();
    let mut files = Files::default();
    files.insert("tokenizer.json", &bytes);
    let mut spec = formats::read(&files, &formats::Options::default()).unwrap().spec;
    // The reader would give other ids to tokens that stand past the vocabulary.
    for token in [added(4, "<x>", false), added(7, "<y>", true), added(8, "<y>", false)] {
        spec.added_tokens.push(serde_json::from_value(token).unwrap());
    }
    let pipeline = Pipeline::compile(spec, &CompileOptions::default()).unwrap();
    let found = pipeline.inspect(1).unwrap().oddities;
    assert_eq!(found.holes, [(1, 2), (5, 6)]);
    assert_eq!(names(&found.markup), ["<x>", "<y>"]);
    assert_eq!(names(&found.never_matched), ["<y>"]);
    let twice = Duplicate { tokens: vec!["<y>".to_owned()], ids: vec![7, 8] };
    assert_eq!(found.duplicates, [twice]);
}

#[test]
fn contracts() {
    let model = || json!({"type": "WordLevel", "unk_token": "?", "vocab": vocab(&["?", "a", "b"])});
    let contract = |changes: Value| inspect(&artifact(model(), &changes)).contract;
    let found = contract(json!({"pre_tokenizer": {"type": "Whitespace"}}));
    assert_eq!(found.verdict, Verdict::Lossy);
    let stages: Vec<_> = found.losses.iter().map(|loss| loss.stage).collect();
    assert_eq!(stages, ["model", "pre-tokenizer"]);
    assert_eq!(found.losses[1].cause, "drops the white space between pieces");
    let (text, decoded) = (&found.losses[1].text, found.losses[1].decoded.as_deref());
    assert_eq!((text.as_str(), decoded), ("a  b", Some("a b")));

    let alphabet: Vec<String> =
        crate::text::alphabet::BYTE_TO_CHAR.iter().map(|c| c.to_string()).collect();
    let alphabet: Vec<&str> = alphabet.iter().map(String::as_str).collect();
    let level = json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true,
                       "use_regex": true});
    let of_bytes = |normalizer: Value| {
        let changes = json!({"normalizer": normalizer, "pre_tokenizer": level, "decoder": level});
        inspect(&artifact(bpe(&alphabet, &[], &json!({})), &changes)).contract
    };
    let plain = of_bytes(json!(null));
    assert_eq!((plain.verdict, plain.by_construction), (Verdict::Lossless, true));
    assert!(plain.any_bytes && plain.losses.is_empty() && plain.normalizations.is_empty());
    let lower = of_bytes(json!({"type": "Sequence", "normalizers": [
        {"type": "NFC"}, {"type": "Lowercase"},
    ]}));
    assert_eq!((lower.verdict, lower.by_construction), (Verdict::Normalized, true));
    assert_eq!(lower.normalizations, ["NFC", "lower case"]);
    let prefixed = json!({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true,
                          "use_regex": true});
    let changes = json!({"pre_tokenizer": prefixed, "decoder": level});
    let found = inspect(&artifact(bpe(&alphabet, &[], &json!({})), &changes)).contract;
    assert_eq!(found.verdict, Verdict::Lossy);
    assert_eq!(found.losses[0].cause, "puts a blank in front");
}

#[test]
fn threads_do_not_show() {
    let tokens: Vec<String> = (0..60_000).map(|index| format!("Ġw{index}")).collect();
    let tokens: Vec<&str> = tokens.iter().map(String::as_str).collect();
    let level = json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true,
                       "use_regex": true});
    let bytes = artifact(bpe(&tokens, &[], &json!({})), &json!({"pre_tokenizer": level}));
    let bytes = bytes.to_string().into_bytes();
    let mut files = Files::default();
    files.insert("tokenizer.json", &bytes);
    let spec = formats::read(&files, &formats::Options::default()).unwrap().spec;
    let pipeline = Pipeline::compile(spec, &CompileOptions::default()).unwrap();
    let one = pipeline.inspect(1).unwrap();
    assert_eq!(one.oddities.unreachable.len(), 60_000);
    assert_eq!(one, pipeline.inspect(3).unwrap());
}
