//! Decoding token by token.
//!
//! [`Head`] is a decoder as a row of stages, each of which hands on what it knows: joined, the
//! bytes that a [`Stream`] gave and those that it gives at its end are what [`Decoder::decode`]
//! makes of all ids. What waits in a stage is what the next token may still change: the end of a
//! text that may become a string to replace, a character of which bytes are missing. A few rules
//! are about the text as a whole, and then all of it waits: an expression that a decoder runs
//! over joined tokens, and a SentencePiece denormalizer.
//!
//! Work is constant for each token, and so is memory, but for such rules and what they wait for.

mod flow;
mod literal;
mod stage;
mod utf8;

pub use flow::{Flow, Held, Kind as FlowKind};
pub use utf8::Utf8;

use super::clean_up::token_rules;
use super::decoder::{DecodeOptions, Decoder, Errors, Kind, Unknown, refuse_unknown};
use super::llama_cpp::{self, CLEAN};
use super::local::Locals;
use super::sentencepiece::Place;
use super::steps::Step;
use crate::added_tokens::AddedTokens;
use crate::error::{Error, Result};
use crate::text::edits::check_growth;
use crate::text::tidy::TIDY;
use crate::vocab::Vocab;

use literal::Literal;
use stage::{Memory, Stage, Whole};

/// A decoder and its options as a row of stages.
#[derive(Debug, Clone)]
pub struct Head {
    /// What is done to each token first, if that is all until they are joined.
    locals: Option<Locals>,
    stages: Vec<Stage>,
    options: DecodeOptions,
}

impl Head {
    /// The stages of a decoder.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Input`] for [`Errors::Reference`], under which a bad byte changes the
    /// characters before it.
    pub fn new(decoder: &Decoder, options: DecodeOptions) -> Result<Self> {
        if options.errors == Errors::Reference {
            return Err(Error::input(
                "errors=\"reference\" cannot be streamed: a byte that is no UTF-8 changes the \
                 characters before it.",
            )
            .hint("Use errors=\"replace\", or decode the whole.")
            .value("reference"));
        }
        let mut stages = Vec::new();
        let mut locals = None;
        match &decoder.kind {
            Kind::Bytes(_) => {}
            Kind::SentencePiece(rules) => {
                if rules.denormalizes() {
                    stages.extend([Stage::Fuse, Stage::Whole(Whole::Denormalize)]);
                }
            }
            Kind::LlamaCpp(rules) => {
                if rules.clean_spaces {
                    stages.extend(CLEAN.iter().map(|rule| replace(*rule)));
                }
            }
            Kind::Blanks => locals = Some(Locals::join()),
            Kind::Steps(chain) => {
                let steps = chain.steps();
                let taken = chain.locals().map_or(0, |(found, taken)| {
                    locals = Some(found.clone());
                    *taken
                });
                if taken > 0 && taken < steps.len() {
                    stages.push(Stage::Fuse);
                }
                for (index, step) in steps.iter().enumerate().skip(taken) {
                    add_step(index, step, &mut stages);
                }
            }
        }
        stages.push(Stage::Utf8 { strict: options.errors == Errors::Strict });
        if options.clean_up_spaces {
            stages.push(Stage::Fuse);
            stages.extend(TIDY.iter().map(|rule| replace(*rule)));
        }
        Ok(Self { locals, stages, options })
    }
}

fn replace((from, to): (&str, &str)) -> Stage {
    Stage::Literal(Literal::new(from.as_bytes(), to.as_bytes(), to.as_bytes()))
}

fn add_step(index: usize, step: &Step, stages: &mut Vec<Stage>) {
    let whole = Stage::Whole(Whole::Step(index));
    match step {
        Step::ByteLevel => stages.extend([whole, Stage::Fuse]),
        Step::Fuse => stages.push(Stage::Fuse),
        Step::ByteFallback => stages.push(Stage::ByteFallback),
        Step::Suffix(suffix) => stages.push(Stage::Suffix(suffix.as_bytes().to_vec())),
        Step::Replace { pattern, content } => stages.push(match pattern.needle() {
            Some(needle) if !needle.is_empty() => {
                Stage::Literal(Literal::new(needle, content.as_bytes(), content.as_bytes()))
            }
            _ => whole,
        }),
        Step::Strip { content, start, stop } => stages.push(Stage::Strip {
            content: content.to_string().into_bytes(),
            start: *start,
            stop: *stop,
        }),
        Step::WordPiece { prefix, cleanup } => {
            stages.push(Stage::Prefix(prefix.as_bytes().to_vec()));
            if *cleanup {
                stages.extend(token_rules().map(|rule| replace(*rule)));
            }
        }
        Step::Marks { mark, prepended } => {
            let first: &[u8] = if *prepended { b"" } else { b" " };
            stages.push(Stage::Literal(Literal::new(mark.to_string().as_bytes(), first, b" ")));
        }
        Step::Ctc(_) => stages.push(Stage::Whole(Whole::Distinct(index))),
    }
}

