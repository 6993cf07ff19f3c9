//! Layer 1: the vocabulary as the engine holds it: ids to tokens and tokens to ids.
//!
//! All token bytes stand in one arena. Ids may have holes, and two spellings may share an id.

mod index;

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use foldhash::fast::RandomState;

use crate::error::{Error, Result};
use crate::spec::TokenList;

pub(crate) use index::TokenIndex;

/// Ids above this are refused: a table over them would be a way to exhaust memory.
pub const MAX_ID: u32 = (1 << 24) - 1;

const HOLE: u32 = u32::MAX;

/// A map whose keys an artifact chooses. The hash has a seed, so that no file can be made whose
/// keys all collide; nothing depends on the order.
pub(crate) type SeededMap<K, V> = HashMap<K, V, RandomState>;

/// A set whose members an artifact chooses, see [`SeededMap`].
pub(crate) type SeededSet<K> = HashSet<K, RandomState>;

/// See the [module](self).
#[derive(Debug, Default)]
pub struct Vocab {
    arena: Vec<u8>,
    entries: Vec<Entry>,
    /// The entry that names each id, or [`HOLE`].
    by_id: Vec<u32>,
    /// Ids with more than one entry.
    respelled: SeededSet<u32>,
    /// Entries by token, once somebody asked for one: to encode need not.
    index: OnceLock<TokenIndex>,
    /// Whether no two entries have one spelling, where that is known before.
    distinct: Option<bool>,
    len: usize,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    start: u32,
    end: u32,
    id: u32,
}

#[inline]
fn spelling<'a>(arena: &'a [u8], entries: &[Entry], entry: u32) -> &'a [u8] {
    let entry = entries[entry as usize];
    &arena[entry.start as usize..entry.end as usize]
}

impl Vocab {
    /// Builds from a list. Of two entries with one id the last names it, and both spellings lead
    /// to it; of two ids for one spelling the last counts.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Artifact`] for an id beyond [`MAX_ID`].
    pub fn new(tokens: &TokenList) -> Result<Self> {
        let mut vocab = Self::default();
        vocab.arena.reserve(tokens.text_len());
        vocab.entries.reserve(tokens.len());
        vocab.by_id.reserve(tokens.len());
        for (token, id) in tokens.iter() {
            vocab.insert(token, id)?;
        }
        Ok(vocab)
    }

    /// Adds an entry.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn insert(&mut self, token: &[u8], id: u32) -> Result<()> {
        if id > MAX_ID {
            return Err(Error::artifact("model.vocab", format!("The id {id} is too large."))
                .hint(format!("Ids up to {MAX_ID} can be loaded."))
                .value(id.to_string()));
        }
        let too_large = || Error::artifact("model.vocab", "The tokens are longer than 4 GiB.");
        let start = u32::try_from(self.arena.len()).map_err(|_| too_large())?;
        let end = u32::try_from(self.arena.len() + token.len()).map_err(|_| too_large())?;
        let entry = u32::try_from(self.entries.len()).map_err(|_| too_large())?;
        self.arena.extend_from_slice(token);
        self.entries.push(Entry { start, end, id });
        if let Some(index) = self.index.get_mut() {
            let (arena, entries) = (&self.arena, &self.entries);
            index.insert(token, entry, |other| spelling(arena, entries, other));
        }
        self.distinct = None;
        let slot = id as usize;
        if slot >= self.by_id.len() {
            self.by_id.resize(slot + 1, HOLE);
        }
        if self.by_id[slot] == HOLE {
            self.len += 1;
        } else {
            self.respelled.insert(id);
        }
        self.by_id[slot] = entry;
        Ok(())
    }

    /// The number of ids that name a token.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// One past the highest id: the rows that an embedding needs.
    #[must_use]
    pub fn size(&self) -> usize {
        self.by_id.len()
    }

    /// The bytes of a token.
    #[must_use]
    pub fn bytes(&self, id: u32) -> Option<&[u8]> {
        let entry = self.entries.get(*self.by_id.get(id as usize)? as usize)?;
        Some(&self.arena[entry.start as usize..entry.end as usize])
    }

    /// Whether several spellings lead to an id, so that it does not say which of them a text has.
    #[must_use]
    pub fn is_respelled(&self, id: u32) -> bool {
        self.respelled.contains(&id)
    }

    /// The id of a token.
    #[inline]
    #[must_use]
    pub fn id(&self, token: &[u8]) -> Option<u32> {
        let found = self.index().find(token, |entry| spelling(&self.arena, &self.entries, entry));
        found.map(|entry| self.entries[entry as usize].id)
    }

    /// Whether no two entries have one spelling.
    #[must_use]
    pub fn is_distinct(&self) -> bool {
        self.distinct.unwrap_or_else(|| self.index().len() == self.entries.len())
    }

    /// Says whether no two entries have one spelling, which somebody found out before.
    #[must_use]
    pub(crate) fn known_distinct(mut self, distinct: bool) -> Self {
        self.distinct = Some(distinct);
        self
    }

    #[inline]
    fn index(&self) -> &TokenIndex {
        self.index.get_or_init(|| {
            TokenIndex::of(self.entries.len(), |entry| spelling(&self.arena, &self.entries, entry))
        })
    }

    /// Says that tokens will be looked up by their spelling soon.
    pub(crate) fn expect_look_ups(&self) {
        self.index();
    }

    /// All spellings, each with the id that it leads to.
    pub fn spellings(&self) -> impl Iterator<Item = (u32, &[u8])> + '_ {
        let distinct = self.is_distinct();
        self.entries
            .iter()
            .map(|entry| (entry.id, &self.arena[entry.start as usize..entry.end as usize]))
            .filter(move |&(id, token)| distinct || self.id(token) == Some(id))
    }

    /// All tokens by rising id.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &[u8])> + '_ {
        (0..=MAX_ID).take(self.by_id.len()).filter_map(|id| self.bytes(id).map(|bytes| (id, bytes)))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn list(entries: &[(&str, u32)]) -> TokenList {
        let mut list = TokenList::default();
        for (token, id) in entries {
            list.push(token.as_bytes(), *id).unwrap();
        }
        list
    }

    #[test]
    fn holes_and_lookups() {
        let vocab = Vocab::new(&list(&[("b", 5), ("a", 0), ("c", 2)])).unwrap();
        assert_eq!((vocab.len(), vocab.size()), (3, 6));
        assert_eq!(vocab.id(b"b"), Some(5));
        assert_eq!(vocab.bytes(1), None);
        assert_eq!(vocab.bytes(9), None);
        assert_eq!(vocab.bytes(2), Some(&b"c"[..]));
        let ids: Vec<u32> = vocab.iter().map(|(id, _)| id).collect();
        assert_eq!(ids, [0, 2, 5]);
    }

    #[test]
    fn shared_ids_and_spellings() {
        let vocab = Vocab::new(&list(&[("a", 0), ("b", 0), ("c", 1), ("c", 2)])).unwrap();
        assert_eq!((vocab.id(b"a"), vocab.id(b"b"), vocab.id(b"c")), (Some(0), Some(0), Some(2)));
        assert_eq!(vocab.bytes(0), Some(&b"b"[..]));
    }

    #[test]
    fn an_absurd_id_is_refused() {
        assert!(Vocab::new(&list(&[("x", u32::MAX)])).is_err());
    }
}
