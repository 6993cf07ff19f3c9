//! The pre-tokenizers of a `tokenizer.json`, and the parts that decoders and post-processors
//! share with them.

use super::kind::{self, Kind};
use super::normalizer::pattern;
use crate::error::Result;
use crate::formats::node::Cursor;
use crate::spec::{
    ByteLevel, CharDelimiterSplit, Digits, FixedLength, Metaspace, PreTokenizer, PrependScheme,
    Punctuation, Semantics, Split, SplitBehavior,
};

type Notes = Vec<String>;

const BEHAVIORS: &[(&str, SplitBehavior)] = &[
    ("Removed", SplitBehavior::Removed),
    ("Isolated", SplitBehavior::Isolated),
    ("MergedWithPrevious", SplitBehavior::MergedWithPrevious),
    ("MergedWithNext", SplitBehavior::MergedWithNext),
    ("Contiguous", SplitBehavior::Contiguous),
];

pub(super) const METASPACE_FIELDS: &[&str] =
    &["replacement", "add_prefix_space", "prepend_scheme", "split", "str_rep"];
pub(super) const BYTE_LEVEL_FIELDS: &[&str] = &["add_prefix_space", "trim_offsets", "use_regex"];

// Every pre-tokenizer insists on its `type`, so none is ever found by its fields alone.
const KINDS: &[Kind<PreTokenizer>] = &[
    of("BertPreTokenizer", &[], |_, _| Ok(PreTokenizer::Bert)),
    of("ByteLevel", BYTE_LEVEL_FIELDS, |cursor, _| {
        Ok(PreTokenizer::ByteLevel(byte_level(cursor)?))
    }),
    Kind { tag: Some("Delimiter"), ..of("CharDelimiterSplit", &["delimiter"], delimiter) },
    of("Metaspace", METASPACE_FIELDS, |cursor, _| Ok(PreTokenizer::Metaspace(metaspace(cursor)?))),
    of("Whitespace", &[], |_, _| Ok(PreTokenizer::Whitespace)),
    of("Sequence", &["pretokenizers"], sequence),
    of("Split", &["pattern", "behavior", "invert"], split),
    of("Punctuation", &["behavior"], punctuation),
    of("WhitespaceSplit", &[], |_, _| Ok(PreTokenizer::WhitespaceSplit)),
    of("Digits", &["individual_digits"], digits),
    of("UnicodeScripts", &[], |_, _| Ok(PreTokenizer::UnicodeScripts)),
    of("FixedLength", &["length"], fixed_length),
];

const fn of(
    name: &'static str,
    fields: &'static [&'static str],
    read: fn(&Cursor<'_>, &mut Notes) -> Result<PreTokenizer>,
) -> Kind<PreTokenizer> {
    Kind { tag: Some(name), name, insists: true, by_fields: true, required: &[], fields, read }
}

pub(super) fn read(cursor: &Cursor<'_>, notes: &mut Notes) -> Result<PreTokenizer> {
    kind::read(cursor, "pre-tokenizer", KINDS, notes)
}

fn sequence(cursor: &Cursor<'_>, notes: &mut Notes) -> Result<PreTokenizer> {
    let list = cursor.need("pretokenizers")?;
    let items = list.items()?.map(|item| read(&item, notes)).collect::<Result<_>>()?;
    Ok(PreTokenizer::Sequence(items))
}

pub(super) fn byte_level(cursor: &Cursor<'_>) -> Result<ByteLevel> {
    Ok(ByteLevel {
        add_prefix_space: cursor.need("add_prefix_space")?.bool()?,
        trim_offsets: cursor.need("trim_offsets")?.bool()?,
        use_regex: cursor.field("use_regex").map_or(Ok(true), |field| field.bool())?,
    })
}

/// Old files say `add_prefix_space` instead of `prepend_scheme`. The reference reads a missing
/// scheme as `always`, and refuses a false `add_prefix_space` that contradicts it.
pub(super) fn metaspace(cursor: &Cursor<'_>) -> Result<Metaspace> {
    let replacement = cursor.need("replacement")?.char()?;
    let add_prefix_space =
        cursor.present("add_prefix_space").map(|field| field.bool()).transpose()?;
    let prepend_scheme = match cursor.field("prepend_scheme") {
        None => PrependScheme::Always,
        Some(field) => field.choice(&[
            ("first", PrependScheme::First),
            ("never", PrependScheme::Never),
            ("always", PrependScheme::Always),
        ])?,
    };
    if add_prefix_space == Some(false) && prepend_scheme != PrependScheme::Never {
        return Err(cursor
            .error("`add_prefix_space` is false, but `prepend_scheme` is not \"never\".")
            .hint("Set `prepend_scheme` to \"never\", or drop `add_prefix_space`."));
    }
    if let Some(field) = cursor.present("str_rep") {
        field.str()?;
    }
    let split = cursor.present("split").map_or(Ok(true), |field| field.bool())?;
    Ok(Metaspace { replacement, prepend_scheme, split })
}

fn split(cursor: &Cursor<'_>, _: &mut Notes) -> Result<PreTokenizer> {
    Ok(PreTokenizer::Split(Split {
        pattern: pattern(&cursor.need("pattern")?)?,
        behavior: cursor.need("behavior")?.choice(BEHAVIORS)?,
        invert: cursor.need("invert")?.bool()?,
        semantics: Semantics::HuggingFace,
    }))
}

fn punctuation(cursor: &Cursor<'_>, _: &mut Notes) -> Result<PreTokenizer> {
    let behavior = match cursor.field("behavior") {
        None => SplitBehavior::Isolated,
        Some(field) => field.choice(BEHAVIORS)?,
    };
    Ok(PreTokenizer::Punctuation(Punctuation { behavior }))
}

fn digits(cursor: &Cursor<'_>, _: &mut Notes) -> Result<PreTokenizer> {
    let individual_digits = cursor.need("individual_digits")?.bool()?;
    Ok(PreTokenizer::Digits(Digits { individual_digits }))
}

fn delimiter(cursor: &Cursor<'_>, _: &mut Notes) -> Result<PreTokenizer> {
    let delimiter = cursor.need("delimiter")?.char()?;
    Ok(PreTokenizer::CharDelimiterSplit(CharDelimiterSplit { delimiter }))
}

fn fixed_length(cursor: &Cursor<'_>, _: &mut Notes) -> Result<PreTokenizer> {
    let length = match cursor.field("length") {
        None => 5,
        Some(field) => field.usize()?,
    };
    if length == 0 {
        return Err(cursor
            .error("Pieces of no characters never end.")
            .hint("Set `length` to 1 or more; the reference loads 0 and then panics."));
    }
    Ok(PreTokenizer::FixedLength(FixedLength { length }))
}
