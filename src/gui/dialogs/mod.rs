//! The modal dialogs: writing, typed paths, confirmation, shortcuts, about. One at a time; Esc
//! closes.

mod about;
mod add_dataset;
mod column;
mod confirm;
mod consent;
mod crash;
mod documentation;
mod frame;
mod join;
mod layout;
mod open_path;
mod operation;
mod plan;
mod relocate;
mod repository;
mod settings;
mod view;

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use egui::{Context, Frame, Id, Modal};

use super::App;
use super::action::Action;
use super::documentation_page::Page;
use super::file_dialog::FileRequest;
use super::panel_context::{DIM, Request};
use super::settings::Settings;
use super::theme::{self, Theme};
use super::widgets;
use crate::container::Built;
use crate::draft::FixPlan;
use crate::ops::{AnyOperation, DatasetImport, FoundLayout};
use crate::studio::{Command, LogLevel};
use about::{About, ShortcutsDialog};
use add_dataset::AddDataset;
use column::ColumnDialog;
use confirm::Confirm;
use documentation::Documentation;
use frame::{Next, wants_focus};
use join::JoinDialog;
use layout::LayoutDialog;
use open_path::{OpenPath, RecentDialog};
use operation::OperationDialog;
use operation::forms::{SeveralForm, WriteForm, form_of};
use plan::PlanDialog;
use relocate::Relocate;
use repository::RepositoryDialog;
use settings::SettingsDialog;
use view::{DialogView, Reply};

pub use crash::CrashReport;
pub use operation::form::{OperationStart, start_of};
pub use view::DialogEvent;

/// Least distance of a dialog from the upper and lower edge of the window, in points.
const DIALOG_MARGIN: f32 = 16.0;

/// A dialog to open.
pub struct Dialog(Box<dyn DialogView>);

impl Dialog {
    fn from_view(view: impl DialogView + 'static) -> Self {
        Self(Box::new(view))
    }

    /// The recent datasets.
    pub fn recent() -> Self {
        Self::from_view(RecentDialog)
    }

    /// The shortcuts.
    pub fn shortcuts() -> Self {
        Self::from_view(ShortcutsDialog)
    }

    /// The report of a crash.
    pub fn crash(report: CrashReport) -> Self {
        Self::from_view(report)
    }

    /// Asks before unsaved changes are discarded; `changes` is their number, if it is known.
    /// `written` is true when the dataset was written as it is.
    pub fn discard(changes: Option<u64>, written: bool, then: Request) -> Self {
        let what = match changes {
            _ if written => tr!(
                "The dataset was written and stays. The draft is not saved: its sources, unplaced \
                    files and history would be lost."
            )
            .into(),
            Some(n) => tr_n!(
                n,
                "{n} change since the last save would be lost. Files on disk stay.",
                "{n} changes since the last save would be lost. Files on disk stay.",
                n = widgets::paint::format_grouped_number(n)
            ),
            None => {
                tr!("The changes since the last save would be lost. Files on disk stay.").into()
            }
        };
        Self::from_view(Confirm {
            title: tr!("The draft has changes that are not saved").into(),
            what,
            button: tr!("Discard changes").into(),
            then: Some(Request::Anyway(Box::new(then.clone()))),
            instead: Some((tr!("Save first").into(), Request::SaveFirst(Box::new(then)))),
            stay: tr!("Cancel"),
        })
    }

    /// Asks before replacing a project file that another program has changed.
    pub fn replace(path: &str, then: Request) -> Self {
        Self::from_view(Confirm {
            title: tr!("Another program wrote this project").into(),
            what: tr!(
                "{path} changed after it was opened or saved here. Replacing it loses the changes \
                    of the other program.",
                path
            ),
            button: tr!("Replace").into(),
            then: Some(then),
            instead: Some((tr!("Save as…").into(), Request::Do(Action::SaveAs))),
            stay: tr!("Cancel"),
        })
    }

