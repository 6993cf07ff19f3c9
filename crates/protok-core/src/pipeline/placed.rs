//! Ids and the bytes of the original that they came from, at the speed of ids.
//!
//! [`spans`](super::spans) knows everything about where tokens came from; most callers want to know
//! one thing. Where a text is cut into parts before anything is done to it, a part is kept with its
//! ids and their places, so that one look-up gives both. And where the bytes of the tokens, one after
//! the other, are those of the text, they say where each token ends. Elsewhere nothing is said here.

use std::borrow::Cow;

use crate::added_tokens::{Phase, SpecialPolicy};
use crate::encoding::{Encoding, Source};
use crate::error::Result;
use crate::model::cache::{Cache, Tokens};
use crate::pattern::Ends;

use super::Pipeline;
use super::choice::{Choice, Sink};
use super::encode::EncodeOptions;
use super::input::Stretch;
use super::parts::Joints;
use super::spans::Walk;

/// First and past the last byte of the original that a token came from.
pub type ByteSpan = [u32; 2];

/// Tokens with their places.
#[derive(Debug, Default)]
struct Placed {
    ids: Vec<u32>,
    places: Vec<ByteSpan>,
    pending: Box<Pending>,
    /// Where the text starts in which pieces are counted.
    base: usize,
}

/// Tokens on their way.
#[derive(Debug)]
struct Pending {
    ids: [u32; ROOM],
    places: [ByteSpan; ROOM],
    count: usize,
}

const ROOM: usize = 512;

/// So many bytes of prose have one token or more.
const A_TOKEN: usize = 6;

impl Default for Pending {
    fn default() -> Self {
        Self { ids: [0; ROOM], places: [[0; 2]; ROOM], count: 0 }
    }
}

/// How an entry of some words has tokens: ids first, then places, each two numbers of so many bits,
/// so many places to a number of 64 bits.
struct Layout {
    most: usize,
    bits: u32,
    to_a_number: usize,
}

impl Layout {
    /// Places in pieces of up to 15 bytes take 4 bits, in those of up to 47 bytes 6.
    const fn of(words: usize) -> Self {
        if words == 4 {
            Self { most: 3, bits: 4, to_a_number: 3 }
        } else {
            assert!(words == 20);
            Self { most: 14, bits: 6, to_a_number: 5 }
        }
    }

    /// The words that have the places of the tokens of a number, and the bits to shift by.
    const fn at(&self, token: usize) -> (usize, u32) {
        (
            self.most + token / self.to_a_number * 2,
            token as u32 % self.to_a_number as u32 * 2 * self.bits,
        )
    }
}

impl Tokens for Placed {
    #[inline]
    fn push<const WORDS: usize>(&mut self, entry: [u32; WORDS], count: usize, start: usize) {
        let layout = const { Layout::of(WORDS) };
        if self.pending.count > ROOM - layout.most {
            self.flush();
        }
        let Pending { ids, places, count: pending } = &mut *self.pending;
        let base = (self.base + start) as u32;
        let mask = (1 << layout.bits) - 1;
        let room = ids[*pending..].iter_mut().zip(&mut places[*pending..]);
        // All of the room of an entry is written, whatever is in it.
        for (token, (id, place)) in room.take(layout.most).enumerate() {
            let (at, shift) = layout.at(token);
            let number = u64::from(entry[at]) | u64::from(*entry.get(at + 1).unwrap_or(&0)) << 32;
            let packed = (number >> shift) as u32;
            *id = entry[token];
            *place =
                [base.wrapping_add(packed & mask), base.wrapping_add(packed >> layout.bits & mask)];
        }
        *pending += count;
    }

    #[inline]
    fn flush(&mut self) {
        self.ids.extend_from_slice(&self.pending.ids[..self.pending.count]);
        self.places.extend_from_slice(&self.pending.places[..self.pending.count]);
        self.pending.count = 0;
    }

    fn count(&self) -> usize {
        self.ids.len()
    }

