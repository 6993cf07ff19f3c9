//! The files that a tokenizer is saved as.

use crate::error::{Error, Result};
use crate::spec::Spec;

use super::{tiktoken, tokenizer_json};

/// The formats that can be written.
pub const WRITABLE: &[&str] = &["huggingface", "tiktoken"];

/// The name and content of each file of a format.
///
/// # Errors
/// [`crate::ErrorKind::Artifact`] for what the format's own reader would read differently, and
/// [`crate::ErrorKind::Input`] for a format that is not known.
pub fn save(spec: &Spec, format: &str) -> Result<Vec<(String, Vec<u8>)>> {
    match format {
        "huggingface" => Ok(vec![("tokenizer.json".to_owned(), tokenizer_json::write(spec)?)]),
        "tiktoken" => Ok(vec![
            ("tokenizer.tiktoken".to_owned(), tiktoken::write(spec)?),
            ("encoding.json".to_owned(), tiktoken::write_companion(spec)?),
        ]),
        other => Err(Error::input(format!("{other:?} is not a format that can be written."))
            .value(other)
            .hint(format!("Use one of {}.", WRITABLE.join(", ")))),
    }
}
