//! Every container format written from every golden dataset, checked against the specification by a script that is independent of
//! the studio and the official reader. `TACO_STUDIO_CHECKER` names an additional checker, called with each path and `--strict`.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::support::{Workspace, entries, fixtures, python};

/// (name, path) of the golden ZIP and FOLDER datasets.
fn datasets() -> Vec<(String, PathBuf)> {
    let mut found = Vec::new();
    for folder in fixtures("golden", "TACO_STUDIO_GOLDEN") {
        let Ok(text) = std::fs::read_to_string(folder.join("expected.json")) else { continue };
        let expected: Value = serde_json::from_str(&text).expect("expected.json");
        let set = folder.file_name().expect("a name").to_string_lossy().into_owned();
        for (name, _) in
            expected.as_object().expect("datasets").iter().filter(|(_, one)| one["kind"] == "zip" || one["kind"] == "folder")
        {
            found.push((format!("{set}_{}", name.replace('.', "_")), folder.join(name)));
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
        .map(|line| serde_json::from_str::<Value>(line).expect("a row")["id"].as_str().expect("an id").to_owned())
        .collect();
    if ids.len() < 2 {
        return made;
    }
    let (some, others): (Vec<_>, Vec<_>) = ids.iter().enumerate().partition(|(at, _)| at % 2 == 0);
    let chosen = |ids: Vec<(usize, &String)>| ids.into_iter().map(|(_, id)| id.as_str()).collect::<Vec<_>>().join(",");
    let (some, others) = (chosen(some), chosen(others));
    for (ids, ending) in [(&some, "e.tacozip"), (&others, "o.tacozip"), (&some, "e")] {
        let out = workspace.path(&format!("{name}_{ending}"));
        run(workspace, &["export", input, "-o", text(&out), "--ids", ids]);
        made.push(out);
    }
    let halves = [made[2].clone(), made[3].clone()];
    for ending in ["j.tacozip", "j"] {
        let out = workspace.path(&format!("{name}_{ending}"));
        run(workspace, &["concat", text(&halves[0]), text(&halves[1]), "-o", text(&out)]);
        made.push(out);
    }
    let parts = workspace.path(&format!("{name}_parts"));
    let target = parts.join("part.tacozip");
    let joined = ["--split-size", "1B", "--consolidate", "tacocat,single-file,tacollection"];
    run(workspace, &[&["convert", input, text(&target)][..], &joined].concat());
    let mut beside = entries(&parts);
    beside.sort();
    // Padding has size 0, so all of it is in one part.
    let all = workspace.studio(["query", input, "--json", "--sql", "SELECT id FROM level0"]).expect_code(0);
    let padded = usize::from(all.stdout.contains("__TACOPAD"));
    assert_eq!(beside.len(), ids.len() + padded + 3, "{name}: a part for each sample, and three indexes: {beside:?}");
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
    let Some(checker) = std::env::var_os("TACO_STUDIO_CHECKER") else { return };
    let mut wrong = String::new();
    for path in &made {
        let mut command = Command::new(python());
        let ran = command.arg(&checker).arg(path).args(["--strict", "-q"]).output().expect("the checker runs");
        if !ran.status.success() {
            wrong += &format!("{}:\n{}\n", path.display(), String::from_utf8_lossy(&ran.stdout));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn the_checking_script_detects_errors() {
    let workspace = Workspace::new();
    let name = |(name, _): &(String, PathBuf)| name.starts_with("13_refbug");
    let (_, unsorted) = datasets().into_iter().find(name).expect("the archive with wrong offsets");
    let ran = workspace.python("containers.py", [&unsorted]);
    assert!(ran.code() == 1 && ran.stdout.contains("place of DATA/"), "{ran}");
}
