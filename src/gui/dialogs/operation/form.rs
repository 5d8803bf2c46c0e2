//! The form of an operation as its dialog uses it: texts, input and options, the work of the
//! preview, and what follows.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use egui::Ui;

use super::fields::OperationFields;
use super::job::nothing_written;
use super::preview::OperationPreview;
use super::report::{OperationReport, report_of};
use crate::container::OpenOptions;
use crate::error::Result;
use crate::export::Catalogue;
use crate::gui::action::Action;
use crate::gui::output_places::OutputPlaces;
use crate::gui::panel_context::{PanelContext, Request};
use crate::gui::widgets::FieldNote;
use crate::jobs::JobContext;
use crate::model::{is_remote, list_numbered_names};
use crate::ops::publish::Prices;
use crate::studio::{Command, Document, Event, Studio};

/// Width of most dialogs in points.
const WIDTH: f32 = 680.0;

/// What the input of a form is on this machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InputKind {
    /// Not there, not on this machine, or not looked for.
    #[default]
    Unknown,
    File,
    Folder,
}

impl InputKind {
    /// Looks at the disk.
    fn find(path: &Path) -> Self {
        match std::fs::metadata(path) {
            Ok(about) if about.is_file() => Self::File,
            Ok(about) if about.is_dir() => Self::Folder,
            _ => Self::Unknown,
        }
    }
}

/// The open document, for the initial values of a form.
#[derive(Clone, Debug, Default)]
pub struct OperationStart {
    /// The opened dataset.
    pub input: Option<PathBuf>,
    /// Options with which it was opened.
    pub open: OpenOptions,
    /// A draft is open.
    pub draft: bool,
    /// The collection's id, or the file's name.
    pub id: String,
    /// Folder for outputs.
    pub folder: PathBuf,
    /// The selected sample of level 0.
    pub sample: Option<String>,
    /// The statement whose rows are exported.
    pub sql: Option<String>,
    /// The form of a description.
    pub catalogue: Option<Catalogue>,
    /// Prices of the settings.
    pub prices: Prices,
    /// What the input is.
    pub input_kind: InputKind,
    /// A path in the folder for outputs that nothing has, for the dataset that is moved to 2.0.
    pub migration_target: Option<PathBuf>,
}

impl OperationStart {
    /// Adds what the disk says: the folder for outputs, unless there is one, and the kind of the
    /// input. The disk may not respond, so jobs call this.
    pub fn look_at_disk(mut self, action: Action, places: &OutputPlaces) -> Self {
        if self.folder.as_os_str().is_empty() {
            self.folder = places.choose_folder();
        }
        let local = self.input.as_deref().filter(|path| !is_remote(path));
        self.input_kind = local.map(InputKind::find).unwrap_or_default();
        if action == Action::Migrate {
            let input = self.input.as_deref();
            self.migration_target =
                input.and_then(|input| find_migration_target(input, &self.folder));
        }
        self
    }

    /// Path of the input as text; empty without one.
    pub fn input_text(&self) -> String {
        self.input
            .as_ref()
            .map(|path| path.display().to_string())
            .unwrap_or_default()
    }

    /// Folder with the parts of the index as text; empty for the folder of the index.
    pub fn base_text(&self) -> String {
        let base = self.open.base_path.as_ref();
        base.map(|path| path.display().to_string())
            .unwrap_or_default()
    }

    /// A proposal for an output: `id-suffix.ending` in the output folder.
    pub fn output_text(&self, suffix: &str, ending: &str) -> String {
        let stem = match self.id.as_str() {
            "" => self
                .input
                .as_ref()
                .and_then(|path| path.file_name())
                .map(|name| name.to_string_lossy().into_owned()),
            id => Some(id.to_owned()),
        };
        let stem = stem.unwrap_or_else(|| "dataset".into());
        let stem = stem
            .split('.')
            .next()
            .filter(|stem| !stem.is_empty())
            .unwrap_or("dataset")
            .to_owned();
        let stem = crate::model::portable_name(&stem);
        self.folder
            .join(format!("{stem}{suffix}{ending}"))
            .display()
            .to_string()
    }
}

pub type PreviewWork = Box<dyn FnOnce(&JobContext) -> Result<OperationPreview> + Send>;

