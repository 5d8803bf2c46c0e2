//! Maps in results: the engine has none and calculates with lists of pairs. Columns that are such a
//! list because a file has a map there become maps again, so that Parquet and JSON output have what
//! the file has.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, MapArray, RecordBatch, StructArray};
use arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema};

use super::arrow_convert;
use super::tables::Tables;
use super::type_names::MADE_FIELDS;
use crate::error::{Error, Result};
use crate::table::LevelTable;

/// A map column of a dataset, or the maps that a query makes.
#[derive(Clone)]
struct MapColumn {
    name: String,
    /// The type of the engine's result for it.
    pairs: DataType,
    entries: FieldRef,
    sorted: bool,
}

/// The result with maps where a column is the list of pairs of a map column of `tables`: one of
/// that name, or of any name when no other column has lists of such pairs.
///
/// # Errors
/// When a column does not fit the result.
pub(super) fn restore_maps(table: LevelTable, tables: &Tables) -> Result<LevelTable> {
    if !table
        .schema()
        .fields()
        .iter()
        .any(|field| is_pairs(field.data_type()))
    {
        return Ok(table);
    }
    let (mut maps, mut lists) = (Vec::new(), Vec::new());
    for field in (0..tables.levels.len()).flat_map(|level| tables.stored_columns(level)) {
        let Ok(pairs) = arrow_convert::result_type(&field.dtype) else {
            continue;
        };
        match field.dtype {
            DataType::Map(entries, sorted) => maps.push(MapColumn {
                name: field.name,
                pairs,
                entries,
                sorted,
            }),
            _ if is_pairs(&pairs) => lists.push(pairs),
            _ => {}
        }
    }
    let chosen: Vec<Option<MapColumn>> = table
        .schema()
        .fields()
        .iter()
        .map(|field| find_map_column(field, &maps, &lists))
        .collect();
    let mut columns: Vec<Vec<ArrayRef>> = table
        .batches()
        .iter()
        .map(|batch| batch.columns().to_vec())
        .collect();
    let mut fields: Vec<FieldRef> = table.schema().fields().to_vec();
    for (index, map) in chosen
        .iter()
        .enumerate()
        .filter_map(|(index, map)| Some((index, map.as_ref()?)))
    {
        // Null keys, which no map has, were made by the query.
        let Some(made) = table
            .batches()
            .iter()
            .map(|batch| as_map(batch.column(index), map))
            .collect::<Option<Vec<_>>>()
        else {
            continue;
        };
        let Some(dtype) = made.first().map(|array| array.data_type().clone()) else {
            continue;
        };
        fields[index] = Arc::new(Field::new(table.schema().field(index).name(), dtype, true));
        made.into_iter()
            .zip(&mut columns)
            .for_each(|(array, columns)| columns[index] = array);
    }
    let schema = Arc::new(Schema::new(fields));
    let batch = |columns| RecordBatch::try_new(schema.clone(), columns);
    let batches: std::result::Result<Vec<RecordBatch>, _> =
        columns.into_iter().map(batch).collect();
    let batches =
        batches.map_err(|error| Error::internal("a map does not fit the result").because(error))?;
    Ok(LevelTable::new(schema, batches))
}

/// The map of a column of a result: the one of `maps` with its pairs and name, or of any name when
/// no column of lists in `lists` has such pairs; else the map that the query makes.
fn find_map_column(field: &Field, maps: &[MapColumn], lists: &[DataType]) -> Option<MapColumn> {
    let alike = || maps.iter().filter(|map| map.pairs == *field.data_type());
    let named = alike()
        .find(|map| field.name() == &map.name || field.name().ends_with(&format!(":{}", map.name)));
    let is_list = lists.contains(field.data_type());
    named
        .or_else(|| alike().next().filter(|_| !is_list))
        .cloned()
        .or_else(|| made_by_query(field).filter(|_| !is_list))
}

/// The map that a query makes, as `histogram(x)` or `map(keys, values)`: a list of structs of the
/// fields [`MADE_FIELDS`].
fn made_by_query(field: &Field) -> Option<MapColumn> {
    let DataType::List(item) = field.data_type() else {
        return None;
    };
    let DataType::Struct(members) = item.data_type() else {
        return None;
    };
    let is_pair = members
        .iter()
        .map(|member| member.name().as_str())
        .eq(MADE_FIELDS);
    let members = members
        .iter()
        .zip(["key", "value"])
        .map(|(member, name)| member.as_ref().clone().with_name(name));
    let entries = Arc::new(Field::new(
        "entries",
        DataType::Struct(members.collect()),
        false,
    ));
    is_pair.then(|| MapColumn {
        name: field.name().clone(),
        pairs: field.data_type().clone(),
        entries,
        sorted: false,
    })
}

/// True for lists of structs of two members.
fn is_pairs(dtype: &DataType) -> bool {
    matches!(
        dtype,
        DataType::List(item)
            if matches!(item.data_type(), DataType::Struct(members) if members.len() == 2)
    )
}

