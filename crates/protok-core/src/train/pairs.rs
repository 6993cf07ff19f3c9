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
//! N symbols and R pairs created, with no rescan of a word, however long. Memory is 16 bytes a
//! symbol, at most 3 N sites of 4 bytes, and about 60 bytes a pair. Most of the time goes into
//! waiting for nodes to come from memory, so sites are looked at in batches before they are
//! merged: the processor then waits for many at once.

mod splitting;

use super::histogram::Histogram;
use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;
use std::hash::BuildHasher;
use std::ops::Range;

/// No node, no pair, no generation.
pub(super) const NONE: u32 = u32::MAX;

#[derive(Debug, Clone, Copy)]
#[repr(align(16))]
struct Node {
    /// The token that starts here.
    symbol: u32,
    /// How many nodes the token has that starts or ends here.
    length: u32,
    word: u32,
    /// The pair of the token that starts here and the next, if there is one and it may be merged.
    pair: u32,
}

/// The most that the count of a parked pair may be.
pub(super) const PARKED: i64 = u32::MAX as i64;

/// Sites to look at before the first of them is merged.
const BATCH: usize = 64;

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
    weights: Vec<i64>,
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
    // Scratch of one merge.
    touched: Vec<Touched>,
    created: Vec<(u32, u32)>,
    beside: [Vec<(u32, u32)>; 2],
    stamp: u32,
}

const BEFORE: usize = 0;
const AFTER: usize = 1;

fn hash(left: u32, right: u32) -> u64 {
    FxBuildHasher.hash_one(u64::from(left) << 32 | u64::from(right))
}

impl PairIndex {
    /// Takes the symbols over and counts all pairs.
    pub(super) fn new(symbols: Vec<u32>, ends: &[u32], weights: Vec<i64>) -> Self {
        let mut index = Self { weights, ..Self::default() };
        index.nodes.reserve_exact(symbols.len());
        let mut start = 0;
        for (&end, word) in ends.iter().zip(0..) {
            for &symbol in &symbols[start as usize..end as usize] {
                index.nodes.push(Node { symbol, length: 1, word, pair: NONE });
            }
            if index.weights[word as usize] == 0 && start < end {
                index.required.push((start, end));
                index.joins += (end - start - 1) as usize;
            }
            start = end;
        }
        drop(symbols);
        let mut sizes: Vec<u32> = Vec::new();
        for i in 1..index.nodes.len() {
            let (node, next) = (index.nodes[i - 1], index.nodes[i]);
            if node.word != next.word {
                continue;
            }
            let pair = index.pair(node.symbol, next.symbol);
            index.nodes[i - 1].pair = pair;
            index.pairs[pair as usize].count += index.weights[node.word as usize];
            sizes.resize(index.pairs.len(), 0);
            sizes[pair as usize] += 1;
        }
        let mut start = 0;
        for (pair, &length) in sizes.iter().enumerate() {
            let record = &mut index.pairs[pair];
            record.last = pair as u32;
            record.open = 1;
            index.histogram.change(None, record.listed());
            index.generations.push(Generation { start, length, pair: pair as u32, older: NONE });
            start += length;
        }
        index.sites.resize(start as usize, NONE);
        let mut next: Vec<u32> = index.generations.iter().map(|g| g.start).collect();
        for (node, site) in index.nodes.iter().zip(0..) {
            if let Some(next) = next.get_mut(node.pair as usize) {
                index.sites[*next as usize] = site;
                *next += 1;
            }
        }
        index
    }

    /// How many merges the required words, which have no weight, still need.
    pub(super) fn joins(&self) -> usize {
        self.joins
    }

