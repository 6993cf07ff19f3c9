//! The symbols that a piece starts from, before any merge.
//!
//! A unit is what the model reads at a time: a character of a text, or a byte where the
//! pre-tokenizer spells bytes in an alphabet. Each unit that the vocabulary knows, with the
//! prefix or suffix that its place calls for, is a symbol. One that it does not know becomes
//! its `<0xNN>` tokens, the unknown token, or nothing: the rules are those of `tokenizers`,
//! down to the order in which a pending unknown token is written. To llama.cpp a unit becomes
//! nothing only after the merges, so that its neighbours do not meet.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::error::{Error, Result};
use crate::spec::{self, Semantics};
use crate::text::alphabet;
use crate::vocab::Vocab;

use super::merge;
use super::pairs::Pairs;

/// An initial symbol: a token and the bytes of the piece that it covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Symbol {
    /// The token.
    pub id: u32,
    /// First byte.
    pub start: usize,
    /// Past the last byte.
    pub end: usize,
}

/// No token.
pub(super) const UNKNOWN: u32 = u32::MAX;

/// No token: merges with nothing, and is gone when the merges are done.
pub(super) const VANISHING: u32 = u32::MAX - 1;

/// What the model reads at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Pieces are text; a unit is a character.
    Character,
    /// Pieces are bytes that the vocabulary spells in GPT-2's alphabet.
    AlphabetByte,
    /// Pieces are bytes, and so are the tokens.
    Byte,
}

/// The token of each byte (or ASCII character), or [`UNKNOWN`]: in the middle of a piece, at its
/// start, at its end, alone.
pub type Tables = [[u32; 256]; 4];

/// How pieces become symbols.
#[derive(Debug)]
pub struct Symbols {
    unit: Unit,
    prefix: String,
    suffix: String,
    unk: Option<(String, Option<u32>)>,
    fuse_unk: bool,
    byte_fallback: bool,
    /// A unit that becomes nothing stands in the way of merges.
    stands: bool,
    tables: Box<Tables>,
    /// The tokens of single characters beyond ASCII, where places do not matter.
    characters: FxHashMap<char, u32>,
    /// Tokens that must not come out, but as the unknown token.
    banned: FxHashSet<u32>,
}

const AT_START: usize = 1;
const AT_END: usize = 2;

impl Symbols {
    /// Prepares the tables, from those that the vocabulary has if nothing is banned where they are
    /// known.
    #[must_use]
    pub fn compile(
        spec: &spec::Bpe,
        semantics: Semantics,
        unit: Unit,
        vocab: &Vocab,
        banned: &FxHashSet<u32>,
        known: Option<&Tables>,
    ) -> Self {
        let unk = spec.unk_token.clone().map(|token| {
            let id = vocab.id(token.as_bytes());
            (token, id)
        });
        let mut symbols = Self {
            unit,
            prefix: spec.continuing_subword_prefix.clone().unwrap_or_default(),
            suffix: spec.end_of_word_suffix.clone().unwrap_or_default(),
            unk,
            fuse_unk: spec.fuse_unk,
            byte_fallback: spec.byte_fallback,
            stands: semantics == Semantics::LlamaCpp,
            tables: Box::new([[UNKNOWN; 256]; 4]),
            characters: FxHashMap::default(),
            banned: banned.clone(),
        };
        for place in 0..4 {
            for byte in 0..=255u8 {
                if let Some(known) = known {
                    let id = Some(known[place][byte as usize]).filter(|&id| id != UNKNOWN);
                    symbols.tables[place][byte as usize] = symbols.allowed(id).unwrap_or(UNKNOWN);
                    continue;
                }
                symbols.tables[place][byte as usize] = match unit {
                    Unit::Byte => symbols.allowed(vocab.id(&[byte])).unwrap_or(UNKNOWN),
                    Unit::AlphabetByte => {
                        let c = alphabet::BYTE_TO_CHAR[byte as usize];
                        symbols.look_up(c, place, vocab).unwrap_or(UNKNOWN)
                    }
                    Unit::Character if byte.is_ascii() => {
                        symbols.look_up(char::from(byte), place, vocab).unwrap_or(UNKNOWN)
                    }
                    Unit::Character => UNKNOWN,
                };
            }
        }
        if unit == Unit::Character && symbols.prefix.is_empty() && symbols.suffix.is_empty() {
            let distinct = vocab.is_distinct();
            for (id, token) in vocab.iter() {
                let Ok(token) = std::str::from_utf8(token) else { continue };
                let mut chars = token.chars();
                if let (Some(c), None) = (chars.next(), chars.next())
                    && let Some(id) = symbols.allowed(match distinct {
                        true => Some(id),
                        false => vocab.id(token.as_bytes()),
                    })
                {
                    symbols.characters.insert(c, id);
                }
            }
        }
        symbols
    }

    /// The tables.
    pub(super) fn tables(&self) -> &Tables {
        &self.tables
    }

