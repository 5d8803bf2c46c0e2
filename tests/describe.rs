//! Catalogue metadata: every golden dataset of every generation in every format, validated with the
//! published schemas and validators.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;

use crate::support::{Workspace, copy_folder, fixtures};

/// Datasets with an expectation: ZIP, FOLDER, TACOCAT, and the other generations.
fn datasets() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in fixtures("golden", "TACO_STUDIO_GOLDEN") {
        let Ok(text) = fs::read_to_string(folder.join("expected.json")) else {
            continue;
        };
        let expected: Json = serde_json::from_str(&text).expect("expected.json");
        found.extend(
            expected
                .as_object()
                .expect("an object")
                .keys()
                .map(|name| folder.join(name)),
        );
    }
    assert!(found.len() >= 10, "only {} datasets", found.len());
    found
}

fn describe(
    workspace: &Workspace,
    dataset: &Path,
    form: &str,
    output: &Path,
) -> crate::support::Ran {
    let arguments = [
        "describe".as_ref(),
        dataset.as_os_str(),
        "--as".as_ref(),
        form.as_ref(),
        "-o".as_ref(),
        output.as_os_str(),
    ];
    workspace.studio(
        [
            &arguments[..],
            &[
                "--overwrite".as_ref(),
                "--url".as_ref(),
                "https://example.org/data".as_ref(),
            ],
        ]
        .concat(),
    )
}

