//! The level tables of a dataset that is not written yet, for queries and maps.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, StringArray};
use arrow::datatypes::{Field, Schema};

use super::LevelSet;
use super::synthetic_levels::{MadeLevel, level_tables, with_gdal_paths};
use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::model::{
    Dataset, FieldSpec, Payload, Sample, Skeleton, Tortilla, UnitedFields, Value,
    list_tortillas_below,
};
use crate::table::array_of;

/// The level tables of a draft, with the columns of every tortilla of a level. The draft need not
/// be valid: a value that does not fit the type of its column is null, and a column with two types
/// has that of its first tortilla.
///
/// # Errors
/// Cancellation, and [`Kind::Internal`](crate::error::Kind::Internal) for columns that do not fit
/// together.
pub fn draft_levels(dataset: &Dataset, ctx: &JobContext) -> Result<LevelSet> {
    ctx.stage(tr!("Making the tables of the draft"), None);
    let tree = Skeleton::from_dataset(dataset);
    let mut tortillas: Vec<&Tortilla> = vec![&dataset.root];
    let (mut levels, mut paths) = (Vec::new(), Vec::new());
    for level in &tree.levels {
        ctx.check()?;
        let samples: Vec<&Sample> = tortillas
            .iter()
            .flat_map(|tortilla| &tortilla.samples)
            .collect();
        paths.push(
            samples
                .iter()
                .map(|sample| gdal_path(sample))
                .collect::<StringArray>(),
        );
        levels.push(MadeLevel {
            own: make_united_columns(&tortillas, samples.len(), ctx)?,
            ids: samples.iter().map(|sample| sample.id.to_string()).collect(),
            folder: level.folder.clone(),
            parents: level.parents.clone(),
            ranges: None,
            sources: None,
            paths: None,
        });
        tortillas = list_tortillas_below(&tortillas);
    }
    let tables = level_tables(levels)?;
    let with_paths = tables
        .iter()
        .zip(paths)
        .map(|(table, paths)| with_gdal_paths(table, paths));
    Ok(LevelSet::of_tables(with_paths.collect::<Result<_>>()?))
}

/// The path under which GDAL opens the data of a FILE.
fn gdal_path(sample: &Sample) -> Option<String> {
    match &sample.payload {
        Payload::Asset { path, .. } => Some(path.to_vsi()),
        Payload::Bytes(_) | Payload::Folder(_) => None,
    }
}

/// The columns of the tortillas of a level, united by name.
fn make_united_columns(
    tortillas: &[&Tortilla],
    rows: usize,
    ctx: &JobContext,
) -> Result<RecordBatch> {
    let fields = UnitedFields::of_tortillas(tortillas).fields;
    let mut columns: Vec<ArrayRef> = Vec::with_capacity(fields.len());
    for field in &fields {
        ctx.check()?;
        let mut values: Vec<&Value> = Vec::with_capacity(rows);
        for tortilla in tortillas {
            values.extend(tortilla.list_values(tortilla.field(&field.name)));
        }
        columns.push(fitting_values(field, values)?);
    }
    let fields: Vec<Field> = fields
        .iter()
        .map(|field| Field::new(&field.name, field.dtype.clone(), true))
        .collect();
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options).map_err(
        |error| Error::internal("a level of the draft does not fit its columns").because(error),
    )
}

/// The values as an array; null for those that do not fit the type.
fn fitting_values(field: &FieldSpec, values: Vec<&Value>) -> Result<ArrayRef> {
    if let Ok(array) = array_of(field, values.iter().copied()) {
        return Ok(array);
    }
    let fits = |value: &Value| array_of(field, std::iter::once(value)).is_ok();
    let fitting = values
        .into_iter()
        .map(|value| if fits(value) { value } else { &Value::Null });
    array_of(field, fitting.collect::<Vec<_>>().into_iter())
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::DataType;

    use super::*;

    fn file(id: &str) -> Sample {
        Sample::new_file(id, format!("/data/{id}"), 3)
    }

    #[test]
    fn tables_have_the_rows_of_the_tree_also_where_it_is_no_pit() {
        let folder = |id: &str, files: &[&str]| {
            Sample::new_folder(
                id,
                Tortilla::new(files.iter().map(|name| file(name)).collect()),
            )
        };
        let root = Tortilla::new(vec![
            folder("a", &["x.tif", "y.tif"]),
            folder("b", &["x.tif"]),
        ]);
        let dataset = Dataset {
            root: root.into(),
            ..Dataset::default()
        };
        let levels = draft_levels(&dataset, &JobContext::default()).expect("tables");
        assert_eq!((levels.count(), levels.rows(0), levels.rows(1)), (2, 2, 3));
        let texts = |name: &str| {
            let column = levels
                .column(1, name, &JobContext::default())
                .expect("a column");
            let column = arrow::compute::cast(&column, &DataType::Utf8).expect("texts");
            let column = arrow::array::AsArray::as_string::<i32>(&column).clone();
            column
                .iter()
                .map(|text| text.unwrap_or_default().to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            texts("internal:relative_path"),
            ["a/x.tif", "a/y.tif", "b/x.tif"]
        );
        assert_eq!(
            texts("internal:gdal_vsi"),
            ["/data/x.tif", "/data/y.tif", "/data/x.tif"]
        );
        assert_eq!(texts("internal:parent_id"), ["0", "0", "1"]);
    }

    #[test]
    fn values_of_another_type_are_null() {
        let field = FieldSpec::new("n", DataType::Int64);
        let (one, text) = (Value::Int(1), Value::text("a"));
        let array = fitting_values(&field, vec![&one, &text, &Value::Null]).expect("an array");
        assert_eq!((array.len(), array.null_count()), (3, 2));
    }
}
