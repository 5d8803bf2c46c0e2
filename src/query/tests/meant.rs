//! Statements that the engine alone evaluates differently from DuckDB; expected values are those of
//! DuckDB 1.4.

use super::*;
use arrow::array::{BooleanArray, StructArray};

/// Eight samples with nulls and ties.
fn gaps() -> Tables {
    let lists = [
        None,
        Some(vec![]),
        Some(vec![Some(1.0), Some(2.0)]),
        Some(vec![None]),
        Some(vec![Some(3.0)]),
        None,
        None,
        None,
    ];
    let a: ArrayRef = numbers(&[0, 1, 2, 3, 4, 5, 6, 7]);
    let fields = arrow::datatypes::Fields::from(vec![arrow::datatypes::Field::new(
        "a",
        a.data_type().clone(),
        true,
    )]);
    let mut tables = Tables::default();
    tables.push_table(decoded(batch(vec![
        ("id", texts(&["a", "b", "c", "d", "e", "f", "g", "h"])),
        (
            "n",
            Arc::new(Int64Array::from(vec![
                None,
                Some(0),
                Some(-5),
                Some(3),
                Some(3),
                None,
                Some(1 << 62),
                Some(7),
            ])),
        ),
        ("k", numbers(&[0, 1, 2, 3, 4, 5, 6, 7])),
        (
            "f",
            Arc::new(Float64Array::from(vec![
                None,
                Some(f64::NAN),
                Some(1.5),
                Some(-1.5),
                Some(f64::INFINITY),
                Some(2.5),
                None,
                Some(0.5),
            ])),
        ),
        (
            "s",
            Arc::new(StringArray::from(vec![
                None,
                Some(""),
                Some("train"),
                Some("test"),
                Some("train"),
                Some("val"),
                Some("val"),
                Some("val"),
            ])),
        ),
        (
            "b",
            Arc::new(BooleanArray::from(vec![
                None,
                Some(true),
                Some(false),
                Some(true),
                Some(true),
                Some(false),
                None,
                Some(true),
            ])),
        ),
        (
            "l",
            Arc::new(ListArray::from_iter_primitive::<Float64Type, _, _>(lists)),
        ),
        ("st", Arc::new(StructArray::new(fields, vec![a], None))),
    ])));
    tables
}

fn answered(sql: &str) -> QueryResult {
    run_sql(&gaps(), sql, None, &ctx()).unwrap_or_else(|error| panic!("{sql}: {}", error.report()))
}

/// The rows as CSV without the header, on one line.
fn flat(sql: &str) -> String {
    answered(sql)
        .csv()
        .lines()
        .skip(1)
        .collect::<Vec<_>>()
        .join(" ")
}

fn refused(sql: &str) -> String {
    match run_sql(&gaps(), sql, None, &ctx()) {
        Err(error) => error.report(),
        Ok(result) => panic!("{sql} gave {}", result.csv()),
    }
}

fn all(cases: &[(&str, &str)]) {
    for (sql, wanted) in cases {
        assert_eq!(flat(sql), *wanted, "{sql}");
    }
}

#[test]
fn outer_joins_keep_their_rows_whatever_their_condition() {
    all(&[
        (
            "SELECT count(*) AS n FROM data AS a LEFT JOIN data AS b ON a.k = b.k AND b.k > 100",
            "8",
        ),
        (
            "SELECT count(b.id) AS n FROM data AS a LEFT JOIN data AS b ON (a.k = b.k AND b.s = \
                'train')",
            "2",
        ),
        (
            "SELECT count(a.id) AS n, count(*) AS m FROM data AS a RIGHT JOIN data AS b ON a.k = \
                b.k AND a.k < 3",
            "3,8",
        ),
        (
            "SELECT a.id FROM data a ANTI JOIN data b ON a.k = b.k AND b.n > 2 ORDER BY a.id",
            "a b c f",
        ),
        (
            "SELECT a.id FROM data a SEMI JOIN data b ON a.k = b.k AND b.n BETWEEN 2 AND 4 ORDER \
                BY a.id",
            "d e",
        ),
        (
            "SELECT count(*) AS n FROM data a LEFT JOIN level0 b USING (id) LEFT JOIN data c ON \
                c.id = a.id AND c.k < 3",
            "8",
        ),
        (
            "SELECT count(*) AS n FROM data a JOIN data b ON a.k = b.k AND b.k > 5",
            "2",
        ),
    ]);
    for sql in [
        "SELECT a.id FROM data a LEFT JOIN data b ON a.k < b.k",
        "SELECT a.id FROM data a LEFT JOIN data b ON a.k = b.k AND a.n < b.n",
        "SELECT a.id FROM data a LEFT JOIN data b ON a.k = b.k AND a.n > 3",
        "SELECT a.id FROM data a FULL JOIN data b ON a.k = b.k AND b.n > 3",
        "SELECT a.id FROM data a LEFT JOIN data b ON a.k = b.k AND (b.n > 3 OR a.n < 2)",
    ] {
        assert!(
            refused(sql).contains("find the pairs in a subquery"),
            "{sql}: {}",
            refused(sql)
        );
    }
    let spelled = "SELECT a.id, m.n FROM data AS a LEFT JOIN (SELECT a.id AS key, b.n FROM data AS \
        a JOIN data AS b ON a.s = b.s AND a.k < b.k) AS m ON a.id = m.key WHERE a.s = 'train' \
        ORDER BY a.id";
    assert_eq!(flat(spelled), "c,3 e,");
}

