//! The ways to cut a text: each says where its pieces start and end.
//!
//! [`Cut::for_each_piece`] goes through the text once; [`Cut::split`] is the reference: it names
//! the matches first and then does with them what the component says. Both are linear.

use crate::error::{Error, Result};
use crate::spec::{self, SplitBehavior};
use crate::text::scripts::piece_script;
use crate::text::unicode::{is_punctuation, is_word};

use super::Splitter;
use super::pieces::AtSeams;

/// A compiled cut.
#[derive(Debug)]
pub(super) enum Cut {
    /// At a pattern.
    Pattern(Splitter),
    /// At white space, which is dropped.
    WhiteSpace,
    /// Into runs of word characters and runs of what is neither these nor white space.
    Words,
    /// At white space, which is dropped, and around each punctuation character.
    Bert,
    /// At punctuation.
    Punctuation(SplitBehavior),
    /// At one character, which is dropped.
    Delimiter(char),
    /// Where the script changes.
    Scripts,
    /// After so many characters.
    FixedLength(usize),
}

/// What a character is to a cut.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    /// Dropped.
    Gap,
    /// A piece of its own.
    Single,
    /// Part of a run.
    Run(u8),
}

impl Cut {
    /// The cut of a component that neither rewrites the text nor holds others.
    ///
    /// # Errors
    /// As [`Splitter::compile`]; [`crate::ErrorKind::Artifact`] for a length of 0.
    pub(super) fn compile(spec: &spec::PreTokenizer) -> Result<Option<Self>> {
        use spec::PreTokenizer as Spec;
        Ok(Some(match spec {
            Spec::Split(split) => Self::Pattern(Splitter::compile(split)?),
            Spec::Digits(digits) => Self::Pattern(Splitter::digits(*digits)),
            Spec::Bert => Self::Bert,
            Spec::Whitespace => Self::Words,
            Spec::WhitespaceSplit => Self::WhiteSpace,
            Spec::Punctuation(punctuation) => Self::Punctuation(punctuation.behavior),
            Spec::CharDelimiterSplit(split) => Self::Delimiter(split.delimiter),
            Spec::UnicodeScripts => Self::Scripts,
            Spec::FixedLength(spec::FixedLength { length: 0 }) => {
                return Err(Error::artifact("length", "A piece cannot have no characters.")
                    .hint("The length must be at least 1.")
                    .value("0"));
            }
            Spec::FixedLength(fixed) => Self::FixedLength(fixed.length),
            Spec::Sequence(_) | Spec::ByteLevel(_) | Spec::Metaspace(_) => return Ok(None),
        }))
    }

