//! The fingerprint of a tokenizer, computed when somebody asks for it: it takes a part of the
//! time of loading, and most callers never look.

use std::sync::{Arc, OnceLock};

use protok_core::formats;
use protok_core::pipeline::Pipeline;

/// See the [module](self).
pub struct Fingerprint {
    pipeline: Arc<Pipeline>,
    value: OnceLock<String>,
}

impl Fingerprint {
    /// Of a tokenizer.
    pub fn new(pipeline: Arc<Pipeline>) -> Self {
        Self { pipeline, value: OnceLock::new() }
    }

    /// The fingerprint.
    ///
    /// # Errors
    /// Where the spec has no canonical form.
    pub fn get(&self) -> protok_core::Result<&str> {
        if let Some(value) = self.value.get() {
            return Ok(value);
        }
        let value = formats::fingerprint(self.pipeline.spec())?;
        Ok(self.value.get_or_init(|| value))
    }

    /// Whether two are of one tokenizer, or of equal ones.
    pub fn same(a: &Arc<Self>, b: &Arc<Self>) -> bool {
        Arc::ptr_eq(a, b) || matches!((a.get(), b.get()), (Ok(a), Ok(b)) if a == b)
    }
}
