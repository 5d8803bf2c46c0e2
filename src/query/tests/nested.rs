//! Lists and structs; expected values are those of DuckDB 1.4.

use super::*;
use arrow::array::{BooleanArray, StructArray, UInt8Array, UInt64Array};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{Field, Fields, Int64Type};

/// Seven samples: lists and structs with nulls, also null elements, and unsigned numbers.
fn samples() -> Tables {
    let lists = [
        Some(vec![Some(1), Some(2)]),
        Some(vec![Some(1), None]),
        None,
        Some(vec![]),
        Some(vec![None]),
        Some(vec![Some(1)]),
    ];
    let lists = lists.into_iter().chain([Some(vec![Some(2)])]);
    let a: ArrayRef = Arc::new(Int64Array::from(vec![
        Some(1),
        None,
        Some(5),
        Some(1),
        None,
        Some(0),
        Some(1),
    ]));
    let b: ArrayRef = Arc::new(StringArray::from(vec![
        Some("x"),
        Some("x"),
        Some("y"),
        None,
        None,
        Some(""),
        Some("x"),
    ]));
    let fields = Fields::from(vec![
        Field::new("a", a.data_type().clone(), true),
        Field::new("b", b.data_type().clone(), true),
    ]);
    let known = NullBuffer::from(vec![true, true, false, true, true, true, true]);
    let mut tables = Tables::default();
    tables.push_table(decoded(batch(vec![
        ("id", texts(&["a", "b", "c", "d", "e", "f", "g"])),
        ("k", numbers(&[1, 2, 3, 4, 5, 6, 7])),
        (
            "l",
            Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(lists)),
        ),
        (
            "st",
            Arc::new(StructArray::new(fields, vec![a, b], Some(known))),
        ),
        (
            "u64",
            Arc::new(UInt64Array::from(vec![
                Some(1),
                Some(2),
                None,
                Some(u64::MAX),
                Some(5),
                Some(6),
                Some(7),
            ])),
        ),
        (
            "u8",
            Arc::new(UInt8Array::from(vec![
                Some(1),
                Some(200),
                None,
                Some(255),
                Some(5),
                Some(6),
                Some(7),
            ])),
        ),
        (
            "x",
            Arc::new(Float64Array::from(vec![
                Some(1.5),
                None,
                Some(f64::NAN),
                Some(0.5),
                Some(-2.0),
                None,
                Some(3.0),
            ])),
        ),
        (
            "f",
            Arc::new(BooleanArray::from(vec![
                Some(true),
                Some(false),
                None,
                Some(true),
                Some(false),
                None,
                Some(true),
            ])),
        ),
    ])));
    tables
}

fn answered(sql: &str) -> Json {
    let result = run_sql(&samples(), sql, None, &ctx())
        .unwrap_or_else(|error| panic!("{sql}: {}", error.report()));
    result
        .json_rows()
        .map(|row| row.into_iter().map(|(_, value)| value).collect::<Json>())
        .collect()
}

fn all(cases: &[(&str, Json)]) {
    for (sql, wanted) in cases {
        assert_eq!(answered(sql), *wanted, "{sql}");
    }
}

fn refused(sql: &str) -> String {
    match run_sql(&samples(), sql, None, &ctx()) {
        Err(error) => error.report(),
        Ok(_) => panic!("{sql} has an answer: {}", answered(sql)),
    }
}

/// The rows of one column.
fn column(sql: &str) -> Vec<Json> {
    answered(sql)
        .as_array()
        .expect("rows")
        .iter()
        .map(|row| row[0].clone())
        .collect()
}

