//! Queries on small levels built in memory.

mod constants;
mod decimal_types;
mod decimals_json;
mod duckdb;
mod large;
mod meant;
mod nested;
mod row_groups;
mod spelled;
mod typed;

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryArray, DictionaryArray, Float64Array, Int64Array, ListArray, RecordBatch,
    StringArray, TimestampMicrosecondArray,
};
use arrow::datatypes::{Float64Type, Int32Type};
use serde_json::{Value as Json, json};

use super::*;
use crate::jobs::JobContext;
use crate::model::FieldSpec;
use crate::table::{LevelTable, ParquetOptions, ParquetSlice, TableHead, write_parquet};

fn ctx() -> JobContext {
    JobContext::default()
}

fn texts(values: &[&str]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

fn numbers(values: &[i64]) -> ArrayRef {
    Arc::new(Int64Array::from(values.to_vec()))
}

fn point(x: f64, y: f64) -> Vec<u8> {
    [&[1, 1, 0, 0, 0][..], &x.to_le_bytes(), &y.to_le_bytes()].concat()
}

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, array)| (name, array, true)),
    )
    .expect("is a batch")
}

/// Level 0: three scenes, the last one padding. Level 1: two files in each of the first two.
fn levels() -> [RecordBatch; 2] {
    let points: Vec<Vec<u8>> = vec![point(-75.0, -12.0), point(10.0, 50.0)];
    let centroids = BinaryArray::from(vec![
        Some(points[0].as_slice()),
        Some(points[1].as_slice()),
        None,
    ]);
    let micros = 1_609_459_200_000_000;
    let level0 = batch(vec![
        ("id", texts(&["lima", "bonn", "__TACOPAD__0"])),
        ("type", texts(&["FOLDER", "FOLDER", "FILE"])),
        ("stac:crs", texts(&["EPSG:32718", "EPSG:32632", ""])),
        ("stac:centroid", Arc::new(centroids)),
        (
            "stac:time_start",
            Arc::new(TimestampMicrosecondArray::from(vec![
                Some(micros),
                Some(micros + 86_400_000_000),
                None,
            ])),
        ),
        (
            "cloud_cover",
            Arc::new(Float64Array::from(vec![Some(0.25), Some(0.75), None])),
        ),
        (
            "stac:geotransform",
            Arc::new(ListArray::from_iter_primitive::<Float64Type, _, _>([
                Some(vec![Some(1.0), Some(2.0)]),
                Some(vec![]),
                None,
            ])),
        ),
        ("internal:current_id", numbers(&[0, 1, 2])),
        ("internal:parent_id", numbers(&[0, 1, 2])),
        ("internal:offset", numbers(&[500, 600, 700])),
        ("internal:size", numbers(&[50, 60, 0])),
    ]);
    let level1 = batch(vec![
        ("id", texts(&["image", "label", "image", "label"])),
        ("type", texts(&["FILE", "FILE", "FILE", "FILE"])),
        (
            "bands",
            Arc::new(
                [Some("rgb"), None, Some("rgb"), Some("mask")]
                    .into_iter()
                    .collect::<DictionaryArray<Int32Type>>(),
            ),
        ),
        ("internal:current_id", numbers(&[0, 1, 2, 3])),
        ("internal:parent_id", numbers(&[0, 0, 1, 1])),
        ("internal:offset", numbers(&[100, 200, 300, 400])),
        ("internal:size", numbers(&[10, 20, 30, 40])),
        (
            "internal:relative_path",
            texts(&["lima/image", "lima/label", "bonn/image", "bonn/label"]),
        ),
    ]);
    [level0, level1]
}

fn parquet(batch: &RecordBatch) -> TableHead {
    let bytes = write_parquet(
        &batch.schema(),
        std::slice::from_ref(batch),
        &ParquetOptions::default(),
    )
    .expect("writes");
    TableHead::read(ParquetSlice::from_bytes(bytes.into())).expect("reads")
}

fn decoded(batch: RecordBatch) -> Arc<LevelTable> {
    Arc::new(LevelTable::new(batch.schema(), vec![batch]))
}

fn tables() -> Tables {
    let mut tables = Tables::new(VsiBase::Zip("/data/set.tacozip".into()));
    for level in levels() {
        tables.push_parquet(parquet(&level));
    }
    tables
}

fn run(sql: &str) -> QueryResult {
    run_sql(&tables(), sql, Some(1000), &ctx())
        .unwrap_or_else(|error| panic!("{sql}: {}", error.report()))
}

