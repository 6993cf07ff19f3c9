//! Byte-pair encoding: merge the most frequent pair of neighbouring tokens, again and again.
//!
//! Source: Sennrich, Haddow and Birch, "Neural Machine Translation of Rare Words with Subword
//! Units" (2016), after Gage (1994). Pairs are counted once and then kept up to date around each
//! merge, so training is O(N + R log R) for N symbols in the distinct words and R pairs created,
//! also when the corpus is a single word of millions of letters.
//!
//! # What decides the result
//!
//! The highest count wins; [`TieRule`] orders equal counts totally. Overlapping occurrences all
//! count (`aaa` holds `aa` twice) although one merge uses only some. When a merge spells a token
//! that exists (`ab`+`c` after `a`+`bc`), the id is reused and the vocabulary does not grow.
//!
//! [`TieRule::LowestIds`] repeats the trainer of Hugging Face's `tokenizers` merge for merge,
//! including what follows there from a reused token: the count of a merged pair is not cleared,
//! new occurrences add to it, they are merged apart from the old ones and only in the words that
//! got them, and of a repeated rule the last stands. Differences: counts have 64 bits, not 32;
//! equal counts at the edge of `limit_alphabet`, and ids of prefixed or suffixed symbols, follow
//! a fixed order where there they change from run to run; a `vocab_size` that the base
//! vocabulary exceeds is an error. Under the other rules counts are exact at every step, and of
//! a repeated rule the first stands.

use super::WordCounts;
use super::pairs::PairIndex;
use super::queue::{Entry, Queue, ids_key};
use super::symbols::{Prepared, Tokens, prepare};
use crate::text::alphabet::BYTE_TO_CHAR;
use crate::{Error, Result};
use rustc_hash::FxHashSet;
use std::ops::ControlFlow;

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
    /// Hugging Face's `tokenizers` (see the [module](self)).
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
#[derive(Debug, Clone, PartialEq, Eq)]
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
    /// Tokens with the first ids. A repeated one counts once.
    pub special_tokens: Vec<String>,
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
            special_tokens: Vec::new(),
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
    /// How many other pairs had the same count.
    pub tied: u64,
    /// Those pairs in reading order, as many as [`BpeOptions::listed_ties`] allows.
    pub ties: Vec<(u32, u32)>,
    /// The tokens in the corpus, with repetitions, after the step.
    pub tokens_after: u64,
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

/// A trained vocabulary with its merge rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BpeTraining {
    /// The text of every token, in id order.
    pub tokens: Vec<String>,
    /// The rules, best first. None occurs twice.
    pub merges: Vec<BpeMerge>,
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
    /// The rules as texts, in the order of a merges file.
    pub fn merge_texts(&self) -> impl ExactSizeIterator<Item = (&str, &str)> + '_ {
        let text = |id: u32| self.tokens[id as usize].as_str();
        self.merges.iter().map(move |merge| (text(merge.left), text(merge.right)))
    }
}

