//! Short words by their bytes: a hash table whose entries hold them, so that a look-up goes to one
//! place in memory.

use crate::memory::{Region, prefetch};

/// The longest word that fits in a key.
pub(super) const LONGEST: usize = 15;

/// The bytes of a short word, and in the last one its length; what else is there is up to the caller.
/// The upper half is never zero.
pub(super) type Key = u128;

/// Numbers by keys.
#[derive(Debug)]
pub(super) struct Shorts {
    /// A power of two of them. In pages of its own, since a table that grows leaves holes else.
    slots: Region<Slot>,
    used: usize,
}

/// A key in two halves, zero in an empty slot, and its number.
type Slot = [u64; 3];

impl Default for Shorts {
    fn default() -> Self {
        Self { slots: Region::zeroed(0), used: 0 }
    }
}

impl Clone for Shorts {
    fn clone(&self) -> Self {
        let mut slots = Region::zeroed(self.slots.len());
        slots.copy_from_slice(&self.slots);
        Self { slots, used: self.used }
    }
}

/// The key of `text[start..end]`, if that is short and not empty.
#[inline]
pub(super) fn key(text: &[u8], start: usize, end: usize) -> Option<Key> {
    let length = end - start;
    if length > LONGEST || length == 0 {
        return None;
    }
    let unused = 8 * (16 - length);
    let bytes = if let Some(chunk) = text[..end].last_chunk::<16>() {
        u128::from_le_bytes(*chunk) >> unused
    } else if let Some(chunk) = text[start..].first_chunk::<16>() {
        u128::from_le_bytes(*chunk) << unused >> unused
    } else {
        let mut chunk = [0; 16];
        chunk[..length].copy_from_slice(&text[start..end]);
        u128::from_le_bytes(chunk)
    };
    Some(bytes | (length as u128) << 120)
}

/// Mixes a key; the high bits are the best.
#[inline]
pub(super) fn mix(key: Key) -> u64 {
    let (low, high) = (key as u64, (key >> 64) as u64);
    (low.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(32) ^ high)
        .wrapping_mul(0xF135_7AEA_2E62_A9C5)
}

fn halves(key: Key) -> [u64; 2] {
    [key as u64, (key >> 64) as u64]
}

impl Shorts {
    /// How many keys there are.
    pub(super) fn len(&self) -> usize {
        self.used
    }

    /// The bytes that are allocated.
    pub(super) fn allocated(&self) -> usize {
        self.slots.len() * size_of::<Slot>()
    }

    #[inline]
    fn place(&self, key: Key) -> usize {
        // Two slots at least, so that the shift is less than the bits.
        (mix(key) >> (u64::BITS - self.slots.len().trailing_zeros())) as usize
    }

    /// Has the place of a key brought near.
    #[inline]
    pub(super) fn prefetch(&self, key: Key) {
        if !self.slots.is_empty() {
            prefetch(&self.slots, self.place(key));
        }
    }

    /// The number of a key.
    #[inline]
    pub(super) fn find(&self, key: Key) -> Option<u32> {
        if self.slots.is_empty() {
            return None;
        }
        let mask = self.slots.len() - 1;
        let mut place = self.place(key);
        loop {
            let [low, high, number] = self.slots[place & mask];
            if [low, high] == halves(key) {
                return Some(number as u32);
            }
            if high == 0 {
                return None;
            }
            place += 1;
        }
    }

    /// Puts a key in that is not there.
    pub(super) fn insert(&mut self, key: Key, number: u32) {
        if self.used * 3 >= self.slots.len() * 2 {
            let size = (self.slots.len() * 2).max(64);
            let old = std::mem::replace(&mut self.slots, Region::zeroed(size));
            old.iter().filter(|slot| slot[1] != 0).for_each(|&slot| self.put(slot));
        }
        let [low, high] = halves(key);
        self.put([low, high, number.into()]);
        self.used += 1;
    }

    fn put(&mut self, slot: Slot) {
        let mask = self.slots.len() - 1;
        let mut place = self.place(u128::from(slot[0]) | u128::from(slot[1]) << 64);
        while self.slots[place & mask][1] != 0 {
            place += 1;
        }
        self.slots[place & mask] = slot;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_the_bytes_wherever_they_stand() {
        let word = b"abcdefghijklmno";
        for length in 1..=LONGEST {
            let alone = key(&word[..length], 0, length);
            let padded = [b"0123456789abcdef", &word[..length], b"0123456789abcdef"].concat();
            assert_eq!(key(&padded, 16, 16 + length), alone);
            assert_eq!(key(&padded[16..], 0, length), alone);
            assert_eq!(key(&padded[..16 + length], 16, 16 + length), alone);
        }
        assert_eq!(key(word, 3, 3), None);
        assert_eq!(key(b"abcdefghijklmnop", 0, 16), None);
        assert_ne!(key(b"a", 0, 1), key(b"a\0", 0, 2));
    }

    #[test]
    fn a_table_finds_what_was_put_in() {
        let mut table = Shorts::default();
        let keys: Vec<Key> = (0..5000u32)
            .filter_map(|i| {
                let word = format!("w{i}");
                key(word.as_bytes(), 0, word.len())
            })
            .collect();
        let keys: std::collections::BTreeSet<Key> = keys.into_iter().collect();
        for (number, &key) in (0..).zip(&keys) {
            assert_eq!(table.find(key), None);
            table.insert(key, number);
        }
        assert_eq!(table.len(), keys.len());
        assert!((0..).zip(&keys).all(|(number, &key)| table.find(key) == Some(number)));
    }
}