    /// Offers to restore the old contents that an interrupted write left aside.
    pub fn aside(path: PathBuf) -> Self {
        Self::from_view(Confirm {
            title: tr!("A write was interrupted").into(),
            what: tr!(
                "{path} does not exist now. Its earlier contents, complete, are beside it under \
                    another name.",
                path = crate::gui::dropped_paths::display_path(&path)
            ),
            button: String::new(),
            then: None,
            instead: Some((
                tr!("Bring back and open").into(),
                Request::RestoreAside(path),
            )),
            stay: tr!("Cancel"),
        })
    }

    /// Offers to repair an archive that another program wrote again.
    pub fn for_rezipped_archive(path: PathBuf) -> Self {
        Self::from_view(Confirm {
            title: tr!("Another program wrote this ZIP again").into(),
            what: tr!(
                "{path} holds a dataset, but not in the way that TACO archives are written: unpack \
                    it and open the folder, or write a repaired copy with all of its metadata.",
                path = crate::gui::dropped_paths::display_path(&path)
            ),
            button: String::new(),
            then: None,
            instead: Some((tr!("Repair a copy…").into(), Request::Repair(path))),
            stay: tr!("Cancel"),
        })
    }

    /// Asks before quitting cancels running jobs.
    pub fn stop(jobs: &str, then: Request) -> Self {
        Self::from_view(Confirm {
            title: tr!("Work is still running").into(),
            what: tr!(
                "Closing cancels {jobs}. Partial output is removed; earlier files stay.",
                jobs
            ),
            button: tr!("Stop and close").into(),
            then: Some(Request::Anyway(Box::new(then))),
            instead: None,
            stay: tr!("Cancel"),
        })
    }

    /// Asks before removing a FOLDER with contents.
    pub fn remove(path: &str, children: u64, then: Request) -> Self {
        let n = widgets::paint::format_grouped_number(children);
        Self::from_view(Confirm {
            title: tr!("Remove {path}", path),
            what: tr_n!(
                children,
                "Removes this FOLDER and its {n} child from the dataset. Files on disk stay, and \
                    undo brings it back.",
                "Removes this FOLDER and its {n} children from the dataset. Files on disk stay, \
                    and undo brings it back.",
                n
            ),
            button: tr!("Remove folder").into(),
            then: Some(then),
            instead: None,
            stay: tr!("Cancel"),
        })
    }

    /// Asks before removing several samples.
    pub fn remove_many(count: u64, then: Request) -> Self {
        let n = widgets::paint::format_grouped_number(count);
        Self::from_view(Confirm {
            title: tr_n!(count, "Remove {n} sample", "Remove {n} samples", n),
            what: tr!(
                "Removes them and what they hold from the dataset. Files on disk stay, and \
                undo brings them back."
            )
            .into(),
            button: tr!("Remove {n}", n),
            then: Some(then),
            instead: None,
            stay: tr!("Cancel"),
        })
    }

    pub fn about() -> Self {
        Self::from_view(About::default())
    }

    /// Settings of the user.
    pub fn settings(theme: Theme, settings: Settings) -> Self {
        Self::from_view(SettingsDialog::new(theme, settings))
    }

    /// Asks for a path.
    pub fn path(request: FileRequest) -> Self {
        Self::from_view(OpenPath::new(request, false))
    }

    /// A page of the documentation, from a line.
    pub fn documentation(page: Page, line: usize) -> Self {
        Self::from_view(Documentation::new(page, line))
    }

    /// The dialog of the operation of an action; `None` for actions without one.
    pub fn operation(action: Action, start: &OperationStart) -> Option<Self> {
        let form = form_of(action, start)?;
        Some(Self::from_view(OperationDialog::new(form)))
    }

    /// Opens several datasets as one; `otherwise` imports dropped paths instead.
    pub fn several(paths: &[PathBuf], otherwise: Option<Command>) -> Self {
        let form = SeveralForm::from_paths(paths, otherwise);
        Self::from_view(OperationDialog::new(Box::new(form)))
    }

