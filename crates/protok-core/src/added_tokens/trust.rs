//! Which stretches of a text may spell control tokens.
//!
//! A rendered chat holds what a template wrote and what messages said. Only the former is
//! protocol: a control token counts where all of its text is trusted. Where one is refused, the
//! search goes on at the next character, so what is left is found as if the token did not exist.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{AddedTokens, Phase, Search, SpecialPolicy};
use crate::error::{Error, Result};
use crate::spec::AddedToken;

/// Stretches of a text, in bytes: rising, and apart from one another.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Trust {
    spans: Arc<[(usize, usize)]>,
    control: Arc<FxHashSet<u32>>,
}

impl Trust {
    /// From rising stretches that do not overlap. Those that touch are one; empty ones are none.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Input`] for a stretch that ends before it starts, or starts before
    /// the last one ends.
    pub fn new(spans: impl IntoIterator<Item = (usize, usize)>) -> Result<Self> {
        let mut joined: Vec<(usize, usize)> = Vec::new();
        for (place, (start, end)) in spans.into_iter().enumerate() {
            let before = joined.last().map_or(0, |&(_, end)| end);
            if start > end || start < before {
                return Err(Error::input(format!(
                    "The stretch ({start}, {end}) is not behind the one before it."
                ))
                .at(format!("trusted[{place}]"))
                .hint("Give rising (start, end) pairs that do not overlap."));
            }
            match joined.last_mut() {
                _ if start == end => {}
                Some(last) if last.1 == start => last.1 = end,
                _ => joined.push((start, end)),
            }
        }
        Ok(Self { spans: joined.into(), control: Arc::default() })
    }

    /// With added tokens that count as control tokens here, beside those of the tokenizer: a
    /// template that did not come with it may write others.
    #[must_use]
    pub fn with_control(self, ids: impl IntoIterator<Item = u32>) -> Self {
        Self { control: Arc::new(ids.into_iter().collect()), ..self }
    }

    /// The tokens that count as control tokens beside those of the tokenizer.
    #[must_use]
    pub fn control(&self) -> &FxHashSet<u32> {
        &self.control
    }

    /// The stretches.
    #[must_use]
    pub fn spans(&self) -> &[(usize, usize)] {
        &self.spans
    }

    /// Whether some text, and nothing but trusted text, lies between two bytes.
    #[must_use]
    pub fn covers(&self, start: usize, end: usize) -> bool {
        let after = self.spans.partition_point(|&(from, _)| from <= start);
        start < end && after.checked_sub(1).is_some_and(|place| end <= self.spans[place].1)
    }
}

/// For each pattern, the others that its text starts with, longest first,
/// each with its length: what else can stand where it is refused.
pub(super) type Shorter = FxHashMap<usize, Vec<(usize, usize)>>;

impl AddedTokens {
    /// What is searched for in a phase in place of a token.
    pub(super) fn form(&self, index: usize, phase: Phase) -> &str {
        let token = &self.tokens[index];
        match phase {
            Phase::Raw => &token.content,
            Phase::Normalized => {
                self.normalized_forms.get(&token.id).map_or(&token.content, |form| form)
            }
        }
    }

    /// All that is searched for in a phase, each with its token, for the reference path.
    pub(crate) fn forms(&self, phase: Phase) -> Vec<(String, AddedToken)> {
        let search = self.searches(phase).all.as_ref();
        let tokens = search.map_or(&[][..], |search| &search.tokens);
        let form =
            |&index: &usize| (self.form(index, phase).to_owned(), self.tokens[index].clone());
        tokens.iter().map(form).collect()
    }

    /// Whether a phase is searched by llama.cpp's rules.
    pub(crate) fn is_longest_first(&self, phase: Phase) -> bool {
        let search = self.searches(phase).all.as_ref();
        search.is_some_and(|search| search.longest_first.is_some())
    }

    /// Whether a token counts only where its text is trusted.
    pub(crate) fn is_guarded(&self, id: u32, policy: &SpecialPolicy) -> bool {
        match policy {
            SpecialPolicy::Trusted(trust) => self.is_control(id) || trust.control.contains(&id),
            _ => false,
        }
    }

    /// The match that counts where the search found `pattern` in bytes `start..end`: it, or the
    /// longest other one there that is admitted.
    pub(super) fn admitted(
        &self,
        search: &Search,
        phase: Phase,
        policy: &SpecialPolicy,
        (pattern, start, end): (usize, usize, usize),
        admits: &dyn Fn(usize, usize) -> bool,
    ) -> Option<(usize, usize)> {
        let counts = |pattern: usize, end: usize| {
            let id = self.tokens[search.tokens[pattern]].id;
            !self.is_guarded(id, policy) || admits(start, end)
        };
        if counts(pattern, end) {
            return Some((pattern, end));
        }
        let shorter = search.shorter.get_or_init(|| self.shorter(search, phase));
        let others = shorter.get(&pattern).into_iter().flatten();
        others
            .map(|&(other, length)| (other, start + length))
            .find(|&(other, end)| counts(other, end))
    }

    fn shorter(&self, search: &Search, phase: Phase) -> Shorter {
        let form = |pattern: usize| self.form(search.tokens[pattern], phase);
        let mut by_form: FxHashMap<&str, Vec<usize>> = FxHashMap::default();
        for pattern in 0..search.tokens.len() {
            by_form.entry(form(pattern)).or_default().push(pattern);
        }
        let mut shorter = Shorter::default();
        for pattern in 0..search.tokens.len() {
            let text = form(pattern);
            let heads = (1..=text.len()).rev().filter_map(|end| text.get(..end));
            let others: Vec<(usize, usize)> = heads
                .filter_map(|head| by_form.get(head).map(|same| (same, head.len())))
                .flat_map(|(same, length)| same.iter().map(move |&other| (other, length)))
                .filter(|&(other, _)| other != pattern)
                .collect();
            if !others.is_empty() {
                shorter.insert(pattern, others);
            }
        }
        shorter
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn stretches_join_and_cover() {
        let trust = Trust::new([(0, 2), (2, 4), (4, 4), (6, 9)]).unwrap();
        assert_eq!(trust.spans(), [(0, 4), (6, 9)]);
        for (start, end, covered) in
            [(0, 4, true), (1, 3, true), (3, 6, false), (6, 9, true), (5, 7, false), (1, 1, false)]
        {
            assert_eq!(trust.covers(start, end), covered, "{start}..{end}");
        }
        assert!(!Trust::default().covers(0, 1));
        assert!(Trust::new([(3, 2)]).is_err());
        assert!(Trust::new([(0, 3), (2, 4)]).is_err());
    }
}
