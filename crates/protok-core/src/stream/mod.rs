//! Ids back to text while they are made, with what stops them.
//!
//! A [`Stream`] decodes id by id ([`crate::decode::Stream`]) and looks for stop strings in the
//! text ([`stop`]). The text and the ids that it gives, joined, do not depend on how the ids were
//! cut into pushes. It can be copied, and the last tokens can be taken back.

pub mod automaton;
pub mod stop;

use std::collections::VecDeque;
use std::sync::Arc;

use crate::decode::{self, DecodeOptions, Flow, Head};
use crate::error::{Error, Result};
use crate::pipeline::Pipeline;

use stop::{Found, Matcher, Stops};

/// How to stream.
#[derive(Debug, Clone)]
pub struct Options {
    /// How to decode.
    pub decode: DecodeOptions,
    /// What ends the text.
    pub stops: Arc<Stops>,
    /// The ids that end it.
    pub stop_ids: Vec<u32>,
    /// Whether stop strings are also looked for in the spelling of each token that is left out.
    pub hidden: bool,
    /// How many tokens can be taken back at least.
    pub max_rollback: usize,
}

/// Why no more comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// A stop string.
    Text(Found),
    /// A stop string, by its place in the list, in a token that is left out.
    Hidden(usize),
    /// A stop id.
    Id(u32),
    /// The caller said so.
    End,
    /// Likewise, in the middle of a character.
    Incomplete,
}

impl Reason {
    /// Whether the stream stopped by itself.
    #[must_use]
    pub fn is_stop(self) -> bool {
        !matches!(self, Self::End | Self::Incomplete)
    }
}

/// What a push released. A stream fills one again and again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Delta {
    /// The text, whole characters of UTF-8.
    text: Vec<u8>,
    /// The tokens of which all text is released now and was not before.
    pub ids: Vec<u32>,
    /// Why no more comes, if so.
    pub reason: Option<Reason>,
}

impl Delta {
    /// The text.
    #[must_use]
    pub fn text(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.text)
    }

    /// The text as UTF-8.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.text
    }

    /// For text that no stream made.
    #[must_use]
    pub fn of_text(text: Vec<u8>, reason: Option<Reason>) -> Self {
        Self { text, ids: Vec::new(), reason }
    }
}

/// What is taken back of what was released.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Withdrawn {
    /// How many characters of the text.
    pub characters: u64,
    /// How many ids.
    pub ids: u64,
}

/// What changes as ids come.
#[derive(Debug, Clone)]
struct State {
    decode: decode::Stream,
    matcher: Matcher,
    /// The tokens that are not released.
    open: VecDeque<u32>,
    /// How many tokens came, and how many were released.
    pushed: u64,
    released: u64,
    reason: Option<Reason>,
}

/// Two states and the ids since the first, for taking back.
#[derive(Debug, Clone)]
struct History {
    base: State,
    middle: State,
    ids: VecDeque<u32>,
}

/// Ids that are decoded as they come.
#[derive(Debug, Clone)]
pub struct Stream {
    pipeline: Arc<Pipeline>,
    head: Arc<Head>,
    options: Arc<Options>,
    state: State,
    history: Option<Box<History>>,
    delta: Delta,
}

impl Stream {
    /// A stream that goes on after some ids. Their text is not given, but for a character that
    /// they begin and do not end.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Input`] for options that cannot be streamed, and as [`Self::push`] for
    /// the ids before.
    pub fn new(pipeline: Arc<Pipeline>, options: Options, after: &[u32]) -> Result<Self> {
        let head = Head::new(pipeline.decoder(), options.decode)?;
        let mut decode = decode::Stream::new(&head);
        check(&pipeline, after, &options)?;
        let tables = (pipeline.vocab(), pipeline.added_tokens());
        for (origin, &id) in (0u64..).zip(after) {
            pipeline.decoder().push(&mut decode, &head, (id, origin), tables)?;
        }
        let before = after.len() as u64;
        let state = State {
            decode,
            matcher: Matcher::new(options.stops.clone()),
            open: VecDeque::new(),
            pushed: before,
            released: before,
            reason: None,
        };
        let history = (options.max_rollback > 0).then(|| {
            let (base, middle) = (state.clone(), state.clone());
            Box::new(History { base, middle, ids: VecDeque::new() })
        });
        Ok(Self {
            pipeline,
            head: Arc::new(head),
            options: Arc::new(options),
            state,
            history,
            delta: Delta::default(),
        })
    }

    /// Decodes more ids. What comes after a stop is dropped.
    ///
    /// # Errors
    /// [`crate::ErrorKind::UnknownId`] before any of the ids is decoded; as
    /// [`Pipeline::decode`], after which the stream is of no use.
    pub fn push(&mut self, ids: &[u32]) -> Result<&Delta> {
        if matches!(self.state.reason, Some(Reason::End | Reason::Incomplete)) {
            return Err(Error::input("The stream is finished.")
                .hint("Make a new one, or copy a stream before it is finished."));
        }
        check(&self.pipeline, ids, &self.options)?;
        let text = &mut self.delta.text;
        text.clear();
        for &id in ids {
            if self.state.reason.is_some() {
                break;
            }
            if let Some(history) = &mut self.history {
                // Two states, so that a rollback replays at most twice as many ids as it may.
                let most = self.options.max_rollback;
                if history.ids.len() == 2 * most {
                    history.ids.drain(..most);
                    history.base = std::mem::replace(&mut history.middle, self.state.clone());
                } else if history.ids.len() == most {
                    history.middle = self.state.clone();
                }
                history.ids.push_back(id);
            }
            self.state.push(&self.pipeline, &self.head, &self.options, id, text)?;
        }
        Ok(self.settled())
    }

