//! The estimate and the checks before a dataset is written. A check that blocks gives the reason
//! and a link; slow checks run in jobs.

use std::path::PathBuf;

use egui::{Rect, Role, Sense, Stroke, Ui, WidgetInfo, vec2};

use super::choices::{Choices, WriteContainer};
use crate::container::{
    Assembly, BuildOptions, PlannedPart, dataset_around, foreign_in, output_exists,
};
use crate::draft::Unplaced;
use crate::files::free_bytes;
use crate::gui::action::Action;
use crate::gui::dialogs::operation::checks::{check_ui, checks_heading_ui};
use crate::gui::document_key::DocumentKey;
use crate::gui::panel_context::{PanelContext, Request};
use crate::gui::panels::collection::has_places;
use crate::gui::sample_status::finding_sample;
use crate::gui::theme::{self, font};
use crate::gui::widgets::{self, Button, paint};
use crate::jobs::AsyncValue;
use crate::model::{Dataset, Finding, Location, Report, Rule, Sample, Severity, is_remote};
use crate::ops::publish::CheckLevel;
use crate::studio::{Document, OutdatedReport};
use crate::validate;

#[derive(Debug)]
pub struct CheckLine {
    /// `None` while pending.
    level: Option<CheckLevel>,
    title: String,
    detail: String,
    /// The finding that it links to.
    jump: Option<Finding>,
}

impl CheckLine {
    pub fn new(level: CheckLevel, title: impl Into<String>, detail: impl Into<String>) -> Self {
        Self {
            level: Some(level),
            title: title.into(),
            detail: detail.into(),
            jump: None,
        }
    }

    pub fn waiting(title: &str) -> Self {
        Self {
            level: None,
            title: title.into(),
            detail: String::new(),
            jump: None,
        }
    }

    /// True when it prevents writing, also while it is pending.
    fn is_blocking(&self) -> bool {
        self.level.is_none_or(|level| level == CheckLevel::Blocks)
    }

    /// The reason shown in the footer of the dialog.
    fn reason(&self) -> String {
        match self.level {
            None => tr!("still looking").into(),
            Some(_) => self.title.clone(),
        }
    }
}

/// Says what prevents writing; `None` for nothing.
pub fn describe_blocking(lines: &[CheckLine]) -> Option<String> {
    let blocking: Vec<&CheckLine> = lines.iter().filter(|line| line.is_blocking()).collect();
    match blocking.as_slice() {
        [] => None,
        [one] => Some(tr!(
            "1 check blocks writing: {reason}",
            reason = one.reason()
        )),
        [first, ..] => Some(tr!(
            "{n} checks block writing. First: {reason}",
            n = blocking.len(),
            reason = first.reason()
        )),
    }
}

/// Why a destination is refused.
#[derive(Clone, Debug)]
enum Refused {
    /// Its parent is a file.
    InFile(PathBuf),
    /// Its parent is not writable.
    ReadOnly(PathBuf),
    /// The path is relative.
    Relative,
    /// A folder exists where a ZIP is to be written.
    Folder,
    /// A file exists where a FOLDER is to be written.
    File,
    /// The folder contains this entry, which is not part of a dataset.
    Foreign(String),
    /// The store of the address refuses it; the reason.
    Store(String),
}

impl Refused {
    fn text(&self) -> String {
        match self {
            Refused::InFile(path) => tr!("{path} is a file, not a folder.", path = path.display()),
            Refused::ReadOnly(path) => tr!("{path} can't be written to.", path = path.display()),
            Refused::Relative => tr!("Give the whole path.").to_owned(),
            Refused::Folder => tr!("This is a folder; a ZIP needs the name of a file.").to_owned(),
            Refused::File => tr!("This is a file; a FOLDER needs the name of a folder.").to_owned(),
            Refused::Foreign(name) => tr!(
                "The folder holds {name}, which is no part of a dataset. Choose another name, or \
                    empty the folder yourself.",
                name
            ),
            Refused::Store(reason) => reason.clone(),
        }
    }
}

/// State of a destination on disk.
#[derive(Clone, Debug, Default)]
struct Disk {
    there: bool,
    /// Why it is refused.
    refused: Option<Refused>,
    /// The dataset that contains it.
    inside: Option<std::path::PathBuf>,
    free: Option<u64>,
}

