//! Filters as statements of engines that read level tables where they are: DuckDB, Polars, Spark
//! and Dask. The rows are those of level 0 that the filters keep, in any order, with the columns of
//! the file.
//!
//! Conditions go to DuckDB as they are, with quoted names. For the others they are converted to
//! `expression::Expression` and printed as Python. What an engine can't express is refused with its
//! position, never left out.

mod duckdb;
mod expression;
mod python;

use chrono::DateTime;
use geo::{LineString, Polygon, Validation};

use self::expression::{Comparison, ConditionConversion, DAY, Expression};
use super::filter::{
    DEFAULT_PLACE_COLUMNS, DEFAULT_TIME_COLUMNS, Filter, check_box, check_polygon, choose_column,
    is_binary,
};
use super::source_span::StatementSource;
use super::statement_parser;
use super::time_range::{
    TimeBound, TimeRange, is_count, is_text_array_type, no_time, unit_of_counts,
};
use crate::error::{Error, Result};
use crate::footprint::{Boxes, PlaceSource};
use crate::model::FieldSpec;
use crate::text::PrintableLine;
pub use duckdb::{name as quoted_name, text as quoted_text};
pub use python::string as python_string;

/// An engine that reads Parquet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParquetEngine {
    /// SQL.
    DuckDb,
    /// Python, lazy frames.
    Polars,
    /// Python, through PySpark.
    Spark,
    /// Python, Dask DataFrame.
    Dask,
}

impl ParquetEngine {
    /// Every engine.
    pub const ALL: [Self; 4] = [Self::DuckDb, Self::Polars, Self::Spark, Self::Dask];

    pub fn name(self) -> &'static str {
        match self {
            Self::DuckDb => "DuckDB",
            Self::Polars => "Polars",
            Self::Spark => "Spark",
            Self::Dask => "Dask",
        }
    }

    /// True when it reads a Parquet file that is a member of a ZIP.
    pub fn reads_members(self) -> bool {
        matches!(self, Self::Polars | Self::Dask)
    }
}

#[derive(Clone, Debug)]
pub struct LevelFile {
    /// Path or address of the Parquet file, or of the ZIP that has it as a member.
    pub address: String,
    /// Name of the member, for a file within a ZIP.
    pub member: Option<String>,
    pub columns: Vec<FieldSpec>,
}

impl LevelFile {
    fn has(&self, name: &str) -> bool {
        self.columns.iter().any(|column| column.name == name)
    }
}

/// What an area is compared with.
enum AreaWith<'a> {
    /// Footprints, made of these columns.
    Footprint(Vec<&'a str>),
    /// The geometries of this column.
    Column(&'a str),
}

impl AreaWith<'_> {
    fn columns(&self) -> Vec<&str> {
        match self {
            Self::Footprint(columns) => columns.clone(),
            Self::Column(column) => vec![column],
        }
    }
}

/// Areas in degrees, of one kind.
enum Area {
    /// West, south, east, north.
    Boxes(Vec<[f64; 4]>),
    /// Corners of polygons without holes, longitude and latitude; the first corner is the last,
    /// too.
    Polygons(Vec<Vec<[f64; 2]>>),
}

/// A test of a row.
enum Test<'a> {
    /// It is no padding.
    NoPadding,
    /// A condition as it was written, for DuckDB.
    Condition(&'a str),
    /// A condition that is converted, or comparisons with times.
    Expression(Expression),
    /// The date that a text begins with is within these microseconds, ends included.
    DaysOfText {
        column: &'a str,
        first: Option<i64>,
        last: Option<i64>,
    },
    /// A place touches one of the areas.
    Area { area: Area, with: AreaWith<'a> },
}

enum StatementStep<'a> {
    /// Keeps the rows of a level that pass the tests.
    Keep { level: usize, tests: Vec<Test<'a>> },
    /// Keeps the rows of a level that have rows left on the level below; `by_source`: rows are
    /// numbered within their part.
    Parents { level: usize, by_source: bool },
}

impl StatementStep<'_> {
    fn level(&self) -> usize {
        match self {
            Self::Keep { level, .. } | Self::Parents { level, .. } => *level,
        }
    }
}