    /// The engine of its pattern, if it has one.
    pub(super) fn engine(&self) -> Option<&'static str> {
        match self {
            Self::Pattern(splitter) => Some(splitter.engine()),
            _ => None,
        }
    }

    /// What it does at a seam whose blank is `blank`, with one of `before` in front, none of which
    /// is white space. A letter stands behind it; `anything` may.
    pub(super) fn at_seams(&self, before: &[char], blank: char, anything: bool) -> AtSeams {
        let ends = |ends| if ends { AtSeams::Cuts } else { AtSeams::GoesOn };
        let any = |is: fn(char) -> bool| before.iter().any(|&c| is(c));
        match self {
            Self::Pattern(splitter) => splitter.at_seams(before, blank, anything),
            Self::WhiteSpace => ends(blank.is_whitespace()),
            Self::Words if blank.is_whitespace() => AtSeams::Cuts,
            Self::Words if is_word(blank) || any(|c| !is_word(c)) => AtSeams::Unknown,
            Self::Words => AtSeams::Cuts,
            Self::Bert => ends(blank.is_whitespace() || is_punctuation(blank)),
            Self::Delimiter(at) if before.contains(at) => AtSeams::Unknown,
            Self::Delimiter(at) => ends(*at == blank),
            Self::Punctuation(_) if any(is_punctuation) => AtSeams::Unknown,
            Self::Punctuation(_) if !is_punctuation(blank) => AtSeams::GoesOn,
            // These count characters, or drop what starts a text.
            Self::Punctuation(_) | Self::Scripts | Self::FixedLength(_) => AtSeams::Unknown,
        }
    }

    /// Whether it cuts only beside one character, which is neither of these.
    pub(super) fn looks_for_neither(&self, before: char, blank: char) -> bool {
        match self {
            Self::Pattern(splitter) => splitter.looks_for_neither(before, blank),
            Self::Delimiter(at) => *at != before && *at != blank,
            _ => false,
        }
    }

    /// Whether it drops `blank` where it cuts before it.
    pub(super) fn drops(&self, blank: char) -> bool {
        match self {
            Self::WhiteSpace | Self::Words | Self::Bert => blank.is_whitespace(),
            Self::Delimiter(at) => *at == blank,
            Self::Pattern(splitter) => splitter.drops(),
            Self::Punctuation(behavior) => *behavior == SplitBehavior::Removed,
            Self::Scripts | Self::FixedLength(_) => false,
        }
    }

    /// Whether it counts from the start of a text, or drops what is there.
    pub(super) fn counts(&self) -> bool {
        matches!(self, Self::FixedLength(_) | Self::Scripts)
    }

    /// Whether all letters are the same to it before `blank`.
    pub(super) fn takes_letters_alike(&self, blank: char) -> bool {
        match self {
            Self::WhiteSpace => true,
            Self::Words | Self::Bert => blank.is_whitespace(),
            Self::Pattern(splitter) => splitter.looks_for_ascii(),
            Self::Punctuation(_) | Self::Delimiter(_) | Self::Scripts | Self::FixedLength(_) => {
                false
            }
        }
    }

    /// Calls `report` with the start and end of each piece, in order.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Limit`] if a pattern reaches its bound, and what `report` returns.
    pub(super) fn for_each_piece(
        &self,
        text: &str,
        report: impl FnMut(usize, usize) -> Result<()>,
    ) -> Result<()> {
        let drop_or_run = |drop| if drop { Class::Gap } else { Class::Run(0) };
        match self {
            Self::Pattern(splitter) => splitter.for_each_piece(text, report),
            Self::WhiteSpace => by_class(text, |c| drop_or_run(c.is_whitespace()), report),
            Self::Delimiter(at) => by_class(text, |c| drop_or_run(c == *at), report),
            Self::Words => by_class(
                text,
                |c| match () {
                    () if is_word(c) => Class::Run(0),
                    () if c.is_whitespace() => Class::Gap,
                    () => Class::Run(1),
                },
                report,
            ),
            Self::Bert => by_class(
                text,
                |c| match () {
                    () if c.is_ascii_alphanumeric() => Class::Run(0),
                    () if c.is_whitespace() => Class::Gap,
                    () if is_punctuation(c) => Class::Single,
                    () => Class::Run(0),
                },
                report,
            ),
            Self::Punctuation(behavior) => punctuation(text, *behavior, report),
            Self::Scripts => scripts(text, report),
            Self::FixedLength(length) => fixed_length(text, *length, report),
        }
    }

    /// Appends the start and end of each piece: the reference.
    ///
    /// # Errors
    /// As [`Self::for_each_piece`].
    pub(super) fn split(&self, text: &str, out: &mut Vec<(usize, usize)>) -> Result<()> {
        use SplitBehavior::{Isolated, Removed};
        match self {
            Self::Pattern(splitter) => return splitter.split(text, out),
            Self::WhiteSpace => join(&matches(text, char::is_whitespace), Removed, out),
            Self::Delimiter(at) => join(&matches(text, |c| c == *at), Removed, out),
            Self::Punctuation(behavior) => join(&matches(text, is_punctuation), *behavior, out),
            Self::Words => {
                let mut words = Vec::new();
                join(&matches(text, char::is_whitespace), Removed, &mut words);
                for (start, end) in words {
                    let kinds = matches(&text[start..end], is_word);
                    join_at(&kinds, start, SplitBehavior::Contiguous, out);
                }
            }
            Self::Bert => {
                let mut words = Vec::new();
                join(&matches(text, char::is_whitespace), Removed, &mut words);
                for (start, end) in words {
                    join_at(&matches(&text[start..end], is_punctuation), start, Isolated, out);
                }
            }
            Self::Scripts => {
                // What stands before the first character with a script is lost, as in the
                // reference.
                let mut last = None;
                let mut starts: Vec<usize> = Vec::new();
                for (at, c) in text.char_indices() {
                    if let Some(script) = piece_script(c) {
                        if last != Some(script) {
                            starts.push(at);
                        }
                        last = Some(script);
                    }
                }
                starts.push(text.len());
                out.extend(starts.windows(2).map(|pair| (pair[0], pair[1])));
            }
            Self::FixedLength(length) => {
                let starts: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
                let mut starts: Vec<usize> = starts.chunks(*length).map(|piece| piece[0]).collect();
                starts.push(text.len());
                out.extend(starts.windows(2).map(|pair| (pair[0], pair[1])));
            }
        }
        Ok(())
    }
}

