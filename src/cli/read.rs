//! `read`: walk a dataset by ids and positions.

use std::path::{Path, PathBuf};

use super::output::{Terminal, print, write};
use super::query::{RowFormat, print_rows};
use super::runner::open;
use super::writing::tell_damaged;
use crate::container::{ContainerReader, OnDamage, OpenOptions, copy_asset, stream_asset};
use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::model::{SampleKind, SamplePath, Skeleton, is_padding};
use crate::ops::{folder_table, read_chunk, save_chunk, split_chunk};
use crate::text::PrintableLine;

/// Where and how `read` writes.
pub struct ReadOutput {
    /// The file, `-` for stdout; without it only the GDAL path is printed.
    pub file: Option<PathBuf>,
    /// Replace an existing output.
    pub overwrite: bool,
    /// How bytes with a wrong checksum are handled.
    pub on_damage: OnDamage,
    /// How the table of a FOLDER is printed; without it, its ids and types are listed.
    pub format: Option<RowFormat>,
}

pub fn read(
    path: &Path,
    options: &OpenOptions,
    sample: Option<&str>,
    out: ReadOutput,
    terminal: &Terminal,
) -> Result<u8> {
    let ctx = JobContext::default();
    let reader = open(terminal, path, options)?;
    let tree = reader.levels().skeleton(&ctx)?;
    let wanted = SamplePath::parse(sample.unwrap_or_default());
    if wanted.0.is_empty() {
        if out.format.is_some() {
            return write_table(reader.as_ref(), None, &out, &ctx);
        }
        let rows: Vec<u32> =
            (0..tree.levels.first().map_or(0, |level| level.len()) as u32).collect();
        print(&list_samples(&tree, 0, &rows))?;
        return Ok(0);
    }
    let Some((level, row)) = tree.find(&wanted) else {
        return match sample.filter(|text| split_chunk(text).is_some()) {
            Some(chunk) => read_one_chunk(reader.as_ref(), chunk, &out, &ctx),
            None => Err(missing_sample_error(&tree, &wanted)),
        };
    };
    match (tree.levels[level].kind(row), &out.file) {
        (SampleKind::Folder, _) if out.format.is_some() => {
            write_table(reader.as_ref(), Some((level, row)), &out, &ctx)
        }
        (SampleKind::Folder, None) => {
            print(&list_samples(
                &tree,
                level + 1,
                tree.levels[level].children(row),
            ))?;
            Ok(0)
        }
        (SampleKind::Folder, Some(_)) => {
            let error =
                Error::usage("this is a FOLDER; only a FILE has bytes to copy").at_place(wanted);
            Err(error
                .hint("name one of its children, or write its table: --format table, csv or json"))
        }
        (SampleKind::File, _) => read_file(reader.as_ref(), level, row, &out, &ctx),
    }
}

/// The table of a FOLDER, or of level 0.
fn write_table(
    reader: &dyn ContainerReader,
    folder: Option<(usize, u32)>,
    out: &ReadOutput,
    ctx: &JobContext,
) -> Result<u8> {
    let format = out.format.unwrap_or(RowFormat::Table);
    let table = folder_table(reader, folder, ctx)?;
    print_rows(
        &table,
        format,
        out.file.as_deref().filter(|file| *file != Path::new("-")),
        out.overwrite,
    )?;
    Ok(0)
}

/// Prints shape, type and byte range of a chunk; with `out` writes its values: NumPy's file where
/// the name ends in .npy, an Arrow tensor in .arrow.
fn read_one_chunk(
    reader: &dyn ContainerReader,
    chunk: &str,
    out: &ReadOutput,
    ctx: &JobContext,
) -> Result<u8> {
    let array = read_chunk(reader, chunk, ctx)?;
    match &out.file {
        None => {
            let list = |numbers: &[String]| numbers.join(", ");
            let shape = list(&array.shape.map(|n| n.to_string()));
            let start = list(&array.start.map(|n| n.to_string()));
            print(&format!(
                "shape ({shape})  from ({start})  {}\n{}",
                array.dtype,
                array.place.to_vsi()
            ))?;
        }
        Some(path) if path == Path::new("-") => {
            write(&array.bytes)?;
        }
        Some(path) => save_chunk(&array, path, out.overwrite)?,
    }
    Ok(0)
}

fn read_file(
    reader: &dyn ContainerReader,
    level: usize,
    row: u32,
    out: &ReadOutput,
    ctx: &JobContext,
) -> Result<u8> {
    let (asset, _) = reader.asset(level, row)?;
    let damaged = match &out.file {
        None => {
            print(&asset.to_vsi())?;
            return Ok(0);
        }
        Some(path) if path == Path::new("-") => {
            let mut is_open = true;
            stream_asset(&asset, out.on_damage, ctx, &mut |chunk| {
                // Nothing is written once the reader of the pipe has closed it.
                if is_open {
                    is_open = write(chunk)?;
                }
                Ok(())
            })?
        }
        Some(path) => copy_asset(&asset, path, out.overwrite, out.on_damage, ctx)?,
    };
    Ok(tell_damaged(&damaged))
}

/// Ids and types of the samples without padding, which readers hide.
fn list_samples(tree: &Skeleton, level: usize, rows: &[u32]) -> String {
    let Some(table) = tree.levels.get(level) else {
        return String::new();
    };
    let mut text = String::new();
    for &row in rows.iter().filter(|&&row| !is_padding(table.id(row))) {
        text.push_str(&format!(
            "{}\t{}\n",
            table.kind(row),
            table.id(row).printable_line()
        ));
    }
    text
}

fn missing_sample_error(tree: &Skeleton, wanted: &SamplePath) -> Error {
    // The longest part of the path that exists shows which id is wrong.
    let longest_part = (0..wanted.0.len()).rev().find_map(|length| {
        let part = SamplePath(wanted.0[..length].to_vec());
        tree.find(&part).map(|(level, row)| (part, level, row))
    });
    let error = Error::usage("there is no such sample").at_place(wanted);
    match longest_part {
        Some((part, level, row)) => {
            let children = tree.levels[level].children(row);
            let children: Vec<u32> = children
                .iter()
                .copied()
                .filter(|&child| !is_padding(tree.levels[level + 1].id(child)))
                .collect();
            if let Some(position) = wanted.0.get(part.0.len()).filter(|id| id.starts_with('#')) {
                return error.hint(format!(
                    "{part} holds {} samples; {position} counts from #0",
                    children.len()
                ));
            }
            let names: Vec<&str> = children
                .iter()
                .take(8)
                .map(|&child| tree.levels[level + 1].id(child))
                .collect();
            error.hint(format!(
                "{part} holds {}",
                if names.is_empty() {
                    "nothing: it is a FILE".into()
                } else {
                    names.join(", ")
                }
            ))
        }
        None => {
            let count = tree.levels.first().map_or(0, |top| {
                (0..top.len() as u32)
                    .filter(|&row| !is_padding(top.id(row)))
                    .count()
            });
            error.hint(format!(
                "list the {count} of level 0 with `taco-studio read PATH`; positions count from #0"
            ))
        }
    }
}
