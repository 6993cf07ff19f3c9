//! The pre-tokenizers that llama.cpp knows by name: patterns that cut one after the other.
//!
//! They are given as llama.cpp has them, which is not always as the model's own tokenizer cut.
//! Names whose patterns llama.cpp does not run as regular expressions are left out.

use crate::error::{Error, Result};

/// A pre-tokenizer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pre {
    /// What cuts, in order.
    pub patterns: &'static [&'static str],
    /// Decoded text is tidied.
    pub clean_spaces: bool,
    /// A word that is a token is not merged.
    pub ignore_merges: bool,
    /// A text starts with the begin token unless the file says otherwise.
    pub add_bos: bool,
}

const GPT2: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";

macro_rules! llama3 {
    ($digits:literal) => {
        concat!(
            r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?\p{L}+|",
            $digits,
            r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
        )
    };
}

const THREE_DIGITS: &[&str] = &[llama3!(r"\p{N}{1,3}")];
const ONE_DIGIT: &[&str] = &[llama3!(r"\p{N}")];
const DIGITS_FIRST: &[&str] = &[r"\p{N}", GPT2];
const FALCON: &[&str] = &[r"[\p{P}\$\+<=>\^~\|`]+", GPT2, "[0-9][0-9][0-9]"];
const DEFAULT: &[&str] = &[r"[\p{P}\$\+<=>\^~\|]+", GPT2, r"\p{N}+", "[0-9][0-9][0-9]"];
const DEEPSEEK_CODER: &[&str] =
    &[r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", "[一-龥\u{800}-一가-\u{d7ff}]+", r"\p{N}"];
const DEEPSEEK_V3: &[&str] = &[
    r"\p{N}{1,3}",
    "[一-龥\u{3040}-ゟ゠-ヿ]+",
    concat!(
        r##"[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"##,
        r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
];
const TEKKEN: &[&str] = &[concat!(
    r"[^\r\n\p{L}\p{N}]?[\p{L}&&[^a-z]]*[\p{L}&&[^A-Z]]+|",
    r"[^\r\n\p{L}\p{N}]?[\p{L}&&[^a-z]]+[\p{L}&&[^A-Z]]*|",
    r"\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)];
const GPT4O: &[&str] = &[concat!(
    r"[^\r\n\p{L}\p{N}]?[\p{L}&&[^a-z]]*[\p{L}&&[^A-Z]]+",
    r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])?|",
    r"[^\r\n\p{L}\p{N}]?[\p{L}&&[^a-z]]+[\p{L}&&[^A-Z]]*",
    r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])?|",
    r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)];

/// The pre-tokenizer of a name.
///
/// # Errors
/// If the name is not known.
pub(super) fn named(name: &str) -> Result<Pre> {
    let plain = |patterns, clean_spaces| Pre {
        patterns,
        clean_spaces,
        ignore_merges: false,
        add_bos: false,
    };
    let whole = |patterns, clean_spaces| Pre {
        ignore_merges: true,
        add_bos: true,
        ..plain(patterns, clean_spaces)
    };
    Ok(match name {
        "" | "default" => plain(DEFAULT, true),
        "llama3" | "llama-v3" | "llama-bpe" | "falcon3" | "falcon-h1" | "pixtral" | "midm-2.0"
        | "lfm2" => whole(THREE_DIGITS, true),
        "dbrx" | "smaug-bpe" | "glm4" | "chatglm-bpe" => plain(THREE_DIGITS, true),
        "qwen2" | "deepseek-r1-qwen" | "hunyuan" | "grok-2" => plain(ONE_DIGIT, false),
        "stablelm2" | "megrez" => plain(ONE_DIGIT, true),
        "gpt-2" | "phi-2" | "jina-es" | "jina-de" | "gigachat" | "jina-v2-es" | "jina-v2-de"
        | "a.x-4.0" | "mellum" | "modern-bert" | "mpt" | "olmo" | "jais" | "exaone4" => {
            plain(&[GPT2], true)
        }
        "trillion" | "granite-docling" => plain(&[GPT2], false),
        "starcoder" | "refact" | "codeshell" | "exaone" | "minerva-7b" => plain(DIGITS_FIRST, true),
        "command-r" | "smollm" => plain(DIGITS_FIRST, false),
        "falcon" => plain(FALCON, true),
        "deepseek-coder" => plain(DEEPSEEK_CODER, false),
        "deepseek-v3" | "hunyuan-dense" => plain(DEEPSEEK_V3, false),
        "tekken" => whole(TEKKEN, false),
        "gpt-4o" | "llama4" | "kanana2" => plain(GPT4O, false),
        other => {
            return Err(Error::artifact(
                "tokenizer.ggml.pre",
                format!("The pre-tokenizer {other:?} is not known."),
            )
            .value(other)
            .hint("Load the model's own tokenizer.json."));
        }
    })
}
