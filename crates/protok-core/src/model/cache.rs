//! The cache of pieces that were encoded before.
//!
//! Fixed size, two places a bucket: a new piece takes the first place, what stood there moves
//! to the second, what stood there is forgotten. Entries are written only after a piece was
//! encoded, so a hit is what encoding would give. There is no growth, no rehashing, and nothing
//! that crafted pieces could slow down.
//!
//! There are two tables: one for pieces up to 15 bytes that become four tokens at most, two entries
//! to a line of the processor's cache; and one for those up to 47 bytes and twenty tokens. Longer
//! ones are not kept.
//!
//! [`encode_run`] looks up one piece after the other. Where pieces are known, nothing in it depends
//! on what they are but addresses, so that the processor works on several at a time.

use crate::error::Result;
use crate::memory::{Region, prefetch};
use crate::vocab::MAX_ID;

/// Where the number of tokens stands in the first of them, above the largest id.
const COUNT: u32 = MAX_ID.trailing_ones();

/// The table for short pieces: the words of 16 bytes of its keys, those that tokens stand in, and
/// both; and so many tokens.
type Short = Table<1, 1, 2>;
const FEW: usize = 4;

/// The same for long ones.
type Long = Table<3, 5, 8>;
const MANY: usize = 20;

/// See the [module](self).
#[derive(Debug)]
pub struct Cache {
    short: Short,
    long: Long,
    /// See [`Ids`].
    pending: Option<Box<Pending>>,
    expecting: bool,
}

#[derive(Debug)]
struct Table<const WORDS: usize, const TOKENS: usize, const BOTH: usize> {
    buckets: Region<[[u128; BOTH]; 2]>,
    shift: u32,
}

/// The bytes of a piece, zeros, and its length in the last byte.
pub(super) type Key<const WORDS: usize> = [u128; WORDS];

/// By length, the bits of a piece among those of 16 bytes.
static BITS: [u128; 17] = {
    let mut bits = [0; 17];
    let mut length = 1;
    while length <= 16 {
        bits[length] = u128::MAX >> (128 - 8 * length);
        length += 1;
    }
    bits
};

/// The key of the piece between two places of a text, if it has one.
#[inline]
pub(super) fn key<const WORDS: usize>(text: &[u8], start: usize, end: usize) -> Option<Key<WORDS>> {
    let length = end - start;
    if length == 0 || length >= 16 * WORDS {
        return None;
    }
    let mut key = [0; WORDS];
    let (words, _) = text[start..].as_chunks::<16>();
    if let Some(words) = words.first_chunk::<WORDS>() {
        for (at, (word, bytes)) in key.iter_mut().zip(words).enumerate() {
            let bits = BITS[length.saturating_sub(16 * at).min(16)];
            *word = u128::from_le_bytes(*bytes) & bits;
        }
    } else {
        for (word, bytes) in key.iter_mut().zip(text[start..end].chunks(16)) {
            let mut all = [0; 16];
            all[..bytes.len()].copy_from_slice(bytes);
            *word = u128::from_le_bytes(all);
        }
    }
    key[WORDS - 1] |= (length as u128) << 120;
    Some(key)
}

/// A number whose first bits depend on all of a key.
#[inline]
pub(super) fn mixed<const WORDS: usize>(key: &Key<WORDS>) -> u64 {
    key.iter().fold(0, |mixed: u64, &word| {
        let low = word as u64 ^ mixed ^ 0x9E37_79B9_7F4A_7C15;
        let high = (word >> 64) as u64 ^ 0xA24B_AED4_963E_E407;
        let product = u128::from(low) * u128::from(high);
        product as u64 ^ (product >> 64) as u64
    })
}

impl<const WORDS: usize, const TOKENS: usize, const BOTH: usize> Table<WORDS, TOKENS, BOTH> {
    /// A table of at most so many bytes (at least two buckets).
    fn new(bytes: usize) -> Self {
        const { assert!(WORDS + TOKENS == BOTH) };
        let bits = (bytes / size_of::<[[u128; BOTH]; 2]>()).max(2).ilog2();
        Self { buckets: Region::zeroed(1 << bits), shift: u64::BITS - bits }
    }

    fn empty() -> Self {
        Self { buckets: Region::zeroed(0), shift: u64::BITS - 1 }
    }

    #[inline]
    fn place(&self, key: &Key<WORDS>) -> usize {
        (mixed(key) >> self.shift) as usize
    }

