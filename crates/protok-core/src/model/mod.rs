//! Stage 4: turns each piece of text into tokens of the vocabulary.
//!
//! Every model is an [`Engine`] with three calls: ids fast, the same with the bytes that each
//! token covers, and the naive reference that both must equal. [`Model`] is one of them, chosen
//! when a spec is compiled; callers match on it once for a section of text and never per piece.

pub mod bpe;
pub mod cache;
pub mod greedy;
mod output;
mod queue;
pub mod random;
pub mod reach;
pub mod sample;
pub mod scratch;
pub mod sentencepiece_bpe;
pub mod sentencepiece_word;
pub mod trie;
pub mod unigram;
mod unit;
pub mod wordlevel;
pub mod wordpiece;

use rustc_hash::FxHashSet;

use crate::error::{Error, Result};
use crate::spec::{self, Merges, Semantics};
use crate::text::seam::{crosses, inks, letters};
use crate::vocab::Vocab;

pub use bpe::symbols::{Symbol, Unit};
pub use scratch::Scratch;

/// What every model can do with a piece.
pub trait Engine {
    /// Appends the tokens of a piece.
    ///
    /// # Errors
    /// Where the vocabulary has neither a token for a unit nor a way around it.
    fn encode(
        &self,
        piece: &[u8],
        vocab: &Vocab,
        scratch: &mut Scratch,
        out: &mut Vec<u32>,
    ) -> Result<()>;

    /// Appends the tokens of pieces that follow one another in `text`: the first starts at
    /// `start`, and each ends at the next of `ends`.
    ///
    /// # Errors
    /// As [`Self::encode`].
    fn encode_run(
        &self,
        text: &[u8],
        mut start: usize,
        ends: &[usize],
        vocab: &Vocab,
        scratch: &mut Scratch,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        for &end in ends {
            self.encode(&text[start..end], vocab, scratch, out)?;
            start = end;
        }
        Ok(())
    }

    /// Appends the same tokens, each with the bytes that it covers.
    ///
    /// # Errors
    /// As [`Self::encode`].
    fn encode_spans(
        &self,
        piece: &[u8],
        vocab: &Vocab,
        scratch: &mut Scratch,
        out: &mut Vec<Symbol>,
    ) -> Result<()>;

    /// Appends the same tokens by the reference path.
    ///
    /// # Errors
    /// As [`Self::encode`].
    fn encode_reference(&self, piece: &[u8], vocab: &Vocab, out: &mut Vec<Symbol>) -> Result<()>;

    /// Whether any of these tokens can come out, other than as the unknown token.
    fn can_yield(&self, ids: &FxHashSet<u32>, vocab: &Vocab) -> bool;
}

/// Is told what a model does to a piece. Every method does nothing unless it is written.
pub trait Observer {
    /// Merging starts from these symbols.
    fn symbols(&mut self, _symbols: &[Symbol]) {}
    /// Two symbols were merged.
    fn merge(&mut self, _step: bpe::reference::MergeStep) {}
}

/// Nobody.
impl Observer for () {}

/// A compiled model. There are two to a tokenizer at most, so that their size is no matter.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)]
pub enum Model {
    /// See [`bpe`].
    Bpe(bpe::Bpe),
    /// See [`wordpiece`].
    WordPiece(wordpiece::WordPiece),
    /// See [`unigram`].
    Unigram(unigram::Unigram),
    /// See [`wordlevel`].
    WordLevel(wordlevel::WordLevel),
    /// See [`sentencepiece_bpe`].
    SentencePieceBpe(sentencepiece_bpe::SentencePieceBpe),
    /// See [`sentencepiece_word`].
    SentencePieceWord(sentencepiece_word::SentencePieceWord),
    /// See [`greedy`].
    Greedy(greedy::Greedy),
    /// See [`greedy`].
    Bytes(greedy::Bytes),
}

/// Runs an expression with the engine of a [`Model`], whichever it is: once for each kind, so
/// that what it calls is compiled for each.
macro_rules! with_engine {
    ($model:expr, $engine:ident => $body:expr) => {
        match $model {
            $crate::model::Model::Bpe($engine) => $body,
            $crate::model::Model::WordPiece($engine) => $body,
            $crate::model::Model::Unigram($engine) => $body,
            $crate::model::Model::WordLevel($engine) => $body,
            $crate::model::Model::SentencePieceBpe($engine) => $body,
            $crate::model::Model::SentencePieceWord($engine) => $body,
            $crate::model::Model::Greedy($engine) => $body,
            $crate::model::Model::Bytes($engine) => $body,
        }
    };
}
pub(crate) use with_engine;

