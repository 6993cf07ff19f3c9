//! Vocabularies and merges, streamed from the file's text into their final shape.
//!
//! A file of 12 MB holds 200 000 tokens and 446 000 merges. No JSON tree is built for them: the
//! tokens go into a [`TokenList`], the merges are looked up as they are read. Time is linear in
//! the file, and memory is a small multiple of it at most.

use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::plain;
use crate::error::{Error, Result};
use crate::formats::node::json_error;
use crate::spec::TokenList;
use crate::vocab::{SeededMap, TokenIndex};

/// Token to id, for look-ups while merges are read.
pub(crate) struct Index<'a> {
    tokens: &'a TokenList,
    index: TokenIndex,
}

impl<'a> Index<'a> {
    /// Indexes a vocabulary; of a repeated token the last id counts.
    pub(crate) fn new(tokens: &'a TokenList) -> Self {
        let mut index = TokenIndex::with_capacity(tokens.len());
        for (entry, (token, _)) in (0u32..).zip(tokens.iter()) {
            index.insert(token, entry, |entry| tokens.bytes(entry as usize));
        }
        Self { tokens, index }
    }

    /// The id of a token.
    #[inline]
    pub(crate) fn get(&self, token: &[u8]) -> Option<u32> {
        self.place(token).map(|place| self.tokens.id(place))
    }

    /// Where a token stands in the list.
    #[inline]
    fn place(&self, token: &[u8]) -> Option<usize> {
        self.index.find(token, |entry| self.tokens.bytes(entry as usize)).map(|at| at as usize)
    }

    /// Whether the entry at `place` is these two parts joined, and is what they lead to.
    fn is_at(&self, place: usize, left: &[u8], right: &[u8]) -> bool {
        place < self.tokens.len()
            && self.index.len() == self.tokens.len()
            && self.tokens.bytes(place).split_at_checked(left.len()) == Some((left, right))
    }

    /// The number of different tokens.
    pub(crate) fn len(&self) -> usize {
        self.index.len()
    }
}

/// A string for an error message, cut to a sensible length.
pub(crate) fn brief(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}

/// Copies a JSON string into a buffer that is used again and again.
struct StringInto<'b>(&'b mut String);

impl<'de> DeserializeSeed<'de> for StringInto<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, d: D) -> std::result::Result<(), D::Error> {
        d.deserialize_str(self)
    }
}

impl Visitor<'_> for StringInto<'_> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }
    fn visit_str<E: de::Error>(self, value: &str) -> std::result::Result<(), E> {
        self.0.clear();
        self.0.push_str(value);
        Ok(())
    }
}

/// Reads `{"token": id, …}`, ordered by id. Of a repeated token the last id counts.
pub(crate) fn read_map(text: &str, path: &str) -> Result<TokenList> {
    let tokens = stream_map(text, path)?;
    let unique = Index::new(&tokens).len() == tokens.len();
    Ok(if unique { tokens.sorted_by_id() } else { keep_last(&tokens).sorted_by_id() })
}

/// Reads `{"token": id, …}` as the file has it, duplicates and all.
pub(super) fn stream_map(text: &str, path: &str) -> Result<TokenList> {
    plain::map(text).map_or_else(|| general_map(text, path), Ok)
}

/// As [`stream_map`], in any form, with errors that say where.
pub(super) fn general_map(text: &str, path: &str) -> Result<TokenList> {
    struct Map<'b> {
        tokens: &'b mut TokenList,
        current: &'b mut Option<String>,
    }
    impl<'de> Visitor<'de> for Map<'_> {
        type Value = ();
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object of tokens and ids")
        }
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<(), A::Error> {
            let key = self.current.insert(String::new());
            while map.next_key_seed(StringInto(key))?.is_some() {
                let id = map.next_value::<u32>()?;
                self.tokens.push(key.as_bytes(), id).map_err(de::Error::custom)?;
            }
            Ok(())
        }
    }
    let mut tokens = TokenList::default();
    let mut current = None;
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let result = deserializer
        .deserialize_map(Map { tokens: &mut tokens, current: &mut current })
        .and_then(|()| deserializer.end());
    if let Err(error) = result {
        let place = match &current {
            Some(token) => format!("{path}[{}]", brief(token)),
            None => path.to_owned(),
        };
        return Err(json_error(&place, &error)
            .hint("Every token needs one id, an integer from 0 to 4294967295."));
    }
    Ok(tokens)
}

