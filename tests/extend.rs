//! `extend`: columns of a level, failures of single samples, and interrupted runs that leave
//! nothing behind.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::interop::{create, expect_ok};
use crate::support::{
    COLLECTION, Ran, Workspace, core_fields_of_taco_0_2, entries, flat_scenes, geotiff,
    nested_scenes, tests_folder,
};

fn extend(workspace: &Workspace, input: &str, output: &str, arguments: &[&str]) -> Ran {
    let (input, output) = (workspace.path(input), workspace.path(output));
    let (input, output) = (
        input.to_string_lossy().into_owned(),
        output.to_string_lossy().into_owned(),
    );
    let mut all = vec!["extend", input.as_str(), "-o", output.as_str()];
    all.extend(arguments);
    workspace.studio(all)
}

/// Rows of a query as JSON objects.
fn query(workspace: &Workspace, path: &str, sql: &str) -> Vec<Value> {
    let path = workspace.path(path);
    let ran = workspace
        .studio([
            "query".as_ref(),
            path.as_os_str(),
            "--sql".as_ref(),
            sql.as_ref(),
            "--json".as_ref(),
        ])
        .expect_code(0);
    ran.stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("a row"))
        .collect()
}

#[test]
fn columns_are_added_to_the_whole_level() {
    let workspace = Workspace::new();
    nested_scenes(&workspace, 3);
    create(&workspace, "in.tacozip", "zip");
    for (output, format) in [("out.tacozip", "zip"), ("out", "folder")] {
        let options = r#"{"time_start": "2023-05-17", "time_end": "2023-05-18"}"#;
        let positions = [
            "--with",
            "stac",
            "--options",
            options,
            "--level",
            "1",
            "--positions",
            "before.tif,a*",
            "--format",
            format,
        ];
        extend(&workspace, "in.tacozip", output, &positions).expect_code(0);
        let sql = r#"SELECT id, "stac:crs" AS crs, "stac:time_middle" IS NULL AS timeless
            FROM level1 ORDER BY id"#;
        let rows = query(&workspace, output, sql);
        assert_eq!(rows.len(), 9);
        for row in &rows {
            let label = row["id"] == "label.tif";
            let expected = if label {
                Value::Null
            } else {
                json!("EPSG:32633")
            };
            assert_eq!(
                (&row["crs"], &row["timeless"]),
                (&expected, &json!(label)),
                "{row}"
            );
        }
        let path = workspace.path(output);
        workspace
            .studio(["validate".as_ref(), path.as_os_str(), "--deep".as_ref()])
            .expect_code(0);
    }
}

