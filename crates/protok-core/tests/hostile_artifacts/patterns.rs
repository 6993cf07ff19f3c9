//! Regular expressions in artifacts that would take for ever, to compile or to search for.

use protok_core::ErrorKind;
use serde_json::json;

use super::{bounded, load};

/// Loads a tokenizer that cuts at a pattern, and searches a hostile text for it.
fn pattern(pattern: &str, text: &str) -> &'static str {
    let file = json!({
        "pre_tokenizer": {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated",
            "invert": false},
        "model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"},
    });
    bounded(|| match load(&[("tokenizer.json", file.to_string().as_bytes())]) {
        Err(error) => {
            assert_eq!(error.kind, ErrorKind::Artifact, "{error}");
            assert!(error.location.unwrap().starts_with("pre_tokenizer.pattern"));
            "refused"
        }
        Ok(pipeline) => match pipeline.encode(text, None, &Default::default()) {
            Ok(_) => "works",
            Err(error) => {
                assert_eq!(error.kind, ErrorKind::Limit, "{error}");
                "limit"
            }
        },
    })
}

#[test]
fn repeats_of_repeats() {
    let text = "a".repeat(2000);
    for bomb in [
        "a{1000}{1000}",
        "(?:a{1000}){1000}",
        "(?:(?:(?:a{100}){100}){100}){100}",
        "(?:(?:(?:a?){100}){100}){100}",
        "(?:a{0,1000}){0,1000}b",
        "a{100000}",
        "(?:a{99999}|b){99999}(?=c)",
        "(?:(?=a)a{1000}){1000}",
        "(?:a{1000}(?!b)){1000}",
    ] {
        pattern(bomb, &text);
    }
    for bad in ["a{100001}", "a{4294967296}", "a{99999999999999999999}", "(?:a+)++b*+*", "a{2,1}b"]
    {
        pattern(bad, &text);
    }
}

#[test]
fn classes_without_end() {
    let letters: String = ('\u{4e00}'..='\u{9fff}').chain('\u{ac00}'..='\u{d7a3}').collect();
    let spaced: String = ('\u{100}'..='\u{ffff}').step_by(2).collect();
    for bomb in [
        format!("[{letters}]"),
        format!("[{spaced}]"),
        format!("[^{spaced}{letters}]+"),
        r"\w".repeat(300_000),
        format!("[{}]", r"\w".repeat(300_000)),
        r"\p{L}|".repeat(100_000) + "a",
        r"[\p{L}&&\w]".repeat(50_000),
        format!("(?i:{})", "k".repeat(500_000)),
        format!("(?i:[{letters}])"),
        "[[".repeat(100) + &"]]".repeat(100),
        "[".repeat(100_000),
        r"\p{L}(?=\p{N})".repeat(5_000),
    ] {
        pattern(&bomb, "abc 123 \u{4e00}");
    }
}

#[test]
fn backtracking_and_looking_around() {
    let text = "a".repeat(5_000);
    for bomb in [
        "(a+)+$b",
        "(?:a|a)*c",
        "(?:a|aa)+(?<!a)$",
        "(?:a*)*(?<=b)",
        "(?=(?:a+)+b)a",
        "(?!(?:a|a)*c)b",
        "(?<=a{1,100})b",
        "(?<!(?:a|aa))b",
        "(?>(?:a+)+)b",
        "(?=.*b)a",
        "a(?!.*a.*a.*a.*b)",
        "(?:.*)(?<=a)(?:.*)(?<=a)(?:.*)b",
        "(?:(?<=a)|a)+b",
    ] {
        pattern(bomb, &text);
    }
}

#[test]
fn what_is_no_pattern() {
    for bad in [
        "(",
        ")",
        "[",
        "a**+",
        "(?<",
        "(?P<x>a",
        r"\",
        r"\p{",
        r"\x{110000}",
        "(?z)",
        r"\1",
        "*",
        "{1}",
    ] {
        let result = pattern(bad, "a");
        assert!(result == "refused" || bad == "{1}" || bad == "a**+", "{bad}: {result}");
    }
    let deep = "(".repeat(100_000) + "a" + &")".repeat(100_000);
    assert_eq!(pattern(&deep, "a"), "refused");
    let long = "a".repeat(2 << 20);
    assert_eq!(pattern(&long, "a"), "refused");
    let flags = "(?i)".repeat(100_000);
    pattern(&flags, "a");
}
