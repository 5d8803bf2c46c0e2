//! Filters, cascades and views through the command line: on datasets of the official tools the
//! results must equal those that an independent script recorded in `queries.json`.
//! `TACO_STUDIO_GOLDEN` selects another folder.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::{Workspace, days_of, fixtures};

/// Calls `check(dataset, answers, fixture name)` for every dataset with answers that this program
/// opens.
fn each_dataset(mut check: impl FnMut(&Path, &Value, &str)) {
    let mut seen = 0;
    for folder in fixtures("golden", "TACO_STUDIO_GOLDEN") {
        let Ok(text) = fs::read_to_string(folder.join("queries.json")) else {
            continue;
        };
        let answers: Value = serde_json::from_str(&text).expect("queries.json");
        for (name, answers) in answers.as_object().expect("an object of datasets") {
            // Datasets that the current reader cannot open have answers without a format.
            let known = matches!(
                answers["format"].as_str(),
                Some("zip" | "folder" | "tacocat") | None
            );
            if known && folder.join(name).exists() {
                check(
                    &folder.join(name),
                    answers,
                    &format!(
                        "{}/{name}",
                        folder.file_name().expect("a name").to_string_lossy()
                    ),
                );
                seen += 1;
            }
        }
    }
    assert!(seen >= 14, "only {seen} datasets with answers");
}

fn rows(workspace: &Workspace, dataset: &Path, arguments: &[String]) -> Vec<Value> {
    let fixed = [
        "query".to_owned(),
        dataset.display().to_string(),
        "--json".to_owned(),
    ];
    let ran = workspace
        .studio(fixed.iter().chain(arguments))
        .expect_code(0);
    ran.stdout
        .lines()
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_str(line).expect("a JSON row"))
        .collect()
}

fn ids(workspace: &Workspace, dataset: &Path, arguments: &[String]) -> Vec<Value> {
    rows(workspace, dataset, arguments)
        .into_iter()
        .map(|row| row["id"].clone())
        .collect()
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
                let Some(correct) = case["correct"].as_array() else {
                    continue;
                };
                let given = match &case[key] {
                    Value::Array(numbers) => numbers
                        .iter()
                        .map(Value::to_string)
                        .collect::<Vec<_>>()
                        .join(","),
                    text => days_of(text.as_str().expect("a range")),
                };
                let level = case["level"].to_string();
                let arguments = |sql: &str| {
                    let mut fixed = vec![
                        format!("--{kind}={given}"),
                        "--level".into(),
                        level.clone(),
                        "--sql".into(),
                        sql.into(),
                    ];
                    if kind == "bbox" {
                        fixed.push("--by=centroid".into());
                    }
                    fixed
                };
                let found = ids(&workspace, dataset, &arguments("SELECT id FROM data"));
                assert_eq!(
                    sorted(found),
                    sorted(correct.clone()),
                    "{fixture}: {kind} {given} at level {level}"
                );
                if let Some(wanted) = case["rows_at_level"].as_u64() {
                    let count = rows(
                        &workspace,
                        dataset,
                        &arguments(&format!("SELECT count(*) AS n FROM level{level}")),
                    );
                    assert_eq!(
                        count[0]["n"], wanted,
                        "{fixture}: rows of {kind} {given} at level {level}"
                    );
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
        if let Some(wanted) = answers["ids"].as_array() {
            let found = ids(
                &workspace,
                dataset,
                &["--sql".into(), "SELECT id FROM data".into()],
            );
            assert_eq!(sorted(found), sorted(wanted.clone()), "{fixture}: ids");
        }
        for (view, wanted) in answers["views"].as_object().into_iter().flatten() {
            let Some(count) = wanted["rows_correct"].as_u64() else {
                continue;
            };
            let found = rows(
                &workspace,
                dataset,
                &["--sql".into(), format!("SELECT count(*) AS n FROM {view}")],
            );
            assert_eq!(found[0]["n"], count, "{fixture}: rows of {view}");
        }
    });
}

