//! Reads metadata tables of users: CSV (also in gzip), workbooks (.xlsx, .ods), JSON, GeoJSON or
//! Parquet, detected from the content. Every join of such a table reads it here.

use std::borrow::Cow;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryArray, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{DataType, Field, Schema};
use flate2::read::MultiGzDecoder;
use geo::Geometry;
use serde_json::Value as Json;

use super::budget::size_text;
use super::csv_table::read_csv;
use super::json_rows::{JsonRow, JsonRows, json_rows};
use super::metadata_columns::{
    CELLS_FREE, ColumnReading, MetadataTable, check_width, number_repeated_names,
};
use super::text_decoding::{decode_text, utf16_order};
use super::unfolded::unfolded_bytes;
use super::unread_table::unread_table_error;
use super::widening::{EXACT_IN_DOUBLE, number_type};
use super::workbook::{begins_as_workbook, check_size, read_workbook};
use super::{LevelTable, ParquetSlice, TableHead, array_of, infer_type, write_wkb};
use crate::error::{Error, IoContext, Result};
use crate::jobs::JobContext;
use crate::model::{FieldSpec, Value};
use crate::text::PrintableLine;

/// Bytes per read.
const PIECE: u64 = 8 << 20;
/// Maximum size in bytes of the values of a dictionary.
const DICTIONARY_MAX: u64 = 1 << 30;
/// Maximum size in bytes of a text table.
const TEXT_MAX: u64 = 4 << 30;
/// Maximum size in bytes of a text table in gzip when it is unpacked.
const UNPACKED_MAX: u64 = 1 << 30;
/// Begins each feature of a GeoJSON sequence (RFC 8142).
const RECORD_SEPARATOR: char = '\u{1e}';
/// Digits from which an integer may have more than 64 bits.
const LONG_INTEGER: usize = 19;
/// Maximum number of warnings about one table.
const WARNINGS_MAX: usize = 20;

/// Name of the column with the geometries of GeoJSON as WKB in longitude and latitude, as that of
/// the Items of a catalogue.
pub const FEATURE_GEOMETRY: &str = "stac:geometry";

/// Reads a table: CSV, also in gzip (types inferred from all rows, see [`ColumnReading`]), JSON (a
/// list of objects, one object per line, an object of objects by path, the other forms that pandas
/// writes, or GeoJSON, whose properties are the columns beside [`FEATURE_GEOMETRY`]), a workbook
/// (.xlsx, .ods) or Parquet.
///
/// # Errors
/// An IO error, [`crate::error::Kind::Format`] when the content is invalid, or
/// [`crate::error::Kind::TooLarge`] when it exceeds a limit.
pub fn read_metadata_table(
    path: &Path,
    reading: &dyn Fn(&str) -> ColumnReading,
    ctx: &JobContext,
) -> Result<MetadataTable> {
    let mut file = crate::files::open(path).io_at("open the metadata table", path)?;
    let mut magic = [0; 64];
    let read = file
        .read(&mut magic)
        .io_at("read the metadata table", path)?;
    file.seek(SeekFrom::Start(0))
        .io_at("read the metadata table", path)?;
    let start = magic.get(..read).unwrap_or_default();
    if let Some(error) = crate::files::unfetched_file_error(start) {
        return Err(error.at_path(path));
    }
    if let Some(error) = unread_table_error(start) {
        return Err(error.at_path(path));
    }
    let found = match start {
        [0x1F, 0x8B, ..] => {
            let mut unpacked = MultiGzDecoder::new(&mut file);
            read_text(&mut unpacked, UNPACKED_MAX, path, reading, ctx)
        }
        [b'P', b'A', b'R', b'1', ..] => read_parquet(path, ctx),
        [0xD0, 0xCF, 0x11, 0xE0, ..] => Err(Error::format(
            "the metadata table is a workbook of an old form (.xls)",
        )
        .hint("save it as .xlsx, or as CSV in UTF-8")),
        start if begins_as_workbook(start) => {
            check_size(
                file.metadata()
                    .io_at("read the metadata table", path)?
                    .len(),
                path,
            )?;
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)
                .io_at("read the metadata table", path)?;
            read_workbook(&bytes, reading, ctx)
        }
        _ => read_text(&mut file, TEXT_MAX, path, reading, ctx),
    };
    tracing::info!("reads the table {}", path.display());
    let mut found = found.map_err(|error| {
        if error.is_cancelled() || error.place().is_some() {
            error
        } else {
            error.at_path(path)
        }
    })?;
    let more = found.warnings.len().saturating_sub(WARNINGS_MAX);
    found.warnings.truncate(WARNINGS_MAX);
    if more > 0 {
        found.warnings.push(format!(
            "{more} more columns of the metadata table are text because of some of their values"
        ));
    }
    Ok(found)
}

