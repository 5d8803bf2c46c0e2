//! Answers of the studio and of DuckDB in one form, and their comparison.

use std::io::{BufRead, BufReader, Write};
use std::panic::AssertUnwindSafe;
use std::process::{Child, ChildStdout, Command, Stdio};

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{
    DataType, Float64Type, Int64Type, TimeUnit, TimestampMicrosecondType, UInt64Type,
};
use chrono::NaiveDate;
use serde_json::{Value as Json, json};
use taco_studio::jobs::JobContext;
use taco_studio::query::{QueryResult, Tables, run_sql};

use crate::support::{Workspace, python, tests_folder};

/// The rows of a statement, or why there are none.
#[derive(Clone, Debug)]
pub enum Answer {
    Rows(Vec<Vec<Json>>),
    /// A kind and a text.
    Refused(String, String),
    Panicked(String),
}

impl Answer {
    /// At most a few rows, for reports.
    pub fn shown(&self) -> String {
        match self {
            Answer::Rows(rows) => {
                let first: Vec<String> = rows.iter().take(12).map(|row| shown_row(row)).collect();
                let more = if rows.len() > first.len() { " …" } else { "" };
                shortened(
                    &format!("{} rows: {}{more}", rows.len(), first.join(" ")),
                    700,
                )
            }
            Answer::Refused(kind, text) => format!("{kind}: {}", text.replace('\n', " / ")),
            Answer::Panicked(text) => format!("PANIC: {}", text.replace('\n', " / ")),
        }
    }
}

fn shown_row(row: &[Json]) -> String {
    shortened(&Json::from(row.to_vec()).to_string(), 300)
}

fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() > most {
        text.chars().take(most).chain(['…']).collect()
    } else {
        text.to_owned()
    }
}

/// Other orders of the rows, as expressions of SQL.
const ORDERS: [&str; 4] = ["md5(id)", "id DESC", "md5(id || 'a')", "md5(id || 'b')"];

/// A process of Python that answers with DuckDB.
pub struct DuckDb {
    child: Child,
    answers: BufReader<ChildStdout>,
}

impl DuckDb {
    /// With tables by name and statement.
    pub fn start(workspace: &Workspace, tables: &[(String, String)]) -> Self {
        let tables = workspace.write("tables.json", serde_json::to_string(tables).expect("JSON"));
        let interop = tests_folder().join("interop");
        let mut command = Command::new(python());
        command
            .arg(interop.join("run.py"))
            .arg(interop.join("duckdb_rows.py"))
            .arg(tables)
            .args(ORDERS);
        workspace
            .house(&mut command)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command.spawn().expect("Python starts");
        let answers = BufReader::new(child.stdout.take().expect("its output"));
        Self { child, answers }
    }

    pub fn answer(&mut self, statement: &str) -> Answer {
        self.answer_in("main", statement)
    }

    /// The answer of a plan that is not optimized.
    pub fn answer_without_optimizer(&mut self, statement: &str) -> Answer {
        self.answer_in("unoptimized", statement)
    }

    /// The answers for the same rows in other orders.
    pub fn answers_in_other_orders(&mut self, statement: &str) -> Vec<Answer> {
        (1..=ORDERS.len())
            .map(|number| self.answer_in(&format!("order{number}"), statement))
            .collect()
    }

    fn answer_in(&mut self, schema: &str, statement: &str) -> Answer {
        let input = self.child.stdin.as_mut().expect("its input");
        writeln!(input, "{}", json!([schema, statement]))
            .and_then(|()| input.flush())
            .expect("DuckDB reads the statement");
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("DuckDB answers");
        let answer: Json = serde_json::from_str(&line)
            .unwrap_or_else(|error| panic!("{statement}: {error}: {line}"));
        match answer["rows"].as_array() {
            Some(rows) => Answer::Rows(
                rows.iter()
                    .map(|row| row.as_array().expect("a row").clone())
                    .collect(),
            ),
            None => {
                let text = |key: &str| answer[key].as_str().expect("a text").to_owned();
                Answer::Refused(text("kind"), text("error"))
            }
        }
    }
}

