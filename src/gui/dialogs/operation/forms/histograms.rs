//! Form of Histograms: writes a tortilla of histograms of a dataset's rasters.

use egui::Ui;

use crate::container::OpenOptions;
use crate::gui::dialogs::operation::fields::{
    self, OperationFields, need_input, need_output, path_in,
};
use crate::gui::dialogs::operation::form::{
    OperationForm, OperationStart, OperationTexts, PreviewWork,
};
use crate::gui::dialogs::operation::preview::OperationPreview;
use crate::gui::file_dialog::FileRequest;
use crate::gui::icons;
use crate::gui::panel_context::PanelContext;
use crate::gui::widgets::{self, Segment};
use crate::ops::{HistogramRequest, Scale, dataset_outline};
use crate::studio::Command;

/// Input and options.
#[derive(Debug)]
pub struct Histograms {
    input: String,
    open: OpenOptions,
    base: String,
    output: String,
    scale: Scale,
    replace: bool,
}

impl Histograms {
    /// Initial values for the opened dataset.
    pub fn new(start: &OperationStart) -> Self {
        Self {
            input: start.input_text(),
            base: start
                .open
                .base_path
                .as_ref()
                .map(|path| path.display().to_string())
                .unwrap_or_default(),
            open: start.open.clone(),
            output: start.output_text("-histograms", ".tortilla"),
            scale: Scale::Dataset,
            replace: false,
        }
    }
}

impl OperationForm for Histograms {
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
        fields.dataset(
            ui,
            tr!("Dataset"),
            &mut self.input,
            tr!("a dataset of any generation"),
        );
        fields.path(
            ui,
            tr!("Histogram file"),
            &mut self.output,
            tr!("a file that ends in .tortilla"),
            FileRequest::ToolOutput,
        );
        fields::draw_labelled_line(ui, tr!("Values share their bins"), |ui| {
            let scales = [
                Segment::new(Scale::Dataset, tr!("over the whole dataset")),
                Segment::new(Scale::Band, tr!("by position and band")),
            ];
            widgets::draw_segments(ui, "histogram-scale", &mut self.scale, &scales);
        });
        fields::base_path(ui, fields, &self.input, &mut self.base);
        fields::replace(ui, &mut self.replace);
    }

    fn work(&self, _cx: &PanelContext<'_>) -> Result<PreviewWork, String> {
        let open = OpenOptions {
            base_path: path_in(&self.base),
            ..self.open.clone()
        };
        let (input, output) = (need_input(&self.input)?, need_output(&self.output)?);
        let request = HistogramRequest {
            input,
            open,
            output,
            scale: self.scale,
            overwrite: self.replace,
        };
        Ok(Box::new(move |ctx| {
            let outline = dataset_outline(&request.input, &request.open, ctx)?;
            let (target, replace) = (request.output.clone(), request.overwrite);
            let plan = OperationPreview::new(Command::operate(request)).outline(&outline);
            let plan = plan.destination(&target, replace);
            let named = target
                .extension()
                .is_some_and(|ending| ending.eq_ignore_ascii_case("tortilla"));
            Ok(if named {
                plan
            } else {
                plan.obstacle(tr!("The name has to end in .tortilla"))
            })
        }))
    }
}
