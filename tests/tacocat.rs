//! Datasets in several ZIPs: the index over them (TACOCAT) in both forms, the folder `.tacocat` and
//! the file `__TACOCAT__`, and the list of them (TACOLLECTION.json).

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{Workspace, copy_folder, copy_zips, fixtures, sha256_of, zips_in};

/// The folder of a golden set.
fn golden(name: &str) -> PathBuf {
    let all = fixtures("golden", "TACO_STUDIO_GOLDEN");
    all.into_iter()
        .find(|folder| folder.ends_with(name))
        .unwrap_or_else(|| panic!("no golden set {name}"))
}

fn read_expected(folder: &Path) -> Value {
    let text = fs::read_to_string(folder.join("expected.json")).expect("expected.json");
    serde_json::from_str(&text).expect("JSON")
}

/// Copies a golden set with its index into the workspace.
fn copy_golden(workspace: &Workspace, set: &str) -> PathBuf {
    let target = workspace.path("set");
    copy_folder(&golden(set), &target);
    target
}

#[test]
fn samples_read_through_an_index_have_the_bytes_in_its_parts() {
    let workspace = Workspace::new();
    let out = workspace.path("bytes");
    let mut compared = 0;
    for (set, index) in [
        ("09_split_tacocat", ".tacocat"),
        ("27_v018_parts_tacocat", "__TACOCAT__"),
    ] {
        let folder = golden(set);
        let expected = read_expected(&folder);
        let parts = expected
            .as_object()
            .expect("an object")
            .values()
            .filter(|part| part["kind"] == "zip");
        for (member, wanted) in parts.flat_map(|part| part["files"].as_object().expect("files")) {
            let id = member.strip_prefix("DATA/").expect("a file under DATA");
            let dataset = folder.join(index);
            let arguments = [
                "read".as_ref(),
                dataset.as_os_str(),
                id.as_ref(),
                "--out".as_ref(),
                out.as_os_str(),
            ];
            workspace.studio(arguments).expect_code(0);
            assert_eq!(sha256_of(&out), wanted["sha256"], "{set}: bytes of {id}");
            fs::remove_file(&out).expect("the file just written");
            compared += 1;
        }
    }
    assert!(compared >= 36, "only {compared} files");
}

#[test]
fn flat_views_join_within_a_part() {
    let workspace = Workspace::new();
    let query = |path: &Path| {
        let sql = "select count(*) as n, count(distinct \"l0:id\") as roots from l1";
        let ran = workspace.studio([
            "query".as_ref(),
            path.as_os_str(),
            "--sql".as_ref(),
            sql.as_ref(),
            "--json".as_ref(),
        ]);
        ran.expect_code(0).json()
    };
    let rows = query(&golden("09_split_tacocat"));
    assert_eq!((&rows["n"], &rows["roots"]), (&18.into(), &6.into()));
    // This set has no internal:current_id, and padding.
    let rows = query(&golden("27_v018_parts_tacocat").join("__TACOCAT__"));
    assert_eq!((&rows["n"], &rows["roots"]), (&24.into(), &6.into()));
}

#[test]
fn an_index_with_a_missing_part_lists_samples_and_names_the_part() {
    let workspace = Workspace::new();
    let set = copy_golden(&workspace, "09_split_tacocat");
    let part = set.join("parts_part0003.tacozip");
    fs::remove_file(&part).expect("removes");
    let listed = workspace
        .studio(["read".as_ref(), set.as_os_str()])
        .expect_code(0);
    assert_eq!(listed.stdout.lines().count(), 6, "{listed}");
    let ran = workspace
        .studio([
            "read".as_ref(),
            set.as_os_str(),
            "scene_06/label.tif".as_ref(),
        ])
        .expect_code(2);
    assert!(
        ran.stderr.contains("parts_part0003.tacozip is missing"),
        "{ran}"
    );
    assert!(
        ran.stderr.contains(&*part.to_string_lossy()),
        "the path of the missing part: {ran}"
    );
    workspace
        .studio([
            "read".as_ref(),
            set.as_os_str(),
            "scene_01/label.tif".as_ref(),
        ])
        .expect_code(0);
}

#[test]
fn damaged_indexes_are_errors() {
    let workspace = Workspace::new();
    let set = copy_golden(&workspace, "27_v018_parts_tacocat");
    let index = set.join("__TACOCAT__");
    let valid = fs::read(&index).expect("reads");
    // The layout is that of `the_header_of_an_index_has_the_layout_of_the_official_file`.
    let mut offset_outside_of_file = valid.clone();
    offset_outside_of_file[16..24].copy_from_slice(&u64::MAX.to_le_bytes());
    let mut too_many_levels = valid.clone();
    too_many_levels[12] = 200;
    let (cut_header, cut_section) = (&valid[..127], &valid[..2000]);
    for bytes in [
        cut_header,
        cut_section,
        &offset_outside_of_file,
        &too_many_levels,
    ] {
        fs::write(&index, bytes).expect("writes");
        workspace
            .studio(["inspect".as_ref(), index.as_os_str()])
            .expect_code(2);
    }
}

