//! Edits a field of a level: add, rename, cast, fill, split, describe, remove. PIT-2 requires one
//! schema per level, so every change applies to all samples of the level, as one edit.

use arrow::datatypes::DataType;
use egui::{Frame, Margin, Ui};

use super::frame::{Next, enter_pressed, foot_ui, head_ui};
use super::view::{DialogEvent, DialogView, Reply, close_with_document};
use crate::draft::{ColumnChange, Edit};
use crate::gui::icons;
use crate::gui::panel_context::{PanelContext, Request};
use crate::gui::panels::inspector::parse;
use crate::gui::theme::{self, text_style};
use crate::gui::widgets::{self, Button, FieldNote, Segment, TextField, paint};
use crate::model::{FieldSpec, Value, dtype_name};
use crate::studio::Command;

/// Types to choose from: Arrow's name and display name.
const TYPES: [(&str, &str); 6] = [
    ("Utf8", mark!("text")),
    ("Float64", mark!("number")),
    ("Float32", mark!("number, 4 bytes")),
    ("Int64", mark!("whole number")),
    ("Int32", mark!("whole number, 4 bytes")),
    ("Boolean", mark!("true or false")),
];

/// Action on the field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ColumnVerb {
    Rename,
    Cast,
    Fill,
    Split,
    Describe,
    Remove,
}

pub struct ColumnDialog {
    level: usize,
    /// The present field; `None` for a new one.
    field: Option<FieldSpec>,
    verb: ColumnVerb,
    name: String,
    dtype: usize,
    value: String,
    all: bool,
    lossy: bool,
    by: String,
    into: String,
    keep: bool,
    description: String,
}

impl ColumnDialog {
    /// Changes a field of a level, or adds one.
    pub fn new(level: usize, field: Option<FieldSpec>) -> Self {
        let name = field
            .as_ref()
            .map(|field| field.name.clone())
            .unwrap_or_default();
        let description = field
            .as_ref()
            .map(|field| field.description.clone())
            .unwrap_or_default();
        let into = if name.is_empty() {
            String::new()
        } else {
            format!("{name}_1, {name}_2")
        };
        Self {
            level,
            field,
            verb: ColumnVerb::Rename,
            name,
            dtype: 0,
            value: String::new(),
            all: false,
            lossy: false,
            by: "_".into(),
            into,
            keep: true,
            description,
        }
    }

    /// The change, or why the input is incomplete.
    fn change(&self, taken: &[String]) -> Result<ColumnChange, String> {
        let typed = self.name.trim().to_owned();
        let Some(field) = &self.field else {
            check_new_name(&typed, taken)?;
            let dtype: DataType = TYPES[self.dtype]
                .0
                .parse()
                .map_err(|_| tr!("This type is not known").to_owned())?;
            let value = self.parse_value(&dtype)?;
            return Ok(ColumnChange::Add {
                field: FieldSpec::new(typed, dtype),
                at: None,
                value,
            });
        };
        let name = field.name.clone();
        Ok(match self.verb {
            ColumnVerb::Rename => {
                check_new_name(&typed, taken)?;
                ColumnChange::Rename { name, to: typed }
            }
            ColumnVerb::Cast => ColumnChange::Cast {
                name,
                dtype: TYPES[self.dtype].0.to_owned(),
                lossy: self.lossy,
            },
            ColumnVerb::Fill => {
                let value = self.parse_value(&field.dtype)?;
                if value == Value::Null && !self.all {
                    return Err(tr!("Type the value for the empty cells").to_owned());
                }
                ColumnChange::Fill {
                    name,
                    value,
                    all: self.all,
                }
            }
            ColumnVerb::Split => {
                let into: Vec<String> = self
                    .into
                    .split(',')
                    .map(|name| name.trim().to_owned())
                    .collect();
                if into.len() < 2 {
                    return Err(
                        tr!("Name at least two new fields, with a comma between").to_owned()
                    );
                }
                into.iter()
                    .try_for_each(|name| check_new_name(name, taken))?;
                if self.by.is_empty() {
                    return Err(tr!("Type the separator").to_owned());
                }
                ColumnChange::Split {
                    name,
                    by: self.by.clone(),
                    into,
                    keep: self.keep,
                }
            }
            ColumnVerb::Describe => ColumnChange::Describe {
                name,
                description: self.description.trim().to_owned(),
            },
            ColumnVerb::Remove => ColumnChange::Remove { name },
        })
    }

