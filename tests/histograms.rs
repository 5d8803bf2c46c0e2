//! Histograms in a tortilla: percentiles of samples, selections and whole datasets computed from
//! them, within one bin of the exact values; the official reader of that generation opens them.

use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};
use taco_studio::model::AssetPath;
use taco_studio::raster::{self, RasterSource, ReadRequest, Resampling, Window};

use crate::interop::create;
use crate::support::{Workspace, files_below, fixtures, flat_scenes, nested_scenes};

fn histograms(workspace: &Workspace, input: &Path, scale: &str) -> PathBuf {
    let output = workspace.path(&format!("{scale}.tortilla"));
    let arguments = [
        "histograms".as_ref(),
        input.as_os_str(),
        "-o".as_ref(),
        output.as_os_str(),
    ];
    workspace
        .studio(
            arguments
                .into_iter()
                .chain(["--overwrite", "--scale", scale].map(AsRef::as_ref)),
        )
        .expect_code(0);
    output
}

fn percentiles(workspace: &Workspace, tortilla: &Path, more: &[&str]) -> Json {
    let mut arguments = vec![
        "percentiles".into(),
        tortilla.as_os_str().to_owned(),
        "--json".into(),
    ];
    arguments.extend(more.iter().map(Into::into));
    workspace.studio(arguments).expect_code(0).json()
}

/// All values of one band of several rasters, sorted.
fn values(files: &[PathBuf], band: usize) -> Vec<f64> {
    let mut all = Vec::new();
    for file in files {
        let asset = RasterSource::from_user_path(AssetPath::file(&**file));
        let info = raster::describe(&asset).expect("a raster");
        let request = ReadRequest {
            window: Window::full(info.width, info.height),
            out: (info.width, info.height),
            bands: vec![info.bands[band].index],
            resampling: Resampling::Nearest,
        };
        let read = raster::read_window(&asset, &request, &Default::default()).expect("reads");
        let pixels = &read.bands[0];
        all.extend(
            (0..pixels.samples.len())
                .filter(|&at| pixels.is_valid(at))
                .map(|at| pixels.samples.get(at)),
        );
    }
    all.sort_by(f64::total_cmp);
    all
}

fn exact(sorted: &[f64], percent: f64) -> f64 {
    let place = percent / 100.0 * (sorted.len() - 1) as f64;
    let (below, above) = (
        sorted[place as usize],
        sorted[(place as usize + 1).min(sorted.len() - 1)],
    );
    below + (above - below) * place.fract()
}

/// Compares one line of the output with the pixels.
#[track_caller]
fn check(line: &Json, percents: &[f64], files: &[PathBuf]) {
    assert_eq!(line["rasters"], files.len(), "{line}");
    for (band, told) in line["bands"].as_array().expect("bands").iter().enumerate() {
        let sorted = values(files, band);
        assert_eq!(told["count"], sorted.len(), "{line}");
        let bin = told["bin"].as_f64().expect("a number");
        for (percent, value) in percents
            .iter()
            .zip(told["values"].as_array().expect("values"))
        {
            let (found, wanted) = (value.as_f64().expect("a number"), exact(&sorted, *percent));
            assert!(
                (found - wanted).abs() <= bin * (1.0 + 1e-9),
                "p{percent} is {found}, exactly {wanted}, bins of {bin}: {line}"
            );
        }
    }
}

#[test]
fn percentiles_of_samples_selections_and_the_dataset_are_within_one_bin() {
    let workspace = Workspace::new();
    nested_scenes(&workspace, 4);
    create(&workspace, "in.tacozip", "zip");
    let scenes = workspace.path("scenes");
    let percents = [0.0, 2.5, 50.0, 98.5, 100.0];
    for scale in ["dataset", "band"] {
        let tortilla = histograms(&workspace, &workspace.path("in.tacozip"), scale);
        let told = percentiles(&workspace, &tortilla, &["--percents", "0,2.5,50,98.5,100"]);
        let positions = told["positions"].as_array().expect("positions");
        let names: Vec<&str> = positions
            .iter()
            .map(|line| line["position"].as_str().expect("a name"))
            .collect();
        assert_eq!(names, ["after.tif", "before.tif", "label.tif"]);
        let of = |ids: &[&str], name: &str| {
            ids.iter()
                .map(|id| scenes.join(id).join(name))
                .collect::<Vec<_>>()
        };
        let all = ["scene_8", "scene_9", "scene_10", "scene_11"];
        for line in positions {
            check(
                line,
                &percents,
                &of(&all, line["position"].as_str().expect("a name")),
            );
            assert_eq!(line["sample"], Json::Null);
        }
        let selected = percentiles(
            &workspace,
            &tortilla,
            &[
                "--where",
                "cloud_cover >= 20",
                "--percents",
                "0,2.5,50,98.5,100",
            ],
        );
        check(
            &selected["positions"][0],
            &percents,
            &of(&["scene_10", "scene_11"], "after.tif"),
        );
        let summed = percentiles(
            &workspace,
            &tortilla,
            &["--where", "cloud_cover >= 20", "--histogram"],
        );
        for (band, told) in summed["positions"][0]["bands"]
            .as_array()
            .expect("bands")
            .iter()
            .enumerate()
        {
            let sorted = values(&of(&["scene_10", "scene_11"], "after.tif"), band);
            let histogram = &told["histogram"];
            let [low, high] = ["low", "high"].map(|end| histogram[end].as_f64().expect("a number"));
            let mut wanted = vec![0u64; 100];
            sorted.iter().for_each(|value| {
                wanted[(((value - low) / (high - low) * 100.0) as usize).min(99)] += 1
            });
            assert_eq!(histogram["counts"], json!(wanted), "band {band}");
        }
        let each = percentiles(
            &workspace,
            &tortilla,
            &["--each", "--ids", "scene_9,scene_11"],
        );
        let lines = each["positions"].as_array().expect("positions");
        assert_eq!(lines.len(), 6, "{each}");
        for line in lines {
            let (sample, name) = (
                line["sample"].as_str().expect("an id"),
                line["position"].as_str().expect("a name"),
            );
            check(line, &[2.5, 98.5], &of(&[sample], name));
        }
    }
    raster::close_idle();
}

