//! A compiled decoder.

use crate::added_tokens::AddedTokens;
use crate::error::{Error, ErrorKind, Result};
use crate::spec::{self, Semantics};
use crate::vocab::Vocab;

use super::chain::Chain;
use super::clean_up::clean_up;
use super::fixed::Fixed;
use super::llama_cpp;
use super::sentencepiece::SentencePiece;
use super::steps::{add_steps, append_byte_level};

/// What to do with bytes that are not UTF-8.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Errors {
    /// U+FFFD in their place.
    #[default]
    Replace,
    /// An error.
    Strict,
    /// What the reference implementation does.
    Reference,
}

/// What to do with ids that the vocabulary lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unknown {
    /// An error.
    #[default]
    Raise,
    /// Leave them out.
    Skip,
}

/// How to decode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DecodeOptions {
    /// Leave special tokens out.
    pub skip_special_tokens: bool,
    /// Bytes that are not UTF-8.
    pub errors: Errors,
    /// Ids that the vocabulary lacks.
    pub unknown: Unknown,
    /// Tidy the blanks around English punctuation in the decoded text ([`clean_up`]). It is about
    /// text: [`Decoder::decode_bytes`] does not do it.
    pub clean_up_spaces: bool,
}

/// A compiled decoder.
#[derive(Debug)]
pub struct Decoder {
    pub(super) kind: Kind,
}

#[derive(Debug)]
pub(super) enum Kind {
    /// Each id stands for fixed bytes.
    Bytes(Fixed),
    /// Steps over token strings.
    Steps(Chain),
    /// SentencePiece's rules, which ask what each id is for.
    SentencePiece(Box<SentencePiece>),
    /// llama.cpp's, likewise.
    LlamaCpp(spec::LlamaCppDecoder),
    /// No decoder: tokens with a blank between.
    Blanks,
}

/// So many steps may run one after the other.
const MOST_STEPS: usize = 1024;

impl Decoder {
    /// Compiles the decoder of a spec.
    ///
    /// # Errors
    /// [`ErrorKind::Artifact`] for a component without an engine, or a bad pattern.
    pub fn compile(spec: Option<&spec::Decoder>, semantics: Semantics) -> Result<Self> {
        let kind = match spec {
            None => Kind::Blanks,
            Some(spec::Decoder::ByteLevel(_)) => Kind::Bytes(Fixed::new(append_byte_level)),
            Some(spec::Decoder::Bytes) => {
                Kind::Bytes(Fixed::new(|token, out| out.extend_from_slice(token)))
            }
            Some(spec::Decoder::SentencePiece(spec)) => {
                let rules = SentencePiece::compile(spec);
                Kind::SentencePiece(Box::new(rules.map_err(|error| error.within("decoder"))?))
            }
            Some(spec::Decoder::LlamaCpp(rules)) => Kind::LlamaCpp(rules.clone()),
            Some(spec) => {
                let mut steps = Vec::new();
                add_steps(spec, semantics, &mut steps).map_err(|error| error.within("decoder"))?;
                if steps.len() > MOST_STEPS {
                    return Err(Error::artifact("decoder", "There are too many steps.")
                        .hint(format!("At most {MOST_STEPS} can run one after the other."))
                        .value(steps.len().to_string()));
                }
                Kind::Steps(Chain::new(steps))
            }
        };
        Ok(Self { kind })
    }

