//! Compares the extent with the locations and times of the samples (TACO 2.0, sections 5.5.2 and
//! 7.1.1), and places with the coordinate systems that they are in.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef};

use crate::container::{ContainerReader, is_inside, middle_of};
use crate::error::Result;
use crate::footprint::{
    self, BoxOfDegrees, Detail, PlaceColumns, PlaceSource, StatedLocation, TIME_COLUMNS, Unfolded,
    box_of_extent, enclosing_box, interval_of, parse_time, resolve,
};
use crate::jobs::JobContext;
use crate::model::{Collection, ExtentOrigin, Location, Report, Rule, is_padding};
use crate::raster::file_named_by_crs;

const SLACK: f64 = 1e-9;
/// Share of the world from which samples may be said to cover it.
const GLOBAL_SHARE: f64 = 0.5;
/// From this share of its width on, a box that goes the other way around the Earth is not narrower
/// in a way that matters.
const NARROWER_SHARE: f64 = 0.5;

/// Checks the extent, and that locations are inside the bounds of their coordinate systems.
///
/// # Errors
/// When a level table cannot be read, or the job is cancelled.
pub fn check(reader: &dyn ContainerReader, report: &mut Report, ctx: &JobContext) -> Result<()> {
    let extent = reader.collection().get("extent");
    let spatial = extent.and_then(box_of_extent);
    let mut compared = false;
    for level in 0..reader.levels().count() {
        let fields = reader.levels().fields(level);
        let known = |name: &&str| fields.iter().any(|field| field.name == *name);
        let names: Vec<&str> = footprint::COLUMNS
            .into_iter()
            .chain(["id"])
            .filter(known)
            .collect();
        if names.iter().all(|name| *name == "id") {
            continue;
        }
        let table = reader.levels().columns(level, &names, ctx)?;
        let mut boxes: Vec<BoxOfDegrees> = Vec::new();
        // Samples by their centroid, or by the middle of their footprint.
        let mut middles: Vec<[f64; 2]> = Vec::new();
        let mut wrong: Vec<u32> = Vec::new();
        let (mut drawn, mut first) = (0usize, 0u32);
        for batch in table.batches() {
            ctx.check()?;
            let columns = PlaceColumns::from_batch(batch);
            let ids = batch.column_by_name("id").cloned();
            let real = |row: usize| has_real_id(ids.as_ref(), row);
            let rows: Vec<StatedLocation> = (0..batch.num_rows())
                .map(|row| {
                    if real(row) {
                        columns.stated_location(row)
                    } else {
                        StatedLocation::default()
                    }
                })
                .collect();
            drawn += range_faults(&rows, first, &mut wrong, ctx)?;
            if let Some(geometries) = batch.column_by_name("istac:geometry") {
                // Bytes that are no geometry.
                let broken: Vec<u32> = (0..rows.len())
                    .filter(|&row| real(row) && geometries.is_valid(row))
                    .filter(|&row| !rows[row].has_geometry())
                    .map(|row| first + row as u32)
                    .collect();
                drawn += broken.len();
                wrong.extend(broken);
                wrong.sort_unstable();
            }
            if !compared && spatial.is_some() {
                for (stated, found) in
                    rows.iter()
                        .zip(resolve(&rows, Detail::Corners, Unfolded::bounds, ctx)?)
                {
                    let Some(own) = found.flatten() else { continue };
                    boxes.push(own);
                    middles.push(stated.centroid.unwrap_or_else(|| middle_of(own)));
                }
            }
            first += batch.num_rows() as u32;
        }
        if let Some(&row) = wrong.first() {
            let path = reader.levels().skeleton(ctx)?.path(level, row);
            let message = tr!(
                "{wrong} of {seen} geometries and grids of level {level} have no place in the \
                    coordinate system that they name.",
                wrong = wrong.len(),
                seen = drawn,
                level
            );
            report.add(
                Rule::PlaceRange,
                Location::Sample { level, row, path },
                message,
            );
        }
        if let (false, Some(spatial), false) = (compared, spatial, middles.is_empty()) {
            compared = true;
            check_spatial(reader, spatial, &middles, &boxes, level, report);
        }
    }
    check_temporal(reader, report, ctx)
}

