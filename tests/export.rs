//! Subsets of datasets: valid by a deep check, with the right samples and unchanged bytes; refused
//! where children would differ.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{Ran, Workspace, fixtures, sha256_of};

fn dataset(fixture: &str, name: &str) -> PathBuf {
    let mut folders = fixtures("golden", "TACO_STUDIO_GOLDEN").into_iter();
    folders
        .find(|folder| folder.ends_with(fixture))
        .unwrap_or_else(|| panic!("no {fixture}"))
        .join(name)
}

fn run(workspace: &Workspace, dataset: &Path, out: &Path, arguments: &[&str]) -> Ran {
    let fixed: [&OsStr; 4] = [
        "export".as_ref(),
        dataset.as_os_str(),
        "-o".as_ref(),
        out.as_os_str(),
    ];
    workspace.studio(fixed.into_iter().chain(arguments.iter().map(OsStr::new)))
}

fn export(workspace: &Workspace, dataset: &Path, name: &str, arguments: &[&str]) -> PathBuf {
    let out = workspace.path(name);
    run(workspace, dataset, &out, arguments).expect_code(0);
    let arguments: [&OsStr; 4] = [
        "validate".as_ref(),
        out.as_os_str(),
        "--deep".as_ref(),
        "--json".as_ref(),
    ];
    let report = workspace.studio(arguments).expect_no_panic().json();
    assert_eq!(report["valid"], true, "{name}: {report}");
    out
}

fn column(workspace: &Workspace, dataset: &Path, sql: &str) -> Vec<String> {
    let arguments: [&OsStr; 5] = [
        "query".as_ref(),
        dataset.as_os_str(),
        "--csv".as_ref(),
        "--sql".as_ref(),
        sql.as_ref(),
    ];
    workspace
        .studio(arguments)
        .expect_code(0)
        .stdout
        .lines()
        .skip(1)
        .map(str::to_owned)
        .collect()
}

