//! `protok._core.Tokenizer`, the base of `protok.Tokenizer`.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use protok_core::added_tokens::SpecialPolicy;
use protok_core::formats::{self, Artifact, Files, Info};
use protok_core::parallel::{map_groups, thread_count};
use protok_core::pipeline::choice::Choice;
use protok_core::pipeline::encode::EncodeOptions;
use protok_core::pipeline::input::size;
use protok_core::pipeline::{CompileOptions, DEFAULT_CACHE_BYTES, Pipeline};
use protok_core::snapshot;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString};

use crate::arguments::{Text, decode_options, ids, place, policy, read_options, truncation};
use crate::batch::{self, Batch, BatchTexts};
use crate::buffer::{self, Buffer};
use crate::contradiction::Contradiction;
use crate::encoding::{self, Encoding, Origin, Source};
use crate::errors::OrRaise;
use crate::fingerprint::Fingerprint;
use crate::input::{self, Given, Row};
use crate::vocab::{AddedToken, ControlToken, Vocab};

/// Texts shorter than this are encoded without letting other threads in: the switch costs more.
const DETACH: usize = 4096;

/// A compiled tokenizer.
#[pyclass(frozen, subclass, module = "protok._core")]
pub struct Tokenizer {
    pipeline: Arc<Pipeline>,
    loaded: Arc<Loaded>,
}

/// What loading found beside the pipeline.
struct Loaded {
    info: Info,
    fingerprint: Arc<Fingerprint>,
    from_snapshot: bool,
}

/// A key as Python has it.
type Key = [u8; 32];

impl Tokenizer {
    fn of(pipeline: Pipeline, info: Info, from_snapshot: bool) -> Self {
        let pipeline = Arc::new(pipeline);
        let fingerprint = Arc::new(Fingerprint::new(pipeline.clone()));
        Self { pipeline, loaded: Arc::new(Loaded { info, fingerprint, from_snapshot }) }
    }

    /// What the files say beside the spec.
    pub fn info(&self) -> &Info {
        &self.loaded.info
    }

    /// The options of a call.
    pub fn options(
        &self,
        add_special_tokens: bool,
        special: Option<&Bound<'_, PyAny>>,
        default: SpecialPolicy,
    ) -> PyResult<EncodeOptions> {
        let special = match special {
            Some(special) => policy(&self.pipeline, special)?,
            None => default,
        };
        Ok(EncodeOptions { add_special_tokens, special, ..EncodeOptions::default() })
    }

    fn encoding(
        &self,
        inner: protok_core::encoding::Encoding,
        texts: Vec<Source>,
        options: EncodeOptions,
    ) -> Encoding {
        Encoding::new(inner, Arc::new(self.origin(texts, options)))
    }

    /// What an encoding that this tokenizer makes comes from.
    pub(crate) fn origin(&self, texts: Vec<Source>, options: EncodeOptions) -> Origin {
        Origin {
            texts,
            options,
            pipeline: self.pipeline.clone(),
            fingerprint: self.loaded.fingerprint.clone(),
            offsets: OnceLock::new(),
            byte_spans: OnceLock::new(),
            index: OnceLock::new(),
        }
    }
}

impl Tokenizer {
    /// What a batch says of its rows.
    pub(crate) fn batch_texts(
        &self,
        texts: Option<Vec<Row>>,
        options: EncodeOptions,
    ) -> BatchTexts {
        BatchTexts {
            texts,
            options,
            pipeline: self.pipeline.clone(),
            fingerprint: self.loaded.fingerprint.clone(),
            pad: self.pad_token(),
        }
    }
}

pub(crate) fn detach_if<T: Send>(
    py: Python<'_>,
    bytes: usize,
    work: impl FnOnce() -> T + Send,
) -> T {
    if bytes < DETACH { work() } else { py.detach(work) }
}

