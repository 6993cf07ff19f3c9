//! Cutting ASCII text in blocks.
//!
//! What the public grammars do with ASCII can be said of all places of a block at once, one bit a
//! place: a word begins where a letter follows something else, and one place earlier if that is
//! the blank that it takes with it; and so on. 64 places cost some hundred instructions without a
//! branch, where an automaton takes a dependent look-up for each, and guesses the end of each
//! piece wrong.
//!
//! A block starts where a piece starts. Nothing is said of the places near a byte that the rules
//! do not know, or near the end of the block: there the automaton takes over, piece by piece, and
//! the next block starts behind. So whatever is cut here is what the automaton would have cut;
//! the tests compare the two.
//!
//! Source for working on bits of all places at once: Langdale and Lemire, "Parsing Gigabytes of
//! JSON per Second" (2019).

mod grammar;

use super::class_dfa::ClassDfa;
use super::parse::Dialect;
use crate::text::blocks::{BLOCK, Masks};
use grammar::{Contractions, Grammar, Lines};

/// What begins at a place may depend on so many bytes from there on.
const AHEAD: u32 = 3;

/// Cuts the blocks of one grammar.
#[derive(Debug)]
pub(super) struct Blocks {
    grammar: Grammar,
}

/// Places at which pieces end, one after the other.
#[derive(Debug)]
pub struct Ends {
    places: [usize; Self::MOST],
    count: usize,
}

impl Ends {
    /// So many fit.
    pub const MOST: usize = 512;

    /// The places.
    #[inline]
    #[must_use]
    pub fn places(&self) -> &[usize] {
        &self.places[..self.count]
    }

    /// Whether there is room for all that a block may yield.
    #[inline]
    pub(crate) fn has_room(&self) -> bool {
        self.count + BLOCK <= Self::MOST
    }

    #[inline]
    pub(crate) fn push(&mut self, place: usize) {
        self.places[self.count] = place;
        self.count += 1;
    }

    #[inline]
    pub(crate) fn clear(&mut self) {
        self.count = 0;
    }

    /// Appends the places of bits, counted from `base`.
    #[inline]
    fn push_bits(&mut self, mut bits: u64, base: usize) {
        let count = bits.count_ones() as usize;
        // Eight places at a time, needed or not: how many there are is hard to guess.
        let Some(room) = self.places[self.count..].get_mut(..BLOCK) else { return };
        for group in room.chunks_exact_mut(8).take(count.div_ceil(8)) {
            for place in group {
                *place = base + bits.trailing_zeros() as usize;
                bits &= bits.wrapping_sub(1);
            }
        }
        self.count += count;
    }
}

impl Default for Ends {
    fn default() -> Self {
        Self { places: [0; Self::MOST], count: 0 }
    }
}

impl Blocks {
    /// For the pattern of an automaton, if its grammar is known.
    pub fn of(dfa: &ClassDfa, dialect: Dialect) -> Option<Self> {
        Grammar::of(dfa, dialect).map(|grammar| Self { grammar })
    }

    /// Appends the ends of the pieces from `at` on, where one starts, as long as they are certain
    /// and there is room; returns the end of the last. The text ends where the bytes do.
    #[inline]
    pub fn scan(&self, text: &[u8], mut at: usize, ends: &mut Ends) -> usize {
        while ends.has_room() {
            let Some(block) = text[at..].first_chunk::<BLOCK>() else {
                return self.scan_tail(text, at, ends);
            };
            if block[..16].iter().any(|&byte| byte >= 0x80) {
                break;
            }
            let (bits, _) = self.grammar.starts(block);
            if bits == 0 {
                break;
            }
            ends.push_bits(bits, at);
            at += (u64::BITS - 1 - bits.leading_zeros()) as usize;
        }
        at
    }

    /// The same for less than a block. Blanks fill it up: in no grammar does a piece of the text
    /// end elsewhere for them, since white space at the end of a text is cut as before more of it.
    fn scan_tail(&self, text: &[u8], at: usize, ends: &mut Ends) -> usize {
        let tail = &text[at..];
        let mut block = [b' '; BLOCK];
        block[..tail.len()].copy_from_slice(tail);
        if tail.is_empty() || block[..16].iter().any(|&byte| byte >= 0x80) {
            return at;
        }
        let (bits, certain) = self.grammar.starts(&block);
        let length = tail.len() as u32;
        let mut bits = bits & below(length);
        if certain >= length {
            bits |= 1 << length;
        }
        if bits == 0 {
            return at;
        }
        ends.push_bits(bits, at);
        at + (u64::BITS - 1 - bits.leading_zeros()) as usize
    }
}

/// The places behind those of a mask.
#[inline]
fn behind(mask: u64) -> u64 {
    mask << 1
}

/// The places in front of those of a mask.
#[inline]
fn ahead(mask: u64) -> u64 {
    mask >> 1
}

/// The places below a number.
#[inline]
fn below(place: u32) -> u64 {
    if place >= u64::BITS { u64::MAX } else { (1 << place) - 1 }
}

