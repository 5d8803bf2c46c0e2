//! Numbers as short text.

/// Six significant digits without trailing zeros, whole numbers up to a trillion in full: `0.25`, `12345679`, `2.5e-7`, `1e300`.
pub fn six_digits(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let magnitude = value.abs().log10().floor();
    if !(-5.0..12.0).contains(&magnitude) {
        return format!("{:e}", format!("{value:.5e}").parse::<f64>().unwrap_or(value));
    }
    let places = (5.0 - magnitude).max(0.0) as usize;
    let text = format!("{value:.places$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
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
}
