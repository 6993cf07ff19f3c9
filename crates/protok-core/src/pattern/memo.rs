//! Backtracking that never walks the same way twice: linear time for patterns with look-around.
//!
//! A pattern that looks further than one character does not fit the automaton. Here it is a small
//! program, run as a backtracking engine would: of two ways the preferred one first. But whether a
//! place of the program succeeds at a place of the text depends on nothing else, since nothing is
//! captured. So pairs of the two that failed are remembered for the whole text, and never entered
//! again; a text of n bytes takes a program of m places at most m·n steps, all searches together.
//!
//! Looking ahead or behind only asks whether there is a match. That is found out for all places of
//! the text in one pass, backwards for what lies ahead and forwards for what lies behind, with the
//! set of all places of the program that may be in reach. Groups that give nothing back (`(?>…)`)
//! remember where they ended as well.
//!
//! What does not fit goes to the engine of [`super::fallback`]: repeats of what may be empty, whose
//! meaning engines differ in, groups that give nothing back inside of a look-around, and programs
//! that are too large.
//!
//! Source: Davis et al., "Using Selective Memoization to Defeat Regular Expression Denial of
//! Service" (2021); Fujinami and Hasuo, "Efficient Matching with Memoization for Regexes with
//! Look-around and Atomic Grouping" (2024).

use std::collections::HashMap;

use super::charset::{self, CharSet};
use super::nfa::NotInAlgebra;
use super::node::{Assertion, Mode, Node};

const MAX_PLACES: usize = 2000;

/// The most bits that may be spent on remembering what failed: 128 MiB.
const MAX_BITS: usize = 1 << 30;

/// One place of a program.
#[derive(Debug, Clone, Copy)]
enum Place {
    /// Takes a character of a set.
    Char { set: usize, next: usize },
    /// Two ways on, the first preferred.
    Split { first: usize, second: usize },
    /// Goes on if the condition holds.
    Assert { condition: Assertion, next: usize },
    /// Goes on if the text looks so here.
    Look { look: usize, negated: bool, next: usize },
    /// Takes what the program from `body` matches first, and no other.
    Atomic { body: usize, next: usize },
    /// The end.
    Match,
}

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Memo {
    places: Vec<Place>,
    sets: Vec<CharSet>,
    looks: Vec<Look>,
    start: usize,
    word: CharSet,
}

#[derive(Debug, Clone, Copy)]
struct Look {
    ahead: bool,
    start: usize,
}

impl Memo {
    pub(super) fn new(node: &Node) -> Result<Self, NotInAlgebra> {
        let word = charset::oniguruma_word(false);
        let mut memo = Self { places: vec![], sets: vec![], looks: vec![], start: 0, word };
        let end = memo.push(Place::Match)?;
        memo.start = memo.add(node, end, Way::Main)?;
        Ok(memo)
    }

    fn push(&mut self, place: Place) -> Result<usize, NotInAlgebra> {
        if self.places.len() == MAX_PLACES {
            return Err("too many places");
        }
        self.places.push(place);
        Ok(self.places.len() - 1)
    }

    /// Adds a node in front of the place `next`; returns the place to enter at.
    fn add(&mut self, node: &Node, next: usize, way: Way) -> Result<usize, NotInAlgebra> {
        match node {
            Node::Empty => Ok(next),
            Node::Class(set) => {
                self.sets.push(set.clone());
                self.push(Place::Char { set: self.sets.len() - 1, next })
            }
            // Read backwards, what comes last is met first.
            Node::Concat(nodes) if way == Way::Backwards => {
                nodes.iter().try_fold(next, |next, node| self.add(node, next, way))
            }
            Node::Concat(nodes) => {
                nodes.iter().rev().try_fold(next, |next, node| self.add(node, next, way))
            }
            Node::Alternate(nodes) => {
                let mut entry = None;
                for node in nodes.iter().rev() {
                    let first = self.add(node, next, way)?;
                    entry = Some(match entry {
                        None => first,
                        Some(second) => self.push(Place::Split { first, second })?,
                    });
                }
                Ok(entry.unwrap_or(next))
            }
            Node::Repeat { mode: Mode::Possessive, node, min, max } => {
                let greedy =
                    Node::Repeat { node: node.clone(), min: *min, max: *max, mode: Mode::Greedy };
                self.atomic(&greedy, next, way)
            }
            Node::Repeat { node, min, max, mode } => {
                self.repeat(node, (*min, *max), *mode, next, way)
            }
            Node::Atomic(inner) => self.atomic(inner, next, way),
            Node::Look { ahead, negated, node } => {
                let end = self.push(Place::Match)?;
                // What lies ahead is found from its end, what lies behind from its start.
                let inner = if *ahead { Way::Backwards } else { Way::Forwards };
                let start = self.add(node, end, inner)?;
                self.looks.push(Look { ahead: *ahead, start });
                self.push(Place::Look { look: self.looks.len() - 1, negated: *negated, next })
            }
            Node::Assert(condition) => self.push(Place::Assert { condition: *condition, next }),
        }
    }

