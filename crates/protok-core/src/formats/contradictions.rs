//! Where a tokenizer file and the configuration around it mean different tokenizers.
//!
//! The file decides. What `transformers` would run instead is worked out as a whole
//! ([`super::transformers`]) and compared with the file part by part, so an option that changes
//! nothing is no contradiction, however it reads. Parts that differ in what they say and not in
//! what they do are equal: a sequence of one, a template without control tokens, an unknown token
//! for characters that cannot be unknown.
//!
//! The option to blame is found by trying: one whose other value makes the two agree.

use serde_json::Value;

use super::companions::{CONFIG, Companion};
use super::directory::Files;
use super::tokenizer_json;
use super::transformers::{self, Change, Pipeline};
use crate::error::Result;
use crate::spec::{
    AddedToken, BertNormalizer, Bpe, ByteLevel, Decoder, Merges, Metaspace, Model, Normalizer,
    PostProcessor, PreTokenizer, PrependScheme, SequenceName, Spec, StripNormalizer, TemplateItem,
    TokenList, WordLevel,
};
use crate::text::alphabet;
use crate::vocab::{SeededMap, SeededSet};

/// Of longer templates so much is compared; none of them compiles.
const MOST_ITEMS: usize = 4096;

/// One part of a tokenizer of which the file and its configuration say different things.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Contradiction {
    /// The option that makes the difference, such as `tokenizer_config.json.do_lower_case`.
    pub option: String,
    /// The part: `normalizer`, `pre_tokenizer`, `model`, `post_processor`, `decoder` or
    /// `added_tokens`.
    pub component: String,
    /// What the file says, which is what runs.
    pub file: String,
    /// What `transformers` would run.
    pub transformers: String,
}

/// Options that may be to blame, and the values to try.
const OPTIONS: &[&str] = &[
    "do_lower_case",
    "strip_accents",
    "tokenize_chinese_chars",
    "add_prefix_space",
    "legacy",
    "keep_accents",
    "split_by_punct",
    "clean_up_tokenization_spaces",
    "fix_mistral_regex",
    "added_tokens_decoder",
    "additional_special_tokens",
    "extra_special_tokens",
    "bos_token",
    "eos_token",
    "unk_token",
    "sep_token",
    "pad_token",
    "cls_token",
    "mask_token",
];

/// Compares what the file says with what `transformers` would run.
pub(super) fn find(
    files: &Files<'_>,
    json: &[u8],
    file: &Spec,
    theirs: &Pipeline,
) -> Result<Vec<Contradiction>> {
    let differ = differences(file, theirs);
    if differ.is_empty() {
        return Ok(Vec::new());
    }
    let mut blamed: Vec<Option<String>> = vec![None; differ.len()];
    let config = Companion::read(files, CONFIG)?;
    for option in OPTIONS {
        if blamed.iter().all(Option::is_some) {
            break;
        }
        let present = config.as_ref().is_some_and(|file| file.root().field(option).is_some());
        let values = [Change::Without, Change::Flag(true), Change::Flag(false)];
        for value in values {
            if !present && value == Change::Without {
                continue;
            }
            let Ok(other) = transformers::run(files, json, file, Some((option, value))) else {
                continue;
            };
            let still = differences(file, &other);
            for (part, blame) in differ.iter().zip(&mut blamed) {
                // Scores are not read again for every try.
                let tried = *part != "model" || theirs.scores.is_none();
                if blame.is_none() && tried && !still.contains(part) {
                    *blame = Some(format!("{CONFIG}.{option}"));
                }
            }
        }
    }
    let named =
        config.as_ref().is_some_and(|file| file.root().present("tokenizer_class").is_some());
    let class = if named { format!("{CONFIG}.tokenizer_class") } else { "config.json".to_owned() };
    differ
        .into_iter()
        .zip(blamed)
        .map(|(part, blame)| {
            let (ours, theirs) = describe(part, file, theirs)?;
            Ok(Contradiction {
                option: blame.unwrap_or_else(|| class.clone()),
                component: part.to_owned(),
                file: ours,
                transformers: theirs,
            })
        })
        .collect()
}