/// Ids that are decoded one at a time.
#[derive(Debug, Clone)]
pub struct Stream {
    memories: Vec<Memory>,
    /// How many bytes came, and how many each stage made of them, which is bounded.
    original: usize,
    local: usize,
    grown: Vec<usize>,
    place: Place,
    first: bool,
    /// A token, and memory to rewrite it in.
    token: Vec<u8>,
    spare: Vec<u8>,
    /// Bytes on the way from one stage to the next.
    input: Flow,
    output: Flow,
}

impl Stream {
    /// A stream at its start.
    #[must_use]
    pub fn new(head: &Head) -> Self {
        Self {
            memories: head.stages.iter().map(Memory::new).collect(),
            original: 0,
            local: 0,
            place: Place::default(),
            first: true,
            token: Vec::new(),
            spare: Vec::new(),
            input: Flow::default(),
            output: Flow::default(),
            grown: vec![0; head.stages.len()],
        }
    }

    /// The first token of what waits.
    #[must_use]
    pub fn oldest(&self) -> Option<u64> {
        self.memories.iter().filter_map(Memory::oldest).min()
    }

    /// The bytes that wait, oldest first.
    #[must_use]
    pub fn waiting(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for memory in self.memories.iter().rev() {
            memory.add_waiting(&mut bytes);
        }
        bytes
    }

    fn drive(&mut self, head: &Head, decoder: &Decoder) -> Result<()> {
        check_growth(self.original, self.local)?;
        for ((stage, memory), grown) in
            head.stages.iter().zip(&mut self.memories).zip(&mut self.grown)
        {
            self.output.clear();
            stage.run(memory, decoder, &self.input, &mut self.output)?;
            *grown += self.output.bytes().len();
            check_growth(self.original, *grown)?;
            std::mem::swap(&mut self.input, &mut self.output);
        }
        Ok(())
    }
}

impl Decoder {
    /// Whether an id stands for nothing under these options: its token is special, and such are
    /// left out.
    #[must_use]
    pub fn skips(&self, id: u32, added: &AddedTokens, options: DecodeOptions) -> bool {
        options.skip_special_tokens && added.get(id).is_some_and(|token| token.special)
    }

    /// Refuses an id that the vocabulary lacks, which stands at a place, unless such are skipped.
    ///
    /// # Errors
    /// [`crate::ErrorKind::UnknownId`].
    pub fn check(
        &self,
        at: usize,
        id: u32,
        vocab: &Vocab,
        added: &AddedTokens,
        unknown: Unknown,
    ) -> Result<()> {
        let known = match &self.kind {
            Kind::Bytes(fixed) => fixed.table(vocab, added).bytes(id).is_some(),
            _ => added.decoded_form(id).is_some() || vocab.bytes(id).is_some(),
        };
        if known { Ok(()) } else { refuse_unknown(at, id, vocab, added, unknown) }
    }

