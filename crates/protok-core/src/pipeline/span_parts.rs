//! Where the tokens of a part of a text came from, remembered.
//!
//! A part, as in [`parts`](super::parts), becomes the same wherever it stands: so does every place in
//! it, counted from where the part starts. What is known of parts is kept in a table of fixed size,
//! in which a new part takes the place of an old one, over lists that are emptied when one is full:
//! less than 16 MiB a thread in all. None of that shows in what is computed.

use std::hash::BuildHasher;
use std::ops::Range;

use rustc_hash::FxBuildHasher;

use crate::added_tokens::{Phase, SpecialPolicy};
use crate::error::Result;
use crate::pattern::Ends;
use crate::text::alignment::Run;

use super::Pipeline;
use super::encode::EncodeOptions;
use super::input::Stretch;
use super::parts::Joints;
use super::spans::{Spans, TokenSpan, Walk};

/// Longer parts are not kept, nor those that become longer: places in a part take one byte.
const LONGEST: usize = 255;
/// Parts whose hashes end alike: two are kept, the one that was asked for last in front.
const PAIRS: usize = 1 << 15;
/// The lists are emptied when one has as many entries as this, or four times as many bytes.
const MOST: usize = 1 << 18;

/// What is known of parts, under rules that have a number, see [`Pipeline::rules_for_parts`].
#[derive(Debug)]
pub(super) struct Parts {
    under: (bool, u8),
    pairs: Vec<[Known; 2]>,
    keys: Vec<u8>,
    tokens: Vec<Placed>,
    normalized: Vec<u8>,
    runs: Vec<[u8; 4]>,
    unknown: Vec<(u8, String)>,
}

/// A [`TokenSpan`] as if the text started with the part.
#[derive(Debug, Clone, Copy)]
struct Placed {
    id: u32,
    normalized: (u8, u8),
    original: (u8, u8),
    word: u8,
}

/// Where what is known of a part stands in the lists: where it starts, and how much it is. Of an
/// empty key nothing is known.
#[derive(Debug, Clone, Copy, Default)]
struct Known {
    key: (u32, u8),
    tokens: (u32, u8),
    normalized: (u32, u8),
    runs: (u32, u8),
    unknown: (u32, u8),
    words: u8,
}

fn range((start, length): (u32, u8)) -> Range<usize> {
    start as usize..start as usize + usize::from(length)
}

/// How much a walk had found.
#[derive(Debug, Clone, Copy)]
struct Before {
    tokens: usize,
    normalized: usize,
    runs: usize,
    unknown: usize,
    word: u32,
}

impl Before {
    fn of(walk: &Walk<'_>) -> Self {
        let Walk { spans, word, .. } = walk;
        Self {
            tokens: spans.tokens.len(),
            normalized: spans.normalized.len(),
            runs: spans.alignment.runs().len(),
            unknown: spans.unknown.len(),
            word: *word,
        }
    }
}

/// Appends to a list of the arena, and says where.
fn append<T>(
    list: &mut Vec<T>,
    new: impl ExactSizeIterator<Item = Option<T>>,
) -> Option<(u32, u8)> {
    let (start, length) = (u32::try_from(list.len()).ok()?, u8::try_from(new.len()).ok()?);
    for item in new {
        list.push(item?);
    }
    Some((start, length))
}

impl Parts {
    fn new(under: (bool, u8)) -> Self {
        Self {
            under,
            pairs: vec![Default::default(); PAIRS],
            keys: Vec::new(),
            tokens: Vec::new(),
            normalized: Vec::new(),
            runs: Vec::new(),
            unknown: Vec::new(),
        }
    }

    fn pair(part: &[u8]) -> usize {
        (FxBuildHasher.hash_one(part) >> 40) as usize % PAIRS
    }

    fn find(&mut self, part: &[u8]) -> Option<Known> {
        let pair = &mut self.pairs[Self::pair(part)];
        let is_it = |known: &Known| self.keys[range(known.key)] == *part;
        if is_it(&pair[0]) {
            return Some(pair[0]);
        }
        if !is_it(&pair[1]) {
            return None;
        }
        pair.swap(0, 1);
        Some(pair[0])
    }

    /// Appends what is known of a part that starts at byte `from`.
    fn append(&self, known: &Known, from: usize, spans: &mut Spans, word: u32) {
        let (base, first) = (spans.normalized.len(), spans.tokens.len());
        let place = |(start, end): (u8, u8), by| (usize::from(start) + by, usize::from(end) + by);
        spans.tokens.extend(self.tokens[range(known.tokens)].iter().map(|token| TokenSpan {
            id: token.id,
            normalized: place(token.normalized, base),
            original: place(token.original, from),
            word: word + u32::from(token.word),
        }));
        spans.normalized.extend_from_slice(&self.normalized[range(known.normalized)]);
        let runs = self.runs[range(known.runs)].iter();
        let runs = runs.map(|run| {
            let [start, end, from, to] = run.map(usize::from);
            Run { start, end, from, to }
        });
        spans.alignment.extend(runs, base, from);
        let unknown = self.unknown[range(known.unknown)].iter();
        spans.unknown.extend(unknown.map(|(at, text)| (first + usize::from(*at), text.clone())));
    }

    /// Keeps what a walk found in a part that starts at byte `from`, if all of it is small.
    fn keep(&mut self, part: &[u8], from: usize, (spans, word): (&Spans, u32), before: Before) {
        let bytes = self.keys.len().max(self.normalized.len());
        let entries = self.tokens.len().max(self.runs.len()).max(self.unknown.len());
        if entries.max(bytes / 4) > MOST {
            *self = Self::new(self.under);
        }
        if let Some(known) = self.stored(part, from, (spans, word), before) {
            let pair = &mut self.pairs[Self::pair(part)];
            pair[1] = std::mem::replace(&mut pair[0], known);
        }
    }

