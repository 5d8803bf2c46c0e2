//! What a training loop over a dataset needs to know: the rasters of a sample, the parts of the
//! split, statistics and classes of the part to train on. Only the first sample's rasters are
//! opened; the rest comes from the metadata.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use serde_json::Value as Json;

use super::stats::{LevelStatistics, has_statistics};
use crate::container::ContainerReader;
use crate::error::{Kind, Result};
use crate::export::{
    TrainingClass, TrainingFacts, TrainingRaster, TrainingSplit, TrainingStatistics, is_target_name,
};
use crate::extensions::pooled_statistics::Pooled;
use crate::extensions::{OLD_SPLIT_COLUMN, SPLIT_COLUMN};
use crate::jobs::JobContext;
use crate::model::{SampleKind, Skeleton, is_padding};
use crate::raster;

/// Rasters of a sample that a loop reads at the most.
const RASTERS_MAX: usize = 16;
/// Files of the first sample that are opened at the most.
const OPENED_MAX: usize = 64;
/// Samples of a position whose rasters are compared at the most.
const COMPARED_MAX: usize = 8;
/// Largest side of a proposed window in pixels.
const WINDOW_MAX: usize = 256;
/// Columns of factors and offsets that statistics may have been scaled by.
const SCALING: [&str; 2] = ["scaling:scale_factor", "scaling:scale_offset"];
/// Names of the part to train on, and of that to validate on, in order of preference.
const TRAIN_NAMES: [&str; 2] = ["train", "training"];
const VALIDATION_NAMES: [&str; 6] = ["validation", "val", "valid", "dev", "test", "testing"];

/// A raster of the first sample.
struct FirstRaster {
    /// Ids from level 1 on; empty for a FILE of level 0.
    ids: Vec<String>,
    bands: usize,
    /// Columns and rows.
    size: [usize; 2],
}

impl FirstRaster {
    /// The ids as a path.
    fn position(&self) -> String {
        self.ids.join("/")
    }
}

/// The facts of a dataset; `None` when its first sample has no raster that a loop could read.
///
/// # Errors
/// When the metadata can't be read, or the job is cancelled.
pub(super) fn training_facts(
    reader: &dyn ContainerReader,
    ctx: &JobContext,
) -> Result<Option<TrainingFacts>> {
    let tree = reader.levels().skeleton(ctx)?;
    let Some(found) = rasters_of_first_sample(reader, &tree, ctx)? else {
        return Ok(None);
    };
    // Windows of one sample are at the same pixels of each raster.
    let size = size_to_read(&found);
    let (first, others): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|raster| raster.size == size);
    let mut left_out: Vec<(String, &'static str)> = others
        .iter()
        .map(|raster| (raster.position(), "of another size"))
        .collect();
    let split = read_split(reader, ctx)?;
    let train = match &split {
        Some((split, parts)) => rows_of_part(parts, &split.train),
        None => vec![true; reader.levels().rows(0)],
    };
    let mut rasters = Vec::with_capacity(first.len());
    let mut side = size.into_iter().min().unwrap_or_default();
    let roots = &tree.levels[0];
    let counted = (0..roots.len() as u32)
        .filter(|&root| train[root as usize] && !is_padding(roots.id(root)))
        .count();
    let mut statistics = StatisticsByLevel::new();
    for raster in &first {
        let rows = rows_at_position(&tree, &raster.ids, &train);
        if rows.len() < counted {
            left_out.push((raster.position(), "not in every sample"));
            continue;
        }
        let (bands, smallest) = least_of_some(reader, raster, &rows, ctx)?;
        side = side.min(smallest);
        rasters.push(TrainingRaster {
            position: (!raster.ids.is_empty()).then(|| raster.position()),
            bands,
            is_target: false,
            statistics: statistics_of(reader, raster, &rows, &mut statistics, ctx)?,
        });
    }
    if !statistics.is_empty() {
        reader.expect_unchanged()?;
    }
    if rasters.is_empty() {
        return Ok(None);
    }
    if let Some(target) = find_target(&rasters) {
        rasters[target].is_target = true;
    }
    Ok(Some(TrainingFacts {
        rasters,
        split: split.map(|(split, _)| split),
        window: Some(side.min(WINDOW_MAX)),
        left_out,
    }))
}

/// As [`training_facts`] for documents that are whole without them: what can't be read is a
/// warning.
///
/// # Errors
/// When the job is cancelled.
pub(super) fn training_facts_if_readable(
    reader: &dyn ContainerReader,
    ctx: &JobContext,
) -> Result<Option<TrainingFacts>> {
    training_facts(reader, ctx).or_else(|error| {
        if error.is_cancelled() {
            return Err(error);
        }
        ctx.warn(tr!("no code of a training loop: {error}", error));
        Ok(None)
    })
}