/// Runs of one class, singles, and gaps that are dropped.
#[inline]
fn by_class(
    text: &str,
    class: impl Fn(char) -> Class,
    mut report: impl FnMut(usize, usize) -> Result<()>,
) -> Result<()> {
    let mut start = 0;
    let mut open = Class::Gap;
    for (at, c) in text.char_indices() {
        let class = class(c);
        if class == open && class != Class::Single {
            continue;
        }
        if open != Class::Gap {
            report(start, at)?;
        }
        start = at;
        open = class;
    }
    if open != Class::Gap { report(start, text.len()) } else { Ok(()) }
}

fn punctuation(
    text: &str,
    behavior: SplitBehavior,
    mut report: impl FnMut(usize, usize) -> Result<()>,
) -> Result<()> {
    let run = |c: char| Class::Run(u8::from(is_punctuation(c)));
    match behavior {
        SplitBehavior::Removed => {
            by_class(text, |c| if is_punctuation(c) { Class::Gap } else { Class::Run(0) }, report)
        }
        SplitBehavior::Isolated => by_class(
            text,
            |c| if is_punctuation(c) { Class::Single } else { Class::Run(0) },
            report,
        ),
        SplitBehavior::Contiguous => by_class(text, run, report),
        // A cut after every match, unless it follows text: that cut is after both.
        SplitBehavior::MergedWithPrevious => {
            let mut start = 0;
            for (at, c) in text.char_indices().filter(|&(_, c)| is_punctuation(c)) {
                let end = at + c.len_utf8();
                report(start, end)?;
                start = end;
            }
            if start < text.len() { report(start, text.len()) } else { Ok(()) }
        }
        // A cut before every match.
        SplitBehavior::MergedWithNext => {
            let mut start = 0;
            for (at, _) in text.char_indices().filter(|&(_, c)| is_punctuation(c)) {
                if at > start {
                    report(start, at)?;
                    start = at;
                }
            }
            if start < text.len() { report(start, text.len()) } else { Ok(()) }
        }
    }
}

fn scripts(text: &str, mut report: impl FnMut(usize, usize) -> Result<()>) -> Result<()> {
    let mut open = None;
    for (at, c) in text.char_indices() {
        let Some(script) = piece_script(c) else { continue };
        match open {
            Some((_, last)) if last == script => {}
            Some((start, _)) => {
                report(start, at)?;
                open = Some((at, script));
            }
            None => open = Some((at, script)),
        }
    }
    open.map_or(Ok(()), |(start, _)| report(start, text.len()))
}

fn fixed_length(
    text: &str,
    length: usize,
    mut report: impl FnMut(usize, usize) -> Result<()>,
) -> Result<()> {
    let mut start = 0;
    let mut count = 0;
    for (at, _) in text.char_indices() {
        if count == length {
            report(start, at)?;
            (start, count) = (at, 0);
        }
        count += 1;
    }
    if count > 0 { report(start, text.len()) } else { Ok(()) }
}

/// The characters that match, each by itself, and the stretches between: start, end, matched.
fn matches(text: &str, is_match: impl Fn(char) -> bool) -> Vec<(usize, usize, bool)> {
    let mut result = Vec::new();
    let mut rest = 0;
    for (at, c) in text.char_indices().filter(|&(_, c)| is_match(c)) {
        if rest < at {
            result.push((rest, at, false));
        }
        rest = at + c.len_utf8();
        result.push((at, rest, true));
    }
    if rest < text.len() {
        result.push((rest, text.len(), false));
    }
    result
}

