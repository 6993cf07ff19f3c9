//! A `tokenizer.json` that says what a SentencePiece model would say, read as that model.
//!
//! The stages around the model are recognized by saying the reverse: for each setting of the
//! rules, what would the `tokenizer.json` look like? The merges become scores, and then, for
//! every token, both ways of merging must make it from the same halves (see `merge_order`).

use rustc_hash::FxHashMap;

use crate::error::{Error, Result};
use crate::formats::merge_order::{characters, last_merge};
use crate::formats::tokenizer_json::from_sentencepiece::{
    LONGEST, MARK, decoder as spell_decoder, exact_texts, normalizer as spell_normalizer,
};
use crate::formats::tokenizer_json::vocab::Index;
use crate::spec::{
    Bpe, Decoder, Merges, Model, Normalizer, Pattern, PieceKind, Replace, Semantics,
    SentencePieceBpe, SentencePieceDecoder, SentencePieceNormalizer, Spec, StripDecoder,
};

fn refused(place: impl Into<String>, what: &str) -> Error {
    Error::artifact(place, format!("A SentencePiece model has no words for this: {what}."))
        .hint("Save it as huggingface.")
}

/// The Spec that SentencePiece reads as the same tokenizer.
///
/// # Errors
/// Names what cannot be said exactly in a model.
pub(super) fn from_hugging_face(spec: &Spec) -> Result<Spec> {
    let Model::Bpe(model) = &spec.model else {
        return Err(match &spec.model {
            Model::Unigram(_) => {
                refused("model", "scores are added up in 64 bits, which decides ties")
            }
            _ => refused("model", "it is none of SentencePiece's kinds"),
        });
    };
    for (place, has, what) in [
        ("pre_tokenizer", spec.pre_tokenizer.is_some(), "text is cut before the model sees it"),
        ("post_processor", spec.post_processor.is_some(), "tokens are put around a text"),
        ("added_tokens[0]", !spec.added_tokens.is_empty(), "a token is looked for in the text"),
        ("truncation", spec.truncation.is_some(), "texts are cut short"),
        ("padding", spec.padding.is_some(), "texts are padded"),
    ] {
        if has {
            return Err(refused(place, what));
        }
    }
    let rules = rules(spec.normalizer.as_ref())?;
    let merges = check_model(model)?;
    let (kinds, decoder) = kinds_and_decoder(model, spec.decoder.as_ref(), &rules)?;
    let scores = scores(model, &kinds, merges)?;
    let unk_id = kinds.iter().position(|kind| *kind == PieceKind::Unknown);
    Ok(Spec {
        semantics: Semantics::SentencePiece,
        normalizer: Some(Normalizer::SentencePiece(rules)),
        pre_tokenizer: None,
        model: Model::SentencePieceBpe(SentencePieceBpe {
            vocab: model.vocab.clone(),
            scores,
            kinds,
            unk_id,
            byte_fallback: model.byte_fallback,
        }),
        post_processor: None,
        decoder: Some(Decoder::SentencePiece(decoder)),
        added_tokens: Vec::new(),
        truncation: None,
        padding: None,
    })
}

/// The rules for blanks that the normalizer spells.
fn rules(normalizer: Option<&Normalizer>) -> Result<SentencePieceNormalizer> {
    for choice in 0..8u8 {
        let rules = SentencePieceNormalizer {
            precompiled_charsmap: None,
            add_dummy_prefix: choice & 1 != 0,
            remove_extra_whitespaces: choice & 2 != 0,
            escape_whitespaces: choice & 4 != 0,
            treat_whitespace_as_suffix: false,
            protected: Vec::new(),
        };
        if spell_normalizer(&rules)?.as_ref() == normalizer {
            return Ok(rules);
        }
    }
    Err(refused("normalizer", "only rules for blanks can be said without a character map"))
}

/// Checks what is no matter of merges; returns them.
fn check_model(model: &Bpe) -> Result<&[(u32, u32)]> {
    let none = |text: &Option<String>| text.as_deref().is_none_or(str::is_empty);
    for (field, unlike, what) in [
        ("dropout", model.dropout.is_some_and(|chance| chance > 0.0), "merges are left out"),
        ("continuing_subword_prefix", !none(&model.continuing_subword_prefix), "tokens have marks"),
        ("end_of_word_suffix", !none(&model.end_of_word_suffix), "tokens have marks"),
        ("ignore_merges", model.ignore_merges, "a whole text that is a token is not merged"),
        ("whole_line_ends", model.whole_line_ends, "line ends that are a token are not merged"),
        ("fuse_unk", !model.fuse_unk && !model.byte_fallback, "unknown characters stay apart"),
    ] {
        if unlike {
            return Err(refused(format!("model.{field}"), what));
        }
    }
    let Merges::Listed(merges) = &model.merges else {
        return Err(refused("model.merges", "tokens merge by rank"));
    };
    for (at, (token, id)) in model.vocab.iter().enumerate() {
        if id as usize != at || token.is_empty() {
            return Err(refused(
                format!("model.vocab[{at}]"),
                "ids have holes, or a token is empty",
            ));
        }
        if token.len() > LONGEST {
            let what =
                format!("The token has {} bytes; at most {LONGEST} are converted.", token.len());
            return Err(Error::limit(what).at(format!("model.vocab[{at}]")));
        }
    }
    Ok(merges)
}

