//! File dialogs of the desktop. Each runs on a thread of its own, because some desktops never answer; the window stays usable and a
//! typed path is always accepted instead.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::{Duration, Instant};

/// After this long without an answer the window offers to type the path.
const PATIENCE: Duration = Duration::from_secs(2);

/// Nobody closes a dialog within this time.
const INSTANT: Duration = Duration::from_millis(400);

/// What to ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
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
    /// Where to copy a sample to.
    SaveSample,
    /// Where to save the draft.
    SaveProject,
    /// Where to save the rows of a query.
    SaveRows,
    /// The folder to write the dataset into.
    Target,
}

/// A dialog that is open.
pub struct Picker {
    wish: Wish,
    answer: Receiver<Option<Vec<PathBuf>>>,
    since: Instant,
}

/// What became of the dialog.
pub enum Picked {
    /// Still open.
    Waiting,
    /// Closed without a choice, or there is no dialog on this desktop.
    Nothing,
    /// These were chosen.
    Paths(Vec<PathBuf>),
}

impl Picker {
    /// Opens the dialog; `wake` is called when it closes.
    pub fn open(wish: Wish, name: &str, wake: impl Fn() + Send + 'static) -> Self {
        let (sender, answer) = channel();
        let name = name.to_owned();
        // Without a thread the sender is dropped, which reads as "no dialog here".
        let _ = std::thread::Builder::new().name("file-dialog".into()).spawn(move || {
            let _ = sender.send(ask(wish, &name));
            wake();
        });
        Self { wish, answer, since: Instant::now() }
    }

    /// What was asked for.
    pub fn wish(&self) -> Wish {
        self.wish
    }

    /// True when the desktop is slow to answer: the window then offers to type the path.
    pub fn is_slow(&self) -> bool {
        self.since.elapsed() > PATIENCE
    }

    /// True for an answer that came faster than a person can give one: there is no dialog on this desktop.
    pub fn was_instant(&self) -> bool {
        self.since.elapsed() < INSTANT
    }

    /// The answer, if there is one.
    pub fn poll(&self) -> Picked {
        match self.answer.try_recv() {
            Ok(Some(paths)) if !paths.is_empty() => Picked::Paths(paths),
            Ok(_) | Err(TryRecvError::Disconnected) => Picked::Nothing,
            Err(TryRecvError::Empty) => Picked::Waiting,
        }
    }
}

fn ask(wish: Wish, name: &str) -> Option<Vec<PathBuf>> {
    let dialog = rfd::FileDialog::new();
    match wish {
        Wish::Open => dialog
            .set_title("Open a dataset or rasters")
            .add_filter("Everything", &["*"])
            .add_filter("TACO", &["tacozip", "zip"])
            .add_filter("Rasters", &["tif", "tiff", "jp2", "png", "jpg", "nc", "h5", "vrt"])
            .pick_files(),
        Wish::OpenFolder => dialog.set_title("Open a folder").pick_folder().map(|path| vec![path]),
        Wish::AddFiles => dialog.set_title("Add files").pick_files(),
        Wish::AddFolder => dialog.set_title("Add a folder").pick_folders(),
        Wish::AddUnplaced => dialog.set_title("Add unplaced files").pick_files(),
        Wish::AddUnplacedFolder => dialog.set_title("Add the files of a folder, unplaced").pick_folders(),
        Wish::SaveSample => dialog.set_title("Save sample").set_file_name(name).save_file().map(|path| vec![path]),
        Wish::SaveProject => dialog
            .set_title("Save the draft")
            .add_filter("Draft of Taco Studio", &["tacostudio"])
            .set_file_name(name)
            .save_file()
            .map(|path| vec![path]),
        Wish::SaveRows => dialog
            .set_title("Save rows")
            .add_filter("CSV", &["csv"])
            .add_filter("JSON lines", &["json"])
            .add_filter("Parquet", &["parquet"])
            .set_file_name(name)
            .save_file()
            .map(|path| vec![path]),
        Wish::Target => dialog.set_title("Write the dataset into").pick_folder().map(|path| vec![path]),
    }
}
