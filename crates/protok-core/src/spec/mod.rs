//! The [`Spec`]: everything that a tokenizer's files say, as plain data.
//!
//! Readers in [`crate::formats`] turn any file into a `Spec`; [`crate::pipeline`] compiles it.
//! Neither knows the other. A `Spec` is a superset of a Hugging Face `tokenizer.json`, whose
//! component names and field names it keeps, so that saving is the reverse of loading.

pub mod components;
pub mod llama_cpp;
pub mod models;
pub mod sentencepiece;
pub mod vocabulary;

pub use components::*;
pub use llama_cpp::{LlamaCppBlanks, LlamaCppDecoder, LlamaCppSpelling, LlamaCppWords};
pub use models::*;
pub use sentencepiece::{SentencePieceDecoder, SentencePieceNormalizer};
pub use vocabulary::{TokenList, VocabularyError};

/// Whose rules a component follows. The same name means different things to different
/// implementations, and the artifact decides which is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Semantics {
    /// Hugging Face `tokenizers`: Oniguruma patterns, merges ranked by their place in the list.
    #[serde(rename = "hf")]
    HuggingFace,
    /// OpenAI `tiktoken`: `fancy-regex` patterns, merges ranked by the id of their result.
    #[serde(rename = "tiktoken")]
    Tiktoken,
    /// Google SentencePiece.
    #[serde(rename = "sentencepiece")]
    SentencePiece,
    /// llama.cpp.
    #[serde(rename = "llama.cpp")]
    LlamaCpp,
    /// Mistral's `mistral-common`.
    #[serde(rename = "mistral")]
    Mistral,
    /// RWKV's own tokenizer.
    #[serde(rename = "rwkv")]
    Rwkv,
}

/// The full declarative description of one tokenizer.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Spec {
    /// Whose rules hold for every stage that has no `semantics` of its own.
    pub semantics: Semantics,
    /// Stage 2.
    pub normalizer: Option<Normalizer>,
    /// Stage 3.
    pub pre_tokenizer: Option<PreTokenizer>,
    /// Stage 4.
    pub model: Model,
    /// Stage 5.
    pub post_processor: Option<PostProcessor>,
    /// Stage 6.
    pub decoder: Option<Decoder>,
    /// Stage 1: the added tokens, ordered by id. No two share an id in a `tokenizer.json`.
    pub added_tokens: Vec<AddedToken>,
    /// The truncation stored in the file. It is data to keep, never state: calls decide.
    pub truncation: Option<serde_json::Value>,
    /// The padding stored in the file, likewise.
    pub padding: Option<serde_json::Value>,
}

/// A token that is matched in the text before (or, if `normalized`, after) normalization.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct AddedToken {
    /// The id that the original implementation gives it, which need not be the one in the file.
    pub id: u32,
    /// The string that spells it.
    pub content: String,
    /// Match only where no word character stands beside it.
    #[serde(default)]
    pub single_word: bool,
    /// Take white space on the left into the match.
    #[serde(default)]
    pub lstrip: bool,
    /// Take white space on the right into the match.
    #[serde(default)]
    pub rstrip: bool,
    /// Match its normalized form in the normalized text.
    pub normalized: bool,
    /// A special token: skipped by `decode(skip_special_tokens=True)`, and a control token.
    #[serde(default)]
    pub special: bool,
}
