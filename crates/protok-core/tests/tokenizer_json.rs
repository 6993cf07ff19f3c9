//! Real files: each is read, written and read again, and nothing may change.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use protok_core::formats::tokenizer_json;

fn artifacts() -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/artifacts");
    if path.is_dir() {
        return Some(path);
    }
    eprintln!("SKIPPED: {} is not there", path.display());
    None
}

fn files() -> Vec<PathBuf> {
    let Some(root) = artifacts() else { return Vec::new() };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(root).unwrap() {
        let folder = entry.unwrap().path();
        let toy = folder.ends_with("toy");
        for entry in std::fs::read_dir(&folder).into_iter().flatten() {
            let file = entry.unwrap().path();
            let json = file.extension().is_some_and(|extension| extension == "json");
            if file.ends_with("tokenizer.json") || (toy && json) {
                files.push(file);
            }
        }
    }
    files.sort();
    files
}

#[test]
fn every_artifact_comes_back() {
    for file in files() {
        let bytes = std::fs::read(&file).unwrap();
        let start = std::time::Instant::now();
        let first =
            tokenizer_json::read(&bytes).unwrap_or_else(|error| panic!("{file:?}: {error}"));
        let read = start.elapsed();
        let written =
            tokenizer_json::write(&first.spec).unwrap_or_else(|error| panic!("{file:?}: {error}"));
        let wrote = start.elapsed() - read;
        println!("{file:?}: read {read:?}, written {wrote:?}, {:?}", first.notes);
        let second = tokenizer_json::read(&written).unwrap();
        assert!(first.spec == second.spec, "{file:?} changed");
        assert_eq!(second.notes, Vec::<String>::new(), "{file:?}");
        assert_eq!(tokenizer_json::write(&second.spec).unwrap(), written, "{file:?}");
    }
}
