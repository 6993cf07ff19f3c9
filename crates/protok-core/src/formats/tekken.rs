//! Mistral's `tekken.json`: a rank vocabulary behind a block of special tokens.
//!
//! Ids 0 up to `default_num_special_tokens` are special tokens; those that the file does not name
//! are called `<SPECIAL_n>`. A token's id is its rank plus that number. Of the listed tokens only
//! the first are used, up to `default_vocab_size` ids in all. Nothing is put around a text: that
//! is the chat's business.
//!
//! Source: the tokenizer of mistral-common 1.13.1.

use std::borrow::Cow;

use base64::Engine as _;
use serde::Deserialize;

use super::node::json_error;
use crate::error::{Error, Result};
use crate::spec::{
    AddedToken, Bpe, Decoder, Merges, Model, Pattern, PreTokenizer, Semantics, Spec, Split,
    SplitBehavior, TokenList,
};
use crate::vocab::{MAX_ID, SeededSet};

#[derive(Deserialize)]
struct File<'a> {
    #[serde(borrow)]
    config: Config<'a>,
    #[serde(borrow)]
    vocab: Vec<Entry<'a>>,
    #[serde(default)]
    special_tokens: Option<Vec<Special>>,
}

#[derive(Deserialize)]
struct Config<'a> {
    pattern: String,
    default_vocab_size: u32,
    default_num_special_tokens: u32,
    #[serde(borrow)]
    version: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Entry<'a> {
    rank: u32,
    #[serde(borrow)]
    token_bytes: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Special {
    rank: u32,
    token_str: String,
}

/// The versions that mistral-common knows; those up to v7 may leave their special tokens out.
const VERSIONS: [(&str, bool); 6] =
    [("v1", true), ("v2", true), ("v3", true), ("v7", true), ("v11", false), ("v13", false)];

/// The special tokens of files that name none.
const SPECIAL: [&str; 20] = [
    "<unk>",
    "<s>",
    "</s>",
    "[INST]",
    "[/INST]",
    "[AVAILABLE_TOOLS]",
    "[/AVAILABLE_TOOLS]",
    "[TOOL_RESULTS]",
    "[/TOOL_RESULTS]",
    "[TOOL_CALLS]",
    "[IMG]",
    "<pad>",
    "[IMG_BREAK]",
    "[IMG_END]",
    "[PREFIX]",
    "[MIDDLE]",
    "[SUFFIX]",
    "[SYSTEM_PROMPT]",
    "[/SYSTEM_PROMPT]",
    "[TOOL_CONTENT]",
];

/// The tokens of the roles.
pub(super) const ROLES: [(&str, &str); 4] =
    [("bos", "<s>"), ("eos", "</s>"), ("unk", "<unk>"), ("pad", "<pad>")];

