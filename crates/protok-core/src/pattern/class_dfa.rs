//! A leftmost-first automaton over classes of characters.
//!
//! Characters that no set of the pattern tells apart form one class; the end of the text is a class
//! of its own. A state is the list of the [`Nfa`] states that a backtracking engine would still try
//! here, best first. Conditions on what comes next are decided when the next class is read, and so
//! are matches: a transition with the flag [`MATCH`] says that a match ends *before* the class it
//! reads, and whatever ranks below that match is dropped. The last flag seen before the list runs
//! empty is where a backtracking engine would end its match. Where the next match begins with the
//! class that ended the last one, the transition says so, and the class is not read twice.
//!
//! Reading a character costs two or three dependent table look-ups. Building costs
//! O(states x classes x pattern) and is bounded in every dimension; a pattern beyond the bounds goes
//! to the backtracking engine.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::nfa::{Nfa, NotInAlgebra, State};
use super::node::{Next, Node};
use crate::text::seam::letters;

const MAX_CLASSES: usize = 250;
const MAX_STATES: usize = 4096;
const MAX_WORK: usize = 10_000_000;
const BLOCK: usize = 256;

/// A pattern is compiled whenever a tokenizer is loaded, and most of that is hashing.
type Numbers<K, V> = HashMap<K, V, RandomState>;

/// The flag of a transition before which a match ends.
const MATCH: u32 = 1 << 31;

/// The flag of a transition after which nothing can match any more. If a match ends right here and
/// another one can begin with the class just read, the state is the one in which that one goes on.
const STOP: u32 = 1 << 30;

/// The state in which nothing can match any more.
pub(super) const DEAD: usize = 0;

/// See the [module](self). States are numbered by the place of their row in the table.
#[derive(Debug)]
pub(super) struct ClassDfa {
    ascii: [u8; 128],
    block_of: Vec<u16>,
    blocks: Vec<u8>,
    transitions: Vec<u32>,
    stride: usize,
    end: usize,
    start: usize,
    /// Which classes can begin a match.
    begins: Vec<bool>,
    /// For each state that can read on for ever without a match, its place among them.
    idle: Vec<Option<u32>>,
    idle_states: usize,
}

impl ClassDfa {
    pub(super) fn new(node: &Node) -> Result<Self, NotInAlgebra> {
        let nfa = Nfa::new(node)?;
        let classes = Classes::new(&nfa.sets)?;
        let stride = classes.members.len();
        let mut transitions = Determinizer::new(&nfa, &classes).run()?;
        let (block_of, blocks) = classes.blocks();
        let mut ascii = [0; 128];
        for (c, class) in ascii.iter_mut().enumerate() {
            *class = blocks[usize::from(block_of[0]) * BLOCK + c];
        }
        let start = stride;
        let begins = transitions[start..start + stride].iter().map(|&to| to != 0).collect();
        let (idle, idle_states) = idle_states(&transitions, stride);
        mark_stops(&mut transitions, stride);
        Ok(ClassDfa {
            ascii,
            block_of,
            blocks,
            transitions,
            stride,
            end: stride - 1,
            start,
            begins,
            idle,
            idle_states,
        })
    }

    /// The state to begin in.
    #[inline]
    pub(super) fn start(&self) -> usize {
        self.start
    }

    /// What comes of reading a class.
    #[inline]
    pub(super) fn step(&self, state: usize, class: usize) -> Step {
        Step(self.transitions[state + class])
    }

    /// The class at a position of UTF-8 text, and how many bytes it takes: none at the end.
    #[inline]
    pub(super) fn class_at(&self, text: &[u8], at: usize) -> (usize, usize) {
        match text.get(at) {
            Some(&byte) if byte < 0x80 => (usize::from(self.ascii[usize::from(byte)]), 1),
            Some(&byte) => self.wide_class_at(text, at, byte),
            None => (self.end, 0),
        }
    }

    /// The class of an ASCII byte.
    pub(super) fn ascii_class(&self, byte: usize) -> usize {
        usize::from(self.ascii[byte])
    }

