//! MajorTOM grid cells: rows of equal height, columns of about the same width, counted from the equator and the prime meridian.
//! A cell is computed from its place alone; no list of cells is ever made, so that a spacing of one metre costs nothing.

use std::f64::consts::PI;

use crate::error::{Error, Result};

const EQUATOR_RADIUS_KM: f64 = 6378.137;

/// A grid. Codes are those of the official tool, also where its rounding decides: a point exactly on a line belongs to the cell
/// below and left of it, and the prefix is the spacing without its fraction.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    dist_km: f64,
    /// Rows from pole to pole.
    rows: u64,
    /// Index of the first and last row inside the latitude limits.
    kept: (u64, u64),
    longitude: (f64, f64),
    separator: String,
}

/// Sorted starts of `count` intervals that divide `span` degrees, made like `sort(mod(linspace(-span/2, span/2), span) - span/2)`.
/// The official tool computes them this way, and its last bits decide where points on a line belong.
#[derive(Clone, Copy)]
struct Starts {
    count: u64,
    span: f64,
    /// First number of the series that is not negative.
    turn: u64,
}

impl Starts {
    fn new(count: u64, span: f64) -> Self {
        let turn = partition(0, count, |k| raw(k, count, span) < 0.0);
        Self { count, span, turn }
    }

    /// The start at position `index` of the sorted list.
    fn at(self, index: u64) -> f64 {
        let k = (index + self.turn) % self.count;
        let value = raw(k, self.count, self.span);
        let wrapped = if value < 0.0 { value + self.span } else { value };
        wrapped - self.span / 2.0
    }

    /// Position of the start that is 0.
    fn zero(self) -> u64 {
        self.count - self.turn
    }
}

fn raw(k: u64, count: u64, span: f64) -> f64 {
    k as f64 * (span / count as f64) - span / 2.0
}

/// First number in `low..high` for which `below` is false; `below` has to be true up to there and false after it.
fn partition(mut low: u64, mut high: u64, below: impl Fn(u64) -> bool) -> u64 {
    while low < high {
        let middle = low + (high - low) / 2;
        if below(middle) { low = middle + 1 } else { high = middle }
    }
    low
}

impl Grid {
    /// A grid of about `dist_km` kilometres. `latitude` and `longitude` are inclusive limits in degrees: places outside fall into
    /// the nearest row kept, and columns are chosen among those kept. Errors when nothing is left.
    pub fn new(dist_km: f64, latitude: (f64, f64), longitude: (f64, f64), separator: &str) -> Result<Self> {
        if !(dist_km.is_finite() && dist_km >= 1e-3) {
            return Err(Error::usage(format!("{dist_km} km is no spacing of a grid")).hint("give 0.001 km or more"));
        }
        let rows = (PI * EQUATOR_RADIUS_KM / dist_km).ceil() as u64;
        let lats = Starts::new(rows, 180.0);
        let first = partition(0, rows, |row| lats.at(row) < latitude.0);
        let end = partition(first, rows, |row| lats.at(row) <= latitude.1);
        if first >= end || longitude.0.is_nan() || longitude.1.is_nan() {
            return Err(Error::usage(format!("no row of the grid lies between {} and {} degrees", latitude.0, latitude.1)));
        }
        Ok(Self { dist_km, rows, kept: (first, end - 1), longitude, separator: separator.to_owned() })
    }

    /// The grid of the official tool's defaults: rows between 85 degrees south and north.
    pub fn with_spacing(dist_km: f64) -> Result<Self> {
        Self::new(dist_km, (-85.0, 85.0), (-180.0, 180.0), "_")
    }

    /// The cell at a place, for example `0100km_0003U_0005R`; `None` for a place that is not finite.
    pub fn code(&self, lon: f64, lat: f64) -> Option<String> {
        if !(lon.is_finite() && lat.is_finite()) {
            return None;
        }
        let lats = Starts::new(self.rows, 180.0);
        let (first, last) = self.kept;
        let row = partition(first, last + 1, |row| lats.at(row) < lat).saturating_sub(1).max(first);
        let row_label = label(row, lats.zero(), 'U', 'D');
        let column_label = self.column(lats.at(row), lon);
        let separator = &self.separator;
        Some(format!("{:04}km{separator}{row_label}{separator}{column_label}", self.dist_km as u64))
    }

    fn column(&self, row_lat: f64, lon: f64) -> String {
        let around_km = 2.0 * PI * EQUATOR_RADIUS_KM * row_lat.to_radians().cos();
        let columns = ((around_km / self.dist_km).ceil() as u64).max(1);
        let lons = Starts::new(columns, 360.0);
        let (mut first, mut end) = (0, columns);
        if self.longitude.0 > -180.0 || self.longitude.1 < 180.0 {
            first = partition(0, columns, |column| lons.at(column) < self.longitude.0);
            end = partition(first, columns, |column| lons.at(column) <= self.longitude.1);
            if first >= end {
                return "0000R".into();
            }
        }
        let below = partition(first, end, |column| lons.at(column) < lon);
        // West of the first column is the last one: the grid goes round.
        let column = if below == first { end - 1 } else { below - 1 };
        label(column, lons.zero(), 'R', 'L')
    }
}

fn label(index: u64, zero: u64, up: char, down: char) -> String {
    if index >= zero { format!("{:04}{up}", index - zero) } else { format!("{:04}{down}", zero - index) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_those_of_the_official_tool() {
        let vectors = include_str!("../../../tests/fixtures/vectors/majortom.json");
        let vectors: Vec<(f64, f64, f64, String)> = serde_json::from_str(vectors).expect("vectors");
        assert!(vectors.len() > 900);
        let wrong: Vec<_> = vectors
            .iter()
            .map(|(dist, lon, lat, code)| (dist, lon, lat, code, Grid::with_spacing(*dist).expect("a grid").code(*lon, *lat)))
            .filter(|(.., code, ours)| ours.as_ref() != Some(*code))
            .collect();
        assert!(wrong.is_empty(), "{} differ: {:?}", wrong.len(), &wrong[..wrong.len().min(5)]);
    }

    #[test]
    fn a_fine_grid_costs_no_more_than_a_coarse_one() {
        let started = std::time::Instant::now();
        let grid = Grid::with_spacing(0.001).expect("a grid");
        for step in 0..1000 {
            let lon = f64::from(step) * 0.35 - 175.0;
            assert!(grid.code(lon, 12.0).expect("a code").starts_with("0000km_"));
        }
        assert!(started.elapsed().as_secs() < 5, "took {:?}", started.elapsed());
    }

    #[test]
    fn limits_that_leave_nothing_are_an_error() {
        assert!(Grid::new(100.0, (20.0, 10.0), (-180.0, 180.0), "_").is_err());
        assert!(Grid::with_spacing(0.0).is_err() && Grid::with_spacing(f64::NAN).is_err());
        assert_eq!(Grid::with_spacing(100.0).expect("a grid").code(f64::NAN, 0.0), None);
    }
}