    fn stored(
        &mut self,
        part: &[u8],
        from: usize,
        (spans, word): (&Spans, u32),
        before: Before,
    ) -> Option<Known> {
        let small = |at: usize, by: usize| u8::try_from(at.checked_sub(by)?).ok();
        let base = before.normalized;
        let tokens = spans.tokens[before.tokens..].iter().map(|token| {
            let (start, end) = (token.normalized, token.original);
            Some(Placed {
                id: token.id,
                normalized: (small(start.0, base)?, small(start.1, base)?),
                original: (small(end.0, from)?, small(end.1, from)?),
                word: u8::try_from(token.word - before.word).ok()?,
            })
        });
        let runs = spans.alignment.runs()[before.runs..].iter().map(|run| {
            let (start, end) = (small(run.start, base)?, small(run.end, base)?);
            Some([start, end, small(run.from, from)?, small(run.to, from)?])
        });
        let unknown = spans.unknown[before.unknown..].iter();
        let unknown = unknown.map(|(at, text)| Some((small(*at, before.tokens)?, text.clone())));
        Some(Known {
            words: u8::try_from(word - before.word).ok()?,
            tokens: append(&mut self.tokens, tokens)?,
            runs: append(&mut self.runs, runs)?,
            unknown: append(&mut self.unknown, unknown)?,
            normalized: append(
                &mut self.normalized,
                spans.normalized[base..].iter().copied().map(Some),
            )?,
            key: append(&mut self.keys, part.iter().copied().map(Some))?,
        })
    }
}

impl Pipeline {
    /// What is known of parts, for a text of so many bytes, if it can be cut into any.
    pub(super) fn lend_parts(&self, bytes: usize, policy: &SpecialPolicy) -> Option<Parts> {
        let joints = self.joints(bytes, policy)?;
        // Pieces are counted. Where one goes on from part to part, an added token between would be in
        // the way.
        let between = joints.may_go_on() && self.searches_parts(policy);
        if between || !joints.cuts_are_known() {
            return None;
        }
        let plain = self.plain_model.is_some() && !policy.takes_pieces();
        let under = (plain, self.rules_for_parts(policy));
        let kept = self.idle_parts.try_lock().ok().and_then(|mut idle| idle.pop());
        Some(kept.filter(|parts| parts.under == under).unwrap_or_else(|| Parts::new(under)))
    }

    /// Takes back what [`Self::lend_parts`] lent.
    pub(super) fn take_parts(&self, parts: Parts) {
        const MOST_IDLE: usize = 16;
        if let Ok(mut idle) = self.idle_parts.try_lock()
            && idle.len() < MOST_IDLE
        {
            idle.push(parts);
        }
    }

    /// Walks through a section part by part.
    pub(super) fn walk_parts(
        &self,
        section: Stretch<'_>,
        options: &EncodeOptions,
        walk: &mut Walk<'_>,
    ) -> Result<()> {
        let policy = &options.special;
        let Some(joints) = self.joints(section.text.len(), policy) else {
            return self.walk_section(section, false, options, walk);
        };
        if !self.normalizer.is_identity() {
            return self.walk_parts_of(section, joints, options, walk);
        }
        self.added.split(section.text, Phase::Normalized, policy, |found| {
            let part = section.section(found.start, found.end);
            match found.token {
                Some(id) => {
                    walk.push_added(id, part);
                    Ok(())
                }
                None => self.walk_parts_of(part, joints, options, walk),
            }
        })
    }

    fn walk_parts_of(
        &self,
        section: Stretch<'_>,
        joints: &Joints,
        options: &EncodeOptions,
        walk: &mut Walk<'_>,
    ) -> Result<()> {
        let text = section.text;
        let plain = self.normalizer.is_identity();
        let mut ends = Box::<Ends>::default();
        let (mut done, mut found) = (0, 0);
        while done < text.len() {
            ends.clear();
            if found < text.len() {
                found = self.find_ends(joints, text, found, &mut ends);
            }
            let last = (found == text.len() && ends.has_room()).then_some(text.len());
            for end in ends.places().iter().copied().chain(last) {
                let part = section.part(done, end);
                if done > 0 && joints.goes_on(text.as_bytes(), done) {
                    walk.word -= 1;
                }
                let at_an_end = done == 0 || end == text.len();
                let keeps = part.text.len() <= LONGEST && !(at_an_end && joints.ends_differ());
                self.walk_part(part, (plain, keeps), options, walk)?;
                done = end;
            }
        }
        Ok(())
    }

    fn walk_part(
        &self,
        part: Stretch<'_>,
        (plain, keeps): (bool, bool),
        options: &EncodeOptions,
        walk: &mut Walk<'_>,
    ) -> Result<()> {
        let bytes = part.text.as_bytes();
        if keeps
            && let Some(parts) = &mut walk.parts
            && let Some(known) = parts.find(bytes)
        {
            parts.append(&known, part.start, &mut walk.spans, walk.word);
            walk.word += u32::from(known.words);
            return Ok(());
        }
        let before = Before::of(walk);
        self.walk_section(part, plain, options, walk)?;
        if keeps && let Some(parts) = &mut walk.parts {
            parts.keep(bytes, part.start, (&walk.spans, walk.word), before);
        }
        Ok(())
    }
}
