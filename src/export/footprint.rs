//! Locations of samples in longitude and latitude: footprints from `istac:geometry` or from CRS, geotransform and shape, else
//! centroids; and their times.

use std::collections::HashMap;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, Int64Type, TimeUnit};
use geo::{BoundingRect, Geometry, LineString, MapCoords, MultiPolygon, Polygon};
use serde_json::{Value as Json, json};

use crate::container::Assembly;
use crate::jobs::JobContext;
use crate::raster;
use crate::table::wkb_point;

/// Location and time of a sample.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// Footprint or centroid in degrees.
    pub geometry: Option<Geometry<f64>>,
    /// `[west, south, east, north]` in degrees; west > east across the antimeridian.
    pub bbox: Option<[f64; 4]>,
    /// Start in microseconds since 1970.
    pub start: Option<i64>,
    /// End in microseconds since 1970.
    pub end: Option<i64>,
}

/// The requested level; otherwise the first level with locations, or 0 when there is none.
pub fn level_with_places(assembly: &Assembly, wanted: Option<usize>) -> usize {
    let says = |batch: &RecordBatch| {
        ["istac:geometry", "stac:centroid", "istac:centroid"].iter().any(|n| batch.column_by_name(n).is_some())
    };
    let found = assembly.levels.iter().position(|level| says(&level.batch));
    wanted.filter(|level| *level < assembly.levels.len()).or(found).unwrap_or(0)
}

/// Location and time of every row of a level.
///
/// # Errors
/// When the job is cancelled.
pub fn places(batch: &RecordBatch, ctx: &JobContext) -> crate::error::Result<Vec<Place>> {
    let rows = batch.num_rows();
    let mut places = vec![Place::default(); rows];
    let binary = |name: &str| batch.column_by_name(name).and_then(|column| cast(column, &DataType::Binary).ok());
    if let Some(column) = binary("istac:geometry") {
        let column = column.as_binary::<i32>();
        for (place, wkb) in places.iter_mut().zip(column) {
            place.geometry = wkb.and_then(crate::table::parse_wkb);
        }
    }
    footprints(batch, &mut places, ctx)?;
    for name in ["stac:centroid", "istac:centroid"] {
        let Some(column) = binary(name) else { continue };
        for (place, wkb) in places.iter_mut().zip(column.as_binary::<i32>()) {
            if place.geometry.is_none() {
                place.geometry = wkb
                    .and_then(wkb_point)
                    .filter(|(x, y)| x.abs() <= 360.0 && y.abs() <= 90.0)
                    .map(|(x, y)| Geometry::Point((x, y).into()));
            }
        }
    }
    for place in &mut places {
        place.bbox = place.geometry.as_ref().and_then(box_of);
    }
    for (names, end) in [(["stac:time_start", "istac:time_start"], false), (["stac:time_end", "istac:time_end"], true)] {
        for name in names {
            let Some(times) = batch.column_by_name(name).and_then(micros) else { continue };
            for (place, time) in places.iter_mut().zip(times) {
                let slot = if end { &mut place.end } else { &mut place.start };
                *slot = slot.or(time);
            }
        }
    }
    Ok(places)
}

fn micros(column: &ArrayRef) -> Option<Vec<Option<i64>>> {
    if !matches!(column.data_type(), DataType::Timestamp(..) | DataType::Date32 | DataType::Date64) {
        return None;
    }
    let micros =
        cast(column, &DataType::Timestamp(TimeUnit::Microsecond, None)).and_then(|time| cast(&time, &DataType::Int64)).ok()?;
    Some(micros.as_primitive::<Int64Type>().iter().collect())
}

/// A row, and the corners of its raster in its CRS.
type Corners = (usize, [[f64; 2]; 4]);

