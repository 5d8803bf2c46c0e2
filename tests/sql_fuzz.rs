//! Random statements, answered by the studio and by DuckDB: the answers must be equal.
//!
//! `TACO_STUDIO_SQL_FUZZ=20000` chooses the number of statements, `TACO_STUDIO_SQL_FUZZ=20000,all`
//! also uses the productions of [`NOT_YET`], and `TACO_STUDIO_SQL_SEED=7` chooses the seed of the
//! first statement; the next has the next seed. A failure names the seed of its statement: with
//! that seed and the number 1, it is run again. `TACO_STUDIO_SQL_WITHOUT=limit,having` leaves out
//! more productions, and `TACO_STUDIO_SQL_STATEMENTS=FILE` compares the statements of a file too,
//! one a line.

mod answers;
mod cast_texts;
mod grammar;
mod levels;
mod templates;
mod tree;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use regex::Regex;
use taco_studio::query::Tables;

use crate::support::Workspace;
use answers::{Answer, DuckDb, answer_here, difference, without_alike};
use grammar::Grammar;
use levels::write_levels;
use tree::Node;

/// Number of statements of the ordinary test, and the seed of the first.
const STATEMENTS: u64 = 2000;
const SEED: u64 = 1_000_000;
/// Seed of the values of the levels.
const LEVELS_SEED: u64 = 11;
/// Statements that are tried to make a failing one smaller.
const REDUCTIONS_MAX: usize = 1500;
/// Failures that are reported.
const FAILURES_MAX: usize = 60;

/// Productions that the ordinary test leaves out, with the reason.
const NOT_YET: &[(&str, &str)] = &[];

/// A difference from DuckDB that is decided.
struct Known {
    name: &'static str,
    /// Why the studio differs; shown with the counts.
    reason: &'static str,
    applies: fn(&str, &Answer, &Answer) -> bool,
}

fn are_rows(ours: &Answer, theirs: &Answer) -> bool {
    matches!((ours, theirs), (Answer::Rows(_), Answer::Rows(_)))
}

fn matches(statement: &str, pattern: &str) -> bool {
    Regex::new(pattern).expect("a pattern").is_match(statement)
}

/// True when both have the same rows, in any order, after `change`.
fn are_alike_by(
    ours: &Answer,
    theirs: &Answer,
    change: fn(&[Vec<serde_json::Value>]) -> Vec<Vec<serde_json::Value>>,
) -> bool {
    match (ours, theirs) {
        (Answer::Rows(ours), Answer::Rows(theirs)) => {
            difference(&change(ours), &change(theirs), false).is_none()
        }
        _ => false,
    }
}

