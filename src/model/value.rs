//! A metadata value, and the specification of a metadata field.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, Field, FieldRef, TimeUnit};

/// A metadata field: name, type and the description in `taco:field_schema`.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct FieldSpec {
    /// `namespace:name` or a plain name (TACO 2.0, section 5.5.1).
    pub name: String,
    /// Arrow type, as in the level tables.
    #[serde(with = "dtype_text")]
    pub dtype: DataType,
    /// Description; empty when there is none.
    #[serde(default)]
    pub description: String,
}

impl FieldSpec {
    /// A field without a description.
    pub fn new(name: impl Into<String>, dtype: DataType) -> Self {
        Self {
            name: name.into(),
            dtype,
            description: String::new(),
        }
    }
}

/// True when values of one type are values of the other: names and nullability of list items, which
/// Parquet files spell in several ways, may differ; names of struct fields may not.
pub fn same_values(a: &DataType, b: &DataType) -> bool {
    match (a, b) {
        (DataType::List(a), DataType::List(b))
        | (DataType::LargeList(a), DataType::LargeList(b)) => {
            same_values(a.data_type(), b.data_type())
        }
        (DataType::FixedSizeList(a, n), DataType::FixedSizeList(b, m)) => {
            n == m && same_values(a.data_type(), b.data_type())
        }
        (DataType::Struct(a), DataType::Struct(b)) => {
            a.len() == b.len()
                && a.iter()
                    .zip(b)
                    .all(|(a, b)| a.name() == b.name() && same_values(a.data_type(), b.data_type()))
        }
        _ => a == b,
    }
}

/// One metadata value. Small, as a draft may have a million samples.
#[derive(Clone, Debug, Default)]
pub enum Value {
    /// Null.
    #[default]
    Null,
    /// `bool`.
    Bool(bool),
    /// Any signed integer, date (days since 1970), time or timestamp (in the unit of the field's
    /// type).
    Int(i64),
    /// Any unsigned integer.
    UInt(u64),
    /// `float` and `double`.
    Float(f64),
    /// `string`.
    Text(Arc<str>),
    /// `binary`.
    Bytes(Arc<[u8]>),
    /// A list.
    List(Arc<[Value]>),
    /// Any other Arrow type (struct, decimal, dictionary, …), as an array of length 1, which
    /// preserves the type.
    Other(ArrayRef),
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Value::Null, Value::Null) => true,
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::Int(a), Value::Int(b)) => a == b,
            (Value::UInt(a), Value::UInt(b)) => a == b,
            // Bitwise, so that NaN equals itself: undo must restore the same value.
            (Value::Float(a), Value::Float(b)) => a.to_bits() == b.to_bits(),
            (Value::Text(a), Value::Text(b)) => a == b,
            (Value::Bytes(a), Value::Bytes(b)) => a == b,
            (Value::List(a), Value::List(b)) => a == b,
            (Value::Other(a), Value::Other(b)) => a.to_data() == b.to_data(),
            _ => false,
        }
    }
}

impl Value {
    /// A string value.
    pub fn text(text: impl AsRef<str>) -> Self {
        Value::Text(Arc::from(text.as_ref()))
    }

    /// True for [`Value::Null`].
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// The value of any numeric type as a float; `None` for other types.
    pub fn to_float(&self) -> Option<f64> {
        match self {
            Value::Int(value) => Some(*value as f64),
            Value::UInt(value) => Some(*value as f64),
            Value::Float(value) => Some(*value),
            _ => None,
        }
    }

    /// The number of the band with index `position`, in a column of numbers, which hold for all
    /// bands, or of lists of numbers; the first number of a list that has none for the band.
    pub fn number_of_band(&self, position: usize) -> Option<f64> {
        match self {
            Value::List(numbers) => numbers.get(position).or(numbers.first())?.to_float(),
            number => number.to_float(),
        }
    }
}

/// JSON form of values in scripts: plain JSON where it is unambiguous, else `{"float": 2}`,
/// `{"float": "NaN"}` or `{"bytes": […]}`.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(untagged)]
enum Plain {
    Null(()),
    Bool(bool),
    Int(i64),
    UInt(u64),
    Float(f64),
    Text(Arc<str>),
    List(Vec<Value>),
    Bytes { bytes: Arc<[u8]> },
    Whole { float: f64 },
    Beyond { float: Beyond },
}

/// Numbers that JSON cannot represent.
#[derive(Clone, Copy, serde::Serialize, serde::Deserialize)]
enum Beyond {
    NaN,
    #[serde(rename = "inf")]
    Above,
    #[serde(rename = "-inf")]
    Below,
}

