//! Commands and events: plain data, so that they can be logged, replayed from a file and tested.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value as Json;

use super::ConsistencySettings;
use crate::container::{BuildOptions, Built, ConsolidateOptions, OpenOptions, TortillaOptions};
use crate::draft::{Edit, Example, Fix, PatternChoice, PatternReport, Slot};
use crate::error::Error;
use crate::extensions::{ExtensionCall, Failure, Leakage, LeakageRequest, Note};
use crate::jobs::JobId;
use crate::model::{NodePath, Profile};
use crate::ops;
use crate::query::{Filter, Query, QueryResult};

/// What changes the open document or writes a file. Scripts and logs hold commands as JSON.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(tag = "command", rename_all = "snake_case")]
pub enum Command {
    /// An empty draft.
    New,
    /// Opens a dataset for reading.
    Open {
        /// File or folder.
        path: PathBuf,
    },
    /// Opens a dataset with options, or several as one.
    OpenWith {
        /// File or folder; the first, when the options name more.
        path: PathBuf,
        /// Folder of the parts, datasets to join, and how their columns are joined.
        #[serde(default)]
        options: Box<OpenOptions>,
    },
    /// Sets endpoints, regions and credentials for other machines. A token is used, and never logged or written.
    Connect {
        /// How.
        access: crate::remote::Access,
    },
    /// Measures the cache of remote files, or empties it.
    RemoteCache {
        /// Remove what is in it.
        clear: bool,
    },
    /// Closes what is open.
    Close,
    /// Turns the opened dataset into a draft; samples stay where they are.
    Fork,
    /// Adds files and folders to the draft, or begins one: folders become tortillas, files samples.
    Import {
        /// What to add.
        paths: Vec<PathBuf>,
        /// The FOLDER to add to; empty for the root.
        #[serde(default)]
        into: NodePath,
        /// A CSV, JSON or Parquet table to join by relative path.
        #[serde(default)]
        metadata: Option<PathBuf>,
    },
    /// Replaces the collection by that of a COLLECTION.json.
    ImportCollection {
        /// The file.
        path: PathBuf,
    },
    /// Changes the draft.
    Edit {
        /// How.
        #[serde(flatten)]
        edit: Edit,
    },
    /// Runs extensions over the draft: one edit when all are done, none when it is stopped.
    Extend {
        /// Which, in order.
        calls: Vec<ExtensionCall>,
        /// Columns of the same name may be there already; they are replaced.
        #[serde(default)]
        replace: bool,
    },
    /// Puts files, and all files below folders, into the tray of unplaced files.
    AddToTray {
        /// Files and folders.
        paths: Vec<PathBuf>,
    },
    /// Puts the files of a folder into the tray, and from now on those that appear in it, once they are complete.
    Watch {
        /// The folder.
        folder: PathBuf,
    },
    /// Watches a folder no longer.
    Unwatch {
        /// The folder.
        folder: PathBuf,
    },
    /// Takes files out of the tray.
    RemoveFromTray {
        /// Which, by path.
        files: Vec<PathBuf>,
    },
    /// Puts a file of the tray where it belongs.
    PlaceUnplaced {
        /// The file.
        file: PathBuf,
        /// Where.
        slot: Slot,
    },
    /// Looks for the name pattern that leads from files of the tray to the places shown: [`Event::PatternFound`].
    FindPattern {
        /// Files with their places.
        examples: Vec<Example>,
    },
    /// Places all files of the tray that the pattern of the examples leads to, in one step.
    PlaceByPattern {
        /// Files with their places.
        examples: Vec<Example>,
        /// Which of the alternatives; may be absent when there is one only.
        #[serde(default)]
        alternative: Option<usize>,
    },
    /// Finds the fixes of a finding of the last check: [`Event::FixesFound`].
    FindFixes {
        /// Its number in the report.
        finding: usize,
    },
    /// Applies a fix of a finding of the last check.
    ApplyFix {
        /// Its number in the report.
        finding: usize,
        /// The number of the fix, best first.
        fix: usize,
    },
    /// Takes all roots of one shape out of the draft and saves them as a project of their own.
    SplitOff {
        /// One of the roots.
        root: usize,
        /// The project to make.
        path: PathBuf,
    },
    /// Saves the draft as a project.
    SaveProject {
        /// The file; the one that it was opened from or saved to when absent.
        #[serde(default)]
        path: Option<PathBuf>,
        /// What the window wants to find again; kept as it was when absent.
        #[serde(default)]
        view: Option<Json>,
        /// Whether an existing file is replaced. When absent, it is replaced unless it is the draft's own file and another program
        /// changed it.
        #[serde(default)]
        overwrite: Option<bool>,
    },
    /// Opens a project.
    OpenProject {
        /// The file.
        path: PathBuf,
    },
    /// Opens a draft that autosave kept: [`recoverable`](super::recoverable).
    Restore {
        /// The journal.
        path: PathBuf,
    },
    /// Deletes a draft that autosave kept.
    Forget {
        /// The journal.
        path: PathBuf,
    },
    /// Runs the extension calls that are kept with the draft's project; columns of the same name are replaced.
    RunRecipe,
    /// Keeps extension calls with the draft's project.
    SetRecipe {
        /// The calls, in order.
        recipe: Vec<ExtensionCall>,
    },
    /// Applies every fix that removes nothing, in one edit.
    FixSafe,
    /// Chooses the root that gives the pattern.
    ChoosePattern {
        /// The most common shape, or a root.
        choice: PatternChoice,
    },
    /// Takes back the last edit.
    Undo,
    /// Does the last undone edit again.
    Redo,
    /// Decodes the table of a level of the opened dataset.
    LoadLevel {
        /// The level.
        level: usize,
    },
    /// Checks the document.
    Validate {
        /// Read every member and compare its CRC.
        #[serde(default)]
        deep: bool,
        /// Whose demands count where the text and the tools differ; those of the tools when absent.
        #[serde(default)]
        profile: Profile,
    },
    /// Reads the headers of all rasters and compares them by position; the findings then follow every edit.
    CheckConsistency {
        /// Read headers again that were read before.
        #[serde(default)]
        again: bool,
    },
    /// Changes how rasters are compared by position, and what is accepted.
    SetConsistency {
        /// The settings, whole.
        settings: ConsistencySettings,
    },
    /// Filters the opened dataset by box, time and conditions, then runs SQL over the rows that are left.
    #[serde(alias = "select")]
    Query {
        /// Filters, statements and limit; tables `data`, `level0`, `l0`, …
        #[serde(flatten)]
        query: Query,
        /// A dataset to ask instead of the opened one; it is not shown.
        #[serde(default)]
        path: Option<PathBuf>,
    },
    /// Sets the filter that every view of the opened dataset shows; an empty list shows all of it.
    Filter {
        /// Steps; each works on what the one before it left.
        filters: Vec<Filter>,
    },
    /// Runs a query over the opened dataset and saves all of its rows.
    SaveRows {
        /// Filters and statement.
        #[serde(flatten)]
        query: Query,
        /// The file; its name ends with csv, json or parquet.
        target: PathBuf,
    },
    /// Looks for leakage between the partitions of the document's split.
    Leakage {
        /// Which column, and what counts.
        #[serde(default)]
        request: LeakageRequest,
    },
    /// Checks the draft and writes it.
    Write {
        /// Target and options.
        options: BuildOptions,
    },
    /// Opens what was written of the draft and compares it with the draft.
    Verify {
        /// The datasets that together are the draft: [`ops::written_paths`].
        paths: Vec<PathBuf>,
        /// How much is compared.
        #[serde(default)]
        depth: ops::Depth,
    },
    /// Writes the dataset at `input` in another container.
    Convert {
        /// The dataset.
        input: PathBuf,
        /// How to open it.
        #[serde(default)]
        open: Box<OpenOptions>,
        /// Target and options.
        options: BuildOptions,
    },
    /// Checks nothing and writes the draft as TORTILLA 0.5, or as TACO 0.2 when the target is called so.
    WriteTortilla {
        /// Target and options.
        options: TortillaOptions,
    },
    /// Writes chosen samples of a dataset as TORTILLA 0.5 or TACO 0.2.
    Compile {
        /// Which of what, and where to.
        #[serde(flatten)]
        request: Box<ops::CompileRequest>,
    },
    /// Changes footer and collection of a TORTILLA or TACO without touching its samples.
    EditTortilla {
        /// What and how.
        #[serde(flatten)]
        request: Box<ops::EditRequest>,
    },
    /// Decodes one chunk of a streamable dataset.
    ReadChunk {
        /// Which.
        #[serde(flatten)]
        request: ops::ChunkRequest,
    },
    /// Writes a dataset's description in the form of a catalogue.
    Describe {
        /// What, and in which form.
        #[serde(flatten)]
        request: Box<ops::DescribeRequest>,
    },
    /// Moves a dataset of another generation to 2.0, or reports what that would do.
    Migrate {
        /// What, where to, and names.
        #[serde(flatten)]
        request: Box<ops::MigrateRequest>,
    },
    /// Writes the dataset at `input` anew without the faults that need no judgement.
    Repair {
        /// The dataset.
        input: PathBuf,
        /// How to open it.
        #[serde(default)]
        open: Box<OpenOptions>,
        /// Target and options.
        options: BuildOptions,
    },
    /// Writes one index over many ZIPs: TACOCAT or TACOLLECTION.
    Consolidate {
        /// What, where and how.
        options: ConsolidateOptions,
    },
    /// Writes a part of a dataset as a dataset of its own.
    Export {
        /// Which part of what, and where to.
        #[serde(flatten)]
        request: Box<ops::ExportRequest>,
    },
    /// Copies the bytes of one sample into a file.
    SaveAsset {
        /// Its level.
        level: usize,
        /// Its row.
        row: u32,
        /// The file to make.
        target: PathBuf,
    },
    /// Pauses or resumes a job.
    Pause {
        /// Which.
        job: JobId,
        /// False to go on.
        on: bool,
    },
    /// Stops a job.
    Cancel {
        /// Which.
        job: JobId,
    },
}

