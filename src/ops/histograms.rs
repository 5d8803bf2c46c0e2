//! Precomputed histograms (TACO 0.2, "Precomputed Histogram information"): a tortilla of the
//! dataset's own shape that holds, in the place of each raster, a GeoTIFF in strips: 100 columns,
//! one row, one band for each band of the raster; a pixel is the number of values in a bin. Values
//! are scaled linearly from the lowest and highest of the dataset to 0–255, and the bins divide
//! that evenly. The scale is in the columns `histogram:minimum` and `histogram:maximum`, so that
//! [`super::percentiles`] needs no raster.
//!
//! Must not round scaled values: the specification allows it, but it only costs precision.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::draft_of_assembly::draft_of_assembly;
use super::legacy::write_first_generation;
use super::migrate::assembly_of;
use super::operation::{Operation, PathUse, PathVisitor, visit_read_dataset};
use crate::container::{self, Built, OnDamage, OpenOptions, Scratch, TortillaOptions};
use crate::error::{Error, IoContext, Result};
use crate::extensions::HASH_COLUMN;
use crate::jobs::{JobContext, try_map};
use crate::model::{Dataset, FieldSpec, HISTOGRAM_ENDS, Payload, Sample, Schema, Tortilla, Value};
use crate::raster::{self, NewRaster, RasterSource, Samples, VARIABLE_COLUMN, variable_of_value};

pub use crate::model::HISTOGRAM_BINS as BINS;
/// Columns of the tortilla: the ends of the scale, one number for each band.
pub const MINIMUM: &str = HISTOGRAM_ENDS[0];
/// The other end.
pub const MAXIMUM: &str = HISTOGRAM_ENDS[1];
/// Columns that do not apply to a histogram, or are generated again.
const STALE: [&str; 3] = ["taco:header", HASH_COLUMN, "tortilla:file_format"];
/// A count beyond this needs numbers of 64 bits, which GeoTIFF readers take as floating point.
const COUNT_MAX: u64 = u32::MAX as u64;

/// Which values share a scale.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// All of the dataset, as the specification says.
    #[default]
    Dataset,
    /// Those of one band of the rasters at one position: finer where bands or rasters differ in
    /// kind.
    Band,
}

/// Counts the values of every raster and writes the tortilla of histograms. Files that are no
/// rasters of real numbers are left out with a warning. Plain data.
///
/// # Errors
/// For a dataset without such rasters, a target that does not end in `.tortilla`, and files that
/// can't be read or written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HistogramRequest {
    /// The dataset, of any generation.
    pub input: PathBuf,
    /// How to open it.
    #[serde(default)]
    pub open: OpenOptions,
    /// Output file, a `.tortilla`.
    pub output: PathBuf,
    /// Which values share a scale.
    #[serde(default)]
    pub scale: Scale,
    /// Replace an existing output.
    #[serde(default)]
    pub overwrite: bool,
}

/// One FILE of the dataset, in tree order.
struct Leaf {
    /// Ids from below level 0, joined by slashes: the same for all samples.
    component: Arc<str>,
    /// Ids from the root.
    path: String,
    /// Its bytes; `None` for placeholders.
    asset: Option<RasterSource>,
}

/// The lowest and the highest value of each band; `None` where a band has no data.
type BandRanges = Vec<Option<(f64, f64)>>;

impl Operation for HistogramRequest {
    type Output = Built;

    fn label(&self) -> String {
        tr!("Count the values of {path}", path = self.input.display())
    }

    fn visit_paths(&mut self, visit: &mut PathVisitor<'_>) {
        visit_read_dataset(&mut self.input, &mut self.open, visit);
        visit(PathUse::Write, &mut self.output);
    }

    fn run(&self, ctx: &JobContext) -> Result<Built> {
        histograms(self, ctx)
    }
}

