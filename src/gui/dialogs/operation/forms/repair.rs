//! Form of Repair: writes a copy in which faults with exactly one correction are corrected.

use std::collections::BTreeMap;

use egui::Ui;

use crate::container::{self, Format};
use crate::error::Cause;
use crate::gui::dialogs::operation::dataset_fields::{DatasetOutputField, InputField};
use crate::gui::dialogs::operation::fields::OperationFields;
use crate::gui::dialogs::operation::form::{
    OperationForm, OperationStart, OperationTexts, PreviewWork,
};
use crate::gui::dialogs::operation::line::ReportLine;
use crate::gui::dialogs::operation::preview::{Destination, OperationPreview};
use crate::gui::icons;
use crate::gui::panel_context::PanelContext;
use crate::gui::widgets::paint;
use crate::model::Severity;
use crate::ops::{RepairRequest, is_other_generation, outline_of};
use crate::studio::Command;
use crate::validate::{self, CheckOptions};

/// Input and options.
#[derive(Debug)]
pub struct RepairForm {
    input: InputField,
    output: DatasetOutputField,
}

impl RepairForm {
    /// Initial values for the opened dataset.
    pub fn new(start: &OperationStart) -> Self {
        Self {
            input: InputField::new(start),
            output: DatasetOutputField::new(
                start.output_text("-repaired", ".tacozip"),
                Format::Zip,
            ),
        }
    }
}

impl OperationForm for RepairForm {
    fn words(&self) -> OperationTexts {
        OperationTexts {
            icon: icons::FIRST_AID_KIT,
            title: tr!("Repair a copy"),
            about: tr!(
                "Writes a copy with corrected levels, offsets, __meta__, schema fields, extent and \
                    statistics. Faults that need a decision stay and are reported. Sample bytes \
                    are copied unchanged; the input is not modified."
            ),
            verb: tr!("Repair"),
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
        self.output.location.ui(ui, fields, tr!("Copy"), "");
        self.input.base_ui(ui, fields);
        self.output.location.replace_ui(ui);
    }

    fn work(&self, _cx: &PanelContext<'_>) -> Result<PreviewWork, String> {
        let request = RepairRequest {
            input: self.input.path()?,
            open: self.input.open_options(),
            options: self.output.build_options()?,
        };
        let output = Destination::of_dataset(&request.options);
        Ok(Box::new(move |ctx| {
            let reader = match container::open_with(&request.input, &request.open, ctx) {
                Err(error) if error.is_caused_by(Cause::RepairableArchive) => {
                    let preview = OperationPreview::new(Command::operate(request));
                    let text = tr!(
                        "Another program wrote this ZIP again: it is unpacked and written with all \
                            of its metadata."
                    );
                    return Ok(preview.line(ReportLine::fact(text)).destination(&output));
                }
                opened => opened?,
            };
            let outline = outline_of(reader.as_ref());
            let other = is_other_generation(reader.as_ref());
            let report = validate::container_with(reader.as_ref(), &CheckOptions::default(), ctx)?;
            let mut rules: BTreeMap<&str, (Severity, usize, &'static str)> = BTreeMap::new();
            for finding in &report.findings {
                rules
                    .entry(finding.rule.code())
                    .or_insert((finding.severity, 0, finding.rule.what()))
                    .1 += 1;
            }
            let mut preview = OperationPreview::new(Command::operate(request)).outline(&outline);
            for (code, (severity, count, what)) in rules {
                let text = format!(
                    "{code} × {}: {}",
                    paint::format_grouped_number(count as u64),
                    crate::text::translate_text(what)
                );
                preview = preview.line(if severity == Severity::Error {
                    ReportLine::error(text)
                } else {
                    ReportLine::warning(text)
                });
            }
            preview = preview.line(if report.findings.is_empty() {
                ReportLine::good(tr!(
                    "The quick check finds no fault. Repair reads every byte and may find more."
                ))
            } else {
                ReportLine::fact(tr!(
                    "The report lists which were repaired and which remain."
                ))
            });
            if other {
                let why = tr!(
                    "Only datasets of 2.0 can be repaired. Convert it with Move to 2.0… first."
                );
                preview = preview
                    .line(ReportLine::error(why))
                    .obstacle(tr!("The dataset is of another generation"));
            }
            Ok(preview.destination(&output))
        }))
    }
}