#[test]
fn lists_and_structs_are_sorted_with_null_elements_last() {
    for (order, wanted) in [
        ("l, k", [4, 6, 1, 2, 7, 5, 3]),
        ("l DESC, k", [5, 7, 2, 1, 6, 4, 3]),
        ("l NULLS FIRST, k", [3, 4, 6, 1, 2, 7, 5]),
        ("l DESC NULLS FIRST, k", [3, 5, 7, 2, 1, 6, 4]),
        ("st, k", [6, 1, 7, 4, 2, 5, 3]),
        ("st DESC, k", [5, 2, 4, 1, 7, 6, 3]),
    ] {
        assert_eq!(
            column(&format!("SELECT k FROM data ORDER BY {order}")),
            wanted,
            "{order}"
        );
        assert_eq!(
            column(&format!("SELECT k FROM data ORDER BY {order} LIMIT 3")),
            wanted[..3],
            "{order}"
        );
        let list = json!([[wanted]]);
        assert_eq!(
            answered(&format!("SELECT list(k ORDER BY {order}) FROM data")),
            list,
            "{order}"
        );
        let ranked = format!(
            "SELECT k FROM (SELECT k, row_number() OVER (ORDER BY {order}) AS r FROM data) AS t \
                ORDER BY r"
        );
        assert_eq!(column(&ranked), wanted, "{order}");
        let united = format!(
            "SELECT k FROM (SELECT k, l, st FROM data UNION ALL SELECT k, l, st FROM data WHERE k \
                > 9 ORDER BY {order}) AS t"
        );
        assert_eq!(column(&united), wanted, "{order}");
    }
    all(&[
        (
            "SELECT min(l), max(l), min(st), max(st) FROM data",
            json!([[[], [null], {"a": 0, "b": ""}, {"a": null, "b": null}]]),
        ),
        (
            "SELECT f, max(l) FROM data GROUP BY f ORDER BY f",
            json!([[false, [null]], [true, [2]], [null, [1]]]),
        ),
        (
            "SELECT max(l), min(st) FROM data WHERE k > 9",
            json!([[null, null]]),
        ),
        (
            "SELECT arg_max(k, l), arg_min(k, l), min(l, 2) FROM data",
            json!([[5, 4, [[], [1]]]]),
        ),
        (
            "SELECT list(l ORDER BY l DESC) FROM data",
            json!([[[[null], [2], [1, null], [1, 2], [1], [], null]]]),
        ),
        (
            "SELECT rank() OVER (ORDER BY l), rank() OVER (ORDER BY st DESC), max(l) OVER (ORDER \
                BY k), min(st) OVER (ORDER BY k) FROM data ORDER BY k",
            json!([
                [3, 4, [1, 2], {"a": 1, "b": "x"}],
                [4, 2, [1, null], {"a": 1, "b": "x"}],
                [7, 7, [1, null], {"a": 1, "b": "x"}],
                [1, 3, [1, null], {"a": 1, "b": "x"}],
                [6, 1, [null], {"a": 1, "b": "x"}],
                [2, 6, [null], {"a": 0, "b": ""}],
                [5, 4, [null], {"a": 0, "b": ""}]
            ]),
        ),
        (
            "SELECT DISTINCT ON (st) k FROM data ORDER BY st DESC, k",
            json!([[5], [2], [4], [1], [6], [3]]),
        ),
        (
            "SELECT count(DISTINCT st), count(DISTINCT l) FROM data",
            json!([[5, 6]]),
        ),
    ]);
}

