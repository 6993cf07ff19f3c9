//! SentencePiece's rules in the words of a `tokenizer.json`, where there are words for them.
//!
//! The model becomes a list of merges by the argument of `merge_order`, the rules for blanks
//! become normalizers, and the tokens without text are emptied by the decoder. Control pieces are
//! no added tokens: SentencePiece reads a control piece that a text spells as text, and so must
//! the reader of the file.
//!
//! What has no words: character maps, which `tokenizers` applies grapheme by grapheme; Unigram
//! scores, which it adds up in 64 bits instead of 32; user-defined pieces behind a dummy blank;
//! unused pieces; words. Of merges as good as one another SentencePiece takes the leftmost and a
//! list takes the earlier listed, so such pieces are refused, with one exception:
//!
//! > Let the pieces of one score be runs of one character `c`, and let no other piece that merges
//! > hold `cc`. Then only runs of single `c`s are ever touched by them, and none of those merges
//! > makes another one possible. From `c c c …` the leftmost candidate is taken: with the stuck
//! > symbols `p₁ … pᵢ` at the left, the candidates are `pᵢ₋₁pᵢ` if `pᵢ` has just grown, `pᵢc`, and
//! > `cc` further right: each is left of the next and not shorter. So "the longest first" and
//! > "the leftmost first" choose alike.

use rustc_hash::FxHashMap;

use super::vocab::Index;
use crate::error::{Error, Result};
use crate::formats::merge_order::{characters, last_merge};
use crate::spec::{
    Bpe, Decoder, Merges, Model, Normalizer, Pattern, PieceKind, Prepend, Replace, Semantics,
    SentencePieceDecoder, SentencePieceNormalizer, Spec, TokenList, WordUnit,
};

pub(crate) const MARK: &str = "\u{2581}";

/// No piece of a real model is that long; the merges of a piece take time quadratic in it.
pub(crate) const LONGEST: usize = 2048;

fn refused(place: impl Into<String>, what: &str) -> Error {
    Error::artifact(place, format!("A tokenizer.json has no words for this: {what}."))
        .hint("Save it as a SentencePiece model instead.")
}

/// The Spec that Hugging Face `tokenizers` reads as the same tokenizer.
///
/// # Errors
/// Names what cannot be said exactly in a `tokenizer.json`.
pub(super) fn from_sentencepiece(spec: &Spec) -> Result<Spec> {
    let Some(Normalizer::SentencePiece(rules)) = &spec.normalizer else {
        return Err(refused("normalizer", "it is not SentencePiece's"));
    };
    let Some(Decoder::SentencePiece(decoder)) = &spec.decoder else {
        return Err(refused("decoder", "it is not SentencePiece's"));
    };
    for (place, unlike) in [
        ("pre_tokenizer", spec.pre_tokenizer.is_some()),
        ("post_processor", spec.post_processor.is_some()),
        ("added_tokens[0]", !spec.added_tokens.is_empty()),
    ] {
        if unlike {
            return Err(refused(place, "a SentencePiece model has none"));
        }
    }
    let (model, multiple_marks) = model(&spec.model)?;
    let normalizer = normalizer(rules)?;
    let decoder = self::decoder(decoder, &model, multiple_marks)?;
    Ok(Spec {
        semantics: Semantics::HuggingFace,
        normalizer,
        pre_tokenizer: None,
        model: Model::Bpe(model),
        post_processor: None,
        decoder: Some(decoder),
        added_tokens: Vec::new(),
        truncation: spec.truncation.clone(),
        padding: spec.padding.clone(),
    })
}

// ---------------------------------------------------------------------------------------------
// Stage 2

