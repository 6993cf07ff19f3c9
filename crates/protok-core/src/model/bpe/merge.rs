//! The merge engines: symbols in, tokens out.
//!
//! All do the same: of the pairs that merge, the one of lowest rank, leftmost among equals, is
//! joined, until none is left. They differ in what they cost for a piece of n symbols:
//!
//! - up to [`SHORT`] symbols: arrays and a scan for the minimum, n·m steps for m merges;
//! - longer ones: a queue, n log n at worst and close to n in practice (see [`Queue`]).

use super::pairs::{NO_MERGE, Pairs};
use super::symbols::Symbol;

/// Pieces of up to so many symbols go to the scan.
pub const SHORT: usize = 48;

/// The memory of the merge engines, kept from piece to piece.
#[derive(Debug, Default)]
pub struct MergeScratch {
    ranks: Vec<u32>,
    next: Vec<u32>,
    previous: Vec<u32>,
    queue: Queue,
}

/// Merges `symbols` in place.
pub fn merge(symbols: &mut Vec<u32>, pairs: &Pairs, scratch: &mut MergeScratch) {
    if symbols.len() <= SHORT {
        merge_short(symbols, pairs, &mut scratch.ranks);
    } else {
        merge_long(symbols, pairs, scratch);
    }
}

fn merge_short(symbols: &mut Vec<u32>, pairs: &Pairs, ranks: &mut Vec<u32>) {
    ranks.clear();
    ranks.extend(symbols.windows(2).map(|pair| pairs.rank(pair[0], pair[1])));
    loop {
        let mut lowest = NO_MERGE;
        let mut at = 0;
        for (i, &rank) in ranks.iter().enumerate() {
            if rank < lowest {
                lowest = rank;
                at = i;
            }
        }
        if lowest == NO_MERGE {
            return;
        }
        symbols[at] = pairs.target(lowest);
        symbols.remove(at + 1);
        ranks.remove(at);
        if at < ranks.len() {
            ranks[at] = pairs.rank(symbols[at], symbols[at + 1]);
        }
        if at > 0 {
            ranks[at - 1] = pairs.rank(symbols[at - 1], symbols[at]);
        }
    }
}

const NONE: u32 = u32::MAX;

fn merge_long(symbols: &mut Vec<u32>, pairs: &Pairs, scratch: &mut MergeScratch) {
    merge_marking(symbols, pairs, scratch);
    symbols.retain(|&symbol| symbol != NONE);
}

/// Merges symbols that know which bytes they cover.
pub fn merge_spans(symbols: &mut Vec<Symbol>, pairs: &Pairs, scratch: &mut MergeScratch) {
    if symbols.is_empty() {
        return;
    }
    let mut ids: Vec<u32> = symbols.iter().map(|symbol| symbol.id).collect();
    merge_marking(&mut ids, pairs, scratch);
    let mut kept = 0;
    for (i, id) in ids.into_iter().enumerate() {
        if id == NONE {
            symbols[kept - 1].end = symbols[i].end;
        } else {
            symbols[kept] = Symbol { id, ..symbols[i] };
            kept += 1;
        }
    }
    symbols.truncate(kept);
}

/// Merges at least one symbol; those that were joined to the one before become [`NONE`].
fn merge_marking(symbols: &mut [u32], pairs: &Pairs, scratch: &mut MergeScratch) {
    let MergeScratch { ranks, next, previous, queue } = scratch;
    let count = u32::try_from(symbols.len()).unwrap_or(NONE);
    next.clear();
    next.extend(1..count);
    next.push(NONE);
    previous.clear();
    previous.push(NONE);
    previous.extend(0..count - 1);
    // `ranks[i]` is the rank of the pair that starts at i, as last seen: an entry of the queue
    // with another rank is stale.
    ranks.clear();
    ranks.extend(symbols.windows(2).map(|pair| pairs.rank(pair[0], pair[1])));
    ranks.push(NO_MERGE);
    queue.clear();
    for (i, &rank) in (0u32..).zip(ranks.iter()) {
        if rank != NO_MERGE {
            queue.push(rank, i);
        }
    }
    while let Some((rank, at)) = queue.pop() {
        let left = at as usize;
        if ranks[left] != rank {
            continue;
        }
        let right = next[left] as usize;
        let after = next[right];
        symbols[left] = pairs.target(rank);
        symbols[right] = NONE;
        ranks[right] = NO_MERGE;
        next[left] = after;
        ranks[left] = NO_MERGE;
        if after != NONE {
            previous[after as usize] = at;
            ranks[left] = pairs.rank(symbols[left], symbols[after as usize]);
            if ranks[left] != NO_MERGE {
                queue.push(ranks[left], at);
            }
        }
        let before = previous[left];
        if before != NONE {
            let rank = pairs.rank(symbols[before as usize], symbols[left]);
            ranks[before as usize] = rank;
            if rank != NO_MERGE {
                queue.push(rank, before);
            }
        }
    }
}

