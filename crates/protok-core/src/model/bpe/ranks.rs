//! The merge rules of a rank file.
//!
//! By the definition, any two tokens merge whose bytes together are a token, and that token's id
//! is the rank. Of the pairs that spell one token only one ever comes up, however, so that the
//! others need not be looked for: [`needed`] finds it for each token.
//!
//! # Why one pair is enough
//!
//! Let two neighbours L and R, made of their bytes by merges, spell the token T together. Nothing
//! has crossed the borders of T's bytes, nor the border between L and R, so that the merges inside
//! were those that T's bytes alone would go through, in the same order, as long as none of those
//! crosses the border between L and R. If one did, it would have come up here too, and before L and
//! R were made. So T's bytes alone come to L and R, and then to T: L and R are the pair that is
//! merged last when T's bytes are merged alone.
//!
//! That pair is found with the rules for lower ids, which are all that comes before it: a rule for
//! a higher id has a higher rank. Where they do not lead to two tokens, for a vocabulary may be
//! anything, all pairs are kept.
//!
//! The reference path merges by the definition.

use rustc_hash::FxHashSet;

use super::merge::{self, MergeScratch};
use super::pairs::Pairs;
use super::symbols::Symbols;
use crate::vocab::Vocab;

type Rule = (u32, u32, u32);

/// Every way to make a token out of two others.
pub(super) fn every(vocab: &Vocab, banned: &FxHashSet<u32>) -> Pairs {
    let mut rules = Vec::with_capacity(vocab.len() * 2);
    for (id, token) in tokens(vocab, banned) {
        rules.extend(splits(id, token, vocab, banned));
    }
    Pairs::by_target(&rules)
}

/// The ways that come up.
pub(super) fn needed(vocab: &Vocab, banned: &FxHashSet<u32>, symbols: &Symbols) -> Pairs {
    let Some(mut pairs) = Pairs::with_room(vocab.len(), vocab.size()) else {
        return every(vocab, banned);
    };
    let mut scratch = MergeScratch::default();
    let (mut units, mut parts) = (Vec::new(), Vec::new());
    for (id, token) in tokens(vocab, banned) {
        units.clear();
        parts.clear();
        if symbols.known(token, &mut units) {
            merge::merge_into(&mut units, &pairs, &mut scratch, &mut parts);
        }
        let kept = match *parts {
            [_] => true,
            [left, right] => pairs.insert((left, right, id)),
            _ => splits(id, token, vocab, banned).all(|rule| pairs.insert(rule)),
        };
        if !kept {
            return every(vocab, banned);
        }
    }
    pairs
}

/// The tokens that a text can become, by rising id. Of two ids with one spelling, only the one
/// that the spelling leads to merges.
fn tokens<'a>(
    vocab: &'a Vocab,
    banned: &'a FxHashSet<u32>,
) -> impl Iterator<Item = (u32, &'a [u8])> {
    let distinct = vocab.is_distinct();
    vocab.iter().filter(move |&(id, token)| {
        !banned.contains(&id) && (distinct || vocab.id(token) == Some(id))
    })
}

fn splits<'a>(
    id: u32,
    token: &'a [u8],
    vocab: &'a Vocab,
    banned: &'a FxHashSet<u32>,
) -> impl Iterator<Item = Rule> + 'a {
    let allowed = |token: &[u8]| vocab.id(token).filter(|id| !banned.contains(id));
    (1..token.len()).filter_map(move |cut| {
        let (left, right) = token.split_at(cut);
        Some((allowed(left)?, allowed(right)?, id))
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::symbols::Unit;
    use super::super::{Bpe, reference};
    use super::*;
    use crate::model::Scratch;
    use crate::spec::{self, Merges, Semantics, TokenList};
    use proptest::prelude::*;

    fn model(tokens: &[String], banned: &FxHashSet<u32>) -> (Bpe, Vocab) {
        let mut list = TokenList::default();
        for (id, token) in (0..).zip(tokens) {
            list.push(token.as_bytes(), id).unwrap();
        }
        let vocab = Vocab::new(&list).unwrap();
        let spec = spec::Bpe {
            vocab: list,
            merges: Merges::ByRank,
            continuing_subword_prefix: None,
            end_of_word_suffix: None,
            unk_token: None,
            fuse_unk: false,
            byte_fallback: false,
            ignore_merges: false,
            whole_line_ends: false,
            dropout: None,
        };
        let model =
            Bpe::compile(&spec, Semantics::Tiktoken, Unit::Byte, &vocab, banned, None).unwrap();
        (model, vocab)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]
        /// Ids in any order, so that parts may have higher ranks than what they make.
        #[test]
        fn the_pairs_that_come_up_are_enough(
            mut tokens in prop::collection::vec("[abc]{2,6}", 0..40),
            letters in Just(["a", "b", "c"]).prop_shuffle(),
            letters_first: bool,
            sorted: bool,
            banned in prop::collection::hash_set(4u32..40, 0..3),
            pieces in prop::collection::vec("[abc]{1,40}", 1..8),
        ) {
            if sorted {
                tokens.sort_by_key(String::len);
            }
            let letters = letters.into_iter().map(str::to_owned);
            match letters_first {
                true => { tokens.splice(0..0, letters); }
                false => tokens.extend(letters),
            }
            let letter = |id: u32| tokens.get(id as usize).is_some_and(|token| token.len() == 1);
            let banned = banned.into_iter().filter(|&id| !letter(id)).collect();
            let (model, vocab) = model(&tokens, &banned);
            let every = every(&vocab, &banned);
            for piece in &pieces {
                let mut out = Vec::new();
                model.encode(piece.as_bytes(), &vocab, &mut Scratch::new(0, false), &mut out).unwrap();
                let mut units = Vec::new();
                prop_assert!(model.symbols.known(piece.as_bytes(), &mut units));
                prop_assert_eq!(&out, &reference::merge(&units, &every), "{:?}", tokens);
            }
        }
    }
}
