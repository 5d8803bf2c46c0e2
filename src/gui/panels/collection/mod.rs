//! The form for COLLECTION.json: required fields first, findings below each field. Typed text is
//! kept here and becomes an edit [`PAUSE_S`] after the last key.

mod json_pointer;
pub mod state;
mod tabs;

use std::time::Duration;

use egui::{Frame, Id, Margin, ScrollArea, Ui, vec2};
use serde_json::{Value as Json, json};

use crate::draft::Edit;
use crate::footprint::COLUMNS;
use crate::gui::action::Action;
use crate::gui::icons;
use crate::gui::panel_context::{PanelContext, Request};
use crate::gui::panels::panel::Panel;
use crate::gui::theme::{self, font};
use crate::gui::widgets::{self, Button, EmptyState, FieldNote, Segment, TextField, Tone, note_ui};
use crate::model::{
    Collection, EXTENT_ORIGIN, Finding, KNOWN_KEYS, Location, Rule, Severity, TASKS,
};
use crate::studio::{Command, Document};
use json_pointer::{new_contact, parts_of, strings_at, text_at, with_value};
use state::{CollectionPanel, Tab};

/// Frames after which a field that has not taken the focus counts as absent.
const FOCUS_FRAMES: u8 = 20;
/// Typed text becomes an edit after this pause.
const PAUSE_S: f64 = 0.25;
const REQUIRED: [&str; 7] = [
    "id",
    "dataset_version",
    "description",
    "licenses",
    "providers",
    "tasks",
    "taco_version",
];
const TITLE_LENGTH: usize = 250;

/// Context of the fields: the panel's state and the rest of the context, borrowed separately.
pub(super) struct Form<'a, 'b> {
    pub(super) panel: &'a mut CollectionPanel,
    pub(super) cx: &'a mut PanelContext<'b>,
    pub(super) collection: &'b Collection,
    pub(super) writable: bool,
}

/// True when a column of some level can say where samples are.
pub fn has_places(document: &Document) -> bool {
    let mut levels = 0..document.tree().levels.len();
    levels.any(|level| {
        document
            .fields(level)
            .iter()
            .any(|field| COLUMNS.contains(&field.name.as_str()))
    })
}

impl Panel for CollectionPanel {
    fn contents_ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) {
        let Some(document) = cx.document() else {
            let state = EmptyState {
                icon: icons::BRACKETS_CURLY,
                title: tr!("No collection"),
                why: tr!("Start a draft, or open a dataset."),
                actions: &[tr!("New dataset")],
            };
            if widgets::draw_empty_state_with_actions(ui, &state).is_some() {
                cx.request(Request::Do(Action::New));
            }
            return;
        };
        let mut form = Form {
            writable: document.draft().is_some(),
            collection: document.collection(),
            panel: self,
            cx,
        };
        form.header_ui(ui);
        ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
            // Uncommitted text of lists is dropped with the document.
            ui.push_id(form.cx.session.serial, |ui| {
                Frame::NONE
                    .inner_margin(Margin {
                        left: 12,
                        right: 14,
                        top: 10,
                        bottom: 24,
                    })
                    .show(ui, |ui| {
                        ui.spacing_mut().item_spacing.y = 10.0;
                        if !form.tab_ui(ui) {
                            form.fields_ui(ui);
                        }
                    });
            });
        });
    }

    fn tab_count(&self, cx: &PanelContext<'_>) -> Option<(u64, Tone)> {
        let bad = fields_with(&cx.studio.report().findings, Severity::Error).len() as u64;
        (bad > 0).then_some((bad, Tone::Error))
    }
}

