//! The steps of a decoder, for tokens that come one at a time.
//!
//! A stage reads the beginnings and ends of tokens and the bytes between. Before all tokens are
//! joined a token is there as a whole; after that the text is one token that ends with the stream,
//! so what a step does to the ends of a token it does to those of the text.

use super::super::decoder::{Decoder, Kind as Decoding};
use super::super::steps::{fallback_byte, map_text};
use super::flow::{Flow, Held, Kind};
use super::literal::{Literal, Progress};
use super::utf8::Utf8;
use crate::error::Result;

/// A function of whole tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whole {
    /// The step with an index.
    Step(usize),
    /// Likewise; a token that repeats the one before is dropped first, one without text after.
    Distinct(usize),
    /// The rules by which a SentencePiece model rewrites decoded text.
    Denormalize,
}

/// What a stage does.
#[derive(Debug, Clone)]
pub(super) enum Stage {
    /// Joins all tokens.
    Fuse,
    /// Replaces a string.
    Literal(Literal),
    /// Replaces a string by a blank, and in the last token by nothing.
    Suffix(Vec<u8>),
    /// Strips so many characters off the start and the end of each token.
    Strip { content: Vec<u8>, start: usize, stop: usize },
    /// Reads `<0xNN>` tokens as bytes, and joins neighbouring ones.
    ByteFallback,
    /// Puts a blank before a token, or strips the prefix that says that there is none.
    Prefix(Vec<u8>),
    /// A function of whole tokens.
    Whole(Whole),
    /// Bytes to text.
    Utf8 { strict: bool },
}

/// What a stage remembers.
#[derive(Debug, Clone, Default)]
pub(super) struct Memory {
    /// Whether a token began, and whether one is open.
    begun: bool,
    open: bool,
    /// Whether the token that is open is not the first.
    others: bool,
    /// How much of a token's start was dealt with; a stage says what that counts.
    done: usize,
    progress: Progress,
    held: Held,
    before: Option<Vec<u8>>,
    utf8: Option<Utf8>,
    last: u64,
}

impl Memory {
    pub(super) fn new(stage: &Stage) -> Self {
        let utf8 = match stage {
            Stage::Utf8 { strict } => Some(Utf8::new(*strict)),
            _ => None,
        };
        Self { utf8, ..Self::default() }
    }

    /// The first token of what waits.
    pub(super) fn oldest(&self) -> Option<u64> {
        let utf8 = self.utf8.as_ref().and_then(|utf8| utf8.waiting().oldest());
        [self.progress.waiting().oldest(), self.held.oldest(), utf8].into_iter().flatten().min()
    }

    /// Appends the bytes that wait.
    pub(super) fn add_waiting(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.held.bytes());
        out.extend_from_slice(self.progress.waiting().bytes());
        out.extend_from_slice(self.utf8.as_ref().map_or(&[][..], |utf8| utf8.waiting().bytes()));
    }

    /// Whether whole characters go through a stage as they are: nothing waits for them, and what
    /// comes cannot change them.
    pub(super) fn passes(&self, stage: &Stage) -> bool {
        match stage {
            Stage::Fuse => self.open,
            Stage::Strip { start, stop, .. } => {
                *stop == 0 && self.done == *start && self.held.is_empty()
            }
            Stage::Utf8 { .. } => self.utf8.as_ref().is_some_and(|utf8| utf8.waiting().is_empty()),
            _ => false,
        }
    }

    /// Takes note of whole characters that passed.
    pub(super) fn passed(&mut self, length: usize) {
        if let Some(utf8) = &mut self.utf8 {
            utf8.passed(length);
        }
    }

    fn release(&mut self, out: &mut Flow) {
        let length = self.held.bytes().len();
        self.held.release(length, |bytes, origin| out.push(bytes, origin));
    }
}

impl Stage {
    /// Takes what comes.
    pub(super) fn run(
        &self,
        memory: &mut Memory,
        decoder: &Decoder,
        input: &Flow,
        out: &mut Flow,
    ) -> Result<()> {
        for (kind, origin, bytes) in input.parts() {
            memory.last = origin;
            match kind {
                Kind::Open => self.open(memory, origin, out)?,
                Kind::Text => self.text(memory, bytes, origin, out)?,
                Kind::Close => self.close(memory, decoder, origin, out)?,
            }
        }
        Ok(())
    }

    fn open(&self, memory: &mut Memory, origin: u64, out: &mut Flow) -> Result<()> {
        memory.others = memory.begun;
        memory.begun = true;
        memory.done = 0;
        match self {
            Stage::Fuse => memory.begin(origin, out),
            Stage::Suffix(suffix) if memory.open => {
                Self::resolve(suffix, memory, b" ", out)?;
                out.open(origin);
            }
            // Where it turns out to go on with a run of bytes, nothing begins.
            Stage::ByteFallback | Stage::Whole(_) => {}
            _ => out.open(origin),
        }
        Ok(())
    }

