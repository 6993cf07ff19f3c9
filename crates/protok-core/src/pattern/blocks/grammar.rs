//! The public grammars that a block of ASCII can be cut by at once, and whether a pattern is one.
//!
//! A pattern is recognised by what it does, not by how it is written: its automaton has to go,
//! over ASCII, through the same matches as that of the grammar's own pattern.

use std::collections::HashSet;

use foldhash::fast::RandomState;

use super::super::class_dfa::ClassDfa;
use super::super::parse::{Dialect, parse};

/// How a grammar treats ASCII.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Grammar {
    /// Whether any character but a letter, a digit or a newline may stand in front of the letters of
    /// a word; else it is a blank only, which also goes in front of digits.
    pub any_prefix: bool,
    /// Whether a word ends where a capital follows a small letter.
    pub cases: bool,
    /// Where `'s` and the like are cut.
    pub contractions: Contractions,
    /// So many digits are a piece at most; 0 means any number.
    pub most_digits: u32,
    /// Whether newlines behind punctuation belong to it, white space with newlines ends with the
    /// last of them, and which line ends punctuation takes with it.
    pub lines: Lines,
}

/// Where `'s` and the like are cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Contractions {
    /// They are nothing special.
    No,
    /// A piece of their own, in small letters.
    Small,
    /// A piece of their own.
    Apart,
    /// They belong to the word before.
    Joined,
}

/// What newlines are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lines {
    /// White space like any other.
    No,
    /// The end of white space, and of punctuation.
    End,
    /// The same, and slashes may stand among those that punctuation takes.
    EndWithSlashes,
}

impl Grammar {
    /// What is looked for: the grammars of GPT-2; cl100k and Llama 3; Qwen 2; o200k; Mistral's
    /// tekken.
    pub const KNOWN: [Self; 5] = [
        Self {
            any_prefix: false,
            cases: false,
            contractions: Contractions::Small,
            most_digits: 0,
            lines: Lines::No,
        },
        Self::LINES,
        Self { most_digits: 1, ..Self::LINES },
        Self {
            cases: true,
            contractions: Contractions::Joined,
            lines: Lines::EndWithSlashes,
            ..Self::LINES
        },
        Self {
            cases: true,
            contractions: Contractions::No,
            most_digits: 1,
            lines: Lines::EndWithSlashes,
            ..Self::LINES
        },
    ];

    const LINES: Self = Self {
        any_prefix: true,
        cases: false,
        contractions: Contractions::Apart,
        most_digits: 3,
        lines: Lines::End,
    };

    /// Its pattern, for ASCII alone.
    pub fn pattern(&self) -> String {
        let prefix = if self.any_prefix { r"[^\r\nA-Za-z0-9]?" } else { " ?" };
        let small = "'s|'t|'re|'ve|'m|'ll|'d";
        let (apart, joined) = match self.contractions {
            Contractions::No => (String::new(), String::new()),
            Contractions::Small => (format!("{small}|"), String::new()),
            Contractions::Apart => (format!("(?i:{small})|"), String::new()),
            Contractions::Joined => (String::new(), format!("(?i:{small})?")),
        };
        let words = match self.cases {
            true => format!("{prefix}[A-Z]*[a-z]+{joined}|{prefix}[A-Z]+[a-z]*{joined}"),
            false => format!("{prefix}[A-Za-z]+{joined}"),
        };
        let digits = match (self.any_prefix, self.most_digits) {
            (true, 0) => "[0-9]+".to_owned(),
            (true, most) => format!("[0-9]{{1,{most}}}"),
            (false, 0) => " ?[0-9]+".to_owned(),
            (false, most) => format!(" ?[0-9]{{1,{most}}}"),
        };
        let (taken, lines) = match self.lines {
            Lines::No => ("", ""),
            Lines::End => (r"[\r\n]*", r"\s*[\r\n]+|"),
            Lines::EndWithSlashes => (r"[\r\n/]*", r"\s*[\r\n]+|"),
        };
        format!(r"{apart}{words}|{digits}| ?[^\sA-Za-z0-9]+{taken}|{lines}\s+(?!\S)|\s+")
    }

    /// The grammar of a pattern, if it is one of [`Self::KNOWN`]; `dialect` is the pattern's.
    pub fn of(dfa: &ClassDfa, dialect: Dialect) -> Option<Self> {
        let found = |text: &[u8]| first_match(dfa, text);
        let (prefixed, cased, digits) = (found(b".a "), found(b"aB "), found(b"1111 "));
        // To compare is to compile, so it is done with what a few texts leave.
        let may_be = |grammar: &Self| {
            let most = if grammar.most_digits == 0 { 4 } else { grammar.most_digits as usize };
            prefixed == 1 + usize::from(grammar.any_prefix)
                && cased == 2 - usize::from(grammar.cases)
                && digits == most
        };
        Self::KNOWN.into_iter().filter(may_be).find(|grammar| {
            let Ok(node) = parse(&grammar.pattern(), dialect) else { return false };
            ClassDfa::new(&node).is_ok_and(|own| same_on_ascii(dfa, &own))
        })
    }
}

/// Where the match ends that begins an ASCII text.
fn first_match(dfa: &ClassDfa, text: &[u8]) -> usize {
    let (mut state, mut end) = (dfa.start(), 0);
    for at in 0..=text.len() {
        let step = dfa.step(state, dfa.class_at(text, at).0);
        if step.is_match() {
            end = at;
        }
        if step.is_stop() {
            break;
        }
        state = step.state();
    }
    end
}

/// Whether two automata find the same matches in ASCII text that other text may follow.
fn same_on_ascii(one: &ClassDfa, other: &ClassDfa) -> bool {
    let mut seen: HashSet<(usize, usize), RandomState> =
        [(one.start(), other.start())].into_iter().collect();
    let mut todo = vec![(one.start(), other.start())];
    while let Some((left, right)) = todo.pop() {
        for byte in 0..128 {
            let (left, right) =
                (one.step(left, one.ascii_class(byte)), other.step(right, other.ascii_class(byte)));
            if left.is_match() != right.is_match() || left.is_stop() != right.is_stop() {
                return false;
            }
            let pair = (left.state(), right.state());
            if !left.is_stop() && seen.insert(pair) {
                todo.push(pair);
            }
        }
    }
    true
}
