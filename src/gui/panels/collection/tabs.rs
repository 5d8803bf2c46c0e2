//! The tabs of the collection form: labels with colours, the sensor's bands on the spectrum,
//! publications, split, responsible AI, and the raw JSON, which can be edited too.

use egui::{
    Color32, Frame, Margin, Rect, Role, Sense, Stroke, StrokeKind, Ui, WidgetInfo, pos2, vec2,
};
use egui_plot::{GridMark, PlotPoint, Polygon, Text};
use serde_json::{Value as Json, json};

use super::json_pointer::text_at;
use super::state::Tab;
use super::{Form, TextLook};
use crate::draft::Edit;
use crate::extensions::builtin;
use crate::extensions::collection::optical::sensor_names;
use crate::extensions::collection::texts::{RAI_QUESTIONS, STRATEGIES};
use crate::gui::file_dialog::FileRequest;
use crate::gui::icons;
use crate::gui::panel_context::Request;
use crate::gui::theme::{self, font};
use crate::gui::widgets::plot::{self, Axes};
use crate::gui::widgets::{self, Button, FieldNote, TextField, note_ui, paint};
use crate::model::Collection;
use crate::studio::Command;

/// Completeness of the description: present and missing parts.
pub fn completeness(collection: &Collection) -> (usize, Vec<&'static str>) {
    let parts = [
        ("id", has_field_content(collection, "id")),
        (
            "dataset_version",
            has_field_content(collection, "dataset_version"),
        ),
        ("description", has_field_content(collection, "description")),
        ("licenses", has_field_content(collection, "licenses")),
        ("providers", has_field_content(collection, "providers")),
        ("tasks", has_field_content(collection, "tasks")),
        ("title", has_field_content(collection, "title")),
        ("curators", has_field_content(collection, "curators")),
        ("keywords", has_field_content(collection, "keywords")),
        (
            mark!("labels or bands"),
            has_content_with_prefix(collection, "labels:")
                || has_content_with_prefix(collection, "optical:"),
        ),
        (
            "publications",
            has_field_content(collection, "publications")
                || has_content_with_prefix(collection, "sci:"),
        ),
        (
            mark!("split strategy"),
            has_field_content(collection, "split:strategy"),
        ),
        (
            mark!("responsible AI"),
            has_content_with_prefix(collection, "rai:"),
        ),
    ];
    let missing: Vec<&'static str> = parts
        .iter()
        .filter(|(_, there)| !there)
        .map(|(name, _)| *name)
        .collect();
    (parts.len() - missing.len(), missing)
}

/// White space alone does not fill a field.
pub(super) fn has_field_content(collection: &Collection, key: &str) -> bool {
    match collection.get(key) {
        None | Some(Json::Null) => false,
        Some(Json::String(text)) => !text.trim().is_empty(),
        Some(Json::Array(items)) => !items.is_empty(),
        Some(_) => true,
    }
}

fn has_content_with_prefix(collection: &Collection, prefix: &str) -> bool {
    collection
        .fields
        .keys()
        .any(|key| key.starts_with(prefix) && has_field_content(collection, key))
}

impl Form<'_, '_> {
    /// Draws the chosen tab; false for the general form.
    pub(super) fn tab_ui(&mut self, ui: &mut Ui) -> bool {
        match self.panel.tabs.tab {
            Tab::General => return false,
            Tab::Labels => self.labels_ui(ui),
            Tab::Bands => self.bands_ui(ui),
            Tab::Papers => self.papers_ui(ui),
            Tab::Split => self.split_ui(ui),
            Tab::Rai => self.rai_ui(ui),
            Tab::Json => self.json_ui(ui),
        }
        true
    }

    /// Draws the completeness meter.
    pub(super) fn meter_ui(&mut self, ui: &mut Ui) {
        let t = theme::tokens(ui);
        let (there, missing) = completeness(self.collection);
        let all = there + missing.len();
        let response = ui.horizontal(|ui| {
            let width = (ui.available_width() - 150.0).max(40.0);
            widgets::progress_bar(
                ui,
                tr!("Completeness"),
                there as f32 / all as f32,
                width,
                6.0,
            );
            let text = tr!("{there} of {all} described", there, all);
            ui.label(
                theme::rich_text(text)
                    .font(font::regular(11.0))
                    .color(t.tx2),
            );
        });
        if !missing.is_empty() {
            let missing: Vec<&str> = missing
                .into_iter()
                .map(crate::text::translate_text)
                .collect();
            response
                .response
                .on_hover_text(tr!("Not yet: {missing}", missing = missing.join(", ")));
        }
    }

