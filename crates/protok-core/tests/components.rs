//! Every normalizer, pre-tokenizer and decoder against what the reference made of them.
//!
//! The recorded results stand in `shared/golden` beside the repository; without them, nothing is
//! checked, and the test says so.
#![allow(clippy::unwrap_used)]

mod component_json;

use std::collections::HashMap;
use std::path::PathBuf;

use protok_core::added_tokens::AddedTokens;
use protok_core::decode::{DecodeOptions, Decoder, Errors};
use protok_core::normalize::Normalizer;
use protok_core::pretokenize::{Beginning, PreTokenizer};
use protok_core::spec::Semantics;
use protok_core::text::aligned::AlignedText;
use protok_core::text::alphabet;
use protok_core::vocab::Vocab;
use rustc_hash::FxHashSet;
use serde_json::Value;

fn shared() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared")
}

/// The records of a golden file; none if it is not there.
fn records(name: &str) -> Vec<Value> {
    let path = shared().join("golden").join(name);
    match std::fs::read_to_string(&path) {
        Ok(text) => text
            .split('\n')
            .filter(|line| !line.is_empty())
            .map(|line| serde_json::from_str(line).unwrap())
            .collect(),
        Err(error) => {
            eprintln!("SKIPPED: {} ({error})", path.display());
            Vec::new()
        }
    }
}

/// The texts by id, those of at most `longest` characters.
fn inputs(longest: usize) -> HashMap<String, String> {
    records("inputs.jsonl")
        .into_iter()
        .map(|record| {
            let field = |name: &str| record[name].as_str().unwrap().to_owned();
            (field("id"), field("text"))
        })
        .filter(|(_, text)| text.chars().count() <= longest)
        .collect()
}

/// Puts the character map of another artifact in place of its mention.
fn with_charsmap(mut config: Value) -> Value {
    let Some(name) =
        config["precompiled_charsmap"].as_str().and_then(|name| name.strip_prefix('@'))
    else {
        return config;
    };
    let path = shared().join("artifacts").join(name);
    let file: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    config["precompiled_charsmap"] = file["normalizer"]["precompiled_charsmap"].clone();
    if config["precompiled_charsmap"].is_null() {
        config["precompiled_charsmap"] =
            file["normalizer"]["normalizers"][0]["precompiled_charsmap"].clone();
    }
    config
}

#[test]
fn normalizers() {
    let inputs = inputs(80);
    let mut checked = 0;
    for record in records("components.jsonl") {
        if record["kind"] != "normalizer" {
            continue;
        }
        let spec = component_json::normalizer(&with_charsmap(record["config"].clone()));
        let normalizer = Normalizer::compile(Some(&spec), Semantics::HuggingFace).unwrap();
        for (id, text) in &inputs {
            let expected = match &record["changed"][id] {
                Value::Null => text,
                Value::String(changed) => changed,
                other => panic!("{} on {id}: the reference raised {other}", record["name"]),
            };
            let result = normalizer.apply(text).unwrap();
            assert_eq!(result, expected.as_str(), "{} on {id} {text:?}", record["name"]);
            let mut aligned = AlignedText::new(text, 0);
            normalizer.apply_aligned(&mut aligned, |_, _| {}).unwrap();
            assert_eq!(aligned.text(), result, "{} on {id}", record["name"]);
            checked += 1;
        }
    }
    eprintln!("{checked} normalized texts are those of the reference");
}

#[test]
fn pre_tokenizers() {
    let inputs = inputs(80);
    let (mut checked, mut other_offsets, mut wrong) = (0, 0, Vec::new());
    for record in records("components.jsonl") {
        if record["kind"] != "pre_tokenizer" {
            continue;
        }
        let spec = component_json::pre_tokenizer(&record["config"]);
        let pre_tokenizer = PreTokenizer::compile(Some(&spec), Semantics::HuggingFace).unwrap();
        let spelled = |piece: &[u8]| match pre_tokenizer.yields_bytes() {
            true => alphabet::encode(piece),
            false => String::from_utf8(piece.to_vec()).unwrap(),
        };
        for (id, expected) in record["pieces"].as_object().unwrap() {
            let text = &inputs[id];
            let Some(expected) = expected.as_array() else {
                eprintln!("{} on {id}: the reference raised {expected}", record["name"]);
                continue;
            };
            let head = Beginning::of_text(text.chars().next().map_or(0, char::len_utf8));
            let mut pieces = Vec::new();
            let mut places = Vec::new();
            pre_tokenizer
                .for_each_placed_piece(text, head, |piece, place| {
                    pieces.push(spelled(piece));
                    places.push(place.span(0, piece.len()));
                    Ok(())
                })
                .unwrap();
            let texts: Vec<&str> =
                expected.iter().map(|piece| piece[0].as_str().unwrap()).collect();
            if pieces != texts {
                wrong.push(format!("{} on {id}: {pieces:?} not {texts:?}", record["name"]));
            }
            // A piece may hold part of a character: the reference gives it the whole.
            let offsets: Vec<(usize, usize)> = places
                .iter()
                .map(|&(start, end)| {
                    let before = |at: usize| text.char_indices().filter(|c| c.0 < at).count();
                    (before(start), before(end))
                })
                .collect();
            let recorded: Vec<(usize, usize)> = expected
                .iter()
                .map(|piece| {
                    let number = |at: usize| piece[at].as_u64().unwrap() as usize;
                    (number(1), number(2))
                })
                .collect();
            if offsets != recorded {
                other_offsets += 1;
                eprintln!(
                    "{} on {id} {text:?}: offsets {offsets:?}, the reference's {recorded:?}",
                    record["name"]
                );
            }
            checked += 1;
        }
    }
    eprintln!("{checked} cut texts; offsets differ on {other_offsets}");
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn decoders() {
    let mut checked = 0;
    for record in records("decoders.jsonl") {
        let spec = component_json::decoder(&record["config"]);
        for case in record["cases"].as_array().unwrap() {
            let Some(expected) = case[1].as_str() else {
                eprintln!("{}: the reference raised {}", record["name"], case[1]);
                continue;
            };
            let mut vocab = Vocab::default();
            let mut ids = Vec::new();
            for token in case[0].as_array().unwrap() {
                let token = token.as_str().unwrap().as_bytes();
                let id = vocab.id(token).unwrap_or(vocab.len() as u32);
                if vocab.id(token).is_none() {
                    vocab.insert(token, id).unwrap();
                }
                ids.push(id);
            }
            let added =
                AddedTokens::compile(&[], &FxHashSet::default(), &Normalizer::default()).unwrap();
            let decoder = Decoder::compile(Some(&spec), Semantics::HuggingFace).unwrap();
            let options = DecodeOptions { errors: Errors::Reference, ..DecodeOptions::default() };
            let text = decoder.decode(&ids, &vocab, &added, options).unwrap();
            assert_eq!(text, expected, "{} on {}", record["name"], case[0]);
            checked += 1;
        }
    }
    eprintln!("{checked} decoded texts are those of the reference");
}
