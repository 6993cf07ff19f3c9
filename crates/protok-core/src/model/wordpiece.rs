//! WordPiece: the longest token that fits, again and again; tokens after a piece's first are
//! spelled with a prefix.
//!
//! First tokens and continuing ones stand in a trie each. If any place of a piece has no token,
//! or the piece has too many characters, the whole piece is the unknown token. A piece of n
//! bytes takes n·L steps at worst, for a longest token of L bytes: each token is found in one
//! walk, which L bounds, and moves on by a byte at least.
//!
//! Source: Song et al., "Fast WordPiece Tokenization" (2021), whose failure links would save the
//! factor L; walks over real vocabularies seldom go far beyond the token that they find.

use rustc_hash::FxHashSet;

use super::output::{NONE, Output, any_value};
use super::trie::Trie;
use super::{Engine, Scratch, Symbol, Unit};
use crate::error::{Error, Result};
use crate::spec;
use crate::vocab::Vocab;

/// A compiled WordPiece model.
#[derive(Debug)]
pub struct WordPiece {
    first: Trie,
    /// Continuing tokens, without their prefix.
    rest: Trie,
    prefix: Vec<u8>,
    unk: Option<u32>,
    unk_token: String,
    most_units: usize,
    unit: Unit,
    banned: FxHashSet<u32>,
}

impl WordPiece {
    /// Compiles a model. No token of `banned` can come out of it.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Artifact`] if the vocabulary is too large.
    pub fn compile(
        spec: &spec::WordPiece,
        unit: Unit,
        vocab: &Vocab,
        banned: &FxHashSet<u32>,
    ) -> Result<Self> {
        let allowed = |token: &[u8]| vocab.id(token).filter(|id| !banned.contains(id));
        let prefix = spec.continuing_subword_prefix.as_bytes();
        let mut first = Vec::with_capacity(spec.vocab.len());
        let mut rest = Vec::with_capacity(spec.vocab.len());
        for (token, _) in spec.vocab.iter() {
            let Some(id) = allowed(token) else { continue };
            if let Some(read) = unit.read(token) {
                first.push((read, id));
            }
            if let Some(read) = token.strip_prefix(prefix).and_then(|token| unit.read(token)) {
                rest.push((read, id));
            }
        }
        Ok(Self {
            first: Trie::new(first.iter().map(|(token, id)| (token.as_ref(), *id)))?,
            rest: Trie::new(rest.iter().map(|(token, id)| (token.as_ref(), *id)))?,
            prefix: prefix.to_vec(),
            unk: vocab.id(spec.unk_token.as_bytes()),
            unk_token: spec.unk_token.clone(),
            most_units: spec.max_input_chars_per_word,
            unit,
            banned: banned.clone(),
        })
    }

    /// Writes the tokens of a piece; false if some place has none.
    fn cover(&self, piece: &[u8], out: &mut impl Output) -> bool {
        let mut start = 0;
        while start < piece.len() {
            let trie = if start == 0 { &self.first } else { &self.rest };
            let Some((length, id)) = trie.longest(&piece[start..]) else { return false };
            out.put(id, start, start + length);
            start += length;
        }
        true
    }

    /// Whether some piece yields `id`, which the vocabulary spells `token`: see
    /// [`crate::model::reach`].
    pub(super) fn reaches(&self, id: u32, token: &[u8], vocab: &Vocab) -> bool {
        let Some(text) = self.unit.read(token) else { return false };
        if self.first.get(&text) == Some(id) && !self.is_too_long(&text) {
            return true;
        }
        let Some(text) = token.strip_prefix(self.prefix.as_slice()) else { return false };
        let Some(text) = self.unit.read(text).filter(|text| self.rest.get(text) == Some(id)) else {
            return false;
        };
        let mut piece = Vec::new();
        vocab.iter().filter_map(|(_, head)| self.unit.read(head)).any(|head| {
            piece.clear();
            piece.extend_from_slice(&head);
            piece.extend_from_slice(&text);
            let stays = |(length, _)| length == head.len();
            !self.is_too_long(&piece) && self.first.longest(&piece).is_some_and(stays)
        })
    }

    fn unknown(&self) -> Result<u32> {
        self.unk.ok_or_else(|| {
            Error::artifact("model.unk_token", "The unknown token is not in the vocabulary.")
                .value(self.unk_token.clone())
        })
    }

    fn is_too_long(&self, piece: &[u8]) -> bool {
        self.unit.exceeds(piece, self.most_units)
    }
}

impl Engine for WordPiece {
    #[inline]
    fn encode(
        &self,
        piece: &[u8],
        _vocab: &Vocab,
        scratch: &mut Scratch,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        if scratch.cache.append(piece, out) {
            return Ok(());
        }
        let before = out.len();
        if self.is_too_long(piece) || !self.cover(piece, out) {
            out.truncate(before);
            out.push(self.unknown()?);
        }
        scratch.cache.put(piece, &out[before..]);
        Ok(())
    }

    fn encode_spans(
        &self,
        piece: &[u8],
        _vocab: &Vocab,
        _scratch: &mut Scratch,
        out: &mut Vec<Symbol>,
    ) -> Result<()> {
        let before = out.len();
        if self.is_too_long(piece) || !self.cover(piece, out) {
            out.truncate(before);
            out.push(Symbol { id: self.unknown()?, start: 0, end: piece.len() });
        }
        Ok(())
    }

