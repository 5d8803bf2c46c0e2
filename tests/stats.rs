//! `stats` on golden datasets: pooled from the metadata, compared with the same computation on a
//! query's rows; and computed from pixels, compared with the metadata.

use std::path::{Path, PathBuf};

use serde_json::Value as Json;

use crate::support::{Workspace, tests_folder};

fn golden(name: &str) -> PathBuf {
    tests_folder().join("fixtures/golden").join(name)
}

fn stats(workspace: &Workspace, dataset: &Path, options: &[&str]) -> Json {
    let mut arguments = vec![
        "stats".into(),
        dataset.as_os_str().to_owned(),
        "--json".into(),
    ];
    arguments.extend(options.iter().map(Into::into));
    workspace.studio(arguments).expect_code(0).json()
}

fn number(value: &Json) -> f64 {
    value.as_f64().expect("a number")
}

#[test]
fn pooled_statistics_are_weighted_by_pixels() {
    let workspace = Workspace::new();
    let dataset = golden("04_nested2_folder/change");
    let pooled = stats(&workspace, &dataset, &["--positions", "before.tif"]);
    let sql = r#"SELECT "geotiff:stats" AS s, "stac:tensor_shape" AS t FROM level1
        WHERE id = 'before.tif'"#;
    let rows = workspace
        .studio([
            "query".as_ref(),
            dataset.as_os_str(),
            "--json".as_ref(),
            "--sql".as_ref(),
            sql.as_ref(),
        ])
        .expect_code(0);
    let rows: Vec<Json> = rows
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert!(rows.len() > 1);
    assert_eq!(pooled["samples"], rows.len());
    assert_eq!(pooled["weighted"], true);
    for band in 0..3 {
        // Sums of the values and of their squares: an independent computation.
        let (mut count, mut sum, mut squares) = (0.0, 0.0, 0.0);
        for row in &rows {
            let own = &row["s"][band];
            let pixels = number(&row["t"][1]) * number(&row["t"][2]) * number(&own[4]) / 100.0;
            count += pixels;
            sum += pixels * number(&own[2]);
            squares += pixels * (number(&own[3]).powi(2) + number(&own[2]).powi(2));
        }
        let ours = &pooled["pooled"]["bands"][band];
        let mean = sum / count;
        assert!(
            (number(&ours["mean"]) - mean).abs() < 1e-6 * mean,
            "band {band}: {ours}"
        );
        assert!(
            (number(&ours["std"]) - (squares / count - mean * mean).sqrt()).abs() < 1e-4,
            "band {band}: {ours}"
        );
        assert!((number(&ours["count"]) - count).abs() < 1e-6);
    }
}

/// Mean, standard deviation, minimum and maximum of the three bands over all twelve images,
/// computed with numpy.
const EXACT: [[f64; 4]; 3] = [
    [70.956_145_109_953_71, 32.473_303_185_466_634, 3.0, 255.0],
    [63.892_397_280_092_6, 19.796_247_077_712_57, 10.0, 205.0],
    [67.974_383_318_865_75, 20.036_233_912_060_847, 21.0, 235.0],
];

#[test]
fn pixels_give_the_exact_values_and_the_metadata_are_near() {
    let workspace = Workspace::new();
    let dataset = golden("04_nested2_folder/change");
    let pooled = stats(
        &workspace,
        &dataset,
        &["--positions", "before.tif,after.tif"],
    );
    let exact = stats(
        &workspace,
        &dataset,
        &["--positions", "before.tif,after.tif", "--exact"],
    );
    assert_eq!(
        (&pooled["samples"], &exact["samples"]),
        (&Json::from(12), &Json::from(12))
    );
    for (band, expected) in EXACT.iter().enumerate() {
        let (ours, exact) = (
            &pooled["pooled"]["bands"][band],
            &exact["pooled"]["bands"][band],
        );
        assert_eq!(number(&exact["count"]), 12.0 * 96.0 * 96.0);
        for (key, expected) in ["mean", "std", "min", "max"].into_iter().zip(expected) {
            assert!(
                (number(&exact[key]) - expected).abs() < 1e-9 * expected,
                "band {band} {key}: {exact}"
            );
            // The official tools sample blocks: their means are close, their extremes may not be.
            let near = if key == "mean" || key == "std" {
                0.05
            } else {
                0.5
            };
            assert!(
                (number(&ours[key]) - expected).abs() < near * number(&exact["max"]),
                "band {band} {key}: {ours}"
            );
        }
    }
}

