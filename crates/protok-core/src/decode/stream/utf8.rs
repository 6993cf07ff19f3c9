//! Bytes to text, when they come piece by piece.

use super::flow::{Flow, Held};
use crate::error::{Error, Result};

const REPLACEMENT: &[u8] = "\u{fffd}".as_bytes();

/// Reads bytes as UTF-8. At most three bytes wait: those that may still become a character.
///
/// ```
/// use protok_core::decode::{Flow, Utf8};
///
/// let (mut utf8, mut out) = (Utf8::new(false), Flow::default());
/// utf8.push(&[b'a', 0xf0, 0x9f], 0, &mut out)?;
/// assert_eq!(out.bytes(), b"a");
/// utf8.push(&[0x90, 0x88], 1, &mut out)?;
/// assert_eq!(out.bytes(), "a🐈".as_bytes());
/// # Ok::<(), protok_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Utf8 {
    strict: bool,
    waiting: Held,
    /// How many bytes were read.
    read: usize,
}

impl Utf8 {
    /// A reader that puts U+FFFD in the place of each longest part that is no UTF-8, or refuses
    /// it if `strict`.
    #[must_use]
    pub fn new(strict: bool) -> Self {
        Self { strict, waiting: Held::default(), read: 0 }
    }

    /// Reads bytes of the token `origin`.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Input`] with the byte's position, if the reader is strict.
    pub fn push(&mut self, mut bytes: &[u8], origin: u64, out: &mut Flow) -> Result<()> {
        self.read += bytes.len();
        while !self.waiting.is_empty() && !bytes.is_empty() {
            let mut start = [0; 4];
            let known = self.waiting.bytes().len();
            start[..known].copy_from_slice(self.waiting.bytes());
            start[known] = bytes[0];
            let first = self.waiting.oldest().unwrap_or(origin);
            match std::str::from_utf8(&start[..=known]) {
                Ok(character) => out.push(character.as_bytes(), first),
                Err(error) if error.error_len().is_none() => {
                    self.waiting.push(&bytes[..1], origin);
                    bytes = &bytes[1..];
                    continue;
                }
                // The new byte does not go on with the character: it is read again by itself.
                Err(_) => {
                    self.replace(self.read - bytes.len() - known, first, out)?;
                    self.waiting.clear();
                    break;
                }
            }
            self.waiting.clear();
            bytes = &bytes[1..];
        }
        loop {
            match std::str::from_utf8(bytes) {
                Ok(text) => {
                    out.push(text.as_bytes(), origin);
                    return Ok(());
                }
                Err(error) => {
                    let (valid, rest) = bytes.split_at(error.valid_up_to());
                    out.push(valid, origin);
                    let Some(length) = error.error_len() else {
                        self.waiting.push(rest, origin);
                        return Ok(());
                    };
                    self.replace(self.read - rest.len(), origin, out)?;
                    bytes = &rest[length..];
                }
            }
        }
    }

    /// Nothing more comes. Returns whether a character was begun and not ended.
    ///
    /// # Errors
    /// As [`Self::push`].
    pub fn finish(&mut self, out: &mut Flow) -> Result<bool> {
        let Some(first) = self.waiting.oldest() else { return Ok(false) };
        self.replace(self.read - self.waiting.bytes().len(), first, out)?;
        self.waiting.clear();
        Ok(true)
    }

    /// Counts bytes that are whole characters and need no reading.
    pub(super) fn passed(&mut self, length: usize) {
        self.read += length;
    }

    /// What waits.
    #[must_use]
    pub fn waiting(&self) -> &Held {
        &self.waiting
    }

    fn replace(&self, at: usize, origin: u64, out: &mut Flow) -> Result<()> {
        if self.strict {
            return Err(Error::input(format!(
                "The ids do not decode to UTF-8: byte {at} is wrong."
            ))
            .position(at)
            .hint("Pass errors=\"replace\", or use decode_bytes."));
        }
        out.push(REPLACEMENT, origin);
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn joined(bytes: &[u8], size: usize) -> String {
        let (mut utf8, mut out) = (Utf8::new(false), Flow::default());
        for (at, chunk) in (0u64..).zip(bytes.chunks(size)) {
            utf8.push(chunk, at, &mut out).unwrap();
            assert!(utf8.waiting().bytes().len() < 4);
        }
        utf8.finish(&mut out).unwrap();
        String::from_utf8(out.bytes().to_vec()).unwrap()
    }

    proptest! {
        #[test]
        fn every_chunking_reads_the_same(
            bytes in proptest::collection::vec(
                prop_oneof![
                    any::<u8>(), 0x80u8..0xc0, 0xe0u8..0xf8, Just(0xed), Just(0xf4), 0x20u8..0x7f
                ],
                0..24,
            ),
            size in 1usize..5,
        ) {
            prop_assert_eq!(joined(&bytes, size), String::from_utf8_lossy(&bytes).into_owned());
        }
    }
}
