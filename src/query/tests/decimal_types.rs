//! Types of results, and values that have others in the engine; expected values are those of DuckDB
//! 1.4.

use super::*;

fn all(cases: &[(&str, Json)]) {
    for (sql, wanted) in cases {
        assert_eq!(Json::Array(rows(sql)), *wanted, "{sql}");
    }
}

/// The types that DESCRIBE has for the columns of a query.
fn described(sql: &str) -> Vec<String> {
    let columns = rows(&format!("DESCRIBE {sql}"));
    let name = |column: &Json| column[1].as_str().map(str::to_owned);
    columns.iter().filter_map(name).collect()
}

const NUMBERS: &str = "(SELECT 2.35::DECIMAL(5, 2) AS x, 1.125::DECIMAL(9, 3) AS y) AS t";

#[test]
fn decimal_numbers_have_digits_in_their_types() {
    let cases = [
        ("x + y", "DECIMAL(10,3)"),
        ("x * y", "DECIMAL(14,5)"),
        ("x - 1", "DECIMAL(13,2)"),
        ("x * 1.5", "DECIMAL(7,3)"),
        ("x % y", "DECIMAL(9,3)"),
        ("x / y", "DOUBLE"),
        ("round(x, 1)", "DECIMAL(5,1)"),
        ("floor(x)", "DECIMAL(5,0)"),
        ("trunc(x)", "DECIMAL(5,0)"),
        ("x + 1::BIGINT", "DECIMAL(22,2)"),
        ("-x", "DECIMAL(5,2)"),
        ("abs(x)", "DECIMAL(5,2)"),
        ("[x]", "DECIMAL(5,2)[]"),
    ];
    let expressions: Vec<&str> = cases.iter().map(|(expression, _)| *expression).collect();
    let wanted: Vec<&str> = cases.iter().map(|(_, dtype)| *dtype).collect();
    let typed: Vec<String> = expressions
        .iter()
        .map(|expression| format!("typeof({expression})"))
        .collect();
    let sql = format!("SELECT {} FROM {NUMBERS}", typed.join(", "));
    assert_eq!(rows(&sql), [json!(wanted)]);
    let sql = format!("SELECT {} FROM {NUMBERS}", expressions.join(", "));
    assert_eq!(described(&sql), wanted);
    let sql = format!("SELECT sum(x), max(x), sum(x * y) FROM {NUMBERS}");
    assert_eq!(
        described(&sql),
        ["DECIMAL(38,2)", "DECIMAL(5,2)", "DECIMAL(38,5)"]
    );
}

#[test]
fn decimal_numbers_are_computed_exactly() {
    let sql = format!(
        "SELECT (x + y)::VARCHAR, (x * 1.1)::VARCHAR, (x % 2)::VARCHAR, round(x, 1)::VARCHAR, \
            floor(x)::VARCHAR, (-x)::VARCHAR, (x % 0) IS NULL FROM {NUMBERS}"
    );
    assert_eq!(
        rows(&sql),
        [json!(["3.475", "2.585", "0.35", "2.4", "2", "-2.35", true])]
    );
    all(&[(
        "SELECT median(x)::VARCHAR, quantile_cont(x, 0.3)::VARCHAR, typeof(quantile_cont(x, 0.5)) \
            FROM (SELECT unnest([1.5::DECIMAL(5, 2), 2.35::DECIMAL(5, 2)]) AS x)",
        json!([["1.92", "1.75", "DECIMAL(5,2)"]]),
    )]);
    all(&[(
        "SELECT mad(x)::VARCHAR, typeof(mad(x)) \
            FROM (SELECT unnest([0::DECIMAL(5, 0), 3::DECIMAL(5, 0), 4::DECIMAL(5, 0), \
                5::DECIMAL(5, 0)]) AS x)",
        json!([["1", "DECIMAL(5,0)"]]),
    )]);
    let text = report("SELECT 123456789012345.5::DECIMAL(18, 3) * 2.5::DECIMAL(10, 4)");
    assert!(text.contains("does not fit in DECIMAL(18,7)"), "{text}");
}