    fn text(&self, memory: &mut Memory, bytes: &[u8], origin: u64, out: &mut Flow) -> Result<()> {
        match self {
            Stage::Fuse => {
                memory.begin(origin, out);
                out.push(bytes, origin);
            }
            Stage::Literal(literal) => {
                literal.push(&mut memory.progress, bytes, origin, memory.others, out);
            }
            Stage::Suffix(suffix) => {
                memory.held.push(bytes, origin);
                // All before the first suffix stays; its own beginning may come piece by piece.
                let held = memory.held.bytes();
                let keep = match memchr::memmem::find(held, suffix) {
                    Some(at) => held.len() - at,
                    None => beginning_at_end(held, suffix),
                };
                let free = held.len() - keep;
                memory.held.release(free, |bytes, origin| out.push(bytes, origin));
            }
            Stage::Strip { start, stop: 0, .. } if memory.done == *start => {
                out.push(bytes, origin);
            }
            Stage::Strip { content, start, stop } => {
                memory.held.push(bytes, origin);
                strip(memory, content, *start, *stop, out);
            }
            Stage::ByteFallback => {
                if memory.done == BYTE_TOKEN + 1 {
                    out.push(bytes, origin);
                    return Ok(());
                }
                memory.held.push(bytes, origin);
                let held = memory.held.bytes();
                let start = held.len().min(3);
                if held.len() > BYTE_TOKEN || held[..start] != b"<0x"[..start] {
                    memory.begin_other(out);
                }
            }
            Stage::Prefix(prefix) => {
                if !memory.others || memory.done == 1 {
                    out.push(bytes, origin);
                    return Ok(());
                }
                memory.held.push(bytes, origin);
                if memory.held.bytes().len() >= prefix.len()
                    || !prefix.starts_with(memory.held.bytes())
                {
                    memory.end_prefix(prefix, out);
                }
            }
            Stage::Whole(_) => memory.held.push(bytes, origin),
            Stage::Utf8 { .. } => {
                if let Some(utf8) = &mut memory.utf8 {
                    utf8.push(bytes, origin, out)?;
                }
            }
        }
        Ok(())
    }

    fn close(
        &self,
        memory: &mut Memory,
        decoder: &Decoder,
        origin: u64,
        out: &mut Flow,
    ) -> Result<()> {
        match self {
            Stage::Fuse => return Ok(()),
            Stage::Utf8 { .. } => {}
            Stage::Literal(_) => memory.progress.flush(out),
            Stage::Suffix(suffix) => {
                if memchr::memmem::find(memory.held.bytes(), suffix).is_some() {
                    memory.open = true;
                    return Ok(());
                }
                memory.release(out);
            }
            Stage::Strip { content, stop, .. } => {
                let (copies, part) = trailing(memory.held.bytes(), content, *stop);
                let copies = if part == 0 { copies } else { 0 };
                let keep = memory.held.bytes().len() - copies * content.len();
                memory.held.release(keep, |bytes, origin| out.push(bytes, origin));
                memory.held.clear();
            }
            Stage::ByteFallback => {
                if memory.done == BYTE_TOKEN + 1 {
                    out.close(origin);
                    return Ok(());
                }
                match fallback_byte(memory.held.bytes()) {
                    Some(byte) => {
                        let first = memory.held.oldest().unwrap_or(origin);
                        memory.held.clear();
                        if !memory.open {
                            out.open(first);
                            memory.open = true;
                        }
                        out.push(&[byte], first);
                        return Ok(());
                    }
                    None => memory.begin_other(out),
                }
            }
            Stage::Prefix(prefix) => {
                if memory.others && memory.done == 0 {
                    memory.end_prefix(prefix, out);
                }
            }
            Stage::Whole(function) => {
                let first = memory.held.oldest().unwrap_or(origin);
                let token = memory.held.bytes().to_vec();
                memory.held.clear();
                if let Some(token) = function.apply(&mut memory.before, token, decoder)? {
                    out.open(first);
                    out.push(&token, first);
                    out.close(first);
                }
                return Ok(());
            }
        }
        out.close(origin);
        Ok(())
    }

