//! Small tokenizers of every kind, and the seeds that are built rather than written.

use std::fmt::Write as _;
use std::sync::LazyLock;

use base64::Engine as _;
use protok_core::formats::tokenizer_json;
use protok_core::pipeline::{CompileOptions, Pipeline};
use protok_core::spec::{
    Bytes, Decoder, Greedy, Model, Normalizer, PieceKind, Semantics, SentencePieceBpe,
    SentencePieceDecoder, SentencePieceNormalizer, SentencePieceWord, Spec, TokenList, Unigram,
    WordUnit,
};
use protok_core::text::alphabet;

/// Some text in several scripts, with what normalizers change.
pub const PROSE: &str = "The cat sat on the mat. Ça va?  Ｆｕｌｌ width ﬁne ½ ① 東京で猫が\u{3000}鳴く。 \
    e\u{301}\u{323} \u{1100}\u{1161}\u{11a8} \u{1f408}\u{200d}\u{2b1b}\r\n\tdon't 12,345.67\u{ad}";

/// The pipelines of `encode` and `decode`; any number names one.
///
/// # Panics
/// If a sample does not compile.
#[must_use]
pub fn pipeline(number: u8) -> &'static Pipeline {
    static PIPELINES: LazyLock<Vec<Pipeline>> = LazyLock::new(|| {
        let compile = |spec| Pipeline::compile(spec, &CompileOptions::default());
        specs().into_iter().map(|spec| compile(spec).unwrap_or_else(|e| panic!("{e}"))).collect()
    });
    &PIPELINES[usize::from(number) % PIPELINES.len()]
}

/// A tokenizer of every kind.
fn specs() -> Vec<Spec> {
    let read = |json: String| match tokenizer_json::read(json.as_bytes()) {
        Ok(loaded) => loaded.spec,
        Err(error) => panic!("{error}"),
    };
    let mut specs: Vec<Spec> = tokenizer_jsons().into_iter().map(read).collect();
    specs.extend(sentencepiece());
    let decoder = Some(Decoder::Bytes);
    let mut every_byte = TokenList::default();
    for byte in 0..=255u8 {
        push(&mut every_byte, &[byte], u32::from(byte) + 3);
    }
    let bytes = Model::Bytes(Bytes { vocab: every_byte.clone(), offset: 3 });
    specs.push(Spec { decoder: decoder.clone(), ..plain(Semantics::HuggingFace, bytes) });
    for (token, id) in ["ab", "abc", "the", " the", "é", "\u{1f408}"].iter().zip(259..) {
        push(&mut every_byte, token.as_bytes(), id);
    }
    let greedy = Model::Greedy(Greedy { vocab: every_byte });
    specs.push(Spec { decoder, ..plain(Semantics::Rwkv, greedy) });
    specs
}

fn push(list: &mut TokenList, token: &[u8], id: u32) {
    if let Err(error) = list.push(token, id) {
        panic!("{error}");
    }
}

fn plain(semantics: Semantics, model: Model) -> Spec {
    Spec {
        semantics,
        normalizer: None,
        pre_tokenizer: None,
        model,
        post_processor: None,
        decoder: None,
        added_tokens: Vec::new(),
        truncation: None,
        padding: None,
    }
}

