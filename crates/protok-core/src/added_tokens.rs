//! Stage 1: finds added tokens in the text, before the rest of it is touched.
//!
//! There are two searches, as in `tokenizers`: tokens that are not `normalized` in the raw
//! text, then the others, in their normalized form, in the normalized text between. Each search
//! is leftmost-longest over all its tokens. A match that fails `single_word` is dropped with the
//! text it covers, which is then not searched again: the reference's rule.
//!
//! Control tokens are those flagged special, and those that the caller names. What happens where
//! a text spells one is the [`SpecialPolicy`] of the call. Under [`SpecialPolicy::Text`] the
//! search does not know them, so an ordinary token inside or across one is still found.
//!
//! The search is linear in the text: an Aho-Corasick automaton, or for thousands of tokens, for
//! which that is slow to build, a sorted list.

mod by_id;
mod dictionary;
mod longest_first;
mod search;
mod trust;

use std::sync::OnceLock;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::error::{Error, ErrorKind, Result};
use crate::normalize::Normalizer;
use crate::spec::AddedToken;
use crate::text::seam::{crosses_with, starts_blank};
use crate::text::unicode::is_word;
use crate::vocab::MAX_ID;

use by_id::ById;
use longest_first::LongestFirst;
use search::{Pattern, Search, Searches};
pub use trust::Trust;

/// Longer tokens are refused: where one begins to match, so far is read ahead.
const MAX_BYTES: usize = 1024;

/// What to do where a text spells a control token.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum SpecialPolicy {
    /// Refuse the text.
    #[default]
    Raise,
    /// Encode it as the text it is.
    Text,
    /// Read it as the control token.
    Parse,
    /// Read these (by id) as control tokens, refuse the text if it spells another.
    Named(FxHashSet<u32>),
    /// Read it as the control token where all of it is trusted, as the text it is elsewhere.
    Trusted(Trust),
}

impl SpecialPolicy {
    /// Whether a model may yield control tokens from its own vocabulary.
    pub(crate) fn takes_pieces(&self) -> bool {
        matches!(self, Self::Parse | Self::Trusted(_))
    }
}

/// A stretch of text: an added token, or ordinary text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Section {
    /// First byte.
    pub start: usize,
    /// Past the last byte.
    pub end: usize,
    /// The id of the added token that it is.
    pub token: Option<u32>,
}

/// Which of the two searches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// In the raw text.
    Raw,
    /// In the normalized text.
    Normalized,
}

/// The added tokens of a tokenizer, compiled.
#[derive(Debug)]
pub struct AddedTokens {
    tokens: Vec<AddedToken>,
    by_id: ById,
    /// The id of each content, once somebody asked.
    by_content: OnceLock<FxHashMap<String, u32>>,
    control: FxHashSet<u32>,
    /// What the decoder reads for tokens whose normalized form differs.
    normalized_forms: FxHashMap<u32, String>,
    raw: Searches,
    normalized: Searches,
}

impl AddedTokens {
    /// Compiles the added tokens; `control` names control tokens besides those flagged special.
    ///
    /// # Errors
    /// [`ErrorKind::Artifact`] where the automaton cannot be built.
    pub fn compile(
        tokens: &[AddedToken],
        control: &FxHashSet<u32>,
        normalizer: &Normalizer,
    ) -> Result<Self> {
        tokens.iter().enumerate().try_for_each(|(place, token)| check_token(token, place))?;
        let tokens: Vec<AddedToken> =
            tokens.iter().filter(|token| !token.content.is_empty()).cloned().collect();
        let by_id = ById::new(tokens.iter().map(|token| token.id));
        let mut normalized_forms = FxHashMap::default();
        let (mut raw, mut normalized): (Vec<Pattern<'_>>, Vec<Pattern<'_>>) = Default::default();
        for (index, token) in tokens.iter().enumerate() {
            // Of two entries with one id the later one counts.
            if by_id.get(token.id) != Some(index) {
                continue;
            }
            if token.normalized {
                let form = normalizer.apply(&token.content).map_err(|error| {
                    Error::artifact(format!("added_tokens[{index}]"), error.to_string())
                })?;
                if *form != *token.content {
                    normalized_forms.insert(token.id, form.clone().into_owned());
                }
                normalized.push((form, index));
            } else {
                raw.push((token.content.as_str().into(), index));
            }
        }
        let raw = Searches::build(&raw, &tokens, control)?;
        let normalized = Searches::build(&normalized, &tokens, control)?;
        Ok(Self {
            raw,
            normalized,
            by_id,
            by_content: OnceLock::new(),
            control: control.clone(),
            normalized_forms,
            tokens,
        })
    }

