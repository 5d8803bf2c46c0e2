//! Statements as they are typed, with several functions each; expected values are those of DuckDB
//! 1.4.

use super::*;

fn all(cases: &[(&str, Json)]) {
    for (sql, wanted) in cases {
        assert_eq!(Json::Array(rows(sql)), *wanted, "{sql}");
    }
}

fn names(sql: &str) -> Vec<String> {
    let result = run_sql(&tables(), sql, None, &ctx())
        .unwrap_or_else(|error| panic!("{sql}: {}", error.report()));
    let names = result.json_rows().next().map(|row| row.into_iter());
    names.into_iter().flatten().map(|(name, _)| name).collect()
}

#[test]
fn tuples_are_structs() {
    all(&[
        (
            "SELECT (1, 2) = (1, 2), (1, NULL) = (1, NULL), (1, 2) <> (1, 3), (2, 1) > (1, 9)",
            json!([[true, true, true, true]]),
        ),
        (
            "SELECT (1, NULL) IN ((1, NULL)), (1, 2) NOT IN ((1, NULL))",
            json!([[true, true]]),
        ),
        (
            "SELECT id FROM data WHERE (id, type) = ('lima', 'FOLDER')",
            json!([["lima"]]),
        ),
        (
            "SELECT count(DISTINCT (id, \"internal:parent_id\")) FROM level1",
            json!([[4]]),
        ),
    ]);
}

#[test]
fn ages_have_parts_and_texts() {
    all(&[
        (
            "SELECT date_part(u, age(DATE '2021-03-01', DATE '2020-01-01')) \
                FROM (VALUES ('year'), ('month')) v(u)",
            json!([[1], [2]]),
        ),
        (
            "SELECT age(TIMESTAMP '2024-03-15', TIMESTAMP '2023-01-31')::VARCHAR, \
                age(DATE '2020-02-29', DATE '2019-02-28')::VARCHAR, \
                age(TIMESTAMP '2023-01-31 10:00', TIMESTAMP '2024-03-15 12:30:15.5')::VARCHAR, \
                age(DATE '2020-02-28', DATE '2020-03-31')::VARCHAR",
            json!([[
                "1 year 1 month 15 days",
                "1 year 1 day",
                "-1 year -1 month -15 days -02:30:15.5",
                "-1 month -3 days"
            ]]),
        ),
        (
            "SELECT extract(year FROM age(DATE '2020-03-31', DATE '2018-02-28')), \
                date_part('month', age(DATE '2020-03-31', DATE '2018-02-28')), \
                year(age(DATE '2020-03-31', DATE '2018-02-28'))",
            json!([[2, 1, 2]]),
        ),
    ]);
    let text = report("SELECT age(\"stac:time_start\") FROM data");
    assert!(text.contains("age(a, b)::VARCHAR"), "{text}");
}

#[test]
fn intervals_of_computed_numbers_move_times() {
    all(&[
        (
            "SELECT DATE '2021-01-31' + to_months(1), DATE '2021-03-31' - to_years(1), \
                DATE '2021-01-31' + INTERVAL (1 + 1) DAY, DATE '2021-01-31' + INTERVAL (x) MONTH \
                FROM (SELECT 1 AS x)",
            json!([[
                "2021-02-28T00:00:00",
                "2020-03-31T00:00:00",
                "2021-02-02T00:00:00",
                "2021-02-28T00:00:00"
            ]]),
        ),
        (
            "SELECT make_date(18000), make_date({'year': 2020, 'month': 1, 'day': 2}), \
                make_timestamp_ms(1609459200000), timezone_hour(now())",
            json!([["2019-04-14", "2020-01-02", "2021-01-01T00:00:00", 0]]),
        ),
        (
            "SELECT date_part(['year', 'month'], DATE '2021-02-03'), \
                extract(yearweek FROM DATE '2021-01-03'), \
                date_diff('decade', DATE '2019-12-31', DATE '2020-01-01')",
            json!([[{"year": 2021, "month": 2}, 202053, 1]]),
        ),
    ]);
    all(&[
        (
            "SELECT TIME '10:00' + INTERVAL 2 HOUR, TIME '23:00' + INTERVAL 2 HOUR, \
                TIME '01:00' - INTERVAL 90 MINUTE, INTERVAL 5 MINUTE + TIME '10:00', \
                TIME '10:00' + INTERVAL '1 month 1 day -1 hour', TIME '10:00' + to_hours(3)",
            json!([[
                "12:00:00", "01:00:00", "23:30:00", "10:05:00", "09:00:00", "13:00:00"
            ]]),
        ),
        (
            "SELECT t + (b - a), t - (b - a), typeof(t + INTERVAL 1 HOUR), \
                t + INTERVAL 1 HOUR > TIME '10:30', t + INTERVAL 1 HOUR + INTERVAL 1 MINUTE \
                FROM (SELECT TIME '10:00:00' AS t, TIMESTAMP '2020-01-01' AS a, \
                TIMESTAMP '2020-01-02 03:00' AS b)",
            json!([["13:00:00", "07:00:00", "TIME", true, "11:01:00"]]),
        ),
    ]);
    let text = report("SELECT INTERVAL 1 MONTH");
    assert!(text.contains("date + INTERVAL 1 MONTH"), "{text}");
}

