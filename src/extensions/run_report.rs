//! Notes of an extension run, in addition to columns and failures, as data.

use super::Leakage;

/// One note.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[serde(tag = "note", rename_all = "snake_case")]
pub enum Note {
    /// Leakage between the parts of a new split.
    Leakage(Leakage),
    /// Rows of a table without a sample, and samples without a row.
    Unmatched {
        /// The table.
        table: String,
        /// Number of rows that match no sample.
        rows: u64,
        /// Keys of the first of these rows.
        row_keys: Vec<String>,
        /// Number of samples without a row.
        samples: u64,
        /// Paths of the first of these samples.
        sample_paths: Vec<String>,
    },
    /// An extension that fills columns of times was given no source of times.
    NoTimes {
        /// The extension.
        extension: String,
        /// The level.
        level: usize,
    },
    /// How a table was read.
    Reading {
        /// Sentences, such as that a column is text because of one value.
        warnings: Vec<String>,
    },
}

impl Note {
    /// Sentences for the user; may be empty.
    pub fn lines(&self) -> Vec<String> {
        match self {
            Note::Leakage(leakage) => leakage.lines().into_iter().map(|line| format!("the split leaks: {line}")).collect(),
            Note::Unmatched { table, rows, row_keys, samples, sample_paths } => {
                let mut lines = Vec::new();
                if *rows > 0 {
                    lines.push(format!("{rows} rows of {table} match no sample: {}", listed(row_keys, *rows)));
                }
                if *samples > 0 {
                    lines.push(format!("{samples} samples are in no row of {table}: {}", listed(sample_paths, *samples)));
                }
                lines
            }
            Note::NoTimes { extension, level } => vec![format!(
                "{extension} was given no source of times, so its columns of times on level {level} hold null: give time_start, \
                 time_pattern or time_column"
            )],
            Note::Reading { warnings } => warnings.clone(),
        }
    }
}

fn listed(names: &[String], count: u64) -> String {
    let shown = names.iter().take(5).cloned().collect::<Vec<_>>().join(", ");
    if count > 5 { format!("{shown}, …") } else { shown }
}