fn read_parquet(path: &Path, ctx: &JobContext) -> Result<MetadataTable> {
    let table = ParquetSlice::of_file(path)
        .and_then(TableHead::read)
        .and_then(|head| head.decode(ctx))
        .map_err(|error| {
            if error.is_cancelled() {
                error
            } else {
                Error::format("the metadata table can't be read")
                    .because(error)
                    .at_path(path)
            }
        })?;
    let table = with_known_types(&without_dictionaries(&table)?)?;
    let mut names: Vec<String> = table.fields().into_iter().map(|field| field.name).collect();
    let warning = number_repeated_names(&mut names);
    let table = match &warning {
        Some(_) => table.with_names(&names)?,
        None => table,
    };
    Ok(MetadataTable {
        table,
        by_column: None,
        warnings: warning.into_iter().collect(),
    })
}

/// The table with the values of its dictionaries, which are categories of other programs, unless
/// they are too large to be repeated.
///
/// # Errors
/// [`crate::error::Kind::Format`] for keys without a value.
pub fn without_dictionaries(table: &LevelTable) -> Result<LevelTable> {
    cast_columns(table, &type_of_categories)
}

/// The type of the values of a dictionary that are not too large to be repeated.
fn type_of_categories(field: &Field, arrays: &[ArrayRef]) -> Option<DataType> {
    let DataType::Dictionary(_, values) = field.data_type() else {
        return None;
    };
    let bytes: u64 = arrays.iter().map(unfolded_bytes).sum();
    (bytes <= DICTIONARY_MAX).then(|| values.as_ref().clone())
}

/// The table with types that readers of datasets support, and the same values: half floats as
/// floats, views of lists as lists.
///
/// # Errors
/// [`crate::error::Kind::Format`] for lists that can't be read.
fn with_known_types(table: &LevelTable) -> Result<LevelTable> {
    cast_columns(table, &|field, _| {
        let known = known_type(field.data_type());
        (known != *field.data_type()).then_some(known)
    })
}

fn known_type(dtype: &DataType) -> DataType {
    match dtype {
        DataType::Float16 => DataType::Float32,
        DataType::List(item) | DataType::ListView(item) => DataType::List(known_field(item)),
        DataType::LargeList(item) | DataType::LargeListView(item) => {
            DataType::LargeList(known_field(item))
        }
        DataType::FixedSizeList(item, size) => DataType::FixedSizeList(known_field(item), *size),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(known_field).collect()),
        other => other.clone(),
    }
}

fn known_field(field: &Arc<Field>) -> Arc<Field> {
    let known = known_type(field.data_type());
    Arc::new(field.as_ref().clone().with_data_type(known))
}

/// The table with the columns for which `wanted` gives a type, in that type.
fn cast_columns(
    table: &LevelTable,
    wanted: &dyn Fn(&Field, &[ArrayRef]) -> Option<DataType>,
) -> Result<LevelTable> {
    let mut fields: Vec<Arc<Field>> = table.schema().fields().iter().cloned().collect();
    let mut batches: Vec<Vec<ArrayRef>> = table
        .batches()
        .iter()
        .map(|batch| batch.columns().to_vec())
        .collect();
    for (index, field) in fields.iter_mut().enumerate() {
        let arrays: Vec<ArrayRef> = batches.iter().map(|batch| batch[index].clone()).collect();
        let Some(dtype) = wanted(field, &arrays) else {
            continue;
        };
        drop(arrays);
        for batch in &mut batches {
            batch[index] = arrow::compute::cast(&batch[index], &dtype).map_err(|error| {
                Error::format(format!("the values of {} can't be read", field.name()))
                    .because(error)
            })?;
        }
        *field = Arc::new(field.as_ref().clone().with_data_type(dtype));
    }
    let metadata = table.schema().metadata().clone();
    let schema = Arc::new(Schema::new_with_metadata(fields, metadata));
    let rows = table.batches().iter().map(RecordBatch::num_rows);
    let batches = rows.zip(batches).map(|(rows, arrays)| {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(schema.clone(), arrays, &options)
    });
    let batches = batches.collect::<std::result::Result<_, _>>();
    let batches = batches
        .map_err(|error| Error::internal("columns of one length did not fit").because(error))?;
    Ok(LevelTable::new(schema, batches))
}

