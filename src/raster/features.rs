//! Vector samples: coordinate system and extent of their layers, and their features in the pixels
//! of a raster.

use gdal::spatial_ref::SpatialRef;
use gdal::vector::{
    Geometry, Layer, LayerAccess, OGRwkbGeometryType, geometry_type_flatten, geometry_type_to_name,
};

use super::crs_code::crs_code;
use super::info::LAYERS_LISTED;
use super::places::{crossings, invert_geotransform};
use super::reproject::{CrsTransform, apply_geotransform};
use super::{RasterInfo, RasterSource, gdal_errors, pool};
use crate::error::{Error, Result};
use crate::jobs::JobContext;

/// Most features that are read of a file.
const FEATURES_MOST: usize = 20_000;
/// Most vertices of them: the window draws them in every frame.
const VERTICES_MOST: usize = 300_000;
/// Greatest column or row of a vertex.
const PIXEL_MOST: f64 = 1e9;
/// Most fields of a layer that are read.
const FIELDS_MOST: usize = 100;
/// Most characters of a value.
const TEXT_MOST: usize = 1000;
/// Pixels along the longer side of a plane that no raster gives.
const PLANE_SIDE: f64 = 1000.0;
/// Half of a turn in degrees.
const HALF_TURN: f64 = 180.0;
/// Part of the longer side that is left free around the features.
const MARGIN: f64 = 0.05;

/// Coordinate system and extent of a layer of shapes, or of all layers of a vector file.
#[derive(Clone, Debug, PartialEq)]
pub struct VectorPlace {
    /// The coordinate system as WKT: of a file, that of the first layer that names one. `None` when
    /// none is named.
    pub crs_wkt: Option<String>,
    /// Authority and code, for example `EPSG:32718`, when known.
    pub crs_code: Option<String>,
    /// Minimum x and y, maximum x and y in the coordinate system; `None` without features, as of a
    /// scene without labels.
    pub extent: Option<[f64; 4]>,
}

impl VectorPlace {
    /// The corners as those of rasters: top left, top right, bottom right, bottom left.
    pub fn corners(&self) -> Option<[[f64; 2]; 4]> {
        self.extent.map(|[left, bottom, right, top]| {
            [[left, top], [right, top], [right, bottom], [left, bottom]]
        })
    }

    /// The middle of the extent.
    pub fn centre(&self) -> Option<[f64; 2]> {
        self.extent
            .map(|[left, bottom, right, top]| [(left + right) / 2.0, (bottom + top) / 2.0])
    }
}

/// A plane of pixels in which features are placed: that of a raster, or one that holds the features
/// of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct PixelPlane {
    /// Columns and rows.
    pub size: [f64; 2],
    crs_wkt: Option<String>,
    /// From the coordinate system to pixels, in GDAL's order.
    to_pixels: [f64; 6],
}

impl PixelPlane {
    /// The pixels of a raster; `None` without a geotransform or coordinate system.
    pub fn of_raster(info: &RasterInfo) -> Option<Self> {
        let to_pixels = invert_geotransform(info.geotransform?)?;
        Some(Self {
            size: [info.width as f64, info.height as f64],
            crs_wkt: Some(info.crs_wkt.clone()?),
            to_pixels,
        })
    }

    /// A plane that holds the layers, north up, in the coordinate system of the first. `None`
    /// without features.
    pub fn of_layers(places: &[VectorPlace]) -> Option<Self> {
        let VectorPlace {
            crs_wkt, extent, ..
        } = place_of_layers(places)?;
        let [left, bottom, right, top] = extent?;
        // One point has no extent; its surroundings of one unit are shown.
        let side = (right - left).max(top - bottom);
        let side = if side > 0.0 { side } else { 1.0 };
        let free = side * MARGIN;
        let scale = PLANE_SIDE / (side + 2.0 * free);
        let size = [
            (right - left + 2.0 * free) * scale,
            (top - bottom + 2.0 * free) * scale,
        ];
        let to_pixels = [
            -(left - free) * scale,
            scale,
            0.0,
            (top + free) * scale,
            0.0,
            -scale,
        ];
        Some(Self {
            size,
            crs_wkt,
            to_pixels,
        })
    }

