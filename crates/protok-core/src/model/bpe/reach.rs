//! Which tokens merges can reach: see [`crate::model::reach`].

use super::{Bpe, Scratch, Vocab, merge};

impl Bpe {
    /// Whether some piece yields `id`, which the vocabulary spells `token`.
    pub(in crate::model) fn reaches(
        &self,
        id: u32,
        token: &[u8],
        vocab: &Vocab,
        scratch: &mut Scratch,
    ) -> bool {
        let whole = self.whole.as_ref().is_some_and(|whole| whole.holds(id, token, vocab));
        whole
            || self.symbols.of_token(token, vocab).into_iter().any(|mut symbols| {
                merge::merge(&mut symbols, &self.pairs, &mut scratch.merge);
                symbols == [id]
            })
    }
}
