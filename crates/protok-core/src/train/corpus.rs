//! From texts to weighted words: the front half of a pipeline, and a count.
//!
//! Each text is normalized and cut exactly as a tokenizer with these components would, on all
//! cores; the counts are merged in the order of the texts, so that threads never show.

use crate::error::Result;
use crate::normalize::{Ends, Normalizer};
use crate::parallel::map_groups;
use crate::pretokenize::{Beginning, PreTokenizer};
use crate::spec::{self, Semantics};

use super::WordCounts;

/// Counts the words of texts.
#[derive(Debug)]
pub struct WordCounter {
    normalizer: Normalizer,
    pre_tokenizer: PreTokenizer,
    counts: WordCounts,
}

impl WordCounter {
    /// A counter that normalizes and cuts with these components.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Artifact`] for a component that cannot run.
    pub fn new(
        normalizer: Option<&spec::Normalizer>,
        pre_tokenizer: Option<&spec::PreTokenizer>,
    ) -> Result<Self> {
        Ok(Self {
            normalizer: Normalizer::compile(normalizer, Semantics::HuggingFace)?,
            pre_tokenizer: PreTokenizer::compile(pre_tokenizer, Semantics::HuggingFace)?,
            counts: WordCounts::new(),
        })
    }

    /// Counts the words of some texts.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Limit`] where a pattern reaches its bound.
    pub fn feed(&mut self, texts: &[&str], threads: usize) -> Result<()> {
        let groups = map_groups(
            texts,
            |text| text.len(),
            threads,
            |texts, _| {
                let mut counts = WordCounts::new();
                for text in texts {
                    let (normalized, head) = if self.pre_tokenizer.asks_for_head() {
                        let (normalized, alignment) =
                            self.normalizer.apply_with_alignment(text, Ends::BOTH)?;
                        let head = alignment.head(&normalized, 0..normalized.len());
                        (normalized, head)
                    } else {
                        (self.normalizer.apply(text)?, 0)
                    };
                    self.pre_tokenizer.for_each_piece(
                        &normalized,
                        Beginning::of_text(head),
                        |piece| counts.add(piece, 1),
                    )?;
                }
                Ok(counts)
            },
        )?;
        groups.iter().try_for_each(|group| self.counts.merge(group))
    }

    /// Adds a word that needs no cutting.
    ///
    /// # Errors
    /// As [`WordCounts::add`].
    pub fn add(&mut self, word: &[u8], count: u64) -> Result<()> {
        self.counts.add(word, count)
    }

    /// What was counted.
    #[must_use]
    pub fn counts(&self) -> &WordCounts {
        &self.counts
    }
}