/// Whether a model yields for a piece what it yields for the parts of it, where it is cut at
/// [seams](crate::text::seam) whose blank is `blank`: it merges or matches nothing across, since no
/// token reaches across, and knows the letters and the blank.
#[must_use]
pub fn keeps_seams(spec: &spec::Model, vocab: &Vocab, blank: char) -> bool {
    let plain = match spec {
        spec::Model::Bpe(bpe) => {
            let apart = |affix: &Option<String>| affix.as_ref().is_none_or(String::is_empty);
            !bpe.ignore_merges
                && apart(&bpe.continuing_subword_prefix)
                && apart(&bpe.end_of_word_suffix)
        }
        spec::Model::SentencePieceBpe(_) | spec::Model::Greedy(_) => true,
        spec::Model::Bytes(_) => return true,
        _ => false,
    };
    let known = |c: char| vocab.id(c.to_string().as_bytes()).is_some();
    plain && letters().all(known) && known(blank) && vocab.iter().all(|(_, token)| !crosses(token))
}

/// Behind what a text may be cut before a blank.
#[derive(Debug, Clone, Copy)]
pub struct Before {
    /// For each ASCII character, whether behind it.
    pub ascii: [bool; 128],
    /// Whether behind letters beyond ASCII.
    pub wide: bool,
}

/// Behind what a text may be cut before `blank`, where nothing else cuts it there: see
/// [`keeps_seams`].
#[must_use]
pub fn joints(spec: &spec::Model, vocab: &Vocab, blank: char) -> Before {
    let mut safe = Before { ascii: [false; 128], wide: false };
    let known = |c: char| vocab.id(c.to_string().as_bytes()).is_some();
    let falls_back = match spec {
        spec::Model::Bpe(bpe) => {
            let apart = |affix: &Option<String>| affix.as_ref().is_none_or(String::is_empty);
            if bpe.ignore_merges
                || bpe.whole_line_ends
                || !apart(&bpe.continuing_subword_prefix)
                || !apart(&bpe.end_of_word_suffix)
            {
                return safe;
            }
            bpe.byte_fallback || bpe.unk_token.is_some()
        }
        spec::Model::SentencePieceBpe(_) => true,
        spec::Model::Greedy(_) => false,
        spec::Model::Bytes(_) => return Before { ascii: [true; 128], wide: true },
        _ => return safe,
    };
    // What a vocabulary does not know could be joined to what it does not know either.
    safe.wide = falls_back && known(blank);
    if !known(blank) && !falls_back {
        return safe;
    }
    for ink in inks() {
        safe.ascii[ink as usize] = known(ink);
    }
    let blank = blank.to_string();
    for (_, token) in vocab.spellings() {
        for at in memchr::memmem::find_iter(token, blank.as_bytes()).filter(|&at| at > 0) {
            match safe.ascii.get_mut(usize::from(token[at - 1])) {
                Some(safe) => *safe = false,
                None => safe.wide &= token[..at].ends_with(blank.as_bytes()),
            }
        }
    }
    safe
}

impl Model {
    /// Compiles a model for pieces that are text, or (`bytes`) any bytes. No token of `banned`
    /// can come out of it. For a BPE model, what was found out about it before may be `prepared`.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Artifact`] for what cannot run exactly.
    pub fn compile(
        spec: &spec::Model,
        semantics: Semantics,
        bytes: bool,
        vocab: &Vocab,
        banned: &FxHashSet<u32>,
        prepared: Option<&bpe::Prepared>,
    ) -> Result<Self> {
        let unit = Self::unit(spec, bytes);
        Ok(match spec {
            spec::Model::Bpe(spec) => {
                Self::Bpe(bpe::Bpe::compile(spec, semantics, unit, vocab, banned, prepared)?)
            }
            spec::Model::WordPiece(spec) => {
                Self::WordPiece(wordpiece::WordPiece::compile(spec, unit, vocab, banned)?)
            }
            spec::Model::Unigram(spec) => {
                Self::Unigram(unigram::Unigram::compile(spec, semantics, unit, vocab, banned)?)
            }
            spec::Model::WordLevel(spec) => {
                Self::WordLevel(wordlevel::WordLevel::compile(spec, unit, vocab, banned))
            }
            spec::Model::SentencePieceBpe(_) | spec::Model::SentencePieceWord(_) if bytes => {
                return Err(Error::artifact(
                    "model.type",
                    "A SentencePiece model cannot stand behind a byte alphabet.",
                ));
            }
            spec::Model::SentencePieceBpe(spec) => Self::SentencePieceBpe(
                sentencepiece_bpe::SentencePieceBpe::compile(spec, vocab, banned)?,
            ),
            spec::Model::SentencePieceWord(spec) => Self::SentencePieceWord(
                sentencepiece_word::SentencePieceWord::compile(spec, vocab, banned)?,
            ),
            spec::Model::Greedy(spec) => {
                Self::Greedy(greedy::Greedy::compile(spec, vocab, banned)?)
            }
            spec::Model::Bytes(spec) => Self::Bytes(greedy::Bytes::compile(spec, banned)?),
        })
    }

