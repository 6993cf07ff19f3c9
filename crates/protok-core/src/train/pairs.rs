//! Where every pair of neighbouring symbols occurs, kept up to date merge by merge.
//!
//! All distinct words lie in one array of nodes, a node a symbol, in recorded order. A token has
//! the nodes of its symbols: its first one tells its id, and its first and last one how many they
//! are, so its neighbours are a step away on both sides without links. Every pair has a count and
//! one or more *generations*: the sites (first nodes of the left token) that one merge created,
//! ascending. A site whose node moved on to another pair is dead and skipped. At one node a token
//! only ever grows, so a dead site never revives.
//!
//! A merge visits the sites of its pair and their neighbours: over a whole training O(N + R) for
//! N symbols and R pairs created, with no rescan of a word, however long. What happens to the pairs
//! around is added up by neighbour and done once a merge. Memory is 8 bytes a symbol, at most 3 N
//! sites of 4 bytes, and about 60 bytes a pair; most pairs are rare, and may be
//! [left out](PairIndex::leave_out). Most of the time goes into waiting for nodes to come from
//! memory, so sites are looked at in batches before they are merged: the processor then waits for
//! many at once.

mod apply;
mod splitting;

use super::histogram::Histogram;
use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;
use std::hash::BuildHasher;
use std::ops::Range;

/// No node, no pair, no generation.
pub(super) const NONE: u32 = u32::MAX;

/// A symbol of a word. A token has the nodes of its symbols: the first tells its id and its pair,
/// the second and the last how many there are.
#[derive(Debug, Clone, Copy)]
struct Node {
    /// The token that starts here, with [`FIRST`] if a word does; or [`INSIDE`] and a number of
    /// nodes.
    symbol: u32,
    /// The pair of the token that starts here and the next, if there is one and it may be merged.
    pair: u32,
}

/// A word starts here. Ids are below, since all tokens have less than 1 GiB of text.
const FIRST: u32 = 1 << 30;

/// A token goes on here.
const INSIDE: u32 = 1 << 31;

/// Where words start among 64 nodes, and how many words started before.
#[derive(Debug, Clone, Copy)]
struct Starts {
    bits: u64,
    before: u32,
}

/// The most that the count of a parked pair may be.
pub(super) const PARKED: i64 = u32::MAX as i64;

/// Up to so many symbols have a table of all their pairs.
const MOST_DENSE: u32 = 1024;

#[derive(Debug)]
struct Pair {
    left: u32,
    right: u32,
    count: i64,
    /// The newest generation.
    last: u32,
    /// Generations not merged yet.
    open: u32,
    /// The place in `touched`, valid if the entry there is this pair's.
    slot: u32,
    /// The count at which its newest generation waits outside the queue, or zero.
    parked: u32,
}

#[derive(Debug)]
struct Generation {
    start: u32,
    length: u32,
    pair: u32,
    older: u32,
}

impl Generation {
    fn places(&self) -> Range<usize> {
        self.start as usize..(self.start + self.length) as usize
    }
}

/// What happens beside the merged pair where one token stands there.
#[derive(Debug)]
struct Beside {
    /// The pairs that the token was in before, and is in now.
    old: u32,
    new: u32,
    weight: i64,
    sites: u32,
    /// The place of the new pair in `touched`.
    slot: u32,
}

/// What happened to a pair in the current merge.
#[derive(Debug)]
struct Touched {
    pair: u32,
    created: u32,
    start: u32,
    before: Option<i64>,
}