    fn entry<const WORDS: usize>(
        &self,
        first: usize,
        start: usize,
    ) -> Option<([u32; WORDS], usize)> {
        let layout = const { Layout::of(WORDS) };
        let (ids, places) = (&self.ids[first..], &self.places[first..]);
        let mut entry = [0; WORDS];
        entry[..layout.most].get_mut(..ids.len())?.copy_from_slice(ids);
        for (token, place) in places.iter().enumerate() {
            let (at, shift) = layout.at(token);
            for (bits, &end) in [0, layout.bits].into_iter().zip(place) {
                let inside = u64::from(end).checked_sub((self.base + start) as u64)?;
                let number = (inside >> layout.bits == 0).then_some(inside << (shift + bits))?;
                entry[at] |= number as u32;
                if let Some(high) = entry.get_mut(at + 1) {
                    *high |= (number >> 32) as u32;
                }
            }
        }
        Some((entry, ids.len()))
    }
}

impl Placed {
    fn put(&mut self, id: u32, from: usize, to: usize) {
        self.ids.push(id);
        self.places.push([from as u32, to as u32]);
    }
}

impl Pipeline {
    /// Encodes a text, with the template, and says of every token but the template's which bytes it
    /// came from. That is None where it takes [`Self::spans`]: for random choices, trusted
    /// stretches, cut results, 4 GiB of text, or a chain of stages that looks everywhere.
    ///
    /// # Errors
    /// As [`Pipeline::encode_text`].
    pub fn encode_placed(
        &self,
        text: &str,
        options: &EncodeOptions,
    ) -> Result<(Encoding, Option<Vec<ByteSpan>>)> {
        let joints = self.joints(text.len(), &options.special);
        let Some(joints) = joints.filter(|_| is_plain(text, options)) else {
            let encoding = self.encode(text, None, options)?;
            let places = match encoding.ids_of(0).filter(|_| is_plain(text, options)) {
                Some(ids) => self.tiled(text, ids)?.map(|places| around(&encoding, places)),
                None => None,
            };
            return Ok((encoding, places));
        };
        self.with_scratch(&options.special, |scratch| {
            let mut places = Vec::new();
            let encoding = self.assemble(1, options, |_, out| {
                let under = self.rules_for_parts(&options.special);
                let (mut cache, mut ends) = (scratch.lend_placed(under), scratch.lend_ends());
                let mut placed = Placed { ids: std::mem::take(out), ..Placed::default() };
                placed.places.resize(placed.ids.len(), [0; 2]);
                placed.ids.reserve(text.len() / A_TOKEN);
                placed.places.reserve(text.len() / A_TOKEN);
                let mut placing = Placing {
                    pipeline: self,
                    joints,
                    options,
                    walk: Walk::new(Sink::Cached(scratch)),
                    cache: &mut cache,
                    ends: &mut ends,
                    out: &mut placed,
                };
                let result = placing.text(text);
                scratch.take_placed(cache);
                scratch.take_ends(ends);
                *out = placed.ids;
                places = placed.places;
                result
            })?;
            places.resize(encoding.ids.len(), [0; 2]);
            Ok((encoding, Some(places)))
        })
    }

    /// The places of the tokens of a text that was encoded under these options. None as for
    /// [`Self::encode_placed`].
    ///
    /// # Errors
    /// As there.
    pub fn places_of(
        &self,
        text: &str,
        encoding: &Encoding,
        options: &EncodeOptions,
    ) -> Result<Option<Vec<ByteSpan>>> {
        if !is_plain(text, options) {
            return Ok(None);
        }
        let Some(ids) = encoding.ids_of(0) else { return Ok(None) };
        if let Some(places) = self.tiled(text, ids)? {
            return Ok(Some(around(encoding, places)));
        }
        if self.joints(text.len(), &options.special).is_none() {
            return Ok(None);
        }
        let (again, places) = self.encode_placed(text, options)?;
        Ok(places.filter(|_| again.ids == encoding.ids))
    }

