//! The report of an operation: changes, remaining findings, and links to the output.

use std::path::PathBuf;

use super::bins::Bins;
use super::line::{ReportLine, line_ui};
use crate::container::Built;
use crate::digits::six_digits;
use crate::gui::dialogs::frame::{Next, foot_ui, footer_text_ui};
use crate::gui::dropped_paths::display_path;
use crate::gui::icons;
use crate::gui::panel_context::{PanelContext, Request};
use crate::gui::theme::{self, font};
use crate::gui::widgets::{self, Button, Tone, paint};
use crate::model::{Finding, is_remote};
use crate::ops::{
    AnyOutput, Edited, OperationOutput, Optimised, Percentiles, Repaired, Taco3Prepared,
};
use crate::studio::{Command, Event};
use egui::{Frame, Margin, ScrollArea, Ui, vec2};

/// Maximum number of shown lines; the copied report has all.
const SHOWN: usize = 300;
/// Most columns and other lines of a kind that a preparation for TACO 3 lists; report.json has all.
const PREPARED_SHOWN: usize = 40;

/// Result of an operation.
#[derive(Debug)]
pub struct OperationReport {
    /// True when there is no warning or error.
    sound: bool,
    title: String,
    lines: Vec<ReportLine>,
    /// Path of the output, if it can be opened.
    open: Option<PathBuf>,
    /// The report as text for other programs; empty for none.
    text: String,
    texts: ReportTexts,
    /// Drawn below the lines.
    page: Option<Box<dyn ReportPage>>,
}

/// Part of a report that is more than lines.
pub trait ReportPage: std::fmt::Debug {
    /// Draws the page; returns a request that closes the dialog.
    fn ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) -> Option<Request>;

    /// A sentence beside the buttons; empty for none.
    fn footer_note(&self) -> &'static str {
        ""
    }

    /// True when the page has no warning or error.
    fn is_sound(&self) -> bool {
        true
    }
}

/// Texts of a report.
#[derive(Debug)]
pub struct ReportTexts {
    /// Badge of a report without a warning or error.
    pub sound: &'static str,
    /// The button that opens the output.
    pub open: &'static str,
    /// The button that closes the dialog.
    pub close: &'static str,
    /// Accessible name of that button.
    pub close_name: &'static str,
    /// The button that returns to the form; `None` for none.
    pub again: Option<&'static str>,
}

impl Default for ReportTexts {
    fn default() -> Self {
        Self {
            sound: tr!("Done"),
            open: tr!("Open dataset"),
            close: tr!("Close"),
            close_name: tr!("Close the report"),
            again: None,
        }
    }
}

impl OperationReport {
    /// A report without remarks.
    fn new(title: String, lines: Vec<ReportLine>) -> Self {
        Self {
            sound: true,
            title,
            lines,
            open: None,
            text: String::new(),
            texts: ReportTexts::default(),
            page: None,
        }
    }

    /// A report without lines.
    pub fn with_page(title: String, page: Box<dyn ReportPage>, texts: ReportTexts) -> Self {
        Self {
            texts,
            page: Some(page),
            ..Self::new(title, Vec::new())
        }
    }

    /// Adds the output that can be opened, and the report as text for other programs.
    pub fn with_output(mut self, path: PathBuf, output: &dyn OperationOutput) -> Self {
        (self.open, self.text) = (Some(path), text_of(output));
        self
    }

    /// The report of an exported subset.
    pub fn of_export(built: &Built) -> Self {
        let line = format!(
            "{}, {}",
            count_samples(built),
            paint::format_bytes(built.bytes)
        );
        Self {
            open: Some(built.path.clone()),
            texts: ReportTexts {
                sound: tr!("Written"),
                close_name: tr!("Close the export"),
                ..ReportTexts::default()
            },
            ..Self::new(display_path(&built.path), vec![ReportLine::good(line)])
        }
    }

