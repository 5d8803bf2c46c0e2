//! Extensions over a draft or a written dataset.

use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};

use super::fork::draft_of;
use super::operation::{Operation, OperationOutput, PathUse, PathVisitor, visit_read_dataset};
use super::write::checked_build_of;
use crate::container::{self, BuildOptions, Built, OpenOptions};
use crate::draft::Edit;
use crate::error::{Error, Result};
use crate::extensions::{self, ExtensionCall, ExtensionRun, Failure, RunNote, builtin};
use crate::jobs::{JobContext, release};
use crate::model::{Dataset, NodePath};

/// Runs extensions over a written dataset and writes it with their columns and fields. Plain data.
///
/// # Errors
/// Those of opening the dataset, of [`extend_draft`] and of
/// [`checked_build`](super::checked_build). Then nothing is written.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub struct ExtendRequest {
    /// The dataset.
    pub input: PathBuf,
    /// How to open it.
    #[serde(default)]
    pub open: OpenOptions,
    /// The extensions, in order.
    pub calls: Vec<ExtensionCall>,
    /// Replace columns of the same name.
    #[serde(default)]
    pub replace: bool,
    /// Where and how to write.
    pub options: BuildOptions,
}

impl Operation for ExtendRequest {
    type Output = Extended<Built>;

    fn label(&self) -> String {
        let mut names: Vec<&str> = self
            .calls
            .iter()
            .map(|call| call.extension.as_str())
            .collect();
        names.dedup();
        tr!("Add {name}", name = names.join(", "))
    }

    fn visit_paths(&mut self, visit: &mut PathVisitor<'_>) {
        visit_read_dataset(&mut self.input, &mut self.open, visit);
        self.calls
            .iter_mut()
            .for_each(|call| call.visit_paths(&mut |path| visit(PathUse::Read, path)));
        visit(PathUse::Write, &mut self.options.target);
    }

    fn programs(&self) -> Vec<Vec<String>> {
        extensions::programs_in(&self.calls)
    }

    fn run(&self, ctx: &JobContext) -> Result<Extended<Built>> {
        extend(self, ctx)
    }
}

impl OperationOutput for Extended<Built> {
    fn to_json(&self) -> Json {
        let failed: Vec<Json> = self
            .failures
            .iter()
            .map(|failure| {
                let sample = failure.path.to_archive();
                json!({
                    "extension": failure.extension,
                    "sample": sample,
                    "error": failure.error,
                    "kept": failure.kept,
                })
            })
            .collect();
        let path = self.outcome.path.display().to_string();
        let mut json = json!({
            "path": path, "samples": self.outcome.samples, "computed": self.computed,
            "failures": failed, "notes": self.notes
        });
        if !self.outcome.damaged.is_empty() {
            json["damaged"] = json!(self.outcome.damaged);
        }
        json
    }

    fn summary(&self) -> String {
        self.outcome.summary()
    }

    fn output_paths(&self) -> Vec<&Path> {
        self.outcome.output_paths()
    }

    fn built_dataset(&self) -> Option<&Built> {
        Some(&self.outcome)
    }

    fn is_sound(&self) -> bool {
        !self.has_failures() && self.outcome.is_sound()
    }
}

/// What extensions computed; `T` is what came of it: edits of a draft, or a written dataset.
#[derive(Clone, Debug)]
pub struct Extended<T> {
    /// Edits or dataset.
    pub outcome: T,
    /// Samples computed without a failure, counted once for each call.
    pub computed: u64,
    /// Samples whose values are null because they failed.
    pub failures: Vec<Failure>,
    /// Remarks of the extensions.
    pub notes: Vec<RunNote>,
}

impl<T> Extended<T> {
    /// True when a sample or a whole column could not be computed.
    pub fn has_failures(&self) -> bool {
        !self.failures.is_empty() || self.notes.iter().any(RunNote::is_failure)
    }
}

/// Runs extensions over a draft; returns the edits that add their columns and fields. The job can
/// be paused.
///
/// # Errors
/// For unknown extensions and options, programs that nobody agreed to, columns that exist without
/// `replace`, and cancel. Failures of single samples are listed instead.
pub fn extend_draft(
    dataset: &Dataset,
    calls: &[ExtensionCall],
    replace: bool,
    ctx: &JobContext,
) -> Result<Extended<Vec<Edit>>> {
    let run = run_extensions(dataset, calls, replace, ctx)?;
    let mut edits = Vec::new();
    if has_columns(&run) {
        edits.push(Edit::ReplaceTortilla {
            tortilla: NodePath::root(),
            with: run.apply(dataset.root.clone(), replace)?,
        });
    }
    edits.extend(collection_edits(run.collection));
    ctx.check()?;
    Ok(Extended {
        outcome: edits,
        computed: run.computed,
        failures: run.failures,
        notes: run.notes,
    })
}

fn run_extensions(
    dataset: &Dataset,
    calls: &[ExtensionCall],
    replace: bool,
    ctx: &JobContext,
) -> Result<ExtensionRun> {
    let registry = builtin();
    if !replace {
        let clashes: Vec<String> = extensions::find_column_clashes(dataset, calls, &registry)?
            .iter()
            .map(ToString::to_string)
            .collect();
        if !clashes.is_empty() {
            let error = Error::usage(format!(
                "these columns are there already: {}",
                clashes.join(", ")
            ));
            return Err(error.hint("replace them (--replace), or remove them first"));
        }
    }
    // A pool of its own, so that a paused run does not block other work.
    ctx.allow_pause();
    let pool = rayon::ThreadPoolBuilder::new().build();
    let pool = pool.map_err(|error| {
        Error::internal("could not start threads for the extensions").because(error)
    })?;
    pool.install(|| extensions::run(dataset, calls, &registry, ctx))
}

fn has_columns(run: &ExtensionRun) -> bool {
    run.columns.iter().any(|columns| !columns.is_empty())
}

fn collection_edits(fields: Vec<(String, Json)>) -> impl Iterator<Item = Edit> {
    fields.into_iter().map(|(key, value)| Edit::SetCollection {
        key,
        value: Some(value),
    })
}

fn extend(input: &ExtendRequest, ctx: &JobContext) -> Result<Extended<Built>> {
    container::detect(&input.input)?;
    // What the request alone decides, before the dataset is read.
    input.options.refuse_existing_target()?;
    extensions::make_extensions(&input.calls, &builtin())?;
    let reader = container::open_with(&input.input, &input.open, ctx)?;
    let mut dataset = draft_of(reader.as_ref(), ctx)?;
    let version = reader.opening().version.clone();
    // The draft has what is written of the tables.
    release(reader);
    let run = run_extensions(&dataset, &input.calls, input.replace, ctx)
        .map_err(|error| version.explain(error))?;
    if has_columns(&run) {
        let root = std::mem::take(&mut dataset.root);
        dataset.root = run.apply(root, input.replace)?;
    }
    let ExtensionRun {
        columns,
        collection,
        failures,
        computed,
        notes,
    } = run;
    release(columns);
    for edit in collection_edits(collection) {
        edit.apply(&mut dataset)?;
    }
    ctx.check()?;
    let built = checked_build_of(dataset, &version, &input.options, ctx)?;
    Ok(Extended {
        outcome: built,
        computed,
        failures,
        notes,
    })
}
