//! TACO Optimized GeoTIFFs: rasters, folders and datasets are optimised without changing a value,
//! pass the official validator's rules, and violations are reported with reasons.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};
use taco_studio::model::{AssetPath, Rule};
use taco_studio::raster::{self, RasterSource, ReadRequest, Resampling, Window};

use crate::interop::create;
use crate::support::{Ran, Workspace, files_below, nested_scenes, sha256_of};

/// The rules covered by this file.
pub fn rules() -> Vec<Rule> {
    vec![Rule::TogForm]
}

fn optimise(workspace: &Workspace, input: &Path, output: &Path, more: &[&str]) -> Ran {
    let mut arguments = vec![
        "optimise".into(),
        input.as_os_str().to_owned(),
        "-o".into(),
        output.as_os_str().to_owned(),
    ];
    arguments.extend(more.iter().map(Into::into));
    arguments.push("--json".into());
    workspace.studio(arguments)
}

fn pixels(asset: &AssetPath) -> raster::Pixels {
    let source = &RasterSource::from_user_path(asset.clone());
    let info = raster::describe(source).expect("a raster");
    let request = ReadRequest {
        window: Window::full(info.width, info.height),
        out: (info.width, info.height),
        bands: info.bands.iter().map(|band| band.index).collect(),
        resampling: Resampling::Nearest,
    };
    raster::read_window(source, &request, &Default::default()).expect("reads")
}

/// Facts about a file, as input of the script.
fn fact(file: &Path, source: &Path, tog: bool) -> Json {
    let info =
        raster::describe(&RasterSource::from_user_path(AssetPath::file(file))).expect("a raster");
    let overviews = info.bands.first().map_or(0, |band| band.overviews.len());
    json!({
        "file": file.display().to_string(), "source": source.display().to_string(), "tog": tog,
        "gdal": raster::environment().gdal_version, "compression": info.compression,
        "interleave": info.interleave,
        "overviews": overviews
    })
}

fn findings(ran: &Ran) -> Vec<(String, String)> {
    let report = ran.json();
    let listed = report["findings"]
        .as_array()
        .expect("findings")
        .iter()
        .filter(|finding| finding["rule"] == "TOG-1");
    let text = |value: &Json| value.as_str().expect("text").to_owned();
    listed
        .map(|finding| (text(&finding["at"]), text(&finding["message"])))
        .collect()
}

fn validate(workspace: &Workspace, path: &Path) -> Ran {
    workspace.studio([
        "validate".as_ref(),
        path.as_os_str(),
        "--tog".as_ref(),
        "--json".as_ref(),
    ])
}

#[test]
fn a_folder_of_rasters_passes_the_official_rules_value_by_value() {
    let workspace = Workspace::new();
    nested_scenes(&workspace, 3);
    workspace.write("scenes/notes.txt", "no raster");
    workspace.write("scenes/broken.tif", b"II*\0\x08\0\0\0 not a TIFF");
    // Other formats, masks, types and sizes.
    let scratch = workspace.path("scenes/scene_8/before.tif");
    let driver = gdal::DriverManager::get_driver_by_name("PNG").expect("the PNG driver");
    let source = gdal::Dataset::open(&scratch).expect("opens");
    source
        .create_copy(
            &driver,
            workspace.path("scenes/picture.png"),
            &Default::default(),
        )
        .and_then(gdal::Dataset::close)
        .expect("copies");
    let (scenes, out) = (workspace.path("scenes"), workspace.path("togs"));
    let done = optimise(&workspace, &scenes, &out, &["--block-size", "16"])
        .expect_code(0)
        .json();
    assert_eq!(
        (&done["written"], &done["others"]),
        (&json!(10), &json!(3)),
        "{done}"
    );
    assert_eq!(
        sha256_of(&out.join("broken.tif")),
        sha256_of(&scenes.join("broken.tif"))
    );
    let mut facts = Vec::new();
    for name in files_below(&scenes)
        .into_iter()
        .filter(|name| name.contains("scene_") && name.ends_with(".tif"))
    {
        let (made, source) = (out.join(&name), scenes.join(&name));
        assert_eq!(
            pixels(&AssetPath::file(&*made)),
            pixels(&AssetPath::file(&*source)),
            "{name}"
        );
        facts.push(fact(&made, &source, true));
        facts.push(fact(&source, &source, false));
    }
    facts.push(fact(
        &out.join("picture.tif"),
        &scenes.join("picture.png"),
        true,
    ));
    let list = workspace.write("facts.json", Json::from(facts).to_string());
    let ran = workspace.python("tog.py", [list]).expect_code(0);
    assert!(ran.stdout.starts_with("ok: 10 passed, 9 refused"), "{ran}");
    assert_eq!(findings(&validate(&workspace, &out).expect_code(0)), []);
    let found = findings(&validate(&workspace, &scenes).expect_code(0));
    let at = |place: &str, says: &str| {
        found
            .iter()
            .any(|(at, message)| at == place && message.contains(says))
    };
    assert!(
        at("scene_8/before.tif", "not ZSTD")
            && at("scene_10/label.tif", "BigTIFF")
            && at("picture.png", "PNG"),
        "{found:?}"
    );
    assert!(
        !found.iter().any(|(at, _)| at.contains("notes")),
        "{found:?}"
    );
    raster::close_idle();
}