/// The decided differences.
const KNOWN: &[Known] = &[
    Known {
        name: "types",
        reason: "DuckDB refuses the types of the statement before it reads a row, the studio has \
            an answer",
        applies: |_, ours, theirs| {
            let is_of_types = |kind: &str, text: &str| {
                kind == "BinderException" || text.contains("Unimplemented type for cast")
            };
            matches!(ours, Answer::Rows(_))
                && matches!(theirs, Answer::Refused(kind, text) if is_of_types(kind, text))
        },
    },
    Known {
        name: "domain",
        reason: "DuckDB refuses numbers outside of the domain of a function, and moments of \
            infinite ones; the studio answers NaN or infinity",
        applies: |_, ours, theirs| {
            let texts = [
                "square root of a negative",
                "logarithm of",
                " is out of range!",
                "is out of range for",
            ];
            let is_outside = |text: &str| texts.iter().any(|part| text.contains(part));
            matches!(ours, Answer::Rows(_))
                && matches!(theirs, Answer::Refused(_, text) if is_outside(text))
        },
    },
    Known {
        name: "no pairs",
        reason: "regr_count of no pairs in a correlated subquery is 0, as elsewhere; in DuckDB it \
            is null",
        applies: |statement, ours, theirs| {
            matches!((ours, theirs), (Answer::Rows(_), Answer::Rows(_)))
                && statement.contains("(SELECT")
                && statement.contains("regr_count(")
        },
    },
    Known {
        name: "infinite dates",
        reason: "the text inf is a date in DuckDB, which the tests see as the last or first day; \
            the studio has no such date",
        applies: |statement, ours, theirs| {
            let of = |answer: &Answer| format!("{answer:?}");
            let is_infinite = ["9999-12-31", "0001-01-01", "infinity"]
                .iter()
                .any(|text| of(theirs).contains(text));
            let is_compared = matches(
                statement,
                r"CAST\(CAST\((\w+\.)?f(32|64) AS VARCHAR\) AS (DATE|TIMESTAMP)",
            );
            statement.contains("CAST(")
                && (is_infinite || is_compared)
                && matches!(ours, Answer::Rows(_))
        },
    },
    Known {
        name: "unused",
        reason: "DuckDB refuses a value that no row of the answer needs, the studio does not \
            compute it",
        applies: |statement, ours, theirs| {
            // DuckDB refuses it where the statement is read.
            if matches!(theirs, Answer::Refused(_, text) if text.contains("STRING -> BLOB")) {
                return matches!(ours, Answer::Rows(_));
            }
            let is_alike = matches!(
                ours,
                Answer::Rows(rows) if rows.windows(2).all(|pair| pair[0] == pair[1])
            );
            // Of two conditions the second is computed for the rows that meet the first.
            let has_conditions = matches!(ours, Answer::Rows(_))
                && matches(statement, r"(WHERE|HAVING|ON) .* (AND|BETWEEN) ");
            let is_alike = is_alike || has_conditions;
            let kinds = ["ConversionException", "OutOfRangeException"];
            is_alike && matches!(theirs, Answer::Refused(kind, _) if kinds.contains(&kind.as_str()))
        },
    },
    Known {
        name: "truncated nulls",
        reason: "DuckDB compares the date_trunc of a null with a written time as if it were a time",
        applies: |statement, ours, theirs| {
            are_rows(ours, theirs)
                && matches(
                    statement,
                    r"date_trunc\(.*\)\)? ?(AS DATE\) )?(=|<|>|IS |NOT |BETWEEN |IN )",
                )
        },
    },
    Known {
        name: "zoned texts",
        reason: "DuckDB compares the text of a time with a zone with a written text as if it were \
            a time",
        applies: |statement, ours, theirs| {
            let has_zones = ["tz", "AS TIMESTAMPTZ)"]
                .iter()
                .any(|part| statement.contains(part));
            let is_compared = matches(
                statement,
                r"AS VARCHAR\)(::VARCHAR)?\)? (=|<|>|IS |NOT |BETWEEN |IN |LIKE |AND ')",
            ) || matches(statement, r"(=|<|>|FROM|AND) \(?CAST\(.* AS VARCHAR\)");
            are_rows(ours, theirs) && is_compared && has_zones
        },
    },
    Known {
        name: "bits of sums",
        reason: "sums of integers have 128 bits in DuckDB and 64 here, and quotients of written \
            ones 32 and 64, which bit_count counts for \
                 negative ones",
        applies: |statement, ours, theirs| {
            are_rows(ours, theirs)
                && statement.contains("bit_count(")
                && ["sum(", " // "].iter().any(|part| statement.contains(part))
        },
    },
    Known {
        name: "signs of zeros",
        reason: "0.0 and -0.0 are equal, and which of them a value is differs; a power and an \
            angle of theirs show it",
        applies: |statement, ours, theirs| {
            let has_angle = ["power(", "pow(", "atan2("]
                .iter()
                .any(|name| statement.contains(name));
            // The least of an infinite number and another is either.
            let has_least = ["least(", "greatest("]
                .iter()
                .any(|name| statement.contains(name));
            has_angle
                && (has_least && are_rows(ours, theirs)
                    || are_alike_by(ours, theirs, answers::without_signs))
        },
    },
    Known {
        name: "signs of sorted zeros",
        reason: "DuckDB's sort gives 0.0 for the -0.0 of a column that it sorts by, and a number \
            divided by it shows the sign",
        applies: |statement, ours, theirs| {
            let divides_after_sort =
                matches(statement, r"OVER \([^)]*ORDER BY") && statement.contains(" / ");
            divides_after_sort && are_alike_by(ours, theirs, answers::without_signs)
        },
    },
    Known {
        name: "digits",
        reason: "the last digits of a mean depend on the order in which the rows are added, and so \
            do the length of its text and the \
                 sine of a great one",
        applies: |statement, ours, theirs| {
            let has = |names: &[&str]| names.iter().any(|name| statement.contains(name));
            let has_length = has(&["strlen(", "length("]) && statement.contains("AS VARCHAR)");
            let has_sine = has(&["sin(", "cos(", "tan(", "exp("]);
            match () {
                () if has(MEANS) && has_length => are_rows(ours, theirs),
                // The next number to a great one has any other sine.
                () if has(MEANS) && has_sine && has(&["big"]) => are_rows(ours, theirs),
                // A condition on what is 1 but for these digits.
                () if matches(statement, r"WHERE .*\(SELECT (regr_|corr\()") => {
                    are_rows(ours, theirs)
                }
                // Of numbers that cancel out, the last digits are what is left.
                // A set of rows has one more where two differ in these digits.
                () if has(&["covar_"]) && has(&["UNION", "INTERSECT", "EXCEPT"]) => {
                    are_rows(ours, theirs)
                }
                () if has(&["covar_"]) || (has(MEANS) && has_sine) => {
                    are_alike_by(ours, theirs, answers::with_few_digits)
                }
                () if has(MEANS) => are_alike_by(ours, theirs, answers::without_small),
                () => false,
            }
        },
    },
    Known {
        name: "descending quantiles",
        reason: "a quantile of fractions of 32 bits in descending order is added from the other \
            end, which changes the last digit",
        applies: |statement, ours, theirs| {
            let is_descending = matches(
                statement,
                r"percentile_cont\([^)]*\) WITHIN GROUP \(ORDER BY .* DESC",
            );
            is_descending
                && statement.contains("f32")
                && are_alike_by(ours, theirs, answers::with_single_digits)
        },
    },
    Known {
        name: "cube roots",
        reason: "the cube root of 0.125 is 0.5, in DuckDB the number before it, which is rounded \
            down and compares as less",
        applies: |statement, ours, theirs| {
            let shows = [
                "round(",
                "floor(",
                "ceil(",
                "trunc(",
                "CAST(",
                " IN (",
                " = ",
                "<",
                ">",
                "BETWEEN",
                "DISTINCT FROM",
            ];
            are_rows(ours, theirs)
                && shows.iter().any(|name| statement.contains(name))
                && statement.contains("cbrt(")
        },
    },
    Known {
        name: "small counts",
        reason: "regr_count is a number of 32 bits without a sign in DuckDB, whose differences \
            overflow below 0",
        applies: |statement, ours, theirs| {
            let overflows = match theirs {
                Answer::Refused(kind, _) => kind == "OutOfRangeException",
                _ => are_rows(ours, theirs) && statement.contains("- regr_count("),
            };
            matches!(ours, Answer::Rows(_)) && overflows && statement.contains("regr_count(")
        },
    },
    Known {
        name: "products of zeros",
        reason: "a product is NaN where it is infinite before a zero is reached, which the order \
            of joined rows decides",
        applies: |statement, ours, theirs| {
            let picks_other = ["greatest(", "least("]
                .iter()
                .any(|name| statement.contains(name))
                && are_rows(ours, theirs);
            statement.contains("product(")
                && (picks_other || are_alike_by(ours, theirs, answers::without_nan))
        },
    },
    Known {
        name: "signs of NaN",
        reason: "the sign of NaN, which its text shows, is one thing on one processor and another \
            on the next",
        applies: |statement, ours, theirs| {
            statement.contains("AS VARCHAR)")
                && are_alike_by(ours, theirs, answers::without_signs_of_nan)
        },
    },
    Known {
        name: "range",
        reason: "DuckDB refuses a RANGE that goes past the numbers of a small type, the studio \
            ends it there",
        applies: |statement, ours, theirs| {
            let is_past = |theirs: &Answer| {
                matches!(
                    theirs,
                    Answer::Refused(kind, _) if kind == "OutOfRangeException"
                )
            };
            matches!(ours, Answer::Rows(_))
                && is_past(theirs)
                && statement.contains("RANGE BETWEEN")
        },
    },
];

