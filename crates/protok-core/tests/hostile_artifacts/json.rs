//! `tokenizer.json`, `vocab.json` with `merges.txt`, and `tekken.json`.

use base64::Engine as _;
use protok_core::text::alphabet;
use serde_json::{Value, json};

use super::{bounded, either, load, place, refused};

/// A small file with a component of every stage.
fn valid() -> Value {
    json!({
        "version": "1.0",
        "truncation": {"direction": "Right", "max_length": 8, "strategy": "LongestFirst", "stride": 0},
        "padding": {"strategy": {"Fixed": 8}, "direction": "Right", "pad_to_multiple_of": null,
            "pad_id": 0, "pad_type_id": 0, "pad_token": "<s>"},
        "added_tokens": [{"id": 0, "content": "<s>", "single_word": false, "lstrip": false,
            "rstrip": false, "normalized": false, "special": true}],
        "normalizer": {"type": "Sequence", "normalizers": [
            {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
                "strip_accents": null, "lowercase": false},
            {"type": "Replace", "pattern": {"Regex": "x+"}, "content": "y"}]},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            {"type": "Split", "pattern": {"String": " "}, "behavior": "Isolated", "invert": false},
            {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": true},
            {"type": "FixedLength", "length": 4}]},
        "post_processor": {"type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {"<s>": {"id": "<s>", "ids": [0], "tokens": ["<s>"]}}},
        "decoder": {"type": "Strip", "content": " ", "start": 1, "stop": 0},
        "model": {"type": "BPE", "dropout": null, "unk_token": "<s>", "continuing_subword_prefix": null,
            "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false,
            "ignore_merges": false, "vocab": {"<s>": 0, "a": 1, "b": 2, "ab": 3},
            "merges": [["a", "b"]]},
    })
}

fn with(pointer: &str, value: Value) -> Vec<u8> {
    let mut file = valid();
    *file.pointer_mut(pointer).unwrap() = value;
    file.to_string().into_bytes()
}

fn refuses(file: &[u8]) -> String {
    refused(&[("tokenizer.json", file)])
}

#[test]
fn cut_off_anywhere() {
    let file = valid().to_string().into_bytes();
    load(&[("tokenizer.json", &file)]).unwrap();
    for end in 0..file.len() {
        let place = refuses(&file[..end]);
        // Where the file no longer says what it is, or where it breaks off.
        let broken = place.starts_with("line 1 column ") || place.starts_with("byte ");
        assert!(place == "tokenizer.json" || broken, "{end}: {place}");
    }
}

/// The places of all values, as JSON pointers.
fn pointers(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                pointers(item, &format!("{at}/{index}"), found);
            }
        }
        Value::Object(fields) => {
            for (key, item) in fields {
                pointers(item, &format!("{at}/{key}"), found);
            }
        }
        _ => {}
    }
}

#[test]
fn every_type_in_every_place() {
    let values = [
        json!(null),
        json!(true),
        json!(-1),
        json!(1.5),
        json!(1e30),
        json!(u32::MAX),
        json!(1u64 << 32),
        json!((1u64 << 53) + 1),
        json!(u64::MAX),
        json!("x"),
        json!(""),
        json!([]),
        json!({}),
        json!([[]]),
        json!({"a": 1}),
        json!(["a", 1]),
    ];
    let mut places = Vec::new();
    pointers(&valid(), "", &mut places);
    assert!(places.len() > 90);
    let mut refusals = 0;
    for pointer in &places {
        for value in &values {
            let file = with(pointer, value.clone());
            let Some(place) = either(&[("tokenizer.json", &file)]) else { continue };
            refusals += 1;
            // The first step of the path, unless the file as a whole is not one any more.
            let first = pointer.split('/').nth(1).unwrap_or("tokenizer.json");
            let whole = pointer.is_empty() || *pointer == "/model";
            assert!(place.starts_with(first) || whole, "{pointer} = {value}: {place}");
        }
    }
    assert!(refusals > 900, "{refusals}");
}

