//! Every format besides those of byte-level BPE against what its own implementation made of it.
//!
//! The recorded results stand in `shared/golden` beside the repository; without them, nothing is
//! checked, and the test says so.
#![allow(clippy::unwrap_used)]

use std::collections::HashMap;
use std::path::PathBuf;

use protok_core::added_tokens::SpecialPolicy;
use protok_core::decode::DecodeOptions;
use protok_core::formats::{self, Artifact, Files, Format, Options};
use protok_core::normalize::Normalizer;
use protok_core::pipeline::encode::EncodeOptions;
use protok_core::pipeline::{CompileOptions, Pipeline};
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

fn inputs() -> HashMap<String, String> {
    let field = |record: &Value, name: &str| record[name].as_str().unwrap().to_owned();
    let records = records("inputs.jsonl");
    records.iter().map(|record| (field(record, "id"), field(record, "text"))).collect()
}

/// Reads files of a folder of artifacts, the first of which is the tokenizer.
fn read(folder: &str, names: &[&str]) -> Artifact {
    let contents: Vec<(String, Vec<u8>)> = names
        .iter()
        .map(|name| {
            let path = shared().join("artifacts").join(folder).join(name);
            ((*name).to_owned(), std::fs::read(path).unwrap())
        })
        .collect();
    let files: Files<'_> =
        contents.iter().map(|(name, bytes)| (name.clone(), bytes.as_slice())).collect();
    formats::read(&files, &Options::default()).unwrap()
}

fn compile(artifact: &Artifact) -> Pipeline {
    formats::fingerprint(&artifact.spec).unwrap();
    Pipeline::compile(artifact.spec.clone(), &CompileOptions::default()).unwrap()
}

/// The ids of a text, by the fast path, its spans and the reference path.
fn ids(pipeline: &Pipeline, text: &str, special: SpecialPolicy) -> Vec<u32> {
    let reference = pipeline.encode_reference(text, &special, &mut ()).unwrap();
    let options = EncodeOptions { special, ..EncodeOptions::default() };
    let mut ids = Vec::new();
    pipeline.encode_text(text, &options, &mut ids).unwrap();
    let spans = pipeline.spans(text.as_bytes(), &options).unwrap();
    let of_spans: Vec<(u32, usize, usize)> =
        spans.tokens.iter().map(|t| (t.id, t.original.0, t.original.1)).collect();
    let of_reference: Vec<(u32, usize, usize)> =
        reference.iter().map(|t| (t.id, t.start as usize, t.end as usize)).collect();
    assert_eq!(of_spans, of_reference, "{text:?}");
    assert_eq!(ids, of_reference.iter().map(|token| token.0).collect::<Vec<_>>(), "{text:?}");
    ids
}

fn decode(pipeline: &Pipeline, ids: &[u32], skip_special_tokens: bool) -> String {
    pipeline.decode(ids, DecodeOptions { skip_special_tokens, ..DecodeOptions::default() }).unwrap()
}

fn numbers(value: &Value) -> Vec<u32> {
    serde_json::from_value(value.clone()).unwrap()
}

/// What differs, to be told all at once.
#[derive(Default)]
struct Differences {
    found: Vec<String>,
    compared: usize,
}

impl Differences {
    fn compare<T: PartialEq + std::fmt::Debug>(&mut self, case: &Value, what: &str, got: T, is: T) {
        self.compared += 1;
        if got != is {
            self.found.push(format!("{case} {what}:\n  got      {got:?}\n  expected {is:?}"));
        }
    }

    fn check(&self, name: &str) {
        let shown: Vec<&str> = self.found.iter().take(5).map(String::as_str).collect();
        println!("{name}: {} of {} differ", self.found.len(), self.compared);
        assert!(self.found.is_empty(), "{name}: {} differ\n{}", self.found.len(), shown.join("\n"));
    }
}

