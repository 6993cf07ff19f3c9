//! Stage 3: cuts the normalized text into pieces.
pub mod pieces;
pub mod split;
pub use pieces::PreTokenizer;
pub use split::Matcher;
