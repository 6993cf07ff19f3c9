//! What kind of byte stands where in a block, as one bit a place.

/// The bytes that are looked at together.
pub const BLOCK: usize = 64;

/// For each kind of byte, the places in a block that have it: bit 0 is the first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Masks {
    /// `A` to `Z`, `a` to `z`.
    pub letters: u64,
    /// `A` to `Z`.
    pub capitals: u64,
    /// `0` to `9`.
    pub digits: u64,
    /// The blank.
    pub blanks: u64,
    /// The tabulator.
    pub tabs: u64,
    /// Line feed and carriage return.
    pub newlines: u64,
    /// `'`.
    pub apostrophes: u64,
    /// Bytes of characters beyond ASCII, and all other control characters.
    pub others: u64,
}

impl Masks {
    /// Of a block.
    #[inline]
    #[must_use]
    pub fn of(block: &[u8; BLOCK]) -> Self {
        #[cfg(target_arch = "x86_64")]
        #[allow(unsafe_code)]
        // SAFETY: every x86-64 processor has SSE2.
        return unsafe { sse2::masks(block) };
        #[cfg(not(target_arch = "x86_64"))]
        return portable(block);
    }
}

/// The bits of [`KINDS`].
const LETTER: u8 = 1;
const CAPITAL: u8 = 2;
const DIGIT: u8 = 4;
const BLANK: u8 = 8;
const TAB: u8 = 16;
const NEWLINE: u8 = 32;
const APOSTROPHE: u8 = 64;
const OTHER: u8 = 128;

static KINDS: [u8; 256] = kinds();

const fn kinds() -> [u8; 256] {
    let mut kinds = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        kinds[byte] = match byte as u8 {
            b'A'..=b'Z' => LETTER | CAPITAL,
            b'a'..=b'z' => LETTER,
            b'0'..=b'9' => DIGIT,
            b' ' => BLANK,
            b'\t' => TAB,
            b'\n' | b'\r' => NEWLINE,
            b'\'' => APOSTROPHE,
            0..0x20 | 0x80.. => OTHER,
            _ => 0,
        };
        byte += 1;
    }
    kinds
}

/// The same on any machine.
#[cfg_attr(target_arch = "x86_64", allow(dead_code))]
fn portable(block: &[u8; BLOCK]) -> Masks {
    let mut masks = Masks::default();
    for (place, &byte) in block.iter().enumerate() {
        let kind = KINDS[usize::from(byte)];
        let bit = |of: u8| u64::from(kind & of != 0) << place;
        masks.letters |= bit(LETTER);
        masks.capitals |= bit(CAPITAL);
        masks.digits |= bit(DIGIT);
        masks.blanks |= bit(BLANK);
        masks.tabs |= bit(TAB);
        masks.newlines |= bit(NEWLINE);
        masks.apostrophes |= bit(APOSTROPHE);
        masks.others |= bit(OTHER);
    }
    masks
}

#[cfg(target_arch = "x86_64")]
mod sse2 {
    use std::arch::x86_64::{
        __m128i, _mm_cmpeq_epi8, _mm_min_epu8, _mm_movemask_epi8, _mm_or_si128, _mm_set_epi64x,
        _mm_set1_epi8, _mm_sub_epi8,
    };

    use super::{BLOCK, Masks};

    #[inline]
    #[target_feature(enable = "sse2")]
    pub(super) fn masks(block: &[u8; BLOCK]) -> Masks {
        let mut masks = Masks::default();
        let (quarters, _) = block.as_chunks::<16>();
        for (at, quarter) in quarters.iter().enumerate() {
            let bytes = load(quarter);
            let all = |byte: u8| _mm_set1_epi8(byte.cast_signed());
            let bits =
                |found: __m128i| u64::from(_mm_movemask_epi8(found).cast_unsigned()) << (16 * at);
            let is = |byte: u8| _mm_cmpeq_epi8(bytes, all(byte));
            let up_to =
                |value: __m128i, most: u8| _mm_cmpeq_epi8(_mm_min_epu8(value, all(most)), value);
            let from = |value: __m128i, first: u8| _mm_sub_epi8(value, all(first));
            let small = _mm_or_si128(bytes, all(0x20));
            let newlines = bits(_mm_or_si128(is(b'\n'), is(b'\r')));
            let tabs = bits(is(b'\t'));
            masks.letters |= bits(up_to(from(small, b'a'), 25));
            masks.capitals |= bits(up_to(from(bytes, b'A'), 25));
            masks.digits |= bits(up_to(from(bytes, b'0'), 9));
            masks.blanks |= bits(is(b' '));
            masks.apostrophes |= bits(is(b'\''));
            masks.tabs |= tabs;
            masks.newlines |= newlines;
            masks.others |= (bits(bytes) | bits(up_to(bytes, 0x1f))) & !tabs & !newlines;
        }
        masks
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    fn load(bytes: &[u8; 16]) -> __m128i {
        let both = u128::from_le_bytes(*bytes);
        _mm_set_epi64x(((both >> 64) as u64).cast_signed(), (both as u64).cast_signed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn both_ways_say_the_same(block in any::<[u8; BLOCK]>()) {
            prop_assert_eq!(Masks::of(&block), portable(&block));
        }
    }

    #[test]
    fn every_byte() {
        let bytes: Vec<u8> = (0..=255).collect();
        for &block in bytes.as_chunks::<BLOCK>().0 {
            assert_eq!(Masks::of(&block), portable(&block));
        }
    }
}
