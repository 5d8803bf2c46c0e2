//! TACO 3 in the dialects of its releases, written here column by column: what opens, where and
//! when samples are, their bytes, and the findings for damaged ones.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BinaryArray, Float32Array, ListArray, RecordBatch, StringArray, StructArray,
    TimestampMicrosecondArray, UInt64Array,
};
use arrow::datatypes::{DataType, Field, Float64Type, Int64Type, Schema};
use parquet::arrow::ArrowWriter;
use parquet::file::metadata::KeyValue;
use serde_json::{Value as Json, json};
use taco_studio::model::Rule;

use crate::support::{Server, Workspace};

/// Microseconds of 2021-05-01T00:00:00Z.
const MAY: i64 = 1_619_827_200_000_000;
const DAY: i64 = 86_400_000_000;

type Columns = Vec<(&'static str, ArrayRef)>;

fn numbers(values: impl IntoIterator<Item = u64>) -> ArrayRef {
    Arc::new(UInt64Array::from_iter_values(values))
}

fn texts(values: &[&str]) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(values))
}

fn times(values: &[Option<i64>]) -> ArrayRef {
    Arc::new(TimestampMicrosecondArray::from(values.to_vec()).with_timezone("UTC"))
}

fn fractions(rows: &[&[f64]]) -> ArrayRef {
    let rows = rows.iter().map(|row| Some(row.iter().copied().map(Some)));
    Arc::new(ListArray::from_iter_primitive::<Float64Type, _, _>(rows))
}

fn wholes(rows: &[&[i64]]) -> ArrayRef {
    let rows = rows.iter().map(|row| Some(row.iter().copied().map(Some)));
    Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(rows))
}

/// A point as WKB.
fn point(lon: f64, lat: f64) -> Vec<u8> {
    [
        &[1u8, 1, 0, 0, 0][..],
        &lon.to_le_bytes(),
        &lat.to_le_bytes(),
    ]
    .concat()
}

/// The ring of a box as WKB.
fn polygon(west: f64, south: f64, east: f64, north: f64) -> Vec<u8> {
    let mut bytes = vec![1u8, 3, 0, 0, 0, 1, 0, 0, 0, 5, 0, 0, 0];
    for (x, y) in [
        (west, south),
        (east, south),
        (east, north),
        (west, north),
        (west, south),
    ] {
        bytes.extend([x, y].map(f64::to_le_bytes).concat());
    }
    bytes
}

fn binary(values: &[Vec<u8>]) -> ArrayRef {
    Arc::new(BinaryArray::from_iter_values(values))
}

/// The bytes of a level table, whose schema names the level.
fn table(level: &str, columns: Columns) -> Vec<u8> {
    let fields: Vec<Field> = columns
        .iter()
        .map(|(name, array)| Field::new(*name, array.data_type().clone(), true))
        .collect();
    let schema = Arc::new(Schema::new(fields));
    let batch = RecordBatch::try_new(
        schema.clone(),
        columns.into_iter().map(|(_, array)| array).collect(),
    )
    .expect("a batch");
    let mut writer = ArrowWriter::try_new(Vec::new(), schema, None).expect("a writer");
    writer.write(&batch).expect("writes");
    writer.append_key_value_metadata(KeyValue::new("taco:level".to_owned(), level.to_owned()));
    writer.into_inner().expect("writes")
}

/// The type in the words of `taco:metadata`.
fn type_text(dtype: &DataType) -> &'static str {
    match dtype {
        DataType::Utf8 => "string",
        DataType::Binary => "binary",
        DataType::Timestamp(..) => "timestamp[us, UTC]",
        DataType::List(item) if *item.data_type() == DataType::Int64 => "list<int64>",
        DataType::List(_) => "list<double>",
        DataType::Struct(_) => "struct<lon: float, lat: float>",
        DataType::Int64 => "int64",
        other => panic!("{other}"),
    }
}

/// A FOLDER of two samples with one file each.
struct Set {
    /// Columns of the samples beside those of the format.
    columns: Columns,
    /// True for the releases from 0.9: samples have ids, and the collection no `dataset_version`.
    has_ids: bool,
}