#[test]
fn one_raster_is_written_or_refused() {
    let workspace = Workspace::new();
    nested_scenes(&workspace, 1);
    let source = workspace.path("scenes/scene_8/before.tif");
    let target = workspace.path("new/folder/tog.tif");
    optimise(&workspace, &source, &target, &[]).expect_code(0);
    assert_eq!(
        pixels(&AssetPath::file(&*source)),
        pixels(&AssetPath::file(&*target))
    );
    assert_eq!(findings(&validate(&workspace, &target).expect_code(0)), []);
    let faults = findings(&validate(&workspace, &source).expect_code(0));
    assert!(
        faults.len() >= 4 && faults.iter().all(|(at, _)| at == "dataset"),
        "{faults:?}"
    );
    // Nothing is overwritten, and a file that is no raster gives no output.
    let before = sha256_of(&target);
    let ran = optimise(&workspace, &source, &target, &["--effort", "1"]).expect_code(2);
    assert!(
        ran.stderr.contains("exists") && sha256_of(&target) == before,
        "{ran}"
    );
    optimise(&workspace, &source, &source, &["--overwrite"]).expect_code(2);
    let text = workspace.write("notes.txt", "no raster");
    optimise(&workspace, &text, &workspace.path("notes.tif"), &[]).expect_code(2);
    assert!(!workspace.path("notes.tif").exists());
    for wrong in [["--block-size", "100"], ["--effort", "40"]] {
        let ran =
            optimise(&workspace, &source, &workspace.path("wrong.tif"), &wrong).expect_code(2);
        assert!(ran.stderr.contains("choose"), "{ran}");
    }
    raster::close_idle();
}

fn file_ids(workspace: &Workspace, dataset: &Path, depth: usize) -> Vec<String> {
    let sql = format!("SELECT * FROM l{depth}");
    let rows = workspace.studio([
        "query".as_ref(),
        dataset.as_os_str(),
        "--sql".as_ref(),
        sql.as_ref(),
        "--json".as_ref(),
    ]);
    let id = |row: &Json| {
        let ids = (0..=depth).filter_map(|level| row[format!("l{level}:id")].as_str());
        ids.collect::<Vec<_>>().join("/")
    };
    rows.expect_code(0)
        .stdout
        .lines()
        .map(|line| id(&serde_json::from_str(line).expect("a row")))
        .collect()
}

fn asset_of(workspace: &Workspace, dataset: &Path, id: &str) -> AssetPath {
    let told = workspace
        .studio(["read".as_ref(), dataset.as_os_str(), id.as_ref()])
        .expect_code(0)
        .stdout;
    AssetPath::parse(told.trim()).expect("a path")
}