#[test]
fn lists_and_structs_are_compared_element_by_element() {
    all(&[
        (
            "SELECT a.l < b.l, a.l = b.l, a.l >= b.l, a.st = b.st, a.st < b.st, a.st <> b.st FROM \
                data AS a, data AS b WHERE a.k = 2 AND b.k < 6 ORDER BY b.k",
            json!([
                [false, false, true, false, false, true],
                [false, true, true, true, false, false],
                [null, null, null, null, null, null],
                [false, false, true, false, false, true],
                [true, false, false, false, true, true]
            ]),
        ),
        (
            "SELECT st = NULL, NULL < l, st IS DISTINCT FROM NULL, l IS NOT DISTINCT FROM NULL \
                FROM data WHERE k < 4 ORDER BY k",
            json!([
                [null, null, true, false],
                [null, null, true, false],
                [null, null, false, true]
            ]),
        ),
        (
            "SELECT k FROM data WHERE st = NULL OR l = [1, NULL]",
            json!([[2]]),
        ),
        (
            "SELECT k FROM data WHERE l IN ([1, 2], [NULL]) ORDER BY k",
            json!([[1], [5]]),
        ),
        (
            "SELECT [x] = [x], [x] > [CAST('inf' AS DOUBLE)], [0e0] < [-0e0], l < [1.5] FROM data \
                WHERE k IN (3, 7) ORDER BY k",
            json!([[true, true, false, null], [true, false, false, false]]),
        ),
        (
            "SELECT greatest([1], [1, NULL]), least([1], [1, NULL]), greatest([1], NULL) FROM data \
                LIMIT 1",
            json!([[[1, null], [1], [1]]]),
        ),
        (
            "SELECT k, st IS DISTINCT FROM lag(st) OVER (ORDER BY k) AS d FROM data ORDER BY k \
                LIMIT 2",
            json!([[1, true], [2, true]]),
        ),
        (
            "SELECT CASE l WHEN [1] THEN 'one' WHEN [1, NULL] THEN 'two' END FROM data ORDER BY k \
                LIMIT 3",
            json!([[null], ["two"], [null]]),
        ),
    ]);
    for sql in [
        "SELECT l = k FROM data",
        "SELECT st = l FROM data",
        "SELECT st < 'x' FROM data",
        "SELECT l = ['a'] FROM data",
    ] {
        assert!(
            refused(sql).contains("can't be compared"),
            "{sql}: {}",
            refused(sql)
        );
    }
}

#[test]
fn written_numbers_and_lists_in_other_places_do_not_stop() {
    all(&[
        (
            "SELECT lag(CASE WHEN f THEN 0 END, 0) OVER (ORDER BY k) FROM data ORDER BY k LIMIT 2",
            json!([[0], [null]]),
        ),
        (
            "SELECT last_value(nullif(2, k)) OVER (ORDER BY k) FROM data ORDER BY k LIMIT 2",
            json!([[2], [null]]),
        ),
        ("SELECT arg_max(nullif(2, k), k) FROM data", json!([[2]])),
    ]);
    for sql in [
        "SELECT l + k FROM data",
        "SELECT st * 2 FROM data",
        "SELECT l - l FROM data",
        "SELECT l // 2 FROM data",
    ] {
        assert!(
            refused(sql).contains("does not take"),
            "{sql}: {}",
            refused(sql)
        );
    }
}

#[test]
fn null_structs_stay_null() {
    let x = json!({"a": 1, "b": "x"});
    all(&[
        (
            "SELECT coalesce(st, NULL), coalesce(NULL, st), ifnull(st, st) FROM data WHERE k IN \
                (1, 3) ORDER BY k",
            json!([[x, x, x], [null, null, null]]),
        ),
        (
            "SELECT CASE WHEN k = 1 THEN st ELSE NULL END, CASE WHEN k = 1 THEN st END, if(k = 1, \
                st, NULL) FROM data WHERE k < 3 ORDER BY k",
            json!([[x, x, x], [null, null, null]]),
        ),
        (
            "SELECT CASE WHEN f THEN st ELSE st END FROM data WHERE k IN (3, 7) ORDER BY k",
            json!([[null], [x]]),
        ),
        (
            "SELECT coalesce(a.st, b.st) FROM data AS a LEFT JOIN data AS b ON a.k = b.k AND b.k > \
                3 WHERE a.k IN (1, 3) ORDER BY a.k",
            json!([[x], [null]]),
        ),
        (
            "SELECT st IS NULL, coalesce(st, NULL) IS NULL FROM data WHERE k IN (3, 5) ORDER BY k",
            json!([[true, true], [false, false]]),
        ),
        (
            "SELECT nullif(st, st), nullif(l, [1, 2]) FROM data WHERE k < 3 ORDER BY k",
            json!([[null, null], [null, [1, null]]]),
        ),
        (
            "SELECT max(CASE WHEN f THEN st END), count(CASE WHEN k > 2 THEN st END) FROM data",
            json!([[{"a": 1, "b": null}, 4]]),
        ),
        (
            "SELECT f, list(st ORDER BY k) FILTER (WHERE k < 4) FROM data GROUP BY f ORDER BY f",
            json!([[false, [{"a": null, "b": "x"}]], [true, [x]], [null, [null]]]),
        ),
    ]);
}

