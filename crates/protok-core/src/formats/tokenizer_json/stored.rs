//! The truncation and padding that a file stores: checked, completed, and kept as data.

use serde_json::{Value, json};

use crate::error::Result;
use crate::formats::node::Cursor;

const DIRECTIONS: &[(&str, &str)] = &[("Left", "Left"), ("Right", "Right")];

/// `truncation`, with its default filled in.
pub(super) fn truncation(cursor: &Cursor<'_>, notes: &mut Vec<String>) -> Result<Option<Value>> {
    if cursor.is_null() {
        return Ok(None);
    }
    let fields = ["direction", "max_length", "strategy", "stride"];
    cursor.refuse_duplicates(&fields)?;
    let direction = cursor.field("direction").map_or(Ok("Right"), |d| d.choice(DIRECTIONS))?;
    let strategy = cursor.need("strategy")?.choice(&[
        ("LongestFirst", "LongestFirst"),
        ("OnlyFirst", "OnlyFirst"),
        ("OnlySecond", "OnlySecond"),
    ])?;
    cursor.note_unknown(&fields, notes);
    Ok(Some(json!({
        "direction": direction,
        "max_length": cursor.need("max_length")?.usize()?,
        "strategy": strategy,
        "stride": cursor.need("stride")?.usize()?,
    })))
}

/// `padding`, with its default filled in.
pub(super) fn padding(cursor: &Cursor<'_>, notes: &mut Vec<String>) -> Result<Option<Value>> {
    if cursor.is_null() {
        return Ok(None);
    }
    let fields =
        ["strategy", "direction", "pad_to_multiple_of", "pad_id", "pad_type_id", "pad_token"];
    cursor.refuse_duplicates(&fields)?;
    let strategy = cursor.need("strategy")?;
    let strategy = match strategy.single_entry() {
        Ok(("Fixed", length)) => json!({"Fixed": length.usize()?}),
        _ => strategy.choice(&[("BatchLongest", "BatchLongest")]).map(Value::from)?,
    };
    let multiple = cursor.present("pad_to_multiple_of").map(|m| m.usize()).transpose()?;
    cursor.note_unknown(&fields, notes);
    Ok(Some(json!({
        "strategy": strategy,
        "direction": cursor.need("direction")?.choice(DIRECTIONS)?,
        "pad_to_multiple_of": multiple,
        "pad_id": cursor.need("pad_id")?.u32()?,
        "pad_type_id": cursor.need("pad_type_id")?.u32()?,
        "pad_token": cursor.need("pad_token")?.string()?,
    })))
}
