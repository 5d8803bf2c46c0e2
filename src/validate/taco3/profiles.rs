//! Checks the columns of places and times of TACO 3 by their profiles: `stac`, `spatial` and
//! `temporal` from release 0.11, and those before it, with `istac` and `ispatial`.

use std::collections::HashMap;

use arrow::array::{Array, ArrayRef, RecordBatch};
use geo::algorithm::bounding_rect::BoundingRect;
use geo::algorithm::coords_iter::CoordsIter;
use geo::{Geometry, LineString};
use rayon::prelude::*;
use serde_json::Value as Json;

use crate::container::Taco3Table;
use crate::footprint::{PlaceColumns, interval_of, parse_time};
use crate::jobs::JobContext;
use crate::model::{Collection, Location, Report, Rule, Value};
use crate::table::{parse_wkb, value_at};
use crate::text::PrintableLine;

/// Difference of degrees that two programs may compute.
const DEGREES: f64 = 1e-9;
/// A centre in `float` may be so far from the true one, in degrees; also the corner of a pixel of
/// an extent.
const CENTRE: f64 = 1e-4;

/// Namespaces of profiles, of all releases.
const PROFILES: [&str; 8] = [
    "stac", "istac", "spatial", "ispatial", "temporal", "sac", "isac", "tac",
];
/// Rows that one thread checks at a time.
const ROWS_AT_ONCE: usize = 4096;

/// The columns of one namespace, by their names in it.
struct NamespaceColumns<'a>(HashMap<&'a str, &'a ArrayRef>);

impl<'a> NamespaceColumns<'a> {
    fn from_batch(batch: &'a RecordBatch, namespace: &str) -> Self {
        let fields = batch.schema_ref().fields().iter();
        let own = fields.zip(batch.columns()).filter_map(|(field, column)| {
            let name = field.name().strip_prefix(namespace)?.strip_prefix(':')?;
            Some((name, column))
        });
        Self(own.collect())
    }

    fn column(&self, name: &str) -> Option<&'a ArrayRef> {
        self.0.get(name).copied()
    }

    fn value(&self, name: &str, row: usize) -> Value {
        self.column(name)
            .map_or(Value::Null, |column| value_at(column, row))
    }

    fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    fn is_null(&self, name: &str, row: usize) -> bool {
        self.column(name).is_none_or(|column| column.is_null(row))
    }

    fn numbers(&self, name: &str, row: usize) -> Option<Vec<f64>> {
        let Value::List(items) = self.value(name, row) else {
            return None;
        };
        items.iter().map(Value::to_float).collect()
    }

    fn micros(&self, name: &str, row: usize) -> Option<i64> {
        match self.value(name, row) {
            Value::Int(time) => Some(time),
            _ => None,
        }
    }
}

/// Checks the rows of a level table.
///
/// # Errors
/// When the job is cancelled.
pub(super) fn check(
    table: &Taco3Table,
    report: &mut Report,
    ctx: &JobContext,
) -> crate::error::Result<()> {
    let place = Location::Member(table.member.printable_line().to_string());
    let mut first_row = 0;
    for batch in table.table.batches() {
        for namespace in PROFILES {
            let columns = NamespaceColumns::from_batch(batch, namespace);
            if columns.0.is_empty() {
                continue;
            }
            for (row, fault) in faults_of(&columns, batch.num_rows(), ctx)? {
                let message = tr!(
                    "Row {row}, {namespace}: {fault}",
                    row = first_row + row,
                    namespace,
                    fault
                );
                report.add(Rule::Taco3Profile, place.clone(), message);
            }
        }
        first_row += batch.num_rows();
    }
    Ok(())
}

