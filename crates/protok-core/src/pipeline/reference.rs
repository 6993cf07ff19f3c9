//! The reference path: the same stages one after the other, naive and with alignment.
//!
//! It is the oracle of the fast path and what a trace records. Each stage takes the whole
//! result of the one before; every text carries, byte by byte, where it came from. An
//! [`Observer`] is told what each stage did, as it does it.

use crate::added_tokens::{Phase, Section, SpecialPolicy};
use crate::encoding::{Encoding, Source};
use crate::error::Result;
use crate::model::{Observer as ModelObserver, Symbol};
use crate::parallel::map_groups;
use crate::text::aligned::AlignedText;

use super::Pipeline;
use super::encode::EncodeOptions;
use super::placed::ByteSpan;
use super::spans::Spans;

/// A token of the reference path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReferenceToken {
    /// Its id.
    pub id: u32,
    /// First byte of the original that it came from.
    pub start: u32,
    /// Past the last byte.
    pub end: u32,
}

/// Is told what each stage did, the model included. Every method does nothing unless it is
/// written.
pub trait Observer: ModelObserver {
    /// Stage 1 found an added token that covers bytes of the original.
    fn added_token(&mut self, _token: ReferenceToken, _phase: Phase) {}
    /// A section of the original, in bytes, goes to the normalizer.
    fn section(&mut self, _text: &AlignedText) {}
    /// Stage 2 took a step that changed the section.
    fn normalized(&mut self, _step: &'static str, _text: &AlignedText) {}
    /// Stage 3 cut a piece.
    fn piece(&mut self, _piece: &AlignedText) {}
    /// Stage 4 is done with a piece: its tokens, with the bytes of the piece that each covers.
    fn tokens(&mut self, _tokens: &[Symbol], _piece: &AlignedText) {}
}

/// Nobody.
impl Observer for () {}

impl Pipeline {
    /// The tokens of a text, without the template.
    ///
    /// # Errors
    /// As [`Pipeline::encode_text`].
    pub fn encode_reference(
        &self,
        text: &str,
        policy: &SpecialPolicy,
        observer: &mut dyn Observer,
    ) -> Result<Vec<ReferenceToken>> {
        let mut tokens = Vec::new();
        let original = AlignedText::new(text, 0);
        for raw in self.sections(&original, Phase::Raw, policy)? {
            if let Some(token) = added_token(&original, raw) {
                observer.added_token(token, Phase::Raw);
                tokens.push(token);
                continue;
            }
            let mut normalized = original.slice(raw.start..raw.end);
            observer.section(&normalized);
            self.normalizer
                .apply_aligned(&mut normalized, |step, text| observer.normalized(step, text))?;
            for section in self.sections(&normalized, Phase::Normalized, policy)? {
                if let Some(token) = added_token(&normalized, section) {
                    observer.added_token(token, Phase::Normalized);
                    tokens.push(token);
                    continue;
                }
                let text = normalized.slice(section.start..section.end);
                for piece in self.pre_tokenizer.pieces_aligned(text)? {
                    observer.piece(&piece);
                    self.encode_piece_reference(&piece, policy, observer, &mut tokens)?;
                }
            }
        }
        Ok(tokens)
    }

    /// Which of many texts the two paths read differently, by index: the ids of the fast path, its
    /// ids with places, and the reference path's must be the same, and so must the places. An
    /// error of one path alone is a difference.
    ///
    /// # Errors
    /// None; the result is one for the sake of [`map_groups`].
    pub fn differing_paths(
        &self,
        texts: &[&str],
        policy: &SpecialPolicy,
        threads: usize,
    ) -> Result<Vec<usize>> {
        let options = EncodeOptions { special: policy.clone(), ..EncodeOptions::default() };
        let groups = map_groups(
            texts,
            |text| text.len(),
            threads,
            |texts, first| {
                let differs = |text: &&str| self.paths_differ(text, &options);
                let numbered = texts.iter().enumerate();
                Ok(numbered
                    .filter(|(_, text)| differs(text))
                    .map(|(index, _)| first + index)
                    .collect::<Vec<usize>>())
            },
        )?;
        Ok(groups.concat())
    }