#[pymethods]
impl Tokenizer {
    #[new]
    #[pyo3(signature = (files, *, encoding=None, pattern=None, special_tokens=None, control_tokens=None, as_loaded_by=None, cache_bytes=DEFAULT_CACHE_BYTES, snapshot=None))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        files: &Bound<'_, PyDict>,
        encoding: Option<String>,
        pattern: Option<String>,
        special_tokens: Option<BTreeMap<String, u32>>,
        control_tokens: Option<Vec<String>>,
        as_loaded_by: Option<&str>,
        cache_bytes: usize,
        snapshot: Option<(Key, pyo3::pybacked::PyBackedBytes)>,
    ) -> PyResult<Self> {
        let read = read_options(encoding, pattern, special_tokens, as_loaded_by)?;
        let mut contents: Vec<(String, pyo3::pybacked::PyBackedBytes)> = Vec::new();
        for (name, content) in files {
            contents.push((name.extract()?, content.cast_into::<PyBytes>()?.into()));
        }
        py.detach(|| {
            if let Some((key, bytes)) = snapshot {
                let key = snapshot::Key::from(key);
                let (pipeline, info) =
                    snapshot::read(&bytes, &key, control_tokens, Some(cache_bytes))?;
                return Ok(Self::of(pipeline, info, true));
            }
            let mut files = Files::default();
            for (name, content) in &contents {
                files.insert(name, content);
            }
            let Artifact { spec, info } = formats::read(&files, &read)?;
            let compile = CompileOptions {
                control_tokens,
                template_literals: info.template_literals(),
                cache_bytes: Some(cache_bytes),
            };
            Ok(Self::of(Pipeline::compile(spec, &compile)?, info, false))
        })
        .or_raise()
    }

    #[doc = include_str!("docs/encode.txt")]
    #[pyo3(signature = (text, pair=None, *, add_special_tokens=true, special=None, max_length=None, truncation="right", stride=0, offsets=false, seed=None, is_pretokenized=false))]
    #[allow(clippy::too_many_arguments)]
    fn encode(
        &self,
        py: Python<'_>,
        text: &Bound<'_, PyAny>,
        pair: Option<&Bound<'_, PyAny>>,
        add_special_tokens: bool,
        special: Option<&Bound<'_, PyAny>>,
        max_length: Option<usize>,
        truncation: &str,
        stride: usize,
        offsets: bool,
        seed: Option<u64>,
        is_pretokenized: bool,
    ) -> PyResult<Encoding> {
        let options = EncodeOptions {
            truncation: self::truncation(max_length, truncation, stride)?,
            choice: self.pipeline.seeded(seed),
            ..self.options(add_special_tokens, special, SpecialPolicy::Raise)?
        };
        let text = Given::from_python(text, is_pretokenized)?;
        let pair = pair.map(|pair| Given::from_python(pair, is_pretokenized)).transpose()?;
        let input = (text.as_input(), pair.as_ref().map(Given::as_input));
        let encode = || encoding::encode(&self.pipeline, &input, &options, offsets);
        let (inner, byte_spans) = detach_if(py, size(&input), encode)
            .map_err(|error| input::place_in(error, &text, pair.as_ref()))
            .or_raise()?;
        drop(input);
        let texts = std::iter::once(text).chain(pair).map(Source::Own).collect();
        let origin = Origin { byte_spans, ..self.origin(texts, options) };
        let encoding = Encoding::new(inner, Arc::new(origin));
        if offsets {
            encoding.locate()?;
        }
        Ok(encoding)
    }

    #[doc = include_str!("docs/encode_batch.txt")]
    #[pyo3(signature = (texts, *, add_special_tokens=true, special=None, max_length=None, truncation="right", stride=0, threads=None, seed=None, is_pretokenized=false))]
    #[allow(clippy::too_many_arguments)]
    fn encode_batch(
        &self,
        py: Python<'_>,
        texts: &Bound<'_, PyAny>,
        add_special_tokens: bool,
        special: Option<&Bound<'_, PyAny>>,
        max_length: Option<usize>,
        truncation: &str,
        stride: usize,
        threads: Option<usize>,
        seed: Option<u64>,
        is_pretokenized: bool,
    ) -> PyResult<Batch> {
        let options = EncodeOptions {
            truncation: self::truncation(max_length, truncation, stride)?,
            choice: self.pipeline.seeded(seed),
            ..self.options(add_special_tokens, special, SpecialPolicy::Raise)?
        };
        let texts = input::batch(texts, is_pretokenized)?;
        let batch = batch::encode_rows(py, &self.pipeline, &texts, &options, threads)?;
        Ok(Batch::new(batch, self.batch_texts(Some(texts), options)))
    }

    #[doc = include_str!("docs/encode_bytes.txt")]
    #[pyo3(signature = (data, *, add_special_tokens=true, special=None, seed=None))]
    fn encode_bytes(
        &self,
        py: Python<'_>,
        data: &Bound<'_, PyAny>,
        add_special_tokens: bool,
        special: Option<&Bound<'_, PyAny>>,
        seed: Option<u64>,
    ) -> PyResult<Encoding> {
        let options = EncodeOptions {
            choice: self.pipeline.seeded(seed),
            ..self.options(add_special_tokens, special, SpecialPolicy::Raise)?
        };
        let data: pyo3::pybacked::PyBackedBytes = data.extract()?;
        let text = Text::from_bytes(data);
        let data = text.as_bytes();
        let inner = detach_if(py, data.len(), || self.pipeline.encode_bytes(data, &options))
            .map_err(|error| place(error, &text))
            .or_raise()?;
        Ok(self.encoding(inner, vec![Source::Own(Given::Whole(text))], options))
    }

    /// Encodes one text in a way that is drawn at random; see `protok.Tokenizer.sample`.
    #[pyo3(signature = (text, *, seed, alpha=None, dropout=None, add_special_tokens=true, special=None, is_pretokenized=false))]
    #[allow(clippy::too_many_arguments)]
    fn sample(
        &self,
        py: Python<'_>,
        text: &Bound<'_, PyAny>,
        seed: u64,
        alpha: Option<f64>,
        dropout: Option<f64>,
        add_special_tokens: bool,
        special: Option<&Bound<'_, PyAny>>,
        is_pretokenized: bool,
    ) -> PyResult<Encoding> {
        let options = EncodeOptions {
            choice: self.pipeline.drawn(seed, alpha, dropout).or_raise()?,
            ..self.options(add_special_tokens, special, SpecialPolicy::Raise)?
        };
        let text = Given::from_python(text, is_pretokenized)?;
        let input = (text.as_input(), None);
        let encode = || self.pipeline.encode_input(&input, &options);
        let inner =
            detach_if(py, size(&input), encode).map_err(|error| text.place(error)).or_raise()?;
        drop(input);
        Ok(self.encoding(inner, vec![Source::Own(text)], options))
    }

    /// Encodes one text in its best ways; see `protok.Tokenizer.nbest`.
    #[pyo3(signature = (text, k, *, add_special_tokens=true, special=None))]
    fn nbest(
        &self,
        py: Python<'_>,
        text: &Bound<'_, PyAny>,
        k: usize,
        add_special_tokens: bool,
        special: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Vec<(Encoding, f64)>> {
        let options = self.options(add_special_tokens, special, SpecialPolicy::Raise)?;
        let text = Arc::new(Given::from_python(text, false)?);
        let whole = text.whole().map_or("", Text::as_str);
        let ways = detach_if(py, whole.len(), || self.pipeline.nbest(whole, k, &options))
            .map_err(|error| text.place(error))
            .or_raise()?;
        let ways = ways.into_iter().enumerate().map(|(rank, (inner, score))| {
            let choice = Choice::Ranked { count: k, rank };
            let options = EncodeOptions { choice, ..options.clone() };
            (self.encoding(inner, vec![Source::Shared(text.clone())], options), score)
        });
        Ok(ways.collect())
    }

    #[doc = include_str!("docs/count.txt")]
    #[pyo3(signature = (text, *, add_special_tokens=false, special=None, threads=None))]
    fn count<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'py, PyAny>,
        add_special_tokens: bool,
        special: Option<&Bound<'_, PyAny>>,
        threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let options = self.options(add_special_tokens, special, SpecialPolicy::Text)?;
        let one = text.cast::<PyString>().is_ok() || text.cast::<PyBytes>().is_ok();
        let texts = if one {
            vec![(Given::from_python(text, false)?, None)]
        } else {
            input::batch(text, false)?
        };
        let texts: Vec<&str> =
            texts.iter().filter_map(|(text, _)| text.whole().map(Text::as_str)).collect();
        let size = texts.iter().map(|text| text.len()).sum();
        let threads = thread_count(threads);
        let counts = detach_if(py, size, || self.pipeline.count_batch(&texts, &options, threads))
            .or_raise()?;
        if one {
            return Ok(counts[0].into_pyobject(py)?.into_any());
        }
        buffer::to_numpy(Bound::new(py, Buffer::of_i64(counts))?.into_any(), "int64")
    }

    #[doc = include_str!("docs/decode.txt")]
    #[pyo3(signature = (ids, *, skip_special_tokens=false, errors="replace", unknown="raise", clean_up_spaces=false))]
    fn decode(
        &self,
        ids: &Bound<'_, PyAny>,
        skip_special_tokens: bool,
        errors: &str,
        unknown: &str,
        clean_up_spaces: bool,
    ) -> PyResult<String> {
        let options = decode_options(skip_special_tokens, errors, unknown, clean_up_spaces)?;
        self.pipeline.decode(&self::ids(ids)?, options).or_raise()
    }

    #[doc = include_str!("docs/decode_bytes.txt")]
    #[pyo3(signature = (ids, *, skip_special_tokens=false, unknown="raise"))]
    fn decode_bytes<'py>(
        &self,
        ids: &Bound<'py, PyAny>,
        skip_special_tokens: bool,
        unknown: &str,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let options = decode_options(skip_special_tokens, "replace", unknown, false)?;
        let bytes = self.pipeline.decode_bytes(&self::ids(ids)?, options).or_raise()?;
        Ok(PyBytes::new(ids.py(), &bytes))
    }

    #[doc = include_str!("docs/decode_batch.txt")]
    #[pyo3(signature = (batch, *, skip_special_tokens=false, errors="replace", unknown="raise", clean_up_spaces=false, threads=None))]
    #[allow(clippy::too_many_arguments)]
    fn decode_batch(
        &self,
        py: Python<'_>,
        batch: &Bound<'_, PyAny>,
        skip_special_tokens: bool,
        errors: &str,
        unknown: &str,
        clean_up_spaces: bool,
        threads: Option<usize>,
    ) -> PyResult<Vec<String>> {
        let options = decode_options(skip_special_tokens, errors, unknown, clean_up_spaces)?;
        let rows: Vec<Vec<u32>> = match batch.cast::<Batch>() {
            Ok(batch) => batch.get().rows().map(<[u32]>::to_vec).collect(),
            Err(_) => batch.try_iter()?.map(|row| ids(&row?)).collect::<PyResult<_>>()?,
        };
        let threads = thread_count(threads);
        let decode = |rows: &[Vec<u32>], start: usize| {
            (start..)
                .zip(rows)
                .map(|(index, row)| {
                    self.pipeline
                        .decode(row, options)
                        .map_err(|error| error.within(&format!("batch[{index}]")))
                })
                .collect::<protok_core::Result<Vec<String>>>()
        };
        let texts =
            py.detach(|| map_groups(&rows, |row| row.len() * 4, threads, decode)).or_raise()?;
        Ok(texts.into_iter().flatten().collect())
    }

    /// The files that `save` writes, the tokenizer itself first.
    #[pyo3(signature = (format="huggingface"))]
    fn to_files<'py>(&self, py: Python<'py>, format: &str) -> PyResult<Bound<'py, PyDict>> {
        let saving = formats::Saving {
            spec: self.pipeline.spec(),
            roles: &self.info().roles,
            chat_templates: &self.info().chat_templates,
        };
        let files = py.detach(|| formats::save(&saving, format)).or_raise()?;
        let dict = PyDict::new(py);
        for (name, content) in files {
            dict.set_item(name, PyBytes::new(py, &content))?;
        }
        Ok(dict)
    }

    /// What `inspect` shows, as JSON: the canonical form of the spec, and what the files say
    /// beside it.
    fn describe(&self) -> PyResult<String> {
        let mut described = formats::canonical::canonical(self.pipeline.spec()).or_raise()?;
        let info = self.info();
        let templates: Vec<&String> = info.chat_templates.iter().map(|(name, _)| name).collect();
        let versions = protok_core::text::unicode::VERSIONS;
        for (name, value) in [
            ("format", serde_json::json!(info.format.to_string())),
            ("sources", serde_json::json!(info.sources)),
            ("fingerprint", serde_json::json!(self.loaded.fingerprint.get().or_raise()?)),
            ("pattern_engines", serde_json::json!(self.pipeline.pattern_engines())),
            ("chat_templates", serde_json::json!(templates)),
            ("unicode", serde_json::json!(versions)),
        ] {
            described[name] = value;
        }
        Ok(described.to_string())
    }

    /// What every stage does to a text, as JSON.
    #[pyo3(signature = (text, *, add_special_tokens=true, special=None))]
    fn trace_json(
        &self,
        text: &Bound<'_, PyAny>,
        add_special_tokens: bool,
        special: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<String> {
        let options = self.options(add_special_tokens, special, SpecialPolicy::Raise)?;
        let text = Text::from_python(text)?;
        let trace = self.pipeline.trace(text.as_str(), &options).or_raise()?;
        serde_json::to_string(&trace)
            .map_err(|error| pyo3::exceptions::PyRuntimeError::new_err(error.to_string()))
    }

    #[doc = include_str!("docs/differing_paths.txt")]
    #[pyo3(signature = (texts, *, special=None, threads=None))]
    fn differing_paths(
        &self,
        py: Python<'_>,
        texts: Vec<pyo3::pybacked::PyBackedStr>,
        special: Option<&Bound<'_, PyAny>>,
        threads: Option<usize>,
    ) -> PyResult<Vec<usize>> {
        let options = self.options(false, special, SpecialPolicy::Parse)?;
        let texts: Vec<&str> = texts.iter().map(|text| &**text).collect();
        let threads = thread_count(threads);
        py.detach(|| self.pipeline.differing_paths(&texts, &options.special, threads)).or_raise()
    }

    /// The vocabulary by kind, the round trip, and what is odd, as JSON.
    #[pyo3(signature = (*, threads=None))]
    fn inspect_json(&self, py: Python<'_>, threads: Option<usize>) -> PyResult<String> {
        let threads = thread_count(threads);
        let inspection = py.detach(|| self.pipeline.inspect(threads)).or_raise()?;
        serde_json::to_string(&inspection)
            .map_err(|error| pyo3::exceptions::PyRuntimeError::new_err(error.to_string()))
    }

    /// The hash of everything that decides ids: `sha256:` and 64 hexadecimal digits.
    #[getter]
    fn fingerprint(&self) -> PyResult<&str> {
        self.loaded.fingerprint.get().or_raise()
    }

    /// Whether it was read from a snapshot, not from its files. It is the same either way.
    #[getter(from_snapshot)]
    fn is_from_snapshot(&self) -> bool {
        self.loaded.from_snapshot
    }

    /// The vocabulary, added tokens included: a mapping of tokens to ids.
    #[getter]
    fn vocab(&self) -> Vocab {
        Vocab { pipeline: self.pipeline.clone() }
    }

    /// The tokens that are matched in the text itself.
    #[getter]
    fn added_tokens(&self) -> Vec<AddedToken> {
        self.pipeline.added_tokens().tokens().iter().map(AddedToken::from).collect()
    }

    /// The added tokens that the artifact flags special, with their ids.
    #[getter]
    fn special_tokens<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for token in self.pipeline.added_tokens().tokens().iter().filter(|token| token.special) {
            dict.set_item(&token.content, token.id)?;
        }
        Ok(dict)
    }

    /// The tokens that ordinary text must not spell, with the reason.
    #[getter]
    fn control_tokens(&self) -> Vec<ControlToken> {
        let control = self.pipeline.control_tokens().iter();
        control
            .map(|&(id, reason)| ControlToken {
                id,
                content: self.pipeline.token(id).unwrap_or_default().into_owned(),
                reason: reason.as_str().to_owned(),
            })
            .collect()
    }

    /// The token of each role, the first one where the files name several. Tokens that the
    /// artifact lists as additional have no role.
    #[getter]
    fn roles<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (role, token) in self.info().roles.iter().filter(|(role, _)| role != "additional") {
            if !dict.contains(role)? {
                dict.set_item(role, token)?;
            }
        }
        Ok(dict)
    }

    /// All tokens of each role, those listed without one under `additional`.
    #[getter]
    fn role_tokens(&self) -> BTreeMap<String, Vec<String>> {
        let mut tokens: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (role, token) in &self.info().roles {
            let tokens = tokens.entry(role.clone()).or_default();
            if !tokens.contains(token) {
                tokens.push(token.clone());
            }
        }
        tokens
    }

    /// The chat templates by name; the main one is `default` and comes first.
    #[getter]
    fn chat_templates<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (name, template) in &self.info().chat_templates {
            dict.set_item(name, template)?;
        }
        Ok(dict)
    }

    /// Where the configuration files mean another tokenizer than the tokenizer file, which decides.
    #[getter]
    fn contradictions(&self) -> Vec<Contradiction> {
        self.info().contradictions.iter().map(Contradiction::from).collect()
    }

    /// What the files say without effect, or otherwise than it seems.
    #[getter]
    fn warnings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let info = self.info();
        PyList::new(py, info.config_notes.iter().chain(&info.notes).collect::<Vec<_>>())
    }
}

impl Tokenizer {
    /// An encoding from what its `to_dict` gave, if this tokenizer made it.
    pub fn restore(&self, data: &Bound<'_, PyDict>) -> PyResult<Encoding> {
        crate::restore::restore(
            data,
            self.loaded.fingerprint.get().or_raise()?,
            &self.pipeline,
            |texts, options| self.origin(texts, options),
        )
    }

    /// The compiled spec.
    pub fn pipeline(&self) -> &Arc<Pipeline> {
        &self.pipeline
    }

    /// The id that pads a batch, if the artifact names one.
    fn pad_token(&self) -> Option<u32> {
        let (_, token) = self.info().roles.iter().find(|(role, _)| role == "pad")?;
        self.pipeline.token_id(token)
    }
}
