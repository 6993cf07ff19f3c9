//! The seeds, and every input that once broke something, through their targets.

use std::fs;
use std::path::Path;

use protok_fuzz::{TARGETS, run, seeds};

fn replay(folder: &str, target: &str) -> usize {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder).join(target);
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let inputs = entries.flatten().filter_map(|entry| fs::read(entry.path()).ok());
    inputs.map(|input| run(target, &input)).count()
}

#[test]
fn the_corpus_breaks_nothing() {
    for (target, _) in TARGETS {
        assert!(replay("corpus", target) > 2, "{target} has no corpus");
    }
}

#[test]
fn what_once_broke_something_no_longer_does() {
    let found: usize = TARGETS.iter().map(|(target, _)| replay("regressions", target)).sum();
    assert!(found > 0, "the regressions are gone");
}

/// Each target's seeds as they are built are the seeds on disk.
#[test]
fn the_seeds_on_disk_are_the_ones_that_are_built() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    for (target, inputs) in seeds::all() {
        for (number, input) in inputs.iter().enumerate() {
            let path = corpus.join(target).join(format!("seed-{number:02}"));
            let stored = fs::read(&path).unwrap_or_default();
            assert!(
                stored == *input,
                "{}: cargo run -p protok-fuzz --example seeds",
                path.display()
            );
        }
    }
}

/// A damaged seed is read or refused: every cut, and every byte changed in a few ways.
#[test]
fn damaged_seeds_break_nothing() {
    for (target, inputs) in seeds::all() {
        for input in inputs {
            let step = 1 + input.len() / 48;
            for at in (0..input.len()).step_by(step) {
                run(target, &input[..at]);
                for change in [0xFF, 0x80, 0x01, 0x20] {
                    let mut damaged = input.clone();
                    damaged[at] ^= change;
                    run(target, &damaged);
                }
            }
        }
    }
}
