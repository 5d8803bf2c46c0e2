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

use super::file_dialog::FileRequest;
use super::panel_context::{DIM, PanelContext, Request};
use super::theme;
use crate::container::Built;
use crate::ops::AnyOperation;
use crate::studio::Command;
use frame::wants_focus;
use view::{DialogView, Reply};

pub use about::{About, ShortcutsDialog};
pub use add_dataset::AddDataset;
pub use column::ColumnDialog;
pub use confirm::ConfirmDialog;
pub use consent::Consent;
pub use crash::CrashReport;
pub use documentation::Documentation;
pub use frame::Next;
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

    /// Draws the open dialog, closes it when it is over, and returns what it requests.
    pub fn show(&mut self, ctx: &Context, cx: &mut PanelContext<'_>) -> Next {
        let Some(dialog) = &mut self.current else {
            return Next::Stay;
        };
        let t = theme::tokens_for_mode(ctx.global_style().visuals.dark_mode);
        let frame = Frame::NONE
            .fill(t.bg1)
            .stroke(egui::Stroke::new(1.0, t.line2))
            .corner_radius(6)
            .shadow(ctx.global_style().visuals.window_shadow);
        let busy = dialog.is_running();
        let ended = std::mem::replace(&mut self.was_running, busy) && !busy;
        if std::mem::take(&mut self.fresh) | ended {
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
            dialog.ui(ui, cx)
        });
        let is_over = !busy && response.should_close();
        if is_over || response.inner.closes_dialog() {
            self.current = None;
        }
        response.inner
    }
}