    fn heading(&self, ui: &mut Ui, text: &str, why: &str) {
        let t = theme::tokens(ui);
        ui.label(theme::rich_text(text).font(font::semibold(13.0)));
        ui.add(
            egui::Label::new(theme::rich_text(why).font(font::regular(12.0)).color(t.tx2)).wrap(),
        );
    }

    fn labels_ui(&mut self, ui: &mut Ui) {
        let why = tr!("What each value of a label raster means, and the colour to draw it in.");
        self.heading(ui, tr!("Labels"), why);
        let classes = self
            .collection
            .get("labels:classes")
            .and_then(Json::as_array)
            .cloned()
            .unwrap_or_default();
        for (index, class) in classes.iter().enumerate() {
            let pointer = |part: &str| format!("labels:classes/{index}/{part}");
            let name = |part: &str| tr!("{part} of class {number}", part, number = index + 1);
            ui.horizontal_top(|ui| {
                ui.spacing_mut().item_spacing.x = 6.0;
                let (square, _) = ui.allocate_exact_size(vec2(18.0, 45.0), Sense::hover());
                let color = class.get("color").and_then(Json::as_str).and_then(color_of);
                let square = Rect::from_min_size(square.min + vec2(0.0, 23.0), vec2(18.0, 18.0));
                let line = theme::tokens(ui).line2;
                ui.painter().rect(
                    square,
                    3,
                    color.unwrap_or(Color32::TRANSPARENT),
                    Stroke::new(1.0, line),
                    StrokeKind::Inside,
                );
                let rest = ui.available_width() - 30.0;
                let fields = [
                    ("category", tr!("value"), 0.2),
                    ("name", tr!("name"), 0.5),
                    ("color", "#rrggbb", 0.3),
                ];
                for (part, hint, share) in fields {
                    let label = name(part);
                    let width = Some((rest * share - 6.0).floor());
                    let label_text = if part == "color" { tr!("colour") } else { part };
                    let look = TextLook {
                        mono: part != "name",
                        hint,
                        width,
                        name: Some(&label),
                        label: Some(label_text),
                        ..TextLook::default()
                    };
                    self.text_ui(ui, &pointer(part), look);
                }
                ui.vertical(|ui| {
                    ui.add_space(21.0);
                    let remove = Button::icon_only(
                        icons::TRASH,
                        tr!("Remove class {number}", number = index + 1),
                    );
                    if self.writable && ui.add(remove).clicked() {
                        let mut fewer = classes.clone();
                        fewer.remove(index);
                        self.set_classes(fewer);
                    }
                });
            });
            if class
                .get("color")
                .and_then(Json::as_str)
                .is_some_and(|text| color_of(text).is_none())
            {
                note_ui(
                    ui,
                    &FieldNote::Warning(
                        tr!("A colour is written #rrggbb, for example #2e7d32.").into(),
                    ),
                );
            }
        }
        if classes.is_empty() {
            note_ui(ui, &FieldNote::Info(tr!("No class is named yet.").into()));
        }
        if self.writable
            && ui
                .add(Button::secondary(tr!("Add class")).icon(icons::PLUS))
                .clicked()
        {
            let mut more = classes.clone();
            // A colour is stored only when the user sets one.
            more.push(
                json!({ "name": "", "category": more.len().to_string(), "description": null }),
            );
            self.set_classes(more);
        }
        self.text_ui(
            ui,
            "labels:description",
            TextLook {
                rows: 2,
                label: Some(tr!("the scheme as a whole")),
                ..TextLook::default()
            },
        );
    }

