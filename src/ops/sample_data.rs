//! The sample dataset: invented valleys seen before and after a flood, drawn by a formula, so that it needs no download.

use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};

use super::import::{import_folder, join_metadata};
use super::sidecars::Sidecars;
use super::write::checked_build;
use crate::container::{BuildOptions, Format, OnDamage};
use crate::error::{IoContext, Result};
use crate::extensions::{self, Column, ExtensionCall, Target};
use crate::jobs::{JobContext, try_map};
use crate::model::{Collection, Dataset, Tortilla, Value};
use crate::raster::{NewRaster, Samples, write_geotiff};
use crate::table::ParquetOptions;

/// Scenes in the sample.
const SCENES: usize = 24;
/// Columns and rows of a scene.
const SIZE: usize = 256;
/// Metres of a pixel.
const PIXEL: f64 = 10.0;

/// Rivers by name, with UTM zone and coordinates.
const RIVERS: [(&str, u32, f64, f64); 6] = [
    ("ebro", 32631, 303_792.0, 4_508_089.0),
    ("po", 32633, 270_310.0, 4_980_120.0),
    ("danube", 32635, 640_400.0, 5_010_500.0),
    ("rhone", 32631, 640_210.0, 4_830_700.0),
    ("minho", 32629, 530_100.0, 4_650_900.0),
    ("vistula", 32634, 350_800.0, 6_010_300.0),
];

