//! Stage 6: ids back to bytes, and bytes to text.
//!
//! A decoder is a list of steps over token strings, as in `tokenizers`. The two that serve the
//! byte-level family need no strings: each id stands for fixed bytes, which are joined.
//!
//! Bytes that are not UTF-8 read as U+FFFD, one for each longest prefix of a character
//! (Unicode 16, section 3.9, as `str::from_utf8_lossy` and Python's `errors="replace"`). Under
//! [`Errors::Reference`] a run of `<0xNN>` tokens that is not UTF-8 as a whole reads as one U+FFFD
//! a byte, as the reference does, valid characters before the bad byte included.

use crate::added_tokens::AddedTokens;
use crate::error::{Error, ErrorKind, Result};
use crate::normalize::compile_pattern;
use crate::pattern::Matcher;
use crate::spec::{self, Semantics};
use crate::text::alphabet;
use crate::vocab::Vocab;

/// What to do with bytes that are not UTF-8.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Errors {
    /// U+FFFD in their place.
    #[default]
    Replace,
    /// An error.
    Strict,
    /// What the reference implementation does.
    Reference,
}

/// What to do with ids that the vocabulary lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unknown {
    /// An error.
    #[default]
    Raise,
    /// Leave them out.
    Skip,
}

/// How to decode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DecodeOptions {
    /// Leave special tokens out.
    pub skip_special_tokens: bool,
    /// Bytes that are not UTF-8.
    pub errors: Errors,
    /// Ids that the vocabulary lacks.
    pub unknown: Unknown,
}

/// A compiled decoder.
#[derive(Debug)]
pub struct Decoder {
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    /// Each id stands for fixed bytes: start and end in the arena by id; a hole has start > end.
    Bytes { arena: Vec<u8>, spans: Vec<(u32, u32)> },
    /// Steps over token strings.
    Steps(Vec<Step>),
    /// No decoder: tokens with a blank between.
    Blanks,
}

#[derive(Debug)]
enum Step {
    ByteLevel,
    Suffix(String),
    Fuse,
    Replace { pattern: Matcher, content: String },
    Strip { content: char, start: usize, stop: usize },
    ByteFallback,
}

const HOLE: (u32, u32) = (1, 0);

impl Decoder {
    /// Compiles the decoder of a spec.
    ///
    /// # Errors
    /// [`ErrorKind::Artifact`] for a component without an engine, or a bad pattern.
    pub fn compile(
        spec: Option<&spec::Decoder>,
        semantics: Semantics,
        vocab: &Vocab,
        added: &AddedTokens,
    ) -> Result<Self> {
        let kind = match spec {
            None => Kind::Blanks,
            Some(spec::Decoder::ByteLevel(_)) => fixed_bytes(vocab, added, byte_level),
            Some(spec::Decoder::Bytes) => fixed_bytes(vocab, added, <[u8]>::to_vec),
            Some(spec) => {
                let mut steps = Vec::new();
                add_steps(spec, semantics, &mut steps).map_err(|error| error.within("decoder"))?;
                Kind::Steps(steps)
            }
        };
        Ok(Self { kind })
    }

    /// The bytes that ids stand for.
    ///
    /// # Errors
    /// [`ErrorKind::UnknownId`] for an id that the vocabulary lacks.
    pub fn decode_bytes(
        &self,
        ids: &[u32],
        vocab: &Vocab,
        added: &AddedTokens,
        options: DecodeOptions,
    ) -> Result<Vec<u8>> {
        let skipped =
            |id| options.skip_special_tokens && added.get(id).is_some_and(|token| token.special);
        if let Kind::Bytes { arena, spans } = &self.kind {
            let mut bytes = Vec::with_capacity(ids.len() * 5);
            for (at, &id) in ids.iter().enumerate() {
                match spans.get(id as usize) {
                    Some(&(start, end)) if start <= end => {
                        if !skipped(id) {
                            bytes.extend_from_slice(&arena[start as usize..end as usize]);
                        }
                    }
                    _ => refuse_unknown(at, id, vocab, added, options.unknown)?,
                }
            }
            return Ok(bytes);
        }
        let mut tokens: Vec<Vec<u8>> = Vec::with_capacity(ids.len());
        for (at, &id) in ids.iter().enumerate() {
            match added.decoded_form(id).map(str::as_bytes).or_else(|| vocab.bytes(id)) {
                Some(_) if skipped(id) => {}
                Some(token) => tokens.push(token.to_vec()),
                None => refuse_unknown(at, id, vocab, added, options.unknown)?,
            }
        }
        match &self.kind {
            Kind::Steps(steps) => {
                for step in steps {
                    tokens = step.run(tokens, options.errors)?;
                }
                Ok(tokens.concat())
            }
            Kind::Bytes { .. } | Kind::Blanks => Ok(tokens.join(&b' ')),
        }
    }

