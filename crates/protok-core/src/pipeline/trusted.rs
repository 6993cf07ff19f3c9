//! Encoding of text that is trusted in part: see [`Trust`].
//!
//! Added tokens are refused by the search. What is left to do is the model's own vocabulary: where
//! a piece yields a control token from text that is not all trusted, the piece is encoded again by
//! the model that knows no control tokens.

use crate::added_tokens::{Phase, Section, SpecialPolicy, Trust};
use crate::error::{Error, ErrorKind, Result};
use crate::model::Symbol;
use crate::text::aligned::AlignedText;
use crate::text::unicode::is_word;

use super::Pipeline;

impl Pipeline {
    fn is_forged(&self, id: u32) -> bool {
        self.added.is_control(id) && self.unknown != Some(id)
    }

    /// Encodes a piece again if some control token in it is not `trusted`.
    pub(super) fn defuse(
        &self,
        piece: &[u8],
        trust: &Trust,
        symbols: &mut Vec<Symbol>,
        trusted: impl Fn(&Symbol) -> bool,
    ) -> Result<()> {
        if let Some(plain) = &self.plain_model
            && symbols.iter().any(|symbol| self.is_forged(symbol.id) && !trusted(symbol))
        {
            symbols.clear();
            self.with_scratch(&SpecialPolicy::Text, |scratch| {
                plain.encode_spans(piece, &self.vocab, scratch, symbols)
            })?;
        }
        self.refuse_forged(trust, symbols, trusted)
    }

    /// The same on the reference path.
    pub(super) fn defuse_reference(
        &self,
        piece: &AlignedText,
        trust: &Trust,
        symbols: &mut Vec<Symbol>,
    ) -> Result<()> {
        let trusted = |symbol: &Symbol| {
            let (start, end) = piece.span(symbol.start..symbol.end);
            trust.covers(start as usize, end as usize)
        };
        if let Some(plain) = &self.plain_model
            && symbols.iter().any(|symbol| self.is_forged(symbol.id) && !trusted(symbol))
        {
            *symbols = plain.encode_reference(piece.text().as_bytes(), &self.vocab, &mut ())?;
        }
        self.refuse_forged(trust, symbols, trusted)
    }

    /// Refuses a text from which the model would make a token that counts as a control token in
    /// this text alone: the model was compiled without knowing that it must not.
    fn refuse_forged(
        &self,
        trust: &Trust,
        symbols: &[Symbol],
        trusted: impl Fn(&Symbol) -> bool,
    ) -> Result<()> {
        if trust.control().is_empty() {
            return Ok(());
        }
        let forged = |symbol: &&Symbol| trust.control().contains(&symbol.id) && !trusted(symbol);
        let Some(symbol) = symbols.iter().find(forged) else { return Ok(()) };
        let token = self.token(symbol.id).unwrap_or_default().into_owned();
        Err(Error::new(
            ErrorKind::SpecialToken,
            format!(
                "The text spells {token:?} (id {}), which is a control token in this text, and \
                 the model's own vocabulary yields it.",
                symbol.id
            ),
        )
        .value(token)
        .hint("Name it in load(control_tokens=…), which makes a model that cannot."))
    }

    /// The sections of a text that is trusted in part, character by character: at each the longest
    /// token that stands there and counts.
    pub(super) fn trusted_sections(
        &self,
        text: &AlignedText,
        phase: Phase,
        trust: &Trust,
    ) -> Result<Vec<Section>> {
        let admits = |start: usize, end: usize| {
            let (start, end) = text.span(start..end);
            trust.covers(start as usize, end as usize)
        };
        let mut sections = Vec::new();
        let policy = SpecialPolicy::Trusted(trust.clone());
        if self.added.is_longest_first(phase) {
            // This search is naive as it is.
            self.added.split_where(text.text(), phase, &policy, &admits, |section| {
                sections.push(section);
                Ok(())
            })?;
            return Ok(sections);
        }
        let text = text.text();
        let forms = self.added.forms(phase);
        let (mut at, mut copied) = (0, 0);
        while at < text.len() {
            let standing = forms.iter().filter(|(form, token)| {
                text[at..].starts_with(form.as_str())
                    && (!self.added.is_guarded(token.id, &policy) || admits(at, at + form.len()))
            });
            // Of tokens that are spelled the same the first counts.
            let longest = standing.rev().max_by_key(|(form, _)| form.len());
            let Some((form, token)) = longest else {
                at += text[at..].chars().next().map_or(1, char::len_utf8);
                continue;
            };
            let (mut start, mut end) = (at, at + form.len());
            at = end;
            let beside = |c: Option<char>| c.is_some_and(is_word);
            if token.single_word
                && (beside(text[..start].chars().next_back()) || beside(text[end..].chars().next()))
            {
                continue;
            }
            if token.lstrip {
                start = text[..start].trim_end().len().max(copied);
            }
            if token.rstrip {
                end = text.len() - text[end..].trim_start().len();
            }
            if copied < start {
                sections.push(Section { start: copied, end: start, token: None });
            }
            sections.push(Section { start, end, token: Some(token.id) });
            copied = end;
        }
        if copied < text.len() {
            sections.push(Section { start: copied, end: text.len(), token: None });
        }
        Ok(sections)
    }
}