/// The faults of all rows, in their order.
fn faults_of(
    columns: &NamespaceColumns,
    rows: usize,
    ctx: &JobContext,
) -> crate::error::Result<Vec<(usize, &'static str)>> {
    let faults_of_row = if columns.has("bbox") || columns.has("datetime") {
        new_faults
    } else {
        old_faults
    };
    let starts: Vec<usize> = (0..rows).step_by(ROWS_AT_ONCE).collect();
    let found: Vec<Vec<(usize, &'static str)>> = starts
        .into_par_iter()
        .map(|start| {
            ctx.check()?;
            let rows = start..rows.min(start + ROWS_AT_ONCE);
            Ok(rows
                .flat_map(|row| {
                    faults_of_row(columns, row)
                        .into_iter()
                        .map(move |fault| (row, fault))
                })
                .collect())
        })
        .collect::<crate::error::Result<_>>()?;
    Ok(found.concat())
}

/// The faults of a row of the releases from 0.11.
fn new_faults(columns: &NamespaceColumns, row: usize) -> Vec<&'static str> {
    let mut faults = Vec::new();
    if columns.has("datetime") {
        let times =
            ["datetime", "start_datetime", "end_datetime"].map(|name| columns.micros(name, row));
        match times {
            [_, Some(start), Some(end)] if end < start => {
                faults.push(tr!("the end is before the start"))
            }
            [_, Some(_), None] | [_, None, Some(_)] => {
                faults.push(tr!("start_datetime and end_datetime are given together"))
            }
            _ => {}
        }
    }
    if columns.has("proj_code") {
        let grid =
            ["proj_code", "proj_shape", "proj_transform"].map(|name| !columns.is_null(name, row));
        if grid.contains(&true) && grid.contains(&false) {
            faults.push(tr!(
                "proj_code, proj_shape and proj_transform are given together"
            ));
        } else if grid[0] {
            faults.extend(grid_fault(columns, row));
        }
    }
    faults.extend(geometry_fault(columns, row));
    faults
}

/// The fault of a grid of which all columns are given.
fn grid_fault(columns: &NamespaceColumns, row: usize) -> Option<&'static str> {
    let Value::Text(code) = columns.value("proj_code", row) else {
        return Some(tr!("proj_code is not a text"));
    };
    let is_code = code
        .split_once(':')
        .is_some_and(|(authority, code)| is_code_word(authority) && is_code_word(code));
    if !is_code {
        return Some(tr!("proj_code is not AUTHORITY:CODE"));
    }
    let shape = columns.numbers("proj_shape", row).unwrap_or_default();
    let [rows, width] = shape.as_slice() else {
        return Some(tr!("proj_shape is not [height, width]"));
    };
    if *rows < 1.0 || *width < 1.0 {
        return Some(tr!("proj_shape is not [height, width]"));
    }
    let transform = columns.numbers("proj_transform", row).unwrap_or_default();
    let [a, b, _, d, e, _] = transform.as_slice() else {
        return Some(tr!("proj_transform is not six numbers"));
    };
    if !transform.iter().all(|number| number.is_finite()) || a * e - b * d == 0.0 {
        return Some(tr!("proj_transform does not map pixels to an area"));
    }
    // The extent of the grid along longitudes.
    let turns = (a * width).abs() + (b * rows).abs();
    (&*code == "EPSG:4326" && turns > 360.0 + DEGREES)
        .then(|| tr!("the grid is wider than 360 degrees"))
}

fn is_code_word(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}

/// The fault of a geometry in longitude and latitude, and of its box.
fn geometry_fault(columns: &NamespaceColumns, row: usize) -> Option<&'static str> {
    let bbox = columns.numbers("bbox", row);
    let geometry = match columns.value("geometry", row) {
        Value::Null => None,
        Value::Bytes(wkb) => match parse_wkb(&wkb) {
            Some(geometry) => Some(geometry),
            None => return Some(tr!("geometry is not WKB")),
        },
        _ => return Some(tr!("geometry is not WKB")),
    };
    if let Some(bbox) = &bbox
        && !<[f64; 4]>::try_from(bbox.as_slice()).is_ok_and(is_sound_box)
    {
        return Some(tr!("bbox is not [west, south, east, north]"));
    }
    let geometry = geometry?;
    if matches!(geometry, Geometry::GeometryCollection(_)) {
        return Some(tr!("geometry is a collection"));
    }
    if geometry
        .coords_iter()
        .any(|point| !(point.x.abs() <= 180.0 && point.y.abs() <= 90.0))
    {
        return Some(tr!("geometry is not in longitude and latitude"));
    }
    // Along a pole an edge has no length.
    let is_at_pole =
        |edge: &geo::Line<f64>| edge.start.y.abs() >= 90.0 && edge.start.y == edge.end.y;
    let crosses =
        |edge: geo::Line<f64>| (edge.end.x - edge.start.x).abs() > 180.0 && !is_at_pole(&edge);
    if lines_of(&geometry)
        .iter()
        .any(|line| line.lines().any(crosses))
    {
        return Some(tr!(
            "geometry crosses the antimeridian and is not cut there"
        ));
    }
    let bbox = bbox?;
    let known = box_of_geometry(&geometry)?;
    let is_alike = known
        .iter()
        .zip(&bbox)
        .all(|(known, stated)| (known - stated).abs() <= DEGREES);
    (!is_alike).then(|| tr!("bbox is not that of the geometry"))
}

