//! Form of Move to 2.0: the plan for every column and collection field, with editable names, before
//! anything is written.

use std::collections::BTreeMap;
use std::path::PathBuf;

use egui::{Rect, Role, ScrollArea, Sense, Ui, WidgetInfo, pos2, vec2};
use serde_json::{Map, Value as Json};

use crate::container::{BuildOptions, Format};
use crate::gui::dialogs::frame::lacking_ui;
use crate::gui::dialogs::operation::dataset_fields::DatasetOutputField;
use crate::gui::dialogs::operation::fields::{self, OperationFields, parse_json_or_text};
use crate::gui::dialogs::operation::form::{
    ButtonTexts, OperationEnd, OperationForm, OperationStart, OperationTexts, PreviewWork,
};
use crate::gui::dialogs::operation::line::ReportLine;
use crate::gui::dialogs::operation::preview::{Destination, OperationPreview};
use crate::gui::dialogs::operation::report::{OperationReport, ReportPage, ReportTexts};
use crate::gui::dropped_paths::display_path;
use crate::gui::icons;
use crate::gui::panel_context::{PanelContext, Request};
use crate::gui::theme::{self, font};
use crate::gui::widgets::{self, Button, FieldNote, Segment, TextField, Tone, paint};
use crate::jobs::{AsyncState, AsyncValue};
use crate::model::Severity;
use crate::ops::{
    AnyOutput, CollectionMapping, FieldAction as Change, FieldChoice, FieldMapping, MigrateRequest,
    Migrated, Operation, OperationOutput,
};
use crate::studio::{Command, Event};
use crate::text::list_first;

/// Width of the dialog in points.
const WIDTH: f32 = 860.0;
/// Most lines a kind; the report has all.
const SHOWN: usize = 200;

/// Tabs of the plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum MigrationTab {
    /// Columns of the samples.
    #[default]
    Fields,
    /// Fields of the collection.
    Collection,
    /// Obstacles, samples with another id, lost values.
    Report,
}

/// Plan, destination and options.
#[derive(Debug)]
pub struct MigrateForm {
    input: PathBuf,
    table: MigrationTable,
    /// The plan by its request; computed again when that changes.
    plan: AsyncValue<MigrateRequest, Migrated>,
    /// The result of a job that wrote nothing.
    refused: Option<Migrated>,
    fill_missing: bool,
    keep_ids: bool,
    output: DatasetOutputField,
    /// Continue without missing parts.
    allow_missing_parts: bool,
}

/// The plan as a table with names and values that can be changed.
#[derive(Debug, Default)]
struct MigrationTable {
    part: MigrationTab,
    /// Typed names by level and old name; an empty name drops the column.
    names: BTreeMap<(usize, String), String>,
    /// Typed values of the collection.
    values: BTreeMap<String, String>,
}

impl MigrateForm {
    /// Proposes the free name that was found; `None` without an input.
    pub fn new(start: &OperationStart) -> Option<Self> {
        let (input, target) = (start.input.clone()?, start.migration_target.as_ref()?);
        let target = target.display().to_string();
        Some(Self {
            input,
            table: MigrationTable::default(),
            plan: AsyncValue::default(),
            refused: None,
            fill_missing: false,
            keep_ids: false,
            output: DatasetOutputField::new(target, Format::Zip),
            allow_missing_parts: false,
        })
    }

    /// The request; without `options` for a plan.
    fn request(&self, options: Option<BuildOptions>) -> MigrateRequest {
        let value = |(key, text): (&String, &String)| (key.clone(), parse_json_or_text(text));
        let (names, values) = (&self.table.names, &self.table.values);
        MigrateRequest {
            input: self.input.clone(),
            fields: names
                .iter()
                .map(|((level, from), to)| choose_field(*level, from, to))
                .collect(),
            collection: values.iter().map(value).collect::<Map<String, Json>>(),
            fill_missing: self.fill_missing,
            keep_ids: self.keep_ids,
            // A plan may ignore missing parts.
            allow_missing_parts: self.allow_missing_parts || options.is_none(),
            options,
        }
    }

