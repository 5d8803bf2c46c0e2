//! Compares statistics (TACO 2.0, section 7.2) and locations (section 7.1.1) in the metadata with
//! the rasters. Only for deep checks and `repair`, as pixels are read. Changes nothing.
//!
//! The columns do not state how a statistic was computed: the classes of shares, or whether values
//! were scaled. All usual ways are tried, and only statistics that match none of them are findings.

use std::collections::{BTreeMap, BTreeSet};

use geo::{Area, BooleanOps, Intersects};
use rayon::prelude::*;

use crate::container::ContainerReader;
use crate::error::Result;
use crate::footprint::{self, PlaceSource, StatedLocation, StatedLocationReader};
use crate::jobs::JobContext;
use crate::model::{Value, is_padding};
use crate::raster::{self, RasterCount, RasterInfo};
use crate::table::{LevelTable, wkb_point};

/// The column with statistics.
pub const STATS: &str = "geotiff:stats";
/// Percentiles in the order of the column.
const PERCENTS: [f64; 4] = [25.0, 50.0, 75.0, 95.0];
const CONTINUOUS: usize = 9;
/// Maximum number of distinct values of a categorical raster.
const CLASSES_MOST: usize = 4096;
/// Tolerance of class shares: they are rounded, and the tools sample large rasters.
const SAME_SHARE: f64 = 2e-3;
const NEAR_SHARE: f64 = 2e-2;
/// Tolerance of other statistics, as a fraction of the band's range.
const SAME_VALUE: f64 = 1e-2;
const SAME_PERCENTILE: f64 = 2e-2;

/// Result of comparing one row's statistics with the pixels.
#[derive(Clone, Debug, PartialEq)]
pub enum StatisticsVerdict {
    /// The statistics are correct.
    Right,
    /// The highest class was omitted; with the correct shares.
    ClassLost(Vec<Vec<f64>>),
    /// The statistics are wrong; with the correct ones.
    Wrong(Vec<Vec<f64>>),
    /// Not comparable: no raster, or an unknown kind of statistics.
    Unknown,
}

/// Results for the examined rows of one level.
#[derive(Debug, Default)]
pub struct Audit {
    /// Row and result, in row order.
    pub rows: Vec<(u32, StatisticsVerdict)>,
    /// Number of rows with statistics.
    pub of: usize,
}

/// Data read for one row.
struct RowRead {
    row: u32,
    id: String,
    stored: Vec<Vec<f64>>,
    tally: Option<PixelStatistics>,
    scales: Vec<Vec<(f64, f64)>>,
}

/// Pixel statistics of a raster.
enum PixelStatistics {
    /// By band, the number of pixels of each value.
    Classes(Vec<BTreeMap<i64, u64>>),
    /// By band, the nine statistics of unscaled values; `None` without valid pixels.
    Numbers(Vec<Option<Vec<f64>>>),
}

