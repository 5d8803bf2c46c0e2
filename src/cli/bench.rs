//! Hidden commands of `packaging/bench`: time and memory of opening and holding a dataset.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::datatypes::DataType;
use serde_json::{Value as Json, json};

use super::output::print;
use super::runner::session;
use crate::container;
use crate::draft::{Draft, Edit, Structure};
use crate::error::{Error, IoContext, Result};
use crate::extensions::{self, ExtensionCall};
use crate::jobs::{JobContext, Jobs};
use crate::model::{
    AssetPath, Collection, Dataset, FieldSpec, NodePath, Payload, RowRef, Sample, Skeleton,
    Tortilla, Value,
};
use crate::ops::{SidecarHandling, import_folder, lazy_tables};
use crate::query::{self, Query};
use crate::raster;
use crate::studio::{Command, Project, Studio, save_project};
use crate::validate::LiveCheck;

/// Time to the first row of the table, and of the Parquet read alone.
pub fn open(path: &Path) -> Result<u8> {
    let ctx = JobContext::default();
    let start = Instant::now();
    let mut studio = session();
    studio.run_to_end(
        Command::Open {
            path: path.to_owned(),
        },
        &mut |_| {},
    )?;
    let document = studio
        .document()
        .ok_or_else(|| Error::internal("opening opened nothing"))?;
    let at = RowRef { level: 0, row: 0 };
    let first: Vec<String> = document
        .fields(0)
        .iter()
        .map(|field| document.text(at, &field.name))
        .collect();
    let opened = start.elapsed();
    drop(studio);
    let reader = container::open(path, &ctx)?;
    let start = Instant::now();
    let table = reader.levels().table(0, &ctx)?;
    let plain = start.elapsed();
    let out = json!({
        "rows": table.rows(),
        "first_row_columns": first.len(),
        "open_seconds": opened.as_secs_f64(),
        "parquet_seconds": plain.as_secs_f64(),
        "ratio": opened.as_secs_f64() / plain.as_secs_f64().max(1e-9),
    });
    print(&out.to_string())?;
    Ok(0)
}

/// Opens a dataset and runs the queries read line by line; prints time and memory of opening and of
/// each query as JSON.
pub fn query(path: &Path) -> Result<u8> {
    let ctx = JobContext::default();
    let start = Instant::now();
    let tables = lazy_tables(&container::open(path, &ctx)?);
    let opened = start.elapsed();
    for line in std::io::stdin().lines() {
        let line =
            line.map_err(|error| Error::internal("no query could be read").because(error))?;
        let query: Query = serde_json::from_str(&line)
            .map_err(|error| Error::usage("this is no query").because(error))?;
        let start = Instant::now();
        let answer = query::run(&tables, &query, &ctx);
        let seconds = start.elapsed().as_secs_f64();
        let out = match &answer {
            Ok(result) => {
                let mut first: Vec<String> = (0..result.row_count)
                    .map(|row| result.table.text(row, 0))
                    .collect();
                first.sort();
                first.truncate(5);
                json!({
                    "open_seconds": opened.as_secs_f64(),
                    "seconds": seconds,
                    "rows": result.row_count,
                    "first_column": first,
                })
            }
            Err(error) => json!({ "error": error.report() }),
        };
        print(&out.to_string())?;
    }
    Ok(0)
}

/// Exact statistics with percentiles of every raster in a folder, and the time that one thread
/// takes just to read them.
pub fn stats(folder: &Path) -> Result<u8> {
    let ctx = JobContext::default();
    let (samples, _) = import_folder(folder, SidecarHandling::Leave, &ctx)?;
    let dataset = Dataset {
        collection: Collection::template(),
        root: Tortilla::new(samples).into(),
    };
    raster::close_idle();
    let start = Instant::now();
    for sample in &dataset.root.samples {
        if let Payload::Asset { path, .. } = &sample.payload {
            raster::read_through(&container::raster_source(path), &ctx)?;
        }
    }
    let read = start.elapsed();
    // Datasets that stay open hold pixels that the second reading would be spared.
    raster::close_idle();
    let call = ExtensionCall {
        extension: "stats".into(),
        ..ExtensionCall::default()
    };
    let start = Instant::now();
    let run = extensions::run(&dataset, &[call], &extensions::builtin(), &ctx)?;
    let computed = start.elapsed();
    let out = json!({
        "rasters": run.computed,
        "failures": run.failures.len(),
        "read_seconds": read.as_secs_f64(),
        "stats_seconds": computed.as_secs_f64(),
        "ratio": computed.as_secs_f64() / read.as_secs_f64().max(1e-9),
    });
    print(&out.to_string())?;
    Ok(0)
}

