//! `protok.Stream`, `protok.StopMatcher` and `protok.Utf8Stream`.

use std::sync::{Arc, Mutex, MutexGuard};

use protok_core::Error;
use protok_core::decode::{Flow, Utf8};
use protok_core::stream::stop::{Matcher, Stops};
use protok_core::stream::{self, Options, Reason};
use pyo3::exceptions::PyRuntimeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyInt, PyString, PyTuple};

use crate::arguments::{Text, decode_options, ids};
use crate::delta;
use crate::errors::{OrRaise, to_python};
use crate::tokenizer::Tokenizer;

fn text_of<'py>(py: Python<'py>, text: &str) -> Bound<'py, PyString> {
    if text.is_empty() { intern!(py, "").clone() } else { PyString::new(py, text) }
}

/// The stop strings of a call: one, or a sequence of them.
fn strings(stop: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<String>> {
    let Some(stop) = stop else { return Ok(Vec::new()) };
    if stop.cast::<PyString>().is_ok() {
        return Ok(vec![Text::from_python(stop)?.as_str().to_owned()]);
    }
    stop.try_iter()?
        .enumerate()
        .map(|(at, item)| {
            let item = item?;
            if item.cast::<PyString>().is_err() {
                let kind = item.get_type().name()?.to_string();
                return Err(to_python(
                    Error::input(format!("A stop string must be str, not {kind}."))
                        .at(format!("stop[{at}]"))
                        .value(kind)
                        .hint("Ids that stop are stop_ids."),
                ));
            }
            Ok(Text::from_python(&item)?.as_str().to_owned())
        })
        .collect()
}

fn one_or_more(ids_or_id: &Bound<'_, PyAny>) -> PyResult<Vec<u32>> {
    if ids_or_id.cast::<PyInt>().is_ok() {
        return match ids_or_id.extract::<u32>() {
            Ok(id) => Ok(vec![id]),
            // The error of a sequence says what is wrong.
            Err(_) => ids(PyTuple::new(ids_or_id.py(), [ids_or_id])?.as_any()),
        };
    }
    ids(ids_or_id)
}

fn lock<T>(inner: &Mutex<T>) -> PyResult<MutexGuard<'_, T>> {
    inner.lock().map_err(|_| PyRuntimeError::new_err("an earlier call did not end"))
}

#[doc = include_str!("docs/stream.txt")]
#[pyclass(frozen, module = "protok")]
pub struct Stream {
    inner: Mutex<stream::Stream>,
    stops: Arc<Stops>,
}

#[pymethods]
impl Stream {
    #[new]
    #[pyo3(signature = (tokenizer, *, stop=None, stop_ids=None, include_stop=false, start_after=None, visible_only=true, skip_special_tokens=false, errors="replace", unknown="raise", clean_up_spaces=false, after=None, max_rollback=32))]
    #[allow(clippy::too_many_arguments, clippy::fn_params_excessive_bools)]
    fn new(
        py: Python<'_>,
        tokenizer: &Bound<'_, Tokenizer>,
        stop: Option<&Bound<'_, PyAny>>,
        stop_ids: Option<&Bound<'_, PyAny>>,
        include_stop: bool,
        start_after: Option<&str>,
        visible_only: bool,
        skip_special_tokens: bool,
        errors: &str,
        unknown: &str,
        clean_up_spaces: bool,
        after: Option<&Bound<'_, PyAny>>,
        max_rollback: usize,
    ) -> PyResult<Self> {
        let stops = Stops::new(&strings(stop)?, start_after, include_stop).or_raise()?;
        let stops = Arc::new(stops);
        let options = Options {
            decode: decode_options(skip_special_tokens, errors, unknown, clean_up_spaces)?,
            stops: stops.clone(),
            stop_ids: stop_ids.map(one_or_more).transpose()?.unwrap_or_default(),
            hidden: !visible_only,
            max_rollback,
        };
        let after = after.map(ids).transpose()?.unwrap_or_default();
        let pipeline = tokenizer.get().pipeline().clone();
        let inner = py.detach(|| stream::Stream::new(pipeline, options, &after)).or_raise()?;
        Ok(Self { inner: Mutex::new(inner), stops })
    }

