//! Zarr stores: a folder is one FILE, a ZIP of stored members, that previews and statistics read,
//! and that zarr and GDAL open; hostile stores open nothing else.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};
use taco_studio::error::Kind;
use taco_studio::model::AssetPath;
use taco_studio::raster::{self, RasterSource, ReadRequest, Resampling, Window};

use crate::support::Workspace;

/// An array of version 2 without compression.
const ARRAY: &str = r#"{"zarr_format": 2, "shape": [2, 2], "chunks": [2, 2], "dtype": "|u1",
    "compressor": null, "fill_value": 9, "filters": null, "order": "C"}"#;

/// A folder of two roots with stores of each kind, and the right values.
fn stores(workspace: &Workspace) -> (PathBuf, Vec<Json>) {
    let folder = workspace.path("stores");
    workspace
        .catalogue_python("zarr_stores.py", ["make".as_ref(), folder.as_os_str()])
        .expect_code(0);
    let values = std::fs::read(workspace.path("stores.json")).expect("was written");
    let values: Json = serde_json::from_slice(&values).expect("is JSON");
    (folder, values.as_array().expect("a list").clone())
}

fn collection(workspace: &Workspace) -> PathBuf {
    let fields = json!({
        "id": "cubes", "dataset_version": "1.0.0", "description": "Zarr stores.",
        "licenses": ["CC-BY-4.0"],
        "providers": [{ "name": "Tests", "roles": ["producer"] }],
        "tasks": ["classification"], "title": "Cubes", "keywords": ["tests"],
    });
    workspace.write("collection.json", fields.to_string())
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

/// The values of all bands of a raster, row by row.
fn values_of(source: &RasterSource) -> Json {
    let info = raster::describe(source).expect("a raster");
    let (width, height) = (info.width, info.height);
    let request = ReadRequest {
        window: Window::full(width, height),
        out: (width, height),
        bands: info.bands.iter().map(|band| band.index).collect(),
        resampling: Resampling::Nearest,
    };
    let pixels = raster::read_window(source, &request, &Default::default()).expect("reads");
    let rows = |samples: &raster::Samples| {
        (0..height)
            .map(|y| (0..width).map(|x| samples.get(y * width + x)).collect())
            .collect::<Vec<Vec<f64>>>()
    };
    let bands = pixels.bands.iter().map(|band| rows(&band.samples));
    json!(bands.collect::<Vec<_>>())
}

fn file_name(store: &str) -> String {
    if store.ends_with(".zarr") {
        format!("{store}.zip")
    } else {
        format!("{store}.zarr.zip")
    }
}

#[test]
fn zarr_stores_are_files_that_previews_and_other_programs_read() {
    let workspace = Workspace::new();
    let (folder, expected) = stores(&workspace);
    let fields = text(&collection(&workspace));
    let mut targets = Vec::new();
    for name in ["out.tacozip", "out"] {
        let target = workspace.path(name);
        let made = workspace
            .studio([
                "create",
                &text(&folder),
                "--collection",
                &fields,
                "-o",
                &text(&target),
            ])
            .expect_code(0);
        assert!(
            made.stderr.contains("12 Zarr stores become one FILE each"),
            "{made}"
        );
        workspace
            .studio(["validate", "--deep", &text(&target)])
            .expect_code(0);
        for entry in &expected {
            let [root, store, variable, values] = entry.as_array().expect("a list").as_slice()
            else {
                panic!("{entry}")
            };
            let (root, store) = (
                root.as_str().expect("a root"),
                store.as_str().expect("a store"),
            );
            let read = workspace
                .studio([
                    "read",
                    &text(&target),
                    &format!("{root}/{}", file_name(store)),
                ])
                .expect_code(0);
            let asset = AssetPath::parse(read.stdout.trim()).expect("a path");
            let source =
                RasterSource::member(asset).with_variable(variable.as_str().map(Into::into));
            if store == "shards.zarr" {
                // GDAL 3.12 does not read them.
                let error = raster::describe(&source).expect_err("is not read");
                assert!(error.report().contains("sharding_indexed"), "{error:?}");
                continue;
            }
            assert_eq!(&values_of(&source), values, "{root}/{store} {variable}");
            if let Some(variable) = variable.as_str() {
                let info = raster::describe(&source).expect("a raster");
                assert_eq!(info.bands[1].position, "time 2020-02-01", "{info:?}");
                let read = info.variable.as_ref().expect("has several");
                assert_eq!(read.name.as_deref(), Some(variable));
                assert_eq!(read.names, ["temp", "wind"]);
                let origin = info.geotransform.expect("has a place");
                assert_eq!((origin[0], origin[3]), (9.5, 4.5), "{origin:?}");
            }
        }
        targets.push(target);
    }
    let mut arguments = vec!["check".as_ref(), folder.as_os_str()];
    arguments.extend(targets.iter().map(|target| target.as_os_str()));
    workspace
        .catalogue_python("zarr_stores.py", arguments)
        .expect_code(0);
    // The same folder gives the same bytes.
    let (first, again) = (&targets[0], workspace.path("again.tacozip"));
    workspace
        .studio([
            "create",
            &text(&folder),
            "--collection",
            &fields,
            "-o",
            &text(&again),
        ])
        .expect_code(0);
    assert!(std::fs::read(first).expect("reads") == std::fs::read(again).expect("reads"));
}

#[test]
fn statistics_are_those_of_the_chosen_variable_of_a_store() {
    let workspace = Workspace::new();
    let (folder, expected) = stores(&workspace);
    let (made, target) = (workspace.path("in.tacozip"), workspace.path("out.tacozip"));
    let fields = text(&collection(&workspace));
    workspace
        .studio([
            "create",
            &text(&folder),
            "--collection",
            &fields,
            "-o",
            &text(&made),
        ])
        .expect_code(0);
    let (made, target) = (text(&made), text(&target));
    workspace
        .studio([
            "extend",
            &made,
            "-o",
            &target,
            "--with",
            "cube,stats",
            "--options",
            r#"{"cube": {"variable": "wind"}}"#,
            "--level",
            "1",
            "--positions",
            "cube*",
        ])
        .expect_code(0);
    let sql = r#"SELECT "geotiff:stats"[2][1] AS least, "geotiff:stats"[2][3] AS mean
        FROM level1 WHERE id = 'cube3.zarr.zip' ORDER BY mean"#;
    let queried = workspace
        .studio(["query", &target, "--sql", sql, "--json"])
        .expect_code(0);
    let rows: Vec<Json> = queried
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("a row"))
        .collect();
    let second_band = |root: &str| -> Vec<f64> {
        let is_wind =
            |entry: &&Json| entry[0] == *root && entry[1] == "cube3.zarr" && entry[2] == "wind";
        let entry = expected.iter().find(is_wind).expect("is there");
        let rows = entry[3][1].as_array().expect("rows").iter();
        let values = rows.flat_map(|row| row.as_array().expect("a row"));
        values.filter_map(Json::as_f64).collect()
    };
    for (row, root) in rows.iter().zip(["s1", "s2"]) {
        let values = second_band(root);
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let found = |name: &str| row[name].as_f64().expect("a number");
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        assert_eq!(found("least"), least, "{root}: {row}");
        assert!((found("mean") - mean).abs() < 1e-4, "{root}: {row}, {mean}");
    }
    assert_eq!(rows.len(), 2);
}

