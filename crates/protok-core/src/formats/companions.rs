//! The files beside a tokenizer: which token plays which role, and chat templates.
//!
//! Nothing here changes a tokenizer. The tokenizer's own file is the authority; what its
//! configuration would make of it stands in [`super::contradictions`].

use super::directory::Files;
use super::node::{Cursor, Node};
use crate::error::{Error, Result};
use crate::spec::{AddedToken, Spec};
use crate::vocab::{SeededMap, SeededSet};

/// The file with the wrapper's settings.
pub(super) const CONFIG: &str = "tokenizer_config.json";
const ROLES: &[&str] = &["bos", "eos", "unk", "sep", "pad", "cls", "mask"];

/// A companion file as a tree.
pub(super) struct Companion<'a> {
    name: &'a str,
    node: Node,
}

impl<'a> Companion<'a> {
    pub(super) fn read(files: &Files<'_>, name: &'a str) -> Result<Option<Self>> {
        let Some(bytes) = files.get(name) else { return Ok(None) };
        let text = utf8(name, bytes)?;
        let node = Node::parse(text, name, 0)?;
        Ok(Some(Self { name, node }))
    }

    pub(super) fn root(&self) -> Cursor<'_> {
        Cursor::root(&self.node, self.name)
    }
}

/// The text of a file.
pub(super) fn utf8<'a>(name: &str, bytes: &'a [u8]) -> Result<&'a str> {
    std::str::from_utf8(bytes).map_err(|error| {
        Error::artifact(name, format!("Byte {} is not UTF-8.", error.valid_up_to()))
            .hint("The file may be damaged; fetch it again.")
    })
}

/// The spelling of a token that is a string or an object with `content`.
fn content(cursor: &Cursor<'_>) -> Result<String> {
    if cursor.is_object() { cursor.need("content")?.string() } else { cursor.string() }
}

/// The tokens of all roles in one file, the additional ones as `additional`.
fn roles_of(root: &Cursor<'_>, roles: &mut Vec<(String, String)>) -> Result<()> {
    let mut seen: SeededSet<(String, String)> = roles.iter().cloned().collect();
    let known: SeededSet<String> = roles.iter().map(|(role, _)| role.clone()).collect();
    for role in ROLES {
        if known.contains(*role) {
            continue;
        }
        if let Some(field) = root.present(&format!("{role}_token")) {
            roles.push(((*role).to_owned(), content(&field)?));
        }
    }
    for name in ["additional_special_tokens", "extra_special_tokens"] {
        let Some(field) = root.present(name) else { continue };
        if field.is_array() {
            for item in field.items()? {
                let role = ("additional".to_owned(), content(&item)?);
                if seen.insert(role.clone()) {
                    roles.push(role);
                }
            }
        } else {
            // Roles of a model's own: `{"image_token": "<image>"}`.
            for (key, item) in field.entries()? {
                let name = key.strip_suffix("_token").unwrap_or(key);
                let role = (name.to_owned(), content(&item)?);
                if seen.insert(role.clone()) {
                    roles.push(role);
                }
            }
        }
    }
    Ok(())
}

/// The roles that the files give: `tokenizer_config.json` first, then `special_tokens_map.json`.
pub(super) fn roles(files: &Files<'_>) -> Result<Vec<(String, String)>> {
    let mut roles = Vec::new();
    for name in [CONFIG, "special_tokens_map.json"] {
        if let Some(file) = Companion::read(files, name)? {
            roles_of(&file.root(), &mut roles)?;
        }
    }
    Ok(roles)
}

/// Further end tokens and the like, which `generation_config.json` gives by id.
pub(super) fn roles_by_id(
    files: &Files<'_>,
    spec: &Spec,
    roles: &mut Vec<(String, String)>,
    notes: &mut Vec<String>,
) -> Result<()> {
    let Some(file) = Companion::read(files, "generation_config.json")? else { return Ok(()) };
    let root = file.root();
    let mut seen: SeededSet<(String, String)> = roles.iter().cloned().collect();
    // An added token names its id, else the first entry of the vocabulary.
    let mut names: SeededMap<u32, &[u8]> = SeededMap::default();
    for (id, name) in added_names(spec).chain(spec.model.tokens().iter().map(|(t, id)| (id, t))) {
        names.entry(id).or_insert(name);
    }
    for role in ["bos", "eos", "pad"] {
        let name = format!("{role}_token_id");
        let Some(field) = root.present(&name) else { continue };
        let mut ids = Vec::new();
        if field.is_array() {
            for item in field.items()? {
                ids.push((item.u32()?, item.path()));
            }
        } else {
            ids.push((field.u32()?, field.path()));
        }
        for (id, path) in ids {
            let name = names.get(&id).and_then(|name| std::str::from_utf8(name).ok());
            let Some(token) = name.map(str::to_owned) else {
                notes.push(format!("{path}: no token has the id {id}"));
                continue;
            };
            let role = (role.to_owned(), token);
            if seen.insert(role.clone()) {
                roles.push(role);
            }
        }
    }
    Ok(())
}

