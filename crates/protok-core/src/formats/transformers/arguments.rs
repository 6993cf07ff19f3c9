//! The arguments that `from_pretrained` makes of the files beside a `tokenizer.json`.

use super::Change;
use super::ordered::Ordered;
use super::token::{Special, Token};
use crate::error::{Error, Result};
use crate::formats::companions::{CONFIG, Companion};
use crate::formats::directory::Files;
use crate::formats::node::{Cursor, Node};
use crate::spec::AddedToken;
use crate::vocab::{SeededMap, SeededSet};

/// The roles that every class has, in its order.
pub(super) const ROLES: [&str; 7] =
    ["bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"];
const ADDITIONAL: &str = "additional_special_tokens";
pub(super) const EXTRA: &str = "extra_special_tokens";
/// What [`Arguments`] does not keep: it has no part in the pipeline, or is read on its own.
const SKIPPED: &[&str] = &[
    "added_tokens_decoder",
    "add_bos_token",
    "add_eos_token",
    "auto_map",
    "chat_template",
    "tokenizer_class",
];

/// A value, in the terms of Python.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Json(Node),
    Token(Token),
    List(Vec<Value>),
    Map(Vec<(String, Value)>),
}

impl Value {
    /// Objects with `__type` are tokens, at any depth.
    fn read(node: &Node, path: &str) -> Result<Self> {
        match node {
            Node::Object(entries) => {
                let is_type =
                    |(key, value): &(String, Node)| key == "__type" && is_text(value, "AddedToken");
                if entries.iter().any(is_type) {
                    return Ok(Self::Token(Token::read(&Cursor::root(node, path))?));
                }
                let entry = |(key, value): &(String, Node)| {
                    Ok((key.clone(), Self::read(value, &format!("{path}.{key}"))?))
                };
                Ok(Self::Map(entries.iter().map(entry).collect::<Result<_>>()?))
            }
            Node::Array(items) => {
                let item = |(at, item)| Self::read(item, &format!("{path}[{at}]"));
                Ok(Self::List(items.iter().enumerate().map(item).collect::<Result<_>>()?))
            }
            plain => Ok(Self::Json(plain.clone())),
        }
    }

    fn is_null(&self) -> bool {
        *self == Self::Json(Node::Null)
    }

    /// What Python takes for false.
    fn is_empty(&self) -> bool {
        match self {
            Self::Json(Node::Null | Node::Bool(false)) => true,
            Self::Json(Node::String(text)) => text.is_empty(),
            Self::List(items) => items.is_empty(),
            Self::Map(entries) => entries.is_empty(),
            _ => false,
        }
    }

    /// How a token is spelled.
    fn name(&self) -> String {
        match self {
            Self::Json(Node::String(text)) => text.clone(),
            Self::Token(token) => token.content.clone(),
            _ => String::new(),
        }
    }

    /// A token of any role.
    fn special(&self, path: &str) -> Result<Option<Special>> {
        match self {
            Self::Json(Node::Null) => Ok(None),
            Self::Json(Node::String(text)) => Ok(Some(Special::Text(text.clone()))),
            Self::Token(token) => Ok(Some(Special::Token(token.clone()))),
            _ => Err(Error::artifact(
                path,
                "transformers takes a token for a string, or an object with __type.",
            )
            .hint("Write the token as a string; transformers refuses the folder as it is.")),
        }
    }
}

/// Whether a name is that of a role of the model's own.
fn is_own_role(name: &str) -> bool {
    name.ends_with("_token") && !ROLES.contains(&name)
}

fn is_text(node: &Node, text: &str) -> bool {
    matches!(node, Node::String(own) if own == text)
}

/// Named arguments in Python's order, and the tokens that were added before.
#[derive(Debug, Clone, Default)]
pub(super) struct Arguments {
    entries: Ordered<Value>,
    /// Roles of the model's own, by name.
    model_specific: Ordered<Value>,
    /// `added_tokens_decoder`, by id.
    pub added: Vec<(u32, Token)>,
    /// The place of each id in `added`, while it is read.
    places: SeededMap<u32, usize>,
}