/// Writes the scenes below `folder/scenes`, the tables beside them and `folder/sample.tacozip`, and returns the archive's path.
/// Existing files are kept.
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
    let csv = format!("path,split,river,cloud_cover,water_fraction,date\n{}", rows.concat());
    std::fs::write(&table, csv).io_at("write the sample's table", &table)?;
    let collection = collection();
    let text = serde_json::to_string_pretty(&collection).unwrap_or_default();
    let file = folder.join("collection.json");
    std::fs::write(&file, text).io_at("write the sample's collection", &file)?;
    let (samples, _) = import_folder(&scenes, Sidecars::Leave, ctx)?;
    let mut dataset = Dataset { collection, root: Tortilla::new(samples).into() };
    join_metadata(&mut dataset, &table, ctx)?;
    add_places(&mut dataset, ctx)?;
    let options = BuildOptions {
        text_columns: false,
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

/// Sets footprint and time of each scene from its rasters and date, by the extension STAC. The files get none, so that there is
/// something left to compute.
fn add_places(dataset: &mut Dataset, ctx: &JobContext) -> Result<()> {
    let positions = vec!["before.tif".to_owned()];
    let call =
        ExtensionCall { extension: "stac".into(), options: Json::Null, target: Target { level: 1, positions }, schema_only: false };
    let mut run = extensions::run(dataset, &[call], &extensions::builtin(), ctx)?;
    let date = dataset.root.field("date");
    let times = dataset.root.samples.iter().map(|scene| match date.map(|field| scene.value(field)) {
        Some(Value::Int(days)) => Value::Int(days * 86_400_000_000),
        _ => Value::Null,
    });
    let times: Vec<Value> = times.collect();
    let made = run.columns.pop().unwrap_or_default();
    let columns = made.into_iter().filter(|column| !["stac:time_end", "stac:time_middle"].contains(&column.field.name.as_str()));
    let of_scenes = columns.map(|column| {
        let one_each = column.values.into_iter().zip(column.touched).filter_map(|(value, touched)| touched.then_some(value));
        let values = if column.field.name == "stac:time_start" { times.clone() } else { one_each.collect() };
        Column { field: column.field, touched: vec![true; values.len()], values }
    });
    run.columns = vec![of_scenes.collect()];
    dataset.root = run.apply(dataset, false)?;
    Ok(())
}

fn collection() -> Collection {
    let mut collection = Collection::template();
    for (key, value) in [
        ("id", json!("river-floods-sample")),
        ("dataset_version", json!("1.0.0")),
        ("title", json!("Six rivers before and after a flood")),
        (
            "description",
            json!(
                "Invented four-band scenes of river valleys before and after a flood, with a water mask. Drawn by a formula; made to try Taco Studio with."
            ),
        ),
        ("licenses", json!(["CC0-1.0"])),
        ("providers", json!([{ "name": "Taco Studio", "roles": ["producer"], "url": null, "links": null }])),
        ("tasks", json!(["semantic-segmentation"])),
        ("keywords", json!(["flood", "river", "sample"])),
    ] {
        collection.set(key, Some(value));
    }
    collection
}

/// Smooth noise in 0..1 from a few octaves of hashed grid values.
fn noise(seed: u32, x: f64, y: f64) -> f64 {
    let corner = |ix: i64, iy: i64, octave: u32| {
        let mut hash = seed
            .wrapping_mul(0x9E37_79B9)
            .wrapping_add((ix as u32).wrapping_mul(0x85EB_CA6B))
            .wrapping_add((iy as u32).wrapping_mul(0xC2B2_AE35))
            .wrapping_add(octave.wrapping_mul(0x27D4_EB2F));
        hash ^= hash >> 15;
        hash = hash.wrapping_mul(0x2C1B_3C6D);
        hash ^= hash >> 12;
        hash = hash.wrapping_mul(0x297A_2D39);
        f64::from(hash ^ (hash >> 15)) / f64::from(u32::MAX)
    };
    let (mut sum, mut weight, mut scale) = (0.0, 0.5, 1.0);
    for octave in 0..5 {
        let (px, py) = (x * scale, y * scale);
        let (ix, iy) = (px.floor() as i64, py.floor() as i64);
        let smooth = |t: f64| t * t * (3.0 - 2.0 * t);
        let (tx, ty) = (smooth(px - px.floor()), smooth(py - py.floor()));
        let top = corner(ix, iy, octave) * (1.0 - tx) + corner(ix + 1, iy, octave) * tx;
        let bottom = corner(ix, iy + 1, octave) * (1.0 - tx) + corner(ix + 1, iy + 1, octave) * tx;
        sum += weight * (top * (1.0 - ty) + bottom * ty);
        weight *= 0.5;
        scale *= 2.0;
    }
    sum / 0.969
}

struct Pixel {
    bands: [f64; 4],
    water: bool,
}

/// Reflectance × 10 000 of blue, green, red and near infrared at one point.
fn pixel(seed: u32, flooded: bool, column: usize, row: usize) -> Pixel {
    let (x, y) = (column as f64 / SIZE as f64, row as f64 / SIZE as f64);
    let bend = 0.22 * (noise(seed, 0.5, y * 2.4) - 0.5) + 0.16 * (y * 5.0 + f64::from(seed % 7)).sin();
    let distance = (x - 0.5 - bend).abs();
    let relief = noise(seed.wrapping_add(11), x * 5.0, y * 5.0);
    let width = if flooded { 0.045 + 0.13 * (0.72 - relief).max(0.0) } else { 0.026 + 0.012 * relief };
    let grain = noise(seed.wrapping_add(23), x * 48.0, y * 48.0);
    let mix = |a: [f64; 4], b: [f64; 4], t: f64| std::array::from_fn(|i| a[i] + (b[i] - a[i]) * t);
    if distance < width {
        // Clear water is dark; a flood carries silt, most of it at the banks.
        let depth = 1.0 - distance / width;
        let (clear, silt) = ([420.0, 460.0, 330.0, 160.0], [900.0, 1_230.0, 1_420.0, 420.0]);
        let muddy = if flooded { 0.95 - 0.5 * depth } else { 0.25 - 0.25 * depth };
        let bands: [f64; 4] = mix(clear, silt, muddy);
        return Pixel { bands: bands.map(|band| band * (0.93 + 0.14 * grain)), water: true };
    }
    // Fields: a jittered grid, each cell with a crop of its own, from dark green to dry straw.
    let (u, v) = ((x + 0.35 * y + 0.02 * relief) * 19.0, (y - 0.22 * x + 0.02 * relief) * 26.0);
    let crop = noise(seed.wrapping_add(37), u.floor() * 3.7 + 0.5, v.floor() * 5.3 + 0.5);
    let dry = ((crop - 0.5) * 2.6 + 0.42).clamp(0.0, 1.0) * if flooded { 0.9 } else { 1.0 };
    let (leaf, straw) = ([470.0, 860.0, 560.0, 4_100.0], [1_050.0, 1_480.0, 1_820.0, 2_500.0]);
    let mut bands: [f64; 4] = mix(leaf, straw, dry);
    // Tracks between the fields, woods on the hills, a village on either bank. Without woods and roofs no band would hold its darkest and
    // brightest, and a stretch by percentiles would give false colours.
    let edge = u.fract().min(1.0 - u.fract()).min(v.fract().min(1.0 - v.fract()));
    if edge < 0.05 {
        bands = mix(bands, [900.0, 1_150.0, 1_250.0, 2_300.0], 0.5);
    }
    let slope = noise(seed.wrapping_add(51), x * 9.0, y * 9.0);
    let hill = ((distance - 0.22) * 4.0).clamp(0.0, 1.0) * (0.35 + relief);
    let wood = ((hill - 0.42) * 7.0).clamp(0.0, 1.0);
    bands = mix(bands, [380.0, 640.0, 420.0, 3_000.0].map(|band: f64| band * (0.35 + 1.1 * slope)), wood);
    let middle = 0.2 + 0.6 * noise(seed.wrapping_add(67), 0.5, 0.5);
    let village = ((distance - 0.24) / 0.075).powi(2) + ((y - middle) / 0.12).powi(2) < 0.1 + 1.9 * slope * slope.sqrt();
    if village && grain > 0.4 {
        let roof = noise(seed.wrapping_add(79), x * 90.0, y * 90.0);
        bands = mix(bands, [1_950.0, 2_100.0, 2_300.0, 2_700.0], (0.2 + 1.1 * roof).min(1.0));
    }
    let shade = 0.82 + 0.24 * relief + 0.14 * grain;
    Pixel { bands: bands.map(|band| band * shade), water: false }
}

/// Draws one scene; returns its rows of the metadata table.
fn draw_scene(scenes: &Path, index: usize) -> Result<String> {
    let (river, epsg, east, north) = RIVERS[index % RIVERS.len()];
    let place = index / RIVERS.len();
    let id = format!("{river}_{:04}", place + 1);
    let folder = scenes.join(&id);
    std::fs::create_dir_all(&folder).io_at("make a folder of the sample", &folder)?;
    let seed = index as u32 * 101 + 7;
    let origin = (east + place as f64 * 4_000.0, north - place as f64 * 3_000.0);
    let geotransform = Some([origin.0, PIXEL, 0.0, origin.1, 0.0, -PIXEL]);
    let mut mask = vec![0u8; SIZE * SIZE];
    for (name, flooded) in [("before.tif", false), ("after.tif", true)] {
        let mut bands: Vec<Vec<u16>> = (0..4).map(|_| Vec::with_capacity(SIZE * SIZE)).collect();
        for row in 0..SIZE {
            for column in 0..SIZE {
                let pixel = pixel(seed, flooded, column, row);
                for (band, value) in bands.iter_mut().zip(pixel.bands) {
                    band.push(value.clamp(1.0, 10_000.0) as u16);
                }
                let class = &mut mask[row * SIZE + column];
                // Permanent water is 1; flooded land is 2.
                match (pixel.water, flooded) {
                    (true, false) => *class = 1,
                    (true, true) if *class == 0 => *class = 2,
                    _ => {}
                }
            }
        }
        let raster = NewRaster {
            width: SIZE,
            height: SIZE,
            bands: bands.into_iter().map(Samples::U16).collect(),
            names: vec!["B02 blue", "B03 green", "B04 red", "B08 near infrared"],
            epsg: Some(epsg),
            geotransform,
            nodata: Some(0.0),
            palette: None,
            options: vec![
                ("COMPRESS", "DEFLATE"),
                ("PREDICTOR", "2"),
                ("TILED", "YES"),
                ("BLOCKXSIZE", "128"),
                ("BLOCKYSIZE", "128"),
            ],
        };
        write_geotiff(&folder.join(name), &raster)?;
    }
    let flooded = mask.iter().filter(|&&class| class == 2).count() as f64 / (SIZE * SIZE) as f64;
    let raster = NewRaster {
        width: SIZE,
        height: SIZE,
        bands: vec![Samples::U8(mask)],
        names: vec!["water"],
        epsg: Some(epsg),
        geotransform,
        nodata: None,
        palette: Some(vec![[46, 50, 56, 255], [56, 122, 190, 255], [240, 136, 58, 255]]),
        options: vec![("COMPRESS", "DEFLATE")],
    };
    write_geotiff(&folder.join("label.tif"), &raster)?;
    let split = ["train", "train", "train", "validation", "train", "test"][index % 6];
    let clouds = (noise(seed, 3.3, 1.7) * 20.0 * 10.0).round() / 10.0;
    Ok(format!("{id},{split},{river},{clouds:.1},{flooded:.4},2023-0{}-1{}\n", 1 + index % 9, index % 10))
}
