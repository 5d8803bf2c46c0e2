//! Filters (bounding box, time range, SQL condition) as plain data, and their predicates. Semantics
//! are those of the Python reader, except that a box with west > east crosses the antimeridian,
//! that time ranges may be open and have times of day, which that reader ignores, and that rows
//! without a place or time of their own take those of their descendants.

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
    self, BOX_COLUMNS, Boxes, CENTROID_COLUMNS, GEOMETRY_COLUMNS, GRIDS, INTERVALS,
    IntervalColumns, PlaceColumns, PlaceSource, StatedLocation, grid_of, place_source, touching,
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

/// Columns that a bounding box is compared with as they are stored, in order of preference (section
/// 7.1.1), where rows state no footprint.
pub(super) const DEFAULT_PLACE_COLUMNS: [&str; 9] = [
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
/// Columns that a time range is compared with, in order of preference.
pub const DEFAULT_TIME_COLUMNS: [&str; 8] = [
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

    /// True with a box or a polygon.
    pub fn has_area(&self) -> bool {
        self.bbox.is_some() || self.polygon.is_some()
    }

    /// The box, else that around the polygon.
    pub fn area_box(&self) -> Option<[f64; 4]> {
        self.bbox
            .or_else(|| Some(bounds_of(self.polygon.as_ref()?)))
    }

    /// The box and the polygon, in the form in which footprints are compared with them.
    ///
    /// # Errors
    /// [`crate::error::Kind::Usage`] for an invalid box or polygon.
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

    /// The time range and the area as two filters. Each applies to the filter's level, or where
    /// that level lacks its columns, to the first level below that has them. A column that the user
    /// names is looked for on the filter's level alone. Times first: they are cheaper to compare.
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

    /// This part of a filter on the level that [`Self::parts`] describes.
    fn on_level_with_columns(self, tables: &Tables) -> Self {
        let level = (self.level..tables.levels.len())
            .find(|level| self.finds_columns_in(&tables.stored_columns(*level)));
        match level {
            Some(level) => self.at_level(level),
            None => self,
        }
    }

    /// True when a level with these columns has the places that a filter of an area compares, or
    /// the times that one of a time range does. A column that the user names counts as found, so
    /// that a level without it gives an error.
    pub fn finds_columns_in(&self, columns: &[FieldSpec]) -> bool {
        if self.geometry_column.is_some() || self.time_column.is_some() {
            true
        } else if self.has_area() {
            self.footprint_columns(columns).is_some()
                || has_any_column(columns, &DEFAULT_PLACE_COLUMNS)
        } else {
            has_any_column(columns, &DEFAULT_TIME_COLUMNS)
        }
    }

    /// For a part (see [`Self::parts`]) whose level may have rows without a place or time of their
    /// own: the condition that a row is one of them, and the part on the next level below that has
    /// its columns, where their descendants are compared. `None` when every row has a place or
    /// time, no level below has the columns, or one column is to be compared as it is: the user
    /// names it, or asks for the stored centroid.
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
            // A grid is recognised by its coordinate system: its other columns are lists, whose
            // nulls are not counted in the statistics of Parquet files.
            let grids = GRIDS.iter().map(|grid| grid.crs);
            GEOMETRY_COLUMNS
                .into_iter()
                .chain(BOX_COLUMNS)
                .chain(CENTROID_COLUMNS)
                .chain(grids)
                .filter(has)
                .collect()
        } else if let Some(interval) = self.interval_columns(&columns) {
            vec![interval.instant, interval.start]
        } else {
            // Only the first of these columns is compared.
            DEFAULT_TIME_COLUMNS
                .into_iter()
                .filter(has)
                .take(1)
                .collect()
        };
        if names
            .iter()
            .any(|name| tables.has_no_null(self.level, name))
        {
            return None;
        }
        let below = (self.level + 1..tables.levels.len())
            .find(|level| self.finds_columns_in(&tables.stored_columns(*level)))?;
        let unstated = names
            .into_iter()
            .map(|name| col(name).is_null())
            .reduce(|a, b| a.and(b))?;
        Some((unstated, self.clone().at_level(below)))
    }

    /// True when some or all rows of the filter's level state no place or time, so that those of
    /// their descendants are compared.
    pub fn uses_levels_below(&self, tables: &Tables) -> bool {
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

    /// Predicate of area and time range; `None` when neither is set.
    ///
    /// # Errors
    /// [`crate::error::Kind::Usage`] for an unknown level or column, or an invalid area or range;
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
            &DEFAULT_PLACE_COLUMNS,
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
        // Older TACO versions store points as text (WKT).
        let is_text = is_text_array_type(&field.dtype);
        if !is_text && !is_binary(&field.dtype) {
            let summary = format!(
                "column {} is {}, not WKB geometries",
                field.name,
                dtype_name(&field.dtype)
            );
            return Err(Error::usage(summary).hint("name a column such as stac:centroid"));
        }
        Ok(col(field.name.as_str()).map(
            move |column| geometries_in_boxes(&column, &boxes, is_text),
            |_, field| Ok(Field::new(field.name().clone(), DataType::Boolean)),
        ))
    }

    /// The columns that footprints are made of, and the only source of them that counts, if the
    /// user names its column; `None` where a stored column is compared as it is.
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
        let is_readable = |dtype: &ArrowType| {
            dtype.is_integer() || dtype.is_nested() || is_text_array_type(dtype) || is_binary(dtype)
        };
        let is_of_place = |field: &&FieldSpec| {
            footprint::COLUMNS.contains(&field.name.as_str()) && is_readable(&field.dtype)
        };
        let names: Vec<&str> = columns
            .iter()
            .filter(is_of_place)
            .map(|field| field.name.as_str())
            .collect();
        let has = |name: &str| names.contains(&name);
        let has_grid = grid_of(has).is_some();
        let has_geometry = GEOMETRY_COLUMNS.into_iter().any(has);
        let has_footprint = match only {
            Some(PlaceSource::Grid) => has_grid,
            Some(_) => has_geometry,
            // Centroids alone are points, whose stored column is compared as it is.
            None => has_grid || has_geometry || BOX_COLUMNS.into_iter().any(has),
        };
        has_footprint.then_some((names, only))
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
            &DEFAULT_TIME_COLUMNS,
            "time",
            self.level,
        )?;
        use arrow::datatypes::TimeUnit;
        let per_second = match &field.dtype {
            // The engine has no unit of seconds: they are converted to milliseconds.
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
        // Bounds are cast to the engine's type of the column, so that row groups are left out by
        // their statistics. A timestamp is stored as a number in UTC, whatever its time zone.
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

/// True for the geometries in WKB, or with `is_text` points in WKT, that touch the boxes.
fn geometries_in_boxes(column: &Column, boxes: &Boxes, is_text: bool) -> PolarsResult<Column> {
    let touch = |geometry: Option<&[u8]>| geometry.is_some_and(|geometry| boxes.touch(geometry));
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

/// The column that the user names, or the first of `defaults` that exists. `what` names the option
/// of the command line.
pub(super) fn choose_column<'a>(
    columns: &'a [FieldSpec],
    named: Option<&str>,
    defaults: &[&str],
    what: &str,
    level: usize,
) -> Result<&'a FieldSpec> {
    let find = |name: &str| columns.iter().find(|field| field.name == name);
    match named {
        Some(name) => find(name).ok_or_else(|| {
            let names: Vec<&str> = columns.iter().map(|field| field.name.as_str()).collect();
            Error::usage(format!("level {level} has no column {name}"))
                .hint(format!("its columns: {}", names.join(", ")))
        }),
        None => defaults.iter().find_map(|name| find(name)).ok_or_else(|| {
            Error::usage(format!(
                "level {level} has no {what} column: none of {}",
                defaults.join(", ")
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
/// finite, or beyond the degrees that [`check_box`] allows.
pub(super) fn check_polygon(corners: &[[f64; 2]]) -> Result<()> {
    let fault = if corners.len() < 3 {
        format!("has {} corners; three are the least", corners.len())
    } else if corners.len() > CORNERS_MAX {
        format!("has {} corners; {CORNERS_MAX} are the most", corners.len())
    } else if let Some(fault) = corners.iter().find_map(|corner| fault_of_degrees(*corner)) {
        format!("has a corner that {fault}")
    } else {
        return Ok(());
    };
    Err(Error::usage(format!("the polygon {fault}"))
        .hint("give longitude and latitude of each corner in degrees"))
}

/// What is wrong with a longitude and a latitude; `None` for what is right. Longitudes are within
/// ±360, so that they may go on across the antimeridian.
fn fault_of_degrees([longitude, latitude]: [f64; 2]) -> Option<&'static str> {
    if !longitude.is_finite() || !latitude.is_finite() {
        Some("is not finite")
    } else if longitude.abs() > 360.0 {
        Some("has a longitude outside -360 to 360")
    } else if latitude.abs() > 90.0 {
        Some("has a latitude outside -90 to 90")
    } else {
        None
    }
}

/// Checks a box.
///
/// # Errors
/// [`crate::error::Kind::Usage`] unless it is finite, its longitudes within ±360, its latitudes
/// within ±90, and south ≤ north.
pub fn check_box([west, south, east, north]: [f64; 4]) -> Result<()> {
    let corners = [[west, south], [east, north]];
    let fault = if let Some(fault) = corners.into_iter().find_map(fault_of_degrees) {
        fault.to_owned()
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
            names(&columns, &DEFAULT_PLACE_COLUMNS).as_deref(),
            Some("istac:geometry")
        );
        assert_eq!(
            names(&columns[..2], &DEFAULT_PLACE_COLUMNS).as_deref(),
            Some("stac:centroid")
        );
        assert_eq!(
            names(&columns[..1], &DEFAULT_PLACE_COLUMNS).as_deref(),
            Some("istac:centroid")
        );
        assert_eq!(
            names(&columns, &DEFAULT_TIME_COLUMNS).as_deref(),
            Some("istac:time_start")
        );
        assert_eq!(
            names(&columns[..5], &DEFAULT_TIME_COLUMNS).as_deref(),
            Some("stac:time_start")
        );
        assert_eq!(
            names(&columns[..4], &DEFAULT_TIME_COLUMNS).as_deref(),
            Some("datetime")
        );
        assert_eq!(names(&[], &DEFAULT_TIME_COLUMNS), None);
    }

    /// Items of catalogues have a box where they have no geometry.
    #[test]
    fn boxes_of_rows_are_footprints() {
        let list = ArrowType::new_list(ArrowType::Float64, true);
        let columns = [
            FieldSpec::new("stac:bbox", list),
            FieldSpec::new("stac:centroid", ArrowType::Binary),
        ];
        let filter = Filter::bbox([0.0, 0.0, 1.0, 1.0]);
        let (names, only) = filter.footprint_columns(&columns).expect("has footprints");
        assert_eq!((names, only), (vec!["stac:bbox", "stac:centroid"], None));
        assert!(filter.finds_columns_in(&columns[..1]));
        assert!(filter.footprint_columns(&columns[1..]).is_none());
    }

    #[test]
    fn polygons_are_checked() {
        let ring = |x: f64, y: f64| check_polygon(&[[0.0, 0.0], [1.0, 0.0], [x, y]]);
        assert!(ring(190.0, 1.0).is_ok() && ring(1.0, -90.0).is_ok());
        for (x, y) in [(1.0, f64::NAN), (361.0, 0.0), (0.0, 91.0)] {
            assert!(ring(x, y).is_err(), "{x} {y}");
        }
        assert!(check_polygon(&[[0.0, 0.0], [1.0, 0.0]]).is_err());
        // Also where a box is given, which is the area's box then.
        let filter = Filter {
            bbox: Some([0.0, 0.0, 1.0, 1.0]),
            ..Filter::polygon(vec![[0.0, 0.0], [1.0, 0.0], [0.0, 91.0]])
        };
        assert!(filter.area().is_err());
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
