//! Samples rasters at points and in areas, and polygon attributes at points. Coordinates are
//! longitude and latitude in degrees (EPSG:4326), transformed to the coordinate system of each
//! file.

use gdal::spatial_ref::{AxisMappingStrategy, CoordTransform, SpatialRef};
use gdal::vector::LayerAccess;

use super::crs_text::spatial_ref_of;
use super::pixels::{ComplexPart, read};
use super::reproject::{apply_geotransform, transform_point};
use super::{
    BandIndex, RasterInfo, RasterSource, ReadRequest, Resampling, Window, gdal_errors, pool,
};
use crate::error::{Error, Result};
use crate::jobs::JobContext;

/// Maximum columns and rows read for one mean; larger windows are averaged by GDAL while reading.
const MEAN_SIDE: usize = 256;

/// Maximum columns and rows read for an area; larger windows are averaged, or sampled for shares,
/// by GDAL while reading.
const AREA_SIDE: usize = 1024;

/// Statistic of the pixels whose centres are inside an area.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AreaStatistic {
    /// Their mean.
    Mean,
    /// Share, 0 to 1, of the pixels with this value; pixels with nodata do not count.
    Share {
        /// The value.
        class: f64,
    },
}

/// Rings of points.
type Rings = Vec<Vec<[f64; 2]>>;

/// An area in degrees. Longitudes are continuous and may run beyond ±180.
#[derive(Clone, Debug, PartialEq)]
pub struct AreaOfDegrees {
    /// Rings by the even-odd rule; empty for a point or line.
    pub rings: Vec<Vec<[f64; 2]>>,
    /// A point of it, whose pixel counts where no pixel has its centre inside.
    pub middle: [f64; 2],
}

/// Value to read at a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PointSampling {
    /// The pixel that contains the point.
    Nearest,
    /// The mean of the pixels whose centres are inside the square of half-width `radius_m` around
    /// the point, at least the pixel that contains it.
    Mean {
        /// Metres.
        radius_m: f64,
    },
}

/// The inverse geotransform of a raster: from its coordinate system to pixels. Fails without the
/// band or a geotransform.
fn pixels_of_plane(source: &RasterSource, info: &RasterInfo, band: BandIndex) -> Result<[f64; 6]> {
    let Some(header) = info.band(band) else {
        return Err(Error::usage(format!(
            "there is no band {band}; the raster has {}",
            info.band_count
        ))
        .at_place(source.asset()));
    };
    if header.is_complex() {
        return Err(Error::unsupported(format!(
            "band {band} holds complex numbers, which have no mean"
        ))
        .at_place(source.asset()));
    }
    let inverse = info.geotransform.and_then(invert_geotransform);
    inverse.ok_or_else(|| Error::usage("the raster has no place on Earth").at_place(source.asset()))
}

/// The transformation from longitude and latitude to the coordinate system of a raster.
fn way_to(source: &RasterSource, info: &RasterInfo) -> Result<CoordTransform> {
    let wkt = info.crs_wkt.as_deref();
    let wkt = wkt.ok_or_else(|| {
        Error::usage("the raster has no coordinate system").at_place(source.asset())
    })?;
    from_lonlat(wkt).ok_or_else(|| {
        Error::unsupported("the coordinate system can't be reached").at_place(source.asset())
    })
}

