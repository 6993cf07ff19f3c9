//! Unigram: of all ways to cut a piece into tokens, the one whose scores add up to the most.
//!
//! One pass from left to right keeps the best way to reach each place ([`viterbi`]); nothing of
//! the lattice of ways is stored. Where every token that was seen so far has ended, the way there
//! is settled and written, so memory is bounded by the longest stretch that tokens overlap in. A
//! piece of n bytes takes n·L steps, for a longest token of L bytes.
//!
//! The best ways after the first, and random ones, do take the [`lattice`].
//!
//! How sums round, what an unknown character costs and what a run of them becomes decide near
//! ties, and differ: `tokenizers` adds 64-bit numbers, SentencePiece 32-bit ones along the whole
//! text, and llama.cpp adds 64-bit numbers to which user-defined tokens add nothing.
//! [`Semantics`] picks the rules when a model is compiled.
//!
//! Sources: Kudo, "Subword Regularization" (2018); the models of `tokenizers` 0.23.3 and
//! SentencePiece 0.2.3; the UGM tokenizer of llama.cpp.

pub mod lattice;
pub mod reference;
pub mod score;
pub mod viterbi;

use rustc_hash::FxHashSet;

use super::output::{Emitter, LookUp, NONE, Output, Unknown, byte_tokens};
use super::random::Random;
use super::trie::{NO_VALUE, Trie};
use super::{Engine, Scratch, Symbol, Unit};
use crate::error::{Error, Result};
use crate::spec::{self, PieceKind, Semantics};
use crate::vocab::Vocab;

use lattice::Lattice;
use score::Score;
pub use viterbi::Paths;

/// So many ways are given at most.
pub const MOST_WAYS: usize = 1024;

/// A compiled Unigram model.
#[derive(Debug)]
pub struct Unigram {
    /// Tokens by their text; the value is the place in `entries`.
    trie: Trie,
    entries: Entries,
    /// Place of each id in `entries`, where text may yield it; else [`NO_VALUE`].
    places: Vec<u32>,
    unknown: Unknown,
    /// Whether an unknown run is looked up as a whole.
    whole_runs: bool,
}

/// The tokens, in the numbers that the semantics adds.
#[derive(Debug)]
enum Entries {
    Single(Table<f32>),
    Double(Table<f64>),
}

#[derive(Debug)]
struct Table<S> {
    entries: Vec<Entry<S>>,
    unknown_score: S,
}

#[derive(Debug, Clone, Copy)]
struct Entry<S> {
    score: S,
    id: u32,
    user_defined: bool,
}

macro_rules! with_table {
    ($entries:expr, $table:ident => $body:expr) => {
        match $entries {
            Entries::Single($table) => $body,
            Entries::Double($table) => $body,
        }
    };
}

