//! What a tokenizer is like: its vocabulary by kind, what comes back from a round trip, and what
//! is odd about it.
//!
//! Everything here is read off the compiled [`Pipeline`], which also proves it: a token counts as
//! unreachable by the model's own rules ([`crate::model::reach`]), and the round trip is tried.
//! The work is linear in the vocabulary and shared between threads.

mod contract;
mod kinds;
mod losses;
mod oddities;
mod spelling;

use crate::error::Result;
use crate::model::unknown_token;
use crate::pipeline::Pipeline;

pub use contract::{Contract, Loss, Verdict};
pub use kinds::{Kind, KindCount, Longest};
pub use oddities::{Duplicate, Named, Oddities};

/// See [`Pipeline::inspect`].
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Inspection {
    /// The ids that name a token.
    pub tokens: usize,
    /// One past the highest id: the rows of an embedding.
    pub size: usize,
    /// The unknown token.
    pub unknown: Option<Named>,
    /// The vocabulary by kind. Every token has one.
    pub kinds: Vec<KindCount>,
    /// The token that covers the most text, added tokens and control tokens aside.
    pub longest: Option<Longest>,
    /// The most blanks in a row that are one token.
    pub longest_indentation: usize,
    /// What comes back from a round trip.
    pub contract: Contract,
    /// What is odd.
    pub oddities: Oddities,
}

impl Pipeline {
    /// Inspects the tokenizer, on up to `threads` threads.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Limit`] where a pattern reaches its bound.
    pub fn inspect(&self, threads: usize) -> Result<Inspection> {
        let spelling = spelling::Spelling::of(self);
        let entries = kinds::Entries::of(self, &spelling);
        let unknown = unknown_token(&self.spec().model, self.vocab());
        Ok(Inspection {
            tokens: entries.len(),
            size: self.size(),
            unknown: unknown.map(|id| Named::of(self, id)),
            kinds: entries.counts(),
            longest: entries.longest(),
            longest_indentation: entries.longest_indentation(),
            contract: contract::of(self, &spelling)?,
            oddities: oddities::of(self, &spelling, &entries, threads)?,
        })
    }
}

#[cfg(test)]
mod tests;
