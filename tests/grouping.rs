//! Tortilla and collection extensions through the program: compared with the columns that the
//! official tool wrote into a golden dataset, and with its classes run on the studio's datasets.

use std::path::PathBuf;

use serde_json::{Value as Json, json};

use crate::interop::expect_ok;
use crate::support::{Ran, Workspace, tests_folder};

fn golden() -> PathBuf {
    tests_folder().join("fixtures/golden/04_nested2_folder/change")
}

/// Runs `extend` on the golden dataset with these calls.
fn extend(workspace: &Workspace, output: &str, calls: &Json) -> Ran {
    let (input, output, calls) = (golden(), workspace.path(output), calls.to_string());
    workspace.studio([
        "extend".as_ref(),
        input.as_os_str(),
        "-o".as_ref(),
        output.as_os_str(),
        "--calls".as_ref(),
        calls.as_ref(),
        "--replace".as_ref(),
    ])
}

fn rows(workspace: &Workspace, dataset: &str, sql: &str) -> Vec<Json> {
    let dataset = workspace.path(dataset);
    let ran = workspace
        .studio([
            "query".as_ref(),
            dataset.as_os_str(),
            "--json".as_ref(),
            "--sql".as_ref(),
            sql.as_ref(),
        ])
        .expect_code(0);
    ran.stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

/// Longitude and latitude from little-endian WKB in hexadecimal digits.
fn place(hex: &str) -> [f64; 2] {
    let bytes: Vec<u8> = (0..hex.len() / 2)
        .map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).expect("hexadecimal"))
        .collect();
    [5, 13].map(|at| f64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes")))
}

#[test]
fn grids_groups_and_collection_fields_are_those_of_the_official_tool() {
    let workspace = Workspace::new();
    let classes = json!([
        { "name": "none", "category": 0 },
        { "name": "new", "category": "N", "description": "built since" },
    ]);
    let paper =
        json!([{ "doi": "https://doi.org/10.1000/1", "citation": "A (2020)", "summary": "why" }]);
    let calls = json!([
        { "extension": "majortom", "options": { "dist_km": 10 } },
        {
            "extension": "spatial_grouping",
            "options": { "target_count": 4, "target_size": "150KB" },
        },
        { "extension": "labels", "options": { "classes": classes, "description": "change" } },
        { "extension": "optical", "options": { "sensor": "landsat8oli[B03,B02]" } },
        { "extension": "publications", "options": { "publications": paper } },
        { "extension": "split_strategy", "options": { "strategy": "stratified" } },
        { "extension": "extent" },
    ]);
    extend(&workspace, "out", &calls).expect_code(0);
    let path = workspace.path("out");
    workspace
        .studio(["validate".as_ref(), path.as_os_str(), "--deep".as_ref()])
        .expect_code(0);
    expect_ok(workspace.python("groups.py", [path.as_os_str()]));
}