impl Drop for DuckDb {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The answer of the studio.
pub fn answer_here(tables: &Tables, statement: &str) -> Answer {
    let context = JobContext::default();
    let run = || run_sql(tables, statement, None, &context).map(|result| rows_of(&result));
    match std::panic::catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(rows)) => Answer::Rows(rows),
        Ok(Err(error)) if error.report().contains("stopped unexpectedly") => {
            Answer::Panicked(error.report())
        }
        Ok(Err(error)) => Answer::Refused(format!("{:?}", error.kind()), error.report()),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            Answer::Panicked(text.unwrap_or_default())
        }
    }
}

fn rows_of(result: &QueryResult) -> Vec<Vec<Json>> {
    let columns = result.columns().len();
    let cell = |row: usize, column: usize| {
        result
            .table
            .locate(row, column)
            .map_or(Json::Null, |(array, row)| value_of(array, row))
    };
    (0..result.row_count)
        .map(|row| (0..columns).map(|column| cell(row, column)).collect())
        .collect()
}

/// The value in the form of `tests/interop/duckdb_rows.py`.
fn value_of(array: &ArrayRef, row: usize) -> Json {
    if array.is_null(row) {
        return Json::Null;
    }
    let one = array.slice(row, 1);
    let list = |values: ArrayRef| {
        (0..values.len())
            .map(|at| value_of(&values, at))
            .collect::<Json>()
    };
    let as_type = |dtype: &DataType| {
        cast(&one, dtype).unwrap_or_else(|error| panic!("{:?}: {error}", array.data_type()))
    };
    match array.data_type() {
        DataType::Null => Json::Null,
        DataType::Boolean => one.as_boolean().value(0).into(),
        DataType::UInt64 => one.as_primitive::<UInt64Type>().value(0).into(),
        dtype if dtype.is_integer() => as_type(&DataType::Int64)
            .as_primitive::<Int64Type>()
            .value(0)
            .into(),
        dtype if dtype.is_floating() || matches!(dtype, DataType::Decimal128(..)) => {
            match as_type(&DataType::Float64)
                .as_primitive::<Float64Type>()
                .value(0)
            {
                number if number.is_nan() => json!({"f": "NaN"}),
                number if number.is_infinite() => {
                    json!({"f": if number > 0.0 { "inf" } else { "-inf" }})
                }
                number => number.into(),
            }
        }
        DataType::Date32 | DataType::Date64 => {
            let days = as_type(&DataType::Date32)
                .as_primitive::<arrow::datatypes::Date32Type>()
                .value(0);
            let date = NaiveDate::default().checked_add_signed(chrono::Duration::days(days.into()));
            json!({"d": date.map(|date| date.to_string())})
        }
        DataType::Timestamp(_, zone) => {
            let key = if zone.is_some() { "z" } else { "t" };
            let micros = as_type(&DataType::Timestamp(TimeUnit::Microsecond, zone.clone()));
            json!({key: micros.as_primitive::<TimestampMicrosecondType>().value(0)})
        }
        DataType::Duration(_) => {
            let micros = as_type(&DataType::Duration(TimeUnit::Microsecond));
            json!({"i": as_duration(&micros)})
        }
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Dictionary(..) => {
            as_type(&DataType::Utf8).as_string::<i32>().value(0).into()
        }
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => {
            let bytes = as_type(&DataType::Binary);
            let bytes = bytes.as_binary::<i32>().value(0);
            let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            json!({ "b": digits })
        }
        DataType::List(_) => list(one.as_list::<i32>().value(0)),
        DataType::LargeList(_) => list(one.as_list::<i64>().value(0)),
        DataType::FixedSizeList(..) => list(one.as_fixed_size_list().value(0)),
        DataType::Struct(_) => {
            let fields = one.as_struct();
            let named = fields.column_names().into_iter().zip(fields.columns());
            json!({"s": named.map(|(name, values)| json!([name, value_of(values,
                0)])).collect::<Json>()})
        }
        other => panic!("a result has the type {other}"),
    }
}

fn as_duration(array: &ArrayRef) -> i64 {
    array
        .as_primitive::<arrow::datatypes::DurationMicrosecondType>()
        .value(0)
}

