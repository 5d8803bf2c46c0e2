//! The files of a scene.

use std::path::Path;

use serde_json::{Value as Json, json};

use super::noise::{PIXEL, SIZE};
use super::outlines;
use super::scenes::SampleScene;
use super::surfaces::{Cover, SceneView, Surface};
use super::terrain::Terrain;
use crate::error::{IoContext, Result};
use crate::raster::{NewRaster, Samples, write_geotiff};

/// Pixels of a scene.
const PIXELS: usize = SIZE * SIZE;
/// Pixels of a scene along a pixel of its elevation.
const ELEVATION_STEP: usize = 4;
/// Classes of the label: name and colour.
const CLASSES: [(&str, [u8; 3]); 7] = [
    ("unchanged land", [46, 50, 56]),
    ("water on both dates", [56, 122, 190]),
    ("flooded", [240, 136, 58]),
    ("burnt", [190, 62, 62]),
    ("new snow", [226, 232, 240]),
    ("ice gone", [98, 190, 196]),
    ("hidden by clouds", [128, 128, 136]),
];
/// Numbers of [`CLASSES`].
const UNCHANGED: u8 = 0;
const WATER: u8 = 1;
const FLOODED: u8 = 2;
const BURNT: u8 = 3;
const NEW_SNOW: u8 = 4;
const ICE_GONE: u8 = 5;
const HIDDEN: u8 = 6;

/// The options of the extension `labels` that name the classes in the collection.
pub fn label_options() -> Json {
    json!({
        "classes": CLASSES.iter().enumerate().map(write_sample_class).collect::<Vec<_>>(),
        "description": "What changed between the two dates",
    })
}

fn write_sample_class((category, (name, [r, g, b])): (usize, &(&str, [u8; 3]))) -> Json {
    json!({
        "name": name,
        "category": category,
        "colour": format!("#{r:02x}{g:02x}{b:02x}"),
    })
}

/// Draws the files of a scene into a folder of its name; returns its row of the metadata table.
///
/// # Errors
/// When a file can't be written.
pub fn draw_scene(scenes: &Path, index: usize) -> Result<String> {
    let scene = SampleScene::from_index(index);
    let folder = scenes.join(&scene.id);
    std::fs::create_dir_all(&folder).io_at("make a folder of the sample", &folder)?;
    let terrain = Terrain::for_scene(&scene);
    let [before, after] = [false, true].map(|is_after| SceneView {
        scene: &scene,
        terrain: &terrain,
        is_after,
    });
    let [old, new] = [&before, &after].map(surfaces);
    write_optical(&folder.join("before.tif"), &before, &old)?;
    write_optical(&folder.join("after.tif"), &after, &new)?;
    write_radar(&folder.join("radar.tif"), &after, &new)?;
    write_elevation(&folder.join("terrain.tif"), &scene, &terrain)?;
    let clouded: Vec<bool> = places()
        .map(|[column, row]| after.cloud(column, row) > 0.5)
        .collect();
    let classes: Vec<u8> = old
        .iter()
        .zip(&new)
        .zip(&clouded)
        .map(|((old, new), is_hidden)| class(old, new, *is_hidden))
        .collect();
    let share = |count: usize| count as f64 / PIXELS as f64;
    let flooded = share(classes.iter().filter(|class| **class == FLOODED).count());
    let clouds = 100.0 * share(clouded.iter().filter(|is_clouded| **is_clouded).count());
    write_label(&folder.join("label.tif"), &scene, classes)?;
    let shapes = folder.join("outlines.geojson");
    std::fs::write(&shapes, outlines::geojson(&scene, &terrain)?.to_string())
        .io_at("write a file of the sample", &shapes)?;
    let SampleScene {
        id,
        split,
        river,
        landscape,
        date: [month, day],
        ..
    } = &scene;
    let (landscape, event) = (landscape.name(), landscape.event());
    Ok(format!(
        "{id},{split},{river},{clouds:.1},{flooded:.4},2023-{month:02}-{day:02},{landscape},\
            {event}\n"
    ))
}

/// Columns and rows of the pixels, row by row.
fn places() -> impl Iterator<Item = [usize; 2]> {
    (0..PIXELS).map(|at| [at % SIZE, at / SIZE])
}

fn surfaces(view: &SceneView<'_>) -> Vec<Surface> {
    places()
        .map(|[column, row]| view.surface(column, row))
        .collect()
}

fn class(old: &Surface, new: &Surface, is_hidden: bool) -> u8 {
    match (old.cover, new.cover) {
        _ if is_hidden => HIDDEN,
        (Cover::Water, Cover::Water) => WATER,
        (Cover::Ice, Cover::Water) => ICE_GONE,
        (Cover::Land, Cover::Water) => FLOODED,
        (Cover::Land, Cover::Burnt) => BURNT,
        (Cover::Land, Cover::Snow) => NEW_SNOW,
        _ => UNCHANGED,
    }
}

