//! From texts to weighted words: the front half of a pipeline, and a count.
//!
//! Each text is normalized and cut exactly as a tokenizer with these components would, on all
//! cores. Counts past a limit of memory go to disk as sorted [`runs`](super::runs), which are merged
//! when they are asked for; files with the counts of other machines are runs too. Words come out
//! in the order of their bytes, or where that was asked for in the order in which they were met, so
//! that neither threads nor limits show.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use sha2::{Digest, Sha256};

use super::front::{Counting, Front, Memory};
use super::runs::{self, Reader, Run, Writer, damaged, failure};
use super::tally::Tally;
use super::{Totals, WordCounts};
use crate::error::{Error, Result};
use crate::normalize::Normalizer;
use crate::parallel::map_groups;
use crate::pretokenize::PreTokenizer;
use crate::spec::{self, Semantics};

/// Bytes of text that a thread takes at a time.
const GROUP: usize = 128 << 10;

/// The least limit of memory: below it there would be more runs than words.
pub const LEAST_LIMIT: usize = 1 << 20;

/// So many runs are merged into one, since each takes an open file and a buffer.
const MOST_RUNS: usize = 64;

/// How a file of counts begins, and what says whether its words know their order.
const MAGIC: &str = "protok word counts 1";

/// How words are kept.
#[derive(Debug, Clone, Default)]
pub struct CountOptions {
    /// Whether words come out in the order in which they were first met.
    pub ordered: bool,
    /// About the most bytes that counting may take before words go to disk.
    pub limit: Option<usize>,
    /// Where they go; by default the system's folder for temporary files.
    pub folder: Option<PathBuf>,
}

/// Counts the words of texts.
#[derive(Debug)]
pub struct WordCounter {
    front: Front,
    options: CountOptions,
    /// A table for each thread; words that keep their order have one table.
    tables: Vec<WordCounts>,
    /// What is remembered for each table.
    memories: Vec<Memory>,
    runs: Vec<Run>,
    files: Vec<CountsFile>,
    /// How many words came before those of the tables.
    before: u64,
    /// Whether all words are in the first table, in their order.
    finished: bool,
}

#[derive(Debug)]
struct CountsFile {
    path: PathBuf,
    base: u64,
}

impl WordCounter {
    /// A counter that normalizes and cuts with these components.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Artifact`] for a component that cannot run,
    /// [`crate::ErrorKind::Input`] for a limit below [`LEAST_LIMIT`].
    pub fn new(
        normalizer: Option<&spec::Normalizer>,
        pre_tokenizer: Option<&spec::PreTokenizer>,
        options: CountOptions,
    ) -> Result<Self> {
        if let Some(limit) = options.limit.filter(|&limit| limit < LEAST_LIMIT) {
            return Err(Error::input(format!("Counting cannot do with {limit} bytes."))
                .at("memory_bytes")
                .hint(format!("Allow {LEAST_LIMIT} or more."))
                .value(limit.to_string()));
        }
        let normalizer = Normalizer::compile(normalizer, Semantics::HuggingFace)?;
        let pre_tokenizer = PreTokenizer::compile(pre_tokenizer, Semantics::HuggingFace)?;
        Ok(Self {
            front: Front::new(normalizer, pre_tokenizer),
            options,
            tables: vec![WordCounts::new()],
            memories: Vec::new(),
            runs: Vec::new(),
            files: Vec::new(),
            before: 0,
            finished: false,
        })
    }

    /// Counts the words of some texts, each so often.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Limit`] where a pattern reaches its bound; [`crate::ErrorKind::Input`]
    /// where words cannot go to disk.
    pub fn feed(&mut self, texts: &[(&str, u64)], threads: usize) -> Result<()> {
        // A byte of text that is all new words takes a few bytes of a table.
        let most = self.options.limit.map_or(usize::MAX, |limit| limit / 16);
        let (mut start, mut bytes) = (0, 0usize);
        for (index, (text, _)) in texts.iter().enumerate() {
            bytes = bytes.saturating_add(text.len());
            if bytes >= most || index + 1 == texts.len() {
                self.feed_some(&texts[start..=index], threads)?;
                self.keep_to_limit()?;
                (start, bytes) = (index + 1, 0);
            }
        }
        Ok(())
    }

    fn feed_some(&mut self, texts: &[(&str, u64)], threads: usize) -> Result<()> {
        self.finished = false;
        if self.options.ordered {
            let groups = map_groups(
                texts,
                |(text, _)| text.len(),
                threads,
                |texts, _| {
                    let mut counts = WordCounts::new();
                    let mut memory = Memory::brief(&self.front);
                    let mut counting = Counting::new(&self.front, &mut counts, &mut memory);
                    texts.iter().try_for_each(|&(text, times)| counting.count(text, times))?;
                    Ok(counts)
                },
            )?;
            groups.iter().try_for_each(|group| self.tables[0].merge(group))
        } else {
            self.feed_tables(texts, threads)
        }
    }

