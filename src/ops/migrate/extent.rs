//! The box of a migrated collection against its samples: tools of the first generation have left
//! whole hemispheres out. Pure.

use serde_json::{Value as Json, json};

use super::collection_mapping::{CollectionMapping, FieldAction};
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
            note: tr!("widened: samples are outside the old box").into(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_change_is_told_once_and_the_times_stay() {
        let mut collection = Collection::default();
        collection.set(
            "extent",
            Some(json!({ "spatial": [0, 0, 1, 1], "temporal": ["a", "b"] })),
        );
        let samples = json!({ "spatial": [-3.0, 0.0, 1.0, 1.0], "temporal": null });
        let mut lines = Vec::new();
        cover_samples(&mut collection, Some(&samples), &mut lines);
        cover_samples(&mut collection, Some(&samples), &mut lines);
        cover_samples(&mut collection, None, &mut lines);
        assert_eq!(
            collection.get("extent"),
            Some(&json!({ "spatial": [-3.0, 0.0, 1.0, 1.0], "temporal": ["a", "b"] }))
        );
        assert_eq!((lines.len(), lines[0].action), (1, FieldAction::Changed));
    }
}
