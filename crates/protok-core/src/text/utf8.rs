//! UTF-8: where it breaks, and how broken bytes read.

use crate::error::{Error, Result};

/// `bytes` as text, or an error that names the first bad byte.
///
/// # Errors
/// [`crate::ErrorKind::Input`] with the byte position and the byte in hexadecimal.
pub fn validate(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        Error::input(format!("The text is not UTF-8: byte 0x{:02X} at position {at}.", bytes[at]))
            .hint("Decode it first, or use encode_bytes where the tokenizer can hold any bytes.")
            .position(at)
            .value(format!("0x{:02X}", bytes[at]))
    })
}

/// Calls `section` for each longest stretch of `bytes` that is UTF-8, or is not: `Ok(text)` or
/// `Err(bytes)`, with where it starts. Neighbouring broken sequences form one stretch.
///
/// # Errors
/// The first error that `section` returns.
pub fn for_each_section<'a>(
    bytes: &'a [u8],
    mut section: impl FnMut(std::result::Result<&'a str, &'a [u8]>, usize) -> Result<()>,
) -> Result<()> {
    let mut start = 0;
    let mut broken: Option<(usize, usize)> = None;
    for chunk in bytes.utf8_chunks() {
        let valid_end = start + chunk.valid().len();
        if valid_end > start {
            if let Some((from, to)) = broken.take() {
                section(Err(&bytes[from..to]), from)?;
            }
            section(Ok(chunk.valid()), start)?;
        }
        let end = valid_end + chunk.invalid().len();
        if end > valid_end {
            broken = Some((broken.map_or(valid_end, |(from, _)| from), end));
        }
        start = end;
    }
    match broken {
        Some((from, to)) => section(Err(&bytes[from..to]), from),
        None => Ok(()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn sections_alternate_and_cover() {
        let bytes = b"ab\xff\xfe\xe2\x82c\xc3\xa9\x80";
        let mut seen = Vec::new();
        for_each_section(bytes, |part, at| {
            seen.push((part.map(str::to_owned).map_err(<[u8]>::to_vec), at));
            Ok(())
        })
        .unwrap();
        assert_eq!(
            seen,
            vec![
                (Ok("ab".to_owned()), 0),
                (Err(b"\xff\xfe\xe2\x82".to_vec()), 2),
                (Ok("cé".to_owned()), 6),
                (Err(b"\x80".to_vec()), 9),
            ]
        );
        assert_eq!(validate(bytes).unwrap_err().position, Some(2));
    }
}
