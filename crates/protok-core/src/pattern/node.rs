//! The meaning of a regular expression, free of any dialect's spelling.
//!
//! A parser ([`super::parse`]) turns a pattern of either dialect into a [`Node`]. From there a
//! pattern goes one of two ways: [`super::nfa`] and [`super::class_dfa`] compile it to a table if
//! it lies in the small algebra of tokenizer grammars (characters, order, repeats, a look at one
//! character ahead); [`super::fallback`] writes it out again for a backtracking engine otherwise.

use super::charset::{self, CharSet};

/// Patterns longer than this many bytes are refused.
pub(super) const MAX_PATTERN: usize = 1 << 20;

/// All sets of a pattern together have at most so many ranges: a set as short as `\w` has
/// hundreds of them.
pub(super) const MAX_RANGES: usize = 1 << 21;

/// Patterns that are handed to `fancy-regex` as they are name at most so many sets.
pub(super) const MAX_VERBATIM_SETS: usize = 512;

/// Groups nested deeper than this are refused, so that recursion over a [`Node`] is bounded.
pub(super) const MAX_DEPTH: usize = 200;

/// One pattern.
#[derive(Debug, Clone)]
pub(super) enum Node {
    /// The empty string.
    Empty,
    /// One character of a set.
    Class(CharSet),
    /// One after the other.
    Concat(Vec<Node>),
    /// The first of several that leads to a match.
    Alternate(Vec<Node>),
    /// Repetition, `max` times at most.
    Repeat { node: Box<Node>, min: u32, max: Option<u32>, mode: Mode },
    /// What it matches first is final.
    Atomic(Box<Node>),
    /// Looks at the text without consuming it.
    Look { ahead: bool, negated: bool, node: Box<Node> },
    /// Holds between characters.
    Assert(Assertion),
}

/// How a repetition chooses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// As often as possible.
    Greedy,
    /// As seldom as possible.
    Lazy,
    /// As often as possible, with no second thoughts.
    Possessive,
}

/// A condition between two characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Assertion {
    /// The text starts here.
    TextStart,
    /// The text ends here.
    TextEnd,
    /// A line starts here; the empty line after a final line feed is none.
    LineStart,
    /// A line ends here.
    LineEnd,
    /// The text ends here, or after one line feed.
    LastLineEnd,
    /// A word starts or ends here.
    WordBoundary,
    /// No word starts or ends here.
    NotWordBoundary,
}

/// A condition on what comes next: a character of a set, or the end of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Next {
    /// The characters that fulfil it.
    pub chars: CharSet,
    /// Whether the end of the text fulfils it.
    pub end: bool,
}

impl Node {
    /// One after the other; no wrapper for a single node.
    pub(super) fn concat(mut nodes: Vec<Node>) -> Node {
        match nodes.len() {
            0 => Node::Empty,
            1 => nodes.remove(0),
            _ => Node::Concat(nodes),
        }
    }

    /// The first of several. Neighbouring sets become one set: which of two sets matched a
    /// character makes no difference.
    pub(super) fn alternate(nodes: Vec<Node>) -> Node {
        let mut merged: Vec<Node> = Vec::new();
        let mut ranges = Vec::new();
        for node in nodes {
            if let Node::Class(set) = &node {
                ranges.extend_from_slice(set.ranges());
                continue;
            }
            if !ranges.is_empty() {
                merged.push(Node::Class(CharSet::new(std::mem::take(&mut ranges))));
            }
            merged.push(node);
        }
        if !ranges.is_empty() {
            merged.push(Node::Class(CharSet::new(ranges)));
        }
        match merged.len() {
            0 => Node::Class(CharSet::empty()),
            1 => merged.remove(0),
            _ => Node::Alternate(merged),
        }
    }

    /// Whether it can match without consuming anything.
    pub(super) fn is_nullable(&self) -> bool {
        match self {
            Node::Empty | Node::Look { .. } | Node::Assert(_) => true,
            Node::Class(_) => false,
            Node::Concat(nodes) => nodes.iter().all(Node::is_nullable),
            Node::Alternate(nodes) => nodes.iter().any(Node::is_nullable),
            Node::Repeat { node, min, .. } => *min == 0 || node.is_nullable(),
            Node::Atomic(node) => node.is_nullable(),
        }
    }

    /// Whether it looks at what lies before it.
    pub(super) fn looks_behind(&self) -> bool {
        match self {
            Node::Look { ahead: false, .. } => true,
            Node::Empty | Node::Class(_) | Node::Assert(_) => false,
            Node::Concat(nodes) | Node::Alternate(nodes) => nodes.iter().any(Node::looks_behind),
            Node::Repeat { node, .. } | Node::Look { node, .. } => node.looks_behind(),
            Node::Atomic(node) => node.looks_behind(),
        }
    }

    /// What comes next wherever this node matches, if that alone decides whether it matches.
    pub(super) fn as_next(&self) -> Option<Next> {
        match self {
            Node::Empty => Some(Next { chars: charset::any(), end: true }),
            Node::Class(set) => Some(Next { chars: set.clone(), end: false }),
            Node::Alternate(nodes) => {
                let mut all = Next { chars: CharSet::empty(), end: false };
                for node in nodes {
                    let next = node.as_next()?;
                    all.chars.union(&next.chars);
                    all.end |= next.end;
                }
                Some(all)
            }
            Node::Repeat { node, min: 1, .. } if matches!(**node, Node::Class(_)) => node.as_next(),
            Node::Assert(Assertion::TextEnd) => Some(Next { chars: CharSet::empty(), end: true }),
            Node::Assert(Assertion::LineEnd) => {
                Some(Next { chars: charset::single('\n'), end: true })
            }
            Node::Look { ahead: true, negated, node } => {
                let mut next = node.as_next()?;
                if *negated {
                    next.chars.negate();
                    next.end = !next.end;
                }
                Some(next)
            }
            _ => None,
        }
    }
}
