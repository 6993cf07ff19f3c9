//! What the trainers that merge pairs are asked, and what they answer.

use crate::text::alphabet::BYTE_TO_CHAR;

/// What the first symbols are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Symbols {
    /// Bytes, spelled in the GPT-2 byte alphabet.
    #[default]
    Bytes,
    /// Unicode characters.
    Characters,
}

/// Where the end-of-word suffix goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EndOfWord {
    /// Onto the last symbol of a word: `low` starts as `l o w</w>`.
    #[default]
    Glued,
    /// Behind it, as a symbol: `low` starts as `l o w </w>`.
    Separate,
}

/// Which of several pairs with the same count is merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TieRule {
    /// The pair with the smallest left id, then the smallest right id, and the bookkeeping of
    /// Hugging Face's `tokenizers` (see [`super::bpe`]).
    #[default]
    LowestIds,
    /// The pair that sorts first as a pair of texts, by code point.
    LexicographicFirst,
    /// The pair that sorts last as a pair of texts, by code point.
    LexicographicLast,
    /// The pair met first when the tokens of all words are read in recorded order.
    FirstSeen,
}

/// How to train.
#[derive(Debug, Clone, PartialEq)]
pub struct BpeOptions {
    /// The number of tokens in all: special tokens, alphabet and merged tokens.
    pub vocab_size: usize,
    /// The smallest count at which a pair is merged. Zero is as one.
    pub min_frequency: u64,
    /// What the first symbols are.
    pub symbols: Symbols,
    /// Characters that are in the alphabet even if the corpus lacks them. For bytes: characters
    /// of the byte alphabet.
    pub initial_alphabet: Vec<char>,
    /// The most characters in the alphabet; others are dropped from the words.
    pub limit_alphabet: Option<usize>,
    /// The share of the corpus's characters that the alphabet is to cover; all by default. The
    /// rarest are left out, and cut the words that hold them; the blank mark U+2581 stays. Only
    /// for characters.
    pub character_coverage: Option<f64>,
    /// Tokens with the first ids. A repeated one counts once.
    pub special_tokens: Vec<String>,
    /// Tokens that the vocabulary must hold: for bytes as text, for characters as the vocabulary
    /// spells them. See [`super::bpe`] for the rules that they get.
    pub required: Vec<String>,
    /// A mark for the end of a word, such as `</w>`.
    pub end_of_word_suffix: Option<String>,
    /// Where that mark goes.
    pub end_of_word: EndOfWord,
    /// A mark for symbols inside a word, such as `##`.
    pub continuing_subword_prefix: Option<String>,
    /// Merged tokens have fewer symbols than this, except that two first symbols may always
    /// merge. As in Hugging Face's trainer, the bound itself is not reached.
    pub max_token_length: Option<usize>,
    /// Which of several pairs with the same count is merged.
    pub tie: TieRule,
    /// The most pairs to list in [`BpeMerge::ties`]. Listing reads all pairs at each tied step,
    /// which suits corpora that a person reads.
    pub listed_ties: usize,
}

impl Default for BpeOptions {
    fn default() -> Self {
        Self {
            vocab_size: 30_000,
            min_frequency: 0,
            symbols: Symbols::default(),
            initial_alphabet: Vec::new(),
            limit_alphabet: None,
            character_coverage: None,
            special_tokens: Vec::new(),
            required: Vec::new(),
            end_of_word_suffix: None,
            end_of_word: EndOfWord::default(),
            continuing_subword_prefix: None,
            max_token_length: None,
            tie: TieRule::default(),
            listed_ties: 0,
        }
    }
}

impl BpeOptions {
    /// Options for bytes whose vocabulary holds all 256, so that any text can be encoded.
    #[must_use]
    pub fn all_bytes(vocab_size: usize) -> Self {
        Self { vocab_size, initial_alphabet: BYTE_TO_CHAR.to_vec(), ..Self::default() }
    }
}

