//! Names of types in TACO 3.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, TimeUnit};

use super::dtype_name;

/// A type as `taco:metadata` of TACO 3 spells it, with `?` after the types of members that may be
/// null; `None` for a type that it does not have.
pub fn taco3_type(dtype: &DataType) -> Option<String> {
    Some(match dtype {
        DataType::Date32 => "date32".into(),
        DataType::Date64 => "date64".into(),
        DataType::Timestamp(of, Some(zone)) => {
            format!("timestamp[{}, {zone}]", spell_time_unit(of))
        }
        DataType::List(item) => format!("list<{}>", spell_nested_type(item)?),
        DataType::LargeList(item) => format!("large_list<{}>", spell_nested_type(item)?),
        DataType::FixedSizeList(item, size) => {
            format!("fixed_size_list<{}, {size}>", spell_nested_type(item)?)
        }
        DataType::Struct(fields) => {
            let member = |field: &Arc<Field>| {
                Some(format!("{}: {}", field.name(), spell_nested_type(field)?))
            };
            let members: Option<Vec<String>> = fields
                .iter()
                .map(|field| member(field).filter(|_| has_plain_name(field)))
                .collect();
            format!("struct<{}>", members?.join(", "))
        }
        DataType::Map(entries, _) => {
            let DataType::Struct(entry) = entries.data_type() else {
                return None;
            };
            let [key, value] = entry.iter().collect::<Vec<_>>()[..] else {
                return None;
            };
            format!(
                "map<{}, {}>",
                taco3_type(key.data_type())?,
                spell_nested_type(value)?
            )
        }
        DataType::Binary
        | DataType::LargeBinary
        | DataType::FixedSizeBinary(_)
        | DataType::Utf8
        | DataType::LargeUtf8 => dtype_name(dtype),
        DataType::Timestamp(_, None)
        | DataType::Time32(_)
        | DataType::Time64(_)
        | DataType::Duration(_) => dtype_name(dtype),
        dtype if dtype.is_numeric() || *dtype == DataType::Boolean => dtype_name(dtype),
        _ => return None,
    })
}

fn spell_time_unit(unit: &TimeUnit) -> &'static str {
    match unit {
        TimeUnit::Second => "s",
        TimeUnit::Millisecond => "ms",
        TimeUnit::Microsecond => "us",
        TimeUnit::Nanosecond => "ns",
    }
}

fn spell_nested_type(field: &Field) -> Option<String> {
    Some(format!(
        "{}{}",
        taco3_type(field.data_type())?,
        if field.is_nullable() { "?" } else { "" }
    ))
}

/// True for a name without the letters of a type: the library reads the names from its text.
fn has_plain_name(field: &Field) -> bool {
    !field.name().is_empty() && !field.name().contains([':', ',', '<', '>', '?', '(', '['])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_spelled_as_the_library_does() {
        let item = |dtype: DataType, nullable| Arc::new(Field::new("item", dtype, nullable));
        let spelled = |dtype: DataType| taco3_type(&dtype);
        assert_eq!(
            spelled(DataType::List(item(DataType::Float64, true))).as_deref(),
            Some("list<double?>")
        );
        assert_eq!(
            spelled(DataType::FixedSizeList(item(DataType::Float32, false), 4)).as_deref(),
            Some("fixed_size_list<float, 4>")
        );
        let zone = DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into()));
        assert_eq!(spelled(zone).as_deref(), Some("timestamp[ms, UTC]"));
        let members = vec![
            Field::new("a", DataType::Int8, false),
            Field::new("b", DataType::Utf8, true),
        ];
        assert_eq!(
            spelled(DataType::Struct(members.into())).as_deref(),
            Some("struct<a: int8, b: string?>")
        );
        let odd = vec![Field::new("a:b", DataType::Int8, false)];
        assert_eq!(spelled(DataType::Struct(odd.into())), None);
        assert_eq!(
            spelled(DataType::Decimal128(38, 9)).as_deref(),
            Some("decimal128(38, 9)")
        );
        assert_eq!(spelled(DataType::Null), None);
    }
}
