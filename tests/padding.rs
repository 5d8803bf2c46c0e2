//! Padding: the padding that `create` adds is valid, hidden from readers of samples, accepted by the official reader, and
//! described by real ids; also the commands for fixes.

use serde_json::json;

use crate::support::Workspace;

#[test]
fn create_pads_what_is_missing_and_the_official_reader_opens_it() {
    let workspace = Workspace::new();
    for scene in 0..5 {
        for (name, skip) in [("before.txt", 9), ("label.txt", 2), ("s2/t0.txt", 3), ("s2/t1.txt", 1)] {
            if scene != skip && !(scene == 3 && name.starts_with("s2")) {
                workspace.write(&format!("scenes/scene_{scene}/{name}"), format!("{scene} {name}"));
            }
        }
    }
    let collection = json!({
        "id": "padded", "description": "Padded.", "dataset_version": "1.0.0", "licenses": ["CC-BY-4.0"],
        "providers": [{ "name": "N", "role": "producer" }], "tasks": ["classification"], "keywords": ["padding"]
    });
    workspace.write("collection.json", collection.to_string());
    let create = |out: &str, more: &[&str]| {
        let fixed = ["create", "scenes", "-o", out, "--collection", "collection.json"];
        workspace.studio(fixed.iter().chain(more))
    };
    assert_ne!(create("refused.tacozip", &[]).code(), 0, "an odd root is not written by itself");
    for out in ["padded.tacozip", "padded"] {
        create(out, &["--fill-missing", "--pad-to", "4"]).expect_code(0);
        let report = workspace.studio(["validate", out, "--deep", "--json"]).expect_code(0).json();
        assert_eq!(report["findings"], json!([]), "{out}: {report}");
        let listed = workspace.studio(["read", out, "scene_3"]).expect_code(0).stdout;
        assert!(listed.contains("before.txt") && !listed.contains("TACOPAD"), "{listed}");
        let ran = workspace.python("padding.py", [out]).expect_code(0);
        assert!(ran.stdout.starts_with("ok"), "{ran}");
    }
}

#[test]
fn tortillas_below_the_root_are_padded_and_schemas_aligned_when_asked() {
    let workspace = Workspace::new();
    for scene in 0..3 {
        for part in 0..2 {
            workspace.write(&format!("scenes/scene_{scene}/t{part}.txt"), "x");
        }
    }
    workspace.write("collection.json", crate::support::COLLECTION);
    let create = |out: &str, more: &[&str]| {
        let fixed = ["create", "scenes", "-o", out, "--collection", "collection.json"];
        workspace.studio(fixed.iter().chain(more))
    };
    create("padded", &["--pad-to", "1:4", "--pad-to", "5"]).expect_code(0);
    workspace.studio(["validate", "padded", "--deep"]).expect_code(0);
    let levels = workspace.studio(["inspect", "padded", "--json"]).expect_code(0).json()["levels"].clone();
    assert_eq!((&levels[0]["rows"], &levels[1]["rows"]), (&json!(5), &json!(20)), "padded FOLDERs are padded alike");
    let refused = create("no", &["--pad-to", "scene_9:4"]).expect_code(2);
    assert!(refused.stderr.contains("no such FOLDER") && refused.stderr.contains("scene_9"), "{refused}");
    assert!(create("no", &["--pad-to", "4:2"]).expect_code(2).stderr.contains("no level 4"));
    create("no", &["--pad-to", "0"]).expect_code(2);
    workspace.write("table.csv", "path,gain\nscene_0/t0.txt,1.5\nscene_0/t1.txt,2.5\n");
    create("aligned", &["--metadata", "table.csv", "--schema", "align"]).expect_code(0);
    let table = workspace.studio(["read", "aligned", "scene_1", "--format", "csv"]).expect_code(0).stdout;
    assert!(table.starts_with("id,type,gain"), "{table}");
}

#[test]
fn a_folder_is_read_as_a_table() {
    let workspace = Workspace::new();
    crate::support::nested_scenes(&workspace, 2);
    let create =
        ["create", "scenes", "-o", "set.tacozip", "--collection", "collection.json", "--metadata", "metadata.csv", "--pad-to", "3"];
    workspace.studio(create).expect_code(0);
    let read = |arguments: &[&str]| workspace.studio(["read", "set.tacozip"].iter().chain(arguments)).expect_code(0).stdout;
    let rows: Vec<serde_json::Value> =
        read(&["--format", "json"]).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(rows.len(), 2, "padding is hidden");
    assert_eq!((&rows[1]["id"], &rows[1]["cloud_cover"]), (&json!("scene_9"), &json!(10)));
    assert!(rows[1]["internal:gdal_vsi"].as_str().is_some_and(|vsi| vsi.starts_with("/vsisubfile/")), "{rows:?}");
    let csv = read(&["scene_9", "--format", "csv"]);
    let lines: Vec<&str> = csv.lines().collect();
    assert!(lines[0].starts_with("id,type") && lines.len() == 4 && lines[1].starts_with("after.tif,FILE"), "{csv}");
    assert!(read(&["scene_9", "--format", "table"]).contains("label.tif"));
    let text = read(&["scene_9"]);
    assert!(text.contains("FILE\tlabel.tif"), "the list is as it was: {text}");
    read(&["scene_9", "--format", "parquet", "--out", "scene.parquet"]);
    assert!(workspace.path("scene.parquet").exists());
}
