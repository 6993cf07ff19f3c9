//! The search for many tokens at once: an automaton, or for thousands a sorted list.

use std::borrow::Cow;
use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, Input, MatchKind};
use rustc_hash::FxHashSet;

use super::SpecialPolicy;
use super::dictionary::{Dictionary, LONGEST};
use super::longest_first::LongestFirst;
use super::trust::Shorter;
use crate::error::{Error, Result};
use crate::spec::AddedToken;

/// Tokens of more bytes than this in all take the smaller of the two automata.
const SMALL: usize = 1 << 15;

/// The search over all tokens of a phase, and over those that are not control tokens.
#[derive(Debug, Default)]
pub(super) struct Searches {
    pub all: Option<Search>,
    /// Present only where it differs from `all`.
    pub ordinary: Option<Search>,
    pub has_control: bool,
}

#[derive(Debug)]
pub(super) struct Search {
    pub engine: Engine,
    /// The token of each pattern, as an index into `tokens`.
    pub tokens: Vec<usize>,
    /// In its place under llama.cpp's rules.
    pub longest_first: Option<LongestFirst>,
    /// Computed where a control token is refused for the first time.
    pub shorter: OnceLock<Shorter>,
}

/// From so many tokens on a sorted list is searched.
const MANY: usize = 2_000;

#[derive(Debug)]
pub(super) enum Engine {
    Automaton(AhoCorasick),
    Dictionary(Dictionary),
}

/// What is searched for, and its place among the tokens.
pub(super) type Pattern<'a> = (Cow<'a, str>, usize);

impl Searches {
    pub fn build(
        patterns: &[Pattern<'_>],
        tokens: &[AddedToken],
        control: &FxHashSet<u32>,
    ) -> Result<Self> {
        let is_control = |index: usize| control.contains(&tokens[index].id);
        let has_control = patterns.iter().any(|&(_, index)| is_control(index));
        let ordinary = if has_control {
            let ordinary = patterns.iter().filter(|&&(_, index)| !is_control(index));
            Search::build(&ordinary.cloned().collect::<Vec<_>>())?
        } else {
            None
        };
        Ok(Self { all: Search::build(patterns)?, ordinary, has_control })
    }

    pub fn choose(&self, policy: &SpecialPolicy) -> Option<&Search> {
        if *policy == SpecialPolicy::Text && self.has_control {
            self.ordinary.as_ref()
        } else {
            self.all.as_ref()
        }
    }
}

impl Search {
    pub fn build(patterns: &[Pattern<'_>]) -> Result<Option<Self>> {
        // A token that normalizes to nothing matches nothing.
        let patterns: Vec<Pattern<'_>> =
            patterns.iter().filter(|(text, _)| !text.is_empty()).cloned().collect();
        if patterns.is_empty() {
            return Ok(None);
        }
        let tokens = patterns.iter().map(|&(_, index)| index).collect();
        if patterns.len() >= MANY
            && patterns.iter().all(|(text, _)| text.len() <= LONGEST)
            && let Some(dictionary) = Dictionary::build(&patterns)
        {
            let engine = Engine::Dictionary(dictionary);
            return Ok(Some(Self::new(engine, tokens)));
        }
        let bytes: usize = patterns.iter().map(|(text, _)| text.len()).sum();
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .kind((bytes > SMALL).then_some(AhoCorasickKind::ContiguousNFA))
            .build(patterns.iter().map(|(text, _)| text.as_bytes()))
            .map_err(|error| {
                Error::artifact("added_tokens", format!("They cannot be searched for: {error}."))
            })?;
        Ok(Some(Self::new(Engine::Automaton(automaton), tokens)))
    }

    fn new(engine: Engine, tokens: Vec<usize>) -> Self {
        Self { engine, tokens, longest_first: None, shorter: OnceLock::new() }
    }
}

impl Engine {
    /// The first match at or after byte `from`: its pattern, start and end.
    #[inline]
    pub fn find(&self, text: &str, from: usize) -> Option<(usize, usize, usize)> {
        match self {
            Self::Automaton(automaton) => automaton
                .find(Input::new(text).range(from..))
                .map(|found| (found.pattern().as_usize(), found.start(), found.end())),
            Self::Dictionary(dictionary) => dictionary.find(text.as_bytes(), from),
        }
    }
}
