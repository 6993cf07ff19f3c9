//! A tokenizer as it lies in a folder: the main file, and what stands beside it.
//!
//! Several formats may lie side by side. The first of these that is there is read:
//!
//! 1. `tokenizer.json`,
//! 2. `vocab.json` with `merges.txt`,
//! 3. a tiktoken rank file,
//! 4. `tekken.json`,
//! 5. a SentencePiece model,
//! 6. `vocab.txt`,
//! 7. RWKV's vocabulary,
//! 8. a GGUF file.
//!
//! Files are told apart by content ([`detect`]), so a rank file called `tokenizer.model` is a
//! rank file. Roles and chat templates come from the companions; whatever `tokenizer_config.json`
//! says about the pipeline is compared and reported, and applied only where the caller asks for
//! what a wrapper makes of the folder ([`Wrapper`]) or where the main file has no pipeline at all
//! (`vocab.json`, `vocab.txt`), which needs the class name and its flags.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::companions::{self, CONFIG, Companion, utf8};
use super::contradictions::{self, Contradiction};
use super::detect::{Format, LOADABLE, detect};
use super::hash::sha256_hex;
use super::node::Cursor;
use super::template_literals::literals;
use super::vocab_merges::{self, Companions, Family};
use super::vocab_txt::{self, Flags};
use super::{gguf, rwkv, sentencepiece, tekken, tiktoken, tokenizer_json, transformers};
use crate::error::{Error, Result};
use crate::spec::Spec;

/// Files by name, relative to their folder.
#[derive(Debug, Clone, Default)]
pub struct Files<'a> {
    entries: BTreeMap<String, &'a [u8]>,
}

impl<'a> Files<'a> {
    /// One file.
    #[must_use]
    pub fn single(name: impl Into<String>, bytes: &'a [u8]) -> Self {
        [(name.into(), bytes)].into_iter().collect()
    }

    /// Adds a file.
    pub fn insert(&mut self, name: impl Into<String>, bytes: &'a [u8]) {
        self.entries.insert(name.into(), bytes);
    }

    /// The content of a file.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&'a [u8]> {
        self.entries.get(name).copied()
    }

    /// All files in the order of their names.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &'a [u8])> {
        self.entries.iter().map(|(name, bytes)| (name.as_str(), *bytes))
    }
}

impl<'a> FromIterator<(String, &'a [u8])> for Files<'a> {
    fn from_iter<I: IntoIterator<Item = (String, &'a [u8])>>(files: I) -> Self {
        Self { entries: files.into_iter().collect() }
    }
}

/// What the files do not say.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The published name of a rank file's encoding; the file's hash is checked.
    pub encoding: Option<String>,
    /// The pattern of a rank file.
    pub pattern: Option<String>,
    /// The special tokens of a rank file.
    pub special_tokens: Option<Vec<(String, u32)>>,
    /// The class whose pipeline goes around `vocab.json` and `merges.txt`.
    pub tokenizer_class: Option<String>,
    /// The library whose reading of the whole folder is wanted, in place of the main file's own.
    pub as_loaded_by: Option<Wrapper>,
}

/// A library that wraps tokenizer files in a configuration of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wrapper {
    /// Hugging Face `transformers`, release 5.24.0: `AutoTokenizer.from_pretrained(folder)`.
    Transformers,
}

/// A tokenizer that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Artifact {
    /// The tokenizer.
    pub spec: Spec,
    /// What the files say beside it.
    pub info: Info,
}

/// What the files of a tokenizer say beside its spec.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Info {
    /// The tokens that play a role (`bos`, `eos`, `unk`, `sep`, `pad`, `cls`, `mask`,
    /// `additional`, or a name of the model's own); a role may have several.
    pub roles: Vec<(String, String)>,
    /// The chat templates by name; the main one is `default` and stands first.
    pub chat_templates: Vec<(String, String)>,
    /// What is wrong with the companion files.
    pub config_notes: Vec<String>,
    /// Where the configuration means another tokenizer than the file.
    pub contradictions: Vec<Contradiction>,
    /// What the main file says without effect, or otherwise than it seems.
    pub notes: Vec<String>,
    /// The main file's format.
    pub format: Format,
    /// The files that were used, with the SHA-256 of each in hex.
    pub sources: Vec<(String, String)>,
}

impl Info {
    /// What the chat templates write by themselves.
    #[must_use]
    pub fn template_literals(&self) -> Vec<String> {
        self.chat_templates.iter().flat_map(|(_, text)| literals(text)).collect()
    }
}

const COMPANIONS: &[&str] = &[
    CONFIG,
    "config.json",
    "special_tokens_map.json",
    "generation_config.json",
    "added_tokens.json",
    "chat_template.json",
];

