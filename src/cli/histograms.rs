//! `histograms` and `percentiles`: precomputed histograms of a dataset, and percentiles from them.

use std::path::PathBuf;

use clap::ValueEnum;
use clap::builder::PossibleValue;

use super::create::print_built;
use super::opening::OpenArguments;
use super::output::{Terminal, print, print_json_line};
use super::query::RowArguments;
use super::runner::operate;
use crate::error::Result;
use crate::ops::{HistogramRequest, PercentileRequest, Percentiles, PositionPercentiles, Scale};

/// Arguments of `histograms`.
#[derive(Debug, clap::Args)]
pub struct HistogramArguments {
    /// The dataset, of any generation.
    pub input: PathBuf,
    /// Output file, a .tortilla.
    #[arg(long, short)]
    pub output: PathBuf,
    /// Which values share the 100 bins.
    #[arg(long, value_name = "NAME", default_value = "dataset")]
    pub scale: Scale,
    #[command(flatten)]
    pub open: OpenArguments,
    /// Replace the output if it exists.
    #[arg(long)]
    pub overwrite: bool,
    /// Print what was written as JSON.
    #[arg(long)]
    pub json: bool,
}

/// The names of the scales in arguments.
impl ValueEnum for Scale {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self::Dataset, Self::Band]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self {
            Self::Dataset => PossibleValue::new("dataset")
                .help("All values of the dataset, as the specification says"),
            Self::Band => {
                PossibleValue::new("band").help("Those of one band at one position of the tree")
            }
        })
    }
}

/// Writes a tortilla of histograms.
pub fn histograms(arguments: HistogramArguments, terminal: &Terminal) -> Result<u8> {
    let request = HistogramRequest {
        input: arguments.input,
        open: arguments.open.options(),
        output: arguments.output,
        scale: arguments.scale,
        overwrite: arguments.overwrite,
    };
    print_built(&operate(terminal, request)?, arguments.json)
}

/// Arguments of `percentiles`.
#[derive(Debug, clap::Args)]
pub struct PercentileArguments {
    /// A tortilla of histograms written by `histograms`.
    pub input: PathBuf,
    /// Percentages from 0 to 100.
    #[arg(long, value_name = "P,…", value_delimiter = ',', default_values_t = [2.5, 98.5])]
    pub percents: Vec<f64>,
    #[command(flatten)]
    pub rows: RowArguments,
    /// Print the percentiles of each sample of level 0.
    #[arg(long)]
    pub each: bool,
    /// Also print the summed histogram of each band: 100 bins of equal width with the number of
    /// values in each.
    #[arg(long)]
    pub histogram: bool,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Prints percentiles.
pub fn percentiles(arguments: PercentileArguments, terminal: &Terminal) -> Result<u8> {
    let json = arguments.json;
    let request = PercentileRequest {
        input: arguments.input,
        percents: arguments.percents,
        rows: arguments.rows.choice()?,
        each: arguments.each,
        histogram: arguments.histogram,
    };
    let found = operate(terminal, request)?;
    if json {
        print_json_line(&found)?
    } else {
        print(&format_percentiles(&found))?
    }
    Ok(0)
}

/// Two tables separated by tabs: the percentiles, and the bins of the histograms, if requested.
fn format_percentiles(found: &Percentiles) -> String {
    let heads: Vec<String> = found
        .percents
        .iter()
        .map(|percent| format!("p{percent}"))
        .collect();
    let mut lines = vec![format!(
        "sample\tposition\tband\tvalues\t{}",
        heads.join("\t")
    )];
    for position in &found.positions {
        let (sample, name) = name_position(position);
        for band in &position.bands {
            let values: Vec<String> = band.values.iter().map(f64::to_string).collect();
            lines.push(format!(
                "{sample}\t{name}\t{}\t{}\t{}",
                band.band,
                band.count,
                values.join("\t")
            ));
        }
    }
    let mut bands = found.positions.iter().flat_map(|position| &position.bands);
    if bands.any(|band| band.histogram.is_some()) {
        lines.push("\nsample\tposition\tband\tfrom\tto\tvalues".to_owned());
    }
    for position in &found.positions {
        let (sample, name) = name_position(position);
        for band in &position.bands {
            let Some(histogram) = &band.histogram else {
                continue;
            };
            let width = (histogram.high - histogram.low) / histogram.counts.len() as f64;
            for (bin, count) in histogram.counts.iter().enumerate() {
                let edge = |bin: usize| histogram.low + bin as f64 * width;
                lines.push(format!(
                    "{sample}\t{name}\t{}\t{}\t{}\t{count}",
                    band.band,
                    edge(bin),
                    edge(bin + 1)
                ));
            }
        }
    }
    lines.join("\n")
}

/// The sample and the position as the tables name them.
fn name_position(found: &PositionPercentiles) -> (&str, &str) {
    let position = match found.position.as_str() {
        "" => "-",
        position => position,
    };
    (found.sample.as_deref().unwrap_or("all"), position)
}
