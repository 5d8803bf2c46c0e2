//! Consistency by position: one root of many differs in each property, and exactly these are found,
//! in a draft and in datasets written from it; rules can be switched off and given another
//! severity.

use std::collections::BTreeSet;
use std::path::Path;

use gdal::DriverManager;
use gdal::raster::GdalType;
use gdal::spatial_ref::SpatialRef;
use serde_json::Value as Json;
use taco_studio::jobs::JobContext;
use taco_studio::model::{Dataset, RasterProperty, Rule, Sample, Tortilla};
use taco_studio::validate::{self, ConsistencyOptions, HeaderCache};

use crate::support::{COLLECTION, Workspace};

/// The rules covered by this file.
pub fn rules() -> Vec<Rule> {
    RasterProperty::ALL
        .into_iter()
        .map(RasterProperty::rule)
        .collect()
}

/// A raster of the test: what a header says.
#[derive(Clone, Copy)]
struct Raster {
    bands: usize,
    size: (usize, usize),
    epsg: u32,
    origin: (f64, f64),
    pixel: f64,
    nodata: Option<f64>,
    float: bool,
}

fn write_as<T: GdalType + Copy>(path: &Path, raster: &Raster) {
    std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
    let driver = DriverManager::get_driver_by_name("GTiff").expect("the GTiff driver");
    let mut dataset = driver
        .create_with_band_type::<T, _>(path, raster.size.0, raster.size.1, raster.bands)
        .expect("a GeoTIFF");
    let (west, north) = raster.origin;
    dataset
        .set_geo_transform(&[west, raster.pixel, 0.0, north, 0.0, -raster.pixel])
        .expect("a geotransform");
    dataset
        .set_spatial_ref(&SpatialRef::from_epsg(raster.epsg).expect("a code"))
        .expect("a reference system");
    for band in 1..=raster.bands {
        dataset
            .rasterband(band)
            .and_then(|mut band| band.set_no_data_value(raster.nodata))
            .expect("nodata");
    }
    dataset.close().expect("a closed file");
}

fn write(path: &Path, raster: &Raster) {
    if raster.float {
        write_as::<f32>(path, raster)
    } else {
        write_as::<u16>(path, raster)
    }
}

const PARTS: [&str; 3] = ["after.tif", "before.tif", "label.tif"];

/// Roots of 64 × 64 pixels of 10 m in two UTM zones, 15 of them odd. Gives the outliers as
/// `rule root / file`.
fn scenes(workspace: &Workspace, roots: usize) -> BTreeSet<String> {
    let mut odd = BTreeSet::new();
    for root in 0..roots {
        let zone = if root % 3 == 0 { 32633 } else { 32632 };
        let origin = (400_000.0 + root as f64 * 2000.0, 5_000_000.0);
        for (part, name) in PARTS.iter().enumerate() {
            let bands = if part == 2 { 1 } else { 3 };
            let mut raster = Raster {
                bands,
                size: (64, 64),
                epsg: zone,
                origin,
                pixel: 10.0,
                nodata: Some(0.0),
                float: false,
            };
            let mut says =
                |rule: &str| assert!(odd.insert(format!("{rule} scene_{root:03} / {name}")));
            match (root, part) {
                (2, 1) => {
                    raster.float = true;
                    says("CON-1");
                }
                (4, 0) | (7, 0) => {
                    raster.bands = 4;
                    says("CON-2");
                }
                (5, 2) => {
                    // The same ground with more and smaller pixels.
                    raster.size = (128, 128);
                    raster.pixel = 5.0;
                    says("CON-3");
                    says("CON-5");
                }
                (8, 2) => {
                    raster.epsg = 4326;
                    raster.pixel = 0.0001;
                    let centre = taco_studio::raster::to_lonlat_from(
                        &format!("EPSG:{zone}"),
                        &[[origin.0 + 320.0, origin.1 - 320.0]],
                    );
                    let [lon, lat] = centre.expect("known")[0].expect("a place");
                    // Covers all of the first raster's ground.
                    raster.origin = (lon - 0.01, lat + 0.01);
                    raster.size = (64, 64);
                    raster.pixel = 0.02 / 64.0;
                    says("CON-4");
                }
                (10, 0) => {
                    // Another zone than its siblings, which agree with each other.
                    raster.epsg = if zone == 32633 { 32632 } else { 32633 };
                    says("CON-4");
                    // In the other zone the same numbers are another place.
                    says("CON-7");
                }
                (11, 1) => {
                    raster.nodata = None;
                    says("CON-6");
                }
                (12, 1) => {
                    raster.nodata = Some(255.0);
                    says("CON-6");
                }
                (13, 2) => {
                    raster.origin.0 += 640.0 * 0.39;
                    says("CON-7");
                }
                (14, 0) => {
                    // The first raster is elsewhere; its siblings are at one place.
                    raster.origin.1 += 640.0 * 0.26;
                    says("CON-7");
                }
                // A difference far below the tolerance of a thousandth.
                (15, 1) => raster.pixel = 10.000_001,
                _ => {}
            }
            write(
                &workspace.path(&format!("scenes/scene_{root:03}/{name}")),
                &raster,
            );
        }
    }
    workspace.write("metadata.csv", "path,region\nscene_000,north\n");
    workspace.write("collection.json", COLLECTION);
    odd
}

