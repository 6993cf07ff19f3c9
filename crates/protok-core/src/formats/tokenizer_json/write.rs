//! From a [`Spec`] to the bytes of a `tokenizer.json`, in the reference's layout.

use std::collections::BTreeMap;

use serde::ser::{Error as _, SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::from_greedy::from_greedy;
use super::from_sentencepiece::from_sentencepiece;
use super::{from_ranks, score, settle, vocab};
use crate::error::{Error, Result};
use crate::formats::node::DEPTH;
use crate::spec::{
    AddedToken, Bpe, Decoder, Merges, Model, Normalizer, PostProcessor, PreTokenizer, Semantics,
    Spec, TokenList, Unigram,
};
use crate::vocab::SeededMap;

/// Writes a `tokenizer.json` that protok and `tokenizers` read as this Spec.
///
/// Where another implementation's rules can be said in the words of the format, they are: rank
/// vocabularies (see [`from_ranks`]), some SentencePiece models, RWKV's longest match.
///
/// # Errors
/// An artifact error that names what the file's reader would read differently.
pub fn write(spec: &Spec) -> Result<Vec<u8>> {
    if matches!(&spec.model, Model::Bpe(Bpe { merges: Merges::ByRank, .. })) {
        return write(&from_ranks(spec)?);
    }
    match (&spec.model, spec.semantics) {
        (_, Semantics::SentencePiece) => return write(&from_sentencepiece(spec)?),
        (Model::Greedy(model), Semantics::Rwkv) => return write(&from_greedy(spec, model)?),
        _ => {}
    }
    if let Some(Decoder::LlamaCpp(_)) = &spec.decoder {
        return Err(refused("decoder", "decodes as llama.cpp does"));
    }
    if spec.semantics != Semantics::HuggingFace {
        return Err(refused("model", "does not follow the rules of Hugging Face tokenizers"));
    }
    if let Some(pre_tokenizer) = &spec.pre_tokenizer {
        check_split(pre_tokenizer)?;
    }
    if let Some(decoder) = &spec.decoder {
        check_decoder(decoder)?;
    }
    check_added_tokens(spec)?;
    let components = components(spec)?;
    for (place, value) in [
        ("normalizer", &components.normalizer),
        ("pre_tokenizer", &components.pre_tokenizer),
        ("post_processor", &components.post_processor),
        ("decoder", &components.decoder),
    ] {
        if depth(value) >= DEPTH {
            return Err(Error::artifact(place, "The components are nested too deeply to be read.")
                .hint("At most 62 may stand inside one another."));
        }
    }
    let document = Document {
        version: "1.0",
        truncation: spec.truncation.as_ref(),
        padding: spec.padding.as_ref(),
        added_tokens: sorted(&spec.added_tokens),
        components,
        model: ModelText::new(&spec.model)?,
    };
    serde_json::to_vec_pretty(&document)
        .map_err(|error| Error::artifact("model", format!("Cannot be written: {error}.")))
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

fn refused(place: &str, what: &str) -> Error {
    Error::artifact(place, format!("This {what}, so its reader would read it differently."))
        .hint("Save it in the format that it came from.")
}

fn sorted(tokens: &[AddedToken]) -> Vec<&AddedToken> {
    let mut tokens: Vec<&AddedToken> = tokens.iter().collect();
    tokens.sort_by_key(|token| token.id);
    tokens
}

fn check_split(pre_tokenizer: &PreTokenizer) -> Result<()> {
    match pre_tokenizer {
        PreTokenizer::Sequence(items) => items.iter().try_for_each(check_split),
        PreTokenizer::Split(split) if split.semantics != Semantics::HuggingFace => {
            Err(refused("pre_tokenizer.pattern", "is in another dialect"))
        }
        _ => Ok(()),
    }
}

fn check_decoder(decoder: &Decoder) -> Result<()> {
    match decoder {
        Decoder::Sequence(items) => items.iter().try_for_each(check_decoder),
        Decoder::Bytes => Err(refused("decoder", "decodes raw bytes")),
        Decoder::SentencePiece(_) => Err(refused("decoder", "decodes as SentencePiece does")),
        Decoder::LlamaCpp(_) => Err(refused("decoder", "decodes as llama.cpp does")),
        _ => Ok(()),
    }
}

fn check_added_tokens(spec: &Spec) -> Result<()> {
    let wanted: Vec<AddedToken> = sorted(&spec.added_tokens).into_iter().cloned().collect();
    let mut notes = Vec::new();
    let given = settle(wanted.clone(), spec.model.tokens(), &mut notes);
    if given == wanted {
        return Ok(());
    }
    let what = notes.into_iter().next().unwrap_or_else(|| "some would change".to_owned());
    Err(Error::artifact("added_tokens", format!("The file's reader would read otherwise: {what}."))
        .hint("Put the token into the model's vocabulary with the id that it should have."))
}

#[derive(Serialize)]
struct Document<'a> {
    version: &'static str,
    truncation: Option<&'a Value>,
    padding: Option<&'a Value>,
    added_tokens: Vec<&'a AddedToken>,
    #[serde(flatten)]
    components: Components,
    model: ModelText<'a>,
}

/// The components other than the model, as the file has them.
#[derive(Debug, Serialize)]
pub(crate) struct Components {
    pub(crate) normalizer: Value,
    pub(crate) pre_tokenizer: Value,
    pub(crate) post_processor: Value,
    pub(crate) decoder: Value,
}

/// Spells the components other than the model.
pub(crate) fn components(spec: &Spec) -> Result<Components> {
    let failed = |error: serde_json::Error| Error::artifact("spec", format!("{error}."));
    let or_null = |value: Option<serde_json::Result<Value>>| {
        value.transpose().map(Option::unwrap_or_default).map_err(failed)
    };
    Ok(Components {
        normalizer: or_null(spec.normalizer.as_ref().map(normalizer))?,
        pre_tokenizer: or_null(spec.pre_tokenizer.as_ref().map(pre_tokenizer))?,
        post_processor: or_null(spec.post_processor.as_ref().map(post_processor))?,
        decoder: or_null(spec.decoder.as_ref().map(decoder))?,
    })
}

/// A component's fields after its `type`.
fn tagged(name: &str, fields: impl Serialize) -> serde_json::Result<Value> {
    let mut map = serde_json::Map::new();
    map.insert("type".to_owned(), Value::from(name));
    if let Value::Object(fields) = serde_json::to_value(fields)? {
        map.extend(fields);
    }
    Ok(Value::Object(map))
}

fn bare(name: &str) -> serde_json::Result<Value> {
    Ok(json!({ "type": name }))
}

fn list<T>(
    field: &str,
    items: &[T],
    spell: fn(&T) -> serde_json::Result<Value>,
) -> serde_json::Result<Value> {
    let items = items.iter().map(spell).collect::<serde_json::Result<Vec<_>>>()?;
    tagged("Sequence", json!({ field: items }))
}

fn normalizer(normalizer: &Normalizer) -> serde_json::Result<Value> {
    match normalizer {
        Normalizer::Sequence(items) => list("normalizers", items, self::normalizer),
        Normalizer::Nfc => bare("NFC"),
        Normalizer::Nfd => bare("NFD"),
        Normalizer::Nfkc => bare("NFKC"),
        Normalizer::Nfkd => bare("NFKD"),
        Normalizer::Lowercase => bare("Lowercase"),
        Normalizer::StripAccents => bare("StripAccents"),
        Normalizer::Replace(fields) => tagged("Replace", fields),
        Normalizer::Prepend(fields) => tagged("Prepend", fields),
        Normalizer::Strip(fields) => tagged("Strip", fields),
        Normalizer::Bert(fields) => tagged("BertNormalizer", fields),
        Normalizer::Nmt => bare("Nmt"),
        Normalizer::Precompiled(fields) => tagged("Precompiled", fields),
        Normalizer::ByteLevel => bare("ByteLevel"),
        // Protok's own; `write` refuses its semantics, the canonical form needs its name.
        Normalizer::SentencePiece(fields) => tagged("SentencePiece", fields),
        Normalizer::LlamaCppWords(fields) => tagged("LlamaCppWords", fields),
        Normalizer::LlamaCppBlanks(fields) => tagged("LlamaCppBlanks", fields),
    }
}

fn pre_tokenizer(pre_tokenizer: &PreTokenizer) -> serde_json::Result<Value> {
    match pre_tokenizer {
        PreTokenizer::Sequence(items) => list("pretokenizers", items, self::pre_tokenizer),
        PreTokenizer::ByteLevel(fields) => tagged("ByteLevel", fields),
        PreTokenizer::Split(fields) => tagged("Split", fields),
        PreTokenizer::Digits(fields) => tagged("Digits", fields),
        PreTokenizer::Bert => bare("BertPreTokenizer"),
        PreTokenizer::Whitespace => bare("Whitespace"),
        PreTokenizer::WhitespaceSplit => bare("WhitespaceSplit"),
        PreTokenizer::Metaspace(fields) => tagged("Metaspace", fields),
        PreTokenizer::Punctuation(fields) => tagged("Punctuation", fields),
        PreTokenizer::CharDelimiterSplit(fields) => tagged("CharDelimiterSplit", fields),
        PreTokenizer::UnicodeScripts => bare("UnicodeScripts"),
        PreTokenizer::FixedLength(fields) => tagged("FixedLength", fields),
    }
}

fn post_processor(post_processor: &PostProcessor) -> serde_json::Result<Value> {
    match post_processor {
        PostProcessor::Sequence(items) => list("processors", items, self::post_processor),
        PostProcessor::ByteLevel(fields) => tagged("ByteLevel", fields),
        PostProcessor::Roberta(fields) => tagged("RobertaProcessing", fields),
        PostProcessor::Bert(fields) => tagged("BertProcessing", fields),
        PostProcessor::Template(template) => {
            let tokens: BTreeMap<_, _> =
                template.special_tokens.iter().map(|(key, token)| (key, token)).collect();
            tagged(
                "TemplateProcessing",
                json!({
                    "single": template.single,
                    "pair": template.pair,
                    "special_tokens": tokens,
                }),
            )
        }
    }
}

fn decoder(decoder: &Decoder) -> serde_json::Result<Value> {
    match decoder {
        Decoder::Sequence(items) => list("decoders", items, self::decoder),
        Decoder::ByteLevel(fields) => tagged("ByteLevel", fields),
        Decoder::Bpe(fields) => tagged("BPEDecoder", fields),
        Decoder::Fuse => bare("Fuse"),
        Decoder::Replace(fields) => tagged("Replace", fields),
        Decoder::Strip(fields) => tagged("Strip", fields),
        Decoder::ByteFallback => bare("ByteFallback"),
        Decoder::WordPiece(fields) => tagged("WordPiece", fields),
        Decoder::Metaspace(fields) => tagged("Metaspace", fields),
        Decoder::Ctc(fields) => tagged("CTC", fields),
        // Protok's own; `write` refuses it, the canonical form needs its name.
        Decoder::Bytes => bare("Bytes"),
        Decoder::SentencePiece(fields) => tagged("SentencePiece", fields),
        Decoder::LlamaCpp(fields) => tagged("LlamaCpp", fields),
    }
}

// ---------------------------------------------------------------------------------------------
// The model

/// A model whose every part is known to be readable.
#[derive(Serialize)]
#[serde(tag = "type")]
enum ModelText<'a> {
    #[serde(rename = "BPE")]
    Bpe {
        dropout: Option<f32>,
        unk_token: Option<&'a str>,
        continuing_subword_prefix: Option<&'a str>,
        end_of_word_suffix: Option<&'a str>,
        fuse_unk: bool,
        byte_fallback: bool,
        ignore_merges: bool,
        vocab: VocabText<'a>,
        merges: MergesText<'a>,
    },
    WordPiece {
        unk_token: &'a str,
        continuing_subword_prefix: &'a str,
        max_input_chars_per_word: usize,
        vocab: VocabText<'a>,
    },
    WordLevel {
        vocab: VocabText<'a>,
        unk_token: &'a str,
    },
    Unigram {
        unk_id: Option<usize>,
        vocab: ScoredText<'a>,
        byte_fallback: bool,
    },
}

