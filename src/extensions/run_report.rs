//! What a run has to say beside columns and failures, as data for whoever shows it.

use super::Leakage;

/// One remark of a run.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[serde(tag = "note", rename_all = "snake_case")]
pub enum Note {
    /// What leaks between the parts of a split that was made.
    Leakage(Leakage),
    /// Rows of a table and samples that did not find each other.
    Unmatched {
        /// The table.
        table: String,
        /// Rows that match no sample.
        rows: u64,
        /// The first of their keys.
        row_keys: Vec<String>,
        /// Samples that no row names.
        samples: u64,
        /// The first of their paths.
        sample_paths: Vec<String>,
    },
}

impl Note {
    /// Sentences for people; none when there is nothing to tell.
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
        }
    }
}

fn listed(names: &[String], count: u64) -> String {
    let shown = names.iter().take(5).cloned().collect::<Vec<_>>().join(", ");
    if count > 5 { format!("{shown}, …") } else { shown }
}
