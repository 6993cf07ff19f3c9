//! Byte-pair encoding, for every kind of BPE vocabulary.
//!
//! A piece becomes symbols ([`symbols`]), then pairs of symbols are joined in the order of the
//! rules ([`merge`], with [`reference`](mod@reference) as its oracle). Before that, pieces that
//! are tokens themselves are taken whole where the vocabulary says so, and pieces seen before
//! come from the [`cache`](super::cache).

pub mod dropout;
pub mod merge;
pub mod pairs;
mod prepared;
mod ranks;
mod reach;
pub mod reference;
mod rules;
pub mod symbols;
mod whole;

use std::sync::OnceLock;

use rustc_hash::FxHashSet;

use super::{Engine, Observer, Scratch, cache};
use crate::error::Result;
use crate::spec::{self, Merges, Semantics};
use crate::vocab::Vocab;

use dropout::Dropout;
use merge::WINDOW;
use pairs::Pairs;
pub use prepared::{Prepared, Rules};
use symbols::{Symbol, Symbols, Unit, VANISHING};
use whole::Whole;

/// The two large tables of so many tokens are built beside each other.
const LARGE: usize = 1 << 15;

/// A compiled BPE model.
#[derive(Debug)]
pub struct Bpe {
    pairs: Pairs,
    /// All rules that a rank file implies, once somebody asked; of which tokens not.
    implied: Option<(OnceLock<Pairs>, FxHashSet<u32>)>,
    symbols: Symbols,
    whole: Option<Whole>,
    dropout: f32,
    /// How many bytes of a piece each token covers, where that is certain, else 0; once somebody
    /// asked where tokens stand.
    lengths: OnceLock<Vec<u32>>,
    /// The rank of every pair of bytes, where pieces are bytes and places do not matter.
    byte_ranks: Option<Box<[u32]>>,
}

impl Bpe {
    /// Compiles a model. No token of `banned` can come out of it. What was found out about the
    /// vocabulary before need not be found out again; it must [fit](Prepared::fits).
    ///
    /// # Errors
    /// [`crate::ErrorKind::Artifact`] where a merge has no result in the vocabulary.
    pub fn compile(
        spec: &spec::Bpe,
        semantics: Semantics,
        unit: Unit,
        vocab: &Vocab,
        banned: &FxHashSet<u32>,
        prepared: Option<&Prepared>,
    ) -> Result<Self> {
        let known = prepared.map(|prepared| &*prepared.tables);
        let symbols = Symbols::compile(spec, semantics, unit, vocab, banned, known);
        let pairs = || match (prepared.filter(|_| banned.is_empty()), &spec.merges) {
            (Some(prepared), _) => Ok(prepared.pairs(spec)),
            (None, Merges::Listed(list)) => {
                let mut rules = rules::listed(spec, list, vocab)?;
                if rules.iter().any(|rule| banned.contains(&rule.2)) {
                    rules.retain(|rule| !banned.contains(&rule.2));
                }
                Ok(Pairs::listed(&rules))
            }
            (None, Merges::ByRank) => Ok(ranks::needed(vocab, banned, &symbols)),
        };
        let whole = || match (spec.ignore_merges, spec.whole_line_ends) {
            (true, _) => Whole::compile(unit, vocab, banned, None).map(Some),
            (false, true) => {
                Whole::compile(Unit::Byte, vocab, banned, Some(is_line_ends)).map(Some)
            }
            (false, false) => Ok(None),
        };
        let (pairs, whole) = match spec.ignore_merges && vocab.len() >= LARGE {
            true => both(pairs, whole),
            false => (pairs(), whole()),
        };
        let (pairs, whole): (Pairs, Option<Whole>) = (pairs?, whole?);
        let byte_ranks = symbols.byte_ranks(&pairs);
        let dropout = spec.dropout.unwrap_or(0.0);
        let implied = (spec.merges == Merges::ByRank).then(|| (OnceLock::new(), banned.clone()));
        let lengths = OnceLock::new();
        Ok(Self { pairs, implied, symbols, whole, dropout, lengths, byte_ranks })
    }

