//! One token a piece: the one that it spells, or the unknown token.

use rustc_hash::FxHashSet;

use super::{Engine, Scratch, Symbol, Unit};
use crate::error::{Error, Result};
use crate::spec;
use crate::vocab::Vocab;

/// A compiled word-level model.
#[derive(Debug)]
pub struct WordLevel {
    unk: Option<u32>,
    unk_token: String,
    unit: Unit,
    banned: FxHashSet<u32>,
}

impl WordLevel {
    /// Compiles a model. No token of `banned` can come out of it.
    #[must_use]
    pub fn compile(
        spec: &spec::WordLevel,
        unit: Unit,
        vocab: &Vocab,
        banned: &FxHashSet<u32>,
    ) -> Self {
        Self {
            unk: vocab.id(spec.unk_token.as_bytes()),
            unk_token: spec.unk_token.clone(),
            unit,
            banned: banned.clone(),
        }
    }

    #[inline]
    fn token(&self, piece: &[u8], vocab: &Vocab) -> Result<u32> {
        let id = vocab.id(&self.unit.spell(piece)).filter(|id| !self.banned.contains(id));
        id.or(self.unk).ok_or_else(|| {
            Error::artifact("model.unk_token", "The unknown token is not in the vocabulary.")
                .value(self.unk_token.clone())
        })
    }
}

impl Engine for WordLevel {
    #[inline]
    fn encode(
        &self,
        piece: &[u8],
        vocab: &Vocab,
        _scratch: &mut Scratch,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        out.push(self.token(piece, vocab)?);
        Ok(())
    }

    fn encode_spans(
        &self,
        piece: &[u8],
        vocab: &Vocab,
        _scratch: &mut Scratch,
        out: &mut Vec<Symbol>,
    ) -> Result<()> {
        self.encode_reference(piece, vocab, out)
    }

    fn encode_reference(&self, piece: &[u8], vocab: &Vocab, out: &mut Vec<Symbol>) -> Result<()> {
        out.push(Symbol { id: self.token(piece, vocab)?, start: 0, end: piece.len() });
        Ok(())
    }

    fn can_yield(&self, ids: &FxHashSet<u32>, vocab: &Vocab) -> bool {
        ids.iter().any(|id| !self.banned.contains(id) && vocab.bytes(*id).is_some())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::spec::TokenList;

    #[test]
    fn a_token_the_unknown_token_or_an_error() {
        let mut list = TokenList::default();
        for (token, id) in [("<unk>", 3), ("Ġa", 1), ("é", 2), ("", 4)] {
            list.push(token.as_bytes(), id).unwrap();
        }
        let vocab = Vocab::new(&list).unwrap();
        let spec = |unk: &str| spec::WordLevel { vocab: list.clone(), unk_token: unk.into() };
        let encode = |spec: spec::WordLevel, unit, banned: &[u32], piece: &str| {
            let banned = banned.iter().copied().collect();
            let model = WordLevel::compile(&spec, unit, &vocab, &banned);
            let mut out = Vec::new();
            model
                .encode(piece.as_bytes(), &vocab, &mut Scratch::new(0, false), &mut out)
                .map(|()| out)
        };
        assert_eq!(encode(spec("<unk>"), Unit::Character, &[], "é"), Ok(vec![2]));
        assert_eq!(encode(spec("<unk>"), Unit::Character, &[], "x"), Ok(vec![3]));
        assert_eq!(encode(spec("<unk>"), Unit::Character, &[], ""), Ok(vec![4]));
        assert_eq!(encode(spec("<unk>"), Unit::Character, &[2], "é"), Ok(vec![3]));
        assert_eq!(encode(spec("<unk>"), Unit::AlphabetByte, &[], " a"), Ok(vec![1]));
        assert!(encode(spec("none"), Unit::Character, &[], "x").is_err());
    }
}
