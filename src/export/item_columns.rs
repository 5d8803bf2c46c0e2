//! The columns of level 0 as properties of STAC Items: names and types that STAC gives a meaning,
//! in the form that both JSON and Parquet hold. A column called as one of STAC's fields, but of
//! another type, gets the prefix `taco:`.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, FixedSizeListArray, Float64Builder, GenericListArray, Int64Builder,
    ListBuilder, OffsetSizeTrait, RecordBatch, StringArray, StructArray, TimestampMicrosecondArray,
    UInt32Array,
};
use arrow::compute::{cast, take};
use arrow::datatypes::{DataType, Field, FieldRef, Float32Type, Float64Type, TimeUnit};
use serde_json::Value as Json;

use crate::error::{Error, Result};
use crate::footprint::{TIME_COLUMNS, is_time_column, micros_of, states_point_or_shape};
use crate::jobs::JobContext;
use crate::table::cell_json;

/// Prefix of columns whose names mean something else to STAC.
const PREFIX: &str = "taco:";
/// Fields of an Item itself, which stac-geoparquet has as columns beside the properties.
const OF_ITEM: [&str; 11] = [
    "id",
    "type",
    "geometry",
    "bbox",
    "links",
    "assets",
    "collection",
    "stac_version",
    "stac_extensions",
    "properties",
    "path",
];
/// Time columns of the extensions, which become the times of the Item.
const TIMES: [&str; 6] = [
    "stac:time_start",
    "stac:time_end",
    "stac:time_middle",
    "istac:time_start",
    "istac:time_end",
    "istac:time_middle",
];
/// The kinds of values that STAC has (`data_type`).
const DATA_TYPES: [&str; 16] = [
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32",
    "float64", "cint16", "cint32", "cfloat32", "cfloat64", "other",
];

/// A column of properties: one value for each chosen row, null where the Item lacks the property.
pub struct ItemColumn {
    /// Name of the property.
    pub name: String,
    pub values: ArrayRef,
}

/// How the columns of level 0 become properties, which takes a look at all rows; the values are
/// then converted some rows at a time.
pub struct ItemColumns(Vec<PropertyConversion>);

/// A property: its name, the index of its column, and how values become those of the property.
struct PropertyConversion {
    name: String,
    column: usize,
    form: PropertyForm,
}

impl PropertyConversion {
    fn convert_rows(&self, batch: &RecordBatch, rows: &UInt32Array) -> Result<ItemColumn> {
        let column = rows_of_column(batch.column(self.column), rows)?;
        let schema = batch.schema();
        let values = self
            .form
            .convert_column(schema.field(self.column).name(), &column);
        let values = values.ok_or_else(|| Error::internal("a value changed while it was read"))?;
        Ok(ItemColumn {
            name: self.name.clone(),
            values,
        })
    }
}

/// The form of a property's values.
#[derive(Clone, Copy, Debug, PartialEq)]
enum PropertyForm {
    /// The types of catalogues: [`in_catalogue_types`].
    Catalogue,
    /// The type of one of STAC's fields: [`in_stac_type`].
    Stac,
    /// Texts `AUTHORITY:CODE`.
    Codes,
    /// Coordinate systems in other forms.
    OtherSystems,
    /// [`affine_transforms`].
    Transform,
    /// [`raster_shapes`].
    Shape,
}

impl PropertyForm {
    /// The values of a column called `name`; `None` when one is not of the type of STAC's field.
    fn convert_column(self, name: &str, column: &ArrayRef) -> Option<ArrayRef> {
        let texts = || cast(column, &DataType::Utf8).unwrap_or_else(|_| column.clone());
        Some(match self {
            PropertyForm::Catalogue => in_catalogue_types(column),
            PropertyForm::Stac => in_stac_type(name, &in_catalogue_types(column))?,
            PropertyForm::Codes => split_codes(&texts()).0,
            PropertyForm::OtherSystems => split_codes(&texts()).1,
            PropertyForm::Transform => affine_transforms(column),
            PropertyForm::Shape => raster_shapes(column),
        })
    }
}