    /// True when one of the layers reaches into the plane.
    pub fn shows(&self, places: &[VectorPlace]) -> bool {
        places.iter().any(|place| {
            let (Ok(way), Some(extent)) = (self.way_from(place.crs_wkt.as_deref()), place.extent)
            else {
                return false;
            };
            let Some([left, top, right, bottom]) =
                bounds_of(way.pixels(&outline(extent)).into_iter().flatten())
            else {
                return false;
            };
            right >= 0.0 && bottom >= 0.0 && left <= self.size[0] && top <= self.size[1]
        })
    }

    /// # Errors
    /// As [`CrsTransform::between_systems`].
    fn way_from(&self, crs_wkt: Option<&str>) -> Result<Way> {
        let transform = match (crs_wkt, self.crs_wkt.as_deref()) {
            (Some(from), Some(to)) if from != to => {
                Some(CrsTransform::between_systems(from, to, true)?)
            }
            // Coordinates without a system are taken as those of the plane.
            _ => None,
        };
        Ok(Way {
            transform,
            to_pixels: self.to_pixels,
        })
    }
}

/// From the coordinates of a layer to pixels.
struct Way {
    transform: Option<CrsTransform>,
    to_pixels: [f64; 6],
}

impl Way {
    fn pixels(&self, points: &[[f64; 2]]) -> Vec<Option<[f64; 2]>> {
        let in_plane = match &self.transform {
            Some(transform) => transform.points(points),
            None => points
                .iter()
                .map(|point| {
                    point
                        .iter()
                        .all(|number| number.is_finite())
                        .then_some(*point)
                })
                .collect(),
        };
        in_plane
            .into_iter()
            .map(|point| self.find_pixel(point?))
            .collect()
    }

    fn find_pixel(&self, [x, y]: [f64; 2]) -> Option<[f64; 2]> {
        let pixel = apply_geotransform(self.to_pixels, x, y);
        pixel
            .iter()
            .all(|number| number.abs() <= PIXEL_MOST)
            .then_some(pixel)
    }
}

/// The features of a vector file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FeatureSet {
    /// The layers, in the order of the file.
    pub layers: Vec<FeatureLayer>,
    /// True when the file has more features or vertices than were read: 20,000 and 300,000.
    pub is_cut: bool,
}

/// The features of a layer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FeatureLayer {
    pub name: String,
    /// Type of the shapes as GDAL names it, for example `Polygon`; empty for a layer that states
    /// none.
    pub geometry: String,
    /// Code or name of the coordinate system; empty when the layer names none.
    pub crs: String,
    /// Names of the fields, at most 100.
    pub fields: Vec<String>,
    /// The features that were read.
    pub features: Vec<Feature>,
}

/// A feature: its shape in pixels and the values of the fields as texts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Feature {
    pub shape: PixelShape,
    /// The value of each field, shortened to 1000 characters; `None` for null.
    pub values: Vec<Option<String>>,
}

/// A shape in pixels: column to the right, row downwards.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PixelShape {
    /// Rings of areas; those of holes too, by the even-odd rule.
    pub rings: Vec<Vec<[f64; 2]>>,
    pub lines: Vec<Vec<[f64; 2]>>,
    pub points: Vec<[f64; 2]>,
    /// Minimum x and y, maximum x and y; `None` for an empty shape.
    pub bounds: Option<[f64; 4]>,
}

impl PixelShape {
    /// True when a pixel position is inside the areas, or within `reach` pixels of a line or point.
    pub fn is_at(&self, [x, y]: [f64; 2], reach: f64) -> bool {
        if !self
            .bounds
            .is_some_and(|bounds| is_within_reach(bounds, [x, y], reach))
        {
            return false;
        }
        let crossed = crossings(&self.rings, y)
            .into_iter()
            .filter(|column| *column > x)
            .count();
        crossed % 2 == 1
            || self.lines.iter().any(|line| {
                line.windows(2)
                    .any(|ends| distance_to_segment([x, y], [ends[0], ends[1]]) <= reach)
            })
            || self
                .points
                .iter()
                .any(|point| (point[0] - x).hypot(point[1] - y) <= reach)
    }
}

