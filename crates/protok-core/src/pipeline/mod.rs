//! Layer 5: a compiled [`Spec`], and the two paths through it.
//!
//! [`Pipeline::compile`] turns a spec into tables once; after that a pipeline never changes and
//! may be shared between threads. The fast path ([`encode`]) yields ids. The reference path
//! ([`reference`](mod@reference)) goes through the same stages naively, and yields for every
//! token also the bytes of the original that it came from.

pub mod batch;
mod bytes;
pub mod choice;
pub mod encode;
pub mod input;
mod parts;
pub mod placed;
pub mod reference;
pub mod seams;
mod span_parts;
pub mod spans;
pub mod truncate;
mod trusted;

use std::sync::{Mutex, OnceLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use rustc_hash::FxHashSet;

use crate::added_tokens::{AddedTokens, SpecialPolicy};
use crate::decode::{DecodeOptions, Decoder};
use crate::error::{Error, Result};
use crate::model::bpe::Prepared;
use crate::model::{self, Model, Scratch};
use crate::normalize::Normalizer;
use crate::postprocess::Template;
use crate::pretokenize::PreTokenizer;
use crate::spec::{Semantics, Spec};
use crate::vocab::Vocab;

use bytes::Stray;

/// The cache of each thread, in bytes, where the caller does not say.
pub const DEFAULT_CACHE_BYTES: usize = 16 << 20;

/// Why a token is a control token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ControlReason {
    /// The artifact flags it special.
    Special,
    /// It is a control piece of the model, which no text spells.
    Piece,
    /// The artifact's chat template writes it.
    Template,
    /// The caller named it.
    Named,
}

impl ControlReason {
    /// The reason in words.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Special => "flagged special",
            Self::Piece => "a control piece of the model",
            Self::Template => "written by the chat template",
            Self::Named => "named by the caller of load",
        }
    }
}

/// What the caller decides when a spec is compiled.
#[derive(Debug, Clone, Default)]
pub struct CompileOptions {
    /// The control tokens, by content, in place of those that the artifact has.
    pub control_tokens: Option<Vec<String>>,
    /// What the artifact's chat templates write by themselves: an added token in it is a control
    /// token.
    pub template_literals: Vec<String>,
    /// The size of each thread's cache.
    pub cache_bytes: Option<usize>,
}

/// What was found out about a spec when it was compiled before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Known {
    /// Whether no two entries of the vocabulary have one spelling.
    pub distinct: bool,
    /// See [`Prepared`].
    pub bpe: Option<Prepared>,
}

/// A compiled spec.
#[derive(Debug)]
pub struct Pipeline {
    spec: Spec,
    vocab: Vocab,
    added: AddedTokens,
    control: Vec<(u32, ControlReason)>,
    normalizer: Normalizer,
    pre_tokenizer: PreTokenizer,
    model: Model,
    /// The model for plain text, where the model could otherwise make a control token.
    plain_model: Option<Model>,
    stray: Stray,
    template: Template,
    decoder: Decoder,
    /// What the model makes of text outside its vocabulary.
    unknown: Option<u32>,
    /// The unknown token, where an encoding shows the text that it stands for in its place.
    shown_unknown: Option<u32>,
    cache_bytes: usize,
    /// Whether texts can be encoded part by part, once somebody asked.
    seams: OnceLock<Option<seams::Seams>>,
    /// See [`placed`], once somebody asked.
    token_lengths: OnceLock<Option<Box<[u8]>>>,
    /// Where texts may be cut before anything is done to them, once somebody asked.
    joints: OnceLock<Option<Box<parts::Joints>>>,
    /// Scratch memory of the model and of the plain model, which remember different tokens.
    idle: [Mutex<Vec<Scratch>>; 2],
    /// What is known of where the tokens of parts of texts came from.
    idle_parts: Mutex<Vec<span_parts::Parts>>,
}

impl Pipeline {
    /// Compiles a spec.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Artifact`], with the path of the component, for anything that cannot
    /// run exactly.
    pub fn compile(spec: Spec, options: &CompileOptions) -> Result<Self> {
        let vocab = Vocab::new(spec.model.tokens())?;
        Self::compile_around(vocab, spec, options, None)
    }

