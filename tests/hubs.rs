//! Repositories of Hugging Face, served from this machine: its addresses open datasets, and a
//! repository shows the datasets in it.

use std::path::Path;

use serde_json::json;

use crate::support::{
    COLLECTION, Habit, Ran, Server, Workspace, copy_folder, files_below, fixtures,
};

/// A repository with these files and folders, each a copy of a golden dataset.
struct Hub {
    workspace: Workspace,
    server: Server,
}

impl Hub {
    fn of(sets: &[(&str, &str)], others: &[&str]) -> Self {
        let workspace = Workspace::new();
        let golden = fixtures("golden", "TACO_STUDIO_GOLDEN");
        let golden = golden
            .first()
            .and_then(|set| set.parent())
            .expect("golden sets");
        let root = workspace.path("hub/datasets/taco/set/resolve/main");
        for (name, set) in sets {
            let (from, to) = (golden.join(set), root.join(name));
            std::fs::create_dir_all(to.parent().expect("a folder")).expect("a folder");
            if from.is_dir() {
                copy_folder(&from, &to);
            } else {
                std::fs::copy(&from, &to).expect("a copy");
            }
        }
        for name in others {
            workspace.write(
                &format!("hub/datasets/taco/set/resolve/main/{name}"),
                "text",
            );
        }
        let siblings: Vec<_> = files_below(&root)
            .iter()
            .map(|name| json!({ "rfilename": name }))
            .collect();
        let list = json!({ "id": "taco/set", "siblings": siblings }).to_string();
        workspace.write("hub/api/datasets/taco/set/revision/main", list);
        let server = Server::of(&workspace.path("hub"));
        Self { workspace, server }
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        self.workspace.studio_with(
            &[("HF_ENDPOINT", self.server.url("").trim_end_matches('/'))],
            arguments,
        )
    }
}

const FLAT: (&str, &str) = ("data/flat.tacozip", "01_flat_zip/flat.tacozip");
const FOLDER: (&str, &str) = ("change", "04_nested2_folder/change");

#[test]
fn a_file_of_a_repository_opens_by_the_addresses_of_the_hub() {
    let hub = Hub::of(&[FLAT, FOLDER], &[]);
    let local = hub.run(&[
        "query",
        &hub.workspace
            .path("hub/datasets/taco/set/resolve/main/data/flat.tacozip")
            .display()
            .to_string(),
    ]);
    let rows = local.expect_code(0).stdout.lines().count();
    for address in [
        "hf://datasets/taco/set/data/flat.tacozip",
        "/vsihf/datasets/taco/set@main/data/flat.tacozip",
    ] {
        let ran = hub.run(&["query", address]).expect_code(0);
        assert_eq!(ran.stdout.lines().count(), rows, "{address}: {ran}");
    }
    let shown = hub
        .run(&["inspect", "hf://datasets/taco/set/change"])
        .expect_code(0);
    assert!(shown.stdout.contains("FOLDER"), "{shown}");
}

#[test]
fn a_repository_shows_its_datasets_and_opens_the_only_one() {
    let hub = Hub::of(&[FLAT, FOLDER], &["README.md", "plain.zip"]);
    let shown = hub
        .run(&["inspect", "hf://datasets/taco/set"])
        .expect_code(2);
    assert!(
        shown.stderr.contains("the repository holds 2 datasets"),
        "{shown}"
    );
    for name in ["resolve/main/change", "resolve/main/data/flat.tacozip"] {
        assert!(shown.stderr.contains(name), "{name}: {shown}");
    }
    assert!(!shown.stderr.contains("plain.zip"), "{shown}");
    // A folder of the repository has only its own.
    let only = hub
        .run(&["inspect", "hf://datasets/taco/set/data"])
        .expect_code(0);
    assert!(only.stdout.contains("flat.tacozip"), "{only}");

    let empty = Hub::of(&[], &["README.md"])
        .run(&["inspect", "hf://datasets/taco/set"])
        .expect_code(2);
    assert!(
        empty
            .stderr
            .contains("the repository holds no TACO dataset"),
        "{empty}"
    );
}

/// The list of a real hub comes in chunks without a length.
#[test]
fn a_list_without_a_length_is_read() {
    let hub = Hub::of(&[FLAT], &["README.md"]);
    hub.server.behave(Habit::Chunked);
    let only = hub
        .run(&["inspect", "hf://datasets/taco/set"])
        .expect_code(0);
    assert!(only.stdout.contains("flat.tacozip"), "{only}");
}

#[test]
fn a_repository_that_is_a_folder_dataset_opens() {
    let hub = Hub::of(&[("", "04_nested2_folder/change")], &["README.md"]);
    assert!(
        Path::new(
            &hub.workspace
                .path("hub/datasets/taco/set/resolve/main/COLLECTION.json")
        )
        .exists()
    );
    let shown = hub
        .run(&["inspect", "hf://datasets/taco/set"])
        .expect_code(0);
    assert!(shown.stdout.contains("FOLDER"), "{shown}");
}

#[test]
fn the_files_of_a_repository_become_a_dataset() {
    let names = [
        "scenes/a/x 1.bin",
        "scenes/a/y.bin",
        "scenes/b/x 1.bin",
        "scenes/b/y.bin",
    ];
    let hub = Hub::of(&[], &[&names[..], &["README.md"]].concat());
    hub.workspace.write("collection.json", COLLECTION);
    let arguments = [
        "create",
        "hf://datasets/taco/set/scenes",
        "-o",
        "out.tacozip",
        "--collection",
        "collection.json",
    ];
    hub.run(&arguments).expect_code(0);
    let ids = hub
        .run(&[
            "query",
            "out.tacozip",
            "--sql",
            "SELECT id FROM level1 ORDER BY id",
            "--format",
            "csv",
        ])
        .expect_code(0);
    assert_eq!(
        ids.stdout.lines().collect::<Vec<_>>(),
        ["id", "x 1.bin", "x 1.bin", "y.bin", "y.bin"]
    );
    hub.run(&["read", "out.tacozip", "b/x 1.bin", "-o", "x.bin"])
        .expect_code(0);
    assert_eq!(
        std::fs::read(hub.workspace.path("x.bin")).expect("reads"),
        b"text"
    );
}
