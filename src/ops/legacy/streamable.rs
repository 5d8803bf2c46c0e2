//! What a streamable dataset consists of (TACO 0.2, "TACO Optimized GeoTIFF (TOG) data object"):
//! every raster has to be a TOG. Asked before anything is written.

use arrow::array::AsArray;
use arrow::compute::cast;
use arrow::datatypes::DataType;
use rayon::prelude::*;

use crate::container::{RowSource, TortillaDraft, TortillaItem};
use crate::error::{Error, Result};
use crate::jobs::{JobContext, try_map};
use crate::model::AssetPath;
use crate::raster::{self, RasterSource};

/// Rasters that an error names.
const MAX_NAMES: usize = 5;

/// Checks every raster of a draft that is to be streamable. Files that are no rasters are counted
/// in a warning.
///
/// # Errors
/// [`Kind::Usage`](crate::error::Kind::Usage), with the first rasters and what they lack, when one
/// is no TOG.
pub fn need_togs(draft: &TortillaDraft, ctx: &JobContext) -> Result<()> {
    raster::tog_support()?;
    let mut files = Vec::new();
    collect(draft, "", &mut files);
    ctx.stage(
        tr!("Looking for optimized rasters"),
        Some(files.len() as u64),
    );
    let found: Vec<Option<Vec<String>>> = try_map(files.par_iter(), |_, (_, asset)| {
        ctx.check()?;
        let faults = match asset {
            Some(asset) => match raster::tog_faults(&RasterSource::member(asset.clone()), ctx) {
                Err(error) if error.is_cancelled() => return Err(error),
                faults => faults.ok(),
            },
            None => None,
        };
        ctx.step(1);
        Ok(faults)
    })?;
    let others = found.iter().filter(|faults| faults.is_none()).count();
    let wrong: Vec<(&str, &str)> = (files.iter().zip(&found))
        .filter_map(|((path, _), faults)| Some((path.as_str(), faults.as_ref()?.first()?.as_str())))
        .collect();
    if wrong.is_empty() {
        if others > 0 {
            ctx.warn(format!(
                "{others} files of this streamable dataset are no rasters: they have no chunks"
            ));
        }
        return Ok(());
    }
    let named: Vec<String> = wrong
        .iter()
        .take(MAX_NAMES)
        .map(|(path, fault)| format!("{path} ({})", fault.trim_end_matches('.')))
        .collect();
    let more = match wrong.len().saturating_sub(MAX_NAMES) {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    let message = format!(
        "a streamable dataset consists of TACO Optimized GeoTIFFs; these are none: {}{more}",
        named.join(", ")
    );
    Err(Error::usage(message)
        .hint("`optimise --stream` writes them anew with the same values")
        .hint("--allow-non-tog writes them as they are"))
}

/// Path and location of each FILE, in tree order; bytes in memory have no location.
fn collect(draft: &TortillaDraft, above: &str, files: &mut Vec<(String, Option<AssetPath>)>) {
    let ids = draft
        .footer
        .column_by_name("tortilla:id")
        .and_then(|ids| cast(ids, &DataType::Utf8).ok());
    let ids = ids.as_ref().and_then(|ids| ids.as_string_opt::<i32>());
    for (row, item) in draft.items.iter().enumerate() {
        let id = ids.map_or("", |ids| ids.value(row));
        let path = format!("{above}{id}");
        match item {
            TortillaItem::Nested(inner) => collect(inner, &format!("{path}/"), files),
            TortillaItem::Source(RowSource::Asset { path: asset, .. }) => {
                files.push((path, Some(asset.clone())))
            }
            TortillaItem::Source(_) => files.push((path, None)),
        }
    }
}
