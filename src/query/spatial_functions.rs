//! SQL functions that polars lacks: predicates and measures of WKB geometries, and `mode`.

use std::cell::RefCell;
use std::collections::HashMap;

use geo::{
    Area, BoundingRect, Centroid, Contains, ConvexHull, Coord, CoordsIter, Distance, Geometry,
    HasDimensions, Intersects, Length, LineString, MapCoords, Orient, Point, Polygon, Rect, Relate,
    Simplify, Validation,
};
use polars::prelude::udf::UserDefinedFunction;
use polars::prelude::*;
use polars::sql::FunctionOptions;

use super::engine_errors::refusal;
use super::geometry::{from_text, to_json, to_text};
use super::nested_values::{broadcast_row, build_result_field};
use crate::raster::CrsTransform;
use crate::table::{parse_wkb, wkb_bounds, wkb_point, write_wkb};
use crate::text::PrintableLine;

/// Signature of a function; geometries are WKB.
#[derive(Clone, Copy)]
enum SpatialSignature {
    /// Geometry → number.
    Measure(fn(&[u8]) -> Option<f64>),
    /// Two geometries → number.
    PairMeasure(fn(&Geometry, &Geometry) -> f64),
    /// Two geometries → Boolean.
    Relation(fn(&Geometry, &Geometry) -> bool),
    /// Two geometries and a distance → Boolean: at most that far apart.
    WithinDistance,
    /// Geometry → whole number.
    Count(fn(&Geometry) -> i64),
    /// Geometry → Boolean.
    Truth(fn(&Geometry) -> bool),
    /// Geometry and number → geometry.
    GeometryWithNumber(fn(&Geometry, f64) -> PolarsResult<Geometry>),
    /// Geometry, two coordinate systems and whether axes are east and north → geometry.
    Transform,
    /// Geometry → geometry.
    NewGeometry(fn(&[u8]) -> Option<Vec<u8>>),
    /// That many numbers → geometry.
    OfNumbers(usize, fn(&[f64]) -> Geometry),
    /// WKT → geometry.
    OfText,
    /// Geometry → text.
    Text(fn(&Geometry) -> String),
    /// Any column → its most frequent value.
    Mode,
}

