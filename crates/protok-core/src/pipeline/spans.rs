//! Where every token came from: the fast path once more, with token ends.
//!
//! The same stages as [`encode`](super::encode) run with the normalizer's edit runs and the ends
//! of tokens in each piece; spans in the original follow from the two. Nothing here is computed
//! unless it is asked for.

use crate::added_tokens::{Phase, SpecialPolicy};
use crate::error::Result;
use crate::model::bpe::Scratch;
use crate::model::bpe::symbols::Symbol;
use crate::text::alignment::Alignment;

use super::Pipeline;

/// A token with its place in the normalized text and in the original, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenSpan {
    /// Its id.
    pub id: u32,
    /// First and past the last byte of the normalized text.
    pub normalized: (usize, usize),
    /// First and past the last byte of the original.
    pub original: (usize, usize),
    /// Which piece, counted from the start of the text, added tokens included.
    pub word: u32,
}

/// All tokens of a text with their places.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spans {
    /// The tokens.
    pub tokens: Vec<TokenSpan>,
    /// The text after normalization, added tokens as they stand in the original.
    pub normalized: String,
    /// How `normalized` came from the original.
    pub alignment: Alignment,
}

/// What is known while a text is walked through.
struct Walk<'a> {
    spans: Spans,
    word: u32,
    scratch: &'a mut Scratch,
    symbols: Vec<Symbol>,
}

impl Pipeline {
    /// The tokens of a text with their places, without the template.
    ///
    /// # Errors
    /// As [`Pipeline::encode_text`].
    pub fn spans(&self, text: &str, policy: &SpecialPolicy) -> Result<Spans> {
        self.with_scratch(|scratch| {
            let mut walk =
                Walk { spans: Spans::default(), word: 0, scratch, symbols: Vec::new() };
            self.added.split(text, Phase::Raw, policy, |section| {
                let part = &text[section.start..section.end];
                match section.token {
                    Some(id) => {
                        walk.token(id, part.len(), (section.start, section.end));
                        walk.spans.normalized.push_str(part);
                        Ok(())
                    }
                    None => self.walk_section(part, section.start, policy, &mut walk),
                }
            })?;
            Ok(walk.spans)
        })
    }

    fn walk_section(
        &self,
        text: &str,
        from: usize,
        policy: &SpecialPolicy,
        walk: &mut Walk<'_>,
    ) -> Result<()> {
        let (normalized, alignment) = self.normalizer.apply_with_alignment(text)?;
        let base = walk.spans.normalized.len();
        let origin = |start: usize, end: usize| {
            let (start, end) = alignment.span(start..end);
            (from + start, from + end)
        };
        let model = self.model_for(policy);
        self.added.split(&normalized, Phase::Normalized, policy, |section| {
            let part = &normalized[section.start..section.end];
            if let Some(id) = section.token {
                let normalized = (base + section.start, base + section.end);
                let original = origin(section.start, section.end);
                walk.spans.tokens.push(TokenSpan { id, normalized, original, word: walk.word });
                walk.word += 1;
                return Ok(());
            }
            self.pre_tokenizer.for_each_piece(part, |piece, start, inserted| {
                walk.symbols.clear();
                model.encode_spans(piece, &self.vocab, walk.scratch, &mut walk.symbols)?;
                let start = section.start + start;
                for symbol in &walk.symbols {
                    let at = start + symbol.start.saturating_sub(inserted);
                    let end = start + symbol.end.saturating_sub(inserted);
                    walk.spans.tokens.push(TokenSpan {
                        id: symbol.id,
                        normalized: (base + at, base + end),
                        original: origin(at, end),
                        word: walk.word,
                    });
                }
                walk.word += 1;
                Ok(())
            })
        })?;
        walk.spans.alignment.extend(&alignment, base, from);
        walk.spans.normalized.push_str(&normalized);
        Ok(())
    }
}

impl Walk<'_> {
    /// Adds an added token of the raw text, which stands next in the normalized text.
    fn token(&mut self, id: u32, length: usize, original: (usize, usize)) {
        let start = self.spans.normalized.len();
        let normalized = (start, start + length);
        self.spans.tokens.push(TokenSpan { id, normalized, original, word: self.word });
        self.word += 1;
    }
}