impl Unigram {
    /// Compiles a model. No token of `banned` can come out of it.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Artifact`] where scores, kinds or the unknown token do not fit the
    /// vocabulary.
    pub fn compile(
        spec: &spec::Unigram,
        semantics: Semantics,
        unit: Unit,
        vocab: &Vocab,
        banned: &FxHashSet<u32>,
    ) -> Result<Self> {
        let count = spec.vocab.len();
        check_lengths(count, Some(&spec.scores), &spec.kinds)?;
        let unk = unknown_id(&spec.vocab, spec.unk_id)?;
        let kind = |place: usize| spec.kinds.get(place).copied().unwrap_or_default();
        let single = semantics == Semantics::SentencePiece;
        let llama_cpp = semantics == Semantics::LlamaCpp;
        let mut places = vec![NO_VALUE; vocab.size()];
        let mut keys = Vec::with_capacity(count);
        for ((token, id), place) in spec.vocab.iter().zip(0u32..) {
            let usable = match kind(place as usize) {
                PieceKind::Normal | PieceKind::UserDefined => true,
                // The text of a reserved piece is only text to SentencePiece and llama.cpp.
                PieceKind::Unknown | PieceKind::Control | PieceKind::Byte => !single && !llama_cpp,
                PieceKind::Unused => llama_cpp,
            };
            // Of entries with one spelling the last counts.
            if !usable || banned.contains(&id) || vocab.id(token) != Some(id) {
                continue;
            }
            if let Some(key) = unit.read(token)
                && !key.is_empty()
            {
                keys.push((key, place));
                places[id as usize] = place;
            }
        }
        let trie = Trie::new(keys.iter().map(|(key, place)| (key.as_ref(), *place)))?;
        let infinite = spec.scores.iter().position(|score| !score.is_finite());
        if let Some(place) = infinite.filter(|_| single || llama_cpp) {
            return Err(Error::artifact(
                format!("model.vocab[{place}]"),
                "The score is not a finite number.",
            ));
        }
        let lowest_normal = || {
            let normal = (0..count).filter(|&place| kind(place) == PieceKind::Normal);
            normal.fold(f32::MAX, |low, place| low.min(spec.scores[place] as f32))
        };
        let entries = if single {
            Entries::Single(table(spec, lowest_normal()))
        } else if llama_cpp {
            let mut table = table(spec, 0.0);
            // The penalty is taken off in 32 bits.
            table.unknown_score = f64::from(lowest_normal() - UNKNOWN_PENALTY as f32);
            for (place, entry) in table.entries.iter_mut().enumerate() {
                if kind(place) == PieceKind::UserDefined {
                    entry.score = 0.0;
                }
            }
            Entries::Double(table)
        } else {
            let lowest = spec
                .scores
                .iter()
                .fold(f64::INFINITY, |low, &score| if score < low { score } else { low });
            Entries::Double(table(spec, lowest))
        };
        let unknown = Unknown {
            id: unk.unwrap_or(NONE),
            bytes: spec.byte_fallback.then(|| byte_tokens(vocab, banned)),
            unit,
        };
        Ok(Self { trie, entries, places, unknown, whole_runs: !single && !llama_cpp })
    }

    fn write_best(&self, piece: &[u8], paths: &mut Paths, out: &mut impl Output) -> Result<()> {
        let whole = |run: &[u8]| self.whole_run(run);
        let whole: LookUp<'_> = &whole;
        let whole = self.whole_runs.then_some(whole);
        let mut emitter = Emitter::new(piece, &self.unknown, whole, out);
        with_table!(&self.entries, table => {
            viterbi::best(&self.trie, table, &self.unknown, piece, paths, &mut emitter)
        })?;
        emitter.finish()
    }

    /// The token that an unknown run spells as a whole: `tokenizers` looks tokens up by their
    /// text in the end.
    fn whole_run(&self, run: &[u8]) -> Option<u32> {
        let place = self.trie.get(run)?;
        Some(with_table!(&self.entries, table => table.entries[place as usize].id))
    }

    /// The `count` best ways to cut a piece, best first, each with its score. Of ways that score
    /// the same, the order is that of SentencePiece. At most [`MOST_WAYS`].
    ///
    /// # Errors
    /// As [`Engine::encode`].
    pub fn nbest(&self, piece: &[u8], count: usize) -> Result<Vec<(Vec<Symbol>, f64)>> {
        with_table!(&self.entries, table => {
            let lattice = Lattice::new(&self.trie, table, &self.unknown, piece)?;
            match count {
                0 => Ok(Vec::new()),
                1 => {
                    let mut best = Vec::new();
                    self.write_best(piece, &mut Paths::default(), &mut best)?;
                    Ok(vec![(best, lattice.best().1.to_f64())])
                }
                _ => {
                    let ways = lattice.nbest(count.min(MOST_WAYS));
                    let ways = ways.into_iter().map(|(way, score)| {
                        Ok((self.write_way(piece, &lattice, &way)?, score.to_f64()))
                    });
                    ways.collect()
                }
            }
        })
    }

