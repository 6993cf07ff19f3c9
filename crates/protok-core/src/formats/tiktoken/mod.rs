//! tiktoken rank files: a token in base64 and its rank on every line.
//!
//! A rank file is a vocabulary without pattern or special tokens. For OpenAI's own encodings
//! these are known by name and by the hash of the file ([`named`], [`identify`]); for others they
//! come as arguments or in an `encoding.json` with the fields `pat_str`, `special_tokens` and
//! `n_vocab`, which is protok's own companion.

mod named;
mod plain;

use serde_json::json;

use crate::error::{Error, Result};
use crate::formats::hash::sha256_hex;
use crate::formats::node::{Cursor, Node};
use crate::formats::save::check_same;
use crate::spec::{
    AddedToken, Bpe, Decoder, Merges, Model, Pattern, PreTokenizer, Semantics, Spec, Split,
    SplitBehavior, TokenList,
};
use crate::vocab::{SeededMap, SeededSet};

pub use named::{NamedEncoding, identify, named, names};

/// Reads a rank file; the result is ordered by rank.
///
/// Base64 is read as Python does, which drops characters outside its alphabet: one published
/// file ends in a line whose token is `=`, the empty string. Of a repeated token the last rank
/// counts.
///
/// # Errors
/// An artifact error with the line.
pub fn read_ranks(bytes: &[u8]) -> Result<TokenList> {
    plain::ranks(bytes).map_or_else(|| general_ranks(bytes), Ok)
}

/// As [`read_ranks`], in any form, with errors that say where.
fn general_ranks(bytes: &[u8]) -> Result<TokenList> {
    let mut tokens = TokenList::default();
    let mut places: SeededMap<Vec<u8>, u32> = SeededMap::default();
    for (number, line) in lines(bytes) {
        if line.is_empty() {
            continue;
        }
        let bad = |what: &str| {
            Error::artifact(format!("line {number}"), format!("{what}."))
                .hint("Every line of a rank file is a token in base64, a blank and a rank.")
        };
        let mut parts = line.split(|byte| is_space(*byte)).filter(|part| !part.is_empty());
        let (Some(token), Some(rank), None) = (parts.next(), parts.next(), parts.next()) else {
            return Err(bad("The line does not have two parts"));
        };
        let token = lenient_base64(token).ok_or_else(|| bad("The token is not base64"))?;
        let rank = std::str::from_utf8(rank)
            .ok()
            .filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))
            .and_then(|text| text.parse::<u32>().ok())
            .ok_or_else(|| bad("The rank is not an integer of 32 bits"))?;
        places.insert(token, rank);
    }
    let mut entries: Vec<(Vec<u8>, u32)> = places.into_iter().collect();
    entries.sort_unstable_by_key(|(_, rank)| *rank);
    for pair in entries.windows(2) {
        if pair[0].1 == pair[1].1 {
            return Err(Error::artifact(
                format!("rank {}", pair[0].1),
                "Two tokens have the same rank.",
            )
            .hint("tiktoken cannot load such a file either."));
        }
    }
    for (token, rank) in entries {
        tokens.push(&token, rank).map_err(|error| Error::artifact("ranks", format!("{error}.")))?;
    }
    Ok(tokens)
}

fn is_space(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == 0x0B
}

/// Lines as Python's `bytes.splitlines` cuts them: at `\n`, `\r` and `\r\n`.
fn lines(bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    bytes
        .split(|byte| *byte == b'\n')
        .flat_map(|line| line.strip_suffix(b"\r").unwrap_or(line).split(|byte| *byte == b'\r'))
        .zip(1..)
        .map(|(line, number)| (number, line))
}

/// Base64 as Python's `b64decode` reads it when it does not validate.
fn lenient_base64(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut held, mut padding) = (0u32, 0usize, 0usize);
    for &byte in text {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            b'=' => {
                padding += 1;
                if held >= 2 && held + padding >= 4 {
                    return Some(out);
                }
                continue;
            }
            _ => continue,
        };
        padding = 0;
        bits = (bits << 6 | u32::from(value)) & 0xFFF;
        if held > 0 {
            // 6, 12 or 18 bits were read so far; the next byte ends 2, 4 or 6 bits before.
            let spare = 6 - 2 * held;
            out.push((bits >> spare & 0xFF) as u8);
        }
        held = (held + 1) % 4;
    }
    (held == 0).then_some(out)
}

