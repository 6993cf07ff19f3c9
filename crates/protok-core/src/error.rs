//! The one error type of the engine: a kind, what happened, where, and what to do.

use std::fmt;

/// What sort of thing went wrong. Each kind is one exception class in Python.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// A tokenizer file is malformed, or says something the engine cannot do exactly.
    Artifact,
    /// The caller's text or arguments cannot be processed.
    Input,
    /// A control token was spelled in ordinary text.
    SpecialToken,
    /// An id that the vocabulary does not hold.
    UnknownId,
    /// A bound on time, memory or size was reached.
    Limit,
}

/// An error with machine-readable context.
///
/// `what` is a full sentence; `location` says where (a JSON path, a line, a byte position);
/// `hint` says what the caller can do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// The kind, which decides the exception class.
    pub kind: ErrorKind,
    /// What happened.
    pub what: String,
    /// Where: a JSON path such as `model.merges[12]`, `line 3`, `byte 17`.
    pub location: Option<String>,
    /// What to do.
    pub hint: Option<Box<str>>,
    /// The position in the input, in bytes of UTF-8 or in items of an id sequence.
    pub position: Option<usize>,
    /// The offending value as text: a token, an id, a field.
    pub value: Option<Box<str>>,
    /// Which item of a batch, if it was one.
    pub item: Option<u32>,
    /// Which word of a text that the caller cut into words.
    pub word: Option<u32>,
    /// Whether it is about the second of two texts.
    pub pair: bool,
}

/// The engine's result type.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error of the given kind.
    pub fn new(kind: ErrorKind, what: impl Into<String>) -> Self {
        Self {
            kind,
            what: shortened(what.into()),
            location: None,
            hint: None,
            position: None,
            value: None,
            item: None,
            word: None,
            pair: false,
        }
    }

    /// A malformed or unsupported artifact, with the path of the offending field.
    pub fn artifact(location: impl Into<String>, what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Artifact, what).at(location)
    }

    /// Bad input from the caller.
    pub fn input(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Input, what)
    }

    /// A bound that was reached.
    pub fn limit(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Limit, what)
    }

    /// Adds where it happened.
    #[must_use]
    pub fn at(mut self, location: impl Into<String>) -> Self {
        self.location = Some(location.into());
        self
    }

    /// Puts `prefix` before the location: readers add path segments on the way out.
    #[must_use]
    pub fn within(mut self, prefix: &str) -> Self {
        self.location = Some(match self.location {
            Some(inner) if inner.starts_with('[') => format!("{prefix}{inner}"),
            Some(inner) if !inner.is_empty() => format!("{prefix}.{inner}"),
            _ => prefix.to_owned(),
        });
        self
    }

    /// Adds what the caller can do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into().into_boxed_str());
        self
    }

    /// Adds the position in the input.
    #[must_use]
    pub fn position(mut self, position: usize) -> Self {
        self.position = Some(position);
        self
    }

    /// Adds the offending value.
    #[must_use]
    pub fn value(mut self, value: impl Into<String>) -> Self {
        self.value = Some(shortened(value.into()).into_boxed_str());
        self
    }
}

/// What a message may quote has any length in an artifact; a reader of the message has not.
fn shortened(mut text: String) -> String {
    const MOST: usize = 2000;
    if text.len() > MOST {
        text.truncate(text.floor_char_boundary(MOST));
        text.push('…');
    }
    text
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(location) = &self.location {
            write!(f, "{location}: ")?;
        }
        f.write_str(&self.what)?;
        if let Some(hint) = &self.hint {
            write!(f, " {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}
