//! Groups and first rows of a level, row group by row group.

use super::*;

/// Twelve row groups with nulls, NaN and equal keys.
fn many_groups() -> Tables {
    let count = 1200i64;
    let value = |row: i64| (row * 7919) % 1009;
    let floats = (0..count).map(|row| match value(row) {
        number if number % 97 == 0 => None,
        number if number % 89 == 0 => Some(f64::NAN),
        number => Some(number as f64 / 8.0 - 40.0),
    });
    let ids: Vec<String> = (0..count)
        .map(|row| {
            if row == 700 {
                "__TACOPAD__0".into()
            } else {
                format!("s{row:04}")
            }
        })
        .collect();
    let names = ["north", "south", "a region with a long name", "east"];
    let texts = (0..count).map(|row| {
        if row % 13 == 0 {
            None
        } else {
            names.get(value(row) as usize % 4).copied()
        }
    });
    let batch = batch(vec![
        ("id", Arc::new(StringArray::from(ids)) as ArrayRef),
        (
            "type",
            Arc::new(StringArray::from(vec!["FILE"; count as usize])),
        ),
        ("score", Arc::new(Float64Array::from_iter(floats))),
        (
            "rank",
            Arc::new(Int64Array::from_iter(
                (0..count).map(|row| (row % 31 != 0).then(|| value(row) % 50)),
            )),
        ),
        ("region", Arc::new(StringArray::from_iter(texts))),
        (
            "month",
            Arc::new(Int64Array::from_iter_values(
                (0..count).map(|row| row / 150),
            )),
        ),
        (
            "stac:time_start",
            Arc::new(TimestampMicrosecondArray::from_iter_values(
                (0..count).map(|row| value(row) * 86_400_000_000),
            )),
        ),
    ]);
    let options = ParquetOptions {
        row_group_rows: 100,
        ..ParquetOptions::local()
    };
    let bytes = write_parquet(&batch.schema(), &[batch], &options).expect("writes");
    let mut tables = Tables::default();
    tables.push_parquet(TableHead::read(ParquetSlice::from_bytes(bytes.into())).expect("reads"));
    tables
}

/// The same rows in one row group, so that nothing is computed per row group.
fn one_group() -> Tables {
    let table = run_sql(&many_groups(), "SELECT * FROM level0", None, &ctx())
        .expect("runs")
        .table;
    let mut tables = Tables::default();
    tables.push_table(decoded(table.to_batch().expect("one batch")));
    tables
}

/// The footer of a file of others states what it likes.
#[test]
fn wrong_statistics_of_a_small_level_lose_no_row() {
    let values: ArrayRef = Arc::new(Int64Array::from_iter_values(1_000_000..1_000_040));
    let ids: Vec<String> = (0..40).map(|row| format!("s{row:02}")).collect();
    let types: ArrayRef = Arc::new(StringArray::from(vec!["FILE"; 40]));
    let batch = batch(vec![
        ("id", Arc::new(StringArray::from(ids)) as ArrayRef),
        ("type", types),
        ("v", values),
    ]);
    let options = ParquetOptions {
        row_group_rows: 10,
        ..ParquetOptions::local()
    };
    let mut bytes = write_parquet(&batch.schema(), &[batch], &options).expect("writes");
    let mut replaced = 0;
    // The values themselves stay: statistics are in the footer.
    let end = bytes.len() - 8;
    let footer = u32::from_le_bytes(bytes[end..end + 4].try_into().expect("four bytes")) as usize;
    for at in end - footer..end - 8 {
        // The last value of two row groups.
        if [1_000_029i64, 1_000_039]
            .iter()
            .any(|value| bytes[at..at + 8] == value.to_le_bytes())
        {
            bytes[at..at + 8].copy_from_slice(&1_000_004i64.to_le_bytes());
            replaced += 1;
        }
    }
    assert!(replaced >= 2);
    let head = TableHead::read(ParquetSlice::from_bytes(bytes.into())).expect("reads");
    let (_, maxes) = crate::table::RowGroups::new(&head)
        .bounds(2)
        .expect("statistics");
    assert_eq!(crate::table::cell_text(&maxes, 3), "1000004");
    let mut tables = Tables::default();
    tables.push_parquet(head);
    let result = run_sql(
        &tables,
        "SELECT count(*) AS n FROM data WHERE v >= 1000025",
        None,
        &ctx(),
    )
    .expect("runs");
    assert_eq!(result.csv(), "n\n15\n");
}