/// Functions by lower-case name. All computations are planar, in the units of the geometry's
/// coordinates.
const FUNCTIONS: [(&str, SpatialSignature); 42] = [
    (
        "st_x",
        SpatialSignature::Measure(|wkb| wkb_point(wkb).map(|(x, _)| x)),
    ),
    (
        "st_y",
        SpatialSignature::Measure(|wkb| wkb_point(wkb).map(|(_, y)| y)),
    ),
    (
        "st_xmin",
        SpatialSignature::Measure(|wkb| wkb_bounds(wkb).map(|bounds| bounds[0])),
    ),
    (
        "st_ymin",
        SpatialSignature::Measure(|wkb| wkb_bounds(wkb).map(|bounds| bounds[1])),
    ),
    (
        "st_xmax",
        SpatialSignature::Measure(|wkb| wkb_bounds(wkb).map(|bounds| bounds[2])),
    ),
    (
        "st_ymax",
        SpatialSignature::Measure(|wkb| wkb_bounds(wkb).map(|bounds| bounds[3])),
    ),
    (
        "st_area",
        SpatialSignature::Measure(|wkb| parse_wkb(wkb).map(|geometry| geometry.unsigned_area())),
    ),
    (
        "st_length",
        SpatialSignature::Measure(|wkb| parse_wkb(wkb).map(|geometry| length(&geometry))),
    ),
    (
        "st_intersects",
        SpatialSignature::Relation(|a, b| a.intersects(b)),
    ),
    (
        "st_contains",
        SpatialSignature::Relation(|a, b| a.contains(b)),
    ),
    (
        "st_distance",
        SpatialSignature::PairMeasure(|a, b| geo::Euclidean.distance(a, b)),
    ),
    (
        "st_distance_sphere",
        SpatialSignature::PairMeasure(sphere_distance),
    ),
    ("st_dwithin", SpatialSignature::WithinDistance),
    (
        "st_equals",
        SpatialSignature::Relation(|a, b| a.relate(b).is_equal_topo()),
    ),
    (
        "st_touches",
        SpatialSignature::Relation(|a, b| a.relate(b).is_touches()),
    ),
    (
        "st_disjoint",
        SpatialSignature::Relation(|a, b| a.relate(b).is_disjoint()),
    ),
    (
        "st_overlaps",
        SpatialSignature::Relation(|a, b| a.relate(b).is_overlaps()),
    ),
    (
        "st_crosses",
        SpatialSignature::Relation(|a, b| a.relate(b).is_crosses()),
    ),
    (
        "st_covers",
        SpatialSignature::Relation(|a, b| a.relate(b).is_covers()),
    ),
    (
        "st_coveredby",
        SpatialSignature::Relation(|a, b| a.relate(b).is_coveredby()),
    ),
    (
        "st_perimeter",
        SpatialSignature::Measure(|wkb| parse_wkb(wkb).map(|geometry| perimeter(&geometry))),
    ),
    (
        "st_npoints",
        SpatialSignature::Count(|geometry| geometry.coords_count() as i64),
    ),
    (
        "st_numpoints",
        SpatialSignature::Count(|geometry| geometry.coords_count() as i64),
    ),
    (
        "st_isempty",
        SpatialSignature::Truth(|geometry| geometry.is_empty()),
    ),
    (
        "st_isvalid",
        SpatialSignature::Truth(|geometry| geometry.is_valid()),
    ),
    (
        "st_geometrytype",
        SpatialSignature::Text(|geometry| type_of(geometry).to_owned()),
    ),
    (
        "st_envelope",
        SpatialSignature::NewGeometry(|wkb| {
            parse_wkb(wkb)?
                .bounding_rect()
                .map(|bounds| write_wkb(&envelope(bounds)))
        }),
    ),
    (
        "st_convexhull",
        SpatialSignature::NewGeometry(|wkb| Some(write_wkb(&convex_hull(&parse_wkb(wkb)?)))),
    ),
    (
        "st_flipcoordinates",
        SpatialSignature::NewGeometry(|wkb| {
            Some(write_wkb(
                &parse_wkb(wkb)?.map_coords(|at| Coord { x: at.y, y: at.x }),
            ))
        }),
    ),
    (
        "st_simplify",
        SpatialSignature::GeometryWithNumber(|geometry, tolerance| {
            Ok(simplify_geometry(geometry, tolerance))
        }),
    ),
    ("st_buffer", SpatialSignature::GeometryWithNumber(buffer)),
    ("st_transform", SpatialSignature::Transform),
    (
        "st_within",
        SpatialSignature::Relation(|a, b| b.contains(a)),
    ),
    (
        "st_centroid",
        SpatialSignature::NewGeometry(|wkb| {
            parse_wkb(wkb)?
                .centroid()
                .map(|point| write_wkb(&point.into()))
        }),
    ),
    (
        "st_geomfromwkb",
        SpatialSignature::NewGeometry(|wkb| parse_wkb(wkb).map(|_| wkb.to_vec())),
    ),
    (
        "st_makeenvelope",
        SpatialSignature::OfNumbers(4, |n| {
            Rect::new(Coord { x: n[0], y: n[1] }, Coord { x: n[2], y: n[3] })
                .to_polygon()
                .into()
        }),
    ),
    (
        "st_point",
        SpatialSignature::OfNumbers(2, |n| Point::new(n[0], n[1]).into()),
    ),
    (
        "st_makepoint",
        SpatialSignature::OfNumbers(2, |n| Point::new(n[0], n[1]).into()),
    ),
    ("st_geomfromtext", SpatialSignature::OfText),
    ("st_astext", SpatialSignature::Text(to_text)),
    (
        "st_asgeojson",
        SpatialSignature::Text(|geometry| to_json(geometry).to_string()),
    ),
    ("mode", SpatialSignature::Mode),
];

