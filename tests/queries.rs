//! Filters, cascades and views through the command line: on datasets of the official tools the answers must be the correct ones
//! that an independent script wrote down in `queries.json`. `TACO_STUDIO_GOLDEN` names another folder to go through instead.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::{Workspace, fixtures};

/// Calls `check(dataset, answers, fixture name)` for every dataset with answers that this program opens.
fn each_dataset(mut check: impl FnMut(&Path, &Value, &str)) {
    let mut seen = 0;
    for folder in fixtures("golden", "TACO_STUDIO_GOLDEN") {
        let Ok(text) = fs::read_to_string(folder.join("queries.json")) else { continue };
        let answers: Value = serde_json::from_str(&text).expect("queries.json");
        for (name, answers) in answers.as_object().expect("an object of datasets") {
            if matches!(answers["format"].as_str(), Some("zip" | "folder")) && folder.join(name).exists() {
                check(&folder.join(name), answers, &format!("{}/{name}", folder.file_name().expect("a name").to_string_lossy()));
                seen += 1;
            }
        }
    }
    assert!(seen >= 9, "only {seen} datasets with answers");
}

fn rows(workspace: &Workspace, dataset: &Path, arguments: &[String]) -> Vec<Value> {
    let fixed = ["query".to_owned(), dataset.display().to_string(), "--json".to_owned()];
    let ran = workspace.studio(fixed.iter().chain(arguments)).expect_code(0);
    ran.stdout.lines().filter(|line| !line.is_empty()).map(|line| serde_json::from_str(line).expect("a JSON row")).collect()
}

fn ids(workspace: &Workspace, dataset: &Path, arguments: &[String]) -> Vec<Value> {
    rows(workspace, dataset, arguments).into_iter().map(|row| row["id"].clone()).collect()
}

fn sorted(mut ids: Vec<Value>) -> Vec<Value> {
    ids.sort_by_key(Value::to_string);
    ids
}

#[test]
fn boxes_and_times_answer_as_they_should_at_every_level() {
    let workspace = Workspace::new();
    let mut asked = 0;
    each_dataset(|dataset, answers, fixture| {
        for (kind, key) in [("bbox", "bbox"), ("datetime", "range")] {
            for case in answers[kind].as_array().into_iter().flatten() {
                let Some(correct) = case["correct"].as_array() else { continue };
                let given = match &case[key] {
                    Value::Array(numbers) => numbers.iter().map(Value::to_string).collect::<Vec<_>>().join(","),
                    text => text.as_str().expect("a range").to_owned(),
                };
                let level = case["level"].to_string();
                let arguments = |sql: &str| {
                    let fixed = [format!("--{kind}={given}"), "--level".into(), level.clone(), "--sql".into(), sql.into()];
                    fixed.to_vec()
                };
                let found = ids(&workspace, dataset, &arguments("SELECT id FROM data"));
                assert_eq!(sorted(found), sorted(correct.clone()), "{fixture}: {kind} {given} at level {level}");
                if let Some(wanted) = case["rows_at_level"].as_u64() {
                    let count = rows(&workspace, dataset, &arguments(&format!("SELECT count(*) AS n FROM level{level}")));
                    assert_eq!(count[0]["n"], wanted, "{fixture}: rows of {kind} {given} at level {level}");
                }
                asked += 1;
            }
        }
    });
    assert!(asked > 20, "only {asked} questions");
}

#[test]
fn views_have_the_columns_and_rows_that_they_should() {
    let workspace = Workspace::new();
    each_dataset(|dataset, answers, fixture| {
        let found = ids(&workspace, dataset, &["--sql".into(), "SELECT id FROM data".into()]);
        assert_eq!(sorted(found), sorted(answers["ids"].as_array().expect("ids").clone()), "{fixture}: ids");
        for (view, wanted) in answers["views"].as_object().into_iter().flatten() {
            let Some(count) = wanted["rows_correct"].as_u64() else { continue };
            let found = rows(&workspace, dataset, &["--sql".into(), format!("SELECT count(*) AS n FROM {view}")]);
            assert_eq!(found[0]["n"], count, "{fixture}: rows of {view}");
        }
    });
}

#[test]
fn fields_tell_nulls_and_bounds_from_the_footer() {
    let workspace = Workspace::new();
    each_dataset(|dataset, _, fixture| {
        let listed = workspace.studio(["fields".as_ref(), dataset.as_os_str(), "--json".as_ref()]).expect_code(0).json();
        for field in listed.as_array().expect("a list") {
            let (level, name) = (field["level"].as_u64().expect("a level"), field["name"].as_str().expect("a name"));
            let Some(nulls) = field["nulls"].as_u64() else { continue };
            let sql = format!("SELECT count(*) - count(\"{name}\") AS n FROM level{level}");
            let found = rows(&workspace, dataset, &["--sql".into(), sql]);
            assert_eq!(found[0]["n"], nulls, "{fixture}: nulls of {name} in level {level}");
        }
        let id = listed.as_array().and_then(|fields| fields.iter().find(|field| field["name"] == "id")).expect("an id");
        assert!(id["min"].as_str() <= id["max"].as_str() && id["min"].is_string(), "{fixture}: {id}");
    });
}

#[test]
fn rows_are_written_to_a_file_in_the_format_of_its_name() {
    let workspace = Workspace::new();
    let mut done = false;
    each_dataset(|dataset, _, _| {
        if done {
            return;
        }
        done = true;
        for name in ["rows.csv", "rows.json", "rows.parquet"] {
            let out = workspace.path(name);
            workspace.studio(["query".as_ref(), dataset.as_os_str(), "-o".as_ref(), out.as_os_str()]).expect_code(0);
            let bytes = fs::read(&out).expect("the rows");
            assert!(!bytes.is_empty() && (name != "rows.parquet" || bytes.starts_with(b"PAR1")), "{name}");
        }
        workspace.studio(["query".as_ref(), dataset.as_os_str(), "--format=parquet".as_ref()]).expect_code(2);
        workspace.studio(["query".as_ref(), dataset.as_os_str(), "--bbox=0,10,1,9".as_ref()]).expect_code(2);
    });
}