/// Says how many files of the tray are not written; nothing for an empty tray.
fn unplaced_line(tray: &[Unplaced]) -> Option<CheckLine> {
    let count = tray.len();
    if count == 0 {
        return None;
    }
    let n = paint::format_grouped_number(count as u64);
    let title = tr_n!(
        count,
        "{n} unplaced file is not written",
        "{n} unplaced files are not written",
        n
    );
    let mut names: Vec<String> = tray.iter().take(3).map(file_name).collect();
    names.extend((count > names.len()).then(|| "…".to_owned()));
    let detail = tr!(
        "{names}: give them a place in the hierarchy, or leave them out.",
        names = names.join(", ")
    );
    Some(CheckLine::new(CheckLevel::Warning, title, detail))
}

fn file_name(file: &Unplaced) -> String {
    file.path
        .file_name()
        .unwrap_or(file.path.as_os_str())
        .to_string_lossy()
        .into_owned()
}

#[derive(Debug, Default)]
pub struct Checks {
    sources: AsyncValue<DocumentKey, Report>,
    disk: AsyncValue<(String, WriteContainer), Disk>,
    parts: AsyncValue<(DocumentKey, String), Vec<PlannedPart>>,
    sizes: AsyncValue<DocumentKey, Vec<(String, u64)>>,
    /// Key of the newest request for parts.
    parts_wanted: Option<(DocumentKey, String)>,
    disk_wanted: Option<(String, WriteContainer)>,
    key: DocumentKey,
}

impl Checks {
    /// Looks at the destination again: something was written there.
    pub fn look_again(&mut self) {
        self.disk = AsyncValue::default();
    }

    /// Requests missing values.
    pub fn refresh(
        &mut self,
        cx: &PanelContext<'_>,
        choices: &Choices,
        options: Option<&BuildOptions>,
    ) {
        let Some(draft) = cx.document().and_then(Document::draft) else {
            return;
        };
        self.key = cx.document_key();
        let (dataset, headers) = (draft.dataset().clone(), cx.studio.source_headers());
        self.sources
            .update(cx.jobs, self.key, tr!("Read the sources"), move |ctx| {
                validate::sources(&dataset, &headers, ctx)
            });
        let dataset = draft.dataset().clone();
        let words = [tr!("padding"), tr!("roots"), tr!("others")];
        self.sizes
            .update(cx.jobs, self.key, tr!("Sizes"), move |_| {
                Ok(sizes_of(&dataset, words))
            });
        let wanted = (choices.output.text.trim().to_owned(), choices.container);
        self.disk_wanted = Some(wanted.clone());
        let path = crate::gui::dropped_paths::parse_path(&wanted.0);
        let container = wanted.1;
        self.disk
            .update(cx.jobs, wanted, tr!("Check the destination"), move |_| {
                Ok(disk_of(&path, container))
            });
        self.parts_wanted = None;
        if let Some(options) = options
            && let Some(parts) = options.parts.clone()
        {
            let wanted = (self.key, serde_json::to_string(options).unwrap_or_default());
            self.parts_wanted = Some(wanted.clone());
            let (dataset, target, format) = (
                draft.dataset().clone(),
                options.target.clone(),
                options.format,
            );
            self.parts
                .update(cx.jobs, wanted, tr!("Plan the parts"), move |ctx| {
                    parts.plan(&Assembly::of_dataset(&dataset, ctx)?, &target, format, ctx)
                });
        }
    }

    fn disk_now(&self) -> Option<&Disk> {
        self.disk.get(self.disk_wanted.as_ref()?)?.as_ref().ok()
    }

    /// True when the destination exists.
    pub fn is_there(&self) -> bool {
        self.disk_now().is_some_and(|disk| disk.there)
    }

    pub fn planned_parts(&self) -> Option<&Vec<PlannedPart>> {
        self.parts.get(self.parts_wanted.as_ref()?)?.as_ref().ok()
    }

    /// Number of parts.
    pub fn part_count(&self) -> Option<usize> {
        self.planned_parts().map(Vec::len)
    }

