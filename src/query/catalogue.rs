//! Tables about tables, in the form of DuckDB: the columns of a query (`DESCRIBE`,
//! `PRAGMA table_info`) and `information_schema`.

use polars::prelude::*;

use super::type_names::type_name;

/// The columns of a result: `DESCRIBE`. The engine lacks some types of DuckDB, and holds their
/// columns in others. The names of such types come from the expressions of the statement
/// (`written_types`, empty or one for each column) and from its plan (`planned_types`); those of
/// the statement have precedence.
pub(super) fn describe_columns(
    schema: &Schema,
    written_types: &[Option<String>],
    planned_types: Vec<Option<String>>,
) -> PolarsResult<DataFrame> {
    let mut types = column_types(schema);
    for (name, planned) in types.iter_mut().zip(planned_types) {
        if let Some(planned) = planned {
            *name = planned;
        }
    }
    // Another number of types would name other columns.
    if written_types.len() == types.len() {
        for (name, written) in types.iter_mut().zip(written_types) {
            if let Some(written) = written {
                name.clone_from(written);
            }
        }
    }
    let mut frame = df!(
        "column_name" => column_names(schema),
        "column_type" => types,
        "null" => vec!["YES"; schema.len()],
    )?;
    for name in ["key", "default", "extra"] {
        let nulls = Column::full_null(name.into(), schema.len(), &DataType::String);
        frame.with_column(nulls)?;
    }
    Ok(frame)
}

/// The columns of a table: `PRAGMA table_info('data')`.
pub(super) fn table_info(schema: &Schema) -> PolarsResult<DataFrame> {
    let count = schema.len();
    df!(
        "cid" => (0..count as i32).collect::<Vec<_>>(),
        "name" => column_names(schema),
        "type" => column_types(schema),
        "notnull" => vec![false; count],
        "dflt_value" => vec![None::<&str>; count],
        "pk" => vec![false; count],
    )
}

/// The view `view_name` of `information_schema` for these tables: `tables` or `columns`; `None` for
/// other views.
pub(super) fn information_schema(
    view_name: &str,
    tables: &[(String, SchemaRef)],
) -> Option<PolarsResult<DataFrame>> {
    match view_name.to_lowercase().as_str() {
        "tables" => {
            let count = tables.len();
            let names: Vec<&str> = tables.iter().map(|(name, _)| name.as_str()).collect();
            Some(df!(
                "table_catalog" => vec!["memory"; count],
                "table_schema" => vec!["main"; count],
                "table_name" => names,
                "table_type" => vec!["VIEW"; count],
            ))
        }
        "columns" => {
            let columns: Vec<ListedColumn<'_>> = list_columns(tables).collect();
            Some(df!(
                "table_catalog" => vec!["memory"; columns.len()],
                "table_schema" => vec!["main"; columns.len()],
                "table_name" => columns.iter().map(|column| column.table).collect::<Vec<_>>(),
                "column_name" => columns.iter().map(|column| column.name).collect::<Vec<_>>(),
                "ordinal_position" =>
                    columns.iter().map(|column| column.number).collect::<Vec<_>>(),
                "column_default" => vec![None::<&str>; columns.len()],
                "is_nullable" => vec!["YES"; columns.len()],
                "data_type" =>
                    columns.iter().map(|column| column_type(column.dtype)).collect::<Vec<_>>(),
            ))
        }
        _ => None,
    }
}

struct ListedColumn<'a> {
    table: &'a str,
    name: &'a str,
    /// Its number in the table, from 1.
    number: i32,
    dtype: &'a DataType,
}

fn list_columns(tables: &[(String, SchemaRef)]) -> impl Iterator<Item = ListedColumn<'_>> {
    tables.iter().flat_map(|(table, schema)| {
        schema
            .iter()
            .zip(1..)
            .map(move |((name, dtype), number)| ListedColumn {
                table,
                name,
                number,
                dtype,
            })
    })
}

fn column_names(schema: &Schema) -> Vec<&str> {
    schema.iter_names().map(PlSmallStr::as_str).collect()
}

fn column_types(schema: &Schema) -> Vec<String> {
    schema.iter_values().map(column_type).collect()
}

/// DuckDB's name of the type of a column. DuckDB reports INTEGER for a column of untyped nulls.
pub(super) fn column_type(dtype: &DataType) -> String {
    if dtype.is_null() {
        "INTEGER".to_owned()
    } else {
        type_name(dtype)
    }
}
