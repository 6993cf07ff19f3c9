//! SentencePiece's BPE as one would explain it: the oracle of the fast engine. Each merge looks
//! at all pairs, and every pair of neighbours is spelled out and looked up.

use std::collections::HashMap;

use super::{MOST_CUTS, SentencePieceBpe};
use crate::error::Result;
use crate::model::Symbol;
use crate::model::output::Emitter;
use crate::spec::PieceKind;
use crate::vocab::Vocab;

/// A stretch of the text.
#[derive(Clone, Copy)]
struct Part {
    start: usize,
    end: usize,
    frozen: bool,
}

/// Appends the tokens of a piece.
pub(super) fn encode(
    model: &SentencePieceBpe,
    text: &str,
    vocab: &Vocab,
    out: &mut Vec<Symbol>,
) -> Result<()> {
    let piece = |part: &str| {
        let id = vocab.id(part.as_bytes())?;
        model.pieces[id as usize].map(|(kind, score)| (id, kind, score))
    };
    let mut merged: HashMap<&str, (&str, &str)> = HashMap::new();
    // The score that two neighbours join with.
    let mut offer = |left: Part, right: Part| -> Option<f32> {
        if left.frozen || right.frozen {
            return None;
        }
        let joined = &text[left.start..right.end];
        let (_, kind, score) = piece(joined)?;
        if kind == PieceKind::Unused {
            merged.insert(joined, (&text[left.start..left.end], &text[right.start..right.end]));
        }
        Some(score)
    };
    let mut parts = start(model, text);
    let mut scores: Vec<Option<f32>> =
        parts.windows(2).map(|pair| offer(pair[0], pair[1])).collect();
    loop {
        let offers = scores.iter().enumerate();
        let offers = offers.filter_map(|(at, score)| score.map(|score| (score, at)));
        let best = offers.reduce(|best, new| match new.0.total_cmp(&best.0) {
            std::cmp::Ordering::Greater => new,
            _ => best,
        });
        let Some((_, at)) = best else { break };
        parts[at].end = parts[at + 1].end;
        parts.remove(at + 1);
        scores.remove(at);
        if at > 0 {
            scores[at - 1] = offer(parts[at - 1], parts[at]);
        }
        if at < scores.len() {
            scores[at] = offer(parts[at], parts[at + 1]);
        }
    }
    let mut emitter = Emitter::new(text.as_bytes(), &model.unknown, None, out);
    let mut at = 0;
    for part in parts {
        let mut todo = vec![(&text[part.start..part.end], 0)];
        while let Some((part, cuts)) = todo.pop() {
            let id = match piece(part) {
                None => model.unknown.id,
                Some((_, PieceKind::Unused, _)) if cuts <= MOST_CUTS => match merged.get(part) {
                    Some(&(left, right)) => {
                        todo.extend([(right, cuts + 1), (left, cuts + 1)]);
                        continue;
                    }
                    None => model.unknown.id,
                },
                Some((id, ..)) => id,
            };
            emitter.emit(id, at, at + part.len())?;
            at += part.len();
        }
    }
    emitter.finish()
}

/// Characters and the longest user-defined pieces.
fn start(model: &SentencePieceBpe, text: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut start = 0;
    while let Some(c) = text[start..].chars().next() {
        let found = model.user_defined.longest(&text.as_bytes()[start..]);
        let length = found.map_or(c.len_utf8(), |(length, _)| length);
        parts.push(Part { start, end: start + length, frozen: found.is_some() });
        start += length;
    }
    parts
}