impl Set {
    fn collection(&self) -> Json {
        let fields = self.columns.iter().map(|(name, array)| {
            let field =
                json!({"type": type_text(array.data_type()), "nullable": true, "description": ""});
            ((*name).to_owned(), field)
        });
        let fields: serde_json::Map<String, Json> = fields.collect();
        let mut collection = json!({
            "taco:version": "3.0.0",
            "id": "set",
            "description": "A set",
            "licenses": ["CC-BY-4.0"],
            "providers": [{"name": "Someone"}],
            "taco:structure": ["label.tif"],
            "taco:metadata": {"sample": fields, "children": {}},
            "tasks": ["classification"],
        });
        if !self.has_ids {
            collection["dataset_version"] = "1.0.0".into();
        }
        collection
    }

    fn samples(&self) -> Columns {
        let mut columns: Columns = vec![
            ("internal:current_id", numbers(0..2)),
            ("internal:relative_path", texts(&["0", "1"])),
        ];
        columns.extend(self.has_ids.then(|| ("id", texts(&["north", "south"]))));
        columns.extend(
            self.columns
                .iter()
                .map(|(name, array)| (*name, array.clone())),
        );
        columns
    }

    fn write(&self, workspace: &Workspace, name: &str) -> PathBuf {
        let write = |below: &str, bytes: &[u8]| workspace.write(&format!("{name}/{below}"), bytes);
        write(
            "COLLECTION.json",
            serde_json::to_string_pretty(&self.collection())
                .expect("JSON")
                .as_bytes(),
        );
        write("METADATA/sample.parquet", &table("sample", self.samples()));
        let children: Columns = vec![
            ("internal:current_id", numbers(0..2)),
            ("internal:parent_id", numbers(0..2)),
            (
                "internal:relative_path",
                texts(&["0/label.tif", "1/label.tif"]),
            ),
        ];
        write("METADATA/children.parquet", &table("children", children));
        write("DATA/0/label.tif", b"zero");
        write("DATA/1/label.tif", b"one");
        workspace.path(name)
    }
}

/// The first sample is in Spain on 2021-05-01, the second in Chile on 2021-05-03 to 05-04. One set
/// for each way of saying so.
fn sets() -> Vec<(&'static str, Set)> {
    let (north, south) = (
        [10.0, 0.0, 440_000.0, 0.0, -10.0, 4_475_000.0],
        [0.5, 0.0, -70.0, 0.0, -0.5, -33.0],
    );
    let gdal = |[a, b, c, d, e, f]: [f64; 6]| [c, a, b, f, d, e];
    let centres = vec![point(-3.7, 40.42), point(-69.75, -33.25)];
    let start = times(&[Some(MAY), Some(MAY + 2 * DAY)]);
    let end = times(&[None, Some(MAY + 3 * DAY)]);
    let old = |namespace: [&'static str; 6]| -> Columns {
        let [crs, shape, transform, centroid, time_start, time_end] = namespace;
        vec![
            (crs, texts(&["EPSG:32630", "EPSG:4326"])),
            (shape, wholes(&[&[3, 8, 8], &[1, 1]])),
            (transform, fractions(&[&gdal(north), &gdal(south)])),
            (centroid, binary(&centres)),
            (time_start, start.clone()),
            (time_end, end.clone()),
        ]
    };
    let stac = [
        "stac:crs",
        "stac:tensor_shape",
        "stac:geotransform",
        "stac:centroid",
        "stac:time_start",
        "stac:time_end",
    ];
    let sac = [
        "sac:crs",
        "sac:tensor_shape",
        "sac:geotransform",
        "sac:centroid",
        "tac:time_start",
        "tac:time_end",
    ];
    let spatial = [
        "spatial:crs",
        "spatial:tensor_shape",
        "spatial:geotransform",
        "spatial:centroid",
        "temporal:time_start",
        "temporal:time_end",
    ];
    let instant = times(&[Some(MAY), None]);
    let (first, last) = (
        times(&[None, Some(MAY + 2 * DAY)]),
        times(&[None, Some(MAY + 3 * DAY)]),
    );
    let boxes = [[-3.8, 40.3, -3.6, 40.5], [-70.0, -33.5, -69.5, -33.0]];
    let geometries =
        binary(&boxes.map(|[west, south, east, north]| polygon(west, south, east, north)));
    let grid: Columns = vec![
        ("stac:proj_code", texts(&["EPSG:32630", "EPSG:4326"])),
        ("stac:proj_shape", wholes(&[&[8, 8], &[1, 1]])),
        ("stac:proj_transform", fractions(&[&north, &south])),
    ];
    let interval: Columns = vec![
        ("stac:datetime", instant),
        ("stac:start_datetime", first),
        ("stac:end_datetime", last),
    ];
    let lon_lat = StructArray::from(vec![
        (
            Arc::new(Field::new("lon", DataType::Float32, false)),
            Arc::new(Float32Array::from(vec![-3.7, -69.75])) as ArrayRef,
        ),
        (
            Arc::new(Field::new("lat", DataType::Float32, false)),
            Arc::new(Float32Array::from(vec![40.42, -33.25])) as ArrayRef,
        ),
    ]);
    let drawn: Columns = vec![
        ("istac:crs", texts(&["EPSG:4326", "EPSG:4326"])),
        ("istac:geometry", geometries.clone()),
        ("istac:time_start", start.clone()),
        ("istac:time_end", end.clone()),
        ("istac:centroid", binary(&centres)),
    ];
    let new: Columns = [
        vec![
            ("stac:geometry", geometries),
            ("stac:bbox", fractions(&[&boxes[0], &boxes[1]])),
            ("stac:centroid", binary(&centres)),
        ],
        interval.clone(),
        grid.clone(),
    ]
    .concat();
    let newest: Columns = [
        vec![("stac:centroid", Arc::new(lon_lat) as ArrayRef)],
        interval,
        grid,
    ]
    .concat();
    vec![
        (
            "0.3 stac",
            Set {
                columns: old(stac),
                has_ids: false,
            },
        ),
        (
            "0.6.0 sac and tac",
            Set {
                columns: old(sac),
                has_ids: false,
            },
        ),
        (
            "0.6.1 spatial and temporal",
            Set {
                columns: old(spatial),
                has_ids: false,
            },
        ),
        (
            "0.9 istac",
            Set {
                columns: drawn,
                has_ids: true,
            },
        ),
        (
            "0.11 stac",
            Set {
                columns: new,
                has_ids: true,
            },
        ),
        (
            "0.12 stac",
            Set {
                columns: newest,
                has_ids: true,
            },
        ),
    ]
}

