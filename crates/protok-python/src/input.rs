//! The texts of a call: each whole, or cut into words by the caller.

use protok_core::Error;
use protok_core::pipeline::input::Text as CoreText;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString, PyTuple};

use crate::arguments::{Text, kind_of, place};
use crate::arrow;
use crate::errors::to_python;

/// One text of a call.
pub enum Given {
    /// In one.
    Whole(Text),
    /// In words.
    Words(Vec<Text>),
}

impl Given {
    /// From a text, or from a sequence of words where the caller says that it is one.
    pub fn from_python(object: &Bound<'_, PyAny>, is_pretokenized: bool) -> PyResult<Self> {
        Self::of_row(object, is_pretokenized, None)
    }

    /// The same for a text of a batch.
    fn of_row(
        object: &Bound<'_, PyAny>,
        is_pretokenized: bool,
        row: Option<usize>,
    ) -> PyResult<Self> {
        let raise = |error: Error| {
            to_python(match row {
                Some(row) => error.within(&format!("texts[{row}]")),
                None => error,
            })
        };
        if !is_pretokenized {
            return Text::read(object).map(Self::Whole).map_err(raise);
        }
        if is_text(object) {
            return Err(raise(no_words(object)));
        }
        let words = object.try_iter().map_err(|_| raise(no_words(object)))?;
        let words = words.enumerate().map(|(index, word)| {
            let word = word?;
            let read = if is_text(&word) { Text::read(&word) } else { Err(no_word(&word)) };
            read.map_err(|error| raise(error.within(&format!("words[{index}]"))))
        });
        Ok(Self::Words(words.collect::<PyResult<_>>()?))
    }

    /// As the engine wants it.
    pub fn as_input(&self) -> CoreText<'_> {
        match self {
            Self::Whole(text) => CoreText::Whole(text.as_str()),
            Self::Words(words) => CoreText::Words(words.iter().map(Text::as_str).collect()),
        }
    }

    /// Says where an error is, in what the caller passed.
    pub fn place(&self, error: Error) -> Error {
        match self {
            Self::Whole(text) => place(error, text),
            Self::Words(words) => match error.word.and_then(|word| words.get(word as usize)) {
                Some(word) => place(error, word),
                None => error,
            },
        }
    }

    /// The text, if it is in one.
    pub fn whole(&self) -> Option<&Text> {
        match self {
            Self::Whole(text) => Some(text),
            Self::Words(_) => None,
        }
    }
}

/// Says where in one of two texts an error is.
pub fn place_in(error: Error, text: &Given, pair: Option<&Given>) -> Error {
    let about = pair.filter(|_| error.pair).unwrap_or(text);
    about.place(error)
}

fn is_text(object: &Bound<'_, PyAny>) -> bool {
    object.cast::<PyString>().is_ok() || object.cast::<PyBytes>().is_ok()
}

fn no_words(object: &Bound<'_, PyAny>) -> Error {
    let kind = kind_of(object);
    Error::input(format!("A pre-tokenized text must be a list of words, not {kind}."))
        .value(kind)
        .hint("Leave is_pretokenized out for a text in one.")
}

fn no_word(object: &Bound<'_, PyAny>) -> Error {
    let kind = kind_of(object);
    Error::input(format!("A word must be str or UTF-8 bytes, not {kind}."))
        .value(kind)
        .hint("A pre-tokenized text is a list of words.")
}

/// A text of a batch, or two.
pub type Row = (Given, Option<Given>);

/// The texts of a batch: each a text, or a tuple of two, or a column of Arrow. A tuple of words is one
/// text of words.
pub fn batch(texts: &Bound<'_, PyAny>, is_pretokenized: bool) -> PyResult<Vec<Row>> {
    if is_text(texts) {
        return Err(to_python(
            Error::input("A batch must be a sequence of texts, not one text.")
                .hint("Use encode for one text."),
        ));
    }
    if !is_pretokenized && let Some(column) = arrow::texts(texts)? {
        return Ok(column);
    }
    let mut result = Vec::with_capacity(texts.len().unwrap_or(0));
    for (row, item) in texts.try_iter()?.enumerate() {
        let item = item?;
        let pair = item.cast::<PyTuple>().ok().filter(|pair| {
            let of_words = || pair.iter().all(|text| !is_text(&text));
            pair.len() == 2 && (!is_pretokenized || of_words())
        });
        let text = |text: &Bound<'_, PyAny>| Given::of_row(text, is_pretokenized, Some(row));
        result.push(match pair {
            Some(pair) => (text(&pair.get_item(0)?)?, Some(text(&pair.get_item(1)?)?)),
            None => (text(&item)?, None),
        });
    }
    Ok(result)
}
