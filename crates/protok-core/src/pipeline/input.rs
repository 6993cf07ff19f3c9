//! What is encoded: a text, or the words that the caller cut it into.

use crate::added_tokens::SpecialPolicy;
use crate::error::{Error, Result};
use crate::model::Scratch;
use crate::normalize::Ends;

use super::Pipeline;
use super::choice::Sink;
use super::encode::EncodeOptions;

/// A text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Text<'a> {
    /// In one.
    Whole(&'a str),
    /// Cut into words by the caller. Each goes through the whole chain by itself, as if it were
    /// a text; the template goes around all of them.
    Words(Vec<&'a str>),
}

/// A stretch of the caller's text that is encoded.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stretch<'t> {
    pub(super) text: &'t str,
    /// The byte of the caller's text that it starts at.
    pub(super) start: usize,
    pub(super) ends: Ends,
}

impl<'t> Stretch<'t> {
    /// A text.
    pub(super) fn whole(text: &'t str) -> Self {
        Self { text, start: 0, ends: Ends::BOTH }
    }

    /// A section of it, where every cut is an end of a text.
    pub(super) fn section(self, start: usize, end: usize) -> Self {
        let ends = self.ends.of_part(start, end, self.text.len());
        Self { text: &self.text[start..end], start: self.start + start, ends }
    }

    /// A part of it, where no cut is one.
    pub(super) fn part(self, start: usize, end: usize) -> Self {
        let ends = Ends {
            start: self.ends.start && start == 0,
            end: self.ends.end && end == self.text.len(),
        };
        Self { text: &self.text[start..end], start: self.start + start, ends }
    }
}

/// One input of a batch: one text or two.
pub type Input<'a> = (Text<'a>, Option<Text<'a>>);

impl<'a> From<&'a str> for Text<'a> {
    fn from(text: &'a str) -> Self {
        Self::Whole(text)
    }
}

impl Text<'_> {
    /// Its length in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match self {
            Self::Whole(text) => text.len(),
            Self::Words(words) => words.iter().map(|word| word.len()).sum(),
        }
    }
}

/// The length of an input in bytes.
#[must_use]
pub fn size((text, pair): &Input<'_>) -> usize {
    text.bytes() + pair.as_ref().map_or(0, Text::bytes)
}

/// Says that an error is about the second text.
pub(super) fn in_pair(error: Error, index: usize) -> Error {
    if index == 0 { error } else { Error { pair: true, ..error.within("pair") } }
}

/// Says which word of a text an error is about.
pub(super) fn in_word(error: Error, index: usize) -> Error {
    Error { word: u32::try_from(index).ok(), ..error.within(&format!("words[{index}]")) }
}

impl Pipeline {
    /// The ids of a text or of its words, without the template.
    ///
    /// # Errors
    /// As [`Pipeline::encode_text`], with the index of the word.
    pub fn encode_any(
        &self,
        text: &Text<'_>,
        options: &EncodeOptions,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        self.with_scratch(&options.special, |scratch| self.encode_with(text, options, scratch, out))
    }

    pub(super) fn encode_with(
        &self,
        text: &Text<'_>,
        options: &EncodeOptions,
        scratch: &mut Scratch,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        match text {
            Text::Whole(text) if matches!(options.special, SpecialPolicy::Trusted(_)) => {
                let spans = self.spans(text.as_bytes(), options)?;
                out.extend(spans.tokens.iter().map(|token| token.id));
                Ok(())
            }
            Text::Words(_) if matches!(options.special, SpecialPolicy::Trusted(_)) => {
                Err(Error::input("Trusted stretches are of one text, not of words.")
                    .hint("Pass the text in one."))
            }
            Text::Whole(text) => {
                let mut sink = self.sink(Some(text), options, scratch)?;
                self.encode_raw(Stretch::whole(text), &options.special, &mut sink, out)
            }
            Text::Words(words) => {
                let mut sink = self.sink(None, options, scratch)?;
                self.encode_words(words, options, &mut sink, out)
            }
        }
    }

    /// Random choices go on from word to word.
    fn encode_words(
        &self,
        words: &[&str],
        options: &EncodeOptions,
        sink: &mut Sink<'_>,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        for (index, word) in words.iter().enumerate() {
            self.encode_raw(Stretch::whole(word), &options.special, sink, out)
                .map_err(|error| in_word(error, index))?;
        }
        Ok(())
    }
}
