//! The inspector: type, storage and fields of the selected sample. In a draft the id and scalar
//! fields can be edited.

pub mod state;

use arrow::datatypes::DataType;
use egui::{Frame, Id, Key, Margin, ScrollArea, Ui, vec2};

use crate::container::OpenOptions;
use crate::draft::Edit;
use crate::gui::action::Action;
use crate::gui::counted_texts;
use crate::gui::icons;
use crate::gui::outline::ancestors;
use crate::gui::panel_context::{PanelContext, Request};
use crate::gui::panels::panel::Panel;
use crate::gui::theme::{self, font, text_style};
use crate::gui::widgets::{self, Button, FieldNote, StatusMark, TextField, Tone, note_ui, paint};
use crate::model::{
    FieldSpec, IdFault, Payload, SampleKind, StudioLink, Value, check_sample_id, dtype_name,
    is_padding,
};
use crate::raster::{LayerInfo, RasterInfo};
use crate::studio::{Command, Document, DocumentId, RowRef};
use state::SamplePanel;

/// Drops text that was typed for another sample, and starts reading the header of the selected
/// FILE, for this panel and the preview.
pub fn refresh(panel: &mut SamplePanel, cx: &mut PanelContext<'_>) {
    let Some(document) = cx.document() else {
        return;
    };
    let key = cx.document_key();
    let selected = cx.session.selection.sample;
    if panel.typed_for != Some((key, selected)) {
        // Edits elsewhere in the draft keep the text of the field being edited.
        let same = panel
            .typed_for
            .is_some_and(|((serial, _), at)| serial == key.0 && at == selected);
        panel
            .typed
            .retain(|name, _| same && panel.focused.as_ref() == Some(name));
        panel.typed_for = Some((key, selected));
    }
    if let Some(at) = selected.filter(|&at| document.kind(at) == Some(SampleKind::File)) {
        cx.session.asset.read_header(cx.jobs, key, document, at);
    }
}

impl Panel for SamplePanel {
    fn contents_ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) {
        let Some(document) = cx.document() else {
            widgets::draw_empty_state(
                ui,
                icons::CURSOR,
                tr!("No sample"),
                tr!("Open a dataset first."),
            );
            return;
        };
        ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 0.0;
            match cx.session.selection.sample {
                None => root_ui(ui, cx, document),
                Some(at) => {
                    super::structure::fix::ui(ui, &mut self.fix, cx, document);
                    sample_ui(ui, self, cx, document, at);
                }
            }
        });
    }
}

fn root_ui(ui: &mut Ui, cx: &mut PanelContext<'_>, document: &Document) {
    let t = theme::tokens(ui);
    head(ui, icons::TREE_STRUCTURE, &document.title(), |ui| {
        if let Some(format) = document.format() {
            widgets::badge(ui, Tone::Info, None, format.badge());
        }
    });
    Frame::NONE
        .inner_margin(Margin::symmetric(12, 4))
        .show(ui, |ui| {
            ui.label(
                theme::rich_text(tr!(
                    "Select a sample in the hierarchy or the table to see its fields."
                ))
                .text_style(text_style("small12"))
                .color(t.tx2),
            );
        });
    widgets::section_header(ui, tr!("Levels"), |_| {});
    for level in 0..document.tree().levels.len() {
        let fields = document.fields(level).len();
        let rows = document.rows(level);
        let samples = counted_texts::format_samples(rows as u64);
        let fields = tr_n!(fields, "{n} field", "{n} fields", n = fields);
        pair(
            ui,
            &tr!("Level {level}", level),
            &format!("{samples}, {fields}"),
            false,
        );
    }
    let totals = cx.session.totals();
    if let Some(bytes) = totals.bytes {
        pair(ui, tr!("Size"), &paint::format_bytes(bytes), false);
    }
    pair(
        ui,
        tr!("Padded"),
        &paint::format_grouped_number(totals.padded),
        false,
    );
}

