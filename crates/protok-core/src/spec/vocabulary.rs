//! A vocabulary as plain data: tokens with ids, in the order of the file.

/// Tokens and their ids, in the order of the file, in one arena.
///
/// Ids may have holes and two entries may share an id; two entries never share a spelling. A
/// token is bytes: text in most formats, any bytes in a rank file.
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

    /// All entries in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&[u8], u32)> + '_ {
        (0..self.len()).map(|index| (self.bytes(index), self.ids[index]))
    }
}
