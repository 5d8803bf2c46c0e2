//! Commands: plain data, so that they can be logged, replayed from a file and tested.

use std::path::PathBuf;

use serde_json::Value as Json;

use super::ConsistencySettings;
use crate::container::{BuildOptions, ConsolidateOptions, OpenOptions, TortillaOptions};
use crate::draft::{Edit, Example, PatternChoice, Slot};
use crate::extensions::{ExtensionCall, LeakageRequest};
use crate::jobs::JobId;
use crate::model::{NodePath, Profile};
use crate::ops;
use crate::query::{Filter, Query};

/// A change of the open document, or an operation that writes a file. Scripts and logs store commands as JSON.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(tag = "command", rename_all = "snake_case")]
pub enum Command {
    /// Opens an empty draft.
    New,
    /// Opens a dataset for reading.
    Open {
        /// File or folder.
        path: PathBuf,
    },
    /// Opens a dataset with options, or several as one.
    OpenWith {
        /// File or folder; the first of several.
        path: PathBuf,
        /// Folder of the parts, datasets to join, and the join of their columns.
        #[serde(default)]
        options: Box<OpenOptions>,
    },
    /// Sets endpoints, regions and credentials for remote storage. A token is used but neither logged nor stored.
    Connect {
        /// Connection settings.
        access: crate::remote::Access,
    },
    /// Reports the size of the remote cache, or clears it.
    RemoteCache {
        /// True clears the cache.
        clear: bool,
    },
    /// Closes the document.
    Close,
    /// Turns the opened dataset into a draft; samples refer to their current location.
    Fork,
    /// Adds files and folders to the draft, or to a new one: folders become FOLDERs, files FILEs.
    Import {
        /// Files and folders to add.
        paths: Vec<PathBuf>,
        /// The FOLDER to add to; empty for the root.
        #[serde(default)]
        into: NodePath,
        /// A CSV, JSON or Parquet table to join by relative path.
        #[serde(default)]
        metadata: Option<PathBuf>,
    },
    /// Adds the files of a folder to the roots of the draft, or of a new one, arranged by a layout; files without a place go into the tray.
    ImportLayout {
        /// The folder, its layout and what is left out.
        #[serde(flatten)]
        request: ops::LayoutRequest,
    },
    /// Adds the samples of a dataset of any generation to the draft, or to a new one, with their metadata.
    ImportDataset {
        /// The dataset, where it goes, and what it becomes.
        #[serde(flatten)]
        request: ops::DatasetImport,
    },
    /// Replaces the collection with that of a COLLECTION.json.
    ImportCollection {
        /// The file.
        path: PathBuf,
    },
    /// Applies an edit to the draft.
    Edit {
        /// The edit.
        #[serde(flatten)]
        edit: Edit,
    },
    /// Runs extensions over the draft. The results become one edit; a stopped run changes nothing.
    Extend {
        /// Extension calls, in order.
        calls: Vec<ExtensionCall>,
        /// Replace existing columns of the same name.
        #[serde(default)]
        replace: bool,
    },
    /// Adds files, and all files in folders, to the tray of unplaced files.
    AddToTray {
        /// Files and folders.
        paths: Vec<PathBuf>,
    },
    /// Adds the files of a folder to the tray, and from then on each new file once it is complete.
    Watch {
        /// The folder.
        folder: PathBuf,
    },
    /// Stops watching a folder.
    Unwatch {
        /// The folder.
        folder: PathBuf,
    },
    /// Removes files from the tray.
    RemoveFromTray {
        /// Paths of the files.
        files: Vec<PathBuf>,
    },
    /// Places a file of the tray.
    PlaceUnplaced {
        /// The file.
        file: PathBuf,
        /// Target position.
        slot: Slot,
    },
    /// Infers the file-name pattern from example placements; result: [`Event::PatternFound`](super::Event::PatternFound).
    FindPattern {
        /// Files with their positions.
        examples: Vec<Example>,
    },
    /// Places all files of the tray that match the inferred pattern, in one edit.
    PlaceByPattern {
        /// Files with their positions.
        examples: Vec<Example>,
        /// Index of the alternative; optional if there is only one.
        #[serde(default)]
        alternative: Option<usize>,
    },
    /// Computes the fixes of a finding of the last check; result: [`Event::FixesFound`](super::Event::FixesFound).
    FindFixes {
        /// Index of the finding in the report.
        finding: usize,
    },
    /// Applies a fix of a finding of the last check.
    ApplyFix {
        /// Index of the finding in the report.
        finding: usize,
        /// Index of the fix, best first.
        fix: usize,
    },
    /// Makes the sidecars of the draft's rasters samples beside them, in one edit.
    PackSidecars,
    /// Replaces the draft's GeoTIFFs that have sidecars by copies that contain what these hold, in one edit.
    BurnInSidecars {
        /// New folder for the copies.
        copies: PathBuf,
    },
    /// Moves all roots of one shape from the draft to a new project.
    SplitOff {
        /// One of the roots.
        root: usize,
        /// Path of the new project.
        path: PathBuf,
    },
    /// Saves the draft as a project.
    SaveProject {
        /// Target file; `None`: the file that it was opened from or saved to.
        #[serde(default)]
        path: Option<PathBuf>,
        /// State of the window, stored in the project; `None` keeps the stored state.
        #[serde(default)]
        view: Option<Json>,
        /// Whether to replace an existing file. `None` replaces it unless it is the draft's own file and another program changed
        /// it.
        #[serde(default)]
        overwrite: Option<bool>,
    },
    /// Opens a project.
    OpenProject {
        /// The file.
        path: PathBuf,
    },
    /// Opens an autosaved draft, see [`recoverable`](super::recoverable).
    Restore {
        /// The journal.
        path: PathBuf,
    },
    /// Deletes an autosaved draft.
    Forget {
        /// The journal.
        path: PathBuf,
    },
    /// Runs the project's stored extension calls; existing columns are replaced.
    RunRecipe,
    /// Stores extension calls in the project.
    SetRecipe {
        /// The calls, in order.
        recipe: Vec<ExtensionCall>,
    },
    /// Applies all safe fixes, which remove nothing, in one edit.
    FixSafe,
    /// Sets the pattern with which roots are compared.
    ChoosePattern {
        /// The most frequent shape, or the shape of a root.
        choice: PatternChoice,
    },
    /// Undoes the last edit.
    Undo,
    /// Redoes the last undone edit.
    Redo,
    /// Decodes the table of a level of the opened dataset.
    LoadLevel {
        /// The level.
        level: usize,
    },
    /// Checks the document.
    Validate {
        /// Reads every member and compares its CRC-32.
        #[serde(default)]
        deep: bool,
        /// Which rules apply where the specification and the tools differ; default: those of the tools.
        #[serde(default)]
        profile: Profile,
    },
    /// Reads the headers of all rasters and compares them by position; the findings then follow every edit.
    CheckConsistency {
        /// True reads headers again that were read before.
        #[serde(default)]
        again: bool,
    },
    /// Changes how rasters are compared by position, and what is accepted.
    SetConsistency {
        /// The complete settings.
        settings: ConsistencySettings,
    },
    /// Runs SQL on the opened dataset after applying filters.
    #[serde(alias = "select")]
    Query {
        /// Filters, statements and limit; tables `data`, `level0`, `l0`, …
        #[serde(flatten)]
        query: Query,
        /// Dataset to query instead of the opened one, which stays open.
        #[serde(default)]
        path: Option<PathBuf>,
    },
    /// Sets the filter for all views of the opened dataset; an empty list removes it.
    Filter {
        /// Filters, each applied to the rows that the previous one keeps.
        filters: Vec<Filter>,
    },
    /// Runs a query on the opened dataset and saves all rows.
    SaveRows {
        /// Filters and statement.
        #[serde(flatten)]
        query: Query,
        /// Target file with the extension csv, json or parquet.
        target: PathBuf,
    },
    /// Searches for leakage between the parts of the document's split.
    Leakage {
        /// Column and thresholds.
        #[serde(default)]
        request: LeakageRequest,
    },
    /// Validates and writes the draft.
    Write {
        /// Target and options.
        options: BuildOptions,
    },
    /// Opens the written dataset and compares it with the draft.
    Verify {
        /// Datasets that together contain the draft: [`ops::written_paths`].
        paths: Vec<PathBuf>,
        /// Depth of the comparison.
        #[serde(default)]
        depth: ops::Depth,
    },
    /// Converts the dataset at `input` to another container.
    Convert {
        /// The dataset.
        input: PathBuf,
        /// Options for opening it.
        #[serde(default)]
        open: Box<OpenOptions>,
        /// Target and options.
        options: BuildOptions,
    },
    /// Writes the draft without validation as TORTILLA 0.5, or as TACO 0.2 if the target's name says so.
    WriteTortilla {
        /// Target and options.
        options: TortillaOptions,
    },
    /// Writes selected samples of a dataset as TORTILLA 0.5 or TACO 0.2.
    Compile {
        /// Input, selection and target.
        #[serde(flatten)]
        request: Box<ops::CompileRequest>,
    },
    /// Edits footer and collection of a TORTILLA or TACO file without rewriting its samples.
    EditTortilla {
        /// Input and changes.
        #[serde(flatten)]
        request: Box<ops::EditRequest>,
    },
    /// Changes columns of a level and fields of the collection of a finished dataset, in place where its container allows it.
    EditDataset {
        /// The request.
        #[serde(flatten)]
        request: Box<ops::DatasetEdit>,
    },
    /// Decodes one chunk of a streamable dataset.
    ReadChunk {
        /// Dataset, sample and chunk.
        #[serde(flatten)]
        request: ops::ChunkRequest,
    },
    /// Writes a dataset's description in a catalogue's format.
    Describe {
        /// Dataset and format.
        #[serde(flatten)]
        request: Box<ops::DescribeRequest>,
    },
    /// Migrates a dataset of another TACO version to 2.0, or reports what that would change.
    Migrate {
        /// Input, target and naming.
        #[serde(flatten)]
        request: Box<ops::MigrateRequest>,
    },
    /// Prepares a dataset for the official library of TACO 3, and runs the library where the request says so.
    PrepareTaco3 {
        /// Input, folder and the library's run.
        #[serde(flatten)]
        request: Box<ops::Taco3Request>,
    },
    /// Rewrites the dataset at `input` with all faults repaired that need no decision.
    Repair {
        /// The dataset.
        input: PathBuf,
        /// Options for opening it.
        #[serde(default)]
        open: Box<OpenOptions>,
        /// Target and options.
        options: BuildOptions,
    },
    /// Writes rasters as TACO Optimized GeoTIFFs: one file, those of a folder, or those of a dataset.
    Optimise {
        /// What, where to, and how.
        #[serde(flatten)]
        request: Box<ops::OptimiseRequest>,
    },
    /// Writes a tortilla of histograms of a dataset's rasters.
    Histograms {
        /// Of what, where to, and the scale.
        #[serde(flatten)]
        request: Box<ops::HistogramRequest>,
    },
    /// Computes percentiles from a tortilla of histograms.
    Percentiles {
        /// Which, of what.
        #[serde(flatten)]
        request: Box<ops::PercentileRequest>,
    },
    /// Checks a dataset, and publishes it unless a check blocks that.
    Publish {
        /// What, where to, and how.
        #[serde(flatten)]
        request: Box<ops::publish::PublishRequest>,
    },
    /// Writes a plan of the draft, from which several processes or machines build its parts.
    PlanDraft {
        /// The folder, the dataset and the parts.
        #[serde(flatten)]
        request: Box<super::PlanDraft>,
    },
    /// Submits the missing parts of a plan to an engine. The job waits for local processes and Dask, then finishes the plan; Slurm
    /// gets a job that ends it.
    SubmitPlan {
        /// The plan and the engine.
        #[serde(flatten)]
        request: Box<super::PlanSubmission>,
    },
    /// Builds one part of a plan in this process.
    RunPlanPart {
        /// The folder of the plan.
        folder: PathBuf,
        /// Number of the part, from 1.
        part: u32,
    },
    /// Writes an index over several ZIPs: TACOCAT or TACOLLECTION.
    Consolidate {
        /// Inputs, target and options.
        options: ConsolidateOptions,
    },
    /// Writes a subset of a dataset as a new dataset.
    Export {
        /// Input, selection and target.
        #[serde(flatten)]
        request: Box<ops::ExportRequest>,
    },
    /// Copies the bytes of one sample into a file.
    SaveAsset {
        /// Level of the sample.
        level: usize,
        /// Row of the sample in the level.
        row: u32,
        /// Target file.
        target: PathBuf,
    },
    /// Pauses or resumes a job.
    Pause {
        /// The job.
        job: JobId,
        /// True pauses, false resumes.
        on: bool,
    },
    /// Cancels a job.
    Cancel {
        /// The job.
        job: JobId,
    },
}
