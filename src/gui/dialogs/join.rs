//! Preview of a table join: key of the samples, matched rows, columns to add. Nothing changes until
//! the button is pressed; the join is one undoable edit.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use egui::{Frame, Margin, Rect, Role, ScrollArea, Sense, Stroke, Ui, WidgetInfo, vec2};

use super::frame::{Next, foot_ui, head_ui};
use super::view::{DialogEvent, DialogView, Reply, close_with_document};
use crate::extensions::{JoinColumn, JoinLevel, JoinPreview, ProposedType, join_preview};
use crate::gui::document_key::DocumentKey;
use crate::gui::icons;
use crate::gui::panel_context::{PanelContext, Request};
use crate::gui::theme::{self, ThemeTokens, font};
use crate::gui::widgets::{
    self, Button, FieldNote, Segment, TextField, draw_segments, note_ui, paint,
};
use crate::jobs::AsyncValue;
use crate::model::check_field_name;
use crate::studio::Command;
use crate::table::{JoinBy, JoinRequest};
use crate::text::list_first;

const WIDTH: f32 = 700.0;
const ROW_HEIGHT: f32 = 24.0;
/// Most names in a note.
const MAX_NAMES: usize = 5;

pub struct JoinDialog {
    request: JoinRequest,
    preview: AsyncValue<(DocumentKey, JoinRequest), Arc<JoinPreview>>,
    /// Excluded columns, by level and name.
    excluded: BTreeSet<(usize, String)>,
    /// Whether the user wants the proposed type of a column, by level and name.
    type_choices: BTreeMap<(usize, String), bool>,
    /// Typed names of columns whose names are not valid, by level and name in the table.
    typed_names: BTreeMap<(usize, String), String>,
    /// The command that imports the file instead; `None` when the user asked for a table.
    import_command: Option<Command>,
}

impl JoinDialog {
    /// Opens the dialog for a table; `import_command` imports a dropped file instead.
    pub fn new(table: PathBuf, import_command: Option<Command>) -> Self {
        let request = JoinRequest {
            table,
            ..JoinRequest::default()
        };
        Self {
            request,
            preview: AsyncValue::default(),
            excluded: BTreeSet::new(),
            type_choices: BTreeMap::new(),
            typed_names: BTreeMap::new(),
            import_command,
        }
    }

    fn preview_ui(&mut self, ui: &mut Ui, preview: &JoinPreview) {
        let t = theme::tokens(ui);
        ui.horizontal(|ui| {
            ui.label(tr!("Samples are named by"));
            if let Some(picked) = widgets::combo(
                ui,
                tr!("Column of keys"),
                &preview.key,
                200.0,
                true,
                &preview.column_names,
            ) {
                self.request.key = Some(preview.column_names[picked].clone());
            }
            ui.label(tr!("which is"));
            let mut by = if preview.by_path {
                JoinBy::Path
            } else {
                JoinBy::Id
            };
            let choices = [
                Segment::new(JoinBy::Path, tr!("the path")),
                Segment::new(JoinBy::Id, tr!("the id")),
            ];
            draw_segments(ui, "join-by", &mut by, &choices);
            if (by == JoinBy::Path) != preview.by_path {
                (self.request.by, self.request.key) = (by, Some(preview.key.clone()));
            }
        });
        ScrollArea::vertical()
            .id_salt("join-levels")
            .max_height(250.0)
            .show(ui, |ui| {
                ui.set_min_width(ui.available_width());
                ui.spacing_mut().item_spacing.y = 0.0;
                for level in &preview.levels {
                    self.level_ui(ui, t, level);
                }
            });
        if preview.levels.is_empty() {
            let text = tr!(
                "No row of the table finds a sample. Choose another column, or say whether it \
                    holds paths or ids."
            );
            note_ui(ui, &FieldNote::Error(text.into()));
        }
        if !preview.warnings.is_empty() {
            note_ui(ui, &FieldNote::Warning(preview.warnings.join("\n")));
        }
        let unmatched = &preview.unmatched;
        if unmatched.count > 0 && !preview.levels.is_empty() {
            let n = paint::format_grouped_number(unmatched.count as u64);
            let names = list_first(&unmatched.first_keys, MAX_NAMES);
            let text = tr_n!(
                unmatched.count,
                "{n} row finds no sample: {names}",
                "{n} rows find no sample: {names}",
                n,
                names
            );
            note_ui(ui, &FieldNote::Warning(text));
        }
        for level in preview
            .levels
            .iter()
            .filter(|level| level.matched < level.samples)
        {
            let count = level.samples - level.matched;
            let n = paint::format_grouped_number(count as u64);
            let names = list_first(&level.first_unmatched, MAX_NAMES);
            let depth = level.level;
            let text = tr_n!(
                count,
                "{n} sample of level {depth} gets no row and keeps what it has: {names}",
                "{n} samples of level {depth} get no row and keep what they have: {names}",
                n,
                depth,
                names
            );
            note_ui(ui, &FieldNote::Warning(text));
        }
        first_rows_ui(ui, t, preview);
    }

