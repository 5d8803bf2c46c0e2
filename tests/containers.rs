//! Every container format written from every golden dataset, checked against the specification by a
//! script that is independent of the studio and the official reader. `TACO_STUDIO_CHECKER` names an
//! additional checker, called with each path and `--strict`.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::support::{Workspace, entries, fixtures, python};

/// (name, path) of the golden ZIP and FOLDER datasets.
fn datasets() -> Vec<(String, PathBuf)> {
    let mut found = Vec::new();
    for folder in fixtures("golden", "TACO_STUDIO_GOLDEN") {
        let Ok(text) = std::fs::read_to_string(folder.join("expected.json")) else {
            continue;
        };
        let expected: Value = serde_json::from_str(&text).expect("expected.json");
        let set = folder
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        for (name, _) in expected
            .as_object()
            .expect("datasets")
            .iter()
            .filter(|(_, one)| one["kind"] == "zip" || one["kind"] == "folder")
        {
            found.push((
                format!("{set}_{}", name.replace('.', "_")),
                folder.join(name),
            ));
        }
    }
    found
}

fn run(workspace: &Workspace, arguments: &[&str]) {
    workspace.studio(arguments).expect_code(0);
}

fn text(path: &Path) -> &str {
    path.to_str().expect("text")
}

/// Every output written from one dataset.
fn written(workspace: &Workspace, name: &str, dataset: &Path) -> Vec<PathBuf> {
    let input = text(dataset);
    let mut made = Vec::new();
    for ending in ["c.tacozip", "c"] {
        let out = workspace.path(&format!("{name}_{ending}"));
        run(workspace, &["convert", input, text(&out)]);
        made.push(out);
    }
    let query = ["query", input, "--json", "--sql", "SELECT id FROM data"];
    let listed = workspace.studio(query).expect_code(0);
    let ids: Vec<String> = listed
        .stdout
        .lines()
        .map(|line| {
            serde_json::from_str::<Value>(line).expect("a row")["id"]
                .as_str()
                .expect("an id")
                .to_owned()
        })
        .collect();
    if ids.len() < 2 {
        return made;
    }
    let (some, others): (Vec<_>, Vec<_>) = ids.iter().enumerate().partition(|(at, _)| at % 2 == 0);
    let chosen = |ids: Vec<(usize, &String)>| {
        ids.into_iter()
            .map(|(_, id)| id.as_str())
            .collect::<Vec<_>>()
            .join(",")
    };
    let (some, others) = (chosen(some), chosen(others));
    for (ids, ending) in [(&some, "e.tacozip"), (&others, "o.tacozip"), (&some, "e")] {
        let out = workspace.path(&format!("{name}_{ending}"));
        run(
            workspace,
            &["export", input, "-o", text(&out), "--ids", ids],
        );
        made.push(out);
    }
    let halves = [made[2].clone(), made[3].clone()];
    for ending in ["j.tacozip", "j"] {
        let out = workspace.path(&format!("{name}_{ending}"));
        run(
            workspace,
            &[
                "concat",
                text(&halves[0]),
                text(&halves[1]),
                "-o",
                text(&out),
            ],
        );
        made.push(out);
    }
    let parts = workspace.path(&format!("{name}_parts"));
    let target = parts.join("part.tacozip");
    let joined = [
        "--split-size",
        "1B",
        "--consolidate",
        "tacocat,single-file,tacollection",
    ];
    run(
        workspace,
        &[&["convert", input, text(&target)][..], &joined].concat(),
    );
    let mut beside = entries(&parts);
    beside.sort();
    // Padding has size 0, so all of it is in one part.
    let all = workspace
        .studio(["query", input, "--json", "--sql", "SELECT id FROM level0"])
        .expect_code(0);
    let padded = usize::from(all.stdout.contains("__TACOPAD"));
    assert_eq!(
        beside.len(),
        ids.len() + padded + 3,
        "{name}: a part for each sample, and three indexes: {beside:?}"
    );
    made.extend(beside);
    made
}