#[test]
fn times_with_and_without_a_zone_are_compared() {
    all(&[
        (
            "SELECT \"stac:time_start\" > TIMESTAMPTZ '2020-01-01 00:00:00+00', \
                \"stac:time_start\" < now(), now() - \"stac:time_start\" > INTERVAL 1 DAY, \
                now() > TIMESTAMPTZ '2020-01-01 00:00:00+00', current_date - DATE '2020-01-01' > 0 \
                FROM data LIMIT 1",
            json!([[true, true, true, true, true]]),
        ),
        (
            "SELECT typeof(now()), now() = current_timestamp, typeof(localtimestamp)",
            json!([["TIMESTAMP WITH TIME ZONE", true, "TIMESTAMP"]]),
        ),
        (
            "SELECT coalesce(\"stac:time_start\", now()::TIMESTAMP) < now(), \
                coalesce(\"stac:time_start\"::TIMESTAMPTZ, now()) < now(), \
                len([\"stac:time_start\", now()]) FROM data LIMIT 1",
            json!([[true, true, 2]]),
        ),
    ]);
}

#[test]
fn frames_without_order_or_units_are_refused() {
    for frame in ["GROUPS 1 PRECEDING", "ORDER BY x EXCLUDE TIES"] {
        let sql = format!("SELECT sum(x) OVER ({frame}) FROM (SELECT 1 AS x)");
        assert!(run_sql(&tables(), &sql, None, &ctx()).is_err(), "{sql}");
    }
}

#[test]
fn frames_leave_rows_out_and_count_groups() {
    let from = "FROM (VALUES (1, 10), (2, 20), (2, 30), (3, 40)) v(x, y) ORDER BY x, y";
    let over = |call: &str, frame: &str| format!("SELECT {call} OVER (ORDER BY x {frame}) {from}");
    for (sql, wanted) in [
        (
            over(
                "sum(y)",
                "ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE CURRENT ROW",
            ),
            json!([[20], [40], [60], [30]]),
        ),
        (
            over(
                "sum(y)",
                "ROWS BETWEEN CURRENT ROW AND 9223372036854775807 FOLLOWING",
            ),
            json!([[100], [90], [70], [40]]),
        ),
        (
            over("sum(y)", "GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW"),
            json!([[10], [60], [60], [90]]),
        ),
        (
            over("sum(y)", "GROUPS BETWEEN 2 FOLLOWING AND 9 FOLLOWING"),
            json!([[40], [null], [null], [null]]),
        ),
        (
            over(
                "count(*)",
                "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE TIES",
            ),
            json!([[4], [3], [3], [4]]),
        ),
        (
            over(
                "count(*)",
                "RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW EXCLUDE GROUP",
            ),
            json!([[0], [1], [1], [3]]),
        ),
        (
            over(
                "first_value(y)",
                "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE CURRENT ROW",
            ),
            json!([[20], [10], [10], [10]]),
        ),
    ] {
        assert_eq!(Json::Array(rows(&sql)), wanted, "{sql}");
    }
    let months = "SELECT count(*) OVER (ORDER BY d RANGE BETWEEN INTERVAL 1 MONTH PRECEDING AND \
        CURRENT ROW) FROM (VALUES (DATE '2021-01-31'), (DATE '2021-02-28'), (DATE '2021-03-30')) \
        v(d) ORDER BY d";
    assert_eq!(rows(months), [json!([1]), json!([2]), json!([2])]);
    assert_eq!(
        rows(&months.replace("ORDER BY d RANGE", "ORDER BY d DESC RANGE")),
        [json!([2]), json!([1]), json!([1])]
    );
    assert_eq!(
        names("SELECT sum(a) OVER (ORDER BY a ROWS 1 PRECEDING EXCLUDE TIES) FROM (SELECT 1 AS a)"),
        ["sum(a) OVER (ORDER BY a ROWS 1 PRECEDING EXCLUDE TIES)"]
    );
}