/// The filters as a statement of an engine over the tables of the levels, level 0 first.
///
/// # Errors
/// [`crate::error::Kind::Usage`] for an unknown level or column, an invalid box, range or
/// condition; [`crate::error::Kind::Unsupported`] for what the engine does not express, with a way
/// that works.
pub fn statement(
    engine: ParquetEngine,
    levels: &[LevelFile],
    filters: &[Filter],
) -> Result<String> {
    if let Some(level) = levels
        .iter()
        .find(|level| level.member.is_some() && !engine.reads_members())
    {
        return Err(unsupported_members(engine).at_place(&level.address));
    }
    let steps = steps(engine, levels, filters)?;
    match engine {
        ParquetEngine::DuckDb => duckdb::statement(levels, &steps),
        _ => python::script(engine, levels, &steps),
    }
}

/// The error for an engine that reads no tables within other files.
pub fn unsupported_members(engine: ParquetEngine) -> Error {
    let summary = format!(
        "{} reads Parquet files, and this dataset has its tables within a file",
        engine.name()
    );
    Error::unsupported(summary).hint(
        "write an index: `taco-studio tacocat IN.tacozip -o FOLDER`, then copy from its .tacocat",
    )
}

/// A filter of one level as a condition of DuckDB, for the SQL of the Python reader.
///
/// # Errors
/// As [`statement`].
pub fn duckdb_condition(filter: &Filter, columns: &[FieldSpec]) -> Result<String> {
    let tests = tests(ParquetEngine::DuckDb, filter, columns)?;
    let conditions = tests
        .iter()
        .map(|test| duckdb::condition(test, columns))
        .collect::<Result<Vec<_>>>()?;
    Ok(conditions.join("\n  AND "))
}

/// A filter of one level as a condition of the studio's own SQL that keeps the same rows; `None`
/// where SQL has no such condition: footprints, times as text, with a zone or in nanoseconds, and
/// columns that the level does not have.
pub fn sql_condition(filter: &Filter, columns: &[FieldSpec]) -> Option<String> {
    let mut conditions = Vec::new();
    for test in tests(ParquetEngine::DuckDb, filter, columns).ok()? {
        conditions.push(match test {
            Test::Condition(sql) => format!("({sql})"),
            Test::Expression(ref expression) if has_plain_times(expression) => {
                duckdb::condition(&test, columns).ok()?
            }
            Test::Area {
                with: AreaWith::Column(_),
                ..
            } => duckdb::condition(&test, columns).ok()?,
            Test::Expression(_)
            | Test::NoPadding
            | Test::DaysOfText { .. }
            | Test::Area {
                with: AreaWith::Footprint(_),
                ..
            } => {
                return None;
            }
        });
    }
    (!conditions.is_empty()).then(|| conditions.join("\n  AND "))
}

/// True when the times that are compared can be written as `TIMESTAMP '…'`.
fn has_plain_times(expression: &Expression) -> bool {
    match expression {
        Expression::All(list) => list.iter().all(has_plain_times),
        Expression::Compare(_, left, right) => has_plain_times(left) && has_plain_times(right),
        Expression::Instant { zone, nanos, .. } => !zone && !nanos,
        _ => true,
    }
}

