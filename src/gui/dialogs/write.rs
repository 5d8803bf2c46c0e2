//! Writing the draft: container, destination, what the checks say; then progress, then what was written.

use std::path::PathBuf;

use egui::{Frame, Margin, RichText, Stroke, Ui, vec2};

use super::{Next, foot_ui, head_ui};
use crate::container::{BuildOptions, Built, Format};
use crate::error::Error;
use crate::gui::cx::{Ask, Cx};
use crate::gui::icons;
use crate::gui::intake;
use crate::gui::panels::jobs::detail;
use crate::gui::picker::Wish;
use crate::gui::theme::{self, font, text_style};
use crate::gui::widgets::{self, Button, Note, TextField, Tone, note_ui, paint};
use crate::jobs::JobId;
use crate::model::{Finding, Severity};
use crate::studio::Command;
use crate::table::ParquetOptions;

/// Findings listed in the dialog; the rest is in Problems.
const LISTED: usize = 6;

enum Stage {
    Choosing,
    Running(JobId),
    Failed(String),
    Cancelled,
    Done(Built),
}

/// The dialog.
pub struct WriteDialog {
    format: Format,
    target: String,
    compression: String,
    replace: bool,
    stage: Stage,
}

impl WriteDialog {
    /// Proposes a file named after the dataset's id.
    pub fn new(folder: PathBuf, id: &str) -> Self {
        let name = if id.is_empty() { "dataset" } else { id };
        let target = folder.join(format!("{name}.tacozip")).display().to_string();
        let compression = "13".to_owned();
        Self { format: Format::Zip, target, compression, replace: false, stage: Stage::Choosing }
    }

    /// The job has begun.
    pub fn started(&mut self, job: JobId) {
        self.stage = Stage::Running(job);
    }

    /// The dataset is written.
    pub fn done(&mut self, built: Built) {
        self.stage = Stage::Done(built);
    }

    /// True when the failed job is this dialog's.
    pub fn failed(&mut self, job: JobId, error: &Error) -> bool {
        let own = matches!(self.stage, Stage::Running(running) if running == job);
        if own {
            let hints: String = error.hints().iter().map(|hint| format!("\n{hint}")).collect();
            self.stage = Stage::Failed(format!("{error}{hints}"));
        }
        own
    }

    /// The job was stopped.
    pub fn cancelled(&mut self, job: JobId) {
        if matches!(self.stage, Stage::Running(running) if running == job) {
            self.stage = Stage::Cancelled;
        }
    }

    /// Puts the target into another folder.
    pub fn set_folder(&mut self, folder: PathBuf) {
        let name = PathBuf::from(&self.target).file_name().map(|name| name.to_owned()).unwrap_or_default();
        self.target = folder.join(name).display().to_string();
    }

    /// True while bytes are being written.
    pub fn is_running(&self) -> bool {
        matches!(self.stage, Stage::Running(_))
    }

    fn set_format(&mut self, format: Format) {
        if self.format == format {
            return;
        }
        self.format = format;
        let path = PathBuf::from(&self.target);
        let path = match format {
            Format::Zip => PathBuf::from(format!("{}.tacozip", self.target.trim_end_matches('/'))),
            _ if path.extension().is_some_and(|ending| ending == "tacozip") => path.with_extension(""),
            _ => path,
        };
        self.target = path.display().to_string();
    }

    fn options(&self) -> BuildOptions {
        let parquet = ParquetOptions { level: self.compression.trim().parse().ok(), ..ParquetOptions::default() };
        BuildOptions { target: intake::path_of(&self.target), format: self.format, parquet, overwrite: self.replace, parts: None }
    }