/// The names of the functions of this module.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.iter().map(|(name, _)| *name)
}

/// The function of this name, in lower case.
pub(super) fn function(name: &str) -> Option<UserDefinedFunction> {
    FUNCTIONS
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(name, kind)| user_function(name, *kind))
}

fn user_function(name: &'static str, kind: SpatialSignature) -> UserDefinedFunction {
    let values =
        move |columns: &mut [Column]| -> PolarsResult<Column> { evaluate(name, kind, columns) };
    let field = move |_: &Schema, fields: &[Field]| build_spatial_field(kind, fields);
    let mut function = UserDefinedFunction::new(name.into(), BaseColumnUdf::new(values, field));
    function.options = match kind {
        SpatialSignature::Mode => FunctionOptions::aggregation(),
        _ => FunctionOptions::elementwise(),
    };
    function
}

fn build_spatial_field(kind: SpatialSignature, arguments: &[Field]) -> PolarsResult<Field> {
    let dtype = find_result_type(kind, arguments.first().map(Field::dtype));
    Ok(build_result_field(arguments, &dtype))
}

/// The type of a result; that of `mode` has the type of its first argument, `first`.
fn find_result_type(kind: SpatialSignature, first: Option<&DataType>) -> DataType {
    match kind {
        SpatialSignature::Measure(_) | SpatialSignature::PairMeasure(_) => DataType::Float64,
        SpatialSignature::Relation(_)
        | SpatialSignature::WithinDistance
        | SpatialSignature::Truth(_) => DataType::Boolean,
        SpatialSignature::Count(_) => DataType::Int64,
        SpatialSignature::GeometryWithNumber(_)
        | SpatialSignature::Transform
        | SpatialSignature::NewGeometry(_)
        | SpatialSignature::OfNumbers(..)
        | SpatialSignature::OfText => DataType::Binary,
        SpatialSignature::Text(_) => DataType::String,
        SpatialSignature::Mode => first.cloned().unwrap_or(DataType::Null),
    }
}

/// Number of arguments of a function that is called with `given` ones.
fn count_arguments(kind: SpatialSignature, given: usize) -> usize {
    match kind {
        SpatialSignature::Relation(_)
        | SpatialSignature::PairMeasure(_)
        | SpatialSignature::GeometryWithNumber(_) => 2,
        SpatialSignature::WithinDistance => 3,
        SpatialSignature::Transform if given == 4 => 4,
        SpatialSignature::Transform => 3,
        SpatialSignature::OfNumbers(count, _) => count,
        _ => 1,
    }
}