#[test]
fn folders_take_part_in_a_split_and_replacing_has_to_be_asked_for() {
    let workspace = Workspace::new();
    nested_scenes(&workspace, 3);
    create(&workspace, "in.tacozip", "zip");
    let train = ["--with", "split", "--options", r#"{"value": "train"}"#];
    extend(&workspace, "in.tacozip", "a.tacozip", &train).expect_code(0);
    let test = [
        "--with",
        "split",
        "--options",
        r#"{"value": "test"}"#,
        "--positions",
        "scene_9",
    ];
    let refused = extend(&workspace, "a.tacozip", "b.tacozip", &test).expect_code(2);
    assert!(
        refused.stderr.contains("level0 split") && refused.stderr.contains("--replace"),
        "{refused}"
    );
    assert!(!workspace.path("b.tacozip").exists());
    extend(
        &workspace,
        "a.tacozip",
        "b.tacozip",
        &[&test[..], &["--replace"]].concat(),
    )
    .expect_code(0);
    let rows = query(&workspace, "b.tacozip", "SELECT id, split FROM level0");
    let split = |id: &str| rows.iter().find(|row| row["id"] == id).expect("a row")["split"].clone();
    assert_eq!(
        (split("scene_8"), split("scene_9"), split("scene_10")),
        (json!("train"), json!("test"), json!("train"))
    );
    let nulls = [&train[..], &["--replace", "--schema-only"]].concat();
    extend(&workspace, "in.tacozip", "c.tacozip", &nulls).expect_code(0);
    assert!(
        query(&workspace, "c.tacozip", "SELECT split FROM level0")
            .iter()
            .all(|row| row["split"].is_null())
    );
}

#[test]
fn invalid_calls_give_a_reason_and_write_nothing() {
    let workspace = Workspace::new();
    flat_scenes(&workspace, 3);
    create(&workspace, "in.tacozip", "zip");
    for (arguments, says) in [
        (&["--with", "dance"][..], "choose one of cube, stac"),
        (&["--with", "split"], "value and column"),
        (
            &["--with", "split", "--options", r#"{"value": "all"}"#],
            "one of train, test, validation",
        ),
        (
            &["--with", "stac", "--options", r#"{"time": 3}"#],
            "no option time",
        ),
        (&["--with", "stac", "--level", "4"], "1 levels"),
        (&["--with", "stac", "--positions", "nobody"], "tile_0.tif"),
        (&["--with", "stac", "--options", "{"], "not JSON"),
    ] {
        let ran = extend(&workspace, "in.tacozip", "out.tacozip", arguments).expect_code(2);
        assert!(ran.stderr.contains(says), "{arguments:?}: {ran}");
        assert!(!workspace.path("out.tacozip").exists(), "{arguments:?}");
    }
}

#[test]
fn a_level_without_files_suggests_the_level_with_files() {
    let workspace = Workspace::new();
    nested_scenes(&workspace, 2);
    create(&workspace, "in.tacozip", "zip");
    let ran = extend(&workspace, "in.tacozip", "out.tacozip", &["--with", "stac"]).expect_code(2);
    assert!(
        ran.stderr.contains("FILEs are on level 1: --level 1"),
        "{ran}"
    );
    let ran = extend(
        &workspace,
        "in.tacozip",
        "out.tacozip",
        &["--with", "stac", "--positions", "nobody"],
    )
    .expect_code(2);
    assert!(
        ran.stderr.contains("ids at this level are scene_8"),
        "{ran}"
    );
}

/// A FOLDER of flat scenes; the scenes in `bad` contain no raster.
fn damaged(workspace: &Workspace, count: u16, bad: &[u16]) {
    flat_scenes(workspace, 1);
    let good = std::fs::read(workspace.path("scenes/tile_0.tif")).expect("a raster");
    std::fs::remove_file(workspace.path("scenes/tile_0.tif")).expect("removed");
    for index in 0..count {
        let bytes = if bad.contains(&index) {
            b"no raster at all".as_slice()
        } else {
            &good
        };
        workspace.write(&format!("scenes/t{index:04}.tif"), bytes);
    }
    workspace.write("metadata.csv", "path,n\nt0000.tif,1\n");
    let (scenes, out) = (workspace.path("scenes"), workspace.path("in"));
    let (collection, metadata) = (
        workspace.path("collection.json"),
        workspace.path("metadata.csv"),
    );
    let arguments = [
        "--format",
        "folder",
        "--collection",
        collection.to_str().expect("text"),
        "--metadata",
    ];
    let arguments = [
        &[
            "create",
            scenes.to_str().expect("text"),
            "-o",
            out.to_str().expect("text"),
        ][..],
        &arguments,
    ]
    .concat();
    workspace
        .studio([&arguments[..], &[metadata.to_str().expect("text")]].concat())
        .expect_code(0);
    let report = workspace
        .studio([
            "validate".as_ref(),
            out.as_os_str(),
            "--deep".as_ref(),
            "--json".as_ref(),
        ])
        .expect_code(0)
        .json();
    let found: Vec<_> = report["findings"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|f| (f["rule"].clone(), f["at"].clone()))
        .collect();
    let expected: Vec<_> = bad
        .iter()
        .map(|index| (json!("SRC-2"), json!(format!("t{index:04}.tif"))))
        .collect();
    assert_eq!(found, expected, "{report}");
}

#[test]
fn a_partly_failed_extension_keeps_the_values_that_it_could_not_compute() {
    let workspace = Workspace::new();
    geotiff(&workspace.path("scenes/image_20200101.tif"), 3, 32, 1);
    geotiff(&workspace.path("scenes/label.tif"), 1, 32, 2);
    workspace.write("metadata.csv", "path,n\nlabel.tif,1\n");
    workspace.write("collection.json", COLLECTION);
    create(&workspace, "in.tacozip", "zip");
    let fixed = [
        "--with",
        "stac",
        "--options",
        r#"{"time_start": "2019-01-01"}"#,
    ];
    extend(&workspace, "in.tacozip", "first.tacozip", &fixed).expect_code(0);
    let dated = [
        "--with",
        "stac",
        "--replace",
        "--json",
        "--options",
        r#"{"time_pattern": "%Y%m%d"}"#,
    ];
    let told = extend(&workspace, "first.tacozip", "second.tacozip", &dated)
        .expect_code(1)
        .json();
    assert_eq!(
        (&told["failures"][0]["sample"], &told["failures"][0]["kept"]),
        (&json!("label.tif"), &json!(true)),
        "{told}"
    );
    let sql = r#"SELECT id, "stac:crs" AS crs, "stac:tensor_shape" AS shape,
        CAST("stac:time_start" AS VARCHAR) AS t FROM level0 ORDER BY id"#;
    let rows = query(&workspace, "second.tacozip", sql);
    assert!(
        rows[0]["t"]
            .as_str()
            .is_some_and(|time| time.starts_with("2020-01-01")),
        "{rows:?}"
    );
    assert!(
        rows[1]["t"]
            .as_str()
            .is_some_and(|time| time.starts_with("2019-01-01")),
        "{rows:?}"
    );
    assert_eq!(
        (&rows[1]["crs"], &rows[1]["shape"]),
        (&json!("EPSG:32633"), &json!([1, 32, 32])),
        "{rows:?}"
    );
    // Where there was nothing, there is null; what did not fail is there.
    let told = extend(
        &workspace,
        "in.tacozip",
        "new.tacozip",
        &[&dated[..2], &dated[3..]].concat(),
    )
    .expect_code(1)
    .json();
    assert_eq!(told["failures"][0]["kept"], json!(false), "{told}");
    let row = &query(&workspace, "new.tacozip", sql)[1];
    assert_eq!(
        (&row["crs"], &row["t"]),
        (&json!("EPSG:32633"), &Value::Null),
        "{row}"
    );
}

/// Copies a raster of `tests/fixtures/places` into the scenes.
fn place_raster(workspace: &Workspace, name: &str) {
    let bytes = std::fs::read(tests_folder().join("fixtures/places").join(name)).expect("reads");
    workspace.write(&format!("scenes/{name}"), bytes);
}

/// A ZIP of these rasters of `tests/fixtures/places`.
fn places_dataset(workspace: &Workspace, names: &[&str]) {
    names.iter().for_each(|name| place_raster(workspace, name));
    let rows: String = (1..)
        .zip(names)
        .map(|(number, name)| format!("{name},{number}\n"))
        .collect();
    workspace.write("metadata.csv", format!("path,n\n{rows}"));
    workspace.write("collection.json", COLLECTION);
    create(workspace, "in.tacozip", "zip");
}

#[test]
fn rasters_of_other_bodies_keep_all_but_the_place_on_earth() {
    let workspace = Workspace::new();
    places_dataset(&workspace, &["europa.tif", "mars.tif", "moon.tif"]);
    let options =
        r#"{"stac": {"time_start": "2020-01-01"}, "istac": {"time_start": "2020-01-01"}}"#;
    let told = extend(
        &workspace,
        "in.tacozip",
        "out.tacozip",
        &["--with", "stac,istac", "--options", options, "--json"],
    );
    let told = told.expect_code(0).json();
    assert_eq!(
        (&told["computed"], told["failures"].as_array().map(Vec::len)),
        (&json!(6), Some(0)),
        "{told}"
    );
    let noted: Vec<&Value> = told["notes"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|note| note["note"] == "absent")
        .collect();
    assert!(
        noted
            .iter()
            .any(|note| note["columns"] == json!(["stac:centroid"])),
        "{told}"
    );
    assert!(
        noted
            .iter()
            .any(|note| note["columns"] == json!(["istac:centroid"])),
        "{told}"
    );
    let sql = r#"SELECT id, "stac:crs" AS crs, "stac:tensor_shape" AS shape,
        "stac:geotransform" AS t, "istac:crs" AS icrs,
        "stac:centroid" IS NULL AND "istac:centroid" IS NULL AS nowhere,
        "istac:geometry" IS NOT NULL AS drawn,
        "stac:time_start" IS NOT NULL AND "istac:time_start" IS NOT NULL AS timed FROM level0
        ORDER BY id"#;
    let rows = query(&workspace, "out.tacozip", sql);
    assert_eq!(rows.len(), 3);
    for row in &rows {
        assert_eq!(
            (&row["nowhere"], &row["drawn"], &row["timed"]),
            (&json!(true), &json!(true), &json!(true)),
            "{row}"
        );
        assert_eq!(
            (&row["shape"], &row["icrs"]),
            (&json!([1, 16, 16]), &row["crs"]),
            "{row}"
        );
    }
    let grid = |row: &Value| -> Vec<f64> {
        row["t"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_f64)
            .collect()
    };
    assert_eq!(
        (&rows[0]["crs"], grid(&rows[0])),
        (
            &json!("IAU_2015:50200"),
            vec![10.0, 0.1, 0.0, 5.0, 0.0, -0.1]
        )
    );
    assert_eq!(
        (&rows[1]["crs"], grid(&rows[1])),
        (
            &json!("IAU_2015:49910"),
            vec![1e5, 100.0, 0.0, -2e5, 0.0, -100.0]
        )
    );
    assert!(
        rows[2]["crs"]
            .as_str()
            .is_some_and(|crs| crs.contains("1737400")),
        "{}",
        rows[2]
    );
    // Their degrees are no place on a map of the Earth.
    let path = workspace.path("out.tacozip").to_string_lossy().into_owned();
    let globe = workspace
        .studio(["query", &path, "--bbox=-180,-90,180,90", "--json"])
        .expect_code(0);
    assert_eq!(globe.stdout.lines().count(), 0, "{}", globe.stdout);
    workspace
        .studio(["validate", &path, "--deep"])
        .expect_code(0);
}

#[test]
fn ground_control_points_and_polynomials_give_the_place() {
    let workspace = Workspace::new();
    places_dataset(&workspace, &["gcps.tif", "rpcs.tif"]);
    let options =
        r#"{"stac": {"time_start": "2020-01-01"}, "istac": {"time_start": "2020-01-01"}}"#;
    let told = extend(
        &workspace,
        "in.tacozip",
        "out.tacozip",
        &["--with", "stac,istac", "--options", options, "--json"],
    );
    let told = told.expect_code(0).json();
    assert_eq!(
        (&told["computed"], told["failures"].as_array().map(Vec::len)),
        (&json!(4), Some(0)),
        "{told}"
    );
    assert!(
        told["notes"]
            .to_string()
            .contains("ground control points give the place"),
        "{told}"
    );
    let sql = r#"SELECT id, "stac:crs" AS crs, "stac:geotransform" IS NULL AS no_grid,
        ST_X(ST_GeomFromWKB("stac:centroid")) AS x,
        ST_Y(ST_GeomFromWKB("stac:centroid")) AS y, ST_X(ST_GeomFromWKB("istac:centroid")) AS ix,
        "stac:time_start" IS NOT NULL AS timed FROM level0 ORDER BY id"#;
    let rows = query(&workspace, "out.tacozip", sql);
    for (row, [lon, lat]) in rows.iter().zip([[30.04, 4.96], [-3.0, 40.0]]) {
        assert_eq!(
            (&row["crs"], &row["no_grid"], &row["timed"]),
            (&json!("EPSG:4326"), &json!(true), &json!(true)),
            "{row}"
        );
        for (name, expected) in [("x", lon), ("y", lat), ("ix", lon)] {
            assert!(
                row[name]
                    .as_f64()
                    .is_some_and(|found| (found - expected).abs() < 6e-3),
                "{name}: {row}"
            );
        }
    }
    assert_eq!(rows.len(), 2);
}

#[test]
fn times_stay_when_the_raster_gives_no_place() {
    let workspace = Workspace::new();
    workspace.write("scenes/20200101.txt", "no raster");
    workspace.write("metadata.csv", "path,n\n20200101.txt,1\n");
    workspace.write("collection.json", COLLECTION);
    create(&workspace, "in.tacozip", "zip");
    let dated = [
        "--with",
        "stac",
        "--json",
        "--options",
        r#"{"time_pattern": "%Y%m%d"}"#,
    ];
    let told = extend(&workspace, "in.tacozip", "out.tacozip", &dated)
        .expect_code(1)
        .json();
    assert_eq!(
        (&told["computed"], told["failures"].as_array().map(Vec::len)),
        (&json!(0), Some(1)),
        "{told}"
    );
    let sql = r#"SELECT CAST("stac:time_start" AS VARCHAR) AS t, "stac:crs" AS crs FROM level0"#;
    let row = &query(&workspace, "out.tacozip", sql)[0];
    assert!(
        row["t"]
            .as_str()
            .is_some_and(|time| time.starts_with("2020-01-01"))
            && row["crs"].is_null(),
        "{row}"
    );
}

#[test]
#[cfg(feature = "bundled-gdal")]
fn the_variable_that_is_read_is_stated_wherever_a_raster_has_several() {
    use taco_studio::raster::{NewRaster, Samples, write_raster};
    let workspace = Workspace::new();
    std::fs::create_dir_all(workspace.path("scenes")).expect("a folder");
    let band = |base: u16| Samples::U16((0..12 * 9).map(|pixel| base + pixel).collect());
    for (name, format) in [("classic.nc", "NC"), ("newer.nc", "NC4")] {
        let bands = vec![band(0), band(1000)];
        let (epsg, geotransform) = (Some(4326), Some([10.0, 0.5, 0.0, 50.0, 0.0, -0.5]));
        let raster = NewRaster {
            width: 12,
            height: 9,
            bands,
            epsg,
            geotransform,
            options: vec![("FORMAT", format)],
            ..Default::default()
        };
        write_raster(
            &workspace.path(&format!("scenes/{name}")),
            "netCDF",
            &raster,
        )
        .expect("writes");
    }
    workspace.write("metadata.csv", "path,n\nclassic.nc,1\nnewer.nc,2\n");
    workspace.write("collection.json", COLLECTION);
    create(&workspace, "in.tacozip", "zip");
    let sentence = "Band1, the first of 2 variables: Band1, Band2";
    let ran = extend(
        &workspace,
        "in.tacozip",
        "a.tacozip",
        &["--with", "stac,stats"],
    )
    .expect_code(0);
    assert!(ran.stderr.contains(sentence), "{}", ran.stderr);
    let told = extend(
        &workspace,
        "in.tacozip",
        "b.tacozip",
        &["--with", "stats", "--json"],
    )
    .expect_code(0)
    .json();
    let expected = json!([{
        "note": "variable",
        "read": sentence,
        "samples": 2,
        "sample_paths": ["classic.nc", "newer.nc"],
    }]);
    assert_eq!(told["notes"], expected, "{told}");
    let path = workspace.path("in.tacozip").to_string_lossy().into_owned();
    let checked = workspace
        .studio(["validate", &path, "--deep", "--json"])
        .expect_code(0);
    assert!(
        checked.stderr.contains(sentence)
            && checked.json()["warnings"].to_string().contains(sentence),
        "{}",
        checked.stderr
    );
    let one = workspace
        .path("scenes/classic.nc")
        .to_string_lossy()
        .into_owned();
    let out = workspace.path("one.tif").to_string_lossy().into_owned();
    let refused = workspace
        .studio(["optimise", &one, "-o", &out])
        .expect_code(2);
    assert!(
        refused.stderr.contains("Band1, Band2") && refused.stderr.contains("--variable"),
        "{}",
        refused.stderr
    );
    workspace
        .studio(["optimise", &one, "-o", &out, "--variable", "Band2"])
        .expect_code(0);
    let written = taco_studio::raster::tally(
        &taco_studio::raster::RasterSource::from_user_path(taco_studio::model::AssetPath::file(
            workspace.path("one.tif"),
        )),
        &taco_studio::jobs::JobContext::default(),
    );
    let summary =
        written
            .expect("reads")
            .summary(0, &[], &taco_studio::jobs::JobContext::default());
    assert_eq!(summary.expect("counts").map(|band| band.min), Some(1000.0));
    let folder = workspace.path("scenes").to_string_lossy().into_owned();
    let all = workspace.path("all").to_string_lossy().into_owned();
    let done = workspace
        .studio([
            "optimise",
            &folder,
            "-o",
            &all,
            "--variable",
            "Band2",
            "--json",
        ])
        .expect_code(0)
        .json();
    assert_eq!(done["written"], json!(2), "{done}");
}

#[test]
#[cfg(feature = "bundled-gdal")]
fn the_variable_of_a_position_is_chosen_and_everything_reads_it() {
    use taco_studio::raster::{NewRaster, Samples, write_raster};
    let workspace = Workspace::new();
    std::fs::create_dir_all(workspace.path("scenes")).expect("a folder");
    let band = |base: u16| Samples::U16((0..12 * 9).map(|pixel| base + pixel).collect());
    for name in ["a.nc", "b.nc"] {
        let bands = vec![band(0), band(1000)];
        let (epsg, geotransform) = (Some(4326), Some([10.0, 0.5, 0.0, 50.0, 0.0, -0.5]));
        let raster = NewRaster {
            width: 12,
            height: 9,
            bands,
            epsg,
            geotransform,
            ..Default::default()
        };
        write_raster(
            &workspace.path(&format!("scenes/{name}")),
            "netCDF",
            &raster,
        )
        .expect("writes");
    }
    geotiff(&workspace.path("scenes/c.tif"), 1, 12, 1);
    workspace.write("metadata.csv", "path,n\na.nc,1\nb.nc,2\nc.tif,3\n");
    workspace.write("collection.json", COLLECTION);
    let [scenes, metadata, collection, dataset] =
        ["scenes", "metadata.csv", "collection.json", "in.tacozip"]
            .map(|name| workspace.path(name).to_string_lossy().into_owned());
    // The third file differs from the others, which is a warning.
    workspace
        .studio([
            "create",
            &scenes,
            "--metadata",
            &metadata,
            "--collection",
            &collection,
            "-o",
            &dataset,
        ])
        .expect_code(0);
    let chosen = [
        "--with",
        "cube,stac,stats",
        "--options",
        r#"{"cube": {"variable": "Band2"}}"#,
        "--json",
    ];
    let told = extend(&workspace, "in.tacozip", "out.tacozip", &chosen)
        .expect_code(0)
        .json();
    let absent = told["notes"].as_array().map(|notes| {
        notes
            .iter()
            .map(|note| note["note"].clone())
            .collect::<Vec<_>>()
    });
    assert_eq!(
        absent,
        Some(vec![json!("no_times"), json!("absent")]),
        "no word on the first variable: {told}"
    );
    let sql = r#"SELECT id, "cube:variable" AS variable, "geotiff:stats"[1][1] AS least FROM level0
        ORDER BY id"#;
    let rows = query(&workspace, "out.tacozip", sql);
    let expected = |row: &Value| (row["variable"].clone(), row["least"].as_f64());
    assert_eq!(
        expected(&rows[0]),
        (json!("Band2"), Some(1000.0)),
        "{rows:?}"
    );
    assert_eq!(rows[2]["variable"], Value::Null);
    let path = workspace.path("out.tacozip").to_string_lossy().into_owned();
    let deep = workspace
        .studio(["validate", &path, "--deep", "--json"])
        .expect_code(0);
    assert!(
        !deep.stdout.contains("differ from the pixels"),
        "{}",
        deep.stdout
    );
    let exact = workspace
        .studio(["stats", &path, "--exact", "--positions", "*.nc", "--json"])
        .expect_code(0);
    assert!(
        exact.stdout.contains("1000") && !exact.stderr.contains("Band1"),
        "{}{}",
        exact.stdout,
        exact.stderr
    );
    let optimised = workspace.path("o.tacozip").to_string_lossy().into_owned();
    let ran = workspace
        .studio(["optimise", &path, "-o", &optimised, "--variable", "Band2"])
        .expect_code(2);
    assert!(ran.stderr.contains("not of a dataset"), "{}", ran.stderr);
    let wrong = [
        "--with",
        "cube",
        "--options",
        r#"{"variable": "Band7"}"#,
        "--positions",
        "*.nc",
        "--json",
    ];
    let told = extend(&workspace, "in.tacozip", "wrong.tacozip", &wrong).json();
    assert!(
        told["failures"].to_string().contains("it has Band1, Band2"),
        "{told}"
    );
}

/// Such a file has tables beside its pixels, which the verification of what was written took for
/// another raster.
#[test]
#[cfg(feature = "bundled-gdal")]
fn cubes_with_times_are_written_and_their_variables_are_read() {
    let workspace = Workspace::new();
    let cube =
        std::fs::read(tests_folder().join("fixtures/cubes/two_variables.nc")).expect("reads");
    for scene in ["one", "two", "three"] {
        workspace.write(&format!("scenes/{scene}/cube.nc"), &cube);
    }
    workspace.write("collection.json", COLLECTION);
    let written = workspace
        .studio([
            "create",
            "scenes",
            "-o",
            "in.tacozip",
            "--collection",
            "collection.json",
        ])
        .expect_code(0);
    assert!(
        !written.stderr.contains("not as its source"),
        "{}",
        written.stderr
    );
    let chosen = [
        "--with",
        "cube,stats",
        "--options",
        r#"{"cube": {"variable": "wind"}}"#,
        "--level",
        "1",
    ];
    extend(&workspace, "in.tacozip", "out.tacozip", &chosen).expect_code(0);
    let rows = query(
        &workspace,
        "out.tacozip",
        r#"SELECT "cube:variable" AS v, "geotiff:stats"[1][1] AS least FROM level1"#,
    );
    assert_eq!(rows, vec![json!({ "v": "wind", "least": 1000.0 }); 3]);
    let path = workspace.path("out.tacozip");
    workspace
        .studio(["validate".as_ref(), path.as_os_str(), "--deep".as_ref()])
        .expect_code(0);
}

/// A TIFF with a single strip of 8-bit zeros that claims a compression.
fn tiff_compressed_by(code: u16) -> Vec<u8> {
    let entries: [(u16, u16, u32); 9] = [
        (256, 4, 16),
        (257, 4, 16),
        (258, 3, 8),
        (259, 3, u32::from(code)),
        (262, 3, 1),
        (273, 4, 200),
        (277, 3, 1),
        (278, 4, 16),
        (279, 4, 256),
    ];
    let mut bytes = b"II*\0\x08\0\0\0".to_vec();
    bytes.extend((entries.len() as u16).to_le_bytes());
    for (tag, kind, value) in entries {
        bytes.extend(tag.to_le_bytes());
        bytes.extend(kind.to_le_bytes());
        bytes.extend(1u32.to_le_bytes());
        bytes.extend(value.to_le_bytes());
    }
    bytes.resize(200 + 256, 0);
    bytes
}

#[test]
#[cfg(feature = "bundled-gdal")]
fn a_codec_that_is_not_built_in_is_named_with_a_way_out() {
    let workspace = Workspace::new();
    workspace.write("scenes/a.tif", tiff_compressed_by(34925));
    workspace.write("metadata.csv", "path,n\na.tif,1\n");
    workspace.write("collection.json", COLLECTION);
    let codec = "compressed with LZMA, a codec that this program is not built with";
    let [scenes, metadata, collection, dataset] =
        ["scenes", "metadata.csv", "collection.json", "in.tacozip"]
            .map(|name| workspace.path(name).to_string_lossy().into_owned());
    let made = workspace.studio([
        "create",
        &scenes,
        "-o",
        &dataset,
        "--collection",
        &collection,
        "--metadata",
        &metadata,
    ]);
    assert!(made.expect_code(0).stderr.contains(codec), "create");
    let checked = workspace
        .studio(["validate", &dataset, "--deep"])
        .expect_code(0);
    assert!(checked.stderr.contains(codec), "{}", checked.stderr);
    let ran = extend(&workspace, "in.tacozip", "b.tacozip", &["--with", "stats"]).expect_code(1);
    assert!(
        ran.stderr.contains(codec) && ran.stderr.contains("gdal_translate"),
        "{}",
        ran.stderr
    );
    for (input, output, code) in [
        ("scenes/a.tif", "one.tif", 2),
        ("scenes", "many", 1),
        ("in.tacozip", "set.tacozip", 1),
    ] {
        let [input, output] =
            [input, output].map(|name| workspace.path(name).to_string_lossy().into_owned());
        let ran = workspace
            .studio(["optimise", &input, "-o", &output])
            .expect_code(code);
        assert!(
            ran.stderr.contains(codec) || ran.stdout.contains(codec),
            "{input}: {} {}",
            ran.stdout,
            ran.stderr
        );
    }
}

#[test]
fn three_unreadable_rasters_among_a_thousand_are_three_located_failures() {
    let workspace = Workspace::new();
    damaged(&workspace, 1000, &[7, 500, 999]);
    let ran = extend(
        &workspace,
        "in",
        "out.tacozip",
        &["--with", "stac", "--json"],
    )
    .expect_code(1);
    let told = ran.json();
    let failed: Vec<_> = told["failures"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|f| f["sample"].clone())
        .collect();
    assert_eq!(failed, ["t0007.tif", "t0500.tif", "t0999.tif"]);
    assert_eq!(
        told["computed"], 997,
        "a sample that failed is not computed"
    );
    let rows = query(
        &workspace,
        "out.tacozip",
        r#"SELECT id FROM level0 WHERE "stac:crs" IS NULL ORDER BY id"#,
    );
    assert_eq!(
        rows.iter().map(|row| row["id"].clone()).collect::<Vec<_>>(),
        ["t0007.tif", "t0500.tif", "t0999.tif"]
    );
    let beside: Vec<_> = entries(&workspace.path("in/DATA"))
        .into_iter()
        .filter(|path| path.to_string_lossy().contains(".aux"))
        .collect();
    assert!(beside.is_empty(), "{beside:?}");
}

#[test]
fn a_killed_run_leaves_nothing_under_the_final_name() {
    let workspace = Workspace::new();
    damaged(&workspace, 600, &[]);
    let started = Instant::now();
    extend(&workspace, "in", "whole.tacozip", &["--with", "stac"]).expect_code(0);
    let whole = started.elapsed();
    for part in 1..8 {
        let mut command = Command::new(env!("CARGO_BIN_EXE_taco-studio"));
        command
            .arg("extend")
            .arg(workspace.path("in"))
            .arg("-o")
            .arg(workspace.path("out.tacozip"))
            .args(["--with", "stac"]);
        let mut child = workspace
            .house(&mut command)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("starts");
        std::thread::sleep(
            whole
                .mul_f64(f64::from(part) / 8.0)
                .max(Duration::from_millis(1)),
        );
        child.kill().expect("ends it");
        let status = child.wait().expect("its state");
        let out = workspace.path("out.tacozip");
        // It may have finished before the signal; then the output is complete.
        if out.exists() {
            workspace
                .studio(["validate".as_ref(), out.as_os_str(), "--deep".as_ref()])
                .expect_code(0);
            std::fs::remove_file(&out).expect("removed");
        } else {
            assert!(!status.success());
        }
    }
}

#[test]
fn every_extension_is_listed_with_its_options() {
    let workspace = Workspace::new();
    let listed = workspace
        .studio(["extensions", "--json"])
        .expect_code(0)
        .json();
    let stac = listed
        .as_array()
        .expect("a list")
        .iter()
        .find(|entry| entry["name"] == "stac")
        .expect("stac")
        .clone();
    assert!(stac["options"].as_array().is_some_and(|options| {
        options
            .iter()
            .any(|option| option["name"] == "time_pattern")
    }));
    assert!(
        workspace
            .studio(["extensions"])
            .expect_code(0)
            .stdout
            .contains("time_pattern: text")
    );
}

/// The numbers of a nested list.
fn numbers(value: &Value) -> Vec<f64> {
    value
        .as_array()
        .expect("a list")
        .iter()
        .map(|number| number.as_f64().expect("a number"))
        .collect()
}

#[test]
fn statistics_of_the_golden_imagery_are_the_exact_ones() {
    let vectors =
        std::fs::read_to_string(tests_folder().join("fixtures/vectors/geotiff_stats_exact.json"))
            .expect("vectors");
    let vectors: Value = serde_json::from_str(&vectors).expect("JSON");
    let workspace = Workspace::new();
    let input = tests_folder().join("fixtures/golden/01_flat_zip/flat.tacozip");
    let input = input.to_str().expect("text");
    // Some have scaling columns, which would change the statistics.
    let stored = [
        "--with",
        "stats",
        "--replace",
        "--options",
        r#"{"scaling": "none"}"#,
    ];
    extend(&workspace, input, "out.tacozip", &stored).expect_code(0);
    let mut compared = 0;
    for row in query(
        &workspace,
        "out.tacozip",
        r#"SELECT id, "geotiff:stats" AS stats FROM level0"#,
    ) {
        let name = format!(
            "{}.tif",
            row["id"].as_str().expect("an id").trim_end_matches(".tif")
        );
        let Some(bands) = vectors[&name].as_array() else {
            continue;
        };
        let found = row["stats"].as_array().expect("a list");
        assert_eq!(found.len(), bands.len(), "{name}");
        for (found, band) in found.iter().zip(bands) {
            let mut expected: Vec<f64> = ["min", "max", "mean", "std", "valid_percent"]
                .iter()
                .map(|key| band[key].as_f64().expect("a number"))
                .collect();
            expected.extend(numbers(&band["p_exact_numpy_linear"]));
            for (found, expected) in numbers(found).iter().zip(&expected) {
                assert!(
                    (found - expected).abs() <= 1e-6 * expected.abs().max(1e-6),
                    "{name}: {found} is not {expected}"
                );
            }
            compared += 1;
        }
    }
    assert!(compared >= 8, "only {compared} bands compared");
}

#[test]
fn masks_have_the_fields_of_their_convention_and_the_collection_its_classes() {
    let workspace = Workspace::new();
    let input = tests_folder().join("fixtures/golden/04_nested2_folder/change");
    let input = input.to_str().expect("text");
    let options = r#"{"class_shares": {"kind": "change-detection"}, "stats": {"categorical": true,
        "class_values": [0, 1]}}"#;
    let shares = [
        "--with",
        "class_shares,stats",
        "--options",
        options,
        "--level",
        "1",
        "--positions",
        "label*",
        "--replace",
    ];
    extend(&workspace, input, "shares.tacozip", &shares).expect_code(0);
    let sql = r#"SELECT "change:changed_share" AS changed, "geotiff:stats" AS stats FROM level1
        WHERE id LIKE 'label%'"#;
    let rows = query(&workspace, "shares.tacozip", sql);
    assert!(!rows.is_empty());
    for row in rows {
        let (changed, stats) = (
            row["changed"].as_f64().expect("a share"),
            numbers(&row["stats"][0]),
        );
        assert!(
            (changed - stats[1]).abs() < 1e-6 && (0.0..=1.0).contains(&changed),
            "{changed} is not {}",
            stats[1]
        );
    }
    let findings = |name: &str| {
        let path = workspace.path(name).to_string_lossy().into_owned();
        let report = workspace.studio(["validate", &path, "--json"]).json();
        let rules = report["findings"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|finding| finding["rule"].clone());
        rules
            .filter(|rule| rule.as_str().is_some_and(|rule| rule.starts_with("CNV")))
            .collect::<Vec<_>>()
    };
    assert_eq!(findings("shares.tacozip"), ["CNV-2"]);
    let template = [
        "--with",
        "template",
        "--options",
        r#"{"kind": "change-detection"}"#,
        "--replace",
    ];
    let shares = workspace
        .path("shares.tacozip")
        .to_string_lossy()
        .into_owned();
    extend(&workspace, &shares, "whole.tacozip", &template).expect_code(0);
    assert_eq!(findings("whole.tacozip"), Vec::<Value>::new());
}

#[test]
fn classes_have_their_exact_shares() {
    let vectors =
        std::fs::read_to_string(tests_folder().join("fixtures/vectors/geotiff_stats_exact.json"))
            .expect("vectors");
    let vectors: Value = serde_json::from_str(&vectors).expect("JSON");
    let workspace = Workspace::new();
    let input = tests_folder().join("fixtures/golden/04_nested2_folder/change");
    let input = input.to_str().expect("text");
    let options = r#"{"stats": {"categorical": true, "class_values": [0, 1, 2]}}"#;
    let arguments = [
        "--with",
        "stats",
        "--options",
        options,
        "--level",
        "1",
        "--positions",
        "label*",
        "--replace",
    ];
    extend(&workspace, input, "out", &arguments).expect_code(0);
    let sql = r#"SELECT l0.id AS scene, l1."geotiff:stats" AS stats FROM level1 l1 JOIN level0 l0
        ON l1."internal:parent_id" = l0."internal:current_id" WHERE l1.id LIKE 'label%'"#;
    let mut compared = 0;
    for row in query(&workspace, "out", sql) {
        let scene = row["scene"].as_str().expect("an id");
        let number: String = scene.chars().filter(char::is_ascii_digit).collect();
        let number = number.trim_start_matches('0');
        let Some(band) = vectors[format!("cd_{number}_label.tif")].get(0) else {
            continue;
        };
        let found = numbers(&row["stats"][0]);
        for (class, found) in found.iter().enumerate() {
            let expected = band["class_probabilities"][class.to_string()]
                .as_f64()
                .unwrap_or(0.0);
            assert!(
                (found - expected).abs() < 1e-7,
                "{scene} {class}: {found} is not {expected}"
            );
        }
        assert!(
            found.len() == 3 && found[2] > 0.0,
            "the largest class is not lost"
        );
        compared += 1;
    }
    assert!(compared >= 3, "only {compared} labels compared");
}

#[test]
fn computed_columns_open_in_the_official_reader() {
    let workspace = Workspace::new();
    nested_scenes(&workspace, 4);
    create(&workspace, "in.tacozip", "zip");
    let options = r#"{"stac": {"time_start": "2023-05-17"}, "histogram": {"low": 0, "high": 255,
        "bins": 8}}"#;
    let arguments = [
        "--with",
        "stac,istac,stats,histogram",
        "--options",
        options,
        "--level",
        "1",
    ];
    let sources = workspace.path("scenes");
    for output in ["out.tacozip", "out"] {
        extend(&workspace, "in.tacozip", output, &arguments).expect_code(0);
        let path = workspace.path(output);
        workspace
            .studio(["validate".as_ref(), path.as_os_str(), "--deep".as_ref()])
            .expect_code(0);
        expect_ok(workspace.python(
            "check.py",
            ["reader".as_ref(), path.as_os_str(), sources.as_os_str()],
        ));
        let counts = query(
            &workspace,
            output,
            r#"SELECT "histogram:counts" AS counts FROM level1"#,
        );
        for row in counts {
            let bands = row["counts"].as_array().expect("bands").clone();
            assert!(
                bands
                    .iter()
                    .all(|band| numbers(band).iter().sum::<f64>() == 32.0 * 32.0),
                "{row}"
            );
        }
    }
}

