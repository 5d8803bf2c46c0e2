//! Streamable datasets of TACO 0.2: a chain of tables instead of a footer for each nested tortilla, and chunks that are read alone.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};

use super::query;
use crate::support::{Workspace, nested_scenes, sha256_of};

fn made(workspace: &Workspace, name: &str) -> PathBuf {
    let collection = workspace.write("collection.json", json!({ "id": "scenes", "tasks": ["classification"] }).to_string());
    let output = workspace.path(name);
    let arguments: Vec<std::ffi::OsString> = vec![
        "create".into(),
        workspace.path("scenes").into_os_string(),
        "-o".into(),
        output.clone().into_os_string(),
        "--collection".into(),
        collection.into_os_string(),
        "--stream".into(),
    ];
    workspace.studio(arguments).expect_code(0);
    output
}

fn scenes(workspace: &Workspace) -> Vec<(String, PathBuf)> {
    let files = crate::support::files_below(&workspace.path("scenes"));
    files.into_iter().map(|name| (name.clone(), workspace.path("scenes").join(name))).collect()
}

#[test]
fn a_streamable_dataset_reads_by_its_chain_and_by_the_official_reader() {
    let workspace = Workspace::new();
    nested_scenes(&workspace, 4);
    for name in ["scenes.tortilla", "scenes.taco"] {
        let dataset = made(&workspace, name);
        workspace.studio(["validate".as_ref(), dataset.as_os_str()]).expect_no_panic();
        for (id, source) in scenes(&workspace) {
            let out = workspace.path("bytes");
            workspace.studio(["read".as_ref(), dataset.as_os_str(), id.as_ref(), "--out".as_ref(), out.as_os_str()]).expect_code(0);
            assert_eq!(sha256_of(&out), sha256_of(&source), "{id}");
        }
        let rows = query(&workspace, &dataset, "SELECT id, \"tortilla:root\" AS root FROM level1");
        let per_root = scenes(&workspace).len() / 4;
        assert_eq!(rows[per_root]["root"], 1, "{rows}");
        // The footer that the header knows is one of the first generation.
        let seen: Json = workspace.old_python("first_generation.py", [&dataset]).expect_code(0).json();
        assert_eq!(seen["samples"].as_array().map(Vec::len), Some(4));
        // Another collection leaves the chain as it is; other columns can't.
        if name.ends_with("taco") {
            for round in 0..3 {
                let title = format!("title=\"Round {round}\"");
                workspace.studio(["edit".as_ref(), dataset.as_os_str(), "--set".as_ref(), title.as_ref()]).expect_code(0);
            }
            let table = workspace.write("more.csv", "id,x\nscene_0,1\n");
            workspace.studio(["edit".as_ref(), dataset.as_os_str(), "--metadata".as_ref(), table.as_os_str()]).expect_code(2);
            let after = query(&workspace, &dataset, "SELECT id, \"tortilla:root\" AS root FROM level1");
            assert_eq!(after, rows);
        }
    }
}

#[test]
fn chunks_decode_to_the_pixels_of_the_whole() {
    let workspace = Workspace::new();
    nested_scenes(&workspace, 2);
    let dataset = made(&workspace, "scenes.tortilla");
    let (id, source) = scenes(&workspace).into_iter().find(|(id, _)| id.ends_with(".tif")).expect("a raster");
    let mut pieces: Vec<(PathBuf, String)> = Vec::new();
    for number in 0..100 {
        let chunk = format!("{id}::{number}");
        let told = workspace.studio(["read".as_ref(), dataset.as_os_str(), chunk.as_ref()]);
        if told.code() != 0 {
            assert!(number > 0 && told.stderr.contains("no chunk"), "{told}");
            break;
        }
        let out = workspace.path(&format!("chunk{number}.npy"));
        workspace.studio(["read".as_ref(), dataset.as_os_str(), chunk.as_ref(), "--out".as_ref(), out.as_os_str()]).expect_code(0);
        let start = told.stdout.split("from (").nth(1).and_then(|rest| rest.split(')').next()).expect("a start").to_owned();
        pieces.push((out, start));
    }
    assert!(!pieces.is_empty());
    let list: Vec<Json> = pieces.iter().map(|(path, start)| json!([path.display().to_string(), start])).collect();
    let list = workspace.write("chunks.json", Json::from(list).to_string());
    let paths: [&Path; 2] = [&source, &list];
    workspace.old_python("chunks.py", paths).expect_code(0);
    let missing = format!("{id}::9999");
    workspace.studio(["read".as_ref(), dataset.as_os_str(), missing.as_ref()]).expect_code(2);
    fs::remove_file(workspace.path("collection.json")).expect("the collection");
}
