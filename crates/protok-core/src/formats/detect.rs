//! Telling formats apart by what is in a file; its name only helps with text that has no shape
//! of its own.

use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};

use crate::error::{Error, Result};

/// A format of a tokenizer file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Format {
    /// Hugging Face `tokenizer.json`.
    TokenizerJson,
    /// A vocabulary as a JSON object, for byte-pair encoding.
    VocabJson,
    /// The merges that go with it.
    Merges,
    /// A tiktoken rank file.
    TiktokenRanks,
    /// The companion of a rank file.
    EncodingJson,
    /// A SentencePiece model.
    SentencePiece,
    /// A GGUF file.
    Gguf,
    /// Mistral's `tekken.json`.
    Tekken,
    /// RWKV's vocabulary.
    RwkvVocab,
    /// One token a line, for WordPiece.
    VocabTxt,
    /// Some other JSON object: configuration.
    Config,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Format::TokenizerJson => "tokenizer.json",
            Format::VocabJson => "vocab.json",
            Format::Merges => "merges.txt",
            Format::TiktokenRanks => "tiktoken rank file",
            Format::EncodingJson => "encoding.json",
            Format::SentencePiece => "SentencePiece model",
            Format::Gguf => "GGUF file",
            Format::Tekken => "tekken.json",
            Format::RwkvVocab => "RWKV vocabulary",
            Format::VocabTxt => "vocab.txt",
            Format::Config => "configuration file",
        })
    }
}

/// What can be loaded, for error messages.
pub(crate) const LOADABLE: &str = "tokenizer.json, vocab.json with merges.txt, tiktoken rank files, SentencePiece models, \
     tekken.json, vocab.txt, RWKV vocabularies and GGUF files can be loaded.";

/// The format of a file.
///
/// # Errors
/// If it is none of those known.
pub fn detect(name: &str, bytes: &[u8]) -> Result<Format> {
    if bytes.starts_with(b"GGUF") {
        return Ok(Format::Gguf);
    }
    let start = bytes.trim_ascii_start();
    if start.starts_with(b"{") {
        return detect_json(name, bytes);
    }
    if is_sentencepiece(bytes) {
        return Ok(Format::SentencePiece);
    }
    // The first lines decide; the last of them may be cut.
    let head = &bytes[..bytes.len().min(1 << 16)];
    let mut lines: Vec<&[u8]> = head.split(|byte| *byte == b'\n').take(64).collect();
    if lines.len() > 1 {
        lines.pop();
    }
    let lines: Vec<&[u8]> = lines
        .into_iter()
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .filter(|line| !line.is_empty())
        .collect();
    let all = |test: fn(&[u8]) -> bool| !lines.is_empty() && lines.iter().all(|line| test(line));
    if all(is_rank_line) {
        return Ok(Format::TiktokenRanks);
    }
    if all(is_rwkv_line) {
        return Ok(Format::RwkvVocab);
    }
    let versioned = lines.first().is_some_and(|line| line.starts_with(b"#version"));
    if versioned || all(is_merge_line) {
        return Ok(Format::Merges);
    }
    let text = match std::str::from_utf8(head) {
        Ok(text) => !text.contains('\0'),
        // The head may end inside a character.
        Err(error) => error.error_len().is_none(),
    };
    // Almost any text could be a list of words, but no list of words is called JSON, and what is
    // left of a binary file that was cut off may be text by chance.
    let is_word = |line: &[u8]| line.iter().all(|&byte| byte != b' ' && !byte.is_ascii_control());
    let listed = name.ends_with(".txt") || all(is_word);
    if text && listed && !lines.is_empty() && !name.ends_with(".json") {
        return Ok(Format::VocabTxt);
    }
    Err(Error::artifact(name, "This is not a tokenizer file of any known format.").hint(LOADABLE))
}

