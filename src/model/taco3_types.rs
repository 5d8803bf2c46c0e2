//! Names of types in TACO 3.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, TimeUnit};

/// A type as `taco:metadata` of TACO 3 spells it, with `?` after the types of members that may be null; `None` for a type that it
/// does not have.
pub fn taco3_type(dtype: &DataType) -> Option<String> {
    let unit = |unit: &TimeUnit| match unit {
        TimeUnit::Second => "s",
        TimeUnit::Millisecond => "ms",
        TimeUnit::Microsecond => "us",
        TimeUnit::Nanosecond => "ns",
    };
    let nested =
        |field: &Arc<Field>| Some(format!("{}{}", taco3_type(field.data_type())?, if field.is_nullable() { "?" } else { "" }));
    Some(match dtype {
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
        DataType::Binary => "binary".into(),
        DataType::LargeBinary => "large_binary".into(),
        DataType::FixedSizeBinary(width) => format!("fixed_size_binary[{width}]"),
        DataType::Date32 => "date32".into(),
        DataType::Date64 => "date64".into(),
        DataType::Timestamp(of, None) => format!("timestamp[{}]", unit(of)),
        DataType::Timestamp(of, Some(zone)) => format!("timestamp[{}, {zone}]", unit(of)),
        DataType::Time32(of) => format!("time32[{}]", unit(of)),
        DataType::Time64(of) => format!("time64[{}]", unit(of)),
        DataType::Duration(of) => format!("duration[{}]", unit(of)),
        DataType::Decimal128(precision, scale) => format!("decimal128({precision}, {scale})"),
        DataType::Decimal256(precision, scale) => format!("decimal256({precision}, {scale})"),
        DataType::List(item) => format!("list<{}>", nested(item)?),
        DataType::LargeList(item) => format!("large_list<{}>", nested(item)?),
        DataType::FixedSizeList(item, size) => format!("fixed_size_list<{}, {size}>", nested(item)?),
        DataType::Struct(fields) => {
            // The library reads the names from this text.
            let is_plain =
                |field: &Arc<Field>| !field.name().is_empty() && !field.name().contains([':', ',', '<', '>', '?', '(', '[']);
            let member = |field: &Arc<Field>| Some(format!("{}: {}", field.name(), nested(field)?));
            let members: Option<Vec<String>> = fields.iter().map(|field| member(field).filter(|_| is_plain(field))).collect();
            format!("struct<{}>", members?.join(", "))
        }
        DataType::Map(entries, _) => {
            let DataType::Struct(entry) = entries.data_type() else { return None };
            let [key, value] = entry.iter().collect::<Vec<_>>()[..] else { return None };
            format!("map<{}, {}>", taco3_type(key.data_type())?, nested(value)?)
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_spelled_as_the_library_does() {
        let item = |dtype: DataType, nullable| Arc::new(Field::new("item", dtype, nullable));
        let spelled = |dtype: DataType| taco3_type(&dtype);
        assert_eq!(spelled(DataType::List(item(DataType::Float64, true))).as_deref(), Some("list<double?>"));
        assert_eq!(
            spelled(DataType::FixedSizeList(item(DataType::Float32, false), 4)).as_deref(),
            Some("fixed_size_list<float, 4>")
        );
        let zone = DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into()));
        assert_eq!(spelled(zone).as_deref(), Some("timestamp[ms, UTC]"));
        let members = vec![Field::new("a", DataType::Int8, false), Field::new("b", DataType::Utf8, true)];
        assert_eq!(spelled(DataType::Struct(members.into())).as_deref(), Some("struct<a: int8, b: string?>"));
        let odd = vec![Field::new("a:b", DataType::Int8, false)];
        assert_eq!(spelled(DataType::Struct(odd.into())), None);
        assert_eq!(spelled(DataType::Decimal128(38, 9)).as_deref(), Some("decimal128(38, 9)"));
        assert_eq!(spelled(DataType::Null), None);
    }
}