#[test]
fn columns_are_chosen_by_lambdas_and_patterns() {
    let from = "FROM (SELECT 1 AS a, 2 AS ab, 3 AS b)";
    for (list, wanted) in [
        ("COLUMNS(c -> c LIKE 'a%')", json!([[1, 2]])),
        ("COLUMNS(lambda c: c = 'b')", json!([[3]])),
        ("* NOT LIKE 'a%'", json!([[3]])),
        ("* SIMILAR TO '.b'", json!([[2]])),
        ("* NOT ILIKE 'A_'", json!([[1, 3]])),
        ("COALESCE(*COLUMNS('a'))", json!([[1]])),
        ("#3, #1", json!([[3, 1]])),
    ] {
        let sql = format!("SELECT {list} {from}");
        assert_eq!(Json::Array(rows(&sql)), wanted, "{sql}");
    }
    let condition = format!("SELECT 1 {from} WHERE COLUMNS('a') > 0");
    assert_eq!(rows(&condition).len(), 1);
    assert_eq!(rows(&condition.replace("> 0", "> 1")).len(), 0);
    let of_subquery = format!(
        "SELECT 1 {from} WHERE 3 IN (SELECT COLUMNS('^k$') FROM (SELECT 3 AS k)) AND ab = 2"
    );
    assert_eq!(rows(&of_subquery).len(), 1);
    let unmatched = condition.replace("'a'", "'z'");
    let error = run_sql(&tables(), &unmatched, None, &ctx()).expect_err("is refused");
    assert!(error.report().contains("COLUMNS matches no column"));
    for (list, wanted) in [
        ("max(COLUMNS('a'))", ["a", "ab"].as_slice()),
        ("COLUMNS('(a)b') AS 'n_\\1'", &["n_a"]),
        ("#2", &["ab"]),
        ("B, AB", &["b", "ab"]),
    ] {
        let sql = format!("SELECT {list} {from}");
        assert_eq!(names(&sql), wanted, "{sql}");
    }
}

#[test]
fn many_lists_are_joined() {
    let many = " || [1]".repeat(40);
    let sql = format!("SELECT len(l{many}), k{many} FROM (SELECT [0] AS l, NULL::INT[] AS k)");
    assert_eq!(rows(&sql), [json!([41, null])]);
}

#[test]
fn structs_and_lists_are_changed() {
    all(&[
        (
            "SELECT struct_update({'a': 1, 'b': 2}, a := 'x', c := 3), \
                struct_concat({'a': 1}, {'b': 2})",
            json!([[{"a": "x", "b": 2, "c": 3}, {"a": 1, "b": 2}]]),
        ),
        (
            "SELECT [1] || NULL, NULL::INT[] || [1], list_concat([1], NULL), [1] || [2]",
            json!([[null, null, [1], [1, 2]]]),
        ),
        (
            "SELECT list_aggregate([1, 2, 3, 4], 'quantile_cont', 0.25), list_bit_xor([1, 2]), \
                list_mad([1, 2, 9]), list_histogram(['a', 'a', 'b']), list_kurtosis([]::INT[])",
            json!([[1.75, 3, 1.0, {"a": 2, "b": 1}, null]]),
        ),
        (
            "SELECT [x + i FOR x, i IN [10, 20, 30] IF i <> 2]",
            json!([[[11, 33]]]),
        ),
        (
            "SELECT [x + i FOR x, i IN [10, 20]], map {'a': 1, 'b': NULL}::VARCHAR",
            json!([[[11, 22], "{a=1, b=NULL}"]]),
        ),
    ]);
}