/// Generates one format for every dataset and validates it.
fn every_dataset_as(form: &str, name: &str) {
    let workspace = Workspace::new();
    let mut wrong = String::new();
    for (number, dataset) in datasets().into_iter().enumerate() {
        // File names in the metadata are relative to the document.
        let folder = workspace.path(&format!("set{number}"));
        fs::create_dir(&folder).expect("a folder");
        let near = folder.join(dataset.file_name().expect("a name"));
        // Including the parts of an index.
        for beside in crate::support::entries(dataset.parent().expect("a folder")) {
            let near = folder.join(beside.file_name().expect("a name"));
            // A part that is a symbolic link out of the folder is refused.
            if beside.is_dir() {
                copy_folder(&beside, &near)
            } else {
                fs::copy(&beside, near).map(drop).expect("a copy")
            }
        }
        let output = if name.is_empty() {
            folder.clone()
        } else {
            folder.join(name)
        };
        let ran = describe(&workspace, &near, form, &output);
        if form == "stac-geoparquet"
            && ran.code() == 2
            && ran.stderr.contains("no sample has a time")
        {
            continue;
        }
        if form == "geoparquet"
            && ran.code() == 2
            && ran.stderr.contains("no sample has a location")
        {
            continue;
        }
        ran.expect_code(0);
        let checked =
            workspace.catalogue_python("catalogues.py", [form.as_ref(), output.as_os_str()]);
        if checked.code() != 0 {
            wrong.push_str(&format!("{}:\n{checked}\n", dataset.display()));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn stac_is_valid() {
    every_dataset_as("stac", "");
}

#[test]
fn geoparquet_is_valid() {
    every_dataset_as("geoparquet", "samples.parquet");
}

#[test]
fn stac_geoparquet_is_valid() {
    every_dataset_as("stac-geoparquet", "items.parquet");
}

#[test]
fn croissant_is_valid() {
    every_dataset_as("croissant", "croissant.json");
}

#[test]
fn every_generation_has_its_media_type() {
    let workspace = Workspace::new();
    let wanted = [
        (
            "41_v1_bytes/bytes.tortilla",
            "application/vnd.tortilla+blob",
        ),
        (
            "46_v1_taco_nested/nested.taco",
            "application/vnd.tortilla+blob",
        ),
        ("01_flat_zip/flat.tacozip", "application/zip"),
    ];
    for (dataset, media_type) in wanted {
        let (set, name) = dataset.split_once('/').expect("a set and a file");
        let folder = fixtures("golden", "TACO_STUDIO_GOLDEN")
            .into_iter()
            .find(|folder| folder.ends_with(set));
        let path = folder
            .unwrap_or_else(|| panic!("no golden set {set}"))
            .join(name);
        let ran = workspace
            .studio([
                "describe".as_ref(),
                path.as_os_str(),
                "--as".as_ref(),
                "croissant".as_ref(),
            ])
            .expect_code(0);
        assert_eq!(
            ran.json()["distribution"][0]["encodingFormat"],
            media_type,
            "{dataset}"
        );
    }
}

#[test]
fn datacite_is_valid() {
    every_dataset_as("datacite", "datacite.json");
}

#[test]
fn pages_are_valid() {
    every_dataset_as("html", "card.html");
}

/// Several datasets opened as one are described as one: with every file, and every sample's file.
#[test]
fn several_datasets_are_described_as_one() {
    let workspace = Workspace::new();
    let folder = workspace.path("sets");
    fs::create_dir(&folder).expect("a folder");
    let parts: Vec<PathBuf> = (1..=3)
        .map(|number| {
            let name = format!("parts_part000{number}.tacozip");
            let from = Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("tests/fixtures/golden/09_split_tacocat")
                .join(&name);
            let to = folder.join(name);
            fs::copy(from, &to).expect("a copy");
            to
        })
        .collect();
    for (form, name) in [
        ("stac", ""),
        ("croissant", "croissant.json"),
        ("datacite", "datacite.json"),
        ("geoparquet", "samples.parquet"),
        ("stac-geoparquet", "items.parquet"),
        ("html", "card.html"),
    ] {
        let output = if name.is_empty() {
            folder.clone()
        } else {
            folder.join(name)
        };
        let mut arguments: Vec<&std::ffi::OsStr> = vec!["describe".as_ref()];
        arguments.extend(parts.iter().map(|part| part.as_os_str()));
        arguments.extend([
            "--as".as_ref(),
            form.as_ref(),
            "-o".as_ref(),
            output.as_os_str(),
        ]);
        let ran = workspace.studio(arguments);
        if ran.code() == 2
            && (ran.stderr.contains("no sample has a time")
                || ran.stderr.contains("no sample has a location"))
        {
            continue;
        }
        ran.expect_code(0);
        workspace
            .catalogue_python("catalogues.py", [form.as_ref(), output.as_os_str()])
            .expect_code(0);
    }
    let json = |name: &str| -> Json {
        serde_json::from_slice(&fs::read(folder.join(name)).expect(name)).expect(name)
    };
    let assets = json("collection.json");
    let names: Vec<&String> = assets["assets"]
        .as_object()
        .expect("assets")
        .keys()
        .collect();
    assert_eq!(
        names,
        [
            "parts_part0001.tacozip",
            "parts_part0002.tacozip",
            "parts_part0003.tacozip"
        ]
    );
    let croissant = json("croissant.json");
    let files = croissant["distribution"].as_array().expect("files");
    let sets = croissant["recordSet"].as_array().expect("sets");
    let levels = sets.len() / 3;
    assert!(
        levels > 0 && sets.len() == 3 * levels && files.len() == 3 * (1 + levels),
        "{} sets, {} files",
        sets.len(),
        files.len()
    );
    assert!(
        files[0]["sha256"]
            .as_str()
            .is_some_and(|sum| sum.len() == 64)
    );
    let card = fs::read_to_string(folder.join("card.html")).expect("the card");
    assert!(
        card.contains("parts_part0003.tacozip"),
        "how to read names every file"
    );
}

/// Everything that the official tool shows of a dataset is also in the studio's card.
#[test]
fn the_card_has_everything_that_the_official_one_shows() {
    let workspace = Workspace::new();
    let mut compared = 0;
    let mut wrong = String::new();
    for dataset in datasets() {
        // The tool reads the COLLECTION of a 2.0 dataset or a TACOLLECTION.
        let given = if dataset.is_dir() {
            dataset.join("COLLECTION.json")
        } else {
            dataset.clone()
        };
        let zip = given.extension().is_some_and(|ending| ending == "tacozip");
        let list = given
            .file_name()
            .is_some_and(|name| name == "TACOLLECTION.json");
        // The exporter of these datasets copied the counts of the whole dataset, and the tool's
        // card shows them.
        if dataset
            .components()
            .any(|part| part.as_os_str().to_string_lossy().contains("bridge_export"))
        {
            continue;
        }
        if !(zip
            || list
            || (dataset.is_dir() && given.is_file() && dataset.join("METADATA").is_dir()))
        {
            continue;
        }
        let page = workspace.path("card.html");
        describe(&workspace, &dataset, "html", &page).expect_code(0);
        let held = workspace.python("card.py", [given.as_os_str(), page.as_os_str()]);
        if held.code() != 0 {
            wrong.push_str(&format!("{}:\n{held}\n", dataset.display()));
        }
        compared += 1;
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(compared >= 4, "only {compared} were compared");
}

#[test]
fn cards_contain_the_datasets_metadata() {
    let workspace = Workspace::new();
    for dataset in datasets() {
        let card = workspace
            .studio([
                "describe".as_ref(),
                dataset.as_os_str(),
                "--as".as_ref(),
                "markdown".as_ref(),
            ])
            .expect_code(0);
        assert!(card.stdout.starts_with("---\npretty_name: \""), "{card}");
        assert!(
            card.stdout.contains("## Structure") && card.stdout.contains("## Fields"),
            "{card}"
        );
        assert_eq!(
            card.stdout.contains("## Location"),
            card.stdout.contains("```geojson"),
            "{card}"
        );
        let page = workspace
            .studio([
                "describe".as_ref(),
                dataset.as_os_str(),
                "--as".as_ref(),
                "html".as_ref(),
            ])
            .expect_code(0);
        let open = page.stdout.matches("<td>").count();
        assert!(
            open > 4 && open == page.stdout.matches("</td>").count(),
            "{page}"
        );
        assert!(!page.stdout.contains("<script"), "{page}");
        assert_eq!(
            page.stdout.contains("Location"),
            page.stdout.contains("<svg"),
            "{page}"
        );
    }
}

#[test]
fn a_catalogue_has_the_facts_of_the_dataset() {
    let workspace = Workspace::new();
    let dataset = datasets()
        .into_iter()
        .find(|path| path.ends_with("44_v1_parts/parts.0000.part.tortilla"))
        .expect("a golden set");
    let out = workspace.path("stac");
    describe(&workspace, &dataset, "stac", &out).expect_code(0);
    let item: Json = serde_json::from_str(
        &fs::read_to_string(out.join("items/bahamas_rgb.json")).expect("reads"),
    )
    .expect("JSON");
    assert_eq!(item["properties"]["datetime"], "2001-09-09T01:46:40Z");
    assert_eq!(
        (
            &item["properties"]["proj:code"],
            &item["properties"]["split"]
        ),
        (&"EPSG:32618".into(), &"train".into())
    );
    assert_eq!(item["geometry"]["type"], "Polygon");
    let bbox: Vec<f64> = item["bbox"]
        .as_array()
        .expect("a box")
        .iter()
        .filter_map(Json::as_f64)
        .collect();
    let inside = bbox[0] < -77.852
        && bbox[2] > -77.852
        && bbox[1] < 24.6
        && bbox[3] > 24.6
        && bbox[2] - bbox[0] < 1.0;
    assert!(inside, "{bbox:?}");
}

/// A golden part with additional columns.
fn with_columns(workspace: &Workspace, table: &str) -> PathBuf {
    let dataset = datasets()
        .into_iter()
        .find(|path| path.ends_with("44_v1_parts/parts.0000.part.tortilla"))
        .expect("a golden set");
    let copy = workspace.path("one.tortilla");
    fs::copy(&dataset, &copy).expect("copies");
    let table = workspace.write("columns.csv", table);
    workspace
        .studio([
            "edit".as_ref(),
            copy.as_os_str(),
            "--metadata".as_ref(),
            table.as_os_str(),
        ])
        .expect_code(0);
    copy
}

#[test]
fn items_with_and_without_an_end_are_valid_together() {
    let workspace = Workspace::new();
    let ends =
        "id,stac:time_end\nbahamas_rgb,\nflorida_nir,1000086460.0\nmichigan_tmax,1000172860.0\n";
    let copy = with_columns(&workspace, ends);
    let (items, folder) = (workspace.path("items.parquet"), workspace.path("stac"));
    describe(&workspace, &copy, "stac-geoparquet", &items).expect_code(0);
    workspace
        .catalogue_python(
            "catalogues.py",
            ["stac-geoparquet".as_ref(), items.as_os_str()],
        )
        .expect_code(0);
    describe(&workspace, &copy, "stac", &folder).expect_code(0);
    workspace
        .catalogue_python("catalogues.py", ["stac".as_ref(), folder.as_os_str()])
        .expect_code(0);
    let rows = workspace
        .studio(["inspect".as_ref(), copy.as_os_str(), "--json".as_ref()])
        .expect_code(0)
        .json();
    assert_eq!(rows["levels"][0]["rows"], 3, "{rows}");
}

#[test]
fn columns_with_reserved_names_are_renamed() {
    let workspace = Workspace::new();
    let rows = ["bahamas_rgb", "florida_nir", "michigan_tmax"]
        .map(|id| format!("{id},round,20200101,wide,mine,one,here\n"))
        .concat();
    let copy = with_columns(
        &workspace,
        &format!("id,geometry,datetime,bbox,collection,links,path\n{rows}"),
    );
    for (form, name) in [
        ("geoparquet", "samples.parquet"),
        ("stac-geoparquet", "items.parquet"),
        ("stac", "stac"),
    ] {
        let output = workspace.path(name);
        describe(&workspace, &copy, form, &output).expect_code(0);
        workspace
            .catalogue_python("catalogues.py", [form.as_ref(), output.as_os_str()])
            .expect_code(0);
    }
    let item = crate::support::entries(&workspace.path("stac/items"))
        .into_iter()
        .next()
        .expect("an Item");
    assert_ne!(
        json_of(&item)["properties"]["datetime"],
        "20200101",
        "the Item's time is its own"
    );
}

/// The golden parts, opened together.
fn parts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures/golden/44_v1_parts/parts.*.part.tortilla")
}

fn json_of(path: &Path) -> Json {
    serde_json::from_slice(&fs::read(path).expect("reads")).expect("JSON")
}

/// Parts have sizes and dates, whether opened by folder, by pattern or remotely.
#[test]
fn parts_are_files_with_sizes_and_dates() {
    let workspace = Workspace::new();
    let pattern = parts();
    let folder = pattern.parent().expect("a folder").to_owned();
    let server = crate::support::Server::of(&folder);
    let remote = PathBuf::from(server.url("parts.0000.part.tortilla"));
    let size = |name: &str| fs::metadata(folder.join(name)).expect("a file").len();
    let sizes =
        ["parts.0000.part.tortilla", "parts.0001.part.tortilla"].map(|name| (name, size(name)));
    for (number, (dataset, count)) in [(&pattern, 2), (&folder, 2), (&remote, 1)]
        .into_iter()
        .enumerate()
    {
        let (croissant, datacite) = (
            workspace.path(&format!("c{number}.json")),
            workspace.path(&format!("d{number}.json")),
        );
        describe(&workspace, dataset, "croissant", &croissant).expect_code(0);
        let files = json_of(&croissant)["distribution"]
            .as_array()
            .expect("a list")
            .clone();
        assert_eq!(files.len(), count, "{files:?}");
        for (file, (name, size)) in files.iter().zip(sizes) {
            assert_eq!(
                (&file["name"], &file["contentSize"]),
                (&name.into(), &format!("{size} B").into())
            );
            assert_eq!(file["sha256"].is_string(), count == 2, "{file}");
            let url = file["contentUrl"].as_str().expect("an address");
            assert_eq!(
                url,
                if count == 2 {
                    name.to_owned()
                } else {
                    remote.display().to_string()
                }
            );
        }
        let ran = describe(&workspace, dataset, "datacite", &datacite).expect_code(0);
        let told = json_of(&datacite);
        let total: u64 = sizes.iter().take(count).map(|(_, size)| size).sum();
        assert_eq!(told["sizes"][0], format!("{total} bytes"));
        let year: i32 = told["publicationYear"]
            .as_str()
            .expect("a year")
            .parse()
            .expect("a number");
        assert!(year > 2000, "{told}");
        // Without a modification time from the server there is no date, and the year is reported as
        // assumed.
        let dated = told["dates"]
            .as_array()
            .into_iter()
            .flatten()
            .any(|date| date["dateType"] == "Updated");
        assert_eq!(
            dated,
            !ran.stderr
                .contains("the current year is used as the year of publication"),
            "{ran}"
        );
        assert!(count == 1 || dated, "{ran}");
        assert!(
            !fs::read_to_string(&croissant)
                .expect("reads")
                .contains("1970")
        );
    }
}

#[test]
fn placeholders_and_samples_without_a_time_are_warned_of() {
    let workspace = Workspace::new();
    let warned = |dataset: &Path, form: &str| {
        describe(&workspace, dataset, form, &workspace.path(form))
            .expect_code(0)
            .stderr
    };
    let told = warned(&parts(), "datacite");
    assert!(
        told.contains("description, providers, licenses") && told.contains("migration"),
        "{told}"
    );
    crate::support::flat_scenes(&workspace, 2);
    crate::interop::create(&workspace, "in.tacozip", "zip");
    let told = warned(&workspace.path("in.tacozip"), "stac");
    assert!(told.contains("2 samples have no time"), "{told}");
    assert!(!told.contains("migration"), "{told}");
}

#[test]
fn a_catalogue_appears_whole_or_not_at_all() {
    let workspace = Workspace::new();
    let out = workspace.path("out");
    workspace.write("out/items/gone.json", "{}");
    let dataset = parts();
    let arguments = [
        "describe".as_ref(),
        dataset.as_os_str(),
        "--as".as_ref(),
        "stac".as_ref(),
        "-o".as_ref(),
        out.as_os_str(),
    ];
    workspace.studio(arguments).expect_code(2);
    assert_eq!(crate::support::files_below(&out), ["items/gone.json"]);
    describe(&workspace, &dataset, "stac", &out).expect_code(0);
    let files = crate::support::files_below(&out);
    assert!(
        files.len() == 6 && !files.contains(&"items/gone.json".to_owned()),
        "{files:?}"
    );
}

/// The code in the card runs with the official reader of the first generation.
#[test]
fn the_code_in_a_card_of_the_first_generation_runs() {
    let workspace = Workspace::new();
    let dataset = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures/golden/46_v1_taco_nested/nested.taco");
    let card = workspace
        .studio([
            "describe".as_ref(),
            dataset.as_os_str(),
            "--as".as_ref(),
            "markdown".as_ref(),
        ])
        .expect_code(0);
    let how = card
        .stdout
        .split("## How to read it")
        .nth(1)
        .expect("a heading");
    let code: Vec<&str> = how
        .lines()
        .skip_while(|line| !line.starts_with("```"))
        .skip(1)
        .take_while(|line| !line.starts_with("```"))
        .collect();
    assert!(
        !code.is_empty() && !code.iter().any(|line| line.contains(".data")),
        "{code:?}"
    );
    fs::copy(&dataset, workspace.path("nested.taco")).expect("copies");
    let script = workspace.write("card.py", code.join("\n"));
    let ran = workspace
        .old_python(&script.to_string_lossy(), [""])
        .expect_code(0);
    assert!(ran.stdout.contains("internal:subfile"), "{ran}");
}

/// Nested scenes with columns of every kind at level 0, and locations and other times in their
/// files alone.
fn nested_with_typed_columns(workspace: &Workspace, format: &str) -> PathBuf {
    crate::support::nested_scenes(workspace, 4);
    let table = workspace.path("columns.parquet");
    let ids = ["scene_8", "scene_9", "scene_10", "scene_11"];
    let fixed = [std::ffi::OsStr::new("write"), table.as_os_str()];
    workspace
        .catalogue_python(
            "item_columns.py",
            fixed.into_iter().chain(ids.map(std::ffi::OsStr::new)),
        )
        .expect_code(0);
    let plain = [
        "create",
        "scenes",
        "-o",
        "plain.tacozip",
        "--collection",
        "collection.json",
        "--metadata",
        "columns.parquet",
    ];
    workspace.studio(plain).expect_code(0);
    let options = r#"{"time_start": "2019-03-01", "time_end": "2019-03-02"}"#;
    let out = if format == "zip" {
        "set.tacozip"
    } else {
        "set"
    };
    let stac = [
        "extend",
        "plain.tacozip",
        "-o",
        out,
        "--with",
        "stac",
        "--level",
        "1",
        "--options",
        options,
        "--format",
        format,
    ];
    workspace.studio(stac).expect_code(0);
    workspace.path(out)
}

/// Items have the times of STAC's own columns, exact numbers, footprints of the children of a
/// FOLDER, and the bytes of every file.
#[test]
fn items_have_the_times_types_places_and_bytes_of_their_samples() {
    let workspace = Workspace::new();
    let dataset = nested_with_typed_columns(&workspace, "zip");
    let (folder, table) = (workspace.path("stac"), workspace.path("items.parquet"));
    describe(&workspace, &dataset, "stac", &folder).expect_code(0);
    workspace
        .catalogue_python("catalogues.py", ["stac".as_ref(), folder.as_os_str()])
        .expect_code(0);
    describe(&workspace, &dataset, "stac-geoparquet", &table).expect_code(0);
    let read = workspace
        .catalogue_python("item_columns.py", ["read".as_ref(), table.as_os_str()])
        .expect_code(0)
        .json();
    let container = fs::read(&dataset).expect("the archive");
    for (number, id) in ["scene_8", "scene_9", "scene_10", "scene_11"]
        .into_iter()
        .enumerate()
    {
        let text = fs::read_to_string(folder.join(format!("items/{id}.json"))).expect("an Item");
        let item: Json = serde_json::from_str(&text).expect("JSON");
        let properties = &item["properties"];
        let day = format!("2021-05-{:02}T00:00:00Z", number + 1);
        assert_eq!(properties["datetime"], day, "{text}");
        assert!(
            properties.get("start_datetime").is_none(),
            "the interval of the files is not that of the sample: {text}"
        );
        assert_eq!(
            (&properties["acquired"], &properties["created"]),
            (&day.as_str().into(), &"2021-05-03T00:00:00Z".into())
        );
        assert_eq!(
            properties["s2cell"].to_string(),
            (9_749_618_429_198_860_289u64 + number as u64).to_string()
        );
        assert_eq!(properties["local"], day);
        assert_eq!(properties["seen"], "1969-12-31T23:59:59.999999999Z");
        assert_eq!(
            (&properties["old"], &properties["dec"]),
            (&"1899-12-31".into(), &"1.10".into())
        );
        assert_eq!(
            properties["visit"],
            serde_json::json!({ "year": 2020, "at": "2021-05-01T00:00:00Z" })
        );
        assert_eq!(
            properties["nested"],
            serde_json::json!([[1, null], null, []])
        );
        assert_eq!(
            (&properties["taco:title"], &properties["taco:bbox"]),
            (&7.into(), &1.5.into())
        );
        assert_eq!(
            (&properties["platform"], &properties["gsd"]),
            (&"Sentinel-2A".into(), &10.0.into())
        );
        assert_eq!(
            properties.get("nan").is_some(),
            number % 2 == 1 && number != 3,
            "NaN, infinity and null are no numbers: {text}"
        );
        let assets = item["assets"].as_object().expect("assets");
        assert_eq!(
            assets.keys().collect::<Vec<_>>(),
            ["after.tif", "before.tif", "label.tif"]
        );
        for (name, asset) in assets {
            let (offset, size) = (
                asset["taco:offset"].as_u64().expect("an offset"),
                asset["taco:size"].as_u64().expect("a size"),
            );
            let source =
                fs::read(workspace.path(&format!("scenes/{id}/{name}"))).expect("the source");
            assert!(
                container[offset as usize..(offset + size) as usize] == source,
                "{id}/{name}"
            );
            assert_eq!(
                asset["href"],
                format!("/vsisubfile/{offset}_{size},{}", dataset.display())
            );
            assert_eq!(asset["taco:container"], "../set.tacozip");
            assert_eq!(read["items"][id]["assets"][name], *asset);
        }
        assert!(
            ["Polygon", "MultiPolygon"]
                .contains(&item["geometry"]["type"].as_str().expect("a type")),
            "{text}"
        );
        let row = &read["rows"][id];
        assert_eq!(row["s2cell"].to_string(), properties["s2cell"].to_string());
        assert_eq!(
            row["flags"],
            [
                serde_json::json!([true, null]),
                serde_json::json!([]),
                Json::Null,
                serde_json::json!([false])
            ][number]
        );
        let item_bbox: Vec<f64> = item["bbox"]
            .as_array()
            .expect("a box")
            .iter()
            .filter_map(Json::as_f64)
            .collect();
        let bounds: Vec<f64> = read["bounds"][id]
            .as_array()
            .expect("bounds")
            .iter()
            .filter_map(Json::as_f64)
            .collect();
        assert!(
            item_bbox
                .iter()
                .zip(&bounds)
                .all(|(a, b)| (a - b).abs() < 1e-6),
            "{item_bbox:?} {bounds:?}"
        );
    }
    for (name, dtype) in [
        ("datetime", "timestamp[us, tz=UTC]"),
        ("created", "timestamp[us, tz=UTC]"),
        ("acquired", "timestamp[us, tz=UTC]"),
        ("local", "timestamp[ms, tz=UTC]"),
        ("seen", "timestamp[ns, tz=UTC]"),
        ("s2cell", "uint64"),
        ("old", "date32[day]"),
        ("dec", "decimal128(5, 2)"),
        ("i8", "int8"),
        ("half", "float"),
        ("taco:title", "int32"),
        ("platform", "string"),
    ] {
        assert_eq!(read["types"][name], dtype, "{name}");
    }
    assert!(
        read["types"]["flags"]
            .as_str()
            .is_some_and(|dtype| dtype.starts_with("list<") && dtype.ends_with("bool>")),
        "{read}"
    );
    assert!(
        read["types"]["visit"]
            .as_str()
            .is_some_and(|dtype| dtype.contains("year: int16") && dtype.contains("tz=UTC"))
    );
}

/// Files of a FOLDER dataset are assets by their paths, which exist beside the documents.
#[test]
fn items_of_a_folder_dataset_point_to_its_files() {
    let workspace = Workspace::new();
    let dataset = nested_with_typed_columns(&workspace, "folder");
    let folder = workspace.path("");
    describe(&workspace, &dataset, "stac", &folder).expect_code(0);
    let item = json_of(&folder.join("items/scene_9.json"));
    let assets = item["assets"].as_object().expect("assets");
    assert_eq!(assets.len(), 3);
    for (name, asset) in assets {
        let href = asset["href"].as_str().expect("a link");
        let linked =
            fs::read(folder.join("items").join(href)).expect("the file that the asset links");
        assert!(
            linked
                == fs::read(workspace.path(&format!("scenes/scene_9/{name}"))).expect("the source"),
            "{href}"
        );
    }
}

/// A level that states no place has the places of its children: in GeoParquet and in a box filter.
#[test]
fn folders_are_where_their_children_are() {
    let workspace = Workspace::new();
    let dataset = nested_with_typed_columns(&workspace, "zip");
    let table = workspace.path("samples.parquet");
    let level = [
        "describe".as_ref(),
        dataset.as_os_str(),
        "--as".as_ref(),
        "geoparquet".as_ref(),
        "--level".as_ref(),
        "0".as_ref(),
    ];
    workspace
        .studio([&level[..], &["-o".as_ref(), table.as_os_str()]].concat())
        .expect_code(0);
    workspace
        .catalogue_python("catalogues.py", ["geoparquet".as_ref(), table.as_os_str()])
        .expect_code(0);
    let count = |arguments: &[&str]| {
        let fixed = [
            "query".as_ref(),
            dataset.as_os_str(),
            "--sql".as_ref(),
            "SELECT id FROM data".as_ref(),
            "--json".as_ref(),
        ];
        let rest = arguments
            .iter()
            .map(|argument| std::ffi::OsStr::new(*argument));
        workspace
            .studio(fixed.into_iter().chain(rest))
            .expect_code(0)
            .stdout
            .lines()
            .count()
    };
    assert_eq!(count(&["--bbox=14,44,16,46"]), 4);
    assert_eq!(count(&["--bbox=-10,44,0,46"]), 0);
    assert_eq!(
        count(&["--datetime", "2021-05-02/2021-05-03"]),
        2,
        "by the column datetime of the level"
    );
}