/// Immediate result of a command.
#[derive(Debug)]
pub enum Outcome {
    /// It is done, with this event.
    Done(Event),
    /// It runs as a job.
    Started(JobId),
}

/// What happened.
#[derive(Debug)]
pub enum Event {
    /// Nothing to react to.
    None,
    /// Another document is open, or none.
    DocumentChanged,
    /// The draft changed.
    Edited {
        /// What was done, undone or redone.
        label: String,
        /// The draft's revision now.
        revision: u64,
        /// [`Edit::only_sets`] holds for the edit.
        sets: bool,
    },
    /// Extensions added columns or fields to the draft.
    Extended {
        /// What was done, for the history.
        label: String,
        /// The draft's revision now.
        revision: u64,
        /// Samples computed, once for each call.
        computed: u64,
        /// Samples whose values are null because they failed.
        failures: Vec<Failure>,
        /// What else there is to say: leaks of a new split, rows that match nothing.
        notes: Vec<Note>,
    },
    /// Files were added to the draft.
    Imported(ops::Imported),
    /// Files of watched folders came into the tray.
    Arrived {
        /// How many.
        files: usize,
    },
    /// What the name pattern of the examples leads to.
    PatternFound(Arc<PatternReport>),
    /// The fixes of a finding.
    FixesFound {
        /// Its number in the report.
        finding: usize,
        /// Best first.
        fixes: Arc<Vec<Fix>>,
    },
    /// The draft was saved as a project.
    ProjectSaved(PathBuf),
    /// A project was read and not shown: its files are on servers that the user has not agreed to.
    ProjectAsks {
        /// The project.
        path: PathBuf,
        /// The servers.
        servers: Vec<super::Server>,
    },
    /// A level's table can be read without waiting.
    LevelReady(usize),
    /// Contents of the cache of remote files.
    RemoteCache(crate::remote::CacheState),
    /// There are new findings: [`super::Studio::report`].
    Validated,
    /// A query's rows.
    Queried(Arc<QueryResult>),
    /// The filter of the opened dataset is another one: [`super::Studio::kept`].
    Filtered,
    /// Leakage between the partitions of a split.
    Leakage(Arc<Leakage>),
    /// A dataset was written.
    Written(Built),
    /// The written dataset was compared with the draft.
    Verified(Arc<ops::Verified>),
    /// A dataset was repaired.
    Repaired(Box<ops::Repaired>),
    /// A chunk's values.
    ChunkRead(Box<ops::ChunkArray>),
    /// A dataset was moved to 2.0, or could be.
    Migrated(Box<ops::Migrated>),
    /// A sample was copied to a file.
    Saved(PathBuf),
    /// A job failed.
    Failed {
        /// The job.
        job: JobId,
        /// Its label.
        label: String,
        /// Why.
        error: Arc<Error>,
    },
    /// A job was stopped.
    Cancelled {
        /// The job.
        job: JobId,
        /// Its label.
        label: String,
    },
}