fn head(ui: &mut Ui, icon: &str, title: &str, badges: impl FnOnce(&mut Ui)) {
    let t = theme::tokens(ui);
    Frame::NONE
        .inner_margin(Margin {
            left: 12,
            right: 12,
            top: 10,
            bottom: 2,
        })
        .show(ui, |ui| {
            ui.horizontal(|ui| {
                ui.label(theme::rich_text(icon).font(font::icon(18.0)).color(t.tx2));
                ui.add(
                    egui::Label::new(theme::rich_text(title).font(font::mono_semibold(14.0)))
                        .truncate(),
                );
            });
            ui.add_space(4.0);
            ui.horizontal_wrapped(|ui| {
                ui.spacing_mut().item_spacing.x = 6.0;
                badges(ui);
            });
        });
}

fn sample_ui(
    ui: &mut Ui,
    panel: &mut SamplePanel,
    cx: &mut PanelContext<'_>,
    document: &Document,
    at: RowRef,
) {
    let Some((id, kind)) = document.id(at).zip(document.kind(at)) else {
        return;
    };
    let padded = is_padding(id);
    let icon = match kind {
        _ if padded => icons::CIRCLE_DASHED,
        SampleKind::Folder => icons::STACK,
        SampleKind::File => icons::of_file(id),
    };
    head(ui, icon, id, |ui| {
        widgets::badge(ui, Tone::Neutral, None, kind.as_str());
        widgets::badge(
            ui,
            Tone::Neutral,
            None,
            &tr!("Level {level}", level = at.level),
        );
        if padded {
            widgets::badge(ui, Tone::Neutral, Some(icons::CIRCLE_DASHED), tr!("Padded"));
        }
        match cx.session.status.samples.worst_mark(Some(at)) {
            StatusMark::Error => drop(widgets::badge(
                ui,
                Tone::Error,
                Some(icons::WARNING_OCTAGON),
                tr!("Has errors"),
            )),
            StatusMark::Warning => drop(widgets::badge(
                ui,
                Tone::Warning,
                Some(icons::WARNING),
                tr!("Has warnings"),
            )),
            _ => {}
        }
    });
    Frame::NONE
        .inner_margin(Margin::symmetric(12, 6))
        .show(ui, |ui| {
            ui.spacing_mut().item_spacing = vec2(6.0, 6.0);
            trail_ui(ui, cx, document, at);
            buttons_ui(ui, cx, document, at, kind);
            if document.draft().is_some() {
                rename_ui(ui, panel, cx, document, at, id);
            }
            findings_ui(ui, cx, at);
        });
    fields_ui(ui, panel, cx, document, at);
    if kind == SampleKind::File {
        asset_ui(ui, cx, document, at);
    } else {
        widgets::section_header(ui, tr!("Children"), |_| {});
        let children = document.tree().levels[at.level].children(at.row).len();
        pair(
            ui,
            tr!("Count"),
            &paint::format_grouped_number(children as u64),
            true,
        );
        if let Some(size) = document.size_bytes(at) {
            pair(ui, tr!("Size"), &paint::format_bytes(size), true);
        }
    }
    internal_ui(ui, document, at);
}

fn trail_ui(ui: &mut Ui, cx: &mut PanelContext<'_>, document: &Document, at: RowRef) {
    let t = theme::tokens(ui);
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing.x = 4.0;
        for above in ancestors(document.tree(), at) {
            if let Some(id) = document.id(above)
                && widgets::link(ui, id).clicked()
            {
                cx.request(Request::Select(Some(above)));
            }
            ui.label(
                theme::rich_text(icons::CARET_RIGHT)
                    .font(font::icon(10.0))
                    .color(t.tx3),
            );
        }
        let (siblings, place) = match document.node(at).and_then(|node| node.parent()) {
            Some((parent, position)) if parent.0.is_empty() => (document.rows(0), position),
            Some((parent, position)) => {
                let above = document.row_of(&parent).map_or(0, |at| {
                    document.tree().levels[at.level].children(at.row).len()
                });
                (above, position)
            }
            None => (0, 0),
        };
        let (position, total) = (
            paint::format_grouped_number(u64::from(place) + 1),
            paint::format_grouped_number(siblings as u64),
        );
        let text = tr!("{position} of {total}", position, total);
        ui.label(
            theme::rich_text(text)
                .text_style(text_style("small12"))
                .color(t.tx2),
        );
    });
}