/// Footprints from the four corners of rasters, for rows without one.
fn footprints(batch: &RecordBatch, places: &mut [Place], ctx: &JobContext) -> crate::error::Result<()> {
    let column = |name: &str| batch.column_by_name(name).cloned();
    let (Some(systems), Some(transforms), Some(shapes)) =
        (column("stac:crs"), column("stac:geotransform"), column("stac:tensor_shape"))
    else {
        return Ok(());
    };
    let Ok(systems) = cast(&systems, &DataType::Utf8) else { return Ok(()) };
    let systems = systems.as_string::<i32>();
    let mut by_system: HashMap<&str, Vec<Corners>> = HashMap::new();
    for (row, place) in places.iter().enumerate() {
        if place.geometry.is_some() || systems.is_null(row) {
            continue;
        }
        let (Some(transform), Some(shape)) = (numbers_at(&transforms, row), numbers_at(&shapes, row)) else { continue };
        // The last two values of a shape are rows and columns.
        let (&[x, dx, rx, y, ry, dy], [.., height, width]) = (transform.as_slice(), shape.as_slice()) else { continue };
        let corner = |column: f64, line: f64| [x + column * dx + line * rx, y + column * ry + line * dy];
        let corners = [corner(0.0, 0.0), corner(0.0, *height), corner(*width, *height), corner(*width, 0.0)];
        by_system.entry(systems.value(row)).or_default().push((row, corners));
    }
    for (system, rows) in by_system {
        ctx.check()?;
        let points: Vec<[f64; 2]> = rows.iter().flat_map(|(_, corners)| corners).copied().collect();
        // With an unknown CRS, the centroid is used.
        let Ok(there) = raster::to_lonlat_from(system, &points) else { continue };
        for ((row, _), corners) in rows.iter().zip(there.chunks(4)) {
            let corners: Option<Vec<[f64; 2]>> = corners.iter().copied().collect();
            places[*row].geometry = corners.map(|corners| around_the_world(&corners));
        }
    }
    Ok(())
}

fn numbers_at(array: &ArrayRef, row: usize) -> Option<Vec<f64>> {
    let DataType::List(_) = array.data_type() else { return None };
    if array.is_null(row) {
        return None;
    }
    let items = cast(&array.as_list::<i32>().value(row), &DataType::Float64).ok()?;
    items.as_primitive::<Float64Type>().iter().collect()
}

/// A ring as polygon in counter-clockwise order as GeoJSON requires, cut at the antimeridian.
fn around_the_world(corners: &[[f64; 2]]) -> Geometry<f64> {
    let west = corners.iter().map(|corner| corner[0]).fold(f64::INFINITY, f64::min);
    let east = corners.iter().map(|corner| corner[0]).fold(f64::NEG_INFINITY, f64::max);
    if east - west <= 180.0 {
        return Geometry::Polygon(ring(corners.to_vec()));
    }
    let shifted: Vec<[f64; 2]> = corners.iter().map(|[x, y]| [if *x < 0.0 { x + 360.0 } else { *x }, *y]).collect();
    let left = clip(&shifted, |x| x <= 180.0);
    let right: Vec<[f64; 2]> = clip(&shifted, |x| x >= 180.0).into_iter().map(|[x, y]| [x - 360.0, y]).collect();
    let parts = [left, right].into_iter().filter(|part| part.len() >= 3).map(ring).collect();
    Geometry::MultiPolygon(MultiPolygon(parts))
}

fn ring(mut corners: Vec<[f64; 2]>) -> Polygon<f64> {
    let area: f64 = (0..corners.len())
        .map(|at| {
            let ([x, y], [next_x, next_y]) = (corners[at], corners[(at + 1) % corners.len()]);
            x * next_y - next_x * y
        })
        .sum();
    if area < 0.0 {
        corners.reverse();
    }
    Polygon::new(LineString::from(corners.into_iter().map(|[x, y]| (x, y)).collect::<Vec<_>>()), Vec::new())
}

/// The part of a ring on one side of longitude 180.
fn clip(corners: &[[f64; 2]], inside: impl Fn(f64) -> bool) -> Vec<[f64; 2]> {
    let mut kept = Vec::with_capacity(corners.len() + 2);
    for (at, &[x, y]) in corners.iter().enumerate() {
        let [before_x, before_y] = corners[(at + corners.len() - 1) % corners.len()];
        if inside(x) != inside(before_x) {
            let share = (180.0 - before_x) / (x - before_x);
            kept.push([180.0, before_y + share * (y - before_y)]);
        }
        if inside(x) {
            kept.push([x, y]);
        }
    }
    kept
}