fn found(workspace: &Workspace, dataset: &Path, filter: &[&str]) -> Vec<String> {
    let mut arguments: Vec<&std::ffi::OsStr> =
        vec!["query".as_ref(), dataset.as_os_str(), "--json".as_ref()];
    arguments.extend(filter.iter().map(|part| std::ffi::OsStr::new(*part)));
    let rows = workspace.studio(arguments).expect_code(0).stdout;
    let id = |row: &str| {
        let row: Json = serde_json::from_str(row).expect("an object a line");
        row["id"].as_str().expect("an id").to_owned()
    };
    rows.lines().map(id).collect()
}

#[test]
fn places_and_times_of_every_dialect_are_filtered() {
    let workspace = Workspace::new();
    for (number, (name, set)) in sets().into_iter().enumerate() {
        let dataset = set.write(&workspace, &format!("set{number}"));
        let (north, south) = if set.has_ids {
            ("north", "south")
        } else {
            ("0", "1")
        };
        let of = |filter: &[&str]| found(&workspace, &dataset, filter);
        assert_eq!(of(&["--bbox=-4,40,-3,41"]), [north], "{name}");
        assert_eq!(
            of(&["--bbox=-69.6,-33.4,-69.55,-33.35"]),
            [south],
            "{name}: a corner of the footprint"
        );
        assert_eq!(of(&["--bbox=0,0,1,1"]), Vec::<String>::new(), "{name}");
        assert_eq!(of(&["--datetime", "2021-05-01"]), [north], "{name}");
        assert_eq!(of(&["--datetime", "2021-05-03/.."]), [south], "{name}");
        let report =
            workspace.studio(["validate".as_ref(), dataset.as_os_str(), "--deep".as_ref()]);
        assert_eq!(report.code(), 0, "{name}: {report}");
    }
}