    #[doc = include_str!("docs/stream_push.txt")]
    #[pyo3(signature = (ids, /))]
    fn push<'py>(&self, ids: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = ids.py();
        // True is an int as well; it goes the way of sequences, and no delta shows it.
        if let Ok(one) = ids.cast_exact::<PyInt>()
            && let Ok(id) = one.extract::<u32>()
        {
            let mut inner = lock(&self.inner)?;
            return delta::of_one(py, inner.push(&[id]).or_raise()?, &self.stops, one, id);
        }
        let ids = one_or_more(ids)?;
        let mut inner = lock(&self.inner)?;
        delta::to_python(py, inner.push(&ids).or_raise()?, &self.stops, None)
    }

    #[doc = include_str!("docs/stream_finish.txt")]
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let mut inner = lock(&self.inner)?;
        delta::to_python(py, inner.finish().or_raise()?, &self.stops, None)
    }

    #[doc = include_str!("docs/stream_copy.txt")]
    fn copy(&self) -> PyResult<Self> {
        let inner = Mutex::new(lock(&self.inner)?.clone());
        Ok(Self { inner, stops: self.stops.clone() })
    }

    fn __copy__(&self) -> PyResult<Self> {
        self.copy()
    }

    #[doc = include_str!("docs/stream_rollback.txt")]
    #[pyo3(signature = (count, /))]
    fn rollback(&self, count: usize) -> PyResult<(u64, u64)> {
        let withdrawn = lock(&self.inner)?.rollback(count).or_raise()?;
        Ok((withdrawn.characters, withdrawn.ids))
    }

    /// The bytes that came and are not released yet.
    #[getter]
    fn held<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &lock(&self.inner)?.held()))
    }

    /// Whether a stop string or a stop id ended the stream.
    #[getter]
    fn stopped(&self) -> PyResult<bool> {
        Ok(lock(&self.inner)?.reason().is_some_and(Reason::is_stop))
    }

    /// Where the stop string that was found starts and ends, in characters of the text that the
    /// stream gives.
    #[getter]
    fn stop_span(&self) -> PyResult<Option<(u64, u64)>> {
        Ok(match lock(&self.inner)?.reason() {
            Some(Reason::Text(found)) => Some((found.start, found.end)),
            _ => None,
        })
    }
}

#[doc = include_str!("docs/stop_matcher.txt")]
#[pyclass(frozen, module = "protok")]
pub struct StopMatcher {
    inner: Mutex<Pieces>,
    stops: Arc<Stops>,
}

/// A text that comes in pieces of text or of bytes.
#[derive(Clone)]
struct Pieces {
    utf8: Utf8,
    matcher: Matcher,
    flow: Flow,
    finished: Option<Reason>,
}

impl Pieces {
    fn push(&mut self, bytes: &[u8]) -> protok_core::Result<stream::Delta> {
        if matches!(self.finished, Some(Reason::End | Reason::Incomplete)) {
            return Err(Error::input("The text is finished.").hint("Make a new StopMatcher."));
        }
        self.flow.clear();
        self.utf8.push(bytes, 0, &mut self.flow)?;
        let mut text = Vec::new();
        self.matcher.push(self.flow.bytes(), 0, &mut text);
        self.finished = self.matcher.found().map(Reason::Text);
        Ok(self.delta(text))
    }

    fn finish(&mut self) -> protok_core::Result<stream::Delta> {
        match self.finished {
            Some(Reason::End | Reason::Incomplete) => {
                return Err(Error::input("The text is finished already."));
            }
            Some(_) => return Ok(self.delta(Vec::new())),
            None => {}
        }
        self.flow.clear();
        let incomplete = self.utf8.finish(&mut self.flow)?;
        let mut text = Vec::new();
        self.matcher.push(self.flow.bytes(), 0, &mut text);
        self.finished = Some(match self.matcher.found() {
            Some(found) => Reason::Text(found),
            None => {
                self.matcher.finish(&mut text);
                if incomplete { Reason::Incomplete } else { Reason::End }
            }
        });
        Ok(self.delta(text))
    }