/// Copies the ZIPs of a golden set, and writes an index over the copies into their folder, which is
/// returned.
fn index_copied_zips(workspace: &Workspace, set: &str, options: &[&str]) -> PathBuf {
    let folder = workspace.path("ours");
    let zips = copy_zips(&golden(set), &folder);
    let mut arguments = vec!["tacocat".into()];
    arguments.extend(zips.into_iter().map(PathBuf::into_os_string));
    arguments.extend(["-o".into(), folder.clone().into_os_string()]);
    arguments.extend(options.iter().map(Into::into));
    workspace.studio(arguments).expect_code(0);
    folder
}

#[test]
fn an_index_over_a_folder_equals_one_over_its_zips() {
    let workspace = Workspace::new();
    let folder = index_copied_zips(&workspace, "09_split_tacocat", &[]);
    let table = folder.join(".tacocat/level0.parquet");
    let over_zips = fs::read(&table).expect("a table");
    let arguments = [
        "tacocat".as_ref(),
        folder.as_os_str(),
        "-o".as_ref(),
        folder.as_os_str(),
        "--overwrite".as_ref(),
    ];
    workspace.studio(arguments).expect_code(0);
    assert_eq!(fs::read(&table).expect("a table"), over_zips);
}

#[test]
fn a_folder_of_zips_without_an_index_names_the_command_that_writes_one() {
    let workspace = Workspace::new();
    let folder = workspace.path("zips");
    let zips = copy_zips(&golden("09_split_tacocat"), &folder);
    // A folder whose ZIPs all have the names of parts opens as one dataset without an index.
    fs::rename(&zips[0], folder.join("other.tacozip")).expect("renames");
    let opened = workspace.studio(["validate".as_ref(), folder.as_os_str()]);
    assert!(opened.stderr.contains("taco-studio tacocat"), "{opened}");
}

#[test]
fn an_index_that_would_not_find_its_parts_is_warned_of() {
    let workspace = Workspace::new();
    let folder = index_copied_zips(&workspace, "09_split_tacocat", &[]);
    let write = |verb: &str, target: &Path| {
        let mut arguments = vec![
            verb.into(),
            "-o".into(),
            target.as_os_str().to_owned(),
            "--overwrite".into(),
        ];
        let zips = zips_in(&folder).into_iter();
        arguments.extend(zips.map(PathBuf::into_os_string));
        workspace.studio(arguments).expect_code(0)
    };
    let elsewhere = workspace.path("elsewhere");
    for (verb, name) in [("tacocat", ""), ("tacollection", "TACOLLECTION.json")] {
        let near = write(verb, &folder.join(name));
        assert!(!near.stderr.contains("warning"), "{verb}: {near}");
        let far = write(verb, &elsewhere.join(name));
        assert!(
            far.stderr.contains("warning") && far.stderr.contains("--base-path"),
            "{verb}: {far}"
        );
    }
}

#[test]
fn the_index_equals_that_of_the_official_tools() {
    let workspace = Workspace::new();
    let forms: [(&[&str], &str); 2] = [(&[], ".tacocat"), (&["--single-file"], "__TACOCAT__")];
    for (options, name) in forms {
        let index = index_copied_zips(&workspace, "09_split_tacocat", options).join(name);
        let inspect = |path: &Path| {
            workspace
                .studio(["inspect".as_ref(), path.as_os_str(), "--json".as_ref()])
                .expect_code(0)
                .json()
        };
        let (ours, theirs) = (
            inspect(&index),
            inspect(&golden("09_split_tacocat").join(".tacocat")),
        );
        assert_eq!(
            ours["levels"], theirs["levels"],
            "rows and columns in the order of the tools"
        );
        for key in ["taco:field_schema", "extent", "id"] {
            assert_eq!(ours["collection"][key], theirs["collection"][key], "{key}");
        }
        if name == ".tacocat" {
            assert_eq!(
                ours["collection"]["taco:sources"],
                theirs["collection"]["taco:sources"]
            );
        }
        let rows = |path: &Path| {
            let sql = "select * exclude(\"internal:gdal_vsi\") from level1 order by \
                \"internal:source_file\", \"internal:current_id\"";
            let ran = workspace.studio([
                "query".as_ref(),
                path.as_os_str(),
                "--sql".as_ref(),
                sql.as_ref(),
                "--json".as_ref(),
            ]);
            ran.expect_code(0).stdout
        };
        assert_eq!(
            rows(&index),
            rows(&golden("09_split_tacocat")),
            "{name}: rows of level 1"
        );
    }
}

