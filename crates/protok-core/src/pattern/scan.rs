//! Finding the matches of a pattern in a text.
//!
//! A pattern of the algebra runs on its [`ClassDfa`]: from a start, read classes until nothing can
//! match any more; the match ends at the last position that the automaton flagged. What was read
//! beyond that is read again for the next match, and all of it if there was no match. On some
//! patterns this is quadratic (`a*b|a` on a run of `a`), so the reading in vain is counted, and
//! once it exceeds a multiple of the text, pairs of state and position that lead to no further
//! match are remembered and never entered twice (T. Reps, "Maximal-munch tokenization in linear
//! time", 1998). The result is the same; the time is linear in the text for every pattern.
//!
//! The naive reference is the backtracking engine: the tests compare the two.

use memchr::memmem;

use crate::error::{Error, Result};
use crate::spec::{Pattern, Semantics};
use crate::text::seam::crosses;

use super::blocks::Blocks;
use super::class_dfa::{ClassDfa, DEAD};
use super::fallback::Backtracker;
use super::memo::{Memo, Memory};
use super::node::{MAX_PATTERN, MAX_VERBATIM_SETS};
use super::parse::{Dialect, parse};

/// Reading in vain is free up to this many times the text, and this many bytes.
const FREE_OVERSHOOT: usize = 4;
const FREE_BYTES: usize = 4096;

/// The most bits that may be spent on remembering dead ends: 128 MiB.
const MAX_DEAD_ENDS: usize = 1 << 30;

/// A compiled pattern.
///
/// ```
/// use protok_core::{pattern::Matcher, spec::Semantics};
///
/// let words = Matcher::compile(r" ?\p{L}+|\s+(?!\S)|\s+", Semantics::HuggingFace)?;
/// let mut matches = Vec::new();
/// words.for_each_match("ein  Wort", |start, end| matches.push((start, end)))?;
/// assert_eq!(matches, [(0, 3), (3, 4), (4, 9)]);
/// assert_eq!(words.engine(), "dfa");
/// # Ok::<(), protok_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Matcher {
    engine: Engine,
    source: String,
    /// Whether matches are known to leave out nothing of any text.
    covers: bool,
    blocks: Option<Blocks>,
}

#[derive(Debug)]
enum Engine {
    Dfa(Box<ClassDfa>),
    Memo(Box<Memo>),
    Backtracking(Box<Backtracker>),
    Literal(Box<memmem::Finder<'static>>),
}

impl Matcher {
    /// Compiles a regular expression in the dialect of `semantics`: that of `fancy-regex` for
    /// [`Semantics::Tiktoken`], Oniguruma's otherwise.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Artifact`] if the pattern is malformed, or its meaning in its dialect
    /// cannot be reproduced with certainty.
    pub fn compile(pattern: &str, semantics: Semantics) -> Result<Self> {
        let dialect = match semantics {
            Semantics::Tiktoken => Dialect::Fancy,
            Semantics::LlamaCpp => Dialect::LlamaCpp,
            _ => Dialect::Oniguruma,
        };
        let engine = match (parse(pattern, dialect), dialect) {
            (Ok(node), _) => match ClassDfa::new(&node) {
                Ok(dfa) => Engine::Dfa(Box::new(dfa)),
                Err(_) if dialect != Dialect::Fancy && !node.looks_behind() => {
                    match Memo::new(&node) {
                        Ok(memo) => Engine::Memo(Box::new(memo)),
                        Err(_) => Engine::Backtracking(Box::new(Backtracker::new(&node, pattern)?)),
                    }
                }
                Err(_) => {
                    // The backtracking engine refuses what it cannot look behind at, and the
                    // reference what it cannot read at all.
                    let fallback = match dialect {
                        Dialect::Fancy => backtracking(pattern)?,
                        Dialect::Oniguruma | Dialect::LlamaCpp => {
                            Engine::Backtracking(Box::new(Backtracker::new(&node, pattern)?))
                        }
                    };
                    Memo::new(&node).map_or(fallback, |memo| Engine::Memo(Box::new(memo)))
                }
            },
            // The reference's own engine reads what the parser here does not.
            (Err(_), Dialect::Fancy) if pattern.len() <= MAX_PATTERN => backtracking(pattern)?,
            (Err(stop), _) => {
                return Err(Error::artifact("Regex", format!("The pattern has {}.", stop.what))
                    .hint("Nothing is approximated in its place.")
                    .position(stop.at)
                    .value(shortened(pattern)));
            }
        };
        let (covers, blocks) = match &engine {
            Engine::Dfa(dfa) if dfa.covers() => (true, Blocks::of(dfa, dialect)),
            _ => (false, None),
        };
        Ok(Matcher { engine, source: shortened(pattern), covers, blocks })
    }