fn buttons_ui(
    ui: &mut Ui,
    cx: &mut PanelContext<'_>,
    document: &Document,
    at: RowRef,
    kind: SampleKind,
) {
    let key = cx.document_key();
    ui.horizontal_wrapped(|ui| {
        if kind == SampleKind::File {
            let vsi = match cx.session.asset.find_facts(key, at) {
                Some(Ok(asset)) => Ok(asset.source.asset().to_vsi()),
                Some(Err(error)) => Err(error.summary().to_owned()),
                None => Err(tr!("Locating the bytes").to_owned()),
            };
            let blocked = vsi.as_ref().err().cloned();
            let button = Button::secondary(tr!("GDAL path")).icon(icons::COPY);
            let button = button
                .tooltip(tr!("Copy the path as GDAL opens it"))
                .with_disabled_reason(blocked);
            if ui.add(button).clicked()
                && let Ok(vsi) = vsi
            {
                cx.request(Request::Copy(vsi));
            }
        }
        let ids = Button::secondary(tr!("Id path"))
            .icon(icons::COPY)
            .tooltip(tr!("Copy the ids from the root"));
        if ui.add(ids).clicked()
            && let Some(path) = document.path(at)
        {
            cx.request(Request::Copy(path.to_archive()));
        }
        // A link has no place for the options of a dataset that was opened with others.
        let dataset = document
            .opened_dataset()
            .filter(|open| open.options == OpenOptions::default())
            .map(|open| &open.reader.info().path);
        if let Some(dataset) = dataset
            && ui
                .add(
                    Button::secondary(tr!("Link"))
                        .icon(icons::COPY)
                        .tooltip(tr!("Copy a link that opens this sample in Taco Studio")),
                )
                .clicked()
        {
            let link = StudioLink {
                dataset: dataset.clone(),
                sample: document.path(at),
            };
            cx.request(Request::Copy(link.to_string()));
        }
        if kind == SampleKind::File
            && ui
                .add(Button::secondary(tr!("Save file…")).icon(icons::DOWNLOAD_SIMPLE))
                .clicked()
        {
            cx.request(Request::Do(Action::SaveSample));
        }
    });
}

/// Each sample has its own text fields, so that undo history is not shared.
fn field_id(serial: DocumentId, at: RowRef, name: &str) -> Id {
    Id::unique("sample-field").with((serial, at.level, at.row, name))
}

fn note_focus(panel: &mut SamplePanel, response: &egui::Response, name: &str) {
    let focused = &mut panel.focused;
    if response.has_focus() {
        *focused = Some(name.to_owned());
    } else if focused.as_deref() == Some(name) {
        *focused = None;
    }
}

fn rename_ui(
    ui: &mut Ui,
    panel: &mut SamplePanel,
    cx: &mut PanelContext<'_>,
    document: &Document,
    at: RowRef,
    id: &str,
) {
    let typed = panel
        .typed
        .entry("\0id".to_owned())
        .or_insert_with(|| id.to_owned());
    let note = match check_sample_id(typed) {
        Err(fault) if typed != id => FieldNote::Error(id_fault_text(fault)),
        _ => FieldNote::None,
    };
    let field = TextField::new("id", typed)
        .id(field_id(cx.session.serial, at, "sample-id"))
        .name(tr!("Sample id"))
        .mono()
        .note(note);
    let response = field.show(ui);
    note_focus(panel, &response, "\0id");
    if std::mem::take(&mut panel.rename) {
        response.request_focus();
    }
    let typed = panel.typed.get("\0id").cloned().unwrap_or_default();
    if response.lost_focus() && typed != id {
        if ui.input(|input| input.key_pressed(Key::Escape)) {
            panel.typed.clear();
        } else if let Some(node) = document.node(at) {
            cx.run(Command::Edit {
                edit: Edit::Rename {
                    sample: node,
                    id: typed.into(),
                },
            });
        }
    }
}