/// Drops all but the last entry of each spelling.
pub(super) fn keep_last(tokens: &TokenList) -> TokenList {
    let mut last: SeededMap<&[u8], u32> =
        SeededMap::with_capacity_and_hasher(tokens.len(), Default::default());
    for (at, (token, _)) in (0u32..).zip(tokens.iter()) {
        last.insert(token, at);
    }
    let mut order: Vec<u32> = last.into_values().collect();
    order.sort_unstable();
    tokens.select(&order)
}

/// Reads `[["piece", score], …]`; the id is the place in the list, `number` reads a score.
pub(super) fn read_scored(
    text: &str,
    path: &str,
    number: fn(&str) -> Option<f64>,
) -> Result<(TokenList, Vec<f64>)> {
    struct List<'b> {
        tokens: &'b mut TokenList,
        scores: &'b mut Vec<f64>,
        number: fn(&str) -> Option<f64>,
    }
    impl<'de> Visitor<'de> for List<'_> {
        type Value = ();
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an array of [piece, score]")
        }
        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> std::result::Result<(), A::Error> {
            let mut piece = String::new();
            while let Some(value) = seq.next_element_seed(Scored(&mut piece, self.number))? {
                let id = u32::try_from(self.tokens.len()).map_err(de::Error::custom)?;
                self.tokens.push(piece.as_bytes(), id).map_err(de::Error::custom)?;
                self.scores.push(value);
            }
            Ok(())
        }
    }
    struct Scored<'b>(&'b mut String, fn(&str) -> Option<f64>);
    impl<'de> DeserializeSeed<'de> for Scored<'_> {
        type Value = f64;
        fn deserialize<D: Deserializer<'de>>(self, d: D) -> std::result::Result<f64, D::Error> {
            d.deserialize_seq(self)
        }
    }
    impl<'de> Visitor<'de> for Scored<'_> {
        type Value = f64;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("[piece, score]")
        }
        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> std::result::Result<f64, A::Error> {
            if seq.next_element_seed(StringInto(self.0))?.is_none() {
                return Err(de::Error::invalid_length(0, &self));
            }
            let Some(number) = seq.next_element::<&RawValue>()? else {
                return Err(de::Error::invalid_length(1, &"[piece, score]"));
            };
            if seq.next_element::<de::IgnoredAny>()?.is_some() {
                return Err(de::Error::invalid_length(3, &"[piece, score]"));
            }
            (self.1)(number.get())
                .ok_or_else(|| de::Error::custom("a score is a number that a double can hold"))
        }
    }
    let (mut tokens, mut scores) = (TokenList::default(), Vec::new());
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let result = deserializer
        .deserialize_seq(List { tokens: &mut tokens, scores: &mut scores, number })
        .and_then(|()| deserializer.end());
    match result {
        Ok(()) => Ok((tokens, scores)),
        Err(error) => Err(json_error(&format!("{path}[{}]", scores.len()), &error)
            .hint("Every entry is a piece and its score, such as [\"▁the\", -3.2].")),
    }
}

/// How the halves of a merge become one token.
pub(crate) struct Joiner<'a> {
    /// The vocabulary.
    pub index: &'a Index<'a>,
    /// Bytes that the right half loses: the length of the continuing prefix.
    pub cut: usize,
    buffer: Vec<u8>,
    /// Where the last joined token stands. Merges are written in the order of what they make, so
    /// the next one is mostly there or right after it.
    last: usize,
}

impl<'a> Joiner<'a> {
    pub(crate) fn new(index: &'a Index<'a>, continuing_prefix: Option<&str>) -> Self {
        let cut = continuing_prefix.map_or(0, str::len);
        Self { index, cut, buffer: Vec::new(), last: 0 }
    }

    /// The ids of both halves, if these and what they make are tokens.
    pub(crate) fn join(
        &mut self,
        left: &str,
        right: &str,
    ) -> std::result::Result<(u32, u32), String> {
        let id = |token: &[u8]| self.index.get(token);
        let absent = |token: &str| format!("{} is not in the vocabulary", brief(token));
        let left_id = id(left.as_bytes()).ok_or_else(|| absent(left))?;
        let right_id = id(right.as_bytes()).ok_or_else(|| absent(right))?;
        let rest = right
            .as_bytes()
            .get(self.cut..)
            .ok_or_else(|| format!("{} is shorter than the continuing prefix", brief(right)))?;
        for place in [self.last, self.last + 1] {
            if self.index.is_at(place, left.as_bytes(), rest) {
                self.last = place;
                return Ok((left_id, right_id));
            }
        }
        self.buffer.clear();
        self.buffer.extend_from_slice(left.as_bytes());
        self.buffer.extend_from_slice(rest);
        if let Some(place) = self.index.place(&self.buffer) {
            self.last = place;
        } else {
            return Err(format!(
                "{} and {} make {}, which is not in the vocabulary",
                brief(left),
                brief(right),
                brief(&String::from_utf8_lossy(&self.buffer))
            ));
        }
        Ok((left_id, right_id))
    }
}