    #[inline]
    fn wide_class_at(&self, text: &[u8], at: usize, first: u8) -> (usize, usize) {
        let follow =
            |offset: usize| usize::from(text.get(at + offset).copied().unwrap_or_default() & 0x3f);
        let first = usize::from(first);
        let (c, width) = if first < 0xe0 {
            ((first & 0x1f) << 6 | follow(1), 2)
        } else if first < 0xf0 {
            ((first & 0xf) << 12 | follow(1) << 6 | follow(2), 3)
        } else {
            ((first & 0x7) << 18 | follow(1) << 12 | follow(2) << 6 | follow(3), 4)
        };
        let block = self.block_of.get(c / BLOCK).copied().unwrap_or_default();
        (usize::from(self.blocks[usize::from(block) * BLOCK + c % BLOCK]), width)
    }

    /// Whether matches leave out nothing of any text: each character begins one, and whatever comes
    /// behind it, the end included, some match is seen before nothing can match any more.
    pub(super) fn covers(&self) -> bool {
        let sure = self.sure_states();
        (0..self.end).all(|class| self.surely_begins_with(class, &sure))
    }

    /// Whether nothing but white space matches: whatever else is read ends a match or the search.
    pub(super) fn is_of_blanks(&self) -> bool {
        let mut other = vec![false; self.stride];
        // The last white space is U+3000.
        for c in (0..0x3100).filter_map(char::from_u32).filter(|c| !c.is_whitespace()) {
            other[self.class_of(c)] = true;
        }
        for &block in self.block_of.iter().skip(0x3100 / BLOCK) {
            let start = usize::from(block) * BLOCK;
            self.blocks[start..start + BLOCK]
                .iter()
                .for_each(|&class| other[usize::from(class)] = true);
        }
        (self.start..self.transitions.len()).step_by(self.stride).all(|state| {
            let mut others = (0..self.end).filter(|&class| other[class]);
            others.all(|class| self.step(state, class).is_stop())
        })
    }

    /// Whether a match begins at a character, whatever comes behind it.
    pub(super) fn surely_begins(&self, c: char) -> bool {
        self.surely_begins_with(self.class_of(c), &self.sure_states())
    }

    fn surely_begins_with(&self, class: usize, sure: &[bool]) -> bool {
        let step = self.step(self.start, class);
        !step.is_match() && !step.is_stop() && sure[step.state() / self.stride]
    }

    /// By number, whether some match is seen from a state on before nothing can match any more.
    fn sure_states(&self) -> Vec<bool> {
        let states = self.transitions.len() / self.stride;
        let mut sure = vec![true; states];
        let is_sure = |sure: &[bool], state: usize, class: usize| {
            let step = self.step(state, class);
            let goes_on = !step.is_stop() && class != self.end;
            step.is_match() || (goes_on && sure[step.state() / self.stride])
        };
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for state in (0..states).filter(|&state| state != self.start / self.stride) {
                let row = state * self.stride;
                if sure[state] && !(0..self.stride).all(|class| is_sure(&sure, row, class)) {
                    sure[state] = false;
                    changed = true;
                }
            }
        }
        sure
    }

    /// Whether a match can begin with a class.
    #[inline]
    pub(super) fn begins(&self, class: usize) -> bool {
        self.begins[class]
    }

    pub(super) fn class_of(&self, c: char) -> usize {
        self.class_at(c.encode_utf8(&mut [0; 4]).as_bytes(), 0).0
    }

    /// Whether nothing goes on from any of `before` to `blank`, and no match is empty.
    pub(super) fn ends_at(&self, before: &[char], blank: char) -> bool {
        let blank = self.class_of(blank);
        let states = (self.start..self.transitions.len()).step_by(self.stride);
        states.into_iter().all(|state| {
            before.iter().all(|&before| {
                let next = self.step(state, self.class_of(before)).state();
                next == DEAD || self.step(next, blank).is_stop()
            })
        }) && (0..self.stride).all(|class| !self.step(self.start, class).is_match())
    }

    /// Whether a match begins at `blank` where a letter follows, whatever comes then.
    pub(super) fn begins_at(&self, blank: char) -> bool {
        let begun = self.step(self.start, self.class_of(blank));
        !begun.is_stop()
            && letters().all(|letter| {
                let step = self.step(begun.state(), self.class_of(letter));
                step.is_match()
                    || (!step.is_stop()
                        && (0..self.stride).all(|class| self.step(step.state(), class).is_match()))
            })
    }

    /// The place of a state among those that can read on for ever without a match.
    #[inline]
    pub(super) fn idle(&self, state: usize) -> Option<usize> {
        self.idle[state / self.stride].map(|place| place as usize)
    }

    /// How many states can read on for ever without a match.
    pub(super) fn idle_states(&self) -> usize {
        self.idle_states
    }
}

