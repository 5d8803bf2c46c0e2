//! Targets for texts and single values: geometries, collections, projects, journals, scripts, SQL.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use arrow::array::{
    ArrayRef, BinaryArray, Float64Array, Int64Array, ListArray, RecordBatch, StringArray,
    TimestampMicrosecondArray,
};
use arrow::datatypes::Float64Type;
use serde_json::Value as Json;
use taco_studio::container::{OpenOptions, parse_collection, write_collection};
use taco_studio::export::Catalogue;
use taco_studio::footprint::{StatedLocationReader, footprints};
use taco_studio::jobs::{JobContext, Jobs};
use taco_studio::model::{Dataset, PitSchema, Report, Value};
use taco_studio::ops::describe_dataset;
use taco_studio::query::{Tables, VsiBase, run_sql};
use taco_studio::studio::{
    Command, ScriptLine, Studio, is_project, open_project, read_script, recoverable, save_project,
};
use taco_studio::table::{LevelTable, parse_wkb, wkb_bounds, wkb_point, write_wkb};
use taco_studio::validate;

use crate::place;
use crate::targets::expected;

/// A geometry: both readers, writing, and its outline.
pub fn wkb(bytes: &[u8]) {
    let bounds = wkb_bounds(bytes);
    let _ = wkb_point(bytes);
    let value = Value::Bytes(bytes.into());
    let reader = StatedLocationReader::default();
    for crs in ["EPSG:4326", "EPSG:3413", "EPSG:32760"] {
        let stated = reader.read(&|name| match name {
            "istac:geometry" => value.clone(),
            "istac:crs" => Value::text(crs),
            _ => Value::Null,
        });
        footprints(&[stated], &JobContext::default()).expect("is no error");
    }
    let Some(geometry) = parse_wkb(bytes) else {
        return;
    };
    // Empty rings are not written.
    let written = write_wkb(&geometry);
    let again = parse_wkb(&written).expect("what is written reads back");
    assert_eq!(write_wkb(&again), written, "as what was written");
    assert_eq!(wkb_bounds(&written), bounds, "the bounds stay");
}

/// COLLECTION.json: checks, writing, and catalogue exports.
pub fn collection(bytes: &[u8]) {
    let ctx = JobContext::default();
    let Some(collection) = expected(parse_collection(bytes)) else {
        return;
    };
    validate::check_collection(&collection, &mut Report::default());
    let _ = (collection.placeholders(), collection.descriptive_fields());
    if let Ok(pit) = serde_json::from_value::<PitSchema>(
        collection
            .fields
            .get("taco:pit_schema")
            .cloned()
            .unwrap_or_default(),
    ) {
        let schema = collection
            .fields
            .get("taco:field_schema")
            .cloned()
            .unwrap_or_default();
        let written = expected(write_collection(&collection, &pit, &schema)).expect("is written");
        parse_collection(&written).expect("what is written reads back");
    }
    expected(validate::dataset(
        &Dataset {
            collection,
            ..Dataset::default()
        },
        &ctx,
    ));
    let folder = dataset_folder();
    std::fs::write(folder.join("COLLECTION.json"), bytes).expect("writes");
    let forms = [
        Catalogue::Stac,
        Catalogue::Croissant,
        Catalogue::Datacite,
        Catalogue::Markdown,
        Catalogue::Html,
    ];
    let form = forms[crc32fast::hash(bytes) as usize % forms.len()];
    expected(describe_dataset(
        &folder,
        &OpenOptions::default(),
        form,
        None,
        None,
        &ctx,
    ));
}

/// A dataset whose COLLECTION.json is the input.
fn dataset_folder() -> PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let made = || {
        let source = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
            .join("tests/fixtures/golden/34_upstream_folder_nested/nested");
        let target = place::folder().join("dataset");
        copy(&source, &target);
        target
    };
    FOLDER.get_or_init(made).clone()
}

fn copy(from: &std::path::Path, to: &std::path::Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        if entry.file_type().expect("a type").is_dir() {
            copy(&entry.path(), &to.join(entry.file_name()))
        } else {
            std::fs::copy(entry.path(), to.join(entry.file_name())).expect("copies");
        }
    }
}