#[test]
fn the_header_of_an_index_has_the_layout_of_the_official_file() {
    let workspace = Workspace::new();
    let ours = fs::read(
        index_copied_zips(&workspace, "27_v018_parts_tacocat", &["--single-file"])
            .join("__TACOCAT__"),
    )
    .expect("reads");
    let theirs = fs::read(golden("27_v018_parts_tacocat").join("__TACOCAT__")).expect("reads");
    assert_eq!(
        &theirs[..16],
        b"TACOCAT\0\x01\0\0\0\x01\0\0\0",
        "magic, version, depth"
    );
    assert_eq!(ours[..16], theirs[..16]);
    for (whose, index) in [("ours", &ours), ("theirs", &theirs)] {
        let number_at =
            |at: usize| u64::from_le_bytes(index[at..at + 8].try_into().expect("eight bytes"));
        // Offset and size of each section; both are 0 for levels that the dataset does not have.
        let entries: Vec<(u64, u64)> = (0..7)
            .map(|entry| (number_at(16 + entry * 16), number_at(24 + entry * 16)))
            .collect();
        let used: Vec<(u64, u64)> = entries
            .iter()
            .copied()
            .filter(|entry| *entry != (0, 0))
            .collect();
        assert_eq!(used.len(), 3, "{whose}: two levels and the collection");
        assert_eq!(
            [entries[0], entries[1], entries[6]],
            used[..],
            "{whose}: level n in entry n, the collection in the last one"
        );
        let mut end = 128;
        for (offset, size) in used {
            assert_eq!(
                offset, end,
                "{whose}: sections follow each other from byte 128"
            );
            end += size;
        }
        assert_eq!(
            end,
            index.len() as u64,
            "{whose}: nothing behind the collection"
        );
        let section = |entry: usize| {
            &index[entries[entry].0 as usize..(entries[entry].0 + entries[entry].1) as usize]
        };
        assert!(
            [0, 1]
                .iter()
                .all(|level| section(*level).starts_with(b"PAR1")
                    && section(*level).ends_with(b"PAR1")),
            "{whose}"
        );
        let collection: Value = serde_json::from_slice(section(6)).expect("is JSON");
        assert!(collection["taco:pit_schema"].is_object(), "{whose}");
    }
}

#[test]
fn an_index_has_the_parquet_settings_that_were_asked_for() {
    let workspace = Workspace::new();
    let index = index_copied_zips(
        &workspace,
        "09_split_tacocat",
        &["--compression", "snappy", "--row-group", "2"],
    )
    .join(".tacocat");
    super::interop::expect_ok(workspace.python(
        "parquet.py",
        [index.as_os_str(), "snappy".as_ref(), "2".as_ref()],
    ));
}

#[test]
fn the_official_reader_reads_our_index_as_that_of_the_official_tools() {
    let workspace = Workspace::new();
    let ours = index_copied_zips(&workspace, "09_split_tacocat", &[]).join(".tacocat");
    let theirs = golden("09_split_tacocat").join(".tacocat");
    super::interop::expect_ok(
        workspace.python("check_index.py", [ours.as_os_str(), theirs.as_os_str()]),
    );
}

#[test]
fn older_parts_get_the_row_numbers_that_the_official_reader_needs() {
    let workspace = Workspace::new();
    let ours = index_copied_zips(&workspace, "27_v018_parts_tacocat", &[]).join(".tacocat");
    super::interop::expect_ok(workspace.python("check_index.py", [ours.as_os_str()]));
    let single = index_copied_zips(&workspace, "27_v018_parts_tacocat", &["--single-file"])
        .join("__TACOCAT__");
    for index in [ours, single] {
        let found = workspace
            .studio(["inspect".as_ref(), index.as_os_str(), "--json".as_ref()])
            .expect_code(0)
            .json();
        for level in 0..2 {
            let schema = &found["collection"]["taco:field_schema"][format!("level{level}")];
            let columns: Vec<&str> = schema
                .as_array()
                .expect("columns")
                .iter()
                .filter_map(|column| column[0].as_str())
                .collect();
            assert!(
                columns.contains(&"internal:current_id"),
                "{} level {level}: {columns:?}",
                index.display()
            );
        }
    }
}

