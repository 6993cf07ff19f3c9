//! BPE-dropout: a merge that could happen is left out with some chance, each time it comes up.
//!
//! Source: Provilkov, Emelianenko and Voita, "BPE-Dropout: Simple and Effective Subword
//! Regularization" (2020), in the queue form of `tokenizers`: a merge that was left out comes up
//! again after the next one that was not. The generator is ChaCha with 8 rounds, seeded with the
//! caller's seed for each text, so a result does not depend on the batch it is in.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::pairs::{NO_MERGE, Pairs};
use super::symbols::Symbol;

/// The chance and the generator.
#[derive(Debug)]
pub struct Dropout {
    chance: f32,
    random: ChaCha8Rng,
}

const NONE: usize = usize::MAX;

impl Dropout {
    /// Leaves merges out with the given chance.
    #[must_use]
    pub fn new(chance: f32, seed: u64) -> Self {
        Self { chance, random: ChaCha8Rng::seed_from_u64(seed) }
    }

    /// A number in [0, 1) from the upper 24 bits of the next word.
    fn uniform(&mut self) -> f32 {
        (self.random.next_u32() >> 8) as f32 / (1u32 << 24) as f32
    }

    /// Merges symbols in place, leaving merges out.
    pub fn merge(&mut self, symbols: &mut Vec<Symbol>, pairs: &Pairs) {
        let count = symbols.len();
        let mut next: Vec<usize> = (1..=count).collect();
        let mut previous: Vec<usize> = (0..count).map(|i| i.wrapping_sub(1)).collect();
        let mut alive = vec![true; count];
        let mut queue: BinaryHeap<Reverse<(u32, usize)>> = symbols
            .windows(2)
            .enumerate()
            .map(|(at, pair)| Reverse((pairs.rank(pair[0].id, pair[1].id), at)))
            .filter(|entry| entry.0.0 != NO_MERGE)
            .collect();
        let mut left_out = Vec::new();
        while let Some(entry) = queue.pop() {
            if self.uniform() < self.chance {
                left_out.push(entry);
                continue;
            }
            queue.extend(left_out.drain(..));
            let Reverse((rank, left)) = entry;
            let right = next[left];
            let stale = !alive[left]
                || right >= count
                || pairs.rank(symbols[left].id, symbols[right].id) != rank;
            if stale {
                continue;
            }
            symbols[left].id = pairs.target(rank);
            symbols[left].end = symbols[right].end;
            alive[right] = false;
            next[left] = next[right];
            if next[left] < count {
                previous[next[left]] = left;
            }
            for at in [previous[left], left] {
                if at != NONE && next[at] < count {
                    let rank = pairs.rank(symbols[at].id, symbols[next[at]].id);
                    if rank != NO_MERGE {
                        queue.push(Reverse((rank, at)));
                    }
                }
            }
        }
        let mut keep = alive.into_iter();
        symbols.retain(|_| keep.next().unwrap_or(false));
    }
}

#[cfg(test)]
mod tests {
    use super::super::reference;
    use super::*;

    #[test]
    fn chances_of_none_and_all() {
        let pairs = Pairs::listed(&[(0, 1, 2), (2, 0, 3), (3, 1, 4)]);
        let symbols = vec![0, 1, 0, 1, 1, 0, 1];
        let run = |chance, seed| {
            let mut merged: Vec<Symbol> = (0..)
                .zip(&symbols)
                .map(|(at, &id)| Symbol { id, start: at, end: at + 1 })
                .collect();
            Dropout::new(chance, seed).merge(&mut merged, &pairs);
            assert!(merged.windows(2).all(|pair| pair[0].end == pair[1].start));
            merged.iter().map(|symbol| symbol.id).collect::<Vec<u32>>()
        };
        assert_eq!(run(0.0, 1), reference::merge(&symbols, &pairs));
        assert_eq!(run(1.0, 1), symbols);
        assert_eq!(run(0.5, 7), run(0.5, 7));
        assert!((0..50).any(|seed| run(0.5, seed) != run(0.5, 7)));
    }
}