    fn paths_differ(&self, text: &str, options: &EncodeOptions) -> bool {
        let mut ids = Vec::new();
        let fast = self.encode_text(text, options, &mut ids);
        let placed = self.spans(text.as_bytes(), options);
        // However it was found out, every token has the same places and is of the same word.
        let by_ids = self.spans_of(text.as_bytes(), &ids, options);
        let in_full = self.spans_in_full(text.as_bytes(), options);
        if fast.is_ok() && (placed != in_full || by_ids != in_full) {
            return true;
        }
        if let Ok(in_full) = &in_full
            && !self.places_agree(text, &ids, options, in_full)
        {
            return true;
        }
        match (fast, placed, self.encode_reference(text, &options.special, &mut ())) {
            (Ok(()), Ok(placed), Ok(reference)) => {
                let placed = placed.tokens.iter().map(|token| (token.id, token.original));
                let place = |token: &ReferenceToken| (token.start as usize, token.end as usize);
                !reference.iter().map(|token| token.id).eq(ids.iter().copied())
                    || !reference.iter().map(|token| (token.id, place(token))).eq(placed)
            }
            (Err(fast), Err(placed), Err(reference)) => {
                fast.kind != reference.kind || placed.kind != reference.kind
            }
            _ => true,
        }
    }

    /// Whether the places in the original are the same where they are found without the rest: of
    /// parts that are new, of known ones, and from the ids.
    fn places_agree(
        &self,
        text: &str,
        ids: &[u32],
        options: &EncodeOptions,
        in_full: &Spans,
    ) -> bool {
        let agree = |encoding: &Encoding, places: &[ByteSpan]| {
            let part = encoding.parts.iter().find(|part| part.source == Source::Text(0));
            let Some(part) = part else { return ids.is_empty() };
            let template = encoding.parts.iter().filter(|part| part.source == Source::Template);
            let expected = in_full.tokens.iter().map(|token| <[usize; 2]>::from(token.original));
            let found = places[part.start..part.end].iter();
            encoding.ids[part.start..part.end] == *ids
                && found.map(|place| place.map(|at| at as usize)).eq(expected)
                && template.flat_map(|part| part.start..part.end).all(|at| places[at] == [0; 2])
        };
        (0..2).all(|_| match self.encode_placed(text, options) {
            Err(_) => false,
            Ok((encoding, None)) => encoding.ids_of(0).unwrap_or_default() == ids,
            Ok((encoding, Some(places))) => {
                agree(&encoding, &places)
                    && self
                        .places_of(text, &encoding, options)
                        .is_ok_and(|again| again.is_none_or(|again| again == places))
            }
        })
    }

    fn sections(
        &self,
        text: &AlignedText,
        phase: Phase,
        policy: &SpecialPolicy,
    ) -> Result<Vec<Section>> {
        if let SpecialPolicy::Trusted(trust) = policy {
            return self.trusted_sections(text, phase, trust);
        }
        let mut sections = Vec::new();
        self.added.split(text.text(), phase, policy, |section| {
            sections.push(section);
            Ok(())
        })?;
        Ok(sections)
    }

    fn encode_piece_reference(
        &self,
        piece: &AlignedText,
        policy: &SpecialPolicy,
        observer: &mut dyn Observer,
        tokens: &mut Vec<ReferenceToken>,
    ) -> Result<()> {
        let bytes = piece.text().as_bytes();
        let mut symbols = self.model_for(policy).encode_reference(bytes, &self.vocab, observer)?;
        if let SpecialPolicy::Trusted(trust) = policy {
            self.defuse_reference(piece, trust, &mut symbols)?;
        }
        observer.tokens(&symbols, piece);
        tokens.extend(symbols.into_iter().map(|symbol| {
            let (start, end) = piece.span(symbol.start..symbol.end);
            ReferenceToken { id: symbol.id, start, end }
        }));
        Ok(())
    }
}

fn added_token(text: &AlignedText, section: Section) -> Option<ReferenceToken> {
    let (start, end) = text.span(section.start..section.end);
    section.token.map(|id| ReferenceToken { id, start, end })
}
