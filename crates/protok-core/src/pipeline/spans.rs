//! Where every token came from: the fast path once more, with token ends.
//!
//! The same stages as [`encode`](super::encode) run with the normalizer's edit runs and the ends
//! of tokens in each piece; spans in the original follow from the two. Nothing here is computed
//! unless it is asked for.
//!
//! Two things make it fast. Where the ids are known and the bytes of their tokens, one after the
//! other, are those of the pieces, they say where each token ends. And where a text may be cut into
//! parts before anything is done to it, what is known of a part serves wherever it comes again
//! ([`span_parts`](super::span_parts)).

use crate::added_tokens::{Phase, Section, SpecialPolicy};
use crate::error::Result;
use crate::model::{Model, Symbol};
use crate::normalize::Ends;
use crate::pattern::{self, Matcher, Tiles};
use crate::pretokenize::Beginning;
use crate::text::alignment::Alignment;
use crate::text::alphabet;
use crate::text::utf8;

use super::Pipeline;
use super::choice::Sink;
use super::encode::EncodeOptions;
use super::input::{Stretch, in_word};
use super::span_parts::Parts;

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

impl Spans {
    /// Forgets the tokens and the text.
    pub(super) fn clear(&mut self) {
        self.tokens.clear();
        self.normalized.clear();
        self.alignment.clear();
        self.unknown.clear();
    }
}

/// What is known while a text is walked through.
pub(super) struct Walk<'a> {
    pub(super) spans: Spans,
    pub(super) word: u32,
    sink: Sink<'a>,
    symbols: Vec<Symbol>,
    /// All ids of the text, where they are known.
    known: Option<&'a [u32]>,
    ends: pattern::Ends,
    /// What is known of parts, where they are looked up.
    pub(super) parts: Option<Parts>,
}

impl Pipeline {
    /// The tokens of a text with their places, without the template. The bytes must be UTF-8
    /// unless the pipeline holds any bytes (see [`Pipeline::encode_bytes`]).
    ///
    /// # Errors
    /// As [`Pipeline::encode_text`].
    pub fn spans(&self, bytes: &[u8], options: &EncodeOptions) -> Result<Spans> {
        self.walk(bytes, None, options, true)
    }

    /// The same where the ids are known: those that the same options gave, all of them, without the
    /// template.
    ///
    /// # Errors
    /// As [`Self::spans`].
    pub fn spans_of(&self, bytes: &[u8], ids: &[u32], options: &EncodeOptions) -> Result<Spans> {
        self.walk(bytes, Some(ids), options, true)
    }

    /// The same without any of what makes it fast.
    pub(super) fn spans_in_full(&self, bytes: &[u8], options: &EncodeOptions) -> Result<Spans> {
        self.walk(bytes, None, options, false)
    }

