//! Damaged input with one fault per file: every command ends quickly with a reason, never with a
//! panic. `TACO_STUDIO_BROKEN` selects another folder of damaged datasets.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::support::{Ran, Workspace, entries, fixtures, flat_scenes};

/// Input paths of one case: its parts, a folder dataset, or the folder itself when it has an index.
fn inputs(case: &Path) -> Vec<PathBuf> {
    let mut inputs = entries(case);
    let parts_table = |path: &PathBuf| {
        [".tacocat", "__TACOCAT__", "TACOLLECTION.json"]
            .iter()
            .any(|name| path.ends_with(name))
    };
    if let Some(table) = inputs.iter().find(|path| parts_table(path)) {
        return vec![if table.ends_with(".tacocat") {
            case.to_path_buf()
        } else {
            table.clone()
        }];
    }
    inputs.sort();
    inputs
}

#[track_caller]
fn expect_answer(ran: Ran, codes: &[i32]) -> Ran {
    let ran = ran.expect_no_panic();
    assert!(
        codes.contains(&ran.code()),
        "expected one of the exit codes {codes:?}: {ran}"
    );
    // Far more than a loaded machine needs: a file of a few kilobytes may make nothing hang.
    assert!(
        ran.elapsed < Duration::from_secs(20),
        "it took {:?}: {ran}",
        ran.elapsed
    );
    if ran.code() == 2 {
        assert!(
            ran.stderr.trim().len() > 10,
            "exit code 2 without a reason: {ran}"
        );
    }
    ran
}

#[test]
fn validate_finds_the_fault_or_gives_a_reason() {
    let workspace = Workspace::new();
    for case in fixtures("broken", "TACO_STUDIO_BROKEN") {
        let mut arguments = vec!["validate".into()];
        arguments.extend(inputs(&case).into_iter().map(PathBuf::into_os_string));
        arguments.extend(["--deep".into(), "--json".into()]);
        let ran = expect_answer(workspace.studio(arguments), &[1, 2]);
        if ran.code() == 1 {
            let report = ran.json();
            let reports = report.as_array().cloned().unwrap_or_else(|| vec![report]);
            let findings = reports
                .iter()
                .flat_map(|report| report["findings"].as_array().expect("findings"));
            let named = findings.filter(|finding| {
                finding["severity"] == "error"
                    && finding["rule"]
                        .as_str()
                        .is_some_and(|rule| !rule.is_empty())
            });
            assert!(
                named.count() > 0,
                "exit code 1 without an error finding: {ran}"
            );
            assert!(
                reports.iter().any(|report| report["valid"] == false),
                "exit code 1 and nothing invalid: {ran}"
            );
        }
    }
}

#[test]
fn inspect_and_read_never_crash() {
    let workspace = Workspace::new();
    for case in fixtures("broken", "TACO_STUDIO_BROKEN") {
        for input in inputs(&case) {
            expect_answer(
                workspace.studio(["inspect".as_ref(), input.as_os_str(), "--json".as_ref()]),
                &[0, 1, 2],
            );
            expect_answer(
                workspace.studio([
                    "read".as_ref(),
                    input.as_os_str(),
                    "no/such/sample".as_ref(),
                ]),
                &[2],
            );
        }
    }
}

#[test]
fn cut_anywhere_a_dataset_still_gets_an_answer() {
    let workspace = Workspace::new();
    let whole = std::fs::read(
        crate::support::tests_folder().join("fixtures/golden/11_columns_zip/cols.tacozip"),
    )
    .expect("a fixture");
    let step = whole.len() / 24;
    for length in (0..whole.len()).step_by(step) {
        let path = workspace.write("cut.tacozip", &whole[..length]);
        expect_answer(
            workspace.studio(["validate".as_ref(), path.as_os_str(), "--deep".as_ref()]),
            &[1, 2],
        );
        expect_answer(
            workspace.studio(["inspect".as_ref(), path.as_os_str()]),
            &[0, 1, 2],
        );
    }
}