#[test]
fn every_column_of_every_level_can_be_asked_for() {
    let workspace = Workspace::new();
    each_dataset(|dataset, _, fixture| {
        let seen = workspace
            .studio(["inspect".as_ref(), dataset.as_os_str(), "--json".as_ref()])
            .expect_code(0)
            .json();
        for level in seen["levels"].as_array().expect("levels") {
            let sql = format!("SELECT * FROM level{}", level["level"]);
            let found = rows(&workspace, dataset, &["--sql".into(), sql]);
            assert_eq!(
                level["rows"],
                found.len(),
                "{fixture}: level {}",
                level["level"]
            );
            let columns = level["columns"].as_array().expect("columns");
            let lacking = columns.iter().find(|column| {
                found[0]
                    .get(column["name"].as_str().expect("a name"))
                    .is_none()
            });
            assert!(lacking.is_none(), "{fixture}: {lacking:?}");
        }
    });
}

#[test]
fn flat_views_lead_to_every_file() {
    let workspace = Workspace::new();
    let mut compared = 0;
    each_dataset(|dataset, answers, fixture| {
        let Some(all) = answers["flatten"]["paths_correct"].as_array() else {
            return;
        };
        let shown = |path: &&Value| {
            path.as_str()
                .is_some_and(|path| !path.split('/').any(|id| id.starts_with("__TACOPAD")))
        };
        let correct: Vec<Value> = all.iter().filter(shown).cloned().collect();
        let deepest = correct
            .iter()
            .filter_map(|path| path.as_str())
            .map(|path| path.matches('/').count())
            .max()
            .unwrap_or(0);
        let columns: Vec<String> = (0..=deepest)
            .map(|level| format!("\"l{level}:id\""))
            .collect();
        let vsi = format!("\"l{deepest}:internal:gdal_vsi\" AS vsi");
        let sql = format!("SELECT {}, {vsi} FROM l{deepest}", columns.join(", "));
        let found = rows(&workspace, dataset, &["--sql".into(), sql]);
        let visible = |row: &Value| {
            row.as_object().is_some_and(|row| {
                !row.values()
                    .any(|id| id.as_str().is_some_and(|id| id.starts_with("__TACOPAD")))
            })
        };
        let found: Vec<Value> = found.into_iter().filter(visible).collect();
        let path = |row: &Value| {
            let ids: Vec<&str> = (0..=deepest)
                .filter_map(|level| row[format!("l{level}:id")].as_str())
                .collect();
            Value::from(ids.join("/"))
        };
        assert_eq!(
            sorted(found.iter().map(path).collect()),
            sorted(correct.clone()),
            "{fixture}"
        );
        // Where answers contain GDAL paths, they are sorted by path, except for sets of the other
        // writer.
        let places: Vec<&str> = answers["flatten"]["gdal_vsi"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let range = |text: &str| text.split(',').next().map(str::to_owned);
        let in_archive = |place: &&str| place.starts_with("/vsisubfile/");
        if fixture.contains("upstream") && places.iter().all(in_archive) && !places.is_empty() {
            let ranges = |places: Vec<&str>| {
                sorted(
                    places
                        .into_iter()
                        .map(|place| Value::from(range(place)))
                        .collect(),
                )
            };
            let ours = found.iter().filter_map(|row| row["vsi"].as_str()).collect();
            assert_eq!(ranges(ours), ranges(places), "{fixture}");
        } else {
            for (path_, place) in all
                .iter()
                .zip(places)
                .filter(|(path, _)| shown(path) && !fixture.contains("refbug"))
            {
                let row = found
                    .iter()
                    .find(|row| path(row) == *path_)
                    .expect("just compared");
                if in_archive(&place) {
                    assert_eq!(
                        row["vsi"].as_str().and_then(range),
                        range(place),
                        "{fixture}: {path_}"
                    );
                }
            }
        }
        compared += correct.len();
    });
    assert!(compared > 100, "only {compared} paths");
}

#[test]
fn an_index_answers_as_its_parts_do() {
    let workspace = Workspace::new();
    let mut asked = 0;
    for folder in fixtures("golden", "TACO_STUDIO_GOLDEN") {
        let Ok(text) = fs::read_to_string(folder.join("queries.json")) else {
            continue;
        };
        let answers: Value = serde_json::from_str(&text).expect("queries.json");
        let indexes: Vec<_> = [".tacocat", "__TACOCAT__"]
            .into_iter()
            .map(|name| folder.join(name))
            .filter(|path| path.exists())
            .collect();
        let parts: Vec<(&String, &Value)> = answers
            .as_object()
            .expect("datasets")
            .iter()
            .filter(|(name, _)| name.ends_with(".tacozip"))
            .collect();
        for (kind, key) in [("bbox", "bbox"), ("datetime", "range")] {
            for case in parts
                .first()
                .and_then(|(_, first)| first[kind].as_array())
                .into_iter()
                .flatten()
            {
                // The same query on every part that has answers.
                let same = |(_, part): &(&String, &Value)| {
                    let cases = part[kind].as_array()?;
                    let case = cases
                        .iter()
                        .find(|other| other[key] == case[key] && other["level"] == case["level"])?;
                    case["correct"].as_array().cloned()
                };
                let Some(correct) = parts.iter().map(same).collect::<Option<Vec<_>>>() else {
                    continue;
                };
                let given = match &case[key] {
                    Value::Array(numbers) => numbers
                        .iter()
                        .map(Value::to_string)
                        .collect::<Vec<_>>()
                        .join(","),
                    text => days_of(text.as_str().expect("a range")),
                };
                for index in &indexes {
                    let mut arguments = vec![
                        format!("--{kind}={given}"),
                        "--level".into(),
                        case["level"].to_string(),
                    ];
                    if kind == "bbox" {
                        arguments.push("--by=centroid".into());
                    }
                    let found = ids(&workspace, index, &arguments);
                    assert_eq!(
                        sorted(found),
                        sorted(correct.concat()),
                        "{}: {kind} {given} at level {}",
                        index.display(),
                        case["level"]
                    );
                    asked += 1;
                }
            }
        }
    }
    assert!(asked > 10, "only {asked} questions");
}

#[test]
fn chained_statements_run_in_order_and_errors_have_positions() {
    let workspace = Workspace::new();
    let dataset = crate::support::tests_folder().join("fixtures/golden/01_flat_zip/flat.tacozip");
    let chain = |statements: &[&str]| -> Vec<String> {
        statements
            .iter()
            .flat_map(|sql| ["--sql".to_owned(), (*sql).to_owned()])
            .collect()
    };
    let first = "SELECT id, quality AS q, split FROM data WHERE quality IS NOT NULL";
    let whole = rows(
        &workspace,
        &dataset,
        &chain(&[
            first,
            "SELECT split, count(*) AS n, max(q) AS q FROM data GROUP BY split",
            "SELECT sum(n) AS n FROM data",
        ]),
    );
    let alone = rows(
        &workspace,
        &dataset,
        &chain(&["SELECT count(quality) AS n FROM data"]),
    );
    assert_eq!(whole[0]["n"], alone[0]["n"]);
    // The other tables are unchanged.
    let joined = chain(&[
        first,
        "SELECT data.id, level0.type FROM data JOIN level0 ON data.id = level0.id",
    ]);
    assert_eq!(
        Value::from(rows(&workspace, &dataset, &joined).len()),
        alone[0]["n"]
    );
    let described = rows(&workspace, &dataset, &chain(&[first, "DESCRIBE data"]));
    assert_eq!(
        described
            .iter()
            .map(|row| row["column_name"].clone())
            .collect::<Vec<_>>(),
        ["id", "q", "split"]
    );
    let failing = |statements: &[&str]| {
        let fixed = ["query".to_owned(), dataset.display().to_string()];
        workspace
            .studio(fixed.iter().chain(&chain(statements)))
            .expect_code(2)
            .stderr
    };
    let lost = failing(&[first, "SELECT id\nFROM data WHERE quality > 1"]);
    assert!(
        lost.contains("statement 2: line 2, column 17") && lost.contains("quality"),
        "{lost}"
    );
    let typo = failing(&["SELECT id FROM data WERE quality > 1"]);
    assert!(
        typo.contains("line 1, column 26") || typo.contains("line 1, column 21"),
        "{typo}"
    );
    assert!(failing(&["DESCRIBE data", "SELECT 1"]).contains("statement 1"));
}

#[test]
fn samples_are_read_by_position() {
    let workspace = Workspace::new();
    each_dataset(|dataset, answers, fixture| {
        // Rows of views are in sample order; positions count visible samples.
        let Some(ids) = answers["ids"].as_array().filter(|ids| !ids.is_empty()) else {
            return;
        };
        let last = format!("#{}", ids.len() - 1);
        let by_id = [
            "read".as_ref(),
            dataset.as_os_str(),
            std::ffi::OsStr::new(ids[ids.len() - 1].as_str().expect("an id")),
        ];
        let by_position = ["read".as_ref(), dataset.as_os_str(), last.as_ref()];
        let (by_id, by_position) = (
            workspace.studio(by_id).expect_code(0),
            workspace.studio(by_position).expect_code(0),
        );
        assert_eq!(by_id.stdout, by_position.stdout, "{fixture}");
        let beyond = format!("#{}", ids.len());
        let beyond = workspace
            .studio(["read".as_ref(), dataset.as_os_str(), beyond.as_ref()])
            .expect_code(2);
        assert!(
            beyond.stderr.contains("count from #0"),
            "{fixture}: {beyond}"
        );
    });
}

#[test]
fn fields_tell_nulls_and_bounds_from_the_footer() {
    let workspace = Workspace::new();
    each_dataset(|dataset, _, fixture| {
        let listed = workspace
            .studio(["fields".as_ref(), dataset.as_os_str(), "--json".as_ref()])
            .expect_code(0)
            .json();
        for field in listed.as_array().expect("a list") {
            let (level, name) = (
                field["level"].as_u64().expect("a level"),
                field["name"].as_str().expect("a name"),
            );
            let Some(nulls) = field["nulls"].as_u64() else {
                continue;
            };
            let sql = format!("SELECT count(*) - count(\"{name}\") AS n FROM level{level}");
            let found = rows(&workspace, dataset, &["--sql".into(), sql]);
            assert_eq!(
                found[0]["n"], nulls,
                "{fixture}: nulls of {name} in level {level}"
            );
        }
        let id = listed
            .as_array()
            .and_then(|fields| fields.iter().find(|field| field["name"] == "id"))
            .expect("an id");
        assert!(
            id["min"].as_str() <= id["max"].as_str() && id["min"].is_string(),
            "{fixture}: {id}"
        );
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
            workspace
                .studio([
                    "query".as_ref(),
                    dataset.as_os_str(),
                    "-o".as_ref(),
                    out.as_os_str(),
                ])
                .expect_code(0);
            let bytes = fs::read(&out).expect("the rows");
            assert!(
                !bytes.is_empty() && (name != "rows.parquet" || bytes.starts_with(b"PAR1")),
                "{name}"
            );
        }
        workspace
            .studio([
                "query".as_ref(),
                dataset.as_os_str(),
                "--format=parquet".as_ref(),
            ])
            .expect_code(2);
        workspace
            .studio([
                "query".as_ref(),
                dataset.as_os_str(),
                "--bbox=0,10,1,9".as_ref(),
            ])
            .expect_code(2);
    });
}

