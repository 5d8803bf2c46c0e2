//! The dialog that publishes a dataset: target, checks, files and cost; then progress, and the
//! result with code that reads it.

use std::path::PathBuf;

use egui::{Frame, Margin, ScrollArea, Ui, vec2};

use super::dialog_job::DialogJob;
use super::frame::{Next, foot_ui, head_ui};
use super::view::{DialogEvent, DialogView, Reply};
use crate::container::OpenOptions;
use crate::gui::panel_context::{PanelContext, Request};
use crate::gui::panels::jobs::detail;
use crate::gui::theme::{self, font, text_style};
use crate::gui::widgets::{self, Button, FieldNote, Segment, TextField, Tone, note_ui, paint};
use crate::gui::{dropped_paths, icons};
use crate::jobs::AsyncValue;
use crate::model::is_remote;
use crate::ops::AnyOutput;
use crate::ops::publish::{
    CheckKind, CheckLevel, Mend, Preflight, Prices, Publication, PublishCheck, PublishLayout,
    PublishRequest, preflight,
};
use crate::studio::{Command, Event};

/// Maximum height of the columns in points.
const HEIGHT: f32 = 520.0;

pub struct PublishDialog {
    input: PathBuf,
    open: OpenOptions,
    target: String,
    layout: PublishLayout,
    repository: String,
    url: String,
    overwrite: bool,
    accept: Vec<CheckKind>,
    reads: String,
    limit: String,
    /// Request of the current checks.
    asked: Option<PublishRequest>,
    /// Number of requests of the checks.
    times: u32,
    checked: AsyncValue<u32, Preflight>,
    job: DialogJob<Box<Publication>>,
    snippet: usize,
    /// Prices of the settings.
    prices: Prices,
}

impl PublishDialog {
    /// Publishes the dataset at `input`, with the prices of the settings.
    pub fn new(input: PathBuf, open: OpenOptions, prices: Prices) -> Self {
        Self {
            input,
            open,
            target: String::new(),
            layout: PublishLayout::Store,
            repository: String::new(),
            url: String::new(),
            overwrite: false,
            accept: Vec::new(),
            reads: prices.full_reads_month.unwrap_or(1.0).to_string(),
            limit: prices
                .limit_month
                .map_or(String::new(), |limit| limit.to_string()),
            asked: None,
            times: 0,
            checked: AsyncValue::default(),
            job: DialogJob::Idle,
            snippet: 0,
            prices,
        }
    }

    fn request(&self) -> PublishRequest {
        let text = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        let prices = Prices {
            full_reads_month: Prices::parse_price(&self.reads),
            limit_month: Prices::parse_price(&self.limit),
            ..self.prices.clone()
        };
        PublishRequest {
            input: self.input.clone(),
            open: self.open.clone(),
            target: dropped_paths::parse_path(self.target.trim()),
            layout: self.layout,
            repository: if self.layout.has_repository() {
                text(&self.repository)
            } else {
                None
            },
            url: text(&self.url),
            overwrite: self.overwrite,
            accept: self.accept.clone(),
            prices,
        }
    }

    /// Result of the checks for the current input; `None` until they have ended.
    fn current(&self) -> Option<&Preflight> {
        let is_current = self.asked.as_ref() == Some(&self.request());
        self.checked
            .get(&self.times)
            .filter(|_| is_current)?
            .as_ref()
            .ok()
    }

    fn target_ui(&mut self, ui: &mut Ui) {
        if self.is_running() {
            ui.disable();
        }
        widgets::heading(ui, tr!("Target"));
        for layout in PublishLayout::ALL {
            if widgets::radio(
                ui,
                self.layout == layout,
                crate::text::translate_text(layout.title()),
            )
            .clicked()
            {
                self.layout = layout;
            }
        }
        let elsewhere = self.layout.is_uploaded_by_another_program();
        let hint = if elsewhere {
            tr!("a new local folder")
        } else {
            "s3://bucket/set/1.0.0"
        };
        TextField::new(tr!("Address"), &mut self.target)
            .mono()
            .hint(hint)
            .name(tr!("Address of the publication"))
            .show(ui);
        if elsewhere {
            let text = tr!(
                "The files are written to this folder. The studio does not upload them; the host's \
                    own client does."
            );
            note_ui(ui, &FieldNote::Info(text.into()));
        }
        if self.layout.has_repository() {
            TextField::new(tr!("Repository"), &mut self.repository)
                .mono()
                .hint("OWNER/NAME")
                .show(ui);
        }
        TextField::new(tr!("Address on the web"), &mut self.url)
            .mono()
            .hint(tr!("for documents and snippets; optional"))
            .name(tr!("Address of the publication on the web"))
            .show(ui);
        widgets::checkbox(
            ui,
            &mut self.overwrite,
            tr!("Replace the earlier publication"),
        );
        widgets::heading(ui, tr!("Cost"));
        TextField::new(tr!("Full reads a month"), &mut self.reads)
            .mono()
            .show(ui);
        TextField::new(tr!("Monthly limit in $"), &mut self.limit)
            .mono()
            .show(ui);
        if ui
            .add(
                Button::secondary(tr!("Check"))
                    .icon(icons::CHECK)
                    .with_disabled_reason(self.incomplete())
                    .name(tr!("Check before publishing")),
            )
            .clicked()
        {
            self.asked = Some(self.request());
            self.times += 1;
            self.job = DialogJob::Idle;
        }
    }

