//! Stage 4: turns each piece of text into tokens of the vocabulary.

pub mod bpe;