    /// Compiles a spec of which something is known from before; refuses what cannot be of it.
    ///
    /// # Errors
    /// As [`Self::compile`].
    pub(crate) fn compile_known(
        spec: Spec,
        options: &CompileOptions,
        known: &Known,
    ) -> Result<Self> {
        let vocab = Vocab::new(spec.model.tokens())?.known_distinct(known.distinct);
        let fits = match (&known.bpe, &spec.model) {
            (Some(prepared), crate::spec::Model::Bpe(bpe)) => prepared.fits(bpe, &vocab),
            (Some(_), _) => false,
            (None, _) => true,
        };
        if !fits {
            return Err(Error::artifact("model", "What was prepared is of another model."));
        }
        Self::compile_around(vocab, spec, options, known.bpe.as_ref())
    }

    /// What [`Self::compile_known`] would be spared.
    pub(crate) fn known(&self) -> Known {
        let bpe = match &self.model {
            Model::Bpe(bpe) => bpe.prepared(),
            _ => None,
        };
        Known { distinct: self.vocab.is_distinct(), bpe }
    }

    fn compile_around(
        vocab: Vocab,
        spec: Spec,
        options: &CompileOptions,
        prepared: Option<&Prepared>,
    ) -> Result<Self> {
        let normalizer = Normalizer::compile(spec.normalizer.as_ref(), spec.semantics)?;
        let pre_tokenizer = PreTokenizer::compile(spec.pre_tokenizer.as_ref(), spec.semantics)?;
        let control = control_tokens(&spec, options)?;
        let ids: FxHashSet<u32> = control.iter().map(|&(id, _)| id).collect();
        let added = AddedTokens::compile(&spec.added_tokens, &ids, &normalizer)?;
        let added = match spec.semantics {
            Semantics::LlamaCpp => added.longest_first()?,
            _ => added,
        };

        let compile = |banned: &FxHashSet<u32>| {
            let bytes = pre_tokenizer.yields_bytes();
            Model::compile(&spec.model, spec.semantics, bytes, &vocab, banned, prepared)
        };
        let model = compile(&FxHashSet::default())?;
        // No model but that of bytes yields what is not in the vocabulary, as most control tokens
        // are.
        let is_bytes = matches!(spec.model, crate::spec::Model::Bytes(_));
        let mut banned = ids;
        banned.retain(|&id| is_bytes || vocab.bytes(id).is_some());
        let unknown = model::unknown_token(&spec.model, &vocab);
        if let Some(unknown) = unknown {
            banned.remove(&unknown);
        }
        let shown_unknown = unknown.filter(|_| shows_unknown_text(&spec));
        let plain_model =
            if model.can_yield(&banned, &vocab) { Some(compile(&banned)?) } else { None };
        let bytes = pre_tokenizer.yields_bytes();
        let stray = Stray::compile(&spec.model, &model, bytes, &vocab, &banned);
        let template = Template::compile(spec.post_processor.as_ref())?;
        let decoder = Decoder::compile(spec.decoder.as_ref(), spec.semantics)?;
        Ok(Self {
            vocab,
            added,
            control,
            normalizer,
            pre_tokenizer,
            model,
            plain_model,
            stray,
            template,
            decoder,
            unknown,
            shown_unknown,
            cache_bytes: options.cache_bytes.unwrap_or(DEFAULT_CACHE_BYTES),
            idle: Default::default(),
            idle_parts: Mutex::default(),
            seams: OnceLock::new(),
            joints: OnceLock::new(),
            token_lengths: OnceLock::new(),
            spec,
        })
    }

    /// The spec that it was compiled from.
    #[must_use]
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// The model's vocabulary, spelled as in the artifact.
    #[must_use]
    pub fn vocab(&self) -> &Vocab {
        &self.vocab
    }

    /// The added tokens.
    #[must_use]
    pub fn added_tokens(&self) -> &AddedTokens {
        &self.added
    }

    /// The control tokens, by rising id, and why they are.
    #[must_use]
    pub fn control_tokens(&self) -> &[(u32, ControlReason)] {
        &self.control
    }