/// Learns merges from weighted words, calling `observer` after each step.
///
/// ```
/// use protok_core::train::{BpeOptions, Symbols, WordCounts, bpe};
/// use std::ops::ControlFlow;
///
/// let mut words = WordCounts::new();
/// for (word, count) in [("hug", 10), ("pug", 5), ("pun", 12), ("bun", 4), ("hugs", 5)] {
///     words.add(word, count)?;
/// }
/// let options =
///     BpeOptions { vocab_size: 10, symbols: Symbols::Characters, ..BpeOptions::default() };
/// let training = bpe::train(&words, &options, &mut |_| ControlFlow::Continue(()))?;
/// let merges: Vec<_> = training.merge_texts().collect();
/// assert_eq!(merges, [("u", "g"), ("u", "n"), ("h", "ug")]);
/// assert_eq!(training.merges[0].count, 20);
/// # Ok::<(), protok_core::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Input`](crate::ErrorKind::Input) for an empty corpus, words that are not UTF-8
/// where characters are asked for, or a vocabulary smaller than its special tokens and alphabet;
/// [`ErrorKind::Limit`](crate::ErrorKind::Limit) when 2^30 symbols in distinct words, 2^63
/// occurrences or 1 GiB of token text is passed.
pub fn train(
    words: &WordCounts,
    options: &BpeOptions,
    observer: &mut dyn FnMut(&MergeEvent<'_>) -> ControlFlow<()>,
) -> Result<BpeTraining> {
    let prepared = prepare(words, options)?;
    let mut steps = Steps::new(&prepared, options)?;
    let mut trainer = Trainer {
        pairs: PairIndex::new(&prepared),
        queue: Queue::new(options.tie),
        tie: options.tie,
    };
    drop((prepared.symbols, prepared.ends, prepared.weights));
    let mut tokens = prepared.tokens;
    for generation in trainer.pairs.generations() {
        trainer.push(generation, &tokens);
    }
    let stop = loop {
        if tokens.len() >= options.vocab_size {
            break StopReason::VocabSize;
        }
        let Some(entry) = trainer.next(&tokens) else { break StopReason::NoPairs };
        let count = entry.count.unsigned_abs();
        if count < options.min_frequency {
            break StopReason::MinFrequency(count);
        }
        let pair = trainer.pairs.pair_of(entry.generation);
        let tied = trainer.pairs.waiting(entry.count).saturating_sub(1);
        let mut ties = Vec::new();
        if tied > 0 && options.listed_ties > 0 {
            let waiting = trainer.pairs.waiting_pairs(entry.count).into_iter();
            let others = waiting.filter(|&(_, other)| other != pair);
            ties.extend(others.take(options.listed_ties).map(|(_, p)| trainer.pairs.symbols(p)));
        }
        let (left, right) = trainer.pairs.symbols(pair);
        let (token, is_new) = steps.spell(left, right, &mut tokens)?;
        let saved =
            trainer.merge(entry, token, &tokens, &|left, right| steps.may_merge(left, right));
        let merge = BpeMerge { left, right, token, count, tied, ties, tokens_after: 0 };
        if steps.record(merge, saved, is_new, &tokens, observer).is_break() {
            break StopReason::Observer;
        }
    };
    Ok(steps.finish(&tokens, stop))
}

/// The queue over the index, in one of two ways of keeping counts.
struct Trainer {
    pairs: PairIndex,
    queue: Queue,
    tie: TieRule,
}

impl Trainer {
    fn tie_of(&mut self, pair: u32) -> u64 {
        match self.tie {
            TieRule::FirstSeen => self.pairs.first_site(pair).into(),
            _ => ids_key(self.pairs.symbols(pair)),
        }
    }

    fn push(&mut self, generation: u32, tokens: &Tokens) {
        let pair = self.pairs.pair_of(generation);
        let (count, tie) = (self.pairs.count(pair), self.tie_of(pair));
        self.queue.push(Entry { count, tie, generation }, tokens);
    }

    /// The best entry that is up to date.
    fn next(&mut self, tokens: &Tokens) -> Option<Entry> {
        while let Some(entry) = self.queue.pop(tokens) {
            let pair = self.pairs.pair_of(entry.generation);
            let newest = self.pairs.newest(pair);
            // Where counts are exact, the newest entry of a pair speaks for all its sites, and
            // none stays for a pair that is gone.
            let exact = self.tie != TieRule::LowestIds;
            if exact && (newest != entry.generation || self.pairs.count(pair) <= 0) {
                continue;
            }
            let (count, tie) = (self.pairs.count(pair), self.tie_of(pair));
            if (count, tie) == (entry.count, entry.tie) {
                return (count > 0).then_some(entry);
            }
            self.queue.push(Entry { count, tie, ..entry }, tokens);
        }
        None
    }

    /// Merges, queues the pairs that came up, and returns how many tokens that saved.
    fn merge(
        &mut self,
        entry: Entry,
        token: u32,
        tokens: &Tokens,
        may_merge: &dyn Fn(u32, u32) -> bool,
    ) -> i64 {
        let pair = self.pairs.pair_of(entry.generation);
        let saved = if self.tie == TieRule::LowestIds {
            let sites = self.pairs.take_words(entry.generation);
            self.pairs.apply(pair, token, &sites, may_merge)
        } else {
            let sites = self.pairs.take_all(pair);
            let saved = self.pairs.apply(pair, token, &sites, may_merge);
            self.pairs.clear(pair);
            saved
        };
        for generation in self.pairs.settle() {
            self.push(generation, tokens);
        }
        saved
    }
}

/// The rules learned so far, and how new tokens are spelled.
pub(super) struct Steps<'a> {
    options: &'a BpeOptions,
    /// How many first symbols each token has; zero if it has not been built.
    lengths: Vec<usize>,
    merges: Vec<BpeMerge>,
    specials: usize,
    base_size: usize,
    initial_tokens: u64,
    tokens_now: u64,
    text: String,
}

