//! The key-value pairs of a GGUF file. Tensors come after them and are never looked at.
//!
//! Everything is a view into the file, and every length is checked against what is left of it, so
//! that a file takes memory in proportion to the pairs that it really has.

use crate::error::{Error, Result};
use crate::vocab::SeededMap;

/// Types of values, as the format numbers them.
const BOOL: u32 = 7;
const STRING: u32 = 8;
const ARRAY: u32 = 9;

/// The pairs of a file.
#[derive(Debug)]
pub(super) struct Metadata<'a> {
    values: SeededMap<&'a str, Value<'a>>,
}

/// A value: its bytes, not decoded yet.
#[derive(Debug, Clone, Copy)]
struct Value<'a> {
    kind: u32,
    /// For arrays, the type of the items and how many there are.
    items: (u32, u64),
    bytes: &'a [u8],
}

/// The type of an array's items, and the items.
type Words<'a> = (u32, &'a [[u8; 4]]);

/// What is left of the file.
struct Reader<'a> {
    rest: &'a [u8],
    length: usize,
}

fn width(kind: u32) -> Option<usize> {
    Some(match kind {
        0 | 1 | BOOL => 1,
        2 | 3 => 2,
        4..=6 => 4,
        10..=12 => 8,
        _ => return None,
    })
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: u64) -> Result<&'a [u8]> {
        let taken = usize::try_from(count).ok().and_then(|count| self.rest.split_at_checked(count));
        let Some((taken, rest)) = taken else {
            let at = self.length - self.rest.len();
            return Err(Error::artifact(format!("byte {at}"), "The file ends too early.")
                .hint("It may be cut off; fetch it again."));
        };
        self.rest = rest;
        Ok(taken)
    }

    fn u32(&mut self) -> Result<u32> {
        Ok(self.take(4)?.iter().rev().fold(0, |value, &byte| value << 8 | u32::from(byte)))
    }

    fn u64(&mut self) -> Result<u64> {
        Ok(self.take(8)?.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)))
    }

    fn string(&mut self) -> Result<&'a [u8]> {
        let length = self.u64()?;
        self.take(length)
    }

    fn value(&mut self, key: &str) -> Result<Value<'a>> {
        let kind = self.u32()?;
        let start = self.rest;
        let mut items = (0, 0);
        match kind {
            STRING => {
                let bytes = self.string()?;
                return Ok(Value { kind, items, bytes });
            }
            ARRAY => {
                items = (self.u32()?, self.u64()?);
                let start = self.rest;
                match (items.0, width(items.0)) {
                    (_, Some(width)) => {
                        self.take(items.1.saturating_mul(width as u64))?;
                    }
                    (STRING, None) => {
                        for _ in 0..items.1 {
                            self.string()?;
                        }
                    }
                    (other, None) => return Err(unknown(key, other)),
                }
                let bytes = &start[..start.len() - self.rest.len()];
                return Ok(Value { kind, items, bytes });
            }
            kind => {
                let width = width(kind).ok_or_else(|| unknown(key, kind))?;
                self.take(width as u64)?;
            }
        }
        Ok(Value { kind, items, bytes: &start[..start.len() - self.rest.len()] })
    }
}

fn unknown(key: &str, kind: u32) -> Error {
    Error::artifact(key, "The value is of a type that is not known.").value(kind.to_string())
}

impl<'a> Metadata<'a> {
    /// Reads the pairs.
    ///
    /// # Errors
    /// An artifact error with the key or the place in the file.
    pub fn read(bytes: &'a [u8]) -> Result<Self> {
        let mut reader = Reader { rest: bytes, length: bytes.len() };
        if reader.take(4)? != b"GGUF" {
            return Err(Error::artifact("byte 0", "This is not a GGUF file."));
        }
        let version = reader.u32()?;
        if !matches!(version, 2 | 3) {
            return Err(Error::artifact("byte 4", "The version of the GGUF file is not known.")
                .value(version.to_string())
                .hint("Versions 2 and 3 can be read, little-endian."));
        }
        let _tensors = reader.u64()?;
        let pairs = reader.u64()?;
        let mut values = SeededMap::default();
        for _ in 0..pairs {
            let at = reader.length - reader.rest.len();
            let key = std::str::from_utf8(reader.string()?)
                .map_err(|_| Error::artifact(format!("byte {at}"), "A key is not UTF-8."))?;
            let value = reader.value(key)?;
            if values.insert(key, value).is_some() {
                return Err(Error::artifact(key, "The key is there twice."));
            }
        }
        Ok(Self { values })
    }

