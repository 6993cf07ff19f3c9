//! Which strings may become pieces.

use super::super::coverage::BLANK;
use crate::text::scripts::{Script, piece_script, script};

/// Which strings may become pieces, in the terms of SentencePiece.
///
/// Each rule that holds for a string holds for what it begins with, so that a string which breaks
/// one can be cut to its longest beginning that does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PieceRules {
    /// The blank mark stands only at the start of a piece.
    pub split_by_whitespace: bool,
    /// A piece stays within one script. Kana count as Han, marks that inherit their script go
    /// with what is before them, and the blank goes with anything.
    pub split_by_script: bool,
    /// Digits are a script of their own: the characters without a script, such as punctuation.
    pub split_by_number: bool,
    /// A digit is a piece alone.
    pub split_digits: bool,
}

impl Default for PieceRules {
    fn default() -> Self {
        Self {
            split_by_whitespace: true,
            split_by_script: true,
            split_by_number: true,
            split_digits: false,
        }
    }
}

/// What a character is to the rules.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kind {
    blank: bool,
    digit: bool,
    script: Of,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Of {
    Any,
    Inherited,
    Script(Option<Script>),
}

impl PieceRules {
    pub(super) fn kinds(self, alphabet: &[char]) -> Vec<Kind> {
        let inherited = script('\u{301}');
        let kind = |&c: &char| {
            let blank = c == BLANK;
            let digit = c.is_ascii_digit() || ('\u{FF10}'..='\u{FF19}').contains(&c);
            let script = match piece_script(c) {
                _ if blank || (digit && !self.split_by_number) => Of::Any,
                found if found == inherited => Of::Inherited,
                found => Of::Script(found),
            };
            Kind { blank, digit, script }
        };
        alphabet.iter().map(kind).collect()
    }

    /// The length of the longest beginning that may be a piece.
    pub(super) fn longest(self, text: impl Iterator<Item = Kind>) -> usize {
        let (mut length, mut script, mut digits) = (0, Of::Any, false);
        for kind in text {
            let own = if kind.script == Of::Inherited { script } else { kind.script };
            let blank = self.split_by_whitespace && kind.blank && length > 0;
            let alone = self.split_digits && length > 0 && (kind.digit || digits);
            let other =
                self.split_by_script && own != Of::Any && script != Of::Any && own != script;
            if blank || other || alone {
                break;
            }
            script = own;
            digits |= kind.digit;
            length += 1;
        }
        length
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn longest(rules: PieceRules, text: &str) -> usize {
        let alphabet: Vec<char> = text.chars().collect();
        rules.longest(rules.kinds(&alphabet).into_iter())
    }

    #[test]
    fn pieces_end_where_a_rule_is_broken() {
        let all = PieceRules::default();
        assert_eq!(longest(all, "▁word"), 5);
        assert_eq!(longest(all, "word▁"), 4);
        assert_eq!(longest(all, "▁▁a"), 1);
        assert_eq!(longest(all, "abв"), 2);
        assert_eq!(longest(all, "don't"), 3);
        assert_eq!(longest(all, "かナ一"), 3);
        assert_eq!(longest(all, "e\u{301}a"), 3);
        assert_eq!(longest(all, "a1"), 1);
        assert_eq!(longest(all, "1,000"), 5);
        let loose = PieceRules { split_by_number: false, ..all };
        assert_eq!(longest(loose, "a1"), 2);
        let digits = PieceRules { split_digits: true, ..all };
        assert_eq!(longest(digits, "12"), 1);
        assert_eq!(longest(digits, "▁12"), 1);
        assert_eq!(longest(digits, ",1"), 1);
        let none = PieceRules {
            split_by_whitespace: false,
            split_by_script: false,
            split_by_number: false,
            split_digits: false,
        };
        assert_eq!(longest(none, "▁a▁1вa"), 6);
    }
}