#[test]
fn splits_hashes_and_geographic_enrichment() {
    let workspace = Workspace::new();
    let cells: Vec<String> = (0..10)
        .map(|row| {
            (0..10)
                .map(|column| format!("{}", row * 10 + column))
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect();
    let grid = format!(
        "ncols 10\nnrows 10\nxllcorner -35\nyllcorner -8.5\ncellsize 0.1\nNODATA_value 41\n{}\n",
        cells.join("\n")
    );
    let grid = workspace.write("elevation.asc", grid);
    workspace.write(
        "elevation.prj",
        r#"GEOGCS["WGS 84",DATUM["WGS_1984",SPHEROID["WGS 84",6378137,298.257223563]],
            PRIMEM["Greenwich",0],UNIT["degree",0.0174532925199433]]"#,
    );
    let square = |name: &str, west: f64, east: f64| {
        json!({ "type": "Feature", "properties": { "town": name }, "geometry":
            { "type": "Polygon", "coordinates": [[[west, -9], [east, -9], [east, -7.98], [west,
                -7.98], [west, -9]]] } })
    };
    let towns = json!({
        "type": "FeatureCollection",
        "features": [square("west", -35.0, -34.88), square("east", -34.88, -34.0)],
    });
    let towns = workspace.write("towns.geojson", towns.to_string());
    let columns = json!([
        { "column": "rai:elevation", "path": grid, "date": "2021" },
        { "column": "near", "path": grid, "method": "mean", "radius_m": 12000 },
        { "column": "rai:admin2", "path": towns, "field": "town" },
    ]);
    let calls = json!([
        {
            "extension": "geo_enrichment",
            "options": { "columns": columns, "country": "alpha3", "country_column": "rai:admin0" },
        },
        { "extension": "content_hash", "target": { "level": 1 } },
        {
            "extension": "split_assignment",
            "options": { "ratios": { "train": 2, "test": 1 }, "seed": 5 },
        },
    ]);
    extend(&workspace, "out.tacozip", &calls).expect_code(0);
    extend(&workspace, "again.tacozip", &calls).expect_code(0);
    let sql = r#"SELECT "stac:centroid" AS p, "rai:elevation" AS e, "geoenrich:near" AS n,
        "rai:admin2" AS t, "rai:admin0" AS c, split FROM level0"#;
    let samples = rows(&workspace, "out.tacozip", sql);
    assert_eq!(samples.len(), 6);
    for sample in &samples {
        let [lon, lat] = place(sample["p"].as_str().expect("bytes"));
        let (column, row) = (((lon + 35.0) / 0.1) as i64, ((-7.5 - lat) / 0.1) as i64);
        let value = row * 10 + column;
        assert_eq!(
            sample["e"],
            if value == 41 {
                Json::Null
            } else {
                json!(value)
            },
            "{sample}"
        );
        assert!(
            (sample["n"].as_f64().expect("a mean") - value as f64).abs() < 12.0,
            "{sample}"
        );
        let town = if lat > -7.98 {
            Json::Null
        } else {
            json!(if lon < -34.88 { "west" } else { "east" })
        };
        assert_eq!(sample["t"], town, "{sample}");
        assert!(
            sample["c"] == "BRA" || sample["c"] == "Ocean/Sea/Lakes",
            "{sample}"
        );
    }
    assert!(
        samples.iter().any(|sample| !sample["e"].is_null())
            && samples.iter().any(|sample| sample["c"] == "BRA")
    );
    assert_eq!(
        samples
            .iter()
            .filter(|sample| sample["split"] == "train")
            .count(),
        4
    );
    assert_eq!(
        samples,
        rows(&workspace, "again.tacozip", sql),
        "a seed gives the same split"
    );
    let hashed = rows(
        &workspace,
        "out.tacozip",
        r#"SELECT "content:sha256" AS h, "internal:gdal_vsi" AS p FROM level1"#,
    );
    assert!(
        hashed.len() == 18
            && hashed
                .iter()
                .all(|row| row["h"].as_str().is_some_and(|hash| hash.len() == 64))
    );
    let fields = workspace
        .studio([
            "inspect".as_ref(),
            workspace.path("out.tacozip").as_os_str(),
            "--json".as_ref(),
        ])
        .expect_code(0);
    let text = fields.stdout;
    assert!(
        text.contains("elevation.asc, band 1, pixel at the centroid, 2021."),
        "provenance is kept: {text}"
    );
}

#[test]
fn a_source_that_fails_leaves_the_other_columns() {
    let workspace = Workspace::new();
    let grid = workspace.write(
        "grid.asc",
        "ncols 4\nnrows 4\nxllcorner -36\nyllcorner -10\ncellsize 1\n7 7 7 7\n7 \
            7 7 7\n7 7 7 7\n7 7 7 7\n",
    );
    let wgs84 = r#"GEOGCS["WGS 84",DATUM["WGS_1984",SPHEROID["WGS 84",6378137,298.257223563]],
        PRIMEM["Greenwich",0],UNIT["degree",0.0174532925199433]]"#;
    workspace.write("grid.prj", wgs84);
    let columns = json!([
        { "column": "own:gone", "path": "/nowhere.tif" },
        { "column": "own:seven", "path": grid },
    ]);
    let ran = extend(
        &workspace,
        "out.tacozip",
        &json!([{ "extension": "geo_enrichment", "options": { "columns": columns } }]),
    );
    let ran = ran.expect_code(1);
    assert!(
        ran.stderr.contains("own:gone") && ran.stderr.contains("nowhere.tif"),
        "{ran}"
    );
    let rows = rows(
        &workspace,
        "out.tacozip",
        r#"SELECT "own:gone" AS gone, "own:seven" AS seven FROM level0"#,
    );
    assert_eq!(rows.len(), 6);
    assert!(
        rows.iter()
            .all(|row| row["gone"].is_null() && row["seven"] == 7.0),
        "{rows:?}"
    );
}

#[test]
fn calls_that_can_not_work_are_explained() {
    let workspace = Workspace::new();
    let fails = |call: Json, text: &str| {
        let ran = extend(&workspace, "never", &json!([call])).expect_code(2);
        assert!(ran.stderr.contains(text), "{ran}");
        assert!(!workspace.path("never").exists());
    };
    fails(
        json!({ "extension": "optical", "options": { "sensor": "sentinel2" } }),
        "did you mean sentinel2msi?",
    );
    fails(
        json!({ "extension": "spatial_grouping" }),
        "a limit of the groups is missing",
    );
    fails(
        json!({ "extension": "split_assignment", "options": { "method": "stratified" } }),
        "needs a column",
    );
    fails(
        json!({ "extension": "geo_enrichment" }),
        "nothing is to be sampled",
    );
    fails(
        json!({ "extension": "majortom", "options": { "dist_km": 0 } }),
        "no spacing",
    );
    fails(
        json!({
            "extension": "geo_enrichment",
            "options": { "columns": [{ "column": "a", "path": "/nowhere.tif" }] },
        }),
        "nowhere.tif",
    );
}