#[cfg(unix)]
#[test]
fn an_external_program_answers_line_by_line() {
    let workspace = Workspace::new();
    flat_scenes(&workspace, 5);
    create(&workspace, "in.tacozip", "zip");
    let script = r#"while read -r line; do case "$line" in *tile_3*) echo '{"error": "cloudy"}';;
        *) echo '{"own:n": 7, "own:list": [1, 2.5]}';; esac; done"#;
    let options = |batch: u32, timeout: f64, script: &str| {
        let fields = json!({ "own:n": "int64", "own:list": "list<double>" });
        json!({
            "command": ["sh", "-c", script],
            "fields": fields,
            "batch": batch,
            "timeout": timeout,
        })
        .to_string()
    };
    for batch in [1, 2, 9] {
        let name = format!("out{batch}.tacozip");
        let given = options(batch, 30.0, script);
        let ran = extend(
            &workspace,
            "in.tacozip",
            &name,
            &["--with", "command", "--options", &given, "--json"],
        )
        .expect_code(1);
        let failures = ran.json()["failures"].clone();
        assert_eq!(
            (failures.as_array().map(Vec::len), &failures[0]["sample"]),
            (Some(1), &json!("tile_3.tif")),
            "{ran}"
        );
        assert!(
            failures[0]["error"]
                .as_str()
                .is_some_and(|error| error.contains("cloudy"))
        );
        let rows = query(
            &workspace,
            &name,
            r#"SELECT id, "own:n" AS n, "own:list" AS list FROM level0 WHERE id <> 'tile_3.tif'"#,
        );
        assert_eq!(rows.len(), 4);
        assert!(
            rows.iter()
                .all(|row| row["n"] == 7 && numbers(&row["list"]) == [1.0, 2.5]),
            "{rows:?}"
        );
    }
    for (script, timeout, says) in [
        ("echo out of memory >&2; exit 3", 30.0, "out of memory"),
        ("exec sleep 60", 0.3, "still running"),
        ("echo hello", 30.0, "not a line of JSON"),
    ] {
        let given = options(9, timeout, script);
        let ran = extend(
            &workspace,
            "in.tacozip",
            "bad.tacozip",
            &["--with", "command", "--options", &given, "--overwrite"],
        );
        let ran = ran.expect_code(1);
        assert!(ran.stderr.matches(says).count() == 5, "{says}: {ran}");
    }
}

