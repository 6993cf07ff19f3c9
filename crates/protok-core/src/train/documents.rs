//! A block of text as documents, and what is drawn for each: whether it is held out of training,
//! and how often it counts.
//!
//! A draw depends on the seed, the text and, for weights, the number of the document in its file;
//! so neither threads nor the order of files show. Its generator is FNV-1a over the bytes, stirred
//! with the finalizer of SplitMix64 (Steele, Lea and Flood 2014).

use crate::text::utf8;
use crate::{Error, Result};

/// Where a document ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Split<'a> {
    /// At each line feed.
    Line,
    /// Behind blank lines.
    Paragraph,
    /// At each of these texts, which belongs to no document.
    Separator(&'a str),
    /// At the end of the block.
    Whole,
}

/// Cuts a block where its documents end: `put` is told where each starts and ends, and where the
/// next one starts, which is further on behind a separator. What is behind the last end comes
/// last, also if it is empty.
fn cut(block: &[u8], split: Split<'_>, mut put: impl FnMut(usize, usize, usize)) -> Result<()> {
    let lines = || memchr::memchr_iter(b'\n', block).map(|at| at + 1);
    let mut start = 0;
    match split {
        Split::Whole => {}
        Split::Line => {
            for end in lines() {
                put(start, end, end);
                start = end;
            }
        }
        Split::Separator("") => {
            return Err(Error::input("A separator has no text.")
                .at("separator")
                .hint("Give the text that stands between two documents."));
        }
        Split::Separator(separator) => {
            for end in memchr::memmem::find_iter(block, separator) {
                let next = end + separator.len();
                put(start, end, next);
                start = next;
            }
        }
        Split::Paragraph => {
            let (mut at, mut blank) = (0, false);
            for end in lines().chain(std::iter::once(block.len())) {
                let is_blank = matches!(&block[at..end], b"\n" | b"\r\n");
                if blank && !is_blank && at < end {
                    put(start, at, at);
                    start = at;
                }
                (at, blank) = (end, is_blank);
            }
        }
    }
    put(start, block.len(), block.len());
    Ok(())
}

/// The parts of a block of bytes, which need not be text: each document, and with `separators`
/// the separator behind it. The last one may be empty.
///
/// # Errors
/// [`ErrorKind::Input`](crate::ErrorKind::Input) for an empty separator.
pub fn parts<'a>(block: &'a [u8], split: Split<'_>, separators: bool) -> Result<Vec<&'a [u8]>> {
    let mut found = Vec::new();
    cut(block, split, |start, end, next| {
        found.push(&block[start..if separators { next } else { end }]);
    })?;
    Ok(found)
}

/// The documents of a block that begins and ends between two of them. Empty ones are left out.
/// With `strip` the line ends behind a document do not belong to it.
///
/// # Errors
/// [`ErrorKind::Input`](crate::ErrorKind::Input) for bytes that are not UTF-8, or an empty
/// separator.
pub fn documents<'a>(block: &'a [u8], split: Split<'_>, strip: bool) -> Result<Vec<&'a str>> {
    let text = utf8::validate(block)?;
    let mut found = Vec::new();
    cut(block, split, |start, end, _| {
        let document = &text[start..end];
        let document = if strip { document.trim_end_matches(['\n', '\r']) } else { document };
        if !document.is_empty() {
            found.push(document);
        }
    })?;
    Ok(found)
}

/// What is drawn for each document.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Draw {
    seed: u64,
    weight: f64,
    held_out: f64,
}

/// What becomes of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It counts so often.
    Counts(u64),
    /// It is held out; of two with the same fate, the lower number comes first.
    HeldOut(u64),
}

impl Draw {
    /// Documents count `weight` times on average, and a share of `held_out` is held out.
    ///
    /// # Errors
    /// [`ErrorKind::Input`](crate::ErrorKind::Input) for a weight that is not positive and below
    /// 2^32, or a share that is not in [0, 1).
    pub fn new(seed: u64, weight: f64, held_out: f64) -> Result<Self> {
        if !(weight > 0.0 && weight < f64::from(u32::MAX)) {
            return Err(Error::input(format!(
                "A weight of {weight} does not say how often to count."
            ))
            .at("weight")
            .hint("Give a number above 0; 1 counts every document once."));
        }
        if !(0.0..1.0).contains(&held_out) {
            return Err(Error::input(format!("A share of {held_out} cannot be held out."))
                .at("held_out")
                .hint("Give a number from 0 to below 1, such as 0.01."));
        }
        Ok(Self { seed, weight, held_out })
    }

