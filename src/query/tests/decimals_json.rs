//! JSON, decimal numbers as keys, times with and without a zone, and lists within expressions;
//! expected values are those of DuckDB 1.5.

use super::*;

fn all(cases: &[(&str, Json)]) {
    for (sql, wanted) in cases {
        assert_eq!(Json::Array(rows(sql)), *wanted, "{sql}");
    }
}

#[test]
fn decimal_numbers_are_keys_of_groups_joins_and_distinct_rows() {
    let numbers = "(VALUES (1.25::DECIMAL(4, 2)), (1.25::DECIMAL(4, 2)), (-3.5::DECIMAL(4, 2)), \
        (NULL)) AS t(x)";
    let of = |sql: &str| Json::Array(rows(&sql.replace("NUMBERS", numbers)));
    assert_eq!(
        of("SELECT x::DOUBLE, count(*) FROM NUMBERS GROUP BY x ORDER BY x"),
        json!([[-3.5, 1], [1.25, 2], [null, 1]])
    );
    assert_eq!(
        of("SELECT x::DOUBLE FROM (SELECT DISTINCT x FROM NUMBERS) ORDER BY 1"),
        json!([[-3.5], [1.25], [null]])
    );
    assert_eq!(
        of("SELECT count(*) FROM NUMBERS JOIN (SELECT 1.250::DECIMAL(5, 3) AS y) u ON x = y"),
        json!([[2]])
    );
    assert_eq!(
        of("SELECT mode(x)::DOUBLE, round(entropy(x), 4), map_values(histogram(x)) FROM NUMBERS"),
        json!([[1.25, 0.9183, [1, 2]]])
    );
    assert_eq!(
        of(
            "SELECT histogram(x, [0, 1])['Infinity'::DOUBLE], histogram(x > 0, [true])[true] \
            FROM NUMBERS"
        ),
        json!([[2, 3]])
    );
}

#[test]
fn decimal_keys_of_joins_are_compared_with_numbers_of_other_types() {
    let joined = |left: &str, right: &str| {
        let sql = format!(
            "SELECT count(*) FROM (SELECT {left} AS x) JOIN (SELECT {right} AS y) u ON x = y"
        );
        Json::Array(rows(&sql))
    };
    for (left, right, matches) in [
        ("2.00::DECIMAL(4, 2)", "2", 1),
        ("2.50::DECIMAL(4, 2)", "2", 0),
        ("2.50::DECIMAL(4, 2)", "2.5::DOUBLE", 1),
        ("0.1::FLOAT", "0.1::DECIMAL(2, 1)", 1),
        ("1.10::DECIMAL(4, 2)", "1.1::DECIMAL(9, 1)", 1),
    ] {
        assert_eq!(joined(left, right), json!([[matches]]), "{left} {right}");
    }
}

#[test]
fn products_of_decimal_numbers_have_the_digits_of_both() {
    all(&[(
        "SELECT (x * y)::DOUBLE, (x * y * y)::VARCHAR \
            FROM (VALUES (1.1::DECIMAL(3, 1), 2.5::DECIMAL(3, 1))) AS t(x, y)",
        json!([[2.75, "6.875"]]),
    )]);
    let text = report(
        "SELECT x * y FROM (VALUES ('-9223372036854775808'::DECIMAL(38, 0), \
            '18446744073709551616'::DECIMAL(38, 0))) AS t(x, y)",
    );
    assert!(text.contains("does not fit in DECIMAL(38,0)"), "{text}");
}

#[test]
fn times_with_and_without_a_zone_have_one_type() {
    all(&[
        (
            "SELECT typeof(coalesce(\"stac:time_start\", now())), \
                greatest(\"stac:time_start\", TIMESTAMPTZ '2021-01-01 02:00:00+01')::VARCHAR, \
                ifnull(DATE '2021-01-02', now())::DATE = DATE '2021-01-02' \
                FROM data WHERE id = 'lima'",
            json!([["TIMESTAMP WITH TIME ZONE", "2021-01-01 01:00:00+00", true]]),
        ),
        (
            "SELECT (CASE WHEN id = 'lima' THEN \"stac:time_start\" ELSE \
                TIMESTAMPTZ '2020-05-01 00:00:00+00' END)::DATE::VARCHAR FROM data ORDER BY id",
            json!([["2020-05-01"], ["2021-01-01"]]),
        ),
    ]);
}

