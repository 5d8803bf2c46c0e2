//! Writes a dataset in parts, with the indexes over them. All outputs are renamed together when the
//! last is complete; on error nothing is left behind.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::atomic_write::{Staging, check_space};
use super::damage::wrap_error;
use super::parts::{PartOptions, PlannedPart, index_name};
use super::{Assembly, BuildOptions, Built, ConsolidateOptions, Format, consolidate};
use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::model::{is_remote, place_above, place_below};
use crate::remote::{delete_object, object_exists, objects_below};
use crate::table::ParquetOptions;

/// The files and folders that writing this dataset creates.
///
/// # Errors
/// Those of [`PartOptions::plan`].
pub fn outputs_of(
    assembly: &Assembly,
    options: &BuildOptions,
    ctx: &JobContext,
) -> Result<Vec<PathBuf>> {
    let Some(parts) = &options.parts else {
        return Ok(vec![options.target.clone()]);
    };
    let folder = options.target.parent().unwrap_or(Path::new(""));
    let planned = parts.plan(assembly, &options.target, options.format, ctx)?;
    Ok(planned
        .iter()
        .map(|part| part.name.as_str())
        .chain(parts.index_names())
        .map(|name| folder.join(name))
        .collect())
}

/// Writes the parts and their indexes.
pub fn write(
    assembly: &Assembly,
    options: &BuildOptions,
    parts: &PartOptions,
    ctx: &JobContext,
) -> Result<Built> {
    parts.check(options.format)?;
    ctx.stage(tr!("Planning"), None);
    let planned = parts.plan(assembly, &options.target, options.format, ctx)?;
    let folder = options.target.parent().unwrap_or(Path::new(""));
    if is_remote(&options.target) {
        return write_to_store(assembly, options, parts, &planned, ctx);
    }
    let mut staging = Staging::new(&options.target, options.overwrite)?;
    for name in planned
        .iter()
        .map(|part| part.name.as_str())
        .chain(parts.index_names())
    {
        staging.claim(name)?;
    }
    check_space(
        &options.target,
        planned.iter().map(|part| part.data_bytes).sum(),
    )?;
    let mut built = Built::new(options.target.clone(), options.format);
    for part in &planned {
        ctx.check()?;
        let mut piece = assembly.of_roots(&part.roots, ctx)?.into_owned();
        piece.narrow_extent(ctx)?;
        let target = staging.path().join(&part.name);
        let one = write_part(
            &piece,
            &BuildOptions {
                target,
                overwrite: false,
                ..options.clone()
            },
            ctx,
        )?;
        built.add_part(folder.join(&part.name), one);
    }
    let inputs: Vec<PathBuf> = planned
        .iter()
        .map(|part| staging.path().join(&part.name))
        .collect();
    let indexes = write_indexes(
        parts,
        &inputs,
        staging.path(),
        (&options.parquet, false),
        ctx,
    )?;
    for (index, name) in indexes.iter().zip(parts.index_names()) {
        built.bytes += index.bytes;
        built.indexes.push(folder.join(name));
    }
    ctx.check()?;
    staging.finish()?;
    Ok(built.named_by_its_first())
}

/// Writes the parts to a store, and the indexes after them. Indexes of earlier parts that are
/// replaced go first: they would refer to bytes that are there no more. When one fails, the parts
/// that were written are removed again.
fn write_to_store(
    assembly: &Assembly,
    options: &BuildOptions,
    parts: &PartOptions,
    planned: &[PlannedPart],
    ctx: &JobContext,
) -> Result<Built> {
    let mut built = Built::new(options.target.clone(), options.format);
    if let Err(error) = write_parts_with_indexes(assembly, options, parts, planned, &mut built, ctx)
    {
        // Replaced parts are gone in any case.
        if !options.overwrite {
            remove_written(&built.parts, options.format);
        }
        return Err(error);
    }
    Ok(built.named_by_its_first())
}