    /// Draws result, title, lines and page; returns a request that closes the dialog.
    pub fn ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) -> Option<Request> {
        let t = theme::tokens(ui);
        let sound = self.sound && self.page.as_ref().is_none_or(|page| page.is_sound());
        let mut leaving = None;
        let height = (ui.ctx().content_rect().height() - 220.0).clamp(120.0, 480.0);
        Frame::NONE.inner_margin(Margin::same(16)).show(ui, |ui| {
            ui.spacing_mut().item_spacing = vec2(8.0, 8.0);
            ui.horizontal(|ui| {
                let (tone, icon, word) = if sound {
                    (Tone::Ok, icons::CHECK, self.texts.sound)
                } else {
                    (Tone::Warning, icons::WARNING, tr!("Done, with remarks"))
                };
                widgets::badge(ui, tone, Some(icon), word);
                ui.add(
                    egui::Label::new(
                        theme::rich_text(&self.title)
                            .font(font::mono(12.0))
                            .color(t.tx),
                    )
                    .truncate(),
                );
            });
            ScrollArea::vertical()
                .id_salt("report")
                .max_height(height)
                .show(ui, |ui| {
                    ui.set_min_width(ui.available_width());
                    leaving = self.contents_ui(ui, cx);
                });
        });
        leaving
    }

    /// Draws lines and page; returns a request that closes the dialog.
    pub fn contents_ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) -> Option<Request> {
        ui.spacing_mut().item_spacing.y = 4.0;
        for (index, line) in self.lines.iter().take(SHOWN).enumerate() {
            ui.push_id(index, |ui| line_ui(ui, line));
        }
        let more = self.lines.len().saturating_sub(SHOWN);
        if more > 0 {
            line_ui(
                ui,
                &ReportLine::fact(tr_n!(
                    more,
                    "and {n} more line",
                    "and {n} more lines",
                    n = paint::format_grouped_number(more as u64)
                )),
            );
        }
        self.page.as_mut().and_then(|page| page.ui(ui, cx))
    }

    /// Draws the buttons; returns `None` to show the form again.
    pub fn buttons_ui(&self, ui: &mut Ui, close: bool) -> Option<Next> {
        let shown = self.open.as_ref().filter(|path| !is_remote(path));
        let mut show = false;
        let (open, leave, again, copy) = foot_ui(ui, |ui| {
            let open =
                self.open.is_some() && ui.add(Button::primary(self.texts.open).large()).clicked();
            let leave = if self.open.is_none() && self.texts.again.is_some() {
                Button::primary(self.texts.close)
            } else {
                Button::ghost(self.texts.close)
            };
            let leave = leave.large().name(self.texts.close_name);
            let leave = ui.add(leave).clicked();
            let again = self.texts.again;
            let again = again.is_some_and(|again| ui.add(Button::ghost(again).large()).clicked());
            let copy = !self.text.is_empty()
                && ui
                    .add(Button::ghost(tr!("Copy report")).large().icon(icons::COPY))
                    .clicked();
            if shown.is_some() {
                let button = Button::ghost(tr!("Show in folder")).large();
                show = ui.add(button.icon(icons::FOLDER_OPEN)).clicked();
            }
            let note = self.page.as_ref().map_or("", |page| page.footer_note());
            if !note.is_empty() {
                let t = theme::tokens(ui);
                footer_text_ui(ui, (icons::INFO, t.info), note, t.tx2);
            }
            (open, leave, again, copy)
        });
        Some(match (&self.open, open, copy) {
            _ if again => return None,
            (Some(path), ..) if show => Next::Also(Request::ShowInFolder(path.clone())),
            (Some(path), true, _) => Next::Do(Request::Run(Command::Open { path: path.clone() })),
            (_, _, true) => Next::Also(Request::Copy(self.text.clone())),
            _ if leave || close => Next::Close,
            _ => Next::Stay,
        })
    }
}

