//! SentencePiece models (`.model`): a protocol buffer with the pieces and how to normalize.
//!
//! The Spec means what SentencePiece does with the file: no special tokens around a text, and
//! control pieces that a text spells are text. What SentencePiece refuses to load is refused.
//! [`write()`] is the reverse, for what came from a model and for a `tokenizer.json` that says the
//! same as one.
//!
//! Source: `sentencepiece_model.proto` and the loader of SentencePiece 0.2.3.

mod from_hugging_face;
mod proto;
mod write;

use crate::error::{Error, Result};
use crate::spec::{
    Decoder, Model, Normalizer, PieceKind, Semantics, SentencePieceBpe, SentencePieceDecoder,
    SentencePieceNormalizer, SentencePieceWord, Spec, TokenList, Unigram, WordUnit,
};
use crate::vocab::SeededSet;
use base64::Engine as _;
use prost::Message as _;

use proto::{ModelProto, NormalizerSpec, TrainerSpec};
pub use write::write;

/// The surface of the unknown token where a model gives none.
const UNK_SURFACE: &str = " \u{2047} ";

/// The roles, the pieces that have them where a model names none, and of what kind they must be.
const ROLES: [(&str, &str, PieceKind); 4] = [
    ("unk", "<unk>", PieceKind::Unknown),
    ("bos", "<s>", PieceKind::Control),
    ("eos", "</s>", PieceKind::Control),
    ("pad", "<pad>", PieceKind::Control),
];

/// A model that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded {
    /// The tokenizer.
    pub spec: Spec,
    /// The tokens of the roles that the model names.
    pub roles: Vec<(String, String)>,
}

/// Reads a model.
///
/// # Errors
/// An artifact error with the field.
pub fn read(bytes: &[u8]) -> Result<Loaded> {
    let model = ModelProto::decode(bytes).map_err(|error| {
        Error::artifact("", format!("This is not a SentencePiece model: {error}."))
            .hint("The file may be cut off; fetch it again.")
    })?;
    let trainer = model.trainer_spec.clone().unwrap_or_default();
    let normalizer = model.normalizer_spec.clone().unwrap_or_default();
    let byte_fallback = trainer.byte_fallback.unwrap_or(false);
    let pieces = Pieces::read(&model, byte_fallback)?;
    let roles = roles(&trainer, &pieces);
    let suffix = trainer.treat_whitespace_as_suffix.unwrap_or(false);
    let protected = pieces
        .list
        .iter()
        .zip(&pieces.kinds)
        .filter(|(_, kind)| **kind == PieceKind::UserDefined)
        .map(|((piece, _), _)| String::from_utf8_lossy(piece).into_owned())
        .collect();
    let rules = rules(&normalizer, suffix, protected);
    let denormalizer = model
        .denormalizer_spec
        .as_ref()
        .filter(|spec| spec.precompiled_charsmap.as_ref().is_some_and(|map| !map.is_empty()))
        .map(|spec| Box::new(self::rules(spec, false, Vec::new())));
    let decoder = SentencePieceDecoder {
        kinds: pieces.kinds.clone(),
        unk_surface: trainer.unk_surface.clone().unwrap_or_else(|| UNK_SURFACE.to_owned()),
        strip_first_mark: rules.add_dummy_prefix || rules.remove_extra_whitespaces,
        strip_leading_marks: rules.remove_extra_whitespaces,
        denormalizer,
    };
    let spec = Spec {
        semantics: Semantics::SentencePiece,
        normalizer: Some(Normalizer::SentencePiece(rules)),
        pre_tokenizer: None,
        model: pieces.model(trainer.model_type.unwrap_or(1), byte_fallback)?,
        post_processor: None,
        decoder: Some(Decoder::SentencePiece(decoder)),
        added_tokens: Vec::new(),
        truncation: None,
        padding: None,
    };
    Ok(Loaded { spec, roles })
}

fn rules(
    spec: &NormalizerSpec,
    treat_whitespace_as_suffix: bool,
    protected: Vec<String>,
) -> SentencePieceNormalizer {
    let charsmap = spec.precompiled_charsmap.as_ref().filter(|map| !map.is_empty());
    SentencePieceNormalizer {
        precompiled_charsmap: charsmap
            .map(|map| base64::engine::general_purpose::STANDARD.encode(map)),
        add_dummy_prefix: spec.add_dummy_prefix.unwrap_or(true),
        remove_extra_whitespaces: spec.remove_extra_whitespaces.unwrap_or(true),
        escape_whitespaces: spec.escape_whitespaces.unwrap_or(true),
        treat_whitespace_as_suffix,
        protected,
    }
}

