//! `tests/bench/history.py`: warnings of slower ratios, and the picture in the documentation.

use std::path::Path;
use std::process::Command;

use crate::support::{Ran, Workspace, project_folder, tests_folder};

fn run_history(workspace: &Workspace, arguments: &[&str]) -> Ran {
    let mut command = Command::new("python3");
    command
        .arg("-B")
        .arg(tests_folder().join("bench/history.py"))
        .args(arguments);
    workspace.run(command)
}

/// Records with one ratio, the oldest first. Its name has characters that XML escapes.
fn write_records(workspace: &Workspace, ratios: &[f64]) -> String {
    let lines: Vec<String> = ratios
        .iter()
        .map(|ratio| {
            let record = serde_json::json!({
                "commit": "0123abcd",
                "date": "2026-11-30T12:00:00Z",
                "ratios": { "open <a> & \"b\" / Parquet read": ratio, "steady / tar": 1.0 },
            });
            format!("{record}\n")
        })
        .collect();
    let path = workspace.write("history.jsonl", lines.concat());
    path.to_str().expect("text").to_owned()
}

fn expect_xml(workspace: &Workspace, path: &Path) {
    let mut command = Command::new("python3");
    command
        .args([
            "-c",
            "import sys, xml.dom.minidom as dom; dom.parse(sys.argv[1])",
        ])
        .arg(path);
    workspace.run(command).expect_code(0);
}

#[test]
fn a_ratio_beyond_the_median_of_the_last_ten_is_named_as_slower() {
    let workspace = Workspace::new();
    // The first is older than the ten that count; with it the median would be another.
    let mut ratios = vec![9.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.2, 1.2, 1.2, 1.2, 1.2];
    for (newest, said) in [
        (1.43, ""),
        (
            1.44,
            "slower: open <a> & \"b\" / Parquet read 1.44, median of the last 10: 1.10\n",
        ),
    ] {
        ratios.push(newest);
        let history = write_records(&workspace, &ratios);
        ratios.pop();
        let ran = run_history(&workspace, &["compare", "--history", &history]).expect_code(0);
        assert_eq!(ran.stdout, said, "{newest}");
    }
}

#[test]
fn fewer_than_three_earlier_records_are_no_measure() {
    let workspace = Workspace::new();
    for (ratios, is_named) in [
        (vec![], false),
        (vec![5.0], false),
        (vec![1.0, 1.0, 5.0], false),
        (vec![1.0, 1.0, 1.0, 5.0], true),
    ] {
        let history = write_records(&workspace, &ratios);
        let ran = run_history(&workspace, &["compare", "--history", &history]).expect_code(0);
        assert_eq!(ran.stdout.contains("slower"), is_named, "{ratios:?}");
    }
}

#[test]
fn the_picture_has_a_chart_for_each_ratio_and_is_well_formed() {
    let workspace = Workspace::new();
    let picture = workspace.path("bench.svg");
    for count in [0, 1, 2, 100] {
        let ratios: Vec<f64> = (0..count).map(|at| 0.5 + 0.01 * f64::from(at)).collect();
        let history = write_records(&workspace, &ratios);
        let path = picture.to_str().expect("text");
        let arguments = ["draw", "--history", &history, "--picture", path];
        run_history(&workspace, &arguments).expect_code(0);
        expect_xml(&workspace, &picture);
        let text = std::fs::read_to_string(&picture).expect("reads");
        let charts = if count == 0 { 0 } else { 2 };
        assert_eq!(text.matches("class=\"peer\"").count(), charts, "{count}");
    }
}

#[test]
fn the_picture_in_the_documentation_is_that_of_the_records() {
    let workspace = Workspace::new();
    let picture = workspace.path("bench.svg");
    let arguments = ["draw", "--picture", picture.to_str().expect("text")];
    run_history(&workspace, &arguments).expect_code(0);
    let read = |path: &Path| std::fs::read_to_string(path).expect("reads");
    assert!(
        read(&picture) == read(&project_folder().join("docs/bench.svg")),
        "docs/bench.svg is stale: run python3 tests/bench/history.py draw"
    );
}

#[test]
fn a_line_that_is_no_record_is_named() {
    let workspace = Workspace::new();
    let path = workspace.write("history.jsonl", "\n<<<<<<< HEAD\n");
    let path = path.to_str().expect("text");
    let ran = run_history(&workspace, &["compare", "--history", path]).expect_code(1);
    assert!(
        ran.stderr.contains("history.jsonl:2: this is no record"),
        "{ran}"
    );
}
