//! The components that only llama.cpp has.

use serde::{Deserialize, Serialize};

use super::PieceKind;

/// See [`super::Normalizer::LlamaCppWords`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LlamaCppWords {
    /// Lower case.
    pub lowercase: bool,
    /// Take the first character of each character's canonical decomposition, and drop marks.
    pub strip_accents: bool,
}

/// See [`super::Normalizer::LlamaCppBlanks`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LlamaCppBlanks {
    /// The character map, in base64; none if it maps nothing.
    pub precompiled_charsmap: Option<String>,
    /// Put a blank before the text.
    pub add_space_prefix: bool,
    /// Put one blank before each word and drop all others.
    pub remove_extra_whitespaces: bool,
    /// Text that the character map leaves alone: the user-defined tokens.
    pub protected: Vec<String>,
}

/// How the tokens of a llama.cpp vocabulary spell text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LlamaCppSpelling {
    /// Blanks as word marks.
    Marks,
    /// In GPT-2's byte alphabet.
    ByteAlphabet,
    /// As the bytes they are.
    Bytes,
}

/// See [`super::Decoder::LlamaCpp`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LlamaCppDecoder {
    /// What each id is for, ids from 0; what is past the end is normal.
    pub kinds: Vec<PieceKind>,
    /// How tokens spell text.
    pub spelling: LlamaCppSpelling,
    /// Drop the blank that the first token starts with.
    pub strip_first_blank: bool,
    /// Tidy blanks before punctuation.
    pub clean_spaces: bool,
}
