//! Datasets in several archives: an index over them reads to the bytes of its parts, wherever the parts lie.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{Workspace, fixtures, sha256_of};

/// The folder of a golden set.
fn golden(name: &str) -> PathBuf {
    let all = fixtures("golden", "TACO_STUDIO_GOLDEN");
    all.into_iter().find(|folder| folder.ends_with(name)).unwrap_or_else(|| panic!("no golden set {name}"))
}

fn expected(folder: &Path) -> Value {
    let text = fs::read_to_string(folder.join("expected.json")).expect("expected.json");
    serde_json::from_str(&text).expect("JSON")
}

/// Copies a golden set's files and its index into the workspace.
fn copied(workspace: &Workspace, set: &str) -> PathBuf {
    let target = workspace.path("set");
    copy_folder(&golden(set), &target);
    target
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let path = entry.expect("an entry").path();
        let target = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            copy_folder(&path, &target);
        } else {
            fs::copy(&path, &target).expect("copies");
        }
    }
}

#[test]
fn an_index_reads_to_the_bytes_of_its_parts() {
    let workspace = Workspace::new();
    let out = workspace.path("bytes");
    let mut seen = 0;
    for (set, index) in [("09_split_tacocat", ".tacocat"), ("27_v018_parts_tacocat", "__TACOCAT__")] {
        let folder = golden(set);
        let parts = expected(&folder);
        let parts = parts.as_object().expect("an object").iter().filter(|(_, part)| part["kind"] == "zip");
        for (member, wanted) in parts.flat_map(|(_, part)| part["files"].as_object().expect("files")) {
            let id = member.strip_prefix("DATA/").expect("a file under DATA");
            let dataset = folder.join(index);
            let arguments = ["read".as_ref(), dataset.as_os_str(), id.as_ref(), "--out".as_ref(), out.as_os_str()];
            workspace.studio(arguments).expect_code(0);
            assert_eq!(sha256_of(&out), wanted["sha256"], "{set}: bytes of {id}");
            fs::remove_file(&out).expect("the file just written");
            seen += 1;
        }
    }
    assert!(seen >= 36, "only {seen} files");
}

#[test]
fn flat_views_join_within_a_part() {
    let workspace = Workspace::new();
    let query = |path: &Path| {
        let sql = "select count(*) as n, count(distinct \"l0:id\") as roots from l1";
        let ran = workspace.studio(["query".as_ref(), path.as_os_str(), "--sql".as_ref(), sql.as_ref(), "--json".as_ref()]);
        ran.expect_code(0).json()
    };
    let rows = query(&golden("09_split_tacocat"));
    assert_eq!((&rows["n"], &rows["roots"]), (&18.into(), &6.into()));
    // Without internal:current_id, and with padding.
    let rows = query(&golden("27_v018_parts_tacocat").join("__TACOCAT__"));
    assert_eq!((&rows["n"], &rows["roots"]), (&24.into(), &6.into()));
}

#[test]
fn an_index_without_a_part_still_lists_and_names_what_is_missing() {
    let workspace = Workspace::new();
    let set = copied(&workspace, "09_split_tacocat");
    let part = set.join("parts_part0003.tacozip");
    fs::remove_file(&part).expect("removes");
    let listed = workspace.studio(["read".as_ref(), set.as_os_str()]).expect_code(0);
    assert_eq!(listed.stdout.lines().count(), 6, "{listed}");
    let ran = workspace.studio(["read".as_ref(), set.as_os_str(), "scene_06/label.tif".as_ref()]).expect_code(2);
    assert!(ran.stderr.contains("parts_part0003.tacozip is missing"), "{ran}");
    assert!(ran.stderr.contains(&*part.to_string_lossy()), "where it was looked for: {ran}");
    workspace.studio(["read".as_ref(), set.as_os_str(), "scene_01/label.tif".as_ref()]).expect_code(0);
}

#[test]
fn damaged_indexes_are_errors() {
    let workspace = Workspace::new();
    let set = copied(&workspace, "27_v018_parts_tacocat");
    let index = set.join("__TACOCAT__");
    let whole = fs::read(&index).expect("reads");
    let mut far = whole.clone();
    far[16..24].copy_from_slice(&u64::MAX.to_le_bytes());
    let mut deep = whole.clone();
    deep[12] = 200;
    for bytes in [&whole[..127], &whole[..2000], &far, &deep] {
        fs::write(&index, bytes).expect("writes");
        workspace.studio(["inspect".as_ref(), index.as_os_str()]).expect_code(2);
    }
}
