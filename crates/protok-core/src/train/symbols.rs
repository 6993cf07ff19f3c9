//! From words to the symbols that a trainer starts with: alphabet, base vocabulary, sequences.
//!
//! Ids are given in this order: special tokens as listed; the alphabet sorted by code point; the
//! variants with a continuing prefix or an end-of-word suffix, as met when the words are read in
//! canonical order, so that they do not depend on the order of the corpus. Required tokens are
//! words without weight, after all others. O(symbols).

use super::coverage::{self, covered};
use super::{BpeOptions, EndOfWord, Symbols, WordCounts};
use crate::text::alphabet::{BYTE_TO_CHAR, char_to_byte};
use crate::{Error, Result};
use hashbrown::HashTable;
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::hash::BuildHasher;

/// The most bytes that all tokens of a vocabulary may have together.
const MAX_TEXT: usize = 1 << 30;

/// The most symbols in all distinct words: a third of what keeps every number of the pair index
/// in 32 bits, because a merge creates at most two pairs for each symbol it removes.
const MAX_SYMBOLS: u32 = 1 << 30;

/// A growing vocabulary: distinct texts numbered from zero, in one arena.
#[derive(Debug, Default)]
pub(super) struct Tokens {
    text: String,
    ends: Vec<u32>,
    index: HashTable<u32>,
}

fn token_at<'a>(text: &'a str, ends: &[u32], id: u32) -> &'a str {
    let id = id as usize;
    let start = if id == 0 { 0 } else { ends[id - 1] as usize };
    &text[start..ends[id] as usize]
}

impl Tokens {
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn get(&self, id: u32) -> &str {
        token_at(&self.text, &self.ends, id)
    }

    pub(super) fn find(&self, token: &str) -> Option<u32> {
        let hash = FxBuildHasher.hash_one(token);
        self.index.find(hash, |&id| self.get(id) == token).copied()
    }

    /// The id of `token`, which is appended if it is new; and whether it was.
    pub(super) fn intern(&mut self, token: &str) -> Result<(u32, bool)> {
        if let Some(id) = self.find(token) {
            return Ok((id, false));
        }
        let end = self.text.len() + token.len();
        let (Ok(id), Ok(end), true) =
            (u32::try_from(self.ends.len()), u32::try_from(end), end <= MAX_TEXT)
        else {
            return Err(Error::limit("The tokens together are longer than 1 GiB.")
                .hint("Set max_token_length, or split the corpus into shorter words."));
        };
        self.text.push_str(token);
        self.ends.push(end);
        let (text, ends) = (&self.text, &self.ends);
        self.index.insert_unique(FxBuildHasher.hash_one(token), id, |&id| {
            FxBuildHasher.hash_one(token_at(text, ends, id))
        });
        Ok((id, true))
    }

    pub(super) fn to_vec(&self) -> Vec<String> {
        (0..self.ends.len()).map(|id| self.get(id as u32).to_owned()).collect()
    }
}

/// A corpus as a trainer's first state.
#[derive(Debug)]
pub(super) struct Prepared {
    /// The base vocabulary.
    pub(super) tokens: Tokens,
    /// How many of its tokens are special.
    pub(super) specials: usize,
    /// The symbols of all words, in recorded order.
    pub(super) symbols: Vec<u32>,
    /// Where the symbols of each word end.
    pub(super) ends: Vec<u32>,
    /// How often each word occurs.
    pub(super) weights: Vec<i64>,
    /// The number of symbols in the corpus with repetitions.
    pub(super) total: i64,
}

