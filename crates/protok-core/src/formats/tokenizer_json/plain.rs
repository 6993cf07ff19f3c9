//! Vocabularies and merges in the form that all files have, read without a step per character
//! that a general reader of JSON takes. Whatever is otherwise, or wrong, is none here and left to
//! the general reader, which also explains it.

use super::vocab::{Index, Joiner, split_merge};
use crate::spec::TokenList;

/// A place in a JSON text.
struct Reader<'a> {
    text: &'a str,
    at: usize,
    /// A string that is written with escapes, as it reads.
    unescaped: [String; 2],
}

impl<'a> Reader<'a> {
    fn new(text: &'a str) -> Self {
        Self { text, at: 0, unescaped: Default::default() }
    }

    /// The next byte that is no white space.
    #[inline]
    fn peek(&mut self) -> Option<u8> {
        loop {
            let byte = *self.text.as_bytes().get(self.at)?;
            if !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
                return Some(byte);
            }
            self.at += 1;
        }
    }

    /// Goes past a byte, if it is the next.
    #[inline]
    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn need(&mut self, byte: u8) -> Option<()> {
        self.take(byte).then_some(())
    }

    /// After an item of an array or object: whether there is another one.
    fn another(&mut self, close: u8) -> Option<bool> {
        if self.take(b',') {
            return Some(true);
        }
        self.need(close).map(|()| false)
    }

    /// Goes past a string: where it stands between its quotes, and whether there are escapes.
    #[inline]
    fn string(&mut self) -> Option<(usize, usize, bool)> {
        self.need(b'"')?;
        let start = self.at;
        let mut escapes = false;
        loop {
            match *self.text.as_bytes().get(self.at)? {
                b'"' => {
                    self.at += 1;
                    return Some((start, self.at - 1, escapes));
                }
                b'\\' => {
                    escapes = true;
                    self.at += 2;
                }
                0..0x20 => return None,
                _ => self.at += 1,
            }
        }
    }

    /// What a string reads; `slot` is where it stays if it has escapes.
    #[inline]
    fn read(&mut self, (start, end, escapes): (usize, usize, bool), slot: usize) -> Option<()> {
        self.unescaped[slot].clear();
        if escapes {
            self.unescaped[slot] = serde_json::from_str(self.text.get(start - 1..end + 1)?).ok()?;
        }
        Some(())
    }

    #[inline]
    fn what(&self, (start, end, escapes): (usize, usize, bool), slot: usize) -> &str {
        if escapes { &self.unescaped[slot] } else { &self.text[start..end] }
    }

    /// A number from 0 to 4294967295.
    #[inline]
    fn id(&mut self) -> Option<u32> {
        self.peek()?;
        let start = self.at;
        let mut value = 0u64;
        while let Some(digit @ b'0'..=b'9') = self.text.as_bytes().get(self.at) {
            value = value * 10 + u64::from(digit - b'0');
            self.at += 1;
            if self.at - start > 10 {
                return None;
            }
        }
        let digits = self.at - start;
        let leads = digits > 1 && self.text.as_bytes()[start] == b'0';
        u32::try_from(value).ok().filter(|_| digits > 0 && !leads)
    }

    fn is_at_end(&mut self) -> bool {
        self.peek().is_none()
    }
}

/// Reads `{"token": id, …}` as the file has it, duplicates and all.
pub(super) fn map(text: &str) -> Option<TokenList> {
    let mut reader = Reader::new(text);
    let mut tokens = TokenList::default();
    reader.need(b'{')?;
    let mut more = !reader.take(b'}');
    while more {
        let token = reader.string()?;
        reader.read(token, 0)?;
        reader.need(b':')?;
        let id = reader.id()?;
        tokens.push(reader.what(token, 0).as_bytes(), id).ok()?;
        more = reader.another(b'}')?;
    }
    reader.is_at_end().then_some(tokens)
}

