//! tiktoken's rank vocabularies as a merge list.
//!
//! A rank file has no merges: any two neighbours that make a token merge, lowest rank first,
//! leftmost first. A `tokenizer.json` lists pairs. One pair a token is enough, and exact: see
//! `merge_order` for the argument.
//!
//! Hence the list holds, for each token, the last merge of the run on its own bytes, in the order
//! of ranks. At every moment the pairs in the list are exactly the pairs tiktoken would consider,
//! with the same order between them, and both engines take the leftmost of equals: the runs are
//! the same step by step. Tokens that no run makes are found only as whole pieces, which
//! `ignore_merges` does, as tiktoken does.

use super::vocab::Index;
use super::{pattern, settle};
use crate::error::{Error, Result};
use crate::formats::merge_order;
use crate::spec::{
    AddedToken, Bpe, ByteLevel, Decoder, Merges, Model, Pattern, PreTokenizer, Semantics, Spec,
    Split, SplitBehavior, TokenList,
};
use crate::text::alphabet;

/// No token of a real rank file has more than a few hundred bytes.
const LONGEST: usize = 2048;

/// The Spec that Hugging Face `tokenizers` reads as the same tokenizer.
///
/// # Errors
/// Names what cannot be said exactly in a `tokenizer.json`.
pub fn from_ranks(spec: &Spec) -> Result<Spec> {
    let (model, split) = parts(spec)?;
    let Pattern::Regex(source) = &split.pattern else {
        return Err(refused("pre_tokenizer", "is not a regular expression"));
    };
    let regex = pattern::to_oniguruma(source)?;
    let vocab = model.vocab.clone().sorted_by_id();
    let ranks = Index::new(&vocab);
    for byte in 0..=255u8 {
        if ranks.get(&[byte]).is_none() {
            return Err(refused("model.vocab", &format!("lacks the byte 0x{byte:02X}")));
        }
    }
    let mut spelled = TokenList::with_capacity(vocab.len(), 0);
    let mut merges = Vec::with_capacity(vocab.len());
    let mut before = None;
    for (token, rank) in vocab.iter() {
        if before == Some(rank) {
            return Err(refused("model.vocab", &format!("gives two tokens the rank {rank}")));
        }
        before = Some(rank);
        push(&mut spelled, alphabet::encode(token).as_bytes(), rank)?;
        if token.len() > LONGEST {
            return Err(Error::limit(format!(
                "A token has {} bytes; at most {LONGEST} are converted.",
                token.len()
            ))
            .at("model.vocab"));
        }
        if let Some(cut) = last_merge(token, &ranks)
            && let (Some(left), Some(right)) = (ranks.get(&token[..cut]), ranks.get(&token[cut..]))
        {
            merges.push((left, right));
        }
    }
    let (spelled, added_tokens) = place(spec.added_tokens.clone(), spelled)?;
    let byte_level = ByteLevel { add_prefix_space: false, trim_offsets: true, use_regex: false };
    Ok(Spec {
        semantics: Semantics::HuggingFace,
        normalizer: None,
        pre_tokenizer: Some(PreTokenizer::Sequence(vec![
            // What the pattern does not match is dropped, as tiktoken drops it.
            PreTokenizer::Split(Split {
                pattern: Pattern::Regex(regex),
                behavior: SplitBehavior::Removed,
                invert: true,
                semantics: Semantics::HuggingFace,
            }),
            PreTokenizer::ByteLevel(byte_level),
        ])),
        model: Model::Bpe(Bpe {
            vocab: spelled,
            merges: Merges::Listed(merges),
            ignore_merges: true,
            whole_line_ends: false,
            ..model.clone()
        }),
        post_processor: None,
        decoder: Some(Decoder::ByteLevel(byte_level)),
        added_tokens,
        truncation: spec.truncation.clone(),
        padding: spec.padding.clone(),
    })
}

fn refused(place: &str, what: &str) -> Error {
    Error::artifact(place, format!("The rank vocabulary {what}."))
        .hint("A tokenizer.json cannot say this exactly; save it as a rank file instead.")
}