#[test]
fn an_interval_touches_the_times_between_its_ends() {
    let workspace = Workspace::new();
    for (number, (name, set)) in sets()
        .into_iter()
        .enumerate()
        .filter(|(_, (name, _))| name.starts_with("0.1"))
    {
        let dataset = set.write(&workspace, &format!("set{number}"));
        let of = |range: &str| found(&workspace, &dataset, &["--datetime", range]);
        assert_eq!(
            of("2021-05-04T00:00:00Z"),
            ["south"],
            "{name}: the last time is within"
        );
        assert_eq!(
            of("2021-05-03T12:00:00Z/2021-05-03T13:00:00Z"),
            ["south"],
            "{name}"
        );
        assert_eq!(
            of("2021-05-04T00:00:01Z/.."),
            Vec::<String>::new(),
            "{name}"
        );
    }
}

/// Two archives of one sample each, and their index. Row numbers begin anew in each archive unless
/// `is_global`.
fn index(workspace: &Workspace, is_global: bool) -> PathBuf {
    let set = Set {
        columns: Vec::new(),
        has_ids: is_global,
    };
    let mut collection = set.collection();
    collection["taco:sources"] = json!({
        "samples": 2,
        "partitions": [{"file": "set_a.zip", "samples": 1}, {"file": "set_b.zip", "samples": 1}],
    });
    workspace.write("cat/.tacocat/COLLECTION.json", collection.to_string());
    let ids = || numbers(if is_global { [0, 1] } else { [0, 0] });
    let sources = || texts(&["set_a.zip", "set_b.zip"]);
    let mut samples: Columns = vec![
        ("internal:current_id", ids()),
        ("internal:relative_path", texts(&["0", "0"])),
    ];
    samples.extend(is_global.then(|| ("id", texts(&["north", "south"]))));
    samples.push(("internal:source_file", sources()));
    workspace.write("cat/.tacocat/sample.parquet", table("sample", samples));
    let children: Columns = vec![
        ("internal:current_id", ids()),
        ("internal:parent_id", ids()),
        (
            "internal:relative_path",
            texts(&["0/label.tif", "0/label.tif"]),
        ),
        ("internal:offset", numbers([2, 3])),
        ("internal:size", numbers([4, 3])),
        ("internal:source_file", sources()),
    ];
    workspace.write("cat/.tacocat/children.parquet", table("children", children));
    workspace.write("cat/set_a.zip", b"..zero..");
    workspace.write("cat/set_b.zip", b"...one");
    workspace.path("cat")
}

#[test]
fn an_index_reads_the_bytes_of_its_archives() {
    for is_global in [false, true] {
        let workspace = Workspace::new();
        let cat = index(&workspace, is_global);
        let ids = if is_global {
            ["north", "south"]
        } else {
            ["0", "1"]
        };
        for path in [
            cat.clone(),
            cat.join(".tacocat"),
            cat.join(".tacocat/COLLECTION.json"),
        ] {
            assert_eq!(found(&workspace, &path, &[]), ids, "{}", path.display());
        }
        for (id, bytes) in ids.iter().zip([&b"zero"[..], b"one"]) {
            let out = workspace.path("out.tif");
            workspace.read_into(&cat, format!("{id}/label.tif"), &out);
            assert_eq!(std::fs::read(&out).expect("reads"), bytes, "{id}");
        }
        let report = workspace.studio(["validate".as_ref(), cat.as_os_str()]);
        assert_eq!(report.code(), 0, "{report}");
        std::fs::remove_file(cat.join("set_b.zip")).expect("removed");
        let codes = codes(&workspace, &cat);
        assert_eq!(
            codes,
            ["NEXT-10"],
            "an archive that is not there is a warning"
        );
    }
}

#[test]
fn a_sample_without_named_files_is_a_file() {
    let workspace = Workspace::new();
    let mut collection = Set {
        columns: Vec::new(),
        has_ids: false,
    }
    .collection();
    collection["taco:structure"] = Json::Null;
    collection["taco:metadata"] = json!({"sample": {}});
    workspace.write("set/COLLECTION.json", collection.to_string());
    let samples: Columns = vec![
        ("internal:current_id", numbers(0..2)),
        ("internal:relative_path", texts(&["0", "1"])),
    ];
    workspace.write("set/METADATA/sample.parquet", table("sample", samples));
    workspace.write("set/DATA/0", b"zero");
    workspace.write("set/DATA/1", b"1");
    let (set, out) = (workspace.path("set"), workspace.path("out"));
    workspace.read_into(&set, "1", &out);
    assert_eq!(std::fs::read(&out).expect("reads"), b"1");
    assert_eq!(codes(&workspace, &set), Vec::<String>::new());
}

