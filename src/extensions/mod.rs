//! Extensions: columns and collection fields computed from the samples, listed in [`builtin`], with
//! typed options and a schema that is known before the run. Extensions are pure and take a
//! [`JobContext`]; they do not change a dataset. [`ExtensionRun::apply`] returns a new root, from
//! which the draft makes an edit.
//!
//! To add an extension, create a file in its folder and add it to that folder's list `ENTRIES`. In
//! `sample`, each file has its own `ENTRY`, listed in `sample/mod.rs`. In `tortilla` and
//! `collection`, computations are functions in separate files, and most entries are constants in
//! `entries.rs`, which converts options and rows to their arguments.
//!
//! Details that the signatures do not show:
//! - A [`CallTarget`] without positions means every FILE of the level; for an extension that reads
//!   no files ([`SampleExtension::needs_file`] is false), also its FOLDERs.
//! - A [`TortillaView`] contains the targeted rows of the *whole level* in tree order, not of one
//!   FOLDER: groups, cells and splits must be consistent across FOLDERs.
//! - Calls run in order; a call sees the columns of earlier calls of the same run
//!   ([`SampleView::value`]). Consecutive sample extensions on one level run together, so the
//!   pixels are read once for all of them.

pub mod collection;
mod column;
mod declared;
mod join;
mod leakage;
mod options;
pub mod pixel_statistics;
pub mod pooled_statistics;
mod program;
mod registry;
mod run_report;
mod runner;
pub mod sample;
pub mod tortilla;
mod typed_text;
mod value_range;
mod view;

pub use column::ComputedColumn;
pub use join::{
    JoinColumn, JoinLevel, JoinPreview, JoinRow, MatchedLevel, MatchedRows, ProposedType,
    UnmatchedRows, join_preview, match_rows, read_for_draft,
};
pub use leakage::{
    HASH_COLUMN, LOCATION_AND_TIME_COLUMNS, Leak, LeakFacts, LeakPair, LeakSample, Leakage,
    LeakageRequest, OLD_SPLIT_COLUMN, SPLIT_COLUMN, SplitPart, leakage,
};
use options::with_command_words;
pub use options::{OptionKind, OptionSpec, join_command_line, parse_options, split_command_line};
pub use program::Program;
pub use registry::{ExtensionRegistry, builtin};
pub use run_report::RunNote;
pub use runner::{
    ColumnClash, ExtensionRun, Failure, count_kept_failures, find_column_clashes, has_targets,
    make_extensions, may_be_raster, run,
};
pub use value_range::value_range;
pub use view::{SampleView, TortillaView};

use std::path::PathBuf;

use serde_json::Value as Json;

use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::model::{Dataset, FieldSpec, Value, id_matches};

/// The unit that an extension works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ExtensionScope {
    /// Each sample separately.
    Sample,
    /// All samples of a level.
    Tortilla,
    /// The dataset: fields of the collection.
    Collection,
}

/// Registration of an extension.
#[derive(Clone, Copy)]
pub struct ExtensionEntry {
    /// Name in calls, such as `stac`.
    pub name: &'static str,
    /// Title for the user.
    pub title: &'static str,
    /// One sentence about the added columns.
    pub summary: &'static str,
    /// The unit that it works on.
    pub scope: ExtensionScope,
    /// Its options.
    pub options: fn() -> Vec<OptionSpec>,
    /// Creates it from validated options.
    pub make: fn(&Json) -> Result<Extension>,
}

/// An extension with its options.
pub enum Extension {
    /// Of [`ExtensionScope::Sample`].
    Sample(Box<dyn SampleExtension>),
    /// Of [`ExtensionScope::Tortilla`].
    Tortilla(Box<dyn TortillaExtension>),
    /// Of [`ExtensionScope::Collection`].
    Collection(Box<dyn CollectionExtension>),
}

impl Extension {
    /// The program that it starts, with arguments.
    pub fn program(&self) -> Option<&[String]> {
        match self {
            Extension::Sample(extension) => extension.program(),
            Extension::Tortilla(extension) => extension.program(),
            Extension::Collection(extension) => extension.program(),
        }
    }
}

