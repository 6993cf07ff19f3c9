//! SentencePiece's character map: a trie of strings to replace, compiled into the model file.
//!
//! The blob is the size of the trie in bytes (u32, little-endian), the trie as a double array of
//! u32 units (Yata, Aoe et al.; the layout of Susumu Yata's darts-clone), then the replacements,
//! each closed by a NUL. A value of the trie is where its replacement starts.
//!
//! The two implementations read the text differently. SentencePiece replaces the longest match at
//! each position. `tokenizers` goes through grapheme clusters: one of fewer than six bytes is
//! replaced *whole* by what its *shortest* matching prefix stands for (a decomposed Vietnamese
//! letter loses its marks); in any other, each character is taken by itself.
//!
//! The blob is untrusted: it is checked once when it is compiled, and no look-up leaves the array.

use std::sync::OnceLock;

use base64::Engine as _;
use unicode_segmentation::UnicodeSegmentation;

use crate::error::{Error, Result};
use crate::spec::Semantics;
use crate::text::edits::Edits;

/// Keys longer than this many bytes are refused: a look-up at each place may read so far.
const MAX_KEY: usize = 1024;

/// No unit of the trie.
const NONE: u32 = u32::MAX;

/// A compiled character map.
#[derive(Debug)]
pub(super) struct Charsmap {
    units: Vec<u32>,
    replacements: String,
    /// What the trie says of each single ASCII character.
    ascii: Vec<Option<(usize, usize)>>,
    longest: bool,
    facts: OnceLock<Facts>,
}

/// The characters that form a cluster with what follows them (`Grapheme_Cluster_Break=Prepend` of
/// Unicode's GraphemeBreakProperty.txt).
const PREPENDED: [(char, char); 15] = [
    ('\u{600}', '\u{605}'),
    ('\u{6dd}', '\u{6dd}'),
    ('\u{70f}', '\u{70f}'),
    ('\u{890}', '\u{891}'),
    ('\u{8e2}', '\u{8e2}'),
    ('\u{d4e}', '\u{d4e}'),
    ('\u{110bd}', '\u{110bd}'),
    ('\u{110cd}', '\u{110cd}'),
    ('\u{111c2}', '\u{111c3}'),
    ('\u{113d1}', '\u{113d1}'),
    ('\u{1193f}', '\u{11941}'),
    ('\u{11a3a}', '\u{11a3a}'),
    ('\u{11a84}', '\u{11a89}'),
    ('\u{11d46}', '\u{11d46}'),
    ('\u{11f02}', '\u{11f02}'),
];

/// What is known of all keys.
#[derive(Debug, Default)]
struct Facts {
    /// A blank or a newline follows a graphic ASCII character in one.
    over_ink: bool,
    /// A blank or a newline follows a character beyond ASCII in one.
    over_wide: bool,
    /// One of several characters is replaced by nothing, or by what ends in a blank.
    joins_to_nothing: bool,
    /// One of several characters starts with a blank or a newline.
    from_blank: bool,
    /// One is a character that what follows belongs to, as one cluster.
    prepended: bool,
}

/// A unit of the double array.
#[derive(Clone, Copy)]
struct Unit(u32);

impl Unit {
    fn is_value(self) -> bool {
        self.0 >> 31 == 1
    }

    fn has_leaf(self) -> bool {
        self.0 >> 8 & 1 == 1
    }

    fn label(self) -> u32 {
        self.0 & (1 << 31 | 0xFF)
    }

    fn offset(self) -> usize {
        ((self.0 >> 10) as usize) << ((self.0 & 1 << 9) >> 6)
    }

    fn value(self) -> usize {
        (self.0 & (u32::MAX >> 1)) as usize
    }
}

impl Charsmap {
    /// Reads a map as stored, in base64.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Artifact`] if the blob is not a character map.
    pub(super) fn compile(encoded: &str, semantics: Semantics) -> Result<Self> {
        let bad = |what: String| Error::artifact("precompiled_charsmap", what);
        let blob = base64::engine::general_purpose::STANDARD
            .decode(encoded)
            .map_err(|error| bad(format!("The character map is not base64: {error}.")))?;
        let Some((size, rest)) = blob.split_first_chunk::<4>() else {
            return Err(bad("The character map ends before the size of its trie.".to_owned()));
        };
        let size = u32::from_le_bytes(*size) as usize;
        if size < 4 || !size.is_multiple_of(4) || size > rest.len() {
            return Err(bad(format!(
                "The character map says that its trie has {size} bytes, of {} that follow.",
                rest.len()
            )));
        }
        let (trie, replacements) = rest.split_at(size);
        let (chunks, _) = trie.as_chunks::<4>();
        let units: Vec<u32> = chunks.iter().map(|chunk| u32::from_le_bytes(*chunk)).collect();
        let replacements = String::from_utf8(replacements.to_vec())
            .map_err(|_| bad("A replacement of the character map is not UTF-8.".to_owned()))?;
        let longest = semantics == Semantics::SentencePiece;
        let facts = OnceLock::new();
        let mut map = Self { units, replacements, ascii: Vec::new(), longest, facts };
        map.check()?;
        map.ascii = (0..128u8).map(|byte| map.shortest(&[byte])).collect();
        Ok(map)
    }