#[test]
fn json_is_described_searched_and_merged() {
    all(&[
        (
            r#"SELECT json_structure('{"a":[1,2.5]}'), json_contains('[1,{"a":2}]', '{"a":2}'),
                json_merge_patch('{"a":1}', '{"b":2}', NULL::VARCHAR) IS NULL,
                json('{"a" : 1.0}'), json_pretty('[1]'), json_quote('x')"#,
            json!([[
                "{\"a\":[\"DOUBLE\"]}",
                true,
                true,
                "{\"a\":1.0}",
                "[\n    1\n]",
                "\"x\""
            ]]),
        ),
        (
            r#"SELECT json_extract('{"a":[{"b":1},{"b":2}]}', '$.a[*].b'),
                '{"a":["x",2]}' ->> ['$.a[0]', '$.c'], json_extract_string('{"a":"x"}', '$.*')"#,
            json!([[["1", "2"], ["x", null], ["x"]]]),
        ),
        (
            r#"SELECT json_extract('{"a":"x"}', ['$.a', '$.b'])[1],
                len('{"a":"x"}' ->> ['$.a', '$.b']), json_extract('{"a*b":1}', '$."a*b"'),
                json_merge_patch('{"a":1,"b":2}', '{"a":{"c":null}}')"#,
            json!([["\"x\"", 2, "1", "{\"b\":2,\"a\":{}}"]]),
        ),
    ]);
}

#[test]
fn json_values_are_rows() {
    all(&[
        (
            r#"SELECT * FROM json_each('{"a":1,"b":[2,3]}')"#,
            json!([
                ["a", "1", "UBIGINT", "1", 2, null, "$.a", "$"],
                ["b", "[2,3]", "ARRAY", null, 4, null, "$.b", "$"]
            ]),
        ),
        (
            r#"SELECT key, id, parent, path FROM json_tree('{"a":[1,{"b":2}]}', '$.a')"#,
            json!([
                [null, 2, null, "$.a"],
                ["0", 3, 2, "$.a"],
                ["1", 4, 2, "$.a"],
                ["b", 6, 4, "$.a[1]"]
            ]),
        ),
        (
            "SELECT d.id, j.value FROM data AS d, json_each(json_array(d.id, 1)) AS j \
                ORDER BY d.id, j.id",
            json!([
                ["bonn", "\"bonn\""],
                ["bonn", "1"],
                ["lima", "\"lima\""],
                ["lima", "1"]
            ]),
        ),
    ]);
}

#[test]
fn elements_of_lists_are_parts_of_expressions() {
    all(&[
        (
            "SELECT unnest([1, 2])::VARCHAR || 'x', unnest([3, 4]) + 1",
            json!([["1x", 4], ["2x", 5]]),
        ),
        (
            "SELECT upper(unnest(list(id ORDER BY id))) FROM data",
            json!([["BONN"], ["LIMA"]]),
        ),
        (
            "SELECT list_transform([{'a': 1}, {'a': 2}], x -> x.a * 2)",
            json!([[[2, 4]]]),
        ),
    ]);
    let text = report("SELECT unnest(unnest([[1, 2]])) + 1");
    assert!(text.contains("unnest within unnest"), "{text}");
}

#[test]
fn texts_and_times_are_as_in_duckdb() {
    all(&[
        (
            "SELECT upper('straße ŉ'), lower('ΑΣ'), upper('ᾳ')",
            json!([["STRAẞE ŉ", "ασ", "ᾼ"]]),
        ),
        (
            "SELECT strftime('%Y', DATE '2021-05-01'), \
                strptime('2023-01-02', ['%d/%m/%Y', '%Y-%m-%d'])::DATE::VARCHAR, \
                try_strptime('x', ['%Y', '%m']) IS NULL, \
                date_trunc('isoyear', DATE '2023-01-01')::VARCHAR, \
                date_diff('isoyear', DATE '2020-06-01', DATE '2023-01-01')",
            json!([["2021", "2023-01-02", true, "2022-01-03", 2]]),
        ),
        (
            "SELECT map_concat(MAP {'a': 1, 'b': 9}, MAP {'a': 2, 'c': 3})::VARCHAR",
            json!([["{a=2, b=9, c=3}"]]),
        ),
        (
            "SELECT DATE '2021-01-02' + (-INTERVAL 1 DAY) = TIMESTAMP '2021-01-01'",
            json!([[true]]),
        ),
    ]);
    assert!(report("SELECT strptime('x', ['%Y', '%m'])").contains("any of the forms"));
}

