//! Publication: each check by a dataset that breaks it and one that passes; what is sent, made and
//! opened again, in folders and in object stores; a version that was published is not published
//! again; no secret is in a file.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::{
    Emulator, FaultProxy, StoreKind, Workspace, files_below, flat_scenes, geotiff, sha256_of,
};

const DESCRIPTION: &str = "Scenes made for the tests of publications: bands of bytes over \
    Slovenia, in 32 by 32 pixels of 10 m.";

/// A dataset `good.tacozip` that passes every check, of `scenes/tile_N.tif`.
fn good(workspace: &Workspace) {
    flat_scenes(workspace, 6);
    let collection = json!({
        "id": "test-scenes", "dataset_version": "1.0.0", "description": DESCRIPTION, "licenses": [
            "CC-BY-4.0",
        ],
        "providers": [{
            "name": "Survey of Tests",
            "roles": ["producer"],
        }], "tasks": ["regression"], "title": "Test scenes",
        "keywords": ["test", "scenes"],
    });
    workspace.write("collection.json", collection.to_string());
    workspace
        .studio([
            "create",
            "scenes",
            "-o",
            "plain.tacozip",
            "--collection",
            "collection.json",
        ])
        .expect_code(0);
    let options = r#"{"stac": {"time_start": "2023-05-17", "time_end": "2023-05-18"}}"#;
    workspace
        .studio([
            "extend",
            "plain.tacozip",
            "-o",
            "good.tacozip",
            "--with",
            "stac,stats",
            "--options",
            options,
        ])
        .expect_code(0);
}

/// The checks of `publish --dry-run --json`, by their names.
#[track_caller]
fn checks(workspace: &Workspace, arguments: &[&str], variables: &[(&str, &str)]) -> Value {
    let ran = workspace.studio_with(
        variables,
        ["publish", "--dry-run", "--json"].iter().chain(arguments),
    );
    let found = ran.json();
    let checks = found["checks"].as_array().expect("checks");
    let blocks = checks.iter().any(|check| check["level"] == "blocks");
    assert_eq!(ran.code(), i32::from(blocks), "{ran}");
    checks
        .iter()
        .map(|check| {
            (
                check["kind"].as_str().expect("a kind").to_owned(),
                check.clone(),
            )
        })
        .collect::<serde_json::Map<_, _>>()
        .into()
}

/// A copy of `good.tacozip` changed by `edit`.
fn edited(workspace: &Workspace, name: &str, arguments: &[&str]) -> String {
    let name = format!("{name}.tacozip");
    workspace
        .studio(
            ["edit", "good.tacozip", "-o", &name, "--overwrite"]
                .iter()
                .chain(arguments),
        )
        .expect_code(0);
    name
}

/// A copy with a column of texts, `values` of which are the first ones.
fn with_column(workspace: &Workspace, name: &str, column: &str, values: &[&str]) -> String {
    let mut table = format!("path,{column}\n");
    for scene in 0..6 {
        table += &format!(
            "tile_{scene}.tif,\"{}\"\n",
            values.get(scene).unwrap_or(&"plain")
        );
    }
    workspace.write("column.csv", table);
    edited(workspace, name, &["--metadata", "column.csv"])
}

#[test]
fn a_good_dataset_passes_every_check() {
    let workspace = Workspace::new();
    good(&workspace);
    let found = checks(&workspace, &["good.tacozip", "out"], &[("USER", "jdoe")]);
    let levels: Vec<(&String, &Value)> = found
        .as_object()
        .expect("checks")
        .iter()
        .map(|(kind, check)| (kind, &check["level"]))
        .collect();
    assert_eq!(levels.len(), 21);
    // Today's tools write no further columns of the specification.
    assert!(
        levels
            .iter()
            .all(|(kind, level)| **level == "pass" || *kind == "spec-rules"),
        "{found:#}"
    );
    assert!(!workspace.path("out").exists(), "a dry run writes nothing");
    let text = workspace
        .studio(["publish", "good.tacozip", "out", "--dry-run"])
        .expect_code(0)
        .stdout;
    assert!(
        text.contains("pass     tools-rules")
            && text.contains("good.tacozip")
            && text.contains("a month about $0.00"),
        "{text}"
    );
}