#[test]
fn written_lists_have_the_type_of_their_elements() {
    all(&[
        (
            "SELECT [x, NULL], [1.5e0, NULL], [x, k] FROM data WHERE k < 3 ORDER BY k",
            json!([
                [[1.5, null], [1.5, null], [1.5, 1.0]],
                [[null, null], [1.5, null], [null, 2.0]]
            ]),
        ),
        (
            "SELECT [u64, 1], [1, u64], [u64, NULL], [u64, u8] FROM data WHERE k = 4",
            json!([[
                [u64::MAX, 1],
                [1, u64::MAX],
                [u64::MAX, null],
                [u64::MAX, 255]
            ]]),
        ),
        (
            "SELECT [u64, k], [u64, -1] FROM data WHERE k = 2",
            json!([[[2, 2], [2, -1]]]),
        ),
        (
            "SELECT [k], [st, NULL], [l, [9]] FROM data WHERE k = 1",
            json!([[[1], [{"a": 1, "b": "x"}, null], [[1, 2], [9]]]]),
        ),
        (
            "SELECT list_sum([1, u64]), list_sum([u64]) FROM data WHERE k = 2",
            json!([[3, 2]]),
        ),
        (
            "SELECT list_sum(list_transform([1, u64], e -> e + 1)) FROM data WHERE k = 2",
            json!([[5]]),
        ),
        (
            "SELECT list_transform([u8], e -> e + 1), list_transform(l, e -> e * 2) FROM data \
                WHERE k = 2",
            json!([[[201], [2, null]]]),
        ),
        (
            "SELECT CASE WHEN k = 1 THEN [u64] ELSE l END FROM data WHERE k < 3 ORDER BY k",
            json!([[[1]], [[1, null]]]),
        ),
        (
            "SELECT CASE WHEN k > 1 THEN [2.5, NULL] END FROM data WHERE k < 3 ORDER BY k",
            json!([[null], [[2.5, null]]]),
        ),
    ]);
    all(&[
        (
            "SELECT [u8] AS v FROM data WHERE k = 4 UNION ALL SELECT l FROM data WHERE k = 2 ORDER \
                BY v",
            json!([[[1, null]], [[255]]]),
        ),
        (
            "SELECT [1] AS v FROM data INTERSECT SELECT l FROM data",
            json!([[[1]]]),
        ),
        (
            "SELECT st FROM data WHERE k = 3 UNION SELECT NULL FROM data",
            json!([[null]]),
        ),
    ]);
    for sql in [
        "SELECT list_transform([u64], e -> e * 2) FROM data",
        "SELECT list_transform([1, u64], e -> e + 1) FROM data",
        "SELECT list_transform([u8], e -> e * 2) FROM data",
        "SELECT [u64, k] FROM data",
        "SELECT list_concat([u64], [1]) FROM data",
    ] {
        assert!(refused(sql).contains("fit"), "{sql}: {}", refused(sql));
    }
}

