//! Writes a planned TORTILLA or TACO sequentially. All offsets come from the plan.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{Array, AsArray};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use bytes::Bytes;

use super::header::{HEADER_SIZE, TortillaHeader};
use super::layout::{
    PlannedTortilla, TortillaDraft, TortillaItem, TortillaOptions, TortillaPiece,
    encode_table_chain, group_into_parts, part_path, parts_called, place, planned_items,
};
use crate::container::atomic_write::{PartialFile, Staging, check_space};
use crate::container::damage::name_sample_in_error;
use crate::container::sample_bytes::CopySources;
use crate::container::{Built, DatasetVersion, Format};
use crate::error::{Error, IoContext, Result};
use crate::jobs::JobContext;
use crate::model::SamplePath;

/// Writes one file or a set of parts. They appear complete or not at all, and parts of an older
/// dataset of the same name are removed.
///
/// # Errors
/// [`Kind::Usage`](crate::error::Kind::Usage) for a target that exists or has the wrong extension,
/// invalid input, changed or damaged sources, and IO errors.
pub fn write_tortilla(
    draft: TortillaDraft,
    options: &TortillaOptions,
    ctx: &JobContext,
) -> Result<Built> {
    write_tortilla_of(draft, &DatasetVersion::default(), options, ctx)
}

/// As [`write_tortilla`], with columns and collection of this version of a dataset.
///
/// # Errors
/// As [`write_tortilla`]; [`Kind::Changed`](crate::error::Kind::Changed) when the dataset was
/// replaced or changed meanwhile.
pub fn write_tortilla_of(
    draft: TortillaDraft,
    version: &DatasetVersion,
    options: &TortillaOptions,
    ctx: &JobContext,
) -> Result<Built> {
    ctx.stage(tr!("Planning"), None);
    let rows = draft.footer.num_rows();
    if rows == 0 {
        return Err(Error::invalid("a tortilla needs at least one sample"));
    }
    if rows != draft.items.len() {
        return Err(Error::internal(
            "a footer has as many rows as there are items",
        ));
    }
    let format = if options.collection.is_some() {
        Format::Taco
    } else {
        Format::Tortilla
    };
    check_name(options, format)?;
    let (counts, roots) = (count_samples_and_files(&draft), draft.items.len() as u64);
    if options.stream && options.part_bytes.is_some() {
        return Err(
            Error::usage("a streamable dataset is one file").hint("leave the size of parts out")
        );
    }
    let pieces = planned_items(draft.items, ctx)?;
    let groups = group_into_parts(&pieces, options.part_bytes)?;
    let collection = match &options.collection {
        Some(fields) => Bytes::from(
            serde_json::to_vec(fields)
                .map_err(|e| Error::internal("the collection is not JSON").because(e))?,
        ),
        None => Bytes::new(),
    };
    let mut built = Built {
        samples: counts.0,
        roots,
        files: counts.1,
        ..Built::new(options.target.clone(), format)
    };
    let old = if options.part_bytes.is_some() {
        parts_called(&options.target)?
    } else {
        Vec::new()
    };
    if let Some(found) = old.first().filter(|_| !options.overwrite) {
        let error = Error::usage("parts of a dataset of this name exist already").at_path(found);
        return Err(error.hint("choose another name, or allow overwriting"));
    }
    let targets: Vec<PathBuf> = match groups.len() {
        1 => vec![options.target.clone()],
        count => {
            let first = usize::from(options.text_form);
            (first..first + count)
                .map(|number| part_path(&options.target, number))
                .collect()
        }
    };
    // Old parts that no new part replaces would be taken for parts of the new dataset.
    let stale: Vec<&PathBuf> = old
        .iter()
        .filter(|part| {
            !targets
                .iter()
                .any(|target| target.file_name() == part.file_name())
        })
        .collect();
    // An incomplete set of parts is no dataset: all are renamed together, and old parts are removed
    // in the same step.
    let together = targets.len() > 1 || !stale.is_empty();
    let mut staging = together
        .then(|| Staging::new(&options.target, options.overwrite))
        .transpose()?;
    let mut outputs = Vec::with_capacity(targets.len());
    for target in &targets {
        outputs.push(match &mut staging {
            Some(staging) => {
                let name = target.file_name().unwrap_or_default();
                staging.claim(&name.to_string_lossy())?;
                staging.path().join(name)
            }
            None => target.clone(),
        });
    }
    let mut pieces = pieces.into_iter();
    let mut first = 0;
    for (output, length) in outputs.iter().zip(&groups) {
        let footer = draft.footer.slice(first, *length);
        first += length;
        let planned = place(&footer, pieces.by_ref().take(*length).collect())?;
        let tables = if options.stream {
            encode_table_chain(&planned, ctx)?
        } else {
            (
                planned.footer.clone(),
                (planned.footer_at, planned.footer.len() as u64),
            )
        };
        let whole = WholeFile {
            planned: &planned,
            tables,
            partitions: groups.len() as u64,
            format,
            collection: &collection,
            version,
        };
        let (bytes, damaged) = whole
            .write(output, options, ctx)
            .map_err(|error| version.explain(error))?;
        built.bytes += bytes;
        built.damaged.extend(damaged);
    }
    if let Some(mut staging) = staging {
        stale
            .iter()
            .filter_map(|part| part.file_name())
            .for_each(|name| staging.retire(name));
        staging.finish()?;
    }
    if targets.len() > 1 {
        built.parts = targets;
    }
    if let Some(first) = built.parts.first() {
        built.path = first.clone();
    }
    Ok(built)
}

