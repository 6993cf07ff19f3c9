//! The way back: tokens that are taken apart again, where they still stand.

use super::{NONE, Node, PairIndex};

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
        places.retain(|&site| self.nodes[site as usize].symbol == token);
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
        let mut times = 0;
        for &site in sites {
            times += self.split_at(site, parts, may_merge);
        }
        times
    }

    fn split_at(
        &mut self,
        site: u32,
        parts: &[(u32, u32)],
        may_merge: &dyn Fn(u32, u32) -> bool,
    ) -> i64 {
        let Node { length, word, pair, .. } = self.nodes[site as usize];
        let weight = self.weights[word as usize];
        self.destroy(pair, weight);
        let mut left = self.before(site, word);
        if let Some(before) = left {
            self.destroy(self.nodes[before as usize].pair, weight);
        }
        let mut at = site;
        for &(symbol, length) in parts {
            self.nodes[(at + length - 1) as usize].length = length;
            self.nodes[at as usize] = Node { symbol, length, word, pair: NONE };
            self.meet(left, at, weight, may_merge);
            left = Some(at);
            at += length;
        }
        debug_assert_eq!(at, site + length, "the parts are the whole token");
        if self.nodes.get(at as usize).is_some_and(|next| next.word == word) {
            self.meet(left, at, weight, may_merge);
        }
        weight
    }

    /// Counts the pair of two tokens that have become neighbours.
    fn meet(
        &mut self,
        left: Option<u32>,
        right: u32,
        weight: i64,
        may_merge: &dyn Fn(u32, u32) -> bool,
    ) {
        let Some(site) = left else { return };
        let symbols = (self.nodes[site as usize].symbol, self.nodes[right as usize].symbol);
        let pair =
            if may_merge(symbols.0, symbols.1) { self.pair(symbols.0, symbols.1) } else { NONE };
        self.nodes[site as usize].pair = pair;
        self.create(pair, site, weight);
    }
}
