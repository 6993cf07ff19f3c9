//! SentencePiece's decoder: word marks become blanks, byte tokens bytes, control tokens nothing.
//!
//! A mark that starts the text goes, where the normalizer put it there. A run of byte tokens ends
//! at the next token of another kind; under [`Errors::Reference`] each byte of it that is not
//! UTF-8 reads as U+FFFD.
//!
//! Source: the decoder of SentencePiece 0.2.3.

use crate::error::Result;
use crate::normalize::Normalizer;
use crate::spec::{self, PieceKind, Semantics};

use super::Errors;
use super::steps::{fallback_byte, map_text};

const MARK: &str = "\u{2581}";

/// A compiled decoder.
#[derive(Debug)]
pub(super) struct SentencePiece {
    kinds: Vec<PieceKind>,
    unk_surface: String,
    strip_first: bool,
    strip_all: bool,
    denormalizer: Option<Normalizer>,
}

impl SentencePiece {
    pub(super) fn compile(spec: &spec::SentencePieceDecoder) -> Result<Self> {
        let denormalizer = spec.denormalizer.as_ref().map(|rules| {
            let rules = spec::Normalizer::SentencePiece((**rules).clone());
            Normalizer::compile(Some(&rules), Semantics::SentencePiece)
        });
        Ok(Self {
            kinds: spec.kinds.clone(),
            unk_surface: spec.unk_surface.clone(),
            strip_first: spec.strip_first_mark,
            strip_all: spec.strip_leading_marks,
            denormalizer: denormalizer.transpose()?,
        })
    }

    /// The bytes of a piece that other text stands before and after.
    pub(super) fn inside(&self, id: u32, piece: &[u8]) -> Vec<u8> {
        let mut run = self.resume(Place { at_start: false, ..Place::default() });
        run.push(id, piece);
        run.close();
        run.text
    }

    /// A text that is to be decoded.
    pub(super) fn start(&self, errors: Errors) -> Run<'_> {
        Run { rules: self, errors, text: Vec::new(), bytes: Vec::new(), place: Place::default() }
    }

    /// Goes on with a text at a place.
    pub(super) fn resume(&self, place: Place) -> Run<'_> {
        Run { place, ..self.start(Errors::Replace) }
    }

    /// Whether the text is rewritten as a whole at its end.
    pub(super) fn denormalizes(&self) -> bool {
        self.denormalizer.is_some()
    }

    /// Rewrites the whole text, where the model has rules for that.
    pub(super) fn denormalize(&self, text: &mut Vec<u8>) -> Result<()> {
        match &self.denormalizer {
            Some(rules) => map_text(text, |text| Ok(rules.apply(text)?.into_owned())),
            None => Ok(()),
        }
    }
}

/// Where in a text a piece stands, as far as it matters.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    /// Whether a mark that comes now starts the text.
    at_start: bool,
    /// Whether the token before lost such a mark.
    seen: bool,
    /// Whether anything was written before.
    written: bool,
}

impl Default for Place {
    fn default() -> Self {
        Self { at_start: true, seen: false, written: false }
    }
}

/// What is decoded so far.
pub(super) struct Run<'a> {
    rules: &'a SentencePiece,
    errors: Errors,
    text: Vec<u8>,
    /// The bytes of the run of byte tokens that is open.
    bytes: Vec<u8>,
    place: Place,
}

impl Run<'_> {
    /// The bytes that came since it was resumed, and the place after them. Bytes of a run of byte
    /// tokens are not waited for.
    pub(super) fn pause(mut self) -> (Vec<u8>, Place) {
        self.close();
        let written = self.place.written || !self.text.is_empty();
        (self.text, Place { written, ..self.place })
    }

    /// Appends a piece.
    pub(super) fn push(&mut self, id: u32, piece: &[u8]) {
        let kind = self.rules.kinds.get(id as usize).copied().unwrap_or_default();
        if kind == PieceKind::Byte
            && let Some(byte) = fallback_byte(piece)
        {
            self.bytes.push(byte);
            return;
        }
        self.close();
        if self.place.seen || self.place.written || !self.text.is_empty() {
            self.place.at_start = false;
        }
        self.place.seen = false;
        match kind {
            PieceKind::Control => {}
            PieceKind::Unknown => self.text.extend_from_slice(self.rules.unk_surface.as_bytes()),
            _ => {
                let mut piece = piece;
                if self.place.at_start
                    && self.rules.strip_first
                    && let Some(rest) = piece.strip_prefix(MARK.as_bytes())
                {
                    piece = rest;
                    self.place.seen = !self.rules.strip_all;
                }
                self.push_marked(piece);
            }
        }
    }

    /// Appends text that stands for itself.
    pub(super) fn push_text(&mut self, text: &[u8]) {
        self.close();
        self.text.extend_from_slice(text);
    }

    fn push_marked(&mut self, piece: &[u8]) {
        let mut rest = piece;
        while let Some(at) = memchr::memmem::find(rest, MARK.as_bytes()) {
            self.text.extend_from_slice(&rest[..at]);
            self.text.push(b' ');
            rest = &rest[at + MARK.len()..];
        }
        self.text.extend_from_slice(rest);
    }

    fn close(&mut self) {
        if self.errors == Errors::Reference {
            for chunk in self.bytes.utf8_chunks() {
                self.text.extend_from_slice(chunk.valid().as_bytes());
                self.text.extend(chunk.invalid().iter().flat_map(|_| "\u{fffd}".bytes()));
            }
        } else {
            self.text.extend_from_slice(&self.bytes);
        }
        self.bytes.clear();
    }

    /// The bytes of the text.
    pub(super) fn finish(mut self) -> Result<Vec<u8>> {
        self.close();
        self.rules.denormalize(&mut self.text)?;
        Ok(self.text)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const PIECES: [(&str, PieceKind); 7] = [
        ("<unk>", PieceKind::Unknown),
        ("<s>", PieceKind::Control),
        ("▁", PieceKind::Normal),
        ("▁a", PieceKind::Normal),
        ("<0xE2>", PieceKind::Byte),
        ("<0x96>", PieceKind::Byte),
        ("<0x81>", PieceKind::Byte),
    ];

    fn decode(all: bool, errors: Errors, ids: &[u32]) -> String {
        let rules = SentencePiece::compile(&spec::SentencePieceDecoder {
            kinds: PIECES.iter().map(|piece| piece.1).collect(),
            unk_surface: " ⁇ ".to_owned(),
            strip_first_mark: true,
            strip_leading_marks: all,
            denormalizer: None,
        })
        .unwrap();
        let mut run = rules.start(errors);
        for &id in ids {
            run.push(id, PIECES[id as usize].0.as_bytes());
        }
        String::from_utf8_lossy(&run.finish().unwrap()).into_owned()
    }

    #[test]
    fn marks_bytes_and_tokens_without_text() {
        let one = |ids: &[u32]| decode(false, Errors::Replace, ids);
        let all = |ids: &[u32]| decode(true, Errors::Replace, ids);
        assert_eq!((one(&[2, 3, 3]), all(&[2, 3, 3])), (" a a".to_owned(), "a a".to_owned()));
        assert_eq!(one(&[1, 3, 1, 3]), "a a");
        assert_eq!(one(&[0, 3]), " ⁇  a");
        // Bytes that spell a mark are text.
        assert_eq!(one(&[4, 5, 6, 3]), "▁ a");
        assert_eq!(one(&[4, 5, 3]), "\u{fffd} a");
        assert_eq!(decode(false, Errors::Reference, &[4, 5, 3]), "\u{fffd}\u{fffd} a");
    }
}
