//! Stage 2: rewrites the text before it is cut.
//!
//! Each step says what it changes as [`Edits`]; the fast path applies them to a string, the
//! reference path to an [`AlignedText`]. A text that nothing changes is not copied.
//! Everything here is linear in the text, but for the sorting of combining marks within one
//! cluster. A Unicode form makes a text at most 18 times longer (NFKC of one Arabic ligature); what
//! an artifact replaces text by may be longer, up to the bound of [`crate::text::edits`].

mod bert;
mod charsmap;
mod forms;
mod llama_cpp;
mod llama_cpp_blanks;
mod nmt;
mod sentencepiece;
mod stretches;

use std::borrow::Cow;

use crate::error::{Error, Result};
use crate::pattern::Matcher;
use crate::spec::{self, Semantics};
use crate::text::aligned::AlignedText;
use crate::text::alignment::Alignment;
use crate::text::alphabet;
use crate::text::edits::{Edits, check_growth};
use crate::text::seam::{inks, letters};
use unicode_normalization_alignments::char::is_combining_mark as is_mark;

use charsmap::Charsmap;
pub use forms::Form;
use llama_cpp_blanks::Blanks;
use sentencepiece::SentencePiece;

/// So many steps may run one after the other.
const MOST_STEPS: usize = 1024;

/// Which ends of a stretch of text are ends of a text. Where bytes that are no text stand next to
/// it, nothing is put there and nothing is trimmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ends {
    /// The text starts here.
    pub start: bool,
    /// The text ends here.
    pub end: bool,
}

impl Ends {
    /// A whole text.
    pub const BOTH: Self = Self { start: true, end: true };

    /// The ends of bytes `start..end` of a stretch of `length` bytes with these ends, where
    /// every cut inside is an end.
    #[must_use]
    pub fn of_part(self, start: usize, end: usize, length: usize) -> Self {
        Self { start: self.start || start > 0, end: self.end || end < length }
    }
}

/// Of a stretch inside a text.
const INSIDE: Ends = Ends { start: false, end: false };

/// A compiled normalizer: steps that run one after the other.
#[derive(Debug, Default)]
pub struct Normalizer {
    steps: Vec<Step>,
}

#[derive(Debug)]
enum Step {
    Form(Form),
    Lowercase,
    LlamaCppLowercase,
    StripAccents,
    Replace { pattern: Matcher, content: String },
    Prepend(String),
    Strip { left: bool, right: bool },
    CleanText,
    SpaceIdeographs,
    DropNonspacingMarks,
    Nmt,
    Charsmap(Charsmap),
    ByteLevel,
    SentencePiece(Box<SentencePiece>),
    LlamaCppWords(spec::LlamaCppWords),
    LlamaCppBlanks(Box<Blanks>),
}

impl Normalizer {
    /// Compiles the normalizer of a spec.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Artifact`] for a bad pattern or character map.
    pub fn compile(spec: Option<&spec::Normalizer>, semantics: Semantics) -> Result<Self> {
        let mut steps = Vec::new();
        if let Some(spec) = spec {
            add_steps(spec, semantics, &mut steps).map_err(|error| error.within("normalizer"))?;
        }
        if steps.len() > MOST_STEPS {
            return Err(Error::artifact("normalizer", "There are too many steps.")
                .hint(format!("At most {MOST_STEPS} can run one after the other."))
                .value(steps.len().to_string()));
        }
        Ok(Self { steps })
    }

