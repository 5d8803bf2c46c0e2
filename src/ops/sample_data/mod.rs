//! The sample dataset: invented landscapes along six rivers before and after a flood, a fire, a
//! thaw or a snowfall. A formula draws them, so that nothing is downloaded. There is a leak between
//! the parts of its split and a picture with an empty region to find.

mod drawing;
mod noise;
mod outlines;
mod scenes;
mod surfaces;
mod terrain;

use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};

use self::drawing::{draw_scene, label_options};
use self::scenes::SCENES;
use super::import::{import_folder, join_metadata};
use super::sidecars::SidecarHandling;
use super::write::checked_build;
use crate::container::{BuildOptions, Format, OnDamage};
use crate::error::{IoContext, Result};
use crate::extensions::collection::labels::labels;
use crate::extensions::{self, CallTarget, ComputedColumn, ExtensionCall};
use crate::jobs::{JobContext, try_map};
use crate::model::{Collection, Dataset, Tortilla, Value};
use crate::table::{JoinRequest, ParquetOptions};

/// Folder of the sample among the data of the user, with the number of this drawing: an older one
/// stays where it is. `packaging/run` has it too.
pub const SAMPLE_FOLDER: &str = "sample-2";

/// Writes the scenes below `folder/scenes`, the tables beside them and `folder/sample.tacozip`, and
/// returns the archive's path. Existing files are kept.
///
/// # Errors
/// When a file can't be written.
pub fn make_sample_dataset(folder: &Path, ctx: &JobContext) -> Result<PathBuf> {
    let target = folder.join("sample.tacozip");
    if target.exists() {
        return Ok(target);
    }
    let scenes = folder.join("scenes");
    std::fs::create_dir_all(&scenes).io_at("make the folder of the sample", &scenes)?;
    ctx.stage(tr!("Drawing the scenes"), Some(SCENES as u64));
    let rows: Vec<String> = try_map(0..SCENES, |_, index| {
        ctx.check()?;
        let row = draw_scene(&scenes, index)?;
        ctx.step(1);
        Ok(row)
    })?;
    let table = folder.join("metadata.csv");
    let csv = format!(
        "path,split,river,cloud_cover,water_fraction,date,landscape,event\n{}",
        rows.concat()
    );
    std::fs::write(&table, csv).io_at("write the sample's table", &table)?;
    let collection = collection()?;
    let text = serde_json::to_string_pretty(&collection).unwrap_or_default();
    let file = folder.join("collection.json");
    std::fs::write(&file, text).io_at("write the sample's collection", &file)?;
    let (samples, _) = import_folder(&scenes, SidecarHandling::Leave, ctx)?;
    let mut dataset = Dataset {
        collection,
        root: Tortilla::new(samples).into(),
    };
    let join = JoinRequest {
        table,
        ..JoinRequest::default()
    };
    join_metadata(&mut dataset, &join, ctx)?;
    add_places(&mut dataset, ctx)?;
    let options = BuildOptions {
        text_columns: false,
        align_blocks: false,
        target: target.clone(),
        format: Format::Zip,
        parquet: ParquetOptions::default(),
        overwrite: false,
        parts: None,
        on_damage: OnDamage::Stop,
    };
    checked_build(&dataset, &options, ctx)?;
    Ok(target)
}

/// Sets footprint and time of each scene from its rasters and date, by the extension STAC. The
/// files get none, so that there is something left to compute.
fn add_places(dataset: &mut Dataset, ctx: &JobContext) -> Result<()> {
    let positions = vec!["before.tif".to_owned()];
    let call = ExtensionCall {
        extension: "stac".into(),
        options: Json::Null,
        target: CallTarget {
            level: 1,
            positions,
        },
        schema_only: false,
    };
    let mut run = extensions::run(dataset, &[call], &extensions::builtin(), ctx)?;
    let date = dataset.root.field("date");
    let times =
        dataset
            .root
            .samples
            .iter()
            .map(|scene| match date.map(|field| scene.value(field)) {
                Some(Value::Int(days)) => Value::Int(days * 86_400_000_000),
                _ => Value::Null,
            });
    let times: Vec<Value> = times.collect();
    let made = run.columns.pop().unwrap_or_default();
    let columns = made.into_iter().filter(|column| {
        !["stac:time_end", "stac:time_middle"].contains(&column.field.name.as_str())
    });
    let of_scenes = columns.map(|column| {
        let one_each = column
            .values
            .into_iter()
            .zip(column.touched)
            .filter_map(|(value, touched)| touched.then_some(value));
        let values = if column.field.name == "stac:time_start" {
            times.clone()
        } else {
            one_each.collect()
        };
        ComputedColumn {
            field: column.field,
            touched: vec![true; values.len()],
            values,
        }
    });
    run.columns = vec![of_scenes.collect()];
    let root = std::mem::take(&mut dataset.root);
    dataset.root = run.apply(root, false)?;
    Ok(())
}

fn collection() -> Result<Collection> {
    let mut collection = Collection::template();
    for (key, value) in [
        ("id", json!("river-floods-sample")),
        ("dataset_version", json!("2.0.0")),
        (
            "title",
            json!("Six rivers before and after a flood, a fire or a thaw"),
        ),
        (
            "description",
            json!(
                "Invented scenes of deltas, fields, coasts, cities, mountains, lakes and forests \
                    along six rivers, before and after an event: four optical bands, radar \
                    backscatter, elevation, a label of what changed, and outlines. Drawn by a \
                    formula; made to try Taco Studio with."
            ),
        ),
        ("licenses", json!(["CC0-1.0"])),
        (
            "providers",
            json!([{ "name": "Taco Studio", "roles": ["producer"], "url": null, "links": null }]),
        ),
        ("tasks", json!(["semantic-segmentation"])),
        (
            "keywords",
            json!(["change", "flood", "fire", "river", "sample"]),
        ),
    ] {
        collection.set(key, Some(value));
    }
    for (key, value) in labels(&label_options())? {
        collection.set(&key, Some(value));
    }
    Ok(collection)
}
