//! The matches of a pattern that leaves out nothing, many at a time.
//!
//! Such matches tile a text: where one ends the next begins, so that their ends say all. They are
//! found in blocks where the grammar is known and the text is ASCII, else one by one; ahead of
//! what is done with them, so that nothing waits for the branches that are guessed wrong here.

use super::blocks::Ends;
use super::scan::{Matcher, Matches};
use crate::error::Result;

/// The matches of a text.
#[derive(Debug)]
pub struct Tiles<'m, 't> {
    matcher: &'m Matcher,
    matches: Matches<'m, 't>,
    text: &'t [u8],
    at: usize,
}

impl<'m, 't> Tiles<'m, 't> {
    /// Of a pattern that covers every text ([`Matcher::covers`]).
    #[must_use]
    pub fn new(matcher: &'m Matcher, text: &'t str) -> Self {
        Self { matcher, matches: matcher.matches(text), text: text.as_bytes(), at: 0 }
    }

    /// Puts the ends of the next matches into `ends`: none at the end of the text.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Limit`] if the search reaches its bound.
    #[inline]
    pub fn next_ends(&mut self, ends: &mut Ends) -> Result<()> {
        ends.clear();
        let Some(blocks) = self.matcher.blocks() else {
            while ends.has_room()
                && let Some((_, end)) = self.matches.next_match()?
            {
                ends.push(end);
            }
            return Ok(());
        };
        while ends.has_room() {
            let at = blocks.scan(self.text, self.at, ends);
            if at > self.at {
                self.at = at;
                self.matches.go_on_at(at);
                if !ends.has_room() {
                    break;
                }
            }
            // Go on one by one as long as no block could.
            loop {
                let Some((_, end)) = self.matches.next_match()? else { return Ok(()) };
                self.at = end;
                ends.push(end);
                let ascii =
                    self.text[end..].first_chunk().is_none_or(|next: &[u8; 8]| next.is_ascii());
                if ascii || !ends.has_room() {
                    break;
                }
            }
        }
        Ok(())
    }
}
