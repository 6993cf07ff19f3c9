//! A small JSON tree that keeps duplicate keys, and a cursor that knows its path.
//!
//! Readers walk a [`Cursor`]; whatever is wrong is reported with the JSON path of the value.
//! The tree is used for the small parts of a file. Vocabularies and merges are never read into
//! it. Depth is bounded as `serde_json` bounds it, so walking it may recurse.

use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use crate::error::{Error, Result};

/// So many values may stand inside one another, as in `serde_json`. A file that is read in parts
/// counts from its root, so that the bound is that of a reader which takes it whole.
pub(crate) const DEPTH: usize = 127;

const TOO_DEEP: &str = "recursion limit exceeded";

/// A JSON value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Node {
    Null,
    Bool(bool),
    Unsigned(u64),
    Signed(i64),
    Float(f64),
    String(String),
    Array(Vec<Node>),
    Object(Vec<(String, Node)>),
}

impl Node {
    /// Reads one value that stands inside `depth` others; errors name `path`.
    pub(crate) fn parse(text: &str, path: &str, depth: usize) -> Result<Self> {
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let node = Inside { depth }.deserialize(&mut deserializer);
        node.and_then(|node| deserializer.end().map(|()| node))
            .map_err(|error| json_error(path, &error))
    }

    fn kind(&self) -> &'static str {
        match self {
            Node::Null => "null",
            Node::Bool(_) => "a truth value",
            Node::Unsigned(_) | Node::Signed(_) => "an integer",
            Node::Float(_) => "a fraction",
            Node::String(_) => "a string",
            Node::Array(_) => "an array",
            Node::Object(_) => "an object",
        }
    }
}

/// What `serde_json` says, as an artifact error.
pub(crate) fn json_error(path: &str, error: &serde_json::Error) -> Error {
    let text = error.to_string();
    let line = format!("line {} column {}", error.line(), error.column());
    let path = if path.is_empty() { &line } else { path };
    if text.starts_with(TOO_DEEP) {
        return Error::artifact(path, "The value is nested too deeply.")
            .hint("At most 62 components may stand inside one another.");
    }
    let what = match error.classify() {
        serde_json::error::Category::Data => format!("Unexpected value: {text}."),
        _ => format!("This is not valid JSON: {text}."),
    };
    Error::artifact(path, what)
}

/// Reads a value that stands inside `depth` others.
struct Inside {
    depth: usize,
}

impl Inside {
    fn deeper<E: de::Error>(&self) -> std::result::Result<Self, E> {
        if self.depth >= DEPTH {
            return Err(E::custom(TOO_DEEP));
        }
        Ok(Self { depth: self.depth + 1 })
    }
}

impl<'de> DeserializeSeed<'de> for Inside {
    type Value = Node;
    fn deserialize<D: Deserializer<'de>>(self, d: D) -> std::result::Result<Node, D::Error> {
        d.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Inside {
    type Value = Node;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }
    fn visit_unit<E: de::Error>(self) -> std::result::Result<Node, E> {
        Ok(Node::Null)
    }
    fn visit_bool<E: de::Error>(self, value: bool) -> std::result::Result<Node, E> {
        Ok(Node::Bool(value))
    }
    fn visit_u64<E: de::Error>(self, value: u64) -> std::result::Result<Node, E> {
        Ok(Node::Unsigned(value))
    }
    fn visit_i64<E: de::Error>(self, value: i64) -> std::result::Result<Node, E> {
        Ok(Node::Signed(value))
    }
    fn visit_f64<E: de::Error>(self, value: f64) -> std::result::Result<Node, E> {
        Ok(Node::Float(value))
    }
    fn visit_str<E: de::Error>(self, value: &str) -> std::result::Result<Node, E> {
        Ok(Node::String(value.to_owned()))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> std::result::Result<Node, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(self.deeper()?)? {
            items.push(item);
        }
        Ok(Node::Array(items))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Node, A::Error> {
        let mut entries = Vec::new();
        while let Some(key) = map.next_key()? {
            entries.push((key, map.next_value_seed(self.deeper()?)?));
        }
        Ok(Node::Object(entries))
    }
}

/// Where a value stands: a list from the value up to the root, on the stack.
#[derive(Clone, Copy)]
enum Place<'a> {
    Root(&'a str),
    Key(&'a Place<'a>, &'a str),
    Index(&'a Place<'a>, usize),
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Root(name) => f.write_str(name),
            Place::Key(parent, key) => write!(f, "{parent}.{}", shortened(key)),
            Place::Index(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}

/// A key as paths show it: files may have keys of any length.
fn shortened(key: &str) -> std::borrow::Cow<'_, str> {
    match key.char_indices().nth(100) {
        Some((end, _)) => format!("{}…", &key[..end]).into(),
        None => key.into(),
    }
}

/// A value and its path.
#[derive(Clone, Copy)]
pub(crate) struct Cursor<'a> {
    node: &'a Node,
    place: Place<'a>,
}

impl<'a> Cursor<'a> {
    /// The root of a tree, called `name` in paths.
    pub(crate) fn root(node: &'a Node, name: &'a str) -> Self {
        Self { node, place: Place::Root(name) }
    }

    /// The value itself.
    pub(crate) fn node(&self) -> &'a Node {
        self.node
    }

    /// The JSON path.
    pub(crate) fn path(&self) -> String {
        self.place.to_string()
    }

    /// An error at this place.
    pub(crate) fn error(&self, what: impl Into<String>) -> Error {
        Error::artifact(self.path(), what)
    }

    fn expected(&self, what: &str) -> Error {
        self.error(format!("Expected {what}, found {}.", self.node.kind()))
    }

    pub(crate) fn is_null(&self) -> bool {
        *self.node == Node::Null
    }

