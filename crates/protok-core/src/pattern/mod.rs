//! Regular expressions: what pre-tokenizers cut at, and what normalizers and decoders replace.
//!
//! A pattern travels `parse` -> `node` -> `nfa` -> `class_dfa` -> `scan`, or from `node` to
//! `fallback` if it needs a backtracking engine. [`Matcher`] finds matches. Searching is linear in
//! the text for every pattern on the `"dfa"` engine, and bounded on the other.

mod bracket;
mod charset;
mod class_dfa;
mod escape;
mod fallback;
mod nfa;
mod node;
mod parse;
mod scan;
#[cfg(test)]
mod tests;

pub use scan::{Matcher, Matches};
