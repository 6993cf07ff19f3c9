//! Small vocabularies, and the fast engine against the reference.

#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;
use crate::spec::TokenList;

fn compile(
    pieces: &[(&str, f64, PieceKind)],
    byte_fallback: bool,
    banned: &[u32],
) -> (SentencePieceBpe, Vocab) {
    let mut list = TokenList::default();
    for ((piece, ..), id) in pieces.iter().zip(0..) {
        list.push(piece.as_bytes(), id).unwrap();
    }
    let vocab = Vocab::new(&list).unwrap();
    let spec = spec::SentencePieceBpe {
        vocab: list,
        scores: pieces.iter().map(|piece| piece.1).collect(),
        kinds: pieces.iter().map(|piece| piece.2).collect(),
        unk_id: Some(0),
        byte_fallback,
    };
    let banned = banned.iter().copied().collect();
    (SentencePieceBpe::compile(&spec, &vocab, &banned).unwrap(), vocab)
}

/// The tokens of a piece, which all three calls agree on.
fn tokens(model: &SentencePieceBpe, vocab: &Vocab, piece: &str) -> Vec<(u32, usize, usize)> {
    let mut scratch = Scratch::new(1 << 12, false);
    let (mut ids, mut spans, mut reference) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..2 {
        ids.clear();
        model.encode(piece.as_bytes(), vocab, &mut scratch, &mut ids).unwrap();
    }
    model.encode_spans(piece.as_bytes(), vocab, &mut scratch, &mut spans).unwrap();
    model.encode_reference(piece.as_bytes(), vocab, &mut reference).unwrap();
    assert_eq!(spans, reference);
    assert_eq!(ids, spans.iter().map(|symbol| symbol.id).collect::<Vec<_>>());
    spans.iter().map(|symbol| (symbol.id, symbol.start, symbol.end)).collect()
}

const N: PieceKind = PieceKind::Normal;

#[test]
fn any_two_parts_of_a_piece_join() {
    let pieces = [
        ("<unk>", 0.0, PieceKind::Unknown),
        ("▁", -1.0, N),
        ("ab", -2.0, N),
        ("abc", -1.0, N),
        ("bc", -3.0, N),
        ("▁abc", -4.0, N),
        ("c", -9.0, N),
    ];
    let (model, vocab) = compile(&pieces, false, &[]);
    assert_eq!(model.cut, Cut::BeforeMark);
    // Neither `a` nor `b` is a piece, but together they are.
    assert_eq!(tokens(&model, &vocab, "▁abc▁ab"), [(5, 0, 6), (1, 6, 9), (2, 9, 11)]);
    // Alone they are unknown, and unknown text joins across words.
    assert_eq!(tokens(&model, &vocab, "ba▁c"), [(0, 0, 2), (1, 2, 5), (6, 5, 6)]);
    assert_eq!(tokens(&model, &vocab, "xé漢🐈"), [(0, 0, 10)]);
    assert_eq!(tokens(&model, &vocab, ""), []);
}

#[test]
fn equal_scores_go_from_the_left_and_better_ones_first() {
    let pieces = [
        ("<unk>", 0.0, PieceKind::Unknown),
        ("a", 0.0, N),
        ("aa", -1.0, N),
        ("b", 0.0, N),
        ("ab", -1.0, N),
        ("bb", -0.5, N),
    ];
    let (model, vocab) = compile(&pieces, false, &[]);
    let ids = |piece: &str| tokens(&model, &vocab, piece).iter().map(|t| t.0).collect::<Vec<_>>();
    assert_eq!(ids("aaa"), [2, 1]);
    assert_eq!(ids("aab"), [2, 3]);
    assert_eq!(ids("abb"), [1, 5]);
}

#[test]
fn user_defined_and_unused_pieces() {
    let pieces = [
        ("<unk>", 0.0, PieceKind::Unknown),
        ("a", 0.0, N),
        ("b", 0.0, N),
        ("ab", -1.0, PieceKind::Unused),
        ("aba", -2.0, PieceKind::Unused),
        ("abab", -3.0, N),
        ("bb", -9.0, PieceKind::UserDefined),
        ("abb", 9.0, N),
    ];
    let (model, vocab) = compile(&pieces, false, &[]);
    let ids = |piece: &str| tokens(&model, &vocab, piece).iter().map(|t| t.0).collect::<Vec<_>>();
    assert_eq!(ids("ab"), [1, 2]);
    assert_eq!(ids("aba"), [1, 2, 1]);
    assert_eq!(ids("abb"), [1, 6]);
    assert_eq!(ids("abba"), [1, 6, 1]);
}

