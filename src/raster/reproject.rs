//! Transforms points to longitude and latitude in degrees (EPSG:4326). Coordinate systems are given
//! as code, WKT, PROJ string or PROJJSON.

use gdal::spatial_ref::{AxisMappingStrategy, CoordTransform, SpatialRef};

use super::crs_text::{spatial_ref_of, truncate_text, unknown_crs};
use super::gdal_errors;
use crate::error::{Cause, Error, Result};
use crate::text::PrintableLine;

/// Coordinates beyond this are outside the Earth in any unit. GDAL takes turns off longitudes one
/// by one, without end for large ones.
const COORDINATE_MOST: f64 = 1e9;
/// The same for coordinates in degrees.
const DEGREES_MOST: f64 = 1e4;
/// Equatorial radius of WGS 84 in metres.
const EARTH_RADIUS: f64 = 6_378_137.0;
/// Largest part by which ellipsoids of the Earth differ from it, as PROJ has it. Venus, the nearest
/// other body, differs by 0.05.
const RADIUS_TOLERANCE: f64 = 0.005;

/// Points of `crs` (`EPSG:32718`, WKT, PROJ) as longitude and latitude in degrees (EPSG:4326, in
/// this order), longitudes within ±180. `None` for a point outside the Earth; an error for an
/// unknown system.
pub fn to_lonlat_from(crs: &str, points: &[[f64; 2]]) -> Result<Vec<Option<[f64; 2]>>> {
    Ok(LonLatTransform::new(crs)?.lonlat(points))
}

/// Transforms points of one coordinate system to longitude and latitude in degrees, many in one
/// call.
pub struct LonLatTransform {
    way: CoordTransform,
    geographic: bool,
}

impl LonLatTransform {
    /// The transformation from `crs`, a code, WKT, PROJ or JSON.
    ///
    /// # Errors
    /// [`Kind::Usage`](crate::error::Kind::Usage) for an unknown coordinate system, with
    /// [`Cause::NotOnEarth`] for one of another body, or with [`Cause::CrsNamesFile`] for a text
    /// that names a file.
    pub fn new(crs: &str) -> Result<Self> {
        let mut from = spatial_ref_of(crs)?;
        if let Some(radius) = foreign_radius(&from) {
            return Err(not_on_earth(crs, &from, radius));
        }
        let (made, said) = gdal_errors::listen(|| {
            let mut to = SpatialRef::from_epsg(4326)?;
            from.set_axis_mapping_strategy(AxisMappingStrategy::TraditionalGisOrder);
            to.set_axis_mapping_strategy(AxisMappingStrategy::TraditionalGisOrder);
            Ok(Self {
                way: CoordTransform::new(&from, &to)?,
                geographic: from.is_geographic(),
            })
        });
        made.map_err(|error: gdal::errors::GdalError| unknown_crs(crs, &said, &error))
    }

    /// True for systems of degrees.
    pub fn is_geographic(&self) -> bool {
        self.geographic
    }

    /// Longitude (within ±180) and latitude of each point, in the order of the points; `None` for a
    /// point outside the Earth.
    pub fn lonlat(&self, points: &[[f64; 2]]) -> Vec<Option<[f64; 2]>> {
        let limit = if self.geographic {
            DEGREES_MOST
        } else {
            COORDINATE_MOST
        };
        let (mut x, mut y): (Vec<f64>, Vec<f64>) = points
            .iter()
            .map(|[x, y]| (bound_number(*x, limit), bound_number(*y, limit)))
            .unzip();
        if points.is_empty() {
            return Vec::new();
        }
        // GDAL reports an error if some points can't be transformed; those are infinite.
        let (_failed, _said) =
            gdal_errors::listen(|| self.way.transform_coords(&mut x, &mut y, &mut []).is_err());
        x.into_iter()
            .zip(y)
            .zip(points)
            .map(|((lon, lat), from)| check_lonlat([lon, lat], from, limit))
            .collect()
    }
}

/// A transformed place within ±180 degrees; `None` where it, or where it comes from, is none.
fn check_lonlat([lon, lat]: [f64; 2], from: &[f64; 2], limit: f64) -> Option<[f64; 2]> {
    let sound = lon.is_finite()
        && (-90.0..=90.0).contains(&lat)
        && from.iter().all(|number| number.abs() <= limit);
    sound.then(|| [wrap_longitude(lon), lat])
}

