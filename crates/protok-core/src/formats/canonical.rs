//! The canonical form of a [`Spec`], and its fingerprint.
//!
//! The form is compact JSON with sorted keys and all defaults written out, one entry a component:
//! `added_tokens`, `decoder`, `model`, `normalizer`, `padding`, `post_processor`,
//! `pre_tokenizer`, `semantics`, `truncation`, and `version`, the version of this form. Nothing of
//! a file's layout is left in it: formatting, key order, legacy spellings, unknown fields and the
//! order of a vocabulary do not show. Large parts stand as hashes of their content:
//!
//! - `vocab`: SHA-256 over the entries ordered by id, then bytes; each is the id and the length
//!   of the token as 32-bit little-endian integers, and the token. A Unigram entry is followed by
//!   its score as the 64 bits of a double, and a later entry of the same spelling stays.
//! - `merges`: SHA-256 over the pairs of ids, 32-bit little-endian, in order; of a pair that is
//!   listed twice only the last mention. A rank vocabulary has the string `by_rank`.
//!
//! [`fingerprint`] is `sha256:` and the hash of the whole form, [`components`] has one hash for
//! each component, so that a difference can be named.

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::hash::{hex, sha256_hex};
use super::tokenizer_json;
use crate::error::{Error, Result};
use crate::spec::{AddedToken, Merges, Model, PreTokenizer, Spec, TokenList};
use crate::vocab::SeededMap;

/// The version of the form described above; it changes when a fingerprint would.
const VERSION: u32 = 1;

/// The canonical form as a JSON value with sorted keys.
///
/// # Errors
/// If a component holds a number that JSON cannot write.
pub fn canonical(spec: &Spec) -> Result<Value> {
    with_added_tokens(spec, serde_json::to_value(added_tokens(spec)).map_err(unwritable)?)
}

fn unwritable(error: serde_json::Error) -> Error {
    Error::artifact("added_tokens", format!("They cannot be written: {error}."))
}

/// The added tokens in the order of the form.
fn added_tokens(spec: &Spec) -> Vec<Sorted<'_>> {
    let mut tokens: Vec<Sorted<'_>> = spec.added_tokens.iter().map(Sorted::from).collect();
    tokens.sort_by(|a, b| (a.id, a.content).cmp(&(b.id, b.content)));
    tokens
}

/// An added token with its fields in order.
#[derive(serde::Serialize)]
struct Sorted<'a> {
    content: &'a str,
    id: u32,
    lstrip: bool,
    normalized: bool,
    rstrip: bool,
    single_word: bool,
    special: bool,
}

impl<'a> From<&'a AddedToken> for Sorted<'a> {
    fn from(token: &'a AddedToken) -> Self {
        let AddedToken { id, content, single_word, lstrip, rstrip, normalized, special } = token;
        Self {
            content,
            id: *id,
            lstrip: *lstrip,
            normalized: *normalized,
            rstrip: *rstrip,
            single_word: *single_word,
            special: *special,
        }
    }
}

fn with_added_tokens(spec: &Spec, added_tokens: Value) -> Result<Value> {
    let components = tokenizer_json::components(spec)?;
    let mut pre_tokenizer = components.pre_tokenizer;
    if let Some(component) = &spec.pre_tokenizer {
        add_dialect(component, &mut pre_tokenizer)?;
    }
    let value = json!({
        "version": VERSION,
        "semantics": spec.semantics,
        "normalizer": components.normalizer,
        "pre_tokenizer": pre_tokenizer,
        "model": model(&spec.model),
        "post_processor": components.post_processor,
        "decoder": components.decoder,
        "added_tokens": added_tokens,
        "truncation": spec.truncation,
        "padding": spec.padding,
    });
    Ok(sorted(value))
}

/// The fingerprint of a Spec: `sha256:` and 64 hex digits.
///
/// # Errors
/// See [`canonical`].
pub fn fingerprint(spec: &Spec) -> Result<String> {
    // There may be very many added tokens: they are written straight, into their place in the
    // form, which is the first.
    let added = serde_json::to_string(&added_tokens(spec)).map_err(unwritable)?;
    let rest = with_added_tokens(spec, json!([]))?.to_string();
    let form = rest.replacen("[]", &added, 1);
    Ok(format!("sha256:{}", sha256_hex(form.as_bytes())))
}

