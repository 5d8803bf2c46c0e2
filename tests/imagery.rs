//! Extension values on the golden imagery: statistics as computed by numpy, and locations as
//! written by the official tool. `TACO_STUDIO_GOLDEN` selects another folder of datasets.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{Workspace, fixtures, tests_folder};

fn golden(set: &str, name: &str) -> PathBuf {
    let all = fixtures("golden", "TACO_STUDIO_GOLDEN");
    all.into_iter()
        .find(|folder| folder.ends_with(set))
        .unwrap_or_else(|| panic!("no golden set {set}"))
        .join(name)
}

fn rows(workspace: &Workspace, dataset: &Path, sql: &str) -> Vec<Value> {
    let query = [
        "query".as_ref(),
        dataset.as_os_str(),
        "--json".as_ref(),
        "--sql".as_ref(),
        sql.as_ref(),
    ];
    let ran = workspace.studio(query).expect_code(0);
    ran.stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("a row"))
        .collect()
}

fn extend(workspace: &Workspace, dataset: &Path, output: &str, arguments: &[&str]) -> PathBuf {
    let out = workspace.path(output);
    let fixed = [
        "extend".as_ref(),
        dataset.as_os_str(),
        "-o".as_ref(),
        out.as_os_str(),
        "--replace".as_ref(),
    ];
    workspace
        .studio(
            fixed
                .into_iter()
                .chain(arguments.iter().map(std::ffi::OsStr::new)),
        )
        .expect_code(0);
    out
}

fn numbers(value: &Value) -> Vec<f64> {
    value
        .as_array()
        .expect("a list")
        .iter()
        .map(|number| number.as_f64().expect("a number"))
        .collect()
}

#[test]
fn statistics_of_nested_imagery_are_the_exact_ones() {
    let vectors =
        std::fs::read_to_string(tests_folder().join("fixtures/vectors/geotiff_stats_exact.json"))
            .expect("vectors");
    let vectors: Value = serde_json::from_str(&vectors).expect("JSON");
    let workspace = Workspace::new();
    let cases = [
        (
            "04_nested2_folder",
            "change",
            1,
            "before.tif,after.tif",
            "cd",
        ),
        (
            "05_nested3_zip",
            "stack.tacozip",
            2,
            "b1.tif,b2.tif,b3.tif,dem.tif",
            "stk",
        ),
    ];
    let mut compared = 0;
    for (set, name, level, positions, prefix) in cases {
        let level_text = level.to_string();
        let stored = [
            "--with",
            "stats",
            "--level",
            &level_text,
            "--positions",
            positions,
            "--options",
            r#"{"scaling": "none"}"#,
        ];
        let out = extend(&workspace, &golden(set, name), set, &stored);
        // Other positions keep the statistics that the official tool wrote.
        let ids = positions
            .split(',')
            .map(|id| format!("'{id}'"))
            .collect::<Vec<_>>()
            .join(", ");
        let sql = format!(
            r#"SELECT "internal:relative_path" AS path, "geotiff:stats" AS stats FROM level{level}
                WHERE id IN ({ids})"#
        );
        for row in rows(&workspace, &out, &sql) {
            // scene_03/after.tif and site_2/imagery/b1.tif are cd_3_after.tif and stk_2_b1.tif.
            let path = row["path"].as_str().expect("a path");
            let (root, file) = (
                path.split('/').next().expect("a root"),
                path.rsplit('/').next().expect("a file"),
            );
            let number = root
                .rsplit('_')
                .next()
                .expect("a number")
                .trim_start_matches('0');
            let name = format!("{prefix}_{number}_{file}");
            let bands = vectors[&name]
                .as_array()
                .unwrap_or_else(|| panic!("{path}: no {name} in the vectors"));
            let found = row["stats"].as_array().expect("a list");
            assert_eq!(found.len(), bands.len(), "{name}");
            for (found, band) in found.iter().zip(bands) {
                let keys = ["min", "max", "mean", "std", "valid_percent"];
                let mut wanted: Vec<f64> = keys
                    .iter()
                    .map(|key| band[key].as_f64().expect("a number"))
                    .collect();
                wanted.extend(numbers(&band["p_exact_numpy_linear"]));
                for (found, wanted) in numbers(found).iter().zip(&wanted) {
                    assert!(
                        (found - wanted).abs() <= 1e-6 * wanted.abs().max(1e-6),
                        "{name}: {found} is not {wanted}"
                    );
                }
                compared += 1;
            }
        }
    }
    assert!(compared >= 12 * 3 + 16, "only {compared} bands compared");
}

/// Longitude and latitude from little-endian WKB in hexadecimal digits.
fn place(hex: &str) -> [f64; 2] {
    let byte = |at: usize| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).expect("hexadecimal");
    [5, 13].map(|start| f64::from_le_bytes(std::array::from_fn(|at| byte(start + at))))
}

#[test]
fn places_are_those_that_the_official_tool_wrote() {
    let workspace = Workspace::new();
    let mut compared = 0;
    for (set, name, level) in [
        ("01_flat_zip", "flat.tacozip", 0),
        ("04_nested2_folder", "change", 1),
    ] {
        let dataset = golden(set, name);
        let level_text = level.to_string();
        let id = if level == 0 {
            "id"
        } else {
            "\"internal:relative_path\""
        };
        let sql = format!(
            r#"SELECT {id} AS id, "stac:crs" AS crs, "stac:tensor_shape" AS shape,
                "stac:geotransform" AS grid,
                "stac:centroid" AS place FROM level{level} WHERE "stac:centroid" IS NOT NULL
                ORDER BY 1"#
        );
        let out = extend(
            &workspace,
            &dataset,
            set,
            &["--with", "stac", "--level", &level_text, "--positions", "*"],
        );
        let (theirs, ours) = (
            rows(&workspace, &dataset, &sql),
            rows(&workspace, &out, &sql),
        );
        for wanted in &theirs {
            let found = ours
                .iter()
                .find(|row| row["id"] == wanted["id"])
                .unwrap_or_else(|| panic!("no {}", wanted["id"]));
            assert_eq!(found["crs"], wanted["crs"], "{}", wanted["id"]);
            // The tool is given the shape, which may omit a single band.
            let [shape, stored] = [found, wanted].map(|row| numbers(&row["shape"]));
            assert!(
                shape.ends_with(&stored),
                "{}: {shape:?} and {stored:?}",
                wanted["id"]
            );
            for (found, wanted) in numbers(&found["grid"]).iter().zip(numbers(&wanted["grid"])) {
                assert!(
                    (found - wanted).abs() <= 1e-9 * wanted.abs().max(1.0),
                    "{found} is not {wanted}"
                );
            }
            let [found, stored] =
                [found, wanted].map(|row| place(row["place"].as_str().expect("bytes")));
            for (found, stored) in found.iter().zip(stored) {
                assert!(
                    (found - stored).abs() < 1e-9,
                    "{}: {found} is not {stored}",
                    wanted["id"]
                );
            }
            compared += 1;
        }
    }
    assert!(compared >= 8 + 18, "only {compared} places");
}