#[test]
fn each_check_of_the_collection_finds_what_is_wrong() {
    let workspace = Workspace::new();
    good(&workspace);
    let long = "x".repeat(20_001);
    let long = format!("description={long}");
    let cases: [(&str, &str, &str); 9] = [
        ("licence", "licenses=[\"LicenseRef-unknown\"]", "blocks"),
        ("licence", "licenses=[\"Our own licence\"]", "warning"),
        ("providers", "providers=[{\"name\": \"tbd\"}]", "blocks"),
        ("description", "description=TBD", "blocks"),
        ("description", "description=Scenes.", "warning"),
        ("description", &long, "warning"),
        (
            "paths",
            "rai:source=copied from /home/u017/acquired",
            "blocks",
        ),
        (
            "credentials",
            "rai:source=https://host/a.tif?X-Amz-Signature=0123456789abcdef",
            "blocks",
        ),
        ("emails", "rai:source=ask ana@example.org", "warning"),
    ];
    for (kind, set, level) in cases {
        let name = edited(&workspace, "broken", &["--set", set]);
        let found = checks(&workspace, &[&name, "out"], &[]);
        assert_eq!(found[kind]["level"], level, "{set}: {:#}", found[kind]);
        assert!(
            found[kind]["mend"]["field"].is_string(),
            "{set}: {:#}",
            found[kind]
        );
        assert!(
            !found.to_string().contains("0123456789abcdef"),
            "a report quotes no secret"
        );
        if level == "blocks" {
            let found = checks(&workspace, &[&name, "out", "--accept", kind], &[]);
            assert_eq!(
                (&found[kind]["level"], &found[kind]["accepted"]),
                (&json!("warning"), &json!(true)),
                "{set}"
            );
        }
    }
    let error = workspace
        .studio([
            "publish",
            "good.tacozip",
            "out",
            "--dry-run",
            "--accept",
            "tools-rules",
        ])
        .expect_code(2)
        .stderr;
    assert!(
        error.contains("tools-rules"),
        "rules are not accepted: {error}"
    );
    // Contacts may have an address.
    let name = edited(
        &workspace,
        "contact",
        &[
            "--set",
            r#"providers=[{"name": "Ana", "email": "ana@example.org"}]"#,
        ],
    );
    assert_eq!(
        checks(&workspace, &[&name, "out"], &[])["emails"]["level"],
        "pass"
    );
    // No place, no statistics and no times.
    let plain = checks(&workspace, &["plain.tacozip", "out"], &[]);
    assert_eq!(
        (&plain["extent"]["level"], &plain["statistics"]["level"]),
        (&json!("warning"), &json!("warning")),
        "{plain:#}"
    );
}

#[test]
fn each_check_of_the_columns_finds_what_is_wrong() {
    let workspace = Workspace::new();
    good(&workspace);
    let cases: [(&str, &str, &str, &str); 7] = [
        (
            "paths",
            "source_path",
            "/home/u017/acquired/roi_0001",
            "blocks",
        ),
        ("paths", "source_path", "C:\\Users\\ana\\a.tif", "blocks"),
        ("user-names", "annotator", "labelled by jdoe", "blocks"),
        (
            "credentials",
            "link",
            "https://acc.blob.core.windows.net/c/a.tif?sv=2022&sig=abcdefabcdef",
            "blocks",
        ),
        (
            "credentials",
            "link",
            "s3 key AKIAIOSFODNN7EXAMPLE",
            "blocks",
        ),
        (
            "private-links",
            "link",
            "http://192.168.1.7:8000/a.tif",
            "warning",
        ),
        ("emails", "annotator", "ana@example.org", "warning"),
    ];
    for (kind, column, value, level) in cases {
        let name = with_column(&workspace, "broken", column, &[value, value]);
        let found = checks(&workspace, &[&name, "out"], &[("USER", "jdoe")]);
        assert_eq!(found[kind]["level"], level, "{value}: {:#}", found[kind]);
        assert_eq!(
            found[kind]["mend"]["column"],
            json!({ "level": 0, "name": column }),
            "{:#}",
            found[kind]
        );
        assert!(
            found[kind]["places"][0]
                .as_str()
                .expect("a place")
                .starts_with(&format!("level0 {column}: 2 values")),
            "{:#}",
            found[kind]
        );
        // A column of a table has no description.
        assert_eq!(
            found["columns"]["level"], "warning",
            "{:#}",
            found["columns"]
        );
        if kind == "credentials" {
            assert!(
                !found.to_string().contains("abcdefabcdef")
                    && !found.to_string().contains("AKIAIOSFODNN7EXAMPLE")
            );
        }
    }
    let plain = with_column(
        &workspace,
        "plain_links",
        "link",
        &["https://example.org/scenes/a.tif?version=2", "DATA/a.tif"],
    );
    let found = checks(&workspace, &[&plain, "out"], &[("USER", "jdoe")]);
    for kind in [
        "paths",
        "user-names",
        "credentials",
        "private-links",
        "emails",
    ] {
        assert_eq!(found[kind]["level"], "pass", "{:#}", found[kind]);
    }
}

