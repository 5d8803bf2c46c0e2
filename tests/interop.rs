//! Output of the studio read by the official reader in its own Python: opened, traversed and
//! queried; every byte and metadata value is compared with the sources. A missing Python is a
//! failure.

use std::path::{Path, PathBuf};

use crate::support::{Ran, Workspace, files_below, flat_scenes, nested_scenes, sha256_of};

/// `create` from `scenes/` with its collection and table, then a deep check of the result.
pub fn create(workspace: &Workspace, name: &str, format: &str) -> PathBuf {
    let out = workspace.path(name);
    let scenes = workspace.path("scenes");
    let (collection, metadata) = (
        workspace.path("collection.json"),
        workspace.path("metadata.csv"),
    );
    workspace
        .studio([
            "create".as_ref(),
            scenes.as_os_str(),
            "-o".as_ref(),
            out.as_os_str(),
            "--collection".as_ref(),
            collection.as_os_str(),
            "--metadata".as_ref(),
            metadata.as_os_str(),
            "--format".as_ref(),
            format.as_ref(),
        ])
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
    assert_eq!(report["valid"], true, "{name}: {report}");
    assert_eq!(
        report["findings"],
        serde_json::json!([]),
        "{name}: a dataset of our own has no finding at all"
    );
    out
}

/// Fails with the script's output.
#[track_caller]
pub fn expect_ok(ran: Ran) {
    let ran = ran.expect_code(0);
    assert!(ran.stdout.starts_with("ok: "), "{ran}");
}

fn check_with_reader(workspace: &Workspace, dataset: &Path) {
    let (sources, metadata) = (workspace.path("scenes"), workspace.path("metadata.csv"));
    let arguments = [
        "reader".as_ref(),
        dataset.as_os_str(),
        sources.as_os_str(),
        "--metadata".as_ref(),
        metadata.as_os_str(),
    ];
    expect_ok(workspace.python("check.py", arguments));
    // Also by the program itself, file by file.
    let out = workspace.path("bytes");
    for file in files_below(&sources) {
        let arguments = [
            "read".as_ref(),
            dataset.as_os_str(),
            file.as_ref(),
            "--out".as_ref(),
            out.as_os_str(),
        ];
        workspace.studio(arguments).expect_code(0);
        assert_eq!(sha256_of(&out), sha256_of(&sources.join(&file)), "{file}");
        std::fs::remove_file(&out).expect("the file just written");
    }
}

#[test]
fn the_official_reader_reads_nested_datasets_of_ours() {
    let workspace = Workspace::new();
    nested_scenes(&workspace, 5);
    for (name, format) in [("nested.tacozip", "zip"), ("nested", "folder")] {
        check_with_reader(&workspace, &create(&workspace, name, format));
    }
}

#[test]
fn the_official_reader_reads_flat_datasets_of_ours() {
    let workspace = Workspace::new();
    flat_scenes(&workspace, 6);
    for (name, format) in [("flat.tacozip", "zip"), ("flat", "folder")] {
        check_with_reader(&workspace, &create(&workspace, name, format));
    }
}

#[test]
fn the_checking_script_can_fail() {
    let workspace = Workspace::new();
    nested_scenes(&workspace, 3);
    let dataset = create(&workspace, "nested.tacozip", "zip");
    workspace.write("scenes/scene_9/after.tif", "not what was packed");
    let sources = workspace.path("scenes");
    let ran = workspace.python(
        "check.py",
        ["reader".as_ref(), dataset.as_os_str(), sources.as_os_str()],
    );
    assert!(ran.code() != 0, "a changed source went unnoticed: {ran}");
}
