//! `histogram`: pixel counts of each band in bins that are equal for all samples, so that counts
//! can be summed.

use arrow::datatypes::DataType;
use serde_json::Value as Json;

use super::super::{
    Extension, ExtensionEntry, ExtensionScope, OptionKind, OptionSpec, SampleExtension, SampleView,
    parse_options,
};
use super::{field, list_type};
use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::model::{FieldSpec, Value};

pub const ENTRY: ExtensionEntry = ExtensionEntry {
    name: "histogram",
    title: mark!("Histogram"),
    summary: mark!(
        "Counts the pixels of each band in bins of equal width that are the same for every sample."
    ),
    scope: ExtensionScope::Sample,
    options,
    make,
};

fn options() -> Vec<OptionSpec> {
    vec![
        OptionSpec::new(
            mark!("low"),
            OptionKind::Number,
            mark!("where the first bin begins"),
        )
        .make_required(),
        OptionSpec::new(
            mark!("high"),
            OptionKind::Number,
            mark!("where the last bin ends; this value itself counts to it"),
        )
        .make_required(),
        OptionSpec::new(
            mark!("bins"),
            OptionKind::Integer,
            mark!("how many bins, 1 to 65536"),
        )
        .or(64),
        OptionSpec::new(
            mark!("bands"),
            OptionKind::List(&OptionKind::Integer),
            mark!("bands from 1; all of them when left out"),
        ),
    ]
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct HistogramExtension {
    low: f64,
    high: f64,
    bins: u32,
    bands: Option<Vec<usize>>,
}

fn make(given: &Json) -> Result<Extension> {
    let histogram: HistogramExtension = parse_options("histogram", &options(), given)?;
    if !(1..=65536).contains(&histogram.bins) {
        return Err(Error::usage(
            "option bins of histogram has to be from 1 to 65536",
        ));
    }
    if !(histogram.low.is_finite() && histogram.high.is_finite() && histogram.low < histogram.high)
    {
        return Err(Error::usage(
            "option high of histogram has to be larger than low",
        ));
    }
    if histogram
        .bands
        .as_ref()
        .is_some_and(|bands| bands.contains(&0))
    {
        return Err(Error::usage("option bands of histogram counts from 1"));
    }
    Ok(Extension::Sample(Box::new(histogram)))
}

impl SampleExtension for HistogramExtension {
    fn schema(&self) -> Vec<FieldSpec> {
        let edges = format!(
            "{} equal bins from {} to {}, the upper end included",
            self.bins, self.low, self.high
        );
        vec![field(
            "histogram:counts",
            list_type(list_type(DataType::Int64)),
            &format!("Pixels of each band by value: {edges}"),
        )]
    }

    fn compute(&self, sample: &SampleView<'_>, ctx: &JobContext) -> Result<Vec<Value>> {
        let tally = sample.tally(ctx)?;
        let positions: Vec<usize> = match &self.bands {
            Some(bands) => bands.iter().map(|band| band - 1).collect(),
            None => (0..tally.band_count()).collect(),
        };
        let mut bands = Vec::with_capacity(positions.len());
        for position in positions {
            let counts = tally.histogram(position, self.low, self.high, self.bins as usize, ctx)?;
            let counts = counts.into_iter().map(|count| Value::Int(count as i64));
            bands.push(Value::List(counts.collect()));
        }
        Ok(vec![Value::List(bands.into())])
    }
}
