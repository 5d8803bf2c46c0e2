//! The code of a coordinate system: as its definition states it, or as it is found in the database
//! of PROJ.

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::{Mutex, PoisonError};

use gdal::spatial_ref::SpatialRef;

/// The authority code in the definition; else the EPSG code that GDAL identifies (UTM and
/// well-known geographic systems only), or the code of any authority in the database of PROJ whose
/// system has the same name and definition: GeoTIFF names no code for systems of ESRI.
pub(super) fn crs_code(srs: &SpatialRef) -> Option<String> {
    srs.authority().ok().or_else(|| {
        let mut copy = srs.clone();
        match copy.auto_identify_epsg() {
            Ok(()) => copy.authority().ok(),
            Err(_) => matched_code(srs),
        }
    })
}

/// [`best_match`] by WKT: many rasters of a dataset have the same system, and a search takes
/// milliseconds.
fn matched_code(srs: &SpatialRef) -> Option<String> {
    /// Definitions that are kept.
    const KEPT: usize = 256;
    static KNOWN: Mutex<BTreeMap<String, Option<String>>> = Mutex::new(BTreeMap::new());
    let wkt = srs.to_wkt().ok()?;
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(code) = known().get(&wkt) {
        return code.clone();
    }
    let code = best_match(srs);
    let mut known = known();
    if known.len() >= KEPT {
        known.clear();
    }
    known.insert(wkt, code.clone());
    code
}

/// The code of the only system in the database of PROJ that equals `srs` in name and definition; of
/// several, that of EPSG.
fn best_match(srs: &SpatialRef) -> Option<String> {
    /// GDAL's measure of a match in name and definition.
    const EQUAL: c_int = 100;
    let (mut count, mut confidences) = (0, std::ptr::null_mut());
    // Safety: `srs` lives during the call; options may be NULL; GDAL returns arrays of `count`
    // entries, which are freed below.
    let matches = unsafe {
        gdal_sys::OSRFindMatches(
            srs.to_c_hsrs(),
            std::ptr::null_mut(),
            &raw mut count,
            &raw mut confidences,
        )
    };
    let mut codes = Vec::new();
    if !matches.is_null() && !confidences.is_null() {
        for index in 0..usize::try_from(count).unwrap_or(0) {
            // Safety: `index` is below the number of entries; the copy that `from_c_obj` makes
            // outlives the array.
            let (confidence, found) = unsafe {
                (
                    *confidences.add(index),
                    SpatialRef::from_c_obj(*matches.add(index)),
                )
            };
            if confidence == EQUAL {
                codes.extend(found.and_then(|found| found.authority()));
            }
        }
    }
    // Safety: both come from GDAL, and NULL is allowed.
    unsafe {
        if !matches.is_null() {
            gdal_sys::OSRFreeSRSArray(matches);
        }
        gdal_sys::VSIFree(confidences.cast());
    }
    match codes.as_slice() {
        [only] => Some(only.clone()),
        several => several
            .iter()
            .find(|code| code.starts_with("EPSG:"))
            .cloned(),
    }
}
