//! The C library: its examples in C, R and Octave, compiled as they say at their heads, beside the
//! command line.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, FixedSizeBinaryArray,
    Float32Array, Float64Array, Int8Array, Int32Array, Int64Array, LargeStringArray, ListArray,
    RecordBatch, StringArray, StringViewArray, TimestampMicrosecondArray,
    TimestampMillisecondArray, UInt32Array, UInt64Array,
};
use arrow::datatypes::Int64Type;
use gdal::DriverManager;
use gdal::raster::Buffer;
use parquet::arrow::ArrowWriter;
use serde_json::{Value, json};

use crate::support::{COLLECTION, Workspace, copy_folder, nested_scenes, project_folder};

/// The folder of the library, which `packaging/test` builds.
fn library_folder() -> PathBuf {
    let library =
        Path::new(env!("CARGO_BIN_EXE_taco-studio")).with_file_name("libtaco_studio_c.so");
    assert!(
        library.exists(),
        "{} is not there: ./packaging/test builds it",
        library.display()
    );
    library.parent().expect("has a folder").to_path_buf()
}

fn parse_lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).expect("is JSON"))
        .collect()
}

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
    let lines = parse_lines(&ran.stdout);
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

/// A raster of two bands of 3 × 4 values, hundreds of which are the band, tens the row and ones the
/// column; 212 stands for no data.
fn write_numbered_raster(path: &Path) {
    let driver = DriverManager::get_driver_by_name("GTiff").expect("the GTiff driver");
    let dataset = driver
        .create_with_band_type::<i16, _>(path, 4, 3, 2)
        .expect("a GeoTIFF");
    for number in 1..=2_usize {
        let value = |at: usize| (number * 100 + at / 4 * 10 + at % 4) as i16;
        let mut pixels = Buffer::new((4, 3), (0..12).map(value).collect());
        let mut band = dataset.rasterband(number).expect("a band");
        band.set_no_data_value(Some(212.0)).expect("nodata");
        band.write((0, 0), (4, 3), &mut pixels).expect("pixels");
    }
    dataset.close().expect("a closed file");
}

fn column(name: &'static str, values: impl Array + 'static) -> (&'static str, ArrayRef) {
    (name, Arc::new(values))
}

/// Columns of the types that the examples read, with limits of their numbers, and of two that they
/// leave out.
fn typed_columns() -> Vec<(&'static str, ArrayRef)> {
    let exact = 1_i64 << 53;
    let bytes: Vec<Option<&[u8]>> = vec![Some(&[0, 1]), None, Some(&[])];
    let fixed = [Some([1_u8, 2]), None, Some([3, 4])];
    let fixed = FixedSizeBinaryArray::try_from_sparse_iter_with_size(fixed.into_iter(), 2);
    let moments = vec![Some(1_577_872_800_500_000), None, Some(0)];
    let zoned = TimestampMillisecondArray::from(vec![Some(1500), None, Some(-500)]);
    let parts = vec![Some(vec![Some(1), Some(2)]), None, Some(vec![Some(3)])];
    let price = Decimal128Array::from(vec![Some(150), None, Some(1)]);
    let views = vec![Some("short"), None, Some("a text longer than twelve bytes")];
    vec![
        column("path", StringArray::from(vec!["a.tif", "b.tif", "c.tif"])),
        column("tiny", Int8Array::from(vec![Some(-5), None, Some(7)])),
        column(
            "least",
            Int32Array::from(vec![Some(i32::MIN), None, Some(5)]),
        ),
        column(
            "amount",
            UInt32Array::from(vec![Some(u32::MAX), None, Some(0)]),
        ),
        column(
            "exact",
            Int64Array::from(vec![Some(-exact), None, Some(exact)]),
        ),
        column(
            "large",
            Int64Array::from(vec![Some(exact + 1), None, Some(-1)]),
        ),
        column(
            "largest",
            UInt64Array::from(vec![Some(1 << 63), None, Some(1)]),
        ),
        column(
            "half",
            Float32Array::from(vec![Some(0.5), None, Some(-1.5)]),
        ),
        column(
            "share",
            Float64Array::from(vec![Some(0.1), None, Some(1e300)]),
        ),
        column(
            "cloudy",
            BooleanArray::from(vec![Some(true), None, Some(false)]),
        ),
        column("checked", BooleanArray::from(vec![true, false, true])),
        column(
            "place",
            StringArray::from(vec![Some("né\"e\\u\n"), None, Some("")]),
        ),
        column(
            "long_text",
            LargeStringArray::from(vec![Some("x"), None, Some("y")]),
        ),
        column("view_text", StringViewArray::from(views)),
        column("bytes", BinaryArray::from(bytes)),
        column("fixed", fixed.expect("pairs")),
        column("day", Date32Array::from(vec![Some(19_782), None, Some(-1)])),
        column("moment", TimestampMicrosecondArray::from(moments)),
        column("zoned", zoned.with_timezone("Europe/Madrid")),
        column(
            "parts",
            ListArray::from_iter_primitive::<Int64Type, _, _>(parts),
        ),
        column(
            "price",
            price.with_precision_and_scale(5, 2).expect("a decimal"),
        ),
    ]
}

