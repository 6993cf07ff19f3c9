//! Formats of one token a line: rank files, `vocab.txt`, RWKV vocabularies.

use super::{either, refused};

const COMPANION: &[u8] = br#"{"pat_str":"\\S+|\\s","special_tokens":{"<s>":9}}"#;

fn ranks(file: &[u8]) -> Option<String> {
    either(&[("x.tiktoken", file), ("encoding.json", COMPANION)])
}

#[test]
fn rank_files() {
    let file = b"YQ== 0\nYg== 1\nYWI= 2\n";
    assert_eq!(ranks(file), None);
    for end in 0..file.len() {
        ranks(&file[..end]);
    }
    for (bad, place) in [
        (&b"YQ== 0\nYg== 4294967296\n"[..], "x.tiktoken: line 2"),
        (b"YQ== 0\nYg== 9007199254740993\n", "x.tiktoken: line 2"),
        (b"YQ== 0\nYg== 99999999999999999999999\n", "x.tiktoken: line 2"),
        (b"YQ== 0\nYg== 0\n", "x.tiktoken: rank 0"),
        (b"YQ== 0\nYg== 4294967295\n", "model.vocab"),
        (b"YQ== 9\n", "special_tokens"),
    ] {
        assert_eq!(ranks(bad).as_deref(), Some(place), "{}", String::from_utf8_lossy(bad));
    }
    for bad in
        [&b"YQ== -1\n"[..], b"YQ== 1e30\n", b"YQ== 0.5\n", b"YQ==\n", b"\xff\xfe\n", b"a b c\n"]
    {
        assert!(ranks(bad).is_some(), "{}", String::from_utf8_lossy(bad));
    }
    let long = [base64(&[b'a'; 3_000_000]).as_bytes(), b" 0\n"].concat();
    ranks(&long);
    let many: String =
        (0..200_000u32).map(|rank| format!("{} {rank}\n", base64(&rank.to_le_bytes()))).collect();
    assert_eq!(ranks(many.replace(" 9\n", " 900000\n").as_bytes()), None);
}

fn base64(bytes: &[u8]) -> String {
    use ::base64::Engine as _;
    ::base64::engine::general_purpose::STANDARD.encode(bytes)
}