    /// Every check, in the order of the dialog.
    pub fn lines(
        &self,
        cx: &PanelContext<'_>,
        choices: &Choices,
        wrong: Option<&str>,
    ) -> Vec<CheckLine> {
        let mut lines = Vec::new();
        if let Some(wrong) = wrong {
            lines.push(CheckLine::new(CheckLevel::Blocks, wrong, ""));
        }
        let Some(document) = cx.document().filter(|document| document.draft().is_some()) else {
            lines.push(CheckLine::new(
                CheckLevel::Blocks,
                tr!("No draft is open"),
                "",
            ));
            return lines;
        };
        let report = cx.studio.report().clone();
        if let Some(OutdatedReport::Failed(error)) = cx.studio.find_report_delay() {
            // Writing makes a check of its own.
            lines.push(CheckLine::new(
                CheckLevel::Warning,
                tr!("The check of the draft failed. Check it again (F7)"),
                error.sentence(),
            ));
        } else if cx.studio.is_checking() || !cx.session.status.samples.has_check_result() {
            lines.push(CheckLine::waiting(tr!("The draft is being checked")));
        }
        let roots = document.rows(0);
        let shape = tr_n!(
            roots,
            "PIT-1: {roots} root has one shape",
            "PIT-1: {roots} roots share one shape",
            roots = paint::format_grouped_number(roots as u64)
        );
        let padded = cx.session.totals().padded;
        let fields: Vec<String> = (0..document.tree().levels.len())
            .map(|n| format!("L{n} {}", document.fields(n).len()))
            .collect();
        let groups: [(&str, String, String); 4] = [
            (
                "PIT-2",
                tr!("PIT-2: one schema per level").into(),
                tr!("{fields} fields", fields = fields.join(", ")),
            ),
            (
                "PIT",
                shape,
                tr_n!(
                    padded,
                    "{n} padded sample",
                    "{n} padded samples",
                    n = paint::format_grouped_number(padded)
                ),
            ),
            (
                "ID",
                tr!("Ids are valid and unique among siblings").into(),
                String::new(),
            ),
            (
                "COL",
                tr!("COLLECTION: every required field").into(),
                String::new(),
            ),
        ];
        let mut rest: Vec<&Finding> = report
            .findings
            .iter()
            .filter(|finding| !is_of_source(finding))
            .collect();
        for (code, title, detail) in groups {
            let (own, others): (Vec<&Finding>, Vec<&Finding>) = rest
                .into_iter()
                .partition(|f| f.rule.code().starts_with(code));
            rest = others;
            lines.push(group_line(title, detail, &own));
        }
        if !rest.is_empty() {
            lines.push(group_line(
                tr!("Every other rule").into(),
                String::new(),
                &rest,
            ));
        }
        lines.extend(self.sources_lines());
        lines.extend(self.disk_lines(cx, choices));
        if let Some(Err(error)) = self
            .parts_wanted
            .as_ref()
            .and_then(|wanted| self.parts.get(wanted))
        {
            lines.push(CheckLine::new(
                CheckLevel::Blocks,
                error.to_string(),
                error.hints().join("; "),
            ));
        }
        if padded > 0 {
            let detail = tr!("Readers hide ids that begin with __TACOPAD__.");
            let n = paint::format_grouped_number(padded);
            let title = tr_n!(
                padded,
                "{n} padded sample holds no pixels",
                "{n} padded samples hold no pixels",
                n
            );
            lines.push(CheckLine::new(CheckLevel::Warning, title, detail));
        }
        lines.extend(
            document
                .draft()
                .and_then(|draft| unplaced_line(draft.tray())),
        );
        if document.collection().get("extent").is_none() {
            let (title, detail) = if has_places(document) {
                (
                    tr!("The extent is computed when it is written"),
                    tr!("From the places and times of the samples, where they have any."),
                )
            } else {
                (
                    tr!("No sample has a place: the extent will be the whole globe"),
                    tr!(
                        "That is the default. The stac extension finds places; the form of the \
                            collection takes an extent."
                    ),
                )
            };
            lines.push(CheckLine::new(CheckLevel::Warning, title, detail));
        }
        lines
    }

