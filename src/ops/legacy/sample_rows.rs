//! The samples of one tortilla of 2.0, of a draft or of a dataset laid out for the writers, as the writer of the first generation
//! asks for them. A dataset of a million samples does not have to become a draft first.

use std::borrow::Cow;

use arrow::array::{ArrayRef, UInt32Array};
use arrow::compute::take;

use crate::container::{Assembly, RowSource};
use crate::error::{Error, Result};
use crate::model::{AssetPath, Modified, Payload, Tortilla, is_padding};
use crate::table::array_of;

/// Data of a sample.
#[derive(Clone, Copy)]
pub enum SampleData<'a> {
    /// A FOLDER.
    Folder,
    /// Bytes in memory.
    Bytes(&'a [u8]),
    /// A file or a byte range of one, its size in bytes and its modification time.
    Asset(&'a AssetPath, u64, Modified),
}

impl SampleData<'_> {
    /// The source for the writer; `None` for a FOLDER.
    pub fn source(&self) -> Option<RowSource> {
        match *self {
            SampleData::Folder => None,
            SampleData::Bytes(bytes) => Some(RowSource::Bytes(bytes.to_vec().into())),
            SampleData::Asset(path, size, modified) => Some(RowSource::Asset { path: path.clone(), size, modified }),
        }
    }
}

/// The samples of one tortilla, by their number in it.
pub trait SampleRows: Sync + Sized {
    /// Number of samples.
    fn count(&self) -> usize;

    /// Id of a sample.
    fn id(&self, row: usize) -> &str;

    /// Data of a sample.
    fn data(&self, row: usize) -> SampleData<'_>;

    /// The samples of a FOLDER; `None` for a FILE.
    fn below(&self, row: usize) -> Option<Self>;

    /// Name and values of every metadata column, for these samples.
    ///
    /// # Errors
    /// When a value is not of the type of its column.
    fn columns(&self, rows: &[usize]) -> Result<Vec<(String, ArrayRef)>>;

    /// False for padding, and for a FOLDER of nothing else.
    fn is_real(&self, row: usize) -> bool {
        let is_padded = |of: &Self, row: usize| is_padding(of.id(row));
        !is_padded(self, row) && self.below(row).is_none_or(|below| (0..below.count()).any(|row| !is_padded(&below, row)))
    }
}

impl<'a> SampleRows for &'a Tortilla {
    fn count(&self) -> usize {
        self.samples.len()
    }

    fn id(&self, row: usize) -> &str {
        &self.samples[row].id
    }

    fn data(&self, row: usize) -> SampleData<'_> {
        match &self.samples[row].payload {
            Payload::Folder(_) => SampleData::Folder,
            Payload::Bytes(bytes) => SampleData::Bytes(bytes),
            Payload::Asset { path, size, modified } => SampleData::Asset(path, *size, *modified),
        }
    }

    fn below(&self, row: usize) -> Option<Self> {
        let tortilla: &'a Tortilla = self;
        tortilla.samples[row].children().map(AsRef::as_ref)
    }

    fn columns(&self, rows: &[usize]) -> Result<Vec<(String, ArrayRef)>> {
        let column = |(index, field): (usize, &crate::model::FieldSpec)| {
            Ok((field.name.clone(), array_of(field, rows.iter().map(|&row| self.samples[row].value(index)))?))
        };
        self.schema.iter().enumerate().map(column).collect()
    }
}

/// The samples of level 0, or the children of a FOLDER, of an assembly.
pub struct AssemblyRows<'a> {
    assembly: &'a Assembly,
    depth: usize,
    /// Their rows in the level.
    rows: Cow<'a, [u32]>,
}

impl<'a> AssemblyRows<'a> {
    /// The samples of level 0.
    pub fn roots(assembly: &'a Assembly) -> Self {
        let roots = assembly.tree.levels.first().map_or(0, |level| level.len());
        Self { assembly, depth: 0, rows: (0..roots as u32).collect::<Vec<_>>().into() }
    }
}

impl SampleRows for AssemblyRows<'_> {
    fn count(&self) -> usize {
        self.rows.len()
    }

    fn id(&self, row: usize) -> &str {
        self.assembly.tree.levels[self.depth].id(self.rows[row])
    }

    fn data(&self, row: usize) -> SampleData<'_> {
        match &self.assembly.levels[self.depth].sources[self.rows[row] as usize] {
            RowSource::Folder => SampleData::Folder,
            RowSource::Bytes(bytes) => SampleData::Bytes(bytes),
            RowSource::Asset { path, size, modified } => SampleData::Asset(path, *size, *modified),
        }
    }

    fn below(&self, row: usize) -> Option<Self> {
        let (level, row) = (&self.assembly.tree.levels[self.depth], self.rows[row]);
        let children = || Self { assembly: self.assembly, depth: self.depth + 1, rows: level.children(row).into() };
        level.folder[row as usize].then(children)
    }

    fn columns(&self, rows: &[usize]) -> Result<Vec<(String, ArrayRef)>> {
        let batch = &self.assembly.levels[self.depth].batch;
        let chosen: UInt32Array = rows.iter().map(|&row| self.rows[row]).collect::<Vec<_>>().into();
        let is_whole = chosen.len() == batch.num_rows() && chosen.values().iter().copied().eq(0..chosen.len() as u32);
        // The first two columns are id and type.
        let columns = batch.schema().fields().iter().zip(batch.columns()).skip(2).map(|(field, column)| {
            let values = if is_whole { Ok(column.clone()) } else { take(column, &chosen, None) };
            Ok((field.name().clone(), values.map_err(|error| Error::internal("rows can't be chosen").because(error))?))
        });
        columns.collect()
    }
}