    /// A way to cut a piece drawn at random: each with a probability that grows with the
    /// exponential of its score times `alpha`.
    ///
    /// # Errors
    /// As [`Engine::encode`].
    pub fn sample(&self, piece: &[u8], alpha: f64, random: &mut Random) -> Result<Vec<Symbol>> {
        with_table!(&self.entries, table => {
            let lattice = Lattice::new(&self.trie, table, &self.unknown, piece)?;
            self.write_way(piece, &lattice, &lattice.sample(alpha, random))
        })
    }

    fn write_way<S: Score>(
        &self,
        piece: &[u8],
        lattice: &Lattice<S>,
        way: &[u32],
    ) -> Result<Vec<Symbol>> {
        let mut out = Vec::with_capacity(way.len());
        let whole = |run: &[u8]| self.whole_run(run);
        let whole: LookUp<'_> = &whole;
        let whole = self.whole_runs.then_some(whole);
        let mut emitter = Emitter::new(piece, &self.unknown, whole, &mut out);
        for &node in way {
            let symbol = lattice.symbol(node);
            emitter.emit(symbol.id, symbol.start, symbol.end)?;
        }
        emitter.finish()?;
        Ok(out)
    }
}

fn table<S: Score>(spec: &spec::Unigram, lowest: S) -> Table<S> {
    let entries = spec.scores.iter().zip(spec.vocab.iter()).enumerate();
    let entries = entries.map(|(place, (&score, (_, id)))| Entry {
        score: S::of(score),
        id,
        user_defined: S::USER_DEFINED && spec.kinds.get(place) == Some(&PieceKind::UserDefined),
    });
    Table { entries: entries.collect(), unknown_score: lowest - S::of(UNKNOWN_PENALTY) }
}

/// What an unknown character scores below the least token.
const UNKNOWN_PENALTY: f64 = 10.0;

pub(super) fn check_lengths(
    count: usize,
    scores: Option<&[f64]>,
    kinds: &[PieceKind],
) -> Result<()> {
    if scores.is_some_and(|scores| scores.len() != count) {
        return Err(Error::artifact("model.vocab", "There is not one score for each token."));
    }
    if !kinds.is_empty() && kinds.len() != count {
        return Err(Error::artifact("model.vocab", "There is not one kind for each token."));
    }
    Ok(())
}

pub(super) fn unknown_id(vocab: &spec::TokenList, place: Option<usize>) -> Result<Option<u32>> {
    match place {
        Some(place) if place >= vocab.len() => {
            Err(Error::artifact("model.unk_id", "The unknown token is not in the vocabulary.")
                .value(place.to_string()))
        }
        place => Ok(place.map(|place| vocab.id(place))),
    }
}

impl Engine for Unigram {
    #[inline]
    fn encode(
        &self,
        piece: &[u8],
        _vocab: &Vocab,
        scratch: &mut Scratch,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        if scratch.cache.append(piece, out) {
            return Ok(());
        }
        let before = out.len();
        self.write_best(piece, &mut scratch.unigram, out)?;
        scratch.cache.put(piece, &out[before..]);
        Ok(())
    }

    fn encode_spans(
        &self,
        piece: &[u8],
        _vocab: &Vocab,
        scratch: &mut Scratch,
        out: &mut Vec<Symbol>,
    ) -> Result<()> {
        self.write_best(piece, &mut scratch.unigram, out)
    }

    fn encode_reference(&self, piece: &[u8], vocab: &Vocab, out: &mut Vec<Symbol>) -> Result<()> {
        with_table!(&self.entries, table => reference::encode(self, table, piece, vocab, out))
    }

    fn can_yield(&self, ids: &FxHashSet<u32>, _vocab: &Vocab) -> bool {
        ids.iter().any(|&id| self.places.get(id as usize).is_some_and(|&place| place != NO_VALUE))
    }
}

#[cfg(test)]
mod tests;
