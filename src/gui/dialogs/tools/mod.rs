//! The dialog of the tools: input, options, preview, run with progress and cancel, report. This
//! module is the common frame; the input of a tool and its command are a [`ToolForm`] in a file of
//! its own. A preview reads and never writes; it also builds the command that the button runs, so
//! that the command matches the preview.

mod bins;
mod convert;
mod fields;
mod footer;
mod histograms;
mod index;
mod line;
mod older;
mod optimise;
mod pad;
mod percentiles;
mod prepare_taco3;
mod repair;
mod report;
mod several;
mod sidecars;

use std::path::{Path, PathBuf};
use std::time::Duration;

use egui::{Frame, Margin, ScrollArea, Ui, vec2};

use super::dialog_job::{DialogJob, nothing_written};
use super::frame::{Next, foot_ui, head_ui};
use super::view::{DialogEvent, DialogView, Reply};
use crate::consent;
use crate::container::OpenOptions;
use crate::error::Result;
use crate::files::free_bytes;
use crate::gui::panel_context::{PanelContext, Request};
use crate::gui::panels::jobs::detail;
use crate::gui::theme::{self, font};
use crate::gui::tool::Tool;
use crate::gui::widgets::{self, Button, FieldNote, paint};
use crate::jobs::{AsyncValue, JobContext, JobId};
use crate::ops::DatasetOutline;
use crate::studio::{Command, Document, Studio};
use fields::ToolFields;
pub(super) use fields::split_names;
pub use line::ToolLine;
use line::line_ui;
use report::{ToolReport, report_of};

/// Width of the dialog in points.
const WIDTH: f32 = 680.0;
/// Maximum share of the dialog's height for the preview.
const PREVIEW_SHARE: f32 = 0.45;
/// Delay after the last keystroke before a preview reads files.
const TYPING: Duration = Duration::from_millis(250);

/// The open document, for the initial values of a tool.
#[derive(Clone, Debug, Default)]
pub struct ToolStart {
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
}

impl ToolStart {
    /// Path of the input as text; empty without one.
    fn input_text(&self) -> String {
        self.input
            .as_ref()
            .map(|path| path.display().to_string())
            .unwrap_or_default()
    }