/// The parts that do different things.
fn differences(file: &Spec, theirs: &Pipeline) -> Vec<&'static str> {
    let mut parts = Vec::new();
    let mut compare = |part, same: bool| {
        if !same {
            parts.push(part);
        }
    };
    compare("normalizer", normalizers(&file.normalizer) == normalizers(&theirs.normalizer));
    let (ours, others) = (&file.pre_tokenizer, &theirs.pre_tokenizer);
    compare("pre_tokenizer", pre_tokenizers(ours) == pre_tokenizers(others));
    let same_model = theirs.model.as_ref().is_none_or(|options| same_model(file, options));
    compare("model", same_model && theirs.scores.is_none());
    let (ours, others) = (&file.post_processor, &theirs.post_processor);
    compare("post_processor", template(ours) == template(others));
    compare("decoder", decoders(&file.decoder) == decoders(&theirs.decoder));
    compare("added_tokens", added(&file.added_tokens) == added(&theirs.added_tokens));
    parts
}

/// Added tokens without what makes them special, which changes no id.
fn added(tokens: &[AddedToken]) -> Vec<AddedToken> {
    tokens.iter().map(|token| AddedToken { special: false, ..token.clone() }).collect()
}

/// The added tokens that only one side takes for special: `skip_special_tokens` tells.
pub(super) fn notes(file: &Spec, theirs: &Pipeline) -> Vec<String> {
    let pairs = file.added_tokens.iter().zip(&theirs.added_tokens);
    let same = |(own, other): &(&AddedToken, &AddedToken)| {
        own.content == other.content && own.special != other.special
    };
    pairs
        .filter(same)
        .map(|(own, other)| {
            let (ours, others) = match other.special {
                true => ("not special", "makes it special"),
                false => ("special", "does not"),
            };
            format!("added_tokens: {:?} is {ours} in the file; transformers {others}", own.content)
        })
        .collect()
}

// ---------------------------------------------------------------------------------------------
// What the parts do

fn normalizers(normalizer: &Option<Normalizer>) -> Vec<Normalizer> {
    fn collect(normalizer: &Normalizer, steps: &mut Vec<Normalizer>) {
        steps.push(match normalizer {
            Normalizer::Sequence(items) => {
                items.iter().for_each(|item| collect(item, steps));
                return;
            }
            Normalizer::Strip(StripNormalizer { strip_left: false, strip_right: false }) => return,
            Normalizer::Bert(bert) => {
                let strip_accents = Some(bert.strip_accents.unwrap_or(bert.lowercase));
                Normalizer::Bert(BertNormalizer { strip_accents, ..*bert })
            }
            other => other.clone(),
        });
    }
    let mut steps = Vec::new();
    normalizer.iter().for_each(|normalizer| collect(normalizer, &mut steps));
    steps
}

fn pre_tokenizers(pre_tokenizer: &Option<PreTokenizer>) -> Vec<PreTokenizer> {
    fn collect(pre_tokenizer: &PreTokenizer, steps: &mut Vec<PreTokenizer>) {
        steps.push(match pre_tokenizer {
            PreTokenizer::Sequence(items) => {
                items.iter().for_each(|item| collect(item, steps));
                return;
            }
            // Trimming is about offsets.
            PreTokenizer::ByteLevel(byte_level) => {
                PreTokenizer::ByteLevel(ByteLevel { trim_offsets: true, ..*byte_level })
            }
            other => other.clone(),
        });
    }
    let mut steps = Vec::new();
    pre_tokenizer.iter().for_each(|pre_tokenizer| collect(pre_tokenizer, &mut steps));
    steps
}

fn decoders(decoder: &Option<Decoder>) -> Vec<Decoder> {
    fn collect(decoder: &Decoder, steps: &mut Vec<Decoder>) {
        steps.push(match decoder {
            Decoder::Sequence(items) => {
                items.iter().for_each(|item| collect(item, steps));
                return;
            }
            Decoder::ByteLevel(_) => Decoder::ByteLevel(ByteLevel {
                add_prefix_space: true,
                trim_offsets: true,
                use_regex: true,
            }),
            Decoder::Metaspace(marks) => Decoder::Metaspace(Metaspace {
                prepend_scheme: match marks.prepend_scheme {
                    PrependScheme::Never => PrependScheme::Never,
                    PrependScheme::First | PrependScheme::Always => PrependScheme::Always,
                },
                split: true,
                ..*marks
            }),
            other => other.clone(),
        });
    }
    let mut steps = Vec::new();
    decoder.iter().for_each(|decoder| collect(decoder, &mut steps));
    steps
}