    fn atomic(&mut self, node: &Node, next: usize, way: Way) -> Result<usize, NotInAlgebra> {
        if way != Way::Main {
            return Err("a group that gives nothing back in a look-around");
        }
        let end = self.push(Place::Match)?;
        let body = self.add(node, end, way)?;
        self.push(Place::Atomic { body, next })
    }

    fn repeat(
        &mut self,
        node: &Node,
        (min, max): (u32, Option<u32>),
        mode: Mode,
        next: usize,
        way: Way,
    ) -> Result<usize, NotInAlgebra> {
        if max != Some(1) && node.is_nullable() {
            return Err("a repeat of something that may be empty");
        }
        let split = |body, out| match mode {
            Mode::Lazy => Place::Split { first: out, second: body },
            Mode::Greedy | Mode::Possessive => Place::Split { first: body, second: out },
        };
        let mut entry = next;
        match max {
            Some(max) => {
                for _ in min..max {
                    let body = self.add(node, entry, way)?;
                    entry = self.push(split(body, next))?;
                }
            }
            None => {
                entry = self.push(Place::Match)?; // until the body is known
                let body = self.add(node, entry, way)?;
                self.places[entry] = split(body, next);
            }
        }
        for _ in 0..min {
            entry = self.add(node, entry, way)?;
        }
        Ok(entry)
    }

    /// What is remembered of a text; none if that would take too much memory.
    pub(super) fn memory(&self, text: &str) -> Option<Memory> {
        let bits = self.places.len().checked_mul(text.len() + 1)?;
        let all = bits.checked_add(self.looks.len().checked_mul(text.len() + 1)?)?;
        if all > MAX_BITS {
            return None;
        }
        let mut memory =
            Memory { failed: Bits::new(bits), ended: HashMap::new(), looks: Vec::new() };
        // A look-around inside of another one was added before it.
        for look in &self.looks {
            let found = self.look(text, *look, &memory.looks);
            memory.looks.push(found);
        }
        Some(memory)
    }

    /// At which places of the text a look-around finds a match.
    fn look(&self, text: &str, look: Look, known: &[Bits]) -> Bits {
        let mut found = Bits::new(text.len() + 1);
        let mut reach = Reach::new(self.places.len());
        let mut visit = |at: usize, c: Option<char>| {
            reach.step(self, text, at, c, look.start, known);
            if reach.matched {
                found.set(at);
            }
        };
        if look.ahead {
            visit(text.len(), None);
            text.char_indices().rev().for_each(|(at, c)| visit(at, Some(c)));
        } else {
            visit(0, None);
            text.char_indices().for_each(|(at, c)| visit(at + c.len_utf8(), Some(c)));
        }
        found
    }

    /// The leftmost match at or after a position.
    pub(super) fn find(
        &self,
        text: &str,
        from: usize,
        memory: &mut Memory,
    ) -> Option<(usize, usize)> {
        let mut starts = text[from..].char_indices().map(|(at, _)| from + at).chain([text.len()]);
        starts.find_map(|start| Some((start, self.run(text, self.start, start, memory, false)?)))
    }

    /// Where the program ends that starts at a place of its own and of the text.
    fn run(
        &self,
        text: &str,
        place: usize,
        at: usize,
        memory: &mut Memory,
        atomic: bool,
    ) -> Option<usize> {
        let width = text.len() + 1;
        // The ways not taken yet, each with the length of the trail there.
        let mut open = vec![(place, at, 0)];
        let mut trail: Vec<usize> = Vec::new();
        while let Some((mut place, mut at, length)) = open.pop() {
            trail.truncate(length);
            let end = loop {
                let pair = place * width + at;
                if !memory.ended.is_empty()
                    && let Some(&end) = memory.ended.get(&pair)
                {
                    break Some(end as usize);
                }
                // What was passed before and did not end in a match has failed.
                if memory.failed.set(pair) {
                    break None;
                }
                trail.push(pair);
                match self.places[place] {
                    Place::Match => break Some(at),
                    Place::Char { set, next } => match text[at..].chars().next() {
                        Some(c) if charset::contains(&self.sets[set], c) => {
                            (place, at) = (next, at + c.len_utf8());
                        }
                        _ => break None,
                    },
                    Place::Split { first, second } => {
                        open.push((second, at, trail.len()));
                        place = first;
                    }
                    Place::Assert { condition, next } if self.holds(condition, text, at) => {
                        place = next;
                    }
                    Place::Look { look, negated, next }
                        if memory.looks[look].get(at) != negated =>
                    {
                        place = next;
                    }
                    Place::Atomic { body, next } => match self.run(text, body, at, memory, true) {
                        Some(end) => (place, at) = (next, end),
                        None => break None,
                    },
                    Place::Assert { .. } | Place::Look { .. } => break None,
                }
            };
            if let Some(end) = end {
                for &pair in &trail {
                    memory.failed.clear(pair);
                    if atomic {
                        memory.ended.insert(pair, end as u32);
                    }
                }
                return Some(end);
            }
        }
        None
    }

