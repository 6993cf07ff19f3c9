//! OpenAI's own encodings: what their names stand for.

/// What OpenAI publishes about one of its encodings.
#[derive(Debug)]
pub struct NamedEncoding {
    /// Its name.
    pub name: &'static str,
    /// The pattern in `fancy-regex`'s dialect.
    pub pattern: &'static str,
    special: &'static [(&'static str, u32)],
    reserved: std::ops::Range<u32>,
    /// The number of ids, where it is published.
    pub n_vocab: Option<u32>,
    /// The SHA-256 of the rank file, in hex.
    pub rank_sha256: &'static str,
}

impl NamedEncoding {
    /// The special tokens with their ids.
    #[must_use]
    pub fn special_tokens(&self) -> Vec<(String, u32)> {
        let listed = self.special.iter().map(|(token, id)| ((*token).to_owned(), *id));
        let reserved = self.reserved.clone().map(|id| (format!("<|reserved_{id}|>"), id));
        listed.chain(reserved).collect()
    }
}

const GPT2_PATTERN: &str =
    r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s";
const CL100K_PATTERN: &str = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s";
const O200K_PATTERN: &str = concat!(
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|",
    r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
);

const R50K_SHA256: &str = "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930";
const P50K_SHA256: &str = "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069";
const CL100K_SHA256: &str = "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7";
const O200K_SHA256: &str = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d";

const END_OF_TEXT: &[(&str, u32)] = &[("<|endoftext|>", 50256)];

/// OpenAI's encodings. Of those that share a rank file, the first is the one that the file alone
/// means.
static NAMED: [NamedEncoding; 7] = [
    NamedEncoding {
        name: "r50k_base",
        pattern: GPT2_PATTERN,
        special: END_OF_TEXT,
        reserved: 0..0,
        n_vocab: Some(50257),
        rank_sha256: R50K_SHA256,
    },
    // tiktoken builds it from two other files; the ranks are those of r50k_base.
    NamedEncoding {
        name: "gpt2",
        pattern: GPT2_PATTERN,
        special: END_OF_TEXT,
        reserved: 0..0,
        n_vocab: Some(50257),
        rank_sha256: R50K_SHA256,
    },
    NamedEncoding {
        name: "p50k_base",
        pattern: GPT2_PATTERN,
        special: END_OF_TEXT,
        reserved: 0..0,
        n_vocab: Some(50281),
        rank_sha256: P50K_SHA256,
    },
    NamedEncoding {
        name: "p50k_edit",
        pattern: GPT2_PATTERN,
        special: &[
            ("<|endoftext|>", 50256),
            ("<|fim_prefix|>", 50281),
            ("<|fim_middle|>", 50282),
            ("<|fim_suffix|>", 50283),
        ],
        reserved: 0..0,
        n_vocab: None,
        rank_sha256: P50K_SHA256,
    },
    NamedEncoding {
        name: "cl100k_base",
        pattern: CL100K_PATTERN,
        special: &[
            ("<|endoftext|>", 100_257),
            ("<|fim_prefix|>", 100_258),
            ("<|fim_middle|>", 100_259),
            ("<|fim_suffix|>", 100_260),
            ("<|endofprompt|>", 100_276),
        ],
        reserved: 0..0,
        n_vocab: None,
        rank_sha256: CL100K_SHA256,
    },
    NamedEncoding {
        name: "o200k_base",
        pattern: O200K_PATTERN,
        special: &[("<|endoftext|>", 199_999), ("<|endofprompt|>", 200_018)],
        reserved: 0..0,
        n_vocab: None,
        rank_sha256: O200K_SHA256,
    },
    NamedEncoding {
        name: "o200k_harmony",
        pattern: O200K_PATTERN,
        special: &[
            ("<|startoftext|>", 199_998),
            ("<|endoftext|>", 199_999),
            ("<|reserved_200000|>", 200_000),
            ("<|reserved_200001|>", 200_001),
            ("<|return|>", 200_002),
            ("<|constrain|>", 200_003),
            ("<|reserved_200004|>", 200_004),
            ("<|channel|>", 200_005),
            ("<|start|>", 200_006),
            ("<|end|>", 200_007),
            ("<|message|>", 200_008),
            ("<|reserved_200009|>", 200_009),
            ("<|reserved_200010|>", 200_010),
            ("<|reserved_200011|>", 200_011),
            ("<|call|>", 200_012),
            // `<|reserved_200018|>` below has this id, too.
            ("<|endofprompt|>", 200_018),
        ],
        reserved: 200_013..201_088,
        n_vocab: None,
        rank_sha256: O200K_SHA256,
    },
];

/// The encoding of this name.
#[must_use]
pub fn named(name: &str) -> Option<&'static NamedEncoding> {
    NAMED.iter().find(|encoding| encoding.name == name)
}

/// The names of all known encodings.
pub fn names() -> impl Iterator<Item = &'static str> {
    NAMED.iter().map(|encoding| encoding.name)
}

/// The encoding that a rank file with this SHA-256 (hex) is published for.
#[must_use]
pub fn identify(sha256: &str) -> Option<&'static str> {
    NAMED
        .iter()
        .find(|encoding| encoding.rank_sha256.eq_ignore_ascii_case(sha256))
        .map(|encoding| encoding.name)
}