#[cfg(unix)]
#[test]
fn a_program_receives_column_values() {
    let workspace = Workspace::new();
    nested_scenes(&workspace, 2);
    create(&workspace, "in.tacozip", "zip");
    let kept = workspace.path("questions");
    let script = format!("tee '{}' | sed 's/.*/{{\"own:n\": 1}}/'", kept.display());
    let options = json!({
        "command": [
            "sh",
            "-c",
            script,
        ], "fields": { "own:n": "int64" }, "batch": 9, "needs_file": false,
        "columns": ["cloud_cover", "quality", "region"],
    });
    extend(
        &workspace,
        "in.tacozip",
        "out.tacozip",
        &["--with", "command", "--options", &options.to_string()],
    )
    .expect_code(0);
    let questions = std::fs::read_to_string(kept).expect("questions");
    let first: Value =
        serde_json::from_str(questions.lines().next().expect("a line")).expect("JSON");
    assert_eq!(
        (&first["id"], &first["path"]),
        (&json!("scene_8"), &json!("scene_8"))
    );
    assert!(
        first["size"].is_u64() && first.get("file").is_none(),
        "{first}"
    );
    assert_eq!(
        first["values"],
        json!({ "cloud_cover": 0, "quality": 0.0, "region": "region 0" })
    );
}