fn sentencepiece() -> Vec<Spec> {
    let pieces = [
        ("<unk>", 0.0, PieceKind::Unknown),
        ("<s>", 0.0, PieceKind::Control),
        ("user", 0.0, PieceKind::UserDefined),
        ("▁", -2.0, PieceKind::Normal),
        ("a", -3.0, PieceKind::Normal),
        ("b", -3.0, PieceKind::Normal),
        ("ab", -3.5, PieceKind::Normal),
        ("▁ab", -3.0, PieceKind::Normal),
        ("the", -2.5, PieceKind::Normal),
        ("th", -3.0, PieceKind::Normal),
        ("t", -4.0, PieceKind::Normal),
        ("h", -4.0, PieceKind::Normal),
        ("e", -4.0, PieceKind::Normal),
        ("he", -3.5, PieceKind::Unused),
    ];
    let mut vocab = TokenList::default();
    for ((piece, ..), id) in pieces.iter().zip(0..) {
        push(&mut vocab, piece.as_bytes(), id);
    }
    let mut scores: Vec<f64> = pieces.iter().map(|piece| piece.1).collect();
    let mut kinds: Vec<PieceKind> = pieces.iter().map(|piece| piece.2).collect();
    for (byte, id) in (0..=255u8).zip(pieces.len() as u32..) {
        push(&mut vocab, format!("<0x{byte:02X}>").as_bytes(), id);
        scores.push(0.0);
        kinds.push(PieceKind::Byte);
    }
    let unk_id = Some(0);
    let word = |unit| {
        Model::SentencePieceWord(SentencePieceWord {
            vocab: vocab.clone(),
            scores: scores.clone(),
            kinds: kinds.clone(),
            unit,
            unk_id,
            byte_fallback: false,
        })
    };
    let models = [
        Model::Unigram(Unigram {
            vocab: vocab.clone(),
            scores: scores.clone(),
            kinds: kinds.clone(),
            unk_id,
            byte_fallback: true,
        }),
        Model::SentencePieceBpe(SentencePieceBpe {
            vocab: vocab.clone(),
            scores: scores.clone(),
            kinds: kinds.clone(),
            unk_id,
            byte_fallback: true,
        }),
        word(WordUnit::Word),
        word(WordUnit::Character),
    ];
    let rules = SentencePieceNormalizer {
        precompiled_charsmap: None,
        add_dummy_prefix: true,
        remove_extra_whitespaces: true,
        escape_whitespaces: true,
        treat_whitespace_as_suffix: false,
        protected: vec!["user".to_owned()],
    };
    let decoder = SentencePieceDecoder {
        kinds: kinds.clone(),
        unk_surface: " \u{2047} ".to_owned(),
        strip_first_mark: true,
        strip_leading_marks: true,
        denormalizer: None,
    };
    let around = |model| Spec {
        normalizer: Some(Normalizer::SentencePiece(rules.clone())),
        decoder: Some(Decoder::SentencePiece(decoder.clone())),
        ..plain(Semantics::SentencePiece, model)
    };
    models.into_iter().map(around).collect()
}

