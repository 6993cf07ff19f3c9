//! Sums over all segments: in fixed shards, added in their order, so that threads never show.

use super::lattice::{Scratch, best_path, expect};
use super::pieces::Pieces;
use super::text::Text;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Parts of the text, whatever the number of threads: their sums are rounded in the same way.
const SHARDS: usize = 16;

/// Counts of the pieces, and the weighted sum of the segments' logarithms.
#[derive(Debug, Default)]
pub(super) struct Sums {
    pub(super) counts: Vec<f64>,
    pub(super) log_likelihood: f64,
}

impl Sums {
    fn add(&mut self, other: &Self) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(sum, part)| *sum += part);
        self.log_likelihood += other.log_likelihood;
    }
}

/// Ranges of segments of nearly equal numbers of symbols.
pub(super) fn shards(text: &Text) -> Vec<Range<usize>> {
    let total = text.letters.len();
    let mut start = 0;
    let mut shards = Vec::with_capacity(SHARDS);
    for shard in 1..=SHARDS {
        let bound = (total / SHARDS * shard + total % SHARDS * shard / SHARDS) as u32;
        let end = start + text.segments[start..].partition_point(|&(begin, _)| begin < bound);
        shards.push(start..end);
        start = end;
    }
    shards
}

/// Expected counts over all segmentations. Walks must read probabilities.
pub(super) fn expected(
    pieces: &Pieces,
    text: &Text,
    shards: &[Range<usize>],
    floor: f64,
    threads: usize,
) -> Sums {
    over_shards(pieces, text, shards, threads, |segment, weight, scratch, counts| {
        expect(pieces, segment, weight, floor, scratch, counts)
    })
}

/// Counts on the best path of each segment. Walks must read scores.
pub(super) fn best_paths(
    pieces: &Pieces,
    text: &Text,
    shards: &[Range<usize>],
    threads: usize,
) -> Sums {
    over_shards(pieces, text, shards, threads, |segment, weight, scratch, counts| {
        best_path(pieces, segment, weight, scratch, counts)
    })
}

fn over_shards(
    pieces: &Pieces,
    text: &Text,
    shards: &[Range<usize>],
    threads: usize,
    visit: impl Fn((u32, u32), f64, &mut Scratch, &mut [f64]) -> f64 + Sync,
) -> Sums {
    let sum_of = |shard: Range<usize>, counts: Vec<f64>, scratch: &mut Scratch| {
        let mut sums = Sums { counts, log_likelihood: 0.0 };
        for index in shard {
            let weight = text.weights[index] as f64;
            let log = visit(text.segments[index], weight, scratch, &mut sums.counts);
            sums.log_likelihood += weight * log;
        }
        sums
    };
    let next = AtomicUsize::new(0);
    let adder = Mutex::new(Adder {
        total: Sums { counts: vec![0.0; pieces.len()], log_likelihood: 0.0 },
        added: 0,
        waiting: BTreeMap::new(),
        spare: Vec::new(),
    });
    let lock = || adder.lock().unwrap_or_else(PoisonError::into_inner);
    let run = || {
        let mut scratch = Scratch::default();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(shard) = shards.get(index) else { break };
            let mut counts = lock().spare.pop().unwrap_or_default();
            counts.clear();
            counts.resize(pieces.len(), 0.0);
            let sums = sum_of(shard.clone(), counts, &mut scratch);
            lock().file(index, sums);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(shards.len()) {
            scope.spawn(run);
        }
        run();
    });
    adder.into_inner().unwrap_or_else(PoisonError::into_inner).total
}

/// Adds shards in their order, whatever the order in which they are done.
struct Adder {
    total: Sums,
    added: usize,
    waiting: BTreeMap<usize, Sums>,
    spare: Vec<Vec<f64>>,
}

impl Adder {
    fn file(&mut self, index: usize, sums: Sums) {
        self.waiting.insert(index, sums);
        while let Some(sums) = self.waiting.remove(&self.added) {
            self.total.add(&sums);
            self.spare.push(sums.counts);
            self.added += 1;
        }
    }
}