#[test]
fn tables_of_with_go_before_those_of_the_dataset() {
    all(&[
        (
            "WITH data AS (SELECT * FROM data WHERE k < 3) SELECT count(*) AS n FROM data",
            "3",
        ),
        (
            "WITH level0 AS (SELECT * FROM data WHERE k < 3) SELECT level0.id FROM level0 WHERE \
                level0.k > 1",
            "c",
        ),
        (
            "WITH data AS (SELECT * FROM data WHERE k < 3), x AS (SELECT data.k FROM data) SELECT \
                max(k) AS m FROM x",
            "2",
        ),
        (
            "WITH data AS (SELECT id FROM data WHERE k < 3) SELECT count(*) AS n FROM l0, data",
            "24",
        ),
        (
            "SELECT * FROM (WITH data AS (SELECT id FROM data WHERE k < 2) SELECT * FROM data) AS \
                t",
            "a b",
        ),
        (
            "WITH data AS (SELECT id FROM data WHERE k < 3) SELECT data.\"l0:id\" FROM l0 AS data \
                WHERE data.\"l0:k\" = 5",
            "f",
        ),
    ]);
}

#[test]
fn truth_values_are_compared_with_what_is_unknown() {
    all(&[
        ("SELECT count(*) AS n FROM data WHERE b IS NOT TRUE", "4"),
        (
            "SELECT count(*) AS n FROM data WHERE b IS NOT FALSE AND k > 0",
            "5",
        ),
        ("SELECT count(*) AS n FROM data WHERE NOT b IS TRUE", "4"),
        (
            "SELECT count(*) AS n FROM data WHERE b IS UNKNOWN OR k = 1",
            "3",
        ),
        ("SELECT count(*) AS n FROM data WHERE b IS NOT UNKNOWN", "6"),
        (
            "SELECT count(*) AS n FROM data WHERE n > 2 IS NOT TRUE",
            "4",
        ),
        (
            "SELECT count(*) AS n FROM data WHERE s IS DISTINCT FROM 'train' AND k < 4",
            "3",
        ),
        (
            "SELECT count(*) AS n FROM data WHERE s IS NOT DISTINCT FROM 'train' AND k < 4",
            "1",
        ),
    ]);
    all(&[(
        "SELECT id FROM data WHERE s LIKE 't%' IS NOT TRUE ORDER BY id",
        "a b f g h",
    )]);
    let kept = |condition: &str| {
        let query = Query {
            filters: vec![Filter::condition(condition)],
            ..Query::default()
        };
        super::super::run(&gaps(), &query, &ctx()).map(|result| result.row_count)
    };
    assert_eq!(kept("b IS NOT TRUE").expect("runs"), 4);
    assert_eq!(kept("s LIKE 't%' IS NOT TRUE").expect("runs"), 5);
    assert!(kept("s LIKE 't%' IS NOT").is_err());
}

#[test]
fn empty_lists_have_nothing_to_give() {
    all(&[
        (
            "SELECT id, x FROM data CROSS JOIN UNNEST(l) AS t(x) ORDER BY id, x",
            "c,1.0 c,2.0 d, e,3.0",
        ),
        (
            "SELECT d.id FROM data AS d CROSS JOIN UNNEST(d.l) AS t(x) WHERE d.k > 2",
            "d e",
        ),
        ("SELECT unnest(l) AS x FROM data ORDER BY x", "1.0 2.0 3.0 "),
        (
            "SELECT id, list_sum(l) AS x FROM data WHERE k < 4",
            "a, b, c,3.0 d,",
        ),
    ]);
}

