//! Memory of the verbs by the number of samples: each reads, checks and writes a dataset of many
//! samples of a few bytes. What a verb holds for each sample is the growth of its peak between two
//! sizes, whatever the program itself takes.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::{
    ArrayRef, BinaryArray, Float64Array, RecordBatch, StringArray, TimestampMicrosecondArray,
};
use serde_json::json;
use taco_studio::container::{
    Assembly, AssemblyLevel, BuildOptions, Format, OnDamage, RowSource, write,
};
use taco_studio::jobs::JobContext;
use taco_studio::model::{Collection, Skeleton};
use taco_studio::table::{ParquetOptions, write_wkb_point};

use crate::support::Workspace;

/// Samples of the smaller and of the larger dataset. The second row group of the smaller has a few
/// rows only: a difference of nearly two row groups keeps what its buffers take small beside what
/// each sample takes.
const SIZES: [usize; 2] = [70_000, 190_000];
/// Bytes that a verb may hold for each sample. The aim is 400: a million samples in 500 MB with
/// what the program itself takes; most verbs hold 500 to 900.
const BYTES_PER_SAMPLE: u64 = 1000;
/// A verb that runs longer is considered hanging; debug builds are slow, and tests run beside each
/// other.
const PATIENCE: Duration = Duration::from_secs(300);

/// Writes a flat ZIP of samples with a place, a time, numbers and texts.
fn write_dataset(path: &Path, prefix: &str, samples: usize) {
    let number =
        |row: usize| (row.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 16) as f64 / (1u64 << 48) as f64;
    let ids =
        StringArray::from_iter_values((0..samples).map(|row| format!("{prefix}_{row:09}.bin")));
    let texts = |of: &dyn Fn(usize) -> &'static str| {
        Arc::new(StringArray::from_iter_values((0..samples).map(of))) as ArrayRef
    };
    let points = (0..samples)
        .map(|row| write_wkb_point(number(row) * 360.0 - 180.0, number(row + 7) * 120.0 - 60.0));
    let times = (0..samples).map(|row| 1_400_000_000_000_000 + (number(row + 3) * 3e14) as i64);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("id", Arc::new(ids.clone())),
        ("type", texts(&|_| "FILE")),
        (
            "stac:centroid",
            Arc::new(BinaryArray::from_iter_values(points)),
        ),
        (
            "stac:time_start",
            Arc::new(TimestampMicrosecondArray::from_iter_values(times)),
        ),
        (
            "cloud_cover",
            Arc::new(Float64Array::from_iter_values((0..samples).map(number))),
        ),
        (
            "country",
            texts(&|row| ["PE", "BR", "ES", "KE", "IN", "AU"][row % 6]),
        ),
    ];
    let batch = RecordBatch::try_from_iter_with_nullable(
        columns
            .into_iter()
            .map(|(name, column)| (name, column, true)),
    );
    let mut collection = Collection::template();
    for (key, value) in [
        ("id", json!("many")),
        ("description", json!("Samples of a few bytes.")),
        ("licenses", json!(["CC0-1.0"])),
        (
            "providers",
            json!([{ "name": "Test", "roles": ["producer"] }]),
        ),
        ("tasks", json!(["classification"])),
    ] {
        collection.set(key, Some(value));
    }
    let mut assembly = Assembly {
        collection,
        tree: Arc::new(Skeleton::from_columns(vec![(
            ids,
            vec![false; samples],
            (0..samples as u32).collect(),
        )])),
        levels: vec![AssemblyLevel {
            batch: batch.expect("a batch"),
            sources: (0..samples as u64)
                .map(|row| RowSource::Bytes(row.to_le_bytes().to_vec().into()))
                .collect(),
            meta_columns: Default::default(),
        }],
        version: Default::default(),
    };
    let ctx = JobContext::default();
    assembly.settle_extent(&ctx).expect("has places");
    let options = BuildOptions {
        target: path.to_owned(),
        format: Format::Zip,
        parquet: ParquetOptions::default(),
        overwrite: false,
        parts: None,
        on_damage: OnDamage::Stop,
        text_columns: false,
    };
    write(&assembly, &options, &ctx).expect("writes");
}

