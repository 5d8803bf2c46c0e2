//! Extensions: columns and collection fields computed from the samples. All are gathered in one place ([`builtin`]), with
//! typed options and a schema that is known before it runs. Everything here is plain data or pure work on a
//! [`JobContext`]; nothing here changes a dataset: [`Run::apply`] gives a new root, and the draft makes an edit of it.
//!
//! How to add one: a file in its folder, and a line in that folder's list `ENTRIES`. In `sample` each file has its own `ENTRY`,
//! listed in `sample/mod.rs`. In `tortilla` and `collection` the computations are plain functions in files of their own, and most
//! entries are constants in `entries.rs`, which leads from options and rows to them.
//!
//! Three things that the signatures do not say:
//! - A [`Target`] without positions means every FILE of the level. An extension that does not read files
//!   ([`SampleExtension::needs_file`] is false) then takes the FOLDERs as well.
//! - A [`TortillaView`] holds the targeted rows of the *whole level* in tree order, not of one FOLDER: groups, cells and splits
//!   have to agree across FOLDERs.
//! - Calls run in order; a later call sees the columns that an earlier one of the same run has made ([`SampleView::value`]).
//!   Sample extensions that follow each other on one level run together, so that one reading of the pixels serves all.

pub mod collection;
mod declared;
mod join;
mod leakage;
mod options;
pub mod pixel_statistics;
pub mod pooled_statistics;
mod registry;
mod run_report;
mod runner;
pub mod sample;
pub mod tortilla;
mod view;

pub use join::{JoinBy, JoinColumn, JoinLevel, JoinPreview, JoinRequest, JoinRow, join_preview};
pub use leakage::{
    Facts, GROUND_COLUMNS, HASH_COLUMN, Leak, LeakPair, LeakSample, Leakage, LeakageRequest, OLD_SPLIT_COLUMN, Part, SPLIT_COLUMN,
    leakage,
};
pub use options::{OptionKind, OptionSpec, parse_options};
pub use registry::{Registry, builtin};
pub use run_report::Note;
pub use runner::{Column, Failure, Run, clashes, run};
pub use view::{SampleView, TortillaView};

use serde_json::Value as Json;

use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::model::{Dataset, FieldSpec, Value};

/// What an extension describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Each sample by itself.
    Sample,
    /// The samples of a level together.
    Tortilla,
    /// The dataset: fields of the collection.
    Collection,
}

/// One extension of the list.
#[derive(Clone, Copy)]
pub struct Entry {
    /// What calls name it by, for example `stac`.
    pub name: &'static str,
    /// For people.
    pub title: &'static str,
    /// What it adds, in one sentence.
    pub summary: &'static str,
    /// What it describes.
    pub scope: Scope,
    /// The options that it takes.
    pub options: fn() -> Vec<OptionSpec>,
    /// Makes it from checked options.
    pub make: fn(&Json) -> Result<Made>,
}

/// An extension with its options.
pub enum Made {
    /// Of [`Scope::Sample`].
    Sample(Box<dyn SampleExtension>),
    /// Of [`Scope::Tortilla`].
    Tortilla(Box<dyn TortillaExtension>),
    /// Of [`Scope::Collection`].
    Collection(Box<dyn CollectionExtension>),
}

/// Columns computed sample by sample, on several threads at once.
pub trait SampleExtension: Send + Sync {
    /// The columns, known before anything runs.
    fn schema(&self) -> Vec<FieldSpec>;

    /// One value for each field of the schema. An error is this sample's alone.
    fn compute(&self, sample: &SampleView<'_>, ctx: &JobContext) -> Result<Vec<Value>>;

    /// False when FOLDERs can have these columns as well.
    fn needs_file(&self) -> bool {
        true
    }

    /// The program that it starts, with its arguments: nothing starts that the user has not agreed to.
    fn program(&self) -> Option<&[String]> {
        None
    }

    /// The way to compute many samples at once, for those that are dear to start.
    fn batch(&self) -> Option<&dyn BatchExtension> {
        None
    }
}

/// A sample extension that takes several samples at once.
pub trait BatchExtension: Send + Sync {
    /// Samples in one batch at the most; at least 1.
    fn size(&self) -> usize;