/// Why an id is invalid.
fn id_fault_text(fault: IdFault) -> String {
    match fault {
        IdFault::Empty => tr!("The id is empty; an id needs at least one character.").to_owned(),
        IdFault::Separator(separator) => {
            tr!(
                "The id contains \"{separator}\"; ids may not contain / \\ or :.",
                separator
            )
        }
        IdFault::Control(control) => {
            tr!(
                "The id contains the control character {code}; remove it.",
                code = format!("U+{control:04X}")
            )
        }
        IdFault::PathStep => {
            tr!("The id is a path step (\".\" or \"..\"); give it a name.").to_owned()
        }
        IdFault::Reserved => {
            tr!("The id starts with \"__\", which is reserved for padding; drop the underscores.")
                .to_owned()
        }
        IdFault::TooLong(length) => tr!(
            "The id is {length} bytes long; file systems allow 255.",
            length
        ),
        // Errors that only concern other kinds of ids.
        fault => tr!("The id {fault}.", fault),
    }
}

fn findings_ui(ui: &mut Ui, cx: &PanelContext<'_>, at: RowRef) {
    let here = cx
        .studio
        .report()
        .findings
        .iter()
        .filter(|finding| crate::gui::sample_status::finding_sample(finding) == Some(at));
    for finding in here.take(5) {
        let text = finding.message.clone();
        note_ui(
            ui,
            &if finding.severity == crate::model::Severity::Error {
                FieldNote::Error(text)
            } else {
                FieldNote::Warning(text)
            },
        );
    }
}

fn fields_ui(
    ui: &mut Ui,
    panel: &mut SamplePanel,
    cx: &mut PanelContext<'_>,
    document: &Document,
    at: RowRef,
) {
    let fields = document.fields(at.level);
    if fields.is_empty() {
        return;
    }
    // Fields are grouped by namespace; those without one come first.
    let mut groups: Vec<(String, Vec<FieldSpec>)> = Vec::new();
    for field in fields {
        let group = field
            .name
            .split_once(':')
            .map_or("Fields", |(namespace, _)| namespace)
            .to_owned();
        match groups.iter_mut().find(|(name, _)| *name == group) {
            Some((_, members)) => members.push(field),
            None => groups.push((group, vec![field])),
        }
    }
    groups.sort_by_key(|(name, _)| name != "Fields");
    let draft = document.draft().is_some();
    for (group, members) in groups {
        let id = Id::unique("fields").with(&group);
        let title = if group == "Fields" {
            tr!("Fields")
        } else {
            group.as_str()
        };
        if !widgets::collapsing_header(ui, id, title, true, |_| {}) {
            continue;
        }
        if !document.level_ready(at.level) {
            pair(ui, "…", tr!("reading the level table"), true);
            continue;
        }
        for field in members {
            if draft && is_plain(&field.dtype) {
                field_ui(ui, panel, cx, document, at, &field);
            } else {
                let text = document.text(at, &field.name);
                let shown = pair(ui, &field.name, &text, true);
                shown.on_hover_text(theme::rich_text(format!(
                    "{} ({})\n{text}",
                    field.name,
                    dtype_name(&field.dtype)
                )));
            }
        }
        ui.add_space(4.0);
    }
}

fn is_plain(dtype: &DataType) -> bool {
    matches!(
        dtype,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Boolean
    ) || dtype.is_integer()
        || matches!(dtype, DataType::Float32 | DataType::Float64)
}

