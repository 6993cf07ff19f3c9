//! The random numbers of sampling: ChaCha with 8 rounds, seeded with the caller's seed for each
//! text, so that a result does not depend on the batch it is in.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// See the [module](self).
#[derive(Debug)]
pub struct Random(ChaCha8Rng);

impl Random {
    /// Starts from a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    /// A number in [0, 1) from the upper 53 bits of the next two words.
    pub fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }
}