fn is_within_reach([left, top, right, bottom]: [f64; 4], [x, y]: [f64; 2], reach: f64) -> bool {
    (left - reach..=right + reach).contains(&x) && (top - reach..=bottom + reach).contains(&y)
}

fn distance_to_segment([x, y]: [f64; 2], [from, to]: [[f64; 2]; 2]) -> f64 {
    let along = [to[0] - from[0], to[1] - from[1]];
    let length = along[0] * along[0] + along[1] * along[1];
    let part = ((x - from[0]) * along[0] + (y - from[1]) * along[1]) / length;
    // A segment of no length is a point.
    let part = if part.is_finite() {
        part.clamp(0.0, 1.0)
    } else {
        0.0
    };
    (x - from[0] - part * along[0]).hypot(y - from[1] - part * along[1])
}

/// Coordinate system and extent of each layer of shapes of a vector file, at most 256; tables are
/// left out.
///
/// # Errors
/// Those of opening the file.
pub fn layer_places(source: &RasterSource) -> Result<Vec<VectorPlace>> {
    let lease = pool::lease(source)?;
    Ok(lease
        .dataset
        .layers()
        .take(LAYERS_LISTED)
        .filter_map(|mut layer| place_of_layer(&mut layer))
        .collect())
}

/// Coordinate system and extent of a vector file.
///
/// # Errors
/// [`Kind::Unsupported`](crate::error::Kind::Unsupported) when no layer has shapes; those of
/// opening the file.
pub fn vector_place(source: &RasterSource) -> Result<VectorPlace> {
    let places = layer_places(source)?;
    place_of_layers(&places)
        .ok_or_else(|| Error::unsupported("this file has no bands, and its layers have no shapes"))
}

fn place_of_layer(layer: &mut Layer<'_>) -> Option<VectorPlace> {
    layer.defn().geom_fields().next()?;
    let (bounds, _said) = gdal_errors::listen(|| layer.get_extent().ok());
    let extent = bounds.map(|bounds| [bounds.MinX, bounds.MinY, bounds.MaxX, bounds.MaxY]);
    let extent = extent.filter(|extent| extent.iter().all(|number| number.is_finite()));
    let srs = layer.spatial_ref();
    let is_geographic = srs.as_ref().is_some_and(SpatialRef::is_geographic);
    let extent = extent.map(|extent| {
        if is_geographic && extent[2] - extent[0] > HALF_TURN {
            across_antimeridian(layer, extent).unwrap_or(extent)
        } else {
            extent
        }
    });
    Some(VectorPlace {
        crs_wkt: srs.as_ref().and_then(wkt_of),
        crs_code: srs.as_ref().and_then(crs_code),
        extent,
    })
}

/// The definition of a coordinate system; `None` for an empty one.
fn wkt_of(srs: &SpatialRef) -> Option<String> {
    srs.to_wkt().ok().filter(|wkt| !wkt.is_empty())
}

/// The extent of a layer of degrees whose features are on both sides of the antimeridian: its
/// longitudes run beyond 180. `None` when the features are around the globe, or too many to look
/// at.
fn across_antimeridian(layer: &mut Layer<'_>, extent: [f64; 4]) -> Option<[f64; 4]> {
    let mut ranges = Vec::new();
    for (count, feature) in layer.features().enumerate() {
        if count >= FEATURES_MOST {
            return None;
        }
        feature
            .geometry()
            .into_iter()
            .for_each(|geometry| add_longitudes(&mut ranges, geometry));
    }
    ranges.sort_by(|one: &[f64; 2], other| one[0].total_cmp(&other[0]));
    // The widest gap between the features is what they leave out.
    let mut reached = *ranges.first()?;
    let mut gap = [0.0; 2];
    for &[west, east] in &ranges {
        if west - reached[1] > gap[1] - gap[0] {
            gap = [reached[1], west];
        }
        reached[1] = reached[1].max(east);
    }
    let [end, begin] = gap;
    (begin - end >= HALF_TURN).then_some([begin, extent[1], end + 2.0 * HALF_TURN, extent[3]])
}

