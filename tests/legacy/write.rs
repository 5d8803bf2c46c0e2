//! Writing files of the first generation: the official readers of that time open them with equal
//! ids, columns and bytes. Edits do not change the samples, and a killed process leaves the old or
//! the new file.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value as Json, json};

use super::{files_of, golden, query};
use crate::support::{Workspace, flat_scenes, nested_scenes, sha256_of};

/// Compares a file with the official reader, which prints every sample with its columns and
/// SHA-256.
fn official(workspace: &Workspace, paths: &[&Path]) -> Json {
    workspace
        .old_python("first_generation.py", paths)
        .expect_code(0)
        .json()
}

fn expected(set: &str, name: &str) -> Json {
    let text = fs::read_to_string(golden(set, "expected.json")).expect("reads");
    serde_json::from_str::<Json>(&text).expect("JSON")[name].clone()
}

/// A collection with every core field, in the form of 2.0.
pub fn collection(workspace: &Workspace) -> PathBuf {
    let fields = json!({
        "id": "scenes", "dataset_version": "1.0.0", "description": "Scenes.", "licenses": [
            "CC-BY-4.0",
        ],
        "providers": [{
            "name": "A. Maker",
            "role": "producer",
            "email": "a@lab.example",
        }], "tasks": ["classification"],
        "curators": [{ "organization": "Lab", "role": "curator" }],
        "extent": {
            "spatial": [-10.0, -5.0, 10.0, 5.0],
            "temporal": ["2020-01-01T00:00:00Z", "2020-02-01T00:00:00Z"],
        }
    });
    workspace.write("collection.json", fields.to_string())
}

fn create(workspace: &Workspace, name: &str, more: &[&str]) -> PathBuf {
    let (output, collection) = (workspace.path(name), collection(workspace));
    let mut arguments = vec!["create".into(), workspace.path("scenes").into_os_string()];
    arguments.extend([
        "-o".into(),
        output.clone().into_os_string(),
        "--collection".into(),
        collection.into_os_string(),
    ]);
    arguments.extend(more.iter().map(std::ffi::OsString::from));
    workspace.studio(arguments).expect_code(0);
    output
}

#[test]
fn the_official_readers_open_created_files() {
    let workspace = Workspace::new();
    flat_scenes(&workspace, 5);
    let flat = create(&workspace, "flat.tortilla", &[]);
    let seen = official(&workspace, &[&flat]);
    let samples = seen["samples"].as_array().expect("samples");
    assert_eq!(samples.len(), 5, "{seen}");
    for sample in samples {
        let id = sample["id"].as_str().expect("an id");
        assert_eq!(
            sample["sha256"],
            sha256_of(&workspace.path("scenes").join(id)),
            "{id}"
        );
        assert_eq!(sample["columns"]["tortilla:file_format"], "GTiff");
    }
    workspace
        .studio(["validate".as_ref(), flat.as_os_str()])
        .expect_code(0);
    fs::remove_dir_all(workspace.path("scenes")).expect("the scenes");
    nested_scenes(&workspace, 3);
    let taco = create(&workspace, "nested.taco", &[]);
    let seen = official(&workspace, &[&taco]);
    assert_eq!(
        (&seen["collection"]["id"], &seen["collection"]["task"]),
        (&json!("scenes"), &json!("classification"))
    );
    assert_eq!(
        seen["collection"]["providers"][0]["emails"][0]["value"],
        "a@lab.example"
    );
    let root = &seen["samples"][0];
    assert_eq!(root["columns"]["tortilla:file_format"], "TORTILLA");
    for child in root["children"].as_array().expect("children") {
        let source = workspace
            .path("scenes")
            .join(root["id"].as_str().expect("an id"))
            .join(child["id"].as_str().expect("an id"));
        assert_eq!(child["sha256"], sha256_of(&source));
    }
    workspace
        .studio(["validate".as_ref(), taco.as_os_str()])
        .expect_code(0);
}

#[test]
fn a_tortilla_alone_is_created_without_a_collection() {
    let workspace = Workspace::new();
    flat_scenes(&workspace, 3);
    let scenes = workspace.path("scenes");
    let create = |output: &Path| {
        workspace.studio([
            "create".as_ref(),
            scenes.as_os_str(),
            "-o".as_ref(),
            output.as_os_str(),
        ])
    };
    let output = workspace.path("plain.tortilla");
    create(&output).expect_code(0);
    assert_eq!(
        official(&workspace, &[&output])["samples"]
            .as_array()
            .map(Vec::len),
        Some(3)
    );
    let again = create(&output).expect_code(2);
    assert!(
        again.stderr.contains("exists already") && again.stderr.contains("--overwrite"),
        "{again}"
    );
    for name in ["plain.taco", "plain.tacozip", "plain"] {
        let refused = create(&workspace.path(name)).expect_code(2);
        assert!(refused.stderr.contains("--collection"), "{name}: {refused}");
        assert!(!workspace.path(name).exists(), "{name}");
    }
}

