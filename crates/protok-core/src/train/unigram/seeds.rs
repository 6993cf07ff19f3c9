//! The pieces that a training starts from.

use super::super::UnigramOptions;
use super::super::suffixes::{Node, Suffixes};
use super::pieces::{Pieces, Seed};
use super::text::Text;
use crate::{Error, Result};
use std::collections::BTreeSet;

/// Chooses the seed: all characters, the required entries, and of the substrings that occur more
/// than once and may be pieces those with the most characters in all their occurrences.
pub(super) fn choose(text: &Text, options: &UnigramOptions, threads: usize) -> Result<Pieces> {
    let required: BTreeSet<&str> = options.required.iter().map(String::as_str).collect();
    let longest = required.iter().map(|piece| piece.chars().count()).max().unwrap_or(0);
    let limit = u16::try_from(longest.max(options.max_piece_length)).map_err(|_| {
        Error::limit("A piece cannot have more than 65,535 characters.")
            .at(if longest > options.max_piece_length { "required" } else { "max_piece_length" })
    })?;
    let suffixes = Suffixes::sort(&text.letters, limit, threads)?;
    let (mut seeds, characters) = substrings(text, &suffixes, options);
    seeds.extend(characters);
    let mut absent = Vec::new();
    for piece in required {
        let symbols = text.spell(piece).unwrap_or_default();
        let places = suffixes.find(&text.letters, &symbols);
        if symbols.is_empty() || places.0 == places.1 {
            absent.push(piece.to_owned());
        } else if symbols.len() > 1 {
            let length = symbols.len() as u32;
            let known = seeds.iter_mut().find(|s| s.places == places && s.length == length);
            match known {
                Some(seed) => seed.protected = true,
                None => {
                    let score = f64::from(places.1 - places.0);
                    seeds.push(Seed { places, length, score, protected: true });
                }
            }
        }
    }
    Ok(Pieces::new(text, &suffixes, seeds, absent))
}

/// A repeated substring, with the number of characters in its occurrences.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    score: u64,
    length: u32,
    places: (u32, u32),
}

/// The best substrings of two characters or more, and all characters.
fn substrings(
    text: &Text,
    suffixes: &Suffixes,
    options: &UnigramOptions,
) -> (Vec<Seed>, Vec<Seed>) {
    let kinds = options.rules.kinds(&text.alphabet);
    let segment_of = segment_of_positions(text);
    let segment = |at: u32| segment_of[at as usize] as usize;
    let reach = |at: u32| (text.segments[segment(at)].1 - at) as usize;
    let best = |a: &Candidate, b: &Candidate| {
        (b.score, a.places.0, a.length).cmp(&(a.score, b.places.0, b.length))
    };
    let specials: BTreeSet<Vec<u32>> =
        options.special_tokens.iter().filter_map(|token| text.spell(token)).collect();
    let (mut candidates, mut characters) = (Vec::new(), Vec::new());
    suffixes.for_each_node(
        |at| text.weights[segment(at)],
        reach,
        |Node { places, length, shorter, weight }| {
            let first = suffixes.order[places.0 as usize] as usize;
            if shorter == 0 {
                let score = weight as f64;
                characters.push(Seed { places, length: 1, score, protected: true });
            }
            if weight < 2 {
                return;
            }
            let length = usize::from(length).min(options.max_piece_length);
            let letters = &text.letters[first..first + length];
            let length = options.rules.longest(letters.iter().map(|&l| kinds[l as usize - 1]));
            if length <= usize::from(shorter) || length < 2 {
                return;
            }
            if specials.contains(&letters[..length]) {
                return;
            }
            let score = weight.saturating_mul(length as u64);
            candidates.push(Candidate { score, length: length as u32, places });
            if candidates.len() >= 2 * options.seed_size.max(1 << 16) {
                candidates.select_nth_unstable_by(options.seed_size, best);
                candidates.truncate(options.seed_size);
            }
        },
    );
    if candidates.len() > options.seed_size {
        candidates.select_nth_unstable_by(options.seed_size, best);
        candidates.truncate(options.seed_size);
    }
    let seed = |c: Candidate| Seed {
        places: c.places,
        length: c.length,
        score: c.score as f64,
        protected: false,
    };
    (candidates.into_iter().map(seed).collect(), characters)
}

fn segment_of_positions(text: &Text) -> Vec<u32> {
    let mut segments = vec![0; text.letters.len()];
    for (&(start, end), index) in text.segments.iter().zip(0..) {
        segments[start as usize..end as usize].fill(index);
    }
    segments
}
