//! The two paths through a pre-tokenizer say the same, for any sequence of steps.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use protok_core::normalize::{Ends, Normalizer};
use protok_core::pretokenize::{Beginning, PreTokenizer};
use protok_core::spec::{
    self, Normalizer as Normal, Pattern, PreTokenizer as Spec, PrependScheme, Semantics,
    SplitBehavior,
};
use protok_core::text::aligned::AlignedText;

fn behavior() -> impl Strategy<Value = SplitBehavior> {
    prop::sample::select(vec![
        SplitBehavior::Removed,
        SplitBehavior::Isolated,
        SplitBehavior::MergedWithPrevious,
        SplitBehavior::MergedWithNext,
        SplitBehavior::Contiguous,
    ])
}

fn split() -> impl Strategy<Value = Spec> {
    let pattern = prop::sample::select(vec![
        Pattern::String(" ".into()),
        Pattern::Regex(r"\s+".into()),
        Pattern::Regex(r"\p{L}+|\p{N}".into()),
        Pattern::Regex("Ġ?[a-z]+|.".into()),
    ]);
    (pattern, behavior(), any::<bool>()).prop_map(|(pattern, behavior, invert)| {
        Spec::Split(spec::Split { pattern, behavior, invert, semantics: Semantics::HuggingFace })
    })
}

fn metaspace() -> impl Strategy<Value = Spec> {
    let scheme = prop::sample::select(vec![
        PrependScheme::First,
        PrependScheme::Always,
        PrependScheme::Never,
    ]);
    (prop::sample::select(vec!['▁', '_', ' ']), scheme, any::<bool>()).prop_map(
        |(replacement, prepend_scheme, split)| {
            Spec::Metaspace(spec::Metaspace { replacement, prepend_scheme, split })
        },
    )
}

fn component() -> impl Strategy<Value = Spec> {
    prop_oneof![
        2 => (any::<bool>(), any::<bool>()).prop_map(|(add_prefix_space, use_regex)| {
            Spec::ByteLevel(spec::ByteLevel { add_prefix_space, trim_offsets: true, use_regex })
        }),
        2 => metaspace(),
        2 => split(),
        1 => any::<bool>().prop_map(|individual_digits| {
            Spec::Digits(spec::Digits { individual_digits })
        }),
        1 => behavior().prop_map(|behavior| Spec::Punctuation(spec::Punctuation { behavior })),
        1 => (1usize..4).prop_map(|length| Spec::FixedLength(spec::FixedLength { length })),
        2 => prop::sample::select(vec![
            Spec::Bert,
            Spec::Whitespace,
            Spec::WhitespaceSplit,
            Spec::UnicodeScripts,
            Spec::CharDelimiterSplit(spec::CharDelimiterSplit { delimiter: 'e' }),
        ]),
    ]
}

fn normalizer() -> impl Strategy<Value = Normal> {
    let strip = Normal::Strip(spec::StripNormalizer { strip_left: true, strip_right: true });
    let prepend = Normal::Prepend(spec::Prepend { prepend: "▁".into() });
    prop::sample::select(vec![
        Normal::Sequence(vec![]),
        strip.clone(),
        prepend.clone(),
        Normal::Nfkd,
        Normal::StripAccents,
        Normal::Nmt,
        Normal::ByteLevel,
        Normal::Bert(spec::BertNormalizer {
            clean_text: true,
            handle_chinese_chars: true,
            strip_accents: None,
            lowercase: true,
        }),
        Normal::Sequence(vec![strip, prepend]),
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]
    #[test]
    fn the_paths_agree(
        text in "([ae.,! \n\u{a0}世ひ가éﬁ▁_Ġ1\u{301}\u{200d}]|\\PC){0,12}",
        steps in prop::collection::vec(component(), 0..4),
        normalizer in normalizer(),
    ) {
        let normalizer = Normalizer::compile(Some(&normalizer), Semantics::HuggingFace).unwrap();
        let pre_tokenizer =
            PreTokenizer::compile(Some(&Spec::Sequence(steps)), Semantics::HuggingFace).unwrap();
        let (normalized, alignment) = normalizer.apply_with_alignment(&text, Ends::BOTH).unwrap();
        let head = Beginning::of_text(alignment.head(&normalized, 0..normalized.len()));

        let mut bytes = Vec::new();
        pre_tokenizer
            .for_each_piece(&normalized, head, |piece| {
                bytes.push(piece.to_vec());
                Ok(())
            })
            .unwrap();

        let mut placed = Vec::new();
        pre_tokenizer
            .for_each_placed_piece(&normalized, head, |piece, place| {
                let piece = std::str::from_utf8(piece).unwrap();
                placed.push((piece.to_owned(), spans(piece, |start, end| {
                    let (start, end) = place.span(start, end);
                    alignment.span(start..end)
                })));
                Ok(())
            })
            .unwrap();

        let mut aligned = AlignedText::new(&text, 0);
        normalizer.apply_aligned(&mut aligned, |_, _| {}).unwrap();
        let reference: Vec<(String, Vec<(usize, usize)>)> = pre_tokenizer
            .pieces_aligned(aligned)
            .unwrap()
            .iter()
            .map(|piece| {
                let spans = spans(piece.text(), |start, end| {
                    let (start, end) = piece.span(start..end);
                    (start as usize, end as usize)
                });
                (piece.text().to_owned(), spans)
            })
            .collect();

        let texts: Vec<&[u8]> = reference.iter().map(|piece| piece.0.as_bytes()).collect();
        prop_assert_eq!(&bytes, &texts);
        prop_assert_eq!(placed, reference);
    }
}

/// The spans of all stretches of whole characters.
fn spans(piece: &str, span: impl Fn(usize, usize) -> (usize, usize)) -> Vec<(usize, usize)> {
    let cuts: Vec<usize> = (0..=piece.len()).filter(|&at| piece.is_char_boundary(at)).collect();
    let mut spans = Vec::new();
    for (index, &start) in cuts.iter().enumerate() {
        spans.extend(cuts[index + 1..].iter().map(|&end| span(start, end)));
    }
    spans
}