fn read_text(
    file: &mut dyn Read,
    limit: u64,
    path: &Path,
    reading: &dyn Fn(&str) -> ColumnReading,
    ctx: &JobContext,
) -> Result<MetadataTable> {
    let decoded = decode_text(bytes_of(file, limit, path, ctx)?)?;
    let text = decoded
        .text
        .trim_start_matches(|letter: char| letter.is_whitespace() || letter == RECORD_SEPARATOR);
    if let Some(error) = crate::files::page_error(text.as_bytes()) {
        return Err(error);
    }
    if begins_with_element(text) {
        return Err(
            Error::format("the metadata table is XML or HTML, which is not read")
                .hint("save it as CSV in UTF-8"),
        );
    }
    let mut found = if text.starts_with(['{', '[']) {
        read_json(&decoded.text, ctx)?
    } else {
        read_csv(&decoded.text, reading, ctx)?
    };
    found.warnings.extend(decoded.warning);
    Ok(found)
}

/// True for a text that begins with an element or a declaration of XML.
fn begins_with_element(text: &str) -> bool {
    let mut letters = text.chars();
    letters.next() == Some('<')
        && letters
            .next()
            .is_some_and(|letter| letter.is_ascii_alphabetic() || matches!(letter, '?' | '!'))
        && text.contains('>')
}

/// Reads the file in pieces; stops early at binary data or a hole of a sparse file.
fn bytes_of(file: &mut dyn Read, limit: u64, path: &Path, ctx: &JobContext) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    loop {
        ctx.check()?;
        let before = bytes.len();
        Read::take(&mut *file, PIECE)
            .read_to_end(&mut bytes)
            .io_at("read the metadata table", path)?;
        let Some(piece) = bytes.get(before..).filter(|piece| !piece.is_empty()) else {
            return Ok(bytes);
        };
        // Half of the bytes of UTF-16 are zeros.
        let is_binary = match utf16_order(&bytes) {
            Some(_) => piece.len() > 1 && piece.iter().all(|byte| *byte == 0),
            None => piece.contains(&0),
        };
        if is_binary {
            let error = Error::format("the metadata table can't be read as text")
                .because("there are zeros in it");
            return Err(error.at_path(path).hint("save it as CSV in UTF-8"));
        }
        if bytes.len() as u64 > limit {
            let summary = format!("the metadata table has more than {}", size_text(limit));
            return Err(Error::too_large(summary)
                .at_path(path)
                .hint("save it as Parquet"));
        }
    }
}

/// Columns in order of first appearance, as [`table_of_json`].
fn read_json(content: &str, ctx: &JobContext) -> Result<MetadataTable> {
    let mut names: Vec<String> = Vec::new();
    let mut places: std::collections::HashMap<String, usize> = std::collections::HashMap::new();
    let mut columns: Vec<Vec<Json>> = Vec::new();
    let (content, numbers) = with_json_numbers(content);
    let mut warnings = Vec::new();
    if numbers.infinite > 0 {
        warnings.push(format!(
            "{} infinite numbers of the metadata table are null: JSON has none",
            numbers.infinite
        ));
    }
    if numbers.too_large > 0 {
        warnings.push(format!(
            "{} integers of the metadata table are text: they have more than 64 bits",
            numbers.too_large
        ));
    }
    let JsonRows {
        rows,
        other_crs,
        by_column,
        warning,
    } = json_rows(&content)?;
    warnings.extend(warning);
    let by_column = by_column
        .map(|columns| table_of_json(columns, ctx))
        .transpose()?;
    let mut geometries = Vec::with_capacity(rows.len());
    for (
        row,
        JsonRow {
            values: object,
            geometry,
        },
    ) in rows.into_iter().enumerate()
    {
        geometries.push(geometry);
        if row % 4096 == 0 {
            ctx.check()?;
        }
        let Json::Object(object) = object else {
            return Err(Error::format(format!(
                "row {row} of the metadata table is no JSON object"
            )));
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
                    return Err(Error::too_large(format!(
                        "{} columns in {row} rows are nearly all empty",
                        names.len()
                    )));
                }
            }
            if let Some(column) = columns.get_mut(place) {
                column.resize(row, Json::Null);
                column.push(value);
            }
        }
    }
    let table = table_of_json(names.into_iter().zip(columns), ctx)?;
    let table = match other_crs {
        _ if geometries.iter().all(Option::is_none) => table,
        Some(crs) => {
            let crs = crs.printable_line();
            warnings.push(format!(
                "the geometries of the metadata table are left out: they are not \
                in degrees, but in {crs}"
            ));
            table
        }
        None if table.column_index(FEATURE_GEOMETRY).is_some() => {
            warnings.push(format!(
                "the geometries of the metadata table are left out: it has a \
                property {FEATURE_GEOMETRY}"
            ));
            table
        }
        None => with_geometries(&table, &geometries)?,
    };
    Ok(MetadataTable {
        table,
        by_column,
        warnings,
    })
}

