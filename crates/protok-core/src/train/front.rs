//! From a text to numbers of words, and their counts.
//!
//! Where the matches of a pattern are the words, they are looked up some hundred at a time. Else a
//! text is cut at its joints: places where normalizer and pre-tokenizer say that they do not look
//! across and that a word ends. The words of a part between two are remembered by its bytes, if
//! these fit in a register; a new part takes the place of an old one. So a part that comes again and
//! again is normalized and cut once. Whether a text starts or ends with it belongs to what is
//! remembered.

use super::WordCounts;
use super::shorts::{self, Key};
use crate::error::Result;
use crate::normalize::{self, Normalizer};
use crate::pattern::{self, Matcher, Tiles};
use crate::pretokenize::{AtSeams, Beginning, PreTokenizer};
use crate::text::blocks::BLOCK;
use crate::text::seam::{STARTS, inks, starts};
use std::ops::Range;

/// So many parts are remembered at the most, and where memory is not used again.
const MOST_KNOWN: usize = 1 << 16;
const FEW_KNOWN: usize = 1 << 12;

/// The most words of one.
const WORDS: usize = 3;

/// The front half of a pipeline.
#[derive(Debug)]
pub(super) struct Front {
    normalizer: Normalizer,
    pre_tokenizer: PreTokenizer,
    /// For each of [`STARTS`], by the byte before it, whether it starts a part.
    joints: Option<[[bool; 128]; 2]>,
}

impl Front {
    pub(super) fn new(normalizer: Normalizer, pre_tokenizer: PreTokenizer) -> Self {
        let mut front = Self { normalizer, pre_tokenizer, joints: None };
        if front.tiling().is_none() {
            front.joints = front.find_joints();
        }
        front
    }

    /// The pattern whose matches in the text itself are the words.
    fn tiling(&self) -> Option<&Matcher> {
        self.pre_tokenizer.tiling().filter(|_| self.normalizer.is_identity())
    }

    fn find_joints(&self) -> Option<[[bool; 128]; 2]> {
        let mut joints = [[false; 128]; 2];
        for (after, start) in joints.iter_mut().zip(STARTS) {
            let Some((becomes, blank)) = self.normalizer.joints(start) else { continue };
            for ink in inks() {
                let at = becomes[ink as usize].and_then(|c| self.pre_tokenizer.at_joint(c, blank));
                after[ink as usize] = matches!(at, Some((AtSeams::Cuts, _)));
            }
        }
        joints.as_flattened().contains(&true).then_some(joints)
    }

    /// Calls `report` with each word of a part of a text.
    fn for_each_word(
        &self,
        part: &str,
        ends: normalize::Ends,
        report: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let (normalized, head) = if ends.start && self.pre_tokenizer.asks_for_head() {
            let (normalized, alignment) = self.normalizer.apply_with_alignment(part, ends)?;
            let head = alignment.head(&normalized, 0..normalized.len());
            (normalized, head)
        } else {
            (self.normalizer.apply_between(part, ends)?, 0)
        };
        let beginning = Beginning { head, goes_on: !ends.start };
        self.pre_tokenizer.for_each_piece(&normalized, beginning, report)
    }

    /// Appends the places where parts start from `at` on, while there is room, and returns where to
    /// go on.
    fn find_parts(
        joints: &[[bool; 128]; 2],
        text: &[u8],
        mut at: usize,
        ends: &mut pattern::Ends,
    ) -> usize {
        while at < text.len() && ends.has_room() {
            for (place, kind) in starts(text, at) {
                if joints[kind].get(usize::from(text[place - 1])) == Some(&true) {
                    ends.push(place);
                }
            }
            at += BLOCK;
        }
        at.min(text.len())
    }
}

/// A part, and the numbers of its words.
#[derive(Debug, Clone, Copy, Default)]
struct Known {
    /// Its bytes; in the last one its length, and which ends of a text it has.
    key: Key,
    words: [u32; WORDS],
    count: u32,
}

/// The parts that a tally remembers: numbers of its table, which must be the same the next time.
#[derive(Debug, Default)]
pub(super) struct Memory(Vec<Known>);

