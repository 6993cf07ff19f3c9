//! Stage 3: cuts the normalized text into pieces.
//!
//! [`Splitter`] makes pieces of the matches of a [`Matcher`](crate::pattern::Matcher),
//! [`PreTokenizer`] runs one cut after the other. Cutting is linear in the text for every pattern
//! on the `"dfa"` engine.

pub mod pieces;
mod split;

pub use pieces::PreTokenizer;
pub use split::{GPT2_PATTERN, Splitter};