/// Functions that add numbers with fractions, or multiply numbers that lose digits.
const MEANS: &[&str] = &[
    "avg(",
    "regr_",
    "corr(",
    "covar_",
    "stddev",
    "var_",
    "variance(",
    "sum(",
];
/// The name of answers whose digits depend on the order of the rows.
const UNSETTLED: &str = "unsettled";
/// The name of the known difference where DuckDB's optimizer changes its answer: a condition is
/// moved below a LIMIT, a TRY_CAST or a truncated time is left out of a comparison.
const OPTIMIZED: &str = "optimized";

/// Texts that no refusal may have: names of the engine, of its types and functions, and of what the
/// studio writes for it.
const LEAKS: &[&str] = &[
    "polars",
    "Polars",
    "Identifier(",
    "Ident {",
    "Some(",
    "Value(",
    "BinaryOp",
    "__",
    "dyn int",
    "dyn float",
    "col(",
    "lit(",
    "dtype",
    "DataType",
    "Schema",
    "LazyFrame",
    "DataFrame",
    "LogicalPlan",
    "supertype",
    "array_get",
    "array_lower",
    "array_upper",
    "text_slice",
    "text_position",
    "timestamp_text",
    "SQLInterface",
    "SQLSyntax",
    "not implemented",
    "this is a bug",
    "unwrap",
    "Utf8",
    "idx",
    "<=>",
];