fn histograms(request: &HistogramRequest, ctx: &JobContext) -> Result<Built> {
    if !request
        .output
        .extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("tortilla"))
    {
        return Err(
            Error::usage("histograms are kept in a file that ends in .tortilla")
                .at_path(&request.output),
        );
    }
    container::refuse_existing(&request.output, request.overwrite)?;
    let reader = container::open_with(&request.input, &request.open, ctx)?;
    let assembly = assembly_of(reader.as_ref(), ctx)?;
    let dataset = draft_of_assembly(&assembly, ctx)?;
    let mut leaves = Vec::new();
    collect(&dataset.root, &mut Vec::new(), &mut leaves);
    // Twice through the pixels: the scale has to be known before the first value is counted.
    ctx.stage(
        tr!("Looking for the lowest and highest values"),
        Some(leaves.len() as u64),
    );
    let found: Vec<Option<BandRanges>> = try_map(&leaves, |_, leaf| ranges_of(leaf, ctx))?;
    let scales = HistogramScales::new(request.scale, &leaves, &found)?;
    ctx.stage(tr!("Counting values"), Some(leaves.len() as u64));
    let scratch = Scratch::for_work()?;
    let made: Vec<Option<WrittenHistogram>> = try_map(
        leaves.par_iter().zip(&found),
        |number, (leaf, found)| match (found, &leaf.asset) {
            (Some(found), Some(asset)) => {
                let scale = scales.scales_of_bands(&leaf.component, found.len());
                let file = scratch.path().join(format!("{number}.tif"));
                let bytes =
                    count(asset, &scale, &file, ctx).map_err(|error| error.at_place(&leaf.path))?;
                ctx.step(1);
                Ok(Some(WrittenHistogram { bytes, scale }))
            }
            _ => Ok(None),
        },
    )?;
    raster::close_idle();
    let mut made = made.into_iter();
    let root = with_histograms(&dataset.root, &mut made);
    let histograms = Dataset {
        root: Arc::new(root),
        ..dataset
    };
    // All tables of a chain are read with few requests, however many samples there are.
    let options = TortillaOptions {
        text_form: false,
        target: request.output.clone(),
        collection: None,
        part_bytes: None,
        stream: true,
        allow_non_tog: true,
        overwrite: request.overwrite,
        on_damage: OnDamage::Stop,
    };
    write_first_generation(&histograms, &assembly.version, &options, ctx)
}

fn collect(tortilla: &Tortilla, above: &mut Vec<Arc<str>>, leaves: &mut Vec<Leaf>) {
    for sample in &tortilla.samples {
        above.push(sample.id.clone());
        match &sample.payload {
            Payload::Folder(children) => collect(children, above, leaves),
            payload => leaves.push(Leaf {
                component: above
                    .iter()
                    .skip(1)
                    .map(AsRef::as_ref)
                    .collect::<Vec<&str>>()
                    .join("/")
                    .into(),
                path: above.join("/"),
                asset: match payload {
                    Payload::Asset { path, .. } if !sample.is_padding() => {
                        let variable = tortilla
                            .field(VARIABLE_COLUMN)
                            .and_then(|at| variable_of_value(sample.value(at)));
                        Some(RasterSource::member(path.clone()).with_variable(variable))
                    }
                    _ => None,
                },
            }),
        }
        above.pop();
    }
}

fn ranges_of(leaf: &Leaf, ctx: &JobContext) -> Result<Option<BandRanges>> {
    let Some(asset) = &leaf.asset else {
        return Ok(None);
    };
    ctx.step(1);
    match ctx.check().and_then(|()| read_ranges(leaf, asset, ctx)) {
        Ok(ranges) => Ok(Some(ranges)),
        Err(error) if error.is_cancelled() => Err(error),
        Err(error) => {
            ctx.warn(format!("{} has no histogram: {error}", leaf.path));
            Ok(None)
        }
    }
}

fn read_ranges(leaf: &Leaf, asset: &RasterSource, ctx: &JobContext) -> Result<BandRanges> {
    let tally = raster::tally(asset, ctx)?;
    tally.info().warn_of_variable(&leaf.path, ctx);
    (0..tally.band_count())
        .map(|band| {
            Ok(tally
                .summary(band, &[], ctx)?
                .map(|summary| (summary.min, summary.max)))
        })
        .collect()
}

/// The ends of the scale for each position and band.
enum HistogramScales {
    One(f64, f64),
    Bands(HashMap<(Arc<str>, usize), (f64, f64)>),
}

impl HistogramScales {
    fn new(scale: Scale, leaves: &[Leaf], found: &[Option<BandRanges>]) -> Result<Self> {
        let mut all: Option<(f64, f64)> = None;
        let mut bands: HashMap<(Arc<str>, usize), (f64, f64)> = HashMap::new();
        let wider = |a: (f64, f64), b: (f64, f64)| (a.0.min(b.0), a.1.max(b.1));
        for (leaf, ranges) in leaves.iter().zip(found) {
            for (band, range) in ranges.iter().flatten().enumerate() {
                let Some(range) = *range else { continue };
                all = Some(all.map_or(range, |all| wider(all, range)));
                bands
                    .entry((leaf.component.clone(), band))
                    .and_modify(|known| *known = wider(*known, range))
                    .or_insert(range);
            }
        }
        let Some((low, high)) = all else {
            return Err(Error::usage(
                "no raster of this dataset has a value to count",
            ));
        };
        Ok(if scale == Scale::Dataset {
            HistogramScales::One(low, high)
        } else {
            HistogramScales::Bands(bands)
        })
    }