    /// Sets the classes and their count in one edit.
    fn set_classes(&mut self, classes: Vec<Json>) {
        self.panel.forget("labels:classes");
        let count = (!classes.is_empty()).then(|| json!(classes.len()));
        let classes = (!classes.is_empty()).then_some(Json::Array(classes));
        self.set_all(
            "Set labels",
            vec![("labels:classes", classes), ("labels:num_classes", count)],
        );
    }

    /// Sets keys of the collection in one edit; a key without a value is removed.
    fn set_all(&mut self, label: &str, fields: Vec<(&str, Option<Json>)>) {
        let edits = fields
            .into_iter()
            .map(|(key, value)| Edit::SetCollection {
                key: key.to_owned(),
                value,
            })
            .collect();
        self.cx.run(Command::Edit {
            edit: Edit::Batch {
                label: label.to_owned(),
                edits,
            },
        });
    }

    /// Applies the result of a collection extension in one edit.
    fn compute(&mut self, extension: &str, options: &Json) -> Result<(), String> {
        let fields = collection_fields(self.collection, extension, options)?;
        let edits = fields
            .into_iter()
            .map(|(key, value)| Edit::SetCollection {
                key,
                value: Some(value),
            })
            .collect();
        self.cx.run(Command::Edit {
            edit: Edit::Batch {
                label: format!("Set {extension}"),
                edits,
            },
        });
        Ok(())
    }

    fn bands_ui(&mut self, ui: &mut Ui) {
        let why =
            tr!("The bands of the sensor on the spectrum: choose one, or type another sensor's.");
        self.heading(ui, tr!("Sensor and bands"), why);
        let names = sensor_names();
        let sensor = text_at(self.collection, "optical:sensor");
        if self.writable {
            let shown = if sensor.is_empty() {
                tr!("choose a sensor")
            } else {
                sensor.as_str()
            };
            let width = ui.available_width();
            if let Some(index) = widgets::combo(ui, tr!("Sensor"), shown, width, true, &names) {
                let error = self
                    .compute("optical", &json!({ "sensor": names[index] }))
                    .err();
                self.panel.tabs.sensor_error = error;
            }
        }
        if let Some(error) = &self.panel.tabs.sensor_error {
            note_ui(ui, &FieldNote::Error(error.clone()));
        }
        let bands = self
            .collection
            .get("optical:bands")
            .and_then(Json::as_array)
            .cloned()
            .unwrap_or_default();
        if bands.is_empty() {
            note_ui(ui, &FieldNote::Info(tr!("No sensor is named yet.").into()));
            return;
        }
        spectrum_ui(ui, &bands);
        let t = theme::tokens(ui);
        for (index, band) in bands.iter().enumerate() {
            let text = |key: &str| band.get(key).and_then(Json::as_str).unwrap_or_default();
            let (row, response) =
                ui.allocate_exact_size(vec2(ui.available_width(), 22.0), Sense::hover());
            let said = tr!(
                "Band {name} {common_name} {wavelength} nm {unit}",
                name = text("name"),
                common_name = text("common_name"),
                wavelength = format_whole_number(band, "center_wavelength"),
                unit = text("unit"),
            );
            let said = said.trim_end();
            response.widget_info(|| WidgetInfo::labeled(Role::Label, true, said));
            let painter = ui.painter();
            painter.hline(row.x_range(), row.bottom() - 0.5, Stroke::new(1.0, t.line));
            paint::text_left(painter, row, text("name"), font::mono(12.0), t.tx);
            paint::text_left(
                painter,
                row.with_min_x(row.left() + 56.0),
                text("common_name"),
                font::regular(12.0),
                t.tx2,
            );
            let wavelength = format!("{} nm", format_whole_number(band, "center_wavelength"));
            let right = row.with_max_x(row.right() - 26.0);
            paint::text_right(painter, right, &wavelength, font::mono(11.5), t.tx2);
            if row.width() > 300.0 {
                paint::text_right(
                    painter,
                    right.with_max_x(right.right() - 74.0),
                    text("unit"),
                    font::regular(11.5),
                    t.tx3,
                );
            }
            let remove =
                Rect::from_center_size(pos2(row.right() - 10.0, row.center().y), vec2(20.0, 20.0));
            // A child that takes no room of its own: the button is inside the row.
            let mut child = ui.new_child(
                egui::UiBuilder::new()
                    .max_rect(remove)
                    .id_salt(("band", index)),
            );
            let name = tr!("Remove band {name}", name = text("name"));
            let removed = self.writable && child.add(Button::icon_only(icons::X, name)).clicked();
            if removed {
                let mut fewer = bands.clone();
                fewer.remove(index);
                let count = json!(fewer.len());
                self.set_all(
                    "Set bands",
                    vec![
                        ("optical:bands", Some(Json::Array(fewer))),
                        ("optical:num_bands", Some(count)),
                    ],
                );
            }
        }
        if self.writable && ui.add(Button::danger_ghost(tr!("Remove sensor"))).clicked() {
            let keys = ["optical:sensor", "optical:bands", "optical:num_bands"];
            self.set_all("Remove sensor", keys.map(|key| (key, None)).to_vec());
        }
    }

