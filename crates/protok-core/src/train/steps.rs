//! The rules learned so far, and how new tokens are spelled: shared by all that merge pairs.

use super::merging::{BpeMerge, BpeOptions, BpeTraining, MergeEvent, StopReason, TieRule};
use super::symbols::{Prepared, Tokens};
use crate::{Error, Result};
use rustc_hash::FxHashSet;
use std::ops::ControlFlow;

/// The rules learned so far, and how new tokens are spelled.
pub(super) struct Steps<'a> {
    options: &'a BpeOptions,
    /// How many first symbols each token has; zero if it has not been built.
    lengths: Vec<usize>,
    merges: Vec<BpeMerge>,
    specials: usize,
    base_size: usize,
    initial_tokens: u64,
    tokens_now: u64,
    /// How many tokens were removed again.
    pub(super) gone: usize,
    text: String,
}

impl<'a> Steps<'a> {
    pub(super) fn new(prepared: &Prepared, options: &'a BpeOptions) -> Result<Self> {
        let base_size = prepared.tokens.len();
        let needed = base_size + prepared.joins();
        if needed > options.vocab_size && base_size <= options.vocab_size {
            return Err(Error::input(format!(
                "A vocabulary of {} tokens cannot hold {base_size} first ones and the required \
                 ones, which take up to {} merges.",
                options.vocab_size,
                prepared.joins(),
            ))
            .at("vocab_size")
            .hint(format!("Ask for at least {needed}.")));
        }
        if base_size > options.vocab_size {
            let special = prepared.specials;
            return Err(Error::input(format!(
                "A vocabulary of {} tokens cannot hold {special} special tokens and an alphabet \
                 of {} symbols.",
                options.vocab_size,
                base_size - special,
            ))
            .at("vocab_size")
            .hint(format!("Ask for at least {base_size}, or set limit_alphabet.")));
        }
        let mut lengths = vec![0; base_size];
        prepared.symbols.iter().for_each(|&symbol| lengths[symbol as usize] = 1);
        let initial_tokens = prepared.total.unsigned_abs();
        Ok(Self {
            options,
            lengths,
            merges: Vec::new(),
            specials: prepared.specials,
            base_size,
            initial_tokens,
            tokens_now: initial_tokens,
            gone: 0,
            text: String::new(),
        })
    }

    pub(super) fn may_merge(&self, left: u32, right: u32) -> bool {
        let (left, right) = (self.lengths[left as usize], self.lengths[right as usize]);
        self.options.max_token_length.is_none_or(|bound| left + right < bound || left + right == 2)
    }

    /// The token of a pair, and whether it is new: the left text, then the right one without
    /// its continuing prefix.
    pub(super) fn spell(
        &mut self,
        left: u32,
        right: u32,
        tokens: &mut Tokens,
    ) -> Result<(u32, bool)> {
        let mut tail = tokens.get(right);
        if let Some(prefix) = &self.options.continuing_subword_prefix {
            tail = tail.strip_prefix(prefix.as_str()).unwrap_or(tail);
        }
        self.text.clear();
        self.text.push_str(tokens.get(left));
        self.text.push_str(tail);
        let (token, is_new) = tokens.intern(&self.text)?;
        self.lengths.resize(tokens.len(), 0);
        let length = self.lengths[left as usize] + self.lengths[right as usize];
        let slot = &mut self.lengths[token as usize];
        if *slot == 0 {
            *slot = length;
        }
        Ok((token, is_new))
    }

    pub(super) fn record(
        &mut self,
        mut merge: BpeMerge,
        saved: i64,
        is_new: bool,
        tokens: &Tokens,
        observer: &mut dyn FnMut(&MergeEvent<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        self.tokens_now = self.tokens_now.saturating_add_signed(-saved);
        merge.tokens_after = self.tokens_now;
        let flow = observer(&MergeEvent {
            step: self.merges.len(),
            left: tokens.get(merge.left),
            right: tokens.get(merge.right),
            token: tokens.get(merge.token),
            is_new,
            vocab_size: tokens.len() - self.gone,
            merge: &merge,
        });
        self.merges.push(merge);
        flow
    }

    /// How many steps were recorded.
    #[cfg(test)]
    pub(super) fn steps(&self) -> usize {
        self.merges.len()
    }

    /// How many first symbols a token has, if it has been built.
    pub(super) fn length(&self, token: u32) -> u32 {
        self.lengths[token as usize] as u32
    }

    /// The training with its rules, of which none stands twice.
    pub(super) fn finish(mut self, tokens: &Tokens, stop: StopReason) -> BpeTraining {
        let mut seen = FxHashSet::default();
        let keep_last = self.options.tie == TieRule::LowestIds;
        if keep_last {
            self.merges.reverse();
        }
        self.merges.retain(|merge| seen.insert((merge.left, merge.right)));
        if keep_last {
            self.merges.reverse();
        }
        self.finish_log(tokens, stop)
    }

    /// The training with everything that was done, in its order.
    pub(super) fn finish_log(self, tokens: &Tokens, stop: StopReason) -> BpeTraining {
        BpeTraining {
            tokens: tokens.to_vec(),
            merges: self.merges,
            removals: Vec::new(),
            special_tokens: self.specials,
            base_size: self.base_size,
            initial_tokens: self.initial_tokens,
            stop,
        }
    }
}
