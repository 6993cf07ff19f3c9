//! A compiled pre-tokenizer: cuts, one after the other, and perhaps GPT-2's byte alphabet.
//!
//! The alphabet is never written out: a piece stays the bytes it is, and the model reads them as
//! the alphabet would spell them. A cut that came after the alphabet would see its characters,
//! so such a sequence is refused.

use crate::error::{Error, Result};
use crate::spec::{self, Semantics};
use crate::text::aligned::AlignedText;
use crate::text::edits::Edits;

use super::Splitter;

/// See the [module](self).
#[derive(Debug, Default)]
pub struct PreTokenizer {
    cuts: Vec<Splitter>,
    bytes: Option<ByteLevel>,
}

#[derive(Debug)]
struct ByteLevel {
    add_prefix_space: bool,
    cut: Option<Splitter>,
}

impl PreTokenizer {
    /// Compiles the pre-tokenizer of a spec. A rank file's pieces are bytes without any mark.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Artifact`] for a component without an engine, or a bad pattern.
    pub fn compile(spec: Option<&spec::PreTokenizer>, semantics: Semantics) -> Result<Self> {
        let mut compiled = Self::default();
        if let Some(spec) = spec {
            compiled.add(spec).map_err(|error| error.within("pre_tokenizer"))?;
        }
        if semantics == Semantics::Tiktoken {
            compiled.bytes = Some(ByteLevel { add_prefix_space: false, cut: None });
        }
        Ok(compiled)
    }

    fn add(&mut self, spec: &spec::PreTokenizer) -> Result<()> {
        use spec::PreTokenizer as Spec;
        if let Spec::Sequence(items) = spec {
            for (index, item) in items.iter().enumerate() {
                self.add(item).map_err(|error| error.within(&format!("pretokenizers[{index}]")))?;
            }
            return Ok(());
        }
        if self.bytes.is_some() {
            return Err(Error::artifact("type", "A pre-tokenizer stands after ByteLevel.")
                .hint("It would see the byte alphabet; this version cannot run that exactly."));
        }
        match spec {
            Spec::Sequence(_) => {}
            Spec::ByteLevel(byte_level) => {
                self.bytes = Some(ByteLevel {
                    add_prefix_space: byte_level.add_prefix_space,
                    cut: byte_level.use_regex.then(Splitter::gpt2).transpose()?,
                });
            }
            Spec::Split(split) => self.cuts.push(Splitter::compile(split)?),
            Spec::Digits(digits) => self.cuts.push(Splitter::digits(*digits)),
            Spec::Bert => return Err(no_engine("BertPreTokenizer")),
            Spec::Whitespace => return Err(no_engine("Whitespace")),
            Spec::WhitespaceSplit => return Err(no_engine("WhitespaceSplit")),
            Spec::Metaspace(_) => return Err(no_engine("Metaspace")),
            Spec::Punctuation(_) => return Err(no_engine("Punctuation")),
            Spec::CharDelimiterSplit(_) => return Err(no_engine("CharDelimiterSplit")),
            Spec::UnicodeScripts => return Err(no_engine("UnicodeScripts")),
            Spec::FixedLength(_) => return Err(no_engine("FixedLength")),
        }
        Ok(())
    }

    /// Whether pieces are read as bytes, so that any bytes can be encoded.
    #[must_use]
    pub fn yields_bytes(&self) -> bool {
        self.bytes.is_some()
    }

    /// The engine of each pattern, in order.
    #[must_use]
    pub fn engines(&self) -> Vec<&'static str> {
        let byte_level = self.bytes.as_ref().and_then(|bytes| bytes.cut.as_ref());
        self.cuts.iter().chain(byte_level).map(Splitter::engine).collect()
    }

    /// Calls `report` with each piece of a section, in order: its bytes, where it starts in the
    /// section, and how many bytes at its start were put there.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Limit`] if a pattern reaches its bound, and what `report` returns.
    #[inline]
    pub fn for_each_piece(
        &self,
        text: &str,
        mut report: impl FnMut(&[u8], usize, usize) -> Result<()>,
    ) -> Result<()> {
        match (self.cuts.as_slice(), &self.bytes) {
            ([], None) => report(text.as_bytes(), 0, 0),
            ([], Some(bytes)) => bytes.for_each_piece(text, 0, report),
            ([cut], bytes) if bytes.as_ref().is_none_or(ByteLevel::is_plain) => cut
                .for_each_piece(text, |start, end| report(&text.as_bytes()[start..end], start, 0)),
            (cuts, bytes) => cut_deep(cuts, text, 0, &mut |piece, start| match bytes {
                None => report(piece.as_bytes(), start, 0),
                Some(bytes) => bytes.for_each_piece(piece, start, &mut report),
            }),
        }
    }

    /// The pieces of a section, each with where it came from.
    ///
    /// # Errors
    /// As [`Self::for_each_piece`].
    pub fn pieces_aligned(&self, text: AlignedText) -> Result<Vec<AlignedText>> {
        let mut pieces = vec![text];
        for cut in &self.cuts {
            pieces = cut_aligned(cut, &pieces)?;
        }
        if let Some(bytes) = &self.bytes {
            if bytes.add_prefix_space {
                let mut edits = Edits::default();
                edits.replace(0, 0, " ");
                for piece in pieces.iter_mut().filter(|piece| !piece.text().starts_with(' ')) {
                    piece.apply(&edits);
                }
            }
            if let Some(cut) = &bytes.cut {
                pieces = cut_aligned(cut, &pieces)?;
            }
        }
        Ok(pieces)
    }
}

impl ByteLevel {
    /// Whether it changes nothing but how the model reads pieces.
    fn is_plain(&self) -> bool {
        !self.add_prefix_space && self.cut.is_none()
    }

    fn for_each_piece(
        &self,
        text: &str,
        offset: usize,
        mut report: impl FnMut(&[u8], usize, usize) -> Result<()>,
    ) -> Result<()> {
        let prefixed;
        let (text, inserted) = if self.add_prefix_space && !text.starts_with(' ') {
            prefixed = format!(" {text}");
            (prefixed.as_str(), 1)
        } else {
            (text, 0)
        };
        match &self.cut {
            None => report(text.as_bytes(), offset, inserted),
            Some(cut) => cut.for_each_piece(text, |start, end| {
                let bytes = &text.as_bytes()[start..end];
                if start < inserted {
                    report(bytes, offset, inserted)
                } else {
                    report(bytes, offset + start - inserted, 0)
                }
            }),
        }
    }
}

fn cut_deep(
    cuts: &[Splitter],
    text: &str,
    offset: usize,
    report: &mut dyn FnMut(&str, usize) -> Result<()>,
) -> Result<()> {
    match cuts {
        [] => report(text, offset),
        [first, rest @ ..] => first.for_each_piece(text, |start, end| {
            cut_deep(rest, &text[start..end], offset + start, report)
        }),
    }
}

fn cut_aligned(cut: &Splitter, pieces: &[AlignedText]) -> Result<Vec<AlignedText>> {
    let mut result = Vec::new();
    let mut ranges = Vec::new();
    for piece in pieces {
        ranges.clear();
        cut.split(piece.text(), &mut ranges)?;
        result.extend(ranges.iter().map(|&(start, end)| piece.slice(start..end)));
    }
    Ok(result)
}

fn no_engine(name: &str) -> Error {
    Error::artifact("type", format!("The pre-tokenizer {name} has no engine in this version."))
        .hint("Nothing is approximated in its place.")
        .value(name)
}