/// Writes the parts to a store and adds each to `built` as soon as it is there, then the indexes.
fn write_parts_with_indexes(
    assembly: &Assembly,
    options: &BuildOptions,
    parts: &PartOptions,
    planned: &[PlannedPart],
    built: &mut Built,
    ctx: &JobContext,
) -> Result<()> {
    let folder = place_above(&options.target).unwrap_or_default();
    let mut is_hidden = false;
    for part in planned {
        ctx.check()?;
        let mut piece = assembly.of_roots(&part.roots, ctx)?.into_owned();
        piece.narrow_extent(ctx)?;
        let target = place_below(&folder, &part.name);
        if options.overwrite && !is_hidden && object_exists(&target)? {
            parts
                .index_names()
                .try_for_each(|name| remove_index(&place_below(&folder, name)))?;
            is_hidden = true;
        }
        let one = write_part(
            &piece,
            &BuildOptions {
                target: target.clone(),
                ..options.clone()
            },
            ctx,
        )?;
        built.add_part(target, one);
    }
    let indexes = write_indexes(
        parts,
        &built.parts,
        &folder,
        (&options.parquet, options.overwrite),
        ctx,
    )?;
    for (index, name) in indexes.iter().zip(parts.index_names()) {
        built.bytes += index.bytes;
        built.indexes.push(place_below(&folder, name));
    }
    Ok(())
}

/// Removes what readers open first of an index in a store.
fn remove_index(path: &Path) -> Result<()> {
    let is_folder = path
        .file_name()
        .is_some_and(|name| Some(name) == index_name(Format::Tacocat).map(OsStr::new));
    if is_folder {
        delete_object(&place_below(path, "COLLECTION.json"))
    } else {
        delete_object(path)
    }
}

/// Removes parts that a failed write leaves in a store.
fn remove_written(parts: &[PathBuf], format: Format) {
    for part in parts {
        if let Err(error) = remove_part(part, format) {
            tracing::warn!(
                "{} is not needed any more, and could not be removed: {error}",
                part.display()
            );
        }
    }
}

fn remove_part(part: &Path, format: Format) -> Result<()> {
    match format {
        Format::Folder => {
            // COLLECTION.json first: what is left is no dataset.
            delete_object(&place_below(part, "COLLECTION.json"))?;
            objects_below(part)?
                .iter()
                .try_for_each(|name| delete_object(&place_below(part, name)))
        }
        _ => delete_object(part),
    }
}

/// Writes one part as a dataset of its own. Its extent is that of `piece`: see
/// [`Assembly::narrow_extent`].
///
/// # Errors
/// As [`super::write`], with the name of the part.
pub fn write_part(piece: &Assembly, options: &BuildOptions, ctx: &JobContext) -> Result<Built> {
    let name = options
        .target
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    super::write(
        piece,
        &BuildOptions {
            parts: None,
            ..options.clone()
        },
        ctx,
    )
    .map_err(|error| name_part_in_error(error, &name))
}

/// Writes the indexes of `parts` over the parts `inputs` into `folder`, in the order of
/// [`PartOptions::index_names`].
///
/// # Errors
/// As [`consolidate`].
pub fn write_indexes(
    parts: &PartOptions,
    inputs: &[PathBuf],
    folder: &Path,
    (parquet, overwrite): (&ParquetOptions, bool),
    ctx: &JobContext,
) -> Result<Vec<Built>> {
    let mut written = Vec::with_capacity(parts.consolidate.len());
    for (format, name) in parts
        .consolidate
        .iter()
        .filter_map(|&format| Some((format, index_name(format)?)))
    {
        let target = if format == Format::Tacollection {
            place_below(folder, name)
        } else {
            folder.to_owned()
        };
        let options = ConsolidateOptions {
            inputs: inputs.to_vec(),
            target,
            format,
            parquet: parquet.clone(),
            overwrite,
            skip_schema_check: false,
        };
        written.push(consolidate(&options, ctx)?);
    }
    Ok(written)
}

fn name_part_in_error(error: Error, part: &str) -> Error {
    if error.is_cancelled() {
        return error;
    }
    wrap_error(error, format!("the part {part} can't be written"))
}