    fn parse_value(&self, dtype: &DataType) -> Result<Value, String> {
        let text = self.value.trim();
        parse(&self.value, dtype).map_err(|wanted| {
            tr!(
                "\"{text}\" is no {wanted}",
                text,
                wanted = crate::text::translate_text(wanted)
            )
        })
    }

    fn form_ui(&mut self, ui: &mut Ui) {
        let Some(field) = self.field.clone() else {
            TextField::new(tr!("Name"), &mut self.name)
                .mono()
                .hint("cloud_cover")
                .show(ui);
            self.type_ui(ui);
            TextField::new(tr!("Value"), &mut self.value)
                .mono()
                .hint(tr!("empty for null"))
                .show(ui);
            return;
        };
        let text = matches!(field.dtype, DataType::Utf8 | DataType::LargeUtf8);
        let mut verbs = vec![
            (ColumnVerb::Rename, tr!("Rename")),
            (ColumnVerb::Cast, tr!("Type")),
            (ColumnVerb::Fill, tr!("Fill")),
            (ColumnVerb::Describe, tr!("Describe")),
        ];
        if text {
            verbs.push((ColumnVerb::Split, tr!("Split" in "verb")));
        }
        verbs.push((ColumnVerb::Remove, tr!("Remove")));
        let segments: Vec<_> = verbs
            .into_iter()
            .map(|(verb, word)| Segment::new(verb, word))
            .collect();
        widgets::draw_segments(ui, "column-verb", &mut self.verb, &segments);
        match self.verb {
            ColumnVerb::Rename => drop(
                TextField::new(tr!("New name"), &mut self.name)
                    .mono()
                    .show(ui),
            ),
            ColumnVerb::Cast => {
                self.type_ui(ui);
                widgets::checkbox(
                    ui,
                    &mut self.lossy,
                    tr!("Values that do not fit become null"),
                );
            }
            ColumnVerb::Fill => {
                let kind = dtype_name(&field.dtype);
                TextField::new(tr!("Value"), &mut self.value)
                    .mono()
                    .trailing(&kind)
                    .show(ui);
                widgets::checkbox(ui, &mut self.all, tr!("Replace existing values too"));
            }
            ColumnVerb::Split => {
                TextField::new(tr!("Separator"), &mut self.by)
                    .mono()
                    .width(120.0)
                    .show(ui);
                TextField::new(tr!("New fields"), &mut self.into)
                    .mono()
                    .hint("year, month, day")
                    .show(ui);
                widgets::checkbox(ui, &mut self.keep, tr!("Keep the original field"));
            }
            ColumnVerb::Describe => drop(
                TextField::new(tr!("Description"), &mut self.description)
                    .rows(2)
                    .show(ui),
            ),
            ColumnVerb::Remove => {
                widgets::note_ui(
                    ui,
                    &FieldNote::Warning(tr!(
                        "The values of {field} leave the dataset; undo brings them back.",
                        field = field.name
                    )),
                );
            }
        }
    }

    fn type_ui(&mut self, ui: &mut Ui) {
        let words: Vec<String> = TYPES
            .iter()
            .map(|&(name, word)| format!("{} ({name})", crate::text::translate_text(word)))
            .collect();
        ui.horizontal(|ui| {
            ui.label(theme::rich_text(tr!("Type")).text_style(text_style("small12")));
            if let Some(index) = widgets::combo(
                ui,
                tr!("Type of the column"),
                &words[self.dtype],
                240.0,
                false,
                &words,
            ) {
                self.dtype = index;
            }
        });
    }
}

fn check_new_name(name: &str, taken: &[String]) -> Result<(), String> {
    if name.is_empty() {
        Err(tr!("Type a name").to_owned())
    } else if taken.iter().any(|other| other == name) {
        Err(tr!("There is a field {name} already", name))
    } else {
        Ok(())
    }
}