/// The Spec of a rank vocabulary with its pattern and special tokens.
///
/// # Errors
/// If a special token is empty, or shares its id with an ordinary token.
pub fn spec(ranks: TokenList, pattern: &str, special: &[(String, u32)]) -> Result<Spec> {
    let taken: SeededSet<u32> = ranks.iter().map(|(_, rank)| rank).collect();
    let mut added_tokens = Vec::with_capacity(special.len());
    for (content, id) in special {
        let bad = |what: &str| {
            Error::artifact("special_tokens", format!("The special token {content:?} {what}."))
                .hint("Special tokens need a spelling and an id of their own.")
                .value(content.clone())
        };
        if content.is_empty() {
            return Err(bad("has no spelling"));
        }
        if taken.contains(id) {
            return Err(bad(&format!("has the rank {id} of an ordinary token")));
        }
        added_tokens.push(AddedToken {
            id: *id,
            content: content.clone(),
            single_word: false,
            lstrip: false,
            rstrip: false,
            normalized: false,
            special: true,
        });
    }
    added_tokens.sort_by_key(|token| token.id);
    Ok(Spec {
        semantics: Semantics::Tiktoken,
        normalizer: None,
        pre_tokenizer: Some(PreTokenizer::Split(Split {
            pattern: Pattern::Regex(pattern.to_owned()),
            behavior: SplitBehavior::Isolated,
            invert: false,
            semantics: Semantics::Tiktoken,
        })),
        model: Model::Bpe(Bpe {
            vocab: ranks,
            merges: Merges::ByRank,
            dropout: None,
            unk_token: None,
            continuing_subword_prefix: None,
            end_of_word_suffix: None,
            fuse_unk: false,
            byte_fallback: false,
            ignore_merges: true,
            whole_line_ends: false,
        }),
        post_processor: None,
        decoder: Some(Decoder::Bytes),
        added_tokens,
        truncation: None,
        padding: None,
    })
}

/// Reads a rank file as one of the named encodings.
///
/// # Errors
/// If the file is not the one that was published under that name.
pub fn read_named(bytes: &[u8], encoding: &NamedEncoding) -> Result<Spec> {
    let found = sha256_hex(bytes);
    if found != encoding.rank_sha256 {
        return Err(Error::artifact(
            "sha256",
            format!(
                "This is not the published rank file of {}: its hash is {found}.",
                encoding.name
            ),
        )
        .hint(format!("Expected {}; fetch the file again.", encoding.rank_sha256)));
    }
    spec(read_ranks(bytes)?, encoding.pattern, &encoding.special_tokens())
}

/// Pattern and special tokens, as an `encoding.json` gives them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Companion {
    /// The pattern.
    pub pattern: String,
    /// The special tokens with their ids.
    pub special_tokens: Vec<(String, u32)>,
    /// The number of ids, to check against.
    pub n_vocab: Option<u32>,
}

/// Reads an `encoding.json`.
///
/// # Errors
/// An artifact error with the JSON path.
pub fn read_companion(text: &str) -> Result<Companion> {
    let node = Node::parse(text, "encoding.json", 0)?;
    let root = Cursor::root(&node, "encoding.json");
    let table = root.need("special_tokens")?;
    let mut special_tokens: Vec<(String, u32)> = Vec::new();
    let mut seen: SeededMap<&str, usize> = SeededMap::default();
    for (token, id) in table.entries()? {
        let id = id.u32()?;
        match seen.get(token) {
            Some(&place) => special_tokens[place].1 = id,
            None => {
                seen.insert(token, special_tokens.len());
                special_tokens.push((token.to_owned(), id));
            }
        }
    }
    let n_vocab = match root.present("n_vocab").or_else(|| root.present("explicit_n_vocab")) {
        Some(field) => Some(field.u32()?),
        None => None,
    };
    Ok(Companion { pattern: root.need("pat_str")?.string()?, special_tokens, n_vocab })
}

/// Checks the number of ids as tiktoken does: so many entries, and none above.
///
/// # Errors
/// If the vocabulary has another size.
pub fn check_size(spec: &Spec, n_vocab: u32) -> Result<()> {
    let tokens = spec.model.tokens();
    let entries = tokens.len() + spec.added_tokens.len();
    let ids = tokens.iter().map(|(_, id)| id).chain(spec.added_tokens.iter().map(|t| t.id));
    let highest = ids.max().map_or(0, |id| u64::from(id) + 1);
    if entries as u64 == u64::from(n_vocab) && highest == u64::from(n_vocab) {
        return Ok(());
    }
    Err(Error::artifact(
        "n_vocab",
        format!("{n_vocab} ids were announced, but {entries} tokens go up to id {highest}."),
    )
    .hint("The rank file and its special tokens do not belong together."))
}

/// Writes the rank file of a rank vocabulary and the `encoding.json` beside it.
///
/// # Errors
/// Names what the two files have no place for.
pub fn write_both(spec: &Spec) -> Result<(Vec<u8>, Vec<u8>)> {
    let (ranks, companion) = (write(spec)?, write_companion(spec)?);
    let says = read_companion(&String::from_utf8_lossy(&companion))?;
    let mut again = self::spec(read_ranks(&ranks)?, &says.pattern, &says.special_tokens)?;
    // mistral-common runs the rules of tiktoken.
    if spec.semantics == Semantics::Mistral {
        again.semantics = Semantics::Mistral;
    }
    check_same(spec, &again, "tiktoken")?;
    Ok((ranks, companion))
}

