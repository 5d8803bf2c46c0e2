//! The sample dataset: what it holds, and what there is to find in it.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};
use taco_studio::container::raster_source;
use taco_studio::jobs::JobContext;
use taco_studio::model::AssetPath;
use taco_studio::raster::{describe, tally};

use crate::support::Workspace;

fn rows(workspace: &Workspace, sql: &str) -> Vec<Json> {
    let ran = workspace
        .studio(["query", "made/sample.tacozip", "--json", "--sql", sql])
        .expect_code(0);
    ran.stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

#[test]
fn the_sample_has_several_landscapes_sensors_and_a_leak_and_is_valid() {
    let workspace = Workspace::new();
    workspace.studio(["sample", "made"]).expect_code(0);
    let checked = workspace
        .studio(["validate", "made/sample.tacozip", "--deep", "--json"])
        .expect_code(0)
        .json();
    assert_eq!(checked["findings"], json!([]), "{checked}");
    let found = rows(
        &workspace,
        "SELECT landscape, count(*) AS n, max(water_fraction) AS water FROM level0 GROUP BY \
            landscape",
    );
    let names: BTreeSet<&str> = found
        .iter()
        .filter_map(|row| row["landscape"].as_str())
        .collect();
    assert_eq!(
        names,
        [
            "city",
            "coast",
            "delta",
            "fields",
            "forest",
            "lake",
            "mountains"
        ]
        .into()
    );
    assert_eq!(
        found
            .iter()
            .filter_map(|row| row["n"].as_u64())
            .sum::<u64>(),
        24
    );
    let flooded = |name: &str| {
        found.iter().any(|row| {
            row["landscape"] == name && row["water"].as_f64().is_some_and(|part| part > 0.03)
        })
    };
    assert!(
        flooded("fields") && flooded("delta") && flooded("city") && !flooded("mountains"),
        "{found:?}"
    );
    let clouds = &rows(
        &workspace,
        "SELECT max(cloud_cover) AS most, median(cloud_cover) AS middle FROM level0",
    )[0];
    assert!(
        clouds["most"].as_f64() > Some(40.0) && clouds["middle"].as_f64() < Some(5.0),
        "{clouds}"
    );
    let files = rows(&workspace, "SELECT DISTINCT id FROM level1 ORDER BY id");
    let files: Vec<&str> = files.iter().filter_map(|row| row["id"].as_str()).collect();
    assert_eq!(
        files,
        [
            "after.tif",
            "before.tif",
            "label.tif",
            "outlines.geojson",
            "radar.tif",
            "terrain.tif"
        ]
    );
    let leaked = workspace
        .studio(["leakage", "made/sample.tacozip", "--json"])
        .expect_code(1)
        .json();
    let pairs = leaked["footprints"].as_array().expect("a list");
    assert_eq!(pairs.len(), 1, "{leaked}");
    assert_eq!(
        (&pairs[0]["pairs"], &pairs[0]["parts"]),
        (&json!(1), &json!(["test", "train"])),
        "{leaked}"
    );
    assert!(
        (pairs[0]["examples"][0]["overlap"]
            .as_f64()
            .expect("a share")
            - 0.75)
            .abs()
            < 0.01,
        "{leaked}"
    );
}

#[test]
fn one_radar_picture_of_the_sample_has_an_empty_region() {
    let workspace = Workspace::new();
    workspace.studio(["sample", "made"]).expect_code(0);
    let valid = |scene: &str| {
        let file = workspace.path(&format!("made/scenes/{scene}/radar.tif"));
        let source = raster_source(&AssetPath::file(file));
        assert_eq!(describe(&source).expect("a raster").bands.len(), 2);
        let ctx = JobContext::default();
        let summary = tally(&source, &ctx)
            .and_then(|tally| tally.summary(0, &[], &ctx))
            .expect("its pixels");
        summary.map_or(0.0, |band| band.valid_percent)
    };
    assert_eq!(valid("danube_0002"), 100.0);
    assert!((30.0..70.0).contains(&valid("danube_0003")));
}

/// Polygons, lines and points, each inside of its scene.
#[test]
fn outlines_of_the_sample_are_where_their_scenes_are() {
    let workspace = Workspace::new();
    workspace.studio(["sample", "made"]).expect_code(0);
    let mut kinds = BTreeSet::new();
    for scene in std::fs::read_dir(workspace.path("made/scenes")).expect("the scenes") {
        let folder = scene.expect("a folder").path();
        let [picture, outlines] = ["before.tif", "outlines.geojson"]
            .map(|name| raster_source(&AssetPath::file(folder.join(name))));
        let plane =
            taco_studio::raster::PixelPlane::of_raster(&describe(&picture).expect("a raster"))
                .expect("has a place");
        let found = taco_studio::raster::read_features(&outlines, &plane, &JobContext::default())
            .expect("features");
        let [layer] = found.layers.as_slice() else {
            panic!("{found:?}")
        };
        assert!(!layer.features.is_empty(), "{}", folder.display());
        for feature in &layer.features {
            kinds.extend(feature.values[0].clone());
            let shape = &feature.shape;
            let inside = |[column, row]: &[f64; 2]| {
                (-3.0..=259.0).contains(column) && (-3.0..=259.0).contains(row)
            };
            assert!(
                shape
                    .points
                    .iter()
                    .chain(shape.lines.iter().flatten())
                    .chain(shape.rings.iter().flatten())
                    .all(inside),
                "{}: {feature:?}",
                folder.display()
            );
        }
    }
    let wanted = json!([
        "burnt area",
        "channel",
        "field",
        "lake",
        "park",
        "shore",
        "summit"
    ]);
    assert_eq!(json!(kinds), wanted);
}
