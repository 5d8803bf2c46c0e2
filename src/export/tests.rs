//! Items and tables of datasets made in memory: places, times and bytes of samples of every kind.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, BooleanArray, FixedSizeListArray, Float64Array,
    Int64Array, RecordBatch, StringArray, StructArray, TimestampMicrosecondArray,
};
use arrow::datatypes::{DataType, Field, Float64Type};
use geo::Geometry;

use super::*;
use crate::container::{AssemblyLevel, RowSource};
use crate::model::{AssetPath, Collection, Skeleton};
use crate::table::write_wkb;

const DAY: i64 = 86_400_000_000;

/// Rows of a level: ids, whether they are FOLDERs, the rows of their parents, and columns.
struct TestLevel<'a> {
    ids: &'a [&'a str],
    folder: &'a [bool],
    parents: &'a [u32],
    columns: Vec<(&'a str, ArrayRef)>,
}

/// A dataset whose files are ranges of `/data/set.tacozip`.
fn assembly(levels: Vec<TestLevel<'_>>) -> Assembly {
    let mut tree = Vec::new();
    let mut tables = Vec::new();
    for (depth, rows) in levels.into_iter().enumerate() {
        let ids = StringArray::from(rows.ids.to_vec());
        let kinds: StringArray = rows
            .folder
            .iter()
            .map(|folder| Some(if *folder { "FOLDER" } else { "FILE" }))
            .collect();
        let core: [(&str, ArrayRef); 2] =
            [("id", Arc::new(ids.clone())), ("type", Arc::new(kinds))];
        let all = core
            .into_iter()
            .chain(rows.columns)
            .map(|(name, column)| (name, column, true));
        let source = |(row, folder): (usize, &bool)| {
            if *folder {
                RowSource::Folder
            } else {
                RowSource::asset(
                    AssetPath::range(
                        Path::new("/data/set.tacozip"),
                        (1000 * depth + 10 * row) as u64,
                        10,
                    ),
                    10,
                )
            }
        };
        tables.push(AssemblyLevel {
            batch: RecordBatch::try_from_iter_with_nullable(all).expect("a table"),
            sources: rows.folder.iter().enumerate().map(source).collect(),
            meta_columns: Default::default(),
        });
        tree.push((ids, rows.folder.to_vec(), rows.parents.to_vec()));
    }
    Assembly {
        collection: Collection::default(),
        tree: Arc::new(Skeleton::from_columns(tree)),
        levels: tables,
        version: Default::default(),
    }
}

fn flat(columns: Vec<(&str, ArrayRef)>) -> Assembly {
    let ids = ["a", "b", "c", "d"];
    let rows = columns.first().map_or(0, |(_, column)| column.len());
    let parents: Vec<u32> = (0..rows as u32).collect();
    assembly(vec![TestLevel {
        ids: &ids[..rows],
        folder: &vec![false; rows],
        parents: &parents,
        columns,
    }])
}

fn facts(assembly: &Assembly) -> Facts {
    Facts {
        path: "/data/set.tacozip".into(),
        opened: "/data/set.tacozip".into(),
        format: Format::Zip,
        single: true,
        size_bytes: None,
        sha256: None,
        tables: Vec::new(),
        modified: None,
        url: None,
        level: None,
        roots: assembly.tree.levels.first().map_or(0, |level| level.len()),
        parts: Vec::new(),
        training: None,
        opening: None,
    }
}

/// The Items of a dataset.
fn items_of(assembly: &Assembly) -> Vec<Json> {
    let documents = describe(
        assembly,
        &facts(assembly),
        Catalogue::Stac,
        &JobContext::default(),
    )
    .expect("a description");
    documents
        .iter()
        .skip(1)
        .map(|document| serde_json::from_slice(&document.bytes).expect("JSON"))
        .collect()
}

/// The same as the table of stac-geoparquet.
fn table_of(assembly: &Assembly) -> RecordBatch {
    let documents = describe(
        assembly,
        &facts(assembly),
        Catalogue::StacGeoparquet,
        &JobContext::default(),
    )
    .expect("a table");
    let bytes = bytes::Bytes::from(documents[0].bytes.clone());
    let reader = parquet::arrow::arrow_reader::ParquetRecordBatchReader::try_new(bytes, 64)
        .expect("Parquet");
    let batches: Vec<RecordBatch> = reader.map(|batch| batch.expect("rows")).collect();
    batches.into_iter().next().expect("a batch")
}

