//! Layer 3: one reader or writer per file format, to and from the [`Spec`](crate::Spec).

pub(crate) mod node;
pub mod tokenizer_json;
