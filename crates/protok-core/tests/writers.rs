//! What is written reads back as the same tokenizer, and what cannot be said is named.
#![allow(clippy::unwrap_used)]

use protok_core::added_tokens::SpecialPolicy;
use protok_core::formats::{self, Artifact, Files, Info, Options, Saving};
use protok_core::pipeline::{CompileOptions, Pipeline};
use protok_core::spec::{Merges, Model, Normalizer, PieceKind, PostProcessor};
use protok_core::{ErrorKind, Spec};

const TEXTS: [&str; 9] =
    ["", " ", "a b", "  a  b ", "▁ a", "abab abc", "xyz", "a\u{0}é", "<s> <unk> <0x41>"];

fn read(files: &[(String, Vec<u8>)]) -> protok_core::Result<Artifact> {
    let files: Files<'_> =
        files.iter().map(|(name, bytes)| (name.clone(), bytes.as_slice())).collect();
    formats::read(&files, &Options::default())
}

fn save(artifact: &Artifact, format: &str) -> protok_core::Result<Vec<(String, Vec<u8>)>> {
    let Artifact { spec, info: Info { roles, chat_templates, .. } } = artifact;
    formats::save(&Saving { spec, roles, chat_templates }, format)
}

fn one(name: &str, text: &str) -> Artifact {
    read(&[(name.to_owned(), text.as_bytes().to_vec())]).unwrap()
}

fn ids(spec: &Spec, text: &str) -> Vec<u32> {
    let pipeline = Pipeline::compile(spec.clone(), &CompileOptions::default()).unwrap();
    let found = pipeline.encode_reference(text, &SpecialPolicy::Parse, &mut ()).unwrap();
    found.into_iter().map(|token| token.id).collect()
}

/// What is changed in a file.
type Change = fn(&mut serde_json::Value);

