//! The box of a migrated collection against its samples: tools of the first generation have left
//! whole hemispheres out. Pure.

use serde_json::{Value as Json, json};

use super::collection::{CollectionMapping, FieldAction};
use super::joined_extent::join_extents;
use crate::footprint::box_of_extent;
use crate::model::Collection;

/// Widens the collection's box until it holds that of the samples, and adds the line that says so.
/// A collection without a box is left alone: it gets one when it is written.
pub fn cover_samples(
    collection: &mut Collection,
    samples: Option<&Json>,
    lines: &mut Vec<CollectionMapping>,
) {
    let (Some(old), Some(found)) = (
        collection.get("extent").and_then(box_of_extent),
        samples.and_then(box_of_extent),
    ) else {
        return;
    };
    let wide = join_extents(old, found);
    if wide == old {
        return;
    }
    if let Some(extent) = collection
        .fields
        .get_mut("extent")
        .and_then(Json::as_object_mut)
    {
        extent.insert("spatial".into(), json!(wide));
        lines.push(CollectionMapping {
            from: "extent/spatial".into(),
            to: Some("extent".into()),
            action: FieldAction::Changed,
            old: json!(old),
            new: json!(wide),
            note: tr!("widened: samples lie outside the old box").into(),
        });
    }
}