    /// Draws the dialog.
    pub fn ui(&mut self, ui: &mut Ui, cx: &mut Cx<'_>) -> Next {
        let width = (ui.ctx().content_rect().width() - 64.0).min(820.0);
        ui.set_width(width);
        ui.spacing_mut().item_spacing.y = 0.0;
        let title = cx.document().map(|document| document.title().into_owned()).unwrap_or_default();
        let close = head_ui(ui, icons::EXPORT, "Write dataset", &title) && !self.is_running();
        if let Stage::Done(built) = &self.stage {
            let built = built.clone();
            return done_ui(ui, &built, close);
        }
        let height = 380.0;
        ui.horizontal_top(|ui| {
            ui.spacing_mut().item_spacing.x = 0.0;
            let left = (width * 0.52).floor();
            ui.allocate_ui(vec2(left, height), |ui| {
                Frame::NONE.inner_margin(Margin::same(16)).show(ui, |ui| {
                    ui.set_width(left - 32.0);
                    ui.vertical(|ui| self.choices_ui(ui, cx));
                });
            });
            ui.allocate_ui(vec2(width - left, height), |ui| {
                let t = theme::tokens(ui);
                Frame::NONE.fill(t.bg2).inner_margin(Margin::same(16)).show(ui, |ui| {
                    ui.set_width(width - left - 32.0);
                    ui.set_min_height(height - 32.0);
                    ui.vertical(|ui| self.checks_ui(ui, cx));
                });
            });
        });
        self.buttons_ui(ui, cx, close)
    }

    fn choices_ui(&mut self, ui: &mut Ui, cx: &mut Cx<'_>) {
        ui.add_enabled_ui(!self.is_running(), |ui| {
            ui.spacing_mut().item_spacing = vec2(8.0, 8.0);
            ui.label(RichText::new("Container").font(font::semibold(12.0)));
            let choices = [
                (Format::Zip, "ZIP", ".tacozip", "One immutable archive, read by byte range.", icons::FILE_ZIP),
                (
                    Format::Folder,
                    "FOLDER",
                    "directory",
                    "Plain files, easy to look into. Best while you work.",
                    icons::FOLDER_SIMPLE,
                ),
            ];
            for (format, name, ending, what, icon) in choices {
                if card_ui(ui, self.format == format, name, ending, what, icon) {
                    self.set_format(format);
                }
            }
            ui.add_space(4.0);
            let there = intake::path_of(&self.target).exists();
            let note = match (there, self.replace) {
                (true, false) => Note::Warning("There is something at this path already.".into()),
                (true, true) => Note::Warning("What is there will be replaced once the new dataset is complete.".into()),
                _ => Note::None,
            };
            ui.horizontal_top(|ui| {
                ui.spacing_mut().item_spacing.x = 6.0;
                let width = ui.available_width() - 84.0;
                TextField::new("Destination", &mut self.target).mono().width(width).note(note).show(ui);
                ui.vertical(|ui| {
                    ui.add_space(21.0);
                    if ui.add(Button::secondary("Browse…").min_width(76.0)).clicked() {
                        cx.ask(Ask::Pick(Wish::Target));
                    }
                });
            });
            if there {
                widgets::checkbox(ui, &mut self.replace, "Replace what is there");
            }
            ui.horizontal(|ui| {
                let t = theme::tokens(ui);
                ui.label(RichText::new("Metadata compression, zstd level").text_style(text_style("small12")).color(t.tx2));
                let levels = ["1", "3", "9", "13", "19", "22"];
                if let Some(index) = widgets::combo(ui, "Compression level", &self.compression, 70.0, true, &levels) {
                    self.compression = levels[index].to_owned();
                }
            });
        });
    }

