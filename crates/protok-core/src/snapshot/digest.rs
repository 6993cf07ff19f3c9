//! A digest of many megabytes, by several threads.
//!
//! The content is cut into pieces of one size; the digest is BLAKE3 of the length and of the
//! BLAKE3 of each piece. Nobody can find two contents with one digest unless they find two inputs
//! of BLAKE3 with one hash. It depends on nothing else, the number of threads included.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// A digest.
pub(super) type Digest = [u8; 32];

const PIECE: u64 = 1 << 20;
/// A thread is worth its start for so many pieces.
const PIECES_A_THREAD: u64 = 2;
/// So much of a file is read at once: it stays near until it is hashed.
const BUFFER: usize = 1 << 17;

/// Of bytes.
pub(super) fn of_bytes(bytes: &[u8], threads: usize) -> Digest {
    let piece = |index: u64| {
        let start = (index * PIECE) as usize;
        Ok(*blake3::hash(&bytes[start..bytes.len().min(start + PIECE as usize)]).as_bytes())
    };
    // Reading bytes does not fail.
    of_pieces(bytes.len() as u64, threads, &|| Ok(piece)).unwrap_or_default()
}

/// Of a file, without keeping it.
pub(super) fn of_file(path: &Path, threads: usize) -> io::Result<Digest> {
    let length = std::fs::metadata(path)?.len();
    of_pieces(length, threads, &|| {
        let mut file = File::open(path)?;
        let mut buffer = vec![0; BUFFER];
        Ok(move |index: u64| {
            let mut left = (length - index * PIECE).min(PIECE) as usize;
            let mut hash = blake3::Hasher::new();
            file.seek(SeekFrom::Start(index * PIECE))?;
            while left > 0 {
                let part = &mut buffer[..left.min(BUFFER)];
                file.read_exact(part)?;
                hash.update(part);
                left -= part.len();
            }
            Ok(*hash.finalize().as_bytes())
        })
    })
}

/// Hashes the pieces on up to so many threads, each with a reader of its own.
fn of_pieces<R: FnMut(u64) -> io::Result<Digest>>(
    length: u64,
    threads: usize,
    reader: &(impl Fn() -> io::Result<R> + Sync),
) -> io::Result<Digest> {
    let count = length.div_ceil(PIECE);
    let next = AtomicU64::new(0);
    let work = || -> io::Result<Vec<(u64, Digest)>> {
        let mut read = reader()?;
        let mut done = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= count {
                return Ok(done);
            }
            done.push((index, read(index)?));
        }
    };
    let threads = (threads as u64).min(count / PIECES_A_THREAD).max(1);
    let mut pieces = std::thread::scope(|scope| -> io::Result<_> {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut pieces = work()?;
        for other in others {
            let panicked = |_| io::Error::other("A thread that hashes a file failed.");
            pieces.extend(other.join().map_err(panicked)??);
        }
        Ok(pieces)
    })?;
    pieces.sort_unstable_by_key(|&(index, _)| index);
    let mut hash = blake3::Hasher::new();
    hash.update(&length.to_le_bytes());
    for (_, digest) in &pieces {
        hash.update(digest);
    }
    Ok(*hash.finalize().as_bytes())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn files_bytes_and_threads_agree() {
        let path = std::env::temp_dir().join(format!("protok-digest-{}", std::process::id()));
        let mut seen = std::collections::HashSet::new();
        for length in [0, 1, BUFFER, PIECE as usize, PIECE as usize + 1, 5 * PIECE as usize + 7] {
            let bytes: Vec<u8> = (0..length).map(|i| (i % 251) as u8).collect();
            std::fs::write(&path, &bytes).unwrap();
            let digest = of_bytes(&bytes, 1);
            for threads in [1, 2, 7] {
                assert_eq!(of_bytes(&bytes, threads), digest, "{length}");
                assert_eq!(of_file(&path, threads).unwrap(), digest, "{length}");
            }
            assert!(seen.insert(digest));
        }
        std::fs::remove_file(&path).unwrap();
        assert!(of_file(&path, 1).is_err());
    }
}
