//! Percentiles out of a tortilla of histograms ([`super::histograms`]), of single samples, of a
//! selection, or of the whole dataset. Reads the histograms alone. Each is within one bin of the
//! exact one, because every value is known to within its bin. Between two neighbouring values it is
//! interpolated linearly, as exact percentiles are.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::export_subset::{Keeping, RowChoice, choose_rows};
use super::histograms::{BINS, MAXIMUM, MINIMUM};
use super::operation::{Operation, OperationOutput, PathUse, PathVisitor};
use super::tables::tables_of;
use crate::container::{self, ContainerReader};
use crate::error::{Error, Result};
use crate::jobs::{JobContext, try_map};
use crate::model::Value;
use crate::raster::{self, RasterSource, ReadRequest, Resampling, Window};

/// Computes percentiles from the histograms of the chosen samples. Plain data.
///
/// # Errors
/// For a tortilla without histograms, a selection without samples, scales that differ, and
/// percentages beyond 0 to 100.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PercentileRequest {
    /// The tortilla of histograms.
    pub input: PathBuf,
    /// From 0 to 100.
    pub percents: Vec<f64>,
    /// The samples.
    #[serde(flatten)]
    pub rows: RowChoice,
    /// Report each sample of level 0 by itself.
    #[serde(default)]
    pub each: bool,
    /// Also return the summed histogram of each band.
    #[serde(default)]
    pub histogram: bool,
}

/// The summed counts of one band.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BandHistogram {
    /// The value at which the first bin begins.
    pub low: f64,
    /// The value at which the last bin ends; it counts to that bin.
    pub high: f64,
    /// Values in each of the 100 bins, which have equal widths.
    pub counts: Vec<u64>,
}

/// The percentiles of one band.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BandPercentiles {
    /// Its number, from 1.
    pub band: usize,
    /// Values that were counted.
    pub count: u64,
    /// The width of a bin: the farthest that a percentile can be off.
    pub bin: f64,
    /// In the order asked for; empty when nothing was counted.
    pub values: Vec<f64>,
    /// Where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub histogram: Option<BandHistogram>,
}

/// The percentiles of the rasters at one position of the tree.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PositionPercentiles {
    /// The sample of level 0; `None` for all that were chosen.
    pub sample: Option<String>,
    /// Ids below level 0, joined by slashes; empty where level 0 holds the rasters.
    pub position: String,
    /// Rasters that were counted.
    pub rasters: u64,
    /// Band by band.
    pub bands: Vec<BandPercentiles>,
}

/// Result of [`PercentileRequest`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Percentiles {
    /// As asked for.
    pub percents: Vec<f64>,
    /// By sample, where that was asked for, then by position.
    pub positions: Vec<PositionPercentiles>,
}

/// The counts of one band on its scale. Those of several rasters add up where the scale is the
/// same.
#[derive(Clone, Debug, PartialEq)]
struct BandCounts {
    low: f64,
    high: f64,
    bins: Vec<u64>,
}

impl BandCounts {
    fn total(&self) -> u64 {
        self.bins.iter().sum()
    }

    /// The value of `rank`, from 0. Values are assumed to be spread evenly over their bin.
    fn value_of_rank(&self, rank: u64) -> f64 {
        let width = (self.high - self.low) / BINS as f64;
        let mut before = 0;
        for (bin, &count) in self.bins.iter().enumerate() {
            if rank < before + count {
                let inside = ((rank - before) as f64 + 0.5) / count as f64;
                return self.low + (bin as f64 + inside) * width;
            }
            before += count;
        }
        self.high
    }

    fn percentile(&self, percent: f64) -> f64 {
        let last = self.total().saturating_sub(1);
        let position = percent.clamp(0.0, 100.0) / 100.0 * last as f64;
        let rank = (position as u64).min(last);
        let (below, above) = (
            self.value_of_rank(rank),
            self.value_of_rank((rank + 1).min(last)),
        );
        below + (above - below) * position.fract()
    }
}

impl OperationOutput for Percentiles {
    fn to_json(&self) -> Json {
        json!(self)
    }