/// The report of an event that ends the job of an operation; `None` for others.
pub fn report_of(event: &Event) -> Option<OperationReport> {
    match event {
        Event::Written(built) => Some(report_dataset_output(built)),
        Event::Finished(output) => Some(report_of_output(output)),
        _ => None,
    }
}

fn report_of_output(output: &AnyOutput) -> OperationReport {
    match output {
        AnyOutput::Convert(built)
        | AnyOutput::Create(built)
        | AnyOutput::Export(built)
        | AnyOutput::Compile(built)
        | AnyOutput::Histograms(built)
        | AnyOutput::Consolidate(built) => report_dataset_output(built),
        AnyOutput::Repair(repaired) => report_repair(repaired),
        AnyOutput::Optimise(optimised) => report_optimisation(optimised),
        AnyOutput::EditDataset(edited) => report_edit(edited),
        AnyOutput::Percentiles(found) => report_percentiles(found),
        AnyOutput::PrepareTaco3(prepared) => report_preparation(prepared),
        AnyOutput::EditTortilla(edited) => OperationReport {
            open: Some(edited.path.clone()),
            text: edited.path.display().to_string(),
            ..OperationReport::new(
                display_path(&edited.path),
                vec![ReportLine::good(tr!(
                    "Footer and collection were written. Sample bytes are unchanged."
                ))],
            )
        },
        other => OperationReport {
            sound: other.is_sound(),
            text: text_of(other),
            ..OperationReport::new(String::new(), vec![ReportLine::good(other.summary())])
        },
    }
}

/// The output as text for other programs.
fn text_of(output: &dyn OperationOutput) -> String {
    serde_json::to_string_pretty(&output.to_json()).unwrap_or_default()
}

fn report_edit(edited: &Edited) -> OperationReport {
    let n = paint::format_grouped_number(edited.replaced as u64);
    let files = tr_n!(
        edited.replaced,
        "{n} file was replaced",
        "{n} files were replaced",
        n
    );
    let size = edited
        .written
        .map(|bytes| format!(", {}", paint::format_bytes(bytes)))
        .unwrap_or_default();
    OperationReport {
        open: Some(edited.path.clone()),
        text: text_of(edited),
        ..OperationReport::new(
            display_path(&edited.path),
            vec![ReportLine::good(format!("{files}{size}"))],
        )
    }
}

fn count_samples(built: &Built) -> String {
    tr_n!(
        built.samples,
        "{n} sample",
        "{n} samples",
        n = paint::format_grouped_number(built.samples)
    )
}

fn report_dataset_output(built: &Built) -> OperationReport {
    let samples = count_samples(built);
    let files = tr_n!(
        built.files,
        "{n} file",
        "{n} files",
        n = paint::format_grouped_number(built.files)
    );
    let mut lines = vec![ReportLine::good(format!(
        "{samples}, {files}, {}",
        paint::format_bytes(built.bytes)
    ))];
    lines.extend(
        built
            .parts
            .iter()
            .chain(&built.indexes)
            .map(|path| ReportLine::row(display_path(path))),
    );
    lines.extend(built.damaged.iter().map(|path| {
        ReportLine::warning(tr!("Damaged in the input, copied unchanged: {path}", path))
    }));
    let unlike = built.unlike_source.iter();
    lines.extend(
        unlike.map(|difference| {
            ReportLine::error(tr!("Not as its source: {difference}", difference))
        }),
    );
    OperationReport {
        sound: built.is_sound(),
        open: Some(built.path.clone()),
        text: text_of(built),
        ..OperationReport::new(display_path(&built.path), lines)
    }
}