    /// The same tokens under llama.cpp's rules: the longest is found first, and takes only ASCII
    /// white space with it.
    ///
    /// # Errors
    /// As [`Self::compile`].
    pub fn longest_first(mut self) -> Result<Self> {
        let mut raw = std::mem::take(&mut self.raw);
        for search in [&mut raw.all, &mut raw.ordinary].into_iter().flatten() {
            search.longest_first = Some(LongestFirst::build(&self, search.tokens.clone())?);
        }
        self.raw = raw;
        Ok(self)
    }

    /// The added token with an id.
    #[must_use]
    pub fn get(&self, id: u32) -> Option<&AddedToken> {
        self.by_id.get(id).map(|index| &self.tokens[index])
    }

    /// The id of a content; of two tokens with one the later counts.
    #[must_use]
    pub fn id_of(&self, content: &str) -> Option<u32> {
        let by_content = self.by_content.get_or_init(|| {
            self.tokens.iter().map(|token| (token.content.clone(), token.id)).collect()
        });
        by_content.get(content).copied()
    }

    /// All of them, in the order of the spec.
    #[must_use]
    pub fn tokens(&self) -> &[AddedToken] {
        &self.tokens
    }

    /// Whether an id is a control token's.
    #[must_use]
    pub fn is_control(&self, id: u32) -> bool {
        self.control.contains(&id)
    }

    /// The ids of all control tokens.
    #[must_use]
    pub fn control(&self) -> &FxHashSet<u32> {
        &self.control
    }

    /// What the decoder reads for an added token: its normalized form where it has one.
    #[must_use]
    pub fn decoded_form(&self, id: u32) -> Option<&str> {
        self.get(id).map(|token| self.spelled(token))
    }

    fn spelled<'a>(&'a self, token: &'a AddedToken) -> &'a str {
        self.normalized_forms.get(&token.id).unwrap_or(&token.content)
    }

    /// Whether what is found in a text is what is found in its parts, where it is cut at
    /// [seams](crate::text::seam) whose blank is `blank` in the normalized text.
    #[must_use]
    pub fn keep_seams(&self, blank: char) -> bool {
        let blank = blank.to_string();
        self.tokens.iter().all(|token| {
            let (spelled, blank) = match token.normalized {
                true => (self.spelled(token), &*blank),
                false => (token.content.as_str(), " "),
            };
            let ends_in_letter = spelled.ends_with(|c: char| c.is_ascii_alphabetic());
            let looks_across = crosses_with(spelled.as_bytes(), blank.as_bytes())
                || (token.rstrip && ends_in_letter)
                || (token.single_word && starts_blank(spelled.as_bytes()));
            !looks_across
        })
    }

    /// Whether what is found in a normalized text is what is found in its parts, where it is cut before
    /// a blank or a newline that follows neither.
    #[must_use]
    pub fn keep_joints(&self) -> bool {
        let is_blank = |c: char| c == '\u{2581}' || c.is_whitespace();
        self.tokens.iter().filter(|token| token.normalized).all(|token| {
            let form = self.spelled(token);
            let pairs = form.chars().zip(form.chars().skip(1));
            let crosses = pairs.into_iter().any(|(c, next)| !is_blank(c) && is_blank(next));
            let looks_behind = token.single_word && form.starts_with(is_blank);
            !crosses && !token.rstrip && !looks_behind
        })
    }

    /// Whether a search of this phase can find anything under a policy.
    #[must_use]
    pub fn any(&self, phase: Phase, policy: &SpecialPolicy) -> bool {
        self.searches(phase).choose(policy).is_some()
    }

    fn searches(&self, phase: Phase) -> &Searches {
        match phase {
            Phase::Raw => &self.raw,
            Phase::Normalized => &self.normalized,
        }
    }

