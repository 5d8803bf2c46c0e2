//! SQL functions that polars lacks: predicates and measures of WKB geometries, and `mode`.

use geo::{Area, Centroid, Contains, Coord, Distance, Geometry, Intersects, Length, Point, Rect};
use polars::prelude::udf::UserDefinedFunction;
use polars::prelude::*;
use polars::sql::FunctionOptions;

use super::engine::refusal;
use super::geometry::{from_text, to_json, to_text};
use crate::table::{parse_wkb, wkb_bounds, wkb_point, write_wkb as write};
use crate::text::PrintableLine;

/// Signature of a function; geometries are WKB.
#[derive(Clone, Copy)]
enum Kind {
    /// Geometry → number.
    Measure(fn(&[u8]) -> Option<f64>),
    /// Two geometries → number.
    Between(fn(&Geometry, &Geometry) -> f64),
    /// Two geometries → Boolean.
    Relation(fn(&Geometry, &Geometry) -> bool),
    /// Two geometries and a distance → Boolean: at most that far apart.
    Near,
    /// Geometry → geometry.
    Made(fn(&[u8]) -> Option<Vec<u8>>),
    /// That many numbers → geometry.
    OfNumbers(usize, fn(&[f64]) -> Geometry),
    /// WKT → geometry.
    OfText,
    /// Geometry → text.
    Text(fn(&Geometry) -> String),
    /// Any column → its most frequent value.
    Mode,
}

/// Functions by lower-case name. All computations are planar, in the units of the geometry's coordinates.
const FUNCTIONS: [(&str, Kind); 22] = [
    ("st_x", Kind::Measure(|wkb| wkb_point(wkb).map(|(x, _)| x))),
    ("st_y", Kind::Measure(|wkb| wkb_point(wkb).map(|(_, y)| y))),
    ("st_xmin", Kind::Measure(|wkb| wkb_bounds(wkb).map(|bounds| bounds[0]))),
    ("st_ymin", Kind::Measure(|wkb| wkb_bounds(wkb).map(|bounds| bounds[1]))),
    ("st_xmax", Kind::Measure(|wkb| wkb_bounds(wkb).map(|bounds| bounds[2]))),
    ("st_ymax", Kind::Measure(|wkb| wkb_bounds(wkb).map(|bounds| bounds[3]))),
    ("st_area", Kind::Measure(|wkb| parse_wkb(wkb).map(|geometry| geometry.unsigned_area()))),
    ("st_length", Kind::Measure(|wkb| parse_wkb(wkb).map(|geometry| length(&geometry)))),
    ("st_intersects", Kind::Relation(|a, b| a.intersects(b))),
    ("st_contains", Kind::Relation(|a, b| a.contains(b))),
    ("st_distance", Kind::Between(|a, b| geo::Euclidean.distance(a, b))),
    ("st_dwithin", Kind::Near),
    ("st_within", Kind::Relation(|a, b| b.contains(a))),
    ("st_centroid", Kind::Made(|wkb| parse_wkb(wkb)?.centroid().map(|point| write(&point.into())))),
    ("st_geomfromwkb", Kind::Made(|wkb| parse_wkb(wkb).map(|_| wkb.to_vec()))),
    (
        "st_makeenvelope",
        Kind::OfNumbers(4, |n| Rect::new(Coord { x: n[0], y: n[1] }, Coord { x: n[2], y: n[3] }).to_polygon().into()),
    ),
    ("st_point", Kind::OfNumbers(2, |n| Point::new(n[0], n[1]).into())),
    ("st_makepoint", Kind::OfNumbers(2, |n| Point::new(n[0], n[1]).into())),
    ("st_geomfromtext", Kind::OfText),
    ("st_astext", Kind::Text(to_text)),
    ("st_asgeojson", Kind::Text(|geometry| to_json(geometry).to_string())),
    ("mode", Kind::Mode),
];

/// The names of the functions of this module.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.iter().map(|(name, _)| *name)
}

/// The function of this name, in lower case.
pub(super) fn function(name: &str) -> Option<UserDefinedFunction> {
    FUNCTIONS.iter().find(|(known, _)| *known == name).map(|(name, kind)| user_function(name, *kind))
}

fn user_function(name: &'static str, kind: Kind) -> UserDefinedFunction {
    let values = move |columns: &mut [Column]| -> PolarsResult<Column> { evaluate(name, kind, columns) };
    let field = move |_: &Schema, fields: &[Field]| {
        let first = fields.first();
        let dtype = match kind {
            Kind::Measure(_) | Kind::Between(_) => DataType::Float64,
            Kind::Relation(_) | Kind::Near => DataType::Boolean,
            Kind::Made(_) | Kind::OfNumbers(..) | Kind::OfText => DataType::Binary,
            Kind::Text(_) => DataType::String,
            Kind::Mode => first.map_or(DataType::Null, |field| field.dtype().clone()),
        };
        Ok(Field::new(first.map_or(PlSmallStr::EMPTY, |field| field.name().clone()), dtype))
    };
    let mut function = UserDefinedFunction::new(name.into(), BaseColumnUdf::new(values, field));
    function.options = match kind {
        Kind::Mode => FunctionOptions::aggregation(),
        _ => FunctionOptions::elementwise(),
    };
    function
}