fn steps<'a>(
    engine: ParquetEngine,
    levels: &'a [LevelFile],
    filters: &'a [Filter],
) -> Result<Vec<StatementStep<'a>>> {
    if levels.is_empty() {
        return Err(Error::usage("the dataset has no level tables"));
    }
    let mut steps: Vec<StatementStep> = Vec::new();
    let mut begun = vec![false; levels.len()];
    for filter in filters {
        let Some(file) = levels.get(filter.level) else {
            let last = levels.len() - 1;
            return Err(Error::usage(format!("there is no level {}", filter.level))
                .hint(format!("the deepest is level {last}")));
        };
        let mut tests = tests(engine, filter, &file.columns)?;
        begin_level(file, &mut begun[filter.level], &mut tests);
        match steps.last_mut() {
            Some(StatementStep::Keep {
                level,
                tests: known,
            }) if *level == filter.level => known.extend(tests),
            _ if tests.is_empty() => {}
            _ => steps.push(StatementStep::Keep {
                level: filter.level,
                tests,
            }),
        }
        for level in (0..filter.level).rev() {
            let (above, below) = (&levels[level], &levels[level + 1]);
            if !above.has("internal:current_id") || !below.has("internal:parent_id") {
                let error = Error::unsupported(format!(
                    "levels {level} and {} have no columns that join them",
                    level + 1
                ));
                return Err(error
                    .hint("write the index again with `taco-studio tacocat`, or filter level 0"));
            }
            let mut tests = Vec::new();
            begin_level(above, &mut begun[level], &mut tests);
            if !tests.is_empty() {
                steps.push(StatementStep::Keep { level, tests });
            }
            let by_source = above.has("internal:source_file") && below.has("internal:source_file");
            steps.push(StatementStep::Parents { level, by_source });
        }
    }
    let mut tests = Vec::new();
    begin_level(&levels[0], &mut begun[0], &mut tests);
    if !tests.is_empty() {
        steps.push(StatementStep::Keep { level: 0, tests });
    }
    Ok(steps)
}

/// Adds the test against padding to the first tests of a level.
fn begin_level(file: &LevelFile, begun: &mut bool, tests: &mut Vec<Test<'_>>) {
    if !std::mem::replace(begun, true) && file.has("id") {
        tests.insert(0, Test::NoPadding);
    }
}

fn tests<'a>(
    engine: ParquetEngine,
    filter: &'a Filter,
    columns: &'a [FieldSpec],
) -> Result<Vec<Test<'a>>> {
    let mut tests = Vec::new();
    if let Some(range) = &filter.datetime {
        tests.push(times(filter, range, columns)?);
    }
    if let Some(condition) = &filter.condition {
        match engine {
            ParquetEngine::DuckDb => tests.push(Test::Condition(condition)),
            _ => {
                let source = StatementSource::alone(condition);
                let tokens = statement_parser::tokens(&source)?;
                let tree = statement_parser::condition(&source, &tokens, &|name| {
                    columns.iter().any(|column| column.name == name)
                })?;
                match (ConditionConversion {
                    source,
                    columns,
                    engine: engine.name(),
                })
                .condition(&tree)?
                {
                    Expression::Bool(true) => {}
                    Expression::Bool(false) => {
                        return Err(Error::usage("the condition keeps no row")
                            .at_place(condition.printable_line()));
                    }
                    expression => tests.push(Test::Expression(expression)),
                }
            }
        }
    }
    // Places last: their comparison takes longest.
    if let Some(bbox) = filter.area_box() {
        let outline = filter.polygon.as_deref().map(repeated_polygons);
        let outline = outline.transpose()?;
        check_box(bbox)?;
        let with = places(filter, columns)?;
        // The polygons below are repeated every 360 degrees, but the longitudes of a column are
        // within ±180: its box keeps the repeated ones from matching.
        if filter.bbox.is_some() || matches!(with, AreaWith::Column(_)) {
            let area = Area::Boxes(repeated_boxes(bbox, &with));
            tests.push(Test::Area { area, with });
        }
        if let Some(polygons) = outline {
            let area = Area::Polygons(polygons);
            let with = places(filter, columns)?;
            tests.push(Test::Area { area, with });
        }
    }
    Ok(tests)
}

/// Columns of places that the statements for other engines compare.
const SPELLED_PLACES: [&str; 8] = [
    "istac:geometry",
    "istac:crs",
    "stac:crs",
    "stac:geotransform",
    "stac:tensor_shape",
    "stac:raster_shape",
    "stac:centroid",
    "istac:centroid",
];

