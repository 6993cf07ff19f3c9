//! The components that only SentencePiece has.

use serde::{Deserialize, Serialize};

use super::PieceKind;

/// See [`super::Normalizer::SentencePiece`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentencePieceNormalizer {
    /// The character map as the model stores it, in base64; none if it maps nothing.
    pub precompiled_charsmap: Option<String>,
    /// Put a blank before the text.
    pub add_dummy_prefix: bool,
    /// Drop blanks at the ends, and all but one of those in a row.
    pub remove_extra_whitespaces: bool,
    /// Write blanks as the word mark.
    pub escape_whitespaces: bool,
    /// The dummy blank goes after the text.
    pub treat_whitespace_as_suffix: bool,
    /// Text that the character map leaves alone: the user-defined pieces.
    pub protected: Vec<String>,
}

/// See [`super::Decoder::SentencePiece`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentencePieceDecoder {
    /// What each id is for, ids from 0; what is past the end is normal.
    pub kinds: Vec<PieceKind>,
    /// What the unknown token reads as.
    pub unk_surface: String,
    /// Drop the mark that a text starts with.
    pub strip_first_mark: bool,
    /// Drop the first mark of each token until there is text.
    pub strip_leading_marks: bool,
    /// Rewrites the decoded text.
    pub denormalizer: Option<Box<SentencePieceNormalizer>>,
}