/// The rules for blanks as normalizers.
pub(crate) fn normalizer(rules: &SentencePieceNormalizer) -> Result<Option<Normalizer>> {
    if rules.precompiled_charsmap.is_some() {
        return Err(refused(
            "normalizer.precompiled_charsmap",
            "a character map, which its reader applies grapheme by grapheme",
        ));
    }
    if !rules.protected.is_empty() {
        return Err(refused("normalizer.protected", "user-defined pieces"));
    }
    if rules.treat_whitespace_as_suffix && rules.add_dummy_prefix {
        return Err(refused("normalizer.treat_whitespace_as_suffix", "a blank after the text"));
    }
    let replace = |pattern, content: &str| {
        Normalizer::Replace(Replace { pattern, content: content.to_owned() })
    };
    let regex = |pattern: &str| Pattern::Regex(pattern.to_owned());
    let mut steps = Vec::new();
    if rules.remove_extra_whitespaces {
        // Marks that the text itself spells go with the blanks at its end, as they do there.
        let end = if rules.escape_whitespaces { "[ \u{2581}]+\\z" } else { " +\\z" };
        steps.push(replace(regex("\\A +"), ""));
        steps.push(replace(regex(" {2,}"), " "));
        steps.push(replace(regex(end), ""));
    }
    if rules.add_dummy_prefix {
        let blank = if rules.escape_whitespaces { MARK } else { " " };
        steps.push(Normalizer::Prepend(Prepend { prepend: blank.to_owned() }));
    }
    if rules.escape_whitespaces {
        steps.push(replace(Pattern::String(" ".to_owned()), MARK));
    }
    Ok(match steps.len() {
        0 | 1 => steps.pop(),
        _ => Some(Normalizer::Sequence(steps)),
    })
}

// ---------------------------------------------------------------------------------------------
// Stage 4

/// The merges; also whether a piece of text begins with two marks.
fn model(model: &Model) -> Result<(Bpe, bool)> {
    let (vocab, kinds, unk_id, byte_fallback, scores) = match model {
        Model::SentencePieceBpe(model) => {
            (&model.vocab, &model.kinds, model.unk_id, model.byte_fallback, Some(&model.scores))
        }
        // Characters are merges of nothing.
        Model::SentencePieceWord(model) if model.unit == WordUnit::Character => {
            (&model.vocab, &model.kinds, model.unk_id, model.byte_fallback, None)
        }
        Model::SentencePieceWord(_) => {
            return Err(refused("model", "unknown words side by side form one token"));
        }
        Model::Unigram(_) => {
            return Err(refused("model", "scores are added up in 32 bits, which decides ties"));
        }
        _ => return Err(refused("model", "it is not SentencePiece's")),
    };
    let unk = unk_id.filter(|&unk| unk < vocab.len());
    let unk = unk.ok_or_else(|| refused("model.unk_id", "there is no unknown piece"))?;
    let mut multiple_marks = false;
    for (at, (token, id)) in vocab.iter().enumerate() {
        let place = || format!("model.vocab[{at}]");
        let text = text(token, at)?;
        if id as usize != at {
            return Err(refused(place(), "its id is not its place"));
        }
        match kinds.get(at).copied().unwrap_or_default() {
            PieceKind::Normal => {
                multiple_marks |= text.strip_prefix(MARK).is_some_and(|t| t.starts_with(MARK));
            }
            PieceKind::UserDefined => {
                let what = "a user-defined piece, which is taken whole wherever it stands";
                return Err(refused(place(), what).value(text));
            }
            PieceKind::Unused => {
                let what = "an unused piece, which is cut again";
                return Err(refused(place(), what).value(text));
            }
            _ if text.chars().count() == 1 => {
                return Err(refused(place(), "one character that is no text").value(text));
            }
            _ => {}
        }
    }
    let merges = match scores {
        Some(scores) => merges(vocab, kinds, scores)?,
        None => Vec::new(),
    };
    let model = Bpe {
        vocab: vocab.clone(),
        merges: Merges::Listed(merges),
        dropout: None,
        unk_token: Some(text(vocab.bytes(unk), unk)?.to_owned()),
        continuing_subword_prefix: None,
        end_of_word_suffix: None,
        fuse_unk: true,
        byte_fallback,
        ignore_merges: false,
        whole_line_ends: false,
    };
    Ok((model, multiple_marks))
}

fn text(token: &[u8], at: usize) -> Result<&str> {
    std::str::from_utf8(token)
        .map_err(|_| refused(format!("model.vocab[{at}]"), "the piece is not UTF-8"))
}

/// A piece that merges, in the order of the list.
struct Made {
    piece: usize,
    /// The order among the pieces that can merge: the best score is 0.
    order: u32,
    halves: (u32, u32),
}