impl Grammar {
    /// The places after the first at which pieces start for certain, in a block at whose first
    /// place one does, and the place up to which nothing is open.
    #[inline]
    fn starts(self, block: &[u8; BLOCK]) -> (u64, u32) {
        let kinds = Masks::of(block);
        let Masks { letters, digits, blanks, tabs, newlines, .. } = kinds;
        let mut others = kinds.others;
        let signs = !(letters | digits | blanks | tabs | newlines | others);
        let sign_runs = signs & !behind(signs);
        let word_starts = letters & !behind(letters);
        let digit_starts = digits & !behind(digits);

        let mut starts;
        let mut open = 0;
        if self.lines == Lines::No {
            let spaces = blanks | tabs | newlines;
            let prefixes = behind(blanks);
            starts = (word_starts | sign_runs) & !prefixes;
            starts |= if self.any_prefix { digit_starts } else { digit_starts & !prefixes };
            starts |= spaces & !behind(spaces);
            starts |= spaces & !ahead(spaces);
        } else {
            // Newlines right behind punctuation belong to it.
            let taken = newlines & behind(signs);
            let taken = newlines & !taken.wrapping_add(newlines);
            if self.lines == Lines::EndWithSlashes {
                let slashes = behind(taken) & signs;
                if slashes != 0 {
                    others |= slashes & slash_at(block, slashes);
                }
            }
            let newlines = newlines & !taken;
            let spaces = blanks | tabs;
            let white = spaces | newlines;
            // A sign by itself goes in front of a word, unless a blank goes in front of the sign.
            let prefixes = behind(spaces | (sign_runs & !behind(blanks)));
            starts = word_starts & !prefixes;
            starts |= sign_runs & !behind(blanks);
            starts |= digit_starts;
            starts |= white & !behind(white);
            starts |= spaces & !ahead(white);
            // Where white space goes on behind newlines, they end a piece unless more follow.
            let mut indents = spaces & behind(newlines);
            let mut more = indents.wrapping_add(spaces) & !spaces & newlines;
            while more != 0 {
                let upto = below(more.trailing_zeros());
                indents &= !(1 << (63 - (indents & upto).leading_zeros()));
                more &= more - 1;
            }
            starts |= indents;
            open = spaces;
        }
        if self.cases {
            starts |= kinds.capitals & behind(letters & !kinds.capitals);
        }
        match self.most_digits {
            0 => {}
            1 => starts |= digits,
            most => {
                let mut full = digit_starts;
                // Those that have digits all the way to the next group.
                let mut through = digits;
                for back in 1..=most {
                    through &= digits << back;
                }
                loop {
                    full = (full << most) & through;
                    if full == 0 {
                        break;
                    }
                    starts |= full;
                }
            }
        }
        let contracted = match self.contractions {
            Contractions::No => 0,
            Contractions::Small | Contractions::Apart => {
                kinds.apostrophes & sign_runs & !behind(blanks) & ahead(letters)
            }
            Contractions::Joined => kinds.apostrophes & behind(letters) & ahead(letters),
        };
        if contracted != 0 {
            starts = self.contract(block, contracted, starts);
        }

        let known = others.trailing_zeros();
        let mut certain = known.saturating_sub(AHEAD - 1);
        // White space that reaches up to there may go on in any way.
        if known > 0 && open >> (known - 1) & 1 == 1 {
            let length = (open << (u64::BITS - known)).leading_ones();
            certain = certain.min((known - length).max(1));
        }
        (starts & below(certain) & !1, certain)
    }

    /// What apostrophes change, each of which may begin a contraction.
    #[cold]
    #[inline(never)]
    fn contract(self, block: &[u8; BLOCK], mut apostrophes: u64, mut starts: u64) -> u64 {
        let mut last = BLOCK;
        while apostrophes != 0 {
            let at = apostrophes.trailing_zeros() as usize;
            apostrophes &= apostrophes - 1;
            let letter = |offset: usize| {
                let byte = block.get(at + offset).copied().unwrap_or_default();
                if self.contractions == Contractions::Small { byte } else { byte | 0x20 }
            };
            let length = match (letter(1), letter(2)) {
                (b's' | b't' | b'm' | b'd', _) => 2,
                (b'r' | b'v', b'e') | (b'l', b'l') => 3,
                _ => continue,
            };
            let bit = |offset: usize| 1_u64.checked_shl((at + offset) as u32).unwrap_or_default();
            match self.contractions {
                // What ends a contraction is no word that another one could belong to.
                Contractions::Joined if last == at => continue,
                Contractions::Joined => starts &= !(bit(0) | bit(1) | bit(2)),
                _ => starts &= !(bit(1) | bit(2)),
            }
            starts |= bit(length);
            last = at + length;
        }
        starts
    }
}

/// Those of the places that hold a slash.
#[cold]
fn slash_at(block: &[u8; BLOCK], mut places: u64) -> u64 {
    let mut found = 0;
    while places != 0 {
        let place = places.trailing_zeros();
        found |= u64::from(block[place as usize] == b'/') << place;
        places &= places - 1;
    }
    found
}
