//! The models of stage 4 as plain data. What is large in them is left out of their JSON.

use serde::{Deserialize, Serialize};

use super::vocabulary::TokenList;

/// Stage 4: turns each piece into tokens of the vocabulary.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Model {
    /// Byte-pair encoding.
    Bpe(Bpe),
    /// Longest match with a continuation prefix.
    WordPiece(WordPiece),
    /// The most probable segmentation.
    Unigram(Unigram),
    /// One token a piece.
    WordLevel(WordLevel),
    /// Byte-pair encoding as SentencePiece does it: the joined text with the best score.
    SentencePieceBpe(SentencePieceBpe),
    /// SentencePiece's word and character models.
    SentencePieceWord(SentencePieceWord),
    /// The longest token that fits, again and again.
    Greedy(Greedy),
    /// One token a byte.
    Bytes(Bytes),
}

impl Model {
    /// The tokens with their ids.
    #[must_use]
    pub fn tokens(&self) -> &TokenList {
        match self {
            Model::Bpe(model) => &model.vocab,
            Model::WordPiece(model) => &model.vocab,
            Model::Unigram(model) => &model.vocab,
            Model::WordLevel(model) => &model.vocab,
            Model::SentencePieceBpe(model) => &model.vocab,
            Model::SentencePieceWord(model) => &model.vocab,
            Model::Greedy(model) => &model.vocab,
            Model::Bytes(model) => &model.vocab,
        }
    }

    /// What each entry of [`Self::tokens`] is for, in its order; empty where all are normal.
    #[must_use]
    pub fn kinds(&self) -> &[PieceKind] {
        match self {
            Model::Unigram(model) => &model.kinds,
            Model::SentencePieceBpe(model) => &model.kinds,
            Model::SentencePieceWord(model) => &model.kinds,
            _ => &[],
        }
    }

    /// Whether text that the vocabulary lacks becomes the tokens of its bytes.
    #[must_use]
    pub fn byte_fallback(&self) -> bool {
        match self {
            Model::Bpe(model) => model.byte_fallback,
            Model::Unigram(model) => model.byte_fallback,
            Model::SentencePieceBpe(model) => model.byte_fallback,
            Model::SentencePieceWord(model) => model.byte_fallback,
            Model::WordPiece(_) | Model::WordLevel(_) | Model::Greedy(_) | Model::Bytes(_) => false,
        }
    }

    /// The ids of the control pieces.
    pub fn control_pieces(&self) -> impl Iterator<Item = u32> + '_ {
        let kinds = self.kinds().iter().enumerate();
        let tokens = self.tokens();
        kinds
            .filter(|&(place, kind)| *kind == PieceKind::Control && place < tokens.len())
            .map(|(place, _)| tokens.id(place))
    }
}

/// Which pairs merge, and in what order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Merges {
    /// A list of pairs of ids; the earlier a pair stands, the earlier it merges. A pair that is
    /// listed twice has the place of its last mention.
    Listed(Vec<(u32, u32)>),
    /// Any two neighbours whose joined bytes are a token merge, lowest id first (tiktoken).
    #[default]
    ByRank,
}

/// See [`Model::Bpe`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bpe {
    /// The vocabulary. With [`Merges::ByRank`] tokens are raw bytes, otherwise text.
    #[serde(skip)]
    pub vocab: TokenList,
    /// The merges.
    #[serde(skip)]
    pub merges: Merges,
    /// Chance of leaving a merge out (BPE-dropout, Provilkov et al. 2020).
    pub dropout: Option<f32>,
    /// The token for what the vocabulary lacks. Without one, such characters vanish.
    pub unk_token: Option<String>,
    /// Prefix of every symbol but a piece's first.
    pub continuing_subword_prefix: Option<String>,
    /// Suffix of a piece's last symbol.
    pub end_of_word_suffix: Option<String>,
    /// Neighbouring unknown characters form one token.
    pub fuse_unk: bool,
    /// Unknown characters become `<0xNN>` tokens.
    pub byte_fallback: bool,
    /// A piece that is itself a token is not merged but taken whole.
    pub ignore_merges: bool,
    /// A piece of nothing but line ends that is itself a token is taken whole, as llama.cpp does
    /// for Gemma 4.
    pub whole_line_ends: bool,
}

