//! Offsets of an encoding: numbers with a unit and a text.
//!
//! The places of tokens are known in bytes ([`Spans`]); everything else is conversion. A token
//! that ends inside a character covers the whole of it in any unit but bytes; a caller's span
//! that does is refused, or widened where the caller says so. Tokens that no text produced have
//! the span (0, 0) and are at no position.
//!
//! A text that the caller cut into words has no text of its own, since nobody knows what stood
//! between them. Each word is one: spans are in the token's word, and whatever reads or returns
//! a position needs to know in which word it is.

mod entities;

use std::sync::OnceLock;

use crate::encoding::{Encoding, Part, Source};
use crate::error::{Error, Result};
use crate::pipeline::placed::ByteSpan;
use crate::pipeline::spans::{Spans, TokenSpan};
use crate::text::units::{Rising, Unit, Units};

pub use entities::LabelUnit;

/// Which text a position is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Of {
    /// The caller's.
    Original,
    /// What the normalizer made of it.
    Normalized,
}

/// What a number counts and where.
pub type Frame = (Unit, Of);

/// What to do with a span that cuts a character or a rewritten stretch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Partial {
    /// Refuse it.
    Error,
    /// Widen it to whole ones.
    Expand,
}

/// The places of all tokens of an encoding.
#[derive(Debug)]
pub struct Offsets {
    texts: Vec<LocatedText>,
}

/// Where a position is: in which text of the encoding and, if the caller cut that into words, in
/// which of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Text 0 or 1.
    pub text: usize,
    /// The word.
    pub word: Option<usize>,
}

impl From<usize> for Place {
    fn from(text: usize) -> Self {
        Self { text, word: None }
    }
}

/// A text, or the words that it was cut into.
#[derive(Debug)]
struct LocatedText {
    /// The text alone, or each word.
    located: Vec<Located>,
    /// The place of the first token of each among all, and how many there are.
    starts: Vec<usize>,
    words: bool,
}

#[derive(Debug)]
struct Located {
    original: Vec<u8>,
    spans: Spans,
    /// Whether no token ends before an earlier one. A model that holds an unknown token back
    /// until after the bytes that follow it breaks this.
    in_order: bool,
    units: [OnceLock<Units>; 8],
}

impl Offsets {
    /// From the texts of an encoding and their spans.
    #[must_use]
    pub fn new(texts: Vec<(Vec<u8>, Spans)>) -> Self {
        let whole = |text| LocatedText::new(vec![text], false);
        Self { texts: texts.into_iter().map(whole).collect() }
    }

    /// From the words of each text of an encoding and their spans.
    #[must_use]
    pub fn of_words(texts: Vec<Vec<(Vec<u8>, Spans)>>) -> Self {
        Self { texts: texts.into_iter().map(|words| LocatedText::new(words, true)).collect() }
    }

    /// The number of texts.
    #[must_use]
    pub fn texts(&self) -> usize {
        self.texts.len()
    }

    /// Whether the caller cut a text into words.
    #[must_use]
    pub fn has_words(&self, text: usize) -> bool {
        self.texts.get(text).is_some_and(|text| text.words)
    }

    /// A text.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Input`] if the caller's bytes were not UTF-8, or words.
    pub fn text_of(&self, text: usize, of: Of) -> Result<&str> {
        self.located(text.into())?.1.as_str(of)
    }

    /// The words of a text.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Input`] if the caller did not cut the text into words.
    pub fn words_of(&self, text: usize, of: Of) -> Result<Vec<&str>> {
        let located = self.texts.get(text).ok_or_else(|| no_text(text, self.texts.len()))?;
        if !located.words {
            return Err(Error::input("The text was not encoded as a list of words.")
                .hint("Words come from encode with is_pretokenized=True."));
        }
        located.located.iter().map(|word| word.as_str(of)).collect()
    }

    /// The text or word of a place, and the place of its first token among those of the text.
    fn located(&self, place: Place) -> Result<(usize, &Located)> {
        let Place { text, word } = place;
        let located = self.texts.get(text).ok_or_else(|| no_text(text, self.texts.len()))?;
        let index = match (located.words, word) {
            (false, None) => 0,
            (true, Some(word)) if word < located.located.len() => word,
            (true, Some(word)) => {
                let words = located.located.len();
                return Err(Error::input(format!("The text has no word {word}: it has {words}."))
                    .value(word.to_string()));
            }
            (true, None) => {
                return Err(Error::input(
                    "The text was encoded as a list of words, so a position is in one of them.",
                )
                .hint("Pass word=, the index of the word."));
            }
            (false, Some(word)) => {
                return Err(Error::input(
                    "The text was not encoded as a list of words, so it has no word by index.",
                )
                .value(word.to_string())
                .hint("Leave word= out."));
            }
        };
        Ok((located.starts[index], &located.located[index]))
    }