    fn checks_ui(&mut self, ui: &mut Ui, cx: &mut Cx<'_>) {
        let t = theme::tokens(ui);
        ui.spacing_mut().item_spacing = vec2(8.0, 8.0);
        let totals = cx.session.totals();
        ui.label(RichText::new("Estimate").font(font::semibold(12.0)));
        ui.horizontal(|ui| {
            ui.label(RichText::new(totals.bytes.map_or("…".to_owned(), paint::bytes)).font(font::semibold(20.0)));
            let samples = cx.document().map_or(0, |document| document.tree().total() as u64);
            let text = format!("of data in {} samples", paint::grouped(samples));
            ui.label(RichText::new(text).text_style(text_style("small12")).color(t.tx2));
        });
        ui.add_space(4.0);
        let marks = cx.session.marks.clone();
        ui.horizontal(|ui| {
            ui.label(RichText::new("Checks").font(font::semibold(12.0)));
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                for (number, word, tone, icon) in [
                    (marks.warnings, "warning", Tone::Warning, icons::WARNING),
                    (marks.errors, "error", Tone::Error, icons::WARNING_OCTAGON),
                ] {
                    if number > 0 {
                        let text = format!("{} {word}{}", paint::grouped(number), if number == 1 { "" } else { "s" });
                        widgets::badge(ui, tone, Some(icon), &text);
                    }
                }
                if marks.checked() && marks.errors == 0 {
                    widgets::badge(ui, Tone::Ok, Some(icons::CHECK), "Can be written");
                }
            });
        });
        let report = cx.studio.report().clone();
        let order = |finding: &&Finding| finding.severity != Severity::Error;
        let mut findings: Vec<&Finding> = report.findings.iter().collect();
        findings.sort_by_key(order);
        for finding in findings.iter().take(LISTED) {
            let text = format!("{}: {}", finding.at, finding.message);
            note_ui(ui, &if finding.severity == Severity::Error { Note::Error(text) } else { Note::Warning(text) });
        }
        if findings.len() > LISTED {
            let more = format!("{} more in Problems.", paint::grouped((findings.len() - LISTED) as u64));
            ui.label(RichText::new(more).text_style(text_style("small12")).color(t.tx2));
        }
        if findings.is_empty() && marks.checked() {
            ui.label(RichText::new("Every rule that was checked holds.").text_style(text_style("small12")).color(t.tx2));
        }
        self.stage_ui(ui, cx);
    }

    fn stage_ui(&self, ui: &mut Ui, cx: &mut Cx<'_>) {
        let t = theme::tokens(ui);
        match &self.stage {
            Stage::Running(id) => {
                let Some(job) = cx.studio.jobs().into_iter().find(|job| job.id == *id) else { return };
                ui.add_space(8.0);
                ui.label(RichText::new(&job.progress.stage.name).font(font::semibold(12.0)));
                let width = ui.available_width();
                match job.progress.fraction() {
                    Some(fraction) => drop(widgets::progress_bar(ui, "Writing", fraction, width, 8.0)),
                    None => drop(widgets::spinner(ui, 16.0)),
                }
                let text = RichText::new(detail(&job.progress, job.elapsed)).font(font::mono(11.0)).color(t.tx2);
                ui.add(egui::Label::new(text).wrap());
            }
            Stage::Failed(why) => note_ui(ui, &Note::Error(why.clone())),
            Stage::Cancelled => note_ui(ui, &Note::Info("Cancelled. Nothing was left at the destination.".into())),
            Stage::Choosing | Stage::Done(_) => {}
        }
    }

    fn buttons_ui(&mut self, ui: &mut Ui, cx: &mut Cx<'_>, close: bool) -> Next {
        if let Stage::Running(job) = self.stage {
            let cancelling = cx.studio.jobs().iter().any(|running| running.id == job && running.progress.cancelling);
            let reason = cancelling.then_some("Stopping at the next safe place");
            let cancel = foot_ui(ui, |ui| ui.add(Button::danger("Cancel writing").large().blocked(reason)).clicked());
            return if cancel { Next::Also(Ask::Run(Command::Cancel { job })) } else { Next::Stay };
        }
        let marks = cx.session.marks.clone();
        let there = intake::path_of(&self.target).exists();
        let blocked = match () {
            () if marks.errors > 0 => Some(format!("{} errors have to be fixed first", paint::grouped(marks.errors))),
            () if self.target.trim().is_empty() => Some("Type where to write".to_owned()),
            () if there && !self.replace => Some("There is something at the destination already".to_owned()),
            () if cx.document().is_none_or(|document| document.draft().is_none()) => Some("No draft is open".to_owned()),
            () => None,
        };
        let size = cx.session.totals().bytes.map(|bytes| format!(" {}", paint::bytes(bytes))).unwrap_or_default();
        let (write, cancel) = foot_ui(ui, |ui| {
            let button = Button::primary(format!("Write{size}")).large().name("Write now").blocked(blocked.clone());
            let write = ui.add(button).clicked();
            let cancel = ui.add(Button::ghost("Cancel").large()).clicked();
            if let Some(reason) = &blocked {
                let t = theme::tokens(ui);
                ui.label(RichText::new(reason).text_style(text_style("small12")).color(t.tx2));
            }
            (write, cancel)
        });
        match (write, cancel || close) {
            (true, _) => Next::Also(Ask::Run(Command::Write { options: self.options() })),
            (_, true) => Next::Close,
            _ => Next::Stay,
        }
    }
}