/// Builds the base vocabulary and writes every word in it.
pub(super) fn prepare(words: &WordCounts, options: &BpeOptions) -> Result<Prepared> {
    if words.is_empty() {
        return Err(Error::input("The corpus has no words to train on.")
            .hint("Check the files and the pretokenization."));
    }
    if words.saturated() {
        return Err(Error::limit("A word count does not fit in 64 bits."));
    }
    let mut speller = Speller::new(options)?;
    let mut tokens = Tokens::default();
    for special in &options.special_tokens {
        if special.is_empty() {
            return Err(Error::input("A special token is empty.").at("special_tokens"));
        }
        tokens.intern(special)?;
    }
    let specials = tokens.len();
    for c in alphabet(words, options, &mut speller)? {
        tokens.intern(c.encode_utf8(&mut [0; 4]))?;
    }
    speller.separate = match &speller.separate_text {
        Some(suffix) => Some(tokens.intern(suffix)?.0),
        None => None,
    };
    let mut sink = Vec::new();
    if speller.prefix.is_some() || speller.glued.is_some() {
        for (word, _) in words.canonical() {
            sink.clear();
            speller.write(word, &mut tokens, &mut sink)?;
        }
    }

    let (mut symbols, mut ends, mut weights) = (Vec::new(), Vec::new(), Vec::new());
    let mut total = 0i64;
    for (word, count) in words.iter() {
        let start = symbols.len();
        speller.write(word, &mut tokens, &mut symbols)?;
        let weight = i64::try_from(count).ok();
        let here = i64::try_from(symbols.len() - start).ok();
        total = weight
            .zip(here)
            .and_then(|(weight, here)| weight.checked_mul(here))
            .and_then(|part| total.checked_add(part))
            .ok_or_else(|| Error::limit("The corpus has 2^63 symbols or more."))?;
        for end in speller.cuts.drain(..).chain([symbols.len()]) {
            ends.push(symbol_number(end)?);
            weights.push(weight.unwrap_or(i64::MAX));
        }
    }
    for token in &options.required {
        if !options.special_tokens.contains(token) {
            speller.write_token(token, options, &mut tokens, &mut symbols)?;
            ends.push(symbol_number(symbols.len())?);
            weights.push(0);
        }
    }
    Ok(Prepared { tokens, specials, symbols, ends, weights, total })
}

fn symbol_number(symbols: usize) -> Result<u32> {
    u32::try_from(symbols)
        .ok()
        .filter(|&end| end <= MAX_SYMBOLS)
        .ok_or_else(|| Error::limit("The distinct words have more than 2^30 symbols."))
}

impl Prepared {
    /// Appends a word.
    pub(super) fn push(&mut self, symbols: impl Iterator<Item = u32>, count: u64) -> Result<()> {
        let start = self.symbols.len();
        self.symbols.extend(symbols);
        let here = self.symbols.len() - start;
        let too_many = || Error::limit("The corpus has 2^63 symbols or more.");
        let weight = i64::try_from(count).map_err(|_| too_many())?;
        let part = i64::try_from(here).ok().and_then(|here| here.checked_mul(weight));
        self.total = part.and_then(|part| self.total.checked_add(part)).ok_or_else(too_many)?;
        self.ends.push(symbol_number(self.symbols.len())?);
        self.weights.push(weight);
        Ok(())
    }

    /// How many merges the required tokens need at most: their symbols but for the first ones.
    pub(super) fn joins(&self) -> usize {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let words = starts.zip(&self.ends).zip(&self.weights);
        let required = words.filter(|&((start, &end), &weight)| weight == 0 && end > start);
        required.map(|((start, &end), _)| (end - start - 1) as usize).sum()
    }
}