/// A `tokenizer.json` for each kind of model that it can hold.
///
/// # Panics
/// Never.
#[must_use]
pub fn tokenizer_jsons() -> Vec<String> {
    let added = r#"[{"id":0,"content":"<s>","single_word":false,"lstrip":false,"rstrip":false,
        "normalized":false,"special":true},
        {"id":1,"content":"Cat","single_word":true,"lstrip":true,"rstrip":false,
        "normalized":true,"special":false}]"#;
    let byte_level = {
        let mut vocab = r#""<s>":0,"Cat":1"#.to_owned();
        for (c, id) in alphabet::BYTE_TO_CHAR.iter().zip(2..) {
            let key = c.to_string().replace('\\', "\\\\").replace('"', "\\\"");
            // Writing to a string does not fail.
            let _ = write!(vocab, ",\"{key}\":{id}");
        }
        vocab + r#","ab":258,"abb":259,"he":260,"Ġt":261"#
    };
    let stages = |normalizer: &str, pre: &str, decoder: &str, model: &str| {
        format!(
            r#"{{"version":"1.0","truncation":null,"padding":null,"added_tokens":{added},
            "normalizer":{normalizer},"pre_tokenizer":{pre},"post_processor":{{"type":"TemplateProcessing",
            "single":[{{"SpecialToken":{{"id":"<s>","type_id":0}}}},{{"Sequence":{{"id":"A","type_id":0}}}}],
            "pair":[{{"Sequence":{{"id":"A","type_id":0}}}},{{"Sequence":{{"id":"B","type_id":1}}}}],
            "special_tokens":{{"<s>":{{"id":"<s>","ids":[0],"tokens":["<s>"]}}}}}},
            "decoder":{decoder},"model":{model}}}"#
        )
    };
    let words = r###""<s>":0,"Cat":1,"<unk>":2,"a":3,"b":4,"ab":5,"the":6,"c":7,"at":8,"s":9,"##at":10,"##b":11,"t":12"###;
    vec![
        stages(
            r#"{"type":"NFC"}"#,
            r#"{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true}"#,
            r#"{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true}"#,
            &format!(
                r#"{{"type":"BPE","dropout":null,"unk_token":null,"continuing_subword_prefix":null,
                "end_of_word_suffix":null,"fuse_unk":false,"byte_fallback":false,"ignore_merges":true,
                "vocab":{{{byte_level}}},"merges":[["a","b"],["ab","b"],["h","e"],["Ġ","t"]]}}"#
            ),
        ),
        stages(
            r#"{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"strip_accents":null,"lowercase":true}"#,
            r#"{"type":"BertPreTokenizer"}"#,
            r###"{"type":"WordPiece","prefix":"##","cleanup":true}"###,
            &format!(
                r###"{{"type":"WordPiece","unk_token":"<unk>","continuing_subword_prefix":"##",
                "max_input_chars_per_word":100,"vocab":{{{words}}}}}"###
            ),
        ),
        stages(
            r#"{"type":"Sequence","normalizers":[{"type":"NFKD"},{"type":"StripAccents"},{"type":"Lowercase"},
            {"type":"Replace","pattern":{"Regex":" {2,}"},"content":" "}]}"#,
            r#"{"type":"Sequence","pretokenizers":[{"type":"Whitespace"},{"type":"Digits","individual_digits":true}]}"#,
            r#"{"type":"Fuse"}"#,
            &format!(r#"{{"type":"WordLevel","unk_token":"<unk>","vocab":{{{words}}}}}"#),
        ),
        stages(
            r#"{"type":"Nmt"}"#,
            r#"{"type":"Metaspace","replacement":"▁","prepend_scheme":"first","split":true}"#,
            r#"{"type":"Metaspace","replacement":"▁","prepend_scheme":"first","split":true}"#,
            r#"{"type":"Unigram","unk_id":2,"byte_fallback":false,"vocab":[["<s>",0],["Cat",-1],["<unk>",0],
            ["▁",-2.0],["a",-3.1],["b",-3.2],["ab",-4.5],["▁the",-1.5],["t",-4],["h",-4],["e",-4],["he",-5.5]]}"#,
        ),
        stages(
            r#"{"type":"Sequence","normalizers":[{"type":"Prepend","prepend":"▁"},
            {"type":"Replace","pattern":{"String":" "},"content":"▁"}]}"#,
            "null",
            r#"{"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"▁"},"content":" "},
            {"type":"ByteFallback"},{"type":"Fuse"},{"type":"Strip","content":" ","start":1,"stop":0}]}"#,
            r#"{"type":"BPE","dropout":null,"unk_token":"<unk>","continuing_subword_prefix":null,
            "end_of_word_suffix":null,"fuse_unk":true,"byte_fallback":true,"ignore_merges":false,
            "vocab":{"<s>":0,"Cat":1,"<unk>":2,"▁":3,"a":4,"b":5,"ab":6,"▁a":7,"aa":8,"<0x0A>":9,"<0x00>":10},
            "merges":["a a","▁ a","a b"]}"#,
        ),
    ]
}

/// What stands beside the companions that are fuzzed.
#[must_use]
pub fn main_file(number: u8) -> Vec<(&'static str, Vec<u8>)> {
    match number % 3 {
        0 => vec![("tokenizer.json", tokenizer_jsons().remove(0).into_bytes())],
        1 => {
            let entries = alphabet::BYTE_TO_CHAR.iter().zip(0..).map(|(c, id)| {
                format!("\"{}\":{id}", c.to_string().replace('\\', "\\\\").replace('"', "\\\""))
            });
            let vocab = format!("{{{}}}", entries.collect::<Vec<_>>().join(","));
            vec![("vocab.json", vocab.into_bytes()), ("merges.txt", b"#version: 0.2\n".to_vec())]
        }
        _ => vec![("vocab.txt", b"[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n##b\n".to_vec())],
    }
}

/// The entries of a `tekken.json` for all bytes.
#[must_use]
pub fn tekken_bytes() -> String {
    let entries = (0..=255u8).map(|byte| {
        let token = base64::engine::general_purpose::STANDARD.encode([byte]);
        format!(r#"{{"rank":{byte},"token_bytes":"{token}"}}"#)
    });
    entries.collect::<Vec<_>>().join(",")
}
