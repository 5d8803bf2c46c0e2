//! USING SAMPLE and TABLESAMPLE: random rows of FROM, or of one of its tables, before WHERE.

use std::hash::{BuildHasher, RandomState};

use polars::prelude::*;
use sqlparser::ast::{Expr, TableFactor, TableSampleKind, TableSampleUnit, Value};
use sqlparser::tokenizer::Location;

use super::operation_names::next_sample_name;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum SampleSize {
    /// Number of rows.
    Rows(usize),
    /// Percentage of the rows, from 0 to 100.
    Percent(f64),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RowSampling {
    pub size: SampleSize,
    /// Seed of REPEATABLE; without it every run draws other rows.
    pub seed: Option<u64>,
}

/// Samples of USING SAMPLE, each with the position of the SELECT whose FROM it samples.
pub(super) type Samplings = Vec<(Location, RowSampling)>;

impl RowSampling {
    /// The TABLESAMPLE of a table, as `sample_clause` spells it.
    pub fn of_table(factor: &TableFactor) -> Option<Self> {
        let (TableFactor::Table {
            sample: Some(sample),
            ..
        }
        | TableFactor::Derived {
            sample: Some(sample),
            ..
        }) = factor
        else {
            return None;
        };
        let (TableSampleKind::BeforeTableAlias(sample) | TableSampleKind::AfterTableAlias(sample)) =
            sample;
        let quantity = sample.quantity.as_ref()?;
        let Expr::Value(value) = &quantity.value else {
            return None;
        };
        let Value::Number(number, _) = &value.value else {
            return None;
        };
        let number: f64 = number.parse().ok()?;
        let size = match quantity.unit {
            Some(TableSampleUnit::Percent) => SampleSize::Percent(number),
            _ => SampleSize::Rows(number as usize),
        };
        let seed = sample
            .seed
            .as_ref()
            .and_then(|seed| match &seed.value.value {
                Value::Number(number, _) => number.parse().ok(),
                _ => None,
            });
        Some(Self { size, seed })
    }
}

/// Random rows of a frame, in its order.
pub(super) fn sample_rows(frame: LazyFrame, sampling: RowSampling) -> LazyFrame {
    // A frame may be planned several times and has the same rows each time.
    let seed = sampling
        .seed
        .unwrap_or_else(|| RandomState::new().hash_one(0));
    let name = next_sample_name();
    frame.map(
        move |rows| draw_rows(&rows, sampling.size, seed),
        AllowedOptimizations::PROJECTION_PUSHDOWN,
        None,
        name,
    )
}

/// Random rows, in their order; a seed gives the same rows each time.
fn draw_rows(rows: &DataFrame, size: SampleSize, seed: u64) -> PolarsResult<DataFrame> {
    let height = rows.height();
    let count = match size {
        SampleSize::Rows(count) => count.min(height),
        SampleSize::Percent(percent) => {
            ((height as f64 * percent / 100.0).round() as usize).min(height)
        }
    };
    let all = IdxCa::from_vec(PlSmallStr::EMPTY, (0..height as IdxSize).collect());
    rows.take(
        &all.sample_n(count, false, Some(false), Some(seed))?
            .sort(false),
    )
}