/// The boxes that places are compared with. Longitudes of footprints may exceed ±180 degrees, so
/// their boxes are repeated 360 degrees to the west and to the east.
fn repeated_boxes(bbox: [f64; 4], with: &AreaWith<'_>) -> Vec<[f64; 4]> {
    if matches!(with, AreaWith::Column(_)) {
        return Boxes::new(bbox).corners();
    }
    let [west, south, east, north] = bbox;
    let east = if west > east { east + 360.0 } else { east };
    if east - west >= 360.0 {
        vec![[-540.0, south, 540.0, north]]
    } else {
        [-360.0, 0.0, 360.0]
            .map(|degrees| [west + degrees, south, east + degrees, north])
            .to_vec()
    }
}

/// The polygon, and the same 360 degrees to the west and to the east, as its longitudes may exceed
/// ±180.
///
/// # Errors
/// For an invalid polygon (see [`check_polygon`]), and one that crosses itself: engines disagree
/// about what is inside of it.
fn repeated_polygons(corners: &[[f64; 2]]) -> Result<Vec<Vec<[f64; 2]>>> {
    check_polygon(corners)?;
    let ring: LineString = corners.iter().map(|&[x, y]| (x, y)).collect();
    let polygon = Polygon::new(ring, Vec::new());
    if !polygon.is_valid() {
        let error = Error::unsupported("the polygon crosses itself");
        return Err(error.hint("other engines need one without crossings: draw it again"));
    }
    let shifted = |degrees: f64| shift_ring(polygon.exterior(), degrees);
    Ok([-360.0, 0.0, 360.0].map(shifted).to_vec())
}

/// The corners of a ring, moved east by so many degrees.
fn shift_ring(ring: &LineString, degrees: f64) -> Vec<[f64; 2]> {
    ring.coords()
        .map(|corner| [corner.x + degrees, corner.y])
        .collect()
}

/// The places that the areas of a filter are compared with.
fn places<'a>(filter: &'a Filter, columns: &'a [FieldSpec]) -> Result<AreaWith<'a>> {
    if let Some((mut names, only)) = filter.footprint_columns(columns) {
        if let Some(column) = names.iter().find(|name| !SPELLED_PLACES.contains(name)) {
            let error = Error::unsupported(format!(
                "places of the column {column} can't be compared by other engines"
            ));
            return Err(error.hint("migrate the dataset to 2.0, then copy the filter from there"));
        }
        let of_grid = |name: &str| name.starts_with("stac:") && name != "stac:centroid";
        match only {
            None => {}
            Some(PlaceSource::Geometry) => {
                names.retain(|name| matches!(*name, "istac:geometry" | "istac:crs"))
            }
            Some(PlaceSource::Grid) => names.retain(|name| of_grid(name)),
            Some(PlaceSource::Centroid) => names.retain(|name| name.ends_with(":centroid")),
        }
        return Ok(AreaWith::Footprint(names));
    }
    let field = choose_column(
        columns,
        filter.geometry_column.as_deref(),
        &DEFAULT_PLACE_COLUMNS,
        "geometry",
        filter.level,
    )?;
    if !is_binary(&field.dtype) {
        let error = Error::unsupported(format!(
            "column {} is no column of WKB geometries",
            field.name
        ));
        return Err(error.hint("name a column such as stac:centroid"));
    }
    Ok(AreaWith::Column(&field.name))
}