impl serde::Serialize for Value {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let plain = match self {
            Value::Null => Plain::Null(()),
            Value::Bool(value) => Plain::Bool(*value),
            Value::Int(value) => Plain::Int(*value),
            Value::UInt(value) => Plain::UInt(*value),
            Value::Float(value) if value.is_nan() => Plain::Beyond { float: Beyond::NaN },
            Value::Float(f64::INFINITY) => Plain::Beyond {
                float: Beyond::Above,
            },
            Value::Float(f64::NEG_INFINITY) => Plain::Beyond {
                float: Beyond::Below,
            },
            // Untagged, 2.0 would be read back as the integer 2.
            Value::Float(value) if value.fract() == 0.0 => Plain::Whole { float: *value },
            Value::Float(value) => Plain::Float(*value),
            Value::Text(value) => Plain::Text(value.clone()),
            Value::Bytes(value) => Plain::Bytes {
                bytes: value.clone(),
            },
            Value::List(values) => Plain::List(values.to_vec()),
            Value::Other(array) => {
                let message = format!(
                    "a value of type {} can't be written as JSON",
                    dtype_name(array.data_type())
                );
                return Err(serde::ser::Error::custom(message));
            }
        };
        plain.serialize(serializer)
    }
}

impl<'de> serde::Deserialize<'de> for Value {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match Plain::deserialize(deserializer)? {
            Plain::Null(()) => Value::Null,
            Plain::Bool(value) => Value::Bool(value),
            Plain::Int(value) => Value::Int(value),
            Plain::UInt(value) => Value::UInt(value),
            Plain::Float(value) | Plain::Whole { float: value } => Value::Float(value),
            Plain::Beyond { float: Beyond::NaN } => Value::Float(f64::NAN),
            Plain::Beyond {
                float: Beyond::Above,
            } => Value::Float(f64::INFINITY),
            Plain::Beyond {
                float: Beyond::Below,
            } => Value::Float(f64::NEG_INFINITY),
            Plain::Text(value) => Value::Text(value),
            Plain::Bytes { bytes } => Value::Bytes(bytes),
            Plain::List(values) => Value::List(values.into()),
        })
    }
}

/// The type's name in Arrow's notation; `taco:field_schema` uses the same in lower case:
/// `list<item: double>`, `timestamp[us, tz=UTC]`. List elements have the field name in the type
/// (`item` in memory, `element` in Parquet).
pub fn dtype_name(dtype: &DataType) -> String {
    fn unit(unit: &TimeUnit) -> &'static str {
        match unit {
            TimeUnit::Second => "s",
            TimeUnit::Millisecond => "ms",
            TimeUnit::Microsecond => "us",
            TimeUnit::Nanosecond => "ns",
        }
    }
    match dtype {
        DataType::Null => "null".into(),
        DataType::Boolean => "bool".into(),
        DataType::Int8 => "int8".into(),
        DataType::Int16 => "int16".into(),
        DataType::Int32 => "int32".into(),
        DataType::Int64 => "int64".into(),
        DataType::UInt8 => "uint8".into(),
        DataType::UInt16 => "uint16".into(),
        DataType::UInt32 => "uint32".into(),
        DataType::UInt64 => "uint64".into(),
        DataType::Float16 => "halffloat".into(),
        DataType::Float32 => "float".into(),
        DataType::Float64 => "double".into(),
        DataType::Utf8 => "string".into(),
        DataType::LargeUtf8 => "large_string".into(),
        DataType::Utf8View => "string_view".into(),
        DataType::Binary => "binary".into(),
        DataType::LargeBinary => "large_binary".into(),
        DataType::BinaryView => "binary_view".into(),
        DataType::FixedSizeBinary(size) => format!("fixed_size_binary[{size}]"),
        DataType::Date32 => "date32[day]".into(),
        DataType::Date64 => "date64[ms]".into(),
        DataType::Time32(u) => format!("time32[{}]", unit(u)),
        DataType::Time64(u) => format!("time64[{}]", unit(u)),
        DataType::Duration(u) => format!("duration[{}]", unit(u)),
        DataType::Timestamp(u, None) => format!("timestamp[{}]", unit(u)),
        DataType::Timestamp(u, Some(zone)) => format!("timestamp[{}, tz={zone}]", unit(u)),
        DataType::List(item) => format!("list<{}: {}>", item.name(), dtype_name(item.data_type())),
        DataType::LargeList(item) => format!(
            "large_list<{}: {}>",
            item.name(),
            dtype_name(item.data_type())
        ),
        DataType::FixedSizeList(item, size) => {
            format!(
                "fixed_size_list<{}: {}>[{size}]",
                item.name(),
                dtype_name(item.data_type())
            )
        }
        DataType::Struct(fields) => {
            let fields: Vec<_> = fields
                .iter()
                .map(|f| format!("{}: {}", f.name(), dtype_name(f.data_type())))
                .collect();
            format!("struct<{}>", fields.join(", "))
        }
        DataType::Dictionary(index, values) => {
            format!(
                "dictionary<values={}, indices={}, ordered=0>",
                dtype_name(values),
                dtype_name(index)
            )
        }
        DataType::Decimal128(precision, scale) => format!("decimal128({precision}, {scale})"),
        DataType::Decimal256(precision, scale) => format!("decimal256({precision}, {scale})"),
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(pair) if pair.len() == 2 => {
                format!(
                    "map<{}, {}>",
                    dtype_name(pair[0].data_type()),
                    dtype_name(pair[1].data_type())
                )
            }
            other => format!("map<{}>", dtype_name(other)),
        },
        other => other.to_string().to_lowercase(),
    }
}

