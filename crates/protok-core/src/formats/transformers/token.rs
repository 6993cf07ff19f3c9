//! Tokens as the wrapper holds them, and the added vocabulary that it fills.

use crate::error::Result;
use crate::formats::node::Cursor;
use crate::spec::{AddedToken, TokenList};
use crate::vocab::{SeededMap, SeededSet};

/// An added token whose normalization may be left open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    pub content: String,
    pub single_word: bool,
    pub lstrip: bool,
    pub rstrip: bool,
    /// Absent, it is what `special` is not.
    pub normalized: Option<bool>,
    pub special: bool,
}

const FIELDS: &[&str] =
    &["__type", "content", "single_word", "lstrip", "rstrip", "normalized", "special"];

impl Token {
    pub(super) fn plain(content: &str) -> Self {
        Self {
            content: content.to_owned(),
            single_word: false,
            lstrip: false,
            rstrip: false,
            normalized: None,
            special: false,
        }
    }

    /// An object with the fields of an added token, and no others.
    pub(super) fn read(cursor: &Cursor<'_>) -> Result<Self> {
        for (key, value) in cursor.entries()? {
            if !FIELDS.contains(&key) {
                return Err(value
                    .error("A token has no such field; transformers refuses it.")
                    .hint(
                        "Remove the field, or load without as_loaded_by: the file then decides.",
                    ));
            }
        }
        let flag = |name| cursor.field(name).map_or(Ok(false), |field| field.bool());
        Ok(Self {
            content: cursor.need("content")?.string()?,
            single_word: flag("single_word")?,
            lstrip: flag("lstrip")?,
            rstrip: flag("rstrip")?,
            normalized: cursor.field("normalized").map(|field| field.bool()).transpose()?,
            special: flag("special")?,
        })
    }

    fn settled(&self, id: u32) -> AddedToken {
        AddedToken {
            id,
            content: self.content.clone(),
            single_word: self.single_word,
            lstrip: self.lstrip,
            rstrip: self.rstrip,
            normalized: self.normalized.unwrap_or(!self.special),
            special: self.special,
        }
    }
}

impl From<&AddedToken> for Token {
    fn from(token: &AddedToken) -> Self {
        Self {
            content: token.content.clone(),
            single_word: token.single_word,
            lstrip: token.lstrip,
            rstrip: token.rstrip,
            normalized: Some(token.normalized),
            special: token.special,
        }
    }
}

/// The token of a role: a string, or a token with flags.
#[derive(Debug, Clone)]
pub(super) enum Special {
    Text(String),
    Token(Token),
}

impl Special {
    pub(super) fn as_str(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Token(token) => &token.content,
        }
    }
}

impl PartialEq for Special {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Text(a), Self::Text(b)) => a == b,
            (Self::Token(a), Self::Token(b)) => a.settled(0) == b.settled(0),
            _ => false,
        }
    }
}

/// The added vocabulary of `tokenizers`, as calls to it fill it.
#[derive(Debug, Clone)]
pub(super) struct Added<'a> {
    vocab: &'a TokenList,
    ids: SeededMap<String, u32>,
    by_id: SeededMap<u32, AddedToken>,
    special: SeededSet<String>,
}

impl<'a> Added<'a> {
    /// The added vocabulary of a file, or an empty one.
    pub(super) fn new(vocab: &'a TokenList, of_file: &[AddedToken]) -> Self {
        let of_file = of_file.iter();
        Self {
            vocab,
            ids: of_file.clone().map(|token| (token.content.clone(), token.id)).collect(),
            special: of_file
                .clone()
                .filter(|token| token.special)
                .map(|token| token.content.clone())
                .collect(),
            by_id: of_file.map(|token| (token.id, token.clone())).collect(),
        }
    }

    /// How the tokens are spelled.
    pub(super) fn contents(&self) -> SeededSet<String> {
        self.by_id.values().map(|token| token.content.clone()).collect()
    }

    /// `Tokenizer.add_tokens`: new ids are counted on from the highest one that is added, or from
    /// the size of the vocabulary.
    pub(super) fn add(&mut self, tokens: &[Token]) {
        let unknown: SeededSet<&str> = tokens
            .iter()
            .map(|token| token.content.as_str())
            .filter(|content| !content.is_empty() && !self.ids.contains_key(*content))
            .collect();
        let mut in_vocab: SeededMap<&str, u32> = SeededMap::default();
        if !unknown.is_empty() {
            for (token, id) in self.vocab.iter() {
                if let Ok(token) = std::str::from_utf8(token)
                    && let Some(token) = unknown.get(token)
                {
                    in_vocab.insert(token, id);
                }
            }
        }
        let size = u32::try_from(self.vocab.len()).unwrap_or(u32::MAX);
        let highest = self.ids.values().max().copied();
        let mut next = match highest {
            Some(highest) if highest >= size || size == 0 => highest.saturating_add(1),
            _ => size,
        };
        for token in tokens.iter().filter(|token| !token.content.is_empty()) {
            if token.special {
                self.special.insert(token.content.clone());
            }
            let known = self.ids.get(&token.content).or_else(|| in_vocab.get(&*token.content));
            let id = known.copied().unwrap_or_else(|| {
                next = next.saturating_add(1);
                next - 1
            });
            self.ids.insert(token.content.clone(), id);
            self.by_id.insert(id, token.settled(id));
        }
    }

    /// The id of a token that was added.
    pub(super) fn id(&self, content: &str) -> Option<u32> {
        self.ids.get(content).copied()
    }

    /// The id of any token.
    pub(super) fn id_of_any(&self, content: &str) -> Option<u32> {
        self.id(content).or_else(|| {
            self.vocab.iter().find(|(token, _)| *token == content.as_bytes()).map(|(_, id)| id)
        })
    }

    /// The token with an id.
    pub(super) fn token_of(&self, id: u32) -> Option<String> {
        let text = |token: &[u8]| String::from_utf8_lossy(token).into_owned();
        let in_vocab =
            || self.vocab.iter().find(|(_, own)| *own == id).map(|(token, _)| text(token));
        self.by_id.get(&id).map(|token| token.content.clone()).or_else(in_vocab)
    }

    /// The tokens by id. What was special once stays special.
    pub(super) fn tokens(self) -> Vec<AddedToken> {
        let special = self.special;
        let mut tokens: Vec<AddedToken> = self.by_id.into_values().collect();
        for token in &mut tokens {
            token.special |= special.contains(&token.content);
        }
        tokens.sort_unstable_by_key(|token| token.id);
        tokens
    }
}
