//! SentencePiece models: protocol buffers with lengths and numbers that cannot be.

use super::{either, refused};

/// A varint.
fn varint(mut value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
    out
}

/// A field with a length.
fn field(number: u64, bytes: &[u8]) -> Vec<u8> {
    [varint(number << 3 | 2), varint(bytes.len() as u64), bytes.to_vec()].concat()
}

fn integer(number: u64, value: u64) -> Vec<u8> {
    [varint(number << 3), varint(value)].concat()
}

fn piece(text: &[u8], score: f32, kind: u64) -> Vec<u8> {
    let score = [vec![0x15], score.to_le_bytes().to_vec()].concat();
    field(1, &[field(1, text), score, integer(3, kind)].concat())
}

fn model(kind: u64) -> Vec<u8> {
    let pieces = [
        piece(b"<unk>", 0.0, 2),
        piece(b"<s>", 0.0, 3),
        piece("▁".as_bytes(), -1.0, 1),
        piece(b"a", -2.0, 1),
        piece(b"b", -2.0, 4),
        piece("▁a".as_bytes(), -1.5, 1),
    ];
    [pieces.concat(), field(2, &integer(3, kind)), field(3, &integer(3, 1))].concat()
}

fn refuses(file: &[u8]) -> String {
    refused(&[("tokenizer.model", file)])
}

#[test]
fn cut_off_anywhere() {
    for kind in 1..=4 {
        let file = model(kind);
        assert_eq!(either(&[("tokenizer.model", &file)]), None);
        // Cut between two fields it is a smaller model, to SentencePiece as well.
        let mut whole = vec![0];
        while let Some(&end) = whole.last().filter(|&&end| end < file.len()) {
            whole.push(end + 2 + usize::from(file[end + 1]));
        }
        for end in 0..file.len() {
            match either(&[("tokenizer.model", &file[..end])]) {
                Some(place) => assert!(place.starts_with("tokenizer.model"), "{end}: {place}"),
                None => assert!(whole.contains(&end), "{end}"),
            }
        }
    }
}

#[test]
fn lengths_beyond_the_file() {
    let file = model(1);
    for length in [1 << 20, u64::from(u32::MAX), 1 << 32, i64::MAX as u64, 1 << 63, u64::MAX] {
        // The pieces, a piece's text, a message within, an unknown field.
        for tag in [0x0A, 0x12, 0x1A, 0x7A] {
            let more = [vec![tag], varint(length), b"abc".to_vec()].concat();
            assert!(refuses(&[file.clone(), more].concat()).starts_with("tokenizer.model"));
        }
        let inner = field(1, &[vec![0x0A], varint(length), b"abc".to_vec()].concat());
        assert!(refuses(&[file.clone(), inner].concat()).starts_with("tokenizer.model"));
    }
    // A varint of more than ten bytes.
    let endless = [file, vec![0x0A], vec![0xFF; 20]].concat();
    assert!(refuses(&endless).starts_with("tokenizer.model"));
}

#[test]
fn groups_without_end() {
    // Groups that open one another: the decoder goes down only so far.
    let file = [model(1), vec![0x7B; 100_000]].concat();
    assert!(refuses(&file).starts_with("tokenizer.model"));
}

#[test]
fn pieces_that_cannot_be() {
    let with = |more: &[u8]| either(&[("tokenizer.model", &[model(1), more.to_vec()].concat())]);
    let bad =
        |more: Vec<u8>| assert_eq!(with(&more).as_deref(), Some("tokenizer.model: pieces[6]"));
    bad(piece(b"", 0.0, 1));
    bad(piece(b"a", 0.0, 1));
    bad(piece(b"<u2>", 0.0, 2));
    bad(piece(b"x", 0.0, 0));
    bad(piece(b"x", 0.0, 7));
    bad(piece(b"x", 0.0, u64::MAX));
    bad(piece(b"<0x41>", 0.0, 6));
    assert!(with(&piece(b"\xff", 0.0, 1)).unwrap().starts_with("tokenizer.model"));
    for kind in [0, 5, u64::MAX] {
        let more = field(2, &integer(3, kind));
        assert_eq!(with(&more).as_deref(), Some("tokenizer.model: trainer_spec.model_type"));
    }
    let fallback = field(2, &integer(35, 1));
    assert_eq!(with(&fallback).as_deref(), Some("tokenizer.model: trainer_spec.byte_fallback"));
    assert!(refuses(&field(1, &field(1, b"a"))).contains("pieces"));
}

#[test]
fn scores_that_are_no_numbers() {
    for score in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        for kind in [1, 2] {
            let file = [model(kind), piece(b"ab", score, 1), piece(b"x", 1.0, 1)].concat();
            match either(&[("tokenizer.model", &file)]) {
                Some(place) => assert_eq!(place, "model.vocab[6]"),
                // An infinite score of BPE is an order like any other.
                None => assert!(kind == 2 && !score.is_nan()),
            }
        }
    }
    for score in [f32::MAX, f32::MIN, f32::MIN_POSITIVE, 1e-45, -0.0] {
        for kind in 1..=4 {
            let file = [model(kind), piece(b"ab", score, 1), piece(b"aa", score, 1)].concat();
            assert_eq!(either(&[("tokenizer.model", &file)]), None, "{score} {kind}");
        }
    }
}

#[test]
fn pieces_without_end() {
    for kind in 1..=4u64 {
        let long = [model(kind), piece(&b"a".repeat(3_000_000), 0.0, 1)].concat();
        either(&[("tokenizer.model", &long)]);
        let long = [model(kind), piece(&b"a".repeat(3_000_000), 0.0, 4)].concat();
        either(&[("tokenizer.model", &long)]);
        let many: Vec<u8> =
            (0..100_000).flat_map(|n| piece(format!("w{n}").as_bytes(), -1.0, 4)).collect();
        assert_eq!(either(&[("tokenizer.model", &[model(kind), many].concat())]), None);
    }
    // Empty messages are the shortest pieces there are.
    assert!(refuses(&[model(1), [0x0A, 0].repeat(1_000_000)].concat()).ends_with("pieces[6]"));
}
