//! Where every token came from: the fast path once more, with token ends.
//!
//! The same stages as [`encode`](super::encode) run with the normalizer's edit runs and the ends
//! of tokens in each piece; spans in the original follow from the two. Nothing here is computed
//! unless it is asked for.

use crate::added_tokens::{Phase, SpecialPolicy};
use crate::error::Result;
use crate::model::{Model, Symbol};
use crate::normalize::Ends;
use crate::pretokenize::Beginning;
use crate::text::alignment::Alignment;
use crate::text::alphabet;
use crate::text::utf8;

use super::Pipeline;
use super::choice::Sink;
use super::encode::EncodeOptions;
use super::input::in_word;

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
    /// The text after normalization, added tokens as they stand in the original. Bytes, since
    /// the caller's may not be UTF-8.
    pub normalized: Vec<u8>,
    /// How `normalized` came from the original.
    pub alignment: Alignment,
    /// Unknown tokens that are shown as the text that they stand for: their places, rising, and
    /// the text as the model saw it.
    pub unknown: Vec<(usize, String)>,
}

/// What is known while a text is walked through.
struct Walk<'a> {
    spans: Spans,
    word: u32,
    sink: Sink<'a>,
    symbols: Vec<Symbol>,
}

impl Pipeline {
    /// The tokens of a text with their places, without the template. The bytes must be UTF-8
    /// unless the pipeline holds any bytes (see [`Pipeline::encode_bytes`]).
    ///
    /// # Errors
    /// As [`Pipeline::encode_text`].
    pub fn spans(&self, bytes: &[u8], options: &EncodeOptions) -> Result<Spans> {
        self.with_scratch(&options.special, |scratch| {
            let text = std::str::from_utf8(bytes).ok();
            let mut walk = Walk::new(self.sink(text, options, scratch)?);
            utf8::for_each_section(bytes, |section, from| match section {
                Ok(text) => {
                    let ends = Ends { start: from == 0, end: from + text.len() == bytes.len() };
                    self.walk_text(text, from, ends, options, &mut walk)
                }
                Err(piece) => {
                    match self.stray_symbols(piece) {
                        Some(symbols) => walk.symbols = symbols,
                        None => walk.encode(self.model_for(&options.special), self, piece)?,
                    }
                    walk.show_unknown(self, piece);
                    let base = walk.spans.normalized.len();
                    for symbol in &walk.symbols {
                        walk.spans.tokens.push(TokenSpan {
                            id: symbol.id,
                            normalized: (base + symbol.start, base + symbol.end),
                            original: (from + symbol.start, from + symbol.end),
                            word: walk.word,
                        });
                    }
                    walk.word += 1;
                    walk.spans.normalized.extend_from_slice(piece);
                    Ok(())
                }
            })?;
            Ok(walk.spans)
        })
    }

    /// The tokens of each word of a text that the caller cut into words; a token's `word` is the
    /// place of its word.
    ///
    /// # Errors
    /// As [`Pipeline::encode_any`].
    pub fn word_spans(&self, words: &[&str], options: &EncodeOptions) -> Result<Vec<Spans>> {
        self.with_scratch(&options.special, |scratch| {
            let mut walk = Walk::new(self.sink(None, options, scratch)?);
            let walked = (0u32..).zip(words).map(|(index, word)| {
                self.walk_text(word, 0, Ends::BOTH, options, &mut walk)
                    .map_err(|error| in_word(error, index as usize))?;
                let mut spans = std::mem::take(&mut walk.spans);
                spans.tokens.iter_mut().for_each(|token| token.word = index);
                Ok(spans)
            });
            walked.collect()
        })
    }

