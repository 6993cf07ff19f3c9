//! Hugging Face `tokenizer.json`, version 1.0: the format that protok saves, too.
//!
//! [`read`] accepts what `tokenizers` 0.23 accepts, the spellings of its older releases included,
//! and refuses what it refuses; errors carry the JSON path. What the reference ignores is listed
//! in [`Loaded::notes`]. Patterns are not compiled here, so a bad one is found later.
//!
//! A few things that the reference loads are refused: components written as bare arrays, which it
//! takes for fields in order; `FixedLength` of 0, on which it panics when used; and a model
//! without `type` whose merges are bad, which it takes for a WordLevel.
//!
//! ```text
//! read   whole file ─ top-level fields as raw text ─┬─ components: small tree ─ kind by kind
//!                                                  └─ model: vocabulary and merges streamed
//! write  Spec ─ other rules said in these words, where there are words ─
//!        checks that the reader would read the same ─ pretty JSON
//! ```

mod added_tokens;
mod decoder;
mod from_greedy;
mod from_ranks;
pub(crate) mod from_sentencepiece;
mod kind;
mod model;
mod normalizer;
mod pattern;
mod plain;
mod post_processor;
mod pre_tokenizer;
mod read;
mod score;
mod stored;
pub(crate) mod vocab;
mod write;

#[cfg(test)]
mod tests;

pub(crate) use added_tokens::settle;
pub use from_ranks::from_ranks;
pub(crate) use read::nearest_scores;
pub use read::{Loaded, read};
pub(crate) use write::components;
pub use write::write;
