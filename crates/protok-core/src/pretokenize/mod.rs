//! Stage 3: cuts the normalized text into pieces.
//!
//! A pattern travels `parse` -> `pattern` -> `nfa` -> `class_dfa` -> `scan`, or from `pattern` to
//! `fallback` if it needs a backtracking engine. [`Matcher`] finds matches, [`Splitter`] makes
//! pieces of them. `cut` holds the other ways to cut, `rewrite` the steps that change the text;
//! [`PreTokenizer`] runs one step after the other. Cutting is linear in the text for every pattern
//! on the `"dfa"` engine.

mod bracket;
mod charset;
mod class_dfa;
mod cut;
mod escape;
mod fallback;
mod nfa;
mod parse;
mod pattern;
pub mod pieces;
mod rewrite;
mod scan;
mod split;
#[cfg(test)]
mod tests;

pub use pieces::{Place, PreTokenizer};
pub use scan::{Matcher, Matches};
pub use split::{GPT2_PATTERN, Splitter};
