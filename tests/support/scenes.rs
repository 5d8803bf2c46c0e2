//! Small folders of scenes as input: georeferenced GeoTIFFs generated in process.

use std::path::Path;

use gdal::DriverManager;
use gdal::raster::Buffer;
use gdal::spatial_ref::SpatialRef;

use super::Workspace;

/// A GeoTIFF of `bands` × `side` × `side` bytes in EPSG:32633; equal seeds give equal pixels.
pub fn geotiff(path: &Path, bands: usize, side: usize, seed: u8) {
    std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
    let driver = DriverManager::get_driver_by_name("GTiff").expect("the GTiff driver");
    let mut dataset = driver
        .create_with_band_type::<u8, _>(path, side, side, bands)
        .expect("a GeoTIFF");
    let east = 500_000.0 + f64::from(seed) * 1_000.0;
    dataset
        .set_geo_transform(&[east, 10.0, 0.0, 5_000_000.0, 0.0, -10.0])
        .expect("a geotransform");
    dataset
        .set_spatial_ref(&SpatialRef::from_epsg(32633).expect("EPSG:32633"))
        .expect("a reference system");
    for band in 1..=bands {
        let pixel = |i: usize| ((i % side) * band + (i / side) * 3 + usize::from(seed) * 7) as u8;
        let mut pixels = Buffer::new((side, side), (0..side * side).map(pixel).collect());
        dataset
            .rasterband(band)
            .and_then(|mut band| band.write((0, 0), (side, side), &mut pixels))
            .expect("pixels");
    }
    dataset.close().expect("a closed file");
}

/// Creates `count` scene folders, each with `before.tif`, `after.tif` and `label.tif`, and a
/// `metadata.csv` beside the folder.
pub fn nested_scenes(workspace: &Workspace, count: u8) {
    let mut table = String::from("path,region,cloud_cover,quality\n");
    // The order of the folder names as text differs from the numeric order, to detect readers that
    // mix them up.
    for scene in 0..count {
        let name = format!("scene_{}", scene + 8);
        for (part, bands) in [("before.tif", 3), ("after.tif", 3), ("label.tif", 1)] {
            geotiff(
                &workspace.path(&format!("scenes/{name}/{part}")),
                bands,
                32,
                scene * 3 + bands as u8,
            );
        }
        table += &format!(
            "{name},region {},{},{}\n",
            scene % 2,
            scene * 10,
            f64::from(scene) / 4.0
        );
    }
    workspace.write("metadata.csv", table);
    workspace.write("collection.json", COLLECTION);
}

/// Creates `count` GeoTIFFs in one folder, and a `metadata.csv`.
pub fn flat_scenes(workspace: &Workspace, count: u8) {
    let mut table = String::from("path,region,cloud_cover,quality\n");
    for scene in 0..count {
        geotiff(
            &workspace.path(&format!("scenes/tile_{scene}.tif")),
            3,
            32,
            scene,
        );
        table += &format!(
            "tile_{scene}.tif,région {},{},{}\n",
            scene % 2,
            scene * 10,
            f64::from(scene) / 4.0
        );
    }
    workspace.write("metadata.csv", table);
    workspace.write("collection.json", COLLECTION);
}

pub const COLLECTION: &str = r#"{
  "id": "test-scenes",
  "dataset_version": "1.0.0",
  "description": "Scenes made for the tests; nothing here was ever seen from space.",
  "licenses": ["CC-BY-4.0"],
  "providers": [{"name": "Tests", "roles": ["producer"]}],
  "tasks": ["classification"],
  "title": "Test scenes",
  "keywords": ["test", "scenes"]
}
"#;