/// A project file: opened, checked, saved again.
pub fn project(bytes: &[u8]) {
    let ctx = JobContext::default();
    let path = place::file("x.tacostudio", bytes);
    let known = is_project(&path);
    let Some(project) = expected(open_project(&path, &ctx)) else {
        return;
    };
    assert!(known, "what opens as a project is one");
    expected(validate::dataset(&project.content.dataset, &ctx));
    let again = place::folder().join("again.tacostudio");
    if expected(save_project(&again, &project, &ctx)).is_some() {
        open_project(&again, &ctx)
            .unwrap_or_else(|error| panic!("what is saved opens: {}", error.report()));
    }
}

/// An autosave journal: listed, then replayed.
pub fn journal(bytes: &[u8]) {
    let folder = place::folder().join("autosave");
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join("draft-1.journal");
    std::fs::write(&path, bytes).expect("writes");
    let _ = recoverable(&folder);
    let mut studio = Studio::new(Jobs::quiet());
    studio.set_live_check(false);
    if expected(studio.run_to_end(Command::Restore { path }, &mut |_| {})).is_some()
        && let Some(draft) = studio.document().and_then(|document| document.draft())
    {
        expected(validate::dataset(draft.dataset(), &JobContext::default()));
    }
}

/// A script: its commands are parsed, serialized and parsed again, not executed.
pub fn script(bytes: &[u8]) {
    let path = place::file("x.json", bytes);
    for line in expected(read_script(&path)).unwrap_or_default() {
        let text = match &line.content {
            ScriptLine::Command(line) => serde_json::to_string(&line.command),
            ScriptLine::Step(step) => serde_json::to_string(step),
        };
        let text = text.expect("is written");
        serde_json::from_str::<ScriptLine>(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
    }
}

/// A statement on two small levels.
pub fn sql(bytes: &[u8]) {
    static TABLES: OnceLock<Tables> = OnceLock::new();
    let tables = TABLES.get_or_init(levels);
    let statement = String::from_utf8_lossy(bytes);
    let Some(result) = expected(run_sql(
        tables,
        &statement,
        Some(100),
        &JobContext::default(),
    )) else {
        return;
    };
    let rows: Vec<serde_json::Map<String, Json>> = result.json_rows().collect();
    assert!(rows.len() <= 100, "{} rows", rows.len());
    let _ = (result.csv(), result.text(100), result.columns());
}

fn levels() -> Tables {
    let texts = |values: &[&str]| Arc::new(StringArray::from(values.to_vec())) as ArrayRef;
    let numbers = |values: &[i64]| Arc::new(Int64Array::from(values.to_vec())) as ArrayRef;
    let point =
        |x: f64, y: f64| [&[1, 1, 0, 0, 0][..], &x.to_le_bytes(), &y.to_le_bytes()].concat();
    let points = [point(-75.0, -12.0), point(10.0, 50.0)];
    let centroids = BinaryArray::from(vec![
        Some(points[0].as_slice()),
        Some(points[1].as_slice()),
        None,
    ]);
    let times = TimestampMicrosecondArray::from(vec![
        Some(1_609_459_200_000_000),
        Some(1_609_545_600_000_000),
        None,
    ]);
    let lists = ListArray::from_iter_primitive::<Float64Type, _, _>([
        Some(vec![Some(1.0), Some(2.0)]),
        Some(vec![]),
        None,
    ]);
    let level0 = vec![
        ("id", texts(&["lima", "bonn", "__TACOPAD__0"])),
        ("type", texts(&["FOLDER", "FOLDER", "FILE"])),
        ("stac:centroid", Arc::new(centroids)),
        ("stac:time_start", Arc::new(times)),
        (
            "cloud_cover",
            Arc::new(Float64Array::from(vec![Some(0.25), Some(0.75), None])),
        ),
        ("stac:geotransform", Arc::new(lists)),
        ("internal:current_id", numbers(&[0, 1, 2])),
        ("internal:parent_id", numbers(&[0, 1, 2])),
    ];
    let level1 = vec![
        ("id", texts(&["image", "label", "image", "label"])),
        ("type", texts(&["FILE", "FILE", "FILE", "FILE"])),
        ("internal:current_id", numbers(&[0, 1, 2, 3])),
        ("internal:parent_id", numbers(&[0, 0, 1, 1])),
    ];
    let mut tables = Tables::new(VsiBase::None);
    for columns in [level0, level1] {
        let columns = columns.into_iter().map(|(name, array)| (name, array, true));
        let batch = RecordBatch::try_from_iter_with_nullable(columns).expect("is a batch");
        tables.push_table(Arc::new(LevelTable::new(batch.schema(), vec![batch])));
    }
    tables
}
