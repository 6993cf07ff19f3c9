//! Truncation: which tokens of each text are kept, and the windows that the rest falls into.
//!
//! The rules are those of `tokenizers` with the strategy "longest first": the template's control
//! tokens count towards the length but are never cut; of two texts the longer is cut first, then
//! both evenly. With a stride, neighbouring windows share that many tokens.

use crate::error::{Error, Result};

/// Which side of a text is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The start.
    Left,
    /// The end.
    Right,
    /// Neither: a longer text is an error.
    Refuse,
}

/// How to truncate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Truncation {
    /// The most tokens, with the template's.
    pub max_length: usize,
    /// Which side is cut.
    pub side: Side,
    /// How many tokens neighbouring windows share.
    pub stride: usize,
}

/// A window: the first token of a text in it, and past the last.
pub type Window = (usize, usize);

impl Truncation {
    /// The windows of each text, of `lengths` tokens: the first is kept, the others overflow.
    /// `added` is what the template adds.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Input`] where nothing may be cut, the template alone is longer, or the
    /// stride leaves no progress.
    pub fn windows(&self, lengths: &[usize], added: usize) -> Result<Vec<Vec<Window>>> {
        let total = lengths.iter().sum::<usize>();
        let whole = || lengths.iter().map(|&length| vec![(0, length)]).collect();
        if total + added <= self.max_length {
            return Ok(whole());
        }
        let Some(room) = self.max_length.checked_sub(added) else {
            return Err(Error::input(format!(
                "max_length={} is less than the {added} control tokens that the template adds.",
                self.max_length
            ))
            .value(self.max_length.to_string())
            .hint("Raise it, or pass add_special_tokens=False."));
        };
        if self.side == Side::Refuse {
            return Err(Error::input(format!(
                "The text has {} tokens, more than max_length={}.",
                total + added,
                self.max_length
            ))
            .value((total + added).to_string())
            .hint("Pass truncation=\"right\" or \"left\" to cut it."));
        }
        budgets(lengths, room)
            .into_iter()
            .zip(lengths)
            .map(|(most, &length)| self.cut(length, most))
            .collect()
    }

    fn cut(&self, length: usize, most: usize) -> Result<Vec<Window>> {
        if length <= most {
            return Ok(vec![(0, length)]);
        }
        if most == 0 {
            return Ok(vec![(0, 0), (0, length)]);
        }
        let Some(step) = most.checked_sub(self.stride).filter(|&step| step > 0) else {
            return Err(Error::input(format!(
                "stride={} leaves no progress in windows of {most} tokens.",
                self.stride
            ))
            .value(self.stride.to_string())
            .hint("It must be less than max_length without the template's control tokens."));
        };
        let mut windows = Vec::new();
        let mut done = 0;
        loop {
            let end = (done + most).min(length);
            windows.push(match self.side {
                Side::Left => (length - end, length - done),
                Side::Right | Side::Refuse => (done, end),
            });
            if end == length {
                return Ok(windows);
            }
            done += step;
        }
    }
}

/// How many tokens of each text are kept.
fn budgets(lengths: &[usize], room: usize) -> Vec<usize> {
    match *lengths {
        [first, second] if room > 0 => {
            let (short, long) = (first.min(second), first.max(second));
            let kept_long = if short > room { short } else { short.max(room - short) };
            let (kept_short, kept_long) = if short + kept_long > room {
                (room / 2, room / 2 + room % 2)
            } else {
                (short, kept_long.min(long))
            };
            if first > second { vec![kept_long, kept_short] } else { vec![kept_short, kept_long] }
        }
        _ => vec![room; lengths.len()],
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn windows(
        max_length: usize,
        side: Side,
        stride: usize,
        lengths: &[usize],
    ) -> Vec<Vec<Window>> {
        Truncation { max_length, side, stride }.windows(lengths, 2).unwrap()
    }

    #[test]
    fn one_text() {
        assert_eq!(windows(12, Side::Right, 0, &[10]), [vec![(0, 10)]]);
        assert_eq!(windows(6, Side::Right, 0, &[10]), [vec![(0, 4), (4, 8), (8, 10)]]);
        assert_eq!(windows(6, Side::Right, 2, &[10]), [vec![(0, 4), (2, 6), (4, 8), (6, 10)]]);
        assert_eq!(windows(6, Side::Left, 1, &[10]), [vec![(6, 10), (3, 7), (0, 4)]]);
        assert_eq!(windows(2, Side::Right, 0, &[3]), [vec![(0, 0), (0, 3)]]);
    }

    #[test]
    fn two_texts() {
        assert_eq!(windows(12, Side::Right, 0, &[3, 9]), [vec![(0, 3)], vec![(0, 7), (7, 9)]]);
        assert_eq!(
            windows(9, Side::Right, 0, &[9, 5]),
            [vec![(0, 4), (4, 8), (8, 9)], vec![(0, 3), (3, 5)]]
        );
    }

    #[test]
    fn refusals() {
        let refuse = |max_length, side, stride| {
            Truncation { max_length, side, stride }.windows(&[9], 2).unwrap_err()
        };
        assert!(refuse(5, Side::Refuse, 0).what.contains("11 tokens"));
        assert!(refuse(1, Side::Right, 0).what.contains("max_length=1"));
        assert!(refuse(5, Side::Right, 3).what.contains("stride=3"));
    }
}
