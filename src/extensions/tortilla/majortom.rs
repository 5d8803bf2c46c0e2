//! MajorTOM grid cells: rows of equal height and columns of approximately equal width, numbered
//! from the equator and the prime meridian. Each cell is computed from its location; no list of
//! cells is built, so a spacing of one metre is as cheap as any other.

use std::f64::consts::PI;

use crate::error::{Error, Result};

const EQUATOR_RADIUS_KM: f64 = 6378.137;

/// A grid. Codes equal those of the official tool, including its rounding: a point exactly on a
/// grid line belongs to the cell below and to the left, and the prefix is the spacing truncated to
/// whole kilometres.
#[derive(Clone, Debug, PartialEq)]
pub struct MajorTomGrid {
    dist_km: f64,
    /// Number of rows from pole to pole.
    rows: u64,
    /// First and last row within the latitude limits.
    kept: (u64, u64),
    longitude: (f64, f64),
    separator: String,
}

/// Sorted start coordinates of `count` intervals dividing `span` degrees, computed as `
/// sort(mod(linspace(-span/2, span/2), span)
/// - span/2) ` like the official tool, whose rounding decides to which cell points on a grid line
///   belong.
#[derive(Clone, Copy)]
struct Starts {
    count: u64,
    span: f64,
    /// First non-negative element of the unsorted series.
    turn: u64,
}

impl Starts {
    fn new(count: u64, span: f64) -> Self {
        let turn = partition(0, count, |k| raw(k, count, span) < 0.0);
        Self { count, span, turn }
    }

    /// The start at `index` of the sorted list, in degrees.
    fn start_at(self, index: u64) -> f64 {
        let k = (index + self.turn) % self.count;
        let value = raw(k, self.count, self.span);
        let wrapped = if value < 0.0 {
            value + self.span
        } else {
            value
        };
        wrapped - self.span / 2.0
    }

    /// Index of the start at 0 degrees.
    fn zero(self) -> u64 {
        self.count - self.turn
    }
}

fn raw(k: u64, count: u64, span: f64) -> f64 {
    k as f64 * (span / count as f64) - span / 2.0
}

/// Binary search: the first number in `low..high` for which `below` is false. `below` must be
/// monotonic.
fn partition(mut low: u64, mut high: u64, below: impl Fn(u64) -> bool) -> u64 {
    while low < high {
        let middle = low + (high - low) / 2;
        if below(middle) {
            low = middle + 1
        } else {
            high = middle
        }
    }
    low
}

impl MajorTomGrid {
    /// A grid with a spacing of about `dist_km` kilometres. `latitude` and `longitude` are
    /// inclusive limits in degrees: places outside are assigned to the nearest row within, and
    /// columns are chosen within the limits.
    ///
    /// # Errors
    /// [`Kind::Usage`](crate::error::Kind::Usage) when the spacing is invalid, or no row is within
    /// the limits.
    pub fn new(
        dist_km: f64,
        latitude: (f64, f64),
        longitude: (f64, f64),
        separator: &str,
    ) -> Result<Self> {
        if !(dist_km.is_finite() && dist_km >= 1e-3) {
            return Err(
                Error::usage(format!("{dist_km} km is no spacing of a grid"))
                    .hint("give 0.001 km or more"),
            );
        }
        let rows = (PI * EQUATOR_RADIUS_KM / dist_km).ceil() as u64;
        let lats = Starts::new(rows, 180.0);
        let first = partition(0, rows, |row| lats.start_at(row) < latitude.0);
        let end = partition(first, rows, |row| lats.start_at(row) <= latitude.1);
        if first >= end || longitude.0.is_nan() || longitude.1.is_nan() {
            return Err(Error::usage(format!(
                "no row of the grid is between {} and {} degrees",
                latitude.0, latitude.1
            )));
        }
        Ok(Self {
            dist_km,
            rows,
            kept: (first, end - 1),
            longitude,
            separator: separator.to_owned(),
        })
    }

