//! Joins pairs of symbols: best score first, leftmost of equals, until none joins.
//!
//! A short word is a scan for the minimum; longer ones take a queue, n log n steps for n symbols
//! at worst. Which two symbols an unused piece was last offered from is noted on the way, in
//! SentencePiece's order: before any merge from left to right, then the pair before each new
//! symbol and the pair after it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;

use super::super::bpe::pairs::{NO_MERGE, Pairs};
use super::super::queue::Queue;

/// Texts of up to so many symbols go to the scan.
const SHORT: usize = 48;

/// Which pairs join.
#[derive(Debug)]
pub(super) struct Rules {
    /// The rank of a pair is its rule.
    pub pairs: Pairs,
    /// The place of each rule in the order; rules with one score share it.
    pub classes: Vec<u32>,
    /// Whether each symbol is an unused piece; empty if none is.
    pub unused: Vec<bool>,
}

/// The memory of merging, kept from text to text.
#[derive(Debug, Default)]
pub struct MergeScratch {
    pub(super) symbols: Vec<u32>,
    /// The two symbols that each unused piece was last offered from.
    pub(super) merged: FxHashMap<u32, (u32, u32)>,
    rules: Vec<u32>,
    next: Vec<u32>,
    previous: Vec<u32>,
    queue: Queue,
}

const NONE: u32 = u32::MAX;

impl Rules {
    /// The rule of a pair, noted if it makes an unused piece.
    #[inline]
    fn offer(&self, left: u32, right: u32, merged: &mut FxHashMap<u32, (u32, u32)>) -> u32 {
        let rule = self.pairs.rank(left, right);
        if !self.unused.is_empty() && rule != NO_MERGE {
            let target = self.pairs.target(rule);
            if self.unused[target as usize] {
                merged.insert(target, (left, right));
            }
        }
        rule
    }

    #[inline]
    fn class(&self, rule: u32) -> u32 {
        if rule == NO_MERGE { NO_MERGE } else { self.classes[rule as usize] }
    }

    /// Merges symbols in place.
    pub fn merge(&self, symbols: &mut Vec<u32>, scratch: &mut MergeScratch) {
        scratch.merged.clear();
        if symbols.len() <= SHORT {
            self.merge_short(symbols, scratch);
        } else {
            self.merge_long(symbols, scratch);
        }
    }

    pub fn merge_short(&self, symbols: &mut Vec<u32>, scratch: &mut MergeScratch) {
        let MergeScratch { rules, next: classes, merged, .. } = scratch;
        rules.clear();
        rules.extend(symbols.windows(2).map(|pair| self.offer(pair[0], pair[1], merged)));
        classes.clear();
        classes.extend(rules.iter().map(|&rule| self.class(rule)));
        loop {
            let mut lowest = NO_MERGE;
            let mut at = 0;
            for (i, &class) in classes.iter().enumerate() {
                if class < lowest {
                    lowest = class;
                    at = i;
                }
            }
            if lowest == NO_MERGE {
                return;
            }
            symbols[at] = self.pairs.target(rules[at]);
            symbols.remove(at + 1);
            rules.remove(at);
            classes.remove(at);
            if at > 0 {
                rules[at - 1] = self.offer(symbols[at - 1], symbols[at], merged);
                classes[at - 1] = self.class(rules[at - 1]);
            }
            if at < rules.len() {
                rules[at] = self.offer(symbols[at], symbols[at + 1], merged);
                classes[at] = self.class(rules[at]);
            }
        }
    }

    pub fn merge_long(&self, symbols: &mut Vec<u32>, scratch: &mut MergeScratch) {
        let MergeScratch { rules, next, previous, queue, merged, .. } = scratch;
        let count = u32::try_from(symbols.len()).unwrap_or(NONE);
        link(count, next, previous);
        // `rules[i]` is the rule of the pair that starts at i, as last seen. An entry of the
        // queue whose class is another is stale.
        rules.clear();
        rules.extend(symbols.windows(2).map(|pair| self.offer(pair[0], pair[1], merged)));
        rules.push(NO_MERGE);
        queue.clear();
        for (i, &rule) in (0u32..).zip(rules.iter()) {
            if rule != NO_MERGE {
                queue.push(self.classes[rule as usize], i);
            }
        }
        while let Some((class, at)) = queue.pop() {
            let left = at as usize;
            if self.class(rules[left]) != class {
                continue;
            }
            let right = next[left] as usize;
            symbols[left] = self.pairs.target(rules[left]);
            symbols[right] = NONE;
            rules[right] = NO_MERGE;
            rules[left] = NO_MERGE;
            next[left] = next[right];
            if next[right] != NONE {
                previous[next[right] as usize] = at;
            }
            for start in [previous[left], at] {
                if start == NONE || next[start as usize] == NONE {
                    continue;
                }
                let (from, to) = (start as usize, next[start as usize] as usize);
                let rule = self.offer(symbols[from], symbols[to], merged);
                rules[from] = rule;
                if rule != NO_MERGE {
                    queue.push(self.classes[rule as usize], start);
                }
            }
        }
        symbols.retain(|&symbol| symbol != NONE);
    }

    /// Merges symbols in place; a merge that comes up is dropped for good where `drop` says so.
    pub fn merge_with_dropout(
        &self,
        symbols: &mut Vec<u32>,
        scratch: &mut MergeScratch,
        drop: &mut dyn FnMut() -> bool,
    ) {
        let MergeScratch { rules, next, previous, merged, .. } = scratch;
        merged.clear();
        if symbols.is_empty() {
            return;
        }
        link(u32::try_from(symbols.len()).unwrap_or(NONE), next, previous);
        rules.clear();
        rules.extend(symbols.windows(2).map(|pair| self.offer(pair[0], pair[1], merged)));
        rules.push(NO_MERGE);
        let entries = (0u32..).zip(rules.iter()).filter(|entry| *entry.1 != NO_MERGE);
        let mut queue: BinaryHeap<Reverse<(u32, u32, u32)>> =
            entries.map(|(at, &rule)| Reverse((self.classes[rule as usize], at, rule))).collect();
        while let Some(Reverse((_, at, rule))) = queue.pop() {
            let left = at as usize;
            if rules[left] != rule || drop() {
                continue;
            }
            let right = next[left] as usize;
            symbols[left] = self.pairs.target(rule);
            symbols[right] = NONE;
            (rules[left], rules[right]) = (NO_MERGE, NO_MERGE);
            next[left] = next[right];
            if next[right] != NONE {
                previous[next[right] as usize] = at;
            }
            for start in [previous[left], at] {
                if start == NONE || next[start as usize] == NONE {
                    continue;
                }
                let (from, to) = (start as usize, next[start as usize] as usize);
                rules[from] = self.offer(symbols[from], symbols[to], merged);
                if rules[from] != NO_MERGE {
                    queue.push(Reverse((self.classes[rules[from] as usize], start, rules[from])));
                }
            }
        }
        symbols.retain(|&symbol| symbol != NONE);
    }
}

/// Every symbol's neighbours.
fn link(count: u32, next: &mut Vec<u32>, previous: &mut Vec<u32>) {
    next.clear();
    next.extend(1..count);
    next.push(NONE);
    previous.clear();
    previous.push(NONE);
    previous.extend(0..count.saturating_sub(1));
}