fn is_sound_box([west, south, east, north]: [f64; 4]) -> bool {
    [west, east].iter().all(|lon| lon.abs() <= 180.0)
        && [south, north].iter().all(|lat| lat.abs() <= 90.0)
        && south <= north
}

/// The rings and lines of a geometry.
fn lines_of(geometry: &Geometry<f64>) -> Vec<&LineString<f64>> {
    match geometry {
        Geometry::Polygon(one) => std::iter::once(one.exterior())
            .chain(one.interiors())
            .collect(),
        Geometry::MultiPolygon(several) => several
            .iter()
            .flat_map(|one| std::iter::once(one.exterior()).chain(one.interiors()))
            .collect(),
        Geometry::LineString(one) => vec![one],
        Geometry::MultiLineString(several) => several.iter().collect(),
        _ => Vec::new(),
    }
}

/// `[west, south, east, north]`; of a geometry with parts on both sides of the antimeridian west is
/// greater than east.
fn box_of_geometry(geometry: &Geometry<f64>) -> Option<[f64; 4]> {
    let parts: Vec<[f64; 4]> = match geometry {
        Geometry::MultiPolygon(several) => several
            .iter()
            .filter_map(|part| rect(part.bounding_rect()))
            .collect(),
        Geometry::MultiLineString(several) => several
            .iter()
            .filter_map(|part| rect(part.bounding_rect()))
            .collect(),
        other => rect(other.bounding_rect()).into_iter().collect(),
    };
    let touches = |of: fn(&[f64; 4]) -> bool| parts.iter().any(of);
    let all = |at: usize, join: fn(f64, f64) -> f64, of: &dyn Fn(&&[f64; 4]) -> bool| {
        parts.iter().filter(of).map(|part| part[at]).reduce(join)
    };
    let every = |_: &&[f64; 4]| true;
    let (south, north) = (all(1, f64::min, &every)?, all(3, f64::max, &every)?);
    let crosses =
        parts.len() > 1 && touches(|part| part[2] >= 180.0) && touches(|part| part[0] <= -180.0);
    if crosses {
        let west = all(0, f64::min, &|part| part[0] >= 0.0);
        let east = all(2, f64::max, &|part| part[2] <= 0.0);
        if let (Some(west), Some(east)) = (west, east) {
            return Some([west, south, east, north]);
        }
    }
    Some([
        all(0, f64::min, &every)?,
        south,
        all(2, f64::max, &every)?,
        north,
    ])
}

fn rect(found: impl Into<Option<geo::Rect<f64>>>) -> Option<[f64; 4]> {
    found
        .into()
        .map(|rect| [rect.min().x, rect.min().y, rect.max().x, rect.max().y])
}

/// The faults of a row of the releases before 0.11.
fn old_faults(columns: &NamespaceColumns, row: usize) -> Vec<&'static str> {
    let mut faults = Vec::new();
    if let (Some(start), Some(end)) = (
        columns.micros("time_start", row),
        columns.micros("time_end", row),
    ) && end < start
    {
        faults.push(tr!("the end is before the start"));
    }
    if !columns.is_null("geotransform", row) {
        match columns.numbers("geotransform", row).as_deref() {
            Some([_, a, b, _, d, e])
                if [a, b, d, e].iter().all(|number| number.is_finite()) && a * e - b * d != 0.0 => {
            }
            _ => faults.push(tr!("geotransform does not map pixels to an area")),
        }
        match columns.numbers("tensor_shape", row).as_deref() {
            Some(shape) if shape.len() >= 2 && shape.iter().all(|size| *size >= 1.0) => {}
            _ => faults.push(tr!("tensor_shape does not end in [height, width]")),
        }
    }
    if let Value::Bytes(wkb) = columns.value("geometry", row)
        && parse_wkb(&wkb).is_none()
    {
        faults.push(tr!("geometry is not WKB"));
    }
    if let Value::Bytes(wkb) = columns.value("centroid", row)
        && !matches!(
            parse_wkb(&wkb),
            Some(Geometry::Point(point)) if point.x().abs() <= 180.0 && point.y().abs() <= 90.0
        )
    {
        faults.push(tr!("centroid is not a point in longitude and latitude"));
    }
    faults
}