fn report_repair(repaired: &Repaired) -> OperationReport {
    let (mended, left) = (repaired.mended.len(), repaired.left.len());
    let mut lines = vec![ReportLine::good(tr!(
        "{mended} repaired, {left} left",
        mended,
        left
    ))];
    lines.extend(repaired.left.iter().map(|finding| {
        ReportLine::warning(tr!("Left: {finding}", finding = describe_finding(finding)))
    }));
    lines.extend(repaired.mended.iter().map(|finding| {
        ReportLine::good(tr!(
            "Repaired: {finding}",
            finding = describe_finding(finding)
        ))
    }));
    lines.extend(
        repaired
            .built
            .damaged
            .iter()
            .map(|path| ReportLine::warning(tr!("No checksum is stated for {path}", path))),
    );
    OperationReport {
        sound: repaired.is_sound(),
        open: Some(repaired.built.path.clone()),
        text: text_of(repaired),
        ..OperationReport::new(display_path(&repaired.built.path), lines)
    }
}

fn describe_finding(finding: &Finding) -> String {
    format!(
        "{} {}: {}",
        finding.rule.code(),
        finding.at,
        finding.message
    )
}

fn report_optimisation(done: &Optimised) -> OperationReport {
    let (before, after) = done.bytes;
    let n = paint::format_grouped_number(done.written);
    let (before, after) = (paint::format_bytes(before), paint::format_bytes(after));
    let mut lines = vec![ReportLine::good(tr_n!(
        done.written,
        "{n} raster optimised: {before}, now {after}",
        "{n} rasters optimised: {before}, now {after}",
        n,
        before,
        after
    ))];
    let n = paint::format_grouped_number(done.already);
    lines.push(ReportLine::fact(tr_n!(
        done.already,
        "{n} raster was a TOG already",
        "{n} rasters were TOGs already",
        n
    )));
    if done.others > 0 {
        let n = paint::format_grouped_number(done.others);
        lines.push(ReportLine::fact(tr_n!(
            done.others,
            "{n} file is no raster and was copied",
            "{n} files are no rasters and were copied",
            n
        )));
    }
    for kept in &done.kept {
        let (path, reason) = (&kept.path, &kept.reason);
        lines.push(if kept.failed {
            ReportLine::error(tr!(
                "{path} could not be written and was copied: {reason}",
                path,
                reason
            ))
        } else {
            ReportLine::fact(tr!("{path} was copied: {reason}", path, reason))
        });
    }
    lines.extend(done.damaged.iter().map(|path| {
        ReportLine::warning(tr!("Damaged in the input, copied unchanged: {path}", path))
    }));
    OperationReport {
        sound: done.is_sound(),
        open: done.is_dataset.then(|| done.path.clone()),
        text: text_of(done),
        ..OperationReport::new(display_path(&done.path), lines)
    }
}

fn report_preparation(prepared: &Taco3Prepared) -> OperationReport {
    let mut lines = vec![match &prepared.library {
        Some(said) => ReportLine::good(said.trim().to_owned()),
        None => ReportLine::fact(tr!(
            "Run `python rebuild.py OUTPUT.zip` in the folder, where taco-eo[writer] is installed."
        )),
    }];
    lines.extend(describe_taco3(prepared));
    lines.extend(prepared.damaged.iter().map(|path| {
        ReportLine::warning(tr!("Damaged in the input, copied unchanged: {path}", path))
    }));
    let folder = prepared.folder.as_deref();
    let title = folder.map(display_path).unwrap_or_default();
    OperationReport {
        sound: prepared.is_sound(),
        open: prepared.output.clone(),
        text: text_of(prepared),
        ..OperationReport::new(title, lines)
    }
}

