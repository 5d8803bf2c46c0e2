//! DuckDB's names of the engine's types.

use std::borrow::Cow;

use polars::prelude::{DataType, UnknownKind};

/// Words that DuckDB 1.4 quotes as names.
const KEYWORDS: &str = include_str!("duckdb_keywords.txt");

/// Names of the fields of maps that a query makes, by which its results are maps and not lists.
pub(super) const MADE_FIELDS: [&str; 2] = ["__map_key", "__map_value"];

/// What the names of the fields of `row(…)` begin with, before their number: these fields have no
/// names, but the engine takes no empty ones.
const UNNAMED_FIELD: &str = "__row_field_";

/// The name in the engine of a field of `row(…)` with a number from 1.
pub(super) fn unnamed_field(number: usize) -> String {
    format!("{UNNAMED_FIELD}{number}")
}

/// The number of a field of `row(…)`; `None` for fields with names.
pub(super) fn number_of_unnamed_field(name: &str) -> Option<usize> {
    name.strip_prefix(UNNAMED_FIELD)?.parse().ok()
}

/// The name of a field in a result, where each has one.
pub(super) fn name_in_result(name: &str) -> Cow<'_, str> {
    match number_of_unnamed_field(name) {
        Some(number) => Cow::Owned(format!("v{number}")),
        None => Cow::Borrowed(name),
    }
}

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
        DataType::Decimal(width, scale) => return format!("DECIMAL({width},{scale})"),
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
                .map(|field| {
                    let dtype = type_name(field.dtype());
                    match number_of_unnamed_field(field.name()) {
                        Some(_) => dtype,
                        None => format!("{} {dtype}", quote_name(field.name())),
                    }
                })
                .collect();
            return format!("STRUCT({})", fields.join(", "));
        }
        DataType::Null => "\"NULL\"",
        _ => "another type",
    };
    name.to_owned()
}

/// A name as it is written in a type: in quotation marks if it has other characters than letters of
/// ASCII, digits and `_`, and if it is a keyword.
fn quote_name(name: &str) -> Cow<'_, str> {
    let is_plain = name
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && !name
            .bytes()
            .next()
            .is_none_or(|first| first.is_ascii_digit());
    let is_keyword = |word: &str| word.eq_ignore_ascii_case(name);
    if is_plain && !KEYWORDS.split_ascii_whitespace().any(is_keyword) {
        Cow::Borrowed(name)
    } else {
        Cow::Owned(format!("\"{}\"", name.replace('"', "\"\"")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_as_in_duckdb() {
        for (name, quoted) in [
            ("river", "river"),
            ("Abc_1", "Abc_1"),
            ("date", "date"),
            ("type", "\"type\""),
            ("stac:crs", "\"stac:crs\""),
            ("1a", "\"1a\""),
            ("a\"b", "\"a\"\"b\""),
            ("é", "\"é\""),
        ] {
            assert_eq!(quote_name(name), quoted);
        }
    }
}