/// An extension that computes columns sample by sample, on several threads.
pub trait SampleExtension: Send + Sync {
    /// The columns, known before the run.
    fn schema(&self) -> Vec<FieldSpec>;

    /// One value per field of the schema.
    ///
    /// # Errors
    /// An error concerns this sample only and becomes a [`Failure`]; its values are null.
    fn compute(&self, sample: &SampleView<'_>, ctx: &JobContext) -> Result<Vec<Value>>;

    /// False when FOLDERs can have these columns as well.
    fn needs_file(&self) -> bool {
        true
    }

    /// False when it also takes files that are no rasters.
    fn needs_raster(&self) -> bool {
        self.needs_file()
    }

    /// True when it has columns of times and no option says where times come from.
    fn lacks_times(&self) -> bool {
        false
    }

    /// The program that it starts, with arguments; it is only started with the user's consent.
    fn program(&self) -> Option<&[String]> {
        None
    }

    /// Batch path for programs with a high start-up cost.
    fn batch(&self) -> Option<&dyn BatchExtension> {
        None
    }
}

/// A sample extension that computes several samples per call.
pub trait BatchExtension: Send + Sync {
    /// Maximum number of samples per batch; at least 1.
    fn size(&self) -> usize;

    /// One result per sample, in order.
    ///
    /// # Errors
    /// An error of the whole batch applies to each of its samples.
    fn compute(
        &self,
        samples: &[&SampleView<'_>],
        ctx: &JobContext,
    ) -> Result<Vec<Result<Vec<Value>>>>;
}

/// An extension whose columns depend on all samples of a level.
pub trait TortillaExtension: Send + Sync {
    /// The columns, known before the run.
    fn schema(&self) -> Vec<FieldSpec>;

    /// One column per field of the schema, each with one value per sample of the view.
    ///
    /// # Errors
    /// An error ends the run.
    fn compute(&self, tortilla: &TortillaView<'_>, ctx: &JobContext) -> Result<Vec<Vec<Value>>>;

    /// The program that it starts, with arguments; it is only started with the user's consent.
    fn program(&self) -> Option<&[String]> {
        None
    }

    /// False when the values of a sample depend on that sample alone, so that parts of a dataset
    /// can be computed separately.
    fn needs_level(&self) -> bool {
        true
    }

    /// False when the values and notes do not depend on this column, of any level.
    fn reads(&self, _column: &str) -> bool {
        true
    }
}

/// An extension that computes fields of the collection.
pub trait CollectionExtension: Send + Sync {
    /// Keys and values in output order.
    ///
    /// # Errors
    /// An error ends the run.
    fn compute(&self, dataset: &Dataset, ctx: &JobContext) -> Result<Vec<(String, Json)>>;

    /// The program that it starts, with arguments; it is only started with the user's consent.
    fn program(&self) -> Option<&[String]> {
        None
    }

    /// False when the fields depend on the options alone.
    fn reads_samples(&self) -> bool {
        true
    }

