//! Requests of the explore panels beyond commands: saving rows, exporting a subset, catalogue
//! descriptions, migration to 2.0. The forms of operations open once a job has looked at the disk
//! for their initial values.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::App;
use super::action::Action;
use super::dialogs::{OperationStart, start_of};
use super::dropped_paths;
use super::file_manager;
use super::output_places::{OutputPlaces, sources_folder};
use super::panel_context::Request;
use super::started_form::{FormRequest, StartedForm};
use super::widgets::Toast;
use crate::error::Result;
use crate::export::Catalogue;
use crate::jobs::JobContext;
use crate::ops::{Migrated, places_of};
use crate::studio::{Command, Document, LogLevel};

/// Time after a request within which a form opens.
const OPENS_WITHIN: Duration = Duration::from_secs(5);

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
        self.open_operation(Action::ExportSubset, start);
    }

    pub(super) fn describe(&mut self, form: Catalogue) {
        let start = OperationStart {
            catalogue: Some(form),
            ..self.start_of_document()
        };
        self.open_operation(Action::Describe, start);
    }

    /// Opens the form that publishes the dataset at `path`.
    pub(super) fn publish(&mut self, path: PathBuf) {
        let start = OperationStart {
            input: Some(path),
            prices: self.view.settings.publish_prices.clone(),
            ..OperationStart::default()
        };
        // Nothing on the disk changes its initial values.
        if let Some(dialog) = StartedForm::Operation(Action::Publish, Box::new(start)).dialog() {
            self.dialogs.open(dialog);
        }
    }

    /// Shows a path in the desktop's file manager. A script starts no programs.
    pub(super) fn show_in_folder(&mut self, path: PathBuf) {
        if self.driver.is_some() {
            return;
        }
        let key = (path.clone(), Instant::now());
        self.shown_in_folder
            .update(&self.jobs, key, tr!("Open the file manager"), move |ctx| {
                file_manager::show_in_folder(&path, ctx)
            });
    }

    /// Opens the form of an action, for this sample of level 0 alone.
    pub(super) fn open_form(&mut self, action: Action, sample: Option<String>) {
        let start = OperationStart {
            sample,
            ..self.start_of_document()
        };
        self.open_operation(action, start);
    }

    /// The open document and the settings, for the initial values of a form.
    fn start_of_document(&self) -> OperationStart {
        OperationStart {
            prices: self.view.settings.publish_prices.clone(),
            ..start_of(self.studio.document())
        }
    }

    fn open_operation(&mut self, action: Action, start: OperationStart) {
        let places = self.output_places();
        self.start_form(move |_| {
            let start = start.look_at_disk(action, &places);
            Ok(StartedForm::Operation(action, Box::new(start)))
        });
    }

    /// Opens the form that writes the draft.
    pub(super) fn open_write(&mut self) {
        let places = self.output_places();
        let document = self.studio.document();
        let id = document
            .map(|document| document.collection().id().to_owned())
            .unwrap_or_default();
        let draft = document.and_then(Document::draft);
        let dataset = draft.map(|draft| draft.dataset().clone());
        self.start_form(move |ctx| {
            let own = dataset.as_ref().map(places_of).unwrap_or_default();
            ctx.check()?;
            let folder = places.choose_folder();
            Ok(StartedForm::Write { folder, id, own })
        });
    }

    /// Finds the initial values of a form off the interface thread, then opens it.
    fn start_form(
        &mut self,
        look: impl FnOnce(&JobContext) -> Result<StartedForm> + Send + 'static,
    ) {
        let request = FormRequest {
            document: self.session.serial,
            asked: Instant::now(),
            over_dialog: self.dialogs.number(),
        };
        self.started_form
            .update(&self.jobs, request, tr!("Prepare the form"), look);
        // Mostly it is there already.
        self.take_started_form();
    }

    /// Opens the form whose initial values were found.
    pub(super) fn take_started_form(&mut self) {
        let Some(request) = self.started_form.key().copied() else {
            return;
        };
        let Some(outcome) = self.started_form.take() else {
            return;
        };
        let may_open = request.may_open(self.session.serial, self.dialogs.number());
        match outcome {
            Ok(_) if !may_open => {
                let text = tr!("The form was not opened, as something else was opened meanwhile");
                self.toast = Some(Toast::new(false, text));
            }
            // It would take the keys from what is being done by now.
            Ok(_) if request.asked.elapsed() > OPENS_WITHIN => {
                let text = tr!("The disk answered late. Open the form again");
                self.toast = Some(Toast::new(false, text));
            }
            Ok(started) => {
                if let Some(dialog) = started.dialog() {
                    self.dialogs.open(dialog);
                }
            }
            Err(error) => {
                self.studio.log(LogLevel::Error, error.report());
                self.tell_error(&error);
            }
        }
    }

    /// Opens the dialog that repairs a copy of a dataset that is not open.
    pub(super) fn repair_copy(&mut self, path: PathBuf) {
        let id = path
            .file_stem()
            .map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
        let folder = path.parent().map(Path::to_owned).unwrap_or_default();
        let start = OperationStart {
            input: Some(path),
            id,
            folder,
            ..OperationStart::default()
        };
        self.open_operation(Action::Repair, start);
    }

    /// Reports the end of a migration that no dialog waits for.
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

    /// Where outputs could go.
    fn output_places(&self) -> OutputPlaces {
        let (document, sources) = match self.studio.document() {
            Some(Document::Draft(draft)) => (
                draft.project().map(Path::to_owned),
                sources_folder(draft.draft.dataset()),
            ),
            Some(Document::Opened(open)) => (Some(open.reader.info().path.clone()), None),
            None => (None, None),
        };
        OutputPlaces {
            document,
            sources,
            written: self.view.target.clone(),
        }
    }
}
