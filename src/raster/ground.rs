//! Ground distances of a raster's pixels, on the ellipsoid of its own coordinate system: also of
//! feet, of projections whose scale changes from place to place, and of other bodies than the
//! Earth.

use gdal::spatial_ref::{AxisMappingStrategy, CoordTransform};

use super::crs_text::spatial_ref_of;
use super::reproject::apply_geotransform;
use super::{RasterInfo, gdal_errors};

/// The part of a pixel's width over which the distance is measured: short, because pixels of global
/// rasters are tens of degrees wide.
const MEASURED_PART: f64 = 1.0 / 64.0;
/// Distance along a parallel, as a part of that along the equator, below which a geographic raster
/// has no scale: next to a pole.
const SHORTEST_PARALLEL: f64 = 1e-4;

/// Ground metres per column at the position `[column, row]` of the full-resolution raster, in the
/// direction of the rows; `None` without coordinate system or geotransform, and where the position
/// is not on the body.
pub fn metres_per_column(info: &RasterInfo, [column, row]: [f64; 2]) -> Option<f64> {
    let (wkt, geotransform) = (info.crs_wkt.as_deref()?, info.geotransform?);
    let ends = [-0.5, 0.5]
        .map(|side| apply_geotransform(geotransform, column + side * MEASURED_PART, row));
    let (measured, _said) = gdal_errors::listen(|| distance(wkt, ends));
    measured
        .map(|metres| metres / MEASURED_PART)
        .filter(|metres| metres.is_finite() && *metres > 0.0)
}

/// Metres between two near points of the system `wkt`.
fn distance(wkt: &str, ends: [[f64; 2]; 2]) -> Option<f64> {
    let mut crs = spatial_ref_of(wkt).ok()?;
    crs.set_axis_mapping_strategy(AxisMappingStrategy::TraditionalGisOrder);
    if crs.is_geocentric() {
        return None;
    }
    if crs.is_local() {
        // A plane that is nowhere on the body, such as a building's.
        let known = crs
            .linear_units_name()
            .is_some_and(|name| !name.eq_ignore_ascii_case("unknown"));
        let [[x, y], [to_x, to_y]] = ends;
        return known.then(|| (to_x - x).hypot(to_y - y) * crs.linear_units());
    }
    let radii = (crs.semi_major().ok()?, crs.semi_minor().ok()?);
    let (points, unit) = if crs.is_geographic() {
        (ends, crs.angular_units())
    } else {
        let mut geographic = crs.geog_cs().ok()?;
        geographic.set_axis_mapping_strategy(AxisMappingStrategy::TraditionalGisOrder);
        let ([mut x, mut y], way) = (
            [ends.map(|end| end[0]), ends.map(|end| end[1])],
            CoordTransform::new(&crs, &geographic).ok()?,
        );
        way.transform_coords(&mut x, &mut y, &mut []).ok()?;
        ([[x[0], y[0]], [x[1], y[1]]], geographic.angular_units())
    };
    let [start, end] = points.map(|point| point.map(|angle| angle * unit));
    let upright =
        |[lon, lat]: [f64; 2]| lon.is_finite() && lat.abs() <= std::f64::consts::FRAC_PI_2 + 1e-9;
    if ![start, end].into_iter().all(upright) {
        return None;
    }
    let metres = chord(radii, start, end);
    let least = if crs.is_geographic() {
        radii.0 * (end[0] - start[0]).abs() * SHORTEST_PARALLEL
    } else {
        0.0
    };
    (metres > least).then_some(metres)
}

/// The straight distance between two points on an ellipsoid of these radii, given as longitude and
/// latitude in radians. Of near points it is that along the surface, also across a pole or the
/// 180th meridian.
fn chord(radii: (f64, f64), start: [f64; 2], end: [f64; 2]) -> f64 {
    locate_in_space(radii, start)
        .into_iter()
        .zip(locate_in_space(radii, end))
        .map(|(from, to)| (to - from) * (to - from))
        .sum::<f64>()
        .sqrt()
}

