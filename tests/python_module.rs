//! The Python module, held against pyarrow, pandas, polars and rasterio, and the program that it
//! is.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::support::{
    Server, Workspace, expect_generated, fixtures, nested_scenes, project_folder, python,
    tests_folder,
};

/// The folder for PYTHONPATH: the package of `packaging/python` with the module that
/// `packaging/test` builds.
fn package(workspace: &Workspace) -> PathBuf {
    let built = Path::new(env!("CARGO_BIN_EXE_taco-studio")).with_file_name("lib_taco_studio.so");
    assert!(
        built.exists(),
        "{} is not there: ./packaging/test builds it",
        built.display()
    );
    let folder = workspace.path("python");
    if folder.exists() {
        return folder;
    }
    crate::support::copy_folder(
        &project_folder().join("packaging/python/taco_studio"),
        &folder.join("taco_studio"),
    );
    std::os::unix::fs::symlink(built, folder.join("taco_studio/_taco_studio.abi3.so"))
        .expect("is made");
    folder
}

/// Runs Python code that imports the module.
#[track_caller]
pub fn run_with_module(workspace: &Workspace, code: &str) -> String {
    let script = workspace.write("module.py", code);
    let mut command = Command::new(python());
    command
        .arg(tests_folder().join("interop/run.py"))
        .arg(script)
        .env("PYTHONPATH", package(workspace));
    workspace.run(command).expect_code(0).stdout
}

/// Runs the code of a training loop; returns what `training_loop.py` prints of it.
#[track_caller]
pub fn run_training_loop(workspace: &Workspace, code: &str) -> Value {
    let script = workspace.write("train.py", code);
    let mut command = Command::new(python());
    command
        .arg(tests_folder().join("interop/run.py"))
        .arg(tests_folder().join("interop/training_loop.py"))
        .arg(script)
        .env("PYTHONPATH", package(workspace));
    let ran = workspace.run(command).expect_code(0);
    let answer = ran.stdout.trim().lines().last().unwrap_or_default();
    serde_json::from_str(answer).expect("is JSON")
}

/// The datasets of the official tools, of each generation.
fn golden_datasets() -> Vec<PathBuf> {
    let named = |folder: PathBuf| -> Vec<PathBuf> {
        let text = std::fs::read_to_string(folder.join("expected.json")).expect("is there");
        let expected: Value = serde_json::from_str(&text).expect("is JSON");
        expected
            .as_object()
            .expect("an object")
            .keys()
            .map(|name| folder.join(name))
            .filter(|path| path.exists())
            .collect()
    };
    fixtures("golden", "TACO_STUDIO_GOLDEN")
        .into_iter()
        .flat_map(named)
        .collect()
}

#[test]
fn the_module_gives_the_values_that_the_readers_of_python_give() {
    let workspace = Workspace::new();
    nested_scenes(&workspace, 3);
    let mut command = Command::new(python());
    command
        .arg(tests_folder().join("interop/run.py"))
        .arg(tests_folder().join("interop/python_module.py"));
    // Rasters with coordinate systems, of which PROJ keeps state for each thread.
    workspace.studio(["sample", "placed"]).expect_code(0);
    let server = Server::of(&workspace.path("."));
    command
        .arg(workspace.path("."))
        .arg(server.url("made.tacozip"))
        .args(golden_datasets())
        .env("PYTHONPATH", package(&workspace));
    let ran = workspace.run(command).expect_code(0);
    let seen: Value = ran.json();
    assert!(
        seen["datasets"].as_u64() > Some(3) && seen["files"].as_u64() > Some(20),
        "{seen}"
    );
}

