//! Which way to cut a text is taken: the model's own, a random one, or one of the best.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::rc::Rc;

use crate::added_tokens::SpecialPolicy;
use crate::encoding::Encoding;
use crate::error::{Error, Result};
use crate::model::sample::{Alternatives, Sampler};
use crate::model::unigram::MOST_WAYS;
use crate::model::{Model, Scratch, Symbol};
use crate::vocab::Vocab;

use super::Pipeline;
use super::encode::EncodeOptions;
use super::input::Stretch;

/// What a random choice takes where nobody says: Kudo's alpha, and Provilkov's dropout.
const DEFAULT_STRENGTH: f64 = 0.1;

/// Which of a model's ways to cut a text is taken.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Choice {
    /// The model's own.
    #[default]
    Best,
    /// One drawn at random. The generator starts from the seed for each text, so that a result
    /// does not depend on the batch it is in.
    Drawn {
        /// Of the generator.
        seed: u64,
        /// See [`Model::sampler`].
        strength: f64,
    },
    /// One of the best `count`, the best of which has rank 0.
    Ranked {
        /// How many are looked for: that decides ties.
        count: usize,
        /// Which of them.
        rank: usize,
    },
}

/// Where pieces go.
pub(super) enum Sink<'a> {
    /// To the model's engine, which remembers pieces.
    Cached(&'a mut Scratch),
    /// To its sampler.
    Drawn(Box<Sampler>),
    /// To the search for the best ways.
    Ranked(&'a mut Ways),
    /// Nowhere: it is known what each becomes.
    Given(std::vec::IntoIter<Vec<Symbol>>),
}

impl Sink<'_> {
    /// The tokens of a piece that comes after so many tokens.
    pub(super) fn choose(
        &mut self,
        model: &Model,
        piece: &[u8],
        vocab: &Vocab,
        before: usize,
    ) -> Result<Vec<Symbol>> {
        match self {
            Self::Cached(scratch) => {
                let mut symbols = Vec::new();
                model.encode_spans(piece, vocab, scratch, &mut symbols)?;
                Ok(symbols)
            }
            Self::Drawn(sampler) => model.sample(piece, vocab, sampler),
            Self::Ranked(ways) => {
                let found = model.nbest(piece, ways.count)?;
                Ok(ways.add(found, before))
            }
            Self::Given(symbols) => Ok(symbols.next().unwrap_or_default()),
        }
    }
}

impl Pipeline {
    /// What ways to cut a text the model has.
    #[must_use]
    pub fn alternatives(&self) -> Alternatives {
        self.model.alternatives()
    }

    /// The chance of leaving a merge out that the artifact names.
    #[must_use]
    pub fn dropout(&self) -> f32 {
        self.model.dropout()
    }

    /// A random choice of way. Where the caller gives none, the chance to leave a merge out is the
    /// artifact's, or else 0.1, and `alpha` is 0.1.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Input`] for a model with one way, a number that the model has no use
    /// for, or one out of its range.
    pub fn drawn(&self, seed: u64, alpha: Option<f64>, dropout: Option<f64>) -> Result<Choice> {
        let name = self.model.name();
        let useless = |given: &str, instead: &str| {
            Error::input(format!("A {name} model has no use for {given}."))
                .value(given)
                .hint(format!("Pass {instead}, or nothing."))
        };
        let strength = match (self.alternatives(), alpha, dropout) {
            (Alternatives::Dropout, Some(_), _) => return Err(useless("alpha", "dropout")),
            (Alternatives::Probabilities, _, Some(_)) => return Err(useless("dropout", "alpha")),
            (Alternatives::Dropout, None, None) if self.dropout() > 0.0 => {
                f64::from(self.dropout())
            }
            (_, alpha, dropout) => alpha.or(dropout).unwrap_or(DEFAULT_STRENGTH),
        };
        self.model.sampler(strength, seed)?;
        Ok(Choice::Drawn { seed, strength })
    }

    /// The choice of a call that names a seed for the dropout that the artifact asks for: without
    /// one no merge is left out.
    #[must_use]
    pub fn seeded(&self, seed: Option<u64>) -> Choice {
        match seed {
            Some(seed) if self.dropout() > 0.0 => {
                Choice::Drawn { seed, strength: f64::from(self.dropout()) }
            }
            _ => Choice::Best,
        }
    }

