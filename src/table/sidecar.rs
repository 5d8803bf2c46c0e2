//! Reads external metadata tables: CSV, JSON or Parquet, detected from the content.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::csv::ReaderBuilder;
use arrow::csv::reader::Format;
use arrow::datatypes::{DataType, Field, Schema, TimeUnit};
use serde_json::Value as Json;

use super::budget::size_text;
use super::widening::{EXACT_IN_DOUBLE, number_type};
use super::{COLUMNS_MAX, LevelTable, ParquetSlice, TableHead, array_of, inferred};
use crate::error::{Error, IoContext, Result};
use crate::jobs::JobContext;
use crate::model::{FieldSpec, Value};

/// Bytes per read.
const PIECE: u64 = 8 << 20;
/// Maximum size in bytes of a text table.
const TEXT_MAX: u64 = 4 << 30;
/// Number of cells that a JSON table may have independent of its size.
const CELLS_FREE: u64 = 1 << 22;

/// Reads a table: CSV (comma, semicolon or tab; first line is the header; types inferred from all rows), JSON (a list of objects,
/// one object per line, or an object of objects by path) or Parquet.
///
/// # Errors
/// As [`read_sidecar_as`].
pub fn read_sidecar(path: &Path, ctx: &JobContext) -> Result<LevelTable> {
    read_sidecar_as(path, &|_| false, ctx)
}

/// As [`read_sidecar`]; CSV columns for which `text` returns true are read as strings.
///
/// # Errors
/// An IO error, [`crate::error::Kind::Format`] when the content is invalid, or [`crate::error::Kind::TooLarge`] when it exceeds a
/// limit.
pub fn read_sidecar_as(path: &Path, text: &dyn Fn(&str) -> bool, ctx: &JobContext) -> Result<LevelTable> {
    let mut file = crate::files::open(path).io_at("open the metadata table", path)?;
    let mut magic = [0; 64];
    let read = file.read(&mut magic).io_at("read the metadata table", path)?;
    file.seek(SeekFrom::Start(0)).io_at("read the metadata table", path)?;
    let start = magic.get(..read).unwrap_or_default();
    if start.starts_with(b"PAR1") {
        let size = file.metadata().io_at("read the metadata table", path)?.len();
        let (file, place) = (std::sync::Mutex::new(file), path.to_owned());
        let slice = ParquetSlice::new(size, move |offset, length| {
            let mut file = file.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let mut bytes = vec![0; length];
            file.seek(SeekFrom::Start(offset)).and_then(|_| file.read_exact(&mut bytes))?;
            Ok(bytes.into())
        });
        return TableHead::read(slice).and_then(|head| head.decode(ctx)).map_err(|error| match error.is_cancelled() {
            true => error,
            false => Error::format("the metadata table can't be read").because(error).at_path(&place),
        });
    }
    let content = text_of(&mut file, path, ctx)?;
    let content = content.strip_prefix('\u{feff}').unwrap_or(&content);
    match content.trim_start().starts_with(['{', '[']) {
        true => read_json(content, ctx).map_err(|error| if error.is_cancelled() { error } else { error.at_path(path) }),
        false => read_csv(content, text, path, ctx),
    }
}

/// Reads the file as UTF-8 in pieces; stops early at binary data or a hole of a sparse file.
fn text_of(file: &mut File, path: &Path, ctx: &JobContext) -> Result<String> {
    let wrong = |reason: &str| {
        let error = Error::format("the metadata table can't be read as UTF-8").because(reason.to_owned());
        error.at_path(path).hint("save it as UTF-8")
    };
    let mut bytes = Vec::new();
    loop {
        ctx.check()?;
        let before = bytes.len();
        file.take(PIECE).read_to_end(&mut bytes).io_at("read the metadata table", path)?;
        let Some(piece) = bytes.get(before..).filter(|piece| !piece.is_empty()) else { break };
        if piece.contains(&0) {
            return Err(wrong("there are zeros in it"));
        }
        if bytes.len() as u64 > TEXT_MAX {
            let summary = format!("the metadata table has more than {}", size_text(TEXT_MAX));
            return Err(Error::too_large(summary).at_path(path).hint("save it as Parquet"));
        }
    }
    String::from_utf8(bytes).map_err(|error| wrong(&error.to_string()))
}

