//! Filters (bounding box, time range, SQL condition) as plain data, and their predicates. Semantics
//! are those of the Python reader, except that a box with west > east crosses the antimeridian,
//! that time ranges may be open and have times of day, which that reader ignores, and that rows
//! without a place or time of their own are where and when their children are.

use polars::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arrow_convert;
use super::list_functions::elementwise;
use super::scan::fault;
use super::tables::Tables;
use super::time_range::{
    ArrowType, TimeRange, counts_in_range, days_in_range, intervals_in_range, is_count,
    is_text_array_type, no_time, texts_in_range, unit_of_counts,
};
use crate::error::{Error, Result};
use crate::footprint::{
    self, Boxes, CENTROID_COLUMNS, GEOMETRY_COLUMNS, GRIDS, INTERVALS, IntervalColumns,
    PlaceColumns, PlaceSource, StatedLocation, grid_of, place_source, touching,
};
use crate::jobs::JobContext;
use crate::model::{FieldSpec, dtype_name};

/// Geometry that a box is compared with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BoxTest {
    /// The footprint: `istac:geometry` in the system of `istac:crs`, else the corners of the
    /// raster, else the centroid.
    #[default]
    Footprint,
    /// The stored column that the official reader looks at, as it is: the first of
    /// `istac:geometry`, `stac:centroid` and `istac:centroid`.
    Centroid,
}

impl BoxTest {
    fn is_footprint(&self) -> bool {
        *self == Self::Footprint
    }
}

/// Maximum number of corners of a polygon.
const CORNERS_MAX: usize = 10_000;

/// Default geometry columns of a bounding box, in order of preference (section 7.1.1).
pub const GEOMETRIES: [&str; 9] = [
    "istac:geometry",
    "ispatial:geometry",
    "isac:geometry",
    "stac:centroid",
    "istac:centroid",
    "spatial:centroid",
    "sac:centroid",
    "ispatial:centroid",
    "isac:centroid",
];
/// Default time columns of a time range, in order of preference.
pub const TIMES: [&str; 8] = [
    "istac:time_start",
    "stac:time_start",
    "temporal:time_start",
    "tac:time_start",
    "stac:datetime",
    "temporal:datetime",
    "start_datetime",
    "datetime",
];

/// One filter: keeps rows of `level` that satisfy every condition, their ancestors and their
/// descendants.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Filter {
    /// `[west, south, east, north]` in degrees, edges included; west > east crosses the
    /// antimeridian.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bbox: Option<[f64; 4]>,
    /// Corners of a polygon, longitude and latitude in degrees, that places touch; its longitudes
    /// are continuous across the antimeridian. With a box, both have to be touched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub polygon: Option<Vec<[f64; 2]>>,
    /// Geometry that the box is compared with.
    #[serde(skip_serializing_if = "BoxTest::is_footprint")]
    pub by: BoxTest,
    /// A column of WKB geometries, or `stac:geotransform` for the corners of rasters; found by its
    /// usual names when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub geometry_column: Option<String>,
    /// `a/b`, `../b`, `a/..`, or one day or instant, in UTC. A date is its whole day, a time of day
    /// that instant; both ends included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub datetime: Option<String>,
    /// Time column; `None` selects a default column.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_column: Option<String>,
    /// SQL condition on the columns of the level.
    #[serde(rename = "where", skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// Level that the filter applies to.
    pub level: usize,
}

impl Filter {
    /// A bounding box on level 0.
    pub fn bbox(bbox: [f64; 4]) -> Self {
        Self {
            bbox: Some(bbox),
            ..Self::default()
        }
    }

    /// A polygon on level 0.
    pub fn polygon(corners: Vec<[f64; 2]>) -> Self {
        Self {
            polygon: Some(corners),
            ..Self::default()
        }
    }

    /// True for a filter of places.
    pub fn has_area(&self) -> bool {
        self.bbox.is_some() || self.polygon.is_some()
    }