    /// Checks that every value of the trie is in the array and starts a replacement.
    fn check(&self) -> Result<()> {
        for (at, unit) in self.units.iter().map(|&unit| Unit(unit)).enumerate() {
            if unit.is_value() || !unit.has_leaf() {
                continue;
            }
            let value = self.units.get(at ^ unit.offset()).map(|&leaf| Unit(leaf).value());
            if !value.is_some_and(|value| self.replacements.is_char_boundary(value)) {
                return Err(Error::artifact(
                    "precompiled_charsmap",
                    format!("Unit {at} of the character map's trie leads outside of the map."),
                ));
            }
        }
        let bad = |what: &str| {
            Err(Error::artifact("precompiled_charsmap", what)
                .hint("Copy the character map again from the SentencePiece model."))
        };
        match self.longest_key() {
            None => bad("The character map's trie leads back into itself."),
            Some(longest) if longest > MAX_KEY => {
                bad("The character map has a key that is too long.")
            }
            Some(_) => Ok(()),
        }
    }

    /// The children of each base, as lists: the first child of a base, and the next after a child.
    ///
    /// The children of a node share a base, and a child names the byte that leads to it, so every
    /// unit is the child of one base.
    fn children(&self) -> (Vec<u32>, Vec<u32>) {
        let mut first = vec![NONE; self.units.len().next_multiple_of(256)];
        let mut next = vec![NONE; self.units.len()];
        for (at, unit) in self.units.iter().map(|&unit| Unit(unit)).enumerate() {
            if !unit.is_value() && unit.label() != 0 {
                let base = &mut first[at ^ unit.label() as usize];
                next[at] = std::mem::replace(base, at as u32);
            }
        }
        (first, next)
    }

    /// The bytes of the longest key; none if the trie goes round in circles. From the root's base on,
    /// each base is walked once.
    fn longest_key(&self) -> Option<usize> {
        const OPEN: u32 = u32::MAX;
        let bases = self.units.len().next_multiple_of(256);
        let (first, next) = self.children();
        // The longest way from each base, counted from 1; 0 for one not seen yet.
        let mut ways = vec![0u32; bases];
        let child = |base: usize| first.get(base).copied().unwrap_or(NONE);
        let root = Unit(*self.units.first()?).offset();
        let mut stack = vec![(root, child(root), 0u32)];
        let mut longest = 0;
        while let Some((base, unit, way)) = stack.last_mut() {
            let Some(&after) = next.get(*unit as usize) else {
                longest = *way;
                if let Some(known) = ways.get_mut(*base) {
                    *known = longest + 1;
                }
                stack.pop();
                if let Some((.., way)) = stack.last_mut() {
                    *way = (*way).max(longest + 1);
                }
                continue;
            };
            let target = *unit as usize ^ Unit(self.units[*unit as usize]).offset();
            *unit = after;
            match ways.get(target).copied().unwrap_or(1) {
                OPEN => return None,
                0 => {
                    ways[target] = OPEN;
                    stack.push((target, child(target), 0));
                }
                known => *way = (*way).max(known),
            }
        }
        Some(longest as usize)
    }

    /// Whether no key reaches over a blank or a newline behind a graphic ASCII character, or makes
    /// what stands before one end in a blank or be gone; and a blank or a newline becomes the same,
    /// whatever comes behind it.
    pub(super) fn keeps_joints(&self) -> bool {
        let Facts { over_ink, joins_to_nothing, from_blank, prepended, .. } = *self.facts();
        !(over_ink || joins_to_nothing || from_blank || (prepended && self.takes_clusters()))
    }

    /// Whether a cluster may be replaced as a whole by what stands for its start.
    pub(super) fn takes_clusters(&self) -> bool {
        !self.longest
    }

    /// Whether a key may reach over a blank or a newline behind a character beyond ASCII.
    pub(super) fn crosses_wide(&self) -> bool {
        self.facts().over_wide
    }

    fn facts(&self) -> &Facts {
        self.facts.get_or_init(|| self.find_facts())
    }