#[cfg(unix)]
#[test]
fn a_program_ends_with_all_that_it_started() {
    let workspace = Workspace::new();
    flat_scenes(&workspace, 1);
    create(&workspace, "in.tacozip", "zip");
    // The shell's child process keeps the pipe open and would run for a minute.
    let marker = workspace.path("alive");
    let script = format!("(sleep 3; echo alive > '{}') & sleep 60", marker.display());
    let options = json!({
        "command": ["sh", "-c", script],
        "fields": { "own:n": "int64" },
        "batch": 9,
        "timeout": 0.3,
    })
    .to_string();
    let started = Instant::now();
    let ran = extend(
        &workspace,
        "in.tacozip",
        "out.tacozip",
        &["--with", "command", "--options", &options],
    )
    .expect_code(1);
    assert!(ran.stderr.contains("still running"), "{ran}");
    let took = started.elapsed();
    assert!(
        took < Duration::from_secs(30),
        "it waited {took:?} for what the program had started"
    );
    std::thread::sleep(Duration::from_secs(4));
    assert!(!marker.exists(), "what the program had started went on");
}

#[test]
fn columns_are_joined_from_a_table_and_unmatched_rows_reported() {
    let workspace = Workspace::new();
    nested_scenes(&workspace, 3);
    create(&workspace, "in.tacozip", "zip");
    let table = workspace.write(
        "extra.json",
        r#"{"scene_8/label.tif": {"own:classes": 3}, "scene_77/label.tif": {"own:classes": 9}}"#,
    );
    let options = json!({
        "table": table,
        "columns": { "own:classes": { "type": "int32", "description": "classes" } },
    })
    .to_string();
    let arguments = [
        "--with",
        "columns",
        "--options",
        &options,
        "--level",
        "1",
        "--positions",
        "label.tif",
        "--json",
    ];
    let ran = extend(&workspace, "in.tacozip", "out.tacozip", &arguments).expect_code(0);
    let note = ran.json()["notes"][0].clone();
    assert_eq!(
        (&note["note"], &note["rows"], &note["samples"]),
        (&json!("unmatched"), &json!(1), &json!(2)),
        "{ran}"
    );
    assert_eq!(note["row_keys"], json!(["scene_77/label.tif"]));
    let rows = query(
        &workspace,
        "out.tacozip",
        r#"SELECT id, "own:classes" AS n FROM level1 WHERE "own:classes" IS NOT NULL"#,
    );
    assert_eq!(rows, [json!({ "id": "label.tif", "n": 3 })]);
    let path = workspace.path("out.tacozip");
    workspace
        .studio(["validate".as_ref(), path.as_os_str(), "--deep".as_ref()])
        .expect_code(0);
}

