//! Stage 6: ids back to bytes, and bytes to text.
//!
//! A decoder is a list of steps over token strings, as in `tokenizers`. The two that serve the
//! byte-level family need no strings: each id stands for fixed bytes, which are joined.
//!
//! Bytes that are not UTF-8 read as U+FFFD, one for each longest prefix of a character
//! (Unicode 16, section 3.9, as `str::from_utf8_lossy` and Python's `errors="replace"`). Under
//! [`Errors::Reference`] a run of `<0xNN>` tokens that is not UTF-8 as a whole reads as one U+FFFD
//! a byte, as the reference does, valid characters before the bad byte included.

mod chain;
mod clean_up;
mod decoder;
mod fixed;
mod llama_cpp;
mod local;
mod sentencepiece;
mod steps;
mod stream;
mod token_bytes;

pub use clean_up::clean_up;
pub use decoder::{DecodeOptions, Decoder, Errors, Unknown};
pub use stream::{Flow, FlowKind, Head, Held, Stream, Utf8};
