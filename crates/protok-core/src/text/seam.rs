//! Seams: places at which a text may be cut and encoded part by part.
//!
//! A seam is the place between an ASCII letter and a blank that another ASCII letter follows. What
//! a stage does at such a place it may do without looking across, and mostly does; each stage says
//! so of itself, so that whoever cuts a text knows that the parts give what the whole gives.

use super::blocks::{BLOCK, Masks};

/// What may start a part of a text that is cut at joints: before a blank or a line feed.
pub const STARTS: [char; 2] = [' ', '\n'];

/// The places among the 64 bytes of a text from `at` on, but for its first byte, that have one of
/// [`STARTS`], and which.
#[inline]
pub fn starts(text: &[u8], at: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
    let mut padded = [0; BLOCK];
    let block = text[at..].first_chunk().unwrap_or_else(|| {
        padded[..text.len() - at].copy_from_slice(&text[at..]);
        &padded
    });
    let kinds = Masks::of(block);
    let mut bits = (kinds.blanks | kinds.newlines) & !u64::from(at == 0);
    std::iter::from_fn(move || {
        while bits != 0 {
            let place = at + bits.trailing_zeros() as usize;
            bits &= bits - 1;
            match text[place] {
                b' ' => return Some((place, 0)),
                b'\n' => return Some((place, 1)),
                _ => {}
            }
        }
        None
    })
}

/// What a blank may have become: itself, SentencePiece's mark, or GPT-2's letter for it.
const BLANKS: [&[u8]; 3] = [b" ", "\u{2581}".as_bytes(), "\u{120}".as_bytes()];

/// All ASCII letters.
pub fn letters() -> impl Iterator<Item = char> + Clone {
    ('a'..='z').chain('A'..='Z')
}

/// All graphic ASCII characters.
pub fn inks() -> impl Iterator<Item = char> + Clone {
    '!'..='~'
}

/// Whether a blank or a newline follows a graphic ASCII character in a string.
#[must_use]
pub fn crosses_joint(string: &[u8]) -> bool {
    string.windows(2).any(|pair| pair[0].is_ascii_graphic() && matches!(pair[1], b' ' | b'\n'))
}

/// Whether a string reaches over a seam: a blank, or what one may have become, follows a letter in
/// it.
#[must_use]
pub fn crosses(string: &[u8]) -> bool {
    BLANKS.iter().any(|blank| crosses_with(string, blank))
}

/// Whether a string reaches over a seam where a blank is `blank`.
#[must_use]
pub fn crosses_with(string: &[u8], blank: &[u8]) -> bool {
    memchr::memmem::find_iter(string, blank)
        .any(|at| at > 0 && string[at - 1].is_ascii_alphabetic())
}

/// Whether a string starts with a blank.
#[must_use]
pub fn starts_blank(string: &[u8]) -> bool {
    string.first().is_some_and(u8::is_ascii_whitespace)
        || BLANKS.iter().any(|blank| string.starts_with(blank))
}

/// Whether bytes have a seam at a place.
#[must_use]
pub fn is_seam(text: &[u8], at: usize) -> bool {
    let letter = |at: usize| text.get(at).is_some_and(u8::is_ascii_alphabetic);
    at > 0 && text.get(at) == Some(&b' ') && letter(at - 1) && letter(at + 1)
}

/// The last seam that does not change with the text from byte `at` on.
#[must_use]
pub fn before(text: &[u8], at: usize) -> Option<usize> {
    let from = at.min(text.len()).checked_sub(2)?;
    memchr::memrchr_iter(b' ', &text[..=from]).find(|&seam| is_seam(text, seam))
}

/// The first seam that does not change with the text before byte `at`.
#[must_use]
pub fn after(text: &[u8], at: usize) -> Option<usize> {
    let from = at + 1;
    let rest = text.get(from..)?;
    memchr::memchr_iter(b' ', rest).map(|place| from + place).find(|&seam| is_seam(text, seam))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_a_blank_and_letters() {
        let text = b"ab cd  e f";
        let seams: Vec<usize> = (0..text.len()).filter(|&at| is_seam(text, at)).collect();
        assert_eq!(seams, [2, 8]);
        assert_eq!((before(text, 3), before(text, 4), before(text, 99)), (None, Some(2), Some(8)));
        assert_eq!((after(text, 1), after(text, 2), after(text, 8)), (Some(2), Some(8), None));
        assert!(
            crosses(b"a b") && crosses("x\u{2581}".as_bytes()) && crosses("a\u{120}".as_bytes())
        );
        assert!(!crosses(b" a") && !crosses(b"a\n b") && !crosses(b""));
    }
}