#[test]
fn ids_beyond_all_bounds() {
    for (value, place) in [
        (json!(u32::MAX), "model.vocab"),
        (json!(1u64 << 32), r#"model.vocab["ab"]"#),
        (json!(1u64 << 53), r#"model.vocab["ab"]"#),
        (json!(1e30), r#"model.vocab["ab"]"#),
        (json!(-1), r#"model.vocab["ab"]"#),
        (json!(1.0), r#"model.vocab["ab"]"#),
    ] {
        assert_eq!(refuses(&with("/model/vocab/ab", value)), place);
    }
    // The id of an added token in the file is a wish; but it is read.
    assert_eq!(refuses(&with("/added_tokens/0/id", json!(1u64 << 32))), "added_tokens[0].id");
    // A template may name any id of 32 bits: it is given, and decoding refuses it.
    let file = with("/post_processor/special_tokens/<s>/ids", json!([u32::MAX]));
    let pipeline = load(&[("tokenizer.json", &file)]).unwrap();
    let ids = pipeline.encode("a", None, &Default::default()).unwrap().ids;
    assert_eq!(ids[0], u32::MAX);
    let error = pipeline.decode(&ids, Default::default()).unwrap_err();
    assert_eq!(error.kind, protok_core::ErrorKind::UnknownId);
}

#[test]
fn merges_that_make_no_sense() {
    let refuses = |merges: Value| refuses(&with("/model/merges", merges));
    assert_eq!(refuses(json!([["a", "b"], ["ab", "c"]])), "model.merges[1]");
    assert_eq!(refuses(json!([["a", "a"]])), "model.merges[0]");
    assert_eq!(refuses(json!([["a"]])), "model.merges[0]");
    assert_eq!(refuses(json!([["a", "b", "ab"]])), "model.merges[0]");
    assert_eq!(refuses(json!(["a b", ["a", "b"]])), "model.merges[1]");
    assert_eq!(refuses(json!(["a  b"])), "model.merges[0]");
    assert_eq!(refuses(json!([null])), "model.merges[0]");
    assert_eq!(refuses(json!({"a": "b"})), "model.merges[0]");
    // With an empty token and a prefix that a half may lose, merges can go round in circles.
    let mut file = valid();
    file["model"]["continuing_subword_prefix"] = json!("#");
    file["model"]["vocab"] = json!({"a": 0, "#": 1, "#a": 2, "": 3, "aa": 4, "<s>": 5, "#aa": 6});
    file["model"]["merges"] = json!([
        ["a", "#"],
        ["#a", "#"],
        ["", "#"],
        ["#", "#"],
        ["a", "#a"],
        ["#a", "#a"],
        ["a", "#"]
    ]);
    let file = file.to_string().into_bytes();
    assert_eq!(either(&[("tokenizer.json", &file)]), None);
}

#[test]
fn merges_a_million_times_over() {
    let mut file = valid();
    file["model"]["merges"] = json!(vec![["a", "b"]; 200_000]);
    assert_eq!(either(&[("tokenizer.json", file.to_string().as_bytes())]), None);
}

#[test]
fn sequences_10_000_deep() {
    for (stage, items) in [
        ("normalizer", "normalizers"),
        ("pre_tokenizer", "pretokenizers"),
        ("decoder", "decoders"),
        ("post_processor", "processors"),
    ] {
        let open = format!(r#"{{"type":"Sequence","{items}":["#).repeat(10_000);
        let nested = open + &"]}".repeat(10_000);
        let model = r#""model":{"type":"WordLevel","vocab":{"a":0},"unk_token":"a"}"#;
        let file = format!(r#"{{{model},"{stage}":{nested}}}"#);
        assert_eq!(refuses(file.as_bytes()), stage);
        // As deep as JSON may go, it loads and runs.
        let (open, close) =
            (format!(r#"{{"type":"Sequence","{items}":["#).repeat(62), "]}".repeat(62));
        let file = format!(r#"{{{model},"{stage}":{open}{close}}}"#);
        assert_eq!(either(&[("tokenizer.json", file.as_bytes())]), None);
    }
}

#[test]
fn sequences_100_000_wide() {
    let wide = |stage: &str, items: &str, item: Value, count: usize| {
        let mut file = valid();
        file[stage] = json!({"type": "Sequence", items: vec![item; count]});
        file.to_string().into_bytes()
    };
    for (stage, items, item) in [
        ("normalizer", "normalizers", json!({"type": "NFC"})),
        ("pre_tokenizer", "pretokenizers", json!({"type": "Whitespace"})),
        ("decoder", "decoders", json!({"type": "Fuse"})),
    ] {
        assert_eq!(refuses(&wide(stage, items, item.clone(), 100_000)), stage);
        assert_eq!(either(&[("tokenizer.json", &wide(stage, items, item, 200))]), None);
    }
    let byte_level = json!({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": false});
    assert_eq!(refuses(&wide("pre_tokenizer", "pretokenizers", byte_level, 60)), "pre_tokenizer");
}

/// Sixty steps that each double the text.
#[test]
fn text_that_grows_without_measure() {
    let double = json!({"type": "Replace", "pattern": {"String": "a"}, "content": "aa"});
    let mut file = valid();
    file["normalizer"] = json!({"type": "Sequence", "normalizers": vec![double.clone(); 60]});
    let pipeline = load(&[("tokenizer.json", file.to_string().as_bytes())]).unwrap();
    bounded(|| {
        let error = pipeline.encode("a", None, &Default::default()).unwrap_err();
        assert_eq!(error.kind, protok_core::ErrorKind::Limit, "{error}");
        let policy = protok_core::added_tokens::SpecialPolicy::Text;
        let error = pipeline.encode_reference("a", &policy, &mut ()).unwrap_err();
        assert_eq!(error.kind, protok_core::ErrorKind::Limit, "{error}");
    });
    let long =
        json!({"type": "Replace", "pattern": {"String": "a"}, "content": "b".repeat(1 << 20)});
    let blanks = json!({"type": "BPEDecoder", "suffix": ""});
    for decoders in [vec![double; 60], vec![long], vec![blanks; 60]] {
        let mut file = valid();
        file["decoder"] = json!({"type": "Sequence", "decoders": decoders});
        let pipeline = load(&[("tokenizer.json", file.to_string().as_bytes())]).unwrap();
        let error = bounded(|| pipeline.decode(&[1; 1000], Default::default()).unwrap_err());
        assert_eq!(error.kind, protok_core::ErrorKind::Limit, "{error}");
    }
}

#[test]
fn templates_without_end() {
    let token = json!({"SpecialToken": {"id": "<s>", "type_id": 0}});
    let text = json!({"Sequence": {"id": "A", "type_id": 0}});
    let mut file = valid();
    file["post_processor"]["special_tokens"]["<s>"] =
        json!({"id": "<s>", "ids": vec![0; 20_000], "tokens": vec!["<s>"; 20_000]});
    file["post_processor"]["pair"] = json!(vec![token; 20_000]);
    assert_eq!(refuses(file.to_string().as_bytes()), "post_processor.single");
    let file = with("/post_processor/pair", json!(vec![text; 100_000]));
    assert_eq!(refuses(&file), "post_processor.pair");
}

#[test]
fn duplicate_keys() {
    let file = valid().to_string();
    let twice = |field: &str, again: &str| {
        let at = file.find(field).unwrap();
        format!("{}{again},{}", &file[..at], &file[at..]).into_bytes()
    };
    let places = [
        (r#""content":"<s>""#, r#""content":"x""#, "added_tokens[0]"),
        (r#""special":true"#, r#""special":false"#, "added_tokens[0]"),
        (r#""stride":0"#, r#""stride":1"#, "truncation"),
        (r#""pad_id":0"#, r#""pad_id":1"#, "padding"),
        (r#""single":["#, r#""single":[]"#, "post_processor"),
        (r#""type":"BPE""#, r#""type":"WordPiece""#, "model"),
    ];
    for (field, again, place) in places {
        assert_eq!(refuses(&twice(field, again)), place, "{field}");
    }
    // Where the reference takes the last one, so do we.
    let file = twice(r#""a":1"#, r#""a":7"#);
    let pipeline = load(&[("tokenizer.json", &file)]).unwrap();
    assert_eq!(pipeline.token_id("a"), Some(1));
}

#[test]
fn keys_and_lists_without_end() {
    let mut file = valid();
    let extra: serde_json::Map<String, Value> =
        (0..20_000).map(|number| (format!("x{number}"), json!(0))).collect();
    let mut entry = json!({"id": "k", "ids": [], "tokens": []});
    entry.as_object_mut().unwrap().extend(extra);
    // Each unknown field is noted with its path, of which this is a part.
    file["post_processor"]["special_tokens"]["k".repeat(200_000)] = entry;
    assert_eq!(either(&[("tokenizer.json", file.to_string().as_bytes())]), None);
    let token = |number: usize| {
        json!({"id": 4 + number, "content": format!("<t{number}>"), "single_word": false,
            "lstrip": false, "rstrip": false, "normalized": number.is_multiple_of(2), "special": false})
    };
    let file = with("/added_tokens", (0..100_000).map(token).collect());
    assert_eq!(either(&[("tokenizer.json", &file)]), None);
    let mut long = token(0);
    long["content"] = json!("a".repeat(100_000));
    assert_eq!(refuses(&with("/added_tokens", json!([long]))), "added_tokens[0].content");
}

#[test]
fn strings_that_are_no_text() {
    let file = valid().to_string();
    for bad in [r"\ud800", r"\udc00\ud800", r"\u12", r"\q", "\u{1}", "\n"] {
        let file = file.replace(r#""content":"<s>""#, &format!(r#""content":"{bad}""#));
        let place = refuses(file.as_bytes());
        let known = ["tokenizer.json", "added_tokens"].contains(&&*place);
        assert!(known || place.starts_with("line "), "{bad:?}: {place}");
    }
    for bad in [&b"\xff"[..], b"\xed\xa0\x80", b"\xc0\x80", b"\xf4\x90\x80\x80"] {
        let mut bytes = file.clone().into_bytes();
        let at = file.find("<s>").unwrap();
        bytes.splice(at..at, bad.iter().copied());
        let place = refuses(&bytes);
        assert!(place == "tokenizer.json" || place.starts_with("byte "), "{place}");
    }
    assert_eq!(refuses(b"\xef\xbb\xbf{}"), "tokenizer.json");
}

#[test]
fn empty_vocabularies() {
    for (model, works) in [
        (json!({"type": "BPE", "vocab": {}, "merges": []}), true),
        (
            json!({"type": "WordPiece", "vocab": {}, "unk_token": "u", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100}),
            true,
        ),
        (json!({"type": "WordLevel", "vocab": {}, "unk_token": "u"}), true),
        (json!({"type": "Unigram", "vocab": [], "unk_id": null}), true),
        (json!({"type": "Unigram", "vocab": [], "unk_id": 0}), false),
    ] {
        let mut file = valid();
        file["model"] = model;
        assert_eq!(either(&[("tokenizer.json", file.to_string().as_bytes())]).is_none(), works);
    }
}

#[test]
fn scores_that_are_no_numbers() {
    for score in ["NaN", "Infinity", "1e400", "-1e400", "\"-1\"", "null", "[]", "0x1", "1_0"] {
        let model = format!(
            r#"{{"model":{{"type":"Unigram","unk_id":0,"vocab":[["a",0],["b",{score}]]}}}}"#
        );
        let place = refuses(model.as_bytes());
        let known = ["model.vocab[1]", "tokenizer.json"].contains(&&*place);
        assert!(known || place.starts_with("line 1 column "), "{score}: {place}");
    }
    for score in ["-1e-400", "1.7e308", "-1.7e308", "5e-324", "0e99999999999"] {
        let model = format!(
            r#"{{"model":{{"type":"Unigram","unk_id":0,"vocab":[["a",0],["b",{score}],["ab",{score}]]}}}}"#
        );
        assert_eq!(either(&[("tokenizer.json", model.as_bytes())]), None);
    }
}

// -- vocab.json and merges.txt ------------------------------------------------------------------

fn gpt2_vocab() -> Value {
    let mut vocab: Value =
        alphabet::BYTE_TO_CHAR.iter().zip(0..).map(|(c, id)| (c.to_string(), json!(id))).collect();
    vocab["ab"] = json!(256);
    vocab
}

#[test]
fn vocab_and_merges() {
    let vocab = gpt2_vocab().to_string().into_bytes();
    let both =
        |vocab: &[u8], merges: &[u8]| either(&[("vocab.json", vocab), ("merges.txt", merges)]);
    assert_eq!(both(&vocab, b"#version: 0.2\na b\n"), None);
    for end in 0..vocab.len() {
        let place = both(&vocab[..end], b"#version: 0.2\na b\n").unwrap();
        assert_eq!(place, "vocab.json", "cut at {end}");
    }
    let merges = b"#version: 0.2\na b\n";
    for end in 0..merges.len() {
        if let Some(place) = both(&vocab, &merges[..end]) {
            assert!(place.starts_with("merges.txt") || place == "vocab.json", "{end}: {place}");
        }
    }
    for bad in [json!(-1), json!(1.5), json!(1u64 << 32), json!("0"), json!(null), json!([])] {
        let mut vocab = gpt2_vocab();
        vocab["ab"] = bad;
        let place = both(vocab.to_string().as_bytes(), merges).unwrap();
        assert!(place.starts_with("vocab.json"), "{place}");
    }
    for (bad, place) in [
        (&b"#version: 0.2\na b c\n"[..], "merges.txt line 2"),
        (b"#version: 0.2\nab\n", "merges.txt line 2"),
        (b"#version: 0.2\na b\nb a\n", "merges.txt line 3"),
        (b"#version: 0.2\na \xff\n", "merges.txt"),
    ] {
        assert_eq!(both(&vocab, bad).as_deref(), Some(place));
    }
}

// -- tekken.json --------------------------------------------------------------------------------

fn tekken() -> Value {
    let token = |bytes: &[u8]| base64::engine::general_purpose::STANDARD.encode(bytes);
    let mut vocab: Vec<Value> =
        (0..=255u8).map(|byte| json!({"rank": byte, "token_bytes": token(&[byte])})).collect();
    vocab.push(json!({"rank": 256, "token_bytes": token(b"ab")}));
    json!({
        "config": {"pattern": r"\S+|\s", "default_vocab_size": 280, "default_num_special_tokens": 23,
            "version": "v3"},
        "special_tokens": [{"rank": 0, "token_str": "<unk>"}, {"rank": 1, "token_str": "<s>"}],
        "vocab": vocab,
    })
}

#[test]
fn tekken_cut_off_or_wrong() {
    let file = tekken().to_string().into_bytes();
    assert_eq!(either(&[("tekken.json", &file)]), None);
    for end in 0..file.len() {
        assert_eq!(refused(&[("tekken.json", &file[..end])]), "tekken.json", "cut at {end}");
    }
    let mut places = Vec::new();
    pointers(&tekken(), "", &mut places);
    let values = [
        json!(null),
        json!(-1),
        json!(1e30),
        json!(1u64 << 32),
        json!(u32::MAX),
        json!("x"),
        json!([]),
        json!({}),
        json!(true),
    ];
    for pointer in places.iter().filter(|place| !place.starts_with("/vocab/1")) {
        for value in &values {
            let mut file = tekken();
            *file.pointer_mut(pointer).unwrap() = value.clone();
            let file = file.to_string();
            if let Some(place) = either(&[("tekken.json", file.as_bytes())]) {
                assert!(
                    place.starts_with("tekken.json") || place.starts_with("pre_tokenizer"),
                    "{place}"
                );
            }
        }
    }
}

#[test]
fn an_error_says_no_more_than_it_should() {
    let file = with("/version", json!("v".repeat(1_000_000)));
    let error = load(&[("tokenizer.json", &file)]).unwrap_err();
    assert_eq!(error.location.as_deref(), Some("version"));
    assert_eq!(place(error), "version");
}