impl Memory {
    /// For a table that will be filled again and again, in about so many bytes at the most.
    pub(super) fn lasting(front: &Front, bytes: Option<usize>) -> Self {
        let most = bytes.map_or(MOST_KNOWN, |bytes| bytes / size_of::<Known>());
        Self::of(front, 1 << most.clamp(2, MOST_KNOWN).ilog2())
    }

    /// For a table that is filled once.
    pub(super) fn brief(front: &Front) -> Self {
        Self::of(front, FEW_KNOWN)
    }

    /// Where texts have no parts there is nothing to remember.
    fn of(front: &Front, places: usize) -> Self {
        let places = if front.joints.is_some() { places } else { 0 };
        Self(vec![Known::default(); places])
    }

    /// Forgets all, for another table.
    pub(super) fn clear(&mut self) {
        self.0.fill(Known::default());
    }
}

/// Counts words in a table.
#[derive(Debug)]
pub(super) struct Counting<'a> {
    front: &'a Front,
    table: &'a mut WordCounts,
    known: &'a mut [Known],
    /// Of some matches the keys, and where they stand.
    keys: Vec<(Option<Key>, Range<usize>)>,
    ends: pattern::Ends,
}

impl<'a> Counting<'a> {
    pub(super) fn new(front: &'a Front, table: &'a mut WordCounts, memory: &'a mut Memory) -> Self {
        let known = memory.0.as_mut_slice();
        Self { front, table, known, keys: Vec::new(), ends: pattern::Ends::default() }
    }

    /// Counts the words of a text so often.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Limit`] where a pattern reaches its bound, or for too many words.
    pub(super) fn count(&mut self, text: &str, times: u64) -> Result<()> {
        match (self.front.tiling(), &self.front.joints) {
            _ if times == 0 => Ok(()),
            (Some(matcher), _) => self.count_matches(matcher, text, times),
            (None, Some(joints)) => self.count_parts(joints, text, times),
            (None, None) => {
                let table = &mut self.table;
                let add = |word: &[u8]| table.add(word, times);
                self.front.for_each_word(text, normalize::Ends::BOTH, add)
            }
        }
    }

    fn count_matches(&mut self, matcher: &Matcher, text: &str, times: u64) -> Result<()> {
        let mut tiles = Tiles::new(matcher, text);
        let text = text.as_bytes();
        let mut start = 0;
        loop {
            tiles.next_ends(&mut self.ends)?;
            if self.ends.places().is_empty() {
                return Ok(());
            }
            // All places in the table are asked for before the first of them is waited for.
            self.keys.clear();
            for &end in self.ends.places() {
                let key = shorts::key(text, start, end);
                if let Some(key) = key {
                    self.table.prefetch(key);
                }
                self.keys.push((key, start..end));
                start = end;
            }
            for (key, place) in &self.keys {
                self.table.note_keyed(*key, &text[place.clone()], times)?;
            }
        }
    }

    fn count_parts(&mut self, joints: &[[bool; 128]; 2], text: &str, times: u64) -> Result<()> {
        let (mut start, mut at) = (0, 0);
        while at < text.len() {
            self.ends.clear();
            at = Front::find_parts(joints, text.as_bytes(), at, &mut self.ends);
            let last = (at == text.len()).then_some(at);
            let Self { front, table, known, ends, .. } = self;
            for end in ends.places().iter().copied().chain(last) {
                let at_ends = normalize::Ends { start: start == 0, end: end == text.len() };
                let class = u8::from(at_ends.start) | u8::from(at_ends.end) << 1;
                let found = shorts::key(text.as_bytes(), start, end);
                let part = &text[start..end];
                start = end;
                let Some(key) = found else {
                    front.for_each_word(part, at_ends, |word| table.add(word, times))?;
                    continue;
                };
                let key = key | u128::from(class) << 124;
                let slot = shorts::mix(key) >> (u64::BITS - known.len().ilog2());
                let known = &mut known[slot as usize];
                if known.key == key {
                    for &word in known.words.iter().take(known.count as usize) {
                        table.repeat(word, times);
                    }
                    continue;
                }
                let mut new = Known { key, ..Known::default() };
                front.for_each_word(part, at_ends, |word| {
                    let number = table.note(word, times)?;
                    if let Some(place) = new.words.get_mut(new.count as usize) {
                        *place = number;
                    }
                    new.count += 1;
                    Ok(())
                })?;
                if new.count as usize <= WORDS {
                    *known = new;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::formats::{self, Files};
    use crate::spec::Semantics;
    use proptest::prelude::*;

    const SENTENCEPIECE: &str = r#"{"type": "Sequence", "normalizers": [{"type": "NFKC"},
        {"type": "Replace", "pattern": {"Regex": "\\s+"}, "content": " "},
        {"type": "Strip", "strip_left": true, "strip_right": true}]}"#;
    const BERT: &str = r#"{"type": "BertNormalizer", "clean_text": true,
        "handle_chinese_chars": true, "strip_accents": null, "lowercase": true}"#;
    const LLAMA: &str = r#"{"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"},
        {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]}"#;

