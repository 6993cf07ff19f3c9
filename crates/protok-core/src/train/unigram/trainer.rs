//! The rounds of a training.

use super::super::{WordCounts, coverage};
use super::digamma::digamma;
use super::expectation::{best_paths, expected, shards};
use super::pieces::Pieces;
use super::text::Text;
use super::{PieceRules, prune, seeds};
use crate::{Error, Result};
use std::collections::BTreeSet;
use std::ops::{ControlFlow, Range};

/// How to train.
#[derive(Debug, Clone, PartialEq)]
pub struct UnigramOptions {
    /// The number of entries in all: special tokens, 256 bytes with `byte_fallback`, and pieces.
    pub vocab_size: usize,
    /// The most substrings to start from, characters apart.
    pub seed_size: usize,
    /// The share of the pieces that a round leaves, above 0 and below 1.
    pub shrinking_factor: f64,
    /// How often expectation and maximization alternate before pieces are removed.
    pub em_iterations: usize,
    /// The most characters of a piece. Required ones may have more.
    pub max_piece_length: usize,
    /// The share of the corpus's characters that the pieces are to spell; all by default.
    pub character_coverage: Option<f64>,
    /// Entries beside the pieces: none becomes a piece.
    pub special_tokens: Vec<String>,
    /// Pieces that must stay, whether the corpus has them or not.
    pub required: Vec<String>,
    /// Whether the vocabulary holds 256 entries for bytes, which spell what the pieces do not.
    pub byte_fallback: bool,
    /// Which strings may become pieces.
    pub rules: PieceRules,
}

impl Default for UnigramOptions {
    fn default() -> Self {
        Self {
            vocab_size: 8000,
            seed_size: 1_000_000,
            shrinking_factor: 0.75,
            em_iterations: 2,
            max_piece_length: 16,
            character_coverage: None,
            special_tokens: Vec::new(),
            required: Vec::new(),
            byte_fallback: false,
            rules: PieceRules::default(),
        }
    }
}

/// One round: the pieces are fitted, then some of them removed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Round {
    /// The number of pieces that were fitted.
    pub size: usize,
    /// The negative logarithm of the corpus's probability over all segmentations, per kept
    /// character, as the last expectation found it.
    pub loss: f64,
    /// The expected number of pieces in the corpus then.
    pub tokens: f64,
    /// The number of pieces that are left after the round.
    pub left: usize,
}

/// Why a training ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnigramStop {
    /// The vocabulary has the size asked for.
    VocabSize,
    /// The corpus has fewer substrings that may be pieces: all of them stay.
    NoPieces,
    /// The observer asked for it: the vocabulary is larger than asked for.
    Observer,
}

/// A trained vocabulary.
#[derive(Debug, Clone, PartialEq)]
pub struct UnigramTraining {
    /// Pieces with the natural logarithms of their probabilities, the most probable first.
    pub pieces: Vec<(String, f64)>,
    /// The rounds, first to last.
    pub rounds: Vec<Round>,
    /// How many distinct special tokens the size counts.
    pub special_tokens: usize,
    /// The characters of the corpus that pieces spell, with repetitions.
    pub characters: u64,
    /// The other characters, with repetitions.
    pub unknown: u64,
    /// Why the training ended.
    pub stop: UnigramStop,
}

/// Learns pieces from weighted words, calling `observer` after each round.
///
/// ```
/// use protok_core::train::{UnigramOptions, WordCounts, unigram};
/// use std::ops::ControlFlow;
///
/// let mut words = WordCounts::new();
/// for (word, count) in [("hug", 10), ("pug", 5), ("pun", 12), ("bun", 4), ("hugs", 5)] {
///     words.add(word, count)?;
/// }
/// let options = UnigramOptions { vocab_size: 9, ..UnigramOptions::default() };
/// let training = unigram::train(&words, &options, 1, &mut |_| ControlFlow::Continue(()))?;
/// assert_eq!(training.pieces.len(), 9);
/// let mut learned: Vec<&str> = training.pieces.iter().map(|(piece, _)| &**piece).collect();
/// learned.retain(|piece| piece.len() > 1);
/// assert_eq!(learned, ["hug", "pun"]);
/// # Ok::<(), protok_core::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Input`](crate::ErrorKind::Input) for an empty corpus, words that are not UTF-8, or
/// a vocabulary that cannot hold its characters; [`ErrorKind::Limit`](crate::ErrorKind::Limit)
/// when 2^31 characters in distinct words or 2^63 occurrences are passed.
pub fn train(
    words: &WordCounts,
    options: &UnigramOptions,
    threads: usize,
    observer: &mut dyn FnMut(&Round) -> ControlFlow<()>,
) -> Result<UnigramTraining> {
    check(words, options)?;
    let text = Text::new(words, options)?;
    let specials: BTreeSet<&str> = options.special_tokens.iter().map(String::as_str).collect();
    let beside = specials.len() + if options.byte_fallback { 256 } else { 0 };
    let pieces = seeds::choose(&text, options, threads)?;
    let protected = pieces.protected.iter().filter(|&&protected| protected).count();
    let target = options.vocab_size.checked_sub(beside).filter(|&size| size >= protected);
    let Some(target) = target else {
        return Err(Error::input(format!(
            "A vocabulary of {} entries cannot hold {beside} special and byte entries, {} \
             characters and {} required entries.",
            options.vocab_size,
            text.alphabet.len(),
            protected - text.alphabet.len(),
        ))
        .at("vocab_size")
        .hint(format!("Ask for at least {}, or lower character_coverage.", beside + protected)));
    };
    let shards = shards(&text);
    let mut state = State { text: &text, shards, pieces, threads, target };
    let mut rounds = Vec::new();
    let stop = loop {
        let (loss, tokens) = state.fit(options.em_iterations);
        let size = state.pieces.len();
        if size > target {
            let smaller = (size as f64 * options.shrinking_factor) as usize;
            state.shrink(smaller.max(target))?;
        }
        let round = Round { size, loss, tokens, left: state.pieces.len() };
        rounds.push(round);
        if observer(&round).is_break() {
            break UnigramStop::Observer;
        }
        match size.cmp(&target) {
            std::cmp::Ordering::Less => break UnigramStop::NoPieces,
            std::cmp::Ordering::Equal => break UnigramStop::VocabSize,
            std::cmp::Ordering::Greater => {}
        }
    };
    let pieces = &state.pieces;
    let mut learned: Vec<(String, f64)> =
        (0..pieces.len()).map(|id| (pieces.string(id, &text), pieces.scores[id])).collect();
    learned.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    Ok(UnigramTraining {
        pieces: learned,
        rounds,
        special_tokens: specials.len(),
        characters: text.characters,
        unknown: text.unknown,
        stop,
    })
}