    /// The first pair of the first required word that is not one token yet.
    pub(super) fn next_join(&self) -> Option<u32> {
        self.required.iter().find_map(|&(start, end)| {
            let first = self.nodes[start as usize];
            (first.length < end - start).then_some(first.pair)
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

    fn word(&self, site: u32) -> u32 {
        self.nodes[site as usize].word
    }

    fn begin(&mut self, pair: u32) {
        self.touched.clear();
        self.created.clear();
        self.stamp += 1;
        self.touch(pair);
    }

    /// Merges `pair` into `token` at the live ones of `sites`, ascending, and returns how many
    /// tokens that saves in the corpus. `may_merge` says which new pairs are to be counted.
    ///
    /// In overlapping sites (`aaa`) the left one is merged. Counts of the pairs around change by
    /// the word's weight; the count of the merged pair is left to the caller.
    pub(super) fn apply(
        &mut self,
        pair: u32,
        token: u32,
        sites: &[u32],
        may_merge: &dyn Fn(u32, u32) -> bool,
    ) -> i64 {
        let mut saved = 0;
        let mut live = [0; BATCH];
        for sites in sites.chunks(BATCH) {
            // Each look is independent of the others, so they wait for memory together.
            let mut count = 0;
            for &site in sites {
                live[count] = site;
                count += usize::from(self.nodes[site as usize].pair == pair);
            }
            for &site in &live[..count] {
                saved += self.apply_at(site, pair, token, may_merge);
            }
        }
        saved
    }

    fn apply_at(
        &mut self,
        site: u32,
        pair: u32,
        token: u32,
        may_merge: &dyn Fn(u32, u32) -> bool,
    ) -> i64 {
        let first = self.nodes[site as usize];
        if first.pair != pair {
            return 0; // the one before has just taken its left token
        }
        let other = site + first.length;
        let second = self.nodes[other as usize];
        let weight = self.weights[first.word as usize];
        self.joins -= usize::from(weight == 0);
        if let Some(before) = self.before(site, first.word) {
            let previous = self.nodes[before as usize];
            self.destroy(previous.pair, weight);
            let new = self.beside(BEFORE, previous.symbol, token, may_merge);
            self.nodes[before as usize].pair = new;
            self.create(new, before, weight);
        }
        let length = first.length + second.length;
        let mut new = NONE;
        let next = self.nodes.get((site + length) as usize).filter(|n| n.word == first.word);
        if let Some(&Node { symbol, .. }) = next {
            self.destroy(second.pair, weight);
            new = self.beside(AFTER, symbol, token, may_merge);
            self.create(new, site, weight);
        }
        // No token starts here any more.
        (self.nodes[other as usize].symbol, self.nodes[other as usize].pair) = (NONE, NONE);
        self.nodes[(site + length - 1) as usize].length = length;
        self.nodes[site as usize] = Node { symbol: token, length, word: first.word, pair: new };
        weight
    }

    /// Where the token before a site starts, if it is in the same word.
    fn before(&self, site: u32, word: u32) -> Option<u32> {
        let last = self.nodes[site.checked_sub(1)? as usize];
        (last.word == word).then(|| site - last.length)
    }

    /// Ends a merge: files the created sites as generations and returns the range of these.
    pub(super) fn settle(&mut self) -> std::ops::Range<u32> {
        let first = self.generations.len() as u32;
        if self.taken > self.sites.len() / 2 {
            self.close_gaps();
        }
        let mut start = self.sites.len() as u32;
        for touched in &mut self.touched {
            touched.start = start;
            let record = &mut self.pairs[touched.pair as usize];
            if touched.created > 0 && (record.count > 0 || !self.required.is_empty()) {
                let generation = self.generations.len() as u32;
                self.generations.push(Generation {
                    start,
                    length: touched.created,
                    pair: touched.pair,
                    older: record.last,
                });
                record.last = generation;
                record.open += 1;
                start += touched.created;
            } else {
                touched.start = NONE;
            }
            self.histogram.change(touched.before, record.listed());
        }
        self.sites.resize(start as usize, NONE);
        for &(slot, site) in &self.created {
            let next = &mut self.touched[slot as usize].start;
            if *next != NONE {
                self.sites[*next as usize] = site;
                *next += 1;
            }
        }
        self.touched.clear();
        self.created.clear();
        first..self.generations.len() as u32
    }

    /// Moves the sites together that still wait. Done when half are taken, all calls are linear.
    fn close_gaps(&mut self) {
        let mut end = 0;
        for generation in &mut self.generations {
            self.sites.copy_within(generation.places(), end as usize);
            generation.start = end;
            end += generation.length;
        }
        self.sites.truncate(end as usize);
        self.taken = 0;
    }

    fn touch(&mut self, pair: u32) -> u32 {
        let record = &mut self.pairs[pair as usize];
        let known = self.touched.get(record.slot as usize);
        if known.is_none_or(|touched| touched.pair != pair) {
            record.slot = self.touched.len() as u32;
            let before = record.listed();
            self.touched.push(Touched { pair, created: 0, start: 0, before });
        }
        record.slot
    }

    fn create(&mut self, pair: u32, site: u32, weight: i64) {
        if pair != NONE {
            let slot = self.touch(pair);
            self.touched[slot as usize].created += 1;
            self.created.push((slot, site));
            self.pairs[pair as usize].count += weight;
        }
    }

    fn destroy(&mut self, pair: u32, weight: i64) {
        if pair != NONE {
            self.touch(pair);
            self.pairs[pair as usize].count -= weight;
        }
    }

    /// The pair of the new token and a neighbour: remembered by neighbour during one merge.
    fn beside(
        &mut self,
        side: usize,
        symbol: u32,
        token: u32,
        may_merge: &dyn Fn(u32, u32) -> bool,
    ) -> u32 {
        let memory = &mut self.beside[side];
        if memory.len() <= symbol as usize {
            memory.resize(symbol as usize + 1, (0, NONE));
        }
        let (stamp, pair) = memory[symbol as usize];
        if stamp == self.stamp {
            return pair;
        }
        let (left, right) = if side == BEFORE { (symbol, token) } else { (token, symbol) };
        let pair = if may_merge(left, right) { self.pair(left, right) } else { NONE };
        self.beside[side][symbol as usize] = (self.stamp, pair);
        pair
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
        let new = pairs.len() as u32;
        pairs.push(Pair { left, right, count: 0, last: NONE, open: 0, slot: NONE, parked: 0 });
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
