//! Metadata tables that lie beside the data: CSV, JSON and Parquet, told by content.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::csv::ReaderBuilder;
use arrow::csv::reader::Format;
use arrow::datatypes::{DataType, Field, Schema};
use serde_json::Value as Json;

use super::{LevelTable, ParquetSlice, TableHead, array_of, inferred};
use crate::error::{Error, IoContext, Result};
use crate::jobs::JobContext;
use crate::model::{FieldSpec, Value};

/// Reads a whole table: CSV (comma, semicolon or tab; first line names the columns; types inferred from all rows), JSON (a list
/// of objects, one object a line, or an object of objects by path) or Parquet.
pub fn read_sidecar(path: &Path, ctx: &JobContext) -> Result<LevelTable> {
    read_sidecar_as(path, &|_| false, ctx)
}

/// As [`read_sidecar`]; the columns of a CSV that `text` names stay text whatever their rows look like.
pub fn read_sidecar_as(path: &Path, text: &dyn Fn(&str) -> bool, ctx: &JobContext) -> Result<LevelTable> {
    let mut file = File::open(path).io_at("open the metadata table", path)?;
    let mut magic = [0; 64];
    let read = file.read(&mut magic).io_at("read the metadata table", path)?;
    file.seek(SeekFrom::Start(0)).io_at("read the metadata table", path)?;
    let start = magic.get(..read).unwrap_or_default();
    if start.starts_with(b"PAR1") {
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).io_at("read the metadata table", path)?;
        return TableHead::read(ParquetSlice::from_bytes(bytes.into()))?.decode(ctx);
    }
    let mut content = String::new();
    file.read_to_string(&mut content).io_at("read the metadata table as UTF-8", path)?;
    let content = content.strip_prefix('\u{feff}').unwrap_or(&content);
    match content.trim_start().starts_with(['{', '[']) {
        true => read_json(content, ctx).map_err(|error| if error.is_cancelled() { error } else { error.at_path(path) }),
        false => read_csv(content, text, path, ctx),
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
    let format = Format::default().with_header(true).with_delimiter(delimiter as u8);
    let (schema, _) = format.infer_schema(content.as_bytes(), None).map_err(wrong)?;
    let plain = |field: &Arc<Field>| match text(field.name()) {
        true => Arc::new(Field::new(field.name(), DataType::Utf8, true)),
        false => field.clone(),
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

/// Columns in the order in which they first appear. Objects within become their JSON text, and so do columns of mixed types.
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
        let mut values: Vec<Value> = column.iter().map(plain_value).collect();
        let dtype = values.iter().map(inferred).try_fold(DataType::Null, |so_far, next| common(&so_far, &next));
        let dtype = dtype.unwrap_or_else(|| {
            values = column.iter().map(json_text).collect();
            DataType::Utf8
        });
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

fn json_text(json: &Json) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::String(text) => Value::text(text),
        other => Value::text(other.to_string()),
    }
}

/// The type that holds both; `None` when only text does.
fn common(a: &DataType, b: &DataType) -> Option<DataType> {
    let whole = |dtype: &DataType| matches!(dtype, DataType::Int64 | DataType::UInt64);
    let number = |dtype: &DataType| whole(dtype) || dtype == &DataType::Float64;
    match (a, b) {
        (a, b) if a == b => Some(a.clone()),
        (DataType::Null, other) | (other, DataType::Null) => Some(other.clone()),
        (DataType::List(a), DataType::List(b)) => {
            let item = common(a.data_type(), b.data_type())?;
            Some(DataType::List(Arc::new(Field::new("item", item, true))))
        }
        // Numbers above 2^63 beside negative ones: only a double has room for both.
        (a, b) if number(a) && number(b) => Some(DataType::Float64),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::dtype_name;

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
        let table = read_sidecar_as(&path, &|name| name == "clouds", &JobContext::default()).expect("reads");
        assert_eq!(table.value(0, 1), Value::text("1"));
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
            let wanted = [("path", "string"), ("n", "double"), ("l", "list<item: double>"), ("late", "bool"), ("o", "string")];
            assert_eq!(fields, wanted.map(|(name, dtype)| (name.to_owned(), dtype.to_owned())), "{content}");
            assert_eq!((table.rows(), table.value(0, 3), table.value(0, 1)), (2, Value::Null, Value::Float(1.0)), "{content}");
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