fn found(report: &Json) -> BTreeSet<String> {
    let findings = report["findings"].as_array().expect("findings").iter();
    findings
        .filter(|f| {
            f["rule"]
                .as_str()
                .is_some_and(|rule| rule.starts_with("CON-"))
        })
        .map(|f| {
            format!(
                "{} {}",
                f["rule"].as_str().expect("a rule"),
                f["at"].as_str().expect("a place")
            )
        })
        .collect()
}

fn check(workspace: &Workspace, path: &Path, more: &[&str], code: i32) -> Json {
    let arguments = ["validate".as_ref(), path.as_os_str(), "--json".as_ref()]
        .into_iter()
        .chain(more.iter().map(AsRef::as_ref));
    workspace.studio(arguments).expect_code(code).json()
}

#[test]
fn exactly_the_rasters_that_differ_are_found() {
    let workspace = Workspace::new();
    let odd = scenes(&workspace, 24);
    for (name, format) in [("made.tacozip", "zip"), ("made", "folder")] {
        let (scenes, out, collection) = (
            workspace.path("scenes"),
            workspace.path(name),
            workspace.path("collection.json"),
        );
        let arguments = [
            "create".as_ref(),
            scenes.as_os_str(),
            "-o".as_ref(),
            out.as_os_str(),
            "--collection".as_ref(),
        ];
        workspace
            .studio(arguments.into_iter().chain([
                collection.as_os_str(),
                "--format".as_ref(),
                format.as_ref(),
            ]))
            .expect_code(0);
        let report = check(&workspace, &out, &["--deep"], 0);
        assert_eq!(found(&report), odd, "{name}");
        let summary = &report["consistency"];
        assert_eq!(
            (&summary["roots"], &summary["headers"], &summary["others"]),
            (&24.into(), &72.into(), &0.into())
        );
        let label = &summary["positions"][2];
        assert_eq!(
            (&label["name"], &label["position"]),
            (&"label.tif".into(), &serde_json::json!([2]))
        );
        let properties = &label["properties"];
        assert_eq!(
            (
                &properties["bands"]["common"],
                &properties["bands"]["agreeing"]
            ),
            (&"1".into(), &24.into())
        );
        assert_eq!(
            (&properties["crs"]["common"], &properties["crs"]["agreeing"]),
            (&"as after.tif".into(), &23.into())
        );
        assert_eq!(properties["crs"]["outliers"][0]["found"], "EPSG:4326");
        assert_eq!(properties["overlap"]["outliers"][0]["found"], "61 %");
        assert_eq!(
            summary["positions"][0]["properties"]["crs"]["common"],
            "UTM, 2 zones"
        );
        assert!(
            check(&workspace, &out, &[], 0).get("consistency").is_none(),
            "only a deep check reads headers"
        );
        // Rules are switched off and made errors one by one.
        let without = check(
            &workspace,
            &out,
            &["--deep", "--rule", "CON-7=off,con-4=off"],
            0,
        );
        let left: BTreeSet<String> = odd
            .iter()
            .filter(|line| !line.starts_with("CON-7") && !line.starts_with("CON-4"))
            .cloned()
            .collect();
        assert_eq!(found(&without), left);
        let strict = check(&workspace, &out, &["--deep", "--rule", "CON-2=error"], 1);
        let bands = strict["findings"]
            .as_array()
            .expect("findings")
            .iter()
            .filter(|f| f["rule"] == "CON-2");
        assert!(
            bands.clone().count() == 2 && bands.clone().all(|f| f["severity"] == "error"),
            "{strict}"
        );
    }
    let (samples, _) = taco_studio::ops::import_folder(
        &workspace.path("scenes"),
        taco_studio::ops::SidecarHandling::Leave,
        &JobContext::default(),
    )
    .expect("imports");
    let dataset = Dataset {
        root: Tortilla::new(samples).into(),
        ..Dataset::default()
    };
    let all = validate::consistency_of_draft(
        &dataset,
        &ConsistencyOptions::default(),
        &HeaderCache::default(),
        &JobContext::default(),
    )
    .expect("compares");
    let listed: BTreeSet<String> = all
        .outliers()
        .map(|(_, property, outlier)| format!("{} {}", property.rule(), outlier.path))
        .collect();
    assert_eq!(listed, odd);
}

