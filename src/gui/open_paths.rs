//! Opens or imports paths that were dropped, pasted, typed or chosen, after a look at them off the
//! interface thread. Where an interrupted write left the old contents of a path aside, restoring
//! them is offered.

use std::path::{Path, PathBuf};
use std::time::Instant;

use super::App;
use super::dialogs::{
    AddDataset, ConfirmDialog, Consent, JoinDialog, LayoutDialog, OperationDialog, SeveralForm,
};
use super::panel_context::Request;
use super::path_action::PathAction;
use super::widgets::Toast;
use crate::container::{aside_of, detect, restore_aside};
use crate::error::{Cause, Error, Result};
use crate::jobs::JobContext;
use crate::model::{NodePath, StudioLink, is_remote, is_studio_link, path_of_file_url};
use crate::ops::{DatasetImport, is_archive, is_catalogue};
use crate::remote::admit;
use crate::studio::{Command, LogLevel, RowRef, command_for, is_project};

/// How paths arrive.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Arrival {
    /// Typed, chosen or listed, to be opened.
    Opened,
    /// Dropped or pasted.
    Dropped,
    /// From a later start of the program.
    HandedOver,
}

/// What the inspection of paths needs of the window.
struct WindowFacts {
    /// The selected FOLDER.
    into: NodePath,
    /// A dataset is open for reading.
    opened: bool,
    /// Loose files go into the tray.
    loose: bool,
    /// What is added begins a draft.
    empty: bool,
}

impl App {
    /// Takes paths that were dropped or pasted: as if they were opened, but what a dataset becomes
    /// in an open draft is asked.
    pub fn take_dropped(&mut self, paths: Vec<PathBuf>) {
        self.look_at_paths(paths, Arrival::Dropped);
    }

    /// Opens the paths of a later start. Nothing says where in an open draft its files belong, so
    /// they go into the tray, whatever is selected.
    pub fn take_handed_over(&mut self, paths: Vec<PathBuf>) {
        self.look_at_paths(paths, Arrival::HandedOver);
    }

    /// Asks whether what a link names is opened: it may come from any page, and following it reads
    /// from a server, or makes the file known that it names.
    fn ask_to_open_link(&mut self, text: &str) {
        match StudioLink::parse(text) {
            // A page must not close a form that is being filled in.
            Ok(_) if self.dialogs.is_open() => {
                self.toast = Some(Toast::new(
                    false,
                    tr!("A link was not followed, as a dialog is open. Follow it again later."),
                ));
            }
            Ok(link) => self.dialogs.open(Consent::open_link(link)),
            Err(error) => {
                self.studio.log(LogLevel::Error, error.report());
                self.tell_error(&error);
            }
        }
    }

    /// Opens the dataset of a link; its sample is selected once the dataset is open.
    pub(super) fn open_link(&mut self, link: StudioLink) {
        let dataset = if is_remote(&link.dataset) {
            PathBuf::from(admit(&link.dataset.to_string_lossy()))
        } else {
            link.dataset
        };
        self.linked_sample = link.sample.map(|sample| (dataset.clone(), sample));
        self.inspect_paths(move |_, _| {
            // What is no dataset is not taken into a draft.
            if !is_remote(&dataset) {
                detect(&dataset)?;
            }
            Ok(PathAction::Run(Command::Open { path: dataset }))
        });
    }

    /// Selects the sample that a link named, if the dataset that was opened is the link's.
    pub(super) fn select_linked_sample(&mut self, opened: &Path) {
        let Some((dataset, sample)) = self.linked_sample.take() else {
            return;
        };
        if dataset != opened {
            return;
        }
        let found = self
            .studio
            .document()
            .and_then(|document| document.tree().find(&sample));
        match found {
            Some((level, row)) => self
                .requests
                .push(Request::Select(Some(RowRef { level, row }))),
            None => {
                self.toast = Some(Toast::new(
                    false,
                    tr!("There is no sample {sample} here", sample),
                ))
            }
        }
    }

