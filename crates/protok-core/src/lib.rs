//! The protok engine: text to token ids and back, exactly, for every tokenizer family.

pub mod error;
pub mod formats;
pub mod pretokenize;
pub mod spec;
pub mod text;
pub mod train;

pub use error::{Error, ErrorKind, Result};
pub use spec::Spec;
