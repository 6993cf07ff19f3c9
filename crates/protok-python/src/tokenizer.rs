//! `protok._core.Tokenizer`, the base of `protok.Tokenizer`.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use protok_core::added_tokens::SpecialPolicy;
use protok_core::formats::{self, Artifact, Files};
use protok_core::parallel::{map_groups, thread_count};
use protok_core::pipeline::batch::Input;
use protok_core::pipeline::encode::EncodeOptions;
use protok_core::pipeline::{CompileOptions, DEFAULT_CACHE_BYTES, Pipeline};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};

use crate::arguments::{Text, decode_options, ids, place, policy, truncation, wrapper};
use crate::batch::{Batch, BatchTexts};
use crate::buffer::{self, Buffer};
use crate::contradiction::Contradiction;
use crate::encoding::{Encoding, Origin, Source};
use crate::errors::OrRaise;
use crate::vocab::{AddedToken, ControlToken, Vocab};

/// Texts shorter than this are encoded without letting other threads in: the switch costs more.
const DETACH: usize = 4096;

/// A compiled tokenizer.
#[pyclass(frozen, subclass, module = "protok._core")]
pub struct Tokenizer {
    pipeline: Arc<Pipeline>,
    artifact: Arc<ArtifactInfo>,
}

/// What the files say beside the spec.
struct ArtifactInfo {
    format: String,
    roles: Vec<(String, String)>,
    chat_templates: Vec<(String, String)>,
    notes: Vec<String>,
    contradictions: Vec<formats::Contradiction>,
    sources: Vec<(String, String)>,
    fingerprint: Arc<str>,
}

impl Tokenizer {
    fn options(
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

    fn origin(&self, texts: Vec<Source>, options: EncodeOptions) -> Origin {
        Origin {
            texts,
            options,
            pipeline: self.pipeline.clone(),
            fingerprint: self.artifact.fingerprint.clone(),
            offsets: OnceLock::new(),
        }
    }
}

fn detach_if<T: Send>(py: Python<'_>, bytes: usize, work: impl FnOnce() -> T + Send) -> T {
    if bytes < DETACH { work() } else { py.detach(work) }
}

#[pymethods]
impl Tokenizer {
    #[new]
    #[pyo3(signature = (files, *, encoding=None, pattern=None, special_tokens=None, control_tokens=None, as_loaded_by=None, cache_bytes=DEFAULT_CACHE_BYTES))]
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
    ) -> PyResult<Self> {
        let as_loaded_by = as_loaded_by.map(wrapper).transpose()?;
        let mut contents: Vec<(String, pyo3::pybacked::PyBackedBytes)> = Vec::new();
        for (name, content) in files {
            contents.push((name.extract()?, content.cast_into::<PyBytes>()?.into()));
        }
        let mut compile = CompileOptions {
            control_tokens,
            cache_bytes: Some(cache_bytes),
            ..CompileOptions::default()
        };
        py.detach(|| {
            let mut files = Files::default();
            for (name, content) in &contents {
                files.insert(name, content);
            }
            let read = formats::Options {
                encoding,
                pattern,
                special_tokens: special_tokens.map(|tokens| tokens.into_iter().collect()),
                tokenizer_class: None,
                as_loaded_by,
            };
            let Artifact {
                spec,
                roles,
                chat_templates,
                config_notes,
                contradictions,
                notes,
                format,
                sources,
            } = formats::read(&files, &read)?;
            let fingerprint = formats::fingerprint(&spec)?;
            let literals =
                |(_, text): &(String, String)| formats::template_literals::literals(text);
            compile.template_literals = chat_templates.iter().flat_map(literals).collect();
            let info = ArtifactInfo {
                format: format.to_string(),
                roles,
                chat_templates,
                notes: config_notes.into_iter().chain(notes).collect(),
                contradictions,
                sources,
                fingerprint: fingerprint.into(),
            };
            Ok(Self {
                pipeline: Arc::new(Pipeline::compile(spec, &compile)?),
                artifact: Arc::new(info),
            })
        })
        .or_raise()
    }

