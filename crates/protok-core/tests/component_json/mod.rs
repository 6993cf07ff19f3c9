//! Components from the JSON of the recorded results: enough for a test.

use protok_core::spec::{Decoder, Normalizer, Pattern, PreTokenizer, Semantics, Split};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The fields of a component.
fn fields<T: DeserializeOwned>(json: &Value) -> T {
    let mut json = json.clone();
    json.as_object_mut().unwrap().remove("type");
    serde_json::from_value(json).unwrap()
}

fn items<T>(json: &Value, key: &str, read: impl Fn(&Value) -> T) -> Vec<T> {
    json[key].as_array().unwrap().iter().map(read).collect()
}

pub fn normalizer(json: &Value) -> Normalizer {
    match json["type"].as_str().unwrap() {
        "Sequence" => Normalizer::Sequence(items(json, "normalizers", normalizer)),
        "NFC" => Normalizer::Nfc,
        "NFD" => Normalizer::Nfd,
        "NFKC" => Normalizer::Nfkc,
        "NFKD" => Normalizer::Nfkd,
        "Nmt" => Normalizer::Nmt,
        "Lowercase" => Normalizer::Lowercase,
        "StripAccents" => Normalizer::StripAccents,
        "ByteLevel" => Normalizer::ByteLevel,
        "Strip" => Normalizer::Strip(fields(json)),
        "Prepend" => Normalizer::Prepend(fields(json)),
        "Replace" => Normalizer::Replace(fields(json)),
        "BertNormalizer" => Normalizer::Bert(fields(json)),
        "Precompiled" => Normalizer::Precompiled(fields(json)),
        other => panic!("unknown normalizer {other}"),
    }
}

pub fn pre_tokenizer(json: &Value) -> PreTokenizer {
    match json["type"].as_str().unwrap() {
        "Sequence" => PreTokenizer::Sequence(items(json, "pretokenizers", pre_tokenizer)),
        "ByteLevel" => PreTokenizer::ByteLevel(fields(json)),
        "Split" => PreTokenizer::Split(Split {
            pattern: serde_json::from_value::<Pattern>(json["pattern"].clone()).unwrap(),
            behavior: serde_json::from_value(json["behavior"].clone()).unwrap(),
            invert: json["invert"].as_bool().unwrap(),
            semantics: Semantics::HuggingFace,
        }),
        "Digits" => PreTokenizer::Digits(fields(json)),
        "BertPreTokenizer" => PreTokenizer::Bert,
        "Whitespace" => PreTokenizer::Whitespace,
        "WhitespaceSplit" => PreTokenizer::WhitespaceSplit,
        "Metaspace" => PreTokenizer::Metaspace(fields(json)),
        "Punctuation" => PreTokenizer::Punctuation(fields(json)),
        "CharDelimiterSplit" => PreTokenizer::CharDelimiterSplit(fields(json)),
        "UnicodeScripts" => PreTokenizer::UnicodeScripts,
        "FixedLength" => PreTokenizer::FixedLength(fields(json)),
        other => panic!("unknown pre-tokenizer {other}"),
    }
}

pub fn decoder(json: &Value) -> Decoder {
    match json["type"].as_str().unwrap() {
        "Sequence" => Decoder::Sequence(items(json, "decoders", decoder)),
        "ByteLevel" => Decoder::ByteLevel(fields(json)),
        "ByteFallback" => Decoder::ByteFallback,
        "Fuse" => Decoder::Fuse,
        "BPEDecoder" => Decoder::Bpe(fields(json)),
        "Replace" => Decoder::Replace(fields(json)),
        "Strip" => Decoder::Strip(fields(json)),
        "WordPiece" => Decoder::WordPiece(fields(json)),
        "Metaspace" => Decoder::Metaspace(fields(json)),
        "CTC" => Decoder::Ctc(fields(json)),
        other => panic!("unknown decoder {other}"),
    }
}
