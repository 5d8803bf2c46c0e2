//! Conversions through several containers keep bytes, metadata and the collection.

use std::fs;
use std::path::Path;

use crate::golden::each_dataset;
use crate::interop::{create, expect_ok};
use crate::support::{Workspace, flat_scenes, nested_scenes};

fn convert(workspace: &Workspace, from: &Path, to: &Path) {
    workspace
        .studio(["convert".as_ref(), from.as_os_str(), to.as_os_str()])
        .expect_code(0);
}

fn expect_same(workspace: &Workspace, one: &Path, other: &Path) {
    expect_ok(workspace.python(
        "check.py",
        ["same".as_ref(), one.as_os_str(), other.as_os_str()],
    ));
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
        workspace
            .studio(["validate".as_ref(), second.as_os_str(), "--deep".as_ref()])
            .expect_code(0);
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
    each_dataset(|dataset, _, fixture| {
        let workspace = Workspace::new();
        let paths =
            ["one", "two.tacozip", "three", "four.tacozip"].map(|name| workspace.path(name));
        let [first, second, third] = if dataset.is_dir() {
            [1, 2, 3]
        } else {
            [0, 1, 2]
        }
        .map(|at: usize| &paths[at]);
        println!("{fixture}");
        convert(&workspace, dataset, first);
        // The first conversion may only change what a writer computes: tables of older tools are
        // corrected.
        expect_ok(workspace.python(
            "check.py",
            [
                "same".as_ref(),
                "--values".as_ref(),
                dataset.as_os_str(),
                first.as_os_str(),
            ],
        ));
        convert(&workspace, first, second);
        expect_same(&workspace, first, second);
        convert(&workspace, second, third);
        expect_same(&workspace, first, third);
    });
}

#[test]
fn nothing_half_written_is_left_and_nothing_is_overwritten_silently() {
    let workspace = Workspace::new();
    nested_scenes(&workspace, 3);
    let dataset = create(&workspace, "first.tacozip", "zip");
    let before = fs::read(&dataset).expect("the dataset");
    let other = workspace.write("other.tacozip", "something of the user's");
    let ran = workspace
        .studio(["convert".as_ref(), dataset.as_os_str(), other.as_os_str()])
        .expect_no_panic();
    assert_eq!(
        ran.code(),
        2,
        "an existing file needs to be asked about: {ran}"
    );
    assert_eq!(
        fs::read(&other).expect("the file"),
        b"something of the user's"
    );

    // A missing source is named, and nothing is left behind.
    fs::create_dir(workspace.path("out")).expect("a folder");
    let folder = workspace.path("folder");
    convert(&workspace, &dataset, &folder);
    fs::remove_file(folder.join("DATA/scene_9/after.tif")).expect("a file of the dataset");
    let target = workspace.path("out/again.tacozip");
    let ran = workspace
        .studio(["convert".as_ref(), folder.as_os_str(), target.as_os_str()])
        .expect_no_panic();
    assert_eq!(ran.code(), 2, "{ran}");
    assert!(
        ran.stderr.contains("scene_9") && ran.stderr.contains("after.tif"),
        "the lost sample is not named: {ran}"
    );
    assert_eq!(
        crate::support::entries(&workspace.path("out")),
        Vec::<std::path::PathBuf>::new(),
        "something was left behind"
    );
    assert_eq!(fs::read(&dataset).expect("the dataset"), before);
}

#[test]
fn what_the_request_alone_decides_is_refused_before_the_dataset_is_read() {
    let workspace = Workspace::new();
    nested_scenes(&workspace, 3);
    let dataset = create(&workspace, "first.tacozip", "zip");
    // Reading it is an error of its own.
    let bytes = fs::read(&dataset).expect("the dataset");
    fs::write(&dataset, &bytes[..bytes.len() / 2]).expect("written");
    workspace.write("other.tacozip", "something of the user's");
    let to_existing = ["-o", "other.tacozip"];
    for (verb, more, reason) in [
        ("convert", &["other.tacozip"][..], "the output exists"),
        ("repair", &to_existing, "the output exists"),
        ("export", &to_existing, "the output exists"),
        (
            "extend",
            &["-o", "other.tacozip", "--with", "stac"],
            "the output exists",
        ),
        (
            "extend",
            &["-o", "new.tacozip", "--with", "stack"],
            "no extension stack",
        ),
        ("extend", &["-o", "new.tacozip", "--with", "split"], "split"),
    ] {
        let ran = workspace.studio([&[verb, "first.tacozip"], more].concat());
        let ran = ran.expect_code(2);
        assert!(ran.stderr.contains(reason), "{verb}: {ran}");
    }
    let ran = workspace.studio(["create", "first", "-o", "other.tacozip"]);
    let ran = ran.expect_code(2);
    assert!(ran.stderr.contains("the output exists"), "{ran}");
}

#[test]
fn datasets_of_each_generation_are_sources_of_create() {
    let workspace = Workspace::new();
    nested_scenes(&workspace, 4);
    let first = create(&workspace, "first.tacozip", "zip");
    let folder = workspace.path("folder");
    convert(&workspace, &first, &folder);
    for (source, out) in [(&first, "of_zip.tacozip"), (&folder, "of_folder.tacozip")] {
        // The collection is that of the dataset.
        workspace
            .studio([
                "create".as_ref(),
                source.as_os_str(),
                "-o".as_ref(),
                out.as_ref(),
            ])
            .expect_code(0);
        expect_same(&workspace, &first, &workspace.path(out));
    }
    workspace
        .studio([
            "create",
            "scenes",
            "-o",
            "old.tortilla",
            "--metadata",
            "metadata.csv",
        ])
        .expect_code(0);
    let bare = workspace
        .studio(["create", "old.tortilla", "-o", "none.tacozip"])
        .expect_code(2);
    assert!(
        !workspace.path("none.tacozip").exists(),
        "a TORTILLA has no collection: {bare}"
    );
    let new = [
        "create",
        "old.tortilla",
        "-o",
        "new.tacozip",
        "--collection",
        "collection.json",
        "--exclude",
        "scene_9",
    ];
    workspace.studio(new).expect_code(0);
    workspace
        .studio(["validate", "new.tacozip", "--deep"])
        .expect_code(0);
    let table = workspace
        .studio(["read", "new.tacozip", "--format", "csv"])
        .expect_code(0)
        .stdout;
    assert!(
        table.contains("region") && table.contains("scene_8") && !table.contains("scene_9"),
        "{table}"
    );
    for part in ["before.tif", "label.tif"] {
        workspace
            .studio([
                "read",
                "new.tacozip",
                &format!("scene_10/{part}"),
                "-o",
                part,
            ])
            .expect_code(0);
        let source = workspace.path(&format!("scenes/scene_10/{part}"));
        assert_eq!(
            fs::read(workspace.path(part)).expect("written"),
            fs::read(source).expect("there")
        );
    }
    workspace
        .studio([
            "create",
            "first.tacozip",
            "-o",
            "x.tacozip",
            "--layout",
            "auto",
        ])
        .expect_code(2);
}
