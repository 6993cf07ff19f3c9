//! Character maps of SentencePiece, in a `tokenizer.json`.

use base64::Engine as _;
use serde_json::json;

use super::{bounded, either, load};

/// The place of what is wrong with a map; works if nothing is.
fn map(units: &[u32], replacements: &[u8]) -> Option<String> {
    let size = units.len() as u32 * 4;
    let units: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
    blob(&[&size.to_le_bytes()[..], &units, replacements].concat())
}

fn blob(blob: &[u8]) -> Option<String> {
    either(&[("tokenizer.json", &file(blob))])
}

fn file(blob: &[u8]) -> Vec<u8> {
    let map = base64::engine::general_purpose::STANDARD.encode(blob);
    let file = json!({
        "normalizer": {"type": "Precompiled", "precompiled_charsmap": map},
        "model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"},
    });
    file.to_string().into_bytes()
}

const PLACES: [&str; 2] = ["normalizer.precompiled_charsmap", "precompiled_charsmap"];

fn is_refused(place: Option<String>) {
    let place = place.unwrap();
    assert!(PLACES.iter().any(|known| place == *known), "{place}");
}

/// `A` becomes `a`.
fn valid() -> Vec<u32> {
    let mut units = vec![0u32; 768];
    units[0] = 256 << 10;
    units[256 ^ 0x41] = ((256 ^ 0x41 ^ 512) as u32) << 10 | 1 << 8 | 0x41;
    units[512] = 1 << 31;
    units
}

#[test]
fn sizes_that_cannot_be() {
    assert_eq!(map(&valid(), b"a\0"), None);
    for bad in [
        &b""[..],
        b"\0",
        b"\0\0\0",
        &[0; 4],
        &[1, 0, 0, 0, 0],
        &[3, 0, 0, 0, 0, 0, 0],
        &[8, 0, 0, 0, 0, 0, 0, 0],
        &[0xFF; 4],
        &[0xFF; 64],
        &[4, 0, 0, 0x80, 0, 0, 0, 0],
    ] {
        is_refused(blob(bad));
    }
    let bytes = [&3072u32.to_le_bytes()[..], &vec![0; 3072], b"a\0"].concat();
    for end in 0..3076 {
        is_refused(blob(&bytes[..end]));
    }
    is_refused(map(&valid(), b"\xff\0"));
    let not_base64 = String::from_utf8(file(b"abcd")).unwrap().replace("YWJjZA==", "*!");
    is_refused(either(&[("tokenizer.json", not_base64.as_bytes())]));
}

#[test]
fn offsets_that_lead_outside() {
    let with = |place: usize, unit: u32| {
        let mut units = valid();
        units[place] = unit;
        map(&units, b"a\0")
    };
    // A leaf outside, a replacement outside, a replacement within a character.
    is_refused(with(256 ^ 0x41, 0x1F_FFFF << 10 | 1 << 8 | 0x41));
    is_refused(with(512, 1 << 31 | 99));
    let mut units = valid();
    units[512] = 1 << 31 | 1;
    is_refused(map(&units, "é\0".as_bytes()));
    // A base outside leads nowhere.
    is_refused(with(0, u32::MAX >> 1));
    assert_eq!(with(0, 0x1F_FFFF << 10), None);
    assert_eq!(with(256 ^ 0x42, 0x1F_FFFF << 10 | 0x42), None);
}

#[test]
fn a_trie_that_goes_in_circles() {
    let mut units = valid();
    units[256 ^ 0x42] = 0x42 << 10 | 0x42;
    units[256 ^ 0x42] = 0x42 | (0x42 << 10);
    // Its base is its parent's: place ^ offset = 256.
    is_refused(map(&units, b"a\0"));
    let mut units = valid();
    units[512 ^ 0x42] = ((512 ^ 0x42 ^ 256) as u32) << 10 | 0x42;
    is_refused(map(&units, b"a\0"));
}

#[test]
fn random_maps() {
    let mut state = 11u64;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 32) as u32
    };
    for round in 0..200u32 {
        let units: Vec<u32> = (0..512)
            .map(|place: u32| match next() % 4 {
                // Children that are taken for such, with bases nearby.
                0 | 1 => ((next() % 1024) << 10) | ((next() & 1) << 8) | ((place ^ 256) & 0xFF),
                2 => (1 << 31) | (next() % 9),
                _ => next(),
            })
            .collect();
        if let Some(place) = map(&units, b"abc\0de\0f\0") {
            assert!(PLACES.contains(&place.as_str()), "{round}: {place}");
        }
    }
}

/// One letter becomes a megabyte.
#[test]
fn a_replacement_without_end() {
    let long = [vec![b'x'; 1 << 20], vec![0]].concat();
    let units: Vec<u8> = valid().iter().flat_map(|unit| unit.to_le_bytes()).collect();
    let blob = [&3072u32.to_le_bytes()[..], &units, &long].concat();
    let pipeline = load(&[("tokenizer.json", &file(&blob))]).unwrap();
    let text = "A".repeat(100_000);
    let error = bounded(|| pipeline.encode(&text, None, &Default::default()).unwrap_err());
    assert_eq!(error.kind, protok_core::ErrorKind::Limit, "{error}");
}
