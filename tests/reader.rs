//! Asks the official reader and the studio the same questions. The reader must give equal answers
//! on datasets that the studio and the official tools wrote, and the studio must find the samples
//! that the reader finds. One call of the reader's Python answers the questions about several
//! datasets.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::{Workspace, copy_zips, days_of, fixtures, zips_in};

/// Questions about a dataset: at most five of each kind and level from `queries.json`, whose entry
/// for the dataset is `recorded`, and statements of SQL.
fn list_questions(recorded: &Value) -> Vec<Value> {
    let mut questions = vec![json!({"ask": "load"}), json!({"ask": "read"})];
    for (kind, key) in [("bbox", "bbox"), ("datetime", "range")] {
        for level in 0..6 {
            let cases = recorded[kind].as_array().into_iter().flatten();
            let cases = cases.filter(|case| case["level"] == level && case["correct"].is_array());
            questions.extend(
                cases
                    .take(5)
                    .map(|case| json!({"ask": kind, key: case[key], "level": level})),
            );
        }
    }
    let deepest = recorded["max_depth"].as_u64().unwrap_or(0);
    // The reader's flat views over an index ignore the part, which multiplies rows.
    let are_flat_views_right = recorded["format"] != "tacocat";
    let mut statements = vec![
        "SELECT id, type FROM data".to_owned(),
        "SELECT type, count(*) AS n FROM data GROUP BY type".to_owned(),
    ];
    for level in 0..=deepest {
        statements.push(format!(
            "SELECT id, type FROM level{level} WHERE NOT starts_with(id, '__TACOPAD')"
        ));
        if are_flat_views_right && level > 0 {
            statements.push(format!(
                "SELECT \"l{level}:id\", \"l0:id\", \"l{level}:type\" FROM l{level} WHERE NOT \
                    starts_with(\"l{level}:id\", '__TACOPAD')"
            ));
        }
    }
    questions.extend(
        statements
            .into_iter()
            .map(|sql| json!({"ask": "sql", "sql": sql})),
    );
    questions
}

/// The official reader's answers for each dataset, one for each question; the paths of one dataset
/// are opened together.
fn ask_reader(workspace: &Workspace, asked: &[(Vec<PathBuf>, Vec<Value>)]) -> Vec<Vec<Value>> {
    let path_or_list = |paths: &[PathBuf]| match paths {
        [path] => json!(path),
        _ => json!(paths),
    };
    let list: Vec<Value> = asked
        .iter()
        .map(|(paths, questions)| json!({"path": path_or_list(paths), "questions": questions}))
        .collect();
    let file = workspace.write("asked.json", Value::from(list).to_string());
    let ran = workspace
        .python("answers.py", [file.as_os_str()])
        .expect_code(0);
    let answers: Vec<Vec<Value>> = serde_json::from_str(&ran.stdout)
        .unwrap_or_else(|error| panic!("no answers ({error}): {ran}"));
    // The comparisons pair questions and answers, and would skip what is missing.
    let asked_counts: Vec<usize> = asked.iter().map(|(_, questions)| questions.len()).collect();
    let answer_counts: Vec<usize> = answers.iter().map(Vec::len).collect();
    assert_eq!(answer_counts, asked_counts, "an answer for each question");
    answers
}

/// The rows that `taco-studio query` prints.
fn query_rows(workspace: &Workspace, datasets: &[PathBuf], arguments: &[String]) -> Vec<Value> {
    let paths = datasets.iter().map(|path| path.display().to_string());
    let words: Vec<String> = ["query".to_owned()]
        .into_iter()
        .chain(paths)
        .chain(["--json".to_owned()])
        .collect();
    let ran = workspace
        .studio(words.iter().chain(arguments))
        .expect_code(0);
    ran.stdout
        .lines()
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_str(line).expect("a JSON row"))
        .collect()
}

fn sorted(mut values: Vec<Value>) -> Vec<Value> {
    values.sort_by_key(Value::to_string);
    values
}

