//! All ways to cut a piece, as a graph: for the best few, and for random ones.
//!
//! The best few come from an A* search backwards from the end, whose estimate of what is left is
//! the exact score of the best way there. Ways that score the same come in the order in which
//! SentencePiece's priority queue yields them, so that queue is modelled to the letter, with the
//! bounds at which SentencePiece forgets hypotheses or gives up and returns the best way alone.
//! They bound time and memory here as well.
//!
//! Random ways are drawn by forward filtering and backward sampling: sum over all ways to each
//! place, then walk back from the end, taking each token with its share.
//!
//! Sources: Nagata, "A Stochastic Japanese Morphological Analyzer Using a Forward-DP Backward-A*
//! N-Best Search Algorithm" (1994); Scott, "Bayesian Methods for Hidden Markov Models" (2002).

use super::super::output::{NONE, Unknown, missing};
use super::super::random::Random;
use super::super::trie::Trie;
use super::score::Score;
use super::viterbi::unknown_is_needed;
use super::{Symbol, Table};
use crate::error::{Error, Result};

/// See the [module](self). Nodes are tokens at their places; 0 stands before the piece and 1
/// after it.
#[derive(Debug)]
pub(super) struct Lattice<S> {
    nodes: Vec<Node<S>>,
    /// Nodes by the place where they end, in the order in which they were found.
    ends: Vec<Vec<u32>>,
}

#[derive(Debug, Clone, Copy)]
struct Node<S> {
    id: u32,
    start: u32,
    end: u32,
    score: S,
    /// The best score of a way up to and with this node, and the node before it.
    best: S,
    previous: u32,
}

const START: u32 = 0;
const END: u32 = 1;

impl<S: Score> Lattice<S> {
    /// The lattice of a piece.
    pub fn new(trie: &Trie, table: &Table<S>, unknown: &Unknown, piece: &[u8]) -> Result<Self> {
        let length = u32::try_from(piece.len())
            .map_err(|_| Error::limit("A piece is longer than 4 GiB."))?;
        let mut lattice = Self { nodes: Vec::new(), ends: vec![Vec::new(); piece.len() + 1] };
        lattice.add(NONE, 0, 0, S::default());
        lattice.nodes.push(Node { start: length, end: length, ..lattice.nodes[0] });
        let mut start = 0;
        while start < piece.len() {
            let rest = &piece[start..];
            let width = unknown.unit.width(rest);
            let mut single = false;
            for (length, value) in trie.prefixes(rest) {
                let entry = table.entries[value as usize];
                let score = if entry.user_defined {
                    let text = &rest[..length];
                    S::user_defined(text.iter().filter(|&&byte| byte & 0xC0 != 0x80).count())
                } else {
                    entry.score
                };
                lattice.add(entry.id, start, start + length, score);
                single |= length == width;
            }
            if !single {
                if unknown.id == NONE && unknown_is_needed::<S>(unknown) {
                    return Err(missing());
                }
                lattice.add(unknown.id, start, start + width, table.unknown_score);
            }
            start += width;
        }
        lattice.fill_best();
        Ok(lattice)
    }

    fn add(&mut self, id: u32, start: usize, end: usize, score: S) {
        self.ends[end].push(self.nodes.len() as u32);
        let (start, end) = (start as u32, end as u32);
        self.nodes.push(Node { id, start, end, score, best: S::default(), previous: NONE });
    }

    /// Finds the best way to every node. Nodes are in order of where they start, so those that
    /// end there are done before.
    fn fill_best(&mut self) {
        for node in (END as usize + 1..self.nodes.len()).chain([END as usize]) {
            let Node { start, score, .. } = self.nodes[node];
            let mut best = None;
            for &before in &self.ends[start as usize] {
                let sum = self.nodes[before as usize].best + score;
                if best.is_none_or(|(found, _)| sum > found) {
                    best = Some((sum, before));
                }
            }
            if let Some((sum, before)) = best {
                self.nodes[node].best = sum;
                self.nodes[node].previous = before;
            }
        }
    }

    /// The best way and its score.
    pub fn best(&self) -> (Vec<u32>, S) {
        let mut way = Vec::new();
        let mut node = self.nodes[END as usize].previous;
        while node != START && node != NONE {
            way.push(node);
            node = self.nodes[node as usize].previous;
        }
        way.reverse();
        (way, self.nodes[END as usize].best)
    }