    /// Walks all keys. What is known of the way to a place in one is a number: what kind of byte
    /// was read last, and whether no character was begun, one, or several.
    fn find_facts(&self) -> Facts {
        const KINDS: usize = 3;
        let prepended = PREPENDED.iter().any(|&(from, to)| {
            (from..=to).any(|c| self.shortest(c.encode_utf8(&mut [0; 4]).as_bytes()).is_some())
        });
        let mut facts = Facts { prepended, ..Facts::default() };
        let (first, next) = self.children();
        let Some(&root) = self.units.first() else { return facts };
        let mut seen = vec![0_u16; first.len()];
        let start = Unit(root).offset();
        for blank in [b' ', b'\n'] {
            // A child of the root that has children is the start of longer keys.
            let child = start ^ usize::from(blank);
            let Some(unit) = self.units.get(child).map(|&unit| Unit(unit)) else { continue };
            let base = child ^ unit.offset();
            let goes_on = first.get(base).is_some_and(|&child| child != NONE);
            facts.from_blank |= unit.label() == u32::from(blank) && goes_on;
        }
        let mut open = vec![(start, 0)];
        while let Some((base, way)) = open.pop() {
            match seen.get_mut(base) {
                Some(seen) if *seen >> way & 1 == 0 => *seen |= 1 << way,
                _ => continue,
            }
            let (last, chars) = (way % KINDS, way / KINDS);
            let mut child = first[base];
            while child != NONE {
                let unit = Unit(self.units[child as usize]);
                let byte = unit.label() as u8;
                if matches!(byte, b' ' | b'\n') {
                    facts.over_wide |= last == 1;
                    facts.over_ink |= last == 2;
                }
                let kind = match byte {
                    0x80.. => 1,
                    _ if byte.is_ascii_graphic() => 2,
                    _ => 0,
                };
                let chars = (chars + usize::from(byte & 0xC0 != 0x80)).min(2);
                let target = child as usize ^ unit.offset();
                if unit.has_leaf() && chars == 2 {
                    let value = self.units.get(target).map_or(0, |&leaf| Unit(leaf).value());
                    let (start, end) = self.replacement(value);
                    let new = &self.replacements[start..end];
                    facts.joins_to_nothing |= new.is_empty() || new.ends_with(' ');
                }
                open.push((target, chars * KINDS + kind));
                child = next[child as usize];
            }
        }
        facts
    }

    /// Calls `found` with the length of each key that starts `key`, shortest first, and where its
    /// replacement starts, until it returns false.
    fn prefixes(&self, key: &[u8], mut found: impl FnMut(usize, usize) -> bool) {
        let Some(&root) = self.units.first() else { return };
        let mut node = Unit(root).offset();
        for (at, &byte) in key.iter().enumerate() {
            if byte == 0 {
                return;
            }
            node ^= usize::from(byte);
            let Some(unit) = self.units.get(node).map(|&unit| Unit(unit)) else { return };
            if unit.label() != u32::from(byte) {
                return;
            }
            node ^= unit.offset();
            if unit.has_leaf() {
                let value = self.units.get(node).map_or(0, |&leaf| Unit(leaf).value());
                if !found(at + 1, value) {
                    return;
                }
            }
        }
    }

    /// The replacement that starts at `start`.
    fn replacement(&self, start: usize) -> (usize, usize) {
        let rest = self.replacements.as_bytes().get(start..).unwrap_or(&[]);
        (start, start + memchr::memchr(0, rest).unwrap_or(rest.len()))
    }

    /// What the shortest key that starts `key` is replaced by.
    fn shortest(&self, key: &[u8]) -> Option<(usize, usize)> {
        let mut result = None;
        self.prefixes(key, |_, value| {
            result = Some(self.replacement(value));
            false
        });
        result
    }

    pub(super) fn edits(&self, text: &str, edits: &mut Edits) {
        if self.longest {
            self.replace_longest(text, edits);
        } else {
            self.replace_graphemes(text, edits);
        }
    }

    /// The longest key that starts `text`: its length and what it is replaced by.
    pub(super) fn longest(&self, text: &str) -> Option<(usize, &str)> {
        let mut longest = None;
        self.prefixes(text.as_bytes(), |length, value| {
            longest = Some((length, value));
            true
        });
        let (length, value) = longest.filter(|&(length, _)| text.is_char_boundary(length))?;
        let (start, end) = self.replacement(value);
        Some((length, self.replacements.get(start..end).unwrap_or("")))
    }

