//! The queue of pairs that are to be merged.

/// A queue of (rank, position), lowest first.
///
/// In almost every vocabulary the pairs that a merge makes possible rank after it, so what is
/// pushed is never below what was popped last, and a radix heap (Ahuja et al., "Faster
/// algorithms for the shortest path problem", 1990) moves each entry a few times only, through
/// memory in order. An entry that does rank below goes to a small binary heap on the side, and
/// the lower of the two is popped: the order is exact for any rules.
#[derive(Debug)]
pub struct Queue {
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
    /// Forgets everything, and gives back memory that only a long piece needed.
    pub fn clear(&mut self) {
        for bucket in &mut self.buckets {
            bucket.clear();
            bucket.shrink_to(KEEP);
        }
        self.occupied = 0;
        self.last = 0;
        self.below.clear();
    }

    /// Adds an entry.
    #[inline]
    pub fn push(&mut self, rank: u32, position: u32) {
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

    /// The lowest entry.
    #[inline]
    pub fn pop(&mut self) -> Option<(u32, u32)> {
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