/// The least number of bands and the least side in pixels among some samples of a position, as far
/// as they can be read: those of one dataset may differ.
fn least_of_some(
    reader: &dyn ContainerReader,
    raster: &FirstRaster,
    rows: &[u32],
    ctx: &JobContext,
) -> Result<(usize, usize)> {
    let [columns, lines] = raster.size;
    let (mut bands, mut side) = (raster.bands, columns.min(lines));
    let step = rows.len().div_ceil(COMPARED_MAX).max(1);
    for &row in rows.iter().step_by(step) {
        ctx.check()?;
        let info = reader
            .raster(raster.ids.len(), row)
            .and_then(|(source, _)| raster::describe(&source));
        if let Ok(info) = info {
            bands = bands.min(info.band_count);
            side = side.min(info.width).min(info.height);
        }
    }
    Ok((bands, side))
}

/// Columns and rows that most of the rasters have; of several such sizes, the largest.
fn size_to_read(rasters: &[FirstRaster]) -> [usize; 2] {
    let count = |size: [usize; 2]| rasters.iter().filter(|raster| raster.size == size).count();
    let sizes = rasters.iter().map(|raster| raster.size);
    sizes
        .max_by_key(|&size| (count(size), size))
        .unwrap_or_default()
}

/// The raster that is learned: of those with a name that says so and those of classes the first,
/// one with both before all; `None` where nothing would be left to learn from.
fn find_target(rasters: &[TrainingRaster]) -> Option<usize> {
    let best = rasters.iter().map(rank_target).max()?;
    let target = rasters
        .iter()
        .position(|raster| rank_target(raster) == best)?;
    (best > 0 && rasters.len() > 1).then_some(target)
}

/// How much says that a raster is learned: its name more than that it has classes; 0 for nothing.
fn rank_target(raster: &TrainingRaster) -> usize {
    let is_named = raster.position.as_deref().is_some_and(is_target_name);
    let has_classes = matches!(raster.statistics, TrainingStatistics::Classes(_));
    usize::from(is_named) * 2 + usize::from(has_classes)
}

/// The rasters below the first sample of level 0 that is no padding, in the order of their rows.
fn rasters_of_first_sample(
    reader: &dyn ContainerReader,
    tree: &Skeleton,
    ctx: &JobContext,
) -> Result<Option<Vec<FirstRaster>>> {
    let Some(root) = tree
        .levels
        .first()
        .and_then(|level| (0..level.len() as u32).find(|&row| !is_padding(level.id(row))))
    else {
        return Ok(None);
    };
    let mut found = Vec::new();
    let mut opened = 0;
    let mut waiting = vec![(0, root, Vec::new())];
    while let Some((level, row, ids)) = waiting.pop() {
        ctx.check()?;
        if found.len() == RASTERS_MAX || opened == OPENED_MAX {
            break;
        }
        let rows = &tree.levels[level];
        if rows.kind(row) == SampleKind::Folder {
            let Some(below) = tree.levels.get(level + 1) else {
                continue;
            };
            for &child in rows.children(row).iter().rev() {
                let id = below.id(child);
                if !is_padding(id) && waiting.len() < OPENED_MAX {
                    let ids = [ids.as_slice(), &[id.to_owned()]].concat();
                    waiting.push((level + 1, child, ids));
                }
            }
            continue;
        }
        opened += 1;
        if let Ok((source, _)) = reader.raster(level, row)
            && let Ok(info) = raster::describe(&source)
            && info.band_count == info.bands.len()
            && !info.bands.is_empty()
            && !info.bands.iter().any(raster::BandInfo::is_complex)
        {
            found.push(FirstRaster {
                ids,
                bands: info.band_count,
                size: [info.width, info.height],
            });
        }
    }
    Ok(Some(found).filter(|found| !found.is_empty()))
}

/// The split of level 0, and the part of each of its rows.
fn read_split(
    reader: &dyn ContainerReader,
    ctx: &JobContext,
) -> Result<Option<(TrainingSplit, Vec<Option<String>>)>> {
    let fields = reader.levels().fields(0);
    let Some(column) = [SPLIT_COLUMN, OLD_SPLIT_COLUMN]
        .into_iter()
        .find(|name| fields.iter().any(|field| field.name == *name))
    else {
        return Ok(None);
    };
    let table = reader.levels().columns(0, &[column], ctx)?;
    let Ok(Some(texts)) = table.strings(column) else {
        return Ok(None);
    };
    let parts: Vec<Option<String>> = texts.iter().map(|text| text.map(str::to_owned)).collect();
    let Some(train) = find_part(&parts, &TRAIN_NAMES) else {
        return Ok(None);
    };
    let split = TrainingSplit {
        column: column.to_owned(),
        train,
        validation: find_part(&parts, &VALIDATION_NAMES),
    };
    Ok(Some((split, parts)))
}

/// The first of these names that a part has, as it is written there.
fn find_part(parts: &[Option<String>], names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| {
        let mut named = parts.iter().flatten();
        named.find(|part| part.eq_ignore_ascii_case(name)).cloned()
    })
}

fn rows_of_part(parts: &[Option<String>], part: &str) -> Vec<bool> {
    parts
        .iter()
        .map(|own| own.as_deref() == Some(part))
        .collect()
}