fn merges(vocab: &TokenList, kinds: &[PieceKind], scores: &[f64]) -> Result<Vec<(u32, u32)>> {
    let is_text = |at: usize| kinds.get(at).copied().unwrap_or_default() == PieceKind::Normal;
    let mut sorted: Vec<f32> = scores.iter().map(|&score| score as f32).collect();
    if scores.len() != vocab.len() || sorted.iter().any(|score| score.is_nan()) {
        return Err(refused("model.scores", "there is not one number for each piece"));
    }
    sorted.sort_by(|a, b| b.total_cmp(a));
    sorted.dedup_by(|a, b| a.to_bits() == b.to_bits());
    let place: FxHashMap<u32, u32> =
        sorted.iter().map(|score| score.to_bits()).zip(0u32..).collect();
    let order = |at: usize| place.get(&(scores[at] as f32).to_bits()).copied();
    let index = Index::new(vocab);
    let find = |text: &str| index.get(text.as_bytes()).filter(|&id| is_text(id as usize));
    let mut made = Vec::with_capacity(vocab.len());
    for (at, (token, _)) in vocab.iter().enumerate().filter(|(at, _)| is_text(*at)) {
        let text = text(token, at)?;
        if text.len() > LONGEST {
            let what =
                format!("The piece has {} bytes; at most {LONGEST} are converted.", text.len());
            return Err(Error::limit(what).at(format!("model.vocab[{at}]")));
        }
        let joined = |from: usize, _: usize, to: usize| {
            find(&text[from..to]).and_then(|id| order(id as usize))
        };
        let Some(cut) = last_merge(characters(text), joined) else { continue };
        let half = |half: &str| {
            find(half).ok_or_else(|| {
                let what = format!("it is made of {half:?}, which is no piece");
                refused(format!("model.vocab[{at}]"), &what).value(text)
            })
        };
        let halves = (half(&text[..cut])?, half(&text[cut..])?);
        made.push(Made { piece: at, order: order(at).unwrap_or(u32::MAX), halves });
    }
    made.sort_by_key(|made| (made.order, made.piece));
    settle_ties(&mut made, vocab)?;
    Ok(made.into_iter().map(|made| made.halves).collect())
}

/// Puts runs of one character that have one score in order, the longest first.
fn settle_ties(made: &mut [Made], vocab: &TokenList) -> Result<()> {
    let text = |made: &Made| std::str::from_utf8(vocab.bytes(made.piece)).unwrap_or_default();
    let run_of = |made: &Made| {
        let text = text(made);
        let first = text.chars().next()?;
        text.chars().all(|c| c == first).then_some(first)
    };
    let mut runs: Vec<(u32, String)> = Vec::new();
    for group in made.chunk_by_mut(|a, b| a.order == b.order).filter(|group| group.len() > 1) {
        let c = run_of(&group[0]);
        if let Some(other) = group.iter().find(|made| c.is_none() || run_of(made) != c) {
            let first = if other.piece == group[0].piece { &group[1] } else { &group[0] };
            let what = format!(
                "it is as good as piece {}, and then the leftmost merges first",
                first.piece
            );
            return Err(refused(format!("model.scores[{}]", other.piece), &what).value(text(other)));
        }
        group.sort_by_key(|made| std::cmp::Reverse(vocab.bytes(made.piece).len()));
        runs.extend(c.map(|c| (group[0].order, String::from_iter([c, c]))));
    }
    for (order, double) in runs {
        let other = made.iter().find(|m| m.order != order && text(m).contains(&double));
        if let Some(other) = other {
            let what = format!("it holds {double:?}, whose longer runs are as good as one another");
            return Err(refused(format!("model.vocab[{}]", other.piece), &what).value(text(other)));
        }
    }
    Ok(())
}

// ---------------------------------------------------------------------------------------------
// Stage 6

/// The decoder in steps. Marks stay until all is joined, so that only a mark is ever dropped at
/// the start: the surface of the unknown piece begins with a blank of its own.
pub(crate) fn decoder(
    rules: &SentencePieceDecoder,
    model: &Bpe,
    multiple_marks: bool,
) -> Result<Decoder> {
    if rules.denormalizer.is_some() {
        return Err(refused("decoder.denormalizer", "a character map for decoded text"));
    }
    if rules.unk_surface.contains(MARK) {
        return Err(refused("decoder.unk_surface", "a word mark that stays one"));
    }
    if rules.strip_leading_marks && multiple_marks {
        let what = "one mark of each token before the text is dropped, and a piece has several";
        return Err(refused("decoder.strip_leading_marks", what));
    }
    let named = |kind| {
        let tokens = model.vocab.iter().zip(&rules.kinds);
        tokens
            .filter(move |(_, own)| **own == kind)
            .map(|((token, _), _)| std::str::from_utf8(token).unwrap_or_default())
    };
    let replace =
        |pattern, content: &str| Decoder::Replace(Replace { pattern, content: content.to_owned() });
    let mut steps = Vec::new();
    let control: Vec<String> = named(PieceKind::Control).map(escape).collect();
    if !control.is_empty() {
        steps.push(replace(exactly(&control.join("|")), ""));
    }
    if let Some(unk) = named(PieceKind::Unknown).next()
        && unk != rules.unk_surface
    {
        steps.push(replace(exactly(&escape(unk)), &rules.unk_surface));
    }
    if model.byte_fallback {
        if Index::new(&model.vocab).get(MARK.as_bytes()).is_none() {
            let what = "the word mark is spelled in bytes, which decode to a mark, not a blank";
            return Err(refused("decoder", what));
        }
        steps.push(Decoder::ByteFallback);
    }
    steps.push(Decoder::Fuse);
    if rules.strip_first_mark {
        let marks = if rules.strip_leading_marks { "\\A\u{2581}+" } else { "\\A\u{2581}" };
        steps.push(replace(Pattern::Regex(marks.to_owned()), ""));
    }
    steps.push(replace(Pattern::String(MARK.to_owned()), " "));
    Ok(Decoder::Sequence(steps))
}

