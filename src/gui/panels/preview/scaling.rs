//! Physical values of bands: stored value × factor + offset.

use egui_plot::GridMark;

use crate::gui::widgets::plot;
use crate::raster::{BandIndex, PreviewImage, RasterInfo};
use crate::studio::{Document, RowRef};

/// How stored values become physical ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scaling {
    /// Multiplied with the stored value.
    pub factor: f64,
    /// Added after that.
    pub offset: f64,
}

impl Scaling {
    /// Values as they are stored.
    pub const STORED: Self = Self {
        factor: 1.0,
        offset: 0.0,
    };

    /// The physical value, to nine digits: what the factor adds behind them is noise.
    pub fn physical(self, stored: f64) -> f64 {
        if self == Self::STORED {
            return stored;
        }
        let value = stored * self.factor + self.offset;
        format!("{value:.8e}").parse().unwrap_or(value)
    }

    /// The stored value.
    pub fn stored_from_physical(self, physical: f64) -> f64 {
        if self == Self::STORED {
            physical
        } else {
            (physical - self.offset) / self.factor
        }
    }

    /// Physical values of the ends of a range, the lower one first.
    pub fn physical_pair(self, low: f64, high: f64) -> [f64; 2] {
        let [one, other] = [self.physical(low), self.physical(high)];
        if self.factor < 0.0 {
            [other, one]
        } else {
            [one, other]
        }
    }

    /// Stored values of the ends of a physical range, the lower one first.
    pub fn stored_pair(self, low: f64, high: f64) -> [f64; 2] {
        let [one, other] = [
            self.stored_from_physical(low),
            self.stored_from_physical(high),
        ];
        if self.factor < 0.0 {
            [other, one]
        } else {
            [one, other]
        }
    }

    /// Marks of an axis of stored values at round physical values.
    pub fn ticks(self, low: f64, high: f64, most: usize) -> Vec<GridMark> {
        let [first, last] = self.physical_pair(low, high);
        let mut marks = plot::decimal_ticks(first, last, most);
        for mark in &mut marks {
            (mark.value, mark.step_size) = (
                self.stored_from_physical(mark.value),
                mark.step_size / self.factor.abs(),
            );
        }
        marks
    }
}

/// Scaling of a band, from the file or from the sample's fields `scaling:scale_factor` and
/// `scaling:scale_offset`.
pub fn scaling_of(
    document: &Document,
    at: RowRef,
    info: &RasterInfo,
    band: BandIndex,
) -> Option<Scaling> {
    let described = info.band(band)?;
    if described.scale.is_some() || described.offset.is_some() {
        return Some(Scaling {
            factor: described.scale.unwrap_or(1.0),
            offset: described.offset.unwrap_or(0.0),
        });
    }
    let number = |column: &str| document.value(at, column).0.number_of_band(band.position());
    Some(Scaling {
        factor: number("scaling:scale_factor")?,
        offset: number("scaling:scale_offset").unwrap_or(0.0),
    })
}

/// The scaling that all bands of a picture have; `None` where they differ, or where it can't be
/// undone.
pub fn shared_scaling(document: &Document, at: RowRef, image: &PreviewImage) -> Option<Scaling> {
    let mut found = image
        .band_indices
        .iter()
        .map(|band| scaling_of(document, at, &image.info, *band));
    let first = found.next()??;
    let usable = first.factor != 0.0
        && first.factor.is_finite()
        && first.offset.is_finite()
        && first != Scaling::STORED;
    (usable && found.all(|other| other == Some(first))).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn physical_and_stored_values_are_inverse_and_ordered() {
        let scaling = Scaling {
            factor: 0.0001,
            offset: -0.1,
        };
        assert_eq!(scaling.physical(13_000.0), 1.2);
        assert!((scaling.stored_from_physical(1.2) - 13_000.0).abs() < 1e-6);
        let falling = Scaling {
            factor: -2.0,
            offset: 10.0,
        };
        assert_eq!(falling.physical_pair(0.0, 4.0), [2.0, 10.0]);
        assert_eq!(falling.stored_pair(2.0, 10.0), [0.0, 4.0]);
    }

    #[test]
    fn ticks_are_round_in_physical_values() {
        let scaling = Scaling {
            factor: 0.1,
            offset: 273.15,
        };
        let texts: Vec<f64> = scaling
            .ticks(0.0, 300.0, 4)
            .iter()
            .map(|mark| scaling.physical(mark.value))
            .collect();
        assert_eq!(texts, [280.0, 290.0, 300.0]);
    }
}