#[test]
fn list_functions_treat_nulls_as_duckdb() {
    all(&[
        (
            "SELECT list_concat(l, NULL), list_concat(NULL, l), list_concat(l, l), list_append(l, \
                7) FROM data WHERE k IN (2, 3) ORDER BY k",
            json!([
                [[1, null], [1, null], [1, null, 1, null], [1, null, 7]],
                [[], [], [], [7]]
            ]),
        ),
        (
            "SELECT list_concat([u8], [k]) FROM data WHERE k = 4",
            json!([[[255, 4]]]),
        ),
        (
            "SELECT list_distinct([1, NULL, 1, k]), len(list_distinct(l)), list_unique([1, NULL, \
                k]) FROM data WHERE k IN (1, 3) ORDER BY k",
            json!([[[1], 2, 1], [[1, 3], null, 2]]),
        ),
        (
            "SELECT array_to_string(['a', NULL, 'b'], '-'), array_to_string([NULL], '-'), \
                array_to_string(['', NULL, ''], ','), array_to_string(l, ',') FROM data WHERE k < \
                4 ORDER BY k",
            json!([
                ["a-b", null, ",", "1,2"],
                ["a-b", null, ",", "1"],
                ["a-b", null, ",", null]
            ]),
        ),
        (
            "SELECT list_sort([3, NULL, 1]), list_reverse_sort([3, NULL, 1]), list_sort([[1, \
                NULL], [1], NULL, [1, 2]]) FROM data LIMIT 1",
            json!([[[1, 3, null], [3, 1, null], [[1], [1, 2], [1, null], null]]]),
        ),
        (
            "SELECT list_min([x, 1]), list_max([x, 1]), list_max([[1], [1, NULL], []]), \
                list_avg([u64, NULL]) FROM data WHERE k = 7",
            json!([[1.0, 3.0, [1, null], 7.0]]),
        ),
        (
            "SELECT list_contains(l, 1), list_contains(l, NULL), list_contains([l], [1, NULL]), \
                list_contains([1.5], k) FROM data WHERE k < 4 ORDER BY k",
            json!([
                [true, null, false, false],
                [true, null, true, false],
                [null, null, false, false]
            ]),
        ),
        (
            "SELECT l[2:], l[-1:], [st][1:1] FROM data WHERE k IN (1, 3) ORDER BY k",
            json!([
                [[2], [2], [{"a": 1, "b": "x"}]], [null, null, [null]]
            ]),
        ),
        (
            "SELECT list_filter(l, e -> e > 1), list_filter(l, e -> e IS NULL) FROM data WHERE k < \
                4 ORDER BY k",
            json!([[[2], []], [[], [null]], [null, null]]),
        ),
    ]);
}

#[test]
fn lists_of_one_select_are_unnested_together() {
    all(&[
        (
            "SELECT unnest([1, 2, 3]) AS a, unnest([10, 20]) AS b",
            json!([[1, 10], [2, 20], [3, null]]),
        ),
        (
            "SELECT k, unnest(l) AS a, unnest([10, 20]) AS b FROM data WHERE k < 4",
            json!([
                [1, 1, 10],
                [1, 2, 20],
                [2, 1, 10],
                [2, null, 20],
                [3, null, 10],
                [3, null, 20]
            ]),
        ),
        (
            "SELECT k, unnest(l) AS a, unnest(l) AS b FROM data",
            json!([
                [1, 1, 1],
                [1, 2, 2],
                [2, 1, 1],
                [2, null, null],
                [5, null, null],
                [6, 1, 1],
                [7, 2, 2]
            ]),
        ),
        (
            "SELECT k, unnest(l) AS a FROM data",
            json!([[1, 1], [1, 2], [2, 1], [2, null], [5, null], [6, 1], [7, 2]]),
        ),
    ]);
}

#[test]
fn texts_are_read_as_lists() {
    for (sql, wanted) in [
        (
            "SELECT '[1, 2]'::INTEGER[], '[1, null, 3]'::BIGINT[], '[a, ''b c'']'::VARCHAR[], \
                '[]'::INT[], '[[1,2],[3],null]'::INT[][], '[2020-01-01]'::DATE[]",
            json!([[
                [1, 2],
                [1, null, 3],
                ["a", "b c"],
                [],
                [[1, 2], [3], null],
                ["2020-01-01"]
            ]]),
        ),
        (
            "SELECT TRY_CAST('[1,x]' AS INT[]), TRY_CAST('1,2' AS INT[]), \
                typeof('[1]'::SMALLINT[]), '[1,2]'::INT[] || [3], ('[4,5]'::INT[])[2]",
            json!([[[1, null], null, "SMALLINT[]", [1, 2, 3], 5]]),
        ),
        (
            "SELECT list_sum(l::DOUBLE[]) FROM (SELECT '[' || x || ',1.5]' AS l \
                FROM (VALUES (1), (2)) AS t(x)) ORDER BY 1",
            json!([[2.5], [3.5]]),
        ),
    ] {
        assert_eq!(Json::Array(rows(sql)), wanted, "{sql}");
    }
    assert!(report("SELECT '[1,x]'::INT[]").contains("'x' is no"));
    assert!(report("SELECT '[1'::INT[]").contains("is no INTEGER[]"));
    assert!(report("SELECT '[300]'::TINYINT[]").contains("does not fit in TINYINT"));
}
