//! What `transformers` 5.24.0 makes of a folder with a `tokenizer.json`.
//!
//! `AutoTokenizer.from_pretrained(folder)` does not run the file as it is. It takes a class by
//! `tokenizer_config.json` and `config.json` ([`class`]); most classes drop the file's pipeline
//! and build their own around its vocabulary and merges ([`rebuild`], [`classes`]); all of them add
//! tokens, replace an absent template, and tidy decoded text as the configuration says
//! ([`backend`]). [`run`] follows that, step by step, to the [`Pipeline`] that `transformers` would run, so far
//! as it can be said in a [`Spec`]; what cannot is an error with the name of the option.
//!
//! `add_bos_token` and `add_eos_token` change nothing where there is a `tokenizer.json`: that
//! release drops them.

mod arguments;
mod backend;
mod class;
mod classes;
mod languages;
mod models;
mod ordered;
mod parts;
mod rebuild;
mod regex;
mod templates;
mod token;

use backend::{Build, ModelOptions};

use super::companions::{CONFIG, Companion};
use super::directory::Files;
use super::tokenizer_json;
use crate::error::Result;
use crate::spec::{
    AddedToken, Bpe, Decoder, Merges, Model, Normalizer, PostProcessor, PreTokenizer, Spec,
    TokenList, Unigram, WordPiece,
};

/// The pipeline that `transformers` would run: all of a [`Spec`] but vocabulary and merges.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Pipeline {
    pub normalizer: Option<Normalizer>,
    pub pre_tokenizer: Option<PreTokenizer>,
    pub post_processor: Option<PostProcessor>,
    pub decoder: Option<Decoder>,
    pub added_tokens: Vec<AddedToken>,
    /// The model without its vocabulary; `None` where it is the file's.
    pub model: Option<Model>,
    /// The scores of a Unigram model, where they are not the file's.
    pub scores: Option<Vec<f64>>,
    /// The token of each role, as `tok.bos_token` and the like would say.
    pub roles: Vec<(String, String)>,
}

/// What an option of `tokenizer_config.json` is changed to, to see what it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    /// Left out.
    Without,
    /// Set to a truth value.
    Flag(bool),
}

/// Follows `transformers` through a folder. With a `change` of an option, it is a trial, which
/// leaves the scores aside.
///
/// # Errors
/// An artifact error where `transformers` refuses the folder, or does what a Spec cannot say.
pub(super) fn run(
    files: &Files<'_>,
    json: &[u8],
    file: &Spec,
    change: Option<(&str, Change)>,
) -> Result<Pipeline> {
    let config = Companion::read(files, CONFIG)?;
    let model_config = Companion::read(files, "config.json")?;
    let root = config.as_ref().map(Companion::root);
    let model_root = model_config.as_ref().map(Companion::root);
    let byte_level = memchr::memmem::find(json, b"\"ByteLevel\"").is_some();
    let class = class::resolve(model_root.as_ref(), root.as_ref(), byte_level)?;
    let arguments = arguments::Arguments::read(files, config.as_ref(), &file.added_tokens, change)?;
    let build = Build::run(file, class, arguments, model_root.as_ref())?;
    let Build { normalizer, pre_tokenizer, post_processor, decoder, model, added, .. } = build;
    let mut roles: Vec<(String, String)> = Vec::new();
    for (name, token) in build.roles.iter() {
        if let Some(token) = token {
            let name = name.strip_suffix("_token").unwrap_or(name).to_owned();
            roles.push((name, token.as_str().to_owned()));
        }
    }
    roles.extend(build.extra.iter().map(|token| ("additional".into(), token.as_str().into())));
    let scores = match (&model, &file.model) {
        (ModelOptions::Unigram { .. }, Model::Unigram(own)) if change.is_none() => {
            let nearest = tokenizer_json::nearest_scores(json)?;
            let same = nearest.iter().zip(&own.scores).all(|(a, b)| a.to_bits() == b.to_bits());
            if same { None } else { Some(nearest) }
        }
        _ => None,
    };
    Ok(Pipeline {
        normalizer,
        pre_tokenizer,
        post_processor,
        decoder,
        added_tokens: added.tokens(),
        model: options(model),
        scores,
        roles,
    })
}

/// A model with these options and no vocabulary.
fn options(options: ModelOptions) -> Option<Model> {
    let vocab = TokenList::default();
    Some(match options {
        ModelOptions::Kept => return None,
        ModelOptions::Bpe { unk_token, fuse_unk, byte_fallback, end_of_word_suffix } => {
            Model::Bpe(Bpe {
                vocab,
                merges: Merges::Listed(Vec::new()),
                dropout: None,
                unk_token,
                continuing_subword_prefix: None,
                end_of_word_suffix,
                fuse_unk,
                byte_fallback,
                ignore_merges: false,
                whole_line_ends: false,
            })
        }
        ModelOptions::WordPiece { unk_token } => Model::WordPiece(WordPiece {
            vocab,
            unk_token,
            continuing_subword_prefix: "##".to_owned(),
            max_input_chars_per_word: 100,
        }),
        ModelOptions::Unigram { unk_id } => Model::Unigram(Unigram {
            vocab,
            scores: Vec::new(),
            kinds: Vec::new(),
            unk_id: Some(unk_id),
            byte_fallback: false,
        }),
    })
}

impl Pipeline {
    /// Puts the pipeline in place of the file's.
    pub(super) fn apply(self, spec: &mut Spec) {
        spec.normalizer = self.normalizer;
        spec.pre_tokenizer = self.pre_tokenizer;
        spec.post_processor = self.post_processor;
        spec.decoder = self.decoder;
        spec.added_tokens = self.added_tokens;
        match (self.model, &mut spec.model) {
            (Some(Model::Bpe(options)), Model::Bpe(model)) => {
                let vocab = std::mem::take(&mut model.vocab);
                let merges = std::mem::replace(&mut model.merges, Merges::ByRank);
                *model = Bpe { vocab, merges, ..options };
            }
            (Some(Model::WordPiece(options)), Model::WordPiece(model)) => {
                let vocab = std::mem::take(&mut model.vocab);
                *model = WordPiece { vocab, ..options };
            }
            (Some(Model::Unigram(options)), Model::Unigram(model)) => {
                let vocab = std::mem::take(&mut model.vocab);
                let own = std::mem::take(&mut model.scores);
                let scores = self.scores.unwrap_or(own);
                *model = Unigram { vocab, scores, ..options };
            }
            // The model is the file's.
            _ => {}
        }
    }
}