#[test]
fn decimal_numbers_are_rounded_exactly() {
    all(&[
        (
            "SELECT round(1.005, 2) = 1.01, round(2.675, 2) = 2.68, round(-1.45, 1) = -1.5, \
                round(0.5) = 1, round(1.005::DOUBLE, 2)",
            json!([[true, true, true, true, 1.0]]),
        ),
        (
            "SELECT 2.5::DECIMAL(3,1)::INT, (-2.5)::DECIMAL(3,1)::INT, 7.5::DECIMAL(3,1) % 2",
            json!([[3, -3, "1.5"]]),
        ),
        (
            "SELECT round_even(2.5, 0), fmod(-7.5, 2), fdiv(-7, 2), divide(7, 2), add(1, 2)",
            json!([[2.0, 0.5, -4.0, 3, 3]]),
        ),
    ]);
}

#[test]
fn what_fails_in_try_is_null() {
    all(&[(
        "SELECT try(NULL), try(CAST('x' AS INT)), try(ln(0)), try(sqrt(-1)), try(upper('a'))",
        json!([[null, null, null, null, "A"]]),
    )]);
    let nested = format!("try({}1{})", "sqrt(".repeat(20), ")".repeat(20));
    assert_eq!(rows(&format!("SELECT {nested}")), [json!([1.0])]);
}

#[test]
fn counts_of_rows_are_computed() {
    all(&[
        (
            "SELECT id FROM data ORDER BY id LIMIT (SELECT count(*) / 2 FROM data)",
            json!([["bonn"]]),
        ),
        (
            "SELECT id FROM data ORDER BY id LIMIT 2 - 1 OFFSET 3 - 2",
            json!([["lima"]]),
        ),
        (
            "SELECT x FROM range(2) AS t(x) ORDER BY x LIMIT NULL OFFSET NULL",
            json!([[0], [1]]),
        ),
        (
            "SELECT x FROM (VALUES (1), ('inf'::DOUBLE), (NULL)) t(x) ORDER BY x LIMIT 1",
            json!([[1.0]]),
        ),
        (
            "SELECT repeat('#', count(*)::INT) FROM level1 GROUP BY id",
            json!([["##"], ["##"]]),
        ),
        (
            "SELECT count(DISTINCT uuid()), min(length(uuid())) FROM level1",
            json!([[4, 36]]),
        ),
        ("SELECT E'a\\tb'", json!([["a\tb"]])),
        (
            "SELECT d, n FROM (SELECT [7, 8] AS l) CROSS JOIN unnest(l) WITH ORDINALITY AS t(d, n)",
            json!([[7, 1], [8, 2]]),
        ),
        (
            "SELECT reservoir_quantile(cloud_cover, 0.5), approx_quantile(cloud_cover, [0.5]) FROM \
                data",
            json!([[0.25, [0.5]]]),
        ),
        ("SELECT - -3, 5 - (-(-2)), '0x1F'::INT", json!([[3, 3, 31]])),
        (
            "SELECT list_filter(list(cloud_cover), x -> x > 0.5), \
                list_transform(list(id ORDER BY id), (x, i) -> x || i) FROM data",
            json!([[[0.75], ["bonn1", "lima2"]]]),
        ),
        (
            "SELECT regr_sxx(y, x), regr_syy(y, x), regr_sxy(y, x) FROM (VALUES (1, 2), (3, 8)) \
                t(x, y)",
            json!([[2.0, 18.0, 6.0]]),
        ),
    ]);
}

