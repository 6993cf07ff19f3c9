//! The post-processors of a `tokenizer.json`.
//!
//! The reference chooses them by their fields: `Roberta` and `Bert` differ in two, whatever
//! `type` says, and a file that gives `RobertaProcessing` without `trim_offsets` is a `Bert`.

use super::kind::{self, Kind};
use super::pre_tokenizer::{BYTE_LEVEL_FIELDS, byte_level};
use crate::error::Result;
use crate::formats::node::Cursor;
use crate::spec::{
    BertProcessing, PostProcessor, RobertaProcessing, SequenceName, TemplateItem,
    TemplateProcessing, TemplateToken,
};

type Notes = Vec<String>;

const KINDS: &[Kind<PostProcessor>] = &[
    of(
        "RobertaProcessing",
        false,
        &["sep", "cls", "trim_offsets", "add_prefix_space"],
        &["sep", "cls", "trim_offsets", "add_prefix_space"],
        roberta,
    ),
    of("BertProcessing", false, &["sep", "cls"], &["sep", "cls"], bert),
    of("ByteLevel", true, &["add_prefix_space", "trim_offsets"], BYTE_LEVEL_FIELDS, |cursor, _| {
        Ok(PostProcessor::ByteLevel(byte_level(cursor)?))
    }),
    of(
        "TemplateProcessing",
        false,
        &["single", "pair", "special_tokens"],
        &["single", "pair", "special_tokens"],
        template,
    ),
    of("Sequence", true, &["processors"], &["processors"], sequence),
];

const fn of(
    name: &'static str,
    insists: bool,
    required: &'static [&'static str],
    fields: &'static [&'static str],
    read: fn(&Cursor<'_>, &mut Notes) -> Result<PostProcessor>,
) -> Kind<PostProcessor> {
    Kind { tag: None, name, insists, by_fields: true, required, fields, read }
}

pub(super) fn read(cursor: &Cursor<'_>, notes: &mut Notes) -> Result<PostProcessor> {
    let processor = kind::read(cursor, "post-processor", KINDS, notes)?;
    let name = match processor {
        PostProcessor::Sequence(_) => "Sequence",
        PostProcessor::ByteLevel(_) => "ByteLevel",
        PostProcessor::Roberta(_) => "RobertaProcessing",
        PostProcessor::Bert(_) => "BertProcessing",
        PostProcessor::Template(_) => "TemplateProcessing",
    };
    if cursor.field("type").is_some_and(|field| field.str().ok() != Some(name)) {
        notes.push(format!("{}.type: its fields make it a {name}", cursor.path()));
    }
    Ok(processor)
}

fn sequence(cursor: &Cursor<'_>, notes: &mut Notes) -> Result<PostProcessor> {
    let list = cursor.need("processors")?;
    let items = list.items()?.map(|item| read(&item, notes)).collect::<Result<_>>()?;
    Ok(PostProcessor::Sequence(items))
}

fn bert(cursor: &Cursor<'_>, _: &mut Notes) -> Result<PostProcessor> {
    cursor.refuse_duplicates(&["sep", "cls"])?;
    Ok(PostProcessor::Bert(BertProcessing {
        sep: token_and_id(&cursor.need("sep")?)?,
        cls: token_and_id(&cursor.need("cls")?)?,
    }))
}

fn roberta(cursor: &Cursor<'_>, _: &mut Notes) -> Result<PostProcessor> {
    cursor.refuse_duplicates(&["sep", "cls", "trim_offsets", "add_prefix_space"])?;
    Ok(PostProcessor::Roberta(RobertaProcessing {
        sep: token_and_id(&cursor.need("sep")?)?,
        cls: token_and_id(&cursor.need("cls")?)?,
        trim_offsets: cursor.need("trim_offsets")?.bool()?,
        add_prefix_space: cursor.need("add_prefix_space")?.bool()?,
    }))
}

/// `["[SEP]", 102]`.
fn token_and_id(cursor: &Cursor<'_>) -> Result<(String, u32)> {
    let items: Vec<_> = cursor.items()?.collect();
    match items.as_slice() {
        [token, id] => Ok((token.string()?, id.u32()?)),
        _ => Err(cursor.error("Expected a token and its id.").hint("Write [\"[SEP]\", 102].")),
    }
}

fn template(cursor: &Cursor<'_>, notes: &mut Notes) -> Result<PostProcessor> {
    cursor.refuse_duplicates(&["single", "pair", "special_tokens"])?;
    let single = items(&cursor.need("single")?)?;
    let pair = items(&cursor.need("pair")?)?;
    let table = cursor.need("special_tokens")?;
    let mut special_tokens: Vec<(String, TemplateToken)> = Vec::new();
    for (key, value) in table.entries()? {
        value.refuse_duplicates(&["id", "ids", "tokens"])?;
        let token = TemplateToken {
            id: value.need("id")?.string()?,
            ids: value.need("ids")?.items()?.map(|id| id.u32()).collect::<Result<_>>()?,
            tokens: value.need("tokens")?.items()?.map(|t| t.string()).collect::<Result<_>>()?,
        };
        if token.ids.len() != token.tokens.len() {
            notes.push(format!("{}: `ids` and `tokens` differ in length", value.path()));
        }
        value.note_unknown(&["id", "ids", "tokens"], notes);
        special_tokens.push((key.to_owned(), token));
    }
    // A map: the last entry of a key counts, and the reference writes them by key.
    special_tokens.reverse();
    special_tokens.sort_by(|a, b| a.0.cmp(&b.0));
    special_tokens.dedup_by(|later, kept| later.0 == kept.0);
    for item in single.iter().chain(&pair) {
        if let TemplateItem::SpecialToken { id, .. } = item
            && special_tokens.binary_search_by(|(key, _)| key.cmp(id)).is_err()
        {
            notes.push(format!(
                "{}: {id:?} is not defined there, so its template cannot be used",
                table.path()
            ));
        }
    }
    Ok(PostProcessor::Template(TemplateProcessing { single, pair, special_tokens }))
}

fn items(cursor: &Cursor<'_>) -> Result<Vec<TemplateItem>> {
    cursor
        .items()?
        .map(|item| {
            let hint = "Write {\"Sequence\": …} or {\"SpecialToken\": …}.";
            let (name, value) = item.single_entry().map_err(|error| error.hint(hint))?;
            value.refuse_duplicates(&["id", "type_id"])?;
            match name {
                "Sequence" => Ok(TemplateItem::Sequence {
                    id: value
                        .need("id")?
                        .choice(&[("A", SequenceName::A), ("B", SequenceName::B)])?,
                    type_id: value.need("type_id")?.u32()?,
                }),
                "SpecialToken" => Ok(TemplateItem::SpecialToken {
                    id: value.need("id")?.string()?,
                    type_id: value.need("type_id")?.u32()?,
                }),
                other => Err(item.error(format!("{other:?} is not a template item.")).hint(hint)),
            }
        })
        .collect()
}