/// `set.tacozip`, three rasters with the typed columns.
fn create_typed_set(workspace: &Workspace) {
    let batch = RecordBatch::try_from_iter(typed_columns()).expect("a batch");
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).expect("a writer");
    writer.write(&batch).expect("writes");
    workspace.write("typed.parquet", writer.into_inner().expect("writes"));
    workspace.write("collection.json", COLLECTION);
    std::fs::create_dir(workspace.path("rasters")).expect("a folder");
    for name in ["a.tif", "b.tif", "c.tif"] {
        write_numbered_raster(&workspace.path("rasters").join(name));
    }
    let mut arguments = vec!["create", "rasters", "--metadata", "typed.parquet"];
    arguments.extend(["--collection", "collection.json", "-o", "set.tacozip"]);
    workspace.studio(arguments).expect_code(0);
}

/// Copies the examples into the workspace, where they are compiled. Options of the compiler for the
/// header, and of the linker for the library.
fn copy_examples(workspace: &Workspace) -> (String, [String; 3]) {
    let sources = project_folder().join("packaging/c");
    copy_folder(&sources.join("examples"), &workspace.path("examples"));
    let folder = library_folder();
    let link = [
        format!("-L{}", folder.display()),
        "-ltaco_studio_c".to_owned(),
        format!("-Wl,-rpath,{}", folder.display()),
    ];
    (format!("-I{}", sources.join("include").display()), link)
}

/// What a walk through the typed set prints, after it warned of the columns that it leaves out.
#[track_caller]
fn run_walk(workspace: &Workspace, program: &str, script: &str) -> Vec<Value> {
    let mut command = Command::new(program);
    command
        .arg(workspace.path(script))
        .arg("set.tacozip")
        .arg("SELECT *, NULL AS nothing FROM data ORDER BY id DESC")
        .arg("a.tif");
    let ran = workspace.run(command).expect_code(0);
    let warning = "left out: parts (lists), price (decimals)";
    assert_eq!(ran.stderr.matches(warning).count(), 2, "{ran}");
    parse_lines(&ran.stdout)
}

/// The line that has this field.
#[track_caller]
fn find_line<'a>(lines: &'a [Value], field: &str) -> &'a Value {
    lines
        .iter()
        .find(|line| line.get(field).is_some())
        .unwrap_or_else(|| panic!("nothing has {field}: {lines:?}"))
}

#[track_caller]
fn find_column<'a>(lines: &'a [Value], from: &str, name: &str) -> &'a Value {
    lines
        .iter()
        .find(|line| line["from"] == from && line["column"] == name)
        .unwrap_or_else(|| panic!("the {from} has no {name}: {lines:?}"))
}

/// A value as the command line and the examples both print it: numbers are doubles, and bytes
/// hexadecimal.
fn unify_value(value: &Value) -> Value {
    match value {
        Value::Number(number) => json!(number.as_f64()),
        Value::Array(bytes) => {
            let bytes = bytes.iter().filter_map(Value::as_u64);
            Value::String(bytes.map(|byte| format!("{byte:02x}")).collect())
        }
        other => other.clone(),
    }
}