impl<'a> ModelText<'a> {
    fn new(model: &'a Model) -> Result<Self> {
        let tokens = model.tokens();
        for (token, id) in tokens.iter() {
            if std::str::from_utf8(token).is_err() {
                return Err(refused("model.vocab", &format!("has the token {id}, not UTF-8")));
            }
        }
        Ok(match model {
            Model::Bpe(bpe) if bpe.whole_line_ends => {
                return Err(refused("model", "takes line ends whole, as llama.cpp does"));
            }
            Model::Bpe(bpe) => ModelText::Bpe {
                dropout: bpe.dropout,
                unk_token: bpe.unk_token.as_deref(),
                continuing_subword_prefix: bpe.continuing_subword_prefix.as_deref(),
                end_of_word_suffix: bpe.end_of_word_suffix.as_deref(),
                fuse_unk: bpe.fuse_unk,
                byte_fallback: bpe.byte_fallback,
                ignore_merges: bpe.ignore_merges,
                vocab: VocabText::new(tokens)?,
                merges: MergesText::new(bpe)?,
            },
            Model::WordPiece(model) => ModelText::WordPiece {
                unk_token: &model.unk_token,
                continuing_subword_prefix: &model.continuing_subword_prefix,
                max_input_chars_per_word: model.max_input_chars_per_word,
                vocab: VocabText::new(tokens)?,
            },
            Model::WordLevel(model) => {
                ModelText::WordLevel { vocab: VocabText::new(tokens)?, unk_token: &model.unk_token }
            }
            Model::Unigram(model) if !model.kinds.is_empty() => {
                return Err(refused("model", "has pieces of several kinds, as SentencePiece does"));
            }
            Model::Unigram(model) => ModelText::Unigram {
                unk_id: model.unk_id,
                vocab: ScoredText::new(model)?,
                byte_fallback: model.byte_fallback,
            },
            Model::SentencePieceBpe(_)
            | Model::SentencePieceWord(_)
            | Model::Greedy(_)
            | Model::Bytes(_) => {
                return Err(refused("model", "is of a kind that the format does not have"));
            }
        })
    }
}

