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

use egui::{Context, Frame, Id, Modal};

use super::App;
use super::file_dialog::FileRequest;
use super::panel_context::{DIM, Request};
use super::settings::Settings;
use super::theme::{self, Theme};
use crate::container::Built;
use crate::ops::AnyOperation;
use crate::studio::{Command, LogLevel};
use frame::{Next, wants_focus};
use view::{DialogView, Reply};

pub use about::{About, ShortcutsDialog};
pub use add_dataset::AddDataset;
pub use column::ColumnDialog;
pub use confirm::Confirm;
pub use consent::Consent;
pub use crash::CrashReport;
pub use documentation::Documentation;
pub use join::JoinDialog;
pub use layout::LayoutDialog;
pub use open_path::{OpenPath, RecentDialog};
pub use operation::OperationDialog;
pub use operation::form::{OperationStart, start_of};
pub use operation::forms::{SeveralForm, WriteForm, form_of};
pub use plan::PlanDialog;
pub use relocate::Relocate;
pub use repository::RepositoryDialog;
pub use settings::SettingsDialog;
pub use view::DialogEvent;

/// Least distance of a dialog from the upper and lower edge of the window, in points.
const DIALOG_MARGIN: f32 = 16.0;

/// The dialog that is open, if one is.
#[derive(Default)]
pub struct Dialogs {
    current: Option<Box<dyn DialogView>>,
    /// How many were opened.
    opened: u64,
    /// Set when a dialog opens or its job ends: the focus moves to the next control.
    fresh: bool,
    was_running: bool,
}

impl Dialogs {
    /// Opens a dialog in place of the present one.
    pub fn open(&mut self, dialog: impl DialogView + 'static) {
        self.current = Some(Box::new(dialog));
        self.opened += 1;
        self.fresh = true;
    }

    /// Number of the dialog that is open, which no other one has.
    pub fn number(&self) -> Option<u64> {
        self.current.is_some().then_some(self.opened)
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
        match self.current.as_mut()?.receive(event) {
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
            self.open(OperationDialog::with_report(Box::new(form), report));
        }
        is_free
    }

    /// Offers to type the path, as the desktop's file dialog does not appear.
    pub fn slow_file_dialog(&mut self, request: FileRequest) {
        if self.current.is_none() {
            self.open(OpenPath::new(request, true));
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
        let busy = dialog.is_running();
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
            self.with_cx(|cx| dialog.ui(ui, cx))
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
