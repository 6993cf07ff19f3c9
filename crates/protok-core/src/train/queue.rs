//! Which pair is merged next: a heap of eight children a node, ordered by count, then tie rule.
//!
//! An entry holds the count that its generation had when it was pushed. Counts fall without the
//! heap hearing of it, so the top is checked against the index and pushed back if it was stale;
//! an entry is never below its place, so the top that passes is the best. Eight children keep
//! the heap flat: pushes, of which there are many more than pops, move few entries.

use super::TieRule;
use super::symbols::Tokens;
use std::cmp::Ordering;

/// A generation of a pair, at the count it had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) count: i64,
    /// Smaller is earlier: both ids of the pair, or its first site.
    pub(super) tie: u64,
    pub(super) generation: u32,
}

/// Puts both ids in one number that sorts as the pair of them.
pub(super) fn ids_key((left, right): (u32, u32)) -> u64 {
    u64::from(left) << 32 | u64::from(right)
}

/// Compares two pairs as pairs of texts, by code point.
pub(super) fn compare_texts(tokens: &Tokens, a: (u32, u32), b: (u32, u32)) -> Ordering {
    let texts = |(left, right)| (tokens.get(left), tokens.get(right));
    texts(a).cmp(&texts(b))
}

/// Compares what decides between equals: the ids of a pair as one number, or its first site.
pub(super) fn compare_ties(rule: TieRule, a: u64, b: u64, tokens: &Tokens) -> Ordering {
    let ids = |tie: u64| ((tie >> 32) as u32, tie as u32);
    match rule {
        TieRule::LowestIds | TieRule::FirstSeen => a.cmp(&b),
        _ if a == b => Ordering::Equal,
        TieRule::LexicographicFirst => compare_texts(tokens, ids(a), ids(b)),
        TieRule::LexicographicLast => compare_texts(tokens, ids(b), ids(a)),
    }
}

/// What waits in a [`Queue`].
pub(super) trait Ranked: Copy {
    /// Whether it comes before another: a total order.
    fn before(&self, other: &Self, rule: TieRule, tokens: &Tokens) -> bool;
}

impl Ranked for Entry {
    fn before(&self, other: &Self, rule: TieRule, tokens: &Tokens) -> bool {
        if self.count != other.count {
            return self.count > other.count;
        }
        let tie = compare_ties(rule, self.tie, other.tie, tokens);
        tie.then(self.generation.cmp(&other.generation)) == Ordering::Less
    }
}

/// The heap. The vocabulary comes with each call because two tie rules compare tokens.
#[derive(Debug)]
pub(super) struct Queue<E> {
    entries: Vec<E>,
    rule: TieRule,
}

const CHILDREN: usize = 8;

impl<E: Ranked> Queue<E> {
    pub(super) fn new(rule: TieRule) -> Self {
        Self { entries: Vec::new(), rule }
    }

    fn before(&self, a: &E, b: &E, tokens: &Tokens) -> bool {
        a.before(b, self.rule, tokens)
    }

    pub(super) fn push(&mut self, entry: E, tokens: &Tokens) {
        let mut hole = self.entries.len();
        self.entries.push(entry);
        while hole > 0 {
            let parent = (hole - 1) / CHILDREN;
            if !self.before(&entry, &self.entries[parent], tokens) {
                break;
            }
            self.entries[hole] = self.entries[parent];
            hole = parent;
        }
        self.entries[hole] = entry;
    }

    pub(super) fn pop(&mut self, tokens: &Tokens) -> Option<E> {
        let top = *self.entries.first()?;
        let moved = self.entries.pop()?;
        if !self.entries.is_empty() {
            self.sink(moved, tokens);
        }
        Some(top)
    }

    /// Puts `entry` in the place of the top.
    fn sink(&mut self, entry: E, tokens: &Tokens) {
        let mut hole = 0;
        loop {
            let first = hole * CHILDREN + 1;
            let end = (first + CHILDREN).min(self.entries.len());
            let Some(best) = (first..end).reduce(|best, child| {
                if self.before(&self.entries[child], &self.entries[best], tokens) {
                    child
                } else {
                    best
                }
            }) else {
                break;
            };
            if !self.before(&self.entries[best], &entry, tokens) {
                break;
            }
            self.entries[hole] = self.entries[best];
            hole = best;
        }
        self.entries[hole] = entry;
    }
}
