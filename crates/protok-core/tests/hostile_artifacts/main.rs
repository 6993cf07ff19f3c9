//! Hostile artifacts: every reader refuses what is wrong with it, says where, and takes neither
//! long nor much memory for it. What does load must work.

#![allow(clippy::unwrap_used)]

mod charsmap;
mod companions;
mod gguf;
mod json;
mod lines;
mod patterns;
mod sentencepiece;

use std::time::{Duration, Instant};

use peak_alloc::PeakAlloc;
use protok_core::added_tokens::SpecialPolicy;
use protok_core::formats::{Files, Options, directory};
use protok_core::pipeline::encode::EncodeOptions;
use protok_core::pipeline::{CompileOptions, Pipeline};
use protok_core::{Error, ErrorKind};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// For the largest hostile files here, which have a few megabytes. Each takes seconds at most; what
/// this catches takes hours. The tests run side by side, on machines that do other things too.
const SECONDS: u64 = 120;
const MEGABYTES: f32 = 1500.0;

/// Runs something that must end soon and within bounds.
fn bounded<T>(what: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = what();
    let taken = start.elapsed();
    assert!(taken < Duration::from_secs(SECONDS), "it took {taken:?}");
    assert!(MEMORY.peak_usage_as_mb() < MEGABYTES, "it took {} MB", MEMORY.peak_usage_as_mb());
    result
}

/// Loads files as a caller would.
fn load(files: &[(&str, &[u8])]) -> Result<Pipeline, Error> {
    let files: Files<'_> = files.iter().map(|(name, bytes)| ((*name).to_owned(), *bytes)).collect();
    let artifact = directory::read(&files, &Options::default())?;
    let template_literals = artifact.info.template_literals();
    let options = CompileOptions { template_literals, ..CompileOptions::default() };
    Pipeline::compile(artifact.spec, &options)
}

/// Loads files that must be refused, and says where.
fn refused(files: &[(&str, &[u8])]) -> String {
    match bounded(|| load(files)) {
        Ok(_) => panic!("it loads"),
        Err(error) => place(error),
    }
}

/// Where an artifact is wrong: every refusal names it.
fn place(error: Error) -> String {
    assert_eq!(error.kind, ErrorKind::Artifact, "{error}");
    let place = error.location.clone().unwrap_or_default();
    assert!(!place.is_empty(), "no place: {error}");
    assert!(error.to_string().len() < 4000, "a message of {} bytes", error.to_string().len());
    place
}

/// Loads files that may load or not: what loads encodes and decodes, what does not says where.
/// Returns the place.
fn either(files: &[(&str, &[u8])]) -> Option<String> {
    bounded(|| match load(files) {
        Ok(pipeline) => {
            works(&pipeline);
            None
        }
        Err(error) => Some(place(error)),
    })
}

/// Both paths agree, and what they give is decoded.
fn works(pipeline: &Pipeline) {
    let options = EncodeOptions { special: SpecialPolicy::Parse, ..EncodeOptions::default() };
    for text in ["", "a", "Hello, wörld! 12 \n ab\u{301}", "<s>[CLS]a</s>"] {
        let mut fast = Vec::new();
        let result = pipeline.encode_text(text, &options, &mut fast);
        let reference = pipeline.encode_reference(text, &options.special, &mut ());
        match (result, reference) {
            (Ok(()), Ok(reference)) => {
                let reference: Vec<u32> = reference.iter().map(|token| token.id).collect();
                assert_eq!(fast, reference, "{text:?}");
                let _ = pipeline.decode(&fast, protok_core::decode::DecodeOptions::default());
            }
            (Err(one), Err(other)) => assert_eq!(one.kind, other.kind, "{one} / {other}"),
            (one, other) => panic!("{text:?}: {one:?} and {:?}", other.err()),
        }
    }
}
