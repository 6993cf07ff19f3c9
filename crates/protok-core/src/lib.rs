//! The protok engine: text to token ids and back, exactly, for every tokenizer family.

pub mod added_tokens;
pub mod decode;
pub mod encoding;
pub mod error;
pub mod formats;
pub mod inspect;
pub mod labels;
mod memory;
pub mod model;
pub mod normalize;
pub mod offsets;
pub mod parallel;
pub mod pattern;
pub mod pipeline;
pub mod postprocess;
pub mod pretokenize;
pub mod snapshot;
pub mod spec;
pub mod stream;
pub mod text;
pub mod trace;
pub mod train;
pub mod vocab;

pub use error::{Error, ErrorKind, Result};
pub use spec::Spec;
