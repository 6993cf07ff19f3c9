//! Reads a regular expression of either dialect into a [`Node`].
//!
//! The dialects are Oniguruma's (Ruby's syntax, as Hugging Face `tokenizers` uses it) and that of
//! the `fancy-regex` crate (as `tiktoken` uses it). They differ in what `$`, `^`, `{1,3}+`,
//! `{2}?`, `(?i)` in mid-pattern, `\w` and brackets mean. Whatever is not read here with certainty
//! stops the parser; nothing is guessed.
//!
//! Oniguruma folds case by full case folding, where one character may equal several: `(?i:ss)`
//! also matches `ß`. The algebra folds character by character, so a case-insensitive pattern where
//! the two differ is refused; `(?i:'s)`, which also matches `'ſ`, is no such case.
//!
//! One pass over the pattern, linear in its length apart from the sets it names.

use super::bracket;
use super::charset::{self, CharSet};
use super::escape::Escape;
use super::node::{Assertion, MAX_DEPTH, MAX_PATTERN, MAX_RANGES, Mode, Node};

/// Repeats beyond this many times are refused, as by Oniguruma.
const MAX_REPEAT: u32 = 100_000;

/// Whose spelling a pattern is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// Oniguruma with its default syntax.
    Oniguruma,
    /// The same, with llama.cpp's tables for properties: those of Unicode 15.1.
    LlamaCpp,
    /// The `fancy-regex` crate.
    Fancy,
}

/// Why and where the parser stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stop {
    /// What stands there, as the end of the sentence "The pattern has ...".
    pub what: String,
    /// The position in the pattern, in bytes.
    pub at: usize,
}

pub(super) type Parsed<T> = Result<T, Stop>;

/// Reads a pattern.
pub(super) fn parse(pattern: &str, dialect: Dialect) -> Parsed<Node> {
    let mut parser = Parser {
        text: pattern,
        at: 0,
        depth: 0,
        dialect,
        flags: Flags::default(),
        tail: Vec::new(),
        ranges: 0,
    };
    if pattern.len() > MAX_PATTERN {
        return Err(parser.stop("too many bytes"));
    }
    let node = parser.alternation()?;
    if parser.peek().is_some() {
        return Err(parser.stop("a closing parenthesis without an opening one"));
    }
    Ok(node)
}

#[derive(Debug, Clone, Copy, Default)]
struct Flags {
    ignore_case: bool,
    dot_all: bool,
    extended: bool,
}

/// The reader: a cursor over the pattern.
pub(super) struct Parser<'p> {
    pub text: &'p str,
    pub at: usize,
    depth: usize,
    pub dialect: Dialect,
    flags: Flags,
    /// The last case-insensitive literal characters in a row, in canonical spelling.
    tail: Vec<char>,
    /// The ranges of all sets so far.
    ranges: usize,
}