/// The fingerprint of each component, by name.
///
/// # Errors
/// See [`canonical`].
pub fn components(spec: &Spec) -> Result<Vec<(String, String)>> {
    match canonical(spec)? {
        Value::Object(map) => {
            Ok(map.into_iter().map(|(name, value)| (name, hash(&value))).collect())
        }
        _ => Err(Error::artifact("spec", "The canonical form is not an object.")),
    }
}

fn hash(value: &Value) -> String {
    // Values print compactly and in key order.
    format!("sha256:{}", sha256_hex(value.to_string().as_bytes()))
}

/// A pattern means something else in another dialect, which a `tokenizer.json` has no word for.
fn add_dialect(component: &PreTokenizer, value: &mut Value) -> Result<()> {
    match (component, value) {
        (PreTokenizer::Sequence(items), Value::Object(map)) => {
            let values = map.get_mut("pretokenizers").and_then(Value::as_array_mut);
            for (item, value) in items.iter().zip(values.into_iter().flatten()) {
                add_dialect(item, value)?;
            }
        }
        (PreTokenizer::Split(split), Value::Object(map)) => {
            let dialect = serde_json::to_value(split.semantics)
                .map_err(|error| Error::artifact("pre_tokenizer", format!("{error}.")))?;
            map.insert("semantics".to_owned(), dialect);
        }
        _ => {}
    }
    Ok(())
}

fn model(model: &Model) -> Value {
    match model {
        Model::Bpe(model) => {
            let mut value = json!({
            "type": "BPE",
            "dropout": model.dropout,
            "unk_token": model.unk_token,
            "continuing_subword_prefix": model.continuing_subword_prefix,
            "end_of_word_suffix": model.end_of_word_suffix,
            "fuse_unk": model.fuse_unk,
            "byte_fallback": model.byte_fallback,
            "ignore_merges": model.ignore_merges,
            "vocab": vocab(&model.vocab, None),
            "merges": merges(&model.merges),
            });
            if model.whole_line_ends {
                value["whole_line_ends"] = true.into();
            }
            value
        }
        Model::WordPiece(model) => json!({
            "type": "WordPiece",
            "unk_token": model.unk_token,
            "continuing_subword_prefix": model.continuing_subword_prefix,
            "max_input_chars_per_word": model.max_input_chars_per_word,
            "vocab": vocab(&model.vocab, None),
        }),
        Model::WordLevel(model) => json!({
            "type": "WordLevel",
            "unk_token": model.unk_token,
            "vocab": vocab(&model.vocab, None),
        }),
        Model::Unigram(model) => json!({
            "type": "Unigram",
            "unk_id": model.unk_id,
            "byte_fallback": model.byte_fallback,
            "vocab": vocab(&model.vocab, Some(&model.scores)),
            "kinds": model.kinds,
        }),
        Model::SentencePieceBpe(model) => json!({
            "type": "SentencePieceBPE",
            "unk_id": model.unk_id,
            "byte_fallback": model.byte_fallback,
            "vocab": vocab(&model.vocab, Some(&model.scores)),
            "kinds": model.kinds,
        }),
        Model::SentencePieceWord(model) => json!({
            "type": "SentencePieceWord",
            "unk_id": model.unk_id,
            "byte_fallback": model.byte_fallback,
            "unit": model.unit,
            "vocab": vocab(&model.vocab, None),
            "kinds": model.kinds,
        }),
        Model::Greedy(model) => json!({ "type": "Greedy", "vocab": vocab(&model.vocab, None) }),
        Model::Bytes(model) => json!({
            "type": "Bytes",
            "offset": model.offset,
            "vocab": vocab(&model.vocab, None),
        }),
    }
}