/// A name under the prefix where it is one of an Item's own fields: readers refuse tables with two
/// columns of one name.
pub fn name_beside_fields(name: &str) -> String {
    if OF_ITEM.contains(&name) {
        format!("{PREFIX}{name}")
    } else {
        name.to_owned()
    }
}

impl ItemColumns {
    /// The properties of the samples of level 0, without location and times. Reads `batch_rows`
    /// rows at a time.
    ///
    /// # Errors
    /// When the job is cancelled.
    pub fn from_batch(batch: &RecordBatch, batch_rows: usize, ctx: &JobContext) -> Result<Self> {
        let schema = batch.schema();
        let mut conversions: Vec<PropertyConversion> = Vec::new();
        let mut taken: HashSet<String> = HashSet::new();
        // The first two columns are id and type.
        for (column, field) in schema.fields().iter().enumerate().skip(2) {
            let name = field.name().as_str();
            let parts = ColumnParts {
                column: batch.column(column),
                batch_rows,
                ctx,
            };
            for (name, form) in forms_of(batch, name, &parts)? {
                if parts.any(|values| {
                    form.convert_column(&name, values)
                        .is_some_and(|values| values.null_count() < values.len())
                })? {
                    conversions.push(PropertyConversion {
                        name: take_column_name(name, &mut taken),
                        column,
                        form,
                    });
                }
            }
        }
        Ok(Self(conversions))
    }

    /// The properties of some rows of the table that [`ItemColumns::from_batch`] looked at.
    ///
    /// # Errors
    /// When a row does not exist.
    pub fn values(&self, batch: &RecordBatch, rows: &[u32]) -> Result<Vec<ItemColumn>> {
        let rows = UInt32Array::from(rows.to_vec());
        let properties = self.0.iter();
        properties
            .map(|property| property.convert_rows(batch, &rows))
            .collect()
    }
}

/// The properties that a column becomes, by the names that they have where no other column took
/// them.
fn forms_of(
    batch: &RecordBatch,
    name: &str,
    parts: &ColumnParts<'_>,
) -> Result<Vec<(String, PropertyForm)>> {
    let is_typed_time = is_time_column(name, parts.column.data_type());
    Ok(match name {
        name if states_point_or_shape(name) => Vec::new(),
        name if TIMES.contains(&name) && is_typed_time => Vec::new(),
        name if TIME_COLUMNS.contains(&name) && becomes_time(batch, name, parts)? => Vec::new(),
        "datetime" | "start_datetime" | "end_datetime" => {
            vec![(format!("{PREFIX}{name}"), PropertyForm::Catalogue)]
        }
        "stac:crs" | "istac:crs" => {
            vec![
                ("proj:code".to_owned(), PropertyForm::Codes),
                (name.to_owned(), PropertyForm::OtherSystems),
            ]
        }
        "stac:geotransform" => vec![("proj:transform".to_owned(), PropertyForm::Transform)],
        "stac:tensor_shape" | "stac:raster_shape" => {
            vec![("proj:shape".to_owned(), PropertyForm::Shape)]
        }
        _ if !OF_ITEM.contains(&name)
            && (!is_known(name)
                || parts.all_parts_match(|values| {
                    PropertyForm::Stac.convert_column(name, values).is_some()
                })?) =>
        {
            vec![(name.to_owned(), PropertyForm::Stac)]
        }
        _ => vec![(format!("{PREFIX}{name}"), PropertyForm::Catalogue)],
    })
}

/// The name, or another one where a column before has it.
fn take_column_name(name: String, taken: &mut HashSet<String>) -> String {
    let mut free = name.clone();
    let mut number = 2;
    while !taken.insert(free.clone()) {
        free = match number {
            2 if !name.starts_with(PREFIX) => format!("{PREFIX}{name}"),
            _ => format!("{name}_{number}"),
        };
        number += 1;
    }
    free
}