    fn sources_lines(&self) -> Vec<CheckLine> {
        let report = match self.sources.get(&self.key) {
            None => return vec![CheckLine::waiting(tr!("Source files are being looked at"))],
            Some(Err(error)) => {
                return vec![CheckLine::new(CheckLevel::Blocks, error.to_string(), "")];
            }
            Some(Ok(report)) => report,
        };
        let lines = [
            summarize_rule(
                report,
                Rule::SourceMissing,
                CheckLevel::Blocks,
                |count, n| {
                    tr_n!(
                        count,
                        "{n} source file can't be read",
                        "{n} source files can't be read",
                        n
                    )
                },
            ),
            summarize_rule(report, Rule::RasterRead, CheckLevel::Warning, |count, n| {
                tr_n!(
                    count,
                    "{n} raster can't be opened",
                    "{n} rasters can't be opened",
                    n
                )
            }),
            summarize_rule(
                report,
                Rule::FileNeedsOthers,
                CheckLevel::Blocks,
                |count, n| {
                    tr_n!(
                        count,
                        "{n} raster or table has parts in other files",
                        "{n} rasters or tables have parts in other files",
                        n
                    )
                },
            ),
            summarize_rule(
                report,
                Rule::SidecarLeft,
                CheckLevel::Warning,
                |count, n| {
                    tr_n!(
                        count,
                        "{n} raster leaves a mask or georeference behind in a sidecar",
                        "{n} rasters leave masks or georeferences behind in sidecars",
                        n
                    )
                },
            ),
        ];
        let mut lines: Vec<CheckLine> = lines.into_iter().flatten().collect();
        let others: Vec<&Finding> = report
            .findings
            .iter()
            .filter(|finding| !is_of_source(finding))
            .collect();
        if !others.is_empty() {
            lines.push(group_line(
                tr!("Source files").into(),
                String::new(),
                &others,
            ));
        }
        if lines.is_empty() {
            lines.push(CheckLine::new(
                CheckLevel::Pass,
                tr!("All source files can be read, and all rasters opened"),
                "",
            ));
        }
        lines
    }

    fn disk_lines(&self, cx: &PanelContext<'_>, choices: &Choices) -> Vec<CheckLine> {
        if choices.output.text.trim().is_empty() {
            return vec![CheckLine::new(
                CheckLevel::Blocks,
                tr!("Type where to write"),
                "",
            )];
        }
        let Some(disk) = self.disk_now() else {
            return vec![CheckLine::waiting(tr!(
                "The destination is being looked at"
            ))];
        };
        let mut lines = Vec::new();
        match (&disk.refused, disk.there, choices.output.replace) {
            (Some(why), ..) => lines.push(CheckLine::new(
                CheckLevel::Blocks,
                tr!("Nothing can be written at the destination"),
                why.text(),
            )),
            (None, true, false) => {
                lines.push(CheckLine::new(
                    CheckLevel::Blocks,
                    tr!("The destination exists already"),
                    tr!("Choose another name, or replace it."),
                ));
            }
            (None, true, true) => lines.push(CheckLine::new(
                CheckLevel::Warning,
                tr!("What is at the destination will be replaced"),
                "",
            )),
            (None, false, _) => lines.push(CheckLine::new(
                CheckLevel::Pass,
                tr!("The destination is writable and empty"),
                "",
            )),
        }
        if let Some(dataset) = &disk.inside {
            let title = tr!("The destination is inside another dataset");
            let detail = tr!(
                "{path}: its readers would take the new one for a part of it.",
                path = dataset.display()
            );
            lines.push(CheckLine::new(CheckLevel::Warning, title, detail));
        }
        if let (Some(free), Some(needed)) = (disk.free, cx.session.totals().bytes) {
            let text = tr!(
                "Free space {free}, needs {needed}",
                free = paint::format_bytes(free),
                needed = paint::format_bytes(needed)
            );
            // Margin for tables and archive records.
            let enough = free > needed + needed / 50;
            lines.push(CheckLine::new(
                if enough {
                    CheckLevel::Pass
                } else {
                    CheckLevel::Blocks
                },
                text,
                "",
            ));
        }
        lines
    }

