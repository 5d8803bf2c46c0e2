//! DuckDB's names of the engine's types.

use polars::prelude::{DataType, UnknownKind};

/// Names of the fields of maps that a query makes, by which its results are maps and not lists.
pub(super) const MADE_FIELDS: [&str; 2] = ["__map_key", "__map_value"];

/// Types of keys and values of a map that a query makes, given the type of its entries.
pub(super) fn map_types(entry: &DataType) -> Option<[&DataType; 2]> {
    match entry {
        DataType::Struct(fields)
            if fields
                .iter()
                .map(|field| field.name().as_str())
                .eq(MADE_FIELDS) =>
        {
            Some([fields[0].dtype(), fields[1].dtype()])
        }
        _ => None,
    }
}

/// DuckDB's name of a type.
pub(super) fn type_name(dtype: &DataType) -> String {
    let name = match dtype {
        DataType::Boolean => "BOOLEAN",
        DataType::Int8 => "TINYINT",
        DataType::Int16 => "SMALLINT",
        DataType::Int32 | DataType::Unknown(UnknownKind::Int(_)) => "INTEGER",
        DataType::Int64 => "BIGINT",
        DataType::UInt8 => "UTINYINT",
        DataType::UInt16 => "USMALLINT",
        DataType::UInt32 => "UINTEGER",
        DataType::UInt64 => "UBIGINT",
        DataType::Float32 => "FLOAT",
        DataType::Float64 | DataType::Unknown(UnknownKind::Float) => "DOUBLE",
        DataType::Decimal(..) => "DECIMAL",
        DataType::String
        | DataType::Categorical(..)
        | DataType::Enum(..)
        | DataType::Unknown(UnknownKind::Str) => "VARCHAR",
        DataType::Binary => "BLOB",
        DataType::Date => "DATE",
        DataType::Datetime(_, Some(_)) => "TIMESTAMP WITH TIME ZONE",
        DataType::Datetime(..) => "TIMESTAMP",
        DataType::Duration(_) => "INTERVAL",
        DataType::Time => "TIME",
        DataType::List(inner) if let Some([key, value]) = map_types(inner) => {
            return format!("MAP({}, {})", type_name(key), type_name(value));
        }
        DataType::List(inner) => return format!("{}[]", type_name(inner)),
        DataType::Struct(fields) => {
            let fields: Vec<String> = fields
                .iter()
                .map(|field| format!("{} {}", field.name(), type_name(field.dtype())))
                .collect();
            return format!("STRUCT({})", fields.join(", "));
        }
        DataType::Null => "NULL",
        _ => "another type",
    };
    name.to_owned()
}
