//! Notes of an extension run, in addition to columns and failures, as data.

use super::Leakage;

/// One note.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[serde(tag = "note", rename_all = "snake_case")]
pub enum RunNote {
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
    /// Columns without a value, by the nature of the samples.
    Absent {
        /// The extension.
        extension: String,
        /// The columns.
        columns: Vec<String>,
        /// Why, as a sentence.
        reason: String,
        /// Number of samples.
        samples: u64,
        /// Paths of the first of them.
        sample_paths: Vec<String>,
    },
    /// Which variable was read of files with several.
    Variable {
        /// Such as `temp, the first of 2 variables: temp, wind`.
        read: String,
        /// Number of samples.
        samples: u64,
        /// Paths of the first of them.
        sample_paths: Vec<String>,
    },
    /// A column that could not be computed, while others of the extension could: it keeps what it
    /// had.
    Failed {
        /// The extension.
        extension: String,
        /// The column.
        column: String,
        /// Why.
        reason: String,
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

/// Notes with which a new one is compared.
const NOTES_COMPARED: usize = 100;
/// Paths kept in a note.
const PATHS_KEPT: usize = 20;

impl RunNote {
    /// Adds a note about one sample to `notes`: the sample joins the note that says the same.
    pub(super) fn add_to(self, notes: &mut Vec<RunNote>) {
        for note in notes.iter_mut().rev().take(NOTES_COMPARED) {
            let (count, paths, more) = match (note, &self) {
                (
                    RunNote::Absent {
                        extension,
                        columns,
                        reason,
                        samples,
                        sample_paths,
                    },
                    RunNote::Absent {
                        extension: by,
                        columns: of,
                        reason: why,
                        sample_paths: more,
                        ..
                    },
                ) if extension == by && columns == of && reason == why => {
                    (samples, sample_paths, more)
                }
                (
                    RunNote::Variable {
                        read,
                        samples,
                        sample_paths,
                    },
                    RunNote::Variable {
                        read: other,
                        sample_paths: more,
                        ..
                    },
                ) if read == other => (samples, sample_paths, more),
                _ => continue,
            };
            *count += more.len() as u64;
            let room = PATHS_KEPT.saturating_sub(paths.len());
            paths.extend(more.iter().take(room).cloned());
            return;
        }
        notes.push(self);
    }

    /// True for a note about what failed.
    pub fn is_failure(&self) -> bool {
        matches!(self, RunNote::Failed { .. })
    }

    /// Sentences for the user; may be empty.
    pub fn lines(&self) -> Vec<String> {
        match self {
            RunNote::Leakage(leakage) => leakage
                .lines()
                .into_iter()
                .map(|line| format!("the split leaks: {line}"))
                .collect(),
            RunNote::Unmatched {
                table,
                rows,
                row_keys,
                samples,
                sample_paths,
            } => {
                let mut lines = Vec::new();
                if *rows > 0 {
                    lines.push(format!(
                        "{rows} rows of {table} match no sample: {}",
                        join_first_names(row_keys, *rows)
                    ));
                }
                if *samples > 0 {
                    lines.push(format!(
                        "{samples} samples are in no row of {table}: {}",
                        join_first_names(sample_paths, *samples)
                    ));
                }
                lines
            }
            RunNote::Absent {
                columns,
                reason,
                samples,
                sample_paths,
                ..
            } => {
                vec![format!(
                    "no {} of {}: {reason}",
                    columns.join(", "),
                    join_first_names(sample_paths, *samples)
                )]
            }
            RunNote::Variable {
                read,
                samples,
                sample_paths,
            } => {
                vec![format!(
                    "read was {read} ({})",
                    join_first_names(sample_paths, *samples)
                )]
            }
            RunNote::Failed {
                extension,
                column,
                reason,
            } => {
                vec![format!(
                    "{extension} could not compute {column}, which keeps what it had: {reason}"
                )]
            }
            RunNote::NoTimes { extension, level } => vec![format!(
                "{extension} was given no source of times, so its columns of times on level \
                    {level} hold null: give time_start, \
                 time_pattern or time_column"
            )],
            RunNote::Reading { warnings } => warnings.clone(),
        }
    }
}

fn join_first_names(names: &[String], count: u64) -> String {
    let shown = names.iter().take(5).cloned().collect::<Vec<_>>().join(", ");
    if count > 5 {
        format!("{shown}, …")
    } else {
        shown
    }
}