fn vocab(tokens: &TokenList, scores: Option<&[f64]>) -> Value {
    let mut order: Vec<usize> = (0..tokens.len()).collect();
    order.sort_by_key(|&index| (tokens.id(index), tokens.bytes(index)));
    let mut hash = Sha256::new();
    for index in order {
        let token = tokens.bytes(index);
        hash.update(tokens.id(index).to_le_bytes());
        // A token list holds 4 GiB at most.
        hash.update((token.len() as u32).to_le_bytes());
        hash.update(token);
        if let Some(score) = scores.and_then(|scores| scores.get(index)) {
            hash.update(score.to_bits().to_le_bytes());
        }
    }
    json!({ "tokens": tokens.len(), "sha256": hex(&hash.finalize()) })
}

fn merges(merges: &Merges) -> Value {
    let Merges::Listed(pairs) = merges else { return json!("by_rank") };
    let last: SeededMap<(u32, u32), usize> =
        pairs.iter().enumerate().map(|(at, pair)| (*pair, at)).collect();
    let mut hash = Sha256::new();
    for (at, pair) in pairs.iter().enumerate() {
        if last.get(pair) == Some(&at) {
            hash.update(pair.0.to_le_bytes());
            hash.update(pair.1.to_le_bytes());
        }
    }
    json!({ "pairs": last.len(), "sha256": hex(&hash.finalize()) })
}

/// The same value with the keys of every object in order.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<(String, Value)> = map.into_iter().collect();
            entries.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Object(
                entries.into_iter().map(|(key, value)| (key, sorted(value))).collect::<Map<_, _>>(),
            )
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        other => other,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const FILE: &str = r#"{"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2},
        "merges": [["a", "b"]]}, "pre_tokenizer": {"type": "Punctuation"}}"#;

    fn of(text: &str) -> String {
        fingerprint(&tokenizer_json::read(text.as_bytes()).unwrap().spec).unwrap()
    }

    #[test]
    fn layout_and_legacy_spellings_do_not_show() {
        let other = r#"{"version":"1.0","pre_tokenizer":{"behavior":"Isolated","type":"Punctuation"},
            "model":{"merges":["a b"],"vocab":{"ab":2,"b":1,"a":0},"fuse_unk":null}, "x": 1}"#;
        assert_eq!(of(FILE), of(other));
        // Pinned: a change here is a change of every lock file.
        assert_eq!(
            of(FILE),
            "sha256:2487528ed6f073259948a93003d50a47d1adb61e80f046ac90ff074d03753df1"
        );
    }

    #[test]
    fn it_is_the_hash_of_the_form() {
        let added = r#""added_tokens": [
            {"id": 3, "content": "[]\"é", "single_word": true, "lstrip": false, "rstrip": true,
             "normalized": false, "special": true},
            {"id": 2, "content": "ab", "single_word": false, "lstrip": true, "rstrip": false,
             "normalized": true, "special": false}], "model"#;
        for text in [FILE.to_owned(), FILE.replacen("\"model", added, 1)] {
            let spec = tokenizer_json::read(text.as_bytes()).unwrap().spec;
            let form = canonical(&spec).unwrap();
            assert!(form.to_string().starts_with(r#"{"added_tokens":["#));
            assert_eq!(fingerprint(&spec).unwrap(), hash(&form));
        }
    }

    #[test]
    fn every_component_shows() {
        for (from, to) in [
            ("Punctuation", "Whitespace"),
            (r#""ab": 2"#, r#""ab": 3"#),
            (r#"[["a", "b"]]"#, "[]"),
            ("}}", r#"}, "normalizer": {"type": "NFC"}}"#),
            ("}}", r#"}, "decoder": {"type": "Fuse"}}"#),
        ] {
            assert_ne!(of(FILE), of(&FILE.replacen(from, to, 1)), "{from}");
        }
        let spec = tokenizer_json::read(FILE.as_bytes()).unwrap().spec;
        let names: Vec<_> = components(&spec).unwrap().into_iter().map(|(name, _)| name).collect();
        assert!(names.is_sorted() && names.len() == 10);
    }
}
