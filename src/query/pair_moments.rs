//! Aggregates of pairs of numbers: covariance, correlation and linear regression of `y` on `x`, as
//! DuckDB has them.

use polars::prelude::*;

/// Moments of pairs (x, y), updated pair by pair (Welford's algorithm): a constant has a variance
/// of exactly 0.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PairMoments {
    count: f64,
    mean_x: f64,
    mean_y: f64,
    sum_x: f64,
    sum_y: f64,
    /// Sums of the squared distances from the means, and of the products of both distances.
    squares_x: f64,
    squares_y: f64,
    products: f64,
}

impl PairMoments {
    fn add(mut self, x: f64, y: f64) -> Self {
        self.count += 1.0;
        self.sum_x += x;
        self.sum_y += y;
        let (from_x, from_y) = (x - self.mean_x, y - self.mean_y);
        self.mean_x += from_x / self.count;
        self.mean_y += from_y / self.count;
        self.squares_x += from_x * (x - self.mean_x);
        self.squares_y += from_y * (y - self.mean_y);
        self.products += from_x * (y - self.mean_y);
        self
    }

    /// The moments of one pair or more.
    fn if_nonempty(&self) -> Option<&Self> {
        (self.count > 0.0).then_some(self)
    }

    pub fn count(&self) -> f64 {
        self.count
    }

    /// The mean of x by its sum: of infinite numbers it is infinite.
    pub fn mean_x(&self) -> Option<f64> {
        self.if_nonempty().map(|pairs| pairs.sum_x / pairs.count)
    }

    /// As [`PairMoments::mean_x`].
    pub fn mean_y(&self) -> Option<f64> {
        self.if_nonempty().map(|pairs| pairs.sum_y / pairs.count)
    }

    /// Sum of the squares of the differences of x from its mean.
    pub fn squares_x(&self) -> Option<f64> {
        self.if_nonempty().map(|pairs| pairs.squares_x)
    }

    /// As [`PairMoments::squares_x`].
    pub fn squares_y(&self) -> Option<f64> {
        self.if_nonempty().map(|pairs| pairs.squares_y)
    }

    /// Sum of the products of the differences of x and y from their means.
    pub fn products(&self) -> Option<f64> {
        self.if_nonempty().map(|pairs| pairs.products)
    }

    /// Variance of x over the number of pairs.
    pub fn variance_x(&self) -> Option<f64> {
        // Of one value 0, also where that is not a number.
        self.if_nonempty().map(|pairs| {
            if pairs.count > 1.0 {
                pairs.squares_x / pairs.count
            } else {
                0.0
            }
        })
    }

    /// Covariance over the number of pairs.
    pub fn covariance(&self) -> Option<f64> {
        self.if_nonempty().map(|pairs| pairs.products / pairs.count)
    }

    /// Covariance over the number of pairs less one; `None` for fewer than two pairs.
    pub fn sample_covariance(&self) -> Option<f64> {
        (self.count > 1.0).then(|| self.products / (self.count - 1.0))
    }

    /// NaN when all x or all y are equal.
    pub fn correlation(&self) -> Option<f64> {
        let pairs = self.if_nonempty()?;
        let scale = (pairs.squares_x / pairs.count).sqrt() * (pairs.squares_y / pairs.count).sqrt();
        Some(if scale == 0.0 {
            f64::NAN
        } else {
            pairs.products / pairs.count / scale
        })
    }

    /// NaN when all x are equal.
    pub fn slope(&self) -> Option<f64> {
        // By both variances, as DuckDB divides.
        let slope = |pairs: &Self| (pairs.products / pairs.count) / (pairs.squares_x / pairs.count);
        self.if_nonempty().map(|pairs| {
            if pairs.squares_x == 0.0 {
                f64::NAN
            } else {
                slope(pairs)
            }
        })
    }

    pub fn intercept(&self) -> Option<f64> {
        let slope = self.slope().filter(|slope| !slope.is_nan())?;
        Some(self.mean_y()? - slope * self.mean_x()?)
    }

    /// The share of the variance of y that x explains; 1 when all y are equal.
    pub fn determination(&self) -> Option<f64> {
        let pairs = self.if_nonempty().filter(|pairs| pairs.squares_x != 0.0)?;
        Some(if pairs.squares_y == 0.0 {
            1.0
        } else {
            pairs.products * pairs.products / (pairs.squares_x * pairs.squares_y)
        })
    }
}

/// An aggregate of the columns y and x, of the rows in which both are known.
///
/// # Errors
/// A column that has no numbers.
pub(super) fn of_pairs(
    columns: &[Column],
    aggregate: impl Fn(&PairMoments) -> Option<f64>,
) -> PolarsResult<Column> {
    let (y, x) = (
        columns[0].cast(&DataType::Float64)?,
        columns[1].cast(&DataType::Float64)?,
    );
    let known = y
        .f64()?
        .iter()
        .zip(x.f64()?.iter())
        .filter_map(|(y, x)| y.zip(x));
    let moments = known.fold(PairMoments::default(), |moments, (y, x)| moments.add(x, y));
    Ok([aggregate(&moments)]
        .into_iter()
        .collect::<Float64Chunked>()
        .into_column())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moments(pairs: &[(f64, f64)]) -> PairMoments {
        pairs
            .iter()
            .fold(PairMoments::default(), |moments, (x, y)| {
                moments.add(*x, *y)
            })
    }

    #[test]
    fn a_line_is_found() {
        let line = moments(&[(1.0, 3.0), (2.0, 5.0), (4.0, 9.0)]);
        let close =
            |value: Option<f64>, wanted: f64| (value.expect("a value") - wanted).abs() < 1e-12;
        assert!(close(line.slope(), 2.0) && close(line.intercept(), 1.0));
        assert!(close(line.correlation(), 1.0) && close(line.determination(), 1.0));
        assert!(
            close(line.covariance(), 28.0 / 9.0) && close(line.sample_covariance(), 14.0 / 3.0)
        );
    }

    #[test]
    fn a_constant_has_no_variance_though_its_sum_is_rounded() {
        let constant = moments(&[(0.1, 1.0), (0.1, 2.0), (0.1, 4.0)]);
        assert_eq!(constant.variance_x(), Some(0.0));
        assert!(
            constant.slope().is_some_and(f64::is_nan)
                && constant.correlation().is_some_and(f64::is_nan)
        );
        assert_eq!(
            (constant.intercept(), constant.determination()),
            (None, None)
        );
    }

    #[test]
    fn no_pairs_have_no_moments() {
        let nothing = PairMoments::default();
        assert_eq!(
            (nothing.count(), nothing.correlation(), nothing.slope()),
            (0.0, None, None)
        );
        assert_eq!(
            (
                nothing.covariance(),
                moments(&[(1.0, 1.0)]).sample_covariance()
            ),
            (None, None)
        );
    }
}