    /// Draws the column; returns a request that closes the dialog.
    pub fn ui(
        &self,
        ui: &mut Ui,
        cx: &mut PanelContext<'_>,
        lines: &[CheckLine],
    ) -> Option<Request> {
        self.estimate_ui(ui, cx);
        let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), 9.0), Sense::hover());
        ui.painter().hline(
            rect.x_range(),
            rect.center().y,
            Stroke::new(1.0, theme::tokens(ui).line2),
        );
        checks_heading_ui(ui, lines.iter().filter_map(|line| line.level));
        let mut clicked = None;
        for line in lines {
            clicked = line_ui(ui, line).or(clicked);
        }
        let finding = clicked?;
        if is_of_sidecars(finding) {
            return Some(Request::Do(Action::Sidecars));
        }
        // The problem list contains the findings about sources.
        let list = Request::Do(if is_of_source(finding) {
            Action::Validate
        } else {
            Action::ShowProblems
        });
        // The request to leave comes last, so that its panel is in front.
        if let Location::Collection(field) = &finding.at {
            cx.request(list);
            Some(Request::CollectionField(field.clone()))
        } else {
            if let Some(at) = finding_sample(finding) {
                cx.request(Request::Select(Some(at)));
            }
            Some(list)
        }
    }

    fn estimate_ui(&self, ui: &mut Ui, cx: &PanelContext<'_>) {
        let t = theme::tokens(ui);
        ui.horizontal(|ui| {
            widgets::heading(ui, tr!("Estimate"));
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                ui.label(
                    theme::rich_text(tr!("before writing"))
                        .font(font::regular(11.0))
                        .color(t.tx3),
                );
            });
        });
        ui.horizontal(|ui| {
            let bytes = cx.session.totals().bytes;
            ui.label(
                theme::rich_text(bytes.map_or("…".to_owned(), paint::format_bytes))
                    .font(font::semibold(20.0)),
            );
            let samples = cx
                .document()
                .map_or(0, |document| document.tree().total() as u64);
            let n = paint::format_grouped_number(samples);
            let text = match self
                .disk_now()
                .and_then(|disk| disk.free)
                .map(paint::format_bytes)
            {
                Some(free) => tr_n!(
                    samples,
                    "in {n} sample, {free} free",
                    "in {n} samples, {free} free",
                    n,
                    free
                ),
                None => tr_n!(samples, "in {n} sample", "in {n} samples", n),
            };
            ui.add(egui::Label::new(theme::style_small_text(text, t.tx2)).truncate());
        });
        let Some(Ok(sizes)) = self.sizes.get(&self.key) else {
            return;
        };
        let total: u64 = sizes.iter().map(|(_, size)| size).sum();
        if total == 0 {
            return;
        }
        let colors = [t.tx2, t.tx3, t.ctl, t.line2, t.accfill];
        let (bar, response) =
            ui.allocate_exact_size(vec2(ui.available_width(), 10.0), Sense::hover());
        response.widget_info(|| WidgetInfo::labeled(Role::Image, true, tr!("Shares of the bytes")));
        let mut left = bar.left();
        for (index, (_, size)) in sizes.iter().enumerate() {
            let width = bar.width() * (*size as f64 / total as f64) as f32;
            let piece = Rect::from_x_y_ranges(left..=(left + width - 1.0).max(left), bar.y_range());
            ui.painter()
                .rect_filled(piece, 1, colors[index.min(colors.len() - 1)]);
            left += width;
        }
        for (index, (name, size)) in sizes.iter().enumerate() {
            let (row, _) = ui.allocate_exact_size(vec2(ui.available_width(), 15.0), Sense::hover());
            let square = Rect::from_min_size(row.min + vec2(0.0, 3.0), vec2(8.0, 8.0));
            ui.painter()
                .rect_filled(square, 1, colors[index.min(colors.len() - 1)]);
            paint::text_left(
                ui.painter(),
                row.with_min_x(row.left() + 14.0),
                name,
                font::mono(11.5),
                t.tx2,
            );
            paint::text_right(
                ui.painter(),
                row,
                &paint::format_bytes(*size),
                font::mono(11.5),
                t.tx,
            );
        }
    }
}

