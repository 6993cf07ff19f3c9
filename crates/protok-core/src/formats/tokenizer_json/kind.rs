//! How a component's kind is found: by its `type`, or, in old files, by its fields.
//!
//! The reference first looks at `type`. A name that it does not know, or none, makes it try all
//! kinds in a fixed order and take the first whose fields fit. Some kinds insist on their own
//! `type` even then, others do not look at it. Both rules are kept, because they decide what a
//! file means: `{"suffix": "</w>"}` is a `BPEDecoder`, and post-processors are always chosen by
//! their fields.

use crate::error::Result;
use crate::formats::node::Cursor;

/// One kind of component of a stage.
pub(super) struct Kind<T> {
    /// The name that selects it at once, where there is one.
    pub tag: Option<&'static str>,
    /// The name that the reference writes.
    pub name: &'static str,
    /// Whether it refuses another `type` than `name`.
    pub insists: bool,
    /// Whether it can be found by its fields.
    pub by_fields: bool,
    /// The fields without which it is not tried.
    pub required: &'static [&'static str],
    /// All fields but `type`.
    pub fields: &'static [&'static str],
    /// The reader.
    pub read: fn(&Cursor<'_>, &mut Vec<String>) -> Result<T>,
}

/// Reads a component of a stage, given its kinds in the reference's order.
pub(super) fn read<T>(
    cursor: &Cursor<'_>,
    stage: &str,
    kinds: &[Kind<T>],
    notes: &mut Vec<String>,
) -> Result<T> {
    if !cursor.is_object() {
        return Err(cursor
            .error(format!("A {stage} is an object."))
            .hint("Write it as an object with a `type`, or null for none."));
    }
    let named = cursor.field("type").and_then(|field| field.str().ok());
    if let Some(kind) = kinds.iter().find(|kind| kind.tag.is_some() && kind.tag == named) {
        if kind.insists && kind.name != kind.tag.unwrap_or(kind.name) {
            return Err(cursor
                .error(format!("`type` must be \"{}\" here.", kind.name))
                .hint("The reference refuses the short name too."));
        }
        return finish(cursor, kind, notes);
    }
    let mut first_error = None;
    for kind in kinds.iter().filter(|kind| kind.by_fields) {
        let fits = (!kind.insists || named == Some(kind.name))
            && kind.required.iter().all(|field| cursor.field(field).is_some());
        if !fits {
            continue;
        }
        let before = notes.len();
        match finish(cursor, kind, notes) {
            Ok(component) => {
                if named.is_some_and(|named| named != kind.name) && kind.tag.is_some() {
                    notes.push(format!(
                        "{}.type: not a known {stage}; its fields make it a {}",
                        cursor.path(),
                        kind.name
                    ));
                }
                return Ok(component);
            }
            Err(error) => {
                notes.truncate(before);
                first_error.get_or_insert(error);
            }
        }
    }
    Err(first_error.unwrap_or_else(|| unknown(cursor, stage, named, kinds)))
}

fn unknown<T>(
    cursor: &Cursor<'_>,
    stage: &str,
    named: Option<&str>,
    kinds: &[Kind<T>],
) -> crate::Error {
    let names: Vec<&str> = kinds.iter().map(|kind| kind.name).collect();
    let known = format!("Known are: {}.", names.join(", "));
    match named {
        Some(name) => match kinds.iter().find(|kind| kind.name == name) {
            Some(kind) => cursor
                .error(format!("{name} needs the fields {}.", kind.required.join(", ")))
                .hint("Add the missing ones."),
            None => cursor.error(format!("{name:?} is not a known {stage}.")).hint(known),
        },
        None => {
            cursor.error(format!("No {stage} has these fields, and `type` is missing.")).hint(known)
        }
    }
}

fn finish<T>(cursor: &Cursor<'_>, kind: &Kind<T>, notes: &mut Vec<String>) -> Result<T> {
    let component = (kind.read)(cursor, notes)?;
    let known: Vec<&str> = kind.fields.iter().copied().chain(["type"]).collect();
    cursor.note_unknown(&known, notes);
    Ok(component)
}
