//! The merge engines: symbols in, tokens out.
//!
//! All do the same: of the pairs that merge, the one of lowest rank, leftmost among equals, is
//! joined, until none is left. They differ in what they cost for a piece of n symbols:
//!
//! - up to [`WINDOW`] symbols: the keys of all pairs in blocks of 32, with the least key of each
//!   block. Finding the lowest pair, and mending the blocks that a merge touches, are a few
//!   vector instructions each, so a merge costs little more than its two look-ups;
//! - longer ones: one window after the other;
//! - what no windows fit, and vocabularies too large for the keys: a queue, n log n (see
//!   [`Queue`]).
//!
//! # Why windows are exact
//!
//! Call two tokens *compatible* if merging the symbols of both gives just the two. A row of
//! tokens is the result for a text if and only if all neighbours are compatible. For look at
//! the first merge that would cross a border between two tokens of the row: until then nothing
//! crossed any border, so the symbols of these two tokens went through the same merges, in the
//! same order, as they would alone, and the crossing would happen alone too. The argument needs
//! nothing of the rules but that the lowest rank, leftmost first, is merged.
//!
//! So a text may be cut anywhere, and its parts merged apart, if the tokens on both sides of the
//! cut are compatible. A window is merged, a border well before its end is chosen, the next
//! window is merged from there, and the two tokens at the border are checked. If they are not
//! compatible, earlier borders are tried; if these fail too, all starts again with windows four
//! times as large, in the end with one.

use super::pairs::{NO_MERGE, Pairs};
use super::symbols::Symbol;
use crate::model::queue::Queue;

/// Pieces of up to so many symbols are merged at once.
pub const WINDOW: usize = 1 << PLACE_BITS;

/// How far before the end of a window the next one starts.
const MARGIN: usize = 160;

/// A key is a rank above a place in the window; the lowest is the next to merge.
const PLACE_BITS: u32 = 10;
const RANK_LIMIT: usize = 1 << (31 - PLACE_BITS);
const BLOCK: usize = 32;
const NO_KEY: i32 = i32::MAX;

/// The memory of the merge engines, kept from piece to piece.
#[derive(Debug, Default)]
pub struct MergeScratch {
    blocks: Blocks,
    ranks: Vec<u32>,
    next: Vec<u32>,
    previous: Vec<u32>,
    queue: Queue,
    windows: [Vec<u32>; 3],
    border: Vec<u32>,
}

/// The keys of a window.
#[derive(Debug, Default)]
struct Blocks {
    keys: Vec<[i32; BLOCK]>,
    least: Vec<i32>,
    next: Vec<u16>,
    previous: Vec<u16>,
}

/// Merges `symbols` in place.
pub fn merge(symbols: &mut Vec<u32>, pairs: &Pairs, scratch: &mut MergeScratch) {
    if symbols.len() > 1 {
        merge_marking(symbols, pairs, scratch);
        symbols.retain(|&symbol| symbol != NONE);
    }
}

/// Appends what `symbols` become, which it uses up.
pub fn merge_into(
    symbols: &mut Vec<u32>,
    pairs: &Pairs,
    scratch: &mut MergeScratch,
    out: &mut Vec<u32>,
) {
    if symbols.len() > 16 || !fits(pairs) {
        merge(symbols, pairs, scratch);
        out.extend_from_slice(symbols);
        return;
    }
    let mut ranks = [NO_MERGE; 16];
    for (rank, pair) in ranks.iter_mut().zip(symbols.windows(2)) {
        *rank = pairs.rank(pair[0], pair[1]);
    }
    let ranks = ranks.into_iter().take(symbols.len().saturating_sub(1));
    merge_few::<16>(symbols, ranks, pairs, out);
}

/// Merges at most [`WINDOW`] symbols whose neighbours have the given ranks, which must fit (see
/// [`fits`]).
#[inline]
pub fn merge_ranked(
    symbols: &mut Vec<u32>,
    ranks: impl Iterator<Item = u32>,
    pairs: &Pairs,
    scratch: &mut MergeScratch,
) {
    if symbols.len() > 1 {
        scratch.blocks.merge(symbols, ranks, pairs);
        symbols.retain(|&symbol| symbol != NONE);
    }
}

