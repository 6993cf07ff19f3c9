//! Which tokens a model can yield at all.
//!
//! A token is *reachable* if there is a piece for which the model yields it. That is decided
//! without a search through pieces: if a model yields a token somewhere in a piece, it yields
//! just the token for the stretch that the token covers.
//!
//! - BPE, SentencePiece's included: no merge crossed the ends of the stretch, so the merges
//!   inside it were the same, in the same order, as they are for the stretch alone. Where a token
//!   is spelled otherwise at the start or end of a piece, "alone" is with the symbols that such a
//!   place has; beside it may stand a character that the vocabulary lacks, which nothing merges
//!   with.
//! - Unigram: of all ways to cut the stretch the token was the best (but for the rounding of
//!   sums, which a token may owe a near tie).
//! - WordPiece: the token must be the longest that fits where it starts. A first token is that
//!   for its own text. A continuing one is, after a first token that nothing longer fits in the
//!   place of; the two must not be longer than a piece may be.
//! - Word, character, byte and longest-match models: the token is a piece itself.

use super::{Model, Scratch, Unit, with_engine};
use crate::vocab::Vocab;

impl Model {
    /// Whether some piece makes the model yield `id`, which the vocabulary spells `token`, as
    /// something else than the unknown token or a byte of an unknown character.
    #[must_use]
    pub fn reaches(
        &self,
        id: u32,
        token: &[u8],
        unit: Unit,
        vocab: &Vocab,
        scratch: &mut Scratch,
    ) -> bool {
        match self {
            Self::Bpe(bpe) => bpe.reaches(id, token, vocab, scratch),
            Self::WordPiece(word_piece) => word_piece.reaches(id, token, vocab),
            _ => {
                let Some(piece) = unit.read(token) else { return false };
                let mut out = Vec::new();
                let encoded = with_engine!(self, engine => {
                    super::Engine::encode(engine, &piece, vocab, scratch, &mut out)
                });
                encoded.is_ok() && out == [id]
            }
        }
    }

    /// Whether an unknown character makes the model yield `id`, the token of `byte`.
    #[must_use]
    pub fn falls_back_to(&self, id: u32, byte: u8, vocab: &Vocab, scratch: &mut Scratch) -> bool {
        let mut out = Vec::new();
        characters_with(byte).any(|c| {
            out.clear();
            let encoded =
                self.encode(c.encode_utf8(&mut [0; 4]).as_bytes(), vocab, scratch, &mut out);
            encoded.is_ok() && out.contains(&id)
        })
    }
}

