//! The compiled module `protok._core`: glue between Python and [`protok_core`], no logic.
// What Python shows is in the form of Python's documentation, whose examples are no quotes.
#![allow(clippy::doc_lazy_continuation)]

mod arguments;
mod arrow;
mod batch;
mod block;
mod budget;
mod buffer;
mod contradiction;
mod delta;
mod encoding;
mod errors;
mod fingerprint;
mod input;
mod restore;
mod snapshot;
mod stream;
mod tokenizer;
mod training;
mod training_observer;
mod training_superwords;
mod training_unigram;
mod training_wordpiece;
mod trusted;
mod vocab;
mod word_counter;

use pyo3::prelude::*;

/// The compiled engine of protok.
#[pymodule(gil_used = false)]
mod _core {
    use super::{Bound, PyModule, PyModuleMethods, PyResult};

    #[pymodule_export]
    use super::batch::Batch;
    #[pymodule_export]
    use super::block::{document_parts, encode_block};
    #[pymodule_export]
    use super::budget::{boundaries, count_up_to, edit};
    #[pymodule_export]
    use super::buffer::Buffer;
    #[pymodule_export]
    use super::contradiction::Contradiction;
    #[pymodule_export]
    use super::encoding::Encoding;
    #[pymodule_export]
    use super::snapshot::{snapshot_key, write_snapshot};
    #[pymodule_export]
    use super::stream::{StopMatcher, Stream, Utf8Stream};
    #[pymodule_export]
    use super::tokenizer::Tokenizer;
    #[pymodule_export]
    use super::training::train_bpe;
    #[pymodule_export]
    use super::training_superwords::{SpanCounter, train_superwords};
    #[pymodule_export]
    use super::training_unigram::{train_unigram, unigram_likelihood};
    #[pymodule_export]
    use super::training_wordpiece::train_wordpiece;
    #[pymodule_export]
    use super::trusted::encode_trusted;
    #[pymodule_export]
    use super::vocab::{AddedToken, ControlToken, TokenBytes, Vocab};
    #[pymodule_export]
    use super::word_counter::WordCounter;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        let versions: std::collections::BTreeMap<&str, &str> =
            protok_core::text::unicode::VERSIONS.iter().copied().collect();
        module.add("UNICODE_VERSIONS", versions)?;
        let alphabet: String = protok_core::text::alphabet::BYTE_TO_CHAR.iter().collect();
        module.add("BYTE_ALPHABET", alphabet)?;
        module.add("Delta", super::delta::delta_type(module.py())?)
    }
}
