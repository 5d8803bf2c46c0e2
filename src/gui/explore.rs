//! Requests of the explore panels beyond commands: remembered queries, saving rows, exporting a
//! subset, catalogue descriptions, migration to 2.0.

use std::path::{Path, PathBuf};

use egui::Context;

use super::App;
use super::dialogs::{Dialog, ToolStart, start_of};
use super::dropped_paths;
use super::file_dialog::FileRequest;
use super::panel_context::Request;
use super::tool::Tool;
use super::view_state::QueryBook;
use super::widgets::Toast;
use crate::container::{OpenOptions, dataset_around, folder_beside};
use crate::export::Catalogue;
use crate::model::{Dataset, Payload, Sample};
use crate::ops::Migrated;
use crate::query::Query;
use crate::studio::{Command, Document};

impl App {
    pub(super) fn remember_queries(&mut self, book: QueryBook) {
        self.view.queries = book;
        self.save();
    }

    /// Asks for the file to save rows into; the rows are read once it is chosen.
    pub(super) fn save_rows(&mut self, ctx: &Context, query: Query) {
        self.rows_to_save = Some(query);
        self.pick(ctx, FileRequest::SaveRows);
    }

    /// Saves the rows into the chosen file.
    pub(super) fn rows_target(&mut self, target: Option<PathBuf>) {
        if let Some((query, target)) = self.rows_to_save.take().zip(target) {
            self.requests
                .push(Request::Run(Command::SaveRows { query, target }));
        }
    }

    pub(super) fn export_subset(&mut self, sql: Option<String>) {
        let Some((input, id)) = self.opened_path_and_id() else {
            return;
        };
        let open = self
            .studio
            .document()
            .and_then(|document| document.opened_dataset())
            .map(|open| open.options.clone());
        self.dialogs.open(Dialog::export_subset(
            input,
            open.unwrap_or_default(),
            &self.folder(),
            &id,
            sql,
        ));
    }

    pub(super) fn describe(&mut self, form: Catalogue) {
        let Some((input, id)) = self.opened_path_and_id() else {
            return;
        };
        let open = self
            .studio
            .document()
            .and_then(|document| document.opened_dataset())
            .map(|open| open.options.clone());
        self.dialogs.open(Dialog::describe(
            input,
            open.unwrap_or_default(),
            &self.folder(),
            &id,
            form,
        ));
    }

    /// Opens the dialog that publishes the dataset at `path`, or the open one.
    pub(super) fn publish(&mut self, path: Option<PathBuf>) {
        if let Some((input, open)) = path
            .map(|path| (path, Default::default()))
            .or_else(|| self.find_opened_path_and_options())
        {
            self.dialogs.open(Dialog::publish(
                input,
                open,
                self.view.settings.publish_prices.clone(),
            ));
        }
    }

    fn find_opened_path_and_options(&self) -> Option<(PathBuf, OpenOptions)> {
        let open = self
            .studio
            .document()
            .and_then(|document| document.opened_dataset())
            .map(|open| open.options.clone());
        Some((self.opened_path_and_id()?.0, open.unwrap_or_default()))
    }

    pub(super) fn migrate(&mut self) {
        let Some((input, _)) = self.opened_path_and_id() else {
            return;
        };
        self.dialogs.open(Dialog::migrate(input, &self.folder()));
    }

    /// Opens the dialog of a tool.
    pub(super) fn open_tool(&mut self, tool: Tool, sample: Option<String>) {
        let start = ToolStart {
            sample,
            ..start_of(self.studio.document(), self.folder())
        };
        self.dialogs.open(Dialog::tool(tool, &start));
    }

    /// Opens the dialog that repairs a copy of a dataset that is not open.
    pub(super) fn repair_copy(&mut self, path: PathBuf) {
        let id = path
            .file_stem()
            .map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
        let folder = path.parent().map_or_else(|| self.folder(), Path::to_owned);
        let start = ToolStart {
            input: Some(path),
            id,
            folder,
            ..ToolStart::default()
        };
        self.dialogs.open(Dialog::tool(Tool::Repair, &start));
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

    /// Path and id of the opened dataset.
    fn opened_path_and_id(&self) -> Option<(PathBuf, String)> {
        let open = self.studio.document()?.opened_dataset()?;
        Some((
            open.reader.info().path.clone(),
            open.reader.collection().id().to_owned(),
        ))
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