    /// True when the column gets the proposed type: by choice, or by default where no value is
    /// lost.
    fn uses_proposed_type(&self, level: usize, column: &JoinColumn) -> bool {
        let Some(proposed) = &column.proposed_type else {
            return false;
        };
        self.type_choices
            .get(&(level, column.name.clone()))
            .copied()
            .unwrap_or(proposed.is_certain())
    }

    fn uses_proposed_type_by_name(&self, preview: &JoinPreview, level: usize, name: &str) -> bool {
        let columns = preview
            .levels
            .iter()
            .filter(|candidate| candidate.level == level)
            .flat_map(|level| &level.columns);
        columns
            .into_iter()
            .any(|column| column.name == name && self.uses_proposed_type(level, column))
    }

    /// The name that the user typed for a column, or its default name.
    fn chosen_name(&self, level: usize, column: &JoinColumn) -> Option<String> {
        let typed = self
            .typed_names
            .get(&(level, column.name.clone()))
            .filter(|_| column.name_fault.is_some());
        typed.cloned().or_else(|| column.default_name())
    }

    /// The name that a column gets, or why the chosen one is not possible.
    fn validate_name(&self, level: &JoinLevel, column: &JoinColumn) -> Result<String, String> {
        let Some(name_fault) = &column.name_fault else {
            return Ok(column.name.clone());
        };
        let name = self
            .chosen_name(level.level, column)
            .ok_or_else(|| name_fault.clone())?
            .trim()
            .to_owned();
        check_field_name(&name).map_err(|fault| fault.localized_text())?;
        let others = level
            .columns
            .iter()
            .filter(|other| other.name != column.name);
        let is_taken = others
            .filter_map(|other| self.chosen_name(level.level, other))
            .any(|other| other.trim() == name);
        if is_taken || level.existing_columns.contains(&name) {
            Err(tr!("There is a field {name} already", name))
        } else {
            Ok(name)
        }
    }

    fn level_ui(&mut self, ui: &mut Ui, t: &ThemeTokens, level: &JoinLevel) {
        let (matched, samples) = (
            paint::format_grouped_number(level.matched as u64),
            paint::format_grouped_number(level.samples as u64),
        );
        let depth = level.level;
        ui.horizontal(|ui| {
            ui.set_height(28.0);
            ui.label(
                theme::rich_text(tr!("Level {depth}", depth))
                    .font(font::semibold(12.0))
                    .color(t.tx),
            );
            let text = tr!("{matched} of {samples} samples get a row", matched, samples);
            ui.label(theme::style_small_text(text, t.tx2));
        });
        for column in &level.columns {
            let key = (depth, column.name.clone());
            let (rect, _) =
                ui.allocate_exact_size(vec2(ui.available_width(), ROW_HEIGHT), Sense::hover());
            ui.painter()
                .hline(rect.x_range(), rect.top() + 0.5, Stroke::new(1.0, t.line));
            let mut row = ui.new_child(
                egui::UiBuilder::new()
                    .max_rect(rect)
                    .layout(egui::Layout::left_to_right(egui::Align::Center)),
            );
            let mut is_included = !self.excluded.contains(&key);
            row.scope(|ui| {
                if widgets::checkbox(ui, &mut is_included, &column.name).changed() {
                    if is_included {
                        self.excluded.remove(&key)
                    } else {
                        self.excluded.insert(key.clone())
                    };
                }
            });
            let right = Rect::from_min_max(
                egui::pos2(rect.left() + rect.width() * 0.42, rect.top()),
                rect.max,
            );
            let (type_area, value_area) = right.split_left_right_at_fraction(0.3);
            paint::text_left(
                ui.painter(),
                type_area,
                &column.type_name,
                font::mono(12.0),
                t.tx2,
            );
            if column.name_fault.is_some() {
                self.new_name_ui(ui, value_area, level, column, key);
                continue;
            }
            let (text, color) = if column.replaces_column {
                (
                    tr!("{example}  (replaces the column)", example = column.example),
                    t.warn,
                )
            } else {
                (column.example.clone(), t.tx)
            };
            paint::text_left(ui.painter(), value_area, &text, font::mono(12.0), color);
            if let Some(proposed) = column.proposed_type.as_ref().filter(|_| is_included) {
                self.proposed_type_ui(ui, t, depth, column, proposed);
            }
        }
    }

