//! The form of "Edit in place": it changes columns and collection of a finished dataset, in place
//! or in a copy, adds a collection to a TORTILLA, or removes that of a TACO.

use std::collections::BTreeSet;
use std::path::PathBuf;

use egui::{ScrollArea, Ui, vec2};
use serde_json::{Map, Value as Json};

use crate::container::{Format, read_collection_file};
use crate::gui::dialogs::operation::dataset_fields::{InputField, OutputField};
use crate::gui::dialogs::operation::fields::{self, OperationFields, path_in};
use crate::gui::dialogs::operation::form::{
    OperationForm, OperationStart, OperationTexts, PreviewWork,
};
use crate::gui::dialogs::operation::line::ReportLine;
use crate::gui::dialogs::operation::preview::OperationPreview;
use crate::gui::dropped_paths::display_path;
use crate::gui::file_dialog::FileRequest;
use crate::gui::icons;
use crate::gui::panel_context::{PanelContext, Request};
use crate::gui::theme::{self, font};
use crate::gui::widgets::{self, Button, Segment, TextField, paint};
use crate::jobs::AsyncValue;
use crate::ops::{
    DatasetEdit, EditRequest, EditWay, EditableContents, Generation, editable_contents, plan_edit,
};
use crate::studio::{Command, Document, Studio};

/// Columns that readers need to find samples and their bytes; they can't be removed.
const REQUIRED_COLUMNS: [&str; 6] = [
    "tortilla:id",
    "tortilla:offset",
    "tortilla:length",
    "tortilla:file_format",
    "id",
    "type",
];
/// Prefixes of the collection fields that writers generate.
const GENERATED: [&str; 2] = ["taco:", "_tacocat"];

/// The dataset to edit, and the changes.
pub struct DatasetEditForm {
    input: InputField,
    contents: AsyncValue<PathBuf, EditableContents>,
    /// The level whose columns change.
    level: usize,
    /// Columns to remove.
    dropped: BTreeSet<String>,
    /// Path of a table with columns to add or replace.
    table: String,
    /// Typed fields of the collection; `None` removes the field.
    fields: Vec<(String, Option<String>)>,
    new_field: String,
    /// Path of a JSON file that replaces the collection.
    collection: String,
    /// A TACO becomes a TORTILLA, or a TORTILLA a TACO.
    change_generation: bool,
    in_place: bool,
    output: OutputField,
}

impl std::fmt::Debug for DatasetEditForm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Only what the preview depends on: the frame compares this text.
        let Self {
            input,
            level,
            dropped,
            table,
            fields,
            collection,
            change_generation,
            in_place,
            output,
            ..
        } = self;
        write!(
            f,
            "{:?}",
            (
                input,
                level,
                dropped,
                table,
                fields,
                collection,
                change_generation,
                in_place,
                output
            )
        )
    }
}

impl DatasetEditForm {
    /// Initial values for the opened dataset.
    pub fn new(start: &OperationStart) -> Self {
        let ending = start
            .input
            .as_ref()
            .and_then(|path| Some(format!(".{}", path.extension()?.to_string_lossy())));
        Self {
            input: InputField::new(start),
            contents: AsyncValue::default(),
            level: 0,
            dropped: BTreeSet::new(),
            table: String::new(),
            fields: Vec::new(),
            new_field: String::new(),
            collection: String::new(),
            change_generation: false,
            in_place: true,
            output: OutputField::new(start.output_text("-edited", &ending.unwrap_or_default())),
        }
    }

    /// Contents of the dataset; `None` until they are read.
    fn read_contents(&mut self, cx: &PanelContext<'_>) -> Option<Result<EditableContents, String>> {
        let path = self.input.path().ok()?;
        let place = path.clone();
        self.contents
            .update(cx.jobs, path.clone(), tr!("Read the footer"), move |ctx| {
                editable_contents(&place, ctx)
            });
        Some(match self.contents.get(&path)? {
            Ok(contents) => Ok(contents.clone()),
            Err(error) => Err(error.report()),
        })
    }