/// Reads a tokenizer.
///
/// # Errors
/// An artifact error that names the file and the place in it.
pub fn read(files: &Files<'_>, options: &Options) -> Result<Artifact> {
    let mut found: Vec<(&str, Format)> = Vec::new();
    let mut first_error = None;
    for (name, bytes) in files.iter() {
        if COMPANIONS.contains(&name) || name.ends_with(".jinja") {
            continue;
        }
        match detect(name, bytes) {
            // Its own reader says what is wrong with it.
            Ok(Format::Config | Format::VocabJson) if name == "tokenizer.json" => {
                found.push((name, Format::TokenizerJson));
            }
            Ok(Format::Config) if name == "vocab.json" => found.push((name, Format::VocabJson)),
            Ok(format) => found.push((name, format)),
            Err(error) => {
                // A damaged main file must not make another one win.
                if matches!(name, "tokenizer.json" | "vocab.json" | "merges.txt") {
                    return Err(error);
                }
                first_error.get_or_insert(error);
            }
        }
    }
    let mut roles = companions::roles(files)?;
    let Some(main) = read_main(files, &found, options, &roles)? else {
        return Err(nothing(&found, first_error));
    };
    let Main { format, used, mut spec, notes, roles: own, chat_templates: own_templates } = main;
    let mut config_notes = Vec::new();
    let contradictions = follow(
        files,
        format,
        used.first().copied().unwrap_or_default(),
        options.as_loaded_by,
        &mut spec,
        &mut roles,
        &mut config_notes,
    )?;
    for (role, token) in own {
        if !roles.iter().any(|(known, _)| *known == role) {
            roles.push((role, token));
        }
    }
    companions::roles_by_id(files, &spec, &mut roles, &mut config_notes)?;
    let mut chat_templates = companions::chat_templates(files, &mut config_notes)?;
    for (name, template) in own_templates {
        if !chat_templates.iter().any(|(known, _)| *known == name) {
            chat_templates.push((name, template));
        }
    }
    companions::missing_roles(&spec, &roles, &mut config_notes);
    let sources = files
        .iter()
        .filter(|(name, _)| {
            used.contains(name) || COMPANIONS.contains(name) || name.ends_with(".jinja")
        })
        .map(|(name, bytes)| (name.to_owned(), sha256_hex(bytes)))
        .collect();
    let info = Info { roles, chat_templates, config_notes, contradictions, notes, format, sources };
    Ok(Artifact { spec, info })
}

/// Works out what a wrapper would make of a folder, and applies it if the caller wants it;
/// otherwise compares it with the file.
fn follow(
    files: &Files<'_>,
    format: Format,
    main: &str,
    wanted: Option<Wrapper>,
    spec: &mut Spec,
    roles: &mut Vec<(String, String)>,
    notes: &mut Vec<String>,
) -> Result<Vec<Contradiction>> {
    if format != Format::TokenizerJson {
        return match wanted {
            None => Ok(Vec::new()),
            Some(Wrapper::Transformers) => Err(Error::artifact(
                main,
                format!("transformers converts a {format} in a way that protok does not follow."),
            )
            .hint(
                "Convert it with transformers once, load the tokenizer.json, or load without \
                 as_loaded_by.",
            )
            .value(format.to_string())),
        };
    }
    const SAYING: [&str; 4] =
        [CONFIG, "config.json", "special_tokens_map.json", "added_tokens.json"];
    if wanted.is_none() && SAYING.iter().all(|name| files.get(name).is_none()) {
        // A file by itself: nothing says otherwise.
        return Ok(Vec::new());
    }
    let json = files.get(main).unwrap_or_default();
    match (transformers::run(files, json, spec, None), wanted) {
        (Ok(theirs), None) => {
            notes.extend(contradictions::notes(spec, &theirs));
            contradictions::find(files, json, spec, &theirs)
        }
        (Ok(mut theirs), Some(Wrapper::Transformers)) => {
            *roles = std::mem::take(&mut theirs.roles);
            theirs.apply(spec);
            Ok(Vec::new())
        }
        // Nobody asked for it.
        (Err(error), None) => {
            notes.push(format!("as_loaded_by=\"transformers\" would be refused: {error}"));
            Ok(Vec::new())
        }
        (Err(error), Some(_)) => Err(error),
    }
}

/// What the main file says.
struct Main<'n> {
    format: Format,
    /// The files that were read.
    used: Vec<&'n str>,
    spec: Spec,
    notes: Vec<String>,
    /// The roles that the file itself names.
    roles: Vec<(String, String)>,
    /// The chat templates in the file itself.
    chat_templates: Vec<(String, String)>,
}