/// A queue of (rank, position), lowest first.
///
/// In almost every vocabulary the pairs that a merge makes possible rank after it, so what is
/// pushed is never below what was popped last, and a radix heap (Ahuja et al., "Faster
/// algorithms for the shortest path problem", 1990) moves each entry a few times only, through
/// memory in order. An entry that does rank below goes to a small binary heap on the side, and
/// the lower of the two is popped: the order is exact for any rules.
#[derive(Debug)]
pub(in crate::model) struct Queue {
    /// Bucket 0 holds entries equal to `last`; bucket b those that differ from it first in
    /// bit b - 1.
    buckets: Vec<Vec<u64>>,
    /// One bit for each bucket that is not empty.
    occupied: u128,
    last: u64,
    below: std::collections::BinaryHeap<std::cmp::Reverse<u64>>,
}

impl Default for Queue {
    fn default() -> Self {
        Self {
            buckets: vec![Vec::new(); 65],
            occupied: 0,
            last: 0,
            below: std::collections::BinaryHeap::new(),
        }
    }
}

/// Buckets larger than this are given back when a piece is done.
const KEEP: usize = 1 << 16;

impl Queue {
    pub(in crate::model) fn clear(&mut self) {
        for bucket in &mut self.buckets {
            bucket.clear();
            bucket.shrink_to(KEEP);
        }
        self.occupied = 0;
        self.last = 0;
        self.below.clear();
    }

    pub(in crate::model) fn push(&mut self, rank: u32, position: u32) {
        let entry = u64::from(rank) << 32 | u64::from(position);
        if entry < self.last {
            self.below.push(std::cmp::Reverse(entry));
        } else {
            self.put(entry);
        }
    }

    fn put(&mut self, entry: u64) {
        let bucket = (64 - (entry ^ self.last).leading_zeros()) as usize;
        self.buckets[bucket].push(entry);
        self.occupied |= 1 << bucket;
    }

    pub(in crate::model) fn pop(&mut self) -> Option<(u32, u32)> {
        let entry = match self.below.pop() {
            Some(entry) => entry.0,
            None => self.pop_radix()?,
        };
        Some(((entry >> 32) as u32, entry as u32))
    }

    fn pop_radix(&mut self) -> Option<u64> {
        if self.occupied & 1 == 0 {
            if self.occupied == 0 {
                return None;
            }
            let bucket = self.occupied.trailing_zeros() as usize;
            self.occupied &= self.occupied - 1;
            let mut entries = std::mem::take(&mut self.buckets[bucket]);
            self.last = entries.iter().copied().min().unwrap_or(self.last);
            for entry in entries.drain(..) {
                self.put(entry);
            }
            self.buckets[bucket] = entries;
        }
        let entry = self.buckets[0].pop();
        if self.buckets[0].is_empty() {
            self.occupied &= !1;
        }
        entry
    }
}

#[cfg(test)]
mod tests {
    use super::super::reference;
    use super::*;
    use proptest::prelude::*;

    /// Rules over few symbols, so that they overlap, tie and contradict each other.
    fn rules() -> impl Strategy<Value = Vec<(u32, u32, u32)>> {
        prop::collection::vec((0u32..8, 0u32..8, 3u32..10), 0..30)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]
        #[test]
        fn engines_agree_with_the_reference(
            rules in rules(),
            symbols in prop::collection::vec(0u32..4, 0..120),
            by_target: bool,
        ) {
            let pairs = if by_target { Pairs::by_target(&rules) } else { Pairs::listed(&rules) };
            let expected = reference::merge(&symbols, &pairs);
            let mut scratch = MergeScratch::default();
            let mut short = symbols.clone();
            merge_short(&mut short, &pairs, &mut scratch.ranks);
            prop_assert_eq!(&short, &expected);
            if !symbols.is_empty() {
                let mut long = symbols;
                merge_long(&mut long, &pairs, &mut scratch);
                prop_assert_eq!(&long, &expected);
            }
        }
    }
}