    /// Where the pieces of a text go; without one there are no ranks.
    pub(super) fn sink<'a>(
        &self,
        text: Option<&str>,
        options: &EncodeOptions,
        scratch: &'a mut Scratch,
    ) -> Result<Sink<'a>> {
        Ok(match options.choice {
            Choice::Best => Sink::Cached(scratch),
            Choice::Drawn { seed, strength } => {
                Sink::Drawn(Box::new(self.model.sampler(strength, seed)?))
            }
            Choice::Ranked { count, rank } => {
                let text = text.ok_or_else(|| {
                    Error::input("Only the ways to cut one text are ranked.")
                        .hint("Pass nbest one str.")
                })?;
                let pieces = self.ranked_pieces(text, (count, rank), &options.special)?;
                Sink::Given(pieces.into_iter())
            }
        })
    }

    /// The best `count` ways to cut a text, best first, each with its score: the sum over the
    /// pieces that the pre-tokenizer cuts of the logarithm of the probability of the way taken in
    /// each. Of ways that score the same, one that takes better ways of the pieces in front
    /// comes first; in a text of one piece the model's order holds.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Input`] for a model whose ways have no probabilities, or a count
    /// beyond its bounds; else as [`Self::encode_text`].
    pub fn nbest(
        &self,
        text: &str,
        count: usize,
        options: &EncodeOptions,
    ) -> Result<Vec<(Encoding, f64)>> {
        let mut ids = Vec::new();
        let ways = self.ways(text, count, &options.special, &mut ids)?;
        let ranks = 0..ways.combined.len();
        ranks
            .map(|rank| {
                let encoding = self.assemble(1, options, |_, out| {
                    ways.write(rank, &ids, out);
                    Ok(())
                })?;
                Ok((encoding, ways.combined[rank].score))
            })
            .collect()
    }

    /// The tokens of each piece of a text in one of its best ways.
    fn ranked_pieces(
        &self,
        text: &str,
        (count, rank): (usize, usize),
        policy: &SpecialPolicy,
    ) -> Result<Vec<Vec<Symbol>>> {
        let ways = self.ways(text, count, policy, &mut Vec::new())?;
        if rank >= ways.combined.len() {
            return Err(Error::input(format!("The text has no way number {rank}."))
                .value(rank.to_string())
                .hint("Ranks start at 0, and a text may have fewer ways than asked for."));
        }
        Ok(ways.into_pieces(rank))
    }

    fn ways(
        &self,
        text: &str,
        count: usize,
        policy: &SpecialPolicy,
        ids: &mut Vec<u32>,
    ) -> Result<Ways> {
        if !(1..=MOST_WAYS).contains(&count) {
            return Err(Error::input(format!("{count} ways cannot be ranked."))
                .value(count.to_string())
                .hint(format!("Ask for 1 to {MOST_WAYS}.")));
        }
        let mut ways = Ways::new(count);
        // Refuses a model that ranks nothing even where there is nothing to cut.
        self.model_for(policy).nbest(&[], 1)?;
        self.encode_raw(Stretch::whole(text), policy, &mut Sink::Ranked(&mut ways), ids)?;
        Ok(ways)
    }
}

/// The best ways to cut a text, found piece by piece: the best choices of a way for each piece.
///
/// What is kept of a choice is where it differs from the best. A choice that differs in d pieces
/// comes after the 2^d - 1 that differ in some of them only, so of the first k none differs in
/// more than log2 k, and memory stays at the text's own.
pub(super) struct Ways {
    count: usize,
    best: Vec<Best>,
    combined: Vec<Combined>,
}

/// The best way to cut a piece.
struct Best {
    symbols: Vec<Symbol>,
    /// The place of its first token among those of the text, in the best choice.
    start: usize,
}

#[derive(Clone)]
struct Combined {
    score: f64,
    changes: Option<Rc<Change>>,
}

/// A piece that is not cut in its best way, and the changes before it.
struct Change {
    piece: usize,
    symbols: Rc<Vec<Symbol>>,
    before: Option<Rc<Change>>,
}

/// A choice for all pieces so far: one for those before, and a way for the last.
#[derive(PartialEq)]
struct Candidate {
    score: f64,
    before: usize,
    way: usize,
}

impl Eq for Candidate {}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        let order = self.score.total_cmp(&other.score);
        order.then(other.before.cmp(&self.before)).then(other.way.cmp(&self.way))
    }
}

impl Ways {
    fn new(count: usize) -> Self {
        let nothing = Combined { score: 0.0, changes: None };
        Self { count, best: Vec::new(), combined: vec![nothing] }
    }

    /// Takes the ways of a piece into account, best first. Returns the best.
    fn add(&mut self, ways: Vec<(Vec<Symbol>, f64)>, start: usize) -> Vec<Symbol> {
        let piece = self.best.len();
        let (symbols, scores): (Vec<_>, Vec<f64>) =
            ways.into_iter().map(|(symbols, score)| (Rc::new(symbols), score)).unzip();
        let best = symbols.first().map(|symbols| symbols.to_vec()).unwrap_or_default();
        self.best.push(Best { symbols: best.clone(), start });
        let score = |before: usize, way: usize| {
            Some(Candidate {
                score: self.combined.get(before)?.score + scores.get(way)?,
                before,
                way,
            })
        };
        let mut open = BinaryHeap::new();
        open.extend(score(0, 0));
        let mut combined = Vec::with_capacity(self.count);
        while combined.len() < self.count
            && let Some(Candidate { score: sum, before, way }) = open.pop()
        {
            open.extend(score(before, way + 1));
            if way == 0 {
                open.extend(score(before + 1, 0));
            }
            let changes = self.combined[before].changes.clone();
            let changes = match way {
                0 => changes,
                _ => {
                    let symbols = symbols[way].clone();
                    Some(Rc::new(Change { piece, symbols, before: changes }))
                }
            };
            combined.push(Combined { score: sum, changes });
        }
        self.combined = combined;
        best
    }

