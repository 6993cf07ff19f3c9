//! The automaton against the backtracking engine, on random texts.

use proptest::prelude::*;

use super::fallback::Backtracker;
use super::memo::Memo;
use super::parse::{Dialect, parse};
use super::*;

/// Characters of every kind that a public pattern tells apart, and some that engines disagree on.
const CHARACTERS: &[char] = &[
    'a',
    'b',
    'Z',
    's',
    'T',
    'L',
    'l',
    'v',
    'e',
    'd',
    '\'',
    '\'',
    '’',
    ' ',
    ' ',
    ' ',
    '\n',
    '\r',
    '\t',
    '\u{b}',
    '\u{1c}',
    '\u{1f}',
    '\u{85}',
    '\u{a0}',
    '\u{2028}',
    '\u{3000}',
    '\u{200d}',
    '\u{feff}',
    '0',
    '1',
    '½',
    '²',
    'Ⅻ',
    '٣',
    '\u{1fbf0}',
    '.',
    ',',
    '-',
    '_',
    '/',
    '!',
    '[',
    '\\',
    '…',
    '一',
    '龥',
    '龦',
    'ぁ',
    'ー',
    'é',
    'ß',
    'ſ',
    'K',
    'ǅ',
    'ʰ',
    'я',
    'Ж',
    'ا',
    'ก',
    '\u{301}',
    '\u{345}',
    '\u{e31}',
    '한',
    '😀',
    '\u{1f3fd}',
    '\u{378}',
    '\u{e000}',
    '\u{ffff}',
    '\u{3301d}',
    '\u{13bcf}',
    '\u{10ffff}',
    '\0',
    '\u{7f}',
    '€',
    'x',
    'A',
];

fn text() -> impl Strategy<Value = String> {
    let random = prop::collection::vec(prop::sample::select(CHARACTERS), 0..40)
        .prop_map(|chars| chars.into_iter().collect::<String>());
    prop_oneof![4 => random, 1 => "\\PC{0,20}"]
}

/// What the backtracking engine finds, by the rule for empty matches.
fn reference(matcher: &Backtracker, text: &str) -> Vec<(usize, usize)> {
    let mut matches = Vec::new();
    let mut at = usize::from(text.is_empty());
    while at <= text.len() {
        let Some((start, end)) = matcher.find(text, at, "").unwrap() else { break };
        if start == end && matches.last().is_some_and(|&(_, last)| last == end) {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
            continue;
        }
        matches.push((start, end));
        at = end;
    }
    matches
}

type Compiled = (String, Matcher, Backtracker, Option<fancy_regex::Regex>);

fn public() -> Vec<Compiled> {
    let compile = |&(semantics, pattern): &(Semantics, &str)| {
        let dialect = match semantics {
            Semantics::Tiktoken => Dialect::Fancy,
            _ => Dialect::Oniguruma,
        };
        let spelled = Backtracker::new(&parse(pattern, dialect).unwrap(), pattern).unwrap();
        // The only construct of these that means something else in the other dialect is `\w`.
        let verbatim =
            (!pattern.contains(r"\w")).then(|| fancy_regex::Regex::new(pattern).unwrap());
        (pattern.to_owned(), Matcher::compile(pattern, semantics).unwrap(), spelled, verbatim)
    };
    PUBLIC.iter().map(compile).collect()
}

#[test]
fn public_patterns_match_what_backtracking_finds() {
    let patterns = public();
    let config = ProptestConfig { cases: 400, failure_persistence: None, ..Default::default() };
    proptest!(config, |(text in text())| {
        for (pattern, matcher, spelled, verbatim) in &patterns {
            let matches = all_matches(matcher, &text);
            prop_assert_eq!(&matches, &reference(spelled, &text), "{}", pattern);
            if let Some(verbatim) = verbatim.as_ref().filter(|_| !text.is_empty()) {
                let found: Vec<_> =
                    verbatim.find_iter(&text).map(|m| m.map(|m| (m.start(), m.end())).unwrap()).collect();
                prop_assert_eq!(&matches, &found, "{}", pattern);
            }
        }
    });
}

