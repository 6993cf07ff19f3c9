//! Unigram: a vocabulary whose pieces each have a probability, learned by removing pieces.
//!
//! Source: Kudo, "Subword Regularization" (2018), as SentencePiece trains it. A large seed of
//! repeated substrings is fitted by expectation maximization over all segmentations of every
//! distinct word; the pieces whose removal costs the least likelihood are removed, a part at a
//! time, until the vocabulary has the size asked for.
//!
//! The seed comes from sorted [suffixes](super::suffixes), which also say at every position which
//! pieces start there: each position knows its longest piece, each piece the longest one that it
//! begins with. No trie is walked, and removing pieces is one pass over the positions. A round is
//! O(edges), where a position has as many edges as pieces start there.
//!
//! The result depends on counts and options alone: words are summed in fixed shards, added in
//! their order; every choice among pieces is by a total order, in which equal losses, counts or
//! scores are told apart by the spelling; and exponentials and logarithms are computed by the same
//! code on every machine.

mod digamma;
mod expectation;
mod lattice;
mod likelihood;
mod pieces;
mod prune;
#[cfg(test)]
mod reference;
mod rules;
mod seeds;
mod text;
mod trainer;

pub use likelihood::{Likelihood, likelihood};
pub use rules::PieceRules;
pub use trainer::{Round, UnigramOptions, UnigramStop, UnigramTraining, train};