fn times<'a>(filter: &'a Filter, range: &str, columns: &'a [FieldSpec]) -> Result<Test<'a>> {
    use arrow::datatypes::{DataType, TimeUnit};
    let range = TimeRange::parse(range)?;
    if let Some(interval) = filter.interval_columns(columns) {
        let error = Error::unsupported(format!(
            "intervals of {} can't be compared by other engines",
            interval.start
        ));
        return Err(error.hint(format!(
            "name one column: --time-column {}",
            interval.instant
        )));
    }
    let field = choose_column(
        columns,
        filter.time_column.as_deref(),
        &DEFAULT_TIME_COLUMNS,
        "time",
        filter.level,
    )?;
    let column = Expression::column(field);
    let all = |bounds| join_bounds(&column, bounds);
    let (first, last) = (range.first, range.last);
    Ok(match &field.dtype {
        DataType::Timestamp(unit, zone) => {
            let nanos = *unit == TimeUnit::Nanosecond;
            let instant = |micros| build_instant(micros, zone.is_some(), nanos);
            Test::Expression(all(vec![
                first.map(|first| (Comparison::GreaterOrEqual, instant(first.micros))),
                last.map(|last| {
                    (
                        compare_with_end(last.day),
                        instant(if last.day { last.end() } else { last.micros }),
                    )
                }),
            ]))
        }
        DataType::Date32 => {
            let day = |micros: i64| Expression::Day(micros.div_euclid(DAY));
            Test::Expression(all(vec![
                first.map(|first| (Comparison::GreaterOrEqual, day(first.micros))),
                last.map(|last| (Comparison::LessOrEqual, day(last.micros))),
            ]))
        }
        text if is_text_array_type(text) => {
            let day = |bound| require_day(bound, &field.name);
            Test::DaysOfText {
                column: &field.name,
                first: first.map(day).transpose()?,
                last: last.map(day).transpose()?,
            }
        }
        dtype if is_count(dtype) => {
            let per_second = unit_of_counts(field)?;
            let count = |micros: i64| express_time_as_count(micros, per_second);
            Test::Expression(all(vec![
                first.map(|first| (Comparison::GreaterOrEqual, count(first.micros))),
                last.map(|last| {
                    (
                        compare_with_end(last.day),
                        count(if last.day { last.end() } else { last.micros }),
                    )
                }),
            ]))
        }
        _ => return Err(no_time(field)),
    })
}

/// The bounds that there are, together.
fn join_bounds(column: &Expression, bounds: Vec<Option<(Comparison, Expression)>>) -> Expression {
    let bounds = bounds.into_iter().flatten();
    Expression::All(
        bounds
            .map(|(comparison, bound)| Expression::compare(comparison, column.clone(), bound))
            .collect(),
    )
}

/// How times are compared with the end of a range: the end of a day is the start of the next one.
fn compare_with_end(day: bool) -> Comparison {
    if day {
        Comparison::Less
    } else {
        Comparison::LessOrEqual
    }
}

fn build_instant(micros: i64, zone: bool, nanos: bool) -> Expression {
    Expression::Instant {
        micros,
        zone,
        nanos,
    }
}

/// The first microsecond of a bound that is a day.
fn require_day(bound: TimeBound, column: &str) -> Result<i64> {
    if bound.day {
        Ok(bound.micros)
    } else {
        Err(Error::unsupported(format!(
            "times of day in the text of column {column} can't be compared by other engines"
        ))
        .hint("filter by days, or store the column as timestamps"))
    }
}

/// A time as a number of units, of which a second has so many.
fn express_time_as_count(micros: i64, per_second: i64) -> Expression {
    let parts = i128::from(micros) * i128::from(per_second);
    match (parts % 1_000_000, i64::try_from(parts / 1_000_000)) {
        (0, Ok(whole)) => Expression::Int(whole),
        _ => Expression::Float(parts as f64 / 1e6),
    }
}

/// Key columns of a level's rows, and the columns of the level below that name them.
fn key_columns(by_source: bool) -> (&'static [&'static str], &'static [&'static str]) {
    if by_source {
        (
            &["internal:source_file", "internal:current_id"],
            &["internal:source_file", "internal:parent_id"],
        )
    } else {
        (&["internal:current_id"], &["internal:parent_id"])
    }
}

/// Microseconds since 1970 in this form; the nearest that can be written for those out of range.
fn instant(micros: i64, form: &str) -> String {
    // The years 1 and 9999, which all engines can write.
    let time = DateTime::from_timestamp_micros(
        micros.clamp(-62_135_596_800_000_000, 253_402_300_799_999_999),
    );
    time.unwrap_or_default().format(form).to_string()
}

/// The corners of a box; one for a box without size, two for one without an area.
fn corners_of([west, south, east, north]: [f64; 4]) -> Vec<[f64; 2]> {
    match (west == east, south == north) {
        (true, true) => vec![[west, south]],
        (true, false) | (false, true) => vec![[west, south], [east, north]],
        (false, false) => vec![
            [west, south],
            [east, south],
            [east, north],
            [west, north],
            [west, south],
        ],
    }
}

#[cfg(test)]
mod tests;
