//! Locations of findings.

use std::fmt;

use super::SamplePath;

/// Location of a finding.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Location {
    /// The dataset as a whole.
    #[default]
    Dataset,
    /// A field of the collection: a JSON pointer without leading slash, such as
    /// `providers/0/email`.
    Collection(String),
    /// A column of a level.
    Column {
        /// The level.
        level: usize,
        /// The column's name.
        name: String,
    },
    /// A whole level.
    Level(usize),
    /// A sample. The row identifies it in tables, the path is for users.
    Sample {
        /// Its level.
        level: usize,
        /// Its row in the level table.
        row: u32,
        /// Its ids from the root.
        path: SamplePath,
    },
    /// A member of an archive, or a file of a folder.
    Member(String),
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Location::Dataset => f.write_str(tr!("dataset")),
            Location::Collection(field) if field.is_empty() => f.write_str("COLLECTION.json"),
            Location::Collection(field) => write!(f, "COLLECTION.json {field}"),
            Location::Column { level, name } => write!(f, "level{level} {name}"),
            Location::Level(level) => write!(f, "level{level}"),
            Location::Sample { path, .. } => path.fmt(f),
            Location::Member(name) => f.write_str(name),
        }
    }
}
