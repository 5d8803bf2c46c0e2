//! ZIPs whose data begins at disk blocks (`--align-blocks`): they are ordinary TACO ZIPs for every
//! reader, stay so when they are edited, and share the blocks of their sources where the file
//! system can.

use std::fs::File;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;

use crate::support::{Server, Workspace, geotiff, nested_scenes, sha256_of};

/// Size in bytes of a disk block.
const BLOCK: u64 = 4096;
/// Least size in bytes of the data that is aligned.
const ALIGNED_MIN: u64 = 64 << 10;

/// Three scenes, each with two rasters of more than [`ALIGNED_MIN`] bytes and a small one.
fn scenes(workspace: &Workspace) {
    nested_scenes(workspace, 3);
    for scene in 8..11 {
        for part in ["before.tif", "after.tif"] {
            let path = workspace.path(&format!("scenes/scene_{scene}/{part}"));
            geotiff(&path, 3, 200, scene);
        }
    }
}

fn written(workspace: &Workspace, name: &str) -> PathBuf {
    let arguments = [
        "create",
        "scenes",
        "--collection",
        "collection.json",
        "--metadata",
    ];
    let arguments = arguments
        .into_iter()
        .chain(["metadata.csv", "--align-blocks", "-o", name]);
    workspace.studio(arguments).expect_code(0);
    workspace.path(name)
}

/// Number of members whose data begins at a block; every large one has to.
fn aligned_members(dataset: &Path) -> usize {
    let mut archive = zip::ZipArchive::new(File::open(dataset).expect("opens")).expect("a ZIP");
    let places = (0..archive.len()).map(|index| {
        let member = archive.by_index_raw(index).expect("a member");
        let start = member.data_start().expect("a place");
        (
            member.name().expect("a name").into_owned(),
            member.size(),
            start,
        )
    });
    let aligned = places.filter(|(name, size, start)| {
        let is_large = *size >= ALIGNED_MIN && name.starts_with("DATA/");
        assert!(!is_large || start % BLOCK == 0, "{name} is at {start}");
        is_large
    });
    aligned.count()
}

fn is_valid(workspace: &Workspace, dataset: &Path) {
    workspace
        .studio(["validate".as_ref(), dataset.as_os_str(), "--deep".as_ref()])
        .expect_code(0);
    let sources = workspace.path("scenes");
    let reader = ["reader".as_ref(), dataset.as_os_str(), sources.as_os_str()];
    let ran = workspace.python("check.py", reader).expect_code(0);
    assert!(ran.stdout.starts_with("ok"), "{ran}");
}

#[test]
fn aligned_archives_are_read_written_edited_and_exported_as_others() {
    let workspace = Workspace::new();
    scenes(&workspace);
    let dataset = written(&workspace, "aligned.tacozip");
    assert_eq!(aligned_members(&dataset), 6);
    is_valid(&workspace, &dataset);
    // Equal input gives equal bytes.
    assert_eq!(
        sha256_of(&dataset),
        sha256_of(&written(&workspace, "again.tacozip"))
    );
    // A subset of it is aligned again, or not, as is asked for.
    for (name, is_aligned) in [("part.tacozip", true), ("plain.tacozip", false)] {
        let mut arguments = vec!["export", "aligned.tacozip", "-o", name];
        arguments.extend(is_aligned.then_some("--align-blocks"));
        workspace.studio(arguments).expect_code(0);
        is_valid(&workspace, &workspace.path(name));
    }
    assert_eq!(aligned_members(&workspace.path("part.tacozip")), 6);
}

#[test]
fn the_metadata_of_an_aligned_archive_is_edited_where_it_is() {
    let workspace = Workspace::new();
    scenes(&workspace);
    let dataset = written(&workspace, "aligned.tacozip");
    let edit = [
        "edit",
        "aligned.tacozip",
        "--set",
        "title=Aligned",
        "--json",
    ];
    let ran = workspace.studio(edit).expect_code(0);
    let written = ran.json()["written"].as_u64().expect("a number");
    assert!(
        written < ALIGNED_MIN,
        "the data was written again: {written}"
    );
    assert_eq!(aligned_members(&dataset), 6);
    is_valid(&workspace, &dataset);
}

#[test]
fn an_aligned_archive_on_a_server_opens_with_few_requests() {
    let workspace = Workspace::new();
    scenes(&workspace);
    let dataset = written(&workspace, "aligned.tacozip");
    let server = Server::of(dataset.parent().expect("a folder"));
    let url = server.url("aligned.tacozip");
    let inspected = |place: &std::ffi::OsStr| -> Json {
        let arguments = ["inspect".as_ref(), place, "--json".as_ref()];
        let mut found = workspace.studio(arguments).expect_code(0).json();
        found.as_object_mut().expect("an object").remove("path");
        found
    };
    assert_eq!(inspected(url.as_ref()), inspected(dataset.as_os_str()));
    assert!(server.asked().len() <= 3, "{:#?}", server.asked());
    server.forget();
    // The tables prove where the data is: the directory is not asked for.
    let out = workspace.path("after.tif");
    workspace.read_into(&url, "scene_9/after.tif", &out);
    assert_eq!(
        sha256_of(&out),
        sha256_of(&workspace.path("scenes/scene_9/after.tif"))
    );
    assert!(server.asked().len() <= 5, "{:#?}", server.asked());
}