    fn papers_ui(&mut self, ui: &mut Ui) {
        let why = tr!("Papers that describe or use the dataset. Paste BibTeX, or fill the fields.");
        self.heading(ui, tr!("Publications"), why);
        let papers = self
            .collection
            .get("publications")
            .and_then(Json::as_array)
            .cloned()
            .unwrap_or_default();
        let t = theme::tokens(ui);
        for index in 0..papers.len() {
            let card = Frame::NONE
                .stroke(Stroke::new(1.0, t.line2))
                .corner_radius(6)
                .inner_margin(Margin::same(10));
            card.show(ui, |ui| {
                ui.set_width(ui.available_width());
                ui.spacing_mut().item_spacing.y = 8.0;
                for (part, rows) in [("doi", 1), ("citation", 3), ("summary", 2)] {
                    let name = tr!("{part} of publication {number}", part, number = index + 1);
                    let look = TextLook {
                        mono: part == "doi",
                        rows,
                        name: Some(&name),
                        ..TextLook::default()
                    };
                    self.text_ui(ui, &format!("publications/{index}/{part}"), look);
                }
                let remove = Button::danger_ghost(tr!("Remove"))
                    .name(tr!("Remove publication {number}", number = index + 1));
                if self.writable && ui.add(remove).clicked() {
                    let mut fewer = papers.clone();
                    fewer.remove(index);
                    self.panel.forget("publications");
                    self.set_all(
                        "Set publications",
                        vec![(
                            "publications",
                            (!fewer.is_empty()).then_some(Json::Array(fewer)),
                        )],
                    );
                }
            });
        }
        if !self.writable {
            return;
        }
        let state = &mut self.panel.tabs;
        let note = state
            .bibtex_error
            .clone()
            .map_or(FieldNote::None, FieldNote::Error);
        TextField::new("BibTeX", &mut state.bibtex)
            .mono()
            .rows(5)
            .hint("@article{…, doi = {…}}")
            .note(note)
            .show(ui);
        let blocked = state
            .bibtex
            .trim()
            .is_empty()
            .then_some(tr!("Paste an entry first"));
        ui.horizontal(|ui| {
            if ui
                .add(Button::secondary(tr!("Add from BibTeX")).with_disabled_reason(blocked))
                .clicked()
            {
                let options = json!({ "publications": papers, "bibtex": self.panel.tabs.bibtex });
                let error = self.compute("publications", &options).err();
                let state = &mut self.panel.tabs;
                if error.is_none() {
                    state.bibtex.clear();
                }
                state.bibtex_error = error;
            }
            if ui
                .add(Button::ghost(tr!("Add by hand")).icon(icons::PLUS))
                .clicked()
            {
                let mut more = papers.clone();
                more.push(json!({ "doi": "", "citation": "", "summary": null }));
                self.set_all(
                    "Set publications",
                    vec![("publications", Some(Json::Array(more)))],
                );
            }
        });
        self.heading(ui, tr!("How to cite"), tr!("The dataset itself."));
        self.text_ui(
            ui,
            "sci:doi",
            TextLook {
                mono: true,
                label: Some(tr!("DOI of the dataset")),
                ..TextLook::default()
            },
        );
        self.text_ui(
            ui,
            "sci:citation",
            TextLook {
                rows: 3,
                label: Some(tr!("citation of the dataset")),
                ..TextLook::default()
            },
        );
    }

