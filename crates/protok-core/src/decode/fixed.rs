//! Tokens that stand for the same bytes wherever they are: the byte-level family.

use std::sync::OnceLock;

use crate::added_tokens::AddedTokens;
use crate::vocab::Vocab;

use super::decoder::id_limit;

/// Appends the bytes that a token's spelling stands for.
type Append = fn(&[u8], &mut Vec<u8>);

/// The bytes of all ids. They are gone through when the first is asked for: to encode none is.
#[derive(Debug)]
pub(super) struct Fixed {
    append: Append,
    table: OnceLock<Table>,
}

/// See [`Fixed`].
#[derive(Debug)]
pub(super) struct Table {
    arena: Vec<u8>,
    /// Start and end in the arena by id; a hole has start > end.
    spans: Vec<(u32, u32)>,
}

const HOLE: (u32, u32) = (1, 0);

impl Fixed {
    /// By the rule that turns a spelling into bytes.
    pub fn new(append: Append) -> Self {
        Self { append, table: OnceLock::new() }
    }

    /// The bytes by id, for the vocabulary and the added tokens that it always comes with.
    #[inline]
    pub fn table(&self, vocab: &Vocab, added: &AddedTokens) -> &Table {
        self.table.get_or_init(|| Table::new(vocab, added, self.append))
    }
}

impl Table {
    fn new(vocab: &Vocab, added: &AddedTokens, append: Append) -> Self {
        let mut spans = vec![HOLE; id_limit(vocab, added)];
        let mut arena: Vec<u8> = Vec::new();
        let mut put = |id: u32, spelled: &[u8]| {
            let start = arena.len() as u32;
            append(spelled, &mut arena);
            spans[id as usize] = (start, arena.len() as u32);
        };
        for (id, token) in vocab.iter() {
            put(id, token);
        }
        for token in added.tokens() {
            if let Some(form) = added.decoded_form(token.id) {
                put(token.id, form.as_bytes());
            }
        }
        Self { arena, spans }
    }

    /// The bytes of an id; none for a hole.
    #[inline]
    pub fn bytes(&self, id: u32) -> Option<&[u8]> {
        let &(start, end) = self.spans.get(id as usize)?;
        self.arena.get(start as usize..end as usize)
    }
}