    /// The normalized text.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Limit`] if a pattern reaches its bound.
    pub fn apply<'a>(&self, text: &'a str) -> Result<Cow<'a, str>> {
        self.apply_between(text, Ends::BOTH)
    }

    /// The normalized form of a text, or of a stretch of one.
    ///
    /// # Errors
    /// As [`Self::apply`].
    pub fn apply_between<'a>(&self, text: &'a str, ends: Ends) -> Result<Cow<'a, str>> {
        let original = text.len();
        let mut text = Cow::Borrowed(text);
        let mut edits = Edits::bounded(original);
        for step in &self.steps {
            step.run(&text, original, ends, &mut edits)?;
            if !edits.is_empty() {
                text = Cow::Owned(edits.apply(&text));
            }
        }
        check_growth(original, text.len())?;
        Ok(text)
    }

    /// The normalized text, and which stretches of it were rewritten.
    ///
    /// # Errors
    /// As [`Self::apply`].
    pub fn apply_with_alignment<'a>(
        &self,
        text: &'a str,
        ends: Ends,
    ) -> Result<(Cow<'a, str>, Alignment)> {
        let original = text.len();
        let mut text = Cow::Borrowed(text);
        let mut alignment = Alignment::default();
        let mut edits = Edits::bounded(original);
        for step in &self.steps {
            step.run(&text, original, ends, &mut edits)?;
            if !edits.is_empty() {
                alignment = alignment.rewritten(&edits);
                text = Cow::Owned(edits.apply(&text));
            }
        }
        check_growth(original, text.len())?;
        Ok((text, alignment))
    }

    /// What a blank becomes between letters, if a text may be normalized part by part where it is
    /// cut at [seams](crate::text::seam), and letters stay letters there.
    #[must_use]
    pub fn blank_at_seams(&self) -> Option<char> {
        let (becomes, blank) = self.joints(' ')?;
        let stays =
            |letter: char| becomes[letter as usize].is_some_and(|c| c.is_ascii_alphabetic());
        letters().all(stays).then_some(blank)
    }

    /// Whether it does nothing.
    #[must_use]
    pub fn is_identity(&self) -> bool {
        self.steps.is_empty()
    }

    /// Whether it does something else at the ends of a text.
    #[must_use]
    pub fn cares_for_ends(&self) -> bool {
        self.steps.iter().any(|step| {
            matches!(
                step,
                Step::Prepend(_)
                    | Step::Strip { .. }
                    | Step::SentencePiece(_)
                    | Step::LlamaCppWords(_)
                    | Step::LlamaCppBlanks(_)
            )
        })
    }

    /// For each ASCII character, what it becomes in front of `blank`, if a text may be normalized part
    /// by part where it is cut between the two; and what `blank` becomes, whatever comes behind it.
    #[must_use]
    pub fn joints(&self, blank: char) -> Option<([Option<char>; 128], char)> {
        let becomes =
            self.steps.iter().try_fold(blank, |blank, step| step.blank_at_joint(blank))?;
        let mut found = [None; 128];
        for ink in inks() {
            let normalized =
                self.apply_between(&format!("{ink}{blank}{ink}"), INSIDE).ok()?.into_owned();
            let mut chars = normalized.chars();
            let kept = (chars.next(), chars.next(), chars.next(), chars.next());
            if let (Some(first), Some(between), Some(last), None) = kept
                && first.is_ascii_graphic()
                && (between, last) == (becomes, first)
            {
                found[ink as usize] = Some(first);
            }
        }
        Some((found, becomes))
    }

    /// Whether, as far as rules know, the text may also be cut between letters beyond ASCII that it
    /// [keeps](Self::keeps_letter) and `blank`; provided that [`Self::joints`] are known.
    #[must_use]
    pub fn joins_wide(&self, mut blank: char) -> bool {
        self.steps.iter().all(|step| {
            let joins = match step {
                Step::Charsmap(map) => !map.crosses_wide(),
                Step::SentencePiece(rules) => rules.joins_wide(),
                Step::Replace { pattern, .. } => pattern.needle().is_some_and(|needle| {
                    needle.is_ascii() && !needle.iter().skip(1).any(|&c| char::from(c) == blank)
                }),
                _ => true,
            };
            joins && step.blank_at_joint(blank).map(|next| blank = next).is_some()
        })
    }

    /// Whether a letter beyond ASCII stays one, and what follows it from `blank` on is normalized
    /// apart from it, wherever the letter stands.
    #[must_use]
    pub fn keeps_letter(&self, letter: char, blank: char) -> bool {
        let clusters = |step: &Step| matches!(step, Step::Charsmap(map) if map.takes_clusters());
        // A mark may be gone with what it stands on.
        if !letter.is_alphabetic() || (is_mark(letter) && self.steps.iter().any(clusters)) {
            return false;
        }
        let normalized = |text: &str| self.apply_between(text, INSIDE).map(Cow::into_owned);
        let behind = format!("{blank}a");
        let (Ok(alone), Ok(rest), Ok(both)) = (
            normalized(letter.encode_utf8(&mut [0; 4])),
            normalized(&behind),
            normalized(&format!("{letter}{behind}")),
        ) else {
            return false;
        };
        alone.ends_with(|last: char| last.is_alphabetic()) && both == alone + &rest
    }

    /// Normalizes `text`, keeping track of where everything came from, and tells the name of
    /// each step that changed something, with the text after it.
    ///
    /// # Errors
    /// As [`Self::apply`].
    pub fn apply_aligned(
        &self,
        text: &mut AlignedText,
        mut tell: impl FnMut(&'static str, &AlignedText),
    ) -> Result<()> {
        let original = text.text().len();
        let mut edits = Edits::bounded(original);
        for step in &self.steps {
            step.run(text.text(), original, Ends::BOTH, &mut edits)?;
            if !edits.is_empty() {
                text.apply(&edits);
                tell(step.name(), text);
            }
        }
        check_growth(original, text.text().len())
    }
}