    fn holds(&self, condition: Assertion, text: &str, at: usize) -> bool {
        let bytes = text.as_bytes();
        let word = |c: Option<char>| c.is_some_and(|c| charset::contains(&self.word, c));
        let at_boundary =
            || word(text[..at].chars().next_back()) != word(text[at..].chars().next());
        match condition {
            Assertion::TextStart => at == 0,
            Assertion::TextEnd => at == bytes.len(),
            Assertion::LineStart => at == 0 || bytes[at - 1] == b'\n' && at < bytes.len(),
            Assertion::LineEnd => bytes.get(at).is_none_or(|&byte| byte == b'\n'),
            Assertion::LastLineEnd => matches!(&bytes[at..], [] | [b'\n']),
            Assertion::WordBoundary => at_boundary(),
            Assertion::NotWordBoundary => !at_boundary(),
        }
    }
}

/// How a node is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// As it stands, with its preferences.
    Main,
    /// As it stands, only for whether it matches.
    Forwards,
    /// From its end.
    Backwards,
}

/// What is known of a text.
#[derive(Debug)]
pub(super) struct Memory {
    /// The pairs of a place of the program and one of the text that lead nowhere.
    failed: Bits,
    /// Where those within a group that gives nothing back end.
    ended: HashMap<usize, u32>,
    /// For each look-around, the places of the text where it finds a match.
    looks: Vec<Bits>,
}

#[derive(Debug)]
struct Bits(Vec<u64>);

impl Bits {
    fn new(count: usize) -> Self {
        Self(vec![0; count / 64 + 1])
    }

    fn get(&self, bit: usize) -> bool {
        self.0[bit / 64] >> (bit % 64) & 1 == 1
    }

    /// Sets a bit; whether it was set before.
    fn set(&mut self, bit: usize) -> bool {
        let was = self.get(bit);
        self.0[bit / 64] |= 1 << (bit % 64);
        was
    }

    fn clear(&mut self, bit: usize) {
        self.0[bit / 64] &= !(1 << (bit % 64));
    }
}

/// The places of a program that are in reach, from wherever in the text it was started.
struct Reach {
    /// Places that wait for a character.
    waiting: Vec<usize>,
    /// The step in which each place was last visited.
    visited: Vec<usize>,
    stepped: usize,
    matched: bool,
}

impl Reach {
    fn new(places: usize) -> Self {
        Self { waiting: Vec::new(), visited: vec![0; places], stepped: 0, matched: false }
    }

    /// Takes a character, and starts the program once more at the place of the text behind it.
    fn step(
        &mut self,
        memo: &Memo,
        text: &str,
        at: usize,
        c: Option<char>,
        start: usize,
        looks: &[Bits],
    ) {
        self.stepped += 1;
        self.matched = false;
        let mut stack = vec![start];
        for place in std::mem::take(&mut self.waiting) {
            if let (Place::Char { set, next }, Some(c)) = (memo.places[place], c)
                && charset::contains(&memo.sets[set], c)
            {
                stack.push(next);
            }
        }
        while let Some(place) = stack.pop() {
            if std::mem::replace(&mut self.visited[place], self.stepped) == self.stepped {
                continue;
            }
            match memo.places[place] {
                Place::Match => self.matched = true,
                Place::Char { .. } => self.waiting.push(place),
                Place::Split { first, second } => stack.extend([first, second]),
                Place::Assert { condition, next } if memo.holds(condition, text, at) => {
                    stack.push(next);
                }
                Place::Look { look, negated, next } if looks[look].get(at) != negated => {
                    stack.push(next);
                }
                Place::Assert { .. } | Place::Look { .. } | Place::Atomic { .. } => {}
            }
        }
    }
}