#[test]
fn aggregates_of_empty_frames_are_zero_or_null() {
    all(&[(
        "SELECT approx_count_distinct(id) OVER w, regr_count(1, 2) OVER w, entropy(id) OVER w, \
            string_agg(id) OVER w FROM data WHERE id = 'lima' \
            WINDOW w AS (ORDER BY id ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING)",
        json!([[0, 0, 0.0, null]]),
    )]);
}

#[test]
fn json_is_told_from_texts() {
    let typed = "SELECT typeof('{}'::JSON), typeof(json_object('a', 1)), typeof(uuid()), \
        typeof('{\"a\":1}'::JSON -> 'a'), typeof('{\"a\":1}'::JSON ->> 'a'), \
        typeof(json_extract('{}', ['$.a'])), typeof(round(1.567, 1)), typeof(floor(2.5))";
    assert_eq!(
        rows(typed),
        [json!([
            "JSON",
            "JSON",
            "UUID",
            "JSON",
            "VARCHAR",
            "JSON[]",
            "DECIMAL(4,1)",
            "DECIMAL(2,0)"
        ])]
    );
    let described = "SELECT column_type FROM (DESCRIBE SELECT '{}'::JSON AS a, 1::HUGEINT AS b, \
        to_json([1]) AS c, json_array_length('[]') AS d, '{}' AS e)";
    assert_eq!(
        rows(described),
        [
            json!(["JSON"]),
            json!(["HUGEINT"]),
            json!(["JSON"]),
            json!(["UBIGINT"]),
            json!(["VARCHAR"])
        ]
    );
    let nested = "SELECT {'a': 1}::JSON, [1, 2]::JSON, '{ \"a\": 1}'::JSON, TRY_CAST('{' AS JSON), \
        json_object('k', '{\"a\":1}'::JSON, 't', '{}'), to_json('[ 1]'::JSON), \
        json_array(json_extract('{\"a\":[2]}', 'a'), NULL::JSON)";
    assert_eq!(
        rows(nested),
        [json!([
            "{\"a\":1}",
            "[1,2]",
            "{ \"a\": 1}",
            null,
            "{\"k\":{\"a\":1},\"t\":\"{}\"}",
            "[1]",
            "[[2],null]"
        ])]
    );
    assert!(report("SELECT '{'::JSON").contains("is not JSON"));
}

#[test]
fn json_of_subqueries_stays_json() {
    let parts = "SELECT to_json(j), json_object('a', j), json_array(j, t), typeof(j), typeof(t) \
        FROM (SELECT json_object('k', 1) AS j, '{}' AS t)";
    let lists = "WITH a AS (SELECT to_json(x) AS j FROM (VALUES (1), (2)) AS v(x)) \
        SELECT json_group_array(j ORDER BY j) FROM a";
    let nested = "SELECT to_json([j]), to_json(map(['a'], [j])) \
        FROM (SELECT '[1, 2]'::JSON AS j)";
    let chosen = "SELECT to_json(CASE WHEN true THEN j END), to_json(j->'a'), to_json(j->>'a'), \
        to_json(j::VARCHAR), to_json(coalesce(j, NULL)) FROM (SELECT json_object('a', 'x') AS j)";
    let grouped = "SELECT to_json(any_value(j)), to_json(t), json_group_object('k', j) \
        FROM (SELECT json_object('a', 'x') AS j, {'a': 1} AS t) GROUP BY t";
    for (sql, expected) in [
        (
            parts,
            json!([
                "{\"k\":1}",
                "{\"a\":{\"k\":1}}",
                "[{\"k\":1},\"{}\"]",
                "JSON",
                "VARCHAR"
            ]),
        ),
        (lists, json!(["[1,2]"])),
        (nested, json!(["[[1,2]]", "{\"a\":[1,2]}"])),
        (
            chosen,
            json!([
                "{\"a\":\"x\"}",
                "\"x\"",
                "\"x\"",
                "\"{\\\"a\\\":\\\"x\\\"}\"",
                "{\"a\":\"x\"}"
            ]),
        ),
        (
            grouped,
            json!(["{\"a\":\"x\"}", "{\"a\":1}", "{\"k\":{\"a\":\"x\"}}"]),
        ),
    ] {
        assert_eq!(rows(sql), [expected], "{sql}");
    }
    let both = "SELECT to_json(j) FROM (SELECT to_json(1) AS j UNION ALL SELECT to_json('a'))";
    assert_eq!(rows(both), [json!(["1"]), json!(["\"a\""])]);
}
