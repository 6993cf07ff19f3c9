//! The digamma function, which turns expected counts into scores.

/// The derivative of the logarithm of the gamma function, for positive `x`: by its recurrence up
/// to 10, and from there by its asymptotic series, exact to about 1e-15.
pub(super) fn digamma(mut x: f64) -> f64 {
    let mut result = 0.0;
    while x < 10.0 {
        result -= 1.0 / x;
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    // Bernoulli numbers over twice their index.
    let terms = [
        -1.0 / 12.0,
        1.0 / 120.0,
        -1.0 / 252.0,
        1.0 / 240.0,
        -1.0 / 132.0,
        691.0 / 32760.0,
        -1.0 / 12.0,
    ];
    let series = terms.iter().rev().fold(0.0, |sum, term| (sum + term) * square);
    result + libm::log(x) - 0.5 / x + series
}

#[cfg(test)]
mod tests {
    use super::digamma;

    #[test]
    fn known_values() {
        const EULER: f64 = 0.577_215_664_901_532_9;
        let known = [
            (1.0, -EULER),
            (2.0, 1.0 - EULER),
            (0.5, -EULER - 2.0 * std::f64::consts::LN_2),
            (10.0, 2.251_752_589_066_721),
            (1000.0, 6.907_255_195_648_812),
        ];
        for (x, expected) in known {
            assert!((digamma(x) - expected).abs() < 1e-13, "{x}: {}", digamma(x));
        }
    }
}
