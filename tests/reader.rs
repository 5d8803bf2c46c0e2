//! The official reader and the studio asked the same: the reader must answer on what the studio wrote as it does on what the
//! tools wrote, and the studio must find the samples that the reader finds. One call of the reader's Python answers everything
//! for one set.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::{Workspace, fixtures};

/// What to ask of a dataset: its own questions of `queries.json`, a few of each kind and level.
fn questions(answers: &Value) -> Vec<Value> {
    let mut asked = vec![json!({"ask": "load"}), json!({"ask": "read"})];
    for (kind, key) in [("bbox", "bbox"), ("datetime", "range")] {
        for level in 0..6 {
            let cases = answers[kind].as_array().into_iter().flatten();
            let cases = cases.filter(|case| case["level"] == level && case["correct"].is_array());
            asked.extend(cases.take(5).map(|case| json!({"ask": kind, key: case[key], "level": level})));
        }
    }
    asked.push(json!({"ask": "sql", "sql": "SELECT id, type FROM data"}));
    let deepest = answers["max_depth"].as_u64().unwrap_or(0);
    for level in 0..=deepest {
        asked.push(
            json!({"ask": "sql", "sql": format!("SELECT id, type FROM level{level} WHERE NOT starts_with(id, '__TACOPAD')")}),
        );
    }
    asked
}

/// What the official reader says to each question of each dataset.
fn reader(workspace: &Workspace, asked: &[(PathBuf, Vec<Value>)]) -> Vec<Vec<Value>> {
    let list: Vec<Value> = asked.iter().map(|(path, questions)| json!({"path": path, "questions": questions})).collect();
    let file = workspace.write("asked.json", Value::from(list).to_string());
    let ran = workspace.python("answers.py", [file.as_os_str()]).expect_code(0);
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("no answers ({error}): {ran}"))
}

fn rows(workspace: &Workspace, dataset: &Path, arguments: &[String]) -> Vec<Value> {
    let fixed = ["query".to_owned(), dataset.display().to_string(), "--json".to_owned()];
    let ran = workspace.studio(fixed.iter().chain(arguments)).expect_code(0);
    ran.stdout.lines().map(|line| serde_json::from_str(line).expect("a JSON row")).collect()
}

/// The studio's answer to a filter: the ids that are left, sorted.
fn ours(workspace: &Workspace, dataset: &Path, question: &Value) -> Vec<Value> {
    let given = match &question["bbox"] {
        Value::Array(numbers) => format!("--bbox={}", numbers.iter().map(Value::to_string).collect::<Vec<_>>().join(",")),
        _ => format!("--datetime={}", question["range"].as_str().expect("a range")),
    };
    let arguments = [given, "--level".into(), question["level"].to_string(), "--sql".into(), "SELECT id FROM data".into()];
    let mut ids: Vec<Value> = rows(workspace, dataset, &arguments).into_iter().map(|row| row["id"].clone()).collect();
    ids.sort_by_key(|id| id.as_str().map(str::to_owned));
    ids
}

/// Sets with answers that the reader of today can open, with the dataset to ask about.
fn sets() -> Vec<(String, PathBuf, Value)> {
    let mut found = Vec::new();
    for folder in fixtures("golden", "TACO_STUDIO_GOLDEN") {
        let Ok(text) = fs::read_to_string(folder.join("queries.json")) else { continue };
        let answers: Value = serde_json::from_str(&text).expect("queries.json");
        for (name, answers) in answers.as_object().expect("datasets") {
            if answers["format"].is_string() && folder.join(name).exists() {
                let set = folder.file_name().expect("a name").to_string_lossy();
                found.push((format!("{set}/{name}"), folder.join(name), answers.clone()));
            }
        }
    }
    found
}