fn add_steps(spec: &spec::Normalizer, semantics: Semantics, steps: &mut Vec<Step>) -> Result<()> {
    use spec::Normalizer as Spec;
    steps.push(match spec {
        Spec::Sequence(items) => {
            for (index, item) in items.iter().enumerate() {
                add_steps(item, semantics, steps)
                    .map_err(|error| error.within(&format!("normalizers[{index}]")))?;
            }
            return Ok(());
        }
        Spec::Nfc => Step::Form(Form::Nfc),
        Spec::Nfd => Step::Form(Form::Nfd),
        Spec::Nfkc => Step::Form(Form::Nfkc),
        Spec::Nfkd => Step::Form(Form::Nfkd),
        Spec::Lowercase if semantics == Semantics::LlamaCpp => Step::LlamaCppLowercase,
        Spec::Lowercase => Step::Lowercase,
        Spec::StripAccents => Step::StripAccents,
        Spec::Replace(replace) => Step::Replace {
            pattern: Matcher::of(&replace.pattern, semantics)?,
            content: replace.content.clone(),
        },
        Spec::Prepend(prepend) => Step::Prepend(prepend.prepend.clone()),
        Spec::Strip(strip) => Step::Strip { left: strip.strip_left, right: strip.strip_right },
        Spec::Bert(bert) => {
            bert::add_steps(*bert, steps);
            return Ok(());
        }
        Spec::Nmt => Step::Nmt,
        Spec::Precompiled(map) => {
            Step::Charsmap(Charsmap::compile(&map.precompiled_charsmap, semantics)?)
        }
        Spec::ByteLevel => Step::ByteLevel,
        Spec::LlamaCppWords(rules) => Step::LlamaCppWords(*rules),
        Spec::LlamaCppBlanks(spec) => Step::LlamaCppBlanks(Box::new(Blanks::compile(spec)?)),
        Spec::SentencePiece(spec) => Step::SentencePiece(Box::new(SentencePiece::compile(spec)?)),
    });
    Ok(())
}