/// `token-in-base64 rank`.
fn is_rank_line(line: &[u8]) -> bool {
    let mut parts = line.split(|byte| *byte == b' ');
    let (Some(token), Some(rank), None) = (parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    let base64 = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    // Base64 comes in fours; the exception is the broken line of one published file.
    token.iter().all(base64)
        && (token.len() % 4 == 0 || token == b"=")
        && !rank.is_empty()
        && rank.iter().all(u8::is_ascii_digit)
}

/// `id 'token' length`.
fn is_rwkv_line(line: &[u8]) -> bool {
    let Some(first) = line.iter().position(|byte| *byte == b' ') else { return false };
    let Some(last) = line.iter().rposition(|byte| *byte == b' ') else { return false };
    if last <= first + 1 {
        return false;
    }
    let (id, token, length) = (&line[..first], &line[first + 1..last], &line[last + 1..]);
    let number = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    let token = token.strip_prefix(b"b").unwrap_or(token);
    let quoted =
        token.len() >= 2 && matches!(token[0], b'\'' | b'"') && token[token.len() - 1] == token[0];
    number(id) && number(length) && quoted
}

/// Two tokens with a blank between.
fn is_merge_line(line: &[u8]) -> bool {
    let mut parts = line.split(|byte| *byte == b' ');
    let two = matches!((parts.next(), parts.next(), parts.next()), (Some(a), Some(b), None)
        if !a.is_empty() && !b.is_empty());
    two && std::str::from_utf8(line).is_ok()
}

/// A protocol buffer whose first field is a piece with a string in it.
fn is_sentencepiece(bytes: &[u8]) -> bool {
    let Some((&0x0A, rest)) = bytes.split_first() else { return false };
    let Some((length, used)) = varint(rest) else { return false };
    let Some((&0x0A, piece)) = rest[used..].split_first() else { return false };
    varint(piece).is_some_and(|(inner, _)| inner < length && length <= rest.len() as u64)
}

fn varint(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0;
    for (at, byte) in bytes.iter().take(9).enumerate() {
        value |= u64::from(byte & 0x7F) << (7 * at);
        if byte & 0x80 == 0 {
            return Some((value, at + 1));
        }
    }
    None
}

/// What the top level of a JSON object looks like.
#[derive(Default)]
struct Shape {
    vocab: bool,
    config: bool,
    pattern: bool,
    fields: usize,
    integers: usize,
}

/// A `tokenizer.json` may have hundreds of thousands of tokens, which its reader will go through:
/// it is known by the first of its large fields, before that is read.
fn detect_json(name: &str, bytes: &[u8]) -> Result<Format> {
    struct Top<'b> {
        is_tokenizer: &'b mut bool,
    }
    impl<'de> Visitor<'de> for Top<'_> {
        type Value = Shape;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a JSON object")
        }
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Shape, A::Error> {
            let mut shape = Shape::default();
            while let Some(key) = map.next_key::<std::borrow::Cow<'de, str>>()? {
                shape.fields += 1;
                let kind = match &*key {
                    "model" | "added_tokens" => map.next_value_seed(Opening(self.is_tokenizer))?,
                    _ => map.next_value::<Kind>()?,
                };
                shape.integers += usize::from(kind == Kind::Integer);
                let nested = kind == Kind::Nested;
                match &*key {
                    "vocab" => shape.vocab |= nested,
                    "config" => shape.config |= nested,
                    "pat_str" => shape.pattern |= kind == Kind::Other,
                    _ => {}
                }
            }
            Ok(shape)
        }
    }
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let mut is_tokenizer = false;
    let shape = deserializer
        .deserialize_map(Top { is_tokenizer: &mut is_tokenizer })
        .and_then(|shape| deserializer.end().map(|()| shape));
    if is_tokenizer {
        return Ok(Format::TokenizerJson);
    }
    let shape = shape.map_err(|error| {
        Error::artifact(name, format!("This is not valid JSON: {error}."))
            .hint("The file may be cut off; fetch it again.")
    })?;
    Ok(if shape.fields > 0 && shape.integers == shape.fields {
        Format::VocabJson
    } else if shape.vocab && shape.config {
        Format::Tekken
    } else if shape.pattern {
        Format::EncodingJson
    } else {
        Format::Config
    })
}

/// What a value is, without keeping it.
#[derive(PartialEq)]
enum Kind {
    Integer,
    Nested,
    Other,
}

/// Notes where an object or array opens, and reads no further.
struct Opening<'b>(&'b mut bool);