#[test]
fn bytes_stand_in_for_unknown_characters() {
    let bytes: Vec<String> = (0..256).map(|byte| format!("<0x{byte:02X}>")).collect();
    let mut pieces = vec![("<unk>", 0.0, PieceKind::Unknown), ("a", 0.0, N)];
    pieces.extend(bytes.iter().map(|byte| (byte.as_str(), 0.0, PieceKind::Byte)));
    let (model, vocab) = compile(&pieces, true, &[]);
    assert_eq!(
        tokens(&model, &vocab, "aéa"),
        [(1, 0, 1), (2 + 0xC3, 1, 2), (2 + 0xA9, 2, 3), (1, 3, 4)]
    );
    // The text of a byte token or a control token is only text.
    assert!(tokens(&model, &vocab, "<0x41>").iter().all(|token| token.0 != 2 + 0x41));
}

#[test]
fn a_long_text_without_words_takes_near_its_length() {
    let pieces = [
        ("<unk>", 0.0, PieceKind::Unknown),
        ("a", 0.0, N),
        ("aa", -1.0, N),
        ("aaaa", -2.0, N),
        ("aaaaaaaa", -3.0, N),
    ];
    let (model, vocab) = compile(&pieces, false, &[]);
    let mut out = Vec::new();
    let text = "a".repeat(1 << 20);
    model.encode(text.as_bytes(), &vocab, &mut Scratch::new(0, false), &mut out).unwrap();
    assert_eq!(out, vec![4; 1 << 17]);
}

#[test]
fn dropout_keeps_the_text() {
    let pieces = [("<unk>", 0.0, PieceKind::Unknown), ("a", 0.0, N), ("aa", -1.0, N)];
    let (model, vocab) = compile(&pieces, false, &[]);
    let run = |chance, seed| {
        let symbols = model.sample(b"aaaaa", chance, &mut Random::new(seed)).unwrap();
        symbols.iter().map(|symbol| (symbol.id, symbol.start, symbol.end)).collect::<Vec<_>>()
    };
    assert_eq!(run(0.0, 1), tokens(&model, &vocab, "aaaaa"));
    assert_eq!(run(1.0, 1).len(), 5);
    assert_eq!(run(0.5, 3), run(0.5, 3));
    assert!((0..20).any(|seed| run(0.5, seed) != run(0.5, 3)));
}

fn kinds() -> impl Strategy<Value = PieceKind> {
    prop_oneof![
        8 => Just(PieceKind::Normal),
        1 => Just(PieceKind::UserDefined),
        1 => Just(PieceKind::Unused),
        1 => Just(PieceKind::Control),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]
    #[test]
    fn fast_equals_reference(
        pieces in prop::collection::btree_map("[ab▁é]{1,4}", (-4i8..1, kinds()), 0..16),
        text in "[ab▁éx]{0,80}",
        plain: bool,
        banned in 1u32..8,
    ) {
        let mut all = vec![("<unk>", 0.0, PieceKind::Unknown)];
        all.extend(pieces.iter().map(|(piece, &(score, kind))| {
            (piece.as_str(), f64::from(score), if plain { N } else { kind })
        }));
        // Without pieces that reach across words, words are cut and cached.
        if plain {
            all.retain(|piece| piece.0.rfind('▁').is_none_or(|at| at == 0));
        }
        let (model, vocab) = compile(&all, false, &[banned]);
        let encoded = tokens(&model, &vocab, &text);
        prop_assert!(encoded.iter().all(|token| token.0 != banned));
        let mut scratch = MergeScratch::default();
        let (mut short, mut long) = (Vec::new(), Vec::new());
        model.start(&text, &mut short);
        long.clone_from(&short);
        if !short.is_empty() {
            model.rules.merge_short(&mut short, &mut scratch);
            model.rules.merge_long(&mut long, &mut scratch);
            prop_assert_eq!(short, long);
        }
    }
}
