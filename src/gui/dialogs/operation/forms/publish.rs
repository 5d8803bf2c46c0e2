//! Form of Publish: target, checks, files and cost; then the result with code that reads it.

use std::borrow::Cow;
use std::path::PathBuf;

use egui::Ui;

use crate::container::OpenOptions;
use crate::gui::dialogs::operation::checks::{check_ui, checks_heading_ui};
use crate::gui::dialogs::operation::fields::{self, OperationFields};
use crate::gui::dialogs::operation::form::{
    ButtonTexts, OperationEnd, OperationForm, OperationStart, OperationTexts, PreviewWork,
};
use crate::gui::dialogs::operation::line::ReportLine;
use crate::gui::dialogs::operation::preview::OperationPreview;
use crate::gui::dialogs::operation::report::{OperationReport, ReportPage, ReportTexts};
use crate::gui::panel_context::{PanelContext, Request};
use crate::gui::theme::{self, font};
use crate::gui::widgets::{self, Button, FieldNote, Segment, TextField, note_ui, paint};
use crate::gui::{dropped_paths, icons};
use crate::jobs::AsyncValue;
use crate::model::is_remote;
use crate::ops::AnyOutput;
use crate::ops::publish::{
    CheckKind, CheckLevel, Mend, Preflight, Prices, PublishCheck, PublishLayout, PublishRequest,
    Published, preflight,
};
use crate::studio::{Command, Event};

/// Width of the dialog in points.
const WIDTH: f32 = 860.0;

/// Target, prices and checks.
#[derive(Debug)]
pub struct PublishForm {
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
    /// Checks that blocked the job.
    refused: Option<Preflight>,
    /// Prices of the settings.
    prices: Prices,
}

impl PublishForm {
    /// Publishes the input, with the prices of the settings; `None` without an input.
    pub fn new(start: &OperationStart) -> Option<Self> {
        let prices = start.prices.clone();
        Some(Self {
            input: start.input.clone()?,
            open: start.open.clone(),
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
            refused: None,
            prices,
        })
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

    /// Starts the checks of the current input.
    fn ask_checks(&mut self) {
        self.asked = Some(self.request());
        self.times += 1;
        self.refused = None;
    }

    /// Result of the checks for the current input; `None` until they have ended.
    fn find_current(&self) -> Option<&Preflight> {
        if self.asked.as_ref() != Some(&self.request()) {
            return None;
        }
        let checked = self
            .checked
            .get(&self.times)
            .and_then(|found| found.as_ref().ok());
        self.refused.as_ref().or(checked)
    }

    /// Draws target and prices; true when checks were asked for.
    fn target_ui(&mut self, ui: &mut Ui) -> bool {
        let mut outdates_note = false;
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
            self.ask_checks();
            outdates_note = true;
        }
        outdates_note
    }