/// A small tokenizer.json in Llama's shape, without added tokens.
fn llama(change: impl Fn(&mut serde_json::Value)) -> Artifact {
    let mut vocab = serde_json::Map::new();
    let bytes = (0..=255u8).map(|byte| format!("<0x{byte:02X}>"));
    let text = ["▁", "a", "b", "c", "ab", "abab", "▁a", "abc"].map(str::to_owned);
    let all = ["<unk>", "<s>"].map(str::to_owned).into_iter().chain(bytes).chain(text);
    for (token, id) in all.zip(0u32..) {
        vocab.insert(token, id.into());
    }
    let mark = serde_json::json!({"String": " "});
    let mut file = serde_json::json!({
        "normalizer": {"type": "Sequence", "normalizers": [
            {"type": "Prepend", "prepend": "▁"},
            {"type": "Replace", "pattern": mark, "content": "▁"}]},
        "decoder": {"type": "Sequence", "decoders": [
            {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
            {"type": "ByteFallback"}, {"type": "Fuse"},
            {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
        "model": {"type": "BPE", "unk_token": "<unk>", "fuse_unk": true, "byte_fallback": true,
            "vocab": vocab,
            "merges": [["a", "b"], ["ab", "ab"], ["▁", "a"], ["ab", "c"]]}
    });
    change(&mut file);
    one("tokenizer.json", &file.to_string())
}

#[test]
fn a_tokenizer_json_that_is_a_sentencepiece_model_becomes_one() {
    let own = llama(|_| {});
    let model = read(&save(&own, "sentencepiece").unwrap()).unwrap();
    let back = read(&save(&model, "huggingface").unwrap()).unwrap();
    for text in TEXTS {
        let expected = ids(&own.spec, text);
        assert_eq!(ids(&model.spec, text), expected, "{text:?}");
        assert_eq!(ids(&back.spec, text), expected, "{text:?}");
    }
    assert_eq!(model.spec.model.kinds()[0], PieceKind::Unknown);
    assert_eq!(model.spec.model.kinds()[2], PieceKind::Byte);
    // What the first conversion decides stays.
    let again = read(&save(&back, "sentencepiece").unwrap()).unwrap();
    assert_eq!(again.spec.normalizer, model.spec.normalizer);
    assert_eq!(again.spec.decoder, model.spec.decoder);
    for text in TEXTS {
        assert_eq!(ids(&again.spec, text), ids(&model.spec, text), "{text:?}");
    }
}

#[test]
fn a_tokenizer_json_that_is_none_says_why() {
    let place = |change: Change| {
        let error = save(&llama(change), "sentencepiece").unwrap_err();
        assert_eq!(error.kind, ErrorKind::Artifact, "{error}");
        error.location.unwrap()
    };
    let named: [(&str, Change); 13] = [
        ("normalizer", |file| file["normalizer"] = serde_json::json!({"type": "NFC"})),
        ("pre_tokenizer", |file| file["pre_tokenizer"] = serde_json::json!({"type": "Whitespace"})),
        ("decoder", |file| file["decoder"] = serde_json::json!({"type": "Fuse"})),
        ("decoder", |file| file["decoder"] = serde_json::Value::Null),
        ("post_processor", |file| {
            file["post_processor"] = serde_json::json!(
                {"type": "BertProcessing", "sep": ["<s>", 1], "cls": ["<s>", 1]});
        }),
        ("added_tokens[0]", |file| {
            file["added_tokens"] = serde_json::json!([{"id": 1, "content": "<s>",
                "single_word": false, "lstrip": false, "rstrip": false, "normalized": false,
                "special": true}]);
        }),
        ("truncation", |file| {
            file["truncation"] = serde_json::json!(
                {"max_length": 4, "strategy": "LongestFirst", "stride": 0});
        }),
        ("model.unk_token", |file| file["model"]["unk_token"] = serde_json::Value::Null),
        ("model.byte_fallback", |file| {
            let vocab = file["model"]["vocab"].as_object_mut().unwrap();
            vocab.remove("<0x00>");
            vocab.insert("zero".into(), 2.into());
        }),
        ("model.ignore_merges", |file| file["model"]["ignore_merges"] = true.into()),
        ("model.dropout", |file| file["model"]["dropout"] = 0.5.into()),
        // `a b a b` would become `abab` by the order of tokens as well, but `abc` has no merge.
        ("model.vocab[265]", |file| {
            file["model"]["merges"].as_array_mut().unwrap().pop();
        }),
        // The list makes `abab` of `aba` and `b`, SentencePiece of `ab` and `ab`.
        ("model.vocab[263]", |file| {
            file["model"]["vocab"]["aba"] = 266.into();
            file["model"]["merges"] = serde_json::json!([["a", "b"], ["ab", "a"], ["aba", "b"]]);
        }),
    ];
    for (expected, change) in named {
        assert_eq!(place(change), expected);
    }
}

#[test]
fn merges_that_contradict_the_order_of_tokens_are_refused() {
    // `ab` + `c` is listed before `b` + `c` can form, yet `a` + `bc` makes `abc` in the list.
    let own = llama(|file| {
        file["model"]["vocab"]["bc"] = 266.into();
        file["model"]["merges"] =
            serde_json::json!([["b", "c"], ["a", "b"], ["ab", "c"], ["▁", "a"], ["ab", "ab"]]);
    });
    let error = save(&own, "sentencepiece").unwrap_err();
    assert_eq!(error.location.as_deref(), Some("model.vocab[265]"));
    assert_eq!(error.value.as_deref(), Some("abc"));
}

#[test]
fn an_edited_model_says_what_sentencepiece_has_no_place_for() {
    let model = read(&save(&llama(|_| {}), "sentencepiece").unwrap()).unwrap();
    let place = |change: &dyn Fn(&mut Spec)| {
        let mut edited = model.clone();
        change(&mut edited.spec);
        save(&edited, "sentencepiece").unwrap_err().location.unwrap()
    };
    assert_eq!(place(&|spec| spec.normalizer = Some(Normalizer::Nfc)), "normalizer");
    assert_eq!(place(&|spec| spec.decoder = None), "decoder");
    let processor = |spec: &mut Spec| spec.post_processor = Some(PostProcessor::Sequence(vec![]));
    assert_eq!(place(&processor), "post_processor");
    let padding = |spec: &mut Spec| spec.padding = Some(serde_json::json!({}));
    assert_eq!(place(&padding), "padding");
    let scores = |change: fn(&mut Vec<f64>)| {
        place(&move |spec: &mut Spec| {
            let Model::SentencePieceBpe(model) = &mut spec.model else { panic!() };
            change(&mut model.scores);
        })
    };
    assert_eq!(scores(|scores| scores[7] = 0.1), "model.scores[7]");
    assert_eq!(scores(|scores| scores.truncate(265)), "model.vocab[265]");
    let protected = |spec: &mut Spec| {
        let Some(Normalizer::SentencePiece(rules)) = &mut spec.normalizer else { panic!() };
        rules.protected.push("a".into());
    };
    assert_eq!(place(&protected), "normalizer");
}

#[test]
fn longest_match_becomes_wordpiece() {
    let mut lines: Vec<String> =
        (0..=255u8).map(|byte| format!("{} b'\\x{byte:02x}' 1", u32::from(byte) + 1)).collect();
    lines.extend(["257 'ab' 2", "258 'abc' 3", "259 ' a' 2", "260 'é' 2"].map(str::to_owned));
    let own = one("vocab.txt", &format!("{}\n", lines.join("\n")));
    let back = read(&save(&own, "huggingface").unwrap()).unwrap();
    assert!(matches!(back.spec.model, Model::WordPiece(_)));
    for text in TEXTS.into_iter().chain(["abcabab abé", "\u{e9}\u{301}"]) {
        assert_eq!(ids(&back.spec, text), ids(&own.spec, text), "{text:?}");
    }
    let short = one("vocab.txt", &format!("{}\n", lines[1..].join("\n")));
    let error = save(&short, "huggingface").unwrap_err();
    assert_eq!(error.location.as_deref(), Some("model.vocab"));
}

#[test]
fn a_rank_file_keeps_only_what_tiktoken_knows() {
    let mut ranks: Vec<String> = (0..=255u8).map(|byte| base64(&[byte], byte.into())).collect();
    ranks.push(base64(b"ab", 256));
    let companion = br#"{"pat_str": "\\w+|\\W", "special_tokens": {"<e>": 257}}"#.to_vec();
    let files = [
        ("x.tiktoken".to_owned(), ranks.concat().into_bytes()),
        ("encoding.json".to_owned(), companion),
    ];
    let own = read(&files).unwrap();
    assert_eq!(read(&save(&own, "tiktoken").unwrap()).unwrap().spec, own.spec);
    let place = |change: fn(&mut Spec)| {
        let mut edited = own.clone();
        change(&mut edited.spec);
        save(&edited, "tiktoken").unwrap_err().location.unwrap()
    };
    assert_eq!(place(|spec| spec.added_tokens[0].lstrip = true), "added_tokens[0]");
    assert_eq!(place(|spec| spec.normalizer = Some(Normalizer::Nfc)), "normalizer");
    assert_eq!(place(|spec| spec.padding = Some(serde_json::json!({}))), "padding");
    let listed = |spec: &mut Spec| {
        let Model::Bpe(model) = &mut spec.model else { panic!() };
        model.merges = Merges::Listed(vec![]);
    };
    assert_eq!(place(listed), "model");
}

fn base64(token: &[u8], rank: usize) -> String {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for chunk in token.chunks(3) {
        let bits = chunk.iter().fold(0u32, |bits, &byte| bits << 8 | u32::from(byte))
            << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let digit = (bits >> (18 - 6 * place) & 63) as usize;
            out.push(if place <= chunk.len() { char::from(DIGITS[digit]) } else { '=' });
        }
    }
    format!("{out} {rank}\n")
}

const BERT: &str = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n##b\nab\n";

#[test]
fn vocab_txt_says_its_flags_and_added_tokens() {
    let flags =
        br#"{"do_lower_case": false, "strip_accents": true, "tokenize_chinese_chars": false,
        "added_tokens_decoder": {"8": {"content": "<new>", "special": false, "lstrip": true}}}"#;
    let files = [
        ("vocab.txt".to_owned(), BERT.as_bytes().to_vec()),
        ("tokenizer_config.json".to_owned(), flags.to_vec()),
    ];
    let own = read(&files).unwrap();
    let written = save(&own, "vocab.txt").unwrap();
    assert_eq!(written[0].1, BERT.as_bytes());
    let again = read(&written).unwrap();
    assert_eq!(again.spec, own.spec);
    assert!(again.info.config_notes.is_empty(), "{:?}", again.info.config_notes);
    assert_eq!(read(&save(&own, "huggingface").unwrap()).unwrap().spec, own.spec);
}

#[test]
fn vocab_txt_refuses_what_it_would_lose() {
    let own = one("vocab.txt", BERT);
    let place = |change: &dyn Fn(&mut Spec)| {
        let mut edited = own.clone();
        change(&mut edited.spec);
        save(&edited, "vocab.txt").unwrap_err().location.unwrap()
    };
    assert_eq!(place(&|spec| spec.normalizer = None), "normalizer");
    assert_eq!(place(&|spec| spec.pre_tokenizer = None), "pre_tokenizer");
    assert_eq!(place(&|spec| spec.post_processor = None), "post_processor");
    assert_eq!(place(&|spec| spec.decoder = None), "decoder");
    assert_eq!(place(&|spec| drop(spec.added_tokens.pop())), "added_tokens[4]");
    assert_eq!(place(&|spec| spec.truncation = Some(serde_json::json!({}))), "truncation");
    let vocab = |token: &'static str, id: u32| {
        place(&move |spec: &mut Spec| {
            let Model::WordPiece(model) = &mut spec.model else { panic!() };
            model.vocab.push(token.as_bytes(), id).unwrap();
        })
    };
    for token in ["", "a\n", "b ", "c\rd", "e\u{3000}"] {
        assert_eq!(vocab(token, 8), "model.vocab[8]", "{token:?}");
    }
    assert_eq!(vocab("new", 9), "model.vocab[8]");
    assert_eq!(vocab("new", 7), "model.vocab[8]");
    // BERT's own template says the same as the free one.
    let mut edited = own.clone();
    let bert =
        protok_core::spec::BertProcessing { cls: ("[CLS]".into(), 2), sep: ("[SEP]".into(), 3) };
    edited.spec.post_processor = Some(PostProcessor::Bert(bert));
    assert_eq!(read(&save(&edited, "vocab.txt").unwrap()).unwrap().spec, own.spec);
}

#[test]
fn companions_keep_roles_and_templates() {
    let config = r#"{"bos_token": "<s>", "eos_token": "<unk>", "image_token": "a",
        "additional_special_tokens": ["b"], "extra_special_tokens": {"image_token": "a"},
        "chat_template": [{"name": "default", "template": "x"}, {"name": "tool", "template": "y"}]}"#;
    let tokenizer = save(&llama(|_| {}), "huggingface").unwrap().swap_remove(0);
    let own =
        read(&[tokenizer, ("tokenizer_config.json".into(), config.as_bytes().to_vec())]).unwrap();
    let again = read(&save(&own, "huggingface").unwrap()).unwrap();
    assert_eq!(again.info.roles, own.info.roles);
    assert_eq!(again.info.chat_templates, own.info.chat_templates);
    assert!(again.info.config_notes.is_empty(), "{:?}", again.info.config_notes);
    let mut single = own.clone();
    single.info.chat_templates.truncate(1);
    let names: Vec<String> =
        save(&single, "huggingface").unwrap().into_iter().map(|(name, _)| name).collect();
    assert!(names.contains(&"chat_template.jinja".to_owned()), "{names:?}");
    let again = read(&save(&single, "huggingface").unwrap()).unwrap();
    assert_eq!(again.info.chat_templates, single.info.chat_templates);
}

#[test]
fn an_unknown_format_is_bad_input() {
    let error = save(&llama(|_| {}), "gguf").unwrap_err();
    assert_eq!((error.kind, error.value.as_deref()), (ErrorKind::Input, Some("gguf")));
}