    fn walk(
        &self,
        bytes: &[u8],
        known: Option<&[u32]>,
        options: &EncodeOptions,
        in_parts: bool,
    ) -> Result<Spans> {
        self.with_scratch(&options.special, |scratch| {
            let text = std::str::from_utf8(bytes).ok();
            let mut walk = Walk::new(self.sink(text, options, scratch)?);
            // Random choices are made again, each in its turn.
            if in_parts && matches!(walk.sink, Sink::Cached(_)) {
                walk.known = known;
                walk.parts = self.lend_parts(bytes.len(), &options.special);
            }
            utf8::for_each_section(bytes, |section, from| match section {
                Ok(text) => {
                    let end = from + text.len() == bytes.len();
                    let ends = Ends { start: from == 0, end };
                    self.walk_text(Stretch { text, start: from, ends }, options, &mut walk)
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
            if let Some(parts) = walk.parts {
                self.take_parts(parts);
            }
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
                self.walk_text(Stretch::whole(word), options, &mut walk)
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
        stretch: Stretch<'_>,
        options: &EncodeOptions,
        walk: &mut Walk<'_>,
    ) -> Result<()> {
        self.added.split(stretch.text, Phase::Raw, &options.special, |section| {
            let part = stretch.section(section.start, section.end);
            match section.token {
                Some(id) => {
                    walk.push_added(id, part);
                    Ok(())
                }
                None if walk.parts.is_some() => self.walk_parts(part, options, walk),
                None => self.walk_section(part, false, options, walk),
            }
        })
    }

    /// Walks through a section without raw added tokens, or through a part of one; no added tokens
    /// are in it at all if it is `plain`.
    pub(super) fn walk_section(
        &self,
        Stretch { text, start: from, ends }: Stretch<'_>,
        plain: bool,
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
        let mut walk_piece_by_piece = |section: Section| {
            let part = &normalized[section.start..section.end];
            if let Some(id) = section.token {
                let normalized = (base + section.start, base + section.end);
                let original = origin(section.start, section.end);
                walk.spans.tokens.push(TokenSpan { id, normalized, original, word: walk.word });
                walk.word += 1;
                return Ok(());
            }
            let by_ids = match (self.pre_tokenizer.tiling(), special) {
                (_, SpecialPolicy::Trusted(_)) | (None, _) => false,
                (Some(matcher), _) => walk.tile(self, matcher, part, |at, end| TokenSpan {
                    id: 0,
                    word: 0,
                    normalized: (base + section.start + at, base + section.start + end),
                    original: match alignment.is_identity() {
                        true => (from + section.start + at, from + section.start + end),
                        false => origin(section.start + at, section.start + end),
                    },
                })?,
            };
            if by_ids {
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
        };
        if plain {
            let whole = Section { start: 0, end: normalized.len(), token: None };
            walk_piece_by_piece(whole)?;
        } else {
            self.added.split_where(&normalized, phase, special, &admits, walk_piece_by_piece)?;
        }
        walk.spans.alignment.extend(alignment.runs().iter().copied(), base, from);
        walk.spans.normalized.extend_from_slice(normalized.as_bytes());
        Ok(())
    }
}

impl<'a> Walk<'a> {
    pub(super) fn new(sink: Sink<'a>) -> Self {
        Self {
            spans: Spans::default(),
            word: 0,
            sink,
            symbols: Vec::new(),
            known: None,
            ends: pattern::Ends::default(),
            parts: None,
        }
    }

    /// An added token that stands in the normalized text as in the original.
    pub(super) fn push_added(&mut self, id: u32, token: Stretch<'_>) {
        let (start, length) = (self.spans.normalized.len(), token.text.len());
        self.spans.tokens.push(TokenSpan {
            id,
            normalized: (start, start + length),
            original: (token.start, token.start + length),
            word: self.word,
        });
        self.word += 1;
        self.spans.normalized.extend_from_slice(token.text.as_bytes());
    }

    /// Puts the tokens of a text whose pieces are the matches of a pattern where their bytes say
    /// that they are. Returns whether that is possible: the ids are known, and in every piece the
    /// bytes of their tokens, one after the other, are those of the piece.
    fn tile(
        &mut self,
        pipeline: &Pipeline,
        matcher: &Matcher,
        text: &str,
        place: impl Fn(usize, usize) -> TokenSpan,
    ) -> Result<bool> {
        let Some(known) = self.known else { return Ok(false) };
        let (before, words) = (self.spans.tokens.len(), self.word);
        let fixed = |id| pipeline.decoder.fixed(id, &pipeline.vocab, &pipeline.added);
        let mut tiles = Tiles::new(matcher, text);
        let mut at = 0;
        loop {
            tiles.next_ends(&mut self.ends)?;
            if self.ends.places().is_empty() {
                return Ok(true);
            }
            for &end in self.ends.places() {
                while at < end {
                    let token = known.get(self.spans.tokens.len()).copied();
                    let found = token.and_then(|id| Some((id, fixed(id)?)));
                    let fits = |&(_, bytes): &(u32, &[u8])| {
                        !bytes.is_empty() && text.as_bytes()[at..end].starts_with(bytes)
                    };
                    let Some((id, bytes)) = found.filter(fits) else {
                        self.spans.tokens.truncate(before);
                        self.word = words;
                        return Ok(false);
                    };
                    let placed = place(at, at + bytes.len());
                    self.spans.tokens.push(TokenSpan { id, word: self.word, ..placed });
                    at += bytes.len();
                }
                self.word += 1;
            }
        }
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