    /// The box of a filter of places, else that around its polygon.
    pub fn area_box(&self) -> Option<[f64; 4]> {
        self.bbox
            .or_else(|| Some(bounds_of(self.polygon.as_ref()?)))
    }

    /// The box and the polygon of a filter of places.
    ///
    /// # Errors
    /// [`crate::error::Kind::Usage`] for corners that are none.
    fn area(&self) -> Result<Option<Boxes>> {
        let Some(bbox) = self.area_box() else {
            return Ok(None);
        };
        if let Some(corners) = &self.polygon {
            check_polygon(corners)?;
        }
        check_box(bbox)?;
        let boxes = Boxes::new(bbox);
        Ok(Some(match &self.polygon {
            None => boxes,
            Some(corners) => boxes.with_polygon(corners),
        }))
    }

    /// A time range on level 0.
    pub fn datetime(range: impl Into<String>) -> Self {
        Self {
            datetime: Some(range.into()),
            ..Self::default()
        }
    }

    /// An SQL condition on level 0.
    pub fn condition(sql: impl Into<String>) -> Self {
        Self {
            condition: Some(sql.into()),
            ..Self::default()
        }
    }

    /// The same filter on another level.
    pub fn at_level(mut self, level: usize) -> Self {
        self.level = level;
        self
    }

    /// The box and the range of times as filters of their own, each on the first level from that of
    /// this filter on that has its columns. All stays with the level where no level below has them,
    /// or the user names the column. Times first: they are cheaper to compare.
    pub(super) fn parts(&self, tables: &Tables) -> Vec<Self> {
        let mut parts = Vec::new();
        if self.datetime.is_some() {
            let part = Self {
                datetime: self.datetime.clone(),
                time_column: self.time_column.clone(),
                ..Self::default()
            };
            parts.push(part.at_level(self.level).on_level_with_columns(tables));
        }
        if self.has_area() {
            let part = Self {
                bbox: self.bbox,
                polygon: self.polygon.clone(),
                by: self.by,
                geometry_column: self.geometry_column.clone(),
                ..Self::default()
            };
            parts.push(part.at_level(self.level).on_level_with_columns(tables));
        }
        parts
    }

    /// This part of a filter on the first level from its own on that has its columns, unless the
    /// user names the column.
    fn on_level_with_columns(self, tables: &Tables) -> Self {
        let level = (self.level..tables.levels.len())
            .find(|level| self.has_columns(&tables.stored_columns(*level)));
        match level {
            Some(level) => self.at_level(level),
            None => self,
        }
    }

    /// True when `columns` have the places or times that a part of a filter looks at.
    fn has_columns(&self, columns: &[FieldSpec]) -> bool {
        match (&self.geometry_column, &self.time_column) {
            (Some(_), _) | (_, Some(_)) => true,
            _ if self.has_area() => {
                self.footprint_columns(columns).is_some() || has_any_column(columns, &GEOMETRIES)
            }
            _ => has_any_column(columns, &TIMES),
        }
    }

    /// For rows of a part's level without a place or time of their own: the condition that a row is
    /// one of them, and the part on the next level below that has its columns. `None` when every
    /// row has one, no level below has, or the user names the column, as the test of the stored
    /// centroid does.
    pub(super) fn fallback(&self, tables: &Tables) -> Option<(Expr, Self)> {
        if self.geometry_column.is_some()
            || self.time_column.is_some()
            || self.by == BoxTest::Centroid
        {
            return None;
        }
        let columns = tables.stored_columns(self.level);
        let has = |name: &&str| columns.iter().any(|field| field.name == **name);
        let names: Vec<&str> = if self.has_area() {
            // The column of the coordinate system is used for the grid, of which no Parquet file
            // has statistics.
            let grids = GRIDS.iter().map(|grid| grid.crs);
            GEOMETRY_COLUMNS
                .into_iter()
                .chain(CENTROID_COLUMNS)
                .chain(grids)
                .filter(has)
                .collect()
        } else if let Some(interval) = self.interval_columns(&columns) {
            vec![interval.instant, interval.start]
        } else {
            // Times are those of the first column.
            TIMES.into_iter().filter(has).take(1).collect()
        };
        if names
            .iter()
            .any(|name| tables.has_no_null(self.level, name))
        {
            return None;
        }
        let below = (self.level + 1..tables.levels.len())
            .find(|level| self.has_columns(&tables.stored_columns(*level)))?;
        let unstated = names
            .into_iter()
            .map(|name| col(name).is_null())
            .reduce(|a, b| a.and(b))?;
        Some((unstated, self.clone().at_level(below)))
    }