/// The studio's answer in a form comparable to the reader's; `None` for questions that only the
/// reader is asked. In the reader's SQL `data` has the padding of level 0, in the studio's only
/// `level0` has it.
fn answer_of_studio(
    workspace: &Workspace,
    datasets: &[PathBuf],
    question: &Value,
    has_root_padding: bool,
) -> Option<Vec<Value>> {
    let ids = |arguments: &[String]| {
        query_rows(workspace, datasets, arguments)
            .into_iter()
            .map(|row| row["id"].clone())
            .collect::<Vec<Value>>()
    };
    let filter_arguments = |filter: String| {
        vec![
            filter,
            "--level".into(),
            question["level"].to_string(),
            "--sql".into(),
            "SELECT id FROM data".into(),
        ]
    };
    Some(sorted(match question["ask"].as_str().expect("a kind") {
        "load" => ids(&[]),
        "bbox" => {
            let numbers = question["bbox"]
                .as_array()
                .expect("numbers")
                .iter()
                .map(Value::to_string)
                .collect::<Vec<_>>();
            let mut arguments = filter_arguments(format!("--bbox={}", numbers.join(",")));
            // The reader compares centroids; the studio compares footprints by default.
            arguments.push("--by=centroid".into());
            ids(&arguments)
        }
        "datetime" => ids(&filter_arguments(format!(
            "--datetime={}",
            days_of(question["range"].as_str().expect("a range"))
        ))),
        "sql" => {
            let sql = question["sql"].as_str().expect("a statement");
            let sql = if has_root_padding {
                sql.replace("FROM data", "FROM level0")
            } else {
                sql.to_owned()
            };
            query_rows(workspace, datasets, &["--sql".into(), sql])
                .iter()
                .map(|row| row.as_object().expect("a row").values().cloned().collect())
                .collect()
        }
        _ => return None,
    }))
}

/// The reader's answer in the same form.
fn answer_of_reader(question: &Value, answer: &Value) -> Vec<Value> {
    let list = |value: &Value| {
        value
            .as_array()
            .unwrap_or_else(|| panic!("{question}: {answer}"))
            .clone()
    };
    let parsed =
        |text: &Value| serde_json::from_str(text.as_str().expect("a row as text")).expect("a row");
    sorted(match question["ask"].as_str() {
        Some("sql") => list(answer).iter().map(parsed).collect(),
        _ => list(&answer["ids"]),
    })
}

/// Compares the studio's answers on the joined `datasets` with `answers`, those of the reader;
/// returns the number of compared answers.
fn compare(
    workspace: &Workspace,
    name: &str,
    datasets: &[PathBuf],
    questions: &[Value],
    answers: &[Value],
) -> usize {
    let mut compared = 0;
    let ids = query_rows(
        workspace,
        datasets,
        &["--sql".into(), "SELECT id FROM level0".into()],
    );
    let has_root_padding = ids.iter().any(|row| {
        row["id"]
            .as_str()
            .is_some_and(|id| id.starts_with("__TACOPAD"))
    });
    for (question, answer) in questions.iter().zip(answers) {
        // The questions are valid: an error is a defect of the reader.
        if answer.get("error").is_some() {
            continue;
        }
        if let Some(found) = answer_of_studio(workspace, datasets, question, has_root_padding) {
            let wanted = answer_of_reader(question, answer);
            assert_eq!(found, wanted, "{name}: {question}");
            compared += 1;
        }
    }
    compared
}

/// A golden dataset that the current reader can open.
struct QueriedDataset {
    /// `SET/FILE`.
    name: String,
    path: PathBuf,
    /// Its entry in `queries.json`: queries with their right answers.
    recorded: Value,
}

impl QueriedDataset {
    fn is_index(&self) -> bool {
        self.recorded["format"] == "tacocat"
    }

    /// Its name as the name of a file.
    fn file_stem(&self) -> String {
        self.name.replace(['/', '.'], "_")
    }
}

/// The studio corrects wrong offsets of these datasets, so that it reads other bytes.
fn are_offsets_corrected(dataset: &QueriedDataset, question: &Value) -> bool {
    dataset.name.contains("refbug") && question["ask"] == "read"
}

fn queried_datasets() -> Vec<QueriedDataset> {
    let mut found = Vec::new();
    for folder in fixtures("golden", "TACO_STUDIO_GOLDEN") {
        let Ok(text) = fs::read_to_string(folder.join("queries.json")) else {
            continue;
        };
        let queries: Value = serde_json::from_str(&text).expect("queries.json");
        for (name, recorded) in queries.as_object().expect("datasets") {
            if recorded["format"].is_string() && folder.join(name).exists() {
                let set = folder.file_name().expect("a name").to_string_lossy();
                found.push(QueriedDataset {
                    name: format!("{set}/{name}"),
                    path: folder.join(name),
                    recorded: recorded.clone(),
                });
            }
        }
    }
    found
}