    /// Why the input is incomplete; `None` when it is complete.
    fn incomplete(&self) -> Option<&'static str> {
        if self.target.trim().is_empty() {
            Some(tr!("Type where to publish"))
        } else {
            None
        }
    }

    /// Draws the checks. A link closes the dialog and opens the panel in which a finding is
    /// corrected.
    fn preflight_ui(
        &mut self,
        ui: &mut Ui,
        fields: &mut OperationFields<'_>,
        cx: &mut PanelContext<'_>,
    ) {
        let t = theme::tokens(ui);
        let found = self.find_current().cloned();
        let checks = found.iter().flat_map(|found| &found.checks);
        checks_heading_ui(ui, checks.map(|check| check.level));
        if let Some(Err(error)) = self.checked.get(&self.times) {
            note_ui(ui, &FieldNote::Error(error.report()));
            return;
        }
        let Some(found) = found else {
            let waits = self.asked.as_ref() == Some(&self.request())
                && self.checked.get(&self.times).is_none();
            if waits {
                drop(widgets::spinner(ui, 16.0))
            } else {
                drop(ui.label(theme::style_small_text(tr!("Not checked yet"), t.tx3)))
            }
            return;
        };
        let mut group = None;
        for check in &found.checks {
            if group.replace(check.kind.group()) != Some(check.kind.group()) {
                ui.label(
                    theme::rich_text(check.kind.group().title())
                        .font(font::semibold(11.0))
                        .color(t.tx3),
                );
            }
            self.publish_check_ui(ui, fields, cx, check);
        }
        if let Some(line) = self.request().command_line() {
            widgets::heading(ui, tr!("The same from the command line"));
            widgets::code_ui(ui, &line);
            let copy = Button::secondary(tr!("Copy command")).icon(icons::COPY);
            if ui.add(copy).clicked() {
                cx.request(Request::Copy(line));
            }
        }
    }

    fn publish_check_ui(
        &mut self,
        ui: &mut Ui,
        fields: &mut OperationFields<'_>,
        cx: &PanelContext<'_>,
        check: &PublishCheck,
    ) {
        let t = theme::tokens(ui);
        let title = if check.figure.is_empty() {
            check.message.clone()
        } else {
            format!("{} ({})", check.message, check.figure)
        };
        let blocks = check.level == CheckLevel::Blocks;
        check_ui(ui, Some(check.level), &title, |ui| {
            if check.level == CheckLevel::Pass {
                return;
            }
            for place in check.places.iter().take(if blocks { 3 } else { 1 }) {
                let place = theme::rich_text(place).font(font::mono(11.0)).color(t.tx2);
                ui.add(egui::Label::new(place).wrap());
            }
            if let Some(mend) = &check.mend {
                let sentence = theme::style_small_text(mend.sentence(), t.tx2);
                ui.add(egui::Label::new(sentence).wrap());
                if let Some(pane) = pane_of(mend).filter(|_| cx.document().is_some())
                    && widgets::link(ui, &tr!("Show {place}", place = pane.title())).clicked()
                {
                    *fields.leaving = Some(Request::Show(pane));
                }
            }
            if check.kind.may_be_accepted() && (blocks || check.accepted) {
                self.acceptance_ui(ui, fields, check.kind);
            }
        });
    }

    /// Draws the choice to publish all the same.
    fn acceptance_ui(&mut self, ui: &mut Ui, fields: &mut OperationFields<'_>, kind: CheckKind) {
        let mut accepted = self.accept.contains(&kind);
        let text = tr!("Publish all the same: {kind}", kind = kind.name());
        if widgets::checkbox(ui, &mut accepted, &text).changed() {
            self.accept.retain(|other| *other != kind);
            if accepted {
                self.accept.push(kind);
            }
            self.ask_checks();
            *fields.outdates_note = true;
        }
    }
}

impl OperationForm for PublishForm {
    fn words(&self) -> OperationTexts {
        OperationTexts {
            icon: icons::CLOUD,
            title: tr!("Publish dataset"),
            about: "",
            verb: tr!("Publish"),
        }
    }