/// The added tokens by id.
fn added_names(spec: &Spec) -> impl Iterator<Item = (u32, &[u8])> {
    spec.added_tokens.iter().map(|token| (token.id, token.content.as_bytes()))
}

/// The added tokens of `added_tokens.json` and `added_tokens_decoder`, for formats without any.
pub(super) fn added_tokens(files: &Files<'_>) -> Result<Vec<AddedToken>> {
    let mut tokens: Vec<AddedToken> = Vec::new();
    if let Some(file) = Companion::read(files, CONFIG)?
        && let Some(table) = file.root().present("added_tokens_decoder")
    {
        tokens = decoder_table(&table)?;
    }
    if let Some(file) = Companion::read(files, "added_tokens.json")? {
        let mut known: SeededSet<String> =
            tokens.iter().map(|token| token.content.clone()).collect();
        for (content, id) in file.root().entries()? {
            let id = id.u32()?;
            if known.insert(content.to_owned()) {
                tokens.push(AddedToken {
                    id,
                    content: content.to_owned(),
                    single_word: false,
                    lstrip: false,
                    rstrip: false,
                    normalized: true,
                    special: false,
                });
            }
        }
    }
    tokens.sort_by_key(|token| token.id);
    Ok(tokens)
}

/// `{"50256": {"content": …}}`.
fn decoder_table(table: &Cursor<'_>) -> Result<Vec<AddedToken>> {
    table
        .entries()?
        .map(|(key, value)| {
            let id = key.parse().map_err(|_| value.error("The key is not an id."))?;
            let flag = |name, default| value.present(name).map_or(Ok(default), |f| f.bool());
            let special = flag("special", false)?;
            Ok(AddedToken {
                id,
                content: value.need("content")?.string()?,
                single_word: flag("single_word", false)?,
                lstrip: flag("lstrip", false)?,
                rstrip: flag("rstrip", false)?,
                normalized: flag("normalized", !special)?,
                special,
            })
        })
        .collect()
}

/// Chat templates by name. A `.jinja` file wins over the same name in `tokenizer_config.json`.
pub(super) fn chat_templates(
    files: &Files<'_>,
    notes: &mut Vec<String>,
) -> Result<Vec<(String, String)>> {
    let mut templates: Vec<(String, String)> = Vec::new();
    for (name, bytes) in files.iter() {
        let key = if name == "chat_template.jinja" {
            "default"
        } else {
            let file = name
                .strip_prefix("chat_templates/")
                .or_else(|| name.strip_prefix("additional_chat_templates/"));
            match file.and_then(|file| file.strip_suffix(".jinja")) {
                Some(key) => key,
                None => continue,
            }
        };
        templates.push((key.to_owned(), utf8(name, bytes)?.to_owned()));
    }
    for name in [CONFIG, "chat_template.json"] {
        let Some(file) = Companion::read(files, name)? else { continue };
        let root = file.root();
        let Some(field) = root.present("chat_template") else { continue };
        let mut found = Vec::new();
        if field.is_array() {
            for item in field.items()? {
                found.push((item.need("name")?.string()?, item.need("template")?.string()?));
            }
        } else if field.is_object() {
            for (key, value) in field.entries()? {
                found.push((key.to_owned(), value.string()?));
            }
        } else {
            found.push(("default".to_owned(), field.string()?));
        }
        let mut places: SeededMap<String, usize> =
            templates.iter().zip(0..).map(|((key, _), place)| (key.clone(), place)).collect();
        for (key, template) in found {
            match places.get(&key).map(|&place| &templates[place].1) {
                Some(known) if *known != template => notes.push(format!(
                    "{name}.chat_template: differs from the template {key:?} in a file of its own, \
                     which is used"
                )),
                Some(_) => {}
                None => {
                    places.insert(key.clone(), templates.len());
                    templates.push((key, template));
                }
            }
        }
    }
    templates.sort_by(|a, b| (a.0 != "default", &a.0).cmp(&(b.0 != "default", &b.0)));
    Ok(templates)
}

/// The roles whose token the tokenizer does not have.
pub(super) fn missing_roles(spec: &Spec, roles: &[(String, String)], notes: &mut Vec<String>) {
    if roles.is_empty() {
        return;
    }
    let known: SeededSet<&[u8]> = spec
        .model
        .tokens()
        .iter()
        .map(|(token, _)| token)
        .chain(spec.added_tokens.iter().map(|token| token.content.as_bytes()))
        .collect();
    for (role, token) in roles {
        if !known.contains(token.as_bytes()) {
            notes.push(format!("{role}: {token:?} is not a token"));
        }
    }
}
