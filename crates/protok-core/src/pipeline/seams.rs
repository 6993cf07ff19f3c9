//! Encoding a text part by part, and again where it changed.
//!
//! [`Pipeline::seams`] asks every stage whether it looks across [seams](crate::text::seam). Where
//! none does, the ids of a text are those of its parts, and after a change only the part around it
//! is encoded again. A pre-tokenizer's pattern proves it by its automaton: nothing goes on from a
//! letter to a blank, so that no match reaches over a seam or depends on what comes behind it.

use std::ops::Range;

use crate::encoding::Encoding;
use crate::error::Result;
use crate::model;
use crate::pretokenize::AtSeams;
use crate::text::seam;

use super::Pipeline;
use super::choice::Choice;
use super::encode::EncodeOptions;
use super::input::Stretch;

/// How a text is encoded part by part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seams {
    /// Whether the first piece of a part may get another mark than within a text: then the part is
    /// encoded from the seam before, and the tokens up to its own are left out.
    run_up: bool,
}

/// The bytes of a part, about. Twice that and the change is what an edit encodes.
const PART: usize = 256;

/// The bytes that are encoded at once where nothing but the number of tokens is wanted.
const COUNTED: usize = 4096;

/// Where seams of a text are, and how many tokens come before each: rising, about [`PART`] bytes
/// apart.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Index {
    places: Vec<(usize, usize)>,
}

/// A text after a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited {
    /// All ids of the text, without the template.
    pub ids: Vec<u32>,
    /// Where its seams are; none if it was encoded as a whole.
    pub index: Option<Index>,
    /// How many bytes of the text were encoded.
    pub encoded: usize,
}

/// What was known of a text before a change.
#[derive(Debug, Clone, Copy)]
pub struct Before<'a> {
    /// The text.
    pub text: &'a str,
    /// Its ids, without the template.
    pub ids: &'a [u32],
    /// Where its seams are; an append needs no index.
    pub index: Option<&'a Index>,
}

impl Pipeline {
    /// Whether texts can be encoded part by part.
    #[must_use]
    pub fn seams(&self) -> Option<Seams> {
        *self.seams.get_or_init(|| {
            let normalized = self.normalizer.blank_at_seams()?;
            let (at, blank, run_up) = self.pre_tokenizer.at_seams(normalized);
            let keeps = match at {
                AtSeams::Cuts => true,
                AtSeams::GoesOn => model::keeps_seams(&self.spec.model, &self.vocab, blank),
                AtSeams::Unknown => false,
            };
            (keeps && self.added.keep_seams(normalized)).then_some(Seams { run_up })
        })
    }

    fn seams_for(&self, options: &EncodeOptions) -> Option<Seams> {
        let best = options.choice == Choice::Best && options.truncation.is_none();
        self.seams().filter(|_| best)
    }

    /// Appends the ids of the bytes of `text` from one seam (or the start) to another (or the end),
    /// and returns how many bytes were read.
    fn encode_part(
        &self,
        text: &str,
        range: Range<usize>,
        seams: Seams,
        options: &EncodeOptions,
        out: &mut Vec<u32>,
    ) -> Result<usize> {
        let from = match range.start {
            start if seams.run_up => seam::before(text.as_bytes(), start).unwrap_or(0),
            start => start,
        };
        let encode = |range: Range<usize>, out: &mut Vec<u32>| {
            let part = Stretch::whole(text).part(range.start, range.end);
            self.with_scratch(&options.special, |scratch| {
                let mut sink = self.sink(Some(part.text), options, scratch)?;
                self.encode_raw(part, &options.special, &mut sink, out)
            })
        };
        let first = out.len();
        encode(from..range.end, out)?;
        if from < range.start {
            let mut before = Vec::new();
            encode(from..range.start, &mut before)?;
            out.drain(first..first + before.len());
            return Ok(range.end - from + range.start - from);
        }
        Ok(range.end - from)
    }

    /// Encodes a stretch in parts of about `size` bytes, and tells of each its end, the number of
    /// ids in `out`, and the bytes that were read, until `part` returns false.
    fn encode_parts(
        &self,
        text: &str,
        range: Range<usize>,
        (seams, size): (Seams, usize),
        options: &EncodeOptions,
        out: &mut Vec<u32>,
        mut part: impl FnMut(usize, usize, usize) -> bool,
    ) -> Result<()> {
        let mut start = range.start;
        while start < range.end {
            let end = seam::after(text.as_bytes(), start + size)
                .filter(|&seam| seam < range.end)
                .unwrap_or(range.end);
            let read = self.encode_part(text, start..end, seams, options, out)?;
            if !part(end, out.len(), read) {
                break;
            }
            start = end;
        }
        Ok(())
    }

