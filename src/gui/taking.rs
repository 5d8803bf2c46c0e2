//! What becomes of paths that are dropped, pasted, typed or chosen: they are looked at off the interface thread, then opened or added.
//! Where an interrupted write left the old copy of one aside, it is offered.

use std::path::PathBuf;

use super::App;
use super::dialogs::Dialog;
use super::panel_context::Request;
use super::widgets::Toast;
use crate::container::{aside_of, restore_aside};
use crate::error::{Error, Result};
use crate::jobs::Job;
use crate::model::{NodePath, is_remote};
use crate::remote::admit;
use crate::studio::{Command, LogLevel, command_for};

/// What paths mean.
pub(super) enum Meant {
    /// This is to be done with them.
    Run(Command),
    /// Nothing has this name, and what had it lies aside.
    Aside(PathBuf),
}

/// Paths that are being looked at, for the document of a number.
pub(super) struct Sorting {
    serial: u64,
    job: Job<Meant>,
}

impl App {
    /// Looks at paths off the interface thread, and then runs the command that they mean.
    pub(super) fn take(&mut self, mut paths: Vec<PathBuf>) {
        // A draft that was never touched is the same as none.
        for path in &mut paths {
            if is_remote(path) {
                // From here on a signed link is without what makes it one.
                *path = PathBuf::from(admit(&path.to_string_lossy()));
            } else if let Ok(whole) = std::path::absolute(&*path) {
                *path = whole;
            }
        }
        self.sort(move |into, opened, loose| {
            if let Some(missing) = paths.iter().find(|path| !is_remote(path) && !path.exists()) {
                if aside_of(missing).is_some() {
                    return Ok(Meant::Aside(missing.clone()));
                }
                return Err(Error::usage("there is nothing here")
                    .at_path(missing)
                    .hint("check the path, or whether the disk is attached"));
            }
            let into = if opened { NodePath::root() } else { into };
            Ok(Meant::Run(match command_for(paths, into) {
                Command::Import { paths, .. } if loose && paths.iter().all(|path| path.is_file()) => Command::AddToTray { paths },
                command => command,
            }))
        });
    }

    /// Brings back what an interrupted write left aside, and opens it.
    pub(super) fn restore_aside(&mut self, path: PathBuf) {
        self.sort(move |into, _, _| {
            restore_aside(&path)?;
            Ok(Meant::Run(command_for(vec![path], into)))
        });
    }

    /// Starts to find out what paths mean, given the selected FOLDER, whether a dataset is open for reading, and whether loose files
    /// go into the tray.
    fn sort(&mut self, look: impl FnOnce(NodePath, bool, bool) -> Result<Meant> + Send + 'static) {
        let opened = self.studio.document().is_some_and(|document| document.opened().is_some());
        let into = self.folder_of_selection();
        // Loose files among scenes have no place yet, unless somebody says where.
        let loose = into.0.is_empty() && self.has_folders();
        let job = self.jobs.start(tr!("Look at the paths"), move |_| look(into, opened, loose));
        self.sorting = Some(Sorting { serial: self.session.serial, job });
    }

    /// Does what was found out about paths.
    pub(super) fn poll_sorting(&mut self) {
        let Some(outcome) = self.sorting.as_mut().and_then(|sorting| sorting.job.try_take()) else { return };
        let here = self.sorting.take().is_some_and(|sorting| sorting.serial == self.session.serial);
        match outcome {
            Ok(Meant::Aside(path)) => self.dialogs.open(Dialog::aside(path)),
            Ok(Meant::Run(Command::Import { .. } | Command::AddToTray { .. })) if !here => {
                // They were meant for a draft that is not open any more.
                self.toast = Some(Toast::new(false, tr!("Another document was opened meanwhile, so nothing was added")));
            }
            Ok(Meant::Run(command)) => self.run_meant(command),
            Err(error) => {
                self.studio.log(LogLevel::Error, error.report());
                self.tell_error(&error);
            }
        }
    }

    fn run_meant(&mut self, command: Command) {
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