    /// Draws the field for a new name of a column whose name is not valid.
    fn new_name_ui(
        &mut self,
        ui: &mut Ui,
        value_area: Rect,
        level: &JoinLevel,
        column: &JoinColumn,
        key: (usize, String),
    ) {
        let mut name = self.chosen_name(level.level, column).unwrap_or_default();
        let fault = self.validate_name(level, column).err();
        let field_area = value_area.expand2(vec2(0.0, 1.0));
        ui.scope_builder(
            egui::UiBuilder::new()
                .max_rect(field_area)
                .id_salt(("join-name", &key)),
            |ui| {
                let title = tr!("Name for {column}", column = column.name);
                let width = (field_area.width() * 0.5).round();
                if TextField::new(&title, &mut name)
                    .hide_label()
                    .mono()
                    .width(width)
                    .show(ui)
                    .changed()
                {
                    self.typed_names.insert(key, name);
                }
                let t = theme::tokens(ui);
                let beside = value_area.with_min_x(field_area.left() + width + 8.0);
                match &fault {
                    Some(fault) => {
                        paint::text_left(ui.painter(), beside, fault, font::regular(12.0), t.err)
                    }
                    None => paint::text_left(
                        ui.painter(),
                        beside,
                        &column.example,
                        font::mono(12.0),
                        t.tx,
                    ),
                };
            },
        );
    }

    /// Draws the choice to read a text column as the proposed type, with the values that become
    /// null.
    fn proposed_type_ui(
        &mut self,
        ui: &mut Ui,
        t: &ThemeTokens,
        level: usize,
        column: &JoinColumn,
        proposed: &ProposedType,
    ) {
        let mut is_chosen = self.uses_proposed_type(level, column);
        ui.horizontal(|ui| {
            ui.set_height(ROW_HEIGHT);
            ui.add_space(24.0);
            let (n, total) = (
                paint::format_grouped_number(proposed.values as u64),
                paint::format_grouped_number((proposed.values + proposed.nulls) as u64),
            );
            let text = tr!(
                "as {kind}: {n} of {total} rows",
                kind = proposed.type_name,
                n,
                total
            );
            if widgets::checkbox(ui, &mut is_chosen, &text).changed() {
                self.type_choices
                    .insert((level, column.name.clone()), is_chosen);
            }
            let mut notes = Vec::new();
            if proposed.nulls > 0 {
                let n = paint::format_grouped_number(proposed.nulls as u64);
                let names = list_first(&proposed.examples, MAX_NAMES);
                notes.push(if names.is_empty() {
                    tr_n!(proposed.nulls, "{n} is empty", "{n} are empty", n)
                } else {
                    tr_n!(
                        proposed.nulls,
                        "{n} becomes null: {names}",
                        "{n} become null: {names}",
                        n,
                        names
                    )
                });
            }
            if proposed.assumes_day_first {
                notes.push(tr!("read day first").to_owned());
            }
            if proposed.loses_zeros {
                notes.push(tr!("zeros before or behind numbers are lost").to_owned());
            }
            let color = if proposed.is_certain() { t.tx2 } else { t.warn };
            ui.add(egui::Label::new(theme::style_small_text(notes.join("; "), color)).truncate());
        });
    }
}