impl Form<'_, '_> {
    fn header_ui(&mut self, ui: &mut Ui) {
        let t = theme::tokens(ui);
        Frame::NONE
            .inner_margin(Margin::symmetric(12, 6))
            .show(ui, |ui| {
                ui.horizontal(|ui| {
                    ui.spacing_mut().item_spacing.x = 6.0;
                    let bad = self.fields_with(Severity::Error);
                    let valid = REQUIRED
                        .iter()
                        .filter(|key| {
                            !bad.contains(**key) && tabs::has_field_content(self.collection, key)
                        })
                        .count();
                    ui.label(
                        theme::rich_text(tr!("7 required"))
                            .font(font::regular(12.0))
                            .color(t.tx2),
                    );
                    if valid > 0 {
                        widgets::badge(
                            ui,
                            Tone::Ok,
                            Some(icons::CHECK),
                            &tr_n!(valid, "{n} valid", "{n} valid", n = valid),
                        );
                    }
                    if !bad.is_empty() {
                        let text = tr_n!(bad.len(), "{n} error", "{n} errors", n = bad.len());
                        widgets::badge(ui, Tone::Error, Some(icons::WARNING_OCTAGON), &text);
                    }
                });
                self.meter_ui(ui);
                ui.add_space(4.0);
                let parts = Tab::ALL;
                let segments: Vec<Segment<'_, Tab>> = parts
                    .into_iter()
                    .map(|(tab, word)| Segment::new(tab, crate::text::translate_text(word)))
                    .collect();
                let before = self.panel.tabs.tab;
                // The tab row wraps, so that all tabs are visible.
                let mut rest = segments.as_slice();
                ui.spacing_mut().item_spacing.y = 4.0;
                while !rest.is_empty() {
                    let fits = |count: &usize| {
                        widgets::segmented_width(ui, &rest[..*count]) <= ui.available_width()
                    };
                    let (line, more) =
                        rest.split_at((1..=rest.len()).rev().find(fits).unwrap_or(1));
                    let salt = ("collection-parts", rest.len());
                    widgets::draw_segments(ui, salt, &mut self.panel.tabs.tab, line);
                    rest = more;
                }
                if self.panel.tabs.tab != before {
                    self.panel.typed.clear();
                }
                // A finding opens the tab of its field.
                let state = &mut *self.panel;
                if std::mem::take(&mut state.release)
                    && let Some(field) = state.field.take()
                {
                    ui.memory_mut(|memory| memory.surrender_focus(field));
                }
                if let Some(field) = &state.focus {
                    state.tabs.tab = Tab::for_field(field);
                    state.waited += 1;
                }
                // No tab shows this field.
                if state.waited > FOCUS_FRAMES {
                    state.focus = None;
                }
                if state.focus.is_none() {
                    state.waited = 0;
                }
            });
        let rect = ui.min_rect();
        ui.painter().hline(
            rect.x_range(),
            rect.bottom() - 0.5,
            egui::Stroke::new(1.0, t.line),
        );
    }

    /// The top-level fields with findings of this severity.
    fn fields_with(&self, severity: Severity) -> std::collections::BTreeSet<String> {
        fields_with(&self.cx.studio.report().findings, severity)
    }

    fn fields_ui(&mut self, ui: &mut Ui) {
        self.text_ui(
            ui,
            "id",
            TextLook {
                mono: true,
                required: true,
                hint: tr!("lower-case-name"),
                ..TextLook::default()
            },
        );
        ui.horizontal_top(|ui| {
            let half = ((ui.available_width() - 8.0) / 2.0).floor();
            self.text_ui(
                ui,
                "dataset_version",
                TextLook {
                    mono: true,
                    required: true,
                    hint: "1.0.0",
                    width: Some(half),
                    ..TextLook::default()
                },
            );
            self.text_ui(
                ui,
                "taco_version",
                TextLook {
                    mono: true,
                    fixed: true,
                    width: Some(half),
                    ..TextLook::default()
                },
            );
        });
        self.text_ui(
            ui,
            "title",
            TextLook {
                counted: Some(TITLE_LENGTH),
                ..TextLook::default()
            },
        );
        self.text_ui(
            ui,
            "description",
            TextLook {
                required: true,
                rows: 4,
                hint: tr!("What the dataset holds, and what it is for"),
                ..TextLook::default()
            },
        );
        self.list_ui(ui, "licenses", &licences(), tr!("Add SPDX id"), false, true);
        self.list_ui(ui, "tasks", &TASKS, tr!("Add task"), true, true);
        self.contacts_ui(ui, "providers", true);
        self.list_ui(ui, "keywords", &[], tr!("Add keyword"), false, false);
        self.contacts_ui(ui, "curators", false);
        self.extent_ui(ui);
        self.others_ui(ui);
    }

    /// Findings about exactly this field.
    fn note(&self, pointer: &str, filled: bool) -> FieldNote {
        note_of(
            &self.cx.studio.report().findings,
            pointer,
            filled,
            self.cx.session.status.samples.has_check_result(),
        )
    }