    /// Cuts `text` into sections; `report` gets each, in order. Without added tokens the text is
    /// one section; an empty text has none.
    ///
    /// # Errors
    /// [`ErrorKind::SpecialToken`] where the policy refuses, and what `report` returns.
    pub fn split(
        &self,
        text: &str,
        phase: Phase,
        policy: &SpecialPolicy,
        report: impl FnMut(Section) -> Result<()>,
    ) -> Result<()> {
        match policy {
            SpecialPolicy::Trusted(trust) => self.split_where(
                text,
                phase,
                policy,
                &|start, end| trust.covers(start, end),
                report,
            ),
            _ => self.split_where(text, phase, policy, &|_, _| true, report),
        }
    }

    /// As [`Self::split`], where `text` is not the caller's own: `admits` says of two of its bytes
    /// whether all text between them is trusted. Only [`SpecialPolicy::Trusted`] asks.
    ///
    /// # Errors
    /// As [`Self::split`].
    pub fn split_where(
        &self,
        text: &str,
        phase: Phase,
        policy: &SpecialPolicy,
        admits: &dyn Fn(usize, usize) -> bool,
        mut report: impl FnMut(Section) -> Result<()>,
    ) -> Result<()> {
        let search = self.searches(phase).choose(policy);
        if let Some(rules) = search.and_then(|search| search.longest_first.as_ref()) {
            return rules.split(self, text, policy, admits, report);
        }
        let asks = matches!(policy, SpecialPolicy::Trusted(_));
        let mut copied = 0;
        if let Some(search) = search {
            let mut searched = 0;
            while let Some((mut pattern, mut start, mut end)) = search.engine.find(text, searched) {
                if asks {
                    let found = self.admitted(search, phase, policy, (pattern, start, end), admits);
                    let Some(admitted) = found else {
                        searched = start + text[start..].chars().next().map_or(1, char::len_utf8);
                        continue;
                    };
                    (pattern, end) = admitted;
                }
                searched = end;
                let token = &self.tokens[search.tokens[pattern]];
                if token.single_word && touches_word(text, start, end) {
                    continue;
                }
                self.check(token, start, policy)?;
                if token.lstrip {
                    start = text[..start].trim_end().len().max(copied);
                }
                if token.rstrip {
                    end = text.len() - text[end..].trim_start().len();
                }
                if copied < start {
                    report(Section { start: copied, end: start, token: None })?;
                }
                report(Section { start, end, token: Some(token.id) })?;
                copied = end;
            }
        }
        if copied < text.len() {
            report(Section { start: copied, end: text.len(), token: None })?;
        }
        Ok(())
    }

    fn check(&self, token: &AddedToken, at: usize, policy: &SpecialPolicy) -> Result<()> {
        let refused = match policy {
            SpecialPolicy::Raise => self.is_control(token.id),
            SpecialPolicy::Named(ids) => self.is_control(token.id) && !ids.contains(&token.id),
            SpecialPolicy::Text | SpecialPolicy::Parse | SpecialPolicy::Trusted(_) => false,
        };
        if !refused {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::SpecialToken,
            format!("The text spells the control token {:?} (id {}).", token.content, token.id),
        )
        .position(at)
        .value(token.content.clone())
        .hint(
            "Pass special=\"text\" to encode it as plain text, or special=\"parse\" to read it \
             as the control token, if you trust the text.",
        ))
    }
}

/// Refuses what would take memory or time out of proportion.
fn check_token(token: &AddedToken, place: usize) -> Result<()> {
    let bad =
        |field: &str, what: String| Error::artifact(format!("added_tokens[{place}].{field}"), what);
    if token.id > MAX_ID {
        return Err(bad("id", format!("The id {} is too large.", token.id))
            .hint(format!("Ids up to {MAX_ID} can be loaded."))
            .value(token.id.to_string()));
    }
    if token.content.len() > MAX_BYTES {
        return Err(bad("content", format!("The token has {} bytes.", token.content.len()))
            .hint(format!("Added tokens of up to {MAX_BYTES} bytes can be loaded.")));
    }
    Ok(())
}