    /// The request of a plan to compute, if the input has changed and no field has the focus.
    fn wanted_plan(&self, is_typing: bool) -> Option<MigrateRequest> {
        let wanted = self.request(None);
        (!is_typing && self.plan.key() != Some(&wanted)).then_some(wanted)
    }

    /// The newest plan, also while the next one is computed.
    fn latest_plan(&self) -> Option<&Migrated> {
        self.refused.as_ref().or_else(|| self.plan.latest())
    }

    /// Draws whether the migration is possible.
    fn state_ui(&self, ui: &mut Ui) {
        let t = theme::tokens(ui);
        match self.latest_plan() {
            Some(plan) if plan.is_possible() => {
                ui.label(theme::style_small_text(
                    tr!("Data is copied byte for byte. The metadata changes as listed here."),
                    t.tx2,
                ));
            }
            Some(_) => {
                ui.horizontal(|ui| {
                    widgets::badge(
                        ui,
                        Tone::Error,
                        Some(icons::WARNING_OCTAGON),
                        tr!("Not possible yet"),
                    );
                    ui.label(theme::style_small_text(
                        tr!("The report lists what prevents it."),
                        t.tx2,
                    ));
                });
            }
            None => drop(ui.label(theme::style_small_text(
                tr!("Looking at the dataset…"),
                t.tx2,
            ))),
        }
    }

    /// Draws the plan with its tabs, and the button that copies it.
    fn plan_ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) {
        let t = theme::tokens(ui);
        let height = (ui.ctx().content_rect().height() - 420.0).clamp(140.0, 420.0);
        let Some(plan) = self.refused.as_ref().or_else(|| self.plan.latest()) else {
            let mut again = false;
            ui.allocate_ui(vec2(ui.available_width(), height), |ui| {
                ui.set_min_height(height);
                if let AsyncState::Failed(error) = self.plan.state() {
                    ui.label(theme::style_small_text(tr!("There is no plan."), t.tx3));
                    widgets::note_ui(ui, &FieldNote::Error(error.report()));
                    again = ui.add(Button::secondary(tr!("Try again"))).clicked();
                } else {
                    widgets::spinner(ui, 20.0);
                }
            });
            if again {
                self.plan = AsyncValue::default();
            }
            return;
        };
        self.table.tabs_ui(ui, plan);
        self.table.rows_ui(ui, plan, height);
        let copy = Button::ghost(tr!("Copy report"))
            .icon(icons::COPY)
            .tooltip(tr!("Every field and every value that changed, as JSON"));
        if ui.add(copy).clicked() {
            let report = serde_json::to_string_pretty(&plan.to_json()).unwrap_or_default();
            cx.request(Request::Copy(report));
        }
        if let Some(lacking) = &plan.lacking {
            lacking_ui(ui, lacking, &mut self.allow_missing_parts);
        }
    }
}

impl OperationForm for MigrateForm {
    fn words(&self) -> OperationTexts {
        OperationTexts {
            icon: icons::ARROW_SQUARE_OUT,
            title: tr!("Move to 2.0"),
            about: "",
            verb: tr!("Move to 2.0"),
        }
    }

    fn button_texts(&self) -> ButtonTexts {
        ButtonTexts {
            run_name: Some(tr!("Write the new dataset")),
            stop_name: tr!("Stop moving"),
            ..ButtonTexts::default()
        }
    }

    fn title_detail(&self, _cx: &PanelContext<'_>) -> String {
        self.latest_plan().map_or(String::new(), |plan| {
            tr!("from {generation}", generation = plan.generation)
        })
    }

    fn dialog_width(&self) -> f32 {
        WIDTH
    }

    fn options_ui(
        &mut self,
        ui: &mut Ui,
        _fields: &mut OperationFields<'_>,
        cx: &mut PanelContext<'_>,
    ) {
        if let Some(request) = self.wanted_plan(fields::is_typing(ui)) {
            self.refused = None;
            self.plan
                .update(cx.jobs, request.clone(), tr!("Preview"), move |ctx| {
                    request.run(ctx)
                });
        }
        self.state_ui(ui);
        self.plan_ui(ui, cx);
        ui.horizontal(|ui| {
            ui.spacing_mut().item_spacing.x = 16.0;
            widgets::checkbox(ui, &mut self.fill_missing, tr!("Pad what roots lack"));
            widgets::checkbox(ui, &mut self.keep_ids, tr!("Keep ids as they are"));
            self.output.formats_ui(ui);
            self.output.location.replace_ui(ui);
        });
        let output = &mut self.output.location;
        output.destination_ui(ui, tr!("Destination of the new dataset"));
    }