    /// Whether any of these tokens can come out of the model.
    #[must_use]
    pub fn can_yield(&self, ids: &FxHashSet<u32>, vocab: &Vocab) -> bool {
        !ids.is_empty()
            && (self.whole.as_ref().is_some_and(|whole| whole.holds_any(ids, vocab))
                || self.symbols.can_yield(ids, vocab)
                || self.pairs.targets().any(|id| ids.contains(&id)))
    }

    /// All rules by the definition.
    fn all_pairs(&self, vocab: &Vocab) -> &Pairs {
        match &self.implied {
            Some((pairs, banned)) => pairs.get_or_init(|| ranks::every(vocab, banned)),
            None => &self.pairs,
        }
    }

    #[inline]
    fn whole_id(&self, piece: &[u8], vocab: &Vocab) -> Option<u32> {
        self.whole.as_ref()?.id(piece, vocab)
    }

    /// Appends the tokens of a piece.
    ///
    /// # Errors
    /// Where the vocabulary has neither a token for a unit nor a way around it.
    #[inline]
    pub fn encode(
        &self,
        piece: &[u8],
        vocab: &Vocab,
        scratch: &mut Scratch,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        if scratch.cache.append(piece, out) {
            return Ok(());
        }
        let before = out.len();
        self.encode_uncached(piece, vocab, scratch, out)?;
        scratch.cache.put(piece, &out[before..]);
        Ok(())
    }

    fn encode_uncached(
        &self,
        piece: &[u8],
        vocab: &Vocab,
        scratch: &mut Scratch,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        if let Some(id) = self.whole_id(piece, vocab) {
            out.push(id);
            return Ok(());
        }
        scratch.symbols.clear();
        if !self.symbols.known(piece, &mut scratch.symbols) {
            scratch.spans.clear();
            self.symbols.all(piece, vocab, &mut scratch.spans)?;
            scratch.symbols.extend(scratch.spans.iter().map(|symbol| symbol.id));
            merge::merge(&mut scratch.symbols, &self.pairs, &mut scratch.merge);
            scratch.symbols.retain(|&id| id != VANISHING);
        } else if let Some(byte_ranks) =
            self.byte_ranks.as_deref().filter(|_| piece.len() <= WINDOW)
        {
            let ranks = piece
                .windows(2)
                .map(|pair| byte_ranks[usize::from(pair[0]) << 8 | usize::from(pair[1])]);
            let Scratch { symbols, merge: merged, .. } = scratch;
            match piece.len() {
                0..=16 => merge::merge_few::<16>(symbols, ranks, &self.pairs, out),
                17..=32 => merge::merge_few::<32>(symbols, ranks, &self.pairs, out),
                _ => {
                    merge::merge_ranked(symbols, ranks, &self.pairs, merged);
                    out.extend_from_slice(symbols);
                }
            }
            return Ok(());
        } else {
            merge::merge(&mut scratch.symbols, &self.pairs, &mut scratch.merge);
        }
        out.extend_from_slice(&scratch.symbols);
        Ok(())
    }

    /// Appends the tokens of a piece, each with the bytes that it covers. The tokens are those of
    /// [`Self::encode`].
    ///
    /// # Errors
    /// As [`Self::encode`].
    pub fn encode_spans(
        &self,
        piece: &[u8],
        vocab: &Vocab,
        scratch: &mut Scratch,
        out: &mut Vec<Symbol>,
    ) -> Result<()> {
        let mut ids = std::mem::take(&mut scratch.tokens);
        ids.clear();
        let encoded = self.encode(piece, vocab, scratch, &mut ids);
        let before = out.len();
        let lengths = self.lengths.get_or_init(|| self.symbols.lengths(vocab));
        let mut end = 0;
        let certain = ids.iter().all(|&id| {
            let length = lengths.get(id as usize).map_or(0, |&length| length as usize);
            out.push(Symbol { id, start: end, end: end + length });
            end += length;
            length > 0
        });
        scratch.tokens = ids;
        encoded?;
        if certain && end == piece.len() {
            return Ok(());
        }
        // Unknown or byte tokens, or characters that vanished: go through it with the spans.
        out.truncate(before);
        if let Some(id) = self.whole_id(piece, vocab) {
            out.push(Symbol { id, start: 0, end: piece.len() });
            return Ok(());
        }
        scratch.spans.clear();
        self.symbols.all(piece, vocab, &mut scratch.spans)?;
        merge::merge_spans(&mut scratch.spans, &self.pairs, &mut scratch.merge);
        out.extend(scratch.spans.iter().filter(|symbol| symbol.id != VANISHING));
        Ok(())
    }