/// The unit tests of queries compare their results with these answers.
#[test]
fn recorded_answers_are_those_of_duckdb() {
    let answers = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/duckdb/answers.json");
    let ran = Workspace::new()
        .python("duckdb_answers.py", [answers.as_os_str()])
        .expect_code(0);
    assert!(ran.stdout.contains(" 0 with another answer"), "{ran}");
}

#[test]
fn the_studio_finds_what_the_official_reader_finds() {
    let workspace = Workspace::new();
    let datasets = queried_datasets();
    let asked: Vec<(Vec<PathBuf>, Vec<Value>)> = datasets
        .iter()
        .map(|dataset| {
            (
                vec![dataset.path.clone()],
                list_questions(&dataset.recorded),
            )
        })
        .collect();
    let answers = ask_reader(&workspace, &asked);
    let mut compared = 0;
    for (dataset, ((paths, questions), answers)) in datasets.iter().zip(asked.iter().zip(&answers))
    {
        compared += compare(&workspace, &dataset.name, paths, questions, answers);
    }
    assert!(compared > 100, "only {compared} answers");
}

/// Writes a dataset with each verb that keeps all its data; returns the outputs.
fn write_copies(workspace: &Workspace, dataset: &QueriedDataset) -> Vec<PathBuf> {
    let stem = dataset.file_stem();
    let mut outputs = Vec::new();
    let verbs: [(&str, &[&str], String); 4] = [
        ("convert", &[], format!("{stem}_c.tacozip")),
        ("convert", &[], format!("{stem}_c")),
        ("repair", &["-o"], format!("{stem}_r.tacozip")),
        ("export", &["--keep-padding", "-o"], format!("{stem}_e")),
    ];
    for (verb, options, target) in verbs {
        let out = workspace.path(&target);
        let mut arguments = vec![verb.to_owned(), dataset.path.display().to_string()];
        arguments.extend(options.iter().map(|option| (*option).to_owned()));
        arguments.push(out.display().to_string());
        workspace.studio(&arguments).expect_code(0);
        outputs.push(out);
    }
    outputs
}

#[test]
fn the_official_reader_answers_on_our_copies_as_on_the_originals() {
    let workspace = Workspace::new();
    let mut compared = 0;
    for dataset in queried_datasets()
        .into_iter()
        .filter(|dataset| !dataset.is_index())
    {
        let questions = list_questions(&dataset.recorded);
        let mut asked = vec![(vec![dataset.path.clone()], questions.clone())];
        asked.extend(
            write_copies(&workspace, &dataset)
                .into_iter()
                .map(|copy| (vec![copy], questions.clone())),
        );
        let found = ask_reader(&workspace, &asked);
        for ((copy, _), answers) in asked.iter().zip(&found).skip(1) {
            for ((question, original), answer) in questions.iter().zip(&found[0]).zip(answers) {
                if original.get("error").is_some() || are_offsets_corrected(&dataset, question) {
                    continue;
                }
                assert_eq!(
                    answer,
                    original,
                    "{} as {}: {question}",
                    dataset.name,
                    copy[0].display()
                );
                compared += 1;
            }
        }
    }
    assert!(compared > 200, "only {compared} answers");
}

/// True for a filter of samples below level 0.
fn is_below_roots(question: &Value) -> bool {
    question["level"].as_u64().unwrap_or(0) > 0
}

