//! The targets by name. A NUL separates the parts of an input that stands for several files.

use std::sync::LazyLock;

use base64::Engine as _;
use protok_core::formats::vocab_merges::{self, Companions, Family};
use protok_core::formats::vocab_txt::{self, Flags};
use protok_core::formats::{Files, Options, gguf, rwkv, sentencepiece, tekken, tiktoken};
use protok_core::formats::{directory, tokenizer_json};
use protok_core::normalize::Normalizer;
use protok_core::pattern::{Ends, Matcher, Tiles};
use protok_core::pretokenize::GPT2_PATTERN;
use protok_core::snapshot;
use protok_core::spec::{self, Semantics};
use protok_core::text::aligned::AlignedText;

use crate::{exercise, samples};

/// A target.
pub type Target = fn(&[u8]);

/// All targets.
pub const TARGETS: &[(&str, Target)] = &[
    ("tokenizer_json", tokenizer_json),
    ("companions", companions),
    ("vocab_merges", vocab_merges),
    ("tiktoken", tiktoken),
    ("sentencepiece", sentencepiece),
    ("vocab_txt", vocab_txt),
    ("tekken", tekken),
    ("rwkv", rwkv),
    ("gguf", gguf),
    ("folder", folder),
    ("pattern", pattern),
    ("blocks", blocks),
    ("charsmap", charsmap),
    ("encode", encode),
    ("decode", decode),
    ("snapshot", snapshot),
];

/// Runs a target on an input.
///
/// # Panics
/// Where the engine is wrong, or there is no such target.
pub fn run(name: &str, data: &[u8]) {
    let target = TARGETS.iter().find(|(known, _)| *known == name);
    let Some((_, target)) = target else { panic!("there is no target {name}") };
    target(data);
}

fn tokenizer_json(data: &[u8]) {
    if let Ok(loaded) = tokenizer_json::read(data) {
        exercise::spec(loaded.spec);
    }
}

/// The files beside a tokenizer: the first byte says which, the rest is their content.
fn companions(data: &[u8]) {
    const NAMES: &[&str] = &[
        "tokenizer_config.json",
        "special_tokens_map.json",
        "generation_config.json",
        "added_tokens.json",
        "chat_template.json",
        "chat_template.jinja",
    ];
    let Some((first, rest)) = data.split_first() else { return };
    let mut files = Files::default();
    let main = samples::main_file(*first >> 3);
    for (name, bytes) in &main {
        files.insert(*name, bytes);
    }
    for (part, place) in rest.split(|byte| *byte == 0).zip(usize::from(*first & 7)..) {
        files.insert(NAMES[place % NAMES.len()], part);
    }
    if let Ok(artifact) = directory::read(&files, &Options::default()) {
        exercise::spec(artifact.spec);
    }
}

fn vocab_merges(data: &[u8]) {
    let Some((first, vocab, merges)) = two_texts(data) else { return };
    let families =
        [Family::Gpt2, Family::Roberta, Family::Clip, Family::Whisper, Family::OpenAiGpt];
    let family = families.get(usize::from(first % 6)).copied();
    if let Ok((spec, _)) = vocab_merges::read(vocab, merges, family, &Companions::default()) {
        exercise::spec(spec);
    }
}

/// A byte, a text up to a NUL, and a text.
fn two_texts(data: &[u8]) -> Option<(u8, &str, &str)> {
    let (first, rest) = data.split_first()?;
    let cut = rest.iter().position(|byte| *byte == 0)?;
    let text = |bytes| std::str::from_utf8(bytes).ok();
    Some((*first, text(&rest[..cut])?, text(&rest[cut + 1..])?))
}

/// A rank file, and after a NUL its companion.
fn tiktoken(data: &[u8]) {
    let cut = data.iter().position(|byte| *byte == 0).unwrap_or(data.len());
    let Ok(ranks) = tiktoken::read_ranks(&data[..cut]) else { return };
    let companion = data.get(cut + 1..).and_then(|rest| std::str::from_utf8(rest).ok());
    let says = companion.and_then(|text| tiktoken::read_companion(text).ok());
    let (pattern, special) = match &says {
        Some(says) => (says.pattern.as_str(), says.special_tokens.as_slice()),
        None => (r"\s+|\S+", &[][..]),
    };
    if let Ok(spec) = tiktoken::spec(ranks, pattern, special) {
        exercise::spec(spec);
    }
}

