//! Migration to 2.0: every golden dataset of another generation keeps every byte, every field is
//! reported, and the official reader of 2.0 opens the result. Trees that 2.0 cannot represent are
//! findings, and nothing is written.

use std::path::Path;

use serde_json::Value as Json;

use super::damage::{row, text, tortilla};
use super::{each, files_of, golden, query};
use crate::support::{Workspace, sha256_of};

fn migrate(
    workspace: &Workspace,
    input: &Path,
    output: &Path,
    more: &[&str],
) -> crate::support::Ran {
    let mut arguments = vec![
        "migrate".into(),
        input.as_os_str().to_owned(),
        "-o".into(),
        output.as_os_str().to_owned(),
        "--json".into(),
    ];
    arguments.extend(more.iter().map(std::ffi::OsString::from));
    workspace.studio(arguments)
}

/// The new path of a sample, from the old and new ids in the report; a child's path starts with its
/// parent's.
fn new_path(report: &Json, old: &str) -> String {
    let steps: Vec<&str> = old.split('/').collect();
    let renamed = report["renamed"].as_array().expect("a list");
    let step = |at: usize| {
        let path = steps[..=at].join(" / ");
        let found = renamed.iter().rev().find(|sample| sample["path"] == *path);
        found.map_or(steps[at].to_owned(), |sample| {
            sample["id"].as_str().expect("an id").to_owned()
        })
    };
    (0..steps.len()).map(step).collect::<Vec<_>>().join("/")
}

#[test]
fn every_dataset_of_another_generation_arrives_whole() {
    let workspace = Workspace::new();
    let mut seen = 0;
    each("v1", |dataset, expected, fixture| {
        let output = workspace.path(&format!("out{seen}.tacozip"));
        let sources = workspace.path(&format!("sources{seen}"));
        seen += 1;
        // A single part is incomplete, which must be accepted explicitly.
        let part = dataset.to_string_lossy().contains(".part.");
        let more: &[&str] = if part {
            &["--allow-missing-parts"]
        } else {
            &[]
        };
        let report = migrate(&workspace, dataset, &output, more)
            .expect_code(0)
            .json();
        for (path, wanted) in files_of(expected) {
            let path = new_path(&report, &path);
            let out = sources.join(&path);
            std::fs::create_dir_all(out.parent().expect("a folder")).expect("folders");
            workspace.read_into(&output, &path, &out);
            assert_eq!(sha256_of(&out), wanted["sha256"], "{fixture}: {path}");
        }
        let checked = workspace.studio([
            "validate".as_ref(),
            output.as_os_str(),
            "--deep".as_ref(),
            "--json".as_ref(),
        ]);
        checked.expect_code(0);
        workspace
            .python(
                "check.py",
                ["reader".as_ref(), output.as_os_str(), sources.as_os_str()],
            )
            .expect_code(0);
        // Every column of the footer and every field of the collection is in the report.
        for column in expected["footer"]["columns"].as_array().expect("columns") {
            let named = report["fields"]
                .as_array()
                .expect("fields")
                .iter()
                .any(|line| line["level"] == 0 && line["from"] == column[0]);
            assert!(named, "{fixture}: {} is not in the report", column[0]);
        }
        for (key, value) in expected["collection"]
            .as_object()
            .into_iter()
            .flatten()
            .filter(|(_, value)| !value.is_null())
        {
            let starts = |line: &Json| {
                line["from"]
                    .as_str()
                    .is_some_and(|from| from.split('/').next() == Some(key.as_str()))
            };
            assert!(
                report["collection"]
                    .as_array()
                    .expect("lines")
                    .iter()
                    .any(starts),
                "{fixture}: {key} = {value} is not in the report"
            );
        }
    });
}

#[test]
fn the_next_generation_moves_back() {
    let workspace = Workspace::new();
    let mut seen = 0;
    each("v3", |dataset, expected, fixture| {
        let output = workspace.path(&format!("out{seen}.tacozip"));
        seen += 1;
        let report = migrate(&workspace, dataset, &output, &[])
            .expect_code(0)
            .json();
        assert_eq!(
            report["built"]["files"],
            expected["files"].as_object().expect("files").len(),
            "{fixture}"
        );
        let out = workspace.path("bytes");
        for (member, id) in [
            ("DATA/0/after.tif", "scene_01/after.tif"),
            ("DATA/3/label.tif", "scene_04/label.tif"),
        ] {
            workspace.read_into(&output, id, &out);
            assert_eq!(
                sha256_of(&out),
                expected["files"][member]["sha256"],
                "{fixture}: {id}"
            );
        }
        workspace
            .studio(["validate".as_ref(), output.as_os_str()])
            .expect_code(0);
    });
}

