//! Fuzz targets: functions over bytes that panic where the engine does something wrong.
//!
//! A target for each reader takes what it is given as a file. Whatever loads must compile or be
//! refused, and if it compiles, encode and decode a few texts: both paths alike, in ids and in
//! offsets, and the same again after it was saved and loaded. `make fuzz` runs every target under
//! libFuzzer, which bounds time and memory; the tests replay `corpus` and `regressions`.

pub mod exercise;
pub mod samples;
pub mod seeds;
pub mod targets;

pub use targets::{TARGETS, run};