/// Reads merges, all as `["a", "b"]` or all as `"a b"`, whose tokens are all there.
pub(super) fn merges(
    text: &str,
    index: &Index<'_>,
    prefix: Option<&str>,
) -> Option<Vec<(u32, u32)>> {
    let mut reader = Reader::new(text);
    let mut joiner = Joiner::new(index, prefix);
    let mut merges = Vec::new();
    reader.need(b'[')?;
    if reader.take(b']') {
        return reader.is_at_end().then_some(merges);
    }
    let pairs = reader.peek()? == b'[';
    loop {
        let merge = if pairs {
            reader.need(b'[')?;
            let left = reader.string()?;
            reader.read(left, 0)?;
            reader.need(b',')?;
            let right = reader.string()?;
            reader.read(right, 1)?;
            reader.need(b']')?;
            joiner.join(reader.what(left, 0), reader.what(right, 1)).ok()?
        } else {
            let line = reader.string()?;
            reader.read(line, 0)?;
            let (left, right) = split_merge(reader.what(line, 0)).ok()?;
            if left.starts_with("#version") {
                return None;
            }
            joiner.join(left, right).ok()?
        };
        merges.push(merge);
        if !reader.another(b']')? {
            return reader.is_at_end().then_some(merges);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::vocab;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_what_files_have() {
        let tokens =
            map(" { \"a\" : 0,\"\\u0120b\\\"\":1 ,\"\u{120}\\\\\": 4294967295} \n").unwrap();
        let entries: Vec<(&[u8], u32)> = tokens.iter().collect();
        assert_eq!(
            entries,
            [(&b"a"[..], 0), ("\u{120}b\"".as_bytes(), 1), ("\u{120}\\".as_bytes(), u32::MAX)]
        );
        assert!(map("{}").unwrap().is_empty());
        for text in [
            "",
            "{",
            "[]",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":01}",
            "{\"a\":-1}",
            "{\"a\":1.0}",
            "{\"a\":4294967296}",
            "{\"a\":99999999999999999999}",
            "{\"a\":1,}",
            "{\"a\":1}}",
            "{\"a\n\":1}",
            "{\"\\x\":1}",
            "{\"\\ud800\":1}",
            "{\"a\\\":1}",
            "{\"a\":1 \"b\":2}",
        ] {
            assert!(map(text).is_none(), "{text}");
        }
    }

    #[test]
    fn reads_merges_of_both_forms() {
        let tokens = map(r#"{"a":0,"b":1,"ab":2,"aba":3,"c\"":4,"ac\"":5}"#).unwrap();
        let index = Index::new(&tokens);
        let expected = Some(vec![(0, 1), (2, 0), (0, 4)]);
        assert_eq!(merges(r#"["a b", "ab a","a c\""]"#, &index, None), expected);
        assert_eq!(merges(r#"[["a","b"],["ab" , "a"],["a","c\""]]"#, &index, None), expected);
        assert_eq!(merges("[]", &index, None), Some(vec![]));
        for text in [
            "",
            "[",
            "[\"a b\"",
            "[\"a b\",]",
            "[\"ab\"]",
            "[\"a b c\"]",
            "[\"#version a\"]",
            "[\"a a\"]",
            "[[\"a\",\"b\"],\"ab a\"]",
            "[\"a b\",[\"ab\",\"a\"]]",
            "[[\"a\"]]",
            "[[\"a\",\"b\",\"a\"]]",
            "[1]",
            "[\"a b\"] 1",
        ] {
            assert!(merges(text, &index, None).is_none(), "{text}");
        }
    }

    proptest! {
        /// Whatever is read here is read the same by the general reader.
        #[test]
        fn agrees_with_the_general_reader(
            keys in prop::collection::vec("[ab\"\\\\\u{e9}\n ]{0,3}", 0..12),
            ids in prop::collection::vec(any::<u32>(), 12),
            cut in 0usize..200,
        ) {
            let entries: Vec<String> = keys
                .iter()
                .zip(&ids)
                .map(|(key, id)| format!("{}:{id}", serde_json::to_string(key).unwrap()))
                .collect();
            let text = format!("{{{}}}", entries.join(","));
            let general = vocab::general_map(&text, "vocab").unwrap();
            prop_assert_eq!(map(&text), Some(general));
            // A damaged file is none here, or the same in both.
            let cut = text.floor_char_boundary(cut.min(text.len()));
            let damaged = format!("{}{}", &text[..cut], text.get(cut + 1..).unwrap_or_default());
            if let Some(read) = map(&damaged) {
                prop_assert_eq!(read, vocab::general_map(&damaged, "vocab").unwrap());
            }
        }
    }
}