/// The characters to keep, sorted by code point.
///
/// `limit_alphabet` keeps the most frequent; of those that occur equally often the smaller code
/// points stay. The initial alphabet counts as infinitely frequent.
fn alphabet(
    words: &WordCounts,
    options: &BpeOptions,
    speller: &mut Speller<'_>,
) -> Result<Vec<char>> {
    let mut low = vec![0u64; LOW];
    let mut counts: FxHashMap<char, u64> = FxHashMap::default();
    for (word, count) in words.iter() {
        speller.spell(word)?;
        for &c in &speller.letters {
            let slot = match low.get_mut(c as usize) {
                Some(slot) => slot,
                None => counts.entry(c).or_default(),
            };
            *slot = slot.saturating_add(count);
        }
    }
    let seen = low.into_iter().zip('\0'..).filter(|&(count, _)| count > 0);
    counts.extend(seen.map(|(count, c)| (c, count)));
    coverage::check(options.character_coverage)?;
    if options.character_coverage.is_some() {
        if options.symbols == Symbols::Bytes {
            return Err(Error::input("Bytes have no share of characters to cover.")
                .at("character_coverage")
                .hint("Leave it out, or train on characters."));
        }
        let kept = covered(counts.clone(), options.character_coverage);
        counts.retain(|c, _| kept.binary_search(c).is_ok());
    }
    for token in &options.required {
        if token.is_empty() {
            return Err(Error::input("A required token is empty.").at("required"));
        }
        if !options.special_tokens.contains(token) {
            speller.spell_token(token, options);
            counts.extend(speller.letters.iter().map(|&c| (c, u64::MAX)));
        }
    }
    for &c in &options.initial_alphabet {
        if options.symbols == Symbols::Bytes && char_to_byte(c).is_none() {
            return Err(Error::input(format!("{c:?} does not spell a byte."))
                .at("initial_alphabet")
                .hint("Use the characters of the GPT-2 byte alphabet."));
        }
        counts.insert(c, u64::MAX);
    }
    let mut kept: Vec<(char, u64)> = counts.into_iter().collect();
    if let Some(limit) = options.limit_alphabet {
        kept.sort_unstable_by_key(|&(c, count)| (std::cmp::Reverse(count), c));
        kept.truncate(limit);
    }
    let mut kept: Vec<char> = kept.into_iter().map(|(c, _)| c).collect();
    kept.sort_unstable();
    Ok(kept)
}

/// Writes words as ids of symbols.
struct Speller<'a> {
    bytes: bool,
    prefix: Option<&'a str>,
    glued: Option<&'a str>,
    separate_text: Option<&'a str>,
    separate: Option<u32>,
    /// Whether a character outside the alphabet cuts a word, instead of being left out.
    cut: bool,
    /// Where the last word was cut.
    cuts: Vec<usize>,
    letters: Vec<char>,
    /// For each way in which a character may be marked, the symbols of those below [`LOW`].
    low: [Vec<Known>; 4],
    others: FxHashMap<(char, usize), Option<u32>>,
}

/// What is known of a character.
#[derive(Debug, Clone, Copy)]
enum Known {
    Nothing,
    /// It has this symbol, or none.
    Symbol(Option<u32>),
}

/// Characters below this are looked up by their number: most scripts, and the mark for a blank.
const LOW: usize = 0x2600;

impl<'a> Speller<'a> {
    fn new(options: &'a BpeOptions) -> Result<Self> {
        let prefix = options.continuing_subword_prefix.as_deref().filter(|text| !text.is_empty());
        let suffix = options.end_of_word_suffix.as_deref().filter(|text| !text.is_empty());
        let (glued, separate_text) = match options.end_of_word {
            EndOfWord::Glued => (suffix, None),
            EndOfWord::Separate => (None, suffix),
        };
        if let (Some(prefix), Some(suffix)) = (prefix, separate_text)
            && suffix.starts_with(prefix)
        {
            return Err(Error::input(format!(
                "The end-of-word symbol {suffix:?} begins with the continuing prefix {prefix:?}."
            ))
            .at("end_of_word_suffix")
            .hint("Choose another symbol: a merge could not tell the two apart."));
        }
        Ok(Self {
            bytes: options.symbols == Symbols::Bytes,
            prefix,
            glued,
            separate_text,
            separate: None,
            cut: options.character_coverage.is_some(),
            cuts: Vec::new(),
            letters: Vec::new(),
            low: Default::default(),
            others: FxHashMap::default(),
        })
    }

    /// Puts the characters of a word into `letters`.
    fn spell(&mut self, word: &[u8]) -> Result<()> {
        self.letters.clear();
        if self.bytes {
            self.letters.extend(word.iter().map(|&byte| BYTE_TO_CHAR[byte as usize]));
            return Ok(());
        }
        let text = std::str::from_utf8(word).map_err(|error| {
            Error::input(format!("The word {:?} is not UTF-8.", String::from_utf8_lossy(word)))
                .position(error.valid_up_to())
                .hint("Train on bytes, or decode the corpus first.")
        })?;
        self.letters.extend(text.chars());
        Ok(())
    }