#[test]
fn what_has_no_value_comes_last() {
    all(&[
        ("SELECT id FROM data ORDER BY n DESC, id LIMIT 3", "g h d"),
        (
            "SELECT id FROM data ORDER BY n DESC NULLS FIRST, id LIMIT 3",
            "a f g",
        ),
        (
            "SELECT id, row_number() OVER (ORDER BY n) AS r FROM data ORDER BY r LIMIT 2",
            "c,1 b,2",
        ),
        (
            "SELECT id, rank() OVER (ORDER BY n) AS r, dense_rank() OVER (ORDER BY n DESC) AS d \
                FROM data ORDER BY id",
            "a,7,6 b,2,4 c,1,5 d,3,3 e,3,3 f,7,6 g,6,1 h,5,2",
        ),
        (
            "SELECT id, row_number() OVER (PARTITION BY b ORDER BY n DESC, id DESC) AS r FROM data \
                ORDER BY id",
            "a,2 b,4 c,1 d,3 e,2 f,2 g,1 h,1",
        ),
        (
            "SELECT id FROM data QUALIFY row_number() OVER (PARTITION BY b ORDER BY n DESC) = 1 \
                ORDER BY id",
            "c g h",
        ),
        (
            "SELECT array_agg(id ORDER BY n DESC, id) AS x FROM data WHERE k < 4",
            "\"[\"\"d\"\",\"\"b\"\",\"\"c\"\",\"\"a\"\"]\"",
        ),
    ]);
    all(&[(
        "SELECT id, row_number() OVER (ORDER BY n NULLS FIRST, id) AS r FROM data ORDER BY id",
        "a,1 b,4 c,3 d,5 e,6 f,2 g,8 h,7",
    )]);
}

#[test]
fn numbers_that_do_not_fit_are_errors() {
    for sql in [
        "SELECT n * 4 AS x FROM data",
        "SELECT id FROM data WHERE n + n + 1 > 0",
        "SELECT sum(n) AS x FROM (SELECT n FROM data UNION ALL SELECT n FROM data) AS t",
        "SELECT s, sum(n) AS x FROM (SELECT s, n FROM data UNION ALL SELECT s, n FROM data) AS t \
            GROUP BY s",
    ] {
        assert!(
            refused(sql).contains("CAST(x AS DOUBLE)"),
            "{sql}: {}",
            refused(sql)
        );
    }
    all(&[
        (
            "SELECT sum(n) AS x, sum(k) AS y, sum(k + 1) AS z FROM data",
            "4611686018427387912,28,36",
        ),
        (
            "SELECT s, sum(k) + 1 AS x, count(*) * 2 AS c FROM data WHERE s = 'val' GROUP BY s",
            "val,19,6",
        ),
        ("SELECT sum(k) AS x FROM data WHERE k > 10", ""),
        ("SELECT -7 % 3 AS a, -7 // 2 AS b", "-1,-3"),
        (
            "SELECT (k - 5) % 3 AS a, (k - 5) // 3 AS b, k % 0 AS c FROM data WHERE k < 2",
            "-2,-1, -1,-1,",
        ),
        (
            "SELECT f % 1 AS a, round(f) AS b, CAST(f AS INTEGER) AS c FROM data WHERE k IN (3, 5)",
            "-0.5,-2.0,-2 0.5,3.0,2",
        ),
        (
            "SELECT strpos(s, 'r') AS a, instr(id, 'c') AS b FROM data WHERE k IN (0, 2)",
            ",0 2,1",
        ),
        ("SELECT max(f) AS a FROM data", "NaN"),
        (
            "SELECT b, max(f) AS a FROM data GROUP BY b ORDER BY b",
            "false,2.5 true,NaN ,",
        ),
        (
            "SELECT 1e-3 AS a, 1E2 AS b, 18446744073709551615 AS c, -2e0 AS d",
            "0.001,100.0,18446744073709551615,-2.0",
        ),
        (
            "SELECT CAST(TIMESTAMP '2000-01-01' AS DATE) AS d",
            "2000-01-01",
        ),
    ]);
}

#[test]
fn clauses_see_what_select_does_not_name() {
    all(&[
        (
            "SELECT s, count(*) AS c FROM data GROUP BY s ORDER BY count(*) DESC, s LIMIT 2",
            "val,3 train,2",
        ),
        (
            "SELECT s FROM data GROUP BY s HAVING count(*) > 1 ORDER BY sum(k) DESC",
            "val train",
        ),
        (
            "SELECT k % 3 AS m, count(*) AS c FROM data GROUP BY m HAVING m > 0 ORDER BY m",
            "1,3 2,2",
        ),
        (
            "SELECT s, count(*) + 1 AS c FROM data GROUP BY s HAVING c > 3",
            "val,4",
        ),
        (
            "SELECT id FROM data QUALIFY row_number() OVER (PARTITION BY s ORDER BY k) = 2 ORDER \
                BY k",
            "e g",
        ),
        (
            "SELECT id, row_number() OVER (PARTITION BY s ORDER BY k) AS r FROM data QUALIFY r = 2 \
                AND k > 5",
            "g,2",
        ),
    ]);
    assert_eq!(
        answered("SELECT a.id, b.id FROM data a JOIN data b ON a.k = b.k WHERE a.k = 0").csv(),
        "id,id_1\na,a\n"
    );
}

