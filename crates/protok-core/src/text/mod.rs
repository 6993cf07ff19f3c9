//! Layer 1: facts about text.

pub mod aligned;
pub mod alignment;
pub mod alphabet;
pub mod blocks;
pub mod boundaries;
pub mod edits;
pub mod scripts;
pub mod seam;
pub mod tidy;
pub mod unicode;
pub mod units;
pub mod utf8;
