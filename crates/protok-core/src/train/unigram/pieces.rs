//! The pieces of a training, and which of them start at each position of the text.

use super::super::suffixes::Suffixes;
use super::text::Text;

/// No piece.
pub(super) const NONE: u32 = u32::MAX;

/// What a walk over the pieces at a position reads.
#[derive(Debug, Clone, Copy)]
pub(super) struct Link {
    /// A probability or its logarithm, as the walk needs it.
    pub(super) value: f64,
    /// The longest other piece that this one begins with.
    pub(super) shorter: u32,
    /// The number of characters.
    pub(super) length: u32,
}

/// A piece before it has a number.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seed {
    /// Its interval of the sorted suffixes.
    pub(super) places: (u32, u32),
    pub(super) length: u32,
    /// What its probability is proportional to at first.
    pub(super) score: f64,
    /// Whether it must stay.
    pub(super) protected: bool,
}

/// All pieces. Those that occur are numbered by spelling, so one comes after what it begins with.
#[derive(Debug)]
pub(super) struct Pieces {
    pub(super) links: Vec<Link>,
    /// The natural logarithms of the probabilities.
    pub(super) scores: Vec<f64>,
    /// A position where the piece occurs; [`NONE`] for required ones that do not.
    pub(super) sites: Vec<u32>,
    pub(super) protected: Vec<bool>,
    /// The longest piece at each position.
    pub(super) longest: Vec<u32>,
    /// The text of the last pieces, which are those without a site.
    pub(super) absent: Vec<String>,
}

impl Pieces {
    /// Numbers the seeds, which differ in places or length, and notes where they stand.
    pub(super) fn new(
        text: &Text,
        suffixes: &Suffixes,
        mut seeds: Vec<Seed>,
        absent: Vec<String>,
    ) -> Self {
        seeds.sort_unstable_by_key(|seed| (seed.places.0, seed.length));
        let mut links: Vec<Link> = Vec::with_capacity(seeds.len() + absent.len());
        let mut longest = vec![NONE; text.letters.len()];
        // The pieces around the present place, the innermost last.
        let mut around: Vec<(u32, u32)> = Vec::new();
        let mut place = 0;
        let mut fill = |around: &mut Vec<(u32, u32)>, place: &mut u32, until: u32| {
            while let Some(&(end, piece)) = around.last().filter(|_| *place < until) {
                let stop = end.min(until);
                for &position in &suffixes.order[*place as usize..stop as usize] {
                    longest[position as usize] = piece;
                }
                *place = stop;
                if stop == end {
                    around.pop();
                }
            }
            *place = until;
        };
        for (seed, id) in seeds.iter().zip(0..) {
            fill(&mut around, &mut place, seed.places.0);
            while around.last().is_some_and(|&(end, _)| end <= seed.places.0) {
                around.pop();
            }
            let shorter = around.last().map_or(NONE, |&(_, piece)| piece);
            links.push(Link { value: 0.0, shorter, length: seed.length });
            around.push((seed.places.1, id));
        }
        fill(&mut around, &mut place, suffixes.order.len() as u32);
        let mut pieces = Self {
            links,
            scores: vec![0.0; seeds.len()],
            sites: seeds.iter().map(|seed| suffixes.order[seed.places.0 as usize]).collect(),
            protected: seeds.iter().map(|seed| seed.protected).collect(),
            longest,
            absent: Vec::new(),
        };
        let total: f64 = seeds.iter().map(|seed| seed.score).sum();
        for (score, seed) in pieces.scores.iter_mut().zip(&seeds) {
            *score = libm::log(seed.score / total);
        }
        for piece in absent {
            let length = piece.chars().count() as u32;
            pieces.links.push(Link { value: 0.0, shorter: NONE, length });
            pieces.scores.push(libm::log(0.5 / total));
            pieces.sites.push(NONE);
            pieces.protected.push(true);
            pieces.absent.push(piece);
        }
        pieces
    }

    pub(super) fn len(&self) -> usize {
        self.links.len()
    }

    /// The text of a piece.
    pub(super) fn string(&self, id: usize, text: &Text) -> String {
        match self.sites[id] {
            NONE => self.absent[id + self.absent.len() - self.len()].clone(),
            site => text.string(site, self.links[id].length),
        }
    }

    /// Keeps the pieces for which `kept` holds, protected ones among them, in their order.
    pub(super) fn retain(&mut self, kept: &[bool]) {
        let mut new = vec![NONE; self.len()];
        let mut count = 0;
        for id in 0..self.len() {
            let mut link = self.links[id];
            // Shorter pieces have lower numbers, so theirs is settled.
            link.shorter = match link.shorter {
                NONE => NONE,
                shorter => new[shorter as usize],
            };
            if kept[id] {
                self.links[count] = link;
                self.scores[count] = self.scores[id];
                self.sites[count] = self.sites[id];
                self.protected[count] = self.protected[id];
                new[id] = count as u32;
                count += 1;
            } else {
                new[id] = link.shorter;
            }
        }
        self.links.truncate(count);
        self.scores.truncate(count);
        self.sites.truncate(count);
        self.protected.truncate(count);
        for longest in &mut self.longest {
            if *longest != NONE {
                *longest = new[*longest as usize];
            }
        }
    }

    /// Lets walks read probabilities.
    pub(super) fn show_probabilities(&mut self) {
        for (link, &score) in self.links.iter_mut().zip(&self.scores) {
            link.value = libm::exp(score);
        }
    }

    /// Lets walks read logarithms.
    pub(super) fn show_scores(&mut self) {
        for (link, &score) in self.links.iter_mut().zip(&self.scores) {
            link.value = score;
        }
    }
}