#[test]
fn a_list_of_versions_opens_its_default_version() {
    let workspace = Workspace::new();
    let (_, set) = sets().swap_remove(0);
    set.write(&workspace, "all/1.0.0");
    let versions = json!({
        "taco:container": "versioned",
        "taco:default_version": "1.0.0",
        "taco:versions": {"1.0.0": {"href": "1.0.0", "collection": set.collection()}},
    });
    workspace.write("all/taco.json", versions.to_string());
    for path in [workspace.path("all"), workspace.path("all/taco.json")] {
        assert_eq!(
            found(&workspace, &path, &[]),
            ["0", "1"],
            "{}",
            path.display()
        );
    }
    let nested = json!({
        "taco:container": "versioned",
        "taco:default_version": "1",
        "taco:versions": {"1": {"href": "inner"}},
    });
    workspace.write("list/taco.json", nested.to_string());
    workspace.write("list/inner/taco.json", nested.to_string());
    let ran = workspace.studio(["inspect".as_ref(), workspace.path("list").as_os_str()]);
    assert_eq!(ran.code(), 2, "a version is not a list: {ran}");
}

fn codes(workspace: &Workspace, dataset: &Path) -> Vec<String> {
    let report = workspace
        .studio(["validate".as_ref(), dataset.as_os_str(), "--json".as_ref()])
        .json();
    let mut codes: Vec<String> = report["findings"]
        .as_array()
        .expect("findings")
        .iter()
        .map(|finding| finding["rule"].as_str().expect("a code").into())
        .collect();
    codes.sort();
    codes.dedup();
    codes
}

/// Replaces a column of the samples.
fn with(set: &Set, name: &'static str, array: ArrayRef) -> Set {
    let columns = set.columns.iter().map(|(known, old)| {
        (
            *known,
            if *known == name {
                array.clone()
            } else {
                old.clone()
            },
        )
    });
    Set {
        columns: columns.collect(),
        has_ids: set.has_ids,
    }
}

