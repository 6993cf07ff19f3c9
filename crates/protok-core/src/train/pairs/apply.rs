//! One merge: the nodes that change, the pairs around them, and which of these are kept.

use super::{Beside, FIRST, Generation, INSIDE, NONE, Node, Pair, PairIndex, Touched, hash};
use std::ops::Range;

/// Sites to look at before the first of them is merged.
const BATCH: usize = 64;

/// The pair at a node is too rare to be kept, and has no number.
const RARE: u32 = u32::MAX - 1;

const BEFORE: usize = 0;
const AFTER: usize = 1;

impl PairIndex {
    /// Leaves new pairs of new tokens out whose count is below `least`: most pairs are rare and never
    /// come up. A pair of two tokens gets all its sites when the second of the two is made, and from
    /// then on its count only falls; so what is left out stays below until [`Self::complete`].
    pub(in crate::train) fn leave_out(&mut self, least: i64) {
        // Numbers of pairs must stay clear of the marks.
        let leaves = self.required.is_empty() && self.nodes.len() < 1 << 28;
        self.least = if leaves { least } else { 0 };
    }

    /// Below which count pairs may have been left out.
    pub(in crate::train) fn least(&self) -> i64 {
        self.least
    }

    /// Says whether the next merge makes a token that was not there.
    pub(in crate::train) fn expect(&mut self, is_new: bool) {
        self.fresh = is_new && self.least > 1;
    }

    /// Takes in all pairs that were left out, leaves none out any more, and returns the generations
    /// of those. O(symbols).
    pub(in crate::train) fn complete(&mut self) -> Range<u32> {
        self.least = 0;
        self.free.clear();
        self.touched.clear();
        self.created.clear();
        self.beside.clear();
        self.stamp += 1;
        for site in 0..self.nodes.len() as u32 {
            let Node { symbol, pair: RARE } = self.nodes[site as usize] else { continue };
            let next = self.nodes[(site + self.length(site)) as usize].symbol;
            let pair = self.pair(symbol & !FIRST, next);
            let weight = self.weights[self.word(site) as usize];
            self.nodes[site as usize].pair = pair;
            let slot = self.touch(pair);
            if slot as usize == self.beside.len() {
                self.beside.push(Beside { old: NONE, new: pair, weight: 0, sites: 0, slot });
            }
            self.touched[slot as usize].created += 1;
            self.created.push((slot, site));
            self.pairs[pair as usize].count += weight;
        }
        self.settle()
    }

    pub(super) fn begin(&mut self, pair: u32) {
        self.touched.clear();
        self.created.clear();
        self.beside.clear();
        self.stamp += 1;
        self.touch(pair);
    }

    /// Merges `pair` into `token` at the live ones of `sites`, ascending, and returns how many
    /// tokens that saves in the corpus. `may_merge` says which new pairs are to be counted.
    ///
    /// In overlapping sites (`aaa`) the left one is merged. Counts of the pairs around change by
    /// the word's weight; the count of the merged pair is left to the caller.
    pub(in crate::train) fn apply(
        &mut self,
        pair: u32,
        token: u32,
        sites: &[u32],
        may_merge: &dyn Fn(u32, u32) -> bool,
    ) -> i64 {
        let mut saved = 0;
        let (mut live, mut weights) = ([0; BATCH], [0; BATCH]);
        for sites in sites.chunks(BATCH) {
            // Each look is independent of the others, so they wait for memory together.
            let mut count = 0;
            for &site in sites {
                live[count] = site;
                count += usize::from(self.nodes[site as usize].pair == pair);
            }
            for (&site, weight) in live[..count].iter().zip(&mut weights) {
                *weight = self.weights[self.word(site) as usize];
            }
            for (&site, &weight) in live[..count].iter().zip(&weights) {
                saved += self.apply_at((site, weight), pair, token, may_merge);
            }
        }
        self.settle_counts();
        saved
    }

    #[inline]
    fn apply_at(
        &mut self,
        (site, weight): (u32, i64),
        pair: u32,
        token: u32,
        may_merge: &dyn Fn(u32, u32) -> bool,
    ) -> i64 {
        let first = self.nodes[site as usize];
        if first.pair != pair {
            return 0; // the one before has just taken its left token
        }
        let other = site + self.length(site);
        let end = other + self.length(other);
        let second = self.nodes[other as usize];
        self.joins -= usize::from(weight == 0);
        if first.symbol & FIRST == 0 {
            let last = self.nodes[site as usize - 1].symbol;
            let before = site - if last & INSIDE == 0 { 1 } else { last & !INSIDE };
            let previous = self.nodes[before as usize];
            let symbol = previous.symbol & !FIRST;
            let new = self.pass(BEFORE, symbol, previous.pair, token, before, weight, may_merge);
            self.nodes[before as usize].pair = new;
        }
        let mut new = NONE;
        let next = self.nodes.get(end as usize).map_or(FIRST, |next| next.symbol);
        if next & FIRST == 0 {
            new = self.pass(AFTER, next, second.pair, token, site, weight, may_merge);
        }
        let inside = INSIDE | (end - site);
        // No token starts here any more.
        self.nodes[other as usize] = Node { symbol: INSIDE, pair: NONE };
        self.nodes[site as usize + 1].symbol = inside;
        self.nodes[end as usize - 1].symbol = inside;
        self.nodes[site as usize] = Node { symbol: first.symbol & FIRST | token, pair: new };
        weight
    }