/// Why two answers differ; `None` for equal ones.
pub fn difference(ours: &[Vec<Json>], theirs: &[Vec<Json>], is_ordered: bool) -> Option<String> {
    if ours.len() != theirs.len() {
        return Some(format!("{} rows, DuckDB {}", ours.len(), theirs.len()));
    }
    if is_ordered {
        let other = ours
            .iter()
            .zip(theirs)
            .position(|(ours, theirs)| !are_alike_rows(ours, theirs));
        return other.map(|row| {
            format!(
                "row {}: {}, DuckDB {}",
                row + 1,
                shown_row(&ours[row]),
                shown_row(&theirs[row])
            )
        });
    }
    // Equal rows are paired first: a row that is merely alike must not take the partner of an equal
    // one.
    let mut left: Vec<&Vec<Json>> = theirs.iter().collect();
    let mut unpaired = Vec::new();
    for row in ours {
        match left.iter().position(|other| row == *other) {
            Some(at) => drop(left.swap_remove(at)),
            None => unpaired.push(row),
        }
    }
    let mut missed = None;
    for row in unpaired {
        // The nearest one: a row in the middle of several small ones must not take the partner of
        // the next.
        let alike = (0..left.len()).filter(|at| are_alike_rows(row, left[*at]));
        match alike.min_by(|one, other| {
            f64::total_cmp(&distance(row, left[*one]), &distance(row, left[*other]))
        }) {
            Some(at) => drop(left.swap_remove(at)),
            None => missed = missed.or(Some(row)),
        }
    }
    missed.map(|row| {
        let theirs: Vec<String> = left.iter().take(3).map(|row| shown_row(row)).collect();
        format!(
            "row {}, DuckDB instead {}",
            shown_row(row),
            theirs.join(" ")
        )
    })
}

/// The rows without those that differ from an earlier one in last digits alone. Equal rows stay.
pub fn without_alike(rows: &[Vec<Json>]) -> Vec<Vec<Json>> {
    let mut kept: Vec<Vec<Json>> = Vec::new();
    for row in rows {
        if !kept
            .iter()
            .any(|other| other != row && are_alike_rows(other, row))
        {
            kept.push(row.clone());
        }
    }
    kept
}

fn are_alike_rows(ours: &[Json], theirs: &[Json]) -> bool {
    ours.len() == theirs.len()
        && ours
            .iter()
            .zip(theirs)
            .all(|(ours, theirs)| alike(ours, theirs))
}

/// Sum of the differences of the numbers of two rows.
fn distance(ours: &[Json], theirs: &[Json]) -> f64 {
    let difference = |(one, other): (&Json, &Json)| Some((one.as_f64()? - other.as_f64()?).abs());
    ours.iter().zip(theirs).filter_map(difference).sum()
}

/// True for equal values; fractions may differ in their last digits, as texts too, -0.0 is 0.0.
fn alike(ours: &Json, theirs: &Json) -> bool {
    match (ours, theirs) {
        (Json::Number(one), Json::Number(two)) => {
            if (one.is_i64() || one.is_u64()) && (two.is_i64() || two.is_u64()) {
                return one == two;
            }
            let (one, two) = (
                one.as_f64().unwrap_or(f64::NAN),
                two.as_f64().unwrap_or(f64::NAN),
            );
            (one - two).abs() <= 1e-9 * two.abs().max(1.0)
        }
        (Json::String(one), Json::String(two)) => one == two || are_alike_texts(one, two),
        (Json::Array(one), Json::Array(two)) => {
            one.len() == two.len() && one.iter().zip(two).all(|(one, two)| alike(one, two))
        }
        (Json::Object(one), Json::Object(two)) => {
            one.len() == two.len()
                && one
                    .iter()
                    .all(|(key, value)| two.get(key).is_some_and(|other| alike(value, other)))
        }
        _ => ours == theirs,
    }
}

/// True for texts of fractions with all digits, of which the last differ, and of both zeros.
fn are_alike_texts(one: &str, two: &str) -> bool {
    /// Digits at which two numbers of 64 bits may differ.
    const DIGITS: usize = 15;
    let number = |text: &str| {
        text.parse::<f64>()
            .ok()
            .filter(|number| number.is_finite() && text.contains('.'))
    };
    let Some((first, second)) = number(one).zip(number(two)) else {
        return false;
    };
    let digits = |text: &str| text.bytes().filter(u8::is_ascii_digit).count();
    let are_zeros = first == 0.0 && second == 0.0;
    are_zeros
        || digits(one).max(digits(two)) >= DIGITS && (first - second).abs() <= 1e-13 * second.abs()
}

