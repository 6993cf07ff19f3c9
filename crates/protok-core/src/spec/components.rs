//! The components of each stage, named and shaped as in `tokenizer.json`.

use serde::{Deserialize, Serialize};

use super::{
    LlamaCppBlanks, LlamaCppDecoder, LlamaCppWords, Semantics, SentencePieceDecoder,
    SentencePieceNormalizer,
};

/// A pattern to search for: a literal string or a regular expression.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Pattern {
    /// A literal string.
    String(String),
    /// A regular expression in the dialect of the component's semantics.
    Regex(String),
}

/// What happens to the text that a splitting pattern matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SplitBehavior {
    /// Dropped.
    Removed,
    /// A piece of its own.
    Isolated,
    /// Joined to the piece before it.
    MergedWithPrevious,
    /// Joined to the piece after it.
    MergedWithNext,
    /// Neighbouring matches form one piece.
    Contiguous,
}

/// Where a word-boundary mark is put before a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PrependScheme {
    /// Before the first section of a text only.
    First,
    /// Nowhere.
    Never,
    /// Before every section.
    Always,
}

// ---------------------------------------------------------------------------------------------
// Stage 2

/// Stage 2: rewrites the text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Normalizer {
    /// One after the other.
    Sequence(Vec<Normalizer>),
    /// Unicode canonical composition.
    Nfc,
    /// Unicode canonical decomposition.
    Nfd,
    /// Unicode compatibility composition.
    Nfkc,
    /// Unicode compatibility decomposition.
    Nfkd,
    /// Lower case, character by character (no final sigma).
    Lowercase,
    /// Drops combining marks.
    StripAccents,
    /// Replaces every match of a pattern.
    Replace(Replace),
    /// Puts a string before the text, unless the text is empty.
    Prepend(Prepend),
    /// Drops white space at the ends.
    Strip(StripNormalizer),
    /// BERT's cleaning.
    Bert(BertNormalizer),
    /// The NMT cleaning of SentencePiece.
    Nmt,
    /// A SentencePiece character map.
    Precompiled(Precompiled),
    /// Maps every byte to a printable character.
    ByteLevel,
    /// SentencePiece's: a character map and the rules for blanks, in one pass.
    SentencePiece(SentencePieceNormalizer),
    /// llama.cpp's words for BERT, each with a mark in front.
    LlamaCppWords(LlamaCppWords),
    /// llama.cpp's rules for Unigram models: a character map and blanks.
    LlamaCppBlanks(LlamaCppBlanks),
}

/// See [`Normalizer::Replace`] and [`Decoder::Replace`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replace {
    /// What to look for.
    pub pattern: Pattern,
    /// What to put in its place, literally.
    pub content: String,
}

/// See [`Normalizer::Prepend`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prepend {
    /// The string to put first.
    pub prepend: String,
}

/// See [`Normalizer::Strip`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StripNormalizer {
    /// Strip the start.
    pub strip_left: bool,
    /// Strip the end.
    pub strip_right: bool,
}

/// See [`Normalizer::Bert`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BertNormalizer {
    /// Drop control characters, turn white space into blanks.
    pub clean_text: bool,
    /// Put blanks around CJK ideographs.
    pub handle_chinese_chars: bool,
    /// Drop accents; when absent, whatever `lowercase` says.
    pub strip_accents: Option<bool>,
    /// Lower case.
    pub lowercase: bool,
}

/// See [`Normalizer::Precompiled`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Precompiled {
    /// The map as SentencePiece stores it, in base64.
    pub precompiled_charsmap: String,
}

// ---------------------------------------------------------------------------------------------
// Stage 3

/// Stage 3: cuts the normalized text into pieces that the model never joins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum PreTokenizer {
    /// One after the other, each on the pieces of the one before.
    Sequence(Vec<PreTokenizer>),
    /// GPT-2's cut and its byte alphabet.
    ByteLevel(ByteLevel),
    /// Cuts at a pattern.
    Split(Split),
    /// Cuts digits out.
    Digits(Digits),
    /// BERT's cut: white space and punctuation.
    Bert,
    /// `\w+|[^\w\s]+`.
    Whitespace,
    /// Cuts at white space, which is dropped.
    WhitespaceSplit,
    /// SentencePiece's word mark.
    Metaspace(Metaspace),
    /// Cuts at punctuation.
    Punctuation(Punctuation),
    /// Cuts at one character, which is dropped.
    CharDelimiterSplit(CharDelimiterSplit),
    /// Cuts where the script changes.
    UnicodeScripts,
    /// Cuts every so many characters.
    FixedLength(FixedLength),
}

/// See [`PreTokenizer::ByteLevel`]; also a post-processor and a decoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByteLevel {
    /// Put a blank before a section that does not start with one.
    pub add_prefix_space: bool,
    /// As a post-processor: leave white space out of the offsets.
    pub trim_offsets: bool,
    /// Cut with GPT-2's pattern first.
    #[serde(default = "yes")]
    pub use_regex: bool,
}

fn yes() -> bool {
    true
}

/// See [`PreTokenizer::Split`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Split {
    /// The pattern.
    pub pattern: Pattern,
    /// What happens to what it matches.
    pub behavior: SplitBehavior,
    /// Swap matches and gaps.
    pub invert: bool,
    /// Whose dialect the pattern is in.
    #[serde(skip, default = "hugging_face")]
    pub semantics: Semantics,
}

