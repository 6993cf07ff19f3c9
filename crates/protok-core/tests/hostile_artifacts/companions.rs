//! The files beside a tokenizer.

use serde_json::{Value, json};

use super::{either, refused};

const MAIN: &[u8] = br#"{"model":{"type":"WordLevel","vocab":{"a":0,"b":1},"unk_token":"a"}}"#;

fn beside(name: &str, file: &[u8]) -> Option<String> {
    either(&[("tokenizer.json", MAIN), (name, file)])
}

fn config() -> Value {
    json!({
        "bos_token": "a", "eos_token": {"content": "b"}, "additional_special_tokens": ["a"],
        "extra_special_tokens": {"image_token": "b"}, "add_bos_token": true, "do_lower_case": false,
        "added_tokens_decoder": {"0": {"content": "a", "special": true}},
        "chat_template": [{"name": "default", "template": "{{ 'a' }}"}],
        "tokenizer_class": "BertTokenizer",
    })
}

#[test]
fn cut_off_anywhere() {
    let files = [
        ("tokenizer_config.json", config()),
        ("special_tokens_map.json", json!({"bos_token": "a", "pad_token": {"content": "b"}})),
        ("generation_config.json", json!({"bos_token_id": 0, "eos_token_id": [1, 7]})),
        ("chat_template.json", json!({"chat_template": "{{ 'a' }}"})),
    ];
    for (name, file) in files {
        let file = file.to_string();
        assert_eq!(beside(name, file.as_bytes()), None, "{name}");
        for end in 0..file.len() {
            assert_eq!(
                beside(name, &file.as_bytes()[..end]).as_deref(),
                Some(name),
                "cut at {end}"
            );
        }
    }
}

#[test]
fn every_type_in_every_field() {
    let values = [
        json!(true),
        json!(-1),
        json!(1.5),
        json!(1e30),
        json!(1u64 << 32),
        json!("x"),
        json!([]),
        json!({}),
        json!([[]]),
        json!([null]),
        json!({"content": 1}),
        json!({"a": {"content": null}}),
        json!([1e30]),
        json!([-1]),
        json!({"x": 1}),
        json!({"-1": {"content": "a"}}),
        json!({"99999999999": {"content": "a"}}),
    ];
    let mut refusals = 0;
    let generation = json!({"bos_token_id": 0, "eos_token_id": [1], "pad_token_id": 1});
    for (name, file) in [
        ("tokenizer_config.json", config()),
        ("special_tokens_map.json", config()),
        ("generation_config.json", generation),
    ] {
        let keys: Vec<String> = file.as_object().unwrap().keys().cloned().collect();
        for key in keys {
            for value in &values {
                let mut file = file.clone();
                file[&key] = value.clone();
                if let Some(place) = beside(name, file.to_string().as_bytes()) {
                    assert!(
                        place.starts_with(&format!("{name}.{key}")),
                        "{key} = {value}: {place}"
                    );
                    refusals += 1;
                }
            }
        }
        for value in &values {
            if let Some(place) = beside(name, value.to_string().as_bytes()) {
                assert!(place.starts_with(name), "{value}: {place}");
            }
        }
    }
    assert!(refusals > 80, "{refusals}");
}

#[test]
fn added_tokens_beside_a_vocabulary() {
    let vocab = b"[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n";
    let with = |name: &str, file: &Value| {
        either(&[("vocab.txt", vocab), (name, file.to_string().as_bytes())])
    };
    assert_eq!(with("added_tokens.json", &json!({"x": 6})), None);
    for bad in [json!(-1), json!(1.5), json!(1u64 << 32), json!("6"), json!(null), json!([])] {
        let place = with("added_tokens.json", &json!({"x": bad}));
        assert_eq!(place.as_deref(), Some("added_tokens.json.x"));
    }
    let many: Value = (0..100_000).map(|n| (format!("<x{n}>"), json!(6 + n))).collect();
    assert_eq!(with("added_tokens.json", &many), None);
}

/// Lists that would take hours if every entry were compared with every other.
#[test]
fn lists_without_end() {
    let count = 60_000;
    let names: Vec<String> = (0..count).map(|number| format!("<t{number}>")).collect();
    let table: Value = names
        .iter()
        .zip(0..)
        .map(|(name, id): (_, u32)| (id.to_string(), json!({"content": name})))
        .collect();
    let own: Vec<Value> = names
        .iter()
        .zip(2..)
        .map(|(name, id)| {
            json!({"id": id, "content": name, "single_word": false, "lstrip": false, "rstrip": false,
                "normalized": false, "special": false})
        })
        .collect();
    let mut main: Value = serde_json::from_slice(MAIN).unwrap();
    main["added_tokens"] = json!(own);
    let templates: Vec<Value> =
        names.iter().map(|name| json!({"name": name, "template": "{{ a }}"})).collect();
    let config = json!({
        "additional_special_tokens": names,
        "added_tokens_decoder": table,
        "extra_special_tokens": names.iter().map(|name| (name.clone(), json!(name))).collect::<Value>(),
    });
    let generation = json!({"eos_token_id": (0..count).collect::<Vec<u32>>()});
    let chat = json!({"chat_template": templates});
    let jinja = "x<t7>".repeat(50_000);
    let place = either(&[
        ("tokenizer.json", main.to_string().as_bytes()),
        ("tokenizer_config.json", config.to_string().as_bytes()),
        ("special_tokens_map.json", config.to_string().as_bytes()),
        ("generation_config.json", generation.to_string().as_bytes()),
        ("chat_template.json", chat.to_string().as_bytes()),
        ("chat_template.jinja", jinja.as_bytes()),
    ]);
    assert_eq!(place, None);
}

#[test]
fn nested_without_end() {
    for name in ["tokenizer_config.json", "special_tokens_map.json", "generation_config.json"] {
        for (open, close) in [("[", "]"), (r#"{"a":"#, "}")] {
            let deep = open.repeat(100_000) + "0" + &close.repeat(100_000);
            assert_eq!(beside(name, deep.as_bytes()).as_deref(), Some(name));
        }
    }
}

/// A main file that is none must not make room for another one.
#[test]
fn a_tokenizer_json_without_a_model() {
    for (file, place) in [
        ("{}", "model"),
        (r#"{"model":null}"#, "model"),
        (r#"{"model":7}"#, "model"),
        (r#"{"model":7,"a":1}"#, "model"),
        ("[]", "tokenizer.json"),
        ("", "tokenizer.json"),
    ] {
        let vocab = b"[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n";
        assert_eq!(refused(&[("tokenizer.json", file.as_bytes())]), place);
        assert_eq!(refused(&[("tokenizer.json", file.as_bytes()), ("vocab.txt", vocab)]), place);
    }
}
