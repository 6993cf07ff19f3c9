//! Facts recorded from Oniguruma, through `tokenizers` 0.23.3.
//!
//! A record has a pattern `p`, a text `t`, its non-empty matches `m` in bytes, and, if there are
//! empty matches, the text `r` with every match replaced by `<>`; or `error` if the pattern is
//! malformed. What is refused here need not be malformed there, but what is answered is the same.

use serde::Deserialize;

use super::*;

#[derive(Deserialize)]
struct Fact {
    p: String,
    #[serde(default)]
    t: String,
    #[serde(default)]
    m: Vec<(usize, usize)>,
    r: Option<String>,
    #[serde(default)]
    error: bool,
}

fn replaced(text: &str, matches: &[(usize, usize)]) -> String {
    let mut result = String::new();
    let mut done = 0;
    for &(start, end) in matches {
        result.push_str(&text[done..start]);
        result.push_str("<>");
        done = end;
    }
    result + &text[done..]
}

#[test]
fn answers_as_oniguruma_or_not_at_all() {
    let mut engines = std::collections::BTreeMap::new();
    let mut wrong = Vec::new();
    for line in include_str!("oniguruma.jsonl").lines() {
        let fact: Fact = serde_json::from_str(line).unwrap();
        let matcher = match Matcher::compile(&fact.p, Semantics::HuggingFace) {
            Ok(matcher) => matcher,
            Err(error) => {
                assert_eq!(error.kind, crate::ErrorKind::Artifact, "{error}");
                *engines.entry(if fact.error { "malformed" } else { "refused" }).or_insert(0) += 1;
                if !fact.error && std::env::var_os("PROTOK_SHOW_REFUSED").is_some() {
                    eprintln!("{:?}: {error}", fact.p);
                }
                continue;
            }
        };
        if fact.error {
            // Oniguruma refuses a repeat of an alternative without length, `(?:\b|a)?`.
            *engines.entry("tolerated").or_insert(0) += 1;
            continue;
        }
        *engines.entry(matcher.engine()).or_insert(0) += 1;
        let matches = all_matches(&matcher, &fact.t);
        let filled: Vec<_> = matches.iter().copied().filter(|(start, end)| start < end).collect();
        let expected = fact.r.unwrap_or_else(|| replaced(&fact.t, &fact.m));
        if filled != fact.m || replaced(&fact.t, &matches) != expected {
            wrong.push(format!(
                "{} {:?} on {:?}:\n  got {matches:?}\n  not {:?} {expected:?}",
                matcher.engine(),
                fact.p,
                fact.t,
                fact.m,
            ));
        }
    }
    assert!(wrong.is_empty(), "{} of {engines:?}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(engines["dfa"] > 600 && engines["memo"] > 100, "{engines:?}");
    assert!(engines["refused"] < 150 && engines["tolerated"] <= 2, "{engines:?}");
}
