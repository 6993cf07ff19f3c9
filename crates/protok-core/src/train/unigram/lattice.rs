//! All segmentations of one segment: the expected count of each piece, and the best path.
//!
//! The expected counts come from one pass back, which sums the probability of everything that can
//! follow a position, and one pass on, which hands each position's share of the paths to the
//! pieces that start there in proportion. Probabilities are added as such, not as logarithms: a
//! short segment cannot underflow, and in a long one each position counts in its own power of
//! 2^256. O(edges).

use super::pieces::{Link, NONE, Pieces};

/// What the passes over a segment note at each position.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    back: Vec<f64>,
    units: Vec<i32>,
    on: Vec<f64>,
    from: Vec<u32>,
}

/// The pieces at one position, the longest first.
pub(super) fn at(links: &[Link], longest: u32) -> impl Iterator<Item = (usize, Link)> + '_ {
    let mut next = longest;
    std::iter::from_fn(move || {
        let id = next as usize;
        let link = *links.get(id)?;
        next = link.shorter;
        Some((id, link))
    })
}

const UNIT: f64 = 1.157_920_892_373_162e77; // 2^256
const UNIT_BITS: f64 = 256.0;

/// 2^256 to a power that is one at most along an edge; where it is so small that a double cannot
/// hold the result, the result is nothing.
fn units(power: i32) -> f64 {
    if power < -3 { 0.0 } else { UNIT.powi(power) }
}

/// Adds `weight` times the expected count of each piece, by probabilities; returns the logarithm
/// of the probability of the segment. `floor` is the least probability of a character.
pub(super) fn expect(
    pieces: &Pieces,
    (start, end): (u32, u32),
    weight: f64,
    floor: f64,
    scratch: &mut Scratch,
    counts: &mut [f64],
) -> f64 {
    let longest = &pieces.longest[start as usize..end as usize];
    let bits = longest.len() as f64 * -libm::log2(floor);
    if bits < 960.0 {
        expect_in::<false>(&pieces.links, longest, weight, scratch, counts)
    } else {
        expect_in::<true>(&pieces.links, longest, weight, scratch, counts)
    }
}

fn expect_in<const LONG: bool>(
    links: &[Link],
    longest: &[u32],
    weight: f64,
    scratch: &mut Scratch,
    counts: &mut [f64],
) -> f64 {
    let n = longest.len();
    let Scratch { back, units: powers, on, .. } = scratch;
    back.clear();
    back.resize(n + 1, 0.0);
    back[n] = 1.0;
    if LONG {
        powers.clear();
        powers.resize(n + 1, 0);
    }
    for i in (0..n).rev() {
        let mut sum = 0.0;
        let unit = if LONG { powers[i + 1] } else { 0 };
        for (_, link) in at(links, longest[i]) {
            let j = i + link.length as usize;
            let mut part = link.value * back[j];
            if LONG && powers[j] != unit {
                part *= units(unit - powers[j]);
            }
            sum += part;
        }
        if LONG {
            powers[i] = unit;
            if sum < 1.0 / UNIT {
                sum *= UNIT;
                powers[i] += 1;
            } else if sum > UNIT {
                sum /= UNIT;
                powers[i] -= 1;
            }
        }
        back[i] = sum;
    }
    on.clear();
    on.resize(n + 1, 0.0);
    on[0] = 1.0;
    for i in 0..n {
        let share = on[i] / back[i];
        for (id, link) in at(links, longest[i]) {
            let j = i + link.length as usize;
            let mut part = share * link.value * back[j];
            if LONG && powers[j] != powers[i] {
                part *= units(powers[i] - powers[j]);
            }
            counts[id] += weight * part;
            on[j] += part;
        }
    }
    let shift = if LONG { UNIT_BITS * std::f64::consts::LN_2 * f64::from(powers[0]) } else { 0.0 };
    libm::log(back[0]) - shift
}

/// Adds `weight` to the count of each piece of the best path, by scores; returns its score. Of
/// equal paths the one whose last piece is the longest stands, at every position.
pub(super) fn best_path(
    pieces: &Pieces,
    (start, end): (u32, u32),
    weight: f64,
    scratch: &mut Scratch,
    counts: &mut [f64],
) -> f64 {
    let longest = &pieces.longest[start as usize..end as usize];
    let n = longest.len();
    let Scratch { on: best, from, .. } = scratch;
    best.clear();
    best.resize(n + 1, f64::NEG_INFINITY);
    from.clear();
    from.resize(n + 1, NONE);
    best[0] = 0.0;
    for i in 0..n {
        for (id, link) in at(&pieces.links, longest[i]) {
            let j = i + link.length as usize;
            let score = best[i] + link.value;
            if score > best[j] {
                best[j] = score;
                from[j] = id as u32;
            }
        }
    }
    let mut j = n;
    while j > 0 {
        let id = from[j] as usize;
        counts[id] += weight;
        j -= pieces.links[id].length as usize;
    }
    best[n]
}

/// The best path of a piece without itself, by scores: the pieces, last first, or none.
pub(super) fn alternative<'a>(
    pieces: &Pieces,
    piece: usize,
    scratch: &'a mut Scratch,
) -> &'a [u32] {
    let n = pieces.links[piece].length as usize;
    let site = pieces.sites[piece] as usize;
    let Scratch { on: best, from, .. } = scratch;
    best.clear();
    best.resize(n + 1, f64::NEG_INFINITY);
    from.clear();
    from.resize(2 * n + 1, NONE);
    best[0] = 0.0;
    for i in 0..n {
        for (id, link) in at(&pieces.links, pieces.longest[site + i]) {
            let j = i + link.length as usize;
            if j > n || id == piece {
                continue;
            }
            let score = best[i] + link.value;
            if score > best[j] {
                best[j] = score;
                from[j] = id as u32;
            }
        }
    }
    let (mut j, mut length) = (n, 0);
    while j > 0 && from[j] != NONE {
        let id = from[j];
        from[n + 1 + length] = id;
        length += 1;
        j -= pieces.links[id as usize].length as usize;
    }
    &from[n + 1..n + 1 + length]
}