    /// Appends the tokens of the piece between two places of a text, if they are known.
    #[inline]
    fn append<const MOST: usize>(
        &self,
        text: &[u8],
        start: usize,
        end: usize,
        out: &mut Vec<u32>,
    ) -> bool {
        let key = key(text, start, end);
        let bucket = key.as_ref().and_then(|key| self.buckets.get(self.place(key)));
        let entry = bucket.zip(key.as_ref()).and_then(|(bucket, key)| find(bucket, key));
        let Some(entry) = entry else { return false };
        let (tokens, count) = tokens::<MOST, BOTH>(entry);
        out.extend_from_slice(&tokens[..count.min(MOST)]);
        true
    }

    /// Remembers the tokens of a piece, so many.
    #[inline]
    fn put<const MOST: usize>(&mut self, key: &Key<WORDS>, tokens: &[u32; MOST], count: usize) {
        let place = self.place(key);
        let Some([first, second]) = self.buckets.get_mut(place) else { return };
        let mut entry = [0; BOTH];
        entry[..WORDS].copy_from_slice(key);
        let words: &mut [u32] = bytemuck::cast_slice_mut(&mut entry[WORDS..]);
        words.copy_from_slice(tokens);
        words[0] |= (count as u32) << COUNT;
        *second = *first;
        *first = entry;
    }
}

/// The entry of a piece in its bucket, if it is there.
#[inline]
fn find<'b, const WORDS: usize, const BOTH: usize>(
    [first, second]: &'b [[u128; BOTH]; 2],
    key: &Key<WORDS>,
) -> Option<&'b [u128; BOTH]> {
    // Which of the two it is cannot be guessed: there is no branch for it.
    let entry = std::hint::select_unpredictable(has(first, key), first, second);
    has(entry, key).then_some(entry)
}

/// Whether an entry has a key, without a branch for each word.
#[inline]
fn has<const WORDS: usize, const BOTH: usize>(entry: &[u128; BOTH], key: &Key<WORDS>) -> bool {
    entry.iter().zip(key).fold(0, |differing, (one, other)| differing | (one ^ other)) == 0
}

/// The tokens of an entry, and what else stands there; and how many there are.
#[inline]
fn tokens<const TOKENS: usize, const BOTH: usize>(entry: &[u128; BOTH]) -> ([u32; TOKENS], usize) {
    let mut tokens = [0; TOKENS];
    tokens.copy_from_slice(&bytemuck::cast_slice(entry)[4 * BOTH - TOKENS..]);
    let count = (tokens[0] >> COUNT) as usize;
    tokens[0] &= MAX_ID;
    (tokens, count)
}

impl Default for Cache {
    /// With no room.
    fn default() -> Self {
        let (short, long) = (Table::empty(), Table::empty());
        Self { short, long, pending: None, expecting: false }
    }
}

impl Cache {
    /// A cache of at most so many bytes (at least two buckets of each table).
    #[must_use]
    pub fn new(bytes: usize) -> Self {
        let (short, long) = (Table::new(bytes / 2), Table::new(bytes / 2));
        Self { short, long, ..Self::default() }
    }

    /// Whether it has room.
    #[must_use]
    pub fn has_room(&self) -> bool {
        !self.short.buckets.is_empty()
    }

    /// Says how many bytes of text come, before the first of them: for many, most of the cache will
    /// be used.
    pub fn expect(&mut self, bytes: usize) {
        if bytes >= LARGE && !std::mem::replace(&mut self.expecting, true) {
            self.short.buckets.expect_use();
            self.long.buckets.expect_use();
        }
    }

    /// Lends the room for ids on their way to a vector.
    #[inline]
    pub(crate) fn with_ids<R>(
        &mut self,
        out: &mut Vec<u32>,
        work: impl FnOnce(&mut Self, &mut Ids<'_>) -> R,
    ) -> R {
        let mut ids = Ids { pending: self.pending.take().unwrap_or_default(), out };
        let result = work(self, &mut ids);
        self.pending = Some(ids.pending);
        result
    }

    /// Appends the tokens of a piece, if they are known.
    #[inline]
    pub fn append(&self, piece: &[u8], out: &mut Vec<u32>) -> bool {
        self.append_part(piece, 0, piece.len(), out)
    }

    /// Appends the tokens of the piece between two places of a text, if they are known.
    #[inline]
    pub fn append_part(&self, text: &[u8], start: usize, end: usize, out: &mut Vec<u32>) -> bool {
        self.short.append::<FEW>(text, start, end, out)
            || self.long.append::<MANY>(text, start, end, out)
    }

    /// Remembers the tokens of a piece.
    #[inline]
    pub fn put(&mut self, piece: &[u8], tokens: &[u32]) {
        if let (Some(key), Some((tokens, count))) = (key(piece, 0, piece.len()), few(tokens)) {
            self.short.put::<FEW>(&key, &tokens, count);
        } else if let (Some(key), Some((tokens, count))) = (key(piece, 0, piece.len()), few(tokens))
        {
            self.long.put::<MANY>(&key, &tokens, count);
        }
    }
}

/// Where the tokens of pieces go: each is part of an entry of some words.
pub(crate) trait Tokens {
    /// Appends the tokens of an entry, so many, of a piece that starts at `start`.
    fn push<const WORDS: usize>(&mut self, entry: [u32; WORDS], count: usize, start: usize);

