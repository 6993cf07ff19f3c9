//! Entities of an encoding: spans of a text in a unit of it, or of the words that it was cut into.

use super::{Of, Offsets, Partial};
use crate::encoding::Encoding;
use crate::error::{Error, Result};
use crate::labels::{self, Entity, Labels, Scheme};
use crate::text::units::Unit;

/// What the edges of an entity count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LabelUnit {
    /// The words that the caller cut the text into.
    Word,
    /// Units of the original.
    Text(Unit),
}

impl LabelUnit {
    /// By name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "word" => Some(Self::Word),
            _ => Unit::named(name).map(Self::Text),
        }
    }
}

impl Offsets {
    /// Labels the tokens of a text with entities. In a text that was cut into words, the
    /// entities are spans of words, and every token of a word belongs to what the word does.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Input`] for a unit that the text does not have, a span that is not in
    /// it, and entities that overlap.
    pub fn label(
        &self,
        encoding: &Encoding,
        text: usize,
        entities: Vec<Entity>,
        unit: LabelUnit,
        scheme: Scheme,
    ) -> Result<Labels> {
        let tokens = self.label_spans(encoding, text, unit)?;
        let entities: Vec<Entity> = entities
            .into_iter()
            .map(|entity| {
                let (start, end) = self.compared_span(text, (entity.start, entity.end), unit)?;
                Ok(Entity { start, end, ..entity })
            })
            .collect::<Result<_>>()?;
        let mut labels = labels::label(&tokens, &entities, scheme)?;
        for (_, span, _) in &mut labels.misfits {
            *span = self.given_span(text, *span, unit)?;
        }
        Ok(labels)
    }

    /// The entities that labels stand for: the reverse of [`Self::label`].
    ///
    /// # Errors
    /// [`crate::ErrorKind::Input`] for a unit that the text does not have, and labels that are
    /// none.
    pub fn entities(
        &self,
        encoding: &Encoding,
        text: usize,
        labels: &[String],
        unit: LabelUnit,
        scheme: Scheme,
    ) -> Result<Vec<Entity>> {
        let tokens = self.label_spans(encoding, text, unit)?;
        let found = labels::entities(&tokens, labels, scheme)?;
        found
            .into_iter()
            .map(|entity| {
                let (start, end) = self.given_span(text, (entity.start, entity.end), unit)?;
                Ok(Entity { start, end, ..entity })
            })
            .collect()
    }

    /// The span of each token as labels compare it: its word, or its bytes of the original
    /// without white space at the edges; (0, 0) for tokens of no text or another one.
    fn label_spans(
        &self,
        encoding: &Encoding,
        text: usize,
        unit: LabelUnit,
    ) -> Result<Vec<(usize, usize)>> {
        let words = self.has_words(text);
        match unit {
            LabelUnit::Word if !words => {
                return Err(Error::input(
                    "Entities can be spans of words only where the caller cut the text into words.",
                )
                .value("word")
                .hint("Encode with is_pretokenized=True, or give spans of the text."));
            }
            LabelUnit::Text(unit) if words => {
                return Err(Error::input(
                    "The text was encoded as a list of words, so entities are spans of words.",
                )
                .value(unit.name())
                .hint("Pass unit=\"word\": (0, 2, label) is the first two words."));
            }
            _ => {}
        }
        if words {
            return Ok((0..encoding.ids.len())
                .map(|at| match self.token(encoding, at) {
                    Some((of, token)) if of == text => {
                        (token.word as usize, token.word as usize + 1)
                    }
                    _ => (0, 0),
                })
                .collect());
        }
        let original = self.text_of(text, Of::Original)?;
        Ok((0..encoding.ids.len())
            .map(|at| match self.token(encoding, at) {
                Some((of, token)) if of == text => labels::trim(original, token.original),
                _ => (0, 0),
            })
            .collect())
    }

    fn compared_span(
        &self,
        text: usize,
        span: (usize, usize),
        unit: LabelUnit,
    ) -> Result<(usize, usize)> {
        match unit {
            LabelUnit::Text(unit) => {
                let (from, to) = ((unit, Of::Original), (Unit::Byte, Of::Original));
                self.convert(text, span, from, to, Partial::Error)
            }
            LabelUnit::Word => {
                let words = self.words_of(text, Of::Original)?.len();
                if span.0 > span.1 || span.1 > words {
                    return Err(Error::input(format!(
                        "The span ({}, {}) is not in the text, which has {words} words.",
                        span.0, span.1
                    ))
                    .position(span.0)
                    .value(format!("({}, {})", span.0, span.1)));
                }
                Ok(span)
            }
        }
    }

    fn given_span(
        &self,
        text: usize,
        span: (usize, usize),
        unit: LabelUnit,
    ) -> Result<(usize, usize)> {
        match unit {
            LabelUnit::Text(unit) => {
                let (from, to) = ((Unit::Byte, Of::Original), (unit, Of::Original));
                self.convert(text, span, from, to, Partial::Expand)
            }
            LabelUnit::Word => Ok(span),
        }
    }
}
