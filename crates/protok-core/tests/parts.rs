//! Long texts are encoded part by part, and words that come again are looked up. The reference
//! path knows nothing of that.
#![allow(clippy::unwrap_used)]

use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use protok_core::added_tokens::SpecialPolicy;
use protok_core::formats::{self, Files};
use protok_core::pipeline::{CompileOptions, Pipeline};

const NORMALIZERS: &[&str] = &[
    "null",
    r#"{"type":"Lowercase"}"#,
    r#"{"type":"NFC"}"#,
    r#"{"type":"NFKC"}"#,
    r#"{"type":"Nmt"}"#,
    r#"{"type":"Strip","strip_left":true,"strip_right":true}"#,
    r#"{"type":"Prepend","prepend":"▁"}"#,
    r#"{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"strip_accents":null,"lowercase":true}"#,
    r#"{"type":"Sequence","normalizers":[{"type":"NFD"},{"type":"StripAccents"}]}"#,
    r#"{"type":"Replace","pattern":{"String":" "},"content":"▁"}"#,
    r#"{"type":"Replace","pattern":{"String":"a"},"content":""}"#,
    r#"{"type":"Replace","pattern":{"String":"b"},"content":" "}"#,
    r#"{"type":"Replace","pattern":{"String":"\n"},"content":" "}"#,
    r#"{"type":"Replace","pattern":{"String":"a b"},"content":"c"}"#,
    r#"{"type":"Replace","pattern":{"String":"é"},"content":""}"#,
    r#"{"type":"Replace","pattern":{"String":" a"},"content":"b"}"#,
    r#"{"type":"Replace","pattern":{"String":" ab"},"content":"c"}"#,
    r#"{"type":"Replace","pattern":{"Regex":" {2,}"},"content":"▁"}"#,
    r#"{"type":"Replace","pattern":{"Regex":"\\s{2,}"},"content":" "}"#,
    r#"{"type":"Replace","pattern":{"Regex":"\\n(?=a)"},"content":"c"}"#,
    r#"{"type":"Replace","pattern":{"Regex":" {2,}"},"content":" "}"#,
    r#"{"type":"Replace","pattern":{"Regex":"\\s+"},"content":" "}"#,
    r#"{"type":"Replace","pattern":{"Regex":"[ab]+ "},"content":"c"}"#,
];

const PRE_TOKENIZERS: &[&str] = &[
    "null",
    r#"{"type":"Whitespace"}"#,
    r#"{"type":"WhitespaceSplit"}"#,
    r#"{"type":"BertPreTokenizer"}"#,
    r#"{"type":"Digits","individual_digits":false}"#,
    r#"{"type":"Digits","individual_digits":true}"#,
    r#"{"type":"Punctuation","behavior":"Isolated"}"#,
    r#"{"type":"Punctuation","behavior":"MergedWithNext"}"#,
    r#"{"type":"CharDelimiterSplit","delimiter":"."}"#,
    r#"{"type":"CharDelimiterSplit","delimiter":" "}"#,
    r#"{"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":true}"#,
    r#"{"type":"Metaspace","replacement":"▁","prepend_scheme":"first","split":true}"#,
    r#"{"type":"Metaspace","replacement":"▁","prepend_scheme":"never","split":false}"#,
    r#"{"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":false}"#,
    r#"{"type":"Split","pattern":{"String":" "},"behavior":"MergedWithPrevious","invert":false}"#,
    r#"{"type":"Split","pattern":{"String":" "},"behavior":"MergedWithNext","invert":false}"#,
    r#"{"type":"Split","pattern":{"Regex":"\\w+|\\s"},"behavior":"Contiguous","invert":false}"#,
    r#"{"type":"Split","pattern":{"Regex":"\\w+"},"behavior":"Removed","invert":true}"#,
    r#"{"type":"Split","pattern":{"Regex":"\\w+"},"behavior":"Isolated","invert":true}"#,
    r#"{"type":"Split","pattern":{"String":"a"},"behavior":"Removed","invert":true}"#,
    r#"{"type":"Split","pattern":{"Regex":" ?[a-z]+"},"behavior":"Isolated","invert":false}"#,
    r#"{"type":"UnicodeScripts"}"#,
];

const TOKENS: &[&str] = &[
    "ab", "bc", "abc", "▁a", "▁ab", "▁abc", " a", "a▁", "b▁a", ".▁", "b ", "b c", "a\n", "\n\n",
    "\na", "é▁", "▁é", "▁▁", "1", "12", "2▁1", "éa", "世界", "界▁", "cab", "##a", "##ab", "##.",
    "##é",
];

/// One character at a time is known, but for those that the case leaves out.
fn vocabulary(tokens: &[&str], missing: &[char]) -> Vec<String> {
    let chars = "abc.12é世界▁ \n".chars().filter(|c| !missing.contains(c)).map(String::from);
    let mut all: Vec<String> = ["<unk>", "<0x0A>", "<0xC3>", "<0xA9>"].map(String::from).into();
    all.extend(chars);
    all.extend(tokens.iter().map(|token| (*token).to_owned()));
    all
}