    /// Inspects paths off the interface thread, then opens or imports them.
    pub(super) fn look_at_paths(&mut self, mut paths: Vec<PathBuf>, arrival: Arrival) {
        self.linked_sample = None;
        if let Some(index) = paths.iter().position(|path| is_studio_link(path)) {
            let link = paths.remove(index);
            self.ask_to_open_link(&link.to_string_lossy());
            paths.retain(|path| !is_studio_link(path));
            if paths.is_empty() {
                return;
            }
        }
        let to_tray = arrival == Arrival::HandedOver && self.has_samples();
        for path in &mut paths {
            // Desktops hand over files as URLs to a program that takes links.
            if let Some(file) = path.to_str().and_then(path_of_file_url) {
                *path = file;
            }
            if is_remote(path) {
                // Keep the signature of a signed link apart from the address.
                *path = PathBuf::from(admit(&path.to_string_lossy()));
            } else if let Ok(whole) = std::path::absolute(&*path) {
                *path = whole;
            }
        }
        self.inspect_paths(move |target, ctx| {
            let WindowFacts {
                into,
                opened,
                loose,
                empty,
            } = target;
            if let Some(missing) = paths.iter().find(|path| !is_remote(path) && !path.exists()) {
                if aside_of(missing).is_some() {
                    return Ok(PathAction::RestoreAside(missing.clone()));
                }
                return Err(Error::usage("there is nothing here")
                    .at_path(missing)
                    .hint("check the path, or whether the disk is attached"));
            }
            let into = if opened || to_tray {
                NodePath::root()
            } else {
                into
            };
            if paths.len() > 1 && paths.iter().all(|path| is_dataset(path)) {
                let add = Command::Import {
                    paths: paths.clone(),
                    into,
                    metadata: None,
                };
                return Ok(PathAction::Several(paths, Some(add)));
            }
            if let [path] = paths.as_slice() {
                if is_catalogue(path) {
                    let add = (!is_remote(path)).then(|| Command::Import {
                        paths: paths.clone(),
                        into: into.clone(),
                        metadata: None,
                    });
                    return Ok(PathAction::Catalogue(
                        DatasetImport {
                            path: path.clone(),
                            into,
                            ..DatasetImport::default()
                        },
                        add,
                    ));
                }
                if is_archive(path) {
                    return PathAction::of_archive(path, into, empty, ctx);
                }
                let detected = if is_remote(path) || is_project(path) {
                    None
                } else {
                    Some(detect(path))
                };
                if let Some(Err(error)) = &detected
                    && error.is_caused_by(Cause::RepairableArchive)
                {
                    return Ok(PathAction::Repair(path.clone()));
                }
                let is_dataset = is_remote(path) || matches!(detected, Some(Ok(_)));
                if !empty && arrival == Arrival::Dropped && is_dataset {
                    // Only what is on this machine can be packed as one file.
                    let is_file = !is_remote(path) && path.is_file();
                    let add = is_file.then(|| Command::Import {
                        paths: paths.clone(),
                        into: into.clone(),
                        metadata: None,
                    });
                    return Ok(PathAction::Dataset(
                        DatasetImport {
                            path: path.clone(),
                            into,
                            ..DatasetImport::default()
                        },
                        add,
                    ));
                }
            }
            let loose = loose || to_tray;
            match command_for(paths, into) {
                Command::Import { paths, .. }
                    if loose && paths.iter().all(|path| path.is_file()) =>
                {
                    Ok(PathAction::Run(Command::AddToTray { paths }))
                }
                command => PathAction::add(command, empty, ctx),
            }
        });
    }

    /// Adds files and folders that were chosen for the draft.
    pub(super) fn look_at_added(&mut self, command: Command) {
        self.inspect_paths(move |target, ctx| PathAction::add(command, target.empty, ctx));
    }

    /// Restores the old contents that an interrupted write left aside, and opens them.
    pub(super) fn restore_aside(&mut self, path: PathBuf) {
        self.inspect_paths(move |target, _| {
            restore_aside(&path)?;
            Ok(PathAction::Run(command_for(vec![path], target.into)))
        });
    }

