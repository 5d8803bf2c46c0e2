//! The levels of an opened dataset as query tables, with positions that are right.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};

use crate::container::{self, ContainerReader, Physical, TacocatReader};
use crate::error::{Error, Result, separate_transient_error};
use crate::jobs::JobContext;
use crate::model::{AssetPath, Dataset, is_remote, vsi_place};
use crate::query::{RowPositions, Tables, TruePositions, VsiBase};
use crate::table::LevelTable;

/// Rows of a level whose positions are compared with the parts before the level is trusted.
const PROBES: usize = 64;

/// The levels as query tables: Parquet as stored where its offsets and sizes are right, else rows
/// with the right ones.
///
/// # Errors
/// When a table can't be read.
pub fn tables_of(reader: &dyn ContainerReader, ctx: &JobContext) -> Result<Tables> {
    let mut tables = Tables::new(base_of(reader)).described_by(reader.collection());
    for level in 0..reader.levels().count() {
        ctx.check()?;
        if has_wrong_positions(reader, level, ctx)? {
            tables.push_table(Arc::new(read_corrected_table(reader, level, ctx)?));
        } else if let Some(head) = reader.levels().head(level) {
            tables.push_parquet(head.clone());
        } else {
            tables.push_table(reader.levels().table(level, ctx)?);
        }
    }
    Ok(tables)
}

/// [`tables_of`] without looking at anything: positions are compared with the archive when a query
/// asks for them.
pub fn lazy_tables(reader: &Arc<dyn ContainerReader>) -> Tables {
    let mut tables = Tables::new(base_of(reader.as_ref())).described_by(reader.collection());
    for level in 0..reader.levels().count() {
        let Some(head) = reader.levels().head(level) else {
            reader
                .levels()
                .built_table(level)
                .into_iter()
                .for_each(|table| tables.push_table(table));
            continue;
        };
        if level == 0 || !matches!(reader.physical(), Physical::Zip(_) | Physical::Tacocat(_)) {
            tables.push_parquet(head.clone());
            continue;
        }
        let reader = reader.clone();
        let find = move |ctx: &JobContext| find_true_positions(reader.as_ref(), level, ctx);
        tables.push_checked(head.clone(), TruePositions::new(find));
    }
    tables
}

/// The positions of a level; `None` where those of its file are right.
fn find_true_positions(
    reader: &dyn ContainerReader,
    level: usize,
    ctx: &JobContext,
) -> Result<Option<RowPositions>> {
    if has_wrong_positions(reader, level, ctx)? {
        positions(reader, level, ctx).map(Some)
    } else {
        Ok(None)
    }
}

/// The levels of a draft as query tables.
///
/// # Errors
/// [`Kind::Usage`](crate::error::Kind::Usage) for a draft without samples; those of
/// [`container::draft_levels`].
pub fn draft_tables(dataset: &Dataset, ctx: &JobContext) -> Result<Tables> {
    let levels = container::draft_levels(dataset, ctx)?;
    if levels.count() == 0 {
        return Err(Error::usage("the draft has no samples yet").hint("add files or folders first"));
    }
    let mut tables = Tables::new(VsiBase::None).described_by(&dataset.collection);
    for level in 0..levels.count() {
        tables.push_table(levels.table(level, ctx)?);
    }
    Ok(tables)
}

fn base_of(reader: &dyn ContainerReader) -> VsiBase {
    let path = vsi_place(&reader.info().path);
    match reader.physical() {
        Physical::Zip(_) => VsiBase::zip(&path),
        Physical::Folder(_) => VsiBase::folder(&path),
        Physical::Tortilla(tortilla) if tortilla.files().len() > 1 => {
            VsiBase::parts(&tortilla.folder())
        }
        Physical::Tortilla(_) => VsiBase::zip(&path),
        Physical::Taco3(dataset) => match dataset.parts_folder() {
            Some(folder) => VsiBase::parts(&vsi_place(folder)),
            None if dataset.is_folder() => VsiBase::folder(&path),
            None => VsiBase::zip(&path),
        },
        Physical::Early(dataset) if !dataset.is_folder() => VsiBase::zip(&path),
        // Their rows carry their paths.
        Physical::Joined(_) | Physical::Early(_) => VsiBase::None,
        Physical::Tacocat(index) => VsiBase::parts(&vsi_place(index.parts_folder())),
    }
}