#[test]
fn a_header_with_rubbish_in_it_is_mended_as_its_rule_says() {
    let workspace = Workspace::new();
    flat_scenes(&workspace, 2);
    let bad = create(&workspace, "bad.tortilla", &[]);
    let mut bytes = fs::read(&bad).expect("reads");
    bytes[199] = 1;
    fs::write(&bad, bytes).expect("writes");
    let rules = |path: &Path| {
        let ran = workspace.studio(["validate".as_ref(), path.as_os_str(), "--json".as_ref()]);
        ran.json()["findings"]
            .as_array()
            .expect("findings")
            .iter()
            .map(|f| f["rule"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(rules(&bad), [json!("TOR-1")]);
    let listed = workspace.studio(["rules", "--json"]).expect_code(0).json();
    let rule = listed
        .as_array()
        .and_then(|all| all.iter().find(|rule| rule["rule"] == "TOR-1").cloned())
        .expect("the rule");
    let verb = rule["fix"]
        .as_str()
        .and_then(|text| text.split('`').nth(1))
        .expect("a command");
    let good = workspace.path("good.tortilla");
    workspace
        .studio([
            verb.as_ref(),
            bad.as_os_str(),
            "-o".as_ref(),
            good.as_os_str(),
        ])
        .expect_code(0);
    assert_eq!(rules(&good), Vec::<Json>::new());
}

#[test]
fn parts_that_are_created_are_read_together() {
    let workspace = Workspace::new();
    flat_scenes(&workspace, 6);
    let one =
        fs::metadata(workspace.path("scenes").join("scene_0.tif")).map_or(1000, |meta| meta.len());
    create(
        &workspace,
        "set.tortilla",
        &["--split-size", &format!("{}", one * 2 + 10)],
    );
    let parts: Vec<PathBuf> = (0..6)
        .map(|n| workspace.path(&format!("set.{n:04}.part.tortilla")))
        .collect();
    let parts: Vec<&Path> = parts
        .iter()
        .filter(|path| path.exists())
        .map(PathBuf::as_path)
        .collect();
    assert!(parts.len() >= 2, "one part only");
    assert_eq!(
        official(&workspace, &parts)["samples"]
            .as_array()
            .map(Vec::len),
        Some(6)
    );
    let pattern = workspace.path("set.*.part.tortilla");
    workspace
        .studio(["validate".as_ref(), pattern.as_os_str()])
        .expect_code(0);
}

#[test]
fn a_compiled_part_has_the_columns_and_bytes_of_the_whole() {
    let workspace = Workspace::new();
    let input = golden("42_v1_nested", "nested.tortilla");
    let output = workspace.path("part.tortilla");
    let arguments = [
        "compile".as_ref(),
        input.as_os_str(),
        "-o".as_ref(),
        output.as_os_str(),
        "--ids".as_ref(),
        "scene_3,scene_1".as_ref(),
    ];
    workspace.studio(arguments).expect_code(0);
    let wanted = expected("42_v1_nested", "nested.tortilla");
    let seen = official(&workspace, &[&output]);
    let samples = seen["samples"].as_array().expect("samples");
    assert_eq!(
        samples.iter().map(|s| s["id"].clone()).collect::<Vec<_>>(),
        [json!("scene_1"), json!("scene_3")]
    );
    for (sample, row) in samples.iter().zip([0, 2]) {
        let item = &wanted["items"][row];
        for (child, old) in sample["children"]
            .as_array()
            .expect("children")
            .iter()
            .zip(item["children"]["items"].as_array().expect("items"))
        {
            assert_eq!(
                (&child["id"], &child["sha256"]),
                (&old["id"], &old["sha256"])
            );
        }
        let old = wanted["footer"]["data"][row].as_object().expect("a row");
        for (name, value) in old
            .iter()
            .filter(|(name, _)| !["tortilla:offset", "__index_level_0__"].contains(&name.as_str()))
        {
            assert_eq!(sample["columns"][name], *value, "{name}");
        }
    }
    // With a condition, as a TACO with the collection of the input.
    let (input, output) = (
        golden("46_v1_taco_nested", "nested.taco"),
        workspace.path("part.taco"),
    );
    let arguments = [
        "compile".as_ref(),
        input.as_os_str(),
        "-o".as_ref(),
        output.as_os_str(),
        "--where".as_ref(),
        "elev > 2".as_ref(),
    ];
    workspace.studio(arguments).expect_code(0);
    let seen = official(&workspace, &[&output]);
    assert_eq!(seen["samples"].as_array().map(Vec::len), Some(2));
    assert_eq!(
        seen["collection"],
        expected("46_v1_taco_nested", "nested.taco")["collection"]
    );
}

#[test]
fn migrated_datasets_can_be_compiled_back() {
    let workspace = Workspace::new();
    let (input, moved, back) = (
        golden("44_v1_parts", ""),
        workspace.path("moved.tacozip"),
        workspace.path("back.tortilla"),
    );
    workspace
        .studio([
            "migrate".as_ref(),
            input.as_os_str(),
            "-o".as_ref(),
            moved.as_os_str(),
        ])
        .expect_code(0);
    workspace
        .studio([
            "compile".as_ref(),
            moved.as_os_str(),
            "-o".as_ref(),
            back.as_os_str(),
        ])
        .expect_code(0);
    let seen = official(&workspace, &[&back]);
    let first = expected("44_v1_parts", "parts.0000.part.tortilla");
    for (sample, (row, item)) in seen["samples"].as_array().expect("samples").iter().zip(
        first["footer"]["data"]
            .as_array()
            .expect("rows")
            .iter()
            .zip(first["items"].as_array().expect("items")),
    ) {
        assert_eq!(
            (&sample["id"], &sample["sha256"]),
            (&item["id"], &item["sha256"])
        );
        for (name, value) in
            row.as_object().expect("a row").iter().filter(|(name, _)| {
                !["tortilla:offset", "__index_level_0__"].contains(&name.as_str())
            })
        {
            // Whole seconds come back as integers, and were numbers with a fraction of 0.
            let same = match (sample["columns"][name].as_f64(), value.as_f64()) {
                (Some(ours), Some(theirs)) => ours == theirs,
                _ => sample["columns"][name] == *value,
            };
            assert!(
                same,
                "{name} of {} is {}, not {value}",
                sample["id"], sample["columns"][name]
            );
        }
    }
}

/// A .taco that was migrated and compiled back has the extent, and every column but the places of
/// the bytes, for the reader of its time.
#[test]
fn a_taco_migrated_and_compiled_back_reads_alike() {
    let workspace = Workspace::new();
    let (input, moved, back) = (
        golden("46_v1_taco_nested", "nested.taco"),
        workspace.path("m.tacozip"),
        workspace.path("b.taco"),
    );
    workspace
        .studio([
            "migrate".as_ref(),
            input.as_os_str(),
            "-o".as_ref(),
            moved.as_os_str(),
        ])
        .expect_code(0);
    let inspected = workspace
        .studio(["inspect".as_ref(), moved.as_os_str(), "--json".as_ref()])
        .expect_code(0)
        .json();
    let mut fields = inspected["collection"].clone();
    fields["curators"] = json!([{ "name": "A. Curator" }]);
    let fields = workspace.write("fields.json", fields.to_string());
    let compile = [
        "compile".as_ref(),
        moved.as_os_str(),
        "-o".as_ref(),
        back.as_os_str(),
        "--collection".as_ref(),
    ];
    workspace
        .studio(compile.into_iter().chain([fields.as_os_str()]))
        .expect_code(0);
    let (old, new) = (
        official(&workspace, &[&input]),
        official(&workspace, &[&back]),
    );
    assert_eq!(new["collection"]["extent"], old["collection"]["extent"]);
    for (old, new) in old["samples"]
        .as_array()
        .expect("samples")
        .iter()
        .zip(new["samples"].as_array().expect("samples"))
    {
        for name in [
            "tortilla:id",
            "tortilla:data_split",
            "stac:crs",
            "stac:geotransform",
        ] {
            assert!(!old["columns"][name].is_null(), "{name}");
            assert_eq!(new["columns"][name], old["columns"][name], "{name}");
        }
        assert_eq!(
            new["columns"]["stac:time_start"].as_f64(),
            old["columns"]["stac:time_start"].as_f64()
        );
        assert_eq!(
            new["children"].as_array().map(Vec::len),
            old["children"].as_array().map(Vec::len)
        );
    }
}

/// Names and commands of another generation are refused with the correct alternative.
#[test]
fn names_and_verbs_of_another_generation_lead_on() {
    let workspace = Workspace::new();
    let (old, new) = (
        golden("46_v1_taco_nested", "nested.taco"),
        golden("01_flat_zip", "flat.tacozip"),
    );
    let refused = |arguments: &[&std::ffi::OsStr], wanted: &[&str]| {
        let ran = workspace.studio(arguments).expect_code(2);
        wanted
            .iter()
            .for_each(|word| assert!(ran.stderr.contains(word), "no {word} in {ran}"));
    };
    for (name, verb, input) in [
        ("y.tortilla", "export", &new),
        ("y.taco", "migrate", &old),
        ("z.taco", "convert", &new),
    ] {
        let output = workspace.path(name);
        let mut arguments = vec![verb.as_ref(), input.as_os_str()];
        if verb != "convert" {
            arguments.push("-o".as_ref());
        }
        arguments.push(output.as_os_str());
        refused(&arguments, &["compile", "--generation"]);
        assert!(!output.exists(), "{name}");
    }
    let output = workspace.path("index");
    refused(
        &[
            "tacocat".as_ref(),
            old.as_os_str(),
            "-o".as_ref(),
            output.as_os_str(),
        ],
        &["a TACO 0.2 file", "migrate"],
    );
    refused(
        &[
            "edit".as_ref(),
            new.as_os_str(),
            "--drop".as_ref(),
            "x".as_ref(),
        ],
        &["level 0 has no column x"],
    );
}

#[test]
fn an_edit_changes_columns_and_collection_and_nothing_else() {
    let workspace = Workspace::new();
    let path = workspace.path("nested.taco");
    fs::copy(golden("46_v1_taco_nested", "nested.taco"), &path).expect("copies");
    let before = fs::read(&path).expect("reads");
    let table = workspace.write(
        "more.csv",
        "id,elev,quality\nscene_1,10.5,good\nscene_2,20.5,bad\nscene_3,30.5,good\n",
    );
    let arguments = [
        "edit".as_ref(),
        path.as_os_str(),
        "--metadata".as_ref(),
        table.as_os_str(),
        "--set".as_ref(),
        "title=\"Three scenes\"".as_ref(),
        "--set".as_ref(),
        "keywords=null".as_ref(),
        "--drop".as_ref(),
        "stac:time_end".as_ref(),
    ];
    workspace.studio(arguments).expect_code(0);
    let seen = official(&workspace, &[&path]);
    assert_eq!(
        (
            &seen["collection"]["title"],
            seen["collection"].get("keywords")
        ),
        (&json!("Three scenes"), None)
    );
    let columns = &seen["samples"][1]["columns"];
    assert_eq!(
        (
            &columns["elev"],
            &columns["quality"],
            columns.get("stac:time_end")
        ),
        (&json!(20.5), &json!("bad"), None)
    );
    let wanted = expected("46_v1_taco_nested", "nested.taco");
    for (path_in, item) in files_of(&wanted) {
        let out = workspace.path("bytes");
        workspace.read_into(&path, &path_in, &out);
        assert_eq!(sha256_of(&out), item["sha256"], "{path_in}");
    }
    let data = wanted["footer_offset"].as_u64().expect("a number") as usize;
    assert_eq!(
        fs::read(&path).expect("reads")[200..data],
        before[200..data]
    );
    // Repeated edits do not grow the file: unused space is reused.
    for round in 0..6 {
        let title = format!("title=\"Round {round}\"");
        workspace
            .studio([
                "edit".as_ref(),
                path.as_os_str(),
                "--set".as_ref(),
                title.as_ref(),
            ])
            .expect_code(0);
    }
    let grown = fs::metadata(&path).expect("is there").len() as i64 - before.len() as i64;
    assert!(grown < 30_000, "the file grew by {grown} bytes");
    assert_eq!(
        official(&workspace, &[&path])["collection"]["title"],
        "Round 5"
    );
    // The columns of byte ranges cannot be changed, and a table that lacks a row does not delete a
    // value.
    let table = workspace.write("bad.csv", "id,elev\nscene_1,1\n");
    let ran = workspace
        .studio([
            "edit".as_ref(),
            path.as_os_str(),
            "--metadata".as_ref(),
            table.as_os_str(),
        ])
        .expect_code(2);
    assert!(ran.stderr.contains("scene_2"), "{ran}");
}

#[test]
fn tacos_and_tortillas_become_each_other() {
    let workspace = Workspace::new();
    let path = workspace.path("flat.tortilla");
    fs::copy(golden("42_v1_nested", "nested.tortilla"), &path).expect("copies");
    let collection = collection(&workspace);
    let taco = workspace.path("made.taco");
    let arguments = [
        "tortilla2taco".as_ref(),
        path.as_os_str(),
        "--collection".as_ref(),
        collection.as_os_str(),
        "-o".as_ref(),
        taco.as_os_str(),
    ];
    workspace.studio(arguments).expect_code(0);
    assert_eq!(official(&workspace, &[&taco])["collection"]["id"], "scenes");
    workspace
        .studio(["taco2tortilla".as_ref(), taco.as_os_str()])
        .expect_code(0);
    let seen = official(&workspace, &[&taco]);
    assert_eq!(
        (
            &seen["collection"],
            seen["samples"].as_array().map(Vec::len)
        ),
        (&Json::Null, Some(3))
    );
    assert_eq!(
        fs::read(&taco).expect("reads"),
        fs::read(&path).expect("reads"),
        "there and back is the same file"
    );
}

#[test]
fn a_killed_edit_or_compile_leaves_a_whole_file() {
    let workspace = Workspace::new();
    let path = workspace.path("nested.taco");
    fs::copy(golden("46_v1_taco_nested", "nested.taco"), &path).expect("copies");
    let wanted = expected("46_v1_taco_nested", "nested.taco");
    let part = workspace.path("part.tortilla");
    let (mut stopped, rounds) = (0, 40u64);
    for round in 0..rounds {
        // Spread over the duration of a run, and beyond.
        let delay = Duration::from_micros(3_000 * round);
        let text = format!(
            "description=\"Round {round} {}\"",
            "x".repeat((round as usize * 997) % 5000)
        );
        stopped += usize::from(
            workspace
                .killed(
                    &[
                        "edit".as_ref(),
                        path.as_os_str(),
                        "--set".as_ref(),
                        text.as_ref(),
                    ],
                    delay,
                )
                .is_none(),
        );
        let rows = query(&workspace, &path, "SELECT id, elev FROM data");
        assert_eq!(rows.as_array().map(Vec::len), Some(3), "round {round}");
        workspace
            .studio(["validate".as_ref(), path.as_os_str()])
            .expect_code(0);
        let arguments = [
            "compile".as_ref(),
            path.as_os_str(),
            "-o".as_ref(),
            part.as_os_str(),
            "--limit".as_ref(),
            "2".as_ref(),
            "--overwrite".as_ref(),
        ];
        workspace.killed(&arguments, delay);
        if part.exists() {
            workspace
                .studio(["validate".as_ref(), part.as_os_str()])
                .expect_code(0);
        }
    }
    assert!(stopped > 3, "the program was never stopped in its work");
    for (name, item) in files_of(&wanted) {
        let out = workspace.path("bytes");
        workspace.read_into(&path, &name, &out);
        assert_eq!(sha256_of(&out), item["sha256"], "{name}");
    }
}

#[test]
fn tables_change_values_but_neither_types_nor_structure() {
    let workspace = Workspace::new();
    let path = workspace.path("nested.taco");
    fs::copy(golden("46_v1_taco_nested", "nested.taco"), &path).expect("copies");
    let before = fs::read(&path).expect("reads");
    let edit = |table: &str| {
        let table = workspace.write("table.csv", table);
        workspace.studio([
            "edit".as_ref(),
            path.as_os_str(),
            "--metadata".as_ref(),
            table.as_os_str(),
        ])
    };
    for (table, says) in [
        (
            "id,elev\nscene_1,1\nscene_2,high\nscene_3,3\n",
            "high as the table says for scene_2",
        ),
        (
            "id,tortilla:file_format\nscene_1,BYTES\nscene_2,TORTILLA\nscene_3,TORTILLA\n",
            "scene_1",
        ),
        (
            "id,type,internal:offset\nscene_1,FILE,1\nscene_2,FILE,2\nscene_3,FILE,3\n",
            "no column to add",
        ),
    ] {
        let ran = edit(table).expect_code(2);
        assert!(ran.stderr.contains(says), "{ran}");
        assert_eq!(fs::read(&path).expect("reads"), before, "{table}");
    }
    // Integers in a float column, digits in a string column; columns that a reader generates are
    // ignored.
    edit(
        "id,type,tortilla:data_split,elev,tortilla:root\nscene_1,FOLDER,007,1,0\n\
        scene_2,FOLDER,08,2,1\nscene_3,FOLDER,9,3,2\n",
    )
    .expect_code(0);
    let seen = workspace
        .studio(["inspect".as_ref(), path.as_os_str(), "--json".as_ref()])
        .expect_code(0)
        .json();
    let columns = seen["levels"][0]["columns"].as_array().expect("columns");
    let found = |name: &str| {
        columns
            .iter()
            .filter(|column| column["name"] == name)
            .map(|column| column["type"].clone())
            .collect()
    };
    let (elev, root, kind): (Vec<Json>, Vec<Json>, Vec<Json>) =
        (found("elev"), found("tortilla:root"), found("own:type"));
    assert_eq!(
        (elev, root, kind),
        (vec![json!("double")], Vec::new(), Vec::new())
    );
    let rows = query(
        &workspace,
        &path,
        "SELECT \"tortilla:data_split\" AS split, elev FROM level0",
    );
    assert_eq!(rows[0], json!({ "split": "007", "elev": 1.0 }));
}

#[test]
fn a_file_on_another_machine_is_not_changed_and_makes_no_folder() {
    let workspace = Workspace::new();
    let ran = workspace
        .studio(["edit", "http://127.0.0.1:9/x.tortilla", "--set", "title=x"])
        .expect_code(2);
    assert!(ran.stderr.contains("another machine"), "{ran}");
    let input = golden("42_v1_nested", "nested.tortilla");
    let ran = workspace.studio([
        "compile".as_ref(),
        input.as_os_str(),
        "-o".as_ref(),
        "http://127.0.0.1:9/x.tortilla".as_ref(),
    ]);
    let ran = ran.expect_code(2);
    assert!(ran.stderr.contains("to this machine"), "{ran}");
    assert!(!workspace.path("http:").exists());
}

/// Extends a created archive by places and times, and compiles it.
fn compiled(
    workspace: &Workspace,
    name: &str,
    more: &[&std::ffi::OsStr],
) -> (PathBuf, crate::support::Ran) {
    let (archive, placed, out) = (
        workspace.path("in.tacozip"),
        workspace.path("placed.tacozip"),
        workspace.path(name),
    );
    if !placed.exists() {
        create(workspace, "in.tacozip", &[]);
        let times = r#"{"time_start": "2023-05-17T00:00:01", "time_end": "2023-05-18"}"#;
        let mut arguments = vec![
            "extend".as_ref(),
            archive.as_os_str(),
            "-o".as_ref(),
            placed.as_os_str(),
        ];
        arguments.extend(
            ["--with", "stac", "--options", times, "--level", "1"].map(std::ffi::OsStr::new),
        );
        workspace.studio(arguments).expect_code(0);
    }
    let mut arguments = vec![
        "compile".as_ref(),
        placed.as_os_str(),
        "-o".as_ref(),
        out.as_os_str(),
    ];
    arguments.extend(more);
    let ran = workspace.studio(arguments);
    (out, ran)
}

#[test]
fn shapes_and_times_have_the_form_of_each_generation() {
    let workspace = Workspace::new();
    nested_scenes(&workspace, 2);
    let (tortilla, ran) = compiled(&workspace, "out.tortilla", &[]);
    ran.expect_code(0);
    // The official writer of that time computes our centroids from our shapes: rows come first,
    // bands are left out.
    let ran = workspace
        .old_python("old_centroids.py", [&tortilla])
        .expect_code(0);
    assert!(ran.stdout.starts_with("ok: 6 "), "{ran}");
    let child = official(&workspace, &[&tortilla])["samples"][0]["children"][0]["columns"].clone();
    assert_eq!(
        (&child["stac:raster_shape"], &child["stac:time_start"]),
        (&json!([32, 32]), &json!(1_684_281_601)),
        "{child}"
    );
    let (taco, ran) = compiled(&workspace, "out.taco", &[]);
    ran.expect_code(0);
    let children = official(&workspace, &[&taco])["samples"][0]["children"].clone();
    let shapes: Vec<&Json> = children
        .as_array()
        .expect("children")
        .iter()
        .map(|c| &c["columns"]["stac:tensor_shape"])
        .collect();
    assert!(shapes.contains(&&json!([3, 32, 32])), "{shapes:?}");
    for dataset in [&tortilla, &taco] {
        let report = workspace
            .studio(["validate".as_ref(), dataset.as_os_str(), "--json".as_ref()])
            .expect_code(0)
            .json();
        assert_eq!(report["findings"], json!([]), "{}", dataset.display());
    }
}

#[test]
fn a_taco_without_a_core_field_is_refused_before_anything_is_written() {
    let workspace = Workspace::new();
    nested_scenes(&workspace, 2);
    let fields = json!({ "id": "scenes", "dataset_version": "1.0.0", "description": "Scenes.",
        "licenses": ["CC-BY-4.0"],
        "providers": [{ "name": "A. Maker" }], "tasks": ["other", "regression"] });
    let short = workspace.write("short.json", fields.to_string());
    let (scenes, out) = (workspace.path("scenes"), workspace.path("short.taco"));
    let arguments = [
        "create".as_ref(),
        scenes.as_os_str(),
        "-o".as_ref(),
        out.as_os_str(),
        "--collection".as_ref(),
        short.as_os_str(),
    ];
    let ran = workspace.studio(arguments);
    assert!(
        ran.code() != 0 && ran.stderr.contains("curators") && ran.stderr.contains("extent"),
        "{ran}"
    );
    assert!(!out.exists());
    // With curators, the extent comes from the samples; the task that is left out is named.
    let mut given = fields;
    given["curators"] = json!([{ "organization": "Lab" }]);
    let given = workspace.write("given.json", given.to_string());
    let taco = workspace.path("made.taco");
    let tortilla = golden("42_v1_nested", "nested.tortilla");
    let arguments = [
        "tortilla2taco".as_ref(),
        tortilla.as_os_str(),
        "--collection".as_ref(),
        given.as_os_str(),
        "-o".as_ref(),
        taco.as_os_str(),
    ];
    let ran = workspace.studio(arguments).expect_code(0);
    assert!(ran.stderr.contains("regression"), "{ran}");
    let collection = official(&workspace, &[&taco])["collection"].clone();
    assert_eq!(
        (&collection["task"], &collection["taco_version"]),
        (&json!("general"), &json!("0.2.0"))
    );
    let extent = &collection["extent"];
    assert_eq!(
        extent["spatial"][0].as_array().map(Vec::len),
        Some(4),
        "{extent}"
    );
    assert!(
        extent["temporal"][0][0]
            .as_str()
            .is_some_and(|time| time.starts_with("2001-01-20T") && time.ends_with('Z')),
        "{extent}"
    );
}

/// Tortillas among the sources are nested tortillas, in a TORTILLA, a TACO and a streamable file;
/// broken ones are bytes, which is warned of.
#[test]
fn tortilla_files_among_the_sources_are_nested() {
    let workspace = Workspace::new();
    flat_scenes(&workspace, 3);
    let inner = create(&workspace, "inner.tortilla", &[]);
    fs::remove_dir_all(workspace.path("scenes")).expect("the scenes");
    for name in ["one", "two"] {
        fs::create_dir_all(workspace.path("scenes")).expect("a folder");
        fs::copy(&inner, workspace.path(&format!("scenes/{name}.tortilla"))).expect("copies");
    }
    let digest = sha256_of(&workspace.path("scenes/one.tortilla"));
    for (name, more) in [
        ("outer.tortilla", &[][..]),
        ("outer.taco", &[]),
        ("s.tortilla", &["--stream", "--allow-non-tog"]),
    ] {
        let outer = create(&workspace, name, more);
        let seen = official(&workspace, &[&outer]);
        let samples = seen["samples"].as_array().expect("samples");
        assert_eq!(samples.len(), 2, "{name}: {seen}");
        for sample in samples {
            assert_eq!(
                sample["columns"]["tortilla:file_format"], "TORTILLA",
                "{name}"
            );
            assert_eq!(
                sample["children"].as_array().map(Vec::len),
                Some(3),
                "{name}"
            );
        }
        let rows = query(
            &workspace,
            &outer,
            "SELECT id, \"tortilla:file_format\" AS f FROM level1",
        );
        assert_eq!(rows.as_array().map(Vec::len), Some(6), "{name}: {rows}");
        assert!(
            rows.as_array()
                .expect("rows")
                .iter()
                .all(|row| row["f"] == "GTiff"),
            "{name}: {rows}"
        );
        workspace
            .studio(["validate".as_ref(), outer.as_os_str(), "--deep".as_ref()])
            .expect_code(0);
    }
    // The bytes of a nested file stay as they are, from a dataset of 2.0 as well.
    let zip = create(&workspace, "whole.tacozip", &[]);
    let back = workspace.path("back.tortilla");
    workspace
        .studio([
            "compile".as_ref(),
            zip.as_os_str(),
            "-o".as_ref(),
            back.as_os_str(),
        ])
        .expect_code(0);
    let rows = query(
        &workspace,
        &back,
        "SELECT id, \"tortilla:file_format\" AS f FROM level0",
    );
    assert_eq!(rows[0]["f"], "TORTILLA");
    let out = workspace.path("one.out");
    let read = [
        "read".as_ref(),
        zip.as_os_str(),
        "one.tortilla".as_ref(),
        "--out".as_ref(),
        out.as_os_str(),
    ];
    workspace.studio(read).expect_code(0);
    assert_eq!(sha256_of(&out), digest);
    // A cut file is no tortilla that a reader could open.
    let bytes = fs::read(&inner).expect("reads");
    fs::write(
        workspace.path("scenes/two.tortilla"),
        &bytes[..bytes.len() - 20],
    )
    .expect("writes");
    let (cut, collection) = (workspace.path("cut.tortilla"), collection(&workspace));
    let arguments = [
        "create".as_ref(),
        workspace.path("scenes").as_os_str(),
        "-o".as_ref(),
        cut.as_os_str(),
        "--collection".as_ref(),
    ]
    .map(std::ffi::OsStr::to_owned);
    let ran = workspace
        .studio(arguments.into_iter().chain([collection.into_os_string()]))
        .expect_code(0);
    assert!(
        ran.stderr.contains("two.tortilla") && ran.stderr.contains("BYTES"),
        "{ran}"
    );
    let formats = query(
        &workspace,
        &cut,
        "SELECT \"tortilla:file_format\" AS f FROM level0",
    );
    assert_eq!(formats, json!([{ "f": "TORTILLA" }, { "f": "BYTES" }]));
}

/// `--profile spec` gives a .taco the form of the specification, and numbers parts from 1; options
/// that these files have no use for are refused.
#[test]
fn the_form_of_the_specification_is_written_when_asked() {
    let workspace = Workspace::new();
    flat_scenes(&workspace, 4);
    let check = |path: &Path| {
        workspace.studio([
            "validate".as_ref(),
            path.as_os_str(),
            "--profile".as_ref(),
            "spec".as_ref(),
        ])
    };
    let tools = create(&workspace, "tools.taco", &[]);
    check(&tools).expect_code(1);
    let text = create(&workspace, "text.taco", &["--profile", "spec"]);
    check(&text).expect_code(0);
    // The specification demands statistics; the tools compute them on request.
    let columns = |path: &Path| official(&workspace, &[path])["samples"][0]["columns"].clone();
    for name in ["stats:mean", "stats:min", "stats:max", "stats:std"] {
        let of_bands = columns(&text)[name].clone();
        assert!(
            of_bands
                .as_array()
                .is_some_and(|bands| bands.iter().all(Json::is_f64)),
            "{name}: {of_bands}"
        );
        assert!(columns(&tools).get(name).is_none(), "{name}");
    }
    let fields = workspace
        .studio(["inspect".as_ref(), text.as_os_str(), "--json".as_ref()])
        .expect_code(0)
        .json()["collection"]
        .clone();
    assert_eq!(
        (&fields["task"], &fields["extent"]["spatial"]),
        (&json!("Classification"), &json!([-10.0, -5.0, 10.0, 5.0]))
    );
    assert_eq!(
        fields["extent"]["temporal"],
        json!([1_577_836_800_000i64, 1_580_515_200_000i64])
    );
    let again = workspace.path("again.taco");
    let compile = [
        "compile".as_ref(),
        tools.as_os_str(),
        "-o".as_ref(),
        again.as_os_str(),
        "--profile".as_ref(),
        "spec".as_ref(),
    ];
    workspace.studio(compile).expect_code(0);
    check(&again).expect_code(0);
    create(
        &workspace,
        "parts.tortilla",
        &["--profile", "spec", "--split-size", "1"],
    );
    assert!(
        workspace.path("parts.0001.part.tortilla").exists()
            && workspace.path("parts.0004.part.tortilla").exists()
    );
    assert!(!workspace.path("parts.0000.part.tortilla").exists());
    let pattern = workspace.path("parts.*.part.tortilla");
    workspace
        .studio(["validate".as_ref(), pattern.as_os_str()])
        .expect_code(0);
    for option in [
        ["--group-by", "id"],
        ["--compression", "gzip"],
        ["--row-group", "100"],
    ] {
        let refused = workspace
            .studio(
                ["create", "scenes", "-o", "no.tortilla"]
                    .iter()
                    .chain(&option),
            )
            .expect_code(2);
        assert!(refused.stderr.contains(option[0]), "{refused}");
        assert!(!workspace.path("no.tortilla").exists());
    }
}

/// Statistics of a dataset of 2.0 get the columns of the specification in a TACO 0.2 file; where
/// there are none, this is said.
#[test]
fn statistics_have_the_columns_of_the_specification_in_a_taco() {
    let workspace = Workspace::new();
    flat_scenes(&workspace, 3);
    let zip = create(&workspace, "plain.tacozip", &[]);
    let with = workspace.path("with.tacozip");
    let extend = [
        "extend".as_ref(),
        zip.as_os_str(),
        "-o".as_ref(),
        with.as_os_str(),
        "--with".as_ref(),
        "stats".as_ref(),
    ];
    workspace.studio(extend).expect_code(0);
    let collection = collection(&workspace);
    let compiled = |input: &Path, name: &str| {
        let output = workspace.path(name);
        let arguments = [
            "compile".as_ref(),
            input.as_os_str(),
            "-o".as_ref(),
            output.as_os_str(),
            "--collection".as_ref(),
        ]
        .map(std::ffi::OsStr::to_owned);
        let ran = workspace
            .studio(
                arguments
                    .into_iter()
                    .chain([collection.clone().into_os_string()]),
            )
            .expect_code(0);
        (output, ran.stderr)
    };
    let (taco, _) = compiled(&with, "with.taco");
    let columns = official(&workspace, &[&taco])["samples"][0]["columns"].clone();
    let stored = columns["geotiff:stats"][0].clone();
    for (at, name) in ["stats:min", "stats:max", "stats:mean", "stats:std"]
        .into_iter()
        .enumerate()
    {
        assert_eq!(columns[name][0], stored[at], "{name}: {columns}");
    }
    let (_, said) = compiled(&zip, "without.taco");
    assert!(
        said.contains("3 GeoTIFFs are written without statistics"),
        "{said}"
    );
}
