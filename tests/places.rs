//! Places of samples through the command line: what is exported, found by boxes, validated and
//! written as extent, for coordinate systems that bend, cross the antimeridian and hold poles.
//! Coordinates are held against pyproj and shapely.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, TimeUnit};
use geo::{Geometry, GeometryCollection, LineString, Point, Polygon};
use serde_json::{Value as Json, json};
use taco_studio::container::{BuildOptions, Format, OnDamage};
use taco_studio::jobs::JobContext;
use taco_studio::model::{Collection, Dataset, FieldSpec, Rule, Sample, Tortilla, Value};
use taco_studio::ops::checked_build;
use taco_studio::table::{ParquetOptions, write_wkb};

use crate::interop::expect_ok;
use crate::support::Workspace;

/// The rules covered by this file.
pub fn rules() -> [Rule; 4] {
    [
        Rule::PlaceRange,
        Rule::ExtentTimes,
        Rule::ExtentMiddles,
        Rule::ExtentGlobal,
    ]
}

/// A sample: its id, and what it says about its place.
enum Place {
    Drawn(&'static str, Geometry<f64>),
    Grid(&'static str, [f64; 6], [i64; 2]),
    Nowhere,
}

fn ring(corners: &[(f64, f64)]) -> Geometry<f64> {
    Geometry::Polygon(Polygon::new(LineString::from(corners.to_vec()), Vec::new()))
}

fn square(x: f64, y: f64, side: f64) -> Geometry<f64> {
    ring(&[(x, y), (x + side, y), (x + side, y + side), (x, y + side)])
}

/// A ZIP with samples of every kind that pyproj can judge, or with those of these ids.
pub fn dataset_of_kinds(workspace: &Workspace, name: &str, ids: Option<&[&str]>) -> PathBuf {
    let mut kinds = places();
    kinds.retain(|(id, _)| ids.is_none_or(|ids| ids.contains(id)));
    written(workspace, name, &dataset(workspace, &kinds, None))
}

/// Samples of every kind that pyproj can judge.
fn places() -> Vec<(&'static str, Place)> {
    vec![
        (
            "utm_drawn",
            Place::Drawn("EPSG:32630", square(-200_000.0, 4_400_000.0, 102_000.0)),
        ),
        (
            "utm_grid",
            Place::Grid(
                "EPSG:32718",
                [300_000.0, 10.0, 0.0, 9_000_000.0, 0.0, -10.0],
                [10_980, 10_980],
            ),
        ),
        (
            "utm_small",
            Place::Grid(
                "EPSG:32632",
                [600_000.0, 10.0, 0.0, 6_700_000.0, 0.0, -10.0],
                [256, 256],
            ),
        ),
        (
            "antimeridian",
            Place::Grid(
                "EPSG:32760",
                [780_000.0, 100.0, 0.0, 8_000_000.0, 0.0, -100.0],
                [1000, 1000],
            ),
        ),
        (
            "arctic",
            Place::Grid("EPSG:3413", [-1e6, 1e4, 0.0, 1.2e6, 0.0, -1e4], [200, 200]),
        ),
        (
            "antarctic",
            Place::Drawn("EPSG:3031", square(-1.5e6, -1e6, 3e6)),
        ),
        (
            "arctic_beside",
            Place::Grid("EPSG:3413", [2e5, 1e3, 0.0, 1.2e6, 0.0, -1e3], [500, 500]),
        ),
        (
            "greenland_seam",
            Place::Grid(
                "EPSG:3413",
                [-1.2e6, 1e3, 0.0, 1.3e6, 0.0, -1e3],
                [600, 600],
            ),
        ),
        (
            "rotated",
            Place::Grid(
                "EPSG:32633",
                [500_000.0, 30.0, 17.0, 5_000_000.0, 17.0, -30.0],
                [500, 700],
            ),
        ),
        (
            "clockwise",
            Place::Drawn(
                "EPSG:4326",
                ring(&[(5.0, 5.0), (5.0, 6.0), (6.0, 6.0), (6.0, 5.0)]),
            ),
        ),
        (
            "lambert",
            Place::Grid("EPSG:3035", [3.5e6, 1e3, 0.0, 4e6, 0.0, -1e3], [1000, 1000]),
        ),
        (
            "world",
            Place::Grid("EPSG:4326", [-180.0, 0.5, 0.0, 90.0, 0.0, -0.5], [360, 720]),
        ),
        (
            "pacific",
            Place::Grid(
                "EPSG:4326",
                [150.0, 0.25, 0.0, 30.0, 0.0, -0.25],
                [200, 300],
            ),
        ),
        (
            "track",
            Place::Drawn(
                "EPSG:32618",
                LineString::from(vec![(4e5, 1e6), (5e5, 1.2e6), (6e5, 1.1e6)]).into(),
            ),
        ),
        (
            "station",
            Place::Drawn("EPSG:32618", Point::new(450_000.0, 1_000_000.0).into()),
        ),
    ]
}

fn point(x: f64, y: f64) -> Value {
    Value::Bytes(write_wkb(&Point::new(x, y).into()).into())
}

fn dataset(
    workspace: &Workspace,
    places: &[(&'static str, Place)],
    centroid: Option<[f64; 2]>,
) -> Dataset {
    let list = |dtype| DataType::List(Arc::new(Field::new("item", dtype, true)));
    let time = DataType::Timestamp(TimeUnit::Microsecond, None);
    let schema: Arc<[FieldSpec]> = Arc::from([
        FieldSpec::new("istac:crs", DataType::Utf8),
        FieldSpec::new("istac:geometry", DataType::Binary),
        FieldSpec::new("stac:crs", DataType::Utf8),
        FieldSpec::new("stac:geotransform", list(DataType::Float64)),
        FieldSpec::new("stac:tensor_shape", list(DataType::Int64)),
        FieldSpec::new("stac:centroid", DataType::Binary),
        FieldSpec::new("stac:time_start", time.clone()),
        FieldSpec::new("stac:time_middle", time.clone()),
        FieldSpec::new("stac:time_end", time),
    ]);
    const DAY: i64 = 86_400_000_000;
    let mut samples = Vec::new();
    for (number, (id, place)) in places.iter().enumerate() {
        let path = workspace.write(&format!("sources/{id}"), id.as_bytes());
        let mut values = vec![Value::Null; schema.len()];
        match place {
            Place::Drawn(crs, geometry) => {
                values[0] = Value::text(crs);
                values[1] = Value::Bytes(write_wkb(geometry).into());
            }
            Place::Grid(crs, transform, [rows, columns]) => {
                values[2] = Value::text(crs);
                values[3] = Value::List(transform.map(Value::Float).into());
                values[4] = Value::List([1, *rows, *columns].map(Value::Int).into());
            }
            Place::Nowhere => {}
        }
        if let Some([x, y]) = centroid {
            values[5] = point(x, y);
        }
        let day = number as i64 * DAY;
        values[6..9].clone_from_slice(&[
            Value::Int(day),
            Value::Int(day + DAY),
            Value::Int(day + 2 * DAY),
        ]);
        samples.push(Sample {
            values: values.into(),
            ..Sample::new_file(id, path, id.len() as u64)
        });
    }
    let mut collection = Collection::template();
    for (key, value) in [
        ("id", json!("places")),
        ("description", json!("Samples all over the Earth.")),
        ("licenses", json!(["CC-BY-4.0"])),
        (
            "providers",
            json!([{"name": "Tests", "roles": ["producer"]}]),
        ),
        ("tasks", json!(["classification"])),
        ("keywords", json!(["test"])),
    ] {
        collection.set(key, Some(value));
    }
    Dataset {
        collection,
        root: Arc::new(Tortilla { schema, samples }),
    }
}

fn written(workspace: &Workspace, name: &str, dataset: &Dataset) -> PathBuf {
    written_as(workspace, name, dataset, Format::Zip)
}

fn written_as(workspace: &Workspace, name: &str, dataset: &Dataset, format: Format) -> PathBuf {
    let target = workspace.path(name);
    let options = BuildOptions {
        text_columns: false,
        align_blocks: false,
        target: target.clone(),
        format,
        parquet: ParquetOptions::default(),
        overwrite: true,
        parts: None,
        on_damage: OnDamage::Stop,
    };
    checked_build(dataset, &options, &JobContext::default()).expect("is written");
    target
}

fn describe(workspace: &Workspace, dataset: &Path, form: &str, output: &Path) {
    let arguments = [
        "describe".as_ref(),
        dataset.as_os_str(),
        "--as".as_ref(),
        form.as_ref(),
        "-o".as_ref(),
        output.as_os_str(),
    ];
    workspace
        .studio(
            [
                &arguments[..],
                &[
                    "--overwrite".as_ref(),
                    "--url".as_ref(),
                    "https://example.org/data".as_ref(),
                ],
            ]
            .concat(),
        )
        .expect_code(0);
}

fn found(workspace: &Workspace, dataset: &Path, more: &[&str]) -> Vec<String> {
    let fixed = [
        "query".as_ref(),
        dataset.as_os_str(),
        "--json".as_ref(),
        "--sql".as_ref(),
        "SELECT id FROM data".as_ref(),
    ];
    let ran = workspace
        .studio(
            [
                &fixed[..],
                &more.iter().map(|text| text.as_ref()).collect::<Vec<_>>(),
            ]
            .concat(),
        )
        .expect_code(0);
    ran.stdout
        .lines()
        .filter_map(|line| {
            Some(
                serde_json::from_str::<Json>(line).ok()?["id"]
                    .as_str()?
                    .to_owned(),
            )
        })
        .collect()
}

fn found_rules(workspace: &Workspace, dataset: &Path, deep: bool) -> Vec<String> {
    let mut arguments = vec!["validate".as_ref(), dataset.as_os_str(), "--json".as_ref()];
    if deep {
        arguments.push("--deep".as_ref());
    }
    let report = workspace.studio(arguments).json();
    let findings = report["findings"].as_array().expect("findings");
    findings
        .iter()
        .filter_map(|finding| finding["rule"].as_str().map(str::to_owned))
        .collect()
}

fn collection_of(workspace: &Workspace, dataset: &Path) -> Json {
    workspace
        .studio(["inspect".as_ref(), dataset.as_os_str(), "--json".as_ref()])
        .expect_code(0)
        .json()["collection"]
        .clone()
}

/// The expectation of `places.py`: shapes in their own systems.
fn expected(places: &[(&'static str, Place)]) -> Json {
    let shape = |place: &Place| match place {
        Place::Drawn(crs, Geometry::Polygon(polygon)) => {
            json!({ "crs": crs, "type": "Polygon",
                "coordinates": polygon.exterior().coords().map(|at| [at.x,
                    at.y]).collect::<Vec<_>>() })
        }
        Place::Drawn(crs, Geometry::LineString(line)) => {
            json!({
                "crs": crs,
                "type": "LineString",
                "coordinates": line.coords().map(|at| [at.x, at.y]).collect::<Vec<_>>(),
            })
        }
        Place::Drawn(crs, Geometry::Point(point)) => {
            json!({ "crs": crs, "type": "Point", "coordinates": [[point.x(), point.y()]] })
        }
        Place::Grid(crs, t, [rows, columns]) => {
            let (rows, columns) = (*rows as f64, *columns as f64);
            let at = |column: f64, row: f64| {
                [
                    t[0] + column * t[1] + row * t[2],
                    t[3] + column * t[4] + row * t[5],
                ]
            };
            let corners = [
                at(0.0, 0.0),
                at(0.0, rows),
                at(columns, rows),
                at(columns, 0.0),
            ];
            json!({ "crs": crs, "type": "Polygon", "coordinates": corners })
        }
        other => panic!("no shape: {}", matches!(other, Place::Nowhere)),
    };
    places
        .iter()
        .map(|(id, place)| ((*id).to_owned(), shape(place)))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

#[test]
fn exported_footprints_are_those_of_pyproj() {
    let workspace = Workspace::new();
    let all = places();
    let file = written(
        &workspace,
        "places.tacozip",
        &dataset(&workspace, &all, None),
    );
    for (form, name) in [
        ("geoparquet", "samples.parquet"),
        ("stac-geoparquet", "items.parquet"),
        ("croissant", "croissant.json"),
    ] {
        let output = workspace.path(name);
        describe(&workspace, &file, form, &output);
        workspace
            .catalogue_python("catalogues.py", [form.as_ref(), output.as_os_str()])
            .expect_code(0);
    }
    let stac = workspace.path("stac");
    describe(&workspace, &file, "stac", &stac);
    workspace
        .catalogue_python("catalogues.py", ["stac".as_ref(), stac.as_os_str()])
        .expect_code(0);
    let judged = workspace.write("expected.json", expected(&all).to_string());
    let samples = workspace.path("samples.parquet");
    workspace
        .catalogue_python(
            "places.py",
            [samples.as_os_str(), stac.as_os_str(), judged.as_os_str()],
        )
        .expect_code(0);
}

/// Each in a dataset of its own, so that the extent in Croissant is the box of that sample.
#[test]
fn each_kind_of_place_passes_the_validators_of_every_export() {
    for kind in ["utm_grid", "arctic", "antimeridian", "rotated"] {
        let workspace = Workspace::new();
        let file = dataset_of_kinds(&workspace, "one.tacozip", Some(&[kind]));
        for (form, name) in [
            ("stac", "stac"),
            ("geoparquet", "samples.parquet"),
            ("croissant", "croissant.json"),
        ] {
            let output = workspace.path(name);
            describe(&workspace, &file, form, &output);
            workspace
                .catalogue_python("catalogues.py", [form.as_ref(), output.as_os_str()])
                .expect_code(0);
        }
        let mut one = places();
        one.retain(|(id, _)| *id == kind);
        workspace.write("expected.json", expected(&one).to_string());
        let files = ["samples.parquet", "stac", "expected.json", "croissant.json"]
            .map(|name| workspace.path(name));
        let ran = workspace
            .catalogue_python("places.py", files)
            .expect_code(0);
        assert!(ran.stdout.contains("ok: 1 footprints"), "{kind}: {ran}");
    }
}

#[test]
fn boxes_find_footprints() {
    let workspace = Workspace::new();
    let all = places();
    let file = written(
        &workspace,
        "places.tacozip",
        &dataset(&workspace, &all, None),
    );
    assert_eq!(
        found(&workspace, &file, &["--bbox=-180,-90,180,90"]).len(),
        all.len()
    );
    let ids = |bbox: &str| found(&workspace, &file, &[&format!("--bbox={bbox}")]);
    assert_eq!(ids("-77,-9.6,-76.5,-9.4"), ["utm_grid", "world"]);
    assert_eq!(ids("-10,89.9,10,90"), ["arctic", "world"]);
    assert_eq!(ids("100,-90,101,-89"), ["antarctic", "world"]);
    assert_eq!(
        ids("179.9,-18.5,-179.9,-18.2"),
        ["antimeridian", "world", "pacific"]
    );
    assert_eq!(ids("200,0,210,1"), ["world", "pacific"]);
    assert_eq!(ids("5.5,5.5,5.6,5.6"), ["clockwise", "world"]);
    // The track crosses the box between its vertices.
    assert_eq!(ids("-75.5,9.9,-75.4,10.1"), ["world", "track"]);
    // As the official reader compares: metres as they are, among which the degrees of the whole
    // world are a small square.
    let raw = found(
        &workspace,
        &file,
        &["--bbox=-180,-90,180,90", "--by", "centroid"],
    );
    assert_eq!(raw, ["antarctic", "clockwise"]);
}

#[test]
fn a_box_finds_what_its_centroid_misses() {
    let workspace = Workspace::new();
    let tile = [(
        "tile",
        Place::Grid("EPSG:4326", [0.0, 0.1, 0.0, 10.0, 0.0, -0.1], [100, 100]),
    )];
    let file = written(
        &workspace,
        "tile.tacozip",
        &dataset(&workspace, &tile, Some([5.0, 5.0])),
    );
    assert_eq!(found(&workspace, &file, &["--bbox=1,1,2,2"]), ["tile"]);
    let stored = ["--by", "centroid", "--geometry-column", "stac:centroid"];
    assert!(
        found(
            &workspace,
            &file,
            &[&["--bbox=1,1,2,2"], &stored[..]].concat()
        )
        .is_empty()
    );
    assert_eq!(
        found(
            &workspace,
            &file,
            &[&["--bbox=4,4,6,6"], &stored[..]].concat()
        ),
        ["tile"]
    );
    assert!(
        found(
            &workspace,
            &file,
            &["--bbox=1,1,2,2", "--geometry-column", "stac:centroid"]
        )
        .is_empty()
    );
    assert_eq!(
        found(
            &workspace,
            &file,
            &["--bbox=1,1,2,2", "--geometry-column", "stac:geotransform"]
        ),
        ["tile"]
    );
}

#[test]
fn collections_of_geometries_become_items() {
    let workspace = Workspace::new();
    let mixed = GeometryCollection(vec![
        square(500_000.0, 0.0, 1000.0),
        Point::new(500_500.0, 500.0).into(),
    ]);
    let all = [(
        "mixed",
        Place::Drawn("EPSG:32618", Geometry::GeometryCollection(mixed)),
    )];
    let file = written(
        &workspace,
        "mixed.tacozip",
        &dataset(&workspace, &all, None),
    );
    let stac = workspace.path("stac");
    describe(&workspace, &file, "stac", &stac);
    workspace
        .catalogue_python("catalogues.py", ["stac".as_ref(), stac.as_os_str()])
        .expect_code(0);
    let item: Json =
        serde_json::from_slice(&std::fs::read(stac.join("items/mixed.json")).expect("an Item"))
            .expect("JSON");
    assert_eq!(item["geometry"]["type"], "Polygon");
}

#[test]
fn places_outside_their_system_are_findings() {
    let workspace = Workspace::new();
    let sound = dataset(&workspace, &places(), None);
    let file = written(&workspace, "sound.tacozip", &sound);
    assert!(
        found_rules(&workspace, &file, true).is_empty(),
        "{:?}",
        found_rules(&workspace, &file, true)
    );
    // Metres that are called degrees.
    let wrong = [
        (
            "metres",
            Place::Drawn("EPSG:4326", square(500_000.0, 0.0, 1000.0)),
        ),
        (
            "right",
            Place::Drawn("EPSG:32618", square(500_000.0, 0.0, 1000.0)),
        ),
    ];
    let file = written(
        &workspace,
        "wrong.tacozip",
        &dataset(&workspace, &wrong, Some([-75.0, 0.0])),
    );
    assert_eq!(found_rules(&workspace, &file, false), ["GEO-1"]);
    // Bytes that are no geometry.
    let right = [(
        "right",
        Place::Drawn("EPSG:32618", square(500_000.0, 0.0, 1000.0)),
    )];
    let mut broken = dataset(&workspace, &right, Some([-75.0, 0.0]));
    let mut root = (*broken.root).clone();
    let mut values = root.samples[0].values.to_vec();
    values[1] = Value::Bytes(b"\x01\x03rubbish".as_slice().into());
    root.samples[0].values = values.into();
    broken.root = Arc::new(root);
    let file = written(&workspace, "broken.tacozip", &broken);
    assert_eq!(found_rules(&workspace, &file, false), ["GEO-1"]);
}

#[test]
fn unknown_extents_stay_unknown_until_they_are_known() {
    let workspace = Workspace::new();
    let nowhere = [("a", Place::Nowhere), ("b", Place::Nowhere)];
    let mut draft = dataset(&workspace, &nowhere, None);
    let file = written(&workspace, "nowhere.tacozip", &draft);
    let collection = collection_of(&workspace, &file);
    assert_eq!(
        collection["extent"]["spatial"],
        json!([-180.0, -90.0, 180.0, 90.0]),
        "what the tools write for nothing known"
    );
    assert_eq!(collection["extent:origin"], "unknown");
    describe(&workspace, &file, "croissant", &workspace.path("c.json"));
    let croissant: Json =
        serde_json::from_slice(&std::fs::read(workspace.path("c.json")).expect("a file"))
            .expect("JSON");
    assert!(croissant.get("spatialCoverage").is_none(), "{croissant}");
    // Once samples have places, the extent is theirs: from the least start to the greatest end.
    let placed = [(
        "a",
        Place::Grid("EPSG:4326", [10.0, 0.1, 0.0, 50.0, 0.0, -0.1], [10, 10]),
    )];
    draft.root = dataset(&workspace, &placed, None).root;
    draft
        .collection
        .set("extent", Some(collection["extent"].clone()));
    draft
        .collection
        .set("extent:origin", Some(collection["extent:origin"].clone()));
    let file = written(&workspace, "placed.tacozip", &draft);
    let collection = collection_of(&workspace, &file);
    assert_eq!(
        collection["extent"],
        json!({
            "spatial": [10.0, 49.0, 11.0, 50.0],
            "temporal": ["1970-01-01T00:00:00Z", "1970-01-03T00:00:00Z"],
        })
    );
    assert_eq!(collection["extent:origin"], "samples");
    // What somebody stated is kept, and noted as theirs.
    let own = json!({
        "spatial": [0.0, 40.0, 20.0, 60.0],
        "temporal": ["1969-01-01T00:00:00Z", "1971-01-01T00:00:00Z"],
    });
    draft.collection.set("extent", Some(own.clone()));
    draft.collection.set("extent:origin", None);
    let file = written(&workspace, "stated.tacozip", &draft);
    let collection = collection_of(&workspace, &file);
    assert_eq!(
        (&collection["extent"], collection["extent:origin"].as_str()),
        (&own, Some("stated"))
    );
    // A part has an extent of its own, which nobody stated.
    let part = workspace.path("part.tacozip");
    workspace
        .studio([
            "export".as_ref(),
            file.as_os_str(),
            "-o".as_ref(),
            part.as_os_str(),
            "--limit".as_ref(),
            "1".as_ref(),
        ])
        .expect_code(0);
    let collection = collection_of(&workspace, &part);
    assert_eq!(
        (
            collection["extent"]["spatial"].clone(),
            collection["extent:origin"].as_str()
        ),
        (json!([10.0, 49.0, 11.0, 50.0]), Some("samples"))
    );
}

#[test]
fn extents_that_tell_too_little_or_too_much_are_findings() {
    let workspace = Workspace::new();
    let tile = [
        (
            "a",
            Place::Grid("EPSG:4326", [10.0, 0.1, 0.0, 50.0, 0.0, -0.1], [10, 10]),
        ),
        (
            "b",
            Place::Grid("EPSG:4326", [12.0, 0.1, 0.0, 50.0, 0.0, -0.1], [10, 10]),
        ),
    ];
    let mut draft = dataset(&workspace, &tile, None);
    let mut rules_of = |spatial: Json, temporal: Json, profile: &str| {
        draft.collection.set(
            "extent",
            Some(json!({ "spatial": spatial, "temporal": temporal })),
        );
        draft.collection.set("extent:origin", Some(json!("stated")));
        let folder = written_as(&workspace, "tile", &draft, Format::Folder);
        // The note is taken away: another tool wrote it.
        let file = folder.join("COLLECTION.json");
        let mut collection: Json =
            serde_json::from_slice(&std::fs::read(&file).expect("a file")).expect("JSON");
        collection
            .as_object_mut()
            .expect("an object")
            .remove("extent:origin")
            .expect("is noted");
        std::fs::write(&file, collection.to_string()).expect("writes");
        let ran = workspace.studio([
            "validate".as_ref(),
            folder.as_os_str(),
            "--json".as_ref(),
            "--profile".as_ref(),
            profile.as_ref(),
        ]);
        let report = ran.json();
        let all = report["findings"].as_array().expect("findings").iter();
        all.filter_map(|finding| {
            finding["rule"]
                .as_str()
                .filter(|rule| rule.starts_with("EXT-"))
                .map(str::to_owned)
        })
        .collect::<Vec<_>>()
    };
    let (here, days) = (
        json!([10.0, 49.0, 13.0, 50.0]),
        json!(["1970-01-01T00:00:00Z", "1970-01-04T00:00:00Z"]),
    );
    assert_eq!(
        rules_of(here.clone(), days.clone(), "spec"),
        Vec::<String>::new()
    );
    assert_eq!(
        rules_of(json!([-180.0, -90.0, 180.0, 90.0]), days, "tools"),
        ["EXT-3"]
    );
    let middles = json!(["1970-01-02T00:00:00Z", "1970-01-03T00:00:00Z"]);
    assert_eq!(rules_of(here.clone(), middles.clone(), "spec"), ["EXT-2"]);
    assert_eq!(
        rules_of(here.clone(), middles, "tools"),
        Vec::<String>::new()
    );
    assert_eq!(
        rules_of(
            here,
            json!(["1990-01-01T00:00:00Z", "1991-01-01T00:00:00Z"]),
            "tools"
        ),
        ["EXT-1"]
    );
}

#[test]
fn extents_that_go_the_long_way_around_are_findings() {
    let workspace = Workspace::new();
    let both = [
        (
            "fiji",
            Place::Grid("EPSG:4326", [178.0, 0.1, 0.0, -16.0, 0.0, -0.1], [10, 10]),
        ),
        (
            "samoa",
            Place::Grid("EPSG:4326", [-173.0, 0.1, 0.0, -13.0, 0.0, -0.1], [10, 10]),
        ),
    ];
    let folder = written_as(
        &workspace,
        "both",
        &dataset(&workspace, &both, None),
        Format::Folder,
    );
    let file = folder.join("COLLECTION.json");
    let written: Json =
        serde_json::from_slice(&std::fs::read(&file).expect("a file")).expect("JSON");
    assert_eq!(
        written["extent"]["spatial"],
        json!([178.0, -17.0, -172.0, -13.0])
    );
    let findings = |spatial: Json| {
        let mut collection = written.clone();
        collection["extent"]["spatial"] = spatial;
        collection
            .as_object_mut()
            .expect("an object")
            .remove("extent:origin");
        std::fs::write(&file, collection.to_string()).expect("writes");
        let report = workspace
            .studio(["validate".as_ref(), folder.as_os_str(), "--json".as_ref()])
            .json();
        let all = report["findings"].as_array().expect("findings").clone();
        all.iter()
            .map(|finding| (finding["rule"].clone(), finding["message"].to_string()))
            .collect::<Vec<_>>()
    };
    assert_eq!(findings(json!([178.0, -17.0, -172.0, -13.0])), []);
    // The hemisphere that some tools keep.
    let found = findings(json!([178.0, -17.0, 180.0, -13.0]));
    assert_eq!(
        found
            .iter()
            .map(|(rule, _)| rule.clone())
            .collect::<Vec<_>>(),
        ["COL-11"]
    );
    assert!(
        found[0].1.contains("eastern longitudes alone; 1 of 2"),
        "{found:?}"
    );
    assert!(
        found[0].1.contains(
            "cross the antimeridian: the box around them is 178.00, -17.00, -172.00, -13.00"
        ),
        "{found:?}"
    );
    // The least and the greatest longitude.
    let found = findings(json!([-173.0, -17.0, 179.0, -13.0]));
    assert_eq!(
        found
            .iter()
            .map(|(rule, _)| rule.clone())
            .collect::<Vec<_>>(),
        ["EXT-3"]
    );
    assert!(
        found[0].1.contains("352°") && found[0].1.contains("across the antimeridian"),
        "{found:?}"
    );
    // A box on one side of Greenwich has no word about the antimeridian.
    let beside = [
        (
            "a",
            Place::Grid("EPSG:4326", [1.0, 0.1, 0.0, 50.0, 0.0, -0.1], [10, 10]),
        ),
        (
            "b",
            Place::Grid("EPSG:4326", [-3.0, 0.1, 0.0, 50.0, 0.0, -0.1], [10, 10]),
        ),
    ];
    let other = written_as(
        &workspace,
        "beside",
        &dataset(&workspace, &beside, None),
        Format::Folder,
    );
    let file = other.join("COLLECTION.json");
    let mut collection: Json =
        serde_json::from_slice(&std::fs::read(&file).expect("a file")).expect("JSON");
    collection["extent"]["spatial"] = json!([0.0, 49.0, 2.0, 50.0]);
    std::fs::write(&file, collection.to_string()).expect("writes");
    let report = workspace
        .studio(["validate".as_ref(), other.as_os_str(), "--json".as_ref()])
        .json();
    let message = report["findings"][0]["message"].to_string();
    assert!(
        report["findings"][0]["rule"] == "COL-11" && !message.contains("antimeridian"),
        "{report}"
    );
}

#[test]
fn means_and_shares_over_footprints_are_those_of_rasterio() {
    let workspace = Workspace::new();
    let raster = workspace.path("heights.tif");
    workspace
        .python(
            "footprint_means.py",
            ["raster".as_ref(), raster.as_os_str()],
        )
        .expect_code(0);
    let hole = LineString::from(vec![
        (602_000.0, 5_397_000.0),
        (603_000.0, 5_397_500.0),
        (602_900.0, 5_397_900.0),
    ]);
    let outer = LineString::from(vec![
        (601_000.0, 5_396_000.0),
        (605_000.0, 5_396_300.0),
        (603_700.0, 5_399_400.0),
    ]);
    let all = [
        // Edges between pixel centres: no pixel is in doubt.
        (
            "aligned",
            Place::Drawn(
                "EPSG:32632",
                ring(&[
                    (600_300.0, 5_396_100.0),
                    (603_300.0, 5_396_100.0),
                    (603_300.0, 5_399_100.0),
                    (600_300.0, 5_399_100.0),
                ]),
            ),
        ),
        (
            "beyond",
            Place::Drawn(
                "EPSG:32632",
                ring(&[
                    (604_500.0, 5_399_010.0),
                    (609_000.0, 5_399_010.0),
                    (609_000.0, 5_401_500.0),
                    (604_500.0, 5_401_500.0),
                ]),
            ),
        ),
        (
            "with_hole",
            Place::Drawn("EPSG:32632", Polygon::new(outer, vec![hole]).into()),
        ),
        (
            "degrees",
            Place::Drawn(
                "EPSG:4326",
                ring(&[
                    (10.37, 48.71),
                    (10.42, 48.70),
                    (10.43, 48.735),
                    (10.38, 48.73),
                ]),
            ),
        ),
        (
            "other_zone",
            Place::Drawn(
                "EPSG:32633",
                ring(&[
                    (160_500.0, 5_405_300.0),
                    (163_500.0, 5_405_200.0),
                    (163_400.0, 5_407_900.0),
                ]),
            ),
        ),
        (
            "grid",
            Place::Grid(
                "EPSG:32632",
                [601_200.0, 28.0, 9.0, 5_399_000.0, 9.0, -28.0],
                [60, 80],
            ),
        ),
        (
            "part_nodata",
            Place::Drawn(
                "EPSG:32632",
                ring(&[
                    (603_900.0, 5_395_800.0),
                    (605_700.0, 5_395_800.0),
                    (605_700.0, 5_397_900.0),
                    (603_900.0, 5_397_900.0),
                ]),
            ),
        ),
        (
            "nodata",
            Place::Drawn("EPSG:32632", square(604_800.0, 5_396_400.0, 450.0)),
        ),
        (
            "in_a_pixel",
            Place::Drawn("EPSG:32632", square(601_503.0, 5_398_003.0, 4.0)),
        ),
        (
            "outside",
            Place::Drawn("EPSG:32632", square(650_000.0, 5_398_000.0, 900.0)),
        ),
    ];
    let folder = written_as(
        &workspace,
        "set",
        &dataset(&workspace, &all, None),
        Format::Folder,
    );
    let output = workspace.path("out");
    let source = |column: &str, more: Json| {
        let mut source = json!({ "column": column, "path": raster });
        source
            .as_object_mut()
            .expect("an object")
            .extend(more.as_object().expect("an object").clone());
        source
    };
    let columns = json!([
        source("own:mean", json!({ "method": "footprint" })),
        source(
            "own:share",
            json!({ "method": "share", "class": 3, "band": 2 })
        ),
    ]);
    let options = json!({ "columns": columns }).to_string();
    workspace
        .studio([
            "extend".as_ref(),
            folder.as_os_str(),
            "-o".as_ref(),
            output.as_os_str(),
            "--with".as_ref(),
            "geo_enrichment".as_ref(),
            "--options".as_ref(),
            options.as_ref(),
        ])
        .expect_code(0);
    expect_ok(workspace.python(
        "footprint_means.py",
        ["check".as_ref(), output.as_os_str(), raster.as_os_str()],
    ));
}

/// Prints how long the rows of a million samples take to read, and their boxes to compute.
#[test]
#[ignore = "a figure to look at: takes a minute and 2 GB"]
fn a_million_places_beside_the_time_to_read_their_rows() {
    use arrow::array::{
        ArrayRef, Float64Builder, Int64Builder, ListBuilder, RecordBatch, StringArray,
    };
    use taco_studio::footprint::{Detail, boxes_of};

    const ROWS: usize = 1_000_000;
    let (mut transforms, mut shapes) = (
        ListBuilder::new(Float64Builder::new()),
        ListBuilder::new(Int64Builder::new()),
    );
    for row in 0..ROWS {
        let (x, y) = (
            200_000.0 + (row % 977) as f64 * 600.0,
            100_000.0 + (row % 8831) as f64 * 1000.0,
        );
        transforms
            .values()
            .append_slice(&[x, 10.0, 0.0, y, 0.0, -10.0]);
        transforms.append(true);
        shapes.values().append_slice(&[13, 256, 256]);
        shapes.append(true);
    }
    let ids: StringArray = (0..ROWS)
        .map(|row| Some(format!("sample_{row:07}")))
        .collect();
    let types: StringArray = (0..ROWS).map(|_| Some("FILE")).collect();
    let systems: StringArray = (0..ROWS)
        .map(|row| Some(format!("EPSG:{}", 32_601 + row % 60)))
        .collect();
    let columns: [(&str, ArrayRef); 5] = [
        ("id", Arc::new(ids)),
        ("type", Arc::new(types)),
        ("stac:crs", Arc::new(systems)),
        ("stac:geotransform", Arc::new(transforms.finish())),
        ("stac:tensor_shape", Arc::new(shapes.finish())),
    ];
    let batch = RecordBatch::try_from_iter(columns).expect("a batch");
    let bytes =
        taco_studio::table::write_parquet(&batch.schema(), &[batch], &ParquetOptions::default())
            .expect("Parquet");
    let size = bytes.len();
    let clock = std::time::Instant::now();
    let reader = parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder::try_new(
        bytes::Bytes::from(bytes),
    )
    .expect("opens");
    let schema = reader.schema().clone();
    let batches: Vec<RecordBatch> = reader
        .with_batch_size(65_536)
        .build()
        .expect("reads")
        .map(|batch| batch.expect("a batch"))
        .collect();
    let batch = arrow::compute::concat_batches(&schema, &batches).expect("one batch");
    let read = clock.elapsed();
    let ctx = JobContext::default();
    let timed = |name: &str, work: &dyn Fn() -> usize| {
        let clock = std::time::Instant::now();
        assert_eq!(work(), ROWS, "{name}: every sample has a place");
        println!(
            "{name}: {:.2} s, {:.1} times the reading",
            clock.elapsed().as_secs_f64(),
            clock.elapsed().as_secs_f64() / read.as_secs_f64()
        );
    };
    println!(
        "reading {ROWS} rows of {size} bytes: {:.2} s",
        read.as_secs_f64()
    );
    timed("boxes", &|| {
        boxes_of(&batch, Detail::Corners, &ctx)
            .expect("boxes")
            .iter()
            .flatten()
            .count()
    });
    timed("boxes with curved edges", &|| {
        boxes_of(&batch, Detail::Exact, &ctx)
            .expect("boxes")
            .iter()
            .flatten()
            .count()
    });
}
