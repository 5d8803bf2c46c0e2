//! Results on standard output are complete, or the exit code reports a failure.

#![cfg(target_os = "linux")]

use std::fs::OpenOptions;
use std::process::{Command, Output, Stdio};

use crate::support::Workspace;

/// Every command that prints results, on the sample dataset.
fn printing(data: &str) -> Vec<Vec<&str>> {
    vec![
        vec!["query", data, "--csv"],
        vec!["query", data, "--json"],
        vec!["query", data],
        vec!["inspect", data],
        vec!["inspect", data, "--json"],
        vec!["validate", data],
        vec!["validate", data, "--json"],
        vec!["validate", data, "--format", "sarif"],
        vec!["describe", data, "--as", "stac"],
        vec!["describe", data, "--as", "markdown"],
        vec!["fields", data],
        vec!["fields", data, "--json"],
        vec!["read", data],
        vec!["read", data, "#0"],
        vec!["read", data, "#0/#0"],
        vec!["read", data, "#0/#0", "--out", "-"],
        vec!["rules"],
        vec!["rules", "--json"],
        vec!["commands"],
        vec!["drivers"],
        vec!["doctor"],
        vec!["extensions", "--json"],
        vec!["--help"],
        vec!["--version"],
        vec!["query", "--help"],
    ]
}

fn sample(workspace: &Workspace) -> String {
    let made = workspace.studio(["sample", "made"]).expect_code(0);
    made.stdout
        .lines()
        .last()
        .expect("the path of the dataset")
        .to_owned()
}

fn run(workspace: &Workspace, arguments: &[&str], stdout: Stdio, stderr: Stdio) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_taco-studio"));
    command.args(arguments);
    workspace
        .house(&mut command)
        .stdin(Stdio::null())
        .stdout(stdout)
        .stderr(stderr)
        .output()
        .expect("starts")
}

fn full() -> Stdio {
    OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .expect("a full device")
        .into()
}

#[test]
fn results_that_a_full_disk_cuts_are_an_error() {
    let workspace = Workspace::new();
    let data = sample(&workspace);
    for arguments in printing(&data) {
        let ran = run(&workspace, &arguments, full(), Stdio::piped());
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert_eq!(ran.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains("standard output"), "{arguments:?}: {said}");
    }
}

#[test]
fn a_reader_that_goes_away_ends_the_output_quietly() {
    let workspace = Workspace::new();
    let data = sample(&workspace);
    for arguments in printing(&data) {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let ran = run(&workspace, &arguments, writer.into(), Stdio::piped());
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert!(
            matches!(ran.status.code(), Some(0 | 1)),
            "{arguments:?}: {:?} {said}",
            ran.status
        );
        assert!(!said.contains("error"), "{arguments:?}: {said}");
    }
}

#[test]
fn messages_that_can_not_be_written_take_no_result_along() {
    let workspace = Workspace::new();
    let data = sample(&workspace);
    let fine = run(
        &workspace,
        &["query", &data, "--csv", "--traffic"],
        Stdio::piped(),
        full(),
    );
    assert_eq!(fine.status.code(), Some(0));
    assert!(!fine.stdout.is_empty());
    let failing = run(
        &workspace,
        &["inspect", "nothing.tacozip"],
        Stdio::piped(),
        full(),
    );
    assert_eq!(
        failing.status.code(),
        Some(2),
        "an error that can't be printed keeps its exit code"
    );
}
