//! What must hold of every tokenizer that loads.

use protok_core::added_tokens::SpecialPolicy;
use protok_core::decode::{DecodeOptions, Errors, Unknown};
use protok_core::formats::tokenizer_json;
use protok_core::pipeline::encode::EncodeOptions;
use protok_core::pipeline::{CompileOptions, Pipeline};
use protok_core::spec::Semantics;
use protok_core::{ErrorKind, Spec};

/// Texts that reach most branches of most stages.
const TEXTS: &[&str] = &[
    "",
    " ",
    "a",
    "Hello, world! it's 2024  \n\n x",
    "  naïve cafe\u{301} ﬁ ½ Ⅷ ①",
    "\u{1f44d}\u{1f3fd}\u{200d}\u{2b1b} 東京ひらがな 한국",
    "<s>a</s> <unk> [CLS] <|endoftext|>b",
    "\0\t\r\n\u{85}\u{a0}\u{2581}\u{feff}\u{fffd}",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab##ab##b",
    "e\u{323}\u{307}\u{301} \u{301} q\u{307}\u{323}",
];

/// Compiles a spec and holds it to what every tokenizer must do. Refusals are as they should be.
///
/// # Panics
/// Where the engine is wrong.
pub fn spec(spec: Spec) {
    let stored = tokenizer_json::write(&spec).ok();
    let Ok(pipeline) = Pipeline::compile(spec, &CompileOptions::default()) else { return };
    for text in TEXTS {
        // Rules that make texts grow without measure do so with the next text as well, slowly.
        if !paths(&pipeline, text) {
            return;
        }
    }
    if let Some(stored) = stored {
        saved(&pipeline, &stored);
    }
}

/// Goes through everything without holding the results to anything but that there are some.
pub fn stands(pipeline: &Pipeline) {
    for text in TEXTS {
        for policy in [SpecialPolicy::Parse, SpecialPolicy::Text] {
            let options = EncodeOptions { special: policy, ..EncodeOptions::default() };
            let _ = pipeline.encode_reference(text, &options.special, &mut ());
            let _ = pipeline.spans(text.as_bytes(), &options);
            let Ok(encoding) = pipeline.encode(text, Some("b"), &options) else { continue };
            for errors in [Errors::Replace, Errors::Reference] {
                let options = DecodeOptions { errors, ..DecodeOptions::default() };
                let _ = pipeline.decode(&encoding.ids, options);
            }
        }
        let _ = pipeline.encode_bytes(text.as_bytes(), &EncodeOptions::default());
        let _ = pipeline.nbest(text, 3, &EncodeOptions::default());
    }
    let _ = pipeline.all_token_bytes();
    let _ = tokenizer_json::write(pipeline.spec());
    let _ = protok_core::formats::fingerprint(pipeline.spec());
}

/// Both paths, the spans of the fast one, and decoding. False if the text grew without measure.
///
/// # Panics
/// Where they differ.
pub fn paths(pipeline: &Pipeline, text: &str) -> bool {
    let mut decodes = true;
    for policy in [SpecialPolicy::Parse, SpecialPolicy::Text] {
        let options = EncodeOptions { special: policy, ..EncodeOptions::default() };
        let mut fast = Vec::new();
        let result = pipeline.encode_text(text, &options, &mut fast);
        let reference = pipeline.encode_reference(text, &options.special, &mut ());
        let spans = pipeline.spans(text.as_bytes(), &options);
        if let Err(error) = result {
            let kind = |other: Option<ErrorKind>| assert_eq!(other, Some(error.kind), "{text:?}");
            kind(reference.err().map(|error| error.kind));
            kind(spans.err().map(|error| error.kind));
            if error.kind == ErrorKind::Limit {
                return false;
            }
            continue;
        }
        let reference = reference.unwrap_or_else(|error| panic!("reference: {error}"));
        let spans = spans.unwrap_or_else(|error| panic!("spans: {error}"));
        let ids: Vec<u32> = reference.iter().map(|token| token.id).collect();
        assert_eq!(fast, ids, "{text:?} {options:?}");
        let places: Vec<_> = spans.tokens.iter().map(|token| (token.id, token.original)).collect();
        let expected: Vec<_> = reference
            .iter()
            .map(|token| (token.id, (token.start as usize, token.end as usize)))
            .collect();
        assert_eq!(places, expected, "{text:?} {options:?}");
        decode_once(pipeline, &fast, &mut decodes);
    }
    for pair in [None, Some("b")] {
        let options = EncodeOptions { special: SpecialPolicy::Parse, ..EncodeOptions::default() };
        if let Ok(encoding) = pipeline.encode(text, pair, &options) {
            decode_once(pipeline, &encoding.ids, &mut decodes);
        }
    }
    decodes
}

/// Ids, known or not, are decoded or refused.
///
/// # Panics
/// Where an id that came from a text is not known.
pub fn decode(pipeline: &Pipeline, ids: &[u32]) {
    let mut decodes = true;
    decode_once(pipeline, ids, &mut decodes);
}

/// Ids that become long texts are decoded once, not in every way: that takes long.
const LONG: usize = 1 << 12;

/// Decodes unless an earlier text grew without measure: that takes long, and once is enough.
fn decode_once(pipeline: &Pipeline, ids: &[u32], decodes: &mut bool) {
    let options = DecodeOptions { unknown: Unknown::Skip, ..DecodeOptions::default() };
    let decoded = if *decodes { pipeline.decode(ids, options) } else { return };
    match decoded {
        Err(error) if error.kind == ErrorKind::Limit => {
            *decodes = false;
            return;
        }
        Ok(text) if text.len() > LONG => return,
        _ => {}
    }
    for errors in [Errors::Replace, Errors::Strict, Errors::Reference] {
        for unknown in [Unknown::Raise, Unknown::Skip] {
            for skip_special_tokens in [false, true] {
                for clean_up_spaces in [false, true] {
                    let options =
                        DecodeOptions { skip_special_tokens, errors, unknown, clean_up_spaces };
                    let _ = pipeline.decode(ids, options);
                    let _ = pipeline.decode_bytes(ids, options);
                }
            }
        }
    }
}

/// What was saved as a `tokenizer.json` is read as the same tokenizer.
fn saved(pipeline: &Pipeline, stored: &[u8]) {
    let loaded = tokenizer_json::read(stored)
        .unwrap_or_else(|error| panic!("what was saved is refused: {error}"));
    let again = Pipeline::compile(loaded.spec, &CompileOptions::default())
        .unwrap_or_else(|error| panic!("what was saved does not compile: {error}"));
    if pipeline.spec().semantics == Semantics::HuggingFace {
        assert_eq!(again.spec(), pipeline.spec());
    }
    let options = EncodeOptions { special: SpecialPolicy::Parse, ..EncodeOptions::default() };
    for text in TEXTS {
        let before = pipeline.encode(text, None, &options).map(|encoding| encoding.ids).ok();
        let after = again.encode(text, None, &options).map(|encoding| encoding.ids).ok();
        assert_eq!(before, after, "{text:?}");
    }
}
