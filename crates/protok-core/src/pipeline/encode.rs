//! The fast path: text to ids.

use std::borrow::Cow;

use crate::added_tokens::{Phase, SpecialPolicy};
use crate::encoding::{Encoding, Part, Source};
use crate::error::{Error, Result};
use crate::model::{Engine, Scratch, with_engine};
use crate::pattern::{Matcher, Tiles};
use crate::postprocess::Item;
use crate::pretokenize::Beginning;
use crate::text::alignment::Alignment;

use super::Pipeline;
use super::choice::{Choice, Sink};
use super::input::{Input, Stretch, Text, in_pair};
use super::truncate::{Truncation, Window};

/// How to encode.
#[derive(Debug, Clone, PartialEq)]
pub struct EncodeOptions {
    /// Put the template's control tokens around the text.
    pub add_special_tokens: bool,
    /// What to do where the text spells a control token.
    pub special: SpecialPolicy,
    /// Which of the model's ways to cut the text is taken.
    pub choice: Choice,
    /// Cut what is too long.
    pub truncation: Option<Truncation>,
}

impl Default for EncodeOptions {
    fn default() -> Self {
        Self {
            add_special_tokens: true,
            special: SpecialPolicy::Raise,
            choice: Choice::Best,
            truncation: None,
        }
    }
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
        self.encode_any(&Text::Whole(text), options, out)
    }

    /// Encodes a stretch in which added tokens are still to be found.
    pub(super) fn encode_raw(
        &self,
        stretch: Stretch<'_>,
        policy: &SpecialPolicy,
        sink: &mut Sink<'_>,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        self.added
            .split(stretch.text, Phase::Raw, policy, |section| match section.token {
                Some(id) => {
                    out.push(id);
                    Ok(())
                }
                None => {
                    let part = stretch.section(section.start, section.end);
                    self.encode_section(part, policy, sink, out)
                }
            })
            .map_err(|error| shift(error, stretch.start))
    }

    /// Encodes a section without raw added tokens.
    fn encode_section(
        &self,
        stretch: Stretch<'_>,
        policy: &SpecialPolicy,
        sink: &mut Sink<'_>,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let joints = self.joints(stretch.text.len(), policy);
        let (Some(joints), Sink::Cached(scratch)) = (joints, &mut *sink) else {
            return self.encode_normalized(stretch, policy, sink, out);
        };
        if !self.normalizer.is_identity() {
            return self.encode_parts_of(stretch, policy, (joints, scratch), out);
        }
        self.added.split(stretch.text, Phase::Normalized, policy, |section| match section.token {
            Some(id) => {
                out.push(id);
                Ok(())
            }
            None => {
                let part = stretch.section(section.start, section.end);
                self.encode_parts_of(part, policy, (joints, scratch), out)
            }
        })
    }

    /// Normalizes a section, or a part of one, and encodes it with the added tokens that are found
    /// then.
    pub(super) fn encode_normalized(
        &self,
        stretch: Stretch<'_>,
        policy: &SpecialPolicy,
        sink: &mut Sink<'_>,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let (normalized, alignment) = self.normalize(stretch)?;
        self.added.split(&normalized, Phase::Normalized, policy, |section| match section.token {
            Some(id) => {
                out.push(id);
                Ok(())
            }
            None => {
                let range = section.start..section.end;
                let head = alignment
                    .as_ref()
                    .map_or(0, |alignment| alignment.head(&normalized, range.clone()));
                let goes_on = !stretch.ends.start && range.start == 0;
                let beginning = Beginning { head, goes_on };
                self.encode_pieces(&normalized[range], beginning, policy, sink, out)
            }
        })
    }

    /// Encodes a stretch that nothing is normalized in and no added token is in any more.
    pub(super) fn encode_plain(
        &self,
        stretch: Stretch<'_>,
        policy: &SpecialPolicy,
        sink: &mut Sink<'_>,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let (text, alignment) = self.normalize(stretch)?;
        let head = alignment.map_or(0, |alignment| alignment.head(&text, 0..text.len()));
        let beginning = Beginning { head, goes_on: !stretch.ends.start };
        self.encode_pieces(&text, beginning, policy, sink, out)
    }

    /// A stretch normalized, and where it came from if the pre-tokenizer asks for that.
    fn normalize<'t>(&self, stretch: Stretch<'t>) -> Result<(Cow<'t, str>, Option<Alignment>)> {
        let Stretch { text, start, ends } = stretch;
        // Few pre-tokenizers care what the start of the text became.
        if start == 0 && self.pre_tokenizer.asks_for_head() {
            let (normalized, alignment) = self.normalizer.apply_with_alignment(text, ends)?;
            return Ok((normalized, Some(alignment)));
        }
        Ok((self.normalizer.apply_between(text, ends)?, None))
    }

    /// Encodes normalized text without any added tokens.
    #[inline]
    fn encode_pieces(
        &self,
        text: &str,
        beginning: Beginning,
        policy: &SpecialPolicy,
        sink: &mut Sink<'_>,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let model = self.model_for(policy);
        match sink {
            // One loop for each kind of model: nothing is decided for each piece.
            Sink::Cached(scratch) => with_engine!(model, engine => {
                if let Some(matcher) = self.pre_tokenizer.tiling() {
                    return self.encode_tiles(engine, matcher, text, scratch, out);
                }
                self.pre_tokenizer.for_each_piece(text, beginning, |piece| {
                    Engine::encode(engine, piece, &self.vocab, scratch, out)
                })
            }),
            chosen => self.pre_tokenizer.for_each_piece(text, beginning, |piece| {
                let symbols = chosen.choose(model, piece, &self.vocab, out.len())?;
                out.extend(symbols.iter().map(|symbol| symbol.id));
                Ok(())
            }),
        }
    }

    /// Encodes a text whose pieces are the matches of a pattern.
    #[inline]
    fn encode_tiles(
        &self,
        engine: &impl Engine,
        matcher: &Matcher,
        text: &str,
        scratch: &mut Scratch,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let mut tiles = Tiles::new(matcher, text);
        let mut ends = scratch.lend_ends();
        let mut start = 0;
        let result = loop {
            if let Err(error) = tiles.next_ends(&mut ends) {
                break Err(error);
            }
            let places = ends.places();
            let Some(&end) = places.last() else { break Ok(()) };
            let text = text.as_bytes();
            let run = engine.encode_run(text, start, places, &self.vocab, scratch, out);
            if run.is_err() {
                break run;
            }
            start = end;
        };
        scratch.take_ends(ends);
        result
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
        self.encode_input(&(text.into(), pair.map(Text::from)), options)
    }

    /// Encodes one text or two, whole or in words, with the template.
    ///
    /// # Errors
    /// As [`Self::encode_any`].
    pub fn encode_input(
        &self,
        (text, pair): &Input<'_>,
        options: &EncodeOptions,
    ) -> Result<Encoding> {
        self.with_scratch(&options.special, |scratch| {
            self.assemble(1 + usize::from(pair.is_some()), options, |index, out| {
                let text = if index == 0 { text } else { pair.as_ref().unwrap_or(text) };
                self.encode_with(text, options, scratch, out).map_err(|error| in_pair(error, index))
            })
        })
    }

    /// Fills the template: `encode` appends the ids of the text with an index.
    pub(crate) fn assemble(
        &self,
        texts: usize,
        options: &EncodeOptions,
        mut encode: impl FnMut(usize, &mut Vec<u32>) -> Result<()>,
    ) -> Result<Encoding> {
        if let Some(truncation) = options.truncation {
            let ids: Vec<Vec<u32>> = (0..texts)
                .map(|index| {
                    let mut ids = Vec::new();
                    encode(index, &mut ids).map(|()| ids)
                })
                .collect::<Result<_>>()?;
            return self.assemble_truncated(&ids, options, truncation);
        }
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
            parts.push(Part { start, end: ids.len(), source, type_id, first: 0 });
        }
        Ok(Encoding { ids, parts, overflow: Vec::new() })
    }

    fn assemble_truncated(
        &self,
        ids: &[Vec<u32>],
        options: &EncodeOptions,
        truncation: Truncation,
    ) -> Result<Encoding> {
        let lengths: Vec<usize> = ids.iter().map(Vec::len).collect();
        let add = options.add_special_tokens;
        let windows = truncation.windows(&lengths, self.template.added(ids.len(), add))?;
        let mut result = self.fill(ids, &[windows[0][0], second(&windows, 0)], [false; 2], add);
        // What overflows: every further window of the text that stands first in the template
        // with every window of the other, then its first window with the other's further ones.
        let first = self
            .template
            .items(ids.len(), add)
            .find_map(|item| match item {
                Item::Text { index, .. } => Some(*index),
                Item::Token { .. } => None,
            })
            .unwrap_or(0);
        let (major, minor) = (first, 1 - first.min(1));
        let minor_windows = if ids.len() == 2 { windows[minor].len() } else { 1 };
        let places = (1..windows[major].len())
            .flat_map(|i| (0..minor_windows).map(move |j| (i, j)))
            .chain((1..minor_windows).map(|j| (0, j)));
        for (i, j) in places {
            let mut chosen = [(0, 0); 2];
            let mut further = [false; 2];
            (chosen[major], further[major]) = (windows[major][i], i > 0);
            if ids.len() == 2 {
                (chosen[minor], further[minor]) = (windows[minor][j], j > 0);
            }
            result.overflow.push(self.fill(ids, &chosen, further, add));
        }
        Ok(result)
    }

    /// The template around a window of each text: its first, or a `further` one.
    fn fill(
        &self,
        ids: &[Vec<u32>],
        windows: &[Window; 2],
        further: [bool; 2],
        add: bool,
    ) -> Encoding {
        let mut filled = Encoding::default();
        for item in self.template.items(ids.len(), add) {
            let start = filled.ids.len();
            let (source, type_id, first) = match item {
                Item::Token { id, type_id } => {
                    filled.ids.push(*id);
                    (Source::Template, *type_id, 0)
                }
                Item::Text { index, type_id } => {
                    let (from, to) = windows[*index];
                    filled.ids.extend_from_slice(&ids[*index][from..to]);
                    let type_id = match further[*index] {
                        true => self.template.overflow_type(*index, *type_id),
                        false => *type_id,
                    };
                    (Source::Text(*index), type_id, from)
                }
            };
            filled.parts.push(Part { start, end: filled.ids.len(), source, type_id, first });
        }
        filled
    }
}

fn second(windows: &[Vec<Window>], at: usize) -> Window {
    windows.get(1).map_or((0, 0), |windows| windows[at])
}

/// Moves the position of an error by where its text starts.
fn shift(mut error: Error, start: usize) -> Error {
    if let Some(position) = &mut error.position
        && start > 0
    {
        *position += start;
    }
    error
}