#[test]
fn statements_that_change_tables_have_another_spelling() {
    for (sql, answer) in [
        ("CREATE TABLE t AS SELECT 1", "WITH t AS"),
        ("COPY data TO 'x.csv'", "save its result"),
        ("SET threads = 4", "SHOW TABLES"),
        ("SELECT * INTO t FROM data", "WITH t AS"),
        (
            "SELECT struct_pack(upper(id)) FROM data",
            "struct_pack(a := id",
        ),
    ] {
        let text = report(sql);
        assert!(text.contains(answer), "{sql}: {text}");
    }
}

#[test]
fn bins_have_bounds_and_counts() {
    all(&[
        (
            "SELECT equi_width_bins(0, 10, 5, true), equi_width_bins(0, 10, 4, false), \
                equi_width_bins(0, 10, 3, true), equi_width_bins(0, 3, 7, true), \
                equi_width_bins(5, 5, 4, true), equi_width_bins(0, 10, NULL, true)",
            json!([[
                [2, 4, 6, 8, 10],
                [2, 5, 7, 10],
                [5, 10],
                [0, 1, 2, 3],
                [5],
                null
            ]]),
        ),
        (
            "SELECT equi_width_bins(0.0, 10.5, 4, true), equi_width_bins(0.5, 10, 5, true), \
                equi_width_bins(0.02::DOUBLE, 0.73::DOUBLE, 5, false)",
            json!([[
                [2.0, 4.0, 6.0, 8.0, 10.0, 12.0],
                [2, 4, 6, 8, 10],
                [
                    0.161_999_999_999_999_95,
                    0.303_999_999_999_999_94,
                    0.445_999_999_999_999_94,
                    0.588,
                    0.73
                ]
            ]]),
        ),
        (
            "SELECT map_entries(histogram(x, [3, 1, 3])), map_entries(histogram(x, [1.5, 3])), \
                map_entries(histogram(x, [])), map_entries(histogram(x::DOUBLE, [0.5, 9])), \
                map_entries(histogram_exact(x, [1, 3, 10])) \
                FROM (VALUES (1), (2), (3), (4), (9), (NULL)) t(x)",
            json!([[
                [{"key": 1, "value": 1}, {"key": 3, "value": 2}, {"key": 2147483647, "value": 2}],
                [{"key": 2, "value": 2}, {"key": 3, "value": 1}, {"key": 2147483647, "value": 2}],
                [{"key": 2147483647, "value": 5}],
                [{"key": 0.5, "value": 0}, {"key": 9.0, "value": 5}],
                [
                    {"key": 1, "value": 1},
                    {"key": 3, "value": 1},
                    {"key": 10, "value": 0},
                    {"key": 2147483647, "value": 3}
                ]
            ]]),
        ),
        (
            "SELECT map_entries(histogram(x, equi_width_bins(0, 10, 2, true))), \
                map_entries(histogram(x, [5]) FILTER (x > 100)) \
                FROM (VALUES (1), (9)) t(x)",
            json!([[[{"key": 5, "value": 1}, {"key": 10, "value": 1}], null]]),
        ),
        (
            "SELECT is_histogram_other_bin(5), is_histogram_other_bin(2147483647), \
                is_histogram_other_bin(''), is_histogram_other_bin('infinity'::DOUBLE), \
                is_histogram_other_bin(NULL::INTEGER)",
            json!([[false, true, true, true, null]]),
        ),
    ]);
    for sql in [
        "SELECT equi_width_bins(5, 4, 4, true)",
        "SELECT equi_width_bins(0, 4, 0, true)",
        "SELECT histogram(x, [1, NULL]) FROM (VALUES (1)) t(x)",
        "SELECT histogram(x, [DATE '2021-01-01']) FROM (VALUES (DATE '2021-01-01')) t(x)",
    ] {
        report(sql);
    }
}

