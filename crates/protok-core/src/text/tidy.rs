//! The blanks that joined English tokens leave, and what stands in their place.

/// What `clean_up_tokenization_spaces` of `transformers` replaces, in order.
///
/// Source: `PreTrainedTokenizerBase.clean_up_tokenization` in release 5.24.0.
pub const TIDY: [(&str, &str); 10] = [
    (" .", "."),
    (" ?", "?"),
    (" !", "!"),
    (" ,", ","),
    (" ' ", "'"),
    (" n't", "n't"),
    (" 'm", "'m"),
    (" 's", "'s"),
    (" 've", "'ve"),
    (" 're", "'re"),
];