/// Statements that once had another answer.
const MENDED: &[&str] = &[
    "SELECT least(1, sum(DISTINCT NULL)) % 0, sum(DISTINCT NULL) % 0, list_sum([NULL]) % 0 FROM \
        data",
    "SELECT [], len([]), list_value(), list_concat([], [1]), [][1], list_sum([]), [[], [2]] FROM \
        data",
    "SELECT li = [], coalesce(li, []), CASE WHEN b THEN li ELSE [] END, len(CASE WHEN b THEN [] \
        END) FROM level0",
    "SELECT s, CASE WHEN count(*) > 1 THEN array_agg(k ORDER BY k) ELSE [] END FROM level0 GROUP \
        BY s",
    "SELECT sum(NULL) % 0, sum(NULL), 1 / sum(NULL) FROM (SELECT ts AS c1 FROM data AS r1) AS r4",
    "SELECT u64 > CASE 1 WHEN 1 THEN -3 ELSE 7 END, u64 NOT BETWEEN 1 AND CASE k WHEN 1 THEN -3 \
        ELSE 7 END, coalesce(NULL, -1) < u64, u64 IN (-1, 3), greatest(-1, -2) <= u64 FROM level0",
    "SELECT 1 AS forced FROM (SELECT r1.s AS c1, r1.d AS c2 FROM level0 AS r1 JOIN level0 AS r2 ON \
        r1.d = r2.d ORDER BY 1, 2 LIMIT 10) AS r4 WHERE (r4.c2 IN (SELECT d FROM data AS r5 WHERE \
        b))",
    "SELECT stddev(0.1), stddev_pop(0.7), CAST(variance(sqrt(3)) AS VARCHAR) FROM level0",
    "SELECT b, CAST(stddev(sqrt(3)) AS VARCHAR), CAST(stddev(CAST(0.1 AS FLOAT)) AS VARCHAR) FROM \
        level0 GROUP BY b",
    "SELECT TRY_CAST(substr(id, k, 2) AS INTEGER) AS c2, TRY_CAST(substr(id, k, 2) AS UTINYINT) \
        FROM level0 AS r1",
    "SELECT [split_part(CAST(TIMESTAMP '1969-12-31 23:59:59' AS VARCHAR), ' ', 2), s] AS c1 FROM \
        level0 AS r1 WHERE ((SELECT max(d) FROM level0 AS r2 WHERE r2.s = r1.s) IN (DATE \
        '2020-02-29', DATE '1970-01-01'))",
    "SELECT split_part(upper('a b'), ' ', 2) AS t, split_part(upper('a b'), ' ', 1) AS u, s FROM \
        level0 AS r1 WHERE ((SELECT max(d) FROM level0 AS r2 WHERE r2.s = r1.s) IN (DATE \
        '2020-02-29', DATE '1970-01-01'))",
    "SELECT d + INTERVAL '1 day 02:00', d + INTERVAL '1.5 months', d - INTERVAL '5 days ago', d + \
        CAST('5 days' AS INTERVAL), d + INTERVAL '1.5' DAY, d + INTERVAL (-3) DAY FROM level0",
    "SELECT CAST(INTERVAL '1 day 02:00' AS VARCHAR), CAST(TIME '12:34:56.5' AS VARCHAR), CAST(DATE \
        '44-07-03 (BC)' AS VARCHAR)",
    "SELECT sum(k) OVER (ORDER BY d RANGE BETWEEN INTERVAL '1 day 12:00' PRECEDING AND CURRENT \
        ROW) FROM level0",
    "SELECT list_reverse(li) AS c2, array_reverse(ll) FROM data AS r1 WHERE (b AND \
        (list_reverse(li) <> (ll)[2]))",
    "SELECT (quantile_cont(r1.u64, 0.9) FILTER (WHERE b) % 1.5e0) AS c1 FROM level1 AS r1 GROUP BY \
        r1.g",
    "SELECT 1 / list_avg([-0.0::DOUBLE]), 1 / list_avg([f64]) FROM level1",
    "SELECT strlen('') AS c1 FROM data INTERSECT SELECT u64 FROM level1 WHERE u64 < 1000",
    "SELECT TRY_CAST(concat_ws('-', s, CAST(ts AS VARCHAR)) AS DATE) AS c1 FROM level0 AS r1",
    "SELECT TRY_CAST('-2024-07-03 12' AS DATE), TRY_CAST('44-07-03 (BC)' AS DATE), \
        TRY_CAST('-44-07-03 (BC)' AS DATE), TRY_CAST('2020 02 03 12:00:00' AS TIMESTAMP)",
    "SELECT (max((d + INTERVAL 3 HOUR)) >= '2020-02-29 12:34:56') AS c2 FROM level1 AS r1 GROUP BY \
        x",
    "SELECT m, m >= '2020-02-29 12:34:56' FROM (SELECT d + INTERVAL 3 HOUR AS m FROM level1)",
    "SELECT (d - INTERVAL 3 HOUR) >= '2020-02-29 12:34:56', max(d + INTERVAL 3 HOUR) OVER \
        (PARTITION BY x) < '2020-02-29 12:34:56' FROM level1",
    "SELECT CASE (max(NULL)).b WHEN 'train' THEN 1 WHEN 'a' THEN 1 END AS c1 FROM (SELECT r2.lf AS \
        c1 FROM data AS r1 JOIN level0 AS r2 USING (d)) AS r3",
    "SELECT DISTINCT (bit_count(r4.u64) * 3) AS c1 FROM level1 AS r4 JOIN level0 AS r5 ON r4.k = \
        r5.i64",
    "WITH w1 AS (SELECT 1 AS c3 FROM level1 AS r1) SELECT CAST((- CAST('nan' AS DOUBLE)) AS \
        VARCHAR) AS c2 FROM w1 AS r2",
    "SELECT DISTINCT (1.5e0 / list_sum([r1.f64, r2.x])) AS c1 FROM data AS r1 CROSS JOIN level0 AS \
        r2",
    "SELECT atan2(product(r2.c1), (- median(r2.c1))) AS c1 FROM (SELECT date_diff('second', \
        min(ts), max(ts)) AS c1 FROM data AS r1 WHERE b GROUP BY d) AS r2",
    "SELECT k, CAST(-(f32 * 0) AS VARCHAR) AS c1, CAST(-(f64 * 0) AS VARCHAR) AS c2, CAST(0 - f64 \
        * 0 AS VARCHAR) AS c3 FROM data AS r1",
    "SELECT k, CAST(f64 * 0 + 0 AS VARCHAR) AS c1, CAST(0.0 + -f32 * 0 AS VARCHAR) AS c2, CAST(f64 \
        * -1 AS VARCHAR) AS c3, CAST(f32 - 0 AS VARCHAR) AS c4, CAST(-1.0e0 * (f64 - f64) AS \
        VARCHAR) AS c5 FROM data AS r1",
    "SELECT k, -u8 AS c1, -(u8 + 1) AS c2, -i16 AS c3, -(-k) AS c4, -u64 AS c5, -NULL AS c6, -(1.5 \
        + 2) AS c7, -void AS c8 FROM data AS r1",
    "SELECT g, -sum(f64) AS c1, -count(*) AS c2, sum(-f64) AS c3, max(-f32) AS c4 FROM data AS r1 \
        GROUP BY g ORDER BY -count(*), g",
    "SELECT k, rank() OVER (ORDER BY -f64) AS c1, -lag(f64) OVER (ORDER BY k) AS c2 FROM data AS \
        r1 WHERE -f64 < 3 AND f64 > -f32",
    "SELECT k, list_sum([f64 * 0, -f64 * 0]) AS c1, CAST(list_sum([-0.0e0]) AS VARCHAR) AS c2 FROM \
        data AS r1 ORDER BY -k",
    "SELECT -g AS c1 FROM (SELECT 1.25e0 AS g) AS r1 UNION ALL SELECT -(ts - ts) FROM (SELECT 2 AS \
        ts) AS r2",
    "SELECT nullif(strftime(TIMESTAMP '1969-12-31 23:59:59', '%Y-%m-%d'), '') AS c2 FROM (SELECT \
        (SELECT max(k) FROM data) AS c1 FROM level1 AS r3) AS r4",
    "SELECT 'a' AS c2 FROM level1 AS r1 GROUP BY TRY_CAST(r1.digits AS DOUBLE)",
    "SELECT power(r1.f64, 0.5e0) AS c1, power(r1.f64, 2) AS c2 FROM level1 AS r1",
    "SELECT greatest(r1.f64, x) AS c1, greatest(r1.f32, k) AS c2, least(r1.f64, x) AS c3 FROM \
        level1 AS r1",
    "SELECT (a.k AND a.b) AS c1, (a.k OR a.u8) AS c2 FROM data AS a",
    "SELECT 1 AS c2 FROM data AS r1 WHERE r1.i16 IN (SELECT r3.u64 FROM level0 AS r3)",
    "SELECT 1 AS c2 FROM data AS r1 WHERE r1.void IN (SELECT r3.u64 FROM level0 AS r3)",
    "SELECT s AS c1 FROM data AS r1 WHERE (s BETWEEN right(s, 9) AND s)",
    "SELECT '' AS c2 FROM (SELECT x AS c1, d NOT IN (SELECT d FROM data AS r2) AS c3 FROM data AS \
        r1) AS r3",
    "SELECT count(*) AS c2 FROM (SELECT x AS c1, d NOT IN (SELECT d FROM data AS r2) AS c3 FROM \
        data AS r1) AS r3 WHERE c1 IS NOT NULL",
    "SELECT c1 AS c2 FROM (SELECT x AS c1, (SELECT d FROM data AS r2 WHERE false) AS c3 FROM data \
        AS r1) AS r3",
    "SELECT CAST(CAST(k AS VARCHAR) AS BIGINT[]) AS c1 FROM data AS r1",
    "SELECT epoch_ms(ts) AS c1 FROM data AS r1",
    "SELECT CAST(tz AS VARCHAR) AS c1 FROM data AS r1",
    "SELECT lag(a.k, 1, 2, 3) OVER (ORDER BY a.k) AS c1 FROM data AS a",
    "SELECT rank(a.k) OVER (ORDER BY a.k) AS c1 FROM data AS a",
    "SELECT count_if(b) AS c1 FROM data AS r1 WHERE k > 1000",
    "SELECT g, count_if(b) FILTER (WHERE k > 3) AS c1 FROM data AS r1 GROUP BY g",
    "SELECT k, -3 <> u64 AS c1, u64 > -3 AS c2, u64 IS DISTINCT FROM -3 AS c3 FROM level1 AS r1",
    "SELECT (DATE '2020-02-29' IS DISTINCT FROM (SELECT max(d) FROM level1 AS r3)) AS c1 FROM data \
        AS r2",
    "SELECT quantile_disc(CASE WHEN b THEN 0 ELSE 1 END, 0.25) AS c FROM level0 AS r4",
    "SELECT quantile_cont(f32, 0.9) AS c1, quantile_cont(f32, 0.3) AS c2 FROM data AS r1",
    "SELECT last_value(replace(r4.s, 'ra', 'X') IGNORE NULLS) OVER (ORDER BY r4.k) AS c1 FROM \
        level0 AS r4",
    "SELECT (1 // NULL) AS c1, k // NULL AS c2, max('a') OVER (PARTITION BY (2 // NULL)) AS c3 \
        FROM data AS r2",
    "SELECT CASE WHEN k > 3 THEN CAST(u8 AS UBIGINT) ELSE k END // 5 AS c1, coalesce(CAST(u8 AS \
        UBIGINT), k) % 3 AS c2 FROM data AS r3",
    "SELECT coalesce(f32, pi()) AS c1, log(abs(x) + 1) AS c2, log2(abs(x) + 1) AS c3, log(3, \
        abs(x) + 2) AS c4 FROM data AS r1",
    "SELECT regr_avgy(1e308 * f64 * 10, 1) AS c1 FROM data AS r1 WHERE f64 > 1",
    "SELECT TRY_CAST('- ' AS BIGINT) AS c1, TRY_CAST('-' AS BIGINT) AS c2, k FROM data AS r1",
    "SELECT string_agg(s ORDER BY r1.k) FILTER (WHERE (r1.k < NULL OR (r1.k > 7))) AS c1 FROM data \
        AS r1 GROUP BY r1.t",
    "SELECT s = b AS c1 FROM data AS a",
    "SELECT digits <> b AS c1, b IN (digits) AS c2 FROM data AS a WHERE digits IN ('0', 'true')",
    "SELECT TRY_CAST(s AS BOOLEAN) AS c1, TRY_CAST(' true' AS BOOLEAN) AS c2 FROM data AS a",
    "SELECT TRY_CAST(concat(CAST(ts AS VARCHAR), 'a') AS DATE) AS c1, TRY_CAST(concat(CAST(d AS \
        VARCHAR), '1') AS DATE) AS c2 FROM data AS a",
    "SELECT x FROM data AS r3 WHERE (r3.f64 BETWEEN CAST('nan' AS DOUBLE) AND r3.f64)",
    "SELECT exp(sin(variance(r3.u32))) AS c1 FROM level1 AS r3",
    "SELECT date_add(d, INTERVAL 1 DAY) AS c1, d + INTERVAL 1 DAY AS c2 FROM data AS r1",
    "SELECT (replace('a', 't', 'aa'))[-1] AS c1, CASE (replace(s, 't', 'aa'))[-1] WHEN 'a' THEN 1 \
        END AS c2 FROM data AS r1",
    "SELECT coalesce(s, 'xyz')[2] AS c1, (CASE WHEN k > 3 THEN s ELSE 'ab' END)[1] AS c2, \
        max(s)[1] AS c3 FROM data AS r1 GROUP BY s, k",
    "SELECT -3 / u64 AS c1, u64 / -3 AS c2, u64 / 3 AS c3 FROM level1 AS r1",
    "SELECT ((r1.u64 // 3) - 2) AS c1 FROM data AS r1",
    "SELECT TRY_CAST(u64 // 1 AS BIGINT) AS c1, u64 // 1 AS c2, k // 2 AS c3 FROM data AS r1",
];

