//! Statistics of GeoTIFFs, which "are computed automatically" (TACO 0.2, section STATS): in the
//! form of the specification a TACO has them without an option.

use std::borrow::Cow;
use std::path::Path;

use serde_json::json;

use super::columns::STATISTICS;
use crate::error::Result;
use crate::extensions::{CallTarget, ExtensionCall};
use crate::jobs::JobContext;
use crate::model::{AssetPath, Dataset, Payload, Tortilla, list_tortillas_below};
use crate::ops::extend_draft;

/// The draft with `stats:mean`, `stats:min`, `stats:max` and `stats:std` on the levels with
/// GeoTIFFs that have no statistics. GeoTIFFs that can't be read are a warning, and have nulls.
///
/// # Errors
/// When the job is cancelled.
pub(super) fn with_statistics<'a>(
    dataset: &'a Dataset,
    ctx: &JobContext,
) -> Result<Cow<'a, Dataset>> {
    let levels = (0..dataset.depth()).filter(|&level| {
        let tortillas = tortillas_of(&dataset.root, level);
        tortillas.iter().any(|tortilla| has_geotiffs(tortilla))
            && !tortillas.iter().any(|tortilla| has_statistics(tortilla))
    });
    let calls: Vec<ExtensionCall> = levels.map(make_statistics_call).collect();
    if calls.is_empty() {
        return Ok(Cow::Borrowed(dataset));
    }
    let extended = extend_draft(dataset, &calls, false, ctx)?;
    let mut unread = extended.failures.iter().filter(|failure| {
        failure
            .path
            .0
            .last()
            .is_some_and(|id| is_geotiff(Path::new(&**id)))
    });
    if let Some(first) = unread.next() {
        let more = unread.count();
        ctx.warn(format!(
            "no statistics of {} and {more} more GeoTIFFs: {}",
            first.path, first.error
        ));
    }
    let mut dataset = dataset.clone();
    for edit in extended.outcome {
        edit.apply(&mut dataset)?;
    }
    Ok(Cow::Owned(dataset))
}

fn make_statistics_call(level: usize) -> ExtensionCall {
    ExtensionCall {
        extension: "stats".into(),
        options: json!({ "fields": "stats" }),
        target: CallTarget {
            level,
            ..CallTarget::default()
        },
        schema_only: false,
    }
}

/// The tortillas whose samples are on this level.
fn tortillas_of(root: &Tortilla, level: usize) -> Vec<&Tortilla> {
    let mut tortillas = vec![root];
    for _ in 0..level {
        tortillas = list_tortillas_below(&tortillas);
    }
    tortillas
}

fn has_statistics(tortilla: &Tortilla) -> bool {
    STATISTICS
        .iter()
        .chain(&["geotiff:stats"])
        .any(|name| tortilla.field(name).is_some())
}

fn has_geotiffs(tortilla: &Tortilla) -> bool {
    tortilla.samples.iter().any(|sample| match &sample.payload {
        Payload::Asset {
            path: AssetPath::File(path),
            ..
        } => is_geotiff(path) || is_geotiff(Path::new(&*sample.id)),
        Payload::Asset { .. } => is_geotiff(Path::new(&*sample.id)),
        Payload::Folder(_) | Payload::Bytes(_) => false,
    })
}

/// True for the name of a GeoTIFF; the extension reads what is there.
fn is_geotiff(path: &Path) -> bool {
    path.extension().is_some_and(|ending| {
        ["tif", "tiff"]
            .iter()
            .any(|known| ending.eq_ignore_ascii_case(known))
    })
}