    pub(crate) fn is_object(&self) -> bool {
        matches!(self.node, Node::Object(_))
    }

    pub(crate) fn is_array(&self) -> bool {
        matches!(self.node, Node::Array(_))
    }

    pub(crate) fn bool(&self) -> Result<bool> {
        match self.node {
            Node::Bool(value) => Ok(*value),
            _ => Err(self.expected("true or false")),
        }
    }

    pub(crate) fn str(&self) -> Result<&'a str> {
        match self.node {
            Node::String(value) => Ok(value),
            _ => Err(self.expected("a string")),
        }
    }

    pub(crate) fn string(&self) -> Result<String> {
        self.str().map(str::to_owned)
    }

    pub(crate) fn char(&self) -> Result<char> {
        let text = self.str()?;
        let mut chars = text.chars();
        match (chars.next(), chars.next()) {
            (Some(c), None) => Ok(c),
            _ => Err(self.error(format!("Expected one character, found {text:?}."))),
        }
    }

    pub(crate) fn u32(&self) -> Result<u32> {
        match self.node {
            Node::Unsigned(value) => u32::try_from(*value)
                .map_err(|_| self.error(format!("{value} does not fit into 32 bits."))),
            Node::Signed(value) => Err(self.error(format!("{value} is negative."))),
            _ => Err(self.expected("an integer")),
        }
    }

    pub(crate) fn usize(&self) -> Result<usize> {
        match self.node {
            Node::Unsigned(value) => usize::try_from(*value)
                .map_err(|_| self.error(format!("{value} does not fit into this machine's word."))),
            Node::Signed(value) => Err(self.error(format!("{value} is negative."))),
            _ => Err(self.expected("an integer")),
        }
    }

    /// The items of an array.
    pub(crate) fn items<'b>(&'b self) -> Result<impl Iterator<Item = Cursor<'b>>>
    where
        'a: 'b,
    {
        match self.node {
            Node::Array(items) => Ok(items
                .iter()
                .enumerate()
                .map(|(index, node)| Cursor { node, place: Place::Index(&self.place, index) })),
            _ => Err(self.expected("an array")),
        }
    }

    /// The entries of an object, duplicates included.
    pub(crate) fn entries<'b>(&'b self) -> Result<impl Iterator<Item = (&'b str, Cursor<'b>)>>
    where
        'a: 'b,
    {
        match self.node {
            Node::Object(entries) => Ok(entries.iter().map(|(key, node)| {
                (key.as_str(), Cursor { node, place: Place::Key(&self.place, key) })
            })),
            _ => Err(self.expected("an object")),
        }
    }

    /// A field, null or not; of duplicates the last.
    pub(crate) fn field<'b>(&'b self, name: &'b str) -> Option<Cursor<'b>>
    where
        'a: 'b,
    {
        match self.node {
            Node::Object(entries) => entries
                .iter()
                .rev()
                .find(|(key, _)| key == name)
                .map(|(_, node)| Cursor { node, place: Place::Key(&self.place, name) }),
            _ => None,
        }
    }

    /// A field that is there and not null.
    pub(crate) fn present<'b>(&'b self, name: &'b str) -> Option<Cursor<'b>>
    where
        'a: 'b,
    {
        self.field(name).filter(|field| !field.is_null())
    }

    /// A field that must be there.
    pub(crate) fn need<'b>(&'b self, name: &'b str) -> Result<Cursor<'b>>
    where
        'a: 'b,
    {
        if !self.is_object() {
            return Err(self.expected("an object"));
        }
        self.field(name).ok_or_else(|| {
            self.error(format!("The field `{name}` is missing."))
                .hint(format!("Add `{name}`, or save the file again with a current release."))
        })
    }

    /// Refuses a second mention of any of `names`.
    pub(crate) fn refuse_duplicates(&self, names: &[&str]) -> Result<()> {
        let Node::Object(entries) = self.node else { return Ok(()) };
        for name in names {
            if entries.iter().filter(|(key, _)| key == name).count() > 1 {
                return Err(self.error(format!("The field `{name}` is given twice.")));
            }
        }
        Ok(())
    }

    /// Adds a note for every field that is not in `known`.
    pub(crate) fn note_unknown(&self, known: &[&str], notes: &mut Vec<String>) {
        let Node::Object(entries) = self.node else { return };
        for (key, _) in entries {
            if !known.contains(&key.as_str()) {
                let key = shortened(key);
                notes.push(format!("{}.{key}: unknown field, ignored", self.path()));
            }
        }
    }

    /// A name out of a list, written `"Name"` or `{"Name": null}`.
    pub(crate) fn choice<T: Copy>(&self, choices: &[(&str, T)]) -> Result<T> {
        let name = match self.node {
            Node::String(name) => name,
            Node::Object(entries) => match entries.as_slice() {
                [(name, Node::Null)] => name,
                _ => return Err(self.expected("a name")),
            },
            _ => return Err(self.expected("a name")),
        };
        choices.iter().find(|(known, _)| known == name).map(|(_, value)| *value).ok_or_else(|| {
            let names: Vec<&str> = choices.iter().map(|(known, _)| *known).collect();
            self.error(format!("{name:?} is not known here."))
                .hint(format!("Known are: {}.", names.join(", ")))
                .value(name)
        })
    }

    /// The only entry of an object such as `{"Regex": "…"}`.
    pub(crate) fn single_entry<'b>(&'b self) -> Result<(&'b str, Cursor<'b>)>
    where
        'a: 'b,
    {
        let mut entries = self.entries()?;
        match (entries.next(), entries.next()) {
            (Some(entry), None) => Ok(entry),
            _ => Err(self.error("Expected an object with one field.")),
        }
    }
}
