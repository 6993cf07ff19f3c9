//! GGUF files: counts, lengths and types that cannot be.

use super::{either, refused};

fn string(text: &[u8]) -> Vec<u8> {
    [&(text.len() as u64).to_le_bytes(), text].concat()
}

fn pair(key: &str, kind: u32, value: &[u8]) -> Vec<u8> {
    [string(key.as_bytes()), kind.to_le_bytes().to_vec(), value.to_vec()].concat()
}

fn list(kind: u32, count: u64, items: &[u8]) -> Vec<u8> {
    [&kind.to_le_bytes()[..], &count.to_le_bytes(), items].concat()
}

fn strings(items: &[&str]) -> Vec<u8> {
    let all: Vec<u8> = items.iter().flat_map(|item| string(item.as_bytes())).collect();
    list(8, items.len() as u64, &all)
}

fn file_of(count: u64, pairs: &[Vec<u8>]) -> Vec<u8> {
    let head = [&b"GGUF\x03\0\0\0\0\0\0\0\0\0\0\0"[..], &count.to_le_bytes()].concat();
    [head, pairs.concat()].concat()
}

fn file(pairs: &[Vec<u8>]) -> Vec<u8> {
    file_of(pairs.len() as u64, pairs)
}

const MODEL: &str = "tokenizer.ggml.model";
const TOKENS: &str = "tokenizer.ggml.tokens";

/// The pairs of a small BERT.
fn pairs() -> Vec<Vec<u8>> {
    let id = |key: &str, id: u32| pair(&format!("tokenizer.ggml.{key}"), 4, &id.to_le_bytes());
    vec![
        pair(MODEL, 8, &string(b"bert")),
        pair(TOKENS, 9, &strings(&["[UNK]", "[CLS]", "[SEP]", "▁a", "b"])),
        id("bos_token_id", 1),
        id("seperator_token_id", 2),
        id("unknown_token_id", 0),
    ]
}

fn refuses(file: &[u8]) -> String {
    let place = refused(&[("x.gguf", file)]);
    place.strip_prefix("x.gguf: ").unwrap_or_else(|| panic!("no file name: {place}")).to_owned()
}

#[test]
fn cut_off_anywhere() {
    let whole = file(&pairs());
    assert_eq!(either(&[("x.gguf", &whole)]), None);
    for end in 4..whole.len() {
        let place = refuses(&whole[..end]);
        assert!(place.starts_with("byte "), "{end}: {place}");
    }
}

#[test]
fn counts_and_lengths_beyond_the_file() {
    for huge in [1 << 20, u64::from(u32::MAX), 1 << 32, 1 << 61, 1 << 63, u64::MAX - 7, u64::MAX] {
        assert!(refuses(&file_of(huge, &pairs())).starts_with("byte "));
        // The length of a key, of a string, and the counts of lists of every type.
        let key = [huge.to_le_bytes().to_vec(), b"abc".to_vec()].concat();
        assert!(refuses(&file(&[key])).starts_with("byte "));
        let text = [huge.to_le_bytes().to_vec(), b"abc".to_vec()].concat();
        assert!(refuses(&file(&[pair(MODEL, 8, &text)])).starts_with("byte "));
        for kind in 0..13 {
            let place = refuses(&file(&[pair(TOKENS, 9, &list(kind, huge, b"abcdefgh"))]));
            assert!(
                place.starts_with("byte ") || (kind == 9 && place == TOKENS),
                "{kind}: {place}"
            );
        }
    }
    // No tokens at all, and tokens without text.
    let mut none = pairs();
    none[1] = pair(TOKENS, 9, &list(8, 0, b""));
    assert!(!refuses(&file(&none)).is_empty());
    none[1] = pair(TOKENS, 9, &list(8, 5, &[0; 40]));
    assert_eq!(either(&[("x.gguf", &file(&none))]), None);
}

