//! Sorted runs of counted words, on disk: what is counted past a limit of memory, and what is
//! carried from one machine to another.
//!
//! A run lists its words in the order of their bytes, each with how many bytes it shares with the
//! one before, so that a large vocabulary takes a few bytes a word. Numbers are written seven bits
//! at a time, the lowest first. After the words come a word of no bytes and how many words there
//! were. [`merge`] reads any number of runs at once and needs a buffer for each.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::corpus::Source;
use crate::{Error, Result};

/// The buffer of a run that is read or written.
const BUFFER: usize = 64 << 10;

/// The longest word that a run may hold, so that a damaged one cannot ask for all memory.
const LONGEST: u64 = 1 << 32;

/// A word as a run holds it: where it first occurred matters only if words keep that order.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) word: Vec<u8>,
    pub(super) count: u64,
    pub(super) first: u64,
}

/// Writes a run.
pub(super) struct Writer<W: Write> {
    out: W,
    last: Vec<u8>,
    words: u64,
    ordered: bool,
}

impl<W: Write> Writer<W> {
    pub(super) fn new(out: W, ordered: bool) -> Self {
        Self { out, last: Vec::new(), words: 0, ordered }
    }

    /// Writes the next word, which comes after all that were written.
    pub(super) fn put(&mut self, word: &[u8], count: u64, first: u64) -> io::Result<()> {
        let shared = word.iter().zip(&self.last).take_while(|(a, b)| a == b).count();
        put_number(&mut self.out, shared as u64)?;
        put_number(&mut self.out, (word.len() - shared) as u64)?;
        self.out.write_all(&word[shared..])?;
        put_number(&mut self.out, count)?;
        if self.ordered {
            put_number(&mut self.out, first)?;
        }
        self.last.truncate(shared);
        self.last.extend_from_slice(&word[shared..]);
        self.words += 1;
        Ok(())
    }

    /// Ends the run.
    pub(super) fn finish(mut self) -> io::Result<W> {
        self.out.write_all(&[0, 0])?;
        put_number(&mut self.out, self.words)?;
        Ok(self.out)
    }
}

/// Reads a run.
pub(super) struct Reader<R: Read> {
    from: R,
    ordered: bool,
    /// Added to where words first occurred: a run that is read behind others.
    base: u64,
    words: u64,
    pub(super) record: Record,
}

impl<R: Read> Reader<R> {
    pub(super) fn new(from: R, ordered: bool) -> Self {
        Self { from, ordered, base: 0, words: 0, record: Record::default() }
    }

    /// Says how many words came before those of this run.
    pub(super) fn start_at(&mut self, base: u64) {
        self.base = base;
    }

    /// Reads the next word into `record`, if there is one.
    pub(super) fn advance(&mut self) -> io::Result<bool> {
        let (shared, rest) = (get_number(&mut self.from)?, get_number(&mut self.from)?);
        if rest == 0 {
            return match (shared, get_number(&mut self.from)?) {
                (0, words) if words == self.words => Ok(false),
                _ => Err(damaged("it ends with another number of words than it has")),
            };
        }
        let word = &mut self.record.word;
        let known = usize::try_from(shared).ok().filter(|&shared| shared <= word.len());
        let Some(known) = known.filter(|_| rest <= LONGEST) else {
            return Err(damaged("a word is longer than it can be"));
        };
        let before = word.get(known).copied();
        word.truncate(known);
        let read = self.from.by_ref().take(rest).read_to_end(word)?;
        if read as u64 != rest {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if before.is_some_and(|before| before >= word[known]) {
            return Err(damaged("its words are not in order"));
        }
        self.record.count = get_number(&mut self.from)?;
        let first = if self.ordered { get_number(&mut self.from)? } else { self.words };
        self.record.first = self.base.saturating_add(first);
        self.words += 1;
        Ok(true)
    }

    /// What lies behind the run.
    pub(super) fn into_rest(self) -> R {
        self.from
    }
}

fn put_number(out: &mut impl Write, mut number: u64) -> io::Result<()> {
    let mut bytes = [0; 10];
    let mut length = 0;
    while number >= 0x80 {
        bytes[length] = number.to_le_bytes()[0] | 0x80;
        number >>= 7;
        length += 1;
    }
    bytes[length] = number.to_le_bytes()[0];
    out.write_all(&bytes[..=length])
}

fn get_number(from: &mut impl Read) -> io::Result<u64> {
    let mut number = 0u64;
    for shift in (0..64).step_by(7) {
        let mut byte = [0];
        from.read_exact(&mut byte)?;
        let bits = u64::from(byte[0] & 0x7F);
        if shift == 63 && bits > 1 {
            break;
        }
        number |= bits << shift;
        if byte[0] < 0x80 {
            return Ok(number);
        }
    }
    Err(damaged("a number has more than 64 bits"))
}

pub(super) fn damaged(how: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, how)
}

/// An error of a file, as the engine has them.
pub(super) fn failure(path: &Path, error: &io::Error) -> Error {
    let what = match error.kind() {
        io::ErrorKind::InvalidData => format!("The counts are damaged: {error}."),
        io::ErrorKind::UnexpectedEof => "The counts are damaged: they break off.".to_owned(),
        _ => format!("The counts cannot be read or written: {error}."),
    };
    Error::input(what)
        .at(path.display().to_string())
        .hint("Count again, and check the space left and the permissions.")
        .value(path.display().to_string())
}

/// A run in a file that goes when nobody reads it any more.
#[derive(Debug)]
pub(super) struct Run {
    file: File,
    /// Where an open file cannot be deleted, it is when the run goes.
    path: Option<PathBuf>,
    ordered: bool,
}