/// The value at each point of `places`. `None` for a point outside of the raster, on nodata,
/// without coordinates, or that can't be transformed to the raster's coordinate system.
///
/// # Errors
/// [`Kind::Usage`](crate::error::Kind::Usage) when the raster has no such band, geotransform or
/// coordinate system; [`Kind::Unsupported`](crate::error::Kind::Unsupported) when points can't be
/// transformed to that system; those of opening and reading, and cancellation.
pub fn raster_at(
    source: &RasterSource,
    band: BandIndex,
    sampling: PointSampling,
    places: &[Option<[f64; 2]>],
    ctx: &JobContext,
) -> Result<Vec<Option<f64>>> {
    let lease = pool::lease(source)?;
    let info = lease.info.clone();
    info.warn_of_variable(&source.asset().to_string(), ctx);
    let inverse = pixels_of_plane(source, &info, band)?;
    let (values, _said) = gdal_errors::listen(|| -> Result<Vec<Option<f64>>> {
        let way = way_to(source, &info)?;
        let mut values = Vec::with_capacity(places.len());
        for place in places {
            ctx.check()?;
            ctx.step(1);
            let Some(area) = place.and_then(|place| area_of(&way, inverse, place, sampling, &info))
            else {
                values.push(None);
                continue;
            };
            let out = area.fit(MEAN_SIDE, MEAN_SIDE);
            let request = ReadRequest {
                window: area,
                out,
                bands: vec![band],
                resampling: Resampling::Average,
            };
            let pixels = read(&lease, source, &request, ComplexPart::Magnitude, ctx)?;
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

/// A statistic of the pixels in each area. `None` without an area, outside of the raster, and where
/// all pixels are nodata. An area that holds the centre of no pixel has the value of the pixel at
/// its middle.
///
/// # Errors
/// As [`raster_at`].
pub fn raster_in(
    source: &RasterSource,
    band: BandIndex,
    statistic: AreaStatistic,
    areas: &[Option<AreaOfDegrees>],
    ctx: &JobContext,
) -> Result<Vec<Option<f64>>> {
    let lease = pool::lease(source)?;
    let info = lease.info.clone();
    info.warn_of_variable(&source.asset().to_string(), ctx);
    let inverse = pixels_of_plane(source, &info, band)?;
    let resampling = match statistic {
        AreaStatistic::Mean => Resampling::Average,
        AreaStatistic::Share { .. } => Resampling::Nearest,
    };
    let (values, _said) = gdal_errors::listen(|| -> Result<Vec<Option<f64>>> {
        let way = way_to(source, &info)?;
        let mut values = Vec::with_capacity(areas.len());
        for area in areas {
            ctx.check()?;
            ctx.step(1);
            let Some(area) = area else {
                values.push(None);
                continue;
            };
            let mut tally = AreaCount {
                statistic,
                centres: 0,
                valid: 0,
                sum: 0.0,
            };
            for (rings, window) in windows_of(&way, inverse, area, &info) {
                let out = window.fit(AREA_SIDE, AREA_SIDE);
                let request = ReadRequest {
                    window,
                    out,
                    bands: vec![band],
                    resampling,
                };
                let pixels = read(&lease, source, &request, ComplexPart::Magnitude, ctx)?;
                let Some(pixels) = pixels.bands.first() else {
                    continue;
                };
                let step = [
                    window.width as f64 / out.0 as f64,
                    window.height as f64 / out.1 as f64,
                ];
                for row in 0..out.1 {
                    let crossings =
                        crossings(&rings, window.y as f64 + (row as f64 + 0.5) * step[1]);
                    for column in 0..out.0 {
                        let x = window.x as f64 + (column as f64 + 0.5) * step[0];
                        if crossings.partition_point(|crossing| *crossing <= x) % 2 == 1 {
                            let at = row * out.0 + column;
                            tally.add(pixels.is_valid(at).then(|| pixels.samples.get(at)));
                        }
                    }
                }
            }
            if tally.centres == 0
                && let Some(window) = area_of(
                    &way,
                    inverse,
                    wrap_longitude(area.middle),
                    PointSampling::Nearest,
                    &info,
                )
            {
                let request = ReadRequest {
                    window,
                    out: (1, 1),
                    bands: vec![band],
                    resampling: Resampling::Nearest,
                };
                let pixels = read(&lease, source, &request, ComplexPart::Magnitude, ctx)?;
                tally.add(
                    pixels
                        .bands
                        .first()
                        .filter(|pixels| pixels.is_valid(0))
                        .map(|pixels| pixels.samples.get(0)),
                );
            }
            values.push(tally.value());
        }
        Ok(values)
    });
    values
}

/// Pixels counted in an area.
struct AreaCount {
    statistic: AreaStatistic,
    /// Pixels with their centre inside, with or without a value.
    centres: u64,
    valid: u64,
    /// Sum of the values, or number of pixels of the class.
    sum: f64,
}

impl AreaCount {
    fn add(&mut self, value: Option<f64>) {
        self.centres += 1;
        let Some(value) = value else { return };
        self.valid += 1;
        self.sum += match self.statistic {
            AreaStatistic::Mean => value,
            AreaStatistic::Share { class } => f64::from(u8::from(value == class)),
        };
    }

    fn value(&self) -> Option<f64> {
        (self.valid > 0).then(|| self.sum / self.valid as f64)
    }
}

/// The rings of an area in columns and rows of the raster, with the window around them: one for
/// each turn of longitude at which the raster has a part of the area.
fn windows_of(
    way: &CoordTransform,
    inverse: [f64; 6],
    area: &AreaOfDegrees,
    info: &RasterInfo,
) -> Vec<(Rings, Window)> {
    let mut found: Vec<(Rings, Window)> = Vec::new();
    for turn in [0.0, 360.0, -360.0] {
        let pixel = |&[lon, lat]: &[f64; 2]| {
            transform_point(way, [lon + turn, lat]).map(|[x, y]| apply_geotransform(inverse, x, y))
        };
        let rings: Option<Rings> = area
            .rings
            .iter()
            .map(|ring| ring.iter().map(pixel).collect())
            .collect();
        let Some(rings) = rings else { continue };
        // In projected systems every turn of longitude is the same place.
        if found
            .iter()
            .any(|(other, _)| start_at_same_pixel(other, &rings))
        {
            continue;
        }
        if let (Some((x, width)), Some((y, height))) = (
            find_pixel_range(&rings, 0, info.width),
            find_pixel_range(&rings, 1, info.height),
        ) {
            found.push((
                rings,
                Window {
                    x,
                    y,
                    width,
                    height,
                },
            ));
        }
    }
    found
}

fn start_at_same_pixel(one: &[Vec<[f64; 2]>], other: &[Vec<[f64; 2]>]) -> bool {
    let first = |rings: &[Vec<[f64; 2]>]| rings.first().and_then(|ring| ring.first().copied());
    match (first(one), first(other)) {
        (Some(a), Some(b)) => (a[0] - b[0]).abs() + (a[1] - b[1]).abs() < 1e-3,
        _ => false,
    }
}

/// The first column or row of the rings in a raster of `size`, and how many there are; `None` where
/// the rings are outside of it.
fn find_pixel_range(rings: &Rings, axis: usize, size: usize) -> Option<(usize, usize)> {
    let values = || rings.iter().flatten().map(move |place| place[axis]);
    let (low, high) = (
        values().fold(f64::INFINITY, f64::min).floor(),
        values().fold(f64::NEG_INFINITY, f64::max).ceil(),
    );
    let (low, high) = (low.max(0.0), high.min(size as f64));
    (low < high).then_some((low as usize, (high - low) as usize))
}

/// Columns, in ascending order, at which the rings cross the row `y`.
pub(super) fn crossings(rings: &[Vec<[f64; 2]>], y: f64) -> Vec<f64> {
    let edges = rings
        .iter()
        .flat_map(|ring| ring.iter().zip(ring.iter().cycle().skip(1)));
    let crossed = edges.filter(|(from, to)| (from[1] <= y) != (to[1] <= y));
    let mut found: Vec<f64> = crossed
        .map(|(from, to)| from[0] + (y - from[1]) / (to[1] - from[1]) * (to[0] - from[0]))
        .collect();
    found.sort_by(f64::total_cmp);
    found
}

/// Longitude within ±180.
fn wrap_longitude([lon, lat]: [f64; 2]) -> [f64; 2] {
    [(lon + 180.0).rem_euclid(360.0) - 180.0, lat]
}

/// The value, as text, of `field` of the first polygon that contains each point of `places`; `None`
/// where no polygon does. `holds(wkb, x, y)` decides, in the layer's coordinates. Without `layer`,
/// the first layer is used. A layer without a coordinate system has longitude and latitude in
/// degrees.
///
/// # Errors
/// [`Kind::Usage`](crate::error::Kind::Usage) when there is no such layer or field, GDAL can't read
/// it, or a layer without a coordinate system has coordinates that are no degrees;
/// [`Kind::Unsupported`](crate::error::Kind::Unsupported) when points can't be transformed to the
/// layer's coordinate system; those of opening the file, and cancellation.
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
    type Values = Result<Vec<Option<String>>>;
    let (values, said) = gdal_errors::listen(|| -> Result<Values, gdal::errors::GdalError> {
        let mut layer = match layer {
            Some(name) => lease.dataset.layer_by_name(name)?,
            None => lease.dataset.layer(0)?,
        };
        let way = match layer.spatial_ref() {
            Some(crs) => match crs.to_wkt().ok().as_deref().and_then(from_lonlat) {
                Some(way) => Some(way),
                None => {
                    return Ok(Err(Error::unsupported(
                        "the coordinate system of the layer can't be reached",
                    )
                    .at_place(asset)));
                }
            },
            None if layer.get_extent().is_ok_and(|bounds| !is_degrees(&bounds)) => {
                let error = Error::usage(
                    "the layer names no coordinate system, and its coordinates are no degrees",
                )
                .at_place(asset);
                return Ok(Err(error.hint(
                    "write the coordinate system into the file (`ogr2ogr -a_srs`)",
                )));
            }
            None => None,
        };
        let field = layer.defn().field_index(field)?;
        let mut values = Vec::with_capacity(places.len());
        for place in places {
            if ctx.is_cancelled() {
                break;
            }
            ctx.step(1);
            let at = place.and_then(|place| match &way {
                Some(way) => transform_point(way, place),
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
        Ok(Ok(values))
    });
    ctx.check()?;
    values.map_err(|error| {
        let summary = Error::usage("the polygons can't be asked").at_place(asset);
        gdal_errors::because(summary, &said, Some(&error))
            .hint("check the names of the layer and the field")
    })?
}

/// True for bounds within the range of longitude (to 360° either way) and latitude.
fn is_degrees(bounds: &gdal::vector::Envelope) -> bool {
    bounds.MinX >= -360.0 && bounds.MaxX <= 360.0 && bounds.MinY >= -90.0 && bounds.MaxY <= 90.0
}

fn from_lonlat(wkt: &str) -> Option<CoordTransform> {
    let mut from = SpatialRef::from_epsg(4326).ok()?;
    let mut to = spatial_ref_of(wkt).ok()?;
    from.set_axis_mapping_strategy(AxisMappingStrategy::TraditionalGisOrder);
    to.set_axis_mapping_strategy(AxisMappingStrategy::TraditionalGisOrder);
    CoordTransform::new(&from, &to).ok()
}

/// The pixels to read for a point; `None` when it is outside of the raster.
fn area_of(
    way: &CoordTransform,
    inverse: [f64; 6],
    [lon, lat]: [f64; 2],
    sampling: PointSampling,
    info: &RasterInfo,
) -> Option<Window> {
    let pixel = |lon: f64, lat: f64| {
        transform_point(way, [lon, lat]).map(|[x, y]| apply_geotransform(inverse, x, y))
    };
    // A global raster may use longitudes from 0 to 360.
    let [column, row] = [lon, lon + 360.0, lon - 360.0]
        .into_iter()
        .filter_map(|lon| pixel(lon, lat))
        .find(|[column, row]| {
            (0.0..info.width as f64).contains(column) && (0.0..info.height as f64).contains(row)
        })?;
    let one = Window {
        x: column as usize,
        y: row as usize,
        width: 1,
        height: 1,
    };
    let PointSampling::Mean { radius_m } = sampling else {
        return Some(one);
    };
    let north = radius_m / 111_320.0;
    let east = north / lat.to_radians().cos().abs().max(1e-3);
    let around = [
        (lon - east, lat),
        (lon + east, lat),
        (lon, lat - north),
        (lon, lat + north),
    ];
    let ends: Vec<[f64; 2]> = around
        .iter()
        .filter_map(|&(lon, lat)| pixel(lon, lat.clamp(-90.0, 90.0)))
        .collect();
    // Near the antimeridian of a global raster the radius would span the whole globe.
    let (across, down) = (
        measure_reach(&ends, 0, column).min(info.width as f64 / 4.0),
        measure_reach(&ends, 1, row).min(info.height as f64 / 4.0),
    );
    // Pixels whose centres are inside; at least the pixel that contains the point.
    let first = |centre: f64, reach: f64, own: usize| {
        (((centre - reach - 0.5).ceil().max(0.0)) as usize).min(own)
    };
    let last = |centre: f64, reach: f64, own: usize| {
        (((centre + reach - 0.5).floor().max(0.0)) as usize).max(own)
    };
    let (x, y) = (first(column, across, one.x), first(row, down, one.y));
    let (right, bottom) = (last(column, across, one.x), last(row, down, one.y));
    Window {
        x,
        y,
        width: right - x + 1,
        height: bottom - y + 1,
    }
    .clip(info.width, info.height)
}

fn measure_reach(ends: &[[f64; 2]], axis: usize, centre: f64) -> f64 {
    ends.iter()
        .map(|end| (end[axis] - centre).abs())
        .fold(0.0, f64::max)
}

/// The inverse of a geotransform; `None` when it has none.
pub(super) fn invert_geotransform(t: [f64; 6]) -> Option<[f64; 6]> {
    let determinant = t[1] * t[5] - t[2] * t[4];
    if determinant == 0.0 || !determinant.is_finite() {
        return None;
    }
    let (a, b, c, d) = (
        t[5] / determinant,
        -t[2] / determinant,
        -t[4] / determinant,
        t[1] / determinant,
    );
    Some([-(t[0] * a + t[3] * b), a, b, -(t[0] * c + t[3] * d), c, d])
}

#[cfg(test)]
mod tests {
    use geo::{Contains, Coord, LineString, Point, Polygon};

    use super::*;
    use crate::model::AssetPath;

    /// A global grid of 36 × 18 cells of 10°, with 1 to 648 from the north-west, and nodata 30.
    fn world(folder: &std::path::Path) -> RasterSource {
        let rows: Vec<String> = (0..18)
            .map(|row| {
                (1..=36)
                    .map(|column| (row * 36 + column).to_string())
                    .collect::<Vec<_>>()
                    .join(" ")
            })
            .collect();
        let grid = format!(
            "ncols 36\nnrows 18\nxllcorner -180\nyllcorner -90\ncellsize 10\nNODATA_value 30\n{}\n",
            rows.join("\n")
        );
        let path = folder.join("world.asc");
        std::fs::write(&path, grid).expect("written");
        let wkt = r#"GEOGCS["WGS 84",DATUM["WGS_1984",SPHEROID["WGS 84",6378137,298.257223563]],
            PRIMEM["Greenwich",0],UNIT["degree",0.0174532925199433]]"#;
        std::fs::write(folder.join("world.prj"), wkt).expect("written");
        RasterSource::from_user_path(AssetPath::file(path))
    }

    fn area(ring: &[[f64; 2]]) -> Option<AreaOfDegrees> {
        Some(AreaOfDegrees {
            rings: vec![ring.to_vec()],
            middle: ring[0],
        })
    }

    /// Values of the cells whose centre is in the ring, at any turn of longitude.
    fn cells_in(ring: &[[f64; 2]]) -> Vec<f64> {
        let outer: Vec<Coord<f64>> = ring.iter().map(|&[x, y]| Coord { x, y }).collect();
        let polygon = Polygon::new(LineString::new(outer), Vec::new());
        let mut found = Vec::new();
        for cell in 0..648usize {
            let (lon, lat) = (
                -175.0 + 10.0 * (cell % 36) as f64,
                85.0 - 10.0 * (cell / 36) as f64,
            );
            let inside = [-360.0, 0.0, 360.0]
                .iter()
                .any(|turn| polygon.contains(&Point::new(lon + turn, lat)));
            if inside && cell != 29 {
                found.push(cell as f64 + 1.0);
            }
        }
        found
    }

    #[test]
    fn areas_have_the_mean_and_the_shares_of_the_pixels_inside() {
        let folder = tempfile::tempdir().expect("a folder");
        let source = world(folder.path());
        let rings: [&[[f64; 2]]; 4] = [
            &[[-103.0, 11.0], [-21.0, 27.0], [-44.0, 71.0], [-97.0, 62.0]],
            // Across the antimeridian.
            &[[151.0, -41.0], [207.0, -33.0], [189.0, 22.0]],
            // A band around the pole, with the cell of nodata.
            &[[-180.0, 61.0], [180.0, 61.0], [180.0, 90.0], [-180.0, 90.0]],
            &[[-361.0, -9.0], [-339.0, -9.0], [-339.0, 9.0], [-361.0, 9.0]],
        ];
        let mut areas: Vec<Option<AreaOfDegrees>> = rings.iter().map(|ring| area(ring)).collect();
        // A small one inside one pixel, one on nodata, one outside the latitudes, none.
        areas.push(area(&[[1.0, 1.0], [2.0, 1.0], [2.0, 2.0]]));
        areas.push(area(&[
            [111.0, 81.0],
            [119.0, 81.0],
            [119.0, 89.0],
            [111.0, 89.0],
        ]));
        areas.push(None);
        let ctx = JobContext::default();
        let means =
            raster_in(&source, BandIndex::FIRST, AreaStatistic::Mean, &areas, &ctx).expect("means");
        for (at, ring) in rings.iter().enumerate() {
            let cells = cells_in(ring);
            assert!(cells.len() > 3);
            let mean = cells.iter().sum::<f64>() / cells.len() as f64;
            assert!(
                (means[at].expect("a mean") - mean).abs() < 1e-9,
                "{at}: {:?} is not {mean}",
                means[at]
            );
            let statistic = AreaStatistic::Share { class: cells[1] };
            let share = raster_in(&source, BandIndex::FIRST, statistic, &areas[at..=at], &ctx)
                .expect("shares");
            assert!(
                (share[0].expect("a share") - 1.0 / cells.len() as f64).abs() < 1e-12,
                "{at}"
            );
        }
        // Row 8 from the north, column 18 from the west.
        assert_eq!(means[4], Some(8.0 * 36.0 + 19.0));
        assert_eq!(means[5..], [None, None]);
    }

    #[test]
    fn polygons_without_a_reachable_system_are_an_error() {
        let folder = tempfile::tempdir().expect("a folder");
        let square = |size: f64| {
            format!("id,WKT\n1,\"POLYGON ((0 0,{size} 0,{size} {size},0 {size},0 0))\"\n")
        };
        let ask = |name: &str, text: String| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).expect("written");
            let source = RasterSource::from_user_path(AssetPath::file(path));
            attribute_at(
                &source,
                None,
                "id",
                &[Some([1.0, 1.0])],
                &|_, _, _| true,
                &JobContext::default(),
            )
        };
        assert_eq!(
            ask("degrees.csv", square(2.0)).expect("degrees"),
            [Some("1".to_owned())]
        );
        let error = ask("metres.csv", square(500_000.0)).expect_err("metres without a system");
        assert!(
            error.report().contains("no coordinate system"),
            "{}",
            error.report()
        );
    }
}