/// Their chunks became samples, without the metadata that reads them.
#[test]
fn an_archive_that_is_a_store_is_refused_and_stores_in_archives_are_named() {
    let workspace = Workspace::new();
    let fields = text(&collection(&workspace));
    let array = ARRAY.as_bytes();
    let chunk: &[u8] = &[1, 2, 3, 4];
    let root = [(".zarray", array), ("0.0", chunk)];
    let folder = [("cube.zarr/.zarray", array), ("cube.zarr/0.0", chunk)];
    let beside = [
        ("s1/cube.zarr/.zarray", array),
        ("s1/cube.zarr/0.0", chunk),
        ("s1/a.txt", b"text"),
    ];
    let deflated = zip::CompressionMethod::Deflated;
    for (name, members, code, says) in [
        ("root.zip", &root[..], 2, "is a Zarr store itself"),
        ("folder.zip", &folder[..], 2, "is a Zarr store itself"),
        ("beside.zip", &beside[..], 0, "cube.zarr: a Zarr store"),
    ] {
        let source = text(&workspace.write(name, zipped(members, deflated)));
        let target = text(&workspace.path("out.tacozip"));
        let ran = workspace
            .studio(["create", &source, "--collection", &fields, "-o", &target])
            .expect_no_panic();
        assert_eq!(ran.code(), code, "{name}: {ran}");
        assert!(ran.to_string().contains(says), "{name}: {ran}");
    }
}