#[test]
fn leakage_of_a_split_is_reported_as_json() {
    let workspace = Workspace::new();
    flat_scenes(&workspace, 6);
    // The same image under another name.
    std::fs::copy(
        workspace.path("scenes/tile_0.tif"),
        workspace.path("scenes/tile_9.tif"),
    )
    .expect("copied");
    create(&workspace, "in.tacozip", "zip");
    let parts: Vec<String> = [0, 1, 2, 3, 4, 5, 9]
        .iter()
        .map(|n| format!("tile_{n}.tif,{}", if *n == 9 { "test" } else { "train" }))
        .collect();
    let table = workspace.write("parts.csv", format!("path,split\n{}\n", parts.join("\n")));
    let options = json!({ "columns": { "table": table }, "stac": { "time_start": "2020-01-01" } })
        .to_string();
    let arguments = ["--with", "stac,content_hash,columns", "--options", &options];
    extend(&workspace, "in.tacozip", "split.tacozip", &arguments).expect_code(0);
    let path = workspace.path("split.tacozip");
    let found = workspace
        .studio(["leakage".as_ref(), path.as_os_str(), "--json".as_ref()])
        .expect_code(1)
        .json();
    // Each tile is 320 m wide, with 1 km between tiles.
    for kind in ["footprints", "times", "content"] {
        let leak = &found[kind][0];
        let pair = (
            &leak["parts"],
            &leak["pairs"],
            &leak["examples"][0]["one"],
            &leak["examples"][0]["other"],
        );
        assert_eq!(
            pair,
            (
                &json!(["test", "train"]),
                &json!(1),
                &json!("tile_9.tif"),
                &json!("tile_0.tif")
            ),
            "{kind}: {found}"
        );
    }
    assert_eq!(found["unknown"], json!([]));
    let text = workspace
        .studio(["leakage".as_ref(), path.as_os_str()])
        .expect_code(1)
        .stdout;
    assert!(
        text.contains("1 samples of test and 1 of train have the same bytes"),
        "{text}"
    );
    assert!(
        text.contains("note: test and train overlap in time"),
        "{text}"
    );
    let together = json!({ "method": "together", "column": "content:sha256" }).to_string();
    let arguments = [
        "--with",
        "split_assignment",
        "--options",
        &together,
        "--replace",
        "--json",
    ];
    let ran = extend(&workspace, "split.tacozip", "again.tacozip", &arguments).expect_code(0);
    assert_eq!(
        (
            &ran.json()["notes"][0]["note"],
            &ran.json()["notes"][0]["content"]
        ),
        (&json!("leakage"), &json!([])),
        "{ran}"
    );
    let path = workspace.path("again.tacozip");
    workspace
        .studio(["leakage".as_ref(), path.as_os_str()])
        .expect_code(0);
    let path = workspace.path("in.tacozip");
    let ran = workspace
        .studio(["leakage".as_ref(), path.as_os_str()])
        .expect_code(2);
    assert!(ran.stderr.contains("no level has column split"), "{ran}");
}

/// The first generation uses another column for the parts, and times in seconds.
#[test]
fn leakage_in_the_first_generation_needs_no_column() {
    let workspace = Workspace::new();
    let path = tests_folder().join("fixtures/golden/46_v1_taco_nested/nested.taco");
    let ran = workspace.studio(["leakage".as_ref(), path.as_os_str(), "--json".as_ref()]);
    let found = ran.json();
    assert_eq!(found["column"], "tortilla:data_split", "{ran}");
    let parts = found["parts"].as_array().expect("parts");
    assert!(
        !parts.is_empty() && parts.iter().all(|part| part["timed"] == part["samples"]),
        "{found}"
    );
}

mod studio_runs {
    //! Extensions in the studio: one edit that undo takes back, and a stop that leaves the draft as
    //! it was.

    use serde_json::json;
    use taco_studio::extensions::ExtensionCall;
    use taco_studio::jobs::Jobs;
    use taco_studio::model::{Dataset, NodePath};
    #[cfg(unix)]
    use taco_studio::studio::Outcome;
    use taco_studio::studio::{Command, Event, Studio};

    use crate::support::{Workspace, flat_scenes};

    fn drafting(workspace: &Workspace) -> Studio {
        flat_scenes(workspace, 6);
        let mut studio = Studio::new(Jobs::quiet());
        for command in [
            Command::New,
            Command::Import {
                paths: vec![workspace.path("scenes")],
                into: NodePath::root(),
                metadata: None,
            },
        ] {
            studio.run_to_end(command, &mut |_| {}).expect("works");
        }
        studio
    }

    fn dataset(studio: &Studio) -> Dataset {
        studio
            .document()
            .and_then(|document| document.draft())
            .expect("a draft")
            .dataset()
            .clone()
    }

    /// The level of the FILEs: an added folder is a FOLDER.
    fn level(dataset: &Dataset) -> usize {
        dataset.depth() - 1
    }

    #[test]
    fn undo_takes_every_column_back_and_redo_brings_them_again() {
        let workspace = Workspace::new();
        let mut studio = drafting(&workspace);
        let before = dataset(&studio);
        let call = |name: &str, options| {
            let target = taco_studio::extensions::CallTarget {
                level: level(&before),
                positions: Vec::new(),
            };
            ExtensionCall {
                extension: name.into(),
                options,
                target,
                schema_only: false,
            }
        };
        let calls = vec![
            call("stac", json!({ "time_start": "2020-01-01" })),
            call("stats", json!(null)),
            call("extent", json!(null)),
        ];
        let event = studio
            .run_to_end(
                Command::Extend {
                    calls,
                    replace: false,
                },
                &mut |_| {},
            )
            .expect("extends");
        assert!(
            matches!(&event, Event::Extended { failures, .. } if failures.is_empty()),
            "{event:?}"
        );
        let after = dataset(&studio);
        assert_ne!(after.root, before.root);
        assert_ne!(after.collection, before.collection);
        studio
            .run_to_end(Command::Undo, &mut |_| {})
            .expect("undoes");
        assert_eq!(dataset(&studio), before);
        studio
            .run_to_end(Command::Redo, &mut |_| {})
            .expect("redoes");
        assert_eq!(dataset(&studio), after);
    }

