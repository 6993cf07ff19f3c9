//! The seeds of every target, built here: nothing is taken from anybody's files.

use protok_core::formats::{Files, Options, directory};
use protok_core::pipeline::{CompileOptions, Pipeline};
use protok_core::snapshot;

use crate::samples;

/// The inputs of each target.
#[must_use]
pub fn all() -> Vec<(&'static str, Vec<Vec<u8>>)> {
    vec![
        ("tokenizer_json", tokenizer_json()),
        ("companions", companions()),
        ("vocab_merges", vocab_merges()),
        ("tiktoken", tiktoken()),
        ("sentencepiece", sentencepiece()),
        ("vocab_txt", vocab_txt()),
        ("tekken", tekken()),
        ("rwkv", rwkv()),
        ("gguf", gguf()),
        ("folder", folder()),
        ("pattern", pattern()),
        ("blocks", blocks()),
        ("charsmap", charsmap()),
        ("encode", encode()),
        ("decode", decode()),
        ("snapshot", snapshot()),
    ]
}

/// Snapshots of the other targets' tokenizers, for a key of zeros.
fn snapshot() -> Vec<Vec<u8>> {
    let key = snapshot::Key::from([0; 32]);
    let jsons = samples::tokenizer_jsons();
    let files = jsons.iter().map(|json| ("tokenizer.json", json.as_bytes()));
    let ranks = b"YQ== 0\nYg== 1\nIA== 2\nYWI= 4\nIGFi 5\n";
    let files = files.chain([("a.tiktoken", ranks.as_slice())]);
    let options = Options { pattern: Some(r"\w+|\W".to_owned()), ..Options::default() };
    files
        .filter_map(|(name, bytes)| {
            let artifact = directory::read(&Files::single(name, bytes), &options).ok()?;
            let pipeline = Pipeline::compile(artifact.spec, &CompileOptions::default()).ok()?;
            snapshot::write(&pipeline, &artifact.info, &key).ok()
        })
        .collect()
}

fn texts(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

/// Each text behind a byte that counts them.
fn numbered(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().zip(0u8..).map(|(text, number)| [&[number], text.as_bytes()].concat()).collect()
}

fn tokenizer_json() -> Vec<Vec<u8>> {
    let mut seeds: Vec<Vec<u8>> =
        samples::tokenizer_jsons().into_iter().map(String::into_bytes).collect();
    seeds.extend(texts(&[
        r#"{"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":"a|b+?(?=c)"},
        "behavior":"MergedWithNext","invert":true},{"type":"Punctuation","behavior":"Contiguous"},{"type":"FixedLength",
        "length":3},{"type":"UnicodeScripts"},{"type":"CharDelimiterSplit","delimiter":"-"}]},
        "model":{"type":"WordLevel","vocab":{"a":0,"b":2},"unk_token":"a"}}"#,
        r#"{"normalizer":{"type":"Sequence","normalizers":[{"type":"Strip","strip_left":true,"strip_right":true},
        {"type":"NFKC"},{"type":"NFD"},{"type":"ByteLevel"},{"type":"Precompiled","precompiled_charsmap":"BAAAAAAAAAA="}]},
        "decoder":{"type":"CTC","pad_token":"a","word_delimiter_token":"|","cleanup":true},
        "post_processor":{"type":"RobertaProcessing","sep":["b",2],"cls":["a",0],"trim_offsets":true,"add_prefix_space":false},
        "model":{"type":"WordPiece","vocab":{"a":0,"b":2,"[UNK]":1},"unk_token":"[UNK]","continuing_subword_prefix":"",
        "max_input_chars_per_word":5}}"#,
        r#"{"model":{"dropout":0.5,"vocab":{"a":0,"b":1,"ab</w>":2,"b</w>":3,"<unk>":4},"unk_token":"<unk>",
        "continuing_subword_prefix":"","end_of_word_suffix":"</w>","merges":["a b</w>"]}}"#,
    ]));
    seeds
}

