//! Where samples are and when: footprints in longitude and latitude, and times in microseconds. The
//! only place that reads geometries, boxes, grids (`stac:crs`, `stac:geotransform` and
//! `stac:tensor_shape`), centroids and times, in the forms of every generation (TACO 2.0, section
//! 7.1.1); maps, box filters, catalogues, leakage, extents and checks all use it.
//!
//! [`StatedLocation`] is what the columns of one row say, in their own coordinate system.
//! [`footprints`] turns rows into [`Footprint`]s: `project` reprojects rings with as many extra
//! vertices as their edges need, `unfold` lays them out on a plane of continuous longitudes, around
//! the poles where they hold one, `cut` brings them into ±180 degrees, and `span` gives boxes on
//! the circle of longitudes.

mod columns;
mod cut;
mod project;
mod span;
mod stated;
#[cfg(test)]
mod tests;
mod times;
mod unfold;

use std::borrow::Borrow;
use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::RecordBatch;
use geo::orient::{Direction, Orient};
use geo::{
    Geometry, GeometryCollection, LineString, MultiLineString, MultiPoint, MultiPolygon, Point,
    Polygon,
};

use crate::error::{Cause, Result};
use crate::jobs::{JobContext, try_map};
use crate::raster::LonLatTransform;

pub use columns::{
    BOX_COLUMNS, CENTROID_COLUMNS, COLUMNS, CRS_COLUMNS, GEOMETRY_COLUMNS, GRIDS, GridColumns,
    grid_of, place_source, states_point_or_shape,
};
pub use span::{BoxOfDegrees, Boxes, box_of_extent, box_polygon, enclosing_box};
pub use stated::{PixelGrid, PlaceColumns, StatedLocation, StatedLocationReader};
pub use times::{
    INTERVALS, IntervalColumns, SampleTimes, TIME_COLUMNS, TIME_START, interval_of, is_time_column,
    micros_of, micros_of_value, parse_time, sample_times, times_of_row,
};

/// Rows that are projected in one call.
const BATCH: usize = 2048;
/// Rows of a level that are in memory as geometries at a time: one call for each of 4 threads.
const PART: usize = 4 * BATCH;

/// Source columns of a footprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PlaceSource {
    /// A column of geometries, such as `istac:geometry` in the system of `istac:crs`, or of boxes.
    Geometry,
    /// The corners of the raster, such as `stac:geotransform`, `stac:tensor_shape` and `stac:crs`.
    Grid,
    /// A column of centres, such as `stac:centroid`.
    Centroid,
}

/// How closely curved edges are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Within 0.00001 of the footprint's size, but not below a millionth of a degree (10 cm): for
    /// data.
    Exact,
    /// Within 0.002 of the footprint's size: for pictures.
    Drawn,
    /// Vertices alone: edges are straight in longitude and latitude.
    Corners,
}

/// A shape in longitude and latitude (degrees) on a plane of continuous longitudes: what crosses
/// the antimeridian goes on beyond ±180, and what holds a pole is 360 degrees wide and reaches to
/// ±90.
#[derive(Clone, Debug, PartialEq)]
pub struct Unfolded {
    /// Polygons: the outer ring counter-clockwise, then holes clockwise; without closing points.
    pub areas: Vec<Vec<Vec<[f64; 2]>>>,
    pub lines: Vec<Vec<[f64; 2]>>,
    pub points: Vec<[f64; 2]>,
    /// Where it comes from.
    pub source: PlaceSource,
}

impl Unfolded {
    fn point([lon, lat]: [f64; 2], source: PlaceSource) -> Self {
        Self {
            areas: Vec::new(),
            lines: Vec::new(),
            points: vec![[span::wrap_longitude(lon), lat]],
            source,
        }
    }

    /// The smallest box around it.
    pub fn bounds(&self) -> Option<BoxOfDegrees> {
        span::box_of(self)
    }

    fn is_empty(&self) -> bool {
        self.areas.is_empty() && self.lines.is_empty() && self.points.is_empty()
    }
}

/// The footprint of a sample: longitude and latitude in degrees (WGS 84), longitudes within ±180,
/// cut at the antimeridian. Outer rings are counter-clockwise, holes clockwise (RFC 7946).
#[derive(Clone, Debug, PartialEq)]
pub struct Footprint {
    /// The shape.
    pub geometry: Geometry<f64>,
    /// `[west, south, east, north]` in degrees; west > east across the antimeridian.
    pub bbox: BoxOfDegrees,
    /// Where it comes from.
    pub source: PlaceSource,
}

