//! Samples rasters, or polygon attributes, at points. Points are longitude and latitude in degrees (EPSG:4326), transformed to the
//! coordinate system of each file.

use gdal::spatial_ref::{AxisMappingStrategy, CoordTransform, SpatialRef};
use gdal::vector::LayerAccess;

use super::pixels::read;
use super::{BandIndex, RasterInfo, RasterSource, ReadRequest, Resampling, Window, gdal_errors, pool};
use crate::error::{Error, Result};
use crate::jobs::JobContext;

/// Maximum columns and rows read for one mean; larger windows are averaged by GDAL while reading.
const MEAN_SIDE: usize = 256;

/// What to read at a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sampling {
    /// The pixel that contains the point.
    Nearest,
    /// The mean of the pixels whose centres are inside the square of half-width `radius_m` around the point, at least the pixel
    /// that contains it.
    Mean {
        /// Metres.
        radius_m: f64,
    },
}

/// The value at each point of `places`. `None` for a point outside of the raster, on nodata, without coordinates, or that can't be
/// transformed to the raster's coordinate system.
///
/// # Errors
/// [`Kind::Usage`](crate::error::Kind::Usage) when the raster has no such band, geotransform or coordinate system;
/// [`Kind::Unsupported`](crate::error::Kind::Unsupported) when points can't be transformed to that system; those of opening and
/// reading, and cancellation.
pub fn raster_at(
    source: &RasterSource,
    band: BandIndex,
    sampling: Sampling,
    places: &[Option<[f64; 2]>],
    ctx: &JobContext,
) -> Result<Vec<Option<f64>>> {
    let lease = pool::lease(source)?;
    let asset = source.asset();
    let info = lease.info.clone();
    if info.band(band).is_none() {
        return Err(Error::usage(format!("there is no band {band}; the raster has {}", info.band_count)).at(asset));
    }
    let inverse = info.geotransform.and_then(inverted).ok_or_else(|| Error::usage("the raster has no place on Earth").at(asset))?;
    let wkt = info.crs_wkt.as_deref().ok_or_else(|| Error::usage("the raster has no coordinate system").at(asset))?;
    let (values, _said) = gdal_errors::listen(|| -> Result<Vec<Option<f64>>> {
        let way = from_lonlat(wkt).ok_or_else(|| Error::unsupported("the coordinate system can't be reached").at(asset))?;
        let mut values = Vec::with_capacity(places.len());
        for place in places {
            ctx.check()?;
            ctx.step(1);
            let Some(area) = place.and_then(|place| area_of(&way, inverse, place, sampling, &info)) else {
                values.push(None);
                continue;
            };
            let out = area.fit(MEAN_SIDE, MEAN_SIDE);
            let request = ReadRequest { window: area, out, bands: vec![band], resampling: Resampling::Average };
            let pixels = read(&lease, source, &request, ctx)?;
            values.push(pixels.bands.first().and_then(|pixels| {
                let (mut sum, mut count) = (0.0, 0u32);
                for at in (0..pixels.samples.len()).filter(|&at| pixels.is_valid(at)) {
                    sum += pixels.samples.get(at);
                    count += 1;
                }
                (count > 0).then(|| sum / f64::from(count))
            }));
        }
        Ok(values)
    });
    values
}

/// The value, as text, of `field` of the first polygon that contains each point of `places`; `None` where no polygon does.
/// `holds(wkb, x, y)` decides, in the layer's coordinates. Without `layer`, the first layer is used.
///
/// # Errors
/// [`Kind::Usage`](crate::error::Kind::Usage) when there is no such layer or field, or GDAL can't read it; those of opening the
/// file, and cancellation.
pub fn attribute_at(
    source: &RasterSource,
    layer: Option<&str>,
    field: &str,
    places: &[Option<[f64; 2]>],
    holds: &dyn Fn(&[u8], f64, f64) -> bool,
    ctx: &JobContext,
) -> Result<Vec<Option<String>>> {
    let lease = pool::lease(source)?;
    let asset = source.asset();
    let (values, said) = gdal_errors::listen(|| -> Result<Vec<Option<String>>, gdal::errors::GdalError> {
        let mut layer = match layer {
            Some(name) => lease.dataset.layer_by_name(name)?,
            None => lease.dataset.layer(0)?,
        };
        let way = match layer.spatial_ref() {
            Some(crs) => Some(crs.to_wkt()?),
            None => None,
        };
        let way = way.and_then(|wkt| from_lonlat(&wkt));
        let field = layer.defn().field_index(field)?;
        let mut values = Vec::with_capacity(places.len());
        for place in places {
            if ctx.is_cancelled() {
                break;
            }
            ctx.step(1);
            let at = place.and_then(|place| match &way {
                Some(way) => transformed(way, place),
                None => Some(place),
            });
            let Some([x, y]) = at else {
                values.push(None);
                continue;
            };
            layer.set_spatial_filter_rect(x, y, x, y);
            let mut found = None;
            for feature in layer.features() {
                let shape = feature.geometry().and_then(|geometry| geometry.wkb().ok());
                if shape.is_some_and(|shape| holds(&shape, x, y)) {
                    found = feature.field_as_string(field)?;
                    break;
                }
            }
            values.push(found);
        }
        layer.clear_spatial_filter();
        Ok(values)
    });
    ctx.check()?;
    values.map_err(|error| {
        let summary = Error::usage("the polygons can't be asked").at(asset);
        gdal_errors::because(summary, &said, Some(&error)).hint("check the names of the layer and the field")
    })
}