/// Reads the first format that is there.
fn read_main<'n>(
    files: &Files<'_>,
    found: &[(&'n str, Format)],
    options: &Options,
    roles: &[(String, String)],
) -> Result<Option<Main<'n>>> {
    let main = |format, used, spec| {
        let (notes, roles, chat_templates) = (vec![], vec![], vec![]);
        Main { format, used, spec, notes, roles, chat_templates }
    };
    let bytes = |name: &str| files.get(name).unwrap_or_default();
    let text = |name: &str| utf8(name, files.get(name).unwrap_or_default());
    if let Some(name) = only(found, Format::TokenizerJson)? {
        let loaded = tokenizer_json::read(bytes(name)).map_err(|error| in_file(name, error))?;
        let main = main(Format::TokenizerJson, vec![name], loaded.spec);
        return Ok(Some(Main { notes: loaded.notes, ..main }));
    }
    if let (Some(vocab), Some(merges)) =
        (only(found, Format::VocabJson)?, only(found, Format::Merges)?)
    {
        let (spec, notes) = read_vocab_merges(files, vocab, merges, options, roles)?;
        return Ok(Some(Main { notes, ..main(Format::VocabJson, vec![vocab, merges], spec) }));
    }
    if let Some(name) = only(found, Format::TiktokenRanks)? {
        let companion = only(found, Format::EncodingJson)?;
        let spec = read_ranks(files, name, companion, options)?;
        let used = [name].into_iter().chain(companion).collect();
        return Ok(Some(main(Format::TiktokenRanks, used, spec)));
    }
    if let Some(name) = only(found, Format::Tekken)? {
        let spec = tekken::read(text(name)?).map_err(|error| in_file(name, error))?;
        let named = |token: &str| spec.added_tokens.iter().any(|own| own.content == token);
        let roles = tekken::ROLES.iter().filter(|(_, token)| named(token));
        let roles = roles.map(|(role, token)| ((*role).to_owned(), (*token).to_owned())).collect();
        return Ok(Some(Main { roles, ..main(Format::Tekken, vec![name], spec) }));
    }
    if let Some(name) = only(found, Format::SentencePiece)? {
        let loaded = sentencepiece::read(bytes(name)).map_err(|error| in_file(name, error))?;
        let main = main(Format::SentencePiece, vec![name], loaded.spec);
        return Ok(Some(Main { roles: loaded.roles, ..main }));
    }
    if let Some(name) = only(found, Format::VocabTxt)? {
        let (spec, notes) = read_vocab_txt(files, name, options, roles)?;
        return Ok(Some(Main { notes, ..main(Format::VocabTxt, vec![name], spec) }));
    }
    if let Some(name) = only(found, Format::RwkvVocab)? {
        let spec = rwkv::read(text(name)?).map_err(|error| in_file(name, error))?;
        return Ok(Some(main(Format::RwkvVocab, vec![name], spec)));
    }
    if let Some(name) = only(found, Format::Gguf)? {
        let gguf::Loaded { spec, roles, chat_templates } =
            gguf::read(bytes(name)).map_err(|error| in_file(name, error))?;
        let main = main(Format::Gguf, vec![name], spec);
        return Ok(Some(Main { roles, chat_templates, ..main }));
    }
    Ok(None)
}

/// Puts the file's name before a place in it.
fn in_file(name: &str, mut error: Error) -> Error {
    if name != "tokenizer.json" {
        error.location = Some(match error.location {
            Some(place) if !place.is_empty() => format!("{name}: {place}"),
            _ => name.to_owned(),
        });
    }
    error
}

/// The only file of a format; the one with the customary name if there are several.
fn only<'n>(found: &[(&'n str, Format)], format: Format) -> Result<Option<&'n str>> {
    let names: Vec<&str> =
        found.iter().filter(|(_, own)| *own == format).map(|(name, _)| *name).collect();
    let customary = format.to_string();
    match names.as_slice() {
        [] => Ok(None),
        [name] => Ok(Some(name)),
        several if several.contains(&customary.as_str()) => {
            Ok(several.iter().copied().find(|name| *name == customary))
        }
        several => Err(Error::artifact(
            several[0],
            format!("There are several files of the format {format}: {}.", several.join(", ")),
        )
        .hint("Name the file instead of its folder.")),
    }
}

fn nothing(found: &[(&str, Format)], first_error: Option<Error>) -> Error {
    let main =
        found.iter().find(|(_, format)| !matches!(format, Format::Config | Format::EncodingJson));
    match (main, first_error) {
        (Some((name, Format::VocabJson)), _) => {
            Error::artifact(*name, "A vocab.json is not a tokenizer without its merges.")
                .hint("Put merges.txt beside it, or use tokenizer.json.")
        }
        (Some((name, Format::Merges)), _) => {
            Error::artifact(*name, "A merges.txt is not a tokenizer without its vocabulary.")
                .hint("Put vocab.json beside it, or use tokenizer.json.")
        }
        (Some((name, format)), _) => {
            Error::artifact(*name, format!("There is no reader for a {format} yet."))
                .hint(LOADABLE)
                .value(format.to_string())
        }
        (None, Some(error)) => error,
        (None, None) => {
            let name = found.first().map_or(CONFIG, |(name, _)| name);
            Error::artifact(name, "There is no tokenizer among these files.").hint(LOADABLE)
        }
    }
}