fn evaluate(name: &str, kind: Kind, columns: &[Column]) -> PolarsResult<Column> {
    let wanted = match kind {
        Kind::Relation(_) | Kind::Between(_) => 2,
        Kind::Near => 3,
        Kind::OfNumbers(count, _) => count,
        _ => 1,
    };
    let Some(first) = columns.first().filter(|_| columns.len() == wanted) else {
        return Err(refusal(format!("{name} takes {wanted} arguments, not {}", columns.len())));
    };
    let called = first.name().clone();
    let wrong =
        |_| polars_err!(InvalidOperation: "{name} takes WKB geometries, as stac:centroid or ST_GeomFromText('POINT (1 2)')");
    Ok(match kind {
        Kind::Measure(measure) => {
            let numbers: Float64Chunked = first.binary().map_err(wrong)?.iter().map(|wkb| wkb.and_then(measure)).collect();
            numbers.with_name(called).into_column()
        }
        Kind::Made(made) => {
            let column: BinaryChunked = first.binary().map_err(wrong)?.iter().map(|wkb| wkb.and_then(made)).collect();
            column.with_name(called).into_column()
        }
        Kind::Text(write) => {
            let text = |wkb: &[u8]| parse_wkb(wkb).map(|geometry| write(&geometry));
            let column: StringChunked = first.binary().map_err(wrong)?.iter().map(|wkb| wkb.and_then(text)).collect();
            column.with_name(called).into_column()
        }
        Kind::OfText => {
            let mut column = Vec::with_capacity(first.len());
            for text in first.str()?.iter() {
                let unreadable = |text: &str| refusal(format!("{name}: this is no WKT: {}", text.printable_line()));
                let geometry = |text| from_text(text).map(|geometry| write(&geometry)).ok_or_else(|| unreadable(text));
                column.push(text.map(geometry).transpose()?);
            }
            BinaryChunked::from_iter(column).with_name(called).into_column()
        }
        Kind::OfNumbers(_, made) => {
            let numbers: Vec<Column> = columns.iter().map(|column| column.cast(&DataType::Float64)).collect::<PolarsResult<_>>()?;
            let numbers: Vec<&Float64Chunked> = numbers.iter().map(|column| column.f64()).collect::<PolarsResult<_>>()?;
            let rows = common_length(name, columns)?;
            let row = |row: usize| -> Option<Vec<u8>> {
                let at = |column: &&Float64Chunked| column.get(if column.len() == 1 { 0 } else { row }).filter(|n| n.is_finite());
                numbers.iter().map(at).collect::<Option<Vec<f64>>>().map(|numbers| write(&made(&numbers)))
            };
            (0..rows).map(row).collect::<BinaryChunked>().with_name(called).into_column()
        }
        Kind::Relation(relation) => {
            let [left, right] = columns else { return Ok(first.clone()) };
            let rows = common_length(name, columns)?;
            let (left, right) = (left.binary().map_err(wrong)?, right.binary().map_err(wrong)?);
            let (mut last_left, mut last_right) = (Last::default(), Last::default());
            let mut pairs: Vec<Option<bool>> = Vec::with_capacity(rows);
            let all = |column: &BinaryChunked| column.len() == 1;
            for row in 0..rows {
                let a = left.get(if all(left) { 0 } else { row });
                let b = right.get(if all(right) { 0 } else { row });
                let pair = a.zip(b).and_then(|(a, b)| Some(relation(last_left.geometry(a)?, last_right.geometry(b)?)));
                pairs.push(pair);
            }
            BooleanChunked::from_iter(pairs).with_name(called).into_column()
        }
        Kind::Between(number) => distances(name, columns, number)?.with_name(called).into_column(),
        Kind::Near => {
            let apart = distances(name, columns, |a, b| geo::Euclidean.distance(a, b))?;
            let most = columns[2].cast(&DataType::Float64)?;
            let most = most.f64()?;
            let within = |(row, apart): (usize, Option<f64>)| Some(apart? <= most.get(if most.len() == 1 { 0 } else { row })?);
            apart.iter().enumerate().map(within).collect::<BooleanChunked>().with_name(called).into_column()
        }
        Kind::Mode => {
            let known = first.as_materialized_series().drop_nulls();
            let most = if known.is_empty() { known } else { polars::prelude::mode::mode(&known, true)?.head(Some(1)) };
            let one = if most.is_empty() { Series::full_null(called, 1, first.dtype()) } else { most.with_name(called) };
            one.into_column()
        }
    })
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

fn distances(name: &str, columns: &[Column], number: fn(&Geometry, &Geometry) -> f64) -> PolarsResult<Float64Chunked> {
    let rows = common_length(name, columns)?;
    let wrong = |_| refusal(format!("{name} takes WKB geometries, as stac:centroid or ST_Point(1, 2)"));
    let [left, right, ..] = columns else { return Err(refusal(format!("{name} takes two geometries"))) };
    let (left, right) = (left.binary().map_err(wrong)?, right.binary().map_err(wrong)?);
    let (mut last_left, mut last_right) = (Last::default(), Last::default());
    let mut numbers: Vec<Option<f64>> = Vec::with_capacity(rows);
    for row in 0..rows {
        let a = left.get(if left.len() == 1 { 0 } else { row });
        let b = right.get(if right.len() == 1 { 0 } else { row });
        numbers.push(a.zip(b).and_then(|(a, b)| Some(number(last_left.geometry(a)?, last_right.geometry(b)?))));
    }
    Ok(numbers.into_iter().collect())
}

/// Common length of the arguments; a column of one row is broadcast.
fn common_length(name: &str, columns: &[Column]) -> PolarsResult<usize> {
    let rows = columns.iter().map(Column::len).find(|&length| length != 1).unwrap_or(1);
    polars_ensure!(columns.iter().all(|column| column.len() == rows || column.len() == 1), ShapeMismatch: "{name}: columns of different lengths");
    Ok(rows)
}

/// Cache of the last parsed geometry: a constant argument is parsed once; points are read without parsing.
#[derive(Default)]
struct Last {
    bytes: Vec<u8>,
    geometry: Option<Geometry>,
}

impl Last {
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
    fn damaged_geometries_have_none() {
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