    fn columns_ui(&mut self, ui: &mut Ui, contents: &EditableContents) {
        let levels = contents.columns.len();
        self.level = self.level.min(levels.saturating_sub(1));
        if levels > 1 {
            fields::draw_labelled_line(ui, tr!("Level of the columns"), |ui| {
                let names: Vec<String> = (0..levels).map(|level| level.to_string()).collect();
                let segments: Vec<Segment<'_, usize>> = names
                    .iter()
                    .enumerate()
                    .map(|(level, name)| Segment::new(level, name))
                    .collect();
                let before = self.level;
                widgets::draw_segments(ui, "edit-level", &mut self.level, &segments);
                if before != self.level {
                    self.dropped.clear();
                }
            });
        }
        let Some(columns) = contents.columns.get(self.level) else {
            return;
        };
        let n = paint::format_grouped_number(columns.len() as u64);
        heading(ui, &tr_n!(columns.len(), "{n} column", "{n} columns", n));
        ScrollArea::vertical()
            .id_salt("footer-columns")
            .max_height(130.0)
            .show(ui, |ui| {
                ui.set_min_width(ui.available_width());
                ui.spacing_mut().item_spacing.y = 2.0;
                for pair in columns.chunks(2) {
                    ui.columns(2, |cells| {
                        for (ui, field) in cells.iter_mut().zip(pair) {
                            let is_required = REQUIRED_COLUMNS.contains(&field.name.as_str());
                            let mut kept = is_required || !self.dropped.contains(&field.name);
                            let label = tr!("Keep {column}", column = field.name);
                            ui.add_enabled_ui(!is_required, |ui| {
                                if widgets::checkbox(ui, &mut kept, &label).changed() {
                                    if kept {
                                        self.dropped.remove(&field.name)
                                    } else {
                                        self.dropped.insert(field.name.clone())
                                    };
                                }
                            });
                        }
                    });
                }
            });
    }

    fn collection_ui(
        &mut self,
        ui: &mut Ui,
        fields: &mut OperationFields<'_>,
        contents: &EditableContents,
    ) {
        let Some(collection) = &contents.collection else {
            widgets::checkbox(
                ui,
                &mut self.change_generation,
                tr!("Add a collection: the file becomes a TACO"),
            );
            if self.change_generation {
                let hint = tr!("a JSON file with the fields of a TACO 0.2");
                fields.path(
                    ui,
                    tr!("Collection"),
                    &mut self.collection,
                    hint,
                    FileRequest::ToolFile,
                );
            }
            return;
        };
        if contents.format == Format::Taco {
            widgets::checkbox(
                ui,
                &mut self.change_generation,
                tr!("Remove the collection: the file becomes a TORTILLA"),
            );
        }
        if self.change_generation {
            return;
        }
        heading(ui, tr!("Collection"));
        ScrollArea::vertical()
            .id_salt("footer-collection")
            .max_height(170.0)
            .show(ui, |ui| {
                ui.set_min_width(ui.available_width());
                ui.spacing_mut().item_spacing.y = 4.0;
                let added: Vec<String> = self
                    .fields
                    .iter()
                    .map(|(key, _)| key.clone())
                    .filter(|key| !collection.contains_key(key))
                    .collect();
                let is_own = |key: &&String| !GENERATED.iter().any(|start| key.starts_with(start));
                let keys: Vec<String> = collection
                    .keys()
                    .filter(is_own)
                    .cloned()
                    .chain(added)
                    .collect();
                for key in keys {
                    self.field_ui(ui, &key, collection.get(&key));
                }
                ui.horizontal(|ui| {
                    TextField::new(tr!("New field"), &mut self.new_field)
                        .hide_label()
                        .mono()
                        .hint(tr!("name of a field"))
                        .width(170.0)
                        .show(ui);
                    let name = self.new_field.trim().to_owned();
                    let blocked = if name.is_empty() {
                        Some(tr!("Type its name first"))
                    } else if collection.contains_key(&name) {
                        Some(tr!("This field exists already"))
                    } else {
                        None
                    };
                    if ui
                        .add(
                            Button::secondary(tr!("Add field"))
                                .icon(icons::PLUS)
                                .with_disabled_reason(blocked),
                        )
                        .clicked()
                    {
                        self.fields.push((name, Some(String::new())));
                        self.new_field.clear();
                    }
                });
            });
        let hint = tr!("empty, or a JSON file in place of all fields");
        fields.path(
            ui,
            tr!("Whole collection"),
            &mut self.collection,
            hint,
            FileRequest::ToolFile,
        );
    }

    fn field_ui(&mut self, ui: &mut Ui, key: &str, old: Option<&Json>) {
        let t = theme::tokens(ui);
        let at = self.fields.iter().position(|(name, _)| name == key);
        let before = old.map(format_input_text).unwrap_or_default();
        let typed = at.map_or_else(|| Some(before.clone()), |at| self.fields[at].1.clone());
        ui.horizontal(|ui| {
            let (rect, _) = ui.allocate_exact_size(vec2(170.0, 26.0), egui::Sense::hover());
            let Some(mut text) = typed else {
                paint::text_left(ui.painter(), rect, key, font::mono(12.0), t.txd);
                ui.label(
                    theme::rich_text(tr!("is removed"))
                        .font(font::regular(12.0))
                        .color(t.warn),
                );
                if ui
                    .add(Button::ghost(tr!("Keep")).name(tr!("Keep field {key}", key)))
                    .clicked()
                {
                    self.fields.retain(|(name, _)| name != key);
                }
                return;
            };
            paint::text_left(ui.painter(), rect, key, font::mono(12.0), t.tx);
            let name = tr!("Value of {field}", field = key);
            let width = ui.available_width() - 36.0;
            if TextField::new(&name, &mut text)
                .hide_label()
                .mono()
                .width(width)
                .show(ui)
                .changed()
            {
                self.set_field(key, Some(text), &before, old.is_some());
            }
            if ui
                .add(Button::icon_only(icons::X, tr!("Remove field {key}", key)))
                .clicked()
            {
                self.set_field(key, None, &before, old.is_some());
            }
        });
    }

