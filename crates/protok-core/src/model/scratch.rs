//! The memory that encoding needs.

use super::bpe::cache::Cache;
use super::bpe::merge::MergeScratch;
use super::bpe::symbols::Symbol;
use super::sentencepiece_bpe;
use super::unigram;

/// The memory that encoding needs, kept from call to call; one for each thread, and never shared
/// between two models, since it remembers what pieces became.
#[derive(Debug)]
pub struct Scratch {
    pub(super) cache: Cache,
    pub(super) symbols: Vec<u32>,
    pub(super) spans: Vec<Symbol>,
    pub(super) tokens: Vec<u32>,
    pub(super) merge: MergeScratch,
    pub(super) unigram: unigram::Paths,
    pub(super) sentencepiece: sentencepiece_bpe::MergeScratch,
}

impl Scratch {
    /// With a cache of at most so many bytes.
    #[must_use]
    pub fn new(cache_bytes: usize) -> Self {
        Self {
            cache: Cache::new(cache_bytes),
            symbols: Vec::new(),
            spans: Vec::new(),
            tokens: Vec::new(),
            merge: MergeScratch::default(),
            unigram: unigram::Paths::default(),
            sentencepiece: sentencepiece_bpe::MergeScratch::default(),
        }
    }
}
