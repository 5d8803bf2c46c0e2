//! Consistency by position: compares data type, bands, size, CRS, pixel size, nodata, overlap with
//! siblings and order in time of the rasters at each position of the tree (TACO 2.0, section 5.4)
//! over all roots. The format allows rasters to differ; models seldom do. Reads headers and
//! metadata columns, never pixels.
//!
//! `headers` reads the header of each raster once; `positions` finds the samples of each position;
//! `compare` finds common values and outliers.

mod compare;
mod headers;
mod positions;
mod times;

use std::collections::BTreeSet;
use std::sync::Arc;

use super::header_cache::{HeaderCache, Version};
use crate::container::ContainerReader;
use crate::error::Result;
use crate::jobs::JobContext;
use crate::model::{
    AcceptedValue, AssetPath, Consistency, Dataset, OutlierMessage, Payload, RasterProperty,
    Report, Sample, Skeleton,
};

/// Options of the comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct ConsistencyOptions {
    /// Maximum difference between pixel sizes that count as equal, as a fraction of the common
    /// pixel size.
    pub tolerance: f64,
    /// Properties that are not compared.
    pub skipped_properties: BTreeSet<RasterProperty>,
    /// Differing values that the owner of the dataset accepts: rasters with them are not outliers.
    pub accepted: Vec<AcceptedValue>,
    /// Compares only headers that are in the cache; other files are not read.
    pub cached_only: bool,
}

impl Default for ConsistencyOptions {
    fn default() -> Self {
        Self {
            tolerance: 0.001,
            skipped_properties: BTreeSet::new(),
            accepted: Vec::new(),
            cached_only: false,
        }
    }
}

/// The tree of a dataset, and access to its rasters and times.
struct ComparisonInput<'a> {
    tree: &'a Skeleton,
    /// Location and version of the bytes of the FILE at a level and row; `None` for an empty FILE.
    raster: &'a (dyn Fn(usize, u32) -> Result<Option<(AssetPath, Version)>> + Sync),
    /// By level, the start time of each row in microseconds since 1970.
    times: Vec<Vec<Option<i64>>>,
}

/// Compares the rasters of an opened dataset.
///
/// # Errors
/// When a level table can't be read, or the job is cancelled. Files that are not rasters are
/// counted instead.
pub fn consistency_of_container(
    reader: &dyn ContainerReader,
    options: &ConsistencyOptions,
    cache: &HeaderCache,
    ctx: &JobContext,
) -> Result<Consistency> {
    let tree = reader.levels().skeleton(ctx)?;
    let raster = |level: usize, row: u32| find_stored_raster(reader, level, row);
    let times = (0..tree.levels.len())
        .map(|level| times::of_level(reader, level, ctx))
        .collect::<Result<_>>()?;
    compare_rasters(
        &ComparisonInput {
            tree: &tree,
            raster: &raster,
            times,
        },
        options,
        cache,
        ctx,
    )
}

/// Location of the bytes of a stored FILE, without a version; `None` for an empty FILE.
pub(super) fn find_stored_raster(
    reader: &dyn ContainerReader,
    level: usize,
    row: u32,
) -> Result<Option<(AssetPath, Version)>> {
    let (asset, size) = reader.asset(level, row)?;
    Ok((size > 0).then_some((asset, None)))
}

/// Compares the rasters of a draft as they would be packed: without sidecars. A sample without a
/// time in its metadata gets the date in its file name.
///
/// # Errors
/// When the job is cancelled. Files that are not rasters are counted instead.
pub fn consistency_of_draft(
    dataset: &Dataset,
    options: &ConsistencyOptions,
    cache: &HeaderCache,
    ctx: &JobContext,
) -> Result<Consistency> {
    let tree = Skeleton::from_dataset(dataset);
    let mut levels: Vec<Vec<&Sample>> = Vec::new();
    let mut times: Vec<Vec<Option<i64>>> = Vec::new();
    let mut tortillas = vec![&*dataset.root];
    while levels.len() < tree.levels.len() {
        times.push(
            tortillas
                .iter()
                .flat_map(|tortilla| times::of_tortilla(tortilla))
                .collect(),
        );
        let samples: Vec<&Sample> = tortillas
            .iter()
            .flat_map(|tortilla| &tortilla.samples)
            .collect();
        tortillas = samples
            .iter()
            .filter_map(|sample| sample.children())
            .map(AsRef::as_ref)
            .collect();
        levels.push(samples);
    }
    let raster = |level: usize, row: u32| Ok(find_draft_raster(&levels, level, row));
    compare_rasters(
        &ComparisonInput {
            tree: &tree,
            raster: &raster,
            times,
        },
        options,
        cache,
        ctx,
    )
}

/// Location and version of the bytes of a FILE of a draft; `None` for an empty FILE and a FOLDER.
pub(super) fn find_draft_raster(
    levels: &[Vec<&Sample>],
    level: usize,
    row: u32,
) -> Option<(AssetPath, Version)> {
    match &levels.get(level)?.get(row as usize)?.payload {
        Payload::Asset {
            path,
            size,
            modified,
        } if *size > 0 => Some((path.clone(), Some((*size, *modified)))),
        _ => None,
    }
}

fn compare_rasters(
    input: &ComparisonInput<'_>,
    options: &ConsistencyOptions,
    cache: &HeaderCache,
    ctx: &JobContext,
) -> Result<Consistency> {
    let positions = positions::SamplePositions::from_tree(input.tree);
    let headers = headers::read(input, &positions, cache, !options.cached_only, ctx)?;
    ctx.stage(tr!("Comparing headers"), None);
    let mut consistency = compare::compare(&headers, &positions, options, ctx)?;
    consistency.accept(&options.accepted);
    for position in &mut consistency.positions {
        for outlier in position
            .agreements
            .iter_mut()
            .flat_map(|agreement| &mut agreement.outliers)
        {
            outlier.path = input.tree.path(position.level, outlier.row);
        }
    }
    Ok(consistency)
}

/// Adds a finding for each outlier to a report, and the comparison itself.
pub fn report_consistency(consistency: Consistency, report: &mut Report) {
    for (position, property, outlier) in consistency.outliers() {
        let message = OutlierMessage {
            position,
            property,
            outlier,
        };
        report.add(property.rule(), message.location(), message.to_string());
    }
    report.consistency = Some(Arc::new(consistency));
}