#[test]
fn all_that_is_written_is_as_the_specification_asks() {
    let workspace = Workspace::new();
    let mut made = Vec::new();
    for (name, dataset) in datasets() {
        made.extend(written(&workspace, &name, &dataset));
    }
    assert!(made.len() > 100, "only {} containers", made.len());
    let ran = workspace.python("containers.py", &made);
    assert!(ran.code() == 0 && ran.stdout.starts_with("ok: "), "{ran}");
    let Some(checker) = std::env::var_os("TACO_STUDIO_CHECKER") else {
        return;
    };
    let mut wrong = String::new();
    for path in &made {
        let mut command = Command::new(python());
        let ran = command
            .arg(&checker)
            .arg(path)
            .args(["--strict", "-q"])
            .output()
            .expect("the checker runs");
        if !ran.status.success() {
            wrong += &format!(
                "{}:\n{}\n",
                path.display(),
                String::from_utf8_lossy(&ran.stdout)
            );
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// The specification lists `path` and `internal:relative_path` for every level; the official tools
/// write neither at level 0.
#[test]
fn the_columns_of_the_specification_are_written_when_asked_and_made_again() {
    let workspace = Workspace::new();
    let golden =
        crate::support::tests_folder().join("fixtures/golden/05_nested3_zip/stack.tacozip");
    let findings = |path: &Path, profile: &str| {
        let ran = workspace
            .studio([
                "validate",
                text(path),
                "--deep",
                "--profile",
                profile,
                "--json",
            ])
            .expect_no_panic();
        let rules: Vec<String> = ran.json()["findings"]
            .as_array()
            .expect("findings")
            .iter()
            .map(|finding| finding["rule"].as_str().expect("a rule").to_owned())
            .collect();
        rules
    };
    let values = |path: &Path, sql: &str| -> Vec<Value> {
        let ran = workspace
            .studio(["query", text(path), "--json", "--sql", sql])
            .expect_code(0);
        ran.stdout
            .lines()
            .map(|line| serde_json::from_str(line).expect("a row"))
            .collect()
    };
    let plain = workspace.path("plain.tacozip");
    run(&workspace, &["convert", text(&golden), text(&plain)]);
    let before = findings(&plain, "spec");
    assert!(before.contains(&"META-13".to_owned()), "{before:?}");
    let mut made = Vec::new();
    for name in ["text.tacozip", "text"] {
        let out = workspace.path(name);
        run(
            &workspace,
            &["convert", text(&golden), text(&out), "--profile", "spec"],
        );
        let after = findings(&out, "spec");
        assert!(!after.contains(&"META-13".to_owned()), "{name}: {after:?}");
        assert_eq!(findings(&out, "tools"), findings(&plain, "tools"), "{name}");
        let sql = r#"SELECT id, type, path, "internal:relative_path" AS relative FROM level0"#;
        for row in values(&out, sql) {
            let id = row["id"].as_str().expect("an id");
            assert_eq!(
                (&row["path"], &row["relative"]),
                (&format!("DATA/{id}/").into(), &format!("{id}/").into()),
                "{name}: {row}"
            );
        }
        for row in values(
            &out,
            r#"SELECT id, type, path, "internal:relative_path" AS relative FROM level2"#,
        ) {
            let relative = row["relative"].as_str().expect("a path");
            assert_eq!(row["path"], format!("DATA/{relative}"), "{name}: {row}");
            assert!(
                relative.ends_with(row["id"].as_str().expect("an id")),
                "{name}: {row}"
            );
        }
        // Written again without the columns, nothing of them is left.
        let again = workspace.path(&format!("again-{name}.tacozip"));
        run(&workspace, &["convert", text(&out), text(&again)]);
        let metadata = "SELECT id, type, region, score FROM level0";
        assert_eq!(values(&again, metadata), values(&plain, metadata), "{name}");
        assert_eq!(findings(&again, "spec"), before, "{name}");
        made.push(out);
    }
    let Some(checker) = std::env::var_os("TACO_STUDIO_CHECKER") else {
        return;
    };
    for path in made {
        let ran = Command::new(python())
            .arg(&checker)
            .arg(&path)
            .args(["--strict", "-q"])
            .output()
            .expect("the checker runs");
        assert!(
            ran.status.success(),
            "{}:\n{}",
            path.display(),
            String::from_utf8_lossy(&ran.stdout)
        );
    }
}

#[test]
fn the_checking_script_detects_errors() {
    let workspace = Workspace::new();
    let name = |(name, _): &(String, PathBuf)| name.starts_with("13_refbug");
    let (_, unsorted) = datasets()
        .into_iter()
        .find(name)
        .expect("the archive with wrong offsets");
    let ran = workspace.python("containers.py", [&unsorted]);
    assert!(
        ran.code() == 1 && ran.stdout.contains("place of DATA/"),
        "{ran}"
    );
}