    /// The plan of a fix over many roots, for this revision of the draft.
    pub fn plan(plan: Arc<FixPlan>, revision: u64) -> Self {
        Self::from_view(PlanDialog::new(plan, revision))
    }

    /// The relocation dialog.
    pub fn relocate(draft: &crate::draft::Draft) -> Self {
        Self::from_view(Relocate::new(draft))
    }

    /// The datasets of the repository at this address.
    pub fn repository(folder: PathBuf) -> Self {
        Self::from_view(RepositoryDialog::new(folder))
    }

    /// The join dialog; `otherwise` imports a dropped table as a file instead.
    pub fn join(table: PathBuf, otherwise: Option<Command>) -> Self {
        Self::from_view(JoinDialog::new(table, otherwise))
    }

    /// What a dataset becomes in the draft; `as_file` adds its file, where it is one.
    pub fn dataset(request: DatasetImport, as_file: Option<Command>) -> Self {
        Self::from_view(AddDataset::new(request, as_file))
    }

    /// What an archive becomes in the draft; `as_file` adds its file, where it is one.
    pub fn archive(request: DatasetImport, as_file: Option<Command>) -> Self {
        Self::from_view(AddDataset::of_archive(request, as_file))
    }

    /// What is taken of a STAC catalogue; `as_file` adds its file, where it is one.
    pub fn catalogue(request: DatasetImport, as_file: Option<Command>) -> Self {
        Self::from_view(AddDataset::of_catalogue(request, as_file))
    }

    /// The layout that was found in a folder; `otherwise` adds the folder as it is.
    pub fn layout(folder: PathBuf, found: Arc<FoundLayout>, otherwise: Command) -> Self {
        Self::from_view(LayoutDialog::new(folder, found, otherwise))
    }

    /// Changes a field of a level, or adds one.
    pub fn column(level: usize, field: Option<crate::model::FieldSpec>) -> Self {
        Self::from_view(ColumnDialog::new(level, field))
    }

    /// Writes the draft; `own` are the paths that it reads from.
    pub fn write(folder: PathBuf, id: &str, own: HashSet<PathBuf>) -> Self {
        let form = WriteForm::new(&folder, id, own);
        Self::from_view(OperationDialog::new(Box::new(form)))
    }
}

/// The dialog that is open, if one is.
#[derive(Default)]
pub struct Dialogs {
    current: Option<Dialog>,
    /// Set when a dialog opens or its job ends: the focus moves to the next control.
    fresh: bool,
    was_running: bool,
}

impl Dialogs {
    /// Opens a dialog in place of the present one.
    pub fn open(&mut self, dialog: Dialog) {
        self.current = Some(dialog);
        self.fresh = true;
    }

    /// True while one is open.
    pub fn is_open(&self) -> bool {
        self.current.is_some()
    }

    /// True for a command whose job a dialog shows.
    pub fn waits_for(command: &Command) -> bool {
        match command {
            Command::Write { .. } | Command::WriteTortilla { .. } => true,
            // Panels run these.
            Command::Operate(
                AnyOperation::SubmitPlan(_)
                | AnyOperation::RunPlanPart(_)
                | AnyOperation::RemoteCache(_),
            ) => false,
            Command::Operate(_) => true,
            _ => false,
        }
    }

    /// Passes an event to the open dialog; returns what follows, or `None` when the dialog does not
    /// show it.
    pub fn send(&mut self, event: &DialogEvent<'_>) -> Option<Vec<Request>> {
        match self.current.as_mut()?.0.receive(event) {
            Reply::Ignored => None,
            Reply::Taken(requests) => Some(requests),
            Reply::Close => {
                self.current = None;
                None
            }
        }
    }