    /// One text field at a JSON pointer below the collection.
    pub(super) fn text_ui(&mut self, ui: &mut Ui, pointer: &str, look: TextLook<'_>) {
        let now_s = ui.input(|input| input.time);
        let stored = text_at(self.collection, pointer);
        let state = &mut *self.panel;
        let typed = state.typed.entry(pointer.to_owned()).or_default();
        if typed.since_s.is_none() && typed.text != stored {
            typed.text.clone_from(&stored);
        }
        let mut text = std::mem::take(&mut typed.text);
        let since_s = typed.since_s;
        let label = look
            .label
            .unwrap_or(pointer.rsplit('/').next().unwrap_or(pointer));
        let counter = look
            .counted
            .map(|most| format!("{} / {most}", text.chars().count()))
            .unwrap_or_default();
        let id = Id::unique("collection").with(pointer);
        let note = self.note(pointer, !stored.is_empty());
        let mut field = TextField::new(label, &mut text)
            .id(id)
            .hint(look.hint)
            .trailing(&counter)
            .note(note)
            .name(look.name.unwrap_or(label));
        if look.mono {
            field = field.mono();
        }
        if look.required {
            field = field.with_required_mark();
        }
        if let Some(width) = look.width {
            field = field.width(width);
        }
        let response = field
            .rows(look.rows.max(1))
            .read_only(look.fixed || !self.writable)
            .show(ui);
        let state = &mut *self.panel;
        if state.wants(pointer) {
            state.focus = None;
            response.request_focus();
            response.scroll_to_me(Some(egui::Align::Center));
        }
        let since_s = if response.changed() {
            Some(now_s)
        } else {
            since_s
        };
        let then = state.then.take_if(|_| response.has_focus());
        if response.has_focus() {
            state.field = Some(id)
        } else {
            state.field.take_if(|field| *field == id);
        }
        let due = since_s.is_some_and(|since| {
            now_s - since >= PAUSE_S || !response.has_focus() || then.is_some()
        });
        if since_s.is_some() && !due {
            ui.ctx()
                .request_repaint_after(Duration::from_secs_f64(PAUSE_S));
        }
        let typed = state.typed.entry(pointer.to_owned()).or_default();
        typed.since_s = since_s.filter(|_| !due);
        typed.text.clone_from(&text);
        if due && text != stored {
            let value = if text.is_empty() && !look.required {
                Json::Null
            } else {
                Json::String(text)
            };
            self.set(pointer, value);
        }
        if let Some(action) = then {
            self.cx.request(Request::Do(action));
        }
    }

    /// Draws a number of the extent.
    fn number_ui(&mut self, ui: &mut Ui, pointer: &str, label: &str, width: f32) {
        let mut text = text_at(self.collection, pointer);
        let before = text.clone();
        let id = Id::unique("collection").with(pointer);
        let kept = ui.data(|data| data.get_temp::<String>(id));
        if let Some(kept) = kept {
            text = kept;
        }
        let response = TextField::new(label, &mut text)
            .id(id)
            .mono()
            .width(width)
            .read_only(!self.writable)
            .show(ui);
        let state = &mut *self.panel;
        if state.wants(pointer) {
            state.focus = None;
            response.request_focus();
            response.scroll_to_me(Some(egui::Align::Center));
        }
        if response.has_focus() {
            state.field = Some(id);
            ui.data_mut(|data| data.insert_temp(id, text));
            return;
        }
        ui.data_mut(|data| data.remove_temp::<String>(id));
        if response.lost_focus()
            && text != before
            && let Ok(number) = text.trim().parse::<f64>()
        {
            self.set(pointer, json!(number));
        }
    }

    fn list_ui(
        &mut self,
        ui: &mut Ui,
        key: &str,
        offered: &[&str],
        hint: &str,
        strict: bool,
        required: bool,
    ) {
        let t = theme::tokens(ui);
        let mut items = strings_at(self.collection, key);
        ui.vertical(|ui| {
            ui.spacing_mut().item_spacing.y = 4.0;
            label_ui(ui, key, required && items.is_empty());
            let note = match self.note(key, !items.is_empty()) {
                FieldNote::None | FieldNote::Ok => self.note_below(key),
                note => note,
            };
            if self.writable {
                let bad = matches!(note, FieldNote::Error(_));
                let field = widgets::tag_input_id(ui, key);
                if widgets::tag_input(ui, key, &mut items, offered, hint, strict, bad) {
                    let value = if items.is_empty() && !required {
                        Json::Null
                    } else {
                        json!(items)
                    };
                    self.set(key, value);
                }
                // Findings may name the list or one of its items.
                let state = &mut *self.panel;
                if state
                    .focus
                    .as_deref()
                    .is_some_and(|at| at.split('/').next() == Some(key))
                {
                    state.focus = None;
                    ui.memory_mut(|memory| memory.request_focus(field));
                    ui.scroll_to_rect(ui.min_rect(), Some(egui::Align::Center));
                }
            } else {
                ui.label(
                    theme::rich_text(if items.is_empty() {
                        tr!("none" in "list").to_owned()
                    } else {
                        items.join(", ")
                    })
                    .font(font::mono(12.0))
                    .color(t.tx),
                );
            }
            note_ui(ui, &note);
        });
    }

