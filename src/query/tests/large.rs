//! Statements and joins above the limits, and the engine's thread after cancellation.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::*;

/// A level of integers.
fn level(rows: i64) -> (Tables, Arc<LevelTable>) {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows));
    let batch = batch(vec![("n", numbers.clone()), ("m", numbers)]);
    let table = Arc::new(LevelTable::new(batch.schema(), vec![batch]));
    let mut tables = Tables::new(VsiBase::None);
    tables.push_table(table.clone());
    (tables, table)
}

#[test]
fn statements_up_to_the_limits_are_run_and_larger_ones_are_refused() {
    let (tables, _) = level(10);
    let run = |sql: &str| run_sql(&tables, sql, None, &ctx());
    let chain = |operator: &str, count: usize| {
        format!(
            "SELECT n FROM data WHERE {}",
            vec!["n < 5"; count].join(&format!(" {operator} "))
        )
    };
    let union = |count: usize| vec!["SELECT n FROM data"; count].join(" UNION ALL ");
    let with = |count: usize| {
        let steps: Vec<String> = (1..count - 1)
            .map(|n| format!("t{n} AS (SELECT * FROM t{})", n - 1))
            .collect();
        format!(
            "WITH t0 AS (SELECT * FROM data), {} SELECT * FROM t{}",
            steps.join(", "),
            count - 2
        )
    };
    let list = |count: i64| {
        let values: Vec<String> = (0..count).map(|n| n.to_string()).collect();
        format!("SELECT n FROM data WHERE n IN ({})", values.join(", "))
    };
    let nested = |count: usize| {
        format!(
            "SELECT {}n{} AS n FROM data",
            "(".repeat(count),
            ")".repeat(count)
        )
    };
    for (sql, rows) in [
        (chain("AND", 450), 5),
        (chain("OR", 450), 5),
        (union(90), 900),
        (with(90), 10),
        (list(20_000), 10),
        (nested(20), 10),
    ] {
        let started = Instant::now();
        let result = run(&sql).unwrap_or_else(|error| panic!("{}: {error}", &sql[..60]));
        println!("{:?} for {}…", started.elapsed(), &sql[..60]);
        assert_eq!(result.row_count, rows, "{}", &sql[..60]);
    }
    for sql in [
        chain("AND", 20_000),
        chain("OR", 20_000),
        union(20_000),
        with(20_000),
        list(60_000),
        nested(20_000),
    ] {
        let error = run(&sql).expect_err("is refused");
        assert!(error.is_too_large(), "{error}");
    }
    let filter = Filter {
        condition: Some(vec!["n < 5"; 20_000].join(" AND ")),
        ..Filter::default()
    };
    assert!(
        kept_rows(&tables, &[filter], &ctx())
            .expect_err("is refused")
            .is_too_large()
    );
}

#[test]
fn a_join_that_gives_more_than_the_memory_holds_is_refused_before_it_begins() {
    let (tables, _) = level(60_000);
    for sql in [
        "SELECT count(*) FROM data AS a CROSS JOIN data AS b",
        "SELECT a.n FROM (SELECT n FROM data) AS a, (SELECT m FROM data) AS b WHERE a.n + b.m > 7",
        "SELECT count(*) FROM (SELECT n, n % 2 AS k FROM data) AS a JOIN (SELECT m, m % 2 AS k \
            FROM data) AS b ON a.k = b.k",
        "SELECT count(*) FROM range(100000) AS a, range(100000) AS b WHERE a.range + b.range < 0",
        "SELECT count(*) FROM range(100000) AS a LEFT JOIN range(100000) AS b ON TRUE",
        "SELECT count(x) FROM (SELECT unnest(range(100000)) AS x FROM data) AS a",
    ] {
        let error = run_sql(&tables, sql, None, &ctx()).expect_err("is refused");
        assert!(error.is_too_large(), "{sql}: {error}");
    }
    let sql = "SELECT count(*) AS n FROM data AS a JOIN data AS b ON a.n = b.m";
    let result = run_sql(&tables, sql, None, &ctx()).expect("a join by key is none of those");
    assert_eq!(result.table.text(0, 0), "60000");
}

#[test]
fn a_cancelled_query_ends_the_work_of_the_engine() {
    let (tables, table) = level(2_000);
    let one = "SELECT count(*) AS c FROM (SELECT n FROM data) AS a, (SELECT m FROM data) AS b \
        WHERE a.n + b.m > 7";
    let sql = vec![one; 33].join(" UNION ALL ");
    let ctx = ctx();
    let waiting = std::thread::spawn({
        let ctx = ctx.clone();
        move || run_sql(&tables, &sql, None, &ctx).map(|_| ())
    });
    std::thread::sleep(Duration::from_millis(300));
    ctx.cancel();
    let cancelled = Instant::now();
    assert!(
        waiting
            .join()
            .expect("no panic")
            .expect_err("is cancelled")
            .is_cancelled()
    );
    // The engine's thread holds the rows while it runs.
    while Arc::strong_count(&table) > 1 {
        assert!(
            cancelled.elapsed() < Duration::from_secs(20),
            "the engine still works on the rows"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}
