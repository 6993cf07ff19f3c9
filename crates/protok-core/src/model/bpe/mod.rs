//! Byte-pair encoding, for every kind of BPE vocabulary.
//!
//! A piece becomes symbols ([`symbols`]), then pairs of symbols are joined in the order of the
//! rules ([`merge`], with [`reference`](mod@reference) as its oracle). Before that, pieces that
//! are tokens themselves are taken whole where the vocabulary says so, and pieces seen before
//! come from the [`cache`].

pub mod cache;
pub mod dropout;
pub mod merge;
pub mod pairs;
mod reach;
pub mod reference;
mod rules;
pub mod symbols;

use rustc_hash::FxHashSet;

use super::{Engine, Observer, Scratch};
use crate::error::Result;
use crate::spec::{self, Merges, Semantics};
use crate::text::alphabet;
use crate::vocab::Vocab;

use cache::Key;
use dropout::Dropout;
use merge::WINDOW;
use pairs::Pairs;
use symbols::{Symbol, Symbols, Unit, VANISHING};

/// A compiled BPE model.
#[derive(Debug)]
pub struct Bpe {
    pairs: Pairs,
    symbols: Symbols,
    whole: Whole,
    dropout: f32,
    /// How many bytes of a piece each token covers, where that is certain; else 0.
    lengths: Vec<u32>,
    /// The rank of every pair of bytes, where pieces are bytes and places do not matter.
    byte_ranks: Option<Box<[u32]>>,
}

/// Whether a piece that is a token is taken whole, and where to look it up.
#[derive(Debug)]
enum Whole {
    No,
    /// In the model's vocabulary, which spells tokens as pieces.
    InVocab,
    /// In an index of its own, by the bytes of a piece.
    In(Vocab),
}

impl Whole {
    #[inline]
    fn id(&self, piece: &[u8], vocab: &Vocab) -> Option<u32> {
        match self {
            Whole::No => None,
            Whole::InVocab => vocab.id(piece),
            Whole::In(index) => index.id(piece),
        }
    }
}

impl Bpe {
    /// Compiles a model. No token of `banned` can come out of it.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Artifact`] where a merge has no result in the vocabulary.
    pub fn compile(
        spec: &spec::Bpe,
        semantics: Semantics,
        unit: Unit,
        vocab: &Vocab,
        banned: &FxHashSet<u32>,
    ) -> Result<Self> {
        let pairs = match &spec.merges {
            Merges::Listed(list) => {
                let mut rules = rules::listed(spec, list, vocab)?;
                if rules.iter().any(|rule| banned.contains(&rule.2)) {
                    rules.retain(|rule| !banned.contains(&rule.2));
                }
                Pairs::listed(&rules)
            }
            Merges::ByRank => Pairs::by_target(&rules::by_rank(vocab, banned)),
        };
        let whole = match (spec.ignore_merges, unit) {
            (false, _) => Whole::No,
            (true, Unit::AlphabetByte) => Whole::In(piece_index(unit, vocab, banned)?),
            (true, _) if banned.is_empty() => Whole::InVocab,
            (true, _) => Whole::In(piece_index(unit, vocab, banned)?),
        };
        let symbols = Symbols::compile(spec, semantics, unit, vocab, banned);
        let lengths = symbols.lengths(vocab);
        let byte_ranks = symbols.byte_ranks(&pairs);
        let dropout = spec.dropout.unwrap_or(0.0);
        Ok(Self { pairs, symbols, whole, dropout, lengths, byte_ranks })
    }

    /// Whether any of these tokens can come out of the model.
    #[must_use]
    pub fn can_yield(&self, ids: &FxHashSet<u32>, vocab: &Vocab) -> bool {
        let whole = match &self.whole {
            Whole::No => false,
            Whole::InVocab => ids.iter().any(|&id| vocab.bytes(id).is_some()),
            Whole::In(index) => ids.iter().any(|&id| index.bytes(id).is_some()),
        };
        whole
            || self.symbols.can_yield(ids, vocab)
            || self.pairs.targets().any(|id| ids.contains(&id))
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
        let key = Key::of(piece);
        if let Some(key) = key
            && scratch.cache.get(key, out)
        {
            return Ok(());
        }
        let before = out.len();
        self.encode_uncached(piece, vocab, scratch, out)?;
        if let Some(key) = key {
            scratch.cache.put(key, &out[before..]);
        }
        Ok(())
    }

    fn encode_uncached(
        &self,
        piece: &[u8],
        vocab: &Vocab,
        scratch: &mut Scratch,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        if let Some(id) = self.whole.id(piece, vocab) {
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
            let merged = &mut scratch.merge;
            merge::merge_ranked(&mut scratch.symbols, ranks, &self.pairs, merged);
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
        let mut end = 0;
        let certain = ids.iter().all(|&id| {
            let length = self.lengths.get(id as usize).map_or(0, |&length| length as usize);
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
        if let Some(id) = self.whole.id(piece, vocab) {
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
        random.merge(&mut symbols, &self.pairs);
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
        if let Some(id) = self.whole.id(piece, vocab) {
            return Ok(vec![Symbol { id, start: 0, end: piece.len() }]);
        }
        let mut symbols = Vec::new();
        self.symbols.all(piece, vocab, &mut symbols)?;
        observer.symbols(&symbols);
        let mut ids: Vec<u32> = symbols.iter().map(|symbol| symbol.id).collect();
        reference::merge_steps(&mut ids, &self.pairs, |step| {
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

/// Tokens by the bytes of the piece that they cover.
fn piece_index(unit: Unit, vocab: &Vocab, banned: &FxHashSet<u32>) -> Result<Vocab> {
    let mut index = Vocab::default();
    for (id, token) in vocab.iter() {
        if banned.contains(&id) || vocab.id(token) != Some(id) {
            continue;
        }
        match unit {
            Unit::Byte | Unit::Character => index.insert(token, id)?,
            Unit::AlphabetByte => {
                if let Some(bytes) = std::str::from_utf8(token).ok().and_then(alphabet::decode) {
                    index.insert(&bytes, id)?;
                }
            }
        }
    }
    Ok(index)
}