fn read_vocab_merges(
    files: &Files<'_>,
    vocab: &str,
    merges: &str,
    options: &Options,
    roles: &[(String, String)],
) -> Result<(Spec, Vec<String>)> {
    let config = Companion::read(files, CONFIG)?;
    let root = config.as_ref().map(Companion::root);
    let class = tokenizer_class(root.as_ref(), options)?;
    let family = match class {
        Some(class) => Some(Family::of_class(&class).ok_or_else(|| {
            Error::artifact(
                format!("{CONFIG}.tokenizer_class"),
                format!("The pipeline of {class:?} is not known for vocab.json and merges.txt."),
            )
            .hint("Use a folder with a tokenizer.json, which holds the pipeline.")
            .value(class)
        })?),
        None => None,
    };
    let prefix = root.as_ref().and_then(|root| root.present("add_prefix_space"));
    let companions = Companions {
        roles: roles.to_vec(),
        added_tokens: companions::added_tokens(files)?,
        add_prefix_space: prefix.map_or(Ok(false), |field| field.bool())?,
    };
    let text = |name| utf8(name, files.get(name).unwrap_or_default());
    vocab_merges::read(text(vocab)?, text(merges)?, family, &companions)
}

/// The class that the caller or `tokenizer_config.json` names.
fn tokenizer_class(root: Option<&Cursor<'_>>, options: &Options) -> Result<Option<String>> {
    match (&options.tokenizer_class, root.and_then(|root| root.present("tokenizer_class"))) {
        (Some(class), _) => Ok(Some(class.clone())),
        (None, Some(field)) => Ok(Some(field.string()?)),
        (None, None) => Ok(None),
    }
}

fn read_vocab_txt(
    files: &Files<'_>,
    name: &str,
    options: &Options,
    roles: &[(String, String)],
) -> Result<(Spec, Vec<String>)> {
    let config = Companion::read(files, CONFIG)?;
    let root = config.as_ref().map(Companion::root);
    if let Some(class) = tokenizer_class(root.as_ref(), options)?
        && !vocab_txt::is_known_class(&class)
    {
        return Err(Error::artifact(
            format!("{CONFIG}.tokenizer_class"),
            format!("The pipeline of {class:?} is not known for vocab.txt."),
        )
        .hint("Use a folder with a tokenizer.json, which holds the pipeline.")
        .value(class));
    }
    let flags = root.as_ref().map_or(Ok(Flags::default()), Flags::read)?;
    let companions = Companions {
        roles: roles.to_vec(),
        added_tokens: companions::added_tokens(files)?,
        add_prefix_space: false,
    };
    let text = utf8(name, files.get(name).unwrap_or_default())?;
    vocab_txt::read(text, flags, &companions).map_err(|error| in_file(name, error))
}

fn read_ranks(
    files: &Files<'_>,
    name: &str,
    companion: Option<&str>,
    options: &Options,
) -> Result<Spec> {
    let bytes = files.get(name).unwrap_or_default();
    let ranks = || tiktoken::read_ranks(bytes).map_err(|error| in_file(name, error));
    if let Some(encoding) = &options.encoding {
        let named = tiktoken::named(encoding).ok_or_else(|| {
            let names: Vec<&str> = tiktoken::names().collect();
            Error::input(format!("{encoding:?} is not a known encoding."))
                .hint(format!("Known are: {}.", names.join(", ")))
                .value(encoding.clone())
        })?;
        return tiktoken::read_named(bytes, named).map_err(|error| in_file(name, error));
    }
    if let Some(pattern) = &options.pattern {
        let special = options.special_tokens.as_deref().unwrap_or_default();
        return tiktoken::spec(ranks()?, pattern, special);
    }
    if let Some(companion) = companion {
        let text = utf8(companion, files.get(companion).unwrap_or_default())?;
        let says = tiktoken::read_companion(text)?;
        let special = options.special_tokens.as_ref().unwrap_or(&says.special_tokens);
        let spec = tiktoken::spec(ranks()?, &says.pattern, special)?;
        if let Some(n_vocab) = says.n_vocab {
            tiktoken::check_size(&spec, n_vocab)?;
        }
        return Ok(spec);
    }
    match tiktoken::identify(&sha256_hex(bytes)).and_then(tiktoken::named) {
        Some(named) => tiktoken::read_named(bytes, named),
        None => Err(Error::artifact(name, "A rank file has no pattern and no special tokens.")
            .hint("Give `pattern` and `special_tokens`, or put an encoding.json beside it.")),
    }
}