    /// True when rows of the filter's level state no place or time, so that those of their
    /// descendants count.
    pub fn looks_below(&self, tables: &Tables) -> bool {
        self.level < tables.levels.len()
            && self
                .parts(tables)
                .iter()
                .any(|part| part.level != self.level || part.fallback(tables).is_some())
    }

    /// Refuses a filter of a level that does not exist.
    ///
    /// # Errors
    /// [`crate::error::Kind::Usage`], with the deepest level.
    pub(super) fn check_level(&self, tables: &Tables) -> Result<()> {
        let count = tables.levels.len();
        if self.level < count {
            return Ok(());
        }
        let last = count.saturating_sub(1);
        Err(Error::usage(format!("there is no level {}", self.level))
            .hint(format!("the deepest is level {last}")))
    }

    /// Predicate of box and time range; `None` when neither is set.
    ///
    /// # Errors
    /// [`crate::error::Kind::Usage`] for an unknown level or column, or an invalid box or range;
    /// the hint states what is allowed.
    pub(super) fn predicate(&self, tables: &Tables, ctx: &JobContext) -> Result<Option<Expr>> {
        self.check_level(tables)?;
        let columns = tables.stored_columns(self.level);
        let space = self
            .area()?
            .map(|boxes| self.in_area(boxes, &columns, ctx))
            .transpose()?;
        let time = self
            .datetime
            .as_ref()
            .map(|range| self.in_range(range, &columns))
            .transpose()?;
        // Times first: they are cheaper to compare.
        Ok([time, space].into_iter().flatten().reduce(|a, b| a.and(b)))
    }

    fn in_area(&self, boxes: Boxes, columns: &[FieldSpec], ctx: &JobContext) -> Result<Expr> {
        if let Some((names, only)) = self.footprint_columns(columns) {
            return Ok(footprint_in_area(boxes, names, only, ctx));
        }
        let field = choose_column(
            columns,
            self.geometry_column.as_deref(),
            &GEOMETRIES,
            "geometry",
            self.level,
        )?;
        if CENTROID_COLUMNS.contains(&field.name.as_str())
            && matches!(field.dtype, ArrowType::Struct(_))
        {
            return Ok(footprint_in_area(
                boxes,
                vec![&field.name],
                Some(PlaceSource::Centroid),
                ctx,
            ));
        }
        // Older TACO versions store points as text.
        let text = is_text_array_type(&field.dtype);
        if !text && !is_binary(&field.dtype) {
            let summary = format!(
                "column {} is {}, not WKB geometries",
                field.name,
                dtype_name(&field.dtype)
            );
            return Err(Error::usage(summary).hint("name a column as stac:centroid"));
        }
        Ok(col(field.name.as_str()).map(
            move |column| points_in_boxes(&column, &boxes, text),
            |_, field| Ok(Field::new(field.name().clone(), DataType::Boolean)),
        ))
    }

