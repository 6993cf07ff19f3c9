//! A block of a corpus: cut into documents, or encoded as a batch that keeps no text.

use protok_core::added_tokens::SpecialPolicy;
use protok_core::parallel::thread_count;
use protok_core::pipeline::input::Input;
use protok_core::train::documents::{Split, documents, parts};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use crate::batch::Batch;
use crate::errors::{OrRaise, to_python};
use crate::input;
use crate::tokenizer::Tokenizer;

/// Encodes the documents of a block: UTF-8 that begins and ends between two of them and is cut
/// here, or a batch of texts. An error says which document it is about, counted from `first` on.
#[pyfunction]
#[pyo3(signature = (tok, block, *, split="line", separator=None, first=0, add_special_tokens=true, special=None, threads=None))]
#[allow(clippy::too_many_arguments)]
pub fn encode_block(
    py: Python<'_>,
    tok: &Bound<'_, Tokenizer>,
    block: &Bound<'_, PyAny>,
    split: &str,
    separator: Option<&str>,
    first: usize,
    add_special_tokens: bool,
    special: Option<&Bound<'_, PyAny>>,
    threads: Option<usize>,
) -> PyResult<Batch> {
    let tok = tok.get();
    let options = tok.options(add_special_tokens, special, SpecialPolicy::Text)?;
    let split = split_of(split, separator)?;
    let threads = thread_count(threads);
    let encode = |inputs: &[Input<'_>]| {
        tok.pipeline().encode_batch(inputs, &options, threads).map_err(|error| match error.item {
            Some(item) => error.at(format!("documents[{}]", first + item as usize)),
            None => error,
        })
    };
    let batch = match block.cast::<PyBytes>() {
        Ok(data) => {
            let data = PyBackedBytes::from(data.clone());
            py.detach(|| {
                let documents = documents(&data, split, true)?;
                let inputs: Vec<Input<'_>> =
                    documents.into_iter().map(|document| (document.into(), None)).collect();
                encode(&inputs)
            })
        }
        Err(_) => {
            let rows = input::batch(block, false)?;
            let inputs: Vec<Input<'_>> =
                rows.iter().map(|(text, _)| (text.as_input(), None)).collect();
            py.detach(|| encode(&inputs))
        }
    };
    let batch = batch.or_raise()?;
    Ok(Batch::new(batch, tok.batch_texts(None, options)))
}

/// Cuts a block of bytes at the ends of its documents; the last part may be empty.
#[pyfunction]
#[pyo3(signature = (data, *, split="line", separator=None, separators=false))]
pub fn document_parts(
    py: Python<'_>,
    data: &[u8],
    split: &str,
    separator: Option<&str>,
    separators: bool,
) -> PyResult<Vec<Py<PyBytes>>> {
    let parts = parts(data, split_of(split, separator)?, separators).or_raise()?;
    Ok(parts.into_iter().map(|part| PyBytes::new(py, part).unbind()).collect())
}

/// Where documents end, as Python says it.
pub fn split_of<'a>(name: &str, separator: Option<&'a str>) -> PyResult<Split<'a>> {
    Ok(match (name, separator) {
        ("line", None) => Split::Line,
        ("paragraph", None) => Split::Paragraph,
        ("whole", None) => Split::Whole,
        ("separator", Some(separator)) => Split::Separator(separator),
        _ => {
            return Err(to_python(
                protok_core::Error::input(format!("{name:?} does not say where documents end."))
                    .at("split")
                    .hint("Give line, paragraph, whole, or separator with its text.")
                    .value(name),
            ));
        }
    })
}
