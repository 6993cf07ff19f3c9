#![allow(clippy::unwrap_used)]

use super::*;
use crate::added_tokens::SpecialPolicy;
use crate::formats::{self, Artifact, Files, Options};
use crate::pipeline::encode::EncodeOptions;

const BYTE_LEVEL: &str = r#"{"added_tokens": [{"id": 9, "content": "<s>", "special": true,
        "single_word": false, "lstrip": false, "rstrip": false, "normalized": false}],
    "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
        {"type": "Split", "pattern": {"Regex": " ?\\w+|\\s"}, "behavior": "Isolated", "invert": false},
        {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false}]},
    "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true},
    "post_processor": {"type": "TemplateProcessing", "single": [
        {"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {"<s>": {"id": "<s>", "ids": [9], "tokens": ["<s>"]}}},
    "model": {"type": "BPE", "ignore_merges": true,
        "vocab": {"a": 0, "b": 1, "c": 2, "Ġ": 3, "ab": 4, "Ġab": 5, "abc": 7},
        "merges": ["a b", "Ġ ab", "ab c"]}}"#;
const UNIGRAM: &str = r#"{"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFKC"}]},
    "model": {"type": "Unigram", "unk_id": 0,
        "vocab": [["?", 0.0], ["a", -1.5], ["b", -2.25], ["ab", -1.0], ["ab", -3.0]]}}"#;
const WORD_PIECE: &str = r###"{"model": {"type": "WordPiece", "unk_token": "?",
    "continuing_subword_prefix": "##", "max_input_chars_per_word": 9,
    "vocab": {"?": 0, "a": 1, "##b": 2, "ab": 3}}}"###;
const RANKS: &str = "YQ== 0\nYg== 1\nIA== 2\nYWI= 3\nIGFi 4\nPA== 5\ncw== 6\nPg== 7\n";

fn artifact(text: &str) -> Artifact {
    let options = Options {
        pattern: Some(r" ?\w+|\s+|.".to_owned()),
        special_tokens: Some(vec![("<s>".to_owned(), 8)]),
        ..Options::default()
    };
    formats::read(&Files::single("tokenizer.json", text.as_bytes()), &options).unwrap()
}

fn key_of(text: &str) -> Key {
    let files = [("tokenizer.json".to_owned(), Content::Bytes(text.as_bytes()))];
    key(&files, &Options::default(), None).unwrap()
}

fn written(text: &str) -> (Pipeline, Info, Vec<u8>) {
    let Artifact { spec, info } = artifact(text);
    let options =
        CompileOptions { template_literals: info.template_literals(), ..CompileOptions::default() };
    let pipeline = Pipeline::compile(spec, &options).unwrap();
    let bytes = write(&pipeline, &info, &key_of(text)).unwrap();
    (pipeline, info, bytes)
}

#[test]
fn what_was_written_is_read() {
    let options = EncodeOptions { special: SpecialPolicy::Parse, ..EncodeOptions::default() };
    for text in [BYTE_LEVEL, UNIGRAM, WORD_PIECE, RANKS] {
        let (pipeline, info, bytes) = written(text);
        let (read, read_info) = read(&bytes, &key_of(text), None, None).unwrap();
        assert_eq!((read.spec(), &read_info), (pipeline.spec(), &info));
        for text in ["", "ab", "a ab b", "ab ab<s>ab", "abab"] {
            let ids = |pipeline: &Pipeline| pipeline.encode(text, None, &options).map(|e| e.ids);
            let (one, other) = (ids(&pipeline), ids(&read));
            assert_eq!(one.as_ref().ok(), other.as_ref().ok(), "{text}");
            let Ok(ids) = one else { continue };
            // The template of the first puts an id that nothing has.
            let decoded = |pipeline: &Pipeline| {
                pipeline.decode(&ids, Default::default()).map_err(|error| error.what)
            };
            assert_eq!(decoded(&pipeline), decoded(&read));
        }
    }
}

#[test]
fn every_change_of_a_byte_is_seen() {
    let (_, _, bytes) = written(BYTE_LEVEL);
    let key = key_of(BYTE_LEVEL);
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 1 << (at % 8);
        assert!(read(&changed, &key, None, None).is_err(), "byte {at}");
        assert!(read(&bytes[..at], &key, None, None).is_err(), "cut at {at}");
    }
    assert!(read(&[&bytes[..], b"x"].concat(), &key, None, None).is_err());
    assert!(read(&bytes, &key_of(UNIGRAM), None, None).is_err());
}

#[test]
fn a_changed_snapshot_with_the_right_digest_is_no_danger() {
    for text in [BYTE_LEVEL, UNIGRAM, WORD_PIECE, RANKS] {
        let (_, _, bytes) = written(text);
        let mut refused = 0;
        for at in 80..bytes.len() {
            for bits in [0x01, 0x80, 0xFF] {
                let mut changed = bytes.clone();
                changed[at] ^= bits;
                seal(&mut changed);
                let Ok((pipeline, _)) = read(&changed, &key_of(text), None, None) else {
                    refused += 1;
                    continue;
                };
                if let Ok(encoding) = pipeline.encode("ab <s> abc", None, &EncodeOptions::default())
                {
                    let _ = pipeline.decode(&encoding.ids, Default::default());
                }
            }
        }
        assert!(refused > 100, "{refused}");
    }
}

#[test]
fn keys_tell_all_that_matters_apart() {
    let bytes = RANKS.as_bytes();
    let files = |name: &str| [(name.to_owned(), Content::Bytes(bytes))];
    let (files, other) = (files("a.tiktoken"), files("b.tiktoken"));
    let default = Options::default();
    let word = || Some("x".to_owned());
    let tokens = |name: &str| Some(vec![(name.to_owned(), 1)]);
    let named = ["x".to_owned()];
    let mut keys = vec![
        key(&files, &default, None),
        key(&other, &default, None),
        key(&files[..0], &default, None),
        key(&files, &default, Some(&[])),
        key(&files, &default, Some(&named)),
    ];
    for options in [
        Options { encoding: word(), ..default.clone() },
        Options { pattern: word(), ..default.clone() },
        Options { special_tokens: tokens("x"), ..default.clone() },
        Options { special_tokens: tokens("y"), ..default.clone() },
        Options { as_loaded_by: Some(formats::Wrapper::Transformers), ..default.clone() },
    ] {
        keys.push(key(&files, &options, None));
    }
    let mut keys: Vec<_> = keys.into_iter().map(|key| *key.unwrap().as_bytes()).collect();
    let count = keys.len();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), count);
}