/// A line about all findings of `rule`; `title` takes their number and its text.
fn summarize_rule(
    report: &Report,
    rule: Rule,
    level: CheckLevel,
    title: impl FnOnce(usize, String) -> String,
) -> Option<CheckLine> {
    let own: Vec<&Finding> = report
        .findings
        .iter()
        .filter(|finding| finding.rule == rule)
        .collect();
    let count = report.count(rule);
    let first = own.first().map(|finding| (*finding).clone())?;
    let places: Vec<String> = own
        .iter()
        .take(3)
        .map(|finding| finding.at.to_string())
        .collect();
    let mut line = CheckLine::new(
        level,
        title(count, paint::format_grouped_number(count as u64)),
        places.join(", "),
    );
    line.jump = Some(first);
    Some(line)
}

/// True for findings about the files behind samples, which the live check does not have.
fn is_of_source(finding: &Finding) -> bool {
    matches!(finding.rule, Rule::SourceMissing | Rule::RasterRead) || is_of_sidecars(finding)
}

/// True for findings that the tool for sidecars resolves.
fn is_of_sidecars(finding: &Finding) -> bool {
    matches!(finding.rule, Rule::SidecarLeft | Rule::FileNeedsOthers)
}

fn group_line(title: String, detail: String, findings: &[&Finding]) -> CheckLine {
    let errors: Vec<&&Finding> = findings
        .iter()
        .filter(|finding| finding.severity == Severity::Error)
        .collect();
    let worst = errors
        .first()
        .map(|finding| **finding)
        .or(findings.first().copied());
    let Some(worst) = worst else {
        return CheckLine::new(CheckLevel::Pass, title, detail);
    };
    let number = if errors.is_empty() {
        findings.len()
    } else {
        errors.len()
    };
    let more = match number {
        0 | 1 => String::new(),
        _ => format!(
            " {}",
            tr!(
                "(and {n} more)",
                n = paint::format_grouped_number(number as u64 - 1)
            )
        ),
    };
    let level = if errors.is_empty() {
        CheckLevel::Warning
    } else {
        CheckLevel::Blocks
    };
    let mut line = CheckLine::new(
        level,
        format!("{}: {}{more}", worst.rule, worst.message),
        worst.at.to_string(),
    );
    line.jump = Some(worst.clone());
    line
}

/// Draws a check; returns the finding when its link was clicked.
fn line_ui<'a>(ui: &mut Ui, line: &'a CheckLine) -> Option<&'a Finding> {
    let mut clicked = None;
    check_ui(ui, line.level, &line.title, |ui| {
        if !line.detail.is_empty() {
            let detail = theme::rich_text(&line.detail)
                .font(font::regular(11.5))
                .color(theme::tokens(ui).tx2);
            ui.add(egui::Label::new(detail).wrap());
        }
        let Some(finding) = &line.jump else { return };
        let show = Button::secondary(tr!("Show")).name(tr!("Show {place}", place = finding.at));
        let is_bad = line.level == Some(CheckLevel::Blocks);
        let sidecars = Button::secondary(tr!("Pack, burn in or leave…"));
        if is_bad && ui.add(show).clicked() || is_of_sidecars(finding) && ui.add(sidecars).clicked()
        {
            clicked = Some(finding);
        }
    });
    clicked
}

/// Bytes of data by position of level 1, largest first, small ones merged; `words` label padding,
/// roots and others.
fn sizes_of(dataset: &Dataset, [padding, roots, others]: [&str; 3]) -> Vec<(String, u64)> {
    let mut sizes: std::collections::HashMap<&str, u64> = std::collections::HashMap::new();
    for root in &dataset.root.samples {
        match root.children() {
            Some(children) => {
                for child in &children.samples {
                    let name = if child.is_padding() {
                        padding
                    } else {
                        &*child.id
                    };
                    *sizes.entry(name).or_default() += child.size_bytes();
                }
            }
            None => *sizes.entry(roots).or_default() += Sample::size_bytes(root),
        }
    }
    let mut sizes: Vec<(String, u64)> = sizes
        .into_iter()
        .filter(|(_, size)| *size > 0)
        .map(|(name, size)| (name.to_owned(), size))
        .collect();
    sizes.sort_by_key(|(name, size)| (std::cmp::Reverse(*size), name.clone()));
    if sizes.len() > 4 {
        let rest: u64 = sizes.drain(3..).map(|(_, size)| size).sum();
        sizes.push((others.into(), rest));
    }
    sizes
}