#[test]
fn siblings_whose_dates_have_another_order_are_found() {
    let workspace = Workspace::new();
    let raster = Raster {
        bands: 1,
        size: (8, 8),
        epsg: 32632,
        origin: (4e5, 5e6),
        pixel: 10.0,
        nodata: None,
        float: false,
    };
    let mut roots = Vec::new();
    for (root, after) in ["20240211", "20240213", "20240126", "20240220", "20240131"]
        .iter()
        .enumerate()
    {
        let mut children = Vec::new();
        for (id, date) in [("before", "20240131"), ("after", after), ("label", after)] {
            let path = workspace.path(&format!("{root}/{id}_{date}.tif"));
            write(&path, &raster);
            children.push(Sample::new_file(
                id,
                &path,
                std::fs::metadata(&path).expect("written").len(),
            ));
        }
        roots.push(Sample::new_folder(
            &format!("r{root}"),
            Tortilla::new(children),
        ));
    }
    let dataset = Dataset {
        root: Tortilla::new(roots).into(),
        ..Dataset::default()
    };
    let all = validate::consistency_of_draft(
        &dataset,
        &ConsistencyOptions::default(),
        &HeaderCache::default(),
        &JobContext::default(),
    )
    .expect("compares");
    let listed: Vec<String> = all
        .outliers()
        .map(|(_, property, outlier)| {
            format!("{} {} {}", property.rule(), outlier.path, outlier.found)
        })
        .collect();
    assert_eq!(
        listed,
        [
            "CON-8 r2 / after 5 d earlier",
            "CON-8 r4 / after the same day"
        ]
    );
    let label = &all.positions[2];
    assert_eq!(
        label.agreement(RasterProperty::TimeOrder).common,
        "same day as after"
    );
}

#[test]
fn values_without_a_majority_are_no_findings() {
    let workspace = Workspace::new();
    let mut roots = Vec::new();
    for root in 0..6 {
        let path = workspace.path(&format!("{root}.tif"));
        let size = (8 + root, 8 + root % 3);
        write(
            &path,
            &Raster {
                bands: 1,
                size,
                epsg: 32632,
                origin: (4e5, 5e6),
                pixel: 10.0,
                nodata: None,
                float: false,
            },
        );
        roots.push(Sample::new_file(
            &format!("r{root}"),
            &path,
            std::fs::metadata(&path).expect("written").len(),
        ));
    }
    roots.push(Sample::new_file(
        "__TACOPAD__0",
        workspace.write("empty", ""),
        0,
    ));
    roots.push(Sample::new_file(
        "text",
        workspace.write("text.txt", "no raster"),
        9,
    ));
    let dataset = Dataset {
        root: Tortilla::new(roots).into(),
        ..Dataset::default()
    };
    let all = validate::consistency_of_draft(
        &dataset,
        &ConsistencyOptions::default(),
        &HeaderCache::default(),
        &JobContext::default(),
    )
    .expect("compares");
    assert_eq!(all.outliers().count(), 0);
    assert_eq!((all.headers, all.non_rasters), (6, 1));
    let size = all.positions[0].agreement(RasterProperty::Size);
    assert!(
        size.has_no_majority() && size.distinct_values == 6 && size.common.is_empty(),
        "{size:?}"
    );
}