/// Splits a merge that is written as one string.
pub(crate) fn split_merge(line: &str) -> std::result::Result<(&str, &str), String> {
    match line.split_once(' ') {
        Some((left, right)) if !right.contains(' ') => Ok((left, right)),
        _ => Err(format!("{} is not two tokens with a blank between", brief(line))),
    }
}

/// Reads merges, all as `["a", "b"]` or all as `"a b"`. In the second form, lines that start
/// with `#version` are skipped.
pub(super) fn read_merges(
    text: &str,
    path: &str,
    index: &Index<'_>,
    prefix: Option<&str>,
) -> Result<Vec<(u32, u32)>> {
    plain::merges(text, index, prefix)
        .map_or_else(|| general_merges(text, path, Joiner::new(index, prefix)), Ok)
}

/// As [`read_merges`], in any form, with errors that say where.
fn general_merges(text: &str, path: &str, joiner: Joiner<'_>) -> Result<Vec<(u32, u32)>> {
    struct List<'b, 'i> {
        merges: &'b mut Vec<(u32, u32)>,
        at: &'b mut usize,
        joiner: Joiner<'i>,
    }
    impl<'de> Visitor<'de> for List<'_, '_> {
        type Value = ();
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an array of merges")
        }
        fn visit_seq<A: SeqAccess<'de>>(mut self, mut seq: A) -> std::result::Result<(), A::Error> {
            let mut form = None;
            let (mut left, mut right) = (String::new(), String::new());
            while let Some(this) = seq.next_element_seed(Merge(&mut left, &mut right))? {
                if *form.get_or_insert(this) != this {
                    return Err(de::Error::custom(
                        "merges are all strings or all pairs, never both",
                    ));
                }
                if this == Form::Line {
                    if !left.starts_with("#version") {
                        let (a, b) = split_merge(&left).map_err(de::Error::custom)?;
                        self.merges.push(self.joiner.join(a, b).map_err(de::Error::custom)?);
                    }
                } else {
                    self.merges.push(self.joiner.join(&left, &right).map_err(de::Error::custom)?);
                }
                *self.at += 1;
            }
            Ok(())
        }
    }
    #[derive(Clone, Copy, PartialEq)]
    enum Form {
        Line,
        Pair,
    }
    struct Merge<'b>(&'b mut String, &'b mut String);
    impl<'de> DeserializeSeed<'de> for Merge<'_> {
        type Value = Form;
        fn deserialize<D: Deserializer<'de>>(self, d: D) -> std::result::Result<Form, D::Error> {
            d.deserialize_any(self)
        }
    }
    impl<'de> Visitor<'de> for Merge<'_> {
        type Value = Form;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("two tokens")
        }
        fn visit_str<E: de::Error>(self, value: &str) -> std::result::Result<Form, E> {
            self.0.clear();
            self.0.push_str(value);
            Ok(Form::Line)
        }
        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> std::result::Result<Form, A::Error> {
            let two = seq.next_element_seed(StringInto(self.0))?.is_some()
                && seq.next_element_seed(StringInto(self.1))?.is_some()
                && seq.next_element::<de::IgnoredAny>()?.is_none();
            if two { Ok(Form::Pair) } else { Err(de::Error::custom("a merge has two tokens")) }
        }
    }
    let (mut merges, mut at) = (Vec::new(), 0);
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let result = deserializer
        .deserialize_seq(List { merges: &mut merges, at: &mut at, joiner })
        .and_then(|()| deserializer.end());
    result.map_err(|error| {
        let what = error.to_string();
        // The position inside the list says less than the path.
        let what = what.split(" at line ").next().unwrap_or_default();
        Error::artifact(format!("{path}[{at}]"), format!("Bad merge: {what}."))
            .hint("Merges join two tokens of the vocabulary into a third.")
    })?;
    Ok(merges)
}
