//! The pipelines that classes build around a file's vocabulary.

use super::arguments::{EXTRA, Value, refused, refused_by_both};
use super::backend::{Build, ModelOptions};
use super::class::Class;
use super::classes::around;
use super::parts::{byte_level, byte_level_decoder, metaspace, regex};
use super::templates::QUESTION;
use super::{languages, parts};
use crate::error::{Error, Result};
use crate::formats::companions::CONFIG;
use crate::formats::node::Node;
use crate::spec::{
    BpeDecoder, ByteLevel, Decoder, Digits, Metaspace, Model, Normalizer, Pattern, PostProcessor,
    PreTokenizer, Precompiled, PrependScheme, Punctuation, SplitBehavior, StripNormalizer,
};

const MOST_SENTINELS: usize = 100_000;

const QWEN2: &str = concat!(
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*",
    r"|\s*[\r\n]+|\s+(?!\S)|\s+",
);
const QWEN35: &str = concat!(
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}",
    r"| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
);
const CLIP: &str = concat!(
    r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d",
    r"|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+",
);

const NOUGAT: &str = r##"[\(\)\[\]\{\}]|([!\"#\$%\&'\*\+,\-\./:;<=>\?\\\^_`\|\~])\1*"##;

fn always_or(add_prefix_space: bool, otherwise: PrependScheme) -> PrependScheme {
    if add_prefix_space { PrependScheme::Always } else { otherwise }
}

/// The pipeline that a class builds around the file's vocabulary.
pub(super) fn rebuild(build: &mut Build<'_>) -> Result<()> {
    match build.class {
        Class::Backend | Class::ConvBert | Class::FNet => Ok(()),
        Class::Bert | Class::Dpr | Class::Funnel | Class::MpNet | Class::Splinter => {
            word_piece(build)
        }
        Class::Albert
        | Class::Barthez
        | Class::BigBird
        | Class::Camembert
        | Class::DebertaV2
        | Class::MBart
        | Class::MBart50
        | Class::Pegasus
        | Class::RemBert
        | Class::T5
        | Class::Xglm
        | Class::XlmRoberta
        | Class::XlNet => unigram(build),
        _ => bpe(build),
    }
}

/// An error for a class that wants another model than the file has.
fn other_model(build: &Build<'_>, wanted: &str) -> Error {
    let has = match build.file.model {
        Model::Bpe(_) => "BPE",
        Model::WordPiece(_) => "WordPiece",
        Model::Unigram(_) => "Unigram",
        _ => "WordLevel",
    };
    Error::artifact(
        format!("{CONFIG}.tokenizer_class"),
        format!(
            "transformers would run the vocabulary of this {has} model as {wanted}, or refuse it."
        ),
    )
    .hint("Correct the class, or load without as_loaded_by: the file then decides.")
    .value(format!("{:?}", build.class))
}

fn word_piece(build: &mut Build<'_>) -> Result<()> {
    if !matches!(build.file.model, Model::WordPiece(_)) {
        return Err(other_model(build, "WordPiece"));
    }
    let arguments = &build.arguments;
    // DPR's classes keep the option to themselves.
    let lowercase = build.class == Class::Dpr || arguments.flag("do_lower_case", true)?;
    let clean = build.class != Class::Funnel || arguments.flag("clean_text", true)?;
    let ideographs = arguments.flag("tokenize_chinese_chars", true)?;
    let accents = arguments.optional_flag("strip_accents")?;
    let prefix = match build.class {
        Class::Funnel => arguments.text("wordpieces_prefix", "##")?,
        _ => "##".to_owned(),
    };
    build.normalizer = Some(parts::bert(clean, ideographs, accents, lowercase));
    build.pre_tokenizer = Some(PreTokenizer::Bert);
    build.decoder = Some(parts::word_piece_decoder(&prefix));
    build.model = ModelOptions::WordPiece { unk_token: build.need("unk_token")? };
    if build.class == Class::Splinter {
        // The file's own name for it was taken aside before.
        build.arguments.set("question_token", Value::Json(Node::String(QUESTION.to_owned())));
    }
    Ok(())
}