fn evaluate(name: &str, kind: SpatialSignature, columns: &[Column]) -> PolarsResult<Column> {
    let wanted = count_arguments(kind, columns.len());
    let Some(first) = columns.first().filter(|_| columns.len() == wanted) else {
        return Err(refusal(format!(
            "{name} takes {wanted} arguments, not {}",
            columns.len()
        )));
    };
    let called = first.name().clone();
    let is_null = |column: &Column| column.dtype().is_null();
    if !matches!(kind, SpatialSignature::Mode) && columns.iter().any(is_null) {
        let rows = common_length(name, columns)?;
        let dtype = find_result_type(kind, None);
        return Ok(Column::full_null(called, rows, &dtype));
    }
    let wrong = |_| refuse_geometry_arguments(name);
    Ok(match kind {
        SpatialSignature::Measure(measure) => {
            let numbers: Float64Chunked = first
                .binary()
                .map_err(wrong)?
                .iter()
                .map(|wkb| wkb.and_then(measure))
                .collect();
            numbers.with_name(called).into_column()
        }
        SpatialSignature::Count(count) => {
            let number = |wkb: &[u8]| parse_wkb(wkb).map(|geometry| count(&geometry));
            let column: Int64Chunked = first
                .binary()
                .map_err(wrong)?
                .iter()
                .map(|wkb| wkb.and_then(number))
                .collect();
            column.with_name(called).into_column()
        }
        SpatialSignature::Truth(truth) => {
            let is_so = |wkb: &[u8]| parse_wkb(wkb).map(|geometry| truth(&geometry));
            let column: BooleanChunked = first
                .binary()
                .map_err(wrong)?
                .iter()
                .map(|wkb| wkb.and_then(is_so))
                .collect();
            column.with_name(called).into_column()
        }
        SpatialSignature::GeometryWithNumber(made) => {
            let numbers = columns[1].cast(&DataType::Float64)?;
            let (geometries, numbers) = (first.binary().map_err(wrong)?, numbers.f64()?);
            let of = |row: usize| make_with_number(geometries, numbers, row, made);
            let all = (0..common_length(name, columns)?)
                .map(of)
                .collect::<PolarsResult<Vec<_>>>()?;
            all.into_iter()
                .collect::<BinaryChunked>()
                .with_name(called)
                .into_column()
        }
        SpatialSignature::Transform => transform_geometries(name, columns)?
            .with_name(called)
            .into_column(),
        SpatialSignature::NewGeometry(made) => {
            let column: BinaryChunked = first
                .binary()
                .map_err(wrong)?
                .iter()
                .map(|wkb| wkb.and_then(made))
                .collect();
            column.with_name(called).into_column()
        }
        SpatialSignature::Text(spell) => {
            let text = |wkb: &[u8]| parse_wkb(wkb).map(|geometry| spell(&geometry));
            let column: StringChunked = first
                .binary()
                .map_err(wrong)?
                .iter()
                .map(|wkb| wkb.and_then(text))
                .collect();
            column.with_name(called).into_column()
        }
        SpatialSignature::OfText => {
            let mut column = Vec::with_capacity(first.len());
            let texts = first.str().map_err(|_| refuse_text_argument(name))?;
            for text in texts.iter() {
                column.push(text.map(|text| wkt_to_wkb(name, text)).transpose()?);
            }
            BinaryChunked::from_iter(column)
                .with_name(called)
                .into_column()
        }
        SpatialSignature::OfNumbers(_, made) => {
            let numbers: Vec<Column> = columns
                .iter()
                .map(|column| column.cast(&DataType::Float64))
                .collect::<PolarsResult<_>>()?;
            let numbers: Vec<&Float64Chunked> = numbers
                .iter()
                .map(|column| column.f64())
                .collect::<PolarsResult<_>>()?;
            let rows = common_length(name, columns)?;
            let row = |row: usize| make_of_numbers(&numbers, row, made);
            (0..rows)
                .map(row)
                .collect::<BinaryChunked>()
                .with_name(called)
                .into_column()
        }
        SpatialSignature::Relation(relation) => {
            let pairs = compare_pairs(name, columns, relation)?;
            BooleanChunked::from_iter(pairs)
                .with_name(called)
                .into_column()
        }
        SpatialSignature::PairMeasure(measure) => {
            let numbers = compare_pairs(name, columns, measure)?;
            numbers
                .into_iter()
                .collect::<Float64Chunked>()
                .with_name(called)
                .into_column()
        }
        SpatialSignature::WithinDistance => {
            let distances =
                compare_pairs::<f64>(name, columns, |a, b| geo::Euclidean.distance(a, b))?;
            let limits = columns[2].cast(&DataType::Float64)?;
            let limits = limits.f64()?;
            let within = |(row, distance): (usize, Option<f64>)| {
                Some(distance? <= limits.get(broadcast_row(limits.len(), row))?)
            };
            distances
                .into_iter()
                .enumerate()
                .map(within)
                .collect::<BooleanChunked>()
                .with_name(called)
                .into_column()
        }
        SpatialSignature::Mode => {
            let known = first.as_materialized_series().drop_nulls();
            let most_frequent = if known.is_empty() {
                known
            } else if known.dtype().is_decimal() {
                // The engine has no mode of decimal numbers, which have 128 bits.
                let texts = known.cast(&DataType::String)?;
                let text = polars::prelude::mode::mode(&texts, true)?.head(Some(1));
                text.cast(known.dtype())?
            } else {
                polars::prelude::mode::mode(&known, true)?.head(Some(1))
            };
            let one = if most_frequent.is_empty() {
                Series::full_null(called, 1, first.dtype())
            } else {
                most_frequent.with_name(called)
            };
            one.into_column()
        }
    })
}