    /// Decodes one more id where that is easy: its bytes are whole characters, and no stage holds
    /// anything back or would. None, and nothing changed, where it is not; the id may be unknown.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Limit`] where the text grows without measure.
    pub fn pass<'s>(
        &'s self,
        stream: &'s mut Stream,
        head: &Head,
        id: u32,
        (vocab, added): (&'s Vocab, &'s AddedTokens),
    ) -> Result<Option<&'s str>> {
        let mut stages = head.stages.iter().zip(&stream.memories);
        if head.options.skip_special_tokens || !stages.all(|(stage, memory)| memory.passes(stage)) {
            return Ok(None);
        }
        let bytes = match (&self.kind, &head.locals) {
            (Kind::Bytes(fixed), _) => match fixed.table(vocab, added).bytes(id) {
                Some(bytes) => bytes,
                None => return Ok(None),
            },
            (Kind::Steps(_) | Kind::Blanks, Some(locals)) => {
                let token = added.decoded_form(id).map(str::as_bytes).or_else(|| vocab.bytes(id));
                let Some(token) = token else { return Ok(None) };
                let (out, spare) = (&mut stream.token, &mut stream.spare);
                out.clear();
                let original = stream.original + token.len() + 1;
                locals.read(token, stream.first, original, (out, spare))?;
                if std::str::from_utf8(out).is_err() {
                    return Ok(None);
                }
                stream.original += token.len() + 1;
                stream.local += out.len();
                stream.first = false;
                check_growth(stream.original, stream.local)?;
                out
            }
            _ => return Ok(None),
        };
        let Ok(text) = std::str::from_utf8(bytes) else { return Ok(None) };
        stream.memories.iter_mut().for_each(|memory| memory.passed(text.len()));
        Ok(Some(text))
    }

    /// Decodes one more id, the token `origin` of the stream, and returns what is certain now.
    ///
    /// # Errors
    /// As [`Self::decode`]; after an error the stream is of no use.
    pub fn push<'s>(
        &self,
        stream: &'s mut Stream,
        head: &Head,
        (id, origin): (u32, u64),
        (vocab, added): (&Vocab, &AddedTokens),
    ) -> Result<&'s Flow> {
        stream.input.clear();
        if self.skips(id, added, head.options) {
            // To llama.cpp the token is one, though it has no text.
            stream.first &= !matches!(self.kind, Kind::LlamaCpp(_));
            return Ok(&stream.input);
        }
        let input = &mut stream.input;
        match &self.kind {
            Kind::Bytes(fixed) => match fixed.table(vocab, added).bytes(id) {
                Some(bytes) => input.push(bytes, origin),
                None => refuse_unknown(0, id, vocab, added, head.options.unknown)?,
            },
            Kind::SentencePiece(rules) => {
                let mut run = rules.resume(stream.place);
                match (added.get(id), vocab.bytes(id)) {
                    (Some(token), _) => run.push_text(token.content.as_bytes()),
                    (None, Some(piece)) => run.push(id, piece),
                    (None, None) => refuse_unknown(0, id, vocab, added, head.options.unknown)?,
                }
                let (text, place) = run.pause();
                stream.place = place;
                input.push(&text, origin);
            }
            Kind::LlamaCpp(rules) => {
                let mut run = llama_cpp::Run::resume(rules, stream.first);
                match (added.get(id), vocab.bytes(id)) {
                    (Some(token), _) => run.push_added(&token.content),
                    (None, Some(token)) => run.push(id, token),
                    (None, None) => {
                        refuse_unknown(0, id, vocab, added, head.options.unknown)?;
                        return Ok(&stream.input);
                    }
                }
                stream.first = false;
                input.push(&run.into_text(), origin);
            }
            Kind::Steps(_) | Kind::Blanks => {
                match added.decoded_form(id).map(str::as_bytes).or_else(|| vocab.bytes(id)) {
                    Some(token) => {
                        // A blank may come before each token.
                        stream.original += token.len() + 1;
                        if let Some(locals) = &head.locals {
                            let (out, spare) = (&mut stream.token, &mut stream.spare);
                            out.clear();
                            locals.read(token, stream.first, stream.original, (out, spare))?;
                            stream.local += out.len();
                            input.push(out, origin);
                        } else {
                            input.open(origin);
                            input.push(token, origin);
                            input.close(origin);
                        }
                        stream.first = false;
                    }
                    None => refuse_unknown(0, id, vocab, added, head.options.unknown)?,
                }
            }
        }
        if !matches!(self.kind, Kind::Steps(_)) {
            stream.original += stream.input.bytes().len();
        }
        stream.drive(head, self)?;
        Ok(&stream.input)
    }

    /// Ends a stream: what it still gives, and whether a character was begun and not ended.
    ///
    /// # Errors
    /// As [`Self::push`].
    pub fn finish<'s>(&self, stream: &'s mut Stream, head: &Head) -> Result<(&'s Flow, bool)> {
        stream.input.clear();
        let mut incomplete = false;
        for (stage, memory) in head.stages.iter().zip(&mut stream.memories) {
            stream.output.clear();
            stage.run(memory, self, &stream.input, &mut stream.output)?;
            incomplete |= stage.finish(memory, &mut stream.output)?;
            std::mem::swap(&mut stream.input, &mut stream.output);
        }
        Ok((&stream.input, incomplete))
    }
}
