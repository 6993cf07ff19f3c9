//! The numbers that scores are added in.

use std::ops::{Add, Sub};

/// A number that scores are added in: 64 bits for `tokenizers`, 32 bits for SentencePiece.
pub trait Score:
    Copy + Default + PartialOrd + Add<Output = Self> + Sub<Output = Self> + std::fmt::Debug
{
    /// Whether user-defined tokens have a score of their own, and sums are reset on the way.
    const USER_DEFINED: bool;

    /// The nearest such number.
    fn of(score: f64) -> Self;

    /// The same number in 64 bits.
    fn to_f64(self) -> f64;

    /// The score of a user-defined token of so many units: above all others, and more for fewer
    /// and longer tokens.
    #[must_use]
    fn user_defined(units: usize) -> Self {
        Self::of(0.1 * (units as f64 - 1.0))
    }

    /// Whether a sum has grown so much that SentencePiece starts over from 0.
    fn is_reset(self) -> bool;
}

impl Score for f32 {
    const USER_DEFINED: bool = true;

    #[inline]
    fn of(score: f64) -> Self {
        score as f32
    }

    fn to_f64(self) -> f64 {
        self.into()
    }

    #[inline]
    fn is_reset(self) -> bool {
        !(-100_000.0..=100_000.0).contains(&self)
    }
}

impl Score for f64 {
    const USER_DEFINED: bool = false;

    #[inline]
    fn of(score: f64) -> Self {
        score
    }

    fn to_f64(self) -> f64 {
        self
    }

    #[inline]
    fn is_reset(self) -> bool {
        false
    }
}