    /// The post-processor's template.
    #[must_use]
    pub fn template(&self) -> &Template {
        &self.template
    }

    /// The normalizer.
    #[must_use]
    pub fn normalizer(&self) -> &Normalizer {
        &self.normalizer
    }

    /// The pre-tokenizer.
    #[must_use]
    pub fn pre_tokenizer(&self) -> &PreTokenizer {
        &self.pre_tokenizer
    }

    /// The model that reads control tokens in its own vocabulary as any others.
    #[must_use]
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The engine of each regular expression, in order, for `inspect`.
    #[must_use]
    pub fn pattern_engines(&self) -> Vec<&'static str> {
        self.pre_tokenizer.engines()
    }

    /// How a token is spelled: an added token's content, else the vocabulary's entry (bytes that
    /// are not UTF-8 read as U+FFFD).
    #[must_use]
    pub fn token(&self, id: u32) -> Option<std::borrow::Cow<'_, str>> {
        match self.added.get(id) {
            Some(token) => Some(token.content.as_str().into()),
            None => self.vocab.bytes(id).map(String::from_utf8_lossy),
        }
    }

    /// A token as an encoding shows it: as [`Self::token`], but an added token that is matched in
    /// the normalized text in the form in which it stands there.
    #[must_use]
    pub fn shown(&self, id: u32) -> Option<std::borrow::Cow<'_, str>> {
        self.added.decoded_form(id).map(Into::into).or_else(|| self.token(id))
    }

    /// Whether a token may be shown as a text that only [`Self::spans`] knows.
    #[must_use]
    pub fn is_shown_as_text(&self, id: u32) -> bool {
        self.shown_unknown == Some(id)
    }

    /// The id of a token by its spelling, added tokens first.
    #[must_use]
    pub fn token_id(&self, token: &str) -> Option<u32> {
        self.added.id_of(token).or_else(|| self.vocab.id(token.as_bytes()))
    }

    /// One past the highest id of the vocabulary and the added tokens.
    #[must_use]
    pub fn size(&self) -> usize {
        let added = self.added.tokens().iter().map(|token| token.id as usize + 1).max();
        self.vocab.size().max(added.unwrap_or(0))
    }

    /// See [`Decoder::decode`].
    ///
    /// # Errors
    /// As there.
    pub fn decode(&self, ids: &[u32], options: DecodeOptions) -> Result<String> {
        self.decoder.decode(ids, &self.vocab, &self.added, options)
    }

    /// See [`Decoder::decode_bytes`].
    ///
    /// # Errors
    /// As there.
    pub fn decode_bytes(&self, ids: &[u32], options: DecodeOptions) -> Result<Vec<u8>> {
        self.decoder.decode_bytes(ids, &self.vocab, &self.added, options)
    }

    /// The decoder.
    #[must_use]
    pub fn decoder(&self) -> &Decoder {
        &self.decoder
    }

    /// See [`Decoder::token_bytes`].
    ///
    /// # Errors
    /// As there.
    pub fn token_bytes(&self, id: u32) -> Result<Option<Vec<u8>>> {
        self.decoder.token_bytes(id, &self.vocab, &self.added)
    }

    /// The bytes of all ids in mid-text, one after the other, and where each starts and the last
    /// ends. An id that names no token has none.
    ///
    /// # Errors
    /// As [`Self::token_bytes`].
    pub fn all_token_bytes(&self) -> Result<(Vec<u8>, Vec<i64>)> {
        let mut values = Vec::new();
        let mut row_offsets = Vec::with_capacity(self.size() + 1);
        row_offsets.push(0);
        for id in (0u32..).take(self.size()) {
            values.extend(self.token_bytes(id)?.unwrap_or_default());
            row_offsets.push(values.len() as i64);
        }
        Ok((values, row_offsets))
    }

    /// Whether any bytes can be encoded, not only text.
    pub(crate) fn reads_bytes(&self) -> bool {
        !matches!(self.stray, Stray::Refused)
    }

    /// The model that a policy calls for.
    fn model_for(&self, policy: &SpecialPolicy) -> &Model {
        match &self.plain_model {
            Some(plain) if !policy.takes_pieces() => plain,
            _ => &self.model,
        }
    }

    /// Lends the scratch memory of the model that a policy calls for, for the length of a call.
    /// No lock is held while it is lent, and a process that forks while another thread holds the
    /// lock only goes without old memory.
    fn with_scratch<T>(&self, policy: &SpecialPolicy, work: impl FnOnce(&mut Scratch) -> T) -> T {
        const MOST_IDLE: usize = 16;
        let plain = self.plain_model.is_some() && !policy.takes_pieces();
        let idle = &self.idle[usize::from(plain)];
        let kept = idle.try_lock().ok().and_then(|mut idle| idle.pop());
        let mut scratch = kept.unwrap_or_else(|| {
            Scratch::new(self.cache_bytes, self.pre_tokenizer.tiling().is_none())
        });
        let result = work(&mut scratch);
        if let Ok(mut idle) = idle.try_lock()
            && idle.len() < MOST_IDLE
        {
            idle.push(scratch);
        }
        result
    }
}

