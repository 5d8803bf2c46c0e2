//! A pixel's value in full: integers as integers, because those of 64 bits do not fit `f64`.

/// A value of a band.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[serde(untagged)]
pub enum PixelNumber {
    /// Of an integer type.
    Integer(i128),
    /// Of a floating-point type.
    Real(f64),
}

impl PixelNumber {
    /// An integer where the number is whole, as every value of an integer band is.
    pub fn of_whole(value: f64) -> Self {
        if value.fract() == 0.0 && value.abs() < 1e38 {
            Self::Integer(value as i128)
        } else {
            Self::Real(value)
        }
    }

    /// The value of a band, which is an integer where those of the band are.
    pub fn from_band_value(value: f64, is_integer: bool) -> Self {
        if is_integer {
            Self::of_whole(value)
        } else {
            Self::Real(value)
        }
    }

    /// The nearest `f64`.
    pub fn to_f64(self) -> f64 {
        match self {
            Self::Integer(value) => value as f64,
            Self::Real(value) => value,
        }
    }

    /// This number minus `other`: exact between integers, and never wrapped.
    pub fn minus(self, other: Self) -> Self {
        match (self, other) {
            (Self::Integer(own), Self::Integer(other)) => own
                .checked_sub(other)
                .map_or(Self::Real(own as f64 - other as f64), Self::Integer),
            (own, other) => Self::Real(own.to_f64() - other.to_f64()),
        }
    }

    /// The smaller of two; NaN only when both are.
    pub fn min(self, other: Self) -> Self {
        if other.is_below(self) || self.to_f64().is_nan() {
            other
        } else {
            self
        }
    }

    /// The larger of two; NaN only when both are.
    pub fn max(self, other: Self) -> Self {
        if self.is_below(other) || self.to_f64().is_nan() {
            other
        } else {
            self
        }
    }

    fn is_below(self, other: Self) -> bool {
        match (self, other) {
            (Self::Integer(own), Self::Integer(other)) => own < other,
            (own, other) => own.to_f64() < other.to_f64(),
        }
    }
}

impl std::fmt::Display for PixelNumber {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Integer(value) => value.fmt(f),
            Self::Real(value) => value.fmt(f),
        }
    }
}

/// A type in which pixels are stored.
pub(super) trait StoredNumber: Copy {
    /// The nearest `f64`.
    fn to_f64(self) -> f64;
    /// The value in full.
    fn to_number(self) -> PixelNumber;
}

macro_rules! stored_integers {
    ($($kind:ty),*) => {$(
        impl StoredNumber for $kind {
            fn to_f64(self) -> f64 {
                self as f64
            }

            fn to_number(self) -> PixelNumber {
                PixelNumber::Integer(i128::from(self))
            }
        }
    )*};
}
stored_integers!(u8, u16, i16, u32, i32, u64, i64);

impl StoredNumber for f32 {
    fn to_f64(self) -> f64 {
        f64::from(self)
    }

    fn to_number(self) -> PixelNumber {
        PixelNumber::Real(f64::from(self))
    }
}

impl StoredNumber for f64 {
    fn to_f64(self) -> f64 {
        self
    }

    fn to_number(self) -> PixelNumber {
        PixelNumber::Real(self)
    }
}

#[cfg(test)]
mod tests {
    use super::PixelNumber::{Integer, Real};

    #[test]
    fn differences_of_integers_are_exact_and_signed() {
        assert_eq!(Integer(10).minus(Integer(200)), Integer(-190));
        let (largest, least) = (i128::from(u64::MAX), i128::from(i64::MIN));
        assert_eq!(Integer(0).minus(Integer(largest)), Integer(-largest));
        assert_eq!(
            Integer(9_007_199_254_740_993).minus(Integer(9_007_199_254_740_992)),
            Integer(1)
        );
        assert_eq!(Integer(least).minus(Integer(1)), Integer(least - 1));
        assert_eq!(Real(1.5).minus(Integer(2)), Real(-0.5));
    }

    #[test]
    fn extremes_leave_out_what_is_no_number() {
        let (nan, close) = (
            Real(f64::NAN),
            [
                Integer(9_007_199_254_740_992),
                Integer(9_007_199_254_740_993),
            ],
        );
        assert_eq!(
            (close[0].max(close[1]), close[0].min(close[1])),
            (close[1], close[0])
        );
        assert_eq!(
            (nan.min(Real(2.0)), Real(2.0).max(nan)),
            (Real(2.0), Real(2.0))
        );
        assert_eq!(
            serde_json::to_string(&[close[1], Real(0.5)]).expect("serialises"),
            "[9007199254740993,0.5]"
        );
    }
}
