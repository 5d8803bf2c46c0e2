//! The C library: its example, compiled by the system's compiler, beside the command line.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{Workspace, nested_scenes, project_folder};

#[test]
fn a_program_in_c_reads_what_the_command_line_reads() {
    let workspace = Workspace::new();
    nested_scenes(&workspace, 3);
    workspace
        .studio([
            "create",
            "scenes",
            "--collection",
            "collection.json",
            "-o",
            "set.tacozip",
        ])
        .expect_code(0);
    let sample = crate::support::first_file(&workspace, "set.tacozip");
    workspace.read_into("set.tacozip", &sample, &workspace.path("first"));
    let bytes = std::fs::read(workspace.path("first")).expect("was written");

    let library =
        Path::new(env!("CARGO_BIN_EXE_taco-studio")).with_file_name("libtaco_studio_c.so");
    assert!(
        library.exists(),
        "{} is not there: ./packaging/test builds it",
        library.display()
    );
    let folder = library.parent().expect("has a folder");
    let mut compile = Command::new("cc");
    compile
        .arg(project_folder().join("packaging/c/examples/walk.c"))
        .arg("-I")
        .arg(project_folder().join("packaging/c/include"));
    compile
        .args([
            "-std=c99", "-Wall", "-Wextra", "-Werror", "-o", "walk", "-L",
        ])
        .arg(folder)
        .arg("-ltaco_studio_c");
    compile.arg(format!("-Wl,-rpath,{}", folder.display()));
    workspace.run(compile).expect_code(0);

    let sql = "SELECT id, type FROM level1";
    let mut walk = Command::new(workspace.path("walk"));
    walk.args(["set.tacozip", sql, sample.as_str()]);
    let ran = workspace.run(walk).expect_code(0);
    let lines: Vec<Value> = ran
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("is JSON"))
        .collect();
    let [
        versions,
        table,
        query,
        roots,
        file,
        pixels,
        report,
        missing,
        damaged,
    ] = lines.as_slice()
    else {
        panic!("{ran}")
    };

    let seen = workspace
        .studio(["inspect", "set.tacozip", "--json"])
        .expect_code(0)
        .json();
    assert_eq!(
        versions,
        &json!({
            "version": env!("CARGO_PKG_VERSION"),
            "levels": seen["levels"].as_array().map(Vec::len),
        })
    );
    assert_eq!(table["table"]["rows"], seen["levels"][0]["rows"]);
    let columns: Vec<&Value> = seen["levels"][0]["columns"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|column| &column["name"])
        .collect();
    assert_eq!(table["table"]["columns"], json!(columns));
    assert_eq!(
        query["query"],
        json!({ "rows": seen["levels"][1]["rows"], "columns": ["id", "type"] })
    );
    assert_eq!(roots["roots"].as_array().map(Vec::len), Some(3));
    assert!(
        roots["roots"]
            .as_array()
            .into_iter()
            .flatten()
            .all(|root| root["folder"] == 1),
        "{roots}"
    );
    let sum: u64 = bytes.iter().map(|byte| u64::from(*byte)).sum();
    assert_eq!(
        file,
        &json!({ "size": bytes.len(), "sum": sum, "level": 1 })
    );
    assert_eq!(pixels["shape"], json!([1, 2, 2]));
    assert_eq!(report["sound"], true, "{report}");
    assert_eq!(missing["kind"], "io", "{missing}");
    assert_eq!(damaged["kind"], "usage", "{damaged}");
}
