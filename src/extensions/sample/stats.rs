//! `stats`: statistics of each band, computed from all pixels. Either `geotiff:stats` with the
//! layout of the Python tools, or the four fields of TACO 0.2.0.

use arrow::datatypes::DataType;
use serde_json::Value as Json;

use super::super::{
    Extension, ExtensionEntry, ExtensionScope, OptionKind, OptionSpec, SampleExtension, SampleView,
    parse_options,
};
use super::{field, list_float32, list_type, round_to_float32};
use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::model::{FieldSpec, Value};

pub const ENTRY: ExtensionEntry = ExtensionEntry {
    name: "stats",
    title: mark!("Statistics"),
    summary: mark!(
        "Adds exact statistics of each band: minimum, maximum, mean, deviation and percentiles, or \
            the share of each class."
    ),
    scope: ExtensionScope::Sample,
    options,
    make,
};

/// Percentiles in the order of `geotiff:stats`.
const PERCENTS: [f64; 4] = [25.0, 50.0, 75.0, 95.0];

fn options() -> Vec<OptionSpec> {
    vec![
        OptionSpec::new(
            mark!("categorical"),
            OptionKind::Bool,
            mark!("the share of each class instead of minimum, maximum, …"),
        )
        .or(false),
        OptionSpec::new(
            mark!("class_values"),
            OptionKind::List(&OptionKind::Integer),
            mark!("the classes, in the order of the shares"),
        ),
        OptionSpec::new(
            mark!("fields"),
            OptionKind::Choice(&["geotiff:stats", "stats"]),
            mark!(
                "one column geotiff:stats, or stats:mean, stats:min, stats:max and stats:std as \
                in version 0.2.0"
            ),
        )
        .or("geotiff:stats"),
        OptionSpec::new(
            mark!("scaling"),
            OptionKind::Choice(&["columns", "bands", "none"]),
            mark!(
                "scale and offset of the values: from the columns scaling:scale_factor and \
                scaling:scale_offset, from the header of the raster, or none"
            ),
        )
        .or("columns"),
    ]
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct StatsExtension {
    categorical: bool,
    class_values: Option<Vec<i64>>,
    fields: String,
    scaling: String,
}

fn make(given: &Json) -> Result<Extension> {
    let stats: StatsExtension = parse_options("stats", &options(), given)?;
    let classes = stats.class_values.as_deref().unwrap_or_default();
    if stats.categorical && classes.is_empty() {
        return Err(Error::usage(
            "stats needs the option class_values for shares of classes",
        ));
    }
    if stats.categorical && stats.fields == "stats" {
        return Err(
            Error::usage("shares of classes have no fields in version 0.2.0")
                .hint("leave the option fields out"),
        );
    }
    Ok(Extension::Sample(Box::new(stats)))
}

impl StatsExtension {
    /// Scale factor and offset of the band with index `position`; 1 and 0 where none is given.
    fn read_scaling(&self, sample: &SampleView<'_>, position: usize) -> Result<(f64, f64)> {
        let number = |column: &str| sample.value(column).number_of_band(position);
        Ok(match self.scaling.as_str() {
            "columns" => (
                number("scaling:scale_factor").unwrap_or(1.0),
                number("scaling:scale_offset").unwrap_or(0.0),
            ),
            "bands" => {
                let info = sample.raster()?;
                let band = info.bands.get(position);
                (
                    band.and_then(|band| band.scale).unwrap_or(1.0),
                    band.and_then(|band| band.offset).unwrap_or(0.0),
                )
            }
            _ => (1.0, 0.0),
        })
    }

    /// Minimum, maximum, mean, standard deviation, valid percent, percentiles 25, 50, 75 and 95;
    /// `None` without valid pixels.
    fn compute_statistics(
        &self,
        sample: &SampleView<'_>,
        position: usize,
        ctx: &JobContext,
    ) -> Result<Option<Vec<f64>>> {
        let (factor, offset) = self.read_scaling(sample, position)?;
        // A negative factor reverses the order of percentiles.
        let is_reversed = factor < 0.0;
        let percents = PERCENTS.map(|percent| {
            if is_reversed {
                100.0 - percent
            } else {
                percent
            }
        });
        let Some(summary) = sample.tally(ctx)?.summary(position, &percents, ctx)? else {
            return Ok(None);
        };
        let (low, high) = if is_reversed {
            (summary.max, summary.min)
        } else {
            (summary.min, summary.max)
        };
        let scaled = |value: f64| value * factor + offset;
        let mut statistics = vec![
            scaled(low),
            scaled(high),
            scaled(summary.mean),
            summary.std * factor.abs(),
            summary.valid_percent,
        ];
        statistics.extend(summary.percentiles.into_iter().map(scaled));
        Ok(Some(statistics))
    }

    /// Fraction of each class among the pixels that belong to any of the classes.
    fn compute_class_shares(
        &self,
        sample: &SampleView<'_>,
        position: usize,
        ctx: &JobContext,
    ) -> Result<Vec<f64>> {
        let counts = sample.tally(ctx)?.classes(
            position,
            self.class_values.as_deref().unwrap_or_default(),
            ctx,
        )?;
        let total: u64 = counts.iter().sum();
        if total == 0 {
            return Err(
                Error::invalid(format!("band {} holds none of the classes", position + 1))
                    .hint("check the option class_values"),
            );
        }
        Ok(counts
            .into_iter()
            .map(|count| count as f64 / total as f64)
            .collect())
    }
}

impl SampleExtension for StatsExtension {
    fn schema(&self) -> Vec<FieldSpec> {
        if self.fields == "stats" {
            let dtype = || list_type(DataType::Float32);
            return vec![
                field("stats:mean", dtype(), "Mean of each band"),
                field("stats:min", dtype(), "Minimum of each band"),
                field("stats:max", dtype(), "Maximum of each band"),
                field("stats:std", dtype(), "Standard deviation of each band"),
            ];
        }
        let description = "Per-band statistics (List[List[Float32]]): categorical mode returns \
            class probabilities, continuous mode returns [min, max, mean, std, valid%, p25, p50, \
            p75, p95]";
        vec![field(
            "geotiff:stats",
            list_type(list_type(DataType::Float32)),
            description,
        )]
    }

    fn compute(&self, sample: &SampleView<'_>, ctx: &JobContext) -> Result<Vec<Value>> {
        let bands = sample.tally(ctx)?.band_count();
        let mut rows = Vec::with_capacity(bands);
        for position in 0..bands {
            rows.push(if self.categorical {
                Some(self.compute_class_shares(sample, position, ctx)?)
            } else {
                self.compute_statistics(sample, position, ctx)?
            });
        }
        if self.fields == "stats" {
            // Mean, minimum, maximum and standard deviation, as in the schema.
            let indices = [2, 0, 1, 3];
            return Ok(indices.map(|index| collect_statistic(&rows, index)).into());
        }
        // As in the Python tools: null when no band has valid pixels; otherwise a list with null
        // for each band without valid pixels.
        if rows.iter().all(Option::is_none) {
            return Ok(vec![Value::Null]);
        }
        let bands = rows
            .into_iter()
            .map(|row| row.map_or(Value::Null, list_float32));
        Ok(vec![Value::List(bands.collect())])
    }
}

/// The statistic with this index of each band; null for bands without valid pixels.
fn collect_statistic(rows: &[Option<Vec<f64>>], index: usize) -> Value {
    let numbers = rows.iter().map(|row| row.as_ref()?.get(index).copied());
    Value::List(
        numbers
            .map(|number| number.map_or(Value::Null, round_to_float32))
            .collect(),
    )
}