fn report_percentiles(found: &Percentiles) -> OperationReport {
    let heads: Vec<String> = found
        .percents
        .iter()
        .map(|percent| format!("p{percent}"))
        .collect();
    let mut lines = Vec::new();
    let mut csv = format!("sample,position,band,values,bin,{}\n", heads.join(","));
    for position in &found.positions {
        let sample = position.sample.as_deref().unwrap_or(tr!("all samples"));
        let place = if position.position.is_empty() {
            String::new()
        } else {
            format!(" / {}", position.position)
        };
        let n = paint::format_grouped_number(position.rasters);
        let rasters = tr_n!(position.rasters, "{n} raster", "{n} rasters", n);
        lines.push(ReportLine::fact(format!("{sample}{place}, {rasters}")));
        for band in &position.bands {
            let values = found
                .percents
                .iter()
                .zip(&band.values)
                .map(|(p, value)| format!("p{p} {}", six_digits(*value)));
            let values: Vec<String> = values.collect();
            let number = band.band;
            let values = match values.as_slice() {
                [] => tr!("no values").to_owned(),
                values => values.join("   "),
            };
            lines.push(ReportLine::row(tr!(
                "band {number}:  {values}   (± {bin})",
                number,
                values,
                bin = six_digits(band.bin)
            )));
            if let Some(histogram) = &band.histogram {
                lines.push(ReportLine::histogram(Bins {
                    histogram: histogram.clone(),
                    percentiles: band.values.clone(),
                }));
            }
            let cells: Vec<String> = band.values.iter().map(f64::to_string).collect();
            let id = position.sample.as_deref().unwrap_or("all");
            csv.push_str(&format!(
                "{id},{},{},{},{},{}\n",
                position.position,
                band.band,
                band.count,
                band.bin,
                cells.join(",")
            ));
        }
    }
    let title = tr_n!(
        found.positions.len(),
        "{n} position",
        "{n} positions",
        n = found.positions.len()
    );
    OperationReport {
        text: csv,
        ..OperationReport::new(title, lines)
    }
}

/// Lines about what was prepared for TACO 3, or would be.
pub fn describe_taco3(prepared: &Taco3Prepared) -> Vec<ReportLine> {
    let mut lines: Vec<ReportLine> = prepared
        .findings
        .iter()
        .map(|finding| {
            ReportLine::error(format!(
                "{} {}: {}",
                finding.rule.code(),
                finding.at,
                finding.message
            ))
        })
        .collect();
    if prepared.is_possible() {
        let n = paint::format_grouped_number(prepared.samples);
        let samples = tr_n!(prepared.samples, "{n} sample", "{n} samples", n);
        lines.push(ReportLine::fact(tr!(
            "{samples} of {paths}",
            samples,
            paths = prepared.structure.join(", ")
        )));
    }
    append_first_lines(
        &mut lines,
        prepared
            .left_out
            .iter()
            .map(|id| ReportLine::warning(tr!("{id} is left out: it lacks files", id)))
            .collect(),
    );
    append_first_lines(
        &mut lines,
        prepared
            .placeholders
            .iter()
            .map(|path| ReportLine::warning(tr!("{path} is a file of one byte", path)))
            .collect(),
    );
    let renamed = prepared.renamed.iter();
    append_first_lines(
        &mut lines,
        renamed
            .map(|member| {
                ReportLine::row(tr!(
                    "{level}: {from} becomes {to}",
                    level = member.level,
                    from = member.from,
                    to = member.to
                ))
            })
            .collect(),
    );
    let fields = prepared.fields.iter().map(|field| {
        let to = field.to.as_deref().unwrap_or("–");
        let line = format!("{}  {} → {to}  {}", field.level, field.from, field.note);
        if field.to.is_none() {
            ReportLine::warning(line)
        } else {
            ReportLine::row(line)
        }
    });
    append_first_lines(&mut lines, fields.collect());
    lines
}

/// Appends the first lines and the number of the others.
fn append_first_lines(lines: &mut Vec<ReportLine>, all: Vec<ReportLine>) {
    let more = all.len().saturating_sub(PREPARED_SHOWN);
    lines.extend(all.into_iter().take(PREPARED_SHOWN));
    if more > 0 {
        lines.push(ReportLine::fact(tr_n!(
            more,
            "and {n} more line",
            "and {n} more lines",
            n = paint::format_grouped_number(more as u64)
        )));
    }
}