    /// The first finding about an item of a list.
    fn note_below(&self, key: &str) -> FieldNote {
        let prefix = format!("{key}/");
        let finding = self.cx.studio.report().findings.iter().find(
            |finding| matches!(&finding.at, Location::Collection(at) if at.starts_with(&prefix)),
        );
        match finding {
            Some(finding) if finding.severity == Severity::Error => {
                FieldNote::Error(finding.message.clone())
            }
            Some(finding) => FieldNote::Warning(finding.message.clone()),
            None => FieldNote::None,
        }
    }

    fn contacts_ui(&mut self, ui: &mut Ui, key: &'static str, required: bool) {
        let t = theme::tokens(ui);
        let contacts = self
            .collection
            .get(key)
            .and_then(Json::as_array)
            .cloned()
            .unwrap_or_default();
        ui.vertical(|ui| {
            ui.spacing_mut().item_spacing.y = 6.0;
            ui.horizontal(|ui| {
                ui.label(theme::rich_text(key).font(font::regular(12.0)).color(t.tx2));
                if required && contacts.is_empty() {
                    ui.label(
                        theme::rich_text(tr!("required"))
                            .font(font::regular(11.0))
                            .color(t.tx3),
                    );
                }
                ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                    let add = if key == "curators" {
                        tr!("Add curator")
                    } else {
                        tr!("Add provider")
                    };
                    let link = self.writable.then(|| widgets::link(ui, add));
                    let state = &mut *self.panel;
                    if let Some(link) = link
                        .as_ref()
                        .filter(|_| contacts.is_empty() && state.focus.as_deref() == Some(key))
                    {
                        state.focus = None;
                        link.request_focus();
                        link.scroll_to_me(Some(egui::Align::Center));
                    }
                    if link.is_some_and(|link| link.clicked()) {
                        let mut more = contacts.clone();
                        more.push(new_contact(key));
                        self.panel.focus(&format!("{key}/{}/name", contacts.len()));
                        self.set(key, Json::Array(more));
                    }
                });
            });
            note_ui(ui, &self.note(key, !contacts.is_empty()));
            for (index, contact) in contacts.iter().enumerate() {
                self.contact_ui(ui, key, index, contact, &contacts);
            }
        });
    }

    fn contact_ui(
        &mut self,
        ui: &mut Ui,
        key: &str,
        index: usize,
        contact: &Json,
        contacts: &[Json],
    ) {
        let t = theme::tokens(ui);
        let card = Frame::NONE
            .stroke(egui::Stroke::new(1.0, t.line2))
            .corner_radius(6)
            .inner_margin(Margin::same(10));
        card.show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 8.0;
            ui.set_width(ui.available_width());
            let title = ["name", "organization"]
                .iter()
                .find_map(|part| contact.get(part)?.as_str().filter(|text| !text.is_empty()));
            ui.horizontal(|ui| {
                ui.label(
                    theme::rich_text(title.unwrap_or(tr!("New contact"))).font(font::medium(12.0)),
                );
                ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                    let name = tr!("Remove {key} {number}", key, number = index + 1);
                    if self.writable && ui.add(Button::icon_only(icons::TRASH, name)).clicked() {
                        let mut fewer = contacts.to_vec();
                        fewer.remove(index);
                        self.panel
                            .typed
                            .retain(|pointer, _| !pointer.starts_with(&format!("{key}/")));
                        self.set(
                            key,
                            if fewer.is_empty() && key == "curators" {
                                Json::Null
                            } else {
                                Json::Array(fewer)
                            },
                        );
                    }
                });
            });
            note_ui(ui, &self.note(&format!("{key}/{index}"), true));
            for part in parts_of(key, contact) {
                let pointer = format!("{key}/{index}/{part}");
                if contact.get(part).is_some_and(Json::is_array) || part == "roles" {
                    self.roles_ui(ui, &pointer);
                } else {
                    let name = tr!("{part} of {key} {number}", part, key, number = index + 1);
                    let hint = if part == "email" {
                        tr!("name@example.org")
                    } else {
                        ""
                    };
                    self.text_ui(
                        ui,
                        &pointer,
                        TextLook {
                            hint,
                            name: Some(&name),
                            ..TextLook::default()
                        },
                    );
                }
            }
        });
    }

    fn roles_ui(&mut self, ui: &mut Ui, pointer: &str) {
        const ROLES: [&str; 4] = ["producer", "licensor", "processor", "host"];
        let mut items: Vec<String> = strings_at(self.collection, pointer);
        ui.vertical(|ui| {
            ui.spacing_mut().item_spacing.y = 4.0;
            label_ui(ui, "roles", false);
            let name = pointer.replace('/', " ");
            if self.writable
                && widgets::tag_input(ui, &name, &mut items, &ROLES, tr!("Add role"), false, false)
            {
                let value = if items.is_empty() {
                    Json::Null
                } else {
                    json!(items)
                };
                self.set(pointer, value);
            } else if !self.writable {
                ui.label(theme::rich_text(items.join(", ")).font(font::mono(12.0)));
            }
        });
    }

    fn extent_ui(&mut self, ui: &mut Ui) {
        let t = theme::tokens(ui);
        ui.vertical(|ui| {
            ui.spacing_mut().item_spacing.y = 6.0;
            ui.horizontal(|ui| {
                ui.label(
                    theme::rich_text("extent")
                        .font(font::regular(12.0))
                        .color(t.tx2),
                );
                ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                    let there = self.collection.get("extent").is_some();
                    if self.writable && !there && widgets::link(ui, tr!("Set by hand")).clicked() {
                        self.set(
                            "extent",
                            json!({"spatial": [-180.0, -90.0, 180.0, 90.0], "temporal": null}),
                        );
                    }
                    if self.writable
                        && there
                        && widgets::link(ui, tr!("Compute when written")).clicked()
                    {
                        self.panel
                            .typed
                            .retain(|pointer, _| !pointer.starts_with("extent/"));
                        self.set("extent", Json::Null);
                    }
                });
            });
            if self.collection.get("extent").is_none() {
                let text = if self.cx.document().is_some_and(has_places) {
                    tr!(
                        "The extent is computed from the places and times of the samples \
                        when you write."
                    )
                } else {
                    tr!(
                        "No sample has a place: the extent will be the whole world, which is the \
                            default. The stac extension finds places."
                    )
                };
                note_ui(ui, &FieldNote::Info(text.into()));
                return;
            }
            ui.horizontal_top(|ui| {
                ui.spacing_mut().item_spacing = vec2(6.0, 4.0);
                let width = ((ui.available_width() - 18.0) / 4.0).floor();
                for (index, label) in [tr!("west"), tr!("south"), tr!("east"), tr!("north")]
                    .into_iter()
                    .enumerate()
                {
                    self.number_ui(ui, &format!("extent/spatial/{index}"), label, width);
                }
            });
            ui.horizontal_top(|ui| {
                let half = ((ui.available_width() - 8.0) / 2.0).floor();
                for (index, label) in [tr!("start"), tr!("end")].into_iter().enumerate() {
                    let look = TextLook {
                        mono: true,
                        width: Some(half),
                        label: Some(label),
                        name: Some(label),
                        hint: "2023-01-31",
                        ..TextLook::default()
                    };
                    self.text_ui(ui, &format!("extent/temporal/{index}"), look);
                }
            });
            note_ui(
                ui,
                &match self.note("extent", true) {
                    FieldNote::None | FieldNote::Ok => self.note_below("extent"),
                    note => note,
                },
            );
        });
    }

    /// Draws other fields, read-only.
    fn others_ui(&mut self, ui: &mut Ui) {
        let others: Vec<(&String, &Json)> = self
            .collection
            .fields
            .iter()
            .filter(|(key, _)| !KNOWN_KEYS.contains(&key.as_str()))
            .collect();
        if others.is_empty() {
            return;
        }
        let t = theme::tokens(ui);
        ui.label(theme::rich_text(tr!("Other fields")).font(font::semibold(12.0)));
        for (key, value) in others {
            ui.horizontal(|ui| {
                ui.label(theme::rich_text(key).font(font::mono(12.0)).color(t.tx2));
                let text = value.to_string();
                ui.add(
                    egui::Label::new(theme::rich_text(&text).font(font::mono(11.0)).color(t.tx3))
                        .truncate(),
                );
            });
        }
    }

    /// Requests the edit that sets `value` at a pointer.
    fn set(&mut self, pointer: &str, value: Json) {
        if let Some((key, value)) = with_value(self.collection, pointer, value) {
            // Required keys stay as null; others are removed.
            let value =
                Some(value).filter(|value| !value.is_null() || KNOWN_KEYS.contains(&key.as_str()));
            // A changed extent is the user's own.
            let noted = key == "extent" && self.collection.get(EXTENT_ORIGIN).is_some();
            self.cx.run(Command::Edit {
                edit: Edit::SetCollection { key, value },
            });
            if noted {
                self.cx.run(Command::Edit {
                    edit: Edit::SetCollection {
                        key: EXTENT_ORIGIN.into(),
                        value: None,
                    },
                });
            }
        }
    }
}

