//! The dialog of an operation: input, options, preview, run with progress and cancel, report. This
//! module is the common frame; the input of an operation and its command are an [`OperationForm`]
//! in a file of `forms`. A preview reads and never writes; it also builds the command that the
//! button (or Ctrl and Enter) runs, so that the command matches the preview.

mod bins;
mod checks;
mod columns;
mod dataset_fields;
pub mod fields;
pub mod form;
pub mod forms;
mod job;
mod line;
mod preview;
mod report;

use std::path::PathBuf;
use std::time::Duration;

use egui::{Frame, Key, Margin, Modifiers, ScrollArea, Ui, vec2};

use super::frame::{Next, foot_ui, footer_text_ui, head_ui};
use super::view::{DialogEvent, DialogView, Reply};
use crate::consent;
use crate::gui::icons;
use crate::gui::panel_context::{PanelContext, Request};
use crate::gui::panels::jobs::detail;
use crate::gui::theme::{self, font};
use crate::gui::widgets::{self, Button, FieldNote};
use crate::jobs::{AsyncValue, JobId};
use crate::studio::{Command, JobView};
use columns::draw_columns;
use fields::{OperationFields, is_typing};
use form::{ButtonTexts, OperationEnd, OperationForm};
use job::OperationJob;
use line::{ReportLine, line_ui};
use preview::OperationPreview;
use report::OperationReport;

/// Maximum share of the dialog's height for the preview.
const PREVIEW_SHARE: f32 = 0.45;
/// Delay after the last keystroke before a preview reads files.
const TYPING: Duration = Duration::from_millis(250);

pub struct OperationDialog {
    form: Box<dyn OperationForm>,
    /// Key of the form when its options were last drawn.
    key: String,
    /// True when inputs or options have changed since the frame before.
    has_changed: bool,
    /// Why the input is missing or invalid; `None` when a preview can be made.
    lacking: Option<String>,
    preview: AsyncValue<String, OperationPreview>,
    job: OperationJob,
    /// The field whose paths are chosen in the desktop's dialog.
    asked: Option<String>,
    /// Paths chosen for that field.
    picked: Option<(String, Vec<PathBuf>)>,
    /// Height of the preview in the frame before, in points.
    preview_height: f32,
    /// True when the operation ran without this dialog, so that its form has nothing to show.
    has_report_alone: bool,
}

impl OperationDialog {
    pub fn new(form: Box<dyn OperationForm>) -> Self {
        Self {
            form,
            key: String::new(),
            has_changed: true,
            lacking: None,
            preview: AsyncValue::default(),
            job: OperationJob::Idle,
            asked: None,
            picked: None,
            preview_height: 0.0,
            has_report_alone: false,
        }
    }

    /// Shows the report of a job that has ended; `form` is what its dialog returns to.
    pub fn with_report(form: Box<dyn OperationForm>, report: OperationReport) -> Self {
        Self {
            job: OperationJob::Done(report),
            has_report_alone: true,
            ..Self::new(form)
        }
    }

    /// Looks for changes of inputs and options after they were drawn, and starts the preview if
    /// there are some.
    fn update_preview(&mut self, ui: &Ui, cx: &PanelContext<'_>) {
        let key = self.form.key(cx);
        self.has_changed = key != self.key;
        self.key.clone_from(&key);
        let work = match self.form.work(cx) {
            Ok(work) => work,
            Err(lacking) => {
                self.lacking = Some(lacking);
                self.preview = AsyncValue::default();
                return;
            }
        };
        self.lacking = None;
        // The preview beside columns reads nothing.
        let reads = !self.form.has_columns();
        let waits = reads && is_typing(ui) && self.preview.key().is_some_and(|shown| *shown != key);
        self.preview
            .update(cx.jobs, key, tr!("Preview"), move |ctx| {
                if waits {
                    std::thread::sleep(TYPING);
                    ctx.check()?;
                }
                work(ctx)
            });
    }

