//! A vocabulary as plain data: tokens with ids, in the order of the file.

/// Tokens and their ids in one arena.
///
/// Where the file's order has no meaning (a JSON object, a rank file), readers order the entries
/// by id, so that equal vocabularies are equal lists. Ids may have holes and two entries may
/// share an id. Two entries never share a spelling, except in a Unigram model, where the last
/// one with a spelling is the one that text yields. A token is bytes: text in most formats, any
/// bytes in a rank file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TokenList {
    arena: Vec<u8>,
    ends: Vec<u32>,
    ids: Vec<u32>,
}

/// Why a [`TokenList`] would not take an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VocabularyError {
    /// All tokens together are longer than 4 GiB.
    TooLarge,
}

impl std::fmt::Display for VocabularyError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the tokens are longer than 4 GiB together")
    }
}

impl std::error::Error for VocabularyError {}

impl TokenList {
    /// An empty list with room for `tokens` entries of `bytes` bytes in all.
    #[must_use]
    pub fn with_capacity(tokens: usize, bytes: usize) -> Self {
        Self {
            arena: Vec::with_capacity(bytes),
            ends: Vec::with_capacity(tokens),
            ids: Vec::with_capacity(tokens),
        }
    }

    /// Appends an entry.
    ///
    /// # Errors
    /// [`VocabularyError::TooLarge`] past 4 GiB of token text.
    pub fn push(&mut self, token: &[u8], id: u32) -> Result<(), VocabularyError> {
        let end =
            u32::try_from(self.arena.len() + token.len()).map_err(|_| VocabularyError::TooLarge)?;
        self.arena.extend_from_slice(token);
        self.ends.push(end);
        self.ids.push(id);
        Ok(())
    }

    /// A list of what [`Self::parts`] gave; none if the parts do not belong together.
    #[must_use]
    pub(crate) fn of_parts(arena: Vec<u8>, ends: Vec<u32>, ids: Vec<u32>) -> Option<Self> {
        let whole = ends.last().map_or(0, |&end| end as usize) == arena.len();
        let fits = whole && ends.is_sorted() && ends.len() == ids.len();
        fits.then_some(Self { arena, ends, ids })
    }

    /// The text of all entries, where each ends in it, and their ids.
    #[must_use]
    pub(crate) fn parts(&self) -> (&[u8], &[u32], &[u32]) {
        (&self.arena, &self.ends, &self.ids)
    }

    /// The bytes of all tokens together.
    #[must_use]
    pub fn text_len(&self) -> usize {
        self.arena.len()
    }

    /// The number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The bytes of the entry at `index`.
    ///
    /// # Panics
    /// If `index` is out of range.
    #[must_use]
    pub fn bytes(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] as usize };
        &self.arena[start..self.ends[index] as usize]
    }

    /// The id of the entry at `index`.
    ///
    /// # Panics
    /// If `index` is out of range.
    #[must_use]
    pub fn id(&self, index: usize) -> u32 {
        self.ids[index]
    }

    /// Whether the entries are ordered by id.
    #[must_use]
    pub fn is_sorted_by_id(&self) -> bool {
        self.ids.is_sorted()
    }

    /// The same entries ordered by id; entries that share an id keep their order.
    #[must_use]
    pub fn sorted_by_id(self) -> Self {
        if self.ids.is_sorted() {
            return self;
        }
        let mut order: Vec<u32> = (0u32..).take(self.len()).collect();
        order.sort_by_key(|&index| self.ids[index as usize]);
        self.select(&order)
    }

    /// The entries at `indices`, in that order.
    ///
    /// # Panics
    /// If an index is out of range or given so often that the text exceeds 4 GiB.
    #[must_use]
    pub fn select(&self, indices: &[u32]) -> Self {
        let mut list = Self::with_capacity(indices.len(), self.arena.len());
        for &index in indices {
            let index = index as usize;
            assert!(list.push(self.bytes(index), self.ids[index]).is_ok(), "text within 4 GiB");
        }
        list
    }

    /// All entries in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&[u8], u32)> + '_ {
        (0..self.len()).map(|index| (self.bytes(index), self.ids[index]))
    }
}
