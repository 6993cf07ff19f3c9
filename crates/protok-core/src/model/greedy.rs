//! Models over bytes without any search: the longest token that fits (RWKV), or one token a byte
//! (ByT5).
//!
//! Both take time linear in the text, times the longest token of the greedy one.

use rustc_hash::FxHashSet;

use super::output::{NONE, Output, any_value};
use super::trie::Trie;
use super::{Engine, Scratch, Symbol};
use crate::error::{Error, Result};
use crate::spec;
use crate::vocab::{MAX_ID, Vocab};

/// The longest token that fits, again and again.
#[derive(Debug)]
pub struct Greedy {
    tokens: Trie,
    banned: FxHashSet<u32>,
}

impl Greedy {
    /// Compiles a model. No token of `banned` can come out of it.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Artifact`] if the vocabulary is too large.
    pub fn compile(spec: &spec::Greedy, vocab: &Vocab, banned: &FxHashSet<u32>) -> Result<Self> {
        let tokens = spec.vocab.iter().filter_map(|(token, _)| {
            vocab.id(token).filter(|id| !banned.contains(id)).map(|id| (token, id))
        });
        Ok(Self { tokens: Trie::new(tokens)?, banned: banned.clone() })
    }

    fn cover(&self, piece: &[u8], out: &mut impl Output) -> Result<()> {
        let mut start = 0;
        while start < piece.len() {
            let found = self.tokens.longest(&piece[start..]);
            let (length, id) = found.ok_or_else(|| no_token(piece[start]))?;
            out.put(id, start, start + length);
            start += length;
        }
        Ok(())
    }
}

fn no_token(byte: u8) -> Error {
    Error::input(format!("The vocabulary has no token for byte 0x{byte:02X}."))
        .value(format!("0x{byte:02X}"))
}

impl Engine for Greedy {
    #[inline]
    fn encode(
        &self,
        piece: &[u8],
        _vocab: &Vocab,
        _scratch: &mut Scratch,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        self.cover(piece, out)
    }

    fn encode_spans(
        &self,
        piece: &[u8],
        _vocab: &Vocab,
        _scratch: &mut Scratch,
        out: &mut Vec<Symbol>,
    ) -> Result<()> {
        self.cover(piece, out)
    }

    fn encode_reference(&self, piece: &[u8], vocab: &Vocab, out: &mut Vec<Symbol>) -> Result<()> {
        let mut start = 0;
        while start < piece.len() {
            let longest = piece.len().min(start + self.tokens.longest_key());
            let found = (start + 1..=longest).rev().find_map(|end| {
                let id = vocab.id(&piece[start..end]).filter(|id| !self.banned.contains(id))?;
                Some(Symbol { id, start, end })
            });
            let symbol = found.ok_or_else(|| no_token(piece[start]))?;
            out.push(symbol);
            start = symbol.end;
        }
        Ok(())
    }

    fn can_yield(&self, ids: &FxHashSet<u32>, _vocab: &Vocab) -> bool {
        any_value(&self.tokens, ids)
    }
}

/// One token a byte.
#[derive(Debug)]
pub struct Bytes {
    tokens: Box<[u32; 256]>,
}

impl Bytes {
    /// Compiles a model. No token of `banned` can come out of it.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Artifact`] for ids beyond [`MAX_ID`].
    pub fn compile(spec: &spec::Bytes, banned: &FxHashSet<u32>) -> Result<Self> {
        if spec.offset > MAX_ID - 255 {
            return Err(Error::artifact("model.offset", "The ids of the bytes are too large.")
                .value(spec.offset.to_string()));
        }
        let mut tokens = Box::new([NONE; 256]);
        for (token, id) in tokens.iter_mut().zip(spec.offset..) {
            *token = if banned.contains(&id) { NONE } else { id };
        }
        Ok(Self { tokens })
    }

    #[inline]
    fn cover(&self, piece: &[u8], out: &mut impl Output) -> Result<()> {
        for (at, &byte) in piece.iter().enumerate() {
            let id = self.tokens[byte as usize];
            if id == NONE {
                return Err(no_token(byte));
            }
            out.put(id, at, at + 1);
        }
        Ok(())
    }
}

impl Engine for Bytes {
    #[inline]
    fn encode(
        &self,
        piece: &[u8],
        _vocab: &Vocab,
        _scratch: &mut Scratch,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        self.cover(piece, out)
    }

    fn encode_spans(
        &self,
        piece: &[u8],
        _vocab: &Vocab,
        _scratch: &mut Scratch,
        out: &mut Vec<Symbol>,
    ) -> Result<()> {
        self.cover(piece, out)
    }

    fn encode_reference(&self, piece: &[u8], _vocab: &Vocab, out: &mut Vec<Symbol>) -> Result<()> {
        self.cover(piece, out)
    }

    fn can_yield(&self, ids: &FxHashSet<u32>, _vocab: &Vocab) -> bool {
        self.tokens.iter().any(|id| ids.contains(id))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::spec::TokenList;
    use proptest::prelude::*;

    fn vocab(tokens: &[Vec<u8>]) -> (TokenList, Vocab) {
        let mut list = TokenList::default();
        for (token, id) in tokens.iter().zip(1..) {
            list.push(token, id).unwrap();
        }
        let vocab = Vocab::new(&list).unwrap();
        (list, vocab)
    }

    #[test]
    fn bytes_are_shifted() {
        let spec = spec::Bytes { vocab: TokenList::default(), offset: 3 };
        let model = Bytes::compile(&spec, &FxHashSet::default()).unwrap();
        let mut out = Vec::new();
        model
            .encode("aé".as_bytes(), &Vocab::default(), &mut Scratch::new(0, false), &mut out)
            .unwrap();
        assert_eq!(out, [100, 198, 172]);
        let model = Bytes::compile(&spec, &[100].into_iter().collect()).unwrap();
        assert!(
            model.encode(b"a", &Vocab::default(), &mut Scratch::new(0, false), &mut out).is_err()
        );
        assert!(
            Bytes::compile(&spec::Bytes { offset: u32::MAX, ..spec }, &FxHashSet::default())
                .is_err()
        );
    }

    proptest! {
        #[test]
        fn greedy_fast_equals_reference(
            tokens in prop::collection::vec(prop::collection::vec(0u8..4, 1..4), 0..20),
            text in prop::collection::vec(0u8..4, 0..20),
            banned in 0u32..6,
        ) {
            let (list, vocab) = vocab(&tokens);
            let banned = [banned].into_iter().collect();
            let model = Greedy::compile(&spec::Greedy { vocab: list }, &vocab, &banned).unwrap();
            let (mut ids, mut spans, mut expected) = (Vec::new(), Vec::new(), Vec::new());
            let reference = model.encode_reference(&text, &vocab, &mut expected);
            let mut scratch = Scratch::new(0, false);
            prop_assert_eq!(model.encode(&text, &vocab, &mut scratch, &mut ids), reference.clone());
            prop_assert_eq!(model.encode_spans(&text, &vocab, &mut scratch, &mut spans), reference);
            prop_assert_eq!(&spans, &expected);
            prop_assert_eq!(ids, expected.iter().map(|symbol| symbol.id).collect::<Vec<_>>());
        }
    }
}