impl Footprint {
    fn from_unfolded(shape: &Unfolded) -> Option<Self> {
        let bbox = span::box_of(shape)?;
        let polygons: Vec<Polygon<f64>> = shape
            .areas
            .iter()
            .flat_map(|rings| cut::polygons(rings))
            .collect();
        let lines: Vec<LineString<f64>> = shape
            .lines
            .iter()
            .flat_map(|line| cut::lines(line))
            .collect();
        let points: Vec<Point<f64>> = shape
            .points
            .iter()
            .map(|&[x, y]| Point::new(x, y))
            .collect();
        Some(Self {
            geometry: geometry_of(polygons, lines, points)?,
            bbox,
            source: shape.source,
        })
    }

    /// The union of several footprints: areas become one, lines and points stay as they are, each
    /// once. `None` without any.
    pub fn union_of(parts: Vec<Footprint>) -> Option<Self> {
        let bbox = enclosing_box(parts.iter().map(|part| part.bbox))?;
        let source = parts.first()?.source;
        let mut areas: Vec<Polygon<f64>> = Vec::new();
        let mut lines: Vec<LineString<f64>> = Vec::new();
        let mut points: Vec<Point<f64>> = Vec::new();
        let mut open: Vec<Geometry<f64>> = Vec::new();
        for part in parts {
            if !open.contains(&part.geometry) {
                open.push(part.geometry);
            }
        }
        if let [_] = open.as_slice() {
            return Some(Self {
                geometry: open.pop()?,
                bbox,
                source,
            });
        }
        while let Some(geometry) = open.pop() {
            match geometry {
                Geometry::Polygon(one) => areas.push(one),
                Geometry::MultiPolygon(several) => areas.extend(several),
                Geometry::LineString(one) => lines.push(one),
                Geometry::MultiLineString(several) => lines.extend(several),
                Geometry::Point(one) => points.push(one),
                Geometry::MultiPoint(several) => points.extend(several),
                Geometry::GeometryCollection(several) => open.extend(several),
                _ => {}
            }
        }
        points.sort_by(|a, b| a.x().total_cmp(&b.x()).then(a.y().total_cmp(&b.y())));
        points.dedup();
        let areas = match areas.len() {
            0 | 1 => areas,
            _ => geo::unary_union(&areas).orient(Direction::Default).0,
        };
        Some(Self {
            geometry: geometry_of(areas, lines, points)?,
            bbox,
            source,
        })
    }

    /// The parts of highest dimension as one geometry that is no collection: STAC Items take none.
    pub fn without_collection(&self) -> Geometry<f64> {
        match &self.geometry {
            // Parts are in the order of their dimension.
            Geometry::GeometryCollection(parts) => parts
                .0
                .first()
                .cloned()
                .unwrap_or_else(|| self.geometry.clone()),
            other => other.clone(),
        }
    }
}

/// One geometry of parts of every dimension; a collection has areas before lines before points.
fn geometry_of(
    polygons: Vec<Polygon<f64>>,
    lines: Vec<LineString<f64>>,
    points: Vec<Point<f64>>,
) -> Option<Geometry<f64>> {
    let mut parts: Vec<Geometry<f64>> = Vec::new();
    match polygons.len() {
        0 => {}
        1 => parts.extend(polygons.into_iter().map(Geometry::Polygon)),
        _ => parts.push(Geometry::MultiPolygon(MultiPolygon(polygons))),
    }
    match lines.len() {
        0 => {}
        1 => parts.extend(lines.into_iter().map(Geometry::LineString)),
        _ => parts.push(Geometry::MultiLineString(MultiLineString(lines))),
    }
    match points.len() {
        0 => {}
        1 => parts.extend(points.into_iter().map(Geometry::Point)),
        _ => parts.push(Geometry::MultiPoint(MultiPoint(points))),
    }
    match parts.len() {
        0 | 1 => parts.pop(),
        _ => Some(Geometry::GeometryCollection(GeometryCollection(parts))),
    }
}

/// Footprints of rows; `None` for rows without a location. If a geometry is outside its coordinate
/// system, the grid is used, and then the centroid.
///
/// # Errors
/// When the job is cancelled.
pub fn footprints(rows: &[StatedLocation], ctx: &JobContext) -> Result<Vec<Option<Footprint>>> {
    let found = resolve(rows, Detail::Exact, Footprint::from_unfolded, ctx)?;
    Ok(found.into_iter().map(Option::flatten).collect())
}

/// The box of each row of a level; with [`Detail::Corners`] edges are taken as straight.
///
/// # Errors
/// When the job is cancelled.
pub fn boxes_of(
    batch: &RecordBatch,
    detail: Detail,
    ctx: &JobContext,
) -> Result<Vec<Option<BoxOfDegrees>>> {
    in_parts(batch, ctx, |rows| {
        Ok(resolve(rows, detail, span::box_of, ctx)?
            .into_iter()
            .map(Option::flatten)
            .collect())
    })
}