#[test]
fn scenes_of_several_sensors_are_found_in_a_flat_dataset() {
    let workspace = Workspace::new();
    let flat = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures/golden/01_flat_zip/flat.tacozip");
    let report = check(&workspace, &flat, &["--deep"], 0);
    // As `gdalinfo` shows them: two of eight have several bands, three are not in UTM on WGS 84.
    let wanted = [
        "CON-2 bahamas_rgb",
        "CON-2 recife_l7",
        "CON-4 michigan_tmax",
        "CON-4 olinda_dem",
        "CON-4 recife_l7",
    ];
    assert_eq!(found(&report).into_iter().collect::<Vec<_>>(), wanted);
    let message = report["findings"]
        .as_array()
        .expect("findings")
        .iter()
        .find(|f| f["rule"] == "CON-2")
        .expect("one")["message"]
        .clone();
    assert_eq!(message, "The number of bands is 3; 6 of 8 roots have 1.");
}

/// Largest time of a comparison, as a multiple of that of reading the headers alone.
const AGAINST_HEADERS: f64 = 1.3;
/// Alternating measurements, of which the least of each kind counts.
const TURNS: usize = 5;

/// `cargo test --release --test integration hundred_thousand -- --ignored --nocapture` prints all
/// times of one run. Both sides read the same members through the same pool of rasters, with the
/// same threads, and with all files in the cache of the disk.
#[test]
#[ignore = "takes a minute and 100,000 files"]
fn a_hundred_thousand_files_are_compared_in_little_more_than_their_headers_take() {
    let workspace = Workspace::new();
    let (roots, made) = (33_334, 600);
    let mut odd = BTreeSet::new();
    let mut samples = Vec::with_capacity(roots);
    for root in 0..roots {
        let mut children = Vec::new();
        for (part, name) in PARTS.iter().enumerate() {
            // Many names for few files: GDAL opens and reads each of them all the same.
            let path = workspace.path(&format!("files/{}/{root}_{name}", root / 500));
            let is_odd = root % 3_000 == 7 && part == 1;
            let source = workspace.path(&format!("made/{}_{is_odd}_{name}", root % made));
            if !source.exists() {
                let origin = (400_000.0 + (root % made) as f64 * 700.0, 5_000_000.0);
                let bands = if is_odd { 4 } else { 3 };
                write(
                    &source,
                    &Raster {
                        bands,
                        size: (64, 64),
                        epsg: 32632,
                        origin,
                        pixel: 10.0,
                        nodata: Some(0.0),
                        float: false,
                    },
                );
            }
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
            std::fs::hard_link(&source, &path).expect("a link");
            children.push(Sample::new_file(
                name,
                &path,
                std::fs::metadata(&path).expect("written").len(),
            ));
            if is_odd {
                odd.insert(format!("CON-2 r{root} / {name}"));
            }
        }
        samples.push(Sample::new_folder(
            &format!("r{root}"),
            Tortilla::new(children),
        ));
    }
    let paths: Vec<taco_studio::model::AssetPath> = samples
        .iter()
        .flat_map(|root| &root.children().expect("children").samples)
        .filter_map(|sample| match &sample.payload {
            taco_studio::model::Payload::Asset { path, .. } => Some(path.clone()),
            _ => None,
        })
        .collect();
    let dataset = Dataset {
        root: Tortilla::new(samples).into(),
        ..Dataset::default()
    };
    let headers = || {
        let begin = std::time::Instant::now();
        let read = taco_studio::jobs::try_map(&paths, |_, path| {
            taco_studio::raster::describe(&taco_studio::raster::RasterSource::member(path.clone()))
                .map(|info| info.band_count)
        });
        assert_eq!(read.expect("reads").len(), paths.len());
        begin.elapsed().as_secs_f64()
    };
    let compare = || {
        let begin = std::time::Instant::now();
        let cache = HeaderCache::default();
        let all = validate::consistency_of_draft(
            &dataset,
            &ConsistencyOptions::default(),
            &cache,
            &JobContext::default(),
        );
        let all = all.expect("compares");
        let listed: BTreeSet<String> = all
            .outliers()
            .map(|(_, property, outlier)| format!("{} {}", property.rule(), outlier.path))
            .collect();
        assert_eq!((listed, all.headers), (odd.clone(), paths.len()));
        let first = begin.elapsed().as_secs_f64();
        let begin = std::time::Instant::now();
        let again = ConsistencyOptions {
            cached_only: true,
            ..ConsistencyOptions::default()
        };
        validate::consistency_of_draft(&dataset, &again, &cache, &JobContext::default())
            .expect("compares");
        (first, begin.elapsed().as_secs_f64())
    };
    // The first reading fills the cache of the disk.
    headers();
    compare();
    let (mut alone, mut compared, mut again) = (Vec::new(), Vec::new(), Vec::new());
    for turn in 0..TURNS {
        // Which of the two comes first alternates, so that neither always finds the machine in the
        // state that the other leaves.
        if turn % 2 == 0 {
            alone.push(headers());
        }
        let (first, second) = compare();
        compared.push(first);
        again.push(second);
        if turn % 2 == 1 {
            alone.push(headers());
        }
    }
    let least = |times: &[f64]| times.iter().copied().fold(f64::INFINITY, f64::min);
    let ratio = least(&compared) / least(&alone);
    println!(
        "{} headers on {} threads",
        paths.len(),
        rayon::current_num_threads()
    );
    println!(
        "alone {alone:.2?} s\ncompared {compared:.2?} s\nafter an edit {again:.2?} s\nleast \
            against least {ratio:.2}"
    );
    assert!(
        ratio <= AGAINST_HEADERS,
        "{ratio:.2} times as long as the headers alone"
    );
}

