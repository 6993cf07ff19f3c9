//! How pieces and tokens spell text: by characters, in GPT-2's byte alphabet, or as raw bytes.

use std::borrow::Cow;

use super::bpe::symbols::Unit;
use crate::text::alphabet;

impl Unit {
    /// The bytes of a piece that a token covers; none if no piece can hold them.
    #[must_use]
    pub fn read(self, token: &[u8]) -> Option<Cow<'_, [u8]>> {
        match self {
            Unit::Byte => Some(token.into()),
            Unit::Character => std::str::from_utf8(token).ok().map(|_| token.into()),
            Unit::AlphabetByte => {
                std::str::from_utf8(token).ok().and_then(alphabet::decode).map(Cow::Owned)
            }
        }
    }

    /// A stretch of a piece as the vocabulary spells it.
    pub(super) fn spell(self, piece: &[u8]) -> Cow<'_, [u8]> {
        match self {
            Unit::Byte | Unit::Character => piece.into(),
            Unit::AlphabetByte => {
                let text: String =
                    piece.iter().map(|&byte| alphabet::BYTE_TO_CHAR[byte as usize]).collect();
                Cow::Owned(text.into_bytes())
            }
        }
    }

    /// The bytes of the unit that a piece starts with.
    #[inline]
    pub(super) fn width(self, piece: &[u8]) -> usize {
        match self {
            Unit::Byte | Unit::AlphabetByte => 1,
            Unit::Character => {
                let width = match piece.first() {
                    None | Some(0..0xC0) => 1,
                    Some(0xC0..0xE0) => 2,
                    Some(0xE0..0xF0) => 3,
                    Some(0xF0..) => 4,
                };
                width.min(piece.len())
            }
        }
    }

    /// Whether a piece has more than so many units. Looks at no more of it than that takes.
    pub(super) fn exceeds(self, piece: &[u8], units: usize) -> bool {
        if piece.len() <= units {
            return false;
        }
        match self {
            Unit::Byte | Unit::AlphabetByte => true,
            Unit::Character => {
                piece.iter().filter(|&&byte| byte & 0xC0 != 0x80).nth(units).is_some()
            }
        }
    }
}