    fn delta(&self, text: Vec<u8>) -> stream::Delta {
        stream::Delta::of_text(text, self.finished)
    }
}

#[pymethods]
impl StopMatcher {
    #[new]
    #[pyo3(signature = (stop, *, include_stop=false, start_after=None))]
    fn new(
        stop: &Bound<'_, PyAny>,
        include_stop: bool,
        start_after: Option<&str>,
    ) -> PyResult<Self> {
        let stops = Stops::new(&strings(Some(stop))?, start_after, include_stop).or_raise()?;
        let stops = Arc::new(stops);
        let inner = Mutex::new(Pieces {
            utf8: Utf8::new(false),
            matcher: Matcher::new(stops.clone()),
            flow: Flow::default(),
            finished: None,
        });
        Ok(Self { inner, stops })
    }

    #[doc = include_str!("docs/stop_matcher_push.txt")]
    #[pyo3(signature = (chunk, /))]
    fn push<'py>(&self, chunk: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let text = match chunk.cast::<PyBytes>() {
            Ok(bytes) => Text::from_bytes(PyBackedBytes::from(bytes.clone())),
            Err(_) => Text::from_python(chunk)?,
        };
        let delta = lock(&self.inner)?.push(text.as_bytes()).or_raise()?;
        delta::to_python(chunk.py(), &delta, &self.stops, None)
    }

    #[doc = include_str!("docs/stop_matcher_finish.txt")]
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let delta = lock(&self.inner)?.finish().or_raise()?;
        delta::to_python(py, &delta, &self.stops, None)
    }

    #[doc = include_str!("docs/stop_matcher_copy.txt")]
    fn copy(&self) -> PyResult<Self> {
        let inner = Mutex::new(lock(&self.inner)?.clone());
        Ok(Self { inner, stops: self.stops.clone() })
    }

    fn __copy__(&self) -> PyResult<Self> {
        self.copy()
    }

    /// The text that is held back, as UTF-8.
    #[getter]
    fn held<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let inner = lock(&self.inner)?;
        let held = [inner.matcher.held(), inner.utf8.waiting().bytes()].concat();
        Ok(PyBytes::new(py, &held))
    }

    /// Where the stop string that was found starts and ends, in characters of the text.
    #[getter]
    fn stop_span(&self) -> PyResult<Option<(u64, u64)>> {
        Ok(lock(&self.inner)?.matcher.found().map(|found| (found.start, found.end)))
    }
}

#[doc = include_str!("docs/utf8_stream.txt")]
#[pyclass(frozen, module = "protok")]
pub struct Utf8Stream {
    inner: Mutex<(Utf8, Flow)>,
}

#[pymethods]
impl Utf8Stream {
    #[new]
    #[pyo3(signature = (*, errors="replace"))]
    fn new(errors: &str) -> PyResult<Self> {
        let strict = match errors {
            "replace" => false,
            "strict" => true,
            other => {
                return Err(to_python(
                    Error::input(format!("errors={other:?} is not known."))
                        .value(other)
                        .hint("Use \"replace\" or \"strict\"."),
                ));
            }
        };
        Ok(Self { inner: Mutex::new((Utf8::new(strict), Flow::default())) })
    }

    #[doc = include_str!("docs/utf8_stream_push.txt")]
    #[pyo3(signature = (chunk, /))]
    fn push<'py>(&self, chunk: &Bound<'py, PyBytes>) -> PyResult<Bound<'py, PyString>> {
        let mut inner = lock(&self.inner)?;
        let (utf8, flow) = &mut *inner;
        flow.clear();
        utf8.push(chunk.as_bytes(), 0, flow).or_raise()?;
        Ok(text_of(chunk.py(), &String::from_utf8_lossy(flow.bytes())))
    }

    #[doc = include_str!("docs/utf8_stream_finish.txt")]
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        let mut inner = lock(&self.inner)?;
        let (utf8, flow) = &mut *inner;
        flow.clear();
        utf8.finish(flow).or_raise()?;
        Ok(text_of(py, &String::from_utf8_lossy(flow.bytes())))
    }

    /// The bytes that may still become a character.
    #[getter]
    fn held<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, lock(&self.inner)?.0.waiting().bytes()))
    }
}
