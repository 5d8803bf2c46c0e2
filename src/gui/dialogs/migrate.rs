//! Migration of a dataset to 2.0: the plan for every column and collection field, with editable
//! names, before anything is written; then the report. The migration itself runs in the studio.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use egui::{Frame, Margin, Rect, Role, ScrollArea, Sense, Ui, WidgetInfo, pos2, vec2};
use serde_json::{Map, Value as Json};

use super::frame::{Next, foot_ui, head_ui, lacking_ui};
use super::view::{DialogEvent, DialogView, Reply};
use crate::container::{BuildOptions, Format, OnDamage, dataset_around};
use crate::gui::panel_context::{PanelContext, Request};
use crate::gui::theme::{self, font, text_style};
use crate::gui::widgets::{self, Button, FieldNote, Segment, TextField, Tone, paint};
use crate::gui::{dropped_paths, icons};
use crate::jobs::{AsyncValue, JobId};
use crate::model::Severity;
use crate::ops::{
    AnyOutput, CollectionMapping, FieldAction as Change, FieldChoice, FieldMapping, MigrateRequest,
    Migrated, OperationOutput,
};
use crate::studio::{Command, Event};
use crate::table::ParquetOptions;
use crate::text::list_first;

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

/// The dialog.
pub struct Migrate {
    input: PathBuf,
    part: MigrationTab,
    plan: Option<Box<Migrated>>,
    /// The newest request; the plan is computed again when it changes.
    asked: Option<MigrateRequest>,
    job: Option<JobId>,
    failed: Option<String>,
    /// Typed names by level and old name; an empty name drops the column.
    names: BTreeMap<(usize, String), String>,
    /// Typed values of the collection.
    values: BTreeMap<String, String>,
    fill_missing: bool,
    keep_ids: bool,
    format: Format,
    target: String,
    replace: bool,
    /// Continue without missing parts.
    allow_missing_parts: bool,
    /// The dataset that contains the destination.
    around: AsyncValue<String, Option<PathBuf>>,
}

impl Migrate {
    /// Proposes a name in `folder`.
    pub fn new(input: PathBuf, folder: &Path) -> Self {
        let stem = input
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_else(|| "dataset".into());
        let stem = stem
            .split('.')
            .next()
            .filter(|stem| !stem.is_empty())
            .unwrap_or("dataset");
        let names = std::iter::once(format!("{stem}.tacozip"))
            .chain((2..100).map(|number| format!("{stem}-{number}.tacozip")));
        let mut targets = names.map(|name| folder.join(name));
        let target = targets
            .find(|target| !target.exists())
            .unwrap_or_else(|| folder.join("dataset.tacozip"));
        let target = target.display().to_string();
        Self {
            input,
            part: MigrationTab::default(),
            plan: None,
            asked: None,
            job: None,
            failed: None,
            names: BTreeMap::new(),
            values: BTreeMap::new(),
            fill_missing: false,
            keep_ids: false,
            format: Format::Zip,
            target,
            replace: false,
            allow_missing_parts: false,
            around: AsyncValue::default(),
        }
    }

    /// Takes the result.
    fn show_result(&mut self, migrated: Migrated) {
        self.job = None;
        if !migrated.is_possible()
            && self
                .asked
                .as_ref()
                .is_some_and(|asked| asked.options.is_some())
        {
            self.part = MigrationTab::Report;
        }
        self.plan = Some(Box::new(migrated));
    }

    fn request(&self, write: bool) -> MigrateRequest {
        let value = |(key, text): (&String, &String)| (key.clone(), value_of(text));
        let options = BuildOptions {
            text_columns: false,
            target: dropped_paths::parse_path(&self.target),
            format: self.format,
            parquet: ParquetOptions::default(),
            overwrite: self.replace,
            parts: None,
            on_damage: OnDamage::Stop,
        };
        MigrateRequest {
            input: self.input.clone(),
            options: write.then_some(options),
            fields: self
                .names
                .iter()
                .map(|((level, from), to)| choose_field(*level, from, to))
                .collect(),
            collection: self.values.iter().map(value).collect::<Map<String, Json>>(),
            fill_missing: self.fill_missing,
            keep_ids: self.keep_ids,
            // A plan may ignore missing parts.
            allow_missing_parts: self.allow_missing_parts || !write,
        }
    }