#[test]
fn the_code_of_the_document_runs() {
    let workspace = Workspace::new();
    workspace.studio(["sample", "made"]).expect_code(0);
    let text = std::fs::read_to_string(project_folder().join("docs/PYTHON.md")).expect("is there");
    let blocks = text
        .split("```python\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next());
    let code: Vec<&str> = blocks.collect();
    assert_eq!(code.len(), 4);
    let script = workspace.write("document.py", code.concat());
    let mut command = Command::new(python());
    command
        .arg(tests_folder().join("interop/run.py"))
        .arg(script)
        .env("PYTHONPATH", package(&workspace));
    let ran = workspace.run(command).expect_code(0);
    assert!(
        ran.stdout.starts_with("24 ['danube_0001',") && ran.stdout.contains("True []"),
        "{}",
        ran.stdout
    );
}

/// Two epochs of the loop on samples whose statistics and class shares are in the metadata: the
/// images that it scales have the mean 0 and the deviation 1, and the weights are those of the
/// classes in the part to train on.
#[test]
fn the_training_loop_runs_with_the_statistics_of_the_part_to_train_on() {
    let workspace = Workspace::new();
    workspace.studio(["sample", "made"]).expect_code(0);
    let calls = r#"[
        {"extension": "stats", "target": {"level": 1, "positions": ["after.tif", "before.tif"]}},
        {"extension": "stats",
            "options": {"categorical": true, "class_values": [0, 1, 2, 3, 4, 5, 6]},
            "target": {"level": 1, "positions": ["label.tif"]}}]"#;
    workspace
        .studio([
            "extend",
            "made/sample.tacozip",
            "-o",
            "set.tacozip",
            "--calls",
            calls,
        ])
        .expect_code(0);
    workspace
        .studio([
            "describe",
            "set.tacozip",
            "--as",
            "training",
            "-o",
            "train.py",
        ])
        .expect_code(0);
    let code = std::fs::read_to_string(workspace.path("train.py")).expect("is written");
    // Elevation and radar have no statistics here: they are read as they are.
    assert!(code.contains("scaled(batch, \"after.tif\")") && code.contains("batch[\"radar.tif\"]"));
    let seen = run_training_loop(&workspace, &code);
    let number = |value: &Value| value.as_f64().expect("a number");
    // 4 bands after, 4 before.
    for band in 0..8 {
        let (mean, std) = (number(&seen["mean"][band]), number(&seen["std"][band]));
        assert!(mean.abs() < 1e-2 && (std - 1.0).abs() < 1e-2, "{seen}");
    }
    let present = (0..7).filter(|class| number(&seen["shares"][class.to_string()]) > 0.0);
    let present = present.count() as f64;
    assert!(present > 2.0, "{seen}");
    for class in 0..7 {
        let share = number(&seen["shares"][class.to_string()]);
        let weight = number(&seen["weights"][class]);
        let wanted = if share > 0.0 {
            1.0 / (present * share)
        } else {
            0.0
        };
        assert!((weight - wanted).abs() <= wanted * 1e-3, "{class}: {seen}");
    }
}

#[test]
fn the_stubs_are_those_of_the_classes_and_of_the_operations() {
    let workspace = Workspace::new();
    let mut command = Command::new(python());
    command
        .arg(tests_folder().join("interop/run.py"))
        .arg(tests_folder().join("interop/python_stubs.py"));
    command.env("PYTHONPATH", package(&workspace));
    let wanted = workspace.run(command).expect_code(0).stdout;
    let path = project_folder().join("packaging/python/taco_studio/__init__.pyi");
    expect_generated(&path, &wanted, "TACO_STUDIO_WRITE_REFERENCE");
}

#[test]
fn the_module_is_the_program_too() {
    let workspace = Workspace::new();
    let package = package(&workspace);
    let run = |arguments: &[&str]| {
        let mut command = Command::new(python());
        command
            .args(["-m", "taco_studio"])
            .args(arguments)
            .env("PYTHONPATH", &package);
        workspace.run(command)
    };
    let version = run(&["--version"]).expect_code(0);
    assert_eq!(
        version.stdout.trim(),
        format!("taco-studio {}", env!("CARGO_PKG_VERSION"))
    );
    run(&["sample", "made"]).expect_code(0);
    run(&["validate", "made/sample.tacozip"]).expect_code(0);
    run(&["inspect", "none.tacozip"]).expect_code(2);
}
