//! What `TokenizersBackend` does with a pipeline and its arguments, whatever the class.

use super::arguments::{Arguments, ROLES, refused};
use super::class::Class;
use super::ordered::Ordered;
use super::parts;
use super::token::{Added, Special, Token};
use super::{classes, rebuild, regex};
use crate::error::Result;
use crate::formats::node::Cursor;
use crate::spec::{Decoder, Model, Normalizer, PostProcessor, PreTokenizer, Spec};
use crate::vocab::{SeededMap, SeededSet};

/// The options of a model; its vocabulary and merges stay the file's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ModelOptions {
    /// As in the file.
    Kept,
    Bpe {
        unk_token: Option<String>,
        fuse_unk: bool,
        byte_fallback: bool,
        end_of_word_suffix: Option<String>,
    },
    WordPiece {
        unk_token: String,
    },
    /// With scores read as decimals are elsewhere.
    Unigram {
        unk_id: usize,
    },
}

/// A tokenizer on its way through the constructors.
pub(super) struct Build<'a> {
    /// What the file says.
    pub file: &'a Spec,
    pub class: Class,
    pub arguments: Arguments,
    pub normalizer: Option<Normalizer>,
    pub pre_tokenizer: Option<PreTokenizer>,
    pub model: ModelOptions,
    pub post_processor: Option<PostProcessor>,
    pub decoder: Option<Decoder>,
    pub added: Added<'a>,
    /// The tokens of the roles, those of the model's own last.
    pub roles: Ordered<Option<Special>>,
    pub extra: Vec<Special>,
    /// There was no template when the tokens were added.
    lacks_template: bool,
}

impl<'a> Build<'a> {
    /// Runs the constructors.
    pub(super) fn run(
        file: &'a Spec,
        class: Class,
        arguments: Arguments,
        model_config: Option<&Cursor<'_>>,
    ) -> Result<Self> {
        let mut build = Self {
            file,
            class,
            arguments,
            normalizer: file.normalizer.clone(),
            pre_tokenizer: file.pre_tokenizer.clone(),
            model: ModelOptions::Kept,
            post_processor: file.post_processor.clone(),
            decoder: file.decoder.clone(),
            added: Added::new(file.model.tokens(), &file.added_tokens),
            roles: Ordered::default(),
            extra: Vec::new(),
            lacks_template: false,
        };
        for role in ROLES {
            let token = classes::role(&build, role)?;
            build.roles.set(role, token);
        }
        if class.rebuilds() {
            build.added = Added::new(file.model.tokens(), &[]);
            rebuild::rebuild(&mut build)?;
        }
        build.construct(model_config)?;
        classes::finish(&mut build)?;
        build.decode()?;
        Ok(build)
    }

    /// `TokenizersBackend.__init__`.
    fn construct(&mut self, model_config: Option<&Cursor<'_>>) -> Result<()> {
        // The padding that the file stores names a padding token.
        let given = self.arguments.get("pad_token").is_some() || self.class.has_pad_token();
        let stored = self.file.padding.as_ref().and_then(|padding| padding["pad_token"].as_str());
        if let Some(token) = stored.filter(|_| !given) {
            self.roles.set("pad_token", Some(Special::Text(token.to_owned())));
        }
        for (name, token) in self.arguments.own_roles()? {
            self.roles.set(&name, Some(token));
        }
        self.extra = self.arguments.extra()?;
        if self.arguments.flag("split_special_tokens", false)? {
            return Err(refused(
                "split_special_tokens",
                "transformers would read special tokens in text as text, which is a matter of \
                 each call here.",
            )
            .hint("Load without as_loaded_by, and pass special=\"text\" to encode."));
        }
        self.lacks_template = self.post_processor.is_none();
        self.add_tokens();
        self.fix_mistral_regex(model_config)?;
        if self.lacks_template {
            self.post_processor = Some(parts::bare_template());
        }
        Ok(())
    }