    /// Says that something else will be appended.
    fn flush(&mut self);

    /// How many tokens there are, after [`Self::flush`].
    fn count(&self) -> usize;

    /// An entry for the tokens from `first` on, which are those of a piece that starts at `start`,
    /// and how many they are; None if they do not fit. The first word is an id.
    fn entry<const WORDS: usize>(
        &self,
        first: usize,
        start: usize,
    ) -> Option<([u32; WORDS], usize)>;
}

/// As many ids as fit, in order.
fn few<const WORDS: usize>(ids: &[u32]) -> Option<([u32; WORDS], usize)> {
    let mut entry = [0; WORDS];
    entry.get_mut(..ids.len())?.copy_from_slice(ids);
    Some((entry, ids.len()))
}

/// Ids on their way to a vector, so that no piece asks it for room.
#[derive(Debug)]
pub(crate) struct Ids<'a> {
    pending: Box<Pending>,
    /// The vector.
    pub(crate) out: &'a mut Vec<u32>,
}

#[derive(Debug)]
struct Pending {
    ids: [u32; ROOM],
    count: usize,
}

impl Default for Pending {
    fn default() -> Self {
        Self { ids: [0; ROOM], count: 0 }
    }
}

const ROOM: usize = 1024;

impl Tokens for Ids<'_> {
    #[inline]
    fn push<const WORDS: usize>(&mut self, entry: [u32; WORDS], count: usize, _start: usize) {
        if self.pending.count > ROOM - WORDS {
            self.flush();
        }
        // All of the room of an entry is copied, whatever is in it.
        if let Some(room) = self.pending.ids[self.pending.count..].first_chunk_mut() {
            *room = entry;
        }
        self.pending.count += count;
    }

    #[inline]
    fn flush(&mut self) {
        self.out.extend_from_slice(&self.pending.ids[..self.pending.count]);
        self.pending.count = 0;
    }

    fn count(&self) -> usize {
        self.out.len()
    }

    #[inline]
    fn entry<const WORDS: usize>(
        &self,
        first: usize,
        _start: usize,
    ) -> Option<([u32; WORDS], usize)> {
        few(&self.out[first..])
    }
}

/// The bytes of text from which on most of a cache is used.
const LARGE: usize = 1 << 17;

/// So many pieces are brought near before the first is looked up.
const AHEAD: usize = 16;

/// Appends the ids of pieces that follow one another in `text`: the first starts at `start`,
/// and each ends at the next of `ends`. What a piece becomes that is not known `encode` appends,
/// which is told where it starts and ends.
///
/// # Errors
/// What `encode` returns.
#[inline]
pub(crate) fn encode_run(
    text: &[u8],
    start: usize,
    ends: &[usize],
    cache: &mut Cache,
    out: &mut Vec<u32>,
    mut encode: impl FnMut(usize, usize, &mut Vec<u32>) -> Result<()>,
) -> Result<()> {
    cache.with_ids(out, |cache, ids| {
        run(text, start, ends, cache, ids, |start, end, ids| encode(start, end, ids.out))
    })
}

