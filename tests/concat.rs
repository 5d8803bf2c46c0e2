//! Several datasets opened as one: given by the user, in every join mode, compared with the
//! official reader; and listed by a TACOLLECTION.json.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;

use crate::support::{Ran, Workspace, fixtures, sha256_of};

fn golden(name: &str) -> PathBuf {
    let all = fixtures("golden", "TACO_STUDIO_GOLDEN");
    all.into_iter()
        .find(|folder| folder.ends_with(name))
        .unwrap_or_else(|| panic!("no golden set {name}"))
}

fn part(number: usize) -> PathBuf {
    golden("09_split_tacocat").join(format!("parts_part000{number}.tacozip"))
}

fn run(workspace: &Workspace, verb: &str, paths: &[&Path], more: &[&str]) -> Ran {
    let mut arguments: Vec<&OsStr> = vec![OsStr::new(verb)];
    arguments.extend(paths.iter().map(|path| path.as_os_str()));
    arguments.extend(more.iter().map(OsStr::new));
    workspace.studio(arguments)
}

/// Writes every level of the joined datasets as Parquet, and compares it with the official
/// reader's.
fn compare(workspace: &Workspace, mode: &str, levels: usize, paths: &[&Path]) {
    let rows = workspace.path(&format!("rows_{mode}_{}", paths.len()));
    fs::create_dir_all(&rows).expect("a folder");
    for level in 0..levels {
        let out = rows.join(format!("level{level}.parquet"));
        let sql = format!("SELECT * FROM level{level}");
        let out = out.to_str().expect("a name");
        run(
            workspace,
            "query",
            paths,
            &["--mode", mode, "--sql", &sql, "-o", out, "--overwrite"],
        )
        .expect_code(0);
    }
    let mut arguments: Vec<OsString> = vec![mode.into(), rows.into()];
    arguments.extend(paths.iter().map(|path| path.as_os_str().to_owned()));
    super::interop::expect_ok(workspace.python("concat.py", arguments));
}

/// A copy of a part with an additional column on level 1.
fn extended(workspace: &Workspace) -> PathBuf {
    let out = workspace.path("extended.tacozip");
    let arguments = [
        "-o",
        out.to_str().expect("a name"),
        "--with",
        "content_hash",
        "--level",
        "1",
    ];
    run(workspace, "extend", &[&part(2)], &arguments).expect_code(0);
    out
}

#[test]
fn joined_rows_are_the_official_readers() {
    let workspace = Workspace::new();
    let [one, two, three] = [part(1), part(2), part(3)];
    compare(&workspace, "strict", 2, &[&one, &two, &three]);
    let more = extended(&workspace);
    for mode in ["intersection", "fill_missing"] {
        compare(&workspace, mode, 2, &[&one, &more]);
    }
    // FOLDERs with three levels.
    let folder = golden("04_nested2_folder").join("change");
    let other = workspace.path("other");
    let ids = [
        "-o",
        other.to_str().expect("a name"),
        "--ids",
        "scene_02,scene_03",
    ];
    run(&workspace, "export", &[&folder], &ids).expect_code(0);
    compare(&workspace, "intersection", 2, &[&folder, &other]);
}

#[test]
fn each_mode_reports_dropped_and_filled_columns() {
    let workspace = Workspace::new();
    let (one, more) = (part(1), extended(&workspace));
    let files = || crate::support::files_below(&workspace.path(""));
    let before = files();
    let dropped = run(&workspace, "concat", &[&one, &more], &[]).expect_code(0);
    assert_eq!(files(), before, "nothing is copied");
    assert!(
        dropped
            .stderr
            .contains("of level1 is left out: not in parts_part0001.tacozip"),
        "{dropped}"
    );
    assert!(
        dropped
            .stdout
            .contains("2 datasets as one: level0: 4 rows, level1: 12 rows"),
        "{dropped}"
    );
    let filled = run(
        &workspace,
        "concat",
        &[&one, &more],
        &["--mode", "fill-missing", "--json"],
    )
    .expect_code(0)
    .json();
    let changes = filled["changes"].as_array().expect("a list");
    assert!(
        !changes.is_empty() && changes.iter().all(|change| change["dropped"] == false),
        "{filled}"
    );
    assert_eq!(
        changes[0]["lacking"],
        serde_json::json!(["parts_part0001.tacozip"])
    );
    let refused = run(&workspace, "concat", &[&one, &more], &["--mode", "strict"]).expect_code(2);
    assert!(
        refused
            .stderr
            .contains("parts_part0001.tacozip has no column")
            && refused.stderr.contains("level1"),
        "{refused}"
    );
    let flat = golden("01_flat_zip").join("flat.tacozip");
    let refused = run(&workspace, "concat", &[&one, &flat], &[]).expect_code(2);
    assert!(refused.stderr.contains("different trees"), "{refused}");
    assert!(
        run(&workspace, "concat", &[&one, &one], &[])
            .expect_code(2)
            .stderr
            .contains("twice")
    );
}

