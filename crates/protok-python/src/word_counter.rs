//! `protok._core.WordCounter`: a corpus as weighted words.

use std::sync::{Mutex, MutexGuard, PoisonError};

use protok_core::formats::{self, Files};
use protok_core::parallel::thread_count;
use protok_core::train::corpus;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arguments::Text;
use crate::errors::OrRaise;

/// Weighted word counts of a corpus.
#[pyclass(frozen, module = "protok._core")]
pub struct WordCounter {
    inner: Mutex<corpus::WordCounter>,
}

impl WordCounter {
    /// The counter, for a trainer.
    pub(crate) fn lock(&self) -> MutexGuard<'_, corpus::WordCounter> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl WordCounter {
    /// A counter with the normalizer and pre-tokenizer of a `tokenizer.json`.
    #[new]
    fn new(tokenizer_json: &[u8]) -> PyResult<Self> {
        let mut files = Files::default();
        files.insert("tokenizer.json", tokenizer_json);
        let artifact = formats::read(&files, &formats::Options::default()).or_raise()?;
        let (normalizer, pre_tokenizer) = (artifact.spec.normalizer, artifact.spec.pre_tokenizer);
        let inner =
            corpus::WordCounter::new(normalizer.as_ref(), pre_tokenizer.as_ref()).or_raise()?;
        Ok(Self { inner: Mutex::new(inner) })
    }

    /// Counts the words of some texts, on all cores.
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
        py.detach(|| self.lock().feed(&texts, threads)).or_raise()
    }

    /// Adds a word that needs no cutting.
    fn add(&self, word: &Bound<'_, PyAny>, count: u64) -> PyResult<()> {
        let mut counter = self.lock();
        if let Ok(word) = word.cast::<PyBytes>() {
            return counter.add(word.as_bytes(), count).or_raise();
        }
        counter.add(Text::from_python(word)?.as_str().as_bytes(), count).or_raise()
    }

    fn __len__(&self) -> usize {
        self.lock().counts().len()
    }

    /// The words with their counts, in the order in which they were met.
    fn items(&self, py: Python<'_>) -> Vec<(Py<PyBytes>, u64)> {
        let counter = self.lock();
        let words = counter.counts().iter();
        words.map(|(word, count)| (PyBytes::new(py, word).unbind(), count)).collect()
    }
}
