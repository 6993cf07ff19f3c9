//! Tests of the search engine: against facts from Oniguruma itself, against the backtracking
//! engine on random texts, against the reference's own pieces, and of its bounds.
#![allow(clippy::unwrap_used)]

mod bounds;
mod constructs;
mod goldens;
mod oniguruma;
mod random;
mod tiles;

use super::*;
use crate::pretokenize::{GPT2_PATTERN, Splitter};
use crate::spec::Semantics;

/// The patterns of public tokenizers: dialect and pattern.
const PUBLIC: &[(Semantics, &str)] = &[
    (Semantics::HuggingFace, GPT2_PATTERN),
    (Semantics::Tiktoken, GPT2_PATTERN),
    // r50k_base, p50k_base
    (
        Semantics::Tiktoken,
        r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s",
    ),
    // cl100k_base
    (
        Semantics::Tiktoken,
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
    ),
    // o200k_base, o200k_harmony
    (Semantics::Tiktoken, O200K),
    (Semantics::HuggingFace, O200K),
    // Llama 3
    (Semantics::Tiktoken, LLAMA3),
    (Semantics::HuggingFace, LLAMA3),
    // Qwen
    (
        Semantics::HuggingFace,
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    ),
    // Tekken
    (
        Semantics::HuggingFace,
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    ),
    // CLIP
    (Semantics::HuggingFace, r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"),
    (Semantics::HuggingFace, r"\s+"),
    // DeepSeek V3, three splits in a row
    (Semantics::HuggingFace, r"\p{N}{1,3}"),
    (Semantics::HuggingFace, "[一-龥\u{3040}-ゟ゠-ヿ]+"),
    (
        Semantics::HuggingFace,
        "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+",
    ),
    // ALBERT, and what test files of others use
    (Semantics::HuggingFace, " {2,}"),
    (Semantics::HuggingFace, ""),
    (Semantics::HuggingFace, "."),
    (Semantics::HuggingFace, "x*"),
    (Semantics::HuggingFace, r"\p{Lu}"),
    (Semantics::HuggingFace, r"\p{N}"),
    (Semantics::HuggingFace, "[0-9][0-9][0-9]"),
    (Semantics::HuggingFace, r"\w+"),
    (Semantics::HuggingFace, r"\w+|[^\w\s]+"),
];

const O200K: &str = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+";

const LLAMA3: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

fn all_matches(matcher: &Matcher, text: &str) -> Vec<(usize, usize)> {
    let mut matches = Vec::new();
    matcher.for_each_match(text, |start, end| matches.push((start, end))).unwrap();
    matches
}

#[test]
fn public_patterns_need_no_backtracking() {
    for (semantics, pattern) in PUBLIC {
        let matcher = Matcher::compile(pattern, *semantics).unwrap();
        assert_eq!(matcher.engine(), "dfa", "{pattern}");
    }
}