#[test]
fn joined_datasets_are_written_as_one() {
    let workspace = Workspace::new();
    // A ZIP, a FOLDER and an index.
    let folder = workspace.path("second");
    run(&workspace, "convert", &[&part(2), &folder], &[]).expect_code(0);
    let index = workspace.path("index");
    fs::create_dir(&index).expect("a folder");
    let third = index.join("parts_part0003.tacozip");
    fs::copy(part(3), &third).expect("copies");
    run(
        &workspace,
        "tacocat",
        &[&third],
        &["-o", index.to_str().expect("a name")],
    )
    .expect_code(0);
    let out = workspace.path("all.tacozip");
    run(
        &workspace,
        "concat",
        &[&part(1), &folder, &index],
        &["-o", out.to_str().expect("a name")],
    )
    .expect_code(0);
    run(&workspace, "validate", &[&out], &["--deep"]).expect_code(0);
    let text = fs::read_to_string(golden("09_split_tacocat").join("expected.json"))
        .expect("expected.json");
    let expected: Json = serde_json::from_str(&text).expect("JSON");
    let mut seen = 0;
    for (name, set) in expected
        .as_object()
        .expect("an object")
        .iter()
        .filter(|(_, set)| set["kind"] == "zip")
    {
        for (member, wanted) in set["files"].as_object().expect("files") {
            let bytes = workspace.path("bytes");
            let id = member.strip_prefix("DATA/").expect("a file under DATA");
            run(
                &workspace,
                "read",
                &[&out],
                &[id, "--overwrite", "--out", bytes.to_str().expect("a name")],
            )
            .expect_code(0);
            assert_eq!(sha256_of(&bytes), wanted["sha256"], "{name}: {id}");
            seen += 1;
        }
    }
    assert_eq!(seen, 18);
    // Flat views join rows with parents of the same dataset.
    let sql =
        "SELECT count(*) AS n FROM l1 WHERE starts_with(\"l1:internal:relative_path\", \"l0:id\")";
    let ran = run(
        &workspace,
        "query",
        &[&part(1), &folder, &index],
        &["--csv", "--sql", sql],
    )
    .expect_code(0);
    assert_eq!(ran.stdout, "n\n18\n", "{ran}");
}

/// A TACOLLECTION.json of the official tools with its parts.
fn collection(workspace: &Workspace) -> PathBuf {
    let set = workspace.path("set");
    fs::create_dir(&set).expect("a folder");
    let from = golden("27_v018_parts_tacocat");
    for name in [
        "TACOLLECTION.json",
        "parts_part0001.tacozip",
        "parts_part0002.tacozip",
        "parts_part0003.tacozip",
    ] {
        fs::copy(from.join(name), set.join(name)).expect("copies");
    }
    set
}

#[test]
fn a_list_that_lists_itself_is_refused() {
    let workspace = Workspace::new();
    let set = collection(&workspace);
    let file = set.join("TACOLLECTION.json");
    let mut json: Json = serde_json::from_slice(&fs::read(&file).expect("reads")).expect("JSON");
    json["taco:sources"]["files"] = serde_json::json!(["TACOLLECTION.json", "TACOLLECTION.json"]);
    fs::write(&file, json.to_string()).expect("writes");
    let ran = run(&workspace, "inspect", &[&file], &[]).expect_code(2);
    assert!(
        ran.stderr.contains("list of datasets can't be part of"),
        "{ran}"
    );
}

#[test]
fn a_tacollection_opens_as_its_parts() {
    let workspace = Workspace::new();
    let set = collection(&workspace);
    let count = |paths: &[&Path], more: &[&str]| {
        let sql = ["--csv", "--sql", "SELECT count(*) AS n FROM level1"];
        run(&workspace, "query", paths, &[&sql[..], more].concat())
            .expect_code(0)
            .stdout
    };
    let file = set.join("TACOLLECTION.json");
    assert_eq!(count(&[&file], &[]), "n\n24\n");
    assert_eq!(count(&[&set], &[]), "n\n24\n", "by its folder");
    let inspected = run(&workspace, "inspect", &[&file], &["--json"])
        .expect_code(0)
        .json();
    assert_eq!(
        (&inspected["format"], &inspected["levels"][0]["rows"]),
        (&"tacollection".into(), &6.into())
    );
    // In another folder, under another name.
    let named = workspace.path("elsewhere/joint.json");
    fs::create_dir(named.parent().expect("a folder")).expect("a folder");
    fs::rename(&file, &named).expect("moves");
    let base = ["--base-path", set.to_str().expect("a name")];
    assert_eq!(count(&[&named], &base), "n\n24\n");
    let lost = run(&workspace, "inspect", &[&named], &[]).expect_code(2);
    assert!(lost.stderr.contains("--base-path"), "{lost}");
    run(&workspace, "validate", &[&named], &base).expect_no_panic();
    let out = workspace.path("mended.tacozip");
    let arguments = [&base[..], &["-o", out.to_str().expect("a name")]].concat();
    run(&workspace, "repair", &[&named], &arguments).expect_code(0);
    run(&workspace, "validate", &[&out], &["--deep"]).expect_code(0);
}

