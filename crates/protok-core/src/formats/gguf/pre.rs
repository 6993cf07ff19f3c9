//! The pre-tokenizers that llama.cpp knows by name: patterns that cut one after the other.
//!
//! They are given as llama.cpp has them, which is not always as the model's own tokenizer cut.
//! Models that llama.cpp treats in a way of their own are not among them: `hybriddna`, whose text
//! between `<dna>` and `</dna>` becomes tokens of six letters each.

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
    /// What the tokens spell.
    pub spelling: Spelling,
}

/// What tokens spell, and what is done to a text before it is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spelling {
    /// Bytes, in GPT-2's alphabet.
    Alphabet,
    /// Text, with word marks for blanks. What is no token is spelled with byte tokens.
    Marks,
    /// As these, for Gemma 4: every text starts with the begin token, whatever the file says, and
    /// line ends that are a token are not merged.
    Gemma,
    /// Words, which may be put in lower case. All white space is dropped.
    Words,
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
// Where no category is named, llama.cpp reads every blank outside of ASCII as a vertical tab, so a
// range that spans such blanks does not hold them.
const DEEPSEEK_CODER: &[&str] =
    &[r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", "[一-龥\u{800}-一가-\u{d7ff}&&\\S]+", r"\p{N}"];
const DEEPSEEK_LLM: &[&str] = &[
    r"[\r\n]",
    concat!(
        "\\s?[A-Za-z\u{b5}\u{c0}-\u{d6}\u{d8}-\u{f6}\u{f8}-\u{1ba}\u{1bc}-\u{1bf}\u{1c4}-\u{293}",
        "\u{295}-\u{2af}\u{370}-\u{373}\u{376}\u{377}\u{37b}-\u{37d}\u{37f}\u{386}",
        "\u{388}-\u{38a}\u{38c}\u{38e}-\u{3a1}\u{3a3}-\u{3f5}\u{3f7}-\u{481}\u{48a}-\u{52f}",
        "\u{531}-\u{556}\u{10a0}-\u{10c5}\u{13a0}-\u{13f5}\u{13f8}-\u{13fd}",
        "\u{1c90}-\u{1cba}\u{1cbd}-\u{1cbf}\u{1d00}-\u{1d2b}\u{1d6b}-\u{1d77}",
        "\u{1d79}-\u{1d9a}\u{1e00}-\u{1f15}\u{1f18}-\u{1f1d}\u{1f20}-\u{1f45}",
        "\u{1f48}-\u{1f4d}\u{1f50}-\u{1f57}\u{1f59}\u{1f5b}\u{1f5d}\u{1f5f}-\u{1f7d}",
        "\u{1f80}-\u{1fb4}\u{1fb6}-\u{1fbc}\u{1fbe}\u{1fc2}-\u{1fc4}\u{1fc6}-\u{1fcc}",
        "\u{1fd0}-\u{1fd3}\u{1fd6}-\u{1fdb}\u{1fe0}-\u{1fec}\u{1ff2}-\u{1ff4}",
        "\u{1ff6}-\u{1ffc}\u{2102}\u{2107}\u{210a}-\u{2113}\u{2115}\u{2119}-\u{211d}",
        "\u{2124}\u{2126}\u{2128}\u{212a}-\u{212d}\u{212f}-\u{2134}\u{2139}",
        "\u{213c}-\u{213f}\u{2145}-\u{2149}\u{214e}\u{2183}\u{2184}\u{2c00}-\u{2c7b}",
        "\u{2c7e}-\u{2ce4}\u{2ceb}-\u{2cee}\u{2cf2}\u{2cf3}\u{a640}-\u{a66d}",
        "\u{a680}-\u{a69b}\u{a722}-\u{a76f}\u{a771}-\u{a787}\u{a78b}-\u{a78e}",
        "\u{ab70}-\u{abbf}\u{fb00}-\u{fb06}\u{fb13}-\u{fb17}\u{ff21}-\u{ff3a}",
        "\u{ff41}-\u{ff5a}\u{10400}-\u{1044f}\u{104b0}-\u{104d3}\u{104d8}-\u{104fb}",
        "\u{10c80}-\u{10cb2}\u{10cc0}-\u{10cf2}\u{118a0}-\u{118df}\u{1e900}-\u{1e943}]+",
    ),
    r"\s?[!-/:-~！-／：-～‘-‟\u3001-。]+",
    r"\s+$",
    "[一-龥\u{800}-一가-\u{d7ff}&&\\S]+",
    r"\p{N}+",
];
const WORDS_WITH_PUNCTUATION: &str = concat!(
    r##"[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"##,
    r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
);
const DEEPSEEK_V3: &[&str] = &[r"\p{N}{1,3}", "[一-龥\u{3040}-ゟ゠-ヿ]+", WORDS_WITH_PUNCTUATION];
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
const LETTERS_AND_MARKS: &str = concat!(
    r"[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])?|",
    r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
);
/// Threes from the right, the first of which takes what stands before the number with it.
const THREES: &str = r"[^\p{N}]*(?:\p{N}{1,2}(?=(?:\p{N}{3})*(?!\p{N}))|\p{N}{3})|[^\p{N}]+";
const SPARK: &[&str] = &[
    r"\p{N}{1,3}",
    "[一-龥\u{3040}-ゟ゠-ヿ]+",
    concat!(
        r##"[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"##,
        r"| ?[\p{P}\p{S}]+|[\r\n]|\s+(?!\S)|\s+"
    ),
    r"\p{N}",
];
const YOUTU: &[&str] = &[
    "[가-힣ㄱ-ㆎ]+|[！…“”‘’—：；，、-〿︰-﹏]+|[ㄅ-ㄯ]+|[一-龥\u{3040}-ゟ゠-ヿ]+",
    concat!(
        r"[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+",
        r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])?|",
        r"\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
];
const BLOOM: &str = " ?[^(\\s|.,!?…。，、।۔،)]+";
const CHAMELEON: &[&str] = &[
    r"<sentinel:[0-9]+>",
    r"(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z",
    r"([\t\n]|    |  )",
    r"\p{N}",
    r"[\p{P}!-/:-@\[-`{-~]",
    GPT2,
];
const GRANITE: &[&str] = &[concat!(
    r"[^\r\n\p{L}\p{N}]?[\p{L}\p{M}&&[^a-z]]*[\p{L}\p{M}&&[^A-Z]]+",
    r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])?|",
    r"[^\r\n\p{L}\p{N}]?[\p{L}\p{M}&&[^a-z]]+[\p{L}\p{M}&&[^A-Z]]*",
    r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])?|",
    r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)];