/// An item of a template: the id of a control token, or the number of a text; and its type id.
type Item = (Option<u32>, usize, u32);

/// The templates for one text and for two.
fn template(processor: &Option<PostProcessor>) -> [Vec<Item>; 2] {
    let text = |number, type_id| (None, number, type_id);
    let token = |id: u32, type_id| (Some(id), 0, type_id);
    match processor {
        None | Some(PostProcessor::ByteLevel(_)) => {
            [vec![text(0, 0)], vec![text(0, 0), text(1, 1)]]
        }
        Some(PostProcessor::Sequence(items)) => {
            // Only one of them may add tokens, or the file is refused.
            let adds = |item: &&PostProcessor| !matches!(item, PostProcessor::ByteLevel(_));
            template(&items.iter().find(adds).cloned())
        }
        Some(PostProcessor::Roberta(fields)) => {
            let (cls, sep) = (token(fields.cls.1, 0), token(fields.sep.1, 0));
            [vec![cls, text(0, 0), sep], vec![cls, text(0, 0), sep, sep, text(1, 0), sep]]
        }
        Some(PostProcessor::Bert(fields)) => {
            let (cls, sep) = (token(fields.cls.1, 0), token(fields.sep.1, 0));
            let pair = vec![cls, text(0, 0), sep, text(1, 1), token(fields.sep.1, 1)];
            [vec![cls, text(0, 0), sep], pair]
        }
        Some(PostProcessor::Template(fields)) => [&fields.single, &fields.pair].map(|items| {
            let mut expanded = Vec::new();
            for item in items {
                if expanded.len() > MOST_ITEMS {
                    break;
                }
                match item {
                    TemplateItem::Sequence { id, type_id } => {
                        expanded.push(text(usize::from(*id == SequenceName::B), *type_id));
                    }
                    TemplateItem::SpecialToken { id, type_id } => {
                        let found = fields.special_tokens.iter().filter(|(key, _)| key == id);
                        let ids = found.flat_map(|(_, found)| &found.ids);
                        let ids = ids.take(MOST_ITEMS + 1);
                        expanded.extend(ids.map(|id| token(*id, *type_id)));
                    }
                }
            }
            expanded
        }),
    }
}

/// Whether the file's model has these options, so far as they matter.
fn same_model(file: &Spec, options: &Model) -> bool {
    match (&file.model, options) {
        (Model::Bpe(ours), Model::Bpe(theirs)) => {
            let bare = |model: &Bpe, unknown: bool| Bpe {
                vocab: TokenList::default(),
                merges: Merges::ByRank,
                continuing_subword_prefix: some(&model.continuing_subword_prefix),
                end_of_word_suffix: some(&model.end_of_word_suffix),
                unk_token: model.unk_token.clone().filter(|_| unknown),
                fuse_unk: model.fuse_unk && unknown,
                byte_fallback: model.byte_fallback,
                ..*model
            };
            if bare(ours, true) == bare(theirs, true) {
                return true;
            }
            bare(ours, false) == bare(theirs, false) && nothing_is_unknown(file, ours)
        }
        (Model::WordPiece(ours), Model::WordPiece(theirs)) => {
            ours.unk_token == theirs.unk_token
                && ours.continuing_subword_prefix == theirs.continuing_subword_prefix
                && ours.max_input_chars_per_word == theirs.max_input_chars_per_word
        }
        (Model::Unigram(ours), Model::Unigram(theirs)) => {
            ours.unk_id == theirs.unk_id && ours.byte_fallback == theirs.byte_fallback
        }
        _ => false,
    }
}

fn some(affix: &Option<String>) -> Option<String> {
    affix.clone().filter(|affix| !affix.is_empty())
}

/// Whether the model has a token for every byte of every text.
fn nothing_is_unknown(file: &Spec, model: &Bpe) -> bool {
    let as_bytes = pre_tokenizers(&file.pre_tokenizer)
        .iter()
        .any(|step| matches!(step, PreTokenizer::ByteLevel(_)));
    // UTF-8 never has these bytes.
    let in_text = (0..=255u8).filter(|byte| !matches!(byte, 0xC0 | 0xC1 | 0xF5..=0xFF));
    let spelled: Vec<String> = match (as_bytes, model.byte_fallback) {
        (true, _) => in_text.map(|byte| alphabet::encode(&[byte])).collect(),
        (false, true) => in_text.map(|byte| format!("<0x{byte:02X}>")).collect(),
        (false, false) => return false,
    };
    let suffix = some(&model.end_of_word_suffix).unwrap_or_default();
    let wanted: SeededSet<String> =
        spelled.iter().flat_map(|token| [token.clone(), format!("{token}{suffix}")]).collect();
    let held = model
        .vocab
        .iter()
        .filter(|(token, _)| std::str::from_utf8(token).is_ok_and(|token| wanted.contains(token)));
    held.count() == wanted.len()
}