fn sentencepiece(data: &[u8]) {
    if let Ok(loaded) = sentencepiece::read(data) {
        exercise::spec(loaded.spec);
    }
}

fn vocab_txt(data: &[u8]) {
    let Some((first, rest)) = data.split_first() else { return };
    let Ok(text) = std::str::from_utf8(rest) else { return };
    let flag = |at: u8| match first >> at & 3 {
        0 => None,
        value => Some(value == 1),
    };
    let flags =
        Flags { do_lower_case: flag(0), tokenize_chinese_chars: flag(2), strip_accents: flag(4) };
    if let Ok((spec, _)) = vocab_txt::read(text, flags, &Companions::default()) {
        exercise::spec(spec);
    }
}

fn tekken(data: &[u8]) {
    // Every byte has to be a token, so the input is laid over a file that has them.
    let Ok(text) = std::str::from_utf8(data) else { return };
    for text in [text.to_owned(), text.replace("@BYTES@", &samples::tekken_bytes())] {
        if let Ok(spec) = tekken::read(&text) {
            exercise::spec(spec);
        }
    }
}

fn rwkv(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(spec) = rwkv::read(text) {
        exercise::spec(spec);
    }
}

fn gguf(data: &[u8]) {
    if let Ok(loaded) = gguf::read(data) {
        exercise::spec(loaded.spec);
    }
}

/// A folder of one to three files whose formats are told by their content.
fn folder(data: &[u8]) {
    const NAMES: &[&str] = &["tokenizer.model", "vocab.txt", "a.json", "tokenizer.json", "b"];
    let Some((first, rest)) = data.split_first() else { return };
    let parts = rest.splitn(1 + usize::from(*first >> 6), |byte| *byte == 0);
    let files = parts.zip(usize::from(*first & 15)..);
    let files: Files<'_> =
        files.map(|(part, at)| (NAMES[at % NAMES.len()].to_owned(), part)).collect();
    let options = Options { pattern: Some(r"\w+|\W".to_owned()), ..Options::default() };
    if let Ok(artifact) = directory::read(&files, &options) {
        exercise::spec(artifact.spec);
    }
}

/// A snapshot whose digest is right, whatever it says. What it says need not be true, so that the
/// paths may differ; but nothing may be read where nothing is.
fn snapshot(data: &[u8]) {
    let mut bytes = data.to_vec();
    snapshot::seal(&mut bytes);
    let key = snapshot::Key::from([0; 32]);
    if let Ok((pipeline, info)) = snapshot::read(&bytes, &key, None, None) {
        exercise::stands(&pipeline);
        if let Ok(again) = snapshot::write(&pipeline, &info, &key) {
            let read = snapshot::read(&again, &key, None, None);
            let (read, _) = read.unwrap_or_else(|error| panic!("written, and refused: {error}"));
            assert_eq!(read.spec(), pipeline.spec());
        }
    }
}

/// A pattern, and after a NUL a text that it is searched for in.
fn pattern(data: &[u8]) {
    let Some((first, pattern, text)) = two_texts(data) else { return };
    let semantics = if first & 1 == 0 { Semantics::HuggingFace } else { Semantics::Tiktoken };
    let Ok(matcher) = Matcher::compile(pattern, semantics) else { return };
    let mut last = 0;
    let _ = matcher.for_each_match(text, |start, end| {
        assert!(last <= start && start <= end && end <= text.len(), "{pattern:?} {text:?}");
        assert!(text.is_char_boundary(start) && text.is_char_boundary(end));
        last = end;
    });
    tiles_are_matches(&matcher, text);
}

/// Where matches tile every text, those found many at a time are those found one by one.
fn tiles_are_matches(matcher: &Matcher, text: &str) {
    if !matcher.covers() {
        return;
    }
    let (mut tiles, mut ends, mut found) = (Tiles::new(matcher, text), Ends::default(), Vec::new());
    while tiles.next_ends(&mut ends).is_ok() && !ends.places().is_empty() {
        found.extend_from_slice(ends.places());
    }
    let mut expected = Vec::new();
    if matcher.for_each_match(text, |_, end| expected.push(end)).is_ok() {
        assert_eq!(found, expected, "{matcher:?} {text:?}");
    }
}