/// Tokens were checked to be UTF-8 before.
fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or_default()
}

/// `{"token": id}`, ordered by id.
struct VocabText<'a>(&'a TokenList, Vec<u32>);

impl<'a> VocabText<'a> {
    fn new(tokens: &'a TokenList) -> Result<Self> {
        if vocab::Index::new(tokens).len() != tokens.len() {
            return Err(refused("model.vocab", "has a token twice"));
        }
        let mut order: Vec<u32> = (0u32..).take(tokens.len()).collect();
        order.sort_by_key(|&index| tokens.id(index as usize));
        Ok(Self(tokens, order))
    }
}

impl Serialize for VocabText<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.1.len()))?;
        for &index in &self.1 {
            let index = index as usize;
            map.serialize_entry(text(self.0.bytes(index)), &self.0.id(index))?;
        }
        map.end()
    }
}

/// `[["a", "b"]]`.
struct MergesText<'a>(Vec<(&'a str, &'a str)>);

impl<'a> MergesText<'a> {
    fn new(model: &'a Bpe) -> Result<Self> {
        let Merges::Listed(merges) = &model.merges else {
            return Err(refused("model.merges", "merges by rank"));
        };
        let by_id: SeededMap<u32, &str> =
            model.vocab.iter().map(|(token, id)| (id, text(token))).collect();
        let index = vocab::Index::new(&model.vocab);
        let mut joiner = vocab::Joiner::new(&index, model.continuing_subword_prefix.as_deref());
        let mut pairs = Vec::with_capacity(merges.len());
        for (at, &(left, right)) in merges.iter().enumerate() {
            let bad = |what: String| {
                Error::artifact(format!("model.merges[{at}]"), format!("Bad merge: {what}."))
                    .hint("Merges join two tokens of the vocabulary into a third.")
            };
            let token =
                |id: u32| by_id.get(&id).copied().ok_or_else(|| bad(format!("no token {id}")));
            let (a, b) = (token(left)?, token(right)?);
            if joiner.join(a, b).map_err(bad)? != (left, right) {
                return Err(bad("its tokens share an id with others".to_owned()));
            }
            pairs.push((a, b));
        }
        Ok(Self(pairs))
    }
}