    fn replace_longest(&self, text: &str, edits: &mut Edits) {
        let mut at = 0;
        while let Some(c) = text[at..].chars().next() {
            match self.longest(&text[at..]) {
                Some((length, new)) => {
                    if text[at..at + length] != *new {
                        edits.replace(at, at + length, new);
                    }
                    at += length;
                }
                None => at += c.len_utf8(),
            }
        }
    }

    /// Between two ASCII characters there is always a boundary of clusters, except within CR LF.
    /// So only the stretches around other characters need to be cut into clusters.
    fn replace_graphemes(&self, text: &str, edits: &mut Edits) {
        let bytes = text.as_bytes();
        let is_cut = |at: usize| {
            at == bytes.len()
                || bytes[at - 1].is_ascii()
                    && bytes[at].is_ascii()
                    && !(bytes[at - 1] == b'\r' && bytes[at] == b'\n')
        };
        let mut at = 0;
        while at < bytes.len() {
            let mut end = at + 1;
            while !is_cut(end) {
                end += 1;
            }
            if end == at + 1 && bytes[at].is_ascii() {
                if let Some(new) = self.ascii[usize::from(bytes[at])] {
                    self.replace(text, at, end, new, edits);
                }
            } else {
                for (start, grapheme) in text[at..end].grapheme_indices(true) {
                    self.replace_grapheme(text, at + start, grapheme, edits);
                }
            }
            at = end;
        }
    }

    fn replace_grapheme(&self, text: &str, start: usize, grapheme: &str, edits: &mut Edits) {
        if grapheme.len() < 6
            && let Some(new) = self.shortest(grapheme.as_bytes())
        {
            return self.replace(text, start, start + grapheme.len(), new, edits);
        }
        for (at, c) in grapheme.char_indices() {
            let end = at + c.len_utf8();
            if let Some(new) = self.shortest(&grapheme.as_bytes()[at..end]) {
                self.replace(text, start + at, start + end, new, edits);
            }
        }
    }