    fn split_ui(&mut self, ui: &mut Ui) {
        self.heading(
            ui,
            tr!("Describe the split"),
            tr!("How the samples were divided into train, validation and test."),
        );
        let now = text_at(self.collection, "split:strategy");
        let why = [
            tr!("Every sample by chance"),
            tr!("At random, with the same shares of each class"),
            tr!("Chosen by people"),
            tr!("Another way; say it in the description"),
            tr!("There is no split"),
            tr!("It was not recorded"),
        ];
        for (strategy, why) in STRATEGIES.iter().zip(why) {
            let t = theme::tokens(ui);
            ui.horizontal(|ui| {
                ui.add_enabled_ui(self.writable, |ui| {
                    if widgets::radio(ui, now == *strategy, strategy).clicked() {
                        self.set_all(
                            "Set split strategy",
                            vec![("split:strategy", Some(json!(strategy)))],
                        );
                    }
                });
                ui.label(theme::rich_text(why).font(font::regular(11.5)).color(t.tx3));
            });
        }
        if self.writable
            && !now.is_empty()
            && ui.add(Button::ghost(tr!("Say nothing about it"))).clicked()
        {
            self.set_all("Remove split strategy", vec![("split:strategy", None)]);
        }
    }

    fn rai_ui(&mut self, ui: &mut Ui) {
        let answered = RAI_QUESTIONS
            .iter()
            .filter(|(key, _)| !text_at(self.collection, &format!("rai:{key}")).is_empty())
            .count();
        let all = RAI_QUESTIONS.len();
        let why = tr!(
            "{answered} of {all} questions answered. Leave out what does not apply.",
            answered,
            all
        );
        self.heading(ui, tr!("Responsible AI"), &why);
        for (key, question) in RAI_QUESTIONS {
            let question = crate::text::translate_text(question);
            self.text_ui(
                ui,
                &format!("rai:{key}"),
                TextLook {
                    rows: 2,
                    label: Some(question),
                    ..TextLook::default()
                },
            );
        }
    }

    fn json_ui(&mut self, ui: &mut Ui) {
        let stored = serde_json::to_string_pretty(&self.collection.fields).unwrap_or_default();
        ui.horizontal(|ui| {
            if ui
                .add(
                    Button::secondary(tr!("Copy"))
                        .name(tr!("Copy the JSON"))
                        .icon(icons::COPY),
                )
                .clicked()
            {
                self.cx.request(Request::Copy(stored.clone()));
            }
            if self.writable
                && ui
                    .add(Button::ghost(tr!("Import…")).name(tr!("Import a COLLECTION.json")))
                    .clicked()
            {
                self.cx.request(Request::ChooseFiles(FileRequest::Open));
            }
        });
        let state = &mut self.panel.tabs;
        let mut text = state.json.clone().unwrap_or_else(|| stored.clone());
        let note = state
            .json_error
            .clone()
            .map_or(FieldNote::None, FieldNote::Error);
        let rows = (text.lines().count() + 1).clamp(8, 200);
        TextField::new("COLLECTION.json", &mut text)
            .mono()
            .rows(rows)
            .read_only(!self.writable)
            .note(note)
            .show(ui);
        if text == stored {
            state.json = None;
            state.json_error = None;
            return;
        }
        // Typed JSON is kept until it parses and is applied, or is discarded.
        let read = serde_json::from_str::<serde_json::Map<String, Json>>(&text);
        state.json_error = read
            .as_ref()
            .err()
            .map(|error| tr!("Line {line}: {error}.", line = error.line(), error));
        state.json = Some(text);
        ui.horizontal(|ui| {
            let blocked = read
                .is_err()
                .then_some(tr!("The text is no JSON object yet"));
            if ui
                .add(
                    Button::primary(tr!("Apply"))
                        .name(tr!("Apply the JSON"))
                        .with_disabled_reason(blocked),
                )
                .clicked()
                && let Ok(fields) = read
            {
                let state = &mut *self.panel;
                state.tabs.json = None;
                state.forget("");
                self.cx.run(Command::Edit {
                    edit: Edit::ReplaceCollection {
                        collection: Collection { fields },
                    },
                });
            }
            if ui
                .add(Button::ghost(tr!("Revert")).name(tr!("Revert the JSON")))
                .clicked()
            {
                let state = &mut self.panel.tabs;
                state.json = None;
                state.json_error = None;
            }
        });
    }
}

