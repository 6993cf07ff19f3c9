//! What is odd about a vocabulary.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::added_tokens::SpecialPolicy;
use crate::error::{ErrorKind, Result};
use crate::model::Scratch;
use crate::parallel::map_groups;
use crate::pipeline::Pipeline;
use crate::pipeline::encode::EncodeOptions;
use crate::pretokenize::Beginning;

use super::kinds::{Entries, Entry, Kind, is_markup, show};
use super::spelling::{Spelling, Surface};

/// A token and how it is spelled.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Named {
    /// Its id.
    pub id: u32,
    /// Its spelling in the vocabulary; bytes that are no text as `<0xNN>`.
    pub token: String,
}

impl Named {
    /// The token with an id.
    pub(super) fn of(pipeline: &Pipeline, id: u32) -> Self {
        let token = match pipeline.added_tokens().get(id) {
            Some(token) => token.content.clone(),
            None => show(pipeline.vocab().bytes(id).unwrap_or_default()),
        };
        Self { id, token }
    }
}

/// A spelling with several ids, or an id with several spellings.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Duplicate {
    /// The spellings.
    pub tokens: Vec<String>,
    /// The ids.
    pub ids: Vec<u32>,
}

/// See the [module](self). Lists are ordered by id.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Oddities {
    /// Runs of ids below the highest that name no token: the first and the last of each.
    pub holes: Vec<(u32, u32)>,
    /// Spellings with several ids, and ids with several spellings.
    pub duplicates: Vec<Duplicate>,
    /// Entries that the model yields for no piece, whatever the other stages do.
    pub unreachable: Vec<Named>,
    /// Entries that the model can yield, but that came out for no text that was tried: the entry
    /// alone and between letters, blanks and punctuation. What comes before the model cuts or
    /// rewrites them.
    pub unseen: Vec<Named>,
    /// Tokens of bytes that no text yields: no UTF-8 has such bytes, or the character of the byte
    /// has a token.
    pub idle_bytes: Vec<Named>,
    /// Added tokens that their own content does not find.
    pub never_matched: Vec<Named>,
    /// Added tokens and entries that are shaped like markup and are not control tokens.
    pub markup: Vec<Named>,
    /// Control tokens whose spelling is also an ordinary entry: the stages yield it from text that
    /// spells it, unless the model is told not to.
    pub control_pieces: Vec<Named>,
}

/// Finds what is odd.
pub(super) fn of(
    pipeline: &Pipeline,
    spelling: &Spelling,
    entries: &Entries,
    threads: usize,
) -> Result<Oddities> {
    let size = |entry: &Entry| entry.surface.text.len() + 24;
    let work = |entries: &[Entry], _| {
        let mut scratch = Scratch::new(0, false);
        entries
            .iter()
            .map(|entry| Ok((entry.id, fate(pipeline, spelling, entry, &mut scratch)?)))
            .filter(|found| !matches!(found, Ok((_, Fate::Usual))))
            .collect::<Result<Vec<_>>>()
    };
    let groups = map_groups(entries.as_slice(), size, threads, work)?;
    let fates: Vec<(u32, Fate)> = groups.into_iter().flatten().collect();
    let with = |wanted: Fate| {
        let ids = fates.iter().filter(move |&&(_, fate)| fate == wanted);
        ids.map(|&(id, _)| Named::of(pipeline, id)).collect::<Vec<_>>()
    };
    Ok(Oddities {
        holes: holes(pipeline, entries),
        duplicates: duplicates(pipeline),
        unreachable: with(Fate::Unreachable),
        unseen: with(Fate::Unseen),
        idle_bytes: with(Fate::IdleByte)
            .into_iter()
            .map(|Named { id, .. }| Named { id, token: entries.hex(id) })
            .collect(),
        never_matched: never_matched(pipeline)?,
        markup: with(Fate::Markup),
        control_pieces: control_pieces(pipeline)?,
    })
}

/// What is odd about one token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Usual,
    Unreachable,
    Unseen,
    IdleByte,
    Markup,
}