/// How the two answers relate.
#[derive(Clone, Debug, PartialEq)]
enum Outcome {
    Equal,
    BothRefused,
    /// Refused here, answered by DuckDB; with the kind.
    Refused(String),
    Known(&'static str),
    Failed(Failure, String),
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq)]
enum Failure {
    Wrong,
    /// An answer for what DuckDB refuses with an error of this kind.
    Unrefused(String),
    Panic,
    /// The text of a refusal has this in it.
    Leak(&'static str),
}

/// The outcomes of some statements.
#[derive(Default)]
struct Tally {
    equal: u64,
    both_refused: u64,
    failed: u64,
    /// Number of statements of each kind of refusal, and the shortest of them.
    refused: BTreeMap<String, (u64, String)>,
    known: BTreeMap<&'static str, u64>,
    /// Reports of the first failures.
    failures: Vec<String>,
}

impl Tally {
    /// Compares the statements of the seeds from `next`, which other threads take too, up to `end`.
    fn of_seeds(next: &AtomicU64, end: u64, left_out: &[&str]) -> Self {
        let mut engines = Engines::start();
        let mut tally = Self::default();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= end {
                return tally;
            }
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            let tree = Grammar::new(&mut random, left_out).statement();
            let (text, is_ordered) = tree.print();
            let outcome = engines.outcome(&text, is_ordered);
            if let Outcome::Failed(failure, _) = &outcome
                && tally.failures.len() < FAILURES_MAX
            {
                let report = format!("seed {seed}, {}", engines.report(&tree, failure));
                println!("{report}");
                tally.failures.push(report);
            }
            tally.count(outcome, text);
        }
    }