impl DialogView for JoinDialog {
    fn ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) -> Next {
        let Some(draft) = cx.document().and_then(|document| document.draft()) else {
            return Next::Close;
        };
        let dataset = draft.dataset().clone();
        let key = (cx.document_key(), self.request.clone());
        let request = self.request.clone();
        self.preview
            .update(cx.jobs, key.clone(), tr!("Read the table"), move |ctx| {
                Ok(Arc::new(join_preview(&dataset, &request, ctx)?))
            });
        let found = match self.preview.get(&key) {
            Some(Ok(preview)) => Ok(Some(preview.clone())),
            Some(Err(error)) => Err(error.report()),
            None => Ok(None),
        };
        ui.set_width((ui.ctx().content_rect().width() - 64.0).min(WIDTH));
        ui.spacing_mut().item_spacing.y = 0.0;
        let name = self
            .request
            .table
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let close = head_ui(ui, icons::TABLE, tr!("Join a table"), &name);
        Frame::NONE.inner_margin(Margin::same(16)).show(ui, |ui| {
            ui.spacing_mut().item_spacing = vec2(8.0, 8.0);
            match &found {
                Ok(Some(preview)) => self.preview_ui(ui, preview),
                // The previous preview stays until the next is ready.
                Ok(None) => match self.preview.latest().cloned() {
                    Some(last) => self.preview_ui(ui, &last),
                    None => drop(ui.label(
                        theme::rich_text(tr!("Looking at the table…")).color(theme::tokens(ui).tx2),
                    )),
                },
                Err(error) => {
                    note_ui(ui, &FieldNote::Error(error.clone()));
                    if self.request.key.is_some()
                        && ui.add(Button::ghost(tr!("Choose the key anew"))).clicked()
                    {
                        self.request = JoinRequest {
                            table: self.request.table.clone(),
                            ..JoinRequest::default()
                        };
                    }
                }
            }
        });
        let preview = found.ok().flatten();
        let calls = preview.as_ref().map(|preview| {
            let is_included =
                |level: usize, name: &str| !self.excluded.contains(&(level, name.to_owned()));
            let uses_proposed_type =
                |level: usize, name: &str| self.uses_proposed_type_by_name(preview, level, name);
            preview.build_calls(is_included, uses_proposed_type, |level, column| {
                let mut levels = preview.levels.iter();
                let level = levels.find(|candidate| candidate.level == level)?;
                self.validate_name(level, column).ok()
            })
        });
        let replaces_columns = preview
            .iter()
            .flat_map(|preview| &preview.levels)
            .any(|level| {
                level.columns.iter().any(|column| {
                    column.replaces_column
                        && !self.excluded.contains(&(level.level, column.name.clone()))
                })
            });
        let blocked = match &calls {
            None => Some(tr!("The table is still being read")),
            Some(calls) if calls.is_empty() => {
                Some(tr!("No column is chosen, or no row finds a sample"))
            }
            Some(_) => None,
        };
        let (join, add, cancel) = foot_ui(ui, |ui| {
            let text = if replaces_columns {
                tr!("Join and replace columns")
            } else {
                tr!("Join columns")
            };
            let join = ui
                .add(
                    Button::primary(text)
                        .large()
                        .name(tr!("Join columns"))
                        .with_disabled_reason(blocked),
                )
                .clicked();
            let cancel = ui.add(Button::ghost(tr!("Cancel")).large()).clicked();
            let add = self.import_command.is_some()
                && ui
                    .add(Button::ghost(tr!("Add as a file")).large())
                    .clicked();
            (join, add, cancel)
        });
        match (calls, &self.import_command) {
            (Some(calls), _) if join => Next::Do(Request::Run(Command::Extend {
                calls,
                replace: true,
            })),
            (_, Some(import_command)) if add => Next::Do(Request::Run(import_command.clone())),
            _ if cancel || close => Next::Close,
            _ => Next::Stay,
        }
    }

    fn receive(&mut self, event: &DialogEvent<'_>) -> Reply {
        close_with_document(event)
    }
}

/// Draws the first rows with the samples they match.
fn first_rows_ui(ui: &mut Ui, t: &ThemeTokens, preview: &JoinPreview) {
    let rows = paint::format_grouped_number(preview.rows as u64);
    ui.label(
        theme::rich_text(tr!("The first of {rows} rows", rows))
            .font(font::semibold(12.0))
            .color(t.tx2),
    );
    ui.spacing_mut().item_spacing.y = 0.0;
    for row in &preview.first_rows {
        let (rect, response) =
            ui.allocate_exact_size(vec2(ui.available_width(), 20.0), Sense::hover());
        let found = row.sample.as_deref().unwrap_or(tr!("no sample"));
        response.widget_info(|| {
            WidgetInfo::labeled(Role::ListItem, true, format!("{} → {found}", row.key))
        });
        let (left, right) = rect.split_left_right_at_fraction(0.42);
        paint::text_left(ui.painter(), left, &row.key, font::mono(12.0), t.tx);
        let (mark, color) = if row.sample.is_some() {
            (icons::CHECK, t.ok)
        } else {
            (icons::X, t.warn)
        };
        paint::draw_icon(
            ui.painter(),
            egui::pos2(right.left() - 12.0, rect.center().y),
            mark,
            12.0,
            color,
        );
        paint::text_left(
            ui.painter(),
            right,
            found,
            font::mono(12.0),
            if row.sample.is_some() { t.tx } else { t.tx3 },
        );
    }
}
