//! Datasets written to object stores: the bytes are those of a local write, nothing is visible
//! before it is whole, and nothing is replaced unasked. The stores are emulators on this machine;
//! their objects are looked at without the program.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{
    Emulator, StoreKind, Workspace, fixtures, flat_scenes, nested_scenes, sha256_of,
};

fn golden(folder: &str, name: &str) -> PathBuf {
    let mut folders = fixtures("golden", "TACO_STUDIO_GOLDEN").into_iter();
    folders
        .find(|path| path.ends_with(folder))
        .unwrap_or_else(|| panic!("no {folder}"))
        .join(name)
}

/// The bytes of an object are those of a local file.
#[track_caller]
fn expect_same(store: &Emulator, workspace: &Workspace, name: &str, local: &Path) {
    let copy = workspace.path("downloaded");
    store.download(name, &copy);
    assert_eq!(sha256_of(&copy), sha256_of(local), "{name}");
    fs::remove_file(copy).expect("removes");
}

/// Adds a sample of `size` bytes that do not repeat within a part.
fn large_sample(workspace: &Workspace, name: &str, size: usize) {
    let bytes: Vec<u8> = (0..size / 4)
        .flat_map(|number| (number as u32).wrapping_mul(2_654_435_761).to_le_bytes())
        .collect();
    workspace.write(&format!("scenes/{name}"), bytes);
}

fn create(output: &str) -> Vec<&str> {
    vec![
        "create",
        "scenes",
        "-o",
        output,
        "--collection",
        "collection.json",
    ]
}

fn archives_are_written_streamed(kind: StoreKind) {
    let Some(store) = Emulator::start(kind) else {
        return;
    };
    let workspace = Workspace::new();
    flat_scenes(&workspace, 3);
    // Three parts of the upload, and samples that are streamed beside those that are not.
    large_sample(&workspace, "large_1.bin", 9 << 20);
    large_sample(&workspace, "large_2.bin", (8 << 20) + 5 * 4);
    workspace.studio(create("local.tacozip")).expect_code(0);
    let address = store.address("sets/ñ one.tacozip");
    let built = store
        .studio(&workspace, create(&address).into_iter().chain(["--json"]))
        .expect_code(0)
        .json();
    assert_eq!(built["path"], address.as_str());
    expect_same(
        &store,
        &workspace,
        "sets/ñ one.tacozip",
        &workspace.path("local.tacozip"),
    );
    assert_eq!(
        (store.names(), store.open_uploads()),
        (vec!["sets/ñ one.tacozip".to_owned()], 0)
    );
    // Read again by the program, by ranges.
    store
        .studio(&workspace, ["validate", &address, "--deep"])
        .expect_code(0);
    // Small: one request.
    let small = store.address("small.tacozip");
    let source = golden("01_flat_zip", "flat.tacozip");
    workspace
        .studio([
            "convert".as_ref(),
            source.as_os_str(),
            "small.tacozip".as_ref(),
        ])
        .expect_code(0);
    store
        .studio(
            &workspace,
            ["convert".as_ref(), source.as_os_str(), small.as_ref()],
        )
        .expect_code(0);
    expect_same(
        &store,
        &workspace,
        "small.tacozip",
        &workspace.path("small.tacozip"),
    );
    // From the store to the store.
    let copied = store.address("copied.tacozip");
    store
        .studio(&workspace, ["convert", &address, &copied])
        .expect_code(0);
    workspace
        .studio(["convert", "local.tacozip", "again.tacozip"])
        .expect_code(0);
    expect_same(
        &store,
        &workspace,
        "copied.tacozip",
        &workspace.path("again.tacozip"),
    );
}

#[test]
fn archives_are_written_to_s3_streamed() {
    archives_are_written_streamed(StoreKind::S3);
}

#[test]
fn archives_are_written_to_google_streamed() {
    archives_are_written_streamed(StoreKind::Google);
}

#[test]
fn archives_are_written_to_azure_streamed() {
    archives_are_written_streamed(StoreKind::Azure);
}

fn nothing_is_replaced_unasked(kind: StoreKind) {
    let Some(store) = Emulator::start(kind) else {
        return;
    };
    let workspace = Workspace::new();
    flat_scenes(&workspace, 2);
    let precious = workspace.write("precious", b"precious");
    store.upload("set.tacozip", &precious);
    let address = store.address("set.tacozip");
    let ran = store.studio(&workspace, create(&address)).expect_code(2);
    assert!(
        ran.stderr.contains("exists already") && ran.stderr.contains("--overwrite"),
        "{ran}"
    );
    expect_same(&store, &workspace, "set.tacozip", &precious);
    store
        .studio(
            &workspace,
            create(&address).into_iter().chain(["--overwrite"]),
        )
        .expect_code(0);
    workspace.studio(create("local.tacozip")).expect_code(0);
    expect_same(
        &store,
        &workspace,
        "set.tacozip",
        &workspace.path("local.tacozip"),
    );
}