/// Compares the statistics of at most `limit` evenly spaced rows of a level with the pixels.
///
/// # Errors
/// When the level table cannot be read, or the job is cancelled.
pub fn audit(
    reader: &dyn ContainerReader,
    level: usize,
    limit: usize,
    ctx: &JobContext,
) -> Result<Audit> {
    let fields = reader.levels().fields(level);
    if !fields.iter().any(|field| field.name == STATS) {
        return Ok(Audit::default());
    }
    let names = [
        "id",
        "type",
        STATS,
        "scaling:scale_factor",
        "scaling:scale_offset",
    ];
    let names: Vec<&str> = names
        .into_iter()
        .filter(|name| fields.iter().any(|field| field.name == *name))
        .collect();
    let table = reader.levels().columns(level, &names, ctx)?;
    let rows: Vec<u32> = (0..table.rows() as u32)
        .filter(|&row| is_wanted(&table, row))
        .collect();
    let step = rows.len().div_ceil(limit.max(1)).max(1);
    let chosen: Vec<u32> = rows.iter().copied().step_by(step).collect();
    ctx.stage(
        tr!("Comparing statistics with pixels"),
        Some(chosen.len() as u64),
    );
    let read: Vec<RowRead> = chosen
        .par_iter()
        .map(|&row| {
            ctx.check()?;
            let read = read_row(reader, &table, level, row, ctx);
            ctx.step(1);
            match read {
                Err(error) if error.is_cancelled() => Err(error),
                other => Ok(other.ok()),
            }
        })
        .collect::<Result<Vec<Option<RowRead>>>>()?
        .into_iter()
        .flatten()
        .collect();
    let mut groups: BTreeMap<&str, Vec<&RowRead>> = BTreeMap::new();
    for one in &read {
        // Children at one position have the same kind of statistics, and so do all samples of
        // level 0.
        groups
            .entry(if level == 0 { "" } else { &one.id })
            .or_default()
            .push(one);
    }
    let lists: BTreeMap<&str, Option<Vec<i64>>> = groups
        .iter()
        .map(|(id, group)| (*id, class_list(group)))
        .collect();
    let mut verdicts = Vec::with_capacity(read.len());
    for one in &read {
        let classes = lists.get(if level == 0 { "" } else { one.id.as_str() });
        verdicts.push((
            one.row,
            judge_statistics(one, classes.and_then(Option::as_ref)),
        ));
    }
    Ok(Audit {
        rows: verdicts,
        of: rows.len(),
    })
}

fn is_wanted(table: &LevelTable, row: u32) -> bool {
    let cell = |name: &str| read_cell(table, row, name);
    let file = matches!(cell("type"), Value::Text(kind) if &*kind == "FILE");
    let real = !matches!(cell("id"), Value::Text(id) if is_padding(&id));
    file && real && matches!(cell(STATS), Value::List(_))
}

fn read_cell(table: &LevelTable, row: u32, name: &str) -> Value {
    let column = table.column_index(name);
    column.map_or(Value::Null, |column| table.value(row as usize, column))
}

fn read_row(
    reader: &dyn ContainerReader,
    table: &LevelTable,
    level: usize,
    row: u32,
    ctx: &JobContext,
) -> Result<RowRead> {
    let cell = |name: &str| read_cell(table, row, name);
    let stored: Vec<Vec<f64>> = match cell(STATS) {
        Value::List(bands) => bands.iter().map(numbers).collect(),
        _ => Vec::new(),
    };
    let (asset, _) = reader.raster(level, row)?;
    let info = raster::describe(&asset)?;
    let tally = raster::tally(&asset, ctx)?;
    let id = if let Value::Text(id) = cell("id") {
        id.to_string()
    } else {
        String::new()
    };
    let shares = stored.iter().any(|band| are_shares(band));
    let pixels = if shares {
        classes_of(&tally, ctx)?.map(PixelStatistics::Classes)
    } else {
        Some(PixelStatistics::Numbers(
            (0..tally.band_count())
                .map(|band| compute_nine_statistics(&tally, band, ctx))
                .collect::<Result<_>>()?,
        ))
    };
    let scales = scales(
        &info,
        &cell("scaling:scale_factor"),
        &cell("scaling:scale_offset"),
        stored.len(),
    );
    Ok(RowRead {
        row,
        id,
        stored,
        tally: pixels,
        scales,
    })
}

fn compute_nine_statistics(
    tally: &RasterCount,
    band: usize,
    ctx: &JobContext,
) -> Result<Option<Vec<f64>>> {
    let summary = tally.summary(band, &PERCENTS, ctx)?;
    Ok(summary.map(|s| {
        [
            vec![s.min, s.max, s.mean, s.std, s.valid_percent],
            s.percentiles,
        ]
        .concat()
    }))
}

fn classes_of(tally: &RasterCount, ctx: &JobContext) -> Result<Option<Vec<BTreeMap<i64, u64>>>> {
    let mut bands = Vec::new();
    for band in 0..tally.band_count() {
        let Some(counts) = tally.distinct(band, CLASSES_MOST, ctx)? else {
            return Ok(None);
        };
        bands.push(counts);
    }
    Ok(Some(bands))
}