// ---------------------------------------------------------------------------------------------
// How it is told

const LONGEST: usize = 80;
const SHOWN: usize = 4;

/// What the file says of a part, and what `transformers` would run.
fn describe(part: &str, file: &Spec, theirs: &Pipeline) -> Result<(String, String)> {
    match part {
        "added_tokens" => Ok(added_tokens(&file.added_tokens, &theirs.added_tokens)),
        "model" => Ok(model(file, theirs)),
        part => {
            let ours = Spec { model: nothing(), ..parts(file) };
            let others = Spec {
                normalizer: theirs.normalizer.clone(),
                pre_tokenizer: theirs.pre_tokenizer.clone(),
                post_processor: theirs.post_processor.clone(),
                decoder: theirs.decoder.clone(),
                ..ours.clone()
            };
            Ok((spell(&ours, part)?, spell(&others, part)?))
        }
    }
}

fn nothing() -> Model {
    Model::WordLevel(WordLevel { vocab: TokenList::default(), unk_token: String::new() })
}

/// A spec without vocabulary and added tokens.
fn parts(file: &Spec) -> Spec {
    Spec {
        semantics: file.semantics,
        normalizer: file.normalizer.clone(),
        pre_tokenizer: file.pre_tokenizer.clone(),
        model: nothing(),
        post_processor: file.post_processor.clone(),
        decoder: file.decoder.clone(),
        added_tokens: Vec::new(),
        truncation: None,
        padding: None,
    }
}

fn spell(spec: &Spec, part: &str) -> Result<String> {
    let components = tokenizer_json::components(spec)?;
    let value = match part {
        "normalizer" => components.normalizer,
        "pre_tokenizer" => components.pre_tokenizer,
        "post_processor" => components.post_processor,
        _ => components.decoder,
    };
    Ok(short(&value))
}

/// A component in one line: `Type(option=value, …)`, the parts of a sequence with arrows between.
fn short(component: &Value) -> String {
    let Value::Object(fields) = component else { return "none".to_owned() };
    let kind = fields.get("type").and_then(Value::as_str).unwrap_or("?");
    if kind == "Sequence" {
        let items = fields.values().find_map(Value::as_array);
        let items: Vec<String> = items.into_iter().flatten().map(short).collect();
        return if items.is_empty() { "none".to_owned() } else { items.join(" → ") };
    }
    let options: Vec<String> = fields
        .iter()
        .filter(|(name, value)| {
            *name != "type" && !value.is_null() && **value != Value::Bool(false)
        })
        .map(|(name, value)| format!("{name}={}", cut(value)))
        .collect();
    if options.is_empty() { kind.to_owned() } else { format!("{kind}({})", options.join(", ")) }
}

fn cut(value: &Value) -> String {
    match value {
        Value::Object(fields) if fields.len() == 1 => fields.values().map(cut).collect(),
        Value::Object(fields) if fields.contains_key("id") => cut(&fields["id"]),
        Value::Object(fields) => fields.keys().cloned().collect::<Vec<_>>().join(" "),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(cut).collect::<Vec<_>>().join(" "))
        }
        Value::String(text) if text.chars().count() > LONGEST => {
            format!("{:?}…", text.chars().take(LONGEST).collect::<String>())
        }
        Value::String(text) => format!("{text:?}"),
        other => other.to_string(),
    }
}