    /// The command that computes the plan, if the input has changed and no field has the focus.
    fn request_plan(&mut self, typing: bool) -> Option<Command> {
        let wanted = self.request(false);
        let same = self.asked.as_ref().is_some_and(|asked| {
            MigrateRequest {
                options: None,
                allow_missing_parts: true,
                ..asked.clone()
            } == wanted
        });
        if same || typing || self.job.is_some() {
            return None;
        }
        self.asked = Some(wanted.clone());
        Some(Command::operate(wanted))
    }

    /// Collection fields with placeholder values that the user has not given, including those of
    /// extensions.
    fn made_up(&self) -> Vec<String> {
        let lines = self
            .plan
            .iter()
            .flat_map(|plan| &plan.collection)
            .filter(|line| line.action == Change::Filled);
        let keys = lines.filter_map(|line| line.to.clone());
        keys.filter(|key| {
            !key.contains(':') && key != "taco_version" && !self.values.contains_key(key)
        })
        .collect()
    }

    fn head_ui(&mut self, ui: &mut Ui, written: Option<&Path>) {
        let t = theme::tokens(ui);
        match (written, &self.plan) {
            (Some(path), _) => {
                ui.horizontal(|ui| {
                    widgets::badge(ui, Tone::Ok, Some(icons::CHECK), tr!("Written"));
                    ui.add(
                        egui::Label::new(
                            theme::rich_text(dropped_paths::display_path(path))
                                .font(font::mono(12.0))
                                .color(t.tx),
                        )
                        .truncate(),
                    );
                });
            }
            (None, Some(plan)) if plan.is_possible() => {
                ui.label(theme::style_small_text(
                    tr!("Data is copied byte for byte. The metadata changes as listed here."),
                    t.tx2,
                ));
            }
            (None, Some(_)) => {
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
            (None, None) => drop(ui.label(theme::style_small_text(
                tr!("Looking at the dataset…"),
                t.tx2,
            ))),
        }
        let Some(plan) = &self.plan else { return };
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
        let filled = self.made_up().len();
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

    fn options_ui(&mut self, ui: &mut Ui) {
        ui.add_enabled_ui(!self.is_running(), |ui| {
            ui.horizontal(|ui| {
                ui.spacing_mut().item_spacing.x = 16.0;
                widgets::checkbox(ui, &mut self.fill_missing, tr!("Pad what roots lack"));
                widgets::checkbox(ui, &mut self.keep_ids, tr!("Keep ids as they are"));
                let before = self.format;
                let formats = [
                    Segment::new(Format::Zip, "ZIP"),
                    Segment::new(Format::Folder, "FOLDER"),
                ];
                widgets::draw_segments(ui, "migrate-format", &mut self.format, &formats);
                if before != self.format {
                    let bare = self
                        .target
                        .trim_end_matches('/')
                        .trim_end_matches(".tacozip")
                        .to_owned();
                    self.target = if self.format == Format::Zip {
                        format!("{bare}.tacozip")
                    } else {
                        bare
                    };
                }
                widgets::checkbox(ui, &mut self.replace, tr!("Replace an existing output"));
            });
            let around = self
                .around
                .get(&self.target)
                .and_then(|found| found.as_ref().ok())
                .cloned()
                .flatten();
            let note = around.map_or(FieldNote::None, |dataset| {
                let path = dropped_paths::display_path(&dataset);
                FieldNote::Warning(tr!(
                    "This is inside the dataset {path}, whose readers would take the new one for a \
                        part of it.",
                    path
                ))
            });
            let field = TextField::new(tr!("Destination"), &mut self.target)
                .mono()
                .note(note);
            field.name(tr!("Destination of the new dataset")).show(ui);
        });
    }

    fn foot_ui(&mut self, ui: &mut Ui, written: Option<PathBuf>, close: bool) -> Next {
        let blocked = match &self.plan {
            _ if self.job.is_some() => Some(tr!("The dataset is being read")),
            None => Some(tr!("There is no plan yet")),
            Some(plan) if !plan.is_possible() => Some(tr!("The report lists what prevents it")),
            Some(plan) if plan.lacking.is_some() && !self.allow_missing_parts => {
                Some(tr!("Parts of the dataset are missing"))
            }
            _ if self.target.trim().is_empty() => Some(tr!("Name the file to write")),
            _ => None,
        };
        let t = theme::tokens(ui);
        let names = self.made_up();
        let made_up = (written.is_none() && !names.is_empty()).then(|| names.join(", "));
        let mut next = Next::Stay;
        foot_ui(ui, |ui| {
            if let Some(path) = written {
                if ui
                    .add(Button::primary(tr!("Open the new dataset")).large())
                    .clicked()
                {
                    next = Next::Do(Request::OpenPaths(vec![path]));
                }
            } else if self.is_running() {
                if ui
                    .add(Button::danger(tr!("Stop")).large().name(tr!("Stop moving")))
                    .clicked()
                    && let Some(job) = self.job
                {
                    next = Next::Also(Request::Run(Command::Cancel { job }));
                }
                widgets::spinner(ui, 18.0);
            } else if ui
                .add(
                    Button::primary(tr!("Move to 2.0"))
                        .large()
                        .name(tr!("Write the new dataset"))
                        .with_disabled_reason(blocked),
                )
                .clicked()
            {
                let request = self.request(true);
                self.asked = Some(request.clone());
                next = Next::Also(Request::Run(Command::operate(request)));
            }
            if ui
                .add(
                    Button::ghost(tr!("Close"))
                        .large()
                        .name(tr!("Close the move")),
                )
                .clicked()
            {
                next = Next::Close;
            }
            let none = self.plan.is_none().then_some(tr!("There is no plan yet"));
            let copy = Button::ghost(tr!("Copy report"))
                .large()
                .icon(icons::COPY)
                .with_disabled_reason(none);
            if ui
                .add(copy.tooltip(tr!("Every field and every value that changed, as JSON")))
                .clicked()
                && let Some(plan) = &self.plan
            {
                next = Next::Also(Request::Copy(
                    serde_json::to_string_pretty(&plan.to_json()).unwrap_or_default(),
                ));
            }
            if let Some(names) = made_up {
                ui.with_layout(egui::Layout::left_to_right(egui::Align::Center), |ui| {
                    ui.label(
                        theme::rich_text(icons::WARNING)
                            .font(font::icon(15.0))
                            .color(t.warn),
                    );
                    let text = tr!("Filled in, see Collection: {names}", names);
                    let text = theme::rich_text(text)
                        .text_style(text_style("small12"))
                        .color(t.warn);
                    ui.add(egui::Label::new(text).truncate());
                });
            }
        });
        if close && !self.is_running() {
            Next::Close
        } else {
            next
        }
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

impl DialogView for Migrate {
    fn ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) -> Next {
        let t = theme::tokens(ui);
        let target = dropped_paths::parse_path(&self.target);
        self.around.update(
            cx.jobs,
            self.target.clone(),
            tr!("Check the destination"),
            move |_| {
                Ok(if target.exists() {
                    None
                } else {
                    dataset_around(&target)
                })
            },
        );
        let screen = ui.ctx().content_rect();
        ui.set_width((screen.width() - 64.0).min(860.0));
        ui.spacing_mut().item_spacing.y = 0.0;
        let generation = self.plan.as_ref().map_or(String::new(), |plan| {
            tr!("from {generation}", generation = plan.generation)
        });
        let close = head_ui(ui, icons::ARROW_SQUARE_OUT, tr!("Move to 2.0"), &generation);
        let written = self
            .plan
            .as_ref()
            .and_then(|plan| plan.built.as_ref())
            .map(|built| built.path.clone());
        Frame::NONE
            .inner_margin(Margin::symmetric(16, 10))
            .show(ui, |ui| {
                ui.spacing_mut().item_spacing.y = 8.0;
                self.head_ui(ui, written.as_deref());
                let plan = self.plan.take();
                let height = (screen.height() - 420.0).clamp(140.0, 420.0);
                match &plan {
                    Some(plan) => {
                        let area = ScrollArea::vertical()
                            .id_salt(("migrate", self.part as u8))
                            .max_height(height)
                            .auto_shrink(false);
                        area.show(ui, |ui| {
                            ui.spacing_mut().item_spacing.y = 0.0;
                            ui.add_enabled_ui(written.is_none() && !self.is_running(), |ui| {
                                self.part_ui(ui, plan)
                            });
                        });
                    }
                    None => {
                        ui.allocate_ui(vec2(ui.available_width(), height), |ui| {
                            ui.set_min_height(height);
                            match &self.failed {
                                Some(_) => ui.label(
                                    theme::rich_text(tr!("There is no plan."))
                                        .text_style(text_style("small12"))
                                        .color(t.tx3),
                                ),
                                None => widgets::spinner(ui, 20.0),
                            }
                        });
                    }
                }
                self.plan = plan;
                if let Some(why) = &self.failed {
                    widgets::note_ui(ui, &widgets::FieldNote::Error(why.clone()));
                }
                if written.is_none() {
                    let lacking = self.plan.as_ref().and_then(|plan| plan.lacking.clone());
                    if let Some(lacking) = lacking {
                        lacking_ui(ui, &lacking, &mut self.allow_missing_parts);
                    }
                    self.options_ui(ui);
                }
            });
        let typing = ui
            .memory(|memory| memory.focused())
            .is_some_and(|id| egui::text_edit::TextEditState::load(ui.ctx(), id).is_some());
        let next = self.foot_ui(ui, written, close);
        match (next, self.request_plan(typing)) {
            (Next::Stay, Some(command)) => Next::Also(Request::Run(command)),
            (next, _) => next,
        }
    }

    fn receive(&mut self, event: &DialogEvent<'_>) -> Reply {
        match event {
            DialogEvent::Started(job) => (self.job, self.failed) = (Some(*job), None),
            DialogEvent::Finished(job, Event::Finished(AnyOutput::Migrate(migrated)), _)
                if self.job == *job =>
            {
                self.show_result(migrated.as_ref().clone());
                return Reply::Taken(Vec::new());
            }
            DialogEvent::Failed(job, error) if self.job == *job => {
                (self.job, self.failed) = (None, Some(error.report()));
                return Reply::Taken(Vec::new());
            }
            DialogEvent::Cancelled(job) if self.job == Some(*job) => {
                self.job = None;
                self.failed = Some(tr!("Stopped; nothing was written.").into());
            }
            _ => {}
        }
        Reply::Ignored
    }

    /// True while the dataset is being written.
    fn is_running(&self) -> bool {
        let writes = |asked: &MigrateRequest| asked.options.is_some();
        self.job.is_some() && self.asked.as_ref().is_some_and(writes)
    }
}

/// Parses a typed collection value: JSON if valid, else a string.
pub fn value_of(text: &str) -> Json {
    serde_json::from_str(text.trim()).unwrap_or_else(|_| Json::String(text.trim().to_owned()))
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
    paint::icon(
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
    use super::*;
    use crate::ops::AnyOperation;

    #[test]
    fn typed_values_are_json_or_text() {
        assert_eq!(value_of("[\"CC0-1.0\"]"), serde_json::json!(["CC0-1.0"]));
        assert_eq!(value_of(" A title "), Json::String("A title".into()));
    }

    #[test]
    fn a_plan_is_made_once_and_again_after_a_change() {
        let mut dialog = Migrate::new("/in/old.part.tortilla".into(), Path::new("/out"));
        assert_eq!(Path::new(&dialog.target), Path::new("/out/old.tacozip"));
        assert!(dialog.request_plan(false).is_some());
        assert!(dialog.request_plan(false).is_none(), "nothing was changed");
        dialog
            .names
            .insert((0, "tortilla:data_split".into()), " ".into());
        assert!(
            dialog.request_plan(true).is_none(),
            "not while somebody types"
        );
        let Some(Command::Operate(AnyOperation::Migrate(request))) = dialog.request_plan(false)
        else {
            panic!("asks again")
        };
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