/// Transforms points from one coordinate system to another, as queries do.
pub struct CrsTransform(CoordTransform);

impl CrsTransform {
    /// The transformation between two systems, each a code, WKT, PROJ or JSON. Axes have the order
    /// of the authority of each system, latitude first for EPSG:4326; with `xy` they are east and
    /// north.
    ///
    /// # Errors
    /// [`Kind::Usage`](crate::error::Kind::Usage) for an unknown coordinate system, and for a text
    /// that names a file.
    pub fn between_systems(from: &str, to: &str, xy: bool) -> Result<Self> {
        let (mut source, mut target) = (spatial_ref_of(from)?, spatial_ref_of(to)?);
        let order = if xy {
            AxisMappingStrategy::TraditionalGisOrder
        } else {
            AxisMappingStrategy::AuthorityCompliant
        };
        source.set_axis_mapping_strategy(order);
        target.set_axis_mapping_strategy(order);
        let (made, said) = gdal_errors::listen(|| CoordTransform::new(&source, &target));
        made.map(Self)
            .map_err(|error| unknown_crs(from, &said, &error))
    }

    /// The points in the other system, in the order given; `None` for a point that has no place
    /// there.
    pub fn points(&self, points: &[[f64; 2]]) -> Vec<Option<[f64; 2]>> {
        let (mut x, mut y): (Vec<f64>, Vec<f64>) = points
            .iter()
            .map(|[x, y]| {
                (
                    bound_number(*x, COORDINATE_MOST),
                    bound_number(*y, COORDINATE_MOST),
                )
            })
            .unzip();
        if points.is_empty() {
            return Vec::new();
        }
        let (_failed, _said) =
            gdal_errors::listen(|| self.0.transform_coords(&mut x, &mut y, &mut []).is_err());
        x.into_iter()
            .zip(y)
            .map(|(x, y)| (x.is_finite() && y.is_finite()).then_some([x, y]))
            .collect()
    }
}

/// The number, or NaN beyond what the library transforms.
fn bound_number(number: f64, limit: f64) -> f64 {
    if number.abs() <= limit {
        number
    } else {
        f64::NAN
    }
}

/// Equatorial radius in metres of the body of a coordinate system, if that is not the Earth.
fn foreign_radius(srs: &SpatialRef) -> Option<f64> {
    srs.semi_major()
        .ok()
        .filter(|radius| (radius / EARTH_RADIUS - 1.0).abs() > RADIUS_TOLERANCE)
}

fn not_on_earth(crs: &str, srs: &SpatialRef, radius: f64) -> Error {
    let below = srs
        .geog_cs()
        .ok()
        .and_then(|below| below.name())
        .or_else(|| srs.name())
        .unwrap_or_default();
    let summary = format!(
        "the coordinate system {} ({}) is that of another body with a radius of {:.0} km: it has \
            no place on Earth",
        truncate_text(crs),
        truncate_text(&below.printable_line()),
        radius / 1000.0
    );
    Error::usage(summary).caused_by(Cause::NotOnEarth)
}

/// Checks that a coordinate system is known, of the Earth or of another body.
///
/// # Errors
/// [`Kind::Usage`](crate::error::Kind::Usage) for an unknown one.
pub fn check_crs(crs: &str) -> Result<()> {
    match LonLatTransform::new(crs) {
        Err(error) if !error.is_caused_by(Cause::NotOnEarth) => Err(error),
        _ => Ok(()),
    }
}

/// True for geographic coordinate systems, in any notation (`OGC:CRS84`, `EPSG:4258`); false for
/// unknown ones.
pub fn is_geographic(crs: &str) -> bool {
    spatial_ref_of(crs).is_ok_and(|known| known.is_geographic())
}

/// Properties by which two coordinate systems are compared.
#[derive(Clone, Debug, PartialEq)]
pub struct CrsKind {
    /// UTM zone, negative in the south; `None` for other systems.
    pub utm_zone: Option<i32>,
    /// Name of the geographic system below it, such as `WGS 84`.
    pub datum: String,
    /// Metres per unit; `None` for systems in degrees.
    pub metres: Option<f64>,
}