    /// What becomes of the document with this number in its file.
    #[must_use]
    pub fn of(&self, document: &str, number: u64) -> Fate {
        let whole = self.weight.floor();
        if self.held_out == 0.0 && whole == self.weight {
            return Fate::Counts(times(whole));
        }
        let text = fnv(document.as_bytes());
        if self.held_out > 0.0 {
            let drawn = stir(stir(self.seed ^ HELD_OUT) ^ text);
            if share(drawn) < self.held_out {
                return Fate::HeldOut(drawn);
            }
        }
        let drawn = stir(stir(stir(self.seed) ^ text) ^ number);
        let more = share(drawn) < self.weight - whole;
        Fate::Counts(times(whole) + u64::from(more))
    }
}

/// Keeps the two draws of a document apart.
const HELD_OUT: u64 = 0x68_65_6C_64_20_6F_75_74;

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a whole number below 2^32
fn times(whole: f64) -> u64 {
    whole as u64
}

#[allow(clippy::cast_precision_loss)] // 53 bits
fn share(drawn: u64) -> f64 {
    (drawn >> 11) as f64 / (1u64 << 53) as f64
}

fn fnv(bytes: &[u8]) -> u64 {
    let step = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
    bytes.iter().fold(0xCBF2_9CE4_8422_2325, step)
}

fn stir(mut number: u64) -> u64 {
    number = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn cut<'a>(text: &'a str, split: Split<'_>, strip: bool) -> Vec<&'a str> {
        documents(text.as_bytes(), split, strip).unwrap()
    }

    #[test]
    fn documents_end_where_they_are_told() {
        let text = "a\nb\r\n\r\nc\n\n\nd";
        assert_eq!(cut(text, Split::Line, false), ["a\n", "b\r\n", "\r\n", "c\n", "\n", "\n", "d"]);
        assert_eq!(cut(text, Split::Line, true), ["a", "b", "c", "d"]);
        assert_eq!(cut(text, Split::Paragraph, false), ["a\nb\r\n\r\n", "c\n\n\n", "d"]);
        assert_eq!(cut(text, Split::Paragraph, true), ["a\nb", "c", "d"]);
        assert_eq!(cut(text, Split::Separator("\nc\n"), false), ["a\nb\r\n\r", "\n\nd"]);
        assert_eq!(cut(text, Split::Whole, false), [text]);
        assert!(cut("", Split::Line, false).is_empty());
        assert!(documents(b"a\xFF", Split::Whole, false).is_err());
        assert!(documents(b"a", Split::Separator(""), false).is_err());
    }

    #[test]
    fn parts_are_the_whole_block_whatever_its_bytes() {
        let block = b"a\xFF\n\r\n\nb|c\n\xC3";
        let splits = [Split::Line, Split::Paragraph, Split::Separator("|"), Split::Whole];
        for split in splits {
            assert_eq!(parts(block, split, true).unwrap().concat(), block);
        }
        assert_eq!(parts(block, splits[1], true).unwrap(), [&block[..6], &block[6..]]);
        assert_eq!(parts(block, splits[2], false).unwrap(), [&block[..7], &block[8..]]);
        assert_eq!(parts(b"a\n", Split::Line, false).unwrap(), [&b"a\n"[..], b""]);
        assert!(parts(b"a", Split::Separator(""), false).is_err());
    }

    #[test]
    fn weights_are_kept_on_average() {
        for weight in [0.25, 1.0, 2.5] {
            let draw = Draw::new(7, weight, 0.0).unwrap();
            let total: u64 = (0..20_000)
                .map(|number| match draw.of("the same line", number) {
                    Fate::Counts(times) => times,
                    Fate::HeldOut(_) => panic!("nothing is held out"),
                })
                .sum();
            #[allow(clippy::cast_precision_loss)]
            let mean = total as f64 / 20_000.0;
            assert!((mean - weight).abs() < 0.02, "{mean} for {weight}");
        }
        assert!(Draw::new(0, 0.0, 0.0).is_err() && Draw::new(0, f64::NAN, 0.0).is_err());
        assert!(Draw::new(0, 1.0, 1.0).is_err() && Draw::new(0, 1.0, -0.1).is_err());
    }

    #[test]
    fn what_is_held_out_depends_on_seed_and_text_alone() {
        let held = |seed, number| {
            let draw = Draw::new(seed, 1.0, 0.1).unwrap();
            let texts = (0..2000).map(|i| format!("document {i}"));
            texts
                .filter(|text| matches!(draw.of(text, number), Fate::HeldOut(_)))
                .collect::<Vec<_>>()
        };
        assert_eq!(held(1, 0), held(1, 99));
        assert_ne!(held(1, 0), held(2, 0));
        assert!((150..250).contains(&held(1, 0).len()));
    }
}