    /// A proposal for an output: `id-suffix.ending` in the output folder.
    fn output_text(&self, suffix: &str, ending: &str) -> String {
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

/// A preview: lines that describe the effects, and the command.
#[derive(Debug)]
pub struct ToolPreview {
    lines: Vec<ToolLine>,
    /// Why the command can't run.
    obstacle: Option<String>,
    /// `None`: the button only closes the dialog.
    command: Option<Command>,
}

impl ToolPreview {
    fn new(command: Command) -> Self {
        Self {
            lines: Vec::new(),
            obstacle: None,
            command: Some(command),
        }
    }

    /// A preview of doing nothing.
    fn without_command() -> Self {
        Self {
            lines: Vec::new(),
            obstacle: None,
            command: None,
        }
    }

    fn line(mut self, line: ToolLine) -> Self {
        self.lines.push(line);
        self
    }

    /// Adds the outline of a dataset.
    fn outline(self, outline: &DatasetOutline) -> Self {
        let rows: Vec<String> = outline
            .rows
            .iter()
            .enumerate()
            .map(|(level, rows)| format!("L{level} {}", paint::format_grouped_number(*rows as u64)))
            .collect();
        let size = outline
            .size_bytes
            .map(|bytes| format!(", {}", paint::bytes(bytes)))
            .unwrap_or_default();
        let (format, generation) = (outline.format.badge(), outline.format.generation());
        let text = tr!(
            "Reads: {format}, generation {generation}, samples {rows}{size}",
            format,
            generation,
            rows = rows.join(" "),
            size
        );
        let mut plan = self.line(ToolLine::fact(text));
        if let Some(lacking) = &outline.lacking {
            let (opened, count) = (lacking.opened, lacking.count);
            plan = plan.line(ToolLine::warning(tr!(
                "{opened} of {count} parts of this dataset are open.",
                opened,
                count
            )));
        }
        plan
    }

    /// Checks the destination: an existing one is an obstacle unless it is replaced.
    fn destination(mut self, target: &Path, replace: bool) -> Self {
        let shown = crate::gui::dropped_paths::display_path(target);
        let free = free_bytes(target)
            .map(|bytes| tr!(", {free} free on its disk", free = paint::bytes(bytes)))
            .unwrap_or_default();
        let exists = target.symlink_metadata().is_ok();
        self.lines.push(match (exists, replace) {
            (false, _) => ToolLine::fact(tr!("Writes: {path}{free}", path = shown, free)),
            (true, true) => ToolLine::warning(tr!("Replaces: {path}{free}", path = shown, free)),
            (true, false) => ToolLine::error(tr!(
                "{path} exists already. Choose another name, or replace it.",
                path = shown
            )),
        });
        if exists && !replace {
            self.obstacle
                .get_or_insert_with(|| tr!("The destination exists already").into());
        }
        self
    }

    fn obstacle(mut self, why: impl Into<String>) -> Self {
        self.obstacle.get_or_insert_with(|| why.into());
        self
    }
}

type PreviewWork = Box<dyn FnOnce(&JobContext) -> Result<ToolPreview> + Send>;

/// Input and command of a tool.
trait ToolForm: std::fmt::Debug {
    /// Icon, title, button.
    fn words(&self) -> ToolTexts;
    /// Draws inputs and options.
    fn options_ui(&mut self, ui: &mut Ui, fields: &mut ToolFields<'_>, cx: &mut PanelContext<'_>);
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
    /// Action of the window after the tool's job has succeeded.
    fn afterwards(&self, _studio: &Studio) -> Vec<Request> {
        Vec::new()
    }
}

struct ToolTexts {
    icon: &'static str,
    title: &'static str,
    /// One sentence about its effects.
    about: &'static str,
    /// Text of the button that runs it.
    verb: &'static str,
}

pub struct ToolDialog {
    form: Box<dyn ToolForm>,
    plan: AsyncValue<String, ToolPreview>,
    job: DialogJob<ToolReport>,
    /// The field whose paths are chosen in the desktop's dialog.
    asked: Option<String>,
    /// Paths chosen for that field.
    picked: Option<(String, Vec<PathBuf>)>,
    /// Height of the preview in the frame before, in points.
    preview_height: f32,
}

impl ToolDialog {
    pub fn new(tool: Tool, start: &ToolStart) -> Self {
        let form: Box<dyn ToolForm> = match tool {
            Tool::Optimise => Box::new(optimise::Optimise::new(start)),
            Tool::Histograms => Box::new(histograms::Histograms::new(start)),
            Tool::Percentiles => Box::new(percentiles::PercentilesForm::new(start)),
            Tool::Repair => Box::new(repair::Repair::new(start)),
            Tool::Convert => Box::new(convert::Convert::new(start)),
            Tool::Index => Box::new(index::IndexForm::new(start)),
            Tool::Older => Box::new(older::Older::new(start)),
            Tool::PrepareTaco3 => Box::new(prepare_taco3::PrepareTaco3::new(start)),
            Tool::Footer => Box::new(footer::Footer::new(start)),
            Tool::Several => Box::new(several::Several::new(start)),
            Tool::PadTo => Box::new(pad::PadForm::default()),
            Tool::Sidecars => Box::new(sidecars::SidecarsForm::default()),
        };
        Self::from_form(form)
    }

    /// Opens these datasets as one; `otherwise` is offered instead.
    pub fn several(paths: &[PathBuf], otherwise: Option<Command>) -> Self {
        Self::from_form(Box::new(several::Several::from_paths(paths, otherwise)))
    }

    fn from_form(form: Box<dyn ToolForm>) -> Self {
        Self {
            form,
            plan: AsyncValue::default(),
            job: DialogJob::Idle,
            asked: None,
            picked: None,
            preview_height: 0.0,
        }
    }

    /// Starts the preview if inputs or options have changed, and draws it.
    fn plan_ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) {
        let t = theme::tokens(ui);
        ui.label(
            theme::rich_text(tr!("Preview"))
                .font(font::semibold(12.0))
                .color(t.tx2),
        );
        self.job.ended_ui(ui);
        let work = match self.form.work(cx) {
            Ok(work) => work,
            Err(lacking) => {
                self.plan = AsyncValue::default();
                return line_ui(ui, &ToolLine::fact(lacking));
            }
        };
        if self.is_running() {
            return;
        }
        let key = self.form.key(cx);
        let typing = ui
            .memory(|memory| memory.focused())
            .is_some_and(|id| egui::text_edit::TextEditState::load(ui.ctx(), id).is_some());
        let waits = typing && self.plan.key().is_some_and(|shown| *shown != key);
        self.plan
            .update(cx.jobs, key.clone(), tr!("Preview"), move |ctx| {
                if waits {
                    std::thread::sleep(TYPING);
                    ctx.check()?;
                }
                work(ctx)
            });
        match self.plan.get(&key) {
            Some(Ok(plan)) => plan.lines.iter().for_each(|line| line_ui(ui, line)),
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

    fn bottom_ui(
        &mut self,
        ui: &mut Ui,
        cx: &mut PanelContext<'_>,
        words: &ToolTexts,
        close: bool,
    ) -> Next {
        if let DialogJob::Running(job) = self.job {
            return running_ui(ui, cx, job);
        }
        let key = self.form.key(cx);
        let lacking = self.form.work(cx).err();
        let ready = self.plan.get(&key);
        let blocked = match (&lacking, ready) {
            (Some(lacking), _) => Some(lacking.clone()),
            (None, None) => Some(tr!("The input is being read").to_owned()),
            (None, Some(Err(_))) => Some(tr!("The preview lists the missing input").to_owned()),
            (None, Some(Ok(plan))) => plan.obstacle.clone(),
        };
        let instead = self.form.instead();
        let (act, other, leave) = foot_ui(ui, |ui| {
            let act = ui
                .add(
                    Button::primary(words.verb)
                        .large()
                        .with_disabled_reason(blocked.as_deref()),
                )
                .clicked();
            let other = instead
                .as_ref()
                .is_some_and(|(text, _)| ui.add(Button::secondary(*text).large()).clicked());
            let leave = ui.add(Button::ghost(tr!("Cancel")).large()).clicked();
            (act, other, leave)
        });
        if let Some((_, command)) = instead.filter(|_| other) {
            return Next::Do(Request::Run(command));
        }
        if act && let Some(Ok(plan)) = ready {
            let Some(command) = plan.command.clone() else {
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
            self.job = DialogJob::Running(None);
            return Next::Also(request);
        }
        if close || leave {
            Next::Close
        } else {
            Next::Stay
        }
    }
}

impl DialogView for ToolDialog {
    fn ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) -> Next {
        let t = theme::tokens(ui);
        let screen = ui.ctx().content_rect();
        ui.set_width((screen.width() - 64.0).min(WIDTH));
        ui.spacing_mut().item_spacing.y = 0.0;
        let words = self.form.words();
        let close = head_ui(ui, words.icon, words.title, "");
        if let DialogJob::Done(report) = &self.job {
            return report.ui(ui, close);
        }
        let mut wanted = None;
        // The options scroll, and the preview below them stays in view.
        let height = (screen.height() - 190.0).max(160.0);
        let share = self.preview_height.min(height * PREVIEW_SHARE);
        ScrollArea::vertical()
            .id_salt("tool")
            .max_height(height - share)
            .show(ui, |ui| {
                let margin = Margin {
                    left: 16,
                    right: 16,
                    top: 16,
                    bottom: 8,
                };
                Frame::NONE.inner_margin(margin).show(ui, |ui| {
                    ui.spacing_mut().item_spacing = vec2(8.0, 8.0);
                    ui.add(
                        egui::Label::new(
                            theme::rich_text(words.about)
                                .font(font::regular(12.0))
                                .color(t.tx2),
                        )
                        .wrap(),
                    );
                    ui.add_enabled_ui(!self.is_running(), |ui| {
                        let mut fields = ToolFields {
                            picked: &mut self.picked,
                            wanted: &mut wanted,
                        };
                        self.form.options_ui(ui, &mut fields, cx);
                    });
                });
            });
        let limit = height * PREVIEW_SHARE;
        let preview = ScrollArea::vertical()
            .id_salt("tool-preview")
            .max_height(limit)
            .show(ui, |ui| {
                ui.set_min_width(ui.available_width());
                let margin = Margin {
                    left: 16,
                    right: 16,
                    top: 4,
                    bottom: 12,
                };
                Frame::NONE.inner_margin(margin).show(ui, |ui| {
                    ui.spacing_mut().item_spacing = vec2(8.0, 6.0);
                    self.plan_ui(ui, cx);
                });
            });
        let tall = preview.content_size.y;
        if (tall - self.preview_height).abs() > 0.5 {
            self.preview_height = tall;
            ui.ctx().request_repaint();
        }
        if let Some((field, request)) = wanted {
            self.asked = Some(field);
            return Next::Also(Request::ChooseFiles(request));
        }
        self.bottom_ui(ui, cx, &words, close)
    }

    fn receive(&mut self, event: &DialogEvent<'_>) -> Reply {
        match event {
            DialogEvent::Finished(job @ Some(_), event, studio) if self.job.has_run(*job) => {
                let Some(report) = report_of(event) else {
                    return Reply::Ignored;
                };
                self.job = DialogJob::Done(report);
                Reply::Taken(self.form.afterwards(studio))
            }
            DialogEvent::Picked(paths) => {
                self.picked = self.asked.take().map(|field| (field, paths.to_vec()));
                Reply::Ignored
            }
            event => self.job.receive(event, nothing_written),
        }
    }

    fn is_running(&self) -> bool {
        self.job.is_running()
    }
}

/// Draws the progress of the job with the button that stops it.
fn running_ui(ui: &mut Ui, cx: &PanelContext<'_>, job: Option<JobId>) -> Next {
    let t = theme::tokens(ui);
    let view = job.and_then(|job| cx.session.jobs.running().find(|view| view.id == job));
    let stop = foot_ui(ui, |ui| {
        let stopping = view
            .is_some_and(|view| view.progress.cancelling)
            .then_some(tr!("Stopping at the next safe place"));
        let stop = ui
            .add(
                Button::danger(tr!("Stop"))
                    .large()
                    .first()
                    .name(tr!("Stop the tool"))
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

/// Path, open options and id of the open document.
pub fn start_of(document: Option<&Document>, folder: PathBuf) -> ToolStart {
    let Some(document) = document else {
        return ToolStart {
            folder,
            ..ToolStart::default()
        };
    };
    let id = document.collection().id().to_owned();
    match document.opened_dataset() {
        Some(open) => ToolStart {
            input: Some(open.reader.info().path.clone()),
            open: open.options.clone(),
            id,
            folder,
            ..ToolStart::default()
        },
        None => ToolStart {
            draft: true,
            id,
            folder,
            ..ToolStart::default()
        },
    }
}
