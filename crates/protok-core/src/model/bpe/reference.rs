//! Byte-pair merging as one would explain it: the oracle of the fast engines, and what a trace
//! records. Each merge reads the whole piece, so a piece of n symbols costs n² at worst.
//!
//! Sources: Sennrich, Haddow and Birch, "Neural Machine Translation of Rare Words with Subword
//! Units" (2016); the merge loops of `tokenizers` and `tiktoken`.

use super::pairs::{NO_MERGE, Pairs};

/// One merge of one piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MergeStep {
    /// Place of the left symbol among the symbols at that moment.
    pub at: usize,
    /// Its rank.
    pub rank: u32,
    /// The left symbol.
    pub left: u32,
    /// The right symbol.
    pub right: u32,
    /// What they become.
    pub result: u32,
}

/// Joins the pair of lowest rank, the leftmost of equals, until no pair merges.
#[must_use]
pub fn merge(symbols: &[u32], pairs: &Pairs) -> Vec<u32> {
    let mut symbols = symbols.to_vec();
    merge_steps(&mut symbols, pairs, |_| {});
    symbols
}

/// As [`merge`], in place, telling each step.
pub fn merge_steps(symbols: &mut Vec<u32>, pairs: &Pairs, mut tell: impl FnMut(MergeStep)) {
    loop {
        let best = symbols
            .windows(2)
            .enumerate()
            .map(|(at, pair)| (pairs.rank(pair[0], pair[1]), at))
            .min()
            .filter(|&(rank, _)| rank != NO_MERGE);
        let Some((rank, at)) = best else { return };
        let (left, right, result) = (symbols[at], symbols[at + 1], pairs.target(rank));
        tell(MergeStep { at, rank, left, right, result });
        symbols[at] = result;
        symbols.remove(at + 1);
    }
}