fn refuse_geometry_arguments(name: &str) -> PolarsError {
    refusal(format!(
        "{name} takes WKB geometries, as stac:centroid or ST_Point(1, 2)"
    ))
}

fn refuse_text_argument(name: &str) -> PolarsError {
    refusal(format!("{name} takes WKT, as 'POINT (1 2)'"))
}

/// The geometry that `made` computes of the geometry and the number of a row, as WKB.
fn make_with_number(
    geometries: &BinaryChunked,
    numbers: &Float64Chunked,
    row: usize,
    made: fn(&Geometry, f64) -> PolarsResult<Geometry>,
) -> PolarsResult<Option<Vec<u8>>> {
    let geometry = geometries
        .get(broadcast_row(geometries.len(), row))
        .and_then(parse_wkb);
    let number = numbers
        .get(broadcast_row(numbers.len(), row))
        .filter(|number| number.is_finite());
    let (Some(geometry), Some(number)) = (geometry, number) else {
        return Ok(None);
    };
    made(&geometry, number).map(|geometry| Some(write_wkb(&geometry)))
}

/// The geometry that `made` computes of the numbers of a row, as WKB; `None` unless all are finite.
fn make_of_numbers(
    numbers: &[&Float64Chunked],
    row: usize,
    made: fn(&[f64]) -> Geometry,
) -> Option<Vec<u8>> {
    let mut of_row = Vec::with_capacity(numbers.len());
    for column in numbers {
        let number = column.get(broadcast_row(column.len(), row))?;
        of_row.push(Some(number).filter(|number| number.is_finite())?);
    }
    Some(write_wkb(&made(&of_row)))
}

/// Converts a geometry from WKT to WKB.
fn wkt_to_wkb(name: &str, text: &str) -> PolarsResult<Vec<u8>> {
    from_text(text)
        .map(|geometry| write_wkb(&geometry))
        .ok_or_else(|| {
            refusal(format!(
                "{name}: this is not WKT: {}",
                text.printable_line()
            ))
        })
}

/// The geometries in another coordinate system; null where a point can't be transformed.
fn transform_geometries(name: &str, columns: &[Column]) -> PolarsResult<BinaryChunked> {
    let wrong = |_| refuse_transform_arguments(name);
    let geometries = columns[0].binary().map_err(wrong)?;
    let (from, to) = (
        columns[1].str().map_err(wrong)?,
        columns[2].str().map_err(wrong)?,
    );
    let is_xy = columns
        .get(3)
        .map(|column| column.bool().map_err(wrong))
        .transpose()?;
    let mut transforms: HashMap<(String, String, bool), CrsTransform> = HashMap::new();
    let mut rows = Vec::new();
    for row in 0..common_length(name, columns)? {
        let at = |length: usize| broadcast_row(length, row);
        let is_xy = is_xy.is_some_and(|is_xy| is_xy.get(at(is_xy.len())) == Some(true));
        let geometry = geometries.get(at(geometries.len())).and_then(parse_wkb);
        let (Some(geometry), Some(from), Some(to)) =
            (geometry, from.get(at(from.len())), to.get(at(to.len())))
        else {
            rows.push(None);
            continue;
        };
        let key = (from.to_owned(), to.to_owned(), is_xy);
        if !transforms.contains_key(&key) {
            transforms.insert(
                key.clone(),
                CrsTransform::between_systems(from, to, is_xy)
                    .map_err(|error| super::scan::fault(&error))?,
            );
        }
        let points: Vec<[f64; 2]> = geometry.coords_iter().map(|at| [at.x, at.y]).collect();
        let moved = RefCell::new(transforms[&key].points(&points).into_iter());
        let geometry = geometry.try_map_coords(|_| match moved.borrow_mut().next().flatten() {
            Some([x, y]) => Ok(Coord { x, y }),
            None => Err(()),
        });
        rows.push(geometry.ok().map(|geometry| write_wkb(&geometry)));
    }
    Ok(rows.into_iter().collect())
}

