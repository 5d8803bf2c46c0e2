//! Form of Histograms: writes a tortilla of histograms of a dataset's rasters.

use egui::Ui;

use crate::gui::dialogs::operation::dataset_fields::{InputField, OutputField};
use crate::gui::dialogs::operation::fields::{self, OperationFields};
use crate::gui::dialogs::operation::form::{
    OperationForm, OperationStart, OperationTexts, PreviewWork,
};
use crate::gui::dialogs::operation::preview::OperationPreview;
use crate::gui::icons;
use crate::gui::panel_context::PanelContext;
use crate::gui::widgets::{self, Segment};
use crate::ops::{HistogramRequest, Scale, dataset_outline};
use crate::studio::Command;

/// Input and options.
#[derive(Debug)]
pub struct HistogramsForm {
    input: InputField,
    output: OutputField,
    scale: Scale,
}

impl HistogramsForm {
    /// Initial values for the opened dataset.
    pub fn new(start: &OperationStart) -> Self {
        Self {
            input: InputField::new(start),
            output: OutputField::new(start.output_text("-histograms", ".tortilla")),
            scale: Scale::Dataset,
        }
    }
}

impl OperationForm for HistogramsForm {
    fn words(&self) -> OperationTexts {
        OperationTexts {
            icon: icons::CHART_BAR,
            title: tr!("Histograms"),
            about: tr!(
                "Counts the values of every raster in 100 bins and writes them as a .tortilla of \
                    the same shape. Percentiles of any selection are computed from it without \
                    reading a raster."
            ),
            verb: tr!("Count"),
        }
    }

    fn options_ui(
        &mut self,
        ui: &mut Ui,
        fields: &mut OperationFields<'_>,
        _cx: &mut PanelContext<'_>,
    ) {
        let hint = tr!("a dataset of any generation");
        self.input.ui(ui, fields, tr!("Dataset"), hint);
        let hint = tr!("a file that ends in .tortilla");
        self.output.ui(ui, fields, tr!("Histogram file"), hint);
        fields::draw_labelled_line(ui, tr!("Values share their bins"), |ui| {
            let scales = [
                Segment::new(Scale::Dataset, tr!("over the whole dataset")),
                Segment::new(Scale::Band, tr!("by position and band")),
            ];
            widgets::draw_segments(ui, "histogram-scale", &mut self.scale, &scales);
        });
        self.input.base_ui(ui, fields);
        self.output.replace_ui(ui);
    }

    fn work(&self, _cx: &PanelContext<'_>) -> Result<PreviewWork, String> {
        let input = self.input.path()?;
        let output = self.output.destination()?;
        let request = HistogramRequest {
            input,
            open: self.input.open_options(),
            output: output.path.clone(),
            scale: self.scale,
            overwrite: output.replace,
        };
        Ok(Box::new(move |ctx| {
            let outline = dataset_outline(&request.input, &request.open, ctx)?;
            let preview = OperationPreview::new(Command::operate(request)).outline(&outline);
            let preview = preview.destination(&output);
            let named = output
                .path
                .extension()
                .is_some_and(|ending| ending.eq_ignore_ascii_case("tortilla"));
            Ok(if named {
                preview
            } else {
                preview.obstacle(tr!("The name has to end in .tortilla"))
            })
        }))
    }
}
