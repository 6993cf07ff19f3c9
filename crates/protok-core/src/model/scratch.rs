//! The memory that encoding needs.

use super::bpe::merge::MergeScratch;
use super::bpe::symbols::Symbol;
use super::cache::Cache;
use super::sentencepiece_bpe;
use super::unigram;
use crate::pattern::Ends;

/// The memory that encoding needs, kept from call to call; one for each thread, and never shared
/// between two models, since it remembers what pieces became.
#[derive(Debug)]
pub struct Scratch {
    pub(super) cache: Cache,
    parts: Parts,
    placed: Parts,
    ends: Option<Box<Ends>>,
    cache_bytes: usize,
    pub(super) symbols: Vec<u32>,
    pub(super) spans: Vec<Symbol>,
    pub(super) tokens: Vec<u32>,
    pub(super) merge: MergeScratch,
    pub(super) unigram: unigram::Paths,
    pub(super) sentencepiece: sentencepiece_bpe::MergeScratch,
}

impl Scratch {
    /// With a cache of at most so many bytes: of pieces, or where texts may have parts that are
    /// looked up before they are cut into pieces (`parts`), mostly of these.
    #[must_use]
    pub fn new(cache_bytes: usize, parts: bool) -> Self {
        let of_pieces = if parts { cache_bytes / 8 } else { cache_bytes };
        Self {
            cache: Cache::new(of_pieces),
            parts: Parts::default(),
            placed: Parts::default(),
            ends: None,
            cache_bytes: cache_bytes - cache_bytes / 8,
            symbols: Vec::new(),
            spans: Vec::new(),
            tokens: Vec::new(),
            merge: MergeScratch::default(),
            unigram: unigram::Paths::default(),
            sentencepiece: sentencepiece_bpe::MergeScratch::default(),
        }
    }

    /// Says how many bytes of text come, before the first of them.
    pub fn expect(&mut self, bytes: usize) {
        self.cache.expect(bytes);
    }

    /// Lends the cache of what parts of texts became before anything was done to them, `under` rules
    /// with this number: there is one for the last rules only.
    pub(crate) fn lend_parts(&mut self, under: u8) -> Cache {
        self.parts.lend(self.cache_bytes, under)
    }

    /// Takes back what [`Self::lend_parts`] lent.
    pub(crate) fn take_parts(&mut self, parts: Cache) {
        self.parts.cache = parts;
    }

    /// As [`Self::lend_parts`], with the place of each token in its part.
    pub(crate) fn lend_placed(&mut self, under: u8) -> Cache {
        self.placed.lend(self.cache_bytes, under)
    }

    /// Takes back what [`Self::lend_placed`] lent.
    pub(crate) fn take_placed(&mut self, placed: Cache) {
        self.placed.cache = placed;
    }

    /// Lends room for the ends of pieces.
    pub(crate) fn lend_ends(&mut self) -> Box<Ends> {
        self.ends.take().unwrap_or_default()
    }

    /// Takes back what [`Self::lend_ends`] lent.
    pub(crate) fn take_ends(&mut self, ends: Box<Ends>) {
        self.ends = Some(ends);
    }
}

/// A cache of parts, and the rules that it is under.
#[derive(Debug, Default)]
struct Parts {
    cache: Cache,
    under: u8,
}

impl Parts {
    fn lend(&mut self, bytes: usize, under: u8) -> Cache {
        if !self.cache.has_room() || self.under != under {
            *self = Self { cache: Cache::new(bytes), under };
        }
        std::mem::take(&mut self.cache)
    }
}