fn with_geometries(table: &LevelTable, geometries: &[Option<Geometry>]) -> Result<LevelTable> {
    let mut fields: Vec<_> = table.schema().fields().iter().cloned().collect();
    fields.push(Arc::new(Field::new(
        FEATURE_GEOMETRY,
        DataType::Binary,
        true,
    )));
    let mut arrays = table
        .batches()
        .first()
        .map_or_else(Vec::new, |batch| batch.columns().to_vec());
    arrays.push(Arc::new(
        geometries
            .iter()
            .map(|geometry| geometry.as_ref().map(write_wkb))
            .collect::<BinaryArray>(),
    ));
    let schema = Arc::new(Schema::new(fields));
    let batch = RecordBatch::try_new(schema.clone(), arrays);
    let batch = batch
        .map_err(|error| Error::internal("columns of one length did not fit").because(error))?;
    Ok(LevelTable::new(schema, vec![batch]))
}

/// The table of named columns of JSON values; a column that is shorter than others ends in nulls.
/// Nested objects become structs with the union of their keys; columns of mixed types, and of
/// objects without keys, become JSON text.
///
/// # Errors
/// When values can't be read as the type that all of them have, or the job is cancelled.
pub fn table_of_json(
    columns: impl IntoIterator<Item = (String, Vec<Json>)>,
    ctx: &JobContext,
) -> Result<LevelTable> {
    let columns: Vec<(String, Vec<Json>)> = columns.into_iter().collect();
    let rows = columns
        .iter()
        .map(|(_, column)| column.len())
        .max()
        .unwrap_or(0);
    let mut fields = Vec::new();
    let mut arrays = Vec::new();
    for (name, mut column) in columns {
        ctx.check()?;
        column.resize(rows, Json::Null);
        let dtype = column
            .iter()
            .map(json_type)
            .try_fold(DataType::Null, |so_far, next| number_type(&so_far, &next?));
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
    let batch = batch
        .map_err(|error| Error::internal("columns of one length did not fit").because(error))?;
    Ok(LevelTable::new(schema, vec![batch]))
}

/// Numbers of a text of JSON that no value of JSON holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct OddNumbers {
    infinite: u64,
    /// Integers beyond 64 bits, which the decoder would round.
    too_large: u64,
}