    /// The token of a node.
    pub fn symbol(&self, node: u32) -> Symbol {
        let node = &self.nodes[node as usize];
        Symbol { id: node.id, start: node.start as usize, end: node.end as usize }
    }

    /// The best `count` ways with their scores, best first.
    pub fn nbest(&self, count: usize) -> Vec<(Vec<u32>, S)> {
        if self.ends.len() == 1 {
            return vec![(Vec::new(), S::default())];
        }
        let mut search = Search::new(count, self.nodes[END as usize].best);
        let mut ways = Vec::new();
        while let Some(top) = search.agenda.pop(&search.hypotheses) {
            let Hypothesis { node, so_far, estimate, .. } = search.hypotheses[top as usize];
            if node == START {
                ways.push((search.way(top), estimate));
                if ways.len() == count {
                    break;
                }
                continue;
            }
            let ends = &self.ends[self.nodes[node as usize].start as usize];
            for &before in ends {
                let Node { score, best, .. } = self.nodes[before as usize];
                search.push(Hypothesis {
                    node: before,
                    next: top,
                    estimate: best + so_far,
                    so_far: score + so_far,
                });
            }
            if !search.keep_within_bounds(ends.len()) {
                return vec![self.best()];
            }
        }
        ways
    }

    /// A random way, with probability in proportion to the exponential of its score times
    /// `alpha`.
    pub fn sample(&self, alpha: f64, random: &mut Random) -> Vec<u32> {
        // The logarithm of the sum over all ways that end at each place.
        let mut sums = vec![f64::NEG_INFINITY; self.ends.len()];
        sums[0] = 0.0;
        let weight = |sums: &[f64], node: u32| {
            let node = &self.nodes[node as usize];
            sums[node.start as usize] + alpha * node.score.to_f64()
        };
        for place in 1..self.ends.len() {
            let ends = &self.ends[place];
            let most = ends.iter().map(|&n| weight(&sums, n)).fold(f64::NEG_INFINITY, f64::max);
            if most > f64::NEG_INFINITY {
                let sum: f64 = ends.iter().map(|&n| (weight(&sums, n) - most).exp()).sum();
                sums[place] = most + sum.ln();
            }
        }
        let mut way = Vec::new();
        let mut place = self.ends.len() - 1;
        while place > 0 {
            let mut left = random.uniform();
            let mut chosen = None;
            for &node in &self.ends[place] {
                let share = (weight(&sums, node) - sums[place]).exp();
                if share > 0.0 {
                    chosen = Some(node);
                    left -= share;
                    if left < 0.0 {
                        break;
                    }
                }
            }
            let Some(node) = chosen.or(self.ends[place].first().copied()) else { break };
            way.push(node);
            place = self.nodes[node as usize].start as usize;
        }
        way.reverse();
        way
    }
}

/// A way from a node to the end.
#[derive(Debug, Clone, Copy)]
struct Hypothesis<S> {
    node: u32,
    /// The hypothesis that it extends, or [`NONE`].
    next: u32,
    /// The score of the best way through it.
    estimate: S,
    /// The score from the node to the end.
    so_far: S,
}

/// Hypotheses that are kept when there are too many.
const KEPT: usize = 512;
const MOST_IN_AGENDA: usize = 10_000;
const MOST_HYPOTHESES: usize = 100_000;
const MOST_EVER: usize = 500_000;
const MOST_CUTS: usize = 10;

struct Search<S> {
    hypotheses: Vec<Hypothesis<S>>,
    agenda: Agenda,
    kept: usize,
    most_hypotheses: usize,
    ever: usize,
    cuts: usize,
}

impl<S: Score> Search<S> {
    fn new(count: usize, best: S) -> Self {
        let mut search = Self {
            hypotheses: Vec::new(),
            agenda: Agenda::default(),
            kept: KEPT.min(count.saturating_mul(10)),
            most_hypotheses: MOST_HYPOTHESES,
            ever: 1,
            cuts: 0,
        };
        let end = Hypothesis { node: END, next: NONE, estimate: best, so_far: S::default() };
        search.push(end);
        search
    }

    fn push(&mut self, hypothesis: Hypothesis<S>) {
        self.hypotheses.push(hypothesis);
        self.agenda.push(self.hypotheses.len() as u32 - 1, &self.hypotheses);
    }