fn field_ui(
    ui: &mut Ui,
    panel: &mut SamplePanel,
    cx: &mut PanelContext<'_>,
    document: &Document,
    at: RowRef,
    field: &FieldSpec,
) {
    let (now, serial) = (document.text(at, &field.name), cx.session.serial);
    let typed = panel
        .typed
        .entry(field.name.clone())
        .or_insert_with(|| now.clone());
    let parsed = parse(typed, &field.dtype);
    let note = match &parsed {
        Err(wanted) => {
            let wanted = crate::text::translate_text(wanted);
            FieldNote::Error(tr!(
                "\"{typed}\" is no {wanted}. Type a {wanted}, or leave it empty.",
                typed,
                wanted
            ))
        }
        Ok(_) => FieldNote::None,
    };
    let mut response = None;
    Frame::NONE
        .inner_margin(Margin::symmetric(12, 3))
        .show(ui, |ui| {
            let kind = dtype_name(&field.dtype);
            let id = field_id(serial, at, &field.name);
            response = Some(
                TextField::new(&field.name, typed)
                    .id(id)
                    .mono()
                    .trailing(&kind)
                    .note(note)
                    .show(ui),
            );
        });
    let typed = typed.clone();
    if let Some(response) = &response {
        note_focus(panel, response, &field.name);
    }
    if response.is_some_and(|response| response.lost_focus())
        && typed != now
        && let (Ok(value), Some(node)) = (parsed, document.node(at))
    {
        cx.run(Command::Edit {
            edit: Edit::SetValue {
                sample: node,
                field: field.name.clone(),
                value,
            },
        });
    }
}

/// Parses typed text as a value of a type; `Err` names what the type takes.
pub fn parse(text: &str, dtype: &DataType) -> std::result::Result<Value, &'static str> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(Value::Null);
    }
    let digits = text.replace(['\u{2009}', ' '], "");
    match dtype {
        DataType::Boolean => text
            .to_lowercase()
            .parse()
            .map(Value::Bool)
            .map_err(|_| mark!("true or false")),
        dtype if dtype.is_unsigned_integer() => digits
            .parse()
            .map(Value::UInt)
            .map_err(|_| mark!("whole number from 0")),
        dtype if dtype.is_signed_integer() => digits
            .parse()
            .map(Value::Int)
            .map_err(|_| mark!("whole number")),
        DataType::Float32 | DataType::Float64 => digits
            .parse()
            .map(Value::Float)
            .map_err(|_| mark!("number")),
        _ => Ok(Value::text(text)),
    }
}

fn asset_ui(ui: &mut Ui, cx: &mut PanelContext<'_>, document: &Document, at: RowRef) {
    let key = cx.document_key();
    widgets::section_header(ui, tr!("Data"), |_| {});
    if let Some(Payload::Bytes(bytes)) = document
        .draft()
        .and_then(|draft| Some(&draft.dataset().sample(&document.node(at)?)?.payload))
    {
        pair(
            ui,
            tr!("Bytes"),
            &tr!(
                "{size} in memory",
                size = paint::format_bytes(bytes.len() as u64)
            ),
            true,
        );
        return;
    }
    match cx.session.asset.find_facts(key, at) {
        None => drop(pair(ui, "…", tr!("reading headers"), true)),
        Some(Err(error)) => message_ui(ui, &error.to_string()),
        Some(Ok(asset)) => {
            pair(ui, tr!("Size"), &paint::format_bytes(asset.size), true);
            let path = asset.source.asset().to_vsi();
            pair(ui, tr!("GDAL path"), &path, true).on_hover_text(theme::rich_text(&path));
            match &asset.raster {
                Err(error) => message_ui(ui, &error.to_string()),
                Ok(info) => raster_ui(ui, info),
            }
        }
    }
}

fn message_ui(ui: &mut Ui, text: &str) {
    Frame::NONE
        .inner_margin(Margin::symmetric(12, 6))
        .show(ui, |ui| note_ui(ui, &FieldNote::Warning(text.to_owned())));
}