impl Arguments {
    /// Reads the files, with a change of one option of `tokenizer_config.json`.
    pub(super) fn read(
        files: &Files<'_>,
        config: Option<&Companion<'_>>,
        of_file: &[AddedToken],
        change: Option<(&str, Change)>,
    ) -> Result<Self> {
        let mut read = Self::default();
        let root = config.map(Companion::root);
        let without = match change {
            Some((option, Change::Without)) => Some(option),
            _ => None,
        };
        if let Some(root) = &root {
            for (key, value) in root.entries()? {
                if SKIPPED.contains(&key) || without == Some(key) {
                    continue;
                }
                read.set(key, Value::read(value.node(), &value.path())?);
            }
        }
        if let Some((option, Change::Flag(value))) = change {
            read.set(option, Value::Json(Node::Bool(value)));
        }
        if read.get("init_inputs").is_some_and(|value| !value.is_empty()) {
            return Err(refused("init_inputs", "Arguments without a name cannot be followed."));
        }
        if read.get(EXTRA).is_none_or(Value::is_empty)
            && let Some(additional) = read.take(ADDITIONAL)
        {
            read.set(EXTRA, additional);
        }
        let of_model = |(key, value): &(&str, &Value)| {
            is_own_role(key) && matches!(value, Value::Json(Node::String(_)))
        };
        let names: Vec<String> =
            read.entries.iter().filter(of_model).map(|(key, _)| key.to_owned()).collect();
        for name in names {
            if let Some(value) = read.take(&name) {
                read.model_specific.set(&name, value);
            }
        }
        read.take_extra_map();
        let table = root.as_ref().filter(|_| without != Some("added_tokens_decoder"));
        match table.and_then(|root| root.field("added_tokens_decoder")) {
            Some(table) => {
                for (key, value) in table.entries()? {
                    let id = key.parse().map_err(|_| value.error("The key is not an id."))?;
                    read.set_added(id, Token::read(&value)?);
                }
            }
            None => read.legacy(files, of_file)?,
        }
        let added = &read.added;
        for role in ROLES {
            let Some(value) = read.entries.get_mut(role) else { continue };
            let name = match value {
                Value::Json(Node::String(text)) => text.clone(),
                Value::Token(token) => token.content.clone(),
                _ => continue,
            };
            if let Some((_, token)) = added.iter().rev().find(|(_, token)| token.content == name) {
                *value = Value::Token(token.clone());
            }
        }
        read.added.sort_by_key(|(id, _)| *id);
        Ok(read)
    }

    /// The files of older releases, which count where there is no `added_tokens_decoder`.
    fn legacy(&mut self, files: &Files<'_>, of_file: &[AddedToken]) -> Result<()> {
        if let Some(file) = Companion::read(files, "special_tokens_map.json")? {
            for (key, value) in file.root().entries()? {
                let path = value.path();
                let value = match (value.node(), key) {
                    (Node::Object(_), EXTRA) => Value::read(value.node(), &path)?,
                    (Node::Object(_), _) => {
                        Value::Token(Token { special: true, ..Token::read(&value)? })
                    }
                    (Node::Array(items), EXTRA) => {
                        let mut merged = match self.take(EXTRA) {
                            Some(Value::List(items)) => items,
                            _ => Vec::new(),
                        };
                        let mut known: SeededMap<String, Vec<Value>> = SeededMap::default();
                        for item in &merged {
                            known.entry(item.name()).or_default().push(item.clone());
                        }
                        for (at, item) in items.iter().enumerate() {
                            let path = format!("{path}[{at}]");
                            let item = match item {
                                Node::Object(_) => Value::Token(Token {
                                    special: true,
                                    ..Token::read(&Cursor::root(item, &path))?
                                }),
                                plain => Value::read(plain, &path)?,
                            };
                            let known = known.entry(item.name()).or_default();
                            if !known.contains(&item) {
                                known.push(item.clone());
                                merged.push(item);
                            }
                        }
                        Value::List(merged)
                    }
                    (node, _) => Value::read(node, &path)?,
                };
                self.set(key, value);
            }
            self.take_extra_map();
        }
        if let Some(file) = Companion::read(files, "added_tokens.json")? {
            let mut special: SeededSet<String> = SeededSet::default();
            for role in ROLES {
                special.extend(self.role(role, None)?.map(|token| token.as_str().to_owned()));
            }
            let extra = self.listed(EXTRA)?;
            special.extend(extra.iter().map(|token| token.as_str().to_owned()));
            for (content, id) in file.root().entries()? {
                let is_special = special.contains(content);
                let token = Token {
                    normalized: Some(!is_special),
                    special: is_special,
                    ..Token::plain(content)
                };
                self.set_added(id.u32()?, token);
            }
        }
        for token in of_file {
            self.set_added(token.id, Token::from(token));
        }
        Ok(())
    }

    fn set_added(&mut self, id: u32, token: Token) {
        match self.places.get(&id) {
            Some(&place) => self.added[place].1 = token,
            None => {
                self.places.insert(id, self.added.len());
                self.added.push((id, token));
            }
        }
    }

    /// Extra tokens that have names are roles of the model's own.
    fn take_extra_map(&mut self) {
        if !matches!(self.get(EXTRA), Some(Value::Map(_))) {
            return;
        }
        let Some(Value::Map(named)) = self.take(EXTRA) else { return };
        for (name, value) in named {
            self.model_specific.set(&name, value);
        }
    }

    pub(super) fn set(&mut self, key: &str, value: Value) {
        self.entries.set(key, value);
    }

    pub(super) fn get(&self, key: &str) -> Option<&Value> {
        self.entries.get(key)
    }

    pub(super) fn take(&mut self, key: &str) -> Option<Value> {
        self.entries.take(key)
    }