#[test]
fn classes_are_told_and_missing_ones_noticed() {
    let workspace = Workspace::new();
    good(&workspace);
    let classified = ["--set", "tasks=[\"classification\"]"];
    let labelled = with_column(&workspace, "labelled", "label", &["water", "water", "land"]);
    let found = checks(&workspace, &[&labelled, "out"], &[]);
    assert_eq!(found["classes"]["level"], "pass");
    let shares: Vec<&str> = found["classes"]["places"]
        .as_array()
        .expect("shares")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    assert_eq!(
        shares,
        ["plain: 3 (50.0 %)", "water: 2 (33.3 %)", "land: 1 (16.7 %)"]
    );
    workspace
        .studio(["edit", "plain.tacozip"].iter().chain(&classified))
        .expect_code(0);
    assert_eq!(
        checks(&workspace, &["plain.tacozip", "out"], &[])["classes"]["level"],
        "warning"
    );
}

#[test]
fn leaks_between_parts_of_a_split_are_found() {
    let workspace = Workspace::new();
    good(&workspace);
    // One on each part, far apart.
    let split = with_column(
        &workspace,
        "split",
        "split",
        &["train", "train", "train", "test", "test", "test"],
    );
    let found = checks(&workspace, &[&split, "out"], &[]);
    assert_eq!(
        found["leakage"]["figure"], "test 3, train 3",
        "{:#}",
        found["leakage"]
    );
    assert_eq!(found["leakage"]["level"], "pass", "{:#}", found["leakage"]);
    // The same tile twice.
    geotiff(&workspace.path("scenes/tile_5.tif"), 3, 32, 0);
    workspace
        .studio([
            "create",
            "scenes",
            "-o",
            "same.tacozip",
            "--collection",
            "collection.json",
        ])
        .expect_code(0);
    workspace
        .studio([
            "extend",
            "same.tacozip",
            "-o",
            "good.tacozip",
            "--overwrite",
            "--with",
            "stac,content_hash",
        ])
        .expect_code(0);
    let split = with_column(
        &workspace,
        "split",
        "split",
        &["train", "train", "train", "test", "test", "test"],
    );
    let found = checks(&workspace, &[&split, "out"], &[]);
    assert_eq!(
        found["leakage"]["level"], "blocks",
        "{:#}",
        found["leakage"]
    );
    assert!(
        found["leakage"]["places"]
            .to_string()
            .contains("same bytes"),
        "{:#}",
        found["leakage"]
    );
}

