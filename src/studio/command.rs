//! Commands: plain data, so that they can be logged, replayed from a file and tested.

use std::path::PathBuf;

use serde::de::value::MapDeserializer;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value as Json;

use super::{ConsistencySettings, DocumentRead};
use crate::container::{BuildOptions, OpenOptions, TortillaOptions};
use crate::draft::{Edit, Example, PatternChoice, Slot};
use crate::extensions::ExtensionCall;
use crate::jobs::JobId;
use crate::model::{NodePath, Profile};
use crate::ops::{self, AnyOperation, LayoutChoice, PathUse, PathVisitor};
use crate::query::{Filter, Query};

/// A change of the open document, a read of it, or an operation. Scripts and logs store commands
/// as JSON; the names of the reads and of the operations are among those of the commands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", tag = "command", rename_all = "snake_case")]
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
    /// Sets endpoints, regions and credentials for remote storage. A token is used but neither
    /// logged nor stored.
    Connect {
        /// Connection settings.
        access: crate::remote::Access,
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
    /// Adds the files of a folder to the roots of the draft, or of a new one, arranged by a layout;
    /// files without a place go into the tray.
    ImportLayout {
        /// The folder, its layout and what is left out.
        #[serde(flatten)]
        request: ops::LayoutRequest,
    },
    /// Adds the samples of a dataset of any generation to the draft, or to a new one, with their
    /// metadata.
    ImportDataset {
        /// The dataset, its destination, and what it becomes.
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
    Watch { folder: PathBuf },
    /// Stops watching a folder.
    Unwatch { folder: PathBuf },
    /// Removes files from the tray.
    RemoveFromTray { files: Vec<PathBuf> },
    /// Places a file of the tray.
    PlaceUnplaced {
        file: PathBuf,
        /// Target position.
        slot: Slot,
    },
    /// Places all files of the tray that match the inferred pattern, in one edit.
    PlaceByPattern {
        /// Files with their positions.
        examples: Vec<Example>,
        /// Index of the alternative; optional if there is only one.
        #[serde(default)]
        alternative: Option<usize>,
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
    /// Replaces the draft's GeoTIFFs that have sidecars by copies that contain what these hold, in
    /// one edit.
    BurnInSidecars {
        /// New folder for the copies.
        copies: PathBuf,
    },
    /// Moves all roots of one shape from the draft to a new project.
    SplitOff {
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
        /// Whether to replace an existing file. `None` replaces it unless it is the draft's own
        /// file and another program changed it.
        #[serde(default)]
        overwrite: Option<bool>,
    },
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
    /// Checks the document.
    Validate {
        /// Reads every member and compares its CRC-32.
        #[serde(default)]
        deep: bool,
        /// Which rules apply where the specification and the tools differ; default: those of the
        /// tools.
        #[serde(default)]
        profile: Profile,
    },
    /// Reads the headers of all rasters and compares them by position; the findings then follow
    /// every edit.
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
    /// Validates and writes the draft.
    Write {
        /// Target and options.
        options: BuildOptions,
    },
    /// Writes the draft without validation as TORTILLA 0.5, or as TACO 0.2 if the target's name
    /// says so.
    WriteTortilla {
        /// Target and options.
        options: TortillaOptions,
    },
    /// Writes a plan of the draft, from which several processes or machines build its parts.
    PlanDraft {
        /// The folder, the dataset and the parts.
        #[serde(flatten)]
        request: Box<super::PlanDraft>,
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
    /// Reads the document.
    #[serde(skip)]
    Read(DocumentRead),
    /// Runs an operation, which needs no document.
    #[serde(skip)]
    Operate(AnyOperation),
    /// Pauses or resumes a job.
    Pause {
        job: JobId,
        /// True pauses, false resumes.
        on: bool,
    },
    /// Cancels a job.
    Cancel { job: JobId },
}

impl Command {
    /// The command that runs an operation.
    pub fn operate(request: impl Into<AnyOperation>) -> Self {
        Self::Operate(request.into())
    }

    /// The files and folders that it writes, as far as it names them.
    pub fn targets(&self) -> Vec<PathBuf> {
        let mut targets = Vec::new();
        // They write nothing, and an edit may hold a whole draft.
        if matches!(self, Self::Edit { .. } | Self::Read(_)) {
            return targets;
        }
        self.clone().visit_paths(&mut |path_use, path| {
            if path_use == PathUse::Write {
                targets.push(path.clone());
            }
        });
        targets
    }

    /// Visits every path that the command names.
    pub(super) fn visit_paths(&mut self, visit: &mut PathVisitor<'_>) {
        use PathUse::{Read, Write};
        // Exhaustive, so that a new command does not compile before its paths are listed.
        match self {
            Self::Open { path }
            | Self::ImportCollection { path }
            | Self::OpenProject { path }
            | Self::Restore { path }
            | Self::Watch { folder: path }
            | Self::Unwatch { folder: path }
            | Self::PlaceUnplaced { file: path, .. } => visit(Read, path),
            Self::SplitOff { path, .. }
            | Self::BurnInSidecars { copies: path }
            | Self::SaveAsset { target: path, .. }
            | Self::SaveRows { target: path, .. } => visit(Write, path),
            // A bare name is a journal in the autosave folder.
            Self::Forget { path } => {
                if path.components().count() > 1 {
                    visit(Read, path);
                }
            }
            Self::SaveProject { path, .. } => path.iter_mut().for_each(|path| visit(Write, path)),
            Self::Query { path, .. } => path.iter_mut().for_each(|path| visit(Read, path)),
            Self::OpenWith { path, options } => {
                visit(Read, path);
                options.paths_mut().for_each(|path| visit(Read, path));
            }
            Self::ImportDataset { request } => visit(Read, &mut request.path),
            Self::ImportLayout { request } => {
                visit(Read, &mut request.source);
                if let LayoutChoice::Saved(file) = &mut request.choice {
                    visit(Read, file);
                }
            }
            Self::Import {
                paths, metadata, ..
            } => paths
                .iter_mut()
                .chain(metadata)
                .for_each(|path| visit(Read, path)),
            Self::AddToTray { paths } | Self::RemoveFromTray { files: paths } => {
                paths.iter_mut().for_each(|path| visit(Read, path));
            }
            Self::PlaceByPattern { examples, .. } => examples
                .iter_mut()
                .for_each(|example| visit(Read, &mut example.file)),
            Self::Edit { edit } => edit.visit_paths(&mut |path| visit(Read, path)),
            Self::Extend { calls, .. } | Self::SetRecipe { recipe: calls } => calls
                .iter_mut()
                .for_each(|call| call.visit_paths(&mut |path| visit(Read, path))),
            Self::Write { options } => visit(Write, &mut options.target),
            Self::WriteTortilla { options } => visit(Write, &mut options.target),
            Self::PlanDraft { request } => {
                visit(Write, &mut request.folder);
                visit(Write, &mut request.options.target);
            }
            Self::Read(read) => read.visit_paths(&mut |path| visit(Read, path)),
            Self::Operate(operation) => operation.visit_paths(visit),
            Self::New
            | Self::Connect { .. }
            | Self::Close
            | Self::Fork
            | Self::ApplyFix { .. }
            | Self::RunRecipe
            | Self::FixSafe
            | Self::PackSidecars
            | Self::ChoosePattern { .. }
            | Self::Undo
            | Self::Redo
            | Self::Validate { .. }
            | Self::CheckConsistency { .. }
            | Self::SetConsistency { .. }
            | Self::Filter { .. }
            | Self::Pause { .. }
            | Self::Cancel { .. } => {}
        }
    }
}

impl Serialize for Command {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Read(read) => read.serialize(serializer),
            Self::Operate(operation) => operation.serialize(serializer),
            command => Self::serialize(command, serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Command {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error as _;
        let mut line = Json::deserialize(deserializer)?;
        let name = line.get("command").and_then(Json::as_str);
        // `query`, `validate`, `extend` and `leakage` are about the document, unless they name a
        // dataset.
        let names_dataset = line.get("input").is_some_and(Json::is_string);
        let bare = || name.map(wrap_command_name);
        let other_changes = bare().and_then(|bare| list_names_if_unknown(Self::deserialize(bare)));
        let other_reads =
            bare().and_then(|bare| list_names_if_unknown(DocumentRead::deserialize(bare)));
        if let Some(name) = name
            .filter(|name| AnyOperation::NAMES.contains(name))
            .filter(|_| names_dataset || (other_changes.is_some() && other_reads.is_some()))
            .map(str::to_owned)
        {
            line.as_object_mut()
                .and_then(|fields| fields.remove("command"));
            let operation = AnyOperation::from_request(&name, line)
                .map_err(|error| D::Error::custom(error.sentence()))?;
            return Ok(Self::Operate(operation));
        }
        match (name, other_changes, other_reads) {
            (Some(name), Some(changes), Some(reads)) => {
                let mut known = [changes, reads, AnyOperation::NAMES].concat();
                known.sort_unstable();
                known.dedup();
                Err(D::Error::custom(format!(
                    "there is no command {name}; the commands are {}",
                    known.join(", ")
                )))
            }
            (_, Some(_), None) => DocumentRead::deserialize(line)
                .map(Self::Read)
                .map_err(D::Error::custom),
            _ => Self::deserialize(line).map_err(D::Error::custom),
        }
    }
}

/// A command that has only its name.
fn wrap_command_name(
    name: &str,
) -> MapDeserializer<'static, std::iter::Once<(&'static str, &str)>, NameError> {
    MapDeserializer::new(std::iter::once(("command", name)))
}

/// The names of all commands of a kind, when none of them has the name that was read.
fn list_names_if_unknown<T>(read: Result<T, NameError>) -> Option<&'static [&'static str]> {
    match read {
        Err(NameError::Unknown(names)) => Some(names),
        _ => None,
    }
}

/// Why the name of a command alone is not a command.
#[derive(Debug)]
enum NameError {
    /// No command has the name; these are the names.
    Unknown(&'static [&'static str]),
    /// The command has fields, which are not there.
    Other,
}

impl std::fmt::Display for NameError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("not a command")
    }
}

