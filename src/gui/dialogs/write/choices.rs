//! Options of the write dialog as typed, and their conversion to the options of the command.

use crate::container::{BuildOptions, Format, OnDamage, Parts, parse_size};
use crate::gui::dropped_paths;
use crate::ops::Depth;
use crate::table::{Compression, ParquetOptions};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteContainer {
    Zip,
    /// Several ZIPs and an index.
    Parts,
    Folder,
}

/// How the dataset is split into parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartSplit {
    /// By bytes of data.
    Size,
    /// By the values of a column of level 0.
    Column,
    None,
}

/// What the code of the result is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeKind {
    /// The official reader.
    Python,
    /// The official reader with a statement.
    Sql,
    /// The module `taco_studio`.
    Module,
    /// A training loop.
    PyTorch,
}

impl CodeKind {
    pub const ALL: [Self; 4] = [Self::Python, Self::Sql, Self::Module, Self::PyTorch];

    pub fn name(self) -> &'static str {
        match self {
            Self::Python => "Python",
            Self::Sql => "SQL",
            Self::Module => "taco_studio",
            Self::PyTorch => "PyTorch",
        }
    }
}

/// Options of the dialog, as typed.
pub struct Choices {
    pub container: WriteContainer,
    /// Destination.
    pub target: String,
    /// How the dataset is split into parts.
    pub split: PartSplit,
    /// Bytes of a part: `4GB`.
    pub size: String,
    /// The column to split by.
    pub column: String,
    /// Compression of the tables.
    pub compression: Compression,
    /// Compression level; empty for the default.
    pub level: String,
    /// Rows of a row group.
    pub rows: String,
    /// Write TACOLLECTION.json as well.
    pub collection_file: bool,
    /// Compare after writing.
    pub verify: bool,
    /// Depth of the comparison.
    pub depth: Depth,
    /// Replace an existing destination.
    pub replace: bool,
}

impl Choices {
    /// The options of the command, or why the input is invalid.
    pub fn options(&self) -> Result<BuildOptions, String> {
        let rows = self
            .rows
            .chars()
            .filter(|letter| !letter.is_whitespace())
            .collect::<String>();
        let level = self.level.trim();
        let parquet =
            ParquetOptions {
                compression: self.compression,
                level: match level {
                    "" => None,
                    level => Some(level.parse().map_err(|_| {
                        tr!("The compression level has to be a number.").to_owned()
                    })?),
                },
                row_group_rows: rows
                    .parse()
                    .map_err(|_| tr!("The row group has to be a number of rows.").to_owned())?,
                ..ParquetOptions::default()
            };
        parquet.check().map_err(|error| format!("{error}."))?;
        let parts = match self.container {
            WriteContainer::Parts => {
                let mut parts = Parts {
                    consolidate: vec![Format::Tacocat],
                    ..Parts::default()
                };
                if self.collection_file {
                    parts.consolidate.push(Format::Tacollection);
                }
                match self.split {
                    PartSplit::Size => {
                        parts.size_bytes =
                            Some(parse_size(&self.size).map_err(|error| format!("{error}."))?)
                    }
                    PartSplit::Column if self.column.is_empty() => {
                        return Err(tr!("Choose the column that the parts go by.").into());
                    }
                    PartSplit::Column => parts.group_by = vec![self.column.clone()],
                    PartSplit::None => {}
                }
                Some(parts)
            }
            _ => None,
        };
        let format = if self.container == WriteContainer::Folder {
            Format::Folder
        } else {
            Format::Zip
        };
        let target = dropped_paths::parse_path(&self.target);
        // Parts are named after a file in the chosen folder.
        let target = match self.container {
            WriteContainer::Parts => target.join(format!("{}.tacozip", name_of(&target))),
            _ => target,
        };
        Ok(BuildOptions {
            text_columns: false,
            target,
            format,
            parquet,
            overwrite: self.replace,
            parts,
            on_damage: OnDamage::Stop,
        })
    }
}

fn name_of(folder: &std::path::Path) -> String {
    folder
        .file_name()
        .map_or("dataset".into(), |name| name.to_string_lossy().into_owned())
}