#[test]
fn a_store_that_changes_while_it_is_in_a_draft_is_not_written() {
    let workspace = Workspace::new();
    let (folder, _) = stores(&workspace);
    let store = folder.join("s1/plain.zarr");
    let archive = taco_studio::folder_archive::FolderArchive::list(&store).expect("lists");
    let source = RasterSource::member(AssetPath::Packed(archive.member().into()));
    assert_eq!(raster::describe(&source).expect("a raster").width, 12);
    std::fs::write(store.join("0.0"), b"other bytes").expect("writes");
    std::thread::sleep(std::time::Duration::from_millis(1100));
    let error = raster::describe(&source).expect_err("changed");
    assert_eq!(error.kind(), Kind::Changed, "{error}");
}

/// A ZIP of these members.
fn zipped(members: &[(&str, &[u8])], method: zip::CompressionMethod) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default().compression_method(method);
    for (name, bytes) in members {
        archive.start_file(*name, options).expect("begins a member");
        archive.write_all(bytes).expect("writes");
    }
    archive.finish().expect("ends").into_inner()
}

/// The members of an array of doubles in a store of version 2: its name, its dimensions with their
/// lengths, its units, and values in steps from the first.
fn array_of_doubles(
    name: &str,
    dimensions: &[(&str, usize)],
    units: &str,
    (first, step): (f64, f64),
) -> Vec<(String, Vec<u8>)> {
    let (names, shape): (Vec<&str>, Vec<usize>) = dimensions.iter().copied().unzip();
    let count: usize = shape.iter().product();
    let values = (0..count).flat_map(|at| (first + step * at as f64).to_le_bytes());
    let header = json!({
        "zarr_format": 2, "shape": shape, "chunks": shape, "dtype": "<f8", "compressor": null,
        "fill_value": null, "filters": null, "order": "C",
    });
    let attributes = json!({ "_ARRAY_DIMENSIONS": names, "units": units });
    let chunk = vec!["0"; names.len()].join(".");
    vec![
        (format!("{name}/.zarray"), header.to_string().into_bytes()),
        (
            format!("{name}/.zattrs"),
            attributes.to_string().into_bytes(),
        ),
        (format!("{name}/{chunk}"), values.collect()),
    ]
}