    /// The changes of a rank, by rising piece.
    fn changes(&self, rank: usize) -> Vec<&Change> {
        let mut changes = Vec::new();
        let mut next = self.combined[rank].changes.as_deref();
        while let Some(change) = next {
            changes.push(change);
            next = change.before.as_deref();
        }
        changes.reverse();
        changes
    }

    /// Appends the ids of a rank, where `ids` are those of the best.
    fn write(&self, rank: usize, ids: &[u32], out: &mut Vec<u32>) {
        let mut copied = 0;
        for change in self.changes(rank) {
            let Best { symbols, start } = &self.best[change.piece];
            out.extend_from_slice(&ids[copied..*start]);
            out.extend(change.symbols.iter().map(|symbol| symbol.id));
            copied = start + symbols.len();
        }
        out.extend_from_slice(&ids[copied..]);
    }

    /// The tokens of every piece of a rank.
    fn into_pieces(mut self, rank: usize) -> Vec<Vec<Symbol>> {
        let changes: Vec<(usize, Vec<Symbol>)> = self
            .changes(rank)
            .into_iter()
            .map(|change| (change.piece, change.symbols.to_vec()))
            .collect();
        for (piece, symbols) in changes {
            self.best[piece].symbols = symbols;
        }
        self.best.into_iter().map(|best| best.symbols).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ways of one token each, whose id names piece and way.
    fn ways(piece: u32, scores: &[f64]) -> Vec<(Vec<Symbol>, f64)> {
        (0u32..)
            .zip(scores)
            .map(|(way, &score)| (vec![Symbol { id: piece * 10 + way, start: 0, end: 1 }], score))
            .collect()
    }

    /// Every choice, sorted by score and, of equals, by the ways taken from front to back.
    fn all(pieces: &[&[f64]]) -> Vec<(Vec<u32>, f64)> {
        let mut choices = vec![(Vec::new(), 0.0)];
        for (piece, scores) in (0u32..).zip(pieces) {
            choices = choices
                .iter()
                .flat_map(|(ids, sum): &(Vec<u32>, f64)| {
                    (0u32..).zip(*scores).map(move |(way, score)| {
                        let ids = ids.iter().copied().chain([piece * 10 + way]).collect();
                        (ids, sum + score)
                    })
                })
                .collect();
        }
        choices.sort_by(|a, b| b.1.total_cmp(&a.1));
        choices
    }

    #[test]
    fn choices_over_pieces_come_in_order() {
        let pieces: [&[f64]; 4] =
            [&[-1.0, -2.0, -2.5], &[-0.5], &[-1.0, -1.25, -4.0, -5.0], &[-3.0, -3.5]];
        for count in [1, 2, 5, 24, 100] {
            let mut found = Ways::new(count);
            let mut ids = Vec::new();
            for (piece, scores) in (0u32..).zip(pieces) {
                let start = ids.len();
                ids.extend(found.add(ways(piece, scores), start).iter().map(|symbol| symbol.id));
            }
            let expected = all(&pieces);
            assert_eq!(found.combined.len(), count.min(expected.len()));
            let mut seen = std::collections::HashSet::new();
            for (rank, (_, score)) in expected.iter().enumerate().take(count) {
                let mut out = Vec::new();
                found.write(rank, &ids, &mut out);
                assert!((found.combined[rank].score - score).abs() < 1e-12);
                assert!(
                    expected.iter().any(|(ids, sum)| *ids == out && (sum - score).abs() < 1e-12)
                );
                assert!(seen.insert(out));
            }
        }
    }

    #[test]
    fn of_equals_the_better_ways_in_front_come_first() {
        let mut found = Ways::new(9);
        let mut ids = Vec::new();
        for piece in 0..2 {
            let start = ids.len();
            let best = found.add(ways(piece, &[0.0; 3]), start);
            ids.extend(best.iter().map(|symbol| symbol.id));
        }
        let mut all = Vec::new();
        for rank in 0..9 {
            found.write(rank, &ids, &mut all);
        }
        assert_eq!(all, [0, 10, 0, 11, 0, 12, 1, 10, 1, 11, 1, 12, 2, 10, 2, 11, 2, 12]);
        assert_eq!(found.into_pieces(5)[1][0].id, 12);
    }

    #[test]
    fn many_pieces_take_little() {
        let mut found = Ways::new(1024);
        for piece in 0..20_000 {
            found.add(ways(piece % 100, &[0.0, 0.0]), piece as usize);
        }
        let most = (0..1024).map(|rank| found.changes(rank).len()).max();
        assert!(most <= Some(10), "{most:?}");
    }
}