#[test]
fn aggregations_stand_beside_groups_alone() {
    for sql in [
        "SELECT id, count(*) FROM data",
        "SELECT *, max(k) FROM data",
        "SELECT k - avg(k) AS x FROM data",
    ] {
        assert!(refused(sql).contains("GROUP BY"), "{sql}: {}", refused(sql));
    }
    for sql in [
        "SELECT s, max(sum(k)) AS x FROM data GROUP BY s",
        "SELECT sum(rank() OVER (ORDER BY k)) AS x FROM data",
    ] {
        assert!(
            refused(sql).contains("in a subquery"),
            "{sql}: {}",
            refused(sql)
        );
    }
    all(&[
        (
            "SELECT s, sum(sum(k)) OVER () AS x FROM data GROUP BY s ORDER BY s",
            "\"\",28 test,28 train,28 val,28 ,28",
        ),
        (
            "SELECT s, rank() OVER (ORDER BY count(*) DESC) AS x FROM data GROUP BY s ORDER BY s",
            "\"\",3 test,3 train,2 val,1 ,3",
        ),
        (
            "SELECT count(*) AS n, 'x' AS kind, max(k) - min(k) AS w, CAST(sum(k) AS INTEGER) AS i \
                FROM data",
            "8,x,7,28",
        ),
        (
            "SELECT id, count(*) OVER () AS n, k - avg(k) OVER () AS d FROM data WHERE k = 1",
            "b,1,0.0",
        ),
        (
            "SELECT count(*) FILTER (WHERE s = 'val') AS n, any_value(id) AS i FROM data",
            "3,a",
        ),
    ]);
}

#[test]
fn values_are_told_apart() {
    let result = answered("SELECT f, s, st FROM data WHERE k IN (0, 1, 4)");
    assert_eq!(
        result.csv(),
        "f,s,st\n,,\"{\"\"a\"\":0}\"\nNaN,\"\",\"{\"\"a\"\":1}\"\ninf,train,\"{\"\"a\"\":4}\"\n"
    );
    let rows: Vec<Json> = result.json_rows().map(Json::Object).collect();
    assert_eq!(rows[1], json!({"f": "NaN", "s": "", "st": {"a": 1}}));
    assert_eq!(rows[0], json!({"f": null, "s": null, "st": {"a": 0}}));
}

#[test]
fn frames_choose_the_rows_that_a_window_looks_at() {
    all(&[
        (
            "SELECT sum(k) OVER (ORDER BY k ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS a FROM \
                data ORDER BY k",
            "1 3 6 9 12 15 18 13",
        ),
        (
            "SELECT sum(k) OVER (ORDER BY k RANGE BETWEEN 2 PRECEDING AND CURRENT ROW) AS c FROM \
                data ORDER BY k",
            "0 1 3 6 9 12 15 18",
        ),
        (
            "SELECT avg(k) OVER (ORDER BY k) AS b FROM data ORDER BY k",
            "0.0 0.5 1.0 1.5 2.0 2.5 3.0 3.5",
        ),
        // RANGE frames include peers.
        (
            "SELECT id, sum(k) OVER (ORDER BY s) AS x FROM data WHERE k > 1 ORDER BY id",
            "c,9 d,3 e,9 f,27 g,27 h,27",
        ),
        (
            "SELECT count(*) OVER (PARTITION BY s ORDER BY k) AS c FROM data ORDER BY k",
            "1 1 1 1 2 1 2 3",
        ),
        (
            "SELECT id, lag(k, 1, -1) OVER (PARTITION BY s ORDER BY k) AS l FROM data ORDER BY id",
            "a,-1 b,-1 c,-1 d,-1 e,2 f,-1 g,5 h,6",
        ),
        (
            "SELECT ntile(3) OVER (ORDER BY k) AS t FROM data ORDER BY k",
            "1 1 1 2 2 2 3 3",
        ),
        (
            "SELECT median(k) OVER (PARTITION BY b) AS m FROM data ORDER BY k",
            "3.0 3.5 3.5 3.5 3.5 3.5 3.0 3.5",
        ),
        (
            "SELECT max(s) OVER (ORDER BY k) AS x FROM data WHERE k > 1 ORDER BY k",
            "train train train val val val",
        ),
        (
            "SELECT sum(k) OVER w AS a, count(*) OVER (w ORDER BY k) AS b FROM data WINDOW w AS \
                (PARTITION BY s) ORDER BY k",
            "0,1 1,1 6,1 3,1 6,2 18,1 18,2 18,3",
        ),
        (
            "SELECT first_value(n IGNORE NULLS) OVER (ORDER BY k ROWS BETWEEN UNBOUNDED PRECEDING \
                AND UNBOUNDED FOLLOWING) AS x FROM data LIMIT 1",
            "0",
        ),
    ]);
    assert!(
        refused("SELECT sum(k) OVER (ORDER BY k ROWS k PRECEDING) AS x FROM data")
            .contains("ROWS BETWEEN")
    );
    assert!(
        refused(
            "SELECT sum(n) OVER () AS x FROM (SELECT n FROM data UNION ALL SELECT n FROM data) AS t"
        )
        .contains("CAST(x AS DOUBLE)")
    );
}