    /// The text that ids stand for.
    ///
    /// # Errors
    /// As [`Self::decode_bytes`]; under [`Errors::Strict`] also [`ErrorKind::Input`].
    pub fn decode(
        &self,
        ids: &[u32],
        vocab: &Vocab,
        added: &AddedTokens,
        options: DecodeOptions,
    ) -> Result<String> {
        match String::from_utf8(self.decode_bytes(ids, vocab, added, options)?) {
            Ok(text) => Ok(text),
            Err(error) if options.errors == Errors::Strict => {
                let at = error.utf8_error().valid_up_to();
                Err(Error::input(format!("The ids do not decode to UTF-8: byte {at} is wrong."))
                    .position(at)
                    .hint("Pass errors=\"replace\", or use decode_bytes."))
            }
            Err(error) => Ok(String::from_utf8_lossy(error.as_bytes()).into_owned()),
        }
    }
}

fn refuse_unknown(
    at: usize,
    id: u32,
    vocab: &Vocab,
    added: &AddedTokens,
    unknown: Unknown,
) -> Result<()> {
    if unknown == Unknown::Skip {
        return Ok(());
    }
    let highest = added.tokens().iter().map(|token| token.id as usize + 1).max().unwrap_or(0);
    let size = vocab.size().max(highest);
    Err(Error::new(
        ErrorKind::UnknownId,
        format!("The id {id} at position {at} is not in the vocabulary (ids below {size})."),
    )
    .at(format!("item {at}"))
    .position(at)
    .value(id.to_string())
    .hint("Pass unknown=\"skip\" to leave such ids out."))
}

/// The bytes of a token that is spelled in the byte alphabet; other tokens stand for themselves.
fn byte_level(token: &[u8]) -> Vec<u8> {
    std::str::from_utf8(token).ok().and_then(alphabet::decode).unwrap_or_else(|| token.to_vec())
}

fn fixed_bytes(vocab: &Vocab, added: &AddedTokens, read: impl Fn(&[u8]) -> Vec<u8>) -> Kind {
    let highest = added.tokens().iter().map(|token| token.id as usize + 1).max().unwrap_or(0);
    let mut spans = vec![HOLE; vocab.size().max(highest)];
    let mut arena: Vec<u8> = Vec::new();
    let mut put = |id: u32, bytes: &[u8]| {
        let start = arena.len() as u32;
        arena.extend_from_slice(bytes);
        spans[id as usize] = (start, arena.len() as u32);
    };
    for (id, token) in vocab.iter() {
        if added.get(id).is_none() {
            put(id, &read(token));
        }
    }
    for token in added.tokens() {
        if let Some(form) = added.decoded_form(token.id) {
            put(token.id, &read(form.as_bytes()));
        }
    }
    Kind::Bytes { arena, spans }
}

fn add_steps(spec: &spec::Decoder, semantics: Semantics, steps: &mut Vec<Step>) -> Result<()> {
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
            pattern: compile_pattern(&replace.pattern, semantics)?,
            content: replace.content.clone(),
        },
        Spec::Strip(strip) => {
            Step::Strip { content: strip.content, start: strip.start, stop: strip.stop }
        }
        Spec::ByteFallback => Step::ByteFallback,
        Spec::Bytes => Step::Fuse,
        Spec::WordPiece(_) => return Err(no_engine("WordPiece")),
        Spec::Metaspace(_) => return Err(no_engine("Metaspace")),
        Spec::Ctc(_) => return Err(no_engine("CTC")),
    });
    Ok(())
}

fn no_engine(name: &str) -> Error {
    Error::artifact("type", format!("The decoder {name} has no engine in this version."))
        .hint("Nothing is approximated in its place.")
        .value(name)
}

impl Step {
    fn run(&self, mut tokens: Vec<Vec<u8>>, errors: Errors) -> Result<Vec<Vec<u8>>> {
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
                for token in &mut tokens {
                    map_text(token, |text| replace_all(text, pattern, content))?;
                }
            }
            Step::Strip { content, start, stop } => {
                for token in &mut tokens {
                    strip(token, *content, *start, *stop);
                }
            }
        }
        Ok(tokens)
    }
}

/// Rewrites the parts of a token that are text.
fn map_text(token: &mut Vec<u8>, change: impl Fn(&str) -> Result<String>) -> Result<()> {
    let mut changed = Vec::with_capacity(token.len());
    for chunk in token.utf8_chunks() {
        changed.extend_from_slice(change(chunk.valid())?.as_bytes());
        changed.extend_from_slice(chunk.invalid());
    }
    *token = changed;
    Ok(())
}

fn replace_all(text: &str, pattern: &Matcher, content: &str) -> Result<String> {
    let mut result = String::with_capacity(text.len());
    let mut copied = 0;
    pattern.for_each_match(text, |start, end| {
        result.push_str(&text[copied..start]);
        result.push_str(content);
        copied = end;
    })?;
    result.push_str(&text[copied..]);
    Ok(result)
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
fn fallback_byte(token: &[u8]) -> Option<u8> {
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
