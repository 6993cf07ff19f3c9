//! One construct at a time.

use super::*;
use crate::ErrorKind;
use crate::spec::{Pattern, Split, SplitBehavior};

/// The matched strings, and the engine.
fn found<'t>(pattern: &str, semantics: Semantics, text: &'t str) -> (Vec<&'t str>, &'static str) {
    let matcher = Matcher::compile(pattern, semantics).unwrap();
    let matches = all_matches(&matcher, text);
    (matches.into_iter().map(|(start, end)| &text[start..end]).collect(), matcher.engine())
}

fn hugging_face<'t>(pattern: &str, text: &'t str) -> Vec<&'t str> {
    found(pattern, Semantics::HuggingFace, text).0
}

fn tiktoken<'t>(pattern: &str, text: &'t str) -> Vec<&'t str> {
    found(pattern, Semantics::Tiktoken, text).0
}

fn refusal(pattern: &str) -> String {
    let error = Matcher::compile(pattern, Semantics::HuggingFace).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Artifact);
    error.to_string()
}

#[test]
fn literals_and_order() {
    assert_eq!(hugging_face("ab|a|b", "abba"), ["ab", "b", "a"]);
    assert_eq!(hugging_face("a|ab", "ab"), ["a"]);
    assert_eq!(hugging_face("(a|ab)(c|bcd)", "abcd"), ["abcd"]);
}

#[test]
fn repeats() {
    assert_eq!(hugging_face("a{2}", "aaaaa"), ["aa", "aa"]);
    assert_eq!(hugging_face("a{2,}", "aaaaa b a"), ["aaaaa"]);
    assert_eq!(hugging_face("a{1,2}?", "aaa"), ["a", "a", "a"]);
    assert_eq!(hugging_face("a+?b", "aab"), ["aab"]);
    assert_eq!(hugging_face("a{,2}b", "aaab"), ["aab"]);
    assert_eq!(hugging_face("a{,}", "a{,}"), ["a{,}"]);
}

#[test]
fn possessive_repeats_differ_between_dialects() {
    assert_eq!(hugging_face("a{1,3}+a", "aaaa"), ["aaaa"]);
    assert!(tiktoken("a{1,3}+a", "aaa").is_empty());
    assert!(hugging_face("a++a", "aaa").is_empty());
    assert_eq!(hugging_face("a++b", "aab"), ["aab"]);
    assert_eq!(found("a++b", Semantics::HuggingFace, "aab").1, "dfa");
    assert_eq!(found("a++[ab]", Semantics::HuggingFace, "aab").1, "memo");
    assert_eq!(found(r"\p{N}{1,3}+|x", Semantics::Tiktoken, "1234"), (vec!["123", "4"], "dfa"));
    assert_eq!(found(r"\s++$|\s", Semantics::Tiktoken, "  a  ").1, "dfa");
}

#[test]
fn braces_with_a_question_mark_differ_between_dialects() {
    assert_eq!(hugging_face("a{2}?b", "ab"), ["b"]);
    assert!(tiktoken("a{2}?b", "ab").is_empty());
}

#[test]
fn ends_differ_between_dialects() {
    assert_eq!(
        all_matches(&Matcher::compile("a$", Semantics::HuggingFace).unwrap(), "a\na"),
        [(0, 1), (2, 3)]
    );
    assert_eq!(
        all_matches(&Matcher::compile("a$", Semantics::Tiktoken).unwrap(), "a\na"),
        [(2, 3)]
    );
    assert_eq!(hugging_face(r"a\z", "a\na\n"), Vec::<&str>::new());
    assert_eq!(hugging_face(r"a\Z", "a\na\n"), ["a"]);
    assert_eq!(hugging_face("^a", "a\na"), ["a", "a"]);
    assert_eq!(
        all_matches(&Matcher::compile("^", Semantics::HuggingFace).unwrap(), "a\n"),
        [(0, 0)]
    );
}

#[test]
fn looking_ahead() {
    assert_eq!(
        found(r"\s+(?!\S)|\s", Semantics::HuggingFace, "   a  "),
        (vec!["  ", " ", "  "], "dfa")
    );
    assert_eq!(hugging_face("a(?=b|$)", "ab ac a"), ["a", "a"]);
    assert_eq!(found("a(?=bc)", Semantics::HuggingFace, "abc").1, "memo");
    assert_eq!(hugging_face("(?<=a)b", "abb"), ["b"]);
    let matcher = Matcher::compile("(?<=a)b", Semantics::HuggingFace).unwrap();
    assert_eq!(matcher.find_at("ab", 1).unwrap(), Some((1, 2)));
    assert_eq!(matcher.find_at("é", 1).unwrap_err().kind, ErrorKind::Input);
}

#[test]
fn flags() {
    assert_eq!(hugging_face("(?i:'s)", "'s'S'ſ"), ["'s", "'S", "'ſ"]);
    assert_eq!(hugging_face("(?i:k)", "kK\u{212a}"), ["k", "K", "\u{212a}"]);
    assert_eq!(hugging_face("a(?i)b|c", "aB C aC"), ["aB", "aC"]);
    assert_eq!(tiktoken("a(?i)b|c", "aB C aC"), ["aB", "C", "C"]);
    assert_eq!(hugging_face("(?m).", "\n"), ["\n"]);
    assert_eq!(tiktoken("(?s).", "\n"), ["\n"]);
    assert_eq!(hugging_face("(?x) a b # and\n c", "abc"), ["abc"]);
    assert_eq!(hugging_face(r"(?i:\p{Lu})", "aA"), ["A"]);
    assert_eq!(hugging_face(r"(?i:[\p{Nl}x-z])", "ⅠⅰXa"), ["Ⅰ", "ⅰ", "X"]);
}

