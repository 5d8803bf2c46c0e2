//! Digits of decimal numbers, by the rules of DuckDB.

use std::fmt;

use polars::prelude::{DataType, UnknownKind};

/// Most digits of a decimal number.
pub(super) const DIGITS: usize = 38;

/// The widest decimal number that DuckDB computes with 64 bits: sums and products of such numbers
/// are no wider.
const DIGITS_OF_64_BITS: usize = 18;

/// Digits of a decimal number, and how many of them are behind the point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct DecimalWidth {
    pub width: usize,
    pub scale: usize,
}

impl DecimalWidth {
    /// Of an integer of a type that has numbers of so many digits.
    pub fn of_integers(width: usize) -> Self {
        Self { width, scale: 0 }
    }

    /// Of the exact numbers of a type of the engine; `None` for other types.
    pub fn of_type(dtype: &DataType) -> Option<Self> {
        Some(match dtype {
            DataType::Decimal(width, scale) => Self {
                width: *width,
                scale: *scale,
            },
            DataType::Int8 | DataType::UInt8 => Self::of_integers(3),
            DataType::Int16 | DataType::UInt16 => Self::of_integers(5),
            DataType::Int32 | DataType::UInt32 | DataType::Unknown(UnknownKind::Int(_)) => {
                Self::of_integers(10)
            }
            DataType::Int64 => Self::of_integers(19),
            DataType::UInt64 => Self::of_integers(20),
            _ => return None,
        })
    }

    /// Of an unsigned number as it is written; `None` of one with a power of ten and of one with
    /// more digits than a decimal number has.
    pub fn of_written_number(text: &str) -> Option<Self> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let width = whole.len() + fraction.len();
        let is_decimal = is_digits(whole) && is_digits(fraction) && (1..=DIGITS).contains(&width);
        is_decimal.then_some(Self {
            width,
            scale: fraction.len(),
        })
    }

    fn digits_before_point(self) -> usize {
        self.width.saturating_sub(self.scale)
    }

    /// Of the type that holds the numbers of both.
    pub fn common_width(self, other: Self) -> Self {
        let scale = self.scale.max(other.scale);
        let whole = self.digits_before_point().max(other.digits_before_point());
        Self {
            width: whole.saturating_add(scale).min(DIGITS),
            scale,
        }
    }

    /// Of a sum or a difference.
    pub fn of_sum(self, other: Self) -> Self {
        let joined = self.common_width(other);
        let widest = joined.width.max(self.width).max(other.width);
        let width = widest.saturating_add(1);
        self.limited(other, width, joined.scale)
    }

    /// Of a product, whose scale can be greater than a decimal number has digits.
    pub fn of_product(self, other: Self) -> Self {
        let width = self.width.saturating_add(other.width);
        self.limited(other, width, self.scale.saturating_add(other.scale))
    }

    fn limited(self, other: Self, width: usize, scale: usize) -> Self {
        let is_of_64_bits = self.width.max(other.width) <= DIGITS_OF_64_BITS;
        let most = if is_of_64_bits && scale < DIGITS_OF_64_BITS {
            DIGITS_OF_64_BITS
        } else {
            DIGITS
        };
        Self {
            width: width.min(most),
            scale,
        }
    }
}

impl fmt::Display for DecimalWidth {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "DECIMAL({},{})", self.width, self.scale)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_and_products_have_the_types_of_duckdb() {
        let of = |width, scale| DecimalWidth { width, scale };
        for (one, other, sum, product, joined) in [
            (of(5, 2), of(9, 3), of(10, 3), of(14, 5), of(9, 3)),
            (of(5, 2), of(10, 0), of(13, 2), of(15, 2), of(12, 2)),
            (of(18, 3), of(10, 4), of(18, 4), of(18, 7), of(19, 4)),
            (of(18, 10), of(18, 10), of(18, 10), of(36, 20), of(18, 10)),
            (of(20, 3), of(19, 0), of(23, 3), of(38, 3), of(22, 3)),
        ] {
            assert_eq!(one.of_sum(other), sum, "{one} + {other}");
            assert_eq!(one.of_product(other), product, "{one} * {other}");
            assert_eq!(one.common_width(other), joined, "{one}, {other}");
        }
    }

    #[test]
    fn written_numbers_have_the_digits_that_are_written() {
        for (text, wanted) in [
            ("1.5", Some("DECIMAL(2,1)")),
            ("0.05", Some("DECIMAL(3,2)")),
            (".5", Some("DECIMAL(1,1)")),
            ("10.50", Some("DECIMAL(4,2)")),
            ("1e3", None),
            (".", None),
        ] {
            let found = DecimalWidth::of_written_number(text).map(|width| width.to_string());
            assert_eq!(found.as_deref(), wanted, "{text}");
        }
    }
}
