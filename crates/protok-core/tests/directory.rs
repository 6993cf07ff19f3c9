//! Whole folders of real files.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use protok_core::formats::{self, Artifact, Files, Format, Options, tiktoken, tokenizer_json};
use protok_core::spec::{AddedToken, Model, Spec};

fn artifacts() -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/artifacts");
    if path.is_dir() {
        return Some(path);
    }
    eprintln!("SKIPPED: {} is not there", path.display());
    None
}

fn contents(folder: &Path, without: &[&str]) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<(String, Vec<u8>)> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| {
            (path.file_name().unwrap().to_str().unwrap().to_owned(), std::fs::read(&path).unwrap())
        })
        .filter(|(name, _)| !without.contains(&name.as_str()))
        .collect();
    files.sort();
    files
}

fn leak(files: &[(String, Vec<u8>)]) -> Files<'static> {
    // The tests end soon; leaking spares them a lifetime.
    files
        .iter()
        .map(|(name, bytes)| (name.clone(), &*Box::leak(bytes.clone().into_boxed_slice())))
        .collect()
}

fn read(folder: &Path, without: &[&str]) -> protok_core::Result<Artifact> {
    formats::read(&leak(&contents(folder, without)), &Options::default())
}

fn ids(tokens: &[AddedToken]) -> Vec<(&str, u32)> {
    tokens.iter().map(|token| (token.content.as_str(), token.id)).collect()
}

#[test]
fn old_files_have_the_pipeline_of_the_new_ones() {
    let Some(root) = artifacts() else { return };
    for name in ["gpt2", "roberta-robbert-1k", "clip"] {
        let folder = root.join(name);
        let new = read(&folder, &[]).unwrap();
        assert_eq!(new.info.format, Format::TokenizerJson);
        let old = read(&folder, &["tokenizer.json"]).unwrap();
        assert_eq!(old.info.format, Format::VocabJson);
        let (mut old, new): (Spec, Spec) = (old.spec, new.spec);
        assert_eq!(old.normalizer, new.normalizer, "{name}");
        assert_eq!(old.pre_tokenizer, new.pre_tokenizer, "{name}");
        assert_eq!(old.post_processor, new.post_processor, "{name}");
        assert_eq!(old.decoder, new.decoder, "{name}");
        assert_eq!(ids(&old.added_tokens), ids(&new.added_tokens), "{name}");
        old.added_tokens.clone_from(&new.added_tokens);
        assert!(old.model == new.model, "{name}: the model differs");
        assert!(old == new, "{name}");
    }
}

#[test]
fn rank_files_are_known_by_hash_name_or_companion() {
    let Some(root) = artifacts() else { return };
    for (file, name) in [
        ("r50k_base", "r50k_base"),
        ("p50k_base", "p50k_base"),
        ("p50k_base", "p50k_edit"),
        ("cl100k_base", "cl100k_base"),
        ("o200k_base", "o200k_base"),
        ("o200k_base", "o200k_harmony"),
        ("r50k_base", "gpt2"),
    ] {
        let path = format!("{file}.tiktoken");
        let bytes = std::fs::read(root.join("tiktoken").join(&path)).unwrap();
        let files = Files::single(path, &bytes);
        let options = Options { encoding: Some(name.to_owned()), ..Options::default() };
        let artifact = formats::read(&files, &options).unwrap();
        let named = tiktoken::named(name).unwrap();
        if let Some(n_vocab) = named.n_vocab {
            tiktoken::check_size(&artifact.spec, n_vocab).unwrap();
        }
        let alone = formats::read(&files, &Options::default()).unwrap();
        assert_eq!(alone.spec == artifact.spec, matches!(name, "gpt2") || name == file);
        assert!(tiktoken::write(&artifact.spec).unwrap() == bytes, "{name}");
    }
    // The facts in the code are those of the published file of facts.
    let facts = std::fs::read(root.join("tiktoken/encodings.json")).unwrap();
    let facts: serde_json::Value = serde_json::from_slice(&facts).unwrap();
    for name in tiktoken::names().filter(|name| facts.get(*name).is_some()) {
        let named = tiktoken::named(name).unwrap();
        assert_eq!(facts[name]["pat_str"], named.pattern);
        let special: serde_json::Map<_, _> =
            named.special_tokens().into_iter().map(|(t, id)| (t, id.into())).collect();
        let mut theirs = facts[name]["special_tokens"].as_object().unwrap().clone();
        let mut ours = special;
        ours.sort_keys();
        theirs.sort_keys();
        assert_eq!(ours, theirs, "{name}");
    }
    for folder in ["llama3.1", "whisper"] {
        let artifact = read(&root.join(folder), &["tokenizer.json"]).unwrap();
        assert_eq!(artifact.info.format, Format::TiktokenRanks, "{folder}");
    }
}