#[test]
fn old_values_have_their_new_form() {
    let workspace = Workspace::new();
    let output = workspace.path("out.tacozip");
    let given = workspace.write("given.json", r#"{"id": "mine", "licenses": ["CC0-1.0"]}"#);
    let given = given.to_str().expect("text");
    let more = [
        "--collection",
        given,
        "--field",
        "note=remark",
        "--field",
        "who=",
    ];
    let report = migrate(&workspace, &golden("44_v1_parts", ""), &output, &more)
        .expect_code(0)
        .json();
    let sql = "SELECT id, split, remark, \"stac:time_start\" AS t, ST_AsText(\"stac:centroid\") AS \
        c, \"stac:tensor_shape\" AS s FROM data";
    let rows = query(&workspace, &output, sql);
    let first = &rows[0];
    assert_eq!(
        (&first["id"], &first["split"], &first["remark"]),
        (&"bahamas_rgb".into(), &"train".into(), &"note ñ0".into())
    );
    assert!(
        first["t"]
            .as_str()
            .expect("a time")
            .starts_with("2001-09-09T01:46:40"),
        "{first}"
    );
    assert!(
        first["c"].to_string().contains("-77.852045 24.600445"),
        "{first}"
    );
    assert_eq!(first["s"], serde_json::json!([128, 128]));
    let seen = workspace
        .studio(["inspect".as_ref(), output.as_os_str(), "--json".as_ref()])
        .expect_code(0)
        .json();
    assert_eq!(
        (
            &seen["id"],
            &seen["collection"]["licenses"][0],
            &seen["levels"][0]["rows"]
        ),
        (&"mine".into(), &"CC0-1.0".into(), &5.into())
    );
    // The box is that of the centroids, and the times are those of the samples.
    assert!(
        seen["collection"]["extent"]["temporal"][0]
            .as_str()
            .expect("a time")
            .starts_with("2001-09-09"),
        "{seen}"
    );
    let who = report["fields"]
        .as_array()
        .expect("fields")
        .iter()
        .find(|line| line["from"] == "who")
        .expect("a line");
    assert_eq!(
        (&who["to"], &who["note"]),
        (&Json::Null, &"left out by choice".into())
    );
}

#[test]
fn without_an_output_only_the_plan_is_told() {
    let workspace = Workspace::new();
    let input = golden("46_v1_taco_nested", "nested.taco");
    let plan = workspace
        .studio(["migrate".as_ref(), input.as_os_str(), "--json".as_ref()])
        .expect_code(0)
        .json();
    assert_eq!(
        (&plan["possible"], &plan["built"]),
        (&Json::Bool(true), &Json::Null)
    );
    let task = plan["collection"]
        .as_array()
        .expect("lines")
        .iter()
        .find(|line| line["from"] == "task")
        .expect("a line");
    assert_eq!(
        (&task["to"], &task["new"]),
        (&"tasks".into(), &serde_json::json!(["classification"]))
    );
}

#[test]
fn choices_for_columns_and_levels_that_are_not_there_are_refused() {
    let workspace = Workspace::new();
    let (input, output) = (
        golden("46_v1_taco_nested", "nested.taco"),
        workspace.path("out.tacozip"),
    );
    let ran = migrate(&workspace, &input, &output, &["--field", "nope=x"]).expect_code(2);
    assert!(
        ran.stderr.contains("no level has column nope")
            && ran.stderr.contains("tortilla:data_split"),
        "{ran}"
    );
    let mapping = workspace.write(
        "mapping.json",
        r#"[{"level": 9, "from": "tortilla:data_split", "to": "x"}]"#,
    );
    let ran = migrate(
        &workspace,
        &input,
        &output,
        &["--mapping", &mapping.to_string_lossy()],
    )
    .expect_code(2);
    assert!(
        ran.stderr.contains("there is no level 9") && !output.exists(),
        "{ran}"
    );
}

#[test]
fn trees_of_different_shape_are_findings() {
    let workspace = Workspace::new();
    let output = workspace.path("out.tacozip");
    // Only ids differ: they are aligned unless told otherwise.
    let nested = golden("43_v1_nested3", "nested3.tortilla");
    let report = migrate(&workspace, &nested, &output, &["--keep-ids"])
        .expect_code(1)
        .json();
    assert_eq!(
        (&report["possible"], &report["built"]),
        (&Json::Bool(false), &Json::Null)
    );
    assert!(
        report["findings"]
            .as_array()
            .expect("findings")
            .iter()
            .any(|finding| finding["rule"] == "PIT-1"),
        "{report}"
    );
    assert!(!output.exists(), "a tree that 2.0 can't hold was written");
    let report = migrate(&workspace, &nested, &output, &[])
        .expect_code(0)
        .json();
    let renamed = report["renamed"].as_array().expect("a list");
    assert_eq!(
        (&renamed[0]["path"], &renamed[0]["id"]),
        (&"region_1 / scene_2".into(), &"scene_1".into())
    );
    let sql = "SELECT id, \"tortilla:id\" AS old FROM level1";
    let rows = query(&workspace, &output, sql);
    assert_eq!(
        (&rows[2]["id"], &rows[2]["old"]),
        (&"scene_1".into(), &"scene_2".into())
    );
}

#[test]
fn datasets_of_2_0_are_not_migrated() {
    let workspace = Workspace::new();
    let (input, output) = (golden("01_flat_zip", ""), workspace.path("out.tacozip"));
    let input = crate::support::entries(&input)
        .into_iter()
        .find(|path| path.extension().is_some_and(|e| e == "tacozip"))
        .expect("a dataset");
    let ran = migrate(&workspace, &input, &output, &[]).expect_code(2);
    assert!(ran.stderr.contains("convert"), "{ran}");
}

#[test]
fn an_extent_that_misses_samples_is_widened_and_told() {
    let workspace = Workspace::new();
    let (input, output) = (workspace.path("nested.taco"), workspace.path("out.tacozip"));
    std::fs::copy(golden("46_v1_taco_nested", "nested.taco"), &input).expect("copies");
    let small = r#"extent={"spatial":[[0,0,1,1]],"temporal":[[1577836800000,1580515200000]]}"#;
    workspace
        .studio([
            "edit".as_ref(),
            input.as_os_str(),
            "--set".as_ref(),
            small.as_ref(),
        ])
        .expect_code(0);
    let report = migrate(&workspace, &input, &output, &[])
        .expect_code(0)
        .json();
    let lines = report["collection"].as_array().expect("lines");
    let line = lines
        .iter()
        .find(|line| line["from"] == "extent/spatial")
        .unwrap_or_else(|| panic!("no line: {report}"));
    assert_eq!(
        (&line["action"], &line["old"]),
        (&"changed".into(), &serde_json::json!([0.0, 0.0, 1.0, 1.0]))
    );
    let checked = workspace
        .studio(["validate".as_ref(), output.as_os_str(), "--json".as_ref()])
        .expect_code(0)
        .json();
    assert!(
        !checked["findings"]
            .as_array()
            .expect("findings")
            .iter()
            .any(|finding| finding["rule"] == "COL-10"),
        "{checked}"
    );
}

#[test]
fn own_columns_called_id_or_type_arrive_and_compile_keeps_them() {
    let workspace = Workspace::new();
    let more = vec![
        ("id", text(&["own_1", "own_2"])),
        ("type", text(&["forest", "urban"])),
        ("internal:offset", text(&["7", "8"])),
    ];
    let input = workspace.write(
        "own.tortilla",
        tortilla(vec![row("a", b"1"), row("b", b"2")], more),
    );
    workspace
        .studio(["inspect".as_ref(), input.as_os_str()])
        .expect_code(0);
    let sql = "SELECT id, type, \"own:id\" AS own, \"own:type\" AS cover FROM level0";
    let wanted = serde_json::json!([
        { "id": "a", "type": "FILE", "own": "own_1", "cover": "forest" },
        { "id": "b", "type": "FILE", "own": "own_2", "cover": "urban" },
    ]);
    assert_eq!(query(&workspace, &input, sql), wanted);
    let output = workspace.path("out.tacozip");
    let report = migrate(&workspace, &input, &output, &[])
        .expect_code(0)
        .json();
    for (from, to) in [
        ("id", "own:id"),
        ("type", "own:type"),
        ("internal:offset", "own:internal_offset"),
    ] {
        let lines = report["fields"].as_array().expect("fields");
        assert!(
            lines
                .iter()
                .any(|line| line["from"] == from && line["to"] == to),
            "{from}: {report}"
        );
    }
    assert_eq!(query(&workspace, &output, sql), wanted);
    // Compiled back, the original names are restored.
    let compiled = workspace.path("compiled.tortilla");
    workspace
        .studio([
            "compile".as_ref(),
            input.as_os_str(),
            "-o".as_ref(),
            compiled.as_os_str(),
        ])
        .expect_code(0);
    let seen = workspace
        .old_python("first_generation.py", [&compiled])
        .expect_code(0)
        .json();
    let columns = &seen["samples"][1]["columns"];
    assert_eq!(
        (&columns["id"], &columns["type"]),
        (&"own_2".into(), &"urban".into())
    );
    let rows = query(
        &workspace,
        &compiled,
        "SELECT \"own:internal:offset\" AS own FROM level0",
    );
    assert_eq!(rows, serde_json::json!([{ "own": "7" }, { "own": "8" }]));
}
