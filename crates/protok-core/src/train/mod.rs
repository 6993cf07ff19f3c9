//! Trainers: a corpus becomes a vocabulary.