/// Patterns of the algebra that are small enough to hit each other's corners.
fn pattern() -> impl Strategy<Value = String> {
    let atom =
        prop::sample::select(vec!["a", "b", "[ab]", "[^a]", " ", r"\s", r"\S", ".", "c", r"\n"]);
    atom.prop_map(str::to_owned).prop_recursive(4, 24, 3, |inner| {
        let many = prop::collection::vec(inner.clone(), 1..4);
        let quantifier = prop::sample::select(vec![
            "?", "*", "+", "{2}", "{1,2}", "{0,2}", "{2,}", "??", "*?", "+?", "{1,2}?",
        ]);
        prop_oneof![
            many.clone().prop_map(|parts| parts.concat()),
            many.prop_map(|parts| format!("(?:{})", parts.join("|"))),
            (inner.clone(), quantifier).prop_map(|(part, by)| format!("(?:{part}){by}")),
            prop::sample::select(vec![
                "(?=a)", "(?!b)", "$", r"\z", "(?![ab])", "a++", "b?+", "a{1,2}+"
            ])
            .prop_map(str::to_owned),
        ]
    })
}

#[test]
fn random_patterns_match_what_backtracking_finds() {
    let config = ProptestConfig { cases: 3000, failure_persistence: None, ..Default::default() };
    proptest!(config, |(pattern in pattern(), texts in prop::collection::vec("[abc \n]{0,12}", 4))| {
        let Ok(node) = parse(&pattern, Dialect::Fancy) else { return Ok(()) };
        let Ok(matcher) = Matcher::compile(&pattern, Semantics::Tiktoken) else { return Ok(()) };
        if matcher.engine() != "dfa" {
            return Ok(());
        }
        let spelled = Backtracker::new(&node, &pattern).unwrap();
        let verbatim = Backtracker::verbatim(&pattern).unwrap();
        for text in &texts {
            let matches = all_matches(&matcher, text);
            let mut remembering = matcher.matches(text).remembering();
            for &expected in &matches {
                prop_assert_eq!(remembering.next_match().unwrap(), Some(expected));
            }
            prop_assert_eq!(remembering.next_match().unwrap(), None);
            prop_assert_eq!(&matches, &reference(&verbatim, text), "verbatim {} on {:?}", &pattern, text);
            prop_assert_eq!(&matches, &reference(&spelled, text), "spelled {} on {:?}", &pattern, text);
        }
    });
}

/// Patterns that look around themselves, and groups that give nothing back.
fn looking() -> impl Strategy<Value = String> {
    let around = prop::sample::select(vec![
        "(?=", "(?!", "(?<=", "(?<!", "(?>", "(?:", "(?:", "(?=a", "(?!.*", "(?<!a",
    ]);
    let part = (around, pattern()).prop_map(|(open, inside)| format!("{open}{inside})"));
    let other = prop::sample::select(vec![r"\b", r"\B", "^", "$", r"\Z", "a", "b*", "(?:a|ab)+"]);
    let parts = prop_oneof![2 => part, 1 => other.prop_map(str::to_owned)];
    let row = prop::collection::vec(parts, 1..4).prop_map(|parts| parts.concat());
    prop_oneof![
        3 => row.clone(),
        1 => row.clone().prop_map(|row| format!("(?>{row})a|b")),
        1 => row.prop_map(|row| format!("(?:c(?={row})|[ab])+")),
    ]
}

#[test]
fn patterns_that_look_around_match_what_backtracking_finds() {
    let config = ProptestConfig { cases: 2000, failure_persistence: None, ..Default::default() };
    let ran = std::cell::Cell::new(0);
    proptest!(config, |(pattern in looking(), texts in prop::collection::vec("[abc \n]{0,12}", 4))| {
        let Ok(node) = parse(&pattern, Dialect::Oniguruma) else { return Ok(()) };
        let Ok(memo) = Memo::new(&node) else { return Ok(()) };
        let Ok(spelled) = Backtracker::new(&node, &pattern) else { return Ok(()) };
        ran.set(ran.get() + 1);
        for text in &texts {
            let Some(mut memory) = memo.memory(text) else { return Ok(()) };
            for (from, _) in text.char_indices() {
                let expected = spelled.find(text, from, "").unwrap();
                let found = memo.find(text, from, &mut memory);
                prop_assert_eq!(found, expected, "{} on {:?} from {}", &pattern, text, from);
            }
        }
    });
    assert!(ran.get() > 700, "{}", ran.get());
}
