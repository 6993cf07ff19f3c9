//! The cache of pieces that were merged before.
//!
//! Fixed size, two places a bucket: a new piece takes the first place, what stood there moves
//! to the second, what stood there is forgotten. Entries are written only after a piece was
//! merged, so a hit is what merging would give. Pieces over 15 bytes or four tokens are not kept.
//! There is no growth, no rehashing, and nothing that crafted pieces could slow down.

/// What a piece's tokens are stored in.
pub const TOKENS: usize = 4;

/// Pieces up to so many bytes can be kept.
pub const PIECE: usize = 15;

const NONE: u32 = u32::MAX;

#[derive(Debug, Clone, Copy)]
#[repr(C, align(32))]
struct Entry {
    key: u128,
    tokens: [u32; TOKENS],
}

const EMPTY: Entry = Entry { key: 0, tokens: [NONE; TOKENS] };

/// See the [module](self).
#[derive(Debug)]
pub struct Cache {
    entries: Box<[Entry]>,
    shift: u32,
}

/// A piece that can be cached, as a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key(u128);

impl Key {
    /// The key of a piece, if it is short enough.
    #[inline]
    #[must_use]
    pub fn of(piece: &[u8]) -> Option<Self> {
        let length = piece.len();
        if length > PIECE || length == 0 {
            return None;
        }
        let mut bytes = [0u8; 16];
        bytes[..length].copy_from_slice(piece);
        bytes[15] = length as u8;
        Some(Self(u128::from_le_bytes(bytes)))
    }
}

impl Cache {
    /// A cache of at most so many bytes (at least one bucket).
    #[must_use]
    pub fn new(bytes: usize) -> Self {
        let buckets = (bytes / (2 * size_of::<Entry>())).max(1);
        let buckets = 1usize << buckets.ilog2();
        Self {
            entries: vec![EMPTY; 2 * buckets].into_boxed_slice(),
            shift: 64 - buckets.trailing_zeros().max(1),
        }
    }

    #[inline]
    fn bucket(&self, key: Key) -> usize {
        let low = key.0 as u64;
        let high = (key.0 >> 64) as u64;
        let mixed = (low ^ high.rotate_left(23).wrapping_mul(0xA24B_AED4_963E_E407))
            .wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let bucket = (mixed >> self.shift) as usize * 2;
        bucket & (self.entries.len() - 2)
    }

    /// Appends the tokens of a piece, if they are known.
    #[inline]
    pub fn get(&self, key: Key, out: &mut Vec<u32>) -> bool {
        let bucket = self.bucket(key);
        for entry in &self.entries[bucket..bucket + 2] {
            if entry.key == key.0 {
                out.push(entry.tokens[0]);
                for &token in &entry.tokens[1..] {
                    if token == NONE {
                        break;
                    }
                    out.push(token);
                }
                return true;
            }
        }
        false
    }

    /// Remembers the tokens of a piece.
    #[inline]
    pub fn put(&mut self, key: Key, tokens: &[u32]) {
        if tokens.is_empty() || tokens.len() > TOKENS {
            return;
        }
        let mut entry = Entry { key: key.0, tokens: [NONE; TOKENS] };
        entry.tokens[..tokens.len()].copy_from_slice(tokens);
        let bucket = self.bucket(key);
        self.entries[bucket + 1] = self.entries[bucket];
        self.entries[bucket] = entry;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_comes_back_or_is_gone() {
        for bytes in [0, 64, 1000, 1 << 16] {
            let mut cache = Cache::new(bytes);
            let pieces: Vec<String> = (0..500u32).map(|i| format!("p{}", i * 7919)).collect();
            let mut hits = 0;
            for (i, piece) in pieces.iter().enumerate() {
                let key = Key::of(piece.as_bytes()).unwrap();
                cache.put(key, &[i as u32, 7]);
                let mut out = Vec::new();
                assert!(cache.get(key, &mut out));
                assert_eq!(out, [i as u32, 7]);
            }
            for (i, piece) in pieces.iter().enumerate() {
                let mut out = Vec::new();
                if cache.get(Key::of(piece.as_bytes()).unwrap(), &mut out) {
                    assert_eq!(out, [i as u32, 7]);
                    hits += 1;
                }
            }
            assert!(hits >= 1);
        }
        assert_eq!(Key::of(b""), None);
        assert_eq!(Key::of(&[b'a'; 16]), None);
        assert_ne!(Key::of(b"a"), Key::of(b"a\0"));
    }
}