#[test]
fn written_decimal_numbers_have_digits_in_their_types() {
    all(&[
        (
            "SELECT typeof(0.5), typeof(.5), typeof(1.5 * 2.25), typeof(1.5 + 1), \
                typeof(1.5 - 0.25), typeof([1.5, 2]), typeof(1.5 / 2), \
                typeof(coalesce(NULL, 1, 2.5)), typeof(NULL), typeof(1e3)",
            json!([[
                "DECIMAL(2,1)",
                "DECIMAL(1,1)",
                "DECIMAL(5,3)",
                "DECIMAL(12,1)",
                "DECIMAL(4,2)",
                "DECIMAL(11,1)[]",
                "DOUBLE",
                "DECIMAL(11,1)",
                "\"NULL\"",
                "DOUBLE"
            ]]),
        ),
        (
            "SELECT column_type FROM (DESCRIBE SELECT 1.50 AS a, 2 AS b)",
            json!([["DECIMAL(3,2)"], ["INTEGER"]]),
        ),
    ]);
    assert_eq!(
        described("SELECT 1.5, CASE WHEN true THEN 1 ELSE 2.5 END, 'x'"),
        ["DECIMAL(2,1)", "DECIMAL(11,1)", "VARCHAR"]
    );
}

#[test]
fn written_decimal_numbers_are_decimal_numbers_in_subqueries_and_texts() {
    all(&[
        (
            "SELECT typeof(x), x::VARCHAR FROM (VALUES (1.10), (2.5), (NULL)) AS t(x)",
            json!([
                ["DECIMAL(3,2)", "1.10"],
                ["DECIMAL(3,2)", "2.50"],
                ["DECIMAL(3,2)", null]
            ]),
        ),
        (
            "SELECT typeof(x), typeof(y), typeof(z) FROM (VALUES (1.5, 1, 2e0), (2, 3, 0.5)) \
                AS t(x, y, z) LIMIT 1",
            json!([["DECIMAL(11,1)", "INTEGER", "DOUBLE"]]),
        ),
        (
            "WITH t AS (SELECT 0.1 AS x UNION ALL SELECT 0.20 UNION ALL SELECT 3) \
                SELECT sum(x)::VARCHAR, typeof(sum(x)), sum(x) = 3.3, typeof(min(x)) FROM t",
            json!([["3.30", "DECIMAL(38,2)", true, "DECIMAL(12,2)"]]),
        ),
        (
            "SELECT sum(w)::VARCHAR, avg(w) FROM (SELECT CASE WHEN id = 'bonn' THEN 0.10 ELSE 0 \
                END AS w FROM data)",
            json!([["0.10", 0.05]]),
        ),
        (
            "SELECT id, x::VARCHAR, typeof(cloud_cover * x) FROM data, (SELECT 0.25 AS x) AS t \
                WHERE cloud_cover = x",
            json!([["lima", "0.25", "DOUBLE"]]),
        ),
        (
            "SELECT typeof(x) FROM (SELECT 12345678901234567.5 AS x)",
            json!([["DOUBLE"]]),
        ),
        (
            "SELECT (CASE WHEN true THEN 1.10 ELSE 2 END)::VARCHAR, coalesce(NULL, 1.10)::VARCHAR, \
                [1.10, 2.5]::VARCHAR, 'a' || 1.50, concat(1.50, 'b'), concat_ws('-', 1, 2.50), \
                1.50::VARCHAR, [1.50] || [2]",
            json!([[
                "1.10",
                "1.10",
                "[1.10, 2.50]",
                "a1.50",
                "1.50b",
                "1-2.50",
                "1.50",
                [1.5, 2.0]
            ]]),
        ),
    ]);
    assert_eq!(
        described("SELECT x, x * 2 AS y FROM (VALUES (1.10), (2.5)) AS t(x)"),
        ["DECIMAL(3,2)", "DECIMAL(13,2)"]
    );
}