    /// Why the input is incomplete; `None` when it is complete.
    fn incomplete(&self) -> Option<&'static str> {
        if self.target.trim().is_empty() {
            Some(tr!("Type where to publish"))
        } else {
            None
        }
    }

    /// Draws the checks; a returned request closes the dialog and opens the panel in which a
    /// finding is corrected.
    fn checks_ui(&mut self, ui: &mut Ui, cx: &PanelContext<'_>) -> Option<Request> {
        let t = theme::tokens(ui);
        widgets::heading(ui, tr!("Pre-flight checks"));
        if let Some(Err(error)) = self.checked.get(&self.times) {
            note_ui(ui, &FieldNote::Error(error.report()));
            return None;
        }
        let found = match &self.job {
            DialogJob::Done(publication) => Some(publication.preflight.clone()),
            _ => self.current().cloned(),
        };
        let Some(found) = found else {
            let waits = self.asked.as_ref() == Some(&self.request())
                && self.checked.get(&self.times).is_none();
            if waits {
                drop(widgets::spinner(ui, 16.0))
            } else {
                drop(
                    ui.label(
                        theme::rich_text(tr!("Not checked yet"))
                            .text_style(text_style("small12"))
                            .color(t.tx3),
                    ),
                )
            }
            return None;
        };
        ui.horizontal_wrapped(|ui| {
            let [passes, notes, blocks] =
                [CheckLevel::Pass, CheckLevel::Warning, CheckLevel::Blocks]
                    .map(|level| found.count(level));
            for (tone, icon, number, text) in [
                (
                    Tone::Ok,
                    icons::CHECK,
                    passes,
                    tr_n!(passes, "{n} pass", "{n} pass", n = passes),
                ),
                (
                    Tone::Warning,
                    icons::WARNING,
                    notes,
                    tr_n!(notes, "{n} warning", "{n} warnings", n = notes),
                ),
                (
                    Tone::Error,
                    icons::WARNING_OCTAGON,
                    blocks,
                    tr_n!(blocks, "{n} block", "{n} block", n = blocks),
                ),
            ] {
                if number > 0 {
                    widgets::badge(ui, tone, Some(icon), &text);
                }
            }
        });
        let mut request = None;
        let mut group = None;
        for check in &found.checks {
            if group.replace(check.kind.group()) != Some(check.kind.group()) {
                ui.label(
                    theme::rich_text(check.kind.group().title())
                        .font(font::semibold(11.0))
                        .color(t.tx3),
                );
            }
            request = self.check_ui(ui, cx, check).or(request);
        }
        request
    }

    fn check_ui(
        &mut self,
        ui: &mut Ui,
        cx: &PanelContext<'_>,
        check: &PublishCheck,
    ) -> Option<Request> {
        let t = theme::tokens(ui);
        let (icon, color) = match check.level {
            CheckLevel::Pass => (icons::CHECK_CIRCLE, t.ok),
            CheckLevel::Warning => (icons::WARNING, t.warn),
            CheckLevel::Blocks => (icons::WARNING_OCTAGON, t.err),
        };
        let small = |text: String| theme::rich_text(text).text_style(text_style("small12"));
        ui.horizontal_top(|ui| {
            ui.label(theme::rich_text(icon).font(font::icon(13.0)).color(color));
            let text = if check.figure.is_empty() {
                check.message.clone()
            } else {
                format!("{} ({})", check.message, check.figure)
            };
            ui.add(
                egui::Label::new(small(text).color(if check.level == CheckLevel::Blocks {
                    t.err
                } else {
                    t.tx
                }))
                .wrap(),
            );
        });
        if check.level == CheckLevel::Pass {
            return None;
        }
        for place in check
            .places
            .iter()
            .take(if check.level == CheckLevel::Blocks {
                3
            } else {
                1
            })
        {
            ui.add(
                egui::Label::new(theme::rich_text(place).font(font::mono(11.0)).color(t.tx2))
                    .wrap(),
            );
        }
        let mut request = None;
        if let Some(mend) = &check.mend {
            ui.add(egui::Label::new(small(mend.sentence()).color(t.tx2)).wrap());
            if let Some(pane) = pane_of(mend).filter(|_| cx.document().is_some())
                && widgets::link(ui, &tr!("Show {place}", place = pane.title())).clicked()
            {
                request = Some(Request::Show(pane));
            }
        }
        if check.kind.may_be_accepted() && (check.level == CheckLevel::Blocks || check.accepted) {
            let mut accepted = self.accept.contains(&check.kind);
            if widgets::checkbox(
                ui,
                &mut accepted,
                &tr!("Publish all the same: {kind}", kind = check.kind.name()),
            )
            .changed()
            {
                self.accept.retain(|kind| *kind != check.kind);
                if accepted {
                    self.accept.push(check.kind);
                }
                self.asked = Some(self.request());
                self.times += 1;
                self.job = DialogJob::Idle;
            }
        }
        request
    }

    fn outcome_ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) {
        let t = theme::tokens(ui);
        match &self.job {
            DialogJob::Running(id) => {
                widgets::heading(ui, tr!("Publishing"));
                let Some(job) = cx.studio.jobs().into_iter().find(|job| Some(job.id) == *id) else {
                    return;
                };
                ui.label(theme::rich_text(&job.progress.stage.name).font(font::medium(12.5)));
                match job.progress.fraction() {
                    Some(fraction) => drop(widgets::progress_bar(
                        ui,
                        tr!("Publishing"),
                        fraction,
                        ui.available_width(),
                        8.0,
                    )),
                    None => drop(widgets::spinner(ui, 16.0)),
                }
                let text = theme::rich_text(detail(&job.progress, job.elapsed))
                    .font(font::mono(11.0))
                    .color(t.tx2);
                ui.add(egui::Label::new(text).wrap());
                note_ui(
                    ui,
                    &FieldNote::Info(
                        tr!(
                            "The file that readers open first is sent last, so that an incomplete \
                            dataset can't be opened."
                        )
                        .into(),
                    ),
                );
            }
            DialogJob::Done(publication) if publication.published.is_some() => {
                self.published_ui(ui, cx)
            }
            job => {
                job.ended_ui(ui);
                if let Some(found) = self.current() {
                    planned_ui(ui, found);
                    if let Some(line) = self.request().command_line() {
                        widgets::heading(ui, tr!("The same from the command line"));
                        widgets::code_ui(ui, &line);
                        if ui
                            .add(Button::secondary(tr!("Copy command")).icon(icons::COPY))
                            .clicked()
                        {
                            cx.request(Request::Copy(line));
                        }
                    }
                }
            }
        }
    }

    fn published_ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) {
        let DialogJob::Done(publication) = &self.job else {
            return;
        };
        let Some(published) = &publication.published else {
            return;
        };
        let t = theme::tokens(ui);
        let opened = &published.opened;
        widgets::heading(ui, tr!("Published"));
        let requests = tr_n!(
            opened.requests,
            "{n} request",
            "{n} requests",
            n = opened.requests
        );
        let time = format!("{:.1}", opened.seconds);
        let text = if is_remote(&opened.path) {
            tr!(
                "Opened from there: {requests}, {size}, {time} s",
                requests,
                size = paint::bytes(opened.bytes),
                time
            )
        } else {
            tr!("Opened from there: {time} s", time)
        };
        ui.horizontal_top(|ui| {
            ui.label(
                theme::rich_text(icons::CHECK_CIRCLE)
                    .font(font::icon(16.0))
                    .color(t.ok),
            );
            ui.add(egui::Label::new(theme::rich_text(text).font(font::semibold(12.5))).wrap());
        });
        let text = tr!(
            "{sent} files sent, {size}; {kept} already at the target; {compared} random samples \
                match the local bytes",
            sent = published.sent_files,
            size = paint::bytes(published.sent_bytes),
            kept = published.kept_files,
            compared = opened.compared
        );
        ui.add(
            egui::Label::new(
                theme::rich_text(text)
                    .text_style(text_style("small12"))
                    .color(t.tx2),
            )
            .wrap(),
        );
        if !published.upload_commands.is_empty() {
            widgets::heading(ui, tr!("Upload with the host's own client"));
            let lines = published.upload_commands.join("\n");
            widgets::code_ui(ui, &lines);
            if ui
                .add(Button::secondary(tr!("Copy command")).icon(icons::COPY))
                .clicked()
            {
                cx.request(Request::Copy(lines));
            }
        }
        widgets::heading(ui, tr!("Reader"));
        let segments: Vec<Segment<'_, usize>> = published
            .snippets
            .iter()
            .enumerate()
            .map(|(index, snippet)| Segment::new(index, snippet.reader))
            .collect();
        widgets::draw_segments(ui, "publish-snippet", &mut self.snippet, &segments);
        let Some(snippet) = published.snippets.get(self.snippet) else {
            return;
        };
        widgets::code_ui(ui, snippet.code.trim_end());
        ui.horizontal_wrapped(|ui| {
            if ui
                .add(Button::secondary(tr!("Copy snippet")).icon(icons::COPY))
                .clicked()
            {
                cx.request(Request::Copy(snippet.code.clone()));
            }
            if ui
                .add(Button::ghost(tr!("Copy link")).icon(icons::COPY))
                .clicked()
            {
                cx.request(Request::Copy(published.address.clone()));
            }
        });
    }

    fn foot_ui(&mut self, ui: &mut Ui) -> Next {
        let current = self.current();
        let first = current.and_then(|found| {
            found
                .checks
                .iter()
                .find(|check| check.level == CheckLevel::Blocks)
        });
        let why = first.map(|check| check.message.clone());
        let blocked = match (self.incomplete(), current) {
            (Some(reason), _) => Some(reason),
            (None, None) => Some(tr!("Check first")),
            (None, Some(found)) if !found.may_publish() => Some(tr!("A check blocks publishing")),
            _ => None,
        };
        let button = match (current, self.layout.is_uploaded_by_another_program()) {
            (_, true) => tr!("Write the files").to_owned(),
            (Some(found), false) => tr!("Publish {size}", size = paint::bytes(found.size_bytes)),
            (None, false) => tr!("Publish").to_owned(),
        };
        let (running, done) = (
            self.is_running(),
            matches!(&self.job, DialogJob::Done(done) if done.published.is_some()),
        );
        let (leave, act) = foot_ui(ui, |ui| {
            if running {
                return (
                    false,
                    ui.add(
                        Button::danger(tr!("Stop"))
                            .large()
                            .name(tr!("Stop publishing")),
                    )
                    .clicked(),
                );
            }
            if done {
                return (
                    ui.add(Button::primary(tr!("Done")).large()).clicked(),
                    false,
                );
            }
            let act = ui
                .add(
                    Button::primary(button)
                        .large()
                        .with_disabled_reason(blocked)
                        .name(tr!("Publish now")),
                )
                .clicked();
            let leave = ui.add(Button::ghost(tr!("Cancel")).large()).clicked();
            if let Some(why) = &why {
                let color = theme::tokens(ui).err;
                ui.with_layout(egui::Layout::left_to_right(egui::Align::Center), |ui| {
                    ui.label(
                        theme::rich_text(icons::WARNING_OCTAGON)
                            .font(font::icon(14.0))
                            .color(color),
                    );
                    ui.add(
                        egui::Label::new(
                            theme::rich_text(why)
                                .text_style(text_style("small12"))
                                .color(color),
                        )
                        .truncate(),
                    );
                });
            }
            (leave, act)
        });
        match (&self.job, act, leave) {
            (DialogJob::Running(Some(job)), true, _) => {
                Next::Also(Request::Run(Command::Cancel { job: *job }))
            }
            (DialogJob::Running(_), ..) => Next::Stay,
            (_, true, _) => {
                self.job = DialogJob::Running(None);
                Next::Also(Request::Run(Command::operate(self.request())))
            }
            (_, false, true) => Next::Close,
            _ => Next::Stay,
        }
    }
}