#[test]
fn rows_are_found_among_tuples() {
    all(&[
        (
            "SELECT count(*) FROM range(100) t(x) WHERE (x, x + 1) IN ((1, 2), (5, 7), (8, 9))",
            json!([[2]]),
        ),
        (
            "SELECT id FROM data WHERE (id, type) IN (('lima', 'FOLDER'), ('bonn', 'FILE'))",
            json!([["lima"]]),
        ),
        (
            "SELECT id FROM data WHERE (id, \"stac:time_start\"::DATE) NOT IN \
                (('lima', DATE '2021-01-01'))",
            json!([["bonn"]]),
        ),
        (
            "SELECT (1, NULL) IN ((1, NULL), (2, 3)), (1, 2) NOT IN ((1, NULL)), \
                (x, 'a') IN ((x, 'a'), (3, 'b')) FROM (VALUES (1)) t(x)",
            json!([[true, true, true]]),
        ),
    ]);
}

#[test]
fn seeds_repeat_random_numbers() {
    let sql = "SELECT setseed(0.25), random() AS a, random() AS b FROM range(4) t(x)";
    let numbers = rows(sql);
    assert_eq!(numbers, rows(sql));
    let other = rows(&sql.replace("0.25", "-0.25"));
    let mut known = Vec::new();
    for row in numbers.iter().chain(&other) {
        assert_eq!(row[0], Json::Null);
        for number in [&row[1], &row[2]] {
            assert!(
                number
                    .as_f64()
                    .is_some_and(|number| (0.0..1.0).contains(&number))
            );
            assert!(!known.contains(&number), "{number}");
            known.push(number);
        }
    }
    report("SELECT setseed(2)");
}

#[test]
fn operators_have_names() {
    all(&[(
        "SELECT add(DATE '2020-01-01', 3)::VARCHAR, subtract(DATE '2020-01-05', 3)::VARCHAR, \
            add(3, DATE '2020-01-01')::VARCHAR, date_add(DATE '2020-01-31', INTERVAL 1 MONTH), \
            multiply(3, 4), divide(7, 2)",
        json!([[
            "2020-01-04",
            "2020-01-02",
            "2020-01-04",
            "2020-02-29T00:00:00",
            12,
            3
        ]]),
    )]);
}

#[test]
fn frames_leave_out_rows() {
    all(&[
        (
            "SELECT x, sum(x) OVER w, count(*) OVER w, avg(x * 0.5) OVER w, min(x) OVER w, \
                max(x) OVER w FROM (VALUES (1), (2), (3), (4)) t(x) WINDOW w AS \
                (ORDER BY x ROWS BETWEEN 1 PRECEDING AND 2 FOLLOWING EXCLUDE CURRENT ROW) \
                ORDER BY x",
            json!([
                [1, 5, 2, 1.25, 2, 3],
                [2, 8, 3, 1.333_333_333_333_333_3, 1, 4],
                [3, 6, 2, 1.5, 2, 4],
                [4, 3, 1, 1.5, 3, 3]
            ]),
        ),
        (
            "SELECT x, sum(x) OVER w, min(x) OVER w FROM (VALUES (1), (1), (2), (NULL)) t(x) \
                WINDOW w AS (ORDER BY x ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING \
                EXCLUDE GROUP) ORDER BY x",
            json!([[1, 2, 2], [1, 2, 2], [2, 2, 1], [null, 4, 1]]),
        ),
        (
            "SELECT regr_count(x, x) OVER w, entropy(x) OVER w, count_if(x > 1) OVER w \
                FROM (VALUES (1), (2)) t(x) \
                WINDOW w AS (ORDER BY x ROWS BETWEEN 1 PRECEDING AND 1 PRECEDING) ORDER BY x",
            json!([[0, 0.0, null], [1, 0.0, 0]]),
        ),
    ]);
}