    fn work(&self, _cx: &PanelContext<'_>) -> Result<PreviewWork, String> {
        if self.plan.is_pending() {
            return Err(tr!("The dataset is being read").into());
        }
        let plan = self
            .latest_plan()
            .ok_or_else(|| tr!("There is no plan yet").to_owned())?;
        let obstacle = if !plan.is_possible() {
            Some(tr!("The report lists what prevents it"))
        } else if plan.lacking.is_some() && !self.allow_missing_parts {
            Some(tr!("Parts of the dataset are missing"))
        } else {
            None
        };
        let names = self.table.list_filled(plan).join(", ");
        let options = self.output.build_options()?;
        let output = Destination::of_dataset(&options);
        let command = Command::operate(self.request(Some(options)));
        Ok(Box::new(move |_| {
            let mut preview = OperationPreview::new(command);
            if !names.is_empty() {
                let text = tr!("Filled in, see Collection: {names}", names);
                preview = preview.line(ReportLine::warning(text));
            }
            if let Some(obstacle) = obstacle {
                preview = preview.obstacle(obstacle);
            }
            Ok(preview.destination(&output))
        }))
    }

    fn key(&self, _cx: &PanelContext<'_>) -> String {
        let (plan, is_refused) = (self.plan.key(), self.refused.is_some());
        let (output, parts) = (&self.output, self.allow_missing_parts);
        format!(
            "{:?}",
            (self.request(None), plan, is_refused, output, parts)
        )
    }

    fn end_job(&mut self, event: &Event) -> OperationEnd {
        let Event::Finished(AnyOutput::Migrate(migrated)) = event else {
            return OperationEnd::Ignored;
        };
        let Some(built) = &migrated.built else {
            self.table.part = MigrationTab::Report;
            self.refused = Some(migrated.as_ref().clone());
            return OperationEnd::Form;
        };
        let page = MigratedPage {
            table: std::mem::take(&mut self.table),
            plan: migrated.as_ref().clone(),
        };
        let texts = ReportTexts {
            sound: tr!("Written"),
            open: tr!("Open the new dataset"),
            close: tr!("Close"),
            close_name: tr!("Close the move"),
            ..ReportTexts::default()
        };
        let report = OperationReport::with_page(display_path(&built.path), Box::new(page), texts);
        let report = report.with_output(built.path.clone(), migrated.as_ref());
        OperationEnd::Report(Box::new(report))
    }
}

/// The plan that was carried out.
#[derive(Debug)]
struct MigratedPage {
    table: MigrationTable,
    plan: Migrated,
}

impl ReportPage for MigratedPage {
    fn ui(&mut self, ui: &mut Ui, _cx: &mut PanelContext<'_>) -> Option<Request> {
        self.table.tabs_ui(ui, &self.plan);
        ui.spacing_mut().item_spacing.y = 0.0;
        ui.add_enabled_ui(false, |ui| self.table.part_ui(ui, &self.plan));
        None
    }
}

impl MigrationTable {
    /// Collection fields with placeholder values that the user has not given, including those of
    /// extensions.
    fn list_filled(&self, plan: &Migrated) -> Vec<String> {
        let lines = plan
            .collection
            .iter()
            .filter(|line| line.action == Change::Filled);
        let keys = lines.filter_map(|line| line.to.clone());
        keys.filter(|key| {
            !key.contains(':') && key != "taco_version" && !self.values.contains_key(key)
        })
        .collect()
    }

