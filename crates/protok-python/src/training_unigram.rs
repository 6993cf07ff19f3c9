//! The Unigram trainer and its measure, for `protok.train`.

use protok_core::parallel::thread_count;
use protok_core::train::UnigramOptions;
use protok_core::train::unigram::{PieceRules, UnigramStop, likelihood, train};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::errors::OrRaise;
use crate::training_observer::Observer;
use crate::word_counter::WordCounter;

/// Learns Unigram pieces from counted words.
///
/// `vocab_size` counts the special tokens, 256 entries for bytes with `byte_fallback`, and the
/// pieces. `observer`, if any, is called after each round with its number and the pieces left.
#[pyfunction]
#[pyo3(signature = (counter, *, vocab_size, seed_size=1_000_000, shrinking_factor=0.75, em_iterations=2, max_piece_length=16, character_coverage=None, special_tokens=Vec::new(), required=Vec::new(), byte_fallback=false, split_by_whitespace=true, split_by_unicode_script=true, split_by_number=true, split_digits=false, threads=None, observer=None))]
#[allow(clippy::too_many_arguments)]
pub fn train_unigram<'py>(
    py: Python<'py>,
    counter: &WordCounter,
    vocab_size: usize,
    seed_size: usize,
    shrinking_factor: f64,
    em_iterations: usize,
    max_piece_length: usize,
    character_coverage: Option<f64>,
    special_tokens: Vec<String>,
    required: Vec<String>,
    byte_fallback: bool,
    split_by_whitespace: bool,
    split_by_unicode_script: bool,
    split_by_number: bool,
    split_digits: bool,
    threads: Option<usize>,
    observer: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let options = UnigramOptions {
        vocab_size,
        seed_size,
        shrinking_factor,
        em_iterations,
        max_piece_length,
        character_coverage,
        special_tokens,
        required,
        byte_fallback,
        rules: PieceRules {
            split_by_whitespace,
            split_by_script: split_by_unicode_script,
            split_by_number,
            split_digits,
        },
    };
    let threads = thread_count(threads);
    let mut observer = Observer::new(observer, 1);
    let training = py.detach(|| {
        let counter = counter.finished()?;
        let mut number = 0;
        train(counter.counts(), &options, threads, &mut |round| {
            number += 1;
            observer.step(number - 1, round.left)
        })
    });
    observer.finish()?;
    let training = training.or_raise()?;
    let rounds = PyList::empty(py);
    for round in training.rounds {
        let record = PyDict::new(py);
        record.set_item("size", round.size)?;
        record.set_item("loss", round.loss)?;
        record.set_item("tokens", round.tokens)?;
        record.set_item("left", round.left)?;
        rounds.append(record)?;
    }
    let result = PyDict::new(py);
    result.set_item("pieces", training.pieces)?;
    result.set_item("rounds", rounds)?;
    result.set_item("special_tokens", training.special_tokens)?;
    result.set_item("characters", training.characters)?;
    result.set_item("unknown", training.unknown)?;
    let stop = match training.stop {
        UnigramStop::VocabSize => "vocab_size",
        UnigramStop::NoPieces => "no_pieces",
        UnigramStop::Observer => "observer",
    };
    result.set_item("stop", stop)?;
    Ok(result)
}

/// Measures how probable counted words are under pieces with scores, natural logarithms.
#[pyfunction]
#[pyo3(signature = (pieces, counter, *, threads=None))]
pub fn unigram_likelihood<'py>(
    py: Python<'py>,
    pieces: Vec<(String, f64)>,
    counter: &WordCounter,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyDict>> {
    let threads = thread_count(threads);
    let found =
        py.detach(|| likelihood(&pieces, counter.finished()?.counts(), threads)).or_raise()?;
    let characters = found.characters as f64;
    let result = PyDict::new(py);
    result.set_item("marginal", found.marginal / characters)?;
    result.set_item("best_path", found.best_path / characters)?;
    result.set_item("tokens", found.tokens)?;
    result.set_item("characters", found.characters)?;
    result.set_item("unknown", found.unknown)?;
    Ok(result)
}