fn format_whole_number(band: &Json, key: &str) -> String {
    band.get(key)
        .and_then(Json::as_f64)
        .map_or(String::new(), |value| format!("{value:.0}"))
}

/// Parses `#rrggbb`.
pub fn color_of(text: &str) -> Option<Color32> {
    let digits = text
        .strip_prefix('#')
        .filter(|digits| digits.len() == 6 && digits.is_ascii())?;
    let part = |from: usize| u8::from_str_radix(&digits[from..from + 2], 16).ok();
    Some(Color32::from_rgb(part(0)?, part(2)?, part(4)?))
}

/// Runs a collection extension whose options need no samples.
fn collection_fields(
    collection: &Collection,
    extension: &str,
    options: &Json,
) -> Result<Vec<(String, Json)>, String> {
    match builtin()
        .make(extension, options)
        .map_err(describe_error_with_hint)?
    {
        crate::extensions::Extension::Collection(made) => {
            let dataset = crate::model::Dataset {
                collection: collection.clone(),
                ..Default::default()
            };
            made.compute(&dataset, &crate::jobs::JobContext::default())
                .map_err(describe_error_with_hint)
        }
        _ => Err(tr!(
            "{extension} does not describe the collection.",
            extension
        )),
    }
}

fn describe_error_with_hint(error: crate::error::Error) -> String {
    match error.hints().first() {
        Some(hint) => format!("{error}: {hint}."),
        None => format!("{error}."),
    }
}

/// The bands on the spectrum, each as wide as its full width at half maximum; wavelengths in
/// nanometres on a logarithmic axis.
fn spectrum_ui(ui: &mut Ui, bands: &[Json]) {
    /// Half of the width of a band without one, as a share of its centre wavelength.
    const NO_WIDTH: f64 = 0.01;
    let t = theme::tokens(ui);
    // Name, first, centre and last wavelength in nm.
    let placed: Vec<(String, [f64; 3])> = bands
        .iter()
        .filter_map(|band| {
            let center = read_positive_number(band, "center_wavelength")?;
            let half = read_positive_number(band, "full_width_half_max")
                .map_or(center * NO_WIDTH, |width| width / 2.0);
            let name = band
                .get("name")
                .and_then(Json::as_str)
                .unwrap_or_default()
                .to_owned();
            Some((name, [(center - half).max(1.0), center, center + half]))
        })
        .collect();
    let low = placed
        .iter()
        .map(|(_, [first, ..])| *first)
        .reduce(f64::min)
        .unwrap_or(400.0)
        .log10()
        - 0.02;
    let high = placed
        .iter()
        .map(|(_, [.., last])| *last)
        .reduce(f64::max)
        .unwrap_or(2500.0)
        .log10()
        + 0.02;
    let nanometres = [
        400.0, 500.0, 700.0, 1000.0, 1500.0, 2000.0, 3000.0, 5000.0, 10_000.0, 20_000.0,
    ];
    let axes = Axes {
        x_bounds: low..=high,
        x_ticks: nanometres
            .iter()
            .map(|nm: &f64| GridMark {
                value: nm.log10(),
                step_size: 0.1,
            })
            .collect(),
        x_text: Box::new(|value| paint::format_grouped_number(10f64.powf(value).round() as u64)),
        x_title: tr!("wavelength in nm"),
        y_bounds: 0.0..=1.25,
        y_ticks: Vec::new(),
        y_text: Box::new(|_| String::new()),
        y_width: 0.0,
    };
    let drawn = plot::show_next(
        ui,
        "spectrum",
        118.0,
        Sense::hover(),
        axes,
        |value| Some(describe_bands_at(&placed, 10f64.powf(value))),
        |plot| {
            for (name, [first, center, last]) in &placed {
                let color = spectral(*center, t.tx3);
                let [left, middle, right] = [first, center, last].map(|nm| nm.log10());
                let hill = vec![
                    [left, 0.0],
                    [left + (middle - left) * 0.35, 1.0],
                    [right - (right - middle) * 0.35, 1.0],
                    [right, 0.0],
                ];
                let hill = Polygon::new(name, hill)
                    .fill_color(color.gamma_multiply(0.45))
                    .stroke(Stroke::new(1.0, color));
                plot.polygon(hill.allow_hover(false));
                let label = theme::rich_text(name).font(font::mono(9.5)).color(t.tx2);
                plot.text(Text::new(name, PlotPoint::new(middle, 1.12), label).allow_hover(false));
            }
        },
    );
    drawn.response.widget_info(|| {
        let label = tr_n!(
            placed.len(),
            "Spectrum with {n} band",
            "Spectrum with {n} bands",
            n = placed.len()
        );
        WidgetInfo::labeled(Role::Image, true, label)
    });
}

