//! `vocab.json` with `merges.txt`: byte-pair encodings from before `tokenizer.json`.
//!
//! The two files hold the model alone; the pipeline around it was code, chosen by the class name
//! in `tokenizer_config.json`. [`Family`] has these pipelines as converters of `transformers`
//! write them. Where no class is named, a vocabulary with GPT-2's byte alphabet and no `</w>` is
//! GPT-2's; anything else is refused rather than guessed.

use crate::error::{Error, Result};
use crate::formats::tokenizer_json::{settle, vocab};
use crate::spec::{
    AddedToken, BertNormalizer, Bpe, BpeDecoder, ByteLevel, Decoder, Merges, Model, Normalizer,
    Pattern, PostProcessor, PreTokenizer, Replace, RobertaProcessing, Semantics, SequenceName,
    Spec, Split, SplitBehavior, TemplateItem, TemplateProcessing, TemplateToken, TokenList,
};
use crate::text::alphabet;
use crate::vocab::SeededMap;

/// The pipeline around the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// GPT-2: byte-level, nothing around it.
    Gpt2,
    /// RoBERTa: GPT-2's, with `<s>` and `</s>` around a text.
    Roberta,
    /// CLIP: lower case, `</w>` at word ends, start and end tokens.
    Clip,
    /// Whisper: GPT-2's, with the transcription prompt.
    Whisper,
    /// The first GPT: BERT's cleaning and `</w>`.
    OpenAiGpt,
}

impl Family {
    /// The family of a `tokenizer_class`, with or without `Fast`.
    #[must_use]
    pub fn of_class(class: &str) -> Option<Self> {
        Some(match class.strip_suffix("Fast").unwrap_or(class) {
            "GPT2Tokenizer" => Family::Gpt2,
            "RobertaTokenizer" => Family::Roberta,
            "CLIPTokenizer" => Family::Clip,
            "WhisperTokenizer" => Family::Whisper,
            "OpenAIGPTTokenizer" => Family::OpenAiGpt,
            _ => return None,
        })
    }

    /// The family that a vocabulary alone shows.
    ///
    /// # Errors
    /// If it could be several.
    pub fn of_vocab(tokens: &TokenList) -> Result<Self> {
        let index = vocab::Index::new(tokens);
        let bytes = alphabet::BYTE_TO_CHAR
            .iter()
            .all(|c| index.get(c.encode_utf8(&mut [0; 4]).as_bytes()).is_some());
        let word_ends = tokens.iter().any(|(token, _)| token.ends_with(b"</w>"));
        if bytes && !word_ends {
            return Ok(Family::Gpt2);
        }
        Err(Error::artifact("vocab.json", "The vocabulary does not show which pipeline it needs.")
            .hint("Add a tokenizer_config.json with `tokenizer_class`, or name the class."))
    }
}

/// What the companion files say.
#[derive(Debug, Clone, Default)]
pub struct Companions {
    /// The tokens of the roles: bos, eos, unk, …
    pub roles: Vec<(String, String)>,
    /// Further added tokens, in the order in which they get ids.
    pub added_tokens: Vec<AddedToken>,
    /// Put a blank before a text.
    pub add_prefix_space: bool,
}

impl Companions {
    pub(super) fn role(&self, name: &str, default: &str) -> String {
        self.roles
            .iter()
            .find(|(role, _)| role == name)
            .map_or_else(|| default.to_owned(), |(_, token)| token.clone())
    }
}

/// Reads `vocab.json` and `merges.txt`; also what the added tokens' ids differ in.
///
/// # Errors
/// An artifact error with a JSON path or a line of `merges.txt`.
pub fn read(
    vocab_json: &str,
    merges_txt: &str,
    family: Option<Family>,
    companions: &Companions,
) -> Result<(Spec, Vec<String>)> {
    let tokens = vocab::read_map(vocab_json, "vocab.json")?;
    let family = match family {
        Some(family) => family,
        None => Family::of_vocab(&tokens)?,
    };
    let merges = read_merges(merges_txt, &tokens)?;
    let mut notes = Vec::new();
    let listed = added_tokens(family, companions, &tokens);
    let added_tokens = settle(listed, &tokens, &mut notes);
    let spec = assemble(family, companions, tokens, merges, added_tokens)?;
    Ok((spec, notes))
}

/// Lines of two tokens; those that start with `#version` are skipped.
fn read_merges(text: &str, tokens: &TokenList) -> Result<Vec<(u32, u32)>> {
    let index = vocab::Index::new(tokens);
    let mut joiner = vocab::Joiner::new(&index, None);
    let mut merges = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        if line.starts_with("#version") {
            continue;
        }
        let merge = vocab::split_merge(line).and_then(|(left, right)| joiner.join(left, right));
        merges.push(merge.map_err(|what| {
            Error::artifact(format!("merges.txt line {number}"), format!("Bad merge: {what}."))
                .hint("Every line has two tokens of vocab.json with a blank between.")
        })?);
    }
    Ok(merges)
}

