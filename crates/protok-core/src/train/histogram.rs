//! How many pairs tie at a count.

use rustc_hash::FxHashMap;

/// How many pairs have each count: an array for small counts, which nearly all are.
#[derive(Debug, Default)]
pub(super) struct Histogram {
    small: Vec<u64>,
    large: FxHashMap<i64, u64>,
}

impl Histogram {
    const SMALL: usize = 4096;

    pub(super) fn get(&self, count: i64) -> u64 {
        match usize::try_from(count) {
            Ok(i) if i < Self::SMALL => self.small.get(i).copied().unwrap_or(0),
            _ => self.large.get(&count).copied().unwrap_or(0),
        }
    }

    pub(super) fn change(&mut self, before: Option<i64>, after: Option<i64>) {
        if before == after {
            return;
        }
        for (count, added) in [(before, false), (after, true)] {
            let Some(count) = count else { continue };
            let slot = match usize::try_from(count) {
                Ok(i) if i < Self::SMALL => {
                    if self.small.is_empty() {
                        self.small.resize(Self::SMALL, 0);
                    }
                    &mut self.small[i]
                }
                _ => self.large.entry(count).or_insert(0),
            };
            *slot = if added { *slot + 1 } else { slot.saturating_sub(1) };
            if *slot == 0 {
                self.large.remove(&count);
            }
        }
    }
}
