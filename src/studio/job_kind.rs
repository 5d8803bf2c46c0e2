//! Kinds of jobs. Code matches on the kind; the label is for the user, in the interface language.

use std::path::PathBuf;

/// Kind of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobKind {
    /// Opens a dataset, with this number of datasets joined to it.
    Open(PathBuf, usize),
    /// Creates a draft from the opened dataset.
    Fork,
    /// Imports this number of paths into the draft.
    Import(usize),
    /// Reads a COLLECTION.json.
    ReadCollection(PathBuf),
    /// Applies an edit or a fix with this history label.
    Edit(String),
    /// Runs these extensions.
    Extend(String),
    /// Searches files for the tray.
    AddToTray,
    /// Adds files of a watched folder to the tray.
    TakeArrived,
    /// Starts watching a folder.
    Watch(PathBuf),
    /// Infers a name pattern.
    FindPattern,
    /// Computes the fixes of a finding.
    FindFixes,
    /// Saves the draft as a project.
    SaveProject(PathBuf),
    /// Opens a project.
    OpenProject(PathBuf),
    /// Opens an autosaved draft.
    Restore,
    /// Decodes the table of a level.
    LoadLevel(usize),
    /// Live check after opening or changing the document.
    LiveCheck {
        /// True for a draft.
        draft: bool,
    },
    /// Checks the document on request.
    Validate {
        /// True for a deep check, which reads every byte.
        deep: bool,
    },
    /// Compares the headers of rasters by position.
    Consistency,
    /// Runs a query.
    Query,
    /// Runs a query and saves its rows.
    SaveRows(PathBuf),
    /// Applies the filter.
    Filter,
    /// Pools statistics.
    PoolStatistics,
    /// Searches for leakage between the parts of a split.
    Leakage,
    /// Decodes the chunk with this name.
    ReadChunk(String),
    /// Writes the draft.
    Write(PathBuf),
    /// Compares the written dataset with the draft.
    Verify,
    /// Builds a dataset from a folder.
    Create(PathBuf),
    /// Converts a dataset to another container.
    Convert(PathBuf),
    /// Exports a subset of a dataset as TACO 2.0.
    Export(PathBuf),
    /// Exports a subset of a dataset in the format of the first generation.
    Compile(PathBuf),
    /// Edits footer and collection of a dataset of the first generation.
    EditTortilla(PathBuf),
    /// Edits metadata of an existing dataset.
    EditDataset(PathBuf),
    /// Describes a dataset for catalogues.
    Describe(PathBuf),
    /// Migrates a dataset to TACO 2.0.
    Migrate(PathBuf),
    /// Prepares a dataset for the library of TACO 3.
    PrepareTaco3(PathBuf),
    /// Optimises rasters.
    Optimise(PathBuf),
    /// Computes histograms of rasters.
    Histograms(PathBuf),
    /// Computes percentiles from histograms.
    Percentiles,
    /// Repairs a dataset.
    Repair(PathBuf),
    /// Writes an index over this number of datasets.
    Consolidate(usize),
    /// Plans the parts of a dataset, in this folder.
    Plan(PathBuf),
    /// Builds a part of a plan.
    PlanPart(u32),
    /// Writes the indexes over the parts of a plan.
    PlanFinish,
    /// Builds the parts of a plan, or has an engine build them.
    PlanSubmit,
    /// Publishes a dataset, or checks it for that.
    Publish(PathBuf),
    /// Copies one sample into a file.
    SaveAsset(PathBuf),
    /// Measures or clears the remote cache.
    RemoteCache {
        /// True clears it.
        clear: bool,
    },
}

impl JobKind {
    /// Label for the user, in the interface language.
    pub fn label(&self) -> String {
        match self {
            Self::Open(path, 0) | Self::OpenProject(path) => tr!("Open {path}", path = path.display()),
            Self::Open(path, more) => tr!("Open {path} and {more} more", path = path.display(), more),
            Self::Fork => tr!("Make a draft of the dataset").into(),
            Self::Import(paths) => tr_n!(*paths, "Add {n} path", "Add {n} paths", n = paths),
            Self::ReadCollection(path) => tr!("Read {path}", path = path.display()),
            Self::Edit(label) => label.clone(),
            Self::Extend(names) => tr!("Add {name}", name = names),
            Self::AddToTray => tr!("Look for files").into(),
            Self::TakeArrived => tr!("Take files that arrived").into(),
            Self::Watch(folder) => tr!("Look through {path}", path = folder.display()),
            Self::FindPattern => tr!("Look for a pattern").into(),
            Self::FindFixes => tr!("Look for fixes").into(),
            Self::SaveProject(path) | Self::SaveAsset(path) => tr!("Save {path}", path = path.display()),
            Self::Restore => tr!("Restore a draft").into(),
            Self::LoadLevel(level) => tr!("Read level {level}", level),
            Self::LiveCheck { draft: true } => tr!("Check the draft").into(),
            Self::LiveCheck { draft: false } | Self::Validate { deep: false } => tr!("Check the dataset").into(),
            Self::Validate { deep: true } => tr!("Check every byte").into(),
            Self::Consistency => tr!("Compare rasters by position").into(),
            Self::Query => tr!("Run the query").into(),
            Self::SaveRows(path) => tr!("Save rows to {path}", path = path.display()),
            Self::Filter => tr!("Filter").into(),
            Self::PoolStatistics => tr!("Pool statistics").into(),
            Self::Leakage => tr!("Look for leaks").into(),
            Self::ReadChunk(chunk) => tr!("Read {chunk}", chunk),
            Self::Write(path) => tr!("Write {path}", path = path.display()),
            Self::Verify => tr!("Verify what was written").into(),
            Self::Create(path) => tr!("Create {path}", path = path.display()),
            Self::Convert(path) => tr!("Convert {path}", path = path.display()),
            Self::Export(path) => tr!("Export to {path}", path = path.display()),
            Self::Compile(path) => tr!("Compile {path}", path = path.display()),
            Self::EditTortilla(path) | Self::EditDataset(path) => tr!("Edit {path}", path = path.display()),
            Self::Describe(path) => tr!("Describe {path}", path = path.display()),
            Self::Migrate(path) => tr!("Move {path} to 2.0", path = path.display()),
            Self::PrepareTaco3(path) => tr!("Prepare {path} for TACO 3", path = path.display()),
            Self::Optimise(path) => tr!("Optimise {path}", path = path.display()),
            Self::Histograms(path) => tr!("Count the values of {path}", path = path.display()),
            Self::Percentiles => tr!("Read the histograms").into(),
            Self::Repair(path) => tr!("Repair {path}", path = path.display()),
            Self::Consolidate(datasets) => tr_n!(*datasets, "Join {n} dataset", "Join {n} datasets", n = datasets),
            Self::Plan(folder) => tr!("Plan the parts in {path}", path = folder.display()),
            Self::PlanPart(part) => tr!("Build part {part}", part),
            Self::PlanFinish => tr!("Join the parts").into(),
            Self::PlanSubmit => tr!("Build the parts").into(),
            Self::Publish(target) => tr!("Publish to {path}", path = target.display()),
            Self::RemoteCache { clear: true } => tr!("Empty the cache of remote files").into(),
            Self::RemoteCache { clear: false } => tr!("Measure the cache of remote files").into(),
        }
    }
}