#[test]
fn subqueries_stand_for_values_and_sets() {
    all(&[
        (
            "SELECT id FROM data WHERE k > (SELECT avg(k) FROM data) ORDER BY id",
            "e f g h",
        ),
        (
            "SELECT id, (SELECT count(*) FROM data AS e WHERE e.s = d.s) AS c FROM data AS d ORDER \
                BY id",
            "a,0 b,1 c,2 d,1 e,2 f,3 g,3 h,3",
        ),
        (
            "SELECT id FROM data AS d WHERE EXISTS (SELECT 1 FROM data AS e WHERE e.k = d.n) ORDER \
                BY id",
            "b d e h",
        ),
        (
            "SELECT id FROM data AS d WHERE NOT EXISTS (SELECT 1 FROM data AS e WHERE e.k = d.n \
                AND e.k > 3) ORDER BY id",
            "a b c d e f g",
        ),
        (
            "SELECT id FROM data AS d WHERE EXISTS (SELECT 1 FROM data AS e WHERE e.k > d.k) ORDER \
                BY id",
            "a b c d e f g",
        ),
        (
            "SELECT id, EXISTS (SELECT 1 FROM data WHERE k > 100) AS x FROM data WHERE k < 2 ORDER \
                BY id",
            "a,false b,false",
        ),
        (
            "SELECT id, n IN (SELECT n FROM data WHERE k IN (1, 3)) AS x, n NOT IN (SELECT n FROM \
                data WHERE k < 4) AS y FROM data ORDER BY id",
            "a,, b,true,false c,false,false d,true,false e,true,false f,, g,false, h,false,",
        ),
        (
            "SELECT s FROM data GROUP BY s HAVING count(*) > (SELECT 2)",
            "val",
        ),
        (
            "SELECT k FROM data ORDER BY (SELECT max(k) FROM data) - k LIMIT 2",
            "7 6",
        ),
    ]);
    assert!(refused("SELECT id FROM data WHERE k = (SELECT k FROM data)").contains("several rows"));
    assert!(
        refused("SELECT id FROM data WHERE k = (SELECT k, id FROM data)").contains("2 columns")
    );
}

#[test]
fn aggregations_take_orders_parts_and_conditions() {
    all(&[
        (
            "SELECT percentile_cont(0.25) WITHIN GROUP (ORDER BY k) AS a, quantile_cont(k, 0.9) AS \
                c FROM data",
            "1.75,6.3",
        ),
        (
            "SELECT first(id ORDER BY k DESC) AS a, last(id ORDER BY k DESC) AS b, string_agg(id, \
                '-' ORDER BY k DESC) AS d FROM data",
            "h,a,h-g-f-e-d-c-b-a",
        ),
        (
            "SELECT regr_slope(n, k) AS a, regr_intercept(k, f) AS b, regr_count(n, k) AS d, \
                var_pop(k) AS e FROM data WHERE k NOT IN (1, 4, 6)",
            "2.0,4.1,3,5.84",
        ),
        (
            "SELECT avg(k) FILTER (WHERE s = 'val') AS a, count(*) FILTER (WHERE k > 5) AS b, \
                count(n) FILTER (WHERE k > 2) AS c FROM data",
            "6.0,2,4",
        ),
        (
            "SELECT bool_and(k > 3) FILTER (WHERE s = 'val') AS a, count_if(k > 3) FILTER (WHERE k \
                < 6) AS b FROM data",
            "true,2",
        ),
        (
            "SELECT sum(DISTINCT k % 3) AS a, avg(DISTINCT k % 3) AS b, count(DISTINCT s) AS c \
                FROM data",
            "3,1.0,4",
        ),
        ("SELECT any_value(n) AS a FROM data", "0"),
    ]);
    assert!(
        refused("SELECT avg(k) FILTER (WHERE s = 'val') AS a, id FROM data")
            .contains("GROUP BY id")
    );
}