    /// Each thread takes groups of texts and counts in a table of its own.
    fn feed_tables(&mut self, texts: &[(&str, u64)], threads: usize) -> Result<()> {
        let mut groups = Vec::new();
        let (mut start, mut bytes) = (0, 0);
        for (index, (text, _)) in texts.iter().enumerate() {
            bytes += text.len();
            if bytes >= GROUP || index + 1 == texts.len() {
                groups.push(start..index + 1);
                (start, bytes) = (index + 1, 0);
            }
        }
        let threads = threads.clamp(1, groups.len().max(1));
        let mut tables = std::mem::take(&mut self.tables);
        if tables.len() < threads {
            tables.resize_with(threads, WordCounts::new);
        }
        let mut memories = std::mem::take(&mut self.memories);
        if memories.len() < threads {
            let bytes = self.options.limit.map(|limit| limit / 16 / threads);
            memories.resize_with(threads, || Memory::lasting(&self.front, bytes));
        }
        let next = AtomicUsize::new(0);
        let failed: Mutex<Option<(usize, Error)>> = Mutex::new(None);
        let run = |table: &mut WordCounts, memory: &mut Memory| {
            let mut counting = Counting::new(&self.front, table, memory);
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(group) = groups.get(at) else { return };
                let mut group = texts[group.clone()].iter();
                let Err(error) = group.try_for_each(|&(text, times)| counting.count(text, times))
                else {
                    continue;
                };
                // Groups are handed out in order: of several errors the first one stays.
                let mut failed = failed.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                if failed.as_ref().is_none_or(|&(other, _)| at < other) {
                    *failed = Some((at, error));
                }
                next.store(groups.len(), Ordering::Relaxed);
            }
        };
        std::thread::scope(|scope| {
            let mut pairs = tables.iter_mut().zip(&mut memories).take(threads);
            let own = pairs.next();
            for (table, memory) in pairs {
                scope.spawn(|| run(table, memory));
            }
            if let Some((table, memory)) = own {
                run(table, memory);
            }
        });
        (self.tables, self.memories) = (tables, memories);
        match failed.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner) {
            Some((_, error)) => Err(error),
            None => Ok(()),
        }
    }

    /// Adds a word that needs no cutting.
    ///
    /// # Errors
    /// As [`WordCounts::add`].
    pub fn add(&mut self, word: &[u8], count: u64) -> Result<()> {
        self.finished = false;
        self.tables[0].add(word, count)
    }

    /// Adds what another counter has written, and returns what was said about it. The words are
    /// read when the counts are asked for.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Input`] for a file that is none, is damaged, or does not know the order
    /// of its words where this counter does.
    pub fn add_file(&mut self, path: &Path) -> Result<String> {
        let (about, ordered, _) = open(path)?;
        if self.options.ordered && !ordered {
            return Err(Error::input(
                "The words of this file are sorted: their first order is lost.",
            )
            .at(path.display().to_string())
            .hint("Count again with the rule \"first-seen\", or train with another rule."));
        }
        self.finished = false;
        // Words of a file come after those that were there before it.
        if self.options.ordered {
            self.spill()?;
        }
        // The words of the file get as many numbers as it can have.
        self.files.push(CountsFile { path: path.to_owned(), base: self.before });
        self.before = self.before.saturating_add(u64::from(u32::MAX));
        Ok(about)
    }

    fn keep_to_limit(&mut self) -> Result<()> {
        let Some(limit) = self.options.limit else { return Ok(()) };
        let allocated: usize = self.tables.iter().map(WordCounts::allocated).sum();
        // A table that grows is copied to twice its size, and sorting takes numbers.
        if allocated > limit / 4 { self.spill() } else { Ok(()) }
    }

    /// Writes the tables to disk, each as a run.
    fn spill(&mut self) -> Result<()> {
        let folder = self.options.folder.clone().unwrap_or_else(std::env::temp_dir);
        let ordered = self.options.ordered;
        self.memories.iter_mut().for_each(Memory::clear);
        for table in &mut self.tables {
            if table.is_empty() {
                continue;
            }
            if table.saturated() {
                return Err(Error::limit("A word count does not fit in 64 bits."));
            }
            let table = std::mem::take(table);
            let order = table.sorted();
            let before = self.before;
            self.runs.push(Run::write(&folder, ordered, |writer| {
                for &i in &order {
                    let (word, count) = table.at(i);
                    let put = writer.put(word, count, before.saturating_add(u64::from(i)));
                    put.map_err(|error| failure(&folder, &error))?;
                }
                Ok(())
            })?);
            self.before = before.saturating_add(table.len() as u64);
        }
        if self.runs.len() >= MOST_RUNS {
            let merged = Run::write(&folder, ordered, |writer| {
                self.merge_runs(false, |record, saturated| {
                    if saturated {
                        return Err(Error::limit("A word count does not fit in 64 bits."));
                    }
                    let put = writer.put(&record.word, record.count, record.first);
                    put.map_err(|error| failure(&folder, &error))
                })
            })?;
            self.runs = vec![merged];
        }
        Ok(())
    }

    fn merge_runs(
        &self,
        files: bool,
        report: impl FnMut(&runs::Record, bool) -> Result<()>,
    ) -> Result<()> {
        let folder = self.options.folder.clone().unwrap_or_else(std::env::temp_dir);
        let mut readers = Vec::new();
        for run in &self.runs {
            readers.push(run.read().map_err(|error| failure(&folder, &error))?);
        }
        let files = if files { self.files.as_slice() } else { &[] };
        for file in files {
            let (_, _, mut reader) = open(&file.path)?;
            reader.start_at(file.base);
            readers.push(reader);
        }
        let name = |i: usize| i.checked_sub(self.runs.len()).map_or(&folder, |i| &files[i].path);
        runs::merge(&mut readers, report, |i, error| failure(name(i), error))?;
        for (file, reader) in files.iter().zip(readers.drain(..).skip(self.runs.len())) {
            check(reader).map_err(|error| failure(&file.path, &error))?;
        }
        Ok(())
    }

    /// Brings all words together, in their order. [`Self::counts`] has them then.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Input`] for runs and files that cannot be read.
    pub fn finish(&mut self) -> Result<()> {
        if self.finished {
            return Ok(());
        }
        // Words get other numbers.
        self.memories = Vec::new();
        if self.runs.is_empty() && self.files.is_empty() {
            if !self.options.ordered {
                self.tables = vec![merged(std::mem::take(&mut self.tables))?];
            }
            self.tables.truncate(1);
            self.finished = true;
            return Ok(());
        }
        self.spill()?;
        let mut whole = WordCounts::new();
        let mut firsts = Vec::new();
        let ordered = self.options.ordered;
        self.merge_runs(true, |record, saturated| {
            if saturated {
                whole.saturate();
            }
            if ordered {
                firsts.push(record.first);
            }
            whole.push(&record.word, record.count)
        })?;
        if ordered {
            let mut order: Vec<(u64, u32)> = firsts.into_iter().zip(0..).collect();
            order.sort_unstable();
            let mut met = WordCounts::new();
            if whole.saturated() {
                met.saturate();
            }
            for (_, i) in order {
                let (word, count) = whole.at(i);
                met.push(word, count)?;
            }
            whole = met;
        }
        (self.tables, self.runs, self.files) = (vec![whole], Vec::new(), Vec::new());
        (self.before, self.finished) = (0, true);
        Ok(())
    }

    /// What was counted, in order, once [`Self::finish`] has brought it together.
    #[must_use]
    pub fn counts(&self) -> &WordCounts {
        &self.tables[0]
    }

    /// Writes the counts to a file, with a text of one line about them, and says what they are in
    /// all. What is on disk is not brought together in memory; where words keep their order, it
    /// takes eight bytes for each.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Input`] for runs that cannot be read or a file that cannot be written,
    /// [`crate::ErrorKind::Limit`] for counts that do not fit in 64 bits.
    pub fn write(&mut self, path: &Path, about: &str) -> Result<Totals> {
        let ordered = self.options.ordered;
        let stored = !self.runs.is_empty() || !self.files.is_empty();
        if stored {
            self.spill()?;
        } else {
            self.finish()?;
        }
        // Where words first occurred, to number them: what is known of it depends on the runs.
        let mut firsts = Vec::new();
        if stored && ordered {
            self.merge_runs(true, |record, _| {
                firsts.push(record.first);
                Ok(())
            })?;
            firsts.sort_unstable();
        }
        let wrong = |error: &io::Error| failure(path, error);
        let file = File::create(path).map_err(|error| wrong(&error))?;
        let mut out = BufWriter::with_capacity(256 << 10, file);
        let order = if ordered { "in the order of first occurrence" } else { "sorted" };
        let head = format!("{MAGIC} {order}\n{}\n", about.replace('\n', " "));
        out.write_all(head.as_bytes()).map_err(|error| wrong(&error))?;
        let hash = Sha256::new_with_prefix(head);
        let mut writer = Writer::new(Hashed { inner: out, hash }, ordered);
        let mut tally = Tally::default();
        let mut put = |word: &[u8], count: u64, first: u64, saturated: bool| {
            if saturated {
                return Err(Error::limit("A word count does not fit in 64 bits."));
            }
            tally.add(word, count);
            writer.put(word, count, first).map_err(|error| wrong(&error))
        };
        if stored {
            self.merge_runs(true, |record, saturated| {
                let first = firsts.partition_point(|&first| first < record.first) as u64;
                put(&record.word, record.count, first, saturated)
            })?;
        } else {
            let counts = self.counts();
            for i in counts.sorted() {
                let (word, count) = counts.at(i);
                put(word, count, u64::from(i), counts.saturated())?;
            }
        }
        let end = || {
            let Hashed { mut inner, hash } = writer.finish()?;
            inner.write_all(&hash.finalize())?;
            inner.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
        };
        end().map_err(|error| wrong(&error))?;
        Ok(tally.totals())
    }
}

