//! Draws the options of Write dataset: container, destination, parts, compression.

use egui::{Sense, Ui, vec2};

use super::checks::Checks;
use super::choices::{Choices, PartSplit, WriteContainer};
use crate::gui::dialogs::operation::fields::OperationFields;
use crate::gui::file_dialog::FileRequest;
use crate::gui::icons;
use crate::gui::panel_context::PanelContext;
use crate::gui::theme::{self, font};
use crate::gui::widgets::{self, Button, ChoiceCard, FieldNote, TextField, paint};
use crate::model::FieldSpec;
use crate::ops::Depth;
use crate::table::Compression;

const DEPTHS: [(Depth, &str); 3] = [
    (Depth::Counts, mark!("Count the samples")),
    (
        Depth::Random,
        mark!("Compare 120 samples with their sources"),
    ),
    (Depth::All, mark!("Compare all samples with their sources")),
];

impl Choices {
    /// Draws the options; the notes at the destination and the parts are those of `checks`.
    pub fn ui(
        &mut self,
        ui: &mut Ui,
        fields: &mut OperationFields<'_>,
        cx: &PanelContext<'_>,
        checks: &Checks,
    ) {
        widgets::heading(ui, tr!("Container"));
        let cards = [
            (
                WriteContainer::Zip,
                "ZIP",
                ".tacozip",
                tr!("One immutable archive, read by byte range."),
                icons::FILE_ZIP,
            ),
            (
                WriteContainer::Parts,
                tr!("ZIP parts and TACOCAT"),
                ".tacocat",
                tr!("Several archives and one index. Best for publishing."),
                icons::STACK,
            ),
            (
                WriteContainer::Folder,
                "FOLDER",
                tr!("directory"),
                tr!("Plain files, easy to look into. Best while you work."),
                icons::FOLDER_SIMPLE,
            ),
        ];
        for (container, name, ending, what, icon) in cards {
            if widgets::choice_card(
                ui,
                self.container == container,
                &ChoiceCard {
                    name,
                    ending,
                    what,
                    icon,
                },
            ) {
                self.set_container(container);
            }
        }
        self.target_ui(ui, fields, checks.is_there());
        if self.container == WriteContainer::Parts {
            self.parts_ui(ui, cx, checks.part_count());
        }
        self.parquet_ui(ui);
        widgets::heading(ui, tr!("Also"));
        if self.container == WriteContainer::Parts {
            widgets::checkbox(ui, &mut self.collection_file, "TACOLLECTION.json");
        }
        widgets::checkbox(ui, &mut self.verify, tr!("Open it again and verify"));
        if self.verify {
            let words = DEPTHS.map(|(_, word)| crate::text::translate_text(word));
            let index = DEPTHS
                .iter()
                .position(|(depth, _)| *depth == self.depth)
                .unwrap_or_default();
            ui.horizontal(|ui| {
                ui.add_space(21.0);
                let width = ui.available_width().min(290.0);
                if let Some(index) = widgets::combo(
                    ui,
                    tr!("How much to verify"),
                    words[index],
                    width,
                    false,
                    &words,
                ) {
                    self.depth = DEPTHS[index].0;
                }
            });
        }
    }

    fn target_ui(&mut self, ui: &mut Ui, fields: &mut OperationFields<'_>, is_there: bool) {
        let label = tr!("Destination");
        if let Some([folder, ..]) = fields.take_picked(label).as_deref() {
            self.set_folder(folder);
        }
        let note = match (is_there, self.output.replace) {
            (true, false) => {
                FieldNote::Warning(tr!("There is a file or folder at this path already.").into())
            }
            (true, true) => FieldNote::Warning(
                tr!("What is there will be replaced once the new dataset is complete.").into(),
            ),
            _ => FieldNote::None,
        };
        ui.horizontal_top(|ui| {
            ui.spacing_mut().item_spacing.x = 6.0;
            let width = ui.available_width() - 84.0;
            TextField::new(label, &mut self.output.text)
                .mono()
                .width(width)
                .note(note)
                .show(ui);
            ui.vertical(|ui| {
                ui.add_space(21.0);
                if ui
                    .add(Button::secondary(tr!("Browse…")).min_width(76.0))
                    .clicked()
                {
                    *fields.wanted = Some((label.to_owned(), FileRequest::Target));
                }
            });
        });
        if is_there {
            self.output.replace_ui(ui);
        }
    }

