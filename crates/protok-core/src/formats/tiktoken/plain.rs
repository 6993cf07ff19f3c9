//! Rank files in the form that nearly all have: canonical base64, a blank and a rank, line by line
//! with rising ranks and no token twice. Any other file is none here, and left to the reader that
//! does as Python does.

use crate::spec::TokenList;
use crate::vocab::TokenIndex;

const NONE: u8 = 64;

/// What each character of base64 stands for.
const VALUES: [u8; 256] = {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut values = [NONE; 256];
    let mut value = 0;
    while value < 64 {
        values[alphabet[value as usize] as usize] = value;
        value += 1;
    }
    values
};

/// Reads a rank file.
pub(super) fn ranks(bytes: &[u8]) -> Option<TokenList> {
    let mut tokens = TokenList::with_capacity(bytes.len() / 16, bytes.len() / 2);
    let mut token = Vec::new();
    let mut rest = bytes;
    let mut lowest = 0;
    while !rest.is_empty() {
        token.clear();
        rest = base64(rest, &mut token)?.strip_prefix(b" ")?;
        let (rank, after) = number(rest)?;
        if rank < lowest {
            return None;
        }
        lowest = rank.checked_add(1)?;
        tokens.push(&token, rank).ok()?;
        rest = match after {
            [b'\n', after @ ..] => after,
            [] => after,
            _ => return None,
        };
    }
    let mut index = TokenIndex::with_capacity(tokens.len());
    for (entry, (token, _)) in (0u32..).zip(tokens.iter()) {
        index.insert(token, entry, |entry| tokens.bytes(entry as usize));
    }
    (index.len() == tokens.len()).then_some(tokens)
}

/// Decodes one or more groups of four characters, the last of which may be padded; returns what
/// comes after.
fn base64<'a>(mut text: &'a [u8], token: &mut Vec<u8>) -> Option<&'a [u8]> {
    loop {
        let (&[a, b, c, d], after) = text.split_first_chunk()?;
        let [a, b, c_value, d_value] = [a, b, c, d].map(|byte| VALUES[usize::from(byte)]);
        if a == NONE || b == NONE {
            return None;
        }
        token.push(a << 2 | b >> 4);
        match (c_value, d_value) {
            (NONE, _) if [c, d] == *b"==" => return Some(after),
            (NONE, _) => return None,
            (_, NONE) if d != b'=' => return None,
            _ => token.push(b << 4 | c_value >> 2),
        }
        if d_value == NONE {
            return Some(after);
        }
        token.push(c_value << 6 | d_value);
        if after.first() == Some(&b' ') {
            return Some(after);
        }
        text = after;
    }
}

/// A number of 32 bits, and what comes after.
fn number(text: &[u8]) -> Option<(u32, &[u8])> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, after) = text.split_at(digits);
    if digits.is_empty() || digits.len() > 10 {
        return None;
    }
    let value = digits.iter().fold(0u64, |value, digit| value * 10 + u64::from(digit - b'0'));
    Some((u32::try_from(value).ok()?, after))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::general_ranks;
    use super::*;
    use base64::Engine as _;
    use proptest::prelude::*;

    #[test]
    fn other_forms_are_left_to_the_general_reader() {
        assert_eq!(ranks(b"YQ== 0\nYWI= 1\nYWJj 7\nYWJjZA== 8\n").unwrap().len(), 4);
        assert_eq!(ranks(b"YQ== 00").unwrap().len(), 1);
        assert!(ranks(b"").unwrap().is_empty());
        for text in [
            "= 0",
            "YQ=== 0",
            "YQ 0",
            "YQ=a 0",
            "YQ==\t0",
            "YQ== 0\r\n",
            "\nYQ== 0",
            "YQ== 0\n\n",
            "YQ== 1\nYg== 0",
            "YQ== 0\nYQ== 1",
            "YQ== 0\nYg== 0",
            "YQ== ",
            "YQ== x",
            "YQ== -1",
            "YQ== 4294967296",
            "YQ== 0 0",
            "Y*Q= 0",
            " 0",
            "YQ==YQ== 0",
        ] {
            assert!(ranks(text.as_bytes()).is_none(), "{text}");
        }
    }

    proptest! {
        /// Whatever is read here is read the same by the general reader.
        #[test]
        fn agrees_with_the_general_reader(
            tokens in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..7), 0..12),
            step in 0u32..3,
            damage in prop::option::of((0usize..60, any::<u8>())),
        ) {
            let mut file = Vec::new();
            for (token, rank) in tokens.iter().zip(0..) {
                let text = base64::engine::general_purpose::STANDARD.encode(token);
                file.extend(format!("{text} {}\n", rank * step).bytes());
            }
            if let Some((at, byte)) = damage
                && let Some(place) = file.get_mut(at)
            {
                *place = byte;
            }
            if let Some(read) = ranks(&file) {
                prop_assert_eq!(read, general_ranks(&file).unwrap());
            }
        }
    }
}