    /// Nothing more comes. Returns whether a character was begun and not ended.
    pub(super) fn finish(&self, memory: &mut Memory, out: &mut Flow) -> Result<bool> {
        match self {
            Stage::Fuse => {
                memory.begin(memory.last, out);
                out.close(memory.last);
            }
            // Where no ends of tokens come, this one does.
            Stage::Literal(_) => memory.progress.flush(out),
            Stage::Suffix(suffix) if memory.open => Self::resolve(suffix, memory, b"", out)?,
            Stage::ByteFallback if memory.open => {
                out.close(memory.last);
                memory.open = false;
            }
            Stage::Utf8 { .. } => {
                if let Some(utf8) = &mut memory.utf8 {
                    return utf8.finish(out);
                }
            }
            _ => {}
        }
        Ok(false)
    }

    /// Ends a token that waited for whether another one comes.
    fn resolve(suffix: &[u8], memory: &mut Memory, blank: &[u8], out: &mut Flow) -> Result<()> {
        let origin = memory.held.oldest().unwrap_or(memory.last);
        let mut token = memory.held.bytes().to_vec();
        memory.held.clear();
        let suffix = String::from_utf8_lossy(suffix);
        let blank = String::from_utf8_lossy(blank);
        map_text(&mut token, |text| Ok(text.replace(&*suffix, &blank)))?;
        out.push(&token, origin);
        out.close(origin);
        memory.open = false;
        Ok(())
    }
}

/// The length of `<0xNN>`.
const BYTE_TOKEN: usize = 6;

impl Memory {
    /// Begins the token that all tokens become.
    fn begin(&mut self, origin: u64, out: &mut Flow) {
        if !self.open {
            self.open = true;
            out.open(origin);
        }
    }

    /// Ends the run of bytes that is open, and begins a token that is no byte.
    fn begin_other(&mut self, out: &mut Flow) {
        let first = self.held.oldest().unwrap_or(self.last);
        if self.open {
            out.close(first);
            self.open = false;
        }
        out.open(first);
        self.release(out);
        self.done = BYTE_TOKEN + 1;
    }

    /// Puts a blank before a token, or strips its prefix.
    fn end_prefix(&mut self, prefix: &[u8], out: &mut Flow) {
        let first = self.held.oldest().unwrap_or(self.last);
        if self.held.bytes().starts_with(prefix) {
            self.held.release(prefix.len(), |_, _| {});
        } else {
            out.push(b" ", first);
        }
        self.release(out);
        self.done = 1;
    }
}

/// Strips a token's start, and hands on all that is not at what may be its end.
fn strip(memory: &mut Memory, content: &[u8], start: usize, stop: usize, out: &mut Flow) {
    while memory.done < start {
        let held = memory.held.bytes();
        if held.starts_with(content) {
            memory.held.release(content.len(), |_, _| {});
            memory.done += 1;
        } else if content.starts_with(held) {
            return;
        } else {
            memory.done = start;
        }
    }
    let (copies, part) = trailing(memory.held.bytes(), content, stop);
    let waiting = if stop == 0 { 0 } else { copies * content.len() + part };
    let free = memory.held.bytes().len() - waiting;
    memory.held.release(free, |bytes, origin| out.push(bytes, origin));
}

/// How often bytes end with a character, up to `most` times, and how many bytes of one more follow
/// that: what is stripped if the text ends where one more does not follow.
fn trailing(bytes: &[u8], content: &[u8], most: usize) -> (usize, usize) {
    let part = beginning_at_end(bytes, content);
    let mut rest = &bytes[..bytes.len() - part];
    let mut copies = 0;
    while copies < most
        && let Some(shorter) = rest.strip_suffix(content)
    {
        rest = shorter;
        copies += 1;
    }
    (copies, part)
}

/// The length of the longest end of `bytes` that is a beginning of `string`, but not all of it.
fn beginning_at_end(bytes: &[u8], string: &[u8]) -> usize {
    let most = bytes.len().min(string.len().saturating_sub(1));
    (1..=most).rev().find(|&length| bytes.ends_with(&string[..length])).unwrap_or(0)
}

impl Whole {
    fn apply(
        self,
        before: &mut Option<Vec<u8>>,
        mut token: Vec<u8>,
        decoder: &Decoder,
    ) -> Result<Option<Vec<u8>>> {
        let (Self::Step(index) | Self::Distinct(index)) = self else {
            if let Decoding::SentencePiece(rules) = &decoder.kind {
                rules.denormalize(&mut token)?;
            }
            return Ok(Some(token));
        };
        if matches!(self, Self::Distinct(_)) {
            if before.as_ref() == Some(&token) {
                return Ok(None);
            }
            *before = Some(token.clone());
        }
        let Decoding::Steps(chain) = &decoder.kind else { return Ok(Some(token)) };
        let length = token.len();
        let tokens =
            chain.steps()[index].run(vec![token], super::super::Errors::Replace, length)?;
        Ok(tokens.into_iter().next())
    }
}
