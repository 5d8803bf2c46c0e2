//! Datasets written in parts: named like those of the official tools, each part complete, with
//! correct indexes, and nothing left behind on failure.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;

use crate::support::{Workspace, entries, fixtures};

fn dataset(fixture: &str, name: &str) -> PathBuf {
    let mut folders = fixtures("golden", "TACO_STUDIO_GOLDEN").into_iter();
    folders
        .find(|folder| folder.ends_with(fixture))
        .unwrap_or_else(|| panic!("no {fixture}"))
        .join(name)
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = entries(folder)
        .iter()
        .map(|path| {
            path.file_name()
                .expect("a name")
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    names.sort();
    names
}

fn convert(workspace: &Workspace, input: &Path, name: &str, more: &[&str]) -> Json {
    let out = workspace.path(name);
    let fixed = [
        "convert".as_ref(),
        input.as_os_str(),
        out.as_os_str(),
        "--json".as_ref(),
    ];
    workspace
        .studio(
            fixed
                .into_iter()
                .chain(more.iter().map(std::ffi::OsStr::new)),
        )
        .expect_code(0)
        .json()
}

fn query(workspace: &Workspace, path: &Path, sql: &str) -> String {
    let arguments = [
        "query".as_ref(),
        path.as_os_str(),
        "--csv".as_ref(),
        "--sql".as_ref(),
        sql.as_ref(),
    ];
    workspace.studio(arguments).expect_code(0).stdout
}

fn collection(workspace: &Workspace, path: &Path) -> Json {
    let seen = workspace
        .studio(["inspect".as_ref(), path.as_os_str(), "--json".as_ref()])
        .expect_code(0)
        .json();
    seen["collection"].clone()
}

#[test]
fn parts_by_size_are_whole_datasets_under_one_index() {
    let workspace = Workspace::new();
    let whole = dataset("04_nested2_folder", "change");
    let all = [
        "--split-size",
        "40KB",
        "--consolidate",
        "tacocat,single-file,tacollection",
        "--compression",
        "gzip",
    ];
    let built = convert(&workspace, &whole, "out/parts.tacozip", &all);
    let out = workspace.path("out");
    let found = names(&out);
    let parts: Vec<&String> = found
        .iter()
        .filter(|name| name.ends_with(".tacozip"))
        .collect();
    assert!(
        parts.len() > 1 && *parts[0] == "parts_part0001.tacozip",
        "{found:?}"
    );
    assert_eq!(
        found.len(),
        parts.len() + 3,
        "only parts and indexes: {found:?}"
    );
    assert_eq!(
        built["parts"].as_array().expect("a list").len(),
        parts.len()
    );
    assert_eq!(built["path"], out.join(".tacocat").display().to_string());
    let mut roots = String::new();
    for part in &parts {
        let part = out.join(part);
        workspace
            .studio(["validate".as_ref(), part.as_os_str(), "--deep".as_ref()])
            .expect_code(0);
        let n = collection(&workspace, &part)["taco:pit_schema"]["root"]["n"]
            .as_u64()
            .expect("a number");
        let ids = query(&workspace, &part, "SELECT id FROM data");
        let ids: Vec<&str> = ids.lines().skip(1).collect();
        assert_eq!(ids.len() as u64, n);
        roots += &(ids.join("\n") + "\n");
    }
    assert_eq!(
        format!("id\n{roots}"),
        query(&workspace, &whole, "SELECT id FROM data"),
        "every sample once, in order"
    );
    for index in [".tacocat", "__TACOCAT__"] {
        let index = out.join(index);
        workspace
            .studio(["validate".as_ref(), index.as_os_str(), "--deep".as_ref()])
            .expect_code(0);
        assert_eq!(
            query(&workspace, &index, "SELECT id FROM data"),
            format!("id\n{roots}")
        );
    }
    super::interop::expect_ok(
        workspace.python("check_index.py", [out.join(".tacocat").as_os_str()]),
    );
    let joined: Json =
        serde_json::from_slice(&fs::read(out.join("TACOLLECTION.json")).expect("reads"))
            .expect("JSON");
    assert_eq!(joined["taco:sources"]["count"], parts.len());
    assert_eq!(joined["taco:pit_schema"]["root"]["n"], 6);
}

#[test]
fn parts_by_value_are_named_after_it() {
    let workspace = Workspace::new();
    let whole = dataset("01_flat_zip", "");
    let whole = entries(&whole)
        .into_iter()
        .find(|path| path.extension().is_some_and(|end| end == "tacozip"))
        .expect("a ZIP");
    let values = query(
        &workspace,
        &whole,
        "SELECT DISTINCT \"split\" AS v FROM data ORDER BY v",
    );
    let values: Vec<&str> = values.lines().skip(1).collect();
    assert!(values.len() > 1, "{values:?}");
    convert(
        &workspace,
        &whole,
        "out/scenes.tacozip",
        &["--group-by", "split"],
    );
    let out = workspace.path("out");
    assert_eq!(
        names(&out),
        values
            .iter()
            .map(|value| format!("scenes_{value}.tacozip"))
            .collect::<Vec<_>>()
    );
    for value in values {
        let part = out.join(format!("scenes_{value}.tacozip"));
        workspace
            .studio(["validate".as_ref(), part.as_os_str(), "--deep".as_ref()])
            .expect_code(0);
        assert_eq!(
            query(&workspace, &part, "SELECT DISTINCT split FROM data"),
            format!("split\n{value}\n")
        );
    }
}

#[test]
fn groups_of_several_columns_are_not_mixed() {
    let workspace = Workspace::new();
    for name in ["x", "y"] {
        workspace.write(&format!("files/{name}.bin"), name);
    }
    let rows = workspace.write("rows.csv", "id,one,two\nx.bin,a_b,c\ny.bin,a,b_c\n");
    let collection = workspace.write(
        "collection.json",
        r#"{"id": "pairs", "dataset_version": "1.0.0", "description": "Two.",
            "licenses": ["CC0-1.0"],
            "providers": [{"name": "Nobody", "roles": ["producer"]}], "tasks": ["classification"]}"#,
    );
    let (files, whole, out) = (
        workspace.path("files"),
        workspace.path("whole.tacozip"),
        workspace.path("out/pairs.tacozip"),
    );
    let paths = [files.as_os_str(), "-o".as_ref(), whole.as_os_str()];
    let more = [
        "--collection".as_ref(),
        collection.as_os_str(),
        "--metadata".as_ref(),
        rows.as_os_str(),
    ];
    workspace
        .studio(["create".as_ref()].into_iter().chain(paths).chain(more))
        .expect_code(0);
    let grouped = ["--group-by", "one", "--group-by", "two"].map(std::ffi::OsStr::new);
    let ran = workspace.studio(
        ["convert".as_ref(), whole.as_os_str(), out.as_os_str()]
            .into_iter()
            .chain(grouped),
    );
    assert!(
        ran.expect_code(2).stderr.contains("same file name"),
        "a_b and c are not a and b_c"
    );
}

#[test]
fn all_parts_appear_or_none() {
    let workspace = Workspace::new();
    let whole = dataset("04_nested2_folder", "change");
    let out = workspace.path("out");
    fs::create_dir(&out).expect("a folder");
    let split = ["--split-size", "40KB", "--consolidate", "tacocat"];
    // The last name exists: none of the outputs is written.
    fs::create_dir(out.join(".tacocat")).expect("a folder");
    let target = out.join("parts.tacozip");
    let arguments = ["convert".as_ref(), whole.as_os_str(), target.as_os_str()];
    let refused = || {
        workspace.studio(
            arguments
                .into_iter()
                .chain(split.iter().map(std::ffi::OsStr::new)),
        )
    };
    assert!(refused().expect_code(2).stderr.contains("exists already"));
    assert_eq!(names(&out), [".tacocat"]);
    fs::remove_dir(out.join(".tacocat")).expect("removes");
    convert(&workspace, &whole, "out/parts.tacozip", &split);
    let before = names(&out);
    assert!(refused().expect_code(2).stderr.contains("exists already"));
    convert(
        &workspace,
        &whole,
        "out/parts.tacozip",
        &[&split[..], &["--overwrite"]].concat(),
    );
    assert_eq!(names(&out), before, "replaced, with nothing beside it");
    workspace
        .studio(["validate".as_ref(), out.join(".tacocat").as_os_str()])
        .expect_code(0);
    // A FOLDER cannot be part of an index.
    let folders = [
        "convert",
        "--split-size",
        "40KB",
        "--consolidate",
        "tacocat",
        "--format",
        "folder",
    ];
    let last =
        [whole.as_os_str(), workspace.path("folders").as_os_str()].map(std::ffi::OsStr::to_owned);
    let ran = workspace
        .studio(folders.iter().map(Into::into).chain(last))
        .expect_code(2);
    assert!(ran.stderr.contains("ZIPs"), "{ran}");
}

#[test]
fn level_tables_are_compressed_as_asked() {
    let workspace = Workspace::new();
    let whole = dataset("04_nested2_folder", "change");
    for codec in ["zstd", "snappy", "gzip", "none"] {
        let built = convert(
            &workspace,
            &whole,
            &format!("{codec}.tacozip"),
            &["--compression", codec, "--row-group", "2"],
        );
        let path = PathBuf::from(built["path"].as_str().expect("a path"));
        workspace
            .studio(["validate".as_ref(), path.as_os_str(), "--deep".as_ref()])
            .expect_code(0);
        super::interop::expect_ok(workspace.python(
            "parquet.py",
            [path.as_os_str(), codec.as_ref(), "2".as_ref()],
        ));
    }
    let part = workspace.path("part.tacozip");
    let export = [
        "export".as_ref(),
        whole.as_os_str(),
        "-o".as_ref(),
        part.as_os_str(),
        "--limit".as_ref(),
        "2".as_ref(),
    ];
    let asked = ["--compression", "gzip", "--row-group", "1"].map(std::ffi::OsStr::new);
    workspace
        .studio(export.into_iter().chain(asked))
        .expect_code(0);
    super::interop::expect_ok(workspace.python(
        "parquet.py",
        [part.as_os_str(), "gzip".as_ref(), "1".as_ref()],
    ));
    let out = workspace.path("wrong.tacozip");
    let arguments = [
        "convert".as_ref(),
        whole.as_os_str(),
        out.as_os_str(),
        "--compression-level".as_ref(),
        "23".as_ref(),
    ];
    assert!(
        workspace
            .studio(arguments)
            .expect_code(2)
            .stderr
            .contains("1 to 22")
    );
}