/// The character map that the file's normalizer has at its top.
fn charsmap(build: &Build<'_>) -> Option<Normalizer> {
    let items = match &build.file.normalizer {
        Some(Normalizer::Sequence(items)) => items.as_slice(),
        Some(item) => std::slice::from_ref(item),
        None => &[],
    };
    items.iter().find(|item| matches!(item, Normalizer::Precompiled(Precompiled { .. }))).cloned()
}

fn unigram(build: &mut Build<'_>) -> Result<()> {
    let Model::Unigram(model) = &build.file.model else {
        return Err(other_model(build, "Unigram"));
    };
    let place = |token: &str, score: Option<f64>| {
        model.vocab.iter().zip(&model.scores).position(|((own, _), own_score)| {
            own == token.as_bytes() && score.is_none_or(|score| score == *own_score)
        })
    };
    let arguments = &build.arguments;
    let prefix = |default| arguments.flag("add_prefix_space", default);
    let unk = build.need("unk_token");
    let words = |scheme: PrependScheme| {
        let marks = PreTokenizer::Metaspace(metaspace(scheme, true));
        PreTokenizer::Sequence(vec![PreTokenizer::WhitespaceSplit, marks])
    };
    let marks = |scheme: PrependScheme| PreTokenizer::Metaspace(metaspace(scheme, true));
    let scheme = match build.class {
        Class::MBart | Class::MBart50 | Class::Pegasus | Class::T5 | Class::XlNet => {
            PrependScheme::Always
        }
        Class::DebertaV2 => always_or(prefix(true)?, PrependScheme::First),
        _ => always_or(prefix(true)?, PrependScheme::Never),
    };
    let mut normalizers: Vec<Normalizer> = Vec::new();
    let (unk_id, pre_tokenizer) = match build.class {
        Class::Albert | Class::RemBert => {
            normalizers.extend(parts::quotes());
            let is_albert = build.class == Class::Albert;
            if !is_albert {
                normalizers.push(Normalizer::Replace(regex(" {2,}", " ")));
            }
            if !arguments.truthy("keep_accents", !is_albert)? {
                normalizers.extend(parts::no_accents());
            }
            if arguments.truthy("do_lower_case", is_albert)? {
                normalizers.push(Normalizer::Lowercase);
            }
            normalizers.extend(charsmap(build));
            if is_albert { (1, words(scheme)) } else { (2, marks(scheme)) }
        }
        Class::Barthez => {
            normalizers.extend(parts::one_line());
            (3, marks(scheme))
        }
        Class::BigBird => {
            let nothing = StripNormalizer { strip_left: false, strip_right: false };
            normalizers.push(Normalizer::Strip(nothing));
            normalizers.push(Normalizer::Replace(regex(" {2,}", "\u{2581}")));
            (place(&unk?, Some(0.0)).unwrap_or(100), marks(scheme))
        }
        Class::DebertaV2 => {
            if arguments.truthy("do_lower_case", false)? {
                normalizers.push(Normalizer::Lowercase);
            }
            normalizers.extend(parts::one_line());
            let mut steps = Vec::new();
            if arguments.truthy("split_by_punct", false)? {
                let behavior = SplitBehavior::Isolated;
                steps.push(PreTokenizer::Punctuation(Punctuation { behavior }));
            }
            steps.push(marks(scheme));
            let given = arguments.number("unk_id", 1)?;
            (place(&unk?, Some(0.0)).unwrap_or(given), PreTokenizer::Sequence(steps))
        }
        Class::XlNet => {
            normalizers.extend(parts::quotes());
            normalizers.extend(parts::no_accents());
            if arguments.truthy("do_lower_case", false)? {
                normalizers.push(Normalizer::Lowercase);
            }
            normalizers.extend(charsmap(build));
            (arguments.number("unk_id", 0)?, words(scheme))
        }
        Class::MBart50 | Class::Xglm => {
            normalizers.extend(charsmap(build));
            normalizers.push(Normalizer::Replace(regex(" {2,}", " ")));
            (3, marks(scheme))
        }
        Class::Pegasus => {
            let map = charsmap(build);
            let first = map.unwrap_or_else(|| Normalizer::Replace(regex("\n", " ")));
            normalizers.extend([first, Normalizer::Replace(regex(" {2,}", " "))]);
            let unk = unk?;
            let is_unk = |at: &usize| model.vocab.bytes(*at) == unk.as_bytes();
            let place = (1..model.vocab.len()).find(|at| is_unk(at) && model.scores[*at] == 0.0);
            let missing =
                || refused_by_both("unk_token", "The class needs it as a piece of score 0.");
            (place.ok_or_else(missing)?, marks(scheme))
        }
        Class::Camembert => (place(&unk?, None).unwrap_or(0), words(scheme)),
        Class::T5 => (2, words(scheme)),
        _ => (3, words(scheme)),
    };
    build.normalizer = match build.class {
        Class::Camembert | Class::T5 | Class::XlmRoberta => charsmap(build),
        Class::MBart => None,
        _ => Some(Normalizer::Sequence(normalizers)),
    };
    if unk_id >= model.vocab.len() {
        return Err(Error::artifact(
            format!("{CONFIG}.tokenizer_class"),
            format!("The class takes piece {unk_id} for the unknown one, and there is none."),
        )
        .hint("transformers refuses the folder; load without as_loaded_by."));
    }
    build.pre_tokenizer = Some(pre_tokenizer);
    build.decoder = Some(Decoder::Metaspace(Metaspace { ..metaspace(scheme, true) }));
    build.model = ModelOptions::Unigram { unk_id };
    match build.class {
        Class::Albert => {
            let (cls, sep) = (build.need("cls_token")?, build.need("sep_token")?);
            let id = |role: &str, token: &str| {
                let id = build.added.id_of_any(token);
                id.ok_or_else(|| refused(role, "The vocabulary lacks this token."))
            };
            let ids = [("[CLS]", id("cls_token", &cls)?), ("[SEP]", id("sep_token", &sep)?)];
            // The file's template takes its place, if it has one.
            let own = around("[CLS]", "[SEP]", &ids)?;
            build.post_processor.get_or_insert(own);
        }
        Class::Camembert => {
            let unused = ["<s>NOTUSED", "</s>NOTUSED", "<unk>NOTUSED"];
            build.arguments.default_additional(unused.map(str::to_owned));
        }
        Class::MBart => build.arguments.default_additional(names(languages::MBART)),
        Class::MBart50 => {
            let mut codes = names(languages::MBART).chain(names(languages::MBART50_MORE));
            if !codes.any(|code| build.added.id_of_any(&code).is_some()) {
                return Err(Error::artifact(
                    format!("{CONFIG}.tokenizer_class"),
                    "The vocabulary has no language, so that transformers would number it anew.",
                )
                .hint("Load without as_loaded_by: the file then decides."));
            }
            let codes = names(languages::MBART).chain(names(languages::MBART50_MORE));
            build.arguments.default_additional(codes);
        }
        Class::Pegasus => {
            let sentence = match build.arguments.get("mask_token_sent") {
                Some(Value::Json(Node::Null)) => None,
                _ => Some(build.arguments.text("mask_token_sent", "<mask_1>")?),
            };
            let offset = build.arguments.number("offset", 103)?;
            if offset > MOST_SENTINELS {
                return Err(refused("offset", &format!("At most {MOST_SENTINELS} is followed.")));
            }
            let unknown = (2..offset).map(|number| format!("<unk_{number}>"));
            build.arguments.default_additional(sentence.into_iter().chain(unknown));
        }
        Class::T5 => sentinels(build)?,
        Class::Xglm => {
            let made_up = (0..7).map(|number| format!("<madeupword{number}>"));
            build.arguments.default_additional(made_up);
        }
        Class::XlNet => {
            build.arguments.default_additional(["<eop>", "<eod>"].map(str::to_owned));
        }
        _ => {}
    }
    Ok(())
}

