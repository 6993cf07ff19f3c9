//! llama.cpp's decoder: each token is its text, and the whole may be tidied.
//!
//! Source: `detokenize` of llama.cpp.

use crate::spec::{LlamaCppDecoder, LlamaCppSpelling, PieceKind};
use crate::text::alphabet;

use super::steps::fallback_byte;

/// What [`clean`] replaces, in order: one rule at a time has the same result as its three passes,
/// since what one of them drops a blank before is no blank.
pub(super) const CLEAN: [(&str, &str); 9] = [
    (" ?", "?"),
    (" !", "!"),
    (" .", "."),
    (" ,", ","),
    (" ' ", "'"),
    (" 's", "'s"),
    (" 'm", "'m"),
    (" 're", "'re"),
    (" 've", "'ve"),
];

/// A text that is being decoded.
pub(super) struct Run<'a> {
    rules: &'a LlamaCppDecoder,
    text: Vec<u8>,
    first: bool,
}

impl<'a> Run<'a> {
    pub(super) fn new(rules: &'a LlamaCppDecoder) -> Self {
        Self { rules, text: Vec::new(), first: true }
    }

    /// Goes on with a text, in which `first` says whether no token came yet.
    pub(super) fn resume(rules: &'a LlamaCppDecoder, first: bool) -> Self {
        Self { rules, text: Vec::new(), first }
    }

    /// The bytes that came since it was resumed.
    pub(super) fn into_text(self) -> Vec<u8> {
        self.text
    }

    /// Passes over a token.
    pub(super) fn skip(&mut self) {
        self.first = false;
    }

    /// Appends a token that is matched in the text, as it is spelled.
    pub(super) fn push_added(&mut self, content: &str) {
        self.append(content.as_bytes().to_vec());
    }

    /// Appends a token of the vocabulary.
    pub(super) fn push(&mut self, id: u32, token: &[u8]) {
        let kind = self.rules.kinds.get(id as usize).copied().unwrap_or_default();
        let text = match (self.rules.spelling, kind) {
            (LlamaCppSpelling::Bytes, _) => token.to_vec(),
            (_, PieceKind::Byte) => fallback_byte(token).map_or(Vec::new(), |byte| vec![byte]),
            (_, PieceKind::Unused) => Vec::new(),
            (LlamaCppSpelling::ByteAlphabet, _) => alphabet_bytes(token),
            (LlamaCppSpelling::Marks, _) => unmarked(token),
        };
        self.append(text);
    }

    fn append(&mut self, text: Vec<u8>) {
        let strip = self.first && self.rules.strip_first_blank;
        let rest = if strip { text.strip_prefix(b" ") } else { None };
        self.text.extend_from_slice(rest.unwrap_or(&text));
        self.first = false;
    }

    /// The bytes of the text.
    pub(super) fn finish(self) -> Vec<u8> {
        if self.rules.clean_spaces { clean(self.text) } else { self.text }
    }
}

/// The bytes of a token of the vocabulary that other text stands before and after.
pub(super) fn inside(rules: &LlamaCppDecoder, id: u32, token: &[u8]) -> Vec<u8> {
    let mut run = Run { rules, text: Vec::new(), first: false };
    run.push(id, token);
    run.text
}

/// The bytes that a token stands for in the byte alphabet. A character that is not in it becomes a
/// note of its bytes and of the whole token.
fn alphabet_bytes(token: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(token.len());
    if alphabet::decode_into(token, &mut bytes) {
        return bytes;
    }
    for c in String::from_utf8_lossy(token).chars() {
        match alphabet::char_to_byte(c) {
            Some(byte) => bytes.push(byte),
            None => {
                bytes.extend_from_slice(b"[UNK_BYTE_0x");
                let mut spelled = [0; 4];
                for byte in c.encode_utf8(&mut spelled).bytes() {
                    bytes.extend_from_slice(format!("{byte:02x}").as_bytes());
                }
                bytes.extend_from_slice(token);
                bytes.push(b']');
            }
        }
    }
    bytes
}

/// Blanks for word marks.
fn unmarked(token: &[u8]) -> Vec<u8> {
    const MARK: &[u8] = "\u{2581}".as_bytes();
    let mut text = Vec::with_capacity(token.len());
    let mut rest = token;
    while let Some(at) = memchr::memmem::find(rest, MARK) {
        text.extend_from_slice(&rest[..at]);
        text.push(b' ');
        rest = &rest[at + MARK.len()..];
    }
    text.extend_from_slice(rest);
    text
}

/// Drops blanks before marks, around lone apostrophes and before some contractions: one pass each,
/// as what one pass drops is not there for the next.
fn clean(text: Vec<u8>) -> Vec<u8> {
    let before_mark = |text: &[u8], at: usize| {
        text[at - 1] == b' ' && matches!(text[at], b'?' | b'!' | b'.' | b',')
    };
    let text = drop_blanks(&text, before_mark);
    let text = drop_lone_apostrophes(text);
    drop_blanks(&text, |text, at| {
        if text[at - 1] != b' ' || text[at] != b'\'' {
            return false;
        }
        matches!(text[at + 1..], [b's' | b'm', ..] | [b'r', b'e', ..] | [b'v', b'e', ..])
    })
}

/// Drops the byte before each place that `is_before` names.
fn drop_blanks(text: &[u8], is_before: impl Fn(&[u8], usize) -> bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for (at, &byte) in text.iter().enumerate() {
        if at > 0 && is_before(text, at) {
            out.pop();
        }
        out.push(byte);
    }
    out
}

/// `a ' b` becomes `a'b`. The blank after it is gone for what follows.
fn drop_lone_apostrophes(mut text: Vec<u8>) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let byte = text[at];
        let lone =
            at > 0 && byte == b'\'' && text[at - 1] == b' ' && text.get(at + 1) == Some(&b' ');
        if lone {
            out.pop();
            text[at + 1] = 0;
            at += 1;
        }
        out.push(byte);
        at += 1;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tidying() {
        let clean = |text: &str| String::from_utf8_lossy(&clean(text.into())).into_owned();
        assert_eq!(clean("a , b . ? !c"), "a, b.?!c");
        assert_eq!(clean("a ' b ' c"), "a'b'c");
        assert_eq!(clean("it 's we 're I 'll don 't ' s"), "it's we're I 'll don 't's");
        assert_eq!(clean(" .'"), ".'");
        assert_eq!(clean(""), "");
    }
}