fn has_real_id(ids: Option<&ArrayRef>, row: usize) -> bool {
    ids.is_none_or(|ids| !is_padding(&crate::table::cell_text(ids, row)))
}

/// Counts the rows with a geometry or a grid, and lists those whose geometry or grid has no
/// location.
fn range_faults(
    rows: &[StatedLocation],
    first: u32,
    wrong: &mut Vec<u32>,
    ctx: &JobContext,
) -> Result<usize> {
    let mut seen = 0;
    let mut faults: Vec<u32> = Vec::new();
    // Another rule reports these.
    let mut named: HashMap<Arc<str>, bool> = HashMap::new();
    for source in [PlaceSource::Geometry, PlaceSource::Grid] {
        let only: Vec<StatedLocation> = rows
            .iter()
            .map(|row| row.clone().restrict_to_source(source))
            .collect();
        let placed = resolve(&only, Detail::Corners, |_: &Unfolded| (), ctx)?;
        for (row, (stated, placed)) in only.iter().zip(placed).enumerate() {
            seen += usize::from(!stated.is_empty());
            if !stated.is_empty()
                && placed.is_none()
                && !stated
                    .crs_of(source)
                    .is_some_and(|crs| refers_to_file(&mut named, crs))
            {
                faults.push(first + row as u32);
            }
        }
    }
    faults.sort_unstable();
    wrong.extend(faults);
    Ok(seen)
}

/// True for a coordinate system that names a file; `named` has those that were looked at.
fn refers_to_file(named: &mut HashMap<Arc<str>, bool>, crs: &Arc<str>) -> bool {
    match named.get(crs) {
        Some(known) => *known,
        None => *named
            .entry(crs.clone())
            .or_insert_with(|| file_named_by_crs(crs).is_some()),
    }
}

fn check_spatial(
    reader: &dyn ContainerReader,
    extent: BoxOfDegrees,
    middles: &[[f64; 2]],
    boxes: &[BoxOfDegrees],
    level: usize,
    report: &mut Report,
) {
    let [west, south, east, north] = extent;
    let at = || Location::Collection("extent/spatial".into());
    let seen = middles.len();
    let own = enclosing_box(boxes.iter().copied());
    let text_of = |numbers: BoxOfDegrees| numbers.map(|number| format!("{number:.2}")).join(", ");
    // The box around samples on both sides of the antimeridian.
    let across = own.filter(|own| own[0] > own[2]);
    let missed: Vec<&[f64; 2]> = middles
        .iter()
        .filter(|place| !is_inside(**place, extent))
        .collect();
    if !missed.is_empty() {
        let outside = missed.len();
        if missed.iter().all(|place| is_on_other_side(place, extent)) {
            let message = if west >= 0.0 {
                tr!(
                    "The extent has eastern longitudes alone; {outside} of {seen} centroids of \
                        level {level} have western ones.",
                    outside,
                    seen,
                    level
                )
            } else {
                tr!(
                    "The extent has western longitudes alone; {outside} of {seen} centroids of \
                        level {level} have eastern ones.",
                    outside,
                    seen,
                    level
                )
            };
            let message = match across {
                Some(own) => tr!(
                    "{message} The samples cross the antimeridian: the box around them is {own}, \
                        with west greater than east.",
                    message,
                    own = text_of(own)
                ),
                None => message,
            };
            return report.add(Rule::ExtentHemisphere, at(), message);
        }
        let message = tr!(
            "{outside} of {seen} centroids of level {level} are outside the extent. Compute it \
                again from the data.",
            outside,
            seen,
            level
        );
        return report.add(Rule::ExtentCovers, at(), message);
    }
    let whole = west <= -180.0 && east >= 180.0 && south <= -90.0 && north >= 90.0;
    let stated = ExtentOrigin::from_collection(reader.collection()) == Some(ExtentOrigin::Stated)
        && reader
            .collection()
            .get(crate::model::EXTENT_ORIGIN)
            .is_some();
    if stated {
        return;
    }
    if whole {
        if let Some(own) =
            own.filter(|own| measure_width(*own) * (own[3] - own[1]) < GLOBAL_SHARE * 360.0 * 180.0)
        {
            let message = tr!(
                "The extent is the whole world; the samples of level {level} are in {own}.",
                level,
                own = text_of(own)
            );
            report.add(Rule::ExtentGlobal, at(), message);
        }
    } else if let Some(own) = across
        .filter(|own| west <= east && measure_width(*own) < NARROWER_SHARE * measure_width(extent))
    {
        // The least and the greatest longitude of samples on both sides of the antimeridian.
        let message = tr!(
            "The extent is {width}° wide; the samples of level {level} are in {own}, across the \
                antimeridian.",
            width = format!("{:.0}", measure_width(extent)),
            level,
            own = text_of(own)
        );
        report.add(Rule::ExtentGlobal, at(), message);
    }
}