/// Scale factor and offset of each band, for every usual way of scaling.
fn scales(info: &RasterInfo, factor: &Value, offset: &Value, bands: usize) -> Vec<Vec<(f64, f64)>> {
    let by_columns = (0..bands)
        .map(|band| {
            (
                factor.number_of_band(band).unwrap_or(1.0),
                offset.number_of_band(band).unwrap_or(0.0),
            )
        })
        .collect();
    let by_header = (0..bands).map(|band| {
        info.bands.get(band).map_or((1.0, 0.0), |b| {
            (b.scale.unwrap_or(1.0), b.offset.unwrap_or(0.0))
        })
    });
    let mut all: Vec<Vec<(f64, f64)>> =
        vec![by_columns, vec![(1.0, 0.0); bands], by_header.collect()];
    all.dedup();
    all
}

/// The classes of a group's shares: the pixel values, or consecutive integers from 0 or from 1,
/// whichever matches best.
fn class_list(group: &[&RowRead]) -> Option<Vec<i64>> {
    let count = list_shares(group).next()?.len();
    if list_shares(group).any(|band| band.len() != count) {
        return None;
    }
    let mut seen: BTreeSet<i64> = BTreeSet::new();
    for one in group {
        if let Some(PixelStatistics::Classes(bands)) = &one.tally {
            seen.extend(bands.iter().flat_map(|band| band.keys()));
        }
    }
    let distinct: Vec<i64> = seen.into_iter().collect();
    let from = |first: i64| (first..first + count as i64).collect::<Vec<_>>();
    let mut candidates = vec![from(0), from(1)];
    if distinct.len() == count && !candidates.contains(&distinct) {
        candidates.insert(0, distinct);
    }
    let best = candidates
        .into_iter()
        .map(|classes| (measure_class_misfit(group, &classes), classes))
        .min_by(|a, b| a.0.total_cmp(&b.0))?;
    (best.0 <= NEAR_SHARE * 2.5).then_some(best.1)
}

fn list_shares<'a>(group: &'a [&RowRead]) -> impl Iterator<Item = &'a Vec<f64>> {
    group
        .iter()
        .flat_map(|one| &one.stored)
        .filter(|band| are_shares(band))
}

fn measure_class_misfit(group: &[&RowRead], classes: &[i64]) -> f64 {
    let mut worst = 0f64;
    for one in group {
        let Some(PixelStatistics::Classes(bands)) = &one.tally else {
            continue;
        };
        for (stored, counts) in one
            .stored
            .iter()
            .zip(bands)
            .filter(|(stored, _)| are_shares(stored))
        {
            let Some((right, lost)) = shares_of(counts, classes) else {
                return f64::INFINITY;
            };
            worst = worst
                .max(largest_difference(stored, &right).min(largest_difference(stored, &lost)));
        }
    }
    worst
}

/// The shares of the classes, and the shares when the highest class is omitted. `None` when no
/// pixel belongs to a class.
fn shares_of(counts: &BTreeMap<i64, u64>, classes: &[i64]) -> Option<(Vec<f64>, Vec<f64>)> {
    let of = |class: &i64| counts.get(class).copied().unwrap_or(0) as f64;
    let total: f64 = classes.iter().map(of).sum();
    if total == 0.0 {
        return None;
    }
    let right: Vec<f64> = classes.iter().map(|class| of(class) / total).collect();
    let highest = classes.iter().max()?;
    let rest = total - of(highest);
    // The tools treat a raster of a single class differently, and correctly.
    let lost = if rest > 0.0 {
        classes
            .iter()
            .map(|class| {
                if class == highest {
                    0.0
                } else {
                    of(class) / rest
                }
            })
            .collect()
    } else {
        right.clone()
    };
    Some((right, lost))
}

fn largest_difference(a: &[f64], b: &[f64]) -> f64 {
    if a.len() != b.len() {
        return f64::INFINITY;
    }
    a.iter()
        .zip(b)
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, f64::max)
}

