//! The WordPiece trainer, for `protok.train`.

use protok_core::train::wordpiece::{Scoring, train};
use protok_core::train::{BpeOptions, Symbols};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::OrRaise;
use crate::training::{choose, describe, tie_rule};
use crate::training_observer::Observer;
use crate::word_counter::WordCounter;

/// Learns a WordPiece vocabulary from counted words: by the count of pairs, or by their count
/// over those of their parts. The last item of a merge is its score; by likelihood, ties are
/// counted only where `listed_ties` asks for some, and else None.
#[pyfunction]
#[pyo3(signature = (counter, *, vocab_size, scoring="counts", tie="lowest-ids", min_frequency=0, special_tokens=Vec::new(), initial_alphabet="", limit_alphabet=None, continuing_subword_prefix="##".to_owned(), max_token_length=None, required=Vec::new(), listed_ties=0, observer=None, every=256))]
#[allow(clippy::too_many_arguments)]
pub fn train_wordpiece<'py>(
    py: Python<'py>,
    counter: &WordCounter,
    vocab_size: usize,
    scoring: &str,
    tie: &str,
    min_frequency: u64,
    special_tokens: Vec<String>,
    initial_alphabet: &str,
    limit_alphabet: Option<usize>,
    continuing_subword_prefix: String,
    max_token_length: Option<usize>,
    required: Vec<String>,
    listed_ties: usize,
    observer: Option<Py<PyAny>>,
    every: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let options = BpeOptions {
        vocab_size,
        min_frequency,
        symbols: Symbols::Characters,
        initial_alphabet: initial_alphabet.chars().collect(),
        limit_alphabet,
        special_tokens,
        required,
        continuing_subword_prefix: Some(continuing_subword_prefix),
        max_token_length,
        tie: tie_rule(tie)?,
        listed_ties,
        ..BpeOptions::default()
    };
    let scoring =
        choose(scoring, &[("counts", Scoring::Counts), ("likelihood", Scoring::Likelihood)])?;
    let mut observer = Observer::new(observer, every);
    let training = py.detach(|| {
        let counter = counter.finished()?;
        train(counter.counts(), &options, scoring, &mut |event| observer.merged(event))
    });
    observer.finish()?;
    let training = training.or_raise()?;
    let counted = scoring == Scoring::Counts || listed_ties > 0;
    let merges: Vec<_> = training
        .merges
        .iter()
        .map(|m| {
            let tied = counted.then_some(m.tied);
            let score = m.score();
            (m.left, m.right, m.token, m.count, tied, m.ties.clone(), m.tokens_after, score)
        })
        .collect();
    let result = describe(py, training)?;
    result.set_item("merges", merges)?;
    Ok(result)
}
