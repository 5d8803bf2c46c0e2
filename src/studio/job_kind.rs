//! What jobs of the session do. Code matches on the kind; the label is for people, in the language of the window.

use std::path::PathBuf;

/// What a job does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobKind {
    /// Opens a dataset, with as many others joined to it.
    Open(PathBuf, usize),
    /// Makes a draft of the opened dataset.
    Fork,
    /// Adds as many paths to the draft.
    Import(usize),
    /// Reads a COLLECTION.json.
    ReadCollection(PathBuf),
    /// Applies an edit or a fix, called so in the history.
    Edit(String),
    /// Runs these extensions.
    Extend(String),
    /// Looks for files to put into the tray.
    AddToTray,
    /// Takes files that appeared in a watched folder.
    TakeArrived,
    /// Begins to watch a folder.
    Watch(PathBuf),
    /// Looks for a name pattern.
    FindPattern,
    /// Looks for fixes of a finding.
    FindFixes,
    /// Saves the draft as a project.
    SaveProject(PathBuf),
    /// Opens a project.
    OpenProject(PathBuf),
    /// Opens what autosave kept of a draft.
    Restore,
    /// Decodes the table of a level.
    LoadLevel(usize),
    /// Checks the document by itself after it was opened or changed.
    LiveCheck {
        /// True for a draft.
        draft: bool,
    },
    /// Checks the document on request.
    Validate {
        /// Every byte.
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
    /// Looks for leaks between the parts of a split.
    Leakage,
    /// Decodes a chunk, named so.
    ReadChunk(String),
    /// Writes the draft.
    Write(PathBuf),
    /// Compares what was written with the draft.
    Verify,
    /// Builds a dataset from a folder.
    Create(PathBuf),
    /// Writes a dataset in another container.
    Convert(PathBuf),
    /// Writes a part of a dataset as one of 2.0.
    Export(PathBuf),
    /// Writes a part of a dataset as one of the first generation.
    Compile(PathBuf),
    /// Changes footer and collection of a dataset of the first generation.
    EditTortilla(PathBuf),
    /// Changes metadata of an existing dataset.
    EditDataset(PathBuf),
    /// Describes a dataset for catalogues.
    Describe(PathBuf),
    /// Moves a dataset to 2.0.
    Migrate(PathBuf),
    /// Optimises rasters.
    Optimise(PathBuf),
    /// Counts the values of rasters.
    Histograms(PathBuf),
    /// Reads percentiles out of histograms.
    Percentiles,
    /// Repairs a dataset.
    Repair(PathBuf),
    /// Writes one index over as many datasets.
    Consolidate(usize),
    /// Copies one sample into a file.
    SaveAsset(PathBuf),
    /// Looks at the cache of remote files, or empties it.
    RemoteCache {
        /// Empties it.
        clear: bool,
    },
}

impl JobKind {
    /// What the job does, for people.
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
            Self::Optimise(path) => tr!("Optimise {path}", path = path.display()),
            Self::Histograms(path) => tr!("Count the values of {path}", path = path.display()),
            Self::Percentiles => tr!("Read the histograms").into(),
            Self::Repair(path) => tr!("Repair {path}", path = path.display()),
            Self::Consolidate(datasets) => tr_n!(*datasets, "Join {n} dataset", "Join {n} datasets", n = datasets),
            Self::RemoteCache { clear: true } => tr!("Empty the cache of remote files").into(),
            Self::RemoteCache { clear: false } => tr!("Look at the cache of remote files").into(),
        }
    }
}