pub(super) fn special(content: String, normalized: bool) -> AddedToken {
    AddedToken {
        id: 0,
        content,
        single_word: false,
        lstrip: false,
        rstrip: false,
        normalized,
        special: true,
    }
}

/// The tokens of the roles that the family's converter adds, then the companions' own.
fn added_tokens(family: Family, companions: &Companions, tokens: &TokenList) -> Vec<AddedToken> {
    let end = "<|endoftext|>";
    let defaults: &[(&str, &str)] = match family {
        Family::Gpt2 | Family::Whisper => &[("bos", end), ("eos", end), ("unk", end)],
        Family::Roberta => &[
            ("bos", "<s>"),
            ("eos", "</s>"),
            ("unk", "<unk>"),
            ("sep", "</s>"),
            ("pad", "<pad>"),
            ("cls", "<s>"),
            ("mask", "<mask>"),
        ],
        Family::Clip => &[("bos", "<|startoftext|>"), ("eos", end), ("unk", end), ("pad", end)],
        Family::OpenAiGpt => &[("unk", "<unk>")],
    };
    numbered(defaults, companions, tokens, |role, content| {
        // The first GPT's converter makes its tokens literal; RoBERTa's mask takes the blank
        // before it.
        let mut token = special(content, family != Family::OpenAiGpt && role != "mask");
        token.lstrip = role == "mask";
        token
    })
}

/// The tokens of the roles, made by `make`, and the companions' own. Those of the vocabulary have
/// their ids there; the others are counted on in the order of theirs.
pub(super) fn numbered(
    defaults: &[(&str, &str)],
    companions: &Companions,
    tokens: &TokenList,
    make: impl Fn(&str, String) -> AddedToken,
) -> Vec<AddedToken> {
    let index = vocab::Index::new(tokens);
    let mut listed: Vec<AddedToken> = Vec::new();
    for (role, default) in defaults {
        let content = companions.role(role, default);
        if listed.iter().any(|token| token.content == content) {
            continue;
        }
        let mut token = make(role, content);
        token.id = index.get(token.content.as_bytes()).unwrap_or(u32::MAX);
        listed.push(token);
    }
    let mut places: SeededMap<String, usize> =
        listed.iter().zip(0..).map(|(token, place)| (token.content.clone(), place)).collect();
    for token in &companions.added_tokens {
        match places.get(&token.content) {
            Some(&place) => listed[place] = token.clone(),
            None => {
                places.insert(token.content.clone(), listed.len());
                listed.push(token.clone());
            }
        }
    }
    listed.sort_by_key(|token| token.id);
    let mut next = u32::try_from(tokens.len()).unwrap_or(u32::MAX);
    for token in listed.iter_mut().filter(|token| token.id == u32::MAX) {
        token.id = next;
        next = next.saturating_add(1);
    }
    listed
}

fn assemble(
    family: Family,
    companions: &Companions,
    tokens: TokenList,
    merges: Vec<(u32, u32)>,
    added_tokens: Vec<AddedToken>,
) -> Result<Spec> {
    let id = |content: &str| {
        added_tokens
            .iter()
            .find(|token| token.content == content)
            .map(|token| (content.to_owned(), token.id))
            .ok_or_else(|| {
                Error::artifact("vocab.json", format!("The token {content:?} is missing."))
                    .hint("The pipeline of this class puts it around every text.")
            })
    };
    let prefix_space = companions.add_prefix_space;
    let byte_level = |add_prefix_space, trim_offsets| ByteLevel {
        add_prefix_space,
        trim_offsets,
        use_regex: true,
    };
    let cut = PreTokenizer::ByteLevel(byte_level(prefix_space, true));
    let decoder = Decoder::ByteLevel(byte_level(true, true));
    let word_end = matches!(family, Family::Clip | Family::OpenAiGpt);
    let (unk_token, continuing) = match family {
        Family::Clip => (Some(companions.role("unk", "<|endoftext|>")), Some(String::new())),
        Family::OpenAiGpt => (Some(companions.role("unk", "<unk>")), None),
        _ => (None, Some(String::new())),
    };
    let (normalizer, pre_tokenizer, post_processor, decoder) = match family {
        Family::Gpt2 => {
            let trim = PostProcessor::ByteLevel(byte_level(true, false));
            (None, cut, Some(trim), decoder)
        }
        Family::Roberta => {
            let around = PostProcessor::Roberta(RobertaProcessing {
                sep: id(&companions.role("sep", "</s>"))?,
                cls: id(&companions.role("cls", "<s>"))?,
                trim_offsets: true,
                add_prefix_space: prefix_space,
            });
            (None, cut, Some(around), decoder)
        }
        Family::Whisper => {
            let eos = id(&companions.role("eos", "<|endoftext|>"))?;
            let prompt = [id("<|startoftranscript|>")?, id("<|notimestamps|>")?];
            (None, cut, Some(transcription(&prompt, eos)), decoder)
        }
        Family::Clip => {
            let around = PostProcessor::Roberta(RobertaProcessing {
                sep: id(&companions.role("eos", "<|endoftext|>"))?,
                cls: id(&companions.role("bos", "<|startoftext|>"))?,
                trim_offsets: false,
                add_prefix_space: false,
            });
            let words = PreTokenizer::Split(Split {
                pattern: Pattern::Regex(
                    r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+".to_owned(),
                ),
                behavior: SplitBehavior::Removed,
                invert: true,
                semantics: Semantics::HuggingFace,
            });
            let cut = PreTokenizer::ByteLevel(byte_level(false, true));
            (Some(clip_cleaning()), PreTokenizer::Sequence(vec![words, cut]), Some(around), decoder)
        }
        Family::OpenAiGpt => {
            let cleaning = Normalizer::Bert(BertNormalizer {
                clean_text: true,
                handle_chinese_chars: true,
                strip_accents: None,
                lowercase: true,
            });
            let decoder = Decoder::Bpe(BpeDecoder { suffix: "</w>".to_owned() });
            (Some(cleaning), PreTokenizer::Bert, None, decoder)
        }
    };
    Ok(Spec {
        semantics: Semantics::HuggingFace,
        normalizer,
        pre_tokenizer: Some(pre_tokenizer),
        model: Model::Bpe(Bpe {
            vocab: tokens,
            merges: Merges::Listed(merges),
            dropout: None,
            unk_token,
            continuing_subword_prefix: continuing,
            end_of_word_suffix: Some(if word_end { "</w>" } else { "" }.to_owned()),
            fuse_unk: false,
            byte_fallback: false,
            ignore_merges: false,
            whole_line_ends: false,
        }),
        post_processor,
        decoder: Some(decoder),
        added_tokens,
        truncation: None,
        padding: None,
    })
}