fn refuse_transform_arguments(name: &str) -> PolarsError {
    refusal(format!(
        "{name} takes a geometry and two coordinate systems, as 'EPSG:4326', 'EPSG:32631'"
    ))
}

/// The radius of the Earth, in metres, that `ST_Distance_Sphere` of DuckDB takes.
const EARTH_RADIUS: f64 = 6_371_000.0;

/// Metres between two points along a great circle, their first coordinate being the latitude in
/// degrees, as in DuckDB.
fn sphere_distance(one: &Geometry, other: &Geometry) -> f64 {
    match (one, other) {
        (Geometry::Point(one), Geometry::Point(other)) => geo::HaversineMeasure::new(EARTH_RADIUS)
            .distance(
                Point::new(one.y(), one.x()),
                Point::new(other.y(), other.x()),
            ),
        _ => f64::NAN,
    }
}

/// Length of the rings of polygons; of other geometries 0.
fn perimeter(geometry: &Geometry) -> f64 {
    match geometry {
        Geometry::Polygon(polygon) => sum_ring_lengths(polygon),
        Geometry::MultiPolygon(polygons) => polygons.iter().map(sum_ring_lengths).sum(),
        Geometry::GeometryCollection(all) => all.iter().map(perimeter).sum(),
        Geometry::Rect(bounds) => sum_ring_lengths(&bounds.to_polygon()),
        _ => 0.0,
    }
}

fn sum_ring_lengths(polygon: &Polygon) -> f64 {
    std::iter::once(polygon.exterior())
        .chain(polygon.interiors())
        .map(|ring| geo::Euclidean.length(ring))
        .sum()
}

fn type_of(geometry: &Geometry) -> &'static str {
    match geometry {
        Geometry::Point(_) => "POINT",
        Geometry::Line(_) | Geometry::LineString(_) => "LINESTRING",
        Geometry::Polygon(_) | Geometry::Rect(_) | Geometry::Triangle(_) => "POLYGON",
        Geometry::MultiPoint(_) => "MULTIPOINT",
        Geometry::MultiLineString(_) => "MULTILINESTRING",
        Geometry::MultiPolygon(_) => "MULTIPOLYGON",
        Geometry::GeometryCollection(_) => "GEOMETRYCOLLECTION",
    }
}

/// The box as a geometry: a point where it has no extent, a line where it has one in one direction.
fn envelope(bounds: Rect) -> Geometry {
    let (low, high) = (bounds.min(), bounds.max());
    match (low.x == high.x, low.y == high.y) {
        (true, true) => Point::from(low).into(),
        (false, false) => {
            let corners = [
                low,
                Coord {
                    x: high.x,
                    y: low.y,
                },
                high,
                Coord {
                    x: low.x,
                    y: high.y,
                },
            ];
            Polygon::new(corners.into_iter().collect(), Vec::new()).into()
        }
        _ => LineString::new(vec![low, high]).into(),
    }
}

fn convex_hull(geometry: &Geometry) -> Geometry {
    geometry
        .convex_hull()
        .orient(geo::orient::Direction::Reversed)
        .into()
}