fn touches_word(text: &str, start: usize, end: usize) -> bool {
    text[..start].chars().next_back().is_some_and(is_word)
        || text[end..].chars().next().is_some_and(is_word)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn token(id: u32, content: &str, special: bool) -> AddedToken {
        AddedToken {
            id,
            content: content.into(),
            single_word: false,
            lstrip: false,
            rstrip: false,
            normalized: false,
            special,
        }
    }

    fn compile(tokens: &[AddedToken]) -> AddedTokens {
        let control = tokens.iter().filter(|token| token.special).map(|token| token.id).collect();
        AddedTokens::compile(tokens, &control, &Normalizer::default()).unwrap()
    }

    fn split(tokens: &AddedTokens, text: &str, policy: &SpecialPolicy) -> Vec<(String, i64)> {
        let mut sections = Vec::new();
        tokens
            .split(text, Phase::Raw, policy, |section| {
                let id = section.token.map_or(-1, i64::from);
                sections.push((text[section.start..section.end].to_owned(), id));
                Ok(())
            })
            .unwrap();
        sections
    }

    fn sections(expected: &[(&str, i64)]) -> Vec<(String, i64)> {
        expected.iter().map(|&(text, id)| (text.to_owned(), id)).collect()
    }

    #[test]
    fn leftmost_longest_whatever_the_order() {
        for order in [[1, 2, 3], [3, 2, 1]] {
            let tokens: Vec<_> = order
                .iter()
                .map(|&id| token(id, ["", "t_1", "t_12", "t_123"][id as usize], false))
                .collect();
            let found = split(&compile(&tokens), "t_1 t_12t_123", &SpecialPolicy::Parse);
            let expected = [("t_1", 1), (" ", -1), ("t_12", 2), ("t_123", 3)];
            assert_eq!(found, sections(&expected));
        }
    }

    #[test]
    fn policies() {
        let tokens =
            compile(&[token(1, "<s>", true), token(2, "<t>", true), token(3, "s>x", false)]);
        let text = "a<s>x";
        let error = tokens.split(text, Phase::Raw, &SpecialPolicy::Raise, |_| Ok(())).unwrap_err();
        assert_eq!((error.kind, error.position), (ErrorKind::SpecialToken, Some(1)));
        let parse = split(&tokens, text, &SpecialPolicy::Parse);
        assert_eq!(parse, sections(&[("a", -1), ("<s>", 1), ("x", -1)]));
        let plain = split(&tokens, text, &SpecialPolicy::Text);
        assert_eq!(plain, sections(&[("a<", -1), ("s>x", 3)]));
        let named = SpecialPolicy::Named([1].into_iter().collect());
        assert_eq!(split(&tokens, text, &named), parse);
        assert!(tokens.split("<t>", Phase::Raw, &named, |_| Ok(())).is_err());
    }

    #[test]
    fn the_longest_first() {
        let strip = AddedToken { lstrip: true, rstrip: true, ..token(4, "<m>", false) };
        let listed =
            [token(1, "a<<", false), token(2, "<|b|>", false), token(3, "xx", false), strip];
        let tokens = compile(&listed).longest_first().unwrap();
        for (text, expected) in [
            ("a<<|b|>", &[("a<", -1), ("<|b|>", 2)][..]),
            ("a<<|b", &[("a<<", 1), ("|b", -1)]),
            ("xxxxx", &[("xx", 3), ("xx", 3), ("x", -1)]),
            ("xx  <m> \u{a0}", &[("xx", 3), ("  <m> ", 4), ("\u{a0}", -1)]),
            ("é", &[("é", -1)]),
            ("", &[]),
        ] {
            assert_eq!(split(&tokens, text, &SpecialPolicy::Parse), sections(expected), "{text:?}");
        }
    }

    #[test]
    fn stripping_and_single_words() {
        let strip = AddedToken { lstrip: true, rstrip: true, ..token(1, "<m>", false) };
        let word = AddedToken { single_word: true, ..token(2, "ab", false) };
        let tokens = compile(&[strip, word]);
        let found = split(&tokens, "x <m>  <m> ab abb", &SpecialPolicy::Parse);
        let expected = [("x", -1), (" <m>  ", 1), ("<m> ", 1), ("ab", 2), (" abb", -1)];
        assert_eq!(found, sections(&expected));
    }
}
