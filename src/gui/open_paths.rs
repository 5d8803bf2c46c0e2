//! Opens or imports paths that were dropped, pasted, typed or chosen, after a look at them off the interface thread. Where an
//! interrupted write left the old contents of a path aside, restoring them is offered.

use std::path::{Path, PathBuf};
use std::time::Instant;

use super::App;
use super::dialogs::Dialog;
use super::panel_context::Request;
use super::widgets::Toast;
use crate::container::{aside_of, detect, restore_aside};
use crate::error::{Error, Result};
use crate::model::{NodePath, is_remote};
use crate::remote::admit;
use crate::studio::{Command, LogLevel, command_for, is_project};

/// Action on paths.
pub(super) enum PathAction {
    /// Run this command.
    Run(Command),
    /// Offer to restore this path: it does not exist, but an interrupted write left its old contents aside.
    RestoreAside(PathBuf),
    /// Offer to open these datasets as one, or to run the command instead.
    Several(Vec<PathBuf>, Option<Command>),
}

impl App {
    /// Inspects paths off the interface thread, then opens or imports them.
    pub(super) fn open_or_import(&mut self, paths: Vec<PathBuf>) {
        self.look_at_paths(paths, false);
    }

    /// Opens the paths of a later start. Nothing says where in an open draft its files belong, so they go into the tray, whatever is
    /// selected.
    pub fn take_handed_over(&mut self, paths: Vec<PathBuf>) {
        self.look_at_paths(paths, true);
    }

    fn look_at_paths(&mut self, mut paths: Vec<PathBuf>, handed_over: bool) {
        let to_tray = handed_over && self.has_samples();
        for path in &mut paths {
            if is_remote(path) {
                // Keep the signature of a signed link apart from the address.
                *path = PathBuf::from(admit(&path.to_string_lossy()));
            } else if let Ok(whole) = std::path::absolute(&*path) {
                *path = whole;
            }
        }
        self.inspect_paths(move |into, opened, loose| {
            if let Some(missing) = paths.iter().find(|path| !is_remote(path) && !path.exists()) {
                if aside_of(missing).is_some() {
                    return Ok(PathAction::RestoreAside(missing.clone()));
                }
                return Err(Error::usage("there is nothing here")
                    .at_path(missing)
                    .hint("check the path, or whether the disk is attached"));
            }
            let into = if opened || to_tray { NodePath::root() } else { into };
            if paths.len() > 1 && paths.iter().all(|path| is_dataset(path)) {
                let add = Command::Import { paths: paths.clone(), into, metadata: None };
                return Ok(PathAction::Several(paths, Some(add)));
            }
            let loose = loose || to_tray;
            Ok(PathAction::Run(match command_for(paths, into) {
                Command::Import { paths, .. } if loose && paths.iter().all(|path| path.is_file()) => Command::AddToTray { paths },
                command => command,
            }))
        });
    }

    /// Restores the old contents that an interrupted write left aside, and opens them.
    pub(super) fn restore_aside(&mut self, path: PathBuf) {
        self.inspect_paths(move |into, _, _| {
            restore_aside(&path)?;
            Ok(PathAction::Run(command_for(vec![path], into)))
        });
    }

    /// Starts the inspection of paths. `look` gets the selected FOLDER, whether a dataset is open for reading, and whether loose files
    /// go into the tray.
    fn inspect_paths(&mut self, look: impl FnOnce(NodePath, bool, bool) -> Result<PathAction> + Send + 'static) {
        let opened = self.studio.document().is_some_and(|document| document.opened().is_some());
        let into = self.folder_of_selection();
        // In a draft with FOLDERs, loose files without a selected FOLDER go into the tray.
        let loose = into.0.is_empty() && self.has_folders();
        let key = (self.session.serial, Instant::now());
        self.path_action.update(&self.jobs, key, tr!("Read the paths"), move |_| look(into, opened, loose));
    }

    /// Handles the result of the inspection.
    pub(super) fn take_path_action(&mut self) {
        let here = self.path_action.key().is_some_and(|(serial, _)| *serial == self.session.serial);
        let Some(outcome) = self.path_action.take() else { return };
        match outcome {
            Ok(PathAction::RestoreAside(path)) => self.dialogs.open(Dialog::aside(path)),
            Ok(PathAction::Several(paths, add)) => {
                // Without a draft, files would begin one of archives as samples.
                let drafted = self.studio.document().is_some_and(|document| document.draft().is_some());
                self.dialogs.open(Dialog::several(&paths, add.filter(|_| drafted && here)));
            }
            Ok(PathAction::Run(Command::Import { .. } | Command::AddToTray { .. })) if !here => {
                // The draft that they were added to is closed.
                self.toast = Some(Toast::new(false, tr!("Another document was opened meanwhile, so nothing was added")));
            }
            Ok(PathAction::Run(command)) => self.run_path_command(command),
            Err(error) => {
                self.studio.log(LogLevel::Error, error.report());
                self.tell_error(&error);
            }
        }
    }

    fn run_path_command(&mut self, command: Command) {
        match table_of(&command).cloned() {
            // A table dropped on a draft probably describes its samples: ask.
            Some(table) if self.has_samples() => self.dialogs.open(Dialog::join(table, Some(command))),
            _ => {
                let opened = self.studio.document().is_some_and(|document| document.draft().is_none());
                if matches!(command, Command::Import { .. }) && opened {
                    // Files dropped on an opened dataset start a new draft.
                    self.requests.push(Request::Run(Command::New));
                }
                self.requests.push(Request::Run(command));
            }
        }
    }

    /// True when a draft with samples is open.
    fn has_samples(&self) -> bool {
        self.studio.document().is_some_and(|document| document.draft().is_some() && document.rows(0) > 0)
    }
}

/// True for a dataset that can be opened with others; addresses are datasets, as nothing else can be dropped from there.
fn is_dataset(path: &Path) -> bool {
    is_remote(path) || (!is_project(path) && detect(path).is_ok())
}

/// The only file that a command would import, if it may be a table of metadata.
fn table_of(command: &Command) -> Option<&PathBuf> {
    let (Command::Import { paths, .. } | Command::AddToTray { paths }) = command else { return None };
    paths.first().filter(|path| paths.len() == 1 && super::file_dialog::is_table(path))
}
