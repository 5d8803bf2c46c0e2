//! Writes a planned TORTILLA or TACO sequentially. All offsets come from the plan.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use arrow::array::{Array, AsArray};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use bytes::Bytes;

use super::header::TortillaHeader;
use super::layout::{Piece, Planned, TortillaOptions};
use crate::container::Format;
use crate::container::atomic_write::{PartialFile, check_space};
use crate::container::sample_bytes::{Sources, named};
use crate::error::{IoContext, Result};
use crate::jobs::JobContext;
use crate::model::SamplePath;

/// A complete file.
pub(super) struct Whole<'a> {
    /// Samples and footer.
    pub planned: &'a Planned,
    /// The bytes after the samples, and `(offset, length)` of the footer within the file.
    pub tables: (Bytes, (u64, u64)),
    /// Number of files of the dataset.
    pub partitions: u64,
    /// TORTILLA or TACO.
    pub format: Format,
    /// COLLECTION of a TACO; empty otherwise.
    pub collection: &'a [u8],
}

impl Whole<'_> {
    /// Writes the file. Returns its size in bytes and the damaged samples.
    pub fn write(&self, target: &Path, options: &TortillaOptions, ctx: &JobContext) -> Result<(u64, Vec<String>)> {
        let sources = Sources::new(options.on_damage);
        let tables_end = self.planned.footer_at + self.tables.0.len() as u64;
        let total = tables_end + self.collection.len() as u64;
        check_space(target, total)?;
        let output = PartialFile::new(target, options.overwrite)?;
        ctx.stage(tr!("Writing"), None);
        let collection = (self.format == Format::Taco).then_some((tables_end, self.collection.len() as u64));
        let header = TortillaHeader { footer: self.tables.1, partitions: self.partitions, collection };
        let mut out = BufWriter::with_capacity(1 << 20, output.file());
        let mut writing = Writing { out: &mut out, sources: &sources, target, path: SamplePath::default() };
        writing.put(self.planned, &header, &self.tables.0, ctx)?;
        let damaged = sources.finish()?;
        out.write_all(self.collection).io_at("write the output", target)?;
        out.flush().io_at("write the output", target)?;
        drop(out);
        ctx.stage(tr!("Syncing to disk"), None);
        output.finish()?;
        Ok((total, damaged))
    }
}

/// State of writing one file.
struct Writing<'a, 'f> {
    out: &'a mut BufWriter<&'f File>,
    sources: &'a Sources,
    target: &'a Path,
    /// Path of the nested tortilla being written.
    path: SamplePath,
}

impl Writing<'_, '_> {
    fn put(&mut self, planned: &Planned, header: &TortillaHeader, tables: &[u8], ctx: &JobContext) -> Result<()> {
        self.out.write_all(&header.to_bytes()).io_at("write the output", self.target)?;
        for (row, piece) in planned.pieces.iter().enumerate() {
            ctx.check()?;
            match piece {
                Piece::Nested(inner) => {
                    // Nested tortillas are never split.
                    let footer = (inner.footer_at, inner.footer.len() as u64);
                    let header = TortillaHeader { footer, partitions: 1, collection: None };
                    self.path.0.push(id_of(planned, row));
                    self.put(inner, &header, &inner.footer, ctx)?;
                    self.path.0.pop();
                }
                Piece::Source(source) => {
                    let Self { out, sources, target, path } = self;
                    let name = || SamplePath([path.0.as_slice(), &[id_of(planned, row)]].concat()).to_string();
                    let sink = &mut |chunk: &[u8]| out.write_all(chunk).io_at("write the output", *target);
                    sources.stream(source, &name, ctx, sink).map_err(|error| named(error, &name()))?;
                }
            }
            ctx.step(1);
        }
        self.out.write_all(tables).io_at("write the output", self.target)
    }
}

fn id_of(planned: &Planned, row: usize) -> Arc<str> {
    // These files contain both Arrow string types.
    let ids = planned.table.column_by_name("tortilla:id").and_then(|column| cast(&column.slice(row, 1), &DataType::Utf8).ok());
    let ids = ids.as_ref().and_then(|ids| ids.as_string_opt::<i32>());
    ids.filter(|ids| ids.is_valid(0)).map_or_else(|| Arc::from(""), |ids| ids.value(0).into())
}