    /// The columns that footprints are made of, and the only one that counts; `None` where a stored
    /// column is compared as it is.
    pub(super) fn footprint_columns<'a>(
        &self,
        columns: &'a [FieldSpec],
    ) -> Option<(Vec<&'a str>, Option<PlaceSource>)> {
        if self.by == BoxTest::Centroid {
            return None;
        }
        let only = match self.geometry_column.as_deref() {
            None => None,
            Some(name) => match place_source(name) {
                None | Some(PlaceSource::Centroid) => return None,
                source => source,
            },
        };
        let readable = |dtype: &ArrowType| {
            dtype.is_integer() || dtype.is_nested() || is_text_array_type(dtype) || is_binary(dtype)
        };
        let known = |field: &&FieldSpec| {
            footprint::COLUMNS.contains(&field.name.as_str()) && readable(&field.dtype)
        };
        let names: Vec<&str> = columns
            .iter()
            .filter(known)
            .map(|field| field.name.as_str())
            .collect();
        let has = |name: &str| names.contains(&name);
        let grid = grid_of(has).is_some();
        let geometry = GEOMETRY_COLUMNS.into_iter().any(has);
        let useful = match only {
            Some(PlaceSource::Grid) => grid,
            Some(_) => geometry,
            // Centroids alone are points, which are compared without more ado.
            None => grid || geometry,
        };
        useful.then_some((names, only))
    }

    /// The columns of an instant, a start and an end that the level has, where the user names no
    /// column; all are timestamps in microseconds.
    pub(super) fn interval_columns(
        &self,
        columns: &[FieldSpec],
    ) -> Option<&'static IntervalColumns> {
        if self.time_column.is_some() {
            return None;
        }
        INTERVALS.iter().find(|interval| {
            [interval.instant, interval.start, interval.end]
                .into_iter()
                .all(|name| has_times_in_microseconds(columns, name))
        })
    }

    fn in_range(&self, range: &str, columns: &[FieldSpec]) -> Result<Expr> {
        let range = TimeRange::parse(range)?;
        if let Some(interval) = self.interval_columns(columns) {
            return Ok(intervals_in_range(interval, range));
        }
        let field = choose_column(
            columns,
            self.time_column.as_deref(),
            &TIMES,
            "time",
            self.level,
        )?;
        use arrow::datatypes::TimeUnit;
        let per_second = match &field.dtype {
            ArrowType::Timestamp(TimeUnit::Second | TimeUnit::Millisecond, _) => 1_000,
            ArrowType::Timestamp(TimeUnit::Microsecond, _) => 1_000_000,
            ArrowType::Timestamp(TimeUnit::Nanosecond, _) => 1_000_000_000,
            ArrowType::Date32 | ArrowType::Date64 => return Ok(days_in_range(&field.name, range)),
            text if is_text_array_type(text) => return Ok(texts_in_range(&field.name, range)),
            dtype if is_count(dtype) => {
                return Ok(counts_in_range(field, unit_of_counts(field)?, range));
            }
            _ => return Err(no_time(field)),
        };
        // Bounds have the column's type, so that the statistics of a file can be asked; the number
        // behind a time is that of UTC whatever its zone, so that times are ranges of numbers.
        let empty = super::arrow_convert::series(&field.name, &field.dtype, Vec::new()).map_err(
            |error| {
                Error::unsupported(format!("column {} can't be filtered", field.name))
                    .because(error.to_string())
            },
        )?;
        let bound = |number: i64| lit(number).cast(empty.dtype().clone());
        Ok(range.on_numbers(&field.name, per_second, &bound))
    }
}

/// True when one of `columns` has one of the names.
fn has_any_column(columns: &[FieldSpec], names: &[&str]) -> bool {
    columns
        .iter()
        .any(|field| names.contains(&field.name.as_str()))
}

fn has_times_in_microseconds(columns: &[FieldSpec], name: &str) -> bool {
    let mut found = columns.iter().filter(|field| field.name == name);
    found.any(|field| {
        matches!(
            field.dtype,
            ArrowType::Timestamp(arrow::datatypes::TimeUnit::Microsecond, _)
        )
    })
}

