//! File dialogs of the desktop. Each runs on a thread of its own, because some desktops never
//! answer; the window stays usable and a typed path is always accepted instead.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::{Duration, Instant};

/// Time without an answer after which the window offers to type the path.
const PATIENCE: Duration = Duration::from_secs(2);

/// An answer faster than this did not come from a person.
const INSTANT: Duration = Duration::from_millis(400);

/// Purpose of a file dialog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileRequest {
    /// Datasets or rasters to open.
    Open,
    /// A folder to open or build from.
    OpenFolder,
    /// Files to put into the draft.
    AddFiles,
    /// A folder to put into the draft.
    AddFolder,
    /// Files to put into the tray.
    AddUnplaced,
    /// A folder whose files go into the tray.
    AddUnplacedFolder,
    /// A folder whose new files go into the tray.
    Watch,
    JoinTable,
    /// Where to copy a sample to.
    SaveSample,
    /// Where to save the draft.
    SaveProject,
    /// Where to save the rows of a query.
    SaveRows,
    /// The folder to write the dataset into.
    Target,
    /// The folder of a plan.
    Plan,
    /// A file that a tool reads.
    ToolFile,
    /// Files that a tool reads.
    ToolFiles,
    /// A folder that a tool reads or writes into.
    ToolFolder,
    /// Output file or folder of a tool.
    ToolOutput,
}

/// A dialog that is open.
pub struct FileDialog {
    request: FileRequest,
    receiver: Receiver<Option<Vec<PathBuf>>>,
    since: Instant,
}

pub enum FileDialogAnswer {
    /// Still open.
    Waiting,
    /// Closed without a choice, or there is no dialog on this desktop.
    Nothing,
    /// These were chosen.
    Paths(Vec<PathBuf>),
}

impl FileDialog {
    /// Opens the dialog; `wake` is called when it closes.
    pub fn open(request: FileRequest, name: &str, wake: impl Fn() + Send + 'static) -> Self {
        let (sender, answer) = channel();
        let name = name.to_owned();
        // Translate here: the language is known on the window's thread only.
        let title = title(request);
        let kinds: Vec<_> = kinds(request)
            .iter()
            .map(|&(kind, endings)| (crate::text::translate_text(kind), endings))
            .collect();
        // If no thread can be started the sender is dropped, which reads as "no dialog".
        let _ = std::thread::Builder::new()
            .name("file-dialog".into())
            .spawn(move || {
                let _ = sender.send(show(request, title, &kinds, &name));
                wake();
            });
        Self {
            request,
            receiver: answer,
            since: Instant::now(),
        }
    }

    /// Purpose of the dialog.
    pub fn request(&self) -> FileRequest {
        self.request
    }

    /// True when the desktop is slow to answer: the window then offers to type the path.
    pub fn is_slow(&self) -> bool {
        self.since.elapsed() > PATIENCE
    }

    /// True for an answer faster than a person could give, which means that this desktop has no
    /// dialog.
    pub fn was_instant(&self) -> bool {
        self.since.elapsed() < INSTANT
    }

    /// The answer, if there is one.
    pub fn answer(&self) -> FileDialogAnswer {
        match self.receiver.try_recv() {
            Ok(Some(paths)) if !paths.is_empty() => FileDialogAnswer::Paths(paths),
            Ok(_) | Err(TryRecvError::Disconnected) => FileDialogAnswer::Nothing,
            Err(TryRecvError::Empty) => FileDialogAnswer::Waiting,
        }
    }
}

/// A file type: its name and its extensions.
type FileType = (&'static str, &'static [&'static str]);

const OPENED: [FileType; 3] = [
    (mark!("Everything"), &["*"]),
    ("TACO", &["tacozip", "zip"]),
    (
        mark!("Rasters"),
        &["tif", "tiff", "jp2", "png", "jpg", "nc", "h5", "vrt"],
    ),
];
const TABLES: [FileType; 1] = [(
    mark!("Tables"),
    &[
        "csv", "tsv", "xlsx", "ods", "json", "jsonl", "geojson", "parquet",
    ],
)];
const DRAFTS: [FileType; 1] = [(mark!("Draft of Taco Studio"), &["tacostudio"])];
const ROWS: [FileType; 3] = [
    ("CSV", &["csv"]),
    (mark!("JSON lines"), &["json"]),
    ("Parquet", &["parquet"]),
];

fn kinds(request: FileRequest) -> &'static [FileType] {
    match request {
        FileRequest::Open => &OPENED,
        FileRequest::SaveProject => &DRAFTS,
        FileRequest::JoinTable => &TABLES,
        FileRequest::SaveRows => &ROWS,
        _ => &[],
    }
}

fn title(request: FileRequest) -> &'static str {
    match request {
        FileRequest::Open => tr!("Open a dataset or rasters"),
        FileRequest::OpenFolder => tr!("Open a folder"),
        FileRequest::AddFiles => tr!("Add files"),
        FileRequest::AddFolder => tr!("Add a folder"),
        FileRequest::AddUnplaced => tr!("Add unplaced files"),
        FileRequest::AddUnplacedFolder => tr!("Add the files of a folder, unplaced"),
        FileRequest::Watch => tr!("Watch a folder"),
        FileRequest::JoinTable => tr!("Join a table"),
        FileRequest::SaveSample => tr!("Save sample"),
        FileRequest::SaveProject => tr!("Save the draft"),
        FileRequest::SaveRows => tr!("Save rows"),
        FileRequest::Target => tr!("Write the dataset into"),
        FileRequest::Plan => tr!("Folder of the plan"),
        FileRequest::ToolFile | FileRequest::ToolFiles => tr!("Choose files"),
        FileRequest::ToolFolder => tr!("Choose a folder"),
        FileRequest::ToolOutput => tr!("Choose a name"),
    }
}

fn show(request: FileRequest, title: &str, kinds: &[FileType], name: &str) -> Option<Vec<PathBuf>> {
    let mut dialog = rfd::FileDialog::new().set_title(title);
    for &(kind, endings) in kinds {
        dialog = dialog.add_filter(kind, endings);
    }
    match request {
        FileRequest::Open
        | FileRequest::AddFiles
        | FileRequest::AddUnplaced
        | FileRequest::ToolFiles => dialog.pick_files(),
        FileRequest::AddFolder | FileRequest::AddUnplacedFolder => dialog.pick_folders(),
        FileRequest::JoinTable | FileRequest::ToolFile => dialog.pick_file().map(|path| vec![path]),
        FileRequest::OpenFolder
        | FileRequest::Watch
        | FileRequest::Target
        | FileRequest::Plan
        | FileRequest::ToolFolder => dialog.pick_folder().map(|path| vec![path]),
        FileRequest::SaveSample
        | FileRequest::SaveProject
        | FileRequest::SaveRows
        | FileRequest::ToolOutput => dialog
            .set_file_name(name)
            .save_file()
            .map(|path| vec![path]),
    }
}

/// True for extensions of metadata tables.
pub fn is_table(path: &Path) -> bool {
    let ending = path
        .extension()
        .and_then(|ending| ending.to_str())
        .map(str::to_lowercase);
    matches!(
        ending.as_deref(),
        Some(
            "csv"
                | "tsv"
                | "xlsx"
                | "ods"
                | "json"
                | "jsonl"
                | "ndjson"
                | "geojson"
                | "geojsonl"
                | "geojsons"
                | "geojsonseq"
                | "parquet"
        )
    )
}
