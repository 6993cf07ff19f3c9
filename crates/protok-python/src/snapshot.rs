//! Snapshots of tokenizers: what one belongs to, and its bytes. Where they are kept is Python's.

use std::collections::BTreeMap;
use std::path::PathBuf;

use protok_core::snapshot::{self, Content, Key};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict};

use crate::arguments::read_options;
use crate::errors::OrRaise;
use crate::tokenizer::Tokenizer;

/// What the snapshot belongs to of a tokenizer that these files and options would load: 32 bytes.
/// A file is its bytes, or its path.
#[pyfunction]
#[pyo3(signature = (files, *, encoding=None, pattern=None, special_tokens=None, control_tokens=None, as_loaded_by=None))]
#[allow(clippy::too_many_arguments)]
pub fn snapshot_key<'py>(
    py: Python<'py>,
    files: &Bound<'py, PyDict>,
    encoding: Option<String>,
    pattern: Option<String>,
    special_tokens: Option<BTreeMap<String, u32>>,
    control_tokens: Option<Vec<String>>,
    as_loaded_by: Option<&str>,
) -> PyResult<Bound<'py, PyBytes>> {
    let options = read_options(encoding, pattern, special_tokens, as_loaded_by)?;
    let mut given: Vec<(String, Result<PyBackedBytes, PathBuf>)> = Vec::new();
    for (name, content) in files {
        let content = match content.cast::<PyBytes>() {
            Ok(bytes) => Ok(bytes.clone().into()),
            Err(_) => Err(content.extract()?),
        };
        given.push((name.extract()?, content));
    }
    let key = py.detach(|| {
        let files: Vec<(String, Content<'_>)> = given
            .iter()
            .map(|(name, given)| {
                let content = match given {
                    Ok(bytes) => Content::Bytes(bytes),
                    Err(path) => Content::At(path),
                };
                (name.clone(), content)
            })
            .collect();
        snapshot::key(&files, &options, control_tokens.as_deref())
    })?;
    Ok(PyBytes::new(py, key.as_bytes()))
}

/// The snapshot of a tokenizer that was loaded with this key.
#[pyfunction]
pub fn write_snapshot<'py>(
    py: Python<'py>,
    tokenizer: &Bound<'py, Tokenizer>,
    key: [u8; 32],
) -> PyResult<Bound<'py, PyBytes>> {
    let tokenizer = tokenizer.get();
    let key = Key::from(key);
    let bytes =
        py.detach(|| snapshot::write(tokenizer.pipeline(), tokenizer.info(), &key)).or_raise()?;
    Ok(PyBytes::new(py, &bytes))
}