fn companions() -> Vec<Vec<u8>> {
    let config = r#"{"bos_token":"<s>","eos_token":{"content":"a"},"add_bos_token":true,"do_lower_case":false,
        "additional_special_tokens":["x","y"],"extra_special_tokens":{"image_token":"<i>"},"added_tokens_decoder":
        {"0":{"content":"<s>","special":true},"300":{"content":"new","lstrip":true}},"chat_template":"{{ '<s>' }}a",
        "tokenizer_class":"BertTokenizer","clean_up_tokenization_spaces":true,"add_prefix_space":true}"#;
    let map = r#"{"bos_token":"<s>","unk_token":"[UNK]","additional_special_tokens":["a"]}"#;
    let generation = r#"{"bos_token_id":0,"eos_token_id":[1,2,4294967295],"pad_token_id":null}"#;
    let added = r#"{"new":7,"older":300}"#;
    let chat = r#"{"chat_template":[{"name":"default","template":"{% if a %}<s>{% endif %}"}]}"#;
    let mut seeds = Vec::new();
    for main in 0..3u8 {
        let all = [config, map, generation, added, chat, "{{ bos }}"].join("\0");
        seeds.push([&[main << 3], all.as_bytes()].concat());
        seeds.push([&[main << 3 | 2], generation.as_bytes()].concat());
    }
    seeds
}

fn vocab_merges() -> Vec<Vec<u8>> {
    let gpt2 = samples::main_file(1);
    let whole = [&[0], gpt2[0].1.as_slice(), b"\0", gpt2[1].1.as_slice()].concat();
    let words = r#"{"<s>":0,"</s>":1,"<unk>":2,"<pad>":3,"<mask>":4,"a":5,"b</w>":6,"ab</w>":7,"<|endoftext|>":8,
        "<|startoftext|>":9,"<|startoftranscript|>":10,"<|notimestamps|>":11}"#;
    let merges = "#version: 0.2\na b</w>\n";
    let mut seeds: Vec<Vec<u8>> = (1..6u8)
        .map(|family| [&[family], words.as_bytes(), b"\0", merges.as_bytes()].concat())
        .collect();
    seeds.push(whole);
    seeds
}

fn tiktoken() -> Vec<Vec<u8>> {
    texts(&[
        "YQ== 0\nYg== 1\nYWI= 2\nIA== 3\n",
        "YQ== 0\r\n= 1\nYg==\t2\n\0{\"pat_str\":\"a|b\",\"special_tokens\":{\"<s>\":9},\"n_vocab\":10}",
        "4oKs 0\n4g== 1\ngg== 2\nrA== 3\n4oI= 4\n",
        "YQ== 4294967295\n",
    ])
}

