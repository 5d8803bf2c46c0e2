//! Chooses the key column of a metadata table by the samples that its texts name.

use std::path::PathBuf;

use super::LevelTable;
use super::key_forms::{KeyEndings, KeyProbe, PROBED, key_texts, normal_key};
use super::key_names::{KEYS, key_name};
use crate::error::{Error, Result};

/// Number of other columns that are compared with the key.
const COMPARED_KEYS: usize = 3;

/// Contents of the key column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum JoinBy {
    /// The kind that names more samples.
    #[default]
    Auto,
    /// The path of ids from the root: `roi_1/before.tif`.
    Path,
    /// The id alone; matches every sample with this id.
    Id,
}

/// Table and key of a join.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct JoinRequest {
    /// CSV, .xlsx, .ods, JSON or Parquet file.
    pub table: PathBuf,
    /// The key column; `None`: the one that names most samples.
    pub key: Option<String>,
    /// Contents of the key column.
    pub by: JoinBy,
}

/// Calls its argument with path and id of every sample.
pub type ShowSamples<'a> = dyn Fn(&mut dyn FnMut(&str, &str)) -> Result<()> + 'a;

/// The column of a table that names most samples.
pub(super) struct KeyChoice {
    pub column: String,
    /// True when its texts are paths, false when they are ids.
    pub by_path: bool,
    /// True when a text names a sample.
    pub names_samples: bool,
    /// Other columns that name as many samples, and whether by path.
    pub others: Vec<(String, bool)>,
}

/// A column read as paths or as ids.
struct KeyReading<'t> {
    column: &'t str,
    by_path: bool,
    /// Number of texts that name samples.
    hits: usize,
    /// Position among the usual names of keys, from the least usual; 0 for other names.
    usual: usize,
}

impl KeyChoice {
    /// Compares the columns by the samples that the texts of their first rows name, or of all rows
    /// where those name none. Among equals the one with the more usual name is the key; a path
    /// comes before an id, as ids need not be unique.
    ///
    /// # Errors
    /// [`Kind::Usage`](crate::error::Kind::Usage) for a table whose columns are no texts; else as
    /// `show_samples`.
    pub fn find(
        table: &LevelTable,
        request: &JoinRequest,
        show_samples: &ShowSamples<'_>,
    ) -> Result<Self> {
        let names: Vec<String> = table.fields().into_iter().map(|field| field.name).collect();
        let usual = request.key.as_deref().or_else(|| key_name(&names, &KEYS));
        let by_path = request.by != JoinBy::Id;
        let head = table.head(PROBED);
        if let Some(found) = Self::find_among_rows(&head, &names, request, show_samples)? {
            return Ok(found);
        }
        if table.rows() > PROBED
            && let Some(found) = Self::find_among_rows(table, &names, request, show_samples)?
        {
            return Ok(found);
        }
        let is_text = |name: &&String| head.strings(name).is_ok_and(|texts| texts.is_some());
        let column = usual.or_else(|| names.iter().find(is_text).map(String::as_str));
        let column = column.ok_or_else(|| {
            Error::usage("no column of the table can name samples").at_path(&request.table)
        })?;
        Ok(Self {
            column: column.to_owned(),
            by_path,
            names_samples: false,
            others: Vec::new(),
        })
    }

    /// `None` when no text names a sample.
    fn find_among_rows(
        table: &LevelTable,
        names: &[String],
        request: &JoinRequest,
        show_samples: &ShowSamples<'_>,
    ) -> Result<Option<Self>> {
        let (mut probes, mut endings) = (Vec::new(), KeyEndings::default());
        let is_candidate = |name: &&String| request.key.as_ref().is_none_or(|key| key == *name);
        for name in names.iter().filter(is_candidate) {
            // Lists and structs have no texts.
            let Ok(Some(keys)) = table.strings(name) else {
                continue;
            };
            let keys = keys.iter().map(|key| Some(normal_key(key?))).collect();
            let keys = key_texts(&keys).map(|(_, key)| key);
            probes.push((name.as_str(), KeyProbe::new(keys, &mut endings)));
        }
        show_samples(&mut |path, id| endings.see(path, id))?;
        let mut readings = Vec::new();
        for (column, probe) in &probes {
            for by_path in [true, false] {
                let is_allowed = match request.by {
                    JoinBy::Auto => true,
                    JoinBy::Path => by_path,
                    JoinBy::Id => !by_path,
                };
                if is_allowed {
                    readings.push(KeyReading {
                        column,
                        by_path,
                        hits: probe.best_form(&endings, by_path).hits,
                        usual: usual_rank(column),
                    });
                }
            }
        }
        let best = readings
            .iter()
            .rev()
            .max_by_key(|reading| (reading.hits, reading.usual))
            .filter(|reading| reading.hits > 0);
        let Some(best) = best else { return Ok(None) };
        let mut others: Vec<(String, bool)> = Vec::new();
        for other in readings.iter().filter(|other| other.hits == best.hits) {
            let is_known = others.iter().any(|(column, _)| column == other.column);
            if other.column != best.column && !is_known && others.len() < COMPARED_KEYS {
                others.push((other.column.to_owned(), other.by_path));
            }
        }
        Ok(Some(Self {
            column: best.column.to_owned(),
            by_path: best.by_path,
            names_samples: true,
            others,
        }))
    }
}

fn usual_rank(name: &str) -> usize {
    KEYS.iter()
        .rev()
        .position(|key| key.eq_ignore_ascii_case(name))
        .map_or(0, |place| place + 1)
}
