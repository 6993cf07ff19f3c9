//! Regular expressions: what pre-tokenizers cut at, and what normalizers and decoders replace.
//!
//! A pattern travels `parse` -> `node` -> `nfa` -> `class_dfa` -> `scan`. If it needs a
//! backtracking engine it goes from `node` to `memo`, or to `fallback` if that cannot read it.
//! [`Matcher`] finds matches, of the public grammars in [`blocks`] of ASCII at once. Searching is linear in the text for every pattern on the `"dfa"` and
//! `"memo"` engines, and backtracks so often at most on the other.

mod blocks;
mod bracket;
mod charset;
mod class_dfa;
mod escape;
mod fallback;
mod memo;
mod nfa;
mod node;
mod parse;
mod scan;
#[cfg(test)]
mod tests;
mod tiles;

pub use blocks::Ends;
pub use scan::{Matcher, Matches};
pub use tiles::Tiles;