    fn walk_text(
        &self,
        text: &str,
        from: usize,
        ends: Ends,
        options: &EncodeOptions,
        walk: &mut Walk<'_>,
    ) -> Result<()> {
        self.added.split(text, Phase::Raw, &options.special, |section| {
            let part = &text[section.start..section.end];
            let Some(id) = section.token else {
                let ends = ends.of_part(section.start, section.end, text.len());
                return self.walk_section(part, from + section.start, ends, options, walk);
            };
            let start = walk.spans.normalized.len();
            walk.spans.tokens.push(TokenSpan {
                id,
                normalized: (start, start + part.len()),
                original: (from + section.start, from + section.end),
                word: walk.word,
            });
            walk.word += 1;
            walk.spans.normalized.extend_from_slice(part.as_bytes());
            Ok(())
        })
    }

    fn walk_section(
        &self,
        text: &str,
        from: usize,
        ends: Ends,
        options: &EncodeOptions,
        walk: &mut Walk<'_>,
    ) -> Result<()> {
        let (normalized, alignment) = self.normalizer.apply_with_alignment(text, ends)?;
        let base = walk.spans.normalized.len();
        let origin = |start: usize, end: usize| {
            let (start, end) = alignment.span(start..end);
            (from + start, from + end)
        };
        let model = self.model_for(&options.special);
        let admits = |start, end| {
            let (start, end) = origin(start, end);
            matches!(&options.special, SpecialPolicy::Trusted(trust) if trust.covers(start, end))
        };
        let (phase, special) = (Phase::Normalized, &options.special);
        self.added.split_where(&normalized, phase, special, &admits, |section| {
            let part = &normalized[section.start..section.end];
            if let Some(id) = section.token {
                let normalized = (base + section.start, base + section.end);
                let original = origin(section.start, section.end);
                walk.spans.tokens.push(TokenSpan { id, normalized, original, word: walk.word });
                walk.word += 1;
                return Ok(());
            }
            let head = if from == 0 && self.pre_tokenizer.asks_for_head() {
                alignment.head(&normalized, section.start..section.end)
            } else {
                0
            };
            let beginning = Beginning { head, goes_on: !ends.start && section.start == 0 };
            self.pre_tokenizer.for_each_placed_piece(part, beginning, |piece, place| {
                walk.encode(model, self, piece)?;
                if let SpecialPolicy::Trusted(trust) = special {
                    self.defuse(piece, trust, &mut walk.symbols, |symbol| {
                        let (at, end) = place.span(symbol.start, symbol.end);
                        let (at, end) = origin(section.start + at, section.start + end);
                        trust.covers(at, end)
                    })?;
                }
                walk.show_unknown(self, piece);
                for symbol in &walk.symbols {
                    let (at, end) = place.span(symbol.start, symbol.end);
                    let (at, end) = (section.start + at, section.start + end);
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
        walk.spans.normalized.extend_from_slice(normalized.as_bytes());
        Ok(())
    }
}

impl<'a> Walk<'a> {
    fn new(sink: Sink<'a>) -> Self {
        Self { spans: Spans::default(), word: 0, sink, symbols: Vec::new() }
    }

    /// Puts the tokens of a piece into `symbols`.
    fn encode(&mut self, model: &Model, pipeline: &Pipeline, piece: &[u8]) -> Result<()> {
        match &mut self.sink {
            Sink::Cached(scratch) => {
                self.symbols.clear();
                model.encode_spans(piece, &pipeline.vocab, scratch, &mut self.symbols)
            }
            chosen => {
                let before = self.spans.tokens.len();
                self.symbols = chosen.choose(model, piece, &pipeline.vocab, before)?;
                Ok(())
            }
        }
    }

    /// Keeps the text of the unknown tokens among `symbols`, where they are shown as it.
    fn show_unknown(&mut self, pipeline: &Pipeline, piece: &[u8]) {
        let Some(unknown) = pipeline.shown_unknown else { return };
        let first = self.spans.tokens.len();
        for (place, symbol) in self.symbols.iter().enumerate() {
            if symbol.id == unknown {
                let bytes = &piece[symbol.start..symbol.end];
                let text = match pipeline.pre_tokenizer.yields_bytes() {
                    true => alphabet::encode(bytes),
                    false => String::from_utf8_lossy(bytes).into_owned(),
                };
                self.spans.unknown.push((first + place, text));
            }
        }
    }
}
