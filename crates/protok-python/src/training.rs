//! The trainers, for `protok.train`.

use protok_core::train::{
    BpeOptions, BpeTraining, EndOfWord, MergeEvent, StopReason, Symbols, TieRule, bpe, removal,
};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::errors::{OrRaise, to_python};
use crate::training_observer::Observer;
use crate::word_counter::WordCounter;

/// Learns BPE merges from counted words. `observer`, if any, is called every `every` steps with
/// the number of the step and the size of the vocabulary.
#[pyfunction]
#[pyo3(signature = (counter, *, vocab_size, symbols="bytes", tie="lowest-ids", min_frequency=0, special_tokens=Vec::new(), initial_alphabet="", limit_alphabet=None, end_of_word_suffix=None, separate_end_of_word=false, continuing_subword_prefix=None, max_token_length=None, character_coverage=None, required=Vec::new(), remove_intermediate=None, listed_ties=0, observer=None, every=256))]
#[allow(clippy::too_many_arguments)]
pub fn train_bpe<'py>(
    py: Python<'py>,
    counter: &WordCounter,
    vocab_size: usize,
    symbols: &str,
    tie: &str,
    min_frequency: u64,
    special_tokens: Vec<String>,
    initial_alphabet: &str,
    limit_alphabet: Option<usize>,
    end_of_word_suffix: Option<String>,
    separate_end_of_word: bool,
    continuing_subword_prefix: Option<String>,
    max_token_length: Option<usize>,
    character_coverage: Option<f64>,
    required: Vec<String>,
    remove_intermediate: Option<f64>,
    listed_ties: usize,
    observer: Option<Py<PyAny>>,
    every: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let options = BpeOptions {
        vocab_size,
        min_frequency,
        symbols: choose(
            symbols,
            &[("bytes", Symbols::Bytes), ("characters", Symbols::Characters)],
        )?,
        initial_alphabet: initial_alphabet.chars().collect(),
        limit_alphabet,
        character_coverage,
        special_tokens,
        required,
        end_of_word_suffix,
        end_of_word: if separate_end_of_word { EndOfWord::Separate } else { EndOfWord::Glued },
        continuing_subword_prefix,
        max_token_length,
        tie: tie_rule(tie)?,
        listed_ties,
    };
    let mut observer = Observer::new(observer, every);
    let training = py.detach(|| {
        let counter = counter.finished()?;
        let mut observer = |event: &MergeEvent<'_>| observer.merged(event);
        match remove_intermediate {
            Some(share) => removal::train(counter.counts(), &options, share, &mut observer),
            None => bpe::train(counter.counts(), &options, &mut observer),
        }
    });
    observer.finish()?;
    describe(py, training.or_raise()?)
}

/// What all trainers that merge pairs say.
pub fn describe(py: Python<'_>, training: BpeTraining) -> PyResult<Bound<'_, PyDict>> {
    let result = PyDict::new(py);
    let merges: Vec<_> = training
        .merges
        .iter()
        .map(|m| (m.left, m.right, m.token, m.count, m.tied, m.ties.clone(), m.tokens_after))
        .collect();
    result.set_item("merges", merges)?;
    let required: Vec<usize> = training
        .merges
        .iter()
        .enumerate()
        .filter_map(|(step, merge)| merge.required.then_some(step))
        .collect();
    result.set_item("kept", training.kept())?;
    let removals = training.removals.into_iter().map(|r| (r.step, r.token, r.parts));
    result.set_item("removals", removals.collect::<Vec<_>>())?;
    result.set_item("tokens", training.tokens)?;
    result.set_item("required_merges", required)?;
    result.set_item("special_tokens", training.special_tokens)?;
    result.set_item("base_size", training.base_size)?;
    result.set_item("initial_tokens", training.initial_tokens)?;
    let stop = match training.stop {
        StopReason::VocabSize => PyString::new(py, "vocab_size"),
        StopReason::NoPairs => PyString::new(py, "no_pairs"),
        StopReason::MinFrequency(_) => PyString::new(py, "min_frequency"),
        StopReason::Observer => PyString::new(py, "observer"),
    };
    result.set_item("stop", stop)?;
    Ok(result)
}

/// The tie rule of a name.
pub fn tie_rule(name: &str) -> PyResult<TieRule> {
    choose(
        name,
        &[
            ("lowest-ids", TieRule::LowestIds),
            ("lexicographic-first", TieRule::LexicographicFirst),
            ("lexicographic-last", TieRule::LexicographicLast),
            ("first-seen", TieRule::FirstSeen),
        ],
    )
}

/// One of the named values.
pub fn choose<T: Copy>(name: &str, choices: &[(&str, T)]) -> PyResult<T> {
    if let Some((_, value)) = choices.iter().find(|(choice, _)| *choice == name) {
        return Ok(*value);
    }
    let known: Vec<String> = choices.iter().map(|(choice, _)| format!("{choice:?}")).collect();
    Err(to_python(
        protok_core::Error::input(format!("{name:?} is not one of {}.", known.join(", ")))
            .value(name),
    ))
}