#[test]
fn rank_vocabularies_become_merge_lists() {
    let Some(root) = artifacts() else { return };
    for folder in ["llama3.1", "whisper"] {
        let artifact = read(&root.join(folder), &["tokenizer.json"]).unwrap();
        let converted = tokenizer_json::from_ranks(&artifact.spec).unwrap();
        let written = tokenizer_json::write(&artifact.spec).unwrap();
        assert!(tokenizer_json::read(&written).unwrap().spec == converted, "{folder}");
        if folder == "llama3.1" {
            let published = read(&root.join(folder), &[]).unwrap().spec;
            let (Model::Bpe(ours), Model::Bpe(theirs)) = (&converted.model, &published.model)
            else {
                panic!()
            };
            assert!(ours.vocab == theirs.vocab, "{folder}: the vocabulary differs");
        }
    }
    let bytes = std::fs::read(root.join("tiktoken/o200k_base.tiktoken")).unwrap();
    let harmony = tiktoken::read_named(&bytes, tiktoken::named("o200k_harmony").unwrap()).unwrap();
    let error = tokenizer_json::from_ranks(&harmony).unwrap_err();
    assert!(error.what.contains("shares its id"), "{error}");
}

#[test]
fn every_folder_is_read_or_says_what_can_be() {
    let Some(root) = artifacts() else { return };
    for entry in std::fs::read_dir(&root).unwrap() {
        let folder = entry.unwrap().path();
        if !folder.is_dir() {
            continue;
        }
        match read(&folder, &[]) {
            Ok(artifact) => {
                println!(
                    "{folder:?}: {} {:?} templates {:?} sources {}",
                    artifact.info.format,
                    artifact.info.roles.iter().take(8).collect::<Vec<_>>(),
                    artifact.info.chat_templates.iter().map(|(name, _)| name).collect::<Vec<_>>(),
                    artifact.info.sources.len()
                );
                for note in artifact.info.config_notes.iter().take(4) {
                    println!("    {note}");
                }
                let before = formats::fingerprint(&artifact.spec).unwrap();
                if let Ok(written) = tokenizer_json::write(&artifact.spec)
                    && artifact.info.format == Format::TokenizerJson
                {
                    let after = tokenizer_json::read(&written).unwrap().spec;
                    assert_eq!(formats::fingerprint(&after).unwrap(), before, "{folder:?}");
                }
            }
            Err(error) => println!("{folder:?}: {error}"),
        }
    }
}