fn json(value: &str) -> String {
    serde_json::to_string(value).unwrap()
}

fn model(kind: &str, tokens: &[&str], missing: &[char]) -> String {
    let all = vocabulary(tokens, missing);
    let ids = || {
        let ids = all.iter().zip(0..).map(|(token, id)| format!("{}:{id}", json(token)));
        ids.collect::<Vec<_>>().join(",")
    };
    let known = |token: &str| all.iter().any(|other| other == token);
    match kind {
        "WordPiece" => format!(
            r###"{{"type":"WordPiece","unk_token":"<unk>","continuing_subword_prefix":"##",
            "max_input_chars_per_word":20,"vocab":{{{}}}}}"###,
            ids()
        ),
        "Unigram" => {
            let scored = all.iter().enumerate().map(|(at, token)| {
                format!("[{},-{}.{}]", json(token), 1 + at * 7 % 5, at * 31 % 97)
            });
            let vocab = scored.collect::<Vec<_>>().join(",");
            format!(r#"{{"type":"Unigram","unk_id":0,"vocab":[{vocab}]}}"#)
        }
        _ => {
            let mut merges = Vec::new();
            for token in &all {
                let cuts = token.char_indices().skip(1).map(|(at, _)| token.split_at(at));
                let parts = cuts.filter(|(left, right)| known(left) && known(right));
                merges
                    .extend(parts.map(|(left, right)| format!("[{},{}]", json(left), json(right))));
            }
            let (unk, fuse, fallback) = match kind {
                "unk" => (r#""<unk>""#, false, false),
                "fused" => (r#""<unk>""#, true, false),
                "bytes" => (r#""<unk>""#, true, true),
                _ => ("null", false, false),
            };
            format!(
                r#"{{"type":"BPE","dropout":null,"unk_token":{unk},"fuse_unk":{fuse},
                "byte_fallback":{fallback},"continuing_subword_prefix":null,
                "end_of_word_suffix":null,"ignore_merges":false,"vocab":{{{}}},"merges":[{}]}}"#,
                ids(),
                merges.join(",")
            )
        }
    }
}

fn pipeline(normalizers: &[&str], pre_tokenizers: &[&str], model: &str, added: &str) -> Pipeline {
    let text = format!(
        r#"{{"version":"1.0","truncation":null,"padding":null,"added_tokens":[{added}],
        "normalizer":{{"type":"Sequence","normalizers":[{}]}},
        "pre_tokenizer":{{"type":"Sequence","pretokenizers":[{}]}},
        "post_processor":null,"decoder":null,"model":{model}}}"#,
        normalizers.join(","),
        pre_tokenizers.join(",")
    );
    let text = text.replace("[null]", "[]");
    let files = Files::single("tokenizer.json", text.as_bytes());
    let artifact = formats::read(&files, &formats::Options::default()).unwrap();
    Pipeline::compile(artifact.spec, &CompileOptions::default()).unwrap()
}

fn added() -> impl Strategy<Value = &'static str> {
    select(vec![
        "",
        "",
        "",
        r#"{"id":0,"content":"<unk>","special":true,"normalized":false,"lstrip":false,"rstrip":false,"single_word":false}"#,
        r#"{"id":90,"content":"c.","special":false,"normalized":false,"lstrip":true,"rstrip":true,"single_word":false}"#,
        r#"{"id":90,"content":"ab","special":false,"normalized":true,"lstrip":false,"rstrip":false,"single_word":true}"#,
        r#"{"id":90,"content":"c.","special":true,"normalized":true,"lstrip":true,"rstrip":false,"single_word":false}"#,
        r#"{"id":90,"content":" b","special":false,"normalized":true,"lstrip":false,"rstrip":false,"single_word":false}"#,
        r#"{"id":90,"content":" a","special":false,"normalized":false,"lstrip":false,"rstrip":false,"single_word":true}"#,
    ])
}

/// Few words, again and again, so that most are looked up.
fn text() -> impl Strategy<Value = String> {
    let word = "[abc.12é世\u{301}\u{3000}<]{1,5}|\n|[ \n]{1,3}|  ";
    let words = prop::collection::vec(word, 1..12);
    (words, prop::collection::vec((any::<prop::sample::Index>(), "[ \n]|  | |"), 400..600))
        .prop_map(|(words, row)| {
            row.iter().map(|(at, blank)| format!("{}{blank}", at.get(&words))).collect::<String>()
        })
}

