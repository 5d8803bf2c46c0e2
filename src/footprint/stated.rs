//! Location columns of a row, in their own coordinate system and in the forms of every generation.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, StructArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Float64Type};
use geo::{Geometry, LineString, Polygon};

use super::columns::{COLUMNS, GridRoles, PlaceRoles, TransformOrder};
use super::{PlaceSource, box_polygon};
use crate::model::Value;
use crate::raster::apply_geotransform;
use crate::table::{parse_wkb, value_at, wkb_point};

/// The system of geometries that name none.
const DEGREES: &str = "OGC:CRS84";

/// Stated location of a row.
#[derive(Clone, Debug, Default)]
pub struct StatedLocation {
    drawn: Option<(Arc<str>, Geometry<f64>)>,
    grid: Option<RasterGrid>,
    /// Longitude and latitude in degrees.
    pub centroid: Option<[f64; 2]>,
}

/// A raster's grid.
#[derive(Clone, Debug)]
struct RasterGrid {
    crs: Arc<str>,
    /// GDAL's geotransform.
    transform: [f64; 6],
    columns: f64,
    rows: f64,
}

/// A raster's grid as STAC's projection extension states it.
#[derive(Clone, Debug, PartialEq)]
pub struct PixelGrid {
    /// The coordinate system.
    pub crs: Arc<str>,
    /// Rows and columns.
    pub shape: [i64; 2],
    /// Affine transform in the order of rasterio: x = a·column + b·row + c, y = d·column + e·row +
    /// f.
    pub transform: [f64; 6],
}

impl StatedLocation {
    fn of_roles<C: Copy>(roles: &PlaceRoles<C>, value: &dyn Fn(C) -> Value) -> Self {
        let drawn = roles
            .geometries
            .iter()
            .find_map(|(column, crs)| read_stated_geometry(*column, *crs, value));
        Self {
            drawn: drawn.or_else(|| {
                roles
                    .boxes
                    .iter()
                    .find_map(|column| read_stated_box(&value(*column)))
            }),
            grid: roles
                .grids
                .iter()
                .find_map(|grid| RasterGrid::from_roles(grid, value)),
            centroid: roles
                .centroids
                .iter()
                .find_map(|column| point(&value(*column))),
        }
    }

    /// A geometry in a coordinate system.
    pub fn from_geometry(crs: &str, geometry: Geometry<f64>) -> Self {
        Self {
            drawn: Some((crs.into(), geometry)),
            ..Self::default()
        }
    }

    /// A geometry as WKB, or a point as text, in degrees.
    pub fn degrees(value: &Value) -> Self {
        let geometry = match value {
            Value::Bytes(wkb) => parse_wkb(wkb),
            Value::Text(text) => {
                wkb_point(text.trim().as_bytes()).map(|point| Geometry::Point(point.into()))
            }
            _ => None,
        };
        geometry.map_or_else(Self::default, |geometry| {
            Self::from_geometry(DEGREES, geometry)
        })
    }

    /// Longitude and latitude in degrees.
    pub fn point(place: [f64; 2]) -> Self {
        Self {
            centroid: Some(place),
            ..Self::default()
        }
    }

    /// True when the row says nothing.
    pub fn is_empty(&self) -> bool {
        self.drawn.is_none() && self.grid.is_none() && self.centroid.is_none()
    }

    /// True when the row states a geometry or a box.
    pub fn has_geometry(&self) -> bool {
        self.drawn.is_some()
    }

    /// The grid of the row's raster.
    pub fn grid_in_pixels(&self) -> Option<PixelGrid> {
        let RasterGrid {
            crs,
            transform: [x, a, b, y, d, e],
            columns,
            rows,
        } = self.grid.as_ref()?;
        Some(PixelGrid {
            crs: crs.clone(),
            shape: [*rows as i64, *columns as i64],
            transform: [*a, *b, *x, *d, *e, *y],
        })
    }

    /// Only what `source` says.
    pub fn restrict_to_source(mut self, source: PlaceSource) -> Self {
        if source != PlaceSource::Geometry {
            self.drawn = None;
        }
        if source != PlaceSource::Grid {
            self.grid = None;
        }
        if source != PlaceSource::Centroid {
            self.centroid = None;
        }
        self
    }

    /// The coordinate system of a source.
    pub fn crs_of(&self, source: PlaceSource) -> Option<&Arc<str>> {
        match source {
            PlaceSource::Geometry => self.drawn.as_ref().map(|(crs, _)| crs),
            PlaceSource::Grid => self.grid.as_ref().map(|grid| &grid.crs),
            PlaceSource::Centroid => None,
        }
    }