    /// The places of tokens whose bytes, one after the other, are those of the text.
    ///
    /// No token of these covers fewer bytes than it has (see [`token_lengths`]), and none covers
    /// what another does. So if what they have adds up to the text, each covers what it has.
    fn tiled(&self, text: &str, ids: &[u32]) -> Result<Option<Vec<ByteSpan>>> {
        let lengths =
            self.token_lengths.get_or_init(|| token_lengths(self).map(Vec::into_boxed_slice));
        let Some(lengths) = lengths else { return Ok(None) };
        let mut places = Vec::with_capacity(ids.len());
        let mut at = 0u32;
        for &id in ids {
            let end = match lengths.get(id as usize) {
                Some(&length) if length != LONG => at.wrapping_add(u32::from(length)),
                _ => match self.decoder.fixed(id, &self.vocab, &self.added) {
                    Some(bytes) if Some(id) != self.unknown => at.wrapping_add(bytes.len() as u32),
                    _ => return Ok(None),
                },
            };
            places.push([at, end]);
            at = end;
        }
        if at as usize != text.len() || places.iter().any(|[from, to]| from > to) {
            return Ok(None);
        }
        let same = matches!(self.normalizer.apply(text)?, Cow::Borrowed(_));
        Ok(same.then_some(places))
    }
}

/// What a length is that does not fit, or is not known.
const LONG: u8 = u8::MAX;

/// By id, how many bytes a token has. None where one may cover fewer than it has: where a model puts
/// something into words, or writes bytes by name.
fn token_lengths(pipeline: &Pipeline) -> Option<Vec<u8>> {
    pipeline.pre_tokenizer.tiling()?;
    let crate::spec::Model::Bpe(bpe) = &pipeline.spec.model else { return None };
    let none = |put: &Option<String>| put.as_deref().is_none_or(str::is_empty);
    let plain = none(&bpe.continuing_subword_prefix) && none(&bpe.end_of_word_suffix);
    if !plain || bpe.byte_fallback {
        return None;
    }
    let length = |id: usize| {
        let id = u32::try_from(id).ok().filter(|&id| Some(id) != pipeline.unknown)?;
        u8::try_from(pipeline.decoder.fixed(id, &pipeline.vocab, &pipeline.added)?.len()).ok()
    };
    Some((0..pipeline.size()).map(|id| length(id).unwrap_or(LONG)).collect())
}

/// A text that is encoded part by part.
struct Placing<'a> {
    pipeline: &'a Pipeline,
    joints: &'a Joints,
    options: &'a EncodeOptions,
    walk: Walk<'a>,
    cache: &'a mut Cache,
    ends: &'a mut Ends,
    out: &'a mut Placed,
}

impl Placing<'_> {
    fn text(&mut self, text: &str) -> Result<()> {
        let (added, policy) = (&self.pipeline.added, &self.options.special);
        added.split(text, Phase::Raw, policy, |found| {
            let section = Stretch::whole(text).section(found.start, found.end);
            if let Some(id) = found.token {
                self.out.put(id, found.start, found.end);
                return Ok(());
            }
            if !self.pipeline.normalizer.is_identity() {
                return self.parts_of(section);
            }
            added.split(section.text, Phase::Normalized, policy, |found| {
                let part = section.section(found.start, found.end);
                match found.token {
                    Some(id) => {
                        self.out.put(id, part.start, part.start + part.text.len());
                        Ok(())
                    }
                    None => self.parts_of(part),
                }
            })
        })
    }

    fn parts_of(&mut self, section: Stretch<'_>) -> Result<()> {
        let Self { pipeline, joints, options, walk, cache, ends, out } = self;
        let plain = pipeline.normalizer.is_identity();
        out.base = section.start;
        pipeline.for_parts(section.text, joints, (cache, ends), *out, |from, to, out| {
            walk.spans.clear();
            pipeline.walk_section(section.part(from, to), plain, options, walk)?;
            for token in &walk.spans.tokens {
                out.put(token.id, token.original.0, token.original.1);
            }
            Ok(())
        })
    }
}

/// Puts nowhere for the template's tokens around the places of a text's.
fn around(encoding: &Encoding, places: Vec<ByteSpan>) -> Vec<ByteSpan> {
    let Some(part) = encoding.parts.iter().find(|part| part.source == Source::Text(0)) else {
        return vec![[0; 2]; encoding.ids.len()];
    };
    if part.start == 0 && part.end == encoding.ids.len() {
        return places;
    }
    let mut all = vec![[0; 2]; encoding.ids.len()];
    all[part.start..part.end].copy_from_slice(&places);
    all
}

fn is_plain(text: &str, options: &EncodeOptions) -> bool {
    options.choice == Choice::Best
        && options.truncation.is_none()
        && !matches!(options.special, SpecialPolicy::Trusted(_))
        && u32::try_from(text.len()).is_ok()
}