fn simplify_geometry(geometry: &Geometry, tolerance: f64) -> Geometry {
    match geometry {
        Geometry::LineString(line) => line.simplify(tolerance).into(),
        Geometry::MultiLineString(lines) => lines.simplify(tolerance).into(),
        Geometry::Polygon(polygon) => polygon.simplify(tolerance).into(),
        Geometry::MultiPolygon(polygons) => polygons.simplify(tolerance).into(),
        other => other.clone(),
    }
}

/// Maximum number of points of a geometry that is buffered: lines that cross one another take time
/// in proportion to the square of it.
const BUFFER_POINTS_MAX: usize = 20_000;
/// Greatest coordinate, and distance, of a geometry that is buffered.
const BUFFER_COORDINATE_MAX: f64 = 1e12;
/// Number of segments of a quarter of a circle.
const QUARTER_SEGMENTS: u32 = 8;

/// The points that are at most `distance` from the geometry; circles have 32 corners, as in DuckDB.
fn buffer(geometry: &Geometry, distance: f64) -> PolarsResult<Geometry> {
    use geo::algorithm::buffer::{Buffer, BufferStyle, LineCap, LineJoin};
    let step = std::f64::consts::FRAC_PI_2 / f64::from(QUARTER_SEGMENTS);
    match geometry {
        Geometry::Point(centre) if distance > 0.0 => Ok(make_circle(centre, distance, step).into()),
        _ => {
            let is_bounded = |number: f64| number.abs() <= BUFFER_COORDINATE_MAX;
            if geometry.coords_count() > BUFFER_POINTS_MAX
                || !is_bounded(distance)
                || !geometry
                    .coords_iter()
                    .all(|at| is_bounded(at.x) && is_bounded(at.y))
            {
                let summary = format!(
                    "st_buffer takes geometries of at most {BUFFER_POINTS_MAX} points, with \
                        coordinates up to {BUFFER_COORDINATE_MAX:e}"
                );
                return Err(refusal(summary));
            }
            let style = BufferStyle::new(distance)
                .line_join(LineJoin::Round(step))
                .line_cap(LineCap::Round(step));
            let made = geometry.buffer_with_style(style);
            Ok(match <[Polygon; 1]>::try_from(made.0.clone()) {
                Ok([one]) => one.into(),
                Err(_) => made.into(),
            })
        }
    }
}

/// A circle with a corner for each angle of `step` radians.
fn make_circle(centre: &Point, radius: f64, step: f64) -> Polygon {
    let mut corners = Vec::with_capacity(4 * QUARTER_SEGMENTS as usize);
    for at in 0..4 * QUARTER_SEGMENTS {
        let angle = -step * f64::from(at);
        corners.push(Coord {
            x: centre.x() + radius * angle.cos(),
            y: centre.y() + radius * angle.sin(),
        });
    }
    Polygon::new(LineString::new(corners), Vec::new())
}

/// Length of lines; of other geometries 0.
fn length(geometry: &Geometry) -> f64 {
    match geometry {
        Geometry::Line(line) => geo::Euclidean.length(line),
        Geometry::LineString(line) => geo::Euclidean.length(line),
        Geometry::MultiLineString(lines) => geo::Euclidean.length(lines),
        Geometry::GeometryCollection(all) => all.iter().map(length).sum(),
        _ => 0.0,
    }
}