/// True where a level's positions are not those of its samples.
fn has_wrong_positions(
    reader: &dyn ContainerReader,
    level: usize,
    ctx: &JobContext,
) -> Result<bool> {
    Ok(level > 0
        && match reader.physical() {
            Physical::Zip(zip) => !zip.positions_hold(level, ctx)?,
            Physical::Tacocat(index) => !parts_hold(index, level, ctx)?,
            Physical::Folder(_)
            | Physical::Joined(_)
            | Physical::Tortilla(_)
            | Physical::Taco3(_)
            | Physical::Early(_) => false,
        })
}

/// The index copies the positions of its parts, with their mistakes: a look at the first FOLDERs or
/// FILEs of every part. Missing parts can't be checked: the index is believed.
fn parts_hold(index: &TacocatReader, level: usize, ctx: &JobContext) -> Result<bool> {
    // A look would be a request for each part and probe.
    if is_remote(index.parts_folder()) {
        return index.all_ranges_tile(ctx);
    }
    let sources = index.levels().row_parts(level, ctx)?;
    let positions = index.levels().positions(level, ctx)?;
    let rows = sources.rows.len();
    let step = rows.div_ceil(PROBES * sources.names.len().max(1)).max(1);
    let mut missing = HashSet::new();
    for row in (0..rows).step_by(step) {
        ctx.check()?;
        let part = sources.rows[row];
        if missing.contains(&part) {
            continue;
        }
        let Ok((name, member)) = separate_transient_error(index.member(level, row as u32))? else {
            continue;
        };
        let Ok(zip) = separate_transient_error(index.part(&name))? else {
            missing.insert(part);
            continue;
        };
        let Some((offset, size)) = positions.range(row as u32) else {
            return Ok(false);
        };
        if !zip.is_data_of(&member, offset, size)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Offset and size of every row, from the container; null for a sample that is not in it.
fn positions(reader: &dyn ContainerReader, level: usize, ctx: &JobContext) -> Result<RowPositions> {
    let rows = reader.levels().rows(level);
    let mut offsets = Vec::with_capacity(rows);
    let mut sizes = Vec::with_capacity(rows);
    for row in 0..rows {
        if row % 1024 == 0 {
            ctx.check()?;
        }
        let range = match reader.asset(level, row as u32) {
            Ok((AssetPath::Range { offset, size, .. }, _)) => Some((offset, size)),
            _ => None,
        };
        offsets.push(range.map(|range| range.0 as i64));
        sizes.push(range.map(|range| range.1 as i64));
    }
    Ok((Int64Array::from(offsets), Int64Array::from(sizes)))
}

fn read_corrected_table(
    reader: &dyn ContainerReader,
    level: usize,
    ctx: &JobContext,
) -> Result<LevelTable> {
    let table = reader.levels().table(level, ctx)?;
    let batch = table.to_batch()?;
    let (offsets, sizes) = positions(reader, level, ctx)?;
    let mut columns: Vec<ArrayRef> = batch.columns().to_vec();
    let (mut offsets, mut sizes) = (Some(offsets), Some(sizes));
    for (index, field) in batch.schema().fields().iter().enumerate() {
        let replacement = match field.name().as_str() {
            "internal:offset" => offsets.take(),
            "internal:size" => sizes.take(),
            _ => None,
        };
        if let Some(array) = replacement {
            columns[index] = arrow::compute::cast(&array, field.data_type()).map_err(|error| {
                Error::internal("positions don't fit their column").because(error)
            })?;
        }
    }
    let batch = RecordBatch::try_new(batch.schema(), columns)
        .map_err(|error| Error::internal("positions don't fit their table").because(error))?;
    Ok(LevelTable::new(batch.schema(), vec![batch]))
}