#[test]
fn foldings_to_several_characters_are_refused() {
    for pattern in ["(?i:ss)", "(?i:st)", "(?i:s(?:t))", "(?i:ß)", "(?i:[ß])", r"(?i:[\p{L}])"] {
        assert!(refusal(pattern).contains("case-insensitive"), "{pattern}");
    }
    for pattern in ["(?i:[sdmt]|ll|ve|re)", r"(?i:[^\p{L}])", "(?i:s|s)", r"(?i:\p{L})"] {
        Matcher::compile(pattern, Semantics::HuggingFace).unwrap();
    }
}

#[test]
fn sets() {
    assert_eq!(hugging_face("[a-c&&b-d]", "abcd"), ["b", "c"]);
    assert_eq!(hugging_face("[^a-c&&b-d]", "abcd"), ["a", "d"]);
    assert_eq!(hugging_face("[[a-c]x[^\\x{0}-y]]", "abxyz"), ["a", "b", "x", "z"]);
    assert_eq!(hugging_face(r"[\h]", "fgF"), ["f", "F"]);
    assert_eq!(hugging_face("[[:alpha:]_-]", "a_1-"), ["a", "_", "-"]);
    assert_eq!(hugging_face("[[:^alpha:]]", "a1"), ["1"]);
    assert_eq!(hugging_face(r"\p{^L}", "a1"), ["1"]);
    assert_eq!(hugging_face("[一-龥]+", "一龥龦"), ["一龥"]);
    assert_eq!(hugging_face(r"\s", "\u{1c}\u{85}\u{a0}"), ["\u{85}", "\u{a0}"]);
    assert_eq!(hugging_face(r"\w", "½\u{200d}_"), ["½", "_"]);
    assert_eq!(hugging_face(r"[\w]", "½\u{200d}_"), ["_"]);
    assert_eq!(tiktoken(r"\w", "½\u{200d}_"), ["\u{200d}", "_"]);
}

#[test]
fn what_is_not_certain_is_refused() {
    for pattern in [
        r"(a)\1",
        r"\K",
        r"\G",
        r"\X",
        r"(?~a)",
        "(?W:a)",
        r"\q",
        r"\xe3",
        "[a-\\d]",
        "[]a]",
        "*a",
        ")",
        "(a",
        "[a",
        r"\p{Script=Han}",
        r"\p{NoSuch}",
        "a{2,1}",
        "^*a",
        r"\10",
        "[--a]",
        "a*?+",
    ] {
        assert!(refusal(pattern).starts_with("Regex: The pattern has"), "{pattern}");
    }
}

#[test]
fn empty_matches() {
    let matcher = Matcher::compile("x*", Semantics::HuggingFace).unwrap();
    assert_eq!(all_matches(&matcher, "axxé"), [(0, 0), (1, 3), (5, 5)]);
    assert_eq!(all_matches(&matcher, ""), []);
    let matcher = Matcher::literal("");
    assert_eq!(all_matches(&matcher, "é"), [(0, 0), (2, 2)]);
    assert_eq!(matcher.engine(), "literal");
}

fn pieces(behavior: SplitBehavior, invert: bool, pattern: &str, text: &str) -> Vec<String> {
    let pattern = Pattern::Regex(pattern.to_owned());
    let split = Split { pattern, behavior, invert, semantics: Semantics::HuggingFace };
    let mut out = Vec::new();
    Splitter::compile(&split).unwrap().split(text, &mut out).unwrap();
    out.into_iter().map(|(start, end)| text[start..end].to_owned()).collect()
}

#[test]
fn behaviors() {
    use SplitBehavior::*;
    let text = "--a-b---";
    assert_eq!(pieces(Removed, false, "-", text), ["a", "b"]);
    assert_eq!(pieces(Isolated, false, "-", text), ["-", "-", "a", "-", "b", "-", "-", "-"]);
    assert_eq!(pieces(MergedWithPrevious, false, "-", text), ["-", "-", "a-", "b-", "-", "-"]);
    assert_eq!(pieces(MergedWithNext, false, "-", text), ["-", "-a", "-b", "-", "-", "-"]);
    assert_eq!(pieces(Contiguous, false, "-", text), ["--", "a", "-", "b", "---"]);
    assert_eq!(pieces(Removed, true, "-", text), ["-", "-", "-", "-", "-", "-"]);
    assert_eq!(pieces(MergedWithPrevious, true, "-", text), ["-", "-a", "-b", "-", "-", "-"]);
    assert_eq!(pieces(MergedWithNext, true, "-", text), ["-", "-", "a-", "b-", "-", "-"]);
    assert_eq!(pieces(Isolated, false, "", "ab"), ["a", "b"]);
    assert_eq!(pieces(Removed, false, "-", ""), Vec::<String>::new());
}