/// Writes the rank file of a rank vocabulary. Pattern and special tokens are not part of it, see
/// [`write_companion`].
///
/// # Errors
/// If the vocabulary is not one of ranks.
pub fn write(spec: &Spec) -> Result<Vec<u8>> {
    use base64::Engine as _;
    let Model::Bpe(Bpe { vocab, merges: Merges::ByRank, .. }) = &spec.model else {
        return Err(Error::artifact("model", "Only a rank vocabulary fits into a rank file.")
            .hint("Save it as a tokenizer.json."));
    };
    let mut out = Vec::new();
    for (token, rank) in vocab.clone().sorted_by_id().iter() {
        let token = base64::engine::general_purpose::STANDARD.encode(token);
        // An empty token has to leave something on its line.
        out.extend_from_slice(if token.is_empty() { b"=" } else { token.as_bytes() });
        out.extend_from_slice(format!(" {rank}\n").as_bytes());
    }
    Ok(out)
}

/// Writes the `encoding.json` beside a rank file.
///
/// # Errors
/// If the Spec has no tiktoken pattern.
pub fn write_companion(spec: &Spec) -> Result<Vec<u8>> {
    let pattern = match &spec.pre_tokenizer {
        Some(PreTokenizer::Split(Split {
            pattern: Pattern::Regex(pattern),
            semantics: Semantics::Tiktoken,
            ..
        })) => pattern,
        _ => {
            return Err(Error::artifact("pre_tokenizer", "This is not a tiktoken pattern.")
                .hint("Save it as a tokenizer.json."));
        }
    };
    let special: serde_json::Map<String, serde_json::Value> =
        spec.added_tokens.iter().map(|token| (token.content.clone(), token.id.into())).collect();
    let mut out = serde_json::to_vec_pretty(&json!({
        "pat_str": pattern,
        "special_tokens": special,
    }))
    .map_err(|error| Error::artifact("encoding.json", format!("{error}.")))?;
    out.push(b'\n');
    Ok(out)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_as_lenient_as_pythons() {
        for (text, bytes) in [
            ("=", Some(&b""[..])),
            ("", Some(b"")),
            ("IQ==", Some(b"!")),
            ("I Q = =", Some(b"!")),
            ("IQ==IQ==", Some(b"!")),
            ("YWI=", Some(b"ab")),
            ("YWJj", Some(b"abc")),
            ("Y*W%Jj", Some(b"abc")),
            ("==YWJj", Some(b"abc")),
            ("I", None),
            ("IQ", None),
            ("IQ=", None),
            ("YWI", None),
            ("/+/+", Some(b"\xff\xef\xfe")),
        ] {
            assert_eq!(lenient_base64(text.as_bytes()).as_deref(), bytes, "{text}");
        }
    }

    #[test]
    fn reads_ranks_and_says_which_line_is_bad() {
        let ranks = read_ranks(b"Yg== 1\r\n\nYQ==\t0\n= 2").unwrap();
        let entries: Vec<_> = ranks.iter().collect();
        assert_eq!(entries, [(&b"a"[..], 0), (b"b", 1), (b"", 2)]);
        for (text, place) in [
            ("YQ== 0\nYg==", "line 2"),
            ("YQ== x", "line 1"),
            ("YQ== -1", "line 1"),
            ("YQ== 4294967296", "line 1"),
            ("YQ 0", "line 1"),
            ("YQ== 0\nYg== 0", "rank 0"),
        ] {
            assert_eq!(read_ranks(text.as_bytes()).unwrap_err().location.as_deref(), Some(place));
        }
    }

    #[test]
    fn names_are_known_both_ways() {
        let hash = named("o200k_harmony").unwrap().rank_sha256;
        assert_eq!(identify(hash), Some("o200k_base"));
        assert_eq!(identify("00"), None);
        assert!(named("cl100k").is_none());
        let harmony = named("o200k_harmony").unwrap().special_tokens();
        assert_eq!(harmony.len(), 16 + 201_088 - 200_013);
        assert!(read_named(b"YQ== 0", named("gpt2").unwrap()).is_err());
        assert_eq!(names().count(), 7);
    }

    #[test]
    fn a_rank_file_and_its_companion_come_back() {
        let special = [("<|end|>".to_owned(), 5)];
        let before = spec(read_ranks(b"YQ== 0\n= 2\n").unwrap(), r"\s+|\S", &special).unwrap();
        assert_eq!(write(&before).unwrap(), b"YQ== 0\n= 2\n");
        let text = String::from_utf8(write_companion(&before).unwrap()).unwrap();
        let companion = read_companion(&text).unwrap();
        let ranks = read_ranks(&write(&before).unwrap()).unwrap();
        assert_eq!(spec(ranks, &companion.pattern, &companion.special_tokens).unwrap(), before);
        assert!(check_size(&before, 6).is_err());
        let clash = [("<|end|>".to_owned(), 2)];
        assert!(spec(read_ranks(b"= 2").unwrap(), "a", &clash).is_err());
    }
}