/// The type without metadata of nested fields (such as Parquet field ids): it does not affect
/// values, and Arrow cannot parse its own notation of it.
fn bare_type(dtype: &DataType) -> DataType {
    match dtype {
        DataType::List(item) => DataType::List(strip_field_metadata(item)),
        DataType::LargeList(item) => DataType::LargeList(strip_field_metadata(item)),
        DataType::ListView(item) => DataType::ListView(strip_field_metadata(item)),
        DataType::LargeListView(item) => DataType::LargeListView(strip_field_metadata(item)),
        DataType::FixedSizeList(item, size) => {
            DataType::FixedSizeList(strip_field_metadata(item), *size)
        }
        DataType::Struct(fields) => {
            DataType::Struct(fields.iter().map(strip_field_metadata).collect())
        }
        DataType::Map(entries, sorted) => DataType::Map(strip_field_metadata(entries), *sorted),
        DataType::Dictionary(index, values) => {
            DataType::Dictionary(index.clone(), bare_type(values).into())
        }
        other => other.clone(),
    }
}

fn strip_field_metadata(field: &FieldRef) -> FieldRef {
    Arc::new(Field::new(
        field.name(),
        bare_type(field.data_type()),
        field.is_nullable(),
    ))
}

/// Serde helper: a field's type in Arrow's notation, which can be parsed again.
mod dtype_text {
    use arrow::datatypes::DataType;
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(dtype: &DataType, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&super::bare_type(dtype))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<DataType, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_whose_items_have_other_names_have_the_same_values() {
        let list = |name: &str, dtype: DataType, null: bool| {
            DataType::List(Field::new(name, dtype, null).into())
        };
        assert!(same_values(
            &list("item", DataType::Int64, true),
            &list("element", DataType::Int64, false)
        ));
        assert!(!same_values(
            &list("item", DataType::Int64, true),
            &list("item", DataType::Int32, true)
        ));
        let pair = |a: &str, b: &str| {
            DataType::Struct(
                vec![
                    Field::new(a, DataType::Int64, true),
                    Field::new(b, DataType::Int64, true),
                ]
                .into(),
            )
        };
        let nested = |dtype: DataType| list("item", dtype, true);
        assert!(same_values(
            &nested(pair("x", "y")),
            &list("element", pair("x", "y"), false)
        ));
        assert!(!same_values(
            &nested(pair("x", "y")),
            &nested(pair("min", "max"))
        ));
    }

    #[test]
    fn a_number_and_a_list_of_one_hold_for_every_band() {
        let list =
            |numbers: &[f64]| Value::List(numbers.iter().copied().map(Value::Float).collect());
        assert_eq!(Value::Int(3).number_of_band(2), Some(3.0));
        assert_eq!(list(&[0.5]).number_of_band(2), Some(0.5));
        assert_eq!(list(&[0.5, 0.25]).number_of_band(1), Some(0.25));
        assert_eq!(list(&[]).number_of_band(0), None);
        assert_eq!(Value::Null.number_of_band(0), None);
        let null = Value::List([Value::Float(0.5), Value::Null].into());
        assert_eq!(null.number_of_band(1), None);
    }

    #[test]
    fn numbers_beyond_json_come_back() {
        for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 2.0, -0.0, 0.5] {
            let value = Value::List([Value::Float(number), Value::Null].into());
            let text = serde_json::to_string(&value).expect("writes");
            assert_eq!(
                serde_json::from_str::<Value>(&text).expect("reads"),
                value,
                "{text}"
            );
        }
    }

    #[test]
    fn a_type_with_notes_inside_comes_back_without_them() {
        let noted = |name: &str, dtype| {
            Field::new(name, dtype, true).with_metadata([("id".to_owned(), "7".to_owned())])
        };
        let pair =
            DataType::Struct(vec![noted("a", DataType::Int32), noted("b", DataType::Utf8)].into());
        let dtype = DataType::List(Arc::new(noted("element", pair)));
        let text = serde_json::to_string(&FieldSpec::new("x", dtype.clone())).expect("writes");
        let back: FieldSpec = serde_json::from_str(&text).expect("reads");
        assert_eq!(back.dtype, bare_type(&dtype));
        assert_eq!(
            dtype_name(&back.dtype),
            "list<element: struct<a: int32, b: string>>"
        );
    }

    #[test]
    fn type_names_are_those_of_field_schema() {
        let list = |inner| DataType::List(Arc::new(Field::new("item", inner, true)));
        for (dtype, name) in [
            (DataType::Float32, "float"),
            (
                DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
                "timestamp[us, tz=UTC]",
            ),
            (
                list(list(DataType::Float32)),
                "list<item: list<item: float>>",
            ),
            (DataType::Decimal128(20, 4), "decimal128(20, 4)"),
            (
                DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)),
                "dictionary<values=string, indices=int32, ordered=0>",
            ),
        ] {
            assert_eq!(dtype_name(&dtype), name);
        }
    }
}
