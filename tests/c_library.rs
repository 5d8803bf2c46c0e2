//! The C library: its examples in C, R and Octave, compiled by the system's compilers, beside the
//! command line.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{Workspace, nested_scenes, project_folder};

/// A dataset of three FOLDERs, `set.tacozip`; the path of a FILE in it, and its bytes, which are in
/// `first`, too.
fn three_scenes() -> (Workspace, String, Vec<u8>) {
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
    (workspace, sample, bytes)
}

/// The folder of the shared library.
fn library_folder() -> PathBuf {
    let library =
        Path::new(env!("CARGO_BIN_EXE_taco-studio")).with_file_name("libtaco_studio_c.so");
    assert!(
        library.exists(),
        "{} is not there: ./packaging/test builds it",
        library.display()
    );
    library.parent().expect("has a folder").to_owned()
}

fn examples() -> PathBuf {
    project_folder().join("packaging/c/examples")
}

/// True when the programs of a language are installed; where continuous integration lacks them, it
/// fails.
fn is_installed(programs: [&str; 2]) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let missing = programs
        .into_iter()
        .find(|program| !std::env::split_paths(&path).any(|folder| folder.join(program).exists()));
    if let Some(program) = missing {
        assert!(
            std::env::var_os("CI").is_none(),
            "{program} is not installed: ./packaging/test installs it"
        );
        println!("skipped: {program} is not installed; ./packaging/test installs it with apt");
    }
    missing.is_none()
}

fn json_lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).expect("is JSON"))
        .collect()
}

/// Values of each type that the bridges convert, for each FILE.
const TYPED_VALUES: &str = "SELECT id, 1.5 AS number, NULL AS nothing, id < 'b' AS truth, \
    DATE '2024-02-03' AS day, TIMESTAMP '2024-02-03 04:05:06' AS instant, \
    9007199254740993 AS long, -3::TINYINT AS short, CASE WHEN id < 'b' THEN id END AS text, \
    CASE WHEN id < 'b' THEN 0.25 END AS missing, [1] AS list FROM level1 ORDER BY id LIMIT 4";

/// What the bridges give of [`TYPED_VALUES`], with days and instants as the language writes them.
fn typed_values(day: Value, instant: Value) -> Value {
    let after = ["after.tif", "after.tif", "after.tif"];
    json!({
        "id": [after[0], after[1], after[2], "before.tif"],
        "number": [1.5, 1.5, 1.5, 1.5],
        "nothing": [null, null, null, null],
        "truth": [true, true, true, false],
        "day": [day, day, day, day],
        "instant": [instant, instant, instant, instant],
        "long": ["9007199254740993", "9007199254740993", "9007199254740993", "9007199254740993"],
        "short": [-3, -3, -3, -3],
        "text": [after[0], after[1], after[2], null],
        "missing": [0.25, 0.25, 0.25, null],
    })
}

/// The first three pixels of the first row, and the first two of the first column, as GDAL reads
/// them.
fn first_pixels(file: &Path) -> (Vec<f64>, Vec<f64>) {
    let dataset = gdal::Dataset::open(file).expect("opens");
    let band = dataset.rasterband(1).expect("has a band");
    let pixels = band
        .read_as::<f64>((0, 0), (3, 2), (3, 2), None)
        .expect("is read");
    let values = pixels.data();
    (values[..3].to_vec(), vec![values[0], values[3]])
}

fn expect_like_command_line(
    lines: &[Value],
    workspace: &Workspace,
    bytes: &[u8],
    typed: &Value,
    kind: &str,
) {
    let [versions, table, query, roots, file, pixels, report, failed] = lines else {
        panic!("{lines:?}")
    };
    let seen = workspace
        .studio(["inspect", "set.tacozip", "--json"])
        .expect_code(0)
        .json();
    assert_eq!(
        versions,
        &json!({ "version": env!("CARGO_PKG_VERSION"), "levels": 2 })
    );
    assert_eq!(table["rows"], seen["levels"][0]["rows"]);
    let is_kept = |column: &&Value| {
        let dtype = column["type"].as_str().unwrap_or_default();
        !dtype.starts_with("list") && !dtype.starts_with("binary")
    };
    let columns = seen["levels"][0]["columns"].as_array();
    let columns: Vec<&Value> = columns
        .into_iter()
        .flatten()
        .filter(is_kept)
        .map(|column| &column["name"])
        .collect();
    assert_eq!(table["columns"], json!(columns));
    assert_eq!(&query["query"], typed);
    assert_eq!(
        roots,
        &json!({ "roots": ["scene_10", "scene_8", "scene_9"], "folder": true })
    );
    let sum: f64 = bytes.iter().map(|byte| f64::from(*byte)).sum();
    assert_eq!(file["size"], bytes.len());
    assert_eq!(file["sum"].as_f64(), Some(sum));
    assert_eq!(file["level"], 1);
    let (row, column) = first_pixels(&workspace.path("first"));
    let numbers = |values: &Value| -> Vec<f64> {
        let values = values.as_array().into_iter().flatten();
        values.filter_map(Value::as_f64).collect()
    };
    assert_eq!(pixels["shape"], json!([2, 3, 1]));
    assert_eq!(numbers(&pixels["first_row"]), row);
    assert_eq!(numbers(&pixels["first_column"]), column);
    assert_eq!(report, &json!({ "sound": true }));
    assert_eq!(failed["kind"], kind, "{failed}");
    let message = failed["message"].as_str().unwrap_or_default();
    assert!(message.contains("missing.tacozip"), "{failed}");
}

