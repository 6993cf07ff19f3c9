//! Encoding a text part by part, and remembering what parts became.
//!
//! Where every stage says that it does not look across the place before a blank or a newline that
//! follows a graphic ASCII character, a text may be cut at all such places, and what a part becomes
//! depends on nothing but its bytes. So it is looked up by them, before anything is normalized or cut
//! into pieces. That is what makes a normalizer, a chain of pre-tokenizers or a model without
//! pieces cost little on texts whose words come again.
//!
//! The first part and the last are encoded as they are: much is done at the ends of a text.

use std::sync::atomic::{AtomicU8, Ordering};

use crate::added_tokens::{Phase, SpecialPolicy};
use crate::error::Result;
use crate::model::cache::{self, Cache, Tokens};
use crate::model::{self, Scratch};
use crate::pattern::Ends;
use crate::pretokenize::AtSeams;
use crate::text::blocks::BLOCK;
use crate::text::seam::{STARTS, inks, starts};

use super::Pipeline;
use super::choice::Sink;
use super::input::Stretch;

/// Shorter texts do not ask where they could be cut for the first time.
const WORTH_ASKING: usize = 1024;

/// Between which bytes a text may be cut.
#[derive(Debug)]
pub(super) struct Joints {
    /// For each of [`STARTS`], by the byte before it.
    after: [[bool; 128]; 2],
    /// Likewise, whether a piece goes on there.
    goes_on: [[bool; 128]; 2],
    /// Whether that is certain, or else known only where it ends.
    cuts_are_known: bool,
    /// For each of [`STARTS`], whether a letter beyond ASCII may be before it.
    wide: [bool; 2],
    /// Of such letters in the first plane, what is known: a bit for each of [`STARTS`] that may
    /// follow, and [`ASKED`].
    letters: Box<[AtomicU8]>,
    /// Whether the first part and the last are no parts like others.
    ends_differ: bool,
    /// Whether added tokens may be looked for in normalized parts.
    keep_added: bool,
}

/// It is known what may follow a letter.
const ASKED: u8 = 4;

impl Joints {
    /// Whether the first part and the last are no parts like others.
    pub(super) fn ends_differ(&self) -> bool {
        self.ends_differ
    }

    /// Whether it is known of every place where a text is cut if a piece ends there as well.
    pub(super) fn cuts_are_known(&self) -> bool {
        self.cuts_are_known
    }

    /// Whether a piece may go on where a text is cut.
    pub(super) fn may_go_on(&self) -> bool {
        let both = self.after.as_flattened().iter().zip(self.goes_on.as_flattened());
        both.into_iter().any(|(&safe, &goes_on)| safe && goes_on)
    }

    /// Whether a piece goes on at a place where a text is cut.
    pub(super) fn goes_on(&self, text: &[u8], place: usize) -> bool {
        let kind = usize::from(text[place] == b'\n');
        // Behind letters beyond ASCII it is as behind this one.
        let before = text.get(place.wrapping_sub(1)).copied().filter(u8::is_ascii);
        self.goes_on[kind][usize::from(before.unwrap_or(b'a'))]
    }
}

impl Pipeline {
    /// Where texts may be cut before anything is done to them, if that helps.
    fn find_joints(&self) -> Option<Joints> {
        let mut joints = Joints {
            after: [[false; 128]; 2],
            goes_on: [[false; 128]; 2],
            cuts_are_known: true,
            wide: [false; 2],
            letters: Box::default(),
            keep_added: self.added.keep_joints(),
            ends_differ: self.normalizer.cares_for_ends() || self.pre_tokenizer.cares_for_ends(),
        };
        for (kind, &start) in STARTS.iter().enumerate() {
            let Some((becomes, blank)) = self.normalizer.joints(start) else { continue };
            let mut of_model = None;
            for ink in inks() {
                let Some(seen) = becomes[ink as usize] else { continue };
                let at = self.pre_tokenizer.at_joint(seen, blank);
                joints.after[kind][ink as usize] = match at {
                    Some((AtSeams::Cuts, _)) => true,
                    Some((AtSeams::GoesOn, blank)) if !self.pre_tokenizer.yields_bytes() => {
                        let (of, safe) = of_model.get_or_insert_with(|| {
                            (blank, model::joints(&self.spec.model, &self.vocab, blank))
                        });
                        *of == blank && safe.ascii[seen as usize]
                    }
                    _ => false,
                };
                let goes_on = matches!(at, Some((AtSeams::GoesOn, _)));
                joints.goes_on[kind][ink as usize] = goes_on;
                joints.cuts_are_known &= !joints.after[kind][ink as usize]
                    || !goes_on
                    || self.pre_tokenizer.never_cuts(seen, blank);
            }
            joints.wide[kind] = joints.after[kind][usize::from(b'a')]
                && self.normalizer.joins_wide(start)
                && self.pre_tokenizer.takes_letters_alike(blank)
                && of_model.is_none_or(|(_, safe)| safe.wide);
        }
        if joints.wide.contains(&true) {
            joints.letters = (0..1 << 16).map(|_| AtomicU8::new(0)).collect();
        }
        joints.after.iter().flatten().any(|&safe| safe).then_some(joints)
    }