#[test]
fn parallel_folders_of_images_and_masks_are_warned_of_and_a_tie_of_types_is_said() {
    let workspace = Workspace::new();
    let collection = workspace
        .write("collection.json", COLLECTION)
        .display()
        .to_string();
    let raster = |bands: usize, float: bool| Raster {
        bands,
        size: (8, 8),
        epsg: 32632,
        origin: (400_000.0, 5_000_000.0),
        pixel: 10.0,
        nodata: None,
        float,
    };
    for name in ["0001.tif", "0002.tif", "0003.tif", "0004.tif"] {
        write(
            &workspace.path(&format!("kinds/images/{name}")),
            &raster(3, false),
        );
        write(
            &workspace.path(&format!("kinds/masks/{name}")),
            &raster(1, true),
        );
    }
    let (source, out) = (
        workspace.path("kinds").display().to_string(),
        workspace.path("out.tacozip").display().to_string(),
    );
    let created = workspace
        .studio(["create", &source, "--collection", &collection, "-o", &out])
        .expect_code(0);
    for part in [
        "PIT-10",
        "images (3 bands of UInt16), masks (1 band of Float32)",
        "Make one FOLDER for each name",
    ] {
        assert!(created.stderr.contains(part), "{part}: {created}");
    }
    let checked = workspace
        .studio(["validate", "--deep", &out])
        .expect_code(0);
    assert!(
        checked
            .stdout
            .contains("0 of 2 roots differ; no majority of types and bands at 4 positions"),
        "{checked}"
    );
    assert!(checked.stdout.contains("PIT-10"), "{checked}");
    // Stems that differ in the extension alone are two shapes of one size.
    for name in ["0001", "0002", "0003", "0004"] {
        let mask = workspace.path(&format!("kinds/masks/{name}.tif"));
        std::fs::rename(&mask, mask.with_extension("tiff")).expect("renames");
    }
    let target = workspace.path("none.tacozip").display().to_string();
    let refused = workspace
        .studio([
            "create",
            &source,
            "--collection",
            &collection,
            "-o",
            &target,
        ])
        .expect_code(2);
    assert!(
        refused
            .stderr
            .contains("2 shapes, 4 samples each: no shape has a majority"),
        "{refused}"
    );
}