    /// Draws the tabs of a plan.
    fn tabs_ui(&mut self, ui: &mut Ui, plan: &Migrated) {
        let problems = plan.findings.len()
            + plan.renamed.len()
            + plan
                .fields
                .iter()
                .filter(|field| !field.lost.is_empty())
                .count();
        let parts = [
            Segment::new(MigrationTab::Fields, tr!("Fields")).count(plan.fields.len() as u64),
            Segment::new(MigrationTab::Collection, tr!("Collection"))
                .count(plan.collection.len() as u64),
            Segment::new(MigrationTab::Report, tr!("Report")).count(problems as u64),
        ];
        let filled = self.list_filled(plan).len();
        ui.horizontal(|ui| {
            widgets::draw_segments(ui, "migrate-part", &mut self.part, &parts);
            if filled > 0 {
                let text = tr_n!(
                    filled,
                    "{n} value filled in",
                    "{n} values filled in",
                    n = filled
                );
                widgets::badge(ui, Tone::Warning, Some(icons::WARNING), &text);
            }
        });
    }

    /// Draws the chosen tab, in a list of this height that scrolls.
    fn rows_ui(&mut self, ui: &mut Ui, plan: &Migrated, height: f32) {
        let area = ScrollArea::vertical()
            .id_salt(("migrate", self.part as u8))
            .max_height(height)
            .auto_shrink(false);
        area.show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 0.0;
            self.part_ui(ui, plan);
        });
    }

    fn part_ui(&mut self, ui: &mut Ui, plan: &Migrated) {
        match self.part {
            MigrationTab::Fields => {
                for line in &plan.fields {
                    self.field_ui(ui, line);
                }
            }
            MigrationTab::Collection => {
                for line in &plan.collection {
                    self.collection_ui(ui, line);
                }
            }
            MigrationTab::Report => report_ui(ui, plan),
        }
    }

    /// Draws a column: old name and type, editable new name, new type, note.
    fn field_ui(&mut self, ui: &mut Ui, line: &FieldMapping) {
        let t = theme::tokens(ui);
        let (rect, inner) = row(ui, 34.0);
        let [left, middle, right] = columns(inner, [0.34, 0.30, 0.36]);
        let old = format!("L{} {}", line.level, line.from);
        let typed = paint::text_right(ui.painter(), left, &line.from_type, font::mono(11.0), t.tx3);
        paint::text_left(
            ui.painter(),
            left.with_max_x(typed - 6.0),
            &old,
            font::mono(12.0),
            t.tx,
        );
        let key = (line.level, line.from.clone());
        let planned = line.to.clone().unwrap_or_default();
        let mut text = self
            .names
            .get(&key)
            .cloned()
            .unwrap_or_else(|| planned.clone());
        let name = tr!(
            "New name of {field} on level {level}",
            field = line.from,
            level = line.level
        );
        let place = egui::UiBuilder::new()
            .max_rect(middle.shrink2(vec2(8.0, 4.0)))
            .id_salt(("name", line.level, &line.from));
        let changed = ui
            .scope_builder(place, |ui| {
                TextField::new(tr!("New name"), &mut text)
                    .name(&name)
                    .hide_label()
                    .mono()
                    .hint(tr!("left out"))
                    .show(ui)
                    .changed()
            })
            .inner;
        if changed {
            self.names.insert(key, text);
        }
        let lost = if line.lost.is_empty() {
            String::new()
        } else {
            let lost = line.lost.len();
            let n = paint::format_grouped_number(lost as u64);
            format!(
                "{} ",
                tr_n!(
                    lost,
                    "{n} value has no home.",
                    "{n} values have no home.",
                    n
                )
            )
        };
        let to_type = line
            .to_type
            .as_ref()
            .filter(|to| **to != line.from_type)
            .map(|to| format!("→ {to}. "))
            .unwrap_or_default();
        let words = format!("{to_type}{lost}{}", line.note);
        let color = if line.lost.is_empty() { t.tx2 } else { t.warn };
        paint::text_left(ui.painter(), right, &words, font::regular(12.0), color);
        let response = ui.interact(
            right,
            ui.scope_id().with(("words", line.level, &line.from)),
            Sense::hover(),
        );
        let told = format!(
            "{old} {} {words}",
            line.to.as_deref().unwrap_or(tr!("is left out"))
        );
        response.widget_info(|| WidgetInfo::labeled(Role::Row, true, &told));
        if !words.is_empty() {
            response.on_hover_text(theme::rich_text(words));
        }
        paint::lower_edge(ui, rect);
    }

    /// Draws a collection field; placeholder values can be edited.
    fn collection_ui(&mut self, ui: &mut Ui, line: &CollectionMapping) {
        let t = theme::tokens(ui);
        let (rect, inner) = row(ui, 34.0);
        let [left, middle, right] = columns(inner, [0.28, 0.42, 0.30]);
        let (word, color) = match line.action {
            Change::Kept => (tr!("kept"), t.tx3),
            Change::Renamed => (tr!("renamed"), t.info),
            Change::Changed => (tr!("changed"), t.warn),
            Change::Filled => (tr!("filled in"), t.acc),
            Change::Dropped => (tr!("no home"), t.err),
        };
        let key = line.to.clone().unwrap_or_else(|| line.from.clone());
        let typed = paint::text_right(ui.painter(), left, word, font::medium(11.0), color);
        paint::text_left(
            ui.painter(),
            left.with_max_x(typed - 6.0),
            &key,
            font::mono(12.0),
            t.tx,
        );
        let (old, new) = (format_json_value(&line.old), format_json_value(&line.new));
        if line.action == Change::Filled {
            let mut text = self
                .values
                .get(&key)
                .cloned()
                .unwrap_or_else(|| new.clone());
            let name = tr!("Value of {field}", field = key);
            let place = egui::UiBuilder::new()
                .max_rect(middle.shrink2(vec2(8.0, 4.0)))
                .id_salt(("value", &key));
            let field = TextField::new(tr!("Value"), &mut text)
                .name(&name)
                .hide_label()
                .mono();
            if ui.scope_builder(place, |ui| field.show(ui).changed()).inner {
                self.values.insert(key.clone(), text);
            }
        } else {
            let text = match (old.as_str(), new.as_str()) {
                _ if line.action == Change::Renamed => format!("{}, {new}", line.from),
                ("", new) => new.to_owned(),
                (old, "") => old.to_owned(),
                (old, new) => format!("{old} → {new}"),
            };
            paint::text_left(
                ui.painter(),
                middle.shrink2(vec2(8.0, 0.0)),
                &text,
                font::mono(12.0),
                t.tx2,
            );
        }
        paint::text_left(ui.painter(), right, &line.note, font::regular(12.0), t.tx2);
        let response = ui.interact(
            left.union(right),
            ui.scope_id().with(("line", &key, &line.from)),
            Sense::hover(),
        );
        response.widget_info(|| {
            WidgetInfo::labeled(Role::Row, true, format!("{key}: {word} {}", line.note))
        });
        if line.action == Change::Changed || line.action == Change::Dropped {
            response.on_hover_text(theme::rich_text(format!(
                "{old}\n→ {}",
                if new.is_empty() { tr!("nothing") } else { &new }
            )));
        }
        paint::lower_edge(ui, rect);
    }
}

