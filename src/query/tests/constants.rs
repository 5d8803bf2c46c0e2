//! Constants below aggregates and windows, samples below aggregates, and values that change their
//! type; expected values are those of DuckDB 1.4.

use super::*;

fn all(cases: &[(&str, Json)]) {
    for (sql, wanted) in cases {
        assert_eq!(Json::Array(rows(sql)), *wanted, "{sql}");
    }
}

#[test]
fn aggregates_over_a_constant_count_every_row() {
    all(&[
        ("SELECT sum(1) FROM level1", json!([[4]])),
        (
            "SELECT id, sum(1) FROM level1 GROUP BY id ORDER BY id",
            json!([["image", 2], ["label", 2]]),
        ),
        (
            "SELECT count(CASE WHEN true THEN 1 END), count(CASE WHEN false THEN 1 END) FROM \
                level1",
            json!([[4, 0]]),
        ),
        ("SELECT product(2) FROM level1", json!([[16.0]])),
        ("SELECT list('x') FROM data", json!([[["x", "x"]]])),
        (
            "SELECT string_agg('x'), string_agg('x', '-') FROM data",
            json!([["x,x", "x-x"]]),
        ),
        ("SELECT regr_count(cloud_cover, 1) FROM data", json!([[2]])),
        (
            "SELECT stddev(5), var_pop(5) FROM level1",
            json!([[0.0, 0.0]]),
        ),
        (
            "SELECT sum(2), count(2), max(2), list(2) FROM level1 WHERE false",
            json!([[null, 0, null, null]]),
        ),
        (
            "SELECT any_value(1), first(1), mode(1), arg_max(1, cloud_cover) FROM data",
            json!([[1, 1, 1, 1]]),
        ),
        (
            "SELECT lead(1) OVER (ORDER BY id), lag('a') OVER (ORDER BY id) FROM data ORDER BY id",
            json!([[1, null], [null, "a"]]),
        ),
        (
            "SELECT sum(n) FROM (SELECT 3 AS n FROM level1)",
            json!([[12]]),
        ),
        (
            "SELECT sum(1) FILTER (WHERE id = 'image') FROM level1",
            json!([[2]]),
        ),
    ]);
}

#[test]
fn a_constant_beside_a_subquery_has_the_value_of_every_row() {
    let four = |value: Json| Json::Array(vec![Json::Array(vec![value]); 4]);
    all(&[
        (
            "SELECT 1.5 = (SELECT avg(cloud_cover) FROM data) FROM level1",
            four(json!(false)),
        ),
        (
            "SELECT 0.5e0 < (SELECT max(cloud_cover) FROM data) FROM level1",
            four(json!(true)),
        ),
        (
            "SELECT nullif(1.5e0, (SELECT max(cloud_cover) FROM data)) FROM level1",
            four(json!(1.5)),
        ),
        (
            "SELECT CASE WHEN 9.0 >= (SELECT max(cloud_cover) FROM data) THEN NULL ELSE NULL END \
                FROM level1",
            four(Json::Null),
        ),
        (
            "SELECT count(id) FROM (SELECT id, 1.5 = (SELECT avg(cloud_cover) FROM data) AS same \
                FROM level1)",
            json!([[4]]),
        ),
    ]);
}

#[test]
fn sets_of_numbers_with_and_without_a_sign_are_compared_by_value() {
    all(&[
        (
            "SELECT 3::ubigint AS n FROM data INTERSECT SELECT 3",
            json!([[3]]),
        ),
        (
            "SELECT 1 AS n FROM data EXCEPT SELECT 2::ubigint",
            json!([[1]]),
        ),
        (
            "SELECT 2 AS n FROM data EXCEPT SELECT 2::ubigint",
            json!([]),
        ),
        (
            "SELECT 3::ubigint AS n FROM data UNION SELECT 3",
            json!([[3]]),
        ),
    ]);
}

#[test]
fn aggregates_of_no_rows_do_not_stop() {
    all(&[
        (
            "SELECT arg_max(id, 1), max_by(id, cloud_cover), median(cloud_cover) FROM data WHERE \
                false",
            json!([[null, null, null]]),
        ),
        (
            "SELECT regexp_extract(id, 'a'), date_trunc('month', \"stac:time_start\") FROM data \
                WHERE false",
            json!([]),
        ),
    ]);
}

#[test]
fn samples_are_taken_before_conditions_and_aggregates() {
    for (sql, wanted) in [
        ("SELECT count(*) FROM level1 USING SAMPLE 3", json!([[3]])),
        (
            "SELECT count(*) FROM (SELECT * FROM level1 USING SAMPLE 3)",
            json!([[3]]),
        ),
        ("SELECT sum(1) FROM level1 USING SAMPLE 100%", json!([[4]])),
        (
            "WITH s AS (SELECT id FROM level1 USING SAMPLE 2) SELECT count(*) FROM s",
            json!([[2]]),
        ),
        (
            "SELECT count(*) FROM level1 WHERE id = 'image' USING SAMPLE 4",
            json!([[2]]),
        ),
    ] {
        assert_eq!(Json::Array(rows(sql)), wanted, "{sql}");
    }
    // Half of the rows are sampled before the condition keeps some of them.
    assert_eq!(
        rows("SELECT count(*) FROM level1 USING SAMPLE 20%").len(),
        1
    );
}