macro_rules! ideographs {
    () => {
        concat!(
            "一-\u{9fff}㐀-\u{4dbf}\u{20000}-\u{2a6df}\u{2a700}-\u{2b73f}\u{2b740}-\u{2b81f}",
            "\u{2b820}-\u{2ceaf}\u{2ceb0}-\u{2ebef}\u{f900}-\u{faff}\u{2f800}-\u{2fa1f}"
        )
    };
}
const KIMI: &[&str] = &[concat!(
    "[",
    ideographs!(),
    r"]+|[^\r\n\p{L}\p{N}]?[\p{L}&&[^",
    ideographs!(),
    r"]]+(?:'[sStTmMdD]|'[rR][eE]|'[vV][eE]|'[lL][lL])?|\p{N}{1,3}|",
    r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)];
const QWEN35: &[&str] = &[concat!(
    r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|",
    r"[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|",
    r"\s*[\r\n]+|\s+(?!\S)|\s+"
)];
const JAIS2: &[&str] = &[concat!(
    r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?\p{L}+|",
    r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s{512}(?!\S)|\s{256}(?!\S)|",
    r"\s{128}(?!\S)|\s{64}(?!\S)|\s{32}(?!\S)|\s{16}(?!\S)|\s{8}(?!\S)|\s{4}(?!\S)|",
    r"\s{1,2}(?!\S)|\s{1}"
)];
const BAILING: &[&str] = &[concat!(
    r"'(?:[sSdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|",
    r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
)];
const SEED: &[&str] = &[concat!(
    r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?\p{L}+|",
    r"\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+"
)];
const UFAKZEKA: &[&str] = &[concat!(
    r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|",
    r"\s*[\r\n]+|\s+(?!\S)|\s+"
)];
// From U+8C48 on, where U+F900 was meant, whose canonical form it is.
const AFMOE: &[&str] = &[
    THREES,
    concat!(
        "[一-\u{9fff}㐀-\u{4dbf}\u{8c48}-\u{faff}\u{3040}-ゟ゠-ヿ･-\u{ff9f}\u{2f00}-\u{2fdf}เ-\u{e7f}",
        "\u{e80}-\u{eff}ក-\u{17ff}က-\u{109f}\u{aa60}-\u{aa7f}\u{a9e0}-\u{a9ff}가-\u{d7af}",
        "\u{1100}-\u{11ff}]+"
    ),
    WORDS_WITH_PUNCTUATION,
];
const EXAONE_MOE: &[&str] = &[concat!(
    r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|",
    r"[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}|",
    r" ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+"
)];
const MINICPM5: &[&str] = &[r"\p{N}{1,3}", llama3!(r"\p{N}+")];
const LINES: &[&str] = &[r"[^\n]+|[\n]+"];
const LAGUNA: &[&str] = &[LINES[0], llama3!(r"\p{N}")];

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
        spelling: Spelling::Alphabet,
    };
    let whole = |patterns, clean_spaces| Pre {
        ignore_merges: true,
        add_bos: true,
        ..plain(patterns, clean_spaces)
    };
    let whole_words =
        |patterns, clean_spaces| Pre { ignore_merges: true, ..plain(patterns, clean_spaces) };
    let begun = |patterns, clean_spaces| Pre { add_bos: true, ..plain(patterns, clean_spaces) };
    Ok(match name {
        "" | "default" => plain(DEFAULT, true),
        "llama3" | "llama-v3" | "llama-bpe" | "falcon3" | "falcon-h1" | "pixtral" | "midm-2.0"
        | "lfm2" | "jina-v5-nano" => whole(THREE_DIGITS, true),
        "dbrx" | "smaug-bpe" | "chatglm-bpe" => plain(THREE_DIGITS, true),
        "glm4" | "glm5" => whole_words(THREE_DIGITS, true),
        "minicpm5" => whole_words(MINICPM5, true),
        "jais-2" => plain(JAIS2, true),
        "qwen2" | "deepseek-r1-qwen" | "kormo" | "f2llmv2" | "hunyuan" | "grok-2"
        | "solar-open" => plain(ONE_DIGIT, false),
        "qwen35" => plain(QWEN35, false),
        "laguna" => plain(LAGUNA, false),
        "ufakzeka" => plain(UFAKZEKA, false),
        "stablelm2" | "megrez" => plain(ONE_DIGIT, true),
        "gpt-2" | "phi-2" | "jina-es" | "jina-de" | "gigachat" | "jina-v2-es" | "jina-v2-de"
        | "a.x-4.0" | "mellum" | "modern-bert" | "mpt" | "olmo" | "jais" | "exaone4"
        | "jina-v1-en" | "jina-v2-code" | "roberta-bpe" => plain(&[GPT2], true),
        "trillion" | "granite-docling" => plain(&[GPT2], false),
        "starcoder" | "refact" | "codeshell" | "exaone" | "minerva-7b" | "mellum2" => {
            plain(DIGITS_FIRST, true)
        }
        "command-r" | "smollm" => plain(DIGITS_FIRST, false),
        "falcon" => plain(FALCON, true),
        "deepseek-llm" => plain(DEEPSEEK_LLM, false),
        "deepseek-coder" => plain(DEEPSEEK_CODER, false),
        "deepseek-v3" | "hunyuan-dense" | "joyai-llm" | "hy_v4" => plain(DEEPSEEK_V3, false),
        "spark2_5" => plain(SPARK, false),
        "youtu" => whole_words(YOUTU, false),
        "poro-chat" => plain(&[BLOOM], false),
        "bloom" | "gpt3-finnish" => plain(&[BLOOM], true),
        "viking" => plain(&[BLOOM, r"\p{N}"], false),
        "tekken" => whole(TEKKEN, false),
        "chameleon" => begun(CHAMELEON, false),
        "gpt-4o" | "llama4" | "kanana2" | "talkie" | "minimax-m2" => plain(GPT4O, false),
        "granite-embed-multi-97m" => whole_words(GRANITE, false),
        "tiny_aya" | "cohere2moe" => plain(&[THREES, LETTERS_AND_MARKS], false),
        "kimi-k2" => plain(KIMI, false),
        "superbpe" => plain(&[r"\p{N}+", "(?=([0-9]{3})+(?![0-9]))"], false),
        "bailingmoe" | "bailingmoe2" | "llada-moe" => plain(BAILING, false),
        "seed-coder" => plain(SEED, false),
        "afmoe" => plain(AFMOE, false),
        "exaone-moe" => plain(EXAONE_MOE, true),
        "gemma4" | "granite-embed-multi-311m" => {
            Pre { spelling: Spelling::Gemma, ..plain(LINES, true) }
        }
        "sarvam-moe" => Pre { spelling: Spelling::Marks, ..plain(LINES, false) },
        "whitespace" => Pre { spelling: Spelling::Words, ..plain(&[], true) },
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