fn texts(values: &[Option<&str>]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

fn times(values: &[Option<i64>]) -> ArrayRef {
    Arc::new(TimestampMicrosecondArray::from(values.to_vec()))
}

fn points(values: &[Option<(f64, f64)>]) -> ArrayRef {
    let wkb =
        |point: &Option<(f64, f64)>| point.map(|(x, y)| write_wkb(&Geometry::Point((x, y).into())));
    Arc::new(values.iter().map(wkb).collect::<BinaryArray>())
}

/// WKB of squares.
fn squares(values: &[Option<[f64; 4]>]) -> ArrayRef {
    let wkb = |square: &Option<[f64; 4]>| {
        square.map(|bounds| write_wkb(&crate::footprint::box_polygon(bounds)))
    };
    Arc::new(values.iter().map(wkb).collect::<BinaryArray>())
}

/// The data card in Markdown.
fn card_of(assembly: &Assembly) -> String {
    let documents = describe(
        assembly,
        &facts(assembly),
        Catalogue::Markdown,
        &JobContext::default(),
    )
    .expect("a card");
    String::from_utf8(documents[0].bytes.clone()).expect("text")
}

#[test]
fn a_card_counts_the_samples_of_parts_that_are_numbers_without_padding() {
    let parts = vec![Some(0), Some(1), Some(1), None, None];
    let parts: ArrayRef = Arc::new(Int64Array::from(parts));
    let card = card_of(&assembly(vec![TestLevel {
        ids: &["a", "b", "c", "d", "__TACOPAD__4"],
        folder: &[false; 5],
        parents: &[0, 1, 2, 3, 4],
        columns: vec![("split", parts)],
    }]));
    let (_, splits) = card.split_once("## Splits").expect("a table");
    let rows: Vec<&str> = splits.lines().skip(4).take(4).collect();
    assert_eq!(rows, ["| 0 | 1 |", "| 1 | 2 |", "| none | 1 |", ""]);
}

#[test]
fn an_item_without_a_place_has_a_null_geometry_and_no_box() {
    let dataset = flat(vec![
        ("datetime", times(&[Some(0), Some(DAY)])),
        ("stac:centroid", points(&[Some((1.0, 2.0)), None])),
    ]);
    let items = items_of(&dataset);
    assert_eq!(items[0]["bbox"], serde_json::json!([1.0, 2.0, 1.0, 2.0]));
    assert_eq!(
        (&items[1]["geometry"], items[1].get("bbox")),
        (&Json::Null, None)
    );
    let table = table_of(&dataset);
    let bbox = table.column_by_name("bbox").expect("boxes");
    assert!(
        bbox.is_valid(0)
            && bbox.is_null(1)
            && table
                .column_by_name("geometry")
                .is_some_and(|shapes| shapes.is_null(1))
    );
}

#[test]
fn an_interval_without_a_nominal_time_has_a_null_datetime() {
    let dataset = flat(vec![
        (
            "start_datetime",
            texts(&[
                Some("1969-12-31T12:00:00-12:00"),
                Some("1850-01-01"),
                Some("2021-05-01 10:00+0530"),
            ]),
        ),
        (
            "end_datetime",
            texts(&[
                Some("1970-01-02T00:00:00Z"),
                None,
                Some("2021-05-01T04:30:00Z"),
            ]),
        ),
    ]);
    let items = items_of(&dataset);
    let of = |item: usize, name: &str| items[item]["properties"][name].clone();
    assert_eq!(of(0, "datetime"), Json::Null);
    assert_eq!(
        (of(0, "start_datetime"), of(0, "end_datetime")),
        ("1970-01-01T00:00:00Z".into(), "1970-01-02T00:00:00Z".into())
    );
    assert_eq!(
        (of(1, "datetime"), of(1, "start_datetime")),
        ("1850-01-01T00:00:00Z".into(), Json::Null),
        "one end is an instant"
    );
    assert_eq!(
        (of(2, "datetime"), of(2, "end_datetime")),
        ("2021-05-01T04:30:00Z".into(), Json::Null),
        "equal in other zones"
    );
    let table = table_of(&dataset);
    let column = |name: &str| table.column_by_name(name).expect(name).clone();
    assert!(
        column("datetime").is_null(0)
            && column("start_datetime").null_count() == 0
            && column("end_datetime").null_count() == 0
    );
}

#[test]
fn places_across_the_antimeridian_have_boxes_from_east_to_west() {
    let numbers = |values: Vec<f64>, size: i32| -> ArrayRef {
        let field = Arc::new(Field::new("item", DataType::Float64, true));
        Arc::new(FixedSizeListArray::new(
            field,
            size,
            Arc::new(Float64Array::from(values)),
            None,
        ))
    };
    let dataset = flat(vec![
        ("datetime", times(&[Some(0)])),
        ("stac:crs", texts(&[Some("EPSG:4326")])),
        (
            "stac:geotransform",
            numbers(vec![179.0, 0.01, 0.0, 10.0, 0.0, -0.01], 6),
        ),
        ("stac:tensor_shape", numbers(vec![3.0, 100.0, 200.0], 3)),
    ]);
    let item = items_of(&dataset).remove(0);
    assert_eq!(
        (&item["bbox"], &item["geometry"]["type"]),
        (
            &serde_json::json!([179.0, 9.0, -179.0, 10.0]),
            &"MultiPolygon".into()
        )
    );
    assert_eq!(
        item["properties"]["proj:transform"],
        serde_json::json!([0.01, 0.0, 179.0, 0.0, -0.01, 10.0])
    );
    assert_eq!(
        item["properties"]["proj:shape"],
        serde_json::json!([100, 200])
    );
    let table = table_of(&dataset);
    let bbox = table
        .column_by_name("bbox")
        .expect("boxes")
        .as_struct()
        .clone();
    let side = |name: &str| {
        bbox.column_by_name(name)
            .expect(name)
            .as_primitive::<Float64Type>()
            .value(0)
    };
    assert_eq!((side("xmin"), side("xmax")), (179.0, -179.0));
}

#[test]
fn geometries_with_a_height_are_placed_on_the_ground() {
    // POINT Z (5 6 700) as ISO and as PostGIS write it.
    let point = |kind: u32| {
        let numbers = [5.0f64, 6.0, 700.0].map(f64::to_le_bytes).concat();
        [&[1][..], &kind.to_le_bytes(), &numbers].concat()
    };
    let wkb = [point(1001), point(0x8000_0001)];
    let shapes: ArrayRef = Arc::new(BinaryArray::from_iter_values(wkb.iter()));
    for item in items_of(&flat(vec![
        ("datetime", times(&[Some(0), Some(0)])),
        ("istac:geometry", shapes),
    ])) {
        assert_eq!(
            item["geometry"],
            serde_json::json!({ "type": "Point", "coordinates": [5.0, 6.0] })
        );
        assert_eq!(item["bbox"], serde_json::json!([5.0, 6.0, 5.0, 6.0]));
    }
}

#[test]
fn a_dataset_without_samples_or_times_has_no_items() {
    let empty = assembly(vec![TestLevel {
        ids: &[],
        folder: &[],
        parents: &[],
        columns: Vec::new(),
    }]);
    for form in Catalogue::ALL {
        assert!(
            describe(&empty, &facts(&empty), form, &JobContext::default()).is_err(),
            "{}",
            form.name()
        );
    }
    let timeless = flat(vec![("quality", Arc::new(Int64Array::from(vec![1])))]);
    assert!(items_of(&timeless).is_empty());
    assert!(
        describe(
            &timeless,
            &facts(&timeless),
            Catalogue::StacGeoparquet,
            &JobContext::default()
        )
        .is_err()
    );
}

#[test]
fn a_folder_has_the_places_times_and_files_of_its_children() {
    let roots = TestLevel {
        ids: &["far", "file", "same"],
        folder: &[true, false, true],
        parents: &[0, 1, 2],
        columns: vec![(
            "istac:geometry",
            squares(&[None, Some([50.0, 0.0, 51.0, 1.0]), None]),
        )],
    };
    let children = TestLevel {
        ids: &["x", "y", "x", "y"],
        folder: &[false; 4],
        parents: &[0, 0, 2, 2],
        columns: vec![
            (
                "istac:geometry",
                squares(&[
                    Some([0.0, 0.0, 1.0, 1.0]),
                    Some([10.0, 0.0, 11.0, 1.0]),
                    Some([20.0, 0.0, 21.0, 1.0]),
                    Some([20.5, 0.0, 21.5, 1.0]),
                ]),
            ),
            (
                "datetime",
                times(&[Some(0), Some(DAY), Some(DAY), Some(DAY)]),
            ),
        ],
    };
    let mut dataset = assembly(vec![roots, children]);
    dataset.collection.set(
        "extent",
        Some(serde_json::json!({
            "spatial": [0, 0, 60, 1],
            "temporal": ["2020-01-01", "2020-01-02"],
        })),
    );
    let items = items_of(&dataset);
    let of = |id: &str| items.iter().find(|item| item["id"] == id).expect("an Item");
    assert_eq!(
        (&of("far")["geometry"]["type"], &of("far")["bbox"]),
        (
            &"MultiPolygon".into(),
            &serde_json::json!([0.0, 0.0, 11.0, 1.0])
        )
    );
    assert_eq!(
        (&of("same")["geometry"]["type"], &of("same")["bbox"]),
        (
            &"Polygon".into(),
            &serde_json::json!([20.0, 0.0, 21.5, 1.0])
        )
    );
    assert_eq!(
        of("file")["bbox"],
        serde_json::json!([50.0, 0.0, 51.0, 1.0]),
        "its own place"
    );
    let time = |id: &str, name: &str| of(id)["properties"][name].clone();
    assert_eq!(
        (time("far", "start_datetime"), time("far", "end_datetime")),
        ("1970-01-01T00:00:00Z".into(), "1970-01-02T00:00:00Z".into())
    );
    assert_eq!(
        (time("same", "datetime"), time("same", "end_datetime")),
        ("1970-01-02T00:00:00Z".into(), Json::Null)
    );
    assert_eq!(
        time("file", "start_datetime"),
        "2020-01-01T00:00:00Z",
        "that of the dataset"
    );
    assert_eq!(
        of("file")["assets"]["data"]["href"],
        "/vsisubfile/10_10,/data/set.tacozip"
    );
    assert_eq!(
        of("same")["assets"]["y"]["href"],
        "/vsisubfile/1030_10,/data/set.tacozip"
    );
    let table = table_of(&dataset);
    let assets = table
        .column_by_name("assets")
        .expect("assets")
        .as_struct()
        .clone();
    assert_eq!(assets.column_names(), ["data", "x", "y"]);
    let nulls: Vec<bool> = (0..3).map(|row| assets.column(1).is_null(row)).collect();
    assert_eq!(
        nulls,
        [false, true, false],
        "a file has no asset of a FOLDER"
    );
}

/// A dataset of files and FOLDERs with places, times and properties of many kinds, and a sample
/// that states no time.
fn varied() -> Assembly {
    let text = |values: [Option<&str>; 4]| texts(&values);
    let roots = TestLevel {
        ids: &["far", "file", "same", "plain"],
        folder: &[true, false, true, false],
        parents: &[0, 1, 2, 3],
        columns: vec![
            (
                "stac:centroid",
                points(&[None, Some((1.0, 2.0)), None, Some((-170.0, 3.0))]),
            ),
            ("datetime", times(&[None, Some(5), None, None])),
            ("start_datetime", times(&[None, None, Some(0), None])),
            ("end_datetime", times(&[None, None, Some(DAY), None])),
            (
                "stac:crs",
                text([None, None, Some("EPSG:4326"), Some("WKT")]),
            ),
            ("title", text([Some("a"), None, Some("c"), None])),
            (
                "gsd",
                Arc::new(Float64Array::from(vec![
                    Some(10.0),
                    None,
                    Some(30.0),
                    Some(0.0),
                ])),
            ),
            ("late", text([None, None, None, Some("x")])),
        ],
    };
    let children = TestLevel {
        ids: &["x", "y", "x", "y"],
        folder: &[false; 4],
        parents: &[0, 0, 2, 2],
        columns: vec![
            (
                "istac:geometry",
                squares(&[
                    Some([0.0, 0.0, 1.0, 1.0]),
                    Some([170.0, 0.0, 175.0, 1.0]),
                    None,
                    None,
                ]),
            ),
            ("datetime", times(&[Some(0), Some(DAY), None, None])),
        ],
    };
    assembly(vec![roots, children])
}

/// All rows and the metadata of a document that is a Parquet file.
fn rows_and_notes(document: &CatalogueDocument) -> (RecordBatch, Vec<(String, Option<String>)>) {
    let bytes = bytes::Bytes::from(document.bytes.clone());
    let builder = parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder::try_new(bytes)
        .expect("Parquet");
    let notes = builder
        .metadata()
        .file_metadata()
        .key_value_metadata()
        .cloned()
        .unwrap_or_default();
    let schema = builder.schema().clone();
    let batches: Vec<RecordBatch> = builder
        .build()
        .expect("a reader")
        .map(|batch| batch.expect("rows"))
        .collect();
    let rows = arrow::compute::concat_batches(&schema, &batches).expect("one batch");
    (
        rows,
        notes
            .into_iter()
            .map(|note| (note.key, note.value))
            .collect(),
    )
}

#[test]
fn documents_are_the_same_however_many_samples_are_described_at_a_time() {
    let mut dataset = varied();
    for interval in [None, Some(serde_json::json!(["2020-01-01", "2020-01-02"]))] {
        if let Some(interval) = interval {
            dataset.collection.set(
                "extent",
                Some(serde_json::json!({ "spatial": [0, 0, 60, 1], "temporal": interval })),
            );
        }
        let described = |form: Catalogue, batch_rows: usize| {
            let mut documents = Vec::new();
            let mut sink = |document: CatalogueDocument| {
                documents.push(document);
                Ok(())
            };
            describe_in_batches(
                &dataset,
                &facts(&dataset),
                form,
                batch_rows,
                &mut sink,
                &JobContext::default(),
            )
            .expect("describes");
            documents
        };
        for batch_rows in [1, 2, 3] {
            assert_eq!(
                described(Catalogue::Stac, batch_rows),
                described(Catalogue::Stac, 1000),
                "{batch_rows}"
            );
            for form in [Catalogue::StacGeoparquet, Catalogue::Geoparquet] {
                let (found, whole) = (described(form, batch_rows), described(form, 1000));
                let (found, whole) = (rows_and_notes(&found[0]), rows_and_notes(&whole[0]));
                assert_eq!(found.0, whole.0, "{batch_rows}");
                assert_eq!(found.1, whole.1, "{batch_rows}");
            }
        }
        let (rows, notes) = rows_and_notes(&described(Catalogue::StacGeoparquet, 2)[0]);
        assert!(
            rows.num_rows() >= 3 && rows.schema().metadata().contains_key("geo"),
            "readers use the Arrow schema too"
        );
        assert_eq!(
            notes
                .iter()
                .filter(|(key, _)| key == "ARROW:schema")
                .count(),
            1
        );
        let geo: Json = notes
            .iter()
            .find(|(key, _)| key == "geo")
            .and_then(|(_, text)| serde_json::from_str(text.as_ref()?).ok())
            .expect("JSON");
        assert_eq!(
            geo["columns"]["geometry"]["geometry_types"],
            serde_json::json!(["MultiPolygon", "Point"])
        );
    }
}

#[test]
fn file_names_of_items_are_unique() {
    let ids = ["a/b", "a?b", "A_b", "a_b_2", "a*b"];
    let times: ArrayRef = times(&[Some(0); 5]);
    let parents: Vec<u32> = (0..5).collect();
    let dataset = assembly(vec![TestLevel {
        ids: &ids,
        folder: &[false; 5],
        parents: &parents,
        columns: vec![("datetime", times)],
    }]);
    let documents = describe(
        &dataset,
        &facts(&dataset),
        Catalogue::Stac,
        &JobContext::default(),
    )
    .expect("a description");
    let names: Vec<&str> = documents
        .iter()
        .skip(1)
        .map(|document| document.name.as_str())
        .collect();
    assert_eq!(
        names,
        [
            "items/a_b.json",
            "items/a_b_2.json",
            "items/A_b_3.json",
            "items/a_b_2_2.json",
            "items/a_b_4.json"
        ]
    );
}

#[test]
fn structs_and_lists_keep_their_types_in_tables_of_items() {
    let flag: ArrayRef = Arc::new(BooleanArray::from(vec![Some(true), None]));
    let parts = StructArray::from(vec![(
        Arc::new(Field::new("ok", DataType::Boolean, true)),
        flag,
    )]);
    let count: ArrayRef = Arc::new(arrow::array::UInt64Array::from(vec![u64::MAX, 0]));
    let dataset = flat(vec![
        ("datetime", times(&[Some(0), Some(0)])),
        ("parts", Arc::new(parts.clone())),
        ("count", count.clone()),
    ]);
    let table = table_of(&dataset);
    assert_eq!(
        table
            .column_by_name("parts")
            .map(|column| column.data_type().clone()),
        Some(parts.data_type().clone())
    );
    assert_eq!(table.column_by_name("count"), Some(&count));
    let item = items_of(&dataset).remove(0);
    assert_eq!(
        (
            item["properties"]["count"].as_u64(),
            &item["properties"]["parts"]
        ),
        (Some(u64::MAX), &serde_json::json!({ "ok": true }))
    );
}