/// True for the points, as WKB or as its text, that touch the boxes.
fn points_in_boxes(column: &Column, boxes: &Boxes, is_text: bool) -> PolarsResult<Column> {
    let touch = |point: Option<&[u8]>| point.is_some_and(|point| boxes.touch(point));
    let mask: BooleanChunked = if is_text {
        column
            .str()?
            .iter()
            .map(|text| touch(text.map(str::as_bytes)))
            .collect()
    } else {
        column.binary()?.iter().map(touch).collect()
    };
    Ok(mask.with_name(column.name().clone()).into_column())
}

pub(super) fn is_binary(dtype: &ArrowType) -> bool {
    matches!(
        dtype,
        ArrowType::Binary | ArrowType::LargeBinary | ArrowType::BinaryView
    )
}

/// A condition on the columns that footprints are made of.
fn footprint_in_area(
    boxes: Boxes,
    names: Vec<&str>,
    only: Option<PlaceSource>,
    ctx: &JobContext,
) -> Expr {
    let ctx = ctx.clone();
    let function = elementwise(
        "footprint_in_area",
        |_| Ok(DataType::Boolean),
        move |columns| footprints_in_boxes(columns, &boxes, only, &ctx),
    );
    function.call(names.into_iter().map(col).collect())
}

/// True for the rows whose footprints touch the boxes.
fn footprints_in_boxes(
    columns: &[Column],
    boxes: &Boxes,
    only: Option<PlaceSource>,
    ctx: &JobContext,
) -> PolarsResult<Column> {
    let rows = columns.first().map_or(0, Column::len);
    let arrays = columns.iter().map(|column| {
        let array = arrow_convert::file_array(column.as_materialized_series())?;
        Ok((column.name().clone(), array))
    });
    let arrays = arrays.collect::<PolarsResult<Vec<_>>>()?;
    let places = PlaceColumns::from_arrays(|name| {
        arrays
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, array)| array.clone())
    });
    let mut stated: Vec<StatedLocation> = Vec::with_capacity(rows);
    for row in 0..rows {
        let location = places.stated_location(row);
        stated.push(match only {
            Some(source) => location.restrict_to_source(source),
            None => location,
        });
    }
    let mask = touching(&stated, boxes, ctx).map_err(|error| fault(&error))?;
    Ok(BooleanChunked::from_iter(mask.into_iter().map(Some)).into_column())
}

/// The requested column, or the first default column that exists.
pub(super) fn choose_column<'a>(
    columns: &'a [FieldSpec],
    asked: Option<&str>,
    usual: &[&str],
    what: &str,
    level: usize,
) -> Result<&'a FieldSpec> {
    let find = |name: &str| columns.iter().find(|field| field.name == name);
    match asked {
        Some(name) => find(name).ok_or_else(|| {
            let names: Vec<&str> = columns.iter().map(|field| field.name.as_str()).collect();
            Error::usage(format!("level {level} has no column {name}"))
                .hint(format!("its columns: {}", names.join(", ")))
        }),
        None => usual.iter().find_map(|name| find(name)).ok_or_else(|| {
            Error::usage(format!(
                "level {level} has no {what} column: none of {}",
                usual.join(", ")
            ))
            .hint(format!(
                "name one with --{what}-column, or filter another level with --level"
            ))
        }),
    }
}

/// West, south, east, north around corners.
fn bounds_of(corners: &[[f64; 2]]) -> [f64; 4] {
    let around = [
        f64::INFINITY,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NEG_INFINITY,
    ];
    corners
        .iter()
        .fold(around, |[west, south, east, north], [x, y]| {
            [west.min(*x), south.min(*y), east.max(*x), north.max(*y)]
        })
}

