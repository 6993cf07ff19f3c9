//! Which pairs of tokens merge, into what, and in what order.
//!
//! One open-addressed table of 8-byte slots: left id, right id and rank in 21 bits each. One
//! load answers whether a pair merges and when; what it becomes is read only when it does. Rules
//! that were made to crowd together under one multiplier are placed by another.

use crate::memory::{Region, prefetch};
use crate::vocab::SeededMap;

/// A rank that no pair has: the pair does not merge.
pub const NO_MERGE: u32 = u32::MAX;

const FIELD: u32 = 21;
const FIELD_MAX: u32 = (1 << FIELD) - 1;
const EMPTY: u64 = u64::MAX;

/// The merge rules of a vocabulary. The lower a rank, the earlier its pair merges.
#[derive(Debug)]
pub struct Pairs {
    slots: Slots,
    /// What the pair of each rank becomes; empty where that is the rank itself.
    targets: Vec<u32>,
    limit: usize,
}

#[derive(Debug)]
enum Slots {
    Packed {
        slots: Region<u64>,
        /// Four bits for each slot: whether the hash of any rule leads there. Most pairs do not merge,
        /// and are known by it without a look at the slots, which are far away.
        filter: Vec<u64>,
        shift: u32,
        multiplier: u64,
    },
    /// For vocabularies whose ids or ranks do not fit in 21 bits.
    Wide(SeededMap<(u32, u32), u32>),
}

impl Pairs {
    /// From rules in order: the rank of a rule is its place. The last of two rules for one pair
    /// counts.
    #[must_use]
    pub fn listed(rules: &[(u32, u32, u32)]) -> Self {
        let targets = rules.iter().map(|rule| rule.2).collect();
        let ranked = rules.iter().zip(0u32..).map(|(&(left, right, _), rank)| (left, right, rank));
        Self { slots: Slots::build(rules.len(), ranked), targets, limit: rules.len() }
    }

    /// From rules whose rank is the id that they make.
    #[must_use]
    pub fn by_target(rules: &[(u32, u32, u32)]) -> Self {
        let limit = rules.iter().map(|rule| rule.2 as usize + 1).max().unwrap_or(0);
        Self { slots: Slots::build(rules.len(), rules.iter().copied()), targets: Vec::new(), limit }
    }

    /// No rules yet, and room for `count` whose ranks are the ids that they make, below `limit`;
    /// none if such ids do not fit.
    pub(super) fn with_room(count: usize, limit: usize) -> Option<Self> {
        let slots = Slots::pack(count, std::iter::empty(), MULTIPLIERS[0])?;
        (limit < FIELD_MAX as usize).then_some(Self { slots, targets: Vec::new(), limit })
    }

    /// Adds a rule; false if there is no room near its place.
    pub(super) fn insert(&mut self, (left, right, rank): (u32, u32, u32)) -> bool {
        let Slots::Packed { slots, filter, shift, multiplier } = &mut self.slots else {
            return false;
        };
        let key = u64::from(left) << FIELD | u64::from(right);
        let bit = place(key, *shift - 2, *multiplier);
        filter[bit / 64] |= 1 << (bit % 64);
        let first = bit >> 2;
        let mask = slots.len() - 1;
        let mut near = (first..first + NEAR.min(slots.len())).map(|at| at & mask);
        let free = near.find(|&at| slots[at] == EMPTY || slots[at] >> FIELD == key);
        free.map(|at| slots[at] = key << FIELD | u64::from(rank)).is_some()
    }

    /// One more than the highest rank.
    #[must_use]
    pub fn len(&self) -> usize {
        self.limit
    }

    /// Whether nothing merges.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.limit == 0
    }

    /// The rank of a pair, or [`NO_MERGE`].
    #[inline]
    #[must_use]
    pub fn rank(&self, left: u32, right: u32) -> u32 {
        match &self.slots {
            Slots::Packed { slots, filter, shift, multiplier } => {
                let key = u64::from(left) << FIELD | u64::from(right);
                if left > FIELD_MAX || right > FIELD_MAX {
                    return NO_MERGE;
                }
                let bit = place(key, shift - 2, *multiplier);
                if filter[bit / 64] >> (bit % 64) & 1 == 0 {
                    return NO_MERGE;
                }
                let mask = slots.len() - 1;
                let mut at = bit >> 2;
                loop {
                    let slot = slots[at & mask];
                    if slot >> FIELD == key {
                        return (slot as u32) & FIELD_MAX;
                    }
                    if slot == EMPTY {
                        return NO_MERGE;
                    }
                    at += 1;
                }
            }
            Slots::Wide(map) => map.get(&(left, right)).copied().unwrap_or(NO_MERGE),
        }
    }

    /// What the pair of a rank becomes.
    #[inline]
    #[must_use]
    pub fn target(&self, rank: u32) -> u32 {
        if self.targets.is_empty() { rank } else { self.targets[rank as usize] }
    }
}

impl Pairs {
    /// What each listed rule makes; nothing where that is its rank.
    pub(super) fn listed_targets(&self) -> &[u32] {
        &self.targets
    }

    /// The rules by rising rank, where that is what they make; none if ids or ranks are too large
    /// for the packed form.
    pub(super) fn packed_rules(&self) -> Option<Vec<(u32, u32, u32)>> {
        let Slots::Packed { slots, .. } = &self.slots else { return None };
        let taken = slots.iter().filter(|&&slot| slot != EMPTY);
        let field = |slot: u64, place: u32| (slot >> (place * FIELD)) as u32 & FIELD_MAX;
        let mut rules: Vec<(u32, u32, u32)> =
            taken.map(|&slot| (field(slot, 2), field(slot, 1), field(slot, 0))).collect();
        rules.sort_unstable_by_key(|&(left, right, rank)| (rank, left, right));
        Some(rules)
    }