    /// The shape of a source in its coordinate system.
    pub(super) fn shape_of(&self, source: PlaceSource) -> Option<Geometry<f64>> {
        match source {
            PlaceSource::Geometry => self.drawn.as_ref().map(|(_, geometry)| geometry.clone()),
            PlaceSource::Grid => self.grid.as_ref().map(RasterGrid::outline),
            PlaceSource::Centroid => None,
        }
    }
}

/// Reads stated locations from rows whose columns are asked for by name. Make one for many rows.
pub struct StatedLocationReader {
    roles: PlaceRoles<&'static str>,
}

impl Default for StatedLocationReader {
    fn default() -> Self {
        Self {
            roles: PlaceRoles::from_lookup(Some),
        }
    }
}

impl StatedLocationReader {
    /// Reads [`COLUMNS`] through `value`, which returns null for missing columns.
    pub fn read(&self, value: &dyn Fn(&str) -> Value) -> StatedLocation {
        StatedLocation::of_roles(&self.roles, &|name| value(name))
    }
}

fn read_stated_geometry<C: Copy>(
    column: C,
    crs: Option<C>,
    value: &dyn Fn(C) -> Value,
) -> Option<(Arc<str>, Geometry<f64>)> {
    let geometry = match value(column) {
        Value::Bytes(wkb) => parse_wkb(&wkb)?,
        // Points as text, as the first generation writes them.
        Value::Text(text) => Geometry::Point(wkb_point(text.as_bytes())?.into()),
        _ => return None,
    };
    match crs.and_then(|crs| crs_of(value(crs))) {
        Some(crs) => Some((crs, geometry)),
        None => Some((DEGREES.into(), with_poles_divided(geometry))),
    }
}

fn read_stated_box(value: &Value) -> Option<(Arc<str>, Geometry<f64>)> {
    let [west, south, east, north] = numbers(value)?.try_into().ok()?;
    let is_sound = south <= north
        && [west, south, east, north]
            .iter()
            .all(|number: &f64| number.is_finite());
    is_sound.then(|| (DEGREES.into(), box_polygon([west, south, east, north])))
}

impl RasterGrid {
    fn from_roles<C: Copy>(roles: &GridRoles<C>, value: &dyn Fn(C) -> Value) -> Option<Self> {
        let transform: [f64; 6] = numbers(&value(roles.transform))?.try_into().ok()?;
        let shape = roles
            .shapes
            .iter()
            .find_map(|shape| numbers(&value(*shape)))?;
        // The last two numbers of a shape are rows and columns; other numbers may come before them.
        let [.., rows, columns] = shape.as_slice() else {
            return None;
        };
        let is_sound =
            transform.iter().all(|number| number.is_finite()) && *rows > 0.0 && *columns > 0.0;
        let transform = match (roles.order, transform) {
            (TransformOrder::Gdal, transform) => transform,
            (TransformOrder::Rasterio, [a, b, c, d, e, f]) => [c, a, b, f, d, e],
        };
        Some(Self {
            crs: crs_of(value(roles.crs))?,
            transform,
            columns: *columns,
            rows: *rows,
        })
        .filter(|_| is_sound)
    }

    fn outline(&self) -> Geometry<f64> {
        let (width, height) = (self.columns, self.rows);
        let ring = [(0.0, 0.0), (0.0, height), (width, height), (width, 0.0)]
            .map(|(column, row)| apply_geotransform(self.transform, column, row));
        Geometry::Polygon(Polygon::new(LineString::from(ring.to_vec()), Vec::new()))
    }
}

/// A geometry in degrees whose edges along a pole are divided: a long edge does not say in which
/// direction it goes.
fn with_poles_divided(geometry: Geometry<f64>) -> Geometry<f64> {
    match geometry {
        Geometry::Polygon(one) => Geometry::Polygon(divide_polygon_edges(&one)),
        Geometry::MultiPolygon(several) => {
            Geometry::MultiPolygon(several.iter().map(divide_polygon_edges).collect())
        }
        other => other,
    }
}

fn divide_polar_edges(line: &LineString<f64>) -> LineString<f64> {
    let mut points = Vec::with_capacity(line.0.len());
    for edge in line.lines() {
        let along = edge.end.x - edge.start.x;
        let is_at_pole = edge.start.y.abs() >= 90.0 && edge.start.y == edge.end.y;
        let parts = if is_at_pole {
            (along.abs() / 90.0).ceil().clamp(1.0, 8.0) as usize
        } else {
            1
        };
        for part in 0..parts {
            let share = part as f64 / parts as f64;
            points.push(geo::coord! { x: edge.start.x + along * share, y: edge.start.y });
        }
    }
    points.extend(line.0.last());
    LineString(points)
}

