//! The steps of a decoder: each takes token strings to token strings.

use crate::error::{Error, Result};
use crate::pattern::Matcher;
use crate::spec::{self, Semantics};
use crate::text::alphabet;
use crate::text::edits::{Edits, check_growth};

use super::Errors;
use super::clean_up::clean_up_token;

/// A step of a decoder.
#[derive(Debug)]
pub(super) enum Step {
    ByteLevel,
    Suffix(String),
    Fuse,
    Replace { pattern: Matcher, content: String },
    Strip { content: char, start: usize, stop: usize },
    ByteFallback,
    WordPiece { prefix: String, cleanup: bool },
    Marks { mark: char, prepended: bool },
    Ctc(spec::CtcDecoder),
}

/// The bytes of a token that is spelled in the byte alphabet; other tokens stand for themselves.
pub(super) fn byte_level(token: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(token.len());
    append_byte_level(token, &mut bytes);
    bytes
}

/// Appends them.
pub(super) fn append_byte_level(token: &[u8], out: &mut Vec<u8>) {
    if !alphabet::decode_into(token, out) {
        out.extend_from_slice(token);
    }
}

/// Appends the steps that a component stands for.
pub(super) fn add_steps(
    spec: &spec::Decoder,
    semantics: Semantics,
    steps: &mut Vec<Step>,
) -> Result<()> {
    use spec::Decoder as Spec;
    steps.push(match spec {
        Spec::Sequence(items) => {
            for (index, item) in items.iter().enumerate() {
                add_steps(item, semantics, steps)
                    .map_err(|error| error.within(&format!("decoders[{index}]")))?;
            }
            return Ok(());
        }
        Spec::ByteLevel(_) => Step::ByteLevel,
        Spec::Bpe(bpe) => Step::Suffix(bpe.suffix.clone()),
        Spec::Fuse => Step::Fuse,
        Spec::Replace(replace) => Step::Replace {
            pattern: Matcher::of(&replace.pattern, semantics)?,
            content: replace.content.clone(),
        },
        Spec::Strip(strip) => {
            Step::Strip { content: strip.content, start: strip.start, stop: strip.stop }
        }
        Spec::ByteFallback => Step::ByteFallback,
        Spec::Bytes => Step::Fuse,
        Spec::SentencePiece(_) | Spec::LlamaCpp(_) => {
            return Err(Error::artifact("", "This decoder stands alone."));
        }
        Spec::WordPiece(word_piece) => {
            Step::WordPiece { prefix: word_piece.prefix.clone(), cleanup: word_piece.cleanup }
        }
        Spec::Metaspace(metaspace) => Step::Marks {
            mark: metaspace.replacement,
            prepended: metaspace.prepend_scheme != spec::PrependScheme::Never,
        },
        Spec::Ctc(ctc) => Step::Ctc(ctc.clone()),
    });
    Ok(())
}

impl Step {
    /// Takes the step. All tokens together had `original` bytes before the first one.
    pub(super) fn run(
        &self,
        mut tokens: Vec<Vec<u8>>,
        errors: Errors,
        original: usize,
    ) -> Result<Vec<Vec<u8>>> {
        match self {
            Step::ByteLevel => {
                let mut bytes: Vec<u8> =
                    tokens.iter().flat_map(|token| byte_level(token)).collect();
                if errors == Errors::Reference {
                    bytes = String::from_utf8_lossy(&bytes).into_owned().into_bytes();
                }
                return Ok(vec![bytes]);
            }
            Step::Fuse => return Ok(vec![tokens.concat()]),
            Step::ByteFallback => return Ok(fall_back(tokens, errors)),
            Step::Suffix(suffix) => {
                let last = tokens.len().saturating_sub(1);
                for (at, token) in tokens.iter_mut().enumerate() {
                    let blank = if at == last { "" } else { " " };
                    map_text(token, |text| Ok(text.replace(suffix, blank)))?;
                }
            }
            Step::Replace { pattern, content } => {
                let mut grown = 0;
                for token in &mut tokens {
                    // An expression may look at what stands before and after, so it must see the
                    // whole token, in which the reference has no bytes that are not text.
                    if !pattern.is_literal() && std::str::from_utf8(token).is_err() {
                        *token = String::from_utf8_lossy(token).into_owned().into_bytes();
                    }
                    map_text(token, |text| replace_all(text, pattern, content, original))?;
                    grown += token.len();
                    check_growth(original, grown)?;
                }
            }
            Step::Strip { content, start, stop } => {
                for token in &mut tokens {
                    strip(token, *content, *start, *stop);
                }
            }
            Step::WordPiece { prefix, cleanup } => {
                for (at, token) in tokens.iter_mut().enumerate() {
                    if at > 0 {
                        match token.strip_prefix(prefix.as_bytes()) {
                            Some(rest) => *token = rest.to_vec(),
                            None => token.insert(0, b' '),
                        }
                    }
                    if *cleanup {
                        map_text(token, |text| Ok(clean_up_token(text)))?;
                    }
                }
            }
            Step::Marks { mark, prepended } => {
                for (at, token) in tokens.iter_mut().enumerate() {
                    let blank = if at == 0 && *prepended { "" } else { " " };
                    map_text(token, |text| Ok(text.replace(*mark, blank)))?;
                }
            }
            Step::Ctc(ctc) => {
                tokens.dedup();
                for token in &mut tokens {
                    map_text(token, |text| {
                        let text = text.replace(&ctc.pad_token, "");
                        Ok(match ctc.cleanup {
                            true => clean_up_token(&text).replace(&ctc.word_delimiter_token, " "),
                            false => text,
                        })
                    })?;
                }
                tokens.retain(|token| !token.is_empty());
            }
        }
        Ok(tokens)
    }