fn model(file: &Spec, theirs: &Pipeline) -> (String, String) {
    let mut pairs: Vec<(String, String, String)> = Vec::new();
    let mut compare = |name: &str, ours: String, others: String| {
        if ours != others {
            pairs.push((name.to_owned(), ours, others));
        }
    };
    let or_none = |text: &Option<String>| some(text).unwrap_or_else(|| "none".to_owned());
    match (&file.model, &theirs.model) {
        (Model::Bpe(ours), Some(Model::Bpe(theirs))) => {
            compare("unk_token", or_none(&ours.unk_token), or_none(&theirs.unk_token));
            let (suffix, other) = (&ours.end_of_word_suffix, &theirs.end_of_word_suffix);
            compare("end_of_word_suffix", or_none(suffix), or_none(other));
            compare("fuse_unk", ours.fuse_unk.to_string(), theirs.fuse_unk.to_string());
            let (fallback, other) = (ours.byte_fallback, theirs.byte_fallback);
            compare("byte_fallback", fallback.to_string(), other.to_string());
            let (ignore, other) = (ours.ignore_merges, theirs.ignore_merges);
            compare("ignore_merges", ignore.to_string(), other.to_string());
            let dropout = |value: Option<f32>| format!("{:?}", value.unwrap_or(0.0));
            compare("dropout", dropout(ours.dropout), dropout(theirs.dropout));
        }
        (Model::WordPiece(ours), Some(Model::WordPiece(theirs))) => {
            compare("unk_token", ours.unk_token.clone(), theirs.unk_token.clone());
            let prefix = &ours.continuing_subword_prefix;
            let other = &theirs.continuing_subword_prefix;
            compare("continuing_subword_prefix", prefix.clone(), other.clone());
            let (most, other) = (ours.max_input_chars_per_word, theirs.max_input_chars_per_word);
            compare("max_input_chars_per_word", most.to_string(), other.to_string());
        }
        (Model::Unigram(ours), Some(Model::Unigram(other))) => {
            let unk = |id: Option<usize>| id.map_or("none".to_owned(), |id| id.to_string());
            compare("unk_id", unk(ours.unk_id), unk(other.unk_id));
            let (fallback, others) = (ours.byte_fallback, other.byte_fallback);
            compare("byte_fallback", fallback.to_string(), others.to_string());
            if let Some(scores) = &theirs.scores {
                let pairs = scores.iter().zip(&ours.scores);
                let changed = pairs.filter(|(a, b)| a.to_bits() != b.to_bits()).count();
                let others = format!("nearest doubles ({changed} of {} differ)", scores.len());
                compare("scores", "as tokenizers reads them".to_owned(), others);
            }
        }
        _ => {}
    }
    let told = |side: fn(&(String, String, String)) -> &String| {
        pairs.iter().map(|pair| format!("{}={}", pair.0, side(pair))).collect::<Vec<_>>().join(", ")
    };
    (told(|pair| &pair.1), told(|pair| &pair.2))
}

fn added_tokens(ours: &[AddedToken], theirs: &[AddedToken]) -> (String, String) {
    let (mut file, mut others) = (Vec::new(), Vec::new());
    let by_name = |list: &'_ [AddedToken]| -> SeededMap<String, AddedToken> {
        list.iter().map(|token| (token.content.clone(), token.clone())).collect()
    };
    let (own_names, other_names) = (by_name(ours), by_name(theirs));
    for token in theirs {
        match own_names.get(&token.content) {
            None => {
                file.push(format!("{:?} is not added", token.content));
                others.push(format!("{:?} is added as {}", token.content, token.id));
            }
            Some(own) if own != token => {
                file.push(format!("{:?} {}", token.content, flags(own, token)));
                others.push(format!("{:?} {}", token.content, flags(token, own)));
            }
            Some(_) => {}
        }
    }
    for token in ours.iter().filter(|token| !other_names.contains_key(&token.content)) {
        file.push(format!("{:?} is added as {}", token.content, token.id));
        others.push(format!("{:?} is not added", token.content));
    }
    let told = |changes: &[String]| {
        let mut text = changes.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
        if changes.len() > SHOWN {
            text.push_str(&format!(", and {} more", changes.len() - SHOWN));
        }
        text
    };
    (told(&file), told(&others))
}

/// The fields in which a token differs from another one.
fn flags(token: &AddedToken, other: &AddedToken) -> String {
    let mut told = Vec::new();
    if token.id != other.id {
        told.push(format!("id={}", token.id));
    }
    for (name, value, others) in [
        ("single_word", token.single_word, other.single_word),
        ("lstrip", token.lstrip, other.lstrip),
        ("rstrip", token.rstrip, other.rstrip),
        ("normalized", token.normalized, other.normalized),
        ("special", token.special, other.special),
    ] {
        if value != others {
            told.push(format!("{name}={value}"));
        }
    }
    told.join(" ")
}
