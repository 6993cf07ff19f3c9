//! tiktoken's patterns, written so that the reference's regex engine reads them the same.
//!
//! tiktoken compiles patterns with `fancy-regex`, `tokenizers` with Oniguruma in Ruby's dialect.
//! They differ in places that matter here: Oniguruma's `$` also matches before a line end, and
//! its `{1,3}+` is a repetition of a repetition instead of a possessive one. [`to_oniguruma`]
//! accepts the small language in which the two are known to agree (classes and folding compared
//! over all code points for tiktoken 0.14 and tokenizers 0.23), rewrites those two, and refuses
//! everything else rather than guess.

use crate::error::{Error, Result};

/// Classes with the same members in both engines.
const CLASSES: &[&str] = &["L", "N", "M", "P", "S", "Lu", "Ll", "Lt", "Lm", "Lo", "Han"];

/// Pairs of letters that one character folds to in Oniguruma alone.
const FOLDED_PAIRS: &[&str] = &["ss", "st", "ff", "fi", "fl"];

const DEPTH: usize = 32;

/// The same pattern for Oniguruma.
pub(super) fn to_oniguruma(pattern: &str) -> Result<String> {
    let mut translator = Translator { rest: pattern, whole: pattern, out: String::new() };
    let nullable = translator.alternatives(0, false)?;
    if !translator.rest.is_empty() {
        return Err(translator.refuse("an unmatched parenthesis"));
    }
    if nullable {
        return Err(translator.refuse("a pattern that matches the empty text"));
    }
    Ok(translator.out)
}

struct Translator<'a> {
    whole: &'a str,
    rest: &'a str,
    out: String,
}