#[test]
fn optimising_keeps_metadata_and_values_and_updates_hashes() {
    let workspace = Workspace::new();
    nested_scenes(&workspace, 3);
    workspace.write("scenes/scene_8/readme.txt", "eight");
    workspace.write("scenes/scene_9/readme.txt", "nine");
    workspace.write("scenes/scene_10/readme.txt", "ten");
    create(&workspace, "plain.tacozip", "zip");
    let plain = workspace.path("plain.tacozip");
    let hashed = workspace.path("hashed.tacozip");
    let calls = r#"[{"extension":"content_hash","target":{"level":1}},{"extension":"tacotiff",
        "target":{"level":1},"options":{"strict":false},"schema_only":true}]"#;
    workspace
        .studio([
            "extend".as_ref(),
            plain.as_os_str(),
            "-o".as_ref(),
            hashed.as_os_str(),
            "--calls".as_ref(),
            calls.as_ref(),
        ])
        .expect_code(0);
    for name in ["out.tacozip", "out"] {
        let out = workspace.path(name);
        let format = if name == "out" { "folder" } else { "zip" };
        let done = optimise(
            &workspace,
            &hashed,
            &out,
            &["--format", format, "--block-size", "16"],
        )
        .expect_code(0)
        .json();
        assert_eq!(
            (&done["written"], &done["others"]),
            (&json!(9), &json!(3)),
            "{done}"
        );
        assert_eq!(findings(&validate(&workspace, &out).expect_code(0)), []);
        workspace
            .studio(["validate".as_ref(), out.as_os_str(), "--deep".as_ref()])
            .expect_code(0);
        let ids = file_ids(&workspace, &hashed, 1);
        assert_eq!(ids, file_ids(&workspace, &out, 1));
        for id in ids.iter().filter(|id| id.ends_with(".tif")) {
            assert_eq!(
                pixels(&asset_of(&workspace, &hashed, id)),
                pixels(&asset_of(&workspace, &out, id)),
                "{id}"
            );
        }
        let text = |dataset: &Path, sql: &str| {
            let ran = workspace.studio([
                "query".as_ref(),
                dataset.as_os_str(),
                "--csv".as_ref(),
                "--sql".as_ref(),
                sql.as_ref(),
            ]);
            ran.expect_code(0).stdout
        };
        let sql = "SELECT id, region, cloud_cover, quality FROM level0";
        assert_eq!(text(&hashed, sql), text(&out, sql));
        // The hashes are those of the new bytes, and the headers locate the new tiles.
        let sql = r#"SELECT id, "content:sha256" AS hash, "taco:header" IS NULL AS headless
            FROM level1 WHERE "internal:parent_id" = 0"#;
        let ran = workspace.studio([
            "query".as_ref(),
            out.as_os_str(),
            "--json".as_ref(),
            "--sql".as_ref(),
            sql.as_ref(),
        ]);
        for line in ran.expect_code(0).stdout.lines() {
            let row: Json = serde_json::from_str(line).expect("a row");
            let id = row["id"].as_str().expect("an id");
            let copy = workspace.path("bytes");
            let sample = format!("{}/{id}", ids[0].split('/').next().expect("a scene"));
            workspace
                .studio([
                    "read".as_ref(),
                    out.as_os_str(),
                    sample.as_ref(),
                    "--out".as_ref(),
                    copy.as_os_str(),
                ])
                .expect_code(0);
            assert_eq!(
                (&row["hash"], &row["headless"]),
                (&sha256_of(&copy).into(), &id.ends_with(".txt").into()),
                "{row}"
            );
            fs::remove_file(&copy).expect("the file just written");
        }
        // A second run finds nothing to change and gives equal bytes.
        let again = workspace.path(&format!("again-{name}"));
        let done = optimise(&workspace, &out, &again, &["--block-size", "16"])
            .expect_code(0)
            .json();
        assert_eq!(
            (&done["written"], &done["already"]),
            (&json!(0), &json!(9)),
            "{done}"
        );
    }
    let report = findings(&validate(&workspace, &plain).expect_code(0));
    assert!(
        report.iter().any(
            |(at, message)| at == "scene_10 / label.tif" && message.contains("zstd")
                || message.contains("ZSTD")
        )
    );
    raster::close_idle();
}

/// The golden dataset's extent misses samples; every command that rewrites the dataset corrects it.
#[test]
fn an_extent_that_misses_samples_is_not_written_again() {
    let workspace = Workspace::new();
    let input = crate::support::tests_folder().join("fixtures/golden/01_flat_zip/flat.tacozip");
    let bad = |path: &Path| {
        let report = validate(&workspace, path).json();
        let mut rules = report["findings"]
            .as_array()
            .expect("findings")
            .iter()
            .filter_map(|finding| finding["rule"].as_str());
        rules.any(|rule| ["COL-10", "COL-11"].contains(&rule))
    };
    assert!(bad(&input));
    let output = workspace.path("o.tacozip");
    let ran = optimise(&workspace, &input, &output, &[]).expect_code(0);
    assert!(!bad(&output), "{ran}");
    let output = workspace.path("e.tacozip");
    let more = ["--with", "content_hash"].map(std::ffi::OsStr::new);
    let arguments = [
        "extend".as_ref(),
        input.as_os_str(),
        "-o".as_ref(),
        output.as_os_str(),
    ];
    workspace
        .studio([&arguments[..], &more[..]].concat())
        .expect_code(0);
    assert!(!bad(&output));
}