impl Serialize for MergesText<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_seq(&self.0)
    }
}

/// `[["piece", score]]`; the scores are spelled so that the reference reads them back.
struct ScoredText<'a>(&'a Unigram);

impl<'a> ScoredText<'a> {
    fn new(model: &'a Unigram) -> Result<Self> {
        let in_order = model.vocab.iter().zip(0u32..).all(|((_, id), place)| id == place);
        if !in_order || model.scores.len() != model.vocab.len() {
            return Err(refused("model.vocab", "has ids that are not the places of its pieces"));
        }
        if let Some(at) = model.scores.iter().position(|score| score::spell(*score).is_none()) {
            return Err(Error::artifact(
                format!("model.vocab[{at}]"),
                format!("No decimal is read by tokenizers as the score {:?}.", model.scores[at]),
            )
            .hint("Its number parser is inexact; save the model in the format it came from."));
        }
        Ok(Self(model))
    }
}

impl Serialize for ScoredText<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut seq = serializer.serialize_seq(Some(self.0.vocab.len()))?;
        for ((piece, _), score) in self.0.vocab.iter().zip(&self.0.scores) {
            let number = score::spell(*score).ok_or_else(|| S::Error::custom("no such score"))?;
            let number = RawValue::from_string(number).map_err(S::Error::custom)?;
            seq.serialize_element(&(text(piece), number))?;
        }
        seq.end()
    }
}
