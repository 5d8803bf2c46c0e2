//! Form of Convert: writes a dataset in another container, in parts, or with another compression of
//! its tables.

use egui::Ui;

use crate::container::{BuildOptions, Format, PartOptions};
use crate::gui::dialogs::operation::dataset_fields::{DatasetOutputField, InputField};
use crate::gui::dialogs::operation::fields::{self, OperationFields, size_in};
use crate::gui::dialogs::operation::form::{
    InputKind, OperationForm, OperationStart, OperationTexts, PreviewWork,
};
use crate::gui::dialogs::operation::line::ReportLine;
use crate::gui::dialogs::operation::preview::{Destination, OperationPreview};
use crate::gui::icons;
use crate::gui::panel_context::PanelContext;
use crate::gui::widgets::{self, Segment, TextField};
use crate::ops::{ConvertRequest, DatasetOutline, dataset_outline};
use crate::studio::Command;
use crate::table::{Compression, ParquetOptions};

/// Input and options.
#[derive(Debug)]
pub struct ConvertForm {
    input: InputField,
    output: DatasetOutputField,
    compression: Compression,
    part_size: String,
    group_by: String,
    index: Option<Format>,
    damaged: bool,
}

impl ConvertForm {
    /// Initial values for the opened dataset.
    pub fn new(start: &OperationStart) -> Self {
        let (format, ending) = if start.input_kind == InputKind::File {
            (Format::Folder, "")
        } else {
            (Format::Zip, ".tacozip")
        };
        Self {
            input: InputField::new(start),
            output: DatasetOutputField::new(start.output_text("-converted", ending), format),
            compression: Compression::Zstd,
            part_size: String::new(),
            group_by: String::new(),
            index: None,
            damaged: false,
        }
    }
}

impl OperationForm for ConvertForm {
    fn words(&self) -> OperationTexts {
        OperationTexts {
            icon: icons::ARROWS_LEFT_RIGHT,
            title: tr!("Convert ZIP or FOLDER"),
            about: tr!(
                "Writes the dataset in another container, in parts, or joins its parts. Samples \
                    are copied byte for byte; ids, levels and metadata stay."
            ),
            verb: tr!("Convert"),
        }
    }

    fn options_ui(
        &mut self,
        ui: &mut Ui,
        fields: &mut OperationFields<'_>,
        _cx: &mut PanelContext<'_>,
    ) {
        let hint = tr!("a dataset of 2.0");
        self.input.ui(ui, fields, tr!("Dataset"), hint);
        self.output.labelled_formats_ui(ui);
        self.output.location.ui(ui, fields, tr!("Output"), "");
        fields::draw_labelled_line(ui, tr!("Compress tables with"), |ui| {
            let codecs = [
                Segment::new(Compression::Zstd, "zstd"),
                Segment::new(Compression::Snappy, "snappy"),
                Segment::new(Compression::Gzip, "gzip"),
                Segment::new(Compression::None, tr!("nothing" in "compression")),
            ];
            widgets::draw_segments(ui, "convert-codec", &mut self.compression, &codecs);
        });
        fields::draw_labelled_line(ui, tr!("Split into parts"), |ui| {
            let size = TextField::new(tr!("Data in a part"), &mut self.part_size)
                .hide_label()
                .mono()
                .width(130.0);
            size.hint(tr!("at most 4GB")).show(ui);
            let by = TextField::new(tr!("A part for each value of"), &mut self.group_by)
                .hide_label()
                .mono()
                .width(220.0);
            by.hint(tr!("columns of level 0")).show(ui);
        });
        if !self.part_size.trim().is_empty() || !self.group_by.trim().is_empty() {
            fields::draw_labelled_line(ui, tr!("Index over the parts"), |ui| {
                let kinds = [
                    Segment::new(None, tr!("none" in "index")),
                    Segment::new(Some(Format::Tacocat), ".tacocat"),
                    Segment::new(Some(Format::TacocatFile), "__TACOCAT__"),
                    Segment::new(Some(Format::Tacollection), "TACOLLECTION.json"),
                ];
                widgets::draw_segments(ui, "convert-index", &mut self.index, &kinds);
            });
        }
        self.input.base_ui(ui, fields);
        fields::keep_damaged_ui(ui, &mut self.damaged);
        self.output.location.replace_ui(ui);
    }

    fn work(&self, _cx: &PanelContext<'_>) -> Result<PreviewWork, String> {
        let (input, open) = (self.input.path()?, self.input.open_options());
        let named = self.output.build_options()?;
        let group_by = fields::split_names(&self.group_by);
        let size_bytes = size_in(&self.part_size)?;
        let split = size_bytes.is_some() || !group_by.is_empty();
        let parts = PartOptions {
            size_bytes,
            consolidate: self.index.filter(|_| split).into_iter().collect(),
            group_by,
        };
        let options = BuildOptions {
            parquet: ParquetOptions {
                compression: self.compression,
                ..ParquetOptions::default()
            },
            parts: split.then_some(parts),
            on_damage: fields::choose_damage_handling(self.damaged),
            ..named
        };
        Ok(Box::new(move |ctx| {
            let outline = dataset_outline(&input, &open, ctx)?;
            let output = Destination::of_dataset(&options);
            let grouped = options
                .parts
                .as_ref()
                .map(|parts| parts.group_by.clone())
                .unwrap_or_default();
            let mut preview = OperationPreview::new(Command::operate(ConvertRequest {
                input,
                open,
                options,
            }))
            .outline(&outline);
            if outline.format.generation() != "2.0" {
                let why = tr!(
                    "Only datasets of 2.0 have a ZIP and a FOLDER form. Convert it with Move to \
                        2.0… first."
                );
                preview = preview
                    .line(ReportLine::error(why))
                    .obstacle(tr!("The dataset is of another generation"));
            }
            if let Some(name) = grouped.iter().find(|name| !has_root_column(&outline, name)) {
                let why = tr!("Level 0 has no column {name}", name);
                preview = preview.line(ReportLine::error(why.clone())).obstacle(why);
            }
            Ok(preview.destination(&output))
        }))
    }
}

fn has_root_column(outline: &DatasetOutline, name: &str) -> bool {
    outline
        .columns
        .first()
        .is_some_and(|level| level.iter().any(|field| field.name == name))
}