/// Rows of the samples at a position below the samples of level 0 that count, ascending.
fn rows_at_position(tree: &Skeleton, ids: &[String], counts: &[bool]) -> Vec<u32> {
    let mut found: Vec<u32> = (0..tree.levels[0].len() as u32)
        .filter(|&root| counts.get(root as usize).copied().unwrap_or(false))
        .filter_map(|root| {
            ids.iter().enumerate().try_fold(root, |row, (level, id)| {
                let below = tree.levels.get(level + 1)?;
                let mut children = tree.levels[level].children(row).iter().copied();
                children.find(|&child| below.id(child) == id)
            })
        })
        .collect();
    found.sort_unstable();
    found
}

/// The statistics of the levels that have rasters, each read once.
type StatisticsByLevel = BTreeMap<usize, LevelStatistics>;

/// Statistics of the stored values at a position, from the metadata.
fn statistics_of(
    reader: &dyn ContainerReader,
    raster: &FirstRaster,
    rows: &[u32],
    known: &mut StatisticsByLevel,
    ctx: &JobContext,
) -> Result<TrainingStatistics> {
    let level = raster.ids.len();
    let fields = reader.levels().fields(level);
    let is_scaled = fields
        .iter()
        .any(|field| SCALING.contains(&field.name.as_str()));
    if is_scaled || rows.is_empty() || !has_statistics(&fields) {
        return Ok(TrainingStatistics::Unknown);
    }
    let statistics = match known.entry(level) {
        Entry::Occupied(read) => read.into_mut(),
        Entry::Vacant(slot) => {
            let read = LevelStatistics::read(reader, level, ctx);
            slot.insert(read.map_err(|error| reader.opening().version.explain(error))?)
        }
    };
    let report = match statistics.pool_rows(rows) {
        Ok(report) => report,
        // Samples without statistics, or with those of different bands.
        Err(error) if error.kind() == Kind::Invalid => return Ok(TrainingStatistics::Unknown),
        Err(error) => return Err(error),
    };
    Ok(match report.pooled {
        Pooled::Continuous { bands } if bands.len() == raster.bands => {
            let bands: Option<Vec<_>> = bands.into_iter().collect();
            bands.map_or(TrainingStatistics::Unknown, |bands| {
                TrainingStatistics::Measurements {
                    mean: bands.iter().map(|band| band.mean).collect(),
                    // A band of one value is not divided by zero.
                    std: bands
                        .iter()
                        .map(|band| if band.std > 0.0 { band.std } else { 1.0 })
                        .collect(),
                }
            })
        }
        Pooled::Categorical { bands } if bands.len() == 1 => {
            let classes = classes_of(&reader.collection().fields, &bands[0]);
            classes.map_or(TrainingStatistics::Unknown, TrainingStatistics::Classes)
        }
        _ => TrainingStatistics::Unknown,
    })
}

/// The classes of `labels:classes` by value from 0 on, as losses count them, with their shares,
/// which are in this order; `None` when the shares are not about these classes, the values have
/// gaps, or the highest class has no share, as older tools lost it.
fn classes_of(
    fields: &serde_json::Map<String, Json>,
    shares: &[f64],
) -> Option<Vec<TrainingClass>> {
    let stated = fields.get("labels:classes")?.as_array()?;
    if stated.len() != shares.len() || shares.last().is_none_or(|share| *share <= 0.0) {
        return None;
    }
    let mut classes = Vec::with_capacity(shares.len());
    for class in stated {
        let category = class.get("category")?;
        let value = match category.as_str() {
            Some(text) => text.trim().parse().ok()?,
            None => category.as_i64()?,
        };
        let name = class.get("name").and_then(Json::as_str);
        classes.push(TrainingClass {
            value,
            name: name.map_or_else(|| value.to_string(), str::to_owned),
            share: 0.0,
        });
    }
    classes.sort_by_key(|class| class.value);
    for (class, share) in classes.iter_mut().zip(shares) {
        class.share = *share;
    }
    let is_dense = classes
        .iter()
        .enumerate()
        .all(|(index, class)| class.value == index as i64);
    is_dense.then_some(classes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn classes_have_the_values_of_the_collection() {
        let fields = json!({"labels:classes": [
            {"name": "water", "category": "1"}, {"name": "land", "category": 0},
        ]});
        let fields = fields.as_object().expect("an object");
        let classes = classes_of(fields, &[0.8, 0.2]).expect("are classes");
        assert_eq!((classes[0].name.as_str(), classes[0].share), ("land", 0.8));
        assert!(classes_of(fields, &[1.0, 0.0]).is_none());
        assert!(classes_of(fields, &[1.0]).is_none());
        let gaps =
            json!({"labels:classes": [{"name": "a", "category": 0}, {"name": "b", "category": 5}]});
        assert!(classes_of(gaps.as_object().expect("an object"), &[0.5, 0.5]).is_none());
    }
}