    /// The cell code of a point in degrees, such as `0100km_0003U_0005R`; `None` for non-finite
    /// coordinates.
    pub fn code(&self, lon: f64, lat: f64) -> Option<String> {
        if !(lon.is_finite() && lat.is_finite()) {
            return None;
        }
        let lats = Starts::new(self.rows, 180.0);
        let (first, last) = self.kept;
        let row = partition(first, last + 1, |row| lats.start_at(row) < lat)
            .saturating_sub(1)
            .max(first);
        let row_label = label(row, lats.zero(), 'U', 'D');
        let column_label = self.column(lats.start_at(row), lon);
        let separator = &self.separator;
        Some(format!(
            "{:04}km{separator}{row_label}{separator}{column_label}",
            self.dist_km as u64
        ))
    }

    fn column(&self, row_lat: f64, lon: f64) -> String {
        let around_km = 2.0 * PI * EQUATOR_RADIUS_KM * row_lat.to_radians().cos();
        let columns = ((around_km / self.dist_km).ceil() as u64).max(1);
        let lons = Starts::new(columns, 360.0);
        let (mut first, mut end) = (0, columns);
        if self.longitude.0 > -180.0 || self.longitude.1 < 180.0 {
            first = partition(0, columns, |column| {
                lons.start_at(column) < self.longitude.0
            });
            end = partition(first, columns, |column| {
                lons.start_at(column) <= self.longitude.1
            });
            if first >= end {
                return "0000R".into();
            }
        }
        let below = partition(first, end, |column| lons.start_at(column) < lon);
        // Columns wrap around: west of the first column is the last.
        let column = if below == first { end - 1 } else { below - 1 };
        label(column, lons.zero(), 'R', 'L')
    }
}

fn label(index: u64, zero: u64, up: char, down: char) -> String {
    if index >= zero {
        format!("{:04}{up}", index - zero)
    } else {
        format!("{:04}{down}", zero - index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A grid with the official tool's default limits of ±85 degrees latitude.
    fn usual_grid(dist_km: f64) -> Result<MajorTomGrid> {
        MajorTomGrid::new(dist_km, (-85.0, 85.0), (-180.0, 180.0), "_")
    }

    #[test]
    fn codes_are_those_of_the_official_tool() {
        let vectors = include_str!("../../../tests/fixtures/vectors/majortom.json");
        let vectors: Vec<(f64, f64, f64, String)> = serde_json::from_str(vectors).expect("vectors");
        assert!(vectors.len() > 900);
        let wrong: Vec<_> = vectors
            .iter()
            .map(|(dist, lon, lat, code)| {
                (
                    dist,
                    lon,
                    lat,
                    code,
                    usual_grid(*dist).expect("a grid").code(*lon, *lat),
                )
            })
            .filter(|(.., code, ours)| ours.as_ref() != Some(*code))
            .collect();
        assert!(
            wrong.is_empty(),
            "{} differ: {:?}",
            wrong.len(),
            &wrong[..wrong.len().min(5)]
        );
    }

    #[test]
    fn a_fine_grid_costs_no_more_than_a_coarse_one() {
        let started = std::time::Instant::now();
        let grid = usual_grid(0.001).expect("a grid");
        for step in 0..1000 {
            let lon = f64::from(step) * 0.35 - 175.0;
            assert!(grid.code(lon, 12.0).expect("a code").starts_with("0000km_"));
        }
        assert!(
            started.elapsed().as_secs() < 5,
            "took {:?}",
            started.elapsed()
        );
    }

    #[test]
    fn limits_that_leave_nothing_are_an_error() {
        assert!(MajorTomGrid::new(100.0, (20.0, 10.0), (-180.0, 180.0), "_").is_err());
        assert!(usual_grid(0.0).is_err() && usual_grid(f64::NAN).is_err());
        assert_eq!(usual_grid(100.0).expect("a grid").code(f64::NAN, 0.0), None);
    }
}