    #[cfg(unix)]
    #[test]
    fn a_stopped_run_leaves_the_draft_as_it_was() {
        let workspace = Workspace::new();
        let mut studio = drafting(&workspace);
        let before = dataset(&studio);
        let options = json!({ "command": ["sleep", "30"], "fields": { "own:n": "int64" } });
        taco_studio::consent::allow_program(&["sleep".to_owned(), "30".to_owned()]);
        let target = taco_studio::extensions::CallTarget {
            level: level(&before),
            positions: Vec::new(),
        };
        let calls = vec![ExtensionCall {
            extension: "command".into(),
            options,
            target,
            schema_only: false,
        }];
        let Outcome::Started(job) = studio
            .run(Command::Extend {
                calls,
                replace: false,
            })
            .expect("starts")
        else {
            panic!("it is no job")
        };
        std::thread::sleep(std::time::Duration::from_millis(200));
        let started = std::time::Instant::now();
        studio.run(Command::Cancel { job }).expect("cancels");
        let error = studio.wait(job, &mut |_| {}).expect_err("was stopped");
        assert!(error.is_cancelled(), "{error}");
        assert!(
            started.elapsed() < std::time::Duration::from_secs(10),
            "it went on for {:?}",
            started.elapsed()
        );
        assert_eq!(dataset(&studio), before);
        assert!(
            studio.run_to_end(Command::Undo, &mut |_| {}).is_ok(),
            "the last step is still the import"
        );
        assert_ne!(dataset(&studio), before);
    }
}

/// Little-endian WKB of a polygon.
fn polygon_wkb(ring: &[[f64; 2]]) -> Vec<u8> {
    let mut bytes = vec![1, 3, 0, 0, 0, 1, 0, 0, 0];
    bytes.extend((ring.len() as u32).to_le_bytes());
    ring.iter()
        .flatten()
        .for_each(|number| bytes.extend(number.to_le_bytes()));
    bytes
}

#[test]
fn footprints_come_from_a_column() {
    use arrow::array::{ArrayRef, BinaryArray, RecordBatch, StringArray};
    use std::sync::Arc;
    let workspace = Workspace::new();
    workspace.write("scenes/a.bin", "no raster");
    workspace.write("scenes/b.bin", "no raster either");
    flat_scenes(&workspace, 1);
    std::fs::remove_file(workspace.path("scenes/tile_0.tif")).expect("removed");
    workspace.write("metadata.csv", "path,n\na.bin,1\n");
    create(&workspace, "in.tacozip", "zip");
    // UTM zone 33 N: a square of 1 km at 500 km east, 5000 km north.
    let square = |east: f64| {
        let (west, south) = (east - 500.0, 4_999_500.0);
        polygon_wkb(&[
            [west, south],
            [west + 1e3, south],
            [west + 1e3, south + 1e3],
            [west, south + 1e3],
            [west, south],
        ])
    };
    let shapes: ArrayRef = Arc::new(BinaryArray::from_iter_values([
        square(500_000.0),
        square(510_000.0),
    ]));
    let ids: ArrayRef = Arc::new(StringArray::from(vec!["a.bin", "b.bin"]));
    let batch = RecordBatch::try_from_iter([("id", ids), ("footprint", shapes)]).expect("a table");
    let bytes = taco_studio::table::write_parquet(&batch.schema(), &[batch], &Default::default())
        .expect("Parquet");
    let table = workspace.write("shapes.parquet", bytes);
    let options = json!({
        "columns": { "table": table },
        "istac": {
            "geometry_column": "footprint",
            "crs": "EPSG:32633",
            "time_start": "2020-06-01",
        },
    });
    let options = options.to_string();
    extend(
        &workspace,
        "in.tacozip",
        "out.tacozip",
        &["--with", "columns,istac", "--options", &options],
    )
    .expect_code(0);
    let sql = r#"SELECT id, "istac:crs" AS crs, ST_X("istac:centroid") AS x,
        ST_Y("istac:centroid") AS y FROM level0 ORDER BY id"#;
    let rows = query(&workspace, "out.tacozip", sql);
    assert_eq!(rows.len(), 2);
    let (x, y) = (
        rows[0]["x"].as_f64().expect("a number"),
        rows[0]["y"].as_f64().expect("a number"),
    );
    // The central meridian of zone 33 is 15 degrees east.
    assert!(
        (x - 15.0).abs() < 1e-9 && (45.0..45.3).contains(&y),
        "{rows:?}"
    );
    assert!(
        rows[1]["x"].as_f64().is_some_and(|east| east > x + 0.1) && rows[1]["crs"] == "EPSG:32633",
        "{rows:?}"
    );
    let path = workspace.path("out.tacozip");
    workspace
        .studio(["validate".as_ref(), path.as_os_str(), "--deep".as_ref()])
        .expect_code(0);
}

#[test]
fn headers_of_tacotiffs_are_those_that_their_directories_give() {
    use taco_studio::raster::{NewRaster, Samples, write_raster};
    let workspace = Workspace::new();
    flat_scenes(&workspace, 1);
    std::fs::remove_file(workspace.path("scenes/tile_0.tif")).expect("removed");
    workspace.write("metadata.csv", "path,n\nc0.tif,1\n");
    let plain = [
        ("COMPRESS", "ZSTD"),
        ("INTERLEAVE", "TILE"),
        ("OVERVIEWS", "NONE"),
        ("BIGTIFF", "YES"),
        ("BLOCKSIZE", "128"),
    ];
    let noise = |number: u32| number.wrapping_mul(2_654_435_761) >> 16;
    for (number, (bands, predictor)) in [(1, "YES"), (3, "YES"), (2, "NO"), (5, "STANDARD")]
        .into_iter()
        .enumerate()
    {
        let (width, height) = (300 + 70 * number, 200 + 150 * number);
        let count = (width * height) as u32;
        let band = |band: u32| match number % 2 {
            0 => Samples::U16((0..count).map(|at| noise(at + band) as u16).collect()),
            _ => Samples::U8((0..count).map(|at| noise(at * 7 + band) as u8).collect()),
        };
        let options = plain
            .into_iter()
            .chain([("PREDICTOR", predictor)])
            .collect();
        let raster = NewRaster {
            width,
            height,
            bands: (0..bands).map(band).collect(),
            options,
            ..Default::default()
        };
        write_raster(
            &workspace.path(&format!("scenes/c{number}.tif")),
            "COG",
            &raster,
        )
        .expect("writes");
    }
    create(&workspace, "in", "folder");
    extend(
        &workspace,
        "in",
        "out",
        &["--with", "tacotiff", "--format", "folder"],
    )
    .expect_code(0);
    let out = workspace.path("out");
    expect_ok(workspace.python("tacotiff.py", [out.as_os_str()]));
    // Needs the official package: see tests/interop/tacotiff.py.
    if std::env::var_os("TACO_STUDIO_TACOTIFF").is_some() {
        expect_ok(workspace.python("tacotiff.py", [out.as_os_str(), "--tool".as_ref()]));
    }
}

