//! What a backslash introduces: a character spelled in some way, a set, or a condition.
//!
//! Back-references, `\K`, `\G`, `\X`, octal numbers and single bytes are not read.

use super::charset::{self, CharSet};
use super::node::{Assertion, Node};
use super::parse::{Dialect, Parsed, Parser};

/// What a backslash introduces.
pub(super) enum Escape {
    /// A character spelled in some way.
    Literal(char),
    /// Anything else.
    Node(Node),
}

impl Parser<'_> {
    pub(super) fn escape(&mut self) -> Parsed<Escape> {
        let start = self.at - 1;
        if let Some(c) = self.character_escape()? {
            return Ok(Escape::Literal(c));
        }
        let Some(letter) = self.bump() else { return Err(self.stop("a final backslash")) };
        let node = match (letter, self.is_oniguruma()) {
            ('A', _) => Node::Assert(Assertion::TextStart),
            ('z', _) => Node::Assert(Assertion::TextEnd),
            ('Z', true) => Node::Assert(Assertion::LastLineEnd),
            ('b', true) => Node::Assert(Assertion::WordBoundary),
            ('B', true) => Node::Assert(Assertion::NotWordBoundary),
            ('N', true) => Node::Class(charset::not_newline()),
            ('O', true) => Node::Class(charset::any()),
            ('R', true) => line_break(),
            // Bare sets are not folded: `(?i:\p{Lu})` matches no small letter in Oniguruma.
            ('s' | 'S' | 'd' | 'D' | 'w' | 'W' | 'h' | 'H' | 'p' | 'P', true) => {
                self.at = start + 1;
                match self.set_escape(false)? {
                    Some(set) => Node::Class(set),
                    None => return Err(self.stop("an unknown escape")),
                }
            }
            ('s' | 'S' | 'd' | 'D' | 'w' | 'W' | 'p' | 'P', false) => {
                if matches!(letter, 'p' | 'P') && self.bump() == Some('{') {
                    self.at += self.text[self.at..].find('}').map_or(0, |end| end + 1);
                }
                let set = charset::class(&self.text[start..self.at], self.ignores_case());
                Node::Class(set.ok_or_else(|| self.stop("an unknown property"))?)
            }
            _ => {
                self.at = start;
                return Err(self.stop(format!("the escape \\{letter}")));
            }
        };
        Ok(Escape::Node(node))
    }

    /// After a backslash: a character spelled in some way. Consumes nothing otherwise.
    pub(super) fn character_escape(&mut self) -> Parsed<Option<char>> {
        let start = self.at;
        let c = match self.bump() {
            Some('t') => '\t',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('f') => '\u{c}',
            Some('v') => '\u{b}',
            Some('a') => '\u{7}',
            Some('e') if self.is_oniguruma() => '\u{1b}',
            Some('x') if self.eat("{") => {
                let digits = self.text[self.at..].split('}').next().unwrap_or_default();
                let c = hexadecimal(digits).ok_or_else(|| self.stop("an unknown code point"))?;
                self.at += digits.len() + 1;
                c
            }
            Some('x') => self
                .digits(2)
                .filter(char::is_ascii)
                .ok_or_else(|| self.stop("a byte escape; write a character as \\x{...}"))?,
            Some('u') if self.is_oniguruma() => {
                self.digits(4).ok_or_else(|| self.stop("an unknown code point"))?
            }
            Some(c) if c.is_ascii_punctuation() && (self.is_oniguruma() || !"<>".contains(c)) => c,
            Some(' ') if self.is_oniguruma() => ' ',
            Some(c) if !c.is_ascii() && self.is_oniguruma() => c,
            _ => {
                self.at = start;
                return Ok(None);
            }
        };
        Ok(Some(c))
    }

    fn digits(&mut self, count: usize) -> Option<char> {
        let c = hexadecimal(self.text.get(self.at..self.at + count)?)?;
        self.at += count;
        Some(c)
    }

    /// After a backslash: Oniguruma's types and properties. Consumes nothing otherwise.
    pub(super) fn set_escape(&mut self, in_bracket: bool) -> Parsed<Option<CharSet>> {
        let rest = &self.text[self.at..];
        let Some(letter) = rest.chars().next() else { return Ok(None) };
        if let Some(set) = charset::oniguruma_type(letter, in_bracket) {
            self.at += 1;
            return Ok(Some(set));
        }
        let Some(inner) = rest.strip_prefix("p{").or_else(|| rest.strip_prefix("P{")) else {
            return Ok(None);
        };
        let braced = inner.split('}').next().unwrap_or_default();
        let (name, caret) = braced.strip_prefix('^').map_or((braced, false), |name| (name, true));
        let set = charset::oniguruma_property(name, in_bracket)
            .filter(|_| inner.len() > braced.len())
            .ok_or_else(|| self.stop(format!("the unknown property {braced}")))?;
        let set = match self.dialect {
            Dialect::LlamaCpp => charset::of_llama_cpp(set),
            _ => set,
        };
        self.at += 3 + braced.len();
        Ok(Some(if caret != (letter == 'P') { charset::negated(set) } else { set }))
    }
}

fn hexadecimal(digits: &str) -> Option<char> {
    let is_plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    u32::from_str_radix(digits, 16).ok().filter(|_| is_plain).and_then(char::from_u32)
}

/// Oniguruma's `\R`.
fn line_break() -> Node {
    let mut one = charset::range('\n', '\r');
    one.union(&charset::single('\u{85}'));
    one.union(&charset::range('\u{2028}', '\u{2029}'));
    let pair = vec![Node::Class(charset::single('\r')), Node::Class(charset::single('\n'))];
    Node::Atomic(Box::new(Node::Alternate(vec![Node::Concat(pair), Node::Class(one)])))
}
