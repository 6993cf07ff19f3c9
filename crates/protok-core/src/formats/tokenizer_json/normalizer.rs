//! The normalizers of a `tokenizer.json`.

use base64::Engine as _;

use super::kind::{self, Kind};
use crate::error::Result;
use crate::formats::node::Cursor;
use crate::spec::{
    BertNormalizer, Normalizer, Pattern, Precompiled, Prepend, Replace, StripNormalizer,
};

type Notes = Vec<String>;

const KINDS: &[Kind<Normalizer>] = &[
    Kind {
        tag: Some("Bert"),
        name: "BertNormalizer",
        insists: false,
        by_fields: true,
        required: &["clean_text", "handle_chinese_chars", "lowercase"],
        fields: &["clean_text", "handle_chinese_chars", "strip_accents", "lowercase"],
        read: bert,
    },
    Kind {
        tag: Some("Strip"),
        name: "Strip",
        insists: false,
        by_fields: true,
        required: &["strip_left", "strip_right"],
        fields: &["strip_left", "strip_right"],
        read: strip,
    },
    unit("StripAccents", |_, _| Ok(Normalizer::StripAccents)),
    unit("NFC", |_, _| Ok(Normalizer::Nfc)),
    unit("NFD", |_, _| Ok(Normalizer::Nfd)),
    unit("NFKC", |_, _| Ok(Normalizer::Nfkc)),
    unit("NFKD", |_, _| Ok(Normalizer::Nfkd)),
    Kind {
        tag: Some("Sequence"),
        name: "Sequence",
        insists: false,
        by_fields: true,
        required: &["normalizers"],
        fields: &["normalizers"],
        read: sequence,
    },
    unit("Lowercase", |_, _| Ok(Normalizer::Lowercase)),
    unit("Nmt", |_, _| Ok(Normalizer::Nmt)),
    Kind {
        tag: Some("Precompiled"),
        name: "Precompiled",
        insists: false,
        by_fields: false,
        required: &["precompiled_charsmap"],
        fields: &["precompiled_charsmap"],
        read: precompiled,
    },
    Kind {
        tag: Some("Replace"),
        name: "Replace",
        insists: false,
        by_fields: true,
        required: &["pattern", "content"],
        fields: &["pattern", "content"],
        read: |cursor, _| Ok(Normalizer::Replace(replace(cursor)?)),
    },
    Kind {
        tag: Some("Prepend"),
        name: "Prepend",
        insists: false,
        by_fields: true,
        required: &["prepend"],
        fields: &["prepend"],
        read: |cursor, _| {
            Ok(Normalizer::Prepend(Prepend { prepend: cursor.need("prepend")?.string()? }))
        },
    },
    unit("ByteLevel", |_, _| Ok(Normalizer::ByteLevel)),
];

const fn unit(
    name: &'static str,
    read: fn(&Cursor<'_>, &mut Notes) -> Result<Normalizer>,
) -> Kind<Normalizer> {
    Kind { tag: Some(name), name, insists: true, by_fields: true, required: &[], fields: &[], read }
}

pub(super) fn read(cursor: &Cursor<'_>, notes: &mut Notes) -> Result<Normalizer> {
    kind::read(cursor, "normalizer", KINDS, notes)
}

fn sequence(cursor: &Cursor<'_>, notes: &mut Notes) -> Result<Normalizer> {
    let list = cursor.need("normalizers")?;
    let items = list.items()?.map(|item| read(&item, notes)).collect::<Result<_>>()?;
    Ok(Normalizer::Sequence(items))
}

fn bert(cursor: &Cursor<'_>, _: &mut Notes) -> Result<Normalizer> {
    Ok(Normalizer::Bert(BertNormalizer {
        clean_text: cursor.need("clean_text")?.bool()?,
        handle_chinese_chars: cursor.need("handle_chinese_chars")?.bool()?,
        strip_accents: cursor.present("strip_accents").map(|field| field.bool()).transpose()?,
        lowercase: cursor.need("lowercase")?.bool()?,
    }))
}

fn strip(cursor: &Cursor<'_>, _: &mut Notes) -> Result<Normalizer> {
    Ok(Normalizer::Strip(StripNormalizer {
        strip_left: cursor.need("strip_left")?.bool()?,
        strip_right: cursor.need("strip_right")?.bool()?,
    }))
}

/// The map must have SentencePiece's shape: the size of a trie in bytes, the trie, UTF-8 text.
fn precompiled(cursor: &Cursor<'_>, _: &mut Notes) -> Result<Normalizer> {
    let field = cursor.need("precompiled_charsmap")?;
    let text = field.string()?;
    let bad = |what: &str| {
        field.error(what).hint("Copy `precompiled_charsmap` again from the SentencePiece model.")
    };
    let bytes = base64::engine::general_purpose::STANDARD
        .decode(&text)
        .map_err(|_| bad("The character map is not base64."))?;
    let (size, rest) =
        bytes.split_first_chunk::<4>().ok_or_else(|| bad("The character map is too short."))?;
    let trie = u32::from_le_bytes(*size) as usize / 4 * 4;
    let strings = rest.get(trie..).ok_or_else(|| bad("The character map's trie is cut off."))?;
    std::str::from_utf8(strings).map_err(|_| bad("The character map's text is not UTF-8."))?;
    Ok(Normalizer::Precompiled(Precompiled { precompiled_charsmap: text }))
}

/// `pattern` and `content`, also of the decoder of that name.
pub(super) fn replace(cursor: &Cursor<'_>) -> Result<Replace> {
    Ok(Replace {
        pattern: pattern(&cursor.need("pattern")?)?,
        content: cursor.need("content")?.string()?,
    })
}

/// `{"String": …}` or `{"Regex": …}`.
pub(super) fn pattern(cursor: &Cursor<'_>) -> Result<Pattern> {
    let hint = "Write {\"String\": \"…\"} or {\"Regex\": \"…\"}.";
    if !cursor.is_object() {
        return Err(cursor.error("A pattern is an object.").hint(hint));
    }
    let (name, value) = cursor.single_entry().map_err(|error| error.hint(hint))?;
    match name {
        "String" => Ok(Pattern::String(value.string()?)),
        "Regex" => Ok(Pattern::Regex(value.string()?)),
        other => Err(cursor.error(format!("{other:?} is not a kind of pattern.")).hint(hint)),
    }
}