    /// Ends a merge: files the created sites as generations and returns the range of these.
    pub(in crate::train) fn settle(&mut self) -> Range<u32> {
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
        for &(beside, site) in &self.created {
            let slot = self.beside[beside as usize].slot;
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

    pub(super) fn touch(&mut self, pair: u32) -> u32 {
        let record = &mut self.pairs[pair as usize];
        let known = self.touched.get(record.slot as usize);
        if known.is_none_or(|touched| touched.pair != pair) {
            record.slot = self.touched.len() as u32;
            let before = record.listed();
            self.touched.push(Touched { pair, created: 0, start: 0, before });
        }
        record.slot
    }

    /// Notes that a site passes from the old pair of a neighbour to the new one, and returns that.
    /// Both are the same for all sites with this neighbour.
    #[inline]
    #[allow(clippy::too_many_arguments)]
    fn pass(
        &mut self,
        side: usize,
        symbol: u32,
        old: u32,
        token: u32,
        site: u32,
        weight: i64,
        may_merge: &dyn Fn(u32, u32) -> bool,
    ) -> u32 {
        let place = match self.met[side].get(symbol as usize) {
            Some(&(stamp, place)) if stamp == self.stamp => place,
            _ => self.meet(side, symbol, old, token, may_merge),
        };
        let beside = &mut self.beside[place as usize];
        beside.weight += weight;
        if beside.new != NONE {
            beside.sites += 1;
            self.created.push((place, site));
        }
        beside.new
    }

    /// Meets a neighbour for the first time in a merge.
    fn meet(
        &mut self,
        side: usize,
        symbol: u32,
        old: u32,
        token: u32,
        may_merge: &dyn Fn(u32, u32) -> bool,
    ) -> u32 {
        let (left, right) = if side == BEFORE { (symbol, token) } else { (token, symbol) };
        let new = match may_merge(left, right) {
            false => NONE,
            true if self.fresh => self.number(left, right),
            true => self.pair(left, right),
        };
        let place = self.beside.len() as u32;
        self.beside.push(Beside { old, new, weight: 0, sites: 0, slot: NONE });
        let met = &mut self.met[side];
        if met.len() <= symbol as usize {
            met.resize(symbol as usize + 1, (0, NONE));
        }
        met[symbol as usize] = (self.stamp, place);
        place
    }

    /// Changes the counts of the pairs around.
    fn settle_counts(&mut self) {
        for place in 0..self.beside.len() {
            let Beside { old, new, weight, sites, .. } = self.beside[place];
            if old < RARE {
                self.touch(old);
                self.pairs[old as usize].count -= weight;
            }
            if new != NONE {
                let slot = self.touch(new);
                self.touched[slot as usize].created += sites;
                self.beside[place].slot = slot;
                self.pairs[new as usize].count += weight;
            }
        }
        if self.fresh {
            self.leave_out_rare();
        }
    }

    /// Gives up the new pairs that are too rare, and takes the others in.
    fn leave_out_rare(&mut self) {
        let given_up = self.free.len();
        for place in 0..self.beside.len() {
            let Beside { new, slot, .. } = self.beside[place];
            if new == NONE {
                continue;
            }
            if self.pairs[new as usize].count < self.least {
                self.touched[slot as usize].created = 0;
                self.beside[place].sites = 0;
                self.free.push(new);
            } else {
                let Self { pairs, lookup, .. } = self;
                let Pair { left, right, .. } = pairs[new as usize];
                lookup.insert_unique(hash(left, right), new, |&i| {
                    let pair = &pairs[i as usize];
                    hash(pair.left, pair.right)
                });
            }
        }
        if self.free.len() == given_up {
            return;
        }
        for &(place, site) in &self.created {
            let Beside { new, sites, .. } = self.beside[place as usize];
            let node = &mut self.nodes[site as usize];
            if sites == 0 && node.pair == new {
                node.pair = RARE;
            }
        }
    }
}