fn control_tokens(spec: &Spec, options: &CompileOptions) -> Result<Vec<(u32, ControlReason)>> {
    let mut control: Vec<(u32, ControlReason)> = match &options.control_tokens {
        None => {
            let written = written_by_templates(spec, options)?;
            let tokens = spec.added_tokens.iter().enumerate();
            tokens
                .filter_map(|(place, token)| {
                    let reason = match token.special {
                        true => ControlReason::Special,
                        false if written.contains(&place) => ControlReason::Template,
                        false => return None,
                    };
                    Some((token.id, reason))
                })
                .collect()
        }
        Some(names) => names
            .iter()
            .map(|name| {
                let token = spec.added_tokens.iter().find(|token| token.content == *name);
                token.map(|token| (token.id, ControlReason::Named)).ok_or_else(|| {
                    Error::input(format!("control_tokens names {name:?}, which is no added token."))
                        .value(name.clone())
                        .hint("Only tokens that are matched in the text can be control tokens.")
                })
            })
            .collect::<Result<_>>()?,
    };
    if options.control_tokens.is_none() {
        control.extend(spec.model.control_pieces().map(|id| (id, ControlReason::Piece)));
    }
    control.sort_by_key(|&(id, _)| id);
    control.dedup_by_key(|entry| entry.0);
    Ok(control)
}

/// Whether unknown text is shown as it stands, not by the name of the unknown token: SentencePiece
/// does so, and the Unigram model of tokenizers.
fn shows_unknown_text(spec: &Spec) -> bool {
    match spec.semantics {
        Semantics::SentencePiece => true,
        Semantics::HuggingFace => matches!(spec.model, crate::spec::Model::Unigram(_)),
        _ => false,
    }
}

/// The places of the added tokens that the chat templates write.
fn written_by_templates(spec: &Spec, options: &CompileOptions) -> Result<FxHashSet<usize>> {
    let marks = spec.added_tokens.iter().enumerate();
    let marks = marks.filter(|(_, token)| !token.special && is_mark(&token.content));
    let marks: Vec<(usize, &str)> =
        marks.map(|(place, token)| (place, token.content.as_str())).collect();
    if marks.is_empty() || options.template_literals.is_empty() {
        return Ok(FxHashSet::default());
    }
    let search = AhoCorasick::builder()
        .kind(Some(AhoCorasickKind::ContiguousNFA))
        .build(marks.iter().map(|(_, content)| content))
        .map_err(|error| {
            Error::artifact("added_tokens", format!("They cannot be searched for: {error}."))
        })?;
    let texts = options.template_literals.iter();
    let found = texts.flat_map(|text| search.find_overlapping_iter(text));
    Ok(found.map(|found| marks[found.pattern().as_usize()].0).collect())
}

/// Whether a token can mark anything: a template also writes words and line ends, which some
/// vocabularies list as added tokens.
fn is_mark(content: &str) -> bool {
    content.chars().any(|c| !c.is_alphanumeric() && !c.is_whitespace())
        && content.chars().count() > 1
}
