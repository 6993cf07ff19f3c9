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

/// The list as the file has it, where every entry is as it should be: no field is missing,
/// unknown, of another type or given twice. Any other list is read, and explained, by [`read`].
#[derive(serde::Deserialize)]
#[serde(transparent)]
pub(super) struct Plain(Vec<Entry>);

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    id: u32,
    content: String,
    single_word: bool,
    lstrip: bool,
    rstrip: bool,
    normalized: bool,
    special: bool,
}

impl Plain {
    pub(super) fn tokens(self) -> Vec<AddedToken> {
        let token = |entry| {
            let Entry { id, content, single_word, lstrip, rstrip, normalized, special } = entry;
            AddedToken { id, content, single_word, lstrip, rstrip, normalized, special }
        };
        self.0.into_iter().map(token).collect()
    }
}

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

/// The first byte of a token and its length, up to 255.
fn outline(token: &[u8]) -> usize {
    usize::from(token.first().copied().unwrap_or(0)) << 8 | token.len().min(255)
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
    // Tokens with one spelling share the place of the first, and so its id.
    let mut places: SeededMap<&[u8], usize> = SeededMap::default();
    places.reserve(listed.len());
    let firsts: Vec<usize> = listed
        .iter()
        .enumerate()
        .map(|(place, token)| *places.entry(token.content.as_bytes()).or_insert(place))
        .collect();
    let mut ids: Vec<Option<u32>> = vec![None; listed.len()];
    // Few tokens of a vocabulary start and measure as an added token does: only those are looked up.
    let mut outlines = vec![false; 1 << 16];
    places.keys().for_each(|token| outlines[outline(token)] = true);
    for (token, id) in vocab.iter().filter(|(token, _)| outlines[outline(token)]) {
        if let Some(&place) = places.get(token) {
            ids[place] = Some(id);
        }
    }
    let mut next = u32::try_from(vocab.len()).unwrap_or(u32::MAX);
    let mut tokens: Vec<AddedToken> = Vec::with_capacity(listed.len());
    // Where the token of an id is, from the first one on that is not above all before it.
    let mut by_id: Option<SeededMap<u32, usize>> = None;
    let mut highest = None;
    for (place, mut token) in listed.into_iter().enumerate() {
        let path = || format!("added_tokens[{place}]");
        if token.content.is_empty() {
            notes.push(format!("{}: an empty token, ignored", path()));
            continue;
        }
        let id = *ids[firsts[place]].get_or_insert_with(|| {
            next = next.saturating_add(1);
            next - 1
        });
        if id != token.id {
            notes.push(format!(
                "{}: {} has the id {id}, not {} as the file says",
                path(),
                brief(&token.content),
                token.id
            ));
            token.id = id;
        }
        let at = if by_id.is_none() && highest < Some(id) {
            tokens.len()
        } else {
            let known = || tokens.iter().zip(0..).map(|(token, at)| (token.id, at)).collect();
            *by_id.get_or_insert_with(known).entry(id).or_insert(tokens.len())
        };
        highest = highest.max(Some(id));
        let Some(earlier) = tokens.get_mut(at) else {
            tokens.push(token);
            continue;
        };
        if earlier.content == token.content {
            token.special |= earlier.special;
            notes.push(format!("{}: {} is listed twice", path(), brief(&token.content)));
        } else {
            notes.push(format!(
                "{}: {} takes the id {id} from {}, which is no longer matched",
                path(),
                brief(&token.content),
                brief(&earlier.content)
            ));
        }
        *earlier = token;
    }
    tokens.sort_by_key(|token| token.id);
    tokens
}
