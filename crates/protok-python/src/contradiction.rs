//! `Contradiction`: where a tokenizer file and the configuration around it disagree.

use pyo3::prelude::*;

/// A part of which the tokenizer file and its configuration say different things.
#[pyclass(frozen, get_all, eq, module = "protok._core")]
#[derive(PartialEq, Eq, Clone)]
pub struct Contradiction {
    /// The option that makes the difference.
    option: String,
    /// The part.
    component: String,
    /// What the file says.
    file: String,
    /// What `transformers` would run.
    transformers: String,
}

impl From<&protok_core::formats::Contradiction> for Contradiction {
    fn from(found: &protok_core::formats::Contradiction) -> Self {
        Self {
            option: found.option.clone(),
            component: found.component.clone(),
            file: found.file.clone(),
            transformers: found.transformers.clone(),
        }
    }
}

#[pymethods]
impl Contradiction {
    fn __repr__(&self) -> String {
        format!("Contradiction({}, {:?})", self.component, self.option)
    }

    fn __str__(&self) -> String {
        let Self { option, component, file, transformers } = self;
        format!(
            "{component} ({option}): the file has {file}; transformers would run {transformers}"
        )
    }
}
