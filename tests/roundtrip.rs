//! Datasets through several containers: whatever the way, the bytes, the metadata and the collection stay what they were.

use std::fs;
use std::path::Path;

use crate::interop::{create, expect_ok};
use crate::support::{Workspace, fixtures, flat_scenes, nested_scenes};

fn convert(workspace: &Workspace, from: &Path, to: &Path) {
    workspace.studio(["convert".as_ref(), from.as_os_str(), to.as_os_str()]).expect_code(0);
}

fn expect_same(workspace: &Workspace, one: &Path, other: &Path) {
    expect_ok(workspace.python("check.py", ["same".as_ref(), one.as_os_str(), other.as_os_str()]));
}

#[test]
fn zip_to_folder_to_zip_keeps_everything() {
    for nested in [true, false] {
        let workspace = Workspace::new();
        if nested {
            nested_scenes(&workspace, 4)
        } else {
            flat_scenes(&workspace, 5)
        }
        let first = create(&workspace, "first.tacozip", "zip");
        let folder = workspace.path("folder");
        convert(&workspace, &first, &folder);
        expect_same(&workspace, &first, &folder);
        let second = workspace.path("second.tacozip");
        convert(&workspace, &folder, &second);
        expect_same(&workspace, &first, &second);
        workspace.studio(["validate".as_ref(), second.as_os_str(), "--deep".as_ref()]).expect_code(0);
    }
}

#[test]
fn folder_to_zip_to_folder_keeps_everything() {
    let workspace = Workspace::new();
    nested_scenes(&workspace, 4);
    let first = create(&workspace, "first", "folder");
    let zip = workspace.path("middle.tacozip");
    convert(&workspace, &first, &zip);
    expect_same(&workspace, &first, &zip);
    let second = workspace.path("second");
    convert(&workspace, &zip, &second);
    expect_same(&workspace, &first, &second);
}

#[test]
fn official_datasets_survive_a_round_trip() {
    for fixture in fixtures("golden", "TACO_STUDIO_GOLDEN") {
        let name = fixture.file_name().expect("a name").to_string_lossy().into_owned();
        // Those whose tables are wrong are mended by a conversion, so they can't come out the same.
        if name.contains("refbug") || !(name.starts_with("0") || name.starts_with("1")) {
            continue;
        }
        let workspace = Workspace::new();
        let dataset = crate::support::entries(&fixture)
            .into_iter()
            .find(|path| path.is_dir() || path.extension().is_some_and(|end| end == "tacozip"));
        let dataset = dataset.unwrap_or_else(|| panic!("no dataset in {name}"));
        let (middle, last) = (workspace.path("middle"), workspace.path("last"));
        let (middle, last) =
            if dataset.is_dir() { (middle.with_extension("tacozip"), last) } else { (middle, last.with_extension("tacozip")) };
        convert(&workspace, &dataset, &middle);
        convert(&workspace, &middle, &last);
        expect_same(&workspace, &dataset, &last);
    }
}

#[test]
fn nothing_half_written_is_left_and_nothing_is_overwritten_silently() {
    let workspace = Workspace::new();
    nested_scenes(&workspace, 3);
    let dataset = create(&workspace, "first.tacozip", "zip");
    let before = fs::read(&dataset).expect("the dataset");
    let other = workspace.write("other.tacozip", "something of the user's");
    let ran = workspace.studio(["convert".as_ref(), dataset.as_os_str(), other.as_os_str()]).expect_no_panic();
    assert_eq!(ran.code(), 2, "an existing file needs to be asked about: {ran}");
    assert_eq!(fs::read(&other).expect("the file"), b"something of the user's");

    // A source that is not there any more: named, and no trace of the attempt.
    fs::create_dir(workspace.path("out")).expect("a folder");
    let folder = workspace.path("folder");
    convert(&workspace, &dataset, &folder);
    fs::remove_file(folder.join("DATA/scene_9/after.tif")).expect("a file of the dataset");
    let target = workspace.path("out/again.tacozip");
    let ran = workspace.studio(["convert".as_ref(), folder.as_os_str(), target.as_os_str()]).expect_no_panic();
    assert_eq!(ran.code(), 2, "{ran}");
    assert!(ran.stderr.contains("scene_9") && ran.stderr.contains("after.tif"), "the lost sample is not named: {ran}");
    assert_eq!(crate::support::entries(&workspace.path("out")), Vec::<std::path::PathBuf>::new(), "something was left behind");
    assert_eq!(fs::read(&dataset).expect("the dataset"), before);
}
