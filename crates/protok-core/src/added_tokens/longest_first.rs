//! llama.cpp's search: the longest token in the whole text, then the next in what is left.
//!
//! All places where tokens stand are found at once and taken in that order, unless one overlaps
//! what was taken before. Their number is at most the length of the text times the number of
//! tokens that may start at one place.

use std::collections::BTreeMap;

use aho_corasick::AhoCorasick;

use super::{AddedTokens, Section, SpecialPolicy};
use crate::error::{Error, Result};

/// The search over some tokens.
#[derive(Debug)]
pub(super) struct LongestFirst {
    automaton: AhoCorasick,
    /// The token of each pattern.
    tokens: Vec<usize>,
}

/// C's `isspace`.
fn is_space(c: char) -> bool {
    c == '\u{b}' || c.is_ascii_whitespace()
}

impl LongestFirst {
    /// A search for tokens, given by their places in the list of all.
    pub fn build(added: &AddedTokens, tokens: Vec<usize>) -> Result<Self> {
        let contents = tokens.iter().map(|&token| &added.tokens[token].content);
        let automaton = AhoCorasick::new(contents).map_err(|error| {
            Error::artifact("added_tokens", format!("They cannot be searched for: {error}."))
        })?;
        Ok(Self { automaton, tokens })
    }

    /// See [`AddedTokens::split`].
    pub fn split(
        &self,
        added: &AddedTokens,
        text: &str,
        policy: &SpecialPolicy,
        admits: &dyn Fn(usize, usize) -> bool,
        mut report: impl FnMut(Section) -> Result<()>,
    ) -> Result<()> {
        let mut found: Vec<(usize, usize, usize)> = self
            .automaton
            .find_overlapping_iter(text)
            .map(|found| (found.start(), found.end(), self.tokens[found.pattern().as_usize()]))
            .filter(|&(start, end, index)| {
                !added.is_guarded(added.tokens[index].id, policy) || admits(start, end)
            })
            .collect();
        found.sort_unstable_by_key(|&(start, end, token)| {
            (usize::MAX - (end - start), token, start)
        });
        // Start to end and token, white space that belongs to the match included.
        let mut taken: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
        for (start, end, index) in found {
            let before = taken.range(..end).next_back().map_or(0, |(_, &(end, _))| end);
            if before > start {
                continue;
            }
            let after = taken.range(end..).next().map_or(text.len(), |(&start, _)| start);
            let token = &added.tokens[index];
            added.check(token, start, policy)?;
            let (mut from, mut to) = (start, end);
            if token.lstrip {
                from = before + text[before..start].trim_end_matches(is_space).len();
            }
            if token.rstrip {
                to = after - text[end..after].trim_start_matches(is_space).len();
            }
            taken.insert(from, (to, index));
        }
        let mut copied = 0;
        for (start, (end, index)) in taken {
            if copied < start {
                report(Section { start: copied, end: start, token: None })?;
            }
            report(Section { start, end, token: Some(added.tokens[index].id) })?;
            copied = end;
        }
        if copied < text.len() {
            report(Section { start: copied, end: text.len(), token: None })?;
        }
        Ok(())
    }
}