/// Adds the longitudes of each part of a geometry, west and east.
fn add_longitudes(ranges: &mut Vec<[f64; 2]>, geometry: &Geometry) {
    let kind = geometry_type_flatten(geometry.geometry_type());
    if geometry.geometry_count() > 0 && kind != OGRwkbGeometryType::wkbPolygon {
        (0..geometry.geometry_count())
            .for_each(|index| add_longitudes(ranges, &geometry.get_geometry(index)));
    } else if !geometry.is_empty() {
        let bounds = geometry.envelope();
        ranges.extend(
            Some([bounds.MinX, bounds.MaxX])
                .filter(|range| range.iter().all(|number| number.is_finite())),
        );
    }
}

/// The extent of all layers, in the coordinate system of the first that names one. A layer that
/// can't be transformed to it is left out.
fn place_of_layers(places: &[VectorPlace]) -> Option<VectorPlace> {
    let first = places
        .iter()
        .find(|place| place.crs_wkt.is_some())
        .or(places.first())?;
    let extents: Vec<[f64; 4]> = places
        .iter()
        .filter_map(|place| transform_extent(place, first.crs_wkt.as_deref()))
        .collect();
    let extent = bounds_of(
        extents
            .into_iter()
            .flat_map(|[left, bottom, right, top]| [[left, bottom], [right, top]]),
    );
    Some(VectorPlace {
        crs_wkt: first.crs_wkt.clone(),
        crs_code: first.crs_code.clone(),
        extent,
    })
}

fn transform_extent(place: &VectorPlace, crs_wkt: Option<&str>) -> Option<[f64; 4]> {
    match (place.crs_wkt.as_deref(), crs_wkt) {
        (Some(from), Some(to)) if from != to => {
            let way = CrsTransform::between_systems(from, to, true).ok()?;
            bounds_of(way.points(&outline(place.extent?)).into_iter().flatten())
        }
        _ => place.extent,
    }
}

/// Points on the edge of an extent: a transformation bends its sides.
fn outline([left, bottom, right, top]: [f64; 4]) -> Vec<[f64; 2]> {
    /// Points along each side.
    const STEPS: u32 = 8;
    let part = |step: u32| f64::from(step) / f64::from(STEPS);
    (0..=STEPS)
        .flat_map(|step| {
            let (x, y) = (
                left + (right - left) * part(step),
                bottom + (top - bottom) * part(step),
            );
            [[x, bottom], [x, top], [left, y], [right, y]]
        })
        .collect()
}

/// Minimum x and y, maximum x and y; `None` of no points.
fn bounds_of(points: impl Iterator<Item = [f64; 2]>) -> Option<[f64; 4]> {
    points.fold(None, |bounds, [x, y]| match bounds {
        None => Some([x, y, x, y]),
        Some([left, top, right, bottom]) => {
            Some([x.min(left), y.min(top), x.max(right), y.max(bottom)])
        }
    })
}

/// The features of a vector file, placed in the pixels of `plane`. A feature that can't be placed
/// there has an empty shape, and so have those of a layer whose coordinate system does not lead to
/// it.
///
/// # Errors
/// Those of opening the file, and cancellation.
pub fn read_features(
    source: &RasterSource,
    plane: &PixelPlane,
    ctx: &JobContext,
) -> Result<FeatureSet> {
    let lease = pool::lease(source)?;
    let mut found = FeatureSet::default();
    let (mut features_left, mut vertices_left) = (FEATURES_MOST, VERTICES_MOST);
    for mut layer in lease.dataset.layers().take(LAYERS_LISTED) {
        let srs = layer.spatial_ref();
        let way = plane
            .way_from(srs.as_ref().and_then(wkt_of).as_deref())
            .ok();
        let mut read = FeatureLayer {
            name: layer.name(),
            geometry: layer
                .defn()
                .geom_fields()
                .next()
                .map_or_else(String::new, |field| type_name(field.field_type())),
            crs: srs
                .as_ref()
                .and_then(|srs| crs_code(srs).or_else(|| srs.name()))
                .unwrap_or_default(),
            fields: layer
                .defn()
                .fields()
                .take(FIELDS_MOST)
                .map(|field| field.name())
                .collect(),
            features: Vec::new(),
        };
        let fields = read.fields.len();
        for feature in layer.features() {
            ctx.check()?;
            if features_left == 0 || found.is_cut {
                found.is_cut = true;
                break;
            }
            features_left -= 1;
            let mut shape = PixelShape::default();
            if let Some((geometry, way)) = feature.geometry().zip(way.as_ref()) {
                found.is_cut = !add_parts(&mut shape, geometry, way, &mut vertices_left);
            }
            let points = shape
                .rings
                .iter()
                .chain(&shape.lines)
                .flatten()
                .chain(&shape.points);
            shape.bounds = bounds_of(points.copied());
            let value = |field| feature.field_as_string(field).ok().flatten();
            let values = (0..fields)
                .map(|field| value(field).map(|text| text.chars().take(TEXT_MOST).collect()));
            read.features.push(Feature {
                shape,
                values: values.collect(),
            });
        }
        found.layers.push(read);
    }
    Ok(found)
}

