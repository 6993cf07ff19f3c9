//! Writes the seeds of `fuzz/corpus`: small valid inputs of every target, and hostile ones.
//!
//!     cargo run -p protok-fuzz --example seeds

use std::fs;
use std::path::Path;

use protok_fuzz::{samples, seeds};

fn main() -> std::io::Result<()> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    for (target, inputs) in seeds::all() {
        let folder = corpus.join(target);
        fs::create_dir_all(&folder)?;
        for (number, input) in inputs.iter().enumerate() {
            fs::write(folder.join(format!("seed-{number:02}")), input)?;
        }
    }
    // The samples have to compile, or no target could use them.
    let _ = samples::pipeline(0);
    Ok(())
}
