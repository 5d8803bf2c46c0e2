//! Colour classes of rows: values of a text column, or steps of a numeric column.

use std::collections::HashMap;

use arrow::array::{Array, ArrayRef};
use egui::Color32;

use crate::container::LevelSet;
use crate::error::Result;
use crate::gui::theme::ThemeTokens;
use crate::jobs::JobContext;
use crate::ops::{as_numbers, bar_text};
use crate::raster::ColourMap;

/// Most values with their own colour; the rest share one.
const MAX_CLASSES: usize = 7;
/// Steps of a column of numbers.
const COLOUR_STEPS: usize = 8;
/// The class of rows without a value, and of values beyond the named ones.
pub const OTHER_CLASS: u8 = 255;

/// The class of each row of a level.
#[derive(Clone, Debug, PartialEq)]
pub struct RowClasses {
    /// In row order; [`OTHER_CLASS`] for null and for the rest.
    pub by_row: Vec<u8>,
    pub legend: Legend,
}

/// Legend of colour classes.
#[derive(Clone, Debug, PartialEq)]
pub enum Legend {
    /// One value each, most frequent first.
    Values(Vec<String>),
    /// Steps of equal width from low to high.
    Steps(String, String),
}

impl Legend {
    /// Number of classes.
    pub fn len(&self) -> usize {
        match self {
            Legend::Values(values) => values.len(),
            Legend::Steps(..) => COLOUR_STEPS,
        }
    }

    /// The colour of a class.
    pub fn colour(&self, class: u8, t: &ThemeTokens) -> Color32 {
        match self {
            _ if class == OTHER_CLASS => t.ctl,
            Legend::Values(_) => [t.accfill, t.info, t.ok, t.warn, t.keyword, t.err, t.tx2]
                [usize::from(class) % MAX_CLASSES],
            Legend::Steps(..) => {
                let [r, g, b] =
                    ColourMap::Viridis.colour(f32::from(class) / (COLOUR_STEPS - 1) as f32);
                Color32::from_rgb(r, g, b)
            }
        }
    }
}

/// Computes classes by a column of a level. Run it in a job.
pub fn classify_rows(
    levels: &LevelSet,
    level: usize,
    column: &str,
    ctx: &JobContext,
) -> Result<RowClasses> {
    let array = levels.column(level, column, ctx)?;
    let type_name = crate::model::dtype_name(array.data_type());
    if let Some(numbers) = as_numbers(&array)? {
        let finite = || numbers.iter().flatten().filter(|number| number.is_finite());
        let (low, high) = finite().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), n| {
            (low.min(n), high.max(n))
        });
        if low > high {
            return Ok(RowClasses {
                by_row: vec![OTHER_CLASS; array.len()],
                legend: Legend::Values(Vec::new()),
            });
        }
        let scale = if high > low {
            COLOUR_STEPS as f64 / (high - low)
        } else {
            0.0
        };
        let by_row = numbers
            .iter()
            .map(|number| classify_number(number, low, scale))
            .collect();
        return Ok(RowClasses {
            by_row,
            legend: Legend::Steps(bar_text(low, &type_name), bar_text(high, &type_name)),
        });
    }
    let mut counts: HashMap<String, u64> = HashMap::new();
    for row in (0..array.len()).filter(|&row| array.is_valid(row)) {
        if row % 65_536 == 0 {
            ctx.check()?;
        }
        *counts
            .entry(crate::table::cell_text(&array, row))
            .or_default() += 1;
    }
    let mut values: Vec<(String, u64)> = counts.into_iter().collect();
    values.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    values.truncate(MAX_CLASSES);
    let class_of_value: HashMap<&str, u8> = values
        .iter()
        .enumerate()
        .map(|(at, (value, _))| (value.as_str(), at as u8))
        .collect();
    let by_row = (0..array.len())
        .map(|row| classify_row(&array, row, &class_of_value))
        .collect();
    Ok(RowClasses {
        by_row,
        legend: Legend::Values(values.into_iter().map(|(value, _)| value).collect()),
    })
}

fn classify_number(number: Option<f64>, low: f64, scale: f64) -> u8 {
    match number.filter(|number| number.is_finite()) {
        Some(number) => (((number - low) * scale) as usize).min(COLOUR_STEPS - 1) as u8,
        None => OTHER_CLASS,
    }
}

fn classify_row(array: &ArrayRef, row: usize, class_of_value: &HashMap<&str, u8>) -> u8 {
    if array.is_valid(row) {
        class_of_value
            .get(crate::table::cell_text(array, row).as_str())
            .copied()
            .unwrap_or(OTHER_CLASS)
    } else {
        OTHER_CLASS
    }
}
