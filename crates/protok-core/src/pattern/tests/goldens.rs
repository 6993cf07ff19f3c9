//! The reference's own pieces, where its records are at hand beside the repository.

use std::collections::HashMap;
use std::path::PathBuf;

use serde_json::Value;

use super::*;
use crate::spec;

fn records() -> Option<(HashMap<String, String>, Vec<Value>)> {
    let folder = std::env::var_os("PROTOK_SHARED").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared")),
        PathBuf::from,
    );
    let read = |name: &str| -> Option<Vec<Value>> {
        let text = std::fs::read_to_string(folder.join("golden").join(name)).ok()?;
        let lines = text.split('\n').filter(|line| !line.is_empty());
        Some(lines.map(|line| serde_json::from_str(line).unwrap()).collect())
    };
    let inputs = read("inputs.jsonl")?
        .iter()
        .map(|record| {
            let field = |name: &str| record[name].as_str().unwrap().to_owned();
            (field("id"), field("text"))
        })
        .collect();
    Some((inputs, read("components.jsonl")?))
}

fn splitter(config: &Value) -> Option<Splitter> {
    match config["type"].as_str()? {
        "Split" => {
            let split: spec::Split = serde_json::from_value(config.clone()).unwrap();
            Some(Splitter::compile(&split).unwrap())
        }
        "Digits" => {
            let digits: spec::Digits = serde_json::from_value(config.clone()).unwrap();
            Some(Splitter::digits(digits))
        }
        // Its pieces are spelled in the byte alphabet; their places are compared.
        "ByteLevel" if config["use_regex"] == true && config["add_prefix_space"] == false => {
            Some(Splitter::gpt2().unwrap())
        }
        _ => None,
    }
}

#[test]
fn pieces_are_the_references() {
    let Some((inputs, components)) = records() else {
        eprintln!("SKIPPED: no golden records beside the repository (set PROTOK_SHARED)");
        return;
    };
    let mut checked = 0;
    for record in components.iter().filter(|record| record["kind"] == "pre_tokenizer") {
        let Some(splitter) = splitter(&record["config"]) else { continue };
        for (id, pieces) in record["pieces"].as_object().unwrap() {
            let Some(pieces) = pieces.as_array() else { continue };
            let text = &inputs[id];
            let mut ends: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
            ends.push(text.len());
            let place = |value: &Value| ends[value.as_u64().unwrap() as usize];
            let expected: Vec<_> =
                pieces.iter().map(|piece| (place(&piece[1]), place(&piece[2]))).collect();
            let mut found = Vec::new();
            splitter.split(text, &mut found).unwrap();
            assert_eq!(found, expected, "{} on {id}: {text:?}", record["name"]);
            checked += 1;
        }
    }
    assert!(checked > 5000, "only {checked} records");
}
