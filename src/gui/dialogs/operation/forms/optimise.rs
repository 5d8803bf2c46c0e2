//! Form of Optimise rasters: writes a raster, a folder of rasters, or those of a dataset as TACO
//! Optimized GeoTIFFs.

use egui::Ui;

use crate::gui::dialogs::operation::dataset_fields::{InputField, OutputField};
use crate::gui::dialogs::operation::fields::{self, OperationFields};
use crate::gui::dialogs::operation::form::{
    InputKind, OperationForm, OperationStart, OperationTexts, PreviewWork,
};
use crate::gui::dialogs::operation::line::ReportLine;
use crate::gui::dialogs::operation::preview::OperationPreview;
use crate::gui::icons;
use crate::gui::panel_context::PanelContext;
use crate::gui::widgets::{self, Segment, TextField, paint};
use crate::ops::{OptimisePreview, OptimiseRequest, optimise_preview};
use crate::raster::TogOptions;
use crate::studio::Command;
use crate::table::ParquetOptions;

/// Input and options.
#[derive(Debug)]
pub struct OptimiseForm {
    input: InputField,
    output: OutputField,
    block: u32,
    effort: String,
    again: bool,
    variable: String,
    stream: bool,
    damaged: bool,
}

impl OptimiseForm {
    /// Initial values for the opened dataset.
    pub fn new(start: &OperationStart) -> Self {
        let ending = match &start.input {
            Some(path) if start.input_kind != InputKind::Folder => path
                .extension()
                .map(|ending| format!(".{}", ending.to_string_lossy()))
                .unwrap_or_default(),
            _ => String::new(),
        };
        let TogOptions {
            block_size, level, ..
        } = TogOptions::default();
        Self {
            input: InputField::new(start),
            output: OutputField::new(start.output_text("-optimised", &ending)),
            block: block_size,
            effort: level.to_string(),
            again: false,
            variable: String::new(),
            stream: false,
            damaged: false,
        }
    }

    fn is_first_generation(&self) -> bool {
        let name = self.output.text.trim().to_ascii_lowercase();
        name.ends_with(".tortilla") || name.ends_with(".taco")
    }
}

impl OperationForm for OptimiseForm {
    fn words(&self) -> OperationTexts {
        OperationTexts {
            icon: icons::GAUGE,
            title: tr!("Optimise rasters"),
            about: tr!(
                "Writes rasters as TACO Optimized GeoTIFFs, which are read with few requests. \
                    Pixel values and the input never change; files that are no rasters are copied \
                    unchanged."
            ),
            verb: tr!("Optimise"),
        }
    }

    fn options_ui(
        &mut self,
        ui: &mut Ui,
        fields: &mut OperationFields<'_>,
        _cx: &mut PanelContext<'_>,
    ) {
        let hint = tr!("a raster, a folder of rasters, or a dataset of any generation");
        self.input.ui(ui, fields, tr!("Rasters"), hint);
        let hint = tr!("a file or folder of the same kind");
        self.output.ui(ui, fields, tr!("Output"), hint);
        fields::draw_labelled_line(ui, tr!("Tiles"), |ui| {
            let sizes = [128u32, 256, 512, 1024].map(|size| (size, size.to_string()));
            let sizes: Vec<Segment<'_, u32>> = sizes
                .iter()
                .map(|(size, text)| Segment::new(*size, text))
                .collect();
            widgets::draw_segments(ui, "optimise-block", &mut self.block, &sizes);
            TextField::new(tr!("Effort of zstd"), &mut self.effort)
                .hide_label()
                .mono()
                .width(60.0)
                .show(ui);
            ui.label(tr!("effort of zstd, 1 to 22"));
        });
        fields::draw_labelled_line(ui, tr!("Variable"), |ui| {
            TextField::new(tr!("Variable of files with several"), &mut self.variable)
                .hide_label()
                .mono()
                .width(160.0)
                .show(ui);
            ui.label(tr!("of netCDF, HDF5 and other files with several"));
        });
        widgets::checkbox(
            ui,
            &mut self.again,
            tr!("Write rasters anew that are TOGs already"),
        );
        if self.is_first_generation() {
            widgets::checkbox(
                ui,
                &mut self.stream,
                tr!("Streamable: one chain of tables for all levels"),
            );
        }
        self.input.base_ui(ui, fields);
        fields::keep_damaged_ui(ui, &mut self.damaged);
        self.output.replace_ui(ui);
    }

    fn work(&self, _cx: &PanelContext<'_>) -> Result<PreviewWork, String> {
        let effort = self
            .effort
            .trim()
            .parse::<u8>()
            .ok()
            .filter(|effort| (1..=22).contains(effort));
        let input = self.input.path()?;
        let output = self.output.destination()?;
        let request = OptimiseRequest {
            input,
            output: output.path.clone(),
            open: self.input.open_options(),
            tog: TogOptions {
                block_size: self.block,
                level: effort.ok_or_else(|| {
                    tr!("The effort of zstd is a whole number from 1 to 22").to_owned()
                })?,
                parallel: false,
            },
            format: None,
            parquet: ParquetOptions::default(),
            stream: self.stream && self.is_first_generation(),
            again: self.again,
            variable: Some(self.variable.trim())
                .filter(|name| !name.is_empty())
                .map(Into::into),
            overwrite: output.replace,
            on_damage: fields::choose_damage_handling(self.damaged),
            text_columns: false,
            align_blocks: false,
        };
        Ok(Box::new(move |ctx| {
            let OptimisePreview {
                files,
                looked_at,
                to_write,
                already,
                copied,
                is_dataset,
            } = optimise_preview(&request, ctx)?;
            let n = paint::format_grouped_number(files);
            let what = if is_dataset {
                tr_n!(
                    files,
                    "Reads: a dataset with {n} file",
                    "Reads: a dataset with {n} files",
                    n
                )
            } else {
                tr_n!(files, "Reads: {n} file", "Reads: {n} files", n)
            };
            let of = tr!(
                "Of the first {looked_at}: {to_write} are written, {already} are TOGs already, \
                    {copied} are copied",
                looked_at,
                to_write,
                already,
                copied
            );
            let preview = OperationPreview::new(Command::operate(request))
                .line(ReportLine::fact(what))
                .line(ReportLine::fact(of));
            let preview = if to_write == 0 && looked_at == files {
                preview.line(ReportLine::warning(tr!(
                    "Nothing is left to optimise; the output is a copy"
                )))
            } else {
                preview
            };
            Ok(preview.destination(&output))
        }))
    }
}