/// The vocabulary of a model.
struct Pieces {
    list: TokenList,
    scores: Vec<f64>,
    kinds: Vec<PieceKind>,
    unk_id: usize,
}

impl Pieces {
    fn read(model: &ModelProto, byte_fallback: bool) -> Result<Self> {
        let count = model.pieces.len();
        let mut list = TokenList::with_capacity(count, count * 8);
        let mut kinds = Vec::with_capacity(count);
        let mut known: SeededSet<&str> = SeededSet::default();
        let mut unk_id = None;
        let mut bytes = [false; 256];
        for (piece, id) in model.pieces.iter().zip(0u32..) {
            let bad = |what: &str| Error::artifact(format!("pieces[{id}]"), what);
            if piece.piece.is_empty() {
                return Err(bad("The piece is empty."));
            }
            if !known.insert(&piece.piece) {
                return Err(bad("The piece is there twice.").value(piece.piece.clone()));
            }
            let kind = match piece.kind.unwrap_or(1) {
                1 => PieceKind::Normal,
                2 => PieceKind::Unknown,
                3 => PieceKind::Control,
                4 => PieceKind::UserDefined,
                5 => PieceKind::Unused,
                6 => PieceKind::Byte,
                other => return Err(bad("The type is not known.").value(other.to_string())),
            };
            if kind == PieceKind::Unknown && unk_id.replace(id as usize).is_some() {
                return Err(bad("There is another unknown piece."));
            }
            if kind == PieceKind::Byte {
                if !byte_fallback {
                    return Err(bad("A byte piece stands in a model without byte_fallback."));
                }
                let byte = (0..=255u8).find(|byte| piece.piece == format!("<0x{byte:02X}>"));
                let byte = byte.ok_or_else(|| bad("The byte piece does not spell a byte."))?;
                bytes[usize::from(byte)] = true;
            }
            list.push(piece.piece.as_bytes(), id).map_err(|error| bad(&format!("{error}.")))?;
            kinds.push(kind);
        }
        if byte_fallback && bytes.contains(&false) {
            return Err(Error::artifact(
                "trainer_spec.byte_fallback",
                "The model does not have all 256 byte pieces.",
            ));
        }
        let unk_id =
            unk_id.ok_or_else(|| Error::artifact("pieces", "The model has no unknown piece."))?;
        let scores =
            model.pieces.iter().map(|piece| f64::from(piece.score.unwrap_or(0.0))).collect();
        Ok(Self { list, scores, kinds, unk_id })
    }

    fn model(self, model_type: i32, byte_fallback: bool) -> Result<Model> {
        let Self { list: vocab, scores, kinds, unk_id } = self;
        let unk_id = Some(unk_id);
        Ok(match model_type {
            1 => Model::Unigram(Unigram { vocab, scores, kinds, unk_id, byte_fallback }),
            2 => Model::SentencePieceBpe(SentencePieceBpe {
                vocab,
                scores,
                kinds,
                unk_id,
                byte_fallback,
            }),
            3 | 4 => Model::SentencePieceWord(SentencePieceWord {
                vocab,
                scores,
                kinds,
                unit: if model_type == 3 { WordUnit::Word } else { WordUnit::Character },
                unk_id,
                byte_fallback,
            }),
            other => {
                return Err(Error::artifact(
                    "trainer_spec.model_type",
                    "The kind of model is not known.",
                )
                .value(other.to_string()));
            }
        })
    }
}

/// The roles: a piece has one if its kind fits.
fn roles(trainer: &TrainerSpec, pieces: &Pieces) -> Vec<(String, String)> {
    let names = [&trainer.unk_piece, &trainer.bos_piece, &trainer.eos_piece, &trainer.pad_piece];
    let mut roles = Vec::new();
    for ((role, default, kind), name) in ROLES.into_iter().zip(names) {
        let name = name.as_deref().unwrap_or(default);
        let fits = pieces
            .list
            .iter()
            .zip(&pieces.kinds)
            .any(|((piece, _), own)| *own == kind && piece == name.as_bytes());
        if fits {
            roles.push((role.to_owned(), name.to_owned()));
        }
    }
    roles
}

#[cfg(test)]
mod tests;
