//! Layer 3: one reader or writer per file format, to and from the [`Spec`](crate::Spec).
//!
//! [`directory`] reads whatever files a tokenizer consists of; [`detect`] tells formats apart by
//! their content; the other modules hold one format each. [`canonical`] is what a Spec says
//! regardless of format.

pub mod canonical;
mod hash;
pub(crate) mod node;
pub mod tiktoken;
pub mod tokenizer_json;
