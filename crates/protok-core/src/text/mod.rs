//! Layer 1: facts about text.

pub mod alphabet;
