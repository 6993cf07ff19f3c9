//! `tok.vocab` and the tokens it lists.

use std::sync::Arc;

use protok_core::pipeline::Pipeline;
use protok_core::{Error, ErrorKind};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};

use crate::buffer::{self, Buffer};
use crate::errors::{OrRaise, to_python};

/// The vocabulary, added tokens included: tokens to ids and back.
#[pyclass(frozen, mapping, module = "protok._core")]
pub struct Vocab {
    /// The tokenizer whose vocabulary it is.
    pub pipeline: Arc<Pipeline>,
}

impl Vocab {
    fn entries(&self) -> impl Iterator<Item = (String, u32)> + '_ {
        (0..u32::try_from(self.pipeline.size()).unwrap_or(u32::MAX))
            .filter_map(|id| self.pipeline.token(id).map(|token| (token.into_owned(), id)))
    }

    fn unknown(&self, id: u32) -> PyErr {
        to_python(
            Error::new(ErrorKind::UnknownId, format!("The vocabulary has no id {id}."))
                .value(id.to_string())
                .hint(format!("Ids are below {}.", self.pipeline.size())),
        )
    }
}

#[pymethods]
impl Vocab {
    fn __len__(&self) -> usize {
        self.entries().count()
    }

    fn __contains__(&self, token: &Bound<'_, PyAny>) -> bool {
        let token = token.cast::<PyString>();
        token.is_ok_and(|token| {
            token.to_str().is_ok_and(|token| self.pipeline.token_id(token).is_some())
        })
    }

    fn __getitem__(&self, token: &str) -> PyResult<u32> {
        self.pipeline.token_id(token).ok_or_else(|| PyKeyError::new_err(token.to_owned()))
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.to_dict(py)?.call_method0("__iter__")
    }

    fn __repr__(&self) -> String {
        format!("Vocab({} tokens, ids below {})", self.__len__(), self.pipeline.size())
    }

    #[doc = include_str!("docs/vocab_get.txt")]
    fn get(&self, token: &str) -> Option<u32> {
        self.pipeline.token_id(token)
    }

    #[doc = include_str!("docs/vocab_token.txt")]
    fn token(&self, id: u32) -> PyResult<String> {
        self.pipeline.token(id).map(std::borrow::Cow::into_owned).ok_or_else(|| self.unknown(id))
    }

    #[doc = include_str!("docs/vocab_bytes.txt")]
    fn bytes<'py>(&self, py: Python<'py>, id: u32) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.pipeline.token_bytes(id).or_raise()?;
        Ok(PyBytes::new(py, &bytes.ok_or_else(|| self.unknown(id))?))
    }

    #[doc = include_str!("docs/vocab_all_bytes.txt")]
    fn all_bytes(&self, py: Python<'_>) -> PyResult<TokenBytes> {
        let (values, row_offsets) = py.detach(|| self.pipeline.all_token_bytes()).or_raise()?;
        let values = Py::new(py, Buffer::of_u8(values))?;
        Ok(TokenBytes { values, row_offsets: Py::new(py, Buffer::of_i64(row_offsets))? })
    }

    #[doc = include_str!("docs/vocab_to_dict.txt")]
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (token, id) in self.entries() {
            dict.set_item(token, id)?;
        }
        Ok(dict)
    }

    /// One past the highest id: the rows that an embedding needs.
    #[getter]
    fn size(&self) -> usize {
        self.pipeline.size()
    }
}

/// The bytes of every id, by rising id, in one buffer as Arrow has it. An id that names no token
/// has none.
#[pyclass(frozen, module = "protok._core")]
pub struct TokenBytes {
    values: Py<Buffer>,
    row_offsets: Py<Buffer>,
}

#[pymethods]
impl TokenBytes {
    fn __len__(&self) -> usize {
        self.row_offsets.get().len() - 1
    }

    fn __repr__(&self) -> String {
        let (ids, bytes) = (self.__len__(), self.values.get().len());
        format!("TokenBytes({ids} ids, {bytes} bytes)")
    }

    /// All bytes, a read-only `uint8` array.
    #[getter]
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        buffer::to_numpy(self.values.bind(py).clone().into_any(), "uint8")
    }

    /// Where the bytes of each id start in `values`, and the end: an `int64` array of shape
    /// `(ids + 1,)`.
    #[getter]
    fn row_offsets<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        buffer::to_numpy(self.row_offsets.bind(py).clone().into_any(), "int64")
    }
}

/// A token that is matched in the text itself.
#[pyclass(frozen, get_all, eq, module = "protok._core")]
#[derive(PartialEq, Eq, Clone)]
pub struct AddedToken {
    /// Its id.
    id: u32,
    /// Its spelling.
    content: String,
    /// Whether it is matched only where it is a whole word.
    single_word: bool,
    /// Whether it takes the blanks before it.
    lstrip: bool,
    /// Whether it takes the blanks after it.
    rstrip: bool,
    /// Whether it is looked for in the normalized text.
    normalized: bool,
    /// Whether the artifact flags it special.
    special: bool,
}

impl From<&protok_core::spec::AddedToken> for AddedToken {
    fn from(token: &protok_core::spec::AddedToken) -> Self {
        Self {
            id: token.id,
            content: token.content.clone(),
            single_word: token.single_word,
            lstrip: token.lstrip,
            rstrip: token.rstrip,
            normalized: token.normalized,
            special: token.special,
        }
    }
}

#[pymethods]
impl AddedToken {
    fn __repr__(&self) -> String {
        let flags = [
            ("single_word", self.single_word),
            ("lstrip", self.lstrip),
            ("rstrip", self.rstrip),
            ("normalized", self.normalized),
            ("special", self.special),
        ];
        let flags: String =
            flags.iter().filter(|flag| flag.1).map(|flag| format!(", {}", flag.0)).collect();
        format!("AddedToken({}, {:?}{flags})", self.id, self.content)
    }
}

/// A control token and why it is one.
#[pyclass(frozen, get_all, eq, module = "protok._core")]
#[derive(PartialEq, Eq, Clone)]
pub struct ControlToken {
    /// Its id.
    pub id: u32,
    /// Its spelling.
    pub content: String,
    /// Why it is a control token.
    pub reason: String,
}

#[pymethods]
impl ControlToken {
    fn __repr__(&self) -> String {
        format!("ControlToken({}, {:?}, {})", self.id, self.content, self.reason)
    }
}