impl Step {
    /// The name of the component in `tokenizer.json`.
    fn name(&self) -> &'static str {
        match self {
            Step::Form(form) => form.name(),
            Step::Lowercase | Step::LlamaCppLowercase => "Lowercase",
            Step::StripAccents => "StripAccents",
            Step::Replace { .. } => "Replace",
            Step::Prepend(_) => "Prepend",
            Step::Strip { .. } => "Strip",
            Step::CleanText | Step::SpaceIdeographs | Step::DropNonspacingMarks => "BertNormalizer",
            Step::Nmt => "Nmt",
            Step::Charsmap(_) => "Precompiled",
            Step::ByteLevel => "ByteLevel",
            Step::SentencePiece(_) => "SentencePiece",
            Step::LlamaCppWords(_) => "LlamaCppWords",
            Step::LlamaCppBlanks(_) => "LlamaCppBlanks",
        }
    }

    /// What `blank` becomes behind graphic ASCII characters, whatever comes behind it, if the step
    /// does the same to the parts of a text that is cut between the two.
    fn blank_at_joint(&self, blank: char) -> Option<char> {
        let apart = match self {
            Step::Charsmap(map) => map.keeps_joints(),
            Step::SentencePiece(rules) => rules.keeps_joints(blank),
            Step::Replace { pattern, content } => {
                let before: Vec<char> = inks().collect();
                // What ends in a graphic character must go on to, and blanks may be what they like.
                let ends_in_ink = content
                    .ends_with(|last: char| last.is_alphanumeric() || last.is_ascii_graphic());
                // What starts at the blank must start with the same, whatever is taken with it.
                let first = content.chars().next();
                pattern.keeps_seams(&before, blank)
                    && (ends_in_ink || pattern.is_of_blanks())
                    && (pattern.skips(blank)
                        || first == Some(blank)
                        || (first.is_some() && pattern.surely_begins(blank)))
            }
            // No form composes a graphic character and a blank. The others look at single characters,
            // or at the ends of a text.
            Step::Form(_)
            | Step::Lowercase
            | Step::LlamaCppLowercase
            | Step::StripAccents
            | Step::Prepend(_)
            | Step::Strip { .. }
            | Step::CleanText
            | Step::SpaceIdeographs
            | Step::DropNonspacingMarks
            | Step::Nmt => true,
            Step::ByteLevel | Step::LlamaCppWords(_) | Step::LlamaCppBlanks(_) => false,
        };
        let between = |ink: char| {
            let text = format!("{ink}{blank}{ink}");
            let mut edits = Edits::bounded(text.len());
            self.run(&text, text.len(), INSIDE, &mut edits).ok()?;
            let changed = edits.apply(&text);
            let mut chars = changed.chars();
            let found = (chars.next()?, chars.next()?, chars.next()?);
            chars.next().is_none().then_some(found.1)
        };
        let becomes = inks().filter(|_| apart).find_map(between)?;
        matches!(becomes, ' ' | '\n' | '\u{2581}').then_some(becomes)
    }

    /// What the step changes in a text that came from one of `original` bytes.
    fn run(&self, text: &str, original: usize, ends: Ends, edits: &mut Edits) -> Result<()> {
        check_growth(original, text.len())?;
        edits.clear();
        self.edits(text, ends, edits)?;
        edits.check(original)
    }

    fn edits(&self, text: &str, ends: Ends, edits: &mut Edits) -> Result<()> {
        match self {
            Step::Form(form) => form.edits(text, edits),
            Step::Lowercase => lowercase(text, edits),
            Step::LlamaCppLowercase => llama_cpp::lowercase(text, edits),
            Step::StripAccents => strip_accents(text, edits),
            Step::Replace { pattern, content } => {
                pattern.for_each_match(text, |start, end| edits.replace(start, end, content))?;
            }
            // The reference leaves empty text empty.
            Step::Prepend(prefix) => {
                if ends.start && !text.is_empty() && !prefix.is_empty() {
                    edits.replace(0, 0, prefix);
                }
            }
            Step::Strip { left, right } => {
                strip(text, *left && ends.start, *right && ends.end, edits);
            }
            Step::CleanText => bert::clean_text(text, edits),
            Step::SpaceIdeographs => bert::space_ideographs(text, edits),
            Step::DropNonspacingMarks => bert::drop_nonspacing_marks(text, edits),
            Step::Nmt => nmt::clean(text, edits),
            Step::Charsmap(map) => map.edits(text, edits),
            Step::ByteLevel => alphabet::spell(text, edits),
            Step::SentencePiece(rules) => rules.edits(text, ends, edits),
            Step::LlamaCppWords(rules) => llama_cpp::words(*rules, text, edits),
            Step::LlamaCppBlanks(rules) => rules.edits(text, ends, edits),
        }
        Ok(())
    }
}

/// Character by character, as Unicode's full mapping says: no final sigma, `İ` becomes two.
fn lowercase(text: &str, edits: &mut Edits) {
    for (start, c) in text.char_indices() {
        if c.is_ascii() {
            if c.is_ascii_uppercase() {
                edits.replace_chars(start, start + 1, [c.to_ascii_lowercase()]);
            }
        } else if !c.to_lowercase().eq([c]) {
            edits.replace_chars(start, start + c.len_utf8(), c.to_lowercase());
        }
    }
}