    /// True when the fields are the extent in space and time of the samples, which is computed for
    /// each part of a dataset.
    fn is_extent(&self) -> bool {
        false
    }
}

/// The programs, with arguments, that these calls start and the user of this session has not agreed
/// to; without duplicates. Calls with invalid options are skipped.
pub fn programs_in(calls: &[ExtensionCall]) -> Vec<Vec<String>> {
    let registry = builtin();
    let mut found: Vec<Vec<String>> = Vec::new();
    for call in calls.iter().filter(|call| !call.schema_only) {
        let Ok(made) = registry.make(&call.extension, &call.options) else {
            continue;
        };
        if let Some(program) = made.program()
            && !crate::consent::allows_program(program)
            && !found.iter().any(|known| known == program)
        {
            found.push(program.to_vec());
        }
    }
    found
}

/// True for a call that starts a program for each sample, agreed to or not.
pub fn starts_program(call: &ExtensionCall) -> bool {
    let made = builtin().make(&call.extension, &call.options);
    made.is_ok_and(|made| matches!(made, Extension::Sample(_)) && made.program().is_some())
}

/// Refuses calls that start programs without the user's consent.
///
/// # Errors
/// [`crate::error::Kind::Usage`] with each program and its arguments.
pub fn need_consent(calls: &[ExtensionCall]) -> Result<()> {
    match programs_in(calls).as_slice() {
        [] => Ok(()),
        programs => Err(not_agreed(programs)),
    }
}

/// The error for programs without consent.
pub(crate) fn not_agreed(programs: &[Vec<String>]) -> Error {
    let listed: Vec<String> = programs
        .iter()
        .map(|program| crate::consent::format_program(program))
        .collect();
    let programs = if listed.len() == 1 {
        "a program"
    } else {
        "programs"
    };
    Error::usage(format!(
        "this starts {programs} that you have not agreed to: {}",
        listed.join("; ")
    ))
    .hint(crate::consent::route().programs_hint())
}

/// A call of an extension, as plain data.
#[derive(
    Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(deny_unknown_fields)]
pub struct ExtensionCall {
    /// Name of the extension.
    pub extension: String,
    /// Its options as a JSON object; null for none.
    #[serde(default)]
    pub options: Json,
    /// The samples to compute.
    #[serde(default)]
    pub target: CallTarget,
    /// Add the columns with nulls, without computing.
    #[serde(default)]
    pub schema_only: bool,
}

impl ExtensionCall {
    /// Visits the values of the options that the extension declares as paths.
    pub fn visit_paths(&mut self, visit: &mut dyn FnMut(&mut PathBuf)) {
        let registry = builtin();
        // An unknown extension is reported when it runs.
        let Ok(entry) = registry.get(&self.extension) else {
            return;
        };
        let Json::Object(given) = &mut self.options else {
            return;
        };
        for spec in (entry.options)()
            .iter()
            .filter(|spec| spec.kind == OptionKind::Path)
        {
            if let Some(Json::String(text)) = given.get_mut(spec.name) {
                let mut path = PathBuf::from(&*text);
                visit(&mut path);
                *text = path.to_string_lossy().into_owned();
            }
        }
    }
}

/// The samples of a call.
#[derive(
    Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(deny_unknown_fields)]
pub struct CallTarget {
    /// Level, from 0.
    #[serde(default)]
    pub level: usize,
    /// Ids, or patterns with `*` and `?`; a pattern with `/` is matched against the whole path.
    /// Empty: every FILE. The columns are added to the whole level in any case, with nulls for
    /// other samples (PIT-2; TACO 2.0, section 5.4).
    #[serde(default)]
    pub positions: Vec<String>,
}

impl CallTarget {
    /// Whether the sample with this path of ids is selected; true without positions.
    pub fn names(&self, ids: &[&str]) -> bool {
        let positions = &self.positions;
        !ids.is_empty()
            && (positions.is_empty() || positions.iter().any(|pattern| path_matches(pattern, ids)))
    }
}

/// A pattern with a slash is of the path, one without is of the last id.
fn path_matches(pattern: &str, ids: &[&str]) -> bool {
    if pattern.contains('/') {
        id_matches(pattern, &ids.join("/"))
    } else {
        ids.last().is_some_and(|id| id_matches(pattern, id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_ids_or_patterns() {
        let target = |positions: &[&str]| CallTarget {
            level: 1,
            positions: positions.iter().map(|p| (*p).to_owned()).collect(),
        };
        assert!(target(&[]).names(&["a", "label"]));
        assert!(target(&["image", "label"]).names(&["a", "label"]));
        assert!(!target(&["lab"]).names(&["a", "label"]));
        assert!(target(&["t*_?.tif"]).names(&["a", "t_07_b.tif"]));
        assert!(!target(&["t*_?.tif"]).names(&["a", "t_07_bb.tif"]));
        assert!(
            target(&["a/*"]).names(&["a", "label"]) && !target(&["b/*"]).names(&["a", "label"])
        );
    }

    #[test]
    fn calls_are_plain_data() {
        let call: ExtensionCall =
            serde_json::from_str(r#"{"extension":"split","target":{"level":1}}"#).expect("reads");
        assert_eq!((call.target.level, call.schema_only), (1, false));
        assert!(
            serde_json::from_str::<ExtensionCall>(r#"{"extension":"split","levle":1}"#).is_err()
        );
    }
}
