//! Extensions that need all samples of a level: grids, groups, splits, hashes, attributes by
//! location. Each is a pure function of coordinates, sizes or payloads, and deterministic.

pub(super) mod columns;
pub mod content_hash;
pub mod countries;
mod entries;
pub mod geo_enrichment;
pub mod majortom;
mod name_columns;
mod polygons;
pub mod rai_presets;
pub mod spatial_grouping;
pub mod split_assignment;

pub use entries::ENTRIES;

use super::{SampleView, TortillaView};
use crate::container::middle_of;
use crate::error::{Error, Result};
use crate::footprint::{
    CENTROID_COLUMNS, Detail, GEOMETRY_COLUMNS, GRIDS, StatedLocation, StatedLocationReader,
    Unfolded, resolve,
};
use crate::jobs::JobContext;
use crate::model::Value;
use crate::table::wkb_point;

/// `[longitude, latitude]` in degrees from a value of [`CENTROID_COLUMNS`]; `None` for anything but
/// a point with valid coordinates.
pub fn place_of(value: &Value) -> Option<[f64; 2]> {
    match value {
        Value::Bytes(bytes) => wkb_point(bytes)
            .map(|(lon, lat)| [lon, lat])
            .filter(on_earth),
        Value::Text(text) => wkb_point(text.as_bytes())
            .map(|(lon, lat)| [lon, lat])
            .filter(on_earth),
        _ => None,
    }
}

/// Location of each sample of a level: its centroid, else the middle of its footprint.
///
/// # Errors
/// When the level has no column with locations, or the job is cancelled.
fn places_in(tortilla: &TortillaView<'_>, ctx: &JobContext) -> Result<Vec<Option<[f64; 2]>>> {
    let has = |name: &str| tortilla.field(name).is_some();
    let drawn = GEOMETRY_COLUMNS
        .into_iter()
        .chain(GRIDS.iter().map(|grid| grid.transform))
        .any(has);
    if !tortilla.is_empty() && !drawn && !CENTROID_COLUMNS.into_iter().any(has) {
        let error = Error::invalid(format!(
            "level {} has no column stac:centroid or istac:centroid",
            tortilla.level
        ));
        return Err(error.hint("run the STAC or ISTAC extension first"));
    }
    let mut places: Vec<Option<[f64; 2]>> = tortilla.samples.iter().map(read_centroid).collect();
    let open: Vec<usize> = (0..places.len())
        .filter(|&at| drawn && places[at].is_none())
        .collect();
    let reader = StatedLocationReader::default();
    let rows: Vec<StatedLocation> = open
        .iter()
        .map(|&at| reader.read(&|name| tortilla.samples[at].value(name)))
        .collect();
    for (at, found) in open
        .into_iter()
        .zip(resolve(&rows, Detail::Corners, Unfolded::bounds, ctx)?)
    {
        places[at] = found.flatten().map(middle_of).filter(on_earth);
    }
    Ok(places)
}

fn read_centroid(sample: &SampleView<'_>) -> Option<[f64; 2]> {
    CENTROID_COLUMNS
        .iter()
        .find_map(|name| place_of(&sample.value(name)))
}

/// True for finite coordinates within ±180 and ±90 degrees.
pub fn on_earth(place: &[f64; 2]) -> bool {
    place[0].abs() <= 180.0 && place[1].abs() <= 90.0
}