    /// Starts the inspection of paths.
    fn inspect_paths(
        &mut self,
        look: impl FnOnce(WindowFacts, &JobContext) -> Result<PathAction> + Send + 'static,
    ) {
        let opened = self
            .studio
            .document()
            .is_some_and(|document| document.opened_dataset().is_some());
        let into = self.folder_of(self.session.selection.sample);
        // In a draft with FOLDERs, loose files without a selected FOLDER go into the tray.
        let loose = into.0.is_empty() && self.has_folders();
        let empty = !self.has_samples();
        let target = WindowFacts {
            into,
            opened,
            loose,
            empty,
        };
        let key = (self.session.serial, Instant::now());
        self.path_action
            .update(&self.jobs, key, tr!("Read the paths"), move |ctx| {
                look(target, ctx)
            });
    }

    /// Handles the result of the inspection.
    pub(super) fn take_path_action(&mut self) {
        let here = self
            .path_action
            .key()
            .is_some_and(|(serial, _)| *serial == self.session.serial);
        let Some(outcome) = self.path_action.take() else {
            return;
        };
        match outcome {
            Ok(PathAction::RestoreAside(path)) => {
                self.dialogs.open(ConfirmDialog::restore_aside(path))
            }
            Ok(PathAction::Several(paths, add)) => {
                // Without a draft, files would begin one of archives as samples.
                let drafted = self
                    .studio
                    .document()
                    .is_some_and(|document| document.draft().is_some());
                let form = SeveralForm::from_paths(&paths, add.filter(|_| drafted && here));
                self.dialogs.open(OperationDialog::new(Box::new(form)));
            }
            Ok(
                PathAction::Run(Command::Import { .. } | Command::AddToTray { .. })
                | PathAction::Layout(..)
                | PathAction::Dataset(..)
                | PathAction::Archive(..)
                | PathAction::Catalogue(..),
            ) if !here => {
                // The draft that they were added to is closed.
                self.toast = Some(Toast::new(
                    false,
                    tr!("Another document was opened meanwhile, so nothing was added"),
                ));
            }
            Ok(PathAction::Repair(path)) => self.dialogs.open(ConfirmDialog::repair_archive(path)),
            Ok(PathAction::Dataset(request, add)) => {
                self.dialogs.open(AddDataset::new(request, add))
            }
            Ok(PathAction::Archive(request, add)) => {
                self.dialogs.open(AddDataset::of_archive(request, add))
            }
            Ok(PathAction::Catalogue(request, add)) => {
                self.dialogs.open(AddDataset::of_catalogue(request, add))
            }
            Ok(PathAction::Layout(folder, found, otherwise)) => self
                .dialogs
                .open(LayoutDialog::new(folder, found, otherwise)),
            Ok(PathAction::Run(command)) => self.run_path_command(command),
            Err(error) => {
                self.linked_sample = None;
                self.studio.log(LogLevel::Error, error.report());
                self.tell_error(&error);
            }
        }
    }

    fn run_path_command(&mut self, command: Command) {
        match table_of(&command).cloned() {
            // A table dropped on a draft probably describes its samples: ask.
            Some(table) if self.has_samples() => {
                self.dialogs.open(JoinDialog::new(table, Some(command)))
            }
            _ => self.add_to_draft(command),
        }
    }

    /// Runs a command that adds files, or another one.
    pub(super) fn add_to_draft(&mut self, command: Command) {
        let opened = self
            .studio
            .document()
            .is_some_and(|document| document.draft().is_none());
        if matches!(
            command,
            Command::Import { .. } | Command::ImportLayout { .. } | Command::ImportDataset { .. }
        ) && opened
        {
            // Files dropped on an opened dataset start a new draft.
            self.requests.push(Request::Run(Command::New));
        }
        self.requests.push(Request::Run(command));
    }

    /// True when a draft with samples is open.
    fn has_samples(&self) -> bool {
        self.studio
            .document()
            .is_some_and(|document| document.draft().is_some() && document.rows(0) > 0)
    }
}

/// True for a dataset that can be opened with others; addresses are datasets, as nothing else can
/// be dropped from there.
fn is_dataset(path: &Path) -> bool {
    is_remote(path) || (!is_project(path) && detect(path).is_ok())
}

/// The only file that a command would import, if it may be a table of metadata.
fn table_of(command: &Command) -> Option<&PathBuf> {
    let (Command::Import { paths, .. } | Command::AddToTray { paths }) = command else {
        return None;
    };
    paths
        .first()
        .filter(|path| paths.len() == 1 && super::file_dialog::is_table(path))
}