/// Checks the corners of a polygon.
///
/// # Errors
/// [`crate::error::Kind::Usage`] for fewer than three or too many corners, and for one that is not
/// finite; the ranges of degrees are those of [`check_box`].
pub(super) fn check_polygon(corners: &[[f64; 2]]) -> Result<()> {
    let fault = if corners.len() < 3 {
        format!("has {} corners; three are the least", corners.len())
    } else if corners.len() > CORNERS_MAX {
        format!("has {} corners; {CORNERS_MAX} are the most", corners.len())
    } else if corners.iter().flatten().any(|number| !number.is_finite()) {
        "has a corner that is not finite".to_owned()
    } else {
        return Ok(());
    };
    Err(Error::usage(format!("the polygon {fault}"))
        .hint("give longitude and latitude of each corner in degrees"))
}

/// Checks that a box is finite, its longitudes within ±360, its latitudes within ±90, and south ≤
/// north.
pub fn check_box([west, south, east, north]: [f64; 4]) -> Result<()> {
    let fault = if [west, south, east, north]
        .iter()
        .any(|number| !number.is_finite())
    {
        "is not finite".to_owned()
    } else if [west, east]
        .iter()
        .any(|longitude| !(-360.0..=360.0).contains(longitude))
    {
        "has a longitude outside -360 to 360".to_owned()
    } else if [south, north]
        .iter()
        .any(|latitude| !(-90.0..=90.0).contains(latitude))
    {
        "has a latitude outside -90 to 90".to_owned()
    } else if south > north {
        format!("has its south {south} above its north {north}")
    } else {
        return Ok(());
    };
    Err(
        Error::usage(format!("the box {west},{south},{east},{north} {fault}")).hint(
            "write west,south,east,north in degrees; a box with west greater than east \
            crosses the antimeridian",
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::time_range::{MICROS_OF_DAY, TimeBound};

    #[test]
    fn dates_are_whole_days_and_times_of_day_are_instants() {
        let parse = |text: &str| TimeRange::parse(text).ok();
        let hour = 3_600_000_000;
        let day = |day: i64| {
            Some(TimeBound {
                micros: day * MICROS_OF_DAY,
                day: true,
            })
        };
        let at = |micros: i64| Some(TimeBound { micros, day: false });
        assert_eq!(
            parse("1970-01-02"),
            Some(TimeRange {
                first: day(1),
                last: day(1)
            })
        );
        let instant = at(49 * hour + hour / 2);
        assert_eq!(
            parse("1970-01-02T23:30:00-02:00"),
            Some(TimeRange {
                first: instant,
                last: instant
            })
        );
        let range = parse("1970-01-01T10:00:00Z/1970-01-03 01:00").expect("parses");
        assert_eq!(
            range,
            TimeRange {
                first: at(10 * hour),
                last: at(49 * hour)
            }
        );
        assert!(
            range.holds(TimeBound {
                micros: 10 * hour,
                day: false
            }) && range.holds(TimeBound {
                micros: 49 * hour,
                day: false
            })
        );
        assert!(
            !range.holds(TimeBound {
                micros: 10 * hour - 1,
                day: false
            }) && !range.holds(TimeBound {
                micros: 49 * hour + 1,
                day: false
            })
        );
        assert!(
            range.holds(TimeBound {
                micros: 0,
                day: true
            }),
            "a part of that day is within"
        );
        assert_eq!(
            parse("../1970-01-03"),
            Some(TimeRange {
                first: None,
                last: day(2)
            })
        );
        assert_eq!(
            parse("1970-01-03/.."),
            Some(TimeRange {
                first: day(2),
                last: None
            })
        );
        assert!(
            parse("1970-01-03T12:00:00Z/1970-01-03").is_some(),
            "the day ends after noon"
        );
        let bad = [
            "",
            "..",
            "../..",
            "2001",
            "1970-01-03/1970-01-02",
            "1970-01-01T10:00/1970-01-01T09:00",
            "tomorrow",
            "1970-02-30",
            "24-1-1",
            "24-1-1/..",
        ];
        for bad in bad {
            assert!(parse(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn numbers_count_what_their_column_says() {
        let unit = |name: &str, description: &str, dtype: ArrowType| {
            let field = FieldSpec {
                description: description.into(),
                ..FieldSpec::new(name, dtype)
            };
            unit_of_counts(&field).ok()
        };
        let whole = |name: &str, description: &str| unit(name, description, ArrowType::Int64);
        assert_eq!(
            whole("stac:time_start", ""),
            Some(1),
            "the specification of TACO 0.2"
        );
        assert_eq!(unit("istac:time_end", "", ArrowType::Float64), Some(1));
        assert_eq!(
            whole(
                "stac:time_start",
                "Start timestamp (\u{3bc}s since Unix epoch, UTC)"
            ),
            Some(1_000_000)
        );
        assert_eq!(
            whole("when", "Acquisition, milliseconds since 1970"),
            Some(1_000)
        );
        assert_eq!(whole("when", "ns since the epoch"), Some(1_000_000_000));
        assert_eq!(whole("when", "Seconds since 1970"), Some(1));
        for (name, description) in [
            ("date", ""),
            ("datetime", ""),
            ("acquisition_time", "Time of acquisition"),
            ("when", "Sensor status"),
        ] {
            assert_eq!(whole(name, description), None, "{name}: {description}");
        }
        let field = |dtype| FieldSpec::new("stac:time_start", dtype);
        let range = TimeRange::parse("1970-01-02").expect("parses");
        let said = format!(
            "{:?}",
            counts_in_range(&field(ArrowType::Int64), 1_000, range)
        );
        assert!(
            said.contains("86400000") && said.contains("172800000"),
            "{said}"
        );
    }

    #[test]
    fn the_first_usual_column_is_chosen() {
        let columns: Vec<FieldSpec> = [
            "istac:centroid",
            "stac:centroid",
            "istac:geometry",
            "datetime",
            "stac:time_start",
            "istac:time_start",
        ]
        .map(|name| FieldSpec::new(name, ArrowType::Binary))
        .into();
        let names = |columns: &[FieldSpec], usual: &[&str]| {
            choose_column(columns, None, usual, "", 0)
                .map(|field| field.name.clone())
                .ok()
        };
        assert_eq!(
            names(&columns, &GEOMETRIES).as_deref(),
            Some("istac:geometry")
        );
        assert_eq!(
            names(&columns[..2], &GEOMETRIES).as_deref(),
            Some("stac:centroid")
        );
        assert_eq!(
            names(&columns[..1], &GEOMETRIES).as_deref(),
            Some("istac:centroid")
        );
        assert_eq!(names(&columns, &TIMES).as_deref(), Some("istac:time_start"));
        assert_eq!(
            names(&columns[..5], &TIMES).as_deref(),
            Some("stac:time_start")
        );
        assert_eq!(names(&columns[..4], &TIMES).as_deref(), Some("datetime"));
        assert_eq!(names(&[], &TIMES), None);
    }

    #[test]
    fn boxes_are_checked() {
        assert!(check_box([170.0, -10.0, -170.0, 10.0]).is_ok());
        for bad in [
            [0.0, 10.0, 1.0, 9.0],
            [-361.0, 0.0, 1.0, 1.0],
            [0.0, -91.0, 1.0, 1.0],
            [f64::NAN, 0.0, 1.0, 1.0],
        ] {
            assert!(check_box(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn filters_are_plain_data() {
        let filter: Filter =
            serde_json::from_str(r#"{"bbox":[0,1,2,3],"where":"split = 'train'","level":1}"#)
                .expect("parses");
        assert_eq!(filter.condition.as_deref(), Some("split = 'train'"));
        assert_eq!(
            serde_json::from_str::<Filter>(&serde_json::to_string(&filter).expect("writes"))
                .expect("reads"),
            filter
        );
        assert!(serde_json::from_str::<Filter>(r#"{"box":[0,1,2,3]}"#).is_err());
    }
}