    /// The nodes of a hypothesis that starts before the piece, without both ends.
    fn way(&self, top: u32) -> Vec<u32> {
        let mut way = Vec::new();
        let mut at = self.hypotheses[top as usize].next;
        while at != NONE {
            let Hypothesis { node, next, .. } = self.hypotheses[at as usize];
            if next != NONE {
                way.push(node);
            }
            at = next;
        }
        way
    }

    /// Forgets all but the best hypotheses when there are too many; false when it is time to
    /// give up.
    fn keep_within_bounds(&mut self, added: usize) -> bool {
        self.ever += added;
        if self.ever >= MOST_EVER || self.hypotheses.len() >= MOST_EVER {
            return false;
        }
        let open = self.agenda.0.len();
        let full = open >= MOST_IN_AGENDA
            || (open > self.kept && self.hypotheses.len() >= self.most_hypotheses);
        if !full {
            return true;
        }
        if self.cuts >= MOST_CUTS {
            return false;
        }
        self.cuts += 1;
        let mut places = vec![NONE; self.hypotheses.len()];
        let mut hypotheses = Vec::new();
        let mut agenda = Agenda::default();
        for _ in 0..open.min(self.kept) {
            let Some(top) = self.agenda.pop(&self.hypotheses) else { break };
            agenda.push(self.copy(top, &mut places, &mut hypotheses), &hypotheses);
        }
        self.hypotheses = hypotheses;
        self.agenda = agenda;
        self.most_hypotheses = self.hypotheses.len() + MOST_HYPOTHESES;
        true
    }

    /// Copies a hypothesis and what it extends, as far as that was not copied yet.
    fn copy(&self, from: u32, places: &mut [u32], to: &mut Vec<Hypothesis<S>>) -> u32 {
        let (mut at, mut last) = (from, NONE);
        while at != NONE {
            let known = places[at as usize];
            let place = if known == NONE { to.len() as u32 } else { known };
            if last != NONE {
                to[last as usize].next = place;
            }
            if known != NONE {
                break;
            }
            places[at as usize] = place;
            to.push(Hypothesis { next: NONE, ..self.hypotheses[at as usize] });
            last = place;
            at = self.hypotheses[at as usize].next;
        }
        places[from as usize]
    }
}

/// A binary heap of hypotheses by estimate, highest first. Which of equals comes first follows
/// from how the C++ library that SentencePiece's wheels are built with moves them: a new entry
/// rises past lower ones only; taking the top sinks the gap to the bottom by the higher child,
/// the right one of equals, and lets the last entry rise from there.
#[derive(Debug, Default)]
struct Agenda(Vec<u32>);

impl Agenda {
    fn push<S: Score>(&mut self, hypothesis: u32, all: &[Hypothesis<S>]) {
        self.0.push(hypothesis);
        self.rise(self.0.len() - 1, hypothesis, all);
    }

    fn rise<S: Score>(&mut self, mut at: usize, hypothesis: u32, all: &[Hypothesis<S>]) {
        let estimate = |hypothesis: u32| all[hypothesis as usize].estimate;
        while at > 0 {
            let parent = (at - 1) / 2;
            if estimate(self.0[parent]) < estimate(hypothesis) {
                self.0[at] = self.0[parent];
                at = parent;
            } else {
                break;
            }
        }
        self.0[at] = hypothesis;
    }

    fn pop<S: Score>(&mut self, all: &[Hypothesis<S>]) -> Option<u32> {
        let last = self.0.pop()?;
        let Some(&top) = self.0.first() else { return Some(last) };
        let estimate = |hypothesis: u32| all[hypothesis as usize].estimate;
        let length = self.0.len();
        let mut gap = 0;
        while 2 * gap + 2 < length {
            let (left, right) = (2 * gap + 1, 2 * gap + 2);
            let right_is_lower = estimate(self.0[right]) < estimate(self.0[left]);
            let child = if right_is_lower { left } else { right };
            self.0[gap] = self.0[child];
            gap = child;
        }
        if 2 * gap + 2 == length {
            self.0[gap] = self.0[2 * gap + 1];
            gap = 2 * gap + 1;
        }
        self.rise(gap, last, all);
        Some(top)
    }
}
