//! A small valid nested dataset as draft, ZIP and FOLDER, copies of which the cases damage.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::datatypes::DataType;
use serde_json::json;
use taco_studio::container::{BuildOptions, Format, OnDamage};
use taco_studio::jobs::JobContext;
use taco_studio::model::{Collection, Dataset, FieldSpec, Sample, Tortilla, Value};
use taco_studio::ops::checked_build;
use taco_studio::table::ParquetOptions;

use crate::support::Workspace;

/// Ids of the roots, in order.
pub const ROOTS: [&str; 3] = ["scene_a", "scene_b", "scene_c"];
/// Ids of each root's children, in order.
pub const FILES: [&str; 3] = ["before.bin", "after.bin", "label.bin"];

pub struct Good {
    pub workspace: Workspace,
    pub dataset: Dataset,
    pub zip: PathBuf,
    pub folder: PathBuf,
}

impl Good {
    pub fn new() -> Self {
        let workspace = Workspace::new();
        let dataset = dataset(&workspace);
        let (zip, folder) = (workspace.path("good.tacozip"), workspace.path("good"));
        for (target, format) in [(&zip, Format::Zip), (&folder, Format::Folder)] {
            checked_build(&dataset, &options(target, format), &JobContext::default())
                .expect("the good dataset is written");
        }
        Self {
            workspace,
            dataset,
            zip,
            folder,
        }
    }
}

pub fn options(target: &Path, format: Format) -> BuildOptions {
    BuildOptions {
        text_columns: false,
        align_blocks: false,
        target: target.to_owned(),
        format,
        parquet: ParquetOptions::default(),
        overwrite: false,
        parts: None,
        on_damage: OnDamage::Stop,
    }
}

/// A WKB point.
fn point(x: f64, y: f64) -> Value {
    let mut bytes = vec![1, 1, 0, 0, 0];
    bytes.extend(x.to_le_bytes());
    bytes.extend(y.to_le_bytes());
    Value::Bytes(bytes.into())
}

fn dataset(workspace: &Workspace) -> Dataset {
    let top = Arc::from([
        FieldSpec::new("stac:centroid", DataType::Binary),
        FieldSpec::new("cloud_cover", DataType::Float64),
        FieldSpec::new("split", DataType::Utf8),
    ]);
    let below: Arc<[FieldSpec]> = Arc::from([
        FieldSpec::new("bands", DataType::Int64),
        FieldSpec::new("note", DataType::Utf8),
    ]);
    let mut roots = Vec::new();
    for (number, root) in ROOTS.iter().enumerate() {
        let children = FILES.iter().enumerate().map(|(place, file)| {
            let bytes: Vec<u8> = (0..150 + number * 30 + place * 7)
                .map(|byte| (byte * 31 + number * 7 + place) as u8)
                .collect();
            let path = workspace.write(&format!("sources/{root}/{file}"), &bytes);
            let values = [
                Value::Int(place as i64 + 1),
                if place == 1 {
                    Value::Null
                } else {
                    Value::text(root)
                },
            ];
            Sample {
                values: values.into(),
                ..Sample::new_file(file, path, bytes.len() as u64)
            }
        });
        let tortilla = Tortilla {
            schema: below.clone(),
            samples: children.collect(),
        };
        let values = [
            point(10.0 + number as f64, 45.0 - number as f64),
            Value::Float(number as f64 / 4.0),
            Value::text("train"),
        ];
        roots.push(Sample {
            values: values.into(),
            ..Sample::new_folder(root, tortilla)
        });
    }
    let mut collection = Collection::template();
    for (key, value) in [
        ("id", json!("good-scenes")),
        ("description", json!("Scenes with nothing wrong in them.")),
        ("licenses", json!(["CC-BY-4.0"])),
        (
            "providers",
            json!([{"name": "Tests", "roles": ["producer"]}]),
        ),
        ("tasks", json!(["classification"])),
        ("keywords", json!(["test"])),
    ] {
        collection.set(key, Some(value));
    }
    Dataset {
        collection,
        root: Arc::new(Tortilla {
            schema: top,
            samples: roots,
        }),
    }
}