    fn encode_reference(&self, piece: &[u8], vocab: &Vocab, out: &mut Vec<Symbol>) -> Result<()> {
        let before = out.len();
        let whole = |id| Symbol { id, start: 0, end: piece.len() };
        if self.is_too_long(piece) {
            out.push(whole(self.unknown()?));
            return Ok(());
        }
        let mut start = 0;
        while start < piece.len() {
            let found = (start + 1..=piece.len()).rev().find_map(|end| {
                let mut token = if start == 0 { Vec::new() } else { self.prefix.clone() };
                token.extend_from_slice(&self.unit.spell(&piece[start..end]));
                let id = vocab.id(&token).filter(|id| !self.banned.contains(id));
                id.map(|id| Symbol { id, start, end })
            });
            let Some(symbol) = found else {
                out.truncate(before);
                out.push(whole(self.unknown()?));
                return Ok(());
            };
            out.push(symbol);
            start = symbol.end;
        }
        Ok(())
    }

    fn can_yield(&self, ids: &FxHashSet<u32>, _vocab: &Vocab) -> bool {
        debug_assert!(!ids.contains(&NONE));
        any_value(&self.first, ids) || any_value(&self.rest, ids)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::spec::TokenList;
    use proptest::prelude::*;

    fn compile(tokens: &[&str], unit: Unit, most: usize, banned: &[u32]) -> (WordPiece, Vocab) {
        let mut list = TokenList::default();
        for (token, id) in tokens.iter().zip(0..) {
            list.push(token.as_bytes(), id).unwrap();
        }
        let vocab = Vocab::new(&list).unwrap();
        let spec = spec::WordPiece {
            vocab: list,
            unk_token: "[UNK]".into(),
            continuing_subword_prefix: "##".into(),
            max_input_chars_per_word: most,
        };
        let banned = banned.iter().copied().collect();
        (WordPiece::compile(&spec, unit, &vocab, &banned).unwrap(), vocab)
    }

    fn all(model: &WordPiece, vocab: &Vocab, piece: &[u8]) -> Vec<(u32, usize, usize)> {
        let mut scratch = Scratch::new(1 << 10, false);
        let (mut ids, mut spans, mut reference) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..2 {
            ids.clear();
            model.encode(piece, vocab, &mut scratch, &mut ids).unwrap();
        }
        model.encode_spans(piece, vocab, &mut scratch, &mut spans).unwrap();
        model.encode_reference(piece, vocab, &mut reference).unwrap();
        assert_eq!(spans, reference);
        assert_eq!(ids, spans.iter().map(|symbol| symbol.id).collect::<Vec<_>>());
        spans.iter().map(|symbol| (symbol.id, symbol.start, symbol.end)).collect()
    }

    const WORDS: [&str; 8] = ["[UNK]", "un", "##aff", "##able", "##a", "a", "##x", "é"];

    #[test]
    fn longest_match_and_the_unknown_word() {
        let (model, vocab) = compile(&WORDS, Unit::Character, 100, &[]);
        let all = |piece: &str| all(&model, &vocab, piece.as_bytes());
        assert_eq!(all("unaffable"), [(1, 0, 2), (2, 2, 5), (3, 5, 9)]);
        assert_eq!(all("unaffx"), [(1, 0, 2), (2, 2, 5), (6, 5, 6)]);
        // One place without a token takes the whole word with it.
        assert_eq!(all("unaffy"), [(0, 0, 6)]);
        // A literal prefix is no continuation, but `##a` the word is the token `##a`.
        assert_eq!(all("##a"), [(4, 0, 3)]);
        assert_eq!(all("##ax"), [(4, 0, 3), (6, 3, 4)]);
        assert_eq!(all(""), []);
        assert_eq!(all("[UNK]"), [(0, 0, 5)]);
    }

    #[test]
    fn the_limit_counts_characters_and_is_still_allowed() {
        let (model, vocab) = compile(&WORDS, Unit::Character, 3, &[]);
        assert_eq!(all(&model, &vocab, "éaa".as_bytes()), [(7, 0, 2), (4, 2, 3), (4, 3, 4)]);
        assert_eq!(all(&model, &vocab, b"aaaa"), [(0, 0, 4)]);
    }

    #[test]
    fn a_banned_token_is_passed_over() {
        let (model, vocab) = compile(&WORDS, Unit::Character, 100, &[2]);
        assert_eq!(all(&model, &vocab, b"unaff"), [(0, 0, 5)]);
        assert_eq!(all(&model, &vocab, b"una"), [(1, 0, 2), (4, 2, 3)]);
        assert!(!model.can_yield(&[2].into_iter().collect(), &vocab));
        assert!(model.can_yield(&[4].into_iter().collect(), &vocab));
    }

    #[test]
    fn a_megabyte_word_takes_its_length() {
        let (model, vocab) = compile(&WORDS, Unit::Character, usize::MAX, &[]);
        let mut out = Vec::new();
        let word = "a".repeat(1 << 20);
        model.encode(word.as_bytes(), &vocab, &mut Scratch::new(0, false), &mut out).unwrap();
        assert_eq!(out.len(), 1 << 20);
    }

    proptest! {
        #[test]
        fn fast_equals_reference(
            tokens in prop::collection::vec("(##)?[ab#Ġ]{1,3}", 1..30),
            piece in "[ab# #]{0,12}",
            most in 0usize..14,
            bytes: bool,
            banned in 1u32..8,
        ) {
            let mut tokens: Vec<&str> = tokens.iter().map(String::as_str).collect();
            tokens.sort_unstable();
            tokens.dedup();
            tokens.insert(0, "[UNK]");
            let unit = if bytes { Unit::AlphabetByte } else { Unit::Character };
            let (model, vocab) = compile(&tokens, unit, most, &[banned]);
            let tokens = all(&model, &vocab, piece.as_bytes());
            prop_assert!(tokens.iter().all(|token| token.0 != banned));
        }
    }
}
