//! Layouts of published datasets: small look-alikes of their files become the right dataset, or a
//! question, by `create --layout auto`. Lists of paths with what is expected are in
//! `tests/fixtures/layouts`.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::{COLLECTION, Workspace};

/// Each fixture: its name and its content.
pub fn fixtures() -> Vec<(String, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/layouts");
    let mut found: Vec<(String, Value)> = fs::read_dir(folder)
        .expect("the fixtures")
        .map(|entry| {
            let path = entry.expect("an entry").path();
            let name = path
                .file_stem()
                .expect("a name")
                .to_string_lossy()
                .into_owned();
            (
                name,
                serde_json::from_slice(&fs::read(&path).expect("readable")).expect("JSON"),
            )
        })
        .collect();
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found
}

/// Writes tiny files at the paths of a fixture.
pub fn write_files(workspace: &Workspace, name: &str, fixture: &Value) {
    for path in fixture["paths"]
        .as_array()
        .expect("paths")
        .iter()
        .filter_map(Value::as_str)
    {
        let text = fixture["texts"][path].as_str().unwrap_or("x\n");
        workspace.write(&format!("{name}/{path}"), text);
    }
}

/// How what is proposed differs from what is expected; none when it does not.
fn difference(fixture: &Value, proposed: &Value) -> Option<String> {
    let ids = |entries: &Value, key: &str| -> Value {
        entries
            .as_array()
            .into_iter()
            .flatten()
            .map(|entry| entry[key].clone())
            .collect()
    };
    let sorted = |mut names: Value| {
        names
            .as_array_mut()
            .expect("a list")
            .sort_by_key(ToString::to_string);
        names
    };
    let found = json!({
        "roots": proposed["roots"],
        "positions": sorted(ids(&proposed["positions"], "id")),
        "columns": sorted(ids(&proposed["columns"], "name")),
        "first":
            if fixture["first"].is_null() { Value::Null } else { proposed["examples"][0].clone() },
    });
    let expected = json!({
        "roots": fixture["roots"],
        "positions": sorted(fixture["positions"].clone()),
        "columns": sorted(fixture["columns"].clone()),
        "first": fixture["first"],
    });
    (found != expected).then(|| format!("expected {expected}\n     found {found}"))
}

#[test]
fn published_layouts_become_the_right_dataset_or_a_question() {
    let workspace = Workspace::new();
    let mut wrong = Vec::new();
    let (mut right, mut questions) = (0, 0);
    for (name, fixture) in fixtures() {
        write_files(&workspace, &name, &fixture);
        let ran = workspace
            .studio(["create", &name, "--layout", "auto", "--dry-run", "--json"])
            .expect_no_panic();
        match (fixture["question"].as_array(), ran.code()) {
            (None, 0) => match difference(&fixture, &ran.json()) {
                None => right += 1,
                Some(difference) => wrong.push(format!("{name}: {difference}")),
            },
            (Some(parts), 2) => {
                let missing = parts
                    .iter()
                    .filter_map(Value::as_str)
                    .find(|part| !ran.stderr.contains(part));
                match missing {
                    None => questions += 1,
                    Some(part) => wrong.push(format!(
                        "{name}: the question does not say {part}: {}",
                        ran.stderr
                    )),
                }
            }
            (None, _) => wrong.push(format!("{name}: {}", ran.stderr)),
            (Some(_), _) => wrong.push(format!(
                "{name}: a question is expected, found {}",
                ran.stdout
            )),
        }
    }
    assert!(
        wrong.is_empty(),
        "{right} right, {questions} questions, {} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(
        right >= 40 && questions >= 8,
        "{right} right, {questions} questions"
    );
}