    /// Whether a text may be cut behind a letter beyond ASCII, before one of [`STARTS`].
    fn joins_wide(&self, joints: &Joints, letter: char, kind: usize) -> bool {
        let Some(memory) = joints.letters.get(letter as usize) else { return false };
        let mut known = memory.load(Ordering::Relaxed);
        if known == 0 {
            known = ASKED;
            for (kind, start) in STARTS.iter().enumerate().filter(|&(kind, _)| joints.wide[kind]) {
                known |= u8::from(self.normalizer.keeps_letter(letter, *start)) << kind;
            }
            memory.store(known, Ordering::Relaxed);
        }
        known >> kind & 1 == 1
    }

    /// Appends the places where a text may be cut from `at` on, while there is room, and returns
    /// where to go on.
    pub(super) fn find_ends(
        &self,
        joints: &Joints,
        text: &str,
        mut at: usize,
        ends: &mut Ends,
    ) -> usize {
        let bytes = text.as_bytes();
        while at < bytes.len() && ends.has_room() {
            for (place, kind) in starts(bytes, at) {
                let safe = match joints.after[kind].get(usize::from(bytes[place - 1])) {
                    Some(&safe) => safe,
                    None if !joints.wide[kind] => false,
                    None => {
                        let letter = text[..place].chars().next_back();
                        letter.is_some_and(|letter| self.joins_wide(joints, letter, kind))
                    }
                };
                if safe {
                    ends.push(place);
                }
            }
            at += BLOCK;
        }
        at.min(bytes.len())
    }

    /// Where a text of so many bytes may be cut under a policy, if it is worth it.
    pub(super) fn joints(&self, bytes: usize, policy: &SpecialPolicy) -> Option<&Joints> {
        // Nothing is gained where the pieces of a text are as easily found as its parts.
        if self.pre_tokenizer.tiling().is_some() || matches!(policy, SpecialPolicy::Trusted(_)) {
            return None;
        }
        let joints = match self.joints.get() {
            None if bytes < WORTH_ASKING => return None,
            _ => self.joints.get_or_init(|| self.find_joints().map(Box::new)),
        };
        let searches = self.searches_parts(policy);
        let named = matches!(policy, SpecialPolicy::Named(_));
        joints.as_deref().filter(|joints| !searches || (joints.keep_added && !named))
    }

    /// Whether added tokens are looked for in parts: those that stand in normalized text.
    pub(super) fn searches_parts(&self, policy: &SpecialPolicy) -> bool {
        !self.normalizer.is_identity() && self.added.any(Phase::Normalized, policy)
    }

    /// At how many places a text may be cut before anything is done to it: those where every stage
    /// does the same to what is on either side, whatever is on the other.
    #[must_use]
    pub fn joints_in(&self, text: &str) -> usize {
        let Some(joints) = self.joints(text.len().max(WORTH_ASKING), &SpecialPolicy::Text) else {
            return 0;
        };
        let (mut ends, mut at, mut count) = (Ends::default(), 0, 0);
        while at < text.len() {
            ends.clear();
            at = self.find_ends(joints, text, at, &mut ends);
            count += ends.places().len();
        }
        count
    }

    /// A number for what a part becomes under a policy, which matters where added tokens may be in
    /// it.
    pub(super) fn rules_for_parts(&self, policy: &SpecialPolicy) -> u8 {
        match policy {
            _ if !self.searches_parts(policy) => 0,
            SpecialPolicy::Raise => 1,
            SpecialPolicy::Text => 2,
            _ => 3,
        }
    }

    /// Encodes a section part by part.
    pub(super) fn encode_parts_of(
        &self,
        section: Stretch<'_>,
        policy: &SpecialPolicy,
        (joints, scratch): (&Joints, &mut Scratch),
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let under = self.rules_for_parts(policy);
        let (mut cache, mut ends) = (scratch.lend_parts(under), scratch.lend_ends());
        let mut sink = Sink::Cached(scratch);
        let result = cache.with_ids(out, |cache, ids| {
            self.for_parts(section.text, joints, (cache, &mut ends), ids, |from, to, ids| {
                let part = section.part(from, to);
                match self.normalizer.is_identity() {
                    true => self.encode_plain(part, policy, &mut sink, ids.out),
                    false => self.encode_normalized(part, policy, &mut sink, ids.out),
                }
            })
        });
        let Sink::Cached(scratch) = sink else { return result };
        scratch.take_parts(cache);
        scratch.take_ends(ends);
        result
    }

    /// Appends the tokens of the parts of a text: those that are known, and what `encode` appends
    /// for the others, which is told where they start and end.
    pub(super) fn for_parts<T: Tokens>(
        &self,
        text: &str,
        joints: &Joints,
        (cache, ends): (&mut Cache, &mut Ends),
        out: &mut T,
        mut encode: impl FnMut(usize, usize, &mut T) -> Result<()>,
    ) -> Result<()> {
        let (mut done, mut found) = (0, 0);
        while found < text.len() {
            ends.clear();
            found = self.find_ends(joints, text, found, ends);
            if found == text.len() && !joints.ends_differ && ends.has_room() {
                ends.push(found);
            }
            let mut places = ends.places();
            if done == 0
                && joints.ends_differ
                && let Some((&first, others)) = places.split_first()
            {
                encode(0, first, out)?;
                (done, places) = (first, others);
            }
            let Some(&last) = places.last() else { continue };
            cache::run(text.as_bytes(), done, places, cache, out, &mut encode)?;
            done = last;
        }
        if done < text.len() { encode(done, text.len(), out) } else { Ok(()) }
    }
}