    /// Notes the value of a field, or with `None` its removal; not when nothing changes.
    fn set_field(&mut self, key: &str, value: Option<String>, before: &str, exists: bool) {
        self.fields.retain(|(name, _)| name != key);
        let same = exists && value.as_deref() == Some(before);
        if !same && (exists || value.is_some()) {
            self.fields.push((key.to_owned(), value));
        }
    }
}

fn heading(ui: &mut Ui, text: &str) {
    ui.label(
        theme::rich_text(text)
            .font(font::semibold(12.0))
            .color(theme::tokens(ui).tx2),
    );
}

/// Input text of a value: a string without quotes, unless it would be parsed as another type.
fn format_input_text(value: &Json) -> String {
    match value {
        Json::String(text) if fields::parse_json_or_text(text) == *value => text.clone(),
        other => other.to_string(),
    }
}

/// The line of the preview that says how the edit is written.
fn way_line(way: &EditWay) -> ReportLine {
    match way {
        EditWay::InPlace { files } if files.is_empty() => {
            ReportLine::good(tr!("No file changes: the dataset has these values already"))
        }
        EditWay::InPlace { files } => {
            let n = paint::format_grouped_number(files.len() as u64);
            let first = files.first().cloned().unwrap_or_default();
            ReportLine::good(tr_n!(
                files.len(),
                "Replaces {n} metadata file ({first}); data files are not touched",
                "Replaces up to {n} metadata files ({first}, …); data files are not touched",
                n,
                first
            ))
        }
        EditWay::Footer => ReportLine::good(tr!(
            "Replaces footer and collection; the samples are not touched"
        )),
        EditWay::Tail { bytes } => ReportLine::good(tr!(
            "Replaces the metadata of the ZIP ({bytes}) behind its data; the samples are not \
                touched",
            bytes = paint::format_bytes(*bytes)
        )),
        EditWay::Anew { bytes, reason } => ReportLine::warning(tr!(
            "Writes the whole dataset anew, with {bytes} of data: {reason}",
            bytes = paint::format_bytes(*bytes),
            reason
        )),
    }
}

impl OperationForm for DatasetEditForm {
    fn words(&self) -> OperationTexts {
        OperationTexts {
            icon: icons::PENCIL_SIMPLE,
            title: tr!("Edit in place"),
            about: tr!(
                "Changes columns and collection of a finished dataset where it is. Only metadata \
                    is written, and the samples stay. Where the layout of a ZIP does not allow \
                    that, the preview says that it is written anew."
            ),
            verb: tr!("Apply changes"),
        }
    }

    fn options_ui(
        &mut self,
        ui: &mut Ui,
        fields: &mut OperationFields<'_>,
        cx: &mut PanelContext<'_>,
    ) {
        let before = self.input.text.clone();
        let hint = tr!("a FOLDER, ZIP, .tortilla or .taco, or the folder of its parts");
        self.input.ui(ui, fields, tr!("Dataset"), hint);
        if before != self.input.text {
            self.dropped.clear();
            self.fields.clear();
            self.change_generation = false;
            self.level = 0;
        }
        if let Some(Ok(contents)) = self.read_contents(cx) {
            self.columns_ui(ui, &contents);
            let hint =
                tr!("CSV, JSON or Parquet, by id or path; its columns are added or replaced");
            fields.path(
                ui,
                tr!("Columns of a table"),
                &mut self.table,
                hint,
                FileRequest::ToolFile,
            );
            self.collection_ui(ui, fields, &contents);
            if contents.files > 1 {
                self.in_place = true;
            }
            ui.add_enabled_ui(contents.files == 1, |ui| {
                fields::draw_labelled_line(ui, tr!("Write"), |ui| {
                    let targets = [
                        Segment::new(true, tr!("into the dataset itself")),
                        Segment::new(false, tr!("into a copy")),
                    ];
                    widgets::draw_segments(ui, "footer-place", &mut self.in_place, &targets);
                });
            });
        }
        if !self.in_place {
            self.output.ui(ui, fields, tr!("Copy"), "");
            self.output.replace_ui(ui);
        }
    }