/// Appends what at most `MOST` symbols become, whose neighbours have the given ranks, which must
/// fit (see [`fits`]).
#[inline]
pub fn merge_few<const MOST: usize>(
    symbols: &mut [u32],
    ranks: impl Iterator<Item = u32>,
    pairs: &Pairs,
    out: &mut Vec<u32>,
) {
    const { assert!(MOST <= 32) };
    let count = symbols.len();
    debug_assert!(count <= MOST);
    let mut keys = [NO_KEY; MOST];
    for (at, (slot, rank)) in keys.iter_mut().zip(ranks).enumerate() {
        *slot = key(rank, at);
    }
    // The places of the next symbol and the one before, counted from one.
    let mut next: [u8; 34] = std::array::from_fn(|at| at as u8 + 1);
    let mut previous: [u8; 34] = std::array::from_fn(|at| (at as u8).wrapping_sub(1));
    loop {
        let lowest = keys.iter().copied().fold(NO_KEY, i32::min);
        if lowest == NO_KEY {
            break;
        }
        let left = lowest as usize & (WINDOW - 1);
        let right = usize::from(next[left + 1]) - 1;
        let after = usize::from(next[right + 1]) - 1;
        let joined = pairs.target(lowest as u32 >> PLACE_BITS);
        symbols[left] = joined;
        symbols[right] = NONE;
        keys[right] = NO_KEY;
        next[left + 1] = after as u8 + 1;
        previous[after + 1] = left as u8 + 1;
        keys[left] =
            if after < count { key(pairs.rank(joined, symbols[after]), left) } else { NO_KEY };
        if let Some(before) = usize::from(previous[left + 1]).checked_sub(1) {
            keys[before] = key(pairs.rank(symbols[before], joined), before);
        }
    }
    out.extend(symbols.iter().copied().filter(|&symbol| symbol != NONE));
}

impl Blocks {
    /// Merges two to [`WINDOW`] symbols; those that were joined to the one before become
    /// [`NONE`]. All ranks must be below [`RANK_LIMIT`], or [`NO_MERGE`].
    #[inline]
    fn merge(&mut self, symbols: &mut [u32], ranks: impl Iterator<Item = u32>, pairs: &Pairs) {
        let count = symbols.len();
        debug_assert!((2..=WINDOW).contains(&count));
        self.keys.clear();
        self.keys.resize(count.div_ceil(BLOCK), [NO_KEY; BLOCK]);
        for (at, rank) in ranks.enumerate() {
            self.keys[at / BLOCK][at % BLOCK] = key(rank, at);
        }
        self.least.clear();
        self.least.extend(self.keys.iter().map(least));
        self.next.clear();
        self.next.extend((1..=count).map(|at| at as u16));
        self.previous.clear();
        self.previous.extend((0..count).map(|at| (at as u16).wrapping_sub(1)));
        loop {
            let lowest = self.least.iter().copied().fold(NO_KEY, i32::min);
            if lowest == NO_KEY {
                return;
            }
            let left = lowest as usize & (WINDOW - 1);
            let right = usize::from(self.next[left]);
            let after = usize::from(self.next[right]);
            symbols[left] = pairs.target(lowest as u32 >> PLACE_BITS);
            symbols[right] = NONE;
            self.next[left] = after as u16;
            self.keys[right / BLOCK][right % BLOCK] = NO_KEY;
            self.keys[left / BLOCK][left % BLOCK] = if after < count {
                self.previous[after] = left as u16;
                key(pairs.rank(symbols[left], symbols[after]), left)
            } else {
                NO_KEY
            };
            self.mend(left);
            if right / BLOCK != left / BLOCK {
                self.mend(right);
            }
            let before = usize::from(self.previous[left]);
            if before < count {
                let rank = pairs.rank(symbols[before], symbols[left]);
                self.keys[before / BLOCK][before % BLOCK] = key(rank, before);
                self.mend(before);
            }
        }
    }

    #[inline]
    fn mend(&mut self, at: usize) {
        self.least[at / BLOCK] = least(&self.keys[at / BLOCK]);
    }
}

/// Whether the ranks of a vocabulary fit in keys.
#[must_use]
pub fn fits(pairs: &Pairs) -> bool {
    pairs.len() < RANK_LIMIT
}

#[inline]
fn key(rank: u32, at: usize) -> i32 {
    if rank == NO_MERGE { NO_KEY } else { (rank << PLACE_BITS | at as u32) as i32 }
}

/// Vector instructions do this in a few steps.
#[inline]
fn least(keys: &[i32; BLOCK]) -> i32 {
    keys.iter().copied().fold(NO_KEY, i32::min)
}

