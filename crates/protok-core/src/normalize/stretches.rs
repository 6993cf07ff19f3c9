//! What is looked for at each place of a text: user-defined pieces, which stay as they are, and the
//! keys of a character map, which are replaced. The longest of the first kind wins, then the longest
//! of the second; else one character is copied.

use super::Charsmap;
use crate::error::{Error, Result};
use crate::spec::Semantics;
use crate::text::seam::crosses_joint;
use crate::vocab::SeededMap;

/// Longer user-defined pieces are refused: at each place of a text so far is read ahead.
const MAX_PROTECTED: usize = 1024;

/// The pieces and the map.
#[derive(Debug)]
pub(super) struct Stretches {
    charsmap: Option<Charsmap>,
    protected: Option<Pieces>,
    /// The start of a piece stays as it is, too: llama.cpp does not ask whether a piece ends.
    starts: bool,
    /// Whether a piece reaches over a joint.
    cross: bool,
    /// Whether a piece starts with a newline and goes on.
    newlines: bool,
}

/// The pieces, as steps from node to node: built in time linear in their bytes, whatever they are.
#[derive(Debug)]
struct Pieces {
    steps: SeededMap<(u32, u8), u32>,
    /// Whether a piece ends at each node.
    ends: Vec<bool>,
}

impl Pieces {
    fn new(pieces: &[String]) -> Self {
        let mut new = Self { steps: SeededMap::default(), ends: vec![false] };
        for piece in pieces.iter().filter(|piece| !piece.is_empty()) {
            let mut node = 0;
            for &byte in piece.as_bytes() {
                let next = new.ends.len() as u32;
                node = *new.steps.entry((node, byte)).or_insert(next);
                if node == next {
                    new.ends.push(false);
                }
            }
            new.ends[node as usize] = true;
        }
        new
    }

    /// The bytes of the longest piece that the text starts with, or 0; with `starts` those of the
    /// longest start of a piece.
    fn longest(&self, text: &[u8], starts: bool) -> usize {
        let (mut node, mut longest) = (0, 0);
        for (byte, length) in text.iter().zip(1..) {
            match self.steps.get(&(node, *byte)) {
                Some(&next) => node = next,
                None => break,
            }
            if starts || self.ends[node as usize] {
                longest = length;
            }
        }
        longest
    }
}

impl Stretches {
    /// Compiles a character map in base64, if there is one, and the pieces. With `starts` a text
    /// that starts like a piece stays as it is as far as that goes, so pieces have to be ASCII.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Artifact`] for a bad map, or a piece that is too long.
    pub(super) fn compile(
        charsmap: Option<&str>,
        protected: &[String],
        starts: bool,
    ) -> Result<Self> {
        let charsmap = match charsmap {
            None | Some("") => None,
            Some(encoded) => Some(Charsmap::compile(encoded, Semantics::SentencePiece)?),
        };
        if protected.iter().any(|piece| piece.len() > MAX_PROTECTED) {
            return Err(Error::artifact("protected", "A user-defined piece is too long.")
                .hint(format!("Such pieces may have {MAX_PROTECTED} bytes.")));
        }
        if let Some(piece) = protected.iter().find(|piece| starts && !piece.is_ascii()) {
            return Err(Error::artifact("protected", "A user-defined piece is not ASCII.")
                .value(piece.clone())
                .hint("llama.cpp would cut through characters of other texts."));
        }
        let cross = protected.iter().any(|piece| crosses_joint(piece.as_bytes()));
        let newlines = protected.iter().any(|piece| piece.starts_with('\n') && piece.len() > 1);
        let protected = (!protected.is_empty()).then(|| Pieces::new(protected));
        Ok(Self { charsmap, protected, starts, cross, newlines })
    }

    /// Whether neither looks across a blank or a newline behind a graphic ASCII character, and what
    /// `blank` becomes there does not depend on what is behind it.
    pub(super) fn keep_joints(&self, blank: char) -> bool {
        let mapped = self.charsmap.as_ref().is_none_or(Charsmap::keeps_joints);
        // A piece that starts with one stays as it is; one by itself may not.
        let alike = blank != '\n' || !self.newlines || self.next("\n").1 == "\n";
        mapped && !self.cross && alike
    }

    /// Whether neither looks across a blank or a newline behind a letter beyond ASCII.
    pub(super) fn join_wide(&self) -> bool {
        self.protected.is_none() && !self.charsmap.as_ref().is_some_and(Charsmap::crosses_wide)
    }

    /// How many bytes of the text are replaced next, and by what.
    pub(super) fn next<'a>(&'a self, text: &'a str) -> (usize, &'a str) {
        if let Some(protected) = &self.protected {
            let length = protected.longest(text.as_bytes(), self.starts);
            if length > 0 {
                return (length, &text[..length]);
            }
        }
        if let Some(found) = self.charsmap.as_ref().and_then(|map| map.longest(text)) {
            return found;
        }
        let width = text.chars().next().map_or(0, char::len_utf8);
        (width, &text[..width])
    }
}
