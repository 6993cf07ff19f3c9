//! See [`protok_fuzz::targets`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| protok_fuzz::run("snapshot", data));
