//! Footprints and times of samples in the form of catalogues: [`crate::footprint`] and GeoJSON. A
//! FOLDER that states no place, or no time, has that of its children.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions, UInt32Array};
use arrow::compute::take;
use geo::{Geometry, LineString, MapCoords, Polygon};
use serde_json::{Value as Json, json};

use crate::container::Assembly;
use crate::error::{Error, Result};
use crate::footprint::{
    BoxOfDegrees, COLUMNS, Footprint, PlaceColumns, SampleTimes, StatedLocation, TIME_COLUMNS,
    footprints, has_places, sample_times,
};
use crate::jobs::JobContext;
use crate::model::is_padding;

/// Rows of the levels below whose times are read at a time.
const CHILDREN_AT_ONCE: usize = 1 << 16;

/// Location and time of a sample.
#[derive(Clone, Debug, Default)]
pub struct ItemFootprint {
    /// Footprint or centroid in degrees.
    pub geometry: Option<Geometry<f64>>,
    /// `[west, south, east, north]` in degrees; west > east across the antimeridian.
    pub bbox: Option<BoxOfDegrees>,
    /// Times in microseconds since 1970.
    pub times: SampleTimes,
}

/// The requested level; otherwise the first level with locations of its own, or 0 when there is
/// none.
pub fn level_with_places(assembly: &Assembly, wanted: Option<usize>) -> usize {
    let found = assembly
        .levels
        .iter()
        .position(|level| has_places(&level.batch));
    wanted
        .filter(|level| *level < assembly.levels.len())
        .or(found)
        .unwrap_or(0)
}

/// Location and time of rows of a level. The caller bounds their number: a footprint takes hundreds
/// of bytes.
///
/// # Errors
/// When the job is cancelled.
pub fn places(
    assembly: &Assembly,
    level: usize,
    rows: &[u32],
    ctx: &JobContext,
) -> Result<Vec<ItemFootprint>> {
    places_as(
        assembly,
        level,
        rows,
        |footprint| footprint.geometry.clone(),
        ctx,
    )
}

/// As [`places`], without geometry collections, which STAC Items do not allow.
///
/// # Errors
/// When the job is cancelled.
pub fn places_of_items(
    assembly: &Assembly,
    level: usize,
    rows: &[u32],
    ctx: &JobContext,
) -> Result<Vec<ItemFootprint>> {
    places_as(assembly, level, rows, Footprint::without_collection, ctx)
}

fn places_as(
    assembly: &Assembly,
    level: usize,
    rows: &[u32],
    geometry: impl Fn(&Footprint) -> Geometry<f64>,
    ctx: &JobContext,
) -> Result<Vec<ItemFootprint>> {
    let footprints = footprints_below(assembly, level, rows, ctx)?;
    let times = times(assembly, level, rows, ctx)?;
    let items = footprints.into_iter().zip(times);
    let places = items.map(|(footprint, times)| ItemFootprint {
        geometry: footprint.as_ref().map(&geometry),
        bbox: footprint.map(|footprint| footprint.bbox),
        times,
    });
    Ok(places.collect())
}

/// Some rows of the named columns of a table, as far as it has them. A slice would not do: casts of
/// nested columns work on the items of all rows.
fn rows_of(batch: &RecordBatch, names: &[&str], rows: &[u32]) -> Result<RecordBatch> {
    let schema = batch.schema();
    let chosen: Vec<usize> = (0..batch.num_columns())
        .filter(|&at| names.contains(&schema.field(at).name().as_str()))
        .collect();
    let unchosen =
        |error: arrow::error::ArrowError| Error::internal("rows can't be chosen").because(error);
    let indices = UInt32Array::from(rows.to_vec());
    let columns = chosen
        .iter()
        .map(|&at| take(batch.column(at), &indices, None));
    let columns = columns
        .collect::<std::result::Result<Vec<_>, _>>()
        .map_err(unchosen)?;
    // A table may have none of them.
    let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    let fields = schema.project(&chosen).map_err(unchosen)?;
    RecordBatch::try_new_with_options(Arc::new(fields), columns, &options).map_err(unchosen)
}

/// The children of rows, without padding, each with the index in `rows` of its parent.
fn children_of(
    assembly: &Assembly,
    level: usize,
    rows: impl Iterator<Item = (usize, u32)>,
) -> (Vec<usize>, Vec<u32>) {
    let (Some(above), Some(below)) = (
        assembly.tree.levels.get(level),
        assembly.tree.levels.get(level + 1),
    ) else {
        return Default::default();
    };
    let pairs =
        |(index, row): (usize, u32)| above.children(row).iter().map(move |child| (index, *child));
    rows.flat_map(pairs)
        .filter(|(_, child)| !is_padding(below.id(*child)))
        .unzip()
}

