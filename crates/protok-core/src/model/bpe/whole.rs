//! Pieces that are tokens themselves.
//!
//! A piece of up to 15 bytes is a number, and one load says whether it is a token and which. Such
//! a table for all tokens is a few megabytes, and most pieces that are no tokens are known as such
//! before it is touched: a bit for each of a few hashes says so. Longer tokens are looked up by
//! their hash.

use rustc_hash::FxHashSet;

use super::symbols::Unit;
use crate::error::Result;
use crate::memory::{Region, prefetch};
use crate::model::cache::{key, mixed};
use crate::text::alphabet;
use crate::vocab::Vocab;

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Whole {
    /// Keys and ids.
    slots: Region<Slot>,
    shift: u32,
    short: Filter,
    long: Filter,
    /// All tokens by the bytes of a piece, where the vocabulary spells them in another way, or not
    /// all of them count.
    index: Option<Vocab>,
}

type Slot = [u128; 2];

/// A set of hashes that may hold a few more than were put in.
#[derive(Debug)]
struct Filter {
    bits: Vec<u64>,
}

impl Filter {
    fn new(count: usize) -> Self {
        Self { bits: vec![0; (count / 8 + 1).next_power_of_two()] }
    }

    #[inline]
    fn holds(&self, hash: u64) -> bool {
        self.bits[(hash >> 6) as usize & (self.bits.len() - 1)] >> (hash & 63) & 1 == 1
    }

    fn insert(&mut self, hash: u64) {
        let place = (hash >> 6) as usize & (self.bits.len() - 1);
        self.bits[place] |= 1 << (hash & 63);
    }
}

/// The hash of a piece of 16 bytes or more.
#[inline]
fn long_hash(piece: &[u8]) -> u64 {
    let bytes = piece.first_chunk().map_or(0, |start| u128::from_le_bytes(*start));
    mixed(&[bytes]) ^ piece.len() as u64
}

/// A table whose tokens crowd together more than this is not used: some vocabularies may be made
/// to be slow.
const CROWDED: usize = 64;

/// The places of so many tokens are brought near before the first of them is written.
const AHEAD: usize = 32;

impl Whole {
    /// Of all tokens but those of `banned`, or of those of them that are `among` some.
    ///
    /// # Errors
    /// As [`Vocab::insert`].
    pub(super) fn compile(
        unit: Unit,
        vocab: &Vocab,
        banned: &FxHashSet<u32>,
        among: Option<fn(&[u8]) -> bool>,
    ) -> Result<Self> {
        let own = unit == Unit::AlphabetByte || !banned.is_empty() || among.is_some();
        let mut index = own.then(Vocab::default);
        let tokens = vocab.spellings().filter(|(_, token)| among.is_none_or(|among| among(token)));
        let count = tokens.count();
        let bits = (count * 8 / 7 + 2).next_power_of_two().trailing_zeros();
        // Tokens crowd together where most slots are taken.
        let mut crowded = count > (1 << bits) / 4 * 3;
        let mut whole = Self {
            slots: Region::zeroed(if crowded { 0 } else { 1 << bits }),
            shift: u64::BITS - bits,
            short: Filter::new(count),
            long: Filter::new(count),
            index: None,
        };
        whole.slots.expect_use();
        let mut decoded = Vec::new();
        let mut near = Vec::with_capacity(AHEAD);
        for (id, token) in vocab.spellings() {
            if banned.contains(&id) || among.is_some_and(|among| !among(token)) {
                continue;
            }
            decoded.clear();
            let token = match unit {
                Unit::Byte | Unit::Character => token,
                Unit::AlphabetByte if alphabet::decode_into(token, &mut decoded) => &decoded,
                Unit::AlphabetByte => continue,
            };
            if let Some(index) = &mut index {
                index.insert(token, id)?;
            }
            let Some([key]) = key::<1>(token, 0, token.len()) else {
                whole.long.insert(long_hash(token));
                continue;
            };
            let hash = mixed(&[key]);
            whole.short.insert(hash);
            if !crowded {
                prefetch(&whole.slots, (hash >> whole.shift) as usize);
                near.push((key, hash, id));
            }
            if near.len() == AHEAD {
                crowded |= !near.drain(..).all(|token| whole.insert(token));
            }
        }
        crowded |= !near.drain(..).all(|token| whole.insert(token));
        if crowded {
            // All may be there then, and is looked up by its hash.
            whole.slots = Region::zeroed(0);
            index.as_ref().unwrap_or(vocab).expect_look_ups();
        }
        whole.index = index;
        Ok(whole)
    }

    /// Puts a short token into the table; false if there is no room near its place.
    fn insert(&mut self, (key, hash, id): (u128, u64, u32)) -> bool {
        let mask = self.slots.len() - 1;
        let place = (hash >> self.shift) as usize;
        for at in place..place + CROWDED {
            let slot = &mut self.slots[at & mask];
            if slot[0] == 0 || slot[0] == key {
                *slot = [key, u128::from(id)];
                return true;
            }
        }
        false
    }

    /// The token that a piece is.
    #[inline]
    pub(super) fn id(&self, piece: &[u8], vocab: &Vocab) -> Option<u32> {
        if let Some(key) = key::<1>(piece, 0, piece.len())
            && let Some(mask) = self.slots.len().checked_sub(1)
        {
            let hash = mixed(&key);
            if !self.short.holds(hash) {
                return None;
            }
            let mut at = (hash >> self.shift) as usize;
            loop {
                let [found, id] = self.slots[at & mask];
                if found == key[0] {
                    return Some(id as u32);
                }
                if found == 0 {
                    return None;
                }
                at += 1;
            }
        }
        if piece.len() >= 16 && !self.long.holds(long_hash(piece)) {
            return None;
        }
        self.index.as_ref().unwrap_or(vocab).id(piece)
    }

    /// Whether some piece is the token `id`, which the vocabulary spells `token`.
    pub(super) fn holds(&self, id: u32, token: &[u8], vocab: &Vocab) -> bool {
        match &self.index {
            Some(index) => index.bytes(id).is_some(),
            None => vocab.id(token) == Some(id),
        }
    }

    /// Whether any of these is a token.
    pub(super) fn holds_any(&self, ids: &FxHashSet<u32>, vocab: &Vocab) -> bool {
        let index = self.index.as_ref().unwrap_or(vocab);
        ids.iter().any(|&id| index.bytes(id).is_some())
    }
}
