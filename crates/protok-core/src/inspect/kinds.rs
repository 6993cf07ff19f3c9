//! What the tokens of a vocabulary are, by the text that they cover.

use crate::pipeline::Pipeline;
use crate::spec::PieceKind;
use crate::text::unicode::is_nonspacing_mark;

use super::spelling::{Spelling, Surface};

/// What a token is. A vocabulary marks either where words start (with a blank or a mark in front,
/// or by marking what continues one), or where they end, or neither.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Letters bound to the white space beside them.
    WhitespaceBound,
    /// Letters that no prefix marks as a continuation: full words and prefixes.
    WordStart,
    /// Letters with the mark that ends a word: full words and suffixes.
    WordEnd,
    /// Letters in a vocabulary that marks nothing: full words.
    Word,
    /// Letters where no word starts (or, if ends are marked, ends): suffixes and continuations
    /// (or prefixes and continuations).
    Continuation,
    /// One letter alone.
    Character,
    /// Digits alone.
    Digits,
    /// Neither letters nor digits alone.
    Punctuation,
    /// Several characters of white space alone.
    Indentation,
    /// One character of white space alone.
    Whitespace,
    /// One byte, of no character by itself.
    Byte,
    /// Several bytes that are not whole characters.
    Fragment,
    /// An added token or user-defined piece that is markup or not in the model's own vocabulary,
    /// and neither a control token nor unused.
    Added,
    /// A control token, or the unknown token.
    Control,
    /// Reserved by its kind or its name.
    Unused,
}

impl Kind {
    /// All, in the order in which they are told.
    pub const ALL: [Kind; 15] = [
        Kind::WhitespaceBound,
        Kind::WordStart,
        Kind::WordEnd,
        Kind::Word,
        Kind::Continuation,
        Kind::Character,
        Kind::Digits,
        Kind::Punctuation,
        Kind::Indentation,
        Kind::Whitespace,
        Kind::Byte,
        Kind::Fragment,
        Kind::Added,
        Kind::Control,
        Kind::Unused,
    ];
}

/// How many tokens are of a kind.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct KindCount {
    /// The kind.
    pub kind: Kind,
    /// So many.
    pub count: usize,
    /// The text of a few, from the lowest ids on; bytes that are no text as `<0xNN>`.
    pub examples: Vec<String>,
}

const EXAMPLES: usize = 12;

/// The token that covers the most text.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Longest {
    /// Its id.
    pub id: u32,
    /// The text; bytes that are no text as `<0xNN>`.
    pub text: String,
    /// The number of its bytes.
    pub bytes: usize,
}

/// A token with what it is.
#[derive(Debug)]
pub(super) struct Entry {
    pub id: u32,
    pub kind: Kind,
    pub surface: Surface,
}

/// All tokens, by rising id.
#[derive(Debug)]
pub(super) struct Entries(Vec<Entry>);

impl Entries {
    pub fn of(pipeline: &Pipeline, spelling: &Spelling) -> Self {
        let kinds = piece_kinds(pipeline);
        let unknown = crate::model::unknown_token(&pipeline.spec().model, pipeline.vocab());
        let mut entries = Vec::with_capacity(pipeline.size());
        for id in (0..u32::MAX).take(pipeline.size()) {
            let added = pipeline.added_tokens().get(id);
            let entry = pipeline.vocab().bytes(id);
            let name = match added {
                Some(token) => Some(token.content.as_str()),
                None => entry.and_then(|token| std::str::from_utf8(token).ok()),
            };
            let piece_kind = kinds.get(id as usize).copied().unwrap_or_default();
            let whole = match (added, piece_kind) {
                (Some(token), _) => {
                    is_markup(&token.content) || entry != Some(token.content.as_bytes())
                }
                (None, kind) => kind == PieceKind::UserDefined && name.is_some_and(is_markup),
            };
            let surface = match (whole, name, entry) {
                (true, Some(name), _) => {
                    Surface { text: name.as_bytes().to_vec(), continues: false, ends: false }
                }
                (_, _, Some(token)) => spelling.read(id, token),
                (_, _, None) => continue,
            };
            let reserved = piece_kind == PieceKind::Unused
                || name.is_some_and(|name| is_markup(name) && says_reserved(name));
            let control = pipeline.added_tokens().is_control(id)
                || Some(id) == unknown
                || piece_kind == PieceKind::Unknown;
            let kind = match () {
                () if control => Kind::Control,
                () if reserved => Kind::Unused,
                () if whole => Kind::Added,
                () if spelling.fallback.contains_key(&id) => Kind::Byte,
                () => kind_of(&surface, spelling),
            };
            entries.push(Entry { id, kind, surface });
        }
        // Where blanks show where words start, letters without one continue a word, unless
        // prefixes or suffixes say so.
        let affixed = !spelling.prefix.is_empty() || !spelling.suffix.is_empty();
        if !affixed && entries.iter().any(|entry| entry.kind == Kind::WhitespaceBound) {
            for entry in entries.iter_mut().filter(|entry| entry.kind == Kind::Word) {
                entry.kind = Kind::Continuation;
            }
        }
        Self(entries)
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn iter(&self) -> std::slice::Iter<'_, Entry> {
        self.0.iter()
    }

    pub fn as_slice(&self) -> &[Entry] {
        &self.0
    }

