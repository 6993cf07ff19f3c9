//! Superwords: BPE whose later merges join whole words.
//!
//! Source: Liu and others, "SuperBPE: Space Travel for Language Models" (2025) and Schmidt and
//! others, "Boundless Byte Pair Encoding" (2025): after so many ordinary merges the cut into words
//! no longer holds merges back. Only words that are one token by then take part, so what a corpus
//! offers is its *spans*, runs of such words, and these repeat as words do: they are counted, and
//! no text is kept ("Faster Superword Tokenization", 2026, shows that this loses nothing).
//!
//! A corpus is thus read twice: once for its words, from which [`bpe::train`] learns the first
//! stage, and once by a [`SpanCounter`], from which [`train`] learns the second. The second stage
//! is BPE whose symbols are tokens; its rules come after those of the first. An encoder that does
//! not cut between words applies both in one go. It may also join a word with the beginning of
//! one that is in parts, which training does not count.

use super::bpe::merge_all;
use super::symbols::{Prepared, Tokens};
use super::{BpeOptions, BpeTraining, MergeEvent, Symbols, WordCounts};
use crate::normalize::{Ends, Normalizer};
use crate::parallel::map_groups;
use crate::pretokenize::{Beginning, PreTokenizer};
use crate::spec::{self, Semantics};
use crate::text::alphabet::char_to_byte;
use crate::{Error, Result};
use rustc_hash::FxHashMap;
use std::ops::ControlFlow;

/// Which words may be joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SpanRule {
    /// Words of letters, with a blank before them or not: numbers, punctuation and line breaks
    /// stay what they are.
    #[default]
    Letters,
    /// All words.
    Any,
}

/// What a first stage learned, as far as the second needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FirstStage {
    /// The text of every token, in id order.
    pub tokens: Vec<String>,
    /// The rules, best first: left, right and the token they make.
    pub rules: Vec<(u32, u32, u32)>,
    /// How many of the first tokens are special.
    pub special_tokens: usize,
    /// What the first symbols are.
    pub symbols: Symbols,
}

impl FirstStage {
    /// That of a training.
    #[must_use]
    pub fn of(training: &BpeTraining, symbols: Symbols) -> Self {
        let rules = training.merges.iter().map(|merge| (merge.left, merge.right, merge.token));
        Self {
            tokens: training.tokens.clone(),
            rules: rules.collect(),
            special_tokens: training.special_tokens,
            symbols,
        }
    }
}

/// Counts the spans of texts: runs of two words or more that are one token each.
///
/// Each text ends a span, and so does a word that is in parts or that the rule leaves out.
#[derive(Debug)]
pub struct SpanCounter {
    normalizer: Normalizer,
    pre_tokenizer: PreTokenizer,
    /// The token of each word that is one.
    whole: FxHashMap<Vec<u8>, u32>,
    tokens: Vec<String>,
    specials: usize,
    /// Spans as ids of tokens, four bytes each.
    counts: WordCounts,
}

impl SpanCounter {
    /// A counter for the tokens of a first stage, whose words these components cut.
    ///
    /// # Errors
    /// [`ErrorKind::Artifact`](crate::ErrorKind::Artifact) for a component that cannot run.
    pub fn new(
        normalizer: Option<&spec::Normalizer>,
        pre_tokenizer: Option<&spec::PreTokenizer>,
        first: FirstStage,
        rule: SpanRule,
    ) -> Result<Self> {
        Ok(Self {
            normalizer: Normalizer::compile(normalizer, Semantics::HuggingFace)?,
            pre_tokenizer: PreTokenizer::compile(pre_tokenizer, Semantics::HuggingFace)?,
            whole: whole_words(&first, rule),
            tokens: first.tokens,
            specials: first.special_tokens,
            counts: WordCounts::new(),
        })
    }

    /// Counts the spans of some texts.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`](crate::ErrorKind::Limit) where a pattern reaches its bound.
    pub fn feed(&mut self, texts: &[&str], threads: usize) -> Result<()> {
        let groups = map_groups(
            texts,
            |text| text.len(),
            threads,
            |texts, _| {
                let mut counts = WordCounts::new();
                let mut span = Vec::new();
                for text in texts {
                    let (normalized, alignment) =
                        self.normalizer.apply_with_alignment(text, Ends::BOTH)?;
                    let head = alignment.head(&normalized, 0..normalized.len());
                    self.pre_tokenizer.for_each_piece(
                        &normalized,
                        Beginning::of_text(head),
                        |piece| {
                            if let Some(token) = self.whole.get(piece) {
                                span.extend_from_slice(&token.to_le_bytes());
                                return Ok(());
                            }
                            end_span(&mut span, &mut counts)
                        },
                    )?;
                    end_span(&mut span, &mut counts)?;
                }
                Ok(counts)
            },
        )?;
        groups.iter().try_for_each(|group| self.counts.merge(group))
    }