/// A raster of the scene, whose pixels are `step` pixels of the drawing wide.
fn raster<'a>(
    scene: &SampleScene,
    step: usize,
    bands: Vec<Samples>,
    names: Vec<&'a str>,
    options: Vec<(&'a str, &'a str)>,
) -> NewRaster<'a> {
    let [east, north] = scene.corner;
    let pixel = PIXEL * step as f64;
    NewRaster {
        width: SIZE / step,
        height: SIZE / step,
        bands,
        names,
        epsg: Some(scene.epsg),
        geotransform: Some([east, pixel, 0.0, north, 0.0, -pixel]),
        nodata: None,
        palette: None,
        options,
    }
}

fn write_optical(path: &Path, view: &SceneView<'_>, surfaces: &[Surface]) -> Result<()> {
    let seen: Vec<[f64; 4]> = places()
        .zip(surfaces)
        .map(|([column, row], surface)| view.observed_reflectance(surface, column, row))
        .collect();
    let bands = (0..4).map(|band| quantise_band(&seen, band)).collect();
    let names = vec!["B02 blue", "B03 green", "B04 red", "B08 near infrared"];
    let options = vec![
        ("COMPRESS", "DEFLATE"),
        ("PREDICTOR", "2"),
        ("TILED", "YES"),
        ("BLOCKXSIZE", "128"),
        ("BLOCKYSIZE", "128"),
    ];
    write_geotiff(
        path,
        &NewRaster {
            nodata: Some(0.0),
            ..raster(view.scene, 1, bands, names, options)
        },
    )
}

/// One of the bands of reflectances in ten thousandths.
fn quantise_band(reflectances: &[[f64; 4]], band: usize) -> Samples {
    let values = reflectances.iter();
    Samples::U16(
        values
            .map(|bands| bands[band].clamp(1.0, 10_000.0) as u16)
            .collect(),
    )
}

fn write_radar(path: &Path, view: &SceneView<'_>, surfaces: &[Surface]) -> Result<()> {
    let [mut copolar, mut crosspolar] = [Vec::with_capacity(PIXELS), Vec::with_capacity(PIXELS)];
    for ([column, row], surface) in places().zip(surfaces) {
        let is_outside = view.scene.is_cut && column as f64 > 0.62 * SIZE as f64 - 0.2 * row as f64;
        let decibels = if is_outside {
            [f64::NAN; 2]
        } else {
            view.backscatter(surface, column, row)
        };
        // A tenth of a decibel is far below the speckle.
        let [vv, vh] = decibels.map(|number| ((number * 10.0).round() / 10.0) as f32);
        copolar.push(vv);
        crosspolar.push(vh);
    }
    let options = vec![("COMPRESS", "DEFLATE"), ("PREDICTOR", "3")];
    let bands = vec![Samples::F32(copolar), Samples::F32(crosspolar)];
    write_geotiff(
        path,
        &NewRaster {
            nodata: Some(f64::NAN),
            ..raster(view.scene, 1, bands, vec!["VV", "VH"], options)
        },
    )
}

fn write_elevation(path: &Path, scene: &SampleScene, terrain: &Terrain) -> Result<()> {
    let side = SIZE / ELEVATION_STEP;
    let heights = (0..side * side).map(|at| compute_mean_height(terrain, at % side, at / side));
    let bands = vec![Samples::I16(heights.collect())];
    write_geotiff(
        path,
        &raster(
            scene,
            ELEVATION_STEP,
            bands,
            vec!["elevation"],
            vec![("COMPRESS", "DEFLATE"), ("PREDICTOR", "2")],
        ),
    )
}

/// The mean of the heights below a pixel of the elevation, in metres.
fn compute_mean_height(terrain: &Terrain, column: usize, row: usize) -> i16 {
    let (column, row) = (column * ELEVATION_STEP, row * ELEVATION_STEP);
    let rows = (row..row + ELEVATION_STEP)
        .map(|row| &terrain.heights[row * SIZE + column..][..ELEVATION_STEP]);
    (rows.flatten().sum::<f64>() / (ELEVATION_STEP * ELEVATION_STEP) as f64).round() as i16
}

fn write_label(path: &Path, scene: &SampleScene, classes: Vec<u8>) -> Result<()> {
    let palette = CLASSES
        .iter()
        .map(|(_, [r, g, b])| [*r, *g, *b, 255])
        .collect();
    let raster = raster(
        scene,
        1,
        vec![Samples::U8(classes)],
        vec!["change"],
        vec![("COMPRESS", "DEFLATE")],
    );
    write_geotiff(
        path,
        &NewRaster {
            palette: Some(palette),
            ..raster
        },
    )
}