    fn parts_ui(&mut self, ui: &mut Ui, cx: &PanelContext<'_>, count: Option<usize>) {
        widgets::heading(ui, tr!("Parts"));
        let count = count
            .map(|count| tr_n!(count, "{n} part", "{n} parts", n = count))
            .unwrap_or_default();
        self.draw_split_choice(
            ui,
            PartSplit::Size,
            tr!("By size"),
            &count,
            |ui, choices| {
                let before = choices.size.clone();
                TextField::new(tr!("Size of a part"), &mut choices.size)
                    .hide_label()
                    .mono()
                    .width(90.0)
                    .show(ui);
                if choices.size != before {
                    choices.split = PartSplit::Size;
                }
            },
        );
        let columns: Vec<String> = cx
            .document()
            .map(|document| document.fields(0))
            .unwrap_or_default()
            .iter()
            .map(|f: &FieldSpec| f.name.clone())
            .collect();
        self.draw_split_choice(
            ui,
            PartSplit::Column,
            tr!("By column"),
            &count,
            |ui, choices| {
                let shown = if choices.column.is_empty() {
                    tr!("choose a column")
                } else {
                    choices.column.as_str()
                }
                .to_owned();
                ui.add_enabled_ui(!columns.is_empty(), |ui| {
                    if let Some(index) = widgets::combo(
                        ui,
                        tr!("Column of the parts"),
                        &shown,
                        170.0,
                        true,
                        &columns,
                    ) {
                        choices.column.clone_from(&columns[index]);
                        choices.split = PartSplit::Column;
                    }
                });
            },
        );
        self.draw_split_choice(ui, PartSplit::None, tr!("Do not split"), &count, |_, _| {});
    }

    /// Draws a way to split, with what `add` draws beside it; the chosen one shows the number of
    /// parts.
    fn draw_split_choice(
        &mut self,
        ui: &mut Ui,
        split: PartSplit,
        text: &str,
        count: &str,
        add: impl FnOnce(&mut Ui, &mut Self),
    ) {
        ui.horizontal(|ui| {
            ui.set_min_height(26.0);
            if widgets::radio(ui, self.split == split, text).clicked() {
                self.split = split;
            }
            add(ui, self);
            if self.split == split {
                ui.label(theme::style_small_text(count, theme::tokens(ui).tx2));
            }
        });
    }

    fn parquet_ui(&mut self, ui: &mut Ui) {
        let t = theme::tokens(ui);
        widgets::heading(ui, tr!("Parquet metadata"));
        ui.horizontal(|ui| {
            draw_option_label(ui, tr!("Compression"));
            let names: Vec<&str> = Compression::ALL.iter().map(|codec| codec.name()).collect();
            // The level and its label are beside it.
            let width = (ui.available_width() - 100.0).clamp(70.0, 120.0);
            if let Some(index) = widgets::combo(
                ui,
                tr!("Compression"),
                self.compression.name(),
                width,
                true,
                &names,
            ) {
                self.compression = Compression::ALL[index];
                self.level.clear();
            }
            if let Some((_, _, usual)) = self.compression.levels() {
                ui.label(
                    theme::rich_text(tr!("level"))
                        .font(font::regular(12.0))
                        .color(t.tx2),
                );
                let hint = usual.to_string();
                let field = TextField::new(tr!("Compression level"), &mut self.level)
                    .hide_label()
                    .mono()
                    .width(46.0);
                field.hint(&hint).show(ui);
            }
        });
        ui.horizontal(|ui| {
            draw_option_label(ui, tr!("Row group"));
            TextField::new(tr!("Rows of a row group"), &mut self.rows)
                .hide_label()
                .mono()
                .width(90.0)
                .show(ui);
            ui.label(
                theme::rich_text(tr!("rows"))
                    .font(font::regular(12.0))
                    .color(t.tx2),
            );
        });
    }
}

fn draw_option_label(ui: &mut Ui, text: &str) {
    let (rect, _) = ui.allocate_exact_size(vec2(86.0, 26.0), Sense::hover());
    paint::text_left(
        ui.painter(),
        rect,
        text,
        font::regular(12.0),
        theme::tokens(ui).tx2,
    );
}