#[test]
fn the_studio_finds_what_the_official_reader_finds() {
    let workspace = Workspace::new();
    let sets = sets();
    let asked: Vec<(PathBuf, Vec<Value>)> = sets.iter().map(|(_, path, answers)| (path.clone(), questions(answers))).collect();
    let theirs = reader(&workspace, &asked);
    let mut compared = 0;
    for ((name, path, _), ((_, questions), answers)) in sets.iter().zip(asked.iter().zip(&theirs)) {
        for (question, answer) in questions.iter().zip(answers) {
            // A defect of the reader is no answer.
            if answer.get("error").is_some() || !["bbox", "datetime"].contains(&question["ask"].as_str().expect("a kind")) {
                continue;
            }
            assert_eq!(Value::from(ours(&workspace, path, question)), answer["ids"], "{name}: {question}");
            compared += 1;
        }
    }
    assert!(compared > 60, "only {compared} filters");
}

/// Everything that the studio makes of a dataset without changing what it says.
fn rewritten(workspace: &Workspace, name: &str, dataset: &Path) -> Vec<PathBuf> {
    let stem = name.replace(['/', '.'], "_");
    let mut made = Vec::new();
    let verbs: [(&str, &[&str], String); 4] = [
        ("convert", &[], format!("{stem}_c.tacozip")),
        ("convert", &[], format!("{stem}_c")),
        ("repair", &["-o"], format!("{stem}_r.tacozip")),
        ("export", &["--keep-padding", "-o"], format!("{stem}_e")),
    ];
    for (verb, options, target) in verbs {
        let out = workspace.path(&target);
        let mut arguments = vec![verb.to_owned(), dataset.display().to_string()];
        arguments.extend(options.iter().map(|option| (*option).to_owned()));
        arguments.push(out.display().to_string());
        workspace.studio(&arguments).expect_code(0);
        made.push(out);
    }
    made
}

#[test]
fn the_official_reader_answers_on_ours_as_on_the_tools_own() {
    let workspace = Workspace::new();
    let mut compared = 0;
    for (name, path, answers) in sets().into_iter().filter(|(_, _, answers)| answers["format"] != "tacocat") {
        let questions = questions(&answers);
        let mut asked = vec![(path.clone(), questions.clone())];
        asked.extend(rewritten(&workspace, &name, &path).into_iter().map(|path| (path, questions.clone())));
        let found = reader(&workspace, &asked);
        for ((made, _), answers) in asked.iter().zip(&found).skip(1) {
            for ((question, original), answer) in questions.iter().zip(&found[0]).zip(answers) {
                // Bytes by wrong offsets are what the studio puts right.
                let mended = name.contains("refbug") && question["ask"] == "read";
                if original.get("error").is_some() || mended {
                    continue;
                }
                assert_eq!(answer, original, "{name} as {}: {question}", made.display());
                compared += 1;
            }
        }
    }
    assert!(compared > 200, "only {compared} answers");
}

#[test]
fn the_official_reader_answers_on_our_index_as_on_the_tools_own() {
    let workspace = Workspace::new();
    let mut compared = 0;
    for (name, path, answers) in sets().into_iter().filter(|(_, _, answers)| answers["format"] == "tacocat") {
        let folder = workspace.path(&name.replace('/', "_"));
        fs::create_dir(&folder).expect("a folder");
        let parts = crate::support::entries(path.parent().expect("a folder"));
        let mut arguments = vec!["tacocat".to_owned()];
        for part in parts.iter().filter(|part| part.extension().is_some_and(|extension| extension == "tacozip")) {
            let copy = folder.join(part.file_name().expect("a name"));
            fs::copy(part, &copy).expect("copies");
            arguments.push(copy.display().to_string());
        }
        arguments.extend(["-o".to_owned(), folder.display().to_string()]);
        workspace.studio(&arguments).expect_code(0);
        let questions = questions(&answers);
        let found = reader(&workspace, &[(path, questions.clone()), (folder.join(".tacocat"), questions.clone())]);
        for ((question, original), answer) in questions.iter().zip(&found[0]).zip(&found[1]) {
            if original.get("error").is_none() {
                assert_eq!(answer, original, "{name}: {question}");
                compared += 1;
            }
        }
    }
    assert!(compared > 10, "only {compared} answers");
}