/// Deletes combining marks.
fn strip_accents(text: &str, edits: &mut Edits) {
    drop_marks(text, unicode_normalization_alignments::char::is_combining_mark, edits);
}

/// Deletes marks, none of which is ASCII. A character that loses marks is rewritten together with
/// them, so that its offset covers them.
fn drop_marks(text: &str, is_mark: impl Fn(char) -> bool, edits: &mut Edits) {
    if text.is_ascii() {
        return;
    }
    let is_mark = |c: char| !c.is_ascii() && is_mark(c);
    let mut chars = text.char_indices().peekable();
    while let Some((start, c)) = chars.next() {
        let mut end = start + c.len_utf8();
        let kept = if is_mark(c) { start } else { end };
        while let Some((at, mark)) = chars.next_if(|&(_, c)| is_mark(c)) {
            end = at + mark.len_utf8();
        }
        if kept < end {
            edits.replace(start, end, &text[start..kept]);
        }
    }
}

fn strip(text: &str, left: bool, right: bool, edits: &mut Edits) {
    let start = if left { text.len() - text.trim_start().len() } else { 0 };
    if start > 0 {
        edits.replace(0, start, "");
    }
    let end = if right { text.trim_end().len().max(start) } else { text.len() };
    if end < text.len() {
        edits.replace(end, text.len(), "");
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use spec::Normalizer as Spec;

    fn run(spec: Spec, text: &str) -> String {
        let normalizer = Normalizer::compile(Some(&spec), Semantics::HuggingFace).unwrap();
        let fast = normalizer.apply(text).unwrap().into_owned();
        let mut aligned = AlignedText::new(text, 0);
        normalizer.apply_aligned(&mut aligned, |_, _| {}).unwrap();
        assert_eq!(aligned.text(), fast);
        fast
    }

    #[test]
    fn each_step() {
        assert_eq!(run(Spec::Nfc, "e\u{301}x"), "éx");
        assert_eq!(run(Spec::Lowercase, "ΑΣ İ"), "ας i\u{307}".replace('ς', "σ"));
        let strip = spec::StripNormalizer { strip_left: true, strip_right: true };
        assert_eq!(run(Spec::Strip(strip), " \u{a0}a b\n"), "a b");
        assert_eq!(run(Spec::Strip(strip), " \t "), "");
        let prepend = Spec::Prepend(spec::Prepend { prepend: "▁".into() });
        assert_eq!(run(prepend.clone(), "a"), "▁a");
        assert_eq!(run(prepend, ""), "");
        let accents = Spec::Sequence(vec![Spec::Nfd, Spec::StripAccents]);
        assert_eq!(run(accents, "Crème"), "Creme");
        assert_eq!(run(Spec::StripAccents, "\u{301}e\u{301}\u{323}x\u{301}"), "ex");
    }

    #[test]
    fn a_deleted_mark_belongs_to_its_base() {
        let bert = spec::BertNormalizer {
            clean_text: true,
            handle_chinese_chars: true,
            strip_accents: None,
            lowercase: true,
        };
        let accents = Spec::Sequence(vec![Spec::Nfd, Spec::StripAccents]);
        for spec in [accents, Spec::Bert(bert)] {
            let normalizer = Normalizer::compile(Some(&spec), Semantics::HuggingFace).unwrap();
            let (text, alignment) =
                normalizer.apply_with_alignment("e\u{301}\u{323} é", Ends::BOTH).unwrap();
            assert_eq!(text, "e e");
            let spans = [0, 1, 2].map(|at| alignment.span(at..at + 1));
            assert_eq!(spans, [(0, 5), (5, 6), (6, 8)]);
        }
    }

    #[test]
    fn an_unchanged_text_is_borrowed() {
        let normalizer = Normalizer::compile(Some(&Spec::Nfkc), Semantics::HuggingFace).unwrap();
        assert!(matches!(normalizer.apply("plain 世界").unwrap(), Cow::Borrowed(_)));
    }
}
