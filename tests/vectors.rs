//! Vector samples: their places as other readers have them, and layers of several files as one.

use serde_json::{Value as Json, json};

use crate::support::{COLLECTION, Workspace};

/// What `tests/interop/vectors.py` prints, a value of JSON a line.
fn geopandas(workspace: &Workspace, arguments: &[&str]) -> Vec<Json> {
    let ran = workspace
        .catalogue_python("vectors.py", arguments)
        .expect_code(0);
    ran.stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

fn rows(workspace: &Workspace, sql: &str) -> Vec<Json> {
    let ran = workspace
        .studio(["query", "set.tacozip", "--json", "--sql", sql])
        .expect_code(0);
    ran.stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

fn are_close(one: &Json, other: &Json) -> bool {
    let numbers = |value: &Json| {
        value
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Json::as_f64)
            .collect::<Vec<_>>()
    };
    let (one, other) = (numbers(one), numbers(other));
    one.len() == other.len()
        && one
            .iter()
            .zip(&other)
            .all(|(a, b)| (a - b).abs() <= 1e-9 * b.abs().max(1.0))
}

#[test]
fn places_of_vector_files_are_those_of_geopandas() {
    let workspace = Workspace::new();
    let wanted = geopandas(&workspace, &["write", "fgb", "geojson", "gpkg"]);
    workspace.write("collection.json", COLLECTION);
    workspace
        .studio([
            "create",
            "scenes",
            "-o",
            "made.tacozip",
            "--collection",
            "collection.json",
        ])
        .expect_code(0);
    let options = r#"{"stac":{"time_start":"2024-01-01"},"istac":{"time_start":"2024-01-01"}}"#;
    let arguments = [
        "extend",
        "made.tacozip",
        "-o",
        "set.tacozip",
        "--with",
        "stac,istac",
        "--level",
        "1",
        "--options",
        options,
    ];
    let ran = workspace.studio(arguments).expect_code(0);
    assert!(
        ran.stdout.contains("0 failed") || !ran.stdout.contains("failed"),
        "{ran}"
    );
    let sql = r#"SELECT "stac:crs" AS crs, "istac:crs" AS icrs, ST_X("stac:centroid") AS x,
        ST_Y("stac:centroid") AS y,
        ST_XMin("istac:geometry") AS a, ST_YMin("istac:geometry") AS b,
        ST_XMax("istac:geometry") AS c, ST_YMax("istac:geometry") AS d,
        "stac:tensor_shape" AS shape, "stac:geotransform" AS grid FROM level1"#;
    let found = rows(&workspace, sql);
    assert_eq!(found.len(), wanted.len());
    for (found, wanted) in found.iter().zip(&wanted) {
        assert_eq!([&found["crs"], &found["icrs"]], [&wanted["crs"]; 2]);
        assert!(
            are_close(&json!([found["x"], found["y"]]), &wanted["centre"]),
            "{found} {wanted}"
        );
        assert!(
            are_close(
                &json!([found["a"], found["b"], found["c"], found["d"]]),
                &wanted["bounds"]
            ),
            "{found} {wanted}"
        );
        assert_eq!(
            [&found["shape"], &found["grid"]],
            [&Json::Null; 2],
            "a vector file has no grid"
        );
    }
}

#[test]
fn labels_have_no_pixels_and_a_scene_without_labels_has_no_place_which_is_no_failure() {
    let workspace = Workspace::new();
    workspace.write("collection.json", COLLECTION);
    let point = r#"{"type":"Feature","properties":{"a":1},"geometry":{"type":"Point",
        "coordinates":[-9,37]}}"#;
    for (scene, features) in [("one", point), ("two", "")] {
        let labels = format!(r#"{{"type":"FeatureCollection","features":[{features}]}}"#);
        workspace.write(&format!("scenes/{scene}/labels.geojson"), labels);
        crate::support::geotiff(
            &workspace.path(&format!("scenes/{scene}/image.tif")),
            1,
            32,
            7,
        );
    }
    workspace
        .studio([
            "create",
            "scenes",
            "-o",
            "made.tacozip",
            "--collection",
            "collection.json",
        ])
        .expect_code(0);
    let options = r#"{"stac":{"time_start":"2024-01-01"},"istac":{"time_start":"2024-01-01"}}"#;
    let ran = workspace.studio([
        "extend",
        "made.tacozip",
        "-o",
        "set.tacozip",
        "--with",
        "stac,istac,stats",
        "--level",
        "1",
        "--options",
        options,
    ]);
    let ran = ran.expect_code(0);
    assert!(
        ran.stderr.contains("the layers have no features")
            && ran.stderr.contains("vector layers and no pixels"),
        "{ran}"
    );
    let sql = r#"SELECT "stac:crs" AS crs, "stac:centroid" IS NULL AS nowhere,
        "geotiff:stats" IS NULL AS unknown FROM level1
        WHERE id = 'labels.geojson'"#;
    let crs = "EPSG:4326";
    let found = rows(&workspace, sql);
    assert_eq!(
        found[0],
        json!({"crs": crs, "nowhere": false, "unknown": true})
    );
    assert_eq!(
        found[1],
        json!({"crs": crs, "nowhere": true, "unknown": true})
    );
}

#[test]
fn a_shapefile_becomes_one_flatgeobuf() {
    let workspace = Workspace::new();
    geopandas(&workspace, &["write", "shp"]);
    workspace.write("collection.json", COLLECTION);
    let create = [
        "create",
        "scenes",
        "-o",
        "set.tacozip",
        "--collection",
        "collection.json",
    ];
    let refused = workspace.studio(create).expect_code(2);
    assert!(
        refused.stderr.contains("buildings.shp can't be read alone")
            && refused.stderr.contains("--sidecars burn-in"),
        "{refused}"
    );
    workspace
        .studio(create.into_iter().chain(["--sidecars", "burn-in"]))
        .expect_code(0);
    let set = workspace.path("set.tacozip");
    let ids = rows(&workspace, "SELECT id FROM level1");
    assert_eq!(
        ids,
        [json!({"id": "buildings.fgb"})],
        "one file in place of all"
    );
    let out = workspace.path("read.fgb");
    workspace.read_into(&set, "one/buildings.fgb", &out);
    let read = &geopandas(&workspace, &["read", "read.fgb"])[0];
    assert_eq!(read["crs"], "EPSG:32629");
    assert_eq!(
        [&read["class"], &read["n"]],
        [
            &json!(["house", "shed", "Scheune ü", "house"]),
            &json!([1, 2, 3, 4])
        ]
    );
    assert_eq!(read["height"], json!([7.5, 3.0, null, 8.25]));
    assert_eq!(
        read["bounds"][2],
        json!([500_900.0, 4_099_160.0, 500_960.0, 4_099_200.0])
    );
    assert!(are_close(
        &read["area"],
        &json!([2400.0, 2400.0, 2400.0, 2400.0])
    ));
    // The same bytes each time.
    workspace
        .studio(
            create
                .into_iter()
                .chain(["--sidecars", "burn-in", "--overwrite"]),
        )
        .expect_code(0);
    let again = workspace.path("again.fgb");
    workspace.read_into(&set, "one/buildings.fgb", &again);
    assert!(std::fs::read(&out).expect("reads") == std::fs::read(&again).expect("reads"));
}
