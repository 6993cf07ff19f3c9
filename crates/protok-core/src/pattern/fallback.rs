//! Patterns outside the algebra, on the backtracking engine of the `fancy-regex` crate.
//!
//! A pattern in Oniguruma's dialect is never handed over as it is written: its [`Node`] is spelled
//! out again in a form that leaves nothing to dialect (sets as ranges of code points, every
//! condition as an explicit look at the neighbours). A pattern in the dialect of `fancy-regex` goes
//! to it verbatim, for it is the reference.
//!
//! Backtracking can take exponential time, so the steps of every search are bounded.

use std::fmt::Write;

use fancy_regex::{Regex, RegexBuilder};

use crate::error::{Error, Result};

use super::charset::{self, CharSet};
use super::node::{Assertion, Mode, Node};
use super::scan::shortened;

/// How many times one search may backtrack.
const MAX_BACKTRACKS: usize = 1_000_000;

/// A pattern too large once its sets are spelled out.
const MAX_SPELLING: usize = 8 << 20;

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Backtracker(Regex);

impl Backtracker {
    /// Compiles the meaning of a pattern; `source` is its spelling, for messages.
    pub(super) fn new(node: &Node, source: &str) -> Result<Self> {
        let mut spelling = String::new();
        write(&mut spelling, node);
        Self::build(&spelling, source)
    }

    /// Compiles a pattern as `fancy-regex` reads it.
    pub(super) fn verbatim(source: &str) -> Result<Self> {
        Self::build(source, source)
    }

    fn build(spelling: &str, source: &str) -> Result<Self> {
        let refuse = |why: String| {
            Error::artifact("Regex", format!("The pattern cannot be compiled: {why}."))
                .hint("Nothing is approximated in its place.")
                .value(shortened(source))
        };
        if spelling.len() > MAX_SPELLING {
            return Err(refuse("it is too large".to_owned()));
        }
        RegexBuilder::new(spelling)
            .backtrack_limit(MAX_BACKTRACKS)
            .build()
            .map(Backtracker)
            .map_err(|error| refuse(shortened(&error.to_string())))
    }

    /// The leftmost match at or after a position.
    pub(super) fn find(
        &self,
        text: &str,
        from: usize,
        source: &str,
    ) -> Result<Option<(usize, usize)>> {
        match self.0.find_from_pos(text, from) {
            Ok(found) => Ok(found.map(|found| (found.start(), found.end()))),
            Err(error) => Err(Error::limit(format!(
                "The search for the pattern {source} was given up: {error}."
            ))
            .hint(format!(
                "The pattern needs backtracking, at most {MAX_BACKTRACKS} times a search. Simplify \
                 it, or split the text into shorter ones."
            ))
            .position(from)
            .value(source)),
        }
    }
}

fn write(out: &mut String, node: &Node) {
    if out.len() > MAX_SPELLING {
        return;
    }
    match node {
        Node::Empty => {}
        Node::Class(set) => write_set(out, set),
        Node::Concat(nodes) => nodes.iter().for_each(|node| write_group(out, "(?:", node)),
        Node::Alternate(nodes) => {
            out.push_str("(?:");
            for (index, node) in nodes.iter().enumerate() {
                if index > 0 {
                    out.push('|');
                }
                write(out, node);
            }
            out.push(')');
        }
        Node::Repeat { node, min, max, mode } => {
            if *mode == Mode::Possessive {
                out.push_str("(?>");
            }
            write_group(out, "(?:", node);
            let max = max.map_or_else(String::new, |max| max.to_string());
            // Writing to a string does not fail.
            let _ = write!(out, "{{{min},{max}}}");
            match mode {
                Mode::Greedy => {}
                Mode::Lazy => out.push('?'),
                Mode::Possessive => out.push(')'),
            }
        }
        Node::Atomic(node) => write_group(out, "(?>", node),
        Node::Look { ahead, negated, node } => {
            let open = match (ahead, negated) {
                (true, false) => "(?=",
                (true, true) => "(?!",
                (false, false) => "(?<=",
                (false, true) => "(?<!",
            };
            out.push_str(open);
            write(out, node);
            out.push(')');
        }
        Node::Assert(assertion) => write_assertion(out, *assertion),
    }
}

/// Writes a node so that it holds together; a set does as it is.
fn write_group(out: &mut String, open: &str, node: &Node) {
    let is_plain = open == "(?:" && matches!(node, Node::Class(_) | Node::Assert(_));
    if !is_plain {
        out.push_str(open);
    }
    write(out, node);
    if !is_plain {
        out.push(')');
    }
}

fn write_set(out: &mut String, set: &CharSet) {
    match set.ranges() {
        [] => out.push_str("(?!)"),
        [one] if one.start() == one.end() => write_char(out, one.start()),
        ranges => {
            out.push('[');
            for range in ranges {
                write_char(out, range.start());
                if range.end() > range.start() {
                    out.push('-');
                    write_char(out, range.end());
                }
            }
            out.push(']');
        }
    }
}

fn write_char(out: &mut String, c: char) {
    if c.is_ascii_alphanumeric() {
        out.push(c);
    } else {
        // Writing to a string does not fail.
        let _ = write!(out, "\\x{{{:X}}}", u32::from(c));
    }
}

fn write_assertion(out: &mut String, assertion: Assertion) {
    match assertion {
        Assertion::TextStart => out.push_str(r"\A"),
        Assertion::TextEnd => out.push_str(r"\z"),
        Assertion::LineStart => out.push_str(r"(?:\A|(?<=\n)(?!\z))"),
        Assertion::LineEnd => out.push_str(r"(?=\n|\z)"),
        Assertion::LastLineEnd => out.push_str(r"(?=\n?\z)"),
        Assertion::WordBoundary | Assertion::NotWordBoundary => {
            let mut word = String::new();
            write_set(&mut word, &charset::oniguruma_word(false));
            // Writing to a string does not fail.
            let _ = if assertion == Assertion::WordBoundary {
                write!(out, "(?:(?<={word})(?!{word})|(?<!{word})(?={word}))")
            } else {
                write!(out, "(?:(?<={word})(?={word})|(?<!{word})(?!{word}))")
            };
        }
    }
}
