//! A pattern of the algebra as a nondeterministic automaton with priorities.
//!
//! Of the two ways out of a [`State::Split`] the first is preferred, as a backtracking engine
//! would try it first. [`State::Next`] looks at what comes next without consuming it. The number
//! of states is linear in the pattern with its bounded repeats written out, and bounded.
//!
//! Possessive repeats are compiled as greedy ones where the two are proved equal. Let a repeat of
//! the set X be followed by Y. They differ only if Y fails after the longest run and succeeds after
//! a shorter one, where an X comes next. So they are equal if Y can always match (it never fails),
//! or if Y can neither consume an X nor succeed in front of one.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::charset::{self, CharSet};
use super::node::{Mode, Next, Node};

const MAX_STATES: usize = 20_000;
const MAX_SETS: usize = 300;

/// One state; numbers are places in [`Nfa::states`] and [`Nfa::sets`].
#[derive(Debug, Clone, Copy)]
pub(super) enum State {
    /// Consumes a character of a set.
    Char { set: usize, next: usize },
    /// Goes on if what comes next is in a set.
    Next { set: usize, next: usize },
    /// Two ways on, the first preferred.
    Split { first: usize, second: usize },
    /// The end of the pattern.
    Match,
}

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Nfa {
    pub states: Vec<State>,
    pub start: usize,
    pub sets: Vec<Next>,
}

/// Why a pattern has no automaton here.
pub(super) type NotInAlgebra = &'static str;

impl Nfa {
    pub(super) fn new(node: &Node) -> Result<Self, NotInAlgebra> {
        let mut builder = Builder::default();
        let end = builder.push(State::Match)?;
        let start = builder.add(node, end)?;
        for index in 0..builder.possessive.len() {
            let (set, exit) = builder.possessive[index];
            if !builder.greedy_equals_possessive(set, exit) {
                return Err("a possessive repeat that a greedy one does not equal");
            }
        }
        Ok(Nfa { states: builder.states, start, sets: builder.sets })
    }
}

/// The ranges of a set and whether it holds the end of the text.
type SetKey = (Vec<(char, char)>, bool);

#[derive(Default)]
struct Builder {
    states: Vec<State>,
    sets: Vec<Next>,
    numbers: HashMap<SetKey, usize, RandomState>,
    /// The set of each possessive repeat and the state behind it.
    possessive: Vec<(usize, usize)>,
}

impl Builder {
    fn push(&mut self, state: State) -> Result<usize, NotInAlgebra> {
        if self.states.len() == MAX_STATES {
            return Err("too many states");
        }
        self.states.push(state);
        Ok(self.states.len() - 1)
    }

    fn set(&mut self, set: Next) -> Result<usize, NotInAlgebra> {
        let ranges = set.chars.ranges().iter().map(|range| (range.start(), range.end())).collect();
        let key = (ranges, set.end);
        if let Some(&number) = self.numbers.get(&key) {
            return Ok(number);
        }
        if self.sets.len() == MAX_SETS {
            return Err("too many sets");
        }
        self.numbers.insert(key, self.sets.len());
        self.sets.push(set);
        Ok(self.sets.len() - 1)
    }

    fn class(&mut self, set: &CharSet) -> Result<usize, NotInAlgebra> {
        self.set(Next { chars: set.clone(), end: false })
    }

    fn split(&mut self, mode: Mode, body: usize, out: usize) -> State {
        match mode {
            Mode::Lazy => State::Split { first: out, second: body },
            Mode::Greedy | Mode::Possessive => State::Split { first: body, second: out },
        }
    }

    /// Adds a node in front of the state `next`; returns the state to enter at.
    fn add(&mut self, node: &Node, next: usize) -> Result<usize, NotInAlgebra> {
        match node {
            Node::Empty => Ok(next),
            Node::Class(set) => {
                let set = self.class(set)?;
                self.push(State::Char { set, next })
            }
            Node::Concat(nodes) => {
                nodes.iter().rev().try_fold(next, |next, node| self.add(node, next))
            }
            Node::Alternate(nodes) => {
                let mut entry = None;
                for node in nodes.iter().rev() {
                    let first = self.add(node, next)?;
                    entry = Some(match entry {
                        None => first,
                        Some(second) => self.push(State::Split { first, second })?,
                    });
                }
                Ok(entry.unwrap_or(next))
            }
            Node::Repeat { node, min, max, mode } => self.repeat(node, *min, *max, *mode, next),
            Node::Atomic(inner) => match &**inner {
                Node::Class(_) => self.add(inner, next),
                Node::Repeat { node, min, max, mode: Mode::Greedy } => {
                    self.repeat(node, *min, *max, Mode::Possessive, next)
                }
                _ => Err("an atomic group"),
            },
            Node::Look { .. } | Node::Assert(_) => {
                let set = node.as_next().ok_or("a condition on more than the next character")?;
                let set = self.set(set)?;
                self.push(State::Next { set, next })
            }
        }
    }

    fn repeat(
        &mut self,
        node: &Node,
        min: u32,
        max: Option<u32>,
        mode: Mode,
        next: usize,
    ) -> Result<usize, NotInAlgebra> {
        if mode == Mode::Possessive {
            let Node::Class(set) = node else { return Err("a possessive repeat of a group") };
            let set = self.class(set)?;
            self.possessive.push((set, next));
        }
        if max != Some(1) && node.is_nullable() {
            return Err("a repeat of something that may be empty");
        }
        let mut copies = min;
        let mut entry = match max {
            Some(max) => {
                let mut entry = next;
                for _ in min..max {
                    let body = self.add(node, entry)?;
                    let split = self.split(mode, body, next);
                    entry = self.push(split)?;
                }
                entry
            }
            None => {
                let split = self.push(State::Match)?; // until the body is known
                let body = self.add(node, split)?;
                self.states[split] = self.split(mode, body, next);
                copies = copies.saturating_sub(1);
                if min == 0 { split } else { body }
            }
        };
        for _ in 0..copies {
            entry = self.add(node, entry)?;
        }
        Ok(entry)
    }

    /// Whether a repeat of a set with `exit` behind it is equal in both modes.
    fn greedy_equals_possessive(&self, set: usize, exit: usize) -> bool {
        let repeated = &self.sets[set].chars;
        let mut may_follow = false;
        let mut seen = HashMap::new();
        let mut stack = vec![(exit, true)];
        while let Some((state, is_certain)) = stack.pop() {
            let known = seen.entry(state).or_insert(None);
            if *known == Some(true) || *known == Some(is_certain) {
                continue;
            }
            *known = Some(is_certain);
            match self.states[state] {
                State::Match if is_certain => return true,
                State::Match => may_follow = true,
                State::Char { set, .. } => {
                    may_follow |= charset::intersects(&self.sets[set].chars, repeated);
                }
                State::Next { set, next } => {
                    if charset::intersects(&self.sets[set].chars, repeated) {
                        stack.push((next, false));
                    }
                }
                State::Split { first, second } => {
                    stack.push((second, is_certain));
                    stack.push((first, is_certain));
                }
            }
        }
        !may_follow
    }
}