impl DialogView for ColumnDialog {
    fn ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) -> Next {
        let t = theme::tokens(ui);
        ui.set_width(520.0);
        ui.spacing_mut().item_spacing.y = 0.0;
        let title = self
            .field
            .as_ref()
            .map_or(tr!("Add column").to_owned(), |field| {
                tr!("Column {name}", name = field.name)
            });
        let close = head_ui(
            ui,
            icons::COLUMNS,
            &title,
            &tr!("level {level}", level = self.level),
        );
        let document = cx.document();
        let taken: Vec<String> = document
            .map(|document| document.fields(self.level))
            .unwrap_or_default()
            .into_iter()
            .map(|field| field.name)
            .collect();
        let rows = document.map_or(0, |document| document.rows(self.level)) as u64;
        let entered = enter_pressed(ui);
        Frame::NONE.inner_margin(Margin::same(16)).show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 10.0;
            self.form_ui(ui);
            let text = tr_n!(
                rows,
                "Each level has one schema (PIT-2): this changes the {n} sample of level {level}.",
                "Each level has one schema (PIT-2): this changes all {n} samples of level {level}.",
                n = paint::format_grouped_number(rows),
                level = self.level
            );
            ui.label(theme::style_small_text(text, t.tx2));
        });
        let change = self.change(&taken);
        let removes = matches!(change, Ok(ColumnChange::Remove { .. }));
        let (act, cancel) = foot_ui(ui, |ui| {
            let (verb, name) = match self.field {
                Some(_) => (tr!("Change column"), tr!("Change column")),
                None => (tr!("Add column"), tr!("Add this column")),
            };
            let text = change.as_ref().map_or(verb.to_owned(), ColumnChange::label);
            let button = if removes {
                Button::danger(text)
            } else {
                Button::primary(text)
            };
            let act = ui
                .add(
                    button
                        .large()
                        .name(name)
                        .with_disabled_reason(change.as_ref().err().cloned()),
                )
                .clicked();
            (act, ui.add(Button::ghost(tr!("Cancel")).large()).clicked())
        });
        match change {
            Ok(change) if act || (entered && !removes) => Next::Do(Request::Run(Command::Edit {
                edit: Edit::Column {
                    level: self.level,
                    change,
                },
            })),
            _ if cancel || close => Next::Close,
            _ => Next::Stay,
        }
    }

    fn receive(&mut self, event: &DialogEvent<'_>) -> Reply {
        close_with_document(event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dialog(verb: ColumnVerb) -> ColumnDialog {
        let mut dialog = ColumnDialog::new(1, Some(FieldSpec::new("tile", DataType::Utf8)));
        dialog.verb = verb;
        dialog
    }

    #[test]
    fn every_type_is_one_that_arrow_knows() {
        for (name, _) in TYPES {
            assert!(name.parse::<DataType>().is_ok(), "{name}");
        }
    }

    #[test]
    fn what_is_typed_is_a_change_or_a_reason() {
        let taken = ["tile".to_owned(), "cloud".to_owned()];
        let mut rename = dialog(ColumnVerb::Rename);
        assert!(rename.change(&taken).is_err(), "the name is the same");
        rename.name = " zone ".into();
        assert_eq!(
            rename.change(&taken),
            Ok(ColumnChange::Rename {
                name: "tile".into(),
                to: "zone".into()
            })
        );
        let mut split = dialog(ColumnVerb::Split);
        split.into = "a, cloud".into();
        assert!(
            split
                .change(&taken)
                .expect_err("is taken")
                .contains("cloud")
        );
        split.into = "a, b".into();
        assert!(matches!(
            split.change(&taken),
            Ok(ColumnChange::Split { into, .. }) if into == ["a", "b"]
        ));
        assert!(
            dialog(ColumnVerb::Fill).change(&taken).is_err(),
            "nothing to fill with"
        );
        let mut add = ColumnDialog::new(0, None);
        (add.name, add.dtype, add.value) = ("cloud_cover".into(), 1, "ten".into());
        assert!(
            add.change(&taken)
                .expect_err("is no number")
                .contains("ten")
        );
        add.value = "10".into();
        assert!(matches!(
            add.change(&taken),
            Ok(ColumnChange::Add { value: Value::Float(value), .. }) if value == 10.0
        ));
    }
}