#[test]
fn formats_that_are_only_recognised_are_named() {
    let workspace = Workspace::new();
    let legacy = |magic: &[u8]| {
        let mut bytes = magic.to_vec();
        bytes.resize(400, 0);
        bytes
    };
    let mut third =
        b"PK\x03\x04\x0a\0\0\0\0\0\0\0\0\0\0\0\0\0\x04\0\0\0\x04\0\0\0\x09\0\0\0__cozip__".to_vec();
    third.resize(400, 0);
    workspace.write("parts/.tacocat/COLLECTION.json", "{}");
    let cases = [
        (workspace.write("old.bin", legacy(b"#y")), "tortilla"),
        (workspace.write("older.zip", legacy(b"WX")), "taco"),
        (
            workspace.write("__TACOCAT__", legacy(b"TACOCAT\0")),
            "tacocat",
        ),
        (workspace.write("next.zip", third), "taco"),
        (workspace.path("parts"), "tacocat"),
    ];
    for (path, name) in cases {
        let ran = workspace
            .studio(["inspect".as_ref(), path.as_os_str(), "--json".as_ref()])
            .expect_no_panic();
        let said = format!("{}{}", ran.stdout, ran.stderr).to_lowercase();
        assert!(
            said.contains(name),
            "{} is not named {name}: {ran}",
            path.display()
        );
    }
}

#[test]
fn other_files_are_refused_with_the_path() {
    let workspace = Workspace::new();
    std::fs::create_dir(workspace.path("empty")).expect("a folder");
    for path in [
        workspace.path("missing.tacozip"),
        workspace.path("empty"),
        workspace.write("text.tacozip", "not a dataset"),
    ] {
        // `validate` reports a finding; other commands fail.
        for (verb, codes) in [("inspect", &[2][..]), ("read", &[2]), ("validate", &[1, 2])] {
            let ran = expect_answer(workspace.studio([verb.as_ref(), path.as_os_str()]), codes);
            let name = path.file_name().expect("a name").to_string_lossy();
            assert!(
                format!("{}{}", ran.stdout, ran.stderr).contains(&*name),
                "the message does not say which path: {ran}"
            );
        }
    }
}

/// A copy has all fields of its source's collection or is not made; only `repair` writes one
/// without them.
#[test]
fn a_collection_that_can_t_be_read_is_in_no_copy() {
    let workspace = Workspace::new();
    flat_scenes(&workspace, 2);
    let in_folder = |arguments: &str| {
        workspace.studio(arguments.split(' ').map(|word| {
            if word.contains('/') {
                workspace
                    .path(word.trim_start_matches("./"))
                    .into_os_string()
            } else {
                word.into()
            }
        }))
    };
    in_folder("create ./scenes -o ./set.tacozip --collection ./collection.json").expect_code(0);
    in_folder("convert ./set.tacozip ./set").expect_code(0);
    for collection in [Some("{\"id\": "), None] {
        match collection {
            Some(text) => {
                std::fs::write(workspace.path("set/COLLECTION.json"), text).expect("writes")
            }
            None => std::fs::remove_file(workspace.path("set/COLLECTION.json")).expect("removes"),
        }
        let copies = [
            "convert ./set ./copy.tacozip",
            "export ./set -o ./copy.tacozip --limit 1",
            "compile ./set -o ./copy.taco",
            "extend ./set -o ./copy.tacozip --with content_hash",
            "optimise ./set -o ./copy.tacozip",
            "concat ./set ./set.tacozip -o ./copy.tacozip",
            "edit ./set --set title=New",
        ];
        for verb in copies {
            let ran = in_folder(verb).expect_code(2);
            assert!(ran.stderr.contains("COLLECTION.json"), "{ran}");
            assert!(
                !workspace.path("copy.tacozip").exists() && !workspace.path("copy.taco").exists(),
                "{verb}"
            );
        }
        let repaired =
            in_folder("repair ./set -o ./repaired.tacozip --overwrite").expect_no_panic();
        assert!(workspace.path("repaired.tacozip").is_file(), "{repaired}");
    }
}
