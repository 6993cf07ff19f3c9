//! Where tokens go, and what becomes of text that a vocabulary lacks.

use rustc_hash::FxHashSet;

use super::bpe::symbols::{Symbol, Unit};
use super::trie::Trie;
use crate::error::{Error, Result};
use crate::vocab::Vocab;

/// What takes the tokens of a piece: ids alone, or with the bytes that they cover.
pub(super) trait Output {
    /// Appends a token.
    fn put(&mut self, id: u32, start: usize, end: usize);
}

impl Output for Vec<u32> {
    #[inline]
    fn put(&mut self, id: u32, _start: usize, _end: usize) {
        self.push(id);
    }
}

impl Output for Vec<Symbol> {
    #[inline]
    fn put(&mut self, id: u32, start: usize, end: usize) {
        self.push(Symbol { id, start, end });
    }
}

/// The id that no token has.
pub(super) const NONE: u32 = u32::MAX;

/// The `<0xNN>` token of each byte, or [`NONE`].
pub(super) fn byte_tokens(vocab: &Vocab, banned: &FxHashSet<u32>) -> Box<[u32; 256]> {
    let mut tokens = Box::new([NONE; 256]);
    for (byte, token) in tokens.iter_mut().enumerate() {
        let id = vocab.id(format!("<0x{byte:02X}>").as_bytes());
        *token = id.filter(|id| !banned.contains(id)).unwrap_or(NONE);
    }
    tokens
}

/// How the text that a vocabulary lacks is written.
#[derive(Debug)]
pub(super) struct Unknown {
    /// The unknown token, or [`NONE`].
    pub id: u32,
    /// See [`byte_tokens`]; none without byte fallback.
    pub bytes: Option<Box<[u32; 256]>>,
    /// How pieces spell.
    pub unit: Unit,
}

impl Unknown {
    /// Writes a run of unknown text as its byte tokens, if all are there, or the unknown token.
    pub fn write(
        &self,
        piece: &[u8],
        start: usize,
        end: usize,
        out: &mut impl Output,
    ) -> Result<()> {
        if let Some(bytes) = &self.bytes {
            let run = self.unit.spell(&piece[start..end]);
            if run.iter().all(|&byte| bytes[byte as usize] != NONE) {
                self.write_bytes(bytes, piece, start, end, out);
                return Ok(());
            }
        }
        if self.id == NONE {
            return Err(missing());
        }
        out.put(self.id, start, end);
        Ok(())
    }

    fn write_bytes(
        &self,
        bytes: &[u32; 256],
        piece: &[u8],
        start: usize,
        end: usize,
        out: &mut impl Output,
    ) {
        for at in start..end {
            // A unit of the byte alphabet may spell one byte as two; the first covers it.
            let mut from = at;
            for &byte in self.unit.spell(&piece[at..=at]).iter() {
                out.put(bytes[byte as usize], from, at + 1);
                from = at + 1;
            }
        }
    }
}

/// The unknown token is needed and missing.
pub(super) fn missing() -> Error {
    Error::artifact("model.unk_id", "Text outside the vocabulary needs an unknown token.")
        .hint("The vocabulary names none.")
}

/// Where the text of a whole unknown run is looked up.
pub(super) type LookUp<'a> = &'a dyn Fn(&[u8]) -> Option<u32>;

/// Writes tokens, and each run of unknown ones as one.
pub(super) struct Emitter<'a, O> {
    out: &'a mut O,
    piece: &'a [u8],
    unknown: &'a Unknown,
    /// Where the text of a whole unknown run is looked up first.
    whole: Option<LookUp<'a>>,
    run: Option<(usize, usize)>,
    unknown_seen: usize,
}

impl<'a, O: Output> Emitter<'a, O> {
    /// Writes the tokens of `piece` to `out`.
    pub fn new(
        piece: &'a [u8],
        unknown: &'a Unknown,
        whole: Option<LookUp<'a>>,
        out: &'a mut O,
    ) -> Self {
        Self { out, piece, unknown, whole, run: None, unknown_seen: 0 }
    }

    /// Writes a token; [`Unknown::id`] is held back until its run ends.
    #[inline]
    pub fn emit(&mut self, id: u32, start: usize, end: usize) -> Result<()> {
        if id == self.unknown.id {
            let from = self.run.map_or(start, |run| run.0);
            self.run = Some((from, end));
            self.unknown_seen += 1;
            return Ok(());
        }
        if self.run.is_some() {
            self.finish()?;
        }
        self.out.put(id, start, end);
        Ok(())
    }

    /// Writes the run that is held back.
    pub fn finish(&mut self) -> Result<()> {
        let Some((start, end)) = self.run.take() else { return Ok(()) };
        let found = self.whole.and_then(|whole| whole(&self.piece[start..end]));
        match found {
            Some(id) => {
                self.out.put(id, start, end);
                Ok(())
            }
            None => self.unknown.write(self.piece, start, end, self.out),
        }
    }

    /// Whether a run is held back.
    pub fn is_pending(&self) -> bool {
        self.run.is_some()
    }

    /// How many unknown tokens came so far, before runs are joined.
    pub fn unknown_seen(&self) -> usize {
        self.unknown_seen
    }

    /// What is written to.
    pub fn out(&mut self) -> &mut O {
        self.out
    }
}

/// Whether a trie over ids holds any of these.
pub(super) fn any_value(trie: &Trie, ids: &FxHashSet<u32>) -> bool {
    !ids.is_empty() && trie.values().any(|value| ids.contains(&value))
}