/// The text with `null` for the numbers `NaN`, `Infinity` and `-Infinity`, which Python writes and
/// JSON lacks, with integers beyond 64 bits as texts, and without the record separators of GeoJSON
/// sequences (RFC 8142).
fn with_json_numbers(content: &str) -> (Cow<'_, str>, OddNumbers) {
    let is_digit = |byte: &u8| byte.is_ascii_digit();
    let has_long = content
        .as_bytes()
        .split(|byte| !is_digit(byte))
        .any(|digits| digits.len() >= LONG_INTEGER);
    if !has_long
        && !content.contains("NaN")
        && !content.contains("Infinity")
        && !content.contains(RECORD_SEPARATOR)
    {
        return (Cow::Borrowed(content), OddNumbers::default());
    }
    let (mut text, mut odd) = (String::with_capacity(content.len()), OddNumbers::default());
    let mut rest = content;
    let (mut in_string, mut escaped) = (false, false);
    while let Some(character) = rest.chars().next() {
        if !in_string {
            if let Some(word) = ["NaN", "Infinity", "-Infinity"]
                .into_iter()
                .find(|word| rest.starts_with(word))
            {
                text.push_str("null");
                odd.infinite += u64::from(word != "NaN");
                rest = &rest[word.len()..];
                continue;
            }
            let end = rest
                .find(|letter: char| !letter.is_ascii_alphanumeric() && !"+-.".contains(letter))
                .unwrap_or(rest.len());
            if end > 0 {
                let (word, after) = rest.split_at(end);
                let digits = word.strip_prefix('-').unwrap_or(word);
                let is_integer = digits.len() >= LONG_INTEGER
                    && digits.bytes().all(|byte| byte.is_ascii_digit());
                let is_too_large =
                    is_integer && word.parse::<i64>().is_err() && word.parse::<u64>().is_err();
                odd.too_large += u64::from(is_too_large);
                let quote = if is_too_large { "\"" } else { "" };
                text.extend([quote, word, quote]);
                rest = after;
                continue;
            }
        }
        match character {
            '"' if !escaped => in_string = !in_string,
            _ => {}
        }
        escaped = in_string && character == '\\' && !escaped;
        text.push(if character == RECORD_SEPARATOR && !in_string {
            ' '
        } else {
            character
        });
        rest = &rest[character.len_utf8()..];
    }
    (Cow::Owned(text), odd)
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

/// The type of a value as the official writer infers it; `None` when it can only be stored as JSON
/// text.
fn json_type(json: &Json) -> Option<DataType> {
    Some(match json {
        Json::Array(items) => {
            let item = items
                .iter()
                .map(json_type)
                .try_fold(DataType::Null, |so_far, next| number_type(&so_far, &next?))?;
            DataType::List(Arc::new(Field::new("item", item, true)))
        }
        Json::Object(members) if members.is_empty() => return None,
        Json::Object(members) => {
            let field = |(name, value): (&String, &Json)| {
                json_type(value).map(|dtype| Field::new(name, dtype, true))
            };
            DataType::Struct(
                members
                    .iter()
                    .map(field)
                    .collect::<Option<Vec<_>>>()?
                    .into(),
            )
        }
        plain => infer_type(&plain_value(plain)),
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
    let wrong = |error: arrow::error::ArrowError| {
        Error::format(format!("the objects of {name} can't be read")).because(error)
    };
    let schema = Arc::new(Schema::new(vec![Field::new(name, dtype.clone(), true)]));
    let mut decoder = arrow::json::ReaderBuilder::new(schema)
        .with_batch_size(column.len())
        .build_decoder()
        .map_err(wrong)?;
    let rows: Vec<Json> = column
        .iter()
        .map(|value| Json::Object([(name.to_owned(), value.clone())].into_iter().collect()))
        .collect();
    decoder.serialize(&rows).map_err(wrong)?;
    let batch = decoder
        .flush()
        .map_err(wrong)?
        .filter(|batch| batch.num_rows() == column.len());
    let array = batch.and_then(|batch| batch.columns().first().cloned());
    array.ok_or_else(|| {
        Error::internal(format!(
            "the objects of {name} are not as many as their rows"
        ))
    })
}

fn json_text(json: &Json) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::String(text) => Value::text(text),
        other => Value::text(other.to_string()),
    }
}

/// Whether the value can be stored in this type without rounding: a double rounds integers above
/// 2^53.
fn is_exact(json: &Json, dtype: &DataType) -> bool {
    match (json, dtype) {
        (Json::Number(number), DataType::Float64) => {
            number.is_f64()
                || number
                    .as_i64()
                    .is_some_and(|value| value.unsigned_abs() <= EXACT_IN_DOUBLE)
        }
        (Json::Array(items), DataType::List(item)) => {
            items.iter().all(|value| is_exact(value, item.data_type()))
        }
        (Json::Object(members), DataType::Struct(fields)) => fields.iter().all(|field| {
            members
                .get(field.name())
                .is_none_or(|value| is_exact(value, field.data_type()))
        }),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::dtype_name;
    use crate::table::COLUMNS_MAX;

    fn read_table(path: &Path, ctx: &JobContext) -> Result<LevelTable> {
        read_metadata_table(path, &|_| ColumnReading::Inferred, ctx).map(|found| found.table)
    }

    #[test]
    fn tables_in_gzip_are_read_and_other_forms_are_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("t.csv.gz");
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut packed, b"path,n\na,1\nb,2\n").expect("packs");
        let packed = packed.finish().expect("packs");
        std::fs::write(&path, &packed).expect("writes");
        let table = read_table(&path, &JobContext::default()).expect("reads");
        assert_eq!((table.rows(), table.text(1, 1)), (2, "2".to_owned()));
        let cut = packed.get(..packed.len() / 2).expect("a half");
        for (bytes, wanted) in [
            (cut, ""),
            (b"ARROW1\0\0\xff\xff\xff\xff", "Arrow"),
            (b"SQLite format 3\0\x10\0", "SQLite"),
            (b"<?xml version=\"1.0\"?><rows/>", "XML"),
            (b"<table><tr><td>path</td></tr></table>", "XML"),
        ] {
            std::fs::write(&path, bytes).expect("writes");
            let error = read_table(&path, &JobContext::default()).expect_err("is not read");
            assert!(error.report().contains(wanted), "{}", error.report());
        }
    }

    #[test]
    fn pages_in_an_unknown_codec_are_named() {
        let path = Path::new(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/fixtures/tables/brotli.parquet"
        ));
        let error = read_table(path, &JobContext::default()).expect_err("is not read");
        let said = error.report();
        assert!(said.contains("Brotli") && said.contains("zstd"), "{said}");
    }

    #[test]
    fn integers_in_json_are_never_rounded() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("t.json");
        let read = |rows: &str| {
            std::fs::write(&path, rows).expect("writes");
            read_table(&path, &JobContext::default()).expect("reads")
        };
        let table = read(
            r#"[{"a": 9007199254740993, "b": 1}, {"a": 0.5, "b": 2.5},
                {"a": 18446744073709551615}]"#,
        );
        assert_eq!(table.value(0, 0), Value::text("9007199254740993"));
        assert_eq!(table.value(2, 0), Value::text("18446744073709551615"));
        assert_eq!(
            (table.value(0, 1), table.value(1, 1)),
            (Value::Float(1.0), Value::Float(2.5))
        );
        let table = read(r#"[{"a": -1}, {"a": 18446744073709551615}]"#);
        assert_eq!(
            (table.value(0, 0), table.value(1, 0)),
            (Value::text("-1"), Value::text("18446744073709551615"))
        );
    }

    #[test]
    fn integers_beyond_64_bits_and_words_of_python_are_replaced_outside_of_texts() {
        let content = r#"[{"a": 123456789012345678901, "b": "123456789012345678901 NaN \" 1"},
            {"a": -9223372036854775809, "c": NaN},
            {"a": 18446744073709551615, "c": -Infinity, "d": 1.5e300}]"#;
        let (text, odd) = with_json_numbers(content);
        assert_eq!(
            odd,
            OddNumbers {
                infinite: 1,
                too_large: 2
            }
        );
        let rows: Json = serde_json::from_str(&text).expect("JSON");
        assert_eq!(
            (&rows[0]["a"], &rows[1]["a"]),
            (
                &Json::from("123456789012345678901"),
                &Json::from("-9223372036854775809")
            )
        );
        assert_eq!(
            (&rows[2]["a"], &rows[2]["d"]),
            (&Json::from(u64::MAX), &Json::from(1.5e300))
        );
        assert_eq!(rows[0]["b"], "123456789012345678901 NaN \" 1");
        assert!(rows[1]["c"].is_null() && rows[2]["c"].is_null());
        let plain = r#"[{"a": 1}]"#;
        assert!(matches!(with_json_numbers(plain), (Cow::Borrowed(_), _)));
    }

    #[test]
    fn features_keep_their_geometries() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("t.geojson");
        let read = |content: &str| {
            std::fs::write(&path, content).expect("writes");
            read_metadata_table(&path, &|_| ColumnReading::Inferred, &JobContext::default())
                .expect("reads")
        };
        let feature = |n: i64, geometry: &str| {
            format!(
                r#"{{"type": "Feature", "id": "s{n}", "properties": {{"n": {n}}},
                    "geometry": {geometry}}}"#
            )
        };
        let (point, none) = (
            feature(1, r#"{"type": "Point", "coordinates": [5, 50]}"#),
            feature(2, "null"),
        );
        let point_wkb = Value::Bytes(write_wkb(&Geometry::Point((5.0, 50.0).into())).into());
        let collection = |more: &str| {
            format!(r#"{{"type": "FeatureCollection", {more} "features": [{point}, {none}]}}"#)
        };
        for content in [
            collection(""),
            format!("{point}\n{none}\n"),
            format!("\u{1e}{point}\n\u{1e}{none}\n"),
            format!("[{point}, {none}]"),
        ] {
            let found = read(&content);
            let names: Vec<String> = found
                .table
                .fields()
                .into_iter()
                .map(|field| field.name)
                .collect();
            assert_eq!(
                (names.join(" "), found.warnings),
                ("n id stac:geometry".to_owned(), Vec::<String>::new()),
                "{content}"
            );
            assert_eq!(
                (found.table.value(0, 2), found.table.value(1, 2)),
                (point_wkb.clone(), Value::Null),
                "{content}"
            );
        }
        let utm =
            r#""crs": {"type": "name", "properties": {"name": "urn:ogc:def:crs:EPSG::32633"}},"#;
        let found = read(&collection(utm));
        assert!(
            found.warnings[0].contains("EPSG::32633")
                && found.table.column_index(FEATURE_GEOMETRY).is_none()
        );
        let found = read(&format!(
            r#"{{"type": "FeatureCollection", "features": [{none}]}}"#
        ));
        assert_eq!((found.table.fields().len(), found.warnings.len()), (2, 0));
    }

    #[test]
    fn types_that_readers_refuse_become_those_that_they_know() {
        let view = |dtype| DataType::ListView(Arc::new(Field::new("item", dtype, true)));
        let list = |dtype| DataType::List(Arc::new(Field::new("item", dtype, true)));
        let in_struct = |dtype| DataType::Struct(vec![Field::new("x", dtype, true)].into());
        for (from, to) in [
            (DataType::Float16, DataType::Float32),
            (view(DataType::Float16), list(DataType::Float32)),
            (
                in_struct(view(DataType::Int8)),
                in_struct(list(DataType::Int8)),
            ),
            (list(DataType::Utf8), list(DataType::Utf8)),
        ] {
            let schema = Arc::new(Schema::new(vec![Field::new("a", from.clone(), true)]));
            let array = arrow::array::new_null_array(&from, 2);
            let batch = RecordBatch::try_new(schema.clone(), vec![array]).expect("fits");
            let table = with_known_types(&LevelTable::new(schema, vec![batch])).expect("casts");
            assert_eq!(*table.schema().field(0).data_type(), to, "{from}");
            assert_eq!(table.rows(), 2);
        }
    }

    #[test]
    fn csv_types_are_inferred_from_every_row() {
        let folder = tempfile::tempdir().expect("has a temporary folder");
        let path = folder.path().join("meta.csv");
        std::fs::write(&path, "path;clouds;split\na.tif;1;train\nb.tif;2.5;\n").expect("writes");
        let table = read_table(&path, &JobContext::default()).expect("reads");
        let types: Vec<_> = table
            .fields()
            .iter()
            .map(|field| dtype_name(&field.dtype))
            .collect();
        assert_eq!(types, ["string", "double", "string"]);
        assert_eq!(table.rows(), 2);
        assert!(table.value(1, 2).is_null());
        let times = "path,day,time,exact,late\na,2021-05-01,2021-05-01T10:20:30,2021-05-01 \
            10:20:30.123456,true\n";
        let folder = folder.path().join("times.csv");
        std::fs::write(&folder, times).expect("writes");
        let timed = read_table(&folder, &JobContext::default()).expect("reads");
        let types: Vec<_> = timed
            .fields()
            .iter()
            .map(|field| dtype_name(&field.dtype))
            .collect();
        assert_eq!(
            types,
            [
                "string",
                "date32[day]",
                "timestamp[us]",
                "timestamp[us]",
                "bool"
            ]
        );
        assert_eq!(timed.text(0, 3), "2021-05-01T10:20:30.123456");
        let table = read_metadata_table(&path, &|_| ColumnReading::Text, &JobContext::default())
            .expect("reads")
            .table;
        assert_eq!(table.value(0, 1), Value::text("1"));
    }

    #[test]
    fn tables_that_fill_the_memory_are_refused() {
        let folder = tempfile::tempdir().expect("has a temporary folder");
        let path = folder.path().join("meta");
        let read = || {
            read_table(&path, &JobContext::default())
                .map(|_| ())
                .expect_err("is refused")
        };
        let names: Vec<String> = (0..=COLUMNS_MAX).map(|n| format!("c{n}")).collect();
        std::fs::write(&path, format!("{}\n", names.join(","))).expect("writes");
        assert!(read().is_too_large());
        let object: Vec<String> = names.iter().map(|name| format!("\"{name}\": 1")).collect();
        std::fs::write(&path, format!("[{{{}}}]", object.join(","))).expect("writes");
        assert!(read().is_too_large());
        let rows: Vec<String> = (0..6000).map(|n| format!("{{\"c{n}\": 1}}")).collect();
        std::fs::write(&path, rows.join("\n")).expect("writes");
        assert!(read().is_too_large());
        std::fs::File::create(&path)
            .and_then(|file| file.set_len(1 << 40))
            .expect("a sparse file");
        assert!(read().to_string().contains("zeros"));
    }

    #[test]
    fn json_comes_in_three_forms() {
        let folder = tempfile::tempdir().expect("has a temporary folder");
        let path = folder.path().join("meta.json");
        let list = r#"[{"path": "a", "n": 1, "l": [1, 2]}, {"path": "b", "n": 2.5, "l": [0.5,
            null], "late": true, "o": {"x": 1}}]"#;
        let lines = "{\"path\": \"a\", \"n\": 1, \"l\": [1, 2]}\n{\"path\": \"b\", \"n\": 2.5, \
            \"l\": [0.5, null], \"late\": true, \"o\": {\"x\": 1}}\n";
        let keyed = r#"{"a": {"n": 1, "l": [1, 2]}, "b": {"n": 2.5, "l": [0.5, null], "late": true,
            "o": {"x": 1}}}"#;
        for content in [list, lines, keyed] {
            std::fs::write(&path, content).expect("writes");
            let table = read_table(&path, &JobContext::default()).expect("reads");
            let fields: Vec<_> = table
                .fields()
                .iter()
                .map(|field| (field.name.clone(), dtype_name(&field.dtype)))
                .collect();
            let wanted = [
                ("path", "string"),
                ("n", "double"),
                ("l", "list<item: double>"),
                ("late", "bool"),
                ("o", "struct<x: int64>"),
            ];
            assert_eq!(
                fields,
                wanted.map(|(name, dtype)| (name.to_owned(), dtype.to_owned())),
                "{content}"
            );
            assert_eq!(
                (table.rows(), table.value(0, 3), table.value(0, 1)),
                (2, Value::Null, Value::Float(1.0)),
                "{content}"
            );
        }
        let nested = r#"[{"o": {"x": 1, "y": [{"z": true}]}}, {"o": null}, {"o": {"w": "t",
            "x": 2.5}}, {}]"#;
        std::fs::write(&path, nested).expect("writes");
        let table = read_table(&path, &JobContext::default()).expect("reads");
        let dtype = dtype_name(&table.fields()[0].dtype);
        assert_eq!(
            dtype,
            "struct<x: double, y: list<item: struct<z: bool>>, w: string>"
        );
        let shown: Vec<String> = (0..table.rows()).map(|row| table.text(row, 0)).collect();
        assert!(
            shown[0].contains('1')
                && shown[2].contains("2.5")
                && table.value(1, 0).is_null()
                && table.value(3, 0).is_null()
        );
        for odd in [
            r#"[{"o": {}}, {"o": {"x": 1}}]"#,
            r#"[{"o": {"x": 1}}, {"o": [1]}]"#,
        ] {
            std::fs::write(&path, odd).expect("writes");
            let table = read_table(&path, &JobContext::default()).expect("reads");
            assert_eq!(dtype_name(&table.fields()[0].dtype), "string", "{odd}");
        }
        std::fs::write(&path, r#"[{"a": 1}, {"a": "x"}]"#).expect("writes");
        let table = read_table(&path, &JobContext::default()).expect("reads");
        assert_eq!(
            (table.value(0, 0), table.value(1, 0)),
            (Value::text("1"), Value::text("x"))
        );
        for wrong in ["[1]", "{\"a\": ", "[{\"a\": 1}"] {
            std::fs::write(&path, wrong).expect("writes");
            assert!(
                read_table(&path, &JobContext::default()).is_err(),
                "{wrong}"
            );
        }
    }
}