fn rows(sql: &str) -> Vec<Json> {
    run(sql)
        .json_rows()
        .map(|row| Json::Array(row.into_iter().map(|(_, value)| value).collect()))
        .collect()
}

fn report(sql: &str) -> String {
    match run_sql(&tables(), sql, Some(10), &ctx()) {
        Err(error) => error.report(),
        Ok(result) => panic!("{sql} gave {:?}", result.csv()),
    }
}

#[test]
fn rows_are_selected_filtered_grouped_and_ordered() {
    assert_eq!(
        rows("SELECT id FROM data ORDER BY id"),
        [json!(["bonn"]), json!(["lima"])]
    );
    assert_eq!(rows("SELECT count(*) FROM level0"), [json!([3])]);
    assert_eq!(
        rows(
            r#"SELECT type, count(*) AS n, avg(cloud_cover) FROM level0 GROUP BY type
                ORDER BY n DESC"#
        ),
        [json!(["FOLDER", 2, 0.5]), json!(["FILE", 1, null])]
    );
    assert_eq!(
        rows(r#"SELECT "stac:crs" FROM data WHERE "stac:crs" LIKE '%32718' AND cloud_cover < 0.5"#),
        [json!(["EPSG:32718"])]
    );
    assert_eq!(
        rows("SELECT stac:crs FROM data WHERE stac:crs LIKE '%32718'"),
        [json!(["EPSG:32718"])]
    );
}

#[test]
fn types_come_through() {
    let result = run(
        r#"SELECT "stac:time_start", "stac:geotransform", "stac:centroid", cloud_cover, id
            FROM data WHERE id = 'lima'"#,
    );
    let types: Vec<String> = result
        .columns()
        .into_iter()
        .map(|(_, dtype)| dtype)
        .collect();
    assert_eq!(
        types,
        [
            "timestamp[us]",
            "list<item: double>",
            "binary",
            "double",
            "string"
        ]
    );
    let row = result.json_rows().next().expect("one row");
    assert_eq!(row["stac:time_start"], "2021-01-01T00:00:00");
    assert_eq!(row["stac:geotransform"], json!([1.0, 2.0]));
    assert!(
        row["stac:centroid"]
            .as_str()
            .is_some_and(|hex| hex.starts_with("0101000000") && hex.len() == 42)
    );
    assert!(
        result.csv().ends_with(",0.25,lima\n") && result.csv().contains("\"[1.0,2.0]\""),
        "{}",
        result.csv()
    );
    assert!(
        result.text(5).contains("POINT (-75 -12)"),
        "{}",
        result.text(5)
    );
}

#[test]
fn dates_are_compared() {
    let days = r#"SELECT id FROM data WHERE "stac:time_start" >= TIMESTAMP '2021-01-02 00:00:00'"#;
    assert_eq!(rows(days), [json!(["bonn"])]);
    assert_eq!(
        rows(
            r#"SELECT year("stac:time_start") AS y, day("stac:time_start") AS d FROM data
                WHERE id = 'bonn'"#
        ),
        [json!([2021, 2])]
    );
}

#[test]
fn paths_are_computed_for_each_container() {
    let vsi = r#"SELECT "internal:gdal_vsi" FROM level1 LIMIT 1"#;
    assert_eq!(rows(vsi), [json!(["/vsisubfile/100_10,/data/set.tacozip"])]);
    let star = run("SELECT * FROM data");
    assert_eq!(
        star.columns().last().map(|(name, _)| name.as_str()),
        Some("internal:gdal_vsi")
    );
    let mut folder = Tables::new(VsiBase::folder(std::path::Path::new("/data/set/")));
    let [level0, mut level1] = levels();
    folder.push_table(decoded(level0));
    level1.remove_column(5);
    folder.push_table(decoded(level1));
    let all = |sql: &str| run_sql(&folder, sql, None, &ctx()).expect("runs").csv();
    assert_eq!(
        all(r#"SELECT "internal:gdal_vsi" AS p FROM data ORDER BY p"#),
        "p\n/data/set/DATA/bonn/__meta__\n/data/set/DATA/lima/__meta__\n"
    );
    assert_eq!(
        all(r#"SELECT "l1:internal:gdal_vsi" AS p FROM l1 WHERE "l1:id" = 'label' LIMIT 1"#),
        "p\n/data/set/DATA/lima/label\n"
    );
}

#[test]
fn flat_views_join_children_with_their_parents() {
    let result = run("SELECT * FROM l1");
    assert_eq!(result.row_count, 4);
    let names: Vec<String> = result.columns().into_iter().map(|(name, _)| name).collect();
    assert_eq!(
        names,
        tables()
            .columns("l1")
            .expect("is a table")
            .into_iter()
            .map(|field| field.name)
            .collect::<Vec<_>>()
    );
    assert!(!names.iter().any(|name| name.ends_with("parent_id")
        || name.ends_with("current_id")
        || name.starts_with('_')));
    assert_eq!(
        rows(r#"SELECT "l0:id", "l1:id" FROM l1 WHERE "l1:id" = 'image' ORDER BY "l0:id""#),
        [json!(["bonn", "image"]), json!(["lima", "image"])]
    );
    assert_eq!(rows("SELECT l0:id FROM l0").len(), 3);
}

#[test]
fn older_levels_without_ids_join_by_row_number() {
    let [mut level0, level1] = levels();
    level0.remove_column(7);
    let mut tables = Tables::default();
    tables.push_table(decoded(level0));
    tables.push_table(decoded(level1));
    let result = run_sql(&tables, r#"SELECT "l0:id" FROM l1"#, None, &ctx()).expect("runs");
    assert_eq!(result.csv(), "l0:id\nlima\nlima\nbonn\nbonn\n");
}

#[test]
fn parts_join_within_their_file() {
    let [mut level0, mut level1] = (levels()).map(|level| level.slice(0, 2));
    let with_source = |level: RecordBatch, sources: &[&str]| {
        let mut columns: Vec<(String, ArrayRef)> = level
            .schema()
            .fields()
            .iter()
            .map(|field| field.name().clone())
            .zip(level.columns().iter().cloned())
            .collect();
        columns.push(("internal:source_file".into(), texts(sources)));
        columns
            .iter_mut()
            .filter(|(name, _)| name == "internal:current_id" || name == "internal:parent_id")
            .for_each(|(_, array)| *array = numbers(&[0, 0]));
        RecordBatch::try_from_iter_with_nullable(
            columns.into_iter().map(|(name, array)| (name, array, true)),
        )
        .expect("is a batch")
    };
    level0 = with_source(level0, &["a.tacozip", "b.tacozip"]);
    level1 = with_source(level1, &["a.tacozip", "b.tacozip"]);
    let mut tables = Tables::new(VsiBase::parts(std::path::Path::new("/data")));
    tables.push_table(decoded(level0));
    tables.push_table(decoded(level1));
    let result = run_sql(
        &tables,
        r#"SELECT "l0:id", "l1:internal:gdal_vsi" AS p FROM l1 ORDER BY p"#,
        None,
        &ctx(),
    )
    .expect("runs");
    assert_eq!(
        result.csv(),
        "l0:id,p\nlima,\"/vsisubfile/100_10,/data/a.tacozip\"\n\
            bonn,\"/vsisubfile/200_20,/data/b.tacozip\"\n"
    );
}

#[test]
fn the_limit_is_kept_and_told() {
    let limited = run_sql(&tables(), "SELECT id FROM level1", Some(3), &ctx()).expect("runs");
    assert_eq!((limited.row_count, limited.truncated), (3, true));
    let all = run_sql(&tables(), "SELECT id FROM level1", Some(4), &ctx()).expect("runs");
    assert_eq!((all.row_count, all.truncated), (4, false));
    assert!(limited.text(2).contains("more rows"));
}

#[test]
fn other_engines_spellings_work() {
    assert_eq!(
        rows(r#"SELECT id FROM data WHERE list_contains("stac:geotransform", 2.0)"#),
        [json!(["lima"])]
    );
    assert_eq!(
        rows("SELECT id FROM data WHERE regexp_matches(id, '^li')"),
        [json!(["lima"])]
    );
    assert_eq!(
        rows("SELECT approx_count_distinct(type) AS n FROM level0"),
        [json!([2])]
    );
    assert_eq!(rows("FROM data WHERE id = 'bonn'").len(), 1);
    assert_eq!(
        rows(r#"SELECT id FROM data WHERE ST_X("stac:centroid") < 0"#),
        [json!(["lima"])]
    );
    assert_eq!(
        rows(r#"SELECT ST_Y("stac:centroid") AS y FROM level0"#),
        [json!([-12.0]), json!([50.0]), json!([null])]
    );
    assert_eq!(
        rows(
            r#"SELECT id FROM data WHERE ST_XMin("stac:centroid") >= 10
                AND ST_YMax("stac:centroid") <= 50"#
        ),
        [json!(["bonn"])]
    );
    assert_eq!(
        rows("DESCRIBE level1")[2],
        json!(["bands", "VARCHAR", "YES", null, null, null])
    );
    assert_eq!(
        rows(
            "SELECT bands, count(*) AS n FROM level1 WHERE bands IS NOT NULL GROUP BY ALL ORDER BY \
                n"
        ),
        [json!(["mask", 1]), json!(["rgb", 2])]
    );
    assert_eq!(
        rows(
            "SELECT id, internal:offset FROM level1 QUALIFY row_number() OVER (PARTITION BY id \
            ORDER BY \"internal:offset\") = 1 ORDER BY id"
        )
        .len(),
        2
    );
}

#[test]
fn unknown_names_come_with_the_near_ones() {
    let text = report("SELECT * FROM levl0");
    assert!(
        text.contains("there is no table levl0")
            && text.contains("did you mean level0")
            && text.contains("tables: data, level0"),
        "{text}"
    );
    let text = report("SELECT cloudcover FROM data");
    assert!(
        text.contains("there is no column cloudcover")
            && text.contains("did you mean \"cloud_cover\""),
        "{text}"
    );
    let text = report("SELECT crs FROM data WHERE id = 'a'");
    assert!(text.contains("\"stac:crs\""), "{text}");
    let text = report("SELECT id FROM data WHERE missing > 1");
    assert!(text.contains("there is no column missing"), "{text}");
    let text = report(r#"SELECT id FROM data WHERE id = "lima""#);
    assert!(text.contains("single quotes: 'lima'"), "{text}");
    let text = report("SELECT bands FROM data");
    assert!(text.contains("the column is in level1"), "{text}");
    assert_eq!(
        rows("SHOW TABLES")[..2],
        [json!(["data"]), json!(["level0"])]
    );
    assert!(report("DESCRIBE nothing").contains("there is no table nothing"));
}

#[test]
fn what_is_missing_is_answered_with_what_works() {
    for (sql, answer) in [
        (
            "SELECT ST_MakeValid(\"stac:centroid\") FROM data",
            "ST_X, ST_Y",
        ),
        ("SELECT id FROM data WHERE id = ?", "write the value itself"),
        ("DELETE FROM data", "queries only read"),
        ("SELECT", "could not be understood"),
    ] {
        let text = report(sql);
        assert!(
            text.to_lowercase().contains(&answer.to_lowercase()),
            "{sql}: {text}"
        );
    }
}

#[test]
fn odd_input_is_an_answer_not_a_panic() {
    let deep = format!("SELECT {}1{}", "(".repeat(5000), ")".repeat(5000));
    let long = format!(
        "SELECT {} FROM data",
        vec!["cloud_cover + 1"; 150].join(" + ")
    );
    for sql in [
        deep.as_str(),
        long.as_str(),
        "\u{0}",
        "SELECT 'open",
        "SELECT \"",
        "/* open",
        "SELECT * FROM data WHERE id = 1",
        "SELECT id + type FROM data",
        "SELECT 1 / 0",
        "SELECT sum(id) FROM data",
        "SELECT * EXCLUDE (id) FROM data LIMIT 0",
        "SELECT CAST(id AS INTEGER) FROM data",
        "SHOW TABLES",
        "EXPLAIN SELECT id FROM data",
        "SELECT NULL AS nothing, [1, 2] AS l, {'a': 1} AS s",
    ] {
        // Rows or an error, no panic.
        let _ = run_sql(&tables(), sql, Some(10), &ctx());
    }
    assert!(run_sql(&Tables::default(), "SELECT * FROM data", None, &ctx()).is_err());
    let cancelled = ctx();
    cancelled.cancel();
    assert!(
        run_sql(&tables(), "SELECT 1", None, &cancelled)
            .expect_err("cancelled")
            .is_cancelled()
    );
}

fn filtered(filters: &[Filter], sql: &str) -> Vec<Json> {
    let query = Query {
        filters: filters.to_vec(),
        sql: Some(sql.into()),
        ..Query::default()
    };
    let result = super::run(&tables(), &query, &ctx())
        .unwrap_or_else(|error| panic!("{filters:?}: {}", error.report()));
    result
        .json_rows()
        .map(|row| Json::Array(row.into_iter().map(|(_, value)| value).collect()))
        .collect()
}

#[test]
fn filters_reach_up_and_down_the_levels() {
    let peru = Filter::bbox([-80.0, -20.0, -70.0, 0.0]);
    assert_eq!(
        filtered(std::slice::from_ref(&peru), "SELECT id FROM data"),
        [json!(["lima"])]
    );
    assert_eq!(
        filtered(std::slice::from_ref(&peru), "SELECT count(*) FROM level1"),
        [json!([2])]
    );
    assert_eq!(
        filtered(
            std::slice::from_ref(&peru),
            r#"SELECT DISTINCT "l0:id" FROM l1"#
        ),
        [json!(["lima"])]
    );
    let mask = Filter::condition("bands = 'mask'").at_level(1);
    assert_eq!(
        filtered(std::slice::from_ref(&mask), "SELECT id FROM data"),
        [json!(["bonn"])]
    );
    assert_eq!(
        filtered(std::slice::from_ref(&mask), "SELECT id FROM level1"),
        [json!(["label"])]
    );
    // The order of the filters does not matter.
    let rgb = Filter::condition("bands = 'rgb'").at_level(1);
    for steps in [[peru.clone(), rgb.clone()], [rgb.clone(), peru.clone()]] {
        assert_eq!(filtered(&steps, "SELECT id FROM data"), [json!(["lima"])]);
        assert_eq!(
            filtered(&steps, r#"SELECT "l0:id", "l1:id" FROM l1"#),
            [json!(["lima", "image"])]
        );
    }
    assert_eq!(
        filtered(&[peru, mask], "SELECT id FROM data"),
        Vec::<Json>::new()
    );
    assert_eq!(
        filtered(&[rgb], "SELECT id FROM data"),
        [json!(["lima"]), json!(["bonn"])],
        "the order is kept"
    );
}

#[test]
fn rows_without_a_place_or_time_are_where_and_when_their_children_are() {
    let day = 86_400_000_000;
    let places = |places: &[Option<(f64, f64)>]| {
        let places: Vec<Option<Vec<u8>>> = places
            .iter()
            .map(|place| place.map(|(x, y)| point(x, y)))
            .collect();
        Arc::new(places.iter().map(Option::as_deref).collect::<BinaryArray>()) as ArrayRef
    };
    let times = |days: &[Option<i64>]| {
        Arc::new(
            days.iter()
                .map(|at| at.map(|at| at * day))
                .collect::<TimestampMicrosecondArray>(),
        ) as ArrayRef
    };
    let level0 = batch(vec![
        ("id", texts(&["own", "below", "nowhere"])),
        ("type", texts(&["FOLDER", "FOLDER", "FOLDER"])),
        ("stac:centroid", places(&[Some((10.0, 50.0)), None, None])),
        ("stac:time_start", times(&[Some(100), None, None])),
        ("internal:current_id", numbers(&[0, 1, 2])),
        ("internal:parent_id", numbers(&[0, 1, 2])),
    ]);
    let level1 = batch(vec![
        ("id", texts(&["a", "b", "a", "b", "a"])),
        ("type", texts(&["FILE", "FILE", "FILE", "FILE", "FILE"])),
        (
            "stac:centroid",
            places(&[Some((-75.0, -12.0)), None, None, Some((-75.0, -12.0)), None]),
        ),
        (
            "stac:time_start",
            times(&[Some(200), None, Some(200), Some(201), None]),
        ),
        ("internal:current_id", numbers(&[0, 1, 2, 3, 4])),
        ("internal:parent_id", numbers(&[0, 0, 1, 1, 2])),
    ]);
    let mut tables = Tables::new(VsiBase::None);
    for level in [level0, level1] {
        tables.push_table(Arc::new(LevelTable::new(level.schema(), vec![level])));
    }
    let ids = |filter: Filter| {
        let query = Query {
            filters: vec![filter],
            ..Query::default()
        };
        let rows = super::run(&tables, &query, &ctx()).expect("answers");
        rows.json_rows()
            .map(|row| row["id"].as_str().expect("a text").to_owned())
            .collect::<Vec<_>>()
    };
    let lima = [-80.0, -20.0, -70.0, 0.0];
    assert_eq!(
        ids(Filter::bbox(lima)),
        ["below"],
        "a place of its own counts, those of its children do not"
    );
    assert_eq!(ids(Filter::bbox([0.0, 40.0, 20.0, 60.0])), ["own"]);
    assert_eq!(
        ids(Filter::bbox([-180.0, -90.0, 180.0, 90.0])),
        ["own", "below"]
    );
    // A polygon is compared as a box is.
    let around = |[west, south, east, north]: [f64; 4]| {
        Filter::polygon(vec![
            [west, south],
            [east, south],
            [east, north],
            [west, north],
        ])
    };
    assert_eq!(ids(around(lima)), ["below"]);
    let [west, south, east, _] = lima;
    let corner = Filter::polygon(vec![[west, south], [east, south], [west, south + 1.0]]);
    assert_eq!(ids(corner), Vec::<String>::new());
    for bad in [
        vec![[0.0, 0.0], [1.0, 1.0]],
        vec![[f64::NAN, 0.0]; 3],
        vec![[0.0, 91.0]; 3],
    ] {
        let query = Query {
            filters: vec![Filter::polygon(bad)],
            ..Query::default()
        };
        let error = super::run(&tables, &query, &ctx()).expect_err("is refused");
        assert!(error.report().contains("polygon") || error.report().contains("latitude"));
    }
    assert_eq!(ids(Filter::datetime("1970-07-20")), ["below"]);
    assert_eq!(ids(Filter::datetime("1970-01-01/..")), ["own", "below"]);
    assert_eq!(
        ids(Filter {
            datetime: Some("1970-07-21".into()),
            ..Filter::bbox(lima)
        }),
        ["below"]
    );
    let stored = Filter {
        by: BoxTest::Centroid,
        ..Filter::bbox(lima)
    };
    assert_eq!(
        ids(stored),
        Vec::<String>::new(),
        "the stored column as it is"
    );
}

/// Items of catalogues have a box where they have no geometry.
#[test]
fn rows_with_a_box_alone_do_not_take_the_places_of_their_children() {
    let lima = point(-75.0, -12.0);
    let boxes = ListArray::from_iter_primitive::<Float64Type, _, _>([
        Some(vec![Some(0.0), Some(40.0), Some(20.0), Some(60.0)]),
        None,
    ]);
    let level0 = batch(vec![
        ("id", texts(&["own", "below"])),
        ("type", texts(&["FOLDER", "FOLDER"])),
        ("stac:bbox", Arc::new(boxes)),
        ("internal:current_id", numbers(&[0, 1])),
        ("internal:parent_id", numbers(&[0, 1])),
    ]);
    let level1 = batch(vec![
        ("id", texts(&["a", "a"])),
        ("type", texts(&["FILE", "FILE"])),
        (
            "stac:centroid",
            Arc::new(BinaryArray::from(vec![lima.as_slice(); 2])),
        ),
        ("internal:current_id", numbers(&[0, 1])),
        ("internal:parent_id", numbers(&[0, 1])),
    ]);
    let mut tables = Tables::new(VsiBase::None);
    tables.push_table(decoded(level0));
    tables.push_table(decoded(level1));
    for (bbox, wanted) in [
        ([-80.0, -20.0, -70.0, 0.0], "below"),
        ([0.0, 50.0, 5.0, 55.0], "own"),
    ] {
        let query = Query {
            filters: vec![Filter::bbox(bbox)],
            ..Query::default()
        };
        let rows = super::run(&tables, &query, &ctx()).expect("answers");
        let ids: Vec<_> = rows.json_rows().map(|row| row["id"].clone()).collect();
        assert_eq!(ids, [json!(wanted)], "{bbox:?}");
    }
}

#[test]
fn dates_are_whole_days_and_times_of_day_count() {
    let days = |range: &str| filtered(&[Filter::datetime(range)], "SELECT id FROM data");
    assert_eq!(days("2021-01-01"), [json!(["lima"])]);
    assert_eq!(
        days("2021-01-01/2021-01-02"),
        [json!(["lima"]), json!(["bonn"])]
    );
    assert_eq!(
        days("2021-01-01T23:59:59.999999/2021-01-02"),
        [json!(["bonn"])]
    );
    assert_eq!(days("2021-01-02/.."), [json!(["bonn"])]);
    assert_eq!(days("../2021-01-01"), [json!(["lima"])]);
    let text = Filter {
        time_column: Some("stac:crs".into()),
        ..Filter::datetime("2021-01-01")
    };
    assert_eq!(filtered(&[text], "SELECT id FROM data"), Vec::<Json>::new());
    let wrong = Filter {
        time_column: Some("cloud_cover".into()),
        ..Filter::datetime("2021-01-01")
    };
    for wrong in [
        wrong,
        Filter::datetime("2021-01-01").at_level(1),
        Filter::condition("1").at_level(7),
        Filter::condition("id ="),
    ] {
        let query = Query {
            filters: vec![wrong.clone()],
            ..Query::default()
        };
        assert!(super::run(&tables(), &query, &ctx()).is_err(), "{wrong:?}");
    }
}

#[test]
fn filters_as_conditions_of_sql_keep_the_same_rows() {
    use arrow::array::{Date32Array, TimestampNanosecondArray};
    let noon = 1_609_502_400_000_000_i64;
    let micros = [
        Some(noon),
        Some(noon + 1),
        Some(noon + 43_200_000_000),
        Some(noon - 43_200_000_001),
        None,
    ];
    let places: Vec<Vec<u8>> = vec![
        point(179.0, 1.0),
        point(-179.0, 1.0),
        point(170.0, 0.0),
        point(0.0, 0.0),
        point(-170.0, f64::NAN),
    ];
    let level = batch(vec![
        ("id", texts(&["a", "b", "c", "d", "e"])),
        ("type", texts(&["FILE"; 5])),
        (
            "stac:time_start",
            Arc::new(TimestampMicrosecondArray::from(micros.to_vec())),
        ),
        (
            "zoned",
            Arc::new(TimestampMicrosecondArray::from(micros.to_vec()).with_timezone("UTC")),
        ),
        (
            "nanos",
            Arc::new(TimestampNanosecondArray::from(
                micros
                    .map(|micros| micros.map(|micros| micros * 1000))
                    .to_vec(),
            )),
        ),
        (
            "date",
            Arc::new(Date32Array::from(vec![
                Some(18_627),
                Some(18_628),
                Some(18_629),
                Some(18_626),
                None,
            ])),
        ),
        (
            "when",
            texts(&[
                "2021-01-01T12:00:00Z",
                "2021-01-01",
                "2021-01-02",
                "2020-12-31T23:59:59Z",
                "never",
            ]),
        ),
        (
            "stac:centroid",
            Arc::new(BinaryArray::from_iter_values(&places)),
        ),
    ]);
    let fields: Vec<FieldSpec> = level
        .schema()
        .fields()
        .iter()
        .map(|field| FieldSpec::new(field.name(), field.data_type().clone()))
        .collect();
    let mut tables = Tables::new(VsiBase::Zip("/data/set.tacozip".into()));
    tables.push_parquet(parquet(&level));
    let ids = |query: &Query| {
        let result = super::run(&tables, query, &ctx())
            .unwrap_or_else(|error| panic!("{query:?}: {}", error.report()));
        result
            .json_rows()
            .map(|row| row.get("id").cloned().unwrap_or_default())
            .collect::<Vec<Json>>()
    };
    let mut filters: Vec<Filter> = Vec::new();
    let ranges = [
        "2021-01-01",
        "2021-01-01/2021-01-02",
        "2021-01-02/..",
        "../2020-12-31",
        "2021-01-01T12:00:00Z",
        "2021-01-01T12:00:00.000001Z/..",
        "../2021-01-01T12:00:00Z",
        "2021-01-01T06:00:00Z/2021-01-01T12:00:00.000001Z",
    ];
    for column in ["stac:time_start", "zoned", "nanos", "date", "when"] {
        filters.extend(ranges.map(|range| Filter {
            time_column: Some(column.into()),
            ..Filter::datetime(range)
        }));
    }
    for bbox in [
        [170.0, -10.0, 180.0, 10.0],
        [175.0, -10.0, -175.0, 10.0],
        [-180.0, -90.0, 180.0, 90.0],
        [0.0, 0.0, 0.0, 0.0],
    ] {
        let by_centroid = Filter {
            by: BoxTest::Centroid,
            ..Filter::bbox(bbox)
        };
        filters.push(Filter {
            datetime: Some("2021-01-01/..".into()),
            condition: Some("id <> 'c' OR id = 'b'".into()),
            ..by_centroid.clone()
        });
        filters.push(by_centroid);
    }
    let mut written = 0;
    for filter in filters {
        let expected = ids(&Query {
            filters: vec![filter.clone()],
            sql: Some("SELECT id FROM data".into()),
            ..Query::default()
        });
        let Some(condition) = copy_as::sql_condition(&filter, &fields) else {
            assert!(
                matches!(
                    filter.time_column.as_deref(),
                    Some("when" | "zoned" | "nanos")
                ),
                "{filter:?}"
            );
            continue;
        };
        written += 1;
        let sql = format!("SELECT id FROM data WHERE {condition}");
        assert_eq!(
            ids(&Query {
                sql: Some(sql.clone()),
                ..Query::default()
            }),
            expected,
            "{sql}"
        );
    }
    assert_eq!(written, 2 * 8 + 8);
    let grids = [FieldSpec::new(
        "istac:geometry",
        arrow::datatypes::DataType::Binary,
    )];
    assert_eq!(
        copy_as::sql_condition(&Filter::bbox([0.0, 0.0, 1.0, 1.0]), &grids),
        None,
        "footprints have no condition"
    );
}

#[test]
fn geometries_are_compared_and_made() {
    let within = r#"SELECT id FROM data WHERE ST_Within("stac:centroid", ST_MakeEnvelope(-80, -20,
        -70, 0))"#;
    assert_eq!(rows(within), [json!(["lima"])]);
    let touches = r#"SELECT id FROM data WHERE ST_Intersects(ST_GeomFromWKB("stac:centroid"),
        ST_MakeEnvelope(10.0, 50.0, 11.0, 51.0))"#;
    assert_eq!(rows(touches), [json!(["bonn"])]);
    let edge =
        r#"SELECT id FROM data WHERE ST_Within("stac:centroid", ST_MakeEnvelope(10, 50, 11, 51))"#;
    assert_eq!(
        rows(edge),
        Vec::<Json>::new(),
        "a point on the edge is not within"
    );
    let contains = r#"SELECT id FROM data WHERE
        ST_Contains(ST_GeomFromText('POLYGON((0 40, 20 40, 20 60, 0 60, 0 40))'), "stac:centroid")"#;
    assert_eq!(rows(contains), [json!(["bonn"])]);
    assert_eq!(
        rows(r#"SELECT ST_AsText("stac:centroid") AS t FROM data WHERE id = 'bonn'"#),
        [json!(["POINT (10 50)"])]
    );
    assert_eq!(
        rows("SELECT ST_Area(ST_MakeEnvelope(0, 0, 2, 3)) AS a FROM data LIMIT 1"),
        [json!([6.0])]
    );
    assert_eq!(
        rows("SELECT ST_AsText(ST_Centroid(ST_MakeEnvelope(0, 0, 2, 4))) AS c FROM data LIMIT 1"),
        [json!(["POINT (1 2)"])]
    );
    assert_eq!(
        rows(r#"SELECT ST_AsText(ST_Point(cloud_cover, 1)) AS p FROM data WHERE id = 'lima'"#),
        [json!(["POINT (0.25 1)"])]
    );
}

#[test]
fn samples_summaries_modes_and_fields_of_structs() {
    assert_eq!(rows("SELECT id FROM level1 USING SAMPLE 3").len(), 3);
    assert_eq!(rows("FROM level1 USING SAMPLE 50%").len(), 2);
    assert_eq!(
        rows("SELECT id FROM level1 USING SAMPLE reservoir(2 ROWS)").len(),
        2
    );
    assert_eq!(
        rows("SELECT id FROM level1 TABLESAMPLE 100 PERCENT").len(),
        4
    );
    assert_eq!(
        rows("SELECT mode(bands) AS m FROM level1"),
        [json!(["rgb"])]
    );
    assert_eq!(
        rows("SELECT id, mode(bands) AS m FROM level1 GROUP BY id ORDER BY id"),
        [json!(["image", "rgb"]), json!(["label", "mask"])]
    );
    let summary = rows("SUMMARIZE data");
    assert_eq!(
        summary[0],
        json!([
            "id", "VARCHAR", "bonn", "lima", 2, null, null, null, null, null, 2, 0.0
        ])
    );
    assert_eq!(
        summary[5].as_array().expect("a row")[..10],
        json!([
            "cloud_cover",
            "DOUBLE",
            "0.25",
            "0.75",
            2,
            "0.5",
            "0.3535533905932738",
            "0.25",
            "0.5",
            "0.75"
        ])
        .as_array()
        .expect("a row")[..]
    );
    assert_eq!(rows("SUMMARIZE SELECT id FROM level1").len(), 1);
    let child: ArrayRef = texts(&["a", "b"]);
    let fields = arrow::datatypes::Fields::from(vec![arrow::datatypes::Field::new(
        "k x",
        child.data_type().clone(),
        true,
    )]);
    let structs = arrow::array::StructArray::new(fields, vec![child], None);
    let mut tables = Tables::default();
    tables.push_table(decoded(batch(vec![
        ("id", texts(&["p", "q"])),
        ("a:s", Arc::new(structs)),
    ])));
    let result = run_sql(
        &tables,
        r#"SELECT "a:s"['k x'] AS v FROM data WHERE a:s['k x'] = 'b'"#,
        None,
        &ctx(),
    )
    .expect("runs");
    assert_eq!(result.csv(), "v\nb\n");
}