    fn work(&self, _cx: &PanelContext<'_>) -> Result<PreviewWork, String> {
        let input = self.input.path()?;
        let destination = if self.in_place {
            None
        } else {
            Some(self.output.destination()?)
        };
        let set: Map<String, Json> = if self.change_generation {
            Map::new()
        } else {
            self.fields
                .iter()
                .map(|(key, text)| {
                    (
                        key.clone(),
                        text.as_deref()
                            .map_or(Json::Null, fields::parse_json_or_text),
                    )
                })
                .collect()
        };
        let (dropped, metadata) = (
            self.dropped.iter().cloned().collect::<Vec<_>>(),
            path_in(&self.table),
        );
        let (collection, change_generation) = (path_in(&self.collection), self.change_generation);
        let level = self.level;
        Ok(Box::new(move |ctx| {
            let contents = editable_contents(&input, ctx)?;
            let n = paint::format_grouped_number(contents.samples as u64);
            let mut lines = vec![ReportLine::fact(tr_n!(
                contents.samples,
                "Reads: {n} sample of level 0",
                "Reads: {n} samples of level 0",
                n
            ))];
            lines.extend(
                dropped
                    .iter()
                    .map(|column| ReportLine::warning(tr!("Removes the column {column}", column))),
            );
            if let Some(table) = &metadata {
                lines.push(ReportLine::fact(tr!(
                    "Adds or replaces columns from {path}",
                    path = display_path(table)
                )));
            }
            for (key, value) in &set {
                lines.push(match value {
                    Json::Null => ReportLine::warning(tr!("Removes the field {key}", key)),
                    value => ReportLine::fact(tr!("Sets the field {key} to {value}", key, value)),
                });
            }
            let new_collection = collection
                .filter(|_| contents.collection.is_some() != change_generation)
                .map(|path| read_collection_file(&path));
            let new_collection = new_collection.transpose()?.map(|read| read.fields);
            let become_generation = change_generation.then_some(match contents.collection {
                Some(_) => Generation::Tortilla,
                None => Generation::Taco,
            });
            match become_generation {
                Some(Generation::Tortilla) => lines.push(ReportLine::warning(tr!(
                    "Removes the collection: the file becomes a TORTILLA"
                ))),
                Some(Generation::Taco) => lines.push(ReportLine::fact(tr!(
                    "Adds a collection: the file becomes a TACO"
                ))),
                None => {}
            }
            if new_collection.is_some() && become_generation.is_none() {
                lines.push(ReportLine::warning(tr!("Replaces the whole collection")));
            }
            let nothing = dropped.is_empty()
                && metadata.is_none()
                && set.is_empty()
                && new_collection.is_none()
                && !change_generation;
            let lacks_collection =
                become_generation == Some(Generation::Taco) && new_collection.is_none();
            let output = destination.as_ref().map(|output| output.path.clone());
            let overwrite = destination.as_ref().is_some_and(|output| output.replace);
            let command = match become_generation {
                Some(_) => Command::operate(EditRequest {
                    input: input.clone(),
                    output,
                    overwrite,
                    level,
                    metadata,
                    key: None,
                    drop: dropped,
                    collection: new_collection,
                    set,
                    become_generation,
                }),
                None => {
                    let request = DatasetEdit {
                        input: input.clone(),
                        output,
                        overwrite,
                        level,
                        metadata,
                        drop: dropped,
                        collection: new_collection,
                        set,
                        ..DatasetEdit::default()
                    };
                    if !nothing {
                        lines.push(way_line(&plan_edit(&request, ctx)?));
                    }
                    Command::operate(request)
                }
            };
            let mut preview = OperationPreview::new(command);
            preview.lines = lines;
            preview = match destination {
                Some(output) => preview.destination(&output),
                None => {
                    let path = display_path(&input);
                    preview.line(ReportLine::warning(tr!(
                        "Changes {path} in place; every sample stays byte for byte",
                        path
                    )))
                }
            };
            Ok(if nothing {
                preview.obstacle(tr!("Nothing is changed yet"))
            } else if lacks_collection {
                preview.obstacle(tr!("Name the JSON file of the collection"))
            } else {
                preview
            })
        }))
    }

    /// Opens the dataset again if it is open and was changed in place: its reader has the old
    /// metadata.
    fn afterwards(&self, studio: &Studio) -> Vec<Request> {
        let changed = self.in_place && self.input.is_opened();
        let Some(open) = studio.document().and_then(Document::opened_dataset) else {
            return Vec::new();
        };
        let path = &open.reader.info().path;
        if !changed || self.input.path().ok().as_ref() != Some(path) {
            return Vec::new();
        }
        vec![Request::Run(Command::OpenWith {
            path: path.clone(),
            options: Box::new(open.options.clone()),
        })]
    }
}