#[test]
fn described_columns_have_the_types_of_the_rows() {
    assert_eq!(
        described(
            "SELECT year(DATE '2021-05-01'), length('a'), DATE '2021-05-01' - DATE '2021-01-01', \
                extract(dow FROM DATE '2021-05-01'), sum(1)"
        ),
        ["BIGINT", "BIGINT", "BIGINT", "BIGINT", "HUGEINT"]
    );
    let sums = "(SELECT id, sum(\"internal:size\") AS s FROM level1 GROUP BY id) AS t";
    assert_eq!(
        described(&format!(
            "SELECT s, s + 1 AS b, s / 2 AS c, s::BIGINT AS d, s // 2 AS e, s IS NULL AS f, \
                coalesce(s, 0) AS g, -s AS h FROM {sums}"
        )),
        [
            "HUGEINT", "HUGEINT", "DOUBLE", "BIGINT", "HUGEINT", "BOOLEAN", "HUGEINT", "HUGEINT"
        ]
    );
    let types =
        format!("SELECT typeof(s), typeof(max(s)), typeof(count(s)) FROM {sums} GROUP BY s");
    assert_eq!(
        rows(&format!("{types} ORDER BY s LIMIT 1")),
        [json!(["HUGEINT", "HUGEINT", "BIGINT"])]
    );
    all(&[(
        "SELECT typeof(list_sum([1, 2])), typeof(list_sum([1.5::DOUBLE])), typeof(factorial(5)), \
            typeof(sum(1) OVER ()), typeof(sum(1.5::DOUBLE) OVER ()), typeof(max(1) OVER ())",
        json!([[
            "HUGEINT", "DOUBLE", "HUGEINT", "HUGEINT", "DOUBLE", "INTEGER"
        ]]),
    )]);
    all(&[(
        "SELECT typeof(7 // 2), typeof(7::BIGINT // 2), typeof(1 // 0), 7 // 2, -7 // 2, \
            typeof(sum(1)), typeof(list_position([1, 2], 2)), list_position([1, 2], 3)",
        json!([[
            "INTEGER", "BIGINT", "INTEGER", 3, -3, "HUGEINT", "INTEGER", null
        ]]),
    )]);
}

#[test]
fn sums_of_windows_and_lists_of_integers_are_hugeint() {
    all(&[(
        "SELECT typeof(sum(x) OVER ()), typeof(sum(x) OVER (ORDER BY x) + 1), \
            typeof(list_sum([x])), typeof(sum(x::DOUBLE) OVER ()), typeof(list_sum([x::DOUBLE])), \
            typeof(avg(x) OVER ()), typeof(list_max([x])) \
            FROM (VALUES (1)) AS t(x) GROUP BY x",
        json!([[
            "HUGEINT", "HUGEINT", "HUGEINT", "DOUBLE", "DOUBLE", "DOUBLE", "INTEGER"
        ]]),
    )]);
    assert_eq!(
        described(
            "SELECT sum(\"internal:size\") OVER (ORDER BY id) AS a, list_sum([1, 2]) AS b, \
                a + b AS c FROM level1"
        ),
        ["HUGEINT", "HUGEINT", "HUGEINT"]
    );
    all(&[(
        "SELECT sum(x) OVER (ORDER BY x), list_sum([x, 1]) FROM (VALUES (1), (2)) AS t(x) \
            ORDER BY x",
        json!([[1, 2], [3, 3]]),
    )]);
    all(&[(
        "SELECT typeof(a), typeof(b), a + b FROM (SELECT list_sum([1, 2]) AS a, factorial(3) AS b)",
        json!([["HUGEINT", "HUGEINT", 9]]),
    )]);
    for sql in [
        "SELECT sum(x) OVER () FROM (VALUES (9223372036854775807), (2)) AS t(x)",
        "SELECT list_sum([9223372036854775807, 1])",
    ] {
        let text = report(sql);
        assert!(text.contains("does not fit in"), "{sql}: {text}");
    }
}