    fn count(&mut self, outcome: Outcome, statement: String) {
        match outcome {
            Outcome::Equal => self.equal += 1,
            Outcome::BothRefused => self.both_refused += 1,
            Outcome::Known(name) => *self.known.entry(name).or_default() += 1,
            Outcome::Refused(kind) => self.refuse(kind, 1, statement),
            Outcome::Failed(..) => self.failed += 1,
        }
    }

    fn refuse(&mut self, kind: String, count: u64, statement: String) {
        let (known, example) = self.refused.entry(kind).or_insert((0, statement.clone()));
        *known += count;
        if statement.len() < example.len() {
            *example = statement;
        }
    }

    fn and(mut self, other: Self) -> Self {
        self.equal += other.equal;
        self.both_refused += other.both_refused;
        self.failed += other.failed;
        for (kind, (count, example)) in other.refused {
            self.refuse(kind, count, example);
        }
        for (name, count) in other.known {
            *self.known.entry(name).or_default() += count;
        }
        self.failures.extend(other.failures);
        self
    }

    fn shown(&self) -> String {
        let mut kinds: Vec<_> = self.refused.iter().collect();
        kinds.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
        let mut lines: Vec<String> = kinds
            .iter()
            .map(|(kind, (count, example))| format!("refused {count}: {kind}\n  {example}"))
            .collect();
        for known in KNOWN {
            let count = self.known.get(known.name).unwrap_or(&0);
            lines.push(format!(
                "known difference, {count}: {} ({})",
                known.name, known.reason
            ));
        }
        let count = self.known.get(UNSETTLED).unwrap_or(&0);
        lines.push(format!(
            "known difference, {count}: {UNSETTLED} (DuckDB has other digits for \
            the rows in another order)"
        ));
        let count = self.known.get(OPTIMIZED).unwrap_or(&0);
        lines.push(format!(
            "known difference, {count}: {OPTIMIZED} (DuckDB without its optimizer \
            answers as the studio does)"
        ));
        let refused: u64 = self.refused.values().map(|(count, _)| count).sum();
        let known: u64 = self.known.values().sum();
        let Self {
            equal,
            both_refused,
            failed,
            ..
        } = self;
        lines.push(format!(
            "{equal} equal, {both_refused} refused by both, {refused} refused here, {known} known \
                differences, {failed} failed"
        ));
        lines.join("\n")
    }
}

struct Engines {
    tables: Tables,
    duckdb: DuckDb,
    _workspace: Workspace,
}

impl Engines {
    fn start() -> Self {
        let workspace = Workspace::new();
        let (tables, statements) =
            write_levels(&workspace, &mut ChaCha8Rng::seed_from_u64(LEVELS_SEED));
        let duckdb = DuckDb::start(&workspace, &statements);
        Self {
            tables,
            duckdb,
            _workspace: workspace,
        }
    }

    fn answers(&mut self, statement: &str) -> (Answer, Answer) {
        (
            answer_here(&self.tables, statement),
            self.duckdb.answer(statement),
        )
    }