impl Split {
    /// Whether the pieces are the matches, and what lies between them is left out. To tiktoken
    /// there is nothing but matches.
    #[must_use]
    pub fn keeps_only_matches(&self) -> bool {
        match self.behavior {
            SplitBehavior::Removed => self.invert,
            SplitBehavior::Isolated => self.semantics == Semantics::Tiktoken,
            _ => false,
        }
    }
}

fn hugging_face() -> Semantics {
    Semantics::HuggingFace
}

/// See [`PreTokenizer::Digits`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Digits {
    /// Every digit is a piece; otherwise every run of digits.
    pub individual_digits: bool,
}

/// See [`PreTokenizer::Metaspace`]; also a decoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metaspace {
    /// The mark, normally U+2581.
    pub replacement: char,
    /// Where it is put in front.
    pub prepend_scheme: PrependScheme,
    /// Cut before every mark.
    pub split: bool,
}

/// See [`PreTokenizer::Punctuation`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Punctuation {
    /// What happens to the punctuation.
    #[serde(default = "isolated")]
    pub behavior: SplitBehavior,
}

fn isolated() -> SplitBehavior {
    SplitBehavior::Isolated
}

/// See [`PreTokenizer::CharDelimiterSplit`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CharDelimiterSplit {
    /// The character to cut at.
    pub delimiter: char,
}

/// See [`PreTokenizer::FixedLength`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FixedLength {
    /// Characters a piece.
    #[serde(default = "five")]
    pub length: usize,
}

fn five() -> usize {
    5
}

// ---------------------------------------------------------------------------------------------
// Stage 5

/// Stage 5: adds the template's control tokens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum PostProcessor {
    /// One after the other.
    Sequence(Vec<PostProcessor>),
    /// Trims offsets; adds no tokens.
    ByteLevel(ByteLevel),
    /// RoBERTa's template.
    Roberta(RobertaProcessing),
    /// BERT's template.
    Bert(BertProcessing),
    /// A free template.
    Template(TemplateProcessing),
}

/// See [`PostProcessor::Roberta`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RobertaProcessing {
    /// The separator and its id.
    pub sep: (String, u32),
    /// The first token and its id.
    pub cls: (String, u32),
    /// Leave white space out of the offsets.
    pub trim_offsets: bool,
    /// Whether the pre-tokenizer puts a blank in front (for trimming).
    pub add_prefix_space: bool,
}

/// See [`PostProcessor::Bert`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BertProcessing {
    /// The separator and its id.
    pub sep: (String, u32),
    /// The first token and its id.
    pub cls: (String, u32),
}

/// Which of the two texts a template item stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SequenceName {
    /// The first text.
    A,
    /// The second text.
    B,
}

/// One item of a template.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum TemplateItem {
    /// The tokens of a text.
    Sequence {
        /// Which text.
        id: SequenceName,
        /// The type id of its tokens.
        type_id: u32,
    },
    /// A control token, by its key in `special_tokens`.
    SpecialToken {
        /// The key.
        id: String,
        /// The type id of its tokens.
        type_id: u32,
    },
}

/// One entry of a template's `special_tokens`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TemplateToken {
    /// The key.
    pub id: String,
    /// The ids it stands for.
    pub ids: Vec<u32>,
    /// Their spellings.
    pub tokens: Vec<String>,
}

/// See [`PostProcessor::Template`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TemplateProcessing {
    /// The template for one text.
    pub single: Vec<TemplateItem>,
    /// The template for two texts.
    pub pair: Vec<TemplateItem>,
    /// The control tokens, ordered by key.
    pub special_tokens: Vec<(String, TemplateToken)>,
}

// ---------------------------------------------------------------------------------------------
// Stage 6

/// Stage 6: turns tokens back into text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Decoder {
    /// One after the other.
    Sequence(Vec<Decoder>),
    /// Undoes GPT-2's byte alphabet.
    ByteLevel(ByteLevel),
    /// Turns the end-of-word suffix into a blank.
    Bpe(BpeDecoder),
    /// Joins all tokens into one string.
    Fuse,
    /// Replaces every match of a pattern.
    Replace(Replace),
    /// Drops a character at the ends of each token.
    Strip(StripDecoder),
    /// Turns `<0xNN>` tokens into bytes.
    ByteFallback,
    /// Undoes WordPiece's prefixes.
    WordPiece(WordPieceDecoder),
    /// Turns word marks into blanks.
    Metaspace(Metaspace),
    /// Drops repetitions and padding (connectionist temporal classification).
    Ctc(CtcDecoder),
    /// The tokens are raw bytes: join them and read UTF-8 (tiktoken).
    Bytes,
    /// SentencePiece's: word marks, byte tokens, and tokens that have no text.
    SentencePiece(SentencePieceDecoder),
    /// llama.cpp's: what a token reads as depends on what it is for.
    LlamaCpp(LlamaCppDecoder),
}

/// See [`Decoder::Bpe`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BpeDecoder {
    /// The suffix.
    pub suffix: String,
}

/// See [`Decoder::Strip`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StripDecoder {
    /// The character.
    pub content: char,
    /// At most so many at the start.
    pub start: usize,
    /// At most so many at the end.
    pub stop: usize,
}

/// See [`Decoder::WordPiece`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WordPieceDecoder {
    /// The prefix of continuing tokens.
    pub prefix: String,
    /// Tidy blanks before punctuation.
    pub cleanup: bool,
}

/// See [`Decoder::Ctc`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CtcDecoder {
    /// The token to drop.
    pub pad_token: String,
    /// The token that becomes a blank.
    pub word_delimiter_token: String,
    /// Tidy blanks before punctuation.
    pub cleanup: bool,
}