#[test]
fn rules_names_sizes_and_costs_are_checked() {
    let workspace = Workspace::new();
    good(&workspace);
    let broken = crate::support::fixtures("broken", "TACO_STUDIO_BROKEN");
    let zip = broken
        .iter()
        .flat_map(|folder| crate::support::entries(folder))
        .find(|path| {
            let valid = workspace.studio([
                "validate".as_ref(),
                path.as_os_str(),
                "--format".as_ref(),
                "json".as_ref(),
            ]);
            path.extension().is_some_and(|ending| ending == "tacozip")
                && valid.code() == 1
                && !valid.stdout.contains("FMT-1")
        });
    let zip = zip.expect("a broken archive");
    let found = checks(&workspace, &[zip.to_str().expect("a path"), "out"], &[]);
    assert_eq!(
        found["tools-rules"]["level"], "blocks",
        "{:#}",
        found["tools-rules"]
    );
    // Parts whose numbers have no leading zeros.
    for part in [1, 2, 10] {
        let (name, wanted) = (
            format!("parts/p_{part}.tacozip"),
            format!("tile_{}.tif", part % 6),
        );
        workspace
            .studio(["export", "good.tacozip", "-o", &name, "--ids", &wanted])
            .expect_code(0);
    }
    let parts = [
        "parts/p_1.tacozip",
        "parts/p_2.tacozip",
        "parts/p_10.tacozip",
    ];
    workspace
        .studio(["tacocat"].iter().chain(&parts).chain(&["-o", "parts"]))
        .expect_code(0);
    let found = checks(&workspace, &["parts/.tacocat", "out"], &[]);
    assert_eq!(found["names"]["level"], "warning", "{:#}", found["names"]);
    // Zenodo takes no folder, and 100 files.
    workspace
        .studio(["convert", "good.tacozip", "folder"])
        .expect_code(0);
    let many = workspace.path("folder/DATA");
    assert!(many.is_dir());
    // Prices of the user.
    workspace.write(
        "prices.json",
        r#"{"storage_gb_month": 1000000, "limit_month": 1}"#,
    );
    let found = checks(
        &workspace,
        &["good.tacozip", "out", "--cost-table", "prices.json"],
        &[],
    );
    assert_eq!(found["cost"]["level"], "warning", "{:#}", found["cost"]);
    // Those of the window's settings count without a table, which replaces them.
    let settings = "home/.config/taco-studio/window.json";
    workspace.write(
        settings,
        r#"{"theme": "dark", "settings": {"publish_prices": {"storage_gb_month":
            1000000, "limit_month": 1}}}"#,
    );
    let found = checks(&workspace, &["good.tacozip", "out"], &[]);
    assert_eq!(found["cost"]["level"], "warning", "{:#}", found["cost"]);
    workspace.write("free.json", r#"{"storage_gb_month": 0}"#);
    let found = checks(
        &workspace,
        &["good.tacozip", "out", "--cost-table", "free.json"],
        &[],
    );
    assert_eq!(found["cost"]["level"], "pass", "{:#}", found["cost"]);
    workspace.write(
        settings,
        r#"{"settings": {"publish_prices": {"storage_gb_month": -1}}}"#,
    );
    let refused = workspace
        .studio(["publish", "good.tacozip", "out", "--dry-run"])
        .expect_code(2);
    assert!(refused.stderr.contains("window.json"), "{refused}");
    std::fs::remove_file(workspace.path(settings)).expect("the settings");
    workspace.write("prices.json", r#"{"storage": 1}"#);
    workspace
        .studio([
            "publish",
            "good.tacozip",
            "out",
            "--dry-run",
            "--cost-table",
            "prices.json",
        ])
        .expect_code(2);
    // What is no target.
    for target in ["https://example.org/set", "prices.json", "."] {
        let found = checks(&workspace, &["good.tacozip", target], &[]);
        assert_eq!(
            found["target"]["level"], "blocks",
            "{target}: {:#}",
            found["target"]
        );
    }
}

const DOCUMENTS: [&str; 6] = [
    "README.md",
    "croissant.json",
    "datacite.json",
    "index.html",
    "stac-collection.json",
    "stac-items.parquet",
];

#[test]
fn a_folder_gets_the_dataset_its_index_and_its_documents() {
    let workspace = Workspace::new();
    good(&workspace);
    let published = workspace
        .studio(["publish", "good.tacozip", "public/1.0.0", "--json"])
        .expect_code(0)
        .json();
    let mut wanted: Vec<String> = DOCUMENTS
        .iter()
        .map(|name| (*name).to_owned())
        .chain(["good.tacozip".to_owned()])
        .collect();
    wanted.sort();
    assert_eq!(files_below(&workspace.path("public/1.0.0")), wanted);
    assert_eq!(
        sha256_of(&workspace.path("public/1.0.0/good.tacozip")),
        sha256_of(&workspace.path("good.tacozip"))
    );
    assert_eq!(
        (
            &published["published"]["sent_files"],
            &published["published"]["opened"]["rows"]
        ),
        (&json!(7), &json!([6]))
    );
    assert_eq!(published["published"]["opened"]["compared"], 6);
    // Not twice.
    let ran = workspace
        .studio(["publish", "good.tacozip", "public/1.0.0"])
        .expect_code(1);
    assert!(
        ran.stdout.contains("published there before")
            && ran.stderr.contains("nothing was published"),
        "{ran}"
    );
    let newer = edited(&workspace, "good_new", &["--set", "dataset_version=1.1.0"]);
    fs::rename(workspace.path(&newer), workspace.path("new_good.tacozip")).expect("renames");
    fs::create_dir(workspace.path("newer")).expect("a folder");
    fs::rename(
        workspace.path("new_good.tacozip"),
        workspace.path("newer/good.tacozip"),
    )
    .expect("renames");
    let found = checks(&workspace, &["newer/good.tacozip", "public/1.0.0"], &[]);
    assert_eq!(
        (&found["version"]["level"], &found["version"]["mend"]),
        (&json!("blocks"), &json!("target")),
        "{found:#}"
    );
    workspace
        .studio([
            "publish",
            "newer/good.tacozip",
            "public/1.0.0",
            "--overwrite",
        ])
        .expect_code(0);
    assert_eq!(
        sha256_of(&workspace.path("public/1.0.0/good.tacozip")),
        sha256_of(&workspace.path("newer/good.tacozip"))
    );
    // Parts get both indexes, a FOLDER a folder of its own.
    let split = [
        "convert",
        "good.tacozip",
        "parts/p.tacozip",
        "--split-size",
        "7KB",
        "--consolidate",
        "tacollection",
    ];
    workspace.studio(split).expect_code(0);
    workspace
        .studio(["publish", "parts/TACOLLECTION.json", "public/parts"])
        .expect_code(0);
    let names = files_below(&workspace.path("public/parts"));
    for name in [
        ".tacocat/COLLECTION.json",
        ".tacocat/level0.parquet",
        "TACOLLECTION.json",
        "README.md",
        "p_part0001.tacozip",
    ] {
        assert!(names.iter().any(|own| own == name), "{name}: {names:?}");
    }
    workspace
        .studio(["validate", "public/parts/.tacocat"])
        .expect_code(0);
    workspace
        .studio(["convert", "good.tacozip", "folder"])
        .expect_code(0);
    workspace.write("folder/notes.txt", "to be left out");
    workspace
        .studio(["publish", "folder", "public/folder"])
        .expect_code(0);
    assert!(
        workspace
            .path("public/folder/folder/COLLECTION.json")
            .is_file()
    );
    assert!(!workspace.path("public/folder/folder/notes.txt").exists());
    workspace
        .studio(["validate", "public/folder/folder"])
        .expect_code(0);
}

#[test]
fn layouts_of_hosts_are_made_here_and_their_clients_named() {
    let workspace = Workspace::new();
    good(&workspace);
    let split = [
        "convert",
        "good.tacozip",
        "parts/p.tacozip",
        "--split-size",
        "7KB",
        "--consolidate",
        "tacocat",
    ];
    workspace.studio(split).expect_code(0);
    let publish = |layout: &str, more: &[&str]| {
        let out = format!("out-{layout}");
        let ran = workspace
            .studio(
                ["publish", "parts/.tacocat", &out, "--layout", layout]
                    .iter()
                    .chain(more),
            )
            .expect_code(0);
        assert!(
            ran.stdout.contains("The studio does not upload there"),
            "{ran}"
        );
        (
            ran.stdout,
            files_below(&workspace.path(&out)),
            fs::read_to_string(workspace.path(&out).join("README.md")).expect("a card"),
        )
    };
    let (text, names, card) = publish("hugging-face", &["--repository", "ana/test-scenes"]);
    assert!(
        text.contains("hf upload ana/test-scenes") && text.contains("--repo-type dataset"),
        "{text}"
    );
    assert!(
        text.contains("https://huggingface.co/datasets/ana/test-scenes/resolve/main/.tacocat"),
        "{text}"
    );
    assert!(
        names.contains(&".tacocat/COLLECTION.json".to_owned()),
        "{names:?}"
    );
    assert!(
        card.starts_with("---\npretty_name: \"Test scenes\"\nlicense:\n- \"cc-by-4.0\"\n")
            && card.contains("size_categories:\n- n<1K\n")
    );
    let (text, names, _) = publish("zenodo", &[]);
    assert!(
        text.contains("https://zenodo.org/api/deposit/depositions")
            && text.contains("has no client of its own"),
        "{text}"
    );
    assert!(
        names.iter().all(|name| !name.contains('/')) && names.contains(&"__TACOCAT__".to_owned()),
        "{names:?}"
    );
    let deposit: Value = serde_json::from_slice(
        &fs::read(workspace.path("out-zenodo/.zenodo-deposit.json")).expect("reads"),
    )
    .expect("JSON");
    assert_eq!(
        (
            &deposit["metadata"]["upload_type"],
            &deposit["metadata"]["license"]
        ),
        (&json!("dataset"), &json!("cc-by-4.0"))
    );
    let (text, _, card) = publish("source-cooperative", &["--repository", "ana/test-scenes"]);
    assert!(
        text.contains("aws s3 sync")
            && text.contains("s3://us-west-2.opendata.source.coop/ana/test-scenes/"),
        "{text}"
    );
    assert!(card.starts_with("# Test scenes"), "{card}");
    // Not into a store.
    let found = checks(
        &workspace,
        &["good.tacozip", "s3://bucket/x", "--layout", "zenodo"],
        &[("AWS_ENDPOINT_URL", "http://127.0.0.1:9")],
    );
    assert_eq!(found["target"]["level"], "blocks");
    workspace
        .studio([
            "publish",
            "good.tacozip",
            "x",
            "--layout",
            "hugging-face",
            "--repository",
            "no slash",
        ])
        .expect_code(2);
}

/// The bytes of every object below a folder of the store.
fn objects(store: &Emulator, workspace: &Workspace, below: &str) -> Vec<(String, Vec<u8>)> {
    let copy = workspace.path("downloaded");
    let names = store
        .names()
        .into_iter()
        .filter(|name| name.starts_with(below));
    names
        .map(|name| {
            store.download(&name, &copy);
            let bytes = fs::read(&copy).expect("reads");
            fs::remove_file(&copy).expect("removes");
            (name, bytes)
        })
        .collect()
}

fn datasets_are_published(kind: StoreKind) {
    let Some(store) = Emulator::start(kind) else {
        return;
    };
    let workspace = Workspace::new();
    good(&workspace);
    let large: Vec<u8> = (0..(9u32 << 20) / 4)
        .flat_map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes())
        .collect();
    let parts = |name: &str| {
        let split = ["--split-size", "7KB", "--consolidate", "tacocat"];
        workspace
            .studio(
                ["convert", "good.tacozip", &format!("{name}/p.tacozip")]
                    .iter()
                    .chain(&split),
            )
            .expect_code(0);
    };
    parts("parts");
    let target = store.address("set/1.0.0");
    let publish = |more: &[&str]| {
        store.studio(
            &workspace,
            ["publish", "parts/.tacocat", &target].iter().chain(more),
        )
    };
    let dry = publish(&["--dry-run"]).expect_code(0);
    assert!(store.names().is_empty(), "a dry run sends nothing");
    assert!(dry.stdout.contains("The target is empty"), "{dry}");
    let found = publish(&["--json"]).expect_code(0).json();
    let published = &found["published"];
    let names = store.names();
    let local = files_below(&workspace.path("parts"));
    for name in local
        .iter()
        .chain(["TACOLLECTION.json".to_owned()].iter())
        .map(String::as_str)
        .chain(DOCUMENTS)
    {
        assert!(
            names.contains(&format!("set/1.0.0/{name}")),
            "{name}: {names:?}"
        );
    }
    for (name, bytes) in objects(&store, &workspace, "set/") {
        // Parts and their index are those of this machine.
        if let Ok(own) = fs::read(
            workspace
                .path("parts")
                .join(name.trim_start_matches("set/1.0.0/")),
        ) {
            assert_eq!(bytes, own, "{name}");
        }
        for secret in [
            "secret-of-the-tests",
            "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq",
            "Signature",
        ] {
            assert!(
                !bytes
                    .windows(secret.len())
                    .any(|window| window == secret.as_bytes()),
                "{secret} in {name}"
            );
        }
    }
    assert_eq!(published["address"], format!("{target}/.tacocat"));
    assert_eq!(
        (
            &published["opened"]["rows"],
            &published["opened"]["compared"]
        ),
        (&json!([6]), &json!(6)),
        "{published:#}"
    );
    let requests = published["opened"]["requests"].as_u64().expect("a number");
    assert!(
        (1..=12).contains(&requests) && published["opened"]["bytes"].as_u64() > Some(0),
        "{published:#}"
    );
    let python = published["snippets"][0]["code"].as_str().expect("code");
    assert!(
        python.contains(&format!("tacoreader.load(\"{target}/.tacocat\")")),
        "{python}"
    );
    // The same version is refused, and nothing is changed.
    let refused = publish(&[]).expect_code(1);
    assert!(
        refused.stdout.contains("1.0.0 was published there before"),
        "{refused}"
    );
    assert_eq!(store.names(), names);
    // Replaced when that is asked for: objects with the same bytes stay.
    let again = publish(&["--overwrite", "--json"]).expect_code(0).json();
    assert!(
        again["published"]["kept_files"].as_u64() >= Some(local.len() as u64),
        "{:#}",
        again["published"]
    );
    // An interrupted publication goes on: a large object that is there is not sent again.
    workspace.write("scenes/large.bin", &large);
    workspace
        .studio([
            "create",
            "scenes",
            "-o",
            "large.tacozip",
            "--collection",
            "collection.json",
        ])
        .expect_code(0);
    store.upload("next/README.md", &workspace.path("collection.json"));
    let next = store.address("next");
    let publish = |more: &[&str]| {
        store.studio(
            &workspace,
            ["publish", "large.tacozip", &next].iter().chain(more),
        )
    };
    let ran = publish(&[]).expect_code(2);
    assert!(
        ran.stderr.contains("exists already") && ran.stderr.contains("other bytes"),
        "{ran}"
    );
    assert_eq!(
        objects(&store, &workspace, "next/README.md")[0].1,
        fs::read(workspace.path("collection.json")).expect("reads")
    );
    publish(&["--overwrite"]).expect_code(0);
    let again = publish(&["--overwrite", "--json"]).expect_code(0).json();
    assert_eq!(
        again["published"]["sent_files"], 0,
        "{:#}",
        again["published"]
    );
}

