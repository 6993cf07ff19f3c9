#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::proto::Piece;
use super::*;
use crate::pipeline::{CompileOptions, Pipeline};

fn piece(text: &str, kind: i32) -> Piece {
    Piece { piece: text.to_owned(), score: Some(-1.0), kind: Some(kind) }
}

fn model() -> ModelProto {
    ModelProto {
        pieces: vec![piece("<unk>", 2), piece("<s>", 3), piece("▁a", 1), piece("b", 4)],
        trainer_spec: Some(TrainerSpec { model_type: Some(1), ..TrainerSpec::default() }),
        normalizer_spec: Some(NormalizerSpec::default()),
        denormalizer_spec: None,
    }
}

fn refused(change: impl Fn(&mut ModelProto)) -> String {
    let mut model = model();
    change(&mut model);
    read(&model.encode_to_vec()).unwrap_err().to_string()
}

#[test]
fn defaults_and_roles() {
    let loaded = read(&model().encode_to_vec()).unwrap();
    assert_eq!(loaded.roles, [("unk", "<unk>"), ("bos", "<s>")].map(|(a, b)| (a.into(), b.into())));
    let Some(Normalizer::SentencePiece(rules)) = loaded.spec.normalizer else { panic!() };
    assert!(rules.add_dummy_prefix && rules.remove_extra_whitespaces && rules.escape_whitespaces);
    assert_eq!(rules.protected, ["b"]);
}

#[test]
fn what_sentencepiece_refuses_is_refused() {
    assert!(refused(|model| model.pieces[2].piece.clear()).starts_with("pieces[2]"));
    assert!(refused(|model| model.pieces[3] = piece("▁a", 1)).contains("twice"));
    assert!(refused(|model| model.pieces[3].kind = Some(2)).contains("another"));
    assert!(refused(|model| model.pieces[3].kind = Some(9)).contains("type"));
    assert!(refused(|model| model.pieces[3].kind = Some(6)).contains("byte_fallback"));
    assert!(refused(|model| drop(model.pieces.remove(0))).contains("no unknown"));
    let trainer = |change: fn(&mut TrainerSpec)| {
        refused(move |model| change(model.trainer_spec.get_or_insert_default()))
    };
    assert!(trainer(|spec| spec.byte_fallback = Some(true)).contains("256"));
    assert!(trainer(|spec| spec.model_type = Some(7)).contains("model_type"));
}

proptest! {
    #[test]
    fn damage_is_read_or_refused(
        at in 0usize..80,
        remove in 0usize..4,
        insert in prop::collection::vec(any::<u8>(), 0..6),
        cut in 0usize..160,
    ) {
        let mut bytes = model().encode_to_vec();
        let at = at.min(bytes.len());
        bytes.splice(at..(at + remove).min(bytes.len()), insert);
        bytes.truncate(cut);
        if let Ok(loaded) = read(&bytes) {
            let _ = Pipeline::compile(loaded.spec, &CompileOptions::default());
        }
    }
}
