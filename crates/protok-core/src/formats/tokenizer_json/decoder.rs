//! The decoders of a `tokenizer.json`.

use super::kind::{self, Kind};
use super::normalizer::replace;
use super::pre_tokenizer::{BYTE_LEVEL_FIELDS, METASPACE_FIELDS, byte_level, metaspace};
use crate::error::Result;
use crate::formats::node::Cursor;
use crate::spec::{BpeDecoder, CtcDecoder, Decoder, StripDecoder, WordPieceDecoder};

type Notes = Vec<String>;

const KINDS: &[Kind<Decoder>] = &[
    loose("BPEDecoder", &["suffix"], bpe),
    strict("ByteLevel", BYTE_LEVEL_FIELDS, |cursor, _| Ok(Decoder::ByteLevel(byte_level(cursor)?))),
    loose("WordPiece", &["prefix", "cleanup"], word_piece),
    strict("Metaspace", METASPACE_FIELDS, |cursor, _| Ok(Decoder::Metaspace(metaspace(cursor)?))),
    loose("CTC", &["pad_token", "word_delimiter_token", "cleanup"], ctc),
    strict("Sequence", &["decoders"], sequence),
    loose("Replace", &["pattern", "content"], |cursor, _| Ok(Decoder::Replace(replace(cursor)?))),
    strict("Fuse", &[], |_, _| Ok(Decoder::Fuse)),
    loose("Strip", &["content", "start", "stop"], strip),
    strict("ByteFallback", &[], |_, _| Ok(Decoder::ByteFallback)),
];

type Reader = fn(&Cursor<'_>, &mut Notes) -> Result<Decoder>;

/// A kind that can be found by its fields.
const fn loose(name: &'static str, fields: &'static [&'static str], read: Reader) -> Kind<Decoder> {
    Kind { tag: Some(name), name, insists: false, by_fields: true, required: fields, fields, read }
}

/// A kind that insists on its `type`.
const fn strict(
    name: &'static str,
    fields: &'static [&'static str],
    read: Reader,
) -> Kind<Decoder> {
    Kind { tag: Some(name), name, insists: true, by_fields: true, required: &[], fields, read }
}

pub(super) fn read(cursor: &Cursor<'_>, notes: &mut Notes) -> Result<Decoder> {
    kind::read(cursor, "decoder", KINDS, notes)
}

fn sequence(cursor: &Cursor<'_>, notes: &mut Notes) -> Result<Decoder> {
    let list = cursor.need("decoders")?;
    let items = list.items()?.map(|item| read(&item, notes)).collect::<Result<_>>()?;
    Ok(Decoder::Sequence(items))
}

fn bpe(cursor: &Cursor<'_>, _: &mut Notes) -> Result<Decoder> {
    Ok(Decoder::Bpe(BpeDecoder { suffix: cursor.need("suffix")?.string()? }))
}

fn word_piece(cursor: &Cursor<'_>, _: &mut Notes) -> Result<Decoder> {
    Ok(Decoder::WordPiece(WordPieceDecoder {
        prefix: cursor.need("prefix")?.string()?,
        cleanup: cursor.need("cleanup")?.bool()?,
    }))
}

fn ctc(cursor: &Cursor<'_>, _: &mut Notes) -> Result<Decoder> {
    Ok(Decoder::Ctc(CtcDecoder {
        pad_token: cursor.need("pad_token")?.string()?,
        word_delimiter_token: cursor.need("word_delimiter_token")?.string()?,
        cleanup: cursor.need("cleanup")?.bool()?,
    }))
}

fn strip(cursor: &Cursor<'_>, _: &mut Notes) -> Result<Decoder> {
    Ok(Decoder::Strip(StripDecoder {
        content: cursor.need("content")?.char()?,
        start: cursor.need("start")?.usize()?,
        stop: cursor.need("stop")?.usize()?,
    }))
}
