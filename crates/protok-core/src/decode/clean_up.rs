//! Tidying the blanks that joined tokens leave around English punctuation.

use crate::text::tidy::TIDY;

/// In the decoders of `tokenizers` one more, before the last three.
const CONTRACTION: (&str, &str) = (" do not", " don't");
const AFTER: usize = 3;

/// Tidies a decoded text as `clean_up_tokenization_spaces` of `transformers` does
/// (`PreTrainedTokenizerBase.clean_up_tokenization` in release 5.24.0). Text that had such blanks
/// to begin with loses them. That release does it only where the model is not BPE.
///
/// ```
/// assert_eq!(protok_core::decode::clean_up("I 'm here , are n't I ?"), "I'm here, aren't I?");
/// ```
#[must_use]
pub fn clean_up(text: &str) -> String {
    replace_all(text, TIDY.iter())
}

/// What [`clean_up_token`] replaces, in order.
pub(super) fn token_rules() -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    let (before, after) = TIDY.split_at(TIDY.len() - AFTER);
    before.iter().chain([&CONTRACTION]).chain(after)
}

/// Tidies one token as the WordPiece and CTC decoders of `tokenizers` do.
pub(super) fn clean_up_token(token: &str) -> String {
    replace_all(token, token_rules())
}

fn replace_all<'a>(text: &str, rules: impl Iterator<Item = &'a (&'a str, &'a str)>) -> String {
    let mut result = text.to_owned();
    for (from, to) in rules {
        if result.contains(from) {
            result = result.replace(from, to);
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_in_order() {
        let text = "a . b ? c ! d , e ' f do n't I 'm it 's we 've they 're do not";
        assert_eq!(clean_up(text), "a. b? c! d, e'f don't I'm it's we've they're do not");
        assert_eq!(clean_up_token(" do not"), " don't");
        assert_eq!(clean_up("a  ."), "a .");
    }
}
