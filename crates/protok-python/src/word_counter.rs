//! `protok._core.WordCounter`: a corpus as weighted words.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use protok_core::formats::{self, Files};
use protok_core::parallel::thread_count;
use protok_core::train::corpus::{self, CountOptions};
use protok_core::train::documents::{Draw, Fate, documents};
use protok_core::train::{Totals, usage};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use crate::arguments::Text;
use crate::block::split_of;
use crate::errors::OrRaise;
use crate::tokenizer::Tokenizer;

/// What was drawn for a text that is held out, and the text.
type HeldOut = Vec<(u64, String)>;

/// Weighted word counts of a corpus.
#[pyclass(frozen, module = "protok._core")]
pub struct WordCounter {
    inner: Mutex<corpus::WordCounter>,
}

impl WordCounter {
    /// The counter with all words brought together.
    pub(crate) fn finished(&self) -> protok_core::Result<MutexGuard<'_, corpus::WordCounter>> {
        let mut counter = self.unfinished();
        counter.finish()?;
        Ok(counter)
    }

    fn unfinished(&self) -> MutexGuard<'_, corpus::WordCounter> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Draws the fate of each document, counts those that count, and returns the others.
    fn count(
        &self,
        texts: &[&str],
        draw: Draw,
        first: u64,
        threads: Option<usize>,
    ) -> protok_core::Result<HeldOut> {
        let (mut counted, mut held) = (Vec::with_capacity(texts.len()), Vec::new());
        for (text, number) in texts.iter().zip(first..) {
            match draw.of(text, number) {
                Fate::Counts(0) => {}
                Fate::Counts(times) => counted.push((*text, times)),
                Fate::HeldOut(drawn) => held.push((drawn, (*text).to_owned())),
            }
        }
        self.unfinished().feed(&counted, thread_count(threads))?;
        Ok(held)
    }
}

#[pymethods]
impl WordCounter {
    /// A counter with the normalizer and pre-tokenizer of a `tokenizer.json`.
    #[new]
    #[pyo3(signature = (tokenizer_json, *, ordered=true, memory_bytes=None, folder=None))]
    fn new(
        tokenizer_json: &[u8],
        ordered: bool,
        memory_bytes: Option<usize>,
        folder: Option<PathBuf>,
    ) -> PyResult<Self> {
        let mut files = Files::default();
        files.insert("tokenizer.json", tokenizer_json);
        let artifact = formats::read(&files, &formats::Options::default()).or_raise()?;
        let (normalizer, pre_tokenizer) = (artifact.spec.normalizer, artifact.spec.pre_tokenizer);
        let options = CountOptions { ordered, limit: memory_bytes, folder };
        let inner = corpus::WordCounter::new(normalizer.as_ref(), pre_tokenizer.as_ref(), options)
            .or_raise()?;
        Ok(Self { inner: Mutex::new(inner) })
    }

    /// Counts the words of some texts, on all cores. Returns those that are held out, each with
    /// its draw.
    #[pyo3(signature = (texts, *, threads=None, weight=1.0, seed=0, held_out=0.0, first=0))]
    #[allow(clippy::too_many_arguments)]
    fn feed(
        &self,
        py: Python<'_>,
        texts: &Bound<'_, PyAny>,
        threads: Option<usize>,
        weight: f64,
        seed: u64,
        held_out: f64,
        first: u64,
    ) -> PyResult<HeldOut> {
        let draw = Draw::new(seed, weight, held_out).or_raise()?;
        let texts: Vec<Text> =
            texts.try_iter()?.map(|text| Text::from_python(&text?)).collect::<PyResult<_>>()?;
        let texts: Vec<&str> = texts.iter().map(Text::as_str).collect();
        py.detach(|| self.count(&texts, draw, first, threads)).or_raise()
    }

    /// The same for a block of UTF-8 that begins and ends between two documents: it is cut here.
    /// Returns also how many documents there were.
    #[pyo3(signature = (data, *, split="line", separator=None, strip=false, threads=None, weight=1.0, seed=0, held_out=0.0, first=0))]
    #[allow(clippy::too_many_arguments)]
    fn feed_block(
        &self,
        py: Python<'_>,
        data: PyBackedBytes,
        split: &str,
        separator: Option<&str>,
        strip: bool,
        threads: Option<usize>,
        weight: f64,
        seed: u64,
        held_out: f64,
        first: u64,
    ) -> PyResult<(usize, HeldOut)> {
        let draw = Draw::new(seed, weight, held_out).or_raise()?;
        let split = split_of(split, separator)?;
        py.detach(|| {
            let texts = documents(&data, split, strip)?;
            Ok((texts.len(), self.count(&texts, draw, first, threads)?))
        })
        .or_raise()
    }

    /// Adds a word that needs no cutting.
    fn add(&self, word: &Bound<'_, PyAny>, count: u64) -> PyResult<()> {
        let mut counter = self.unfinished();
        if let Ok(word) = word.cast::<PyBytes>() {
            return counter.add(word.as_bytes(), count).or_raise();
        }
        counter.add(Text::from_python(word)?.as_str().as_bytes(), count).or_raise()
    }

    /// Adds a file that `write` made, and returns what was said about it.
    #[allow(clippy::needless_pass_by_value)] // what Python passes is made for the call
    fn add_file(&self, path: PathBuf) -> PyResult<String> {
        self.unfinished().add_file(&path).or_raise()
    }

    /// Brings all words together.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.unfinished().finish()).or_raise()
    }

    /// Writes the counts to a file, with a line about them, and returns their totals.
    #[allow(clippy::needless_pass_by_value)]
    fn write(&self, py: Python<'_>, path: PathBuf, about: &str) -> PyResult<(u64, u64, String)> {
        py.detach(|| self.unfinished().write(&path, about)).map(spelled).or_raise()
    }

    /// The number of words with repetitions and of distinct words, and SHA-256 of words and
    /// counts in hexadecimal digits.
    fn totals(&self, py: Python<'_>) -> PyResult<(u64, u64, String)> {
        py.detach(|| Ok(spelled(self.finished()?.counts().totals()))).or_raise()
    }

    /// How often a tokenizer of these components uses each id on the words; then the tokens and
    /// bytes in all, and how many words it cannot encode.
    #[pyo3(signature = (tokenizer, *, threads=None))]
    fn usage(
        &self,
        py: Python<'_>,
        tokenizer: &Tokenizer,
        threads: Option<usize>,
    ) -> PyResult<(Vec<u64>, u64, u64, u64)> {
        let pipeline = tokenizer.pipeline();
        let (model, vocab, size) = (pipeline.model(), pipeline.vocab(), pipeline.size());
        let threads = thread_count(threads);
        let used = py
            .detach(|| usage(model, vocab, size, self.finished()?.counts(), threads))
            .or_raise()?;
        Ok((used.counts, used.tokens, used.bytes, used.refused))
    }

    fn __len__(&self) -> PyResult<usize> {
        Ok(self.finished().or_raise()?.counts().len())
    }

    /// The words with their counts: in the order in which they were met, or sorted.
    fn items(&self, py: Python<'_>) -> PyResult<Vec<(Py<PyBytes>, u64)>> {
        let counter = self.finished().or_raise()?;
        let words = counter.counts().iter();
        Ok(words.map(|(word, count)| (PyBytes::new(py, word).unbind(), count)).collect())
    }
}

fn spelled(totals: Totals) -> (u64, u64, String) {
    let digest = totals.sha256.iter().map(|byte| format!("{byte:02x}")).collect();
    (totals.words, totals.distinct, digest)
}
