//! The best way to cut a piece, found from left to right.

use super::super::output::{Emitter, Output, Unknown, missing};
use super::super::trie::{NO_VALUE, ROOT, Trie};
use super::score::Score;
use super::{NONE, Table};
use crate::error::{Error, Result};

/// The memory of the search.
#[derive(Debug, Default)]
pub struct Paths {
    single: Vec<Place<f32>>,
    double: Vec<Place<f64>>,
    /// A settled way, last token first: ids and where they end.
    way: Vec<(u32, usize)>,
}

/// The best way to reach a place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<S> {
    /// What it scores.
    score: S,
    /// Its last token.
    id: u32,
    /// The bytes of that token; 0 if no way was found yet.
    length: u32,
}

/// More places than this are given back when a piece is done.
const KEEP: usize = 1 << 20;

pub(super) trait Places: Score {
    fn of_paths(paths: &mut Paths) -> &mut Vec<Place<Self>>;
}

impl Places for f32 {
    fn of_paths(paths: &mut Paths) -> &mut Vec<Place<f32>> {
        &mut paths.single
    }
}

impl Places for f64 {
    fn of_paths(paths: &mut Paths) -> &mut Vec<Place<f64>> {
        &mut paths.double
    }
}

/// The ways to the places from `base` on. Those before are settled.
struct Window<S> {
    places: Vec<Place<S>>,
    base: usize,
}

impl<S: Score> Window<S> {
    fn start(&mut self, base: usize, score: S) {
        self.base = base;
        self.places.clear();
        self.places.push(Place { score, id: NONE, length: 0 });
    }

    /// The end of the furthest token seen.
    fn reach(&self) -> usize {
        self.base + self.places.len() - 1
    }

    /// Takes a token from `start` to `end` into account. Of ways that score the same the first
    /// stays.
    #[inline]
    fn offer(&mut self, start: usize, end: usize, score: S, id: u32) -> bool {
        let at = end - self.base;
        if at >= self.places.len() {
            let none = Place { score: S::default(), id: NONE, length: 0 };
            self.places.resize(at + 1, none);
        }
        let place = &mut self.places[at];
        let better = place.length == 0 || score > place.score;
        if better {
            *place = Place { score, id, length: (end - start) as u32 };
        }
        better
    }

    /// Writes the way to `end`, where every token has ended, and goes on from there.
    fn settle<O: Output>(
        &mut self,
        end: usize,
        way: &mut Vec<(u32, usize)>,
        emitter: &mut Emitter<'_, O>,
    ) -> Result<()> {
        way.clear();
        let mut at = end - self.base;
        let score = self.places[at].score;
        while at > 0 {
            let place = self.places[at];
            way.push((place.id, self.base + at));
            at -= place.length as usize;
        }
        let mut start = self.base;
        for &(id, end) in way.iter().rev() {
            emitter.emit(id, start, end)?;
            start = end;
        }
        self.start(end, score);
        Ok(())
    }
}

/// Writes the best way to cut a piece.
pub(super) fn best<S: Places, O: Output>(
    trie: &Trie,
    table: &Table<S>,
    unknown: &Unknown,
    piece: &[u8],
    paths: &mut Paths,
    emitter: &mut Emitter<'_, O>,
) -> Result<()> {
    if u32::try_from(piece.len()).is_err() {
        return Err(Error::limit("A piece is longer than 4 GiB."));
    }
    let mut way = std::mem::take(&mut paths.way);
    let mut window = Window { places: std::mem::take(S::of_paths(paths)), base: 0 };
    window.start(0, S::default());
    let result = run(trie, table, unknown, piece, &mut window, &mut way, emitter);
    window.places.clear();
    window.places.shrink_to(KEEP);
    way.shrink_to(KEEP);
    *S::of_paths(paths) = window.places;
    paths.way = way;
    result
}

fn run<S: Score, O: Output>(
    trie: &Trie,
    table: &Table<S>,
    unknown: &Unknown,
    piece: &[u8],
    window: &mut Window<S>,
    way: &mut Vec<(u32, usize)>,
    emitter: &mut Emitter<'_, O>,
) -> Result<()> {
    let mut start = 0;
    while start < piece.len() {
        if start == window.reach() {
            window.settle(start, way, emitter)?;
        }
        let mut so_far = window.places[start - window.base].score;
        if so_far.is_reset() {
            for place in &mut window.places[start - window.base..] {
                place.score = place.score - so_far;
            }
            so_far = S::default();
        }
        let rest = &piece[start..];
        let width = unknown.unit.width(rest);
        let mut single = false;
        let mut node = ROOT;
        for (at, &byte) in rest.iter().enumerate() {
            let Some(next) = trie.step(node, byte) else { break };
            node = next;
            let value = trie.value(node);
            if value != NO_VALUE {
                let length = at + 1;
                let entry = table.entries[value as usize];
                let score = if entry.user_defined { S::user_defined(length) } else { entry.score };
                window.offer(start, start + length, score + so_far, entry.id);
                single |= length == width;
            }
        }
        if !single {
            let taken =
                window.offer(start, start + width, table.unknown_score + so_far, unknown.id);
            if taken && unknown.id == NONE && unknown_is_needed::<S>(unknown) {
                return Err(missing());
            }
        }
        start += width;
    }
    window.settle(start, way, emitter)
}

/// Whether an unknown character without an unknown token is an error; SentencePiece may have
/// none where it has byte tokens.
pub(super) fn unknown_is_needed<S: Score>(unknown: &Unknown) -> bool {
    !(S::USER_DEFINED && unknown.bytes.is_some())
}
