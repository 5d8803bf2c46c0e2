//! Statements of each engine, as text; `tests/engines.rs` runs them.

use arrow::datatypes::{DataType, TimeUnit};

use super::*;

fn level0() -> LevelFile {
    let column = |name: &str, dtype| FieldSpec::new(name, dtype);
    let columns = vec![
        column("id", DataType::Utf8),
        column("cloud_cover", DataType::Float64),
        column("eo:single", DataType::Float32),
        column("n", DataType::Int64),
        column("region", DataType::Utf8),
        column(
            "stac:time_start",
            DataType::Timestamp(TimeUnit::Microsecond, None),
        ),
        column(
            "zoned",
            DataType::Timestamp(TimeUnit::Microsecond, Some("Europe/Madrid".into())),
        ),
        column("nanos", DataType::Timestamp(TimeUnit::Nanosecond, None)),
        column("stac:centroid", DataType::Binary),
        column("internal:current_id", DataType::Int64),
    ];
    LevelFile {
        address: "/data/it's [1]/.tacocat/level0.parquet".into(),
        member: None,
        columns,
    }
}

fn of(engine: ParquetEngine, filter: Filter) -> Result<String> {
    statement(engine, &[level0()], &[filter])
}

#[test]
fn names_texts_and_paths_are_quoted_for_each_engine() {
    let condition = r#"region = 'O''Higgins "north" \ x' AND eo:single < 0.1"#;
    let written = |engine| of(engine, Filter::condition(condition)).expect("is expressed");
    let sql = written(ParquetEngine::DuckDb);
    assert!(
        sql.contains(r#""region" = 'O''Higgins "north" \ x' AND "eo:single" < 0.1"#),
        "{sql}"
    );
    assert!(
        sql.contains("read_parquet('/data/it''s [[]1]/.tacocat/level0.parquet'"),
        "{sql}"
    );
    let polars = written(ParquetEngine::Polars);
    assert!(
        polars.contains(r#"pl.col("region") == pl.lit("O'Higgins \"north\" \\ x")"#),
        "{polars}"
    );
    // As the column stores it.
    assert!(
        polars.contains(r#"pl.col("eo:single") < 0.10000000149011612"#),
        "{polars}"
    );
    let spark = written(ParquetEngine::Spark);
    assert!(
        spark.contains(r#"F.col("`eo:single`")"#)
            && spark.contains(r#""/data/it's \\[1\\]/.tacocat/level0.parquet""#),
        "{spark}"
    );
}

#[test]
fn days_and_times_are_bounds_of_the_columns_type() {
    let range = |column: &str| Filter {
        time_column: Some(column.into()),
        ..Filter::datetime("2020-01-01/2020-01-02T10:30:00+02:00")
    };
    let expect = |engine, column: &str, parts: &[&str]| {
        let written = of(engine, range(column)).expect("is expressed");
        parts
            .iter()
            .for_each(|part| assert!(written.contains(part), "{part}\n{written}"));
    };
    expect(
        ParquetEngine::DuckDb,
        "zoned",
        &[
            ">= TIMESTAMPTZ '2020-01-01 00:00:00.000000+00'",
            "<= TIMESTAMPTZ '2020-01-02 08:30:00.000000+00'",
            "SET TimeZone",
        ],
    );
    expect(
        ParquetEngine::DuckDb,
        "stac:time_start",
        &["\"stac:time_start\" <= TIMESTAMP '2020-01-02 08:30:00.000000'"],
    );
    expect(
        ParquetEngine::Polars,
        "zoned",
        &[
            "dt.convert_time_zone(\"UTC\") >= pl.lit(datetime.datetime(2020, 1, 1, 0, 0, 0, 0, \
                tzinfo=datetime.timezone.utc))",
        ],
    );
    expect(
        ParquetEngine::Polars,
        "nanos",
        &["pl.col(\"nanos\").dt.timestamp(\"ns\") >= 1577836800000000000"],
    );
    expect(
        ParquetEngine::Spark,
        "nanos",
        &["F.col(\"`nanos`\") <= 1577953800000000000", "nanosAsLong"],
    );
    expect(
        ParquetEngine::Dask,
        "zoned",
        &[
            "pd.Timestamp(\"2020-01-02T08:30:00.000000\", tz=\"UTC\")",
            "import pandas as pd",
        ],
    );
    // A day of a time is a comparison of times.
    let day = of(
        ParquetEngine::Polars,
        Filter::condition("CAST(zoned AS DATE) <= '2020-01-02'"),
    )
    .expect("is expressed");
    assert!(
        day.contains(
            "< pl.lit(datetime.datetime(2020, 1, 3, 0, 0, 0, 0, tzinfo=datetime.timezone.utc))"
        ),
        "{day}"
    );
}

#[test]
fn what_an_engine_can_not_express_is_refused_with_its_place() {
    for condition in [
        "n % 2 = 0",
        "n / n > 1",
        "n = NULL",
        "1 = 1",
        "region = 3",
        "ST_X(\"stac:centroid\") > 1",
        "sum(n) > 1",
    ] {
        for engine in [
            ParquetEngine::Polars,
            ParquetEngine::Spark,
            ParquetEngine::Dask,
        ] {
            let error = of(engine, Filter::condition(format!("n > 1 AND {condition}")))
                .expect_err(condition);
            assert_eq!(
                error.kind(),
                crate::error::Kind::Unsupported,
                "{condition}: {error}"
            );
            assert!(
                error.place().is_some() && !error.hints().is_empty(),
                "{condition}: {}",
                error.report()
            );
        }
        of(ParquetEngine::DuckDb, Filter::condition(condition)).expect(condition);
    }
    let unknown =
        of(ParquetEngine::Polars, Filter::condition("nowhere > 1")).expect_err("an unknown column");
    assert_eq!(unknown.kind(), crate::error::Kind::Usage);
    let hour = of(ParquetEngine::Spark, Filter::condition("hour(nanos) = 1"))
        .expect_err("a number to Spark");
    assert_eq!(hour.kind(), crate::error::Kind::Unsupported);
    assert!(
        of(ParquetEngine::Spark, Filter::condition("n > 1").at_level(1)).is_err(),
        "there is one level"
    );
}

#[test]
fn geometries_of_conditions_are_read_from_wkb() {
    let sql = of(
        ParquetEngine::DuckDb,
        Filter::condition(
            "st_x(\"STAC:centroid\") > 1 AND ST_Y(ST_GeomFromWKB(\"stac:centroid\")) < 2",
        ),
    );
    let sql = sql.expect("is expressed");
    assert!(
        sql.contains(
            "st_x(ST_GeomFromWKB(\"stac:centroid\")) > 1 AND \
                ST_Y(ST_GeomFromWKB(\"stac:centroid\")) < 2"
        ),
        "{sql}"
    );
    assert!(sql.contains("LOAD spatial"), "{sql}");
}

#[test]
fn filters_of_deeper_levels_keep_the_samples_above() {
    let columns = ["id", "internal:current_id", "internal:parent_id"].map(|name| {
        FieldSpec::new(
            name,
            if name == "id" {
                DataType::Utf8
            } else {
                DataType::Int64
            },
        )
    });
    let level1 = LevelFile {
        address: "/data/.tacocat/level1.parquet".into(),
        member: None,
        columns: columns.to_vec(),
    };
    let levels = [level0(), level1];
    let filters = [
        Filter::condition("id = 'b'").at_level(1),
        Filter::condition("n > 1"),
    ];
    let sql = statement(ParquetEngine::DuckDb, &levels, &filters).expect("is expressed");
    assert!(
        sql.contains("(\"internal:current_id\") IN (SELECT \"internal:parent_id\" FROM level1_0)"),
        "{sql}"
    );
    let polars = statement(ParquetEngine::Polars, &levels, &filters).expect("is expressed");
    assert!(
        polars.contains(
            "level0 = level0.join(level1, left_on=[\"internal:current_id\"], \
                right_on=[\"internal:parent_id\"], how=\"semi\")"
        ),
        "{polars}"
    );
}

#[test]
fn what_shows_nothing_is_escaped_in_statements_that_people_paste() {
    assert_eq!(
        super::python_string("a\u{202e}b\u{1b}\u{9b}\u{e0041}"),
        r#""a\U0000202eb\u001b\U0000009b\U000e0041""#
    );
    let hostile = LevelFile {
        address: "/data/x\u{202e}y\u{7}.parquet".into(),
        ..level0()
    };
    let written = statement(ParquetEngine::DuckDb, &[hostile], &[]).expect("is written");
    assert!(
        written.contains(
            "read_parquet('/data/x' || chr(8238) || 'y' || chr(7) || '.parquet', hive_partitioning"
        ),
        "{written}"
    );
}

#[test]
fn tables_within_a_zip_are_read_by_engines_that_can() {
    let within = |address: &str| LevelFile {
        address: address.into(),
        member: Some("METADATA/level0.parquet".into()),
        ..level0()
    };
    let written = |engine, address: &str| {
        statement(engine, &[within(address)], &[Filter::condition("n > 3")])
    };
    let polars = written(ParquetEngine::Polars, "/data/it's.tacozip").expect("is expressed");
    assert!(polars.starts_with("import zipfile\n"), "{polars}");
    assert!(
        polars.contains(r#"zipfile.ZipFile("/data/it's.tacozip").read("METADATA/level0.parquet")"#),
        "{polars}"
    );
    let remote =
        written(ParquetEngine::Polars, "https://example.org/a.tacozip").expect("is expressed");
    assert!(
        remote.contains(
            r#"fsspec.open("zip://METADATA/level0.parquet::https://example.org/a.tacozip")"#
        ),
        "{remote}"
    );
    let dask = written(ParquetEngine::Dask, "/data/a.tacozip").expect("is expressed");
    assert!(
        dask.contains(r#"dd.read_parquet("zip://METADATA/level0.parquet::/data/a.tacozip""#),
        "{dask}"
    );
    for (engine, address) in [
        (ParquetEngine::DuckDb, "/a.tacozip"),
        (ParquetEngine::Spark, "/a.tacozip"),
        (ParquetEngine::Dask, "/a::b.tacozip"),
    ] {
        assert!(written(engine, address).is_err(), "{engine:?} {address}");
    }
}