    fn settled(&mut self) -> &Delta {
        self.delta.ids.clear();
        self.delta.ids.extend(self.state.settle());
        self.delta.reason = self.state.reason;
        &self.delta
    }

    /// Ends the stream: releases what is held back.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Input`] if that was done before, or the ids end within a character
    /// under [`crate::decode::Errors::Strict`].
    pub fn finish(&mut self) -> Result<&Delta> {
        self.delta.text.clear();
        match self.state.reason {
            Some(Reason::End | Reason::Incomplete) => {
                return Err(Error::input("The stream is finished already."));
            }
            Some(_) => return Ok(self.settled()),
            None => {}
        }
        let text = &mut self.delta.text;
        let incomplete = self.state.flush(&self.pipeline, &self.head, text)?;
        self.state.reason.get_or_insert(match incomplete {
            true => Reason::Incomplete,
            false => Reason::End,
        });
        Ok(self.settled())
    }

    /// Takes the last tokens back, stopped or finished or not.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Input`] for more tokens than can be taken back.
    pub fn rollback(&mut self, count: usize) -> Result<Withdrawn> {
        let most = self.options.max_rollback;
        let known = self.history.as_ref().map_or(0, |history| history.ids.len().min(most));
        let Some(history) = self.history.as_mut().filter(|_| count <= known) else {
            return Err(Error::input(format!(
                "{count} tokens cannot be taken back: the last {known} can."
            ))
            .value(count.to_string())
            .hint(
                "Set max_rollback when the stream is made; tokens before it cannot be taken back.",
            ));
        };
        history.ids.truncate(history.ids.len() - count);
        let (from, start) = match history.ids.len() >= most {
            true => (&history.middle, most),
            false => (&history.base, 0),
        };
        let mut state = from.clone();
        let mut text = Vec::new();
        for &id in history.ids.iter().skip(start) {
            state.push(&self.pipeline, &self.head, &self.options, id, &mut text)?;
            state.settle();
        }
        let withdrawn = Withdrawn {
            characters: self.state.matcher.released() - state.matcher.released(),
            ids: self.state.released - state.released,
        };
        self.state = state;
        Ok(withdrawn)
    }

    /// The bytes that came and are not released.
    #[must_use]
    pub fn held(&self) -> Vec<u8> {
        let mut bytes = self.state.matcher.held().to_vec();
        bytes.extend(self.state.decode.waiting());
        bytes
    }

    /// Why no more comes, if so.
    #[must_use]
    pub fn reason(&self) -> Option<Reason> {
        self.state.reason
    }

    /// The options.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.options
    }
}

fn check(pipeline: &Pipeline, ids: &[u32], options: &Options) -> Result<()> {
    let decoder = pipeline.decoder();
    ids.iter().enumerate().try_for_each(|(at, &id)| {
        decoder.check(at, id, pipeline.vocab(), pipeline.added_tokens(), options.decode.unknown)
    })
}

impl State {
    fn push(
        &mut self,
        pipeline: &Pipeline,
        head: &Head,
        options: &Options,
        id: u32,
        text: &mut Vec<u8>,
    ) -> Result<()> {
        let origin = self.pushed;
        self.pushed += 1;
        self.open.push_back(id);
        let added = pipeline.added_tokens();
        let stops = options.stop_ids.contains(&id);
        if !stops {
            let tables = (pipeline.vocab(), added);
            let passed = pipeline.decoder().pass(&mut self.decode, head, id, tables)?;
            if let Some(passed) = passed {
                self.matcher.push(passed.as_bytes(), origin, text);
                self.reason = self.matcher.found().map(Reason::Text);
                return Ok(());
            }
        }
        let skipped = pipeline.decoder().skips(id, added, options.decode);
        let hidden = match skipped && options.hidden {
            true => added.get(id).and_then(|token| options.stops.find(&token.content)),
            false => None,
        };
        if !(stops || hidden.is_some()) || options.stops.includes() {
            let tables = (pipeline.vocab(), added);
            let decoder = pipeline.decoder();
            let flow = decoder.push(&mut self.decode, head, (id, origin), tables)?;
            if read(&mut self.matcher, flow, text) {
                self.reason = self.matcher.found().map(Reason::Text);
                return Ok(());
            }
        } else {
            self.open.pop_back();
        }
        if stops || hidden.is_some() {
            self.flush(pipeline, head, text)?;
            self.reason.get_or_insert(match hidden {
                Some(index) if !stops => Reason::Hidden(index),
                _ => Reason::Id(id),
            });
        }
        Ok(())
    }

    /// Nothing more comes.
    fn flush(&mut self, pipeline: &Pipeline, head: &Head, text: &mut Vec<u8>) -> Result<bool> {
        let (flow, incomplete) = pipeline.decoder().finish(&mut self.decode, head)?;
        if read(&mut self.matcher, flow, text) {
            self.reason = self.matcher.found().map(Reason::Text);
        } else {
            self.matcher.finish(text);
        }
        Ok(incomplete)
    }

    /// Lets go of the tokens of which all text is released.
    fn settle(&mut self) -> std::collections::vec_deque::Drain<'_, u32> {
        let came = self.released + self.open.len() as u64;
        // What the matcher holds is older than what the decoder does.
        let oldest = self.matcher.oldest().or_else(|| self.decode.oldest());
        let free = oldest.unwrap_or(came).clamp(self.released, came) - self.released;
        self.released += free;
        self.open.drain(..free as usize)
    }
}

/// Looks for stops in what was decoded. Returns whether there is one.
fn read(matcher: &mut Matcher, flow: &Flow, text: &mut Vec<u8>) -> bool {
    for (_, origin, bytes) in flow.parts() {
        matcher.push(bytes, origin, text);
    }
    matcher.found().is_some()
}