/// The first picture of a raster that was closed, again and again, and the next one when only the
/// stretch changes.
pub fn preview(path: &Path) -> Result<u8> {
    const TURNS: usize = 15;
    const FIT: (usize, usize) = (1024, 1024);
    let ctx = JobContext::default();
    let asset = raster::RasterSource::from_user_path(AssetPath::file(path));
    let (mut first, mut next) = (Vec::new(), Vec::new());
    let mut size = (0, 0);
    for turn in 0..TURNS {
        raster::close_idle();
        let start = Instant::now();
        let image = raster::preview(&raster::PreviewRequest::new(asset.clone(), FIT), &ctx)?;
        first.push(start.elapsed().as_secs_f64());
        size = (image.rgba.width, image.rgba.height);
        let stretch = raster::Stretch::Percentile {
            low: turn as f64 / 4.0,
            high: 100.0 - turn as f64 / 3.0,
        };
        let options = raster::RenderOptions {
            bands: image.bands,
            stretch,
            ..raster::RenderOptions::default()
        };
        let start = Instant::now();
        image.prepared.render(&options, None, None, None);
        next.push(start.elapsed().as_secs_f64());
    }
    first.sort_by(f64::total_cmp);
    next.sort_by(f64::total_cmp);
    let out = json!({
        "columns": size.0,
        "rows": size.1,
        "first_median_seconds": first.get(TURNS / 2),
        "first_worst_seconds": first.last(),
        "stretch_median_seconds": next.get(TURNS / 2),
        "stretch_worst_seconds": next.last(),
    });
    print(&out.to_string())?;
    Ok(0)
}

/// Memory of a draft: FILEs in tortillas of ten, each with a path of its own and four values.
/// The project is copied to `keep`.
pub fn draft(samples: u32, keep: Option<&Path>) -> Result<u8> {
    let before = resident_bytes();
    let start = Instant::now();
    let fields = [
        ("split", DataType::Utf8),
        ("cloud_cover", DataType::Float64),
        ("row", DataType::Int64),
        ("tile", DataType::Utf8),
    ];
    let schema: Arc<[FieldSpec]> = fields
        .into_iter()
        .map(|(name, dtype)| FieldSpec::new(name, dtype))
        .collect();
    let roots = (0..samples / 10).map(|root| {
        let children = Tortilla {
            schema: schema.clone(),
            samples: (root * 10..root * 10 + 10).map(make_bench_sample).collect(),
        };
        Sample::new_folder(&format!("roi_{root:07}"), children)
    });
    let root = Tortilla::new(roots.collect());
    let draft = Draft::from_dataset(Dataset {
        collection: Collection::template(),
        root: root.into(),
    });
    let made = start.elapsed();
    let held = resident_bytes()
        .zip(before)
        .map(|(now, before)| now.saturating_sub(before));
    let tree = Skeleton::from_dataset(draft.dataset());
    let with_tree = resident_bytes()
        .zip(before)
        .map(|(now, before)| now.saturating_sub(before));
    let (structure, live) = edit_times(draft.dataset())?;
    let mut out = json!({
        "samples": tree.total(),
        "structure_first_seconds": structure.0,
        "structure_edit_seconds": structure.1,
        "findings_first_seconds": live.0,
        "findings_edit_seconds": live.1,
        "draft_bytes": held,
        "draft_and_tree_bytes": with_tree,
        "made_seconds": made.as_secs_f64(),
    });
    let project = Project {
        content: draft.content().clone(),
        ..Project::default()
    };
    drop((draft, tree));
    if let (Json::Object(out), Json::Object(more)) = (&mut out, project_times(project, keep)?) {
        out.extend(more);
    }
    print(&out.to_string())?;
    Ok(0)
}

fn make_bench_sample(index: u32) -> Sample {
    Sample {
        id: format!("t{:02}.tif", index % 10).into(),
        payload: Payload::asset(
            AssetPath::file(format!(
                "/data/archive/scenes/roi_{:07}/t{:02}.tif",
                index / 10,
                index % 10
            )),
            1 << 20,
        ),
        values: [
            Value::text("train"),
            Value::Float(f64::from(index)),
            Value::Int(i64::from(index)),
            Value::text(format!("T18L{:04}", index % 5000)),
        ]
        .into(),
    }
}

