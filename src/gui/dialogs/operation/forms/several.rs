//! Form of Open datasets as one, also with the folder of an index's parts.

use std::path::PathBuf;

use egui::Ui;

use crate::container::{JoinMode, OpenOptions};
use crate::gui::dialogs::operation::fields::{self, OperationFields, path_in, paths_in};
use crate::gui::dialogs::operation::form::{
    OperationForm, OperationStart, OperationTexts, PreviewWork,
};
use crate::gui::dialogs::operation::line::ReportLine;
use crate::gui::dialogs::operation::preview::OperationPreview;
use crate::gui::file_dialog::FileRequest;
use crate::gui::icons;
use crate::gui::panel_context::PanelContext;
use crate::gui::widgets::{self, Segment, paint};
use crate::ops::dataset_outline;
use crate::studio::Command;

/// Maximum number of column differences that a preview lists.
const MAX_LISTED: usize = 40;

/// Inputs and options.
#[derive(Debug)]
pub struct SeveralForm {
    inputs: String,
    base: String,
    mode: JoinMode,
    /// Imports dropped paths into the draft instead.
    otherwise: Option<Command>,
}

impl SeveralForm {
    /// Initial values for the open document.
    pub fn new(start: &OperationStart) -> Self {
        let paths: Vec<PathBuf> = start
            .input
            .iter()
            .chain(&start.open.with)
            .cloned()
            .collect();
        Self {
            base: start.base_text(),
            mode: start.open.mode,
            ..Self::from_paths(&paths, None)
        }
    }

    /// Initial values for these paths; `otherwise` is offered instead.
    pub fn from_paths(paths: &[PathBuf], otherwise: Option<Command>) -> Self {
        let inputs = paths
            .iter()
            .map(|path| path.display().to_string())
            .collect::<Vec<_>>()
            .join("\n");
        Self {
            inputs,
            base: String::new(),
            mode: JoinMode::Intersection,
            otherwise,
        }
    }
}

impl OperationForm for SeveralForm {
    fn words(&self) -> OperationTexts {
        OperationTexts {
            icon: icons::STACK,
            title: tr!("Open datasets as one"),
            about: tr!(
                "Shows several datasets in one table, tree, map and query. Nothing is written; \
                    Export subset… writes them as one dataset."
            ),
            verb: tr!("Open as one"),
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
            tr!("Datasets"),
            &mut self.inputs,
            tr!("one path or address per line, in the order of their rows"),
        );
        fields::draw_labelled_line(ui, tr!("Columns that only some have"), |ui| {
            let modes = [
                Segment::new(JoinMode::Intersection, tr!("leave out")),
                Segment::new(JoinMode::FillMissing, tr!("fill with null")),
                Segment::new(JoinMode::Strict, tr!("refuse")),
            ];
            widgets::draw_segments(ui, "join-mode", &mut self.mode, &modes);
        });
        fields.path(
            ui,
            tr!("Folder of the parts"),
            &mut self.base,
            tr!("of an index; empty: beside it"),
            FileRequest::ToolFolder,
        );
    }

    fn work(&self, _cx: &PanelContext<'_>) -> Result<PreviewWork, String> {
        let mut paths = paths_in(&self.inputs);
        if paths.is_empty() {
            return Err(tr!("Choose the datasets").into());
        }
        let path = paths.remove(0);
        let options = OpenOptions {
            base_path: path_in(&self.base),
            with: paths,
            mode: self.mode,
        };
        Ok(Box::new(move |ctx| {
            let outline = dataset_outline(&path, &options, ctx)?;
            let several = !options.with.is_empty();
            let n = paint::format_grouped_number(options.with.len() as u64 + 1);
            let mut preview = OperationPreview::new(Command::OpenWith {
                path,
                options: Box::new(options),
            })
            .outline(&outline);
            if several {
                preview = preview.line(match outline.changes.len() {
                    0 => ReportLine::good(tr!("All {n} datasets have the same columns", n)),
                    changes => ReportLine::warning(tr_n!(
                        changes,
                        "{n} column differs between the datasets",
                        "{n} columns differ between the datasets",
                        n = paint::format_grouped_number(changes as u64)
                    )),
                });
            }
            for change in outline.changes.iter().take(MAX_LISTED) {
                preview = preview.line(ReportLine::row(change.to_string()));
            }
            Ok(preview)
        }))
    }

    fn instead(&self) -> Option<(&'static str, Command)> {
        self.otherwise
            .clone()
            .map(|command| (tr!("Add as files"), command))
    }

    fn closes(&self) -> bool {
        true
    }
}