    fn metaspace(scheme: &str) -> String {
        format!(
            r#"{{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "{scheme}",
                "split": true}}"#
        )
    }

    fn fronts() -> Vec<Front> {
        let bytes = r#"{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true,
            "use_regex": true}"#;
        let plain = |kind: &str| format!(r#"{{"type": "{kind}"}}"#);
        [
            ("null", bytes.to_owned()),
            (SENTENCEPIECE, metaspace("always")),
            (SENTENCEPIECE, metaspace("first")),
            ("null", metaspace("never")),
            (BERT, plain("BertPreTokenizer")),
            ("null", plain("Whitespace")),
            (SENTENCEPIECE, plain("WhitespaceSplit")),
            (LLAMA, "null".to_owned()),
        ]
        .iter()
        .map(|(normalizer, pre_tokenizer)| {
            let json = format!(
                r#"{{"version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
                    "normalizer": {normalizer}, "pre_tokenizer": {pre_tokenizer},
                    "post_processor": null, "decoder": null,
                    "model": {{"type": "BPE", "vocab": {{}}, "merges": []}}}}"#
            );
            let mut files = Files::default();
            files.insert("tokenizer.json", json.as_bytes());
            let spec = formats::read(&files, &formats::Options::default()).unwrap().spec;
            let hugging_face = Semantics::HuggingFace;
            Front::new(
                Normalizer::compile(spec.normalizer.as_ref(), hugging_face).unwrap(),
                PreTokenizer::compile(spec.pre_tokenizer.as_ref(), hugging_face).unwrap(),
            )
        })
        .collect()
    }

    fn text() -> impl Strategy<Value = String> {
        let stretch = prop_oneof![
            6 => "[a-cA-C]{1,4}",
            1 => "[a-c]{14,20}",
            4 => Just(" ".to_owned()),
            2 => "[ \n\t]{1,4}",
            2 => "[.,'(-]{1,2}",
            1 => prop::sample::select(vec!["é", "e\u{301}", "ﬁ", "\u{a0}", "▁", "世界", "\u{3000}",
                "1", "'s", "\u{200d}"]).prop_map(str::to_owned),
        ];
        prop::collection::vec(stretch, 0..60).prop_map(|parts| parts.concat())
    }

    #[test]
    fn words_are_those_of_the_whole_text() {
        let fronts = fronts();
        assert_eq!(fronts.iter().filter(|front| front.tiling().is_some()).count(), 1);
        assert!(fronts.iter().filter(|front| front.joints.is_some()).count() >= 5);
        let config = ProptestConfig { cases: 400, failure_persistence: None, ..Default::default() };
        proptest!(config, |(texts in prop::collection::vec(text(), 1..6))| {
            for front in &fronts {
                let (mut quick, mut whole) = (WordCounts::new(), WordCounts::new());
                let mut memory = Memory::brief(front);
                let mut counting = Counting::new(front, &mut quick, &mut memory);
                for (text, times) in texts.iter().zip(1..) {
                    counting.count(text, times).unwrap();
                    let add = |word: &[u8]| whole.add(word, times);
                    front.for_each_word(text, normalize::Ends::BOTH, add).unwrap();
                }
                let (quick, whole): (Vec<_>, Vec<_>) =
                    (quick.iter().collect(), whole.iter().collect());
                prop_assert_eq!(quick, whole, "{:?}", texts);
            }
        });
    }
}