const NONE: u32 = u32::MAX;

/// Merges symbols that know which bytes they cover.
pub fn merge_spans(symbols: &mut Vec<Symbol>, pairs: &Pairs, scratch: &mut MergeScratch) {
    if symbols.is_empty() {
        return;
    }
    let mut ids: Vec<u32> = symbols.iter().map(|symbol| symbol.id).collect();
    merge_marking(&mut ids, pairs, scratch);
    let mut kept = 0;
    for (i, id) in ids.into_iter().enumerate() {
        if id == NONE {
            symbols[kept - 1].end = symbols[i].end;
        } else {
            symbols[kept] = Symbol { id, ..symbols[i] };
            kept += 1;
        }
    }
    symbols.truncate(kept);
}

/// Merges at least one symbol; those that were joined to the one before become [`NONE`].
fn merge_marking(symbols: &mut [u32], pairs: &Pairs, scratch: &mut MergeScratch) {
    merge_windows(symbols, WINDOW, MARGIN, pairs, scratch);
}

/// See the [module](self). `width` and `margin` change what it costs, never the result.
fn merge_windows(
    symbols: &mut [u32],
    width: usize,
    margin: usize,
    pairs: &Pairs,
    scratch: &mut MergeScratch,
) {
    let mut memory = std::mem::take(&mut scratch.windows);
    let mut width = width;
    while symbols.len() > width && !try_windows(symbols, width, margin, pairs, scratch, &mut memory)
    {
        width *= 4;
    }
    scratch.windows = memory;
    if symbols.len() <= width {
        merge_whole(symbols, pairs, scratch);
    }
}

/// Merges at least one symbol without windows.
fn merge_whole(symbols: &mut [u32], pairs: &Pairs, scratch: &mut MergeScratch) {
    match symbols {
        [_] => {}
        [..] if symbols.len() <= WINDOW && fits(pairs) => {
            scratch.ranks.clear();
            scratch.ranks.extend(symbols.windows(2).map(|pair| pairs.rank(pair[0], pair[1])));
            scratch.blocks.merge(symbols, scratch.ranks.iter().copied(), pairs);
        }
        _ => merge_queued(symbols, pairs, scratch),
    }
}

/// Merges window by window, or leaves the symbols as they were if some border is not to be found.
fn try_windows(
    symbols: &mut [u32],
    width: usize,
    margin: usize,
    pairs: &Pairs,
    scratch: &mut MergeScratch,
    [current, following, result]: &mut [Vec<u32>; 3],
) -> bool {
    result.clear();
    fill_window(current, &symbols[..width], pairs, scratch);
    // `result` holds what is settled, up to where `current` starts.
    while result.len() + current.len() < symbols.len() {
        let mut reach = current.len().saturating_sub(margin);
        let mut tries = 0..3;
        loop {
            let last = reach.min(current.len() - 1);
            let border = (1..=last).rev().find(|&at| current[at] != NONE);
            let (Some(border), Some(_)) = (border, tries.next()) else { return false };
            let start = result.len();
            let end = (start + border + width).min(symbols.len());
            fill_window(following, &symbols[start + border..end], pairs, scratch);
            if compatible(&current[..border], following, &symbols[start..end], pairs, scratch) {
                result.extend_from_slice(&current[..border]);
                break;
            }
            reach = border / 2;
        }
        std::mem::swap(current, following);
    }
    symbols[..result.len()].copy_from_slice(result);
    symbols[result.len()..].copy_from_slice(current);
    true
}

fn fill_window(window: &mut Vec<u32>, symbols: &[u32], pairs: &Pairs, scratch: &mut MergeScratch) {
    window.clear();
    window.extend_from_slice(symbols);
    merge_whole(window, pairs, scratch);
}

/// Whether the last token of `left` and the first of `right` stay apart when their symbols are
/// merged together. `symbols` are those of both windows.
fn compatible(
    left: &[u32],
    right: &[u32],
    symbols: &[u32],
    pairs: &Pairs,
    scratch: &mut MergeScratch,
) -> bool {
    let border = left.len();
    let start = (0..border).rev().find(|&at| left[at] != NONE).unwrap_or(0);
    let length = (1..right.len()).find(|&at| right[at] != NONE).unwrap_or(right.len());
    let mut both = std::mem::take(&mut scratch.border);
    both.clear();
    both.extend_from_slice(&symbols[start..border + length]);
    merge_whole(&mut both, pairs, scratch);
    let second = border - start;
    let apart = both.iter().enumerate().all(|(at, &symbol)| match at {
        0 => symbol == left[start],
        _ if at == second => symbol == right[0],
        _ => symbol == NONE,
    });
    scratch.border = both;
    apart
}