#[test]
fn streamable_datasets_contain_togs_and_a_deep_check_reports_others() {
    let workspace = Workspace::new();
    nested_scenes(&workspace, 2);
    create(&workspace, "plain.tacozip", "zip");
    let (plain, raw, out) = (
        workspace.path("plain.tacozip"),
        workspace.path("raw.tortilla"),
        workspace.path("togs.tortilla"),
    );
    let compile = [
        "compile".as_ref(),
        plain.as_os_str(),
        "-o".as_ref(),
        raw.as_os_str(),
        "--stream".as_ref(),
    ];
    workspace
        .studio(compile.into_iter().chain(["--allow-non-tog".as_ref()]))
        .expect_code(0);
    let deep = |path: &Path| {
        let ran = workspace.studio([
            "validate".as_ref(),
            path.as_os_str(),
            "--deep".as_ref(),
            "--json".as_ref(),
        ]);
        findings(&ran.expect_code(0))
    };
    assert!(
        deep(&raw)
            .iter()
            .any(|(at, message)| at == "scene_8 / before.tif" && message.contains("ZSTD"))
    );
    for input in [&plain, &raw] {
        optimise(
            &workspace,
            input,
            &out,
            &["--stream", "--overwrite", "--block-size", "16"],
        )
        .expect_code(0);
        assert_eq!(deep(&out), []);
        for id in file_ids(&workspace, &plain, 1) {
            assert_eq!(
                pixels(&asset_of(&workspace, &plain, &id)),
                pixels(&asset_of(&workspace, &out, &id)),
                "{id}"
            );
        }
    }
    // A chunk is a tile of one band.
    let chunk = workspace
        .studio([
            "read".as_ref(),
            out.as_os_str(),
            "scene_8/before.tif::5".as_ref(),
        ])
        .expect_code(0);
    assert!(chunk.stdout.contains("from (1, "), "{chunk}");
    let refused = optimise(&workspace, &raw, &workspace.path("x.tacozip"), &[]).expect_code(2);
    assert!(refused.stderr.contains("migrate"), "{refused}");
    let refused = optimise(
        &workspace,
        &plain,
        &workspace.path("x.tacozip"),
        &["--stream"],
    )
    .expect_code(2);
    assert!(refused.stderr.contains("2.0 streams as it is"), "{refused}");
    raster::close_idle();
}

#[test]
fn strips_of_histograms_are_no_finding() {
    let workspace = Workspace::new();
    nested_scenes(&workspace, 2);
    create(&workspace, "plain.tacozip", "zip");
    let (plain, counts) = (
        workspace.path("plain.tacozip"),
        workspace.path("counts.tortilla"),
    );
    workspace
        .studio([
            "histograms".as_ref(),
            plain.as_os_str(),
            "-o".as_ref(),
            counts.as_os_str(),
        ])
        .expect_code(0);
    assert_eq!(findings(&validate(&workspace, &counts).expect_code(0)), []);
    assert!(
        !findings(&validate(&workspace, &plain)).is_empty(),
        "the rasters themselves are no TOGs"
    );
    raster::close_idle();
}

#[test]
fn nothing_is_left_beside_the_output() {
    let workspace = Workspace::new();
    nested_scenes(&workspace, 2);
    create(&workspace, "plain.tacozip", "zip");
    let place = workspace.path("place");
    fs::create_dir(&place).expect("a folder");
    optimise(
        &workspace,
        &workspace.path("plain.tacozip"),
        &place.join("a.tacozip"),
        &[],
    )
    .expect_code(0);
    optimise(&workspace, &workspace.path("scenes"), &place.join("b"), &[]).expect_code(0);
    let mut names: Vec<PathBuf> = crate::support::entries(&place);
    names.sort();
    assert_eq!(names, [place.join("a.tacozip"), place.join("b")]);
}

/// Archives contain modification times, and each run rewrites the rasters.
#[test]
fn the_same_input_is_optimised_to_the_same_bytes() {
    let workspace = Workspace::new();
    let made = workspace.studio(["sample", "made"]).expect_code(0);
    let input = PathBuf::from(made.stdout.lines().last().expect("the path of the dataset"));
    let (first, second) = (
        workspace.path("first.tacozip"),
        workspace.path("second.tacozip"),
    );
    optimise(&workspace, &input, &first, &["--again"]).expect_code(0);
    // Modification times in archives have a resolution of two seconds.
    std::thread::sleep(std::time::Duration::from_millis(2100));
    let again = optimise(&workspace, &input, &second, &["--again"]).expect_code(0);
    assert!(
        again.json()["written"]
            .as_u64()
            .is_some_and(|written| written > 0),
        "{}",
        again.stdout
    );
    assert_eq!(sha256_of(&first), sha256_of(&second));
}