fn judge_statistics(one: &RowRead, classes: Option<&Vec<i64>>) -> StatisticsVerdict {
    match (&one.tally, classes) {
        (Some(PixelStatistics::Classes(bands)), Some(classes)) => {
            judge_classes(&one.stored, bands, classes)
        }
        (Some(PixelStatistics::Numbers(bands)), _) => {
            judge_numbers(&one.stored, bands, &one.scales)
        }
        _ => StatisticsVerdict::Unknown,
    }
}

fn judge_classes(
    stored: &[Vec<f64>],
    bands: &[BTreeMap<i64, u64>],
    classes: &[i64],
) -> StatisticsVerdict {
    if stored.len() != bands.len() {
        return StatisticsVerdict::Unknown;
    }
    let (mut lost_any, mut wrong_any, mut all) = (false, false, Vec::new());
    for (stored, counts) in stored.iter().zip(bands) {
        let Some((right, lost)) = shares_of(counts, classes) else {
            return StatisticsVerdict::Unknown;
        };
        if largest_difference(stored, &right) > SAME_SHARE {
            let is_lost = largest_difference(stored, &lost) <= NEAR_SHARE;
            lost_any |= is_lost;
            wrong_any |= !is_lost;
        }
        all.push(right);
    }
    match (lost_any, wrong_any) {
        (true, _) => StatisticsVerdict::ClassLost(all),
        (false, true) => StatisticsVerdict::Wrong(all),
        (false, false) => StatisticsVerdict::Right,
    }
}

fn judge_numbers(
    stored: &[Vec<f64>],
    bands: &[Option<Vec<f64>>],
    scales: &[Vec<(f64, f64)>],
) -> StatisticsVerdict {
    let known = stored
        .iter()
        .all(|band| band.is_empty() || band.len() == CONTINUOUS);
    if stored.len() != bands.len() || !known {
        return StatisticsVerdict::Unknown;
    }
    let mut best: Option<(f64, Vec<Vec<f64>>)> = None;
    for way in scales {
        let (mut worst, mut all) = (0f64, Vec::new());
        for ((stored, band), (factor, offset)) in stored.iter().zip(bands).zip(way) {
            let Some(band) = band else {
                all.push(stored.clone());
                continue;
            };
            let scaled = scale_statistics(band, *factor, *offset);
            worst = worst.max(if stored.is_empty() {
                f64::INFINITY
            } else {
                measure_misfit(stored, &scaled)
            });
            all.push(scaled);
        }
        if best.as_ref().is_none_or(|(least, _)| worst < *least) {
            best = Some((worst, all));
        }
    }
    match best {
        Some((worst, _)) if worst <= 1.0 => StatisticsVerdict::Right,
        Some((_, all)) => StatisticsVerdict::Wrong(all),
        None => StatisticsVerdict::Unknown,
    }
}

/// Minimum, maximum, mean, standard deviation, valid percent, percentiles. A negative factor
/// reverses the order.
fn scale_statistics(band: &[f64], factor: f64, offset: f64) -> Vec<f64> {
    let mut all: Vec<f64> = band.iter().map(|value| value * factor + offset).collect();
    if let ([low, high, _, std, valid, ..], [_, _, _, raw_std, raw_valid, ..]) =
        (all.as_mut_slice(), band)
    {
        *std = raw_std * factor.abs();
        *valid = *raw_valid;
        if factor < 0.0 {
            std::mem::swap(low, high);
        }
    }
    all
}

/// Deviation in units of the tolerance: up to 1 is accepted.
fn measure_misfit(stored: &[f64], right: &[f64]) -> f64 {
    let ([low, high, ..], [_, _, _, _, valid, ..], [_, _, _, _, right_valid, ..]) =
        (right, stored, right)
    else {
        return f64::INFINITY;
    };
    let range = (high - low)
        .abs()
        .max(f64::from(f32::EPSILON) * 8.0 * high.abs().max(low.abs()))
        .max(f64::MIN_POSITIVE);
    let mut most = (valid - right_valid).abs();
    for at in (0..4).chain(5..CONTINUOUS) {
        let slack = if at < 4 { SAME_VALUE } else { SAME_PERCENTILE };
        let (Some(stored), Some(right)) = (stored.get(at), right.get(at)) else {
            return f64::INFINITY;
        };
        let off = (stored - right).abs() / range / slack;
        most = most.max(if off.is_nan() { f64::INFINITY } else { off });
    }
    most
}