/// One merge rule, and what the corpus looked like when it was learned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BpeMerge {
    /// The id of the left token.
    pub left: u32,
    /// The id of the right token.
    pub right: u32,
    /// The id of the token they make.
    pub token: u32,
    /// The count of the pair at its step.
    pub count: u64,
    /// How often the left and the right token occurred then, where the choice went by them.
    pub parts: Option<(u64, u64)>,
    /// Whether a required token asked for it, whatever its count was.
    pub required: bool,
    /// How many other pairs had the same count, or score. Of scores they are counted only where
    /// [`BpeOptions::listed_ties`] asks for some.
    pub tied: u64,
    /// Those pairs in reading order, as many as [`BpeOptions::listed_ties`] allows.
    pub ties: Vec<(u32, u32)>,
    /// The tokens in the corpus, with repetitions, after the step.
    pub tokens_after: u64,
}

impl BpeMerge {
    /// A merge of the most frequent pair. What is left afterwards is filled in as it is recorded.
    pub(super) fn counted(
        (left, right): (u32, u32),
        token: u32,
        count: i64,
        (tied, ties): (u64, Vec<(u32, u32)>),
    ) -> Self {
        let (count, tokens_after) = (count.unsigned_abs(), 0);
        Self { left, right, token, count, parts: None, required: false, tied, ties, tokens_after }
    }

    /// What the choice went by: the count of the pair, or that over the counts of its parts.
    #[must_use]
    pub fn score(&self) -> f64 {
        let count = self.count as f64;
        self.parts.map_or(count, |(left, right)| count / left as f64 / right as f64)
    }
}

/// A step of the training, as it happens.
#[derive(Debug)]
pub struct MergeEvent<'a> {
    /// The number of the step, from zero.
    pub step: usize,
    /// The text of the left token.
    pub left: &'a str,
    /// The text of the right token.
    pub right: &'a str,
    /// The text of the token they make.
    pub token: &'a str,
    /// Whether the token is new in the vocabulary.
    pub is_new: bool,
    /// The number of tokens in the vocabulary after the step.
    pub vocab_size: usize,
    /// The rule and its figures.
    pub merge: &'a BpeMerge,
}

/// Why a training ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// The vocabulary has the size asked for.
    VocabSize,
    /// No pair that may be merged is left: the corpus cannot fill the vocabulary.
    NoPairs,
    /// The most frequent pair has this count, below the minimum.
    MinFrequency(u64),
    /// The observer asked for it.
    Observer,
}

/// A token that was taken out of the vocabulary again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removal {
    /// The step whose merge left too little of it.
    pub step: usize,
    /// Its id.
    pub token: u32,
    /// What it was taken apart into where it still stood.
    pub parts: Vec<u32>,
    /// How often that was.
    pub times: u64,
}

/// A trained vocabulary with its merge rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BpeTraining {
    /// The text of every token, in id order.
    pub tokens: Vec<String>,
    /// The rules, best first. None occurs twice, but where tokens are removed.
    pub merges: Vec<BpeMerge>,
    /// The tokens that were removed again, by steps: see [`super::removal`].
    pub removals: Vec<Removal>,
    /// How many of the first tokens are special.
    pub special_tokens: usize,
    /// How many tokens there were before the first merge.
    pub base_size: usize,
    /// The symbols in the corpus, with repetitions, before the first merge.
    pub initial_tokens: u64,
    /// Why the training ended. Unless it is [`StopReason::VocabSize`], there are fewer tokens
    /// than asked for.
    pub stop: StopReason,
}

impl BpeTraining {
    /// The ids of the tokens that are there at the end.
    #[must_use]
    pub fn kept(&self) -> Vec<u32> {
        let mut gone = vec![false; self.tokens.len()];
        let mut removals = self.removals.iter().peekable();
        for (step, merge) in self.merges.iter().enumerate() {
            gone[merge.token as usize] = false;
            while let Some(removal) = removals.next_if(|removal| removal.step == step) {
                gone[removal.token as usize] = true;
            }
        }
        (0..).zip(gone).filter_map(|(id, gone)| (!gone).then_some(id)).collect()
    }

    /// The rules as texts, in the order of a merges file.
    pub fn merge_texts(&self) -> impl ExactSizeIterator<Item = (&str, &str)> + '_ {
        let text = |id: u32| self.tokens[id as usize].as_str();
        self.merges.iter().map(move |merge| (text(merge.left), text(merge.right)))
    }
}