/// The extent of the collection holds the centres and times of the samples.
pub(super) fn check_extent(samples: &Taco3Table, collection: &Collection, report: &mut Report) {
    let Some(extent) = collection.get("extent") else {
        return;
    };
    let numbers = extent.get("spatial").and_then(Json::as_array);
    let numbers: Option<Vec<f64>> =
        numbers.and_then(|numbers| numbers.iter().map(Json::as_f64).collect());
    let spatial: Option<[f64; 4]> = numbers.and_then(|numbers| numbers.try_into().ok());
    let times = extent.get("temporal").and_then(|times| times.as_array());
    let time = |at: usize| times.and_then(|times| parse_time(times.get(at)?.as_str()?));
    let (mut outside, mut untimely) = (0u64, 0u64);
    for batch in samples.table.batches() {
        let places = PlaceColumns::from_batch(batch);
        let intervals = interval_of(batch);
        for (row, interval) in intervals.iter().enumerate() {
            if let (Some(bbox), Some([lon, lat])) = (spatial, places.stated_location(row).centroid)
            {
                outside += u64::from(!box_contains(bbox, lon, lat));
            }
            if let (Some(first), Some(last), Some(start)) = (time(0), time(1), interval[0]) {
                untimely += u64::from(start < first || start > last);
            }
        }
    }
    let at = |field: &str| Location::Collection(format!("extent/{field}"));
    if outside > 0 {
        let message = tr_n!(
            outside,
            "The centre of {n} sample is outside.",
            "The centres of {n} samples are outside.",
            n = outside
        );
        report.add(Rule::Taco3Extent, at("spatial"), message);
    }
    if untimely > 0 {
        let message = tr_n!(
            untimely,
            "The time of {n} sample is outside.",
            "The times of {n} samples are outside.",
            n = untimely
        );
        report.add(Rule::Taco3Extent, at("temporal"), message);
    }
}

/// True for a point in a box, whose west may be greater than its east.
fn box_contains([west, south, east, north]: [f64; 4], lon: f64, lat: f64) -> bool {
    let is_between = |west: f64, east: f64| lon >= west - CENTRE && lon <= east + CENTRE;
    let along = if west <= east {
        is_between(west, east)
    } else {
        is_between(west, 180.0) || is_between(-180.0, east)
    };
    // 180 and -180 are one meridian.
    let along = along
        || (lon.abs() > 180.0 - CENTRE
            && (west <= -180.0 + CENTRE || east >= 180.0 - CENTRE || west > east));
    along && lat >= south - CENTRE && lat <= north + CENTRE
}

#[cfg(test)]
mod tests {
    use geo::polygon;

    use super::*;

    #[test]
    fn the_box_of_a_geometry_across_the_antimeridian_has_its_west_in_the_east() {
        let east = polygon![
            (x: 170.0, y: -1.0),
            (x: 180.0, y: -1.0),
            (x: 180.0, y: 1.0),
            (x: 170.0, y: -1.0)
        ];
        let west = polygon![
            (x: -180.0, y: -1.0),
            (x: -175.0, y: -1.0),
            (x: -180.0, y: 2.0),
            (x: -180.0, y: -1.0)
        ];
        let both = Geometry::MultiPolygon(geo::MultiPolygon(vec![east.clone(), west]));
        assert_eq!(box_of_geometry(&both), Some([170.0, -1.0, -175.0, 2.0]));
        assert_eq!(
            box_of_geometry(&Geometry::Polygon(east)),
            Some([170.0, -1.0, 180.0, 1.0])
        );
    }

    #[test]
    fn points_are_in_a_box_on_the_circle_of_longitudes() {
        assert!(
            box_contains([170.0, -10.0, -170.0, 10.0], 175.0, 0.0)
                && box_contains([170.0, -10.0, -170.0, 10.0], -175.0, 0.0)
        );
        assert!(
            !box_contains([170.0, -10.0, -170.0, 10.0], 0.0, 0.0)
                && !box_contains([0.0, 0.0, 1.0, 1.0], 12.0, 45.0)
        );
        assert!(box_contains([-180.0, -10.0, 0.0, 10.0], 180.0, 0.0));
    }
}
