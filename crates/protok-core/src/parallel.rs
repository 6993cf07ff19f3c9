//! Work on many items with scoped threads.
//!
//! Items are handed out in groups of about 256 KiB of text from one counter; results come back in
//! the order of the items. Threads live as long as the call, so there is no pool to configure or
//! to break in a fork. Below 1 MiB one thread does it all.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::error::Result;

/// Bytes of text that a thread takes at a time.
const GROUP: usize = 256 << 10;

/// Less than this is not worth a second thread.
const SERIAL: usize = 1 << 20;

/// The number of threads to use: what was asked for, or the cores that the process may use.
#[must_use]
pub fn thread_count(asked: Option<usize>) -> usize {
    asked.unwrap_or_else(|| {
        std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get)
    })
}

/// Runs `work` on each item, on up to `threads` threads, and returns the results in order. Of
/// several errors the one of the lowest item is returned, whatever the threads did.
///
/// # Errors
/// What `work` returns.
pub fn map_groups<I: Sync, T: Send>(
    items: &[I],
    size: impl Fn(&I) -> usize,
    threads: usize,
    work: impl Fn(&[I], usize) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let mut groups = Vec::new();
    let (mut start, mut bytes, mut total) = (0, 0, 0);
    for (index, item) in items.iter().enumerate() {
        let size = size(item);
        bytes += size;
        total += size;
        if bytes >= GROUP {
            groups.push(start..index + 1);
            start = index + 1;
            bytes = 0;
        }
    }
    if start < items.len() {
        groups.push(start..items.len());
    }
    let threads = if total < SERIAL { 1 } else { threads.min(groups.len()) };
    if threads <= 1 {
        return groups.into_iter().map(|group| work(&items[group.clone()], group.start)).collect();
    }
    let next = AtomicUsize::new(0);
    let failed = AtomicBool::new(false);
    let run = || {
        let mut results = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(group) = groups.get(index) else { break };
            // Groups are handed out in order, so every group before a failed one is done too.
            if failed.load(Ordering::Relaxed) {
                break;
            }
            let result = work(&items[group.clone()], group.start);
            if result.is_err() {
                failed.store(true, Ordering::Relaxed);
            }
            results.push((index, result));
        }
        results
    };
    let mut results = std::thread::scope(|scope| {
        let workers: Vec<_> = (1..threads).map(|_| scope.spawn(run)).collect();
        let mut results = run();
        for worker in workers {
            match worker.join() {
                Ok(more) => results.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        results
    });
    results.sort_unstable_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}