fn divide_polygon_edges(area: &Polygon<f64>) -> Polygon<f64> {
    Polygon::new(
        divide_polar_edges(area.exterior()),
        area.interiors().iter().map(divide_polar_edges).collect(),
    )
}

/// A coordinate system: text, or the number of an EPSG code.
fn crs_of(value: Value) -> Option<Arc<str>> {
    match value {
        Value::Text(text) if text.trim().is_empty() => None,
        Value::Text(text) => Some(text),
        Value::Int(code) if code > 0 => Some(format!("EPSG:{code}").into()),
        _ => None,
    }
}

/// A point in degrees, as WKB, text, or a structure of `lon` and `lat`.
fn point(value: &Value) -> Option<[f64; 2]> {
    let (lon, lat) = match value {
        Value::Bytes(bytes) => wkb_point(bytes)?,
        Value::Text(text) => wkb_point(text.trim().as_bytes())?,
        Value::Other(array) => {
            let fields = array.as_struct_opt()?;
            (
                read_coordinate(fields, "lon")?,
                read_coordinate(fields, "lat")?,
            )
        }
        _ => return None,
    };
    (lon.abs() <= 360.0 && lat.abs() <= 90.0).then_some([lon, lat])
}

fn read_coordinate(fields: &StructArray, name: &str) -> Option<f64> {
    let column = cast(fields.column_by_name(name)?, &DataType::Float64).ok()?;
    let column = column.as_primitive_opt::<Float64Type>()?;
    (!column.is_empty() && column.is_valid(0)).then(|| column.value(0))
}

fn numbers(value: &Value) -> Option<Vec<f64>> {
    let Value::List(items) = value else {
        return None;
    };
    items.iter().map(Value::to_float).collect()
}

/// The columns of a level that say where its rows are.
pub struct PlaceColumns {
    roles: PlaceRoles<usize>,
    columns: Vec<ArrayRef>,
    /// Texts of coordinate systems, each once: there are as many rows as samples, and few systems.
    systems: Mutex<HashMap<Arc<str>, Arc<str>>>,
}

impl PlaceColumns {
    /// The columns of a table.
    pub fn from_batch(batch: &RecordBatch) -> Self {
        Self::from_arrays(|name| batch.column_by_name(name).cloned())
    }

    /// The columns that `array` returns.
    pub fn from_arrays(array: impl Fn(&str) -> Option<ArrayRef>) -> Self {
        let (names, columns): (Vec<&str>, Vec<ArrayRef>) = COLUMNS
            .iter()
            .filter_map(|name| Some((*name, normalize_array(array(name)?))))
            .unzip();
        let roles = PlaceRoles::from_lookup(|name| names.iter().position(|known| *known == name));
        Self {
            roles,
            columns,
            systems: Mutex::default(),
        }
    }

    /// The stated location of a row.
    pub fn stated_location(&self, row: usize) -> StatedLocation {
        let mut stated =
            StatedLocation::of_roles(&self.roles, &|column| value_at(&self.columns[column], row));
        let mut systems = self.systems.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((crs, _)) = &mut stated.drawn {
            share_system(&mut systems, crs);
        }
        if let Some(grid) = &mut stated.grid {
            share_system(&mut systems, &mut grid.crs);
        }
        stated
    }
}

fn share_system(systems: &mut HashMap<Arc<str>, Arc<str>>, crs: &mut Arc<str>) {
    match systems.get(&*crs) {
        Some(known) => *crs = known.clone(),
        None => drop(systems.insert(crs.clone(), crs.clone())),
    }
}

/// Lists of every kind as lists of numbers, views and dictionaries as plain text and bytes.
fn normalize_array(array: ArrayRef) -> ArrayRef {
    let list = || DataType::List(Arc::new(Field::new("item", DataType::Float64, true)));
    let wanted = match array.data_type() {
        DataType::List(_)
        | DataType::LargeList(_)
        | DataType::FixedSizeList(..)
        | DataType::ListView(_) => list(),
        DataType::BinaryView => DataType::Binary,
        DataType::Dictionary(_, values) => values.as_ref().clone(),
        _ => return array,
    };
    cast(&array, &wanted).unwrap_or(array)
}