/// A raster too large for memory, mostly sparse: read block by block in bounded memory.
#[cfg(target_os = "linux")]
#[test]
fn statistics_of_a_large_sparse_raster_take_bounded_memory() {
    const SIZE: u64 = 8192;
    const LIMIT_MIB: u64 = 400;
    let workspace = Workspace::new();
    flat_scenes(&workspace, 1);
    let path = workspace.path("scenes/tile_0.tif");
    workspace
        .python("sparse.py", [path.as_os_str(), SIZE.to_string().as_ref()])
        .expect_code(0);
    assert!(
        path.metadata().expect("a file").len() < 16 << 20,
        "it is sparse"
    );
    create(&workspace, "in", "folder");
    let mut command = Command::new(env!("CARGO_BIN_EXE_taco-studio"));
    command
        .arg("extend")
        .arg(workspace.path("in"))
        .arg("-o")
        .arg(workspace.path("out"))
        .args(["--with", "stats", "--json"]);
    let mut child = workspace
        .house(&mut command)
        .stdout(Stdio::null())
        .spawn()
        .expect("starts");
    let mut peak_kib = 0;
    let status = loop {
        let told =
            std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let line = told.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        peak_kib = peak_kib.max(
            line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok())
                .unwrap_or(0),
        );
        if let Some(status) = child.try_wait().expect("its state") {
            break status;
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    assert!(status.success(), "{status}");
    assert!(
        peak_kib / 1024 < LIMIT_MIB,
        "{} MiB, the pixels are {} MiB",
        peak_kib / 1024,
        (SIZE * SIZE * 8) >> 20
    );
    let rows = query(
        &workspace,
        "out",
        r#"SELECT "geotiff:stats" AS stats FROM level0"#,
    );
    let found = numbers(&rows[0]["stats"][0]);
    let mean = (512.0 * 512.0) / (SIZE * SIZE) as f64;
    for (found, wanted) in found.iter().zip([
        0.0,
        1.0,
        mean,
        (mean - mean * mean).sqrt(),
        100.0,
        0.0,
        0.0,
        0.0,
        0.0,
    ]) {
        assert!((found - wanted).abs() < 1e-9, "{found} is not {wanted}");
    }
}

#[cfg(unix)]
#[test]
fn a_program_computes_columns_of_a_level_and_fields_of_the_collection() {
    let workspace = Workspace::new();
    flat_scenes(&workspace, 4);
    create(&workspace, "in.tacozip", "zip");
    // One start sees all samples: it numbers them, and names them in another order.
    let script = r#"n=0; out=""; while read -r line; do n=$((n+1));
        p=$(printf '%s' "$line" | sed 's/.*"path":"\([^"]*\)".*/\1/');
        out="{\"path\": \"$p\", \"own:rank\": $n}
$out"; done; printf '%s' "$out""#;
    let options = json!({
        "command": ["sh", "-c", script],
        "fields": { "own:rank": "int64" },
        "columns": ["cloud_cover"],
    });
    extend(
        &workspace,
        "in.tacozip",
        "ranked.tacozip",
        &[
            "--with",
            "tortilla_command",
            "--options",
            &options.to_string(),
        ],
    )
    .expect_code(0);
    let rows = query(
        &workspace,
        "ranked.tacozip",
        r#"SELECT id, "own:rank" AS rank FROM data ORDER BY id"#,
    );
    let ranks: Vec<i64> = rows.iter().filter_map(|row| row["rank"].as_i64()).collect();
    assert_eq!(ranks, [1, 2, 3, 4], "{rows:?}");
    let kept = workspace.path("heard");
    let script = format!(
        "cat > '{}'; echo '{{\"own:mood\": {{\"calm\": true}}, \"keywords\": [\"own\"]}}'",
        kept.display()
    );
    let options = json!({ "command": ["sh", "-c", script], "columns": ["cloud_cover"] });
    extend(
        &workspace,
        "in.tacozip",
        "told.tacozip",
        &[
            "--with",
            "collection_command",
            "--options",
            &options.to_string(),
        ],
    )
    .expect_code(0);
    let collection = workspace
        .studio(["inspect", "told.tacozip", "--json"])
        .expect_code(0)
        .json()["collection"]
        .clone();
    assert_eq!(
        (&collection["own:mood"], &collection["keywords"]),
        (&json!({"calm": true}), &json!(["own"]))
    );
    let heard = std::fs::read_to_string(kept).expect("reads");
    let lines: Vec<Value> = heard
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(
        (&lines[0]["levels"][0]["samples"], lines.len()),
        (&json!(4), 5),
        "{heard}"
    );
    assert_eq!(
        (&lines[2]["id"], &lines[2]["values"]["cloud_cover"]),
        (&json!("tile_1.tif"), &json!(10))
    );
    for (script, says) in [
        ("echo '{\"id\": \"x\"}'", "no program may set"),
        ("echo hello", "not a line of JSON"),
        ("exit 3", "ended with"),
    ] {
        let options = json!({ "command": ["sh", "-c", script] }).to_string();
        let ran = extend(
            &workspace,
            "in.tacozip",
            "bad.tacozip",
            &["--with", "collection_command", "--options", &options],
        );
        assert!(ran.expect_code(2).stderr.contains(says), "{says}");
    }
}

#[cfg(unix)]
#[test]
fn programs_of_a_level_and_of_the_collection_need_consent_in_a_recipe() {
    use taco_studio::extensions::{ExtensionCall, programs_in};
    for (extension, options) in [
        (
            "tortilla_command",
            json!({ "command": ["own-one"], "fields": { "own:n": "int64" } }),
        ),
        ("collection_command", json!({ "command": ["own-two"] })),
    ] {
        let call = ExtensionCall {
            extension: extension.into(),
            options,
            ..ExtensionCall::default()
        };
        assert_eq!(programs_in(&[call]).len(), 1, "{extension}");
    }
}

/// Classes that share a category: one rule, one sentence, from every verb that writes a collection,
/// and in Problems of a draft.
#[test]
fn classes_that_share_a_category_are_a_warning_of_everything_that_writes() {
    let workspace = Workspace::new();
    flat_scenes(&workspace, 2);
    let classes = json!([
        { "name": "Lake", "category": "1" },
        { "name": "River", "category": "1" },
        { "name": "Land", "category": "0" },
    ]);
    let with = |name: &str, classes: &Value| {
        let mut fields: Value = serde_json::from_str(&core_fields_of_taco_0_2("")).expect("JSON");
        for key in ["title", "task", "taco_version"] {
            fields.as_object_mut().expect("an object").remove(key);
        }
        fields["tasks"] = json!(["classification"]);
        fields["keywords"] = json!(["rivers"]);
        fields["extent"] = json!({
            "spatial": [-2.0, 38.0, 0.0, 40.0],
            "temporal": ["2020-01-01T00:00:00Z", "2020-12-31T00:00:00Z"],
        });
        fields["labels:classes"] = classes.clone();
        workspace.write(name, fields.to_string());
    };
    with("shared.json", &classes);
    let message = "The classes Lake, River share the category 1";
    let warned = |call: &[&str]| {
        let ran = workspace.studio(call).expect_code(0);
        assert_eq!(ran.stderr.matches(message).count(), 1, "{call:?}: {ran}");
    };
    let create = |out: &'static str| ["create", "scenes", "-o", out, "--collection", "shared.json"];
    warned(&create("a.tacozip"));
    warned(&create("folder"));
    warned(&create("old.taco"));
    warned(&["convert", "a.tacozip", "b"]);
    warned(&[
        "export",
        "a.tacozip",
        "-o",
        "part.tacozip",
        "--sql",
        "SELECT * FROM data LIMIT 1",
    ]);
    warned(&[
        "compile",
        "a.tacozip",
        "-o",
        "again.taco",
        "--collection",
        "shared.json",
    ]);
    warned(&["edit", "folder", "--set", "title=Rivers"]);
    let recipe = json!([{ "extension": "labels", "options": { "classes": classes } }]);
    workspace.write("recipe.json", recipe.to_string());
    warned(&[
        "extend",
        "a.tacozip",
        "-o",
        "c.tacozip",
        "--calls",
        "recipe.json",
        "--replace",
    ]);
    for made in ["a.tacozip", "folder", "old.taco"] {
        let report = workspace
            .studio(["validate", made, "--json"])
            .expect_code(0)
            .json();
        let found = report["findings"]
            .as_array()
            .expect("findings")
            .iter()
            .find(|one| one["rule"] == "COL-15");
        let found = found.unwrap_or_else(|| panic!("{made}: {report}"));
        assert!(
            found["severity"] == "warning"
                && found["message"]
                    .as_str()
                    .is_some_and(|text| text.contains(message)),
            "{found}"
        );
    }
    // Names are unique: such a draft is not written.
    with(
        "twice.json",
        &json!([{ "name": "Lake", "category": "1" }, { "name": "Lake", "category": "2" }]),
    );
    let refused = workspace
        .studio([
            "create",
            "scenes",
            "-o",
            "no.tacozip",
            "--collection",
            "twice.json",
        ])
        .expect_code(2);
    assert!(
        refused.stderr.contains("COL-16") && !workspace.path("no.tacozip").exists(),
        "{refused}"
    );
}

#[test]
fn parts_of_the_names_become_columns() {
    let workspace = Workspace::new();
    nested_scenes(&workspace, 3);
    let zip = create(&workspace, "scenes.tacozip", "zip");
    let run = |pattern: &str, out: &str| {
        let options = serde_json::json!({ "name_columns": { "pattern": pattern } }).to_string();
        let arguments = [
            "extend",
            zip.to_str().expect("a name"),
            "-o",
            out,
            "--with",
            "name_columns",
            "--options",
            &options,
        ];
        workspace.studio(arguments)
    };
    run("{kind}_{number:int}", "out.tacozip").expect_code(0);
    let rows = workspace.studio([
        "query",
        "out.tacozip",
        "--sql",
        "SELECT kind, sum(number) AS n FROM data GROUP BY kind",
        "--format",
        "json",
    ]);
    let rows = rows.expect_code(0).stdout;
    assert!(
        rows.contains("\"kind\":\"scene\"") && rows.contains("\"n\":27"),
        "{rows}"
    );
    workspace.studio(["validate", "out.tacozip"]).expect_code(0);
    let refused = run("{tile}-{date:date}", "none.tacozip").expect_code(2);
    assert!(
        refused.stderr.contains("unlike the pattern") && !workspace.path("none.tacozip").exists(),
        "{refused}"
    );
}