/// The public grammars that ASCII is cut by in blocks: GPT-2's, cl100k's, Qwen's, o200k's, tekken's.
static GRAMMARS: LazyLock<Vec<Matcher>> = LazyLock::new(|| {
    let words = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+";
    let names = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*";
    let suffix = "(?i:'s|'t|'re|'ve|'m|'ll|'d)?";
    let signs = r" ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+";
    let lines = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
    let contracted = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+";
    let patterns = [
        GPT2_PATTERN.to_owned(),
        format!(r"{contracted}|\p{{N}}{{1,3}}|{lines}"),
        format!(r"{contracted}|\p{{N}}|{lines}"),
        format!(r"{words}{suffix}|{names}{suffix}|\p{{N}}{{1,3}}|{signs}"),
        format!(r"{words}|{names}|\p{{N}}|{signs}"),
    ];
    let compiled = patterns.iter().map(|p| Matcher::compile(p, Semantics::HuggingFace));
    compiled.filter_map(Result::ok).filter(Matcher::covers).collect()
});

/// The number of a grammar, and a text, which is long enough for blocks when it comes again.
fn blocks(data: &[u8]) {
    let Some((first, rest)) = data.split_first() else { return };
    assert_eq!(GRAMMARS.len(), 5);
    let text = long(&String::from_utf8_lossy(rest), 200);
    tiles_are_matches(&GRAMMARS[usize::from(*first) % 5], &text);
}

/// A text again and again, until it has so many bytes.
fn long(text: &str, bytes: usize) -> String {
    text.repeat(if text.is_empty() { 0 } else { bytes.div_ceil(text.len()) })
}

/// A character map, both ways to read it, on each of two texts.
fn charsmap(data: &[u8]) {
    let precompiled_charsmap = base64::engine::general_purpose::STANDARD.encode(data);
    let hugging_face = spec::Normalizer::Precompiled(spec::Precompiled {
        precompiled_charsmap: precompiled_charsmap.clone(),
    });
    let rules = spec::Normalizer::SentencePiece(spec::SentencePieceNormalizer {
        precompiled_charsmap: Some(precompiled_charsmap),
        add_dummy_prefix: true,
        remove_extra_whitespaces: data.len() & 1 == 0,
        escape_whitespaces: data.len() & 2 == 0,
        treat_whitespace_as_suffix: data.len() & 4 == 0,
        protected: vec!["ab".to_owned()],
    });
    let maps = [(hugging_face, Semantics::HuggingFace), (rules, Semantics::SentencePiece)];
    for (map, semantics) in maps {
        let Ok(normalizer) = Normalizer::compile(Some(&map), semantics) else { continue };
        for text in [samples::PROSE, "ab  ab\u{2581} é\u{301} ﬁ①ｶﾞ\t\u{3000}x "] {
            let fast = normalizer.apply(text).map(std::borrow::Cow::into_owned);
            let mut aligned = AlignedText::new(text, 0);
            let reference = normalizer.apply_aligned(&mut aligned, |_, _| {});
            assert_eq!(fast.as_deref().ok(), reference.ok().map(|()| aligned.text()));
        }
    }
}

/// A text for one of the sample tokenizers: both paths; stray bytes where it holds any.
fn encode(data: &[u8]) {
    let Some((first, rest)) = data.split_first() else { return };
    let pipeline = samples::pipeline(*first);
    let text = String::from_utf8_lossy(rest);
    exercise::paths(pipeline, &text);
    // Long texts are encoded part by part, and what comes again is looked up.
    exercise::paths(pipeline, &long(&text, 2048));
    let options = protok_core::pipeline::encode::EncodeOptions {
        special: protok_core::added_tokens::SpecialPolicy::Text,
        add_special_tokens: false,
        ..Default::default()
    };
    if let Ok(encoding) = pipeline.encode_bytes(rest, &options) {
        let spans = pipeline.spans(rest, &options);
        let ids = spans.map(|spans| spans.tokens.iter().map(|token| token.id).collect::<Vec<_>>());
        assert_eq!(ids.as_ref(), Ok(&encoding.ids));
    }
}

/// Ids for one of the sample tokenizers: small ones, and any.
fn decode(data: &[u8]) {
    let Some((first, rest)) = data.split_first() else { return };
    let pipeline = samples::pipeline(*first);
    let small: Vec<u32> = rest.iter().map(|&byte| u32::from(byte)).collect();
    exercise::decode(pipeline, &small);
    let (chunks, _) = rest.as_chunks::<4>();
    let any: Vec<u32> = chunks.iter().map(|chunk| u32::from_le_bytes(*chunk)).collect();
    exercise::decode(pipeline, &any);
}