#[test]
fn parts_of_times_and_intervals_are_those_of_duckdb() {
    all(&[
        (
            "SELECT date_part('hour', INTERVAL '25:30:00'), \
                extract(month FROM INTERVAL '14 months'), \
                date_part('minute', INTERVAL '1 day 90 minutes'), \
                date_part('year', INTERVAL '14 months')",
            json!([[25, 2, 30, 1]]),
        ),
        (
            "SELECT INTERVAL 24 HOUR = INTERVAL 1 DAY, INTERVAL 1 MONTH > INTERVAL 29 DAY, \
                INTERVAL 1 YEAR = INTERVAL 360 DAY, INTERVAL 1 DAY IN (INTERVAL 24 HOUR), \
                INTERVAL 30 DAY BETWEEN INTERVAL 1 MONTH AND INTERVAL 31 DAY, \
                TIMESTAMP '2021-03-01' - TIMESTAMP '2021-01-01' > INTERVAL 1 MONTH",
            json!([[true, true, true, true, true, true]]),
        ),
        ("SELECT list_zip([1, 2], ['a', 'b'])[2][2]", json!([["b"]])),
        (
            "SELECT date_part('milliseconds', TIMESTAMP '2021-01-01 00:00:01.5'), \
                extract(microseconds FROM TIMESTAMP '2021-01-01 00:00:01.5'), \
                date_part('ms', TIMESTAMP '1960-01-01 00:00:01.25')",
            json!([[1500, 1_500_000, 1250]]),
        ),
        (
            "SELECT date_trunc('milliseconds', TIMESTAMP '2021-05-05 12:34:56.789123')::VARCHAR, \
                strftime(TIMESTAMPTZ '2021-05-05 12:00:00+00', '%H:%M%z%Z'), \
                time_bucket(INTERVAL 1 WEEK, DATE '2023-05-05', INTERVAL 1 DAY)::VARCHAR, \
                epoch_ms(epoch_ms(TIMESTAMP '2021-05-05 12:00:00'))::VARCHAR",
            json!([[
                "2021-05-05 12:34:56.789",
                "12:00+00UTC",
                "2023-05-02",
                "2021-05-05 12:00:00"
            ]]),
        ),
        (
            "SELECT date_trunc('m', TIMESTAMP '2021-05-06 10:20:30.123456')::VARCHAR, \
                date_trunc('ms', TIMESTAMP '2021-05-06 10:20:30.123456')::VARCHAR, \
                extract(milliseconds FROM TIME '10:20:30.5'), \
                date_part('us', TIME '10:20:30.5')",
            json!([[
                "2021-05-06 10:20:00",
                "2021-05-06 10:20:30.123",
                30_500,
                30_500_000
            ]]),
        ),
    ]);
}

#[test]
fn structures_and_widths_without_a_bound_are_refused() {
    let deep = format!("SELECT from_json('[1]', '\"INT{}\"')", "[]".repeat(40_000));
    assert!(report(&deep).contains("nested too deeply"));
    for sql in [
        "SELECT typeof(CAST(1 AS DECIMAL(18446744073709551615)) + 1.5)",
        "SELECT CAST(1 AS DECIMAL(50, 2)) * 1.5",
        "SELECT typeof(1::DECIMAL(0, 0))",
        "SELECT id::NUMERIC(5, 9) FROM data",
        "DESCRIBE SELECT TRY_CAST(1 AS DECIMAL(39))",
    ] {
        let text = report(sql);
        assert!(text.contains("1 to 38 digits"), "{sql}: {text}");
    }
    let widest = "SELECT 0.5::DECIMAL(38, 2)::VARCHAR";
    assert_eq!(rows(widest), [json!(["0.50"])]);
}

