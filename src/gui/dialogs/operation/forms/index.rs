//! Form of Index existing ZIPs: writes a TACOCAT folder, a TACOCAT file, or a TACOLLECTION over
//! ZIPs.

use std::path::Path;

use egui::Ui;

use crate::container::{ConsolidateOptions, Format, has_zip_ending};
use crate::gui::dialogs::operation::dataset_fields::OutputField;
use crate::gui::dialogs::operation::fields::{self, OperationFields, paths_in};
use crate::gui::dialogs::operation::form::{
    OperationForm, OperationStart, OperationTexts, PreviewWork,
};
use crate::gui::dialogs::operation::line::ReportLine;
use crate::gui::dialogs::operation::preview::{Destination, OperationPreview};
use crate::gui::dropped_paths::display_path;
use crate::gui::file_dialog::FileRequest;
use crate::gui::icons;
use crate::gui::panel_context::PanelContext;
use crate::gui::widgets::{self, Segment, paint};
use crate::ops::{ConsolidateRequest, folder_of_index, index_preview};
use crate::studio::Command;
use crate::table::ParquetOptions;

/// Maximum number of ZIPs that a preview lists.
const MAX_LISTED: usize = 8;

/// Inputs and options.
#[derive(Debug)]
pub struct IndexForm {
    inputs: String,
    /// Output proposed from the inputs.
    proposed: String,
    output: OutputField,
    format: Format,
}

impl IndexForm {
    /// Initial values: the opened dataset, if it is a ZIP.
    pub fn new(start: &OperationStart) -> Self {
        let inputs = match &start.input {
            Some(path) if has_zip_ending(path) => start.input_text(),
            _ => String::new(),
        };
        Self {
            inputs,
            proposed: String::new(),
            output: OutputField::new(String::new()),
            format: Format::Tacocat,
        }
    }

    /// Proposes the folder of the first ZIP until another output is typed.
    fn propose(&mut self) {
        let folder = paths_in(&self.inputs)
            .first()
            .and_then(|path| path.parent().map(Path::to_owned));
        let proposal = folder.map(|folder| match self.format {
            Format::Tacollection => folder.join("TACOLLECTION.json").display().to_string(),
            _ => folder.display().to_string(),
        });
        if self.output.text == self.proposed {
            self.output.text = proposal.clone().unwrap_or_default();
        }
        self.proposed = proposal.unwrap_or_default();
    }
}

impl OperationForm for IndexForm {
    fn words(&self) -> OperationTexts {
        OperationTexts {
            icon: icons::DATABASE,
            title: tr!("Index existing ZIPs"),
            about: tr!(
                "Writes one index over many ZIPs, which then open as one dataset. The ZIPs are not \
                    changed; the index belongs into the folder that holds them."
            ),
            verb: tr!("Write index"),
        }
    }

    fn options_ui(
        &mut self,
        ui: &mut Ui,
        fields: &mut OperationFields<'_>,
        _cx: &mut PanelContext<'_>,
    ) {
        fields.paths(
            ui,
            "ZIPs",
            &mut self.inputs,
            tr!("one path per line, in the order of their rows"),
        );
        fields::draw_labelled_line(ui, tr!("Kind of index"), |ui| {
            let kinds = [
                Segment::new(Format::Tacocat, ".tacocat"),
                Segment::new(Format::TacocatFile, "__TACOCAT__"),
                Segment::new(Format::Tacollection, "TACOLLECTION.json"),
            ];
            widgets::draw_segments(ui, "index-kind", &mut self.format, &kinds);
        });
        self.propose();
        let request = if self.format == Format::Tacollection {
            FileRequest::ToolOutput
        } else {
            FileRequest::ToolFolder
        };
        fields.path(ui, tr!("Write into"), &mut self.output.text, "", request);
        self.output.replace_ui(ui);
    }

    fn work(&self, _cx: &PanelContext<'_>) -> Result<PreviewWork, String> {
        let inputs = paths_in(&self.inputs);
        if inputs.is_empty() {
            return Err(tr!("Choose the ZIPs").into());
        }
        let Destination { path, replace } = self.output.destination()?;
        let options = ConsolidateOptions {
            inputs,
            target: path,
            format: self.format,
            parquet: ParquetOptions::default(),
            overwrite: replace,
            skip_schema_check: false,
        };
        Ok(Box::new(move |ctx| {
            let found = index_preview(&options, ctx)?;
            let rows: usize = found.zips.iter().map(|(_, rows)| rows).sum();
            let (n, rows) = (
                paint::format_grouped_number(found.zips.len() as u64),
                paint::format_grouped_number(rows as u64),
            );
            let folder = display_path(folder_of_index(&options));
            let path = match options.format {
                Format::Tacocat => options.target.join(".tacocat"),
                Format::TacocatFile => options.target.join("__TACOCAT__"),
                _ => options.target.clone(),
            };
            let mut preview =
                OperationPreview::new(Command::operate(ConsolidateRequest { options }));
            let text = tr_n!(
                found.zips.len(),
                "{n} ZIP with {rows} samples of level 0",
                "{n} ZIPs with {rows} samples of level 0",
                n,
                rows
            );
            preview = preview.line(ReportLine::fact(text));
            for (path, rows) in found.zips.iter().take(MAX_LISTED) {
                preview = preview.line(ReportLine::row(format!(
                    "{}  {}",
                    display_path(path),
                    paint::format_grouped_number(*rows as u64)
                )));
            }
            if found.elsewhere > 0 {
                let n = paint::format_grouped_number(found.elsewhere as u64);
                preview = preview.line(ReportLine::warning(tr_n!(
                    found.elsewhere,
                    "{n} ZIP is not in {folder}, where readers look for it: move it there, or name \
                        its folder whenever you open the index",
                    "{n} ZIPs are not in {folder}, where readers look for them: move them there, \
                        or name their folder whenever you open the index",
                    n,
                    folder
                )));
            }
            // An index is inside the set of its parts.
            let exists = path.symlink_metadata().is_ok();
            Ok(preview.output(&Destination { path, replace }, exists))
        }))
    }
}