/// golden, folder, file
const SENTENCEPIECE: [(&str, &str, &str); 10] = [
    ("t5-base", "t5-base", "spiece.model"),
    ("albert", "albert", "spiece.model"),
    ("unigram_1k_nfkc", "xlmr-like-1k", "sentencepiece.bpe.model"),
    ("mistral-v1", "mistral-v0.1", "tokenizer.model.v1"),
    ("unigram_8k_ja_nfkc", "sentencepiece", "unigram_8k_ja_nfkc.model"),
    ("unigram_bytefallback_toy", "sentencepiece", "unigram_bytefallback_toy.model"),
    ("llama2_bpe_bytefallback", "sentencepiece", "llama2_bpe_bytefallback.model"),
    ("mistral_v3", "sentencepiece", "mistral_v3.model"),
    ("bpe_toy_uds", "sentencepiece", "bpe_toy_uds.model"),
    ("word_toy", "sentencepiece", "word_toy.model"),
];

#[test]
fn sentencepiece() {
    let texts = inputs();
    for (golden, folder, file) in SENTENCEPIECE {
        let records = records(&format!("spm.{golden}.jsonl"));
        if records.is_empty() {
            continue;
        }
        let artifact = read(folder, &[file]);
        assert_eq!(artifact.info.format, Format::SentencePiece);
        let pipeline = compile(&artifact);
        let normalizer =
            Normalizer::compile(artifact.spec.normalizer.as_ref(), artifact.spec.semantics)
                .unwrap();
        let mut differences = Differences::default();
        for record in records {
            let (case, text) = (&record["id"], &texts[record["id"].as_str().unwrap()]);
            // A control piece that a text spells is text.
            let found = ids(&pipeline, text, SpecialPolicy::Raise);
            differences.compare(case, "ids", found, numbers(&record["ids"]));
            let normalized = normalizer.apply(text).unwrap().into_owned();
            let expected = record["norm"].as_str().unwrap_or(text).to_owned();
            differences.compare(case, "norm", normalized, expected);
            let decoded = decode(&pipeline, &numbers(&record["ids"]), false);
            differences.compare(case, "decode", decoded, record["decode"].as_str().unwrap().into());
            let spans = pipeline.spans(text.as_bytes(), &EncodeOptions::default()).unwrap();
            let pieces: Vec<String> = spans
                .tokens
                .iter()
                .map(|token| match pipeline.token(token.id).unwrap() {
                    piece if piece == "<unk>" => {
                        let bytes = &spans.normalized[token.normalized.0..token.normalized.1];
                        String::from_utf8_lossy(bytes).into_owned()
                    }
                    piece => piece.into_owned(),
                })
                .collect();
            let expected: Vec<String> = serde_json::from_value(record["pieces"].clone()).unwrap();
            differences.compare(case, "pieces", pieces, expected);
        }
        differences.check(golden);
    }
}

#[test]
fn bert() {
    for (folder, files) in [
        ("minilm-bert-uncased", ["vocab.txt", "tokenizer_config.json"]),
        ("bert-base-cased", ["vocab.txt", "tokenizer_config.json"]),
    ] {
        if !shared().is_dir() {
            eprintln!("SKIPPED: bert");
            return;
        }
        let old = read(folder, &files);
        assert_eq!(old.info.format, Format::VocabTxt);
        let mut new = read(folder, &["tokenizer.json"]).spec;
        // Truncation and padding are stored settings of a call, which a vocab.txt has no place for.
        (new.truncation, new.padding) = (None, None);
        assert!(old.spec == new, "{folder}");
    }
}

