//! The file: a head of fixed length, a table of sections, and the sections.
//!
//! All numbers are little-endian on every machine.
//!
//! | bytes | what |
//! | --- | --- |
//! | 8 | `protokss` |
//! | 4 | the version of this layout |
//! | 4 | 0x01020304, which reads otherwise where bytes are in another order |
//! | 32 | the key |
//! | 32 | the digest of everything before it and behind it |
//! | 8 | the number of sections |
//! | 24 each | the name of a section, where it starts in the file, and its length, 64 bits each |
//!
//! Sections start at multiples of 8.

use super::bad;
use super::digest::{self, Digest};
use super::key::Key;
use crate::error::Result;
use crate::parallel::thread_count;

const MAGIC: &[u8; 8] = b"protokss";
const VERSION: u32 = 1;
const ORDER: u32 = 0x0102_0304;
/// Where the digest stands, and where what follows starts.
const DIGEST: usize = 48;
const COUNT: usize = DIGEST + size_of::<Digest>();
const TABLE: usize = COUNT + 8;
const ENTRY: usize = 24;
const MOST_SECTIONS: usize = 64;

/// Sections to be written.
#[derive(Default)]
pub(super) struct Sections {
    sections: Vec<(u32, Vec<u8>)>,
}

impl Sections {
    pub fn push(&mut self, name: u32, bytes: &[u8]) {
        self.sections.push((name, bytes.to_vec()));
    }

    pub fn push_u32s(&mut self, name: u32, values: impl Iterator<Item = u32>) {
        self.sections.push((name, values.flat_map(u32::to_le_bytes).collect()));
    }

    /// The whole file.
    pub fn finish(self, key: &Key) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&ORDER.to_le_bytes());
        bytes.extend_from_slice(key.as_bytes());
        bytes.extend_from_slice(&[0; size_of::<Digest>()]);
        bytes.extend_from_slice(&(self.sections.len() as u64).to_le_bytes());
        let mut start = TABLE + ENTRY * self.sections.len();
        for (name, section) in &self.sections {
            start = start.next_multiple_of(8);
            for number in [u64::from(*name), start as u64, section.len() as u64] {
                bytes.extend_from_slice(&number.to_le_bytes());
            }
            start += section.len();
        }
        for (_, section) in &self.sections {
            bytes.resize(bytes.len().next_multiple_of(8), 0);
            bytes.extend_from_slice(section);
        }
        seal(&mut bytes);
        bytes
    }
}

/// Writes the digest of a snapshot's bytes into its place, whatever they are.
pub fn seal(bytes: &mut [u8]) {
    let digest = digest_of(bytes);
    if let Some(place) = bytes.get_mut(DIGEST..COUNT) {
        place.copy_from_slice(&digest);
    }
}

fn digest_of(bytes: &[u8]) -> Digest {
    let (before, behind) =
        (&bytes[..bytes.len().min(DIGEST)], bytes.get(COUNT..).unwrap_or_default());
    let parts = [digest::of_bytes(before, 1), digest::of_bytes(behind, thread_count(None))];
    digest::of_bytes(parts.as_flattened(), 1)
}

/// A file that was read: it is as it was written, and every section is inside it.
pub(super) struct Container<'b> {
    sections: Vec<(u64, &'b [u8])>,
}

impl<'b> Container<'b> {
    pub fn open(bytes: &'b [u8], key: &Key) -> Result<Self> {
        let number = |at: usize| bytes.get(at..at + 4).map(|four| four.to_vec());
        if bytes.len() < TABLE || !bytes.starts_with(MAGIC) {
            return Err(bad("It is no snapshot"));
        }
        if number(8) != Some(VERSION.to_le_bytes().to_vec()) {
            return Err(bad("It has another version"));
        }
        if number(12) != Some(ORDER.to_le_bytes().to_vec()) {
            return Err(bad("Its bytes are in another order"));
        }
        if bytes[16..DIGEST] != *key.as_bytes() {
            return Err(bad("It is of other files or options, or of another release"));
        }
        if bytes[DIGEST..COUNT] != digest_of(bytes) {
            return Err(bad("It is not as it was written"));
        }
        let count = usize::try_from(long(bytes, COUNT)).unwrap_or(usize::MAX);
        if count > MOST_SECTIONS {
            return Err(bad("It has too many sections"));
        }
        let mut sections = Vec::with_capacity(count);
        for entry in (0..count).map(|index| TABLE + ENTRY * index) {
            if entry + ENTRY > bytes.len() {
                return Err(bad("It is cut off"));
            }
            let (start, length) = (long(bytes, entry + 8), long(bytes, entry + 16));
            let section = usize::try_from(start)
                .ok()
                .zip(usize::try_from(length).ok())
                .and_then(|(start, length)| bytes.get(start..start.checked_add(length)?))
                .ok_or_else(|| bad("It is cut off"))?;
            sections.push((long(bytes, entry), section));
        }
        Ok(Self { sections })
    }

    /// A section by its name.
    pub fn get(&self, name: u32) -> Option<&'b [u8]> {
        self.sections.iter().find(|(own, _)| *own == u64::from(name)).map(|(_, bytes)| *bytes)
    }

    /// A section of numbers.
    pub fn u32s(&self, name: u32) -> Result<Option<Vec<u32>>> {
        self.numbers(name, u32::from_le_bytes)
    }

    /// A section of floating-point numbers.
    pub fn f64s(&self, name: u32) -> Result<Option<Vec<f64>>> {
        self.numbers(name, f64::from_le_bytes)
    }

    fn numbers<T, const N: usize>(
        &self,
        name: u32,
        of_bytes: impl Fn([u8; N]) -> T,
    ) -> Result<Option<Vec<T>>> {
        let Some((numbers, rest)) = self.get(name).map(|bytes| bytes.as_chunks()) else {
            return Ok(None);
        };
        match rest.is_empty() {
            true => Ok(Some(numbers.iter().map(|number| of_bytes(*number)).collect())),
            false => Err(bad("Half a number is left over")),
        }
    }
}

fn long(bytes: &[u8], at: usize) -> u64 {
    bytes[at..].first_chunk().map_or(u64::MAX, |eight| u64::from_le_bytes(*eight))
}