    fn summary(&self) -> String {
        tr_n!(
            self.positions.len(),
            "{n} position",
            "{n} positions",
            n = self.positions.len()
        )
    }

    fn output_paths(&self) -> Vec<&Path> {
        Vec::new()
    }
}

impl Operation for PercentileRequest {
    type Output = Percentiles;
    const READ_ONLY: bool = true;

    fn label(&self) -> String {
        tr!("Read the histograms").into()
    }

    fn visit_paths(&mut self, visit: &mut PathVisitor<'_>) {
        visit(PathUse::Read, &mut self.input);
    }

    fn run(&self, ctx: &JobContext) -> Result<Percentiles> {
        compute_percentiles(self, ctx)
    }
}

fn compute_percentiles(request: &PercentileRequest, ctx: &JobContext) -> Result<Percentiles> {
    if let Some(invalid) = request
        .percents
        .iter()
        .find(|percent| !(0.0..=100.0).contains(*percent))
    {
        return Err(Error::usage(format!("{invalid} is not a percentage"))
            .hint("percentiles are from 0 to 100"));
    }
    let reader = container::open(&request.input, ctx)?;
    let tree = reader.levels().skeleton(ctx)?;
    let keeping = Keeping {
        padding: false,
        siblings: false,
    };
    let keep = choose_rows(
        &request.rows,
        keeping,
        &tables_of(reader.as_ref(), ctx)?,
        &tree,
        ctx,
    )?;
    if keep.first().is_none_or(|roots| !roots.contains(&true)) {
        return Err(
            Error::usage("no sample is left").hint("try the same filters with `taco-studio query`")
        );
    }
    let mut groups: BTreeMap<(Option<usize>, String), (u64, Vec<BandCounts>)> = BTreeMap::new();
    let mut names = BTreeMap::new();
    for (depth, kept) in keep.iter().enumerate() {
        let level = &tree.levels[depth];
        let rows: Vec<u32> = level
            .list_files()
            .filter(|&row| kept[row as usize])
            .collect();
        if rows.is_empty() {
            continue;
        }
        ctx.stage(tr!("Reading the histograms"), Some(rows.len() as u64));
        let scales = LevelScales::from_level(reader.as_ref(), depth, ctx)?;
        let read: Vec<Vec<BandCounts>> = try_map(&rows, |_, &row| {
            let (asset, _) = reader.asset(depth, row)?;
            let counts = read_counts(&RasterSource::member(asset), &scales.of_row(row)?, ctx);
            ctx.step(1);
            counts.map_err(|error| error.at_place(tree.path(depth, row)))
        })?;
        for (&row, counts) in rows.iter().zip(read) {
            let path = tree.path(depth, row);
            let position = path
                .0
                .iter()
                .skip(1)
                .map(AsRef::as_ref)
                .collect::<Vec<&str>>()
                .join("/");
            let sample = request.each.then(|| find_root_row(&tree, depth, row));
            if let (Some(root), Some(id)) = (sample, path.0.first()) {
                names.insert(root, id.to_string());
            }
            let (rasters, sum) = groups.entry((sample, position)).or_default();
            *rasters += 1;
            add_counts(sum, counts).map_err(|error| error.at_place(path))?;
        }
    }
    reader.expect_unchanged()?;
    let positions = groups
        .into_iter()
        .map(
            |((sample, position), (rasters, counts))| PositionPercentiles {
                sample: sample.and_then(|root| names.get(&root).cloned()),
                position,
                rasters,
                bands: counts
                    .iter()
                    .enumerate()
                    .map(|(at, counts)| {
                        let histogram = BandHistogram {
                            low: counts.low,
                            high: counts.high,
                            counts: counts.bins.clone(),
                        };
                        BandPercentiles {
                            histogram: request.histogram.then_some(histogram),
                            ..describe_band(at + 1, counts, &request.percents)
                        }
                    })
                    .collect(),
            },
        )
        .collect();
    Ok(Percentiles {
        percents: request.percents.clone(),
        positions,
    })
}