/// Applies `work` to the rows of a level in parts, so that a million geometries are not in memory
/// twice.
fn in_parts<T>(
    batch: &RecordBatch,
    ctx: &JobContext,
    work: impl Fn(&[StatedLocation]) -> Result<Vec<T>>,
) -> Result<Vec<T>> {
    let columns = PlaceColumns::from_batch(batch);
    let mut all = Vec::with_capacity(batch.num_rows());
    for first in (0..batch.num_rows()).step_by(PART) {
        ctx.check()?;
        let last = (first + PART).min(batch.num_rows());
        let stated: Vec<StatedLocation> = (first..last)
            .map(|row| columns.stated_location(row))
            .collect();
        all.extend(work(&stated)?);
    }
    Ok(all)
}

/// True for rows whose footprint touches a box.
///
/// # Errors
/// When the job is cancelled.
pub fn touching(rows: &[StatedLocation], boxes: &Boxes, ctx: &JobContext) -> Result<Vec<bool>> {
    // Most rows are far from a small box, or have a corner in it: their edges need not be followed.
    let corners = resolve(
        rows,
        Detail::Corners,
        |shape| boxes.touch_corners(shape),
        ctx,
    )?;
    let open: Vec<usize> = (0..rows.len())
        .filter(|&row| corners[row] == Some(None))
        .collect();
    let left: Vec<StatedLocation> = open.iter().map(|&row| rows[row].clone()).collect();
    let touches = |shape: &Unfolded| {
        Footprint::from_unfolded(shape).is_some_and(|footprint| boxes.touch_footprint(&footprint))
    };
    let exact = resolve(&left, Detail::Exact, touches, ctx)?;
    let mut found: Vec<bool> = corners
        .into_iter()
        .map(|known| known.flatten().unwrap_or(false))
        .collect();
    open.into_iter()
        .zip(exact)
        .for_each(|(row, touches)| found[row] = touches.unwrap_or(false));
    Ok(found)
}

/// True when a level has columns with locations.
pub fn has_places(batch: &RecordBatch) -> bool {
    let has = |name: &str| has_values(batch, name);
    columns::GEOMETRY_COLUMNS.iter().any(|name| has(name))
        || columns::CENTROID_COLUMNS.iter().any(|name| has(name))
        || columns::BOX_COLUMNS.iter().any(|name| has(name))
        || columns::grid_of(has).is_some()
}

fn has_values(batch: &RecordBatch, name: &str) -> bool {
    batch
        .column_by_name(name)
        .is_some_and(|column| column.null_count() < column.len())
}

/// The shape of every row, passed through `finish`. Rows of one coordinate system are projected
/// together, on several threads.
///
/// # Errors
/// When the job is cancelled.
pub fn resolve<T: Send>(
    rows: &[impl Borrow<StatedLocation> + Sync],
    detail: Detail,
    finish: impl Fn(&Unfolded) -> T + Sync,
    ctx: &JobContext,
) -> Result<Vec<Option<T>>> {
    let mut found: Vec<Option<T>> = rows.iter().map(|_| None).collect();
    let mut off_earth = vec![false; rows.len()];
    for source in [PlaceSource::Geometry, PlaceSource::Grid] {
        let mut by_crs: HashMap<&Arc<str>, Vec<usize>> = HashMap::new();
        for (row, stated) in rows.iter().enumerate() {
            if found[row].is_none()
                && !off_earth[row]
                && let Some(crs) = stated.borrow().crs_of(source)
            {
                by_crs.entry(crs).or_default().push(row);
            }
        }
        let tasks: Vec<(&Arc<str>, &[usize])> = by_crs
            .iter()
            .flat_map(|(crs, rows)| rows.chunks(BATCH).map(|rows| (*crs, rows)))
            .collect();
        let done = try_map(tasks, |_, (crs, members)| {
            ctx.check()?;
            let way = match LonLatTransform::new(crs) {
                Ok(way) => way,
                // Its centroid is no place on Earth either, whatever it holds.
                Err(error) if error.is_caused_by(Cause::NotOnEarth) => {
                    return Ok(members.iter().map(|&row| (row, None)).collect());
                }
                // With an unknown system, the next source counts.
                Err(_) => return Ok(Vec::new()),
            };
            let shapes: Vec<Geometry<f64>> = members
                .iter()
                .filter_map(|&row| rows[row].borrow().shape_of(source))
                .collect();
            let made = project::unfold_shapes(&way, &shapes, source, detail);
            let pairs = members
                .iter()
                .zip(made)
                .filter_map(|(&row, shape)| Some((row, Some(finish(&shape?)))));
            Ok(pairs.collect::<Vec<_>>())
        })?;
        for (row, value) in done.into_iter().flatten() {
            off_earth[row] = value.is_none();
            found[row] = value;
        }
    }
    for (row, stated) in rows.iter().enumerate() {
        if found[row].is_none() && !off_earth[row] {
            found[row] = stated
                .borrow()
                .centroid
                .map(|place| finish(&Unfolded::point(place, PlaceSource::Centroid)));
        }
    }
    Ok(found)
}