#[test]
fn percentiles_that_cannot_be_computed_give_a_reason() {
    let workspace = Workspace::new();
    flat_scenes(&workspace, 2);
    create(&workspace, "in.tacozip", "zip");
    let tortilla = histograms(&workspace, &workspace.path("in.tacozip"), "dataset");
    let arguments = [
        "percentiles".as_ref(),
        tortilla.as_os_str(),
        "--where".as_ref(),
        "nope > 1".as_ref(),
    ];
    let ran = workspace.studio(arguments).expect_code(2);
    assert!(
        ran.stderr.contains("there is no column nope") && !ran.stderr.contains("plan"),
        "{ran}"
    );
}

#[test]
fn histograms_are_stripped_geotiffs_that_the_official_reader_finds() {
    let workspace = Workspace::new();
    flat_scenes(&workspace, 3);
    workspace.write("scenes/notes.txt", "no raster");
    create(&workspace, "in.tacozip", "zip");
    let input = workspace.path("in.tacozip");
    let ran = workspace.studio([
        "histograms".as_ref(),
        input.as_os_str(),
        "-o".as_ref(),
        workspace.path("h.tortilla").as_os_str(),
    ]);
    assert!(
        ran.expect_code(0)
            .stderr
            .contains("notes.txt has no histogram")
    );
    let tortilla = workspace.path("h.tortilla");
    let seen = workspace
        .old_python("first_generation.py", [&tortilla])
        .expect_code(0)
        .json();
    let samples = seen["samples"].as_array().expect("samples");
    assert_eq!(samples.len(), 3, "{seen}");
    for sample in samples {
        let columns = &sample["columns"];
        assert_eq!(columns["tortilla:file_format"], "GTiff");
        // The whole dataset has one scale.
        assert_eq!(
            columns["histogram:minimum"],
            samples[0]["columns"]["histogram:minimum"]
        );
        let lowest = columns["histogram:minimum"].as_array().expect("a list");
        assert!(
            lowest.len() == 3 && lowest.iter().all(|low| low == &lowest[0]),
            "{columns}"
        );
    }
    let told = workspace
        .studio(["read".as_ref(), tortilla.as_os_str(), "tile_1.tif".as_ref()])
        .expect_code(0)
        .stdout;
    let asset = RasterSource::from_user_path(AssetPath::parse(told.trim()).expect("a path"));
    let info = raster::describe(&asset).expect("a raster");
    assert_eq!((info.width, info.height, info.band_count), (100, 1, 3));
    assert_eq!(info.bands[0].block, (100, 1), "one strip");
    let request = ReadRequest {
        window: Window::full(100, 1),
        out: (100, 1),
        bands: info.bands.iter().map(|band| band.index).collect(),
        resampling: Resampling::Nearest,
    };
    let pixels = raster::read_window(&asset, &request, &Default::default()).expect("reads");
    for band in &pixels.bands {
        assert_eq!(
            (0..100).map(|bin| band.samples.get(bin)).sum::<f64>(),
            32.0 * 32.0
        );
    }
    let deep = workspace
        .studio([
            "validate".as_ref(),
            tortilla.as_os_str(),
            "--deep".as_ref(),
            "--json".as_ref(),
        ])
        .expect_code(0);
    assert_eq!(
        deep.json()["findings"],
        json!([]),
        "strips are the form of histograms"
    );
    // For a file without histograms the error says what to do; an invalid name is refused before
    // counting.
    let ran = workspace
        .studio(["percentiles".as_ref(), input.as_os_str()])
        .expect_code(2);
    assert!(ran.stderr.contains("taco-studio histograms"), "{ran}");
    workspace
        .studio([
            "histograms".as_ref(),
            input.as_os_str(),
            "-o".as_ref(),
            "h.tacozip".as_ref(),
        ])
        .expect_code(2);
    workspace
        .studio([
            "percentiles".as_ref(),
            tortilla.as_os_str(),
            "--percents".as_ref(),
            "101".as_ref(),
        ])
        .expect_code(2);
    raster::close_idle();
}

#[test]
fn golden_datasets_of_the_first_generation_have_histograms() {
    let workspace = Workspace::new();
    let folders = fixtures("golden", "TACO_STUDIO_GOLDEN");
    let set = folders
        .iter()
        .find(|folder| folder.ends_with("42_v1_nested"))
        .expect("a golden set");
    let tortilla = histograms(&workspace, &set.join("nested.tortilla"), "band");
    let told = percentiles(&workspace, &tortilla, &[]);
    let positions = told["positions"].as_array().expect("positions");
    assert!(
        !positions.is_empty()
            && positions
                .iter()
                .all(|line| line["bands"][0]["count"].as_u64() > Some(0)),
        "{told}"
    );
    assert_eq!(told["percents"], json!([2.5, 98.5]));
    assert!(files_below(&workspace.path("home")).len() < 10);
}
