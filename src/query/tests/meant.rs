//! Statements that the engine would read otherwise than DuckDB; what is expected is what DuckDB 1.4 gives.

use super::*;
use arrow::array::{BooleanArray, StructArray};

/// Eight samples with gaps, of which some have the same values.
fn gaps() -> Tables {
    let lists = [None, Some(vec![]), Some(vec![Some(1.0), Some(2.0)]), Some(vec![None]), Some(vec![Some(3.0)]), None, None, None];
    let a: ArrayRef = numbers(&[0, 1, 2, 3, 4, 5, 6, 7]);
    let fields = arrow::datatypes::Fields::from(vec![arrow::datatypes::Field::new("a", a.data_type().clone(), true)]);
    let mut tables = Tables::default();
    tables.push_table(decoded(batch(vec![
        ("id", texts(&["a", "b", "c", "d", "e", "f", "g", "h"])),
        ("n", Arc::new(Int64Array::from(vec![None, Some(0), Some(-5), Some(3), Some(3), None, Some(1 << 62), Some(7)]))),
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
        ("l", Arc::new(ListArray::from_iter_primitive::<Float64Type, _, _>(lists))),
        ("st", Arc::new(StructArray::new(fields, vec![a], None))),
    ])));
    tables
}

fn told(sql: &str) -> QueryResult {
    run_sql(&gaps(), sql, None, &ctx()).unwrap_or_else(|error| panic!("{sql}: {}", error.report()))
}

/// The rows as CSV without the header, on one line.
fn flat(sql: &str) -> String {
    told(sql).csv().lines().skip(1).collect::<Vec<_>>().join(" ")
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
        ("SELECT count(*) AS n FROM data AS a LEFT JOIN data AS b ON a.k = b.k AND b.k > 100", "8"),
        ("SELECT count(b.id) AS n FROM data AS a LEFT JOIN data AS b ON (a.k = b.k AND b.s = 'train')", "2"),
        ("SELECT count(a.id) AS n, count(*) AS m FROM data AS a RIGHT JOIN data AS b ON a.k = b.k AND a.k < 3", "3,8"),
        ("SELECT a.id FROM data a ANTI JOIN data b ON a.k = b.k AND b.n > 2 ORDER BY a.id", "a b c f"),
        ("SELECT a.id FROM data a SEMI JOIN data b ON a.k = b.k AND b.n BETWEEN 2 AND 4 ORDER BY a.id", "d e"),
        ("SELECT count(*) AS n FROM data a LEFT JOIN level0 b USING (id) LEFT JOIN data c ON c.id = a.id AND c.k < 3", "8"),
        ("SELECT count(*) AS n FROM data a JOIN data b ON a.k = b.k AND b.k > 5", "2"),
    ]);
    for sql in [
        "SELECT a.id FROM data a LEFT JOIN data b ON a.k < b.k",
        "SELECT a.id FROM data a LEFT JOIN data b ON a.k = b.k AND a.n < b.n",
        "SELECT a.id FROM data a LEFT JOIN data b ON a.k = b.k AND a.n > 3",
        "SELECT a.id FROM data a FULL JOIN data b ON a.k = b.k AND b.n > 3",
        "SELECT a.id FROM data a LEFT JOIN data b ON a.k = b.k AND (b.n > 3 OR a.n < 2)",
    ] {
        assert!(refused(sql).contains("find the pairs in a subquery"), "{sql}: {}", refused(sql));
    }
    let spelled = "SELECT a.id, m.n FROM data AS a LEFT JOIN (SELECT a.id AS key, b.n FROM data AS a JOIN data AS b ON a.s = b.s AND a.k < b.k) AS m ON a.id = m.key WHERE a.s = 'train' ORDER BY a.id";
    assert_eq!(flat(spelled), "c,3 e,");
}

#[test]
fn tables_of_with_go_before_those_of_the_dataset() {
    all(&[
        ("WITH data AS (SELECT * FROM data WHERE k < 3) SELECT count(*) AS n FROM data", "3"),
        ("WITH level0 AS (SELECT * FROM data WHERE k < 3) SELECT level0.id FROM level0 WHERE level0.k > 1", "c"),
        ("WITH data AS (SELECT * FROM data WHERE k < 3), x AS (SELECT data.k FROM data) SELECT max(k) AS m FROM x", "2"),
        ("WITH data AS (SELECT id FROM data WHERE k < 3) SELECT count(*) AS n FROM l0, data", "24"),
    ]);
    assert!(refused("SELECT * FROM (WITH data AS (SELECT id FROM data) SELECT * FROM data) AS t").contains("at the beginning"));
    assert!(refused("WITH data AS (SELECT id FROM data) SELECT * FROM l0 AS data").contains("another name"));
}