    /// Everything that a rule makes, in no order.
    pub fn targets(&self) -> impl Iterator<Item = u32> + '_ {
        let packed = match &self.slots {
            Slots::Packed { slots, .. } => &**slots,
            Slots::Wide(_) => &[],
        };
        let wide = match &self.slots {
            Slots::Packed { .. } => None,
            Slots::Wide(map) => Some(map.values().copied()),
        };
        let ranks =
            packed.iter().filter(|&&slot| slot != EMPTY).map(|&slot| slot as u32 & FIELD_MAX);
        ranks.chain(wide.into_iter().flatten()).map(|rank| self.target(rank))
    }
}

#[inline]
fn place(key: u64, shift: u32, multiplier: u64) -> usize {
    (key.wrapping_mul(multiplier) >> shift) as usize
}

/// Odd, with bits all over.
const MULTIPLIERS: [u64; 4] =
    [0x9E37_79B9_7F4A_7C15, 0xD6E8_FEB8_6659_FD93, 0xA076_1D64_78BD_642F, 0xE703_7ED1_A0B4_28DB];

/// So many slots are looked at for each rule on average before the next multiplier is tried; three
/// are usual.
const CROWDED: usize = 16;

/// The places of so many rules are brought near before the first of them is written.
const AHEAD: usize = 32;

/// A rule that is added goes at most so far from its place.
const NEAR: usize = 256;

impl Slots {
    fn build(count: usize, rules: impl Iterator<Item = (u32, u32, u32)> + Clone) -> Self {
        // The all-ones key is the empty slot's, so the largest id stays out of the packed form.
        let fits = |value: u32| value < FIELD_MAX;
        if !rules.clone().all(|(left, right, rank)| fits(left) && fits(right) && fits(rank)) {
            return Self::Wide(rules.map(|(left, right, rank)| ((left, right), rank)).collect());
        }
        let packed = MULTIPLIERS.into_iter().find_map(|m| Self::pack(count, rules.clone(), m));
        packed.unwrap_or_else(|| {
            Self::Wide(rules.map(|(left, right, rank)| ((left, right), rank)).collect())
        })
    }

    /// The packed form; none if the rules crowd together under this multiplier.
    fn pack(
        count: usize,
        rules: impl Iterator<Item = (u32, u32, u32)>,
        multiplier: u64,
    ) -> Option<Self> {
        let capacity = (count * 2).next_power_of_two().max(16);
        let shift = 64 - capacity.trailing_zeros();
        let mut slots = Region::zeroed(capacity);
        slots.expect_use();
        slots.fill(EMPTY);
        let mut filter = vec![0; capacity * 4 / 64];
        let mut left_over = CROWDED * (count + 64);
        let mut near = Vec::with_capacity(AHEAD);
        let mut rules = rules.fuse();
        loop {
            for (left, right, rank) in rules.by_ref().take(AHEAD) {
                let key = u64::from(left) << FIELD | u64::from(right);
                let bit = place(key, shift - 2, multiplier);
                filter[bit / 64] |= 1 << (bit % 64);
                prefetch(&slots, bit >> 2);
                near.push((key, bit >> 2, rank));
            }
            if near.is_empty() {
                break;
            }
            for (key, mut at, rank) in near.drain(..) {
                while slots[at & (capacity - 1)] != EMPTY
                    && slots[at & (capacity - 1)] >> FIELD != key
                {
                    at += 1;
                    left_over = left_over.checked_sub(1)?;
                }
                slots[at & (capacity - 1)] = key << FIELD | u64::from(rank);
            }
        }
        Some(Self::Packed { slots, filter, shift, multiplier })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_every_rule_and_nothing_else() {
        let rules: Vec<_> = (0..5000u32).map(|i| (i * 7 % 1000, i / 3, 2000 + i)).collect();
        for (pairs, listed) in [(Pairs::listed(&rules), true), (Pairs::by_target(&rules), false)] {
            let mut last = SeededMap::default();
            for (rank, &(left, right, target)) in rules.iter().enumerate() {
                last.insert((left, right), (rank as u32, target));
            }
            for (&(left, right), &(rank, target)) in &last {
                let found = pairs.rank(left, right);
                assert_eq!(found, if listed { rank } else { target });
                assert_eq!(pairs.target(found), target);
            }
            assert_eq!(pairs.rank(1, 4000), NO_MERGE);
            assert_eq!(pairs.rank(u32::MAX, u32::MAX), NO_MERGE);
        }
    }

    #[test]
    fn rules_that_crowd_together_are_found_as_fast() {
        // All of these have one place under the first multiplier.
        let shift = 64 - 14;
        let keys = (0..1u64 << 42).step_by(977);
        let crowd = keys.filter(|&key| place(key, shift, MULTIPLIERS[0]) == 7).take(8000);
        let rules: Vec<_> = crowd
            .zip(0u32..)
            .map(|(key, rank)| ((key >> FIELD) as u32, key as u32 & FIELD_MAX, rank))
            .collect();
        assert_eq!(rules.len(), 8000);
        let pairs = Pairs::listed(&rules);
        let Slots::Packed { multiplier, .. } = pairs.slots else { panic!("they fit") };
        assert_ne!(multiplier, MULTIPLIERS[0]);
        for &(left, right, rank) in &rules {
            assert_eq!(pairs.rank(left, right), rank);
        }
    }

    #[test]
    fn wide_ids() {
        let pairs = Pairs::listed(&[(1 << 23, 2, 3)]);
        assert_eq!(pairs.rank(1 << 23, 2), 0);
        assert_eq!(pairs.rank(0, 2), NO_MERGE);
        assert_eq!(Pairs::listed(&[]).rank(0, 0), NO_MERGE);
    }
}
