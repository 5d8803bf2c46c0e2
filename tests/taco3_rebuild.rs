//! Datasets of 2.0, 0.2 and 0.5, which the official library of TACO 3 writes from what
//! `migrate --to 3` prepares: its own check is clean, and ids, bytes, places and times are those of
//! the source.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use taco_studio::container::{self, RowSource, read_asset};
use taco_studio::footprint::{Detail, boxes_of, interval_of};
use taco_studio::jobs::JobContext;
use taco_studio::model::is_padding;

use crate::support::{Workspace, sha256, taco3_python};

/// What a dataset says of one of its samples.
#[derive(Debug, Default, PartialEq)]
struct Contents {
    /// Hashes of its files, in the order of the tree; padding has none.
    files: Vec<String>,
    /// West, south, east, north of each sample or child that has a place.
    places: Vec<[f64; 4]>,
    /// Start and end of each that has a time.
    times: Vec<[Option<i64>; 2]>,
}

/// The contents of every sample by its id.
fn contents_of(path: &Path) -> BTreeMap<String, Contents> {
    let ctx = JobContext::default();
    let reader = container::open(path, &ctx).expect("opens");
    let tree = reader.levels().skeleton(&ctx).expect("reads");
    let mut samples: BTreeMap<String, Contents> = BTreeMap::new();
    for (depth, level) in tree.levels.iter().enumerate() {
        let batch = reader
            .levels()
            .table(depth, &ctx)
            .expect("reads")
            .to_batch()
            .expect("reads");
        let places = boxes_of(&batch, Detail::Exact, &ctx).expect("places");
        let times = interval_of(&batch);
        for row in 0..level.len() as u32 {
            let root = tree.path(depth, row).0[0].to_string();
            if is_padding(&root) {
                continue;
            }
            let contents = samples.entry(root).or_default();
            contents.places.extend(places[row as usize]);
            contents
                .times
                .extend(Some(times[row as usize]).filter(|times| times[0].is_some()));
            if !level.folder[row as usize] {
                let bytes = match reader.source(depth, row).expect("a source") {
                    RowSource::Asset { path, .. } => read_asset(&path).expect("reads"),
                    RowSource::Bytes(bytes) => bytes,
                    RowSource::Folder => panic!("a file"),
                };
                // Placeholders of one byte are padding.
                contents
                    .files
                    .extend((bytes.len() > 1).then(|| sha256(&bytes)));
            }
        }
    }
    samples
}

fn golden(name: &str) -> PathBuf {
    crate::support::tests_folder()
        .join("fixtures/golden")
        .join(name)
}

fn expect_rebuilt(source: &Path) {
    let workspace = Workspace::new();
    let (folder, output) = (workspace.path("prepared"), workspace.path("rebuilt.zip"));
    let python = taco3_python();
    let ran = workspace.studio([
        "migrate".as_ref(),
        source.as_os_str(),
        "--to".as_ref(),
        "3".as_ref(),
        "-o".as_ref(),
        folder.as_os_str(),
        "--run".as_ref(),
        output.as_os_str(),
        "--python".as_ref(),
        python.as_os_str(),
        "--json".as_ref(),
    ]);
    let report = ran.expect_code(0).json();
    let said = report["library"].as_str().expect("what the library said");
    // One line for the dataset; findings of the library's check would follow.
    assert_eq!(
        said.trim().lines().count(),
        1,
        "{}: {said}",
        source.display()
    );
    let (before, after) = (contents_of(source), contents_of(&output));
    assert_eq!(
        before.keys().collect::<Vec<_>>(),
        after.keys().collect::<Vec<_>>(),
        "{}",
        source.display()
    );
    for (id, sample) in &before {
        let rebuilt = &after[id];
        let place = format!("{} {id}", source.display());
        assert_eq!(sample.files, rebuilt.files, "{place}");
        assert_eq!(sample.times, rebuilt.times, "{place}");
        assert_eq!(sample.places.len(), rebuilt.places.len(), "{place}");
        for (one, other) in sample.places.iter().zip(&rebuilt.places) {
            let is_near = one.iter().zip(other).all(|(a, b)| (a - b).abs() < 1e-9);
            assert!(is_near, "{place}: {one:?} became {other:?}");
        }
    }
}

#[test]
fn datasets_of_2_0_are_rebuilt_with_their_bytes_places_and_times() {
    for name in [
        "01_flat_zip/flat.tacozip",
        "04_nested2_folder/change",
        "05_nested3_zip/stack.tacozip",
        "06_nested3_folder/stack",
        "09_split_tacocat/parts_part0001.tacozip",
        "11_columns_zip/cols.tacozip",
        "12_columns_folder/cols",
        "13_refbug_unsorted_ids/unsorted.tacozip",
        "23_v018_nested2_pad_zip/change.tacozip",
        "34_upstream_folder_nested/nested",
    ] {
        expect_rebuilt(&golden(name));
    }
}