    /// One result for each sample, in order. An error of the whole is every sample's.
    fn compute(&self, samples: &[&SampleView<'_>], ctx: &JobContext) -> Result<Vec<Result<Vec<Value>>>>;
}

/// Columns that depend on all samples of a level.
pub trait TortillaExtension: Send + Sync {
    /// The columns, known before anything runs.
    fn schema(&self) -> Vec<FieldSpec>;

    /// One column for each field of the schema, with one value for each sample of the view.
    fn compute(&self, tortilla: &TortillaView<'_>, ctx: &JobContext) -> Result<Vec<Vec<Value>>>;
}

/// Fields of the collection.
pub trait CollectionExtension: Send + Sync {
    /// Keys and values, in the order in which they are to stand.
    fn compute(&self, dataset: &Dataset, ctx: &JobContext) -> Result<Vec<(String, Json)>>;
}

/// The programs that these calls start which the user of this session has not agreed to, each once with its arguments. Calls that
/// can't be made start nothing.
pub fn programs_in(calls: &[ExtensionCall]) -> Vec<Vec<String>> {
    let registry = builtin();
    let mut found: Vec<Vec<String>> = Vec::new();
    for call in calls.iter().filter(|call| !call.schema_only) {
        let Ok(Made::Sample(extension)) = registry.make(&call.extension, &call.options) else { continue };
        if let Some(program) = extension.program()
            && !crate::consent::allows_program(program)
            && !found.iter().any(|known| known == program)
        {
            found.push(program.to_vec());
        }
    }
    found
}

/// Refuses calls that start programs which the user of this session has not agreed to.
///
/// # Errors
/// [`crate::error::Kind::Usage`] with each program and its arguments.
pub fn need_consent(calls: &[ExtensionCall]) -> Result<()> {
    match programs_in(calls).as_slice() {
        [] => Ok(()),
        programs => Err(not_agreed(programs)),
    }
}

/// The error for programs that nobody has agreed to.
pub(crate) fn not_agreed(programs: &[Vec<String>]) -> Error {
    let listed: Vec<String> = programs.iter().map(|program| crate::consent::described(program)).collect();
    let programs = if listed.len() == 1 { "a program" } else { "programs" };
    Error::usage(format!("this starts {programs} that you have not agreed to: {}", listed.join("; ")))
        .hint("if you trust what is named, run it again with --allow-commands")
}

/// One extension to run, as plain data.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExtensionCall {
    /// The extension's name.
    pub extension: String,
    /// Its options, a JSON object; null for none.
    #[serde(default)]
    pub options: Json,
    /// Where.
    #[serde(default)]
    pub target: Target,
    /// Adds the columns with nulls, without computing.
    #[serde(default)]
    pub schema_only: bool,
}

/// The samples that a call is for.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// The level, from 0.
    #[serde(default)]
    pub level: usize,
    /// Ids of that level, or patterns with `*` and `?`; with a `/` in it a pattern is held against the whole path. Empty for
    /// every FILE. The columns are added to the whole level in any case, with nulls elsewhere (PIT-2).
    #[serde(default)]
    pub positions: Vec<String>,
}

impl Target {
    /// Whether the sample with this path is meant by name; true for all without positions.
    pub fn names(&self, ids: &[&str]) -> bool {
        let Some(id) = ids.last() else { return false };
        let matched = |pattern: &String| match pattern.contains('/') {
            true => glob(pattern, &ids.join("/")),
            false => glob(pattern, id),
        };
        self.positions.is_empty() || self.positions.iter().any(matched)
    }
}

/// `*` is any text, `?` any one character. Linear in the text for each star.
fn glob(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut p, mut t) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some('*') => {
                retry = Some((p, t));
                p += 1;
            }
            Some(&c) if c == '?' || c == text[t] => {
                p += 1;
                t += 1;
            }
            _ => {
                let Some((star, from)) = retry else { return false };
                retry = Some((star, from + 1));
                p = star + 1;
                t = from + 1;
            }
        }
    }
    pattern[p..].iter().all(|&c| c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_ids_or_patterns() {
        let target = |positions: &[&str]| Target { level: 1, positions: positions.iter().map(|p| (*p).to_owned()).collect() };
        assert!(target(&[]).names(&["a", "label"]));
        assert!(target(&["image", "label"]).names(&["a", "label"]));
        assert!(!target(&["lab"]).names(&["a", "label"]));
        assert!(target(&["t*_?.tif"]).names(&["a", "t_07_b.tif"]));
        assert!(!target(&["t*_?.tif"]).names(&["a", "t_07_bb.tif"]));
        assert!(target(&["a/*"]).names(&["a", "label"]) && !target(&["b/*"]).names(&["a", "label"]));
    }

    #[test]
    fn calls_are_plain_data() {
        let call: ExtensionCall = serde_json::from_str(r#"{"extension":"split","target":{"level":1}}"#).expect("reads");
        assert_eq!((call.target.level, call.schema_only), (1, false));
        assert!(serde_json::from_str::<ExtensionCall>(r#"{"extension":"split","levle":1}"#).is_err());
    }
}