#[test]
fn damaged_sets_have_the_finding_of_their_fault() {
    let newest = || sets().pop().expect("a set").1;
    let drawn = || sets().swap_remove(4).1;
    let write = |workspace: &Workspace, set: &Set| set.write(workspace, "set");
    type Damage<'a> = Box<dyn Fn(&Workspace) + 'a>;
    let samples = |change: Box<dyn Fn(&mut Columns)>| -> Damage<'static> {
        Box::new(move |workspace| {
            let set = newest();
            write(workspace, &set);
            let mut columns = set.samples();
            change(&mut columns);
            workspace.write("set/METADATA/sample.parquet", table("sample", columns));
        })
    };
    let profile = |name: &'static str, array: ArrayRef| -> Damage<'static> {
        Box::new(move |workspace| drop(write(workspace, &with(&newest(), name, array.clone()))))
    };
    let collection = |change: &'static dyn Fn(&mut Json)| -> Damage<'static> {
        Box::new(move |workspace| {
            let set = newest();
            write(workspace, &set);
            let mut fields = set.collection();
            change(&mut fields);
            workspace.write("set/COLLECTION.json", fields.to_string());
        })
    };
    let set_column = |columns: &mut Columns, name: &str, array: ArrayRef| {
        columns
            .iter_mut()
            .filter(|(known, _)| *known == name)
            .for_each(|column| column.1 = array.clone());
    };
    let cases: Vec<(&str, &str, Damage)> = vec![
        (
            "an id twice",
            "NEXT-7",
            samples(Box::new(move |columns| {
                set_column(columns, "id", texts(&["north", "north"]))
            })),
        ),
        (
            "row numbers swapped",
            "NEXT-5",
            samples(Box::new(move |columns| {
                set_column(columns, "internal:current_id", numbers([1, 0]))
            })),
        ),
        (
            "another path",
            "NEXT-6",
            samples(Box::new(move |columns| {
                set_column(columns, "internal:relative_path", texts(&["0", "01"]))
            })),
        ),
        (
            "a column less",
            "NEXT-4",
            samples(Box::new(|columns| drop(columns.pop()))),
        ),
        (
            "an open range",
            "NEXT-12",
            profile("stac:end_datetime", times(&[None, None])),
        ),
        (
            "no grid without its shape",
            "NEXT-12",
            profile(
                "stac:proj_code",
                Arc::new(StringArray::from(vec![None, Some("EPSG:4326")])),
            ),
        ),
        (
            "a grid around the Earth",
            "NEXT-12",
            profile("stac:proj_shape", wholes(&[&[8, 8], &[1, 1000]])),
        ),
        (
            "a task",
            "NEXT-11",
            collection(&|fields| fields["tasks"] = json!(["cloud-gazing"])),
        ),
        (
            "archives of a FOLDER",
            "NEXT-8",
            collection(&|fields| fields["taco:sources"] = json!({"samples": 2, "partitions": []})),
        ),
        (
            "names alike",
            "NEXT-3",
            collection(&|fields| fields["taco:structure"] = json!(["label.tif", "LABEL.tif"])),
        ),
        (
            "a file more",
            "NEXT-2",
            collection(&|fields| fields["taco:structure"] = json!(["image.tif", "label.tif"])),
        ),
        (
            "an extent elsewhere",
            "NEXT-13",
            collection(&|fields| {
                fields["extent"] = json!({"spatial": [0, 0, 1, 1], "temporal": null})
            }),
        ),
        (
            "an empty file",
            "NEXT-1",
            Box::new(|workspace| {
                write(workspace, &newest());
                workspace.write("set/DATA/1/label.tif", b"");
            }),
        ),
        (
            "a level less",
            "NEXT-3",
            Box::new(|workspace| {
                let set = write(workspace, &newest());
                std::fs::remove_file(set.join("METADATA/children.parquet")).expect("removed");
            }),
        ),
        (
            "another box",
            "NEXT-12",
            Box::new(|workspace| {
                let boxes = fractions(&[&[-3.6, 40.3, -3.8, 40.5], &[-70.0, -33.5, -69.5, -33.0]]);
                write(workspace, &with(&drawn(), "stac:bbox", boxes));
            }),
        ),
        (
            "not cut at 180 degrees",
            "NEXT-12",
            Box::new(|workspace| {
                let geometries = binary(&[
                    polygon(-179.0, 40.3, 179.0, 40.5),
                    polygon(-70.0, -33.5, -69.5, -33.0),
                ]);
                write(workspace, &with(&drawn(), "stac:geometry", geometries));
            }),
        ),
    ];
    for (name, code, damage) in cases {
        let workspace = Workspace::new();
        damage(&workspace);
        let codes = codes(&workspace, &workspace.path("set"));
        assert!(
            codes.iter().any(|found| found == code),
            "{name}: {code} is not among {codes:?}"
        );
    }
}

#[test]
fn an_index_that_is_wrong_has_findings() {
    let change = |damage: &dyn Fn(&mut Json)| {
        let workspace = Workspace::new();
        let cat = index(&workspace, true);
        let path = cat.join(".tacocat/COLLECTION.json");
        let mut fields: Json =
            serde_json::from_slice(&std::fs::read(&path).expect("reads")).expect("JSON");
        damage(&mut fields);
        std::fs::write(&path, fields.to_string()).expect("writes");
        codes(&workspace, &cat)
    };
    assert_eq!(
        change(&|fields| fields["taco:sources"]["samples"] = 99.into()),
        ["NEXT-8"]
    );
    let other =
        change(&|fields| fields["taco:sources"]["partitions"][1]["file"] = "set_c.zip".into());
    assert!(
        other.contains(&"NEXT-9".to_owned()) && other.contains(&"NEXT-8".to_owned()),
        "{other:?}"
    );
    let outside =
        change(&|fields| fields["taco:sources"]["partitions"][1]["file"] = "../set_b.zip".into());
    assert!(outside.contains(&"NEXT-8".to_owned()), "{outside:?}");
    // Of the releases before 0.9 with the collection of those from 0.9.
    let workspace = Workspace::new();
    let cat = index(&workspace, false);
    let mut fields: Json = serde_json::from_slice(
        &std::fs::read(cat.join(".tacocat/COLLECTION.json")).expect("reads"),
    )
    .expect("JSON");
    fields
        .as_object_mut()
        .expect("an object")
        .remove("dataset_version");
    std::fs::write(cat.join(".tacocat/COLLECTION.json"), fields.to_string()).expect("writes");
    assert!(codes(&workspace, &cat).contains(&"NEXT-5".to_owned()));
}

