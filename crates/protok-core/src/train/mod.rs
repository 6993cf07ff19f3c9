//! Trainers: a corpus becomes a vocabulary.
//!
//! Every trainer reads [`WordCounts`], starts from symbols spelled by the same rules, and gives
//! a result that depends on nothing but counts and options: never on threads or on the order of
//! a hash map. [`bpe`] and [`wordpiece`] merge pairs, [`superwords`] joins
//! whole words, [`removal`] takes tokens out again that others have made superfluous, [`unigram`]
//! removes pieces from a large seed.

pub mod bpe;
pub mod corpus;
mod count;
mod coverage;
pub mod documents;
mod front;
mod histogram;
mod merging;
mod pairs;
mod queue;
#[cfg(test)]
mod reference;
pub mod removal;
mod runs;
mod shorts;
mod steps;
mod suffixes;
pub mod superwords;
mod symbols;
mod tally;
pub mod unigram;
mod usage;
pub mod wordpiece;

pub use count::WordCounts;
pub use merging::{
    BpeMerge, BpeOptions, BpeTraining, EndOfWord, MergeEvent, Removal, StopReason, Symbols, TieRule,
};
pub use tally::Totals;
pub use unigram::{UnigramOptions, UnigramTraining};
pub use usage::{Usage, usage};
