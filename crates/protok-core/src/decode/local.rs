//! Steps that read one token at a time, taken at once.
//!
//! Most decoders begin with such steps and then join all tokens. Of a token they need to know no
//! more than whether it is the first, so that its bytes go straight to the stages behind them.

use crate::error::Result;
use crate::text::edits::check_growth;

use super::clean_up::{clean_up_token, token_rules};
use super::steps::{Step, byte_level, fallback_byte};

/// A step that reads one token at a time.
#[derive(Debug, Clone)]
enum Local {
    /// Replaces a string by another, in the first token and in those after it.
    Replace { string: Vec<u8>, first: Vec<u8>, others: Vec<u8> },
    /// Reads GPT-2's alphabet of bytes.
    ByteLevel,
    /// Reads `<0xNN>`.
    ByteFallback,
    /// Puts a blank before a token but the first, or strips the prefix that says that there is none.
    Prefix { prefix: Vec<u8>, cleanup: bool },
    /// Puts a blank before a token but the first.
    Join,
}

/// The steps before tokens are joined, if they are all of this kind.
#[derive(Debug, Clone, Default)]
pub(super) struct Locals {
    steps: Vec<Local>,
}

impl Locals {
    /// For a decoder that only joins tokens with blanks.
    pub fn join() -> Self {
        Self { steps: vec![Local::Join] }
    }

    /// The steps up to the first that joins all tokens, or to the end, and how many there are.
    pub fn of(steps: &[Step]) -> Option<(Self, usize)> {
        let mut found = Vec::new();
        for (index, step) in steps.iter().enumerate() {
            // What byte tokens become is joined, and then no token any more.
            let joined = matches!(found.last(), Some(Local::ByteFallback | Local::ByteLevel));
            found.push(match step {
                Step::Fuse => return Some((Self { steps: found }, index + 1)),
                _ if joined => return None,
                Step::ByteLevel => {
                    found.push(Local::ByteLevel);
                    return Some((Self { steps: found }, index + 1));
                }
                Step::ByteFallback => Local::ByteFallback,
                Step::Replace { pattern, content } => {
                    let needle = pattern.needle().filter(|needle| !needle.is_empty())?;
                    let content = content.clone().into_bytes();
                    Local::Replace {
                        string: needle.to_vec(),
                        first: content.clone(),
                        others: content,
                    }
                }
                Step::Marks { mark, prepended } => Local::Replace {
                    string: mark.to_string().into_bytes(),
                    first: if *prepended { Vec::new() } else { b" ".to_vec() },
                    others: b" ".to_vec(),
                },
                Step::WordPiece { prefix, cleanup } => {
                    Local::Prefix { prefix: prefix.clone().into_bytes(), cleanup: *cleanup }
                }
                Step::Suffix(_) | Step::Strip { .. } | Step::Ctc(_) => return None,
            });
        }
        Some((Self { steps: found }, steps.len()))
    }

    /// Appends the bytes of a token to `out`, which is empty; `spare` is memory.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Limit`] where one token becomes longer than a text of `original` bytes may.
    pub fn read(
        &self,
        token: &[u8],
        first: bool,
        original: usize,
        (out, spare): (&mut Vec<u8>, &mut Vec<u8>),
    ) -> Result<()> {
        out.extend_from_slice(token);
        for step in &self.steps {
            match step {
                Local::Replace { string, first: at_first, others } => {
                    let Some(mut at) = memchr::memmem::find(out, string) else { continue };
                    let content = if first { at_first } else { others };
                    spare.clear();
                    let mut rest = &out[..];
                    loop {
                        spare.extend_from_slice(&rest[..at]);
                        spare.extend_from_slice(content);
                        rest = &rest[at + string.len()..];
                        check_growth(original, spare.len())?;
                        match memchr::memmem::find(rest, string) {
                            Some(next) => at = next,
                            None => break,
                        }
                    }
                    spare.extend_from_slice(rest);
                    std::mem::swap(out, spare);
                    check_growth(original, out.len())?;
                }
                Local::ByteLevel => *out = byte_level(out),
                Local::ByteFallback => {
                    if let Some(byte) = fallback_byte(out) {
                        out.clear();
                        out.push(byte);
                    }
                }
                Local::Prefix { prefix, cleanup } => {
                    if !first {
                        if out.starts_with(prefix) {
                            out.drain(..prefix.len());
                        } else {
                            out.insert(0, b' ');
                        }
                    }
                    if *cleanup && may_be_tidied(out) {
                        tidy(out);
                    }
                }
                Local::Join => {
                    if !first {
                        out.insert(0, b' ');
                    }
                }
            }
        }
        Ok(())
    }
}

/// Whether some rule may find its string: each begins with a blank and one of few letters.
fn may_be_tidied(token: &[u8]) -> bool {
    memchr::memchr_iter(b' ', token).any(|at| {
        token
            .get(at + 1)
            .is_some_and(|next| token_rules().any(|(from, _)| from.as_bytes().get(1) == Some(next)))
    })
}

/// Tidies the parts of a token that are text.
fn tidy(token: &mut Vec<u8>) {
    let mut tidied = Vec::with_capacity(token.len());
    for chunk in token.utf8_chunks() {
        tidied.extend_from_slice(clean_up_token(chunk.valid()).as_bytes());
        tidied.extend_from_slice(chunk.invalid());
    }
    *token = tidied;
}