    /// The spelling of unit `c` at a place, with prefix and suffix.
    fn spell(&self, c: char, place: usize) -> String {
        let mut spelling = String::new();
        if place & AT_START == 0 {
            spelling.push_str(&self.prefix);
        }
        spelling.push(c);
        if place & AT_END != 0 {
            spelling.push_str(&self.suffix);
        }
        spelling
    }

    fn look_up(&self, c: char, place: usize, vocab: &Vocab) -> Option<u32> {
        self.allowed(vocab.id(self.spell(c, place).as_bytes()))
    }

    fn allowed(&self, id: Option<u32>) -> Option<u32> {
        id.filter(|id| !self.banned.contains(id))
    }

    /// How many bytes of a piece each token covers, by id; 0 where the token alone does not say.
    ///
    /// If the tokens of a piece all have a length, and the lengths add up to the piece, then
    /// every token covers just its length: no unit vanished or was unknown.
    #[must_use]
    pub fn lengths(&self, vocab: &Vocab) -> Vec<u32> {
        let mut lengths = vec![0; vocab.size()];
        if !self.prefix.is_empty() {
            return lengths;
        }
        let unknown = self.unk.as_ref().and_then(|unk| unk.1);
        let mut bytes = Vec::new();
        for (id, token) in vocab.iter() {
            if Some(id) == unknown
                || vocab.is_respelled(id)
                || (self.byte_fallback && token.starts_with(b"<0x"))
            {
                continue;
            }
            let token = match token.strip_suffix(self.suffix.as_bytes()) {
                Some(stem) if !self.suffix.is_empty() => stem,
                _ => token,
            };
            lengths[id as usize] = match self.unit {
                Unit::Byte | Unit::Character => token.len() as u32,
                Unit::AlphabetByte => {
                    bytes.clear();
                    // What is not spelled in the alphabet leaves it empty.
                    let _ = alphabet::decode_into(token, &mut bytes);
                    bytes.len() as u32
                }
            };
        }
        lengths
    }

    /// Whether pieces are bytes, and there is a token for each byte in every place.
    #[must_use]
    pub fn hold_all_bytes(&self) -> bool {
        self.unit != Unit::Character && self.tables.iter().all(|table| !table.contains(&UNKNOWN))
    }

    /// The rank of every pair of bytes in the middle of a piece, if a unit is a byte and its place
    /// does not matter.
    #[must_use]
    pub fn byte_ranks(&self, pairs: &Pairs) -> Option<Box<[u32]>> {
        let places_matter = !self.prefix.is_empty() || !self.suffix.is_empty();
        if self.unit == Unit::Character || places_matter || !merge::fits(pairs) {
            return None;
        }
        let ids = &self.tables[0];
        Some(
            ids.iter()
                .flat_map(|&left| ids.iter().map(move |&right| pairs.rank(left, right)))
                .collect(),
        )
    }

    /// Whether any of these tokens can be a symbol, other than as the unknown token.
    #[must_use]
    pub fn can_yield(&self, ids: &FxHashSet<u32>, vocab: &Vocab) -> bool {
        let decoded_length = |token: &[u8]| {
            std::str::from_utf8(token).map_or(token.len(), |text| text.chars().count())
        };
        let affixes = self.prefix.chars().count() + self.suffix.chars().count();
        ids.iter().any(|&id| vocab.bytes(id).is_some_and(|t| decoded_length(t) <= 1 + affixes))
    }

    /// The symbols that a token would be merged from: a list for each place in a piece where its
    /// spelling can stand.
    #[must_use]
    pub fn of_token(&self, token: &[u8], vocab: &Vocab) -> Vec<Vec<u32>> {
        let known = |&id: &u32| id != UNKNOWN;
        if self.unit == Unit::Byte {
            let symbols: Vec<u32> =
                token.iter().map(|&byte| self.tables[0][byte as usize]).take_while(known).collect();
            return if symbols.len() == token.len() { vec![symbols] } else { Vec::new() };
        }
        let Ok(text) = std::str::from_utf8(token) else { return Vec::new() };
        let mut found = Vec::new();
        for place in 0..4 {
            let (starts, ends) = (place & AT_START != 0, place & AT_END != 0);
            // Without a prefix or suffix places do not differ.
            if (self.prefix.is_empty() && !starts) || (self.suffix.is_empty() && !ends) {
                continue;
            }
            let stem = if starts { Some(text) } else { text.strip_prefix(&self.prefix) };
            let stem = stem.and_then(|stem| match ends {
                true => stem.strip_suffix(&self.suffix),
                false => Some(stem),
            });
            let Some(stem) = stem.filter(|stem| !stem.is_empty()) else { continue };
            let last = stem.chars().count() - 1;
            let symbols: Option<Vec<u32>> = stem
                .chars()
                .enumerate()
                .map(|(at, c)| {
                    if self.unit == Unit::AlphabetByte {
                        alphabet::char_to_byte(c)?;
                    }
                    let at_start = if at == 0 { place & AT_START } else { 0 };
                    let at_end = if at == last { place & AT_END } else { 0 };
                    self.look_up(c, at_start | at_end, vocab)
                })
                .collect();
            found.extend(symbols);
        }
        found
    }