/// One transition.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step(u32);

impl Step {
    /// Whether a match ends before the class that was read.
    #[inline]
    pub(super) fn is_match(self) -> bool {
        self.0 & MATCH != 0
    }

    /// Whether nothing can match any more.
    #[inline]
    pub(super) fn is_stop(self) -> bool {
        self.0 & STOP != 0
    }

    /// The state to go on in. After a stop: the state of the next match, begun with the class that
    /// was read, or [`DEAD`] if it has to be begun by itself.
    #[inline]
    pub(super) fn state(self) -> usize {
        (self.0 & !(MATCH | STOP)) as usize
    }
}

/// Sets the flag [`STOP`] and the states of next matches.
fn mark_stops(transitions: &mut [u32], stride: usize) {
    let begin = transitions[stride..2 * stride].to_vec();
    for row in transitions[stride..].chunks_mut(stride) {
        for (to, &begin) in row.iter_mut().zip(&begin) {
            match *to {
                // An empty match is none that could begin here again.
                MATCH if begin & MATCH == 0 => *to = MATCH | STOP | begin,
                0 | MATCH => *to |= STOP,
                _ => {}
            }
        }
    }
    transitions[..stride].fill(STOP);
}

/// The states on or between cycles of transitions without a match.
fn idle_states(transitions: &[u32], stride: usize) -> (Vec<Option<u32>>, usize) {
    let count = transitions.len() / stride;
    let mut edges = Vec::new();
    for (index, &to) in transitions.iter().enumerate() {
        if to & MATCH == 0 && to as usize != DEAD {
            edges.push((index / stride, to as usize / stride));
        }
    }
    edges.sort_unstable();
    edges.dedup();
    // Peel off what has no way in, and what has no way out, until all that is left has both.
    let mut left = vec![true; count];
    for into in [true, false] {
        let ends = |edge: &(usize, usize)| if into { (edge.1, edge.0) } else { (edge.0, edge.1) };
        let mut degree = vec![0_usize; count];
        let mut neighbours = vec![Vec::new(); count];
        for edge in edges.iter().filter(|edge| left[edge.0] && left[edge.1]) {
            let (counted, other) = ends(edge);
            degree[counted] += 1;
            neighbours[other].push(counted);
        }
        let mut stack: Vec<usize> = (0..count).filter(|&s| left[s] && degree[s] == 0).collect();
        while let Some(state) = stack.pop() {
            left[state] = false;
            for &neighbour in &neighbours[state] {
                degree[neighbour] -= 1;
                if degree[neighbour] == 0 {
                    stack.push(neighbour);
                }
            }
        }
    }
    let mut places = 0;
    let idle = left.iter().map(|&is_left| {
        is_left.then(|| {
            places += 1;
            places - 1
        })
    });
    (idle.collect(), places as usize)
}

/// The classes of characters that a list of sets does not tell apart.
struct Classes {
    /// For each class, for each set, whether the set holds it. The end of the text is the last.
    members: Vec<Vec<bool>>,
    /// Where each run of characters of one class starts, and the class.
    runs: Vec<(u32, u8)>,
}

impl Classes {
    fn new(sets: &[Next]) -> Result<Self, NotInAlgebra> {
        // At each boundary a set begins or ends.
        let mut boundaries = vec![(0, usize::MAX)];
        for (number, set) in sets.iter().enumerate() {
            for range in set.chars.ranges() {
                boundaries.push((u32::from(range.start()), number));
                boundaries.push((u32::from(range.end()) + 1, number));
            }
        }
        boundaries.sort_unstable();
        let mut inside = vec![false; sets.len()];
        let mut numbers: Numbers<Vec<bool>, u8> = Numbers::default();
        let mut members = Vec::new();
        let mut runs = Vec::new();
        for group in boundaries.chunk_by(|one, other| one.0 == other.0) {
            for &(_, number) in group {
                if let Some(inside) = inside.get_mut(number) {
                    *inside = !*inside;
                }
            }
            if group[0].0 > u32::from(char::MAX) {
                break;
            }
            let class = match numbers.get(&inside) {
                Some(&class) => class,
                None if members.len() == MAX_CLASSES => return Err("too many classes"),
                None => {
                    let class = members.len() as u8;
                    numbers.insert(inside.clone(), class);
                    members.push(inside.clone());
                    class
                }
            };
            runs.push((group[0].0, class));
        }
        members.push(sets.iter().map(|set| set.end).collect());
        Ok(Classes { members, runs })
    }