#[test]
fn tekken() {
    let records = records("mistral-tekken.jsonl");
    if records.is_empty() {
        return;
    }
    let texts = inputs();
    let artifact = read("mistral-tekken", &["tekken_240718.json"]);
    assert_eq!(artifact.info.format, Format::Tekken);
    let pipeline = compile(&artifact);
    let role = |name: &str| {
        let (_, token) = artifact.info.roles.iter().find(|(role, _)| role == name).unwrap();
        pipeline.token_id(token).unwrap()
    };
    let (bos, eos) = (role("bos"), role("eos"));
    let mut differences = Differences::default();
    for record in records {
        let (case, text) = (&record["id"], &texts[record["id"].as_str().unwrap()]);
        let expected = numbers(&record["ids"]);
        differences.compare(
            case,
            "ids",
            ids(&pipeline, text, SpecialPolicy::Text),
            expected.clone(),
        );
        differences.compare(case, "bos_eos", vec![bos, eos], numbers(&record["bos_eos"]));
        let whole: Vec<u32> = [bos].into_iter().chain(expected).chain([eos]).collect();
        for (key, skip) in [("decode_skip", true), ("decode_keep", false)] {
            let is = record[key].as_str().unwrap().to_owned();
            differences.compare(case, key, decode(&pipeline, &whole, skip), is);
        }
    }
    differences.check("tekken");
}

#[test]
fn rwkv() {
    let records = records("rwkv-world.jsonl");
    if records.is_empty() {
        return;
    }
    let texts = inputs();
    let artifact = read("rwkv-world", &["rwkv_vocab_v20230424.txt"]);
    assert_eq!(artifact.info.format, Format::RwkvVocab);
    let pipeline = compile(&artifact);
    let mut differences = Differences::default();
    for record in records {
        let (case, text) = (&record["id"], &texts[record["id"].as_str().unwrap()]);
        let found = ids(&pipeline, text, SpecialPolicy::Raise);
        differences.compare(case, "ids", found, numbers(&record["ids"]));
        let decoded = decode(&pipeline, &numbers(&record["ids"]), false);
        let is = record["decode"].as_str().unwrap_or(text).to_owned();
        differences.compare(case, "decode", decoded, is);
    }
    differences.check("rwkv");
}

#[test]
fn gguf() {
    let texts = inputs();
    for name in ["llama-spm", "phi-3", "bert-bge", "falcon", "deepseek-coder"] {
        let records = records(&format!("gguf.{name}.jsonl"));
        if records.is_empty() {
            continue;
        }
        let file = format!("ggml-vocab-{name}.gguf");
        let artifact = read("gguf", &[&file]);
        assert_eq!(artifact.info.format, Format::Gguf);
        let pipeline = compile(&artifact);
        let mut differences = Differences::default();
        for record in records {
            let (case, text) = (&record["id"], &texts[record["id"].as_str().unwrap()]);
            let plain = numbers(&record["ids"]);
            let parsed = record.get("ids_parse_special").map_or_else(|| plain.clone(), numbers);
            let found = ids(&pipeline, text, SpecialPolicy::Text);
            differences.compare(case, "ids", found, plain.clone());
            let found = ids(&pipeline, text, SpecialPolicy::Parse);
            differences.compare(case, "ids_parse_special", found, parsed.clone());
            let decoded = record["decode"].as_str().unwrap().to_owned();
            differences.compare(case, "decode", decode(&pipeline, &plain, true), decoded.clone());
            let kept = record
                .get("decode_parse_special")
                .map_or(decoded, |text| text.as_str().unwrap().to_owned());
            let found = decode(&pipeline, &parsed, false);
            differences.compare(case, "decode_parse_special", found, kept);
        }
        // llama.cpp's own cases beside the file.
        let path = shared().join("artifacts/gguf").join(&file).display().to_string();
        let inputs = std::fs::read_to_string(format!("{path}.inp")).unwrap();
        let outputs = std::fs::read_to_string(format!("{path}.out")).unwrap();
        let cases: Vec<&str> = inputs.split("\n__ggml_vocab_test__\n").collect();
        for (text, line) in cases.iter().zip(outputs.lines()) {
            let expected: Vec<u32> =
                line.split_whitespace().map(|id| id.parse().unwrap()).collect();
            let found = ids(&pipeline, text, SpecialPolicy::Text);
            differences.compare(&Value::from(*text), "own case", found, expected);
        }
        differences.check(name);
    }
}
