//! Single parts: readable, but they are not written as a complete dataset without confirmation.

use std::fs;
use std::path::Path;

use super::golden;
use crate::support::{Ran, Workspace};

fn write_from(
    workspace: &Workspace,
    verb: &str,
    input: &Path,
    output: &Path,
    more: &[&str],
) -> Ran {
    let mut arguments = vec![
        verb.into(),
        input.as_os_str().to_owned(),
        "-o".into(),
        output.as_os_str().to_owned(),
    ];
    arguments.extend(more.iter().map(std::ffi::OsString::from));
    workspace.studio(arguments)
}

#[test]
fn an_incomplete_set_is_not_written_without_request() {
    let workspace = Workspace::new();
    let lone = workspace.path("set/parts.0001.part.tortilla");
    fs::create_dir(workspace.path("set")).expect("a folder");
    fs::copy(golden("44_v1_parts", "parts.0001.part.tortilla"), &lone).expect("copies");
    let beside = golden("44_v1_parts", "parts.0000.part.tortilla");
    let mut number = 0;
    for (verb, ending) in [
        ("migrate", "tacozip"),
        ("compile", "tortilla"),
        ("export", "tacozip"),
    ] {
        for (input, says) in [
            (workspace.path("set"), "parts.0000.part.tortilla is missing"),
            (lone.clone(), "parts.0000.part.tortilla is missing"),
            (beside.clone(), "1 of 2 parts"),
        ] {
            number += 1;
            let output = workspace.path(&format!("out{number}.{ending}"));
            let ran = write_from(&workspace, verb, &input, &output, &[]).expect_code(2);
            assert!(
                ran.stderr.contains(says) && ran.stderr.contains("--allow-missing-parts"),
                "{ran}"
            );
            assert!(!output.exists(), "{ran}");
            write_from(
                &workspace,
                verb,
                &input,
                &output,
                &["--allow-missing-parts"],
            )
            .expect_code(0);
            assert!(output.exists());
        }
    }
    // The report of the migration lists the missing parts.
    let output = workspace.path("told.tacozip");
    let told = write_from(
        &workspace,
        "migrate",
        &lone,
        &output,
        &["--allow-missing-parts", "--json"],
    )
    .expect_code(0)
    .json();
    assert!(
        told["findings"]
            .to_string()
            .contains("parts.0000.part.tortilla"),
        "{told}"
    );
}