/// A draft as people meet it: saved, opened, checked, edited, with a journal beside it.
fn project_times(project: Project, keep: Option<&Path>) -> Result<Json> {
    let folder = tempfile::tempdir().io_at("make a folder", std::env::temp_dir())?;
    let path = folder.path().join("bench.tacostudio");
    let timed = |start: Instant| start.elapsed().as_secs_f64();
    let start = Instant::now();
    save_project(&path, &project, &JobContext::default())?;
    let saved = timed(start);
    let bytes = std::fs::metadata(&path)
        .io_at("read the project", &path)?
        .len();
    if let Some(keep) = keep {
        std::fs::copy(&path, keep).io_at("keep the project", keep)?;
    }
    drop(project);
    let before = resident_bytes();
    let mut studio = Studio::new(Jobs::quiet());
    studio.set_autosave(Some(folder.path().join("autosave")));
    let start = Instant::now();
    studio.run_to_end(Command::OpenProject { path }, &mut |_| {})?;
    let opened = timed(start);
    wait_until_idle(&mut studio);
    let first = timed(start) - opened;
    let start = Instant::now();
    let rows = studio.document().map_or(0, |document| document.rows(1));
    let tree = timed(start);
    let roots = studio.document().map_or(0, |document| document.rows(0)) as u32;
    let (mut edits, mut trees) = (Vec::new(), Vec::new());
    for step in 0..40.min(roots) {
        let root = NodePath(vec![step * (roots / 40.min(roots))]);
        let edit = match step % 2 {
            0 => Edit::Remove {
                parent: root,
                at: step % 10,
                count: 1,
            },
            _ => Edit::Rename {
                sample: root.child(0),
                id: "renamed".into(),
            },
        };
        let start = Instant::now();
        studio.run(Command::Edit { edit })?;
        wait_until_idle(&mut studio);
        edits.push(timed(start));
        let start = Instant::now();
        studio.document().map(|document| document.rows(1));
        trees.push(timed(start));
        // Nobody edits faster than the disk takes what was done; a person does not notice.
        std::thread::sleep(Duration::from_millis(20));
    }
    let (edits, trees) = (
        find_median_and_worst(&mut edits),
        find_median_and_worst(&mut trees),
    );
    let held = resident_bytes()
        .zip(before)
        .map(|(now, before)| now.saturating_sub(before));
    Ok(json!({
        "project_bytes": bytes,
        "project_save_seconds": saved,
        "project_open_seconds": opened,
        "project_first_findings_seconds": first,
        "project_first_tree_seconds": tree,
        "project_files": rows,
        "edit_to_findings_median_seconds": edits.0,
        "edit_to_findings_worst_seconds": edits.1,
        "edit_to_tree_median_seconds": trees.0,
        "edit_to_tree_worst_seconds": trees.1,
        "project_held_bytes": held,
        "peak_bytes": peak_bytes(),
    }))
}

fn wait_until_idle(studio: &mut Studio) {
    while studio.is_busy() {
        studio.poll();
        std::thread::sleep(Duration::from_micros(100));
    }
}

fn find_median_and_worst(times: &mut [f64]) -> (Option<f64>, Option<f64>) {
    times.sort_by(f64::total_cmp);
    (times.get(times.len() / 2).copied(), times.last().copied())
}

/// Seconds of the structure and of the findings: the first time, and the longest of twenty
/// edits of one root each.
fn edit_times(dataset: &Dataset) -> Result<((f64, f64), (f64, f64))> {
    let ctx = JobContext::default();
    let mut dataset = dataset.clone();
    let (mut structure, mut live) = (Structure::default(), LiveCheck::default());
    let timed = |start: Instant| start.elapsed().as_secs_f64();
    let start = Instant::now();
    structure.update(&dataset);
    let structure_first = timed(start);
    let start = Instant::now();
    live.check(&dataset, None, &ctx)?;
    let live_first = timed(start);
    let (mut structure_edit, mut live_edit) = (0f64, 0f64);
    let roots = dataset.root.samples.len() as u32;
    for step in 0..20.min(roots) {
        let edit = Edit::Remove {
            parent: NodePath(vec![step * (roots / 20.min(roots))]),
            at: step % 10,
            count: 1,
        };
        edit.apply(&mut dataset)?;
        let start = Instant::now();
        structure.update(&dataset);
        structure_edit = structure_edit.max(timed(start));
        let start = Instant::now();
        live.check(&dataset, None, &ctx)?;
        live_edit = live_edit.max(timed(start));
    }
    Ok(((structure_first, structure_edit), (live_first, live_edit)))
}

/// Resident memory in bytes, where the system reports it.
fn resident_bytes() -> Option<u64> {
    status_bytes("VmRSS:")
}

/// Peak resident memory in bytes, where the system reports it.
fn peak_bytes() -> Option<u64> {
    status_bytes("VmHWM:")
}

fn status_bytes(name: &str) -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}