/// See [`Model::WordPiece`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WordPiece {
    /// The vocabulary.
    #[serde(skip)]
    pub vocab: TokenList,
    /// The token for a piece that cannot be covered.
    pub unk_token: String,
    /// Prefix of every token but a piece's first.
    pub continuing_subword_prefix: String,
    /// Longer pieces become the unknown token.
    pub max_input_chars_per_word: usize,
}

/// See [`Model::Unigram`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Unigram {
    /// The pieces.
    #[serde(skip)]
    pub vocab: TokenList,
    /// The log probability of each entry of `vocab`, in its order.
    #[serde(skip)]
    pub scores: Vec<f64>,
    /// What each entry of `vocab` is for, in its order; empty where all are normal.
    #[serde(skip)]
    pub kinds: Vec<PieceKind>,
    /// Place of the unknown token in `vocab`.
    pub unk_id: Option<usize>,
    /// Unknown characters become `<0xNN>` tokens.
    pub byte_fallback: bool,
}

/// What a piece of a SentencePiece vocabulary is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PieceKind {
    /// Text.
    #[default]
    Normal,
    /// The token for what the vocabulary lacks.
    Unknown,
    /// Never comes from text.
    Control,
    /// Text that is always taken whole.
    UserDefined,
    /// Not to come out: text that would make it is cut further.
    Unused,
    /// One byte of a character that the vocabulary lacks.
    Byte,
}

/// See [`Model::SentencePieceBpe`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SentencePieceBpe {
    /// The pieces.
    #[serde(skip)]
    pub vocab: TokenList,
    /// The score of each entry of `vocab`, in its order: the higher, the earlier it is joined.
    #[serde(skip)]
    pub scores: Vec<f64>,
    /// What each entry of `vocab` is for, in its order; empty where all are normal.
    #[serde(skip)]
    pub kinds: Vec<PieceKind>,
    /// Place of the unknown token in `vocab`.
    pub unk_id: Option<usize>,
    /// Unknown characters become `<0xNN>` tokens.
    pub byte_fallback: bool,
}

/// What a piece of [`SentencePieceWord`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WordUnit {
    /// A word, which starts at a word mark.
    Word,
    /// A character or a user-defined piece.
    Character,
}

/// See [`Model::SentencePieceWord`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SentencePieceWord {
    /// The pieces.
    #[serde(skip)]
    pub vocab: TokenList,
    /// The score of each entry of `vocab`, in its order. Nothing depends on them.
    #[serde(skip)]
    pub scores: Vec<f64>,
    /// What each entry of `vocab` is for, in its order; empty where all are normal.
    #[serde(skip)]
    pub kinds: Vec<PieceKind>,
    /// Words or characters.
    pub unit: WordUnit,
    /// Place of the unknown token in `vocab`.
    pub unk_id: Option<usize>,
    /// Unknown pieces become `<0xNN>` tokens.
    pub byte_fallback: bool,
}

/// See [`Model::Greedy`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Greedy {
    /// The vocabulary: raw bytes.
    #[serde(skip)]
    pub vocab: TokenList,
}

/// See [`Model::Bytes`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bytes {
    /// The vocabulary, for decoding: the token of each byte spelled as that byte.
    #[serde(skip)]
    pub vocab: TokenList,
    /// The id of byte 0; the others follow.
    pub offset: u32,
}

/// See [`Model::WordLevel`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WordLevel {
    /// The vocabulary.
    #[serde(skip)]
    pub vocab: TokenList,
    /// The token for a piece that the vocabulary lacks.
    pub unk_token: String,
}
