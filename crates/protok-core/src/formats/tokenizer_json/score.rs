//! The reference's decimal numbers: read inexactly, and written so that they come back.
//!
//! `tokenizers` reads a number as its digits (the first that fit into 64 bits) rounded to a
//! double, then multiplied or divided by a power of ten, which rounds again. About a quarter of
//! the scores of a real Unigram model end one unit in the last place beside the nearest double,
//! and that decides ties. Models were trained with these values, so they are *the* values.
//!
//! Writing is the reverse: the shortest decimal that this rule reads as the wanted double. Some
//! doubles have none; such a score cannot be stored in a `tokenizer.json`.

use std::sync::LazyLock;

/// Reads a JSON number by the reference's rule. `None`: not a number, or out of range.
pub(super) fn parse(text: &str) -> Option<f64> {
    let bytes = text.as_bytes();
    let (negative, mut at) = match bytes.first()? {
        b'-' => (true, 1),
        _ => (false, 0),
    };
    if !bytes.get(at)?.is_ascii_digit() {
        return None;
    }
    let mut significand: u64 = 0;
    let mut exponent: i32 = 0;
    let mut full = false;
    while let Some(digit) = bytes.get(at).filter(|byte| byte.is_ascii_digit()) {
        match push(significand, *digit).filter(|_| !full) {
            Some(longer) => significand = longer,
            None => {
                full = true;
                exponent = exponent.checked_add(1)?;
            }
        }
        at += 1;
    }
    if bytes.get(at) == Some(&b'.') {
        at += 1;
        // Leading digits that did not fit do not close the number: the fraction tries again.
        full = false;
        while let Some(digit) = bytes.get(at).filter(|byte| byte.is_ascii_digit()) {
            match push(significand, *digit).filter(|_| !full) {
                Some(longer) => {
                    significand = longer;
                    exponent = exponent.checked_sub(1)?;
                }
                None => full = true,
            }
            at += 1;
        }
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        at += 1;
        let down = bytes.get(at) == Some(&b'-');
        if matches!(bytes.get(at), Some(b'-' | b'+')) {
            at += 1;
        }
        let mut power: i32 = 0;
        while let Some(digit) = bytes.get(at).filter(|byte| byte.is_ascii_digit()) {
            match power.checked_mul(10).and_then(|p| p.checked_add(i32::from(digit - b'0'))) {
                Some(longer) => power = longer,
                None if down || significand == 0 => {
                    return Some(if negative { -0.0 } else { 0.0 });
                }
                None => return None,
            }
            at += 1;
        }
        exponent =
            if down { exponent.saturating_sub(power) } else { exponent.saturating_add(power) };
    }
    if at != bytes.len() {
        return None;
    }
    let value = scale(significand, exponent)?;
    Some(if negative { -value } else { value })
}

fn push(significand: u64, digit: u8) -> Option<u64> {
    significand.checked_mul(10)?.checked_add(u64::from(digit - b'0'))
}

fn scale(significand: u64, mut exponent: i32) -> Option<f64> {
    #[allow(clippy::cast_precision_loss)]
    let mut value = significand as f64;
    loop {
        if exponent.unsigned_abs() <= 308 {
            let power = power_of_ten(exponent.unsigned_abs());
            value = if exponent >= 0 { value * power } else { value / power };
            return value.is_finite().then_some(value);
        }
        if value == 0.0 {
            return Some(value);
        }
        if exponent > 0 {
            return None;
        }
        value /= 1e308;
        exponent += 308;
    }
}

/// The double nearest to a power of ten up to 308.
fn power_of_ten(exponent: u32) -> f64 {
    static POWERS: LazyLock<Vec<f64>> = LazyLock::new(|| {
        // The standard library reads decimals exactly.
        (0..=308).filter_map(|exponent| format!("1e{exponent}").parse().ok()).collect()
    });
    POWERS[exponent as usize]
}

/// The text that [`parse`] reads as `value`, the shortest there is among those it tries.
pub(super) fn spell(value: f64) -> Option<String> {
    if !value.is_finite() {
        return None;
    }
    let reads_back = |text: &str| parse(text).is_some_and(|read| read.to_bits() == value.to_bits());
    let shortest = serde_json::to_string(&value).ok().filter(|text| reads_back(text));
    if shortest.is_some() {
        return shortest;
    }
    let sign = if value.is_sign_negative() { "-" } else { "" };
    #[allow(clippy::cast_possible_truncation)]
    let magnitude = value.abs().log10().floor() as i32;
    // From few digits to as many as fit into 64 bits.
    for exponent in (magnitude - 19..=magnitude).rev() {
        let scaled = match exponent {
            -308..=308 if exponent < 0 => value.abs() * power_of_ten(exponent.unsigned_abs()),
            -308..=308 => value.abs() / power_of_ten(exponent.unsigned_abs()),
            _ => value.abs() * 1e308 * power_of_ten((-308 - exponent).unsigned_abs()),
        };
        if scaled >= 18_446_744_073_709_551_615.0 {
            break;
        }
        // The integers near it, and the doubles near it (above 2^53 these are further apart).
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let integer = |double: f64| double.round() as u64;
        let doubles = (-3i64..=3)
            .filter_map(|offset| scaled.to_bits().checked_add_signed(offset))
            .map(|bits| integer(f64::from_bits(bits)));
        let integers = (-3i64..=3).filter_map(|o| integer(scaled).checked_add_signed(o));
        for digits in integers.chain(doubles) {
            let text = format!("{sign}{}", decimal(digits, exponent));
            if reads_back(&text) {
                return Some(text);
            }
        }
    }
    None
}

/// `digits` times a power of ten.
fn decimal(digits: u64, exponent: i32) -> String {
    if !(-40..0).contains(&exponent) {
        return format!("{digits}e{exponent}");
    }
    let places = exponent.unsigned_abs() as usize;
    let padded = format!("{digits:0>width$}", width = places + 1);
    let (whole, fraction) = padded.split_at(padded.len() - places);
    format!("{whole}.{fraction}")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn reads_as_the_reference_does() {
        // Values that tokenizers 0.23.3 gives for these digits.
        assert_eq!(parse("-2.0122928619384766").unwrap().to_bits(), {
            let digits: f64 = 20_122_928_619_384_766u64 as f64;
            (-(digits / 1e16)).to_bits()
        });
        assert_eq!(parse("0"), Some(0.0));
        assert!(parse("-0").unwrap().is_sign_negative());
        assert_eq!(parse("1e400"), None);
        assert_eq!(parse("1e-400"), Some(0.0));
        assert_eq!(parse("1e-99999999999"), Some(0.0));
        assert_eq!(parse("99999999999999999999999"), Some(9_999_999_999_999_999_999.0 * 1e4));
        assert_eq!(parse("true"), None);
        assert_eq!(parse("-"), None);
    }

    #[test]
    fn what_is_read_can_be_written() {
        for text in [
            "-9.55438232421875",
            "-13.8155",
            "-2.012292861938477",
            "0.1",
            "-1e-9",
            "5",
            "1.08641261531211e-309",
            "5e-324",
            "1.7e308",
        ] {
            let value = parse(text).unwrap();
            assert_eq!(parse(&spell(value).unwrap()).unwrap().to_bits(), value.to_bits());
        }
        assert_eq!(spell(f64::NAN), None);
    }
}