/// Appearance of a text field.
#[derive(Default)]
pub(super) struct TextLook<'a> {
    pub(super) label: Option<&'a str>,
    pub(super) name: Option<&'a str>,
    pub(super) hint: &'a str,
    pub(super) mono: bool,
    pub(super) required: bool,
    pub(super) fixed: bool,
    pub(super) rows: usize,
    pub(super) width: Option<f32>,
    pub(super) counted: Option<usize>,
}

fn label_ui(ui: &mut Ui, text: &str, required: bool) {
    let t = theme::tokens(ui);
    ui.horizontal(|ui| {
        ui.label(
            theme::rich_text(text)
                .font(font::regular(12.0))
                .color(t.tx2),
        );
        if required {
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                ui.label(
                    theme::rich_text(tr!("required"))
                        .font(font::regular(11.0))
                        .color(t.tx3),
                );
            });
        }
    });
}

fn fields_with(findings: &[Finding], severity: Severity) -> std::collections::BTreeSet<String> {
    let top = |at: &str| at.split('/').next().unwrap_or(at).to_owned();
    let here = findings
        .iter()
        .filter(|finding| finding.severity == severity);
    here.filter_map(|finding| {
        if let Location::Collection(at) = &finding.at {
            Some(top(at))
        } else {
            None
        }
    })
    .collect()
}