impl Translator<'_> {
    fn refuse(&self, what: &str) -> Error {
        let at = self.whole.len() - self.rest.len();
        Error::artifact("pre_tokenizer.pattern", format!("Byte {at} of the pattern is {what}."))
            .hint("The two regex engines may differ there, so it is not saved as tokenizer.json.")
    }

    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    fn eat(&mut self, text: &str) -> bool {
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// Returns whether the empty text can match.
    fn alternatives(&mut self, depth: usize, folded: bool) -> Result<bool> {
        if depth > DEPTH {
            return Err(self.refuse("nested too deeply"));
        }
        let mut nullable = self.sequence(depth, folded)?;
        while self.eat("|") {
            self.out.push('|');
            nullable |= self.sequence(depth, folded)?;
        }
        Ok(nullable)
    }

    fn sequence(&mut self, depth: usize, folded: bool) -> Result<bool> {
        let mut nullable = true;
        while let Some(c) = self.peek() {
            if c == '|' || c == ')' {
                break;
            }
            let start = self.out.len();
            let item = self.atom(depth, folded)?;
            nullable &= self.quantifier(start, item)?;
        }
        Ok(nullable)
    }

    fn atom(&mut self, depth: usize, folded: bool) -> Result<bool> {
        match self.next() {
            Some('(') => self.group(depth, folded),
            Some('[') => self.class(folded),
            Some('\\') => self.escape(folded).map(|()| false),
            Some('$') => {
                self.out.push_str("\\z");
                Ok(true)
            }
            Some('^' | '.' | '*' | '+' | '?' | '{' | '}' | ']') | None => {
                Err(self.refuse("after something that is not supported"))
            }
            Some(c) => {
                if folded && !(c.is_ascii_alphabetic() || c == '\'') {
                    return Err(self.refuse("after a character whose folding is not certain"));
                }
                self.out.push(c);
                Ok(false)
            }
        }
    }

    fn group(&mut self, depth: usize, folded: bool) -> Result<bool> {
        let (head, look, fold) = if self.eat("?:") {
            ("(?:", false, folded)
        } else if self.eat("?i:") {
            let body = self.rest.split(')').next().unwrap_or_default().to_lowercase();
            if FOLDED_PAIRS.iter().any(|pair| body.contains(pair)) {
                return Err(self.refuse("letters that fold to one character"));
            }
            ("(?i:", false, true)
        } else if self.eat("?!") {
            ("(?!", true, folded)
        } else if self.eat("?=") {
            ("(?=", true, folded)
        } else if self.eat("?>") {
            ("(?>", false, folded)
        } else {
            return Err(self.refuse("a group that is not supported"));
        };
        if folded {
            return Err(self.refuse("a group inside a case-insensitive one"));
        }
        self.out.push_str(head);
        let nullable = self.alternatives(depth + 1, fold)?;
        if !self.eat(")") {
            return Err(self.refuse("an unmatched parenthesis"));
        }
        self.out.push(')');
        Ok(nullable || look)
    }

    fn escape(&mut self, folded: bool) -> Result<()> {
        match self.next() {
            Some(c @ ('s' | 'S' | 'r' | 'n' | 't')) if !folded => {
                self.out.push('\\');
                self.out.push(c);
                Ok(())
            }
            Some(c @ ('p' | 'P')) if !folded => {
                let name = self
                    .rest
                    .strip_prefix('{')
                    .and_then(|rest| rest.split_once('}'))
                    .map(|(name, _)| name)
                    .filter(|name| CLASSES.contains(name));
                let Some(name) = name else {
                    return Err(self.refuse("a character class that was not compared"));
                };
                self.rest = &self.rest[name.len() + 2..];
                self.out.push('\\');
                self.out.push(c);
                self.out.push('{');
                self.out.push_str(name);
                self.out.push('}');
                Ok(())
            }
            Some(c) if c.is_ascii_punctuation() && !folded => {
                self.out.push('\\');
                self.out.push(c);
                Ok(())
            }
            _ => Err(self.refuse("after an escape that is not supported")),
        }
    }

    fn class(&mut self, folded: bool) -> Result<bool> {
        if folded && !self.out.ends_with(['\'', '|', ':']) {
            return Err(self.refuse("a class whose folding is not certain"));
        }
        self.out.push('[');
        if self.eat("^") {
            self.out.push('^');
        }
        let mut first = true;
        loop {
            match self.next() {
                Some(']') if !first => break,
                Some('\\') => self.escape(folded)?,
                Some(c) if !matches!(c, '[' | ']' | '&' | '~' | '-' | '^') => {
                    if folded && !c.is_ascii_alphabetic() {
                        return Err(self.refuse("a class whose folding is not certain"));
                    }
                    self.out.push(c);
                    if self.eat("-") {
                        let range = self.next().filter(|end| {
                            c.is_ascii_alphanumeric() && end.is_ascii_alphanumeric() && c <= *end
                        });
                        let Some(end) = range else {
                            return Err(self.refuse("after a range that is not supported"));
                        };
                        self.out.push('-');
                        self.out.push(end);
                    }
                }
                _ => return Err(self.refuse("inside a class that is not supported")),
            }
            first = false;
        }
        if folded && !self.rest.starts_with(['|', ')']) {
            return Err(self.refuse("after a class whose folding is not certain"));
        }
        self.out.push(']');
        Ok(false)
    }

    /// Copies what repeats the atom that was written from `start` on.
    fn quantifier(&mut self, start: usize, nullable: bool) -> Result<bool> {
        let empty = match self.peek() {
            Some(c @ ('?' | '*' | '+')) => {
                self.next();
                self.out.push(c);
                if self.eat("+") {
                    self.out.push('+');
                } else if self.peek() == Some('?') {
                    self.next();
                    self.out.push('?');
                }
                c != '+' || nullable
            }
            Some('{') => {
                let body = self.rest[1..].split_once('}').map(|(body, _)| body).unwrap_or_default();
                let (low, high) = body.split_once(',').unwrap_or((body, body));
                let (low, high): (u32, u32) = match (low.parse(), high.parse()) {
                    (Ok(low), Ok(high)) if low <= high && high <= 1000 => (low, high),
                    _ => return Err(self.refuse("a repetition that is not supported")),
                };
                self.rest = &self.rest[body.len() + 2..];
                let text = format!("{{{low},{high}}}");
                self.out.push_str(&text);
                if self.eat("+") {
                    self.out.insert_str(start, "(?>");
                    self.out.push(')');
                }
                low == 0 || nullable
            }
            _ => return Ok(nullable),
        };
        if matches!(self.peek(), Some('?' | '*' | '+' | '{')) {
            return Err(self.refuse("a repetition of a repetition"));
        }
        Ok(empty)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn rewrites_what_differs() {
        assert_eq!(
            to_oniguruma(r"'(?i:[sdmt]|ll)|\p{N}{1,3}+|\s++$|\s+(?!\S)|\s").unwrap(),
            r"'(?i:[sdmt]|ll)|(?>\p{N}{1,3})|\s++\z|\s+(?!\S)|\s"
        );
    }

    #[test]
    fn refuses_what_may_differ() {
        for pattern in [
            r"\w+",
            r"\d",
            ".",
            "^a",
            "a*",
            "",
            "(a)",
            r"\p{Greek}",
            "(?i:ss)",
            "[a&&b]",
            "(?i:é)",
            "a{1,3}{2}",
            "(?<=a)b",
            "(",
            "a)",
            "[",
            r"\",
            "(?i:a[s]t)",
            "[]a]",
            "a{2,1}",
            r"(?i:\.)",
        ] {
            assert!(to_oniguruma(pattern).is_err(), "{pattern}");
        }
        assert!(to_oniguruma(&"(?:".repeat(5000)).is_err());
    }
}