/// True for class shares, which are in [0, 1] and sum to 1, unlike other statistics.
pub fn are_shares(numbers: &[f64]) -> bool {
    let sum: f64 = numbers.iter().sum();
    // Shares are stored as rounded floats.
    numbers.len() >= 2
        && numbers.iter().all(|share| (0.0..=1.0).contains(share))
        && (sum - 1.0).abs() <= 1e-3
}

fn numbers(value: &Value) -> Vec<f64> {
    let Value::List(items) = value else {
        return Vec::new();
    };
    items
        .iter()
        .map(|item| item.to_float().unwrap_or(f64::NAN))
        .collect()
}

/// Columns that are compared with the rasters' headers.
const PLACES: [&str; 3] = ["stac:tensor_shape", "stac:geotransform", "stac:centroid"];

/// Maximum share of a footprint outside its raster.
const OUTSIDE_MOST: f64 = 0.05;

/// Metadata that the header of a raster contradicts.
pub struct Misplaced {
    /// Rows whose shape, geotransform or centroid differ from the raster, with a message.
    pub values: Vec<(u32, String)>,
    /// Rows whose footprint is not where the raster is, with a message.
    pub footprints: Vec<(u32, String)>,
    /// Number of examined rows.
    pub seen: usize,
}

/// Compares locations in the metadata with the headers of at most `limit` rasters of a level.
pub fn compare_locations(
    reader: &dyn ContainerReader,
    level: usize,
    limit: usize,
    ctx: &JobContext,
) -> Result<Misplaced> {
    let fields = reader.levels().fields(level);
    let known = |name: &&str| fields.iter().any(|field| field.name == *name);
    let mut names: Vec<&str> = footprint::COLUMNS.into_iter().filter(known).collect();
    let mut found = Misplaced {
        values: Vec::new(),
        footprints: Vec::new(),
        seen: 0,
    };
    if names.is_empty() {
        return Ok(found);
    }
    names.extend(["id", "type"].iter().filter(|name| known(name)));
    let table = reader.levels().columns(level, &names, ctx)?;
    let cell = |row: u32, name: &str| read_cell(&table, row, name);
    let is_file = |row: &u32| matches!(cell(*row, "type"), Value::Text(kind) if &*kind == "FILE");
    let rows: Vec<u32> = (0..table.rows() as u32).filter(is_file).collect();
    let step = rows.len().div_ceil(limit.max(1)).max(1);
    for row in rows.into_iter().step_by(step) {
        ctx.check()?;
        let Ok((source, _)) = reader.raster(level, row) else {
            continue;
        };
        let Ok(info) = raster::describe(&source) else {
            continue;
        };
        found.seen += 1;
        let value = |name: &str| cell(row, name);
        match place_fault(&info, &value) {
            Some(what) => found.values.push((row, what)),
            None => found
                .footprints
                .extend(footprint_fault(&info, &value, ctx)?.map(|what| (row, what))),
        }
    }
    Ok(found)
}