#[test]
fn lists_dates_and_powers_are_computed() {
    all(&[
        (
            "SELECT list_transform(l, x -> x * 2) AS a, list_filter(l, x -> x > 1) AS b FROM data \
                WHERE k = 2",
            "\"[2.0,4.0]\",[2.0]",
        ),
        (
            "SELECT l[1:1] AS c, l[2] AS d, l[-1:] AS e FROM data WHERE k = 2",
            "[1.0],2.0,[2.0]",
        ),
        (
            "SELECT make_date(2020, 2, k + 1) AS a, k ** 2 AS c, 2 ^ 3 AS d, -2 ** 2 AS e FROM \
                data WHERE k = 3",
            "2020-02-04,9.0,8.0,4.0",
        ),
        (
            "SELECT make_timestamp(2020, 1, 31, 12, 30, 1.5) AS t",
            "2020-01-31T12:30:01.500",
        ),
        (
            "SELECT sha256('a') AS b",
            "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb",
        ),
        (
            "SELECT (st).a + 1 AS b, st['a'] AS c, st.a AS d FROM data WHERE k = 2",
            "3,2,2",
        ),
        (
            "SELECT k IN (n, 3) AS i FROM data WHERE k IN (3, 4) ORDER BY k",
            "true false",
        ),
        (
            "SELECT id FROM data WHERE (k, s) IN ((2, 'train'), (3, 'train'))",
            "c",
        ),
    ]);
    let (sql, instead) = ("SELECT age(TIMESTAMP '2020-01-01')", "date_diff('day'");
    assert!(refused(sql).contains(instead), "{sql}: {}", refused(sql));
}

/// The values are those of DuckDB 1.4.4.
#[test]
fn lists_paths_letters_and_bytes_have_the_functions_of_duckdb() {
    all(&[
        (
            "SELECT concat([1, 2], NULL, [3]) AS a, list_cat([2, 3], [4], [7]) AS b, \
                list_concat([1]) AS c",
            "\"[1,2,3]\",\"[2,3,4,7]\",[1]",
        ),
        (
            "SELECT hex('a'::BLOB || 'b'::BLOB) AS a, hex(from_binary('0110')) AS b",
            "6162,06",
        ),
        (
            "SELECT left_grapheme('🤦🏼‍♂️b', 1) AS a, right_grapheme('abc', -1) AS b, \
                length_grapheme('🤦🏼‍♂️🤦🏽‍♀️') AS c, substring_grapheme('a🤦🏼‍♂️bc', 2, 2) AS d",
            "🤦🏼‍♂️,bc,2,🤦🏼‍♂️b",
        ),
        (
            "SELECT parse_filename('a/b.tif', true) AS a, parse_dirpath('a/b/c.tif') AS b, \
                parse_dirname('a/b/c.tif') AS c, parse_path('a/b.tif')[2] AS d, \
                parse_filename('a/b.tif', 'backslash') AS e",
            "b,a/b,a,b.tif,a/b.tif",
        ),
        (
            "SELECT regexp_extract('ABC', '([a-z])(b)', 1, 'i') AS a, format_bytes(16000) AS b, \
                formatReadableDecimalSize(16000) AS c, datepart('hour', TIMESTAMP '2023-05-06 \
                07:00:00') AS d",
            "A,15.6 KiB,16.0 kB,7",
        ),
        (
            "SELECT greatest_common_divisor(42, 57) AS a, least_common_multiple(4, 6) AS b, \
                list_negative_inner_product([1, 2], [3, 4]) AS c, \
                CAST(nextafter(1::FLOAT, 2::FLOAT) AS DOUBLE) AS d",
            "3,12,-11.0,1.0000001192092896",
        ),
    ]);
}

