//! Which tokens merges can reach: see [`crate::model::reach`].

use super::{Bpe, Scratch, Vocab, Whole, merge};

impl Bpe {
    /// Whether some piece yields `id`, which the vocabulary spells `token`.
    pub(in crate::model) fn reaches(
        &self,
        id: u32,
        token: &[u8],
        vocab: &Vocab,
        scratch: &mut Scratch,
    ) -> bool {
        let whole = match &self.whole {
            Whole::No => false,
            Whole::InVocab => vocab.id(token) == Some(id),
            Whole::In(index) => index.bytes(id).is_some(),
        };
        whole
            || self.symbols.of_token(token, vocab).into_iter().any(|mut symbols| {
                merge::merge(&mut symbols, &self.pairs, &mut scratch.merge);
                symbols == [id]
            })
    }
}