/// A pattern that matches a token as a whole.
fn exactly(alternatives: &str) -> Pattern {
    Pattern::Regex(format!("\\A(?:{alternatives})\\z"))
}

/// A text as a pattern in Oniguruma's spelling.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if "\\.+*?()|[]{}^$".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// The texts of a pattern of [`exactly`]; none if it is not one.
pub(crate) fn exact_texts(pattern: &str) -> Option<Vec<String>> {
    let inside = pattern.strip_prefix("\\A(?:")?.strip_suffix(")\\z")?;
    let mut texts = vec![String::new()];
    let mut chars = inside.chars();
    while let Some(c) = chars.next() {
        match (c, texts.last_mut()) {
            ('|', _) => texts.push(String::new()),
            ('\\', Some(text)) => text.push(chars.next()?),
            (c, Some(text)) => text.push(c),
            (_, None) => return None,
        }
    }
    Some(texts)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn list(pieces: &[(&str, f64)]) -> Result<Vec<(String, String)>> {
        let mut vocab = TokenList::default();
        for ((piece, _), id) in pieces.iter().zip(0..) {
            vocab.push(piece.as_bytes(), id).unwrap();
        }
        let scores: Vec<f64> = pieces.iter().map(|piece| piece.1).collect();
        let spelled = |id: u32| String::from_utf8_lossy(vocab.bytes(id as usize)).into_owned();
        let merges = merges(&vocab, &[], &scores)?;
        Ok(merges.into_iter().map(|(a, b)| (spelled(a), spelled(b))).collect())
    }

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect()
    }

    #[test]
    fn one_pair_a_piece_in_the_order_of_scores() {
        let pieces =
            [("a", 0.0), ("b", 0.0), ("c", 0.0), ("abc", -9.0), ("bc", -2.0), ("ab", -1.0)];
        // `a bc` spells `abc`, too, but no text gets there: `ab` is better than `bc`.
        assert_eq!(list(&pieces).unwrap(), pairs(&[("a", "b"), ("b", "c"), ("ab", "c")]));
    }

    #[test]
    fn pieces_of_one_score_are_refused_unless_they_are_runs() {
        let place = |pieces: &[(&str, f64)]| list(pieces).unwrap_err().location.unwrap();
        let ab = [("a", 0.0), ("b", 0.0), ("ab", -1.0), ("ba", -1.0)];
        assert_eq!(place(&ab), "model.scores[2]");
        let runs = [("a", 0.0), ("aa", -1.0), ("aaa", -1.0), ("aaaaa", -1.0)];
        assert_eq!(list(&runs).unwrap(), pairs(&[("aaa", "aa"), ("aa", "a"), ("a", "a")]));
        let beside = [("a", 0.0), ("b", 0.0), ("aa", -1.0), ("aaa", -1.0), ("aab", -2.0)];
        assert_eq!(place(&beside), "model.vocab[4]");
        assert_eq!(place(&[("a", 0.0), ("ab", -1.0)]), "model.vocab[1]");
    }

    #[test]
    fn exact_patterns_come_back() {
        let texts = ["<s>", "[a|b]", "x\\y", "é #"].map(str::to_owned);
        let pattern = exactly(&texts.clone().map(|text| escape(&text)).join("|"));
        let Pattern::Regex(pattern) = pattern else { panic!() };
        assert_eq!(exact_texts(&pattern).unwrap(), texts);
        assert_eq!(exact_texts("a"), None);
    }
}