    /// The two-stage table from code points to classes.
    fn blocks(&self) -> (Vec<u16>, Vec<u8>) {
        let mut all = vec![0_u8; char::MAX as usize + 1];
        for (index, &(start, class)) in self.runs.iter().enumerate() {
            let end = self.runs.get(index + 1).map_or(all.len(), |&(next, _)| next as usize);
            all[start as usize..end].fill(class);
        }
        let mut numbers: Numbers<&[u8], u16> = Numbers::default();
        let mut blocks = Vec::new();
        let mut block_of = Vec::new();
        for block in all.chunks(BLOCK) {
            let next = numbers.len() as u16;
            block_of.push(*numbers.entry(block).or_insert_with(|| {
                blocks.extend_from_slice(block);
                next
            }));
        }
        (block_of, blocks)
    }
}

/// The subset construction over ordered lists.
struct Determinizer<'n> {
    nfa: &'n Nfa,
    classes: &'n Classes,
    numbers: Numbers<Vec<u32>, u32>,
    lists: Vec<Vec<u32>>,
    /// For each state of the automaton, the last pass that visited it, and that listed it.
    visited: Vec<u32>,
    listed: Vec<u32>,
    pass: u32,
    work: usize,
}

impl<'n> Determinizer<'n> {
    fn new(nfa: &'n Nfa, classes: &'n Classes) -> Self {
        let count = nfa.states.len();
        let mut result = Determinizer {
            nfa,
            classes,
            numbers: Numbers::default(),
            lists: Vec::new(),
            visited: vec![0; count],
            listed: vec![0; count],
            pass: 0,
            work: 0,
        };
        result.number(Vec::new()); // the dead state
        result.number(vec![nfa.start as u32]);
        result
    }

    fn number(&mut self, list: Vec<u32>) -> u32 {
        let next = self.lists.len() as u32;
        let lists = &mut self.lists;
        *self.numbers.entry(list).or_insert_with_key(|list| {
            lists.push(list.clone());
            next
        })
    }

    fn run(mut self) -> Result<Vec<u32>, NotInAlgebra> {
        let stride = self.classes.members.len();
        let mut transitions = vec![0; stride];
        let mut state = 1;
        while state < self.lists.len() {
            if self.lists.len() > MAX_STATES {
                return Err("too many states");
            }
            let list = self.lists[state].clone();
            for class in 0..stride {
                let (next, is_match) = self.step(&list, class);
                let to = self.number(next) * stride as u32;
                transitions.push(if is_match { to | MATCH } else { to });
                if self.work > MAX_WORK {
                    return Err("too much work to compile");
                }
            }
            state += 1;
        }
        Ok(transitions)
    }

    /// The list after reading a class, and whether a match ends before it.
    fn step(&mut self, list: &[u32], class: usize) -> (Vec<u32>, bool) {
        let members = &self.classes.members[class];
        self.pass += 1;
        let mut result = Vec::new();
        let mut stack: Vec<usize> = list.iter().rev().map(|&state| state as usize).collect();
        while let Some(state) = stack.pop() {
            self.work += 1;
            if std::mem::replace(&mut self.visited[state], self.pass) == self.pass {
                continue;
            }
            match self.nfa.states[state] {
                State::Match => return (result, true),
                State::Split { first, second } => stack.extend([second, first]),
                State::Next { set, next } if members[set] => stack.push(next),
                State::Char { set, next } if members[set] => {
                    if std::mem::replace(&mut self.listed[next], self.pass) != self.pass {
                        result.push(next as u32);
                    }
                }
                State::Next { .. } | State::Char { .. } => {}
            }
        }
        (result, false)
    }
}