#[test]
fn times_with_and_without_zones_have_one_type() {
    let zoned = "TIMESTAMPTZ '2020-01-01 00:00:00+02'";
    let rows_of = |sql: &str| rows(&sql.replace("{z}", zoned));
    assert_eq!(
        rows_of(
            "SELECT typeof(coalesce({z}, DATE '2021-01-01')), \
                typeof(greatest({z}, DATE '2021-01-01')), \
                typeof(CASE WHEN id = 'lima' THEN {z} ELSE DATE '2021-01-01' END) \
                FROM data LIMIT 1"
        ),
        [json!([
            "TIMESTAMP WITH TIME ZONE",
            "TIMESTAMP WITH TIME ZONE",
            "TIMESTAMP WITH TIME ZONE"
        ])]
    );
    assert_eq!(
        rows_of(
            "SELECT typeof(t), count(*), epoch(min(t)) FROM (SELECT {z} AS t UNION ALL \
                SELECT TIMESTAMP '2021-01-01' UNION ALL SELECT DATE '2021-01-02') GROUP BY 1"
        ),
        [json!(["TIMESTAMP WITH TIME ZONE", 3, 1_577_829_600.0])]
    );
}

#[test]
fn columns_are_described_in_from() {
    all(&[
        (
            "SELECT column_name, column_type FROM (DESCRIBE data) WHERE column_type LIKE '%[]'",
            json!([["stac:geotransform", "DOUBLE[]"]]),
        ),
        (
            "SELECT column_name FROM (DESCRIBE SELECT 1 AS a, (SELECT 2) AS b) d WHERE \
                column_type = 'INTEGER' ORDER BY 1",
            json!([["a"], ["b"]]),
        ),
        (
            "SELECT column_name, min, max, \"count\" FROM (SUMMARIZE data) WHERE column_name IN \
                ('id', 'cloud_cover') ORDER BY 1",
            json!([
                ["cloud_cover", "0.25", "0.75", 2],
                ["id", "bonn", "lima", 2]
            ]),
        ),
        (
            "SELECT s.max FROM (SUMMARIZE SELECT cloud_cover FROM data) AS s",
            json!([["0.75"]]),
        ),
        (
            "SELECT (summarize) FROM (SELECT 1 AS summarize)",
            json!([[1]]),
        ),
    ]);
}

#[test]
fn groups_are_json() {
    all(&[
        (
            "SELECT json_group_array(x), json_group_object('k' || x, x) FROM range(3) t(x)",
            json!([["[0,1,2]", "{\"k0\":0,\"k1\":1,\"k2\":2}"]]),
        ),
        (
            "SELECT json_group_array({'a': x}) FROM (VALUES (1), (NULL)) t(x)",
            json!([["[{\"a\":1},{\"a\":null}]"]]),
        ),
    ]);
}

#[test]
fn bars_are_drawn() {
    all(&[(
        "SELECT bar(5, 0, 10, 10), bar(3.3, 0, 10, 10), bar(20, 0, 10, 10), bar(-1, 0, 10, 10), \
            length(bar(5, 0, 10)), bar(NULL, 0, 10, 5)",
        json!([[
            "█████     ",
            "███▎      ",
            "██████████",
            "          ",
            80,
            null
        ]]),
    )]);
}

#[test]
fn distances_between_dates_are_days() {
    let dates = "(VALUES (DATE '2023-01-01'), (DATE '2023-01-02'), (DATE '2023-01-09'), (NULL)) \
        t(x)";
    let counts = |frame: &str| {
        rows(&format!(
            "SELECT count(*) OVER (ORDER BY x RANGE BETWEEN {frame}) FROM {dates} ORDER BY x"
        ))
    };
    assert_eq!(
        counts("1 PRECEDING AND CURRENT ROW"),
        [json!([1]), json!([2]), json!([1]), json!([1])]
    );
    assert_eq!(
        counts("1 PRECEDING AND INTERVAL 7 DAYS FOLLOWING"),
        [json!([2]), json!([3]), json!([1]), json!([1])]
    );
    for sql in [
        "SELECT sum(1) OVER (ORDER BY x RANGE 1 PRECEDING) FROM (VALUES (TIMESTAMP '2023-01-01')) \
            t(x)",
        "SELECT sum(1) OVER (ORDER BY x RANGE 1.5 PRECEDING) FROM (VALUES (DATE '2023-01-01')) \
            t(x)",
        "SELECT sum(1) OVER (ORDER BY x RANGE INTERVAL 1 DAY PRECEDING) FROM (VALUES (1)) t(x)",
    ] {
        report(sql);
    }
}