#[test]
fn archives_that_are_damaged_have_findings() {
    let golden = crate::support::tests_folder().join("fixtures/golden/60_v3_zip/change.zip");
    let bytes = std::fs::read(golden).expect("reads");
    let changed = |change: &dyn Fn(&mut Vec<u8>)| {
        let workspace = Workspace::new();
        let mut bytes = bytes.clone();
        change(&mut bytes);
        let path = workspace.write("change.zip", &bytes);
        codes(&workspace, &path)
    };
    assert_eq!(changed(&|_| {}), Vec::<String>::new());
    // The check value is in the extra field of the first member.
    assert_eq!(changed(&|bytes| bytes[43] ^= 1), ["NEXT-15"]);
    let comment = changed(&|bytes| {
        let length = bytes.len();
        bytes[length - 2..].copy_from_slice(&5u16.to_le_bytes());
        bytes.extend(b"a set");
    });
    assert!(comment.contains(&"NEXT-14".to_owned()), "{comment:?}");
}

/// An archive of samples of one file each, as the writers of TACO 3 lay it out.
fn archive(samples: u64) -> Vec<u8> {
    let header = |signature: u32, head: &[u8], name: &str, bytes: &[u8], extra: &[u8]| {
        let (crc, size) = (
            crc32fast::hash(bytes).to_le_bytes(),
            (bytes.len() as u32).to_le_bytes(),
        );
        let lengths = [name.len() as u16, extra.len() as u16]
            .map(u16::to_le_bytes)
            .concat();
        [
            &signature.to_le_bytes(),
            head,
            &[10, 0, 0, 8, 0, 0, 0, 0, 0x21, 0],
            &crc,
            &size,
            &size,
            &lengths,
        ]
        .concat()
    };
    let data: Vec<(String, Vec<u8>)> = (0..samples)
        .map(|row| {
            (
                format!("DATA/{row}/label.tif"),
                format!("bytes of {row}").into_bytes(),
            )
        })
        .collect();
    // `CZIP`, version, profile and number; a length of two bytes, name, offset and size of each
    // member.
    let names = [
        "COLLECTION.json",
        "METADATA/sample.parquet",
        "METADATA/children.parquet",
    ];
    let index_size = 11 + names.iter().map(|name| name.len() + 18).sum::<usize>();
    let mut at = 51 + index_size as u64;
    let mut offsets = Vec::new();
    for (name, bytes) in &data {
        offsets.push(at + 30 + name.len() as u64);
        at = offsets[offsets.len() - 1] + bytes.len() as u64;
    }
    let set = Set {
        columns: Vec::new(),
        has_ids: true,
    };
    let ids: Vec<String> = (0..samples).map(|row| format!("s{row}")).collect();
    let strings = |values: Vec<String>| -> ArrayRef { Arc::new(StringArray::from(values)) };
    let sample = table(
        "sample",
        vec![
            ("internal:current_id", numbers(0..samples)),
            (
                "internal:relative_path",
                strings((0..samples).map(|row| row.to_string()).collect()),
            ),
            ("id", strings(ids)),
        ],
    );
    let children = table(
        "children",
        vec![
            ("internal:current_id", numbers(0..samples)),
            ("internal:parent_id", numbers(0..samples)),
            (
                "internal:relative_path",
                strings(
                    data.iter()
                        .map(|(name, _)| name["DATA/".len()..].to_owned())
                        .collect(),
                ),
            ),
            ("internal:offset", numbers(offsets)),
            (
                "internal:size",
                numbers(data.iter().map(|(_, bytes)| bytes.len() as u64)),
            ),
        ],
    );
    let metadata = [set.collection().to_string().into_bytes(), sample, children];
    let mut index = [
        &b"CZIP\x01\0\x02\x03\0\0\0"[..],
        &names.map(|name| (name.len() as u16).to_le_bytes()).concat(),
    ]
    .concat();
    index.extend(names.concat().into_bytes());
    let mut positions = Vec::new();
    for (name, bytes) in names.iter().zip(&metadata) {
        positions.push(at + 30 + name.len() as u64);
        at = positions[positions.len() - 1] + bytes.len() as u64;
    }
    index.extend(positions.iter().flat_map(|offset| offset.to_le_bytes()));
    index.extend(
        metadata
            .iter()
            .flat_map(|bytes| (bytes.len() as u64).to_le_bytes()),
    );
    let members = std::iter::once(("__cozip__".to_owned(), index.clone()))
        .chain(data)
        .chain(names.iter().map(|name| (*name).to_owned()).zip(metadata));
    let (mut file, mut directory, mut count) = (Vec::new(), Vec::new(), 0u16);
    for (name, bytes) in members {
        let extra: &[u8] = if count == 0 {
            &[0x0C, 0xCA, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0]
        } else {
            &[]
        };
        directory.extend(header(0x0201_4B50, &[63, 3], &name, &bytes, &[]));
        directory.extend([0; 10]);
        directory.extend((file.len() as u32).to_le_bytes());
        directory.extend(name.as_bytes());
        file.extend(header(0x0403_4B50, &[], &name, &bytes, extra));
        file.extend([name.as_bytes(), extra, &bytes].concat());
        count += 1;
    }
    let end = [0x0605_4B50u32.to_le_bytes(), [0; 4]].concat();
    let sizes = [directory.len() as u32, file.len() as u32]
        .map(u32::to_le_bytes)
        .concat();
    let counts = [count, count].map(u16::to_le_bytes).concat();
    let mut file = [file, directory, end, counts, sizes, vec![0, 0]].concat();
    let mut check = fnv::FnvHasher::default();
    std::hash::Hasher::write(&mut check, &index);
    std::hash::Hasher::write(&mut check, &file[file.len() - (32 << 10)..]);
    file[43..51].copy_from_slice(&std::hash::Hasher::finish(&check).to_le_bytes());
    file
}