/// A column in parts of some rows.
struct ColumnParts<'a> {
    column: &'a ArrayRef,
    batch_rows: usize,
    ctx: &'a JobContext,
}

impl ColumnParts<'_> {
    /// True when `test` holds for all parts.
    fn all_parts_match(&self, test: impl Fn(&ArrayRef) -> bool) -> Result<bool> {
        Ok(!self.any(|part| !test(part))?)
    }

    /// True when `test` holds for some part.
    fn any(&self, test: impl Fn(&ArrayRef) -> bool) -> Result<bool> {
        let rows = self.column.len();
        for first in (0..rows).step_by(self.batch_rows.max(1)) {
            self.ctx.check()?;
            let last = rows.min(first + self.batch_rows.max(1));
            let indices = UInt32Array::from_iter_values(first as u32..last as u32);
            if test(&rows_of_column(self.column, &indices)?) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Some rows as an array of their own: a slice of a nested array would bring along the items of all
/// rows.
fn rows_of_column(column: &ArrayRef, rows: &UInt32Array) -> Result<ArrayRef> {
    take(column, rows, None).map_err(|error| Error::internal("rows can't be chosen").because(error))
}

/// True when every value of a column called as a time of STAC is the time of its Item, so that
/// nothing of it is lost.
fn becomes_time(batch: &RecordBatch, name: &str, parts: &ColumnParts<'_>) -> Result<bool> {
    // The columns of the extensions come first.
    let hidden = match name {
        "start_datetime" => {
            has_any_value(batch, "stac:time_start") || has_any_value(batch, "istac:time_start")
        }
        "end_datetime" => {
            has_any_value(batch, "stac:time_end") || has_any_value(batch, "istac:time_end")
        }
        _ => false,
    };
    if hidden || !is_time_column(name, parts.column.data_type()) {
        return Ok(false);
    }
    parts.all_parts_match(|column| {
        micros_of(column).is_some_and(|times| {
            times
                .iter()
                .enumerate()
                .all(|(row, time)| time.is_some() || column.is_null(row))
        })
    })
}

/// True for a column that exists and has a value in some row.
fn has_any_value(batch: &RecordBatch, name: &str) -> bool {
    let column = batch.column_by_name(name);
    column.is_some_and(|column| column.null_count() < column.len())
}

/// Texts `AUTHORITY:CODE`, and all others.
fn split_codes(texts: &ArrayRef) -> (ArrayRef, ArrayRef) {
    let (codes, others): (Vec<Option<String>>, Vec<Option<String>>) = (0..texts.len())
        .map(|row| match read_row_text(texts, row) {
            Some(crs) if is_code(&crs) => (Some(crs), None),
            other => (None, other),
        })
        .unzip();
    (
        Arc::new(StringArray::from(codes)),
        Arc::new(StringArray::from(others)),
    )
}

fn read_row_text(texts: &ArrayRef, row: usize) -> Option<String> {
    (!texts.is_null(row))
        .then(|| cell_json(texts, row))
        .and_then(|json| json.as_str().map(str::to_owned))
}

/// True for `AUTHORITY:CODE`.
fn is_code(crs: &str) -> bool {
    crs.split_once(':')
        .is_some_and(|(authority, code)| is_code_part(authority) && is_code_part(code))
}

fn is_code_part(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    !text.is_empty() && text.chars().all(is_plain)
}

/// The finite numbers of a list; `None` for null and for other values.
fn numbers(column: &ArrayRef, row: usize) -> Option<Vec<f64>> {
    cell_json(column, row)
        .as_array()?
        .iter()
        .map(Json::as_f64)
        .collect()
}

/// GDAL's geotransforms in the order of the projection extension.
fn affine_transforms(column: &ArrayRef) -> ArrayRef {
    let mut builder = ListBuilder::new(Float64Builder::new());
    for row in 0..column.len() {
        match numbers(column, row).as_deref() {
            Some(&[x, dx, rx, y, ry, dy]) => {
                builder.values().append_slice(&[dx, rx, x, ry, dy, y]);
                builder.append(true);
            }
            _ => builder.append(false),
        }
    }
    Arc::new(builder.finish())
}

/// Rows and columns: the last two numbers of shapes.
fn raster_shapes(column: &ArrayRef) -> ArrayRef {
    let mut builder = ListBuilder::new(Int64Builder::new());
    for row in 0..column.len() {
        match numbers(column, row).as_deref() {
            Some([.., rows, columns]) => {
                builder
                    .values()
                    .append_slice(&[*rows as i64, *columns as i64]);
                builder.append(true);
            }
            _ => builder.append(false),
        }
    }
    Arc::new(builder.finish())
}

/// A column in the types of catalogues: timestamps in UTC, numbers without NaN and infinities,
/// which JSON lacks, bytes and durations as text, dictionaries and views as their values. Any other
/// type stays, also within lists and structs.
fn in_catalogue_types(array: &ArrayRef) -> ArrayRef {
    let as_type = |dtype: &DataType| cast(array, dtype).unwrap_or_else(|_| array.clone());
    match array.data_type() {
        // The number behind a timestamp counts in UTC, whatever its zone.
        DataType::Timestamp(TimeUnit::Second, _) => in_utc(array, TimeUnit::Millisecond),
        DataType::Timestamp(unit, _) => in_utc(array, *unit),
        DataType::Dictionary(_, values) => in_catalogue_types(&as_type(values)),
        DataType::Utf8View => as_type(&DataType::Utf8),
        DataType::Float16 => in_catalogue_types(&as_type(&DataType::Float32)),
        DataType::Float32 => {
            let numbers = array.as_primitive::<Float32Type>();
            Arc::new(
                numbers
                    .iter()
                    .map(|number| number.filter(|n| n.is_finite()))
                    .collect::<arrow::array::Float32Array>(),
            )
        }
        DataType::Float64 => {
            let numbers = array.as_primitive::<Float64Type>();
            Arc::new(
                numbers
                    .iter()
                    .map(|number| number.filter(|n| n.is_finite()))
                    .collect::<arrow::array::Float64Array>(),
            )
        }
        DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView
        | DataType::FixedSizeBinary(_)
        | DataType::Duration(_)
        | DataType::Interval(_) => {
            let text = |row: usize| cell_json(array, row).as_str().map(str::to_owned);
            Arc::new((0..array.len()).map(text).collect::<StringArray>())
        }
        DataType::List(item) => list_in_catalogue_types(item, array.as_list::<i32>()),
        DataType::LargeList(item) => list_in_catalogue_types(item, array.as_list::<i64>()),
        DataType::FixedSizeList(item, size) => {
            let list = array.as_fixed_size_list();
            let values = in_catalogue_types(list.values());
            match FixedSizeListArray::try_new(
                retype_field(item, &values),
                *size,
                values,
                list.nulls().cloned(),
            ) {
                Ok(list) => Arc::new(list),
                Err(_) => array.clone(),
            }
        }
        DataType::Struct(fields) => {
            let parts = array.as_struct();
            let columns: Vec<ArrayRef> = parts.columns().iter().map(in_catalogue_types).collect();
            let fields = fields
                .iter()
                .zip(&columns)
                .map(|(field, values)| retype_field(field, values))
                .collect();
            match StructArray::try_new(fields, columns, parts.nulls().cloned()) {
                Ok(parts) => Arc::new(parts),
                Err(_) => array.clone(),
            }
        }
        _ => array.clone(),
    }
}

/// Timestamps in UTC. Those without a zone are in UTC already; Arrow casts them to an offset only,
/// not to the name of a zone.
fn in_utc(times: &ArrayRef, unit: TimeUnit) -> ArrayRef {
    ["+00:00", "UTC"].iter().fold(times.clone(), |times, zone| {
        cast(&times, &DataType::Timestamp(unit, Some((*zone).into()))).unwrap_or(times)
    })
}

fn list_in_catalogue_types<O: OffsetSizeTrait>(
    item: &FieldRef,
    list: &GenericListArray<O>,
) -> ArrayRef {
    let values = in_catalogue_types(list.values());
    let field = retype_field(item, &values);
    match GenericListArray::<O>::try_new(
        field,
        list.offsets().clone(),
        values,
        list.nulls().cloned(),
    ) {
        Ok(made) => Arc::new(made),
        Err(_) => Arc::new(list.clone()),
    }
}

fn retype_field(field: &FieldRef, values: &ArrayRef) -> FieldRef {
    Arc::new(Field::new(field.name(), values.data_type().clone(), true))
}

/// The values of a column called as one of STAC's fields in the type of that field; `None` when a
/// value is no such value. Columns with other names stay as they are.
fn in_stac_type(name: &str, values: &ArrayRef) -> Option<ArrayRef> {
    if OF_ITEM.contains(&name) {
        return None;
    }
    let values = match name {
        "created" | "updated" | "published" | "unpublished" | "expires" => in_instants(values)?,
        _ => values.clone(),
    };
    let fits = |row: usize| values.is_null(row) || is_value_of(name, &cell_json(&values, row));
    (!is_known(name) || (0..values.len()).all(fits)).then_some(values)
}

/// Timestamps, dates and texts in ISO 8601 as instants; `None` when one is none.
fn in_instants(values: &ArrayRef) -> Option<ArrayRef> {
    match values.data_type() {
        DataType::Timestamp(..) => Some(values.clone()),
        DataType::Date32 | DataType::Date64 | DataType::Utf8 | DataType::LargeUtf8 => {
            let times = micros_of(values)?;
            let whole = times
                .iter()
                .enumerate()
                .all(|(row, time)| time.is_some() || values.is_null(row));
            whole.then(|| {
                Arc::new(TimestampMicrosecondArray::from(times).with_timezone("UTC")) as ArrayRef
            })
        }
        _ => None,
    }
}

/// True for the fields of STAC's common metadata (1.1) and of its extension for timestamps.
fn is_known(name: &str) -> bool {
    matches!(
        name,
        "title"
            | "description"
            | "keywords"
            | "roles"
            | "created"
            | "updated"
            | "published"
            | "unpublished"
            | "expires"
            | "license"
            | "providers"
            | "platform"
            | "instruments"
            | "constellation"
            | "mission"
            | "gsd"
            | "bands"
            | "data_type"
            | "nodata"
            | "statistics"
            | "unit"
    )
}

/// True for a value that the schema of STAC's common metadata (1.1) takes for this field.
fn is_value_of(name: &str, value: &Json) -> bool {
    let is_text = |value: &Json| value.as_str().is_some_and(|text| !text.is_empty());
    let each =
        |test: &dyn Fn(&Json) -> bool| value.as_array().is_some_and(|items| items.iter().all(test));
    match name {
        "title" | "platform" | "constellation" | "mission" | "unit" => value.is_string(),
        "description" => is_text(value),
        "license" => value.as_str().is_some_and(|text| {
            !text.is_empty()
                && text
                    .chars()
                    .all(|letter| letter.is_alphanumeric() || "_-.+".contains(letter))
        }),
        "keywords" | "instruments" | "roles" => each(&Json::is_string),
        // Four digits of the year: others are no date-time of RFC 3339.
        "created" | "updated" | "published" | "unpublished" | "expires" => value
            .as_str()
            .is_some_and(|text| text.as_bytes().get(4) == Some(&b'-') && text.ends_with('Z')),
        "gsd" => value.as_f64().is_some_and(|number| number > 0.0),
        "nodata" => value.is_number() || matches!(value.as_str(), Some("nan" | "inf" | "-inf")),
        "data_type" => value
            .as_str()
            .is_some_and(|text| DATA_TYPES.contains(&text)),
        "statistics" => value
            .as_object()
            .is_some_and(|parts| !parts.is_empty() && parts.values().all(Json::is_number)),
        "providers" => each(&|provider| {
            let optional = |key: &str| provider.get(key).is_none_or(Json::is_string);
            let known = ["producer", "licensor", "processor", "host"];
            let roles = provider.get("roles").is_none_or(|roles| {
                roles.as_array().is_some_and(|roles| {
                    roles
                        .iter()
                        .all(|role| role.as_str().is_some_and(|role| known.contains(&role)))
                })
            });
            provider.get("name").is_some_and(is_text)
                && optional("description")
                && optional("url")
                && roles
        }),
        "bands" => each(&|band| {
            let fields = |fields: &serde_json::Map<String, Json>| {
                fields.iter().all(|(name, value)| is_value_of(name, value))
            };
            band.as_object().is_some_and(fields) && band.get("name").is_none_or(Json::is_string)
        }),
        _ => true,
    }
}

/// A property as JSON, without null parts of structs, which the schemas do not take; null where the
/// Item lacks it.
pub fn property_json(column: &ItemColumn, row: usize) -> Json {
    without_nulls(cell_json(&column.values, row))
}

fn without_nulls(value: Json) -> Json {
    match value {
        Json::Object(parts) => {
            let parts = parts.into_iter().filter(|(_, value)| !value.is_null());
            Json::Object(
                parts
                    .map(|(name, value)| (name, without_nulls(value)))
                    .collect(),
            )
        }
        Json::Array(items) => Json::Array(items.into_iter().map(without_nulls).collect()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{
        BooleanBuilder, DurationSecondArray, FixedSizeBinaryArray, Float64Array, Int64Array,
        StringBuilder, TimestampNanosecondArray, UInt64Array,
    };
    use serde_json::json;

    use super::*;

    /// Properties of samples that have these columns.
    fn properties(columns: Vec<(&str, ArrayRef)>) -> Vec<ItemColumn> {
        let rows = columns[0].1.len();
        let text = || Arc::new(StringArray::from(vec!["x"; rows])) as ArrayRef;
        let all = [("id", text()), ("type", text())]
            .into_iter()
            .chain(columns);
        let batch = RecordBatch::try_from_iter_with_nullable(
            all.map(|(name, column)| (name, column, true)),
        )
        .expect("a batch");
        let rows: Vec<u32> = (0..rows as u32).collect();
        let in_parts = |batch_rows: usize| {
            let columns = ItemColumns::from_batch(&batch, batch_rows, &JobContext::default())
                .expect("converts");
            columns.values(&batch, &rows).expect("has these rows")
        };
        let (whole, one_by_one) = (in_parts(1000), in_parts(1));
        assert_eq!(whole.len(), one_by_one.len());
        for (a, b) in whole.iter().zip(&one_by_one) {
            assert_eq!(
                (&a.name, &a.values),
                (&b.name, &b.values),
                "the number of rows at a time makes no difference"
            );
        }
        whole
    }

    fn one(name: &str, values: ArrayRef) -> (String, ArrayRef) {
        let mut columns = properties(vec![(name, values)]);
        assert_eq!(columns.len(), 1, "{name}");
        let column = columns.remove(0);
        (column.name, column.values)
    }

    #[test]
    fn values_keep_their_types_and_large_integers_every_digit() {
        let (name, cells) = one(
            "s2cell",
            Arc::new(UInt64Array::from(vec![9_749_618_429_198_860_289, u64::MAX])),
        );
        assert_eq!(
            (name.as_str(), cells.data_type()),
            ("s2cell", &DataType::UInt64)
        );
        assert_eq!(cell_json(&cells, 0).to_string(), "9749618429198860289");
        let mut flags = ListBuilder::new(BooleanBuilder::new());
        flags.values().append_option(Some(true));
        flags.values().append_option(None);
        flags.append(true);
        flags.append(false);
        let (_, flags) = one("flags", Arc::new(flags.finish()));
        assert!(matches!(
            flags.data_type(),
            DataType::List(item) if *item.data_type() == DataType::Boolean
        ));
        assert_eq!(cell_json(&flags, 0), json!([true, null]));
    }

    #[test]
    fn timestamps_are_in_utc_also_within_lists_and_structs() {
        let time: ArrayRef =
            Arc::new(TimestampNanosecondArray::from(vec![Some(-1), None]).with_timezone("-03:30"));
        let (_, made) = one("acquired", time.clone());
        assert_eq!(
            *made.data_type(),
            DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into()))
        );
        assert_eq!(cell_json(&made, 0), "1969-12-31T23:59:59.999999999Z");
        let field = Arc::new(Field::new("at", time.data_type().clone(), true));
        let (_, made) = one("visit", Arc::new(StructArray::from(vec![(field, time)])));
        assert_eq!(
            cell_json(&made, 0),
            json!({ "at": "1969-12-31T23:59:59.999999999Z" })
        );
        let naive: ArrayRef =
            Arc::new(TimestampMicrosecondArray::from(vec![1_620_000_000_000_000]));
        let (name, made) = one("created", naive);
        assert_eq!(
            (name.as_str(), cell_json(&made, 0)),
            ("created", json!("2021-05-03T00:00:00Z"))
        );
    }

    #[test]
    fn names_of_stac_need_its_types() {
        let text = |text: &str| Arc::new(StringArray::from(vec![text])) as ArrayRef;
        let number = |number: f64| Arc::new(Float64Array::from(vec![number])) as ArrayRef;
        let list = |texts: &[&str]| {
            let mut list = ListBuilder::new(StringBuilder::new());
            list.append_value(texts.iter().map(|text| Some(*text)));
            Arc::new(list.finish()) as ArrayRef
        };
        for (name, values, stays) in [
            ("title", text("a"), true),
            ("title", number(1.0), false),
            ("description", text(""), false),
            ("gsd", number(10.0), true),
            ("gsd", number(0.0), false),
            ("gsd", text("10 m"), false),
            ("license", text("CC-BY-4.0"), true),
            ("license", text("all rights reserved"), false),
            ("instruments", list(&["msi"]), true),
            ("instruments", text("msi"), false),
            ("keywords", list(&[]), true),
            ("providers", text("ESA"), false),
            ("bands", Arc::new(Int64Array::from(vec![13])), false),
            ("created", text("2021-05-03"), true),
            ("created", text("last week"), false),
            ("updated", Arc::new(Int64Array::from(vec![1])), false),
            ("geometry", text("round"), false),
            ("bbox", number(1.0), false),
            ("collection", text("mine"), false),
            ("properties", text("many"), false),
            ("nodata", number(0.0), true),
            ("data_type", text("u16"), false),
            ("split", text("train"), true),
        ] {
            let expected = if stays {
                name.to_owned()
            } else {
                format!("taco:{name}")
            };
            assert_eq!(one(name, values.clone()).0, expected, "{values:?}");
        }
    }

    #[test]
    fn rows_far_down_a_column_decide_its_name_and_keep_their_values() {
        let number = |at: i64| if at == 70 { None } else { Some(at as f64) };
        let gsd: ArrayRef = Arc::new((0..100).map(number).collect::<Float64Array>());
        let late: ArrayRef = Arc::new(
            (0..100)
                .map(|at| (at == 99).then_some(at))
                .collect::<Int64Array>(),
        );
        let mut lists = ListBuilder::new(Float64Builder::new());
        for at in 0..100 {
            lists.append_value((0..at % 4).map(|item| Some(f64::from(item + at))));
        }
        let lists: ArrayRef = Arc::new(lists.finish());
        let text = || Arc::new(StringArray::from(vec!["x"; 100])) as ArrayRef;
        // gsd has a 0 in its first row, which STAC does not take.
        let columns = [
            ("id", text()),
            ("type", text()),
            ("gsd", gsd),
            ("late", late.clone()),
            ("lists", lists.clone()),
        ];
        let batch = RecordBatch::try_from_iter_with_nullable(
            columns.map(|(name, column)| (name, column, true)),
        )
        .expect("a batch");
        for batch_rows in [1, 7, 64, 1000] {
            let columns = ItemColumns::from_batch(&batch, batch_rows, &JobContext::default())
                .expect("converts");
            assert_eq!(
                columns
                    .0
                    .iter()
                    .map(|conversion| conversion.name.as_str())
                    .collect::<Vec<_>>(),
                ["taco:gsd", "late", "lists"],
                "{batch_rows}"
            );
            for rows in (0..100).collect::<Vec<u32>>().chunks(batch_rows) {
                let found = columns.values(&batch, rows).expect("has these rows");
                let (first, length) = (rows[0] as usize, rows.len());
                assert_eq!(&found[1].values, &late.slice(first, length));
                assert_eq!(
                    found[2].values.as_list::<i32>(),
                    lists.slice(first, length).as_list::<i32>()
                );
            }
        }
    }

    #[test]
    fn two_columns_never_get_one_name() {
        let number = || Arc::new(Int64Array::from(vec![1])) as ArrayRef;
        let columns = properties(vec![
            ("taco:title", number()),
            ("title", number()),
            ("taco:bbox", number()),
            ("bbox", number()),
        ]);
        let names: HashSet<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(names.len(), 4, "{names:?}");
        let text = |text: &str| Arc::new(StringArray::from(vec![text])) as ArrayRef;
        let columns = properties(vec![
            ("stac:crs", text("EPSG:4326")),
            ("istac:crs", text("EPSG:32618")),
        ]);
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(names, ["proj:code", "taco:proj:code"]);
    }

    #[test]
    fn what_json_lacks_is_null_or_text() {
        let (_, made) = one(
            "quality",
            Arc::new(Float64Array::from(vec![f64::NAN, 0.5, f64::INFINITY])),
        );
        assert_eq!(
            (made.null_count(), made.data_type()),
            (2, &DataType::Float64)
        );
        let (_, made) = one(
            "hash",
            Arc::new(FixedSizeBinaryArray::try_from_iter([[1u8, 255]].iter()).expect("bytes")),
        );
        assert_eq!(cell_json(&made, 0), "01ff");
        let (_, made) = one("exposure", Arc::new(DurationSecondArray::from(vec![90])));
        assert_eq!(cell_json(&made, 0), "PT1M30S");
        let nulls: ArrayRef = Arc::new(Int64Array::from(vec![None, None]));
        assert!(
            properties(vec![("empty", nulls)]).is_empty(),
            "a column without a value is no property"
        );
    }

    #[test]
    fn a_time_column_with_other_texts_stays_beside_the_time() {
        let texts: ArrayRef = Arc::new(StringArray::from(vec![
            Some("2021-05-01"),
            Some("in May"),
            None,
        ]));
        assert_eq!(one("datetime", texts).0, "taco:datetime");
        let times: ArrayRef = Arc::new(StringArray::from(vec![Some("2021-05-01"), None]));
        assert!(properties(vec![("datetime", times)]).is_empty());
        let number: ArrayRef = Arc::new(Int64Array::from(vec![20_200_101]));
        assert_eq!(one("datetime", number).0, "taco:datetime");
    }
}