fn raster_ui(ui: &mut Ui, info: &RasterInfo) {
    pair(ui, tr!("Driver"), &info.driver, true);
    if info.is_vector() {
        info.layers
            .iter()
            .for_each(|layer| drop(pair(ui, tr!("Layer"), &layer_text(layer), true)));
    } else {
        let size = format!(
            "{} × {}",
            paint::format_grouped_number(info.width as u64),
            paint::format_grouped_number(info.height as u64)
        );
        pair(ui, tr!("Size in pixels"), &size, true);
        let dtype = info.bands.first().map_or("", |band| band.dtype.as_str());
        pair(
            ui,
            tr!("Bands"),
            &format!("{} × {dtype}", info.band_count),
            true,
        );
    }
    if let Some(variable) = &info.variable {
        let sentence = variable.sentence();
        pair(ui, tr!("Read"), &sentence, false).on_hover_text(theme::rich_text(sentence));
    }
    if let Some(crs) = info.crs_code.as_ref().or(info.crs_name.as_ref()) {
        pair(ui, tr!("Coordinates"), crs, true);
    }
    if let Some(transform) = info.geotransform {
        pair(
            ui,
            tr!("Pixel size"),
            &format!("{} × {}", transform[1], transform[5].abs()),
            true,
        );
        pair(
            ui,
            tr!("Origin"),
            &format!("{}, {}", transform[0], transform[3]),
            true,
        );
    }
    if let Some(nodata) = info.bands.first().and_then(|band| band.nodata_number()) {
        pair(ui, tr!("Nodata"), &nodata.to_string(), true);
    }
    if let Some(compression) = &info.compression {
        pair(ui, tr!("Compression"), compression, true);
    }
    ui.add_space(6.0);
}

fn internal_ui(ui: &mut Ui, document: &Document, at: RowRef) {
    let Some(table) = document
        .opened_dataset()
        .and_then(|open| open.reader.levels().decoded_table(at.level))
    else {
        return;
    };
    let fields: Vec<(usize, FieldSpec)> = table
        .fields()
        .into_iter()
        .enumerate()
        .filter(|(_, field)| field.name.starts_with("internal:"))
        .collect();
    if fields.is_empty() {
        return;
    }
    let t = theme::tokens(ui);
    let open =
        widgets::collapsing_header(ui, Id::unique("fields-internal"), "internal", false, |ui| {
            ui.label(
                theme::rich_text(tr!("read-only"))
                    .font(font::regular(11.0))
                    .color(t.tx3),
            );
            ui.label(
                theme::rich_text(icons::LOCK_SIMPLE)
                    .font(font::icon(12.0))
                    .color(t.tx3),
            );
        });
    if open {
        for (column, field) in fields {
            let text = table.text(at.row as usize, column);
            pair(ui, &field.name, &text, true).on_hover_text(theme::rich_text(&text));
        }
    }
}

/// Name of a layer, with its number of features if that is known.
fn layer_text(layer: &LayerInfo) -> String {
    match layer.features {
        Some(count) => format!(
            "{}, {}",
            layer.name,
            tr_n!(
                count,
                "{n} feature",
                "{n} features",
                n = paint::format_grouped_number(count)
            )
        ),
        None => layer.name.clone(),
    }
}

/// A name and its value, 22 points high.
pub fn pair(ui: &mut Ui, name: &str, value: &str, mono: bool) -> egui::Response {
    let t = theme::tokens(ui);
    let (rect, response) =
        ui.allocate_exact_size(vec2(ui.available_width(), 22.0), egui::Sense::hover());
    response.widget_info(|| {
        egui::WidgetInfo::labeled(egui::Role::Label, true, format!("{name}: {value}"))
    });
    if ui.is_rect_visible(rect) {
        let inner = rect.shrink2(vec2(12.0, 0.0));
        let split = inner.left() + (inner.width() * 0.42).min(170.0);
        paint::text_left(
            ui.painter(),
            inner.with_max_x(split - 8.0),
            name,
            font::regular(12.0),
            t.tx2,
        );
        let size = if mono {
            font::mono(12.0)
        } else {
            font::regular(12.0)
        };
        paint::text_left(ui.painter(), inner.with_min_x(split), value, size, t.tx);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_text_becomes_a_value_of_the_type() {
        assert_eq!(parse("", &DataType::Int32), Ok(Value::Null));
        assert_eq!(
            parse("1\u{2009}204", &DataType::Int32),
            Ok(Value::Int(1204))
        );
        assert_eq!(parse("-3", &DataType::UInt8), Err("whole number from 0"));
        assert_eq!(parse("2.5", &DataType::Float32), Ok(Value::Float(2.5)));
        assert_eq!(parse("True", &DataType::Boolean), Ok(Value::Bool(true)));
        assert_eq!(parse(" Lima ", &DataType::Utf8), Ok(Value::text("Lima")));
    }
}