    /// Encodes one text, or two.
    #[pyo3(signature = (text, pair=None, *, add_special_tokens=true, special=None, max_length=None, truncation="right", stride=0, offsets=false, seed=None))]
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
    ) -> PyResult<Encoding> {
        let options = EncodeOptions {
            truncation: self::truncation(max_length, truncation, stride)?,
            seed,
            ..self.options(add_special_tokens, special, SpecialPolicy::Raise)?
        };
        let text = Text::from_python(text)?;
        let pair = pair.map(Text::from_python).transpose()?;
        let (first, second) = (text.as_str(), pair.as_ref().map(Text::as_str));
        let size = first.len() + second.map_or(0, str::len);
        let inner = detach_if(py, size, || self.pipeline.encode(first, second, &options))
            .map_err(|error| place(error, &text))
            .or_raise()?;
        let texts = std::iter::once(text).chain(pair).map(Source::Own).collect();
        let encoding = self.encoding(inner, texts, options);
        if offsets {
            encoding.locate()?;
        }
        Ok(encoding)
    }

    /// Encodes many texts on all cores.
    #[pyo3(signature = (texts, *, add_special_tokens=true, special=None, max_length=None, truncation="right", stride=0, threads=None, seed=None))]
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
    ) -> PyResult<Batch> {
        let options = EncodeOptions {
            truncation: self::truncation(max_length, truncation, stride)?,
            seed,
            ..self.options(add_special_tokens, special, SpecialPolicy::Raise)?
        };
        let texts = batch_texts(texts)?;
        let inputs: Vec<Input<'_>> = texts
            .iter()
            .map(|(text, pair)| (text.as_str(), pair.as_ref().map(Text::as_str)))
            .collect();
        let threads = thread_count(threads);
        let batch = py
            .detach(|| self.pipeline.encode_batch(&inputs, &options, threads))
            .map_err(|error| match error.item {
                Some(item) => place(error, &texts[item].0),
                None => error,
            })
            .or_raise()?;
        drop(inputs);
        let texts = BatchTexts {
            texts,
            options,
            pipeline: self.pipeline.clone(),
            fingerprint: self.artifact.fingerprint.clone(),
            pad: self.pad_token(),
        };
        Ok(Batch::new(batch, texts))
    }

    /// Encodes any bytes, where the family can hold them: byte-level models, and models with a
    /// `<0xNN>` token for every byte.
    ///
    /// Stretches of UTF-8 are read as the text that they spell. Each longest stretch that is not is
    /// a piece of its own, and where text meets one, nothing is put in front of it or trimmed from
    /// it as at the ends of a text: `decode_bytes` gives the bytes back wherever the tokenizer gives
    /// text back.
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
            seed,
            ..self.options(add_special_tokens, special, SpecialPolicy::Raise)?
        };
        let data: pyo3::pybacked::PyBackedBytes = data.extract()?;
        let text = Text::from_bytes(data);
        let data = text.as_bytes();
        let inner = detach_if(py, data.len(), || self.pipeline.encode_bytes(data, &options))
            .map_err(|error| place(error, &text))
            .or_raise()?;
        Ok(self.encoding(inner, vec![Source::Own(text)], options))
    }

    /// The number of tokens of a text, or of each of many.
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
        let texts = if one { vec![(Text::from_python(text)?, None)] } else { batch_texts(text)? };
        let texts: Vec<&str> = texts.iter().map(|(text, _)| text.as_str()).collect();
        let size = texts.iter().map(|text| text.len()).sum();
        let threads = thread_count(threads);
        let counts = detach_if(py, size, || self.pipeline.count_batch(&texts, &options, threads))
            .or_raise()?;
        if one {
            return Ok(counts[0].into_pyobject(py)?.into_any());
        }
        buffer::to_numpy(Bound::new(py, Buffer::of_i64(counts))?.into_any(), "int64")
    }

    /// The text that ids stand for.
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

    /// The bytes that ids stand for.
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

    /// The texts that many lists of ids stand for.
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
            roles: &self.artifact.roles,
            chat_templates: &self.artifact.chat_templates,
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
        let info = &self.artifact;
        let templates: Vec<&String> = info.chat_templates.iter().map(|(name, _)| name).collect();
        let versions = protok_core::text::unicode::VERSIONS;
        for (name, value) in [
            ("format", serde_json::json!(info.format)),
            ("sources", serde_json::json!(info.sources)),
            ("fingerprint", serde_json::json!(&*info.fingerprint)),
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

    /// The indices of the texts that the fast path and the reference path read differently, in
    /// ids or in where tokens come from. There should be none.
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

    #[getter]
    fn fingerprint(&self) -> &str {
        &self.artifact.fingerprint
    }

    #[getter]
    fn vocab(&self) -> Vocab {
        Vocab { pipeline: self.pipeline.clone() }
    }

    #[getter]
    fn added_tokens(&self) -> Vec<AddedToken> {
        self.pipeline.added_tokens().tokens().iter().map(AddedToken::from).collect()
    }

    #[getter]
    fn special_tokens<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for token in self.pipeline.added_tokens().tokens().iter().filter(|token| token.special) {
            dict.set_item(&token.content, token.id)?;
        }
        Ok(dict)
    }

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
        for (role, token) in self.artifact.roles.iter().filter(|(role, _)| role != "additional") {
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
        for (role, token) in &self.artifact.roles {
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
        for (name, template) in &self.artifact.chat_templates {
            dict.set_item(name, template)?;
        }
        Ok(dict)
    }

    /// Where the configuration files mean another tokenizer than the tokenizer file, which decides.
    #[getter]
    fn contradictions(&self) -> Vec<Contradiction> {
        self.artifact.contradictions.iter().map(Contradiction::from).collect()
    }

    #[getter]
    fn warnings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, &self.artifact.notes)
    }
}

impl Tokenizer {
    /// An encoding from what its `to_dict` gave, if this tokenizer made it.
    pub fn restore(&self, data: &Bound<'_, PyDict>) -> PyResult<Encoding> {
        crate::restore::restore(
            data,
            &self.artifact.fingerprint,
            &self.pipeline,
            |texts, options| self.origin(texts, options),
        )
    }

    /// The id that pads a batch, if the artifact names one.
    fn pad_token(&self) -> Option<u32> {
        let (_, token) = self.artifact.roles.iter().find(|(role, _)| role == "pad")?;
        self.pipeline.token_id(token)
    }
}

/// The texts of a batch: each a text, or a tuple of two.
fn batch_texts(texts: &Bound<'_, PyAny>) -> PyResult<Vec<(Text, Option<Text>)>> {
    if texts.cast::<PyString>().is_ok() || texts.cast::<PyBytes>().is_ok() {
        return Err(crate::errors::to_python(
            protok_core::Error::input("A batch must be a sequence of texts, not one text.")
                .hint("Use encode for one text."),
        ));
    }
    let mut result = Vec::with_capacity(texts.len().unwrap_or(0));
    for item in texts.try_iter()? {
        let item = item?;
        let entry = match item.cast::<PyTuple>() {
            Ok(pair) if pair.len() == 2 => {
                let first = Text::from_python(&pair.get_item(0)?)?;
                (first, Some(Text::from_python(&pair.get_item(1)?)?))
            }
            _ => (Text::from_python(&item)?, None),
        };
        result.push(entry);
    }
    Ok(result)
}
