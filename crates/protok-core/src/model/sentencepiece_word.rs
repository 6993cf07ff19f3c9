//! SentencePiece's word and character models: each word (or character) is a token or unknown.
//!
//! A word starts at every word mark. Time is linear in the text.
//!
//! Source: the word and character models of SentencePiece 0.2.3.

use rustc_hash::FxHashSet;

use super::output::{Emitter, NONE, Output, Unknown, byte_tokens};
use super::trie::Trie;
use super::unigram::{check_lengths, unknown_id};
use super::{Engine, Scratch, Symbol, Unit};
use crate::error::Result;
use crate::spec::{self, PieceKind, WordUnit};
use crate::vocab::Vocab;

/// A compiled word or character model.
#[derive(Debug)]
pub struct SentencePieceWord {
    unit: WordUnit,
    user_defined: Trie,
    /// By id: whether text may yield it.
    usable: Vec<bool>,
    unknown: Unknown,
}

const MARK: &[u8] = "\u{2581}".as_bytes();

impl SentencePieceWord {
    /// Compiles a model. No token of `banned` can come out of it.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Artifact`] where kinds or the unknown token do not fit the vocabulary.
    pub fn compile(
        spec: &spec::SentencePieceWord,
        vocab: &Vocab,
        banned: &FxHashSet<u32>,
    ) -> Result<Self> {
        check_lengths(spec.vocab.len(), Some(&spec.scores), &spec.kinds)?;
        let mut usable = vec![false; vocab.size()];
        let mut user_defined = Vec::new();
        for (place, (token, id)) in spec.vocab.iter().enumerate() {
            let kind = spec.kinds.get(place).copied().unwrap_or_default();
            if kind == PieceKind::UserDefined {
                user_defined.push((token, id));
            }
            usable[id as usize] = matches!(kind, PieceKind::Normal | PieceKind::UserDefined)
                && !banned.contains(&id)
                && vocab.id(token) == Some(id);
        }
        Ok(Self {
            unit: spec.unit,
            user_defined: Trie::new(user_defined)?,
            usable,
            unknown: Unknown {
                id: unknown_id(&spec.vocab, spec.unk_id)?.unwrap_or(NONE),
                bytes: spec.byte_fallback.then(|| byte_tokens(vocab, banned)),
                unit: Unit::Character,
            },
        })
    }

    /// The bytes of the word or character that a text starts with.
    fn width(&self, text: &[u8]) -> usize {
        match self.unit {
            WordUnit::Character => match self.user_defined.longest(text) {
                Some((length, _)) => length,
                None => Unit::Character.width(text),
            },
            WordUnit::Word => {
                let marks = memchr::memchr_iter(MARK[0], text.get(1..).unwrap_or(&[]));
                let mut marks = marks.map(|at| at + 1);
                marks.find(|&at| text[at..].starts_with(MARK)).unwrap_or(text.len())
            }
        }
    }

    fn cover(&self, piece: &[u8], vocab: &Vocab, out: &mut impl Output) -> Result<()> {
        let mut emitter = Emitter::new(piece, &self.unknown, None, out);
        let mut start = 0;
        while start < piece.len() {
            let end = start + self.width(&piece[start..]);
            let id = vocab.id(&piece[start..end]).filter(|&id| self.usable[id as usize]);
            emitter.emit(id.unwrap_or(self.unknown.id), start, end)?;
            start = end;
        }
        emitter.finish()
    }
}

impl Engine for SentencePieceWord {
    fn encode(
        &self,
        piece: &[u8],
        vocab: &Vocab,
        _scratch: &mut Scratch,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        self.cover(piece, vocab, out)
    }

    fn encode_spans(
        &self,
        piece: &[u8],
        vocab: &Vocab,
        _scratch: &mut Scratch,
        out: &mut Vec<Symbol>,
    ) -> Result<()> {
        self.cover(piece, vocab, out)
    }

    fn encode_reference(&self, piece: &[u8], vocab: &Vocab, out: &mut Vec<Symbol>) -> Result<()> {
        self.cover(piece, vocab, out)
    }

    fn can_yield(&self, ids: &FxHashSet<u32>, _vocab: &Vocab) -> bool {
        ids.iter().any(|&id| self.usable.get(id as usize) == Some(&true))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::spec::TokenList;

    fn encode(unit: WordUnit, text: &str) -> Vec<(u32, usize, usize)> {
        let mut list = TokenList::default();
        let pieces = [
            ("<unk>", PieceKind::Unknown),
            ("<s>", PieceKind::Control),
            ("▁a", PieceKind::Normal),
            ("b", PieceKind::Normal),
            ("bc", PieceKind::UserDefined),
            ("▁", PieceKind::Unused),
        ];
        for ((token, _), id) in pieces.iter().zip(0..) {
            list.push(token.as_bytes(), id).unwrap();
        }
        let vocab = Vocab::new(&list).unwrap();
        let spec = spec::SentencePieceWord {
            vocab: list,
            scores: vec![0.0; pieces.len()],
            kinds: pieces.iter().map(|piece| piece.1).collect(),
            unit,
            unk_id: Some(0),
            byte_fallback: false,
        };
        let model = SentencePieceWord::compile(&spec, &vocab, &FxHashSet::default()).unwrap();
        let mut out = Vec::new();
        model.encode_spans(text.as_bytes(), &vocab, &mut Scratch::new(0, false), &mut out).unwrap();
        out.iter().map(|symbol| (symbol.id, symbol.start, symbol.end)).collect()
    }

    #[test]
    fn words_and_characters() {
        let word = |text: &str| encode(WordUnit::Word, text);
        assert_eq!(word("▁a▁a"), [(2, 0, 4), (2, 4, 8)]);
        // Unknown words join; a lone unused mark and a control token are unknown.
        assert_eq!(word("<s>▁▁x▁a"), [(0, 0, 10), (2, 10, 14)]);
        assert_eq!(word(""), []);
        let character = |text: &str| encode(WordUnit::Character, text);
        assert_eq!(character("▁bbcé"), [(0, 0, 3), (3, 3, 4), (4, 4, 6), (0, 6, 8)]);
    }
}
