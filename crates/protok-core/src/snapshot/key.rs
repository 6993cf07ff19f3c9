//! What a snapshot belongs to.

use std::io;
use std::path::Path;

use serde_json::json;

use super::digest::{self, Digest};
use crate::formats::{Options, Wrapper};
use crate::parallel::thread_count;

/// The digest of everything that decides a tokenizer: its files, the caller's options, and the
/// engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key(Digest);

impl Key {
    /// As bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl From<[u8; 32]> for Key {
    fn from(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

/// A file's content.
#[derive(Debug, Clone, Copy)]
pub enum Content<'a> {
    /// In memory.
    Bytes(&'a [u8]),
    /// To be read, and not to be kept.
    At(&'a Path),
}

/// The key of a tokenizer. The order of the files does not matter, and where they are neither.
///
/// # Errors
/// Where a file cannot be read.
pub fn key(
    files: &[(String, Content<'_>)],
    options: &Options,
    control_tokens: Option<&[String]>,
) -> io::Result<Key> {
    let mut contents = Vec::with_capacity(files.len());
    for (name, content) in files {
        let threads = thread_count(None);
        let digest = match content {
            Content::Bytes(bytes) => digest::of_bytes(bytes, threads),
            Content::At(path) => digest::of_file(path, threads)?,
        };
        contents.push((name, digest));
    }
    contents.sort();
    let Options { encoding, pattern, special_tokens, tokenizer_class, as_loaded_by } = options;
    let as_loaded_by = as_loaded_by.map(|Wrapper::Transformers| "transformers");
    // JSON says where each name ends.
    let all = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "source": env!("PROTOK_SOURCE"),
        "files": contents,
        "encoding": encoding,
        "pattern": pattern,
        "special_tokens": special_tokens,
        "tokenizer_class": tokenizer_class,
        "as_loaded_by": as_loaded_by,
        "control_tokens": control_tokens,
    });
    Ok(Key(digest::of_bytes(all.to_string().as_bytes(), 1)))
}
