//! Steps one after the other, and what they make of tokens that come again.
//!
//! Most chains read one token at a time until they join all of them: what becomes of a token then
//! depends on nothing but whether another stands before it. It is kept by id, where it is short.

use std::sync::OnceLock;

use crate::error::Result;
use crate::text::edits::check_growth;

use super::Errors;
use super::local::Locals;
use super::steps::Step;

/// A chain of steps.
#[derive(Debug)]
pub(super) struct Chain {
    steps: Vec<Step>,
    /// Those that read one token at a time and come first, and how many they are.
    locals: Option<(Locals, usize)>,
    /// By id, once any was decoded.
    kept: OnceLock<Box<[OnceLock<Kept>]>>,
}

/// What becomes of a token in mid-text.
#[derive(Debug, Clone, Copy)]
struct Kept {
    length: u8,
    bytes: [u8; Kept::ROOM],
}

impl Kept {
    const ROOM: usize = 19;
    /// The length of what does not fit.
    const LONG: u8 = u8::MAX;

    fn new(token: &[u8]) -> Self {
        let mut kept = Self { length: Self::LONG, bytes: [0; Self::ROOM] };
        if let Some(room) = kept.bytes.get_mut(..token.len()) {
            room.copy_from_slice(token);
            kept.length = token.len() as u8;
        }
        kept
    }

    #[inline]
    fn bytes(&self) -> Option<&[u8]> {
        self.bytes.get(..usize::from(self.length))
    }
}

impl Chain {
    pub fn new(steps: Vec<Step>) -> Self {
        Self { locals: Locals::of(&steps), steps, kept: OnceLock::new() }
    }

    /// The steps that read one token at a time and come first, and how many they are.
    pub fn locals(&self) -> Option<&(Locals, usize)> {
        self.locals.as_ref()
    }

    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The bytes that tokens decode to, by all steps over all tokens.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Limit`] where they grow without measure.
    pub fn run(&self, mut tokens: Vec<Vec<u8>>, errors: Errors) -> Result<Vec<u8>> {
        let length = |tokens: &[Vec<u8>]| tokens.iter().map(Vec::len).sum::<usize>();
        // A blank may come before each token.
        let original = length(&tokens) + tokens.len();
        for step in &self.steps {
            tokens = step.run(tokens, errors, original)?;
            check_growth(original, length(&tokens))?;
        }
        Ok(tokens.concat())
    }

    /// The same for the tokens with these ids, if their bytes can be put together one by one.
    /// `spelled` has the token of an id, and there are ids below `size`, which is asked for once.
    pub fn run_apart<'v>(
        &self,
        ids: impl Iterator<Item = u32>,
        errors: Errors,
        size: impl FnOnce() -> usize,
        spelled: impl Fn(u32) -> Option<&'v [u8]>,
    ) -> Option<Vec<u8>> {
        // By the reference's rule a byte says what becomes of those before it.
        let (locals, taken) = self.locals.as_ref().filter(|_| errors != Errors::Reference)?;
        let joined = &self.steps[*taken..];
        if !joined.iter().all(|step| matches!(step, Step::Strip { .. } | Step::Fuse)) {
            return None;
        }
        let kept = self.kept.get_or_init(|| (0..size()).map(|_| OnceLock::new()).collect());
        let mut bytes = Vec::with_capacity(5 * ids.size_hint().1.unwrap_or(0));
        let (mut token, mut spare) = (Vec::new(), Vec::new());
        let mut count = 0;
        for id in ids {
            count += 1;
            // How much a text may grow is a matter of all its tokens together.
            check_growth(count, bytes.len()).ok()?;
            let place = kept.get(id as usize)?;
            if count > 1
                && let Some(known) = place.get().and_then(Kept::bytes)
            {
                bytes.extend_from_slice(known);
                continue;
            }
            token.clear();
            let spelled = spelled(id)?;
            let original = spelled.len() + 1;
            locals.read(spelled, count == 1, original, (&mut token, &mut spare)).ok()?;
            bytes.extend_from_slice(&token);
            if count > 1 {
                // Another thread may have been first: it kept the same.
                let _ = place.set(Kept::new(&token));
            }
        }
        check_growth(count, bytes.len()).ok()?;
        let mut tokens = vec![bytes];
        for step in joined {
            tokens = step.run(tokens, errors, count).ok()?;
        }
        tokens.pop()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::spec::Semantics;
    use proptest::prelude::*;

    const CHAINS: [&str; 8] = [
        r#"{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true}"#,
        r#"{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "never", "split": true}"#,
        r###"{"type": "WordPiece", "prefix": "##", "cleanup": true}"###,
        r#"{"type": "Sequence", "decoders": [
            {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"},
            {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]}"#,
        r#"{"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"},
            {"type": "Strip", "content": "a", "start": 2, "stop": 1}]}"#,
        r#"{"type": "Sequence", "decoders": [
            {"type": "Strip", "content": "a", "start": 1, "stop": 1},
            {"type": "Replace", "pattern": {"Regex": "^b|.$"}, "content": "abcdefgh"}]}"#,
        r#"{"type": "Sequence", "decoders": [{"type": "ByteFallback"},
            {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": true}]}"#,
        r#"{"type": "CTC", "pad_token": "a", "word_delimiter_token": "▁", "cleanup": true}"#,
    ];
    const TOKENS: [&[u8]; 16] = [
        b"a",
        b"b",
        b"",
        "▁".as_bytes(),
        "▁a".as_bytes(),
        "▁▁b".as_bytes(),
        b"##a",
        b"##",
        b" a",
        b"<0x41>",
        b"<0xC3>",
        b"<0xA9>",
        b"\xFF",
        b"ab\xC3",
        "é".as_bytes(),
        b"a long token that is not kept",
    ];

    fn decoder(component: &str) -> crate::spec::Decoder {
        let json = format!(
            r#"{{"version": "1.0", "added_tokens": [], "normalizer": null, "pre_tokenizer": null,
            "post_processor": null, "decoder": {component},
            "model": {{"type": "WordLevel", "vocab": {{"a": 0}}, "unk_token": "a"}}}}"#
        );
        let mut files = crate::formats::Files::default();
        files.insert("tokenizer.json", json.as_bytes());
        let read = crate::formats::read(&files, &crate::formats::Options::default()).unwrap();
        read.spec.decoder.unwrap()
    }

    proptest! {
        #[test]
        fn one_by_one_is_all_together(
            place in 0..CHAINS.len(),
            ids in prop::collection::vec(0u32..16, 0..24),
        ) {
            let spec = decoder(CHAINS[place]);
            let mut steps = Vec::new();
            super::super::steps::add_steps(&spec, Semantics::HuggingFace, &mut steps).unwrap();
            let chain = Chain::new(steps);
            let spelled = |id: u32| TOKENS.get(id as usize).copied();
            let tokens = || ids.iter().map(|&id| TOKENS[id as usize].to_vec()).collect();
            for errors in [Errors::Replace, Errors::Strict, Errors::Reference] {
                let expected = chain.run(tokens(), errors).unwrap();
                for _ in 0..2 {
                    let found = chain.run_apart(ids.iter().copied(), errors, || 16, spelled);
                    prop_assert!(found.is_none_or(|found| found == expected));
                }
            }
            let known = chain.run_apart(ids.iter().copied(), Errors::Replace, || 16, spelled);
            prop_assert_eq!(known.is_some(), place < 5);
        }
    }
}