fn fate(
    pipeline: &Pipeline,
    spelling: &Spelling,
    entry: &Entry,
    scratch: &mut Scratch,
) -> Result<Fate> {
    let id = entry.id;
    if entry.kind == Kind::Added {
        let marks = entry.surface.as_str().is_some_and(is_markup);
        return Ok(if marks { Fate::Markup } else { Fate::Usual });
    }
    let matched = pipeline.added_tokens().get(id).is_some();
    if matched || matches!(entry.kind, Kind::Control | Kind::Unused) {
        return Ok(Fate::Usual);
    }
    let Some(token) = pipeline.vocab().bytes(id) else { return Ok(Fate::Usual) };
    if let Some(&byte) = spelling.fallback.get(&id) {
        let falls_back = pipeline.model().falls_back_to(id, byte, pipeline.vocab(), scratch);
        return Ok(if falls_back { Fate::Usual } else { Fate::IdleByte });
    }
    if !pipeline.model().reaches(id, token, spelling.unit, pipeline.vocab(), scratch) {
        return Ok(Fate::Unreachable);
    }
    match entry.surface.as_str() {
        None if is_part_of_text(&entry.surface.text) => Ok(Fate::Usual),
        None => Ok(Fate::IdleByte),
        Some(_) if !is_seen(pipeline, entry)? => Ok(Fate::Unseen),
        Some(text) if is_markup(text.trim()) => Ok(Fate::Markup),
        Some(_) => Ok(Fate::Usual),
    }
}

/// Whether bytes can stand in UTF-8: whole characters but for the end of one in front and the
/// start of one at the end.
fn is_part_of_text(bytes: &[u8]) -> bool {
    let tail = bytes.iter().take(3).take_while(|&&byte| byte & 0xC0 == 0x80).count();
    (0..=tail).any(|from| {
        let rest = &bytes[from..];
        match std::str::from_utf8(rest) {
            Ok(_) => true,
            Err(error) => error.error_len().is_none(),
        }
    })
}

/// What may stand before or after a token to bring it out: nothing, blanks, letters of all kinds
/// of vocabularies, a digit, punctuation, and letters that most vocabularies lack.
const BEFORE: [&str; 14] = [
    "", "a", " ", "z", "e", "s", "7", ".", "(", "\n", "\u{44f}", "\u{4e2d}", "\u{a66e}", "\u{16a0}",
];
const AFTER: [&str; 13] =
    ["", "a", " ", "e", "s", "z", "7", ".", "\n", "\u{44f}", "\u{4e2d}", "\u{a66e}", "\u{16a0}"];

/// Whether a token comes out for its text, alone or between something.
fn is_seen(pipeline: &Pipeline, entry: &Entry) -> Result<bool> {
    let Entry { id, surface, .. } = entry;
    let Surface { text, continues, ends } = surface;
    let Ok(text) = std::str::from_utf8(text) else { return Ok(false) };
    let options = EncodeOptions {
        add_special_tokens: false,
        special: SpecialPolicy::Text,
        ..EncodeOptions::default()
    };
    let mut probe = String::new();
    let mut ids = Vec::new();
    // One that continues is first tried where something stands before it.
    let first = usize::from(*continues);
    let before = BEFORE.iter().cycle().skip(first).take(BEFORE.len());
    for before in before {
        for after in AFTER {
            // Spelled with an affix it stands at an end: a neighbour on one side will do.
            if !before.is_empty() && !after.is_empty() && (*continues || *ends) {
                continue;
            }
            probe.clear();
            probe.extend([before, text, after]);
            ids.clear();
            match pipeline.encode_text(&probe, &options, &mut ids) {
                Ok(()) if ids.contains(id) => return Ok(true),
                Ok(()) => {}
                Err(error) if error.kind == ErrorKind::Limit => return Err(error),
                Err(_) => {} // the model has no token for the text beside it
            }
        }
    }
    Ok(false)
}

fn holes(pipeline: &Pipeline, entries: &Entries) -> Vec<(u32, u32)> {
    let mut holes = Vec::new();
    let mut next = 0;
    let end = u32::try_from(pipeline.size()).unwrap_or(u32::MAX);
    for id in entries.iter().map(|entry| entry.id).chain([end]) {
        if next < id {
            holes.push((next, id - 1));
        }
        next = id + 1;
    }
    holes
}

