//! Linear time, and hostile patterns. Steps are counted; nothing is timed but by the test runner.

use super::*;
use crate::ErrorKind;

/// How many bytes are read beyond matches, per byte of text.
fn overshoot(pattern: &str, text: &str) -> usize {
    let matcher = Matcher::compile(pattern, Semantics::HuggingFace).unwrap();
    assert_eq!(matcher.engine(), "dfa", "{pattern}");
    let mut matches = matcher.matches(text);
    while matches.next_match().unwrap().is_some() {}
    matches.overshoot().div_ceil(text.len())
}

#[test]
fn reading_in_vain_is_bounded() {
    let run = "a".repeat(200_000);
    for pattern in ["a*b|a", "a*b", "(?:a|b)*c|a|b", "a+?b|a", "(?:aa)*b|a", "a{3}a*[bc]|aa"] {
        assert!(overshoot(pattern, &run) <= 12, "{pattern}");
    }
    let spaces = " ".repeat(100_000) + "x";
    let lines = "\n ".repeat(50_000) + "x";
    for (semantics, pattern) in PUBLIC {
        for text in [&spaces, &lines, &run] {
            let matcher = Matcher::compile(pattern, *semantics).unwrap();
            let mut matches = matcher.matches(text);
            while matches.next_match().unwrap().is_some() {}
            assert!(matches.overshoot() <= 3 * text.len(), "{pattern}");
        }
    }
}

#[test]
fn remembering_dead_ends_changes_nothing() {
    // Long runs switch the memory on; the matches before, between and after are still these.
    let matcher = Matcher::compile("a*b|a|c*d", Semantics::HuggingFace).unwrap();
    let text = "a".repeat(4000)
        + "b"
        + &"c".repeat(4000)
        + &"a".repeat(6000)
        + "é"
        + &"c".repeat(10)
        + "d";
    let mut expected = vec![(0, 4001)];
    expected.extend((8001..14001).map(|at| (at, at + 1)));
    expected.push((14003, 14014));
    assert_eq!(all_matches(&matcher, &text), expected);
    let matches = &mut matcher.matches(&text);
    while matches.next_match().unwrap().is_some() {}
    assert!(matches.overshoot() > 4 * text.len(), "the memory was not needed");
}

#[test]
fn hostile_patterns_end() {
    let nested = "(".repeat(10_000) + "a" + &")".repeat(10_000);
    let flags = "(?i)".repeat(10_000);
    let brackets = "[".repeat(10_000);
    let words: Vec<String> = (0..100_000).map(|number| format!("w{number}")).collect();
    let letters: Vec<String> =
        ('\u{4e00}'..).take(20_000).step_by(2).map(|c| c.to_string()).collect();
    let hostile = [
        "(((a*)*)*)*b".to_owned(),
        "a{1000}{1000}{1000}".to_owned(),
        "(?:(?:(?:a{100}){100}){100}){100}".to_owned(),
        "(?:a?){5000}a{5000}".to_owned(),
        "(?:a|b|ab){1,300}c".to_owned(),
        "(?:.*a.{12})b".to_owned(),
        "a+".repeat(3000),
        "a**".to_owned() + &"*".repeat(10_000),
        "a++".to_owned() + &"+".repeat(10_000),
        nested,
        flags,
        brackets,
        words.join("|"),
        letters.join("|"),
        "(?<=a{100}b)c".to_owned(),
        "x".repeat(2 << 20),
        "\\".to_owned(),
        "(?".to_owned(),
        "[a-".to_owned(),
        "a{".to_owned(),
        "\\p{".to_owned(),
        "[[:".to_owned(),
        "\\x{".to_owned(),
        "(?<".to_owned(),
    ];
    for pattern in &hostile {
        for semantics in [Semantics::HuggingFace, Semantics::Tiktoken] {
            match Matcher::compile(pattern, semantics) {
                Err(error) => assert_eq!(error.kind, ErrorKind::Artifact, "{error}"),
                Ok(matcher) => {
                    for text in ["aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "w12 一 b", ""] {
                        if let Err(error) = matcher.for_each_match(text, |_, _| {}) {
                            assert_eq!(error.kind, ErrorKind::Limit, "{error}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn backtracking_gives_up_with_advice() {
    let pattern = r"(?:(?:a|(?<=a)a|aa)*)*(?<!a)$";
    let matcher = Matcher::compile(pattern, Semantics::HuggingFace).unwrap();
    assert_eq!(matcher.engine(), "backtracking");
    let error = matcher.find_at(&"a".repeat(40), 0).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Limit);
    assert!(error.to_string().contains(pattern), "{error}");
}

/// What takes a backtracking engine exponential or quadratic time.
#[test]
fn looking_around_is_linear() {
    let run = "a".repeat(200_000);
    for (pattern, found) in [
        (r"(?:a|(?<=a)a|aa)+(?<!a)$", 0),
        ("a(?!.*b)", 200_000),
        ("a(?=.*b)", 0),
        ("(?=.*a$)a", 200_000),
        ("(?<=a.*)a(?=a)", 199_998),
        ("(?>a+)b|a", 200_000),
        ("(?>(?:a|b)+)c", 0),
        ("(?:a+b|a+c|(?=a+d)a)", 0),
        (r"\ba+?\b", 1),
    ] {
        let matcher = match Matcher::compile(pattern, Semantics::HuggingFace) {
            Ok(matcher) => matcher,
            // The reference engine wants to know how far to look behind.
            Err(error) => {
                assert!(pattern.starts_with("(?<="), "{error}");
                continue;
            }
        };
        assert_ne!(matcher.engine(), "backtracking", "{pattern}");
        assert_eq!(all_matches(&matcher, &run).len(), found, "{pattern}");
    }
}

#[test]
fn every_pattern_prefix_compiles_or_is_refused() {
    for (semantics, pattern) in PUBLIC {
        for (end, _) in pattern.char_indices().step_by(7) {
            if let Err(error) = Matcher::compile(&pattern[..end], *semantics) {
                assert_eq!(error.kind, ErrorKind::Artifact, "{error}");
            }
        }
    }
}