/// Fault of a row's footprint, by the corners of its raster.
fn footprint_fault(
    info: &RasterInfo,
    cell: &dyn Fn(&str) -> Value,
    ctx: &JobContext,
) -> Result<Option<String>> {
    let (Some(crs), Some(t)) = (info.crs_wkt.as_deref(), info.geotransform) else {
        return Ok(None);
    };
    let (width, height) = (info.width as f64, info.height as f64);
    let ring = [(0.0, 0.0), (0.0, height), (width, height), (width, 0.0)]
        .map(|(column, row)| raster::apply_geotransform(t, column, row))
        .to_vec();
    let own = StatedLocation::from_geometry(crs, geo::Polygon::new(ring.into(), Vec::new()).into());
    let stated = StatedLocationReader::default().read(cell);
    let found = footprint::footprints(&[stated, own], ctx)?;
    let [Some(stated), Some(raster)] = found.as_slice() else {
        return Ok(None);
    };
    // Centroids were compared before; a geometry that only touches is beside.
    if stated.source == PlaceSource::Centroid {
        return Ok(None);
    }
    let (here, there) = (list_areas(&stated.geometry), list_areas(&raster.geometry));
    let size = here.unsigned_area();
    let outside = if size > 0.0 {
        1.0 - here.intersection(&there).unsigned_area() / size
    } else {
        f64::from(u8::from(!stated.geometry.intersects(&raster.geometry)))
    };
    if outside <= OUTSIDE_MOST {
        return Ok(None);
    }
    let text = |bbox: [f64; 4]| bbox.map(|number| format!("{number:.4}")).join(", ");
    let (stated, own) = (text(stated.bbox), text(raster.bbox));
    Ok(Some(tr!(
        "the footprint is in {stated}, the raster in {own}",
        stated,
        own
    )))
}

fn list_areas(geometry: &geo::Geometry<f64>) -> geo::MultiPolygon<f64> {
    match geometry {
        geo::Geometry::Polygon(one) => geo::MultiPolygon(vec![one.clone()]),
        geo::Geometry::MultiPolygon(many) => many.clone(),
        _ => geo::MultiPolygon(Vec::new()),
    }
}