#[test]
fn datasets_of_the_first_generation_are_rebuilt_with_their_bytes_places_and_times() {
    for name in [
        "41_v1_bytes/bytes.tortilla",
        "42_v1_nested/nested.tortilla",
        "43_v1_nested3/nested3.tortilla",
        "46_v1_taco_nested/nested.taco",
    ] {
        expect_rebuilt(&golden(name));
    }
}

#[test]
fn without_the_library_the_folder_stays_and_the_error_names_what_to_install() {
    let workspace = Workspace::new();
    let (folder, output) = (workspace.path("prepared"), workspace.path("rebuilt.zip"));
    let source = golden("01_flat_zip/flat.tacozip");
    let arguments = [
        "migrate",
        &source.to_string_lossy(),
        "--to",
        "3",
        "-o",
        &folder.to_string_lossy(),
    ]
    .map(str::to_owned);
    let run = [
        "--run",
        &output.to_string_lossy(),
        "--python",
        "no-such-python",
    ]
    .map(str::to_owned);
    let ran = workspace.studio(arguments.iter().chain(&run));
    assert_ne!(ran.code(), 0);
    assert!(ran.stderr.contains("taco-eo[writer]"), "{}", ran.stderr);
    for name in [
        "contract.json",
        "report.json",
        "rebuild.py",
        "tables/sample.parquet",
        "tables/children.parquet",
        "data/0",
    ] {
        assert!(folder.join(name).exists(), "{name}");
    }
    assert!(!output.exists());
    // The library never replaces the dataset that is read.
    let copy = workspace.path("copy.tacozip");
    std::fs::copy(&source, &copy).expect("copies");
    let text = copy.to_string_lossy().into_owned();
    let ran = workspace.studio([
        "migrate",
        &text,
        "--to",
        "3",
        "-o",
        "other",
        "--run",
        &text,
        "--overwrite",
    ]);
    assert!(
        ran.code() == 2
            && std::fs::read(&copy).expect("reads") == std::fs::read(&source).expect("reads"),
        "{}",
        ran.stderr
    );
    // Again, with the library: the folder is not replaced unless that is asked for.
    assert_ne!(workspace.studio(&arguments).code(), 0);
    workspace
        .studio(arguments.iter().map(String::as_str).chain(["--overwrite"]))
        .expect_code(0);
}

#[test]
fn a_dataset_of_taco_3_is_not_prepared_again() {
    let workspace = Workspace::new();
    let source = golden("60_v3_zip/change.zip");
    let ran = workspace.studio(["migrate", &source.to_string_lossy(), "--to", "3"]);
    assert_ne!(ran.code(), 0);
    assert!(ran.stderr.contains("TACO 3 already"), "{}", ran.stderr);
}

#[test]
fn places_that_bend_cross_the_antimeridian_and_hold_poles_are_kept() {
    let workspace = Workspace::new();
    expect_rebuilt(&crate::places::dataset_of_kinds(
        &workspace,
        "kinds.tacozip",
        None,
    ));
}

#[test]
fn a_series_of_unequal_length_becomes_a_sequence() {
    let workspace = Workspace::new();
    for (sample, steps) in [("a", 3), ("b", 1), ("c", 3)] {
        for step in 0..steps {
            workspace.write(
                &format!("in/{sample}/t{step}.bin"),
                format!("{sample}{step}"),
            );
        }
    }
    let collection = workspace.write(
        "collection.json",
        r#"{"id": "series", "dataset_version": "1", "description": "d", "licenses": ["CC0-1.0"],
            "providers": [{"name": "p"}],
            "tasks": ["other"]}"#,
    );
    let (input, dataset) = (workspace.path("in"), workspace.path("series.tacozip"));
    let arguments = [
        "create".as_ref(),
        input.as_os_str(),
        "-o".as_ref(),
        dataset.as_os_str(),
        "--fill-missing".as_ref(),
    ];
    workspace
        .studio(
            arguments
                .into_iter()
                .chain(["--collection".as_ref(), collection.as_os_str()]),
        )
        .expect_code(0);
    let planned = workspace.studio([
        "migrate".as_ref(),
        dataset.as_os_str(),
        "--to".as_ref(),
        "3".as_ref(),
        "--json".as_ref(),
    ]);
    let planned = planned.expect_code(0).json();
    assert_eq!(planned["structure"], serde_json::json!(["t*[1,3].bin"]));
    assert_eq!(planned["placeholders"], serde_json::json!([]));
    expect_rebuilt(&dataset);
}
