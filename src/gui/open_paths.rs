//! Opens or imports paths that were dropped, pasted, typed or chosen, after a look at them off the interface thread. Where an
//! interrupted write left the old contents of a path aside, restoring them is offered.

use std::path::PathBuf;
use std::time::Instant;

use super::App;
use super::dialogs::Dialog;
use super::panel_context::Request;
use super::widgets::Toast;
use crate::container::{aside_of, restore_aside};
use crate::error::{Error, Result};
use crate::model::{NodePath, is_remote};
use crate::remote::admit;
use crate::studio::{Command, LogLevel, command_for};

/// What to do with paths.
pub(super) enum PathAction {
    /// Run this command.
    Run(Command),
    /// Offer to restore this path: it does not exist, but an interrupted write left its old contents aside.
    RestoreAside(PathBuf),
}

impl App {
    /// Looks at paths off the interface thread, and then runs the command that they mean.
    pub(super) fn open_or_import(&mut self, mut paths: Vec<PathBuf>) {
        // A draft that was never touched is the same as none.
        for path in &mut paths {
            if is_remote(path) {
                // From here on a signed link is without what makes it one.
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
            let into = if opened { NodePath::root() } else { into };
            Ok(PathAction::Run(match command_for(paths, into) {
                Command::Import { paths, .. } if loose && paths.iter().all(|path| path.is_file()) => Command::AddToTray { paths },
                command => command,
            }))
        });
    }

    /// Brings back what an interrupted write left aside, and opens it.
    pub(super) fn restore_aside(&mut self, path: PathBuf) {
        self.inspect_paths(move |into, _, _| {
            restore_aside(&path)?;
            Ok(PathAction::Run(command_for(vec![path], into)))
        });
    }

    /// Starts to find out what to do with paths, given the selected FOLDER, whether a dataset is open for reading, and whether loose files
    /// go into the tray.
    fn inspect_paths(&mut self, look: impl FnOnce(NodePath, bool, bool) -> Result<PathAction> + Send + 'static) {
        let opened = self.studio.document().is_some_and(|document| document.opened().is_some());
        let into = self.folder_of_selection();
        // Loose files among scenes have no place yet, unless somebody says where.
        let loose = into.0.is_empty() && self.has_folders();
        let key = (self.session.serial, Instant::now());
        self.path_action.update(&self.jobs, key, tr!("Look at the paths"), move |_| look(into, opened, loose));
    }

    /// Does what was found out about paths.
    pub(super) fn take_path_action(&mut self) {
        let here = self.path_action.key().is_some_and(|(serial, _)| *serial == self.session.serial);
        let Some(outcome) = self.path_action.take() else { return };
        match outcome {
            Ok(PathAction::RestoreAside(path)) => self.dialogs.open(Dialog::aside(path)),
            Ok(PathAction::Run(Command::Import { .. } | Command::AddToTray { .. })) if !here => {
                // They were meant for a draft that is not open any more.
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
            // A table beside a draft is most likely about its samples; the dialog asks.
            Some(table) if self.has_samples() => self.dialogs.open(Dialog::join(table, Some(command))),
            _ => {
                let opened = self.studio.document().is_some_and(|document| document.draft().is_none());
                if matches!(command, Command::Import { .. }) && opened {
                    // Files dropped on an opened dataset begin a draft of their own.
                    self.requests.push(Request::Run(Command::New));
                }
                self.requests.push(Request::Run(command));
            }
        }
    }

    /// A draft is open that is not empty.
    fn has_samples(&self) -> bool {
        self.studio.document().is_some_and(|document| document.draft().is_some() && document.rows(0) > 0)
    }
}

/// The one file that a command would take in, when it may be a table of metadata.
fn table_of(command: &Command) -> Option<&PathBuf> {
    let (Command::Import { paths, .. } | Command::AddToTray { paths }) = command else { return None };
    paths.first().filter(|path| paths.len() == 1 && super::dialogs::is_table(path))
}