/// Runs the program; returns its peak of resident memory in bytes.
fn peak_of(workspace: &Workspace, arguments: &[String]) -> u64 {
    let said = workspace.path("stderr");
    let mut command = Command::new(env!("CARGO_BIN_EXE_taco-studio"));
    let output = fs::File::create(&said).expect("a file");
    workspace
        .house(command.args(arguments))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(output);
    let started = Instant::now();
    let mut child = command.spawn().expect("the program starts");
    let mut peak_kib = 0;
    let status = loop {
        let told = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let line = told.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        peak_kib = peak_kib.max(
            line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok())
                .unwrap_or(0u64),
        );
        if let Some(status) = child.try_wait().expect("its state") {
            break status;
        }
        if started.elapsed() > PATIENCE {
            child.kill().expect("to end the program");
            child.wait().expect("its end");
            panic!("{arguments:?} took more than {PATIENCE:?}");
        }
        std::thread::sleep(Duration::from_millis(3));
    };
    let said = fs::read_to_string(&said).unwrap_or_default();
    assert!(status.success(), "{arguments:?}: {status}\n{said}");
    println!(
        "{}: {} MiB in {:?}",
        arguments.join(" "),
        peak_kib >> 10,
        started.elapsed()
    );
    peak_kib << 10
}

/// Verbs that read and write metadata for the most part.
const VERBS: [(&str, &str); 7] = [
    (
        "stac-geoparquet",
        "describe {in}.tacozip --as stac-geoparquet -o {out}.parquet",
    ),
    (
        "geoparquet",
        "describe {in}.tacozip --as geoparquet -o {out}.parquet",
    ),
    (
        "markdown",
        "describe {in}.tacozip --as markdown -o {out}.md",
    ),
    (
        "concat",
        "concat {in}.tacozip {few}.tacozip -o {out}.tacozip",
    ),
    (
        "export",
        "export {in}.tacozip -o {out}.tacozip --where cloud_cover>0.1",
    ),
    ("convert", "convert {in}.tacozip {out}.tacozip"),
    ("validate", "validate {in}.tacozip"),
];
/// Verbs that open each sample, or write a file for it.
const SLOW_VERBS: [(&str, &str); 4] = [
    ("repair", "repair {in}.tacozip -o {out}.tacozip"),
    ("compile", "compile {in}.tacozip -o {out}.tortilla"),
    ("folder", "convert {in}.tacozip {out}_folder"),
    // Reads the files of the folder before.
    (
        "create",
        "create {folder}_folder/DATA -o {out}.tacozip --collection {collection}",
    ),
];

#[test]
fn verbs_hold_a_few_hundred_bytes_for_each_sample() {
    expect_bounded(&VERBS);
}

#[test]
#[ignore = "takes minutes: opens and writes hundreds of thousands of samples one by one"]
fn verbs_that_open_each_sample_hold_a_few_hundred_bytes_for_it() {
    expect_bounded(&SLOW_VERBS);
}

fn expect_bounded(verbs: &[(&str, &str)]) {
    let workspace = Workspace::new();
    let few = workspace.path("few");
    write_dataset(&few.with_extension("tacozip"), "few", 10);
    let collection = workspace.write(
        "collection.json",
        r#"{"id": "many", "dataset_version": "1.0.0", "description": "Samples of a few bytes.",
            "licenses": ["CC0-1.0"],
            "providers": [{"name": "Test", "roles": ["producer"]}], "tasks": ["classification"]}"#,
    );
    let mut peaks: Vec<Vec<u64>> = vec![Vec::new(); verbs.len()];
    for samples in SIZES {
        let input = workspace.path(&samples.to_string());
        write_dataset(&input.with_extension("tacozip"), "sample", samples);
        for ((name, line), peaks) in verbs.iter().zip(&mut peaks) {
            let of_verb = |name: &str| {
                workspace
                    .path(&format!("{samples}_{name}"))
                    .display()
                    .to_string()
            };
            let argument = |word: &str| {
                word.replace("{in}", &input.display().to_string())
                    .replace("{out}", &of_verb(name))
                    .replace("{folder}", &of_verb("folder"))
                    .replace("{few}", &few.display().to_string())
                    .replace("{collection}", &collection.display().to_string())
            };
            peaks.push(peak_of(
                &workspace,
                &line.split(' ').map(argument).collect::<Vec<_>>(),
            ));
        }
    }
    let more = (SIZES[1] - SIZES[0]) as u64;
    let grown = |peaks: &Vec<u64>| peaks[1].saturating_sub(peaks[0]) / more;
    let found: Vec<String> = verbs
        .iter()
        .zip(&peaks)
        .map(|((name, _), peaks)| format!("{name}: {} bytes a sample", grown(peaks)))
        .collect();
    println!("{}", found.join("\n"));
    assert!(
        peaks.iter().all(|peaks| grown(peaks) <= BYTES_PER_SAMPLE),
        "more than {BYTES_PER_SAMPLE}:\n{}",
        found.join("\n")
    );
}