#[test]
fn datasets_are_published_to_s3() {
    datasets_are_published(StoreKind::S3);
}

#[test]
fn datasets_are_published_to_google() {
    datasets_are_published(StoreKind::Google);
}

#[test]
fn datasets_are_published_to_azure() {
    datasets_are_published(StoreKind::Azure);
}

#[test]
fn the_official_reader_opens_what_was_published_cold_by_its_url() {
    let Some(store) = Emulator::start(StoreKind::S3) else {
        return;
    };
    let workspace = Workspace::new();
    good(&workspace);
    let split = [
        "convert",
        "good.tacozip",
        "parts/p.tacozip",
        "--split-size",
        "7KB",
        "--consolidate",
        "tacocat",
    ];
    workspace.studio(split).expect_code(0);
    workspace
        .studio(["convert", "good.tacozip", "folder"])
        .expect_code(0);
    for (input, folder, opened) in [
        ("parts/.tacocat", "parts", ".tacocat"),
        ("good.tacozip", "zip", "good.tacozip"),
        ("folder", "dir", "folder"),
    ] {
        let url = format!("http://127.0.0.1:{}/data/{folder}", store.port());
        let arguments = [
            "publish",
            input,
            &store.address(folder),
            "--url",
            &url,
            "--json",
        ];
        let published = store.studio(&workspace, arguments).expect_code(0).json();
        let address = published["published"]["address"]
            .as_str()
            .expect("an address");
        assert_eq!(address, format!("{url}/{opened}"));
        let sources = workspace.path("scenes");
        super::interop::expect_ok(
            workspace.python("remote_reader.py", [address.as_ref(), sources.as_os_str()]),
        );
        let card = objects(&store, &workspace, &format!("{folder}/README.md"))
            .remove(0)
            .1;
        assert!(
            String::from_utf8_lossy(&card).contains(&format!("tacoreader.load(\"{address}\")"))
        );
    }
}