#[test]
fn json_becomes_values_of_a_structure() {
    all(&[
        (
            r#"SELECT from_json('{"a":1,"b":["x"]}', '{"a":"BIGINT","b":["VARCHAR"]}').b[1],
                json_transform('{"a":1,"b":"x"}', '{"a":"INTEGER","b":"VARCHAR"}'),
                typeof(from_json('[1.5]', '["DOUBLE"]')),
                from_json('{"a":"x"}', '{"a":"DATE"}').a"#,
            json!([["x", {"a": 1, "b": "x"}, "DOUBLE[]", null]]),
        ),
        (
            "SELECT '[1,2,3]'::JSON -> -1, '[1,2,3]'::JSON ->> -1, '[1,2,3]'::JSON -> 5",
            json!([["3", "3", null]]),
        ),
    ]);
    let text = report("SELECT json_transform_strict('{\"a\":\"x\"}', '{\"a\":\"DATE\"}')");
    assert!(text.contains("is not a DATE"), "{text}");
    assert!(report("SELECT from_json('1', id) FROM data").contains("is a text as it is written"));
    assert!(report("SELECT from_json('1', '\"POINT\"')").contains("no type POINT"));
}

#[test]
fn arrows_bind_before_comparisons_and_follow_one_another() {
    let json = r#"'{"a":{"b":"c","l":[1,2]},"n":5}'"#;
    for (expression, wanted) in [
        ("x->>'n' = '5'", json!(true)),
        ("x->>'n' = '5' OR y = 2", json!(true)),
        ("y = 3 AND x->>'n' = '6'", json!(false)),
        ("y = 2 AND x->'a'->>'b' = 'd' OR y = 3", json!(true)),
        ("x->>'n' IS NULL", json!(false)),
        ("x->'z'->>'b' IS NULL", json!(true)),
        ("x->>'n' || 'a'", json!("5a")),
        ("x->>'n' IN ('5', '6')", json!(true)),
        ("x->>'n' LIKE '6%'", json!(false)),
        ("x->'a'->>'b' BETWEEN 'a' AND 'd'", json!(true)),
        ("x->'a'->'l'->>1", json!("2")),
        ("upper(x->'a'->>'b')", json!("C")),
        ("coalesce(NULL, x->'a'->>'b')", json!("c")),
        ("(x->>'n')::INTEGER + y", json!(8)),
        ("CASE WHEN x->>'n' = '5' THEN 1 END", json!(1)),
        ("list_transform([1, 2], v -> v + y)", json!([4, 5])),
        ("list_transform([{'a': 1}], v -> v.a + 1)", json!([2])),
    ] {
        let sql = format!("SELECT {expression} FROM (VALUES ({json}, 3)) AS t(x, y)");
        assert_eq!(rows(&sql), [json!([wanted])], "{expression}");
    }
}

#[test]
fn case_reads_the_texts_of_its_rows_alone() {
    let texts = "(VALUES ('1'), ('zz'), ('{\"a\":\"b\"}')) AS t(x)";
    let cases = [
        (
            "CASE WHEN x ~ '[0-9]+' THEN x::INTEGER END",
            json!([[1], [null], [null]]),
        ),
        (
            "CASE WHEN TRY_CAST(x AS INTEGER) IS NULL THEN -1 ELSE CAST(x AS INTEGER) + 1 END",
            json!([[2], [-1], [-1]]),
        ),
        (
            "CASE x WHEN '1' THEN x::BIGINT WHEN 'zz' THEN 0 END",
            json!([[1], [0], [null]]),
        ),
        (
            "CASE WHEN json_valid(x) THEN x::JSON END",
            json!([["1"], [null], ["{\"a\":\"b\"}"]]),
        ),
        (
            "CASE WHEN json_valid(x) THEN x->>'a' ELSE 'none' END",
            json!([[null], ["none"], ["b"]]),
        ),
        (
            "if(json_valid(x), x->>'a', 'none')",
            json!([[null], ["none"], ["b"]]),
        ),
        (
            "CASE WHEN json_valid(x) THEN json_type(x) END",
            json!([["UBIGINT"], [null], ["OBJECT"]]),
        ),
        (
            "CASE WHEN NOT json_valid(x) THEN 0 WHEN (x->>'a') = 'b' THEN 7 ELSE 1 END",
            json!([[1], [0], [7]]),
        ),
    ];
    for (expression, wanted) in cases {
        let sql = format!("SELECT {expression} FROM {texts}");
        assert_eq!(Json::Array(rows(&sql)), wanted, "{expression}");
    }
    let sql = format!("SELECT typeof(CASE WHEN json_valid(x) THEN x::JSON END) FROM {texts}");
    assert_eq!(rows(&format!("{sql} LIMIT 1")), [json!(["JSON"])]);
    let text = report(&format!(
        "SELECT CASE WHEN x <> '1' THEN x::INTEGER END FROM {texts}"
    ));
    assert!(text.contains("zz"), "{text}");
}