    /// Whether it looks for a literal string, whatever stands around that.
    #[must_use]
    pub fn is_literal(&self) -> bool {
        matches!(self.engine, Engine::Literal(_))
    }

    /// The literal string that it looks for, if it does.
    #[must_use]
    pub fn needle(&self) -> Option<&[u8]> {
        match &self.engine {
            Engine::Literal(finder) => Some(finder.needle()),
            _ => None,
        }
    }

    /// Whether no match reaches over a [seam](crate::text::seam) whose blank became `blank`, with
    /// one of `before` in front, nor depends on what is beyond that: then the matches of a text are
    /// those of its parts.
    #[must_use]
    pub fn keeps_seams(&self, before: &[char], blank: char) -> bool {
        match &self.engine {
            Engine::Dfa(dfa) => dfa.ends_at(before, blank),
            Engine::Literal(finder) => {
                let needle = finder.needle();
                !needle.is_empty()
                    && !crosses(needle)
                    && before.iter().all(|before| {
                        let across = format!("{before}{blank}");
                        memmem::find(needle, across.as_bytes()).is_none()
                    })
            }
            Engine::Memo(_) | Engine::Backtracking(_) => false,
        }
    }

    /// Whether a match begins at every seam, where the blank became `blank`, provided that
    /// [`Self::keeps_seams`].
    #[must_use]
    pub fn begins_at_seams(&self, blank: char) -> bool {
        match &self.engine {
            Engine::Dfa(dfa) => dfa.begins_at(blank),
            Engine::Literal(finder) => finder.needle() == blank.to_string().as_bytes(),
            Engine::Memo(_) | Engine::Backtracking(_) => false,
        }
    }

    /// Whether nothing but white space matches.
    #[must_use]
    pub fn is_of_blanks(&self) -> bool {
        match &self.engine {
            Engine::Dfa(dfa) => dfa.is_of_blanks(),
            Engine::Literal(finder) => {
                !finder.needle().is_empty() && finder.needle().iter().all(u8::is_ascii_whitespace)
            }
            Engine::Memo(_) | Engine::Backtracking(_) => false,
        }
    }

    /// Whether no match begins at a character.
    #[must_use]
    pub fn skips(&self, c: char) -> bool {
        match &self.engine {
            Engine::Dfa(dfa) => !dfa.begins(dfa.class_of(c)),
            Engine::Literal(finder) => {
                !finder.needle().starts_with(c.encode_utf8(&mut [0; 4]).as_bytes())
            }
            Engine::Memo(_) | Engine::Backtracking(_) => false,
        }
    }

    /// Whether a match begins at a character, whatever comes behind it.
    #[must_use]
    pub fn surely_begins(&self, c: char) -> bool {
        match &self.engine {
            Engine::Dfa(dfa) => dfa.surely_begins(c),
            Engine::Literal(finder) => finder.needle() == c.encode_utf8(&mut [0; 4]).as_bytes(),
            Engine::Memo(_) | Engine::Backtracking(_) => false,
        }
    }