impl DialogView for PublishDialog {
    fn ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) -> Next {
        if let (Some(asked), DialogJob::Idle | DialogJob::Ended(_)) =
            (self.asked.clone(), &self.job)
        {
            self.checked.update(
                cx.jobs,
                self.times,
                tr!("Check before publishing"),
                move |ctx| preflight(&asked, ctx),
            );
        }
        let screen = ui.ctx().content_rect();
        let size = vec2(
            (screen.width() - 64.0).min(1180.0),
            (screen.height() - 180.0).min(HEIGHT),
        );
        ui.set_width(size.x);
        ui.spacing_mut().item_spacing.y = 0.0;
        let title = cx
            .document()
            .map(|document| document.title().into_owned())
            .unwrap_or_default();
        let close = head_ui(ui, icons::CLOUD, tr!("Publish dataset"), &title) && !self.is_running();
        let mut next = Next::Stay;
        let third = (size.x / 3.0).floor();
        ui.horizontal_top(|ui| {
            ui.spacing_mut().item_spacing.x = 0.0;
            for column in 0..3 {
                let fill = if column == 1 {
                    theme::tokens(ui).bg2
                } else {
                    theme::tokens(ui).bg1
                };
                Frame::NONE
                    .fill(fill)
                    .inner_margin(Margin::same(14))
                    .show(ui, |ui| {
                        ui.set_width(third - 28.0);
                        ui.set_height(size.y);
                        ui.vertical(|ui| {
                            ui.spacing_mut().item_spacing = vec2(8.0, 6.0);
                            ScrollArea::vertical()
                                .id_salt(("publish", column))
                                .auto_shrink(false)
                                .show(ui, |ui| match column {
                                    0 => self.target_ui(ui),
                                    1 => {
                                        if let Some(request) = self.checks_ui(ui, cx) {
                                            next = Next::Do(request);
                                        }
                                    }
                                    _ => self.outcome_ui(ui, cx),
                                });
                        });
                    });
            }
        });
        match (self.foot_ui(ui), close) {
            (Next::Stay, true) => Next::Close,
            (Next::Stay, false) => next,
            (other, _) => other,
        }
    }

    fn receive(&mut self, event: &DialogEvent<'_>) -> Reply {
        match event {
            DialogEvent::Finished(job, Event::Finished(AnyOutput::Publish(publication)), _)
                if self.job.has_run(*job) =>
            {
                self.job = DialogJob::Done(publication.clone());
                Reply::Taken(Vec::new())
            }
            DialogEvent::DocumentChanged if !self.is_running() => Reply::Close,
            event => self.job.receive(event, || {
                let text = tr!(
                    "Stopped. Files already at the store are not sent again; readers can't open \
                        the \
                        dataset before its last file is sent."
                );
                FieldNote::Info(text.into())
            }),
        }
    }

    fn is_running(&self) -> bool {
        self.job.is_running()
    }
}

