//! A metadata table of a user as it was read, and what readers of all forms share: the limits of
//! its columns and cells, the names of columns, and how their texts are read.

use std::collections::{HashMap, HashSet};

use super::LevelTable;
use super::footer::COLUMNS_MAX;
use crate::error::{Error, Result};
use crate::model::find_free_name;
use crate::text::list_first;

/// Number of cells that a text table may have independent of its size.
pub(super) const CELLS_FREE: u64 = 1 << 22;
/// Maximum number of names in a warning.
const RENAMED_SHOWN: usize = 8;
/// Name of an index column without a name, as pandas writes it to Parquet.
pub const INDEX_COLUMN: &str = "__index_level_0__";

/// A table as it was read.
#[derive(Clone, Debug)]
pub struct MetadataTable {
    /// Its columns.
    pub table: LevelTable,
    /// The columns of an object of objects of JSON whose names may be those of columns instead of
    /// samples.
    pub by_column: Option<LevelTable>,
    /// What the user should know about the reading, such as a column that is text because of one
    /// value.
    pub warnings: Vec<String>,
}

/// How the texts of a CSV column are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnReading {
    /// As the type that all of them have, else as texts.
    Inferred,
    /// As texts; those of missing values are null.
    Text,
    /// As texts, all of which are values: keys.
    ExactText,
}

/// Checks the number of columns.
pub(super) fn check_width(columns: usize) -> Result<()> {
    if columns as u64 <= COLUMNS_MAX {
        Ok(())
    } else {
        Err(Error::too_large(format!(
            "the metadata table has {columns} columns; {COLUMNS_MAX} is the most"
        )))
    }
}

/// Puts a number behind the names that a column before has already; several may have none. Returns
/// a warning that lists them.
pub(super) fn number_repeated_names(names: &mut [String]) -> Option<String> {
    let mut known: HashSet<String> = names.iter().cloned().collect();
    if known.len() == names.len() {
        return None;
    }
    let mut numbers: HashMap<String, usize> = HashMap::new();
    let mut renamed = Vec::new();
    for name in names.iter_mut().filter(|name| !name.is_empty()) {
        let Some(number) = numbers.get_mut(name) else {
            numbers.insert(name.clone(), 2);
            continue;
        };
        let mut free = format!("{name}_{number}");
        while known.contains(&free) {
            *number += 1;
            free = format!("{name}_{number}");
        }
        *number += 1;
        renamed.push(free.clone());
        known.insert(free.clone());
        *name = free;
    }
    (!renamed.is_empty()).then(|| {
        format!(
            "columns of the metadata table have the name of another one, and get a number: {}",
            list_first(renamed, RENAMED_SHOWN)
        )
    })
}

/// A name for the column at `index`, whose own is missing or refused.
pub(super) fn name_column_by_place(names: &[String], index: usize) -> String {
    let name = format!("column_{}", index + 1);
    find_free_name(&name, |name| !names.iter().any(|other| other == name))
}