#[test]
fn shares_of_classes_are_pooled() {
    let pooled = stats(
        &Workspace::new(),
        &golden("04_nested2_folder/change"),
        &["--positions", "label.*"],
    );
    assert_eq!(
        (&pooled["pooled"]["kind"], &pooled["samples"]),
        (&Json::from("categorical"), &Json::from(6))
    );
    let shares = pooled["pooled"]["bands"][0].as_array().expect("shares");
    assert_eq!(shares.len(), 3);
    assert!((shares.iter().map(number).sum::<f64>() - 1.0).abs() < 1e-6);
}

#[test]
fn statistics_that_cannot_be_pooled_give_a_reason() {
    let workspace = Workspace::new();
    let fails = |dataset: &str, options: &[&str], text: &str| {
        let mut arguments = vec!["stats".into(), golden(dataset).into_os_string()];
        arguments.extend(options.iter().map(Into::into));
        let ran = workspace.studio(arguments).expect_code(2);
        assert!(ran.stderr.contains(text), "{ran}");
    };
    fails(
        "05_nested3_zip/stack.tacozip",
        &[],
        "no column geotiff:stats",
    );
    fails(
        "05_nested3_zip/stack.tacozip",
        &["--level", "7"],
        "there is no level 7",
    );
    fails(
        "04_nested2_folder/change",
        &["--positions", "nothing*"],
        "the selection has no sample",
    );
    fails(
        "04_nested2_folder/change",
        &["--where", "nothing > 1"],
        "nothing",
    );
    fails("04_nested2_folder/change", &[], "has 3 bands and");
}

/// Hints name the arguments that help.
#[test]
fn hints_name_the_arguments() {
    let workspace = Workspace::new();
    let hints = |dataset: &str, options: &[&str], wanted: &[&str]| {
        let mut arguments = vec!["stats".into(), golden(dataset).into_os_string()];
        arguments.extend(options.iter().map(Into::into));
        let ran = workspace.studio(arguments).expect_code(2);
        wanted
            .iter()
            .for_each(|word| assert!(ran.stderr.contains(word), "no {word} in {ran}"));
    };
    hints(
        "05_nested3_zip/stack.tacozip",
        &[],
        &["--exact", "--positions", "--level"],
    );
    hints(
        "04_nested2_folder/change",
        &[],
        &["--positions", "--level", "--where"],
    );
    hints(
        "04_nested2_folder/change",
        &["--exact"],
        &["--positions", "--level", "--where"],
    );
}

/// Levels built in memory have no Parquet file: a dataset of another generation has the statistics
/// of its migrated form.
#[test]
fn other_generations_are_pooled_like_their_migrated_form() {
    let workspace = Workspace::new();
    for (number, old) in [
        "42_v1_nested/nested.tortilla",
        "46_v1_taco_nested/nested.taco",
        "60_v3_zip/change.zip",
    ]
    .iter()
    .enumerate()
    {
        let old = golden(old);
        let new = workspace.path(&format!("new{number}.tacozip"));
        workspace
            .studio([
                "migrate".as_ref(),
                old.as_os_str(),
                "-o".as_ref(),
                new.as_os_str(),
            ])
            .expect_code(0);
        let sql = "SELECT DISTINCT id FROM level1 ORDER BY id";
        let rows = workspace.studio([
            "query".as_ref(),
            new.as_os_str(),
            "--json".as_ref(),
            "--sql".as_ref(),
            sql.as_ref(),
        ]);
        let rows = rows.expect_code(0).stdout;
        let id: Json = serde_json::from_str(rows.lines().next().expect("a row")).expect("JSON");
        let id = id["id"].as_str().expect("an id");
        let condition = format!("id = '{id}'");
        let options = ["--exact", "--level", "1", "--where", condition.as_str()];
        let (ours, becomes) = (
            stats(&workspace, &old, &options),
            stats(&workspace, &new, &options),
        );
        assert!(
            ours["samples"].as_u64().is_some_and(|count| count > 0),
            "{ours}"
        );
        assert_eq!(ours, becomes, "{}", old.display());
        // Without pixels it is not an internal error.
        let ran = workspace.studio(["stats".as_ref(), old.as_os_str()]);
        assert!(!ran.stderr.contains("no table"), "{ran}");
    }
}