/// As [`encode_run`], for any kind of tokens.
///
/// # Errors
/// What `encode` returns.
#[inline]
pub(crate) fn run<T: Tokens>(
    text: &[u8],
    mut start: usize,
    ends: &[usize],
    cache: &mut Cache,
    out: &mut T,
    mut encode: impl FnMut(usize, usize, &mut T) -> Result<()>,
) -> Result<()> {
    cache.expect(text.len());
    for ends in ends.chunks(AHEAD) {
        let mut keys = [([0], usize::MAX); AHEAD];
        let mut from = start;
        for (&end, slot) in ends.iter().zip(&mut keys) {
            if let Some(key) = key::<1>(text, from, end) {
                *slot = (key, cache.short.place(&key));
                prefetch(&cache.short.buckets, slot.1);
            }
            from = end;
        }
        for (&end, (short, place)) in ends.iter().zip(&keys) {
            let bucket = cache.short.buckets.get(*place);
            if let Some(entry) = bucket.and_then(|bucket| find(bucket, short)) {
                let (words, count) = tokens::<FEW, _>(entry);
                out.push(words, count, start);
                start = end;
                continue;
            }
            let long = key::<3>(text, start, end);
            let place = long.as_ref().map_or(usize::MAX, |key| cache.long.place(key));
            if let Some(bucket) = cache.long.buckets.get(place)
                && let Some(entry) = long.as_ref().and_then(|key| find(bucket, key))
            {
                let (words, count) = tokens::<MANY, _>(entry);
                out.push(words, count, start);
                start = end;
                continue;
            }
            out.flush();
            let first = out.count();
            encode(start, end, out)?;
            match out.entry(first, start).filter(|_| end - start < 16) {
                Some((entry, count)) => cache.short.put::<FEW>(short, &entry, count),
                None => {
                    if let (Some(long), Some((entry, count))) = (long, out.entry(first, start)) {
                        cache.long.put::<MANY>(&long, &entry, count);
                    }
                }
            }
            start = end;
        }
    }
    out.flush();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(i: u32) -> Vec<u32> {
        (0..1 + i % 23).map(|at| MAX_ID - i * 31 - at).collect()
    }

    #[test]
    fn what_was_put_comes_back_or_is_gone() {
        for bytes in [0, 64, 1000, 1 << 16] {
            let mut cache = Cache::new(bytes);
            let pieces: Vec<String> =
                (0..500u32).map(|i| format!("p{}", i * 7919).repeat(i as usize % 7 + 1)).collect();
            let mut hits = 0;
            for (i, piece) in (0..).zip(&pieces) {
                let tokens = tokens(i);
                cache.put(piece.as_bytes(), &tokens);
                let mut out = vec![7];
                let kept = cache.append(piece.as_bytes(), &mut out);
                assert_eq!(kept, piece.len() < 48 && tokens.len() <= MANY, "{piece}");
                assert_eq!(out[1..], if kept { tokens } else { Vec::new() });
            }
            for (i, piece) in (0..).zip(&pieces) {
                let mut out = Vec::new();
                if cache.append(piece.as_bytes(), &mut out) {
                    assert_eq!(out, tokens(i));
                    hits += 1;
                }
            }
            assert!(hits >= 1);
        }
    }

    #[test]
    fn keys_tell_pieces_apart() {
        assert_eq!(key::<1>(b"", 0, 0), None);
        assert_eq!(key::<1>(&[b'a'; 16], 0, 16), None);
        assert_eq!(key::<3>(&[b'a'; 48], 0, 48), None);
        assert_ne!(key::<1>(b"a", 0, 1), key::<1>(b"a\0", 0, 2));
        let text: Vec<u8> = (1..=100).collect();
        for (start, end) in (0..100).flat_map(|start| (start..=100).map(move |end| (start, end))) {
            let alone = &text[start..end];
            assert_eq!(key::<1>(&text, start, end), key(alone, 0, alone.len()));
            assert_eq!(key::<3>(&text, start, end), key(alone, 0, alone.len()));
        }
    }

    #[test]
    fn a_run_is_its_pieces() {
        let text: Vec<u8> = (0..5000u32).map(|at| (at * at / 7 % 5) as u8).collect();
        let mut cache = Cache::new(1 << 12);
        let encode = |start: usize, end: usize, out: &mut Vec<u32>| {
            out.extend(text[start..end].iter().map(|&byte| u32::from(byte)));
            out.push(MAX_ID);
            Ok(())
        };
        for most in [3, 17, 60] {
            let mut ends: Vec<usize> = (0..)
                .map(|i| i * i % most + 1)
                .scan(0, |end, length| {
                    *end += length;
                    Some(*end)
                })
                .take_while(|&end| end < text.len())
                .collect();
            ends.push(text.len());
            let mut expected = Vec::new();
            let mut start = 0;
            for &end in &ends {
                encode(start, end, &mut expected).unwrap_or_default();
                start = end;
            }
            for _ in 0..2 {
                let mut out = Vec::new();
                encode_run(&text, 0, &ends, &mut cache, &mut out, encode).unwrap_or_default();
                assert_eq!(out, expected);
            }
        }
    }
}