    /// Where the seams of a text are, if its ids are known to be those of its parts.
    ///
    /// # Errors
    /// As [`Pipeline::encode_text`].
    pub fn index(&self, text: &str, ids: &[u32], options: &EncodeOptions) -> Result<Option<Index>> {
        let Some(seams) = self.seams_for(options) else { return Ok(None) };
        let (mut found, mut index) = (Vec::with_capacity(ids.len()), Index::default());
        let all = 0..text.len();
        self.encode_parts(text, all, (seams, PART), options, &mut found, |end, tokens, _| {
            index.places.push((end, tokens));
            true
        })?;
        index.places.pop();
        Ok((found == ids).then_some(index))
    }

    /// The ids of `text`, which was `before.text` and has `new_length` bytes in the place of the
    /// bytes `range` of that.
    ///
    /// # Errors
    /// As [`Pipeline::encode_text`].
    pub fn edit(
        &self,
        text: &str,
        before: Before<'_>,
        range: Range<usize>,
        new_length: usize,
        options: &EncodeOptions,
    ) -> Result<Edited> {
        let appends = range.start == before.text.len();
        let seams = match (self.seams_for(options), before.index) {
            (Some(seams), Some(_)) => Some(seams),
            (seams, None) if appends => seams,
            _ => None,
        };
        let Some(seams) = seams else { return self.encode_whole(text, options) };
        let mut encoded = 0;
        let (left, right) = match before.index {
            Some(index) => index.around(before.text.len(), before.ids.len(), &range),
            None => {
                let at = seam::before(before.text.as_bytes(), range.start).unwrap_or(0);
                let mut tail = Vec::new();
                let old = before.text;
                encoded += self.encode_part(old, at..old.len(), seams, options, &mut tail)?;
                let left = before.ids.len().saturating_sub(tail.len());
                if before.ids[left..] != tail {
                    return self.encode_whole(text, options);
                }
                ((at, left), (old.len(), before.ids.len()))
            }
        };
        let end = text.len() - (before.text.len() - right.0);
        let mut ids = Vec::with_capacity(before.ids.len() + new_length);
        ids.extend_from_slice(&before.ids[..left.1]);
        let mut places = Vec::new();
        self.encode_parts(
            text,
            left.0..end,
            (seams, PART),
            options,
            &mut ids,
            |at, tokens, read| {
                places.push((at, tokens));
                encoded += read;
                true
            },
        )?;
        let tokens = ids.len();
        ids.extend_from_slice(&before.ids[right.1..]);
        let index = before.index.map(|index| index.spliced(&left, &right, places, (end, tokens)));
        Ok(Edited { ids, index, encoded })
    }

    fn encode_whole(&self, text: &str, options: &EncodeOptions) -> Result<Edited> {
        let mut ids = Vec::new();
        self.encode_text(text, options, &mut ids)?;
        Ok(Edited { ids, index: None, encoded: text.len() })
    }

    /// The encoding of one text with these ids: the template around them.
    ///
    /// # Errors
    /// As [`Pipeline::encode`].
    pub fn with_template(&self, ids: &[u32], options: &EncodeOptions) -> Result<Encoding> {
        self.assemble(1, options, |_, out| {
            out.extend_from_slice(ids);
            Ok(())
        })
    }

    /// The number of tokens of a text, or one more than `limit` as soon as it is known to have more.
    ///
    /// # Errors
    /// As [`Pipeline::encode_text`].
    pub fn count_up_to(&self, text: &str, limit: usize, options: &EncodeOptions) -> Result<usize> {
        let added = self.template.added(1, options.add_special_tokens);
        let mut ids = Vec::new();
        match self.seams_for(options) {
            None => self.encode_text(text, options, &mut ids)?,
            Some(seams) => {
                let size = COUNTED.min(limit.saturating_mul(4).max(PART));
                self.encode_parts(
                    text,
                    0..text.len(),
                    (seams, size),
                    options,
                    &mut ids,
                    |_, tokens, _| tokens + added <= limit,
                )?;
            }
        }
        Ok((ids.len() + added).min(limit.saturating_add(1)))
    }
}

impl Index {
    /// The places around a range that do not change with what is in it.
    fn around(
        &self,
        length: usize,
        tokens: usize,
        range: &Range<usize>,
    ) -> ((usize, usize), (usize, usize)) {
        let before = self.places.partition_point(|place| place.0 + 2 <= range.start);
        let after = self.places.partition_point(|place| place.0 < range.end + 1);
        let left = before.checked_sub(1).map_or((0, 0), |at| self.places[at]);
        let right = self.places.get(after).copied().unwrap_or((length, tokens));
        (left, right)
    }

    /// The index after what was between two places became what has the places `new`, and ends at
    /// `end`.
    fn spliced(
        &self,
        left: &(usize, usize),
        right: &(usize, usize),
        new: Vec<(usize, usize)>,
        end: (usize, usize),
    ) -> Self {
        let upto = self.places.partition_point(|place| place.0 <= left.0);
        let from = self.places.partition_point(|place| place.0 < right.0);
        let mut places = self.places[..upto].to_vec();
        places.extend(new.into_iter().filter(|place| place.0 < end.0));
        let moved = self.places[from..]
            .iter()
            .map(|place| (place.0 - right.0 + end.0, place.1 - right.1 + end.1));
        places.extend(moved);
        Self { places }
    }
}