    /// A truth value, or what stands for an absent one.
    pub(super) fn flag(&self, name: &str, default: bool) -> Result<bool> {
        match self.get(name) {
            None => Ok(default),
            Some(Value::Json(Node::Bool(value))) => Ok(*value),
            Some(_) => Err(refused(name, "Expected true or false.")),
        }
    }

    /// A truth value that Python only asks for its truth: null is false.
    pub(super) fn truthy(&self, name: &str, default: bool) -> Result<bool> {
        match self.get(name) {
            Some(value) if value.is_null() => Ok(false),
            _ => self.flag(name, default),
        }
    }

    /// A truth value, or null.
    pub(super) fn optional_flag(&self, name: &str) -> Result<Option<bool>> {
        match self.get(name) {
            Some(value) if !value.is_null() => self.flag(name, false).map(Some),
            _ => Ok(None),
        }
    }

    /// A whole number.
    pub(super) fn number(&self, name: &str, default: usize) -> Result<usize> {
        match self.get(name) {
            None => Ok(default),
            Some(Value::Json(Node::Unsigned(value))) => {
                usize::try_from(*value).map_err(|_| refused(name, "The number is too large."))
            }
            Some(_) => Err(refused(name, "Expected a whole number.")),
        }
    }

    /// A string.
    pub(super) fn text(&self, name: &str, default: &str) -> Result<String> {
        match self.get(name) {
            None => Ok(default.to_owned()),
            Some(Value::Json(Node::String(text))) => Ok(text.clone()),
            Some(_) => Err(refused(name, "Expected a string.")),
        }
    }

    /// The token of a role, or the one that its class gives it.
    pub(super) fn role(&self, name: &str, default: Option<&str>) -> Result<Option<Special>> {
        match self.get(name) {
            None => Ok(default.map(|text| Special::Text(text.to_owned()))),
            Some(value) => value.special(&format!("{CONFIG}.{name}")),
        }
    }

    /// The tokens of the model's own roles, in the order in which they are set.
    pub(super) fn own_roles(&self) -> Result<Vec<(String, Special)>> {
        let mut own: Ordered<&Value> = Ordered::default();
        for (key, value) in self.entries.iter() {
            if is_own_role(key) && matches!(value, Value::Token(_) | Value::Json(Node::String(_))) {
                own.set(key, value);
            }
        }
        for (key, value) in self.model_specific.iter() {
            own.set(key, value);
        }
        let special = |(key, value): (&str, &&Value)| {
            let path = format!("{CONFIG}.{key}");
            let Some(token) = value.special(&path)? else {
                return Err(Error::artifact(path, "transformers refuses null for a token's name.")
                    .hint("Leave the name out."));
            };
            Ok((key.to_owned(), token))
        };
        own.iter().map(special).collect()
    }

    /// The additional special tokens.
    pub(super) fn extra(&self) -> Result<Vec<Special>> {
        self.listed(if self.get(EXTRA).is_some() { EXTRA } else { ADDITIONAL })
    }

    fn listed(&self, name: &str) -> Result<Vec<Special>> {
        let path = format!("{CONFIG}.{name}");
        match self.get(name) {
            None => Ok(Vec::new()),
            Some(value) if value.is_null() => Ok(Vec::new()),
            Some(Value::List(items)) => {
                let item = |(at, item): (usize, &Value)| {
                    let path = format!("{path}[{at}]");
                    item.special(&path)?.ok_or_else(|| {
                        Error::artifact(path, "transformers refuses null for a token.")
                            .hint("Leave it out.")
                    })
                };
                items.iter().enumerate().map(item).collect()
            }
            Some(_) => Err(Error::artifact(path, "Expected an array of tokens, or an object.")
                .hint("transformers refuses the folder as it is.")),
        }
    }

    /// Gives the additional special tokens that a class has, unless the files give some.
    pub(super) fn default_additional(&mut self, tokens: impl IntoIterator<Item = String>) {
        if self.get(ADDITIONAL).is_none_or(Value::is_null) {
            let tokens = tokens.into_iter().map(|token| Value::Json(Node::String(token)));
            self.set(ADDITIONAL, Value::List(tokens.collect()));
        }
    }

    /// The additional special tokens that reach the class under their old name.
    pub(super) fn additional(&mut self) -> Option<&mut Vec<Value>> {
        match self.entries.get_mut(ADDITIONAL)? {
            Value::List(items) => Some(items),
            _ => None,
        }
    }
}

/// An error about an argument with which `transformers` ends in an error, too.
pub(super) fn refused_by_both(name: &str, what: &str) -> Error {
    Error::artifact(format!("{CONFIG}.{name}"), what)
        .hint("transformers refuses the folder; load without as_loaded_by.")
}

/// An error about an argument.
pub(super) fn refused(name: &str, what: &str) -> Error {
    Error::artifact(format!("{CONFIG}.{name}"), what)
        .hint("Correct the option, or load without as_loaded_by: the file then decides.")
}
