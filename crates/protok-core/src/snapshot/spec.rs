//! A [`Spec`] as JSON and flat arrays.

use serde::{Deserialize, Serialize};

use super::bad;
use super::container::{Container, Sections};
use crate::error::Result;
use crate::spec::{Merges, Model, PieceKind, PreTokenizer, Semantics, Spec, TokenList};

const TOKENS: u32 = 16;
const ENDS: u32 = 17;
const IDS: u32 = 18;
const MERGES: u32 = 19;
const SCORES: u32 = 20;
const KINDS: u32 = 21;

/// What is not in arrays.
#[derive(Serialize, Deserialize)]
pub(super) struct Head {
    /// Without what is large in the model.
    spec: Spec,
    /// The dialect of each pattern of the pre-tokenizer, for which its JSON has no word.
    dialects: Vec<Semantics>,
}

/// Puts what is large into sections, and returns the rest.
pub(super) fn write(spec: &Spec, sections: &mut Sections) -> Head {
    let (arena, ends, ids) = spec.model.tokens().parts();
    sections.push(TOKENS, arena);
    sections.push_u32s(ENDS, ends.iter().copied());
    if ids.iter().zip(0..).any(|(&id, place)| id != place) {
        sections.push_u32s(IDS, ids.iter().copied());
    }
    if let Model::Bpe(bpe) = &spec.model
        && let Merges::Listed(merges) = &bpe.merges
    {
        sections.push_u32s(MERGES, merges.iter().flat_map(|&(left, right)| [left, right]));
    }
    if let Some(scores) = scores(&spec.model) {
        let bytes: Vec<u8> = scores.iter().flat_map(|score| score.to_le_bytes()).collect();
        sections.push(SCORES, &bytes);
    }
    let kinds: Vec<u8> = spec.model.kinds().iter().map(|&kind| number(kind)).collect();
    sections.push(KINDS, &kinds);
    let mut dialects = Vec::new();
    let mut spec = without_bulk(spec);
    if let Some(pre_tokenizer) = &mut spec.pre_tokenizer {
        for_each_dialect(pre_tokenizer, &mut |dialect| dialects.push(*dialect));
    }
    Head { spec, dialects }
}

/// A copy without what goes into sections.
fn without_bulk(spec: &Spec) -> Spec {
    let Spec { semantics, normalizer, pre_tokenizer, model, post_processor, decoder, .. } = spec;
    let mut model = model.clone();
    *parts(&mut model).tokens = TokenList::default();
    Spec {
        semantics: *semantics,
        normalizer: normalizer.clone(),
        pre_tokenizer: pre_tokenizer.clone(),
        model,
        post_processor: post_processor.clone(),
        decoder: decoder.clone(),
        added_tokens: spec.added_tokens.clone(),
        truncation: spec.truncation.clone(),
        padding: spec.padding.clone(),
    }
}

/// Puts the spec together again.
pub(super) fn read(head: Head, container: &Container<'_>) -> Result<Spec> {
    let Head { mut spec, dialects } = head;
    let mut dialects = dialects.into_iter();
    if let Some(pre_tokenizer) = &mut spec.pre_tokenizer {
        for_each_dialect(pre_tokenizer, &mut |dialect| {
            *dialect = dialects.next().unwrap_or(*dialect);
        });
    }
    let arena = container.get(TOKENS).unwrap_or_default().to_vec();
    let ends = container.u32s(ENDS)?.unwrap_or_default();
    let ids = container.u32s(IDS)?.unwrap_or_else(|| (0..).take(ends.len()).collect());
    let tokens = TokenList::of_parts(arena, ends, ids);
    let kinds = container.get(KINDS).unwrap_or_default();
    let kinds: Option<Vec<PieceKind>> = kinds.iter().map(|&kind| kind_of(kind)).collect();
    let merges = container.u32s(MERGES)?;
    let scores = container.f64s(SCORES)?;
    let parts = parts(&mut spec.model);
    *parts.tokens = tokens.ok_or_else(|| bad("Its tokens do not lie one after the other"))?;
    let kinds = kinds.ok_or_else(|| bad("It has a piece of an unknown kind"))?;
    match (parts.kinds, kinds.is_empty()) {
        (Some(place), _) => *place = kinds,
        (None, true) => {}
        (None, false) => return Err(bad("Its model has no kinds")),
    }
    match (parts.scores, scores) {
        (Some(place), Some(scores)) => *place = scores,
        (None, None) => {}
        _ => return Err(bad("Its scores are those of another model")),
    }
    match (parts.merges, merges) {
        (Some(place), Some(flat)) => {
            let (pairs, rest) = flat.as_chunks();
            if !rest.is_empty() {
                return Err(bad("Half a merge is left over"));
            }
            *place = Merges::Listed(pairs.iter().map(|&[left, right]| (left, right)).collect());
        }
        (_, None) => {}
        (None, Some(_)) => return Err(bad("Its model has no merges")),
    }
    Ok(spec)
}

/// What is large in a model.
struct Parts<'m> {
    tokens: &'m mut TokenList,
    merges: Option<&'m mut Merges>,
    scores: Option<&'m mut Vec<f64>>,
    kinds: Option<&'m mut Vec<PieceKind>>,
}

fn parts(model: &mut Model) -> Parts<'_> {
    let only = |tokens| Parts { tokens, merges: None, scores: None, kinds: None };
    match model {
        Model::Bpe(model) => Parts { merges: Some(&mut model.merges), ..only(&mut model.vocab) },
        Model::WordPiece(model) => only(&mut model.vocab),
        Model::WordLevel(model) => only(&mut model.vocab),
        Model::Greedy(model) => only(&mut model.vocab),
        Model::Bytes(model) => only(&mut model.vocab),
        Model::Unigram(model) => Parts {
            scores: Some(&mut model.scores),
            kinds: Some(&mut model.kinds),
            ..only(&mut model.vocab)
        },
        Model::SentencePieceBpe(model) => Parts {
            scores: Some(&mut model.scores),
            kinds: Some(&mut model.kinds),
            ..only(&mut model.vocab)
        },
        Model::SentencePieceWord(model) => Parts {
            scores: Some(&mut model.scores),
            kinds: Some(&mut model.kinds),
            ..only(&mut model.vocab)
        },
    }
}

fn scores(model: &Model) -> Option<&[f64]> {
    match model {
        Model::Unigram(model) => Some(&model.scores),
        Model::SentencePieceBpe(model) => Some(&model.scores),
        Model::SentencePieceWord(model) => Some(&model.scores),
        _ => None,
    }
}

const KIND_NUMBERS: [PieceKind; 6] = [
    PieceKind::Normal,
    PieceKind::Unknown,
    PieceKind::Control,
    PieceKind::UserDefined,
    PieceKind::Unused,
    PieceKind::Byte,
];

fn number(kind: PieceKind) -> u8 {
    KIND_NUMBERS.iter().zip(0..).find(|(own, _)| **own == kind).map_or(u8::MAX, |(_, at)| at)
}

fn kind_of(number: u8) -> Option<PieceKind> {
    KIND_NUMBERS.get(usize::from(number)).copied()
}

/// The dialects of all patterns, in order.
fn for_each_dialect(component: &mut PreTokenizer, work: &mut impl FnMut(&mut Semantics)) {
    match component {
        PreTokenizer::Sequence(items) => {
            items.iter_mut().for_each(|item| for_each_dialect(item, work));
        }
        PreTokenizer::Split(split) => work(&mut split.semantics),
        _ => {}
    }
}