#[test]
fn where_texts_are_cut() {
    let blanks = r#"{"type":"Replace","pattern":{"String":" "},"content":"▁"}"#;
    let text = "ab c.  a\nb é a\n\n世界 1 x";
    let joints = |normalizer, cut, kind, tokens: &[&str], missing: &[char], added: &str| {
        pipeline(&[normalizer], &[cut], &model(kind, tokens, missing), added).joints_in(text)
    };
    // All but the second blank in a row, and the second newline.
    assert_eq!(joints(blanks, "null", "bytes", &["▁a"], &[], ""), 8);
    assert_eq!(joints(blanks, "null", "bytes", &["▁▁"], &[], ""), 8);
    // Tokens that reach across, behind ASCII and beyond.
    assert_eq!(joints(blanks, "null", "bytes", &["b▁a"], &[], ""), 6);
    assert_eq!(joints(blanks, "null", "bytes", &["a\n"], &[], ""), 6);
    assert_eq!(joints(blanks, "null", "bytes", &["é▁"], &[], ""), 6);
    // Neighbours of what vanishes meet, and unknown characters become one.
    assert_eq!(joints(blanks, "null", "gone", &[], &['▁'], ""), 2);
    assert_eq!(joints(blanks, "null", "fused", &[], &['b', '\n'], ""), 6);
    // A model that looks at all of a text, unless something cuts it.
    assert_eq!(joints(blanks, "null", "Unigram", &[], &[], ""), 0);
    let mark = r#"{"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":true}"#;
    assert_eq!(joints("null", mark, "Unigram", &[], &[], ""), 6);
    assert_eq!(joints("null", r#"{"type":"BertPreTokenizer"}"#, "WordPiece", &[], &[], ""), 8);
    // What would take a blank with it, or what stands before one.
    let nothing = r#"{"type":"Replace","pattern":{"String":"a"},"content":""}"#;
    assert_eq!(joints(nothing, mark, "Unigram", &[], &[], ""), 0);
    // What stands behind a blank may swallow it, or make something else of it than it is by itself.
    for (pattern, content) in
        [(r#""String":" ab""#, "c"), (r#""Regex":" {2,}""#, "▁"), (r#""Regex":" (?=a)""#, "c")]
    {
        let replace =
            format!(r#"{{"type":"Replace","pattern":{{{pattern}}},"content":"{content}"}}"#);
        let pre_tokenizer = r#"{"type":"Whitespace"}"#;
        let joints =
            pipeline(&[&replace], &[pre_tokenizer], &model("unk", &[], &[]), "").joints_in(text);
        assert_eq!(joints, 2, "{pattern}");
    }
    let added = |content: &str, strip: bool| {
        format!(
            r#"{{"id":90,"content":"{content}","special":false,"normalized":true,"lstrip":true,
            "rstrip":{strip},"single_word":true}}"#
        )
    };
    assert_eq!(joints(blanks, "null", "bytes", &[], &[], &added("q", false)), 8);
    assert_eq!(joints(blanks, "null", "bytes", &[], &[], &added("q", true)), 0);
    assert_eq!(joints(blanks, "null", "bytes", &[], &[], &added("q r", false)), 0);
    assert_eq!(joints(blanks, "null", "bytes", &[], &[], &added(" q", false)), 0);
}

static CUT: AtomicUsize = AtomicUsize::new(0);
static TRIED: AtomicUsize = AtomicUsize::new(0);

#[test]
fn parts_give_what_the_whole_gives() {
    parts_and_whole();
    let (cut, tried) = (CUT.load(Ordering::Relaxed), TRIED.load(Ordering::Relaxed));
    assert!(cut * 8 > tried, "Only {cut} of {tried} texts were cut.");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    fn parts_and_whole(
        normalizers in prop_oneof![
            3 => subsequence(NORMALIZERS, 1),
            1 => subsequence(NORMALIZERS, 2..4),
        ],
        pre_tokenizers in prop_oneof![
            3 => subsequence(PRE_TOKENIZERS, 1),
            1 => subsequence(PRE_TOKENIZERS, 2),
        ],
        kind in select(vec!["unk", "fused", "bytes", "gone", "WordPiece", "Unigram"]),
        tokens in subsequence(TOKENS, 0..TOKENS.len()),
        missing in subsequence(vec!['a', '.', '1', 'é', '世', '▁', ' ', '\n'], 0..3),
        added in added(),
        text in text(),
    ) {
        let keep = |parts: Vec<&'static str>| -> Vec<&'static str> {
            let kept: Vec<_> = parts.iter().copied().filter(|part| *part != "null").collect();
            if kept.is_empty() { vec!["null"] } else { kept }
        };
        let model = model(kind, &tokens, &missing);
        let pipeline = pipeline(&keep(normalizers), &keep(pre_tokenizers), &model, added);
        TRIED.fetch_add(1, Ordering::Relaxed);
        CUT.fetch_add(usize::from(pipeline.joints_in(&text) > 50), Ordering::Relaxed);
        // The second time more words are known.
        let differing = pipeline.differing_paths(&[&text, &text], &SpecialPolicy::Text, 1);
        prop_assert_eq!(differing.unwrap(), Vec::<usize>::new(), "{}", model);
        // What was remembered under one policy says nothing under another.
        for policy in [SpecialPolicy::Parse, SpecialPolicy::Raise, SpecialPolicy::Text] {
            let differing = pipeline.differing_paths(&[&text], &policy, 1);
            prop_assert_eq!(differing.unwrap(), Vec::<usize>::new(), "{:?} {}", policy, model);
        }
    }
}