/// One container to choose. True when it was clicked.
fn card_ui(ui: &mut Ui, chosen: bool, name: &str, ending: &str, what: &str, icon: &str) -> bool {
    let t = theme::tokens(ui);
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 48.0), egui::Sense::click());
    let enabled = ui.is_enabled();
    response.widget_info(|| egui::WidgetInfo::selected(egui::Role::RadioButton, enabled, chosen, name));
    let (fill, border) = if chosen { (t.accbg, t.accfill) } else { (t.bg1, t.line2) };
    let painter = ui.painter();
    painter.rect(rect, 4, fill, Stroke::new(1.0, border), egui::StrokeKind::Inside);
    let dot = egui::pos2(rect.left() + 18.0, rect.top() + 17.0);
    if chosen {
        painter.circle_filled(dot, 7.0, t.accfill);
        painter.circle_filled(dot, 3.0, t.onacc);
    } else {
        painter.circle(dot, 6.5, t.input, Stroke::new(1.0, t.ctl));
    }
    let inner = egui::Rect::from_min_max(
        egui::pos2(rect.left() + 34.0, rect.top() + 6.0),
        egui::pos2(rect.right() - 12.0, rect.bottom() - 6.0),
    );
    let (upper, lower) = inner.split_top_bottom_at_fraction(0.5);
    let end = paint::text_left(painter, upper, name, font::medium(13.0), t.tx);
    paint::text_left(painter, upper.with_min_x(end + 8.0), ending, font::mono(11.0), t.tx2);
    paint::text_left(painter, lower, what, font::regular(12.0), t.tx2);
    paint::icon(painter, egui::pos2(rect.right() - 18.0, rect.top() + 17.0), icon, 17.0, t.tx2);
    paint::focus_ring(ui, &response, 4);
    response.clicked()
}

fn done_ui(ui: &mut Ui, built: &Built, close: bool) -> Next {
    let t = theme::tokens(ui);
    Frame::NONE.inner_margin(Margin::same(16)).show(ui, |ui| {
        ui.spacing_mut().item_spacing.y = 10.0;
        let card = Frame::NONE.fill(t.okbg).stroke(Stroke::new(1.0, t.okline)).corner_radius(4).inner_margin(Margin::same(12));
        card.show(ui, |ui| {
            ui.set_width(ui.available_width());
            ui.horizontal(|ui| {
                ui.label(RichText::new(icons::CHECK_CIRCLE).font(font::icon(18.0)).color(t.ok));
                ui.label(RichText::new("Written").font(font::semibold(15.0)).color(t.tx));
            });
            let (samples, files) = (paint::grouped(built.samples), paint::grouped(built.files));
            let text = format!("{} with {samples} samples and {files} files, {}.", built.format.badge(), paint::bytes(built.bytes));
            ui.label(RichText::new(text).text_style(text_style("small12")).color(t.tx2));
        });
        let path = RichText::new(intake::shown(&built.path)).font(font::mono(12.0));
        ui.add(egui::Label::new(path).selectable(true).wrap());
    });
    let (open, copy, done) = foot_ui(ui, |ui| {
        let done = ui.add(Button::primary("Done").large()).clicked();
        let open = ui.add(Button::secondary("Open dataset").icon(icons::EYE).large()).clicked();
        let copy = ui.add(Button::ghost("Copy path").icon(icons::COPY).large()).clicked();
        (open, copy, done)
    });
    match () {
        () if open => Next::Do(Ask::Run(Command::Open { path: built.path.clone() })),
        () if copy => Next::Also(Ask::Copy(built.path.display().to_string())),
        () if done || close => Next::Close,
        () => Next::Stay,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_destination_follows_the_container() {
        let mut dialog = WriteDialog::new("/data".into(), "peru-s2");
        assert_eq!(dialog.target, "/data/peru-s2.tacozip");
        dialog.set_format(Format::Folder);
        assert_eq!(dialog.options().target, PathBuf::from("/data/peru-s2"));
        dialog.set_format(Format::Zip);
        dialog.set_folder("/mnt/out".into());
        assert_eq!(dialog.options().target, PathBuf::from("/mnt/out/peru-s2.tacozip"));
        assert_eq!(dialog.options().format, Format::Zip);
    }
}
