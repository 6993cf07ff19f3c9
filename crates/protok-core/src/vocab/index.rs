//! Tokens by their spelling: open addressing over entries that stand elsewhere.
//!
//! A slot holds the upper half of a spelling's hash and an entry. Its place is the first bits of
//! that half, so the table grows without hashing anything again, and the rest of it keeps all
//! but one in thousands of other spellings from being compared. What a look-up costs is waiting
//! for memory, so the table is as small as it can be. The hash has a seed of its own for each
//! table, so that no file can be made whose tokens all collide.

use std::hash::{BuildHasher, Hasher};

use foldhash::fast::RandomState;

use crate::memory::prefetch;

const EMPTY: u64 = u64::MAX;

/// The places of so many spellings are brought near before the first of them is written.
const AHEAD: usize = 32;

/// See the [module](self). Entries are numbers below [`u32::MAX`], whose spelling the caller knows.
#[derive(Debug, Default)]
pub(crate) struct TokenIndex {
    /// None, or a power of two of at least twice as many as there are spellings.
    slots: Vec<u64>,
    len: usize,
    hasher: RandomState,
}

impl TokenIndex {
    /// An index with room for so many spellings.
    pub(crate) fn with_capacity(tokens: usize) -> Self {
        let mut index = Self::default();
        if tokens > 0 {
            index.slots = vec![EMPTY; (tokens * 2).next_power_of_two()];
        }
        index
    }

    /// An index of so many spellings. Of two equal ones the last counts.
    pub(crate) fn of<'a>(tokens: usize, spelling: impl Fn(u32) -> &'a [u8]) -> Self {
        let mut index = Self::with_capacity(tokens);
        let mut halves = [0; AHEAD];
        let mut done = 0;
        while done < tokens {
            let count = AHEAD.min(tokens - done);
            for (half, entry) in halves.iter_mut().zip(done as u32..).take(count) {
                *half = index.half(spelling(entry));
                prefetch(&index.slots, Self::place(*half, index.slots.len()));
            }
            for (&half, entry) in halves.iter().zip(done as u32..).take(count) {
                index.insert_half(half, spelling(entry), entry, &spelling);
            }
            done += count;
        }
        index
    }

    /// The number of different spellings.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The upper half of a hash, as it stands in a slot.
    #[inline]
    fn half(&self, token: &[u8]) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        hasher.write(token);
        hasher.finish() >> 32
    }

    /// Where a spelling with this half of a hash would stand first.
    #[inline]
    fn place(half: u64, slots: usize) -> usize {
        ((half * slots as u64) >> 32) as usize
    }

    /// The entry of a spelling.
    #[inline]
    pub(crate) fn find<'a>(&self, token: &[u8], spelling: impl Fn(u32) -> &'a [u8]) -> Option<u32> {
        let half = self.half(token);
        let mut at = Self::place(half, self.slots.len());
        loop {
            let slot = *self.slots.get(at)?;
            if slot == EMPTY {
                return None;
            }
            let entry = slot as u32;
            if slot >> 32 == half && spelling(entry) == token {
                return Some(entry);
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
    }

    /// Lets a spelling lead to an entry, in place of the one that it led to.
    pub(crate) fn insert<'a>(
        &mut self,
        token: &[u8],
        entry: u32,
        spelling: impl Fn(u32) -> &'a [u8],
    ) {
        if (self.len + 1) * 2 > self.slots.len() {
            self.grow();
        }
        self.insert_half(self.half(token), token, entry, spelling);
    }

    #[inline]
    fn insert_half<'a>(
        &mut self,
        half: u64,
        token: &[u8],
        entry: u32,
        spelling: impl Fn(u32) -> &'a [u8],
    ) {
        let mask = self.slots.len() - 1;
        let mut at = Self::place(half, self.slots.len());
        loop {
            let slot = self.slots[at];
            if slot == EMPTY {
                self.len += 1;
                break;
            }
            if slot >> 32 == half && spelling(slot as u32) == token {
                break;
            }
            at = (at + 1) & mask;
        }
        self.slots[at] = half << 32 | u64::from(entry);
    }

    fn grow(&mut self) {
        let larger = vec![EMPTY; (self.slots.len() * 2).max(16)];
        let smaller = std::mem::replace(&mut self.slots, larger);
        let mask = self.slots.len() - 1;
        for slot in smaller.into_iter().filter(|&slot| slot != EMPTY) {
            let mut at = Self::place(slot >> 32, self.slots.len());
            while self.slots[at] != EMPTY {
                at = (at + 1) & mask;
            }
            self.slots[at] = slot;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn finds_the_last_entry_of_every_spelling() {
        let spellings: Vec<Vec<u8>> =
            (0..5000u32).map(|i| (i * i % 3001).to_string().into_bytes()).collect();
        let spelling = |entry: u32| spellings[entry as usize].as_slice();
        for at_once in [0, 10, 5000] {
            let mut index = TokenIndex::of(at_once, spelling);
            let mut last: HashMap<&[u8], u32> = HashMap::new();
            for (entry, token) in (0..).zip(&spellings) {
                if entry as usize >= at_once {
                    index.insert(token, entry, spelling);
                }
                last.insert(token, entry);
            }
            assert_eq!(index.len(), last.len());
            for (token, entry) in last {
                assert_eq!(index.find(token, spelling), Some(entry));
            }
            for absent in [&b""[..], b"x", b"3001", b"00"] {
                assert_eq!(index.find(absent, spelling), None);
            }
        }
        assert_eq!(TokenIndex::default().find(b"a", |_| b"a"), None);
    }
}
