//! Bracketed sets such as `[^\r\n\p{L}]`.
//!
//! Oniguruma's brackets nest, intersect with `&&` (which binds weakest, below the outermost `^`)
//! and know POSIX names; they are read here. Those of `fancy-regex` are `regex-syntax`'s own, so
//! only their end is looked for.

use regex_syntax::hir::ClassUnicodeRange;

use super::charset::{self, CharSet};
use super::parse::{Parsed, Parser};

/// Reads a bracket at the cursor.
pub(super) fn oniguruma(parser: &mut Parser<'_>, ignore_case: bool) -> Parsed<CharSet> {
    let (set, negated) = set(parser, ignore_case)?;
    let set = if ignore_case { charset::folded(set) } else { set };
    if ignore_case && !negated && charset::folds_to_several(&set) {
        return Err(parser.stop("a case-insensitive set with a character that equals several"));
    }
    Ok(if negated { charset::negated(set) } else { set })
}

/// The set inside a bracket, and whether it is negated.
fn set(parser: &mut Parser<'_>, ignore_case: bool) -> Parsed<(CharSet, bool)> {
    let start = parser.at;
    parser.deeper()?;
    parser.eat("[");
    let negated = parser.eat("^");
    let mut all: Option<CharSet> = None;
    // Ranges are collected first: a set is sorted whenever something is added to it.
    let mut part = Vec::new();
    let first = parser.at;
    loop {
        if parser.at > first && parser.eat("]") {
            break;
        }
        if parser.eat("&&") {
            intersect(&mut all, CharSet::new(std::mem::take(&mut part)));
            continue;
        }
        let item = item(parser, ignore_case, start)?;
        let Item::Char(low) = item else {
            if let Item::Set(set) = item {
                parser.charge(&set)?;
                part.extend_from_slice(set.ranges());
            }
            if parser.text[parser.at..].starts_with('-')
                && !parser.text[parser.at..].starts_with("-]")
            {
                return Err(parser.stop("a range that starts with a set"));
            }
            continue;
        };
        let rest = &parser.text[parser.at..];
        if rest.starts_with('-') && !rest.starts_with("-]") {
            if low == '-' {
                return Err(parser.stop("a range that starts with a hyphen"));
            }
            parser.eat("-");
            match self::item(parser, ignore_case, start)? {
                Item::Char(high) if low <= high => part.push(ClassUnicodeRange::new(low, high)),
                _ => return Err(parser.stop("a range without an end")),
            }
            let rest = &parser.text[parser.at..];
            if rest.starts_with('-') && !rest.starts_with("-]") {
                return Err(parser.stop("a hyphen after a range"));
            }
        } else {
            part.push(ClassUnicodeRange::new(low, low));
        }
    }
    intersect(&mut all, CharSet::new(part));
    parser.shallower();
    Ok((all.unwrap_or_else(CharSet::empty), negated))
}

fn intersect(all: &mut Option<CharSet>, part: CharSet) {
    match all {
        None => *all = Some(part),
        Some(set) => set.intersect(&part),
    }
}

enum Item {
    Char(char),
    Set(CharSet),
}

fn item(parser: &mut Parser<'_>, ignore_case: bool, start: usize) -> Parsed<Item> {
    match parser.peek() {
        None => {
            parser.at = start;
            Err(parser.stop("a bracket without an end"))
        }
        Some(']') => Err(parser.stop("a closing bracket as a member; write \\]")),
        Some('[') if parser.text[parser.at..].starts_with("[:") => posix(parser).map(Item::Set),
        Some('[') if ignore_case => Err(parser.stop("a case-insensitive nested set")),
        Some('[') => {
            let (inner, negated) = set(parser, ignore_case)?;
            Ok(Item::Set(if negated { charset::negated(inner) } else { inner }))
        }
        Some('\\') => {
            parser.bump();
            if let Some(c) = parser.character_escape()? {
                return Ok(Item::Char(c));
            }
            match parser.set_escape(true)? {
                Some(set) => Ok(Item::Set(set)),
                None => Err(parser.stop("an unknown escape in a bracket")),
            }
        }
        Some(c) => {
            parser.bump();
            Ok(Item::Char(c))
        }
    }
}

fn posix(parser: &mut Parser<'_>) -> Parsed<CharSet> {
    let inner = &parser.text[parser.at + 2..];
    let name = inner.split(":]").next().unwrap_or_default();
    let (positive, negated) = name.strip_prefix('^').map_or((name, false), |name| (name, true));
    let set = charset::oniguruma_posix(positive)
        .filter(|_| inner.len() > name.len())
        .ok_or_else(|| parser.stop("an unknown POSIX set"))?;
    parser.at += 4 + name.len();
    Ok(if negated { charset::negated(set) } else { set })
}

/// How many bytes the bracket at the start of `text` has in `fancy-regex`.
pub(super) fn fancy_length(text: &str) -> Option<usize> {
    let mut depth = 0;
    let mut escaped = false;
    let mut may_close = false;
    for (at, c) in text.char_indices() {
        let at_start = !may_close;
        may_close = true;
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '[' => {
                depth += 1;
                may_close = false;
            }
            '^' if at_start => may_close = false,
            ']' if at_start => {}
            ']' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}