#[test]
fn rows_and_texts_have_parts() {
    all(&[
        (
            "SELECT d FROM (SELECT 1 AS a, 'x' AS b) AS d",
            json!([[{"a": 1, "b": "x"}]]),
        ),
        (
            "SELECT count(d), list(d ORDER BY d.id)[1].id, to_json(any_value(d)) \
                FROM (SELECT id FROM data WHERE id = 'lima') AS d",
            json!([[1, "lima", "{\"id\":\"lima\"}"]]),
        ),
        (
            "SELECT struct_pack(d.id, n := 1) FROM data AS d ORDER BY id LIMIT 1",
            json!([[{"id": "bonn", "n": 1}]]),
        ),
        (
            "SELECT list_transform(['ab', ''], x -> x[1]), \
                list_transform([[1, 2], [3]], x -> x[-1]), \
                list_filter(['po_1', 'x'], s -> s[-1] = '1'), [s[2] for s in ['abc']], \
                array_length([[1, 2], [3]], 1)",
            json!([[["a", ""], [2, 3], ["po_1"], ["b"], 2]]),
        ),
        (
            "SELECT (1, 'a')::VARCHAR, {'v1': 1, 'x': 2}::VARCHAR, [(1, 2)]::VARCHAR",
            json!([["(1, a)", "{'v1': 1, 'x': 2}", "[(1, 2)]"]]),
        ),
        (
            "SELECT {'v1': 1, 'v2': 2}::VARCHAR, typeof({'v1': 1, 'v2': 2}), typeof((1, 'a')), \
                to_json((1, 'a')), (1, 'a'), (1, 'a')[2], struct_extract(row(7, 8), 2)",
            json!([[
                "{'v1': 1, 'v2': 2}",
                "STRUCT(v1 INTEGER, v2 INTEGER)",
                "STRUCT(INTEGER, VARCHAR)",
                "{\"\":1,\"\":\"a\"}",
                {"v1": 1, "v2": "a"},
                "a",
                8
            ]]),
        ),
        (
            "SELECT id, array(SELECT e.id FROM data AS e WHERE e.id <> d.id ORDER BY e.id), \
                array(SELECT e.id FROM data AS e WHERE e.id > d.id) FROM data AS d ORDER BY id",
            json!([["bonn", ["lima"], ["lima"]], ["lima", ["bonn"], []]]),
        ),
        (
            "SELECT array(SELECT id AS k FROM data ORDER BY k DESC), \
                array(SELECT -x AS x FROM (VALUES (1), (3), (2)) AS t(x) ORDER BY x), \
                array(SELECT -x AS y FROM (VALUES (1), (3), (2)) AS t(x) ORDER BY y + 0)",
            json!([[["lima", "bonn"], [-3, -2, -1], [-3, -2, -1]]]),
        ),
    ]);
}