/// Readers go by the extension, so it must match the format; parts are only found by a lower-case
/// extension.
fn check_name(options: &TortillaOptions, format: Format) -> Result<()> {
    let ending = if format == Format::Taco {
        "taco"
    } else {
        "tortilla"
    };
    let found = options
        .target
        .extension()
        .map(|found| found.to_string_lossy().into_owned())
        .unwrap_or_default();
    let error = |message: String| Err(Error::usage(message).at_path(&options.target));
    match found.to_ascii_lowercase().as_str() {
        found if found == ending => {}
        "tortilla" => {
            return error("a .tortilla has no collection".into())
                .map_err(|e| e.hint("leave the collection out, or name a .taco"));
        }
        "taco" => {
            return error("a .taco needs a collection".into())
                .map_err(|e| e.hint("give one, or name a .tortilla"));
        }
        _ => return error("the name of this output has to end in .tortilla or .taco".into()),
    }
    if options.part_bytes.is_some() && found != ending {
        return error(format!(
            "the name of parts ends in .{ending}, in small letters"
        ));
    }
    Ok(())
}

/// Number of samples on all levels, and of FILEs.
fn count_samples_and_files(draft: &TortillaDraft) -> (u64, u64) {
    draft
        .items
        .iter()
        .fold((0, 0), |(samples, files), item| match item {
            TortillaItem::Source(_) => (samples + 1, files + 1),
            TortillaItem::Nested(inner) => {
                let (more, inside) = count_samples_and_files(inner);
                (samples + 1 + more, files + inside)
            }
        })
}

/// One complete file.
struct WholeFile<'a> {
    /// Samples and footer.
    pub planned: &'a PlannedTortilla,
    /// The bytes after the samples, and `(offset, length)` of the footer within the file.
    pub tables: (Bytes, (u64, u64)),
    /// Number of files of the dataset.
    pub partitions: u64,
    /// TORTILLA or TACO.
    pub format: Format,
    /// COLLECTION of a TACO; empty otherwise.
    pub collection: &'a [u8],
    /// The version of the dataset that columns and collection are from.
    pub version: &'a DatasetVersion,
}

impl WholeFile<'_> {
    /// Writes the file. Returns its size in bytes and the damaged samples.
    pub fn write(
        &self,
        target: &Path,
        options: &TortillaOptions,
        ctx: &JobContext,
    ) -> Result<(u64, Vec<String>)> {
        let sources = CopySources::of_version(self.version, options.on_damage);
        let tables_end = self.planned.footer_at + self.tables.0.len() as u64;
        let total = tables_end + self.collection.len() as u64;
        check_space(target, total)?;
        let output = PartialFile::new(target, options.overwrite)?;
        ctx.stage(tr!("Writing"), None);
        let collection =
            (self.format == Format::Taco).then_some((tables_end, self.collection.len() as u64));
        let header = TortillaHeader {
            footer: self.tables.1,
            partitions: self.partitions,
            collection,
            end: HEADER_SIZE,
        };
        let mut out = BufWriter::with_capacity(1 << 20, output.file());
        let mut writing = FileWriting {
            out: &mut out,
            sources: &sources,
            target,
            path: SamplePath::default(),
        };
        writing.put(self.planned, &header, &self.tables.0, ctx)?;
        let damaged = sources.finish(ctx)?;
        out.write_all(self.collection)
            .io_at("write the output", target)?;
        out.flush().io_at("write the output", target)?;
        drop(out);
        ctx.stage(tr!("Syncing to disk"), None);
        output.finish()?;
        Ok((total, damaged))
    }
}

struct FileWriting<'a, 'f> {
    out: &'a mut BufWriter<&'f File>,
    sources: &'a CopySources,
    target: &'a Path,
    /// Path of the nested tortilla being written.
    path: SamplePath,
}

impl FileWriting<'_, '_> {
    fn put(
        &mut self,
        planned: &PlannedTortilla,
        header: &TortillaHeader,
        tables: &[u8],
        ctx: &JobContext,
    ) -> Result<()> {
        self.out
            .write_all(&header.to_bytes())
            .io_at("write the output", self.target)?;
        for (row, piece) in planned.pieces.iter().enumerate() {
            ctx.check()?;
            match piece {
                TortillaPiece::Nested(inner) => {
                    // Nested tortillas are never split.
                    let footer = (inner.footer_at, inner.footer.len() as u64);
                    let header = TortillaHeader {
                        footer,
                        partitions: 1,
                        collection: None,
                        end: HEADER_SIZE,
                    };
                    self.path.0.push(id_of(planned, row));
                    self.put(inner, &header, &inner.footer, ctx)?;
                    self.path.0.pop();
                }
                TortillaPiece::Source(source) => {
                    let Self {
                        out,
                        sources,
                        target,
                        path,
                    } = self;
                    let name = || {
                        SamplePath([path.0.as_slice(), &[id_of(planned, row)]].concat()).to_string()
                    };
                    let sink =
                        &mut |chunk: &[u8]| out.write_all(chunk).io_at("write the output", *target);
                    sources
                        .stream(source, &name, ctx, sink)
                        .map_err(|error| name_sample_in_error(error, &name()))?;
                }
            }
            ctx.step(1);
        }
        self.out
            .write_all(tables)
            .io_at("write the output", self.target)
    }
}

fn id_of(planned: &PlannedTortilla, row: usize) -> Arc<str> {
    // These files contain both Arrow string types.
    let ids = planned
        .table
        .column_by_name("tortilla:id")
        .and_then(|column| cast(&column.slice(row, 1), &DataType::Utf8).ok());
    let ids = ids.as_ref().and_then(|ids| ids.as_string_opt::<i32>());
    ids.filter(|ids| ids.is_valid(0))
        .map_or_else(|| Arc::from(""), |ids| ids.value(0).into())
}
