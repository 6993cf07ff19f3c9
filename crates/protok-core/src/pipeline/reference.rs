//! The reference path: the same stages one after the other, naive and with alignment.
//!
//! It is the oracle of the fast path and what a trace records. Each stage takes the whole
//! result of the one before; every text carries, byte by byte, where it came from.

use crate::added_tokens::{Phase, Section, SpecialPolicy};
use crate::error::Result;
use crate::text::aligned::AlignedText;

use super::Pipeline;

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

impl Pipeline {
    /// The tokens of a text, without the template.
    ///
    /// # Errors
    /// As [`Pipeline::encode_text`].
    pub fn encode_reference(
        &self,
        text: &str,
        policy: &SpecialPolicy,
    ) -> Result<Vec<ReferenceToken>> {
        let mut tokens = Vec::new();
        let original = AlignedText::new(text, 0);
        for raw in self.sections(text, Phase::Raw, policy)? {
            if let Some(token) = added_token(&original, raw) {
                tokens.push(token);
                continue;
            }
            let mut normalized = original.slice(raw.start..raw.end);
            self.normalizer.apply_aligned(&mut normalized)?;
            for section in self.sections(normalized.text(), Phase::Normalized, policy)? {
                if let Some(token) = added_token(&normalized, section) {
                    tokens.push(token);
                    continue;
                }
                let text = normalized.slice(section.start..section.end);
                for piece in self.pre_tokenizer.pieces_aligned(text)? {
                    self.encode_piece_reference(&piece, policy, &mut tokens)?;
                }
            }
        }
        Ok(tokens)
    }

    fn sections(&self, text: &str, phase: Phase, policy: &SpecialPolicy) -> Result<Vec<Section>> {
        let mut sections = Vec::new();
        self.added.split(text, phase, policy, |section| {
            sections.push(section);
            Ok(())
        })?;
        Ok(sections)
    }

    fn encode_piece_reference(
        &self,
        piece: &AlignedText,
        policy: &SpecialPolicy,
        tokens: &mut Vec<ReferenceToken>,
    ) -> Result<()> {
        let mut symbols = Vec::new();
        let model = self.model_for(policy);
        model.encode_reference(piece.text().as_bytes(), &self.vocab, &mut symbols)?;
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
