//! Statements against DuckDB's recorded answers; `tests/interop/duckdb_answers.py` records them,
//! and `reader::` compares them with the DuckDB of the official reader.

use super::*;
use arrow::array::{BooleanArray, Date32Array};
use chrono::{NaiveDate, NaiveDateTime};

fn recorded() -> Json {
    let path =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/duckdb/answers.json");
    serde_json::from_str(&std::fs::read_to_string(path).expect("is there")).expect("is JSON")
}

fn table(data: &[Json]) -> Tables {
    let of = |at: usize| data.iter().map(move |row| &row[at]);
    let text = |at: usize| of(at).map(Json::as_str).collect::<StringArray>();
    let days = |value: &Json| {
        let day: NaiveDate = value.as_str()?.parse().expect("a date");
        Some((day - NaiveDate::default()).num_days() as i32)
    };
    let micros = |value: &Json| {
        let time =
            NaiveDateTime::parse_from_str(value.as_str()?, "%Y-%m-%d %H:%M:%S%.f").expect("a time");
        Some(time.and_utc().timestamp_micros())
    };
    let mut tables = Tables::default();
    tables.push_table(decoded(batch(vec![
        ("id", Arc::new(text(0))),
        ("s", Arc::new(text(1))),
        (
            "n",
            Arc::new(of(2).map(Json::as_i64).collect::<Int64Array>()),
        ),
        (
            "x",
            Arc::new(of(3).map(Json::as_f64).collect::<Float64Array>()),
        ),
        ("d", Arc::new(of(4).map(days).collect::<Date32Array>())),
        (
            "t",
            Arc::new(of(5).map(micros).collect::<TimestampMicrosecondArray>()),
        ),
        (
            "b",
            Arc::new(of(6).map(Json::as_bool).collect::<BooleanArray>()),
        ),
    ])));
    tables
}

/// True for equal values; numbers may differ in their last digits.
fn alike(ours: &Json, theirs: &Json) -> bool {
    match (ours, theirs) {
        (Json::Number(ours), Json::Number(theirs)) => {
            let (ours, theirs) = (
                ours.as_f64().unwrap_or(f64::NAN),
                theirs.as_f64().unwrap_or(f64::NAN),
            );
            (ours - theirs).abs() <= 1e-12 * theirs.abs().max(1e-300)
        }
        (Json::Array(ours), Json::Array(theirs)) => {
            ours.len() == theirs.len()
                && ours
                    .iter()
                    .zip(theirs)
                    .all(|(ours, theirs)| alike(ours, theirs))
        }
        _ => ours == theirs,
    }
}

#[test]
fn statements_have_the_recorded_answers_of_duckdb() {
    let recorded = recorded();
    let list = |value: &Json| value.as_array().expect("a list").clone();
    let tables = table(&list(&recorded["data"]));
    let answers = list(&recorded["answers"]);
    assert!(answers.len() > 300, "{} statements", answers.len());
    let mut other = Vec::new();
    for answer in &answers {
        let text = answer[0].as_str().expect("a statement");
        let whole = text.starts_with("SELECT") || text.starts_with("WITH");
        let sql = if whole {
            text.to_owned()
        } else {
            format!("SELECT ({text}) FROM data ORDER BY id")
        };
        match run_sql(&tables, &sql, Some(1000), &ctx()) {
            Ok(result) => {
                let rows = result
                    .json_rows()
                    .map(|row| row.into_iter().map(|(_, value)| value).collect())
                    .map(Json::Array);
                let rows = Json::Array(rows.collect());
                if !alike(&rows, &answer[1]) {
                    other.push(format!("{text}\n  DuckDB {}\n  here   {rows}", answer[1]));
                }
            }
            Err(error) => other.push(format!("{text}\n  {}", error.report())),
        }
    }
    assert!(
        other.is_empty(),
        "{} of {}:\n{}",
        other.len(),
        answers.len(),
        other.join("\n")
    );
}
