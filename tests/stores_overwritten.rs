//! Datasets of many objects that replace others in a store: the old one stays whole while what is
//! new is sent, readers never open a mixture, and indexes come after the parts that they refer to.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::support::{
    Emulator, FaultProxy, Ran, SentFault, StoreKind, Workspace, flat_scenes, nested_scenes,
    sha256_of,
};

/// A FOLDER of four nested scenes in a store behind a proxy.
struct Scene {
    store: Emulator,
    proxy: FaultProxy,
    workspace: Workspace,
    address: String,
}

impl Scene {
    fn new(kind: StoreKind) -> Option<Self> {
        let store = Emulator::start(kind)?;
        let proxy = FaultProxy::to(store.port());
        let workspace = Workspace::new();
        nested_scenes(&workspace, 4);
        let address = store.address("set");
        let scene = Self {
            store,
            proxy,
            workspace,
            address,
        };
        scene.create(&[]).expect_code(0);
        scene.proxy.heal();
        Some(scene)
    }

    fn arguments<'a>(&'a self, more: &[&'a str]) -> Vec<&'a str> {
        [
            "create",
            "scenes",
            "-o",
            &self.address,
            "--collection",
            "collection.json",
        ]
        .iter()
        .chain(more)
        .copied()
        .collect()
    }

    fn create(&self, more: &[&str]) -> Ran {
        self.store.studio_through(
            &self.workspace,
            self.proxy.port(),
            &[],
            self.arguments(more),
        )
    }

    /// The number of samples that a new reader finds in a valid dataset; `None` where there is no
    /// dataset.
    fn read(&self) -> Option<usize> {
        let run = |arguments: &[&str]| {
            self.store.studio_through(
                &self.workspace,
                self.store.port(),
                &[("TACO_STUDIO_CACHE_MB", "0")],
                arguments,
            )
        };
        let rows = run(&["query", &self.address, "--json"]);
        let ran = run(&["validate", &self.address, "--deep"]);
        if rows.code() != 0 || ran.code() == 2 {
            return None;
        }
        assert_eq!(ran.code(), 0, "a mixture: {ran}");
        Some(rows.stdout.lines().filter(|line| !line.is_empty()).count())
    }

    #[track_caller]
    fn expect_same_as_local(&self) {
        let mut arguments = self.arguments(&["--overwrite"]);
        arguments[3] = "local";
        self.workspace.studio(arguments).expect_code(0);
        let local = crate::support::files_below(&self.workspace.path("local"));
        let mut wanted: Vec<String> = local.iter().map(|name| format!("set/{name}")).collect();
        wanted.sort();
        assert_eq!(self.store.names(), wanted);
        for name in &local {
            let copy = self.workspace.path("downloaded");
            self.store.download(&format!("set/{name}"), &copy);
            assert_eq!(
                sha256_of(&copy),
                sha256_of(&self.workspace.path("local").join(name)),
                "{name}"
            );
            fs::remove_file(copy).expect("removes");
        }
    }

    /// Requests that change the store, in order.
    fn changes(&self) -> Vec<String> {
        let changing = |line: &String| {
            ["PUT ", "POST ", "DELETE "]
                .iter()
                .any(|method| line.starts_with(method))
        };
        self.proxy.asked().into_iter().filter(changing).collect()
    }
}

/// Positions of the requests that begin with `method` and have `part` in their target.
fn positions(lines: &[String], method: &str, part: &str) -> Vec<usize> {
    let is_one = |line: &str| line.starts_with(&format!("{method} ")) && line.contains(part);
    lines
        .iter()
        .enumerate()
        .filter(|(_, line)| is_one(line))
        .map(|(index, _)| index)
        .collect()
}

#[test]
fn readers_find_the_old_folder_while_new_samples_are_sent() {
    let Some(scene) = Scene::new(StoreKind::S3) else {
        return;
    };
    assert_eq!(scene.read(), Some(4));
    // One scene more, which is sent slowly, and one that goes.
    nested_scenes(&scene.workspace, 5);
    scene.workspace.write(
        "scenes/scene_12/before.tif",
        fs::read(scene.workspace.path("scenes/scene_8/before.tif")).expect("reads"),
    );
    fs::remove_dir_all(scene.workspace.path("scenes/scene_9")).expect("removes");
    let table = fs::read_to_string(scene.workspace.path("metadata.csv")).expect("reads");
    let table: String = table
        .lines()
        .filter(|line| !line.starts_with("scene_9,"))
        .map(|line| format!("{line}\n"))
        .collect();
    scene.workspace.write("metadata.csv", table);
    scene.proxy.fail(
        "PUT",
        "scene_12",
        SentFault::Slow(Duration::from_secs(4)),
        0,
        100,
    );
    let mut command = Command::new(env!("CARGO_BIN_EXE_taco-studio"));
    command
        .args(scene.arguments(&["--overwrite"]))
        .envs(scene.store.variables(scene.proxy.port()));
    let log = fs::File::create(scene.workspace.path("stderr.log")).expect("a log");
    let mut writer = scene
        .workspace
        .house(&mut command)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .expect("starts");
    let (mut during, mut found) = (0, Vec::new());
    while writer.try_wait().expect("its state").is_none() {
        let begun = !positions(&scene.changes(), "PUT", "scene_12").is_empty();
        let one = scene.read();
        let ended = !positions(&scene.changes(), "DELETE", "COLLECTION.json").is_empty();
        if begun && !ended {
            during += 1;
            assert_eq!(
                one,
                Some(4),
                "the old dataset is whole until the new samples have arrived"
            );
        }
        found.push(one);
    }
    let said = fs::read_to_string(scene.workspace.path("stderr.log")).expect("reads");
    assert!(writer.wait().expect("ends").success(), "{said}");
    assert!(
        during > 0 && found.iter().all(|one| matches!(one, None | Some(4))),
        "{found:?}"
    );
    assert_eq!(scene.read(), Some(4));
    scene.expect_same_as_local();
    // New samples, then nothing for as long as the tables are replaced, then the dataset; then what
    // is not needed goes.
    let changes = scene.changes();
    let new = positions(&changes, "PUT", "scene_12");
    let hidden = positions(&changes, "DELETE", "COLLECTION.json");
    let tables = positions(&changes, "PUT", "METADATA/");
    let whole = positions(&changes, "PUT", "COLLECTION.json");
    let removed = positions(&changes, "DELETE", "scene_9");
    assert_eq!(
        (new.len(), hidden.len(), whole.len(), removed.len()),
        (4, 1, 1, 4),
        "{changes:#?}"
    );
    assert!(new.iter().all(|at| *at < hidden[0]), "{changes:#?}");
    assert!(
        !tables.is_empty() && tables.iter().all(|at| hidden[0] < *at && *at < whole[0]),
        "{changes:#?}"
    );
    assert!(removed.iter().all(|at| whole[0] < *at), "{changes:#?}");
    // Samples that both have are not sent again.
    assert!(
        positions(&changes, "PUT", "scene_8").is_empty()
            && positions(&changes, "PUT", "scene_11").is_empty(),
        "{changes:#?}"
    );
}

fn an_overwrite_that_fails_leaves_the_old_folder(kind: StoreKind) {
    let Some(scene) = Scene::new(kind) else {
        return;
    };
    let before = scene.store.names();
    nested_scenes(&scene.workspace, 5);
    let way = if kind == StoreKind::Google {
        "POST"
    } else {
        "PUT"
    };
    scene.proxy.fail(
        way,
        "scene_12",
        SentFault::Status(403, "AccessDenied"),
        2,
        100,
    );
    let ran = scene.create(&["--overwrite"]).expect_code(2);
    assert!(!ran.stderr.contains("replaced in part"), "{ran}");
    assert_eq!(scene.read(), Some(4));
    assert_eq!(scene.store.names(), before, "what was new is removed again");
    // It fails while the tables are replaced: there is no dataset, and the same command makes it
    // whole.
    scene.proxy.heal();
    scene
        .proxy
        .fail(way, "level1", SentFault::Status(403, "AccessDenied"), 0, 1);
    let ran = scene.create(&["--overwrite"]).expect_code(2);
    assert!(ran.stderr.contains("the same command completes"), "{ran}");
    assert_eq!(scene.read(), None);
    scene.proxy.heal();
    scene.create(&["--overwrite"]).expect_code(0);
    assert!(
        positions(&scene.changes(), way, "scene_").is_empty(),
        "samples are not sent again: {:#?}",
        scene.changes()
    );
    assert_eq!(scene.read(), Some(5));
    scene.expect_same_as_local();
}

#[test]
fn an_overwrite_that_fails_leaves_the_old_folder_at_s3() {
    an_overwrite_that_fails_leaves_the_old_folder(StoreKind::S3);
}

#[test]
fn an_overwrite_that_fails_leaves_the_old_folder_at_azure() {
    an_overwrite_that_fails_leaves_the_old_folder(StoreKind::Azure);
}

#[test]
fn an_overwrite_that_fails_leaves_the_old_folder_at_google() {
    an_overwrite_that_fails_leaves_the_old_folder(StoreKind::Google);
}

#[test]
fn samples_with_other_bytes_are_replaced_only_while_the_folder_is_hidden() {
    let Some(scene) = Scene::new(StoreKind::S3) else {
        return;
    };
    // Samples of the same names with other bytes: a small one, and one that is streamed.
    let large = |seed: u32| {
        (0..(9u32 << 20) / 4)
            .flat_map(|number| (number ^ seed).wrapping_mul(2_654_435_761).to_le_bytes())
            .collect::<Vec<u8>>()
    };
    for scene_number in 8..12u32 {
        scene.workspace.write(
            &format!("scenes/scene_{scene_number}/more.bin"),
            large(scene_number),
        );
    }
    scene.create(&["--overwrite"]).expect_code(0);
    scene.proxy.heal();
    scene.workspace.write("scenes/scene_8/more.bin", large(1));
    fs::copy(
        scene.workspace.path("scenes/scene_9/label.tif"),
        scene.workspace.path("scenes/scene_8/label.tif"),
    )
    .expect("copies");
    scene.create(&["--overwrite"]).expect_code(0);
    let changes = scene.changes();
    let hidden = positions(&changes, "DELETE", "COLLECTION.json");
    assert_eq!(hidden.len(), 1, "{changes:#?}");
    let samples = positions(&changes, "PUT", "DATA/");
    assert!(samples.iter().all(|at| hidden[0] < *at), "{changes:#?}");
    let replaced = |name: &str| positions(&changes, "PUT", name).len();
    assert!(
        replaced("scene_8/more.bin") >= 2 && replaced("scene_8/label.tif") == 1,
        "{changes:#?}"
    );
    assert_eq!(
        (replaced("scene_9/more.bin"), replaced("before.tif")),
        (0, 0),
        "{changes:#?}"
    );
    scene.expect_same_as_local();
}

#[test]
fn a_new_description_alone_replaces_one_object() {
    let Some(scene) = Scene::new(StoreKind::S3) else {
        return;
    };
    let text = fs::read_to_string(scene.workspace.path("collection.json")).expect("reads");
    let mut collection: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    collection["description"] = "Another description.".into();
    scene
        .workspace
        .write("collection.json", collection.to_string());
    scene.create(&["--overwrite"]).expect_code(0);
    let changes = scene.changes();
    assert_eq!(changes.len(), 1, "{changes:#?}");
    assert!(
        changes[0].starts_with("PUT ") && changes[0].contains("COLLECTION.json"),
        "{changes:#?}"
    );
    scene.expect_same_as_local();
}

#[test]
fn indexes_are_written_after_their_parts_and_removed_before_parts_are_replaced() {
    let Some(store) = Emulator::start(StoreKind::S3) else {
        return;
    };
    let proxy = FaultProxy::to(store.port());
    let workspace = Workspace::new();
    flat_scenes(&workspace, 6);
    let address = store.address("parts/p.tacozip");
    let create = |more: &[&str]| {
        let fixed = [
            "create",
            "scenes",
            "-o",
            &address,
            "--collection",
            "collection.json",
            "--split-size",
            "7KB",
        ];
        let indexes = ["--consolidate", "tacocat,single-file,tacollection"];
        let all = fixed.iter().chain(&indexes).chain(more).copied();
        store
            .studio_through(&workspace, proxy.port(), &[], all)
            .expect_code(0);
        let changing = |line: &String| {
            ["PUT ", "POST ", "DELETE "]
                .iter()
                .any(|method| line.starts_with(method))
        };
        proxy
            .asked()
            .into_iter()
            .filter(changing)
            .collect::<Vec<String>>()
    };
    let is_index = |line: &str| {
        ["/.tacocat/", "/__TACOCAT__", "/TACOLLECTION.json"]
            .iter()
            .any(|name| line.contains(name))
    };
    let expect_order = |lines: &[String]| {
        let written: Vec<&String> = lines
            .iter()
            .filter(|line| line.starts_with("PUT "))
            .collect();
        let first = written
            .iter()
            .position(|line| is_index(line))
            .expect("an index");
        assert!(
            first > 1 && written[first..].iter().all(|line| is_index(line)),
            "{lines:#?}"
        );
        // Of an index of several objects, the one that readers open is the last.
        let tables = written
            .iter()
            .rposition(|line| line.contains("/.tacocat/level"))
            .expect("tables");
        let opened = written
            .iter()
            .position(|line| line.contains("/.tacocat/COLLECTION.json"))
            .expect("is opened");
        assert!(tables < opened, "{lines:#?}");
    };
    let lines = create(&[]);
    expect_order(&lines);
    proxy.heal();
    flat_scenes(&workspace, 7);
    let lines = create(&["--overwrite"]);
    expect_order(&lines);
    let first_part = lines
        .iter()
        .position(|line| line.starts_with("PUT ") && !is_index(line))
        .expect("a part");
    for name in [
        "/.tacocat/COLLECTION.json",
        "/__TACOCAT__",
        "/TACOLLECTION.json",
    ] {
        let removed = positions(&lines, "DELETE", name);
        assert!(
            removed.first().is_some_and(|at| *at < first_part),
            "{name}: {lines:#?}"
        );
    }
    store
        .studio(&workspace, ["validate", &store.address("parts/.tacocat")])
        .expect_code(0);
}