/// Checks the number of columns.
fn check_width(columns: usize) -> Result<()> {
    match columns as u64 <= COLUMNS_MAX {
        true => Ok(()),
        false => Err(Error::too_large(format!("the metadata table has {columns} columns; {COLUMNS_MAX} is the most"))),
    }
}

fn read_csv(content: &str, text: &dyn Fn(&str) -> bool, path: &Path, ctx: &JobContext) -> Result<LevelTable> {
    let wrong = |error: arrow::error::ArrowError| {
        Error::format("the metadata table can't be read as CSV")
            .because(error)
            .at_path(path)
            .hint("save it as UTF-8 with a header line")
    };
    let header = content.lines().next().unwrap_or_default();
    let count = |delimiter: char| header.matches(delimiter).count();
    let delimiter = [',', ';', '\t'].into_iter().max_by_key(|&d| count(d)).filter(|&d| count(d) > 0).unwrap_or(',');
    check_width(count(delimiter) + 1).map_err(|error| error.at_path(path))?;
    let format = Format::default().with_header(true).with_delimiter(delimiter as u8);
    let (schema, _) = format.infer_schema(content.as_bytes(), None).map_err(wrong)?;
    let plain = |field: &Arc<Field>| match field.data_type() {
        _ if text(field.name()) => Arc::new(Field::new(field.name(), DataType::Utf8, true)),
        // Timestamps have microseconds, as the official writer uses, independent of the digits in the first row.
        DataType::Timestamp(_, zone) => {
            Arc::new(Field::new(field.name(), DataType::Timestamp(TimeUnit::Microsecond, zone.clone()), true))
        }
        _ => field.clone(),
    };
    let schema = Arc::new(Schema::new(schema.fields().iter().map(plain).collect::<Vec<_>>()));
    let reader = ReaderBuilder::new(schema.clone()).with_format(format).build(content.as_bytes()).map_err(wrong)?;
    let mut batches = Vec::new();
    for batch in reader {
        ctx.check()?;
        batches.push(batch.map_err(wrong)?);
    }
    Ok(LevelTable::new(schema, batches))
}

/// Columns in order of first appearance. Nested objects become structs with the union of their keys; columns of mixed types, and
/// of objects without keys, become JSON text.
fn read_json(content: &str, ctx: &JobContext) -> Result<LevelTable> {
    let mut names: Vec<String> = Vec::new();
    let mut places: std::collections::HashMap<String, usize> = std::collections::HashMap::new();
    let mut columns: Vec<Vec<Json>> = Vec::new();
    for (row, object) in json_rows(content)?.into_iter().enumerate() {
        if row % 4096 == 0 {
            ctx.check()?;
        }
        let Json::Object(object) = object else {
            return Err(Error::format(format!("row {row} of the metadata table is no JSON object")));
        };
        for (name, value) in object {
            let place = *places.entry(name.clone()).or_insert_with(|| {
                names.push(name);
                columns.push(Vec::new());
                names.len() - 1
            });
            if place + 1 == names.len() {
                check_width(names.len())?;
                // Rows are null in columns that they lack.
                let cells = (names.len() as u64).saturating_mul(row as u64);
                if cells > CELLS_FREE.max(content.len() as u64) {
                    return Err(Error::too_large(format!("{} columns in {row} rows are nearly all empty", names.len())));
                }
            }
            if let Some(column) = columns.get_mut(place) {
                column.resize(row, Json::Null);
                column.push(value);
            }
        }
    }
    let rows = columns.iter().map(Vec::len).max().unwrap_or(0);
    let mut fields = Vec::new();
    let mut arrays = Vec::new();
    for (name, mut column) in names.into_iter().zip(columns) {
        ctx.check()?;
        column.resize(rows, Json::Null);
        let dtype = column.iter().map(json_type).try_fold(DataType::Null, |so_far, next| number_type(&so_far, &next?));
        let dtype = dtype.filter(|dtype| column.iter().all(|value| is_exact(value, dtype)));
        let (values, dtype): (Vec<Value>, DataType) = match dtype {
            Some(dtype) if has_struct(&dtype) => {
                arrays.push(structs(&name, &dtype, &column)?);
                fields.push(Field::new(name, dtype, true));
                continue;
            }
            Some(dtype) => (column.iter().map(plain_value).collect(), dtype),
            None => (column.iter().map(json_text).collect(), DataType::Utf8),
        };
        let field = FieldSpec::new(name, dtype);
        arrays.push(array_of(&field, values.iter())?);
        fields.push(Field::new(field.name, field.dtype, true));
    }
    let schema = Arc::new(Schema::new(fields));
    if arrays.is_empty() {
        return Ok(LevelTable::new(schema, Vec::new()));
    }
    let batch = RecordBatch::try_new(schema.clone(), arrays);
    Ok(LevelTable::new(schema, vec![batch.map_err(|error| Error::internal("columns of one length did not fit").because(error))?]))
}