    fn run_text(&self) -> Cow<'static, str> {
        match (
            self.find_current(),
            self.layout.is_uploaded_by_another_program(),
        ) {
            (_, true) => tr!("Write the files").into(),
            (Some(found), false) => tr!(
                "Publish {size}",
                size = paint::format_bytes(found.size_bytes)
            )
            .into(),
            (None, false) => tr!("Publish").into(),
        }
    }

    fn button_texts(&self) -> ButtonTexts {
        ButtonTexts {
            run_name: Some(tr!("Publish now")),
            stop_name: tr!("Stop publishing"),
            ..ButtonTexts::default()
        }
    }

    fn title_detail(&self, cx: &PanelContext<'_>) -> String {
        fields::document_title(cx)
    }

    fn dialog_width(&self) -> f32 {
        WIDTH
    }

    fn running_note(&self) -> FieldNote {
        let text = tr!(
            "The file that readers open first is sent last, so that an incomplete dataset can't be \
                opened."
        );
        FieldNote::Info(text.into())
    }

    fn cancel_note(&self) -> FieldNote {
        let text = tr!(
            "Stopped. Files already at the store are not sent again; readers can't open the \
                dataset before its last file is sent."
        );
        FieldNote::Info(text.into())
    }

    fn follows_document(&self) -> bool {
        true
    }

    fn options_ui(
        &mut self,
        ui: &mut Ui,
        fields: &mut OperationFields<'_>,
        cx: &mut PanelContext<'_>,
    ) {
        if let Some(asked) = self.asked.clone() {
            self.checked.update(
                cx.jobs,
                self.times,
                tr!("Check before publishing"),
                move |ctx| preflight(&asked, ctx),
            );
        }
        ui.columns(2, |columns| {
            if let [left, right] = columns {
                *fields.outdates_note |= self.target_ui(left);
                self.preflight_ui(right, fields, cx);
            }
        });
    }

    fn work(&self, _cx: &PanelContext<'_>) -> Result<PreviewWork, String> {
        if let Some(reason) = self.incomplete() {
            return Err(reason.into());
        }
        let found = self
            .find_current()
            .cloned()
            .ok_or_else(|| tr!("Check first").to_owned())?;
        let command = Command::operate(self.request());
        Ok(Box::new(move |_| {
            let mut preview = OperationPreview::new(command);
            let blocks = |check: &&PublishCheck| check.level == CheckLevel::Blocks;
            let first = found.checks.iter().find(blocks);
            preview
                .lines
                .extend(first.map(|check| ReportLine::error(&check.message)));
            preview.lines.extend(list_files_and_cost(&found));
            Ok(if found.may_publish() {
                preview
            } else {
                preview.obstacle(tr!("A check blocks publishing"))
            })
        }))
    }

    fn key(&self, _cx: &PanelContext<'_>) -> String {
        let state = (self.request(), self.times, self.refused.is_some());
        format!("{state:?}")
    }

    fn end_job(&mut self, event: &Event) -> OperationEnd {
        let Event::Finished(AnyOutput::Publish(publication)) = event else {
            return OperationEnd::Ignored;
        };
        let Some(published) = publication.published.clone() else {
            self.refused = Some(publication.preflight.clone());
            return OperationEnd::Form;
        };
        let report = OperationReport::with_page(
            published.address.clone(),
            Box::new(PublishedPage {
                published,
                snippet: 0,
            }),
            ReportTexts {
                sound: tr!("Published"),
                close: tr!("Done"),
                close_name: tr!("Done"),
                ..ReportTexts::default()
            },
        );
        OperationEnd::Report(Box::new(report))
    }
}

/// What was sent, and code that reads it.
#[derive(Debug)]
struct PublishedPage {
    published: Published,
    /// Index of the shown snippet.
    snippet: usize,
}

impl ReportPage for PublishedPage {
    fn ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) -> Option<Request> {
        let published = &self.published;
        let t = theme::tokens(ui);
        let opened = &published.opened;
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
                size = paint::format_bytes(opened.bytes),
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
            size = paint::format_bytes(published.sent_bytes),
            kept = published.kept_files,
            compared = opened.compared
        );
        ui.add(egui::Label::new(theme::style_small_text(text, t.tx2)).wrap());
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
        let snippet = published.snippets.get(self.snippet)?;
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
        None
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
fn list_files_and_cost(found: &Preflight) -> Vec<ReportLine> {
    let mut lines = vec![ReportLine::fact(tr!("Will be published"))];
    for file in &found.files {
        let size = file
            .size_bytes
            .map_or(tr!("generated").to_owned(), paint::format_bytes);
        let size = if file.files > 1 {
            format!("{} × {size}", file.files)
        } else {
            size
        };
        lines.push(ReportLine::row(format!("{}  {size}", file.name)));
    }
    lines.push(ReportLine::fact(tr!("Cost")));
    let cost = &found.cost;
    let rows = [
        (
            tr!("Storage, a month"),
            format!("$ {:.2}", cost.storage_month),
        ),
        (
            tr!("Egress, a full read"),
            format!("$ {:.2}", cost.egress_read),
        ),
        (
            tr!("Requests, a full read"),
            format!("$ {:.3}", cost.requests_read),
        ),
        (tr!("This upload"), format!("$ {:.3}", cost.upload)),
        (tr!("A month"), format!("$ {:.2}", cost.month)),
    ];
    let rows = rows.into_iter();
    lines.extend(rows.map(|(name, price)| ReportLine::row(format!("{name}  {price}"))));
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
    lines.extend(text.map(ReportLine::fact));
    lines
}
