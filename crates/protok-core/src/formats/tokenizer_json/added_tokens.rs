//! The added tokens, and the ids that they end up with.
//!
//! The `id` of an added token in the file is a wish. The reference gives a token the id that the
//! model's vocabulary has for its spelling, and otherwise the next free number, counted from the
//! *size* of that vocabulary, so that a vocabulary with holes can even give an id away twice.
//! [`settle`] computes what the reference ends up with.

use super::vocab::brief;
use crate::error::Result;
use crate::formats::node::Cursor;
use crate::spec::{AddedToken, TokenList};
use crate::vocab::SeededMap;

const FIELDS: &[&str] =
    &["id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"];

/// Reads the list as the file has it.
pub(super) fn read(cursor: &Cursor<'_>, notes: &mut Vec<String>) -> Result<Vec<AddedToken>> {
    cursor
        .items()?
        .map(|item| {
            item.refuse_duplicates(FIELDS)?;
            let flag = |name| item.need(name)?.bool();
            let token = AddedToken {
                id: item.need("id")?.u32()?,
                content: item.need("content")?.string()?,
                single_word: flag("single_word")?,
                lstrip: flag("lstrip")?,
                rstrip: flag("rstrip")?,
                normalized: flag("normalized")?,
                special: flag("special")?,
            };
            item.note_unknown(FIELDS, notes);
            Ok(token)
        })
        .collect()
}

/// Gives every token the id that the reference gives it; the result is ordered by id.
///
/// Empty tokens are dropped. Of tokens with one spelling the last one's flags count, except that
/// what was special once stays special. Of tokens with one id only the last is matched.
pub(crate) fn settle(
    listed: Vec<AddedToken>,
    vocab: &TokenList,
    notes: &mut Vec<String>,
) -> Vec<AddedToken> {
    let mut known: SeededMap<&str, Option<u32>> =
        listed.iter().map(|token| (token.content.as_str(), None)).collect();
    for (token, id) in vocab.iter() {
        if let Ok(token) = std::str::from_utf8(token)
            && let Some(slot) = known.get_mut(token)
        {
            *slot = Some(id);
        }
    }
    let mut known: SeededMap<String, Option<u32>> =
        known.into_iter().map(|(content, id)| (content.to_owned(), id)).collect();
    let mut next = u32::try_from(vocab.len()).unwrap_or(u32::MAX);
    let mut by_id: SeededMap<u32, AddedToken> = SeededMap::default();
    for (place, mut token) in listed.into_iter().enumerate() {
        let path = format!("added_tokens[{place}]");
        if token.content.is_empty() {
            notes.push(format!("{path}: an empty token, ignored"));
            continue;
        }
        let Some(slot) = known.get_mut(&token.content) else { continue };
        let id = *slot.get_or_insert_with(|| {
            next = next.saturating_add(1);
            next - 1
        });
        if id != token.id {
            notes.push(format!(
                "{path}: {} has the id {id}, not {} as the file says",
                brief(&token.content),
                token.id
            ));
            token.id = id;
        }
        if let Some(earlier) = by_id.remove(&id) {
            if earlier.content == token.content {
                token.special |= earlier.special;
                notes.push(format!("{path}: {} is listed twice", brief(&token.content)));
            } else {
                notes.push(format!(
                    "{path}: {} takes the id {id} from {}, which is no longer matched",
                    brief(&token.content),
                    brief(&earlier.content)
                ));
            }
        }
        by_id.insert(id, token);
    }
    let mut tokens: Vec<AddedToken> = by_id.into_values().collect();
    tokens.sort_unstable_by_key(|token| token.id);
    tokens
}