/// The panel in which a finding is corrected.
fn pane_of(mend: &Mend) -> Option<crate::gui::Pane> {
    use crate::gui::Pane;
    match mend {
        Mend::Field(_) => Some(Pane::Collection),
        Mend::Column { .. } => Some(Pane::Columns),
        Mend::Findings => Some(Pane::Problems),
        Mend::Extension(_) => Some(Pane::Extensions),
        Mend::Split => Some(Pane::Statistics),
        Mend::Parts | Mend::Tables | Mend::Target | Mend::Prices => None,
    }
}

/// The files and the cost.
fn planned_ui(ui: &mut Ui, found: &Preflight) {
    let t = theme::tokens(ui);
    widgets::heading(ui, tr!("Will be published"));
    for file in &found.files {
        let size = file
            .size_bytes
            .map_or(tr!("generated").to_owned(), paint::bytes);
        draw_planned_row(
            ui,
            &file.name,
            if file.files > 1 {
                format!("{} × {size}", file.files)
            } else {
                size
            },
        );
    }
    widgets::heading(ui, tr!("Cost"));
    let cost = &found.cost;
    draw_planned_row(
        ui,
        tr!("Storage, a month"),
        format!("$ {:.2}", cost.storage_month),
    );
    draw_planned_row(
        ui,
        tr!("Egress, a full read"),
        format!("$ {:.2}", cost.egress_read),
    );
    draw_planned_row(
        ui,
        tr!("Requests, a full read"),
        format!("$ {:.3}", cost.requests_read),
    );
    draw_planned_row(ui, tr!("This upload"), format!("$ {:.3}", cost.upload));
    draw_planned_row(ui, tr!("A month"), format!("$ {:.2}", cost.month));
    let text = match (cost.rates.source, cost.rates.set_by_user) {
        (Some(source), 0) => Some(tr!(
            "Prices are {source}. The settings take others.",
            source
        )),
        (Some(source), _) => Some(tr!(
            "Prices are those of the settings; others are {source}.",
            source
        )),
        (None, 0) => None,
        (None, _) => Some(tr!("Prices are those of the settings.").to_owned()),
    };
    if let Some(text) = text {
        ui.add(
            egui::Label::new(
                theme::rich_text(text)
                    .text_style(text_style("small12"))
                    .color(t.tx3),
            )
            .wrap(),
        );
    }
}

fn draw_planned_row(ui: &mut Ui, name: &str, detail: String) {
    ui.horizontal(|ui| {
        ui.label(theme::rich_text(name).font(font::mono(11.5)));
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            ui.label(
                theme::rich_text(detail)
                    .font(font::mono(11.0))
                    .color(theme::tokens(ui).tx2),
            );
        });
    });
}