    /// Whether its matches are known to leave out nothing of any text.
    #[must_use]
    pub fn covers(&self) -> bool {
        self.covers
    }

    /// What cuts blocks of ASCII as the pattern would.
    #[inline]
    pub(super) fn blocks(&self) -> Option<&Blocks> {
        self.blocks.as_ref()
    }

    /// Compiles a pattern of the spec: a literal string, or a regular expression.
    ///
    /// # Errors
    /// As [`Self::compile`].
    pub fn of(pattern: &Pattern, semantics: Semantics) -> Result<Self> {
        match pattern {
            Pattern::String(text) => Ok(Self::literal(text)),
            Pattern::Regex(source) => {
                Self::compile(source, semantics).map_err(|error| error.within("pattern"))
            }
        }
    }

    /// A pattern that matches a string literally.
    #[must_use]
    pub fn literal(text: &str) -> Self {
        let finder = memmem::Finder::new(text).into_owned();
        let engine = Engine::Literal(Box::new(finder));
        Matcher { engine, source: shortened(text), covers: false, blocks: None }
    }

    /// Which engine runs the pattern: `"dfa"`, `"memo"`, `"backtracking"` or `"literal"`.
    #[must_use]
    pub fn engine(&self) -> &'static str {
        match self.engine {
            Engine::Dfa(_) => "dfa",
            Engine::Memo(_) => "memo",
            Engine::Backtracking(_) => "backtracking",
            Engine::Literal(_) => "literal",
        }
    }

    /// The leftmost match that starts at byte `from` or later; what is before `from` can be looked
    /// at. To find all matches use [`Self::matches`], whose time is linear as a whole.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Input`] if `from` is not a character boundary of the text,
    /// [`crate::ErrorKind::Limit`] if the search reaches its bound.
    pub fn find_at(&self, text: &str, from: usize) -> Result<Option<(usize, usize)>> {
        if !text.is_char_boundary(from) {
            return Err(Error::input("A search starts within a character.").position(from));
        }
        self.matches(text).find(from)
    }

    /// All matches from left to right. An empty text has none, whatever the pattern: `tokenizers`
    /// does not search it.
    #[must_use]
    pub fn matches<'m, 't>(&'m self, text: &'t str) -> Matches<'m, 't> {
        let at = usize::from(text.is_empty());
        Matches {
            matcher: self,
            text,
            at,
            last_end: None,
            overshoot: 0,
            dead_ends: None,
            begun: None,
            memory: None,
        }
    }

    /// Calls `report` with the start and end of each match.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Limit`] if the search reaches its bound.
    pub fn for_each_match(&self, text: &str, mut report: impl FnMut(usize, usize)) -> Result<()> {
        let mut matches = self.matches(text);
        while let Some((start, end)) = matches.next_match()? {
            report(start, end);
        }
        Ok(())
    }
}

fn backtracking(pattern: &str) -> Result<Engine> {
    let sets = pattern.bytes().filter(|byte| matches!(byte, b'\\' | b'[')).count();
    if sets > MAX_VERBATIM_SETS {
        return Err(Error::artifact("Regex", "The pattern has too many sets.")
            .hint(format!("At most {MAX_VERBATIM_SETS} can be searched for by backtracking."))
            .value(shortened(pattern)));
    }
    Ok(Engine::Backtracking(Box::new(Backtracker::verbatim(pattern)?)))
}

/// The beginning of a pattern, for messages.
pub(super) fn shortened(pattern: &str) -> String {
    match pattern.char_indices().nth(200) {
        Some((end, _)) => format!("{}...", &pattern[..end]),
        None => pattern.to_owned(),
    }
}