#[test]
fn r_reads_what_the_command_line_reads() {
    if !is_installed(["Rscript", "R"]) {
        return;
    }
    let (workspace, sample, bytes) = three_scenes();
    let folder = library_folder();
    // R writes the object beside the source.
    let source = workspace.path("taco_studio_r.c");
    std::fs::copy(examples().join("r/taco_studio_r.c"), &source).expect("is copied");
    let mut compile = Command::new("R");
    compile
        .args(["CMD", "SHLIB"])
        .arg(&source)
        .env(
            "PKG_CPPFLAGS",
            format!(
                "-I{} -I{} -Wall -Werror",
                project_folder().join("packaging/c/include").display(),
                examples().display()
            ),
        )
        .env(
            "PKG_LIBS",
            format!(
                "-L{} -ltaco_studio_c -Wl,-rpath,{}",
                folder.display(),
                folder.display()
            ),
        );
    workspace.run(compile).expect_code(0);
    let mut walk = Command::new("Rscript");
    walk.arg(examples().join("r/walk.R"))
        .arg(workspace.path("taco_studio_r.so"))
        .args(["set.tacozip", TYPED_VALUES, sample.as_str()]);
    let ran = workspace.run(walk).expect_code(0);
    assert!(ran.stderr.contains("list"), "{ran}");
    let typed = typed_values(json!("2024-02-03"), json!("2024-02-03 04:05:06"));
    expect_like_command_line(&json_lines(&ran.stdout), &workspace, &bytes, &typed, "io");
}

#[test]
fn octave_reads_what_the_command_line_reads() {
    if !is_installed(["mkoctfile", "octave-cli"]) {
        return;
    }
    let (workspace, sample, bytes) = three_scenes();
    let folder = library_folder();
    let mut compile = Command::new("mkoctfile");
    compile
        .arg(examples().join("octave/taco_studio.cc"))
        .arg(format!(
            "-I{}",
            project_folder().join("packaging/c/include").display()
        ))
        .arg(format!("-I{}", examples().display()))
        .arg(format!("-L{}", folder.display()))
        .arg("-ltaco_studio_c")
        .arg(format!("-Wl,-rpath,{}", folder.display()))
        .args(["-o", "taco_studio.oct"]);
    workspace.run(compile).expect_code(0);
    let mut walk = Command::new("octave-cli");
    walk.args(["--no-history", "--path", "."])
        .arg(examples().join("octave/walk.m"))
        .args(["set.tacozip", TYPED_VALUES, sample.as_str()]);
    let ran = workspace.run(walk).expect_code(0);
    assert!(ran.stderr.contains("list"), "{ran}");
    let (day, instant) = (1_706_918_400.0, 1_706_918_400.0 + 14_706.0);
    let typed = typed_values(json!(day), json!(instant));
    let lines = json_lines(&ran.stdout);
    expect_like_command_line(&lines, &workspace, &bytes, &typed, "taco_studio:io");
}

#[test]
fn a_program_in_c_reads_what_the_command_line_reads() {
    let (workspace, sample, bytes) = three_scenes();
    let folder = library_folder();
    let mut compile = Command::new("cc");
    compile
        .arg(project_folder().join("packaging/c/examples/walk.c"))
        .arg("-I")
        .arg(project_folder().join("packaging/c/include"));
    compile
        .args([
            "-std=c99", "-Wall", "-Wextra", "-Werror", "-o", "walk", "-L",
        ])
        .arg(&folder)
        .arg("-ltaco_studio_c");
    compile.arg(format!("-Wl,-rpath,{}", folder.display()));
    workspace.run(compile).expect_code(0);

    let sql = "SELECT id, type FROM level1";
    let mut walk = Command::new(workspace.path("walk"));
    walk.args(["set.tacozip", sql, sample.as_str()]);
    let ran = workspace.run(walk).expect_code(0);
    let lines = json_lines(&ran.stdout);
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