/// The values are those of the spatial extension of DuckDB 1.4.4.
#[test]
fn geometries_are_measured_moved_and_made_as_in_duckdb() {
    let square = "ST_MakeEnvelope(0, 0, 1, 1)";
    for (expression, wanted) in [
        (
            "ST_Distance_Sphere(ST_Point(45, 0), ST_Point(46, 1))",
            135_786.090_626_927_9,
        ),
        (
            "ST_X(ST_Transform(ST_Point(45, 0), 'EPSG:4326', 'EPSG:32631'))",
            263_553.973_898_791_4,
        ),
        (
            "ST_X(ST_Transform(ST_Point(3, 45), 'EPSG:4326', 'EPSG:32631', true))",
            500_000.0,
        ),
        (
            "ST_Y(ST_Transform(ST_Point(3, 45), 'EPSG:4326', 'EPSG:32631', always_xy := true))",
            4_982_950.400_226_552,
        ),
        (
            "ST_Area(ST_Buffer(ST_Point(0, 0), 1))",
            3.121_445_152_258_052,
        ),
        (
            "ST_Area(ST_Buffer(ST_MakeEnvelope(0, 0, 1, 1), 1))",
            8.121_445_152_258_051,
        ),
        ("ST_Perimeter(ST_MakeEnvelope(0, 0, 1, 2))", 6.0),
        ("ST_NPoints(ST_MakeEnvelope(0, 0, 1, 2))", 5.0),
        (
            "ST_Area(ST_ConvexHull(ST_GeomFromText('MULTIPOINT(0 0,1 0,0 1)')))",
            0.5,
        ),
    ] {
        let found: f64 = flat(&format!("SELECT {expression}"))
            .parse()
            .expect("a number");
        assert!(
            (found - wanted).abs() <= 1e-9 * wanted.abs(),
            "{expression}: {found}"
        );
    }
    for (expression, wanted) in [
        ("ST_Touches(ST_Point(0, 0), {})", "true"),
        ("ST_Covers({}, ST_Point(0, 0))", "true"),
        ("ST_CoveredBy(ST_Point(2, 0), {})", "false"),
        ("ST_Overlaps({}, ST_MakeEnvelope(0.5, 0.5, 2, 2))", "true"),
        ("ST_Disjoint({}, ST_Point(0.5, 0.5))", "false"),
        ("ST_Equals({}, ST_MakeEnvelope(0, 0, 1, 1))", "true"),
        (
            "ST_Crosses(ST_GeomFromText('LINESTRING(0 0,1 1)'), ST_GeomFromText('LINESTRING(0 1,1 \
                0)'))",
            "true",
        ),
        ("ST_IsValid({})", "true"),
        ("ST_GeometryType({})", "POLYGON"),
        (
            "ST_AsText(ST_Simplify(ST_GeomFromText('LINESTRING(0 0,1 0.1,2 0)'), 0.5))",
            "\"LINESTRING (0 0, 2 0)\"",
        ),
        (
            "ST_AsText(ST_FlipCoordinates(ST_Point(1, 2)))",
            "POINT (2 1)",
        ),
    ] {
        let expression = expression.replace("{}", square);
        assert_eq!(
            flat(&format!("SELECT {expression}")),
            wanted,
            "{expression}"
        );
    }
    // A text that would open a file is no coordinate system.
    let grid =
        "SELECT ST_Transform(ST_Point(1, 2), 'EPSG:4326', '+proj=longlat +nadgrids=/etc/passwd')";
    assert!(refused(grid).contains("/etc/passwd"), "{}", refused(grid));
}

#[test]
fn tables_and_columns_are_listed_as_in_duckdb() {
    assert_eq!(
        flat("PRAGMA table_info('data')").split(' ').next(),
        Some("0,id,VARCHAR,false,,false")
    );
    assert_eq!(
        flat("DESCRIBE SELECT 1 AS a, [1.5::DOUBLE] AS b, MAP {'k': 1} AS c"),
        "a,INTEGER,YES,,, b,DOUBLE[],YES,,, c,\"MAP(VARCHAR, INTEGER)\",YES,,,"
    );
    assert_eq!(flat("SHOW data"), flat("DESCRIBE data"));
    let columns = "SELECT column_name FROM information_schema.columns WHERE table_name = 'data' \
        ORDER BY ordinal_position LIMIT 1";
    assert_eq!(flat(columns), "id");
    assert_eq!(
        flat("SELECT count(*) FROM information_schema.tables WHERE table_name = 'level0'"),
        "1"
    );
    assert_eq!(flat("SELECT 1 AS a; SELECT 2 AS b;"), "2");
    let wrong = run_sql(&gaps(), "SELECT 1;\nSELECT nothing FROM data", None, &ctx())
        .map(|_| ())
        .expect_err("no such column");
    assert_eq!(wrong.place(), Some("line 2, column 8"));
}

#[test]
fn columns_have_the_names_that_duckdb_gives_them() {
    assert_eq!(
        answered("SELECT count(*), sum(k), k + 1 FROM data GROUP BY k ORDER BY k LIMIT 1").csv(),
        "count_star(),sum(k),(k + 1)\n1,0,1\n"
    );
    let spatial = run("SELECT ST_Area(\"stac:centroid\") FROM data");
    assert_eq!(spatial.columns()[0].0, "st_area(\"stac:centroid\")");
    assert_eq!(
        answered("SELECT max(k), max(k) FROM data").csv(),
        "max(k),max(k)_1\n7,7\n"
    );
}

