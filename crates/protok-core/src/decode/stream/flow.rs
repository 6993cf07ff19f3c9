//! What goes from stage to stage: the ends of tokens, and bytes with the token that they are from.

/// A part of a [`Flow`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A token begins.
    Open,
    /// Bytes.
    Text,
    /// A token ends.
    Close,
}

#[derive(Debug, Clone, Copy)]
struct Part {
    kind: Kind,
    origin: u64,
    end: usize,
}

/// Bytes, cut where the token that they are from changes. Of bytes that several tokens make
/// together, the first of these counts.
#[derive(Debug, Clone, Default)]
pub struct Flow {
    bytes: Vec<u8>,
    parts: Vec<Part>,
}

impl Flow {
    /// Forgets all, and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.parts.clear();
    }

    /// A token begins.
    pub fn open(&mut self, origin: u64) {
        self.parts.push(Part { kind: Kind::Open, origin, end: self.bytes.len() });
    }

    /// A token ends.
    pub fn close(&mut self, origin: u64) {
        self.parts.push(Part { kind: Kind::Close, origin, end: self.bytes.len() });
    }

    /// Appends bytes.
    #[inline]
    pub fn push(&mut self, bytes: &[u8], origin: u64) {
        if bytes.is_empty() {
            return;
        }
        self.bytes.extend_from_slice(bytes);
        let end = self.bytes.len();
        match self.parts.last_mut() {
            Some(part) if part.kind == Kind::Text && part.origin == origin => part.end = end,
            _ => self.parts.push(Part { kind: Kind::Text, origin, end }),
        }
    }

    /// The parts in order, with their bytes.
    pub fn parts(&self) -> impl Iterator<Item = (Kind, u64, &[u8])> {
        let mut start = 0;
        self.parts.iter().map(move |part| {
            let bytes = &self.bytes[start..part.end];
            start = part.end;
            (part.kind, part.origin, bytes)
        })
    }

    /// All bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether nothing goes on.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }
}

/// Bytes that wait, each with the token that it is from.
#[derive(Debug, Clone, Default)]
pub struct Held {
    bytes: Vec<u8>,
    /// Where the bytes of each token end.
    runs: Vec<(u64, usize)>,
}

impl Held {
    /// Appends bytes.
    pub fn push(&mut self, bytes: &[u8], origin: u64) {
        if bytes.is_empty() {
            return;
        }
        self.bytes.extend_from_slice(bytes);
        let end = self.bytes.len();
        match self.runs.last_mut() {
            Some(run) if run.0 == origin => run.1 = end,
            _ => self.runs.push((origin, end)),
        }
    }

    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The token of the first byte.
    #[must_use]
    pub fn oldest(&self) -> Option<u64> {
        self.runs.first().map(|run| run.0)
    }

    /// Whether nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.runs.clear();
    }

    /// Hands the first `count` bytes on, with the token of each.
    pub fn release(&mut self, count: usize, mut to: impl FnMut(&[u8], u64)) {
        if count == 0 {
            return;
        }
        let mut start = 0;
        for &(origin, end) in &self.runs {
            let end = end.min(count);
            if start < end {
                to(&self.bytes[start..end], origin);
            }
            start = end;
        }
        self.bytes.drain(..count);
        self.runs.retain(|run| run.1 > count);
        self.runs.iter_mut().for_each(|run| run.1 -= count);
    }

    /// The token of the byte at a place.
    #[must_use]
    pub fn origin_at(&self, at: usize) -> Option<u64> {
        self.runs.iter().find(|run| run.1 > at).map(|run| run.0)
    }
}