/// Footprints of rows: their own, or the union of those of their children.
fn footprints_below(
    assembly: &Assembly,
    level: usize,
    rows: &[u32],
    ctx: &JobContext,
) -> Result<Vec<Option<Footprint>>> {
    ctx.check()?;
    let Some(table) = assembly.levels.get(level) else {
        return Ok(vec![None; rows.len()]);
    };
    let columns = PlaceColumns::from_batch(&rows_of(&table.batch, &COLUMNS, rows)?);
    let stated: Vec<StatedLocation> = (0..rows.len())
        .map(|row| columns.stated_location(row))
        .collect();
    let mut found = footprints(&stated, ctx)?;
    let bare = rows
        .iter()
        .copied()
        .enumerate()
        .filter(|(index, _)| found[*index].is_none());
    let (parents, children) = children_of(assembly, level, bare);
    if children.is_empty() {
        return Ok(found);
    }
    let mut gathered: BTreeMap<usize, Vec<Footprint>> = BTreeMap::new();
    for (parent, footprint) in
        parents
            .into_iter()
            .zip(footprints_below(assembly, level + 1, &children, ctx)?)
    {
        gathered.entry(parent).or_default().extend(footprint);
    }
    for (parent, parts) in gathered {
        ctx.check()?;
        found[parent] = Footprint::union_of(parts);
    }
    Ok(found)
}

/// Times of rows of a level: their own, or from the first start to the last end of their children.
///
/// # Errors
/// When the job is cancelled.
pub fn times(
    assembly: &Assembly,
    level: usize,
    rows: &[u32],
    ctx: &JobContext,
) -> Result<Vec<SampleTimes>> {
    ctx.check()?;
    let Some(table) = assembly.levels.get(level) else {
        return Ok(vec![SampleTimes::default(); rows.len()]);
    };
    let mut found = sample_times(&rows_of(&table.batch, &TIME_COLUMNS, rows)?);
    let bare = rows
        .iter()
        .copied()
        .enumerate()
        .filter(|(index, _)| found[*index] == SampleTimes::default());
    let (parents, children) = children_of(assembly, level, bare);
    for (parents, children) in parents
        .chunks(CHILDREN_AT_ONCE)
        .zip(children.chunks(CHILDREN_AT_ONCE))
    {
        for (&parent, below) in parents
            .iter()
            .zip(times(assembly, level + 1, children, ctx)?)
        {
            let slot = &mut found[parent];
            slot.start = slot
                .start
                .into_iter()
                .chain(below.start)
                .chain(below.end)
                .min();
            slot.end = slot
                .end
                .into_iter()
                .chain(below.end)
                .chain(below.start)
                .max();
            slot.nominal = slot.start;
        }
    }
    Ok(found)
}

/// A geometry as GeoJSON with seven decimals (about 1 cm).
pub fn geojson(geometry: &Geometry<f64>) -> Json {
    let rounded = geometry.map_coords(|c| geo::Coord {
        x: digits(c.x),
        y: digits(c.y),
    });
    match &rounded {
        Geometry::Point(point) => json!({ "type": "Point", "coordinates": [point.x(), point.y()] }),
        Geometry::LineString(one) => {
            json!({ "type": "LineString", "coordinates": encode_line(one) })
        }
        Geometry::Polygon(one) => {
            json!({ "type": "Polygon", "coordinates": encode_polygon(one) })
        }
        Geometry::MultiPoint(many) => {
            json!({
                "type": "MultiPoint",
                "coordinates": many.iter().map(|p| json!([p.x(), p.y()])).collect::<Json>(),
            })
        }
        Geometry::MultiLineString(many) => {
            json!({
                "type": "MultiLineString",
                "coordinates": many.iter().map(encode_line).collect::<Json>(),
            })
        }
        Geometry::MultiPolygon(many) => {
            json!({
                "type": "MultiPolygon",
                "coordinates": many.iter().map(encode_polygon).collect::<Json>(),
            })
        }
        Geometry::GeometryCollection(many) => {
            json!({
                "type": "GeometryCollection",
                "geometries": many.iter().map(geojson).collect::<Json>(),
            })
        }
        _ => Json::Null,
    }
}

fn encode_line(line: &LineString<f64>) -> Json {
    line.coords().map(|c| json!([c.x, c.y])).collect()
}

fn encode_polygon(polygon: &Polygon<f64>) -> Json {
    std::iter::once(polygon.exterior())
        .chain(polygon.interiors())
        .map(encode_line)
        .collect()
}

/// Rounds to seven decimals.
pub fn digits(value: f64) -> f64 {
    (value * 1e7).round() / 1e7
}