impl Parser<'_> {
    pub(super) fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    pub(super) fn bump(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    pub(super) fn eat(&mut self, expected: &str) -> bool {
        let found = self.text[self.at..].starts_with(expected);
        if found {
            self.at += expected.len();
        }
        found
    }

    pub(super) fn stop(&self, what: impl Into<String>) -> Stop {
        Stop { what: what.into(), at: self.at }
    }

    pub(super) fn is_oniguruma(&self) -> bool {
        self.dialect != Dialect::Fancy
    }

    pub(super) fn ignores_case(&self) -> bool {
        self.flags.ignore_case
    }

    pub(super) fn deeper(&mut self) -> Parsed<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.stop("groups nested too deeply"));
        }
        Ok(())
    }

    pub(super) fn shallower(&mut self) {
        self.depth -= 1;
    }

    fn alternation(&mut self) -> Parsed<Node> {
        self.deeper()?;
        let mut branches = vec![self.sequence()?];
        while self.eat("|") {
            self.tail.clear();
            branches.push(self.sequence()?);
        }
        self.shallower();
        Ok(Node::alternate(branches))
    }

    fn sequence(&mut self) -> Parsed<Node> {
        let mut nodes = Vec::new();
        loop {
            self.skip_blanks();
            match self.peek() {
                None | Some('|' | ')') => break,
                Some(_) => {}
            }
            if let Some(flags) = self.inline_flags()? {
                self.flags = flags;
                if self.is_oniguruma() {
                    // Ruby's flags hold to the end of the group and reach over `|`.
                    nodes.push(self.alternation()?);
                    break;
                }
                continue;
            }
            let atom = self.atom()?;
            nodes.push(self.quantified(atom)?);
        }
        Ok(Node::concat(nodes))
    }

    /// Blanks and comments of the extended syntax.
    fn skip_blanks(&mut self) {
        while self.flags.extended {
            match self.peek() {
                Some(' ' | '\t' | '\n' | '\r' | '\u{b}' | '\u{c}') => self.at += 1,
                Some('#') => {
                    let rest = &self.text[self.at..];
                    self.at += rest.find('\n').map_or(rest.len(), |end| end + 1);
                }
                _ => return,
            }
        }
    }

    /// `(?i)`, which is no group. Leaves the cursor alone if there is none.
    fn inline_flags(&mut self) -> Parsed<Option<Flags>> {
        let start = self.at;
        if self.eat("(?")
            && let Some(flags) = self.flag_letters()?
            && self.eat(")")
        {
            return Ok(Some(flags));
        }
        self.at = start;
        Ok(None)
    }

    /// The letters of `(?i-m:`; `None` if the group is of another kind.
    fn flag_letters(&mut self) -> Parsed<Option<Flags>> {
        let mut flags = self.flags;
        let mut on = true;
        loop {
            match (self.peek(), self.dialect) {
                (Some('i'), _) => flags.ignore_case = on,
                (Some('m'), Dialect::Oniguruma | Dialect::LlamaCpp)
                | (Some('s'), Dialect::Fancy) => flags.dot_all = on,
                (Some('x'), Dialect::Oniguruma | Dialect::LlamaCpp) => flags.extended = on,
                (Some('-'), _) if on => on = false,
                (Some(':' | ')'), _) => return Ok(Some(flags)),
                (Some(c), _) if c.is_ascii_alphabetic() && c != 'P' => {
                    return Err(self.stop(format!("the group option {c}")));
                }
                _ => return Ok(None),
            }
            self.at += 1;
        }
    }

    fn atom(&mut self) -> Parsed<Node> {
        let start = self.at;
        let Some(c) = self.bump() else { return Ok(Node::Empty) };
        let node = match c {
            '(' => return self.group(),
            '[' => {
                self.at = start;
                Node::Class(self.bracket()?)
            }
            '.' if self.flags.dot_all => Node::Class(charset::any()),
            '.' => Node::Class(charset::not_newline()),
            '^' if self.is_oniguruma() => Node::Assert(Assertion::LineStart),
            '^' => Node::Assert(Assertion::TextStart),
            '$' if self.is_oniguruma() => Node::Assert(Assertion::LineEnd),
            '$' => Node::Assert(Assertion::TextEnd),
            '*' | '+' | '?' => {
                self.at = start;
                return Err(self.stop("a repeat of nothing"));
            }
            '{' if !self.is_oniguruma() => {
                self.at = start;
                return Err(self.stop("an opening brace"));
            }
            '\\' => match self.escape()? {
                Escape::Literal(c) => return self.literal(c),
                Escape::Node(node) => node,
            },
            c => return self.literal(c),
        };
        self.tail.clear();
        if let Node::Class(set) = &node {
            self.charge(set)?;
        }
        Ok(node)
    }

    /// Counts the ranges of a set.
    pub(super) fn charge(&mut self, set: &CharSet) -> Parsed<()> {
        self.ranges += set.ranges().len();
        if self.ranges > MAX_RANGES {
            return Err(self.stop("too many sets"));
        }
        Ok(())
    }

    fn literal(&mut self, c: char) -> Parsed<Node> {
        let set = charset::single(c);
        if !self.flags.ignore_case {
            self.tail.clear();
            return Ok(Node::Class(set));
        }
        let set = charset::folded(set);
        if self.is_oniguruma() {
            self.tail.push(charset::canonical(c));
            if charset::folds_to_several(&set) || charset::ends_with_folding(&self.tail) {
                return Err(self.stop(
                    "case-insensitive letters that one other character equals, such as ss and ß",
                ));
            }
        }
        Ok(Node::Class(set))
    }

    fn bracket(&mut self) -> Parsed<CharSet> {
        if self.is_oniguruma() {
            return bracket::oniguruma(self, self.flags.ignore_case);
        }
        let length = bracket::fancy_length(&self.text[self.at..])
            .ok_or_else(|| self.stop("a bracket without an end"))?;
        let set = charset::class(&self.text[self.at..self.at + length], self.flags.ignore_case)
            .ok_or_else(|| self.stop("an unknown bracket"))?;
        self.at += length;
        Ok(set)
    }

    fn group(&mut self) -> Parsed<Node> {
        let start = self.at - 1;
        let outer = self.flags;
        let look = |ahead, negated| move |node| Node::Look { ahead, negated, node: Box::new(node) };
        let wrap: Box<dyn FnOnce(Node) -> Node> = if !self.eat("?") {
            Box::new(|node| node)
        } else if self.eat("=") {
            Box::new(look(true, false))
        } else if self.eat("!") {
            Box::new(look(true, true))
        } else if self.eat("<=") {
            Box::new(look(false, false))
        } else if self.eat("<!") {
            Box::new(look(false, true))
        } else if self.eat(">") {
            Box::new(|node| Node::Atomic(Box::new(node)))
        } else if self.eat("<") || (!self.is_oniguruma() && self.eat("P<")) {
            self.group_name()?;
            Box::new(|node| node)
        } else if self.is_oniguruma() && self.eat("#") {
            let rest = &self.text[self.at..];
            let end = rest.find(')').filter(|&end| !rest[..end].contains('\\'));
            self.at += end.ok_or_else(|| self.stop("a comment without an end"))? + 1;
            return Ok(Node::Empty);
        } else if let Some(flags) = self.flag_letters()?.filter(|_| self.eat(":")) {
            self.flags = flags;
            Box::new(|node| node)
        } else {
            self.at = start;
            return Err(self.stop("an unknown kind of group"));
        };
        let node = self.alternation()?;
        if !self.eat(")") {
            self.at = start;
            return Err(self.stop("a group without an end"));
        }
        self.flags = outer;
        let node = wrap(node);
        if !matches!(node, Node::Class(_) | Node::Concat(_) | Node::Alternate(_)) {
            self.tail.clear();
        }
        Ok(node)
    }

    fn group_name(&mut self) -> Parsed<()> {
        let name = self.text[self.at..].split('>').next().unwrap_or_default();
        let is_name = name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric())
            && name.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic());
        self.at += name.len();
        if is_name && self.eat(">") { Ok(()) } else { Err(self.stop("an unknown group name")) }
    }

    fn quantified(&mut self, atom: Node) -> Parsed<Node> {
        let mut node = atom;
        let mut stacked = 0;
        loop {
            self.skip_blanks();
            let start = self.at;
            let Some((min, max, is_fixed)) = self.quantifier()? else { return Ok(node) };
            self.tail.clear();
            if matches!(node, Node::Empty | Node::Look { .. } | Node::Assert(_)) {
                self.at = start;
                return Err(self.stop("a repeat of something without length"));
            }
            if stacked > 0 {
                let plain = matches!(node, Node::Repeat { mode: Mode::Greedy, .. });
                if !self.is_oniguruma() || !plain || node.is_nullable() || stacked > 4 {
                    self.at = start;
                    return Err(self.stop("a repeat of a repeat"));
                }
            }
            stacked += 1;
            let is_braced = self.text.as_bytes()[start] == b'{';
            let mode = if self.is_oniguruma() && is_braced {
                // `{2}?` is an optional pair, `{1,3}+` a repeat of the repeat.
                if !is_fixed && self.eat("?") { Mode::Lazy } else { Mode::Greedy }
            } else if self.eat("?") {
                Mode::Lazy
            } else if self.eat("+") {
                Mode::Possessive
            } else {
                Mode::Greedy
            };
            node = match (min, max) {
                (_, Some(0)) => Node::Empty,
                (1, Some(1)) if mode != Mode::Possessive => node,
                _ => Node::Repeat { node: Box::new(node), min, max, mode },
            };
        }
    }

    /// `?`, `*`, `+` or `{m,n}`: the bounds, and whether they are written as one number.
    fn quantifier(&mut self) -> Parsed<Option<(u32, Option<u32>, bool)>> {
        let start = self.at;
        let bounds = match self.peek() {
            Some('?') => (0, Some(1), false),
            Some('*') => (0, None, false),
            Some('+') => (1, None, false),
            Some('{') => return self.interval(start),
            _ => return Ok(None),
        };
        self.at += 1;
        Ok(Some(bounds))
    }

    fn interval(&mut self, start: usize) -> Parsed<Option<(u32, Option<u32>, bool)>> {
        self.at += 1;
        let low = self.number()?;
        let (high, is_fixed) = if self.eat(",") { (self.number()?, false) } else { (low, true) };
        if !self.eat("}") || (low.is_none() && high.is_none()) {
            self.at = start;
            // Ruby reads such a brace as itself.
            return if self.is_oniguruma() {
                Ok(None)
            } else {
                Err(self.stop("an unknown repeat"))
            };
        }
        let min = low.unwrap_or(0);
        if min > MAX_REPEAT || high.is_some_and(|max| max > MAX_REPEAT || max < min) {
            self.at = start;
            return Err(self.stop("a repeat out of bounds"));
        }
        Ok(Some((min, high, is_fixed)))
    }

    fn number(&mut self) -> Parsed<Option<u32>> {
        let rest = &self.text[self.at..];
        let length = rest.bytes().take_while(u8::is_ascii_digit).count();
        if length == 0 {
            return Ok(None);
        }
        let number = rest[..length].parse().map_err(|_| self.stop("a repeat out of bounds"))?;
        self.at += length;
        Ok(Some(number))
    }
}