fn describe_band(number: usize, counts: &BandCounts, percents: &[f64]) -> BandPercentiles {
    let count = counts.total();
    let values = percents
        .iter()
        .filter(|_| count > 0)
        .map(|percent| counts.percentile(*percent))
        .collect();
    BandPercentiles {
        band: number,
        count,
        bin: (counts.high - counts.low) / BINS as f64,
        values,
        histogram: None,
    }
}

/// The row of level 0 above a row.
fn find_root_row(tree: &crate::model::Skeleton, depth: usize, row: u32) -> usize {
    (1..=depth).rev().fold(row as usize, |row, depth| {
        tree.levels[depth].parents[row] as usize
    })
}

/// Adds the counts of a raster to those before it, which have to have the same scales.
fn add_counts(sum: &mut Vec<BandCounts>, more: Vec<BandCounts>) -> Result<()> {
    if sum.is_empty() {
        *sum = more;
        return Ok(());
    }
    if sum.len() != more.len() {
        let error = Error::usage(format!(
            "this histogram has {} bands, those before it have {}",
            more.len(),
            sum.len()
        ));
        return Err(error.hint(
            "--each gives the percentiles of each sample; --ids or --where \
            choose samples with the same bands",
        ));
    }
    if sum
        .iter()
        .zip(&more)
        .any(|(a, b)| (a.low, a.high) != (b.low, b.high))
    {
        let error =
            Error::format("this histogram has another scale than those of the samples before it");
        let error =
            error.hint("--each gives the percentiles of each sample, and --ids chooses samples");
        return Err(error.hint("make the histograms again, of the whole dataset, for one scale"));
    }
    for (sum, more) in sum.iter_mut().zip(more) {
        sum.bins
            .iter_mut()
            .zip(more.bins)
            .for_each(|(sum, more)| *sum = sum.saturating_add(more));
    }
    Ok(())
}

/// The ends of the scales of one level.
struct LevelScales {
    table: crate::table::LevelTable,
    columns: [usize; 2],
}

impl LevelScales {
    fn from_level(reader: &dyn ContainerReader, level: usize, ctx: &JobContext) -> Result<Self> {
        let table = reader.levels().columns(level, &[MINIMUM, MAXIMUM], ctx)?;
        match [MINIMUM, MAXIMUM].map(|name| table.column_index(name)) {
            [Some(low), Some(high)] => Ok(Self {
                table,
                columns: [low, high],
            }),
            _ => {
                let error = Error::usage(format!(
                    "level {level} has no columns {MINIMUM} and {MAXIMUM}"
                ));
                Err(error
                    .at_path(&reader.info().path)
                    .hint("make a tortilla of histograms with `taco-studio histograms`"))
            }
        }
    }

    fn of_row(&self, row: u32) -> Result<Vec<(f64, f64)>> {
        let ends = self
            .columns
            .map(|column| match self.table.value(row as usize, column) {
                Value::List(items) => items
                    .iter()
                    .map(|item| {
                        if let Value::Float(end) = item {
                            *end
                        } else {
                            f64::NAN
                        }
                    })
                    .collect(),
                _ => Vec::new(),
            });
        let [low, high] = &ends;
        let is_valid = !low.is_empty()
            && low.len() == high.len()
            && low.iter().zip(high).all(|(low, high)| low <= high);
        if !is_valid {
            return Err(Error::format(format!(
                "{MINIMUM} and {MAXIMUM} of row {row} are not a scale"
            )));
        }
        Ok(low.iter().copied().zip(high.iter().copied()).collect())
    }
}