    /// What a model reads at a time, where pieces are text or (`bytes`) any bytes.
    #[must_use]
    pub fn unit(spec: &spec::Model, bytes: bool) -> Unit {
        match spec {
            spec::Model::Bpe(bpe) if bpe.merges == Merges::ByRank => Unit::Byte,
            spec::Model::Greedy(_) | spec::Model::Bytes(_) => Unit::Byte,
            _ if bytes => Unit::AlphabetByte,
            _ => Unit::Character,
        }
    }

    /// Whether any bytes can be a piece, where the pre-tokenizer does or does not yield bytes.
    #[must_use]
    pub fn reads_bytes(&self, yielded: bool) -> bool {
        match self {
            Self::Greedy(_) | Self::Bytes(_) => true,
            Self::Bpe(bpe) => bpe.holds_all_bytes(),
            _ => yielded,
        }
    }

    /// The chance of leaving a merge out.
    #[must_use]
    pub fn dropout(&self) -> f32 {
        match self {
            Self::Bpe(bpe) => bpe.dropout(),
            _ => 0.0,
        }
    }

    /// See [`Engine::can_yield`].
    #[must_use]
    pub fn can_yield(&self, ids: &FxHashSet<u32>, vocab: &Vocab) -> bool {
        with_engine!(self, engine => engine.can_yield(ids, vocab))
    }

    /// See [`Engine::encode`].
    ///
    /// # Errors
    /// As there.
    pub fn encode(
        &self,
        piece: &[u8],
        vocab: &Vocab,
        scratch: &mut Scratch,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        with_engine!(self, engine => engine.encode(piece, vocab, scratch, out))
    }

    /// See [`Engine::encode_spans`].
    ///
    /// # Errors
    /// As there.
    pub fn encode_spans(
        &self,
        piece: &[u8],
        vocab: &Vocab,
        scratch: &mut Scratch,
        out: &mut Vec<Symbol>,
    ) -> Result<()> {
        with_engine!(self, engine => engine.encode_spans(piece, vocab, scratch, out))
    }

    /// See [`Engine::encode_reference`]; `observer` is told what happens on the way.
    ///
    /// # Errors
    /// As there.
    pub fn encode_reference(
        &self,
        piece: &[u8],
        vocab: &Vocab,
        observer: &mut dyn Observer,
    ) -> Result<Vec<Symbol>> {
        if let Self::Bpe(bpe) = self {
            return bpe.encode_reference(piece, vocab, observer);
        }
        let mut symbols = Vec::new();
        with_engine!(self, engine => {
            Engine::encode_reference(engine, piece, vocab, &mut symbols)?;
        });
        Ok(symbols)
    }
}

/// The `<0xNN>` tokens of a model with byte fallback, if it has one for each byte that is not
/// banned.
#[must_use]
pub fn all_byte_tokens(
    spec: &spec::Model,
    vocab: &Vocab,
    banned: &FxHashSet<u32>,
) -> Option<Box<[u32; 256]>> {
    let tokens = spec.byte_fallback().then(|| output::byte_tokens(vocab, banned))?;
    (!tokens.contains(&output::NONE)).then_some(tokens)
}

/// The token that text outside the vocabulary becomes, which stays allowed when it is a control
/// token.
#[must_use]
pub fn unknown_token(spec: &spec::Model, vocab: &Vocab) -> Option<u32> {
    let place = |tokens: &spec::TokenList, place: Option<usize>| {
        place.filter(|&place| place < tokens.len()).map(|place| tokens.id(place))
    };
    match spec {
        spec::Model::Bpe(spec) => spec.unk_token.as_ref().and_then(|t| vocab.id(t.as_bytes())),
        spec::Model::WordPiece(spec) => vocab.id(spec.unk_token.as_bytes()),
        spec::Model::WordLevel(spec) => vocab.id(spec.unk_token.as_bytes()),
        spec::Model::Unigram(spec) => place(&spec.vocab, spec.unk_id),
        spec::Model::SentencePieceBpe(spec) => place(&spec.vocab, spec.unk_id),
        spec::Model::SentencePieceWord(spec) => place(&spec.vocab, spec.unk_id),
        spec::Model::Greedy(_) | spec::Model::Bytes(_) => None,
    }
}