impl<'a> Steps<'a> {
    pub(super) fn new(prepared: &Prepared, options: &'a BpeOptions) -> Result<Self> {
        let base_size = prepared.tokens.len();
        if base_size > options.vocab_size {
            let special = prepared.specials;
            return Err(Error::input(format!(
                "A vocabulary of {} tokens cannot hold {special} special tokens and an alphabet \
                 of {} symbols.",
                options.vocab_size,
                base_size - special,
            ))
            .at("vocab_size")
            .hint(format!("Ask for at least {base_size}, or set limit_alphabet.")));
        }
        let mut lengths = vec![0; base_size];
        prepared.symbols.iter().for_each(|&symbol| lengths[symbol as usize] = 1);
        let initial_tokens = prepared.total.unsigned_abs();
        Ok(Self {
            options,
            lengths,
            merges: Vec::new(),
            specials: prepared.specials,
            base_size,
            initial_tokens,
            tokens_now: initial_tokens,
            text: String::new(),
        })
    }

    pub(super) fn may_merge(&self, left: u32, right: u32) -> bool {
        let (left, right) = (self.lengths[left as usize], self.lengths[right as usize]);
        self.options.max_token_length.is_none_or(|bound| left + right < bound || left + right == 2)
    }

    /// The token of a pair, and whether it is new: the left text, then the right one without
    /// its continuing prefix.
    pub(super) fn spell(
        &mut self,
        left: u32,
        right: u32,
        tokens: &mut Tokens,
    ) -> Result<(u32, bool)> {
        let mut tail = tokens.get(right);
        if let Some(prefix) = &self.options.continuing_subword_prefix {
            tail = tail.strip_prefix(prefix.as_str()).unwrap_or(tail);
        }
        self.text.clear();
        self.text.push_str(tokens.get(left));
        self.text.push_str(tail);
        let (token, is_new) = tokens.intern(&self.text)?;
        self.lengths.resize(tokens.len(), 0);
        let length = self.lengths[left as usize] + self.lengths[right as usize];
        let slot = &mut self.lengths[token as usize];
        if *slot == 0 {
            *slot = length;
        }
        Ok((token, is_new))
    }

    pub(super) fn record(
        &mut self,
        mut merge: BpeMerge,
        saved: i64,
        is_new: bool,
        tokens: &Tokens,
        observer: &mut dyn FnMut(&MergeEvent<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        self.tokens_now = self.tokens_now.saturating_sub(saved.unsigned_abs());
        merge.tokens_after = self.tokens_now;
        let flow = observer(&MergeEvent {
            step: self.merges.len(),
            left: tokens.get(merge.left),
            right: tokens.get(merge.right),
            token: tokens.get(merge.token),
            is_new,
            vocab_size: tokens.len(),
            merge: &merge,
        });
        self.merges.push(merge);
        flow
    }

    pub(super) fn finish(mut self, tokens: &Tokens, stop: StopReason) -> BpeTraining {
        let mut seen = FxHashSet::default();
        let keep_last = self.options.tie == TieRule::LowestIds;
        if keep_last {
            self.merges.reverse();
        }
        self.merges.retain(|merge| seen.insert((merge.left, merge.right)));
        if keep_last {
            self.merges.reverse();
        }
        BpeTraining {
            tokens: tokens.to_vec(),
            merges: self.merges,
            special_tokens: self.specials,
            base_size: self.base_size,
            initial_tokens: self.initial_tokens,
            stop,
        }
    }
}
