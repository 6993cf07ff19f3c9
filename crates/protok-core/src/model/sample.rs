//! Ways to cut a piece other than the model's own: random ones, and the best few.
//!
//! Unigram models have probabilities, so ways can be drawn and ranked. Both kinds of BPE have
//! none; what can be drawn there is which merges are left out.

use super::bpe::dropout::Dropout;
use super::random::Random;
use super::{Model, Symbol};
use crate::error::{Error, Result};
use crate::vocab::Vocab;

/// What ways a model has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alternatives {
    /// One.
    None,
    /// Merges can be left out.
    Dropout,
    /// Each has a probability.
    Probabilities,
}

/// Draws ways at random.
#[derive(Debug)]
pub enum Sampler {
    /// Leaves merges out.
    Merges(Dropout),
    /// Draws by probability, or leaves SentencePiece's merges out.
    Ways {
        /// What the logarithm of a probability is multiplied by, or the chance of a merge to be
        /// left out.
        strength: f64,
        /// The generator.
        random: Random,
    },
}

impl Model {
    /// What ways to cut a piece the model has.
    #[must_use]
    pub fn alternatives(&self) -> Alternatives {
        match self {
            Self::Bpe(_) | Self::SentencePieceBpe(_) => Alternatives::Dropout,
            Self::Unigram(_) => Alternatives::Probabilities,
            Self::WordPiece(_)
            | Self::WordLevel(_)
            | Self::SentencePieceWord(_)
            | Self::Greedy(_)
            | Self::Bytes(_) => Alternatives::None,
        }
    }

    /// What the model is called.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Bpe(_) | Self::SentencePieceBpe(_) => "BPE",
            Self::WordPiece(_) => "WordPiece",
            Self::Unigram(_) => "Unigram",
            Self::WordLevel(_) | Self::SentencePieceWord(_) => "word-level",
            Self::Greedy(_) => "longest-match",
            Self::Bytes(_) => "byte",
        }
    }

    /// A sampler that starts from a seed. `strength` is the chance of a merge to be left out, or
    /// what the logarithms of probabilities are multiplied by.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Input`] for a model with one way, or a strength that is none.
    pub fn sampler(&self, strength: f64, seed: u64) -> Result<Sampler> {
        match self.alternatives() {
            Alternatives::None => return Err(self.one_way("sample")),
            Alternatives::Dropout if !(0.0..=1.0).contains(&strength) => {
                return Err(Error::input(format!("dropout={strength} is no chance."))
                    .value(strength.to_string())
                    .hint("It is a number from 0 to 1."));
            }
            Alternatives::Probabilities if !(strength.is_finite() && strength >= 0.0) => {
                return Err(Error::input(format!("alpha={strength} weighs nothing."))
                    .value(strength.to_string())
                    .hint("It is a number from 0, where all ways are as likely, upwards."));
            }
            _ => {}
        }
        Ok(match self {
            Self::Bpe(_) => Sampler::Merges(Dropout::new(strength as f32, seed)),
            _ => Sampler::Ways { strength, random: Random::new(seed) },
        })
    }

    /// The tokens of a piece in a way that the model's own sampler draws, each with the bytes that
    /// it covers.
    ///
    /// # Errors
    /// As [`super::Engine::encode`].
    pub fn sample(
        &self,
        piece: &[u8],
        vocab: &Vocab,
        sampler: &mut Sampler,
    ) -> Result<Vec<Symbol>> {
        match (self, sampler) {
            (Self::Bpe(bpe), Sampler::Merges(dropout)) => {
                bpe.encode_with_dropout(piece, vocab, dropout)
            }
            (Self::Unigram(unigram), Sampler::Ways { strength, random }) => {
                unigram.sample(piece, *strength, random)
            }
            (Self::SentencePieceBpe(bpe), Sampler::Ways { strength, random }) => {
                bpe.sample(piece, *strength, random)
            }
            _ => Err(self.one_way("sample")),
        }
    }

    /// The best `count` ways to cut a piece and their scores, best first.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Input`] for a model whose ways have no probabilities, and as
    /// [`super::Engine::encode`].
    pub fn nbest(&self, piece: &[u8], count: usize) -> Result<Vec<(Vec<Symbol>, f64)>> {
        match self {
            Self::Unigram(unigram) => unigram.nbest(piece, count),
            _ => Err(self.one_way("nbest")),
        }
    }

    fn one_way(&self, asked: &str) -> Error {
        let name = self.name();
        match (asked, self.alternatives()) {
            ("nbest", Alternatives::Dropout) => {
                Error::input(format!("A {name} model does not rank ways to cut a text."))
                    .hint("Use sample, which leaves merges out at random.")
            }
            _ => {
                Error::input(format!("A {name} model has one way to cut a text.")).hint(match asked
                {
                    "nbest" => "nbest ranks the ways of Unigram models.",
                    _ => "sample works with Unigram and BPE models.",
                })
            }
        }
        .value(name)
    }
}