    /// The token at a place of the encoding, and the text it is in; None for the template's.
    #[must_use]
    pub fn token(&self, encoding: &Encoding, at: usize) -> Option<(usize, &TokenSpan)> {
        let part = encoding.parts.iter().find(|part| (part.start..part.end).contains(&at))?;
        match part.source {
            Source::Template => None,
            Source::Text(text) => {
                let (_, token) = self.texts[text].token(part.first + at - part.start)?;
                Some((text, token))
            }
        }
    }

    /// The text that an unknown token is shown as, where it is not shown by its name.
    #[must_use]
    pub fn unknown(&self, encoding: &Encoding, at: usize) -> Option<&str> {
        let part = encoding.parts.iter().find(|part| (part.start..part.end).contains(&at))?;
        let Source::Text(text) = part.source else { return None };
        self.texts[text].unknown(part.first + at - part.start)
    }

    /// The text or word that a token of the encoding stands in, and the token.
    fn token_in(&self, encoding: &Encoding, at: usize) -> Option<(&Located, &TokenSpan)> {
        let part = encoding.parts.iter().find(|part| (part.start..part.end).contains(&at))?;
        match part.source {
            Source::Template => None,
            Source::Text(text) => self.texts[text].token(part.first + at - part.start),
        }
    }

    /// The span of every token of the encoding.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Input`] for a unit of characters where the bytes are not UTF-8.
    pub fn spans(&self, encoding: &Encoding, (unit, of): Frame) -> Result<Vec<(usize, usize)>> {
        let mut result = Vec::with_capacity(encoding.ids.len());
        for part in &encoding.parts {
            let count = part.end - part.start;
            match part.source {
                Source::Template => result.extend(std::iter::repeat_n((0, 0), count)),
                Source::Text(text) => {
                    for (located, tokens) in self.texts[text].kept(part) {
                        let places = || {
                            let kept = &located.spans.tokens[tokens.clone()];
                            kept.iter().map(|token| token.place(of))
                        };
                        if unit == Unit::Byte {
                            result.extend(places());
                        } else if let Some(spans) = rising(located.as_str(of)?, unit, places()) {
                            result.extend(spans);
                        } else {
                            let units = located.units((unit, of))?;
                            result.extend(places().map(|place| units.span(place)));
                        }
                    }
                }
            }
        }
        Ok(result)
    }

    /// A span of a text in another unit, in another text, or both.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Input`] if the span is not in the text, or cuts what cannot be cut.
    pub fn convert(
        &self,
        place: impl Into<Place>,
        span: (usize, usize),
        from: Frame,
        to: Frame,
        partial: Partial,
    ) -> Result<(usize, usize)> {
        let (_, located) = self.located(place.into())?;
        let (start, end, whole) = located.to_bytes(span, from)?;
        if !whole && partial == Partial::Error {
            return Err(cuts(span, from, from));
        }
        let bytes = (start, end);
        let moved = located.between(bytes, from.1, to.1);
        // A span that a rewritten stretch straddles comes back wider.
        if partial == Partial::Error && located.between(moved, to.1, from.1) != bytes {
            return Err(cuts(span, from, to));
        }
        let units = located.units(to)?;
        let (low, high) = (units.floor(moved.0), units.ceil(moved.1));
        if partial == Partial::Error && !(low.1 && high.1) {
            return Err(cuts(span, from, to));
        }
        Ok(units.span(moved))
    }

