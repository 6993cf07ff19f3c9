//! The second stage of a training whose tokens may be several words, for `protok.train`.

use std::sync::{Mutex, PoisonError};

use protok_core::formats::{self, Files};
use protok_core::parallel::thread_count;
use protok_core::train::superwords::{self, FirstStage, SpanRule};
use protok_core::train::{BpeOptions, Symbols};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arguments::Text;
use crate::errors::OrRaise;
use crate::training::{choose, describe, tie_rule};
use crate::training_observer::Observer;

/// Counts of the spans of a corpus: runs of words that a first stage made one token each.
#[pyclass(frozen, module = "protok._core")]
pub struct SpanCounter {
    inner: Mutex<superwords::SpanCounter>,
}

#[pymethods]
impl SpanCounter {
    /// A counter with the normalizer and pre-tokenizer of a `tokenizer.json`, for the tokens and
    /// the rules (left, right and token of each) of a first stage.
    #[new]
    #[pyo3(signature = (tokenizer_json, tokens, merges, *, special_tokens=0, symbols="bytes", rule="letters"))]
    fn new(
        tokenizer_json: &[u8],
        tokens: Vec<String>,
        merges: Vec<(u32, u32, u32)>,
        special_tokens: usize,
        symbols: &str,
        rule: &str,
    ) -> PyResult<Self> {
        let mut files = Files::default();
        files.insert("tokenizer.json", tokenizer_json);
        let artifact = formats::read(&files, &formats::Options::default()).or_raise()?;
        let symbols =
            choose(symbols, &[("bytes", Symbols::Bytes), ("characters", Symbols::Characters)])?;
        let rule = choose(rule, &[("letters", SpanRule::Letters), ("any", SpanRule::Any)])?;
        let spec = artifact.spec;
        let inner = superwords::SpanCounter::new(
            spec.normalizer.as_ref(),
            spec.pre_tokenizer.as_ref(),
            FirstStage { tokens, rules: merges, special_tokens, symbols },
            rule,
        )
        .or_raise()?;
        Ok(Self { inner: Mutex::new(inner) })
    }

    /// Counts the spans of some texts, on all cores.
    #[pyo3(signature = (texts, *, threads=None))]
    fn feed(
        &self,
        py: Python<'_>,
        texts: &Bound<'_, PyAny>,
        threads: Option<usize>,
    ) -> PyResult<()> {
        let texts: Vec<Text> =
            texts.try_iter()?.map(|text| Text::from_python(&text?)).collect::<PyResult<_>>()?;
        let texts: Vec<&str> = texts.iter().map(Text::as_str).collect();
        let threads = thread_count(threads);
        py.detach(|| {
            let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
            inner.feed(&texts, threads)
        })
        .or_raise()
    }

    fn __len__(&self) -> usize {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

/// Learns superwords from counted spans. The tokens are those of the first stage and the new
/// ones; the merges are the new ones alone, which come after those of the first stage.
#[pyfunction]
#[pyo3(signature = (spans, *, vocab_size, tie="lowest-ids", min_frequency=0, max_words=None, listed_ties=0, observer=None, every=256))]
#[allow(clippy::too_many_arguments)]
pub fn train_superwords<'py>(
    py: Python<'py>,
    spans: &SpanCounter,
    vocab_size: usize,
    tie: &str,
    min_frequency: u64,
    max_words: Option<usize>,
    listed_ties: usize,
    observer: Option<Py<PyAny>>,
    every: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let options = BpeOptions {
        vocab_size,
        min_frequency,
        // The trainer's bound is not reached, and the shortest pair may always merge.
        max_token_length: max_words.map(|words| words.saturating_add(1)),
        tie: tie_rule(tie)?,
        listed_ties,
        ..BpeOptions::default()
    };
    let mut observer = Observer::new(observer, every);
    let training = py.detach(|| {
        let spans = spans.inner.lock().unwrap_or_else(PoisonError::into_inner);
        superwords::train(&spans, &options, &mut |event| observer.merged(event))
    });
    observer.finish()?;
    describe(py, training.or_raise()?)
}