/// A duration is ISO 8601 in every output of text, in whatever unit its column stores; a Parquet
/// file keeps the type.
#[test]
fn durations_have_their_unit_in_every_output() {
    use std::sync::Arc;

    use arrow::array::{
        ArrayRef, DurationMillisecondArray, DurationSecondArray, RecordBatch, StringArray,
    };
    use taco_studio::table::{ParquetOptions, write_parquet};

    let workspace = Workspace::new();
    for scene in ["a.bin", "b.bin"] {
        workspace.write(&format!("scenes/{scene}"), scene);
    }
    workspace.write("collection.json", crate::support::COLLECTION);
    let columns: [(&str, ArrayRef); 3] = [
        ("path", Arc::new(StringArray::from(vec!["a.bin", "b.bin"]))),
        (
            "revisit",
            Arc::new(DurationSecondArray::from(vec![Some(432_000), None])),
        ),
        (
            "exposure",
            Arc::new(DurationMillisecondArray::from(vec![
                Some(2500),
                Some(-3_600_000),
            ])),
        ),
    ];
    let batch =
        RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true)))
            .expect("a batch");
    workspace.write(
        "more.parquet",
        write_parquet(&batch.schema(), &[batch], &ParquetOptions::default()).expect("writes"),
    );
    let create = [
        "create",
        "scenes",
        "-o",
        "out.tacozip",
        "--collection",
        "collection.json",
        "--metadata",
        "more.parquet",
    ];
    workspace.studio(create).expect_code(0);
    let fields = workspace
        .studio(["inspect", "out.tacozip", "--json"])
        .expect_code(0)
        .json();
    let columns = fields["levels"][0]["columns"]
        .as_array()
        .expect("columns")
        .clone();
    let types: Vec<&Value> = columns.iter().map(|column| &column["type"]).collect();
    assert!(
        types.contains(&&"duration[s]".into()) && types.contains(&&"duration[ms]".into()),
        "{fields}"
    );
    let query = |more: &[&str]| {
        workspace
            .studio(["query", "out.tacozip"].iter().chain(more))
            .expect_code(0)
            .stdout
    };
    let sql = "SELECT id, revisit, exposure FROM data ORDER BY id";
    let rows = query(&["--format", "json", "--sql", sql]);
    assert_eq!(
        rows,
        "{\"id\":\"a.bin\",\"revisit\":\"P5D\",\"exposure\":\"PT2.5S\"}\n\
            {\"id\":\"b.bin\",\"revisit\":null,\"exposure\":\"-PT1H\"}\n"
    );
    assert_eq!(
        query(&["--format", "csv", "--sql", sql]),
        "id,revisit,exposure\na.bin,P5D,PT2.5S\nb.bin,,-PT1H\n"
    );
    assert!(query(&["--sql", sql]).contains("PT2.5S"), "the table, too");
    query(&["--sql", sql, "-o", "rows.parquet"]);
    let head = taco_studio::table::TableHead::read(taco_studio::table::ParquetSlice::from_bytes(
        std::fs::read(workspace.path("rows.parquet"))
            .expect("reads")
            .into(),
    ));
    let head = head.expect("reads");
    let kept = head
        .schema()
        .fields()
        .iter()
        .filter(|field| matches!(field.data_type(), arrow::datatypes::DataType::Duration(_)));
    assert_eq!(kept.count(), 2, "{:?}", head.schema());
}

