//! Requests of the explore panels beyond commands: saving rows, exporting a subset, catalogue
//! descriptions, migration to 2.0.

use std::path::{Path, PathBuf};

use super::App;
use super::action::Action;
use super::dialogs::{OperationDialog, OperationStart, form_of, start_of};
use super::dropped_paths;
use super::panel_context::Request;
use super::widgets::Toast;
use crate::container::{dataset_around, folder_beside};
use crate::export::Catalogue;
use crate::model::{Dataset, Payload, Sample};
use crate::ops::Migrated;
use crate::studio::{Command, Document};

impl App {
    /// Saves the rows into the chosen file.
    pub(super) fn rows_target(&mut self, target: Option<PathBuf>) {
        if let Some((query, target)) = self.rows_to_save.take().zip(target) {
            self.requests
                .push(Request::Run(Command::SaveRows { query, target }));
        }
    }

    pub(super) fn export_subset(&mut self, sql: Option<String>) {
        let start = OperationStart {
            sql,
            ..self.start_of_document()
        };
        self.open_operation(Action::ExportSubset, &start);
    }

    pub(super) fn describe(&mut self, form: Catalogue) {
        let start = OperationStart {
            catalogue: Some(form),
            ..self.start_of_document()
        };
        self.open_operation(Action::Describe, &start);
    }

    /// Opens the form that publishes the dataset at `path`.
    pub(super) fn publish(&mut self, path: PathBuf) {
        let start = OperationStart {
            input: Some(path),
            prices: self.view.settings.publish_prices.clone(),
            ..OperationStart::default()
        };
        self.open_operation(Action::Publish, &start);
    }

    /// Opens the form of an action, for this sample of level 0 alone.
    pub(super) fn open_form(&mut self, action: Action, sample: Option<String>) {
        let start = OperationStart {
            sample,
            ..self.start_of_document()
        };
        self.open_operation(action, &start);
    }

    /// The open document and the settings, for the initial values of a form.
    fn start_of_document(&self) -> OperationStart {
        OperationStart {
            prices: self.view.settings.publish_prices.clone(),
            ..start_of(self.studio.document(), self.folder())
        }
    }

    fn open_operation(&mut self, action: Action, start: &OperationStart) {
        if let Some(form) = form_of(action, start) {
            self.dialogs.open(OperationDialog::new(form));
        }
    }

    /// Opens the dialog that repairs a copy of a dataset that is not open.
    pub(super) fn repair_copy(&mut self, path: PathBuf) {
        let id = path
            .file_stem()
            .map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
        let folder = path.parent().map_or_else(|| self.folder(), Path::to_owned);
        let start = OperationStart {
            input: Some(path),
            id,
            folder,
            ..OperationStart::default()
        };
        self.open_operation(Action::Repair, &start);
    }

    /// Tells the end of a migration that no dialog waits for.
    pub(super) fn tell_migration(&mut self, migrated: &Migrated) {
        let text = match &migrated.built {
            Some(built) => tr!(
                "Moved to 2.0: {path}",
                path = dropped_paths::display_path(&built.path)
            ),
            None => {
                let n = migrated.findings.len();
                tr_n!(
                    n,
                    "2.0 can't hold this dataset yet: {n} finding",
                    "2.0 can't hold this dataset yet: {n} findings",
                    n
                )
            }
        };
        self.toast = Some(Toast::new(migrated.built.is_some(), text));
    }

    /// The folder proposed for output: beside what is open, else where the last dataset was
    /// written, else the home folder; never inside another dataset.
    pub(super) fn folder(&self) -> PathBuf {
        let beside = match self.studio.document() {
            Some(document @ Document::Draft(draft)) => {
                let sources = || folder_beside(&sources_folder(document.draft()?.dataset())?);
                draft.project().and_then(folder_beside).or_else(sources)
            }
            Some(Document::Opened(open)) => folder_beside(&open.reader.info().path),
            None => None,
        };
        let outside = |folder: &PathBuf| dataset_around(&folder.join("output")).is_none();
        let home = || directories::UserDirs::new().map(|dirs| dirs.home_dir().to_owned());
        beside
            .or_else(|| self.view.target.clone().filter(outside))
            .or_else(home)
            .unwrap_or_default()
    }
}

/// The folder that contains the source files of a draft, by the first samples; `None` for sources
/// that are not files.
fn sources_folder(dataset: &Dataset) -> Option<PathBuf> {
    /// Samples whose sources are compared.
    const COMPARED: usize = 64;
    fn first(sample: &Sample) -> Option<PathBuf> {
        match &sample.payload {
            Payload::Folder(children) => children.samples.iter().find_map(first),
            Payload::Asset { path, .. } => path.local_file().map(Path::to_owned),
            Payload::Bytes(_) => None,
        }
    }
    let mut folders = dataset
        .root
        .samples
        .iter()
        .take(COMPARED)
        .filter_map(first)
        .filter_map(|file| Some(file.parent()?.to_owned()));
    let mut common = folders.next()?;
    for folder in folders {
        while !folder.starts_with(&common) {
            common = common.parent()?.to_owned();
        }
    }
    // A single root: its folder is the root, or one of its FOLDERs.
    Some(common)
}