#[test]
fn groups_and_first_rows_are_the_same_group_by_group() {
    let (many, one) = (many_groups(), one_group());
    for sql in [
        "SELECT region, count(*) AS n, avg(score) AS a, max(rank) AS m, min(score) AS s FROM data \
            WHERE score < 50 GROUP BY region ORDER BY region",
        "SELECT region, month, count(rank) AS n, sum(rank) AS s, max(\"stac:time_start\") AS t \
            FROM data GROUP BY region, month ORDER BY region, month",
        "SELECT rank % 3 AS k, count(*) AS n, sum(score) + count(score) AS x FROM level0 WHERE \
            score < 0 GROUP BY k ORDER BY k",
        "SELECT upper(region) AS r, max(id) AS last, count(*) AS n FROM data GROUP BY r ORDER BY r",
        "SELECT date_trunc('month', \"stac:time_start\") AS m, count(*) AS n FROM data GROUP BY m \
            ORDER BY m",
        "SELECT region, count(*) AS n FROM data WHERE rank > 1000 GROUP BY region ORDER BY region",
        "SELECT id, score FROM data ORDER BY score DESC NULLS LAST, id LIMIT 7",
        "SELECT id, score FROM data ORDER BY score DESC, id LIMIT 40",
        "SELECT id FROM data ORDER BY score, id LIMIT 20 OFFSET 5",
        "SELECT id, rank FROM data ORDER BY rank NULLS FIRST, id LIMIT 50",
        "SELECT id, rank FROM data WHERE region = 'north' ORDER BY rank DESC NULLS LAST, id DESC \
            LIMIT 9",
        "SELECT id AS name, region FROM level0 ORDER BY region, id LIMIT 10",
        "SELECT id FROM data ORDER BY \"stac:time_start\" DESC, id LIMIT 5",
        "SELECT id, abs(score) AS d FROM data ORDER BY d NULLS LAST, id LIMIT 8",
        "SELECT * FROM (SELECT id, score FROM data ORDER BY score DESC NULLS LAST, id LIMIT 30) \
            ORDER BY id LIMIT 3",
        "SELECT count(*) AS n FROM (SELECT id FROM data ORDER BY score LIMIT 11)",
    ] {
        for limit in [None, Some(6)] {
            let answers = [&many, &one].map(|tables| {
                let result = run_sql(tables, sql, limit, &ctx())
                    .unwrap_or_else(|error| panic!("{sql}: {}", error.report()));
                result
                    .json_rows()
                    .map(|row| Json::Object(row).to_string())
                    .collect::<Vec<_>>()
            });
            assert!(!answers[0].is_empty() || sql.contains("> 1000"), "{sql}");
            assert_eq!(answers[0], answers[1], "{sql} with {limit:?}");
        }
    }
}

#[test]
fn groups_and_first_rows_are_computed_row_group_by_row_group() {
    let tables = many_groups();
    let views = super::frames::Views::new(&tables, &[], &ctx()).expect("views");
    let planned = |sql: &str| {
        let mut context = polars::sql::SQLContext::new()
            .with_function_registry(super::function_registry::registry(Vec::new()));
        let table = super::tables::TableName::parse("data", 1).expect("a table");
        context.register("data", views.frame(table, &ctx()).expect("a frame"));
        let frame = super::top_k::add_top_k_filters(context.execute(sql).expect("is planned"));
        let frame = frame
            .and_then(super::partial_aggregation::replace_group_bys)
            .expect("is computed");
        frame.describe_plan().expect("a plan")
    };
    for sql in [
        "SELECT region, count(*) AS n, avg(score) AS a FROM data WHERE score < 50 GROUP BY region",
        "SELECT region, month, max(rank) AS m FROM data GROUP BY region, month ORDER BY region \
            LIMIT 4",
        "SELECT days_of_trunc('month', \"stac:time_start\") AS m, count(*) AS n FROM data GROUP BY \
            m ORDER BY m",
    ] {
        assert!(
            !planned(sql).contains("LEVEL"),
            "the level is read by the engine: {sql}\n{}",
            planned(sql)
        );
    }
    let first = planned("SELECT id, score FROM data ORDER BY score DESC LIMIT 10");
    assert!(
        first.contains("FILTER"),
        "nothing bounds what is sorted:\n{first}"
    );
}