/// What each token is for, and the decoder that says so.
fn kinds_and_decoder(
    model: &Bpe,
    decoder: Option<&Decoder>,
    rules: &SentencePieceNormalizer,
) -> Result<(Vec<PieceKind>, SentencePieceDecoder)> {
    let index = Index::new(&model.vocab);
    let unk = model.unk_token.as_deref().and_then(|unk| index.get(unk.as_bytes()));
    let unk = unk.ok_or_else(|| {
        refused("model.unk_token", "there is no token for what the vocabulary lacks")
    })?;
    let mut kinds = vec![PieceKind::Normal; model.vocab.len()];
    if model.byte_fallback {
        for byte in 0..=255u8 {
            let token = format!("<0x{byte:02X}>");
            let id = index.get(token.as_bytes()).ok_or_else(|| {
                refused("model.byte_fallback", &format!("the byte token {token} is missing"))
            })?;
            kinds[id as usize] = PieceKind::Byte;
        }
    }
    kinds[unk as usize] = PieceKind::Unknown;
    let unk_token = model.unk_token.clone().unwrap_or_default();
    let wanted = |kinds: Vec<PieceKind>, unk_surface: String| SentencePieceDecoder {
        kinds,
        unk_surface,
        strip_first_mark: rules.add_dummy_prefix || rules.remove_extra_whitespaces,
        strip_leading_marks: rules.remove_extra_whitespaces,
        denormalizer: None,
    };
    // Llama's converters write this one. Text that starts with a blank of its own, which it also
    // drops, comes from no encoding: a mark stands there.
    if decoder == Some(&llama()) && model.byte_fallback && rules.add_dummy_prefix {
        return Ok((kinds.clone(), wanted(kinds, unk_token)));
    }
    let Some(Decoder::Sequence(steps)) = decoder else {
        return Err(refused("decoder", "it does not undo the normalizer as SentencePiece does"));
    };
    let mut surface = unk_token.clone();
    for step in steps {
        let Decoder::Replace(Replace { pattern: Pattern::Regex(pattern), content }) = step else {
            continue;
        };
        let Some(texts) = exact_texts(pattern) else { continue };
        if texts == [unk_token.as_str()] {
            surface.clone_from(content);
            continue;
        }
        for text in texts {
            if let Some(id) = index.get(text.as_bytes()) {
                kinds[id as usize] = PieceKind::Control;
            }
        }
    }
    let multiple = model.vocab.iter().zip(&kinds).any(|((token, _), kind)| {
        *kind == PieceKind::Normal && token.starts_with(MARK.repeat(2).as_bytes())
    });
    let guess = wanted(kinds.clone(), surface);
    if spell_decoder(&guess, model, multiple)? != Decoder::Sequence(steps.clone()) {
        return Err(refused("decoder", "it does not undo the normalizer as SentencePiece does"));
    }
    Ok((kinds, guess))
}

fn llama() -> Decoder {
    Decoder::Sequence(vec![
        Decoder::Replace(Replace {
            pattern: Pattern::String(MARK.to_owned()),
            content: " ".to_owned(),
        }),
        Decoder::ByteFallback,
        Decoder::Fuse,
        Decoder::Strip(StripDecoder { content: ' ', start: 1, stop: 0 }),
    ])
}

/// A score for each token, the better the earlier it merges.
fn scores(model: &Bpe, kinds: &[PieceKind], merges: &[(u32, u32)]) -> Result<Vec<f64>> {
    let token = |id: u32| std::str::from_utf8(model.vocab.bytes(id as usize)).unwrap_or_default();
    let index = Index::new(&model.vocab);
    // The last mention of a pair counts.
    let places: FxHashMap<(u32, u32), u32> = merges.iter().copied().zip(0u32..).collect();
    if merges.len() >= 1 << 24 {
        return Err(refused("model.merges", "there are more of them than a score can count"));
    }
    let listed: Vec<Option<(usize, u32)>> = (0u32..)
        .take(kinds.len())
        .map(|id| {
            let text = token(id);
            let place = |from: usize, middle: usize, to: usize| {
                let left = index.get(&text.as_bytes()[from..middle])?;
                let right = index.get(&text.as_bytes()[middle..to])?;
                places.get(&(left, right)).copied()
            };
            let cut = last_merge(characters(text), place)?;
            Some((cut, place(0, cut, text.len())?))
        })
        .collect();
    for (at, (id, kind)) in (0u32..).zip(kinds).enumerate() {
        let bad = |what: &str| refused(format!("model.vocab[{at}]"), what).value(token(id));
        if *kind == PieceKind::Normal {
            continue;
        }
        if listed[at].is_some() || token(id).chars().count() == 1 {
            return Err(bad("text makes a token that SentencePiece never makes from text"));
        }
        if let Some(place) = merges.iter().position(|pair| pair.0 == id || pair.1 == id) {
            let what = "SentencePiece never merges unknown, control and byte tokens";
            return Err(refused(format!("model.merges[{place}]"), what).value(token(id)));
        }
    }
    let none = merges.len() as u32;
    let order = |id: u32| listed[id as usize].map_or(none, |(_, place)| place);
    for (at, id) in (0u32..).take(kinds.len()).enumerate() {
        let text = token(id);
        let place = |from: usize, _: usize, to: usize| {
            let id = index.get(&text.as_bytes()[from..to])?;
            (kinds[id as usize] == PieceKind::Normal).then(|| order(id))
        };
        let cut =
            if kinds[at] == PieceKind::Normal { last_merge(characters(text), place) } else { None };
        if cut != listed[at].map(|(cut, _)| cut) {
            let what = match (cut, listed[at]) {
                (Some(_), None) => "no merges make this token, but its parts are side by side",
                _ => "the merges make this token of other parts than the order of tokens does",
            };
            return Err(refused(format!("model.vocab[{at}]"), what).value(text));
        }
    }
    let score = |id: u32, kind: &PieceKind| match kind {
        PieceKind::Normal => 0.0 - f64::from(order(id)),
        _ => 0.0,
    };
    Ok((0u32..).zip(kinds).map(|(id, kind)| score(id, kind)).collect())
}
