//! Small vocabularies, and the fast engine against the reference.

#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;
use crate::spec::TokenList;

struct Model {
    model: Unigram,
    vocab: Vocab,
    pieces: Vec<String>,
}

fn compile(
    pieces: &[(&str, f64, PieceKind)],
    semantics: Semantics,
    byte_fallback: bool,
    banned: &[u32],
) -> Model {
    let mut list = TokenList::default();
    for ((piece, ..), id) in pieces.iter().zip(0..) {
        list.push(piece.as_bytes(), id).unwrap();
    }
    let vocab = Vocab::new(&list).unwrap();
    let spec = spec::Unigram {
        vocab: list,
        scores: pieces.iter().map(|piece| piece.1).collect(),
        kinds: pieces.iter().map(|piece| piece.2).collect(),
        unk_id: Some(0),
        byte_fallback,
    };
    let banned = banned.iter().copied().collect();
    let model = Unigram::compile(&spec, semantics, Unit::Character, &vocab, &banned).unwrap();
    Model { model, vocab, pieces: pieces.iter().map(|piece| piece.0.to_owned()).collect() }
}

/// The tokens of a piece, which all three calls agree on.
fn tokens(model: &Model, piece: &str) -> Vec<(u32, usize, usize)> {
    let Model { model, vocab, .. } = model;
    let mut scratch = Scratch::new(1 << 10, false);
    let (mut ids, mut spans, mut reference) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..2 {
        ids.clear();
        model.encode(piece.as_bytes(), vocab, &mut scratch, &mut ids).unwrap();
    }
    model.encode_spans(piece.as_bytes(), vocab, &mut scratch, &mut spans).unwrap();
    model.encode_reference(piece.as_bytes(), vocab, &mut reference).unwrap();
    assert_eq!(spans, reference);
    assert_eq!(ids, spans.iter().map(|symbol| symbol.id).collect::<Vec<_>>());
    let mut at = 0;
    for symbol in &spans {
        assert_eq!(symbol.start, at);
        at = symbol.end;
    }
    assert_eq!(at, piece.len());
    spans.iter().map(|symbol| (symbol.id, symbol.start, symbol.end)).collect()
}

fn ids(model: &Model, piece: &str) -> Vec<u32> {
    tokens(model, piece).into_iter().map(|token| token.0).collect()
}

fn normal<'a>(pieces: &[(&'a str, f64)]) -> Vec<(&'a str, f64, PieceKind)> {
    let kind = |place| if place == 0 { PieceKind::Unknown } else { PieceKind::Normal };
    pieces.iter().enumerate().map(|(at, &(piece, score))| (piece, score, kind(at))).collect()
}

const BOTH: [Semantics; 2] = [Semantics::HuggingFace, Semantics::SentencePiece];