fn clip_cleaning() -> Normalizer {
    let blanks = Replace { pattern: Pattern::Regex(r"\s+".to_owned()), content: " ".to_owned() };
    Normalizer::Sequence(vec![Normalizer::Nfc, Normalizer::Replace(blanks), Normalizer::Lowercase])
}

/// Whisper's template: the prompt, the text, the end.
fn transcription(prompt: &[(String, u32)], eos: (String, u32)) -> PostProcessor {
    let token = |id: &str, type_id| TemplateItem::SpecialToken { id: id.to_owned(), type_id };
    let mut single: Vec<TemplateItem> = prompt.iter().map(|(name, _)| token(name, 0)).collect();
    single.push(TemplateItem::Sequence { id: SequenceName::A, type_id: 0 });
    let mut pair = single.clone();
    pair.push(TemplateItem::Sequence { id: SequenceName::B, type_id: 1 });
    single.push(token(&eos.0, 0));
    pair.push(token(&eos.0, 1));
    let mut special_tokens: Vec<(String, TemplateToken)> = prompt
        .iter()
        .chain([&eos])
        .map(|(name, id)| {
            let ids = vec![*id];
            (name.clone(), TemplateToken { id: name.clone(), ids, tokens: vec![name.clone()] })
        })
        .collect();
    special_tokens.sort_by(|a, b| a.0.cmp(&b.0));
    special_tokens.dedup_by(|a, b| a.0 == b.0);
    PostProcessor::Template(TemplateProcessing { single, pair, special_tokens })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const VOCAB: &str = r#"{"a": 0, "b": 1, "ab": 2, "<s>": 3, "</s>": 4}"#;

    #[test]
    fn merges_say_which_line_is_bad() {
        let read = |merges| read(VOCAB, merges, Some(Family::Gpt2), &Companions::default());
        let (spec, _) = read("#version: 0.2\r\na b\r\n").unwrap();
        assert!(
            matches!(spec.model, Model::Bpe(Bpe { merges: Merges::Listed(m), .. }) if m == [(0, 1)])
        );
        for merges in ["a b\n\n", "a b\na  b", "#version\na c", "#x y z", "b a"] {
            let place = read(merges).unwrap_err().location.unwrap();
            assert!(place.starts_with("merges.txt line "), "{place}");
        }
    }

    #[test]
    fn a_vocabulary_that_shows_nothing_is_refused() {
        assert!(read(VOCAB, "", None, &Companions::default()).is_err());
        assert_eq!(Family::of_class("RobertaTokenizerFast"), Some(Family::Roberta));
        assert_eq!(Family::of_class("LlamaTokenizer"), None);
    }

    #[test]
    fn roberta_wraps_and_whisper_needs_its_prompt() {
        let (spec, _) = read(VOCAB, "", Some(Family::Roberta), &Companions::default()).unwrap();
        let Some(PostProcessor::Roberta(around)) = spec.post_processor else { panic!() };
        assert_eq!((around.cls.1, around.sep.1), (3, 4));
        let new: Vec<_> = spec.added_tokens.iter().skip(2).map(|t| (&*t.content, t.id)).collect();
        assert_eq!(new, [("<unk>", 5), ("<pad>", 6), ("<mask>", 7)]);
        let error = read(VOCAB, "", Some(Family::Whisper), &Companions::default()).unwrap_err();
        assert!(error.what.contains("startoftranscript"));
        assert!(read(VOCAB, "", Some(Family::OpenAiGpt), &Companions::default()).is_ok());
    }
}