#[test]
fn an_index_has_the_right_positions_where_a_part_has_wrong_ones() {
    let workspace = Workspace::new();
    let ours = index_copied_zips(&workspace, "13_refbug_unsorted_ids", &[]).join(".tacocat");
    super::interop::expect_ok(workspace.python("check_index.py", [ours.as_os_str()]));
}

#[test]
fn parts_that_differ_are_refused_and_nothing_is_left() {
    let workspace = Workspace::new();
    let first = golden("09_split_tacocat").join("parts_part0001.tacozip");
    let other = golden("27_v018_parts_tacocat").join("parts_part0002.tacozip");
    let out = workspace.path("none");
    let arguments = [
        "tacocat".as_ref(),
        first.as_os_str(),
        other.as_os_str(),
        "-o".as_ref(),
        out.as_os_str(),
    ];
    let ran = workspace.studio(arguments).expect_code(2);
    assert!(
        ran.stderr
            .contains("parts_part0002.tacozip has no column stac:time_end in level0"),
        "{ran}"
    );
    assert!(ran.stderr.contains("timestamp[us]"), "{ran}");
    assert!(!out.join(".tacocat").exists());
    // An existing index is not changed without `--overwrite`.
    let folder = index_copied_zips(&workspace, "09_split_tacocat", &[]);
    let before = fs::read(folder.join(".tacocat/level0.parquet")).expect("reads");
    let part = folder.join("parts_part0001.tacozip");
    workspace
        .studio([
            "tacocat".as_ref(),
            part.as_os_str(),
            "-o".as_ref(),
            folder.as_os_str(),
        ])
        .expect_code(2);
    assert_eq!(
        fs::read(folder.join(".tacocat/level0.parquet")).expect("reads"),
        before
    );
}

#[test]
fn a_tacollection_equals_that_of_the_official_tools_except_for_its_shape() {
    let workspace = Workspace::new();
    let folder = golden("27_v018_parts_tacocat");
    let parts: Vec<PathBuf> = (1..=3)
        .map(|number| folder.join(format!("parts_part000{number}.tacozip")))
        .collect();
    let out = workspace.path("TACOLLECTION.json");
    let mut arguments = vec!["tacollection".into()];
    arguments.extend(parts.into_iter().map(PathBuf::into_os_string));
    arguments.extend(["-o".into(), out.clone().into_os_string()]);
    workspace.studio(arguments).expect_code(0);
    let read = |path: &Path| -> Value {
        serde_json::from_slice(&fs::read(path).expect("reads")).expect("JSON")
    };
    let (mut ours, theirs) = (read(&out), read(&folder.join("TACOLLECTION.json")));
    // The official tools write no shape.
    let shape = ours["taco:pit_schema"]
        .as_object_mut()
        .expect("an object")
        .shift_remove("shape");
    assert_eq!(shape, Some(serde_json::json!([6, 4])));
    assert_eq!(ours, theirs);
}

#[test]
fn a_tacollection_goes_into_a_folder_and_over_datasets_that_differ_when_asked() {
    let workspace = Workspace::new();
    let folder = golden("27_v018_parts_tacocat");
    let part = |number: u8| folder.join(format!("parts_part000{number}.tacozip"));
    let other = golden("09_split_tacocat").join("parts_part0001.tacozip");
    fs::create_dir(workspace.path("out")).expect("a folder");
    let run = |verb: &str, parts: [PathBuf; 2], more: &[&str]| {
        let mut arguments = vec![std::ffi::OsString::from(verb)];
        arguments.extend(parts.into_iter().map(PathBuf::into_os_string));
        arguments.extend(["-o", "out"].iter().chain(more).map(Into::into));
        workspace.studio(arguments)
    };
    run("tacollection", [part(1), part(2)], &[]).expect_code(0);
    let read = || -> Value {
        serde_json::from_slice(&fs::read(workspace.path("out/TACOLLECTION.json")).expect("reads"))
            .expect("JSON")
    };
    assert_eq!(read()["taco:sources"]["count"], 2);
    let refused = run("tacollection", [other.clone(), part(2)], &["--overwrite"]).expect_code(2);
    assert!(refused.stderr.contains("has no column"), "{refused}");
    run(
        "tacollection",
        [other.clone(), part(2)],
        &["--overwrite", "--no-schema-check"],
    )
    .expect_code(0);
    let written = read();
    assert_eq!(
        written["taco:sources"]["files"],
        serde_json::json!(["parts_part0001.tacozip", "parts_part0002.tacozip"])
    );
    let first = workspace
        .studio(["inspect".as_ref(), other.as_os_str(), "--json".as_ref()])
        .expect_code(0)
        .json();
    assert_eq!(
        written["taco:field_schema"], first["collection"]["taco:field_schema"],
        "the schema of the first dataset"
    );
}