/// The kind of a system given as code, WKT or PROJ; `None` for one that is not known.
pub fn crs_kind(crs: &str) -> Option<CrsKind> {
    let known = spatial_ref_of(crs).ok()?;
    let (kind, _said) = gdal_errors::listen(|| {
        let mut north = 0;
        // Safety: a handle that lives during the call, and an int that it writes.
        let zone = unsafe { gdal_sys::OSRGetUTMZone(known.to_c_hsrs(), &mut north) };
        let utm_zone = (zone != 0).then_some(if north == 0 { -zone.abs() } else { zone.abs() });
        let datum = known
            .geog_cs()
            .ok()
            .and_then(|below| below.name())
            .unwrap_or_default();
        let metres = (!known.is_geographic()).then(|| known.linear_units());
        Some(CrsKind {
            utm_zone,
            datum,
            metres,
        })
    });
    kind
}

/// Wraps a longitude to ±180 degrees; ±180 is kept.
fn wrap_longitude(longitude: f64) -> f64 {
    if (-180.0..=180.0).contains(&longitude) {
        longitude
    } else {
        (longitude + 180.0).rem_euclid(360.0) - 180.0
    }
}

/// Longitude and latitude in degrees of the four corners; `None` unless all can be transformed.
pub(super) fn corners(
    wkt: &str,
    geotransform: [f64; 6],
    width: usize,
    height: usize,
) -> Option<[[f64; 2]; 4]> {
    DegreesTransform::from_system(wkt)?.corners(geotransform, width, height)
}

/// Coordinates `[x, y]` of a column and row by a geotransform in GDAL's order.
pub fn apply_geotransform(t: [f64; 6], column: f64, row: f64) -> [f64; 2] {
    [
        t[0] + column * t[1] + row * t[2],
        t[3] + column * t[4] + row * t[5],
    ]
}

/// Longitude and latitude in degrees of points of the system `wkt`; `None` for an unknown system
/// and for one that names a file, and for points outside the Earth.
pub(super) fn transform(wkt: &str, points: &[[f64; 2]]) -> Option<Vec<Option<[f64; 2]>>> {
    Some(DegreesTransform::from_system(wkt)?.places(points))
}

/// Transforms points of rasters of one system to longitude and latitude in degrees, which are not
/// wrapped: a raster at 180° stays in one piece.
pub struct DegreesTransform {
    way: CoordTransform,
    limit: f64,
}

impl DegreesTransform {
    /// The transformation from `crs`; `None` for an unknown system, for one that names a file, and
    /// for one of another body.
    pub fn from_system(crs: &str) -> Option<Self> {
        let mut from = spatial_ref_of(crs)
            .ok()
            .filter(|from| foreign_radius(from).is_none())?;
        let limit = if from.is_geographic() {
            DEGREES_MOST
        } else {
            COORDINATE_MOST
        };
        let (way, _said) = gdal_errors::listen(|| {
            let mut to = SpatialRef::from_epsg(4326).ok()?;
            from.set_axis_mapping_strategy(AxisMappingStrategy::TraditionalGisOrder);
            to.set_axis_mapping_strategy(AxisMappingStrategy::TraditionalGisOrder);
            CoordTransform::new(&from, &to).ok()
        });
        Some(Self { way: way?, limit })
    }

    /// Longitude and latitude of the four corners of a raster; `None` unless all can be
    /// transformed.
    pub fn corners(
        &self,
        geotransform: [f64; 6],
        width: usize,
        height: usize,
    ) -> Option<[[f64; 2]; 4]> {
        let (width, height) = (width as f64, height as f64);
        let corners = [(0.0, 0.0), (width, 0.0), (width, height), (0.0, height)]
            .map(|(column, row)| apply_geotransform(geotransform, column, row));
        let places: Option<Vec<[f64; 2]>> = self.places(&corners).into_iter().collect();
        places?.try_into().ok()
    }

    fn places(&self, points: &[[f64; 2]]) -> Vec<Option<[f64; 2]>> {
        let (places, _said) = gdal_errors::listen(|| {
            let points = points.iter();
            points.map(|point| self.place_of(*point)).collect()
        });
        places
    }

    fn place_of(&self, point: [f64; 2]) -> Option<[f64; 2]> {
        let is_in_limit = point.iter().all(|number| number.abs() <= self.limit);
        is_in_limit.then(|| transform_point(&self.way, point))?
    }
}

