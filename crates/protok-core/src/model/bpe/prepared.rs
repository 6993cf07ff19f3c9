//! What is costly to find out about a vocabulary, kept for the next time.
//!
//! A snapshot holds it. The tables themselves are built anew from it: to build them costs little
//! more than to read them, and what is built is sound whatever the snapshot says.

use super::pairs::Pairs;
use super::symbols::{Tables, UNKNOWN};
use super::{Bpe, Vocab};
use crate::spec::{self, Merges};

/// See the [module](self).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prepared {
    /// The rules.
    pub rules: Rules,
    /// The tokens of single bytes, or ASCII characters.
    pub tables: Box<Tables>,
}

/// The rules of a vocabulary, none of whose tokens is banned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rules {
    /// What each of the listed merges makes.
    Listed(Vec<u32>),
    /// The rules that a rank file implies: left, right, and the token that is also the rank.
    ByRank(Vec<(u32, u32, u32)>),
}

impl Bpe {
    /// What there is to keep, if this is of a vocabulary none of whose tokens is banned.
    #[must_use]
    pub fn prepared(&self) -> Option<Prepared> {
        let rules = match self.implied {
            Some(_) => Rules::ByRank(self.pairs.packed_rules()?),
            None => Rules::Listed(self.pairs.listed_targets().to_vec()),
        };
        Some(Prepared { rules, tables: Box::new(*self.symbols.tables()) })
    }
}

impl Prepared {
    /// Whether it can be of this vocabulary: all its ids name tokens.
    #[must_use]
    pub fn fits(&self, spec: &spec::Bpe, vocab: &Vocab) -> bool {
        let whole = vocab.len() == vocab.size();
        let named = |id: u32| match whole {
            true => (id as usize) < vocab.size(),
            false => vocab.bytes(id).is_some(),
        };
        let rules = match (&self.rules, &spec.merges) {
            (Rules::Listed(targets), Merges::Listed(merges)) => {
                targets.len() == merges.len()
                    && targets.iter().all(|&id| named(id))
                    && merges.iter().all(|&(left, right)| named(left) && named(right))
            }
            (Rules::ByRank(rules), Merges::ByRank) => {
                rules.iter().all(|&(left, right, id)| named(left) && named(right) && named(id))
            }
            _ => false,
        };
        rules && self.tables.iter().flatten().all(|&id| id == UNKNOWN || named(id))
    }

    /// The merges, for a model that may yield every token.
    pub(super) fn pairs(&self, spec: &spec::Bpe) -> Pairs {
        match (&self.rules, &spec.merges) {
            (Rules::Listed(targets), Merges::Listed(merges)) => {
                let rules = merges.iter().zip(targets);
                let rules = rules.map(|(&(left, right), &target)| (left, right, target));
                Pairs::listed(&rules.collect::<Vec<_>>())
            }
            (Rules::ByRank(rules), _) => Pairs::by_target(rules),
            (Rules::Listed(_), Merges::ByRank) => Pairs::by_target(&[]), // it does not fit
        }
    }
}
