//! From a [`Spec`] to the bytes of a model.

use base64::Engine as _;
use prost::Message as _;

use super::proto::{ModelProto, NormalizerSpec, Piece, TrainerSpec};
use super::{ROLES, from_hugging_face::from_hugging_face, read};
use crate::error::{Error, Result};
use crate::formats::save::check_same;
use crate::spec::{
    Decoder, Model, Normalizer, PieceKind, Semantics, SentencePieceNormalizer, Spec, TokenList,
    WordUnit,
};

fn refused(place: &str, what: &str) -> Error {
    Error::artifact(place, format!("A SentencePiece model has no place for this: {what}."))
        .hint("Save it as huggingface, or in the format that it came from.")
}

/// Writes a model that SentencePiece reads as this Spec. The pieces of roles are named in it.
///
/// # Errors
/// An artifact error that names what SentencePiece would read differently.
pub fn write(spec: &Spec, roles: &[(String, String)]) -> Result<Vec<u8>> {
    match spec.semantics {
        Semantics::SentencePiece => {}
        Semantics::HuggingFace => return write(&from_hugging_face(spec)?, roles),
        _ => {
            let what = "rules that are neither SentencePiece's nor those of a tokenizer.json";
            return Err(refused("semantics", what));
        }
    }
    let Some(Normalizer::SentencePiece(rules)) = &spec.normalizer else {
        return Err(refused("normalizer", "a normalizer that is not SentencePiece's"));
    };
    let Some(Decoder::SentencePiece(decoder)) = &spec.decoder else {
        return Err(refused("decoder", "a decoder that is not SentencePiece's"));
    };
    let (model_type, scores, byte_fallback) = match &spec.model {
        Model::Unigram(model) => (1, &model.scores, model.byte_fallback),
        Model::SentencePieceBpe(model) => (2, &model.scores, model.byte_fallback),
        Model::SentencePieceWord(model) => {
            let kind = if model.unit == WordUnit::Word { 3 } else { 4 };
            (kind, &model.scores, model.byte_fallback)
        }
        _ => return Err(refused("model", "a model that is not SentencePiece's")),
    };
    let pieces = pieces(spec.model.tokens(), spec.model.kinds(), scores)?;
    let mut trainer = TrainerSpec {
        model_type: Some(model_type),
        vocab_size: i32::try_from(pieces.len()).ok(),
        treat_whitespace_as_suffix: Some(rules.treat_whitespace_as_suffix),
        byte_fallback: Some(byte_fallback),
        unk_surface: Some(decoder.unk_surface.clone()),
        ..TrainerSpec::default()
    };
    name_roles(&mut trainer, &pieces, roles);
    let denormalizer = decoder.denormalizer.as_deref();
    let model = ModelProto {
        pieces,
        trainer_spec: Some(trainer),
        normalizer_spec: Some(normalizer(rules)?),
        denormalizer_spec: denormalizer.map(normalizer).transpose()?,
    };
    let bytes = model.encode_to_vec();
    check_same(spec, &read(&bytes)?.spec, "SentencePiece")?;
    Ok(bytes)
}

fn pieces(vocab: &TokenList, kinds: &[PieceKind], scores: &[f64]) -> Result<Vec<Piece>> {
    let mut pieces = Vec::with_capacity(vocab.len());
    for (at, (token, id)) in vocab.iter().enumerate() {
        let bad = |what: &str| refused(&format!("model.vocab[{at}]"), what);
        if id as usize != at {
            return Err(bad("an id that is not the place of its piece"));
        }
        let piece = std::str::from_utf8(token).map_err(|_| bad("a piece that is not UTF-8"))?;
        let score = scores.get(at).copied().ok_or_else(|| bad("a piece without a score"))?;
        let short = score as f32;
        if f64::from(short).to_bits() != score.to_bits() {
            let what = format!("the score {score:?}, which takes more than 32 bits");
            return Err(refused(&format!("model.scores[{at}]"), &what));
        }
        let kind = match kinds.get(at).copied().unwrap_or_default() {
            PieceKind::Normal => 1,
            PieceKind::Unknown => 2,
            PieceKind::Control => 3,
            PieceKind::UserDefined => 4,
            PieceKind::Unused => 5,
            PieceKind::Byte => 6,
        };
        pieces.push(Piece { piece: piece.to_owned(), score: Some(short), kind: Some(kind) });
    }
    Ok(pieces)
}

/// Names the piece of each role; where there is none, the customary piece must not get it.
fn name_roles(trainer: &mut TrainerSpec, pieces: &[Piece], roles: &[(String, String)]) {
    let mut named: [(Option<String>, i32); 4] = Default::default();
    for ((role, default, kind), slot) in ROLES.into_iter().zip(&mut named) {
        let wanted = if kind == PieceKind::Unknown { 2 } else { 3 };
        let find =
            |name: &str| pieces.iter().position(|p| p.piece == name && p.kind == Some(wanted));
        let own = roles.iter().find(|(known, token)| known == role && find(token).is_some());
        let only = (wanted == 2).then(|| pieces.iter().find(|p| p.kind == Some(2))).flatten();
        let name = own.map(|(_, token)| token.clone()).or_else(|| only.map(|p| p.piece.clone()));
        let id = name.as_deref().and_then(find).and_then(|at| i32::try_from(at).ok());
        // No piece is empty.
        let none = find(default).map(|_| String::new());
        *slot = (name.or(none), id.unwrap_or(-1));
    }
    let [unk, bos, eos, pad] = named;
    (trainer.unk_piece, trainer.unk_id) = (unk.0, Some(unk.1));
    (trainer.bos_piece, trainer.bos_id) = (bos.0, Some(bos.1));
    (trainer.eos_piece, trainer.eos_id) = (eos.0, Some(eos.1));
    (trainer.pad_piece, trainer.pad_id) = (pad.0, Some(pad.1));
}

fn normalizer(rules: &SentencePieceNormalizer) -> Result<NormalizerSpec> {
    let map = rules.precompiled_charsmap.as_deref();
    let map = map.map(|map| base64::engine::general_purpose::STANDARD.decode(map)).transpose();
    let map = map.map_err(|error| {
        Error::artifact("normalizer.precompiled_charsmap", format!("It is not base64: {error}."))
    })?;
    let name = if map.is_some() { "user_defined" } else { "identity" };
    Ok(NormalizerSpec {
        name: Some(name.to_owned()),
        precompiled_charsmap: map,
        add_dummy_prefix: Some(rules.add_dummy_prefix),
        remove_extra_whitespaces: Some(rules.remove_extra_whitespaces),
        escape_whitespaces: Some(rules.escape_whitespaces),
    })
}
