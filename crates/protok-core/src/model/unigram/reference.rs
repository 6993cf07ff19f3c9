//! The best way to cut a piece as one would explain it: the oracle of the fast engine. Every
//! stretch of the piece is looked up in the vocabulary.

use super::super::output::{LookUp, NONE, missing};
use super::super::trie::NO_VALUE;
use super::score::Score;
use super::viterbi::unknown_is_needed;
use super::{Emitter, Symbol, Table, Unigram};
use crate::error::Result;
use crate::vocab::Vocab;

/// The best way to a place: its score, its last token, and where that starts.
#[derive(Clone, Copy)]
struct Best<S> {
    score: S,
    id: u32,
    start: usize,
}

/// Appends the tokens of a piece.
pub(super) fn encode<S: Score>(
    model: &Unigram,
    table: &Table<S>,
    piece: &[u8],
    vocab: &Vocab,
    out: &mut Vec<Symbol>,
) -> Result<()> {
    let unit = model.unknown.unit;
    let token = |text: &[u8]| {
        let id = vocab.id(&unit.spell(text))?;
        let place = model.places[id as usize];
        (place != NO_VALUE).then(|| table.entries[place as usize])
    };
    let mut bests: Vec<Option<Best<S>>> = vec![None; piece.len() + 1];
    bests[0] = Some(Best { score: S::default(), id: NONE, start: 0 });
    let mut start = 0;
    while start < piece.len() {
        if let Some(Best { score, .. }) = bests[start]
            && score.is_reset()
        {
            for best in bests[start..].iter_mut().flatten() {
                best.score = best.score - score;
            }
        }
        let so_far = bests[start].map(|best| best.score).unwrap_or_default();
        let width = unit.width(&piece[start..]);
        let last = piece.len().min(start + model.trie.longest_key());
        let found = (start + 1..=last).filter_map(|end| Some((end, token(&piece[start..end])?)));
        let mut ways: Vec<(usize, S, u32)> = found
            .map(|(end, entry)| {
                let user_defined = S::user_defined(end - start);
                (end, if entry.user_defined { user_defined } else { entry.score }, entry.id)
            })
            .collect();
        if ways.iter().all(|way| way.0 != start + width) {
            ways.push((start + width, table.unknown_score, model.unknown.id));
        }
        for (end, score, id) in ways {
            let score = score + so_far;
            if bests[end].is_none_or(|best| score > best.score) {
                if id == NONE && unknown_is_needed::<S>(&model.unknown) {
                    return Err(missing());
                }
                bests[end] = Some(Best { score, id, start });
            }
        }
        start += width;
    }
    let mut way = Vec::new();
    let mut end = piece.len();
    while end > 0 {
        let Some(best) = bests[end] else { break };
        way.push(Symbol { id: best.id, start: best.start, end });
        end = best.start;
    }
    let whole = |run: &[u8]| token(run).map(|entry| entry.id);
    let whole: LookUp<'_> = &whole;
    let mut emitter = Emitter::new(piece, &model.unknown, model.whole_runs.then_some(whole), out);
    for symbol in way.into_iter().rev() {
        emitter.emit(symbol.id, symbol.start, symbol.end)?;
    }
    emitter.finish()
}