fn box_of(geometry: &Geometry<f64>) -> Option<[f64; 4]> {
    if let Geometry::MultiPolygon(parts) = geometry {
        let boxes: Vec<_> = parts.iter().filter_map(|part| part.bounding_rect()).collect();
        let touches = |edge: f64| boxes.iter().any(|b| if edge > 0.0 { b.max().x == edge } else { b.min().x == edge });
        // Cut at the antimeridian: the eastern part is the start of the box.
        if boxes.len() > 1 && touches(180.0) && touches(-180.0) {
            let west = boxes.iter().filter(|b| b.max().x == 180.0).map(|b| b.min().x).fold(f64::INFINITY, f64::min);
            let east = boxes.iter().filter(|b| b.min().x == -180.0).map(|b| b.max().x).fold(f64::NEG_INFINITY, f64::max);
            let south = boxes.iter().map(|b| b.min().y).fold(f64::INFINITY, f64::min);
            let north = boxes.iter().map(|b| b.max().y).fold(f64::NEG_INFINITY, f64::max);
            return Some([west, south, east, north]);
        }
    }
    let rect = geometry.bounding_rect()?;
    Some([rect.min().x, rect.min().y, rect.max().x, rect.max().y])
}

/// The smallest box around several boxes.
pub fn union(boxes: impl Iterator<Item = [f64; 4]>) -> Option<[f64; 4]> {
    boxes.reduce(|a, b| [a[0].min(b[0]), a[1].min(b[1]), a[2].max(b[2]), a[3].max(b[3])])
}

/// A box as a polygon.
pub fn polygon_of([west, south, east, north]: [f64; 4]) -> Geometry<f64> {
    let corners = [[west, south], [east, south], [east, north], [west, north]];
    if west == east && south == north {
        return Geometry::Point((west, south).into());
    }
    if west > east {
        let left = ring(vec![[west, south], [180.0, south], [180.0, north], [west, north]]);
        let right = ring(vec![[-180.0, south], [east, south], [east, north], [-180.0, north]]);
        return Geometry::MultiPolygon(MultiPolygon(vec![left, right]));
    }
    Geometry::Polygon(ring(corners.to_vec()))
}

/// A geometry as GeoJSON with seven decimals (about 1 cm).
pub fn geojson(geometry: &Geometry<f64>) -> Json {
    let rounded = geometry.map_coords(|c| geo::Coord { x: digits(c.x), y: digits(c.y) });
    let line = |line: &LineString<f64>| -> Json { line.coords().map(|c| json!([c.x, c.y])).collect() };
    let polygon =
        |polygon: &Polygon<f64>| -> Json { std::iter::once(polygon.exterior()).chain(polygon.interiors()).map(line).collect() };
    match &rounded {
        Geometry::Point(point) => json!({ "type": "Point", "coordinates": [point.x(), point.y()] }),
        Geometry::LineString(one) => json!({ "type": "LineString", "coordinates": line(one) }),
        Geometry::Polygon(one) => json!({ "type": "Polygon", "coordinates": polygon(one) }),
        Geometry::MultiPoint(many) => {
            json!({ "type": "MultiPoint", "coordinates": many.iter().map(|p| json!([p.x(), p.y()])).collect::<Json>() })
        }
        Geometry::MultiLineString(many) => {
            json!({ "type": "MultiLineString", "coordinates": many.iter().map(line).collect::<Json>() })
        }
        Geometry::MultiPolygon(many) => {
            json!({ "type": "MultiPolygon", "coordinates": many.iter().map(polygon).collect::<Json>() })
        }
        Geometry::GeometryCollection(many) => {
            json!({ "type": "GeometryCollection", "geometries": many.iter().map(geojson).collect::<Json>() })
        }
        _ => Json::Null,
    }
}

/// Rounds to seven decimals.
pub fn digits(value: f64) -> f64 {
    (value * 1e7).round() / 1e7
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn footprints_across_the_antimeridian_are_cut() {
        let geometry = around_the_world(&[[179.0, 10.0], [179.0, 9.0], [-179.0, 9.0], [-179.0, 10.0]]);
        assert_eq!(box_of(&geometry), Some([179.0, 9.0, -179.0, 10.0]));
        let Geometry::MultiPolygon(parts) = &geometry else { panic!("{geometry:?} is one piece") };
        assert_eq!(parts.iter().filter_map(|part| part.bounding_rect()).map(|rect| rect.width()).collect::<Vec<_>>(), [1.0, 1.0]);
        let plain = around_the_world(&[[0.0, 1.0], [0.0, 0.0], [2.0, 0.0], [2.0, 1.0]]);
        assert_eq!(box_of(&plain), Some([0.0, 0.0, 2.0, 1.0]));
        assert_eq!(geojson(&plain)["type"], "Polygon");
    }
}