#[test]
fn objects_of_s3_are_not_replaced_unasked() {
    nothing_is_replaced_unasked(StoreKind::S3);
}

#[test]
fn objects_of_google_are_not_replaced_unasked() {
    nothing_is_replaced_unasked(StoreKind::Google);
}

#[test]
fn objects_of_azure_are_not_replaced_unasked() {
    nothing_is_replaced_unasked(StoreKind::Azure);
}

fn folders_and_indexes_are_written(kind: StoreKind) {
    let Some(store) = Emulator::start(kind) else {
        return;
    };
    let workspace = Workspace::new();
    nested_scenes(&workspace, 4);
    large_sample(&workspace, "scene_8/more.bin", 9 << 20);
    for scene in 9..12 {
        large_sample(&workspace, &format!("scene_{scene}/more.bin"), 100);
    }
    workspace.studio(create("local")).expect_code(0);
    let address = store.address("set");
    store.studio(&workspace, create(&address)).expect_code(0);
    let local = crate::support::files_below(&workspace.path("local"));
    let mut wanted: Vec<String> = local.iter().map(|name| format!("set/{name}")).collect();
    wanted.sort();
    assert_eq!(store.names(), wanted);
    for name in &local {
        expect_same(
            &store,
            &workspace,
            &format!("set/{name}"),
            &workspace.path("local").join(name),
        );
    }
    store
        .studio(&workspace, ["validate", &address])
        .expect_code(0);
    let ran = store.studio(&workspace, create(&address)).expect_code(2);
    assert!(ran.stderr.contains("exists already"), "{ran}");
    let ran = store
        .studio(&workspace, ["convert", &address, &address, "--overwrite"])
        .expect_code(2);
    assert!(ran.stderr.contains("read from the folder"), "{ran}");
    assert_eq!(store.names(), wanted);
    // Replaced by a dataset with fewer objects: what is left of the old one goes.
    fs::remove_dir_all(workspace.path("scenes/scene_11")).expect("removes");
    store
        .studio(
            &workspace,
            create(&address).into_iter().chain(["--overwrite"]),
        )
        .expect_code(0);
    assert!(
        store.names().iter().all(|name| !name.contains("scene_11")),
        "{:?}",
        store.names()
    );
    // Parts and their indexes.
    let parts = store.address("parts/p.tacozip");
    let split = [
        "--split-size",
        "10KB",
        "--consolidate",
        "tacocat,single-file,tacollection",
    ];
    store
        .studio(&workspace, create(&parts).into_iter().chain(split))
        .expect_code(0);
    workspace
        .studio(create("here/p.tacozip").into_iter().chain(split))
        .expect_code(0);
    let local = crate::support::files_below(&workspace.path("here"));
    assert!(local.len() > 6, "{local:?}");
    for name in &local {
        expect_same(
            &store,
            &workspace,
            &format!("parts/{name}"),
            &workspace.path("here").join(name),
        );
    }
    store
        .studio(&workspace, ["validate", &store.address("parts/.tacocat")])
        .expect_code(0);
    // Indexes over parts that are there already.
    let paths: Vec<String> = local
        .iter()
        .filter(|name| name.ends_with(".tacozip"))
        .map(|name| store.address(&format!("parts/{name}")))
        .collect();
    let index = |verb: &str, more: &[&str], name: &str| {
        let inputs = paths.iter().map(String::as_str);
        let all = std::iter::once(verb)
            .chain(inputs)
            .chain(more.iter().copied());
        let ran = store.studio(&workspace, all.clone()).expect_code(2);
        assert!(ran.stderr.contains("exists already"), "{ran}");
        let ran = store
            .studio(&workspace, all.chain(["--overwrite"]))
            .expect_code(0);
        assert!(!ran.stderr.contains("are not in"), "{ran}");
        expect_same(
            &store,
            &workspace,
            &format!("parts/{name}"),
            &workspace.path("here").join(name),
        );
    };
    let folder = store.address("parts");
    index("tacocat", &["-o", &folder, "--single-file"], "__TACOCAT__");
    index("tacocat", &["-o", &folder], ".tacocat/level0.parquet");
    index(
        "tacollection",
        &["-o", &format!("{folder}/")],
        "TACOLLECTION.json",
    );
}

#[test]
fn the_official_reader_opens_what_was_written_by_its_url() {
    for kind in [StoreKind::S3, StoreKind::Google] {
        let Some(store) = Emulator::start(kind) else {
            continue;
        };
        let workspace = Workspace::new();
        nested_scenes(&workspace, 5);
        for scene in 8..13 {
            large_sample(
                &workspace,
                &format!("scene_{scene}/more.bin"),
                (9 << 20) + 4 * scene,
            );
        }
        let url = |name: &str| format!("http://127.0.0.1:{}/data/{name}", store.port());
        let sources = workspace.path("scenes");
        let opened = |name: &str| {
            let arguments = [url(name).into(), sources.as_os_str().to_owned()];
            super::interop::expect_ok(workspace.python("remote_reader.py", arguments));
        };
        store
            .studio(&workspace, create(&store.address("set.tacozip")))
            .expect_code(0);
        opened("set.tacozip");
        let split = ["--split-size", "15MB", "--consolidate", "tacocat"];
        store
            .studio(
                &workspace,
                create(&store.address("parts/p.tacozip"))
                    .into_iter()
                    .chain(split),
            )
            .expect_code(0);
        opened("parts/.tacocat");
        if kind == StoreKind::S3 {
            store
                .studio(&workspace, create(&store.address("folder")))
                .expect_code(0);
            opened("folder");
        }
    }
}