/// The result of `compare` for the first two geometries of each row; null where one is not valid.
fn compare_pairs<T>(
    name: &str,
    columns: &[Column],
    compare: fn(&Geometry, &Geometry) -> T,
) -> PolarsResult<Vec<Option<T>>> {
    let rows = common_length(name, columns)?;
    let wrong = |_| refuse_geometry_arguments(name);
    let [left, right, ..] = columns else {
        return Err(refusal(format!("{name} takes two geometries")));
    };
    let (left, right) = (
        left.binary().map_err(wrong)?,
        right.binary().map_err(wrong)?,
    );
    let (mut last_left, mut last_right) = (LastGeometry::default(), LastGeometry::default());
    let mut results = Vec::with_capacity(rows);
    for row in 0..rows {
        let a = left.get(broadcast_row(left.len(), row));
        let b = right.get(broadcast_row(right.len(), row));
        results.push(
            a.zip(b)
                .and_then(|(a, b)| Some(compare(last_left.geometry(a)?, last_right.geometry(b)?))),
        );
    }
    Ok(results)
}

/// Number of rows of the arguments, as of the result; a column of one row is broadcast.
fn common_length(name: &str, columns: &[Column]) -> PolarsResult<usize> {
    let rows = columns
        .iter()
        .map(Column::len)
        .find(|&length| length != 1)
        .unwrap_or(1);
    polars_ensure!(
        columns.iter().all(|column| column.len() == rows || column.len() == 1),
        ShapeMismatch: "{name}: columns of different lengths"
    );
    Ok(rows)
}

/// Cache of the last parsed geometry: a constant argument is parsed once; points are read without
/// parsing.
#[derive(Default)]
struct LastGeometry {
    bytes: Vec<u8>,
    geometry: Option<Geometry>,
}

impl LastGeometry {
    fn geometry(&mut self, wkb: &[u8]) -> Option<&Geometry> {
        if let Some((x, y)) = wkb_point(wkb).filter(|(x, y)| x.is_finite() && y.is_finite()) {
            self.bytes.clear();
            self.geometry = Some(Geometry::Point(Point::new(x, y)));
        } else if self.bytes != wkb || self.bytes.is_empty() {
            self.bytes.clear();
            self.bytes.extend_from_slice(wkb);
            self.geometry = parse_wkb(wkb);
        }
        self.geometry.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn polygon() -> Vec<u8> {
        let mut wkb = vec![1];
        wkb.extend(3u32.to_le_bytes());
        wkb.extend(1u32.to_le_bytes());
        wkb.extend(4u32.to_le_bytes());
        for number in [1.0f64, 2.0, 5.0, 2.5, 3.0, 9.0, 1.0, 2.0] {
            wkb.extend(number.to_le_bytes());
        }
        wkb
    }

    #[test]
    fn bounds_hold_every_coordinate() {
        assert_eq!(wkb_bounds(&polygon()), Some([1.0, 2.0, 5.0, 9.0]));
        let mut collection = vec![0];
        collection.extend(7u32.to_be_bytes());
        collection.extend(1u32.to_be_bytes());
        collection.extend(polygon());
        assert_eq!(wkb_bounds(&collection), Some([1.0, 2.0, 5.0, 9.0]));
    }

    #[test]
    fn a_null_argument_gives_null() {
        for (name, kind) in FUNCTIONS {
            let null = Column::full_null("x".into(), 3, &DataType::Null);
            let count = count_arguments(kind, 1);
            let found = evaluate(name, kind, &vec![null; count]).expect(name);
            assert_eq!(found.null_count(), found.len(), "{name}");
            if !matches!(kind, SpatialSignature::Mode) {
                assert_eq!(found.len(), 3, "{name}");
                assert_eq!(found.dtype(), &find_result_type(kind, None), "{name}");
            }
        }
    }

    #[test]
    fn damaged_geometries_have_no_bounds() {
        let good = polygon();
        for cut in 0..good.len() {
            assert_eq!(wkb_bounds(&good[..cut]), None, "{cut}");
        }
        let mut many = good.clone();
        many[5..9].fill(0xFF);
        assert_eq!(wkb_bounds(&many), None);
        let mut deep = Vec::new();
        for _ in 0..1000 {
            deep.extend([1, 7, 0, 0, 0, 1, 0, 0, 0]);
        }
        assert_eq!(wkb_bounds(&deep), None);
    }
}
