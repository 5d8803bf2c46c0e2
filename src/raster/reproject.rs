//! Points of any coordinate system as longitude and latitude. The system is named as people name it: a code, WKT or PROJ.

use std::ffi::CString;

use gdal::spatial_ref::{AxisMappingStrategy, CoordTransform, SpatialRef};

use super::{environment, messages};
use crate::error::{Error, Result};

/// Points of `crs` (`EPSG:32718`, WKT, PROJ) as longitude and latitude in degrees (EPSG:4326, in this order), longitudes within
/// ±180. `None` for a point that has no place on Earth; an error for an unknown system.
pub fn to_lonlat_from(crs: &str, points: &[[f64; 2]]) -> Result<Vec<Option<[f64; 2]>>> {
    environment::init();
    let (transformed, said) = messages::listen(|| {
        let mut from = from_definition(crs)?;
        let mut to = SpatialRef::from_epsg(4326)?;
        from.set_axis_mapping_strategy(AxisMappingStrategy::TraditionalGisOrder);
        to.set_axis_mapping_strategy(AxisMappingStrategy::TraditionalGisOrder);
        let way = CoordTransform::new(&from, &to)?;
        let one = |point: &[f64; 2]| {
            let (mut x, mut y) = ([point[0]], [point[1]]);
            way.transform_coords(&mut x, &mut y, &mut []).ok()?;
            let [longitude, latitude] = [x[0], y[0]];
            let sound = longitude.is_finite() && (-90.0..=90.0).contains(&latitude);
            sound.then_some([around(longitude), latitude])
        };
        Ok(points.iter().map(one).collect())
    });
    transformed.map_err(|error: gdal::errors::GdalError| {
        let summary = Error::usage(format!("the coordinate system {} is not known", shortened(crs)));
        messages::because(summary, &said, Some(&error)).hint("write it as EPSG:4326, WKT or PROJ")
    })
}

/// A system by its code, WKT, PROJ or JSON. GDAL would take an address or the name of a file, too, and read what is there: a column of a
/// dataset can hold either.
fn from_definition(crs: &str) -> gdal::errors::Result<SpatialRef> {
    let definition = CString::new(crs)?;
    let known = SpatialRef::new()?;
    let options = [c"ALLOW_NETWORK_ACCESS=NO".as_ptr(), c"ALLOW_FILE_ACCESS=NO".as_ptr(), std::ptr::null()];
    // Safety: a handle that lives during the call, a C string, and a list of C strings that ends with NULL.
    let code =
        unsafe { gdal_sys::OSRSetFromUserInputEx(known.to_c_hsrs(), definition.as_ptr(), options.as_ptr().cast_mut().cast()) };
    match code {
        gdal_sys::OGRErr::OGRERR_NONE => Ok(known),
        err => Err(gdal::errors::GdalError::OgrError { err, method_name: "OSRSetFromUserInputEx" }),
    }
}

/// True for systems that count in degrees, however they are named (`OGC:CRS84`, `EPSG:4258`); false for one that nobody knows.
pub fn is_geographic(crs: &str) -> bool {
    environment::init();
    let (known, _said) = messages::listen(|| from_definition(crs));
    known.is_ok_and(|known| known.is_geographic())
}

/// A longitude beyond the antimeridian, on its other side. ±180 stays as it is.
fn around(longitude: f64) -> f64 {
    if (-180.0..=180.0).contains(&longitude) { longitude } else { (longitude + 180.0).rem_euclid(360.0) - 180.0 }
}

fn shortened(crs: &str) -> String {
    if crs.chars().count() <= 60 { crs.to_owned() } else { crs.chars().take(60).chain(['…']).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn degrees_are_known_under_every_name() {
        for crs in ["EPSG:4326", "OGC:CRS84", "EPSG:4258", "EPSG:4269", "+proj=longlat +datum=WGS84"] {
            assert!(is_geographic(crs), "{crs}");
        }
        for crs in ["EPSG:32632", "EPSG:3857", "EPSG:999999"] {
            assert!(!is_geographic(crs), "{crs}");
        }
    }

    #[test]
    fn systems_are_named_in_several_ways() {
        for crs in ["EPSG:32618", "+proj=utm +zone=18 +datum=WGS84"] {
            let place = to_lonlat_from(crs, &[[500_000.0, 0.0]]).expect("knows it")[0].expect("has a place");
            assert!((place[0] + 75.0).abs() < 1e-9 && place[1].abs() < 1e-9, "{crs}: {place:?}");
        }
        assert!(to_lonlat_from("EPSG:999999", &[]).is_err());
        assert_eq!(to_lonlat_from("EPSG:4326", &[[190.0, 10.0]]).expect("knows it"), [Some([-170.0, 10.0])]);
        assert_eq!(to_lonlat_from("EPSG:4326", &[[0.0, f64::NAN]]).expect("knows it"), [None]);
    }
}