    /// The first token of the encoding that covers the unit at a position of a text.
    ///
    /// # Errors
    /// As [`Self::convert`].
    pub fn token_at(
        &self,
        encoding: &Encoding,
        place: impl Into<Place>,
        position: usize,
        frame: Frame,
    ) -> Result<Option<usize>> {
        let place = place.into();
        let (start_of, located) = self.located(place)?;
        let tokens = start_of..start_of + located.spans.tokens.len();
        let units = located.units(frame)?;
        if position >= units.len() {
            return Ok(None);
        }
        let (start, end, _) = located.to_bytes((position, position + 1), frame)?;
        let of = frame.1;
        let covers = |token: &TokenSpan| {
            let (from, to) = token.place(of);
            from < to && from < end && start < to
        };
        Ok(encoding.parts.iter().filter(|part| part.source == Source::Text(place.text)).find_map(
            |part| {
                // Of the part's tokens those in the text or word, counted from its first.
                let from = part.first.max(tokens.start);
                let to = (part.first + (part.end - part.start)).min(tokens.end).max(from);
                let kept = &located.spans.tokens[from - start_of..to - start_of];
                let skipped = if located.in_order {
                    kept.partition_point(|token| token.place(of).1 <= start)
                } else {
                    0
                };
                // In order, what follows the unit need not be looked at.
                let mut rest = kept[skipped..].iter();
                let found = if located.in_order {
                    rest.take_while(|token| token.place(of).0 < end).position(covers)
                } else {
                    rest.position(covers)
                };
                found.map(|found| part.start + (from - part.first) + skipped + found)
            },
        ))
    }

    /// The bytes of the original that a token covers; empty for the template's.
    #[must_use]
    pub fn bytes(&self, encoding: &Encoding, at: usize) -> &[u8] {
        self.token_in(encoding, at)
            .map_or(&[], |(located, token)| &located.original[token.original.0..token.original.1])
    }

    /// The part of the original that a token covers, in whole characters; empty for the
    /// template's.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Input`] if the caller's bytes were not UTF-8.
    pub fn text(&self, encoding: &Encoding, at: usize) -> Result<&str> {
        let Some((located, token)) = self.token_in(encoding, at) else { return Ok("") };
        let text = located.as_str(Of::Original)?;
        let (mut start, mut end) = token.original;
        if start == end {
            return Ok("");
        }
        while !text.is_char_boundary(start) {
            start -= 1;
        }
        while !text.is_char_boundary(end) {
            end += 1;
        }
        Ok(&text[start..end])
    }

    /// The word of every token of the encoding; None for the template's.
    pub fn words<'a>(&'a self, encoding: &'a Encoding) -> impl Iterator<Item = Option<u32>> + 'a {
        (0..encoding.ids.len()).map(|at| self.token(encoding, at).map(|(_, token)| token.word))
    }
}

impl TokenSpan {
    /// Its place in one of the texts.
    #[must_use]
    pub fn place(&self, of: Of) -> (usize, usize) {
        match of {
            Of::Original => self.original,
            Of::Normalized => self.normalized,
        }
    }
}

impl LocatedText {
    fn new(texts: Vec<(Vec<u8>, Spans)>, words: bool) -> Self {
        let mut starts = vec![0];
        let mut located = Vec::with_capacity(texts.len());
        for (original, spans) in texts {
            let in_order = spans.tokens.windows(2).all(|pair| {
                pair[0].original.1 <= pair[1].original.1
                    && pair[0].normalized.1 <= pair[1].normalized.1
            });
            starts.push(starts[located.len()] + spans.tokens.len());
            located.push(Located { original, spans, in_order, units: Default::default() });
        }
        Self { located, starts, words }
    }

    /// A token of the text, and what it stands in.
    fn token(&self, at: usize) -> Option<(&Located, &TokenSpan)> {
        // Words without tokens start where the next one does: the last of them has it.
        let index = self.starts.partition_point(|&start| start <= at).checked_sub(1)?;
        let located = self.located.get(index)?;
        Some((located, located.spans.tokens.get(at - self.starts[index])?))
    }

    /// What an unknown token is shown as, see [`Spans::unknown`].
    fn unknown(&self, at: usize) -> Option<&str> {
        let index = self.starts.partition_point(|&start| start <= at).checked_sub(1)?;
        let unknown = &self.located.get(index)?.spans.unknown;
        let place = at - self.starts[index];
        let found = unknown.binary_search_by_key(&place, |&(place, _)| place).ok()?;
        Some(&unknown[found].1)
    }

    /// The text or words that a part of an encoding has tokens of, and which.
    fn kept(&self, part: &Part) -> impl Iterator<Item = (&Located, std::ops::Range<usize>)> {
        let (first, end) = (part.first, part.first + (part.end - part.start));
        let from = self.starts.partition_point(|&start| start <= first).saturating_sub(1);
        self.located[from.min(self.located.len())..]
            .iter()
            .zip(&self.starts[from..])
            .take_while(move |&(_, &start)| start < end)
            .map(move |(located, &start)| {
                let tokens = located.spans.tokens.len();
                let range = first.saturating_sub(start)..(end - start).min(tokens);
                (located, range.start.min(range.end)..range.end)
            })
    }
}