/// A dataset of two scenes whose names are decomposed, with a region in the composed form.
fn decomposed(workspace: &Workspace) {
    let names = ["Can\u{303}o\u{301}n", "Fore\u{302}t"];
    for name in names {
        crate::support::geotiff(
            &workspace.path(&format!("scenes/{name}/image.tif")),
            1,
            8,
            1,
        );
    }
    workspace.write("collection.json", crate::support::COLLECTION);
    workspace.write(
        "metadata.csv",
        "path,cloud\nCa\u{f1}\u{f3}n,0\nFor\u{ea}t,1\n",
    );
    let create = [
        "create",
        "scenes",
        "-o",
        "d.tacozip",
        "--collection",
        "collection.json",
        "--metadata",
        "metadata.csv",
    ];
    workspace.studio(create).expect_code(0);
}

#[test]
fn ids_that_are_typed_in_another_unicode_form_find_their_samples() {
    let workspace = Workspace::new();
    decomposed(&workspace);
    let (typed, other) = ("Ca\u{f1}\u{f3}n", "For\u{ea}t");
    let dataset = workspace.path("d.tacozip");
    let cloud = |arguments: &[&str]| {
        let arguments: Vec<String> = arguments
            .iter()
            .map(|argument| (*argument).to_owned())
            .collect();
        rows(&workspace, &dataset, &arguments)
            .into_iter()
            .map(|row| row["cloud"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(cloud(&["--where", &format!("id = '{typed}'")]), [0]);
    assert_eq!(cloud(&["--where", &format!("id <> '{typed}'")]), [1]);
    assert_eq!(
        cloud(&[
            "--sql",
            &format!("SELECT cloud FROM data WHERE id IN ('{other}', 'x')")
        ]),
        [1]
    );
    assert_eq!(
        cloud(&["--sql", "SELECT cloud FROM data WHERE id LIKE 'Ca\u{f1}%'"]),
        [0]
    );
    assert_eq!(
        cloud(&[
            "--sql",
            &format!("SELECT \"l0:cloud\" AS cloud FROM l1 WHERE \"l0:id\" = '{typed}'")
        ]),
        [0]
    );
    workspace
        .studio(["export", "d.tacozip", "-o", "part.tacozip", "--ids", typed])
        .expect_code(0);
    let part = rows(&workspace, &workspace.path("part.tacozip"), &[]);
    assert_eq!((part.len(), &part[0]["cloud"]), (1, &Value::from(0)));
    let error = workspace
        .studio([
            "export",
            "d.tacozip",
            "-o",
            "none.tacozip",
            "--ids",
            "Can\u{303}on",
        ])
        .expect_code(2);
    assert!(error.stderr.contains("there is no sample"), "{error}");
    workspace.write("more.csv", format!("path,more\n{typed},7\n{other},8\n"));
    workspace
        .studio(["edit", "d.tacozip", "--metadata", "more.csv"])
        .expect_code(0);
    assert_eq!(
        rows(&workspace, &dataset, &[])
            .iter()
            .map(|row| row["more"].clone())
            .collect::<Vec<_>>(),
        [7, 8]
    );
    let extend = [
        "extend",
        "d.tacozip",
        "-o",
        "e.tacozip",
        "--with",
        "hash",
        "--level",
        "0",
        "--positions",
        typed,
        "--schema-only",
    ];
    assert!(workspace.studio(extend).ended().is_some());
}

#[test]
fn filters_on_several_levels_are_combined() {
    let workspace = Workspace::new();
    let dataset = fixtures("golden", "TACO_STUDIO_GOLDEN")
        .into_iter()
        .find(|folder| folder.ends_with("04_nested2_folder"));
    let dataset = dataset.expect("a dataset").join("change");
    let of = |arguments: &[&str]| {
        let fixed = ["--sql", "SELECT id FROM level1 ORDER BY 1"];
        ids(
            &workspace,
            &dataset,
            &fixed
                .iter()
                .chain(arguments)
                .map(|argument| (*argument).to_owned())
                .collect::<Vec<_>>(),
        )
    };
    let (all, labels) = (
        of(&[]),
        of(&["--where", "id = 'before.tif'", "--level", "1"]),
    );
    assert!(!labels.is_empty() && labels.len() < all.len(), "{labels:?}");
    let first = of(&["--where", "\"internal:current_id\" = 0"]);
    assert!(!first.is_empty() && first.len() < all.len(), "{first:?}");
    let world = [
        "--bbox=-180,-90,180,90",
        "--where",
        "id = 'before.tif'",
        "--level",
        "where:1",
    ];
    let level_of_places = rows(&workspace, &dataset, &["--limit".into(), "1".into()])[0]
        .get("stac:centroid")
        .is_none();
    let bbox = if level_of_places { "bbox:1" } else { "bbox:0" };
    assert_eq!(of(&[&world[..], &["--level", bbox]].concat()), labels);
    let nowhere = [
        "--bbox=-180,-90,-179.99,-89.99",
        "--where",
        "id = 'before.tif'",
        "--level",
        "where:1",
        "--level",
        bbox,
    ];
    assert!(of(&nowhere).is_empty());
}