/// The note of a field from its findings. An empty required field shows "required" instead of an
/// error.
fn note_of(findings: &[Finding], pointer: &str, filled: bool, checked: bool) -> FieldNote {
    let mut found = findings
        .iter()
        .filter(|finding| is_at_pointer(finding, pointer))
        .filter(|finding| filled || finding.rule != Rule::CollectionRequired);
    let finding = found
        .clone()
        .find(|finding| finding.severity == Severity::Error)
        .or_else(|| found.next());
    match finding {
        Some(finding) if finding.severity == Severity::Error => {
            FieldNote::Error(finding.message.clone())
        }
        Some(finding) => FieldNote::Warning(finding.message.clone()),
        None if filled && checked => FieldNote::Ok,
        None => FieldNote::None,
    }
}

fn is_at_pointer(finding: &Finding, pointer: &str) -> bool {
    matches!(
        &finding.at,
        Location::Collection(at) if at == pointer
    )
}

/// SPDX identifiers, data licences first.
fn licences() -> Vec<&'static str> {
    let common = [
        "CC-BY-4.0",
        "CC0-1.0",
        "CC-BY-SA-4.0",
        "CC-BY-NC-4.0",
        "ODbL-1.0",
        "PDDL-1.0",
        "MIT",
        "Apache-2.0",
    ];
    let rest = spdx::identifiers::LICENSES
        .iter()
        .map(|license| license.name)
        .filter(|name| !common.contains(name));
    common.into_iter().chain(rest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_required_field_is_no_error_in_the_form() {
        let mut report = crate::model::Report::default();
        report.add(
            Rule::CollectionRequired,
            Location::Collection("id".into()),
            "id is empty",
        );
        report.add(
            Rule::IdDataset,
            Location::Collection("id".into()),
            "no capitals",
        );
        assert_eq!(
            note_of(&report.findings[..1], "id", false, true),
            FieldNote::None
        );
        assert_eq!(
            note_of(&report.findings, "id", true, true),
            FieldNote::Error("id is empty".into())
        );
        assert_eq!(
            note_of(&report.findings, "title", true, true),
            FieldNote::Ok
        );
        assert_eq!(fields_with(&report.findings, Severity::Error).len(), 1);
    }

    #[test]
    fn common_licences_come_first_and_once() {
        assert_eq!(licences()[0], "CC-BY-4.0");
        assert_eq!(licences().iter().filter(|name| **name == "MIT").count(), 1);
        assert!(licences().len() > 300);
    }
}