    /// The bytes of text of a token as `<0xNN>`.
    pub fn hex(&self, id: u32) -> String {
        let place = self.0.binary_search_by_key(&id, |entry| entry.id);
        let text = place.map_or(&[][..], |place| &self.0[place].surface.text);
        text.iter().map(|byte| format!("<0x{byte:02X}>")).collect()
    }

    pub fn counts(&self) -> Vec<KindCount> {
        let mut counts: Vec<KindCount> = Kind::ALL
            .into_iter()
            .map(|kind| KindCount { kind, count: 0, examples: Vec::new() })
            .collect();
        for entry in &self.0 {
            let count = &mut counts[entry.kind as usize];
            count.count += 1;
            if count.examples.len() < EXAMPLES {
                let text = &entry.surface.text;
                count.examples.push(match (entry.kind, text.as_slice()) {
                    (Kind::Byte, [byte]) => format!("<0x{byte:02X}>"),
                    _ => show(text),
                });
            }
        }
        counts.retain(|count| count.count > 0);
        counts
    }

    /// The entry with the most bytes of text.
    pub fn longest(&self) -> Option<Longest> {
        let ordinary =
            |entry: &&Entry| !matches!(entry.kind, Kind::Added | Kind::Control | Kind::Unused);
        // Of several the one with the lowest id.
        let longest = self.0.iter().rev().filter(ordinary);
        let longest = longest.max_by_key(|entry| entry.surface.text.len())?;
        let text = &longest.surface.text;
        Some(Longest { id: longest.id, text: show(text), bytes: text.len() })
    }

    /// The most blanks in a row that are one token.
    pub fn longest_indentation(&self) -> usize {
        let blanks = |entry: &&Entry| {
            !entry.surface.text.is_empty() && entry.surface.text.iter().all(|&byte| byte == b' ')
        };
        self.0.iter().filter(blanks).map(|entry| entry.surface.text.len()).max().unwrap_or(0)
    }
}

/// What each id is for.
fn piece_kinds(pipeline: &Pipeline) -> Vec<PieceKind> {
    let model = &pipeline.spec().model;
    let mut kinds = Vec::new();
    for ((_, id), &kind) in model.tokens().iter().zip(model.kinds()) {
        let id = id as usize;
        if id >= kinds.len() {
            kinds.resize(id + 1, PieceKind::Normal);
        }
        kinds[id] = kind;
    }
    kinds
}

fn kind_of(surface: &Surface, spelling: &Spelling) -> Kind {
    let Some(text) = surface.as_str() else {
        return if surface.text.len() == 1 { Kind::Byte } else { Kind::Fragment };
    };
    let is_letter = |c: char| c.is_alphabetic() || is_nonspacing_mark(c);
    let core = text.trim();
    let marks = surface.continues || surface.ends;
    match () {
        () if core.is_empty() && text.chars().nth(1).is_some() => Kind::Indentation,
        () if core.is_empty() => Kind::Whitespace,
        () if core.chars().any(is_letter) => match () {
            () if core.len() < text.len() => Kind::WhitespaceBound,
            () if surface.ends => Kind::WordEnd,
            () if !marks && core.chars().nth(1).is_none() => Kind::Character,
            () if surface.continues || !spelling.suffix.is_empty() => Kind::Continuation,
            () if !spelling.prefix.is_empty() => Kind::WordStart,
            () => Kind::Word,
        },
        () if core.chars().all(char::is_numeric) => Kind::Digits,
        () => Kind::Punctuation,
    }
}

/// Bytes as text, and what is no text as `<0xNN>`.
pub(super) fn show(bytes: &[u8]) -> String {
    let mut shown = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        shown.push_str(chunk.valid());
        for byte in chunk.invalid() {
            shown.push_str(&format!("<0x{byte:02X}>"));
        }
    }
    shown
}

/// Whether a name is shaped like markup: `<name>`, `</name>`, `<|name|>`, or `[NAME]` in capitals
/// (in lower case that is how code indexes).
pub(super) fn is_markup(name: &str) -> bool {
    let inside = |open, close| name.strip_prefix(open).and_then(|rest| rest.strip_suffix(close));
    let letters = |inner: &str| inner.chars().filter(|c| c.is_alphabetic()).count();
    if let Some(inner) = inside('<', '>') {
        let fits = |c: char| c.is_alphanumeric() || "_-|/:.\u{2581}\u{ff5c}".contains(c);
        return letters(inner) > 0 && inner.chars().all(fits) && !inner.starts_with("0x");
    }
    inside('[', ']').is_some_and(|inner| {
        let capital = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
        (letters(inner) >= 3 && inner.chars().all(capital)) || says_reserved(inner)
    })
}

fn says_reserved(name: &str) -> bool {
    let name = name.to_lowercase();
    ["unused", "reserved", "placeholder", "dummy"].iter().any(|word| name.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shaped_like_markup() {
        for name in
            ["<table>", "</s>", "<|im_end|>", "<｜begin▁of▁sentence｜>", "[CLS]", "[unused7]"]
        {
            assert!(is_markup(name), "{name}");
        }
        for name in ["<0x41>", "<>", "<=>", "< a>", "[i]", "[index]", "[0]", "table", "<1>"] {
            assert!(!is_markup(name), "{name}");
        }
    }

    #[test]
    fn kinds_stand_in_their_order() {
        for (place, kind) in Kind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, place);
        }
    }

    #[test]
    fn bytes_are_shown() {
        assert_eq!(show(b"a\xe4\xb8"), "a<0xE4><0xB8>");
    }
}