#[test]
fn the_official_reader_answers_on_our_index_as_on_that_of_the_official_tools() {
    let workspace = Workspace::new();
    let mut compared = 0;
    for dataset in queried_datasets()
        .into_iter()
        .filter(QueriedDataset::is_index)
    {
        let (name, path) = (&dataset.name, &dataset.path);
        let folder = workspace.path(&dataset.file_stem());
        let parts = copy_zips(path.parent().expect("a folder"), &folder);
        for options in [&[][..], &["--single-file"]] {
            let mut arguments = vec!["tacocat".to_owned()];
            arguments.extend(parts.iter().map(|part| part.display().to_string()));
            arguments.extend(["-o".to_owned(), folder.display().to_string()]);
            arguments.extend(options.iter().map(|option| (*option).to_owned()));
            workspace.studio(&arguments).expect_code(0);
        }
        let tacollection = folder.join("TACOLLECTION.json");
        let mut arguments = vec!["tacollection".to_owned()];
        arguments.extend(parts.iter().map(|part| part.display().to_string()));
        arguments.extend(["-o".to_owned(), tacollection.display().to_string()]);
        workspace.studio(&arguments).expect_code(0);
        let questions = list_questions(&dataset.recorded);
        let asked = [
            vec![path.clone()],
            vec![folder.join(".tacocat")],
            parts.clone(),
        ]
        .map(|paths| (paths, questions.clone()));
        let found = ask_reader(&workspace, &asked);
        for ((question, original), answer) in questions.iter().zip(&found[0]).zip(&found[1]) {
            if original.get("error").is_none() {
                assert_eq!(answer, original, "{name}: {question}");
                compared += 1;
            }
        }
        // No published reader opens `__TACOCAT__` and TACOLLECTION.json; the studio's answers on
        // them must equal the reader's on the index.
        for form in [
            path.clone(),
            folder.join(".tacocat"),
            folder.join("__TACOCAT__"),
            tacollection,
        ] {
            compared += compare(
                &workspace,
                &form.display().to_string(),
                &[form],
                &questions,
                &found[0],
            );
        }
        // The parts without an index, joined by the user. The reader's filters below level 0 of
        // joined datasets find wrong parents.
        let (root_questions, root_answers): (Vec<Value>, Vec<Value>) = questions
            .iter()
            .cloned()
            .zip(found[2].iter().cloned())
            .filter(|(question, _)| !is_below_roots(question))
            .unzip();
        compared += compare(
            &workspace,
            &format!("{name} joined"),
            &parts,
            &root_questions,
            &root_answers,
        );
    }
    assert!(compared > 30, "only {compared} answers");
}

#[test]
fn the_official_reader_answers_on_our_parts_as_on_the_whole() {
    let workspace = Workspace::new();
    let mut compared = 0;
    for dataset in queried_datasets()
        .into_iter()
        .filter(|dataset| !dataset.is_index())
    {
        let (name, path) = (&dataset.name, &dataset.path);
        // Parts of a padded dataset have other numbers of padding samples, and a single sample
        // cannot be split.
        let roots = dataset.recorded["ids"].as_array().map_or(0, Vec::len);
        if roots < 2 || name.contains("pad") {
            continue;
        }
        let folder = workspace.path(&format!("{}_parts", dataset.file_stem()));
        let target = folder.join("part.tacozip");
        let arguments = [
            "convert".as_ref(),
            path.as_os_str(),
            target.as_os_str(),
            "--split-size=1B".as_ref(),
            "--consolidate=tacocat".as_ref(),
        ];
        workspace.studio(arguments).expect_code(0);
        let parts = zips_in(&folder);
        assert_eq!(parts.len(), roots, "{name}: a part for each sample");
        let index = folder.join(".tacocat");
        // As in `list_questions`: the reader's flat views over an index multiply rows.
        let questions: Vec<Value> = list_questions(&dataset.recorded)
            .into_iter()
            .filter(|question| {
                !question["sql"]
                    .as_str()
                    .is_some_and(|sql| sql.contains("\"l0:id\""))
            })
            .collect();
        let asked = [vec![path.clone()], vec![index.clone()], parts]
            .map(|paths| (paths, questions.clone()));
        let found = ask_reader(&workspace, &asked);
        for ((question, original), (indexed, joined)) in questions
            .iter()
            .zip(&found[0])
            .zip(found[1].iter().zip(&found[2]))
        {
            // The reader's filter below level 0 mixes up parts.
            if original.get("error").is_some()
                || are_offsets_corrected(&dataset, question)
                || is_below_roots(question)
            {
                continue;
            }
            assert_eq!(indexed, original, "{name} by its index: {question}");
            assert_eq!(joined, original, "{name} joined: {question}");
            compared += 2;
        }
        compared += compare(
            &workspace,
            &format!("{name} by its index"),
            &[index],
            &questions,
            &found[0],
        );
    }
    assert!(compared > 100, "only {compared} answers");
}