/// The pairs of a corpus.
#[derive(Debug, Default)]
pub(super) struct PairIndex {
    nodes: Vec<Node>,
    /// By words that have symbols.
    weights: Vec<i64>,
    starts: Vec<Starts>,
    pairs: Vec<Pair>,
    lookup: HashTable<u32>,
    generations: Vec<Generation>,
    sites: Vec<u32>,
    /// How many of the sites belong to generations that were merged.
    taken: usize,
    histogram: Histogram,
    /// The nodes of each required word.
    required: Vec<(u32, u32)>,
    joins: usize,
    /// New pairs with a lower count are left out until they are asked for.
    least: i64,
    /// Numbers of pairs that were left out.
    free: Vec<u32>,
    /// Whether the pairs of the token that is being made are all new.
    fresh: bool,
    // Scratch of one merge.
    touched: Vec<Touched>,
    /// Sites that new pairs got: the place in `beside`, and the site.
    created: Vec<(u32, u32)>,
    beside: Vec<Beside>,
    /// For each side and token, the merge it was last met in and its place in `beside`.
    met: [Vec<(u32, u32)>; 2],
    stamp: u32,
}

fn hash(left: u32, right: u32) -> u64 {
    FxBuildHasher.hash_one(u64::from(left) << 32 | u64::from(right))
}

impl PairIndex {
    /// Takes the symbols over and counts all pairs.
    pub(super) fn new(symbols: Vec<u32>, ends: &[u32], mut weights: Vec<i64>) -> Self {
        let mut index = Self::default();
        index.nodes.reserve_exact(symbols.len());
        index.starts.resize(symbols.len().div_ceil(64), Starts { bits: 0, before: 0 });
        let (mut start, mut words) = (0, 0);
        for (&end, word) in ends.iter().zip(0..) {
            if start == end {
                continue;
            }
            for &symbol in &symbols[start as usize..end as usize] {
                index.nodes.push(Node { symbol, pair: NONE });
            }
            index.nodes[start as usize].symbol |= FIRST;
            index.starts[start as usize / 64].bits |= 1 << (start % 64);
            weights[words] = weights[word];
            if weights[words] == 0 {
                index.required.push((start, end));
                index.joins += (end - start - 1) as usize;
            }
            words += 1;
            start = end;
        }
        drop(symbols);
        weights.truncate(words);
        let mut before = 0;
        for starts in &mut index.starts {
            starts.before = before;
            before += starts.bits.count_ones();
        }
        index.weights = weights;
        index.count_all();
        index
    }

    /// Counts the pairs of all nodes, and files their sites.
    fn count_all(&mut self) {
        let most = self.nodes.iter().map(|node| node.symbol & !FIRST).max().map_or(0, |id| id + 1);
        // Where there are few symbols, a table of all pairs is faster than hashing.
        let width = if most <= MOST_DENSE { most as usize } else { 0 };
        let mut dense = vec![NONE; width * width];
        let mut sizes: Vec<u32> = Vec::new();
        let mut word = 0;
        for i in 1..self.nodes.len() {
            let (left, next) = (self.nodes[i - 1].symbol & !FIRST, self.nodes[i].symbol);
            if next & FIRST != 0 {
                word += 1;
                continue;
            }
            let pair = match dense.get_mut(left as usize * width + next as usize) {
                Some(known) if width > 0 && *known != NONE => *known,
                Some(known) if width > 0 => {
                    *known = self.pairs.len() as u32;
                    self.pair(left, next)
                }
                _ => self.pair(left, next),
            };
            self.nodes[i - 1].pair = pair;
            self.pairs[pair as usize].count += self.weights[word];
            if pair as usize == sizes.len() {
                sizes.push(0);
            }
            sizes[pair as usize] += 1;
        }
        let mut start = 0;
        for (pair, &length) in sizes.iter().enumerate() {
            let record = &mut self.pairs[pair];
            record.last = pair as u32;
            record.open = 1;
            self.histogram.change(None, record.listed());
            self.generations.push(Generation { start, length, pair: pair as u32, older: NONE });
            start += length;
        }
        self.sites.resize(start as usize, NONE);
        let mut next: Vec<u32> = self.generations.iter().map(|g| g.start).collect();
        for (node, site) in self.nodes.iter().zip(0..) {
            if let Some(next) = next.get_mut(node.pair as usize) {
                self.sites[*next as usize] = site;
                *next += 1;
            }
        }
    }