    /// For each band; of one that has no data anywhere the ends are 0.
    fn scales_of_bands(&self, component: &Arc<str>, bands: usize) -> Vec<(f64, f64)> {
        (0..bands)
            .map(|band| match self {
                HistogramScales::One(low, high) => (*low, *high),
                HistogramScales::Bands(known) => known
                    .get(&(component.clone(), band))
                    .copied()
                    .unwrap_or_default(),
            })
            .collect()
    }
}

struct WrittenHistogram {
    bytes: Arc<[u8]>,
    scale: Vec<(f64, f64)>,
}

/// The histogram of one raster as a GeoTIFF.
fn count(
    asset: &RasterSource,
    scale: &[(f64, f64)],
    file: &std::path::Path,
    ctx: &JobContext,
) -> Result<Arc<[u8]>> {
    let tally = raster::tally(asset, ctx)?;
    // Bins of the values themselves are those of the scaled ones: the scale is linear.
    let counts: Vec<Vec<u64>> = scale
        .iter()
        .enumerate()
        .map(|(band, &(low, high))| tally.histogram(band, low, high, BINS, ctx))
        .collect::<Result<_>>()?;
    let small = counts.iter().flatten().all(|&count| count <= COUNT_MAX);
    let bands = counts
        .into_iter()
        .map(|counts| {
            if small {
                Samples::U32(counts.into_iter().map(|count| count as u32).collect())
            } else {
                Samples::F64(counts.into_iter().map(|count| count as f64).collect())
            }
        })
        .collect();
    let options = vec![
        ("TILED", "NO"),
        ("COMPRESS", "ZSTD"),
        ("ZSTD_LEVEL", "13"),
        ("INTERLEAVE", "BAND"),
    ];
    raster::write_geotiff(
        file,
        &NewRaster {
            width: BINS,
            height: 1,
            bands,
            options,
            ..NewRaster::default()
        },
    )?;
    let bytes = crate::files::read(file).io_at("read the histogram", file)?;
    std::fs::remove_file(file).io_at("remove the temporary file", file)?;
    Ok(bytes.into())
}

/// The same tree with histograms instead of rasters, and without what has none.
fn with_histograms(
    tortilla: &Tortilla,
    made: &mut impl Iterator<Item = Option<WrittenHistogram>>,
) -> Tortilla {
    let keep: Vec<usize> = (0..tortilla.schema.len())
        .filter(|&field| !STALE.contains(&tortilla.schema[field].name.as_str()))
        .collect();
    let files = tortilla
        .samples
        .iter()
        .any(|sample| sample.children().is_none());
    let mut schema: Vec<FieldSpec> = keep
        .iter()
        .map(|&field| tortilla.schema[field].clone())
        .collect();
    if files {
        schema.push(describe_numbers(
            MINIMUM,
            "The value at which the first bin of each band begins",
        ));
        schema.push(describe_numbers(
            MAXIMUM,
            "The value at which the last bin of each band ends; it counts to that bin",
        ));
    }
    let schema: Schema = schema.into();
    let mut samples = Vec::with_capacity(tortilla.samples.len());
    for sample in &tortilla.samples {
        let mut values: Vec<Value> = keep
            .iter()
            .map(|&field| sample.value(field).clone())
            .collect();
        let payload = match &sample.payload {
            Payload::Folder(children) => {
                let children = with_histograms(children, made);
                if children.samples.is_empty() {
                    continue;
                }
                Payload::Folder(Arc::new(children))
            }
            _ => {
                let Some(WrittenHistogram { bytes, scale }) = made.next().flatten() else {
                    continue;
                };
                let list = |end: fn(&(f64, f64)) -> f64| {
                    Value::List(scale.iter().map(|ends| Value::Float(end(ends))).collect())
                };
                values.extend([list(|ends| ends.0), list(|ends| ends.1)]);
                Payload::Bytes(bytes)
            }
        };
        samples.push(Sample {
            id: sample.id.clone(),
            payload,
            values: values.into(),
        });
    }
    Tortilla { schema, samples }
}

/// A column with a number for each band.
fn describe_numbers(name: &str, description: &str) -> FieldSpec {
    FieldSpec {
        name: name.into(),
        dtype: DataType::List(Arc::new(Field::new("item", DataType::Float64, true))),
        description: description.into(),
    }
}