    /// Adds all tokens of the configuration, and those of the roles that are not among them.
    fn add_tokens(&mut self) {
        let listed = self.arguments.added.iter().map(|(_, token)| token.clone());
        let mut known = self.added.contents();
        known.extend(listed.clone().map(|token| token.content));
        let mut wanted: Vec<Special> = listed.map(Special::Token).collect();
        let mut by_name: SeededMap<&str, Vec<&Special>> = SeededMap::default();
        let named = self.roles.iter().filter_map(|(_, token)| token.as_ref());
        for token in named.clone().chain(&self.extra) {
            let same = by_name.entry(token.as_str()).or_default();
            if !known.contains(token.as_str()) && !same.contains(&token) {
                same.push(token);
                wanted.push(token.clone());
            }
        }
        let named: SeededSet<&str> = named.map(Special::as_str).collect();
        let tokens: Vec<Token> = wanted
            .into_iter()
            .map(|token| match token {
                Special::Text(text) => Token { special: true, ..Token::plain(&text) },
                Special::Token(token) => {
                    let special = token.special || named.contains(token.content.as_str());
                    Token { special, ..token }
                }
            })
            .collect();
        self.added.add(&tokens);
    }

    /// `fix_mistral_regex`, which counts only for large vocabularies of Mistral's old models.
    fn fix_mistral_regex(&mut self, model_config: Option<&Cursor<'_>>) -> Result<()> {
        if self.pre_tokenizer.is_none() || !self.is_large() {
            return Ok(());
        }
        let Some(model) = model_config else { return Ok(()) };
        let version = model.present("transformers_version").map(|field| field.string());
        if version.transpose()?.is_some_and(|version| regex::is_fixed(&version)) {
            return Ok(());
        }
        let model_type = model.present("model_type").map(|field| field.string()).transpose()?;
        if model_type.is_some_and(|name| !regex::MISTRAL.contains(&name.as_str())) {
            return Ok(());
        }
        if self.arguments.flag("fix_mistral_regex", false)? {
            self.pre_tokenizer = self.pre_tokenizer.take().map(regex::fixed);
        }
        Ok(())
    }

    /// Whether there are more than 100,000 tokens, those added included.
    fn is_large(&self) -> bool {
        const LARGE: usize = 100_000;
        let vocab = self.file.model.tokens();
        let contents = self.added.contents();
        if vocab.len() > LARGE || vocab.len() + contents.len() <= LARGE {
            return vocab.len() > LARGE;
        }
        let text = |token| std::str::from_utf8(token).ok();
        let in_vocab = vocab
            .iter()
            .filter(|(token, _)| text(token).is_some_and(|token| contents.contains(token)))
            .count();
        vocab.len() + contents.len() - in_vocab > LARGE
    }

    /// `_post_init`: adds the tokens of the roles once more, as special ones, and takes a template
    /// away that only the class had.
    pub(super) fn add_special_tokens(&mut self) {
        let named = self.roles.iter().filter_map(|(_, token)| token.as_ref());
        let tokens: Vec<Token> = named
            .chain(&self.extra)
            .map(|token| match token {
                Special::Text(text) => {
                    Token { special: true, normalized: Some(false), ..Token::plain(text) }
                }
                Special::Token(token) => Token { special: true, ..token.clone() },
            })
            .collect();
        self.added.add(&tokens);
        if self.lacks_template {
            self.post_processor = Some(parts::bare_template());
        }
    }

    /// What comes after the decoder.
    fn decode(&mut self) -> Result<()> {
        let added = self.added.clone().tokens();
        let vocab = self.file.model.tokens();
        if self.class == Class::Clip {
            self.decoder = Some(parts::words_and_strip(self.decoder.take(), vocab, &added)?);
        }
        let forced = "clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output";
        let is_bpe = matches!(self.file.model, Model::Bpe(_));
        if self.arguments.optional_flag("clean_up_tokenization_spaces")? == Some(true)
            && (!is_bpe || self.arguments.optional_flag(forced)? == Some(true))
        {
            self.decoder = Some(parts::tidied(self.decoder.take(), vocab, &added)?);
        }
        if self.class == Class::Whisper {
            self.decoder = Some(parts::without_times(self.decoder.take(), vocab, &added)?);
        }
        Ok(())
    }

    /// The token of a role, if it has one.
    pub(super) fn token(&self, role: &str) -> Option<&str> {
        self.roles.get(role)?.as_ref().map(Special::as_str)
    }

    /// The token of a role, which a class cannot do without.
    pub(super) fn need(&self, role: &str) -> Result<String> {
        self.token(role)
            .map(str::to_owned)
            .ok_or_else(|| refused(role, "The class cannot do without this token."))
    }

    /// The token of a role, and its id once it is added.
    pub(super) fn token_and_id(&self, role: &str) -> Result<(String, u32)> {
        let token = self.need(role)?;
        let id = self.added.id(&token).ok_or_else(|| refused(role, "The token has no id."))?;
        Ok((token, id))
    }
}