#[test]
fn arithmetic_of_constants_has_types_and_overflows() {
    for sql in [
        "SELECT 2147483647::int + 1::int",
        "SELECT 127::tinyint + 1::tinyint",
        "SELECT 9223372036854775807 + 1",
    ] {
        let text = report(sql);
        assert!(
            text.contains("does not fit in") && !text.contains("i32") && !text.contains("i64"),
            "{sql}: {text}"
        );
    }
    all(&[
        (
            "SELECT 0.1 + 0.2 = 0.3, 1.1 * 1.1, 2.5 - 0.75",
            json!([[true, 1.21, 1.75]]),
        ),
        (
            "SELECT 5.5 // 2, 7 // 2, 5.5 % 2, cloud_cover // 2 FROM data WHERE id = 'lima'",
            json!([[2.75, 3, 1.5, 0.125]]),
        ),
        (
            "SELECT 2.5::int, -2.5::int, 2.5::double::int, (1.5 + 1)::int",
            json!([[3, -3, 2, 3]]),
        ),
        ("SELECT round(1234.5, -2)", json!([[1200.0]])),
        (
            "SELECT (cloud_cover * 10)::int AS n, count(*) FROM data GROUP BY n ORDER BY n",
            json!([[2, 1], [8, 1]]),
        ),
    ]);
}

#[test]
fn numbers_of_32_bits_stay_so_and_are_added_with_64() {
    let third = f64::from(1f32 / 3f32);
    let found = rows(
        "SELECT (1::float / 3)::double, typed FROM (SELECT sum(0.1::float) AS typed FROM level1)",
    );
    let row = found[0].as_array().expect("a row");
    assert_eq!(row[0].as_f64(), Some(third));
    assert_eq!(row[1].as_f64(), Some(4.0 * f64::from(0.1f32)));
}

#[test]
fn texts_are_cast_as_duckdb_reads_them() {
    all(&[
        (
            "SELECT '1.5'::int, ' 12 '::int, try_cast('abc' AS int), try_cast('1.5' AS int)",
            json!([[2, 12, null, 2]]),
        ),
        (
            "SELECT 'yes'::bool, try_cast('x' AS bool)",
            json!([[true, null]]),
        ),
        (
            "SELECT '2023-1-2'::date, '2023-01-02 03:04'::timestamp",
            json!([["2023-01-02", "2023-01-02T03:04:00"]]),
        ),
        (
            "SELECT try_cast(id AS int) FROM data",
            json!([[null], [null]]),
        ),
        (
            "SELECT id FROM data WHERE cloud_cover = '0.25' OR cloud_cover IN ('0.3')",
            json!([["lima"]]),
        ),
    ]);
    assert!(report("SELECT 'abc'::int").contains("the text 'abc' is no number"));
    assert!(report("SELECT id::int FROM data").contains("TRY_CAST"));
}

#[test]
fn dates_with_intervals_are_times_and_cut_times_are_dates() {
    all(&[
        (
            "SELECT date '2023-03-12' + interval 6 hour",
            json!([["2023-03-12T06:00:00"]]),
        ),
        (
            "SELECT date_add(date '2023-03-12', interval 2 week)",
            json!([["2023-03-26T00:00:00"]]),
        ),
        (
            "SELECT date_trunc('month', timestamp '2023-05-06 01:02:03')",
            json!([["2023-05-01"]]),
        ),
        (
            "SELECT date_trunc('hour', timestamp '2023-05-06 01:02:03')",
            json!([["2023-05-06T01:00:00"]]),
        ),
        (
            "SELECT extract(epoch FROM date '1970-01-02')",
            json!([[86400.0]]),
        ),
    ]);
}

#[test]
fn tables_are_written_out_with_their_clauses() {
    assert_eq!(rows("TABLE data LIMIT 1").len(), 1);
    assert_eq!(rows("TABLE level1").len(), 4);
    assert_eq!(
        rows("SELECT count(*) FROM (TABLE level1 LIMIT 3)"),
        [json!([3])]
    );
}

#[test]
fn subqueries_look_at_rows_around_them_by_any_comparison() {
    all(&[
        (
            "SELECT a.id, (SELECT count(*) FROM data AS b WHERE b.id <> a.id) FROM data AS a ORDER \
                BY 1",
            json!([["bonn", 1], ["lima", 1]]),
        ),
        (
            "SELECT a.id FROM data AS a WHERE EXISTS (SELECT 1 FROM data AS b WHERE b.cloud_cover \
                > a.cloud_cover)",
            json!([["lima"]]),
        ),
        (
            "SELECT a.id, (SELECT b.id FROM level1 AS b WHERE b.\"internal:parent_id\" = \
                a.\"internal:current_id\" ORDER BY b.id DESC LIMIT 1) FROM data AS a ORDER BY 1",
            json!([["bonn", "label"], ["lima", "label"]]),
        ),
    ]);
}

#[test]
fn functions_of_text_take_one_pattern_or_refuse() {
    assert!(
        report("SELECT regexp_extract(id, type || id) FROM level1").contains("same in all rows")
    );
    all(&[
        (
            "SELECT 'hello'[2:4], 'hello'[-1], translate('abc', 'ab', 'x')",
            json!([["ell", "o", "xc"]]),
        ),
        (
            "SELECT list_sort([3, 1, 2]), list_concat([1], [2]), range(3)",
            json!([[[1, 2, 3], [1, 2], [0, 1, 2]]]),
        ),
        (
            "SELECT id, [1, 2] FROM data ORDER BY id",
            json!([["bonn", [1, 2]], ["lima", [1, 2]]]),
        ),
        (
            "SELECT max(\"internal:size\", 2), count(DISTINCT (id, type)) FROM level1",
            json!([[[40, 30], 2]]),
        ),
        (
            "SELECT 3 = ANY([1, 3]), 3 > ALL([1, 2])",
            json!([[true, true]]),
        ),
    ]);
}