    /// Starts the preview if inputs or options have changed, and draws it.
    fn preview_ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) {
        let t = theme::tokens(ui);
        ui.label(
            theme::rich_text(tr!("Preview"))
                .font(font::semibold(12.0))
                .color(t.tx2),
        );
        self.job.ended_ui(ui);
        if self.is_running() {
            return widgets::note_ui(ui, &self.form.running_note());
        }
        self.update_preview(ui, cx);
        if let Some(lacking) = &self.lacking {
            return line_ui(ui, &ReportLine::fact(lacking));
        }
        match self.preview.get(&self.key) {
            Some(Ok(preview)) => preview.lines.iter().for_each(|line| line_ui(ui, line)),
            Some(Err(error)) => widgets::note_ui(ui, &FieldNote::Error(error.report())),
            None => {
                ui.horizontal(|ui| {
                    widgets::spinner(ui, 14.0);
                    ui.label(
                        theme::rich_text(tr!("Reading the input"))
                            .font(font::regular(12.0))
                            .color(t.tx3),
                    );
                });
            }
        }
    }

    /// Draws the options with the preview below them.
    fn stacked_ui(
        &mut self,
        ui: &mut Ui,
        cx: &mut PanelContext<'_>,
        fields: &mut OperationFields<'_>,
    ) {
        let t = theme::tokens(ui);
        let words = self.form.words();
        // The options scroll, and the preview below them stays in view.
        let height = (ui.ctx().content_rect().height() - 190.0).max(160.0);
        let share = self.preview_height.min(height * PREVIEW_SHARE);
        ScrollArea::vertical()
            .id_salt("tool")
            .max_height(height - share)
            .show(ui, |ui| {
                margins_frame(16, 8).show(ui, |ui| {
                    ui.spacing_mut().item_spacing = vec2(8.0, 8.0);
                    if !words.about.is_empty() {
                        let about = theme::rich_text(words.about)
                            .font(font::regular(12.0))
                            .color(t.tx2);
                        ui.add(egui::Label::new(about).wrap());
                    }
                    ui.add_enabled_ui(!self.is_running(), |ui| {
                        self.form.options_ui(ui, fields, cx);
                    });
                });
            });
        if *fields.outdates_note && !self.is_running() {
            self.job = OperationJob::Idle;
        }
        let limit = height * PREVIEW_SHARE;
        let preview = ScrollArea::vertical()
            .id_salt("tool-preview")
            .max_height(limit)
            .show(ui, |ui| {
                ui.set_min_width(ui.available_width());
                margins_frame(4, 12).show(ui, |ui| {
                    ui.spacing_mut().item_spacing = vec2(8.0, 6.0);
                    self.preview_ui(ui, cx);
                });
            });
        let tall = preview.content_size.y;
        if (tall - self.preview_height).abs() > 0.5 {
            self.preview_height = tall;
            ui.ctx().request_repaint();
        }
    }

    /// Draws options, checks and files in columns. The report takes the place of the files.
    fn columns_ui(
        &mut self,
        ui: &mut Ui,
        cx: &mut PanelContext<'_>,
        fields: &mut OperationFields<'_>,
    ) {
        let is_running = self.is_running();
        let is_editable = !is_running && !fields.has_report;
        draw_columns(ui, |ui, index| match index {
            0 => {
                ui.add_enabled_ui(is_editable, |ui| self.form.options_ui(ui, fields, cx));
            }
            1 => self.form.checks_column_ui(ui, fields, cx),
            _ => {
                if let OperationJob::Done(report) = &mut self.job {
                    if let Some(request) = report.contents_ui(ui, cx) {
                        *fields.leaving = Some(request);
                    }
                    return;
                }
                self.job.ended_ui(ui);
                if is_running {
                    widgets::note_ui(ui, &self.form.running_note());
                }
                self.form.files_column_ui(ui, cx);
            }
        });
        if is_editable {
            self.update_preview(ui, cx);
        }
    }

    /// Draws the buttons, with what is missing where there is no preview below the options.
    fn bottom_ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>, close: bool) -> Next {
        if let OperationJob::Done(report) = &self.job {
            let Some(next) = report.buttons_ui(ui, close) else {
                (self.job, self.has_report_alone) = (OperationJob::Idle, false);
                return Next::Stay;
            };
            return next;
        }
        let texts = self.form.button_texts();
        if let OperationJob::Running(job) = self.job {
            return running_ui(ui, cx, job, &texts);
        }
        let ready = self.preview.get(&self.key);
        let blocked = match (&self.lacking, ready) {
            (Some(lacking), _) => Some(lacking.clone()),
            (None, None) => Some(tr!("The input is being read").to_owned()),
            (None, Some(Err(_))) => Some(tr!("The preview lists the missing input").to_owned()),
            (None, Some(Ok(preview))) => preview.obstacle.clone(),
        };
        // A preview below the options has a line for it.
        let shown = self.lacking.as_ref().filter(|_| self.form.has_columns());
        // Enter also clicks the option that has the focus: nobody has seen what that changed.
        let keyed = ui.input_mut(|input| input.consume_key(Modifiers::COMMAND, Key::Enter))
            && !self.has_changed;
        let instead = self.form.instead();
        let (act, other, leave) = foot_ui(ui, |ui| {
            let mut act = Button::primary(self.form.run_text())
                .large()
                .with_disabled_reason(blocked.as_deref());
            if let Some(name) = texts.run_name {
                act = act.name(name);
            }
            let act = ui.add(act).clicked() || (keyed && blocked.is_none());
            let other = instead
                .as_ref()
                .is_some_and(|(text, _)| ui.add(Button::secondary(*text).large()).clicked());
            let leave = ui.add(Button::ghost(tr!("Cancel")).large()).clicked();
            if let Some(reason) = shown {
                let t = theme::tokens(ui);
                footer_text_ui(ui, (icons::WARNING_OCTAGON, t.err), reason, t.err);
            }
            (act, other, leave)
        });
        if let Some((_, command)) = instead.filter(|_| other) {
            return Next::Do(Request::Run(command));
        }
        if act && let Some(Ok(preview)) = ready {
            let Some(command) = preview.command.clone() else {
                return Next::Close;
            };
            // The preview lists the programs, and the user allows them with this click.
            cx.studio
                .programs_of(&command)
                .iter()
                .for_each(|program| consent::allow_program(program));
            let request = Request::Run(command);
            if self.form.closes() {
                return Next::Do(request);
            }
            self.job = OperationJob::Running(None);
            return Next::Also(request);
        }
        if close || leave {
            Next::Close
        } else {
            Next::Stay
        }
    }
}