#[test]
fn types_that_cannot_be() {
    for kind in [13, 99, u32::MAX] {
        assert_eq!(refuses(&file(&[pair(MODEL, kind, b"")])), MODEL);
        assert_eq!(refuses(&file(&[pair(TOKENS, 9, &list(kind, 1, b"abc"))])), TOKENS);
    }
    // Every key as every other type.
    let keys = [
        "model",
        "tokens",
        "bos_token_id",
        "unknown_token_id",
        "token_type",
        "pre",
        "merges",
        "scores",
        "add_bos_token",
        "add_space_prefix",
    ];
    for key in keys {
        let key = format!("tokenizer.ggml.{key}");
        for kind in 0..13u32 {
            let value = match kind {
                8 => string(b"x"),
                9 => list(6, 1, &[0; 4]),
                _ => vec![0; 8],
            };
            let width = [1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8][kind as usize];
            let value = if matches!(kind, 8 | 9) { value } else { value[..width].to_vec() };
            let own = pair(&key, kind, &value);
            let head = string(key.as_bytes());
            let mut all: Vec<Vec<u8>> =
                pairs().into_iter().filter(|pair| !pair.starts_with(&head)).collect();
            all.push(own);
            if let Some(place) = either(&[("x.gguf", &file(&all))]) {
                assert!(place.starts_with("x.gguf: tokenizer.ggml."), "{key} {kind}: {place}");
            }
        }
    }
}

#[test]
fn what_is_no_gguf() {
    for (at, place) in [(4, "byte 4"), (5, "byte 4"), (7, "byte 4")] {
        let mut bytes = file(&pairs());
        bytes[at] ^= 0x10;
        assert_eq!(refuses(&bytes), place);
    }
    let twice = [pairs(), pairs()].concat();
    assert_eq!(refuses(&file(&twice)), MODEL);
    assert!(refuses(&file(&[pair("\u{0}", 4, &[0; 4])])).starts_with("tokenizer.ggml.model"));
    let bad_key = [2u64.to_le_bytes().to_vec(), b"\xff\xff".to_vec(), vec![0; 8]].concat();
    assert_eq!(refuses(&file(&[bad_key])), "byte 24");
}

#[test]
fn ids_and_tokens_that_cannot_be() {
    let with = |place: usize, own: Vec<u8>| {
        let mut all = pairs();
        all[place] = own;
        either(&[("x.gguf", &file(&all))])
    };
    // An id beyond the vocabulary is llama.cpp's default, which is beyond this one as well.
    for id in [5, u32::MAX] {
        let own = pair("tokenizer.ggml.bos_token_id", 4, &id.to_le_bytes());
        assert_eq!(with(2, own).as_deref(), Some("x.gguf: tokenizer.ggml.bos_token_id"));
    }
    let twice = pair(TOKENS, 9, &strings(&["a", "b", "a"]));
    assert_eq!(with(1, twice).as_deref(), Some("x.gguf: tokenizer.ggml.tokens[2]"));
    let bytes = pair(TOKENS, 9, &list(8, 1, &string(b"\xff")));
    assert_eq!(with(1, bytes).as_deref(), Some("x.gguf: tokenizer.ggml.tokens[0]"));
    assert_eq!(
        with(0, pair(MODEL, 8, &string(b"x"))).as_deref(),
        Some("x.gguf: tokenizer.ggml.model")
    );
}

#[test]
fn tokens_and_scores_without_end() {
    let bytes: Vec<String> = (0..=255u8).map(|byte| format!("<0x{byte:02X}>")).collect();
    let own = ["<unk>", "<s>", "</s>", "▁", "a", "aa"];
    let long = "b".repeat(500_000);
    let llama = |score: f32, more: &str, kind: i32| {
        let mut tokens: Vec<&str> =
            own.into_iter().chain(bytes.iter().map(String::as_str)).collect();
        tokens.push(more);
        let scores: Vec<u8> = tokens.iter().flat_map(|_| score.to_le_bytes()).collect();
        let mut kinds = vec![1i32; tokens.len()];
        *kinds.last_mut().unwrap() = kind;
        let kinds: Vec<u8> = kinds.iter().flat_map(|kind| kind.to_le_bytes()).collect();
        let count = tokens.len() as u64;
        file(&[
            pair(MODEL, 8, &string(b"llama")),
            pair(TOKENS, 9, &strings(&tokens)),
            pair("tokenizer.ggml.scores", 9, &list(6, count, &scores)),
            pair("tokenizer.ggml.token_type", 9, &list(5, count, &kinds)),
        ])
    };
    assert_eq!(either(&[("x.gguf", &llama(-1.0, "ab", 1))]), None);
    assert!(either(&[("x.gguf", &llama(f32::NAN, "ab", 1))]).is_some());
    assert_eq!(either(&[("x.gguf", &llama(f32::INFINITY, "ab", 1))]), None);
    assert!(either(&[("x.gguf", &llama(0.0, &long, 1))]).is_some());
    // A token that is looked for in texts, of which every start is compared with every end.
    assert!(either(&[("x.gguf", &llama(0.0, &long, 4))]).is_some());
}
