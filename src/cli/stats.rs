//! `stats`: mean, standard deviation, smallest and largest value over many samples.

use std::path::PathBuf;

use super::output::{Terminal, print, print_json};
use super::query::parse_box;
use super::runner::operate;
use crate::error::Result;
use crate::extensions::pooled_statistics::{Pooled, PooledReport};
use crate::ops::{DatasetStatsRequest, StatsRequest};
use crate::raster::PixelNumber;

/// Arguments of `stats`.
#[derive(Debug, clap::Args)]
pub struct StatsArguments {
    /// The dataset.
    pub path: PathBuf,
    /// How several datasets are joined.
    #[command(flatten)]
    pub join: super::opening::JoinArguments,
    /// The level, from 0; without it, the first one with statistics.
    #[arg(long)]
    pub level: Option<usize>,
    /// Only samples with this id; * and ? match any text and any one character. Can be repeated.
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    pub positions: Vec<String>,
    /// Only samples for which this SQL condition holds: over columns of their level and, joined by
    /// AND, of the levels above it.
    #[arg(long = "where", value_name = "SQL")]
    pub filter: Option<String>,
    /// Only samples that touch this box in degrees: west,south,east,north.
    #[arg(long, value_name = "W,S,E,N", allow_hyphen_values = true, value_parser = parse_box)]
    pub bbox: Option<[f64; 4]>,
    /// Only samples of these days or times: 2021-01-01/2021-12-31, one day, or times as
    /// 2021-01-01T10:30:00Z.
    #[arg(long, value_name = "FROM/TO")]
    pub datetime: Option<String>,
    /// Read the pixels instead of the statistics in the metadata.
    #[arg(long)]
    pub exact: bool,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

pub fn stats(arguments: StatsArguments, terminal: &Terminal) -> Result<u8> {
    let StatsArguments {
        path,
        join,
        level,
        positions,
        filter,
        bbox,
        datetime,
        exact,
        json,
    } = arguments;
    let selection = StatsRequest {
        level,
        positions,
        filter,
        bbox,
        datetime,
        exact,
    };
    let report = operate(
        terminal,
        DatasetStatsRequest {
            input: path,
            open: join.options(),
            selection,
        },
    )?;
    if json {
        print_json(&report)?;
    } else {
        print(&table(&report))?;
    }
    Ok(0)
}

/// The smallest or largest value, of integers as an integer.
fn extreme(value: PixelNumber) -> String {
    match value {
        PixelNumber::Integer(value) => value.to_string(),
        PixelNumber::Real(value) => format!("{value:.6}"),
    }
}

fn table(report: &PooledReport) -> String {
    let mut text = match &report.pooled {
        Pooled::Continuous { bands } => {
            let mut text = format!(
                "{:>4}  {:>14}  {:>14}  {:>14}  {:>14}  {:>16}\n",
                "band", "mean", "std", "min", "max", "valid pixels"
            );
            for (number, band) in (1..).zip(bands) {
                text.push_str(&match band {
                    Some(b) => {
                        let count = if report.weighted {
                            format!("{:.0}", b.count)
                        } else {
                            "-".into()
                        };
                        let [min, max] = [b.min, b.max].map(extreme);
                        format!(
                            "{number:>4}  {:>14.6}  {:>14.6}  {min:>14}  {max:>14}  {count:>16}\n",
                            b.mean, b.std
                        )
                    }
                    None => format!("{number:>4}  no valid pixel\n"),
                });
            }
            text
        }
        Pooled::Categorical { bands } => {
            let mut text = format!("{:>4}  {:>5}  {:>10}\n", "band", "class", "share");
            for (number, shares) in (1..).zip(bands) {
                for (class, share) in shares.iter().enumerate() {
                    text.push_str(&format!("{number:>4}  {class:>5}  {share:>10.6}\n"));
                }
            }
            text
        }
    };
    text.push_str(&format!("{} samples", report.samples));
    if report.without > 0 {
        text.push_str(&format!(", {} more without statistics", report.without));
    }
    if report.not_finite > 0 {
        text.push_str(&format!(
            "; {} of them left out: a stored value is NaN or infinite (--exact reads the finite \
                pixels)",
            report.not_finite
        ));
    }
    if !report.weighted {
        text.push_str("; no shape says how large they are, so all count alike");
    }
    text + "\n"
}
