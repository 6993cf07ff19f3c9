//! Small files: every kind of component, every legacy form, every error with its path.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::spec::*;

fn file(field: &str, value: Value) -> Vec<u8> {
    let mut file =
        json!({"model": {"type": "WordLevel", "vocab": {"a": 0, "b": 2}, "unk_token": "a"}});
    file[field] = value;
    file.to_string().into_bytes()
}

fn spec(field: &str, value: Value) -> Spec {
    read(&file(field, value)).unwrap().spec
}

/// Reads, and checks that what is written says the same.
fn same(field: &str, value: Value) {
    let before = spec(field, value.clone());
    let written = write(&before).unwrap();
    let tree: Value = serde_json::from_slice(&written).unwrap();
    assert_eq!(tree[field], value, "the canonical spelling of {field} comes back");
    assert_eq!(read(&written).unwrap().spec, before);
}

/// Reads, and checks that it means the same as the canonical spelling.
fn means(field: &str, legacy: Value, canonical: Value) {
    assert_eq!(spec(field, legacy.clone()), spec(field, canonical), "{legacy}");
}

fn refuses(field: &str, value: Value, path: &str) {
    let error = read(&file(field, value.clone())).unwrap_err();
    assert_eq!(error.location.as_deref(), Some(path), "{value}: {error}");
}