/// Reads a `tekken.json`.
///
/// # Errors
/// An artifact error with the JSON path.
pub fn read(text: &str) -> Result<Spec> {
    let file: File<'_> = serde_json::from_str(text).map_err(|error| json_error("", &error))?;
    let Config { pattern, default_vocab_size: size, default_num_special_tokens: reserved, version } =
        file.config;
    let known = VERSIONS.iter().find(|(name, _)| *name == version);
    let Some(&(_, may_lack)) = known else {
        return Err(Error::artifact("config.version", "The version is not known.")
            .value(version.into_owned())
            .hint("Known are v1, v2, v3, v7, v11 and v13."));
    };
    let size_error = |what: &str| {
        Error::artifact("config.default_vocab_size", what.to_owned()).value(size.to_string())
    };
    let ordinary = size
        .checked_sub(reserved)
        .ok_or_else(|| size_error("There are more special tokens than ids."))?;
    if size > MAX_ID || ordinary as usize > file.vocab.len() {
        return Err(size_error("The vocabulary does not have so many tokens."));
    }
    let names = match file.special_tokens {
        Some(listed) => {
            for (place, token) in listed.iter().enumerate() {
                if token.rank as usize != place {
                    return Err(Error::artifact(
                        format!("special_tokens[{place}].rank"),
                        "The special tokens are not in the order of their ranks.",
                    )
                    .value(token.rank.to_string()));
                }
            }
            listed.into_iter().map(|token| token.token_str).collect()
        }
        None if may_lack => SPECIAL.map(str::to_owned).to_vec(),
        None => {
            return Err(Error::artifact("special_tokens", "The special tokens are missing.")
                .hint("Files of this version have to name them."));
        }
    };
    Ok(Spec {
        semantics: Semantics::Mistral,
        normalizer: None,
        pre_tokenizer: Some(PreTokenizer::Split(Split {
            pattern: Pattern::Regex(pattern),
            behavior: SplitBehavior::Isolated,
            invert: false,
            semantics: Semantics::Tiktoken,
        })),
        model: Model::Bpe(Bpe {
            vocab: vocab(&file.vocab[..ordinary as usize], reserved)?,
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
        added_tokens: special_tokens(names, reserved)?,
        truncation: None,
        padding: None,
    })
}

fn vocab(entries: &[Entry<'_>], reserved: u32) -> Result<TokenList> {
    let mut vocab = TokenList::with_capacity(entries.len(), entries.len() * 8);
    let mut seen: SeededSet<Vec<u8>> = SeededSet::default();
    for (entry, place) in entries.iter().zip(0u32..) {
        let bad = |what: &str| Error::artifact(format!("vocab[{place}]"), what);
        if entry.rank != place {
            return Err(bad("The tokens are not in the order of their ranks."));
        }
        let token = base64::engine::general_purpose::STANDARD
            .decode(entry.token_bytes.as_bytes())
            .map_err(|error| bad(&format!("The token is not base64: {error}.")))?;
        if place < 256 && token != [place as u8] {
            return Err(bad("The first 256 tokens have to be the bytes."));
        }
        vocab.push(&token, place + reserved).map_err(|error| bad(&format!("{error}.")))?;
        if !seen.insert(token) {
            return Err(bad("The token is there twice."));
        }
    }
    Ok(vocab)
}

fn special_tokens(names: Vec<String>, reserved: u32) -> Result<Vec<AddedToken>> {
    let bad = |what: &str| Error::artifact("special_tokens", what.to_owned());
    if names.len() > reserved as usize {
        return Err(bad("There are more than config.default_num_special_tokens."));
    }
    let named = names.len() as u32;
    let all = names.into_iter().chain((named..reserved).map(|id| format!("<SPECIAL_{id}>")));
    let mut seen: SeededSet<String> = SeededSet::default();
    all.zip(0u32..)
        .map(|(content, id)| {
            if content.is_empty() || !seen.insert(content.clone()) {
                return Err(bad("A special token is empty or there twice.").value(content));
            }
            Ok(AddedToken {
                id,
                content,
                single_word: false,
                lstrip: false,
                rstrip: false,
                normalized: false,
                special: true,
            })
        })
        .collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn file(version: &str, more: &str, extra: &[&str]) -> String {
        let encode = |bytes: &[u8]| base64::engine::general_purpose::STANDARD.encode(bytes);
        let mut tokens: Vec<String> = (0..=255u8).map(|byte| encode(&[byte])).collect();
        tokens.extend(extra.iter().map(|token| encode(token.as_bytes())));
        let vocab: Vec<String> = tokens
            .iter()
            .enumerate()
            .map(|(rank, token)| {
                format!(r#"{{"rank":{rank},"token_bytes":"{token}","token_str":null}}"#)
            })
            .collect();
        format!(
            r#"{{"config":{{"pattern":".+","num_vocab_tokens":999,"default_vocab_size":280,
                "default_num_special_tokens":23,"version":"{version}"}},{more}"vocab":[{}]}}"#,
            vocab.join(",")
        )
    }

    #[test]
    fn ids_are_ranks_behind_the_special_tokens() {
        let spec = read(&file("v3", "", &["ab", "never"])).unwrap();
        let tokens = spec.model.tokens();
        assert_eq!((tokens.len(), tokens.bytes(256), tokens.id(256)), (257, &b"ab"[..], 279));
        assert_eq!(spec.added_tokens.len(), 23);
        assert_eq!(spec.added_tokens[22].content, "<SPECIAL_22>");
        let named = r#""special_tokens":[{"rank":0,"token_str":"<x>","is_control":true}],"#;
        let spec = read(&file("v11", named, &["ab"])).unwrap();
        assert_eq!(spec.added_tokens[1].content, "<SPECIAL_1>");
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let place = |text: String| read(&text).unwrap_err().location.unwrap();
        assert_eq!(place(file("v3", "", &[])), "config.default_vocab_size");
        assert_eq!(place(file("v4", "", &["ab"])), "config.version");
        assert_eq!(place(file("v11", "", &["ab"])), "special_tokens");
        assert_eq!(place(file("v3", "", &["a"])), "vocab[256]");
        assert_eq!(place(file("v3", "", &["ab"]).replace("\"AA==\"", "\"!\"")), "vocab[0]");
        assert_eq!(
            place(file("v3", "", &["ab"]).replace("\"rank\":7,", "\"rank\":8,")),
            "vocab[7]"
        );
        let swapped = r#""special_tokens":[{"rank":1,"token_str":"<x>"}],"#;
        assert_eq!(place(file("v3", swapped, &["ab"])), "special_tokens[0].rank");
        let huge = file("v3", "", &["ab"])
            .replace("_tokens\":23", "_tokens\":4294967295")
            .replace("size\":280", "size\":4294967295");
        assert_eq!(place(huge), "config.default_vocab_size");
    }

    proptest! {
        #[test]
        fn damage_is_read_or_refused(at in 0usize..600, insert in "[\\PC]{0,4}", cut in 0usize..20000) {
            let mut text = file("v3", "", &["ab"]);
            text.insert_str(at, &insert);
            let _ = read(&text);
            let _ = read(text.get(..cut).unwrap_or(""));
        }
    }
}
