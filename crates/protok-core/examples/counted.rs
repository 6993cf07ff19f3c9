//! One job of the engine by itself, for counting its instructions: `counted JOB ARTIFACT TEXT`.
//!
//! `load`, `cold` and `warm` (ids of a text, the first and the second time), `places` (ids and where
//! they came from, the second time) and `decode` (the first time). What belongs to the job runs in
//! [`measured`]; the command prints how many tokens there were. See `benchmarks/counts.py`.

use std::path::Path;
use std::process::ExitCode;

use protok_core::added_tokens::SpecialPolicy;
use protok_core::decode::DecodeOptions;
use protok_core::formats::{self, Files};
use protok_core::pipeline::encode::EncodeOptions;
use protok_core::pipeline::{CompileOptions, Pipeline};

/// The only function whose instructions count.
#[inline(never)]
fn measured<T>(job: impl FnOnce() -> T) -> T {
    std::hint::black_box(job())
}

fn load(name: &str, content: &[u8]) -> protok_core::Result<Pipeline> {
    let mut files = Files::default();
    files.insert(name, content);
    let artifact = formats::read(&files, &formats::Options::default())?;
    Pipeline::compile(artifact.spec, &CompileOptions::default())
}

fn run(job: &str, artifact: &str, text: &str) -> Result<usize, Box<dyn std::error::Error>> {
    let name = Path::new(artifact).file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let content = std::fs::read(artifact)?;
    let text = std::fs::read_to_string(text)?;
    if job == "load" {
        return Ok(measured(|| load(name, &content))?.size());
    }
    let pipeline = load(name, &content)?;
    let options = EncodeOptions {
        add_special_tokens: false,
        special: SpecialPolicy::Text,
        ..EncodeOptions::default()
    };
    let encode = || {
        let mut ids = Vec::new();
        pipeline.encode_text(&text, &options, &mut ids).map(|()| ids)
    };
    match job {
        "cold" => Ok(measured(encode)?.len()),
        "warm" => {
            encode()?;
            Ok(measured(encode)?.len())
        }
        "places" => {
            pipeline.encode_placed(&text, &options)?;
            let placed = measured(|| pipeline.encode_placed(&text, &options))?;
            Ok(placed.1.map_or(0, |places| places.len()))
        }
        "decode" => {
            let ids = encode()?;
            measured(|| pipeline.decode(&ids, DecodeOptions::default()))?;
            Ok(ids.len())
        }
        _ => Err(format!("{job} is no job: load, cold, warm, places, decode").into()),
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [job, artifact, text] = arguments.as_slice() else {
        eprintln!("counted JOB ARTIFACT TEXT");
        return ExitCode::from(2);
    };
    match run(job, artifact, text) {
        Ok(count) => {
            println!("{count}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
