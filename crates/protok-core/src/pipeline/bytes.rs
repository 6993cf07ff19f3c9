//! Bytes that need not be text.

use rustc_hash::FxHashSet;

use crate::encoding::Encoding;
use crate::error::{Error, Result};
use crate::model::{self, Model, Symbol};
use crate::normalize::Ends;
use crate::spec;
use crate::text::utf8;
use crate::vocab::Vocab;

use super::Pipeline;
use super::choice::Sink;
use super::encode::EncodeOptions;
use super::input::Stretch;

/// What becomes of bytes that are not UTF-8.
#[derive(Debug)]
pub(super) enum Stray {
    /// Each longest stretch of them is a piece for the model.
    Piece,
    /// Each byte is its `<0xNN>` token.
    Tokens(Box<[u32; 256]>),
    /// They are refused: some would be lost.
    Refused,
}

impl Stray {
    /// What becomes of them in a model for pieces that are bytes (`bytes`) or text, of which no
    /// token of `banned` may come out.
    pub(super) fn compile(
        spec: &spec::Model,
        model: &Model,
        bytes: bool,
        vocab: &Vocab,
        banned: &FxHashSet<u32>,
    ) -> Self {
        if model.reads_bytes(bytes) {
            return Self::Piece;
        }
        model::all_byte_tokens(spec, vocab, banned).map_or(Self::Refused, Self::Tokens)
    }
}

impl Pipeline {
    /// Encodes any bytes. Where they are UTF-8 they are the text that they spell; each longest
    /// stretch that is not is one piece, which a byte-level model merges by itself, and which is
    /// one token a byte in a model with byte fallback. Nothing is put or trimmed where text meets
    /// such a stretch, as it is at the ends of a text.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Input`] if the tokenizer cannot hold any bytes; else as
    /// [`Self::encode_text`].
    pub fn encode_bytes(&self, bytes: &[u8], options: &EncodeOptions) -> Result<Encoding> {
        if matches!(self.stray, Stray::Refused) {
            return Err(Error::input(
                "This tokenizer cannot hold any bytes: it reads characters, or lacks a token for \
                 some byte.",
            )
            .hint("Decode the bytes and use encode."));
        }
        self.with_scratch(&options.special, |scratch| {
            self.assemble(1, options, |_, out| {
                let mut sink = self.sink(None, options, scratch)?;
                utf8::for_each_section(bytes, |section, start| match section {
                    Ok(text) => {
                        let ends =
                            Ends { start: start == 0, end: start + text.len() == bytes.len() };
                        let stretch = Stretch { text, start, ends };
                        self.encode_raw(stretch, &options.special, &mut sink, out)
                    }
                    Err(piece) => match (&self.stray, &mut sink) {
                        (Stray::Tokens(tokens), _) => {
                            out.extend(piece.iter().map(|&byte| tokens[usize::from(byte)]));
                            Ok(())
                        }
                        (_, Sink::Cached(scratch)) => {
                            let model = self.model_for(&options.special);
                            model.encode(piece, &self.vocab, scratch, out)
                        }
                        (_, chosen) => {
                            let model = self.model_for(&options.special);
                            let symbols = chosen.choose(model, piece, &self.vocab, out.len())?;
                            out.extend(symbols.iter().map(|symbol| symbol.id));
                            Ok(())
                        }
                    },
                })
            })
        })
    }

    /// The tokens of a stretch of bytes that is not UTF-8, if the model does not see it.
    pub(super) fn stray_symbols(&self, piece: &[u8]) -> Option<Vec<Symbol>> {
        let Stray::Tokens(tokens) = &self.stray else { return None };
        let symbol = |(at, &byte): (usize, &u8)| Symbol {
            id: tokens[usize::from(byte)],
            start: at,
            end: at + 1,
        };
        Some(piece.iter().enumerate().map(symbol).collect())
    }
}