    /// How many merges the required words, which have no weight, still need.
    pub(super) fn joins(&self) -> usize {
        self.joins
    }

    /// The first pair of the first required word that is not one token yet.
    pub(super) fn next_join(&self) -> Option<u32> {
        self.required.iter().find_map(|&(start, end)| {
            let first = self.nodes[start as usize];
            (self.length(start) < end - start).then_some(first.pair)
        })
    }

    /// Merges every site of a pair and forgets its count: where counts are exact.
    pub(super) fn merge(
        &mut self,
        pair: u32,
        token: u32,
        may_merge: &dyn Fn(u32, u32) -> bool,
    ) -> i64 {
        let sites = self.take_all(pair);
        let saved = self.apply(pair, token, &sites, may_merge);
        self.pairs[pair as usize].count = 0;
        saved
    }

    /// The number of pairs so far.
    pub(super) fn len(&self) -> usize {
        self.pairs.len()
    }

    /// All generations so far.
    pub(super) fn generations(&self) -> std::ops::Range<u32> {
        0..self.generations.len() as u32
    }

    pub(super) fn symbols(&self, pair: u32) -> (u32, u32) {
        let pair = &self.pairs[pair as usize];
        (pair.left, pair.right)
    }

    pub(super) fn count(&self, pair: u32) -> i64 {
        self.pairs[pair as usize].count
    }

    pub(super) fn pair_of(&self, generation: u32) -> u32 {
        self.generations[generation as usize].pair
    }

    /// The newest generation of `pair`, if it waits to be merged.
    pub(super) fn newest(&self, pair: u32) -> u32 {
        self.pairs[pair as usize].last
    }

    /// The generation of the same pair before this one.
    pub(super) fn older(&self, generation: u32) -> Option<u32> {
        let older = self.generations[generation as usize].older;
        (older != NONE).then_some(older)
    }

    /// The count at which the pair was parked; zero if it is not.
    pub(super) fn parked(&self, pair: u32) -> i64 {
        self.pairs[pair as usize].parked.into()
    }

    /// Notes the count, up to [`PARKED`], at which a pair waits outside the queue.
    pub(super) fn park(&mut self, pair: u32, count: i64) {
        self.pairs[pair as usize].parked = u32::try_from(count).unwrap_or(0);
    }

    /// How many pairs wait with exactly this count.
    pub(super) fn waiting(&self, count: i64) -> u64 {
        self.histogram.get(count)
    }

    /// The pairs that wait with exactly this count, each with its first site, in the order of
    /// those sites. O(pairs).
    pub(super) fn waiting_pairs(&self, count: i64) -> Vec<(u32, u32)> {
        let mut found: Vec<(u32, u32)> = (0..self.pairs.len() as u32)
            .filter(|&pair| self.pairs[pair as usize].listed() == Some(count))
            .map(|pair| (self.peek_first_site(pair), pair))
            .collect();
        found.sort_unstable_by_key(|&(site, pair)| (site, self.symbols(pair)));
        found
    }

    /// The first site of `pair` in reading order, or `NONE`.
    pub(super) fn peek_first_site(&self, pair: u32) -> u32 {
        let mut first = NONE;
        let mut generation = self.pairs[pair as usize].last;
        while generation != NONE {
            let record = &self.generations[generation as usize];
            let live = self.sites[record.places()]
                .iter()
                .find(|&&site| self.nodes[site as usize].pair == pair);
            first = first.min(live.copied().unwrap_or(NONE));
            generation = record.older;
        }
        first
    }