fn json_rows(content: &str) -> Result<Vec<Json>> {
    let wrong = |error: serde_json::Error| Error::format("the metadata table can't be read as JSON").because(error);
    let documents =
        serde_json::Deserializer::from_str(content).into_iter::<Json>().collect::<Result<Vec<_>, _>>().map_err(wrong)?;
    let by_path = |object: serde_json::Map<String, Json>| {
        let row = |(path, row): (String, Json)| {
            let mut all = serde_json::Map::from_iter([("path".to_owned(), Json::String(path))]);
            all.extend(row.as_object().cloned().unwrap_or_default());
            Json::Object(all)
        };
        object.into_iter().map(row).collect()
    };
    let mut documents = documents.into_iter();
    Ok(match (documents.next(), documents.len()) {
        (Some(Json::Array(rows)), 0) => rows,
        (Some(Json::Object(rows)), 0) if !rows.is_empty() && rows.values().all(Json::is_object) => by_path(rows),
        (first, _) => first.into_iter().chain(documents).collect(),
    })
}

fn plain_value(json: &Json) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(value), _) => Value::Int(value),
            (None, Some(value)) => Value::UInt(value),
            _ => Value::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(text) => Value::text(text),
        Json::Array(items) => Value::List(items.iter().map(plain_value).collect()),
        Json::Object(_) => Value::text(json.to_string()),
    }
}

/// The type of a value as the official writer infers it; `None` when it can only be stored as JSON text.
fn json_type(json: &Json) -> Option<DataType> {
    Some(match json {
        Json::Array(items) => {
            let item = items.iter().map(json_type).try_fold(DataType::Null, |so_far, next| number_type(&so_far, &next?))?;
            DataType::List(Arc::new(Field::new("item", item, true)))
        }
        Json::Object(members) if members.is_empty() => return None,
        Json::Object(members) => {
            let field = |(name, value): (&String, &Json)| json_type(value).map(|dtype| Field::new(name, dtype, true));
            DataType::Struct(members.iter().map(field).collect::<Option<Vec<_>>>()?.into())
        }
        plain => inferred(&plain_value(plain)),
    })
}

fn has_struct(dtype: &DataType) -> bool {
    match dtype {
        DataType::Struct(_) => true,
        DataType::List(item) => has_struct(item.data_type()),
        _ => false,
    }
}

/// A column of objects, or of lists of objects; missing keys are null.
fn structs(name: &str, dtype: &DataType, column: &[Json]) -> Result<ArrayRef> {
    let wrong = |error: arrow::error::ArrowError| Error::format(format!("the objects of {name} can't be read")).because(error);
    let schema = Arc::new(Schema::new(vec![Field::new(name, dtype.clone(), true)]));
    let mut decoder = arrow::json::ReaderBuilder::new(schema).with_batch_size(column.len()).build_decoder().map_err(wrong)?;
    let rows: Vec<Json> =
        column.iter().map(|value| Json::Object([(name.to_owned(), value.clone())].into_iter().collect())).collect();
    decoder.serialize(&rows).map_err(wrong)?;
    let batch = decoder.flush().map_err(wrong)?.filter(|batch| batch.num_rows() == column.len());
    let array = batch.and_then(|batch| batch.columns().first().cloned());
    array.ok_or_else(|| Error::internal(format!("the objects of {name} are not as many as their rows")))
}