#[test]
fn duplicate_ids_across_datasets_are_reported_or_prefixed() {
    let workspace = Workspace::new();
    let (one, other) = (part(1), workspace.path("b_side.tacozip"));
    fs::copy(&one, &other).expect("copies");
    // Opened together, their rows are concatenated, as in the official reader.
    let sql = [
        "--csv",
        "--sql",
        "SELECT count(*) AS n, count(DISTINCT id) AS ids FROM data",
    ];
    assert_eq!(
        run(&workspace, "query", &[&one, &other], &sql)
            .expect_code(0)
            .stdout,
        "n,ids\n4,2\n"
    );
    let out = workspace.path("all.tacozip");
    let written = ["-o", out.to_str().expect("a name")];
    let refused = run(&workspace, "concat", &[&one, &other], &written).expect_code(2);
    assert!(
        refused.stderr.contains(
            "2 ids are in more than one dataset: scene_01 (parts_part0001.tacozip, b_side.tacozip)"
        ),
        "{refused}"
    );
    assert!(
        refused.stderr.contains("--prefix-ids") && !out.exists(),
        "{refused}"
    );
    run(
        &workspace,
        "concat",
        &[&one, &other, &part(2)],
        &[&written[..], &["--prefix-ids"]].concat(),
    )
    .expect_code(0);
    run(&workspace, "validate", &[&out], &["--deep"]).expect_code(0);
    let ids = run(
        &workspace,
        "query",
        &[&out],
        &["--csv", "--sql", "SELECT id FROM data"],
    )
    .expect_code(0)
    .stdout;
    let wanted = "id\nparts_part0001_scene_01\nparts_part0001_scene_02\nb_side_scene_01\n\
        b_side_scene_02\nscene_03\nscene_04\n";
    assert_eq!(ids, wanted, "only those that are shared");
    let (here, there) = (workspace.path("here"), workspace.path("there"));
    let place = |path: &Path| path.to_str().expect("a name").to_owned();
    run(
        &workspace,
        "read",
        &[&out],
        &["b_side_scene_02/label.tif", "--out", &place(&here)],
    )
    .expect_code(0);
    run(
        &workspace,
        "read",
        &[&one],
        &["scene_02/label.tif", "--out", &place(&there)],
    )
    .expect_code(0);
    assert_eq!(sha256_of(&here), sha256_of(&there));
}

#[test]
fn placeholders_of_several_datasets_are_numbered_anew() {
    let workspace = Workspace::new();
    let padded = |name: &str, scenes: &[&str]| {
        for scene in scenes {
            workspace.write(&format!("{name}/{scene}/a.txt"), scene);
        }
        let collection = serde_json::json!({
            "id": "padded", "description": "Padded.", "dataset_version": "1.0.0", "licenses": [
                "CC-BY-4.0",
            ],
            "providers": [{
                "name": "N",
                "role": "producer",
            }], "tasks": ["classification"], "keywords": ["padding"]
        });
        workspace.write("collection.json", collection.to_string());
        let out = workspace.path(&format!("{name}.tacozip"));
        let path = out.to_str().expect("a name");
        let fixed = [
            "create",
            name,
            "-o",
            path,
            "--collection",
            "collection.json",
            "--pad-to",
            "4",
        ];
        workspace.studio(fixed).expect_code(0);
        out
    };
    let (one, other) = (
        padded("one", &["a", "b", "c"]),
        padded("other", &["d", "e"]),
    );
    let out = workspace.path("all.tacozip");
    run(
        &workspace,
        "concat",
        &[&one, &other],
        &["-o", out.to_str().expect("a name")],
    )
    .expect_code(0);
    run(&workspace, "validate", &[&out], &["--deep"]).expect_code(0);
    let ids = run(
        &workspace,
        "query",
        &[&out],
        &["--csv", "--sql", "SELECT id FROM level0"],
    )
    .expect_code(0)
    .stdout;
    assert_eq!(
        ids,
        "id\na\nb\nc\n__TACOPAD__0\nd\ne\n__TACOPAD__1\n__TACOPAD__2\n"
    );
}

#[test]
fn no_dataset_is_an_error_and_one_is_itself() {
    let workspace = Workspace::new();
    let none = workspace.studio(["concat"]).expect_code(2);
    assert!(none.stdout.is_empty() && !none.stderr.is_empty(), "{none}");
    let alone = run(&workspace, "concat", &[&part(1)], &[]).expect_code(2);
    assert!(alone.stderr.contains("at least two datasets"), "{alone}");
    // Where a list is opened, a list of one is that dataset, with its own paths and no column of
    // sources.
    let rows = run(
        &workspace,
        "query",
        &[&part(1)],
        &["--sql", "select * from level0", "--json"],
    )
    .expect_code(0);
    assert_eq!(rows.stdout.lines().count(), 2, "{rows}");
    assert!(!rows.stdout.contains("internal:source_file"), "{rows}");
}