/// GDAL's name of a type of shapes; empty for shapes of any type.
fn type_name(kind: OGRwkbGeometryType::Type) -> String {
    if kind == OGRwkbGeometryType::wkbUnknown {
        String::new()
    } else {
        geometry_type_to_name(kind)
    }
}

/// Adds the parts of a geometry; a part with a vertex that can't be placed is left out. Curves are
/// lines through their vertices. False when vertices are left out because there are too many.
fn add_parts(
    shape: &mut PixelShape,
    geometry: &Geometry,
    way: &Way,
    vertices_left: &mut usize,
) -> bool {
    let kind = geometry_type_flatten(geometry.geometry_type());
    let is_area = matches!(
        kind,
        OGRwkbGeometryType::wkbPolygon | OGRwkbGeometryType::wkbTriangle
    );
    if geometry.geometry_count() > 0 && !is_area {
        return (0..geometry.geometry_count())
            .all(|index| add_parts(shape, &geometry.get_geometry(index), way, vertices_left));
    }
    if is_area {
        for index in 0..geometry.geometry_count() {
            match read_vertices(&geometry.get_geometry(index), way, vertices_left) {
                Some(ring) if ring.is_empty() => {}
                Some(ring) => shape.rings.push(ring),
                None => return false,
            }
        }
        return true;
    }
    let Some(vertices) = read_vertices(geometry, way, vertices_left) else {
        return false;
    };
    if kind == OGRwkbGeometryType::wkbPoint {
        shape.points.extend(vertices);
    } else if !vertices.is_empty() {
        shape.lines.push(vertices);
    }
    true
}

