//! A digest of many megabytes, by several threads.
//!
//! The content is cut into pieces of one size; the digest is BLAKE3 of the length and of the
//! BLAKE3 of each piece. Nobody can find two contents with one digest unless they find two inputs
//! of BLAKE3 with one hash. It depends on nothing else, the number of threads included.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;

use crate::parallel::map_groups;

/// A digest.
pub(super) type Digest = [u8; 32];

const PIECE: u64 = 1 << 20;
/// So much of a file is read at once: it stays near until it is hashed.
const BUFFER: usize = 1 << 17;

/// Of bytes.
pub(super) fn of_bytes(bytes: &[u8], threads: usize) -> Digest {
    let digest = of_pieces(bytes.len() as u64, threads, |piece| {
        Ok(*blake3::hash(&bytes[piece.start as usize..piece.end as usize]).as_bytes())
    });
    // Reading bytes does not fail.
    digest.unwrap_or_default()
}

/// Of a file, without keeping it.
pub(super) fn of_file(path: &Path, threads: usize) -> io::Result<Digest> {
    let length = std::fs::metadata(path)?.len();
    of_pieces(length, threads, |piece| {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(piece.start))?;
        let mut left = (piece.end - piece.start) as usize;
        let mut buffer = vec![0; left.min(BUFFER)];
        let mut hash = blake3::Hasher::new();
        while left > 0 {
            let part = &mut buffer[..left.min(BUFFER)];
            file.read_exact(part)?;
            hash.update(part);
            left -= part.len();
        }
        Ok(*hash.finalize().as_bytes())
    })
}

fn of_pieces(
    length: u64,
    threads: usize,
    hash: impl Fn(&Range<u64>) -> io::Result<Digest> + Sync,
) -> io::Result<Digest> {
    let starts = (0..length).step_by(PIECE as usize);
    let pieces: Vec<Range<u64>> = starts.map(|start| start..length.min(start + PIECE)).collect();
    let size = |piece: &Range<u64>| (piece.end - piece.start) as usize;
    let hashed = map_groups(&pieces, size, threads, |pieces, _| {
        Ok(pieces.iter().map(&hash).collect::<io::Result<Vec<Digest>>>())
    });
    let mut whole = blake3::Hasher::new();
    whole.update(&length.to_le_bytes());
    for digests in hashed.map_err(io::Error::other)? {
        whole.update(digests?.as_flattened());
    }
    Ok(*whole.finalize().as_bytes())
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