#[test]
fn truth_values_are_compared_with_what_is_unknown() {
    all(&[
        ("SELECT count(*) AS n FROM data WHERE b IS NOT TRUE", "4"),
        ("SELECT count(*) AS n FROM data WHERE b IS NOT FALSE AND k > 0", "5"),
        ("SELECT count(*) AS n FROM data WHERE NOT b IS TRUE", "4"),
        ("SELECT count(*) AS n FROM data WHERE b IS UNKNOWN OR k = 1", "3"),
        ("SELECT count(*) AS n FROM data WHERE b IS NOT UNKNOWN", "6"),
        ("SELECT count(*) AS n FROM data WHERE n > 2 IS NOT TRUE", "4"),
        ("SELECT count(*) AS n FROM data WHERE s IS DISTINCT FROM 'train' AND k < 4", "3"),
        ("SELECT count(*) AS n FROM data WHERE s IS NOT DISTINCT FROM 'train' AND k < 4", "1"),
    ]);
    assert!(refused("SELECT id FROM data WHERE s LIKE 't%' IS NOT TRUE").contains("brackets"));
    let kept = |condition: &str| {
        let query = Query { filters: vec![Filter::condition(condition)], ..Query::default() };
        super::super::run(&gaps(), &query, &ctx()).map(|result| result.row_count)
    };
    assert_eq!(kept("b IS NOT TRUE").expect("runs"), 4);
    assert!(kept("s LIKE 't%' IS NOT TRUE").is_err());
}

#[test]
fn empty_lists_have_nothing_to_give() {
    all(&[
        ("SELECT id, x FROM data CROSS JOIN UNNEST(l) AS t(x) ORDER BY id, x", "c,1.0 c,2.0 d, e,3.0"),
        ("SELECT d.id FROM data AS d CROSS JOIN UNNEST(d.l) AS t(x) WHERE d.k > 2", "d e"),
        ("SELECT unnest(l) AS x FROM data ORDER BY x", "1.0 2.0 3.0 "),
        ("SELECT id, list_sum(l) AS x FROM data WHERE k < 4", "a, b, c,3.0 d,"),
    ]);
}

#[test]
fn what_has_no_value_comes_last() {
    all(&[
        ("SELECT id FROM data ORDER BY n DESC, id LIMIT 3", "g h d"),
        ("SELECT id FROM data ORDER BY n DESC NULLS FIRST, id LIMIT 3", "a f g"),
        ("SELECT id, row_number() OVER (ORDER BY n) AS r FROM data ORDER BY r LIMIT 2", "c,1 b,2"),
        (
            "SELECT id, rank() OVER (ORDER BY n) AS r, dense_rank() OVER (ORDER BY n DESC) AS d FROM data ORDER BY id",
            "a,7,6 b,2,4 c,1,5 d,3,3 e,3,3 f,7,6 g,6,1 h,5,2",
        ),
        (
            "SELECT id, row_number() OVER (PARTITION BY b ORDER BY n DESC, id DESC) AS r FROM data ORDER BY id",
            "a,2 b,4 c,1 d,3 e,2 f,2 g,1 h,1",
        ),
        ("SELECT id FROM data QUALIFY row_number() OVER (PARTITION BY b ORDER BY n DESC) = 1 ORDER BY id", "c g h"),
        ("SELECT array_agg(id ORDER BY n DESC, id) AS x FROM data WHERE k < 4", "\"[\"\"d\"\",\"\"b\"\",\"\"c\"\",\"\"a\"\"]\""),
    ]);
    assert!(refused("SELECT row_number() OVER (ORDER BY n NULLS FIRST) AS r FROM data").contains("ORDER BY n IS NOT NULL, n"));
}