#[test]
fn what_is_proposed_is_what_is_written() {
    let workspace = Workspace::new();
    workspace.write("collection.json", COLLECTION);
    for name in ["deepglobe", "eurosat", "series_in_folders", "xview2"] {
        let (_, fixture) = fixtures()
            .into_iter()
            .find(|(known, _)| known == name)
            .expect("the fixture");
        write_files(&workspace, name, &fixture);
        let out = format!("{name}_written");
        workspace
            .studio([
                "create",
                name,
                "-o",
                &out,
                "--collection",
                "collection.json",
                "--layout",
                "auto",
            ])
            .expect_code(0);
        workspace.studio(["validate", &out]).expect_code(0);
        let levels = workspace
            .studio(["inspect", &out, "--json"])
            .expect_code(0)
            .json()["levels"]
            .clone();
        assert_eq!(levels[0]["rows"], fixture["roots"], "{name}");
    }
}

#[test]
fn lists_that_contradict_each_other_are_told_and_kept_apart() {
    let workspace = Workspace::new();
    for scene in 1..=4 {
        workspace.write(&format!("data/images/{scene:04}.tif"), "x");
        workspace.write(&format!("data/masks/{scene:04}.tif"), "x");
    }
    workspace.write("data/random-train.txt", "0001\n0002\n");
    workspace.write("data/random-test.txt", "0003\n0004\n");
    workspace.write("data/spatial-train.txt", "0001\n0003\n");
    workspace.write("data/spatial-test.txt", "0002\n0004\n");
    workspace.write("collection.json", COLLECTION);
    let proposed = workspace
        .studio(["create", "data", "--dry-run", "--json"])
        .expect_code(0)
        .json();
    let names: Vec<&str> = proposed["columns"]
        .as_array()
        .expect("columns")
        .iter()
        .filter_map(|c| c["name"].as_str())
        .collect();
    assert_eq!(names, ["split", "split_spatial"]);
    let contradictions = proposed["contradictions"]
        .as_array()
        .expect("contradictions");
    assert_eq!(contradictions.len(), 2, "{proposed}");
    let ran = workspace
        .studio([
            "create",
            "data",
            "-o",
            "out",
            "--collection",
            "collection.json",
            "--layout",
            "auto",
        ])
        .expect_code(0);
    assert!(
        ran.stderr.contains("spatial-test.txt contradicts split"),
        "{ran}"
    );
    let table = workspace
        .studio(["read", "out", "--format", "csv"])
        .expect_code(0)
        .stdout;
    for line in [
        "0001,FOLDER,train,train",
        "0002,FOLDER,train,test",
        "0003,FOLDER,test,train",
        "0004,FOLDER,test,test",
    ] {
        assert!(table.contains(line), "{line}: {table}");
    }
    // One scene in both parts of one split.
    workspace.write("data/random-test.txt", "0002\n0003\n0004\n");
    let told = workspace
        .studio(["create", "data", "--dry-run", "--exclude", "spatial-*"])
        .expect_code(0)
        .stdout;
    assert!(
        told.contains("contradictions") && told.contains("such as 0002"),
        "{told}"
    );
    // Without one of them nothing contradicts.
    let told = workspace.studio([
        "create",
        "data",
        "--dry-run",
        "--exclude",
        "spatial-*",
        "--exclude",
        "random-test.txt",
    ]);
    assert!(!told.expect_code(0).stdout.contains("contradictions"));
}

#[test]
fn a_saved_layout_is_what_was_written_and_is_used_again() {
    let workspace = Workspace::new();
    workspace.write("collection.json", COLLECTION);
    for folder in ["first", "second"] {
        for scene in 1..=3 {
            workspace.write(&format!("{folder}/train/images/{scene:04}.tif"), "x");
            workspace.write(&format!("{folder}/train/masks/{scene:04}.png"), "x");
        }
        workspace.write(&format!("{folder}/val/images/0009.tif"), "x");
        workspace.write(&format!("{folder}/val/masks/0009.png"), "x");
    }
    let create = |source: &str, out: &str, more: &[&str]| {
        let fixed = [
            "create",
            source,
            "-o",
            out,
            "--collection",
            "collection.json",
        ];
        workspace.studio(fixed.iter().chain(more)).expect_code(0);
        workspace
            .studio(["read", out, "--format", "csv"])
            .expect_code(0)
            .stdout
    };
    let first = create("first", "one", &["--save-layout", "layout.json"]);
    let second = create("second", "two", &["--layout", "layout.json"]);
    assert_eq!(first, second.replace("two/", "one/"));
    assert!(first.contains("train") && first.contains("val"), "{first}");
}