    /// The bytes that ids stand for.
    ///
    /// # Errors
    /// [`ErrorKind::UnknownId`] for an id that the vocabulary lacks.
    pub fn decode_bytes(
        &self,
        ids: &[u32],
        vocab: &Vocab,
        added: &AddedTokens,
        options: DecodeOptions,
    ) -> Result<Vec<u8>> {
        let skipped =
            |id| options.skip_special_tokens && added.get(id).is_some_and(|token| token.special);
        if let Kind::Bytes(fixed) = &self.kind {
            let table = fixed.table(vocab, added);
            let mut bytes = Vec::with_capacity(ids.len() * 5);
            for (at, &id) in ids.iter().enumerate() {
                match table.bytes(id) {
                    Some(token) => {
                        if !skipped(id) {
                            bytes.extend_from_slice(token);
                        }
                    }
                    None => refuse_unknown(at, id, vocab, added, options.unknown)?,
                }
            }
            return Ok(bytes);
        }
        if let Kind::SentencePiece(rules) = &self.kind {
            let mut run = rules.start(options.errors);
            for (at, &id) in ids.iter().enumerate() {
                match (added.get(id), vocab.bytes(id)) {
                    _ if skipped(id) => {}
                    (Some(token), _) => run.push_text(token.content.as_bytes()),
                    (None, Some(piece)) => run.push(id, piece),
                    (None, None) => refuse_unknown(at, id, vocab, added, options.unknown)?,
                }
            }
            return run.finish();
        }
        if let Kind::LlamaCpp(rules) = &self.kind {
            let mut run = llama_cpp::Run::new(rules);
            for (at, &id) in ids.iter().enumerate() {
                match (added.get(id), vocab.bytes(id)) {
                    _ if skipped(id) => run.skip(),
                    (Some(token), _) => run.push_added(&token.content),
                    (None, Some(token)) => run.push(id, token),
                    (None, None) => refuse_unknown(at, id, vocab, added, options.unknown)?,
                }
            }
            return Ok(run.finish());
        }
        let spelled = |id| added.decoded_form(id).map(str::as_bytes).or_else(|| vocab.bytes(id));
        if let Kind::Steps(chain) = &self.kind {
            let shown = ids.iter().copied().filter(|&id| !skipped(id));
            let size = || id_limit(vocab, added);
            if let Some(bytes) = chain.run_apart(shown, options.errors, size, spelled) {
                return Ok(bytes);
            }
        }
        let mut tokens: Vec<Vec<u8>> = Vec::with_capacity(ids.len());
        for (at, &id) in ids.iter().enumerate() {
            match spelled(id) {
                Some(_) if skipped(id) => {}
                Some(token) => tokens.push(token.to_vec()),
                None => refuse_unknown(at, id, vocab, added, options.unknown)?,
            }
        }
        match &self.kind {
            Kind::Steps(chain) => chain.run(tokens, options.errors),
            Kind::Bytes(_) | Kind::SentencePiece(_) | Kind::LlamaCpp(_) | Kind::Blanks => {
                Ok(tokens.join(&b' '))
            }
        }
    }

    /// The text that ids stand for.
    ///
    /// # Errors
    /// As [`Self::decode_bytes`]; under [`Errors::Strict`] also [`ErrorKind::Input`].
    pub fn decode(
        &self,
        ids: &[u32],
        vocab: &Vocab,
        added: &AddedTokens,
        options: DecodeOptions,
    ) -> Result<String> {
        let text = match String::from_utf8(self.decode_bytes(ids, vocab, added, options)?) {
            Ok(text) => text,
            Err(error) if options.errors == Errors::Strict => {
                let at = error.utf8_error().valid_up_to();
                return Err(Error::input(format!(
                    "The ids do not decode to UTF-8: byte {at} is wrong."
                ))
                .position(at)
                .hint("Pass errors=\"replace\", or use decode_bytes."));
            }
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        };
        Ok(if options.clean_up_spaces { clean_up(&text) } else { text })
    }
}

/// One past the highest id.
pub(super) fn id_limit(vocab: &Vocab, added: &AddedTokens) -> usize {
    let highest = added.tokens().iter().map(|token| token.id as usize + 1).max().unwrap_or(0);
    vocab.size().max(highest)
}

pub(super) fn refuse_unknown(
    at: usize,
    id: u32,
    vocab: &Vocab,
    added: &AddedTokens,
    unknown: Unknown,
) -> Result<()> {
    if unknown == Unknown::Skip {
        return Ok(());
    }
    let size = id_limit(vocab, added);
    Err(Error::new(
        ErrorKind::UnknownId,
        format!("The id {id} at position {at} is not in the vocabulary (ids below {size})."),
    )
    .at(format!("item {at}"))
    .position(at)
    .value(id.to_string())
    .hint("Pass unknown=\"skip\" to leave such ids out."))
}