fn check(words: &WordCounts, options: &UnigramOptions) -> Result<()> {
    if words.is_empty() {
        return Err(Error::input("The corpus has no words to train on.")
            .hint("Check the files and the pretokenization."));
    }
    if words.saturated() {
        return Err(Error::limit("A word count does not fit in 64 bits."));
    }
    coverage::check(options.character_coverage)?;
    let share = options.shrinking_factor;
    if !(share > 0.0 && share < 1.0) {
        return Err(Error::input(format!("No round can leave a share of {share} of the pieces."))
            .at("shrinking_factor")
            .hint("Give a number between 0 and 1, such as 0.75.")
            .value(share.to_string()));
    }
    for (name, value) in
        [("em_iterations", options.em_iterations), ("max_piece_length", options.max_piece_length)]
    {
        if value == 0 {
            return Err(Error::input(format!("{name} is 0.")).at(name).hint("Give at least 1."));
        }
    }
    for (name, entries) in
        [("special_tokens", &options.special_tokens), ("required", &options.required)]
    {
        if entries.iter().any(String::is_empty) {
            return Err(Error::input("An entry is empty.").at(name));
        }
    }
    let clash = options.required.iter().find(|entry| options.special_tokens.contains(entry));
    if let Some(entry) = clash {
        return Err(Error::input(format!(
            "{entry:?} is both a special token and a required piece."
        ))
        .at("required")
        .hint("Leave it out of one of them.")
        .value(entry.clone()));
    }
    Ok(())
}

/// The pieces while they are fitted and removed.
struct State<'a> {
    text: &'a Text,
    shards: Vec<Range<usize>>,
    pieces: Pieces,
    threads: usize,
    target: usize,
}

/// The least count that a piece is given: with it a character that is hardly used is still
/// likelier than an unknown one.
const LEAST: f64 = 0.5;

impl State<'_> {
    /// Alternates expectation and maximization; returns the last loss per character and the
    /// expected number of tokens.
    fn fit(&mut self, iterations: usize) -> (f64, f64) {
        let mut last = (0.0, 0.0);
        for _ in 0..iterations {
            let floor = self.floor();
            self.pieces.show_probabilities();
            let sums = expected(&self.pieces, self.text, &self.shards, floor, self.threads);
            last = (
                -sums.log_likelihood / self.text.characters as f64,
                sums.counts.iter().sum::<f64>(),
            );
            self.maximize(sums.counts);
        }
        last
    }

    /// The least probability of a character.
    fn floor(&self) -> f64 {
        let links = self.pieces.links.iter().zip(&self.pieces.scores);
        let least = links.filter(|(link, _)| link.length == 1).map(|(_, &score)| score);
        libm::exp(least.fold(0.0, f64::min))
    }

    /// Turns expected counts into scores, by the digamma function: that of a Dirichlet prior
    /// which makes rare pieces rarer. Pieces that are hardly used go, down to the target.
    fn maximize(&mut self, mut counts: Vec<f64>) {
        let rare = counts.iter().zip(&self.pieces.protected);
        let rare = rare.filter(|&(&count, &protected)| count < LEAST && !protected).count();
        if rare > 0 && self.pieces.len() > self.target {
            let size = (self.pieces.len() - rare).max(self.target);
            let kept = prune::best(&self.pieces, &counts, size);
            self.pieces.retain(&kept);
            let mut kept = kept.into_iter();
            counts.retain(|_| kept.next().unwrap_or(false));
        }
        counts.iter_mut().for_each(|count| *count = count.max(LEAST));
        let total = digamma(counts.iter().sum());
        for (score, count) in self.pieces.scores.iter_mut().zip(counts) {
            *score = digamma(count) - total;
        }
    }

    /// Removes the pieces that cost the least, down to `size`.
    fn shrink(&mut self, size: usize) -> Result<()> {
        self.pieces.show_scores();
        let sums = best_paths(&self.pieces, self.text, &self.shards, self.threads);
        let losses = prune::losses(&self.pieces, &sums.counts, self.threads)?;
        let kept = prune::best(&self.pieces, &losses, size);
        self.pieces.retain(&kept);
        Ok(())
    }
}