    fn outcome(&mut self, statement: &str, is_ordered: bool) -> Outcome {
        let (ours, theirs) = self.answers(statement);
        self.outcome_of(statement, &ours, &theirs, is_ordered)
    }

    fn outcome_of(
        &mut self,
        statement: &str,
        ours: &Answer,
        theirs: &Answer,
        is_ordered: bool,
    ) -> Outcome {
        match outcome(statement, ours, theirs, is_ordered) {
            Outcome::Failed(Failure::Wrong, _) if self.is_unsettled(statement, ours, theirs) => {
                Outcome::Known(UNSETTLED)
            }
            Outcome::Failed(Failure::Wrong, _)
                if self.is_optimized(statement, ours, is_ordered) =>
            {
                Outcome::Known(OPTIMIZED)
            }
            other => other,
        }
    }

    /// True when DuckDB without its optimizer answers as the studio does.
    fn is_optimized(&mut self, statement: &str, ours: &Answer, is_ordered: bool) -> bool {
        let theirs = self.duckdb.answer_without_optimizer(statement);
        outcome(statement, ours, &theirs, is_ordered) == Outcome::Equal
    }

    /// True when DuckDB has other values for the same rows in another order, and as many as the
    /// studio: the last digits of sums grow by what is made of them. True as well where last digits
    /// alone decide which rows `DISTINCT` and `UNION` leave, and how `ORDER BY` sorts them.
    fn is_unsettled(&mut self, statement: &str, ours: &Answer, theirs: &Answer) -> bool {
        let (Answer::Rows(ours), Answer::Rows(theirs)) = (ours, theirs) else {
            return false;
        };
        if !MEANS.iter().any(|name| statement.contains(name)) {
            return false;
        }
        if ours.len() != theirs.len() {
            let has_sets = ["DISTINCT", "UNION"]
                .iter()
                .any(|word| statement.contains(word));
            return has_sets
                && difference(&without_alike(ours), &without_alike(theirs), false).is_none();
        }
        if statement.contains("ORDER BY") && answers::are_sorted_by_digits(ours, theirs) {
            return true;
        }
        self.duckdb.answers_in_other_orders(statement).iter().any(
            |other| matches!(
                other,
                Answer::Rows(others)
                    if others.len() == theirs.len() && difference(others, theirs, false).is_some()
            ),
        )
    }

    /// A failure with the smallest statement that has it.
    fn report(&mut self, tree: &Node, failure: &Failure) -> String {
        let smallest = self.reduced(tree, failure);
        let (text, is_ordered) = smallest.print();
        let (ours, theirs) = self.answers(&text);
        let difference = match self.outcome_of(&text, &ours, &theirs, is_ordered) {
            Outcome::Failed(_, difference) => {
                difference.lines().next().unwrap_or_default().to_owned()
            }
            other => format!("{other:?}"),
        };
        format!(
            "{failure:?}\n  {text}\n  here   {}\n  DuckDB {}\n  {difference}",
            ours.shown(),
            theirs.shown()
        )
    }

    /// A smaller statement with the same failure.
    fn reduced(&mut self, tree: &Node, failure: &Failure) -> Node {
        let mut smallest = tree.clone();
        let mut tried = 0;
        'smaller: loop {
            for candidate in smallest.smaller() {
                let (text, is_ordered) = candidate.print();
                if text.len() >= smallest.print().0.len() {
                    continue;
                }
                tried += 1;
                if tried > REDUCTIONS_MAX {
                    return smallest;
                }
                if matches!(
                    self.outcome(&text, is_ordered),
                    Outcome::Failed(other, _) if other == *failure
                ) {
                    smallest = candidate;
                    continue 'smaller;
                }
            }
            return smallest;
        }
    }
}

fn outcome(statement: &str, ours: &Answer, theirs: &Answer, is_ordered: bool) -> Outcome {
    match difference_of(ours, theirs, is_ordered) {
        failed @ Outcome::Failed(..) => match KNOWN
            .iter()
            .find(|known| (known.applies)(statement, ours, theirs))
        {
            Some(known) => Outcome::Known(known.name),
            None => failed,
        },
        other => other,
    }
}

fn difference_of(ours: &Answer, theirs: &Answer, is_ordered: bool) -> Outcome {
    match (ours, theirs) {
        (Answer::Panicked(text), _) => Outcome::Failed(Failure::Panic, text.clone()),
        (Answer::Refused(_, text), _) if leak(text).is_some() => {
            Outcome::Failed(Failure::Leak(leak(text).unwrap_or_default()), text.clone())
        }
        (Answer::Refused(..), Answer::Refused(..)) => Outcome::BothRefused,
        (Answer::Refused(kind, text), _) => {
            Outcome::Refused(format!("{kind}: {}", kind_of_text(text)))
        }
        (Answer::Rows(ours), Answer::Rows(theirs)) => match difference(ours, theirs, is_ordered) {
            Some(difference) => Outcome::Failed(Failure::Wrong, difference),
            None => Outcome::Equal,
        },
        // Python lacks the value.
        (_, Answer::Refused(kind, _)) if kind == "Unreadable" => Outcome::Equal,
        (_, Answer::Refused(kind, text)) => {
            Outcome::Failed(Failure::Unrefused(kind.clone()), text.clone())
        }
        (_, Answer::Panicked(text)) => panic!("DuckDB: {text}"),
    }
}

