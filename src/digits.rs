//! Numbers as short text, and round numbers.

/// Significant digits with which any two `f64` differ.
const ALL_DIGITS: usize = 17;

/// Six significant digits without trailing zeros, whole numbers up to a trillion in full: `0.25`,
/// `12345679`, `2.5e-7`, `1e300`.
pub fn six_digits(value: f64) -> String {
    significant_digits(value, 6)
}

/// Two numbers with six significant digits, or with more where they would be the same text: one
/// more than distinguishes them.
pub fn six_digits_apart(values: [f64; 2]) -> [String; 2] {
    let texts = |count: usize| values.map(|value| significant_digits(value, count));
    let differ = |count: &usize| values[0] == values[1] || texts(*count)[0] != texts(*count)[1];
    match (6..=ALL_DIGITS).find(differ) {
        Some(6) => texts(6),
        Some(count) => texts((count + 1).min(ALL_DIGITS)),
        None => texts(ALL_DIGITS),
    }
}

/// `count` significant digits, from 1 to 17, without trailing zeros; whole numbers up to a trillion
/// in full.
pub fn significant_digits(value: f64, count: usize) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let (magnitude, behind) = (decimal_exponent(value), count.clamp(1, ALL_DIGITS) - 1);
    if !(-5..12).contains(&magnitude) {
        return format!(
            "{:e}",
            format!("{value:.behind$e}").parse::<f64>().unwrap_or(value)
        );
    }
    let places = usize::try_from(behind as i32 - magnitude).unwrap_or_default();
    let text = format!("{value:.places$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// The largest power of ten that is at most `value`; `value` has to be positive and finite.
pub fn power_of_ten(value: f64) -> f64 {
    // Read from text, which is exact; the logarithm and the power differ between the C libraries of
    // the systems.
    format!("1e{}", decimal_exponent(value))
        .parse()
        .unwrap_or(value)
}

/// The largest of 1, 2 and 5 times a power of ten that is at most `value`; `value` has to be
/// positive and finite.
pub fn round_at_most(value: f64) -> f64 {
    let exponent = decimal_exponent(value);
    let round = |digit: u8| format!("{digit}e{exponent}").parse().unwrap_or(value);
    [5, 2, 1]
        .map(round)
        .into_iter()
        .find(|round| *round <= value)
        .unwrap_or(value)
}

/// The exponent of `value` in scientific notation; 0 when it has none.
pub fn decimal_exponent(value: f64) -> i32 {
    format!("{value:e}")
        .rsplit_once('e')
        .and_then(|(_, exponent)| exponent.parse().ok())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_six_significant_digits() {
        let cases = [
            (0.0, "0"),
            (0.25, "0.25"),
            (123.4, "123.4"),
            (999_999.0, "999999"),
            (-1_234_567.0, "-1234567"),
            (5.674593548387096, "5.67459"),
            (104.2052, "104.205"),
            (-0.001234567, "-0.00123457"),
            (12_345_678.9, "12345679"),
            (1e15, "1e15"),
            (2.5e-7, "2.5e-7"),
            (1.234567e300, "1.23457e300"),
            (f64::NAN, "NaN"),
            (f64::INFINITY, "inf"),
        ];
        for (value, text) in cases {
            assert_eq!(six_digits(value), text);
        }
    }

    #[test]
    fn numbers_that_differ_have_different_texts() {
        for (pair, texts) in [
            ([0.25, 1.0], ["0.25", "1"]),
            ([100_000.01, 100_000.02], ["100000.01", "100000.02"]),
            (
                [100_000.001_23, 100_000.001_27],
                ["100000.00123", "100000.00127"],
            ),
            (
                [2e15, 2_000_000_000_000_001.0],
                ["2e15", "2.000000000000001e15"],
            ),
            ([7.0, 7.0], ["7", "7"]),
        ] {
            assert_eq!(six_digits_apart(pair), texts);
        }
        for low in [1.0, 123.456, 1e-7, 1e17, -5.5e200] {
            let high = f64::next_up(low);
            let [one, other] = six_digits_apart([low, high]);
            assert_ne!(one, other);
        }
    }

    #[test]
    fn round_numbers_are_exact() {
        for exponent in -300..300 {
            let power: f64 = format!("1e{exponent}").parse().expect("a number");
            assert_eq!((power_of_ten(power), round_at_most(power)), (power, power));
            assert_eq!(power_of_ten(power.next_up()), power);
            assert!(power_of_ten(power.next_down()) < power);
        }
        assert_eq!(
            [730.0, 1999.0, 0.07, 5.0, 4.999].map(round_at_most),
            [500.0, 1000.0, 0.05, 5.0, 2.0]
        );
    }
}