#[test]
fn columns_of_both_tables_are_told_apart() {
    all(&[
        (
            "SELECT a.id, b.id FROM data AS a CROSS JOIN data AS b WHERE a.id = 'a' AND b.k > 6",
            "a,h",
        ),
        (
            "SELECT a.k, b.k FROM data AS a, data AS b WHERE a.k = b.k + 1 AND a.s = b.s ORDER BY \
                1",
            "6,5 7,6",
        ),
        (
            "SELECT count(*) AS n FROM data AS a FULL JOIN (SELECT k + 4 AS k FROM data) AS b \
                USING (k) WHERE k > 2",
            "9",
        ),
    ]);
    let ambiguous = refused("SELECT a.id FROM data AS a, data AS b WHERE id = 'a'");
    assert!(
        ambiguous.contains("line 1, column 45") && ambiguous.contains("a.\"id\" or b.\"id\""),
        "{ambiguous}"
    );
    // Columns of a flat view need the level prefix only when ambiguous.
    assert_eq!(
        rows("SELECT bands, \"l0:id\" FROM l1 WHERE bands = 'mask'"),
        [json!(["mask", "bonn"])]
    );
    assert!(report("SELECT id FROM l1").contains("\"l1:id\" or \"l0:id\""));
}

#[test]
fn tables_of_functions_are_joined_by_their_conditions() {
    all(&[
        (
            "SELECT a.range, b.range FROM range(3) AS a JOIN range(2) AS b ON a.range = b.range \
                ORDER BY 1",
            "0,0 1,1",
        ),
        (
            "SELECT a.range, b.range FROM range(3) AS a LEFT JOIN range(1) AS b ON a.range = \
                b.range ORDER BY 1",
            "0,0 1, 2,",
        ),
        (
            "SELECT count(*) AS n FROM range(3) AS a FULL JOIN range(2, 5) AS b USING (range)",
            "5",
        ),
        (
            "SELECT count(*) AS n FROM range(3) AS a SEMI JOIN range(1) AS b USING (range)",
            "1",
        ),
        (
            "SELECT count(*) AS n FROM range(3) AS a ANTI JOIN range(1) AS b USING (range)",
            "2",
        ),
        (
            "SELECT k, x FROM data AS a JOIN unnest([1, 2]) AS u(x) ON u.x > 1 WHERE k < 3 ORDER \
                BY k",
            "0,2 1,2 2,2",
        ),
        (
            "SELECT k, x FROM data AS a JOIN unnest([k, 9]) AS u(x) ON u.x > 1 WHERE k < 3 ORDER \
                BY k, x",
            "0,9 1,9 2,2 2,9",
        ),
        (
            "SELECT count(*) AS n FROM range(3) AS a LEFT JOIN range(0) AS b ON TRUE",
            "3",
        ),
        (
            "SELECT count(*) AS n FROM range(3) AS a, range(a.range) AS b",
            "3",
        ),
        (
            "SELECT count(*) AS n FROM range(100000) AS a, range(100000) AS b WHERE a.range = \
                b.range + 1",
            "99999",
        ),
    ]);
    assert!(
        refused("SELECT 1 FROM data AS a LEFT JOIN unnest([k]) AS u(x) ON u.x > 1")
            .contains("LEFT JOIN … ON TRUE")
    );
}

#[test]
fn names_that_unfold_without_bound_are_refused() {
    let doubled: Vec<String> = (1..60)
        .map(|n| format!("a{} + a{} AS a{n}", n - 1, n - 1))
        .collect();
    let sql = format!("SELECT k AS a0, {} FROM data", doubled.join(", "));
    let error = run_sql(&gaps(), &sql, None, &ctx()).expect_err("is refused");
    assert!(error.is_too_large(), "{error}");
    let stars = format!("SELECT {} FROM data", vec!["*"; 900].join(", "));
    assert!(run_sql(&gaps(), &stars, None, &ctx()).is_ok());
}

#[test]
fn a_join_without_a_condition_is_refused_with_one_that_works() {
    for sql in [
        "SELECT count(*) FROM data AS a JOIN data AS b",
        "SELECT count(*) FROM data AS a LEFT JOIN data AS b WHERE a.id = b.id",
    ] {
        let report = refused(sql);
        assert!(report.contains("a join needs a condition"), "{report}");
        assert!(report.contains("CROSS JOIN"), "{report}");
    }
}

#[test]
fn a_positional_join_with_a_condition_is_refused() {
    for condition in ["ON a.id = b.id", "USING (id)"] {
        let report = refused(&format!(
            "SELECT count(*) FROM data AS a POSITIONAL JOIN data AS b {condition}"
        ));
        assert!(report.contains("has no condition"), "{report}");
    }
    let report = refused("SELECT count(*) FROM data AS a NATURAL POSITIONAL JOIN data AS b");
    assert!(report.contains("has no condition"), "{report}");
}