#[test]
fn numbers_that_do_not_fit_are_errors() {
    for sql in [
        "SELECT n * 4 AS x FROM data",
        "SELECT id FROM data WHERE n + n + 1 > 0",
        "SELECT sum(n) AS x FROM (SELECT n FROM data UNION ALL SELECT n FROM data) AS t",
        "SELECT s, sum(n) AS x FROM (SELECT s, n FROM data UNION ALL SELECT s, n FROM data) AS t GROUP BY s",
    ] {
        assert!(refused(sql).contains("CAST(x AS DOUBLE)"), "{sql}: {}", refused(sql));
    }
    all(&[
        ("SELECT sum(n) AS x, sum(k) AS y, sum(k + 1) AS z FROM data", "4611686018427387912,28,36"),
        ("SELECT s, sum(k) + 1 AS x, count(*) * 2 AS c FROM data WHERE s = 'val' GROUP BY s", "val,19,6"),
        ("SELECT sum(k) AS x FROM data WHERE k > 10", ""),
        ("SELECT -7 % 3 AS a, -7 // 2 AS b", "-1,-3"),
        ("SELECT (k - 5) % 3 AS a, (k - 5) // 3 AS b, k % 0 AS c FROM data WHERE k < 2", "-2,-1, -1,-1,"),
        ("SELECT f % 1 AS a, round(f) AS b, CAST(f AS INTEGER) AS c FROM data WHERE k IN (3, 5)", "-0.5,-2.0,-2 0.5,3.0,2"),
        ("SELECT strpos(s, 'r') AS a, instr(id, 'c') AS b FROM data WHERE k IN (0, 2)", ",0 2,1"),
        ("SELECT max(f) AS a FROM data", "NaN"),
        ("SELECT b, max(f) AS a FROM data GROUP BY b ORDER BY b", "false,2.5 true,NaN ,"),
        ("SELECT 1e-3 AS a, 1E2 AS b, 18446744073709551615 AS c, -2e0 AS d", "0.001,100.0,18446744073709551615,-2.0"),
        ("SELECT CAST(TIMESTAMP '2000-01-01' AS DATE) AS d", "2000-01-01"),
    ]);
}

#[test]
fn clauses_see_what_select_does_not_name() {
    all(&[
        ("SELECT s, count(*) AS c FROM data GROUP BY s ORDER BY count(*) DESC, s LIMIT 2", "val,3 train,2"),
        ("SELECT s FROM data GROUP BY s HAVING count(*) > 1 ORDER BY sum(k) DESC", "val train"),
        ("SELECT k % 3 AS m, count(*) AS c FROM data GROUP BY m HAVING m > 0 ORDER BY m", "1,3 2,2"),
        ("SELECT s, count(*) + 1 AS c FROM data GROUP BY s HAVING c > 3", "val,4"),
        ("SELECT id FROM data QUALIFY row_number() OVER (PARTITION BY s ORDER BY k) = 2 ORDER BY k", "e g"),
        ("SELECT id, row_number() OVER (PARTITION BY s ORDER BY k) AS r FROM data QUALIFY r = 2 AND k > 5", "g,2"),
    ]);
    assert_eq!(told("SELECT a.id, b.id FROM data a JOIN data b ON a.k = b.k WHERE a.k = 0").csv(), "id,id_1\na,a\n");
}

#[test]
fn aggregations_stand_beside_groups_alone() {
    for sql in ["SELECT id, count(*) FROM data", "SELECT *, max(k) FROM data", "SELECT k - avg(k) AS x FROM data"] {
        assert!(refused(sql).contains("GROUP BY"), "{sql}: {}", refused(sql));
    }
    for sql in [
        "SELECT s, sum(sum(k)) OVER () AS x FROM data GROUP BY s",
        "SELECT s, rank() OVER (ORDER BY count(*) DESC) AS x FROM data GROUP BY s",
    ] {
        assert!(refused(sql).contains("in a subquery"), "{sql}: {}", refused(sql));
    }
    all(&[
        ("SELECT count(*) AS n, 'x' AS kind, max(k) - min(k) AS w, CAST(sum(k) AS INTEGER) AS i FROM data", "8,x,7,28"),
        ("SELECT id, count(*) OVER () AS n, k - avg(k) OVER () AS d FROM data WHERE k = 1", "b,1,0.0"),
        ("SELECT count(*) FILTER (WHERE s = 'val') AS n, any_value(id) AS i FROM data", "3,a"),
    ]);
}

#[test]
fn values_are_told_apart() {
    let result = told("SELECT f, s, st FROM data WHERE k IN (0, 1, 4)");
    assert_eq!(result.csv(), "f,s,st\n,,\"{\"\"a\"\":0}\"\nNaN,\"\",\"{\"\"a\"\":1}\"\ninf,train,\"{\"\"a\"\":4}\"\n");
    let rows: Vec<Json> = result.json_rows().map(Json::Object).collect();
    assert_eq!(rows[1], json!({"f": "NaN", "s": "", "st": {"a": 1}}));
    assert_eq!(rows[0], json!({"f": null, "s": null, "st": {"a": 0}}));
}
