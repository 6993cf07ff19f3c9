//! The way back: tokens that are taken apart again, where they still stand.

use super::{Beside, FIRST, INSIDE, NONE, Node, PairIndex};

impl PairIndex {
    /// All places where a pair was found and not merged yet; at some it may be no more.
    pub(crate) fn places(&self, pair: u32) -> Vec<u32> {
        let mut places = Vec::new();
        let mut generation = self.pairs[pair as usize].last;
        while generation != NONE {
            let record = &self.generations[generation as usize];
            places.extend_from_slice(&self.sites[record.places()]);
            generation = record.older;
        }
        places
    }

    /// The sites among `places` at which `token` stands, each once and ascending.
    pub(crate) fn standing(&self, mut places: Vec<u32>, token: u32) -> Vec<u32> {
        places.retain(|&site| self.nodes[site as usize].symbol & !FIRST == token);
        places.sort_unstable();
        places.dedup();
        places
    }

    /// Takes a token apart at some of its sites, ascending, and returns how often that is in the
    /// corpus. `parts` are tokens with the numbers of their nodes. What pairs come up is settled
    /// by [`PairIndex::settle`], as after a merge.
    pub(crate) fn split(
        &mut self,
        sites: &[u32],
        parts: &[(u32, u32)],
        may_merge: &dyn Fn(u32, u32) -> bool,
    ) -> i64 {
        self.touched.clear();
        self.created.clear();
        self.beside.clear();
        let mut places = Vec::new();
        let mut times = 0;
        for &site in sites {
            times += self.split_at(site, parts, may_merge, &mut places);
        }
        times
    }

    fn split_at(
        &mut self,
        site: u32,
        parts: &[(u32, u32)],
        may_merge: &dyn Fn(u32, u32) -> bool,
        places: &mut Vec<u32>,
    ) -> i64 {
        let Node { symbol, pair } = self.nodes[site as usize];
        let end = site + self.length(site);
        let weight = self.weights[self.word(site) as usize];
        self.destroy(pair, weight);
        let mut first = symbol & FIRST;
        let mut left = None;
        if first == 0 {
            let last = self.nodes[site as usize - 1].symbol;
            let before = site - if last & INSIDE == 0 { 1 } else { last & !INSIDE };
            self.destroy(self.nodes[before as usize].pair, weight);
            left = Some(before);
        }
        let mut at = site;
        for &(symbol, length) in parts {
            if length > 1 {
                self.nodes[at as usize + 1].symbol = INSIDE | length;
                self.nodes[(at + length) as usize - 1].symbol = INSIDE | length;
            }
            self.nodes[at as usize] = Node { symbol: symbol | first, pair: NONE };
            first = 0;
            self.meet_again(left, at, weight, may_merge, places);
            left = Some(at);
            at += length;
        }
        debug_assert_eq!(at, end, "the parts are the whole token");
        if self.nodes.get(at as usize).is_some_and(|next| next.symbol & FIRST == 0) {
            self.meet_again(left, at, weight, may_merge, places);
        }
        weight
    }

    fn destroy(&mut self, pair: u32, weight: i64) {
        if pair != NONE {
            self.touch(pair);
            self.pairs[pair as usize].count -= weight;
        }
    }

    /// Counts the pair of two tokens that have become neighbours. `places` says by the place of a
    /// pair in `touched` where it is in `beside`.
    fn meet_again(
        &mut self,
        left: Option<u32>,
        right: u32,
        weight: i64,
        may_merge: &dyn Fn(u32, u32) -> bool,
        places: &mut Vec<u32>,
    ) {
        let Some(site) = left else { return };
        let token = |at: u32| self.nodes[at as usize].symbol & !FIRST;
        let (left, right) = (token(site), token(right));
        let new = if may_merge(left, right) { self.pair(left, right) } else { NONE };
        self.nodes[site as usize].pair = new;
        if new == NONE {
            return;
        }
        let slot = self.touch(new);
        if places.len() <= slot as usize {
            places.resize(slot as usize + 1, NONE);
        }
        let place = &mut places[slot as usize];
        if *place == NONE {
            *place = self.beside.len() as u32;
            self.beside.push(Beside { old: NONE, new, weight: 0, sites: 0, slot });
        }
        self.created.push((*place, site));
        self.touched[slot as usize].created += 1;
        self.pairs[new as usize].count += weight;
    }
}
