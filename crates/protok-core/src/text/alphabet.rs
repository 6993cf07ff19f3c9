//! GPT-2's byte alphabet: a printable character for each of the 256 bytes.
//!
//! Bytes that Latin-1 prints keep their character; the other 68 get U+0100 onwards in order.
//! Source: `bytes_to_unicode` in the `encoder.py` that OpenAI published with GPT-2.

use super::edits::Edits;

/// The character for each byte.
pub const BYTE_TO_CHAR: [char; 256] = build();

const fn is_printed(byte: u32) -> bool {
    (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE
}

const fn build() -> [char; 256] {
    let mut table = ['\0'; 256];
    let (mut byte, mut next) = (0, 0x100);
    while byte < 256 {
        let code = if is_printed(byte) {
            byte
        } else {
            next += 1;
            next - 1
        };
        table[byte as usize] = match char::from_u32(code) {
            Some(c) => c,
            None => panic!("a code point below U+0200 is a character"),
        };
        byte += 1;
    }
    table
}

/// The byte that `c` stands for, if it is in the alphabet.
#[must_use]
pub fn char_to_byte(c: char) -> Option<u8> {
    let code = c as u32;
    match code {
        0x21..=0x7E | 0xA1..=0xAC | 0xAE..=0xFF => u8::try_from(code).ok(),
        0x100..=0x120 => u8::try_from(code - 0x100).ok(),
        0x121..=0x142 => u8::try_from(code - 0x121 + 0x7F).ok(),
        0x143 => Some(0xAD),
        _ => None,
    }
}

/// The bytes that a token spelled in the alphabet stands for, if all of it is.
#[must_use]
pub fn decode(token: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(token.len());
    decode_into(token.as_bytes(), &mut bytes).then_some(bytes)
}

/// Appends the bytes that a token spelled in the alphabet stands for, or nothing if not all of it
/// is. Vocabularies are long, so the characters are told apart by their bytes: each has one or two.
#[must_use]
pub fn decode_into(token: &[u8], out: &mut Vec<u8>) -> bool {
    let before = out.len();
    let mut rest = token;
    loop {
        let code = match *rest {
            [] => return true,
            [first @ 0x21..=0x7E, ..] => u32::from(first),
            [first @ 0xC2..=0xC5, second @ 0x80..=0xBF, ..] => {
                u32::from(first & 0x1F) << 6 | u32::from(second & 0x3F)
            }
            _ => u32::MAX,
        };
        let Some(byte) = char::from_u32(code).and_then(char_to_byte) else {
            out.truncate(before);
            return false;
        };
        out.push(byte);
        rest = &rest[usize::from(code >= 0x80) + 1..];
    }
}

/// Spells bytes in the alphabet.
#[must_use]
pub fn encode(bytes: &[u8]) -> String {
    bytes.iter().map(|&byte| BYTE_TO_CHAR[byte as usize]).collect()
}

/// Spells a text in the alphabet. All characters that spell one came from the whole of it.
pub fn spell(text: &str, edits: &mut Edits) {
    for (start, c) in text.char_indices() {
        if !matches!(c, '!'..='~') {
            let end = start + c.len_utf8();
            let bytes = &text.as_bytes()[start..end];
            edits.replace_chars(start, end, bytes.iter().map(|&byte| BYTE_TO_CHAR[byte as usize]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_comes_back() {
        for byte in 0..=255u8 {
            assert_eq!(char_to_byte(BYTE_TO_CHAR[byte as usize]), Some(byte));
        }
        assert_eq!(encode(" Ã".as_bytes()), "ĠÃĥ");
        assert_eq!(decode("Ġ世"), None);
        let mut bytes = vec![7];
        assert!(decode_into("ĠÃĥ".as_bytes(), &mut bytes));
        assert_eq!(bytes, [7, b' ', 0xC3, 0x83]);
        for other in [&b"a\xFF"[..], b"a\xC4", b"a\xC4a", b"a b", "aŃń".as_bytes()] {
            assert!(!decode_into(other, &mut bytes), "{other:?}");
            assert_eq!(bytes.len(), 4, "{other:?}");
        }
    }
}