fn join(parts: &[(usize, usize, bool)], behavior: SplitBehavior, out: &mut Vec<(usize, usize)>) {
    join_at(parts, 0, behavior, out);
}

/// Makes pieces of matches and the stretches between, as `behavior` says.
fn join_at(
    parts: &[(usize, usize, bool)],
    offset: usize,
    behavior: SplitBehavior,
    out: &mut Vec<(usize, usize)>,
) {
    let first = out.len();
    for (at, &(start, end, matched)) in parts.iter().enumerate() {
        let after = at.checked_sub(1).map(|before| parts[before].2);
        let joins = match behavior {
            SplitBehavior::Removed if matched => continue,
            SplitBehavior::Removed | SplitBehavior::Isolated => false,
            SplitBehavior::Contiguous => after == Some(matched),
            SplitBehavior::MergedWithPrevious => matched && after == Some(false),
            SplitBehavior::MergedWithNext => !matched && after == Some(true),
        };
        match out[first..].last_mut() {
            Some(piece) if joins => piece.1 = offset + end,
            _ => out.push((offset + start, offset + end)),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pieces<'a>(cut: &Cut, text: &'a str) -> Vec<&'a str> {
        let mut fast = Vec::new();
        cut.for_each_piece(text, |start, end| {
            fast.push((start, end));
            Ok(())
        })
        .unwrap();
        let mut naive = Vec::new();
        cut.split(text, &mut naive).unwrap();
        assert_eq!(fast, naive, "{cut:?} {text:?}");
        fast.iter().map(|&(start, end)| &text[start..end]).collect()
    }

    fn cuts() -> Vec<Cut> {
        use SplitBehavior::{Contiguous, Isolated, MergedWithNext, MergedWithPrevious, Removed};
        let mut cuts =
            vec![Cut::WhiteSpace, Cut::Words, Cut::Bert, Cut::Delimiter('e'), Cut::Scripts];
        cuts.extend([1, 3].map(Cut::FixedLength));
        cuts.extend(
            [Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous]
                .map(Cut::Punctuation),
        );
        cuts
    }

    #[test]
    fn what_each_cut_does() {
        assert_eq!(pieces(&Cut::WhiteSpace, " a b\u{85}c "), ["a", "b", "c"]);
        assert_eq!(pieces(&Cut::Words, "it's 5€…"), ["it", "'", "s", "5", "€…"]);
        assert_eq!(pieces(&Cut::Bert, "it's 5€…"), ["it", "'", "s", "5€", "…"]);
        assert_eq!(pieces(&Cut::Delimiter('e'), "eaee"), ["a"]);
        assert_eq!(pieces(&Cut::Scripts, " どこで生れ。 a"), ["どこで生れ", "。 ", "a"]);
        assert_eq!(pieces(&Cut::Scripts, "  "), [""; 0]);
        assert_eq!(pieces(&Cut::FixedLength(2), "añb"), ["añ", "b"]);
        let text = "..a,,b.";
        use SplitBehavior::{Contiguous, Isolated, MergedWithNext, MergedWithPrevious, Removed};
        let by = |behavior| pieces(&Cut::Punctuation(behavior), text);
        assert_eq!(by(Removed), ["a", "b"]);
        assert_eq!(by(Isolated), [".", ".", "a", ",", ",", "b", "."]);
        assert_eq!(by(MergedWithPrevious), [".", ".", "a,", ",", "b."]);
        assert_eq!(by(MergedWithNext), [".", ".a", ",", ",b", "."]);
        assert_eq!(by(Contiguous), ["..", "a", ",,", "b", "."]);
    }

    #[test]
    fn no_length_is_refused() {
        let fixed = spec::PreTokenizer::FixedLength(spec::FixedLength { length: 0 });
        assert_eq!(Cut::compile(&fixed).unwrap_err().kind, crate::ErrorKind::Artifact);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]
        #[test]
        fn the_reference_cuts_the_same(text in "([ae.,! \n\u{a0}世ひラー가д€\u{301}]|\\PC){0,20}") {
            for cut in cuts() {
                pieces(&cut, &text);
            }
        }
    }
}