/// The words of all tables in canonical order: each table is sorted by a thread of its own, and two
/// by two they are merged.
fn merged(tables: Vec<WordCounts>) -> Result<WordCounts> {
    let mut sorted = in_parallel(tables, WordCounts::into_canonical)?;
    while sorted.len() > 1 {
        let mut pairs = Vec::new();
        while let Some(one) = sorted.pop() {
            pairs.push((one, sorted.pop()));
        }
        sorted = in_parallel(pairs, |(one, two)| match two {
            Some(two) => one.merge_canonical(&two),
            None => Ok(one),
        })?;
    }
    Ok(sorted.pop().unwrap_or_default())
}

/// Does something to each item, in a thread of its own.
fn in_parallel<I: Send, T: Send>(
    items: Vec<I>,
    work: impl Fn(I) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let work = &work;
    std::thread::scope(|scope| {
        let mut items = items.into_iter();
        let first = items.next();
        let others: Vec<_> = items.map(|item| scope.spawn(move || work(item))).collect();
        let first = first.map(work);
        let joined = others.into_iter().map(|thread| match thread.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        first.into_iter().chain(joined).collect()
    })
}

/// What a counts file says of itself, whether its words are in order, and what is to be read of it.
type Opened = (String, bool, Reader<Box<dyn Source>>);

/// Opens a file of counts: what is said about them, whether words know their order, the words.
fn open(path: &Path) -> Result<Opened> {
    let read = || {
        let mut from = BufReader::with_capacity(256 << 10, File::open(path)?);
        let mut hash = Sha256::new();
        let mut line = |most: u64| {
            let mut line = Vec::new();
            from.by_ref().take(most).read_until(b'\n', &mut line)?;
            hash.update(&line);
            if line.pop() != Some(b'\n') {
                return Err(damaged("it does not begin as such a file does"));
            }
            String::from_utf8(line).map_err(|_| damaged("it does not begin as such a file does"))
        };
        let ordered = match line(100)?.strip_prefix(MAGIC) {
            Some(" sorted") => false,
            Some(" in the order of first occurrence") => true,
            _ => return Err(damaged("it does not begin as such a file does")),
        };
        let about = line(1 << 30)?;
        let from: Box<dyn Source> = Box::new(Hashed { inner: from, hash });
        Ok((about, ordered, Reader::new(from, ordered)))
    };
    read().map_err(|error| failure(path, &error))
}

/// Checks that the words were those that were written.
fn check(reader: Reader<Box<dyn Source>>) -> io::Result<()> {
    let from = reader.into_rest();
    let found = from.digest();
    let mut stated = Vec::new();
    from.take(33).read_to_end(&mut stated)?;
    if found.is_none_or(|found| stated == found) {
        return Ok(());
    }
    Err(damaged("their checksum is another one"))
}

/// What runs are read from.
pub(super) trait Source: Read + Send {
    /// SHA-256 of what was read, where it is checked.
    fn digest(&self) -> Option<[u8; 32]>;
}

impl Source for BufReader<File> {
    fn digest(&self) -> Option<[u8; 32]> {
        None
    }
}

/// Hashes what goes through.
struct Hashed<T> {
    inner: T,
    hash: Sha256,
}

impl<W: Write> Write for Hashed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.hash.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<R: Read> Read for Hashed<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(bytes)?;
        self.hash.update(&bytes[..read]);
        Ok(read)
    }
}

impl<R: Read + Send> Source for Hashed<R> {
    fn digest(&self) -> Option<[u8; 32]> {
        Some(self.hash.clone().finalize().into())
    }
}

#[cfg(test)]
mod tests;