fn place_fault(info: &RasterInfo, cell: &dyn Fn(&str) -> Value) -> Option<String> {
    let shape = numbers(&cell(PLACES[0]));
    let size = [info.height as f64, info.width as f64];
    if let [.., rows, columns] = shape.as_slice()
        && [*rows, *columns] != size
    {
        return Some(tr!(
            "stac:tensor_shape says {rows} rows and {columns} columns, the raster has {own_rows} \
                and {own_columns}",
            rows,
            columns,
            own_rows = size[0],
            own_columns = size[1]
        ));
    }
    let transform = info.geotransform?;
    let stored = numbers(&cell(PLACES[1]));
    if stored.len() == 6 {
        let pixel = transform[1]
            .abs()
            .max(transform[2].abs())
            .max(f64::MIN_POSITIVE);
        // A thousandth of a pixel at the far corner.
        let reach = [1.0, size[1], size[0], 1.0, size[1], size[0]];
        let off = stored
            .iter()
            .zip(transform)
            .zip(reach)
            .map(|((a, b), reach)| (a - b).abs() * reach)
            .fold(0.0, f64::max);
        if off.is_nan() || off > pixel * 1e-3 {
            let (stored, own) = (format!("{stored:?}"), format!("{transform:?}"));
            return Some(tr!(
                "stac:geotransform is {stored}, the raster's {own}",
                stored,
                own
            ));
        }
    }
    let Value::Bytes(bytes) = cell(PLACES[2]) else {
        return None;
    };
    let (lon, lat) = wkb_point(&bytes)?;
    let (column, row) = (size[1] / 2.0, size[0] / 2.0);
    let [x0, dx, rx, y0, ry, dy] = transform;
    let middle = [x0 + column * dx + row * rx, y0 + column * ry + row * dy];
    let [right_lon, right_lat] = info.to_lonlat(&[middle])?.first().copied().flatten()?;
    let around = (lon - right_lon).abs();
    let off = around
        .min((around - 360.0).abs())
        .max((lat - right_lat).abs());
    (off > 1e-5).then(|| {
        let (stored, own) = (
            format!("{lon:.6} {lat:.6}"),
            format!("{right_lon:.6} {right_lat:.6}"),
        );
        tr!(
            "stac:centroid is {stored}, the raster's middle {own}",
            stored,
            own
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_distinguished_from_continuous_statistics() {
        assert!(are_shares(&[0.24, 0.76, 0.0]));
        assert!(!are_shares(&[
            0.0, 255.0, 93.4, 12.1, 100.0, 80.0, 93.0, 101.0, 120.0
        ]));
        assert!(!are_shares(&[1.0]) && !are_shares(&[0.2, 0.2]) && !are_shares(&[f64::NAN, 1.0]));
    }

    fn read(stored: Vec<f64>, counts: &[(i64, u64)]) -> RowRead {
        let tally = Some(PixelStatistics::Classes(vec![
            counts.iter().copied().collect(),
        ]));
        RowRead {
            row: 0,
            id: String::new(),
            stored: vec![stored],
            tally,
            scales: Vec::new(),
        }
    }

    #[test]
    fn an_omitted_class_is_distinguished_from_an_absent_one() {
        let lost = read(vec![0.25, 0.75, 0.0], &[(0, 8), (1, 24), (2, 64)]);
        let whole = read(vec![0.5, 0.5, 0.0], &[(0, 5), (1, 5)]);
        let one = read(vec![0.0, 0.0, 1.0], &[(2, 96)]);
        let other = read(vec![0.9, 0.1, 0.0], &[(0, 5), (1, 5)]);
        let classes = class_list(&[&lost, &whole, &one]).expect("classes");
        assert_eq!(classes, [0, 1, 2]);
        let shares = vec![vec![8.0 / 96.0, 0.25, 64.0 / 96.0]];
        assert_eq!(
            judge_statistics(&lost, Some(&classes)),
            StatisticsVerdict::ClassLost(shares)
        );
        assert_eq!(
            (
                judge_statistics(&whole, Some(&classes)),
                judge_statistics(&one, Some(&classes))
            ),
            (StatisticsVerdict::Right, StatisticsVerdict::Right)
        );
        assert_eq!(
            judge_statistics(&other, Some(&classes)),
            StatisticsVerdict::Wrong(vec![vec![0.5, 0.5, 0.0]])
        );
        assert_eq!(judge_statistics(&whole, None), StatisticsVerdict::Unknown);
    }

    #[test]
    fn classes_are_found_in_the_pixels() {
        let one = read(vec![0.5, 0.5, 0.0], &[(10, 5), (20, 5), (80, 30)]);
        let other = read(vec![1.0, 0.0, 0.0], &[(10, 7), (80, 1)]);
        assert_eq!(class_list(&[&one, &other]), Some(vec![10, 20, 80]));
        let nonsense = read(vec![0.1, 0.2, 0.7], &[(10, 50), (20, 5), (80, 30)]);
        assert_eq!(class_list(&[&nonsense]), None);
    }

    #[test]
    fn numbers_may_be_scaled_in_any_usual_way() {
        let raw = vec![10.0, 110.0, 50.0, 20.0, 100.0, 30.0, 50.0, 70.0, 90.0];
        let scales = vec![vec![(0.1, 1.0)], vec![(1.0, 0.0)], vec![(-2.0, 0.0)]];
        for (factor, offset) in [(0.1, 1.0), (1.0, 0.0), (-2.0, 0.0)] {
            let stored = scale_statistics(&raw, factor, offset);
            assert_eq!(
                judge_numbers(std::slice::from_ref(&stored), &[Some(raw.clone())], &scales),
                StatisticsVerdict::Right,
                "{factor}"
            );
            let mut off = stored;
            off[2] += 2.0 * factor;
            assert!(
                matches!(
                    judge_numbers(&[off], &[Some(raw.clone())], &scales),
                    StatisticsVerdict::Wrong(_)
                ),
                "{factor}"
            );
        }
        let flat = vec![7.0, 7.0, 7.0, 0.0, 100.0, 7.0, 7.0, 7.0, 7.0];
        assert_eq!(
            judge_numbers(
                std::slice::from_ref(&flat),
                &[Some(flat.clone())],
                &[vec![(1.0, 0.0)]]
            ),
            StatisticsVerdict::Right
        );
    }
}