#[test]
fn buckets_of_months_begin_with_a_month() {
    all(&[(
        "SELECT time_bucket(INTERVAL 1 MONTH, DATE '2023-05-12', DATE '2023-01-15')::VARCHAR, \
            time_bucket(INTERVAL 3 MONTH, DATE '2023-05-12', DATE '2023-02-15')::VARCHAR, \
            time_bucket(INTERVAL 1 YEAR, DATE '2023-05-12', DATE '2022-04-15')::VARCHAR, \
            time_bucket(INTERVAL 2 MONTH, DATE '2022-11-12', DATE '2023-02-15')::VARCHAR",
        json!([["2023-05-01", "2023-05-01", "2023-04-01", "2022-10-01"]]),
    )]);
}

#[test]
fn bounds_and_buckets_beyond_their_types_are_refused() {
    for sql in [
        "SELECT equi_width_bins(-9007199254741092.0::DOUBLE, -9007199254740982.0::DOUBLE, 150, \
            false)",
        "SELECT equi_width_bins(0::DOUBLE, 1.5e308::DOUBLE, 1, true)",
        "SELECT equi_width_bins(0::UTINYINT, 255::UTINYINT, 10, true)",
        "SELECT equi_width_bins(0::UBIGINT, 18446744073709551615::UBIGINT, 10, false)",
        "SELECT sum(len(equi_width_bins(0, 1048576 + n, 1048576, false))) FROM range(100) t(n)",
        "SELECT time_bucket(INTERVAL 100000000 MONTHS, DATE '1999-01-01')",
        "SELECT setseed(0.5)",
        "SELECT setseed((0.5)), random()",
        "SELECT json_group_object('k' || x, x) FILTER (x > 1) FROM range(3) t(x)",
    ] {
        report(sql);
    }
}

#[test]
fn grouped_json_has_the_rows_and_the_order_that_are_asked_for() {
    all(&[
        (
            "SELECT json_group_array(x ORDER BY x DESC) FROM range(3) t(x)",
            json!([["[2,1,0]"]]),
        ),
        (
            "SELECT json_group_array(x) FILTER (x > 0) FROM range(3) t(x)",
            json!([["[1,2]"]]),
        ),
    ]);
}

#[test]
fn frames_reach_beyond_all_times() {
    all(&[(
        "SELECT count(*) OVER (ORDER BY d RANGE BETWEEN INTERVAL 200000000 DAYS PRECEDING AND \
            CURRENT ROW) AS n FROM (VALUES (DATE '2020-01-01'), (DATE '2020-02-01')) t(d) \
            ORDER BY d",
        json!([[1], [2]]),
    )]);
}

#[test]
fn tuples_of_several_types_are_compared_each_with_its_own() {
    let more = (10..60)
        .map(|number| format!(", ({number}, {number})"))
        .collect::<String>();
    let sql = |first: &str| {
        format!(
            "SELECT count(*) FROM (VALUES (9007199254740992, 1)) t(id, k) WHERE (id, k) IN \
                (({first}, 1), (0.5, 2){more})"
        )
    };
    all(&[
        (sql("9007199254740993").as_str(), json!([[0]])),
        (sql("9007199254740992").as_str(), json!([[1]])),
    ]);
}

#[test]
fn words_of_other_databases_are_names() {
    all(&[
        (
            "SELECT [3, 4][1:1] top, 2 sort, 3 AS format",
            json!([[[3], 2, 3]]),
        ),
        (
            "SELECT start.y, x FROM (SELECT 1 AS x) top, (SELECT 2 AS y) start",
            json!([[2, 1]]),
        ),
    ]);
    assert_eq!(names("SELECT 1 top"), ["top"]);
}

#[test]
fn dates_are_moved_by_computed_numbers_of_days() {
    all(&[(
        "SELECT d + n::INT, d - (n::INT + 1), n::INT + d FROM (SELECT DATE '2021-01-01' AS d, \
            row_number() OVER () AS n FROM data LIMIT 1)",
        json!([["2021-01-02", "2020-12-30", "2021-01-02"]]),
    )]);
}