fn from_lonlat(wkt: &str) -> Option<CoordTransform> {
    let mut from = SpatialRef::from_epsg(4326).ok()?;
    let mut to = SpatialRef::from_wkt(wkt).ok()?;
    from.set_axis_mapping_strategy(AxisMappingStrategy::TraditionalGisOrder);
    to.set_axis_mapping_strategy(AxisMappingStrategy::TraditionalGisOrder);
    CoordTransform::new(&from, &to).ok()
}

fn transformed(way: &CoordTransform, place: [f64; 2]) -> Option<[f64; 2]> {
    let (mut x, mut y) = ([place[0]], [place[1]]);
    way.transform_coords(&mut x, &mut y, &mut []).ok()?;
    (x[0].is_finite() && y[0].is_finite()).then_some([x[0], y[0]])
}

/// The pixels to read for a point; `None` when it is outside of the raster.
fn area_of(way: &CoordTransform, inverse: [f64; 6], [lon, lat]: [f64; 2], sampling: Sampling, info: &RasterInfo) -> Option<Window> {
    let pixel = |lon: f64, lat: f64| transformed(way, [lon, lat]).map(|[x, y]| apply(inverse, x, y));
    // A global raster may use longitudes from 0 to 360.
    let [column, row] = [lon, lon + 360.0, lon - 360.0]
        .into_iter()
        .filter_map(|lon| pixel(lon, lat))
        .find(|[column, row]| (0.0..info.width as f64).contains(column) && (0.0..info.height as f64).contains(row))?;
    let one = Window { x: column as usize, y: row as usize, width: 1, height: 1 };
    let Sampling::Mean { radius_m } = sampling else { return Some(one) };
    let north = radius_m / 111_320.0;
    let east = north / lat.to_radians().cos().abs().max(1e-3);
    let around = [(lon - east, lat), (lon + east, lat), (lon, lat - north), (lon, lat + north)];
    let ends: Vec<[f64; 2]> = around.iter().filter_map(|&(lon, lat)| pixel(lon, lat.clamp(-90.0, 90.0))).collect();
    let reach = |axis: usize, centre: f64| ends.iter().map(|end| (end[axis] - centre).abs()).fold(0.0, f64::max);
    // Near the antimeridian of a global raster the radius would span the whole globe.
    let (across, down) = (reach(0, column).min(info.width as f64 / 4.0), reach(1, row).min(info.height as f64 / 4.0));
    // Pixels whose centres are inside; at least the pixel that contains the point.
    let first = |centre: f64, reach: f64, own: usize| (((centre - reach - 0.5).ceil().max(0.0)) as usize).min(own);
    let last = |centre: f64, reach: f64, own: usize| (((centre + reach - 0.5).floor().max(0.0)) as usize).max(own);
    let (x, y) = (first(column, across, one.x), first(row, down, one.y));
    let (right, bottom) = (last(column, across, one.x), last(row, down, one.y));
    Window { x, y, width: right - x + 1, height: bottom - y + 1 }.clip(info.width, info.height)
}

fn apply(t: [f64; 6], x: f64, y: f64) -> [f64; 2] {
    [t[0] + x * t[1] + y * t[2], t[3] + x * t[4] + y * t[5]]
}

fn inverted(t: [f64; 6]) -> Option<[f64; 6]> {
    let determinant = t[1] * t[5] - t[2] * t[4];
    if determinant == 0.0 || !determinant.is_finite() {
        return None;
    }
    let (a, b, c, d) = (t[5] / determinant, -t[2] / determinant, -t[4] / determinant, t[1] / determinant);
    Some([-(t[0] * a + t[3] * b), a, b, -(t[0] * c + t[3] * d), c, d])
}