/// An empty name leaves the column out.
fn choose_field(level: usize, from: &str, to: &str) -> FieldChoice {
    FieldChoice {
        level: Some(level),
        from: from.to_owned(),
        to: Some(to.trim().to_owned()).filter(|to| !to.is_empty()),
    }
}

fn format_json_value(value: &Json) -> String {
    match value {
        Json::Null => String::new(),
        Json::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn row(ui: &mut Ui, height: f32) -> (Rect, Rect) {
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), height), Sense::hover());
    (rect, rect.shrink2(vec2(6.0, 0.0)))
}

fn columns(rect: Rect, shares: [f32; 3]) -> [Rect; 3] {
    let mut left = rect.left();
    shares.map(|share| {
        let right = left + rect.width() * share;
        let column = Rect::from_min_max(pos2(left, rect.top()), pos2(right - 8.0, rect.bottom()));
        left = right;
        column
    })
}

fn report_ui(ui: &mut Ui, plan: &Migrated) {
    let t = theme::tokens(ui);
    for finding in plan.findings.iter().take(SHOWN) {
        let (icon, color) = match finding.severity {
            Severity::Error => (icons::WARNING_OCTAGON, t.err),
            Severity::Warning => (icons::WARNING, t.warn),
        };
        draw_report_line(
            ui,
            icon,
            color,
            format!("{}: {}", finding.rule.code(), finding.message),
        );
    }
    for field in plan.fields.iter().filter(|field| !field.lost.is_empty()) {
        let rows = list_first(field.lost.iter().map(u32::to_string), 12);
        let count = paint::format_grouped_number(field.lost.len() as u64);
        draw_report_line(
            ui,
            icons::WARNING,
            t.warn,
            tr_n!(
                field.lost.len(),
                "{n} value of {field} on level {level} has no home: row {rows}",
                "{n} values of {field} on level {level} have no home: rows {rows}",
                n = count,
                field = field.from,
                level = field.level,
                rows
            ),
        );
    }
    for sample in plan.renamed.iter().take(SHOWN) {
        draw_report_line(
            ui,
            icons::PENCIL_SIMPLE,
            t.info,
            tr!(
                "{path} is called {id} now",
                path = sample.path,
                id = sample.id
            ),
        );
    }
    if plan.renamed.len() > SHOWN {
        let more = plan.renamed.len() - SHOWN;
        let n = paint::format_grouped_number(more as u64);
        draw_report_line(
            ui,
            icons::INFO,
            t.info,
            tr_n!(
                more,
                "and {n} more sample with another id",
                "and {n} more samples with another id",
                n
            ),
        );
    }
    if plan.padded > 0 {
        let n = paint::format_grouped_number(plan.padded);
        draw_report_line(
            ui,
            icons::CIRCLE_DASHED,
            t.info,
            tr_n!(
                plan.padded,
                "{n} root was padded",
                "{n} roots were padded",
                n
            ),
        );
    }
    if plan.findings.is_empty() && plan.renamed.is_empty() && plan.padded == 0 {
        draw_report_line(
            ui,
            icons::CHECK_CIRCLE,
            t.ok,
            tr!("Every sample keeps its id, and nothing prevents the migration").into(),
        );
    }
}