fn read_positive_number(band: &Json, key: &str) -> Option<f64> {
    band.get(key)
        .and_then(Json::as_f64)
        .filter(|value| *value > 0.0)
}

/// The bands that hold a wavelength; `placed` has their names and their first, centre and last
/// wavelengths in nm.
fn describe_bands_at(placed: &[(String, [f64; 3])], nm: f64) -> String {
    let bands: Vec<String> = placed
        .iter()
        .filter(|(_, [first, _, last])| (*first..=*last).contains(&nm))
        .map(|(name, [first, center, last])| {
            format!("{name}: {center:.0} nm ({first:.0} – {last:.0})")
        })
        .collect();
    if bands.is_empty() {
        format!("{nm:.0} nm")
    } else {
        bands.join("\n")
    }
}

/// About the colour of light of this wavelength; beyond the visible `other`.
fn spectral(nm: f64, other: Color32) -> Color32 {
    match nm {
        nm if (380.0..450.0).contains(&nm) => Color32::from_rgb(122, 92, 214),
        nm if (450.0..495.0).contains(&nm) => Color32::from_rgb(64, 128, 232),
        nm if (495.0..570.0).contains(&nm) => Color32::from_rgb(64, 168, 92),
        nm if (570.0..600.0).contains(&nm) => Color32::from_rgb(206, 168, 46),
        nm if (600.0..780.0).contains(&nm) => Color32::from_rgb(214, 74, 74),
        _ => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn completeness_names_what_is_missing() {
        let mut collection = Collection::template();
        let (before, missing) = completeness(&collection);
        assert!(missing.contains(&"description") && missing.contains(&"responsible AI"));
        collection.set("description", Some("Scenes".into()));
        collection.set("rai:dataBiases", Some("mostly Europe".into()));
        let (after, missing) = completeness(&collection);
        assert_eq!(after, before + 2);
        assert!(!missing.contains(&"description"));
    }

    #[test]
    fn a_field_leads_to_its_part() {
        assert_eq!(Tab::for_field("providers/0/email"), Tab::General);
        assert_eq!(Tab::for_field("labels:classes/0/color"), Tab::Labels);
        assert_eq!(Tab::for_field("publications/1/doi"), Tab::Papers);
    }

    #[test]
    fn colours_are_hexadecimal() {
        assert_eq!(
            color_of("#2e7d32"),
            Some(Color32::from_rgb(0x2e, 0x7d, 0x32))
        );
        for wrong in ["2e7d32", "#2e7d3", "#2e7d3g", "#ééé", ""] {
            assert_eq!(color_of(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn extensions_fill_the_form() {
        let fields = collection_fields(
            &Collection::template(),
            "optical",
            &json!({ "sensor": "landsat8oli" }),
        )
        .expect("known");
        assert!(
            fields
                .iter()
                .any(|(key, value)| key == "optical:num_bands" && value.as_u64() > Some(5))
        );
        let error = collection_fields(
            &Collection::template(),
            "publications",
            &json!({ "bibtex": "@article{x}" }),
        )
        .expect_err("no DOI");
        assert!(error.contains("DOI"), "{error}");
    }
}