/// Compares a table, and the same rows in the other order of a query, with what the command line
/// prints of `select`.
#[track_caller]
fn expect_columns(workspace: &Workspace, lines: &[Value], select: &str) {
    for (from, order) in [("table", "ASC"), ("query", "DESC")] {
        let sql = format!("SELECT {select} FROM data ORDER BY id {order}");
        let seen = workspace.studio(["query", "set.tacozip", "--json", "--sql", &sql]);
        let rows = parse_lines(&seen.expect_code(0).stdout);
        assert_eq!(rows.len(), 3);
        for name in rows[0].as_object().expect("a row").keys() {
            let wanted: Vec<Value> = rows.iter().map(|row| unify_value(&row[name])).collect();
            let column = find_column(lines, from, name);
            let values = column["values"].as_array().expect("values");
            let found: Vec<Value> = values.iter().map(unify_value).collect();
            assert_eq!(found, wanted, "{name} of the {from}");
        }
    }
    let nothing = find_column(lines, "query", "nothing");
    assert_eq!(nothing["values"], json!([null, null, null]));
}

/// Compares everything else that a walk prints.
#[track_caller]
fn expect_samples(workspace: &Workspace, lines: &[Value]) {
    let versions = find_line(lines, "version");
    assert_eq!(versions["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(versions["levels"], 1);
    assert_eq!(versions["title"], "Test scenes");
    let roots = find_line(lines, "roots");
    assert_eq!(roots["roots"], json!(["a.tif", "b.tif", "c.tif"]));

    workspace.read_into("set.tacozip", "a.tif", &workspace.path("first"));
    let bytes = std::fs::read(workspace.path("first")).expect("was written");
    let sum: u64 = bytes.iter().map(|byte| u64::from(*byte)).sum();
    let file = find_line(lines, "size");
    assert_eq!(
        (&file["size"], &file["sum"]),
        (&json!(bytes.len()), &json!(sum))
    );
    let path = file["path"].as_str().expect("a path");
    assert!(path.contains("set.tacozip"), "{path}");
    let pixels = find_line(lines, "shape");
    assert_eq!(pixels["shape"], json!([2, 3, 2]));
    assert_eq!(
        pixels["last_band"],
        json!([[201, 202, 203], [211, null, 213]])
    );

    let seen = workspace
        .studio(["validate", "set.tacozip", "--deep", "--json"])
        .expect_code(0)
        .json();
    let report = find_line(lines, "sound");
    assert_eq!(report["sound"], seen["valid"]);
    let findings = seen["findings"].as_array().map(Vec::len);
    assert_eq!(report["findings"], json!(findings));
    assert!(report["summary"].is_string(), "{report}");
    let operations = find_line(lines, "operations")["operations"].as_array();
    assert!(
        operations.is_some_and(|names| names.contains(&json!("validate"))),
        "{lines:?}"
    );

    let failures: Vec<&Value> = lines
        .iter()
        .filter(|line| line["kind"].is_string())
        .collect();
    let kinds: Vec<&Value> = failures.iter().map(|failure| &failure["kind"]).collect();
    assert_eq!(kinds, ["io", "usage", "usage"]);
    assert_eq!(failures[0]["place"], "none.tacozip");
    for (failure, part) in failures.iter().zip(["none.tacozip", "no_such_column", "9"]) {
        let hint = failure["hints"][0].as_str().expect("a hint");
        let message = failure["message"].as_str().expect("a message");
        assert!(
            message.contains(part) && message.contains(hint),
            "{failure}"
        );
    }
    assert!(find_line(lines, "closed")["closed"].is_string());
}

#[track_caller]
fn expect_classes(lines: &[Value], classes: &[(&str, &str)]) {
    for (name, class) in classes {
        assert_eq!(find_column(lines, "table", name)["class"], *class, "{name}");
    }
}

/// Compiles the bridge to R in the folder of the copied examples.
#[track_caller]
fn compile_for_r(workspace: &Workspace) {
    let (include, link) = copy_examples(workspace);
    let mut compile = Command::new("R");
    compile
        .args(["CMD", "SHLIB", "-o", "examples/taco_studio_r.so"])
        .arg("examples/taco_studio_r.c")
        .env("PKG_CPPFLAGS", include)
        .env("PKG_CFLAGS", "-Wall -Werror")
        .env("PKG_LIBS", link.join(" "));
    workspace.run(compile).expect_code(0);
}

/// The same for Octave.
#[track_caller]
fn compile_for_octave(workspace: &Workspace) {
    let (include, link) = copy_examples(workspace);
    let mut compile = Command::new("mkoctfile");
    compile
        .args(["-Wall", "-o", "examples/taco_studio.oct"])
        .arg(include)
        .args(link)
        .arg("examples/taco_studio.cc");
    workspace.run(compile).expect_code(0);
}

/// Runs the code that `docs/C.md` has in this language, in the folder of the examples. Returns what
/// it prints.
#[track_caller]
fn run_document(workspace: &Workspace, language: &str, enter: &str, program: &str) -> String {
    workspace.studio(["sample", "examples/made"]).expect_code(0);
    let text = std::fs::read_to_string(project_folder().join("docs/C.md")).expect("is there");
    let opening = format!("```{language}\n");
    let (_, rest) = text.split_once(&opening).expect("a block");
    let (code, _) = rest.split_once("```").expect("an end");
    let script = workspace.write("document", format!("{enter}\n{code}"));
    let mut command = Command::new(program);
    command.arg(script);
    workspace.run(command).expect_code(0).stdout
}

#[test]
fn a_user_of_r_reads_what_the_command_line_reads() {
    let workspace = Workspace::new();
    create_typed_set(&workspace);
    compile_for_r(&workspace);
    let lines = run_walk(&workspace, "Rscript", "examples/walk.R");
    expect_columns(
        &workspace,
        &lines,
        "id, tiny, least, amount, exact, CAST(large AS VARCHAR) AS large, \
         CAST(largest AS VARCHAR) AS largest, half, share, cloudy, checked, place, long_text, \
         view_text, bytes, fixed, CAST(day AS VARCHAR) AS day, epoch(moment) AS moment, \
         epoch(zoned) AS zoned",
    );
    expect_classes(
        &lines,
        &[
            ("tiny", "integer"),
            // R has no integer for the least one of 32 bits, which is its NA.
            ("least", "numeric"),
            ("exact", "numeric"),
            ("large", "character"),
            ("cloudy", "logical"),
            ("bytes", "list"),
            ("day", "Date"),
            ("zoned", "POSIXct"),
        ],
    );
    expect_samples(&workspace, &lines);
    let classes: Vec<&Value> = lines
        .iter()
        .filter(|line| line["kind"].is_string())
        .map(|line| &line["class"])
        .collect();
    let usage = json!(["taco_usage", "taco_error"]);
    assert_eq!(classes, [&json!(["taco_io", "taco_error"]), &usage, &usage]);
}

#[test]
fn a_user_of_octave_reads_what_the_command_line_reads() {
    let workspace = Workspace::new();
    create_typed_set(&workspace);
    compile_for_octave(&workspace);
    let lines = run_walk(&workspace, "octave-cli", "examples/walk.m");
    expect_columns(
        &workspace,
        &lines,
        "id, tiny, least, amount, exact, CAST(large AS VARCHAR) AS large, \
         CAST(largest AS VARCHAR) AS largest, half, share, CAST(cloudy AS DOUBLE) AS cloudy, \
         checked, place, long_text, view_text, bytes, fixed, epoch(day) AS day, \
         epoch(moment) AS moment, epoch(zoned) AS zoned",
    );
    expect_classes(
        &lines,
        &[
            ("exact", "double"),
            ("large", "cell"),
            ("cloudy", "double"),
            ("checked", "logical"),
            ("bytes", "cell"),
        ],
    );
    expect_samples(&workspace, &lines);
    assert_eq!(find_line(&lines, "shape")["type"], "int16");
    let identifiers: Vec<&Value> = lines
        .iter()
        .filter_map(|line| line.get("identifier"))
        .collect();
    assert_eq!(
        identifiers,
        ["taco_studio:io", "taco_studio:usage", "taco_studio:usage"]
    );
}

#[test]
fn the_code_for_r_of_the_document_runs() {
    let workspace = Workspace::new();
    compile_for_r(&workspace);
    let printed = run_document(&workspace, "r", "setwd(\"examples\")", "Rscript");
    for part in [
        "danube_0001",
        "24 32  3",
        "FeatureCollection",
        "The dataset is valid",
    ] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
}

#[test]
fn the_code_for_octave_of_the_document_runs() {
    let workspace = Workspace::new();
    compile_for_octave(&workspace);
    let printed = run_document(&workspace, "octave", "cd examples", "octave-cli");
    for part in [
        "2023-05-12",
        "FeatureCollection",
        "The dataset is valid",
        "taco_studio:io",
    ] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
}