/// The matches of a pattern in a text, from left to right; see [`Matcher::matches`].
///
/// An empty match right behind the match before it is left out, and the search goes on one
/// character further, as in both references.
#[derive(Debug)]
pub struct Matches<'m, 't> {
    matcher: &'m Matcher,
    text: &'t str,
    at: usize,
    last_end: Option<usize>,
    /// How many bytes were read in vain.
    overshoot: usize,
    dead_ends: Option<DeadEnds>,
    /// Where the match at `at` has been begun already: its state, and the position to read on at.
    begun: Option<(usize, usize)>,
    memory: Option<Memory>,
}

impl Matches<'_, '_> {
    /// The start and end of the next match.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Limit`] if the search reaches its bound.
    #[inline]
    pub fn next_match(&mut self) -> Result<Option<(usize, usize)>> {
        while self.at <= self.text.len() {
            let Some((start, end)) = self.find(self.at)? else {
                self.at = self.text.len() + 1;
                return Ok(None);
            };
            let is_repeated = start == end && self.last_end == Some(end);
            // A search from an empty match would find it again.
            self.at = if start == end { end + width_at(self.text, end) } else { end };
            self.last_end = Some(end);
            if !is_repeated {
                return Ok(Some((start, end)));
            }
        }
        Ok(None)
    }

    /// Goes on at a place where a match is known to start.
    #[inline]
    pub(super) fn go_on_at(&mut self, at: usize) {
        self.at = at;
        self.begun = None;
        self.last_end = Some(at);
    }

    /// How many bytes were read beyond the ends of matches so far.
    #[cfg(test)]
    pub(super) fn overshoot(&self) -> usize {
        self.overshoot
    }

    /// Remembers dead ends from the start.
    #[cfg(test)]
    pub(super) fn remembering(mut self) -> Self {
        self.overshoot = usize::MAX / 2;
        self
    }

    #[inline]
    fn find(&mut self, from: usize) -> Result<Option<(usize, usize)>> {
        let text = self.text;
        match &self.matcher.engine {
            Engine::Dfa(dfa) => self.find_dfa(dfa, from),
            Engine::Memo(memo) => {
                let memory = match self.memory.take() {
                    Some(memory) => memory,
                    None => memo.memory(text).ok_or_else(|| too_long(self.matcher))?,
                };
                Ok(memo.find(text, from, self.memory.insert(memory)))
            }
            Engine::Backtracking(regex) => regex.find(text, from, &self.matcher.source),
            Engine::Literal(finder) => Ok(finder
                .find(&text.as_bytes()[from..])
                .map(|start| (from + start, from + start + finder.needle().len()))),
        }
    }

    #[inline]
    fn find_dfa(&mut self, dfa: &ClassDfa, from: usize) -> Result<Option<(usize, usize)>> {
        let text = self.text.as_bytes();
        let mut at = from;
        loop {
            let run = match (&self.dead_ends, self.begun.take()) {
                (None, Some((state, next))) => run(dfa, text, state, next),
                (None, None) => run(dfa, text, dfa.start(), at),
                (Some(dead_ends), _) => run_around(dfa, text, at, dead_ends),
            };
            if let Some(begun) = run.begun {
                self.begun = Some(begun);
                return Ok(Some((at, run.reached)));
            }
            let vain = run.reached - run.end.unwrap_or(at);
            self.overshoot += vain;
            if vain > 0 && self.overshoot > FREE_OVERSHOOT * text.len() + FREE_BYTES {
                self.remember(dfa, at, &run)?;
            }
            if let Some(end) = run.end {
                return Ok(Some((at, end)));
            }
            // Go to the next character that can begin a match; the end of the text can begin one.
            let (_, mut width) = dfa.class_at(text, at);
            loop {
                if width == 0 {
                    return Ok(None);
                }
                at += width;
                let (class, next_width) = dfa.class_at(text, at);
                if dfa.begins(class) {
                    break;
                }
                width = next_width;
            }
        }
    }

