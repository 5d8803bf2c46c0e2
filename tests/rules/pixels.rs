//! Metadata that contradicts the rasters: found by a deep check; statistics are fixed by `repair`.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, Float32Array, Float64Array, Int64Array, ListArray, StringArray,
};
use arrow::datatypes::{DataType, Float32Type, Float64Type, Int64Type};
use serde_json::Value as Json;
use taco_studio::model::Rule;

use super::Files;
use crate::interop::create;
use crate::support::{Workspace, flat_scenes};

/// The rules covered by this file.
pub fn rules() -> [Rule; 3] {
    [Rule::StatisticsValues, Rule::PlaceValues, Rule::PlaceRaster]
}

/// The numbers of a column, in lists of any depth, increased by `by`.
fn shifted(array: &ArrayRef, by: f64) -> ArrayRef {
    match array.data_type() {
        DataType::List(item) => {
            let list = array.as_list::<i32>();
            let values = shifted(list.values(), by);
            Arc::new(ListArray::new(
                item.clone(),
                list.offsets().clone(),
                values,
                list.nulls().cloned(),
            ))
        }
        DataType::Float32 => Arc::new(
            array
                .as_primitive::<Float32Type>()
                .iter()
                .map(|v| v.map(|v| v + by as f32))
                .collect::<Float32Array>(),
        ),
        DataType::Float64 => Arc::new(
            array
                .as_primitive::<Float64Type>()
                .iter()
                .map(|v| v.map(|v| v + by))
                .collect::<Float64Array>(),
        ),
        DataType::Int64 => Arc::new(
            array
                .as_primitive::<Int64Type>()
                .iter()
                .map(|v| v.map(|v| v + by as i64))
                .collect::<Int64Array>(),
        ),
        // A coordinate system at the other end of the Earth.
        DataType::Utf8 => Arc::new(
            array
                .as_string::<i32>()
                .iter()
                .map(|v| v.map(|_| "EPSG:32701"))
                .collect::<StringArray>(),
        ),
        other => panic!("{other} holds no numbers"),
    }
}

#[test]
fn a_deep_check_finds_contradictions_to_rasters_and_repair_fixes_statistics() {
    let workspace = Workspace::new();
    flat_scenes(&workspace, 4);
    create(&workspace, "plain.tacozip", "zip");
    let good = workspace.path("good.tacozip");
    let plain = workspace.path("plain.tacozip");
    let extend = [
        "extend".as_ref(),
        plain.as_os_str(),
        "-o".as_ref(),
        good.as_os_str(),
        "--with".as_ref(),
        "stac,stats".as_ref(),
    ];
    workspace.studio(extend).expect_code(0);
    let check = |path: &std::path::Path, deep: bool| -> Vec<Json> {
        let mut arguments = vec!["validate".as_ref(), path.as_os_str(), "--json".as_ref()];
        arguments.extend(deep.then_some(std::ffi::OsStr::new("--deep")));
        workspace.studio(arguments).expect_no_panic().json()["findings"]
            .as_array()
            .expect("a list")
            .clone()
    };
    assert_eq!(check(&good, true), Vec::<Json>::new());
    for (column, by, code, at, says) in [
        (
            "geotiff:stats",
            40.0,
            "STAT-2",
            "level0 geotiff:stats",
            "of 4 rasters are not those of their pixels",
        ),
        (
            "stac:tensor_shape",
            1.0,
            "STAC-1",
            "tile_0.tif",
            "33 rows and 33 columns",
        ),
        (
            "stac:geotransform",
            100.0,
            "STAC-1",
            "tile_0.tif",
            "stac:geotransform is",
        ),
        (
            "stac:crs",
            0.0,
            "GEO-2",
            "tile_0.tif",
            "the footprint is in",
        ),
    ] {
        let mut files = Files::of_zip(&good);
        files.table("METADATA/level0.parquet", |columns| {
            let found = columns
                .iter_mut()
                .find(|(name, _)| name == column)
                .expect("the column");
            found.1 = shifted(&found.1, by);
        });
        let broken = workspace.write("broken.tacozip", files.to_zip());
        assert_eq!(
            check(&broken, false),
            Vec::<Json>::new(),
            "{column}: only a deep check decodes pixels"
        );
        let findings = check(&broken, true);
        let [finding] = findings.as_slice() else {
            panic!("{column}: {findings:?}")
        };
        let message = finding["message"].as_str().expect("a message");
        assert_eq!(
            (&finding["rule"], &finding["at"]),
            (&code.into(), &at.into()),
            "{column}: {finding}"
        );
        assert!(
            message.contains(says) && message.ends_with('.'),
            "{column}: {message}"
        );
        if code == "STAT-2" {
            let mended = workspace.path("mended.tacozip");
            let repair = [
                "repair".as_ref(),
                broken.as_os_str(),
                "-o".as_ref(),
                mended.as_os_str(),
                "--json".as_ref(),
            ];
            let said = workspace.studio(repair).expect_code(0).json();
            assert_eq!(
                (&said["repaired"][0]["rule"], &said["left"]),
                (&code.into(), &serde_json::json!([])),
                "{said}"
            );
            let stats = |path: &std::path::Path| {
                let sql = r#"SELECT id, "geotiff:stats" AS s FROM level0"#;
                let query = [
                    "query".as_ref(),
                    path.as_os_str(),
                    "--json".as_ref(),
                    "--sql".as_ref(),
                    sql.as_ref(),
                ];
                workspace.studio(query).expect_code(0).stdout
            };
            assert_eq!(stats(&mended), stats(&good));
        }
    }
}
