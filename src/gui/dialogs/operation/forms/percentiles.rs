//! Form of Percentiles: computes percentiles from a tortilla of histograms.

use egui::Ui;

use crate::container::OpenOptions;
use crate::gui::dialogs::operation::dataset_fields::{InputField, SampleField};
use crate::gui::dialogs::operation::fields::OperationFields;
use crate::gui::dialogs::operation::form::{
    OperationForm, OperationStart, OperationTexts, PreviewWork,
};
use crate::gui::dialogs::operation::line::ReportLine;
use crate::gui::dialogs::operation::preview::OperationPreview;
use crate::gui::file_dialog::FileRequest;
use crate::gui::icons;
use crate::gui::panel_context::PanelContext;
use crate::gui::widgets::{self, TextField};
use crate::ops::{PercentileRequest, dataset_outline};
use crate::studio::Command;

/// Column that identifies a tortilla of histograms.
const SCALE_COLUMN: &str = "histogram:minimum";

/// Input and options.
#[derive(Debug)]
pub struct PercentilesForm {
    input: InputField,
    percents: String,
    samples: SampleField,
    each: bool,
}

impl PercentilesForm {
    /// Initial values for the opened dataset, if it holds histograms.
    pub fn new(start: &OperationStart) -> Self {
        Self {
            input: InputField::new(start),
            percents: "2.5, 98.5".into(),
            samples: SampleField::new(start),
            each: false,
        }
    }

    fn percents(&self) -> Result<Vec<f64>, String> {
        let words: Vec<&str> = self
            .percents
            .split([',', ';', ' '])
            .map(str::trim)
            .filter(|word| !word.is_empty())
            .collect();
        let numbers: Option<Vec<f64>> = words
            .iter()
            .map(|word| word.parse().ok().filter(|n| (0.0..=100.0).contains(n)))
            .collect();
        numbers
            .filter(|numbers| !numbers.is_empty())
            .ok_or_else(|| tr!("Write percentages from 0 to 100, like 2.5, 98.5").into())
    }
}

impl OperationForm for PercentilesForm {
    fn words(&self) -> OperationTexts {
        OperationTexts {
            icon: icons::CHART_BAR,
            title: tr!("Percentiles"),
            about: tr!(
                "Computes percentiles of all samples or of a selection from a .tortilla of \
                    histograms, each exact to one bin, beside their summed histogram. No raster is \
                    read."
            ),
            verb: tr!("Compute"),
        }
    }

    fn options_ui(
        &mut self,
        ui: &mut Ui,
        fields: &mut OperationFields<'_>,
        cx: &mut PanelContext<'_>,
    ) {
        fields.path(
            ui,
            tr!("Histogram file"),
            &mut self.input.text,
            tr!("a .tortilla that Histograms wrote"),
            FileRequest::ToolFile,
        );
        TextField::new(tr!("Percentages"), &mut self.percents)
            .mono()
            .show(ui);
        self.samples.ui(ui, cx, &self.input);
        widgets::checkbox(ui, &mut self.each, tr!("Each sample of level 0 by itself"));
    }

    fn work(&self, cx: &PanelContext<'_>) -> Result<PreviewWork, String> {
        // Histograms of single samples are not drawn, as there are too many.
        let request = PercentileRequest {
            input: self.input.path()?,
            percents: self.percents()?,
            rows: self.samples.rows(cx, &self.input),
            each: self.each,
            histogram: !self.each,
        };
        Ok(Box::new(move |ctx| {
            let outline = dataset_outline(&request.input, &OpenOptions::default(), ctx)?;
            let has = outline
                .columns
                .iter()
                .flatten()
                .any(|field| field.name == SCALE_COLUMN);
            let preview = OperationPreview::new(Command::operate(request)).outline(&outline);
            Ok(if has {
                preview
            } else {
                let why = tr!(
                    "This dataset holds no histograms. Histograms… in the menu Tools writes a \
                            .tortilla of them."
                );
                preview
                    .line(ReportLine::error(why))
                    .obstacle(tr!("The input holds no histograms"))
            })
        }))
    }

    fn key(&self, cx: &PanelContext<'_>) -> String {
        format!("{self:?}{}", self.samples.filter_key(cx))
    }
}
