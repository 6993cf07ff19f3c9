//! The fast path: text to ids.

use crate::added_tokens::{Phase, SpecialPolicy};
use crate::encoding::{Encoding, Part, Source};
use crate::error::{Error, Result};
use crate::model::bpe::dropout::Dropout;
use crate::model::bpe::{Bpe, Scratch};
use crate::postprocess::Item;
use crate::text::utf8;

use super::Pipeline;

/// How to encode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodeOptions {
    /// Put the template's control tokens around the text.
    pub add_special_tokens: bool,
    /// What to do where the text spells a control token.
    pub special: SpecialPolicy,
    /// Seed of the model's dropout. Without one no merge is left out.
    pub seed: Option<u64>,
}

impl Default for EncodeOptions {
    fn default() -> Self {
        Self { add_special_tokens: true, special: SpecialPolicy::Raise, seed: None }
    }
}

/// Where pieces go: the model's cached engine, or its dropout.
enum Sink<'a> {
    Cached(&'a mut Scratch),
    Dropout(Dropout),
}

impl Pipeline {
    /// The ids of a text, without the template.
    ///
    /// # Errors
    /// [`crate::ErrorKind::SpecialToken`] where the policy refuses, [`crate::ErrorKind::Limit`]
    /// where a pattern reaches its bound.
    pub fn encode_text(
        &self,
        text: &str,
        options: &EncodeOptions,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        self.with_scratch(|scratch| self.encode_with(text, options, scratch, out))
    }

    pub(super) fn encode_with(
        &self,
        text: &str,
        options: &EncodeOptions,
        scratch: &mut Scratch,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let mut sink = self.sink(options, scratch);
        self.encode_raw(text, 0, &options.special, &mut sink, out)
    }

    fn sink<'a>(&self, options: &EncodeOptions, scratch: &'a mut Scratch) -> Sink<'a> {
        match options.seed {
            Some(seed) if self.model.dropout() > 0.0 => {
                Sink::Dropout(Dropout::new(self.model.dropout(), seed))
            }
            _ => Sink::Cached(scratch),
        }
    }

    /// The model that a policy calls for.
    pub(super) fn model_for(&self, policy: &SpecialPolicy) -> &Bpe {
        match (&self.plain_model, policy) {
            (Some(plain), policy) if *policy != SpecialPolicy::Parse => plain,
            _ => &self.model,
        }
    }

    /// Encodes a text that starts at byte `start` of the caller's.
    fn encode_raw(
        &self,
        text: &str,
        start: usize,
        policy: &SpecialPolicy,
        sink: &mut Sink<'_>,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        self.added
            .split(text, Phase::Raw, policy, |section| match section.token {
                Some(id) => {
                    out.push(id);
                    Ok(())
                }
                None => {
                    let text = &text[section.start..section.end];
                    self.encode_section(text, policy, sink, out)
                }
            })
            .map_err(|error| shift(error, start))
    }

    /// Encodes a section without raw added tokens.
    fn encode_section(
        &self,
        text: &str,
        policy: &SpecialPolicy,
        sink: &mut Sink<'_>,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let normalized = self.normalizer.apply(text)?;
        self.added.split(&normalized, Phase::Normalized, policy, |section| {
            match section.token {
                Some(id) => {
                    out.push(id);
                    Ok(())
                }
                None => {
                    let text = &normalized[section.start..section.end];
                    self.encode_pieces(text, policy, sink, out)
                }
            }
        })
    }

    /// Encodes normalized text without any added tokens.
    #[inline]
    fn encode_pieces(
        &self,
        text: &str,
        policy: &SpecialPolicy,
        sink: &mut Sink<'_>,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let model = self.model_for(policy);
        match sink {
            Sink::Cached(scratch) => self.pre_tokenizer.for_each_piece(text, |piece, _, _| {
                model.encode(piece, &self.vocab, scratch, out)
            }),
            Sink::Dropout(dropout) => self.pre_tokenizer.for_each_piece(text, |piece, _, _| {
                model.encode_with_dropout(piece, &self.vocab, dropout, out)
            }),
        }
    }

    /// Encodes one text or two, with the template.
    ///
    /// # Errors
    /// As [`Self::encode_text`].
    pub fn encode(
        &self,
        text: &str,
        pair: Option<&str>,
        options: &EncodeOptions,
    ) -> Result<Encoding> {
        self.with_scratch(|scratch| {
            self.assemble(1 + usize::from(pair.is_some()), options, |index, out| {
                let text = if index == 0 { text } else { pair.unwrap_or("") };
                self.encode_with(text, options, scratch, out)
            })
        })
    }

    /// Encodes any bytes. Where they are UTF-8 they are the text that they spell; each longest
    /// stretch that is not is one piece, which the model merges by itself.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Input`] if the tokenizer cannot hold any bytes; else as
    /// [`Self::encode_text`].
    pub fn encode_bytes(&self, bytes: &[u8], options: &EncodeOptions) -> Result<Encoding> {
        if !self.pre_tokenizer.yields_bytes() {
            return Err(Error::input(
                "This tokenizer reads characters, so it cannot hold bytes that are not UTF-8.",
            )
            .hint("Decode the bytes and use encode."));
        }
        self.with_scratch(|scratch| {
            self.assemble(1, options, |_, out| {
                let mut sink = self.sink(options, scratch);
                utf8::for_each_section(bytes, |section, start| match section {
                    Ok(text) => self.encode_raw(text, start, &options.special, &mut sink, out),
                    Err(piece) => {
                        let model = self.model_for(&options.special);
                        match &mut sink {
                            Sink::Cached(scratch) => {
                                model.encode(piece, &self.vocab, scratch, out)
                            }
                            Sink::Dropout(dropout) => {
                                model.encode_with_dropout(piece, &self.vocab, dropout, out)
                            }
                        }
                    }
                })
            })
        })
    }

    /// Fills the template: `encode` appends the ids of the text with an index.
    pub(super) fn assemble(
        &self,
        texts: usize,
        options: &EncodeOptions,
        mut encode: impl FnMut(usize, &mut Vec<u32>) -> Result<()>,
    ) -> Result<Encoding> {
        let mut ids = Vec::new();
        let mut parts = Vec::with_capacity(3);
        for item in self.template.items(texts, options.add_special_tokens) {
            let start = ids.len();
            let (source, type_id) = match item {
                Item::Token { id, type_id } => {
                    ids.push(*id);
                    (Source::Template, *type_id)
                }
                Item::Text { index, type_id } => {
                    encode(*index, &mut ids)?;
                    (Source::Text(*index), *type_id)
                }
            };
            parts.push(Part { start, end: ids.len(), source, type_id });
        }
        Ok(Encoding { ids, parts })
    }
}

/// Moves the position of an error by where its text starts.
fn shift(mut error: Error, start: usize) -> Error {
    if let Some(position) = &mut error.position
        && start > 0
    {
        *position += start;
        error.location = Some(format!("byte {position}"));
    }
    error
}
