//! RWKV's longest match in the words of a `tokenizer.json`.
//!
//! Taking the longest token that fits, again and again, is what WordPiece does with a word if
//! continuing tokens have no mark of their own. The word is the whole text, spelled in GPT-2's
//! byte alphabet. As every byte is a token, the match never fails, and no text is unknown.

use super::vocab::Index;
use crate::error::{Error, Result};
use crate::spec::{
    ByteLevel, Decoder, Greedy, Model, PreTokenizer, Semantics, Spec, TokenList, WordPiece,
};
use crate::text::alphabet;

fn refused(place: &str, what: &str) -> Error {
    Error::artifact(place, format!("A tokenizer.json has no words for this: {what}."))
}

/// The Spec that Hugging Face `tokenizers` reads as the same tokenizer.
///
/// # Errors
/// Names what cannot be said exactly in a `tokenizer.json`.
pub(super) fn from_greedy(spec: &Spec, model: &Greedy) -> Result<Spec> {
    for (place, unlike) in [
        ("normalizer", spec.normalizer.is_some()),
        ("pre_tokenizer", spec.pre_tokenizer.is_some()),
        ("post_processor", spec.post_processor.is_some()),
        ("added_tokens[0]", !spec.added_tokens.is_empty()),
        ("decoder", spec.decoder != Some(Decoder::Bytes)),
    ] {
        if unlike {
            return Err(refused(place, "RWKV's longest match has another one"));
        }
    }
    let index = Index::new(&model.vocab);
    for byte in 0..=255u8 {
        if index.get(&[byte]).is_none() {
            let what = format!("text with the byte 0x{byte:02X} has no tokens");
            return Err(refused("model.vocab", &what));
        }
    }
    let mut vocab = TokenList::with_capacity(model.vocab.len(), 0);
    for (token, id) in model.vocab.iter() {
        vocab
            .push(alphabet::encode(token).as_bytes(), id)
            .map_err(|error| Error::artifact("model.vocab", format!("{error}.")))?;
    }
    let byte_level = ByteLevel { add_prefix_space: false, trim_offsets: true, use_regex: false };
    Ok(Spec {
        semantics: Semantics::HuggingFace,
        normalizer: None,
        pre_tokenizer: Some(PreTokenizer::ByteLevel(byte_level)),
        model: Model::WordPiece(WordPiece {
            vocab,
            // The field is not optional; no text comes to it.
            unk_token: alphabet::encode(&[0]),
            continuing_subword_prefix: String::new(),
            max_input_chars_per_word: usize::MAX,
        }),
        post_processor: None,
        decoder: Some(Decoder::ByteLevel(byte_level)),
        added_tokens: Vec::new(),
        truncation: spec.truncation.clone(),
        padding: spec.padding.clone(),
    })
}