impl Located {
    fn as_str(&self, of: Of) -> Result<&str> {
        let bytes = match of {
            Of::Original => &self.original,
            Of::Normalized => &self.spans.normalized,
        };
        std::str::from_utf8(bytes).map_err(|error| {
            Error::input("The bytes that were encoded are not UTF-8, so they have no characters.")
                .position(error.valid_up_to())
                .hint("Use the unit \"byte\".")
        })
    }

    fn units(&self, (unit, of): Frame) -> Result<&Units> {
        let place = match unit {
            Unit::Byte => 0,
            Unit::Codepoint => 1,
            Unit::Utf16 => 2,
            Unit::Grapheme => 3,
        } + if of == Of::Original { 0 } else { 4 };
        if let Some(units) = self.units[place].get() {
            return Ok(units);
        }
        let units = match unit {
            // Any bytes have bytes.
            Unit::Byte => {
                let length = match of {
                    Of::Original => self.original.len(),
                    Of::Normalized => self.spans.normalized.len(),
                };
                Units::bytes(length)
            }
            _ => Units::of(self.as_str(of)?, unit),
        };
        Ok(self.units[place].get_or_init(|| units))
    }

    /// A caller's span in bytes, outwards, and whether it cut nothing.
    fn to_bytes(&self, span: (usize, usize), frame: Frame) -> Result<(usize, usize, bool)> {
        let units = self.units(frame)?;
        let outside = || {
            Error::input(format!(
                "The span ({}, {}) is not in the text, which has {} {}s.",
                span.0,
                span.1,
                units.len(),
                frame.0.name()
            ))
            .position(span.0)
            .value(format!("({}, {})", span.0, span.1))
        };
        if span.0 > span.1 {
            return Err(outside());
        }
        let (start, start_whole) = units.to_byte(span.0).ok_or_else(outside)?;
        let (mut end, end_whole) = units.to_byte(span.1).ok_or_else(outside)?;
        if !end_whole {
            // The second half of a surrogate pair: to the end of its character.
            end = units.to_byte(span.1 + 1).ok_or_else(outside)?.0;
        }
        Ok((start, end, start_whole && end_whole))
    }

    fn between(&self, span: (usize, usize), from: Of, to: Of) -> (usize, usize) {
        match (from, to) {
            (Of::Original, Of::Normalized) => self.spans.alignment.image(span.0..span.1),
            (Of::Normalized, Of::Original) => self.spans.alignment.span(span.0..span.1),
            _ => span,
        }
    }
}

/// Places of bytes in a unit. None where they do not rise, and for graphemes.
fn rising(
    text: &str,
    unit: Unit,
    places: impl Iterator<Item = (usize, usize)>,
) -> Option<Vec<(usize, usize)>> {
    let mut rising = Rising::new(text, unit)?;
    places.map(|place| rising.span(place)).collect()
}

/// The places of the tokens of an encoding of one text in a unit, from those in bytes of it. None
/// where that takes [`Offsets`].
#[must_use]
pub fn in_unit(
    text: &str,
    encoding: &Encoding,
    places: &[ByteSpan],
    unit: Unit,
) -> Option<Vec<ByteSpan>> {
    let mut converted = places.to_vec();
    if unit == Unit::Byte || (unit != Unit::Grapheme && text.is_ascii()) {
        return Some(converted);
    }
    let mut rising = Rising::new(text, unit)?;
    let part = encoding.parts.iter().find(|part| part.source == Source::Text(0))?;
    for place in &mut converted[part.start..part.end] {
        let (start, end) = rising.span((place[0] as usize, place[1] as usize))?;
        *place = [start as u32, end as u32];
    }
    Some(converted)
}

fn no_text(text: usize, texts: usize) -> Error {
    Error::input(format!("The encoding has no text {text}: it is of {texts}."))
        .value(text.to_string())
}

fn cuts(span: (usize, usize), from: Frame, to: Frame) -> Error {
    let name = |frame: Frame| {
        let of = if frame.1 == Of::Original { "original" } else { "normalized" };
        format!("{}s of the {of} text", frame.0.name())
    };
    Error::input(format!(
        "The span ({}, {}) in {} cuts what is whole in {}.",
        span.0,
        span.1,
        name(from),
        name(to)
    ))
    .position(span.0)
    .value(format!("({}, {})", span.0, span.1))
    .hint("Pass partial=\"expand\" to widen it to whole ones.")
}