    fn get(&self, key: &str, kind: u32, name: &str) -> Result<Option<Value<'a>>> {
        match self.values.get(key) {
            Some(value) if value.kind == kind => Ok(Some(*value)),
            Some(_) => Err(Error::artifact(key, format!("The value is not {name}."))),
            None => Ok(None),
        }
    }

    /// A string.
    pub fn string(&self, key: &str) -> Result<Option<&'a str>> {
        let Some(value) = self.get(key, STRING, "a string")? else { return Ok(None) };
        let text = std::str::from_utf8(value.bytes);
        text.map(Some).map_err(|_| Error::artifact(key, "The string is not UTF-8."))
    }

    /// A truth value.
    pub fn bool(&self, key: &str) -> Result<Option<bool>> {
        Ok(self.get(key, BOOL, "a truth value")?.map(|value| value.bytes != [0]))
    }

    /// An integer of 32 bits.
    pub fn u32(&self, key: &str) -> Result<Option<u32>> {
        let Some(value) = self.get(key, 4, "an integer of 32 bits")? else { return Ok(None) };
        Ok(value.bytes.first_chunk().map(|bytes| u32::from_le_bytes(*bytes)))
    }

    /// The strings of an array.
    pub fn strings(&self, key: &str) -> Result<Option<Vec<&'a [u8]>>> {
        let Some(value) = self.get(key, ARRAY, "an array")? else { return Ok(None) };
        if value.items.0 != STRING {
            return Err(Error::artifact(key, "The items are not strings."));
        }
        // They were read once, so as many are there.
        let mut reader = Reader { rest: value.bytes, length: value.bytes.len() };
        (0..value.items.1).map(|_| reader.string()).collect::<Result<_>>().map(Some)
    }

    /// The numbers of an array of 32-bit items: floats as they are, integers as floats.
    pub fn floats(&self, key: &str) -> Result<Option<Vec<f32>>> {
        let Some((kind, words)) = self.words(key)? else { return Ok(None) };
        let number = |bytes: &[u8; 4]| match kind {
            6 => f32::from_le_bytes(*bytes),
            _ => i32::from_le_bytes(*bytes) as f32,
        };
        match kind {
            5 | 6 => Ok(Some(words.iter().map(number).collect())),
            _ => Err(Error::artifact(key, "The items are neither floats nor integers.")),
        }
    }

    /// The integers of an array of 32-bit items.
    pub fn integers(&self, key: &str) -> Result<Option<Vec<i32>>> {
        let Some((kind, words)) = self.words(key)? else { return Ok(None) };
        if kind != 5 {
            return Err(Error::artifact(key, "The items are not integers of 32 bits."));
        }
        Ok(Some(words.iter().map(|bytes| i32::from_le_bytes(*bytes)).collect()))
    }

    /// The bytes of an array of 8-bit items.
    pub fn bytes(&self, key: &str) -> Result<Option<&'a [u8]>> {
        let Some(value) = self.get(key, ARRAY, "an array")? else { return Ok(None) };
        if !matches!(value.items.0, 0 | 1) {
            return Err(Error::artifact(key, "The items are not bytes."));
        }
        Ok(Some(value.bytes))
    }

    fn words(&self, key: &str) -> Result<Option<Words<'a>>> {
        let Some(value) = self.get(key, ARRAY, "an array")? else { return Ok(None) };
        if !matches!(value.items.0, 4..=6) {
            return Err(Error::artifact(key, "The items are not numbers of 32 bits."));
        }
        Ok(Some((value.items.0, value.bytes.as_chunks::<4>().0)))
    }
}
