//! The rules of a list of merges: two tokens and what they make, in order.

use crate::error::{Error, Result};
use crate::spec;
use crate::vocab::Vocab;

/// The rules of a list of merges.
///
/// # Errors
/// [`crate::ErrorKind::Artifact`] where a merge has no result in the vocabulary.
pub(super) fn listed(
    spec: &spec::Bpe,
    list: &[(u32, u32)],
    vocab: &Vocab,
) -> Result<Vec<(u32, u32, u32)>> {
    let prefix = spec.continuing_subword_prefix.as_deref().unwrap_or("").len();
    let distinct = vocab.is_distinct();
    let mut rules = Vec::with_capacity(list.len());
    let mut joined = Vec::new();
    // Merges are mostly in the order of what they make: that is the last one's or the next token.
    let mut last = 0;
    for (index, &(left, right)) in list.iter().enumerate() {
        let at = || format!("model.merges[{index}]");
        let (Some(left_bytes), Some(right_bytes)) = (vocab.bytes(left), vocab.bytes(right)) else {
            return Err(Error::artifact(at(), "The merge names an unknown id."));
        };
        let rest = right_bytes.get(prefix..).unwrap_or(&[]);
        let is_joined = |&id: &u32| {
            let split = vocab.bytes(id).and_then(|bytes| bytes.split_at_checked(left_bytes.len()));
            distinct && split == Some((left_bytes, rest))
        };
        let target = [last, last + 1].into_iter().find(is_joined).or_else(|| {
            joined.clear();
            joined.extend_from_slice(left_bytes);
            joined.extend_from_slice(rest);
            vocab.id(&joined)
        });
        let Some(target) = target else {
            let token = String::from_utf8_lossy(&joined);
            return Err(Error::artifact(
                at(),
                format!("The merge makes {token:?}, which is not in the vocabulary."),
            )
            .value(token));
        };
        last = target;
        rules.push((left, right, target));
    }
    Ok(rules)
}