/// The vertices of a part in pixels; none of a part with one that can't be placed. `None` when
/// there are more than `vertices_left`.
fn read_vertices(
    geometry: &Geometry,
    way: &Way,
    vertices_left: &mut usize,
) -> Option<Vec<[f64; 2]>> {
    let mut points = Vec::new();
    geometry.get_points(&mut points);
    *vertices_left = vertices_left.checked_sub(points.len())?;
    let points: Vec<[f64; 2]> = points.into_iter().map(|(x, y, _)| [x, y]).collect();
    let placed: Option<Vec<[f64; 2]>> = way.pixels(&points).into_iter().collect();
    Some(placed.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::AssetPath;

    const PLACES: &str = r#"{"type":"FeatureCollection","features":[
        {"type":"Feature","properties":{"class":"house","height":7.5},"geometry":
            {"type":"Polygon","coordinates":[[[-8.99,36.99],[-8.97,36.99],[-8.97,36.97],
        [-8.99,36.97],[-8.99,36.99]],
                                             [[-8.985,36.985],[-8.975,36.985],[-8.975,36.975],
        [-8.985,36.975],[-8.985,36.985]]]}},
        {"type":"Feature","properties":{"class":"road","height":null},"geometry":
            {"type":"LineString","coordinates":[[-8.99,36.95],[-8.95,36.95]]}},
        {"type":"Feature","properties":{"class":"wells"},"geometry":
            {"type":"GeometryCollection","geometries":[{"type":"MultiPoint",
        "coordinates":[[-8.96,36.99],[-8.95,36.98]]}]}},
        {"type":"Feature","properties":{"class":"nowhere"},"geometry":null}]}"#;

    fn source(folder: &std::path::Path, name: &str, text: &str) -> RasterSource {
        let path = folder.join(name);
        std::fs::write(&path, text).expect("written");
        RasterSource::member(AssetPath::file(path))
    }

    /// A raster of 100 × 50 pixels of 0.001° from 9° west, 37° north.
    fn raster() -> RasterInfo {
        let wkt = crate::raster::crs_text::spatial_ref_of("EPSG:4326")
            .expect("known")
            .to_wkt()
            .expect("WKT");
        RasterInfo {
            width: 100,
            height: 50,
            band_count: 1,
            geotransform: Some([-9.0, 0.001, 0.0, 37.0, 0.0, -0.001]),
            crs_wkt: Some(wkt),
            ..RasterInfo::default()
        }
    }

    #[test]
    fn features_are_placed_in_the_pixels_of_a_raster() {
        let folder = tempfile::tempdir().expect("a folder");
        let source = source(folder.path(), "a.geojson", PLACES);
        let plane = PixelPlane::of_raster(&raster()).expect("a plane");
        assert!(plane.shows(&layer_places(&source).expect("places")));
        let found = read_features(&source, &plane, &JobContext::default()).expect("features");
        let [layer] = found.layers.as_slice() else {
            panic!("{found:?}")
        };
        assert_eq!(
            (layer.crs.as_str(), layer.fields.as_slice()),
            (
                "EPSG:4326",
                ["class", "height"].map(str::to_owned).as_slice()
            )
        );
        assert_eq!(
            layer.features[0].values,
            [Some("house".to_owned()), Some("7.5".to_owned())]
        );
        assert_eq!(layer.features[1].values, [Some("road".to_owned()), None]);
        let house = &layer.features[0].shape;
        let [left, top, right, bottom] = house
            .bounds
            .expect("bounds")
            .map(|number| (number * 1e6).round() / 1e6);
        assert_eq!([left, top, right, bottom], [10.0, 10.0, 30.0, 30.0]);
        // In the wall, in the hole, outside.
        assert_eq!(
            [[12.0, 20.0], [20.0, 20.0], [40.0, 20.0]].map(|at| house.is_at(at, 1.0)),
            [true, false, false]
        );
        let road = &layer.features[1].shape;
        assert_eq!(
            [[30.0, 50.5], [30.0, 53.0], [60.0, 50.0]].map(|at| road.is_at(at, 1.0)),
            [true, false, false]
        );
        assert!(
            layer.features[2].shape.points.len() == 2
                && layer.features[2].shape.is_at([40.2, 10.0], 1.0)
        );
        assert_eq!(layer.features[3].shape, PixelShape::default());
        assert!(!found.is_cut);
    }

    #[test]
    fn the_place_of_a_file_is_the_extent_of_its_layers() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = vector_place(&source(folder.path(), "a.geojson", PLACES)).expect("a place");
        assert_eq!(
            (place.crs_code.as_deref(), place.extent),
            (Some("EPSG:4326"), Some([-8.99, 36.95, -8.95, 36.99]))
        );
        assert_eq!(
            place.corners().map(|corners| corners[0]),
            Some([-8.99, 36.99])
        );
        let empty = source(
            folder.path(),
            "b.geojson",
            r#"{"type":"FeatureCollection","features":[]}"#,
        );
        let place = vector_place(&empty).expect("a place");
        assert_eq!(
            (place.crs_code.as_deref(), place.extent),
            (Some("EPSG:4326"), None),
            "a scene without labels"
        );
        let table = source(folder.path(), "c.csv", "id,name\n1,x\n");
        assert!(
            vector_place(&table)
                .expect_err("a table")
                .report()
                .contains("no shapes")
        );
    }

    #[test]
    fn a_shape_of_too_many_vertices_is_left_out_and_said() {
        let folder = tempfile::tempdir().expect("a folder");
        let places: Vec<String> = (0..=VERTICES_MOST)
            .map(|at| format!("[{},36.99]", -9.0 + at as f64 * 1e-7))
            .collect();
        let text = format!(
            r#"{{"type":"LineString","coordinates":[{}]}}"#,
            places.join(",")
        );
        let source = source(folder.path(), "long.geojson", &text);
        let plane = PixelPlane::of_raster(&raster()).expect("a plane");
        let found = read_features(&source, &plane, &JobContext::default()).expect("features");
        assert!(found.is_cut && found.layers[0].features[0].shape == PixelShape::default());
    }

    #[test]
    fn layers_of_another_body_have_no_shapes_in_the_pixels() {
        let folder = tempfile::tempdir().expect("a folder");
        let source = source(folder.path(), "a.geojson", PLACES);
        let mars = crate::raster::crs_text::spatial_ref_of("+proj=longlat +R=3396190 +no_defs")
            .expect("known")
            .to_wkt();
        let plane = PixelPlane::of_raster(&RasterInfo {
            crs_wkt: mars.ok(),
            ..raster()
        })
        .expect("a plane");
        let found =
            read_features(&source, &plane, &JobContext::default()).expect("the values are read");
        assert_eq!(
            found.layers[0].features[0].values[0].as_deref(),
            Some("house")
        );
    }

    #[test]
    fn features_on_both_sides_of_the_antimeridian_have_a_small_extent() {
        let folder = tempfile::tempdir().expect("a folder");
        let extent = |name: &str, west: f64, east: f64| {
            let square = |from: f64| {
                format!(
                    "[[[{from},10],[{},10],[{},11],[{from},10]]]",
                    from + 1.0,
                    from + 1.0
                )
            };
            let text = format!(
                r#"{{"type":"MultiPolygon","coordinates":[{},{}]}}"#,
                square(west),
                square(east)
            );
            vector_place(&source(folder.path(), name, &text))
                .expect("a place")
                .extent
        };
        assert_eq!(
            extent("a.geojson", 179.0, -180.0),
            Some([179.0, 10.0, 181.0, 11.0])
        );
        assert_eq!(
            extent("b.geojson", -100.0, 90.0),
            Some([90.0, 10.0, 261.0, 11.0])
        );
        assert_eq!(
            extent("c.geojson", -100.0, 60.0),
            Some([-100.0, 10.0, 61.0, 11.0]),
            "less than half of a turn apart"
        );
    }

    #[test]
    fn a_file_without_a_raster_has_a_plane_of_its_own() {
        let folder = tempfile::tempdir().expect("a folder");
        let source = source(folder.path(), "a.geojson", PLACES);
        let plane =
            PixelPlane::of_layers(&layer_places(&source).expect("places")).expect("a plane");
        let found = read_features(&source, &plane, &JobContext::default()).expect("features");
        let shapes = found.layers[0]
            .features
            .iter()
            .filter_map(|feature| feature.shape.bounds);
        for [left, top, right, bottom] in shapes {
            assert!(left >= 0.0 && top >= 0.0 && right <= plane.size[0] && bottom <= plane.size[1]);
        }
        // One point, and none.
        let point = VectorPlace {
            crs_wkt: None,
            crs_code: None,
            extent: Some([5.0, 6.0, 5.0, 6.0]),
        };
        let plane = PixelPlane::of_layers(std::slice::from_ref(&point)).expect("a plane");
        assert!(plane.size.iter().all(|side| *side > 0.0) && plane.shows(&[point]));
        assert_eq!(PixelPlane::of_layers(&[]), None);
    }

    #[test]
    fn a_raster_elsewhere_does_not_show_the_features() {
        let folder = tempfile::tempdir().expect("a folder");
        let places = layer_places(&source(folder.path(), "a.geojson", PLACES)).expect("places");
        let elsewhere = RasterInfo {
            geotransform: Some([20.0, 0.001, 0.0, 37.0, 0.0, -0.001]),
            ..raster()
        };
        assert!(
            !PixelPlane::of_raster(&elsewhere)
                .expect("a plane")
                .shows(&places)
        );
        // Coordinates that no pixel has.
        let far = r#"{"type":"LineString","coordinates":[[0,0],[1e300,1e300]]}"#;
        let far = source(folder.path(), "far.geojson", far);
        let found = read_features(
            &far,
            &PixelPlane::of_raster(&raster()).expect("a plane"),
            &JobContext::default(),
        );
        assert_eq!(
            found.expect("features").layers[0].features[0].shape,
            PixelShape::default()
        );
        assert_eq!(
            PixelPlane::of_raster(&RasterInfo {
                crs_wkt: None,
                ..raster()
            }),
            None
        );
    }
}