#[test]
fn a_signed_link_is_written_nowhere() {
    let workspace = Workspace::new();
    good(&workspace);
    let url = "https://host.example/set?X-Amz-Signature=0123456789abcdef";
    let ran = workspace
        .studio(["publish", "good.tacozip", "out", "--url", url, "--json"])
        .expect_code(0);
    assert!(
        !ran.stdout.contains("0123456789abcdef")
            && ran.stdout.contains("https://host.example/set/good.tacozip"),
        "{ran}"
    );
    for name in files_below(&workspace.path("out")) {
        let bytes = fs::read(workspace.path("out").join(Path::new(&name))).expect("reads");
        assert!(
            !bytes
                .windows(16)
                .any(|window| window == b"0123456789abcdef"),
            "{name}"
        );
    }
}

#[test]
fn indexes_are_published_after_the_parts_that_they_refer_to() {
    let Some(store) = Emulator::start(StoreKind::S3) else {
        return;
    };
    let proxy = FaultProxy::to(store.port());
    let workspace = Workspace::new();
    good(&workspace);
    let split = ["--split-size", "7KB", "--consolidate", "tacocat"];
    workspace
        .studio(
            ["convert", "good.tacozip", "parts/p.tacozip"]
                .iter()
                .chain(&split),
        )
        .expect_code(0);
    let target = store.address("set");
    let publish = |input: &str, more: &[&str]| {
        proxy.heal();
        let fixed = ["publish", input, &target];
        store
            .studio_through(
                &workspace,
                proxy.port(),
                &[],
                fixed.iter().chain(more).copied(),
            )
            .expect_code(0);
        let changing = |line: &String| line.starts_with("PUT ") || line.starts_with("DELETE ");
        proxy
            .asked()
            .into_iter()
            .filter(changing)
            .collect::<Vec<String>>()
    };
    let at = |lines: &[String], method: &str, part: &str| {
        let is_one = |line: &String| line.starts_with(method) && line.contains(part);
        lines
            .iter()
            .enumerate()
            .filter(|(_, line)| is_one(line))
            .map(|(index, _)| index)
            .collect::<Vec<_>>()
    };
    let lines = publish("parts/.tacocat", &[]);
    let parts = at(&lines, "PUT", ".tacozip");
    let tables = at(&lines, "PUT", "/.tacocat/level");
    let opened = at(&lines, "PUT", "/.tacocat/COLLECTION.json");
    assert!(
        parts.len() > 1 && tables.len() == 1 && opened.len() == 1,
        "{lines:#?}"
    );
    assert!(
        parts.iter().all(|part| *part < tables[0]) && tables[0] < opened[0],
        "{lines:#?}"
    );
    assert_eq!(opened[0], lines.len() - 1, "{lines:#?}");
    // Parts of the same names with other bytes: what refers to the old ones goes first.
    workspace
        .studio([
            "edit",
            "good.tacozip",
            "-o",
            "edited.tacozip",
            "--set",
            "title=Other scenes",
        ])
        .expect_code(0);
    workspace
        .studio(
            ["convert", "edited.tacozip", "edited/p.tacozip"]
                .iter()
                .chain(&split),
        )
        .expect_code(0);
    let lines = publish("edited/.tacocat", &["--overwrite"]);
    let (parts, removed) = (
        at(&lines, "PUT", ".tacozip"),
        at(&lines, "DELETE", "/.tacocat/COLLECTION.json"),
    );
    assert!(
        removed.len() == 1 && parts.iter().all(|part| removed[0] < *part),
        "{lines:#?}"
    );
    assert!(
        at(&lines, "PUT", "/.tacocat/")
            .iter()
            .all(|index| parts.iter().all(|part| part < index)),
        "{lines:#?}"
    );
    // The same again: nothing of the data is sent or removed.
    let lines = publish("edited/.tacocat", &["--overwrite"]);
    assert_eq!(
        (
            at(&lines, "PUT", ".tacozip").len(),
            at(&lines, "DELETE", "").len()
        ),
        (0, 0),
        "{lines:#?}"
    );
}