fn json_text(json: &Json) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::String(text) => Value::text(text),
        other => Value::text(other.to_string()),
    }
}

/// Whether the value can be stored in this type without rounding: a double rounds integers above 2^53.
fn is_exact(json: &Json, dtype: &DataType) -> bool {
    match (json, dtype) {
        (Json::Number(number), DataType::Float64) => {
            number.is_f64() || number.as_i64().is_some_and(|value| value.unsigned_abs() <= EXACT_IN_DOUBLE)
        }
        (Json::Array(items), DataType::List(item)) => items.iter().all(|value| is_exact(value, item.data_type())),
        (Json::Object(members), DataType::Struct(fields)) => {
            fields.iter().all(|field| members.get(field.name()).is_none_or(|value| is_exact(value, field.data_type())))
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::dtype_name;

    #[test]
    fn integers_in_json_are_never_rounded() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("t.json");
        let read = |rows: &str| {
            std::fs::write(&path, rows).expect("writes");
            read_sidecar(&path, &JobContext::default()).expect("reads")
        };
        let table = read(r#"[{"a": 9007199254740993, "b": 1}, {"a": 0.5, "b": 2.5}, {"a": 18446744073709551615}]"#);
        assert_eq!(table.value(0, 0), Value::text("9007199254740993"));
        assert_eq!(table.value(2, 0), Value::text("18446744073709551615"));
        assert_eq!((table.value(0, 1), table.value(1, 1)), (Value::Float(1.0), Value::Float(2.5)));
        let table = read(r#"[{"a": -1}, {"a": 18446744073709551615}]"#);
        assert_eq!((table.value(0, 0), table.value(1, 0)), (Value::text("-1"), Value::text("18446744073709551615")));
    }

    #[test]
    fn csv_types_are_inferred_from_every_row() {
        let folder = tempfile::tempdir().expect("has a temporary folder");
        let path = folder.path().join("meta.csv");
        std::fs::write(&path, "path;clouds;split\na.tif;1;train\nb.tif;2.5;\n").expect("writes");
        let table = read_sidecar(&path, &JobContext::default()).expect("reads");
        let types: Vec<_> = table.fields().iter().map(|field| dtype_name(&field.dtype)).collect();
        assert_eq!(types, ["string", "double", "string"]);
        assert_eq!(table.rows(), 2);
        assert!(table.value(1, 2).is_null());
        let times = "path,day,time,exact,late\na,2021-05-01,2021-05-01T10:20:30,2021-05-01 10:20:30.123456,true\n";
        let folder = folder.path().join("times.csv");
        std::fs::write(&folder, times).expect("writes");
        let timed = read_sidecar(&folder, &JobContext::default()).expect("reads");
        let types: Vec<_> = timed.fields().iter().map(|field| dtype_name(&field.dtype)).collect();
        assert_eq!(types, ["string", "date32[day]", "timestamp[us]", "timestamp[us]", "bool"]);
        assert_eq!(timed.text(0, 3), "2021-05-01T10:20:30.123456");
        let table = read_sidecar_as(&path, &|name| name == "clouds", &JobContext::default()).expect("reads");
        assert_eq!(table.value(0, 1), Value::text("1"));
    }

    #[test]
    fn tables_that_fill_the_memory_are_refused() {
        let folder = tempfile::tempdir().expect("has a temporary folder");
        let path = folder.path().join("meta");
        let read = || read_sidecar(&path, &JobContext::default()).map(|_| ()).expect_err("is refused");
        let names: Vec<String> = (0..=COLUMNS_MAX).map(|n| format!("c{n}")).collect();
        std::fs::write(&path, format!("{}\n", names.join(","))).expect("writes");
        assert!(read().is_too_large());
        let object: Vec<String> = names.iter().map(|name| format!("\"{name}\": 1")).collect();
        std::fs::write(&path, format!("[{{{}}}]", object.join(","))).expect("writes");
        assert!(read().is_too_large());
        let rows: Vec<String> = (0..6000).map(|n| format!("{{\"c{n}\": 1}}")).collect();
        std::fs::write(&path, rows.join("\n")).expect("writes");
        assert!(read().is_too_large());
        std::fs::File::create(&path).and_then(|file| file.set_len(1 << 40)).expect("a sparse file");
        assert!(read().to_string().contains("zeros"));
    }

    #[test]
    fn json_comes_in_three_forms() {
        let folder = tempfile::tempdir().expect("has a temporary folder");
        let path = folder.path().join("meta.json");
        let list =
            r#"[{"path": "a", "n": 1, "l": [1, 2]}, {"path": "b", "n": 2.5, "l": [0.5, null], "late": true, "o": {"x": 1}}]"#;
        let lines = "{\"path\": \"a\", \"n\": 1, \"l\": [1, 2]}\n{\"path\": \"b\", \"n\": 2.5, \"l\": [0.5, null], \"late\": true, \"o\": {\"x\": 1}}\n";
        let keyed = r#"{"a": {"n": 1, "l": [1, 2]}, "b": {"n": 2.5, "l": [0.5, null], "late": true, "o": {"x": 1}}}"#;
        for content in [list, lines, keyed] {
            std::fs::write(&path, content).expect("writes");
            let table = read_sidecar(&path, &JobContext::default()).expect("reads");
            let fields: Vec<_> = table.fields().iter().map(|field| (field.name.clone(), dtype_name(&field.dtype))).collect();
            let wanted =
                [("path", "string"), ("n", "double"), ("l", "list<item: double>"), ("late", "bool"), ("o", "struct<x: int64>")];
            assert_eq!(fields, wanted.map(|(name, dtype)| (name.to_owned(), dtype.to_owned())), "{content}");
            assert_eq!((table.rows(), table.value(0, 3), table.value(0, 1)), (2, Value::Null, Value::Float(1.0)), "{content}");
        }
        let nested = r#"[{"o": {"x": 1, "y": [{"z": true}]}}, {"o": null}, {"o": {"w": "t", "x": 2.5}}, {}]"#;
        std::fs::write(&path, nested).expect("writes");
        let table = read_sidecar(&path, &JobContext::default()).expect("reads");
        let dtype = dtype_name(&table.fields()[0].dtype);
        assert_eq!(dtype, "struct<x: double, y: list<item: struct<z: bool>>, w: string>");
        let shown: Vec<String> = (0..table.rows()).map(|row| table.text(row, 0)).collect();
        assert!(shown[0].contains('1') && shown[2].contains("2.5") && table.value(1, 0).is_null() && table.value(3, 0).is_null());
        for odd in [r#"[{"o": {}}, {"o": {"x": 1}}]"#, r#"[{"o": {"x": 1}}, {"o": [1]}]"#] {
            std::fs::write(&path, odd).expect("writes");
            let table = read_sidecar(&path, &JobContext::default()).expect("reads");
            assert_eq!(dtype_name(&table.fields()[0].dtype), "string", "{odd}");
        }
        std::fs::write(&path, r#"[{"a": 1}, {"a": "x"}]"#).expect("writes");
        let table = read_sidecar(&path, &JobContext::default()).expect("reads");
        assert_eq!((table.value(0, 0), table.value(1, 0)), (Value::text("1"), Value::text("x")));
        for wrong in ["[1]", "{\"a\": ", "[{\"a\": 1}"] {
            std::fs::write(&path, wrong).expect("writes");
            assert!(read_sidecar(&path, &JobContext::default()).is_err(), "{wrong}");
        }
    }
}