fn leak(text: &str) -> Option<&'static str> {
    // Values of the tables are quoted, and may have any text.
    let text = Regex::new("'[^']*'")
        .expect("a pattern")
        .replace_all(text, "''");
    LEAKS.iter().find(|leak| text.contains(**leak)).copied()
}

/// The text without what differs from statement to statement.
fn kind_of_text(text: &str) -> String {
    let line = text.lines().take(2).collect::<Vec<_>>().join(" / ");
    let names = Regex::new(r#""[^"]*"|r\d+\.\w+|'[^']*'|-?\d+(\.\d+)?"#).expect("a pattern");
    names.replace_all(&line, "…").chars().take(160).collect()
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

#[test]
fn random_statements_have_the_answers_of_duckdb() {
    let asked = variable("TACO_STUDIO_SQL_FUZZ");
    let uses_all = asked.as_ref().is_some_and(|asked| asked.ends_with(",all"));
    let count = asked.map_or(STATEMENTS, |asked| {
        asked
            .trim_end_matches(",all")
            .parse()
            .expect("a number of statements")
    });
    let seed = variable("TACO_STUDIO_SQL_SEED").map_or(SEED, |seed| seed.parse().expect("a seed"));
    let mut left_out: Vec<&str> = if uses_all {
        Vec::new()
    } else {
        NOT_YET.iter().map(|(name, _)| *name).collect()
    };
    let without = variable("TACO_STUDIO_SQL_WITHOUT").unwrap_or_default();
    left_out.extend(without.split(',').filter(|name| !name.is_empty()));
    let started = Instant::now();
    let next = AtomicU64::new(seed);
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let tally = std::thread::scope(|scope| {
        let compare = || Tally::of_seeds(&next, seed + count, &left_out);
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(compare)).collect();
        workers
            .into_iter()
            .map(|worker| worker.join().expect("a tally"))
            .fold(Tally::default(), Tally::and)
    });
    println!("{}", tally.shown());
    println!(
        "{count} statements from seed {seed} in {:.0} s",
        started.elapsed().as_secs_f64()
    );
    assert!(
        tally.failed == 0,
        "{} of {count} statements failed:\n{}",
        tally.failed,
        tally.failures.join("\n")
    );
    // Fewer answers would compare too little.
    assert!(
        count < 500 || tally.equal * 10 > count * 6,
        "{} of {count} statements have answers",
        tally.equal
    );
}

#[test]
fn mended_statements_keep_the_answers_of_duckdb() {
    let mut engines = Engines::start();
    let mut other = Vec::new();
    let more = variable("TACO_STUDIO_SQL_STATEMENTS")
        .map(|file| std::fs::read_to_string(file).expect("a file of statements"));
    for statement in MENDED
        .iter()
        .copied()
        .chain(more.iter().flat_map(|text| text.lines()))
    {
        let (ours, theirs) = engines.answers(statement);
        match engines.outcome_of(statement, &ours, &theirs, false) {
            Outcome::Equal | Outcome::BothRefused | Outcome::Known(UNSETTLED | OPTIMIZED) => {}
            outcome => other.push(format!(
                "{statement}\n  {outcome:?}\n  here   {}\n  DuckDB {}",
                ours.shown(),
                theirs.shown()
            )),
        }
    }
    assert!(
        other.is_empty(),
        "{} of {}:\n{}",
        other.len(),
        MENDED.len(),
        other.join("\n")
    );
}

#[test]
fn a_seed_gives_one_statement_and_smaller_ones_of_it() {
    let statement = |seed| {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        Grammar::new(&mut random, &[]).statement()
    };
    for seed in 0..200 {
        let tree = statement(seed);
        assert_eq!(tree, statement(seed), "seed {seed}");
        let (text, _) = tree.print();
        assert!(
            !text.contains("<<") && !text.contains("@K") && !text.contains("{}"),
            "{text}"
        );
        for smaller in tree.smaller() {
            assert_ne!(smaller, tree, "{text}");
        }
    }
}

#[test]
fn alike_rows_do_not_take_the_partners_of_equal_ones() {
    let rows = |numbers: [f64; 2]| {
        numbers
            .map(|number| vec![serde_json::Value::from(number)])
            .to_vec()
    };
    let (ours, theirs) = (
        rows([-4_000_000_002.0, -3_999_999_999.0]),
        rows([-3_999_999_999.0, -4_000_000_002.0]),
    );
    assert_eq!(difference(&ours, &theirs, false), None);
    assert!(
        difference(&ours, &theirs, true).is_none(),
        "numbers that differ in the tenth digit are alike"
    );
    assert!(difference(&rows([1.0, 2.0]), &rows([1.0, 3.0]), false).is_some());
}

#[test]
fn productions_that_are_left_out_do_not_occur() {
    for seed in 0..300 {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let text = Grammar::new(&mut random, &["where", "limit", "first_rows", "upper"])
            .statement()
            .print()
            .0;
        assert!(
            !text.contains(" LIMIT ")
                || text.contains("LIMIT -1")
                || text.starts_with("SELECT a.k"),
            "{text}"
        );
    }
    let mut names: Vec<&str> = NOT_YET.iter().map(|(name, _)| *name).collect();
    let mut random = ChaCha8Rng::seed_from_u64(0);
    let mut grammar = Grammar::new(&mut random, &[]);
    (0..3000).for_each(|_| drop(grammar.statement()));
    let used = grammar.used();
    names.retain(|name| !used.contains(name));
    assert!(names.is_empty(), "no productions: {names:?}");
}