    fn replace(
        &self,
        text: &str,
        start: usize,
        end: usize,
        new: (usize, usize),
        edits: &mut Edits,
    ) {
        let new = self.replacements.get(new.0..new.1).unwrap_or("");
        if text[start..end] != *new {
            edits.replace(start, end, new);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// The map of a few keys, each byte of which leads to a block of 256 units of its own.
    fn map(entries: &[(&str, &str)], semantics: Semantics) -> Charsmap {
        let mut units = vec![0u32; 256];
        let mut replacements = Vec::new();
        // The base of each prefix that some key has.
        let mut bases = vec![(Vec::new(), 256usize)];
        units.resize(512, 0);
        units[0] = 256 << 10;
        for (key, value) in entries {
            for end in 1..=key.len() {
                let prefix = key.as_bytes()[..end].to_vec();
                if bases.iter().any(|(known, _)| *known == prefix) {
                    continue;
                }
                let parent = bases.iter().find(|(known, _)| *known == prefix[..end - 1]).unwrap().1;
                let base = units.len();
                units.resize(base + 256, 0);
                let at = parent ^ usize::from(prefix[end - 1]);
                units[at] = ((at ^ base) as u32) << 10 | u32::from(prefix[end - 1]);
                bases.push((prefix, base));
            }
            let base = bases.iter().find(|(known, _)| known == key.as_bytes()).unwrap().1;
            let parent = bases
                .iter()
                .find(|(known, _)| *known == key.as_bytes()[..key.len() - 1])
                .unwrap()
                .1;
            units[parent ^ usize::from(*key.as_bytes().last().unwrap())] |= 1 << 8;
            units[base] = 1 << 31 | replacements.len() as u32;
            replacements.extend_from_slice(value.as_bytes());
            replacements.push(0);
        }
        let mut blob = (units.len() as u32 * 4).to_le_bytes().to_vec();
        blob.extend(units.iter().flat_map(|unit| unit.to_le_bytes()));
        blob.extend(replacements);
        Charsmap::compile(&base64::engine::general_purpose::STANDARD.encode(blob), semantics)
            .unwrap()
    }

    fn run(map: &Charsmap, text: &str) -> String {
        let mut edits = Edits::default();
        map.edits(text, &mut edits);
        edits.apply(text)
    }

    const ENTRIES: &[(&str, &str)] =
        &[("e\u{301}", "é"), ("e", "E"), ("ﬁ", "fi"), ("\t", " "), ("x\u{301}", "y"), ("z", "")];

    #[test]
    fn the_longest_match_or_the_shortest_of_a_cluster() {
        let spm = map(ENTRIES, Semantics::SentencePiece);
        let hf = map(ENTRIES, Semantics::HuggingFace);
        for (text, longest, clusters) in [
            ("ae\u{301}b", "aéb", "aEb"),
            ("ﬁ\tz", "fi ", "fi "),
            ("x\u{301}", "y", "y"),
            ("e\u{301}\u{301}\u{301}", "é\u{301}\u{301}", "E\u{301}\u{301}\u{301}"),
            ("\r\ne", "\r\nE", "\r\nE"),
            ("e\u{0}", "E\u{0}", "E\u{0}"),
            ("", "", ""),
        ] {
            assert_eq!(run(&spm, text), longest, "{text:?}");
            assert_eq!(run(&hf, text), clusters, "{text:?}");
        }
    }

    #[test]
    fn a_trie_that_leads_back_or_on_for_ever_is_refused() {
        let blob = |units: &[u32]| {
            let mut blob = (units.len() as u32 * 4).to_le_bytes().to_vec();
            blob.extend(units.iter().flat_map(|unit| unit.to_le_bytes()));
            base64::engine::general_purpose::STANDARD.encode(blob)
        };
        let refused = |units: &[u32]| {
            let error = Charsmap::compile(&blob(units), Semantics::SentencePiece).unwrap_err();
            error.to_string()
        };
        // The child for `a` has its parent's base.
        let mut units = vec![0u32; 256];
        units[usize::from(b'a')] = u32::from(b'a') << 10 | u32::from(b'a');
        assert!(refused(&units).contains("back into itself"));
        // Two bases that lead to one another.
        let mut units = vec![0u32; 512];
        units[usize::from(b'a')] = (0x100 ^ u32::from(b'a')) << 10 | u32::from(b'a');
        units[256 ^ usize::from(b'b')] = (0x100 ^ u32::from(b'b')) << 10 | u32::from(b'b');
        assert!(refused(&units).contains("back into itself"));
        // A chain of 1100 bases.
        let mut units = vec![0u32; 1101 * 256];
        for depth in 0..1100u32 {
            let at = (depth * 256) ^ u32::from(b'a');
            units[at as usize] = (at ^ ((depth + 1) * 256)) << 10 | u32::from(b'a');
        }
        assert!(refused(&units).contains("too long"));
    }

    #[test]
    fn a_bad_blob_is_refused() {
        let encode = |blob: &[u8]| base64::engine::general_purpose::STANDARD.encode(blob);
        for encoded in [
            "*".to_owned(),
            String::new(),
            encode(&[8, 0, 0, 0, 1]),
            encode(&[0, 0, 0, 0]),
            encode(&[3, 0, 0, 0, 1, 1, 1]),
            // A leaf outside of the array, and a value outside of the replacements.
            encode(&[4, 0, 0, 0, 0, 5, 0, 0]),
            encode(&[8, 0, 0, 0, 0, 5, 0, 0, 9, 0, 0, 128, b'a', 0]),
            encode(&[4, 0, 0, 0, 0, 0, 0, 0, 0xFF]),
        ] {
            let error = Charsmap::compile(&encoded, Semantics::HuggingFace).unwrap_err();
            assert_eq!(error.kind, crate::ErrorKind::Artifact);
        }
    }

    #[test]
    fn what_looks_across_a_joint() {
        use Semantics::{HuggingFace, SentencePiece};
        let keeps = |entries: &[(&str, &str)], semantics| map(entries, semantics).keeps_joints();
        for (entries, hugging_face, sentencepiece) in [
            (&[("A", "a"), ("\n", " "), ("\u{3000}", " ")][..], true, true),
            (&[("e\u{301}", "é")], true, true),
            (&[("x y", "z")], false, false),
            (&[(".\n", ".")], false, false),
            (&[("é ", "e")], true, true),
            (&[("ab", "")], false, false),
            (&[("ab", "x ")], false, false),
            (&[(" a", "b")], false, false),
            (&[("\u{600}", "")], false, true),
        ] {
            assert_eq!(keeps(entries, HuggingFace), hugging_face, "{entries:?}");
            assert_eq!(keeps(entries, SentencePiece), sentencepiece, "{entries:?}");
        }
        assert!(map(&[("é ", "e")], HuggingFace).crosses_wide());
        assert!(!map(&[("e\u{301}", "é")], HuggingFace).crosses_wide());
    }

    #[test]
    fn what_follows_belongs_to() {
        let listed = |c: char| PREPENDED.iter().any(|&(from, to)| (from..=to).contains(&c));
        for c in ('\0'..=char::MAX).filter(|&c| c != '\u{200d}') {
            let clusters = format!("{c}a").graphemes(true).count();
            assert!(clusters == 2 || listed(c), "{c:?}");
        }
    }
}
