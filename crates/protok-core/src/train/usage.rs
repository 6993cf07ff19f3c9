//! How often each entry of a vocabulary is used on the counted words.

use crate::error::Result;
use crate::model::{Model, Scratch};
use crate::parallel::map_groups;
use crate::vocab::Vocab;

use super::WordCounts;

/// What a model does with counted words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Usage {
    /// How often each id comes out, saturating.
    pub counts: Vec<u64>,
    /// Tokens in all.
    pub tokens: u64,
    /// Bytes of the words in all.
    pub bytes: u64,
    /// Words, with repetitions, that the model cannot encode.
    pub refused: u64,
}

/// Encodes each word once and counts its tokens as often as the word occurs.
///
/// # Errors
/// None for a word that cannot be encoded: those are counted.
pub fn usage(
    model: &Model,
    vocab: &Vocab,
    size: usize,
    words: &WordCounts,
    threads: usize,
) -> Result<Usage> {
    let listed: Vec<(&[u8], u64)> = words.iter().collect();
    let work = |group: &[(&[u8], u64)], _: usize| {
        let mut part = Usage { counts: vec![0; size], tokens: 0, bytes: 0, refused: 0 };
        let (mut scratch, mut ids) = (Scratch::new(0, false), Vec::new());
        for &(word, count) in group {
            ids.clear();
            if model.encode(word, vocab, &mut scratch, &mut ids).is_err() {
                part.refused = part.refused.saturating_add(count);
                continue;
            }
            part.bytes = part.bytes.saturating_add(count.saturating_mul(word.len() as u64));
            part.tokens = part.tokens.saturating_add(count.saturating_mul(ids.len() as u64));
            for &id in &ids {
                if let Some(slot) = part.counts.get_mut(id as usize) {
                    *slot = slot.saturating_add(count);
                }
            }
        }
        Ok(part)
    };
    let mut whole = Usage { counts: vec![0; size], tokens: 0, bytes: 0, refused: 0 };
    // A few large groups: each has a table of the whole vocabulary.
    let chunk = listed.len().div_ceil(threads.max(1) * 4).max(1);
    let chunks: Vec<&[(&[u8], u64)]> = listed.chunks(chunk).collect();
    let parts = map_groups(
        &chunks,
        |chunk| (chunk.len() << 5).max(256 << 10),
        threads,
        |chunks, at| {
            let mut parts = Vec::new();
            for chunk in chunks {
                parts.push(work(chunk, at)?);
            }
            Ok(parts)
        },
    )?;
    for part in parts.into_iter().flatten() {
        for (slot, count) in whole.counts.iter_mut().zip(part.counts) {
            *slot = slot.saturating_add(count);
        }
        whole.tokens = whole.tokens.saturating_add(part.tokens);
        whole.bytes = whole.bytes.saturating_add(part.bytes);
        whole.refused = whole.refused.saturating_add(part.refused);
    }
    Ok(whole)
}