/// A list of pairs as a map; `None` when a pair or key is null.
fn as_map(array: &ArrayRef, map: &MapColumn) -> Option<ArrayRef> {
    let lists = array.as_list_opt::<i32>()?;
    let pairs = lists.values().as_struct_opt()?;
    let [keys, values] = pairs.columns() else {
        return None;
    };
    if pairs.null_count() > 0 || keys.null_count() > 0 {
        return None;
    }
    let DataType::Struct(names) = map.entries.data_type() else {
        return None;
    };
    let [key, value] = names.as_ref() else {
        return None;
    };
    let members: Fields = vec![
        Field::new(key.name(), keys.data_type().clone(), false),
        Field::new(value.name(), values.data_type().clone(), true),
    ]
    .into();
    let entries =
        StructArray::try_new(members.clone(), vec![keys.clone(), values.clone()], None).ok()?;
    let field = Arc::new(Field::new(
        map.entries.name(),
        DataType::Struct(members),
        false,
    ));
    let made = MapArray::try_new(
        field,
        lists.offsets().clone(),
        entries,
        lists.nulls().cloned(),
        map.sorted,
    )
    .ok()?;
    Some(Arc::new(made))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jobs::JobContext;
    use crate::query::{Query, VsiBase, run};
    use crate::table::{ParquetOptions, ParquetSlice, TableHead, cell_json, write_parquet};
    use arrow::array::{
        Date64Array, DurationMicrosecondArray, DurationSecondArray, Int64Array, Int64Builder,
        MapBuilder, StringArray, StringBuilder, Time64MicrosecondArray, TimestampMicrosecondArray,
    };
    use serde_json::json;

    /// A level with a map, a date64, a time64 and two times with zones.
    fn tables() -> Tables {
        let mut maps = MapBuilder::new(None, StringBuilder::new(), Int64Builder::new());
        maps.keys().append_value("a");
        maps.values().append_value(1);
        maps.keys().append_value("b");
        maps.values().append_null();
        maps.append(true).expect("a map");
        maps.append(false).expect("a null");
        let day = 86_400_000;
        let columns: [(&str, ArrayRef); 9] = [
            (
                "s",
                Arc::new(DurationSecondArray::from(vec![Some(90), None])),
            ),
            (
                "u",
                Arc::new(DurationMicrosecondArray::from(vec![
                    Some(-1_500_000),
                    Some(0),
                ])),
            ),
            ("id", Arc::new(StringArray::from(vec!["x", "y"]))),
            ("m", Arc::new(maps.finish())),
            ("n", Arc::new(Int64Array::from(vec![1, 2]))),
            (
                "d",
                Arc::new(Date64Array::from(vec![Some(18_628 * day), None])),
            ),
            (
                "t",
                Arc::new(Time64MicrosecondArray::from(vec![
                    Some(45_296_000_001),
                    Some(0),
                ])),
            ),
            (
                "z",
                Arc::new(
                    TimestampMicrosecondArray::from(vec![Some(1_609_459_200_000_000), None])
                        .with_timezone("UTC"),
                ),
            ),
            (
                "o",
                Arc::new(
                    TimestampMicrosecondArray::from(vec![Some(1_609_459_200_000_000), None])
                        .with_timezone("Europe/Madrid"),
                ),
            ),
        ];
        let batch = RecordBatch::try_from_iter_with_nullable(
            columns.map(|(name, array)| (name, array, true)),
        )
        .expect("a batch");
        let bytes =
            write_parquet(&batch.schema(), &[batch], &ParquetOptions::default()).expect("writes");
        let mut tables = Tables::new(VsiBase::None);
        tables
            .push_parquet(TableHead::read(ParquetSlice::from_bytes(bytes.into())).expect("reads"));
        tables
    }

    fn rows(sql: &str) -> (LevelTable, Vec<serde_json::Value>) {
        let query = Query {
            sql: Some(sql.to_owned()),
            ..Query::default()
        };
        let result = run(&tables(), &query, &JobContext::default())
            .unwrap_or_else(|error| panic!("{}", error.report()));
        let rows = result.json_rows().map(serde_json::Value::Object).collect();
        ((*result.table).clone(), rows)
    }

    #[test]
    fn values_are_written_as_what_they_are() {
        let (_, found) = rows("SELECT m, d, t, z, o, s, u FROM data");
        let first = json!({
            "s": "PT1M30S", "u": "-PT1.5S",
            "m": {"a": 1, "b": null}, "d": "2021-01-01", "t": "12:34:56.000001",
            "z": "2021-01-01T00:00:00Z", "o": "2021-01-01T00:00:00Z"
        });
        assert_eq!(found[0], first);
        assert_eq!(
            found[1],
            json!({
                "m": null,
                "d": null,
                "t": "00:00:00",
                "z": null,
                "o": null,
                "s": null,
                "u": "PT0S",
            })
        );
    }

    #[test]
    fn maps_stay_maps_in_parquet_under_any_name() {
        for sql in [
            "SELECT * FROM data",
            "SELECT m AS renamed, n FROM data ORDER BY n DESC",
            "SELECT m FROM l0",
        ] {
            let (table, _) = rows(&sql.replace("m FROM l0", "\"l0:m\" FROM l0"));
            let bytes = write_parquet(table.schema(), table.batches(), &ParquetOptions::default())
                .expect("writes");
            let head = TableHead::read(ParquetSlice::from_bytes(bytes.into())).expect("reads");
            let map = head
                .schema()
                .fields()
                .iter()
                .find(|field| matches!(field.data_type(), DataType::Map(..)));
            let map = map.unwrap_or_else(|| panic!("{sql}: {:?}", head.schema()));
            let back = head.decode(&JobContext::default()).expect("decodes");
            let column = back
                .column(back.column_index(map.name()).expect("is there"))
                .expect("a column");
            let texts: Vec<_> = (0..2).map(|row| cell_json(&column, row)).collect();
            assert!(
                texts.contains(&json!({"a": 1, "b": null})) && texts.contains(&json!(null)),
                "{sql}: {texts:?}"
            );
        }
    }

    #[test]
    fn pairs_of_a_query_stay_lists() {
        let (table, _) = rows("SELECT n FROM data");
        assert_eq!(table.schema().fields().len(), 1);
    }
}