fn disk_of(path: &std::path::Path, container: WriteContainer) -> Disk {
    if is_remote(path) {
        return match output_exists(path) {
            Ok(there) => Disk {
                there,
                ..Disk::default()
            },
            Err(error) => Disk {
                refused: Some(Refused::Store(error.report())),
                ..Disk::default()
            },
        };
    }
    let there = match std::fs::read_dir(path) {
        Ok(mut entries) => entries.next().is_some(),
        Err(_) => path.symlink_metadata().is_ok(),
    };
    let refused = match path.ancestors().skip(1).find(|above| above.exists()) {
        Some(above) if !above.is_dir() => Some(Refused::InFile(above.to_owned())),
        Some(above) if std::fs::metadata(above).is_ok_and(|meta| meta.permissions().readonly()) => {
            Some(Refused::ReadOnly(above.to_owned()))
        }
        None if path.is_relative() => Some(Refused::Relative),
        // Refused by the writer, even with replace.
        _ => match container {
            WriteContainer::Zip if path.is_dir() => Some(Refused::Folder),
            WriteContainer::Folder if path.is_file() => Some(Refused::File),
            WriteContainer::Folder => foreign_in(path).ok().flatten().map(Refused::Foreign),
            _ => None,
        },
    };
    // The files to be replaced are already at their final path.
    let inside = if there { None } else { dataset_around(path) };
    Disk {
        there,
        refused,
        inside,
        free: free_bytes(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Tortilla;

    #[test]
    fn bytes_are_summed_by_position() {
        let scene = |id: &str| {
            let parts = [
                ("s2", 700),
                ("s1", 200),
                ("dem", 50),
                ("label", 5),
                ("mask", 1),
            ];
            Sample::new_folder(
                id,
                Tortilla::new(
                    parts
                        .map(|(id, size)| Sample::new_file(id, "/x", size))
                        .to_vec(),
                ),
            )
        };
        let data = Dataset {
            root: Tortilla::new(vec![scene("a"), scene("b")]).into(),
            ..Dataset::default()
        };
        let sizes = sizes_of(&data, ["padding", "roots", "others"]);
        assert_eq!(sizes[0], ("s2".into(), 1400));
        assert_eq!(sizes[3], ("others".into(), 12));
    }

    #[test]
    fn a_destination_says_what_is_wrong_with_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let disk = |path: &std::path::Path| disk_of(path, WriteContainer::Folder);
        assert!(!disk(&folder.path().join("new.tacozip")).there);
        assert!(
            !disk(folder.path()).there && disk(folder.path()).refused.is_none(),
            "an empty folder is no obstacle"
        );
        assert!(matches!(
            disk_of(folder.path(), WriteContainer::Zip).refused,
            Some(Refused::Folder)
        ));
        // An address without a protocol for writing: the reason is said before anything is written.
        let text = disk(std::path::Path::new("https://example.org/set"))
            .refused
            .expect("is refused")
            .text();
        assert!(text.contains("s3://"), "{text}");
        let file = folder.path().join("file");
        std::fs::write(&file, "x").expect("writes");
        assert!(disk(&file).there && disk(folder.path()).there);
        assert!(matches!(disk(&file).refused, Some(Refused::File)));
        assert!(disk(&file.join("below.tacozip")).refused.is_some());
        // A foreign folder is not replaced; the check names an entry of it.
        let text = disk(folder.path()).refused.expect("is refused").text();
        assert!(text.contains("file"), "{text}");
        assert!(
            matches!(disk(folder.path()).refused, Some(Refused::Foreign(name)) if name == "file")
        );
        std::fs::rename(&file, folder.path().join("COLLECTION.json")).expect("renames");
        assert!(
            disk(folder.path()).there && disk(folder.path()).refused.is_none(),
            "a dataset may make way"
        );
    }
}