#[test]
fn values_without_a_type_here_are_refused_with_another_spelling() {
    let text = report("SELECT '101'::BIT");
    assert!(
        text.contains("can't be cast to BIT") && text.contains("VARCHAR"),
        "{text}"
    );
    let text = report("SELECT '{}'::STRUCT(a INT)");
    assert!(text.contains("from_json"), "{text}");
    let text = report("SELECT regexp_split_to_table(id, '_') FROM data");
    assert!(text.contains("unnest(regexp_split_to_array"), "{text}");
}

#[test]
fn numbers_rounded_before_the_point_keep_their_type() {
    all(&[
        (
            "SELECT round(17, -1), round(-15, -1), round(149::BIGINT, -2), round(5, -3), \
                round(15, -20), round(1250::DOUBLE, -2), round('nan'::DOUBLE, -1)",
            json!([[20, -20, 100, 0, 0, 1300.0, 0.0]]),
        ),
        (
            "SELECT typeof(round(7, -1)), typeof(round(7::TINYINT, -1)), \
                typeof(round(x, -1)), typeof(round(1.5::DOUBLE, -1)), round(x, -2)::VARCHAR, \
                round(-x, -1)::VARCHAR, round(x, -3)::VARCHAR \
                FROM (SELECT 1250.5::DECIMAL(7, 1) AS x)",
            json!([[
                "INTEGER",
                "TINYINT",
                "DECIMAL(7,0)",
                "DOUBLE",
                "1300",
                "-1250",
                "1000"
            ]]),
        ),
    ]);
    let text = report("SELECT round(127::TINYINT, -1)");
    assert!(text.contains("does not fit in TINYINT"), "{text}");
}

#[test]
fn lists_of_decimal_numbers_have_the_digits_of_all() {
    all(&[(
        "SELECT typeof([x, y]), typeof([x, 1]), typeof([x, 1::BIGINT]), typeof([x, 1.5::DOUBLE]), \
            typeof(list_append([x], y)), [x, y]::VARCHAR, list_concat([y], [x])::VARCHAR \
            FROM (SELECT 1.5::DECIMAL(3, 1) AS x, 2.25::DECIMAL(5, 2) AS y)",
        json!([[
            "DECIMAL(5,2)[]",
            "DECIMAL(11,1)[]",
            "DECIMAL(20,1)[]",
            "DOUBLE[]",
            "DECIMAL(5,2)[]",
            "[1.50, 2.25]",
            "[2.25, 1.50]"
        ]]),
    )]);
}

#[test]
fn decimal_numbers_beside_integers_have_the_digits_of_both() {
    let numbers = "(SELECT 1.5::DECIMAL(2, 1) AS x, 2.25::DECIMAL(3, 2) AS y, 3 AS z) AS t";
    let cases = [
        ("CASE WHEN x > 1 THEN x ELSE 0 END", "DECIMAL(11,1)"),
        (
            "CASE WHEN x > 1 THEN x WHEN x > 0 THEN y END",
            "DECIMAL(3,2)",
        ),
        ("coalesce(x, z)", "DECIMAL(11,1)"),
        ("coalesce(x, z::BIGINT)", "DECIMAL(20,1)"),
        ("greatest(x, y, z)", "DECIMAL(12,2)"),
        ("least(x, 0.5)", "DECIMAL(2,1)"),
        ("coalesce(x, NULL)", "DECIMAL(2,1)"),
        ("coalesce(x, 2::DOUBLE)", "DOUBLE"),
        ("sign(x)", "TINYINT"),
        ("sin(x)", "DOUBLE"),
    ];
    for (expression, wanted) in cases {
        let sql = format!("SELECT typeof({expression}) FROM {numbers}");
        assert_eq!(rows(&sql), [json!([wanted])], "{expression}");
    }
    let sql = format!(
        "SELECT (CASE WHEN x < 1 THEN x ELSE 0 END)::VARCHAR, coalesce(NULL, z, x)::VARCHAR, \
            greatest(x, y, z)::VARCHAR, least(x, 0.5)::VARCHAR, sign(-x), round(degrees(x), 3), \
            round(atan(x), 3), to_seconds(x)::VARCHAR, (INTERVAL 1 DAY * x)::VARCHAR, \
            (INTERVAL 1 DAY / x)::VARCHAR, (INTERVAL 1 DAY / z::DOUBLE)::VARCHAR FROM {numbers}"
    );
    assert_eq!(
        rows(&sql),
        [json!([
            "0.0",
            "3.0",
            "3.00",
            "0.5",
            -1,
            85.944,
            0.983,
            "00:00:01.5",
            "1 day 12:00:00",
            "16:00:00",
            "08:00:00"
        ])]
    );
}

