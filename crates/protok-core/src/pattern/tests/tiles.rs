//! Matches in blocks against matches one by one.

use proptest::prelude::*;

use super::*;

/// What a text of a hundred bytes and more is made of: stretches that the rules for blocks tell
/// apart, and now and then a character that they leave to the automaton.
fn stretch() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => "[a-zA-Z]{1,9}",
        2 => "[A-Z]{1,3}[a-z]{0,3}",
        6 => Just(" ".to_owned()),
        3 => "'(s|t|re|ve|m|ll|d|S|RE|x|l|)",
        2 => "[ \t\n\r]{1,5}",
        2 => "[0-9]{1,8}",
        3 => "[!-/:-@\\[-`{-~'(]{1,3}",
        1 => "[ \t\n]{3}[\n ]{60,70}",
        1 => "[.(/]{1,2}[\n/\r]{1,3}",
        1 => prop::sample::select(vec!["é", "ſ", "\u{301}", "\u{a0}", "\u{3000}", "一", "½", "K", "😀",
            "\u{b}", "\u{c}", "\u{1c}", "\u{1f}", "\0", "\u{7f}", "\u{85}"]).prop_map(str::to_owned),
    ]
}

fn text() -> impl Strategy<Value = String> {
    let mixed = prop::collection::vec(stretch(), 0..80).prop_map(|parts| parts.concat());
    // Few kinds of bytes meet in all orders.
    let dense = prop::sample::select(vec![
        "[aS' \n]{0,200}",
        "[a(\n/ ]{0,200}",
        "[1\t a\n]{0,200}",
        "[aA's.]{0,200}",
        "[ \n\t]{0,200}",
        "['sreA ]{0,200}",
    ])
    .prop_flat_map(|of| of);
    prop_oneof![2 => mixed, 1 => dense]
}

fn tiles(matcher: &Matcher, text: &str) -> Vec<(usize, usize)> {
    let mut tiles = Tiles::new(matcher, text);
    let mut ends = Ends::default();
    let (mut start, mut found) = (0, Vec::new());
    loop {
        tiles.next_ends(&mut ends).unwrap();
        if ends.places().is_empty() {
            return found;
        }
        for &end in ends.places() {
            found.push((start, end));
            start = end;
        }
    }
}

#[test]
fn blocks_cut_as_the_automaton_does() {
    let patterns: Vec<_> = PUBLIC
        .iter()
        .map(|&(semantics, pattern)| Matcher::compile(pattern, semantics).unwrap())
        .filter(Matcher::covers)
        .collect();
    assert!(patterns.iter().filter(|matcher| matcher.blocks().is_some()).count() >= 10);
    let config = ProptestConfig { cases: 1500, failure_persistence: None, ..Default::default() };
    proptest!(config, |(text in text())| {
        for matcher in &patterns {
            prop_assert_eq!(tiles(matcher, &text), all_matches(matcher, &text), "{:?}", matcher);
        }
    });
}

#[test]
fn which_grammars_are_cut_in_blocks() {
    for (at, &(semantics, pattern)) in PUBLIC.iter().enumerate() {
        let matcher = Matcher::compile(pattern, semantics).unwrap();
        println!("{at} {} {} {pattern}", matcher.covers(), matcher.blocks().is_some());
    }
}