#[test]
fn a_remote_archive_is_opened_by_its_index() {
    let workspace = Workspace::new();
    let good = archive(5000);
    let path = workspace.write("served/good.zip", &good);
    assert_eq!(codes(&workspace, &path), Vec::<String>::new());
    let mut changed = good.clone();
    changed[44] ^= 1;
    workspace.write("served/changed.zip", &changed);
    let number = |at: usize| {
        u64::from(u32::from_le_bytes(
            good[good.len() - at..][..4].try_into().expect("4 bytes"),
        ))
    };
    let (size, offset) = (number(10), number(6));
    let server = Server::of(&workspace.path("served"));
    let reads_the_directory = |name: &str| {
        server.forget();
        let out = workspace.path("out.tif");
        workspace.read_into(server.url(name), "s4000/label.tif", &out);
        assert_eq!(
            std::fs::read(&out).expect("reads"),
            b"bytes of 4000",
            "{name}"
        );
        let covers = |range: &str| {
            let (first, last) = range
                .trim_start_matches("bytes=")
                .split_once('-')
                .expect("a range");
            let (first, last): (u64, u64) = (
                first.parse().expect("a number"),
                last.parse().expect("a number"),
            );
            (first..=last).contains(&(offset + size / 2))
        };
        server
            .asked()
            .iter()
            .filter_map(|asked| asked.range.as_deref())
            .any(covers)
    };
    assert!(!reads_the_directory("good.zip"));
    // Positions in the tables of an archive that was changed are not trusted.
    assert!(reads_the_directory("changed.zip"));
}

/// The rules of TACO 3 that the sets here break.
pub fn rules() -> Vec<Rule> {
    vec![
        Rule::Taco3Files,
        Rule::Taco3Contract,
        Rule::Taco3Collection,
        Rule::Taco3Schema,
        Rule::Taco3RowId,
        Rule::Taco3Path,
        Rule::Taco3SampleId,
        Rule::Taco3Sources,
        Rule::Taco3SourceFile,
        Rule::Taco3PartMissing,
        Rule::Taco3Task,
        Rule::Taco3Profile,
        Rule::Taco3Extent,
        Rule::Taco3Zip,
        Rule::CozipIndex,
    ]
}