/// T5's sentinel tokens, which are additional special tokens unless the files give others.
fn sentinels(build: &mut Build<'_>) -> Result<()> {
    let count = build.arguments.number("extra_ids", 100)?;
    if count > MOST_SENTINELS {
        return Err(refused("extra_ids", &format!("More than {MOST_SENTINELS} are not followed.")));
    }
    let sentinels = (0..count).map(|number| format!("<extra_id_{number}>"));
    build.arguments.default_additional(sentinels.clone());
    let Some(tokens) = build.arguments.additional() else { return Ok(()) };
    let is_sentinel = |token: &Value| match token {
        Value::Json(Node::String(text)) => text.contains("<extra_id_"),
        Value::Token(token) => token.content.contains("<extra_id_"),
        _ => false,
    };
    let given = tokens.iter().filter(|token| is_sentinel(token)).count();
    if given == 0 {
        tokens.extend(sentinels.map(|token| Value::Json(Node::String(token))));
    } else if count > 0 && count != given {
        return Err(refused(
            "extra_ids",
            &format!("transformers refuses {count} sentinels where {given} are listed."),
        ));
    }
    Ok(())
}

fn names(list: &'static str) -> impl Iterator<Item = String> {
    list.split_whitespace().map(str::to_owned)
}

fn bpe(build: &mut Build<'_>) -> Result<()> {
    let Model::Bpe(model) = &build.file.model else { return Err(other_model(build, "BPE")) };
    if model.continuing_subword_prefix.as_ref().is_some_and(|prefix| !prefix.is_empty()) {
        return Err(Error::artifact(
            "model.continuing_subword_prefix",
            "transformers would drop the prefix and read the merges otherwise.",
        )
        .hint("Load without as_loaded_by: the file then decides."));
    }
    let arguments = &build.arguments;
    let prefix = |default| arguments.flag("add_prefix_space", default);
    let optional_prefix =
        |default| Ok::<_, Error>(arguments.optional_flag("add_prefix_space")?.unwrap_or(default));
    let unk = || build.need("unk_token").map(Some);
    let plain = ModelOptions::Bpe {
        unk_token: None,
        fuse_unk: false,
        byte_fallback: false,
        end_of_word_suffix: None,
    };
    let words = |unk_token| ModelOptions::Bpe {
        unk_token,
        fuse_unk: false,
        byte_fallback: false,
        end_of_word_suffix: Some("</w>".to_owned()),
    };
    let bytes = |unk_token| ModelOptions::Bpe {
        unk_token,
        fuse_unk: true,
        byte_fallback: true,
        end_of_word_suffix: None,
    };
    let fused = |unk_token| ModelOptions::Bpe {
        unk_token,
        fuse_unk: true,
        byte_fallback: false,
        end_of_word_suffix: None,
    };
    let qwen = |pattern: &str| {
        Ok::<_, Error>(PreTokenizer::Sequence(vec![
            parts::split(Pattern::Regex(pattern.to_owned()), SplitBehavior::Isolated, false),
            byte_level(optional_prefix(false)?, false),
        ]))
    };
    let (normalizer, pre_tokenizer, model, decoder) = match build.class {
        Class::CodeGen | Class::Deberta | Class::Gpt2 | Class::Roberta | Class::Whisper => {
            (None, byte_level(prefix(false)?, true), plain, byte_level_decoder())
        }
        Class::Blenderbot => (None, byte_level(prefix(true)?, true), plain, byte_level_decoder()),
        Class::GptNeoX => {
            let trim_offsets = arguments.flag("trim_offsets", true)?;
            let pre = parts::trimming_byte_level(prefix(false)?, trim_offsets);
            (Some(Normalizer::Nfc), pre, plain, byte_level_decoder())
        }
        Class::Cohere => {
            let digits = PreTokenizer::Digits(Digits { individual_digits: true });
            let pre = PreTokenizer::Sequence(vec![digits, byte_level(prefix(false)?, true)]);
            (Some(Normalizer::Nfc), pre, plain, byte_level_decoder())
        }
        Class::Qwen2 => (Some(Normalizer::Nfc), qwen(QWEN2)?, plain, byte_level_decoder()),
        Class::Qwen35 => (Some(Normalizer::Nfc), qwen(QWEN35)?, plain, byte_level_decoder()),
        Class::Clip => {
            let normalizer = Normalizer::Sequence(vec![
                Normalizer::Nfc,
                Normalizer::Replace(regex(r"\s+", " ")),
                Normalizer::Lowercase,
            ]);
            let pattern = Pattern::Regex(CLIP.to_owned());
            let pre = PreTokenizer::Sequence(vec![
                parts::split(pattern, SplitBehavior::Removed, true),
                byte_level(false, true),
            ]);
            (Some(normalizer), pre, words(unk()?), byte_level_decoder())
        }
        Class::Gemma | Class::Siglip2 => {
            let normalizer = Normalizer::Replace(parts::literal(" ", "\u{2581}"));
            let pattern = Pattern::String(" ".to_owned());
            let pre = parts::split(pattern, SplitBehavior::MergedWithPrevious, false);
            let decoder = Decoder::Sequence(parts::marks_and_bytes());
            (Some(normalizer), pre, bytes(unk()?), decoder)
        }
        Class::Llama => {
            let prefix = optional_prefix(true)?;
            let scheme = match (prefix, arguments.truthy("legacy", false)?) {
                (false, _) => PrependScheme::Never,
                (true, true) => PrependScheme::Always,
                (true, false) => PrependScheme::First,
            };
            let mut steps = parts::marks_and_bytes();
            if prefix {
                steps.push(parts::strip_one_blank());
            }
            let pre = PreTokenizer::Metaspace(metaspace(scheme, false));
            (None, pre, bytes(None), Decoder::Sequence(steps))
        }
        Class::Nllb | Class::Reformer => {
            let blanks = Normalizer::Replace(regex(" {2,}", " "));
            let normalizer = charsmap(build).map(|map| Normalizer::Sequence(vec![map, blanks]));
            let marks = metaspace(PrependScheme::Always, true);
            let pre = PreTokenizer::Metaspace(marks);
            (normalizer, pre, fused(unk()?), Decoder::Metaspace(marks))
        }
        Class::SeamlessM4t => {
            let end = StripNormalizer { strip_left: false, strip_right: true };
            let normalizer = Normalizer::Sequence(vec![
                Normalizer::Replace(regex(r"[\n\r\t]", " ")),
                Normalizer::Nfkc,
                Normalizer::Strip(end),
                Normalizer::Replace(regex(" +\u{2581}", "\u{2581}")),
                Normalizer::Replace(regex("^\u{2581}+$", "")),
                Normalizer::Replace(regex(" {2,}", "\u{2581}")),
            ]);
            let marks = metaspace(PrependScheme::First, true);
            let pre = PreTokenizer::Metaspace(marks);
            (Some(normalizer), pre, fused(unk()?), Decoder::Metaspace(marks))
        }
        Class::Nougat => {
            let cut = |text: &str, behavior| {
                parts::split(Pattern::String(text.to_owned()), behavior, false)
            };
            // The second looks like a regular expression, but is searched for as it is.
            let pre = PreTokenizer::Sequence(vec![
                cut("SPL1T-TH1S-Pl3A5E", SplitBehavior::Removed),
                PreTokenizer::Digits(Digits { individual_digits: true }),
                cut(NOUGAT, SplitBehavior::Isolated),
                cut("\n", SplitBehavior::Isolated),
                byte_level(false, true),
            ]);
            (Some(Normalizer::Nfkc), pre, plain, byte_level_decoder())
        }
        Class::OpenAiGpt | Class::Herbert => {
            let normalizer = match build.class {
                Class::OpenAiGpt => parts::bert(true, true, None, true),
                _ => parts::bert(true, true, Some(false), false),
            };
            let decoder = Decoder::Bpe(BpeDecoder { suffix: "</w>".to_owned() });
            (Some(normalizer), PreTokenizer::Bert, words(unk()?), decoder)
        }
        _ => return Err(other_model(build, "BPE")),
    };
    build.normalizer = normalizer;
    build.pre_tokenizer = Some(pre_tokenizer);
    build.model = model;
    build.decoder = Some(decoder);
    match build.class {
        Class::Nllb => {
            let absent = |value: Option<&Value>| {
                value.is_none_or(|value| matches!(value, Value::Json(Node::Null)))
            };
            if absent(build.arguments.get(EXTRA)) {
                build.arguments.take(EXTRA);
                build.arguments.default_additional(names(languages::NLLB));
            }
        }
        Class::CodeGen => {
            // The file's template takes its place, if it has one.
            build.post_processor.get_or_insert(PostProcessor::ByteLevel(ByteLevel {
                add_prefix_space: true,
                trim_offsets: false,
                use_regex: true,
            }));
        }
        _ => {}
    }
    Ok(())
}