fn draw_report_line(ui: &mut Ui, icon: &str, color: egui::Color32, text: String) {
    let (rect, inner) = row(ui, 24.0);
    paint::draw_icon(
        ui.painter(),
        inner.left_center() + vec2(8.0, 0.0),
        icon,
        14.0,
        color,
    );
    paint::text_left(
        ui.painter(),
        inner.with_min_x(inner.left() + 24.0),
        &text,
        font::regular(12.0),
        theme::tokens(ui).tx,
    );
    let response = ui.interact(rect, ui.scope_id().with(("report", &text)), Sense::hover());
    response.widget_info(|| WidgetInfo::labeled(Role::ListItem, true, &text));
    response.on_hover_text(theme::rich_text(&text));
    paint::lower_edge(ui, rect);
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::error::Error;
    use crate::jobs::Jobs;

    #[test]
    fn a_plan_is_made_once_and_again_after_a_change() {
        let mut form = MigrateForm::new(&OperationStart {
            input: Some("/in/old.part.tortilla".into()),
            migration_target: Some("/out/old.tacozip".into()),
            ..OperationStart::default()
        })
        .expect("an input");
        let target = &form.output.location.text;
        assert_eq!(Path::new(target), Path::new("/out/old.tacozip"));
        let request = form.wanted_plan(false).expect("there is no plan");
        form.plan.update(&Jobs::quiet(), request, "plan", |_| {
            Err(Error::internal("is not read"))
        });
        assert!(form.wanted_plan(false).is_none(), "nothing was changed");
        form.table
            .names
            .insert((0, "tortilla:data_split".into()), " ".into());
        assert!(form.wanted_plan(true).is_none(), "not while somebody types");
        let request = form.wanted_plan(false).expect("asks again");
        assert_eq!(
            request.fields,
            [FieldChoice {
                level: Some(0),
                from: "tortilla:data_split".into(),
                to: None
            }]
        );
        assert!(request.options.is_none());
    }
}