pub(super) fn transform_point(way: &CoordTransform, place: [f64; 2]) -> Option<[f64; 2]> {
    let (mut x, mut y) = ([place[0]], [place[1]]);
    way.transform_coords(&mut x, &mut y, &mut []).ok()?;
    (x[0].is_finite() && y[0].is_finite()).then_some([x[0], y[0]])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn degrees_are_known_under_every_name() {
        for crs in [
            "EPSG:4326",
            "OGC:CRS84",
            "EPSG:4258",
            "EPSG:4269",
            "+proj=longlat +datum=WGS84",
        ] {
            assert!(is_geographic(crs), "{crs}");
        }
        for crs in ["EPSG:32632", "EPSG:3857", "EPSG:999999"] {
            assert!(!is_geographic(crs), "{crs}");
        }
    }

    #[test]
    fn kinds_tell_zones_and_units() {
        let kind = |crs: &str| crs_kind(crs).map(|kind| (kind.utm_zone, kind.datum, kind.metres));
        assert_eq!(
            kind("EPSG:32718"),
            Some((Some(-18), "WGS 84".into(), Some(1.0)))
        );
        assert_eq!(
            kind("EPSG:25832"),
            Some((Some(32), "ETRS89".into(), Some(1.0)))
        );
        assert_eq!(kind("EPSG:4326"), Some((None, "WGS 84".into(), None)));
        assert_eq!(
            kind("EPSG:2263")
                .and_then(|kind| kind.2)
                .map(|metres| (metres * 1e4).round()),
            Some(3048.0)
        );
        assert_eq!(kind("EPSG:999999"), None);
    }

    #[test]
    fn systems_of_other_bodies_give_no_place_on_earth() {
        let moon = "+proj=aeqd +lat_0=0 +lon_0=0 +R=1737400 +units=m";
        for crs in [
            "IAU_2015:49900",
            "IAU_2015:49910",
            "IAU_2015:50200",
            "IAU_2015:30110",
            moon,
        ] {
            let error = to_lonlat_from(crs, &[[1.0, 2.0]]).expect_err(crs);
            assert!(error.is_caused_by(Cause::NotOnEarth), "{crs}: {error}");
            assert!(check_crs(crs).is_ok(), "{crs}");
            let wkt = spatial_ref_of(crs)
                .expect("is known")
                .to_wkt()
                .expect("has WKT");
            assert_eq!(transform(&wkt, &[[1.0, 2.0]]), None, "{crs}");
        }
        // Spheres and old ellipsoids of the Earth.
        for crs in [
            "EPSG:4326",
            "EPSG:3857",
            "EPSG:4267",
            "EPSG:27700",
            "+proj=longlat +R=6371000",
            "+proj=sinu +R=6371007.181",
        ] {
            assert!(to_lonlat_from(crs, &[[1.0, 2.0]]).is_ok(), "{crs}");
        }
        assert!(
            check_crs("EPSG:999999").is_err_and(|error| !error.is_caused_by(Cause::NotOnEarth))
        );
    }

    #[test]
    fn systems_are_named_in_several_ways() {
        for crs in ["EPSG:32618", "+proj=utm +zone=18 +datum=WGS84"] {
            let place = to_lonlat_from(crs, &[[500_000.0, 0.0]]).expect("knows it")[0]
                .expect("has a place");
            assert!(
                (place[0] + 75.0).abs() < 1e-9 && place[1].abs() < 1e-9,
                "{crs}: {place:?}"
            );
        }
        assert!(to_lonlat_from("EPSG:999999", &[]).is_err());
        assert_eq!(
            to_lonlat_from("EPSG:4326", &[[190.0, 10.0]]).expect("knows it"),
            [Some([-170.0, 10.0])]
        );
        assert_eq!(
            to_lonlat_from("EPSG:4326", &[[0.0, f64::NAN]]).expect("knows it"),
            [None]
        );
        for crs in ["EPSG:4326", "EPSG:3413", "EPSG:32618", "EPSG:3857"] {
            assert_eq!(
                to_lonlat_from(crs, &[[1e300, 0.0], [0.0, -1e300], [f64::INFINITY, 0.0]])
                    .expect("knows it"),
                [None; 3],
                "{crs}"
            );
        }
    }
}
