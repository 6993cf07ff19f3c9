//! RWKV's vocabulary: an id, a token as a Python literal and its length in bytes on every line.
//!
//! Text is cut greedily into the longest tokens. There are no special tokens.
//!
//! Source: the tokenizer of rwkv 0.8.32.

use crate::error::{Error, Result};
use crate::spec::{Decoder, Greedy, Model, Semantics, Spec, TokenList};
use crate::vocab::SeededSet;

/// Reads a vocabulary.
///
/// # Errors
/// An artifact error with the line.
pub fn read(text: &str) -> Result<Spec> {
    let mut entries = Vec::new();
    let mut seen: SeededSet<Vec<u8>> = SeededSet::default();
    let mut ids = SeededSet::default();
    for (line, number) in text.lines().zip(1..) {
        let (id, token) = entry(line).map_err(|what| {
            Error::artifact(format!("line {number}"), format!("{what}."))
                .hint("Every line has an id, a Python literal and its length in bytes.")
        })?;
        if !ids.insert(id) || !seen.insert(token.clone()) {
            let what = "The id or the token stands on another line as well.";
            return Err(Error::artifact(format!("line {number}"), what));
        }
        entries.push((id, token));
    }
    entries.sort_unstable_by_key(|(id, _)| *id);
    spec(entries.iter().map(|(id, token)| (token.as_slice(), *id)), Semantics::Rwkv)
}

/// The Spec around a greedy vocabulary.
///
/// # Errors
/// If the tokens are too long together.
pub(super) fn spec<'a>(
    tokens: impl Iterator<Item = (&'a [u8], u32)>,
    semantics: Semantics,
) -> Result<Spec> {
    let mut vocab = TokenList::default();
    for (token, id) in tokens {
        vocab
            .push(token, id)
            .map_err(|error| Error::artifact("model.vocab", format!("{error}.")))?;
    }
    Ok(Spec {
        semantics,
        normalizer: None,
        pre_tokenizer: None,
        model: Model::Greedy(Greedy { vocab }),
        post_processor: None,
        decoder: Some(Decoder::Bytes),
        added_tokens: Vec::new(),
        truncation: None,
        padding: None,
    })
}

fn entry(line: &str) -> std::result::Result<(u32, Vec<u8>), String> {
    let (id, rest) = line.split_once(' ').ok_or("There is no token")?;
    let (literal, length) = rest.rsplit_once(' ').ok_or("There is no length")?;
    let id: u32 = id.parse().map_err(|_| format!("{id:?} is not an id"))?;
    let token = literal_bytes(literal).ok_or("The token is not a Python literal")?;
    if token.is_empty() {
        return Err("The token is empty".to_owned());
    }
    match length.trim_end().parse::<usize>() {
        Ok(announced) if announced == token.len() => Ok((id, token)),
        _ => Err(format!("The token has {} bytes, not {length}", token.len())),
    }
}

/// The bytes that a Python literal of a string (in UTF-8) or of bytes stands for.
fn literal_bytes(literal: &str) -> Option<Vec<u8>> {
    let literal = literal.trim_matches(' ');
    let (bytes, quoted) = match literal.strip_prefix('b') {
        Some(rest) => (true, rest),
        None => (false, literal),
    };
    let quote = quoted.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    let inside = quoted[1..].strip_suffix(quote)?;
    let mut out = Vec::with_capacity(inside.len());
    let mut put = |code: u32, raw: bool| -> Option<()> {
        if raw {
            out.push(u8::try_from(code).ok()?);
        } else {
            out.extend_from_slice(char::from_u32(code)?.encode_utf8(&mut [0; 4]).as_bytes());
        }
        Some(())
    };
    let mut rest = inside;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        if c == quote || (bytes && !c.is_ascii()) {
            return None;
        }
        if c != '\\' {
            put(u32::from(c), bytes)?;
            continue;
        }
        let escape = rest.chars().next()?;
        rest = &rest[escape.len_utf8()..];
        let digits = match escape {
            'x' => 2,
            'u' if !bytes => 4,
            'U' if !bytes => 8,
            _ => 0,
        };
        let code = match escape {
            '\\' | '\'' | '"' => u32::from(escape),
            'a' => 7,
            'b' => 8,
            't' => 9,
            'n' => 10,
            'v' => 11,
            'f' => 12,
            'r' => 13,
            'x' | 'u' | 'U' if digits > 0 => {
                let text =
                    rest.get(..digits).filter(|t| t.bytes().all(|b| b.is_ascii_hexdigit()))?;
                rest = &rest[digits..];
                u32::from_str_radix(text, 16).ok()?
            }
            '0'..='7' => {
                let mut code = u32::from(escape) - u32::from('0');
                for _ in 0..2 {
                    let Some(digit) = rest.chars().next().and_then(|c| c.to_digit(8)) else {
                        break;
                    };
                    code = code * 8 + digit;
                    rest = &rest[1..];
                }
                code
            }
            // Python keeps the backslash of an escape that it does not know, with a warning.
            _ => return None,
        };
        put(code, bytes)?;
    }
    Some(out)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn literals() {
        for (literal, bytes) in [
            ("'a'", &b"a"[..]),
            ("'\\x80'", "\u{80}".as_bytes()),
            ("b'\\x80\\n'", b"\x80\n"),
            ("\"it's\"", b"it's"),
            ("'\\u00e9\\U0001F408\\101\\0'", "é🐈A\0".as_bytes()),
            ("' '", b" "),
        ] {
            assert_eq!(literal_bytes(literal).as_deref(), Some(bytes), "{literal}");
        }
        for literal in
            ["", "a", "'", "'a", "'a'b'", "b'é'", "'\\xg0'", "'\\ud800'", "'\\q'", "b'\\777'"]
        {
            assert_eq!(literal_bytes(literal), None, "{literal}");
        }
    }

    #[test]
    fn lines_are_named() {
        for (text, place) in [
            ("1 'a' 1\n2 'b' 2\n", "line 2"),
            ("1 'a' 1\n1 'b' 1\n", "line 2"),
            ("1 'a' 1\n2 'a' 1\n", "line 2"),
            ("x 'a' 1\n", "line 1"),
            ("1 '' 0\n", "line 1"),
            ("\n", "line 1"),
        ] {
            assert_eq!(read(text).unwrap_err().location.as_deref(), Some(place), "{text:?}");
        }
        assert_eq!(read("2 'b' 1\r\n1 ' ' 1\r\n").unwrap().model.tokens().bytes(0), b" ");
    }

    proptest! {
        #[test]
        fn any_literal_is_read_or_refused(literal in "b?['\"][\\\\xuU0-9a'\" é]{0,12}['\"]") {
            let _ = literal_bytes(&literal);
            let _ = read(&format!("1 {literal} 3\n"));
        }
    }
}
