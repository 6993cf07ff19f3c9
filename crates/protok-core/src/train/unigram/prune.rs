//! Which pieces go: those whose removal costs the least likelihood.
//!
//! Without a piece its occurrences would be spelled by its best alternative, whose pieces would
//! become more frequent in turn. The loss is the difference, as Kudo (2018) approximates it: all
//! other occurrences keep their segmentation.

use super::lattice::{Scratch, alternative};
use super::pieces::Pieces;
use crate::Result;
use crate::parallel::map_groups;

/// What the likelihood loses with each piece; infinity for those that stay. Walks must read
/// scores; `counts` are of the pieces on best paths.
pub(super) fn losses(pieces: &Pieces, counts: &[f64], threads: usize) -> Result<Vec<f64>> {
    let total: f64 = counts.iter().sum();
    let log_total = libm::log(total);
    let ids: Vec<usize> = (0..pieces.len()).collect();
    let groups = map_groups(
        &ids,
        |_| 64,
        threads,
        |ids, _| {
            let mut scratch = Scratch::default();
            let loss = |&id: &usize| {
                let count = counts[id];
                if pieces.protected[id] {
                    return f64::INFINITY;
                }
                if count <= 0.0 {
                    return 0.0;
                }
                let parts = alternative(pieces, id, &mut scratch);
                let log_more = libm::log(total + count * (parts.len() as f64 - 1.0));
                let without: f64 = parts
                    .iter()
                    .map(|&part| libm::log(counts[part as usize] + count) - log_more)
                    .sum();
                count * (libm::log(count) - log_total - without)
            };
            Ok(ids.iter().map(loss).collect::<Vec<f64>>())
        },
    )?;
    Ok(groups.concat())
}

/// Which pieces stay if `size` do: protected ones, then those with the greatest `values`. Of
/// equal ones the first stay.
pub(super) fn best(pieces: &Pieces, values: &[f64], size: usize) -> Vec<bool> {
    let mut kept = pieces.protected.clone();
    let protected = kept.iter().filter(|&&kept| kept).count();
    let mut others: Vec<u32> = (0..pieces.len() as u32).filter(|&id| !kept[id as usize]).collect();
    let wanted = size.saturating_sub(protected);
    if wanted < others.len() {
        let by_value =
            |a: &u32, b: &u32| values[*b as usize].total_cmp(&values[*a as usize]).then(a.cmp(b));
        if wanted > 0 {
            others.select_nth_unstable_by(wanted - 1, by_value);
        }
        others.truncate(wanted);
    }
    others.iter().for_each(|&id| kept[id as usize] = true);
    kept
}