    /// The number of distinct spans.
    #[must_use]
    pub fn len(&self) -> usize {
        self.counts.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }
}

fn end_span(span: &mut Vec<u8>, counts: &mut WordCounts) -> Result<()> {
    if span.len() > size_of::<u32>() {
        counts.add(&*span, 1)?;
    }
    span.clear();
    Ok(())
}

/// Learns superwords. The result has all tokens, those of the first stage with their ids, and the
/// rules of the second stage alone, which come after those of the first.
///
/// Of `options` the vocabulary size, the minimum, the tie rule and the listed ties hold;
/// `max_token_length` bounds the words of a superword.
///
/// # Errors
/// [`ErrorKind::Input`](crate::ErrorKind::Input) if there are no spans or an option is one of the
/// first stage, else as [`bpe::train`](super::bpe::train).
pub fn train(
    spans: &SpanCounter,
    options: &BpeOptions,
    observer: &mut dyn FnMut(&MergeEvent<'_>) -> ControlFlow<()>,
) -> Result<BpeTraining> {
    if spans.is_empty() {
        return Err(Error::input("No two words that are one token each stand side by side.")
            .hint("Let the first stage learn more tokens, or feed more texts."));
    }
    let first_stage = !options.required.is_empty()
        || !options.special_tokens.is_empty()
        || options.continuing_subword_prefix.is_some()
        || options.end_of_word_suffix.is_some();
    if first_stage {
        return Err(Error::input(
            "Special and required tokens, prefix and suffix belong to the first stage.",
        ));
    }
    let mut tokens = Tokens::default();
    for token in &spans.tokens {
        tokens.intern(token)?;
    }
    let mut prepared = Prepared {
        tokens,
        specials: spans.specials,
        symbols: Vec::new(),
        ends: Vec::new(),
        weights: Vec::new(),
        total: 0,
    };
    for (span, count) in spans.counts.iter() {
        let symbols = span.as_chunks().0.iter().map(|&bytes| u32::from_le_bytes(bytes));
        prepared.push(symbols, count)?;
    }
    merge_all(prepared, options, observer)
}

/// The words that the rules of a first stage make one token, as they are cut from a text.
fn whole_words(first: &FirstStage, rule: SpanRule) -> FxHashMap<Vec<u8>, u32> {
    let rules = first.rules.iter().enumerate();
    let ranks: FxHashMap<(u32, u32), (usize, u32)> =
        rules.map(|(rank, &(left, right, token))| ((left, right), (rank, token))).collect();
    let ids: FxHashMap<&str, u32> = first.tokens.iter().map(String::as_str).zip(0..).collect();
    let mut whole = FxHashMap::default();
    for (token, id) in first.tokens.iter().zip(0..).skip(first.special_tokens) {
        let bytes: Option<Vec<u8>> = match first.symbols {
            Symbols::Bytes => token.chars().map(char_to_byte).collect(),
            Symbols::Characters => Some(token.as_bytes().to_vec()),
        };
        let Some(bytes) = bytes else { continue };
        let word = std::str::from_utf8(&bytes);
        if rule == SpanRule::Letters && !word.is_ok_and(is_of_letters) {
            continue;
        }
        let letters = token.char_indices().map(|(at, c)| &token[at..at + c.len_utf8()]);
        let parts: Option<Vec<u32>> = letters.map(|letter| ids.get(letter).copied()).collect();
        if parts.is_some_and(|parts| joined(parts, &ranks) == [id]) {
            whole.insert(bytes, id);
        }
    }
    whole
}

/// Letters, and the blank before them if there is one.
fn is_of_letters(word: &str) -> bool {
    let word = word.strip_prefix([' ', '\u{2581}']).unwrap_or(word);
    !word.is_empty() && word.chars().all(char::is_alphabetic)
}

/// Applies the rules: the first in rank, leftmost, as long as there is one.
fn joined(mut parts: Vec<u32>, ranks: &FxHashMap<(u32, u32), (usize, u32)>) -> Vec<u32> {
    while let Some((_, at, token)) = parts
        .windows(2)
        .enumerate()
        .filter_map(|(at, two)| ranks.get(&(two[0], two[1])).map(|&(rank, t)| (rank, at, t)))
        .min()
    {
        parts[at] = token;
        parts.remove(at + 1);
    }
    parts
}
