//! Replacing a literal string in bytes that come piece by piece.
//!
//! What waits is the longest end of the text that may still become the string: a beginning of it,
//! so that its length says all (Knuth, Morris and Pratt, 1977).

use super::flow::{Flow, Held};

/// A string, and what it becomes.
#[derive(Debug, Clone)]
pub struct Literal {
    pattern: Vec<u8>,
    /// For each beginning of the string, the length of the longest shorter one that it ends with.
    shorter: Vec<usize>,
    /// What it becomes in the first token, and in the others.
    replacements: [Vec<u8>; 2],
}

/// How far a replacement is.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    waiting: Held,
}

impl Literal {
    /// A string that is not empty, and what it becomes in the first token and in the others.
    pub fn new(pattern: &[u8], first: &[u8], others: &[u8]) -> Self {
        let mut shorter = vec![0; pattern.len()];
        let mut length = 0;
        for at in 1..pattern.len() {
            while length > 0 && pattern[at] != pattern[length] {
                length = shorter[length - 1];
            }
            length += usize::from(pattern[at] == pattern[length]);
            shorter[at] = length;
        }
        Self { pattern: pattern.to_vec(), shorter, replacements: [first.to_vec(), others.to_vec()] }
    }

    /// Replaces in bytes of the first token, or of another one.
    pub fn push(
        &self,
        progress: &mut Progress,
        bytes: &[u8],
        origin: u64,
        others: bool,
        out: &mut Flow,
    ) {
        let waiting = &mut progress.waiting;
        let mut at = 0;
        while at < bytes.len() {
            if waiting.is_empty() {
                let rest = &bytes[at..];
                let next = memchr::memchr(self.pattern[0], rest).unwrap_or(rest.len());
                out.push(&rest[..next], origin);
                at += next;
                if at == bytes.len() {
                    return;
                }
            }
            let byte = bytes[at];
            let mut matched = waiting.bytes().len();
            while matched > 0 && self.pattern[matched] != byte {
                let kept = self.shorter[matched - 1];
                waiting.release(matched - kept, |bytes, origin| out.push(bytes, origin));
                matched = kept;
            }
            if self.pattern[matched] != byte {
                out.push(&[byte], origin);
            } else if matched + 1 == self.pattern.len() {
                let origin = waiting.oldest().unwrap_or(origin);
                waiting.clear();
                out.push(&self.replacements[usize::from(others)], origin);
            } else {
                waiting.push(&[byte], origin);
            }
            at += 1;
        }
    }
}

impl Progress {
    /// Nothing more comes: what waits stays as it is.
    pub fn flush(&mut self, out: &mut Flow) {
        let length = self.waiting.bytes().len();
        self.waiting.release(length, |bytes, origin| out.push(bytes, origin));
    }

    /// What waits.
    pub fn waiting(&self) -> &Held {
        &self.waiting
    }
}
