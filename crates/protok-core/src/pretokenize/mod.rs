//! Stage 3: cuts the normalized text into pieces.
//!
//! [`Splitter`] makes pieces of the matches of a [`Matcher`](crate::pattern::Matcher). `cut` holds
//! the other ways to cut, `rewrite` the steps that change the text; [`PreTokenizer`] runs one step
//! after the other. Cutting is linear in the text for every pattern on the `"dfa"` engine.

mod cut;
pub mod pieces;
mod rewrite;
mod split;

pub use pieces::{AtSeams, Beginning, Place, PreTokenizer};
pub use split::{GPT2_PATTERN, Splitter};
