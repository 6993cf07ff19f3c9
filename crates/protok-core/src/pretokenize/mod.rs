//! Stage 3: cuts the normalized text into pieces.
mod cut;
pub mod pieces;
pub mod rewrite;
pub mod split;
pub use pieces::PreTokenizer;
pub use split::Matcher;