/// The rows with the sizes of their numbers, infinite ones too.
pub fn without_signs(rows: &[Vec<Json>]) -> Vec<Vec<Json>> {
    changed(rows, &|value| match value {
        Json::Number(number) => number
            .as_f64()
            .map_or(value.clone(), |number| number.abs().into()),
        Json::Object(members) if members.get("f") == Some(&Json::from("-inf")) => {
            serde_json::json!({ "f": "inf" })
        }
        other => other.clone(),
    })
}

/// The rows with one text for NaN, whatever its sign.
pub fn without_signs_of_nan(rows: &[Vec<Json>]) -> Vec<Vec<Json>> {
    changed(rows, &|value| match value {
        Json::String(text) if text == "-nan" => "nan".into(),
        Json::Object(members) if members.get("b") == Some(&Json::from("2d6e616e")) => {
            serde_json::json!({ "b": "6e616e" })
        }
        other => other.clone(),
    })
}

/// The rows with 0 for NaN.
pub fn without_nan(rows: &[Vec<Json>]) -> Vec<Vec<Json>> {
    changed(rows, &|value| match value {
        Json::Object(members) if members.get("f") == Some(&Json::from("NaN")) => 0.into(),
        other => other.clone(),
    })
}

/// The rows with six digits of their numbers, which fractions of 32 bits have.
pub fn with_single_digits(rows: &[Vec<Json>]) -> Vec<Vec<Json>> {
    changed(rows, &|value| match value.as_f64() {
        Some(number) => format!("{number:.5e}")
            .parse::<f64>()
            .map_or(value.clone(), Json::from),
        None => value.clone(),
    })
}

/// True when both have the same rows in another order, and each row has a number beside the one in
/// its place that differs from it in last digits alone.
pub fn are_sorted_by_digits(ours: &[Vec<Json>], theirs: &[Vec<Json>]) -> bool {
    let differ_in_digits =
        |(one, two): (&Json, &Json)| one.is_f64() && one != two && alike(one, two);
    let is_tie = |(ours, theirs): (&Vec<Json>, &Vec<Json>)| {
        are_alike_rows(ours, theirs) || ours.iter().zip(theirs).any(differ_in_digits)
    };
    difference(ours, theirs, false).is_none() && ours.iter().zip(theirs).all(is_tie)
}

/// The rows with 0 for numbers that are very small beside the greatest: what is left of numbers
/// that cancel out.
pub fn without_small(rows: &[Vec<Json>]) -> Vec<Vec<Json>> {
    let least = least_beside_greatest(rows);
    changed(rows, &|value| match value.as_f64() {
        Some(number) if number.abs() <= least => 0.0.into(),
        _ => value.clone(),
    })
}

fn least_beside_greatest(rows: &[Vec<Json>]) -> f64 {
    fn greatest(value: &Json) -> f64 {
        match value {
            Json::Array(items) => items.iter().map(greatest).fold(0.0, f64::max),
            other => other.as_f64().map_or(0.0, f64::abs),
        }
    }
    rows.iter().flatten().map(greatest).fold(0.0, f64::max) * 1e-9
}

/// The rows with four digits of their numbers; numbers that are very small beside the greatest
/// are 0.
pub fn with_few_digits(rows: &[Vec<Json>]) -> Vec<Vec<Json>> {
    let least = least_beside_greatest(rows);
    changed(rows, &|value| match value.as_f64() {
        Some(number) if number.abs() <= least => 0.0.into(),
        Some(number) => format!("{number:.3e}")
            .parse::<f64>()
            .map_or(value.clone(), Json::from),
        None => value.clone(),
    })
}

fn changed(rows: &[Vec<Json>], change: &dyn Fn(&Json) -> Json) -> Vec<Vec<Json>> {
    fn within(value: &Json, change: &dyn Fn(&Json) -> Json) -> Json {
        match value {
            Json::Array(items) => {
                Json::Array(items.iter().map(|item| within(item, change)).collect())
            }
            other => change(other),
        }
    }
    rows.iter()
        .map(|row| row.iter().map(|value| within(value, change)).collect())
        .collect()
}
