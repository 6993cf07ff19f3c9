//! Layer 3: one reader or writer per file format, to and from the [`Spec`](crate::Spec).
//!
//! [`directory`] reads whatever files a tokenizer consists of; [`mod@detect`] tells formats apart
//! by their content; the other modules hold one format each. [`mod@canonical`] is what a Spec
//! says regardless of format.

pub mod canonical;
mod companions;
mod companions_write;
pub mod contradictions;
pub mod detect;
pub mod directory;
pub mod gguf;
mod hash;
mod merge_order;
pub(crate) mod node;
pub mod rwkv;
pub mod save;
pub mod sentencepiece;
pub mod tekken;
pub mod template_literals;
pub mod tiktoken;
pub mod tokenizer_json;
mod transformers;
pub mod vocab_merges;
pub mod vocab_txt;

pub use canonical::fingerprint;
pub use contradictions::Contradiction;
pub use detect::{Format, detect};
pub use directory::{Artifact, Files, Info, Options, Wrapper, read};
pub use save::{Saving, save};
