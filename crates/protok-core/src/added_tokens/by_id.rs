//! Which token has an id.

use std::cmp::Reverse;

/// The last token of each id: ids and places, sorted.
#[derive(Debug)]
pub(super) struct ById(Vec<(u32, usize)>);

impl ById {
    pub fn new(ids: impl Iterator<Item = u32>) -> Self {
        let mut entries: Vec<(u32, usize)> = ids.zip(0..).collect();
        entries.sort_by_key(|&(id, place)| (id, Reverse(place)));
        entries.dedup_by_key(|entry| entry.0);
        Self(entries)
    }

    pub fn get(&self, id: u32) -> Option<usize> {
        let (first, last) = (self.0.first()?.0, self.0.last()?.0);
        if id < first || id > last {
            return None;
        }
        // Mostly ids follow one another, up to the last or from the first.
        let guesses =
            [(self.0.len() - 1).checked_sub((last - id) as usize), Some((id - first) as usize)];
        for guess in guesses.into_iter().flatten() {
            if let Some(&(found, place)) = self.0.get(guess)
                && found == id
            {
                return Some(place);
            }
        }
        self.0.binary_search_by_key(&id, |entry| entry.0).ok().map(|at| self.0[at].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_token_of_an_id_is_found() {
        for ids in [&[3, 4, 5, 9][..], &[0, 7, 8, 9], &[9, 0, 4, 2, 40], &[5, 5, 1, 5], &[], &[6]] {
            let by_id = ById::new(ids.iter().copied());
            for id in 0..50 {
                let last = ids.iter().rposition(|&listed| listed == id);
                assert_eq!(by_id.get(id), last, "{id} of {ids:?}");
            }
        }
    }
}
