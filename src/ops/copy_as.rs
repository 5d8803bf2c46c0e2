//! The filter of a dataset as a statement of another engine over the dataset's level tables.

use crate::container::{ContainerReader, Format};
use crate::error::{Error, Result};
use crate::model::{FieldSpec, is_remote, place_below};
use crate::query::copy_as::{LevelFile, ParquetEngine, statement, unsupported_members};
use crate::query::{Filter, Tables};

/// Why an engine can't read the tables of a dataset where they are; `None` when it can. Polars and
/// Dask read those within a ZIP.
pub fn lacks_tables_for(reader: &dyn ContainerReader, engine: ParquetEngine) -> Option<Error> {
    let readable = match reader.info().format {
        Format::Tacocat | Format::Folder => true,
        Format::Zip => engine.reads_members(),
        _ => false,
    };
    (!readable).then(|| unsupported_members(engine).at_path(&reader.info().path))
}

/// The statement of an engine that selects the rows of level 0 that `filters` keep. It reads the
/// level tables where they are: those of a `.tacocat` or FOLDER, for Polars and Dask also those of
/// a ZIP.
///
/// # Errors
/// [`crate::error::Kind::Unsupported`] for a container whose tables are no files, and for what the
/// engine does not express; [`crate::error::Kind::Usage`] for an unknown level or column, an
/// invalid box, range or condition.
pub fn copy_as(
    reader: &dyn ContainerReader,
    filters: &[Filter],
    engine: ParquetEngine,
) -> Result<String> {
    let info = reader.info();
    if let Some(error) = lacks_tables_for(reader, engine) {
        return Err(error);
    }
    let folder = if info.format == Format::Tacocat {
        ""
    } else {
        "METADATA/"
    };
    // The statement may run in another folder than this program.
    let path = if is_remote(&info.path) {
        info.path.clone()
    } else {
        std::path::absolute(&info.path).map_err(|error| Error::io("find", &info.path, error))?
    };
    let levels = (0..reader.levels().count()).map(|level| {
        let head = reader.levels().head(level);
        let head = head.ok_or_else(|| {
            Error::unsupported(format!("level {level} has no Parquet file")).at_path(&info.path)
        })?;
        let fields = head.schema().fields().iter();
        let name = format!("{folder}level{level}.parquet");
        let (address, member) = match info.format {
            Format::Zip => (path.display().to_string(), Some(name)),
            _ => (place_below(&path, &name).display().to_string(), None),
        };
        Ok(LevelFile {
            address,
            member,
            columns: fields
                .map(|field| FieldSpec {
                    description: reader
                        .collection()
                        .column_description(level, field.name())
                        .unwrap_or_default()
                        .to_owned(),
                    ..FieldSpec::new(field.name(), field.data_type().clone())
                })
                .collect(),
        })
    });
    let levels = levels.collect::<Result<Vec<_>>>()?;
    let mut tables = Tables::default();
    (0..reader.levels().count())
        .filter_map(|level| reader.levels().head(level))
        .for_each(|head| tables.push_parquet(head.clone()));
    if let Some(filter) = filters
        .iter()
        .find(|filter| filter.uses_levels_below(&tables))
    {
        let summary = format!(
            "rows of level {} without a place or time are where and when their children are",
            filter.level
        );
        return Err(Error::unsupported(summary).at_path(&info.path).hint(
            "name the column, with --geometry-column or --time-column: then those rows are \
                left out in every engine",
        ));
    }
    statement(engine, &levels, filters)
}