    /// Appends the symbols of a piece to `out`, if the vocabulary knows all its units; else
    /// leaves `out` as it was and returns false.
    pub fn known(&self, piece: &[u8], out: &mut Vec<u32>) -> bool {
        let before = out.len();
        let middle = &self.tables[0];
        match self.unit {
            Unit::Byte | Unit::AlphabetByte => {
                out.extend(piece.iter().map(|&byte| middle[byte as usize]));
                if let (Some(&first), Some(&last)) = (piece.first(), piece.last()) {
                    let end = out.len() - 1;
                    if piece.len() == 1 {
                        out[before] = self.tables[AT_START | AT_END][first as usize];
                    } else {
                        out[before] = self.tables[AT_START][first as usize];
                        out[end] = self.tables[AT_END][last as usize];
                    }
                }
            }
            Unit::Character => {
                if !self.prefix.is_empty() || !self.suffix.is_empty() {
                    return false;
                }
                let Ok(text) = std::str::from_utf8(piece) else { return false };
                out.extend(text.chars().map(|c| {
                    if c.is_ascii() {
                        middle[c as usize]
                    } else {
                        self.characters.get(&c).copied().unwrap_or(UNKNOWN)
                    }
                }));
            }
        }
        if out[before..].contains(&UNKNOWN) {
            out.truncate(before);
            return false;
        }
        true
    }

    /// The symbols of a piece by the full rules.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Artifact`] where the unknown token is needed and missing, and
    /// [`crate::ErrorKind::Input`] for a byte that a rank file has no token for.
    pub fn all(&self, piece: &[u8], vocab: &Vocab, out: &mut Vec<Symbol>) -> Result<()> {
        match self.unit {
            Unit::Byte => {
                for (at, &byte) in piece.iter().enumerate() {
                    let id = self.tables[0][byte as usize];
                    if id == UNKNOWN {
                        return Err(Error::input(format!(
                            "The vocabulary has no token for byte 0x{byte:02X}."
                        ))
                        .value(format!("0x{byte:02X}")));
                    }
                    out.push(Symbol { id, start: at, end: at + 1 });
                }
                Ok(())
            }
            Unit::AlphabetByte => {
                let units = piece
                    .iter()
                    .enumerate()
                    .map(|(at, &byte)| (alphabet::BYTE_TO_CHAR[byte as usize], at, at + 1));
                self.all_units(units, piece.len(), vocab, out)
            }
            Unit::Character => {
                let text = std::str::from_utf8(piece)
                    .map_err(|_| Error::input("A piece of text is not UTF-8."))?;
                let units = text.char_indices().map(|(at, c)| (c, at, at + c.len_utf8()));
                self.all_units(units, piece.len(), vocab, out)
            }
        }
    }

    fn all_units(
        &self,
        units: impl Iterator<Item = (char, usize, usize)>,
        length: usize,
        vocab: &Vocab,
        out: &mut Vec<Symbol>,
    ) -> Result<()> {
        let mut pending: Option<Symbol> = None;
        for (c, start, end) in units {
            let place =
                if start == 0 { AT_START } else { 0 } | if end == length { AT_END } else { 0 };
            let spelling = self.spell(c, place);
            if let Some(id) = self.allowed(vocab.id(spelling.as_bytes())) {
                out.extend(pending.take());
                out.push(Symbol { id, start, end });
                continue;
            }
            if self.byte_fallback && fall_back(&spelling, start, end, vocab, out) {
                // The reference does not write a pending unknown token first.
                continue;
            }
            let Some((name, id)) = &self.unk else {
                if self.stands {
                    out.push(Symbol { id: VANISHING, start, end });
                }
                continue;
            };
            let id = id.ok_or_else(|| {
                Error::artifact("model.unk_token", "The unknown token is not in the vocabulary.")
                    .value(name.clone())
            })?;
            match &mut pending {
                Some(unknown) if self.fuse_unk => unknown.end = end,
                _ => {
                    out.extend(pending.replace(Symbol { id, start, end }));
                }
            }
        }
        out.extend(pending);
        Ok(())
    }
}

/// Appends the `<0xNN>` tokens of a spelling, if the vocabulary has all of them.
fn fall_back(
    spelling: &str,
    start: usize,
    end: usize,
    vocab: &Vocab,
    out: &mut Vec<Symbol>,
) -> bool {
    let before = out.len();
    for (index, byte) in spelling.bytes().enumerate() {
        let Some(id) = vocab.id(format!("<0x{byte:02X}>").as_bytes()) else {
            out.truncate(before);
            return false;
        };
        let at = (start + index).min(end);
        out.push(Symbol { id, start: at, end: (at + 1).min(end) });
    }
    true
}
