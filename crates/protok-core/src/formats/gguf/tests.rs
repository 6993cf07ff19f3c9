#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;
use crate::pipeline::{CompileOptions, Pipeline};

fn text(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(&(text.len() as u64).to_le_bytes());
    out.extend_from_slice(text.as_bytes());
}

fn string(out: &mut Vec<u8>, key: &str, value: &str) {
    text(out, key);
    out.extend_from_slice(&8u32.to_le_bytes());
    text(out, value);
}

fn strings(out: &mut Vec<u8>, key: &str, values: &[&str]) {
    text(out, key);
    out.extend_from_slice(&9u32.to_le_bytes());
    out.extend_from_slice(&8u32.to_le_bytes());
    out.extend_from_slice(&(values.len() as u64).to_le_bytes());
    values.iter().for_each(|value| text(out, value));
}

fn integers(out: &mut Vec<u8>, key: &str, values: &[i32]) {
    text(out, key);
    out.extend_from_slice(&9u32.to_le_bytes());
    out.extend_from_slice(&5u32.to_le_bytes());
    out.extend_from_slice(&(values.len() as u64).to_le_bytes());
    values.iter().for_each(|value| out.extend_from_slice(&value.to_le_bytes()));
}

type Pair<'a> = &'a dyn Fn(&mut Vec<u8>);

fn file(pairs: &[Pair<'_>]) -> Vec<u8> {
    let mut out = b"GGUF\x03\0\0\0".to_vec();
    out.extend_from_slice(&0u64.to_le_bytes());
    out.extend_from_slice(&(pairs.len() as u64).to_le_bytes());
    pairs.iter().for_each(|pair| pair(&mut out));
    out
}

fn bpe(pre: &str, tokens: &[&str], types: &[i32], merges: &[&str]) -> Vec<u8> {
    file(&[
        &|out| string(out, "tokenizer.ggml.model", "gpt2"),
        &|out| string(out, "tokenizer.ggml.pre", pre),
        &|out| strings(out, "tokenizer.ggml.tokens", tokens),
        &|out| integers(out, "tokenizer.ggml.token_type", types),
        &|out| strings(out, "tokenizer.ggml.merges", merges),
        &|out| string(out, "tokenizer.chat_template", "T"),
    ])
}

const TOKENS: &[&str] = &["a", "b", "ab", "<|x|>", "</s>"];

#[test]
fn a_small_file() {
    let loaded = read(&bpe("gpt-2", TOKENS, &[1, 1, 1, 4, 1], &["a b", "a b"])).unwrap();
    let added: Vec<(u32, bool)> =
        loaded.spec.added_tokens.iter().map(|token| (token.id, token.special)).collect();
    assert_eq!(added, [(3, false), (4, true)]);
    assert_eq!(loaded.chat_templates, [("default".to_owned(), "T".to_owned())]);
}

#[test]
fn every_known_pattern_compiles() {
    for pre in [
        "default",
        "llama-bpe",
        "qwen2",
        "gpt-2",
        "falcon",
        "deepseek-coder",
        "deepseek-v3",
        "tekken",
        "gpt-4o",
        "starcoder",
        "command-r",
        "trillion",
        "dbrx",
        "stablelm2",
    ] {
        let mut bytes = bpe(pre, TOKENS, &[1; 5], &["a b"]);
        // Some names put a begin token in front, whose default lies outside of this vocabulary.
        let add_bos = |out: &mut Vec<u8>| {
            text(out, "tokenizer.ggml.add_bos_token");
            out.extend_from_slice(&[7, 0, 0, 0, 0]);
        };
        add_bos(&mut bytes);
        bytes[16] += 1;
        let spec = read(&bytes).unwrap_or_else(|error| panic!("{pre}: {error}")).spec;
        Pipeline::compile(spec, &CompileOptions::default())
            .unwrap_or_else(|error| panic!("{pre}: {error}"));
    }
}

#[test]
fn what_is_not_exact_is_named() {
    let place = |bytes: &[u8]| read(bytes).unwrap_err().location.unwrap();
    let types = [1; 5];
    assert_eq!(place(&bpe("zoo", TOKENS, &types, &[])), "tokenizer.ggml.pre");
    assert_eq!(place(&bpe("gpt-2", TOKENS, &types, &["a c"])), "tokenizer.ggml.merges[0]");
    assert_eq!(place(&bpe("gpt-2", TOKENS, &types, &["ab"])), "tokenizer.ggml.merges[0]");
    assert_eq!(place(&bpe("gpt-2", TOKENS, &[1], &[])), "tokenizer.ggml.token_type");
    assert_eq!(place(&bpe("gpt-2", &["a", "a"], &types, &[])), "tokenizer.ggml.tokens[1]");
    assert_eq!(place(&bpe("gpt-2", &["<a<", "<b>"], &[4, 4], &[])), "tokenizer.ggml.tokens");
    assert_eq!(
        place(&bpe("gpt-2", &["<PRE>", "<fim_prefix>"], &[1, 1], &[])),
        "tokenizer.ggml.token_type"
    );
    assert!(read(&bpe("gpt-2", &["\n\n", "\n\n\n"], &[4, 4], &[])).is_ok());
    let model = file(&[&|out| string(out, "tokenizer.ggml.model", "zoo"), &|out| {
        strings(out, "tokenizer.ggml.tokens", &["a"])
    }]);
    assert_eq!(place(&model), "tokenizer.ggml.model");
    let llama = file(&[&|out| string(out, "tokenizer.ggml.model", "llama"), &|out| {
        strings(out, "tokenizer.ggml.tokens", &["a"])
    }]);
    assert_eq!(place(&llama), "tokenizer.ggml.tokens");
    assert_eq!(place(b"GGUF\x01\0\0\0"), "byte 4");
    assert_eq!(place(b"GGUF"), "byte 4");
}

#[test]
fn absurd_lengths_take_no_memory() {
    let whole = bpe("gpt-2", TOKENS, &[1; 5], &["a b"]);
    for at in (8..whole.len() - 8).step_by(1) {
        let mut bytes = whole.clone();
        bytes[at..at + 8].fill(0xFF);
        let _ = read(&bytes);
    }
}

proptest! {
    #[test]
    fn damage_is_read_or_refused(
        at in 0usize..400,
        remove in 0usize..4,
        insert in prop::collection::vec(any::<u8>(), 0..6),
        cut in 0usize..420,
    ) {
        let mut bytes = bpe("gpt-2", TOKENS, &[1, 2, 3, 4, 6], &["a b"]);
        let at = at.min(bytes.len());
        bytes.splice(at..(at + remove).min(bytes.len()), insert);
        bytes.truncate(cut);
        if let Ok(loaded) = read(&bytes) {
            let _ = Pipeline::compile(loaded.spec, &CompileOptions::default());
        }
    }
}