/// True for a place on the side of longitude 0 that the extent does not cover.
fn is_on_other_side([x, y]: &[f64; 2], [west, south, east, north]: BoxOfDegrees) -> bool {
    let other_side = (west >= 0.0 && *x < 0.0) || (east <= 0.0 && *x > 0.0);
    west <= east && other_side && (south - SLACK..=north + SLACK).contains(y)
}

fn measure_width([west, _, east, _]: BoxOfDegrees) -> f64 {
    if west > east {
        east + 360.0 - west
    } else {
        east - west
    }
}

fn check_temporal(
    reader: &dyn ContainerReader,
    report: &mut Report,
    ctx: &JobContext,
) -> Result<()> {
    let (Some(from), Some(to)) = (
        read_extent_time(reader.collection(), 0),
        read_extent_time(reader.collection(), 1),
    ) else {
        return Ok(());
    };
    for level in 0..reader.levels().count() {
        let fields = reader.levels().fields(level);
        let names: Vec<&str> = TIME_COLUMNS
            .into_iter()
            .filter(|name| fields.iter().any(|field| field.name == *name))
            .collect();
        if names.is_empty() {
            continue;
        }
        let table = reader.levels().columns(level, &names, ctx)?;
        let (mut seen, mut outside, mut partly) = (0usize, 0usize, 0usize);
        for batch in table.batches() {
            for [start, end] in interval_of(batch) {
                let (Some(start), Some(end)) = (start.or(end), end.or(start)) else {
                    continue;
                };
                let (start, end) = (start.min(end), start.max(end));
                seen += 1;
                // Tools round to seconds.
                let (low, high) = (from.saturating_sub(1_000_000), to.saturating_add(1_000_000));
                if end < low || start > high {
                    outside += 1;
                } else if start < low || end > high {
                    partly += 1;
                }
            }
        }
        if seen == 0 {
            continue;
        }
        let at = || Location::Collection("extent/temporal".into());
        if outside > 0 {
            let message = tr!(
                "{outside} of {seen} samples of level {level} are from times outside the extent.",
                outside,
                seen,
                level
            );
            report.add(Rule::ExtentTimes, at(), message);
        } else if partly > 0 {
            let message = tr!(
                "{partly} of {seen} samples of level {level} begin before the extent or end after \
                    it.",
                partly,
                seen,
                level
            );
            report.add(Rule::ExtentMiddles, at(), message);
        }
        return Ok(());
    }
    Ok(())
}

/// The start (0) or end (1) of the extent in microseconds since 1970.
fn read_extent_time(collection: &Collection, end: usize) -> Option<i64> {
    let text = collection
        .get("extent")?
        .get("temporal")?
        .get(end)?
        .as_str()?;
    parse_time(text)
}