/// The characters that a byte is part of, those first that vocabularies are likely to lack; for
/// a byte inside characters, those that it ends.
fn characters_with(byte: u8) -> impl Iterator<Item = char> {
    let code = u32::from(byte);
    let (first, last, step) = match byte {
        0..0x80 => (code, code, 1),
        0x80..0xC0 => (code, 0x10_FFC0 | (code & 0x3F), 0x40),
        0xC2..0xE0 => ((code & 0x1F) << 6, (code & 0x1F) << 6 | 0x3F, 1),
        0xE0..0xF0 => (((code & 0xF) << 12).max(0x800), (code & 0xF) << 12 | 0xFFF, 1),
        0xF0..0xF5 => {
            (((code & 7) << 18).max(0x1_0000), ((code & 7) << 18 | 0x3_FFFF).min(0x10_FFFF), 1)
        }
        _ => (1, 0, 1),
    };
    let count = if first <= last { (last - first) / step + 1 } else { 0 };
    (0..count).rev().filter_map(move |index| char::from_u32(first + index * step))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use rustc_hash::FxHashSet;

    use super::*;
    use crate::spec::{self, Merges, Semantics, TokenList};

    /// A generator of small random numbers (a linear congruence of Knuth's MMIX).
    struct Numbers(u64);

    impl Numbers {
        fn below(&mut self, limit: usize) -> usize {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            ((self.0 >> 33) as usize) % limit
        }

        fn word(&mut self, longest: usize) -> String {
            (0..=self.below(longest)).map(|_| if self.below(2) == 0 { 'a' } else { 'b' }).collect()
        }
    }

    fn list(tokens: &[String]) -> TokenList {
        let mut list = TokenList::default();
        for (token, id) in tokens.iter().zip(0..) {
            list.push(token.as_bytes(), id).unwrap();
        }
        list
    }

    /// Every piece of up to `longest` letters a and b.
    fn pieces(longest: u32) -> impl Iterator<Item = String> {
        (1..=longest).flat_map(|length| {
            (0..1_u32 << length).map(move |bits| {
                (0..length).map(|at| if bits >> at & 1 == 0 { 'a' } else { 'b' }).collect()
            })
        })
    }

    /// Compares what is said to be reachable with what all short pieces yield.
    fn check(spec: &spec::Model, longest: u32) -> usize {
        let vocab = Vocab::new(spec.tokens()).unwrap();
        let none = FxHashSet::default();
        let model =
            Model::compile(spec, Semantics::HuggingFace, false, &vocab, &none, None).unwrap();
        let mut scratch = Scratch::new(0, false);
        let mut out = Vec::new();
        for piece in pieces(longest) {
            // Also beside a character that BPE lacks, and that is a word to WordPiece.
            for piece in [format!("?{piece}"), format!("{piece}?"), format!("?{piece}?"), piece] {
                model.encode(piece.as_bytes(), &vocab, &mut scratch, &mut out).unwrap();
            }
        }
        let seen: FxHashSet<u32> = out.into_iter().collect();
        let mut unreachable = 0;
        for (id, token) in vocab.iter() {
            if token == b"?" {
                continue;
            }
            let unit = Model::unit(spec, false);
            let reached = model.reaches(id, token, unit, &vocab, &mut scratch);
            let name = String::from_utf8_lossy(token);
            assert_eq!(reached, seen.contains(&id), "{name:?} of {spec:?}");
            unreachable += usize::from(!reached);
        }
        unreachable
    }

    fn random_bpe(numbers: &mut Numbers, prefix: &str, suffix: &str) -> spec::Model {
        let mut tokens: Vec<String> = Vec::new();
        for letter in ["a", "b"] {
            for (front, back) in [("", ""), ("", suffix), (prefix, ""), (prefix, suffix)] {
                let token = format!("{front}{letter}{back}");
                if !tokens.contains(&token) {
                    tokens.push(token);
                }
            }
        }
        let mut merges = Vec::new();
        while tokens.len() < 20 {
            let (left, right) = (numbers.below(tokens.len()), numbers.below(tokens.len()));
            let tail = tokens[right].strip_prefix(prefix);
            let fits = suffix.is_empty() || !tokens[left].ends_with(suffix);
            let Some(tail) = tail.filter(|_| fits) else { continue };
            let joined = format!("{}{tail}", tokens[left]);
            if joined.chars().filter(|&c| c == 'a' || c == 'b').count() > 5 {
                continue;
            }
            if !tokens.contains(&joined) {
                tokens.push(joined);
            }
            // Anywhere among the merges: a trained list would reach every token.
            merges.insert(numbers.below(merges.len() + 1), (left as u32, right as u32));
        }
        let affix = |affix: &str| (!affix.is_empty()).then(|| affix.to_owned());
        spec::Model::Bpe(spec::Bpe {
            vocab: list(&tokens),
            merges: Merges::Listed(merges),
            dropout: None,
            unk_token: None,
            continuing_subword_prefix: affix(prefix),
            end_of_word_suffix: affix(suffix),
            fuse_unk: false,
            byte_fallback: false,
            ignore_merges: false,
            whole_line_ends: false,
        })
    }

    #[test]
    fn merges_reach_what_all_pieces_show() {
        let mut numbers = Numbers(1);
        for (prefix, suffix) in [("", ""), ("", "</w>"), ("##", ""), ("##", "</w>")] {
            let unreachable: usize =
                (0..40).map(|_| check(&random_bpe(&mut numbers, prefix, suffix), 9)).sum();
            assert!(unreachable > 20, "{prefix:?} {suffix:?}: {unreachable}");
        }
    }

    #[test]
    fn longest_matches_reach_what_all_pieces_show() {
        let mut numbers = Numbers(2);
        let mut unreachable = 0;
        for _ in 0..60 {
            let mut tokens = vec!["?".to_owned(), "a".to_owned(), "##a".to_owned()];
            for _ in 0..8 {
                let token = format!("{}{}", ["", "##"][numbers.below(2)], numbers.word(5));
                if !tokens.contains(&token) {
                    tokens.push(token);
                }
            }
            unreachable += check(
                &spec::Model::WordPiece(spec::WordPiece {
                    vocab: list(&tokens),
                    unk_token: "?".into(),
                    continuing_subword_prefix: "##".into(),
                    max_input_chars_per_word: 5,
                }),
                6,
            );
        }
        assert!(unreachable > 20, "{unreachable}");
    }

    #[test]
    fn best_ways_reach_what_all_pieces_show() {
        let mut numbers = Numbers(3);
        let mut unreachable = 0;
        for _ in 0..60 {
            let mut tokens = vec!["?".to_owned(), "a".to_owned(), "b".to_owned()];
            for _ in 0..8 {
                let token = numbers.word(5);
                if !tokens.contains(&token) {
                    tokens.push(token);
                }
            }
            // Sums of whole numbers do not round.
            let scores = tokens.iter().map(|_| -(numbers.below(12) as f64)).collect();
            unreachable += check(
                &spec::Model::Unigram(spec::Unigram {
                    vocab: list(&tokens),
                    scores,
                    kinds: Vec::new(),
                    unk_id: Some(0),
                    byte_fallback: false,
                }),
                8,
            );
        }
        assert!(unreachable > 20, "{unreachable}");
    }

    #[test]
    fn characters_of_every_byte() {
        for byte in 0..=255u8 {
            let possible = !matches!(byte, 0xC0 | 0xC1 | 0xF5..);
            let found: Vec<char> = characters_with(byte).take(3).collect();
            assert_eq!(!found.is_empty(), possible, "{byte:02X}");
            for c in found {
                assert!(c.encode_utf8(&mut [0; 4]).as_bytes().contains(&byte), "{byte:02X} {c:?}");
            }
        }
        // Every character of two bytes ends with its byte.
        let ends = |c: &char| c.encode_utf8(&mut [0; 4]).as_bytes().last() == Some(&0x81);
        assert!(characters_with(0x81).all(|c| ends(&c)));
        assert_eq!(characters_with(0xC3).count(), 64);
        assert_eq!(characters_with(0xED).count(), 0x800);
    }
}