/// A point of longitude and latitude in radians as metres from the centre of the ellipsoid.
fn locate_in_space((semi_major, semi_minor): (f64, f64), [lon, lat]: [f64; 2]) -> [f64; 3] {
    let squared = 1.0 - (semi_minor / semi_major).powi(2);
    let across = semi_major / (1.0 - squared * lat.sin().powi(2)).sqrt();
    [
        across * lat.cos() * lon.cos(),
        across * lat.cos() * lon.sin(),
        across * (1.0 - squared) * lat.sin(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raster::environment;

    /// Metres per column of a raster of this system at its pixel (50, 50).
    fn metres(crs: &str, geotransform: [f64; 6]) -> Option<f64> {
        let wkt = spatial_ref_of(crs)
            .expect("a coordinate system")
            .to_wkt()
            .expect("has WKT");
        let info = RasterInfo {
            crs_wkt: Some(wkt),
            geotransform: Some(geotransform),
            ..RasterInfo::default()
        };
        metres_per_column(&info, [50.0, 50.0])
    }

    #[track_caller]
    fn assert_near(found: Option<f64>, metres: f64) {
        let found = found.expect("has a scale");
        assert!(
            (found / metres - 1.0).abs() < 2e-4,
            "{found} instead of {metres}"
        );
    }

    #[test]
    fn degrees_are_measured_at_the_place_on_the_ellipsoid() {
        // One degree of longitude on WGS 84: 111 319.49 m at the equator, 55 800.2 m at 60 degrees
        // (NGA's table).
        assert_near(
            metres("EPSG:4326", [-50.0, 1.0, 0.0, 50.0, 0.0, -1.0]),
            111_319.49,
        );
        assert_near(
            metres("EPSG:4326", [-50.0, 1.0, 0.0, 65.0, 0.0, -0.1]),
            55_800.2,
        );
        // The whole globe in two columns.
        assert_near(
            metres(
                "EPSG:4326",
                [-180.0 - 48.0 * 180.0, 180.0, 0.0, 45.0, 0.0, -0.9],
            ),
            180.0 * 111_319.49,
        );
        // Grads.
        assert_near(
            metres("EPSG:4807", [0.0, 1.0, 0.0, 50.0, 0.0, -1.0]),
            100_187.5,
        );
    }

    #[test]
    fn projections_are_measured_on_the_ground() {
        // Web Mercator at 60 degrees north is half as long on the ground; UTM is 0.9996 at its
        // meridian.
        let y = 8_399_737.89;
        assert_near(
            metres("EPSG:3857", [0.0, 10.0, 0.0, y + 500.0, 0.0, -10.0]),
            10.0 * 55_800.2 / 111_319.49,
        );
        assert_near(
            metres(
                "EPSG:32632",
                [500_000.0 - 500.0, 10.0, 0.0, 5_000_000.0, 0.0, -10.0],
            ),
            10.0 / 0.9996,
        );
        // The centre of a polar stereographic raster is the pole, where the scale is 0.969 86 (that
        // at 70 degrees is 1).
        assert_near(
            metres(
                "EPSG:3413",
                [-50_000.0, 1000.0, 0.0, 50_000.0, 0.0, -1000.0],
            ),
            1031.08,
        );
        // Feet of New York; metres of the ellipsoid differ from those of the plane by less than 1
        // in 5000 there.
        assert_near(
            metres("EPSG:2263", [984_250.0, 10.0, 0.0, 200_000.0, 0.0, -10.0]),
            10.0 * 0.304_800_6,
        );
    }

    #[test]
    fn rotated_rasters_are_measured_along_their_rows() {
        let turned = 30f64.to_radians();
        let geotransform = [
            500_000.0,
            10.0 * turned.cos(),
            10.0 * turned.sin(),
            5e6,
            10.0 * turned.sin(),
            -10.0 * turned.cos(),
        ];
        assert_near(metres("EPSG:32632", geotransform), 10.0 / 0.9996);
    }

    #[test]
    fn other_bodies_have_their_own_radius() {
        let mars = "GEOGCS[\"Mars\",DATUM[\"Mars\",SPHEROID[\"Mars\",3396190,0]],PRIMEM[\"Airy-0\",\
            0],UNIT[\"degree\",0.0174532925199433]]";
        assert_near(
            metres(mars, [-50.0, 1.0, 0.0, 50.0, 0.0, -1.0]),
            3_396_190.0 * 1f64.to_radians(),
        );
        let europa = "+proj=eqc +R=1560800 +units=m";
        assert_near(
            metres(europa, [-5000.0, 100.0, 0.0, 5000.0, 0.0, -100.0]),
            100.0,
        );
    }

    #[test]
    fn what_is_nowhere_has_no_scale() {
        environment::init();
        let info = RasterInfo {
            geotransform: Some([0.0, 1.0, 0.0, 0.0, 0.0, -1.0]),
            ..RasterInfo::default()
        };
        assert_eq!(
            metres_per_column(&info, [0.5, 0.5]),
            None,
            "there is no coordinate system"
        );
        assert_eq!(
            metres(
                "EPSG:4326",
                [-180.0, 3.6, 0.0, 90.0 + 50.0 * 1.8, 0.0, -1.8]
            ),
            None,
            "the pole"
        );
        assert_eq!(
            metres("EPSG:4326", [-180.0, 3.6, 0.0, 300.0, 0.0, -1.8]),
            None,
            "beyond the pole"
        );
        assert_eq!(
            metres("EPSG:4978", [0.0, 1.0, 0.0, 0.0, 0.0, -1.0]),
            None,
            "geocentric"
        );
        assert_near(
            metres(
                "LOCAL_CS[\"Site\",UNIT[\"metre\",1]]",
                [0.0, 0.5, 0.0, 0.0, 0.0, -0.5],
            ),
            0.5,
        );
    }
}