impl Run {
    /// Writes a run to a new file of the folder.
    pub(super) fn write(
        folder: &Path,
        ordered: bool,
        fill: impl FnOnce(&mut Writer<BufWriter<&File>>) -> Result<()>,
    ) -> Result<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!("counts-{}-{number}.run", std::process::id()));
        let wrong = |error: io::Error| failure(&path, &error);
        let file = File::options()
            .read(true)
            .write(true)
            .create_new(true)
            .open(&path)
            .map_err(|error| failure(&path, &error))?;
        // A file without a name is gone whatever becomes of the process.
        let left =
            if cfg!(unix) && std::fs::remove_file(&path).is_ok() { None } else { Some(&path) };
        let run = Self { file, path: left.cloned(), ordered };
        let mut writer = Writer::new(BufWriter::with_capacity(BUFFER, &run.file), ordered);
        fill(&mut writer)?;
        writer.finish().and_then(|mut out| out.flush()).map_err(wrong)?;
        Ok(run)
    }

    /// The run from its beginning.
    pub(super) fn read(&self) -> io::Result<Reader<Box<dyn Source>>> {
        let mut file = self.file.try_clone()?;
        file.seek(SeekFrom::Start(0))?;
        let from: Box<dyn Source> = Box::new(BufReader::with_capacity(BUFFER, file));
        Ok(Reader::new(from, self.ordered))
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            // Nothing can be done about a temporary file that stays.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Reads runs at once and reports each word once, in the order of bytes: its whole count, where it
/// first occurred, and whether the count stopped at the end of 64 bits.
pub(super) fn merge<R: Read>(
    readers: &mut [Reader<R>],
    mut report: impl FnMut(&Record, bool) -> Result<()>,
    wrong: impl Fn(usize, &io::Error) -> Error,
) -> Result<()> {
    // A heap of readers by their next words; of equal ones in any order, since sums have none.
    let mut heap = Vec::new();
    for (i, reader) in readers.iter_mut().enumerate() {
        if reader.advance().map_err(|error| wrong(i, &error))? {
            heap.push(i);
        }
    }
    for top in (0..heap.len() / 2).rev() {
        sift(&mut heap, top, readers);
    }
    let mut current = Record::default();
    while let Some(&first) = heap.first() {
        current.word.clone_from(&readers[first].record.word);
        (current.count, current.first) = (0, u64::MAX);
        let mut saturated = false;
        while let Some(&top) = heap.first()
            && readers[top].record.word == current.word
        {
            let record = &readers[top].record;
            let (sum, over) = current.count.overflowing_add(record.count);
            current.count = if over { u64::MAX } else { sum };
            saturated |= current.count == u64::MAX;
            current.first = current.first.min(record.first);
            if !readers[top].advance().map_err(|error| wrong(top, &error))? {
                heap.swap_remove(0);
            }
            if !heap.is_empty() {
                sift(&mut heap, 0, readers);
            }
        }
        report(&current, saturated)?;
    }
    Ok(())
}

fn sift<R: Read>(heap: &mut [usize], mut at: usize, readers: &[Reader<R>]) {
    let word = |i: usize| readers[i].record.word.as_slice();
    loop {
        let (left, right) = (2 * at + 1, 2 * at + 2);
        let mut least = at;
        for child in [left, right] {
            if child < heap.len() && word(heap[child]) < word(heap[least]) {
                least = child;
            }
        }
        if least == at {
            return;
        }
        heap.swap(at, least);
        at = least;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn written(words: &BTreeMap<Vec<u8>, (u64, u64)>, ordered: bool) -> Vec<u8> {
        let mut writer = Writer::new(Vec::new(), ordered);
        for (word, &(count, first)) in words {
            writer.put(word, count, first).unwrap();
        }
        writer.finish().unwrap()
    }

    fn strategy() -> impl Strategy<Value = Vec<BTreeMap<Vec<u8>, (u64, u64)>>> {
        let word = proptest::collection::vec(0u8..4, 1..6);
        let words = proptest::collection::btree_map(word, (1..1000u64, any::<u64>()), 0..40);
        proptest::collection::vec(words, 0..9)
    }

    proptest! {
        #[test]
        fn merged_runs_are_the_sums(runs in strategy()) {
            let bytes: Vec<Vec<u8>> = runs.iter().map(|run| written(run, true)).collect();
            let mut readers: Vec<_> =
                bytes.iter().map(|bytes| Reader::new(bytes.as_slice(), true)).collect();
            let mut merged = Vec::new();
            merge(&mut readers, |record, saturated| {
                assert!(!saturated);
                merged.push((record.word.clone(), (record.count, record.first)));
                Ok(())
            }, |_, error| failure(Path::new("run"), error)).unwrap();
            let mut expected: BTreeMap<Vec<u8>, (u64, u64)> = BTreeMap::new();
            for (word, &(count, first)) in runs.iter().flatten() {
                let sum = expected.entry(word.clone()).or_insert((0, u64::MAX));
                *sum = (sum.0 + count, sum.1.min(first));
            }
            prop_assert_eq!(merged, expected.into_iter().collect::<Vec<_>>());
        }

        #[test]
        fn damage_is_an_error_or_another_run(
            words in proptest::collection::btree_map(
                proptest::collection::vec(any::<u8>(), 1..6), (any::<u64>(), any::<u64>()), 1..20),
            at in any::<prop::sample::Index>(),
            byte in any::<u8>(),
            cut in any::<bool>(),
        ) {
            let mut bytes = written(&words, false);
            let at = at.index(bytes.len());
            if cut { bytes.truncate(at) } else { bytes[at] = byte }
            let mut reader = Reader::new(bytes.as_slice(), false);
            let mut read = 0;
            while let Ok(true) = reader.advance() {
                read += 1;
            }
            prop_assert!(read <= words.len() + 1);
        }
    }
}
