//! Tables about tables, in the form of DuckDB: the columns of a query (`DESCRIBE`,
//! `PRAGMA table_info`) and `information_schema`.

use polars::prelude::*;

use super::type_names::type_name;

/// The columns of a result: `DESCRIBE`. `written` are the types of columns for which the engine has
/// others, by the text of the query, `wide` those by its plan.
pub(super) fn describe_columns(
    schema: &Schema,
    written: &[Option<String>],
    wide: Vec<Option<String>>,
) -> PolarsResult<DataFrame> {
    let mut types = types(schema);
    for (name, wide) in types.iter_mut().zip(wide) {
        *name = wide.unwrap_or_else(|| name.clone());
    }
    if written.len() == types.len() {
        for (name, written) in types.iter_mut().zip(written) {
            *name = written.clone().unwrap_or_else(|| name.clone());
        }
    }
    let nothing = || Column::full_null(PlSmallStr::EMPTY, schema.len(), &DataType::String);
    df!("column_name" => names(schema), "column_type" => types,
        "null" => vec!["YES"; schema.len()])
    .and_then(|mut frame| {
        for name in ["key", "default", "extra"] {
            frame.with_column(nothing().with_name(name.into()))?;
        }
        Ok(frame)
    })
}

/// The columns of a table: `PRAGMA table_info('data')`.
pub(super) fn table_info(schema: &Schema) -> PolarsResult<DataFrame> {
    let count = schema.len();
    df!(
        "cid" => (0..count as i32).collect::<Vec<_>>(),
        "name" => names(schema),
        "type" => types(schema),
        "notnull" => vec![false; count],
        "dflt_value" => vec![None::<&str>; count],
        "pk" => vec![false; count],
    )
}

/// `information_schema.tables` or `information_schema.columns` of tables; `None` for another name.
pub(super) fn information_schema(
    name: &str,
    tables: &[(String, SchemaRef)],
) -> Option<PolarsResult<DataFrame>> {
    match name.to_lowercase().as_str() {
        "tables" => {
            let count = tables.len();
            let called: Vec<&str> = tables.iter().map(|(name, _)| name.as_str()).collect();
            Some(df!(
                "table_catalog" => vec!["memory"; count],
                "table_schema" => vec!["main"; count],
                "table_name" => called,
                "table_type" => vec!["VIEW"; count],
            ))
        }
        "columns" => {
            let all = || list_columns(tables);
            let count = all().count();
            Some(df!(
                "table_catalog" => vec!["memory"; count],
                "table_schema" => vec!["main"; count],
                "table_name" => all().map(|(table, _)| table).collect::<Vec<_>>(),
                "column_name" => all().map(|(_, (name, _))| name.as_str()).collect::<Vec<_>>(),
                "ordinal_position" => tables.iter().flat_map(|(_,
                    schema)| 1..=schema.len() as i32).collect::<Vec<_>>(),
                "column_default" => vec![None::<&str>; count],
                "is_nullable" => vec!["YES"; count],
                "data_type" => all().map(|(_, (_, dtype))| column_type(dtype)).collect::<Vec<_>>(),
            ))
        }
        _ => None,
    }
}

/// The columns of all tables: the name of the table, then the name and type of the column.
fn list_columns(
    tables: &[(String, SchemaRef)],
) -> impl Iterator<Item = (&str, (&PlSmallStr, &DataType))> {
    tables
        .iter()
        .flat_map(|(table, schema)| schema.iter().map(move |column| (table.as_str(), column)))
}

fn names(schema: &Schema) -> Vec<&str> {
    schema.iter_names().map(PlSmallStr::as_str).collect()
}

fn types(schema: &Schema) -> Vec<String> {
    schema.iter_values().map(column_type).collect()
}

/// Of a column without values, DuckDB says that it has integers.
pub(super) fn column_type(dtype: &DataType) -> String {
    if dtype.is_null() {
        "INTEGER".to_owned()
    } else {
        type_name(dtype)
    }
}