#[test]
fn the_companion_of_a_rank_file() {
    let with =
        |companion: &[u8]| either(&[("x.tiktoken", b"YQ== 0\n"), ("encoding.json", companion)]);
    for end in 0..COMPANION.len() {
        assert!(with(&COMPANION[..end]).is_some(), "cut at {end}");
    }
    for (bad, place) in [
        (r#"{"pat_str":"(","special_tokens":{}}"#, "pre_tokenizer.pattern.Regex"),
        (r#"{"pat_str":"a","special_tokens":[]}"#, "encoding.json.special_tokens"),
        (r#"{"pat_str":"a","special_tokens":{"x":-1}}"#, "encoding.json.special_tokens.x"),
        (r#"{"pat_str":"a","special_tokens":{"x":1e30}}"#, "encoding.json.special_tokens.x"),
        (r#"{"pat_str":"a","special_tokens":{"x":0}}"#, "special_tokens"),
        (r#"{"pat_str":"a","special_tokens":{"":7}}"#, "special_tokens"),
        (r#"{"pat_str":"a","special_tokens":{"x":4294967295}}"#, "added_tokens[0].id"),
        (r#"{"pat_str":"a","special_tokens":{},"n_vocab":7}"#, "n_vocab"),
    ] {
        assert_eq!(with(bad.as_bytes()).as_deref(), Some(place), "{bad}");
    }
}

/// Tokens that one hash function takes to one value: looking them up must not take a walk past
/// all of them.
#[test]
fn tokens_whose_hashes_collide() {
    const FIRST: u64 = 0x243f_6a88_85a3_08d3;
    const SECOND: u64 = 0x1319_8a2e_0370_7344;
    for start in [FIRST, SECOND] {
        let token = |number: u64| base64(&[start.to_le_bytes(), number.to_le_bytes()].concat());
        let file: String = (0..100_000u64).map(|n| format!("{} {}\n", token(n), n + 10)).collect();
        assert_eq!(ranks(file.as_bytes()), None);
        let token = |number: u64| base64(&[number.to_le_bytes(), start.to_le_bytes()].concat());
        let file: String = (0..100_000u64).map(|n| format!("{} {}\n", token(n), n + 10)).collect();
        assert_eq!(ranks(file.as_bytes()), None);
    }
}

const CASED: &[u8] = br#"{"do_lower_case": false}"#;

#[test]
fn vocab_txt() {
    let file = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n##b\n";
    let both = |file: &[u8]| either(&[("vocab.txt", file), ("tokenizer_config.json", CASED)]);
    assert_eq!(both(file.as_bytes()), None);
    for end in 0..file.len() {
        both(&file.as_bytes()[..end]);
    }
    assert!(both(b"").is_some());
    assert!(both(b"[UNK]\na\n").is_none_or(|place| !place.is_empty()));
    assert!(both(b"[UNK]\n[CLS]\n[SEP]\n\xff\n").is_some());
    let many: String = (0..300_000).map(|number| format!("w{number}\n")).collect();
    assert_eq!(both((file.to_owned() + &many).as_bytes()), None);
    let long = file.to_owned() + &"x".repeat(3_000_000) + "\n";
    assert_eq!(both(long.as_bytes()), None);
}

#[test]
fn rwkv() {
    let file = "1 'a' 1\n2 'ab' 2\n3 b'\\xff' 1\n";
    let read = |file: &str| either(&[("rwkv_vocab.txt", file.as_bytes())]);
    assert_eq!(read(file), None);
    for end in 0..file.len() {
        read(&file[..end]);
    }
    let line = |text: &str| read(&format!("1 'a' 1\n{text}\n"));
    for (bad, place) in [
        ("4294967296 'b' 1", Some("rwkv_vocab.txt: line 2")),
        ("4294967295 'b' 1", Some("model.vocab")),
        ("2 'b' 2", Some("rwkv_vocab.txt: line 2")),
        ("2 'b' 99999999999999999999", Some("rwkv_vocab.txt: line 2")),
        ("1 'b' 1", Some("rwkv_vocab.txt: line 2")),
        ("2 'a' 1", Some("rwkv_vocab.txt: line 2")),
        ("2 '' 0", Some("rwkv_vocab.txt: line 2")),
        (r"2 '\ud800' 3", Some("rwkv_vocab.txt: line 2")),
        (r"2 '\U00110000' 4", Some("rwkv_vocab.txt: line 2")),
        (r"2 '\x' 1", Some("rwkv_vocab.txt: line 2")),
        (r"2 b'\777' 1", Some("rwkv_vocab.txt: line 2")),
        (r"2 'b\' 1", Some("rwkv_vocab.txt: line 2")),
    ] {
        assert_eq!(line(bad).as_deref(), place, "{bad}");
    }
    let long = format!("1 'a' 1\n2 '{}' 2000000\n", "a".repeat(2_000_000));
    assert_eq!(read(&long), None);
}

#[test]
fn no_file_of_any_kind() {
    for bad in [&b""[..], b"\0", b"GGUF", b"\x0a", b"{", b"\x0a\x0f\x0a", b"\xff\xff\xff\xff"] {
        for name in ["tokenizer.json", "tokenizer.model", "x.gguf", "tekken.json", "x"] {
            assert!(!refused(&[(name, bad)]).is_empty());
        }
    }
    // Text that stands for itself may be a list of words, but not in a file of JSON.
    for bad in ["[]", "null", "1", "\"x\""] {
        assert!(!refused(&[("tokenizer.json", bad.as_bytes())]).is_empty());
    }
}