    /// The first site of `pair` in reading order, or `NONE`. Forgets the dead sites it passes,
    /// so all calls together are linear.
    pub(super) fn first_site(&mut self, pair: u32) -> u32 {
        let mut first = NONE;
        let mut generation = self.pairs[pair as usize].last;
        while generation != NONE {
            let Generation { start, length, older, .. } =
                &mut self.generations[generation as usize];
            while *length > 0 && self.nodes[self.sites[*start as usize] as usize].pair != pair {
                *start += 1;
                *length -= 1;
            }
            if *length > 0 {
                first = first.min(self.sites[*start as usize]);
            }
            generation = *older;
        }
        first
    }

    /// Takes every site of the pair, to be merged.
    pub(super) fn take_all(&mut self, pair: u32) -> Vec<u32> {
        self.begin(pair);
        let record = &mut self.pairs[pair as usize];
        let mut generation = std::mem::replace(&mut record.last, NONE);
        record.open = 0;
        let single = generation != NONE && self.generations[generation as usize].older == NONE;
        let mut sites = Vec::new();
        while generation != NONE {
            let record = &mut self.generations[generation as usize];
            sites.extend_from_slice(&self.sites[record.places()]);
            self.taken += std::mem::take(&mut record.length) as usize;
            generation = record.older;
        }
        if !single {
            sites.sort_unstable();
        }
        sites
    }

    /// Takes the sites of the pair in those words that one generation was created in.
    pub(super) fn take_words(&mut self, generation: u32) -> Vec<u32> {
        let taken = &mut self.generations[generation as usize];
        let (pair, older) = (taken.pair, taken.older);
        let mut sites = self.sites[taken.places()].to_vec();
        taken.length = 0;
        self.taken += sites.len();
        self.begin(pair);
        let record = &mut self.pairs[pair as usize];
        record.open = record.open.saturating_sub(1);
        let newest = record.last;
        if newest != generation || older != NONE {
            let mut words: Vec<u32> = sites.iter().map(|&site| self.word(site)).collect();
            words.dedup();
            let mut other = newest;
            while other != NONE {
                let record = &self.generations[other as usize];
                if other != generation {
                    let all = &self.sites[record.places()];
                    sites.extend(
                        all.iter().filter(|&&site| words.binary_search(&self.word(site)).is_ok()),
                    );
                }
                other = record.older;
            }
            sites.sort_unstable();
        }
        sites
    }

    /// The number of the word that a site is in.
    #[inline]
    fn word(&self, site: u32) -> u32 {
        let Starts { bits, before } = self.starts[site as usize / 64];
        before + (bits << (63 - site % 64)).count_ones() - 1
    }

    /// How many nodes the token has that starts at a site.
    #[inline]
    fn length(&self, site: u32) -> u32 {
        let next = self.nodes.get(site as usize + 1).map_or(0, |next| next.symbol);
        if next & INSIDE == 0 { 1 } else { next & !INSIDE }
    }

    /// Gives a pair a number that is known to have none.
    fn number(&mut self, left: u32, right: u32) -> u32 {
        let pair = Pair { left, right, count: 0, last: NONE, open: 0, slot: NONE, parked: 0 };
        if let Some(number) = self.free.pop() {
            self.pairs[number as usize] = pair;
            return number;
        }
        self.pairs.push(pair);
        self.pairs.len() as u32 - 1
    }

    /// The number of a pair, which is added if it is new.
    fn pair(&mut self, left: u32, right: u32) -> u32 {
        let Self { pairs, lookup, .. } = self;
        let hashed = hash(left, right);
        let same = |&i: &u32| {
            let pair = &pairs[i as usize];
            (pair.left, pair.right) == (left, right)
        };
        if let Some(&pair) = lookup.find(hashed, same) {
            return pair;
        }
        let new = self.number(left, right);
        let Self { pairs, lookup, .. } = self;
        lookup.insert_unique(hashed, new, |&i| {
            let pair = &pairs[i as usize];
            hash(pair.left, pair.right)
        });
        new
    }
}

impl Pair {
    /// The count under which the pair waits to be merged, if it does.
    fn listed(&self) -> Option<i64> {
        (self.open > 0 && self.count > 0).then_some(self.count)
    }
}