    /// What becomes of a token that others stand before and after. `fused` says whether a step
    /// before this one joined all tokens, so that a step for single tokens meets the whole text.
    pub(super) fn inside(&self, token: &mut Vec<u8>, fused: &mut bool) -> Result<()> {
        match self {
            Step::Fuse => *fused = true,
            Step::ByteLevel => {
                *token = byte_level(token);
                *fused = true;
            }
            // Of a text that is one token, its own ends are stripped and its own marks read.
            Step::Strip { .. } | Step::ByteFallback if *fused => {}
            Step::Strip { content, start, stop } => strip(token, *content, *start, *stop),
            Step::ByteFallback => {
                if let Some(byte) = fallback_byte(token) {
                    *token = vec![byte];
                }
            }
            Step::Replace { pattern, content } => {
                let original = token.len();
                map_text(token, |text| replace_all(text, pattern, content, original))?;
            }
            Step::Suffix(suffix) => {
                let blank = if *fused { "" } else { " " };
                map_text(token, |text| Ok(text.replace(suffix, blank)))?;
            }
            Step::WordPiece { prefix, cleanup } => {
                if !*fused {
                    match token.strip_prefix(prefix.as_bytes()) {
                        Some(rest) => *token = rest.to_vec(),
                        None => token.insert(0, b' '),
                    }
                }
                if *cleanup {
                    map_text(token, |text| Ok(clean_up_token(text)))?;
                }
            }
            Step::Marks { mark, prepended } => {
                let blank = if *fused && *prepended { "" } else { " " };
                map_text(token, |text| Ok(text.replace(*mark, blank)))?;
            }
            Step::Ctc(_) => {
                let original = token.len();
                let alone = self.run(vec![std::mem::take(token)], Errors::Replace, original)?;
                *token = alone.concat();
            }
        }
        Ok(())
    }
}

/// Rewrites the parts of a token that are text.
pub(super) fn map_text(token: &mut Vec<u8>, change: impl Fn(&str) -> Result<String>) -> Result<()> {
    let mut changed = Vec::with_capacity(token.len());
    for chunk in token.utf8_chunks() {
        changed.extend_from_slice(change(chunk.valid())?.as_bytes());
        changed.extend_from_slice(chunk.invalid());
    }
    *token = changed;
    Ok(())
}

fn replace_all(text: &str, pattern: &Matcher, content: &str, original: usize) -> Result<String> {
    let mut edits = Edits::bounded(original);
    pattern.for_each_match(text, |start, end| edits.replace(start, end, content))?;
    edits.check(original)?;
    Ok(edits.apply(text))
}

fn strip(token: &mut Vec<u8>, content: char, start: usize, stop: usize) {
    let mut encoded = [0; 4];
    let content = content.encode_utf8(&mut encoded).as_bytes();
    let mut from = 0;
    for _ in 0..start {
        if !token[from..].starts_with(content) {
            break;
        }
        from += content.len();
    }
    let mut to = token.len();
    for _ in 0..stop {
        if !token[from..to].ends_with(content) {
            break;
        }
        to -= content.len();
    }
    token.truncate(to);
    token.drain(..from);
}

/// The byte that a `<0xNN>` token stands for.
pub(super) fn fallback_byte(token: &[u8]) -> Option<u8> {
    let digits = token.strip_prefix(b"<0x")?.strip_suffix(b">")?;
    if digits.len() != 2 {
        return None;
    }
    u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

fn fall_back(tokens: Vec<Vec<u8>>, errors: Errors) -> Vec<Vec<u8>> {
    let mut result = Vec::with_capacity(tokens.len());
    let mut run: Vec<u8> = Vec::new();
    let close = |run: &mut Vec<u8>, result: &mut Vec<Vec<u8>>| {
        if run.is_empty() {
            return;
        }
        let run = std::mem::take(run);
        if errors == Errors::Reference && std::str::from_utf8(&run).is_err() {
            result.extend(run.iter().map(|_| "\u{fffd}".as_bytes().to_vec()));
        } else {
            result.push(run);
        }
    };
    for token in tokens {
        match fallback_byte(&token) {
            Some(byte) => run.push(byte),
            None => {
                close(&mut run, &mut result);
                result.push(token);
            }
        }
    }
    close(&mut run, &mut result);
    result
}