#[test]
fn every_component_comes_back() {
    let normalizers = [
        json!({"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": false, "strip_accents": null, "lowercase": true}),
        json!({"type": "Strip", "strip_left": true, "strip_right": false}),
        json!({"type": "StripAccents"}),
        json!({"type": "NFC"}),
        json!({"type": "NFD"}),
        json!({"type": "NFKC"}),
        json!({"type": "NFKD"}),
        json!({"type": "Lowercase"}),
        json!({"type": "Nmt"}),
        json!({"type": "Precompiled", "precompiled_charsmap": "BAAAAAAAAAA="}),
        json!({"type": "Replace", "pattern": {"Regex": "a+"}, "content": "b"}),
        json!({"type": "Prepend", "prepend": "▁"}),
        json!({"type": "ByteLevel"}),
    ];
    for normalizer in &normalizers {
        same("normalizer", normalizer.clone());
    }
    same("normalizer", json!({"type": "Sequence", "normalizers": normalizers}));
    let pre_tokenizers = [
        json!({"type": "BertPreTokenizer"}),
        json!({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": false, "use_regex": false}),
        json!({"type": "CharDelimiterSplit", "delimiter": "_"}),
        json!({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": false}),
        json!({"type": "Whitespace"}),
        json!({"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithNext", "invert": true}),
        json!({"type": "Punctuation", "behavior": "Contiguous"}),
        json!({"type": "WhitespaceSplit"}),
        json!({"type": "Digits", "individual_digits": true}),
        json!({"type": "UnicodeScripts"}),
        json!({"type": "FixedLength", "length": 3}),
    ];
    for pre_tokenizer in &pre_tokenizers {
        same("pre_tokenizer", pre_tokenizer.clone());
    }
    same("pre_tokenizer", json!({"type": "Sequence", "pretokenizers": pre_tokenizers}));
    let decoders = [
        json!({"type": "BPEDecoder", "suffix": "</w>"}),
        json!({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true}),
        json!({"type": "WordPiece", "prefix": "##", "cleanup": true}),
        json!({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "never", "split": true}),
        json!({"type": "CTC", "pad_token": "<pad>", "word_delimiter_token": "|", "cleanup": false}),
        json!({"type": "Replace", "pattern": {"String": "▁"}, "content": " "}),
        json!({"type": "Fuse"}),
        json!({"type": "Strip", "content": " ", "start": 1, "stop": 0}),
        json!({"type": "ByteFallback"}),
    ];
    for decoder in &decoders {
        same("decoder", decoder.clone());
    }
    same("decoder", json!({"type": "Sequence", "decoders": decoders}));
    let processors = [
        json!({"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 0], "trim_offsets": true, "add_prefix_space": false}),
        json!({"type": "BertProcessing", "sep": ["b", 2], "cls": ["a", 0]}),
        json!({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true}),
        json!({"type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "a", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {"a": {"id": "a", "ids": [0], "tokens": ["a"]}}}),
    ];
    for processor in &processors {
        same("post_processor", processor.clone());
    }
    same("post_processor", json!({"type": "Sequence", "processors": processors}));
    same(
        "truncation",
        json!({"direction": "Left", "max_length": 5, "strategy": "OnlyFirst", "stride": 1}),
    );
    same(
        "padding",
        json!({"strategy": {"Fixed": 5}, "direction": "Left", "pad_to_multiple_of": 8, "pad_id": 0, "pad_type_id": 0, "pad_token": "a"}),
    );
    for model in [
        json!({"type": "BPE", "dropout": 0.5, "unk_token": "a", "continuing_subword_prefix": "#", "end_of_word_suffix": "</w>",
            "fuse_unk": true, "byte_fallback": true, "ignore_merges": true, "vocab": {"a": 0, "#b": 1, "ab": 2}, "merges": [["a", "#b"]]}),
        json!({"type": "WordPiece", "unk_token": "a", "continuing_subword_prefix": "##", "max_input_chars_per_word": 7, "vocab": {"a": 0}}),
        json!({"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"}),
        json!({"type": "Unigram", "unk_id": 0, "vocab": [["a", -1.5], ["b", -2.25]], "byte_fallback": true}),
    ] {
        same("model", model);
    }
}

#[test]
fn legacy_spellings_mean_the_same() {
    let metaspace =
        json!({"type": "Metaspace", "replacement": "_", "prepend_scheme": "always", "split": true});
    means("pre_tokenizer", json!({"type": "Metaspace", "replacement": "_"}), metaspace.clone());
    means(
        "pre_tokenizer",
        json!({"type": "Metaspace", "replacement": "_", "str_rep": "_", "add_prefix_space": true, "split": null}),
        metaspace,
    );
    means(
        "pre_tokenizer",
        json!({"type": "Punctuation"}),
        json!({"type": "Punctuation", "behavior": "Isolated"}),
    );
    means(
        "pre_tokenizer",
        json!({"type": "Punctuation", "behavior": {"Removed": null}}),
        json!({"type": "Punctuation", "behavior": "Removed"}),
    );
    means(
        "pre_tokenizer",
        json!({"type": "FixedLength"}),
        json!({"type": "FixedLength", "length": 5}),
    );
    means(
        "pre_tokenizer",
        json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true}),
        json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true}),
    );
    means("decoder", json!({"suffix": "</w>"}), json!({"type": "BPEDecoder", "suffix": "</w>"}));
    means(
        "decoder",
        json!({"type": "Zoo", "prefix": "#", "cleanup": true}),
        json!({"type": "WordPiece", "prefix": "#", "cleanup": true}),
    );
    means("normalizer", json!({"prepend": "a"}), json!({"type": "Prepend", "prepend": "a"}));
    means(
        "normalizer",
        json!({"normalizers": [{"type": "NFC"}]}),
        json!({"type": "Sequence", "normalizers": [{"type": "NFC"}]}),
    );
    means(
        "normalizer",
        json!({"type": "Bert", "clean_text": true, "handle_chinese_chars": true, "lowercase": true}),
        json!({"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null, "lowercase": true}),
    );
    // Post-processors are chosen by their fields, whatever `type` says.
    means(
        "post_processor",
        json!({"type": "RobertaProcessing", "sep": ["a", 0], "cls": ["b", 2]}),
        json!({"type": "BertProcessing", "sep": ["a", 0], "cls": ["b", 2]}),
    );
    means(
        "truncation",
        json!({"max_length": 5, "strategy": "LongestFirst", "stride": 0}),
        json!({"direction": "Right", "max_length": 5, "strategy": "LongestFirst", "stride": 0}),
    );
    let bpe = json!({"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": [["a", "b"]]});
    means(
        "model",
        json!({"vocab": {"ab": 2, "b": 1, "a": 0}, "merges": ["#version: 0.2", "a b"], "fuse_unk": null}),
        bpe,
    );
    means(
        "model",
        json!({"vocab": {"a": 0}, "unk_token": "a", "continuing_subword_prefix": "##", "max_input_chars_per_word": 5}),
        json!({"type": "WordPiece", "vocab": {"a": 0}, "unk_token": "a", "continuing_subword_prefix": "##", "max_input_chars_per_word": 5}),
    );
    means(
        "model",
        json!({"vocab": {"a": 0}, "unk_token": "a"}),
        json!({"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"}),
    );
    means(
        "model",
        json!({"vocab": [["a", 1]]}),
        json!({"type": "Unigram", "vocab": [["a", 1.0]], "unk_id": null}),
    );
}

#[test]
fn duplicate_keys_are_read_as_the_reference_reads_them() {
    let model = r#""model": {"type": "WordLevel", "vocab": {"a": 0, "a": 3}, "unk_token": "a"}"#;
    let read_with = |more: &str| read(format!("{{{model}{more}}}").as_bytes());
    let loaded = read_with(
        r#", "normalizer": {"type": "NFC"}, "normalizer": {"type": "NFD", "type": "NFKC"}"#,
    )
    .unwrap();
    assert_eq!(loaded.spec.normalizer, Some(Normalizer::Nfkc));
    assert_eq!(loaded.spec.model.tokens().iter().collect::<Vec<_>>(), [(&b"a"[..], 3)]);
    let error =
        read_with(r#", "post_processor": {"sep": ["a", 0], "cls": ["a", 0], "sep": ["a", 0]}"#)
            .unwrap_err();
    assert_eq!(error.location.as_deref(), Some("post_processor"));
}

#[test]
fn errors_say_where() {
    refuses("version", json!("2.0"), "version");
    refuses("version", json!(1.0), "version");
    refuses("model", json!(null), "model");
    refuses("model", json!({"type": "Zoo"}), "model.type");
    refuses("model", json!({"type": "BPE", "vocab": {}}), "model");
    refuses(
        "model",
        json!({"type": "BPE", "vocab": {"a": -1}, "merges": []}),
        r#"model.vocab["a"]"#,
    );
    refuses(
        "model",
        json!({"type": "BPE", "vocab": {"a": 0.5}, "merges": []}),
        r#"model.vocab["a"]"#,
    );
    refuses(
        "model",
        json!({"type": "BPE", "vocab": {}, "merges": [], "dropout": 2}),
        "model.dropout",
    );
    refuses(
        "model",
        json!({"type": "BPE", "vocab": {}, "merges": [], "fuse_unk": 1}),
        "model.fuse_unk",
    );
    let bpe = |merges: Value| json!({"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": merges});
    refuses("model", bpe(json!([["a", "b"], ["a", "c"]])), "model.merges[1]");
    refuses("model", bpe(json!([["b", "a"]])), "model.merges[0]");
    refuses("model", bpe(json!(["a b", ["a", "b"]])), "model.merges[1]");
    refuses("model", bpe(json!(["a  b"])), "model.merges[0]");
    refuses("model", bpe(json!([["a", "b", "c"]])), "model.merges[0]");
    let prefixed = json!({"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": [["a", "b"]], "continuing_subword_prefix": "##"});
    refuses("model", prefixed, "model.merges[0]");
    refuses("model", json!({"type": "WordPiece", "vocab": {}, "unk_token": "a"}), "model");
    refuses("model", json!({"type": "Unigram", "vocab": [["a", 1], ["b"]]}), "model.vocab[1]");
    refuses("model", json!({"type": "Unigram", "vocab": [["a", "1"]]}), "model.vocab[0]");
    refuses("model", json!({"type": "Unigram", "vocab": [["a", 1]], "unk_id": 1}), "model.unk_id");
    refuses("normalizer", json!("NFC"), "normalizer");
    refuses("normalizer", json!({"type": "Zoo"}), "normalizer");
    refuses("normalizer", json!({"type": "Prepend"}), "normalizer");
    refuses(
        "normalizer",
        json!({"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Strip", "strip_left": 1, "strip_right": true}]}),
        "normalizer.normalizers[1].strip_left",
    );
    refuses(
        "normalizer",
        json!({"type": "Precompiled", "precompiled_charsmap": null}),
        "normalizer.precompiled_charsmap",
    );
    refuses(
        "normalizer",
        json!({"type": "Precompiled", "precompiled_charsmap": "AAA"}),
        "normalizer.precompiled_charsmap",
    );
    refuses(
        "pre_tokenizer",
        json!({"type": "Sequence", "pretokenizers": [{"type": "Whitespace"}, {"type": "Split", "pattern": "a", "behavior": "Isolated", "invert": false}]}),
        "pre_tokenizer.pretokenizers[1].pattern",
    );
    refuses(
        "pre_tokenizer",
        json!({"type": "Split", "pattern": {"Regex": "a", "String": "a"}, "behavior": "Isolated", "invert": false}),
        "pre_tokenizer.pattern",
    );
    refuses(
        "pre_tokenizer",
        json!({"type": "Split", "pattern": {"Regex": "a"}, "behavior": "Zoo", "invert": false}),
        "pre_tokenizer.behavior",
    );
    refuses("pre_tokenizer", json!({"type": "Delimiter", "delimiter": "a"}), "pre_tokenizer");
    refuses(
        "pre_tokenizer",
        json!({"type": "CharDelimiterSplit", "delimiter": "ab"}),
        "pre_tokenizer.delimiter",
    );
    refuses(
        "pre_tokenizer",
        json!({"type": "Metaspace", "replacement": "_", "add_prefix_space": false}),
        "pre_tokenizer",
    );
    refuses("pre_tokenizer", json!({"type": "FixedLength", "length": 0}), "pre_tokenizer");
    refuses("decoder", json!({}), "decoder");
    refuses(
        "decoder",
        json!({"type": "Strip", "content": "▁", "start": -1, "stop": 0}),
        "decoder.start",
    );
    refuses(
        "post_processor",
        json!({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": null}),
        "post_processor.use_regex",
    );
    refuses("post_processor", json!({"sep": ["a"], "cls": ["a", 0]}), "post_processor.sep");
    refuses(
        "post_processor",
        json!({"single": [{"Sequence": {"id": "C", "type_id": 0}}], "pair": [], "special_tokens": {}}),
        "post_processor.single[0].Sequence.id",
    );
    refuses("truncation", json!({"max_length": 5}), "truncation");
    refuses("padding", json!({"strategy": "Fixed"}), "padding.strategy");
    refuses("added_tokens", json!(null), "added_tokens");
    refuses("added_tokens", json!([{"id": 4, "content": "x"}]), "added_tokens[0]");
    for (text, place) in [
        (&b"{}"[..], "model"),
        (b"[]", "line 1 column 0"),
        (b"\xff", "byte 0"),
        (b"{", "line 1 column 1"),
    ] {
        assert_eq!(read(text).unwrap_err().location.as_deref(), Some(place));
    }
}

#[test]
fn components_nest_as_deeply_as_in_the_reference() {
    let nested = |levels: usize| {
        (0..levels).fold(
            json!({"type": "NFC"}),
            |inner, _| json!({"type": "Sequence", "normalizers": [inner]}),
        )
    };
    let deepest = spec("normalizer", nested(62));
    assert_eq!(read(&write(&deepest).unwrap()).unwrap().spec, deepest);
    refuses("normalizer", nested(63), "normalizer");
    let one_more = deepest.normalizer.clone().map(|inner| Normalizer::Sequence(vec![inner]));
    assert!(write(&Spec { normalizer: one_more, ..deepest }).is_err());
    // Far beyond the stack.
    let bomb = format!(r#"{{"model": {{}}, "decoder": {}"#, "[".repeat(2_000_000));
    assert!(read(bomb.as_bytes()).is_err());
}

fn token(id: u32, content: &str, special: bool) -> Value {
    json!({"id": id, "content": content, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": special})
}

#[test]
fn added_tokens_get_the_ids_that_the_reference_gives() {
    // All values as tokenizers 0.23.3 gives them; the vocabulary has the ids 0 and 2.
    let ids = |tokens: Value| -> Vec<(String, u32)> {
        spec("added_tokens", tokens).added_tokens.into_iter().map(|t| (t.content, t.id)).collect()
    };
    let pair = |content: &str, id| (content.to_owned(), id);
    assert_eq!(
        ids(json!([token(10, "x", true), token(3, "y", true)])),
        [pair("x", 2), pair("y", 3)]
    );
    assert_eq!(ids(json!([token(7, "b", true), token(1, "z", true)])), [pair("z", 2)]);
    assert_eq!(ids(json!([token(9, "", true), token(9, "x", true)])), [pair("x", 2)]);
    assert_eq!(
        ids(json!([token(9, "x", true), token(9, "x", true), token(9, "q", true)])),
        [pair("x", 2), pair("q", 3)]
    );
    let twice = spec("added_tokens", json!([token(2, "x", true), token(2, "x", false)]));
    assert!(twice.added_tokens[0].special, "what was special once stays special");
    let loaded = read(&file("added_tokens", json!([token(10, "x", true)]))).unwrap();
    assert_eq!(loaded.notes, [r#"added_tokens[0]: "x" has the id 2, not 10 as the file says"#]);
}

#[test]
fn what_is_ignored_is_noted() {
    let loaded = read(&file("normalizer", json!({"type": "NFC", "extra": 1}))).unwrap();
    assert_eq!(loaded.notes, ["normalizer.extra: unknown field, ignored"]);
    let loaded = read(&file("zoo", json!(1))).unwrap();
    assert_eq!(loaded.notes, ["zoo: unknown field, ignored"]);
    let loaded =
        read(&file("model", json!({"vocab": {"a": 0, "b": 0}, "unk_token": "a", "zoo": 1})))
            .unwrap();
    assert_eq!(loaded.notes.len(), 2);
}

#[test]
fn what_the_reader_would_read_otherwise_is_not_written() {
    let base = spec("version", json!("1.0"));
    let refuses = |spec: Spec, place: &str| {
        assert_eq!(write(&spec).unwrap_err().location.as_deref(), Some(place));
    };
    refuses(Spec { semantics: Semantics::SentencePiece, ..base.clone() }, "normalizer");
    refuses(Spec { decoder: Some(Decoder::Bytes), ..base.clone() }, "decoder");
    let mut moved = spec("added_tokens", json!([token(2, "x", true)]));
    moved.added_tokens[0].id = 7;
    refuses(moved, "added_tokens");
    let tiktoken = PreTokenizer::Split(Split {
        pattern: Pattern::String("a".to_owned()),
        behavior: SplitBehavior::Isolated,
        invert: false,
        semantics: Semantics::Tiktoken,
    });
    refuses(Spec { pre_tokenizer: Some(tiktoken), ..base.clone() }, "pre_tokenizer.pattern");
    let mut bad = spec(
        "model",
        json!({"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": [["a", "b"]]}),
    );
    let Model::Bpe(bpe) = &mut bad.model else { panic!() };
    bpe.merges = Merges::Listed(vec![(0, 9)]);
    refuses(bad, "model.merges[0]");
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = read(&bytes);
    }

    #[test]
    fn damaged_files_are_read_or_refused(at in 0usize..1200, byte: u8, cut in 0usize..1200) {
        let mut bytes = include_bytes!("../../../tests/data/all_kinds.json").to_vec();
        let length = bytes.len();
        bytes[at % length] = byte;
        if let Ok(loaded) = read(&bytes)
            && let Ok(written) = write(&loaded.spec)
        {
            prop_assert_eq!(read(&written).unwrap().spec, loaded.spec);
        }
        bytes.truncate(cut % length);
        prop_assert!(read(&bytes).is_err());
    }

    #[test]
    fn scores_come_back(bits: u64) {
        // What was once read from a decimal can be written again.
        let text = serde_json::to_string(&f64::from_bits(bits)).unwrap();
        if let Some(value) = score::parse(&text) {
            let spelled = score::spell(value);
            prop_assert!(spelled.is_some(), "{}", text);
            prop_assert_eq!(score::parse(&spelled.unwrap()).unwrap().to_bits(), value.to_bits());
        }
    }
}