#[test]
fn other_verbs_write_to_stores() {
    let Some(store) = Emulator::start(StoreKind::S3) else {
        return;
    };
    let workspace = Workspace::new();
    let flat = golden("01_flat_zip", "flat.tacozip");
    let flat = flat.to_str().expect("a path");
    let both = |name: &str, arguments: &[&str]| {
        let local = workspace.path(name);
        let at = |output: &str| {
            arguments
                .iter()
                .map(|text| {
                    if *text == "OUT" {
                        output.to_owned()
                    } else {
                        (*text).to_owned()
                    }
                })
                .collect::<Vec<_>>()
        };
        workspace
            .studio_with(
                &[("SOURCE_DATE_EPOCH", "1700000000")],
                at(local.to_str().expect("a path")),
            )
            .expect_code(0);
        let ran = store.studio_through(
            &workspace,
            store.port(),
            &[("SOURCE_DATE_EPOCH", "1700000000")],
            at(&store.address(name)),
        );
        ran.expect_code(0);
        expect_same(&store, &workspace, name, &local);
    };
    both(
        "part.tacozip",
        &["export", flat, "-o", "OUT", "--limit", "2"],
    );
    workspace
        .studio(["export", flat, "-o", "other.tacozip", "--limit", "3"])
        .expect_code(0);
    both(
        "sum.tacozip",
        &["concat", flat, "other.tacozip", "-o", "OUT", "--prefix-ids"],
    );
    both(
        "rows.csv",
        &[
            "query",
            flat,
            "--csv",
            "--sql",
            "SELECT id FROM data",
            "--output",
            "OUT",
        ],
    );
    let old = golden("42_v1_nested", "nested.tortilla");
    both(
        "moved.tacozip",
        &["migrate", old.to_str().expect("a path"), "-o", "OUT"],
    );
    both(
        "joined.tacozip",
        &["convert", flat, "OUT", "--compression", "gzip"],
    );
    both(
        "page.md",
        &["describe", flat, "--as", "markdown", "-o", "OUT"],
    );
}

#[test]
fn a_plan_is_built_in_a_store() {
    let Some(store) = Emulator::start(StoreKind::S3) else {
        return;
    };
    let workspace = Workspace::new();
    flat_scenes(&workspace, 6);
    let split = ["--split-size", "7KB"];
    let consolidate = ["--consolidate", "tacocat,tacollection"];
    workspace
        .studio(
            create("here/set.tacozip")
                .into_iter()
                .chain(split)
                .chain(consolidate),
        )
        .expect_code(0);
    let dataset = store.address("plans/set.tacozip");
    let fixed = [
        "plan",
        "scenes",
        "-o",
        "plan",
        "--dataset",
        &dataset,
        "--collection",
        "collection.json",
    ];
    let made = store
        .studio(&workspace, fixed.into_iter().chain(split).chain(["--json"]))
        .expect_code(0)
        .json();
    let parts = made["parts"].as_array().expect("parts").len();
    assert!(parts > 1, "{made}");
    for part in (1..=parts).rev() {
        store
            .studio(
                &workspace,
                ["plan", "run", "plan", "--part", &part.to_string()],
            )
            .expect_code(0);
    }
    let again = store
        .studio(&workspace, ["plan", "run", "plan", "--part", "1", "--json"])
        .expect_code(0);
    assert!(again.stdout.contains("\"skipped\":true"), "{again}");
    store
        .studio(&workspace, ["plan", "finish", "plan", "--hashes"])
        .expect_code(0);
    let local = crate::support::files_below(&workspace.path("here"));
    let mut wanted: Vec<String> = local.iter().map(|name| format!("plans/{name}")).collect();
    wanted.sort();
    assert_eq!(store.names(), wanted);
    for name in &local {
        expect_same(
            &store,
            &workspace,
            &format!("plans/{name}"),
            &workspace.path("here").join(name),
        );
    }
}

#[test]
fn folders_and_indexes_are_written_to_s3() {
    folders_and_indexes_are_written(StoreKind::S3);
}

#[test]
fn folders_and_indexes_are_written_to_google() {
    folders_and_indexes_are_written(StoreKind::Google);
}

#[test]
fn folders_and_indexes_are_written_to_azure() {
    folders_and_indexes_are_written(StoreKind::Azure);
}