    /// Shows a dataset that no open dialog waits for; false when another dialog is open. Only a
    /// dataset written from a draft can be compared.
    pub fn show_written_dataset(&mut self, built: &Built, drafted: bool) -> bool {
        let is_free = self.current.is_none();
        if is_free {
            let form = WriteForm::for_written_dataset(drafted);
            let report = form.report(built);
            let dialog = OperationDialog::with_report(Box::new(form), report);
            self.open(Dialog::from_view(dialog));
        }
        is_free
    }

    /// Offers to type the path, as the desktop's file dialog does not appear.
    pub fn slow_file_dialog(&mut self, request: FileRequest) {
        if self.current.is_none() {
            self.open(Dialog::from_view(OpenPath::new(request, true)));
        }
    }
}

impl App {
    /// Applies and stores settings.
    pub(super) fn apply_settings(&mut self, ctx: &Context, theme: Theme, settings: Settings) {
        // The check runs again.
        if settings.language != self.view.settings.language && self.studio.document().is_some() {
            self.requests.push(Request::Run(Command::Validate {
                deep: false,
                profile: crate::model::Profile::Tools,
            }));
        }
        (self.view.theme, self.view.settings) = (theme, settings);
        theme::set(ctx, self.view.theme);
        self.view.settings.apply(ctx);
        self.save();
    }

    /// Draws the open dialog.
    pub(super) fn dialogs_ui(&mut self, ctx: &Context) {
        let Some(mut dialog) = self.dialogs.current.take() else {
            return;
        };
        let t = theme::tokens_for_mode(ctx.global_style().visuals.dark_mode);
        let frame = Frame::NONE
            .fill(t.bg1)
            .stroke(egui::Stroke::new(1.0, t.line2))
            .corner_radius(6)
            .shadow(ctx.global_style().visuals.window_shadow);
        let busy = dialog.0.is_running();
        let ended = std::mem::replace(&mut self.dialogs.was_running, busy) && !busy;
        if std::mem::take(&mut self.dialogs.fresh) | ended {
            ctx.memory_mut(|memory| {
                memory
                    .focused()
                    .into_iter()
                    .for_each(|id| memory.surrender_focus(id))
            });
            ctx.data_mut(|data| data.insert_temp(wants_focus(), true));
        }
        let modal = Modal::new(Id::unique("dialog"))
            .frame(frame)
            .backdrop_color(DIM);
        let response = modal.show(ctx, |ui| {
            // An area offers the size of its last frame, which may be that of a lower dialog, or of
            // this one before it grew.
            ui.set_max_height(ctx.content_rect().height() - 2.0 * DIALOG_MARGIN);
            self.with_cx(|cx| dialog.0.ui(ui, cx))
        });
        let mut keep = busy || !response.should_close();
        match response.inner {
            Next::Stay => {}
            Next::Close => keep = false,
            Next::Do(ask) => {
                self.requests.push(ask);
                keep = false;
            }
            Next::Also(ask) => self.requests.push(ask),
            Next::Settings(theme, settings) => self.apply_settings(ctx, theme, settings),
            Next::Addresses(access, paths) => {
                self.file_dialog = None;
                keep = false;
                let known = access == crate::remote::access();
                // Scripts can use the dialog, but only the user can grant access to servers.
                if !known && self.driver.is_some() && !crate::consent::allows_connect() {
                    self.studio.log(
                        LogLevel::Error,
                        "a script may not say how to reach other machines without --allow-connect",
                    );
                } else {
                    let servers = paths.iter().filter(|path| crate::model::is_remote(path));
                    servers.for_each(|path| {
                        crate::consent::allow_server(&crate::consent::server_of(
                            &path.to_string_lossy(),
                        ))
                    });
                    self.requests
                        .push(Request::Run(Command::Connect { access }));
                    self.requests.push(Request::OpenPaths(paths));
                }
            }
            Next::Paths(request, paths) => {
                self.file_dialog = None;
                self.handle_picked_paths(request, paths, true);
                keep = false;
            }
        }
        if keep && self.dialogs.current.is_none() {
            self.dialogs.current = Some(dialog);
        }
    }
}
