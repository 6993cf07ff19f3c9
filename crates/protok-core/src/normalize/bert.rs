//! BERT's cleaning, step by step: controls, ideographs, accents, case.
//!
//! Source: `BasicTokenizer` in the `tokenization.py` that Google published with BERT, with the
//! character classes of `tokenizers`.

use crate::spec;
use crate::text::edits::Edits;
use crate::text::unicode::{is_control, is_nonspacing_mark};

use super::{Form, Step};

/// The steps that a component stands for, in order.
pub(super) fn add_steps(bert: spec::BertNormalizer, steps: &mut Vec<Step>) {
    if bert.clean_text {
        steps.push(Step::CleanText);
    }
    if bert.handle_chinese_chars {
        steps.push(Step::SpaceIdeographs);
    }
    if bert.strip_accents.unwrap_or(bert.lowercase) {
        steps.push(Step::Form(Form::Nfd));
        steps.push(Step::DropNonspacingMarks);
    }
    if bert.lowercase {
        steps.push(Step::Lowercase);
    }
}

/// Drops control characters and U+FFFD, and turns all white space into blanks.
pub(super) fn clean_text(text: &str, edits: &mut Edits) {
    for (start, c) in text.char_indices() {
        if matches!(c, ' '..='~') {
            continue;
        }
        let end = start + c.len_utf8();
        if matches!(c, '\t' | '\n' | '\r') {
            edits.replace(start, end, " ");
        } else if c == '\u{fffd}' || is_control(c) {
            edits.replace(start, end, "");
        } else if c.is_whitespace() {
            edits.replace(start, end, " ");
        }
    }
}

/// The blocks that BERT takes for ideographs. Two of the later blocks (U+2B820 to U+2B91F, the
/// start of extension E) are left out, as in the reference.
pub(super) fn is_ideograph(c: char) -> bool {
    matches!(
        c,
        '\u{3400}'..='\u{4dbf}'
            | '\u{4e00}'..='\u{9fff}'
            | '\u{f900}'..='\u{faff}'
            | '\u{20000}'..='\u{2a6df}'
            | '\u{2a700}'..='\u{2b81f}'
            | '\u{2b920}'..='\u{2ceaf}'
            | '\u{2f800}'..='\u{2fa1f}'
    )
}

/// Puts blanks around ideographs.
pub(super) fn space_ideographs(text: &str, edits: &mut Edits) {
    for (start, c) in text.char_indices() {
        if is_ideograph(c) {
            edits.replace_chars(start, start + c.len_utf8(), [' ', c, ' ']);
        }
    }
}

/// Drops non-spacing marks.
pub(super) fn drop_nonspacing_marks(text: &str, edits: &mut Edits) {
    super::drop_marks(text, is_nonspacing_mark, edits);
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::Normalizer;
    use crate::spec::{BertNormalizer, Normalizer as Spec, Semantics};

    fn run(bert: BertNormalizer, text: &str) -> String {
        let normalizer =
            Normalizer::compile(Some(&Spec::Bert(bert)), Semantics::HuggingFace).unwrap();
        normalizer.apply(text).unwrap().into_owned()
    }

    #[test]
    fn each_flag() {
        let none = BertNormalizer {
            clean_text: false,
            handle_chinese_chars: false,
            strip_accents: None,
            lowercase: false,
        };
        let text = "\u{0}É\u{a0}世\u{200d}\u{2028}";
        assert_eq!(run(none, text), text);
        assert_eq!(run(BertNormalizer { clean_text: true, ..none }, text), "É 世 ");
        let spaced = BertNormalizer { handle_chinese_chars: true, ..none };
        assert_eq!(run(spaced, "a世界\u{2b820}"), "a 世  界 \u{2b820}");
        assert_eq!(run(BertNormalizer { lowercase: true, ..none }, "Éß가"), "eß\u{1100}\u{1161}");
        let cased = BertNormalizer { strip_accents: Some(false), lowercase: true, ..none };
        assert_eq!(run(cased, "É"), "é");
    }
}