fn read_counts(
    source: &RasterSource,
    scale: &[(f64, f64)],
    ctx: &JobContext,
) -> Result<Vec<BandCounts>> {
    ctx.check()?;
    let info = raster::describe(source)?;
    if (info.width, info.height, info.band_count) != (BINS, 1, scale.len()) {
        let (width, height, bands) = (info.width, info.height, info.band_count);
        let message = format!(
            "a histogram is {BINS} × 1 pixels in {} bands; this is {width} × {height} in {bands}",
            scale.len()
        );
        return Err(Error::format(message));
    }
    let request = ReadRequest {
        window: Window::full(BINS, 1),
        out: (BINS, 1),
        bands: info.bands.iter().map(|band| band.index).collect(),
        resampling: Resampling::Nearest,
    };
    let pixels = raster::read_window(source, &request, ctx)?;
    let mut counts = Vec::with_capacity(scale.len());
    for (band, &(low, high)) in pixels.bands.iter().zip(scale) {
        let bins = (0..BINS)
            .map(|bin| band.samples.get(bin).max(0.0) as u64)
            .collect();
        counts.push(BandCounts { low, high, bins });
    }
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts_of(values: &[f64], low: f64, high: f64) -> BandCounts {
        let mut bins = vec![0; BINS];
        let width = high - low;
        values.iter().for_each(|value| {
            bins[(((value - low) / width * BINS as f64) as usize).min(BINS - 1)] += 1
        });
        BandCounts { low, high, bins }
    }

    fn exact(sorted: &[f64], percent: f64) -> f64 {
        let place = percent / 100.0 * (sorted.len() - 1) as f64;
        let (below, above) = (
            sorted[place as usize],
            sorted[(place as usize + 1).min(sorted.len() - 1)],
        );
        below + (above - below) * place.fract()
    }

    #[test]
    fn percentiles_are_within_one_bin_of_exact_ones_also_across_gaps() {
        let mut number = 1u64;
        for shape in 0..4 {
            for count in [1, 2, 3, 10, 1000, 5000] {
                let mut values: Vec<f64> = (0..count)
                    .map(|_| {
                        number = number
                            .wrapping_mul(6_364_136_223_846_793_005)
                            .wrapping_add(1_442_695_040_888_963_407);
                        let even = (number >> 11) as f64 / (1u64 << 53) as f64;
                        match shape {
                            0 => even,
                            1 => even.powi(8),
                            // Two heaps with nothing between them.
                            2 => {
                                if even < 0.5 {
                                    even * 0.1
                                } else {
                                    1.0 - even * 0.1
                                }
                            }
                            _ => (even * 7.0).floor(),
                        }
                    })
                    .map(|value| value * 5000.0 - 700.0)
                    .collect();
                values.sort_by(f64::total_cmp);
                let (low, high) = (values[0] - 3.0, values[values.len() - 1] + 0.5);
                let counts = counts_of(&values, low, high);
                let bin = (high - low) / BINS as f64;
                for percent in [0.0, 0.1, 2.5, 25.0, 50.0, 63.7, 98.5, 100.0] {
                    let (found, wanted) = (counts.percentile(percent), exact(&values, percent));
                    assert!(
                        (found - wanted).abs() <= bin,
                        "shape {shape}, {count} values, {percent} %: {found}, not {wanted}"
                    );
                }
            }
        }
    }

    #[test]
    fn one_value_alone_is_itself() {
        let counts = BandCounts {
            low: 4.0,
            high: 4.0,
            bins: [vec![9], vec![0; BINS - 1]].concat(),
        };
        assert_eq!(
            (counts.percentile(2.5), counts.percentile(100.0)),
            (4.0, 4.0)
        );
        assert_eq!(
            describe_band(
                1,
                &BandCounts {
                    bins: vec![0; BINS],
                    ..counts
                },
                &[50.0]
            )
            .values,
            Vec::<f64>::new()
        );
    }

    #[test]
    fn other_scales_are_not_added_up() {
        let one = BandCounts {
            low: 0.0,
            high: 1.0,
            bins: vec![1; BINS],
        };
        let mut sum = Vec::new();
        add_counts(&mut sum, vec![one.clone()]).expect("the first");
        add_counts(&mut sum, vec![one.clone()]).expect("the same scale");
        assert_eq!(sum[0].total(), 200);
        let hints = |error: Error| error.hints().join(" ");
        let scale = add_counts(
            &mut sum,
            vec![BandCounts {
                high: 2.0,
                ..one.clone()
            }],
        )
        .expect_err("another scale");
        assert!(hints(scale).contains("histograms again"));
        // Other bands stay other bands, however often the histograms are made.
        let bands = hints(add_counts(&mut sum, vec![one.clone(), one]).expect_err("other bands"));
        assert!(
            bands.contains("--each") && bands.contains("--ids") && !bands.contains("again"),
            "{bands}"
        );
    }
}