/// Merges through the queue.
fn merge_queued(symbols: &mut [u32], pairs: &Pairs, scratch: &mut MergeScratch) {
    let MergeScratch { ranks, next, previous, queue, .. } = scratch;
    let count = u32::try_from(symbols.len()).unwrap_or(NONE);
    next.clear();
    next.extend(1..count);
    next.push(NONE);
    previous.clear();
    previous.push(NONE);
    previous.extend(0..count - 1);
    // `ranks[i]` is the rank of the pair that starts at i, as last seen: an entry of the queue
    // with another rank is stale.
    ranks.clear();
    ranks.extend(symbols.windows(2).map(|pair| pairs.rank(pair[0], pair[1])));
    ranks.push(NO_MERGE);
    queue.clear();
    for (i, &rank) in (0u32..).zip(ranks.iter()) {
        if rank != NO_MERGE {
            queue.push(rank, i);
        }
    }
    while let Some((rank, at)) = queue.pop() {
        let left = at as usize;
        if ranks[left] != rank {
            continue;
        }
        let right = next[left] as usize;
        let after = next[right];
        symbols[left] = pairs.target(rank);
        symbols[right] = NONE;
        ranks[right] = NO_MERGE;
        next[left] = after;
        ranks[left] = NO_MERGE;
        if after != NONE {
            previous[after as usize] = at;
            ranks[left] = pairs.rank(symbols[left], symbols[after as usize]);
            if ranks[left] != NO_MERGE {
                queue.push(ranks[left], at);
            }
        }
        let before = previous[left];
        if before != NONE {
            let rank = pairs.rank(symbols[before as usize], symbols[left]);
            ranks[before as usize] = rank;
            if rank != NO_MERGE {
                queue.push(rank, before);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::reference;
    use super::*;
    use proptest::prelude::*;

    /// Rules over few symbols, so that they overlap, tie and contradict each other.
    fn rules() -> impl Strategy<Value = Vec<(u32, u32, u32)>> {
        prop::collection::vec((0u32..8, 0u32..8, 3u32..10), 0..30)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]
        #[test]
        fn engines_agree_with_the_reference(
            rules in rules(),
            symbols in prop::collection::vec(0u32..4, 0..120),
            by_target: bool,
        ) {
            let pairs = if by_target { Pairs::by_target(&rules) } else { Pairs::listed(&rules) };
            let expected = reference::merge(&symbols, &pairs);
            let mut scratch = MergeScratch::default();
            let mut short = symbols.clone();
            let ranks: Vec<u32> =
                symbols.windows(2).map(|pair| pairs.rank(pair[0], pair[1])).collect();
            merge_ranked(&mut short, ranks.into_iter(), &pairs, &mut scratch);
            prop_assert_eq!(&short, &expected);
            if symbols.is_empty() {
                return Ok(());
            }
            let ranks = |symbols: &[u32]| -> Vec<u32> {
                symbols.windows(2).map(|pair| pairs.rank(pair[0], pair[1])).collect()
            };
            if symbols.len() <= 32 {
                let mut few = Vec::new();
                let of = ranks(&symbols).into_iter();
                merge_few::<32>(&mut symbols.clone(), of, &pairs, &mut few);
                prop_assert_eq!(&few, &expected, "few");
            }
            let start = &symbols[..symbols.len().min(16)];
            let mut few = Vec::new();
            merge_few::<16>(&mut start.to_vec(), ranks(start).into_iter(), &pairs, &mut few);
            prop_assert_eq!(&few, &reference::merge(start, &pairs), "fewer");
            let mut queued = symbols.clone();
            merge_queued(&mut queued, &pairs, &mut scratch);
            queued.retain(|&symbol| symbol != NONE);
            prop_assert_eq!(&queued, &expected, "queued");
            for (width, margin) in [(200, 0), (16, 4), (5, 1), (2, 0)] {
                let mut long = symbols.clone();
                merge_windows(&mut long, width, margin, &pairs, &mut scratch);
                long.retain(|&symbol| symbol != NONE);
                prop_assert_eq!(&long, &expected, "windows of {}", width);
            }
        }
    }
}