/// Every file of the subset has the same bytes as in the whole dataset.
fn check_bytes(workspace: &Workspace, whole: &Path, part: &Path, count: usize) {
    let text = std::fs::read_to_string(whole.parent().expect("a folder").join("expected.json"))
        .expect("expected.json");
    let all: Value = serde_json::from_str(&text).expect("JSON");
    let expected = &all[whole.file_name().expect("a name").to_str().expect("text")];
    let deepest = expected["levels"].as_array().expect("levels").len() - 1;
    let sql =
        format!(r#"SELECT "internal:relative_path" AS p FROM level{deepest} WHERE type = 'FILE'"#);
    let files = column(workspace, part, &sql);
    assert_eq!(files.len(), count, "files of the part");
    let out = workspace.path("bytes");
    for file in files {
        let arguments: [&OsStr; 5] = [
            "read".as_ref(),
            part.as_os_str(),
            file.as_ref(),
            "--out".as_ref(),
            out.as_os_str(),
        ];
        workspace.studio(arguments).expect_code(0);
        assert_eq!(
            expected["files"][format!("DATA/{file}")]["sha256"],
            sha256_of(&out),
            "{file}"
        );
        std::fs::remove_file(&out).expect("the file just written");
    }
}

#[test]
fn a_part_has_its_samples_and_their_bytes_in_either_container() {
    let workspace = Workspace::new();
    let whole = dataset("04_nested2_folder", "change");
    for name in ["part.tacozip", "part"] {
        let part = export(&workspace, &whole, name, &["--ids", "scene_04,scene_02"]);
        assert_eq!(
            column(&workspace, &part, "SELECT id FROM data"),
            ["scene_02", "scene_04"],
            "the order is the dataset's"
        );
        check_bytes(&workspace, &whole, &part, 6);
        let arguments: [&OsStr; 3] = ["inspect".as_ref(), part.as_os_str(), "--json".as_ref()];
        let seen = workspace.studio(arguments).expect_code(0).json();
        let collection = &seen["collection"];
        assert_eq!(collection["taco:subset_of"], collection["id"]);
        assert!(collection["taco:subset_date"].is_string());
        assert_eq!(collection["taco:pit_schema"]["root"]["n"], 2);
        assert_eq!(collection["taco:pit_schema"]["shape"][0], 2);
        assert_eq!(collection["taco:pit_schema"]["hierarchy"]["1"][0]["n"], 6);
        let parents = column(
            &workspace,
            &part,
            r#"SELECT "internal:parent_id" AS p FROM level1"#,
        );
        assert_eq!(parents, ["0", "0", "0", "1", "1", "1"]);
    }
}

#[test]
fn statements_filters_and_limits_choose_and_the_hierarchy_follows() {
    let workspace = Workspace::new();
    let whole = dataset("04_nested2_folder", "change");
    let statement = [
        "--sql",
        "SELECT id FROM data WHERE id > 'scene_03'",
        "--limit",
        "2",
    ];
    let part = export(&workspace, &whole, "sql.tacozip", &statement);
    assert_eq!(
        column(&workspace, &part, "SELECT id FROM data"),
        ["scene_04", "scene_05"]
    );
    let labels = ["--where", "id = 'label.tif'", "--level", "1"];
    let part = export(&workspace, &whole, "labels.tacozip", &labels);
    assert_eq!(
        column(&workspace, &part, "SELECT DISTINCT id FROM level1"),
        ["label.tif"],
        "only what met the filter"
    );
    check_bytes(&workspace, &whole, &part, 6);
    let part = export(
        &workspace,
        &whole,
        "all.tacozip",
        &[&labels[..], &["--keep-siblings"]].concat(),
    );
    check_bytes(&workspace, &whole, &part, 18);
    let deep = dataset("05_nested3_zip", "stack.tacozip");
    let one = export(&workspace, &deep, "deep.tacozip", &["--limit", "1"]);
    assert_eq!(
        column(&workspace, &one, "SELECT count(*) AS n FROM level0"),
        ["1"]
    );
    assert_eq!(
        column(&workspace, &one, r#"SELECT DISTINCT "l0:id" FROM l2"#).len(),
        1
    );
}

/// The order of the statement decides which rows a limit takes, and the part has the order of the
/// dataset.
#[test]
fn a_limit_takes_the_first_rows_of_the_statement() {
    let workspace = Workspace::new();
    let whole = dataset("04_nested2_folder", "change");
    let descending = "SELECT id FROM data ORDER BY id DESC";
    let all = column(&workspace, &whole, "SELECT id FROM data ORDER BY id DESC");
    for (name, arguments, from, count) in [
        ("best", vec!["--sql", descending, "--limit", "2"], 0, 2),
        (
            "inside",
            vec![
                "--sql",
                "SELECT id FROM data ORDER BY id DESC LIMIT 2 OFFSET 1",
            ],
            1,
            2,
        ),
        (
            "both",
            vec![
                "--sql",
                "SELECT id FROM data ORDER BY id DESC LIMIT 3 OFFSET 1",
                "--limit",
                "2",
            ],
            1,
            2,
        ),
        (
            "filtered",
            vec![
                "--where",
                "id < 'scene_05'",
                "--sql",
                descending,
                "--limit",
                "1",
            ],
            2,
            1,
        ),
        (
            "twice",
            vec![
                "--sql",
                "SELECT id FROM l1_ids ORDER BY id DESC",
                "--limit",
                "2",
            ],
            0,
            2,
        ),
        (
            "more",
            vec!["--sql", descending, "--limit", "100"],
            0,
            all.len(),
        ),
    ] {
        let sql = arguments
            .iter()
            .map(|word| word.replace("l1_ids", r#"(SELECT "l0:id" AS id FROM l1)"#))
            .collect::<Vec<_>>();
        let arguments: Vec<&str> = sql.iter().map(String::as_str).collect();
        let part = export(&workspace, &whole, &format!("{name}.tacozip"), &arguments);
        let mut wanted = all[from..from + count].to_vec();
        wanted.reverse();
        assert_eq!(
            column(&workspace, &part, "SELECT id FROM data"),
            wanted,
            "{name}"
        );
    }
    let ids = [
        "--ids",
        "scene_01,scene_03",
        "--sql",
        descending,
        "--limit",
        "1",
    ];
    let part = export(&workspace, &whole, "ids.tacozip", &ids);
    assert_eq!(
        column(&workspace, &part, "SELECT id FROM data"),
        ["scene_03"]
    );
    // The same rows by `query`, whose limit comes after the statement.
    let arguments: [&OsStr; 7] = [
        "query".as_ref(),
        whole.as_os_str(),
        "--csv".as_ref(),
        "--sql".as_ref(),
        descending.as_ref(),
        "--limit".as_ref(),
        "2".as_ref(),
    ];
    let rows = workspace.studio(arguments).expect_code(0).stdout;
    assert_eq!(rows.lines().skip(1).collect::<Vec<_>>(), all[..2]);
}

#[test]
fn exports_that_no_reader_could_open_are_refused() {
    let workspace = Workspace::new();
    let whole = dataset("04_nested2_folder", "change");
    let uneven = r#"id = 'label.tif' OR "internal:parent_id" = 0"#;
    for (arguments, words) in [
        (
            ["--where", uneven, "--level", "1"].as_slice(),
            "--keep-siblings",
        ),
        (&["--ids", "nobody"], "no sample nobody"),
        (&["--where", "id = 'nobody'"], "no sample is left"),
        (&["--sql", "SELECT type FROM data"], "no column id"),
    ] {
        let out = workspace.path("refused.tacozip");
        let ran = run(&workspace, &whole, &out, arguments).expect_code(2);
        assert!(ran.stderr.contains(words), "{ran}");
        assert!(!out.exists());
    }
}

#[test]
fn parts_of_an_index_are_datasets_that_the_official_reader_opens() {
    let workspace = Workspace::new();
    let padded = dataset("27_v018_parts_tacocat", "__TACOCAT__");
    let split = dataset("09_split_tacocat", ".tacocat");
    for (index, name, arguments, rows) in [
        (
            &split,
            "split.tacozip",
            &["--ids", "scene_05,scene_02"][..],
            6,
        ),
        (
            &padded,
            "dropped.tacozip",
            &["--ids", "scene_05,scene_02"],
            6,
        ),
        (
            &padded,
            "kept.tacozip",
            &["--ids", "scene_05,scene_02", "--keep-padding"],
            8,
        ),
        (
            &padded,
            "labels.tacozip",
            &["--where", "id = 'label.tif'", "--level", "1"],
            6,
        ),
    ] {
        let part = export(&workspace, index, name, arguments);
        assert_eq!(
            column(&workspace, &part, "SELECT id FROM level1").len(),
            rows,
            "{name}"
        );
        super::interop::expect_ok(workspace.python("check_index.py", [part.as_os_str()]));
    }
}

#[test]
fn a_part_that_validate_refuses_is_not_written() {
    let workspace = Workspace::new();
    let whole = workspace.path("whole");
    let from = dataset("04_nested2_folder", "change");
    for name in crate::support::files_below(&from) {
        workspace.write(
            &format!("whole/{name}"),
            std::fs::read(from.join(&name)).expect("reads"),
        );
    }
    let collection = std::fs::read_to_string(whole.join("COLLECTION.json")).expect("reads");
    let mut collection: Value = serde_json::from_str(&collection).expect("JSON");
    collection["licenses"] = Value::from(7);
    workspace.write("whole/COLLECTION.json", collection.to_string());
    let out = workspace.path("part.tacozip");
    let refused = run(&workspace, &whole, &out, &["--limit", "2"]).expect_code(2);
    assert!(
        refused.stderr.contains("licenses") && !out.exists(),
        "{refused}"
    );
}

/// With a stated time, the same call gives the same bytes at any time and on every system.
#[test]
fn a_part_of_a_stated_time_can_be_made_again_byte_by_byte() {
    let workspace = Workspace::new();
    let whole = dataset("05_nested3_zip", "stack.tacozip");
    let made = |name: &str, time: &str| {
        let out = workspace.path(name);
        let arguments: [&OsStr; 6] = [
            "export".as_ref(),
            whole.as_os_str(),
            "-o".as_ref(),
            out.as_os_str(),
            "--limit".as_ref(),
            "2".as_ref(),
        ];
        workspace
            .studio_with(&[("SOURCE_DATE_EPOCH", time)], arguments)
            .expect_code(0);
        sha256_of(&out)
    };
    let first = made("first.tacozip", "1700000000");
    std::thread::sleep(std::time::Duration::from_millis(5));
    assert_eq!(first, made("again.tacozip", "1700000000"));
    assert_ne!(first, made("later.tacozip", "1700000001"));
    let part = workspace.path("first.tacozip");
    let archive = std::fs::read(&part).expect("reads");
    let stated = b"2023-11-14T22:13:20";
    assert!(
        archive.windows(stated.len()).any(|bytes| bytes == stated),
        "the stated time is written"
    );
}