#[test]
fn questions_leave_out_all_folders_of_one_structure() {
    let workspace = Workspace::new();
    for name in ["safe_l1c", "safe_l2a"] {
        let (_, fixture) = fixtures()
            .into_iter()
            .find(|(known, _)| known == name)
            .expect("the fixture");
        write_files(&workspace, "both", &fixture);
    }
    let asked = workspace
        .studio(["create", "both", "--dry-run"])
        .expect_code(2)
        .stderr;
    // The three scenes of a level are left out by one pattern; then the others have one structure.
    let options: Vec<&str> = asked
        .split("--exclude '")
        .skip(1)
        .filter_map(|rest| rest.split('\'').next())
        .collect();
    assert_eq!(options.len(), 2, "{asked}");
    for option in options {
        let shown = workspace
            .studio(["create", "both", "--dry-run", "--json", "--exclude", option])
            .expect_code(0)
            .json();
        assert_eq!(shown["roots"], 3, "{option}: {shown}");
    }
}

/// A tar with these files.
fn tar_of(files: &[(String, &[u8])]) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    for (name, bytes) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        tar.append_data(&mut header, name, *bytes).expect("packs");
    }
    tar.into_inner().expect("packs")
}

#[test]
fn shards_of_webdataset_are_read_as_their_files() {
    let workspace = Workspace::new();
    workspace.write("collection.json", COLLECTION);
    for (folder, shard) in [("train", 0), ("train", 1), ("val", 2)] {
        let files: Vec<(String, &[u8])> = (0..3)
            .flat_map(|sample| {
                let key = format!("{:06}", shard * 3 + sample);
                [
                    (format!("{key}.image.npy"), &b"image"[..]),
                    (format!("{key}.mask.npy"), b"mask"),
                ]
            })
            .collect();
        workspace.write(&format!("shards/{folder}/{shard:06}.tar"), tar_of(&files));
    }
    let arguments = [
        "create",
        "shards/train",
        "-o",
        "set",
        "--collection",
        "collection.json",
    ];
    let ran = workspace.studio(arguments).expect_code(0);
    assert!(ran.stderr.contains("WebDataset"), "{ran}");
    let arguments = [
        "create",
        "shards",
        "-o",
        "arranged",
        "--collection",
        "collection.json",
        "--layout",
        "auto",
    ];
    workspace.studio(arguments).expect_code(0);
    let arguments = [
        "query",
        "arranged",
        "--sql",
        "SELECT split, count(*) AS roots FROM data GROUP BY split ORDER BY split",
        "--json",
    ];
    let ran = workspace.studio(arguments).expect_code(0);
    assert!(
        ran.stdout.contains("\"roots\":6") && ran.stdout.contains("\"roots\":3"),
        "{ran}"
    );
}

#[test]
fn shards_keep_the_folders_of_their_files() {
    let workspace = Workspace::new();
    workspace.write("collection.json", COLLECTION);
    // Each class is in a shard of its own.
    for (shard, class) in ["cls0", "cls1"].iter().enumerate() {
        let files = ["a_image.npy", "b_image.npy"]
            .map(|name| (format!("{class}/{shard}{name}"), &b"image"[..]));
        workspace.write(&format!("classes/{shard:06}.tar"), tar_of(&files));
    }
    let arguments = [
        "create",
        "classes",
        "--layout",
        "{class}/{root}_{position}",
        "--dry-run",
        "--json",
        "-o",
        "set",
        "--collection",
        "collection.json",
    ];
    let ran = workspace.studio(arguments).expect_code(0);
    assert!(ran.stdout.contains("\"roots\": 4"), "{ran}");
}
