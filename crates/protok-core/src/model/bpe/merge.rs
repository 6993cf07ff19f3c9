//! The merge engines: symbols in, tokens out.
//!
//! All do the same: of the pairs that merge, the one of lowest rank, leftmost among equals, is
//! joined, until none is left. They differ in what they cost for a piece of n symbols:
//!
//! - up to [`SHORT`] symbols: arrays and a scan for the minimum, n·m steps for m merges;
//! - up to [`WINDOW`]: a queue, n log n at worst and close to n in practice (see [`Queue`]);
//! - longer ones: the queue on one window after the other, so that its memory stays in the cache.
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

/// Pieces of up to so many symbols go to the scan.
pub const SHORT: usize = 40;

/// Pieces of up to so many symbols go through the queue at once.
pub const WINDOW: usize = 2048;

/// How far before the end of a window the next one starts.
const MARGIN: usize = 160;

/// The memory of the merge engines, kept from piece to piece.
#[derive(Debug, Default)]
pub struct MergeScratch {
    ranks: Vec<u32>,
    next: Vec<u32>,
    previous: Vec<u32>,
    queue: Queue,
    windows: [Vec<u32>; 3],
    border: Vec<u32>,
}

/// Merges `symbols` in place.
pub fn merge(symbols: &mut Vec<u32>, pairs: &Pairs, scratch: &mut MergeScratch) {
    if symbols.len() <= SHORT {
        scratch.ranks.clear();
        scratch.ranks.extend(symbols.windows(2).map(|pair| pairs.rank(pair[0], pair[1])));
        merge_short(symbols, pairs, &mut scratch.ranks);
    } else {
        merge_marking(symbols, pairs, scratch);
        symbols.retain(|&symbol| symbol != NONE);
    }
}

/// Merges at most [`SHORT`] symbols whose neighbours have the given ranks.
#[inline]
pub fn merge_ranked(
    symbols: &mut Vec<u32>,
    ranks: impl Iterator<Item = u32>,
    pairs: &Pairs,
    scratch: &mut MergeScratch,
) {
    scratch.ranks.clear();
    scratch.ranks.extend(ranks);
    merge_short(symbols, pairs, &mut scratch.ranks);
}

fn merge_short(symbols: &mut Vec<u32>, pairs: &Pairs, ranks: &mut Vec<u32>) {
    debug_assert!(symbols.is_empty() || ranks.len() == symbols.len() - 1);
    loop {
        let mut lowest = NO_MERGE;
        let mut at = 0;
        for (i, &rank) in ranks.iter().enumerate() {
            if rank < lowest {
                lowest = rank;
                at = i;
            }
        }
        if lowest == NO_MERGE {
            return;
        }
        symbols[at] = pairs.target(lowest);
        symbols.remove(at + 1);
        ranks.remove(at);
        if at < ranks.len() {
            ranks[at] = pairs.rank(symbols[at], symbols[at + 1]);
        }
        if at > 0 {
            ranks[at - 1] = pairs.rank(symbols[at - 1], symbols[at]);
        }
    }
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
        merge_queued(symbols, pairs, scratch);
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
    merge_queued(window, pairs, scratch);
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
    merge_queued(&mut both, pairs, scratch);
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
            for (width, margin) in [(200, 0), (16, 4), (5, 1), (2, 0)] {
                let mut long = symbols.clone();
                merge_windows(&mut long, width, margin, &pairs, &mut scratch);
                long.retain(|&symbol| symbol != NONE);
                prop_assert_eq!(&long, &expected, "windows of {}", width);
            }
        }
    }
}