    /// Appends the symbols of a word. A character outside the alphabet is left out.
    fn write(&mut self, word: &[u8], tokens: &mut Tokens, out: &mut Vec<u32>) -> Result<()> {
        self.spell(word)?;
        self.cuts.clear();
        let start = out.len();
        let last = self.letters.len().saturating_sub(1);
        for i in 0..self.letters.len() {
            match self.symbol(self.letters[i], i > 0, i == last, tokens)? {
                Some(id) => out.push(id),
                None if self.cut && out.len() > *self.cuts.last().unwrap_or(&start) => {
                    self.cuts.push(out.len());
                }
                None => {}
            }
        }
        out.extend(self.separate);
        Ok(())
    }

    /// The symbol of a character at its place in a word.
    fn symbol(
        &mut self,
        c: char,
        continued: bool,
        ended: bool,
        tokens: &mut Tokens,
    ) -> Result<Option<u32>> {
        let continued = self.prefix.filter(|_| continued);
        let ended = self.glued.filter(|_| ended);
        let marks = usize::from(continued.is_some()) | usize::from(ended.is_some()) << 1;
        match self.low[marks].get(c as usize) {
            Some(&Known::Symbol(id)) => return Ok(id),
            Some(Known::Nothing) => {}
            None => {
                if let Some(&id) = self.others.get(&(c, marks)) {
                    return Ok(id);
                }
            }
        }
        let mut buffer = [0; 4];
        let plain: &str = c.encode_utf8(&mut buffer);
        let id = match tokens.find(plain) {
            Some(_) if continued.is_some() || ended.is_some() => {
                let parts = [continued.unwrap_or(""), plain, ended.unwrap_or("")];
                Some(tokens.intern(&parts.concat())?.0)
            }
            found => found,
        };
        let low = &mut self.low[marks];
        if low.is_empty() {
            low.resize(LOW, Known::Nothing);
        }
        match low.get_mut(c as usize) {
            Some(known) => *known = Known::Symbol(id),
            None => drop(self.others.insert((c, marks), id)),
        }
        Ok(id)
    }

    /// Puts the characters of a required token into `letters`; returns whether it stands inside a
    /// word, and whether it ends one.
    fn spell_token(&mut self, token: &str, options: &BpeOptions) -> (bool, bool) {
        self.letters.clear();
        if self.bytes {
            self.letters.extend(token.bytes().map(|byte| BYTE_TO_CHAR[byte as usize]));
            return (false, false);
        }
        let inside = self.prefix.and_then(|prefix| token.strip_prefix(prefix));
        let rest = inside.unwrap_or(token);
        let suffix = options.end_of_word_suffix.as_deref().filter(|suffix| !suffix.is_empty());
        let ending = suffix.and_then(|suffix| rest.strip_suffix(suffix));
        self.letters.extend(ending.unwrap_or(rest).chars());
        (inside.is_some(), ending.is_some())
    }

    /// Appends the symbols of a required token.
    fn write_token(
        &mut self,
        token: &str,
        options: &BpeOptions,
        tokens: &mut Tokens,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let start = out.len();
        let (inside, ending) = self.spell_token(token, options);
        let last = self.letters.len().saturating_sub(1);
        for i in 0..self.letters.len() {
            let c = self.letters[i];
            let symbol = self.symbol(c, inside || i > 0, ending && i == last, tokens)?;
            out.push(symbol.ok_or_else(|| {
                Error::input(format!("The required token {token:?} holds {c:?}, which limit_alphabet leaves no room for."))
                    .at("limit_alphabet")
                    .hint("Raise limit_alphabet.")
            })?);
        }
        out.extend(self.separate.filter(|_| ending));
        let length = out.len() - start;
        if let Some(bound) = options.max_token_length.filter(|&bound| length >= bound.max(3)) {
            return Err(Error::input(format!(
                "The required token {token:?} has {length} symbols, but tokens have fewer than \
                 {bound}."
            ))
            .at("required")
            .hint("Raise max_token_length.")
            .value(token));
        }
        Ok(())
    }
}