    /// The tokens of a piece with merges left out at random (BPE-dropout), each with the bytes
    /// that it covers.
    ///
    /// # Errors
    /// As [`Self::encode`].
    pub fn encode_with_dropout(
        &self,
        piece: &[u8],
        vocab: &Vocab,
        random: &mut Dropout,
    ) -> Result<Vec<Symbol>> {
        let mut symbols = Vec::new();
        self.symbols.all(piece, vocab, &mut symbols)?;
        random.merge(&mut symbols, self.all_pairs(vocab));
        symbols.retain(|symbol| symbol.id != VANISHING);
        Ok(symbols)
    }

    /// Whether any bytes can be a piece, and none of them is lost.
    #[must_use]
    pub fn holds_all_bytes(&self) -> bool {
        self.symbols.hold_all_bytes()
    }

    /// The chance of leaving a merge out.
    #[must_use]
    pub fn dropout(&self) -> f32 {
        self.dropout
    }

    /// The tokens of a piece by the reference path, each with the bytes of the piece that it
    /// covers.
    ///
    /// # Errors
    /// As [`Self::encode`].
    pub fn encode_reference(
        &self,
        piece: &[u8],
        vocab: &Vocab,
        observer: &mut dyn Observer,
    ) -> Result<Vec<Symbol>> {
        if let Some(id) = self.whole_id(piece, vocab) {
            return Ok(vec![Symbol { id, start: 0, end: piece.len() }]);
        }
        let mut symbols = Vec::new();
        self.symbols.all(piece, vocab, &mut symbols)?;
        observer.symbols(&symbols);
        let mut ids: Vec<u32> = symbols.iter().map(|symbol| symbol.id).collect();
        reference::merge_steps(&mut ids, self.all_pairs(vocab), |step| {
            symbols[step.at].id = step.result;
            symbols[step.at].end = symbols[step.at + 1].end;
            symbols.remove(step.at + 1);
            observer.merge(step);
        });
        symbols.retain(|symbol| symbol.id != VANISHING);
        Ok(symbols)
    }
}

impl Engine for Bpe {
    #[inline]
    fn encode(
        &self,
        piece: &[u8],
        vocab: &Vocab,
        scratch: &mut Scratch,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        self.encode(piece, vocab, scratch, out)
    }

    #[inline]
    fn encode_run(
        &self,
        text: &[u8],
        start: usize,
        ends: &[usize],
        vocab: &Vocab,
        scratch: &mut Scratch,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let mut cache = std::mem::take(&mut scratch.cache);
        let result = cache::encode_run(text, start, ends, &mut cache, out, |start, end, out| {
            self.encode_uncached(&text[start..end], vocab, scratch, out)
        });
        scratch.cache = cache;
        result
    }

    fn encode_spans(
        &self,
        piece: &[u8],
        vocab: &Vocab,
        scratch: &mut Scratch,
        out: &mut Vec<Symbol>,
    ) -> Result<()> {
        self.encode_spans(piece, vocab, scratch, out)
    }

    fn encode_reference(&self, piece: &[u8], vocab: &Vocab, out: &mut Vec<Symbol>) -> Result<()> {
        out.extend(Self::encode_reference(self, piece, vocab, &mut ())?);
        Ok(())
    }

    fn can_yield(&self, ids: &FxHashSet<u32>, vocab: &Vocab) -> bool {
        self.can_yield(ids, vocab)
    }
}

/// Runs two pieces of work beside each other.
fn both<A, B: Send>(one: impl FnOnce() -> A, other: impl FnOnce() -> B + Send) -> (A, B) {
    std::thread::scope(|scope| {
        let other = scope.spawn(other);
        let one = one();
        match other.join() {
            Ok(other) => (one, other),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// Whether a token is nothing but line ends.
fn is_line_ends(token: &[u8]) -> bool {
    !token.is_empty() && token.iter().all(|&byte| byte == b'\n')
}