/// A field of a protocol buffer that has a length.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![number << 3 | 2];
    let mut length = bytes.len();
    while length >= 0x80 {
        out.push(length as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
    out.extend_from_slice(bytes);
    out
}

fn piece(text: &str, score: f32, kind: u8) -> Vec<u8> {
    let mut inside = field(1, text.as_bytes());
    inside.push(0x15);
    inside.extend_from_slice(&score.to_le_bytes());
    inside.extend_from_slice(&[0x18, kind]);
    field(1, &inside)
}

fn sentencepiece() -> Vec<Vec<u8>> {
    let pieces: Vec<u8> = [
        piece("<unk>", 0.0, 2),
        piece("<s>", 0.0, 3),
        piece("user x", 0.0, 4),
        piece("▁", -1.0, 1),
        piece("a", -2.0, 1),
        piece("b", -2.5, 1),
        piece("ab", -2.0, 1),
        piece("▁ab", -1.5, 1),
        piece("aa", -3.0, 5),
    ]
    .concat();
    let map = field(2, &charsmap()[0]);
    let mut seeds = Vec::new();
    for kind in 1..=4u8 {
        let trainer = field(2, &[0x18, kind]);
        seeds.push([pieces.clone(), trainer.clone(), field(3, &[0x18, 1, 0x20, 1])].concat());
        let rules = [map.clone(), vec![0x18, 0, 0x20, 0, 0x28, 0]].concat();
        seeds.push([pieces.clone(), trainer, field(3, &rules), field(5, &map)].concat());
    }
    let bytes = (0..=255u8).flat_map(|byte| piece(&format!("<0x{byte:02X}>"), 0.0, 6));
    let with_bytes: Vec<u8> = pieces.iter().copied().chain(bytes).collect();
    seeds.push([with_bytes, field(2, &[0x18, 2, 0x98, 2, 1])].concat());
    seeds
}

fn vocab_txt() -> Vec<Vec<u8>> {
    numbered(&[
        "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n##b\nthe\n",
        "[PAD]\r\n[UNK]\r\n[CLS]\r\n[SEP]\r\n[MASK]\r\nA\r\n##é\r\n\r\n",
        "[UNK]\n[CLS]\n[SEP]\n京\n##\n[PAD]\n[MASK]",
    ])
}

fn tekken() -> Vec<Vec<u8>> {
    let file = |version: &str, size: u32, special: &str| {
        format!(
            r#"{{"config":{{"pattern":"[^\\s]+|\\s","default_vocab_size":{size},
            "default_num_special_tokens":23,"version":"{version}"}},"special_tokens":{special},
            "vocab":[@BYTES@,{{"rank":256,"token_bytes":"YWI="}}]}}"#
        )
        .into_bytes()
    };
    vec![
        file("v3", 280, "null"),
        file("v7", 279, r#"[{"rank":0,"token_str":"<unk>"},{"rank":1,"token_str":"<s>"}]"#),
        file("v13", 280, r#"[{"rank":0,"token_str":"<s>"}]"#),
    ]
}

fn rwkv() -> Vec<Vec<u8>> {
    let bytes: String =
        (0..=255u8).map(|byte| format!("{} b'\\x{byte:02x}' 1\n", u32::from(byte) + 1)).collect();
    let mut seeds =
        texts(&["1 'a' 1\n2 'ab' 2\n3 b'\\xe2\\x82' 2\n4 '\\u20ac' 3\n", "1 \"'\" 1\n"]);
    seeds.push((bytes + "257 'the' 3\n258 ' the' 4\n").into_bytes());
    seeds
}

/// A GGUF file of strings, string lists, and values given as bytes.
struct Gguf(Vec<u8>, u64);

impl Gguf {
    fn string(text: &str) -> Vec<u8> {
        [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat()
    }

    fn pair(mut self, key: &str, kind: u32, value: &[u8]) -> Self {
        self.0.extend(Self::string(&format!("tokenizer.ggml.{key}")));
        self.0.extend(kind.to_le_bytes());
        self.0.extend(value);
        self.1 += 1;
        self
    }

    fn text(self, key: &str, text: &str) -> Self {
        self.pair(key, 8, &Self::string(text))
    }

    fn list(self, key: &str, kind: u32, items: &[Vec<u8>]) -> Self {
        let head = [&kind.to_le_bytes()[..], &(items.len() as u64).to_le_bytes()].concat();
        self.pair(key, 9, &[head, items.concat()].concat())
    }

    fn strings<'s>(self, key: &str, items: impl IntoIterator<Item = &'s str>) -> Self {
        self.list(key, 8, &items.into_iter().map(Self::string).collect::<Vec<_>>())
    }

    fn finish(self) -> Vec<u8> {
        let head = [&b"GGUF\x03\0\0\0\0\0\0\0\0\0\0\0"[..], &self.1.to_le_bytes()].concat();
        [head, self.0].concat()
    }
}

fn gguf() -> Vec<Vec<u8>> {
    let new = |model: &str| Gguf(Vec::new(), 0).text("model", model);
    let letters: Vec<String> =
        protok_core::text::alphabet::BYTE_TO_CHAR.iter().map(char::to_string).collect();
    let byte_pairs = letters.iter().map(String::as_str).chain(["ab", "abb", "<|end|>"]);
    let gpt2 = new("gpt2")
        .text("pre", "gpt-2")
        .strings("tokens", byte_pairs)
        .strings("merges", ["a b", "ab b"])
        .pair("eos_token_id", 4, &258u32.to_le_bytes());
    let bytes: Vec<String> = (0..=255u8).map(|byte| format!("<0x{byte:02X}>")).collect();
    let own = ["<unk>", "<s>", "</s>", "▁", "a", "b", "ab"];
    let pieces = own.into_iter().chain(bytes.iter().map(String::as_str));
    let numbers = |kinds: fn(usize) -> i32| {
        (0..own.len() + 256).map(|id| kinds(id).to_le_bytes().to_vec()).collect::<Vec<_>>()
    };
    let llama = new("llama")
        .strings("tokens", pieces)
        .list("token_type", 5, &numbers(|id| [2, 3, 3, 1, 1, 1, 1].get(id).copied().unwrap_or(6)))
        .list("scores", 5, &numbers(|id| -(id as i32)))
        .pair("add_bos_token", 7, &[1]);
    let bert = new("bert")
        .strings("tokens", ["[UNK]", "[CLS]", "[SEP]", "▁a", "b", "▁the"])
        .pair("bos_token_id", 4, &1u32.to_le_bytes())
        .pair("seperator_token_id", 4, &2u32.to_le_bytes())
        .pair("unknown_token_id", 4, &0u32.to_le_bytes());
    let escaped: Vec<String> = (0..=255u8).map(|byte| format!("\\x{byte:02x}")).collect();
    let rwkv = new("rwkv").strings("tokens", escaped.iter().map(String::as_str).chain(["the"]));
    [gpt2, llama, bert, rwkv].into_iter().map(Gguf::finish).collect()
}

fn folder() -> Vec<Vec<u8>> {
    let mut seeds = vec![
        [&[0], sentencepiece()[0].as_slice()].concat(),
        [&[1], &vocab_txt()[0][1..]].concat(),
        [&[4], tiktoken()[0].as_slice()].concat(),
        [&[4], rwkv()[0].as_slice()].concat(),
        [&[3], tokenizer_json()[5].as_slice()].concat(),
        [&[0], gguf()[2].as_slice()].concat(),
    ];
    let parts = ["YQ== 0\nYg== 1\n", r#"{"pat_str":"a","special_tokens":{}}"#];
    seeds.push([&[65], parts.join("\0").as_bytes()].concat());
    seeds
}

fn pattern() -> Vec<Vec<u8>> {
    let patterns = [
        r"'s|'t|'re| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
        r"(?i:'s|'t)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}+| ?[^\s]++[\r\n]*+|\s*[\r\n]|\s+$",
        r"(?:a|b)*c|a|b|(?<=x)y|(?<!x)z|\bw\B",
        r"[[:alpha:]&&[^a-c]]+?|\h\H|\x{41}-\u0042|(?>a+)b",
        r"(?<n>a){2,5}|^b$|(?m:.)|(?#c)d{,3}e{2}?",
        r"(a+)+$|(?=a*b)a",
    ];
    let text = "it's  abc 123, A-B yx xy\n aaaa\r\n";
    let both = patterns.iter().flat_map(|pattern| {
        [0u8, 1].map(|dialect| [&[dialect], pattern.as_bytes(), b"\0", text.as_bytes()].concat())
    });
    both.collect()
}

/// For each grammar, what it tells apart.
fn blocks() -> Vec<Vec<u8>> {
    numbered(&[
        "it's  he'LL 'tis x'se\u{17f} 1234567 (a) \"b\" ",
        "if (x) {\n\n\treturn 12345;\n  \n    // it's\r\n}  \n",
        "don't camelCase HTTPServer'S 2024 é中 ",
        "camelCase URLs're (\n//x a'b'c's's \t\t- ",
        "--\n/-- A b\u{a0}\u{3000}  '' 'x ",
    ])
}

/// Maps with one key (`A` to `a`), with a loop, and with what leads outside.
fn charsmap() -> Vec<Vec<u8>> {
    let build = |change: fn(&mut Vec<u32>)| {
        let mut units = vec![0u32; 768];
        units[0] = 256 << 10;
        units[256 ^ 0x41] = ((256 ^ 0x41 ^ 512) as u32) << 10 | 1 << 8 | 0x41;
        units[512] = 1 << 31;
        change(&mut units);
        let mut blob = (units.len() as u32 * 4).to_le_bytes().to_vec();
        blob.extend(units.iter().flat_map(|unit| unit.to_le_bytes()));
        blob.extend(b"a\0");
        blob
    };
    vec![
        build(|_| {}),
        build(|units| units[512 ^ 0x42] = ((512 ^ 0x42 ^ 256) as u32) << 10 | 0x42),
        build(|units| units[256 ^ 0x43] = 0x43 | 1 << 9 | 0xFFFF << 10),
        build(|units| units[512] = 1 << 31 | 99),
    ]
}

fn encode() -> Vec<Vec<u8>> {
    numbered(&[
        samples::PROSE,
        "the cat sat on the mat",
        "a123 b, c. 東京",
        "▁the  the\u{a0}ab",
        "ab aab <0x0A>\n",
        "user the ab",
        "\u{301}\u{323}\u{301}x",
        "<s>Cat Cats</s>",
        "théab",
        "\u{1f408}\u{200d}\u{2b1b}",
        "abc the",
    ])
}

fn decode() -> Vec<Vec<u8>> {
    (0..11u8).map(|number| [number, 0, 1, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233].to_vec()).collect()
}
