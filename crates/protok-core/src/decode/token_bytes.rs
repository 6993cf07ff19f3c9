//! The bytes that each id stands for inside a text.
//!
//! What a decoder makes of a token may depend on its place. Here every token stands in mid-text,
//! with others before it and after it: a word mark is a blank, the prefix of a continuation is
//! nothing and its absence a blank, the suffix of a word's end is a blank, and what a decoder
//! strips off the text's own ends stays. What reads the decoded text as a whole is left out: the
//! tidying of blanks, repeats that CTC drops, a SentencePiece denormalizer.

use crate::added_tokens::AddedTokens;
use crate::error::Result;
use crate::vocab::Vocab;

use super::decoder::{Decoder, Kind};
use super::llama_cpp;

impl Decoder {
    /// The bytes of an id, where they are the same wherever it stands and kept at hand.
    #[must_use]
    pub fn fixed(&self, id: u32, vocab: &Vocab, added: &AddedTokens) -> Option<&[u8]> {
        let Kind::Bytes(fixed) = &self.kind else { return None };
        fixed.table(vocab, added).bytes(id)
    }

    /// The bytes of an id in mid-text; None for an id that the vocabulary lacks.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Limit`] where a pattern of the decoder reaches its bound.
    pub fn token_bytes(
        &self,
        id: u32,
        vocab: &Vocab,
        added: &AddedTokens,
    ) -> Result<Option<Vec<u8>>> {
        let content = added.get(id).map(|token| token.content.as_bytes());
        let Some(spelled) = added.decoded_form(id).map(str::as_bytes).or_else(|| vocab.bytes(id))
        else {
            return Ok(None);
        };
        let bytes = match &self.kind {
            Kind::Bytes(fixed) => match fixed.table(vocab, added).bytes(id) {
                Some(bytes) => bytes.to_vec(),
                None => return Ok(None),
            },
            Kind::SentencePiece(rules) => match content {
                Some(content) => content.to_vec(),
                None => rules.inside(id, spelled),
            },
            Kind::LlamaCpp(rules) => match content {
                Some(content) => content.to_vec(),
                None => llama_cpp::inside(rules, id, spelled),
            },
            Kind::Steps(chain) => {
                let mut token = spelled.to_vec();
                let mut fused = false;
                for step in chain.steps() {
                    step.inside(&mut token, &mut fused)?;
                }
                token
            }
            Kind::Blanks => [b" ", spelled].concat(),
        };
        Ok(Some(bytes))
    }
}