fn push(list: &mut TokenList, token: &[u8], id: u32) -> Result<()> {
    list.push(token, id).map_err(|error| Error::artifact("model.vocab", format!("{error}.")))
}

/// The model and the pattern of a Spec that has exactly tiktoken's shape.
fn parts(spec: &Spec) -> Result<(&Bpe, &Split)> {
    let unlike = |place: &str| {
        Error::artifact(place, "This is not a rank vocabulary as tiktoken uses it.")
            .hint("It needs one tiktoken pattern, no normalizer and the decoder `Bytes`.")
    };
    let Model::Bpe(model) = &spec.model else { return Err(unlike("model")) };
    let plain = model.merges == Merges::ByRank
        && model.ignore_merges
        && model.dropout.is_none()
        && model.unk_token.is_none()
        && model.continuing_subword_prefix.is_none()
        && model.end_of_word_suffix.is_none()
        && !model.byte_fallback;
    if !plain {
        return Err(unlike("model"));
    }
    if spec.normalizer.is_some() {
        return Err(unlike("normalizer"));
    }
    if spec.post_processor.is_some() {
        return Err(unlike("post_processor"));
    }
    if spec.decoder != Some(Decoder::Bytes) {
        return Err(unlike("decoder"));
    }
    match &spec.pre_tokenizer {
        Some(PreTokenizer::Split(split))
            if split.semantics == Semantics::Tiktoken
                && split.behavior == SplitBehavior::Isolated
                && !split.invert =>
        {
            Ok((model, split))
        }
        _ => Err(unlike("pre_tokenizer")),
    }
}

/// Where the halves of the last merge of a token's own bytes meet.
fn last_merge(token: &[u8], ranks: &Index<'_>) -> Option<usize> {
    merge_order::last_merge((0..=token.len()).collect(), |from, _, to| ranks.get(&token[from..to]))
}

/// The special tokens with the ids they must have. Where the reference would count on from the
/// vocabulary's size to another id, they are entered into the vocabulary.
fn place(tokens: Vec<AddedToken>, vocab: TokenList) -> Result<(TokenList, Vec<AddedToken>)> {
    for (at, token) in tokens.iter().enumerate() {
        let printable = token.content.bytes().all(|byte| (0x20..0x7F).contains(&byte));
        if token.content.is_empty() || !printable {
            return Err(special(at, token, "is not made of printable ASCII"));
        }
        for other in tokens.iter().filter(|other| other.content != token.content) {
            if other.content.starts_with(&token.content) {
                return Err(special(at, token, &format!("begins {:?} as well", other.content)));
            }
            if other.id == token.id {
                return Err(special(at, token, &format!("shares its id with {:?}", other.content)));
            }
        }
    }
    let mut wanted = tokens.clone();
    wanted.sort_unstable_by_key(|token| token.id);
    if settle(wanted.clone(), &vocab, &mut Vec::new()) == wanted {
        return Ok((vocab, wanted));
    }
    let mut larger = vocab;
    for token in &wanted {
        push(&mut larger, token.content.as_bytes(), token.id)?;
    }
    let larger = larger.sorted_by_id();
    let mut ids: Vec<u32> = larger.iter().map(|(_, id)| id).collect();
    ids.dedup();
    let mut spellings: Vec<&[u8]> = larger.iter().map(|(token, _)| token).collect();
    spellings.sort_unstable();
    spellings.dedup();
    if ids.len() != larger.len() || spellings.len() != larger.len() {
        return Err(refused("added_tokens", "has a special token that is an ordinary one, too"));
    }
    if settle(wanted.clone(), &larger, &mut Vec::new()) != wanted {
        return Err(refused("added_tokens", "has ids that the file's reader would change"));
    }
    Ok((larger, wanted))
}

fn special(at: usize, token: &AddedToken, what: &str) -> Error {
    Error::artifact(
        format!("added_tokens[{at}]"),
        format!("The special token {:?} {what}.", token.content),
    )
    .hint("The reader of a tokenizer.json would match or decode it otherwise.")
    .value(token.content.clone())
}