/// Tokens, and the probability of that way to cut a word.
type Way<'a> = (&'a [&'a str], f64);

/// The worked example of words made of hug, pug, pun, bun and hugs: counts of 210 pieces.
#[test]
fn worked_example() {
    let counts = [
        ("h", 15),
        ("u", 36),
        ("g", 20),
        ("hu", 15),
        ("ug", 20),
        ("p", 17),
        ("pu", 17),
        ("n", 16),
        ("un", 16),
        ("b", 4),
        ("bu", 4),
        ("s", 5),
        ("hug", 15),
        ("gs", 5),
        ("ugs", 5),
    ];
    let mut pieces = vec![("<unk>", 0.0)];
    pieces.extend(counts.iter().map(|&(piece, count)| (piece, (f64::from(count) / 210.0).ln())));
    let expected: [(&str, &[Way<'_>]); 5] = [
        (
            "hug",
            &[
                (&["hug"], 1.0 / 14.0),
                (&["h", "ug"], 1.0 / 147.0),
                (&["hu", "g"], 1.0 / 147.0),
                (&["h", "u", "g"], 2.0 / 1715.0),
            ],
        ),
        (
            "pug",
            &[
                (&["p", "ug"], 17.0 / 2205.0),
                (&["pu", "g"], 17.0 / 2205.0),
                (&["p", "u", "g"], 34.0 / 25725.0),
            ],
        ),
        (
            "bun",
            &[
                (&["b", "un"], 16.0 / 11025.0),
                (&["bu", "n"], 16.0 / 11025.0),
                (&["b", "u", "n"], 32.0 / 128625.0),
            ],
        ),
        (
            "hugs",
            &[
                (&["h", "ugs"], 1.0 / 588.0),
                (&["hu", "gs"], 1.0 / 588.0),
                (&["hug", "s"], 1.0 / 588.0),
                (&["h", "u", "gs"], 1.0 / 3430.0),
                (&["h", "ug", "s"], 1.0 / 6174.0),
                (&["hu", "g", "s"], 1.0 / 6174.0),
            ],
        ),
        (
            "unhug",
            &[
                (&["un", "hug"], 4.0 / 735.0),
                (&["u", "n", "hug"], 8.0 / 8575.0),
                (&["un", "h", "ug"], 8.0 / 15435.0),
                (&["un", "hu", "g"], 8.0 / 15435.0),
            ],
        ),
    ];
    for semantics in BOTH {
        let model = compile(&normal(&pieces), semantics, false, &[]);
        for (word, ways) in expected {
            let found = model.model.nbest(word.as_bytes(), ways.len()).unwrap();
            assert_eq!(found.len(), ways.len());
            for (&(way, share), (symbols, score)) in ways.iter().zip(&found) {
                assert!((score.exp() / share - 1.0).abs() < 1e-5, "{word} {way:?}");
                let tokens: Vec<&str> =
                    symbols.iter().map(|s| model.pieces[s.id as usize].as_str()).collect();
                // Ways with one probability may come in either order.
                let equal = |other: &&Way<'_>| (other.1 / share - 1.0).abs() < 1e-9;
                assert!(ways.iter().filter(equal).any(|other| other.0 == tokens));
            }
            let best = &found[0].0;
            let score = |ids: &[u32]| ids.iter().map(|&id| pieces[id as usize].1).sum::<f64>();
            let encoded = ids(&model, word);
            let best: Vec<u32> = best.iter().map(|symbol| symbol.id).collect();
            assert!((score(&encoded) - score(&best)).abs() < 1e-5);
        }
    }
}

#[test]
fn unknown_runs_join_or_fall_back() {
    let mut pieces = normal(&[("<unk>", 0.0), ("a", -1.0), ("b", -2.0), ("</s>", -3.0)]);
    let hf = compile(&pieces, Semantics::HuggingFace, false, &[]);
    assert_eq!(tokens(&hf, "axéb"), [(1, 0, 1), (0, 1, 4), (2, 4, 5)]);
    // What spells the unknown token is it, and so part of a run.
    assert_eq!(tokens(&hf, "<unk>x"), [(0, 0, 6)]);
    assert_eq!(ids(&hf, "a</s>"), [1, 3]);
    let bytes: Vec<String> = (0..256).map(|byte| format!("<0x{byte:02X}>")).collect();
    pieces[3].2 = PieceKind::Control;
    pieces.extend(bytes.iter().map(|byte| (byte.as_str(), 0.0, PieceKind::Byte)));
    for semantics in BOTH {
        let model = compile(&pieces, semantics, true, &[]);
        assert_eq!(
            tokens(&model, "éxa"),
            [(4 + 0xC3, 0, 1), (4 + 0xA9, 1, 2), (4 + 0x78, 2, 3), (1, 3, 4)]
        );
    }
    let sentencepiece = compile(&pieces, Semantics::SentencePiece, false, &[]);
    assert_eq!(ids(&sentencepiece, "a</s>"), [1, 0]);
    let missing = spec::Unigram {
        vocab: TokenList::default(),
        scores: vec![],
        kinds: vec![],
        unk_id: None,
        byte_fallback: false,
    };
    let none = FxHashSet::default();
    let model = Unigram::compile(
        &missing,
        Semantics::HuggingFace,
        Unit::Character,
        &Vocab::default(),
        &none,
    )
    .unwrap();
    let mut out = Vec::new();
    assert!(model.encode(b"a", &Vocab::default(), &mut Scratch::new(0, false), &mut out).is_err());
    assert!(model.encode(b"", &Vocab::default(), &mut Scratch::new(0, false), &mut out).is_ok());
}

#[test]
fn a_control_token_in_the_vocabulary_can_be_banned() {
    let pieces = normal(&[("<unk>", 0.0), ("<", -9.0), ("/s>", -9.0), ("</s>", -1.0)]);
    let open = compile(&pieces, Semantics::HuggingFace, false, &[]);
    assert_eq!(ids(&open, "</s>"), [3]);
    assert!(open.model.can_yield(&[3].into_iter().collect(), &open.vocab));
    let plain = compile(&pieces, Semantics::HuggingFace, false, &[3]);
    assert_eq!(ids(&plain, "</s>"), [1, 2]);
    assert!(!plain.model.can_yield(&[3].into_iter().collect(), &plain.vocab));
}

#[test]
fn kinds_of_sentencepiece() {
    let pieces = [
        ("<unk>", 0.0, PieceKind::Unknown),
        ("a", -1.0, PieceKind::Normal),
        ("ab", -0.1, PieceKind::Unused),
        ("b", -1.0, PieceKind::Normal),
        ("abab", -50.0, PieceKind::UserDefined),
        ("ba", -1.0, PieceKind::Normal),
    ];
    let model = compile(&pieces, Semantics::SentencePiece, false, &[]);
    assert_eq!(ids(&model, "ab"), [1, 3]);
    // A user-defined piece wins whatever its score says.
    assert_eq!(ids(&model, "ababa"), [4, 1]);
}

#[test]
fn precision_decides_near_ties() {
    // 1 + 1e-9 is 1 in 32 bits: there the way that is found first stays.
    let pieces = normal(&[("<unk>", 0.0), ("ab", -1.0), ("a", -0.5), ("b", -0.499_999_999)]);
    assert_eq!(ids(&compile(&pieces, Semantics::HuggingFace, false, &[]), "ab"), [2, 3]);
    assert_eq!(ids(&compile(&pieces, Semantics::SentencePiece, false, &[]), "ab"), [1]);
}

#[test]
fn hostile_texts_stay_bounded() {
    let pieces = normal(&[("<unk>", 0.0), ("a", -100.0), ("aa", -200.0), ("aaa", -300.0)]);
    for semantics in BOTH {
        let model = compile(&pieces, semantics, false, &[]);
        let text = "a".repeat(1 << 20) + &"é".repeat(1 << 18);
        let mut out = Vec::new();
        model
            .model
            .encode(text.as_bytes(), &model.vocab, &mut Scratch::new(0, false), &mut out)
            .unwrap();
        assert_eq!(out.last(), Some(&0));
        let long = "a".repeat(3000);
        assert!(!model.model.nbest(long.as_bytes(), 50).unwrap().is_empty());
        // Sums that SentencePiece starts anew.
        tokens(&model, &"a".repeat(4000));
    }
}

#[test]
fn samples_follow_the_probabilities() {
    let pieces = normal(&[("<unk>", 0.0), ("a", -1.0), ("b", -1.0), ("ab", -1.0)]);
    let model = compile(&pieces, Semantics::SentencePiece, false, &[]);
    let draw = |seed: u64, alpha: f64| {
        let symbols = model.model.sample(b"ab", alpha, &mut Random::new(seed)).unwrap();
        symbols.iter().map(|symbol| symbol.id).collect::<Vec<u32>>()
    };
    assert_eq!(draw(1, 1.0), draw(1, 1.0));
    let whole = (0..2000).filter(|&seed| draw(seed, 1.0) == [3]).count() as f64 / 2000.0;
    // 1 / (1 + 1/e) = 0.731
    assert!((whole - 0.731).abs() < 0.04, "{whole}");
    assert!((0..50).all(|seed| draw(seed, 100.0) == [3]));
    assert_eq!(model.model.sample(b"", 1.0, &mut Random::new(0)).unwrap(), []);
}

fn kinds() -> impl Strategy<Value = PieceKind> {
    prop_oneof![
        6 => Just(PieceKind::Normal),
        1 => Just(PieceKind::UserDefined),
        1 => Just(PieceKind::Unused),
        1 => Just(PieceKind::Control),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]
    #[test]
    fn fast_equals_reference(
        pieces in prop::collection::btree_map("[abé]{1,4}", (-4i8..1, kinds()), 0..14),
        text in "[abéx]{0,40}",
        single: bool,
        banned in 1u32..8,
    ) {
        let mut all = vec![("<unk>", 0.0, PieceKind::Unknown)];
        all.extend(pieces.iter().map(|(piece, &(score, kind))| {
            (piece.as_str(), f64::from(score) / 3.0, kind)
        }));
        let semantics = BOTH[usize::from(single)];
        let model = compile(&all, semantics, false, &[banned]);
        let encoded = tokens(&model, &text);
        prop_assert!(encoded.iter().all(|token| token.0 != banned));
        let best = model.model.nbest(text.as_bytes(), 3).unwrap();
        prop_assert!(best.windows(2).all(|pair| pair[0].1 >= pair[1].1 - 1e-4));
        for (way, _) in &best {
            prop_assert!(way.windows(2).all(|pair| pair[0].end == pair[1].start));
        }
    }
}
