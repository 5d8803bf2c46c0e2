//! Memory of the verbs by the number of samples: each reads, checks and writes a dataset of many
//! samples of a few bytes. What a verb holds for each sample is the growth of its peak between two
//! sizes, whatever the program itself takes.

use std::fs;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
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
/// what the program itself takes; most verbs hold 350 to 550.
const BYTES_PER_SAMPLE: u64 = 700;
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
    assembly.update_extent(&ctx).expect("has places");
    let options = BuildOptions {
        target: path.to_owned(),
        format: Format::Zip,
        parquet: ParquetOptions::default(),
        overwrite: false,
        parts: None,
        on_damage: OnDamage::Stop,
        text_columns: false,
        align_blocks: false,
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

/// Writes the fields of a collection.
fn write_collection(workspace: &Workspace) -> PathBuf {
    workspace.write(
        "collection.json",
        r#"{"id": "many", "dataset_version": "1.0.0", "description": "Samples of a few bytes.",
            "licenses": ["CC0-1.0"],
            "providers": [{"name": "Test", "roles": ["producer"]}], "tasks": ["classification"]}"#,
    )
}

fn expect_bounded(verbs: &[(&str, &str)]) {
    let workspace = Workspace::new();
    let few = workspace.path("few");
    write_dataset(&few.with_extension("tacozip"), "few", 10);
    let collection = write_collection(&workspace);
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

/// Items of the smaller and of the larger catalogue.
const ITEMS: [usize; 2] = [4_000, 24_000];
/// Bytes that a plan may hold for each item: those of a hundred thousand are 300 MB with what the
/// program itself takes.
const BYTES_PER_ITEM: u64 = 2_400;

/// An Item as an archive of satellite images has it, with 19 properties and three assets.
fn write_item(into: &mut impl Write, item: usize) {
    let west = -170.0 + (item % 340) as f64;
    let south = -80.0 + (item / 340 % 150) as f64;
    let time = format!("2020-01-{:02}T{:02}:00:00Z", 1 + item % 28, item % 24);
    let asset = |name: &str, kind: &str, role: &str| {
        json!({
            "href": format!("https://example.org/cogs/{}/T/ABC/2020/{item}/{name}", item % 60),
            "type": kind,
            "roles": [role],
            "title": name,
            "file:size": 1000 + item,
            "proj:shape": [10980, 10980],
            "proj:transform": [10.0, 0.0, 399960.0, 0.0, -10.0, 5000040.0],
        })
    };
    let platform = ["sentinel-2a", "sentinel-2b"][item % 2];
    let (east, north) = (west + 1.0, south + 1.0);
    let document = json!({
        "type": "Feature",
        "stac_version": "1.0.0",
        "id": format!("S2_{item:08}"),
        "geometry": {
            "type": "Polygon",
            "coordinates": [[
                [west, south], [east, south], [east, north], [west, north], [west, south],
            ]],
        },
        "bbox": [west, south, east, north],
        "collection": "s2",
        "links": [],
        "assets": {
            "visual": asset("visual.tif", "image/tiff", "data"),
            "thumbnail": asset("preview.jpg", "image/jpeg", "thumbnail"),
            "metadata": asset("metadata.xml", "application/xml", "metadata"),
        },
        "properties": {
            "datetime": time,
            "created": time,
            "updated": time,
            "platform": platform,
            "constellation": "sentinel-2",
            "instruments": ["msi"],
            "gsd": 10,
            "eo:cloud_cover": (item % 1000) as f64 / 10.0,
            "proj:epsg": 32600 + item % 60,
            "proj:code": format!("EPSG:{}", 32600 + item % 60),
            "mgrs:utm_zone": item % 60,
            "mgrs:latitude_band": "T",
            "mgrs:grid_square": "ABC",
            "s2:product_uri": format!("S2A_MSIL2A_20200101T000000_N0500_R{item:06}.SAFE"),
            "s2:granule_id": format!("S2A_OPER_MSI_L2A_TL_{item:08}"),
            "view:sun_azimuth": 100.5 + (item % 90) as f64,
            "view:sun_elevation": 30.25 + (item % 50) as f64,
            "s2:nodata_pixel_percentage": (item % 77) as f64 / 77.0,
            "grid:code": format!("MGRS-{}TABC", item % 60),
        },
    });
    write!(into, "{document}").expect("writes an item");
}

#[test]
fn a_plan_holds_two_kilobytes_for_each_item_of_a_catalogue() {
    let workspace = Workspace::new();
    let collection = write_collection(&workspace).display().to_string();
    let peaks = ITEMS.map(|items| {
        let catalogue = workspace.path(&format!("{items}.json"));
        let mut file = BufWriter::new(fs::File::create(&catalogue).expect("a file"));
        for item in 0..items {
            let before = if item == 0 {
                r#"{"type": "FeatureCollection", "features": ["#
            } else {
                ","
            };
            file.write_all(before.as_bytes()).expect("writes");
            write_item(&mut file, item);
        }
        file.write_all(b"], \"links\": []}").expect("writes");
        file.flush().expect("writes");
        let plan = workspace.path(&format!("{items}_plan"));
        let (catalogue, plan) = (catalogue.display().to_string(), plan.display().to_string());
        let arguments = ["plan", &catalogue, "-o", &plan, "--collection", &collection];
        peak_of(&workspace, &arguments.map(str::to_owned))
    });
    let grown = peaks[1].saturating_sub(peaks[0]) / (ITEMS[1] - ITEMS[0]) as u64;
    println!("{grown} bytes an item");
    assert!(grown <= BYTES_PER_ITEM, "{grown} bytes an item");
}