impl<'de> DeserializeSeed<'de> for Opening<'_> {
    type Value = Kind;
    fn deserialize<D: Deserializer<'de>>(self, d: D) -> std::result::Result<Kind, D::Error> {
        d.deserialize_any(KindVisitor { opens: Some(self.0) })
    }
}

impl<'de> serde::Deserialize<'de> for Kind {
    fn deserialize<D: Deserializer<'de>>(d: D) -> std::result::Result<Self, D::Error> {
        d.deserialize_any(KindVisitor { opens: None })
    }
}

struct KindVisitor<'b> {
    /// To be set, with an error, in place of reading what is inside.
    opens: Option<&'b mut bool>,
}

impl KindVisitor<'_> {
    fn open<E: de::Error>(self) -> std::result::Result<(), E> {
        self.opens.map_or(Ok(()), |opens| {
            *opens = true;
            Err(E::custom("read no further"))
        })
    }
}

impl<'de> Visitor<'de> for KindVisitor<'_> {
    type Value = Kind;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }
    fn visit_u64<E: de::Error>(self, _: u64) -> std::result::Result<Kind, E> {
        Ok(Kind::Integer)
    }
    fn visit_i64<E: de::Error>(self, _: i64) -> std::result::Result<Kind, E> {
        Ok(Kind::Other)
    }
    fn visit_f64<E: de::Error>(self, _: f64) -> std::result::Result<Kind, E> {
        Ok(Kind::Other)
    }
    fn visit_bool<E: de::Error>(self, _: bool) -> std::result::Result<Kind, E> {
        Ok(Kind::Other)
    }
    fn visit_unit<E: de::Error>(self) -> std::result::Result<Kind, E> {
        Ok(Kind::Other)
    }
    fn visit_str<E: de::Error>(self, _: &str) -> std::result::Result<Kind, E> {
        Ok(Kind::Other)
    }
    fn visit_seq<A: de::SeqAccess<'de>>(self, mut seq: A) -> std::result::Result<Kind, A::Error> {
        self.open()?;
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Kind::Nested)
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Kind, A::Error> {
        self.open()?;
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Kind::Nested)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn json_that_is_no_object_is_no_list_of_words() {
        for bytes in [&b"[]"[..], b"null", b"\"word\"", b"[\n\"a\"\n]\n"] {
            assert!(detect("tokenizer.json", bytes).is_err());
        }
    }

    #[test]
    fn content_decides() {
        for (name, bytes, format) in [
            ("x", &b" {\"model\": {}}"[..], Format::TokenizerJson),
            ("x", b"{\"version\": \"1.0\", \"added_tokens\": [", Format::TokenizerJson),
            ("x", b"{\"a\": 0, \"model\": 1, \"added_tokens\": 2}", Format::VocabJson),
            ("tokenizer.json", b"{\"vocab\": [], \"config\": {}}", Format::Tekken),
            ("x", b"{\"pat_str\": \"a\"}", Format::EncodingJson),
            ("x", b"{}", Format::Config),
            ("tokenizer.model", b"YQ== 0\nYg== 1\n", Format::TiktokenRanks),
            ("x", b"#version: 0.2\na b\n", Format::Merges),
            ("x", b"a b\nab c\n", Format::Merges),
            ("x", b"1 '\\x00' 1\n2 b'\\xff' 1\n3 ' ' 1\n", Format::RwkvVocab),
            ("vocab.txt", b"[PAD]\nthe\n", Format::VocabTxt),
            ("x", b"GGUF\x03\0\0\0", Format::Gguf),
            ("x", b"\x0a\x0e\x0a\x05<unk>\x15\0\0\0\0\x18\x02\x0a\x01", Format::SentencePiece),
        ] {
            assert_eq!(detect(name, bytes).unwrap(), format, "{}", String::from_utf8_lossy(bytes));
        }
        for bytes in [&b""[..], b"\xff\xfe\0", b"{", b"{} x", b"some words here\nand more\n"] {
            assert!(detect("x", bytes).is_err(), "{}", String::from_utf8_lossy(bytes));
        }
    }
}