impl DialogView for OperationDialog {
    fn ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) -> Next {
        let screen = ui.ctx().content_rect();
        ui.set_width((screen.width() - 64.0).min(self.form.dialog_width()));
        ui.spacing_mut().item_spacing.y = 0.0;
        let words = self.form.words();
        let close = head_ui(ui, words.icon, words.title, &self.form.title_detail(cx));
        let (mut wanted, mut leaving, mut outdates_note) = (None, None, false);
        let mut picked = self.picked.take();
        let elapsed = match self.job {
            OperationJob::Running(Some(job)) => running_job(cx, job).map(|job| job.elapsed),
            _ => None,
        };
        let mut fields = OperationFields {
            picked: &mut picked,
            wanted: &mut wanted,
            leaving: &mut leaving,
            outdates_note: &mut outdates_note,
            is_running: self.is_running(),
            has_report: matches!(self.job, OperationJob::Done(_)),
            elapsed,
        };
        let has_columns = self.form.has_columns() && !self.has_report_alone;
        match &mut self.job {
            _ if has_columns => self.columns_ui(ui, cx, &mut fields),
            OperationJob::Done(report) => *fields.leaving = report.ui(ui, cx),
            _ => self.stacked_ui(ui, cx, &mut fields),
        }
        self.picked = picked;
        let next = self.bottom_ui(ui, cx, close);
        if let Some((field, request)) = wanted {
            self.asked = Some(field);
            return Next::Also(Request::ChooseFiles(request));
        }
        match (next, leaving) {
            (Next::Stay, Some(request)) => Next::Do(request),
            (next, _) => next,
        }
    }

    fn receive(&mut self, event: &DialogEvent<'_>) -> Reply {
        match event {
            DialogEvent::Finished(job @ Some(_), event, studio) if self.job.has_run(*job) => {
                match self.form.end_job(event) {
                    OperationEnd::Report(report) => self.job = OperationJob::Done(*report),
                    OperationEnd::Form => self.job = OperationJob::Idle,
                    OperationEnd::Close => return Reply::Close,
                    OperationEnd::Ignored => return Reply::Ignored,
                }
                Reply::Taken(self.form.afterwards(studio))
            }
            DialogEvent::DocumentChanged if self.form.follows_document() && !self.is_running() => {
                Reply::Close
            }
            DialogEvent::Picked(paths) => {
                self.picked = self.asked.take().map(|field| (field, paths.to_vec()));
                Reply::Ignored
            }
            event => self.job.receive(event, || self.form.cancel_note()),
        }
    }

    fn is_running(&self) -> bool {
        self.job.is_running()
    }
}

/// A frame without lines, with the margins of a dialog at its sides; in points.
fn margins_frame(top: i8, bottom: i8) -> Frame {
    Frame::NONE.inner_margin(Margin {
        left: 16,
        right: 16,
        top,
        bottom,
    })
}

fn running_job<'a>(cx: &'a PanelContext<'_>, job: JobId) -> Option<&'a JobView> {
    cx.session.jobs.running().find(|view| view.id == job)
}

/// Draws the progress of the job with the button that stops it.
fn running_ui(ui: &mut Ui, cx: &PanelContext<'_>, job: Option<JobId>, texts: &ButtonTexts) -> Next {
    let t = theme::tokens(ui);
    let view = job.and_then(|job| running_job(cx, job));
    let stop = foot_ui(ui, |ui| {
        let stopping = view
            .is_some_and(|view| view.progress.cancelling)
            .then_some(tr!("Stopping at the next safe place"));
        let stop = ui
            .add(
                Button::danger(texts.stop)
                    .large()
                    .first()
                    .name(texts.stop_name)
                    .with_disabled_reason(stopping),
            )
            .clicked();
        if let Some(view) = view {
            ui.label(
                theme::rich_text(detail(&view.progress, view.elapsed))
                    .font(font::mono(11.0))
                    .color(t.tx3),
            );
            match view.progress.fraction() {
                Some(fraction) => {
                    drop(widgets::progress_bar(ui, &view.label, fraction, 120.0, 6.0))
                }
                None => drop(widgets::spinner(ui, 16.0)),
            }
            ui.add(
                egui::Label::new(
                    theme::rich_text(&view.progress.stage.name)
                        .font(font::regular(12.0))
                        .color(t.tx2),
                )
                .truncate(),
            );
        } else {
            widgets::spinner(ui, 16.0);
        }
        stop
    });
    match job.filter(|_| stop) {
        Some(job) => Next::Also(Request::Run(Command::Cancel { job })),
        None => Next::Stay,
    }
}
