//! Specs with each kind of model through the whole pipeline: the fast path, its spans and the
//! reference path agree, and a control token comes out only where it was asked for.

#![allow(clippy::unwrap_used)]

use protok_core::added_tokens::SpecialPolicy;
use protok_core::pipeline::encode::EncodeOptions;
use protok_core::pipeline::{CompileOptions, Pipeline};
use protok_core::spec::{
    AddedToken, Bytes, Greedy, Model, Pattern, PreTokenizer, Semantics, SentencePieceBpe,
    SentencePieceWord, Spec, Split, SplitBehavior, TokenList, Unigram, WordLevel, WordPiece,
    WordUnit,
};

const TOKENS: [&str; 9] = ["<unk>", "</s>", "a", "b", "ab", "##b", "<", "/s>", "##</s>"];

fn vocab() -> TokenList {
    let mut list = TokenList::default();
    for (token, id) in TOKENS.iter().zip(0..) {
        list.push(token.as_bytes(), id).unwrap();
    }
    for byte in 0..=255u8 {
        if !b"ab<".contains(&byte) {
            list.push(&[byte], 9 + u32::from(byte)).unwrap();
        }
    }
    list
}

fn models() -> Vec<Model> {
    let text = || {
        let mut list = TokenList::default();
        for (token, id) in TOKENS.iter().zip(0..) {
            list.push(token.as_bytes(), id).unwrap();
        }
        list
    };
    let scores: Vec<f64> = (0..TOKENS.len()).map(|place| -(place as f64)).collect();
    vec![
        Model::WordPiece(WordPiece {
            vocab: text(),
            unk_token: "<unk>".into(),
            continuing_subword_prefix: "##".into(),
            max_input_chars_per_word: 100,
        }),
        Model::WordLevel(WordLevel { vocab: text(), unk_token: "<unk>".into() }),
        Model::Unigram(Unigram {
            vocab: text(),
            scores: scores.clone(),
            kinds: vec![],
            unk_id: Some(0),
            byte_fallback: false,
        }),
        Model::SentencePieceBpe(SentencePieceBpe {
            vocab: text(),
            scores: scores.clone(),
            kinds: vec![],
            unk_id: Some(0),
            byte_fallback: false,
        }),
        Model::SentencePieceWord(SentencePieceWord {
            vocab: text(),
            scores: scores.clone(),
            kinds: vec![],
            unit: WordUnit::Word,
            unk_id: Some(0),
            byte_fallback: false,
        }),
        Model::Greedy(Greedy { vocab: vocab() }),
        Model::Bytes(Bytes { vocab: TokenList::default(), offset: 9 }),
    ]
}

fn pipeline(model: Model, semantics: Semantics) -> Pipeline {
    let spec = Spec {
        semantics,
        normalizer: None,
        pre_tokenizer: Some(PreTokenizer::Split(Split {
            pattern: Pattern::String(" ".into()),
            behavior: SplitBehavior::Removed,
            invert: false,
            semantics: Semantics::HuggingFace,
        })),
        model,
        post_processor: None,
        decoder: None,
        added_tokens: vec![AddedToken {
            id: 1,
            content: "</s>".into(),
            single_word: false,
            lstrip: false,
            rstrip: false,
            normalized: false,
            special: true,
        }],
        truncation: None,
        padding: None,
    };
    Pipeline::compile(spec, &CompileOptions::default()).unwrap()
}

#[test]
fn the_paths_agree_and_control_tokens_stay_out() {
    for model in models() {
        for semantics in [Semantics::HuggingFace, Semantics::SentencePiece] {
            let pipeline = pipeline(model.clone(), semantics);
            // In turns, so that what one policy remembers could reach the other.
            for special in [SpecialPolicy::Text, SpecialPolicy::Parse, SpecialPolicy::Text] {
                for text in ["", "ab", "ab a</s> </s> abb", "</s></s>", "b</s>b x"] {
                    let options = EncodeOptions { special: special.clone(), ..Default::default() };
                    let mut ids = Vec::new();
                    pipeline.encode_text(text, &options, &mut ids).unwrap();
                    let spans = pipeline.spans(text.as_bytes(), &options).unwrap();
                    let reference = pipeline.encode_reference(text, &special, &mut ()).unwrap();
                    let of_spans: Vec<(u32, usize, usize)> = spans
                        .tokens
                        .iter()
                        .map(|token| (token.id, token.original.0, token.original.1))
                        .collect();
                    let of_reference: Vec<(u32, usize, usize)> = reference
                        .iter()
                        .map(|token| (token.id, token.start as usize, token.end as usize))
                        .collect();
                    assert_eq!(of_spans, of_reference, "{text:?} {model:?}");
                    let of_spans: Vec<u32> = of_spans.iter().map(|token| token.0).collect();
                    assert_eq!(ids, of_spans, "{text:?} {model:?}");
                    let parsed = special == SpecialPolicy::Parse && text.contains("</s>");
                    assert_eq!(ids.contains(&1), parsed, "{text:?} {model:?}");
                }
            }
        }
    }
}