/// Input and command of an operation.
pub trait OperationForm: std::fmt::Debug {
    /// Icon, title, button.
    fn words(&self) -> OperationTexts;
    /// Draws inputs and options.
    fn options_ui(
        &mut self,
        ui: &mut Ui,
        fields: &mut OperationFields<'_>,
        cx: &mut PanelContext<'_>,
    );
    /// Text of the button that runs it.
    fn run_text(&self) -> Cow<'static, str> {
        self.words().verb.into()
    }
    /// Further texts of the buttons, where they are not the usual ones.
    fn button_texts(&self) -> ButtonTexts {
        ButtonTexts::default()
    }
    /// Text beside the title.
    fn title_detail(&self, _cx: &PanelContext<'_>) -> String {
        String::new()
    }
    /// Width of the dialog in points, at most.
    fn dialog_width(&self) -> f32 {
        WIDTH
    }
    /// Note while the job runs.
    fn running_note(&self) -> FieldNote {
        FieldNote::None
    }
    /// What became of the output of a cancelled job.
    fn cancel_note(&self) -> FieldNote {
        nothing_written()
    }
    /// True for a form about the open document, which closes with it.
    fn follows_document(&self) -> bool {
        false
    }
    /// True for a form whose options, checks and files are side by side. Its preview has no lines:
    /// the checks say what prevents the command. Other forms have a preview below the options.
    fn has_columns(&self) -> bool {
        false
    }
    /// Draws the middle column: what is checked before the command runs.
    fn checks_column_ui(
        &mut self,
        _ui: &mut Ui,
        _fields: &mut OperationFields<'_>,
        _cx: &mut PanelContext<'_>,
    ) {
    }
    /// Draws the right column: the files that the command writes.
    fn files_column_ui(&self, _ui: &mut Ui, _cx: &PanelContext<'_>) {}
    /// The work of the preview.
    ///
    /// # Errors
    /// A message for the user about missing or invalid input.
    fn work(&self, cx: &PanelContext<'_>) -> std::result::Result<PreviewWork, String>;
    /// Equal for equal inputs and options.
    fn key(&self, _cx: &PanelContext<'_>) -> String {
        format!("{self:?}")
    }
    /// An alternative command, with the text of its button.
    fn instead(&self) -> Option<(&'static str, Command)> {
        None
    }
    /// True for a command that ends the dialog when it starts.
    fn closes(&self) -> bool {
        false
    }
    /// What the dialog shows after an event that ended its job.
    fn end_job(&mut self, event: &Event) -> OperationEnd {
        report_of(event).map_or(OperationEnd::Ignored, |report| {
            OperationEnd::Report(Box::new(report))
        })
    }
    /// Action of the window after the job has succeeded.
    fn afterwards(&self, _studio: &Studio) -> Vec<Request> {
        Vec::new()
    }
}

pub struct OperationTexts {
    pub icon: &'static str,
    pub title: &'static str,
    /// One sentence about its effects; empty when the options say it.
    pub about: &'static str,
    /// Text of the button that runs it.
    pub verb: &'static str,
}

/// Texts and accessible names of the dialog's buttons.
pub struct ButtonTexts {
    /// Accessible name of the button that runs the operation; `None` for its text.
    pub run_name: Option<&'static str>,
    /// Text of the button that stops its job.
    pub stop: &'static str,
    /// Accessible name of that button.
    pub stop_name: &'static str,
}

impl Default for ButtonTexts {
    fn default() -> Self {
        Self {
            run_name: None,
            stop: tr!("Stop"),
            stop_name: tr!("Stop the tool"),
        }
    }
}

/// What the dialog shows after its job.
pub enum OperationEnd {
    Report(Box<OperationReport>),
    /// The form, which says why nothing was written.
    Form,
    /// Nothing: the window shows it as for an operation without a dialog.
    Close,
    /// The event is none of the operation.
    Ignored,
}

/// A path in a folder that nothing has, named after the dataset that is moved to 2.0.
fn find_migration_target(input: &Path, folder: &Path) -> Option<PathBuf> {
    let name = input
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    let stem = name.split('.').next().filter(|stem| !stem.is_empty());
    list_numbered_names(stem.unwrap_or("dataset"), ".tacozip")
        .map(|name| folder.join(name))
        .find(|target| !target.exists())
}

/// Path, open options and id of the open document.
pub fn start_of(document: Option<&Document>) -> OperationStart {
    let Some(document) = document else {
        return OperationStart::default();
    };
    let id = document.collection().id().to_owned();
    match document.opened_dataset() {
        Some(open) => OperationStart {
            input: Some(open.reader.info().path.clone()),
            open: open.options.clone(),
            id,
            ..OperationStart::default()
        },
        None => OperationStart {
            draft: true,
            id,
            ..OperationStart::default()
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find_kind(path: &Path) -> InputKind {
        let start = OperationStart {
            input: Some(path.to_owned()),
            ..OperationStart::default()
        };
        let start = start.look_at_disk(Action::Convert, &OutputPlaces::default());
        start.input_kind
    }

    #[test]
    fn a_taken_name_is_never_proposed() {
        let folder = tempfile::tempdir().expect("a folder");
        let numbers = (2..=120).map(|number| format!("-{number}"));
        for number in std::iter::once(String::new()).chain(numbers) {
            let taken = folder.path().join(format!("old{number}.tacozip"));
            std::fs::write(taken, "").expect("writes");
        }
        let start = OperationStart {
            input: Some("/in/old.part.tortilla".into()),
            folder: folder.path().to_owned(),
            ..OperationStart::default()
        };
        let start = start.look_at_disk(Action::Migrate, &OutputPlaces::default());
        assert_eq!(
            start.migration_target,
            Some(folder.path().join("old-121.tacozip"))
        );
        assert_eq!(start.input_kind, InputKind::Unknown);
    }

    #[test]
    fn files_and_folders_are_told_apart() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("a.tacozip");
        std::fs::write(&file, "").expect("writes");
        assert_eq!(find_kind(&file), InputKind::File);
        assert_eq!(find_kind(folder.path()), InputKind::Folder);
        assert_eq!(find_kind(Path::new("s3://bucket/a")), InputKind::Unknown);
    }
}