#[test]
fn stores_in_degrees_without_a_system_are_on_wgs_84_where_rows_are_of_latitudes() {
    const DEGREES: [&str; 2] = ["degrees_north", "degrees_east"];
    const LAT: (&str, usize) = ("lat", 6);
    const LON: (&str, usize) = ("lon", 8);
    let workspace = Workspace::new();
    for (at, (units, plane, rasters, wanted)) in [
        (DEGREES, [LAT, LON], &["tas"][..], Some("EPSG:4326")),
        (DEGREES, [LAT, LON], &["pr", "tas"], Some("EPSG:4326")),
        (DEGREES, [LON, LAT], &["tas"], None),
        (["m", "m"], [LAT, LON], &["tas"], None),
    ]
    .into_iter()
    .enumerate()
    {
        let mut members = vec![(".zgroup".to_owned(), br#"{"zarr_format": 2}"#.to_vec())];
        members.extend(array_of_doubles("lat", &[LAT], units[0], (45.0, -1.0)));
        members.extend(array_of_doubles("lon", &[LON], units[1], (10.0, 1.0)));
        for name in rasters {
            members.extend(array_of_doubles(name, &plane, "K", (270.0, 0.5)));
        }
        let members: Vec<(&str, &[u8])> = members
            .iter()
            .map(|(name, bytes)| (name.as_str(), bytes.as_slice()))
            .collect();
        let bytes = zipped(&members, zip::CompressionMethod::Stored);
        let file = workspace.write(&format!("{at}.zarr.zip"), bytes);
        let info = raster::describe(&RasterSource::member(AssetPath::file(file)));
        let info = info.expect("a raster");
        assert_eq!(info.crs_code.as_deref(), wanted, "{at}: {info:?}");
    }
}

#[test]
fn members_of_a_store_are_found_in_it_alone() {
    let workspace = Workspace::new();
    let stored = zip::CompressionMethod::Stored;
    let array = ARRAY.as_bytes();
    let described = |name: &str, bytes: &[u8]| {
        let file = workspace.write(name, bytes);
        raster::describe(&RasterSource::member(AssetPath::file(file)))
    };
    // The chunk is a file outside of the archive: what is not in it has the value of nothing.
    workspace.write("0.0", [1, 2, 3, 4]);
    workspace.write("store/0.0", [1, 2, 3, 4]);
    let alone = zipped(&[(".zarray", array), ("../0.0", &[5; 4])], stored);
    let info = described("alone.zarr.zip", &alone).expect("a raster");
    assert_eq!((info.width, info.band_count), (2, 1));
    let file = workspace.path("alone.zarr.zip");
    let values = values_of(&RasterSource::member(AssetPath::file(&*file)));
    assert_eq!(values, json!([[[9.0, 9.0], [9.0, 9.0]]]));
    // A folder that was packed with its name, and a ZIP as a user gave it.
    let inside = [
        ("cube.zarr/.zarray", array),
        ("cube.zarr/0.0", &[1, 2, 3, 4]),
    ];
    let file = workspace.write("inside.zarr.zip", zipped(&inside, stored));
    let values = values_of(&RasterSource::from_user_path(AssetPath::file(&*file)));
    assert_eq!(values, json!([[[1.0, 2.0], [3.0, 4.0]]]));
    let deflated = zipped(&inside, zip::CompressionMethod::Deflated);
    let refused = described("deflated.zarr.zip", &deflated).expect_err("is compressed");
    assert_eq!(refused.kind(), Kind::Unsupported, "{refused}");
    assert!(refused.to_string().contains("compressed"), "{refused}");
    let other = zipped(&[("a.txt", b"text"), ("b/.zarray", array)], stored);
    let other = described("other.zip", &other).expect_err("is no store");
    assert_eq!(other.kind(), Kind::Format, "{other}");
    let huge = ARRAY.replace("[2, 2]", "[60000, 60000]");
    let bomb = zipped(&[(".zarray", huge.as_bytes())], stored);
    let refused = described("bomb.zarr.zip", &bomb).expect_err("takes gigabytes");
    assert_eq!(refused.kind(), Kind::Unsupported, "{refused}");
    let vrt = b"<VRTDataset rasterXSize=\"1\" rasterYSize=\"1\"></VRTDataset>";
    let overviews = zipped(&[(".zarray", array), (".zarray.store.ovr", vrt)], stored);
    let refused = described("overviews.zarr.zip", &overviews).expect_err("any driver reads it");
    assert_eq!(refused.kind(), Kind::Unsupported, "{refused}");
    // Cut short, and with a chunk that is too short.
    for length in [4, 40, alone.len() / 2, alone.len() - 1] {
        assert!(
            described("cut.zarr.zip", &alone[..length]).is_err(),
            "{length}"
        );
    }
    let short = zipped(&[(".zarray", array), ("0.0", &[1])], stored);
    described("short.zarr.zip", &short).expect("its header is whole");
}
