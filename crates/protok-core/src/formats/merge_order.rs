//! What a list of merges and a vocabulary with an order have in common.
//!
//! A `tokenizer.json` lists the pairs that merge. A rank file and a SentencePiece model only order
//! their tokens: any two neighbours that spell a token together merge, the best token first, the
//! leftmost of equals. [`last_merge`] is the bridge between the two:
//!
//! > Let `a` and `b` be neighbours at some moment while a text is merged, `ab` being a token.
//! > No merge has crossed the borders of `ab` so far, or they would not stand. So what happened
//! > inside was decided inside: merging the text of `ab` alone makes the same merges in the same
//! > order, and passes through the state `[a, b]`. That run is deterministic and ends when `ab`
//! > is made, so every text that ever makes the token `ab` makes it from the same two halves.
//!
//! Hence one pair a token is enough, and exact: at every moment the listed pairs among the
//! neighbours are those that the ordered vocabulary considers, in the same order. The other way
//! round, a list of merges is an ordered vocabulary if, for every token, both make it from the
//! same halves or neither makes it: then, step by step, both consider the same pairs.

/// Merges one token's own text and tells where the halves of the last merge meet.
///
/// `starts` are the byte positions of the first symbols and the end of the text. `order` gives
/// the place in the order of the pair of symbols from the first to the second position and from
/// the second to the third, if they merge: the lowest goes first, the leftmost of equals.
/// `None`: the run does not end in the token, or there is nothing to merge.
pub(super) fn last_merge<K: Ord + Copy>(
    mut starts: Vec<usize>,
    order: impl Fn(usize, usize, usize) -> Option<K>,
) -> Option<usize> {
    let of = |starts: &[usize], at: usize| {
        let (first, rest) = starts.get(at..)?.split_first()?;
        order(*first, *rest.first()?, *rest.get(1)?)
    };
    let mut pairs: Vec<Option<K>> =
        (0..starts.len().saturating_sub(2)).map(|at| of(&starts, at)).collect();
    while let Some(at) =
        (0..pairs.len()).filter(|at| pairs[*at].is_some()).min_by_key(|at| pairs[*at])
    {
        if pairs.len() == 1 {
            return Some(starts[1]);
        }
        starts.remove(at + 1);
        pairs.remove(at);
        if at < pairs.len() {
            pairs[at] = of(&starts, at);
        }
        if at > 0 {
            pairs[at - 1] = of(&starts, at - 1);
        }
    }
    None
}

/// The byte positions of the characters of a text, and its end.
pub(super) fn characters(text: &str) -> Vec<usize> {
    text.char_indices().map(|(at, _)| at).chain([text.len()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_token_has_the_halves_that_its_own_text_ends_in() {
        let tokens = ["a", "b", "ab", "bab", "abab", "bb"];
        let halves = |text: &str| {
            last_merge(characters(text), |from, _, to| {
                tokens.iter().position(|token| *token == &text[from..to])
            })
        };
        assert_eq!(halves("ab"), Some(1));
        assert_eq!(halves("bab"), Some(1));
        // `ab ab`, though `a bab` would be a split into tokens, too.
        assert_eq!(halves("abab"), Some(2));
        assert_eq!(halves("a"), None);
        assert_eq!(halves(""), None);
        assert_eq!(halves("ba"), None);
    }

    #[test]
    fn the_leftmost_of_equals_goes_first() {
        // All of one rank: the run at the left end grows by one each time.
        let halves = last_merge(characters("aaaa"), |_, _, _| Some(0));
        assert_eq!(halves, Some(3));
    }
}
