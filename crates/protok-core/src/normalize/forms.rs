//! Unicode normalization forms, with the tables that `tokenizers` uses (Unicode 9).
//!
//! The text is cut into clusters that normalize independently of their neighbours: a cluster
//! starts at a character whose decomposition starts with a starter that composes with nothing
//! before it (Unicode Standard Annex 15, section 9). Only clusters that change become edits. In
//! a cluster whose characters normalize one by one to the same text, each is an edit of its own.

use unicode_normalization_alignments::{
    IsNormalized, UnicodeNormalization, char as tables, is_nfc_quick, is_nfd_quick, is_nfkc_quick,
    is_nfkd_quick,
};

use crate::text::edits::Edits;

/// A normalization form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Canonical composition.
    Nfc,
    /// Canonical decomposition.
    Nfd,
    /// Compatibility composition.
    Nfkc,
    /// Compatibility decomposition.
    Nfkd,
}

impl Form {
    pub(super) fn name(self) -> &'static str {
        match self {
            Form::Nfc => "NFC",
            Form::Nfd => "NFD",
            Form::Nfkc => "NFKC",
            Form::Nfkd => "NFKD",
        }
    }

    pub(super) fn edits(self, text: &str, edits: &mut Edits) {
        if text.is_ascii() || self.quick(text) == IsNormalized::Yes {
            return;
        }
        let mut start = 0;
        for (at, c) in text.char_indices() {
            if at > start && self.starts_cluster(c) {
                self.edit_cluster(text, start, at, edits);
                start = at;
            }
        }
        self.edit_cluster(text, start, text.len(), edits);
    }

    fn quick(self, text: &str) -> IsNormalized {
        match self {
            Form::Nfc => is_nfc_quick(text.chars()),
            Form::Nfd => is_nfd_quick(text.chars()),
            Form::Nfkc => is_nfkc_quick(text.chars()),
            Form::Nfkd => is_nfkd_quick(text.chars()),
        }
    }

    fn append(self, text: &str, to: &mut String) {
        match self {
            Form::Nfc => to.extend(text.nfc().map(|(c, _)| c)),
            Form::Nfd => to.extend(text.nfd().map(|(c, _)| c)),
            Form::Nfkc => to.extend(text.nfkc().map(|(c, _)| c)),
            Form::Nfkd => to.extend(text.nfkd().map(|(c, _)| c)),
        }
    }

    fn starts_cluster(self, c: char) -> bool {
        if c.is_ascii() {
            return true;
        }
        let mut first = None;
        let note = |d| {
            first.get_or_insert(d);
        };
        match self {
            Form::Nfc | Form::Nfd => tables::decompose_canonical(c, note),
            Form::Nfkc | Form::Nfkd => tables::decompose_compatible(c, note),
        }
        let first = first.unwrap_or(c);
        tables::canonical_combining_class(first) == 0
            && is_nfc_quick(std::iter::once(first)) == IsNormalized::Yes
    }

    fn edit_cluster(self, text: &str, start: usize, end: usize, edits: &mut Edits) {
        let cluster = &text[start..end];
        if cluster.len() == 1 {
            return;
        }
        let mut whole = String::new();
        self.append(cluster, &mut whole);
        if whole == cluster {
            return;
        }
        let mut single = String::new();
        let mut rest = whole.as_str();
        let one_by_one = cluster.char_indices().all(|(at, c)| {
            single.clear();
            self.append(&cluster[at..at + c.len_utf8()], &mut single);
            match rest.strip_prefix(single.as_str()) {
                Some(tail) => {
                    rest = tail;
                    true
                }
                None => false,
            }
        }) && rest.is_empty();
        if !one_by_one {
            // What stands unchanged at the edges came from itself.
            let (before, after) = shared_edges(cluster, &whole);
            edits.replace(start + before, end - after, &whole[before..whole.len() - after]);
            return;
        }
        for (at, c) in cluster.char_indices() {
            let original = &cluster[at..at + c.len_utf8()];
            single.clear();
            self.append(original, &mut single);
            if single != original {
                edits.replace(start + at, start + at + original.len(), &single);
            }
        }
    }
}

/// How many bytes two texts share at the start and at the end, in whole characters. The end is
/// matched first: marks that a base did not take stay as they are.
fn shared_edges(old: &str, new: &str) -> (usize, usize) {
    fn shared<'a>(old: impl Iterator<Item = char> + 'a, new: impl Iterator<Item = char>) -> usize {
        old.zip(new).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum()
    }
    let after = shared(old.chars().rev(), new.chars().rev());
    let before = shared(old[..old.len() - after].chars(), new[..new.len() - after].chars());
    (before, after)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn clusters_normalize_like_the_whole(
            text in "([a-zà-ÿ가-각ᄀ-하-ᅵᆨ-ᇂ\u{300}-\u{34e}ﬀ-ﬆ①-⑳\u{9c7}\u{9be}\u{f71}-\u{f81}\u{1100}-\u{11ff}]|\\PC){0,12}"
        ) {
            for form in [Form::Nfc, Form::Nfd, Form::Nfkc, Form::Nfkd] {
                let mut whole = String::new();
                form.append(&text, &mut whole);
                let mut edits = Edits::default();
                form.edits(&text, &mut edits);
                prop_assert_eq!(edits.apply(&text), whole);
            }
        }
    }

    #[test]
    fn only_what_changed_is_rewritten() {
        let edits = |form: Form, text: &str| {
            let mut edits = Edits::default();
            form.edits(text, &mut edits);
            edits.iter().map(|(from, to, new)| (from, to, new.to_owned())).collect::<Vec<_>>()
        };
        let one = |from, to, new: &str| vec![(from, to, new.to_owned())];
        assert_eq!(edits(Form::Nfc, "xa\u{301}\u{301}\u{301}"), one(1, 4, "á"));
        assert_eq!(edits(Form::Nfc, "e\u{323}\u{301}"), one(0, 3, "ẹ"));
        assert_eq!(edits(Form::Nfc, "q\u{307}\u{323}"), one(1, 5, "\u{323}\u{307}"));
        assert_eq!(edits(Form::Nfc, "\u{1112}\u{1161}\u{11ab}"), one(0, 9, "한"));
        assert_eq!(edits(Form::Nfd, "é\u{301}"), one(0, 2, "e\u{301}"));
    }

    #[test]
    fn every_code_point_after_a_base_and_before_a_mark() {
        for form in [Form::Nfc, Form::Nfd, Form::Nfkc, Form::Nfkd] {
            for c in ('\u{80}'..=char::MAX).filter(|c| !('\u{20000}'..'\u{e0000}').contains(c)) {
                let text: String = ['e', c, '\u{323}', '\u{301}', c].iter().collect();
                let mut whole = String::new();
                form.append(&text, &mut whole);
                let mut edits = Edits::default();
                form.edits(&text, &mut edits);
                assert_eq!(edits.apply(&text), whole, "{form:?} {c:?}");
            }
        }
    }
}
