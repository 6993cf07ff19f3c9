//! Trainers: a corpus becomes a vocabulary.
//!
//! Every trainer reads [`WordCounts`], starts from symbols spelled by the same rules, and gives
//! a result that depends on nothing but counts and options: never on threads or on the order of
//! a hash map. [`bpe`] is the first.

pub mod bpe;
pub mod corpus;
mod count;
pub mod documents;
mod pairs;
mod queue;
#[cfg(test)]
mod reference;
mod runs;
mod symbols;
mod usage;

pub use bpe::{
    BpeMerge, BpeOptions, BpeTraining, EndOfWord, MergeEvent, StopReason, Symbols, TieRule,
};
pub use count::WordCounts;
pub use usage::{Usage, usage};