fn duplicates(pipeline: &Pipeline) -> Vec<Duplicate> {
    let model = pipeline.spec().model.tokens();
    let added = pipeline.added_tokens().tokens().iter();
    let added = added.map(|token| (token.content.as_bytes(), token.id));
    let mut ids_of: FxHashMap<&[u8], Vec<u32>> = FxHashMap::default();
    let mut tokens_of: FxHashMap<u32, Vec<&[u8]>> = FxHashMap::default();
    let entries: FxHashSet<(&[u8], u32)> = model.iter().chain(added).collect();
    for &(token, id) in &entries {
        ids_of.entry(token).or_default().push(id);
        tokens_of.entry(id).or_default().push(token);
    }
    let spelled_twice =
        ids_of.into_iter().filter(|(_, ids)| ids.len() > 1).map(|(token, ids)| (vec![token], ids));
    let named_twice = tokens_of.into_iter().filter(|(_, tokens)| tokens.len() > 1);
    let named_twice = named_twice.map(|(id, tokens)| (tokens, vec![id]));
    let mut found: Vec<Duplicate> = spelled_twice
        .chain(named_twice)
        .map(|(mut tokens, mut ids)| {
            tokens.sort_unstable();
            ids.sort_unstable();
            Duplicate { tokens: tokens.into_iter().map(show).collect(), ids }
        })
        .collect();
    found.sort_by(|a, b| (&a.ids, &a.tokens).cmp(&(&b.ids, &b.tokens)));
    found
}

/// Added tokens that do not come out where their content stands alone or in a sentence.
fn never_matched(pipeline: &Pipeline) -> Result<Vec<Named>> {
    let options = EncodeOptions {
        add_special_tokens: false,
        special: SpecialPolicy::Parse,
        ..EncodeOptions::default()
    };
    let mut found = Vec::new();
    let mut seen: FxHashMap<u32, usize> = FxHashMap::default();
    for token in &pipeline.spec().added_tokens {
        *seen.entry(token.id).or_default() += 1;
    }
    for token in &pipeline.spec().added_tokens {
        let content = &token.content;
        let named = || Named { id: token.id, token: content.clone() };
        // Of several with one id the last counts.
        let left = seen.get_mut(&token.id).map_or(0, |left| {
            *left -= 1;
            *left
        });
        let mut matched = false;
        for probe in [content.clone(), format!("a {content} b"), format!("a{content}b")] {
            let mut ids = Vec::new();
            match pipeline.encode_text(&probe, &options, &mut ids) {
                Ok(()) => matched |= ids.contains(&token.id),
                Err(error) if error.kind == ErrorKind::Limit => return Err(error),
                Err(_) => {} // the model has no token for the text around it
            }
            if matched {
                break;
            }
        }
        if left > 0 || !matched || content.is_empty() {
            found.push(named());
        }
    }
    Ok(found)
}

/// Control tokens that the stages yield from the text that spells them, if nothing keeps the
/// model from it and no added token is looked for.
fn control_pieces(pipeline: &Pipeline) -> Result<Vec<Named>> {
    let mut scratch = Scratch::new(0, false);
    let mut found = Vec::new();
    let (model, vocab) = (pipeline.model(), pipeline.vocab());
    let unknown = crate::model::unknown_token(&pipeline.spec().model, vocab);
    // The unknown token comes out of text by its nature.
    let control = pipeline.control_tokens().iter().filter(|&&(id, _)| Some(id) != unknown);
    for &(id, _) in control {
        let Some(name) = pipeline.token(id) else { continue };
        let Some(entry) = vocab.id(name.as_bytes()) else { continue };
        for probe in [name.to_string(), format!("a{name}"), format!("a {name} b")] {
            let normalized = pipeline.normalizer().apply(&probe)?;
            let mut ids = Vec::new();
            let encoded = pipeline.pre_tokenizer().for_each_piece(
                &normalized,
                Beginning::of_text(normalized.len()),
                |piece| model.encode(piece, vocab, &mut scratch, &mut ids),
            );
            match encoded {
                Err(error) if error.kind == ErrorKind::Limit => return Err(error),
                // Without a token for the rest of the text the name may still have come out.
                _ if ids.contains(&id) || ids.contains(&entry) => {
                    found.push(Named::of(pipeline, id));
                    break;
                }
                _ => {}
            }
        }
    }
    Ok(found)
}