#[test]
fn sums_of_decimal_numbers_in_windows_and_lists_are_exact() {
    let numbers = "(SELECT unnest([0.1::DECIMAL(3, 2), 0.2::DECIMAL(3, 2), NULL]) AS x)";
    let running = format!(
        "SELECT (sum(x) OVER (ORDER BY x))::VARCHAR, typeof(s), s = 0.3 \
            FROM (SELECT x, sum(x) OVER () AS s FROM {numbers}) ORDER BY x LIMIT 2"
    );
    assert_eq!(
        rows(&running),
        [
            json!(["0.10", "DECIMAL(38,2)", true]),
            json!(["0.30", "DECIMAL(38,2)", true])
        ]
    );
    let listed = format!(
        "SELECT list_sum(l)::VARCHAR, list_sum(l) = 0.3, typeof(list_sum(l)), list_avg(l) > 0.14 \
            FROM (SELECT list(x) AS l FROM {numbers})"
    );
    assert_eq!(
        rows(&listed),
        [json!(["0.30", true, "DECIMAL(38,2)", true])]
    );
}

#[test]
fn sums_of_long_decimal_numbers_are_refused_and_depend_on_no_order() {
    // Twice the number overflows the 128 bits of its digits; four times, it gives 38 digits again.
    let number = "'99000000000000000000000000000000000000'::DECIMAL(38, 0)";
    let numbers = |count: usize| vec![number; count].join(", ");
    for sql in [
        format!(
            "SELECT sum(x) OVER () AS s FROM (SELECT unnest([{}]) AS x)",
            numbers(4)
        ),
        format!("SELECT list_sum([{}]) AS s", numbers(4)),
        format!(
            "SELECT sum(x) AS s FROM (SELECT unnest([{}]) AS x)",
            numbers(2)
        ),
        format!(
            "SELECT sum(x) AS s FROM (SELECT unnest([{}]) AS x)",
            numbers(4)
        ),
    ] {
        let text = report(&sql);
        assert!(text.contains("38 digits"), "{sql}: {text}");
    }
    let sum = json!(["99000000000000000000000000000000000000"]);
    let listed = format!("SELECT list_sum([{}, -({number})])::VARCHAR", numbers(2));
    assert_eq!(rows(&listed), std::slice::from_ref(&sum));
    let windowed = format!(
        "SELECT (sum(x) OVER ())::VARCHAR FROM (SELECT unnest([{}, -({number})]) AS x) LIMIT 1",
        numbers(2)
    );
    assert_eq!(rows(&windowed), [sum]);
    let all = format!("(SELECT unnest([{}, -({number})]) AS x)", numbers(2));
    let three = format!(
        "SELECT sum(x)::VARCHAR, typeof(sum(x)), (sum(x) FILTER (WHERE x < 0))::VARCHAR, \
            sum(DISTINCT x)::VARCHAR FROM {all}"
    );
    let digits = "99000000000000000000000000000000000000";
    let wanted = json!([digits, "DECIMAL(38,0)", format!("-{digits}"), "0"]);
    assert_eq!(rows(&three), [wanted]);
    let both = format!("(SELECT unnest([{number}, -({number})]) AS x)");
    let grouped = format!("SELECT x > 0 AS k, count(*) FROM {both} GROUP BY k HAVING sum(x) < 0");
    assert_eq!(rows(&grouped), [json!([false, 1])]);
}