impl std::error::Error for NameError {}

impl serde::de::Error for NameError {
    fn custom<T: std::fmt::Display>(_: T) -> Self {
        Self::Other
    }

    fn unknown_variant(_: &str, names: &'static [&'static str]) -> Self {
        Self::Unknown(names)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn commands_and_operations_are_read_by_name() {
        for text in [
            json!({ "command": "undo" }),
            json!({ "command": "load_level", "level": 1 }),
            json!({ "command": "find_fixes", "finding": 0 }),
            json!({ "command": "find_pattern", "examples": [] }),
            json!({ "command": "verify", "paths": ["a.tacozip"], "depth": "all" }),
            json!({ "command": "read_chunk", "input": "a.tortilla", "chunk": "b::0" }),
            json!({ "command": "remote_cache", "clear": false }),
            json!({ "command": "validate", "deep": true, "profile": "tools" }),
        ] {
            let command: Command = serde_json::from_value(text.clone()).expect("is a command");
            assert_eq!(serde_json::to_value(&command).expect("is plain data"), text);
        }
    }

    #[test]
    fn a_command_that_names_a_dataset_is_an_operation() {
        for (name, input) in [
            ("query", json!("a.tacozip")),
            ("validate", json!("a.tacozip")),
            ("leakage", json!("a.tacozip")),
        ] {
            let command =
                |line: Json| serde_json::from_value::<Command>(line).expect("is a command");
            assert!(
                matches!(
                    command(json!({ "command": name, "input": input })),
                    Command::Operate(_)
                ),
                "{name}"
            );
            assert!(
                !matches!(command(json!({ "command": name })), Command::Operate(_)),
                "{name}"
            );
        }
    }

    #[test]
    fn what_a_command_writes_is_among_its_paths() {
        let read = |line: Json| serde_json::from_value::<Command>(line).expect("is a command");
        let split = read(json!({ "command": "split_off", "root": 0, "path": "a.tacostudio" }));
        assert_eq!(split.targets(), [PathBuf::from("a.tacostudio")]);
        let mut verify = read(json!({ "command": "verify", "paths": ["a", "b"] }));
        assert!(verify.targets().is_empty());
        let mut paths = Vec::new();
        verify.visit_paths(&mut |_, path| paths.push(path.clone()));
        assert_eq!(paths, [PathBuf::from("a"), PathBuf::from("b")]);
    }

    #[test]
    fn an_unknown_name_is_answered_with_all_names() {
        let read = |text: Json| {
            serde_json::from_value::<Command>(text)
                .expect_err("is no command")
                .to_string()
        };
        let unknown = read(json!({ "command": "converte" }));
        assert!(
            unknown.contains("load_level") && unknown.contains("edit_tortilla"),
            "{unknown}"
        );
        let incomplete = read(json!({ "command": "load_level" }));
        assert!(incomplete.contains("missing field `level`"), "{incomplete}");
        let incomplete = read(json!({ "command": "convert" }));
        assert!(incomplete.contains("missing field `input`"), "{incomplete}");
    }
}
