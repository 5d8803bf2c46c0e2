//! The filter of a dataset as a statement of another engine over the dataset's level tables.

use crate::container::{ContainerReader, Format};
use crate::error::{Error, Result};
use crate::model::{FieldSpec, is_remote, place_below};
use crate::query::copy_as::{Engine, LevelFile, statement};
use crate::query::{Filter, Tables};

/// The statement of an engine that selects the rows of level 0 that `filters` keep. It reads the level tables where they are: those of
/// a `.tacocat` or FOLDER.
///
/// # Errors
/// [`crate::error::Kind::Unsupported`] for a container whose tables are no files, and for what the engine does not express;
/// [`crate::error::Kind::Usage`] for an unknown level or column, an invalid box, range or condition.
pub fn copy_as(reader: &dyn ContainerReader, filters: &[Filter], engine: Engine) -> Result<String> {
    let info = reader.info();
    let folder = match info.format {
        Format::Tacocat => "",
        Format::Folder => "METADATA/",
        _ => {
            let error =
                Error::unsupported(format!("{} reads Parquet files, and this dataset has its tables within a file", engine.name()));
            return Err(error
                .at_path(&info.path)
                .hint("write an index: `taco-studio tacocat IN.tacozip -o FOLDER`, then copy from its .tacocat"));
        }
    };
    // The statement may run in another folder than this program.
    let path = match is_remote(&info.path) {
        true => info.path.clone(),
        false => std::path::absolute(&info.path).map_err(|error| Error::io("find", &info.path, error))?,
    };
    let levels = (0..reader.levels().count()).map(|level| {
        let head = reader.levels().head(level);
        let head = head.ok_or_else(|| Error::unsupported(format!("level {level} has no Parquet file")).at_path(&info.path))?;
        let fields = head.schema().fields().iter();
        Ok(LevelFile {
            address: place_below(&path, &format!("{folder}level{level}.parquet")).display().to_string(),
            columns: fields
                .map(|field| FieldSpec {
                    description: reader.collection().column_description(level, field.name()).unwrap_or_default().to_owned(),
                    ..FieldSpec::new(field.name(), field.data_type().clone())
                })
                .collect(),
        })
    });
    let levels = levels.collect::<Result<Vec<_>>>()?;
    let mut tables = Tables::default();
    (0..reader.levels().count()).filter_map(|level| reader.levels().head(level)).for_each(|head| tables.push_parquet(head.clone()));
    if let Some(filter) = filters.iter().find(|filter| filter.looks_below(&tables)) {
        let summary = format!("rows of level {} without a place or time are where and when their children are", filter.level);
        return Err(Error::unsupported(summary)
            .at_path(&info.path)
            .hint("name the column, with --geometry-column or --time-column: then those rows are left out in every engine"));
    }
    statement(engine, &levels, filters)
}