#[test]
fn companions_give_roles_templates_and_contradictions() {
    let mut files = Files::default();
    files.insert(
        "tokenizer.json",
        br#"{"added_tokens": [{"id": 1, "content": "<s>", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true}],
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true},
            "model": {"type": "WordLevel", "vocab": {"a": 0, "<s>": 1, "<e>": 2}, "unk_token": "a"}}"#,
    );
    files.insert(
        "tokenizer_config.json",
        br#"{"bos_token": {"content": "<s>", "lstrip": false}, "eos_token": "<e>", "pad_token": null, "unk_token": "<none>",
            "additional_special_tokens": ["<s>"], "add_bos_token": true, "add_prefix_space": true, "do_lower_case": true,
            "chat_template": [{"name": "default", "template": "A"}, {"name": "tool_use", "template": "B"}],
            "added_tokens_decoder": {"1": {"content": "<s>", "special": true, "lstrip": true}, "9": {"content": "<x>"}}}"#,
    );
    files.insert("special_tokens_map.json", br#"{"bos_token": "<other>", "mask_token": "a"}"#);
    files.insert("generation_config.json", br#"{"eos_token_id": [2, 0, 77], "bos_token_id": 1}"#);
    files.insert("chat_template.jinja", b"C");
    files.insert("additional_chat_templates/rag.jinja", b"D");
    let artifact = formats::read(&files, &Options::default()).unwrap();
    let pairs = |list: &[(String, String)]| -> Vec<String> {
        list.iter().map(|(name, value)| format!("{name}={value}")).collect()
    };
    assert_eq!(
        pairs(&artifact.info.roles),
        ["bos=<s>", "eos=<e>", "unk=<none>", "additional=<s>", "mask=a", "eos=a"]
    );
    assert_eq!(pairs(&artifact.info.chat_templates), ["default=C", "rag=D", "tool_use=B"]);
    assert_eq!(artifact.info.sources.len(), 6);
    let notes = artifact.info.config_notes.join("\n");
    for part in [
        "eos_token_id[2]: no token has the id 77",
        "differs from the template \"default\"",
        "unk: \"<none>\" is not a token",
        "would be refused: tokenizer_config.json.bos_token",
    ] {
        assert!(notes.contains(part), "{part} is not in\n{notes}");
    }
    assert!(artifact.info.contradictions.is_empty());
}

#[test]
fn the_option_to_blame_is_found_and_harmless_ones_are_not_reported() {
    let json = br#"{"normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
            "strip_accents": false, "lowercase": false},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "BertPreTokenizer"}]},
        "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 2], "cls": ["[CLS]", 1]},
        "decoder": {"type": "WordPiece", "prefix": "\u0023\u0023", "cleanup": true},
        "added_tokens": [
            {"id": 0, "content": "[UNK]", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true},
            {"id": 1, "content": "[CLS]", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true},
            {"id": 2, "content": "[SEP]", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true},
            {"id": 3, "content": "[PAD]", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true},
            {"id": 4, "content": "[MASK]", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true}],
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "\u0023\u0023",
            "max_input_chars_per_word": 100,
            "vocab": {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "[PAD]": 3, "[MASK]": 4, "a": 5}}}"#;
    let found = |config: &'static [u8]| {
        let mut files = Files::single("tokenizer.json", json);
        files.insert("tokenizer_config.json", config);
        let artifact = formats::read(&files, &Options::default()).unwrap();
        let found = artifact.info.contradictions.into_iter();
        let found: Vec<String> =
            found.map(|one| format!("{} {}", one.component, one.option)).collect();
        (found.join(", "), artifact.info.config_notes.join("\n"))
    };
    let nothing = (String::new(), String::new());
    assert_eq!(
        found(br#"{"clean_up_tokenization_spaces": false, "add_bos_token": true}"#),
        nothing
    );
    assert_eq!(found(br#"{"tokenizer_class": "BertTokenizer", "do_lower_case": false}"#), nothing);
    let blame = |config| found(config).0;
    assert_eq!(
        blame(br#"{"tokenizer_class": "BertTokenizer", "do_lower_case": true, "strip_accents": false}"#),
        "normalizer tokenizer_config.json.do_lower_case"
    );
    assert_eq!(
        blame(br#"{"clean_up_tokenization_spaces": true, "mask_token": "<mask>"}"#),
        "decoder tokenizer_config.json.clean_up_tokenization_spaces, \
         added_tokens tokenizer_config.json.mask_token"
    );
    assert_eq!(
        blame(br#"{"tokenizer_class": "MPNetTokenizer", "do_lower_case": false, "sep_token": "[SEP]"}"#),
        "post_processor tokenizer_config.json.tokenizer_class, \
         added_tokens tokenizer_config.json.tokenizer_class"
    );
}

#[test]
fn what_cannot_be_read_is_named() {
    let read = |files: &[(&str, &'static [u8])]| {
        let files = files.iter().map(|(name, bytes)| ((*name).to_owned(), *bytes)).collect();
        formats::read(&files, &Options::default()).unwrap_err()
    };
    let error = read(&[("model.gguf", b"GGUF\x03")]);
    assert_eq!(error.location.as_deref(), Some("model.gguf: byte 4"));
    assert_eq!(read(&[("vocab.json", b"{\"a\": 0}")]).location.as_deref(), Some("vocab.json"));
    assert_eq!(read(&[("merges.txt", b"a b\n")]).location.as_deref(), Some("merges.txt"));
    assert!(read(&[]).what.contains("no tokenizer"));
    let error = read(&[("tokenizer.json", b"{"), ("x.tiktoken", b"YQ== 0\n")]);
    assert_eq!(error.location.as_deref(), Some("tokenizer.json"));
    let error = read(&[("x.tiktoken", b"YQ== 0\n")]);
    assert!(error.hint.unwrap().contains("encoding.json"));
    let error = read(&[("a.tiktoken", b"YQ== 0\n"), ("b.tiktoken", b"YQ== 0\n")]);
    assert!(error.what.contains("several"));
    let error = read(&[
        ("vocab.json", b"{\"a\": 0}"),
        ("merges.txt", b"#version: 1\n"),
        ("tokenizer_config.json", b"{\"tokenizer_class\": \"Zoo\"}"),
    ]);
    assert_eq!(error.location.as_deref(), Some("tokenizer_config.json.tokenizer_class"));
    let error =
        read(&[("tokenizer_config.json", b"{\"bos_token\": 3}"), ("tokenizer.json", b"{}")]);
    assert_eq!(error.location.as_deref(), Some("tokenizer_config.json.bos_token"));
}

proptest::proptest! {
    #[test]
    fn any_files_are_read_or_refused(
        kind in 0usize..6,
        bytes in proptest::collection::vec(proptest::arbitrary::any::<u8>(), 0..120),
        config in proptest::collection::vec(proptest::arbitrary::any::<u8>(), 0..40),
        at in 0usize..120,
    ) {
        let seeds: [(&str, &[u8]); 6] = [
            ("x", b""),
            ("tokenizer.model", b"YQ== 0\nYg== 1\nYWI= 2\n"),
            ("encoding.json", br#"{"pat_str": "a", "special_tokens": {"<x>": 9}, "n_vocab": 4}"#),
            ("vocab.json", br#"{"a": 0, "b": 1, "ab": 2}"#),
            ("merges.txt", b"#version: 0.2\na b\n"),
            ("tokenizer_config.json", br#"{"bos_token": "a", "chat_template": [{"name": "a", "template": "b"}]}"#),
        ];
        let mut damaged = seeds[kind].1.to_vec();
        let at = at.min(damaged.len());
        damaged.splice(at.., bytes);
        let mut files: Files<'_> =
            seeds.iter().map(|(name, bytes)| ((*name).to_owned(), *bytes)).collect();
        files.insert(seeds[kind].0, &damaged);
        let _ = formats::detect(seeds[kind].0, &damaged);
        let _ = formats::read(&files, &Options::default());
        let class = Options { tokenizer_class: Some("CLIPTokenizer".to_owned()), ..Options::default() };
        let _ = formats::read(&files, &class);
        files.insert("generation_config.json", &config);
        let _ = formats::read(&Files::single("x.tiktoken", &damaged), &Options::default());
        let _ = formats::read(&files, &Options::default());
    }

    #[test]
    fn any_configuration_is_followed_or_refused(
        kind in 0usize..5,
        class in 0usize..6,
        bytes in proptest::collection::vec(proptest::arbitrary::any::<u8>(), 0..20),
        at in 0usize..200,
        cut in 0usize..30,
    ) {
        let classes = ["BertTokenizer", "T5Tokenizer", "LlamaTokenizer", "X", "Qwen2Tokenizer", "CLIPTokenizer"];
        let config = format!(
            r#"{{"tokenizer_class": "{}", "bos_token": "a", "extra_special_tokens": ["b", {{"__type": "AddedToken", "content": "c"}}],
                "clean_up_tokenization_spaces": true, "do_lower_case": true, "added_tokens_decoder": {{"3": {{"content": "d"}}}}}}"#,
            classes[class],
        );
        let mut files: Vec<(&str, Vec<u8>)> = vec![
            ("tokenizer.json", br#"{"model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": []}, "added_tokens": []}"#.to_vec()),
            ("tokenizer_config.json", config.into_bytes()),
            ("config.json", br#"{"model_type": "mistral", "transformers_version": "4.1"}"#.to_vec()),
            ("special_tokens_map.json", br#"{"cls_token": {"content": "x"}, "extra_special_tokens": ["y"]}"#.to_vec()),
            ("added_tokens.json", br#"{"z": 9}"#.to_vec()),
        ];
        let damaged = &mut files[kind].1;
        let at = at.min(damaged.len());
        let end = (at + cut).min(damaged.len());
        damaged.splice(at..end, bytes);
        let files: Files<'_> =
            files.iter().map(|(name, bytes)| ((*name).to_owned(), bytes.as_slice())).collect();
        let _ = formats::read(&files, &Options::default());
        let options =
            Options { as_loaded_by: Some(formats::Wrapper::Transformers), ..Options::default() };
        let _ = formats::read(&files, &options);
    }
}