    /// Remembers what a run read in vain.
    #[cold]
    fn remember(&mut self, dfa: &ClassDfa, start: usize, run: &Run) -> Result<()> {
        let text = self.text.as_bytes();
        let mut dead_ends = match self.dead_ends.take() {
            Some(dead_ends) => dead_ends,
            None => DeadEnds::new(dfa.idle_states(), text.len())
                .ok_or_else(|| too_long(self.matcher))?,
        };
        let mut state = dfa.start();
        let mut at = start;
        loop {
            // Pairs after the last match lead to none: the run saw none before it ended.
            if run.end.is_none_or(|end| at > end)
                && let Some(place) = dfa.idle(state)
                && !dead_ends.insert(place, at)
                && at > start
            {
                break;
            }
            let (class, width) = dfa.class_at(text, at);
            let step = dfa.step(state, class);
            if step.is_stop() {
                break;
            }
            state = step.state();
            at += width;
        }
        self.dead_ends = Some(dead_ends);
        Ok(())
    }
}

#[cold]
fn too_long(matcher: &Matcher) -> Error {
    Error::limit("A pattern needs too much memory on a text of this length.")
        .hint("Split the text into shorter ones, or use a pattern that looks less far ahead.")
        .value(matcher.source.clone())
}

/// How many bytes the character at a position has; one at the end of the text.
fn width_at(text: &str, at: usize) -> usize {
    text[at..].chars().next().map_or(1, char::len_utf8)
}

/// What came of starting the automaton somewhere.
#[derive(Debug, Clone, Copy)]
struct Run {
    /// Where the match ends, if there is one.
    end: Option<usize>,
    /// How far was read.
    reached: usize,
    /// If the match ends there and the next one begins: the state of that one, and the position
    /// to read on at.
    begun: Option<(usize, usize)>,
}

/// Reads on from a state and position until nothing can match any more.
#[inline]
fn run(dfa: &ClassDfa, text: &[u8], mut state: usize, mut at: usize) -> Run {
    let mut end = usize::MAX;
    loop {
        let (class, width) = dfa.class_at(text, at);
        let step = dfa.step(state, class);
        state = step.state();
        if step.is_match() {
            end = at;
        }
        if step.is_stop() {
            let begun = (state != DEAD).then_some((state, at + width));
            return Run { end: (end != usize::MAX).then_some(end), reached: at, begun };
        }
        at += width;
    }
}

/// As [`run`] from a start, but never into a dead end.
fn run_around(dfa: &ClassDfa, text: &[u8], start: usize, dead_ends: &DeadEnds) -> Run {
    let mut state = dfa.start();
    let mut at = start;
    let mut end = None;
    loop {
        if dfa.idle(state).is_some_and(|place| dead_ends.contains(place, at)) {
            return Run { end, reached: at, begun: None };
        }
        let (class, width) = dfa.class_at(text, at);
        let step = dfa.step(state, class);
        if step.is_match() {
            end = Some(at);
        }
        if step.is_stop() {
            return Run { end, reached: at, begun: None };
        }
        state = step.state();
        at += width;
    }
}

/// A set of pairs of state and position from which no match is reached.
///
/// Only states that can read on for ever without a match have a place here: a run passes each
/// other state once at most.
#[derive(Debug)]
struct DeadEnds {
    bits: Vec<u64>,
    states: usize,
}

impl DeadEnds {
    fn new(states: usize, length: usize) -> Option<Self> {
        let count = states.checked_mul(length + 1).filter(|&count| count <= MAX_DEAD_ENDS)?;
        Some(DeadEnds { bits: vec![0; count / 64 + 1], states })
    }

    fn contains(&self, state: usize, at: usize) -> bool {
        let bit = at * self.states + state;
        self.bits[bit / 64] >> (bit % 64) & 1 == 1
    }

    /// Whether the pair is new.
    fn insert(&mut self, state: usize, at: usize) -> bool {
        let bit = at * self.states + state;
        let is_new = self.bits[bit / 64] >> (bit % 64) & 1 == 0;
        self.bits[bit / 64] |= 1 << (bit % 64);
        is_new
    }
}