#[test]
fn a_box_and_days_choose_samples_of_the_nearest_level() {
    let workspace = Workspace::new();
    let dataset = golden("04_nested2_folder/change");
    let sql = r#"SELECT id, ST_X("stac:centroid") AS x, ST_Y("stac:centroid") AS y,
        CAST("stac:time_start" AS DATE) AS day FROM level1 WHERE id = 'before.tif'
        ORDER BY "internal:parent_id""#;
    let rows = workspace.studio([
        "query".as_ref(),
        dataset.as_os_str(),
        "--json".as_ref(),
        "--sql".as_ref(),
        sql.as_ref(),
    ]);
    let rows: Vec<Json> = rows
        .expect_code(0)
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let (x, y) = (number(&rows[0]["x"]), number(&rows[0]["y"]));
    let inside = |row: &&Json| {
        (number(&row["x"]) - x).abs() <= 0.001 && (number(&row["y"]) - y).abs() <= 0.001
    };
    let here = rows.iter().filter(inside).count();
    assert!(here > 0 && here < rows.len(), "{rows:?}");
    let bbox = format!(
        "--bbox={},{},{},{}",
        x - 0.001,
        y - 0.001,
        x + 0.001,
        y + 0.001
    );
    let pooled = stats(&workspace, &dataset, &["--positions", "before.tif", &bbox]);
    assert_eq!(pooled["samples"], here);
    let exact = stats(
        &workspace,
        &dataset,
        &["--positions", "before.tif", &bbox, "--exact"],
    );
    assert_eq!(exact["samples"], here);
    let arguments = [
        "stats".as_ref(),
        dataset.as_os_str(),
        "--bbox=0,0,0,0".as_ref(),
    ];
    assert!(
        workspace
            .studio(arguments)
            .expect_code(2)
            .stderr
            .contains("the selection has no sample")
    );
}

#[test]
fn conditions_name_columns_of_the_levels_above() {
    let workspace = Workspace::new();
    crate::support::nested_scenes(&workspace, 4);
    let create = [
        "create",
        "scenes",
        "-o",
        "plain.tacozip",
        "--collection",
        "collection.json",
        "--metadata",
        "metadata.csv",
    ];
    workspace.studio(create).expect_code(0);
    workspace
        .studio([
            "extend",
            "plain.tacozip",
            "-o",
            "d.tacozip",
            "--with",
            "stats",
            "--level",
            "1",
        ])
        .expect_code(0);
    let dataset = workspace.path("d.tacozip");
    let samples = |condition: &str| {
        stats(
            &workspace,
            &dataset,
            &["--level", "1", "--where", condition],
        )["samples"]
            .clone()
    };
    assert_eq!(samples("id = 'before.tif'"), 4);
    assert_eq!(samples("region = 'region 0' AND id = 'before.tif'"), 2);
    assert_eq!(
        samples("id = 'before.tif' AND (cloud_cover > 0 AND region = 'region 0')"),
        1
    );
    assert_eq!(samples("cloud_cover >= 20 AND id <> 'label.tif'"), 4);
    let mixed = [
        "stats",
        "d.tacozip",
        "--level",
        "1",
        "--where",
        "region = 'region 0' OR \"geotiff:stats\" IS NULL",
    ];
    let error = workspace.studio(mixed).expect_code(2);
    assert!(
        error.stderr.contains("several levels") && error.stderr.contains("AND"),
        "{error}"
    );
}
